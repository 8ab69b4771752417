"""The rate book in use, which is reloaded when the user's own files change.

A server loads it in a worker thread, and until it is done lookups use the book before. A book that
cannot be read is not replaced by an older one: lookups are 503 until it can be read again, and then
go on without a restart.
"""

from __future__ import annotations

import math
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from svc_tools.service.errors import BookUnavailableError
from svc_tools.service.problems import log
from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.own import own_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from svc_tools.service.ratebook import Book

NOTICE_SECONDS = 1.0
"""How often lookups check whether the user's own book changed."""
_RETRY_SECONDS = 5.0
"""How often a book that is broken, and has not changed, is read again: a disk may be back."""


class BookKeeper:
    """Loads the rate book, and reloads it when it changes.

    Args:
        load: reads the book; any exception means that it cannot be read.
        mark: a cheap signature of what `load` would read, to notice changes.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        load: Callable[[], Book],
        mark: Callable[[], object] = lambda: None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Load the book; an error is stored, and raised by `book`."""
        self._load = load
        self._mark = mark
        self._clock = clock
        self._reading = threading.Lock()
        self._book: Book | None = None
        self._seen: object = None
        self._failure: Exception | None = None
        self._retry_at = -math.inf
        self.refresh()
        self._due = clock() + NOTICE_SECONDS

    @property
    def summary(self) -> str:
        """The book in a few words, printed at the start of the service."""
        if self._book is None:
            return "unreadable: lookups are 503 until it can be read"
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
        """The book to use, after a check for changes where one is due.

        The first caller waits for that check; those that come meanwhile get the book before.

        Raises:
            BookUnavailableError: it cannot be read.
        """
        if self._clock() >= self._due:
            with self._checking():
                await _in_thread(self.refresh)
        return self.book

    def current_now(self) -> Book:
        """As `current`, for a caller that may block."""
        if self._clock() >= self._due:
            with self._checking():
                self.refresh()
        return self.book

    async def latest(self) -> Book:
        """The book after a check for changes, due or not.

        Raises:
            BookUnavailableError: it cannot be read.
        """
        await _in_thread(self.refresh)
        return self.book

    @contextmanager
    def _checking(self) -> Iterator[None]:
        """Around a check: none is due before it is done."""
        self._due = math.inf
        try:
            yield
        finally:
            self._due = self._clock() + NOTICE_SECONDS

    def refresh(self) -> None:
        """Read the book where it changed, or where it was broken a while ago. Blocks."""
        with self._reading:
            now, mark = self._clock(), self._seen
            try:
                mark = self._mark()
                if mark == self._seen and (self._book is not None or now < self._retry_at):
                    return
                book = self._load()
            except Exception as error:  # noqa: BLE001 - whatever it is, there is no book
                self._seen = mark
                self._fail(error)
            else:  # a Ctrl+C meanwhile leaves it unseen: the next check reads it again
                if self._failure is not None:
                    log.warning("The rate book can be read again: %s", book.edition)
                self._seen, self._book, self._failure = mark, book, None

    def leave_to_parent(self) -> None:
        """In a forked child: a thread that is not here may hold the lock, or check for changes."""
        self._reading = threading.Lock()
        self._due = -math.inf

    def _fail(self, error: Exception) -> None:
        if repr(error) != repr(self._failure):  # logged once, not at every check
            log.error(
                "The rate book cannot be read; lookups are 503 meanwhile: %s (%s)",
                error,
                type(error).__name__,
            )
        # without the traceback, which holds on to what was read
        self._book, self._failure = None, error.with_traceback(None)
        self._retry_at = self._clock() + _RETRY_SECONDS


def keep_book(own: Path) -> BookKeeper:
    """The shipped book with the user's own files over it; `own`, their database, may not exist."""
    return BookKeeper(lambda: load_book(own=own), lambda: own_signature(own))


async def _in_thread(work: Callable[[], None]) -> None:
    from starlette.concurrency import run_in_threadpool  # noqa: PLC0415 - lookups in process need none

    await run_in_threadpool(work)
