"""Many queries at once: `look_up` of a collection, and `lookup_many` of any iterable.

Lookups of the embedded service are computed, without a request (`computed`). To a service over
HTTP, synchronous runs go through one background event loop of the process, in a daemon thread: the
caller's own loop, such as a notebook's, is left alone. `alookup_many` runs in the caller's loop.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterable, Collection, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, fields
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Generic, TypeVar

from svc_sdk import AsyncSvc, Svc
from svc_tools.base.memory import all_stay
from svc_tools.base.progress import stage
from svc_tools.config import (
    EmbeddedAsyncSvc,
    EmbeddedSvc,
    configured,
    connect,
    source_of,
    unconfigured,
)
from svc_tools.lookup.cache import Cache, opened_cache
from svc_tools.lookup.computed import Ends, computed_by
from svc_tools.lookup.engine import GRACE, LAST_COMMIT, Engine, RunOptions
from svc_tools.lookup.outcomes import INTERRUPTED, STOPPED, Outcome, not_attempted, refused
from svc_tools.show.display import visible
from svc_tools.tables.places import Cells, Place, PlaceQuery, Refusal, place_query

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
    from concurrent.futures import Future

    from svc_tools.base.progress import Progress
    from svc_tools.lookup.cache import CacheChoice, ResultStore
    from svc_tools.lookup.computed import Computed
    from svc_tools.lookup.engine import Batch, Commit, Looked

_T = TypeVar("_T")
_Result = TypeVar("_Result")
_log = logging.getLogger("svc_tools.lookup")

_CLOSED = "the caller ended the run"
_OTHER_PROCESS = "the run is that of another process: begin one in the process that uses it"
_AHEAD = 8
"""How many items per request in flight are read before the first of them is done."""
_AHEAD_LISTED = 64
"""The same of a collection: processes that share a cache look up different parts of it."""
_REMEMBERED = 100_000
"""How many outcomes are remembered, so that equal places are looked up once: an endless source must
not fill the memory. A cache remembers them all."""
_POLL = 0.5
"""Seconds between two looks of a waiting thread: not every system wakes it for a Ctrl+C."""
_POLL_STOP = 0.1
"""The same where an event may stop the run: a queue cannot be awaited together with an event."""
_END = 5.0
"""Seconds that runs get to commit their outcomes when the process ends."""


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run.

    Attributes:
        outcomes: an outcome for each distinct place, in the order in which they were given.
        stopped: why the run ended early; `None` where it did not.
        asked: how many places were requested from the service, or computed by the embedded one.
        cached: how many outcomes came from the cache.
        requests: how many requests were sent, retries included.
        waited: the seconds for which none was sent because the service required a pause.
        quota: how many lookups the account has left by the last response; `None` where the service
            reports none.
    """

    outcomes: dict[Place, Outcome]
    stopped: str | None
    asked: int
    cached: int
    requests: int
    waited: float
    quota: int | None = None


