"""Rows written to a file, chunk by chunk: CSV, Parquet or a workbook's sheet."""

from __future__ import annotations

import os
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from svc_tools.base.atomic import linked_file
from svc_tools.base.extras import require
from svc_tools.frames.reports.xlsx import LONGEST, MOST_COLUMNS, MOST_ROWS, Head, open_book
from svc_tools.frames.values.arrow import MONEY, decimals, texts_of_formulas
from svc_tools.frames.values.money import whole_cents
from svc_tools.tables.csv_files import FORMULA_STARTS, FileError
from svc_tools.tables.tabular import cell_text

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from svc_tools.frames.reports.xlsx import Values
    from svc_tools.tables.tabular import Chunk, Table


def check_output(path: Path, source: Path, *, force: bool) -> str:
    """The kind of file that is written to `path`.

    Raises:
        FileError: the kind is not supported, the folder or a permission is missing, or the file
            exists or is the input.
        ImportError: it is a workbook, and the extra `report` is not installed.
    """
    kinds = {".csv": "csv", ".xlsx": "xlsx", ".parquet": "parquet", ".pq": "parquet"}
    name = path.name.lower()
    kind = next((kind for suffix, kind in kinds.items() if name.endswith(suffix)), None)
    if kind is None:
        raise FileError(
            f"{path.name} is of no kind that can be written; expected .csv, .xlsx or .parquet",
            "kind",
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
            f"report: {path.name} is of no kind that can be written; expected .xlsx or .html",
            "kind",
        )
    _check_place(path, source, force=force)
    # whatever the disk: those of Windows and macOS do not tell upper from lower case
    if str(path.resolve()).casefold() == str(output.resolve()).casefold():
        raise FileError(f"report: {path} is the output; name another file", "place")


def check_saved_layout(path: Path, source: Path, *, force: bool) -> None:
    """Check that a layout can be written to `path`.

    Raises:
        FileError: as for `check_output`.
    """
    if path.suffix.lower() != ".toml":
        raise FileError(f"layout: {path.name}: expected a name that ends in .toml", "kind")
    _check_place(path, source, force=force)


def check_report_columns(
    columns: Sequence[str] | None, report: Path | None, names: Collection[str]
) -> None:
    """Check that a report can show these columns.

    Args:
        columns: the columns requested, if any.
        report: the report, if one is to be written.
        names: the columns that the output will have.

    Raises:
        FileError: there is no report, or no such column.
    """
    if columns is None:
        return
    if report is None:
        raise FileError("columns of a report are named, but no report: name its file too")
    absent = [name for name in columns if name not in names]
    if absent:
        there = ", ".join(names)
        raise FileError(
            f"columns of the report: the file has no column {absent[0]!r}; it will have: {there}",
            "columns",
        )


def _check_place(path: Path, source: Path, *, force: bool) -> None:
    """Check that a file can be written to `path`; creates nothing and replaces nothing.

    Raises:
        FileError: a folder is missing or not writable, or the file exists or is the source.
        ImportError: it is a workbook, and the extra `report` is not installed.
    """
    if path.suffix.lower() == ".xlsx":
        require("Writing a workbook", "report", "xlsxwriter")
    if path.is_dir():
        raise FileError(f"{path} is a folder; name the file to write", "place")
    try:
        folder = linked_file(path).parent
    except OSError as error:
        raise FileError(str(error), "place") from None
    if not folder.is_dir():
        raise FileError(
            f"cannot write {path.name}: the folder {folder} does not exist; create it first",
            "place",
        )
    if path.exists():
        if source.exists() and path.samefile(source):
            raise FileError(f"{path} is the input; name another file to write", "place")
        if not force:
            raise FileError(
                f"{path} is there already; name another file, or choose to replace it", "exists"
            )
    if not os.access(folder, os.W_OK):
        raise FileError(
            f"cannot write {path.name}: the folder {folder.resolve()} is not writable", "place"
        )


