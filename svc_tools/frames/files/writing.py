"""Rows written to a file, chunk by chunk: CSV, Parquet or a workbook's sheet."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from svc_tools.csv_files import FileError
from svc_tools.frames.reports.xlsx import FORMULA_STARTS, MOST_COLUMNS, MOST_ROWS, cell_of
from svc_tools.tabular import cell_text

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    from svc_tools.tabular import Chunk


def check_output(path: Path, source: Path, *, force: bool) -> str:
    """The kind of file that is written to `path`.

    Raises:
        FileError: the kind is not supported, the folder or a permission is missing, or the file
            exists or is the input.
    """
    kinds = {".csv": "csv", ".xlsx": "xlsx", ".parquet": "parquet", ".pq": "parquet"}
    name = path.name.lower()
    kind = next((kind for suffix, kind in kinds.items() if name.endswith(suffix)), None)
    if kind is None:
        raise FileError(
            f"{path.name} is of no kind that can be written; expected .csv, .xlsx or .parquet"
        )
    _check_place(path, source, force=force)
    return kind


def check_report(path: Path, source: Path, output: Path, *, force: bool) -> None:
    """Check that a report can be written to `path`.

    Raises:
        FileError: as for `check_output`, or `path` is the output.
    """
    if path.suffix.lower() not in {".xlsx", ".html", ".htm"}:
        raise FileError(
            f"report: {path.name} is of no kind that can be written; expected .xlsx or .html"
        )
    if path.resolve() == output.resolve():
        raise FileError(f"report: {path} is the output; name another file")
    _check_place(path, source, force=force)


def _check_place(path: Path, source: Path, *, force: bool) -> None:
    if path.is_dir():
        raise FileError(f"{path} is a folder; name the file to write")
    folder = path.resolve().parent  # of what a link points to
    if not folder.is_dir():
        raise FileError(
            f"cannot write {path.name}: the folder {path.parent} does not exist; create it first"
        )
    if path.exists():
        if source.exists() and path.samefile(source):
            raise FileError(f"{path} is the input; name another file to write")
        if not force:
            raise FileError(
                f"{path} is there already; name another file, or replace it with --force"
                " (force=True)"
            )
    if not os.access(folder, os.W_OK):
        raise FileError(f"cannot write {path.name}: the folder {folder} is not writable")


def check_columns(kind: str, names: Counter[str]) -> None:
    """Check that a file of this kind can have columns of these names.

    Raises:
        FileError: it cannot.
    """
    twice = [name for name, count in names.items() if count > 1]
    if kind == "parquet" and twice:
        raise FileError(
            f"the column {twice[0]!r} occurs twice, and Parquet needs different names: rename one,"
            " or write a .csv"
        )
    if kind == "xlsx" and names.total() > MOST_COLUMNS:
        raise FileError(f"a sheet holds {MOST_COLUMNS:,} columns: write .csv or .parquet")


def check_rows(kind: str, rows: int) -> None:
    """Check that a file of this kind can have so many rows.

    Raises:
        FileError: it cannot.
    """
    if kind == "xlsx" and rows > MOST_ROWS:
        raise FileError(
            f"a sheet holds {MOST_ROWS:,} rows, and the file has {rows:,}: write .csv or .parquet"
        )


class Writer(Protocol):
    """Takes chunks of one schema, in order."""

    notes: list[str]
    """Sentences for the user on how the cells were written; complete once it is closed."""

    def write(self, chunk: Chunk) -> None:
        """Add rows."""

    def close(self) -> None:
        """Write what is buffered; the file is complete after that."""


def open_writer(kind: str, path: Path, schema: pa.Schema) -> Writer:
    """A writer of this kind of file."""
    if kind == "csv":
        return CsvWriter(path.open("wb"), schema)
    return SheetWriter(path, schema) if kind == "xlsx" else ParquetWriter(path, schema)


class ParquetWriter:
    """A Parquet file, one row group per chunk."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.notes: list[str] = []
        self._writer = parquet.ParquetWriter(path, schema, compression="zstd")

    def write(self, chunk: Chunk) -> None:
        """See `Writer`."""
        self._writer.write_table(chunk.table)

    def close(self) -> None:
        """See `Writer`."""
        self._writer.close()


