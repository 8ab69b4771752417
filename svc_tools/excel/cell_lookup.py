"""A formula in two steps: which places it asks about, and what it shows once they are answered.

All formulas of a burst take the first step before one of them takes the second, so that their
places are asked for together.
"""

# MERGED asking: From cells to the question that they ask, or why they ask none.
#
# MERGED asking: ZIP Codes as spreadsheets mangle them are `places.zips`' matter and days `dates`'; what is an empty
# MERGED asking: row, an error to pass on, and what is no address is decided here.
# MERGED fields: The fields of an answer, in the forms that a cell can hold; names as `df.svc.lookup()` has them.
#
# MERGED fields: A field of the answer is an error where there is no answer. A part of the rate that an answer lacks
# MERGED fields: is #PARTIAL, never an empty cell: sums would take that for nothing.
# MERGED telling: From what became of a question to what a cell shows. Pure.
#
# MERGED telling: A rate or an amount of tax leaves as a float: the one nearest to the exact value, so that its 15
# MERGED telling: significant digits are those of the rate.

from __future__ import annotations

import difflib
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from svc_sdk.rates import UNITS_PER_ONE, rate_to_decimal, units_to_rate
from svc_tools.codes import PARTIAL_CODES, percent
from svc_tools.display import capital
from svc_tools.excel.values import (
    OMITTED,
    PARTIAL,
    BadValueError,
    CellError,
    NotAvailableError,
    aligned,
    day_in,
    error_in,
    is_empty,
    shaped,
)
from svc_tools.lookup import Outcome, refused
from svc_tools.lookup.review import MEANINGS, as_of_status, review_reasons, told_day, warnings_of
from svc_tools.places import Cells, Question, Refusal, on_day, where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from svc_tools.excel.desk import Who
    from svc_tools.excel.values import Cell, Given, Result
    from svc_tools.lookup import Found
    from svc_tools.places import Place

Answers: TypeAlias = "Mapping[Place, Outcome]"

Asked: TypeAlias = Question | Outcome | NotAvailableError | None
"""A question, or the outcome of cells that ask none, or an error cell's error, or an empty row."""
_NAMES = ("state", "zip", "address", "city", "place", "lat", "lng")
_UNFIT_ADDRESS = (
    'address: "{address}" has {count} characters, which is no address in one line; give street and'
    " city apart, or ask for the ZIP Code with SVC_RATE."
)
_NO_ADDRESS = (
    "address: the cell is empty; SVC_RATE answers for a ZIP Code alone, SVC_RATE_PLACE for a city."
)
_SHOWN = 40

_RATE = "fraction: 0.0825 is 8.25 %"
_DAY = "text: 2026-05-01"
_MOMENT = "text: 2026-05-01T12:00:00Z"
_TRUTH = "TRUE or FALSE"
_TEXT = "text"

_ANOTHER_TIME = {
    "failed": "Refresh, or compute again in a minute.",
    "not_attempted": "What has come is kept: compute again in a minute.",
}


class Told(NamedTuple):
    """What became of the cells of one question.

    Attributes:
        outcome: the outcome; of cells that ask nothing, why.
        question: the question; `None` where the cells ask none.
    """

    outcome: Outcome
    question: Question | None = None


class Work(NamedTuple):
    """A formula that was read.

    Attributes:
        places: what it asks about.
        finish: what it shows, from the outcomes of its places. Raises `CellError`.
    """

    places: Sequence[Place]
    finish: Callable[[Answers], Result]


def done(finish: Callable[[], Result]) -> Work:
    """A formula that asks about no place."""
    return Work((), lambda _: finish())


def places_of(asked: Iterable[Asked]) -> list[Place]:
    """The places of what is a question."""
    return [one.place for one in asked if isinstance(one, Question)]


def told(asked: Asked, answers: Answers) -> Told | CellError | None:
    """What became of one question; an error to pass on, or an empty row, as it is."""
    if isinstance(asked, Question):
        return Told(answers[asked.place], asked)
    return Told(asked) if isinstance(asked, Outcome) else asked


