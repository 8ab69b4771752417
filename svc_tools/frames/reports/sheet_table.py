"""A table of any length as the rows of a worksheet's XML, block by block.

Rows are made here, column by column and each distinct value once: a hand that writes a workbook
cell by cell takes minutes for a sheet of 400,000 rows and 40 columns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from itertools import repeat
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_tools.frames.reports.cells import Cell, cell_of, cell_xml, is_missing

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

__all__ = ["LINE_HEIGHT", "Column", "column_kind", "column_letters", "rows_xml", "width_of"]

LINE_HEIGHT = 13.5
_BLOCK = 8_192
_REMEMBERED = 65_536
_NARROWEST, _SAMPLE = 7, 400
_CENTS = -2
_OF_NUMBERS = frozenset({"rate", "money", "count"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its header, its cells, and how they are shown.

    Attributes:
        name: the header.
        data: the cells.
        kind: a number format by name: plain, wrapped, rate, money, count, row, date, time or utc.
        widest: characters; what is longer is wrapped in a column of kind `wrapped`, else seen
            when the cell is selected.
        rows: which cells of `data` are shown, by position; all, if none are named.
    """

    name: str
    data: pd.Series
    kind: str
    widest: int = 64
    rows: np.ndarray | None = field(default=None, compare=False)

    @property
    def stands_right(self) -> bool:
        """Whether its cells are numbers, which stand on the right."""
        dtype = self.data.dtype
        numbers = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
        return self.kind in _OF_NUMBERS or (self.kind == "plain" and numbers)

    def block(self, start: int, stop: int) -> pd.Series:
        """The cells from `start` to before `stop`."""
        if self.rows is None:
            return self.data.iloc[start:stop]
        return self.data.iloc[self.rows[start:stop]]

    def __len__(self) -> int:
        """How many cells it shows."""
        return len(self.data if self.rows is None else self.rows)


def column_kind(column: pd.Series) -> str:
    """How a column is shown when nobody says: dates, moments and decimals of two places."""
    dtype = column.dtype
    if isinstance(dtype, pd.ArrowDtype):
        kind = dtype.pyarrow_dtype
        if pa.types.is_decimal(kind):
            return "money" if kind.scale == -_CENTS else "plain"
        if pa.types.is_date(kind):
            return "date"
    if isinstance(dtype, np.dtype) and dtype.kind == "M":
        there = column.dropna()
        return "date" if (there == there.dt.normalize()).all() else "time"
    if isinstance(dtype, pd.CategoricalDtype):
        return _kind_of_values(column.unique().tolist())
    return _kind_of_values(column.tolist()) if pd.api.types.is_object_dtype(dtype) else "plain"


def _kind_of_values(values: Sequence[object]) -> str:
    there = [value for value in values if not is_missing(value)]
    if there and all(_has_cents(value) for value in there):
        return "money"
    moments = [value for value in there if isinstance(value, date)]
    if not moments:
        return "plain"
    timed = any(
        isinstance(value, datetime) and (value.hour, value.minute, value.second) != (0, 0, 0)
        for value in moments
    )
    return "time" if timed else "date"


def _has_cents(value: object) -> bool:
    return isinstance(value, Decimal) and value.as_tuple().exponent == _CENTS


def column_letters(place: int) -> str:
    """The letters of a column counted from 0: A, B, and after Z, AA."""
    letters = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def rows_xml(
    columns: Sequence[Column],
    styles: Mapping[str, tuple[int, int]],
    widths: Sequence[float],
    rows: tuple[int, int],
) -> Iterator[str]:
    """The XML of the rows from the first to before the last, below a header in row 1.

    `styles` gives the number of each kind's format in the file, and that of its twin for a text
    that must stay text.
    """
    painters = [
        _Painter(column, styles[column.kind], int(width))
        for column, width in zip(columns, widths, strict=True)
    ]
    heads = [f'<c r="{column_letters(place)}' for place in range(len(columns))]
    first, last = rows
    for start in range(first, last, _BLOCK):
        stop = min(start + _BLOCK, last)
        numbers = [str(row - first + 2) for row in range(start, stop)]
        pieces: list[Sequence[str] | repeat[str]] = [_openings(painters, numbers, start, stop)]
        for painter, head in zip(painters, heads, strict=True):
            pieces += [repeat(head), numbers, painter.paint(start, stop)]
        pieces.append(repeat("</row>"))
        yield "".join(map("".join, zip(*pieces, strict=False)))


