"""Workbooks as rows of cells: the sheet to read, its rows up to the last value, stray cells.

What a reader would take wrongly is refused here: formulas without results, cells far away from the
others.
"""

from __future__ import annotations

import warnings
import zipfile
import zlib
from contextlib import closing, contextmanager
from datetime import date, datetime, time
from itertools import pairwise
from typing import TYPE_CHECKING, Any, BinaryIO
from xml.etree.ElementTree import ParseError  # nothing is parsed here, only caught

from svc_tools.base.extras import needs
from svc_tools.tables.csv_files import FileError, shortened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

CHECKED_ROWS = 50
"""Rows in which formulas without results would show."""
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, ParseError, EOFError, OSError, RuntimeError),
    *(AttributeError, IndexError, KeyError, TypeError, ValueError),
)
"""What openpyxl raises for a file that is not a workbook, or is truncated or damaged."""


@contextmanager
def opened_book(path: Path, *, results: bool = True) -> Iterator[Any]:
    """The workbook, open for reading row by row; faults are raised as `FileError`."""
    with needs("Reading a workbook", "report"):
        from openpyxl import load_workbook  # noqa: PLC0415 - only for workbooks
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and rules that are not read
        try:
            with path.open("rb") as file:  # openpyxl (3.1) leaves a damaged one open
                _check_sizes(path, file)
                book = load_workbook(file, read_only=True, data_only=results, keep_links=False)
                with closing(book):
                    yield book
        except _BROKEN as error:
            if isinstance(error, FileError) or getattr(error, "errno", None):
                raise  # its message already explains the fault
            raise FileError(
                f"{path.name} cannot be read as an Excel workbook ({error}); save it again as"
                " .xlsx, or as CSV"
            ) from None


_LARGE, _LARGE_SHEET = 4 << 20, 16 << 20
"""Bytes of a part, and of one with rows, up to which it is read however well it is packed."""
_MOST_PACKED = 200
"""How often smaller a packed part may be; rows of equal cells come to 30."""
_MOST_PARTS = 10_000
_COUNTED = 1 << 20
"""Bytes of a part that is read as a whole from which its entries are counted."""
_MOST_ENTRIES, _MOST_SHEETS = 250_000, 2_000
"""Spreadsheet programs write 64,000 styles at most."""
_LONGEST_TEXT = 1 << 20
"""Bytes without a mark; the text of a cell has 32,767 characters at most."""
_SHEETS = ("worksheets/", "sheets/sheet", "sharedstrings")
_UNREAD = (
    "pivotcache",
    "calcchain",
    "comments",
    "drawings/",
    "charts/",
    "externallinks/",
    "media/",
)


def _check_sizes(path: Path, file: BinaryIO) -> None:
    """Refuse a workbook of which openpyxl would hold more than the machine has, before it does.

    A few kilobytes can unpack to gigabytes, and a part such as the styles is held as a whole.
    """
    with zipfile.ZipFile(file) as archive:
        parts = archive.infolist()
        if len(parts) > _MOST_PARTS:
            raise _too_large(path, f"it has {len(parts):,} parts, where {_MOST_PARTS:,} are read")
        for part in parts:
            name = part.filename.lower()
            has_rows = any(one in name for one in _SHEETS)
            is_large = part.file_size > (_LARGE_SHEET if has_rows else _LARGE)
            if is_large and part.file_size > _MOST_PACKED * part.compress_size:
                raise _too_large(
                    path,
                    f"{part.filename} is {part.compress_size:,} bytes that unpack to"
                    f" {part.file_size:,}",
                )
            if has_rows:
                if is_large:
                    _check_texts(path, archive, part)
            elif part.file_size > _COUNTED and not any(one in name for one in _UNREAD):
                _check_entries(path, archive, part)


