"""Outcomes on their way out of a run: committed first, then told, in bursts."""

from __future__ import annotations

import asyncio
import queue
import threading
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from svc_tools.config import Source
    from svc_tools.lookup.cache import Answers
    from svc_tools.lookup.outcomes import Outcome
    from svc_tools.places import Place

    Burst = list[tuple[Place, Outcome]]
    """Places and what became of them, in the order in which the answers came."""

__all__ = ["Keeper", "Writer", "keeper"]

_TOLD_EVERY = 0.01
"""Seconds between two bursts of outcomes where no cache has to be written."""


class Keeper(Protocol):
    """Where answers are committed; called in a thread of the run's own."""

    def __call__(self, burst: Sequence[tuple[Place, Outcome]], quota: int | None, /) -> None:
        """Commit a burst; it is durable when this returns. `quota`: the lookups that are left."""


def keeper(cache: Answers, source: Source, *, detail: bool) -> Keeper:
    """Commits to a cache. Should it break its promise never to raise, the run goes on without."""
    broken = False

    def keep(burst: Sequence[tuple[Place, Outcome]], quota: int | None, /) -> None:
        nonlocal broken
        if broken:
            return
        try:
            if quota is not None:
                cache.told_quota(source, quota)
            cache.keep(source, burst, detail=detail)
        except Exception as error:  # noqa: BLE001 - answers that were paid for are not lost
            broken = True
            cache.notes.append(
                f"the answers of this run are not kept: {type(error).__name__}: {error}"
            )

    return keep


class _Committer:
    """Commits bursts in a thread of its own.

    A daemon, and no executor: those of the standard library refuse work as soon as the main thread
    has ended, while other threads of a program may still wait for their answers.
    """

    def __init__(self, keep: Keeper) -> None:
        self._keep = keep
        self._jobs: queue.SimpleQueue[tuple[Burst, int | None, Future[None]] | None] = (
            queue.SimpleQueue()
        )
        threading.Thread(target=self._work, name="svc-cache", daemon=True).start()

    async def commit(self, burst: Burst, quota: int | None) -> None:
        done: Future[None] = Future()
        self._jobs.put((burst, quota, done))
        await asyncio.wrap_future(done)

    def close(self) -> None:
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            burst, quota, done = job
            # who waited may have been cancelled meanwhile, and the loop may have ended
            with suppress(InvalidStateError, RuntimeError):
                try:
                    self._keep(burst, quota)
                except BaseException as error:  # noqa: BLE001 - of whoever waits for it
                    done.set_exception(error)
                else:
                    done.set_result(None)


class Writer:
    """Commits what has come, then tells it; while one burst is written the next one grows.

    Args:
        tell: takes each burst, in the loop's thread, once it is committed.
        keep: commits a burst; left out where there is no cache.

    Attributes:
        quota: the lookups that the account has left, as the last answer said.
    """

    def __init__(self, tell: Callable[[Burst], object], keep: Keeper | None) -> None:
        self._tell = tell
        self._keep = keep
        self._burst: list[tuple[Place, Outcome | Callable[[], Outcome]]] = []
        self._bell = asyncio.Event()
        self._over = False
        self.quota: int | None = None

    def add(self, place: Place, outcome: Outcome | Callable[[], Outcome]) -> None:
        """An outcome that is to be told, or what makes it when its burst is written.

        Answers that are read together are read in a third of the time.
        """
        self._burst.append((place, outcome))
        self._bell.set()

    def end(self) -> None:
        """Nothing more comes."""
        self._over = True
        self._bell.set()

    async def run(self) -> None:
        """Write and tell until the end."""
        committer = None if self._keep is None else _Committer(self._keep)
        try:
            while not self._over or self._burst:
                await self._bell.wait()
                self._bell.clear()
                if committer is None and not self._over:
                    await asyncio.sleep(_TOLD_EVERY)
                came, self._burst = self._burst, []
                burst = [(place, one() if callable(one) else one) for place, one in came]
                if burst and committer is not None:
                    await committer.commit(burst, self.quota)
                if burst:
                    self._tell(burst)
                if self._burst or self._over:
                    self._bell.set()
        finally:
            if committer is not None:
                committer.close()
