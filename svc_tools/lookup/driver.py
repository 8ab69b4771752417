"""Ask for many distinct places over one client; the door for code that waits for the answers."""

# MERGED driving: A run in the background loop, driven by a thread that waits for it.
# MERGED loop: One event loop in the background, for callers that have none or may not block theirs.

from __future__ import annotations

import asyncio
import atexit
import os
import queue
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, TypeVar

from svc_tools.config import source_of
from svc_tools.lookup.engine import GRACE, Lookups, Terms, keeper
from svc_tools.lookup.outcomes import STOPPED, not_attempted

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator
    from concurrent.futures import Future

    from svc_sdk import Svc
    from svc_tools.lookup.cache import Answers
    from svc_tools.lookup.engine import Burst, Keeper
    from svc_tools.lookup.outcomes import Outcome
    from svc_tools.places import Place

_LISTEN = 0.5
"""Seconds after which a waiting thread looks up: not every system wakes it for a Ctrl+C."""
_LISTEN_FOR_STOP = 0.1
"""The same, where somebody may stop the run: no queue can be waited for together with an event."""
_COMMIT = 10.0
"""Seconds that the last burst gets to be committed after an interrupt."""

_END = 5.0
"""Seconds that runs get to commit what has come when the process ends."""


@dataclass(frozen=True, slots=True)
class Run:
    """What came of a run.

    Attributes:
        outcomes: an outcome for each distinct place, in the order in which they were given.
        stopped: why the run ended early; `None` where it did not.
        asked: how many places were asked for over the wire.
        cached: how many answers came from the cache.
        requests: how many requests were sent, tries after failures included.
        waited: the seconds for which none was sent because the service wished so.
    """

    outcomes: dict[Place, Outcome]
    stopped: str | None
    asked: int
    cached: int
    requests: int
    waited: float


def look_up(
    client: Svc,
    places: Iterable[Place],
    *,
    cache: Answers | None = None,
    detail: bool = False,
    concurrency: int = 16,
    deadline: float | None = None,
    on_outcome: Callable[[Outcome], object] | None = None,
    stop: threading.Event | None = None,
) -> Run:
    """Ask for every distinct place once, and for none that the cache knows.

    A key, a plan or a quota that the service refuses ends the run, because every further request
    would be refused too; so does a service that fails one place after the other, the deadline, and
    an interrupt (Ctrl+C) or the event `stop`, which return what there is. The places that are left
    are `not_attempted`.

    Args:
        client: the client; its retries and delays apply to every request (SPEC 8), and a
            `Retry-After` to all of them. The timeout is for a whole request.
        places: the places; equal ones are asked for once.
        cache: answers that are known, and where new ones are committed before they are reported.
        detail: ask for the full answer, with candidates and components (SPEC 2.5).
        concurrency: how many requests may be under way at once; fewer are where the service
            refuses some for coming too fast, or becomes slow under them.
        deadline: the seconds that the whole run may take; requests under way then get one more.
        on_outcome: called in the caller's thread with the outcome of each distinct place that is
            known, got an answer or failed, once it is committed.
        stop: ends the run once another thread sets it, as an interrupt does: what is under way gets
            a second more, what has come is kept, and `stopped` says "it was stopped".

    Raises:
        ValueError: `concurrency` or `deadline` is out of range.
        TypeError: one of them is no number.
        ImportError: the extra for bulk lookups is not installed.
    """
    terms = Terms(detail=detail, concurrency=concurrency, deadline=deadline)
    distinct = dict.fromkeys(places)
    source = source_of(client) if cache is not None else None
    known: dict[Place, Outcome] = {}
    keep = None if cache is None or source is None else keeper(cache, source, detail=detail)
    driver = Driver(client, terms, keep, stop=stop)
    try:
        if cache is not None and source is not None and distinct:
            known = cache.known(source, distinct, detail=detail)
            _report(known.values(), on_outcome)
        if len(known) < len(distinct):
            driver.feed([place for place in distinct if place not in known])
            driver.close_feed()
            driver.start()
            for burst in driver.bursts():
                _report([outcome for _, outcome in burst], on_outcome)
    except KeyboardInterrupt:
        driver.interrupt()
    finally:
        driver.end()
    run = driver.lookups
    outcomes = known | driver.outcomes if driver.outcomes else known
    rest = not_attempted(run.stopped or "the run ended early")
    return Run(
        dict(zip(distinct, map(outcomes.get, distinct, repeat(rest)), strict=True)),
        run.stopped,
        run.asked,
        len(known),
        run.requests,
        run.waited,
    )


def _report(outcomes: Iterable[Outcome], on_outcome: Callable[[Outcome], object] | None) -> None:
    if on_outcome is None:
        return
    for outcome in outcomes:
        if outcome.status != "not_attempted":
            on_outcome(outcome)


