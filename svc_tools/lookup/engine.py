"""The engine of bulk lookups: workers over one connection pool and one pace, in one event loop.

Places are fed in; outcomes are reported in batches, each committed to the cache before that.
"""

from __future__ import annotations

import asyncio
import heapq
import queue
import threading
import time
from bisect import insort
from collections import deque
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from svc_sdk import SvcError
from svc_sdk.wire import HEALTH, Failure, backoff, decide, parse_lookup, settings_of
from svc_tools.config import address_fault, is_right_address, note_right_address
from svc_tools.lookup.outcomes import (
    INTERRUPTED,
    Outcome,
    deadline_reached,
    failed,
    not_attempted,
    of_response,
)
from svc_tools.lookup.pace import Health, Pace, Pauses, rate_limit
from svc_tools.lookup.transport import open_sender, request_of
from svc_tools.lookup.troubles import SERVER_ERRORS, TOO_MANY, is_fatal, is_foreign, is_transient

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from svc_sdk import AsyncSvc, Svc, TaxResponse
    from svc_sdk.wire import Call, Reply
    from svc_tools.config import WrongAddressError
    from svc_tools.lookup.transport import Sender
    from svc_tools.tables.places import Place

    Batch = list[tuple[Place, Outcome]]
    """Places and their outcomes, in the order in which the responses came."""
    Looked = tuple[Mapping[Place, Outcome], Collection[Place]]
    """What other processes stored of some places, and those that none of them looks up now."""
    _Job = tuple[Batch, int | None, list[Place] | None, Future[Looked]]
    Commit = Callable[[Batch, int | None, list[Place] | None], Looked]
    """Stores a batch, and the remaining quota if known; durable when it returns. The places are the
    next ones to be requested: until they are committed no other process will; `None` at the end of
    the run releases all of them."""

