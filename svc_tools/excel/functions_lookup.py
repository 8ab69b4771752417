"""SVC_LOOKUP: the fields of an answer for each row of a range, and SVC_FIELDS, what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from svc_tools.excel.asking import Row, asked
from svc_tools.excel.cell_errors import BadValueError
from svc_tools.excel.fields import FIELDS, Read, field_cell, field_named
from svc_tools.excel.values import OMITTED, error_in, is_empty, rows_of
from svc_tools.excel.work import Told, Work, done, places_of, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Cell, Given, Result, Rows, Scalar
    from svc_tools.excel.work import Answers

__all__ = ["svc_fields", "svc_lookup"]

_HEADINGS = ("state", "zip", "address", "city", "place", "lat", "lng", "as_of")
"""What the columns of SVC_LOOKUP's range may be called."""

_PLAIN = {2: ("state", "zip"), 3: ("state", "zip", "as_of")}
"""What the columns of a range without headings are."""
_EXPECTED = (
    "expected columns of state, ZIP and perhaps day, or columns under headings of"
    f" {', '.join(_HEADINGS)}"
)
_Grid: TypeAlias = "list[list[Cell]]"


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
        from svc_tools.frames.reports.column_words import COLUMN_MEANINGS  # noqa: PLC0415 - loads pandas

        rows: _Grid = [[name, one.form, COLUMN_MEANINGS[name]] for name, one in FIELDS.items()]
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
        return tuple(FIELDS)
    cells = [cell for row in rows_of("fields", wanted) for cell in row if not is_empty(cell)]
    named = [name for cell in cells for name in _names(cell)]
    return tuple(named) or tuple(FIELDS)


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
