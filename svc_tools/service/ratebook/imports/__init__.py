"""Readers of official files, and the book that they make of what a user imports.

The own book is one SQLite file under the platform's data directory. `importer` recognizes a file
and has `sst`, `states` or `boundary_import` read it, `database` stores it, `overlay` loads the book
with it laid over. The shipped book, compiled with the same readers, is never written.
"""
