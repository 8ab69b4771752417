"""What the functions of the registry compute, from plain values."""

# MERGED functions_lookup: SVC_LOOKUP: the fields of an answer for each row of a range, and SVC_FIELDS, what there is.
# MERGED functions_nexus: SVC_NEXUS and SVC_NEXUS_STATUS: the account's registrations, read and never changed.
# MERGED functions_tax: SVC_TAX and SVC_SUM: money, exact to the cent.
# MERGED functions_told: What a cell tells of an answer besides its rate: field, confidence, warnings, when, from whom.
# MERGED evaluating: Formulas of one burst computed together: their places are asked for in one run.

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar

from svc_tools.excel.cell_lookup import (
    LOOKUP_FIELDS,
    Read,
    Row,
    Told,
    Work,
    accepts_partial,
    asked,
    done,
    each_cell,
    error_of,
    field_cell,
    field_named,
    moment,
    places_of,
    rate_cell,
    sentences,
    told,
    units_or_error,
)
from svc_tools.excel.registry import FUNCTIONS, function
from svc_tools.excel.values import (
    OMITTED,
    BadValueError,
    CellError,
    NotAvailableError,
    aligned,
    cents_of,
    dollars_cell,
    error_in,
    exact_sum,
    is_empty,
    rows_of,
    shaped,
)
from svc_tools.nexus.register import FIELDS, NEXUS_TYPES
from svc_tools.places import Elsewhere, state_code

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from svc_tools.excel.cell_lookup import Answers, Asked
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Argument, Cell, Given, Result, Rows, Scalar
    from svc_tools.frames.taxes.rounding import Rounding
    from svc_tools.nexus.register import Register

Computed: TypeAlias = "Callable[[Desk, Sequence[str], Sequence[object]], Work]"
"""Reads a formula: the desk, the names of its arguments, and what they are. Raises `CellError`."""

_HEADINGS = ("state", "zip", "address", "city", "place", "lat", "lng", "as_of")
"""What the columns of SVC_LOOKUP's range may be called."""
_PLAIN = {2: ("state", "zip"), 3: ("state", "zip", "as_of")}
"""What the columns of a range without headings are."""
_Grid: TypeAlias = "list[list[Cell]]"

_EVERY = "leave it out of the formula for {of}"


def _of_address(
    state: Given, address: Given, city: Given, zip_code: Given, as_of: Given, *_: Given
) -> Asked:
    return asked(Row(state, zip_code, address, city, as_of=as_of), by_address=True)


def _of_place(state: Given, place: Given, as_of: Given, *_: Given) -> Asked:
    return asked(Row(state, place=place, as_of=as_of))


def _of_point(state: Given, lat: Given, lng: Given, as_of: Given, *_: Given) -> Asked:
    return asked(Row(state, lat=lat, lng=lng, as_of=as_of))


def _rate(one: Told, *cells: Given) -> Cell:
    """The last of the cells is `accept`."""
    units = units_or_error(one.outcome, partial=accepts_partial(cells[-1]))
    return rate_cell(units) if isinstance(units, int) else units


def _status(one: Told, *_: Given) -> Cell:
    return one.outcome.status


def _cells(ask: Callable[..., Asked], tell: Callable[..., Cell]) -> Computed:
    return lambda _, names, arguments: each_cell(names, arguments, ask, tell)


_EXPECTED = (
    "expected columns of state, ZIP and perhaps day, or columns under headings of"
    f" {', '.join(_HEADINGS)}"
)


