"""An enriched file read again as the frame that it was: `svc-tools review` and `reconcile`.

The user's columns are as the file has them. The added ones, which are found as everywhere
(`added_positions`), have the types of the table of columns again. A column with a cell that cannot
be read so, because it was edited by hand or by a spreadsheet, stays as it is, and is named.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import is_object_dtype

from svc_tools.base.atomic import whole_file
from svc_tools.frames.added.names import added_positions
from svc_tools.frames.added.rates import rates_of, shares_of, truths_of
from svc_tools.frames.added.stamp import Stamp
from svc_tools.frames.files.rates import attributes_in, with_stamp
from svc_tools.frames.files.writing import (
    as_numbers,
    check_columns,
    check_rows,
    safe_text,
    write_table,
)
from svc_tools.frames.lookup.queries import DateColumn
from svc_tools.frames.values.arrow import MONEY, RATE, SHARE, arrow_column, decimals, recoded
from svc_tools.frames.values.money import whole_cents
from svc_tools.frames.values.odd_cells import rows_of
from svc_tools.lookup.columns import COLUMNS, RATES
from svc_tools.show.display import FIRST_ROW
from svc_tools.tables.csv_files import FORMULA_STARTS, FileError
from svc_tools.tables.dates import DateTerms, NoDate, decide
from svc_tools.tables.roles import DatesAmbiguous
from svc_tools.tables.tabular import Chunk, cell_text

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence
    from pathlib import Path

    from pandas.api.extensions import ExtensionArray

    from svc_tools.frames.values.arrow import Coded
    from svc_tools.frames.values.decimal_marks import Mark
    from svc_tools.lookup.columns import CellForm
    from svc_tools.tables.tabular import Table

_STATUS = "lookup_status"


@dataclass(frozen=True, slots=True)
class ChangedColumn:
    """A column that was added by a run, with cells that are no longer of its kind.

    Attributes:
        label: the column.
        rows: how many such cells it has.
        row: the row of the first one, as a spreadsheet counts them.
        cell: what stands there.
    """

    label: str
    rows: int
    row: int
    cell: str


@dataclass(frozen=True, slots=True, eq=False)
class EnrichedFile:
    """The rows of a file that has been looked up.

    Attributes:
        frame: all rows and columns; its index is the rows of a spreadsheet.
        prefix: that of the lookup that is read.
        others: the prefixes of the other lookups in the file.
        taxed: whether the file has the tax of this lookup.
        remembers: whether the file has what its run remembered of it, such as the terms of the
            tax; a CSV and a workbook have not.
        unread: the added columns that stay as they are in the file.
    """

    frame: pd.DataFrame
    prefix: str
    others: tuple[str, ...]
    taxed: bool
    remembers: bool
    unread: tuple[ChangedColumn, ...]


def enriched_file(
    rows: Table, name: str, prefix: str = "", dates: DateTerms | None = None
) -> EnrichedFile | None:
    """Read a file as the frame that it was; `None` where no lookup has added columns to it.

    Args:
        rows: the file.
        name: its name, for messages.
        prefix: that of the lookup; without one the only lookup of the file is read.
        dates: what is said of how the days are read that a spreadsheet has written.

    Raises:
        FileError: the file has other lookups, or several, and none with this prefix; or a rate in
            it is a percentage.
    """
    if not any(label.endswith(_STATUS) for label in rows.schema.names):
        return None
    frame = rows_of(_whole(rows))
    frame.attrs = attributes_in(rows.schema.metadata)
    stamp = Stamp.of(frame)
    found = {
        found_prefix: places
        for found_prefix, places in added_positions(frame).items()
        if f"{found_prefix}{_STATUS}" in {frame.columns[at] for at in places}
    }
    if not found:
        return None
    chosen = _chosen(found, prefix, name)
    is_csv, unread = rows.delimiter is not None, dict[str, list[ChangedColumn]]()
    for found_prefix, places in found.items():
        if found_prefix not in stamp.columns:  # else the file has the types, too
            unread[found_prefix] = _give_types(
                frame, found_prefix, places, dates or DateTerms(), is_csv=is_csv
            )
    wrong = unread.get(chosen, [])  # the figures are those of one lookup
    _refuse_percentages(wrong, name)
    return EnrichedFile(
        frame=in_rows_of_a_sheet(frame),
        prefix=chosen,
        others=tuple(found_prefix for found_prefix in found if found_prefix != chosen),
        taxed=f"{chosen}tax" in {frame.columns[at] for at in found[chosen]},
        remembers=chosen in stamp.terms or chosen in stamp.columns,
        unread=tuple(wrong),
    )


_PERCENTAGE = re.compile(r"[0-9.,]+\s*%|[1-9][0-9]*(?:[.,][0-9]+)?")


def _refuse_percentages(unread: Sequence[ChangedColumn], name: str) -> None:
    """Refuse a file whose rates a spreadsheet has made percentages, which it may have rounded.

    Where 8.25 stands for 0.0825, the 0.5 of another row is no half either.
    """
    rates = [changed for changed in unread if changed.label.endswith((*RATES,))]
    for changed in rates:
        if _PERCENTAGE.fullmatch(changed.cell.strip()):
            raise FileError(
                f"{name}: {changed.label!r} in row {changed.row:,} is {changed.cell!r}, which may"
                " be a rounded percentage; rates are fractions such as 0.08250. Use the file as it"
                " was written, or enrich it again",
                "rates",
            )


def _chosen(found: Collection[str], wanted: str, name: str) -> str:
    """The prefix of the lookup that is meant."""
    if wanted in found:
        return wanted
    if len(found) == 1 and not wanted:
        return next(iter(found))
    there = " and one ".join(map(with_prefix, found))
    if wanted:
        raise FileError(
            f"{name} has no lookup with the prefix {wanted!r}, but one {there}", "prefix"
        )
    raise FileError(f"{name} has several lookups, one {there}: name the one to read", "prefix")


def with_prefix(prefix: str) -> str:
    """Which lookup of a file is meant, in words."""
    return f"with the prefix {prefix!r}" if prefix else "without a prefix"


def _whole(rows: Table) -> Chunk:
    """All rows of a file at once."""
    chunks = [*rows.chunks()] or [Chunk(rows.schema.empty_table())]
    stored_cells = {
        place: [cell for chunk in chunks for cell in chunk.stored[place]]
        for place in chunks[0].stored
    }
    return Chunk(pa.concat_tables([chunk.table for chunk in chunks]), stored_cells)


def in_rows_of_a_sheet(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame, with the rows of a spreadsheet as its index, in which the names are row 1."""
    frame.index = pd.RangeIndex(FIRST_ROW, FIRST_ROW + len(frame), name="Row")
    return frame


