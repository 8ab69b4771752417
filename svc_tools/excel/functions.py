"""What the functions of the registry compute, from plain values.

A formula takes two steps: parsing, which yields the places to look up, and finishing, which returns
its value from their outcomes. All formulas of a burst take the first step before any takes the
second, so that their places are looked up together, each once.
"""

from __future__ import annotations

import logging
import re
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from svc_tools.base.memory import all_stay
from svc_tools.excel.desk import RefreshPlan
from svc_tools.excel.registry import CELL_FORMS, function
from svc_tools.excel.results import (
    LOOKUP_FIELDS,
    FieldSource,
    error_of,
    field_named,
    moment,
    rate_cell,
    sentences,
    units_or_error,
)
from svc_tools.excel.values import (
    CENTS,
    OMITTED,
    BadValueError,
    CellError,
    NotAvailableError,
    aligned,
    amount_in_cents,
    cell_rows,
    day_in,
    error_in,
    exact_sum,
    is_empty,
    pass_on_error,
    refusal_of_1904,
    shaped,
    text_in_message,
)
from svc_tools.lookup import Outcome, refused
from svc_tools.lookup.columns import COLUMNS
from svc_tools.lookup.options import ROUNDINGS
from svc_tools.nexus.register import FIELDS, NEXUS_TYPES
from svc_tools.tables import roles
from svc_tools.tables.cells import text_of
from svc_tools.tables.exports import DECIDING_ROLES, recognized, usual_columns
from svc_tools.tables.places import Cells, PlaceQuery, Refusal, on_day, where
from svc_tools.tables.states import Elsewhere, state_code

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
    from datetime import datetime

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import (
        Argument,
        CellRows,
        CellValue,
        FormulaResult,
        GivenCell,
        Scalar,
        Shape,
    )
    from svc_tools.lookup.options import Rounding
    from svc_tools.tables.places import Place

_log = logging.getLogger(__name__)

Outcomes: TypeAlias = "Mapping[Place, Outcome]"
CellQuery: TypeAlias = PlaceQuery | Outcome | NotAvailableError | None
"""The query of some cells: the outcome of cells that cannot make one (invalid, unsupported), the
error of a cell that holds one, `None` for an empty row."""


class FunctionCall(NamedTuple):
    """One formula: the name of its function, and its arguments in the order of the registry.

    Attributes:
        arguments: those at the end may be missing, which is the same as `OMITTED`.
        from_1904: the name of a workbook that counts dates from 1904 ("" where the host does not
            give it): there a number or a date is refused as a day.
    """

    name: str
    arguments: tuple[Argument, ...] = ()
    from_1904: str | None = None


def evaluate(
    desk: Desk,
    calls: Sequence[FunctionCall],
    *,
    ahead: Sequence[FunctionCall] = (),
    since: datetime | None = None,
) -> list[FormulaResult]:
    """The result of each formula: a value, rows of values, or a `CellError`. Raises nothing.

    The places of all of them are looked up in one run, each once, and those of the calls `ahead`,
    which will be computed later, with them. No result from before `since`, the moment of a refresh,
    is used.
    """
    with all_stay():
        formulas = [_started(desk, call) for call in calls]
    used = [*(needed for needed, _ in formulas), *(formula_places(desk, call) for call in ahead)]
    places = dict.fromkeys(place for needed in used for place in needed)
    outcomes = desk.look_up(places, since) if places else {}
    return [finish(outcomes) for _, finish in formulas]


def formula_places(desk: Desk, call: FunctionCall) -> Sequence[Place]:
    """The places that a formula looks up; none where it is an error. Nothing is looked up."""
    return _started(desk, call)[0]


def refresh_plan(
    desk: Desk, cells: Iterable[Sequence[FunctionCall]], unknown: int = 0
) -> RefreshPlan:
    """What a refresh would look up; nothing is looked up.

    Args:
        desk: computes nothing here.
        cells: the calls of each cell.
        unknown: how many cells have others, which are known only when they are computed.
    """
    used = [[place for call in calls for place in formula_places(desk, call)] for calls in cells]
    places = dict.fromkeys(place for of_cell in used for place in of_cell)
    return RefreshPlan(tuple(places), sum(map(bool, used)), unknown)


_Formula: TypeAlias = "Generator[Sequence[Place], Outcomes, FormulaResult]"
"""Yields the places to look up, receives their outcomes, returns the result. Raises `CellError`."""
_Function: TypeAlias = "Callable[[Desk, FunctionCall], _Formula]"
"""The formula of a call with all of its arguments."""


