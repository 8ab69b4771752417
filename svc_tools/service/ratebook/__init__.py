"""The rate book: the rates the embedded service answers from, and how it finds them.

`load_book` reads the shipped book (or a compiled folder), `resolve` answers one `Query` from it
with an `Answer`, or raises `NotResolved` where nothing honest can be said.
"""

from __future__ import annotations

from svc_tools.service.ratebook.book import Book
from svc_tools.service.ratebook.imports.overlay import load_book
from svc_tools.service.ratebook.query import NotResolved, Query
from svc_tools.service.ratebook.resolver import Answer, resolve

__all__ = ["Answer", "Book", "NotResolved", "Query", "load_book", "resolve"]
