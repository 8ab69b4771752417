"""Bulk lookups of any iterable, outcomes as they complete: `lookup_many` and `alookup_many`."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import fields
from typing import TYPE_CHECKING, Generic, TypeVar

from svc_sdk import AsyncSvc, Svc
from svc_tools.config import configured, connect, unconfigured
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.driver import CLOSED, Driver
from svc_tools.lookup.engine import GRACE, Engine, RunCache, RunOptions
from svc_tools.lookup.outcomes import Outcome, not_attempted, refused
from svc_tools.places import Cells, Place, Question, Refusal, question

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator

    from svc_tools.lookup.cache import Answers, CacheChoice
    from svc_tools.lookup.engine import Batch

_AHEAD = 8
"""How many items per request in flight are read before the first of them is done."""
_REMEMBERED = 100_000
"""How many outcomes are remembered, so that equal places are looked up once: an endless source must
not fill the memory. A cache remembers them all."""

T = TypeVar("T")


def lookup_many(
    places: Iterable[T],
    *,
    client: Svc | None = None,
    cache: CacheChoice = None,
    detail: bool = False,
    concurrency: int = 16,
    deadline: float | None = None,
) -> Generator[tuple[T, Outcome], None, None]:
    """Look many places up; yield each item, as it was given, with its outcome, as they complete.

        for item, outcome in svc_tools.lookup_many([{"state": "TX", "zip": "78701"}]):
            print(item["zip"], outcome.status, outcome.found and outcome.found.combined)

    Every item is yielded once, in the order of the responses. Equal places are looked up once, and
    none that is in the cache; each result is in the cache before it is yielded. Once the run has
    ended early (a key, plan or quota is refused, the service is gone, the deadline) the other items
    are `not_attempted`. Closing the iterator ends the run. An error of the source is raised after
    the items before it. Long pauses that the service asks for, and trouble with the cache, are
    logged (`svc_tools.lookup`), by default to standard error.

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
    places: Iterable[T] | AsyncIterable[T],
    *,
    client: Svc | AsyncSvc | None = None,
    cache: CacheChoice = None,
    detail: bool = False,
    concurrency: int = 16,
    deadline: float | None = None,
) -> AsyncGenerator[tuple[T, Outcome], None]:
    """As `lookup_many`, for `async for`; it runs in the caller's event loop.

        async for item, outcome in svc_tools.alookup_many(rows):
            ...

    Args:
        places: as for `lookup_many`, or an asynchronous iterable of the same.
        client: an `AsyncSvc` or an `Svc`.
        cache: as for `lookup_many`.
        detail: as for `lookup_many`.
        concurrency: as for `lookup_many`.
        deadline: as for `lookup_many`.

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


_log = logging.getLogger("svc_tools.lookup")


def _cache(stack: ExitStack, choice: CacheChoice) -> Answers | None:
    """The chosen cache; its notes are logged when the run ends."""
    cache = stack.enter_context(opened_cache(choice))
    if cache is not None and cache is not choice:  # of a cache that was open, its owner reads them
        stack.callback(_log_notes, cache.notes)
    return cache


def _log_notes(notes: list[str]) -> None:
    for note in notes:
        _log.warning("%s", note)


def _grace(cache: Answers | None) -> float:
    """Seconds for requests in flight when the caller ends the run: their results can be cached."""
    return 0.0 if cache is None else GRACE


class _Intake(Generic[T]):
    """Items that were read together, and what is to be done with them.

    Those of a collection are passed on together. Those of a lazy source are passed on one by one:
    it may take long for the next one, or wait until it has seen the outcome of this one.
    """

    def __init__(self, pending: _Pending[T], options: RunOptions, *, lazy: bool) -> None:
        self._pending = pending
        self._most = 1 if lazy else _AHEAD * options.concurrency
        self._room = _AHEAD * options.concurrency
        self.count = 0
        self.new: list[Place] = []
        self.done: list[tuple[T, Outcome]] = []

    @property
    def full(self) -> bool:
        """Whether these items are to be passed on now."""
        return self.count >= self._most or self.crowded

    @property
    def crowded(self) -> bool:
        """Whether there is no room for a further item."""
        return self._pending.outstanding >= self._room

    def add(self, item: T) -> None:
        self.count += 1
        taken = self._pending.take(item)
        if isinstance(taken, Outcome):
            self.done.append((item, taken))
        elif taken is not None:
            self.new.append(taken)

    def unknown(self, cache: RunCache) -> list[Place]:
        """The places that are not in the cache; items of those that are, are done."""
        known = cache.known(self.new)
        self.done += self._pending.settle(known.items())
        return [place for place in self.new if place not in known]


def _lookup(
    places: Iterable[T], client: Svc, choice: CacheChoice, options: RunOptions, *, owned: bool
) -> Generator[tuple[T, Outcome], None, None]:
    """The generator of `lookup_many`. An owned client is closed at the end."""
    with ExitStack() as stack:
        if owned:
            stack.enter_context(client)
        cache = _cache(stack, choice)
        run_cache = RunCache(cache, client, detail=options.detail)
        driver = Driver(client, options, run_cache.commit, remember=False)
        pending: _Pending[T] = _Pending()
        source, lazy = _Source(places), not isinstance(places, Collection)
        more = True
        driver.start()
        try:
            while more or pending.outstanding:
                intake = _Intake(pending, options, lazy=lazy)
                more = more and source.fill(intake)
                unknown = intake.unknown(run_cache)
                if not driver.over:
                    driver.feed(unknown)
                if not more:
                    driver.close_feed()
                yield from intake.done
                # while there is room for more items, only the source is waited for
                waits = intake.crowded or not more
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


class _AnySource:
    """A source of items; its error is raised after the items before it, which were paid for."""

    _error: Exception | None = None

    def check(self) -> None:
        """Raise what the source raised."""
        if self._error is not None:
            raise self._error


class _Source(_AnySource, Generic[T]):
    """The items of an iterable."""

    def __init__(self, places: Iterable[T]) -> None:
        self._items: Iterator[T] = iter(places)

    def fill(self, intake: _Intake[T]) -> bool:
        """Read items; whether there are more."""
        while not intake.full:
            try:
                item = next(self._items)
            except StopIteration:
                return False
            except Exception as error:  # noqa: BLE001 - see `check`
                self._error = error
                return False
            intake.add(item)
        return True


class _AwaitedSource(_AnySource, Generic[T]):
    """The items of an asynchronous iterable."""

    def __init__(self, places: AsyncIterable[T]) -> None:
        self._items = aiter(places)

    async def fill(self, intake: _Intake[T]) -> bool:
        """Read one item; whether there may be more."""
        try:
            item = await anext(self._items)
        except StopAsyncIteration:
            return False
        except Exception as error:  # noqa: BLE001 - see `check`
            self._error = error
            return False
        intake.add(item)
        return True


def _not_attempted(engine: Engine) -> Outcome:
    return not_attempted(engine.stopped or "the run ended early")


async def _alookup(
    places: Iterable[T] | AsyncIterable[T],
    client: Svc | AsyncSvc,
    choice: CacheChoice,
    options: RunOptions,
    *,
    owned: bool,
) -> AsyncGenerator[tuple[T, Outcome], None]:
    """The generator of `alookup_many`. An owned client is closed at the end."""
    with ExitStack() as stack:
        if owned and isinstance(client, Svc):
            stack.enter_context(client)
        cache = _cache(stack, choice)
        stream: _Stream[T] = _Stream(client, options, cache)
        feeding = asyncio.create_task(stream.feed(places))
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
            stream.check()
        finally:
            feeding.cancel()
            stream.engine.stop(CLOSED, _grace(cache))
            await asyncio.gather(feeding, running, return_exceptions=True)


class _Stream(Generic[T]):
    """The items of a run in the caller's event loop."""

    def __init__(self, client: Svc | AsyncSvc, options: RunOptions, cache: Answers | None) -> None:
        self._cache = RunCache(cache, client, detail=options.detail)
        self.engine = Engine(client, options, self._committed, self._cache.commit)
        self.ready: asyncio.Queue[list[tuple[T, Outcome]] | None] = asyncio.Queue()
        self._pending: _Pending[T] = _Pending()
        self._options = options
        self.check: Callable[[], None] = lambda: None
        self._inside = 0
        self._room = asyncio.Event()
        self._fed = False
        self._over = False

    async def feed(self, places: Iterable[T] | AsyncIterable[T]) -> None:
        """Read items while there is room, and pass their places on."""
        source: _AwaitedSource[T] | _Source[T]
        source = _AwaitedSource(places) if isinstance(places, AsyncIterable) else _Source(places)
        lazy = not isinstance(places, Collection)
        more = True
        while more:
            intake = _Intake(self._pending, self._options, lazy=lazy)
            if isinstance(source, _AwaitedSource):
                more = await source.fill(intake)
            else:
                more = source.fill(intake)
                await asyncio.sleep(0)  # the loop is shared
            await self._pass_on(intake)
        self.check = source.check
        self._fed = True
        self.engine.close_feed()
        self._look_for_end()

    async def _pass_on(self, intake: _Intake[T]) -> None:
        self._inside += intake.count
        unknown = intake.unknown(self._cache)
        self._put(intake.done)
        self.engine.feed(unknown)
        if self._over:
            self._put(self._pending.rest(_not_attempted(self.engine)))
        while self._inside >= _AHEAD * self._options.concurrency:
            self._room.clear()
            await self._room.wait()

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

    def _put(self, done: list[tuple[T, Outcome]]) -> None:
        if done:
            self.ready.put_nowait(done)

    def _look_for_end(self) -> None:
        if self._fed and not self._pending.outstanding:
            self.ready.put_nowait(None)


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
        item = question(Cells(**item), dated=False)
    if isinstance(item, Question):
        return item.place
    if isinstance(item, Refusal):
        return refused(item)
    kind = type(item).__name__
    return Outcome("invalid", f"expected a place, or a mapping with state and zip, not {kind}")


