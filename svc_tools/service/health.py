"""Whether the service can serve (SPEC 4.2): the state of the database, and of the rate book."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool

from svc_tools.service.errors import BookUnavailableError
from svc_tools.service.problems import log, unavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_tools.service.books import BookKeeper

CHECK_SECONDS = 1.0
"""How long the result of a check of the database is used."""
_PATIENCE_SECONDS = 3.0


class HealthCheck:
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
