"""What the functions of the registry compute, from plain values.

A formula takes two steps: parsing, which gives the places to look up, and finishing, which gives
its value from their outcomes. All formulas of a burst take the first step before any takes the
second, so that their places are looked up together, each once.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from svc_tools.excel.desk import RefreshPlan
from svc_tools.excel.registry import FUNCTIONS, function
from svc_tools.excel.results import (
    LOOKUP_FIELDS,
    FieldSource,
    error_of,
    field_cell,
    field_named,
    moment,
    rate_cell,
    sentences,
    units_or_error,
)
from svc_tools.excel.values import (
    OMITTED,
    BadValueError,
    CellError,
    NotAvailableError,
    aligned,
    cents_of,
    day_in,
    dollars_cell,
    error_in,
    exact_sum,
    is_empty,
    pass_on_error,
    rows_of,
    shaped,
)
from svc_tools.lookup import Outcome, refused
from svc_tools.nexus.register import FIELDS, NEXUS_TYPES
from svc_tools.places import Cells, Elsewhere, Question, Refusal, on_day, state_code, where

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Argument, Cell, Given, Result, Rows, Scalar
    from svc_tools.frames.taxes.rounding import Rounding
    from svc_tools.nexus.register import Register
    from svc_tools.places import Place

_log = logging.getLogger(__name__)
_T = TypeVar("_T")

Outcomes: TypeAlias = "Mapping[Place, Outcome]"
Query: TypeAlias = Question | Outcome | NotAvailableError | None
"""The query of some cells: the outcome of cells that cannot make one (invalid, unsupported), the
error of a cell that holds one, `None` for an empty row."""


class Call(NamedTuple):
    """One formula: the name of its function, and its arguments in the order of the registry.

    Arguments at the end may be missing, which is the same as `OMITTED`.
    """

    name: str
    arguments: tuple[Argument, ...] = ()


def evaluate(
    desk: Desk,
    calls: Sequence[Call],
    *,
    ahead: Sequence[Call] = (),
    since: datetime | None = None,
) -> list[Result]:
    """The result of each formula: a value, rows of values, or a `CellError`. Raises nothing.

    The places of all of them are looked up in one run, each once, and those of the calls `ahead`,
    which will be computed later, with them. No result from before `since`, the moment of a refresh,
    is used.
    """
    formulas = [_guarded(call.name, _parse, desk, call) for call in calls]
    others = (_guarded(call.name, _parse, desk, call) for call in ahead)
    places = dict.fromkeys(
        place
        for one in (*formulas, *others)
        if not isinstance(one, CellError)
        for place in one.places
    )
    outcomes = desk.look_up(places, since) if places else {}
    return [
        one if isinstance(one, CellError) else _guarded(call.name, one.finish, outcomes)
        for one, call in zip(formulas, calls, strict=True)
    ]


def run(desk: Desk, name: str, *arguments: Argument) -> Result:
    """The result of one formula.

    Raises:
        CellError: it has no value.
    """
    (result,) = evaluate(desk, [Call(name, arguments)])
    if isinstance(result, CellError):
        raise result
    return result


def places_of(desk: Desk, call: Call) -> Sequence[Place]:
    """The places that a formula looks up; none where it is an error. Nothing is looked up."""
    formula = _guarded(call.name, _parse, desk, call)
    return () if isinstance(formula, CellError) else formula.places


def refresh_plan(desk: Desk, cells: Iterable[Sequence[Call]], unknown: int = 0) -> RefreshPlan:
    """What a refresh would look up; nothing is looked up.

    Args:
        desk: computes nothing here.
        cells: the calls of each cell.
        unknown: how many cells have others, which are known only when they are computed.
    """
    used = [[place for call in calls for place in places_of(desk, call)] for calls in cells]
    places = dict.fromkeys(place for of_cell in used for place in of_cell)
    return RefreshPlan(tuple(places), sum(map(bool, used)), unknown)


class ParsedFormula(NamedTuple):
    """A parsed formula.

    Attributes:
        places: the places to look up.
        finish: gives the result from the outcomes of the places. Raises `CellError`.
    """

    places: Sequence[Place]
    finish: Callable[[Outcomes], Result]


def _parse(desk: Desk, call: Call) -> ParsedFormula:
    compute = COMPUTED.get(call.name)
    if compute is None:
        raise BadValueError(f"There is no function {call.name[:40]}.")
    names, required = _ARGUMENTS[call.name]
    given = tuple(call.arguments)
    if len(given) > len(names):
        raise BadValueError(
            f"{call.name} has {len(names)} arguments at most, not {len(given)}:"
            f" {function(call.name).signature}."
        )
    given += (OMITTED,) * (len(names) - len(given))
    for name, cell in zip(names[:required], given, strict=False):
        # a state before a place is like an empty cell then: the place may name it
        if cell is OMITTED and (name != "state" or required == 1):
            raise BadValueError(f"{name} is left out: {function(call.name).signature}.")
    return compute(desk, names, given)


def _guarded(name: str, compute: Callable[..., _T], *arguments: object) -> _T | CellError:
    """The result of a step; its error, where it fails."""
    try:
        return compute(*arguments)
    except CellError as error:
        return error
    except Exception as error:  # noqa: BLE001 - the cell gets a sentence, the log the type
        _log.error("%s could not be computed: %s", name, type(error).__name__)
        return NotAvailableError(
            f"{name} could not be computed ({type(error).__name__}).", "FAILED"
        )


_Function: TypeAlias = "Callable[[Desk, Sequence[str], Sequence[object]], ParsedFormula]"
"""Parses a formula, given the names and values of its arguments. Raises `CellError`."""


class LookupResult(NamedTuple):
    """The outcome of a query; for cells that make none, the reason and no query."""

    outcome: Outcome
    question: Question | None = None


def _without_places(finish: Callable[[], Result]) -> ParsedFormula:
    """A formula that looks nothing up."""
    return ParsedFormula((), lambda _: finish())


def _places_of(queries: Iterable[Query]) -> list[Place]:
    return [one.place for one in queries if isinstance(one, Question)]


def _result_of(query: Query, outcomes: Outcomes) -> LookupResult | CellError | None:
    """The result of a query; an error of a cell, or an empty row, as it is."""
    if isinstance(query, Question):
        return LookupResult(outcomes[query.place], query)
    return LookupResult(query) if isinstance(query, Outcome) else query


def _each_cell(
    names: Sequence[str],
    arguments: Sequence[object],
    query: Callable[..., Query],
    show: Callable[..., Cell],
) -> ParsedFormula:
    """A formula with one cell of result for each cell of its ranges.

    Args:
        names: the names of the arguments.
        arguments: their values.
        query: makes the query of a row of cells.
        show: gives the cell for a `LookupResult` and its row of cells. May raise `CellError`.
    """
    shape, rows = aligned(names, arguments)
    queries = [query(*row) for row in rows]

    def finish(outcomes: Outcomes) -> Result:
        results = (_result_of(one, outcomes) for one in queries)
        return shaped(
            shape, [_shown(one, row, show) for one, row in zip(results, rows, strict=True)]
        )

    return ParsedFormula(_places_of(queries), finish)


def _shown(
    one: LookupResult | CellError | None, row: tuple[Any, ...], show: Callable[..., Cell]
) -> Cell:
    if not isinstance(one, LookupResult):
        return one
    try:
        return show(one, *row)
    except CellError as error:
        return error


class _PlaceCells(NamedTuple):
    """The cells of one query; those that its function does not have are empty.

    `as_of` left out means today; an empty cell does not.
    """

    state: Given = None
    zip: Given = None
    address: Given = None
    city: Given = None
    place: Given = None
    lat: Given = None
    lng: Given = None
    as_of: Given = OMITTED


def _query_of(cells: _PlaceCells, *, by_address: bool = False) -> Query:
    """The query of the cells.

    Args:
        cells: the cells. An error in one of them is passed on. Cells that name no place (a state
            alone is not one) make no query, whatever the others hold.
        by_address: whether the address must decide: a rate of the ZIP instead would look right.
    """
    found = _cached_query(*cells, by_address)
    return error_in(*found) if isinstance(found, tuple) else found


# typed: TRUE, 1 and 1.0 are equal, but not the same
@lru_cache(maxsize=65_536, typed=True)
def _cached_query(*given: Given) -> Question | Outcome | tuple[str, Given] | None:
    """The query; for an error its name and cell, since exceptions should not be cached."""
    *cells, as_of, by_address = given
    for name, cell in zip(_PlaceCells._fields, given, strict=False):
        if error_in(name, cell) is not None:
            return name, cell
    if all(map(is_empty, cells[1:])):
        return None
    try:
        state, zip_code, address, city, place, lat, lng = map(_plain, _PlaceCells._fields, cells)
        if by_address and address is None:
            raise BadValueError(  # noqa: TRY301 - one way out for all
                "address: the cell is empty; use SVC_RATE for a ZIP Code alone, SVC_RATE_PLACE"
                " for a city."
            )
        found = where(Cells(state, zip_code, address, city, place, lat, lng))
        if isinstance(found, Refusal):
            return refused(Refusal(found.status, found.reason.replace("location:", "place:", 1)))
        if by_address and found.place.mode != "address":
            shown = str(address)
            raise BadValueError(  # noqa: TRY301 - as above
                f'address: "{shown[:40]}" has {len(shown)} characters, which is no address in one'
                " line; give street and city separately, or use SVC_RATE with the ZIP Code."
            )
        return on_day(found, None if as_of is OMITTED else day_in(as_of))
    except BadValueError as error:
        return Outcome("invalid", error.message)


def _plain(name: str, cell: Given) -> str | float | None:
    """A cell as text or number; an integer in a text column as its digits."""
    if is_empty(cell):
        return None
    if isinstance(cell, bool | date):
        shown = str(cell).upper() if isinstance(cell, bool) else f"the date {cell}"
        raise BadValueError(f"{name}: the cell holds {shown}, not a text or number.")
    if isinstance(cell, float) and cell.is_integer() and name not in {"lat", "lng"}:
        return str(int(cell))
    return cell if isinstance(cell, str | int | float) else None


def _of_zip(state: Given, zip_code: Given, as_of: Given, *_: Given) -> Query:
    return _query_of(_PlaceCells(state, zip_code, as_of=as_of))


def _of_address(
    state: Given, address: Given, city: Given, zip_code: Given, as_of: Given, *_: Given
) -> Query:
    return _query_of(_PlaceCells(state, zip_code, address, city, as_of=as_of), by_address=True)


def _of_place(state: Given, place: Given, as_of: Given, *_: Given) -> Query:
    return _query_of(_PlaceCells(state, place=place, as_of=as_of))


def _of_point(state: Given, lat: Given, lng: Given, as_of: Given, *_: Given) -> Query:
    return _query_of(_PlaceCells(state, lat=lat, lng=lng, as_of=as_of))


def _per_cell(query: Callable[..., Query], show: Callable[..., Cell]) -> _Function:
    return lambda _, names, arguments: _each_cell(names, arguments, query, show)


def _rate(one: LookupResult, *cells: Given) -> Cell:
    """The combined rate; the last of the cells is `accept`."""
    units = units_or_error(one.outcome, partial=_accepts_partial(cells[-1]))
    return rate_cell(units) if isinstance(units, int) else units


def _accepts_partial(cell: Given) -> bool:
    """The argument `accept`.

    Raises:
        CellError: it is neither "partial" nor empty.
    """
    if is_empty(cell):
        return False
    pass_on_error("accept", cell)
    if isinstance(cell, str) and cell.strip().casefold() == "partial":
        return True
    raise BadValueError(f'accept: expected "partial", or nothing, not {str(cell)[:40]}.')


def svc_tax(_: Desk, names: Sequence[str], arguments: Sequence[object]) -> ParsedFormula:
    """The tax on amounts; the amounts of a range are rounded together."""
    shape, rows = aligned(names, arguments)
    lines = [_tax_line(*row) for row in rows]

    def finish(outcomes: Outcomes) -> Result:
        shown: list[Cell] = [_rate_units(one, outcomes) for one in lines]
        taxed: dict[Rounding, list[tuple[int, int, int]]] = {}
        for at, line in enumerate(lines):
            units = shown[at]
            if isinstance(line, _Line) and isinstance(units, int):
                taxed.setdefault(line.rounding, []).append((at, line.cents, units))
        for rounding, factors in taxed.items():
            for (at, _, _), cents in zip(factors, _rounded(factors, rounding), strict=True):
                shown[at] = dollars_cell(cents)
        return shaped(shape, shown)

    return ParsedFormula(_places_of(one.query for one in lines if isinstance(one, _Line)), finish)


@dataclass(frozen=True, slots=True)
class _Line:
    query: Query
    cents: int
    rounding: Rounding
    partial: bool


def _tax_line(amount: Given, *others: Given) -> _Line | CellError | None:
    """A parsed row; the reason why it cannot be used, or `None` where it has no amount."""
    state, zip_code, as_of, rounding, accept = others
    if (error := error_in("amount", amount)) is not None:
        return error
    found = _query_of(_PlaceCells(state, zip_code, as_of=as_of))
    if isinstance(found, CellError):
        return found
    if is_empty(amount):
        return None
    try:
        if found is None:
            raise BadValueError(
                "zip: there is an amount and no ZIP Code, so no tax can be computed."
            )
        return _Line(found, cents_of(amount), _rounding(rounding), _accepts_partial(accept))
    except CellError as error:
        return error


def _rate_units(line: _Line | CellError | None, outcomes: Outcomes) -> Cell:
    """The rate of a line in units of 10^-5, an integer; else what its cell shows."""
    if not isinstance(line, _Line):
        return line
    one = _result_of(line.query, outcomes)
    return (
        units_or_error(one.outcome, partial=line.partial) if isinstance(one, LookupResult) else one
    )


def _rounding(cell: Given) -> Rounding:
    if is_empty(cell):
        return "half_up"
    pass_on_error("rounding", cell)
    from svc_tools.frames.taxes.rounding import ROUNDINGS  # noqa: PLC0415 - loads pandas

    wanted = cell.strip().casefold() if isinstance(cell, str) else None
    for one in ROUNDINGS:
        if one == wanted:
            return one  # type: ignore[return-value] # one of its words
    raise BadValueError(f"rounding: expected {', '.join(ROUNDINGS)}, not {str(cell)[:40]}.")


def _rounded(factors: Sequence[tuple[int, int, int]], rounding: Rounding) -> list[int]:
    """Tax in cents, rounded as in frames."""
    import numpy as np  # noqa: PLC0415 - few formulas need it

    from svc_tools.frames.taxes.rounding import rounded_tax  # noqa: PLC0415 - loads pandas

    _, cents, units = zip(*factors, strict=True)
    tax = rounded_tax(np.array(cents, np.int64), np.array(units, np.int64), rounding)
    return [int(one) for one in tax]


def svc_sum(_: Desk, names: Sequence[str], arguments: Sequence[object]) -> ParsedFormula:
    """The exact sum of a range."""
    return _without_places(lambda: exact_sum(rows_of(names[0], arguments[0])))


_HEADINGS = _PlaceCells._fields
_PLAIN = {2: ("state", "zip"), 3: ("state", "zip", "as_of")}
"""The columns of a range without headings, by their number."""
_EXPECTED = (
    "expected columns of state, ZIP and perhaps day, or columns under headings of"
    f" {', '.join(_HEADINGS)}"
)
_Grid: TypeAlias = "list[list[Cell]]"


def svc_lookup(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> ParsedFormula:
    """The fields of the result for each row."""
    rows, wanted, headers = arguments
    columns, lines = _table(rows_of(names[0], rows))
    fields = _fields(wanted)
    heads: _Grid = [[*fields]] if _has_headers(headers) else []
    queries = [_query_of(_PlaceCells(**dict(zip(columns, line, strict=True)))) for line in lines]

    def finish(outcomes: Outcomes) -> Result:
        service, today = desk.service, desk.today
        shown: _Grid = []
        for query in queries:
            result = _result_of(query, outcomes)
            if isinstance(result, LookupResult):
                one = FieldSource(*result, service, today)
                shown.append([field_cell(name, one) for name in fields])
            else:
                shown.append([result] * len(fields))
        return heads + shown

    return ParsedFormula(_places_of(queries), finish)


def _table(rows: Rows) -> tuple[tuple[str, ...], Rows]:
    """The names of the columns, and the rows below the headings."""
    heads = [_heading(cell) for cell in rows[0]]
    if not any(head in _HEADINGS for head in heads):
        columns = _PLAIN.get(len(heads))
        if columns is None:
            raise BadValueError(f"range: it has {len(heads)} columns and no headings; {_EXPECTED}.")
        return columns, rows
    for cell, head in zip(rows[0], heads, strict=True):
        pass_on_error("range", cell)
        if head not in _HEADINGS:
            shown = "an empty cell" if is_empty(cell) else f'"{str(cell)[:40]}"'
            raise BadValueError(f"range: {shown} is no heading of a place; {_EXPECTED}.")
        if heads.count(head) > 1:
            raise BadValueError(f"range: several columns have the heading {head}; keep one.")
    if len(rows) == 1:
        raise BadValueError("range: there is no row below the headings.")
    return tuple(heads), rows[1:]


def _heading(cell: object) -> str:
    """A cell as a heading, ignoring case and the kind of blanks."""
    return "_".join(str(cell).casefold().split())


def _fields(wanted: object) -> tuple[str, ...]:
    """The requested fields; all of them where none is named."""
    if wanted is OMITTED:
        return tuple(LOOKUP_FIELDS)
    cells = [cell for row in rows_of("fields", wanted) for cell in row if not is_empty(cell)]
    named = [name for cell in cells for name in _names(cell)]
    return tuple(named) or tuple(LOOKUP_FIELDS)


def _names(cell: Scalar) -> list[str]:
    pass_on_error("fields", cell)
    if not isinstance(cell, str):
        raise BadValueError(f"fields: expected names of fields, not {str(cell)[:40]}.")
    return [field_named(part) for part in cell.replace(";", ",").split(",") if part.strip()]


def _has_headers(argument: object) -> bool:
    """The argument `headers`; empty or left out means FALSE."""
    cell = OMITTED if argument is OMITTED else _single_cell("headers", argument, "TRUE or FALSE")
    if is_empty(cell):
        return False
    pass_on_error("headers", cell)
    word = cell.strip().casefold() if isinstance(cell, str) else cell
    if word in {True, "true"}:  # 1 and 1.0 are TRUE as well
        return True
    if word in {False, "false"}:
        return False
    raise BadValueError(f"headers: expected TRUE or FALSE, not {str(cell)[:40]}.")


def _single_cell(name: str, argument: object, expected: str) -> Scalar:
    ((cell, *more), *others) = rows_of(name, argument)
    if more or others:
        raise BadValueError(f"{name}: expected {expected}, not a range.")
    return cell


def svc_fields(_: Desk, __: Sequence[str], ___: Sequence[object]) -> ParsedFormula:
    """The fields with their forms and meanings, under a heading."""

    def finish() -> Result:
        from svc_tools.frames.lookup_columns import COLUMN_MEANINGS  # noqa: PLC0415 - loads pandas

        rows: _Grid = [
            [name, one.form, COLUMN_MEANINGS[name]] for name, one in LOOKUP_FIELDS.items()
        ]
        return [["field", "form", "meaning"], *rows]

    return _without_places(finish)


def svc_field(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> ParsedFormula:
    """One field of each result."""

    def query(field: Given, *of: Given) -> Query:
        return error_in("field", field) or _of_zip(*of)

    def show(one: LookupResult, field: Given, *_: Given) -> Cell:
        if not isinstance(field, str) or is_empty(field):
            raise BadValueError("field: expected the name of a field; SVC_FIELDS() shows them.")
        return field_cell(field_named(field), FieldSource(*one, desk.service, desk.today))

    return _each_cell(names, arguments, query, show)


def svc_asof(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> ParsedFormula:
    """The time of each response; without arguments the oldest of the session."""
    if _nothing_given(arguments):
        return _without_places(lambda: moment(desk.oldest))

    def show(one: FieldSource) -> Cell:
        return moment(one.outcome.looked_up_at) or error_of(one.outcome)

    return _of_source(show)(desk, names, arguments)


def svc_source(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> ParsedFormula:
    """The source of each rate; without arguments the service."""
    if _nothing_given(arguments):
        return _without_places(lambda: desk.service.text)

    def show(one: FieldSource) -> Cell:
        if one.outcome.found is None:
            return error_of(one.outcome)
        source, edition = (field_cell(name, one) for name in ("lookup_source", "lookup_edition"))
        return f"{source}, edition {edition}" if edition else source

    return _of_source(show)(desk, names, arguments)


def _of_source(show: Callable[[FieldSource], Cell]) -> _Function:
    """A function of a state, a ZIP and a day that shows something of the result's fields."""

    def compute(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> ParsedFormula:
        def shown(one: LookupResult, *_: Given) -> Cell:
            return show(FieldSource(*one, desk.service, desk.today))

        return _each_cell(names, arguments, _of_zip, shown)

    return compute


def _nothing_given(arguments: Sequence[object]) -> bool:
    """Whether the formula has no arguments.

    Raises:
        BadValueError: it has some, but not both state and ZIP.
    """
    if all(one is OMITTED for one in arguments):
        return True
    if OMITTED in arguments[:2]:
        raise BadValueError("Give state and zip, or no argument at all.")
    return False


_EVERY = "leave it out of the formula for {of}"


def svc_nexus(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> ParsedFormula:
    """The registrations, under a heading."""
    (argument,) = arguments
    state: str | None = None
    if argument is not OMITTED:
        cell = _single_cell(names[0], argument, "one state")
        if is_empty(cell):
            raise BadValueError(f"state is an empty cell; {_EVERY.format(of='all states')}.")
        state = _state(cell)

    def finish() -> Result:
        rows: list[list[Cell]] = [
            [text or None for text in one.texts]
            for one in desk.register().records
            if state in {None, one.state}
        ]
        return [[*FIELDS], *rows]

    return _without_places(finish)


def svc_nexus_status(
    desk: Desk, names: Sequence[str], arguments: Sequence[object]
) -> ParsedFormula:
    """Whether each state has a registration."""
    shape, rows = aligned(names, arguments)
    keys = [_key(*row) for row in rows]

    def finish() -> Result:
        needed = any(isinstance(one, tuple) for one in keys)
        register = desk.register() if needed else None
        return shaped(shape, [_registration_status(one, register) for one in keys])

    return _without_places(finish)


def _key(state: Given, kind: Given) -> tuple[str, str | None] | CellError | None:
    """The state of a row, and its type or `None` for any; `None` where the state is empty."""
    try:
        for named, cell in (("state", state), ("type", kind)):
            if (error := error_in(named, cell)) is not None:
                return error
        return None if is_empty(state) else (_state(state), _type(kind))
    except CellError as error:
        return error


def _registration_status(
    key: tuple[str, str | None] | CellError | None, register: Register | None
) -> Cell:
    if register is None or not isinstance(key, tuple):
        return key if isinstance(key, CellError) else None
    state, kind = key
    kinds = {one.nexus_type for one in register.records if one.state == state}
    there = bool(kinds) if kind is None else kind in kinds
    return "registered" if there else "not registered"


def _state(cell: Given) -> str:
    pass_on_error("state", cell)
    code = state_code(cell) if isinstance(cell, str) else None
    if isinstance(code, Elsewhere):
        raise NotAvailableError(f"{code.reason}.", "UNSUPPORTED")
    if code is None:
        raise BadValueError(f'state: "{str(cell)[:40]}" is not a US state; expected TX or Texas.')
    return code


def _type(cell: Given) -> str | None:
    if cell is OMITTED:
        return None
    wanted = cell.strip().casefold() if isinstance(cell, str) else ""
    if wanted in NEXUS_TYPES:
        return wanted
    if is_empty(cell):
        raise BadValueError(f"type is an empty cell; {_EVERY.format(of='any type')}.")
    raise BadValueError(f'type: expected {", ".join(NEXUS_TYPES)}, not "{str(cell)[:40]}".')


COMPUTED: Mapping[str, _Function] = {
    "SVC_RATE": _per_cell(_of_zip, _rate),
    "SVC_RATE_ADDRESS": _per_cell(_of_address, _rate),
    "SVC_RATE_PLACE": _per_cell(_of_place, _rate),
    "SVC_RATE_GEO": _per_cell(_of_point, _rate),
    "SVC_TAX": svc_tax,
    "SVC_SUM": svc_sum,
    "SVC_LOOKUP": svc_lookup,
    "SVC_FIELD": svc_field,
    "SVC_CONFIDENCE": _of_source(lambda one: field_cell("confidence", one)),
    "SVC_WARNINGS": _of_source(sentences),
    "SVC_STATUS": _of_source(lambda one: one.status),
    "SVC_FIELDS": svc_fields,
    "SVC_ASOF": svc_asof,
    "SVC_SOURCE": svc_source,
    "SVC_NEXUS": svc_nexus,
    "SVC_NEXUS_STATUS": svc_nexus_status,
}
"""The implementation of each function of the registry."""
_ARGUMENTS = {
    one.name: (
        tuple(parameter.name for parameter in one.parameters),
        sum(not parameter.optional for parameter in one.parameters),
    )
    for one in FUNCTIONS
}
"""The names of each function's arguments, and how many are required."""
