"""Ask for many distinct places over one client, a few at a time."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TYPE_CHECKING

from svc_sdk import (
    AuthError,
    ForbiddenError,
    PaymentRequiredError,
    RateLimitError,
    ServiceError,
    SvcError,
    TransportError,
)
from svc_tools.lookup.outcomes import Outcome, failed, not_attempted, of_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from svc_sdk import Svc
    from svc_tools.places import Place

__all__ = ["look_up"]

_IN_FLIGHT = 8
"""Requests under way at once. One thread each: a notebook's running event loop does not matter."""

_GRACE = 1.0
"""Seconds that requests under way get after an interrupt: most answers still come, and count."""
_GIVE_UP = 5 * _IN_FLIGHT
"""How many failures in a row, retries spent, mean that a service that did answer is gone."""

_FATAL = (AuthError, PaymentRequiredError, ForbiddenError)


def look_up(
    client: Svc,
    places: Iterable[Place],
    *,
    on_outcome: Callable[[], object] | None = None,
) -> tuple[dict[Place, Outcome], str | None]:
    """Ask for every distinct place once.

    A key, a plan or a quota that the service refuses ends the run, because every further request
    would be refused too; so does a service that fails one place after the other, and an
    interrupt, at once. The places that are left are `not_attempted`.

    Args:
        client: the client; its retries apply to every request.
        places: the places; equal ones are asked for once.
        on_outcome: called once for each distinct place that got an answer or failed.

    Returns:
        An outcome for each distinct place, and why the run ended early (`None` where it did not).
    """
    distinct = dict.fromkeys(places)
    outcomes: dict[Place, Outcome] = {}
    stop = _Stop()
    waiting = iter(distinct)
    pool = ThreadPoolExecutor(_IN_FLIGHT, thread_name_prefix="svc-lookup")
    under_way: dict[Future[Outcome], Place] = {}
    try:
        for place, outcome in _drive(pool, client, waiting, stop, under_way):
            outcomes[place] = outcome
            if on_outcome is not None and outcome.status != "not_attempted":
                on_outcome()
    except KeyboardInterrupt:
        stop.because("interrupted")
        with contextlib.suppress(KeyboardInterrupt):  # a second one: no more waiting
            done, _ = wait(under_way, timeout=_GRACE)
            outcomes |= {under_way[future]: future.result() for future in done}
    finally:
        # what hangs after an interrupt ends by itself: nobody waits for it
        pool.shutdown(wait=False, cancel_futures=True)
    rest = not_attempted(stop.cause or "the run ended early")
    return {place: outcomes.get(place, rest) for place in distinct}, stop.cause


class _Stop:
    """Why the run ends early; the first cause counts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_a_row = 0
        self._alive = False
        self.cause: str | None = None

    def answered(self) -> None:
        """The service answered, be it to say that it does not know a place."""
        with self._lock:
            self._alive = True
            self._in_a_row = 0

    def is_dead(self, error: SvcError) -> bool:
        """Whether the service has failed so many places in a row that it will fail the rest."""
        if not isinstance(error, TransportError | ServiceError | RateLimitError):
            self.answered()
            return False
        with self._lock:
            self._in_a_row += 1
            return self._in_a_row >= (_GIVE_UP if self._alive else _IN_FLIGHT)

    def because(self, cause: str) -> None:
        with self._lock:
            self.cause = self.cause or cause


def _drive(
    pool: ThreadPoolExecutor,
    client: Svc,
    waiting: Iterator[Place],
    stop: _Stop,
    under_way: dict[Future[Outcome], Place],
) -> Iterator[tuple[Place, Outcome]]:
    """Keep a few requests under way, and yield outcomes as they come."""

    def start(count: int) -> None:
        for place in islice(waiting, count):
            under_way[pool.submit(_ask, client, place, stop)] = place

    start(2 * _IN_FLIGHT)
    while under_way:
        done, _ = wait(under_way, return_when=FIRST_COMPLETED)
        for future in done:
            yield under_way.pop(future), future.result()
        if stop.cause is None:
            start(len(done))


def _ask(client: Svc, place: Place, stop: _Stop) -> Outcome:
    if stop.cause is not None:
        return not_attempted(stop.cause)
    try:
        answer = client.lookup(place.state, **place.arguments())
    except SvcError as error:
        if isinstance(error, _FATAL) or _quota_is_used_up(error) or stop.is_dead(error):
            stop.because(str(error))
        return failed(error)
    except Exception as error:  # noqa: BLE001 - one odd place must not lose the others' answers
        return Outcome("failed", f"{type(error).__name__}: {error}")
    stop.answered()
    return of_answer(place, answer)


def _quota_is_used_up(error: SvcError) -> bool:
    return isinstance(error, RateLimitError) and error.error_code == "QUOTA_EXCEEDED"
