"""Workbooks: sheets laid out cell by cell, and tables of any length.

XlsxWriter writes the sheets that are laid out. The rows of tables are written here as the sheets'
XML, column by column and each distinct text once: cell by cell, a sheet of 400,000 rows takes many
times as long.

Text stays text: one that a spreadsheet could take for a formula is marked as text in its cell's
format, so that it does not become one when somebody edits the cell. A number keeps all its digits
(a cell has about fifteen) or is written as text.
"""

from __future__ import annotations

import re
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import lru_cache
from io import BytesIO
from textwrap import wrap
from traceback import clear_frames
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import infer_dtype

from svc_tools.frames.values.arrow import bytes_of, scaled
from svc_tools.tables.csv_files import FORMULA_STARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import TypeAlias

    Values: TypeAlias = list[Any] | pa.Array | pa.ChunkedArray
    Looks: TypeAlias = Mapping[str, Mapping[str, object]]

MOST_ROWS = 1_048_575
"""A sheet's rows, less the header."""
MOST_COLUMNS = 16_384
_QUICK = 2  # zlib's level: a third larger than the best, in a fifth of its time
_LARGE = 10_000_000  # cells; from here on the XML of a sheet may pass 2 GiB


@contextmanager
def open_book(path: Path | BinaryIO, *, title: str) -> Iterator[Book]:
    """A new workbook at `path` (or in a binary file), written when the block ends.

    Memory is bounded: the rows of tables go to the file block by block.

    Raises:
        OSError: the file cannot be written.
    """
    template = BytesIO()
    book = Book(template, title=title)
    yield book
    book.close()
    with (
        zipfile.ZipFile(template) as drawn,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=_QUICK) as whole,
    ):
        for name in drawn.namelist():
            table = book.tables.get(name)
            if table is None:
                whole.writestr(name, drawn.read(name))
                continue
            with whole.open(name, "w", force_zip64=table.cells > _LARGE) as file:
                for part in table.xml(drawn.read(name).decode()):
                    file.write(part)


class Head(NamedTuple):
    """The head of a table's column.

    Attributes:
        name: the header.
        kind: how its cells are shown: a key of the formats, or a number format such as `0.000`.
        width: characters.
        right: whether its cells are numbers, which are aligned right.
    """

    name: str
    kind: str
    width: float
    right: bool = False


