"""Sales added up by state, day and channel, slice by slice: exact cents, and bounded memory."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.display import counted
from svc_tools.frames.factorizing import factorized
from svc_tools.frames.sales.dates import FIRST_DAY, LAST_DAY, days_of_rows
from svc_tools.frames.sales.left_out import LeftOut, Unread
from svc_tools.frames.sales.orders import Orders, hashes_of
from svc_tools.frames.taxes.amounts import whole_cents
from svc_tools.frames.taxes.due import channel_of
from svc_tools.places import STATES, Elsewhere, state_code
from svc_tools.places.days import text_of

if TYPE_CHECKING:
    from datetime import tzinfo

    from svc_tools.frames.sales.columns import SalesColumns

__all__ = ["SLICE", "Adding"]

SLICE = 500_000
"""Rows that are read at once."""
_STATES = tuple(sorted(STATES))
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
