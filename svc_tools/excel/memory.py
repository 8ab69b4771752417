"""What a desk remembers: the answers that the cells of a session show. Not thread-safe by itself.

An answer is kept as long as the cache of lookups may keep it (`lookup.cache_keeping`): a rate of
today until the local day ends. A failure is kept for a minute, so that a recalculation of thousands
of cells does not ask a service thousands of times that is not there.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.lookup.cache_keeping import LocalDays, keeps_until

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from svc_tools.lookup import Outcome
    from svc_tools.places import Place

__all__ = ["CALM", "Memory", "is_answer"]

CALM = timedelta(seconds=60)
"""For how long a failure is not asked about again."""
_FORGOTTEN = timedelta(days=1)
"""How long after its end an outcome is still renewed. Later no cell may show it any more, and one
that does is asked for by the recalculation after a refresh: a formula with TODAY() asks about other
places each day, and those of last month are not to be paid for again."""


class _Kept(NamedTuple):
    outcome: Outcome
    until: datetime
    asked_at: datetime


def is_answer(outcome: Outcome) -> bool:
    """Whether the service answered, be it to say that it knows no rate."""
    return outcome.found is not None or outcome.status == "unresolved"


class Memory:
    """Outcomes by place.

    What is out of date is not told any more, and stays for a day: a refresh asks for it, too.
    """

    def __init__(self) -> None:
        self._kept: dict[Place, _Kept] = {}
        self._days = LocalDays()
        self._forgets_at = datetime.min.replace(tzinfo=UTC)

    def known(self, places: Iterable[Place], now: datetime) -> dict[Place, Outcome]:
        """The outcomes that still hold."""
        kept = self._kept
        found = ((place, kept.get(place)) for place in places)
        return {place: one.outcome for place, one in found if one is not None and now < one.until}

    def keep(
        self, outcomes: Mapping[Place, Outcome], asked_at: datetime, calm_until: datetime
    ) -> None:
        """Remember outcomes, unless newer ones are there.

        Args:
            outcomes: what is to be remembered.
            asked_at: when they were asked for; how long an answer is kept is counted from there.
            calm_until: until when failures are kept.
        """
        self._forget(asked_at)
        today, day_ends = self._days.of(asked_at)
        for place, outcome in outcomes.items():
            kept = self._kept.get(place)
            if kept is not None and kept.asked_at > asked_at:
                continue
            until = keeps_until(
                outcome, place.as_of, answered=asked_at, today=today, day_ends=day_ends
            )
            self._kept[place] = _Kept(outcome, until or calm_until, asked_at)

    def _forget(self, now: datetime) -> None:
        """Once a day let go of what ended long ago, so that months of a program fit in memory."""
        if now < self._forgets_at:
            return
        self._forgets_at = now + timedelta(days=1)
        old = now - _FORGOTTEN
        self._kept = {place: one for place, one in self._kept.items() if one.until > old}

    def all(self, now: datetime) -> dict[Place, Outcome]:
        """Every outcome of the session that is worth renewing, the newest of each place."""
        self._forgets_at = now
        self._forget(now)
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
