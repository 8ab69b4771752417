"""Values into spreadsheet cells: what kind of cell a value is, and a thin hand that writes it.

Text stays text. A text that a spreadsheet could take for a formula is marked as text in its cell's
format, so that it does not become one when somebody edits the cell. A number keeps all its
digits or is written as text: a cell holds about fifteen.
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Book", "Cell", "Column", "Sheet", "cell_of", "column_kind", "open_book"]

_DIGITS = 15
_LONGEST = 32_767
_LINE_HEIGHT = 13.5
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_AS_TEXT = ", as text"
_FIRST_YEAR = 1900
_NARROWEST, _SAMPLE = 7, 400
_LETTER, _TABLOID = 1, 3  # paper sizes by their number in the file
_WIDE = 300  # characters: more is too small to read on a letter page

_BASE = {"font_name": "Calibri", "font_size": 10, "valign": "top"}
_FORMATS: Mapping[str, Mapping[str, object]] = {
    "plain": {},
    "indented": {"align": "left", "indent": 1},
    "wrapped": {"text_wrap": True},
    "wrapped_indented": {"text_wrap": True, "align": "left", "indent": 1},
    # the blank at the end keeps a number off the text in the next column
    "rate": {"num_format": "0.000%_)"},
    "money": {"num_format": "#,##0.00_);[Red]-#,##0.00_)"},
    "row": {"num_format": "0", "align": "center"},
    "count": {"num_format": "#,##0"},
    "date": {"num_format": "yyyy-mm-dd", "align": "left"},
    "time": {"num_format": "yyyy-mm-dd hh:mm:ss", "align": "left"},
    "title": {"bold": True, "font_size": 16},
    "section": {"bold": True, "font_size": 12},
    "header": {"bold": True, "bg_color": "#DCE6F1", "bottom": 1, "valign": "vcenter"},
    "header_indented": {
        "bold": True,
        "bg_color": "#DCE6F1",
        "bottom": 1,
        "align": "left",
        "indent": 1,
    },
    "header_right": {"bold": True, "bg_color": "#DCE6F1", "bottom": 1, "align": "right"},
    "strong": {"bold": True, "top": 1},
    "strong_money": {"bold": True, "top": 1, "num_format": "#,##0.00_);[Red]-#,##0.00_)"},
    "strong_count": {"bold": True, "top": 1, "num_format": "#,##0"},
}


class Cell(NamedTuple):
    """What goes into a cell: `form` is blank, text, number, boolean or moment."""

    form: str
    value: object


class Column(NamedTuple):
    """A column of a table: its header, its cells, and how they are shown.

    `kind` is a number format by name: plain, wrapped, rate, money, count, row, date or time.
    """

    name: str
    cells: Sequence[object]
    kind: str
    widest: int
    """Characters; what is longer is wrapped in a column of kind `wrapped`, else seen when the cell
    is selected."""


def cell_of(value: object) -> Cell:
    """The cell that holds `value` without changing it; missing gives an empty cell."""
    # one case a line; the order matters: True is an int, a Timestamp is a date
    if _is_missing(value):
        return Cell("blank", None)
    if isinstance(value, bool | np.bool_):
        return Cell("boolean", bool(value))
    if isinstance(value, date):
        return _moment(value)
    if isinstance(value, float | np.floating):
        shortest = repr(float(value))
        return Cell("number", Decimal(shortest)) if np.isfinite(value) else Cell("text", shortest)
    if isinstance(value, Decimal | int | np.integer):
        return _exact_number(value)
    return Cell("text", _fitting(str(value)))


def column_kind(values: Sequence[object]) -> str:
    """How a column is shown when nobody says: dates, moments and decimals of two places."""
    there = [value for value in values if not _is_missing(value)]
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
    return isinstance(value, Decimal) and value.as_tuple().exponent == -2  # noqa: PLR2004  # cents


def _is_missing(value: object) -> bool:
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if isinstance(value, str):
        return not value
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float) and value != value  # noqa: PLR0124  # that is what NaN is


def _exact_number(value: Decimal | int | np.integer[Any]) -> Cell:
    """A number cell, as a decimal: the file then has its own digits, not those of a float."""
    exact = Decimal(str(value))
    if not exact.is_finite() or len(exact.normalize().as_tuple().digits) > _DIGITS:
        return Cell("text", str(value))
    return Cell("number", exact)


def _moment(value: date) -> Cell:
    aware = isinstance(value, datetime) and value.tzinfo is not None
    if aware or value.year < _FIRST_YEAR:
        return Cell("text", value.isoformat())
    if isinstance(value, pd.Timestamp):
        return Cell("moment", value.to_pydatetime(warn=False))
    return Cell("moment", value)


def _fitting(text: str) -> str:
    """Text that a cell can hold: its end is cut, visibly, beyond a cell's 32,767 characters."""
    whole = text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair fits no file
    return whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 12]} … (was cut)"