def check_columns(kind: str, names: Counter[str]) -> None:
    """Check that a file of this kind can have columns of these names.

    Raises:
        FileError: it cannot.
    """
    twice = [name for name, count in names.items() if count > 1]
    if kind == "parquet" and twice:
        raise FileError(
            f"the column {twice[0]!r} occurs twice, and Parquet needs different names: rename one,"
            " or write a .csv",
            "columns",
        )
    if kind == "xlsx" and names.total() > MOST_COLUMNS:
        raise FileError(
            f"a sheet holds {MOST_COLUMNS:,} columns: write .csv or .parquet", "columns"
        )


def check_rows(kind: str, rows: int) -> None:
    """Check that a file of this kind can have so many rows.

    Raises:
        FileError: it cannot.
    """
    if kind == "xlsx" and rows > MOST_ROWS:
        raise FileError(
            f"a sheet holds {MOST_ROWS:,} rows, and the file has {rows:,}: write .csv or .parquet",
            "rows",
        )


def write_table(
    kind: str, path: Path | BinaryIO, schema: pa.Schema, chunks: Iterable[Chunk], rows: int
) -> list[str]:
    """Write so many rows of a schema; gives sentences on cells that the file cannot hold whole.

    A CSV is UTF-8 with commas, quoted where a cell needs it; missing is empty, decimals and dates
    are written in full, truth values as True and False.
    """
    if kind == "xlsx":
        return _write_sheet(path, schema, chunks, rows)
    if kind == "parquet":
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
            for chunk in chunks:
                writer.write_table(chunk.table)
        return []
    names = pa.table([pa.array([name], pa.string()) for name in schema.names], schema.names)
    with nullcontext(path) if not isinstance(path, Path) else path.open("wb") as file:
        _write_lines(file, names.columns)
        for chunk in chunks:
            for start in range(0, chunk.table.num_rows, _AT_ONCE):
                _write_lines(file, _csv_columns(chunk, start))
        file.flush()
    return []


_AT_ONCE = 16_384
"""Rows joined at once: twice as fast as larger blocks, which do not fit the CPU's cache."""
_NO_TEXT = pa.scalar("", pa.large_string())


def _csv_columns(chunk: Chunk, start: int) -> list[pa.ChunkedArray]:
    columns = []
    for position, column in enumerate(chunk.table.slice(start, _AT_ONCE).columns):
        stored = chunk.stored.get(position)
        if stored is None:
            columns.append(_texts(column))
        else:
            some = stored[start : start + _AT_ONCE]
            cells = [None if cell is None else cell_text(cell) for cell in some]
            columns.append(pa.chunked_array([pa.array(cells, pa.large_string())]))
    return columns


def _write_lines(file: BinaryIO, columns: Sequence[pa.ChunkedArray]) -> None:
    """Write rows of texts: joined by Arrow, and written from its buffer."""
    cells = [_quoted(column.cast(pa.large_string())) for column in columns]
    empty = {"null_handling": "replace", "null_replacement": ""}
    end, comma = pa.scalar("\n", pa.large_string()), pa.scalar(",", pa.large_string())
    cells[-1] = pc.binary_join_element_wise(cells[-1], end, _NO_TEXT, **empty)
    for piece in pc.binary_join_element_wise(*cells, comma, **empty).chunks:
        if len(piece):
            file.write(_bytes_of(piece))


def safe_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
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
    return any(letter.encode() in found for letter in letters)


def _bytes_of(texts: pa.LargeStringArray) -> memoryview:
    """The bytes of all cells, which Arrow stores one behind the other."""
    _, offsets, letters = texts.buffers()
    if letters is None or not len(texts):
        return memoryview(b"")
    ends = memoryview(offsets).cast("q")
    return memoryview(letters)[ends[texts.offset] : ends[texts.offset + len(texts)]]


_CENTS = r"^\(?-?\$?-?(?:[0-9]{1,3}(?:,[0-9]{3}){1,3}|0|[1-9][0-9]{0,12})\.[0-9]{2}\)?$"
"""Dollars written with both cents, which no ZIP Code and no number of an order is."""
_MOST_CENTS = 10**15
"""More digits than a cell of a sheet holds."""


