"""A run: workers over one sender and one pace, every answer committed before it is told.

Used from one event loop. Places are fed; outcomes come out, in bursts, as they are committed.
"""

# MERGED item: A place on its way through a run. Pure.
# MERGED writing: Outcomes on their way out of a run: committed first, then told, in bursts.
# MERGED terms: How a run is to be done, checked once.

from __future__ import annotations

import asyncio
import heapq
import queue
import threading
import time
from collections import deque
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Protocol

from svc_sdk import RateLimitError, SvcError, _responses
from svc_sdk._responses import Failure
from svc_sdk._retry import decide
from svc_tools.lookup.errors import SERVER_ERRORS, TOO_MANY, is_fatal, is_foreign, is_transient
from svc_tools.lookup.outcomes import Outcome, failed, not_attempted, of_answer
from svc_tools.lookup.pace import Health, Pace, Pauses, told_limit
from svc_tools.lookup.transport import open_sender, request_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from svc_sdk import AsyncSvc, Svc
    from svc_sdk._requests import Call
    from svc_sdk._responses import Reply
    from svc_tools.config import Source
    from svc_tools.lookup.cache import Answers
    from svc_tools.lookup.transport import Sender
    from svc_tools.places import Place

    Burst = list[tuple[Place, Outcome]]
    """Places and what became of them, in the order in which the answers came."""

GRACE = 1.0
"""Seconds that requests under way get after an interrupt: most answers still come, and count."""
_WAITING = 16
"""How many places per request under way may wait for their next try."""
_OK = 200
_WATCH = 0.25

_MOST_RETURNS = 20
"""How often a place that was refused for coming too fast is put back."""

_TOLD_EVERY = 0.01
"""Seconds between two bursts of outcomes where no cache has to be written."""

_MOST_IN_FLIGHT = 512


