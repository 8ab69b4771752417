"""A sheet of a workbook as rows, by chunks: read once, kept beside in a temporary file."""

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

from svc_tools.frames.files.cell_kinds import Kinds
from svc_tools.frames.files.chunk import Chunk, FileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

__all__ = ["WorkbookRows"]

_SHEET_ROWS = 8_192
_LOOKED_AT = 50
"""Rows in which formulas without results would show."""
_BROKEN = (zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, EOFError, OSError)
"""What the reader raises for a file that is no workbook, or one that was cut or damaged."""


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
