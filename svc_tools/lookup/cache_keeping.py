"""How long an answer may be kept. Pure, but for the zone of this machine's clock.

| answer | kept |
| --- | --- |
| whole rate, past date, its own published effective date | for ever |
| other rate, past date | 30 days |
| rate of today (also by no date) or of a later day | until the local day ends (`SVC_CACHE_HOURS`) |
| the service knows no rate for the place | one hour |
| failed, not attempted, refused before it was asked | never |
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from svc_tools.lookup.review import OTHER_DATE, law_since

if TYPE_CHECKING:
    from svc_tools.lookup.outcomes import Found, Outcome

__all__ = ["FOR_EVER", "LocalDays", "keeps_until"]

FOR_EVER = datetime(9999, 12, 31, tzinfo=UTC)
"""The end of what is kept for good."""

UNPROVEN = timedelta(days=30)
"""How long the rate of a past date is kept whose effective date nobody published."""
UNRESOLVED = timedelta(hours=1)
"""How long it is kept that a place is not known: services learn."""


class LocalDays:
    """The local day of a moment, and when it ends; answers in a row mostly share one."""

    def __init__(self) -> None:
        self._day = date.min
        self._begins = self._ends = datetime.min.replace(tzinfo=UTC)

    def of(self, moment: datetime) -> tuple[date, datetime]:
        """The calendar day of an aware moment where this machine stands, and that day's end."""
        if not self._begins <= moment < self._ends:
            self._day = moment.astimezone().date()
            # a naive time is of this machine's zone: midnight as the clocks then stand
            self._begins = datetime.combine(self._day, time()).astimezone()
            self._ends = datetime.combine(self._day + timedelta(days=1), time()).astimezone()
        return self._day, self._ends


def keeps_until(
    outcome: Outcome,
    as_of: date | None,
    *,
    answered: datetime,
    today: date,
    day_ends: datetime,
    hours: float | None = None,
) -> datetime | None:
    """Until when an answer is kept; `None` where it is not.

    Args:
        outcome: the answer.
        as_of: the date that was asked about; `None` for today.
        answered: when the service answered (aware).
        today: the local day of that moment.
        day_ends: the end of that day.
        hours: a longer time for the rates of today and later dates.
    """
    if outcome.status == "unresolved":
        return answered + UNRESOLVED
    found = outcome.found
    if outcome.status not in {"ok", "partial"} or found is None:
        return None
    # the service's day may have begun later than ours: what is past is past for both
    if as_of is not None and as_of < min(today, answered.astimezone(UTC).date()):
        final = outcome.status == "ok" and _is_proven(found, as_of)
        return FOR_EVER if final else answered + UNPROVEN
    return day_ends if hours is None else max(day_ends, answered + timedelta(hours=hours))


def _is_proven(found: Found, as_of: date) -> bool:
    """Whether the publisher itself dates the rate, and it is not that of another date."""
    since = law_since(found)
    return since is not None and since <= as_of and OTHER_DATE.isdisjoint(found.warnings)
