"""Bulk lookups from synchronous code: the engine in a background event loop, and `look_up`.

There is one such loop per process, in a daemon thread; the caller's own event loop, such as a
notebook's, is left alone.
"""

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

from svc_tools.lookup.engine import GRACE, Engine, RunCache, RunOptions
from svc_tools.lookup.outcomes import STOPPED, not_attempted
from svc_tools.progress import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Iterator
    from concurrent.futures import Future

    from svc_sdk import Svc
    from svc_tools.lookup.cache import Answers
    from svc_tools.lookup.engine import Batch, Commit
    from svc_tools.lookup.outcomes import Outcome
    from svc_tools.places import Place
    from svc_tools.progress import Progress

CLOSED = "the caller ended the run"
_POLL = 0.5
"""Seconds between two looks of a waiting thread: not every system wakes it for a Ctrl+C."""
_POLL_STOP = 0.1
"""The same where an event may stop the run: a queue cannot be awaited together with an event."""
_COMMIT = 10.0
"""Seconds that the last batch gets to be committed after an interrupt."""
_END = 5.0
"""Seconds that runs get to commit their outcomes when the process ends."""


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run.

    Attributes:
        outcomes: an outcome for each distinct place, in the order in which they were given.
        stopped: why the run ended early; `None` where it did not.
        asked: how many places were requested from the service.
        cached: how many outcomes came from the cache.
        requests: how many requests were sent, retries included.
        waited: the seconds for which none was sent because the service asked for a pause.
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
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Run:
    """Look up every distinct place once, and none that is in the cache.

    A key, a plan or a quota that the service refuses ends the run, because every further request
    would be refused too; so does a service that fails one place after the other, the deadline, and
    an interrupt (Ctrl+C) or the event `stop`, which return the outcomes so far. The remaining
    places are `not_attempted`.

    Args:
        client: the client; its retries and delays apply to every request (SPEC 8), and a
            `Retry-After` to all of them. The timeout is for a whole request.
        places: the places; equal ones are looked up once.
        cache: known results; new ones are committed to it before they are reported.
        detail: request the full response, with candidates and components (SPEC 2.5).
        concurrency: how many requests may be in flight at once; it is lowered where the service
            rate limits some, or becomes slow under them.
        deadline: the seconds that the whole run may take; requests in flight then get one more.
        progress: shows how many of the places that are not in the cache got a response or failed;
            it is called in the caller's thread, once their outcomes are committed.
        stop: ends the run once another thread sets it, as an interrupt does: requests in flight
            get a second more, and `stopped` says "it was stopped".

    Raises:
        ValueError: `concurrency` or `deadline` is out of range.
        TypeError: one of them is not a number.
        ImportError: the extra for bulk lookups is not installed.
    """
    options = RunOptions(detail=detail, concurrency=concurrency, deadline=deadline)
    distinct = dict.fromkeys(places)
    known: dict[Place, Outcome] = {}
    run_cache = RunCache(cache, client, detail=detail)
    driver = Driver(client, options, run_cache.commit, stop=stop)
    try:
        known = run_cache.known(distinct)
        if len(known) < len(distinct):
            driver.feed([place for place in distinct if place not in known])
            driver.close_feed()
            driver.start()
            with stage(progress, "Looking up", len(distinct) - len(known), "places") as shown:
                for batch in driver.batches():
                    shown.advance(sum(one.status != "not_attempted" for _, one in batch))
    except KeyboardInterrupt:
        driver.interrupt()
    finally:
        driver.end()
    run = driver.engine
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


class Driver:
    """Feeds a run in the background loop, and takes its batches, from another thread.

    Args:
        client: how the service is reached.
        options: detail, concurrency and deadline.
        commit: commits a batch; `None` where there is no cache.
        remember: whether `outcomes` is filled.
        stop: ends the run when it is set, as a Ctrl+C does.

    Attributes:
        engine: the run.
        outcomes: all that was committed. It is filled by the loop's thread, so that a Ctrl+C at an
            unlucky moment cannot lose a batch.
    """

    def __init__(
        self,
        client: Svc,
        options: RunOptions,
        commit: Commit | None,
        *,
        remember: bool = True,
        stop: threading.Event | None = None,
    ) -> None:
        self._mailbox: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._future: Future[None] | None = None
        self._over = False
        self._remember = remember
        self._stop = stop
        self._poll = _POLL if stop is None else _POLL_STOP
        self.engine = Engine(client, options, self._committed, commit)
        self.outcomes: dict[Place, Outcome] = {}

    def start(self) -> None:
        """Start the run, unless it was stopped before."""
        if self._is_stopped():
            self.engine.stopped = STOPPED
            return
        self._future = in_background(self._run())

    def feed(self, places: Iterable[Place]) -> None:
        """Add distinct places that are to be looked up."""
        if self._future is None:
            self.engine.feed(places)
        else:
            soon(partial(self.engine.feed, list(places)))

    def close_feed(self) -> None:
        """Declare that no further places come."""
        if self._future is None:
            self.engine.close_feed()
        else:
            soon(self.engine.close_feed)

    def batches(self) -> Iterator[Batch]:
        """The committed batches as they come, until the run is over."""
        while (batch := self.batch()) is not None:
            yield batch

    def batch(self) -> Batch | None:
        """The next committed batch; `None` where the run is over, or was stopped.

        Raises:
            ImportError: the extra for bulk lookups is not installed.
        """
        while self._future is not None:
            if self._is_stopped():
                self.interrupt(STOPPED)
                break
            try:
                batch = self._mailbox.get(timeout=self._poll)
            except queue.Empty:
                if not self._future.done():
                    continue
                batch = None
            if batch is not None:
                return batch
            self._finish()
        return None

    def ready(self) -> Iterator[Batch]:
        """The batches committed so far, without waiting. Raises as `batch`."""
        while not self._mailbox.empty():
            batch = self._mailbox.get()
            if batch is None:
                self._finish()
            else:
                yield batch

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
        """Stop: requests in flight get some time, and their outcomes are committed.

        A further Ctrl+C cancels them at once.

        Args:
            cause: why.
            grace: seconds for requests in flight; `GRACE` where left out.
        """
        grace = GRACE if grace is None else grace
        end = time.monotonic() + grace + _COMMIT
        future = self._future
        soon(partial(self.engine.stop, cause, grace))
        while future is not None and self._future is not None and time.monotonic() < end:
            try:
                if self._mailbox.get(timeout=_POLL) is None:
                    self._future = None
            except queue.Empty:
                if future.done():
                    self._future = None
            except KeyboardInterrupt:
                soon(partial(self.engine.stop, cause, 0.0))
        self._future = None
        self.engine.stopped = self.engine.stopped or cause

    def end(self, grace: float = 0.0) -> None:
        """End the run if it is not over."""
        if self._future is not None:
            self.interrupt(CLOSED, grace)

    def _committed(self, batch: Batch) -> None:
        if self._remember:
            self.outcomes.update(batch)
        self._mailbox.put(batch)

    async def _run(self) -> None:
        try:
            await self.engine.run()
        finally:
            self._mailbox.put(None)


T = TypeVar("T")


class _Loop:
    """An event loop in a daemon thread, started at first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._works: set[asyncio.Task[object]] = set()
        # what a forked child inherited: referenced, so that no finalizer of it runs in the child
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
                # the runs first: each ends its tasks once its outcomes are committed
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
    """Run a coroutine in the background loop of this process; a forked child starts another."""
    return _loop.submit(work)


def soon(work: Callable[[], object]) -> None:
    """Call a function in the background loop; nothing happens where it is not running."""
    _loop.soon(work)