def money_columns(rows: Table, positions: Sequence[int], amounts: Collection[int]) -> list[int]:
    """Which columns of a CSV have money in every cell: in a sheet they are numbers.

    Args:
        rows: the CSV.
        positions: the columns that may be money.
        amounts: those that are read as amounts, however they are written. In the others each cell
            has to be written with both cents: so nothing of it is lost.
    """
    if not positions:  # a file of places alone
        return []
    first = islice(rows.chunks(positions), 1)  # which shows of most columns that they are not
    left = _money_of(first, positions, amounts)
    return _money_of(rows.chunks(left), left, amounts) if left else []


def _money_of(
    chunks: Iterable[Chunk], positions: Sequence[int], amounts: Collection[int]
) -> list[int]:
    left = list(positions)
    for chunk in chunks:
        for position, cells in zip(positions, chunk.table.columns, strict=True):
            column = texts_of_formulas(cells)
            if position in left and not _is_money(column, as_written=position in amounts):
                left.remove(position)
    return left


def _is_money(column: pa.ChunkedArray, *, as_written: bool) -> bool:
    exact = pc.match_substring_regex(column, _CENTS)
    if not as_written and not pc.all(exact, min_count=0).as_py():
        return False
    cents, wrong, _ = whole_cents(_texts_of(column))
    fits = int(np.abs(cents).max(initial=0)) < _MOST_CENTS
    return fits and len(wrong) == int(column.null_count)


def as_numbers(column: pa.ChunkedArray, *, as_written: bool) -> pa.ChunkedArray:
    """A column of text as decimals where it is money in every cell; else as it is.

    Args:
        column: the cells.
        as_written: whether it is read as amounts, however they are written; else each cell has to
            be written with both cents.
    """
    if not pa.types.is_string(column.type):
        return column
    some = column.null_count < len(column)
    return as_money(column) if some and _is_money(column, as_written=as_written) else column


def as_money(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column that is money in every cell as decimals; an empty cell is missing."""
    missing = column.is_null().combine_chunks().to_numpy(zero_copy_only=False)
    cents, *_ = whole_cents(_texts_of(column))
    return pa.chunked_array(pa.array(decimals(cents, missing, MONEY)))


def _texts_of(column: pa.ChunkedArray) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(column))


def _write_sheet(
    path: Path | BinaryIO, schema: pa.Schema, chunks: Iterable[Chunk], rows: int
) -> list[str]:
    """Write a workbook with one sheet; cells hold values, never formulas that came from data."""
    heads = [_head(field) for field in schema]
    cut = 0

    def blocks() -> Iterator[list[Values]]:
        nonlocal cut
        for chunk in chunks:
            cut += sum(map(_cut, chunk.table.columns))
            for start in range(0, chunk.table.num_rows, _AT_ONCE):
                columns = enumerate(chunk.table.slice(start, _AT_ONCE).columns)
                yield [
                    list(chunk.stored[position][start : start + _AT_ONCE])
                    if position in chunk.stored
                    else _without_zone(column)
                    for position, column in columns
                ]

    with open_book(path, title="Lines") as book:
        book.rows("Lines", heads, rows, blocks())
    if not cut:
        return []
    note = (
        f"Texts longer than the {LONGEST:,} letters that a cell of a sheet holds were cut, and end"
        f" so: {cut:,}; a .csv or .parquet holds them whole"
    )
    return [note]


def _head(field: pa.Field) -> Head:
    kind, right = "plain", False
    if pa.types.is_decimal(field.type):
        kind, right = f"0.{'0' * field.type.scale}", True
    elif pa.types.is_timestamp(field.type):
        kind = "time"
    elif pa.types.is_date(field.type):
        kind = "date"
    elif pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
        right = True
    return Head(field.name, kind, min(max(len(field.name) + 3, 11), 40), right)


def _cut(column: pa.ChunkedArray) -> int:
    """How many texts do not fit a cell."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return 0
    return pc.sum(pc.greater(pc.utf8_length(column), LONGEST)).as_py() or 0


def _without_zone(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times in UTC without their zone, as in the added columns; others are written as text."""
    if pa.types.is_timestamp(column.type) and column.type.tz == "UTC":
        return column.cast(pa.timestamp(column.type.unit))
    return column
