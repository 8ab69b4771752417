"""Whether the service can serve (SPEC 4.2): the state of the database, and of the rate book in use.

The book is reloaded when the user's own files change. Loading happens in a worker thread, and until
it is done lookups use the book before. A book that cannot be read is not replaced by an older one:
lookups are 503 until it can be read again, and then go on without a restart.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from svc_tools.service.envelope import Problem, log
from svc_tools.service.errors import BookUnavailableError
from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.imports.database import own_signature

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from svc_tools.service.ratebook import Book

CHECK_SECONDS = 1.0
"""How long the result of a check of the database is used."""
_PATIENCE_SECONDS = 3.0
_MESSAGES = {
    "book": "The rate book cannot be read just now",
    "database": "The database cannot be used just now",
}

NOTICE_SECONDS = 1.0
"""How often lookups check whether the user's own book changed."""
_RETRY_SECONDS = 5.0
"""How often a book that is broken, and has not changed, is read again: a disk may be back."""


def unavailable(*parts: str) -> Problem:
    """The 503 while parts of the service cannot be used: `book`, `database`."""
    reasons = "; ".join(_MESSAGES[part] for part in parts)
    return Problem(
        503,
        "TEMPORARILY_UNAVAILABLE",
        f"{reasons}; it recovers without a restart",
        extra={"unavailable": list(parts)},
        retry_after=5,
    )


class Health:
    """Checks the parts, cheaply: requests for it need no key.

    Args:
        books: the rate book.
        ping: checks the database; blocks, and raises where it cannot be used.
    """

    def __init__(self, books: BookKeeper, ping: Callable[[], object]) -> None:
        self._books = books
        self._ping = ping
        self._checking: asyncio.Task[bool] | None = None
        self._checked_at = 0.0
        self._database_works = True

    async def check(self) -> None:
        """Pass where all parts can serve.

        Raises:
            Problem: 503 that names the parts that cannot.
        """
        out = []
        try:
            await self._books.current()
        except BookUnavailableError:
            out.append("book")
        if not await self._check_database():
            out.append("database")
        if out:
            raise unavailable(*out)

    def require_database(self) -> None:
        """Pass unless the last check of the database failed; never waits.

        A lookup with a cached key reads nothing there. But without the database, limits and
        revoked keys could not be enforced for long, so every lookup is refused.

        Raises:
            Problem: 503 that names the database.
        """
        self._latest_check()
        if not self._database_works:
            raise unavailable("database")

    async def _check_database(self) -> bool:
        checking = self._latest_check()
        done, _ = await asyncio.wait([checking], timeout=_PATIENCE_SECONDS)
        return bool(done) and checking.result()

    def _latest_check(self) -> asyncio.Task[bool]:
        """The check under way, or the last one; a new one where that is too old."""
        checking = self._checking
        if checking is None or (
            time.monotonic() - self._checked_at >= CHECK_SECONDS and checking.done()
        ):
            checking = self._checking = asyncio.create_task(self._ping_database())
        return checking

    async def _ping_database(self) -> bool:
        try:
            await run_in_threadpool(self._ping)
        except Exception as error:  # noqa: BLE001 - unusable, whatever the reason
            if self._database_works:  # logged once, not each second
                log.warning("The database cannot be used: %s", error)
            self._database_works = False
        else:
            if not self._database_works:
                log.warning("The database works again")
            self._database_works = True
        finally:
            self._checked_at = time.monotonic()
        return self._database_works


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
            self._due = math.inf
            try:
                await run_in_threadpool(self.refresh)
            finally:
                self._due = self._clock() + NOTICE_SECONDS
        return self.book

    async def latest(self) -> Book:
        """The book after a check for changes, due or not.

        Raises:
            BookUnavailableError: it cannot be read.
        """
        await run_in_threadpool(self.refresh)
        return self.book

    def refresh(self) -> None:
        """Read the book where it changed, or where it was broken a while ago. Blocks."""
        with self._reading:
            now = self._clock()
            try:
                mark = self._mark()
                if mark == self._seen and (self._book is not None or now < self._retry_at):
                    return
                self._seen = mark
                book = self._load()
            except Exception as error:  # noqa: BLE001 - whatever it is, there is no book
                self._fail(error)
            else:
                if self._failure is not None:
                    log.warning("The rate book can be read again: %s", book.edition)
                self._book, self._failure = book, None

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