def _started(
    desk: Desk, call: FunctionCall
) -> tuple[Sequence[Place], Callable[[Outcomes], FormulaResult]]:
    """The places of a formula, and what gives its result from their outcomes, or its error."""

    def step(outcomes: Any) -> Any:  # noqa: ANN401 - nothing for places, these for a result
        try:
            return formula.send(outcomes)
        except StopIteration as end:
            return end.value
        except CellError as error:
            return error
        except Exception as error:  # noqa: BLE001 - the cell gets a sentence, the log the type
            kind = type(error).__name__
            _log.error("%s could not be computed: %s", call.name, kind)
            return NotAvailableError(f"{call.name} could not be computed ({kind}).", "FAILED")

    formula = _parse(desk, call)
    places = step(None)
    return ((), lambda _: places) if isinstance(places, CellError) else (places, step)


def _parse(desk: Desk, call: FunctionCall) -> _Formula:
    """Check the arguments of a call, fill in those left out, and run the function's own generator.

    Raises:
        BadValueError: no such function, too many arguments, or a required one is left out.
    """
    compute = COMPUTED.get(call.name)
    if compute is None:
        raise BadValueError(f"There is no function {call.name[:40]}.")
    expected, count = function(call.name), len(call.arguments)
    most = len(expected.parameters)
    if count > most:
        raise BadValueError(
            f"{call.name} has {most} arguments at most, not {count}: {expected.signature}."
        )
    given = (*call.arguments, *[OMITTED] * (most - count))
    for parameter, cell in zip(expected.parameters, given, strict=True):
        # a state before a place is like an empty cell then: the place may name it
        may_be_named = parameter.name == "state" and call.name != "SVC_NEXUS_STATUS"
        if cell is OMITTED and not parameter.optional and not may_be_named:
            raise BadValueError(f"{parameter.name} is left out: {expected.signature}.")
    return (yield from compute(desk, call._replace(arguments=given)))


def _rows(call: FunctionCall) -> tuple[Shape, list[dict[str, GivenCell]]]:
    """The shape of the result, and for each of its cells the arguments by their names."""
    names = [parameter.name for parameter in function(call.name).parameters]
    shape, rows = aligned(names, call.arguments)
    return shape, [dict(zip(names, row, strict=True)) for row in rows]


def _places_of(queries: Iterable[CellQuery]) -> list[Place]:
    return [query.place for query in queries if isinstance(query, PlaceQuery)]


def _result_of(desk: Desk, query: CellQuery, outcomes: Outcomes) -> FieldSource | CellError | None:
    """The result of a query; an error of a cell, or an empty row, as it is."""
    if isinstance(query, PlaceQuery):
        return FieldSource(outcomes[query.place], query, desk)
    return FieldSource(query, None, desk) if isinstance(query, Outcome) else query


def _cells_showing(show: Callable[[FieldSource, Mapping[str, GivenCell]], CellValue]) -> _Function:
    """A function that shows a cell for each cell of its ranges; `show` may raise `CellError`."""

    def shown(result: FieldSource | CellError | None, row: Mapping[str, GivenCell]) -> CellValue:
        try:
            return show(result, row) if isinstance(result, FieldSource) else result
        except CellError as error:
            return error

    def compute(desk: Desk, call: FunctionCall) -> _Formula:
        shape, rows = _rows(call)
        queries = [_query_of(call, row) for row in rows]
        outcomes = yield _places_of(queries)
        results = (_result_of(desk, query, outcomes) for query in queries)
        return shaped(shape, list(map(shown, results, rows)))

    return compute


_ACCEPT = ("partial",)
_CELLS = ("state", "zip", "address", "city", "place", "lat", "lng", "country", "as_of")
"""The cells of a query, as the arguments and columns are called."""


def _query_of(call: FunctionCall, row: Mapping[str, GivenCell]) -> CellQuery:
    """The query of cells by the names of their arguments.

    An error in one of them is passed on. Cells that name no place (a state alone is not one) make
    no query, whatever the others hold. `as_of` left out means today; an empty cell does not.
    """
    for name, cell in row.items():
        if name in _CELLS and (error := error_in(name, cell)) is not None:
            return error
    *cells, day = map({"as_of": OMITTED, **row}.get, _CELLS)
    is_number = isinstance(day, int | float | date) and not isinstance(day, bool)
    refusal = None if call.from_1904 is None or not is_number else refusal_of_1904(call.from_1904)
    # a rate of the ZIP instead of the address would look right
    must = call.name == "SVC_RATE_ADDRESS"
    found = _cached_query(*cells, OMITTED if refusal else day, must)
    return Outcome("invalid", refusal) if refusal and isinstance(found, PlaceQuery) else found


