"""The user's own book: where it is, how it shows that it changed, its errors.

Who has none needs no more of it: its readers are loaded with the first file that is imported.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from svc_tools.base.operating_system import user_folder

if TYPE_CHECKING:
    from pathlib import Path


class OwnBookError(ValueError):
    """The own book cannot be read or written: damaged, of another program, locked, disk full."""


class OwnBookChanged(Exception):  # noqa: N818 - an event, not a fault: load the book again
    """The own book holds other editions than the book in memory was loaded with.

    Load the book again (`load_book(own=...)`) and repeat the lookup.
    """


def own_book_path() -> Path:
    """Where the user's own book is."""
    return user_folder("data") / "book.db"


def own_signature(path: Path) -> tuple[object, ...] | None:
    """A cheap sign of the own book's state (two `stat` calls), `None` without a file.

    A book that changed has another sign. The reverse does not hold: a reader may change the sign
    alone, and then `load_book` gives the book that is loaded already.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    log = None
    with suppress(OSError):
        log = path.with_name(f"{path.name}-wal").stat()
    # a log without content says as little as no log
    written = (log.st_mtime_ns, log.st_size) if log and log.st_size else ()
    return (found.st_ino, found.st_mtime_ns, found.st_size, *written)