def look_up(
    client: Svc,
    places: Iterable[Place],
    *,
    cache: ResultStore | None = None,
    detail: bool = False,
    concurrency: int = 16,
    deadline: float | None = None,
    refresh: bool = False,
    progress: Progress | None = None,
    stop: threading.Event | None = None,
) -> Run:
    """Look up every distinct place once, and none that is in the cache.

    Those of the embedded service are computed in this thread, without requests or cache; every one
    with the rate book that the run began with. What follows of requests is about other services.

    A key, a plan or a quota that the service refuses ends the run, because every further request
    would be refused too; so does an address at which there is no service (404 for the first place
    and for the health check), a service that fails one place after the other, the deadline, and
    an interrupt (Ctrl+C) or the event `stop`, which return the outcomes so far; a service that
    refuses everything (429); and one that requires a pause of an hour or more: `stopped` then says
    when to run it again. The remaining places are `not_attempted`. No place takes more than
    `max_retries + 1` requests; after a response that broke or cannot be used it is requested again
    at the end.

    Args:
        client: the client; its retries and delays apply to every request (SPEC 8), and a
            `Retry-After` to all of them. The timeout is for a whole request.
        places: the places; equal ones are looked up once.
        cache: known results; new ones are committed to it before they are reported.
        detail: request the full response, with candidates and components (SPEC 2.5).
        refresh: request every place, also those in the cache; results are stored all the same.
        concurrency: how many requests may be in flight at once; it is lowered where the service
            rate limits some, or becomes slow under them.
        deadline: the seconds that the whole run may take; requests in flight then get one more.
        progress: shows how many of the places that are not in the cache got a response or failed;
            it is called in the caller's thread, once their outcomes are committed.
        stop: ends the run once another thread sets it, as an interrupt does: requests in flight
            get a second more, and `stopped` is "it was stopped".

    Raises:
        ValueError: `concurrency` or `deadline` is out of range.
        TypeError: one of them is not a number.
        ImportError: the extra for bulk lookups is not installed.
    """
    options = RunOptions(detail=detail, concurrency=concurrency, deadline=deadline)
    distinct = dict.fromkeys(places)
    if (computed := computed_by(client, detail=detail)) is not None:
        return _compute(computed, distinct, options, progress, stop)
    sent = [place.as_sent() for place in distinct]
    requested = dict.fromkeys(sent)
    known: dict[Place, Outcome] = {}
    stored = None if isinstance(client, EmbeddedSvc) else cache
    run_cache = _RunCache(stored, client, detail=detail, refresh=refresh)
    driver = _Driver(client, options, run_cache, stop=stop)
    try:
        known = run_cache.known(requested)
        if len(known) < len(requested):
            driver.engine.feed([place for place in requested if place not in known])
            driver.engine.close_feed()
            driver.start()
            with stage(progress, "Looking up", len(requested) - len(known), "places") as shown:
                while (batch := driver.batch()) is not None:
                    shown.advance(sum(outcome.means.attempted for _, outcome in batch))
    except KeyboardInterrupt:
        driver.interrupt()
    finally:
        driver.end()
    run = driver.engine
    outcomes = known | driver.outcomes if driver.outcomes else known
    rest = _not_attempted(run)
    return Run(
        dict(zip(distinct, map(outcomes.get, sent, repeat(rest)), strict=True)),
        run.stopped,
        run.asked,
        len(known) + run.cached,
        run.requests,
        run.waited,
        run.quota,
    )


def lookup_many(
    places: Iterable[_T],
    *,
    client: Svc | None = None,
    cache: CacheChoice = None,
    detail: bool = False,
    concurrency: int = 16,
    deadline: float | None = None,
) -> Generator[tuple[_T, Outcome], None, None]:
    """Look many places up; yield each item, as it was given, with its outcome, as they complete.

        for item, outcome in svc_tools.lookup_many([{"state": "TX", "zip": "78701"}]):
            print(item["zip"], outcome.status, outcome.found and outcome.found.combined)

    Every item is yielded once, in the order of the responses. Equal places are looked up once, and
    none that is in the cache; each result is in the cache before it is yielded. Once the run has
    ended early (a key, plan or quota is refused, the service is gone, the deadline) the other items
    are `not_attempted`. Closing the iterator ends the run. An error of the source is raised after
    the items before it. Long pauses that the service requires, and trouble with the cache, are
    logged (`svc_tools.lookup`), by default to standard error. Items of the embedded service are
    computed one after the other, without a cache, all with the rate book of the first one.

    Args:
        places: places, or mappings with the keys of a row (state, zip, address, city, location,
            lat, lng, country, as_of). They are read a little ahead of the responses, in the
            caller's thread, so the source may be lazy and endless. What cannot be requested is
            `invalid` or `unsupported`.
        client: the client; the configured one where left out, as in `df.svc.lookup`.
        cache: a path, `False` for none, or an open cache; the configured one where left out.
        detail: request the full response, with candidates and components (SPEC 2.5).
        concurrency: how many requests may be in flight at once.
        deadline: the seconds that the whole run may take.

    Raises:
        ValueError: `concurrency` or `deadline` is out of range.
        TypeError: an argument of the wrong type.
        ConfigurationError: half of a configuration.
        ImportError: the extra for bulk lookups, or for the embedded service, is not installed.
    """
    options = RunOptions(detail=detail, concurrency=concurrency, deadline=deadline)
    if client is not None and not isinstance(client, Svc):
        raise TypeError(f"client: expected svc_sdk.Svc, not {type(client).__name__}")
    if client is not None:
        return _lookup(places, client, cache, options, owned=False)
    ready = connect() if configured() else unconfigured(stacklevel=3)
    return _lookup(places, ready, cache, options, owned=True)