# typed: TRUE, 1 and 1.0 are equal, but not the same
@lru_cache(maxsize=65_536, typed=True)
def _cached_query(*given: GivenCell) -> PlaceQuery | Outcome | None:
    """The query of a row's cells, or the outcome that refuses them; `None` where no place is given.

    The last two are the day, and whether only an address in one line is accepted.
    """
    *cells, as_of, by_address = given
    if all(map(is_empty, cells[1:-1])):
        return None
    try:
        state, zip_code, address, city, place, lat, lng, country = map(_plain, _CELLS, cells)
        cells_of_row = Cells(state, zip_code, address, city, place, lat, lng, country)
        found = where(cells_of_row, point_named=False)
        mode = found.place.mode if isinstance(found, PlaceQuery) else None
        if by_address and (address is None or mode not in {None, "address"}):
            size = f"{len(str(address))} characters, which is no address in one line"
            shown = "the cell is empty" if address is None else f'"{str(address)[:40]}" has {size}'
            return Outcome(
                "invalid",
                f"address: {shown}; give street and city, or use SVC_RATE for a ZIP Code alone,"
                " SVC_RATE_PLACE for a city.",
            )
        if isinstance(found, Refusal):
            return refused(Refusal(found.status, found.reason.replace("location:", "place:", 1)))
        return on_day(found, None if as_of is OMITTED else day_in(as_of))
    except BadValueError as error:
        return Outcome("invalid", error.message)


def _plain(name: str, cell: GivenCell) -> str | float | None:
    """A cell as text or number; an integer in a text column as its digits."""
    if is_empty(cell):
        return None
    if isinstance(cell, bool) or not isinstance(cell, str | int | float):
        raise BadValueError(
            f"{name}: the cell holds {text_in_message(cell)}, not a text or number."
        )
    if isinstance(cell, float) and cell.is_integer() and name not in {"lat", "lng"}:
        return str(int(cell))
    return cell


def _rate(result: FieldSource, row: Mapping[str, GivenCell]) -> CellValue:
    """The combined rate."""
    units = units_or_error(
        result.outcome, partial=_word("accept", row["accept"], _ACCEPT) is not None
    )
    return rate_cell(units) if isinstance(units, int) else units


def _word(name: str, cell: GivenCell, words: Collection[str]) -> str | None:
    """An argument that is one of some words, else a `CellError`; `None` where it is empty."""
    if is_empty(cell):
        return None
    pass_on_error(name, cell)
    word = text_in_message(cell).strip().casefold()
    if word not in words:
        shown = f'{", ".join(words)} or nothing, not "{text_in_message(cell)}"'
        raise BadValueError(f"{name}: expected {shown}.")
    return word


def svc_tax(__: Desk, call: FunctionCall) -> _Formula:
    """The tax on amounts; the amounts of a range are rounded together."""
    shape, rows = _rows(call)
    lines = [_tax_line(call, row) for row in rows]
    outcomes = yield _places_of(line.query for line in lines if isinstance(line, _Line))
    shown: list[CellValue] = [None if isinstance(line, _Line) else line for line in lines]
    taxed: dict[Rounding, list[tuple[int, int, int]]] = {}
    for at, line in enumerate(lines):
        if isinstance(line, _Line):
            query = line.query
            outcome = outcomes[query.place] if isinstance(query, PlaceQuery) else query
            shown[at] = units = units_or_error(outcome, partial=line.partial)
            if isinstance(units, int):
                taxed.setdefault(line.rounding, []).append((at, line.cents, units))
    for rounding, factors in taxed.items():
        for (at, _, _), cents in zip(factors, _rounded(factors, rounding), strict=True):
            shown[at] = cents / CENTS  # the float nearest to the exact amount
    return shaped(shape, shown)


class _Line(NamedTuple):
    query: PlaceQuery | Outcome
    cents: int
    rounding: Rounding
    partial: bool


