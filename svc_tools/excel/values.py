"""Cell values: arguments and results of spreadsheets, read as days and exact amounts.

In: an argument is `OMITTED`, a scalar or rows of scalars. A scalar is text, a number, a truth
value, a date, `None` or "" (an empty cell), or an `ErrorCell`; a text such as "#DIV/0!" is an
error, too. Out: text, a number, a truth value, `None` (an empty cell) or a `CellError`, alone or
in rows. Never a Decimal, which COM would cut to four places, and never a date: each host has its
own, and ISO text means the same day in all of them.

A spreadsheet's number is a float with 15 significant digits: 0.1 + 0.2 is 0.3. An amount is read
that way; what is then within a millionth of a dollar of a whole cent is that cent, as in frames
(100.1 - 100 is 0.0999999999999943 in a cell), and a fraction of a cent is refused, never rounded.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from svc_tools.config import seller_zone
from svc_tools.tables.dates import DateTerms, iso_day, read_one

if TYPE_CHECKING:
    from collections.abc import Sequence


class Omitted(Enum):
    """The type of `OMITTED`."""

    OMITTED = "left out"


OMITTED: Literal[Omitted.OMITTED] = Omitted.OMITTED
"""An argument that the formula leaves out; not the same as an empty cell."""


@dataclass(frozen=True, slots=True)
class ErrorCell:
    """An error value of the spreadsheet, by its text, such as "#DIV/0!"."""

    text: str


Scalar: TypeAlias = str | float | bool | date | ErrorCell | None
GivenCell: TypeAlias = Scalar | Literal[Omitted.OMITTED]
"""A cell of an argument, or nothing where the argument is left out."""
CellRows: TypeAlias = list[list[Scalar]]
Argument: TypeAlias = GivenCell | CellRows


class CellError(Exception):
    """A cell has no value; the message says why, in a sentence.

    - NotAvailableError: there is no result (`#N/A`).
    - BadValueError: an argument cannot be used (`#VALUE!`).

    Attributes:
        message: what was given, what is expected, what to do. Never a key, never a stack trace.
        word: the status, in capitals, for hosts without custom errors: their cells show
            "#WORD message".
    """

    word = "N/A"

    def __init__(self, message: str, word: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.word = word or self.word

    @property
    def text(self) -> str:
        """The error as a text that starts with "#"."""
        return f"#{self.word} {self.message}"


class NotAvailableError(CellError):
    """There is no result: not found, refused, failed, unsupported, or not attempted."""


class BadValueError(CellError):
    """An argument cannot be used."""

    word = "INVALID"


CellValue: TypeAlias = str | float | bool | CellError | None
FormulaResult: TypeAlias = CellValue | list[list[CellValue]]
Shape: TypeAlias = tuple[int, int]
"""Rows and columns."""
PARTIAL = "#PARTIAL"
"""What a cell shows, as text in every host, where the result lacks a part of the rate."""
_SHOWN = 60
_ONE = (1, 1)
_RANGES = {list, tuple}
_TOO_LARGE = 1e308
"""A spreadsheet's numbers end at 1.8e308."""
_ERROR = re.compile(r"#([^\W\d_]\S{1,20}|\u00a1\S{1,20})")
"""Error values as text, in any language: #N/A, #WERT!, #PARTIAL. "#5 Main St" is an address."""


def is_empty(value: object) -> bool:
    """Whether a cell is empty, holds only blanks, or is left out."""
    return value is None or value is OMITTED or (isinstance(value, str) and not value.strip())


def error_in(named: str, value: object) -> NotAvailableError | None:
    """The error to pass on where an argument is itself an error; `None` where it is not."""
    if isinstance(value, ErrorCell):
        text = value.text
    elif isinstance(value, str) and value.startswith("#") and _ERROR.match(value):
        text = value
    else:
        return None
    word = _ERROR.match(text)
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    message = f"{named}: the cell holds {shown}; fix that cell first."
    return NotAvailableError(message, word[1] if word else None)


def text_in_message(cell: object) -> str:
    """A cell in a message: TRUE, 2026-05-01, or at most 40 characters."""
    if isinstance(cell, datetime):
        cell = cell.date()
    return str(cell).upper() if isinstance(cell, bool) else str(cell)[:40]


def pass_on_error(name: str, value: object) -> None:
    """Raise `error_in` of a cell, if it holds one."""
    if (error := error_in(name, value)) is not None:
        raise error


