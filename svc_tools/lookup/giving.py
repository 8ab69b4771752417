"""From a source of items to items with outcomes: the loops behind `lookup_many`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Collection
from contextlib import ExitStack
from typing import TYPE_CHECKING, Generic, TypeVar

from svc_sdk import Svc
from svc_tools.config import source_of
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.driving import Driver
from svc_tools.lookup.items import Desk
from svc_tools.lookup.outcomes import Outcome, not_attempted
from svc_tools.lookup.running import GRACE, Lookups
from svc_tools.lookup.writing import keeper

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator

    from svc_sdk import AsyncSvc
    from svc_tools.lookup.cache import Answers, CacheChoice
    from svc_tools.lookup.terms import Terms
    from svc_tools.lookup.writing import Burst, Keeper
    from svc_tools.places import Place

__all__ = ["agive", "give"]

T = TypeVar("T")

_log = logging.getLogger("svc_tools.lookup")

_AHEAD = 8
"""How many items per request under way are taken in before the first of them is done."""
_CLOSED = "nobody waits for the answers any more"


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
