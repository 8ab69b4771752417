"""The user's own book: official files of the user's, over the shipped book.

One SQLite file under the platform's data directory. `database` keeps it, `recognise` tells what
a file is, the importers read rate and boundary files into it, `overlay` lays it over the shipped
book. Nothing of the shipped book is ever written.
"""