class Lookups:
    """One run. Make it, feed it, `close_feed()`, await `run()`; or `stop()` it.

    Args:
        client: how the service is reached.
        terms: how the run is to be done.
        tell: takes each burst of outcomes, in the loop's thread, once it is committed.
        keep: commits a burst; left out where there is no cache.

    Attributes:
        stopped: why the run ended early; `None` where it did not.
        asked: the places that were asked for at least once.
        requests: the requests that were sent.
    """

    def __init__(
        self,
        client: Svc | AsyncSvc,
        terms: Terms,
        tell: Callable[[Burst], object],
        keep: Keeper | None = None,
    ) -> None:
        self._client = client
        self._settings = client._settings  # noqa: SLF001 - the pure parts serve both
        self._terms = terms
        self._pace = Pace(terms.concurrency)
        self._health = Health()
        self._waiting: deque[Place] = deque()
        self._later: list[tuple[float, int, Item]] = []
        self._room = max(_WAITING * terms.concurrency, 256)
        self._number = 0
        self._fed = False
        self._began: dict[Item, float] = {}
        self._hanging: set[Item] = set()
        self._answers = 0
        self._idle: deque[asyncio.Future[None]] = deque()
        self._workers: list[asyncio.Task[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._pauses = Pauses()
        self._writer = Writer(tell, keep)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.stopped: str | None = None
        self.asked = 0
        self.requests = 0

    @property
    def waited(self) -> float:
        """Seconds for which no request was sent because the service wished so."""
        return self._pace.waited(time.monotonic())

    def feed(self, places: Iterable[Place]) -> None:
        """Hand over distinct places that are to be asked for."""
        self._waiting.extend(places)
        self._wake_one()

    def close_feed(self) -> None:
        """No further places come."""
        self._fed = True
        self._wake_all()

    def stop(self, cause: str, grace: float | None = None) -> None:
        """Begin nothing more; the first cause counts.

        Args:
            cause: why, in a sentence without its end.
            grace: the seconds after which requests under way are dropped; left out, each gets the
                time that every request has.
        """
        self.stopped = self.stopped or cause
        self._wake_all()
        if grace is not None and self._loop is not None:
            self._loop.call_later(grace, self._drop)

    async def run(self) -> None:
        """Ask, until every place that was fed has its outcome, or the run is stopped.

        Raises:
            ImportError: see `open_sender`.
        """
        self._loop = loop = asyncio.get_running_loop()
        sender = await open_sender(self._client, self._terms.concurrency)
        writing = loop.create_task(self._writer.run())
        writing.add_done_callback(self._wrote)
        watching = loop.create_task(self._watch())
        end = None
        if self._terms.deadline is not None:
            cause = f"the deadline of {self._terms.deadline:g} s was reached"
            end = loop.call_later(self._terms.deadline, self.stop, cause, GRACE)
            self._pauses.ends_at = end.when()  # the loop's clock is time.monotonic
        count = self._terms.concurrency
        if self._fed:
            count = min(count, len(self._waiting))
        self._workers = [loop.create_task(self._work(sender)) for _ in range(count)]
        try:
            await asyncio.gather(*self._workers, return_exceptions=True)
        except asyncio.CancelledError:
            self.stop("interrupted")
            self._drop()
            raise
        finally:
            watching.cancel()
            if end is not None:
                end.cancel()
            if self._timer is not None:
                self._timer.cancel()
            self._writer.end()
            try:
                await writing
            finally:
                await sender.close()

    def _wrote(self, writing: asyncio.Task[None]) -> None:
        """Without a writer nothing is told: who waits must not wait for ever."""
        if not writing.cancelled() and (error := writing.exception()) is not None:
            self.stop(f"{type(error).__name__}: {error}", 0.0)

    def _drop(self) -> None:
        for worker in self._workers:
            worker.cancel()

    # workers

    async def _work(self, sender: Sender) -> None:
        while True:
            item = self._take()
            if item is not None:
                self._began[item] = time.monotonic()
                if self._idle:
                    self._wake_one()
                try:
                    await self._ask(sender, item)
                except Exception as error:  # noqa: BLE001 - one odd place must not lose the others
                    self._settle(item.place, Outcome("failed", f"{type(error).__name__}: {error}"))
                finally:
                    del self._began[item]
                    self._hanging.discard(item)
            elif self._is_done():
                self._wake_all()
                return
            else:
                idle = asyncio.get_running_loop().create_future()
                self._idle.append(idle)
                await idle

    def _is_done(self) -> bool:
        if self.stopped is not None:
            return True
        nothing = not (self._waiting or self._later or self._began)
        return self._fed and nothing

    def _take(self) -> Item | None:
        """The next place whose time has come; a timer is set where that is later."""
        if self.stopped is not None or self._is_full():
            return None
        now = time.monotonic()
        if now < self._pace.ready_at:
            if self._waiting or self._later:
                self._wake_at(self._pace.ready_at)
            return None
        item = None
        if self._later and self._later[0][0] <= now:
            item = heapq.heappop(self._later)[2]
        elif self._waiting and self._may_begin():
            item = self._begin()
        if item is not None:
            self._pace.started(now)
        elif self._later:
            self._wake_at(self._later[0][0])
        return item

    def _is_full(self) -> bool:
        return len(self._began) - len(self._hanging) >= self._pace.limit

    async def _watch(self) -> None:
        """Tell the requests that hang from those that are under way."""
        while True:
            await asyncio.sleep(_WATCH)
            limit = time.monotonic() - self._pace.hangs_after()
            self._hanging = {item for item, began in self._began.items() if began < limit}
            self._wake_one()

    def _may_begin(self) -> bool:
        begun = len(self._began) + len(self._later)
        return begun < (self._room if self._health.good else self._terms.concurrency)

    def _begin(self) -> Item | None:
        """The next new place that can be asked for."""
        while self._waiting:
            place = self._waiting.popleft()
            try:
                call = request_of(place, detail=self._terms.detail)
            except (ValueError, TypeError) as error:  # the client would refuse it, too
                self._settle(place, Outcome("failed", f"{type(error).__name__}: {error}"))
            else:
                self.asked += 1
                return Item(place, call)
        return None

    def _wake_at(self, when: float) -> None:
        if self._timer is not None:
            if not self._timer.cancelled() and self._timer.when() <= when:
                return
            self._timer.cancel()
        if self._loop is not None:
            self._timer = self._loop.call_at(when, self._timer_went)

    def _timer_went(self) -> None:
        self._timer = None
        self._wake_one()

    def _wake_one(self) -> None:
        """Wake a worker if there may be work; it wakes the next one."""
        if self._is_full():
            return
        while self._idle:
            idle = self._idle.popleft()
            if not idle.done():
                idle.set_result(None)
                return

    def _wake_all(self) -> None:
        while self._idle:
            idle = self._idle.popleft()
            if not idle.done():
                idle.set_result(None)

    # one request

    async def _ask(self, sender: Sender, item: Item) -> None:
        began = self._began[item]
        self.requests += 1
        outcome = await sender.exchange(item.call)
        item.attempts += 1
        now = time.monotonic()
        if isinstance(outcome, Failure):
            self._health.troubled()
        else:
            self._heed(outcome, began, now)
            if outcome.status == _OK:
                self._answers += 1
                self._writer.add(item.place, partial(self._read, item, outcome, datetime.now(UTC)))
                return
        wait = decide(item.attempts - 1, self._settings.max_retries, outcome)
        if wait is None or _is_refused(outcome):
            wait = self._finish(item, outcome, wait)
        if wait is None:
            return
        if self.stopped is not None:
            self._settle(item.place, not_attempted(self.stopped))
            return
        self._number += 1
        heapq.heappush(self._later, (now + wait, self._number, item))

    def _heed(self, reply: Reply, began: float, now: float) -> None:
        """What an answer says to the whole run."""
        headers = reply.headers
        left = headers.get("x-quota-remaining")
        if left is not None and left.isascii() and left.isdecimal():
            self._writer.quota = int(left)
        if reply.status == TOO_MANY:
            self._health.troubled()
            self._pace.refused(began, now, reply.retry_after)
        elif reply.status in SERVER_ERRORS:
            self._health.troubled()
            self._pace.wait(now, reply.retry_after or 0.0)
        else:
            self._health.answered()
            self._pace.answered(began, now)
        if (told := told_limit(headers)) is not None:
            self._pace.limited(now, told[0], len(self._began) - 1, told[1])
        if cause := self._pauses.heed(now, self._pace.paused_until):
            self.stop(cause)

    def _read(self, item: Item, reply: Reply, at: datetime) -> Outcome:
        """The outcome of a 200, whose body may still be none that can be used."""
        try:
            answer = _responses.lookup(reply, item.attempts)
            self._health.read(usable=True)
            return of_answer(item.place, answer, at=at)
        except SvcError as raised:
            error = self._settings.hide_in(raised)
            if self._health.read(usable=False):
                self.stop(str(error))
            return failed(error, at=at)
        except Exception as error:  # noqa: BLE001 - one odd answer must not lose the others
            return Outcome("failed", f"{type(error).__name__}: {error}", looked_up_at=at)

    def _finish(self, item: Item, outcome: Reply | Failure, wait: float | None) -> float | None:
        """Settle a place that has its answer; else the seconds until its next try."""
        try:
            answer = _responses.lookup(outcome, item.attempts)
        except SvcError as raised:
            error = self._settings.hide_in(raised)
        else:
            self._answers += 1
            self._settle(item.place, of_answer(item.place, answer, at=datetime.now(UTC)))
            return None
        now = datetime.now(UTC)
        if is_fatal(error):
            if self.stopped is not None:  # the cause is said once
                self._settle(item.place, not_attempted(self.stopped))
            else:
                self._settle(item.place, failed(error, at=now))
                self.stop(str(error))
            return None
        if wait is not None:
            return wait
        if isinstance(error, RateLimitError) and item.may_return(self._answers):
            return decide(item.attempts - 1, item.attempts, outcome)
        foreign = is_foreign(error)
        gone = self._health.read(usable=False) if foreign else self._health.is_gone(error)
        if gone:
            self.stop(str(error))
        if error.status_code is not None and not is_transient(error):
            self._answers += 1
            if not foreign:
                self._health.read(usable=True)
        self._settle(item.place, failed(error, at=now))
        return None

    def _settle(self, place: Place, outcome: Outcome) -> None:
        self._writer.add(place, outcome)


def _is_refused(outcome: Reply | Failure) -> bool:
    return not isinstance(outcome, Failure) and outcome.status == TOO_MANY


@dataclass(slots=True, eq=False)
class Item:
    """A place, its request, and what was tried.

    Attributes:
        place: the place.
        call: what is sent.
        attempts: how often it was sent.
        returns: how often it was put back, its retries spent, for coming too fast.
    """

    place: Place
    call: Call
    attempts: int = 0
    returns: int = 0
    _answers_before: int = -1

    def may_return(self, answers: int) -> bool:
        """Whether a place that came too fast once too often is put back.

        It is as long as the run gets on: pacing is the run's business, not the place's.

        Args:
            answers: how many the run has got.
        """
        got_on = answers > self._answers_before
        self._answers_before = answers
        self.returns += 1
        return got_on and self.returns <= _MOST_RETURNS


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


@dataclass(frozen=True, slots=True)
class Terms:
    """How a run is to be done.

    Attributes:
        detail: ask for the full answer, with candidates and components (SPEC 2.5).
        concurrency: how many requests may be under way at once, at most.
        deadline: the seconds that the whole run may take.

    Raises:
        ValueError: a number out of its range.
        TypeError: no number.
    """

    detail: bool = False
    concurrency: int = 16
    deadline: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        if isinstance(self.concurrency, bool) or not isinstance(self.concurrency, int):
            raise TypeError(f"concurrency: expected a whole number, not {self.concurrency!r}")
        if not 1 <= self.concurrency <= _MOST_IN_FLIGHT:
            raise ValueError(
                f"concurrency: expected 1 to {_MOST_IN_FLIGHT} requests at once,"
                f" not {self.concurrency}"
            )
        if self.deadline is None:
            return
        if isinstance(self.deadline, bool) or not isinstance(self.deadline, int | float):
            raise TypeError(f"deadline: expected seconds as a number, not {self.deadline!r}")
        if not 0 < self.deadline < float("inf"):
            raise ValueError(
                f"deadline: expected a number of seconds above 0, not {self.deadline!r}"
            )