def write_frame(
    frame: pd.DataFrame,
    path: Path,
    kind: str,
    *,
    made: Collection[Hashable] = (),
    numbers: Collection[Hashable] | None = None,
) -> list[str]:
    """Write the rows of a frame to a file of this kind, whole or not at all, without their index.

    Args:
        frame: the rows.
        path: the file; an existing one is replaced.
        kind: `csv`, `xlsx` or `parquet`.
        made: the columns that are no lookup's and not the user's: in a CSV their texts, and those
            of a lookup, do not run in a spreadsheet.
        numbers: the user's columns of amounts, where texts that are money in every cell become
            numbers in a sheet, as those of a CSV; `None` where they stay text.

    Returns:
        Sentences on cells that the file cannot hold whole.

    Raises:
        FileError: such a file cannot hold these columns, or so many rows.
    """
    check_columns(kind, Counter(map(str, frame.columns)))
    check_rows(kind, len(frame))
    ours = {at for places in added_positions(frame).values() for at in places}
    ours |= {at for at, label in enumerate(frame.columns) if label in made}
    arrays: list[pa.ChunkedArray] = []
    cells: dict[int, list[object]] = {}
    for at, label in enumerate(frame.columns):
        column = frame.iloc[:, at]
        if is_object_dtype(column.dtype):
            cells[at] = [None if _is_missing(cell) else cell for cell in column.tolist()]
            texts = [None if cell is None else cell_text(cell) for cell in cells[at]]
            arrays.append(pa.chunked_array([pa.array(texts, pa.string())]))
            continue
        array = arrow_column(column)
        if at in ours and kind == "csv":
            array = safe_text(array)
        elif at not in ours and kind == "xlsx" and numbers is not None:
            array = as_numbers(array, as_written=label in numbers)
        arrays.append(array)
    names = zip(map(str, frame.columns), arrays, strict=True)
    schema = pa.schema([pa.field(name, values.type) for name, values in names])
    schema = schema.with_metadata(with_stamp(None, Stamp.of(frame)))
    with whole_file(path) as draft:
        table = pa.Table.from_arrays(arrays, schema=schema)
        return write_table(kind, draft, schema, [Chunk(table, cells)], len(frame))


