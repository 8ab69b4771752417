"""Exposure of the sales of a frame, or of files of any size.

Sales are summed by state, day and channel, slice by slice: exact cents, in bounded memory.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing, suppress
from dataclasses import replace
from datetime import date, datetime
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, cast

import numpy as np
import pandas as pd

from svc_tools.frames.lookup.columns import style_of
from svc_tools.frames.lookup.queries import DateColumn, date_cells, factorized
from svc_tools.frames.options import (
    ExposureArguments,
    ExposureOptions,
    FileOptions,
    options_of,
    takes,
)
from svc_tools.frames.orders.deciding import DECIDING_ROWS
from svc_tools.frames.orders.order_index import OrderIndex
from svc_tools.frames.orders.orders import Orders, foreign_rows
from svc_tools.frames.orders.sale import Counts
from svc_tools.frames.orders.sums import Sums
from svc_tools.frames.sales.columns import (
    AMOUNT_PARTS,
    FIRST_DAY,
    LAST_DAY,
    UnreadCells,
    days_of_rows,
    find_sales_columns,
    hashes_of,
)
from svc_tools.frames.taxes.amounts import refuse_if_open
from svc_tools.frames.taxes.due import channel_of
from svc_tools.frames.values.odd_cells import rows_of
from svc_tools.nexus import Register, Thresholds, exposure, read_register, read_thresholds
from svc_tools.show.display import counted
from svc_tools.show.meters import say
from svc_tools.tables.cells import text_of
from svc_tools.tables.dates import decide, one_day
from svc_tools.tables.exports import recognized
from svc_tools.tables.states import STATES, Elsewhere, state_code
from svc_tools.tables.tabular import names_explained, open_table
from svc_tools.tables.text_dtype import text_dtype

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from svc_tools.frames.orders.reading import Reading
    from svc_tools.frames.orders.sale import Dollars, OrderMarks
    from svc_tools.frames.orders.sums import Term
    from svc_tools.frames.sales.columns import SalesColumns
    from svc_tools.tables.dates import DateStyle, Parsed
    from svc_tools.tables.tabular import Table


def exposure_of_frame(
    frame: pd.DataFrame, options: ExposureOptions, *, progress: bool
) -> pd.DataFrame:
    """See `SvcAccessor.exposure` for the meaning of the options."""
    terms = _terms(options)  # fails early if one cannot be read
    return _exposed(daily_sales(frame, options), terms, options, progress=progress)


@takes(ExposureArguments, ExposureOptions)
def exposure_of_file(
    path: str | Path,
    *more: str | Path,
    amount: Hashable | None = None,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    progress: bool = True,
    **arguments: Unpack[ExposureArguments],
) -> pd.DataFrame:
    """`df.svc.exposure()` for a CSV, XLSX or Parquet file of any size: it is read in chunks.

    What the columns mean is decided by the first 20,000 rows and more, and checked on all.

    Args:
        path: the file.
        more: further files with the same columns, added to it. An order with lines in several
            files counts once in each.
        amount: as in `df.svc.exposure()`, and so are all that are not listed here.
        sheet: the name of a workbook's sheet; by default the first visible one.
        delimiter: what separates the cells of a CSV; by default detected.
        encoding: the encoding of a CSV; by default detected.
        progress: show how the file was read, and what was left out and why.
        **arguments: see there.

    Returns:
        What `df.svc.exposure()` returns.

    Raises:
        FileError: the file cannot be read.
        ValueError: as for `df.svc.exposure()`; or a file is given twice.
    """
    options = options_of(ExposureOptions, "exposure_of_file", {"amount": amount, **arguments})
    terms = _terms(options)
    paths = [Path(name) for name in (path, *more)]
    twice = [first for first, other in combinations(paths, 2) if _is_one_file(first, other)]
    if twice:
        raise ValueError(f"{twice[0].name} is given twice: its sales would count twice")
    files = FileOptions(sheet=sheet, delimiter=delimiter, encoding=encoding)
    dailies = [daily_sales_of_file(each_path, options, files) for each_path in paths]
    return _exposed(together(dailies, paths), terms, options, progress=progress)


def _is_one_file(path: Path, other: Path) -> bool:
    """Whether two paths lead to one file: through links, or in upper and lower case on macOS."""
    with suppress(OSError):  # one that is missing is reported when it is read
        return path.samefile(other)
    return False


def _terms(options: ExposureOptions) -> tuple[Register | None, Thresholds]:
    """The registrations and the thresholds, read."""
    register, thresholds = options.register, options.thresholds
    if not isinstance(thresholds, Thresholds):
        thresholds = read_thresholds(cast("str | Path | None", thresholds))
    if register is None or isinstance(register, Register):
        return register, thresholds
    return read_register(register), thresholds


def _exposed(
    daily: pd.DataFrame,
    terms: tuple[Register | None, Thresholds],
    options: ExposureOptions,
    *,
    progress: bool,
) -> pd.DataFrame:
    register, thresholds = terms
    day = _as_of(options.as_of, daily)
    result = exposure(
        daily, as_of=day, thresholds=thresholds, register=register, covers=options.covers
    )
    if progress:
        say(result.attrs["svc_exposure"]["notes"])
    return result


def _as_of(as_of: date | str | None, daily: pd.DataFrame) -> date:
    """The day of the exposure: as given, otherwise the last day with a sale, at most today."""
    today = datetime.now().astimezone().date()
    if as_of is None:
        last = daily["day"].max() if len(daily) else None
        return today if last is None else min(last.date(), today)
    if as_of == "today":
        return today
    return one_day("as_of", as_of) if isinstance(as_of, str) else as_of


SLICE = 500_000
"""Rows that are read at once."""


def daily_sales(frame: pd.DataFrame, options: ExposureOptions | None = None) -> pd.DataFrame:
    """The sales of a frame as totals by state, day and channel."""
    options = options or ExposureOptions()
    columns = find_sales_columns(frame, options)
    label = columns.columns["date"]
    style = style_of(options.dates(), "date", label, recognized(frame.columns), frame)
    narrow = frame[list(columns.read)]

    def slices() -> Iterator[pd.DataFrame]:
        for start in range(0, len(narrow), SLICE):
            yield narrow.iloc[start : start + SLICE]

    totals = DailyTotals(columns, style, lambda: [date_cells(frame[label], style)])
    return _daily_of(totals, slices, several=len(narrow) > SLICE)


def daily_sales_of_file(path: Path, options: ExposureOptions, files: FileOptions) -> pd.DataFrame:
    """The sales of a file as totals by state, day and channel, read chunk by chunk."""
    with closing(open_table(path, **files.reading)) as rows:
        names = list(rows.schema.names)
        first = first_rows(rows)
        with names_explained(path, rows):
            columns = find_sales_columns(first, options, semicolons=rows.delimiter == ";")
        positions = [names.index(str(label)) for label in columns.read]

        def frames(some: list[int]) -> Iterator[pd.DataFrame]:
            for chunk in rows.chunks(some):
                yield rows_of(chunk)

        label = columns.columns["date"]
        of_dates = [names.index(str(label))]
        named = style_of(options.dates(), "date", label, recognized(first.columns), first)
        style = replace(named, from_1904=rows.from_1904)
        totals = DailyTotals(
            columns,
            style,
            lambda: (date_cells(frame.iloc[:, 0], style) for frame in frames(of_dates)),
        )
        with names_explained(path, rows):
            return _daily_of(totals, lambda: frames(positions), [*rows.notes])


def first_rows(rows: Table) -> pd.DataFrame:
    """The first rows of a file with all columns, by which its columns are decided."""
    chunks: list[pd.DataFrame] = []
    for chunk in rows.chunks():
        chunks.append(rows_of(chunk))
        if sum(map(len, chunks)) >= DECIDING_ROWS:
            break
    if not chunks:
        return pd.DataFrame(columns=pd.Index(rows.schema.names, dtype=object))
    return chunks[0] if len(chunks) == 1 else pd.concat(chunks, ignore_index=True)


def _daily_of(
    totals: DailyTotals,
    frames: Callable[[], Iterable[pd.DataFrame]],
    notes: Iterable[str] = (),
    *,
    several: bool = True,
) -> pd.DataFrame:
    """The sales by state, day and channel; the rows are added to `totals`.

    Args:
        totals: sums of no rows so far.
        frames: reads the rows, slice by slice; called twice where amounts are those of orders.
        notes: what reading the rows reported, which comes first in the notes of the result.
        several: whether there may be a second slice, which orders of the first have rows in.

    Raises:
        ValueError: there are rows, and none can be counted.
    """
    if several and totals.of_orders:
        for frame in frames():
            totals.see(frame)
        totals.begin()
    for frame in frames():
        totals.add(frame)
    daily = totals.daily()
    if totals.rows and totals.left_out.total == totals.rows:
        raise ValueError("no row can be counted; " + "; ".join(totals.left_out.sentences()))
    daily.attrs["svc_sales"]["notes"] = [*notes, *daily.attrs["svc_sales"]["notes"]]
    return daily


_KEYS = ["state", "day", "channel"]


def together(dailies: Sequence[pd.DataFrame], paths: Sequence[Path]) -> pd.DataFrame:
    """Sum the daily totals of several files; the notes on a file begin with its name.

    Raises:
        ValueError: only some of the files have retail or taxable amounts.
    """
    if len(dailies) == 1:
        return dailies[0]
    for part in ("retail_cents", "taxable_cents"):
        has = [bool(daily[part].notna().any()) for daily in dailies]
        if any(has) and not all(has):
            lacks = paths[has.index(False)].name
            raise ValueError(
                f"{lacks} has no {part.removesuffix('_cents')} amounts, which other files have;"
                " name its column, or give files of one kind"
            )
    joined = pd.concat([daily for daily in dailies if len(daily)] or [dailies[0]])
    added = joined.groupby(_KEYS, sort=False, as_index=False, observed=True).sum(min_count=1)
    noted = [daily.attrs["svc_sales"] for daily in dailies]
    added.attrs["svc_sales"] = {
        "rows": sum(of_file["rows"] for of_file in noted),
        "left_out": [cause for of_file in noted for cause in of_file["left_out"]],
        "uncounted": [part for of_file in noted for part in of_file["uncounted"]],
        "notes": [
            f"{path.name}: {note}"
            for path, of_file in zip(paths, noted, strict=True)
            for note in of_file["notes"]
        ],
    }
    return added


_STATES = tuple(sorted(STATES))
_CHANNELS = ("direct", "marketplace")
_SPAN = LAST_DAY - FIRST_DAY + 1
_MOST = 4e18
"""Cents, whatever their sign, up to which sums fit 64 bits."""
_UNKNOWN, _OUTSIDE = -1, -2
"""Used in place of a state's number."""
_ABROAD = "shipped to another country"
_LOST = ("rows", "cents", "unsized")
_OFF = "do not add up"
_AMOUNT_REASONS = {
    _OFF: "amount: the amounts of the order do not add up",
    "missing": "amount: missing",
    "whole number of cents": "amount: not a whole number of cents",
    "out of range": "amount: out of range",
    "not in US dollars": "amount: not in US dollars",
}
_NO_NUMBER = "amount: not a number of dollars such as 12.50"


