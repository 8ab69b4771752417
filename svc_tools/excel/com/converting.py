"""Values and addresses of cells as COM has them, and results as COM can carry them.

COM has traps: an error value arrives as an integer, so that an error that xlwings does not know
would be a number around minus two billion; a Decimal sent out is cut to four places; an integer
beyond 32 bits is refused; a text in an array is refused beyond 255 characters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from svc_tools.excel.values import OMITTED, CellError, ErrorCell, scalar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from svc_tools.excel.values import Argument, Result, Scalar

ComCell = str | float | bool
"""A cell of a result; an empty one is ""."""
ComResult = ComCell | list[list[ComCell]]
TEXT_LIMIT = 32_767
"""The most characters that a cell can hold."""
_LIMIT_IN_ARRAY = 255
_ERRORS_FROM = -2146828288
"""COM sends an error value as this plus its number in VBA."""
_ERRORS = {
    2000: "#NULL!",
    2007: "#DIV/0!",
    2015: "#VALUE!",
    2023: "#REF!",
    2029: "#NAME?",
    2036: "#NUM!",
    2042: "#N/A",
    2043: "#GETTING_DATA",
    2045: "#SPILL!",
    2046: "#CONNECT!",
    2047: "#BLOCKED!",
    2048: "#UNKNOWN!",
    2049: "#FIELD!",
    2050: "#CALC!",
}


def from_com(value: object) -> Argument:
    """An argument as `evaluate` takes it: omitted, one cell, or rows of cells."""
    if value is OMITTED:
        return OMITTED
    if not isinstance(value, list | tuple):
        return scalar_from_com(value)
    rows = [list(row) if isinstance(row, list | tuple) else [row] for row in value]
    if [len(row) for row in rows] == [1]:
        return scalar_from_com(rows[0][0])
    return [[scalar_from_com(cell) for cell in row] for row in rows]


def scalar_from_com(value: object) -> Scalar:
    """One cell; an integer that is an error's code becomes that error.

    Raises:
        BadValueError: it is of a kind that no cell has.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        number = value - _ERRORS_FROM
        if 2000 <= number < 3000:  # noqa: PLR2004 - the range of error numbers
            return ErrorCell(_ERRORS.get(number, f"#ERROR{number}"))
        return float(value)
    return scalar(value)


def to_com(result: Result) -> ComResult:
    """A result as COM carries it: text, float and bool alone, or in rows.

    Raises:
        TypeError: it holds what a cell cannot hold, such as a Decimal.
    """
    if isinstance(result, list):
        return [[_cell(cell, _LIMIT_IN_ARRAY) for cell in row] for row in result]
    return _cell(result, TEXT_LIMIT)


def _cell(value: object, limit: int) -> ComCell:
    if value is None:
        return ""
    if isinstance(value, CellError):
        return cut(value.text, limit)
    if isinstance(value, str):
        return cut(value, limit)
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return float(value)
    raise TypeError(f"a cell of Excel cannot be given a {type(value).__name__}")


def cut(text: str, limit: int) -> str:
    """A text of at most so many characters as Excel counts them (UTF-16), with "…" where cut."""
    data = text.encode("utf-16-le", "replace")
    if len(data) <= 2 * limit:
        return text
    return data[: 2 * (limit - 1)].decode("utf-16-le", "ignore") + "…"


class Area(NamedTuple):
    """A block of cells on a sheet; rows and columns count from 1."""

    row: int
    column: int
    height: int = 1
    width: int = 1

    @classmethod
    def around(cls, areas: Iterable[Area]) -> Area:
        """The smallest block that contains all of them."""
        rows, columns, bottoms, rights = zip(
            *((one.row, one.column, one.row + one.height, one.column + one.width) for one in areas),
            strict=True,
        )
        top, left = min(rows), min(columns)
        return cls(top, left, max(bottoms) - top, max(rights) - left)

    @property
    def address(self) -> str:
        """The address, such as B2 or B2:C9."""
        first = f"{_name(self.column)}{self.row}"
        if (self.height, self.width) == (1, 1):
            return first
        last = f"{_name(self.column + self.width - 1)}{self.row + self.height - 1}"
        return f"{first}:{last}"

    def cells(self) -> Iterator[Area]:
        """Its cells, row after row."""
        for row in range(self.row, self.row + self.height):
            for column in range(self.column, self.column + self.width):
                yield Area(row, column)

    def within(self, other: Area) -> Area | None:
        """The intersection with another block; `None` where they do not overlap."""
        top, left = max(self.row, other.row), max(self.column, other.column)
        bottom = min(self.row + self.height, other.row + other.height)
        right = min(self.column + self.width, other.column + other.width)
        if bottom <= top or right <= left:
            return None
        return Area(top, left, bottom - top, right - left)


def _name(column: int) -> str:
    """The letters of a column."""
    name = ""
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(ord("A") + rest) + name
    return name