def alookup_many(
    places: Iterable[_T] | AsyncIterable[_T],
    *,
    client: Svc | AsyncSvc | None = None,
    cache: CacheChoice = None,
    detail: bool = False,
    concurrency: int = 16,
    deadline: float | None = None,
) -> AsyncGenerator[tuple[_T, Outcome], None]:
    """As `lookup_many`, for `async for`; it runs in the caller's event loop.

        async for item, outcome in svc_tools.alookup_many(rows):
            ...

    Args:
        places: as for `lookup_many`, or an asynchronous iterable of the same.
        client: an `AsyncSvc` or an `Svc`.
        cache: as for `lookup_many`; so are the others.
        detail: request the full response.
        concurrency: how many requests may be in flight at once.
        deadline: the seconds that the whole run may take.

    Raises:
        ValueError: as `lookup_many`; so for the others.
        TypeError: an argument of the wrong type.
        ConfigurationError: half of a configuration.
        ImportError: the extra for bulk lookups, or for the embedded service, is not installed.
    """
    options = RunOptions(detail=detail, concurrency=concurrency, deadline=deadline)
    if client is not None and not isinstance(client, Svc | AsyncSvc):
        raise TypeError(
            f"client: expected svc_sdk.AsyncSvc or svc_sdk.Svc, not {type(client).__name__}"
        )
    if client is not None:
        return _alookup(places, client, cache, options, owned=False)
    ready = connect() if configured() else unconfigured(stacklevel=3)
    return _alookup(places, ready, cache, options, owned=True)


def _lookup(
    places: Iterable[_T], client: Svc, choice: CacheChoice, options: RunOptions, *, owned: bool
) -> Generator[tuple[_T, Outcome], None, None]:
    """The generator of `lookup_many`. An owned client is closed at the end."""
    with ExitStack() as stack:
        if owned:
            stack.enter_context(client)
        cache = _cache(stack, choice, client)
        if (computed := computed_by(client, detail=options.detail)) is not None:
            yield from _computed(computed, _Source(places), options)
            return
        run_cache = _RunCache(cache, client, detail=options.detail)
        driver = _Driver(client, options, run_cache, remember=False)
        pending: _Pending[_T] = _Pending(run_cache)
        source = _Source(places)
        room = source.ahead * options.concurrency
        driver.start()
        try:
            while source.more or pending.outstanding:
                new, done = pending.add(source.read(room - pending.outstanding))
                if new and not driver.over:
                    _loop.soon(driver.engine.feed, new)
                if not source.more:
                    _loop.soon(driver.engine.close_feed)
                yield from done
                # while there is room for more items, only the source is waited for
                waits = pending.outstanding >= room or not source.more
                for batch in [driver.batch() or []] if waits else driver.ready():
                    yield from pending.settle(batch)
                if driver.over:
                    yield from pending.rest(_not_attempted(driver.engine))
            source.check()
        except KeyboardInterrupt:
            driver.interrupt()
            raise
        finally:
            driver.end(_grace(cache))


