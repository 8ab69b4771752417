"""The user's own book: official files that the user imported, over the shipped book.

One SQLite file under the platform's data directory. `importer` recognizes a file and has `sst`,
`states` or `boundary_import` read it, `database` stores it, `overlay` loads the book with it laid
over, `boundary` looks places up. The shipped book is never written.
"""