class _Pending(Generic[T]):
    """Items that wait for the outcome of their place, and the outcomes known so far.

    Attributes:
        outstanding: how many items wait.
    """

    def __init__(self) -> None:
        self._waiting: dict[Place, list[T]] = {}
        self._known: OrderedDict[Place, Outcome] = OrderedDict()
        self.outstanding = 0

    def take(self, item: T) -> Place | Outcome | None:
        """Add an item.

        Returns:
            Its outcome where that is known; the place where it is new; `None` where another item
            waits for the same place.
        """
        place = _place_of(item)
        if isinstance(place, Outcome):
            return place
        if (outcome := self._known.get(place)) is not None:
            self._known.move_to_end(place)
            return outcome
        self.outstanding += 1
        waiting = self._waiting.setdefault(place, [])
        waiting.append(item)
        return place if len(waiting) == 1 else None

    def settle(self, answered: Iterable[tuple[Place, Outcome]]) -> list[tuple[T, Outcome]]:
        """The items that waited for these places, with their outcomes."""
        done: list[tuple[T, Outcome]] = []
        for place, outcome in answered:
            done += ((item, outcome) for item in self._waiting.pop(place, ()))
            if outcome.status != "not_attempted":
                self._known[place] = outcome
                if len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
        self.outstanding -= len(done)
        return done

    def rest(self, outcome: Outcome) -> list[tuple[T, Outcome]]:
        """All items that still wait, with this outcome."""
        return self.settle([(place, outcome) for place in self._waiting])