GRACE = 1.0
"""Seconds that requests in flight get after an interrupt: most responses still arrive in them."""
_WAITING = 16
"""How many places per request in flight may wait for their next attempt."""
_OK = 200
_NOT_FOUND = 404
_WATCH = 0.25
"""Seconds between two searches for requests that hang."""
_TOGETHER = 0.01
"""Seconds that outcomes wait for more of them: a batch costs as much as twenty of its outcomes."""
_UNCOMMITTED = 64
"""How many outcomes may wait for their commit before no further request is sent: a killed process
loses at most these and those of the requests in flight, however slow the disk."""
_BATCH = _UNCOMMITTED // 2
"""So many outcomes are committed at once, while the next ones come."""
_AHEAD = 2 * _UNCOMMITTED
"""How many of the next places are claimed, so that other processes leave them: more than are begun
until the next commit."""
_LOOK = 0.1
"""Seconds between two looks for the results of places that other processes look up."""
LAST_COMMIT = 10.0
"""Seconds that the last batch gets to be committed when everything is canceled."""
_MOST_IN_FLIGHT = 512


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of a run, validated.

    Attributes:
        detail: request the full response, with candidates and components (SPEC 2.5).
        concurrency: how many requests may be in flight at once, at most.
        deadline: the seconds that the whole run may take.

    Raises:
        ValueError: a number out of range.
        TypeError: not a number.
    """

    detail: bool = False
    concurrency: int = 16
    deadline: float | None = None

    def __post_init__(self) -> None:
        """Validate the numbers."""
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


class Engine:
    """One run: `feed()` it, `close_feed()`, await `run()`; `stop()` ends it early.

    Args:
        client: how the service is reached.
        options: detail, concurrency and deadline.
        report: takes each batch of outcomes, in the loop's thread, once it is committed.
        commit: commits a batch; `None` where there is no cache.

    Attributes:
        stopped: why the run ended early; `None` where it did not.
        asked: how many places were requested at least once.
        cached: how many places other processes that share the cache looked up meanwhile.
        requests: how many requests were sent.
        quota: how many lookups the account has left, by the last response.
    """

    def __init__(
        self,
        client: Svc | AsyncSvc,
        options: RunOptions,
        report: Callable[[Batch], object],
        commit: Commit | None,
    ) -> None:
        """Set up a run without places; nothing is sent, stored or reported yet."""
        self._client = client
        self._settings = settings_of(client)
        self._options = options
        self._pace = Pace(options.concurrency)
        self._health = Health()
        self._waiting: deque[Place] = deque()
        self._ready: deque[Place] = self._waiting if commit is None else deque()
        self._elsewhere: deque[Place] = deque()
        self._looking = 0
        self._patience = 0.0
        self._later: list[tuple[float, int, Item]] = []
        self._due: list[Item] = []
        self._again: list[tuple[float, int, Item]] = []
        self._room = max(_WAITING * options.concurrency, 256)
        self._number = 0
        self._fed = False
        self._began: dict[Item, float] = {}
        self._hanging: set[Item] = set()
        self._unread = 0
        self._idle: deque[asyncio.Future[None]] = deque()
        self._workers: list[asyncio.Task[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._pauses = Pauses()
        self._right_address = is_right_address(client)
        self._address_check: asyncio.Task[WrongAddressError | None] | None = None
        self._writer = Writer(report, commit, self)
        self._loop: asyncio.AbstractEventLoop | None = None
        self.stopped: str | None = None
        self.asked = 0
        self.cached = 0
        self.requests = 0
        self.quota: int | None = None

    @property
    def awaits_responses(self) -> bool:
        """Whether requests are in flight."""
        return bool(self._began)

    @property
    def waited(self) -> float:
        """Seconds for which no request was sent because the service required a pause."""
        return self._pace.waited(time.monotonic())

    def feed(self, places: Iterable[Place]) -> None:
        """Add distinct places that are to be looked up."""
        self._waiting.extend(places)
        self._writer.look()
        self._wake_one()

    def close_feed(self) -> None:
        """Declare that no further places come."""
        self._fed = True
        self._wake_all()

    def stop(self, cause: str, grace: float | None = None) -> None:
        """Start no further requests; the first cause counts.

        Args:
            cause: why, in a sentence without a full stop.
            grace: the seconds after which requests in flight are canceled; where left out, each
                has its usual timeout.
        """
        self.stopped = self.stopped or cause
        self._wake_all()
        if grace is not None and self._loop is not None:
            self._loop.call_later(grace, self._drop)

    async def run(self) -> None:
        """Run until every place that was fed has its outcome, or the run is stopped.

        Raises:
            ImportError: see `open_sender`.
        """
        self._loop = loop = asyncio.get_running_loop()
        self._patience = time.monotonic() + self._settings.timeout + GRACE
        sender = await open_sender(self._client, self._options.concurrency)
        writing = loop.create_task(self._writer.run())
        writing.add_done_callback(self._wrote)
        watching = loop.create_task(self._watch())
        end = None
        if self._options.deadline is not None:
            cause = deadline_reached(self._options.deadline)
            end = loop.call_later(self._options.deadline, self.stop, cause, GRACE)
            self._pauses.ends_at = end.when()  # the loop's clock is time.monotonic
        count = self._options.concurrency
        if self._fed:
            count = min(count, len(self._waiting))
        self._workers = [loop.create_task(self._work(sender)) for _ in range(count)]
        try:
            await asyncio.gather(*self._workers, return_exceptions=True)
        except asyncio.CancelledError:
            self.stop(INTERRUPTED)
            self._drop()
            raise
        finally:
            watching.cancel()
            if end is not None:
                end.cancel()
            if self._timer is not None:
                self._timer.cancel()
            if self._address_check is not None:
                self._address_check.cancel()
            self._settle_rest()
            self._writer.end()
            try:
                await writing
            finally:
                await sender.close()

    def _wrote(self, writing: asyncio.Task[None]) -> None:
        """Stop the run if the writer failed: nothing would be reported any more."""
        if not writing.cancelled() and (error := writing.exception()) is not None:
            self.stop(f"{type(error).__name__}: {error}", 0.0)

    def _drop(self) -> None:
        for worker in self._workers:
            worker.cancel()

    # workers

    async def _work(self, sender: Sender) -> None:
        """Request one place after another until the run is done; with none ready, wait to be woken.

        Commits the batch once no request is in flight. An error of one place is its outcome.
        """
        while True:
            item = self._start_next()
            if item is not None:
                self._began[item] = time.monotonic()
                if self._idle:
                    self._wake_one()
                try:
                    await self._request(sender, item)
                except Exception as error:  # noqa: BLE001 - one odd place must not lose the others
                    self._settle(item.place, Outcome("failed", f"{type(error).__name__}: {error}"))
                finally:
                    del self._began[item]
                    self._hanging.discard(item)
            elif self._is_done():
                self._wake_all()
                return
            else:
                if not self._began:
                    self._writer.commit_now()
                idle = asyncio.get_running_loop().create_future()
                self._idle.append(idle)
                await idle

    def _is_done(self) -> bool:
        if self.stopped is not None:
            return True
        new = self._waiting or self._ready or self._elsewhere or self._looking
        waiting = new or self._later or self._due or self._again
        return self._fed and not (waiting or self._began or self._unread)

    def _start_next(self) -> Item | None:
        """The next place that may be requested now; else a timer is set for it."""
        if self.stopped is not None or self._is_full():
            return None
        if self._waiting and not self._ready:
            self._writer.look()
        now = time.monotonic()
        if now < self._pace.ready_at:
            if self._ready or self._later or self._due or self._again:
                self._wake_at(self._pace.ready_at)
            return None
        item = self._next(now)
        if item is not None:
            self._pace.started(now)
        elif now < self._pace.ready_at:
            self._wake_at(self._pace.ready_at)
        else:
            again = [] if self._ready else self._again[:1]
            if nearest := self._later[:1] + again:
                self._wake_at(min(when for when, _, _ in nearest))
        return item

    def _next(self, now: float) -> Item | None:
        """The next place: one that waited for its next attempt, a new one, one to be tried again.

        Where a refusal is likely, it is one that has most attempts left.
        """
        while self._later and self._later[0][0] <= now:
            insort(self._due, heapq.heappop(self._later)[2], key=_attempts)
        if self._due and self._pace.confident:
            return self._due.pop()
        if self._ready and self._may_begin() and (item := self._begin()) is not None:
            return item
        if self._due:
            is_last = 0 < self._settings.max_retries <= self._due[0].attempts
            return None if is_last and self._pace.repeat(now) else self._due.pop(0)
        if self._again and not self._ready and self._again[0][0] <= now:
            return heapq.heappop(self._again)[2]
        return None

    def _is_full(self) -> bool:
        in_flight = len(self._began) - len(self._hanging)
        return in_flight >= self._pace.limit or self._writer.is_full

    async def _watch(self) -> None:
        """Find the requests that hang: they no longer count as load."""
        while True:
            await asyncio.sleep(_WATCH)
            limit = time.monotonic() - self._pace.hangs_after()
            self._hanging = {item for item, began in self._began.items() if began < limit}
            self._wake_one()

    def _may_begin(self) -> bool:
        begun = len(self._began) + len(self._later) + len(self._due)
        return begun < (self._room if self._health.good else self._options.concurrency)

    def _begin(self) -> Item | None:
        """The next new place for which a request can be made."""
        while self._ready:
            place = self._ready.popleft()
            try:
                call = request_of(place, detail=self._options.detail)
            except (ValueError, TypeError) as error:  # the client would refuse it as well
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

    async def _request(self, sender: Sender, item: Item) -> None:
        """Make one attempt for a place: it is then to be read, tried again, or settled.

        Updates the pace and the health of the service; an address without a service ends the run.
        """
        began = self._began[item]
        self.requests += 1
        outcome = await sender.exchange(item.call)
        item.attempts += 1
        now = time.monotonic()
        if isinstance(outcome, Failure):
            self._health.troubled()
        else:
            self._adapt(outcome, began, now)
            if outcome.status == _OK:
                self._unread += 1
                self._writer.add(item.place, partial(self._read, item, outcome, datetime.now(UTC)))
                return
            if outcome.status == _NOT_FOUND and not self._right_address:
                fault = await self._address_fault(sender, item, outcome)
                if fault is not None:
                    self._end_with(item, fault)
                    return
        wait = decide(item.attempts - 1, self._settings.max_retries, outcome)
        if wait is None or _is_refused(outcome):
            wait = self._finish(item, outcome, wait)
        if wait is None:
            return
        if self.stopped is not None:
            self._settle(item.place, not_attempted(self.stopped))
            return
        self._put_back(self._later, item, now + wait)

    def _adapt(self, reply: Reply, began: float, now: float) -> None:
        """Adapt quota, health and pace of the whole run to a response."""
        headers = reply.headers
        left = headers.get("x-quota-remaining")
        if left is not None and left.isascii() and left.isdecimal():
            self.quota = int(left)
        if reply.status == TOO_MANY:
            self._health.troubled()
            self._pace.refused(began, now, reply.retry_after)
        elif reply.status in SERVER_ERRORS:
            self._health.troubled()
            self._pace.wait(now, reply.retry_after or 0.0)
        else:
            self._health.responded()
            self._pace.responded(began, now)
        if (limit := rate_limit(headers)) is not None:
            self._pace.limited(now, limit[0], len(self._began) - 1, limit[1])
        if cause := self._pauses.check(now, self._pace):
            self.stop(cause)

    def _read(self, item: Item, reply: Reply, at: datetime) -> Outcome | None:
        """The outcome of a 200; `None` where its body is unusable and it is requested again."""
        self._unread -= 1
        try:
            response = parse_lookup(reply, item.attempts)
            self._health.read(usable=True)
            if not self._right_address:
                self._right_address = True
                note_right_address(self._client)
            return self._usable(item, response, at)
        except SvcError as error:
            if item.failure is None and self._is_gone(error):
                self.stop(str(error))
            return self._repeated(item, failed(error, at=at))
        except Exception as error:  # noqa: BLE001 - one odd body must not lose the others
            odd = Outcome("failed", f"{type(error).__name__}: {error}", looked_up_at=at)
            return self._repeated(item, odd)

    def _usable(self, item: Item, response: TaxResponse, at: datetime) -> Outcome | None:
        """The outcome of a response; `None` where it cannot be used and is requested again.

        One that is as unusable the second time is what the service has for the place.
        """
        outcome = of_response(item.place, response, at=at)
        before = item.failure and item.failure.error
        if outcome.means.settled or outcome.error == before:
            return outcome
        return self._repeated(item, outcome)

    def _finish(self, item: Item, outcome: Reply | Failure, wait: float | None) -> float | None:
        """Settle a place, or return the seconds until its next attempt."""
        try:
            response = parse_lookup(outcome, item.attempts)
        except SvcError as raised:
            error = raised
        else:
            usable = self._usable(item, response, datetime.now(UTC))
            if usable is not None:
                self._settle(item.place, usable)
            return None
        if is_fatal(error) or self._is_shut(outcome):
            self._end_with(item, error)
            return None
        if wait is not None:
            return wait
        # a place that is requested again says nothing new of the service
        if item.failure is None and self._is_gone(error):
            self.stop(str(error))
        result = failed(error, at=datetime.now(UTC))
        broken = isinstance(outcome, Failure) or is_foreign(error)
        settled = self._repeated(item, result) if broken else result
        if settled is not None:
            self._settle(item.place, settled)
        return None

    def _end_with(self, item: Item, error: SvcError) -> None:
        """Settle a place whose error every other one would have, too, and end the run."""
        if self.stopped is not None:  # the cause is reported once
            self._settle(item.place, not_attempted(self.stopped))
        else:
            self._settle(item.place, failed(error, at=datetime.now(UTC)))
            self.stop(str(error))

    async def _address_fault(
        self, sender: Sender, item: Item, reply: Reply
    ) -> WrongAddressError | None:
        """The fault of the address behind a 404, where there was no success yet.

        The health is requested once a run; every 404 until its response waits for it, because no
        place may be reported, or cached, as one without a rate that the service never saw.
        """
        if self._address_check is None:
            check = self._check_address(sender, item, reply)
            self._address_check = asyncio.get_running_loop().create_task(check)
        # shielded: the others wait for it, too
        return await asyncio.shield(self._address_check)

    async def _check_address(
        self, sender: Sender, item: Item, reply: Reply
    ) -> WrongAddressError | None:
        self.requests += 1
        try:
            parse_lookup(reply, item.attempts)
        except SvcError as error:
            try:
                health = await sender.exchange(HEALTH)
            except Exception:  # noqa: BLE001 - odd as it is, it says nothing of the address
                return None
            return address_fault(self._client, error, health)
        return None

    def _is_gone(self, error: SvcError) -> bool:
        """Whether too many failed in a row: the service will fail the rest, too."""
        if is_foreign(error):
            return self._health.read(usable=False)
        if error.status_code is not None and not is_transient(error):
            self._health.read(usable=True)
        return self._health.is_gone(error)

    def _is_shut(self, outcome: Reply | Failure) -> bool:
        if isinstance(outcome, Failure):
            return outcome.final
        if outcome.status != TOO_MANY:
            return False
        return self._pace.is_shut(self._settings.max_retries, outcome.retry_after)

    def _repeated(self, item: Item, failure: Outcome) -> Outcome | None:
        """The outcome of a response that broke, cannot be used or is not the service's.

        `None` where the place is requested again, at the end.
        """
        if self.stopped is not None or item.attempts > self._settings.max_retries:
            return failure
        item.failure = failure
        self._put_back(self._again, item, time.monotonic() + backoff(item.attempts - 1))
        return None

    def _put_back(self, places: list[tuple[float, int, Item]], item: Item, when: float) -> None:
        self._number += 1
        heapq.heappush(places, (when, self._number, item))

    def _settle(self, place: Place, outcome: Outcome) -> None:
        self._writer.add(place, outcome)

    # other processes that share the cache

    def ahead(self) -> list[Place]:
        """The next places, to be claimed; where there are none, those that others look up."""
        if self._ready is self._waiting or self.stopped is not None:
            return []
        room = max(_AHEAD, 2 * self._options.concurrency) - len(self._ready)
        places = self._waiting or self._elsewhere
        ahead = [places.popleft() for _ in range(min(room, len(places)))]
        self._looking = len(ahead)
        return ahead

    def looked(self, ahead: list[Place], looked: Looked) -> Batch:
        """Sort the places of `ahead`; those that other processes have looked up are done.

        A process that does not go on, such as one that was suspended, is not waited for longer than
        a request may take.
        """
        found, ours = looked[0], {*looked[1]}
        self._looking = 0
        if ours or found:
            self._patience = time.monotonic() + self._settings.timeout + GRACE
        elif time.monotonic() > self._patience:
            ours = {*ahead}
        self._ready += [place for place in ahead if place in ours and place not in found]
        self._elsewhere += [place for place in ahead if not (place in ours or place in found)]
        if self._elsewhere and self._loop is not None:
            self._loop.call_later(_LOOK, self._writer.look)
        self.cached += len(found)
        return [(place, found[place]) for place in ahead if place in found]

    def committed(self) -> None:
        """Note that a batch was committed: there is room again, and responses were read."""
        self._wake_one()

    def _settle_rest(self) -> None:
        """Settle the places that were to be requested again when the run was stopped."""
        waiting = [item for _, _, item in (*self._later, *self._again)] + self._due
        for item in waiting:
            if item.failure is not None:
                self._settle(item.place, item.failure)


def _is_refused(outcome: Reply | Failure) -> bool:
    return not isinstance(outcome, Failure) and outcome.status == TOO_MANY


@dataclass(slots=True, eq=False)
class Item:
    """A place, its request and its attempts.

    Attributes:
        place: the place.
        call: the request.
        attempts: how often it was sent.
        failure: its outcome, should it not be requested again; `None` where no response broke.
    """

    place: Place
    call: Call
    attempts: int = 0
    failure: Outcome | None = None


_attempts = attrgetter("attempts")


class Writer:
    """Commits outcomes in batches, then reports them; while one is written the next one grows.

    Args:
        report: takes each batch, in the loop's thread, once it is committed.
        commit: commits a batch; `None` where there is no cache.
        engine: the run.

    Attributes:
        is_full: whether as many outcomes wait for their commit as may be lost.
    """

    def __init__(
        self,
        report: Callable[[Batch], object],
        commit: Commit | None,
        engine: Engine,
    ) -> None:
        self._report = report
        self._commit = commit
        self._engine = engine
        self._batch: list[tuple[Place, Outcome | Callable[[], Outcome | None]]] = []
        self._count = 0
        self.is_full = False
        self._bell = asyncio.Event()
        self._at_once = asyncio.Event()
        self._over = False

    def add(self, place: Place, outcome: Outcome | Callable[[], Outcome | None]) -> None:
        """Add an outcome, or a function that makes it, or none, when its batch is written.

        Responses that are parsed together take a third of the time.
        """
        self._batch.append((place, outcome))
        self._count += 1
        self._look_for_room()
        self._bell.set()

    def _look_for_room(self) -> None:
        if self._commit is not None:
            self.is_full = self._count >= _UNCOMMITTED
            if len(self._batch) >= _BATCH:
                self._at_once.set()

    def look(self) -> None:
        """Claim the next places, and look for what other processes stored of them."""
        self._bell.set()
        self._at_once.set()

    def commit_now(self) -> None:
        """Write what came: no further outcomes come for now."""
        if self._batch:
            self._at_once.set()

    def end(self) -> None:
        """Declare that no further outcomes come."""
        self._over = True
        self._bell.set()
        self._at_once.set()

    async def run(self) -> None:
        """Commit and report until the end."""
        committer = None if self._commit is None else _Committer(self._commit)
        try:
            while not self._over or self._batch:
                await self._bell.wait()
                self._bell.clear()
                if self._engine.awaits_responses:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_TOGETHER):
                            await self._at_once.wait()
                self._at_once.clear()
                came = len(self._batch)
                batch = self._taken()
                ahead = self._engine.ahead()
                if committer is not None and (batch or ahead):
                    looked = await committer.commit(batch, self._engine.quota, ahead)
                    batch += self._engine.looked(ahead, looked)
                if batch:
                    self._report(batch)
                self._count -= came
                self._look_for_room()
                self._engine.committed()
                if self._batch or self._over:
                    self._bell.set()
            if committer is not None:
                await committer.commit([], None, None)
        except asyncio.CancelledError:  # with everything in the caller's loop
            if committer is not None:
                committer.commit_last(self._taken(), self._engine.quota)
            raise
        finally:
            if committer is not None:
                committer.close()

    def _taken(self) -> Batch:
        """The outcomes that came."""
        came, self._batch = self._batch, []
        made = [(place, outcome() if callable(outcome) else outcome) for place, outcome in came]
        return [(place, outcome) for place, outcome in made if outcome is not None]


class _Committer:
    """Commits batches in a separate thread.

    It is a daemon thread, and no executor: those of the standard library refuse work as soon as
    the main thread has ended, while other threads of a program may still wait for results.
    """

    def __init__(self, commit: Commit) -> None:
        self._commit = commit
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="svc-cache", daemon=True).start()

    async def commit(self, batch: Batch, quota: int | None, ahead: list[Place] | None) -> Looked:
        done: Future[Looked] = Future()
        self._jobs.put((batch, quota, ahead, done))
        return await asyncio.wrap_future(done)

    def commit_last(self, batch: Batch, quota: int | None) -> None:
        """Commit a batch, after the one under way, without the loop."""
        done: Future[Looked] = Future()
        self._jobs.put((batch, quota, None, done))
        with suppress(TimeoutError):
            done.exception(LAST_COMMIT)

    def close(self) -> None:
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            batch, quota, ahead, done = job
            # the waiting task may have been canceled meanwhile, and the loop may have ended
            with suppress(InvalidStateError, RuntimeError):
                try:
                    looked = self._commit(batch, quota, ahead)
                except BaseException as error:  # noqa: BLE001 - raised where it is awaited
                    done.set_exception(error)
                else:
                    done.set_result(looked)
