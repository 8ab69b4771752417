"""The outcome of a query: a status, a reason, and the rate found. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from datetime import datetime  # noqa: TC003 - `get_type_hints` of an outcome needs it
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol, TypeVar

from svc_sdk import (
    Advisory,
    NotFoundError,
    SvcError,
    TaxResponse,
)
from svc_sdk.rates import UNITS_PER_ONE, rate_to_decimal, rate_to_units, units_to_rate
from svc_tools.base.shares import SHARES_PER_ONE, share_units
from svc_tools.lookup.columns import FACTS, RATE_COLUMNS
from svc_tools.lookup.troubles import is_foreign
from svc_tools.show.codes import (
    HIGHEST_RATE,
    OTHER_CITY_CODES,
    PARTIAL_CODES,
    all_warnings,
    code_of,
    confidence_of,
    is_covered,
    percent,
)
from svc_tools.show.display import (
    NOTHING,
    Note,
    Table,
    as_html,
    number,
    printable,
    prose,
)
from svc_tools.tables.country_codes import country_code, country_name
from svc_tools.tables.statuses import Meaning, Status, StatusText

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from svc_sdk import Meta, Rate
    from svc_tools.tables.places import Place, Refusal

NO_SUM = "parts_do_not_add_up"
"""Warning of the toolkit: the parts of the rate that are given cannot add up to it."""
STOPPED = "it was stopped"
"""Why a run ended that was stopped through its event."""
INTERRUPTED = "interrupted"
"""Why a run ended by Ctrl+C."""
_US = "US"
_LONGEST = 40
"""Characters of a country that is not known which a sentence quotes."""
_PARTS = RATE_COLUMNS[1:]
TOO_HIGH = rate_to_units(HIGHEST_RATE)
"""Units above which a combined rate requires review."""
_TEXTS = tuple(
    (column.fact, *column.sent.split("."))
    for column in FACTS
    if "." in column.sent and not column.codes and column.form not in {"rate", "share", "truth"}
)
"""The facts that are texts of the response as they are, with its part and the name there."""
_ENDS = ("lowest_combined_rate", "highest_combined_rate")
"""The fields of a warning with the ends of the rates that a place may have."""
_SPANS = "zip_spans_jurisdictions"
"""The warning that has the share of the ZIP's housing at the rate."""
_BREAKS = re.compile(r"\s+")
_Text = TypeVar("_Text", str, str | None)


@dataclass(frozen=True, slots=True)
class Component:
    """One jurisdiction's part of a rate, as `mode=full` gives it (SPEC 2.5, WIRE).

    `code` is the official code of the jurisdiction (FIPS, or the state's own location code);
    `units` is its rate in integers of 10^-5.
    """

    level: str
    name: str
    code: str | None
    units: int


@dataclass(frozen=True, slots=True)
class Found:
    """The rate in a response. Rates are integers of 10^-5 or missing.

    `low` and `high` are the lowest and the highest combined rate among the candidates, where the
    response names several; else missing. `components` is empty but for a full response. `share` is
    that of the ZIP's housing at the combined rate, in units of 10^-4, where the response has it.

    The cache and lock files hold the fields in this order: a further one is the last, and has a row
    in `columns.COLUMNS`. One that is no text needs a line in `_found` besides.
    """

    combined: int
    state: int | None = None
    county: int | None = None
    city: int | None = None
    districts: int | None = None
    freight_taxable: bool | None = None
    confidence: str | None = None
    warnings: tuple[str, ...] = ()
    resolved_via: str | None = None
    effective_date: str | None = None
    effective_date_basis: str | None = None
    resolved_state: str | None = None
    resolved_zip: str | None = None
    resolved_city: str | None = None
    resolved_county: str | None = None
    source: str | None = None
    edition: str | None = None
    accepted_places: tuple[str, ...] = ()
    low: int | None = None
    high: int | None = None
    components: tuple[Component, ...] = ()
    share: int | None = None


FOUND_FIELDS = tuple(field.name for field in fields(Found))
FIRST_FIELDS = FOUND_FIELDS[: FOUND_FIELDS.index("components") + 1]
"""Those that the files of the first release hold. A later release wrote those behind them, which
older files lack."""


