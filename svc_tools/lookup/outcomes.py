"""What became of a question: a status, a reason, and what was found. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from svc_sdk import Advisory, NotFoundError, SvcError, TaxResponse
from svc_sdk.rates import UNITS_PER_ONE, rate_to_units

if TYPE_CHECKING:
    from datetime import datetime

    from svc_tools.places import Place, Refusal

__all__ = [
    "STATUSES",
    "Component",
    "Found",
    "Outcome",
    "Status",
    "failed",
    "lacking",
    "not_attempted",
    "of_answer",
    "part_is_known",
    "refused",
]

Status = Literal["ok", "partial", "unresolved", "invalid", "unsupported", "failed", "not_attempted"]
STATUSES: tuple[str, ...] = get_args(Status)
"""Every status a row can have, from the best to the least known."""

PARTIAL_CODES = {
    "local_rates_not_covered": ("county_rate", "city_rate", "combined_district_rate"),
    "districts_not_covered": ("combined_district_rate",),
}
"""Warnings by which a service says that its answer lacks parts of the rate (WIRE): these."""

_PARTS = ("country_rate", "state_rate", "county_rate", "city_rate", "combined_district_rate")
NO_SUM = "parts_do_not_add_up"
"""Our own warning: the parts of the rate are all there, and their sum is another."""

_BREAKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Component:
    """One jurisdiction's part of a rate, as `mode=full` tells it (SPEC 2.5, WIRE).

    `code` is the official code of the jurisdiction (FIPS, or the state's own location code);
    `units` is its rate in integers of 10^-5.
    """

    level: str
    name: str
    code: str | None
    units: int


@dataclass(frozen=True, slots=True)
class Found:
    """An answer, reduced to what a table needs. Rates are integers of 10^-5 or missing.

    `low` and `high` are the lowest and the highest combined rate among the candidates, where the
    answer names several; else missing. `components` is empty unless the full answer was asked for.
    """

    combined: int
    state: int | None
    county: int | None
    city: int | None
    districts: int | None
    freight_taxable: bool | None
    confidence: str | None
    warnings: tuple[str, ...]
    resolved_via: str | None
    effective_date: str | None
    effective_date_basis: str | None
    resolved_state: str | None
    resolved_zip: str | None
    resolved_city: str | None
    resolved_county: str | None
    source: str | None
    edition: str | None
    accepted_places: tuple[str, ...] = ()
    low: int | None = None
    high: int | None = None
    components: tuple[Component, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one place.

    Attributes:
        status: see `STATUSES`.
        error: the reason, where there is no whole rate.
        found: what was found; `None` where there is no rate.
        support_reference: what to quote to support, where the service refused or failed.
        error_code: the service's machine-readable code of that error.
        looked_up_at: when the service answered (UTC); `None` where it was not asked.
        cached: whether the answer came from the cache (or a lock file), not over the wire.
    """

    status: Status
    error: str | None = None
    found: Found | None = None
    support_reference: str | None = None
    error_code: str | None = None
    looked_up_at: datetime | None = None
    cached: bool = False


def of_answer(place: Place, answer: TaxResponse) -> Outcome:
    """The outcome of an answer: `ok`, `partial`, `unresolved`; `failed` where it cannot be used.

    That is where it has no rate, or is for another place than the one that was asked about.
    """
    if answer.confidence == "none":
        return Outcome(
            "unresolved", "the service found no rate it could stand by (confidence none)"
        )
    try:
        _check_place(place, answer)
        found = _found(answer)
    except ValueError as error:
        return Outcome("failed", f"the answer cannot be used: {error}")
    codes = lacking(answer)
    return Outcome("partial", ", ".join(codes), found) if codes else Outcome("ok", None, found)


def failed(error: SvcError) -> Outcome:
    """The outcome of a call that failed: 404 is `unresolved`, everything else `failed`."""
    if isinstance(error, NotFoundError):
        return Outcome("unresolved", _sentence(error.message))
    return Outcome("failed", _sentence(str(error)))


def refused(refusal: Refusal) -> Outcome:
    """The outcome of a row that is never asked for."""
    return Outcome(refusal.status, refusal.reason)


def not_attempted(cause: str) -> Outcome:
    """The outcome of a place that was not asked for because the run had stopped."""
    return Outcome("not_attempted", cause)


def _found(answer: TaxResponse) -> Found:
    rate, meta = answer.rate, answer.meta
    extra = meta.model_extra or {}
    combined = _units("combined_rate", rate.combined_rate)
    if combined is None:
        raise ValueError("it has no combined_rate")
    freight = rate.freight_taxable
    places = extra.get("accepted_places")
    return Found(
        combined=combined,
        state=_units("state_rate", rate.state_rate),
        county=_part(answer, "county_rate"),
        city=_part(answer, "city_rate"),
        districts=_part(answer, "combined_district_rate"),
        freight_taxable=freight if isinstance(freight, bool) else None,
        confidence=meta.confidence,
        warnings=_warnings(answer),
        resolved_via=meta.resolved_via,
        effective_date=meta.effective_date,
        effective_date_basis=meta.effective_date_basis,
        resolved_state=rate.state,
        resolved_zip=rate.zip,
        resolved_city=rate.city,
        resolved_county=rate.county,
        source=_text(extra.get("source")),
        edition=_text(extra.get("edition")),
        accepted_places=tuple(map(str, places)) if isinstance(places, list) else (),
    )


def lacking(answer: TaxResponse) -> tuple[str, ...]:
    """The warnings of an answer that say it lacks a part of the rate."""
    codes = (one.code if isinstance(one, Advisory) else one for one in answer.warnings)
    return tuple(code for code in codes if code in PARTIAL_CODES)


def part_is_known(answer: TaxResponse, field: str) -> bool:
    """Whether a part of the rate is known: the zero of a part that is not covered is none."""
    value = answer.rate.as_decimal(field)
    return value is not None and not (
        value == 0 and any(field in PARTIAL_CODES[code] for code in lacking(answer))
    )


def _check_place(place: Place, answer: TaxResponse) -> None:
    state, zip_code = answer.rate.state, answer.rate.zip
    if state and state.upper() != place.state:
        raise ValueError(f"it is for {state}, not for {place.state}")
    if place.mode == "zip" and place.zip and zip_code and zip_code[:5] != place.zip[:5]:
        raise ValueError(f"it is for ZIP {zip_code}, not for {place.zip}")


def _warnings(answer: TaxResponse) -> tuple[str, ...]:
    codes = [one.code if isinstance(one, Advisory) else one for one in answer.warnings]
    parts = [answer.rate.as_decimal(field) for field in _PARTS]
    if None not in parts and sum(filter(None, parts)) != answer.combined_rate_decimal:
        codes.append(NO_SUM)
    return tuple(codes)


def _part(answer: TaxResponse, field: str) -> int | None:
    return _units(field, getattr(answer.rate, field)) if part_is_known(answer, field) else None


def _units(field: str, rate: str | None) -> int | None:
    if rate is None:
        return None
    units = rate_to_units(rate)
    if not 0 <= units < UNITS_PER_ONE:
        raise ValueError(f"{field} is {rate}, which is not a fraction from 0 to 1")
    return units


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _sentence(text: str) -> str:
    return _BREAKS.sub(" ", text)
