"""Which file is what: by its name, checked against its first bytes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from svc_tools.frames.files.chunk import FileError
from svc_tools.frames.files.csv_rows import CsvRows
from svc_tools.frames.files.parquet_rows import ParquetRows
from svc_tools.frames.files.workbook_rows import WorkbookRows
from svc_tools.frames.files.writing import (
    MOST_SHEET_COLUMNS,
    MOST_SHEET_ROWS,
    CsvWriter,
    ParquetWriter,
    SheetWriter,
)

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

    import pyarrow as pa

    from svc_tools.frames.files.chunk import Rows
    from svc_tools.frames.files.writing import Writer

__all__ = [
    "check_columns",
    "check_output",
    "check_report",
    "check_rows",
    "kind_of",
    "kind_to_read",
    "open_rows",
    "open_writer",
]

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
_REPORTS = frozenset({".xlsx", ".html", ".htm"})
_WRITTEN = {".csv": "csv", ".xlsx": "xlsx", ".parquet": "parquet", ".pq": "parquet"}
_FIRST_BYTES = {b"PAR1": "parquet", b"PK\x03\x04": "xlsx", b"\xd0\xcf\x11\xe0": "old"}
_CALLED = {"csv": "a CSV", "xlsx": "an Excel workbook", "parquet": "a Parquet file"}


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