async def _alookup(
    places: Iterable[_T] | AsyncIterable[_T],
    client: Svc | AsyncSvc,
    choice: CacheChoice,
    options: RunOptions,
    *,
    owned: bool,
) -> AsyncGenerator[tuple[_T, Outcome], None]:
    """The generator of `alookup_many`. An owned client is closed at the end."""
    with ExitStack() as stack:
        if owned and isinstance(client, Svc):
            stack.enter_context(client)
        cache = _cache(stack, choice, client)
        if isinstance(client, EmbeddedSvc | EmbeddedAsyncSvc):
            computed = await _in_thread(partial(computed_by, client, detail=options.detail))
            if computed is not None:
                async for pair in _acomputed(computed, _Source(places), options):
                    yield pair
                return
        stream = _Stream(_Source(places), client, options, cache)
        feeding = asyncio.create_task(stream.feed())
        running = asyncio.create_task(stream.run())
        for task in (feeding, running):
            task.add_done_callback(stream.ended)
        try:
            while (done := await stream.ready.get()) is not None:
                for pair in done:
                    stream.yielded_one()
                    yield pair
            for task in (feeding, running):
                if task.done():
                    task.result()
            stream.source.check()
        finally:
            feeding.cancel()
            stream.engine.stop(_CLOSED, _grace(cache))
            await asyncio.gather(feeding, running, return_exceptions=True)


_AT_ONCE = 256
"""How many places are computed at once: in milliseconds, seldom in a tenth of a second."""


def _compute(
    computed: Computed,
    places: Collection[Place],
    options: RunOptions,
    progress: Progress | None,
    stop: threading.Event | None,
) -> Run:
    """`look_up` without a service to wait for."""
    outcomes: dict[Place, Outcome] = {}
    ends, stopped = Ends(options.deadline, stop), None
    shown_at = _AT_ONCE
    with computed, all_stay():
        try:
            with stage(progress if places else None, "Looking up", len(places), "places") as shown:
                for place in computed.surveyed(places):
                    if stopped := ends.why():
                        break
                    outcomes[place] = computed.outcome(place)
                    if len(outcomes) >= shown_at:
                        shown.advance(_AT_ONCE)
                        shown_at += _AT_ONCE
                shown.advance(len(outcomes) + _AT_ONCE - shown_at)
        except KeyboardInterrupt:
            stopped = INTERRUPTED
    rest = not_attempted(stopped or "the run ended early")
    every = dict(zip(places, map(outcomes.get, places, repeat(rest)), strict=True))
    return Run(every, stopped, asked=len(outcomes), cached=0, requests=0, waited=0.0)


def _computed(
    computed: Computed, source: _Source[_T], options: RunOptions
) -> Generator[tuple[_T, Outcome], None, None]:
    """`lookup_many` without a service to wait for: each item as soon as it is read."""
    answers = _Answers(computed, options)
    with computed:
        while source.more:
            yield from answers.to(source.read(_AT_ONCE))
        source.check()


async def _acomputed(
    computed: Computed, source: _Source[_T], options: RunOptions
) -> AsyncGenerator[tuple[_T, Outcome], None]:
    """The same for `alookup_many`."""
    stop = threading.Event()
    answers = _Answers(computed, options, stop)
    with computed:
        while source.more:
            items = await source.aread(_AT_ONCE)
            batch = asyncio.create_task(_in_thread(partial(answers.to, items)))
            try:
                done = await asyncio.shield(batch)
            except asyncio.CancelledError:  # its thread goes on, and needs the run until it ends
                stop.set()
                await asyncio.gather(batch, return_exceptions=True)
                raise
            for pair in done:
                yield pair
        source.check()


class _Answers:
    """The outcomes of items that are read a few at a time, until the deadline or the event."""

    def __init__(
        self, computed: Computed, options: RunOptions, stop: threading.Event | None = None
    ) -> None:
        self._computed = computed
        self._ends = Ends(options.deadline, stop)

    def to(self, items: Iterable[_T]) -> list[tuple[_T, Outcome]]:
        """The items with their outcomes."""
        some = [(item, _place_of(item)) for item in items]
        self._computed.survey(place for _, place in some if isinstance(place, Place))
        return [(item, self._outcome(place)) for item, place in some]

    def _outcome(self, place: Place | Outcome) -> Outcome:
        if isinstance(place, Outcome):
            return place
        why = self._ends.why()
        return not_attempted(why) if why else self._computed.outcome(place)