def _is_missing(cell: Any) -> bool:  # noqa: ANN401 - a cell of any column
    return bool(pd.api.types.is_scalar(cell) and pd.isna(cell))


class _Read(NamedTuple):
    """The cells of a column in its type, and the rows with a cell that is not of it."""

    cells: ExtensionArray
    wrong: Sequence[int]


@dataclass(frozen=True, slots=True)
class _Reader:
    """How the added columns of one lookup are read.

    Attributes:
        mark: how numbers are written, which the rates show: each is 0 and a fraction.
        dates: what is said of how days are read.
        is_csv: whether texts that a spreadsheet would run have an apostrophe.
    """

    mark: Mark
    dates: DateTerms
    is_csv: bool

    def read(self, column: pd.Series, form: CellForm, name: str) -> _Read | None:
        """The column in the type of its form; `None` where its days have two meanings."""
        if form in {"rate", "share", "money"}:
            kinds = {"rate": self._rates, "share": self._shares, "money": self._money}
            return kinds[form](column, name)
        if form == "truth":
            return _truths(column, name)
        if form == "day":
            return self._days(column, name)
        if form == "moment":
            return _moments(column)
        return _Read(self._texts(column, name, in_categories=form == "category"), ())

    def _rates(self, column: pd.Series, name: str) -> _Read:
        read = rates_of(self._with_points(column).to_frame(name), name)
        return _Read(decimals(read.units, read.missing, RATE), [*read.wrong])

    def _shares(self, column: pd.Series, name: str) -> _Read:
        read = shares_of(self._with_points(column).to_frame(name), name)
        return _Read(decimals(read.units, read.missing, SHARE), [*read.wrong])

    def _with_points(self, column: pd.Series) -> pd.Series:
        """The column with points as decimal marks."""
        if self.mark != "comma":
            return column
        texts = _coded(column)
        return _series(texts, [text.replace(",", ".") for text in texts.values])  # noqa: PD011 - no frame's

    def _money(self, column: pd.Series, name: str) -> _Read:
        try:
            cents, without, _ = whole_cents(column, name, self.mark)
        except TypeError:  # truth values
            return _Read(column.array, range(len(column)))
        missing = np.zeros(len(column), bool)
        missing[[*without]] = True
        blank = _coded(column).where(lambda text: not text.strip())
        return _Read(decimals(cents, missing, MONEY), np.flatnonzero(missing & ~blank).tolist())

    def _days(self, column: pd.Series, name: str) -> _Read | None:
        known = self.dates.style(name, column.name)
        parsed = DateColumn.of(column, known)
        try:
            days = parsed.days(decide([parsed.cells], known))
        except DatesAmbiguous:
            return None
        of_values = [None if isinstance(day, NoDate) else day for day in days.each]
        wrong = np.array([isinstance(day, NoDate) for day in days.each], bool)
        cells_of_rows = _arrow(pa.array(of_values, pa.date32())).take(days.codes)
        return _Read(cells_of_rows, np.flatnonzero(wrong[days.codes]).tolist())

    def _texts(self, column: pd.Series, name: str, *, in_categories: bool) -> ExtensionArray:
        texts = _coded(column)
        each = [_bare(text) if self.is_csv else text for text in texts.values]  # noqa: PD011 - no frame's
        if name.endswith("resolved_zip"):  # a spreadsheet takes it for a number
            each = [text.zfill(_ZIP) if text.isdecimal() else text for text in each]
        made = _series(texts, each)
        cells: ExtensionArray = (made.astype("category") if in_categories else made).array
        return cells


