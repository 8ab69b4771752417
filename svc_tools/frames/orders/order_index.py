"""The orders of a file whose rows may lie in several chunks, by eight bytes each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.frames.orders.hashes import NO_HASHES, CentsByHash, Hashes, MostByHash
from svc_tools.frames.orders.order_lines import WIDTH, LineIndex
from svc_tools.frames.orders.orders import Orders
from svc_tools.frames.orders.sale import OrderMarks
from svc_tools.frames.orders.total_rows import total_rows
from svc_tools.tables.cells import text_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from svc_tools.frames.orders.reading import Reading


class OrderIndex:
    """The orders of a file, whose rows may lie in several chunks, by eight bytes each.

    A first pass lets it `see` all chunks; after `begin`, a second one gets the `marks` of each
    chunk, in the same order.
    """

    def __init__(self, reading: Reading, columns: Mapping[str, Hashable]) -> None:
        self._reading, self._columns = reading, columns
        self._head: pd.DataFrame | None = None
        self._counted = NO_HASHES
        self._totals = total_rows(reading.orders)
        self._with_amounts, self._off, self._left = Hashes(), Hashes(), CentsByHash()
        self._heads, self._most = Hashes(), MostByHash()
        self._lines = LineIndex()
        self._exempt = {(yes, further): Hashes() for yes in (True, False) for further in (0, 1)}

    def begin(self) -> None:
        """Begin with the first chunk again."""
        self._head, self._counted = None, NO_HASHES
        self._totals = total_rows(self._reading.orders)

    def completed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows of the next chunk with their places, dates and statuses."""
        head, reading = self._head, self._reading
        whole = frame if head is None else pd.concat([head, frame], ignore_index=True)
        whole = Orders(whole, reading).completed(self._columns)
        if reading.order is None or not len(whole):
            return whole
        whole = Orders(whole, reading).stated()
        self._head = _last_head(whole, reading.order)
        return whole if head is None else whole.iloc[1:].set_axis(frame.index)

    def see(self, frame: pd.DataFrame, exempt: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Record the orders of a completed chunk.

        Args:
            frame: its rows.
            exempt: which rows are exempt, and of which that is not known.
        """
        if not self._applies(frame):
            return
        orders = Orders(frame, self._reading)
        further, with_amounts = self._counted_before(orders)
        numbers, keys, undated = orders.keys()
        own, numbered = np.where(undated, numbers, keys), orders.numbered
        self._with_amounts.add(numbers[with_amounts], keys[with_amounts])
        rest = orders.rest(further)
        if self._by_order:
            self._left.add(own[numbered & (rest != 0)], rest[numbered & (rest != 0)])
            rest = np.zeros_like(rest)
        self._off.add(own[numbered & orders.bad(further, rest)])
        self._heads.add(own[numbered & ~orders.item] if self._reading.items else NO_HASHES)
        if (cents := orders.sizes) is not None:
            self._most.add(own[numbered], cents[numbered])
        self._see_lines(orders, own, further)
        if exempt is None:
            return
        yes, unknown = exempt
        further = further | ~with_amounts
        for flag in (True, False):
            known = ~unknown & (yes == flag)
            first = known & ~further
            self._exempt[flag, 0].add(numbers[first], keys[first])
            self._exempt[flag, 1].add(own[known & further])

    def marks(
        self, frame: pd.DataFrame, whole: Callable[[], pd.DataFrame] | None = None
    ) -> OrderMarks:
        """What is known of the rows of a completed chunk.

        Args:
            frame: its rows.
            whole: gives the rows with all columns of the file, where the frame has some of them.
        """
        return self.marks_of(Orders(frame, self._reading), whole)

    def marks_of(
        self, orders: Orders, whole: Callable[[], pd.DataFrame] | None = None
    ) -> OrderMarks:
        """The same of rows that are read as orders already, by the same reading."""
        frame = orders.frame
        known = self._reading.export is not None
        totals = np.zeros(len(frame), bool) if known else orders.totals(self._totals, whole=whole)
        if not self._applies(frame):
            further = orders.further
            lines = orders.figures_of_orders(further)
            alone = OrderMarks.none(len(frame))
            return alone._replace(totals=totals, off=orders.off(further), lines=lines)
        further, with_amounts = self._counted_before(orders)
        numbers, keys, undated = orders.keys()
        own, numbered = np.where(undated, numbers, keys), orders.numbered
        further |= ~with_amounts & self._with_amounts.has(own) & numbered
        further |= orders.item & numbered & self._heads.has(own)
        if (cents := orders.sizes) is not None:
            further |= numbered & (cents < self._most.of(own))
        parted = np.zeros(len(frame), bool)
        for flag in (True, False):
            first, others = self._exempt[flag, 0].all, self._exempt[not flag, 1].all
            partly = np.intersect1d(first, others)
            parted = parted | np.isin(numbers, partly) | np.isin(keys, partly)
        off = orders.off(further)
        if not known and self._has_seen:
            off = np.where(numbered, self._off.has(own) | self._left.has(own), off)
        lines, unlike = self._marks_of_lines(orders, numbers, keys, further)
        return OrderMarks(further, parted & numbered, totals, off, lines, unlike)

    def _see_lines(self, orders: Orders, own: np.ndarray, further: np.ndarray) -> None:
        """Record what the lines of a chunk add to their orders."""
        numbered = orders.numbered
        if self._reading.lines is None:
            return
        if self._reading.of_whole_orders:
            figures = orders.figures_of_lines(further)
            heads = ~further & (figures[:, 0] != 0)
            self._lines.see(own[numbered], figures[numbered], heads[numbered])
        else:
            off = orders.taken_off_rows(orders.amounts_of_rows()).off
            self._lines.see_unlike(own[numbered & off])

    def _marks_of_lines(
        self, orders: Orders, numbers: np.ndarray, keys: np.ndarray, further: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The figures of the lines of each row's order; and where one is of an unlike amount."""
        if self._reading.lines is None or not self._reading.of_whole_orders:
            unlike = self._lines.unlike(numbers, keys) & orders.numbered
            return np.zeros((len(further), WIDTH), np.int64), unlike
        figures = self._lines.figures(numbers, keys)
        alone = ~orders.numbered
        if alone.any():  # each of these rows is an order by itself
            figures[alone] = orders.figures_of_lines(further)[alone]
        return figures, np.zeros(len(further), bool)

    @property
    def _by_order(self) -> bool:
        sums = self._reading.sums
        return sums is not None and sums.by_order

    @property
    def _has_seen(self) -> bool:
        return bool(len(self._with_amounts.all))

    def _applies(self, frame: pd.DataFrame) -> bool:
        reading = self._reading
        there = reading.order is not None and bool(reading.once)
        return there and {reading.order, *reading.once} <= {*frame.columns} and bool(len(frame))

    def _counted_before(self, orders: Orders) -> tuple[np.ndarray, np.ndarray]:
        """The rows that count in a row above, here or in a chunk before, and those with amounts."""
        hashes, with_amounts = orders.hashes()
        further = orders.further.copy()
        counts = with_amounts & ~further
        before = counts & np.isin(hashes, self._counted)
        new = np.unique(hashes[counts & ~before])
        self._counted = np.sort(np.concatenate([self._counted, new]), kind="stable")
        return further | before, with_amounts


def _last_head(frame: pd.DataFrame, order: Hashable) -> pd.DataFrame | None:
    """The first row of the order that the last rows are of; `None` where they have no number."""
    numbers = frame[order]
    last = numbers.iloc[-1]
    if text_of(last) is None:
        return None
    others = np.flatnonzero((numbers != last).fillna(value=True).to_numpy(bool))
    return frame.iloc[[int(others[-1]) + 1 if len(others) else 0]]