async def _in_thread(work: Callable[[], _Result]) -> _Result:
    """Run a function in a thread, so that the loop does not wait for it; its result."""
    try:
        return await asyncio.to_thread(work)
    except RuntimeError:  # the main thread has ended: no executor takes work
        return work()


def _cache(stack: ExitStack, choice: CacheChoice, client: Svc | AsyncSvc) -> ResultStore | None:
    """The chosen cache; its notes are logged when the run ends."""
    cache = stack.enter_context(opened_cache(choice, of=client))
    if cache is not None and cache is not choice:  # of a cache that was open, its owner reads them
        stack.callback(_log_notes, cache.notes)
    return cache


def _log_notes(notes: list[str]) -> None:
    for note in notes:
        _log.warning("%s", visible(note))


def _grace(cache: ResultStore | None) -> float:
    """Seconds for requests in flight when the caller ends the run: their results can be cached."""
    return 0.0 if cache is None else GRACE


def _not_attempted(engine: Engine) -> Outcome:
    return not_attempted(engine.stopped or "the run ended early")


class _RunCache:
    """The cache of one run over one client, or none.

    Should the cache break its promise never to raise, the run continues without it.
    """

    def __init__(
        self,
        cache: ResultStore | None,
        client: Svc | AsyncSvc,
        *,
        detail: bool,
        refresh: bool = False,
    ) -> None:
        """Note whose results the run stores; the cache itself is not used yet."""
        self._cache = cache
        self._refresh = refresh
        self._detail = detail
        self._broken = False
        self._claimed: dict[Place, int] = {}
        self._source = source_of(client)
        self.commit: Commit | None = None if cache is None else partial(self._commit, cache)
        """Stores a batch; `None` where there is no cache."""

    def known(self, places: Collection[Place]) -> dict[Place, Outcome]:
        """The outcomes that are in the cache."""
        if self._cache is None or not places or self._refresh:
            return {}
        return self._cache.known(self._source, places, detail=self._detail)

    def _commit(
        self, cache: ResultStore, batch: Batch, quota: int | None, ahead: list[Place] | None
    ) -> Looked:
        """Store a batch and the quota; look up the places ahead in the cache, and claim the others.

        Claims of places that are done are released for other processes. After an error nothing is
        stored any more: the cache's notes say why, and the run goes on.

        Returns:
            What the cache has of the places ahead, and which of them this run requests.
        """
        found: Mapping[Place, Outcome] = {}
        ours: Collection[Place] = ahead or ()
        shared = cache if isinstance(cache, Cache) and not self._refresh else None
        try:
            if self._broken:
                return found, ours
            if shared and ahead:
                ours = shared.claim(self._source, ahead)
                self._claimed |= ours
                # only now: another process commits a result before it releases the place
                found = shared.known(self._source, ahead, detail=self._detail)
            if quota is not None:
                cache.store_quota(self._source, quota)
            cache.store(self._source, batch, detail=self._detail)
        except Exception as error:  # noqa: BLE001 - results that were paid for are not lost
            self._broken = True
            reason = f"{type(error).__name__}: {error}"
            cache.notes.append(f"the results of this run are not cached: {reason}")
        finally:
            if shared:
                done = [*found, *(place for place, _ in batch)]
                all_of_them = ahead is None or self._broken
                over = [*self._claimed] if all_of_them else done
                claims = (self._claimed.pop(place, None) for place in over)
                shared.release([claim for claim in claims if claim is not None])
        return found, ours


