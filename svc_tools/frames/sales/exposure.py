"""From sales to exposure: of a frame, and of a file of any size."""

# MERGED together: The daily totals of several files as those of one.
# MERGED adding: Sales added up by state, day and channel, slice by slice: exact cents, and bounded memory.

from __future__ import annotations

from collections import Counter
from contextlib import closing
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.display import counted
from svc_tools.frames.files.reading import open_rows
from svc_tools.frames.money import whole_cents
from svc_tools.frames.notes import say
from svc_tools.frames.queries import factorized
from svc_tools.frames.sales.columns import (
    FIRST_DAY,
    LAST_DAY,
    LeftOut,
    Orders,
    Unread,
    days_of_rows,
    find_sales_columns,
    hashes_of,
)
from svc_tools.frames.taxes.due import channel_of
from svc_tools.nexus import Register, Thresholds, exposure, read_register, read_thresholds
from svc_tools.places import STATES, Elsewhere, state_code, time_zone
from svc_tools.places.days import text_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
    from datetime import tzinfo
    from typing import TypeAlias

    from svc_tools.frames.sales.columns import SalesColumns
    from svc_tools.frames.taxes.due import Nexus

    Days: TypeAlias = tuple[date | str, date | str]
    Table: TypeAlias = Thresholds | str | Path

_KEYS = ["state", "day", "channel"]
_CENT_COLUMNS = ("retail_cents", "taxable_cents")

SLICE = 500_000
"""Rows that are read at once."""
_CHANNELS = ("direct", "marketplace")
_SPAN = LAST_DAY - FIRST_DAY + 1
_MOST = 4e18
"""Cents, without regard to sign, that are added up in 64 bits."""
_PARTS = ("retail", "taxable")
_AMOUNT_REASONS = {
    "missing": "amount: missing",
    "whole number of cents": "amount: not a whole number of cents",
    "out of range": "amount: out of range",
}
_NO_NUMBER = "amount: not a number of dollars such as 12.50"
_SHOWN = 5
_UNKNOWN, _OUTSIDE = -1, -2
"""Instead of a state's number."""
_LOST = ("rows", "cents", "unsized")


def exposure_of_frame(
    frame: pd.DataFrame,
    given: Mapping[str, object],
    *,
    as_of: date | str | None,
    register: Nexus | None,
    thresholds: Table | None,
    covers: Days | None,
    tz: str | tzinfo | None,
    progress: bool,
) -> pd.DataFrame:
    """See `SvcAccessor.exposure` for the meaning of the arguments."""
    terms = _terms(register, thresholds)  # a register that cannot be read is said at once
    return _exposed(daily_sales(frame, given, tz=tz), terms, as_of, covers, progress=progress)


def exposure_of_file(
    path: str | Path,
    *more: str | Path,
    amount: Hashable | None = None,
    date: Hashable | None = None,
    state: Hashable | None = None,
    channel: Hashable | None = None,
    retail: Hashable | None = None,
    taxable: Hashable | None = None,
    transaction: Hashable | None = None,
    as_of: date | str | None = None,
    register: Nexus | None = None,
    thresholds: Table | None = None,
    covers: Days | None = None,
    tz: str | tzinfo | None = None,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    progress: bool = True,
) -> pd.DataFrame:
    """`df.svc.exposure()` for a CSV, XLSX or Parquet file of any size: it is read in chunks.

    Args:
        path: the file.
        more: further files of the same columns, counted together with it. An order whose lines lie
            in several files counts once in each.
        amount: as in `df.svc.exposure()`, and so are the following.
        date: see there.
        state: see there.
        channel: see there.
        retail: see there.
        taxable: see there.
        transaction: see there.
        as_of: see there.
        register: see there.
        thresholds: see there.
        covers: see there.
        tz: see there.
        sheet: the name of a workbook's sheet; the first one if it is left out.
        delimiter: what separates the cells of a CSV; found if it is left out.
        encoding: the encoding of a CSV; found if it is left out.
        progress: say how the file was understood, and what was left out and why.

    Returns:
        What `df.svc.exposure()` returns.

    Raises:
        FileError: the file cannot be read.
        ValueError: as for `df.svc.exposure()`; or a file is given twice.
    """
    terms = _terms(register, thresholds)
    given = _given(amount, date, state, channel, retail, taxable, transaction)
    paths = [Path(one) for one in (path, *more)]
    twice = [one for one, times in Counter(one.resolve() for one in paths).items() if times > 1]
    if twice:
        raise ValueError(f"{twice[0].name} is given twice: its sales would count twice")
    dailies = [
        daily_sales_of_file(one, given, tz=tz, sheet=sheet, delimiter=delimiter, encoding=encoding)
        for one in paths
    ]
    return _exposed(together(dailies, paths), terms, as_of, covers, progress=progress)