def svc_lookup(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """The fields of an answer for each row."""
    rows, wanted, headers = arguments
    columns, lines = _table(rows_of(names[0], rows))
    fields = _fields(wanted)
    heads: _Grid = [[*fields]] if _is_true(headers) else []
    asked_each = [asked(Row(**dict(zip(columns, line, strict=True)))) for line in lines]

    def finish(answers: Answers) -> Result:
        who, today = desk.who, desk.today
        shown: _Grid = []
        for one in asked_each:
            found = told(one, answers)
            if isinstance(found, Told):
                read = Read(found, who, today)
                shown.append([field_cell(name, read) for name in fields])
            else:
                shown.append([found] * len(fields))
        return heads + shown

    return Work(places_of(asked_each), finish)


def svc_fields(_: Desk, __: Sequence[str], ___: Sequence[object]) -> Work:
    """The fields with their forms and meanings, under a heading."""

    def finish() -> Result:
        from svc_tools.frames.lookup_columns import COLUMN_MEANINGS  # noqa: PLC0415 - loads pandas

        rows: _Grid = [
            [name, one.form, COLUMN_MEANINGS[name]] for name, one in LOOKUP_FIELDS.items()
        ]
        return [["field", "form", "meaning"], *rows]

    return done(finish)


def _heading(cell: object) -> str:
    """A cell as a heading: capitals and the kind of blanks do not matter."""
    return "_".join(str(cell).casefold().split())


def _table(rows: Rows) -> tuple[tuple[str, ...], Rows]:
    """What the columns are, and the rows below the headings."""
    heads = [_heading(cell) for cell in rows[0]]
    if not any(head in _HEADINGS for head in heads):
        columns = _PLAIN.get(len(heads))
        if columns is None:
            raise BadValueError(f"range: it has {len(heads)} columns and no headings; {_EXPECTED}.")
        return columns, rows
    for cell, head in zip(rows[0], heads, strict=True):
        if (error := error_in("range", cell)) is not None:
            raise error
        if head not in _HEADINGS:
            shown = "an empty cell" if is_empty(cell) else f'"{str(cell)[:40]}"'
            raise BadValueError(f"range: {shown} is no heading of a place; {_EXPECTED}.")
        if heads.count(head) > 1:
            raise BadValueError(f"range: several columns have the heading {head}; keep one.")
    if len(rows) == 1:
        raise BadValueError("range: there is no row below the headings.")
    return tuple(heads), rows[1:]


def _fields(wanted: object) -> tuple[str, ...]:
    """The fields that were asked for, each by its name; all of them where none is named."""
    if wanted is OMITTED:
        return tuple(LOOKUP_FIELDS)
    cells = [cell for row in rows_of("fields", wanted) for cell in row if not is_empty(cell)]
    named = [name for cell in cells for name in _names(cell)]
    return tuple(named) or tuple(LOOKUP_FIELDS)


def _names(cell: Scalar) -> list[str]:
    if (error := error_in("fields", cell)) is not None:
        raise error
    if not isinstance(cell, str):
        raise BadValueError(f"fields: expected names of fields, not {str(cell)[:40]}.")
    return [field_named(part) for part in cell.replace(";", ",").split(",") if part.strip()]


def _is_true(argument: object) -> bool:
    """What the argument `headers` says; nothing is FALSE."""
    ((cell, *more), *others) = [[OMITTED]] if argument is OMITTED else rows_of("headers", argument)
    if more or others:
        raise BadValueError("headers: expected TRUE or FALSE, not a range.")
    return _truth(cell)


def _truth(cell: Given) -> bool:
    if is_empty(cell):
        return False
    if (error := error_in("headers", cell)) is not None:
        raise error
    word = cell.strip().casefold() if isinstance(cell, str) else cell
    if word in {True, "true"}:  # 1 and 1.0 are TRUE as well
        return True
    if word in {False, "false"}:
        return False
    raise BadValueError(f"headers: expected TRUE or FALSE, not {str(cell)[:40]}.")


def svc_nexus(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """The registrations, under a heading."""
    (argument,) = arguments
    state: str | None = None
    if argument is not OMITTED:
        ((cell, *more), *others) = rows_of(names[0], argument)
        if more or others:
            raise BadValueError("state: expected one state, not a range.")
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

    return done(finish)


def svc_nexus_status(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """Whether there is a registration, for each cell."""
    shape, rows = aligned(names, arguments)
    keys = [_key(*row) for row in rows]

    def finish() -> Result:
        asks = any(isinstance(one, tuple) for one in keys)
        register = desk.register() if asks else None
        return shaped(shape, [_registration_status(one, register) for one in keys])

    return done(finish)


def _key(state: Given, kind: Given) -> tuple[str, str | None] | CellError | None:
    """What a row asks: a state, and a type or any; nothing where its state is empty."""
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
    if (error := error_in("state", cell)) is not None:
        raise error
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


def svc_sum(_: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """The exact sum of a range."""
    return done(lambda: exact_sum(rows_of(names[0], arguments[0])))


def svc_tax(_: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """The tax on amounts: all cells of a range are rounded at once."""
    shape, rows = aligned(names, arguments)
    lines = [_line(*row) for row in rows]

    def finish(answers: Answers) -> Result:
        shown: list[Cell] = [_untaxed(one, answers) for one in lines]
        taxed: dict[Rounding, list[tuple[int, int, int]]] = {}
        for at, line in enumerate(lines):
            units = shown[at]
            if isinstance(line, _Line) and isinstance(units, int):
                taxed.setdefault(line.rounding, []).append((at, line.cents, units))
        for rounding, factors in taxed.items():
            for (at, _, _), cents in zip(factors, _rounded(factors, rounding), strict=True):
                shown[at] = dollars_cell(cents)
        return shaped(shape, shown)

    return Work(places_of(one.asked for one in lines if isinstance(one, _Line)), finish)


@dataclass(frozen=True, slots=True)
class _Line:
    asked: Asked
    cents: int
    rounding: Rounding
    partial: bool


def _line(amount: Given, *others: Given) -> _Line | CellError | None:
    """A row as it was read; why it cannot be, or nothing where it has no amount."""
    state, zip_code, as_of, rounding, accept = others
    if (error := error_in("amount", amount)) is not None:
        return error
    found = asked(Row(state, zip_code, as_of=as_of))
    if isinstance(found, CellError):
        return found
    if is_empty(amount):
        return None
    try:
        if found is None:
            raise BadValueError("zip: there is an amount and no ZIP Code, so no tax can be said.")
        return _Line(found, cents_of(amount), _rounding(rounding), accepts_partial(accept))
    except CellError as error:
        return error


def _untaxed(line: _Line | CellError | None, answers: Answers) -> Cell:
    """What a line shows that has no rate; else the rate in units of 10^-5, a whole number."""
    if not isinstance(line, _Line):
        return line
    one = told(line.asked, answers)
    return units_or_error(one.outcome, partial=line.partial) if isinstance(one, Told) else one


def _rounding(cell: Given) -> Rounding:
    if is_empty(cell):
        return "half_up"
    if (error := error_in("rounding", cell)) is not None:
        raise error
    from svc_tools.frames.taxes.rounding import ROUNDINGS  # noqa: PLC0415 - loads pandas

    wanted = cell.strip().casefold() if isinstance(cell, str) else None
    for one in ROUNDINGS:
        if one == wanted:
            return one  # type: ignore[return-value] # one of its words
    raise BadValueError(f"rounding: expected {', '.join(ROUNDINGS)}, not {str(cell)[:40]}.")


def _rounded(factors: Sequence[tuple[int, int, int]], rounding: Rounding) -> list[int]:
    """Tax in cents, by the one home of rounding."""
    import numpy as np  # noqa: PLC0415 - few formulas need it

    from svc_tools.frames.taxes.rounding import rounded_tax  # noqa: PLC0415 - loads pandas

    _, cents, units = zip(*factors, strict=True)
    tax = rounded_tax(np.array(cents, np.int64), np.array(units, np.int64), rounding)
    return [int(one) for one in tax]


def of_zip(state: Given, zip_code: Given, as_of: Given, *_: Given) -> Asked:
    """What a state, a ZIP and a day ask."""
    return asked(Row(state, zip_code, as_of=as_of))


def svc_field(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """One field of each answer."""

    def ask(field: Given, *of: Given) -> Asked:
        return error_in("field", field) or of_zip(*of)

    def tell(one: Told, field: Given, *_: Given) -> Cell:
        if not isinstance(field, str) or is_empty(field):
            raise BadValueError("field: expected the name of a field; SVC_FIELDS() shows them.")
        return field_cell(field_named(field), Read(one, desk.who, desk.today))

    return each_cell(names, arguments, ask, tell)


def svc_confidence(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """How sure the service is of each rate."""
    return _reading_work(desk, names, arguments, lambda read: field_cell("confidence", read))


def svc_warnings(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """What to know of each rate, or why there is none."""

    def tell(read: Read) -> Cell:
        return sentences(read.told.outcome, read.warnings, read.reasons)

    return _reading_work(desk, names, arguments, tell)


def svc_asof(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """When each answer was given; without arguments the oldest of the session."""
    if _nothing_given(arguments):
        return done(lambda: moment(desk.oldest))

    def tell(read: Read) -> Cell:
        return moment(read.told.outcome.looked_up_at) or error_of(read.told.outcome)

    return _reading_work(desk, names, arguments, tell)


def svc_source(desk: Desk, names: Sequence[str], arguments: Sequence[object]) -> Work:
    """Where each rate comes from; without arguments who answers."""
    if _nothing_given(arguments):
        return done(lambda: desk.who.words)

    def tell(read: Read) -> Cell:
        if read.told.outcome.found is None:
            return error_of(read.told.outcome)
        source, edition = (field_cell(f"lookup_{one}", read) for one in ("source", "edition"))
        return f"{source}, edition {edition}" if edition else source

    return _reading_work(desk, names, arguments, tell)


def _reading_work(
    desk: Desk, names: Sequence[str], arguments: Sequence[object], tell: Callable[[Read], Cell]
) -> Work:
    return each_cell(
        names, arguments, of_zip, lambda one, *_: tell(Read(one, desk.who, desk.today))
    )


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


COMPUTED: Mapping[str, Computed] = {
    "SVC_RATE": _cells(of_zip, _rate),
    "SVC_RATE_ADDRESS": _cells(_of_address, _rate),
    "SVC_RATE_PLACE": _cells(_of_place, _rate),
    "SVC_RATE_GEO": _cells(_of_point, _rate),
    "SVC_TAX": svc_tax,
    "SVC_SUM": svc_sum,
    "SVC_LOOKUP": svc_lookup,
    "SVC_FIELD": svc_field,
    "SVC_CONFIDENCE": svc_confidence,
    "SVC_WARNINGS": svc_warnings,
    "SVC_STATUS": _cells(of_zip, _status),
    "SVC_FIELDS": svc_fields,
    "SVC_ASOF": svc_asof,
    "SVC_SOURCE": svc_source,
    "SVC_NEXUS": svc_nexus,
    "SVC_NEXUS_STATUS": svc_nexus_status,
}
"""What each function of the registry computes."""

_T = TypeVar("_T")
_ARGUMENTS = {
    one.name: (
        tuple(parameter.name for parameter in one.parameters),
        sum(not parameter.optional for parameter in one.parameters),
    )
    for one in FUNCTIONS
}
"""The names of each function's arguments, and how many of them, the first, are needed."""
_log = logging.getLogger(__name__)


class Call(NamedTuple):
    """One formula: the name of its function, and its arguments in the order of the registry.

    Arguments at the end may be missing, which is the same as `OMITTED`.
    """

    name: str
    arguments: tuple[Argument, ...] = ()


def evaluate(desk: Desk, calls: Sequence[Call]) -> list[Result]:
    """What each formula gives: a value, rows of values, or a `CellError`. Raises nothing.

    The places of all of them are asked for in one run, each once.
    """
    works = [_read(desk, call) for call in calls]
    places = dict.fromkeys(
        place for work in works if not isinstance(work, CellError) for place in work.places
    )
    answers = desk.ask(places) if places else {}
    return [
        work if isinstance(work, CellError) else _finished(work, answers, call.name)
        for work, call in zip(works, calls, strict=True)
    ]


def run(desk: Desk, name: str, *arguments: Argument) -> Result:
    """What one formula gives.

    Raises:
        CellError: it has no value.
    """
    (result,) = evaluate(desk, [Call(name, arguments)])
    if isinstance(result, CellError):
        raise result
    return result


def unasked(desk: Desk, call: Call) -> int:
    """For how many places a formula would have to wait; nothing is asked."""
    work = _read(desk, call)
    return 0 if isinstance(work, CellError) else desk.unasked(work.places)


def _read(desk: Desk, call: Call) -> Work | CellError:
    return _guarded(lambda: _works(desk, call), call.name)


def _works(desk: Desk, call: Call) -> Work:
    computed = COMPUTED.get(call.name)
    if computed is None:
        raise BadValueError(f"There is no function {call.name[:40]}.")
    names, needed = _ARGUMENTS[call.name]
    given = tuple(call.arguments)
    if len(given) > len(names):
        raise BadValueError(
            f"{call.name} has {len(names)} arguments at most, not {len(given)}:"
            f" {function(call.name).signature}."
        )
    given += (OMITTED,) * (len(names) - len(given))
    if OMITTED in given[:needed]:
        name = names[given.index(OMITTED)]
        raise BadValueError(f"{name} is left out: {function(call.name).signature}.")
    return computed(desk, names, given)


def _finished(work: Work, answers: Answers, name: str) -> Result:
    return _guarded(lambda: work.finish(answers), name)


def _guarded(compute: Callable[[], _T], name: str) -> _T | CellError:
    try:
        return compute()
    except CellError as error:
        return error
    except Exception as error:  # noqa: BLE001 - a cell shows a sentence, and the log the kind
        _log.error("%s could not be computed: %s", name, type(error).__name__)
        return NotAvailableError(
            f"{name} could not be computed ({type(error).__name__}).", "FAILED"
        )
