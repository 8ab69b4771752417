"""Which results require review before they are relied on, and why; the meanings of codes. Pure."""

from __future__ import annotations

from datetime import date, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from svc_tools.codes import CONFIDENCE_MEANINGS, OTHER_CITY_CODES, PARTIAL_CODES
from svc_tools.lookup.outcomes import NO_SUM, STATUSES
from svc_tools.places import ONE_RATE_STATES, same_place

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from svc_tools.lookup.outcomes import Found, Outcome

_PROVED = "publisher_effective_date"
_SPANS = "zip_spans_jurisdictions"
_MISMATCH = "place_input_mismatch"
REVIEW_REASONS = {
    "partial": (
        "the rate lacks its local or district part",
        "the rate is a lower bound: no tax is computed from it unless asked for by name",
    ),
    "unresolved": (
        "the service knows no rate for the place",
        "the row has no tax until its place is corrected or its rate is got from the state",
    ),
    "invalid": (
        "the row names no usable place or date",
        "it was never looked up; it has no tax until it is corrected",
    ),
    "unsupported": (
        "the row lies outside the states and DC",
        "no state's sales tax applies; something else may",
    ),
    "failed": (
        "the service gave no usable answer",
        "run again: it may be there then",
    ),
    "not_attempted": (
        "the run ended before the row was looked up",
        "run again: only what is missing is looked up",
    ),
    _MISMATCH: (
        "the city given is not the place that the rate is for",
        "one of city and ZIP is wrong, and with it perhaps the rate",
    ),
    "zip_not_used": (
        "the ZIP given leads to no rate, and the city decided",
        "one of city and ZIP is wrong, and with it perhaps the rate",
    ),
    "several_rates": (
        "the place fits several jurisdictions, and their rates differ",
        "rate_low and rate_high say how far the rate may be off; a full address decides",
    ),
    _SPANS: (
        "the ZIP lies in several jurisdictions, and the answer does not give their rates",
        "whether they differ is not known; a full address decides",
    ),
    "zip_of_another_state": (
        "only a part of the ZIP lies in the state of the row",
        "with another state the whole rate would be another",
    ),
    "zip_crosses_state_line": (
        "a part of the ZIP lies in another state",
        "with another state the whole rate would be another",
    ),
    "near_state_line": (
        "the point is nearer to another state than the map is exact",
        "with another state the whole rate would be another",
    ),
    "near_map_edge": (
        "the point is near the sea or another country",
        "it may lie where no state's rate applies",
    ),
    "point_off_map": (
        "the point lies in no county: the nearest one answered",
        "it may lie where no state's rate applies",
    ),
    "source_conflict": (
        "published sources disagree on the rate",
        "only the state can say which is right",
    ),
    "as_of_before_history": (
        "the sale is before the oldest rate known, which was used",
        "the rate is that of another date",
    ),
    "as_of_after_edition": (
        "the sale is after what the rates cover; the newest was used",
        "the rate may have changed since",
    ),
    "stale_rate": (
        "the rate was last published for an earlier date, and no newer exact figure exists",
        "the rate may have changed since",
    ),
    "effective_after_sale": (
        "the rate took effect after the day of the row",
        "the rate is that of another date",
    ),
    "seasonal_rates": (
        "towns of the state have other rates in winter",
        "the rate may be that of the other season",
    ),
    NO_SUM: (
        "the parts of the rate are not its sum",
        "either the rate or a part is wrong: the tax by level is not known",
    ),
    "low_confidence": (
        "the service has little confidence in the answer, and no other reason here says why",
        "only the state can say whether the rate is right",
    ),
}
"""Every reason to review a result: its meaning, and why it matters. The most urgent first."""

_NO_REASON_TO_REVIEW = {
    "ok": "a whole rate: state + county + city + districts",
    "local_rates_not_covered": "the rate is the state's part alone",
    "districts_not_covered": "a city or district rate may come on top",
    "address_not_matched": "decided by the ZIP Code or place, not by the street address",
    "address_districts_not_covered": "districts drawn by address may add to the rate",
    "ready": "a whole rate, and nothing to review",
    "check": "a whole rate that requires review before it is used",
    "incomplete": "the rate lacks its local or district part",
}
_SPANS_MEANING = {
    "zip_spans_jurisdictions": "the ZIP lies in several jurisdictions; rates may differ"
}
"""As a warning. As a reason for review it says more: that the rates are not known."""

OTHER_DATE = frozenset({"as_of_before_history", "as_of_after_edition", "stale_rate"})
"""Warnings that the rate is that of another date than the one of the query."""
_DISPROVING = OTHER_DATE | PARTIAL_CODES.keys() | {"seasonal_rates", "source_conflict", NO_SUM}
"""Warnings with which a published date proves nothing: the rate is of another date, incomplete, of
one season, or disputed by another source."""
_EARLIEST = timedelta(hours=14)
"""How much earlier than in UTC a day begins where it begins first."""
_DOUBTFUL = frozenset({"low", "none"})
_BY_WARNING = (
    REVIEW_REASONS.keys()
    - set(STATUSES)
    - {_SPANS, "several_rates", "effective_after_sale", "low_confidence"}
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
    """Why a row requires review, as codes of `REVIEW_REASONS`; empty where it does not.

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
        return tuple(code for code in REVIEW_REASONS if code in codes)
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


MEANINGS = (
    _NO_REASON_TO_REVIEW
    | CONFIDENCE_MEANINGS
    | {code: meaning for code, (meaning, _) in REVIEW_REASONS.items()}
    | _SPANS_MEANING
)
"""Meaning of a `lookup_status`, of a `confidence` (SPEC 2.1) or of an advisory code (SPEC 2.4).

A code that is a reason for review too means the same in every column (`REVIEW_REASONS`).
"""