class Book:
    """A workbook being written; `own` is XlsxWriter's, a package without types.

    Tables come last, when the file is put together: `tables` has them by the file of their sheet.
    """

    def __init__(self, file: BinaryIO, looks: Looks | None = None, **properties: object) -> None:
        """Begin a workbook; `looks` are the formats of its cells, by default those of reports."""
        from xlsxwriter import Workbook  # noqa: PLC0415  # an optional extra

        # nothing goes to a temporary folder, no text becomes a link, number or formula
        options = ("strings_to_formulas", "strings_to_numbers", "strings_to_urls")
        self.own: Any = Workbook(file, {"in_memory": True, **dict.fromkeys(options, False)})
        self.own.set_properties(properties)
        self._looks = looks or _FORMATS
        self._formats: dict[str, Any] = {}
        self.tables: dict[str, _TableXml] = {}

    def close(self) -> None:
        """Have XlsxWriter put its workbook together; one that ends early is closed, too.

        XlsxWriter leaves its archive to the garbage collector where it ends early, which may take
        the file below it first.
        """
        try:
            self.own.close()
        except BaseException as error:
            clear_frames(error.__traceback__)  # the archive is a variable there, and closes itself
            raise

    def sheet(self, name: str) -> Sheet:
        """Add a worksheet at the end."""
        return Sheet(self.own.add_worksheet(name), self.format)

    def format(self, kind: str) -> Any:  # noqa: ANN401  # untyped
        """The format of cells of this kind."""
        if kind not in self._formats:
            name = kind.removesuffix(_AS_TEXT)
            # a report may name any format of numbers; a look that a sheet lacks is an error
            is_number = self._looks is _FORMATS and name not in _FORMATS
            look = {**_BASE, "num_format": name} if is_number else self._looks[name]
            as_text = {} if kind == name else {"quote_prefix": True}
            self._formats[kind] = self.own.add_format({**look, **as_text})
        return self._formats[kind]

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

        Rows that do not fit on a sheet continue on the next one: `Lines`, `Lines 2`, … On paper it
        is one page wide, with the header on every page, and shows the first `printed` columns (by
        default all); the footer says how many are left out.

        Returns:
            The names of the sheets.
        """
        heads = [
            Head(column.name, column.kind, _width_of(column), column.stands_right)
            for column in columns
        ]
        names = []
        for number, start in enumerate(range(0, max(rows, 1), MOST_ROWS), start=1):
            stop = min(start + MOST_ROWS, rows)
            names.append(name if number == 1 else f"{name} {number}")
            blocks = _blocks(columns, start, stop)
            self.rows(
                names[-1], heads, stop - start, blocks, frozen=frozen_columns, printed=printed
            )
        return tuple(names)

    def rows(
        self,
        name: str,
        heads: Sequence[Head],
        rows: int,
        blocks: Iterable[Sequence[Values]],
        *,
        frozen: int = 0,
        printed: int | None = None,
    ) -> None:
        """Add a sheet with a table of `rows` rows, given in blocks of columns of values."""
        self.sheet(name).headed(heads, rows, frozen, len(heads) if printed is None else printed)
        place = len(self.own.worksheets())
        self.tables[f"xl/worksheets/sheet{place}.xml"] = _TableXml(heads, rows, blocks)


_BLOCK = 8_192


def _blocks(columns: Sequence[Column], start: int, stop: int) -> Iterator[list[Values]]:
    for first in range(start, stop, _BLOCK):
        yield [column.values(first, min(first + _BLOCK, stop)) for column in columns]


_LINE_HEIGHT = 13.5
_LETTER, _TABLOID = 1, 3  # paper sizes by their number in the file
_WIDE = 300  # characters: more is too small to read on a letter page


class Sheet:
    """One worksheet, `own` being XlsxWriter's; rows and columns count from 0."""

    def __init__(self, worksheet: Any, formats: Callable[[str], Any]) -> None:  # noqa: ANN401  # untyped
        """Wrap an XlsxWriter worksheet (a package without types)."""
        self.own = worksheet
        self.format = formats

    def put(self, row: int, column: int, value: object, kind: str = "plain") -> None:
        """Write one cell, shown as `kind` (a key of the formats)."""
        form, content = cell_of(value)
        look = self.format(kind)
        if form == "blank":
            return
        if form == "text":
            if str(content).startswith(FORMULA_STARTS):
                look = self.format(f"{kind}{_AS_TEXT}")
            self.own.write_string(row, column, content, look)
        elif form == "boolean":
            self.own.write_boolean(row, column, content, look)
        elif form == "moment":
            look = self.format("date") if kind == "plain" else look
            self.own.write_datetime(row, column, content, look)
        else:
            self.own.write_number(row, column, content, look)

    def link(self, row: int, column: int, text: str, url: str) -> None:
        """Write a text that leads to a web address; never an address from the data."""
        self.own.write_url(row, column, url, self.format("link"), text)

    def formula(self, row: int, column: int, formula: str, value: object, kind: str) -> None:
        """Write a formula with its value; never a text from the data."""
        self.own.write_formula(row, column, formula, self.format(kind), value)

    def paragraph(self, row: int, columns: tuple[int, int], text: str, *, lines: int) -> None:
        """Write a wrapped text over the columns from first to last, `lines` lines high."""
        first, last = columns
        kind = "wrapped_indented" if first else "wrapped"
        self.own.merge_range(row, first, row, last, "", self.format(kind))
        self.put(row, first, text, kind)
        self.own.set_row(row, _LINE_HEIGHT * lines)

    def widths(self, *widths: float) -> None:
        """Set the widths of the first columns, in characters."""
        for column, width in enumerate(widths):
            self.own.set_column(column, column, width)

    def on_paper(self, *, repeated_row: int | None) -> None:
        """Lay the sheet out for reading and for print: portrait, one page wide, no grid.

        The row `repeated_row`, if any, is repeated at the top of the following pages.
        """
        self.own.set_portrait()
        self.own.set_paper(_LETTER)
        self.own.hide_gridlines(2)
        self._on_pages(repeated_row)

    def headed(self, heads: Sequence[Head], rows: int, frozen: int, printed: int) -> None:
        """Write the header of a sheet of `rows` rows: frozen, filter buttons, widths, print setup.

        Row 2 gets an empty cell of each format, from which `_TableXml` reads their numbers.
        """
        self.widths(*(head.width for head in heads))
        for place, head in enumerate(heads):
            look = "header_right_of_filter" if head.right else "header"
            self.put(0, place, head.name, look)
            if not head.name:
                self.own.write_blank(0, place, None, self.format("header"))
        for place, kind in enumerate(_kinds_of(heads)):
            self.own.write_blank(1, place, None, self.format(kind))
        self.own.freeze_panes(1, frozen)
        if heads:
            self.own.autofilter(0, 0, rows, len(heads) - 1)
            # a ZIP Code is text on purpose
            self.own.ignore_errors({"number_stored_as_text": "A1:XFD1048576"})
            self.own.print_area(0, 0, rows, printed - 1)
        self.own.set_landscape()
        wide = sum(head.width for head in heads[:printed])
        self.own.set_paper(_LETTER if wide < _WIDE else _TABLOID)
        left = len(heads) - printed
        self._on_pages(0, f"; {left} more columns are not printed" if left else "")

    def _on_pages(self, repeated_row: int | None, left_out: str = "") -> None:
        self.own.fit_to_pages(1, 0)
        if repeated_row is not None:
            self.own.repeat_rows(repeated_row)
        self.own.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
        self.own.set_footer(f"&L&A{left_out}&RPage &P of &N")