def scalar(value: object) -> Scalar:
    """A value of a host as a `Scalar`.

    COM makes a Decimal of a cell formatted as currency. Infinity, NaN and numbers that no cell can
    hold become errors.

    Raises:
        BadValueError: no cell can hold a value of its type.
    """
    if isinstance(value, Decimal):
        value = float(value) if value.is_finite() else math.nan
    if isinstance(value, int | float):
        return value if abs(value) < _TOO_LARGE else ErrorCell("#NUM!")
    if value is None or isinstance(value, str | date | ErrorCell):
        return value
    raise BadValueError(f"A cell cannot hold a value of the kind {type(value).__name__}.")


def cell_rows(named: str, argument: object) -> CellRows:
    """An argument as rows of cells; a scalar is one row of one cell.

    Raises:
        BadValueError: it is neither a scalar nor rows of the same length.
    """
    if not isinstance(argument, list | tuple):
        return [[scalar(argument)]]
    widths = {len(row) if isinstance(row, list | tuple) else 0 for row in argument}
    if len(widths) != 1 or 0 in widths:
        raise BadValueError(f"{named}: expected one cell or a range of cells.")
    return [[scalar(cell) for cell in row] for row in argument]


def aligned(
    names: Sequence[str], arguments: Sequence[object]
) -> tuple[Shape, list[tuple[GivenCell, ...]]]:
    """The shape of the result, and the arguments for each of its cells, row by row.

    A single cell, or what is left out, goes with every cell of the others; a column with every
    column of a block of as many rows, a row with every row of a block of as many columns.

    Raises:
        BadValueError: the ranges have different shapes.
    """
    if _RANGES.isdisjoint(map(type, arguments)):
        return _ONE, [
            tuple([argument if argument is OMITTED else scalar(argument) for argument in arguments])
        ]
    grids = [
        [[OMITTED]] if argument is OMITTED else cell_rows(name, argument)
        for name, argument in zip(names, arguments, strict=True)
    ]
    shapes = [(len(grid), len(grid[0])) for grid in grids]
    height, width = max(rows for rows, _ in shapes), max(columns for _, columns in shapes)
    whole = (height, width)
    for name, shape in zip(names, shapes, strict=True):
        if whole not in shapes or shape[0] not in {1, height} or shape[1] not in {1, width}:
            sizes = ", ".join(
                f"{name} {rows:,} by {columns:,}"
                for name, (rows, columns) in zip(names, shapes, strict=True)
                if (rows, columns) != _ONE
            )
            raise BadValueError(
                f"{name}: the ranges must have the same shape; here they are (rows by columns):"
                f" {sizes}."
            )
    spread = [
        [cell for line in grid * (height // rows) for cell in line * (width // columns)]
        for grid, (rows, columns) in zip(grids, shapes, strict=True)
    ]
    return whole, list(zip(*spread, strict=True))


def shaped(shape: Shape, cells: Sequence[CellValue]) -> FormulaResult:
    """Cells as rows of that shape; a single cell as a scalar."""
    if shape == _ONE:
        return cells[0]
    width = shape[1]
    return [list(cells[at : at + width]) for at in range(0, len(cells), width)]


_MOST_DOLLARS = 9 * 10**11
"""Amounts below this keep their cents in 15 digits, and their tax fits 64 bits."""
CENTS = 100
_SNAP = Decimal("1e-6")
"""How far, in dollars, an amount may be from the whole cent that it is read as."""


def amount_in_cents(amount: GivenCell) -> int:
    """An amount of dollars in whole cents; as text it may be as usually written: (1,234.50).

    Raises:
        CellError: it is not an amount, or has a fraction of a cent.
    """
    pass_on_error("amount", amount)
    if isinstance(amount, str):
        return _amount_of_text(amount)
    exact = _exact("amount", amount)
    cents = round(exact * CENTS)
    if abs(exact - Decimal(cents) / CENTS) > _SNAP:
        raise BadValueError(
            f"amount: {exact:f} has a fraction of a cent; round it first, with ROUND(..., 2)."
        )
    return cents


@lru_cache(maxsize=16_384)
def _amount_of_text(text: str) -> int:
    from svc_tools.frames.values.money import one_amount  # noqa: PLC0415 - loads pandas

    try:
        cents = one_amount(text, "amount")
    except ValueError as error:
        raise BadValueError(f"{error}.") from None
    _check_size("amount", Decimal(cents) / CENTS)
    return cents


def exact_sum(rows: CellRows) -> float:
    """The exact sum of cells; empty cells count as zero.

    Raises:
        CellError: a cell holds an error, a text, a date or a truth value, which SUM would pass
            over or count; the message names the first one by its row and column.
    """
    total = Decimal(0)
    for number, row in enumerate(rows, 1):
        for place, cell in enumerate(row, 1):
            if is_empty(cell):
                continue
            where = f"row {number}, column {place} of the range"
            pass_on_error(where, cell)
            if isinstance(cell, str):
                raise BadValueError(
                    f'{where}: the cell holds the text "{cell[:40]}", which SUM would pass over;'
                    " make it a number, for instance with VALUE."
                )
            total += _exact(where, cell)
    _check_size("the sum", total)
    return float(total)


def _exact(named: str, cell: GivenCell) -> Decimal:
    """A number at a spreadsheet's 15 significant digits."""
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise BadValueError(f"{named}: the cell holds {text_in_message(cell)}, which is no amount.")
    exact = Decimal(f"{cell:.15g}")
    _check_size(named, exact)
    return exact


def _check_size(named: str, dollars: Decimal) -> None:
    if abs(dollars) >= _MOST_DOLLARS:
        raise BadValueError(
            f"{named}: {dollars:,.15g} is out of range; a spreadsheet keeps the cents of amounts"
            f" below {_MOST_DOLLARS:,}."
        )


FIRST_DAY = date(1899, 12, 30)
"""Day 0 of a spreadsheet, from which days after February 1900 are counted."""
_SERIALS = range(30_000, 70_000)
"""The serial numbers that are read as days: 1982-02-18 to 2091-08-24."""
_WRITTEN = range(19_000_101, 21_000_000)
"""A day as one number, such as 20260501."""
_EXPECTED = "give a date cell, or text such as 2026-05-01"


def refusal_of_1904(workbook: str = "") -> str:
    """Why a date of such a workbook (its name) is refused: it could be read as one years off."""
    return (
        f"{workbook or 'This workbook'} counts dates from 1904; turn that off (Excel: File >"
        " Options > Advanced; Calc: Tools > Options > LibreOffice Calc > Calculate), then enter the"
        " dates again, or write them as text, such as 2026-05-01."
    )


def day_in(value: Scalar) -> date:
    """The day in the cell `as_of`. Text is read by itself, whatever stands in other cells.

    Raises:
        BadValueError: it is empty, no day, or a text that may be two days, such as 03/04/2024.
    """
    if is_empty(value):
        raise BadValueError(
            f"as_of is an empty cell: {_EXPECTED}. Left out of the formula it means today, which"
            " changes with time."
        )
    if isinstance(value, date):
        day: date | None = value.date() if isinstance(value, datetime) else value
        shown = str(day)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        day, shown = _day_of_number(value), f"{value:.15g}"
    else:
        shown = f'"{text_in_message(value)}"'
        day = _day_of_text(str(value).strip().lstrip("'").strip())
    # a date cell with 0 is of 1899
    if day is None or (day - FIRST_DAY).days not in _SERIALS:
        raise BadValueError(f"as_of: {shown} is not a day from 1982 to 2091; {_EXPECTED}.")
    return day


def _day_of_number(value: float) -> date | None:
    """A day by its number in the sheet, whose fraction is the time, or written as 20260501."""
    day = int(value // 1)
    if day in _SERIALS:
        return FIRST_DAY + timedelta(days=day)
    return iso_day(str(day)) if day == value and day in _WRITTEN else None


def _day_of_text(text: str) -> date | None:
    if day := iso_day(text) or _read(text, None):
        return day
    orders = ("year first", "day first", "month first")
    readings = {day: f"{day} ({order})" for order in orders if (day := _read(text, order))}
    if len(readings) > 1:
        either = " or ".join([*readings.values()][:-3:-1])
        raise BadValueError(
            f'as_of: "{text}" may be {either}; write the one that is meant in that form, or give a'
            " date cell."
        )
    return None


def _read(text: str, order: str | None) -> date | None:
    """The day of a text in this order, or in any where it has one meaning."""
    style = DateTerms(order, home=seller_zone() or UTC).style().settled()
    try:
        return read_one(text, style)
    except ValueError:
        return None