class Driver:
    """Feeds a run, and takes its bursts, from a thread that is not the loop's.

    Args:
        client: how the service is reached.
        terms: how the run is to be done.
        keep: commits a burst; `None` where there is no cache.
        remember: whether `outcomes` is filled.
        stop: ends the run when it is set, as a Ctrl+C does.

    Attributes:
        lookups: the run.
        outcomes: all that was committed. It is filled by the loop's thread, so that no Ctrl+C at an
            unlucky moment loses a burst on its way.
    """

    def __init__(
        self,
        client: Svc,
        terms: Terms,
        keep: Keeper | None,
        *,
        remember: bool = True,
        stop: threading.Event | None = None,
    ) -> None:
        self._mailbox: queue.SimpleQueue[Burst | None] = queue.SimpleQueue()
        self._future: Future[None] | None = None
        self._over = False
        self._remember = remember
        self._stop = stop
        self._listen = _LISTEN if stop is None else _LISTEN_FOR_STOP
        self.lookups = Lookups(client, terms, self._committed, keep)
        self.outcomes: dict[Place, Outcome] = {}

    def start(self) -> None:
        """Begin to ask, unless the run was stopped before it began."""
        if self._is_stopped():
            self.lookups.stopped = STOPPED
            return
        self._future = in_background(self._run())

    def feed(self, places: Iterable[Place]) -> None:
        """Hand over distinct places."""
        if self._future is None:
            self.lookups.feed(places)
        else:
            soon(partial(self.lookups.feed, list(places)))

    def close_feed(self) -> None:
        """No further places come."""
        if self._future is None:
            self.lookups.close_feed()
        else:
            soon(self.lookups.close_feed)

    def bursts(self) -> Iterator[Burst]:
        """What is committed, as it comes, until the run is over."""
        while (burst := self.burst()) is not None:
            yield burst

    def burst(self) -> Burst | None:
        """What was committed next; `None` where the run is over, or was stopped.

        Raises:
            ImportError: the extra for bulk lookups is not installed.
        """
        while self._future is not None:
            if self._is_stopped():
                self.interrupt(STOPPED)
                break
            try:
                burst = self._mailbox.get(timeout=self._listen)
            except queue.Empty:
                if not self._future.done():
                    continue
                burst = None
            if burst is not None:
                return burst
            self._finish()
        return None

    def ready(self) -> Iterator[Burst]:
        """What was committed by now, without waiting. Raises as `burst`."""
        while not self._mailbox.empty():
            burst = self._mailbox.get()
            if burst is None:
                self._finish()
            else:
                yield burst

    @property
    def over(self) -> bool:
        """Whether the run has begun and ended."""
        return self._over

    def _is_stopped(self) -> bool:
        return self._stop is not None and self._stop.is_set()

    def _finish(self) -> None:
        future, self._future = self._future, None
        self._over = True
        if future is not None:
            future.result()

    def interrupt(self, cause: str = "interrupted", grace: float | None = None) -> None:
        """Stop: what is under way gets some time, and what has come is committed.

        A further Ctrl+C ends the waiting for what is under way.

        Args:
            cause: why.
            grace: seconds for what is under way.
        """
        grace = GRACE if grace is None else grace
        end = time.monotonic() + grace + _COMMIT
        future = self._future
        soon(partial(self.lookups.stop, cause, grace))
        while future is not None and self._future is not None and time.monotonic() < end:
            try:
                if self._mailbox.get(timeout=_LISTEN) is None:
                    self._future = None
            except queue.Empty:
                if future.done():
                    self._future = None
            except KeyboardInterrupt:
                soon(partial(self.lookups.stop, cause, 0.0))
        self._future = None
        self.lookups.stopped = self.lookups.stopped or cause

    def end(self, grace: float = 0.0) -> None:
        """Leave nothing behind that still asks; for a run that is over this does nothing."""
        if self._future is not None:
            self.interrupt("nobody waits for the answers any more", grace)

    def _committed(self, burst: Burst) -> None:
        if self._remember:
            self.outcomes.update(burst)
        self._mailbox.put(burst)

    async def _run(self) -> None:
        try:
            await self.lookups.run()
        finally:
            self._mailbox.put(None)


T = TypeVar("T")


class _Loop:
    """An event loop in a daemon thread of its own; started at first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._works: set[asyncio.Task[object]] = set()
        # what a forked child inherited: kept, so that no finaliser of it runs in the child
        self._inherited: list[object] = []

    def submit(self, work: Coroutine[object, object, T]) -> Future[T]:
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._run, args=(self._loop,), name="svc-lookup", daemon=True
                )
                self._thread.start()
                # at exit the last one registered goes first: runs end before their cache is closed
                atexit.unregister(self.end)
                atexit.register(self.end)
            return asyncio.run_coroutine_threadsafe(self._tracked(work), self._loop)

    async def _tracked(self, work: Coroutine[object, object, T]) -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this is a coroutine
        self._works.add(task)
        try:
            return await work
        finally:
            self._works.discard(task)

    def soon(self, work: Callable[[], object]) -> None:
        with self._lock, suppress(RuntimeError):  # the loop has ended
            if self._loop is not None:
                self._loop.call_soon_threadsafe(work)

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            with suppress(RuntimeError):
                # the runs first: each ends its own tasks, once what has come is committed
                loop.run_until_complete(_ended(set(self._works)))
                loop.run_until_complete(_ended(asyncio.all_tasks(loop)))
                loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def end(self) -> None:
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None and thread.is_alive():
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(loop.stop)
            with suppress(KeyboardInterrupt):
                thread.join(_END + 1.0)

    def leave_to_parent(self) -> None:
        """In a forked child: the thread is not here, and the loop's files are the parent's."""
        self._lock = threading.Lock()  # a thread that is not here may hold the parent's
        self._inherited += [self._loop, self._thread, self._works]
        self._loop = self._thread = None
        self._works = set()


async def _ended(tasks: set[asyncio.Task[object]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_END)


_loop = _Loop()
if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_loop.leave_to_parent)


def in_background(work: Coroutine[object, object, T]) -> Future[T]:
    """Run a coroutine in the background loop of this process.

    There is one such loop per process; a forked child starts its own. The caller's own event
    loop, such as a notebook's, is left alone.
    """
    return _loop.submit(work)


def soon(work: Callable[[], object]) -> None:
    """Call a function in the background loop, which is running; nothing happens where it is not."""
    _loop.soon(work)