def _unpickle(found: Found, values: Sequence[object]) -> None:
    """Fill a `Found` from a pickle; fields that are later than the pickle are missing."""
    later = [None] * (len(FOUND_FIELDS) - len(values))
    for name, value in zip(FOUND_FIELDS, [*values, *later], strict=False):
        object.__setattr__(found, name, value)


# not in the class: Python before 3.11.4 replaces what is written there
Found.__setstate__ = _unpickle  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for one place.

    Attributes:
        status: see `STATUSES`, and `means` for what it means.
        error: the reason, where there is no complete rate.
        found: the rate and its source; `None` where there is no rate.
        support_reference: what to quote to support, where the service refused or failed.
        error_code: the service's machine-readable code of that error.
        looked_up_at: when the service responded (UTC); `None` where it did not.
        cached: whether it came from the cache (or a lock file), not from the service.
    """

    status: StatusText
    error: str | None = None
    found: Found | None = None
    support_reference: str | None = None
    error_code: str | None = None
    looked_up_at: datetime | None = None
    cached: bool = False

    @property
    def means(self) -> Meaning:
        """What its status means: whether its rate is whole, whether to run again, and so on."""
        return Status.of(self.status)

    def _repr_html_(self) -> str:
        return _outcome_html(self)


def of_response(
    place: Place | None, response: TaxResponse, *, at: datetime | None = None
) -> Outcome:
    """The outcome of a response: `ok`, `partial`, `unresolved`; `failed` where it is unusable.

    It is unusable where it has no rate, or is for another place than the one of the query, or for
    another country than the United States.

    Args:
        place: the query; `None` where it is not known, and nothing is compared with it.
        response: the response.
        at: when the service responded (aware, UTC).
    """
    if why := of_other_country(response):
        return Outcome("failed", why, looked_up_at=at)
    return of_sent(place, _Response(response), at=at)


def of_sent(place: Place | None, sent: Sent, *, at: datetime | None = None) -> Outcome:
    """As `of_response`, of a rate in the United States, however it was sent."""
    if sent.confidence == "none":
        why = "the service found no rate it could stand by (confidence none)"
        return Outcome("unresolved", why, looked_up_at=at)
    try:
        if place is not None:
            _check_readable(place, sent.unreadable)
            of_state, of_zip = _sent(sent, "rate.state"), _sent(sent, "rate.zip")
            _check_place(place, _text(of_state), _text(of_zip))
        found = _found(sent)
    except ValueError as error:
        return Outcome("failed", f"the response cannot be used: {error}", looked_up_at=at)
    codes = [code for code in found.warnings if code in PARTIAL_CODES]
    if codes:
        return Outcome("partial", ", ".join(codes), found, looked_up_at=at)
    return Outcome("ok", None, found, looked_up_at=at)


def of_other_country(response: TaxResponse) -> str | None:
    """Why a response is no rate of a place in the United States, in a sentence.

    `None` where its country (SPEC 2.2) is the United States, however that is written, or missing;
    one that cannot be read may be any.
    """
    if "country" in response.rate.unreadable_fields:
        return "the country of the rate that the service sent cannot be read"
    written = (response.rate.country or "").strip()
    code = country_code(written) if written else _US
    if code == _US:
        return None
    shown = f"{country_name(code)} ({code})" if code else repr(printable(written[:_LONGEST]))
    return (
        f"the service sent a rate of {shown}, and the place that was looked up is in the United"
        " States (US)"
    )


def without_rates(response: TaxResponse) -> TaxResponse:
    """The response without its rates, which are not those of the place."""
    rates = dict.fromkeys(("country_rate", *_PARTS, "combined_rate"))
    return TaxResponse(rate=response.rate.model_copy(update=rates), meta=response.meta)


class Units(int):
    """A rate in units where a response has text: a bare number there would mean something else."""


class Sent(Protocol):
    """A rate as it was sent, in a response or computed in this process."""

    @property
    def confidence(self) -> str | None:
        """Its confidence in lower case; `None` where it is missing."""

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of its warnings, in their order."""

    @property
    def unreadable(self) -> Collection[str]:
        """The fields of the rate that cannot be read."""

    def get(self, part: str, name: str) -> object:
        """A field of the rate or of `meta`; `None` where there is none."""

    def units(self, field: str) -> int | None:
        """A rate in units; `None` where it is missing. Raises as `rate_units`."""

    def warnings(self) -> Iterable[tuple[str, Mapping[str, object]]]:
        """The code of each warning, and the fields that explain it."""

    def rows(self, name: str) -> Iterable[Mapping[str, object]]:
        """The objects of a list of a full response (SPEC 2.5)."""