def daily_sales(
    frame: pd.DataFrame, given: Mapping[str, object], *, tz: str | tzinfo | None = None
) -> pd.DataFrame:
    """The sales of a frame as totals by state, day and channel; `given` names columns by role."""
    columns = find_sales_columns(frame, given)
    narrow = frame[list(dict.fromkeys(columns.columns.values()))]
    slices = (narrow.iloc[start : start + SLICE] for start in range(0, len(narrow), SLICE))
    return _added_up(columns, slices, tz)


def daily_sales_of_file(
    path: Path,
    given: Mapping[str, object],
    *,
    tz: str | tzinfo | None = None,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> pd.DataFrame:
    """The sales of a file as totals by state, day and channel, read chunk by chunk."""
    with closing(open_rows(path, sheet=sheet, delimiter=delimiter, encoding=encoding)) as rows:
        names = list(rows.schema.names)
        first = next(
            (chunk.frame(range(len(names))) for chunk in rows.chunks()),
            pd.DataFrame(columns=pd.Index(names, dtype=object)),
        )
        columns = find_sales_columns(first, given)
        wanted = list(dict.fromkeys(columns.columns.values()))
        positions = [names.index(str(label)) for label in wanted]

        def frames() -> Iterator[pd.DataFrame]:
            for chunk in rows.chunks(positions):
                yield chunk.frame(range(len(positions)))

        return _added_up(columns, frames(), tz, [*rows.notes])


def _added_up(
    columns: SalesColumns,
    frames: Iterable[pd.DataFrame],
    tz: str | tzinfo | None,
    notes: Iterable[str] = (),
) -> pd.DataFrame:
    adding = Adding(columns, time_zone(tz))
    for frame in frames:
        adding.take(frame)
    daily = adding.daily()
    if adding.rows and adding.left_out.total == adding.rows:
        raise ValueError("no row can be counted; " + "; ".join(adding.left_out.sentences()))
    daily.attrs["svc_sales"]["notes"] = [*notes, *daily.attrs["svc_sales"]["notes"]]
    return daily


def _given(*values: object) -> dict[str, object]:
    roles = ("amount", "date", "state", "channel", "retail", "taxable", "transaction")
    return dict(zip(roles, values, strict=True))


def _terms(register: Nexus | None, thresholds: Table | None) -> tuple[Register | None, Thresholds]:
    """The register and the thresholds, read."""
    table = thresholds if isinstance(thresholds, Thresholds) else read_thresholds(thresholds)
    if register is None or isinstance(register, Register):
        return register, table
    return read_register(register), table


def _exposed(
    daily: pd.DataFrame,
    terms: tuple[Register | None, Thresholds],
    as_of: date | str | None,
    covers: Days | None,
    *,
    progress: bool,
) -> pd.DataFrame:
    register, thresholds = terms
    day = _as_of(as_of, daily)
    result = exposure(daily, as_of=day, thresholds=thresholds, register=register, covers=covers)
    if progress:
        say(result.attrs["svc_exposure"]["notes"])
    return result


def _as_of(as_of: date | str | None, daily: pd.DataFrame) -> date:
    """The day that is asked about: as it is given, else the last day with a sale, or today."""
    today = datetime.now().astimezone().date()
    if as_of is None:
        last = daily["day"].max() if len(daily) else None
        return today if last is None else min(last.date(), today)
    if as_of == "today":
        return today
    if isinstance(as_of, str):
        try:
            return date.fromisoformat(as_of)
        except ValueError:
            raise ValueError(
                f"as_of: {as_of!r} is no date such as '2026-05-01', nor 'today'"
            ) from None
    return as_of


def together(dailies: Sequence[pd.DataFrame], paths: Sequence[Path]) -> pd.DataFrame:
    """Add up daily totals; what is said of each file is said with its name.

    Raises:
        ValueError: only some of the files have retail or taxable amounts.
    """
    if len(dailies) == 1:
        return dailies[0]
    for part in _CENT_COLUMNS:
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
        "rows": sum(one["rows"] for one in noted),
        "left_out": [cause for one in noted for cause in one["left_out"]],
        "uncounted": [part for one in noted for part in one["uncounted"]],
        "notes": [
            f"{path.name}: {note}"
            for path, one in zip(paths, noted, strict=True)
            for note in one["notes"]
        ],
    }
    return added


_STATES = tuple(sorted(STATES))


