"""What became of a question: a status, a reason, and what was found. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from svc_sdk import Advisory, NotFoundError, SvcError, TaxResponse
from svc_sdk.rates import rate_to_units

if TYPE_CHECKING:
    from svc_tools.places import Refusal

__all__ = [
    "STATUSES",
    "Found",
    "Outcome",
    "Status",
    "failed",
    "not_attempted",
    "of_answer",
    "refused",
]

Status = Literal["ok", "partial", "unresolved", "invalid", "unsupported", "failed", "not_attempted"]
STATUSES: tuple[str, ...] = get_args(Status)
"""Every status a row can have, from the best to the least known."""

PARTIAL_CODES = frozenset({"local_rates_not_covered", "districts_not_covered"})
"""Warnings by which a service says that its answer lacks a part of the rate (WIRE)."""

# What a decimal128(7, 5) column can hold; a rate of 100 (10,000 %) is none anyway.
_TOO_LARGE = 10_000_000
_BREAKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Found:
    """An answer, reduced to what a table needs. Rates are integers of 10^-5 or missing."""

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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one place."""

    status: Status
    error: str | None = None
    found: Found | None = None


def of_answer(answer: TaxResponse) -> Outcome:
    """The outcome of an answer: `ok`, `partial`, `unresolved`, or `failed` where it has no rate."""
    if answer.confidence == "none":
        return Outcome(
            "unresolved", "the service found no rate it could stand by (confidence none)"
        )
    try:
        found = _found(answer)
    except ValueError as error:
        return Outcome("failed", f"the answer cannot be used: {error}")
    lacking = [code for code in found.warnings if code in PARTIAL_CODES]
    if lacking:
        return Outcome("partial", ", ".join(lacking), found)
    return Outcome("ok", None, found)


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
        county=_units("county_rate", rate.county_rate),
        city=_units("city_rate", rate.city_rate),
        districts=_units("combined_district_rate", rate.combined_district_rate),
        freight_taxable=freight if isinstance(freight, bool) else None,
        confidence=meta.confidence,
        warnings=tuple(
            warning.code if isinstance(warning, Advisory) else warning for warning in meta.warnings
        ),
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


def _units(field: str, rate: str | None) -> int | None:
    if rate is None:
        return None
    units = rate_to_units(rate)
    if not 0 <= units < _TOO_LARGE:
        raise ValueError(f"{field} is {rate}")
    return units


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _sentence(text: str) -> str:
    return _BREAKS.sub(" ", text)