def _kinds_of(heads: Sequence[Head]) -> list[str]:
    """The kinds of cells in a table, each also for texts that must stay text."""
    kinds = dict.fromkeys([*(head.kind for head in heads), "date", "time"])
    return [f"{kind}{mark}" for kind in kinds for mark in ("", _AS_TEXT)]


_AS_TEXT = ", as text"
_BASE = {"font_name": "Calibri", "font_size": 10, "valign": "top"}
_HEADER = {"bold": True, "bg_color": "#DCE6F1", "bottom": 1, "valign": "vcenter"}
# the blank at the end keeps a number off the text in the next column
_MONEY = {"num_format": "#,##0.00_);[Red]-#,##0.00_)"}
_STRONG = {"bold": True, "top": 1}
_LOOKS: Looks = {
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
    "link": {"font_color": "#0563C1", "underline": 1, "align": "left", "indent": 1},
    "title": {"bold": True, "font_size": 16},
    "section": {"bold": True, "font_size": 12},
    "header": _HEADER,
    "header_indented": {**_HEADER, "align": "left", "indent": 1},
    "header_right": {**_HEADER, "align": "right"},
    "header_right_of_filter": {**_HEADER, "align": "right", "indent": 2},  # next to its button
    "strong": _STRONG,
    "strong_money": {**_MONEY, **_STRONG},
    "strong_count": {"num_format": "#,##0", **_STRONG},
}
_FORMATS = {kind: {**_BASE, **look} for kind, look in _LOOKS.items()}


_OF_NUMBERS = frozenset({"rate", "money", "count"})


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its header, its cells, and how they are shown.

    Attributes:
        name: the header.
        data: the cells.
        kind: a number format by name: plain, wrapped, rate, money, count, row, date, time or utc.
        widest: characters; longer text is wrapped in a column of kind `wrapped`, otherwise visible
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
        """Whether its cells are numbers, which are aligned right."""
        dtype = self.data.dtype
        numbers = pd.api.types.is_numeric_dtype(dtype) and not pd.api.types.is_bool_dtype(dtype)
        return self.kind in _OF_NUMBERS or (self.kind == "plain" and numbers)

    def block(self, start: int, stop: int) -> pd.Series:
        """The cells from `start` to before `stop`."""
        if self.rows is None:
            return self.data.iloc[start:stop]
        return self.data.iloc[self.rows[start:stop]]

    def values(self, start: int, stop: int) -> Values:
        """The same in Arrow where they are of one type, else as values of Python."""
        block = self.block(start, stop)
        if isinstance(block.dtype, pd.CategoricalDtype):
            codes, values = pd.factorize(block)
            if infer_dtype(values, skipna=False) == "string":
                numbers = pa.array(codes, mask=codes < 0)
                return pa.DictionaryArray.from_arrays(numbers, pa.array(values.tolist(), _TEXT))
        if isinstance(block.dtype, pd.ArrowDtype | pd.StringDtype | pd.BooleanDtype):
            return pa.array(block.array)
        if isinstance(block.dtype, np.dtype) and block.dtype.kind in "biufM":
            return pa.array(block.to_numpy())
        return block.tolist()