class Adding:
    """Totals of the slices taken so far.

    The memory depends on the days between the first and the last sale, not on the rows; with
    a column of orders eight bytes are kept for each order.
    """

    def __init__(self, columns: SalesColumns, tz: tzinfo | None = None) -> None:
        self._columns, self._tz = columns, tz
        self._parts = [part for part in _PARTS if part in columns.columns]
        self._names = ("gross", "refund", *self._parts, "count", "rows")
        self._first = 0
        self._sums: dict[str, np.ndarray] = {}
        self._size = 0.0
        self._orders = Orders() if "transaction" in columns.columns else None
        self._whole: Counter[str] = Counter()
        self._channels: Counter[str] = Counter()
        self._lost = {name: np.zeros(len(_STATES) + 1, np.int64) for name in _LOST}
        self.left_out = LeftOut()
        self.rows = 0

    def take(self, frame: pd.DataFrame) -> None:
        """Add some rows up.

        Raises:
            ValueError: what a column or a value says is not understood at all.
            TypeError: a column of amounts holds truth values.
        """
        self.rows += len(frame)
        cents, no_amount = self._amounts(frame)
        days, no_day = days_of_rows(frame[self._columns.columns["date"]], self._tz)
        states, no_state = self._states(frame)
        kept = self.left_out.take([no_amount, no_day, no_state], len(frame))
        self._lose(~kept & ~(no_day.rows & (states == _UNKNOWN)), states, cents, no_amount.rows)
        if not kept.any():
            return
        market = self._marketplace(frame, kept)
        rows = slice(None) if kept.all() else np.flatnonzero(kept)
        parts = {part: self._part(frame, part, cents, kept)[rows] for part in self._parts}
        cents, days = cents[rows], days[rows]
        groups = states[rows] * len(_CHANNELS) + market[rows]
        self._make_room(int(days.min()), int(days.max()))
        table = self._sums["gross"]
        cells = groups * table.shape[1] + (days - self._first)
        self._add("gross", cells, cents)
        negative = np.flatnonzero(cents < 0)
        self._add("refund", cells[negative], cents[negative])
        for part, of_part in parts.items():
            self._add(part, cells, of_part)
        self._add("rows", cells, None)
        sold = np.flatnonzero(cents >= 0)
        if self._orders is None:
            self._add("count", cells[sold], None)
        else:
            column = frame[self._columns.columns["transaction"]].iloc[rows].iloc[sold]
            numbers = groups[sold] * _SPAN + (days[sold] - FIRST_DAY)
            self._count_orders(self._orders, column, numbers, cells[sold])

    def daily(self) -> pd.DataFrame:
        """The totals by state, day and channel, as `nexus.exposure` wants them."""
        size = self._sums["rows"].shape[1] if self._sums else 0
        if self._orders is not None and self._sums:
            groups, orders = self._orders.counts()
            group, day = np.divmod(groups, _SPAN)
            np.add.at(self._sums["count"], (group, day + FIRST_DAY - self._first), orders)
            self._orders = Orders()
        group, day = np.nonzero(self._sums["rows"]) if size else (np.empty(0, np.int64),) * 2
        state, channel = np.divmod(group, len(_CHANNELS))
        totals = {name: self._sums[name][group, day] if size else group for name in self._names}
        nothing = pd.array([None] * len(group), dtype="Int64")
        parts = {f"{part}_cents": totals.get(part, nothing) for part in _PARTS}
        frame = pd.DataFrame(
            {
                "state": pd.array(np.array(_STATES, object), dtype="str").take(state),
                "day": (day + self._first).astype("datetime64[D]").astype("datetime64[s]"),
                "channel": pd.array(np.array(_CHANNELS, object), dtype="str").take(channel),
                "gross_cents": totals["gross"],
                **parts,
                "refund_cents": totals["refund"],
                "count": totals["count"],
            }
        )
        frame.attrs["svc_sales"] = {
            "rows": self.rows,
            "left_out": self.left_out.told(),
            "uncounted": self._told_lost(),
            "notes": [*self._columns.notes, *self.left_out.sentences(), *self._said()],
        }
        return frame

    def _lose(
        self, rows: np.ndarray, states: np.ndarray, cents: np.ndarray, unsized: np.ndarray
    ) -> None:
        """Keep what may be sold beside what is counted, by state; the last place is any state.

        A row without a state and a day is no sale (a line of totals, an empty one); one of a
        place outside of the states is none of theirs.
        """
        at = np.flatnonzero(rows & (states != _OUTSIDE))
        sold = np.where(unsized, 0, np.maximum(cents, 0))
        for name, values in zip(_LOST, (np.ones_like(cents), sold, unsized), strict=True):
            np.add.at(self._lost[name], states[at], values[at])

    def _told_lost(self) -> list[dict[str, object]]:
        """The same in plain values; the state is "" where it may be any."""
        return [
            {"state": state} | {name: int(of[place]) for name, of in self._lost.items()}
            for place, state in enumerate((*_STATES, ""))
            if self._lost["rows"][place]
        ]

    def _amounts(self, frame: pd.DataFrame) -> tuple[np.ndarray, Unread]:
        column = frame[self._columns.columns["amount"]]
        cents, wrong, _ = whole_cents(column)
        unread = Unread(len(frame))
        by_reason: dict[str, list[int]] = {}
        for row, told in wrong.items():
            known = (reason for words, reason in _AMOUNT_REASONS.items() if told.endswith(words))
            fraction = _AMOUNT_REASONS["whole number of cents"] if "cents;" in told else _NO_NUMBER
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

    def _part(
        self, frame: pd.DataFrame, part: str, gross: np.ndarray, kept: np.ndarray
    ) -> np.ndarray:
        """Retail or taxable cents; a cell that cannot be read counts in full, a refund not."""
        column = frame[self._columns.columns[part]]
        cents, wrong, _ = whole_cents(column, part)
        if wrong:
            rows = np.fromiter(wrong, np.int64, len(wrong))
            cents[rows] = np.maximum(gross[rows], 0)
            self._whole[part] += int(np.count_nonzero(kept[rows]))
        return cents

    def _states(self, frame: pd.DataFrame) -> tuple[np.ndarray, Unread]:
        unread = Unread(len(frame))
        if "state" in self._columns.values:  # noqa: PD011 - no frame's
            code = state_code(str(self._columns.values["state"]))  # noqa: PD011
            return np.full(len(frame), _STATES.index(str(code)), np.int64), unread
        column = frame[self._columns.columns["state"]]
        codes, values = factorized(column, column.name)
        numbers = np.full(len(values) + 1, _UNKNOWN, np.int64)
        outside = np.zeros(len(values) + 1, bool)
        blank = np.zeros(len(values) + 1, bool)
        blank[-1] = True
        for place, value in enumerate(values):
            code = state_code(value) if isinstance(value, str) else None
            blank[place] = text_of(value) is None
            outside[place] = isinstance(code, Elsewhere)
            if isinstance(code, str):
                numbers[place] = _STATES.index(code)
            elif outside[place]:
                numbers[place] = _OUTSIDE
        states = numbers[codes]
        unknown = states < 0
        cell = column.iloc
        unread.add(blank[codes], "state: missing")
        unread.add(outside[codes], "state: outside of the 50 states and DC", lambda row: cell[row])
        unread.add(unknown, "state: not known", lambda row: cell[row])
        return states, unread

    def _marketplace(self, frame: pd.DataFrame, kept: np.ndarray) -> np.ndarray:
        """1 for a marketplace's sale, else 0; a word that says neither counts as direct."""
        given = self._columns.columns.get("channel", self._columns.values.get("channel"))  # noqa: PD011
        if given is None:
            return np.zeros(len(frame), np.int64)
        channel = channel_of(frame, given)
        unknown = int(np.count_nonzero(channel.unknown & kept))
        if unknown:
            self._whole["channel"] += unknown
            self._channels.update(channel.odd[:_SHOWN])
        return channel.marketplace.astype(np.int64)

    def _count_orders(
        self, orders: Orders, column: pd.Series, numbers: np.ndarray, cells: np.ndarray
    ) -> None:
        """Count the orders that rows name; a row without a name is one by itself."""
        hashes, unnamed = hashes_of(column)
        self._add("count", cells[unnamed], None)
        orders.see(numbers[~unnamed], hashes[~unnamed])

    def _add(self, name: str, cells: np.ndarray, cents: np.ndarray | None) -> None:
        flat = self._sums[name].reshape(-1)
        if cents is None:
            flat += np.bincount(cells, minlength=len(flat))
        else:
            np.add.at(flat, cells, cents)

    def _make_room(self, first: int, last: int) -> None:
        """Let the tables reach from the first day to the last."""
        if not self._sums:
            shape = (len(_STATES) * len(_CHANNELS), last - first + 1)
            self._first = first
            self._sums = {name: np.zeros(shape, np.int64) for name in self._names}
            return
        size = self._sums["rows"].shape[1]
        before = max(self._first - first, 0)
        after = max(last - (self._first + size - 1), 0)
        if before or after:
            wider = ((0, 0), (before, after))
            self._sums = {name: np.pad(table, wider) for name, table in self._sums.items()}
            self._first -= before

    def _said(self) -> list[str]:
        """What was counted otherwise than it may be meant."""
        said = [
            f"{part}: not readable in {counted(self._whole[part], 'row')}; there the whole"
            " amount counts"
            for part in self._parts
            if self._whole[part]
        ]
        if self._whole["channel"]:
            words = ", ".join(map(repr, list(self._channels)[:_SHOWN])) or "missing"
            said.append(
                f"channel: neither direct nor marketplace in"
                f" {counted(self._whole['channel'], 'row')} ({words}); they count as direct"
            )
        return said
