"""Tables in files of any size, in chunks of columns: CSV, Excel workbooks and Parquet.

`open_table` gives Arrow tables; a CSV is text throughout, so that no ZIP Code loses its zero.
`read_rows` gives the rows of a small file with their numbers, without Arrow. A workbook is read
once, into a temporary file: reading a sheet is slow, and the types of its columns are known only at
its end.
"""

from __future__ import annotations

import pickle  # what is unpickled was pickled by this process
import tempfile
import zlib
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time
from itertools import chain, dropwhile, islice, zip_longest
from operator import not_
from typing import TYPE_CHECKING, Any, Protocol

from svc_tools.tables.csv_files import (
    DELIMITERS,
    FileError,
    csv_rows,
    csv_text,
    dialect_of,
    shortened,
    utf8_blocks,
)
from svc_tools.tables.exports import lines_of, report_of
from svc_tools.tables.roles import ColumnError, names_below
from svc_tools.tables.xlsx_files import (
    CHECKED_ROWS,
    FAR_COLUMNS,
    FROM_1904,
    cells_of,
    check_results,
    is_from_1904,
    opened_book,
    sheet_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa

    from svc_tools.tables.csv_files import Row


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows of a file.

    Attributes:
        table: the rows; two columns may have one name, as in the file.
        stored: for columns whose cells are of several types, as in a spreadsheet, the cells as
            they are stored, by the column's position; in the table they have one type.
    """

    table: pa.Table
    stored: Mapping[int, Sequence[object]] = field(default_factory=dict)


class Table(Protocol):
    """A file of rows that can be read more than once."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, and the file's own metadata."""

    @property
    def notes(self) -> list[str]:
        """How the file was read, in sentences."""

    @property
    def sheets(self) -> tuple[str, ...]:
        """The names of a workbook's sheets; none of other files."""

    @property
    def delimiter(self) -> str | None:
        """What separates the cells of a CSV; `None` for other files."""

    @property
    def from_1904(self) -> bool:
        """Whether the file is a workbook that counts days from 1904-01-01."""

    @property
    def names_row(self) -> int | None:
        """The row in which the names of columns seem to stand, where it is not the first one."""

    def chunks(self, positions: Sequence[int] | None = None) -> Iterator[Chunk]:
        """The rows in order; of the columns at these positions only, in that order, or of all."""

    def close(self) -> None:
        """Close the file."""


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


def open_table(
    path: Path,
    *,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Table:
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
    with _faults_of(path):
        kind = _checked_kind(path, sheet=sheet, dialect=delimiter or encoding)
        if kind == "xlsx":
            return _SheetTable(path, sheet=sheet)
        if kind == "parquet":
            return _ParquetTable(path)
        return _CsvTable(path, encoding=encoding, delimiter=delimiter)


@contextmanager
def names_explained(path: Path, rows: Table) -> Iterator[None]:
    """Where columns are not found because their names stand below other rows, say in which row.

    Raises:
        FileError: the columns were not found, and the names seem to stand further down.
    """
    try:
        yield
    except ColumnError as error:
        if rows.names_row is None:
            raise
        raise FileError(f"{path.name}: {in_which_row(rows.names_row)}", "header") from error


def in_which_row(number: int) -> str:
    """What to do with a file whose names stand in this row."""
    return (
        f"the names of the columns seem to stand in row {number:,}; remove the rows above (a name"
        f" that stands only there belongs in row {number:,})"
    )


def read_rows(
    path: Path,
    *,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> list[Row]:
    """All rows of a CSV or of a workbook's sheet with their numbers, the names of columns too.

    For files that a user maintains by hand; the arguments are those of `open_table`. A CSV's cells
    are texts, those of a sheet numbers, dates or texts; an empty cell of a sheet is `None`.

    Raises:
        FileError: as for `open_table`.
    """
    with _faults_of(path):
        kind = _checked_kind(path, sheet=sheet, dialect=delimiter or encoding)
        if kind == "parquet":
            raise FileError(f"{path.name} is a Parquet file: save it as .csv or .xlsx", "kind")
        if kind == "xlsx":
            with opened_book(path) as book:
                named, _ = sheet_of(path, book, sheet)
                return [*enumerate(cells_of(path, book, named), 1)]
        found = dialect_of(path, encoding=encoding, delimiter=delimiter)
        with csv_text(path, found) as text:
            above = bool(found.skipped)  # the line that declares the delimiter
            return [(line + above, cells) for line, cells in csv_rows(text, found.delimiter)]


@contextmanager
def _faults_of(path: Path) -> Iterator[None]:
    try:
        yield
    except PermissionError:
        raise FileError(f"{path} cannot be opened: the permission is missing", "place") from None
    except (OSError, EOFError, zlib.error) as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> FileError:
    """The fault of a file that the system cannot read, or that cannot be decompressed."""
    if reason := getattr(error, "strerror", None):
        return FileError(f"{path.name} cannot be read: {reason}")
    return FileError(
        f"{path.name} cannot be decompressed ({error}): it is damaged, cut off or not compressed;"
        " copy or download it again"
    )


def kind_to_read(path: Path) -> str | None:
    """`csv`, `xlsx` or `parquet` by the suffix; `None` for a file of another kind."""
    name = path.name.lower()
    return next((kind for suffix, kind in _KINDS.items() if name.endswith(suffix)), None)


def _checked_kind(path: Path, *, sheet: str | None, dialect: str | None) -> str:
    if str(path) == "-":
        raise FileError("standard input cannot be read twice: save it to a file first", "kind")
    if path.is_dir():
        raise FileError(f"{path} is a folder; name the file in it", "kind")
    if not path.exists():
        raise FileError(f"there is no file {path}", "missing")
    if not path.is_file():
        raise FileError(
            f"{path} is a pipe or a device, and it is read twice: save it to a file", "kind"
        )
    kind = kind_to_read(path)
    if kind is None:
        raise FileError(
            f"{path.name} is of no kind that can be read; expected .csv, .tsv, .txt, .xlsx or"
            " .parquet",
            "kind",
        )
    with path.open("rb") as file:
        first = _FIRST_BYTES.get(file.read(4))
    if first == "old":
        raise FileError(
            f"{path.name} is protected by a password, or a workbook of the old .xls kind: save it"
            " without a password as .xlsx",
            "kind",
        )
    if first not in {None, kind}:
        raise FileError(
            f"{path.name} is not of the kind of its name, but {_KIND_NAMES[str(first)]}: rename it",
            "kind",
        )
    if sheet is not None and kind != "xlsx":
        raise FileError(f"sheet: {path.name} is {_KIND_NAMES[kind]}, which has no sheets", "sheet")
    if dialect and kind != "csv":
        raise FileError(
            f"{path.name} is {_KIND_NAMES[kind]}; only a CSV has a delimiter and an encoding",
            "kind",
        )
    return kind


class _Unchanged:
    """Checks that a file that is read more than once is still the one that was opened."""

    def __init__(self, path: Path) -> None:
        self._path, self._stamp = path, _stamp(path)

    def check(self) -> None:
        """Refuse a file that has changed: its places would not be those of the rows written."""
        try:
            same = _stamp(self._path) == self._stamp
        except OSError:
            same = False
        if not same:
            raise FileError(
                f"{self._path.name} was changed while it was read, so nothing was written; wait"
                " until it is complete, and start again",
                "changed",
            )


def _stamp(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


_BLOCK_BYTES = 8 << 20
"""Bytes that are read at once."""
_MOST_ROWS = 65_536
"""Rows of a chunk: its memory is that of all columns that are added to it, in several forms."""
_LONGEST_ROW = 64 << 20


class _CsvTable:
    """A CSV file; every cell is text as in the file, an empty one is missing."""

    def __init__(self, path: Path, *, encoding: str | None, delimiter: str | None) -> None:
        import pyarrow as pa  # noqa: PLC0415 - small files are read without it

        self._path = path
        self._unchanged = _Unchanged(path)
        self._dialect = dialect_of(path, encoding=encoding, delimiter=delimiter)
        self.schema = pa.schema([pa.field(name, pa.string()) for name in self._dialect.header])
        self.notes = list(self._dialect.notes)
        self.sheets: tuple[str, ...] = ()
        self.delimiter: str | None = self._dialect.delimiter
        self.from_1904 = False
        self.names_row = self._dialect.names_row
        mark = self._dialect.delimiter
        if mark != "," and delimiter is None:
            self.notes.append(
                f"{path.name} is read as separated by {DELIMITERS.get(mark, repr(mark))}s"
            )

    def chunks(self, positions: Sequence[int] | None = None) -> Iterator[Chunk]:
        """See `Table.chunks`.

        Raises:
            FileError: a row has another number of cells than the header; the message names it.
        """
        self._unchanged.check()
        wanted = range(len(self.schema)) if positions is None else positions
        every = self.schema.names  # made anew at each call
        names = [every[position] for position in wanted]
        if not self._dialect.has_rows:
            return
        try:
            for table in self._parsed(wanted) if self._dialect.paired else self._read(wanted):
                self._unchanged.check()
                for start in range(0, table.num_rows, _MOST_ROWS):
                    yield Chunk(table.slice(start, _MOST_ROWS).rename_columns(names))
        except UnicodeDecodeError as error:
            raise FileError(
                f"{self._path.name} is not {self._dialect.encoding}: {error}", "encoding"
            ) from None
        except (OSError, EOFError, zlib.error) as error:
            raise _unreadable(self._path, error) from None

    def close(self) -> None:
        """Nothing is open between two readings."""

    def _parsed(self, wanted: Sequence[int]) -> Iterator[pa.Table]:
        """The rows as Arrow parses them, by blocks of whole rows.

        The blocks are cut here: at the end of one of its own, Arrow (21) loses a line feed behind
        a carriage return, and its reader of streams uses threads that may outlive the process.
        """
        import pyarrow as pa  # noqa: PLC0415 - as above
        from pyarrow import csv as arrow_csv  # noqa: PLC0415 - as above

        count = len(self.schema)
        keys = [str(number) for number in range(count)]  # two columns may have one name
        parsing = arrow_csv.ParseOptions(
            delimiter=self._dialect.delimiter,
            newlines_in_values=True,
            ignore_empty_lines=count > 1,
        )
        converting = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(keys, pa.string()),
            include_columns=[keys[position] for position in wanted],
            strings_can_be_null=True,
            null_values=[""],
        )
        header = 1
        for block in self._blocks():
            reading = arrow_csv.ReadOptions(
                use_threads=False,
                block_size=len(block) + 1,
                column_names=keys,
                skip_rows_after_names=header,
            )
            header = 0
            try:
                yield arrow_csv.read_csv(pa.py_buffer(block), reading, parsing, converting)
            except pa.ArrowInvalid as error:
                raise self._explained(error) from None

    def _blocks(self) -> Iterator[bytes]:
        """The text by blocks of whole rows."""
        pending = b""
        for text in utf8_blocks(self._path, self._dialect, _BLOCK_BYTES):
            pending += text
            end = _row_end(pending)
            if end:
                yield pending[:end]
            elif len(pending) > _LONGEST_ROW:
                raise FileError(
                    f"{self._path.name}: a row is longer than {_LONGEST_ROW >> 20} MB, so it is"
                    " probably not a CSV with this delimiter",
                    "delimiter",
                )
            pending = pending[end:]
        if pending:
            yield pending

    def _read(self, wanted: Sequence[int]) -> Iterator[pa.Table]:
        """The rows as Python reads them: marks within cells, as in 12" pipe, confuse no block."""
        import pyarrow as pa  # noqa: PLC0415 - as above

        header, mark = self._dialect.header, self._dialect.delimiter
        keys = [str(position) for position in wanted]
        with csv_text(self._path, self._dialect) as text:
            rows: Iterator[list[Any]] = (cells for _, cells in csv_rows(text, mark))
            if self._dialect.report is not None:
                rows = lines_of(dropwhile(not_, rows), *self._dialect.report)
            below = dropwhile(lambda row: not row[1], enumerate(rows, 1))
            numbered = (row for row in below if row[1] or len(header) == 1)
            next(numbered)
            while block := list(islice(numbered, _SHEET_ROWS)):
                for number, cells in block:
                    if len(cells) != len(header) and (cells or len(header) > 1):
                        raise self._of_width(number, cells)
                columns = [[row[place] if row else None for _, row in block] for place in wanted]
                arrays = [
                    pa.array([cell or None for cell in cells], pa.string()) for cells in columns
                ]
                yield pa.Table.from_arrays(arrays, keys)

    def _explained(self, error: Exception) -> FileError:
        """The fault of a file that Arrow refused, found again row by row."""
        width = len(self._dialect.header)
        with csv_text(self._path, self._dialect) as text:
            rows = (cells for _, cells in csv_rows(text, self._dialect.delimiter))
            for number, cells in enumerate(rows, 1):
                if cells and len(cells) != width:
                    return self._of_width(number, cells)
        return FileError(f"{self._path.name} cannot be read as CSV: {error}")

    def _of_width(self, number: int, cells: Sequence[object]) -> FileError:
        """A row has another number of cells than the header."""
        if self.names_row is not None:
            return FileError(f"{self._path.name}: {in_which_row(self.names_row)}", "header")
        header = self._dialect.header
        shown = shortened(self._dialect.delimiter.join(map(str, cells)))
        widths = (
            f"{self._path.name}: row {number:,} has {_counted(len(cells), 'cell')} where the header"
            f" names {_counted(len(header), 'column')}: {shown!r}. "
        )
        if len(header) == 1:
            advice = (
                f"The names are taken from the first line, {shortened(header[0])!r}: delete what"
                " stands above the names of the columns, or name the delimiter"
            )
        else:
            advice = (
                "Fix it there (a cell that holds the delimiter needs quotation marks), or name the"
                " delimiter"
            )
        return FileError(widths + advice, "width")


def _row_end(text: bytes) -> int:
    """Where the last whole row ends, in text that begins with a row; 0 where none does."""
    last = len(text) - 1  # a carriage return there may be half of a line end
    end = max(text.rfind(b"\n"), text.rfind(b"\r", 0, last)) + 1
    while text.count(b'"', 0, end) % 2:  # within a cell: before the mark that opens it
        mark = text.rfind(b'"', 0, end)
        end = max(text.rfind(b"\n", 0, mark), text.rfind(b"\r", 0, mark)) + 1
    return end


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


_PARQUET_ROWS = 65_536


class _ParquetTable:
    """A Parquet file; the types of its columns and its metadata are preserved."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet  # noqa: PLC0415 - only for Parquet

        self._path = path
        self._unchanged = _Unchanged(path)
        with self._faults(), parquet.ParquetFile(path) as file:
            self.schema: pa.Schema = file.schema_arrow
        self.notes: list[str] = []
        self.sheets: tuple[str, ...] = ()
        self.delimiter: str | None = None
        self.from_1904 = False
        self.names_row: int | None = None

    def chunks(self, positions: Sequence[int] | None = None) -> Iterator[Chunk]:
        """See `Table.chunks`."""
        import pyarrow as pa  # noqa: PLC0415 - only for Parquet
        from pyarrow import parquet  # noqa: PLC0415 - as above

        self._unchanged.check()
        every = self.schema.names
        names = None if positions is None else [every[one] for one in positions]
        with self._faults(), parquet.ParquetFile(self._path) as file:
            held: list[pa.RecordBatch] = []
            for batch in file.iter_batches(_PARQUET_ROWS, columns=names, use_threads=False):
                self._unchanged.check()
                # a column of categories ends a batch with its row group: the rows of a chunk
                # may not depend on which columns are read
                held.append(batch)
                rows = pa.Table.from_batches(held)
                if rows.num_rows >= _PARQUET_ROWS:
                    yield _chunk_of(rows.slice(0, _PARQUET_ROWS), names)
                    held = rows.slice(_PARQUET_ROWS).to_batches()
            if held:
                yield _chunk_of(pa.Table.from_batches(held), names)

    def close(self) -> None:
        """Nothing is open between two readings."""

    @contextmanager
    def _faults(self) -> Iterator[None]:
        import pyarrow as pa  # noqa: PLC0415 - only for Parquet

        try:
            yield
        except (pa.ArrowInvalid, OSError) as error:
            reason = str(error).splitlines()[0]
            raise FileError(f"{self._path.name} cannot be read as Parquet: {reason}") from None


def _chunk_of(rows: pa.Table, names: Sequence[str] | None) -> Chunk:
    return Chunk((rows if names is None else rows.select(names)).unify_dictionaries())


_SHEET_ROWS = 8_192


class _SheetTable:
    """One sheet of an `.xlsx` file: numbers, dates and texts as they are stored.

    The first row that is not empty names the columns. Empty rows below the last one do not count.
    """

    def __init__(self, path: Path, *, sheet: str | None) -> None:
        self.delimiter: str | None = None
        self._path = path
        self._spool = tempfile.TemporaryFile()  # noqa: SIM115  # closed by close()
        self._offsets: list[int] = []
        self._kinds: defaultdict[int, set[type]] = defaultdict(set)
        self.names_row: int | None = None
        try:
            with opened_book(path) as book:
                named, self.notes = sheet_of(path, book, sheet)
                self.sheets: tuple[str, ...] = tuple(one.title for one in book.worksheets)
                self.from_1904 = is_from_1904(book)
            check_results(path, named)
            strays: list[str] = []
            with opened_book(path) as book:
                names = self._spooled(cells_of(path, book, named, strays=strays))
        except BaseException:
            self.close()
            raise
        types = _common_types()
        if self.from_1904:
            self.notes.append(FROM_1904)
        if strays:
            more = f" and {_counted(len(strays) - 1, 'further cell')}" if strays[1:] else ""
            self.notes.append(
                f"left out: the cell {strays[0]}{more}, more than {FAR_COLUMNS:,} empty columns"
                " away from the others"
            )
        kinds = [types.get(frozenset(self._kinds[place])) for place in range(len(names))]
        mixed = [name for name, kind in zip(names, kinds, strict=True) if kind is None]
        if mixed:
            self.notes.append(
                f"cells of several kinds (numbers and text) in {', '.join(map(repr, mixed))}: as"
                " text where the output has one kind per column"
            )
        self.schema = _schema(names, [kind or types[frozenset()] for kind in kinds])

    def chunks(self, positions: Sequence[int] | None = None) -> Iterator[Chunk]:
        """See `Table.chunks`."""
        import pyarrow as pa  # noqa: PLC0415 - only for chunks

        wanted = range(len(self.schema)) if positions is None else positions
        schema = pa.schema([self.schema.field(position) for position in wanted])
        for offset in self._offsets:
            self._spool.seek(offset)
            rows: list[list[object]] = pickle.load(self._spool)  # noqa: S301  # our own
            arrays, stored = [], {}
            for place, position in enumerate(wanted):
                cells = [row[position] if position < len(row) else None for row in rows]
                arrays.append(_array(cells, schema.field(place).type))
                if len(self._kinds[position]) > 1:
                    stored[place] = cells
            yield Chunk(pa.Table.from_arrays(arrays, schema=schema), stored)

    def close(self) -> None:
        """Remove the temporary file."""
        self._spool.close()

    def _spooled(self, rows: Iterator[list[object]]) -> list[str]:
        """Copy the rows into the temporary file, with the types of each column; their names."""
        first = list(islice(rows, CHECKED_ROWS))
        report = report_of(first)
        rows = chain(first, rows)
        below = None if report is not None else names_below(first)
        self.names_row = None if below is None else below + 1
        if report is not None:
            rows = lines_of(rows, *report)
            self.notes.append(f"{report[0].name} with a title, headings and totals: left out")
        head = next(filter(None, rows), None)
        if head is None:
            raise FileError(
                f"{self._path.name}: the sheet is empty; expected a row of column names and rows"
                " below it",
                "empty",
            )
        while block := list(islice(rows, _SHEET_ROWS)):
            self._offsets.append(self._spool.tell())
            pickle.dump(block, self._spool, pickle.HIGHEST_PROTOCOL)
            for place, cells in enumerate(zip_longest(*block)):
                self._kinds[place] |= {_cell_type(cell) for cell in cells if cell is not None}
        named = [place for place, cell in enumerate(head) if cell is not None]
        width = max(*named, *(place for place, kinds in self._kinds.items() if kinds), 0) + 1
        names = ["" if cell is None else str(cell) for cell in head[:width]]
        return names + [""] * (width - len(names))


def _cell_type(cell: object) -> type:
    """The type of a cell; a time at midnight is a date, and an integer too large a number."""
    if isinstance(cell, datetime):
        return date if cell.time() == time() else datetime
    if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) >= 2**63:
        return float
    return type(cell)


def _common_types() -> dict[frozenset[type], pa.DataType]:
    """The type of a column by the types of its cells; other columns are mixed."""
    import pyarrow as pa  # noqa: PLC0415 - only for chunks

    return {
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


def _schema(names: Sequence[str], types: Sequence[pa.DataType]) -> pa.Schema:
    import pyarrow as pa  # noqa: PLC0415 - only for chunks

    return pa.schema([pa.field(*column) for column in zip(names, types, strict=True)])


def _array(cells: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Cells of a column as its type."""
    import pyarrow as pa  # noqa: PLC0415 - only for chunks

    if pa.types.is_string(kind):
        cells = [None if cell is None else cell_text(cell) for cell in cells]
    elif pa.types.is_floating(kind):
        cells = [None if cell is None else float(cell) for cell in cells]
    elif pa.types.is_date(kind):
        cells = [cell.date() if isinstance(cell, datetime) else cell for cell in cells]
    return pa.array(cells, kind)


def cell_text(cell: object) -> str:
    """A cell as text: dates in ISO, whole numbers without a point."""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, datetime):
        return str(cell.date()) if cell.time() == time() else str(cell)
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:  # noqa: PLR2004  # exact
        return str(int(cell))
    return str(cell)
