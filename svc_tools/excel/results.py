"""Lookup results in cells: rates, the other fields, errors, and explanations in sentences.

The fields have the names of `df.svc.lookup()`. A field is an error where there is no result. A part
of the rate that a result lacks is #PARTIAL, never an empty cell, which a sum would take for zero. A
rate is a float: the one nearest to the exact value, so that its 15 significant digits are the
rate's.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_sdk.rates import UNITS_PER_ONE, rate_to_decimal, units_to_rate
from svc_tools.base.shares import SHARES_PER_ONE
from svc_tools.excel.values import PARTIAL, BadValueError, CellError, NotAvailableError
from svc_tools.lookup.columns import COLUMNS, LOOKUP_COLUMNS, RATE_COLUMNS
from svc_tools.lookup.options import review_threshold
from svc_tools.lookup.outcomes import shown_share
from svc_tools.lookup.reviewing import (
    as_of_status,
    parsed_day,
    review_reasons,
    status_word,
    warnings_of,
)
from svc_tools.show.codes import PARTIAL_CODES, REPLACES, meaning_of, percent
from svc_tools.show.display import capital

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date, datetime

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import CellValue, Scalar
    from svc_tools.lookup import Found, Outcome
    from svc_tools.lookup.columns import Column
    from svc_tools.tables.places import PlaceQuery

_WHEN_FAILED = "Refresh, or compute again in a minute."
_WHEN_LEFT = "Results so far are cached: compute again in a minute."
_OF_ONE_LOOKUP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|Support reference \S+")


@dataclass(frozen=True, slots=True)
class FieldSource:
    """What the fields of one lookup are read from; cells without a query have a reason alone."""

    outcome: Outcome
    question: PlaceQuery | None
    desk: Desk

    @property
    def as_of(self) -> date | None:
        """The day of the query; where it has none, the day of the response."""
        if self.question is None:
            return None
        at, day = self.outcome.looked_up_at, self.question.place.as_of
        return day or (self.desk.today if at is None else at.astimezone().date())

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the response, and those of svc-tools."""
        asked = self.question
        named = (asked.named_city, asked.point_warning) if asked else (None, None)
        return warnings_of(self.outcome.found, *named)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the result requires review."""
        from_zip = self.question is not None and self.question.state_from_zip
        return review_reasons(
            *(self.outcome, self.warnings, self.as_of),
            below=review_threshold(),
            state_from_zip=from_zip,
        )

    @property
    def status(self) -> str:
        """The status in a word to branch on."""
        return status_word(self.outcome, self.reasons)


def rate_cell(units: int) -> float:
    """A rate in units of 10^-5 as the float nearest to the exact fraction."""
    return units / UNITS_PER_ONE  # dividing two integers rounds correctly


def units_or_error(outcome: Outcome, *, partial: bool) -> int | CellError | str:
    """The combined rate in units of 10^-5; #PARTIAL where it is partial and `partial` is false."""
    if outcome.found is None:
        return error_of(outcome)
    return outcome.found.combined if outcome.means.usable or partial else PARTIAL


def error_of(outcome: Outcome) -> CellError:
    """The error of a cell that has no rate."""
    kind = BadValueError if outcome.means.of_input else NotAvailableError
    return kind(_why(outcome), outcome.status.upper())


def _why(outcome: Outcome) -> str:
    """Why there is no complete rate, in sentences."""
    # what starts with the name of an argument stays lower case: "as_of is an empty cell"
    reason = outcome.error or meaning_of(outcome.status)
    shown = _with_period(reason) if outcome.means.of_input else _sentence(reason)
    reference = outcome.support_reference and f"Support reference {outcome.support_reference}."
    hint = _WHEN_FAILED if outcome.means.failed else _WHEN_LEFT if outcome.means.left else None
    return " ".join(filter(None, [shown, reference, hint]))


def sentences(result: FieldSource) -> str | None:
    """What to know of a rate, or why it is missing; `None` without remarks."""
    outcome, found = result.outcome, result.outcome.found
    if found is None:
        return _why(outcome)
    codes = dict.fromkeys([*result.reasons, *result.warnings])
    codes.pop("partial", None)  # its warnings say what is missing
    for code in REPLACES.keys() & codes.keys():
        codes.pop(REPLACES[code], None)
    if outcome.means.partial and not codes:
        codes = dict.fromkeys([outcome.status])
    return " ".join(_meaning(code, found) for code in codes) or None


def _meaning(code: str, found: Found) -> str:
    if code == "several_rates" and found.low is not None and found.high is not None:
        ends = (percent(rate_to_decimal(units_to_rate(rate))) for rate in (found.low, found.high))
        more = "" if found.share is None else f"; {shown_share(found.share)} of the ZIP's housing"
        more += " has this one" if more else ""
        return _sentence(f"{meaning_of(code)}: {' to '.join(ends)}{more}")
    if code == "low_confidence":  # the warnings after it may say why
        return "The service has little confidence in the rate."
    return _sentence(meaning_of(code) or code)


