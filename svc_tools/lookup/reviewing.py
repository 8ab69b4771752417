"""Whether a result requires review, what to know of it, and what its date proves. Pure."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from svc_sdk import Advisory
from svc_tools.base.positions import not_used
from svc_tools.base.shares import LIKELY_SHARE
from svc_tools.lookup.outcomes import NO_SUM, TOO_HIGH, shown_rate, shown_share
from svc_tools.show.codes import (
    CONFIDENCES,
    DISPROVING,
    DOUBTFUL,
    OTHER_CITY_CODES,
    OTHER_PLACE_CODES,
    REPLACES,
    REVIEWED,
    code_of,
    meaning_of,
    sentence,
    urgency,
    what_to_do,
)
from svc_tools.show.display import capital
from svc_tools.tables.places import UNUSED_POINTS, same_place
from svc_tools.tables.states import ONE_RATE_STATES
from svc_tools.tables.statuses import Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from svc_sdk import TaxResponse
    from svc_tools.lookup.outcomes import Found, Outcome
    from svc_tools.tables.places import PlaceQuery

_T = TypeVar("_T")
_PROVED = "publisher_effective_date"
_SPANS = "zip_spans_jurisdictions"
_NEAR = "address_near_boundary"
_MISMATCH = "place_input_mismatch"
_EARLIEST = timedelta(hours=14)
"""How much earlier than in UTC a day begins where it begins first."""


def warnings_of(
    found: Found | None, named_city: str | None, point_warning: str | None = None
) -> tuple[str, ...]:
    """The warnings of a result, each once, plus those of how the row names its place.

    Args:
        found: the result.
        named_city: the row's city where it was not sent (`PlaceQuery.named_city`): it is compared
            here (SPEC 2.4).
        point_warning: that of the row's coordinates (`PlaceQuery.point_warning`).
    """
    if found is None:
        return ()
    codes = found.warnings
    if point_warning:
        codes = (*codes, point_warning)
    if named_city and found.resolved_city:
        known = (found.resolved_city, *found.accepted_places)
        if not any(same_place(named_city, name) for name in known):
            codes = (*codes, _MISMATCH)
    return tuple(dict.fromkeys(codes)) if len(codes) > 1 else codes


def with_point_warning(response: TaxResponse, query: PlaceQuery) -> TaxResponse:
    """The response, with a warning where the coordinates given are coarse or did not decide."""
    code, why, place = query.point_warning, query.point_not_used, query.place
    if code is None:
        return response
    if why is None:
        return with_warning(response, {"code": code, "message": f"{capital(meaning_of(code))}."})
    decided = f"ZIP {place.zip}" if place.mode == "zip" else "the address"
    message = not_used(UNUSED_POINTS[why], decided)
    return with_warning(response, {"code": code, "message": message, "why": why})


def with_warning(response: TaxResponse, fields: Mapping[str, str]) -> TaxResponse:
    """The response with a further warning."""
    advisory = Advisory.model_validate(fields)
    meta = response.meta.model_copy(update={"warnings": [*response.meta.warnings, advisory]})
    return response.model_copy(update={"meta": meta})


def review_reasons(
    outcome: Outcome,
    warnings: Collection[str],
    own_day: date | None = None,
    *,
    below: int = LIKELY_SHARE,
    state_from_zip: bool = False,
) -> tuple[str, ...]:
    """Why a row requires review, as codes of `svc_tools.show.codes`; empty where it does not.

    A row does where the result's own uncertainty could change its tax, or where it cannot be right:
    a rate above any that exists, parts that do not add up. So does one of no known confidence. A
    result of medium confidence or better, with one rate and of the right date, does not: that its
    date is unverified (`as_of_status`) alone is no reason, because most publishers give none. Nor
    is another city than the one given, where both have the same rate or the state has only one,
    nor in such a state a point that is coarse or not used: but only where the row named that state,
    since a wrong ZIP gives a wrong state. Warnings that are not in the table are no reason either.

    Args:
        outcome: the outcome for the row's place.
        warnings: its warnings (`warnings_of`).
        own_day: the day of the row.
        below: as for `reasons_of`.
        state_from_zip: whether the row named no state, and its ZIP gave it
            (`PlaceQuery.state_from_zip`).
    """
    found = outcome.found
    if found is None:
        return (outcome.status,) if outcome.means.review or outcome.means.rated else ()
    if not state_from_zip and not OTHER_PLACE_CODES.isdisjoint(warnings):
        same = {code for code in OTHER_PLACE_CODES if _same_rate(code, found)}
        warnings = [code for code in warnings if code not in same]
    return reasons_of(
        outcome.status,
        warnings,
        found.confidence,
        combined=found.combined,
        ends=(found.low, found.high),
        share=found.share,
        below=below,
        since=law_since(found.effective_date, found.effective_date_basis),
        day=own_day,
    )


def reasons_of(
    status: str,
    warnings: Collection[str],
    confidence: str | None,
    *,
    combined: int,
    ends: tuple[int | None, int | None],
    share: int | None = None,
    below: int = LIKELY_SHARE,
    since: date | None,
    day: date | None,
) -> tuple[str, ...]:
    """Why a rate requires review, the most urgent first: the rule for a result and for columns.

    Several rates are none where enough of the ZIP's housing has the rate. Little confidence is one
    only where nothing else says why, such as that share.

    Args:
        status: the status of the rate.
        warnings: its warnings; only those count that `svc_tools.show.codes` says to review.
        confidence: its confidence; `None` where it is missing.
        combined: the rate.
        ends: the lowest and the highest rate of the places that fit; `None` where not compared.
        share: that of the ZIP's housing at the rate, in units of 10^-4; `None` where not known.
        below: the share below which several rates are a reason, in the same units.
        since: the day from which the rate is law (`law_since`).
        day: the day of the row.
    """
    codes = {*REVIEWED.intersection(warnings)}
    low, high = ends
    enough = share is not None and share >= below
    # the other side of a limit near by says it more precisely
    if low is not None and low != high and not enough and _NEAR not in codes:
        codes.add("several_rates")
    if _SPANS in warnings and low is None and not enough:
        codes.add(_SPANS)
    if combined > TOO_HIGH:
        codes.add("rate_too_high")
    if since is not None and day is not None and since > day:
        codes.add("effective_after_sale")
    if Status.of(status).review:
        codes.add(status)
    if confidence not in CONFIDENCES:
        codes.add("confidence_unknown")
    explained = enough and share is not None and share < LIKELY_SHARE
    if confidence in DOUBTFUL and not codes and not explained:
        codes.add("low_confidence")
    return tuple(sorted(codes, key=urgency)) if len(codes) > 1 else tuple(codes)


def status_word(outcome: Outcome, reasons: Collection[str]) -> str:
    """The status of one lookup in the word to branch on: `review` for a whole rate with reasons."""
    return "review" if outcome.means.usable and reasons else outcome.status


def reasons_on(
    outcome: Outcome, day: date | None = None, *, below: int = LIKELY_SHARE
) -> tuple[str, ...]:
    """Why a single result on a day (`None` for today) requires review, by its own warnings."""
    warnings = outcome.found.warnings if outcome.found else ()
    today = datetime.now().astimezone().date()
    return review_reasons(outcome, warnings, day or today, below=below)


def remarks(
    outcome: Outcome,
    warnings: Iterable[str | Advisory],
    day: date | None = None,
    *,
    below: int = LIKELY_SHARE,
) -> tuple[str, ...]:
    """What to know of a single result, as sentences, each once.

    Why it requires review where its own warnings do not say so, with what to do; then those.

    Args:
        outcome: the result.
        warnings: the warnings of the response (SPEC 2.4).
        day: the day of the rate; `None` for today.
        below: as for `reasons_of`.
    """
    found = outcome.found
    if found is None:
        reasons = [outcome.error] if outcome.means.failed and outcome.error else []
        return tuple(dict.fromkeys((*reasons, *map(sentence, warnings))))
    codes = reasons_on(outcome, day, below=below)
    own = [code for code in codes if code not in found.warnings or code == NO_SUM]
    reasons = [_reason(code, found) for code in own if not Status.of(code).partial]
    replaced = {REPLACES.get(code) for code in own}
    rest = [sentence(warning) for warning in warnings if code_of(warning) not in replaced]
    return tuple(dict.fromkeys((*reasons, *rest)))


def _reason(code: str, found: Found) -> str:
    reason = meaning_of(code)
    if code == "several_rates":
        reason = f"{reason}, from {shown_rate(found.low)} to {shown_rate(found.high)}"
        if found.share is not None:
            reason = f"{reason}; {shown_share(found.share)} of the ZIP's housing has this one"
    unmatched = "address_not_matched" in found.warnings
    to_do = what_to_do(code, found.resolved_state or "", address="all" if unmatched else "no")
    return f"{reason}. {to_do}"


def _same_rate(code: str, found: Found) -> bool:
    """Whether the rate of the other place of a warning is known to be the same."""
    if found.resolved_state in ONE_RATE_STATES:
        return True
    # the ends in a response are those of cities
    are_known = code in OTHER_CITY_CODES and code in found.warnings
    return are_known and found.low is not None and found.low == found.high


def as_of_status(
    found: Found | None,
    query_day: date | None,
    own_day: date | None,
    responded_at: datetime | None = None,
) -> Literal["verified", "unverified"] | None:
    """Whether the result itself proves that its rate was in force on the day of the row.

    `verified`: the publisher dates the rate on the day of the row or before, no warning says that
    it is of another date or season, lacks a part, or is disputed, the query was for the row's own
    day, and that day had begun when the service responded. Everything else is `unverified`;
    without a rate there is no status.

    Args:
        found: the result.
        query_day: the day of the query.
        own_day: the day of the row.
        responded_at: when the service responded, where that is known.
    """
    if found is None:
        return None
    since = proved_from(found)
    proved = (
        since is not None
        and own_day is not None
        and query_day is not None
        and is_proved(since, own_day, query_day, last_begun(responded_at))
    )
    return "verified" if proved else "unverified"


def is_proved(since: _T, own_day: _T, query_day: _T, last: _T) -> Any:  # noqa: ANN401 - or an array
    """Whether a result proves its rate for the day of a row; of days, or arrays of numbers.

    Args:
        since: the day from which it does (`proved_from`).
        own_day: the day of the row.
        query_day: the day that was looked up.
        last: the last day that had begun when the service responded (`last_begun`): of a later one
            the law may still change.
    """
    return (since <= own_day) & (own_day == query_day) & (own_day <= last)  # type: ignore[operator]


def proved_from(found: Found) -> date | None:
    """The day from which a result itself proves that its rate is law; `None` where it does not."""
    if not DISPROVING.isdisjoint(found.warnings):
        return None
    return law_since(found.effective_date, found.effective_date_basis)


def last_begun(moment: datetime | None) -> date:
    """The last day that has begun somewhere on earth at a moment; any where that is not known."""
    return date.max if moment is None else (moment + _EARLIEST).date()


def law_since(effective_date: str | None, basis: str | None) -> date | None:
    """The day from which the publisher says that the rate is law."""
    return parsed_day(effective_date) if basis == _PROVED else None


@lru_cache(maxsize=4096)
def parsed_day(text: str | None) -> date | None:
    """A date as the service writes it; `None` where it is missing or invalid."""
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        return None
