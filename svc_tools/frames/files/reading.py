"""Which file is what: by its name, checked against its first bytes."""

# MERGED parquet_rows: A Parquet file as rows, by chunks.
# MERGED workbook_rows: A sheet of a workbook as rows, by chunks: read once, kept beside in a temporary file.

from __future__ import annotations

import os
import pickle  # what is unpickled was pickled by this process
import tempfile
import warnings
import zipfile
import zlib
from contextlib import closing, contextmanager
from datetime import date, datetime, time
from itertools import islice
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError  # nothing is parsed here, only caught

import pyarrow as pa
from pyarrow import parquet

from svc_tools.frames.files.chunk import Chunk, FileError, Kinds, Unchanged
from svc_tools.frames.files.csv import CsvRows
from svc_tools.frames.files.writing import (
    MOST_SHEET_COLUMNS,
    MOST_SHEET_ROWS,
    CsvWriter,
    ParquetWriter,
    SheetWriter,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from svc_tools.frames.files.chunk import Rows
    from svc_tools.frames.files.writing import Writer

_KINDS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".csv.gz": "csv",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_WRITTEN = {".csv": "csv", ".xlsx": "xlsx", ".parquet": "parquet", ".pq": "parquet"}
_FIRST_BYTES = {b"PAR1": "parquet", b"PK\x03\x04": "xlsx", b"\xd0\xcf\x11\xe0": "old"}
_CALLED = {"csv": "a CSV", "xlsx": "an Excel workbook", "parquet": "a Parquet file"}

_PARQUET_ROWS = 65_536

_SHEET_ROWS = 8_192
_LOOKED_AT = 50
"""Rows in which formulas without results would show."""
_BROKEN = (zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, EOFError, OSError)
"""What the reader raises for a file that is no workbook, or one that was cut or damaged."""

_REPORTS = frozenset({".xlsx", ".html", ".htm"})


def open_rows(
    path: Path,
    *,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Rows:
    """The rows of a CSV (`.csv`, `.tsv`, `.txt`, `.csv.gz`), `.xlsx` or `.parquet` file.

    Args:
        path: the file; it is read more than once.
        sheet: the name of a workbook's sheet; the first one if it is left out.
        delimiter: what separates the cells of a CSV; found if it is left out.
        encoding: the encoding of a CSV; found if it is left out.

    Raises:
        FileError: there is no such file, it is not what its name says, or it cannot be read.
    """
    try:
        kind = _kind_to_read(path)
        if sheet is not None and kind != "xlsx":
            raise FileError(f"sheet: {path.name} is {_CALLED[kind]}, which has no sheets")
        if (delimiter or encoding) and kind != "csv":
            raise FileError(
                f"{path.name} is {_CALLED[kind]}: a delimiter and an encoding are of a CSV's"
            )
        if kind == "xlsx":
            return WorkbookRows(path, sheet=sheet)
        if kind == "parquet":
            return ParquetRows(path)
        return CsvRows(path, encoding=encoding, delimiter=delimiter)
    except PermissionError:
        raise FileError(f"{path} cannot be opened: the permission is missing") from None
    except OSError as error:
        raise FileError(f"{path.name} cannot be read: {error.strerror or error}") from None


def _kind_to_read(path: Path) -> str:
    if str(path) == "-":
        raise FileError(
            "standard input cannot be read twice, and it has to be: save it to a file first"
        )
    if path.is_dir():
        raise FileError(f"{path} is a folder; name the file in it")
    if not path.exists():
        raise FileError(f"there is no file {path}")
    if not path.is_file():
        raise FileError(f"{path} is a pipe or a device, and it is read twice: save it to a file")
    kind = kind_to_read(path)
    if kind is None:
        raise FileError(
            f"{path.name} is of no kind that can be read; expected .csv, .tsv, .txt, .xlsx or"
            " .parquet"
        )
    with path.open("rb") as file:
        first = _FIRST_BYTES.get(file.read(4))
    if first == "old":
        raise FileError(
            f"{path.name} is protected by a password, or a workbook of the old .xls kind: save it"
            " without a password as .xlsx"
        )
    if first not in {None, kind}:
        raise FileError(
            f"{path.name} is not what its name says, but {_CALLED[str(first)]}: rename it"
        )
    return kind


def kind_to_read(path: Path) -> str | None:
    """`csv`, `xlsx` or `parquet` by the end of the name; `None` where it is none that is read."""
    return kind_of(path, _KINDS)


def kind_of(path: Path, kinds: dict[str, str] | None = None) -> str | None:
    """`csv`, `xlsx` or `parquet` by the end of the name; `None` where it is none that is written.

    `kinds` says which ends count.
    """
    name = path.name.lower()
    known = _WRITTEN if kinds is None else kinds
    return next((kind for end, kind in known.items() if name.endswith(end)), None)


def check_output(path: Path, source: Path, *, force: bool) -> str:
    """What kind of file is written to `path`, which must be free to take it.

    Raises:
        FileError: of no kind that is written, in no folder, there already, or the input itself.
    """
    kind = kind_of(path)
    if kind is None:
        raise FileError(
            f"{path.name} is of no kind that can be written; expected .csv, .xlsx or .parquet"
        )
    _check_place(path, source, force=force)
    return kind


def check_report(path: Path, source: Path, output: Path, *, force: bool) -> None:
    """Whether a report can be written to `path`.

    Raises:
        FileError: of no kind that is written, in no folder, there already, or another file's name.
    """
    if path.suffix.lower() not in _REPORTS:
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
    """Whether a file of this kind can have columns of these names.

    Raises:
        FileError: it cannot.
    """
    twice = [name for name, count in names.items() if count > 1]
    if kind == "parquet" and twice:
        raise FileError(
            f"the column {twice[0]!r} occurs twice, and Parquet needs different names: rename one,"
            " or write a .csv"
        )
    if kind == "xlsx" and names.total() > MOST_SHEET_COLUMNS:
        raise FileError(f"a sheet holds {MOST_SHEET_COLUMNS:,} columns: write .csv or .parquet")


def check_rows(kind: str, rows: int) -> None:
    """Whether a file of this kind can have so many rows.

    Raises:
        FileError: it cannot.
    """
    if kind == "xlsx" and rows > MOST_SHEET_ROWS:
        raise FileError(
            f"a sheet holds {MOST_SHEET_ROWS:,} rows, and the file has {rows:,}: write .csv or"
            " .parquet"
        )


def open_writer(kind: str, path: Path, schema: pa.Schema) -> Writer:
    """A writer of this kind of file."""
    if kind == "csv":
        return CsvWriter(path.open("wb"), schema)
    return SheetWriter(path, schema) if kind == "xlsx" else ParquetWriter(path, schema)


class ParquetRows:
    """A Parquet file; its columns keep their types, and the file its metadata."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._unchanged = Unchanged(path)
        try:
            with parquet.ParquetFile(path) as file:
                self.schema: pa.Schema = file.schema_arrow
        except (pa.ArrowInvalid, OSError) as error:
            raise self._unreadable(error) from None
        self.notes: list[str] = []

    def chunks(self, positions: Sequence[int] | None = None) -> Iterator[Chunk]:
        """See `Rows.chunks`."""
        self._unchanged.check()
        try:
            with parquet.ParquetFile(self._path) as file:
                yield from self._chunks(file, positions)
        except (pa.ArrowInvalid, OSError) as error:
            raise self._unreadable(error) from None

    def _chunks(
        self, file: parquet.ParquetFile, positions: Sequence[int] | None
    ) -> Iterator[Chunk]:
        names = None
        if positions is not None:
            names = [self.schema.field(position).name for position in positions]
        for batch in file.iter_batches(_PARQUET_ROWS, columns=names, use_threads=False):
            self._unchanged.check()
            table = pa.Table.from_batches([batch])
            yield Chunk(table if names is None else table.select(names))

    def close(self) -> None:
        """Nothing is held open between two readings."""

    def _unreadable(self, error: Exception) -> FileError:
        told = str(error).splitlines()[0]
        return FileError(f"{self._path.name} cannot be read as Parquet: {told}")


class WorkbookRows:
    """One sheet of an `.xlsx` file: numbers, dates and texts as they are stored.

    The first row that is not empty names the columns. Empty rows below the last one do not count.
    """

    def __init__(self, path: Path, *, sheet: str | None) -> None:
        self._path = path
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()
        self._count = 0
        self.sheets: tuple[str, ...] = ()
        self.notes: list[str] = []
        try:
            names, kinds = self._read(sheet)
        except BaseException:
            self.close()
            raise
        self._kinds = kinds
        types = kinds.types(len(names))
        self.schema = pa.schema([pa.field(*pair) for pair in zip(names, types, strict=True)])
        mixed = [names[position] for position in kinds.mixed()]
        if mixed:
            listed = ", ".join(map(repr, mixed))
            self.notes.append(
                f"cells of several kinds (numbers beside text) in {listed}: as text where the"
                " output has one kind per column"
            )

    def chunks(self, positions: Sequence[int] | None = None) -> Iterator[Chunk]:
        """See `Rows.chunks`."""
        wanted = range(len(self.schema)) if positions is None else positions
        schema = pa.schema([self.schema.field(position) for position in wanted])
        left = self._count
        for number in range(len(self._offsets)):
            self._spool.seek(self._offsets[number])
            rows: list[tuple[object, ...]] = pickle.load(self._spool)[:left]  # noqa: S301  # our own
            left -= len(rows)
            if not rows:
                return
            yield self._chunk(rows, wanted, schema)

    def close(self) -> None:
        """Remove the temporary file."""
        self._spool.close()

    def _chunk(
        self, rows: list[tuple[object, ...]], wanted: Sequence[int], schema: pa.Schema
    ) -> Chunk:
        arrays, stored = [], {}
        for place, position in enumerate(wanted):
            cells = [row[position] if position < len(row) else None for row in rows]
            arrays.append(self._kinds.array(position, cells, schema.field(place).type))
            if self._kinds.is_several(position):
                stored[place] = cells
        return Chunk(pa.Table.from_arrays(arrays, schema=schema), stored)

    def _read(self, sheet: str | None) -> tuple[list[str], Kinds]:
        """Copy the rows into the temporary file; the names of the columns and their kinds."""
        with _opened(self._path) as book:
            sheet = self._sheet(book, sheet)
        _check_results(self._path, sheet)
        kinds = Kinds()
        self._offsets: list[int] = []
        names: list[str] = []
        with _opened(self._path) as book:
            rows = _cells(book, sheet)
            head = next((row for row in rows if any(cell is not None for cell in row)), None)
            if head is None:
                raise FileError(
                    f"{self._path.name}: the sheet is empty; expected a row of column names and"
                    " rows below it"
                )
            seen = 0
            while block := list(islice(rows, _SHEET_ROWS)):
                self._offsets.append(self._spool.tell())
                pickle.dump(block, self._spool, pickle.HIGHEST_PROTOCOL)
                for number, row in enumerate(block, seen + 1):
                    if kinds.see(row):
                        self._count = number
                seen += len(block)
            named = (position for position, cell in enumerate(head, 1) if cell is not None)
            width = max(kinds.width, *named)
            names = ["" if cell is None else str(cell) for cell in head[:width]]
        return names + [""] * (width - len(names)), kinds

    def _sheet(self, book: Any, named: str | None) -> str:  # noqa: ANN401  # openpyxl has no types
        """The sheet to read: the one that was named, or the first that a person sees."""
        sheets = {one.title: one.sheet_state for one in book.worksheets}
        self.sheets = tuple(sheets)
        if named is not None and named not in sheets:
            raise FileError(
                f"{self._path.name} has no sheet {named!r}; it has: {', '.join(map(repr, sheets))}"
            )
        shown = [title for title, state in sheets.items() if state == "visible"] or list(sheets)
        if not shown:
            raise FileError(f"{self._path.name} has no sheet of cells")
        if named is None and len(sheets) > 1:
            self.notes.append(
                f"of {len(sheets)} sheets {shown[0]!r} is read, the first that is not hidden; name"
                " another with --sheet (sheet=)"
            )
        return named or shown[0]


def _check_results(path: Path, sheet: str) -> None:
    """Refuse a workbook whose formulas have no results: its cells would all be empty."""
    with _opened(path, results=False) as book:
        written = list(islice(_cells(book, sheet), _LOOKED_AT))
    with _opened(path) as book:
        results = list(islice(_cells(book, sheet), _LOOKED_AT))
    formulas = [
        (row, column)
        for row, cells in enumerate(written)
        for column, cell in enumerate(cells)
        if isinstance(cell, str) and cell.startswith("=")
    ]
    if formulas and all(results[row][column] is None for row, column in formulas):
        row, column = formulas[0]
        raise FileError(
            f"{path.name}: row {row + 1} has the formula {written[row][column]!r} without its"
            " result; open the workbook in a spreadsheet program and save it there, or as CSV"
        )


@contextmanager
def _opened(path: Path, *, results: bool = True) -> Iterator[Any]:
    """The workbook, open for reading row by row; what is wrong with it in a sentence."""
    try:
        from openpyxl import load_workbook  # noqa: PLC0415 - only for workbooks
    except ModuleNotFoundError as error:
        raise FileError(
            f"workbooks need more: pip install 'svc-tax-tools[report]' ({error})"
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and rules that are not read
        try:
            book = load_workbook(path, read_only=True, data_only=results)
            with closing(book):
                yield book
        except _BROKEN as error:
            if isinstance(error, FileError) or getattr(error, "errno", None):
                raise  # it says what is the matter, or the system does
            raise FileError(
                f"{path.name} cannot be read as an Excel workbook ({error}); save it again as"
                " .xlsx, or as CSV"
            ) from None


def _cells(book: Any, sheet: str) -> Iterator[tuple[object, ...]]:  # noqa: ANN401  # openpyxl has no types
    table = book[sheet]
    table.reset_dimensions()  # what a file says of its size is often wrong
    rows: Iterable[tuple[object, ...]] = table.iter_rows(values_only=True)
    for row in rows:
        yield tuple(map(_cell, row))


def _cell(value: object) -> object:
    """A cell as one of a few kinds of value."""
    if value is None or isinstance(value, str | bool | int | float | datetime | date | time):
        return None if value == "" else value  # 0 is a value
    return str(value)
