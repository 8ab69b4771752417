"""The rows of a small sheet that a person keeps: a CSV as spreadsheets write it, or a workbook."""

from __future__ import annotations

import csv
import io
import re
import warnings
import zipfile
import zlib
from collections import Counter
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError  # nothing is parsed here, only caught

from svc_tools.csv_cells import cells_of_any_length
from svc_tools.whole_file import whole_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "Row",
    "cell_of",
    "columns_of",
    "guarded",
    "plain_label",
    "require_csv",
    "rows_below",
    "sheet_table",
    "unguarded",
    "write_rows",
]

Row = dict[str, object]
"""The cells of one row by the labels of the header; more cells than labels are under `None`."""

_SEPARATORS = (",", ";", "\t")
_SAID = re.compile(r"sep=(.)\r?\n")
"""The first line with which some spreadsheets name the separator."""
_GUARD = "'"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", _GUARD)
_REWRITTEN = re.compile(
    r"(?:[\W\d_]|jan\w*|feb\w*|mar\w*|apr\w*|may|june?|july?|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*"
    r"|mon\w*|tue\w*|wed\w*|thu\w*|fri\w*|sat\w*|sun\w*|[ap]m?|[etz]|true|false)+",
    re.IGNORECASE,
)
"""Texts that a spreadsheet might take for a number, a date, a time or a truth value."""
_WORKBOOKS = {".xlsx", ".xlsm"}
_OTHER_SHEETS = {".xls", ".xlsb", ".ods", ".numbers"}
_BROKEN = (zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, EOFError, IndexError)
"""What the reader raises for a file that is no workbook, or one that was cut or damaged."""
_WORKBOOK_NEEDS = (
    "to read a workbook: pip install 'svc-tax-tools[report]', or save the sheet as CSV (UTF-8)"
)


def sheet_table(path: Path, *, refused: Callable[[str], ValueError]) -> list[list[object]]:
    """The cells of a sheet, row by row. A CSV may have any of the usual separators.

    Args:
        path: a CSV file, or a workbook (`.xlsx`), of which the first sheet is read.
        refused: makes the error for a sentence.

    Raises:
        ValueError: as `refused` makes it: the file is not readable as a sheet.
        FileNotFoundError: there is no such file.
        ImportError: it is a workbook, and what reads workbooks is not installed.
    """
    if not path.is_file():
        raise FileNotFoundError(f"nexus: there is no file {str(path)!r}")
    if path.suffix.lower() in _OTHER_SHEETS:
        raise refused(f"{path.name} is of a kind that is not read; save it as .xlsx or CSV (UTF-8)")
    if path.suffix.lower() in _WORKBOOKS:
        return _workbook(path, refused)
    text = _text(path.read_bytes(), path.name, refused)
    try:
        return _csv(text)
    except csv.Error as error:
        raise refused(f"{path.name} is no CSV that can be read: {error}") from None


def rows_below(table: Sequence[Sequence[object]], start: int = 0) -> tuple[int, list[Row]]:
    """The rows below the header, which is the first row from `start` on that is not empty.

    Returns:
        The number of the first of them in the table, from 1; and the rows, empty ones too.
    """
    head = next((at for at in range(start, len(table)) if any(map(_there, table[at]))), None)
    if head is None:
        return start + 1, []
    labels = _told_apart(str(label).strip() if _there(label) else "" for label in table[head])
    rows = [_row(labels, cells) for cells in table[head + 1 :]]
    return head + 2, rows or [dict.fromkeys(labels)]


def columns_of(rows: Iterable[Mapping[str, object]]) -> list[str]:
    """The labels that the rows have, in order."""
    return [*dict.fromkeys(label for row in rows for label in row if label)]


def plain_label(label: object) -> str:
    """A label as it is compared: "Nexus Type" is `nexus_type`."""
    return re.sub(r"[^a-z]+", "_", str(label).strip().lower()).strip("_")


def cell_of(value: object) -> object | None:
    """A value, or nothing where it is missing: blank text, NaN, NaT."""
    if isinstance(value, str):
        return value.strip() or None
    missing = value is None or str(value) in {"nan", "NaT", "<NA>"}
    return None if missing else value


