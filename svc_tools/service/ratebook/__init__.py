"""The rate book: the rates of the embedded service, and how it finds them.

`load_book` reads the shipped book (or a compiled folder), `resolve` resolves one `Query` with it
to a `ResolvedRate`, or raises `NotResolved` where no rate can honestly be given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.service.ratebook.book import Book, compiled_book
from svc_tools.service.ratebook.query import NotResolved, Query
from svc_tools.service.ratebook.resolver import ResolvedRate, resolve

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Book", "NotResolved", "Query", "ResolvedRate", "load_book", "resolve"]


def load_book(path: Path | None = None, *, own: Path | None = None) -> Book:
    """The shipped book, or a compiled one of your own, with your own rate files laid over it.

    Args:
        path: folder with the files that `compile_book` writes; `None` is the book that ships
            with this package.
        own: database of imported rate files (`own_book_path()` is the user's), laid over the
            book; without the file, the book stands alone. `None`: no such files.

    Returns:
        The book; a process reads the book of a path, and lays the same editions over it, once.

    Raises:
        FileNotFoundError: a file of the book is not in the folder.
        ValueError: a file does not hold what the schema says; an `OwnBookError` where it is the
            database of imported files.
    """
    if own is None or not own.is_file():
        return compiled_book(path)
    from svc_tools.service.ratebook.imports import overlay  # noqa: PLC0415 - few have own files

    found = overlay.read_own_book(own)
    return compiled_book(path) if found is None else overlay.load_over(path, found)