def _openings(
    painters: Sequence[_Painter], numbers: Sequence[str], start: int, stop: int
) -> list[str]:
    """The opening tag of each row; rows with wrapped text are as high as its lines."""
    wrapped = [painter.lines(start, stop) for painter in painters if painter.wraps]
    if not wrapped:
        return [f'<row r="{number}">' for number in numbers]
    return [
        f'<row r="{number}" ht="{LINE_HEIGHT * lines:g}" customHeight="1">'
        if lines > 1  # not every program makes room for wrapped text by itself
        else f'<row r="{number}">'
        for number, lines in zip(numbers, map(max, zip(*wrapped, strict=True)), strict=True)
    ]


class _Painter:
    """The cells of one column in XML; what a value looks like is worked out once."""

    def __init__(self, column: Column, styles: tuple[int, int], width: int) -> None:
        self._column = column
        self._styles = styles
        self._width = width
        self._decimal = _is_decimal(column.data)
        self._alike = not pd.api.types.is_object_dtype(column.data.dtype)
        self._seen: dict[Hashable, str] = {}
        self._lines: dict[Hashable, int] = {}
        self.wraps = column.kind == "wrapped"

    def paint(self, start: int, stop: int) -> list[str]:
        block = self._column.block(start, stop)
        if self._decimal:
            values = pa.array(block.array).cast(pa.string()).to_pylist()
            return [self._remembered(value) for value in values]
        if self._alike:  # 1, 1.0 and True are equal, and not the same
            return [self._remembered(value) for value in block.tolist()]
        return [
            self._remembered(value) if type(value) is str else self._cell(value)
            for value in block.tolist()
        ]

    def _remembered(self, value: Hashable) -> str:
        found = self._seen.get(value)
        if found is None:
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            found = self._seen[value] = self._cell(value)
        return found

    def _cell(self, value: object) -> str:
        if self._decimal and isinstance(value, str):
            return cell_xml(cell_of(Decimal(value)), *self._styles)
        if self._column.kind == "utc" and isinstance(value, datetime):
            return cell_xml(Cell("moment", value), *self._styles)
        return cell_xml(cell_of(value), *self._styles)

    def lines(self, start: int, stop: int) -> list[int]:
        """How many lines each cell takes when it is wrapped."""
        return [self._wrapped(value) for value in self._column.block(start, stop).tolist()]

    def _wrapped(self, value: object) -> int:
        if not isinstance(value, str):
            return 1
        lines = self._lines.get(value)
        if lines is None:
            if len(self._lines) >= _REMEMBERED:
                self._lines.clear()
            lines = self._lines[value] = max(1, len(wrap(value, self._width)))
        return lines


def _is_decimal(column: pd.Series) -> bool:
    dtype = column.dtype
    return isinstance(dtype, pd.ArrowDtype) and pa.types.is_decimal(dtype.pyarrow_dtype)


def width_of(column: Column) -> float:
    """The width that a column needs, in characters, judged by its first cells."""
    shown = [_shown_length(value, column.kind) for value in column.block(0, _SAMPLE).tolist()]
    # the filter button covers the end of the header
    return max(_NARROWEST, min(column.widest, max([len(column.name) + 3, *[n + 1 for n in shown]])))


def _shown_length(value: object, kind: str) -> int:
    if kind == "utc":
        return 23
    form, content = cell_of(value)
    if form == "moment":
        return 19 if kind == "time" else 10
    if form == "number":
        return (
            max(13, len(f"{content:,.2f}")) if kind in {"money", "rate"} else len(f"{content:.15g}")
        )
    return 0 if content is None else len(str(content))