class Sheet:
    """One worksheet; rows and columns count from 0."""

    def __init__(self, worksheet: Any, formats: Mapping[str, Any]) -> None:  # noqa: ANN401  # untyped
        """Wrap an XlsxWriter worksheet (a package without types)."""
        self._sheet = worksheet
        self._formats = formats

    def put(self, row: int, column: int, value: object, kind: str = "plain") -> None:
        """Write one cell, shown as `kind` (a key of the formats)."""
        form, content = cell_of(value)
        look = self._formats[kind]
        if form == "blank":
            return
        if form == "text":
            if str(content).startswith(_FORMULA_STARTS):
                look = self._formats[f"{kind}{_AS_TEXT}"]
            self._sheet.write_string(row, column, content, look)
        elif form == "boolean":
            self._sheet.write_boolean(row, column, content, look)
        elif form == "moment":
            fallback = self._formats["date"]
            self._sheet.write_datetime(row, column, content, look if kind != "plain" else fallback)
        else:
            self._sheet.write_number(row, column, content, look)

    def paragraph(self, row: int, columns: tuple[int, int], text: str, *, lines: int) -> None:
        """A wrapped text over the columns from the first to the last, `lines` lines high."""
        first, last = columns
        kind = "wrapped_indented" if first else "wrapped"
        self._sheet.merge_range(row, first, row, last, "", self._formats[kind])
        self.put(row, first, text, kind)
        self._sheet.set_row(row, _LINE_HEIGHT * lines)

    def widths(self, *widths: float) -> None:
        """Set the widths of the first columns, in characters."""
        for column, width in enumerate(widths):
            self._sheet.set_column(column, column, width)

    def table(
        self,
        columns: Sequence[Column],
        rows: int,
        *,
        frozen_columns: int = 0,
        printed: int | None = None,
    ) -> None:
        """Fill the sheet with a table: header frozen, filter buttons, widths by content.

        On paper it is one page wide, with the header on every page, and shows the first `printed`
        columns (all, if no number is given); the foot of the page says so.
        """
        printed = len(columns) if printed is None else printed
        widths = [_width(column) for column in columns]
        self.widths(*widths)
        for row, lines in enumerate(_heights(columns, widths), start=1):
            if lines > 1:  # not every program makes room for wrapped text by itself
                self._sheet.set_row(row, _LINE_HEIGHT * lines)
        for place, column in enumerate(columns):
            self._sheet.write_string(0, place, column.name, self._formats["header"])
            for row, value in enumerate(column.cells):
                self.put(row + 1, place, value, column.kind)
        self._sheet.freeze_panes(1, frozen_columns)
        if columns:
            self._sheet.autofilter(0, 0, rows, len(columns) - 1)
            # a ZIP Code is text on purpose
            self._sheet.ignore_errors({"number_stored_as_text": "A1:XFD1048576"})
            self._sheet.print_area(0, 0, rows, printed - 1)
        self._sheet.set_landscape()
        self._sheet.set_paper(_LETTER if sum(widths[:printed]) < _WIDE else _TABLOID)
        left = len(columns) - printed
        self._on_pages(0, f"; {left} more columns are not printed" if left else "")

    def on_paper(self, *, repeated_row: int | None) -> None:
        """Laid out for reading and for print: portrait, one page wide, no grid.

        The row `repeated_row`, if one is named, stands on top of every page that follows it.
        """
        self._sheet.set_portrait()
        self._sheet.set_paper(_LETTER)
        self._sheet.hide_gridlines(2)
        self._on_pages(repeated_row)

    def _on_pages(self, repeated_row: int | None, left_out: str = "") -> None:
        self._sheet.fit_to_pages(1, 0)
        if repeated_row is not None:
            self._sheet.repeat_rows(repeated_row)
        self._sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
        self._sheet.set_footer(f"&L&A{left_out}&RPage &P of &N")


def _width(column: Column) -> float:
    shown = [_shown_length(value, column.kind) for value in column.cells[:_SAMPLE]]
    # the filter button covers the end of the header
    return max(_NARROWEST, min(column.widest, max([len(column.name) + 3, *[n + 1 for n in shown]])))


def _heights(columns: Sequence[Column], widths: Sequence[float]) -> list[int]:
    """How many lines each row takes, from its wrapped cells."""
    wrapped = [
        [_wrapped_lines(value, int(width)) for value in column.cells]
        for column, width in zip(columns, widths, strict=True)
        if column.kind == "wrapped"
    ]
    return [max(lines) for lines in zip(*wrapped, strict=True)]


@lru_cache(maxsize=4096)  # reasons and sources repeat from row to row
def _wrapped_lines(value: object, width: int) -> int:
    form, content = cell_of(value)
    return len(wrap(str(content), width)) if form == "text" else 1


def _shown_length(value: object, kind: str) -> int:
    form, content = cell_of(value)
    if form == "moment":
        return 19 if kind == "time" else 10
    if form == "number":
        return 13 if kind in {"money", "rate"} else len(f"{content:.15g}")
    return 0 if content is None else len(str(content))


class Book:
    """A workbook being written."""

    def __init__(self, workbook: Any) -> None:  # noqa: ANN401  # untyped
        """Wrap an XlsxWriter workbook (a package without types)."""
        self._book = workbook
        self._formats = {
            f"{name}{mark}": workbook.add_format({**_BASE, **look, **as_text})
            for name, look in _FORMATS.items()
            for mark, as_text in (("", {}), (_AS_TEXT, {"quote_prefix": True}))
        }

    def sheet(self, name: str) -> Sheet:
        """Add a worksheet after those there are."""
        return Sheet(self._book.add_worksheet(name), self._formats)


@contextmanager
def open_book(path: Path | BinaryIO, *, title: str) -> Iterator[Book]:
    """A new workbook at `path` (or in a binary file), written when the block ends.

    Raises:
        OSError: the file cannot be written.
    """
    from xlsxwriter import Workbook  # noqa: PLC0415  # an optional extra
    from xlsxwriter.exceptions import FileCreateError  # noqa: PLC0415  # the same

    # nothing is kept in a temporary folder, nothing in a text becomes a link, number or formula
    workbook = Workbook(
        str(path) if isinstance(path, Path) else path,
        {
            "in_memory": True,
            "strings_to_formulas": False,
            "strings_to_numbers": False,
            "strings_to_urls": False,
        },
    )
    workbook.set_properties({"title": title})
    try:
        with workbook:
            yield Book(workbook)
    except FileCreateError as error:
        raise OSError(f"cannot write the workbook: {error}") from error
