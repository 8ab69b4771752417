"""How long a result is stored, and which stored results are not used.

The rules are those of the cache's file and of the results that a spreadsheet holds in memory.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from svc_tools.lookup.reviewing import law_since
from svc_tools.show.codes import OTHER_DATE

if TYPE_CHECKING:
    from svc_tools.lookup.outcomes import Found, Outcome

FOR_EVER = datetime(9999, 12, 31, tzinfo=UTC)
"""The expiry of a result that never expires."""
_UNPROVEN = timedelta(days=30)
"""How long the rate of a past date is stored whose effective date is not published."""
UNRESOLVED = timedelta(hours=1)
"""How long it is stored that a place is not known: services are updated."""
CLOCK_SKEW = timedelta(minutes=5)
"""How far ahead the clocks of machines that share a file may be. A result dated later than that was
stored while a clock was wrong: nobody knows its true day, and it is not used."""


def keeps_until(
    outcome: Outcome,
    as_of: date | None,
    *,
    responded_at: datetime,
    today: date,
    day_ends: datetime,
    hours: float | None = None,
) -> datetime | None:
    """When a stored result expires; `None` where it is not stored.

    | result | stored |
    | --- | --- |
    | complete rate, past date, with its own published effective date | permanently |
    | other rate, past date | 30 days |
    | rate of today (or undated) or of a later day | until the local day ends (`SVC_CACHE_HOURS`) |
    | the service has no rate for the place | one hour |
    | failed, not attempted, invalid or unsupported | never |

    Args:
        outcome: the result.
        as_of: the date of the query; `None` for today.
        responded_at: when the service responded (aware).
        today: the local day of that moment.
        day_ends: the end of that day.
        hours: a longer time for the rates of today and later dates.
    """
    if outcome.means.not_found:
        return responded_at + UNRESOLVED
    found = outcome.found
    if not outcome.means.rated or found is None:
        return None
    # the service's day may have begun later than the local one: past is what is past for both
    if as_of is not None and as_of < min(today, responded_at.astimezone(UTC).date()):
        final = outcome.means.usable and _is_proven(found, as_of)
        return FOR_EVER if final else responded_at + _UNPROVEN
    return day_ends if hours is None else max(day_ends, responded_at + timedelta(hours=hours))


def _is_proven(found: Found, as_of: date) -> bool:
    """Whether the publisher dates the rate, and no warning says that it is of another date."""
    since = law_since(found.effective_date, found.effective_date_basis)
    return since is not None and since <= as_of and OTHER_DATE.isdisjoint(found.warnings)


class LocalDays:
    """The local day of a moment, and when it ends; remembers the last one."""

    def __init__(self) -> None:
        self._day = date.min
        self._begins = self._ends = datetime.min.replace(tzinfo=UTC)

    def of(self, moment: datetime) -> tuple[date, datetime]:
        """The local calendar day of an aware moment, and that day's end."""
        if not self._begins <= moment < self._ends:
            self._day = moment.astimezone().date()
            # a naive time is of this machine's zone: midnight as the clocks then stand
            self._begins = datetime.combine(self._day, time()).astimezone()
            self._ends = datetime.combine(self._day + timedelta(days=1), time()).astimezone()
        return self._day, self._ends