def column_kind(column: pd.Series) -> str:
    """The default kind of a column: dates, times, and decimals of two places are recognized."""
    dtype = column.dtype
    if isinstance(dtype, pd.ArrowDtype):
        kind = dtype.pyarrow_dtype
        if pa.types.is_decimal(kind):
            return "money" if kind.scale == -_CENTS else "plain"
        if pa.types.is_date(kind):
            return "date"
    if isinstance(dtype, np.dtype) and dtype.kind == "M":
        times = column.dropna()
        return "date" if (times == times.dt.normalize()).all() else "time"
    if isinstance(dtype, pd.CategoricalDtype):
        return _kind_of_values(column.unique().tolist())
    return _kind_of_values(column.tolist()) if pd.api.types.is_object_dtype(dtype) else "plain"


def _kind_of_values(values: Sequence[object]) -> str:
    present = [value for value in values if not is_missing(value)]
    if present and all(_has_cents(value) for value in present):
        return "money"
    moments = [value for value in present if isinstance(value, date)]
    if not moments:
        return "plain"
    timed = any(
        isinstance(value, datetime) and (value.hour, value.minute, value.second) != (0, 0, 0)
        for value in moments
    )
    return "time" if timed else "date"


_CENTS = -2


def _has_cents(value: object) -> bool:
    return isinstance(value, Decimal) and value.as_tuple().exponent == _CENTS


def column_letters(place: int) -> str:
    """The letters of a column counted from 0: A, B, and after Z, AA."""
    from xlsxwriter.utility import xl_col_to_name  # noqa: PLC0415  # an optional extra

    return str(xl_col_to_name(place))


_NARROWEST, _SAMPLE = 7, 400


def _width_of(column: Column) -> float:
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


_ROW_2 = re.compile(r'<row r="2".*?</row>', re.DOTALL)
_STYLE = re.compile(r' s="(\d+)"')
_DIMENSION = re.compile(r'<dimension ref="[^"]*"/>')


class _TableXml:
    """The XML of a sheet with a table, whose rows replace the empty row 2."""

    def __init__(
        self, heads: Sequence[Head], rows: int, blocks: Iterable[Sequence[Values]]
    ) -> None:
        self._heads, self._rows, self._blocks = heads, rows, blocks
        self.cells = rows * len(heads)

    def xml(self, drawn: str) -> Iterator[bytes]:
        """The sheet in pieces, from what XlsxWriter made of its header."""
        row_2 = _ROW_2.search(drawn)
        numbers = _STYLE.findall(row_2[0]) if row_2 else []
        styles = dict(zip(_kinds_of(self._heads), numbers, strict=True))
        corner = f"{column_letters(max(len(self._heads) - 1, 0))}{self._rows + 1}"
        drawn = _DIMENSION.sub(f'<dimension ref="A1:{corner}"/>', drawn)
        before, after = _ROW_2.split(drawn) if row_2 else (drawn, "")
        yield before.encode()
        painters = [_Painter(head, styles) for head in self._heads]
        starts = [_text(f'<c r="{column_letters(place)}') for place in range(len(painters))]
        first = 2
        for columns in (list(map(_whole, block)) for block in self._blocks):
            count = len(columns[0]) if columns else 0
            numbered = pa.array(range(first, first + count), pa.int64()).cast(_TEXT)
            pieces = [_openings(painters, columns, numbered)]
            for painter, start, values in zip(painters, starts, columns, strict=True):
                pieces += [start, numbered, painter.paint(values)]
            yield bytes_of(_joined(*pieces, _text("</row>")))
            first += count
        yield after.encode()


_TEXT = pa.large_string()


def _whole(values: Values) -> list[Any] | pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _text(text: str | None) -> pa.Scalar:
    return pa.scalar(text, _TEXT)


def _joined(*pieces: pa.Array | pa.Scalar) -> pa.Array:
    """The pieces of each row, one behind the other."""
    return pc.binary_join_element_wise(*pieces, _text(""))


def _openings(
    painters: Sequence[_Painter], columns: Sequence[list[Any] | pa.Array], numbers: pa.Array
) -> pa.Array:
    """The opening tag of each row; rows with wrapped text get the height of its lines."""
    wrapped = [
        painter.lines(values)
        for painter, values in zip(painters, columns, strict=True)
        if painter.wraps
    ]
    if not wrapped:
        return _joined(_text('<row r="'), numbers, _text('">'))
    lines = np.maximum.reduce(wrapped)
    ends = [
        f'" ht="{_LINE_HEIGHT * height:g}" customHeight="1">'
        if height > 1  # not every program makes room for wrapped text by itself
        else '">'
        for height in range(int(lines.max(initial=1)) + 1)
    ]
    return _joined(_text('<row r="'), numbers, pa.array(ends, _TEXT).take(pa.array(lines)))