_AT_ONCE = 16_384
"""Rows joined at once: twice as fast as larger blocks, which do not fit the CPU's cache."""
_NO_TEXT = pa.scalar("", pa.large_string())


class CsvWriter:
    """CSV in UTF-8, commas, quoted where a cell needs it; missing is empty.

    Decimals and dates are written in full, truth values as True and False.
    """

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self._file = file
        self.notes: list[str] = []
        names = pa.table([pa.array([name], pa.string()) for name in schema.names], schema.names)
        self._lines(names.columns)

    def write(self, chunk: Chunk) -> None:
        """See `Writer`."""
        for start in range(0, chunk.table.num_rows, _AT_ONCE):
            self._write(chunk, start)

    def _write(self, chunk: Chunk, start: int) -> None:
        columns = []
        for position, column in enumerate(chunk.table.slice(start, _AT_ONCE).columns):
            stored = chunk.stored.get(position)
            if stored is None:
                columns.append(_texts(column))
            else:
                some = stored[start : start + _AT_ONCE]
                cells = [None if cell is None else cell_text(cell) for cell in some]
                columns.append(pa.chunked_array([pa.array(cells, pa.large_string())]))
        self._lines(columns)

    def close(self) -> None:
        """See `Writer`; the standard output stays open."""
        self._file.flush()
        if self._file is not getattr(sys.stdout, "buffer", None):  # a notebook's has none
            self._file.close()

    def _lines(self, columns: list[pa.ChunkedArray]) -> None:
        cells = [_quoted(column.cast(pa.large_string())) for column in columns]
        end = pa.scalar("\n", pa.large_string())
        cells[-1] = pc.binary_join_element_wise(
            cells[-1], end, _NO_TEXT, null_handling="replace", null_replacement=""
        )
        ended = pc.binary_join_element_wise(
            *cells, pa.scalar(",", pa.large_string()), null_handling="replace", null_replacement=""
        )
        for piece in ended.chunks:
            if len(piece):
                self._file.write(_bytes_of(piece))


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column, with an apostrophe before texts that a spreadsheet would run as a formula.

    For the added columns of a CSV, whose texts come from a service; the user's cells are not
    changed.
    """
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    if not any(_may_contain(chunk, FORMULA_STARTS) for chunk in column.cast(_NO_TEXT.type).chunks):
        return column
    starts = pa.array(FORMULA_STARTS, column.type)
    runs = pc.is_in(pc.utf8_slice_codeunits(column, 0, 1), starts)
    mark, nothing = pa.scalar("'", column.type), pa.scalar("", column.type)
    return pc.if_else(runs, pc.binary_join_element_wise(mark, column, nothing), column)


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The cells of a column as text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _texts(column.cast(kind.value_type))
    if pa.types.is_boolean(kind):
        yes, no = pa.scalar("True", pa.large_string()), pa.scalar("False", pa.large_string())
        return pc.if_else(column, yes, no)
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        texts = [None if cell is None else str(cell) for cell in column.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.large_string())])
    return column.cast(pa.large_string())


def _quoted(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The cells in quotation marks where they hold a mark, a comma or an end of line."""
    if not any(_may_contain(chunk, ('"', ",", "\r", "\n")) for chunk in column.chunks):
        return column
    needs = pc.match_substring_regex(column, '[",\r\n]')
    mark = pa.scalar('"', pa.large_string())
    doubled = pc.replace_substring(column, '"', '""')
    return pc.if_else(needs, pc.binary_join_element_wise(mark, doubled, mark, _NO_TEXT), column)


def _may_contain(texts: pa.LargeStringArray, letters: tuple[str, ...]) -> bool:
    """Whether a cell might contain one of these; a quick search in the bytes of all cells."""
    found = bytes(_bytes_of(texts))
    return any(one.encode() in found for one in letters)


def _bytes_of(texts: pa.LargeStringArray) -> memoryview:
    """The bytes of all cells, which Arrow stores one behind the other."""
    _, offsets, letters = texts.buffers()
    if letters is None or not len(texts):
        return memoryview(b"")
    ends = memoryview(offsets).cast("q")
    return memoryview(letters)[ends[texts.offset] : ends[texts.offset + len(texts)]]