class _Response:
    """The rate in a response."""

    def __init__(self, response: TaxResponse) -> None:
        self._response = response

    @property
    def confidence(self) -> str | None:
        return confidence_of(self._response)

    @property
    def unreadable(self) -> tuple[str, ...]:
        return self._response.rate.unreadable_fields

    @property
    def codes(self) -> tuple[str, ...]:
        rate = self._response.rate
        codes = [*map(code_of, all_warnings(self._response))]
        parts = (getattr(rate, field) for field in _PARTS)
        if not _adds_up(rate.combined_rate, rate.country_rate, *parts):
            codes.append(NO_SUM)
        return tuple(codes)

    def get(self, part: str, name: str) -> object:
        of: Rate | Meta = self._response.rate if part == "rate" else self._response.meta
        if name in (known := vars(of)):
            return known[name]
        value = (of.model_extra or {}).get(name)  # SPEC 2 does not have it
        return None if value == "" else value

    def units(self, field: str) -> int | None:
        return rate_units(field, getattr(self._response.rate, field))

    def warnings(self) -> Iterator[tuple[str, Mapping[str, object]]]:
        for warning in self._response.warnings:
            extra = warning.model_extra or {} if isinstance(warning, Advisory) else {}
            yield code_of(warning), extra

    def rows(self, name: str) -> Iterator[Mapping[str, object]]:
        extra = self._response.model_extra
        value = extra.get(name) if extra else None
        if isinstance(value, list):
            for item in value:  # what is not an object counts, as an empty one
                yield item if isinstance(item, dict) else {}


def _found(response: Sent) -> Found:
    """The rate and the facts of a response, with texts that can be shown and stored.

    Raises:
        ValueError: it has no combined rate.
    """
    combined = response.units("combined_rate")
    if combined is None:
        raise ValueError("it has no combined_rate")
    codes = response.codes
    places = _sent(response, "meta.accepted_places")
    low, high = _range(response, combined)
    freight = _sent(response, "rate.freight_taxable")
    texts = {fact: _text(response.get(part, name)) for fact, part, name in _TEXTS}
    return Found(
        combined=combined,
        state=_part(response, "state_rate", codes),
        county=_part(response, "county_rate", codes),
        city=_part(response, "city_rate", codes),
        districts=_part(response, "combined_district_rate", codes),
        freight_taxable=freight if isinstance(freight, bool) else None,
        confidence=_clean(response.confidence),
        warnings=tuple(map(_clean, codes)),
        accepted_places=tuple(_clean(str(place)) for place in places)
        if isinstance(places, list)
        else (),
        low=low,
        high=high,
        components=_components(response),
        share=_share(response),
        **texts,
    )


def _range(response: Sent, combined: int) -> tuple[int | None, int | None]:
    """The lowest and the highest combined rate that the place may have; missing where it is one.

    They come from advisories of a doubt about the place, and from the candidates of a full
    response. What is not a rate there is ignored: the rate itself is not in doubt for it. Equal
    rates say nothing of another city whose rate is not given.
    """
    rates, unknown = [combined], False
    for code, extra in response.warnings():
        ends = [_units_or_none(extra.get(end)) for end in _ENDS]
        rates += [units for units in ends if units is not None]
        unknown |= code in OTHER_CITY_CODES and None in ends
    candidates = [
        _units_or_none(candidate.get("combined_rate")) for candidate in response.rows("candidates")
    ]
    if len(candidates) > 1:
        rates += [units for units in candidates if units is not None]
    low, high = min(rates), max(rates)
    return (None, None) if len(rates) == 1 or (unknown and low == high) else (low, high)


def _share(response: Sent) -> int | None:
    """The share of the ZIP's housing at the rate; missing where another warning has more rates."""
    share, own, others = None, [], []
    for code, extra in response.warnings():
        ends = [_units_or_none(extra.get(end)) for end in _ENDS]
        known = [units for units in ends if units is not None]
        if code == _SPANS:
            own += known
            share = share_units(extra.get("share"))
        else:
            others += known
    if others and (not own or min(others) < min(own) or max(others) > max(own)):
        return None
    return share