class _Driver:
    """Drives a run in the background loop, and takes its batches, from another thread.

    Args:
        client: how the service is reached.
        options: detail, concurrency and deadline.
        cache: where batches are committed.
        remember: whether `outcomes` is filled.
        stop: ends the run when it is set, as a Ctrl+C does.

    Attributes:
        engine: the run.
        outcomes: all that was committed. It is filled by the loop's thread, so that a Ctrl+C at an
            unlucky moment cannot lose a batch.
        over: whether the run has begun and ended.
    """

    def __init__(
        self,
        client: Svc,
        options: RunOptions,
        cache: _RunCache,
        *,
        remember: bool = True,
        stop: threading.Event | None = None,
    ) -> None:
        """Make the engine of a run and the mailbox of its batches; nothing runs before `start`."""
        self._mailbox: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._future: Future[None] | None = None
        self._runs_in: _Loop | None = None
        self._remember = remember
        self._stop = stop
        self.engine = Engine(client, options, self._committed, cache.commit)
        self.outcomes: dict[Place, Outcome] = {}
        self.over = False

    def start(self) -> None:
        """Start the run, unless it was stopped before."""
        if self._is_stopped():
            self.engine.stopped = STOPPED
        else:
            self._runs_in = _loop
            self._future = _loop.submit(self._run())

    def batch(self) -> Batch | None:
        """The next committed batch; `None` where the run is over, or was stopped.

        Raises:
            ImportError: the extra for bulk lookups is not installed.
        """
        while self._future is not None and not self._left_to_parent():
            if self._is_stopped():
                self.interrupt(STOPPED)
                break
            try:
                batch = self._mailbox.get(timeout=_POLL if self._stop is None else _POLL_STOP)
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
        while not self._left_to_parent() and not self._mailbox.empty():
            batch = self._mailbox.get()
            if batch is None:
                self._finish()
            else:
                yield batch

    def interrupt(self, cause: str = INTERRUPTED, grace: float | None = None) -> None:
        """Stop: requests in flight get some time, and their outcomes are committed.

        A further Ctrl+C cancels them at once.

        Args:
            cause: why.
            grace: seconds for requests in flight; `GRACE` where left out.
        """
        grace = GRACE if grace is None else grace
        end = time.monotonic() + grace + LAST_COMMIT
        future = self._future
        within: float | None = grace
        while future is not None and self._future is not None and time.monotonic() < end:
            try:
                if within is not None:  # in here, since the next Ctrl+C may come at once
                    _loop.soon(self.engine.stop, cause, within)
                    within = None
                if self._mailbox.get(timeout=_POLL) is None:
                    self._future = None
            except queue.Empty:
                if future.done():
                    self._future = None
            except KeyboardInterrupt:
                within = 0.0
        self._future = None
        self.engine.stopped = self.engine.stopped or cause

    def end(self, grace: float = 0.0) -> None:
        """End the run if it is not over."""
        if self._future is not None and not self._left_to_parent():
            self.interrupt(_CLOSED, grace)

    def _left_to_parent(self) -> bool:
        """Whether this is a forked child: the run, and its results, are the parent's."""
        if self._runs_in in {None, _loop}:
            return False
        self._future, self.over = None, True
        self.engine.stopped = self.engine.stopped or _OTHER_PROCESS
        return True

    def _is_stopped(self) -> bool:
        return self._stop is not None and self._stop.is_set()

    def _finish(self) -> None:
        future, self._future = self._future, None
        self.over = True
        if future is not None:
            future.result()

    def _committed(self, batch: Batch) -> None:
        if self._remember:
            self.outcomes.update(batch)
        self._mailbox.put(batch)

    async def _run(self) -> None:
        try:
            await self.engine.run()
        finally:
            self._mailbox.put(None)


