"""Which results require review before they are relied on, and why. Pure."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from svc_tools.codes import OTHER_CITY_CODES, PARTIAL_CODES, codes_of
from svc_tools.lookup.outcomes import NO_SUM, STATUSES
from svc_tools.places import ONE_RATE_STATES, same_place

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from svc_tools.lookup.outcomes import Found, Outcome

_PROVED = "publisher_effective_date"
_SPANS = "zip_spans_jurisdictions"
_MISMATCH = "place_input_mismatch"
OTHER_DATE = frozenset({"as_of_before_history", "as_of_after_edition", "stale_rate"})
"""Warnings that the rate is that of another date than the one of the query."""
_DISPROVING = OTHER_DATE | PARTIAL_CODES.keys() | {"seasonal_rates", "source_conflict", NO_SUM}
"""Warnings with which a published date proves nothing: the rate is of another date, incomplete, of
one season, or disputed by another source."""
_EARLIEST = timedelta(hours=14)
"""How much earlier than in UTC a day begins where it begins first."""
_DOUBTFUL = frozenset({"low", "none"})
_REASONS = codes_of("review")
_BY_WARNING = frozenset(_REASONS).difference(
    STATUSES, {_SPANS, "several_rates", "effective_after_sale", "low_confidence"}
)


def warnings_of(found: Found | None, named_city: str | None) -> tuple[str, ...]:
    """The warnings of a result, each once, plus a mismatch of the row's city (SPEC 2.4).

    Args:
        found: the result.
        named_city: the row's city where it was not sent (`Question.named_city`): it is compared
            here.
    """
    if found is None:
        return ()
    codes = found.warnings
    if named_city and found.resolved_city:
        known = (found.resolved_city, *found.accepted_places)
        if not any(same_place(named_city, name) for name in known):
            codes = (*codes, _MISMATCH)
    return tuple(dict.fromkeys(codes)) if len(codes) > 1 else codes


def review_reasons(
    outcome: Outcome,
    warnings: Collection[str],
    own_day: date | None = None,
    *,
    state_from_zip: bool = False,
) -> tuple[str, ...]:
    """Why a row requires review, as codes of `svc_tools.codes`; empty where it does not.

    A row does where the result's own uncertainty could change its tax. A result of medium
    confidence or better, with one rate and of the right date, does not: that its date is
    unverified (`as_of_status`) alone is no reason, because most publishers give none. Nor is
    another city than the one given, where both have the same rate or the state has only one: but
    only where the row named that state, since a wrong ZIP gives a wrong state.
    Warnings that are not in the table are no reason either.

    Args:
        outcome: the outcome for the row's place.
        warnings: its warnings (`warnings_of`).
        own_day: the day of the row.
        state_from_zip: whether the row named no state, and its ZIP gave it
            (`Question.state_from_zip`).
    """
    found = outcome.found
    if found is None:
        return (outcome.status,)
    codes = {code for code in warnings if code in _BY_WARNING} if warnings else set()
    if not state_from_zip:
        codes -= {code for code in codes & OTHER_CITY_CODES if _same_rate(code, found)}
    if outcome.status != "ok":
        codes.add(outcome.status)
    if found.low is not None and found.low != found.high:
        codes.add("several_rates")
    elif _SPANS in warnings and found.low is None:
        codes.add(_SPANS)
    since = law_since(found)
    if since is not None and own_day is not None and since > own_day:
        codes.add("effective_after_sale")
    if found.confidence in _DOUBTFUL and not codes:
        codes.add("low_confidence")
    if len(codes) > 1:
        return tuple(code for code in _REASONS if code in codes)
    return tuple(codes)


def _same_rate(code: str, found: Found) -> bool:
    """Whether the rate of the other city of a warning is known to be the same."""
    if found.resolved_state in ONE_RATE_STATES:
        return True
    return code in found.warnings and found.low is not None and found.low == found.high


def as_of_status(
    found: Found | None,
    asked_day: date | None,
    own_day: date | None,
    answered: datetime | None = None,
) -> Literal["verified", "unverified"] | None:
    """Whether the result itself proves that its rate was in force on the day of the row.

    `verified`: the publisher dates the rate on the day of the row or before, no warning says that
    it is of another date or season, lacks a part, or is disputed, the query was for the row's own
    day, and that day had begun when the service responded. Everything else is `unverified`;
    without a rate there is no status.

    Args:
        found: the result.
        asked_day: the day of the query.
        own_day: the day of the row.
        answered: when the service responded, where that is known.
    """
    if found is None:
        return None
    since = law_since(found)
    proved = (
        since is not None
        and own_day is not None
        and since <= own_day == asked_day
        and _DISPROVING.isdisjoint(found.warnings)
        # a day that had not begun anywhere: the law may still change
        and not (answered is not None and own_day > (answered + _EARLIEST).date())
    )
    return "verified" if proved else "unverified"


def law_since(found: Found) -> date | None:
    """The day from which the publisher says that the rate is law."""
    return told_day(found.effective_date) if found.effective_date_basis == _PROVED else None


@lru_cache(maxsize=4096)
def told_day(text: str | None) -> date | None:
    """A date as the service writes it; `None` where it is missing or invalid."""
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None
