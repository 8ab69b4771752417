"""What spreadsheets hand over and get back: scalars, rows of cells, and what was left out.

In: an argument is `OMITTED`, a scalar or rows of scalars. A scalar is text, a number, a truth
value, a date, `None` or "" (an empty cell), or an `ErrorCell`; a text such as "#DIV/0!" is an
error, too. Out: text, a number, a truth value, `None` (an empty cell) or a `CellError`, alone or
in rows. Never a Decimal, which COM would cut to four places, and never a date: each host has its
own, and ISO text means the same day in all of them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Literal, TypeAlias

from svc_tools.excel.cell_errors import BadValueError, CellError, NotAvailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "OMITTED",
    "Argument",
    "Cell",
    "DateOf1904",
    "ErrorCell",
    "Given",
    "NumberOf1904",
    "Omitted",
    "Result",
    "Rows",
    "Scalar",
    "Shape",
    "aligned",
    "error_in",
    "is_empty",
    "of_1904",
    "rows_of",
    "scalar",
    "shaped",
]


class Omitted(Enum):
    """The kind of `OMITTED`."""

    OMITTED = "left out"


OMITTED: Literal[Omitted.OMITTED] = Omitted.OMITTED
"""An argument that the formula leaves out; an empty cell is something else."""


@dataclass(frozen=True, slots=True)
class ErrorCell:
    """An error value of the spreadsheet, by the text that it shows: "#DIV/0!"."""

    text: str


class NumberOf1904(float):
    """A number of a workbook that counts dates from 1904: never a day, else like any number."""


class DateOf1904(date):
    """A date cell of such a workbook."""


Scalar: TypeAlias = str | float | bool | date | ErrorCell | None
Given: TypeAlias = Scalar | Literal[Omitted.OMITTED]
"""A cell of an argument, or nothing where the argument is left out."""
Rows: TypeAlias = list[list[Scalar]]
Argument: TypeAlias = Given | Rows
Cell: TypeAlias = str | float | bool | CellError | None
Result: TypeAlias = Cell | list[list[Cell]]
Shape: TypeAlias = tuple[int, int]
"""Rows and columns."""

_ERROR = re.compile(r"#([^\W\d_]\S{1,20}|\u00a1\S{1,20})")
"""How errors begin as text, in any language: #N/A, #WERT!, #PARTIAL. "#5 Main St" is an address."""
_SHOWN = 60
_ONE = (1, 1)
_RANGES = {list, tuple}
_TOO_LARGE = 1e308
"""A spreadsheet's numbers end at 1.8e308."""


def is_empty(value: object) -> bool:
    """Whether a cell holds nothing, or blanks alone, or is left out."""
    return value is None or value is OMITTED or (isinstance(value, str) and not value.strip())


def error_in(named: str, value: object) -> NotAvailableError | None:
    """What a formula shows whose argument is an error itself: that error, in words."""
    if isinstance(value, ErrorCell):
        text = value.text
    elif isinstance(value, str) and value.startswith("#") and _ERROR.match(value):
        text = value
    else:
        return None
    word = _ERROR.match(text)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    message = f"{named}: the cell holds {shown}; mend that cell first."
    return NotAvailableError(message, word[1] if word else "N/A")


def scalar(value: object) -> Scalar:
    """A value of a host as one of ours.

    A Decimal is what COM makes of a cell formatted as currency. Infinity and NaN are errors, and
    what no cell holds as a number.

    Raises:
        BadValueError: it is of a kind that no cell has.
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        value = float(value) if value.is_finite() else math.nan
    if isinstance(value, int | float):
        return value if abs(value) < _TOO_LARGE else ErrorCell("#NUM!")
    if isinstance(value, date | ErrorCell):
        return value
    raise BadValueError(f"A cell cannot hold a value of the kind {type(value).__name__}.")


def of_1904(argument: Argument) -> Argument:
    """An argument of a workbook that counts dates from 1904: `day_in` refuses its numbers."""
    if isinstance(argument, list):
        return [[_of_1904(cell) for cell in row] for row in argument]
    return argument if argument is OMITTED else _of_1904(argument)


def _of_1904(cell: Scalar) -> Scalar:
    if isinstance(cell, date):
        return DateOf1904(cell.year, cell.month, cell.day)
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return NumberOf1904(cell)
    return cell


def rows_of(named: str, argument: object) -> Rows:
    """An argument as rows of cells, a scalar as one of one cell.

    Raises:
        BadValueError: it is neither a scalar nor rows of the same length.
    """
    if not isinstance(argument, list | tuple):
        return [[scalar(argument)]]
    rows = [row if isinstance(row, list | tuple) else None for row in argument]
    width = len(rows[0]) if rows and rows[0] else 0
    if not width or any(row is None or len(row) != width for row in rows):
        raise BadValueError(f"{named}: expected one cell or a range of cells.")
    return [[scalar(cell) for cell in row or ()] for row in rows]


def aligned(
    names: Sequence[str], arguments: Sequence[object]
) -> tuple[Shape, list[tuple[Given, ...]]]:
    """The arguments cell by cell, row after row, and the shape of what comes of them.

    A single cell, or what is left out, goes with every cell of the others; a column with every
    column of a block of as many rows, a row with every row of a block of as many columns.

    Raises:
        BadValueError: the ranges have different shapes.
    """
    if _RANGES.isdisjoint(map(type, arguments)):
        return _ONE, [tuple([one if one is OMITTED else scalar(one) for one in arguments])]
    grids = [
        [[OMITTED]] if one is OMITTED else rows_of(name, one)
        for name, one in zip(names, arguments, strict=True)
    ]
    shapes = [(len(grid), len(grid[0])) for grid in grids]
    height, width = max(rows for rows, _ in shapes), max(columns for _, columns in shapes)
    whole = (height, width)
    for name, shape in zip(names, shapes, strict=True):
        if whole not in shapes or shape[0] not in {1, height} or shape[1] not in {1, width}:
            raise BadValueError(_uneven(names, shapes, name))

    spread = []
    for grid, (rows, columns) in zip(grids, shapes, strict=True):
        lines = grid if rows == height else grid * height
        spread.append(
            [cell for line in lines for cell in (line if columns == width else line * width)]
        )
    return whole, list(zip(*spread, strict=True))


def shaped(shape: Shape, cells: Sequence[Cell]) -> Result:
    """Cells as rows of that shape; a single one as itself."""
    if shape == _ONE:
        return cells[0]
    width = shape[1]
    return [list(cells[at : at + width]) for at in range(0, len(cells), width)]


def _uneven(names: Sequence[str], shapes: Sequence[Shape], name: str) -> str:
    told = ", ".join(
        f"{one} {rows:,} by {columns:,}"
        for one, (rows, columns) in zip(names, shapes, strict=True)
        if (rows, columns) != _ONE
    )
    return f"{name}: the ranges must have the same shape; here they are (rows by columns): {told}."
