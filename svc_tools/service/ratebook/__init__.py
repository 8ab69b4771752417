"""The rate book: the rates of the embedded service, and how it finds them.

`load_book` reads the shipped book (or a compiled folder), `resolve` resolves one `Query` with it
to an `Answer`, or raises `NotResolved` where no rate can honestly be given.
"""

from __future__ import annotations

from svc_tools.service.ratebook.book import Book
from svc_tools.service.ratebook.imports.overlay import load_book
from svc_tools.service.ratebook.query import NotResolved, Query
from svc_tools.service.ratebook.resolver import Answer, resolve

__all__ = ["Answer", "Book", "NotResolved", "Query", "load_book", "resolve"]
