"""What spreadsheets hand over and get back: scalars, rows of cells, and what was left out.

In: an argument is `OMITTED`, a scalar or rows of scalars. A scalar is text, a number, a truth
value, a date, `None` or "" (an empty cell), or an `ErrorCell`; a text such as "#DIV/0!" is an
error, too. Out: text, a number, a truth value, `None` (an empty cell) or a `CellError`, alone or
in rows. Never a Decimal, which COM would cut to four places, and never a date: each host has its
own, and ISO text means the same day in all of them.
"""

# MERGED money: Amounts of cells as exact numbers, and exact results as numbers for cells.
#
# MERGED money: A spreadsheet's number is a float of which 15 digits are meant: 0.1 + 0.2 is 0.3. An amount is read
# MERGED money: so; what is then within a millionth of a dollar of a whole cent is that cent, as in frames (100.1 -
# MERGED money: 100 is 0.0999999999999943 in a cell), and a fraction of a cent is refused, never rounded.
# MERGED dates: The day that a cell means: a date cell, its serial number, or ISO text. Pure.
# MERGED cell_errors: What a cell shows where there is no value: typed errors that every adapter words its own way.
# MERGED accepting: Whether a service takes a key, found out without a billed request.

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias

from svc_sdk import ForbiddenError, SvcError, _requests, _responses
from svc_tools.lookup.outcomes import is_foreign
from svc_tools.nexus.service import ABSENT
from svc_tools.places import day_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_sdk import Svc
    from svc_sdk._responses import Read


class Omitted(Enum):
    """The kind of `OMITTED`."""

    OMITTED = "left out"


OMITTED: Literal[Omitted.OMITTED] = Omitted.OMITTED
"""An argument that the formula leaves out; an empty cell is something else."""


@dataclass(frozen=True, slots=True)
class ErrorCell:
    """An error value of the spreadsheet, by the text that it shows: "#DIV/0!"."""

    text: str


Scalar: TypeAlias = str | float | bool | date | ErrorCell | None
Given: TypeAlias = Scalar | Literal[Omitted.OMITTED]
"""A cell of an argument, or nothing where the argument is left out."""
Rows: TypeAlias = list[list[Scalar]]
Argument: TypeAlias = Given | Rows


class CellError(Exception):
    """A cell has no value; the message says why, in a sentence.

    - NotAvailableError: there is no answer (`#N/A`).
    - BadValueError: what was given cannot be used (`#VALUE!`).

    Attributes:
        message: what was given, what is expected, what to do. Never a key, never a stack trace.
        word: the status behind it, in capitals, for spreadsheets that know no errors of ours: their
            cells show "#WORD message".
    """

    def __init__(self, message: str, word: str) -> None:
        super().__init__(message)
        self.message = message
        self.word = word

    @property
    def text(self) -> str:
        """The error as a text that starts with "#"."""
        return f"#{self.word} {self.message}"


Cell: TypeAlias = str | float | bool | CellError | None
Result: TypeAlias = Cell | list[list[Cell]]
Shape: TypeAlias = tuple[int, int]
"""Rows and columns."""
_SHOWN = 60
_ONE = (1, 1)
_RANGES = {list, tuple}
_TOO_LARGE = 1e308
"""A spreadsheet's numbers end at 1.8e308."""

MOST_DOLLARS = 9 * 10**11
"""Amounts below this keep their cents in 15 digits, and their tax fits 64 bits."""
_CENTS = 100
_TEXT_SHOWN = 40

FROM_1904 = (
    "This workbook counts dates from 1904; turn that off (Excel: File > Options > Advanced; Calc:"
    " Tools > Options > LibreOffice Calc > Calculate), then enter the dates again, or write them as"
    " text, such as 2026-05-01."
)
"""Why a date of such a workbook is refused: it could be read as one four years off."""
_EXPECTED = "give a date cell, or text such as 2026-05-01"

PARTIAL = "#PARTIAL"
"""What a cell shows, as text in every spreadsheet, where an answer lacks a part of the rate."""


class NumberOf1904(float):
    """A number of a workbook that counts dates from 1904: never a day, else like any number."""


class DateOf1904(date):
    """A date cell of such a workbook."""


_ERROR = re.compile(r"#([^\W\d_]\S{1,20}|\u00a1\S{1,20})")
"""How errors begin as text, in any language: #N/A, #WERT!, #PARTIAL. "#5 Main St" is an address."""


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


_SNAP = Decimal("1e-6")
"""How far from a whole cent, in dollars, an amount may lie and still be meant as that cent."""


def cents_of(amount: Given) -> int:
    """An amount of dollars in whole cents.

    Text is understood as people write amounts: $1,234.50, (15.00).

    Raises:
        CellError: it is no amount, an error, or has a fraction of a cent.
    """
    if (error := error_in("amount", amount)) is not None:
        raise error
    if isinstance(amount, str):
        return _amount_of_text(amount)
    exact = _exact("amount", amount)
    cents = round(exact * _CENTS)
    if abs(exact - Decimal(cents) / _CENTS) > _SNAP:
        raise BadValueError(
            f"amount: {exact:f} has a fraction of a cent; round it first, with ROUND(..., 2)."
        )
    return cents


@lru_cache(maxsize=16_384)
def _amount_of_text(text: str) -> int:
    from svc_tools.frames.money import one_amount  # noqa: PLC0415 - loads pandas

    try:
        cents = one_amount(text, "amount")
    except ValueError as error:
        raise BadValueError(f"{error}.") from None
    _check_size("amount", Decimal(cents) / _CENTS)
    return cents


def dollars_cell(cents: int) -> float:
    """Whole cents as a number of dollars: the float nearest to the exact amount."""
    return cents / _CENTS