def _components(response: Sent) -> tuple[Component, ...]:
    """The jurisdictions of a full response; none where one of them cannot be read.

    A list with a gap would look complete, and a filing by jurisdiction would miss a part.
    """
    components = []
    for component in response.rows("components"):
        level, name = component.get("level"), component.get("name")
        units = _units_or_none(component.get("rate"))
        if not (isinstance(level, str) and isinstance(name, str)) or units is None:
            return ()
        code = component.get("code")
        known = isinstance(code, str | int) and not isinstance(code, bool) and code != ""
        official = _clean(str(code)) if known else None
        components.append(Component(_clean(level), _clean(name), official, units))
    return tuple(components)


def _units_or_none(rate: object) -> int | None:
    """A rate within an explanation, in units; `None` where it is not a rate, or cannot be one."""
    if not isinstance(rate, str | Units):
        return None
    try:
        units = rate_units("rate", rate)
    except ValueError:
        return None
    return units if units is not None and units <= TOO_HIGH else None


def _check_readable(place: Place, fields: Collection[str]) -> None:
    compared = {"state", "zip"} if place.mode == "zip" else {"state"}
    if unreadable := compared.intersection(fields):
        raise ValueError(f"its {min(unreadable)} cannot be read")


def _check_place(place: Place, state: str | None, zip_code: str | None) -> None:
    if state and state.upper() != place.state:
        raise ValueError(f"it is for {state}, not for {place.state}")
    if place.mode == "zip" and place.zip and zip_code and zip_code[:5] != place.zip[:5]:
        raise ValueError(f"it is for ZIP {zip_code}, not for {place.zip}")


@lru_cache(4096)
def _adds_up(combined: str | None, country: str | None, *parts: str | None) -> bool:
    """Whether the parts can add up to the rate; a country without a rate has none (SPEC 2.2)."""
    known = sum(rate_to_decimal(part) for part in (country, *parts) if part is not None)
    total = rate_to_decimal(combined)
    return total is None or known == total or (None in parts and known < total)


def _part(response: Sent, field: str, codes: Iterable[str]) -> int | None:
    units = response.units(field)
    return units if units or is_covered(field, codes) else None


def rate_units(field: str, rate: str | Units | None) -> int | None:
    """A rate of a response in units; `None` where it is missing.

    Raises:
        ValueError: it is not a fraction from 0 to 1 with five decimals.
    """
    if rate is None:
        return None
    units = int(rate) if isinstance(rate, Units) else rate_to_units(rate)
    if not 0 <= units < UNITS_PER_ONE:
        shown = units_to_rate(rate) if isinstance(rate, Units) else rate
        raise ValueError(f"{field} is {shown}, which is not a fraction from 0 to 1")
    return units


def check_stored(place: Place, outcome: Outcome) -> None:
    """Check that a stored outcome is one that `of_response` or `failed` gives for a place.

    Raises:
        ValueError: it is not; the message gives the reason.
    """
    found = outcome.found
    if (found is not None) != outcome.means.rated:
        raise ValueError(f"{outcome.status} {'with' if found else 'without'} a rate")
    if found is None:
        return
    _check_place(place, found.resolved_state, found.resolved_zip)
    if PARTIAL_CODES.keys().isdisjoint(found.warnings) != outcome.means.usable:
        warnings = ", ".join(found.warnings) or "none"
        raise ValueError(f"{outcome.status} with these warnings: {warnings}")
    if found.confidence == "none":
        raise ValueError("a rate of confidence none")
    ends = (found.low, found.high)
    if ends != (None, None) and not (
        found.low is not None
        and found.high is not None
        and found.low <= found.combined <= found.high
    ):
        raise ValueError("combined_rate does not lie between rate_low and rate_high")
    if found.share is not None and not 0 <= found.share <= SHARES_PER_ONE:
        raise ValueError("the share of the ZIP's housing is not from 0 to 1")
    parts = (found.state, found.county, found.city, found.districts)
    if NO_SUM not in found.warnings and sum(filter(None, parts)) > found.combined:
        raise ValueError("the parts of the rate are more than combined_rate")


def with_sum_checked(outcome: Outcome) -> Outcome:
    """A stored outcome, with the warning that `of_response` gives where its parts cannot add up."""
    found = outcome.found
    if found is None or NO_SUM in found.warnings:
        return outcome
    parts = (found.state, found.county, found.city, found.districts)
    known = sum(part for part in parts if part is not None)
    if known == found.combined or (None in parts and known < found.combined):
        return outcome
    return replace(outcome, found=replace(found, warnings=(*found.warnings, NO_SUM)))


