"""Who answers a lookup: the given client, the configured one, the embedded one, or a lock file."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc_tools.config import configured, connect, source_of, unconfigured
from svc_tools.frames.answers import Answerer, answerer
from svc_tools.lookup import Run, look_up
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.lock_file import read_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from datetime import date

    from svc_tools.config import Source
    from svc_tools.frames.options import Options
    from svc_tools.lookup import Outcome
    from svc_tools.places import Place

    OnOutcome = Callable[[Outcome], object] | None
    AskPlaces = Callable[[Collection[Place], OnOutcome], Run]

__all__ = ["Asking", "asking"]


@dataclass(frozen=True)
class Asking:
    """One who answers.

    Attributes:
        who: as it stands in the rows.
        source: whose answers they are.
        ask: places in, their outcomes out; calls back for each outcome.
        notes: what a person should know of it; it may grow while it asks.
        kept: what gives the answers that need not be asked for, in words.
        today: the day that questions without a date are about; `None` for that of the answer.
    """

    who: Answerer
    source: Source
    ask: AskPlaces
    notes: list[str] = field(default_factory=list)
    today: date | None = None
    kept: str = "the cache"


@contextlib.contextmanager
def asking(options: Options, *, stacklevel: int) -> Iterator[Asking]:
    """Whoever answers with these options, for one lookup.

    Args:
        options: the lookup's.
        stacklevel: where the person's line is, for the warning that nothing is configured: 1 for
            that of the function that enters this, 2 for its caller's, and so on.
    """
    if options.locked is not None:
        lock = read_lock(options.locked)

        def from_lock(places: Collection[Place], on_outcome: OnOutcome) -> Run:
            outcomes = lock.outcomes(places, detail=options.detail)
            for outcome in outcomes.values():
                if on_outcome is not None and outcome.cached:
                    on_outcome(outcome)
            cached = sum(outcome.cached for outcome in outcomes.values())
            return Run(outcomes, None, 0, cached, 0, 0.0)

        yield Asking(
            Answerer(lock.name, lock.edition),
            lock.source,
            from_lock,
            lock.notes,
            lock.today,
            "the lock file",
        )
        return
    with contextlib.ExitStack() as stack:
        cache = stack.enter_context(opened_cache(options.cache))
        client = options.client
        if client is None:
            # two frames between are this one and that of the context manager
            ready = connect() if configured() else unconfigured(stacklevel=stacklevel + 3)
            client = stack.enter_context(ready)

        def over_the_wire(places: Collection[Place], on_outcome: OnOutcome) -> Run:
            return look_up(
                client,
                places,
                cache=cache,
                detail=options.detail,
                concurrency=options.concurrency,
                deadline=options.deadline,
                on_outcome=on_outcome,
            )

        notes = [] if cache is None else cache.notes
        yield Asking(answerer(client), source_of(client), over_the_wire, notes)
