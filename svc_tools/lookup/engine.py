"""Ask for many distinct places over one client; the door for code that waits for the answers."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

from svc_tools.config import source_of
from svc_tools.lookup.driving import Driver
from svc_tools.lookup.outcomes import not_attempted
from svc_tools.lookup.terms import Terms
from svc_tools.lookup.writing import keeper

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterable

    from svc_sdk import Svc
    from svc_tools.lookup.cache import Answers
    from svc_tools.lookup.outcomes import Outcome
    from svc_tools.places import Place

__all__ = ["Run", "look_up"]


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
