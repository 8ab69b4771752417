"""Files of rows opened for reading, by name and first bytes: CSV, a workbook's sheet, or Parquet.

A workbook is read once, into a temporary file: reading a sheet is slow, and the types of its
columns are known only at its end.
"""

from __future__ import annotations

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

from svc_tools.frames.files.chunk import Chunk, FileError, Unchanged, cell_text
from svc_tools.frames.files.csv import CsvRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from svc_tools.frames.files.chunk import Rows

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
_FIRST_BYTES = {b"PAR1": "parquet", b"PK\x03\x04": "xlsx", b"\xd0\xcf\x11\xe0": "old"}
_KIND_NAMES = {"csv": "a CSV", "xlsx": "an Excel workbook", "parquet": "a Parquet file"}


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
        sheet: the name of a workbook's sheet; by default the first visible one.
        delimiter: what separates the cells of a CSV; by default detected.
        encoding: the encoding of a CSV; by default detected.

    Raises:
        FileError: there is no such file, it is of another kind than its name says, or it cannot
            be read.
    """
    try:
        kind = _checked_kind(path)
        if sheet is not None and kind != "xlsx":
            raise FileError(f"sheet: {path.name} is {_KIND_NAMES[kind]}, which has no sheets")
        if (delimiter or encoding) and kind != "csv":
            raise FileError(
                f"{path.name} is {_KIND_NAMES[kind]}: a delimiter and an encoding are of a CSV's"
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


def _checked_kind(path: Path) -> str:
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
            f"{path.name} is not what its name says, but {_KIND_NAMES[str(first)]}: rename it"
        )
    return kind


def kind_to_read(path: Path) -> str | None:
    """`csv`, `xlsx` or `parquet` by the suffix; `None` for a file of another kind."""
    name = path.name.lower()
    return next((kind for suffix, kind in _KINDS.items() if name.endswith(suffix)), None)


_PARQUET_ROWS = 65_536


class ParquetRows:
    """A Parquet file; the types of its columns and its metadata are preserved."""

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
        """Nothing is open between two readings."""

    def _unreadable(self, error: Exception) -> FileError:
        return FileError(
            f"{self._path.name} cannot be read as Parquet: {str(error).splitlines()[0]}"
        )


_SHEET_ROWS = 8_192


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
            names, self._types = self._read(sheet)
        except BaseException:
            self.close()
            raise
        columns = zip(names, self._types.types(len(names)), strict=True)
        self.schema = pa.schema([pa.field(*column) for column in columns])
        mixed = [names[position] for position in self._types.mixed()]
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
            arrays.append(self._types.array(position, cells, schema.field(place).type))
            if self._types.is_mixed(position):
                stored[place] = cells
        return Chunk(pa.Table.from_arrays(arrays, schema=schema), stored)

    def _read(self, sheet: str | None) -> tuple[list[str], _CellTypes]:
        """Copy the rows into the temporary file; the names of the columns and their types."""
        with _opened(self._path) as book:
            sheet = self._sheet(book, sheet)
        _check_results(self._path, sheet)
        types = _CellTypes()
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
                    if types.see(row):
                        self._count = number
                seen += len(block)
            named = (position for position, cell in enumerate(head, 1) if cell is not None)
            width = max(types.width, *named)
            names = ["" if cell is None else str(cell) for cell in head[:width]]
        return names + [""] * (width - len(names)), types

    def _sheet(self, book: Any, named: str | None) -> str:  # noqa: ANN401  # openpyxl has no types
        """The sheet to read: the one named, or the first visible one."""
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


_CHECKED_ROWS = 50
"""Rows in which formulas without results would show."""


def _check_results(path: Path, sheet: str) -> None:
    """Refuse a workbook whose formulas have no results: its cells would all be empty."""
    with _opened(path, results=False) as book:
        written = list(islice(_cells(book, sheet), _CHECKED_ROWS))
    with _opened(path) as book:
        results = list(islice(_cells(book, sheet), _CHECKED_ROWS))
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


_BROKEN = (zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, EOFError, OSError)
"""What openpyxl raises for a file that is not a workbook, or is truncated or damaged."""


@contextmanager
def _opened(path: Path, *, results: bool = True) -> Iterator[Any]:
    """The workbook, open for reading row by row; faults are raised as `FileError`."""
    try:
        from openpyxl import load_workbook  # noqa: PLC0415 - only for workbooks
    except ModuleNotFoundError as error:
        raise FileError(
            f"workbooks need more: pip install 'svc-tax-tools[report]' ({error})"
        ) from None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and rules that are not read
        try:
            book = load_workbook(path, read_only=True, data_only=results)
            with closing(book):
                yield book
        except _BROKEN as error:
            if isinstance(error, FileError) or getattr(error, "errno", None):
                raise  # its message already explains the fault
            raise FileError(
                f"{path.name} cannot be read as an Excel workbook ({error}); save it again as"
                " .xlsx, or as CSV"
            ) from None


def _cells(book: Any, sheet: str) -> Iterator[tuple[object, ...]]:  # noqa: ANN401  # openpyxl has no types
    table = book[sheet]
    table.reset_dimensions()  # the size stated in a file is often wrong
    rows: Iterable[tuple[object, ...]] = table.iter_rows(values_only=True)
    for row in rows:
        yield tuple(map(_value, row))


def _value(value: object) -> object:
    """A cell as one of a few types."""
    if value is None or isinstance(value, str | bool | int | float | datetime | date | time):
        return None if value == "" else value  # 0 is a value
    return str(value)


_COMMON_TYPES: dict[frozenset[type], pa.DataType] = {
    frozenset(): pa.string(),
    frozenset({str}): pa.string(),
    frozenset({bool}): pa.bool_(),
    frozenset({int}): pa.int64(),
    frozenset({float}): pa.float64(),
    frozenset({int, float}): pa.float64(),
    frozenset({date}): pa.date32(),
    frozenset({datetime}): pa.timestamp("us"),
    frozenset({date, datetime}): pa.timestamp("us"),
}


class _CellTypes:
    """The types of cells seen in each column of a sheet. A time at midnight is a date."""

    def __init__(self) -> None:
        self._seen: list[set[type]] = []

    @property
    def width(self) -> int:
        """How many columns have values."""
        used = [position + 1 for position, kinds in enumerate(self._seen) if kinds]
        return max(used, default=0)

    def see(self, row: Sequence[object]) -> bool:
        """Record the types of a row; whether it has any cell with a value."""
        while len(self._seen) < len(row):
            self._seen.append(set())
        anything = False
        for kinds, cell in zip(self._seen, row, strict=False):
            if cell is not None:
                anything = True
                kinds.add(_cell_type(cell))
        return anything

    def mixed(self) -> list[int]:
        """Columns whose cells have no common type but text."""
        seen = enumerate(self._seen)
        return [position for position, kinds in seen if frozenset(kinds) not in _COMMON_TYPES]

    def is_mixed(self, position: int) -> bool:
        """Whether the column has cells of more than one type, such as integers and floats."""
        return len(self._seen[position]) > 1 if position < len(self._seen) else False

    def types(self, count: int) -> list[pa.DataType]:
        """One type for each of the first columns."""
        self._seen += [set() for _ in range(count - len(self._seen))]
        return [_COMMON_TYPES.get(frozenset(kinds), pa.string()) for kinds in self._seen[:count]]

    def array(self, position: int, cells: Sequence[object], kind: pa.DataType) -> pa.Array:
        """Cells of a column as its type."""
        if pa.types.is_string(kind) and self._seen[position] != {str}:
            cells = [None if cell is None else cell_text(cell) for cell in cells]
        elif pa.types.is_floating(kind):
            cells = [None if cell is None else float(cell) for cell in cells]  # type: ignore[arg-type]
        elif pa.types.is_date(kind):
            cells = [cell.date() if isinstance(cell, datetime) else cell for cell in cells]
        return pa.array(cells, kind)


def _cell_type(cell: object) -> type:
    if isinstance(cell, datetime):
        return date if cell.time() == time() else datetime
    if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) >= 2**63:
        return float
    return type(cell)
