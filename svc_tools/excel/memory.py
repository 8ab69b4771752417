"""What a desk remembers: the answers that the cells of a session show. Not thread-safe by itself.

An answer is kept as long as the cache of lookups may keep it (`lookup.cache_keeping`): a rate of
today until the local day ends. A failure is kept for a minute, so that a recalculation of thousands
of cells does not ask a service thousands of times that is not there.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.lookup.cache_keeping import LocalDays, keeps_until

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from svc_tools.lookup import Outcome
    from svc_tools.places import Place

__all__ = ["CALM", "Memory", "is_answer"]

CALM = timedelta(seconds=60)
"""For how long a failure is not asked about again."""


class _Kept(NamedTuple):
    outcome: Outcome
    until: datetime


def is_answer(outcome: Outcome) -> bool:
    """Whether the service answered, be it to say that it knows no rate."""
    return outcome.found is not None or outcome.status == "unresolved"


class Memory:
    """Outcomes by place.

    What is out of date is not told any more, and stays until it is renewed: a refresh asks for all.
    """

    def __init__(self) -> None:
        self._kept: dict[Place, _Kept] = {}
        self._days = LocalDays()

    def known(self, places: Iterable[Place], now: datetime) -> dict[Place, Outcome]:
        """The outcomes that still hold."""
        kept = self._kept
        found = ((place, kept.get(place)) for place in places)
        return {place: one.outcome for place, one in found if one is not None and now < one.until}

    def keep(self, outcomes: Mapping[Place, Outcome], asked_at: datetime) -> None:
        """Remember outcomes; how long is counted from when they were asked for."""
        today, day_ends = self._days.of(asked_at)
        for place, outcome in outcomes.items():
            until = keeps_until(
                outcome, place.as_of, answered=asked_at, today=today, day_ends=day_ends
            )
            self._kept[place] = _Kept(outcome, until or asked_at + CALM)

    def all(self) -> dict[Place, Outcome]:
        """Every outcome of the session, the newest of each place."""
        return {place: one.outcome for place, one in self._kept.items()}

    @property
    def answered(self) -> int:
        """How many places the service has answered for."""
        return sum(is_answer(one.outcome) for one in self._kept.values())

    @property
    def oldest(self) -> datetime | None:
        """When the oldest of the answers was given; `None` where there is none."""
        moments = (one.outcome.looked_up_at for one in self._kept.values())
        return min((moment for moment in moments if moment is not None), default=None)
