"""A workbook being written: sheets laid out by hand, and tables of any length."""

from __future__ import annotations

import re
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

from svc_tools.frames.reports.cells import FORMULA_STARTS, cell_of
from svc_tools.frames.reports.sheet_table import (
    LINE_HEIGHT,
    Column,
    column_letters,
    rows_xml,
    width_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["MOST_COLUMNS", "MOST_ROWS", "Book", "Sheet", "open_book"]

MOST_ROWS = 1_048_575
"""A sheet's rows, less the header."""
MOST_COLUMNS = 16_384
_AS_TEXT = ", as text"
_LETTER, _TABLOID = 1, 3  # paper sizes by their number in the file
_WIDE = 300  # characters: more is too small to read on a letter page
_QUICK = 2  # zlib's level: a third larger than the best, in a fifth of its time
_LARGE = 10_000_000  # cells; from here on the XML of a sheet may pass 2 GiB

_BASE = {"font_name": "Calibri", "font_size": 10, "valign": "top"}
_HEADER = {"bold": True, "bg_color": "#DCE6F1", "bottom": 1, "valign": "vcenter"}
# the blank at the end keeps a number off the text in the next column
_MONEY = {"num_format": "#,##0.00_);[Red]-#,##0.00_)"}
_STRONG = {"bold": True, "top": 1}
_FORMATS: Mapping[str, Mapping[str, object]] = {
    "plain": {},
    "indented": {"align": "left", "indent": 1},
    "wrapped": {"text_wrap": True},
    "wrapped_indented": {"text_wrap": True, "align": "left", "indent": 1},
    "rate": {"num_format": "0.000%_)"},
    "money": _MONEY,
    "row": {"num_format": "0", "align": "center"},
    "count": {"num_format": "#,##0"},
    "date": {"num_format": "yyyy-mm-dd", "align": "left"},
    "time": {"num_format": "yyyy-mm-dd hh:mm:ss", "align": "left"},
    "utc": {"num_format": 'yyyy-mm-dd hh:mm:ss "UTC"', "align": "left"},
    "muted": {"font_color": "#57606A"},
    "title": {"bold": True, "font_size": 16},
    "section": {"bold": True, "font_size": 12},
    "header": _HEADER,
    "header_indented": {**_HEADER, "align": "left", "indent": 1},
    "header_right": {**_HEADER, "align": "right"},
    "header_right_of_filter": {**_HEADER, "align": "right", "indent": 2},  # beside its button
    "strong": _STRONG,
    "strong_money": {**_MONEY, **_STRONG},
    "strong_count": {"num_format": "#,##0", **_STRONG},
}


@dataclass(frozen=True, slots=True)
class _Part:
    """The rows of a table that go on one sheet, still to be written."""

    columns: Sequence[Column]
    widths: Sequence[float]
    rows: tuple[int, int]


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
            if str(content).startswith(FORMULA_STARTS):
                look = self._formats[f"{kind}{_AS_TEXT}"]
            self._sheet.write_string(row, column, content, look)
        elif form == "boolean":
            self._sheet.write_boolean(row, column, content, look)
        elif form == "moment":
            fallback = self._formats["date"]
            self._sheet.write_datetime(row, column, content, look if kind != "plain" else fallback)
        else:
            self._sheet.write_number(row, column, content, look)

    def formula(self, row: int, column: int, formula: str, value: object, kind: str) -> None:
        """Write a formula of ours, with the value that it has; never a text from the data."""
        self._sheet.write_formula(row, column, formula, self._formats[kind], value)

    def paragraph(self, row: int, columns: tuple[int, int], text: str, *, lines: int) -> None:
        """A wrapped text over the columns from the first to the last, `lines` lines high."""
        first, last = columns
        kind = "wrapped_indented" if first else "wrapped"
        self._sheet.merge_range(row, first, row, last, "", self._formats[kind])
        self.put(row, first, text, kind)
        self._sheet.set_row(row, LINE_HEIGHT * lines)

    def widths(self, *widths: float) -> None:
        """Set the widths of the first columns, in characters."""
        for column, width in enumerate(widths):
            self._sheet.set_column(column, column, width)

    def on_paper(self, *, repeated_row: int | None) -> None:
        """Laid out for reading and for print: portrait, one page wide, no grid.

        The row `repeated_row`, if one is named, stands on top of every page that follows it.
        """
        self._sheet.set_portrait()
        self._sheet.set_paper(_LETTER)
        self._sheet.hide_gridlines(2)
        self._on_pages(repeated_row)

    def headed(
        self,
        columns: Sequence[Column],
        widths: Sequence[float],
        rows: int,
        frozen: int,
        printed: int,
    ) -> None:
        """Head a sheet of `rows` rows: header frozen, filter buttons, widths, and its print.

        Row 2 gets an empty cell of each column's format, and of its twin for texts: by them the
        formats are known again in the file.
        """
        self.widths(*widths)
        for place, column in enumerate(columns):
            look = "header_right_of_filter" if column.stands_right else "header"
            self.put(0, place, column.name, look)
            if not column.name:
                self._sheet.write_blank(0, place, None, self._formats["header"])
            for step, mark in enumerate(("", _AS_TEXT)):
                twin = self._formats[f"{column.kind}{mark}"]
                self._sheet.write_blank(1, 2 * place + step, None, twin)
        self._sheet.freeze_panes(1, frozen)
        if columns:
            self._sheet.autofilter(0, 0, rows, len(columns) - 1)
            # a ZIP Code is text on purpose
            self._sheet.ignore_errors({"number_stored_as_text": "A1:XFD1048576"})
            self._sheet.print_area(0, 0, rows, printed - 1)
        self._sheet.set_landscape()
        self._sheet.set_paper(_LETTER if sum(widths[:printed]) < _WIDE else _TABLOID)
        left = len(columns) - printed
        self._on_pages(0, f"; {left} more columns are not printed" if left else "")

    def _on_pages(self, repeated_row: int | None, left_out: str = "") -> None:
        self._sheet.fit_to_pages(1, 0)
        if repeated_row is not None:
            self._sheet.repeat_rows(repeated_row)
        self._sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
        self._sheet.set_footer(f"&L&A{left_out}&RPage &P of &N")


class Book:
    """A workbook being written; long tables come last, when the file is put together."""

    def __init__(self, workbook: Any) -> None:  # noqa: ANN401  # untyped
        """Wrap an XlsxWriter workbook (a package without types)."""
        self._book = workbook
        self._formats = {
            f"{name}{mark}": workbook.add_format({**_BASE, **look, **as_text})
            for name, look in _FORMATS.items()
            for mark, as_text in (("", {}), (_AS_TEXT, {"quote_prefix": True}))
        }
        self.parts: dict[str, _Part] = {}
        """The tables still to be written, by the file of their sheet."""

    def sheet(self, name: str) -> Sheet:
        """Add a worksheet after those there are."""
        return Sheet(self._book.add_worksheet(name), self._formats)

    def table(
        self,
        name: str,
        columns: Sequence[Column],
        rows: int,
        *,
        frozen_columns: int = 0,
        printed: int | None = None,
    ) -> tuple[str, ...]:
        """Add a sheet with a table: header frozen, filter buttons, widths by content.

        What does not fit on one sheet goes on on another: `Lines`, `Lines 2`, … On paper it is one
        page wide, with the header on every page, and shows the first `printed` columns (all, if
        no number is given); the foot of the page says so.

        Returns:
            The names of the sheets.
        """
        printed = len(columns) if printed is None else printed
        widths = [width_of(column) for column in columns]
        names = []
        for number, start in enumerate(range(0, max(rows, 1), MOST_ROWS), start=1):
            stop = min(start + MOST_ROWS, rows)
            names.append(name if number == 1 else f"{name} {number}")
            self.sheet(names[-1]).headed(columns, widths, stop - start, frozen_columns, printed)
            place = len(self._book.worksheets())
            self.parts[f"xl/worksheets/sheet{place}.xml"] = _Part(columns, widths, (start, stop))
        return tuple(names)


@contextmanager
def open_book(path: Path | BinaryIO, *, title: str) -> Iterator[Book]:
    """A new workbook at `path` (or in a binary file), written when the block ends.

    Memory is bounded: the rows of tables go to the file block by block.

    Raises:
        OSError: the file cannot be written.
    """
    from xlsxwriter import Workbook  # noqa: PLC0415  # an optional extra

    # nothing is kept in a temporary folder, nothing in a text becomes a link, number or formula
    frame_of_it = BytesIO()
    workbook = Workbook(
        frame_of_it,
        {
            "in_memory": True,
            "strings_to_formulas": False,
            "strings_to_numbers": False,
            "strings_to_urls": False,
        },
    )
    workbook.set_properties({"title": title})
    book = Book(workbook)
    yield book
    workbook.close()
    with (
        zipfile.ZipFile(frame_of_it) as drawn,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=_QUICK) as whole,
    ):
        for name in drawn.namelist():
            part = book.parts.get(name)
            if part is None:
                whole.writestr(name, drawn.read(name))
            else:
                _write_part(whole, name, drawn.read(name).decode(), part)


_ROW_2 = re.compile(r'<row r="2".*?</row>', re.DOTALL)
_STYLE = re.compile(r' s="(\d+)"')
_DIMENSION = re.compile(r'<dimension ref="[^"]*"/>')


def _write_part(whole: zipfile.ZipFile, name: str, drawn: str, part: _Part) -> None:
    """A sheet with its table: the rows take the place of the empty row 2."""
    first, last = part.rows
    template = _ROW_2.search(drawn)
    numbers = [int(found) for found in _STYLE.findall(template[0])] if template else []
    kinds = [column.kind for column in part.columns]
    styles = dict(zip(kinds, zip(numbers[::2], numbers[1::2], strict=True), strict=True))
    corner = f"{column_letters(max(len(kinds) - 1, 0))}{last - first + 1}"
    drawn = _DIMENSION.sub(f'<dimension ref="A1:{corner}"/>', drawn)
    before, after = _ROW_2.split(drawn) if template else (drawn, "")
    large = (last - first) * len(kinds) > _LARGE
    with whole.open(name, "w", force_zip64=large) as file:
        file.write(before.encode())
        for block in rows_xml(part.columns, styles, part.widths, part.rows):
            file.write(block.encode())
        file.write(after.encode())