def _tax_line(call: FunctionCall, row: Mapping[str, GivenCell]) -> _Line | CellError | None:
    """A parsed row; the reason why it cannot be used, or `None` where it has no amount."""
    amount = row["amount"]
    found = error_in("amount", amount) or _query_of(call, row)
    if isinstance(found, CellError):
        return found
    # a host may pass the empty cells of a row as 0
    if is_empty(amount) or (found is None and amount == 0):
        return None
    if found is None:
        return BadValueError("zip: there is an amount and no ZIP Code, so no tax can be computed.")
    try:
        partial = _word("accept", row["accept"], _ACCEPT) is not None
        return _Line(found, amount_in_cents(amount), _rounding(row["rounding"]), partial)
    except CellError as error:
        return error


def _rounding(cell: GivenCell) -> Rounding:
    if is_empty(cell):
        return "half_up"
    return cast("Rounding", _word("rounding", cell, ROUNDINGS))


def _rounded(factors: Sequence[tuple[int, int, int]], rounding: Rounding) -> list[int]:
    """Tax in cents, rounded as in frames."""
    import numpy as np  # noqa: PLC0415 - few formulas need it

    from svc_tools.frames.values.rounding import rounded_tax  # noqa: PLC0415 - loads pandas

    _, cents, units = zip(*factors, strict=True)
    tax = rounded_tax(np.array(cents, np.int64), np.array(units, np.int64), rounding)
    return [int(amount) for amount in tax]


def svc_sum(_: Desk, call: FunctionCall) -> _Formula:
    """The exact sum of a range."""
    yield ()
    return exact_sum(cell_rows("range", call.arguments[0]))


_BY_NAME = roles.Role("place", frozenset({"place"}))
"""The column of names of cities or counties, which no frame has."""
_SAMPLED = 20
_OUR_TIME = range(36_526, 54_790)
"""The day numbers of the years 2000 to 2049."""
_Grid: TypeAlias = "list[list[CellValue]]"


def svc_lookup(desk: Desk, call: FunctionCall) -> _Formula:
    """The fields of the result for each row."""
    rows, wanted, headers = call.arguments
    columns, lines = _table(cell_rows("range", rows))
    fields = _fields(wanted)
    heads: _Grid = [[*fields]] if _has_headers(headers) else []
    queries = [_query_of(call, {role: line[at] for role, at in columns.items()}) for line in lines]
    outcomes = yield _places_of(queries)
    results = (_result_of(desk, query, outcomes) for query in queries)
    return heads + [
        [
            LOOKUP_FIELDS[name](result) if isinstance(result, FieldSource) else result
            for name in fields
        ]
        for result in results
    ]


def _table(rows: CellRows) -> tuple[Mapping[str, int], CellRows]:
    """The number of the column of each cell of a query, and the rows below the headings."""
    heads, *lines = rows
    if not _are_headings(heads):
        if len(heads) not in {2, 3}:
            pass_on_error("range", heads[0])
            raise BadValueError(
                f"range: it has {len(heads)} columns and no headings; expected headings such as"
                " State, ZIP Code, Address, City and Date, or columns of state, ZIP and perhaps"
                " day."
            )
        return dict(zip(("state", "zip", "as_of"), range(len(heads)), strict=False)), rows
    try:
        return _columns(heads, lines), lines
    except roles.ColumnError as error:
        advice = "change the headings of those that do not count"
        if isinstance(error, roles.ColumnMissing):
            advice = (
                "start the range at one row of headings, none of them merged, with ZIP Code,"
                " Address or City among them"
            )
        elif isinstance(error, roles.ColumnAmbiguous) and len(error.candidates) == 1:
            advice = "head it Date if it does; else add a column Date"
        raise BadValueError(f"range: {error.fact}; {advice}.") from None


def _are_headings(cells: Sequence[Scalar]) -> bool:
    """Whether a row has usual headings; or words alone, where data has a state or digits."""
    texts = [text for cell in cells if isinstance(cell, str) and (text := text_of(cell))]
    if any(
        _BY_NAME.fits(text) or roles.place_role(text) or roles.date_kind(text, ()) == "sale"
        for text in texts
    ):
        return True
    if any(isinstance(cell, int | float | date) for cell in cells):
        return False
    return bool(texts) and not any(state_code(text) or re.search("[0-9]", text) for text in texts)