def each_cell(
    names: Sequence[str],
    arguments: Sequence[object],
    ask: Callable[..., Asked],
    tell: Callable[..., Cell],
) -> Work:
    """A formula that gives one cell for each cell of its ranges.

    Args:
        names: its arguments.
        arguments: what they are.
        ask: from the cells to the question.
        tell: from a `Told` and the cells to what the cell shows. May raise `CellError`.
    """
    shape, cells = aligned(names, arguments)
    asked = [ask(*row) for row in cells]

    def finish(answers: Answers) -> Result:
        return shaped(
            shape,
            [_shown(told(one, answers), row, tell) for one, row in zip(asked, cells, strict=True)],
        )

    return Work(places_of(asked), finish)


def _shown(one: Told | CellError | None, row: tuple[Any, ...], tell: Callable[..., Cell]) -> Cell:
    if not isinstance(one, Told):
        return one
    try:
        return tell(one, *row)
    except CellError as error:
        return error


class Row(NamedTuple):
    """The cells of one question; what its function does not ask for is empty.

    `as_of` left out means today, which an empty cell does not.
    """

    state: Given = None
    zip: Given = None
    address: Given = None
    city: Given = None
    place: Given = None
    lat: Given = None
    lng: Given = None
    as_of: Given = OMITTED


def asked(given: Row, *, by_address: bool = False) -> Asked:
    """What the cells ask.

    An error in one of them is passed on. Cells that name no place (a state alone is none) ask
    nothing, whatever the others hold.

    Args:
        given: the cells.
        by_address: the address must decide: a rate of the ZIP in its stead would look right.
    """
    found = _asked(*given, by_address)
    return error_in(*found) if isinstance(found, tuple) else found


# typed: TRUE, 1 and 1.0 are equal, and not the same
@lru_cache(maxsize=65_536, typed=True)
def _asked(*given: Given) -> Question | Outcome | tuple[str, Given] | None:
    """The same; of an error its name and its cell, for an exception is not to be kept."""
    *cells, as_of, by_address = given
    for named, cell in zip((*_NAMES, "as_of"), given, strict=False):
        if error_in(named, cell) is not None:
            return named, cell
    if all(map(is_empty, cells[1:])):
        return None
    try:
        state, zip_code, address, city, place, lat, lng = map(_plain, _NAMES, cells)
        if by_address and address is None:
            raise BadValueError(_NO_ADDRESS)  # noqa: TRY301 - one way out for all
        found = where(Cells(state, zip_code, address, city, place, lat, lng))
        if isinstance(found, Refusal):
            return refused(Refusal(found.status, found.reason.replace("location:", "place:", 1)))
        if by_address and found.place.mode != "address":
            raise BadValueError(_unfit(str(address)))  # noqa: TRY301 - the same
        return on_day(found, None if as_of is OMITTED else day_in(as_of))
    except BadValueError as error:
        return Outcome("invalid", error.message)


def _unfit(address: str) -> str:
    return _UNFIT_ADDRESS.format(address=address[:_SHOWN], count=len(address))


def _plain(named: str, cell: Given) -> str | float | None:
    """A cell as a text or a number; a whole number that should be a text as its digits."""
    if is_empty(cell):
        return None
    if isinstance(cell, bool | date):
        shown = str(cell).upper() if isinstance(cell, bool) else f"the date {cell}"
        raise BadValueError(f"{named}: the cell holds {shown}, which is none.")
    if isinstance(cell, float) and cell.is_integer() and named not in {"lat", "lng"}:
        return str(int(cell))
    return cell if isinstance(cell, str | int | float) else None


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


def rate_cell(units: int) -> float:
    """A rate of units of 10^-5 as a number: the float nearest to the exact fraction."""
    return units / UNITS_PER_ONE  # the division of two whole numbers is rounded correctly