_RATE_WITH_COMMA = re.compile(r"0,[0-9]{1,5}")
_ZIP = 5
"""The digits of a ZIP Code."""


def _give_types(
    frame: pd.DataFrame, prefix: str, places: Sequence[int], dates: DateTerms, *, is_csv: bool
) -> list[ChangedColumn]:
    """Give the added columns of a lookup their types; those that stay as they are."""
    forms: Mapping[str, CellForm] = {prefix + column.name: column.form for column in COLUMNS}
    of_places = {at: form for at in places if (form := forms.get(str(frame.columns[at])))}
    rates = [frame.iloc[:, at] for at, form in of_places.items() if form == "rate"]
    reader = _Reader(_mark_of(rates) if is_csv else "point", dates, is_csv)
    unread = []
    for at, form in of_places.items():
        column, label = frame.iloc[:, at], str(frame.columns[at])
        read = reader.read(column, form, label)
        if read is None:
            continue
        if len(read.wrong):
            first = read.wrong[0]
            shown = cell_text(column.iloc[first])
            unread.append(ChangedColumn(label, len(read.wrong), FIRST_ROW + first, shown))
        else:
            frame.isetitem(at, read.cells)
    return unread


def _mark_of(rates: Sequence[pd.Series]) -> Mark:
    """How the numbers of a CSV are written, as its rates show it."""
    cells = {text for column in rates for text in _coded(column).values}  # noqa: PD011 - no frame's
    commas = any(_RATE_WITH_COMMA.fullmatch(text) for text in cells)
    return "comma" if commas and not any("." in text for text in cells) else "point"


def _truths(column: pd.Series, name: str) -> _Read:
    try:
        yes = truths_of(column.to_frame(name), name, missing=False)
    except ValueError:
        texts = _coded(column)
        known = texts.where(lambda text: text.strip().lower() in {"", "true", "false", "0", "1"})
        return _Read(column.array, np.flatnonzero(~known).tolist())
    blank = _coded(column).where(lambda text: not text.strip())
    return _Read(pd.arrays.BooleanArray(np.asarray(yes, bool), blank), ())


def _moments(column: pd.Series) -> _Read | None:
    """Moments in UTC, as a sheet has them without their zone."""
    cells, kind = pa.array(column.array), pa.timestamp("us", "UTC")
    try:
        if pa.types.is_timestamp(cells.type) and cells.type.tz is None:
            cells = pc.assume_timezone(cells.cast(pa.timestamp("us")), "UTC")
        return _Read(_arrow(cells.cast(kind)), ())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # no figure is made of them
        return None


def _arrow(cells: pa.Array | pa.ChunkedArray) -> pd.arrays.ArrowExtensionArray:
    whole = cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])
    return pd.arrays.ArrowExtensionArray(whole)


def _bare(text: str) -> str:
    """A text without the apostrophe of `safe_text`."""
    return text[1:] if text[:1] == "'" and text[1:].startswith(FORMULA_STARTS) else text


def _coded(column: pd.Series) -> Coded[str]:
    """The cells as texts, each distinct one once; a missing one is empty."""
    codes, distinct = pd.factorize(column)
    texts = [*map(cell_text, distinct), ""]
    return recoded(np.where(codes < 0, len(distinct), codes), texts)


def _series(texts: Coded[str], values: Sequence[str]) -> pd.Series:
    """The rows of these texts, with other values in their places."""
    return pd.Series(recoded(texts.codes, values).column())