class _Loop:
    """An event loop in a daemon thread, started at first use.

    It is no loop of `asyncio.run`, which at its end would cancel the workers and the writer of a
    run together: a run ends its tasks once its outcomes are committed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._runs: set[asyncio.Task[None]] = set()

    def submit(self, run: Coroutine[object, object, None]) -> Future[None]:
        """Run a coroutine; the thread is started where it is not running."""
        with self._lock:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._work, args=(self._loop,), name="svc-lookup", daemon=True
                )
                self._thread.start()
                # at exit the last one registered goes first: runs end before their cache is closed
                atexit.unregister(_end_loop)
                atexit.register(_end_loop)
            return asyncio.run_coroutine_threadsafe(self._tracked(run), self._loop)

    def soon(self, work: Callable[..., object], *args: object) -> None:
        """Call a function in the loop; nothing happens where it is not running."""
        with self._lock, suppress(RuntimeError):  # the loop has ended
            if self._loop is not None:
                self._loop.call_soon_threadsafe(work, *args)

    def end(self) -> None:
        """Cancel the runs, and wait until their outcomes are committed."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None and thread.is_alive():
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(loop.stop)
            with suppress(KeyboardInterrupt):
                thread.join(_END + 1.0)

    async def _tracked(self, run: Coroutine[object, object, None]) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - this is a coroutine
        self._runs.add(task)
        try:
            await run
        finally:
            self._runs.discard(task)

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            with suppress(RuntimeError):
                loop.run_until_complete(_canceled(set(self._runs)))
                loop.run_until_complete(_canceled(asyncio.all_tasks(loop)))
                loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


async def _canceled(tasks: Collection[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=_END)


_loop = _Loop()
_inherited: list[_Loop] = []
"""What a forked child inherited: its thread is not here, and its files are the parent's.
Referenced, so that no finalizer of it runs in the child."""


def _end_loop() -> None:
    _loop.end()


def _new_loop() -> None:
    global _loop  # noqa: PLW0603 - one per process
    _inherited.append(_loop)
    _loop = _Loop()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_new_loop)


class _Source(Generic[_T]):
    """The items of an iterable, a few at a time; its error is raised after the items before it.

    Those of a collection are read together. Those of a lazy source are read one by one: it may take
    long for the next one, or wait until it has seen the outcome of this one.

    Attributes:
        more: whether there may be more items.
        ahead: how many are read per request in flight.
    """

    def __init__(self, places: Iterable[_T] | AsyncIterable[_T]) -> None:
        self._items = iter(places) if isinstance(places, Iterable) else None
        self._awaited = None if isinstance(places, Iterable) else aiter(places)
        self._lazy = not isinstance(places, Collection)
        self.ahead = _AHEAD if self._lazy else _AHEAD_LISTED
        self._error: Exception | None = None
        self.more = True

    def read(self, most: int) -> list[_T]:
        """The next items."""
        items: list[_T] = []
        while self.more and len(items) < (min(most, 1) if self._lazy else most):
            try:
                items.append(next(self._items))  # type: ignore[arg-type]  # it is no awaited source
            except StopIteration:
                self.more = False
            except Exception as error:  # noqa: BLE001 - see `check`
                self._error, self.more = error, False
        return items

    async def aread(self, most: int) -> list[_T]:
        """The next items, also of an asynchronous iterable."""
        if self._awaited is None:
            await asyncio.sleep(0)  # the loop is shared
            return self.read(most)
        try:
            return [await anext(self._awaited)]
        except StopAsyncIteration:
            self.more = False
        except Exception as error:  # noqa: BLE001 - see `check`
            self._error, self.more = error, False
        return []

    def check(self) -> None:
        """Raise what the source raised."""
        if self._error is not None:
            raise self._error