def guarded(text: str) -> str:
    """A text that a spreadsheet would compute or rewrite, behind an apostrophe: it stays text."""
    risky = text.startswith(_FORMULA) or _REWRITTEN.fullmatch(text) is not None
    return _GUARD + text if risky else text


def unguarded(text: str) -> str:
    """The text that was guarded; any other as it is."""
    bare = text.removeprefix(_GUARD)
    return bare if guarded(bare) == text else text


def require_csv(path: Path) -> None:
    """Refuse to write text under a name by which a spreadsheet expects a workbook.

    Raises:
        ValueError: it is the name of a workbook.
    """
    if path.suffix.lower() in _WORKBOOKS | _OTHER_SHEETS:
        raise ValueError(f"{path.name}: a CSV is what is written; name it .csv")


def write_rows(
    path: Path,
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    above: Iterable[Sequence[str]] = (),
    private: bool = False,
) -> None:
    """Write a CSV (UTF-8, marked as such for spreadsheets), whole or not at all.

    Args:
        path: where.
        heads: the labels of the columns.
        rows: the cells.
        above: rows that come before the labels.
        private: nobody else may read it.

    Raises:
        ValueError: it has the name of a workbook.
        OSError: it cannot be written; a file that was there is left as it was.
    """
    require_csv(path)
    with (
        whole_file(path) as draft,
        draft.open("w", encoding="utf-8-sig", newline="") as file,
    ):
        if private:
            draft.chmod(0o600)
        writer = csv.writer(file)
        writer.writerows([*above, heads, *rows])


def _there(value: object) -> bool:
    return cell_of(value) is not None


def _told_apart(labels: Iterable[str]) -> list[str]:
    """The labels, a second one of a name numbered: no column silently hides another."""
    seen: Counter[str] = Counter()
    told = []
    for label in labels:
        seen[label] += 1
        told.append(f"{label} ({seen[label]})" if label and seen[label] > 1 else label)
    return told


def _row(labels: Sequence[str], cells: Sequence[object]) -> Row:
    row: Row = dict(zip(labels, [*cells, *[None] * len(labels)], strict=False))
    row.pop("", None)
    row = {label: unguarded(cell) if isinstance(cell, str) else cell for label, cell in row.items()}
    if any(map(_there, cells[len(labels) :])):
        row[None] = cells[len(labels) :]  # type: ignore[index]  # as csv.DictReader does
    return row


def _text(data: bytes, name: str, refused: Callable[[str], ValueError]) -> str:
    encoding = "utf-16" if data[:2] in {b"\xff\xfe", b"\xfe\xff"} else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        raise refused(f"{name} is not UTF-8 text; save it as CSV (UTF-8)") from None


def _csv(text: str) -> list[list[object]]:
    said = _SAID.match(text)
    body = text[said.end() :] if said else text
    lines = (line for line in body.splitlines() if line.strip(" ,;\t"))
    header = next((line for line in lines if not line.startswith(("#", '"#'))), "")
    separator = said[1] if said else max(_SEPARATORS, key=header.count)
    with cells_of_any_length():
        reader = csv.reader(io.StringIO(body, newline=""), delimiter=separator)
        return [[*cells] for cells in reader]


def _workbook(path: Path, refused: Callable[[str], ValueError]) -> list[list[object]]:
    try:
        from openpyxl import load_workbook  # noqa: PLC0415 - of an extra
    except ModuleNotFoundError as error:
        raise ImportError(f"nexus: {_WORKBOOK_NEEDS} ({error})") from None
    try:
        with warnings.catch_warnings():  # about looks that nobody here looks at
            warnings.simplefilter("ignore", UserWarning)
            book = load_workbook(path, read_only=True, data_only=True)
            try:
                sheet = book.worksheets[0]
                sheet.reset_dimensions()
                return [[*cells] for cells in sheet.iter_rows(values_only=True)]
            finally:
                book.close()
    except _BROKEN as error:
        raise refused(f"{path.name} is no workbook that can be read: {error}") from None