def why(outcome: Outcome) -> str:
    """Why there is no whole rate, in sentences."""
    # what starts with the name of an argument keeps its form: "as_of is an empty cell"
    reason = outcome.error or MEANINGS[outcome.status]
    told = [_ended(reason) if outcome.status == "invalid" else _sentence(reason)]
    if outcome.support_reference:
        told.append(f"Support reference {outcome.support_reference}.")
    if outcome.status in _ANOTHER_TIME:
        told.append(_ANOTHER_TIME[outcome.status])
    return " ".join(told)


def error_of(outcome: Outcome) -> CellError:
    """What a cell shows that has no rate."""
    word = outcome.status.upper()
    if outcome.status == "invalid":
        return BadValueError(why(outcome), word)
    return NotAvailableError(why(outcome), word)


def _sentence(text: str) -> str:
    return _ended(capital(text.strip()))


def _ended(said: str) -> str:
    return said if said.endswith((".", "!", "?")) else f"{said}."


LOOKUP_FIELDS: dict[str, _Field] = {
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
    if wanted in LOOKUP_FIELDS:
        return wanted
    like = difflib.get_close_matches(wanted, LOOKUP_FIELDS, 1)
    hint = f' Did you mean "{like[0]}"?' if like else ""
    raise BadValueError(
        f'There is no field "{text[:40]}".{hint} SVC_FIELDS() shows which there are.'
    )


def field_cell(name: str, one: Read) -> Cell:
    """A field of `FIELDS` for one question."""
    return LOOKUP_FIELDS[name].read(one)


def _codes(one: Read, codes: tuple[str, ...]) -> Cell:
    outcome = one.told.outcome
    return error_of(outcome) if outcome.found is None else "; ".join(codes) or None


def units_or_error(outcome: Outcome, *, partial: bool) -> int | CellError | str:
    """The combined rate in units of 10^-5; #PARTIAL where it lacks a part and that is not taken."""
    if outcome.found is None:
        return error_of(outcome)
    if outcome.status == "ok" or partial:
        return outcome.found.combined
    return PARTIAL


def accepts_partial(cell: object) -> bool:
    """What the argument `accept` says.

    Raises:
        CellError: something that it cannot say.
    """
    if cell is OMITTED or is_empty(cell):
        return False
    if (error := error_in("accept", cell)) is not None:
        raise error
    if isinstance(cell, str) and cell.strip().casefold() == "partial":
        return True
    raise BadValueError(f'accept: expected "partial", or nothing, not {str(cell)[:40]}.')


def sentences(outcome: Outcome, warnings: Sequence[str], reasons: Sequence[str]) -> str | None:
    """What to know of a rate, or why there is none; `None` where there is nothing.

    Args:
        outcome: what became of the question.
        warnings: the warnings of its answer.
        reasons: why a person should look at it, as `review_reasons` says.
    """
    found = outcome.found
    if found is None:
        return why(outcome)
    codes = dict.fromkeys([*reasons, *warnings])
    codes.pop("partial", None)  # its warnings say what is lacking
    if "several_rates" in codes:
        codes.pop("zip_spans_jurisdictions", None)  # the same, less precisely
    told = [_meaning(code, found) for code in codes]
    if outcome.status == "partial" and not told:
        told = [_sentence(MEANINGS["partial"])]
    return " ".join(told) or None


def _meaning(code: str, found: Found) -> str:
    if code == "several_rates" and found.low is not None and found.high is not None:
        ends = (percent(rate_to_decimal(units_to_rate(one))) for one in (found.low, found.high))
        return _sentence(f"{MEANINGS[code]}: {' to '.join(ends)}")
    if code == "low_confidence":  # what follows may say why
        return "The service has little confidence in the answer."
    return _sentence(MEANINGS.get(code, code))


def moment(at: datetime | None) -> str | None:
    """A moment as ISO text in UTC, to the second."""
    return None if at is None else f"{at.replace(microsecond=0, tzinfo=None).isoformat()}Z"
