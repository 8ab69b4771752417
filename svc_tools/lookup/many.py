"""Many places without a table: outcomes as they come, for synchronous and asynchronous code."""

# MERGED giving: From a source of items to items with outcomes: the loops behind `lookup_many`.
# MERGED items: What people hand to `lookup_many`, and who waits for which place. Pure.

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import fields
from typing import TYPE_CHECKING, Generic, TypeVar

from svc_sdk import AsyncSvc, Svc
from svc_tools.config import configured, connect, source_of, unconfigured
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.driver import Driver
from svc_tools.lookup.engine import GRACE, Lookups, Terms, keeper
from svc_tools.lookup.outcomes import Outcome, not_attempted, refused
from svc_tools.places import Cells, Place, Question, Refusal, question

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator

    from svc_tools.lookup.cache import Answers, CacheChoice
    from svc_tools.lookup.engine import Burst, Keeper

_AHEAD = 8
"""How many items per request under way are taken in before the first of them is done."""
_CLOSED = "nobody waits for the answers any more"

_REMEMBERED = 100_000
"""How many answered places are remembered, so that equal ones are asked for once: an endless
source must not fill the memory. A cache remembers them all."""

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

    Every item comes out once, in the order of the answers. Equal places are asked for once, and
    none that the cache knows; each answer is in the cache before it is yielded. Once the run has
    ended early (a key, plan or quota is refused, the service is gone, the deadline) the other items
    come out as `not_attempted`. Closing the iterator ends the run. An error of the source is raised
    once what came before it is out. Long pauses that the service asks for, and what is wrong with
    the cache, are logged (`svc_tools.lookup`), which is to say shown on standard error.

    Args:
        places: places, or mappings with the keys of a row (state, zip, address, city, location,
            lat, lng, country, as_of). They are taken in a little ahead of the answers, in the
            caller's thread, so the source may be lazy and without an end. What cannot be asked
            comes out as `invalid` or `unsupported`.
        client: the client; the configured one where left out, as `df.svc.lookup` has it.
        cache: a path, `False` for none, or an open cache; the configured one where left out.
        detail: ask for the full answer, with candidates and components (SPEC 2.5).
        concurrency: how many requests may be under way at once.
        deadline: the seconds that the whole run may take.

    Raises:
        ValueError: `concurrency` or `deadline` is out of range.
        TypeError: an argument of the wrong type.
        ConfigurationError: half of a configuration.
        ImportError: the extra for bulk lookups, or for the embedded service, is not installed.
    """
    terms = Terms(detail=detail, concurrency=concurrency, deadline=deadline)
    if client is not None and not isinstance(client, Svc):
        raise TypeError(f"client: expected svc_sdk.Svc, not {type(client).__name__}")
    if client is not None:
        return give(places, client, cache, terms, owned=False)
    ready = connect() if configured() else unconfigured(stacklevel=3)
    return give(places, ready, cache, terms, owned=True)


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
    terms = Terms(detail=detail, concurrency=concurrency, deadline=deadline)
    if client is not None and not isinstance(client, Svc | AsyncSvc):
        raise TypeError(
            f"client: expected svc_sdk.AsyncSvc or svc_sdk.Svc, not {type(client).__name__}"
        )
    if client is not None:
        return agive(places, client, cache, terms, owned=False)
    ready = connect() if configured() else unconfigured(stacklevel=3)
    return agive(places, ready, cache, terms, owned=True)


_log = logging.getLogger("svc_tools.lookup")


def _cache(stack: ExitStack, choice: CacheChoice) -> Answers | None:
    """The cache that was chosen; what is wrong with it is said when the run ends."""
    cache = stack.enter_context(opened_cache(choice))
    if cache is not None and cache is not choice:  # its owner reads the notes of an open one
        stack.callback(_say, cache.notes)
    return cache


def _say(notes: list[str]) -> None:
    for note in notes:
        _log.warning("%s", note)


class _Memory:
    """The cache of a run, or none, for one client."""

    def __init__(self, cache: Answers | None, client: Svc | AsyncSvc, terms: Terms) -> None:
        self._cache = cache
        self._detail = terms.detail
        self._source = source_of(client) if cache is not None else None

    @property
    def keep(self) -> Keeper | None:
        if self._cache is None or self._source is None:
            return None
        return keeper(self._cache, self._source, detail=self._detail)

    @property
    def grace(self) -> float:
        """What is under way when nobody listens any more is waited for where it is kept."""
        return 0.0 if self._cache is None else GRACE

    def known(self, places: list[Place]) -> dict[Place, Outcome]:
        if self._cache is None or self._source is None or not places:
            return {}
        return self._cache.known(self._source, places, detail=self._detail)


class _Intake(Generic[T]):
    """Items that were taken in together, and what is to be done with them.

    Those of a collection are handed on together. Those of a lazy source are handed on one by one:
    it may let the next one wait for long, or until it has seen the answer to this one.
    """

    def __init__(self, desk: Desk[T], terms: Terms, *, lazy: bool) -> None:
        self._desk = desk
        self._most = 1 if lazy else _AHEAD * terms.concurrency
        self._room = _AHEAD * terms.concurrency
        self.count = 0
        self.new: list[Place] = []
        self.done: list[tuple[T, Outcome]] = []

    @property
    def full(self) -> bool:
        """Whether these items are to be handed on now."""
        return self.count >= self._most or self.crowded

    @property
    def crowded(self) -> bool:
        """Whether there is no room for a further item."""
        return self._desk.outstanding >= self._room

    def add(self, item: T) -> None:
        self.count += 1
        taken = self._desk.take(item)
        if isinstance(taken, Outcome):
            self.done.append((item, taken))
        elif taken is not None:
            self.new.append(taken)

    def to_ask(self, memory: _Memory) -> list[Place]:
        """The places that are not known; what waits for the others is done."""
        known = memory.known(self.new)
        self.done += self._desk.settle(known.items())
        return [place for place in self.new if place not in known]


def give(
    places: Iterable[T], client: Svc, choice: CacheChoice, terms: Terms, *, owned: bool
) -> Generator[tuple[T, Outcome], None, None]:
    """See `lookup_many`. An owned client is closed at the end."""
    with ExitStack() as stack:
        if owned:
            stack.enter_context(client)
        memory = _Memory(_cache(stack, choice), client, terms)
        driver = Driver(client, terms, memory.keep, remember=False)
        desk: Desk[T] = Desk()
        source, lazy = _Source(places), not isinstance(places, Collection)
        more = True
        driver.start()
        try:
            while more or desk.outstanding:
                intake = _Intake(desk, terms, lazy=lazy)
                more = more and source.fill(intake)
                to_ask = intake.to_ask(memory)
                if not driver.over:
                    driver.feed(to_ask)
                if not more:
                    driver.close_feed()
                yield from intake.done
                # with room for more items nobody waits here, but for the source
                waits = intake.crowded or not more
                for burst in [driver.burst() or []] if waits else driver.ready():
                    yield from desk.settle(burst)
                if driver.over:
                    yield from desk.rest(_left(driver.lookups))
            source.check()
        except KeyboardInterrupt:
            driver.interrupt()
            raise
        finally:
            driver.end(memory.grace)


class _Ended:
    """The error that a source of items ended with.

    It is raised after what came before it: that was asked for, and paid.
    """

    _error: Exception | None = None

    def check(self) -> None:
        """Raise what the source raised."""
        if self._error is not None:
            raise self._error


class _Source(_Ended, Generic[T]):
    """Items."""

    def __init__(self, places: Iterable[T]) -> None:
        self._items: Iterator[T] = iter(places)

    def fill(self, intake: _Intake[T]) -> bool:
        """Take items in; whether there are more."""
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


class _AwaitedSource(_Ended, Generic[T]):
    """As `_Source`, of an asynchronous iterable."""

    def __init__(self, places: AsyncIterable[T]) -> None:
        self._items = aiter(places)

    async def fill(self, intake: _Intake[T]) -> bool:
        """Take one item in; whether there may be more."""
        try:
            item = await anext(self._items)
        except StopAsyncIteration:
            return False
        except Exception as error:  # noqa: BLE001 - see `check`
            self._error = error
            return False
        intake.add(item)
        return True


def _left(lookups: Lookups) -> Outcome:
    return not_attempted(lookups.stopped or "the run ended early")


async def agive(
    places: Iterable[T] | AsyncIterable[T],
    client: Svc | AsyncSvc,
    choice: CacheChoice,
    terms: Terms,
    *,
    owned: bool,
) -> AsyncGenerator[tuple[T, Outcome], None]:
    """See `alookup_many`. An owned client is closed at the end."""
    with ExitStack() as stack:
        if owned and isinstance(client, Svc):
            stack.enter_context(client)
        memory = _Memory(_cache(stack, choice), client, terms)
        stream: _Stream[T] = _Stream(client, terms, memory)
        feeding = asyncio.create_task(stream.feed(places))
        running = asyncio.create_task(stream.run())
        for task in (feeding, running):
            task.add_done_callback(stream.ended)
        try:
            while (done := await stream.ready.get()) is not None:
                for pair in done:
                    stream.gave_one()
                    yield pair
            for task in (feeding, running):
                if task.done():
                    task.result()
            stream.check()
        finally:
            feeding.cancel()
            stream.lookups.stop(_CLOSED, memory.grace)
            await asyncio.gather(feeding, running, return_exceptions=True)


class _Stream(Generic[T]):
    """Items on their way through a run in the caller's own event loop."""

    def __init__(self, client: Svc | AsyncSvc, terms: Terms, memory: _Memory) -> None:
        self.lookups = Lookups(client, terms, self._committed, memory.keep)
        self.ready: asyncio.Queue[list[tuple[T, Outcome]] | None] = asyncio.Queue()
        self._desk: Desk[T] = Desk()
        self._terms = terms
        self._memory = memory
        self.check: Callable[[], None] = lambda: None
        self._inside = 0
        self._room = asyncio.Event()
        self._fed = False
        self._over = False

    async def feed(self, places: Iterable[T] | AsyncIterable[T]) -> None:
        """Take items in, as long as there is room, and hand their places on."""
        source: _AwaitedSource[T] | _Source[T]
        source = _AwaitedSource(places) if isinstance(places, AsyncIterable) else _Source(places)
        lazy = not isinstance(places, Collection)
        more = True
        while more:
            intake = _Intake(self._desk, self._terms, lazy=lazy)
            if isinstance(source, _AwaitedSource):
                more = await source.fill(intake)
            else:
                more = source.fill(intake)
                await asyncio.sleep(0)  # the loop is shared
            await self._hand_on(intake)
        self.check = source.check
        self._fed = True
        self.lookups.close_feed()
        self._look_for_end()

    async def _hand_on(self, intake: _Intake[T]) -> None:
        self._inside += intake.count
        to_ask = intake.to_ask(self._memory)
        self._give(intake.done)
        self.lookups.feed(to_ask)
        if self._over:
            self._give(self._desk.rest(_left(self.lookups)))
        while self._inside >= _AHEAD * self._terms.concurrency:
            self._room.clear()
            await self._room.wait()

    async def run(self) -> None:
        """Ask, until all is done or the run is stopped."""
        await self.lookups.run()
        self._over = True
        self._give(self._desk.rest(_left(self.lookups)))
        self._look_for_end()

    def gave_one(self) -> None:
        """An item left: there is room for another one."""
        self._inside -= 1
        self._room.set()

    def ended(self, task: asyncio.Task[None]) -> None:
        """A task ended: one that failed ends all."""
        if not task.cancelled() and task.exception() is not None:
            self.ready.put_nowait(None)

    def _committed(self, burst: Burst) -> None:
        self._give(self._desk.settle(burst))
        self._look_for_end()

    def _give(self, done: list[tuple[T, Outcome]]) -> None:
        if done:
            self.ready.put_nowait(done)

    def _look_for_end(self) -> None:
        if self._fed and not self._desk.outstanding:
            self.ready.put_nowait(None)


_KEYS = tuple(field.name for field in fields(Cells))


def _asked_place(item: object) -> Place | Outcome:
    """The place that an item asks about, or the outcome of one that is never asked for.

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


class Desk(Generic[T]):
    """Items on their way: which place each waits for, and what is known of places.

    Attributes:
        outstanding: the items that were taken in and not given out again.
    """

    def __init__(self) -> None:
        self._waiting: dict[Place, list[T]] = {}
        self._known: OrderedDict[Place, Outcome] = OrderedDict()
        self.outstanding = 0

    def take(self, item: T) -> Place | Outcome | None:
        """Take an item in.

        Returns:
            Its outcome where that is known; the place where it is new; `None` where another item
            waits for the same place.
        """
        place = _asked_place(item)
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
        """Give out the items that waited for these places."""
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
        """Give out all that still wait."""
        return self.settle([(place, outcome) for place in self._waiting])
