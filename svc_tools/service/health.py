"""Whether all parts can serve (SPEC 4.2): the rate book and the database."""

# MERGED book_keeper: The rate book in use: read again when the user's own book changes, given up when it breaks.
#
# MERGED book_keeper: Reading happens in a worker thread, and until it is done lookups are answered from the book before.
# MERGED book_keeper: A book that cannot be read is not papered over with an older one: lookups are 503 until it is
# MERGED book_keeper: mended, and then go on without a restart.

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

ASK_AGAIN_SECONDS = 1.0
"""How long an answer of the database counts: however many ask, it is asked this often."""
_PATIENCE_SECONDS = 3.0
_RETRY_AFTER = 5
_MESSAGES = {
    "book": "The rate book cannot be read just now",
    "database": "The database cannot be used just now",
}

NOTICE_SECONDS = 1.0
"""A change of the own book is noticed by a lookup that comes this long after the last look."""
_RETRY_SECONDS = 5.0
"""How often a book that is broken, and has not changed, is read again: a disk may be back."""


def unavailable(*parts: str) -> Problem:
    """The 503 while parts of the service are out of order: `book`, `database`."""
    said = "; ".join(_MESSAGES[part] for part in parts)
    return Problem(
        503,
        "TEMPORARILY_UNAVAILABLE",
        f"{said}; all goes on by itself once that is mended",
        extra={"unavailable": list(parts)},
        retry_after=_RETRY_AFTER,
    )


class Health:
    """Looks after the parts, cheaply: nobody needs a key to ask.

    Args:
        books: keeps the rate book.
        ping: asks the database for a sign of life; blocks, fails without one.
    """

    def __init__(self, books: BookKeeper, ping: Callable[[], object]) -> None:
        self._books = books
        self._ping = ping
        self._asking: asyncio.Task[bool] | None = None
        self._asked_at = 0.0
        self._database_lives = True

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
        if not await self._database_answers():
            out.append("database")
        if out:
            raise unavailable(*out)

    def require_database(self) -> None:
        """Pass unless the database gave no sign of life when it was last asked; never waits.

        A lookup with a known key reads nothing there. Yet its limits and its revocation could not
        be kept for long: a service that has lost its accounts says so in every answer.

        Raises:
            Problem: 503 that names the database.
        """
        self._asked()
        if not self._database_lives:
            raise unavailable("database")

    async def _database_answers(self) -> bool:
        asking = self._asked()
        done, _ = await asyncio.wait([asking], timeout=_PATIENCE_SECONDS)
        return bool(done) and asking.result()

    def _asked(self) -> asyncio.Task[bool]:
        """The question under way, or the last one; a new one where that is too old."""
        asking = self._asking
        if asking is None or (
            time.monotonic() - self._asked_at >= ASK_AGAIN_SECONDS and asking.done()
        ):
            asking = self._asking = asyncio.create_task(self._ask())
        return asking

    async def _ask(self) -> bool:
        try:
            await run_in_threadpool(self._ping)
        except Exception as error:  # noqa: BLE001 - no sign of life, whatever the reason
            if self._database_lives:  # said once, not each second
                log.warning("The database gives no sign of life: %s", error)
            self._database_lives = False
        else:
            if not self._database_lives:
                log.warning("The database answers again")
            self._database_lives = True
        finally:
            self._asked_at = time.monotonic()
        return self._database_lives


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