def _columns(heads: Sequence[Scalar], lines: CellRows) -> dict[str, int]:
    """The column of each cell of a query, found as those of a frame, else a `ColumnError`."""
    for cell in heads:
        pass_on_error("range", cell)
    labels = [
        cell if isinstance(cell, str) and not is_empty(cell) else f"column {at}"
        for at, cell in enumerate(heads, 1)
    ]
    found = _place_columns(labels, lines)
    if found.keys().isdisjoint(DECIDING_ROLES | {"place"}):
        raise roles.ColumnMissing("place", labels)
    if not lines:
        raise BadValueError("range: there is no row below the headings.")
    columns = {role: labels.index(label) for role, label in found.items()}
    if "as_of" in columns:
        return columns
    kinds, days = [], []
    for at, label in enumerate(labels):
        if at in columns.values():
            continue
        # a range may hold 0 for an empty cell
        cells = [cell for line in lines if not is_empty(cell := line[at]) and cell != 0][:_SAMPLED]
        numbers = [cell for cell in cells if isinstance(cell, int | float)]
        numeric = not all(map(_is_day, numbers))
        kinds.append((label, roles.date_kind(label, (), numeric=numeric)))
        # numbers are days where all of them may be, other cells where half of them are
        likely = sum(map(_is_day, cells)) * (1 if len(numbers) == len(cells) else 2)
        texts = [f"{cell:.15g}" if isinstance(cell, int | float) else str(cell) for cell in cells]
        if cells and (likely >= len(cells) or roles.date_kind(label, texts) == "period"):
            days.append(label)
    dated: list[Any] = roles.sale_date(kinds, "")
    if dated:
        columns["as_of"] = labels.index(dated[0])
    elif days:  # without it the rates would be those of today
        raise roles.ColumnAmbiguous("as_of", days, "")
    return columns


def _place_columns(labels: Sequence[Any], lines: CellRows) -> dict[str, Any]:
    """The columns of the place, of the country and of names, by their headings and cells."""
    sampled: dict[Any, list[str | None]] = {
        label: [text_of(line[at]) for line in lines[:_SAMPLED]] for at, label in enumerate(labels)
    }

    def rows(of: Sequence[Any]) -> list[list[Scalar]]:
        return [[line[labels.index(label)] for label in of] for line in lines]

    usual = usual_columns(recognized(labels), labels, sample=sampled.__getitem__, rows=rows)
    roles.raise_all(usual.problems, "SVC_LOOKUP")
    columns = {**usual.columns, **roles.find(labels, [_BY_NAME]).checked()}
    location = columns.pop("location", None)  # the same by the name of a frame
    return columns if location is None else {"place": location, **columns}


def _is_day(cell: Scalar) -> bool:
    """Whether a cell is a date, or a text or number that looks like one of our time."""
    if isinstance(cell, int | float):
        return cell // 1 in _OUR_TIME  # the fraction is the time of day
    return isinstance(cell, date) or roles.date_kind("", [str(cell).strip()]) == "other"


def _fields(wanted: object) -> tuple[str, ...]:
    """The requested fields; all of them where none is named."""
    named: list[str] = []
    for row in cell_rows("fields", None if wanted is OMITTED else wanted):
        for cell in row:
            pass_on_error("fields", cell)
            if not isinstance(cell, str | None):
                raise BadValueError(
                    f"fields: expected names of fields, not {text_in_message(cell)}."
                )
            parts = (cell or "").replace(";", ",").split(",")
            named += [field_named(part) for part in parts if part.strip()]
    return tuple(named) or tuple(LOOKUP_FIELDS)


def _has_headers(argument: object) -> bool:
    """The argument `headers`; empty or left out means FALSE."""
    cell = OMITTED if argument is OMITTED else _single_cell("headers", argument, "TRUE or FALSE")
    known = bool(cell) if cell in {0, 1} else cell  # the numbers are truth values as well
    return _word("headers", known, ("true", "false")) == "true"


def _single_cell(name: str, argument: object, expected: str) -> Scalar:
    ((cell, *more), *others) = cell_rows(name, argument)
    if more or others:
        raise BadValueError(f"{name}: expected {expected}, not a range.")
    return cell


def svc_fields(_: Desk, __: FunctionCall) -> _Formula:
    """The fields with their forms and meanings, under a heading."""
    yield ()
    fields = (column for column in COLUMNS if column.name in LOOKUP_FIELDS)
    rows: _Grid = [
        [column.name, CELL_FORMS.get(column.form, "text"), column.meaning] for column in fields
    ]
    return [["field", "form", "meaning"], *rows]


