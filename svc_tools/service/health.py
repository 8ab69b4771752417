"""Whether all parts can serve (SPEC 4.2): the rate book and the database."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from svc_tools.service.envelope import Problem
from svc_tools.service.errors import BookUnavailableError
from svc_tools.service.request_log import log

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_tools.service.book_keeper import BookKeeper

__all__ = ["ASK_AGAIN_SECONDS", "Health", "unavailable"]

ASK_AGAIN_SECONDS = 1.0
"""How long an answer of the database counts: however many ask, it is asked this often."""

_PATIENCE_SECONDS = 3.0
_RETRY_AFTER = 5
_MESSAGES = {
    "book": "The rate book cannot be read just now",
    "database": "The database cannot be used just now",
}


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
