"""The fields of an answer, in the forms that a cell can hold; names as `df.svc.lookup()` has them.

A field of the answer is an error where there is no answer. A part of the rate that an answer lacks
is #PARTIAL, never an empty cell: sums would take that for nothing.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.excel.cell_errors import PARTIAL, BadValueError, NotAvailableError
from svc_tools.excel.telling import error_of, moment, rate_cell
from svc_tools.lookup.outcomes import PARTIAL_CODES
from svc_tools.lookup.review import as_of_status, review_reasons, told_day, warnings_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from svc_tools.excel.lookups import Who
    from svc_tools.excel.values import Cell
    from svc_tools.excel.work import Told
    from svc_tools.lookup import Found

__all__ = ["FIELDS", "Read", "field_cell", "field_named"]

_RATE = "fraction: 0.0825 is 8.25 %"
_DAY = "text: 2026-05-01"
_MOMENT = "text: 2026-05-01T12:00:00Z"
_TRUTH = "TRUE or FALSE"
_TEXT = "text"


@dataclass(frozen=True, slots=True)
class Read:
    """What became of one question, with what its fields depend on besides.

    Attributes:
        told: the question and its outcome.
        who: who answers.
        today: the local day of now, for questions that name no day.
    """

    told: Told
    who: Who
    today: date

    @property
    def asked_day(self) -> date | None:
        """The day that was asked about; today is that of the answer."""
        question, at = self.told.question, self.told.outcome.looked_up_at
        if question is None:
            return None
        return question.place.as_of or (self.today if at is None else at.astimezone().date())

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the answer, and ours."""
        question = self.told.question
        return warnings_of(self.told.outcome.found, question.named_city if question else None)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why a person should look at it."""
        return review_reasons(self.told.outcome, self.warnings, self.asked_day)


class _Field(NamedTuple):
    form: str
    read: Callable[[Read], Cell]


def _rate(name: str, take: Callable[[Found], int | None]) -> Callable[[Read], Cell]:
    """A part of the rate that is whole is told, also of an answer that lacks another."""

    def read(one: Read) -> Cell:
        outcome = one.told.outcome
        if outcome.found is None:
            return error_of(outcome)
        units = take(outcome.found)
        lacking = (PARTIAL_CODES.get(code, ()) for code in outcome.found.warnings)
        if any(name in names for names in lacking):
            return PARTIAL  # also where a figure is there: it is a part of that part
        if units is not None:
            return rate_cell(units)
        return NotAvailableError(f"The answer does not say {name}.")

    return read


def _whole(take: Callable[[Found], int | None]) -> Callable[[Read], Cell]:
    """A whole rate: never that of an answer that lacks a part. Missing is an empty cell."""

    def read(one: Read) -> Cell:
        outcome = one.told.outcome
        if outcome.found is None:
            return error_of(outcome)
        if outcome.status == "partial":
            return PARTIAL
        units = take(outcome.found)
        return None if units is None else rate_cell(units)

    return read


def _found(take: Callable[[Found], Cell]) -> Callable[[Read], Cell]:
    def read(one: Read) -> Cell:
        outcome = one.told.outcome
        return error_of(outcome) if outcome.found is None else take(outcome.found)

    return read


def _as_of_status(one: Read) -> Cell:
    outcome, day = one.told.outcome, one.asked_day
    if outcome.found is None:
        return error_of(outcome)
    return as_of_status(outcome.found, day, day, outcome.looked_up_at)


def _source(one: Read) -> Cell:
    found = one.told.outcome.found
    name = one.who.name
    return f"{name}: {found.source}" if found and found.source else name


def _edition(one: Read) -> Cell:
    found = one.told.outcome.found
    return (found.edition if found else None) or one.who.edition


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


FIELDS: dict[str, _Field] = {
    "combined_rate": _Field(_RATE, _whole(lambda found: found.combined)),
    "state_rate": _Field(_RATE, _rate("state_rate", lambda found: found.state)),
    "county_rate": _Field(_RATE, _rate("county_rate", lambda found: found.county)),
    "city_rate": _Field(_RATE, _rate("city_rate", lambda found: found.city)),
    "combined_district_rate": _Field(
        _RATE, _rate("combined_district_rate", lambda found: found.districts)
    ),
    "rate_low": _Field(_RATE, _whole(lambda found: found.low)),
    "rate_high": _Field(_RATE, _whole(lambda found: found.high)),
    "freight_taxable": _Field(_TRUTH, _found(lambda found: found.freight_taxable)),
    "confidence": _Field(_TEXT, _found(lambda found: found.confidence)),
    "warnings": _Field(_TEXT, lambda one: _codes(one, one.warnings)),
    "resolved_via": _Field(_TEXT, _found(lambda found: found.resolved_via)),
    "effective_date": _Field(_DAY, _found(lambda found: _iso(told_day(found.effective_date)))),
    "effective_date_basis": _Field(_TEXT, _found(lambda found: found.effective_date_basis)),
    "resolved_state": _Field(_TEXT, _found(lambda found: found.resolved_state)),
    "resolved_zip": _Field(_TEXT, _found(lambda found: found.resolved_zip)),
    "resolved_city": _Field(_TEXT, _found(lambda found: found.resolved_city)),
    "resolved_county": _Field(_TEXT, _found(lambda found: found.resolved_county)),
    "lookup_as_of": _Field(_DAY, lambda one: _iso(one.asked_day)),
    "as_of_status": _Field(_TEXT, _as_of_status),
    "needs_review": _Field(_TRUTH, lambda one: bool(one.reasons)),
    "lookup_review_reason": _Field(_TEXT, lambda one: "; ".join(one.reasons) or None),
    "lookup_status": _Field(_TEXT, lambda one: one.told.outcome.status),
    "lookup_error": _Field(_TEXT, lambda one: one.told.outcome.error),
    "support_reference": _Field(_TEXT, lambda one: one.told.outcome.support_reference),
    "lookup_source": _Field(_TEXT, _source),
    "lookup_edition": _Field(_TEXT, _edition),
    "looked_up_at": _Field(_MOMENT, lambda one: moment(one.told.outcome.looked_up_at)),
}
"""Every field: its form in a cell, and how it is read. In the order of an enriched frame."""


def field_named(text: str) -> str:
    """The field of that name; capitals, blanks and dashes do not matter.

    Raises:
        BadValueError: there is none; the message names the one most like it.
    """
    wanted = "_".join(text.strip().casefold().replace("-", " ").split())
    if wanted in FIELDS:
        return wanted
    like = difflib.get_close_matches(wanted, FIELDS, 1)
    hint = f' Did you mean "{like[0]}"?' if like else ""
    raise BadValueError(
        f'There is no field "{text[:40]}".{hint} SVC_FIELDS() shows which there are.'
    )


def field_cell(name: str, one: Read) -> Cell:
    """A field of `FIELDS` for one question."""
    return FIELDS[name].read(one)


def _codes(one: Read, codes: tuple[str, ...]) -> Cell:
    outcome = one.told.outcome
    return error_of(outcome) if outcome.found is None else "; ".join(codes) or None