_REMEMBERED = 65_536


class _Painter:
    """The cells of one column in XML: numbers in bulk, each distinct text or date once."""

    def __init__(self, head: Head, styles: Mapping[str, str]) -> None:
        self._head, self._styles = head, styles
        self._remembered = lru_cache(_REMEMBERED)(self._cell)
        self.wraps = head.kind == "wrapped"

    def paint(self, values: list[Any] | pa.Array) -> pa.Array:
        """The XML of each cell after its reference."""
        if isinstance(values, list):
            # 1, 1.0 and True are equal, but not written alike
            return _texts(
                self._remembered(value) if type(value) is str else self._cell(value)
                for value in values
            )
        if (digits := _digits_of(values)) is not None:
            style = self._styles[self._head.kind]
            painted = _joined(_text(f'" s="{style}"><v>'), digits, _text("</v></c>"))
            return self._with_rest(painted, values)
        numbers, distinct = _distinct(values)
        if pa.types.is_large_string(distinct.type):
            start = f'" s="{self._styles[self._head.kind]}" t="inlineStr"><is><t>'
            painted = _joined(_text(start), _plain(distinct), _text("</t></is></c>"))
            return self._with_rest(painted, distinct).take(numbers)
        return _texts(map(self._cell, distinct.to_pylist())).take(numbers)

    def _with_rest(self, painted: pa.Array, values: pa.Array) -> pa.Array:
        """The cells, those that could not be painted in bulk painted one by one."""
        if not painted.null_count:
            return painted
        rest = painted.is_null()
        cells = (
            self._remembered(value) if type(value) is str else self._cell(value)
            for value in values.filter(rest).to_pylist()
        )
        return pc.replace_with_mask(painted, rest, _texts(cells))

    def _cell(self, value: object) -> str:
        kind = self._head.kind
        if kind == "utc" and isinstance(value, datetime) and not is_missing(value):
            cell = Cell("moment", value)
        else:
            cell = cell_of(value)
        if cell.form == "moment" and kind == "plain":
            midnight = not isinstance(cell.value, datetime) or cell.value.time() == time()
            kind = "date" if midnight else "time"
        return _cell_xml(cell, self._styles[kind], self._styles[f"{kind}{_AS_TEXT}"])

    def lines(self, values: list[Any] | pa.Array) -> np.ndarray:
        """How many lines each cell takes when it is wrapped."""
        if isinstance(values, list):
            return self._lines(values)
        numbers, distinct = _distinct(values)
        lines: np.ndarray = self._lines(distinct.to_pylist())[numbers.to_numpy()]
        return lines

    def _lines(self, cells: Iterable[object]) -> np.ndarray:
        width = int(self._head.width)
        heights = (_lines_of(cell, width) if isinstance(cell, str) else 1 for cell in cells)
        return np.fromiter(heights, np.int64)


def _texts(cells: Iterable[str | None]) -> pa.Array:
    return pa.array(list(cells), _TEXT)