def _check_texts(path: Path, archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    length = 0
    for block in _blocks(archive, part):
        first = block.find(b"<")
        length += len(block) if first < 0 else first
        if length > _LONGEST_TEXT:
            raise _too_large(
                path,
                f"{part.filename}, of {part.file_size:,} bytes, has a cell of more than"
                f" {_LONGEST_TEXT:,} characters, where 32,767 are the most",
            )
        if first >= 0:
            length = len(block) - block.rfind(b"<")


def _check_entries(path: Path, archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    entries = sheets = 0
    for block in _blocks(archive, part):
        entries += block.count(b"<")
        sheets += block.count(b"<sheet ")
    for count, most, what in (
        (sheets, _MOST_SHEETS, "sheets"),
        (entries, _MOST_ENTRIES, "entries"),
    ):
        if count > most:
            raise _too_large(path, f"{part.filename} has {count:,} {what}, where {most:,} are read")


def _blocks(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> Iterator[bytes]:
    with archive.open(part) as unpacked:
        while block := unpacked.read(_LONGEST_TEXT):
            yield block


def _too_large(path: Path, why: str) -> FileError:
    return FileError(
        f"{path.name} is too large to be read: {why}. Copy its values into a new workbook, or save"
        " it as CSV",
        "size",
    )


def sheet_of(path: Path, book: Any, named: str | None) -> tuple[str, list[str]]:  # noqa: ANN401  # openpyxl has no types
    """The sheet to read: the one named, or the first visible one, with a note of that."""
    sheets = {one.title: one.sheet_state for one in book.worksheets}
    if named is not None and named not in sheets:
        raise FileError(
            f"{path.name} has no sheet {named!r}; it has: {', '.join(map(repr, sheets))}", "sheet"
        )
    shown = [title for title, state in sheets.items() if state == "visible"] or list(sheets)
    if not shown:
        raise FileError(f"{path.name} has no sheet of cells", "sheet")
    if named is not None or len(sheets) == 1:
        return named or shown[0], []
    note = f"of {len(sheets)} sheets {shown[0]!r} is read, the first visible one; name another"
    return shown[0], [note]


def counts_from_1904(path: Path) -> bool:
    """Whether a file is a workbook that counts days from 1904-01-01.

    Raises:
        FileError: it is a workbook that cannot be read.
    """
    if not path.name.lower().endswith((".xlsx", ".xlsm")):
        return False
    with opened_book(path) as book:
        return is_from_1904(book)


FROM_1904 = "day numbers are counted from 1904-01-01, as the workbook says"


def is_from_1904(book: Any) -> bool:  # noqa: ANN401  # openpyxl has no types
    """Whether a workbook counts days from 1904: openpyxl reads so the cells formatted as dates."""
    return bool(book.epoch.year == 1904)  # noqa: PLR2004


def check_results(path: Path, sheet: str) -> None:
    """Refuse a workbook whose formulas have no results: its cells would all be empty."""
    with opened_book(path, results=False) as book:
        written = [*cells_of(path, book, sheet, CHECKED_ROWS, strays=[])]
    formulas = [
        (row, column)
        for row, cells in enumerate(written)
        for column, cell in enumerate(cells)
        if isinstance(cell, str) and cell.startswith("=")
    ]
    if not formulas:
        return
    with opened_book(path) as book:
        results = {
            (row, column)
            for row, cells in enumerate(cells_of(path, book, sheet, CHECKED_ROWS, strays=[]))
            for column, cell in enumerate(cells)
            if cell is not None
        }
    if results.isdisjoint(formulas):
        row, column = formulas[0]
        raise FileError(
            f"{path.name}: row {row + 1} has the formula {written[row][column]!r} without its"
            " result; open the workbook in a spreadsheet program and save it there, or as CSV",
            "formula",
        )


_LAST_ROW = 1_048_576
_FAR_ROWS, FAR_COLUMNS = 10_000, 1_000
"""Empty rows or columns beyond which a cell is a stray one: a sheet would be filled up to it."""


def cells_of(
    path: Path,
    book: Any,  # noqa: ANN401  # openpyxl has no types
    sheet: str,
    most: int | None = None,
    *,
    strays: list[str] | None = None,
) -> Iterator[list[object]]:
    """The rows of a sheet, at most so many; an empty one is `[]`, and none is at the end.

    Args:
        path: the file, for messages.
        book: the open workbook.
        sheet: its sheet.
        most: how many rows are read.
        strays: takes the cells that are left out, because they are far to the right of the others;
            without it they are an error.

    Raises:
        FileError: a cell with a value is far away from the others.
    """
    table = book[sheet]
    table.reset_dimensions()  # the size stated in a file is often wrong
    with closing(table.iter_rows(max_row=most, values_only=True)) as rows:  # its file, too
        yield from _with_values(path, rows, strays)


def _with_values(
    path: Path, rows: Iterable[tuple[object, ...]], strays: list[str] | None
) -> Iterator[list[object]]:
    """The rows up to the last one with a value, each up to the last column with one so far."""
    used: range | None = None  # the columns so far
    empty = 0
    for number, row in enumerate(rows, 1):
        if number > _LAST_ROW:
            raise FileError(f"{path.name} has rows below {_LAST_ROW:,}, the last one of a sheet")
        if used is None or not _is_empty(row[used.stop :]) or not _is_empty(row[: used.start]):
            cells = [*map(_value, row)]
            if strays is not None:
                strays += _left_out(used, cells, number)
            used = _widened(path, used, cells, number)
        else:
            cells = [*map(_value, row[: used.stop])]
        if used is None or _is_empty(cells):
            empty += 1
            continue
        if empty > _FAR_ROWS and empty < number - 1:
            place = next(place for place, cell in enumerate(cells) if cell is not None)
            raise _stray(path, number, place, cells, f"{_FAR_ROWS:,} empty rows")
        for _ in range(empty):
            yield []
        empty = 0
        yield cells


def _is_empty(cells: Sequence[object]) -> bool:
    return cells.count(None) == len(cells)


def _left_out(used: range | None, cells: list[object], number: int) -> list[str]:
    """Take out the cells far to the right of the others; what and where they were."""
    places = [place for place, cell in enumerate(cells) if cell is not None]
    ends = [used.stop - 1 if used else place for place in places[:1]]
    strays = []
    for place in places:
        if place - ends[-1] > FAR_COLUMNS:
            strays.append(_named(number, place, cells))
            cells[place] = None
        else:
            ends.append(max(place, ends[-1]))
    return strays


def _widened(path: Path, used: range | None, cells: Sequence[object], number: int) -> range | None:
    """The columns that are used with those of a further row."""
    here = [place for place, cell in enumerate(cells) if cell is not None]
    places = sorted({*here, *((used.start, used.stop - 1) if used else ())})
    for before, after in pairwise(places):
        if after - before > FAR_COLUMNS:
            place = after if after in here else before
            raise _stray(path, number, place, cells, f"{FAR_COLUMNS:,} empty columns")
    return range(places[0], places[-1] + 1) if places else None


def _stray(
    path: Path, number: int, place: int, cells: Sequence[object], distance: str
) -> FileError:
    return FileError(
        f"{path.name}: the cell {_named(number, place, cells)} is more than {distance} away from"
        " the other cells; delete it, or move it next to them, and save the workbook",
        "stray",
    )


def _named(number: int, place: int, cells: Sequence[object]) -> str:
    """A cell by its address and value."""
    from openpyxl.utils import get_column_letter  # noqa: PLC0415 - only for workbooks

    return f"{get_column_letter(place + 1)}{number} ({shortened(str(cells[place]))!r})"


def _value(value: object) -> object:
    """A cell as one of a few types."""
    if value is None or isinstance(value, str | bool | int | float | datetime | date | time):
        return None if value == "" else value  # 0 is a value
    return str(value)
