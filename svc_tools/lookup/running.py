"""A run: workers over one sender and one pace, every answer committed before it is told.

Used from one event loop. Places are fed; outcomes come out, in bursts, as they are committed.
"""

from __future__ import annotations

import asyncio
import heapq
import time
from collections import deque
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from svc_sdk import RateLimitError, SvcError, _responses
from svc_sdk._responses import Failure
from svc_sdk._retry import decide
from svc_tools.lookup.item import Item
from svc_tools.lookup.outcomes import Outcome, failed, not_attempted, of_answer
from svc_tools.lookup.pace import Pace, told_limit
from svc_tools.lookup.pauses import Pauses
from svc_tools.lookup.requesting import request_of
from svc_tools.lookup.sending import open_sender
from svc_tools.lookup.stopping import (
    SERVER_ERRORS,
    TOO_MANY,
    Health,
    is_fatal,
    is_foreign,
    is_transient,
)
from svc_tools.lookup.writing import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from svc_sdk import AsyncSvc, Svc
    from svc_sdk._responses import Reply
    from svc_tools.lookup.sending import Sender
    from svc_tools.lookup.terms import Terms
    from svc_tools.lookup.writing import Burst, Keeper
    from svc_tools.places import Place

__all__ = ["GRACE", "Lookups"]

GRACE = 1.0
"""Seconds that requests under way get after an interrupt: most answers still come, and count."""

_WAITING = 16
"""How many places per request under way may wait for their next try."""
_OK = 200
_WATCH = 0.25


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