class DailyTotals:
    """Sums sales by state, day and channel, slice by slice.

    The memory depends on the days with sales, not on the rows; orders take eight bytes each.
    """

    def __init__(
        self, columns: SalesColumns, style: DateStyle, every_date: Callable[[], Iterable[Parsed]]
    ) -> None:
        """Begin with no rows.

        Args:
            columns: which columns are read.
            style: how dates are read, as far as that is decided.
            every_date: reads all dates of the source, where one slice alone does not decide it.
        """
        self._columns, self._style, self._every_date = columns, style, every_date
        self._rests: Counter[str] = Counter()
        self._parts = [*columns.parts]
        self._sums: pd.DataFrame | None = None
        self._size = 0.0
        self._orders = DistinctOrders() if "order" in columns.columns else None
        self._whole: Counter[str] = Counter()
        self._channels: Counter[str] = Counter()
        self._lost = {name: np.zeros(len(_STATES) + 1, np.int64) for name in _LOST}
        self.left_out = LeftOut()
        self.rows = 0
        self._left: Counter[str] = Counter()
        self._counts = Counts()
        roles = {"state": "state", "as_of": "date"}
        read = {role: columns.columns[of] for role, of in roles.items() if of in columns.columns}
        self._index = OrderIndex(columns.reading, read)
        self._of_parts = {
            part: OrderIndex(_alone(columns.reading, term), read)
            for part, term in columns.parts.items()
            if (term.once or term.head) and columns.reading.export is None
        }

    def see(self, frame: pd.DataFrame) -> None:
        """Record the orders of a slice, where a first pass reads all of them."""
        frame = self._index.completed(frame)
        for index in (self._index, *self._of_parts.values()):
            index.see(frame, None)

    def begin(self) -> None:
        """Begin with the first slice again."""
        for index in (self._index, *self._of_parts.values()):
            index.begin()

    @property
    def of_orders(self) -> bool:
        """Whether amounts are those of whole orders: a first row may lie behind its others."""
        return bool(self._columns.reading.once or self._of_parts)

    def add(self, frame: pd.DataFrame) -> None:
        """Add the rows of a slice.

        Raises:
            ValueError: a column cannot be read at all.
            TypeError: a column of amounts has truth values.
        """
        self.rows += len(frame)
        frame, cents, no_amount, of_parts = self._sold(frame)
        column = frame[self._columns.columns["date"]]
        dates = DateColumn.of(column, self._style)
        if self._style.needs_decision(dates.cells):
            self._style = decide(self._every_date(), self._style)
        read = dates.days(self._style)
        self._rests += read.rests
        days, no_day = days_of_rows(column, read)
        states, no_state = self._states(frame)
        counts = self.left_out.record([no_amount, no_day, no_state], len(frame))
        self._lose(~counts & ~(no_day.rows & (states == _UNKNOWN)), states, cents, no_amount.rows)
        if not counts.any():
            return
        market = self._marketplace(frame, counts)
        rows = slice(None) if counts.all() else np.flatnonzero(counts)
        parts = {part: self._part(part, of_parts[part], cents, counts)[rows] for part in of_parts}
        cents = cents[rows]
        groups = (states[rows] * len(_CHANNELS) + market[rows]) * _SPAN + (days[rows] - FIRST_DAY)
        sold = cents >= 0
        if self._orders is not None:  # a row without an order number counts as one
            column = frame[self._columns.columns["order"]].iloc[rows]
            hashes, unnamed = hashes_of(column)
            self._orders.see(groups[sold & ~unnamed], hashes[sold & ~unnamed])
            sold &= unnamed
        totals = {"gross": cents, **parts, "refund": np.minimum(cents, 0)}
        totals["count"] = sold.astype(np.int64)
        summed = pd.DataFrame(totals, copy=False).groupby(groups, sort=False).sum()
        if self._sums is not None:
            summed = pd.concat([self._sums, summed]).groupby(level=0, sort=False).sum()
        self._sums = summed

    def daily(self) -> pd.DataFrame:
        """The totals by state, day and channel, as `nexus.exposure` takes them.

        Raises:
            ColumnAmbiguous: the rows say something else of their columns than the first ones.
        """
        reading = self._columns.reading
        refuse_if_open(self._counts, reading, call="exposure")
        for left_out in ("currency", *(["off"] if reading.export is None else [])):
            self._counts.rows[left_out] = 0  # rows of which `left_out` says so
        names = ["gross", *self._parts, "refund", "count"]
        sums = pd.DataFrame(columns=names, dtype=np.int64) if self._sums is None else self._sums
        if self._orders is not None:
            groups, orders = self._orders.counts()
            counts = pd.Series(orders, groups).reindex(sums.index, fill_value=0)
            sums = sums.assign(count=sums["count"] + counts)
            self._orders = None
        sums = sums.sort_index()
        group, day = np.divmod(sums.index.to_numpy(np.int64), _SPAN)
        state, channel = np.divmod(group, len(_CHANNELS))
        nothing = pd.array([None] * len(sums), dtype="Int64")
        cents = {
            f"{name}_cents": sums[name].to_numpy() if name in names else nothing
            for name in ("gross", *AMOUNT_PARTS, "refund")
        }
        frame = pd.DataFrame(
            {
                "state": pd.array(np.array(_STATES, object), dtype=text_dtype()).take(state),
                "day": (day + FIRST_DAY).astype("datetime64[D]").astype("datetime64[s]"),
                "channel": pd.array(np.array(_CHANNELS, object), dtype=text_dtype()).take(channel),
                **cents,
                "count": sums["count"].to_numpy(),
            }
        )
        frame.attrs["svc_sales"] = {
            "rows": self.rows,
            "left_out": self.left_out.as_json(),
            "uncounted": self._uncounted(),
            "notes": [
                *self._columns.notes,
                *self._style.notes(self._rests),
                *self._counts.sentences(reading),
                *(
                    f"left out, {why}: {counted(rows, 'row')}"
                    for why, rows in self._left.items()
                    if rows
                ),
                *self.left_out.sentences(),
                *self._default_notes(),
            ],
        }
        return frame

    def _lose(
        self, rows: np.ndarray, states: np.ndarray, cents: np.ndarray, unsized: np.ndarray
    ) -> None:
        """Record possible sales that are not counted, by state; the last place is any state.

        A row without a state and a day is not a sale (a line of totals, an empty one); one of a
        place outside the states belongs to none.
        """
        at = np.flatnonzero(rows & (states != _OUTSIDE))
        sold = np.where(unsized, 0, np.maximum(cents, 0))
        for name, values in zip(_LOST, (np.ones_like(cents), sold, unsized), strict=True):
            np.add.at(self._lost[name], states[at], values[at])

    def _uncounted(self) -> list[dict[str, object]]:
        """The possible sales as plain values; the state is "" where it may be any."""
        return [
            {"state": state} | {name: int(of[place]) for name, of in self._lost.items()}
            for place, state in enumerate((*_STATES, ""))
            if self._lost["rows"][place]
        ]

    def _sold(
        self, frame: pd.DataFrame
    ) -> tuple[pd.DataFrame, np.ndarray, UnreadCells, dict[str, Dollars]]:
        """The rows that may be sales, their amounts, and the parts of these."""
        reading = self._columns.reading
        country = self._columns.columns.get("country")
        frame = self._index.completed(frame)
        orders = Orders(frame, reading)
        marks = self._index.marks_of(orders)
        sale = orders.sale(marks)
        self._counts.add(sale.counts)
        cents = sale.amount.cents + (0 if sale.shipping is None else sale.shipping.cents)
        of_parts = {
            part: orders.amounts(term, part, self._marks_of(part, frame, marks)).of
            for part, term in self._columns.parts.items()
        }
        empty = sale.further & (cents == 0)
        for of in of_parts.values():
            empty &= of.cents == 0
        abroad = foreign_rows(frame, country) & ~empty
        self._left[_ABROAD] += int(np.count_nonzero(abroad & ~sale.no_sale))
        kept = ~(sale.no_sale | empty | abroad)
        wrong = sale.wrong
        if kept.all():
            column = frame[self._columns.columns["amount"]]
            return frame, *self._amounts(column, cents, wrong), of_parts
        rows = np.flatnonzero(kept)
        place = np.cumsum(kept) - 1
        of_parts = {part: _of_rows(of, kept, place) for part, of in of_parts.items()}
        wrong = {int(place[row]): reason for row, reason in wrong.items() if kept[row]}
        frame = frame.iloc[rows]
        column = frame[self._columns.columns["amount"]]
        return frame, *self._amounts(column, cents[rows], wrong), of_parts

    def _marks_of(self, part: str, frame: pd.DataFrame, marks: OrderMarks) -> OrderMarks:
        """What is known of the rows for a part; where it is the order's by itself."""
        index = self._of_parts.get(part)
        if index is None:
            return marks
        return marks._replace(further=index.marks(frame).further)

    def _amounts(
        self, column: pd.Series, cents: np.ndarray, wrong: Mapping[int, str]
    ) -> tuple[np.ndarray, UnreadCells]:
        """The amounts of a slice, and its rows without one by reason; adds to the size of all sums.

        Raises:
            ValueError: the amounts so far add up to more than can be held.
        """
        unread = UnreadCells(len(column))
        by_reason: dict[str, list[int]] = {}
        for row, text in wrong.items():
            plain = text.partition(" to '")[0] if _OFF in text else text
            known = (reason for words, reason in _AMOUNT_REASONS.items() if plain.endswith(words))
            fraction = _AMOUNT_REASONS["whole number of cents"] if "cents;" in text else _NO_NUMBER
            by_reason.setdefault(next(known, fraction), []).append(row)
        for reason, rows in by_reason.items():
            shown = None if reason.endswith("missing") else column.iloc
            unread.add_rows(np.array(sorted(rows)), reason, shown)
        self._size += float(np.abs(cents).sum(dtype=np.float64))
        if self._size > _MOST:
            raise ValueError(
                f"amount: column {column.name!r} adds up to more than can be held; is it dollars?"
            )
        return cents, unread

    def _part(self, part: str, of: Dollars, gross: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Retail or taxable cents; where a cell cannot be read the full amount, of a refund 0."""
        cents = of.cents
        if of.wrong:
            rows = np.fromiter(of.wrong, np.int64, len(of.wrong))
            cents[rows] = np.maximum(gross[rows], 0)
            self._whole[part] += int(np.count_nonzero(counts[rows]))
        return cents

    def _states(self, frame: pd.DataFrame) -> tuple[np.ndarray, UnreadCells]:
        """The number of each row's state, and the rows without a state by reason."""
        unread, label = UnreadCells(len(frame)), self._columns.columns.get("state")
        if label is None:  # one state for all rows
            codes = np.zeros(len(frame), np.intp)
            values: list[object] = [self._columns.values["state"]]  # noqa: PD011 - no frame's
        else:
            codes, values = factorized(frame[label])
        numbers = np.full(len(values) + 1, _UNKNOWN, np.int64)
        blank = np.zeros(len(values) + 1, bool)
        blank[-1] = True
        for place, value in enumerate(values):
            code = state_code(value)
            blank[place] = text_of(value) is None
            if code is not None:
                numbers[place] = _OUTSIDE if isinstance(code, Elsewhere) else _STATES.index(code)
        states = numbers[codes]

        def cell(row: int) -> object:
            return values[codes[row]]

        unread.add(blank[codes], "state: missing")
        unread.add(states == _OUTSIDE, "state: outside of the 50 states and DC", cell)
        unread.add(states == _UNKNOWN, "state: not known", cell)
        return states, unread

    def _marketplace(self, frame: pd.DataFrame, counts: np.ndarray) -> np.ndarray:
        """1 for a marketplace sale, else 0; any other word counts as direct."""
        given = self._columns.columns.get("channel", self._columns.values.get("channel"))  # noqa: PD011
        if given is None:
            return np.zeros(len(frame), np.int64)
        channel = channel_of(frame, given)
        unknown = int(np.count_nonzero(channel.unknown & counts))
        if unknown:
            self._whole["channel"] += unknown
            self._channels.update(channel.odd[:5])
        return channel.marketplace.astype(np.int64)

    def _default_notes(self) -> list[str]:
        """Notes on cells that could not be read and were counted by default."""
        notes = [
            f"{part}: not readable in {counted(self._whole[part], 'row')}; there the whole"
            " amount counts"
            for part in self._parts
            if self._whole[part]
        ]
        if self._whole["channel"]:
            words = ", ".join(map(repr, list(self._channels)[:5])) or "missing"
            notes.append(
                f"channel: neither direct nor marketplace in"
                f" {counted(self._whole['channel'], 'row')} ({words}); they count as direct"
            )
        return notes


def _alone(reading: Reading, term: Term) -> Reading:
    """The reading with one column of the whole order, by which further rows are known."""
    sums = Sums((term,), witness="given")
    return replace(reading, sums=sums, once=(term.label,), of_order=(term.label,))


def _of_rows(of: Dollars, kept: np.ndarray, place: np.ndarray) -> Dollars:
    """The amounts of these rows, with the reasons at their new places."""
    wrong = {int(place[row]): reason for row, reason in of.wrong.items() if kept[row]}
    return of._replace(cents=of.cents[kept], wrong=wrong)


class LeftOut:
    """The rows that are not counted, over all slices: each with its first reason."""

    def __init__(self) -> None:
        self._rows: Counter[str] = Counter()
        self._examples: dict[str, str] = {}

    @property
    def total(self) -> int:
        """How many rows are left out; each is counted once."""
        return self._rows.total()

    def record(self, columns: list[UnreadCells], rows: int) -> np.ndarray:
        """Record the unread rows of a slice; the rows that are counted, as a mask."""
        mask = np.ones(rows, bool)
        for unread in columns:
            numbers = np.bincount(unread.codes[mask], minlength=len(unread.reasons) + 1).tolist()
            for (reason, example), count in zip(unread.reasons, numbers[1:], strict=True):
                if count:
                    self._rows[reason] += count
                    self._examples.setdefault(reason, example)
            mask &= ~unread.rows
        return mask

    def as_json(self) -> list[dict[str, object]]:
        """The reasons with their numbers of rows, the most frequent first, as plain values."""
        return [
            {"reason": reason, "rows": rows, "example": self._examples[reason]}
            for reason, rows in self._rows.most_common()
        ]

    def sentences(self) -> list[str]:
        """The reasons in words."""
        texts = []
        for reason, rows in self._rows.most_common():
            example = self._examples[reason]
            texts.append(
                f"left out, {reason}: {rows:,} row{'' if rows == 1 else 's'}"
                + (f", for instance {example!r}" if example else "")
            )
        return texts


_HASH_BITS = 41
_LEAST = 1 << 20
"""Keys that are collected before duplicates are removed."""


class DistinctOrders:
    """Counts the distinct orders of each group; a group is a number below 2 to the 23rd.

    An order counts once for each state, day and channel of its lines. Each order takes eight bytes
    (up to 24 for a moment, while duplicates are removed). 41 bits of its hash are compared: among
    50,000 orders of one state, day and channel two are taken for one with a chance of 1 in 1,700.
    """

    def __init__(self) -> None:
        self._keys: list[np.ndarray] = []
        self._waiting = 0
        self._settled = 0

    def see(self, groups: np.ndarray, hashes: np.ndarray) -> None:
        """Add rows."""
        keys = groups.astype(np.uint64) << np.uint64(_HASH_BITS)
        keys |= hashes >> np.uint64(64 - _HASH_BITS)
        self._keys.append(keys)
        self._waiting += len(keys)
        if self._waiting > max(self._settled, _LEAST):
            self._settle()

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """The groups that have orders, and how many each has."""
        self._settle()
        groups = (self._keys[0] >> np.uint64(_HASH_BITS)).astype(np.int64)
        return np.unique(groups, return_counts=True)

    def _settle(self) -> None:
        every = np.concatenate([np.empty(0, np.uint64), *self._keys])
        every.sort()
        first = np.ones(len(every), bool)
        np.not_equal(every[1:], every[:-1], out=first[1:])
        self._keys = [every[first]]
        self._waiting, self._settled = 0, len(self._keys[0])