def exact_sum(rows: Rows) -> float:
    """The sum of cells, exact; empty cells count as nothing.

    Raises:
        CellError: a cell holds an error, a text, a date or a truth value, which SUM would pass
            over or count; the message names the first one by its row and column.
    """
    total = Decimal(0)
    for number, row in enumerate(rows, 1):
        for place, cell in enumerate(row, 1):
            if not is_empty(cell):
                total += _summand(f"row {number}, column {place} of the range", cell)
    _check_size("the sum", total)
    return float(total)


def _summand(where: str, cell: Scalar) -> Decimal:
    if (error := error_in(where, cell)) is not None:
        raise error
    if isinstance(cell, str):
        raise BadValueError(
            f'{where}: the cell holds the text "{cell[:_TEXT_SHOWN]}", which SUM would pass over; make'
            " it a number, for instance with VALUE."
        )
    return _exact(where, cell)


def _exact(named: str, cell: Given) -> Decimal:
    """A number at the 15 significant digits that a spreadsheet means."""
    if isinstance(cell, bool | date) or not isinstance(cell, int | float):
        shown = str(cell).upper() if isinstance(cell, bool) else str(cell)[:_TEXT_SHOWN]
        raise BadValueError(f"{named}: the cell holds {shown}, which is no amount.")
    exact = Decimal(cell) if isinstance(cell, int) else Decimal(f"{cell:.15g}")
    _check_size(named, exact)
    return exact


def _check_size(named: str, dollars: Decimal) -> None:
    if abs(dollars) >= MOST_DOLLARS:
        raise BadValueError(
            f"{named}: {dollars:,f} is out of range; a spreadsheet keeps the cents of amounts below"
            f" {MOST_DOLLARS:,}."
        )


FIRST_DAY = date(1899, 12, 30)
"""Day 0 of a spreadsheet, as all its days after February 1900 count."""
_SERIALS = range(30_000, 70_000)
"""The serial numbers that are taken for days: 1982-02-18 to 2091-08-24."""
_WRITTEN = range(19_000_101, 21_000_000)
"""A day written as one number: 20260501."""
_TWO_MEANINGS = re.compile(r"[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}")


def day_in(value: Scalar) -> date:
    """The day in the cell `as_of`.

    Raises:
        BadValueError: it is empty or no day, or the workbook counts dates from 1904. Text must be
            ISO: 03/04/2024 has two meanings.
    """
    if isinstance(value, DateOf1904 | NumberOf1904):
        raise BadValueError(FROM_1904)
    if is_empty(value):
        raise BadValueError(
            f"as_of is an empty cell: {_EXPECTED}. Left out of the formula it means today, which"
            " changes with time."
        )
    if isinstance(value, date):
        return _in_range(value.date() if isinstance(value, datetime) else value)
    if isinstance(value, bool):
        raise BadValueError(f"as_of: {str(value).upper()} is not a day; {_EXPECTED}.")
    if isinstance(value, int | float):
        return _of_number(value)
    return _day_of_text(str(value))


def _of_number(value: float) -> date:
    day = int(value // 1)  # what stands behind the point is the time of the day
    if day in _SERIALS:
        return FIRST_DAY + timedelta(days=day)
    if day == value and day in _WRITTEN and (found := _iso(str(day))):
        return _in_range(found)
    raise BadValueError(
        f"as_of: {value:.15g} is not the number of a day from 1982 to 2091; {_EXPECTED}."
    )


def _in_range(day: date) -> date:
    """A day that a sale can have; the date cell of an empty one is of 1899."""
    if (day - FIRST_DAY).days not in _SERIALS:
        raise BadValueError(f"as_of: {day} is not a day from 1982 to 2091; {_EXPECTED}.")
    return day


def _day_of_text(text: str) -> date:
    shown = text.strip().lstrip("'").strip()
    if found := _iso(shown):
        return _in_range(found)
    why = "may mean two days" if _TWO_MEANINGS.match(shown) else "is not a date in ISO form"
    raise BadValueError(f'as_of: "{shown[:_TEXT_SHOWN]}" {why}; {_EXPECTED}.')


def _iso(text: str) -> date | None:
    try:
        return day_of(text)
    except ValueError:
        return None


class NotAvailableError(CellError):
    """There is no answer: not found, refused, failed, elsewhere, or not asked for."""

    def __init__(self, message: str, word: str = "N/A") -> None:
        super().__init__(message, word)


class BadValueError(CellError):
    """An argument cannot be used as it was given."""

    def __init__(self, message: str, word: str = "INVALID") -> None:
        super().__init__(message, word)


def accepted(client: Svc) -> None:
    """Return where the service is there and takes the client's key; nothing is changed or billed.

    The nexus records of one state are listed, once and without retries, as a person waits. A
    service that lists none (404, 405: WIRE) is asked for its health; one whose plan lacks nexus
    (403) has accepted the key.

    Raises:
        SvcError: the service does not take the key, or does not answer as it should.
    """
    try:
        _once(client, _requests.list_nexus("TX", None), _responses.nexus_list)
    except SvcError as error:
        if isinstance(error, ForbiddenError) and not is_foreign(error):
            return
        if error.status_code not in ABSENT:
            raise
        _once(client, _requests.HEALTH, _responses.health)


def _once(client: Svc, call: _requests.Call, read: Read[object]) -> None:
    try:
        read(client._exchange(call), 1)  # noqa: SLF001 - sent once: the methods try again
    except SvcError as error:
        settings = client._settings  # noqa: SLF001 - it alone knows what is to be hidden
        raise settings.hide_in(error).with_traceback(None) from None