def _distinct(values: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The number of each cell's value, and the values; texts are of one type."""
    coded = values.dictionary_encode("encode")
    numbers, distinct = coded.indices, coded.dictionary
    if numbers.null_count:  # they were numbered before, without the missing ones
        numbers = numbers.fill_null(len(distinct))
        distinct = pa.concat_arrays([distinct, pa.nulls(1, distinct.type)])
    return numbers, distinct.cast(_TEXT) if pa.types.is_string(distinct.type) else distinct


_PLAIN = r"^[!-%'-*,.-;?A-^`-~]([ -%'-;=?-^`-~]*[!-%'-;=?-^`-~])?$"
"""Printable ASCII that is in XML as it is, and not taken for a formula."""


def _plain(texts: pa.Array) -> pa.Array:
    """Texts that are written as they are; the others are missing."""
    short = pc.less_equal(pc.binary_length(texts), LONGEST)
    plain = pc.and_(short, pc.match_substring_regex(texts, _PLAIN))
    return pc.if_else(plain, texts, _text(None))


_PLACES = 5
"""Decimals of up to so many places are written without an exponent."""


def _digits_of(values: pa.Array) -> pa.Array | None:
    """Numbers as `_exact_number` writes them; missing where it has to look at them.

    `None` for what is not a number.
    """
    kind = values.type
    if pa.types.is_float32(kind) or pa.types.is_float64(kind):
        written = map(repr, values.to_pylist())
        return _texts(None if _WORDED.search(text) else text for text in written)
    if pa.types.is_decimal128(kind) and 0 <= kind.scale <= _PLACES:
        numbers, fits, missing, _ = scaled(values)
        exact = fits & ~missing
    elif pa.types.is_integer(kind) and not values.null_count:
        numbers = values.to_numpy()
        exact = np.ones(len(values), bool)
    else:
        return None
    exact &= (numbers < _MOST_DIGITS) & (numbers > -_MOST_DIGITS)
    return pc.if_else(pa.array(exact), values.cast(_TEXT), _text(None))


_WORDED = re.compile("[a-z]")
"""In a float that is missing or infinite, or has an exponent."""


@lru_cache(_REMEMBERED)
def _lines_of(text: str, width: int) -> int:
    return max(1, len(wrap(text, width)))


class Cell(NamedTuple):
    """What goes into a cell: `form` is blank, text, number, boolean or moment."""

    form: str
    value: object


_DIGITS = 15
_MOST_DIGITS = 10**_DIGITS
_FIRST_YEAR = 1900
LONGEST = 32_767
"""The letters that a cell holds."""


def cell_of(value: object) -> Cell:
    """The cell for `value`, unchanged; a missing value gives an empty cell."""
    # the order matters: True is an int, a Timestamp is a date
    if is_missing(value):
        return Cell("blank", None)
    if isinstance(value, bool | np.bool_):
        return Cell("boolean", bool(value))
    if isinstance(value, date):
        return _moment(value)
    if isinstance(value, float | np.floating):
        shortest = repr(float(value))
        return Cell("number", Decimal(shortest)) if np.isfinite(value) else Cell("text", shortest)
    if not isinstance(value, Decimal | int | np.integer):
        return Cell("text", _fitting(str(value)))
    return _exact_number(value)


def is_missing(value: object) -> bool:
    """Whether a value is missing: None, NA, NaT, NaN, or empty text."""
    if value is None or value is pd.NA or value is pd.NaT:
        return True
    if isinstance(value, str):
        return not value
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, float) and value != value  # noqa: PLR0124  # only NaN differs from itself


def _exact_number(value: Decimal | int | np.integer[Any]) -> Cell:
    """A number cell, as a decimal: the file then has its exact digits, not those of a float."""
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
    """Text that fits a cell: beyond 32,767 characters its end is visibly cut."""
    whole = text.encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair
    return whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 12]} … (was cut)"


_NOT_IN_XML = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]")
_ESCAPE_ITSELF = re.compile("_(?=x[0-9A-Fa-f]{4}_)")


def _cell_xml(cell: Cell, style: str, style_as_text: str) -> str:
    """The XML of a cell after its reference, up to its end."""
    if cell.form == "blank":
        return '"/>'
    if cell.form == "text":
        text = str(cell.value)
        look = style_as_text if text.startswith(FORMULA_STARTS) else style
        blanks = ' xml:space="preserve"' if text != text.strip() or "\n" in text else ""
        return f'" s="{look}" t="inlineStr"><is><t{blanks}>{_escaped(text)}</t></is></c>'
    if cell.form == "boolean":
        return f'" s="{style}" t="b"><v>{int(bool(cell.value))}</v></c>'
    value = serial(cell.value) if isinstance(cell.value, date) else cell.value
    return f'" s="{style}"><v>{value}</v></c>'


def _escaped(text: str) -> str:
    """Text for XML; characters that XML does not allow are escaped as in spreadsheets."""
    text = _ESCAPE_ITSELF.sub("_x005F_", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _NOT_IN_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", text)


_DAY_ZERO = datetime(1899, 12, 31)  # noqa: DTZ001 - a sheet knows no zones
_FALSE_LEAP_DAY = 59
_SECONDS = 86_400
_PART_OF_A_DAY = Decimal("1E-10")  # what a cell's fifteen digits leave room for


def serial(moment: date) -> str:
    """A date or a time as a spreadsheet's serial number of days."""
    at = moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001
    if at.tzinfo is not None:
        at = at.astimezone(UTC).replace(tzinfo=None)
    since = at - _DAY_ZERO
    days = since.days + (since.days > _FALSE_LEAP_DAY)  # spreadsheets count a day 1900-02-29
    part = Decimal(since.seconds * 10**6 + since.microseconds) / (_SECONDS * 10**6)
    return f"{days + part.quantize(_PART_OF_A_DAY):f}" if part else str(days)