def _sent(response: Sent, where: str) -> object:
    """What was sent at a place such as `meta.source`; `None` where nothing was."""
    part, name = where.split(".")
    return response.get(part, name)


def _text(value: object) -> str | None:
    return _clean(value) if isinstance(value, str) else None


def failed(error: SvcError, *, at: datetime | None = None) -> Outcome:
    """The outcome of a call that failed: a 404 of the service's is `unresolved`, others `failed`.

    `at`, when the service responded, is ignored where it did not: the connection failed.
    """
    # a 404 of another program does not say anything about the place
    gone = isinstance(error, NotFoundError) and not is_foreign(error)
    return Outcome(
        "unresolved" if gone else "failed",
        _sentence(error.message if gone else _without_reference(error)),
        support_reference=_clean(error.support_reference),
        error_code=_clean(error.error_code),
        looked_up_at=at if error.status_code is not None else None,
    )


def _without_reference(error: SvcError) -> str:
    """The error in a sentence; equal failures read equally, so that they can be counted."""
    return str(error).replace(f"support reference {error.support_reference}, ", "")


def _sentence(text: str) -> str:
    return _BREAKS.sub(" ", _clean(text))


def _clean(text: _Text) -> _Text:
    """The text, with a question mark for half a character: JSON can hold it, and no file can."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()


def refused(refusal: Refusal) -> Outcome:
    """The outcome of a row that is never requested."""
    return Outcome(refusal.status, refusal.reason)


def not_attempted(cause: str) -> Outcome:
    """The outcome of a place that was not requested because the run had stopped."""
    return Outcome("not_attempted", cause)


def deadline_reached(seconds: float) -> str:
    """Why a run ended that had so many seconds."""
    return f"the deadline of {seconds:g} s was reached"


def _outcome_html(outcome: Outcome) -> str:
    """The outcome as HTML: the status, then the rate and its sources."""
    found = outcome.found
    sentences = [] if outcome.error is None else [outcome.error]
    if outcome.looked_up_at is not None:
        how = "From the cache, looked up" if outcome.cached else "Looked up"
        sentences.append(f"{how} {outcome.looked_up_at.isoformat(' ', 'seconds')}.")
    if outcome.support_reference is not None:
        sentences.append(f"Support reference: {outcome.support_reference}.")
    if found is None:
        return as_html(Note(f"{outcome.status}: no rate", sentences))
    rate = shown_rate(found.combined)
    if outcome.means.partial:
        title = f"partial: {rate} is known, and lacks a part of the rate"
    else:
        title = f"{outcome.status}: {rate}, confidence {found.confidence or 'not given'}"
    return as_html(Note(title, sentences), _rates(found), _facts(found))


def shown_rate(units: int | None) -> str:
    """A rate as a percentage; a missing one is a dash, never 0."""
    return NOTHING if units is None else percent(Decimal(units).scaleb(-5))


def shown_share(units: int) -> str:
    """A share as a percentage."""
    return percent(Decimal(units).scaleb(-4))


def _rates(found: Found) -> Table:
    parts = {"State": found.state, "County": found.county, "City": found.city}
    parts |= {"Districts": found.districts, "Combined": found.combined}
    rows = [(name, shown_rate(units)) for name, units in parts.items()]
    return Table(("Part", number("Rate")), rows, "Rate")


def _facts(found: Found) -> Table:
    """Where a rate is from, as a table of facts and values."""
    places = (found.resolved_city, found.resolved_county, found.resolved_state, found.resolved_zip)
    facts = {
        "Place": ", ".join(filter(None, places)),
        "Decided by": found.resolved_via,
        "Confidence": found.confidence,
        "Warnings": ", ".join(found.warnings),
        "Range": None
        if found.low is None
        else f"{shown_rate(found.low)} to {shown_rate(found.high)}",
        "Share of the ZIP's housing": None if found.share is None else shown_share(found.share),
        "Effective date": found.effective_date,
        "Basis of the date": found.effective_date_basis,
        "Source": found.source,
        "Edition": found.edition,
    }
    rows = [(name, printable(value) if value else NOTHING) for name, value in facts.items()]
    return Table(("Fact", prose("Value")), rows, "Source of the rate")