def _field(result: FieldSource, row: Mapping[str, GivenCell]) -> CellValue:
    """The field that is named."""
    name = row["field"]
    pass_on_error("field", name)
    if not isinstance(name, str) or is_empty(name):
        raise BadValueError("field: expected the name of a field; SVC_FIELDS() shows them.")
    return LOOKUP_FIELDS[field_named(name)](result)


def _source(result: FieldSource, _: Mapping[str, GivenCell]) -> CellValue:
    """The source of a rate."""
    if result.outcome.found is None:
        return error_of(result.outcome)
    source, edition = (LOOKUP_FIELDS[name](result) for name in ("lookup_source", "lookup_edition"))
    return f"{source}, edition {edition}" if edition else source


def _of_session(session: Callable[[Desk], CellValue], of_each: _Function) -> _Function:
    """A function of a state, a ZIP and a day, or without arguments of the whole session."""

    def compute(desk: Desk, call: FunctionCall) -> _Formula:
        if all(argument is OMITTED for argument in call.arguments):
            yield ()
            return session(desk)
        if OMITTED in call.arguments[:2]:
            raise BadValueError("Give state and zip, or no argument at all.")
        return (yield from of_each(desk, call))

    return compute


def svc_nexus(desk: Desk, call: FunctionCall) -> _Formula:
    """The registrations, under a heading."""
    (argument,) = call.arguments
    cell = OMITTED if argument is OMITTED else _single_cell("state", argument, "one state")
    _refuse_empty("state", cell, "all states")
    state = None if cell is OMITTED else _state(cell)
    yield ()
    rows: _Grid = [
        [text or None for text in record.texts]
        for record in desk.register().records
        if state in {None, record.state}
    ]
    return [[*FIELDS], *rows]


def svc_nexus_status(desk: Desk, call: FunctionCall) -> _Formula:
    """Whether each state has a registration."""
    shape, rows = _rows(call)
    yield ()
    return shaped(shape, [_registration_status(desk, *row.values()) for row in rows])


def _registration_status(desk: Desk, state: GivenCell, kind: GivenCell) -> CellValue:
    """Whether a state has a registration, of a type or of any; empty where the state is."""
    try:
        pass_on_error("state", state)
        pass_on_error("type", kind)
        if is_empty(state):
            return None
        _refuse_empty("type", kind, "any type")
        code, wanted = _state(state), _word("type", kind, NEXUS_TYPES)
        kinds = {record.nexus_type for record in desk.register().records if record.state == code}
    except CellError as error:
        return error
    return "registered" if (wanted in kinds if wanted else kinds) else "not registered"


def _refuse_empty(name: str, cell: GivenCell, left_out: str) -> None:
    if cell is not OMITTED and is_empty(cell):
        raise BadValueError(f"{name} is an empty cell; leave it out of the formula for {left_out}.")


def _state(cell: GivenCell) -> str:
    pass_on_error("state", cell)
    code = state_code(cell)
    if isinstance(code, Elsewhere):
        raise NotAvailableError(f"{code.reason}.", "UNSUPPORTED")
    if code is None:
        raise BadValueError(
            f'state: "{text_in_message(cell)}" is not a US state; expected TX or Texas.'
        )
    return code


COMPUTED: Mapping[str, _Function] = {
    "SVC_RATE": _cells_showing(_rate),
    "SVC_RATE_ADDRESS": _cells_showing(_rate),
    "SVC_RATE_PLACE": _cells_showing(_rate),
    "SVC_RATE_GEO": _cells_showing(_rate),
    "SVC_TAX": svc_tax,
    "SVC_SUM": svc_sum,
    "SVC_LOOKUP": svc_lookup,
    "SVC_FIELD": _cells_showing(_field),
    "SVC_CONFIDENCE": _cells_showing(lambda result, _: LOOKUP_FIELDS["confidence"](result)),
    "SVC_WARNINGS": _cells_showing(lambda result, _: sentences(result)),
    "SVC_STATUS": _cells_showing(lambda result, _: result.status),
    "SVC_FIELDS": svc_fields,
    "SVC_ASOF": _of_session(
        lambda desk: moment(desk.oldest),
        _cells_showing(
            lambda result, _: moment(result.outcome.looked_up_at) or error_of(result.outcome)
        ),
    ),
    "SVC_SOURCE": _of_session(lambda desk: desk.service.text, _cells_showing(_source)),
    "SVC_NEXUS": svc_nexus,
    "SVC_NEXUS_STATUS": svc_nexus_status,
}
"""The implementation of each function of the registry."""
