"""The rate book in use: read again when the user's own book changes, given up when it breaks.

Reading happens in a worker thread, and until it is done lookups are answered from the book before.
A book that cannot be read is not papered over with an older one: lookups are 503 until it is
mended, and then go on without a restart.
"""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from svc_tools.service.errors import BookUnavailableError
from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.imports.database import own_signature
from svc_tools.service.request_log import log

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from svc_tools.service.ratebook import Book

__all__ = ["NOTICE_SECONDS", "BookKeeper", "keep_book"]

NOTICE_SECONDS = 1.0
"""A change of the own book is noticed by a lookup that comes this long after the last look."""

_RETRY_SECONDS = 5.0
"""How often a book that is broken, and has not changed, is read again: a disk may be back."""


class BookKeeper:
    """Keeps the current book. Made, it has tried to read it.

    Args:
        load: reads the book; any exception means that it cannot be read.
        mark: a cheap sign of what `load` would read: another sign, another book.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        load: Callable[[], Book],
        mark: Callable[[], object] = lambda: None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = load
        self._mark = mark
        self._clock = clock
        self._reading = threading.Lock()
        self._book: Book | None = None
        self._seen: object = None
        self._failure: Exception | None = None
        self._retry_at = -math.inf
        self.look()
        self._due = clock() + NOTICE_SECONDS

    @property
    def told(self) -> str:
        """The book in a few words, for whoever starts the service."""
        if self._book is None:
            return "unreadable: lookups are 503 until it is mended"
        own = len(self._book.own_editions)
        files = "1 file" if own == 1 else f"{own} files"
        return f"{self._book.edition}, {files} of your own" if own else self._book.edition

    @property
    def book(self) -> Book:
        """The book as it was last read; never blocks.

        Raises:
            BookUnavailableError: it cannot be read; the cause is attached, for the log.
        """
        if self._book is None:
            raise BookUnavailableError("The rate book cannot be read") from self._failure
        return self._book

    async def current(self) -> Book:
        """The book to answer from, after a look whether it changed where one is due.

        Whoever asks when a look is due waits for it; whoever asks meanwhile gets the book before.

        Raises:
            BookUnavailableError: it cannot be read.
        """
        if self._clock() >= self._due:
            self._due = math.inf
            try:
                await run_in_threadpool(self.look)
            finally:
                self._due = self._clock() + NOTICE_SECONDS
        return self.book

    async def latest(self) -> Book:
        """The book after a look whether it changed, due or not.

        Raises:
            BookUnavailableError: it cannot be read.
        """
        await run_in_threadpool(self.look)
        return self.book

    def look(self) -> None:
        """Read the book where its sign changed, or where it was broken a while ago. Blocks."""
        with self._reading:
            now = self._clock()
            try:
                mark = self._mark()
                if mark == self._seen and (self._book is not None or now < self._retry_at):
                    return
                self._seen = mark
                book = self._load()
            except Exception as error:  # noqa: BLE001 - whatever it is, there is no book
                self._give_up(error)
            else:
                if self._failure is not None:
                    log.warning("The rate book can be read again: %s", book.edition)
                self._book, self._failure = book, None

    def _give_up(self, error: Exception) -> None:
        if repr(error) != repr(self._failure):  # said once, not at every look
            log.error(
                "The rate book cannot be read; lookups are 503 until it is mended: %s (%s)",
                error,
                type(error).__name__,
            )
        # without what was read of it
        self._book, self._failure = None, error.with_traceback(None)
        self._retry_at = self._clock() + _RETRY_SECONDS


def keep_book(own: Path) -> BookKeeper:
    """A keeper of the shipped book with the user's own files laid over it.

    Args:
        own: the database of those; there may be none.
    """
    return BookKeeper(lambda: load_book(own=own), lambda: own_signature(own))