class _Stream(Generic[_T]):
    """The items of a run in the caller's event loop.

    Attributes:
        ready: items with their outcomes, and `None` at the end.
    """

    def __init__(
        self,
        source: _Source[_T],
        client: Svc | AsyncSvc,
        options: RunOptions,
        cache: ResultStore | None,
    ) -> None:
        """Make the engine of a run and the queue of its results; nothing is requested yet."""
        run_cache = _RunCache(cache, client, detail=options.detail)
        self.source = source
        self.engine = Engine(client, options, self._committed, run_cache.commit)
        self.ready: asyncio.Queue[list[tuple[_T, Outcome]] | None] = asyncio.Queue()
        self._pending: _Pending[_T] = _Pending(run_cache)
        self._most = source.ahead * options.concurrency
        self._inside = 0
        self._room = asyncio.Event()
        self._fed = False
        self._over = False

    async def feed(self) -> None:
        """Read items while there is room, and pass their places on."""
        while self.source.more:
            items = await self.source.aread(self._most)
            self._inside += len(items)
            new, done = self._pending.add(items)
            self._put(done)
            self.engine.feed(new)
            if self._over:
                self._put(self._pending.rest(_not_attempted(self.engine)))
            while self._inside >= self._most:
                self._room.clear()
                await self._room.wait()
        self._fed = True
        self.engine.close_feed()
        self._look_for_end()

    async def run(self) -> None:
        """Run until all is done or the run is stopped."""
        await self.engine.run()
        self._over = True
        self._put(self._pending.rest(_not_attempted(self.engine)))
        self._look_for_end()

    def yielded_one(self) -> None:
        """Note that an item was yielded: there is room for another one."""
        self._inside -= 1
        self._room.set()

    def ended(self, task: asyncio.Task[None]) -> None:
        """End all where a task failed."""
        if not task.cancelled() and task.exception() is not None:
            self.ready.put_nowait(None)

    def _committed(self, batch: Batch) -> None:
        self._put(self._pending.settle(batch))
        self._look_for_end()

    def _put(self, done: list[tuple[_T, Outcome]]) -> None:
        if done:
            self.ready.put_nowait(done)

    def _look_for_end(self) -> None:
        if self._fed and not self._pending.outstanding:
            self.ready.put_nowait(None)


class _Pending(Generic[_T]):
    """Items that wait for the outcome of their place, and the outcomes known so far.

    Attributes:
        outstanding: how many items wait.
    """

    def __init__(self, cache: _RunCache) -> None:
        self._cache = cache
        self._waiting: dict[Place, list[_T]] = {}
        self._known: OrderedDict[Place, Outcome] = OrderedDict()
        self.outstanding = 0

    def add(self, items: Iterable[_T]) -> tuple[list[Place], list[tuple[_T, Outcome]]]:
        """Add items: the places that are to be looked up, and the items that are done already."""
        new: list[Place] = []
        done: list[tuple[_T, Outcome]] = []
        for item in items:
            place = _place_of(item)
            if isinstance(place, Outcome):
                done.append((item, place))
                continue
            place = place.as_sent()
            if (outcome := self._known.get(place)) is not None:
                self._known.move_to_end(place)
                done.append((item, outcome))
            else:
                self.outstanding += 1
                waiting = self._waiting.setdefault(place, [])
                waiting.append(item)
                if len(waiting) == 1:
                    new.append(place)
        cached = self._cache.known(new)
        done += self.settle(cached.items())
        return [place for place in new if place not in cached], done

    def settle(self, outcomes: Iterable[tuple[Place, Outcome]]) -> list[tuple[_T, Outcome]]:
        """The items that waited for these places, with their outcomes."""
        done: list[tuple[_T, Outcome]] = []
        for place, outcome in outcomes:
            done += ((item, outcome) for item in self._waiting.pop(place, ()))
            if outcome.means.attempted:
                self._known[place] = outcome
                if len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
        self.outstanding -= len(done)
        return done

    def rest(self, outcome: Outcome) -> list[tuple[_T, Outcome]]:
        """All items that still wait, with this outcome."""
        return self.settle([(place, outcome) for place in self._waiting])


_KEYS = tuple(field.name for field in fields(Cells))


def _place_of(item: object) -> Place | Outcome:
    """The place of an item, or the outcome of one that is never requested.

    A mapping is read as a row of a frame is: `{"state": "TX", "zip": "78701"}`.
    """
    if isinstance(item, Place):
        return item
    if isinstance(item, Mapping):
        if unknown := [key for key in item if key not in _KEYS]:
            return Outcome("invalid", f"{unknown[0]!r} is no key; one of {', '.join(_KEYS)}")
        item = place_query(Cells(**item), dated=False)
    if isinstance(item, PlaceQuery):
        return item.place
    if isinstance(item, Refusal):
        return refused(item)
    kind = type(item).__name__
    return Outcome("invalid", f"expected a place, or a mapping with state and zip, not {kind}")