def lasting(shown: Scalar) -> Scalar:
    """What a cell shows, without what each lookup changes: its time and support reference."""
    return _OF_ONE_LOOKUP.sub("", shown) if isinstance(shown, str) else shown


def _sentence(text: str) -> str:
    return _with_period(capital(text.strip()))


def _with_period(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def moment(at: datetime | None) -> str | None:
    """A time as ISO text in UTC, to the second."""
    return None if at is None else f"{at.replace(microsecond=0, tzinfo=None).isoformat()}Z"


def _iso(day: date | None) -> str | None:
    return None if day is None else day.isoformat()


def _found(
    read_found: Callable[[FieldSource, Found], CellValue],
) -> Callable[[FieldSource], CellValue]:
    """A field of a result; an error where there is none."""

    def read(result: FieldSource) -> CellValue:
        found = result.outcome.found
        return error_of(result.outcome) if found is None else read_found(result, found)

    return read


def _rate(column: Column) -> Callable[[FieldSource], CellValue]:
    """A part of the rate that is complete, also where the result lacks another part."""
    name = column.name

    def read(_: FieldSource, found: Found) -> CellValue:
        units: int | None = getattr(found, column.fact)
        missing = (PARTIAL_CODES.get(code, ()) for code in found.warnings)
        # a city has one rate; of districts a figure may not be all of that part
        is_whole = name == "city_rate" and bool(units)
        if not is_whole and any(name in names for names in missing):
            return PARTIAL
        if units is not None:
            return rate_cell(units)
        return NotAvailableError(f"The response has no {name}.")

    return _found(read)


def _whole(column: Column) -> Callable[[FieldSource], CellValue]:
    """A complete rate, never that of a partial result. Missing is an empty cell."""

    def read(result: FieldSource, found: Found) -> CellValue:
        if result.outcome.means.partial:
            return PARTIAL
        units: int | None = getattr(found, column.fact)
        return None if units is None else rate_cell(units)

    return _found(read)


def _source(result: FieldSource) -> CellValue:
    found, name = result.outcome.found, result.desk.service.name
    return f"{name}: {found.source}" if found and found.source else name


def _edition(result: FieldSource) -> CellValue:
    found = result.outcome.found
    return (found.edition if found else None) or result.desk.service.edition


_COMPUTED: dict[str, Callable[[FieldSource], CellValue]] = {
    "needs_review": lambda result: bool(result.reasons),
    "lookup_review_reason": lambda result: "; ".join(result.reasons) or None,
    "warnings": _found(lambda result, _: "; ".join(result.warnings) or None),
    "lookup_as_of": lambda result: _iso(result.as_of),
    "as_of_status": _found(
        lambda result, found: as_of_status(
            found, result.as_of, result.as_of, result.outcome.looked_up_at
        )
    ),
    "lookup_source": _source,
    "lookup_edition": _edition,
    "looked_up_at": lambda result: moment(result.outcome.looked_up_at),
}


def _value(of: Outcome | Found, name: str) -> CellValue:
    value: CellValue = getattr(of, name)
    return value


def _share_cell(share: int | None) -> CellValue:
    return None if share is None else share / SHARES_PER_ONE


def _reader(column: Column) -> Callable[[FieldSource], CellValue]:
    """How a field is read."""
    if column.name in _COMPUTED:
        return _COMPUTED[column.name]
    if column.outcome:
        return lambda result: _value(result.outcome, column.outcome)
    if column.form == "rate":
        return _rate(column) if column.name in RATE_COLUMNS[1:] else _whole(column)
    if column.form == "share":
        return _found(lambda _, found: _share_cell(getattr(found, column.fact)))
    if column.form == "day":
        return _found(lambda _, found: _iso(parsed_day(getattr(found, column.fact))))
    return _found(lambda _, found: _value(found, column.fact))


LOOKUP_FIELDS = {
    column.name: _reader(column) for column in COLUMNS if column.name in LOOKUP_COLUMNS
}
"""How each field is read, in the order of an enriched frame."""


def field_named(text: str) -> str:
    """The name of a field, ignoring case, blanks and dashes.

    Raises:
        BadValueError: there is no such field; the message names the most similar one.
    """
    wanted = "_".join(text.strip().casefold().replace("-", " ").split())
    if wanted in LOOKUP_FIELDS:
        return wanted
    like = difflib.get_close_matches(wanted, LOOKUP_FIELDS, 1)
    hint = f' Did you mean "{like[0]}"?' if like else ""
    raise BadValueError(
        f'There is no field "{text[:40]}".{hint} SVC_FIELDS() shows which there are.'
    )