_LONGEST = 32_767


class SheetWriter:
    """An `.xlsx` workbook with one sheet; cells hold values, never formulas that came from data."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        try:
            from xlsxwriter import Workbook  # noqa: PLC0415 - only for workbooks
        except ModuleNotFoundError as error:
            raise FileError(
                f"workbooks need more: pip install 'svc-tax-tools[report]' ({error})"
            ) from None
        # row by row into a temporary file: the memory does not grow with the sheet
        self._book = Workbook(path, {"constant_memory": True})
        self._book.set_calc_mode("auto")
        self._sheet = self._book.add_worksheet("Lines")
        self._formats = {
            "head": self._book.add_format({"bold": True, "bottom": 1}),
            "text": self._book.add_format({"num_format": "@"}),
            "date": self._book.add_format({"num_format": "yyyy-mm-dd"}),
            "time": self._book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}),
        }
        self._column_formats = [self._format_of(field.type) for field in schema]
        self._rows = 1
        self._cut = 0
        self.notes: list[str] = []
        self._sheet.freeze_panes(1, 0)
        for position, field in enumerate(schema):
            # in this mode widths must be set before the first row
            width = min(max(len(field.name) + 2, 11), 40)
            self._sheet.set_column(position, position, width)
        for position, name in enumerate(schema.names):
            self._sheet.write_string(0, position, name, self._formats["head"])

    def write(self, chunk: Chunk) -> None:
        """See `Writer`."""
        columns = [
            chunk.stored.get(position) or column.to_pylist()
            for position, column in enumerate(chunk.table.columns)
        ]
        for row in zip(*columns, strict=True):
            for position, value in enumerate(row):
                if value is not None:
                    self._put(position, value)
            self._rows += 1

    def close(self) -> None:
        """See `Writer`."""
        if self._cut:
            self.notes.append(
                f"texts longer than the {_LONGEST:,} letters that a cell of a sheet holds were cut,"
                f" and end so: {self._cut:,}; a .csv or .parquet holds them whole"
            )
        last = len(self._column_formats) - 1
        if last >= 0:
            self._sheet.autofilter(0, 0, self._rows - 1, last)
        from xlsxwriter.exceptions import FileCreateError  # noqa: PLC0415 - only for workbooks

        try:
            self._book.close()
        except FileCreateError as error:  # it wraps the system's error
            raise OSError(str(error)) from error

    def _put(self, position: int, value: Any) -> None:  # noqa: ANN401  # a cell
        form, held = cell_of((getattr(value, "replace", None) and _naive(value)) or value)
        row, shown = self._rows, self._column_formats[position]
        if form == "number":
            self._sheet.write_number(row, position, held, shown)
        elif form == "boolean":
            self._sheet.write_boolean(row, position, held)
        elif form == "moment":
            whole_day = getattr(held, "hour", None) is None or _at_midnight(held)
            kind = self._formats["date" if whole_day and shown is None else "time"]
            self._sheet.write_datetime(row, position, held, shown or kind)
        elif form == "text":
            self._cut += isinstance(value, str) and len(value) > _LONGEST
            risky = str(held).startswith(FORMULA_STARTS)
            self._sheet.write_string(row, position, held, self._formats["text"] if risky else None)

    def _format_of(self, kind: pa.DataType) -> Any:  # noqa: ANN401  # a format of xlsxwriter
        """The format of the numbers or times of a column."""
        if pa.types.is_decimal(kind):
            return self._book.add_format({"num_format": f"0.{'0' * kind.scale}"})
        if pa.types.is_timestamp(kind):
            return self._formats["time"]
        return self._formats["date"] if pa.types.is_date(kind) else None


def _naive(value: Any) -> Any:  # noqa: ANN401  # a cell
    """A time in UTC without its zone, as in the added columns; others are written as text."""
    zone = getattr(value, "tzinfo", None)
    return value.replace(tzinfo=None) if zone is not None and str(zone) == "UTC" else value


def _at_midnight(value: Any) -> bool:  # noqa: ANN401  # a moment
    return (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)
