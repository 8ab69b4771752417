"""The rows of a sales file as sales: places, dates and amounts, each order counted once.

`Orders` reads the rows of a frame, or of a chunk of a file, as a `Reading` says; it changes nothing
of what the user sees.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from svc_tools.frames.added.names import columns_of_lookups
from svc_tools.frames.orders.currencies import rows_abroad
from svc_tools.frames.orders.figures import money_table
from svc_tools.frames.orders.order_lines import (
    LINES_OFF,
    WIDTH,
    WRONG,
    TakenOff,
    line_figures,
    taken_off,
    taken_off_rows,
)
from svc_tools.frames.orders.order_numbers import OrderColumns, order_hashes, order_rows, text_keys
from svc_tools.frames.orders.row_kinds import row_kinds, signed
from svc_tools.frames.orders.sale import Amounts, Counts, Dollars, OrderMarks, Sale
from svc_tools.frames.orders.sums import Sums, Term
from svc_tools.frames.orders.total_rows import TotalRows, total_rows
from svc_tools.frames.values.arrow import bytes_of, is_number
from svc_tools.frames.values.money import Money, whole_cents
from svc_tools.tables.cells import text_of
from svc_tools.tables.countries import is_abroad
from svc_tools.tables.exports import PLACE_ROLES

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    from svc_tools.frames.orders.order_numbers import Keys
    from svc_tools.frames.orders.reading import Reading


class Orders:
    """The rows of a frame, read as orders. Nothing of the frame is changed.

    Args:
        frame: the rows.
        reading: what their columns mean.
    """

    def __init__(self, frame: pd.DataFrame, reading: Reading) -> None:
        self.reading = reading
        self.frame = frame
        self._read: dict[Hashable, tuple[str, np.ndarray, dict[int, str], int]] = {}

    @cached_property
    def codes(self) -> np.ndarray | None:
        """For each row the number of its order, -1 where it has none; `None`: all are sales.

        Two stores, or two years, may have one number: an order has one number, date and place. A
        row without a date belongs to the order of its number above it.
        """
        columns = self.reading.orders
        named = [
            label for label in (columns.number, columns.day, *columns.place) if label is not None
        ]
        if not {*named} <= {*self.frame.columns}:
            return None
        rows = order_rows(self.frame, columns, self._keys)
        if rows is None and columns.number is not None and self.reading.once:
            # after a filter an order may lack its first row
            return np.where(self.numbered, np.arange(len(self.frame)), -1)
        return rows

    def completed(self, columns: Mapping[str, Hashable]) -> pd.DataFrame:
        """The frame with the place and the date of every row, as far as it has them elsewhere.

        Where all columns of the place are empty, the billing address counts where an export has
        one that may; in a further row of an order, the place of the order's first row that has
        one. A date that is missing is that of the order.

        Args:
            columns: the column of each role that a lookup reads.
        """
        frame, reading = self.frame, self.reading
        if reading.order is None and not reading.billing:
            return frame
        place = {role: label for role, label in columns.items() if role in PLACE_ROLES}
        if not place or not all(label in frame.columns for label in place.values()):
            return frame
        day = columns.get("as_of")
        dated = day is None or day not in frame.columns or not may_have_blanks(frame[day])
        if dated and not all(may_have_blanks(frame[label]) for label in place.values()):
            return frame
        empty = np.logical_and.reduce([blank_cells(frame[label]) for label in place.values()])
        done = frame
        if empty.any() and reading.billing:
            done = done.copy(deep=False)
            for role, label in place.items():
                if role in reading.billing:
                    done[label] = _either(done[label], done[reading.billing[role]], empty)
            empty &= np.logical_and.reduce([blank_cells(done[label]) for label in place.values()])
        orders = self.codes
        if orders is None:
            return done
        if empty.any():
            done = _of_order(done, [*place.values()], orders, empty)
        if not dated and day is not None and (undated := blank_cells(frame[day])).any():
            done = _of_order(done, [day], orders, undated)
        return done

    def read_of_places(self, columns: Mapping[str, Hashable]) -> set[Hashable]:
        """The columns that `completed` takes the place and the date of a row from."""
        frame, reading = self.frame, self.reading
        labels = {*columns.values()}
        if reading.order is None and not reading.billing:
            return labels
        if any(may_have_blanks(frame[label]) for label in labels if label in frame.columns):
            orders = reading.orders
            named = (orders.number, orders.day, *orders.place)
            labels |= {*named, *reading.billing.values(), *reading.place.values()} - {None}
        return labels

    def with_places(self, columns: Mapping[str, Hashable]) -> pd.DataFrame:
        """The frame without further rows of an order whose first row is not in it."""
        order, frame = self.reading.order, self.frame
        place = [label for label in self.reading.place.values() if label in frame.columns]
        if order is None or not all(may_have_blanks(frame[label]) for label in place):
            return frame
        if self.codes is None:
            return frame
        alone = _without_place(self.completed(columns), columns)
        alone &= ~blank_cells(self.frame[self.reading.order])
        return self.frame[~alone] if alone.any() else self.frame

    @cached_property
    def further(self) -> np.ndarray:
        """The rows whose amounts count in another row of their order: empty there, or the same."""
        frame, none = self.frame, np.zeros(len(self.frame), bool)
        money = [label for label in self.reading.once if label in frame.columns]
        orders = self.codes if money else None
        if orders is None or not len(frame):
            return none
        empty = np.logical_and.reduce([blank_cells(frame[label]) for label in money])
        first = _first_rows(orders, ~empty)[orders]
        # after a filter the first row of the order may not be there
        alone = (first < 0) & empty & _without_place(frame, self.reading.place)
        same = np.ones(len(frame), bool)
        if self.reading.items:
            same = self.item & (_first_rows(orders, ~self.item)[orders] >= 0)
        elif self.heads.any():
            same = ~self.heads & (orders >= 0)
            first = _first_rows(orders, self.heads)[orders]
        else:
            for label in money:
                codes = pd.factorize(frame[label])[0]
                same &= codes == codes[first]
        row = np.arange(len(frame))
        further: np.ndarray = (first >= 0) & (row != first) & (empty | same)
        further |= alone
        further &= orders >= 0
        return further

    @cached_property
    def item(self) -> np.ndarray:
        """The rows of an item, where an order's first row is the sum of its items."""
        if not self.reading.items:
            return np.zeros(len(self.frame), bool)
        item: np.ndarray = ~np.logical_and.reduce(
            [blank_cells(self.frame[label]) for label in self.reading.items]
        )
        return item

    @cached_property
    def sizes(self) -> np.ndarray | None:
        """The amounts without their signs, where one row of an order is the sum of the others."""
        sums = self.reading.sums
        labels = [] if sums is None else [term.label for term in sums.goods if term.head]
        return np.abs(self.cents_of(Term(labels[0]), "amount")[0]) if labels else None

    @cached_property
    def heads(self) -> np.ndarray:
        """The rows that hold the sum of the other rows of their order."""
        none = np.zeros(len(self.frame), bool)
        codes, cents = self.codes, self.sizes
        if codes is None or cents is None or not (codes >= 0).any():
            return none
        most = np.zeros(int(codes.max()) + 1, np.int64)
        np.maximum.at(most, codes[codes >= 0], cents[codes >= 0])
        largest = (codes >= 0) & (cents == most[codes]) & (cents > 0)
        heads = none.copy()
        first = _first_rows(codes, largest)
        heads[first[first >= 0]] = True
        return heads

    def cents_of(self, term: Term, named: str) -> tuple[np.ndarray, dict[int, str], int]:
        """A term's column as whole cents, why rows have none, and how many floats snapped."""
        if term.times is None:
            if term.label not in self._read:
                mark = self.reading.marks.get(term.label, "point")
                read = whole_cents(self.frame[term.label], named, mark)
                self._read[term.label] = (named, *read)
            first, cents, wrong, snapped = self._read[term.label]
            if named != first:
                wrong = {row: named + why.removeprefix(first) for row, why in wrong.items()}
            return cents, wrong, snapped
        table = money_table(self.frame, term.columns, self.reading.marks, named=[term.label])
        of = table.of(term)
        gone = np.flatnonzero(~of.filled).tolist()
        what = f"{named}: {term.label!r} x {term.times!r} cannot be read"
        blank = blank_cells(self.frame[term.label]) if gone else of.filled
        return of.cents, {row: f"{named}: missing" if blank[row] else what for row in gone}, 0

    def amounts_of_rows(self) -> np.ndarray:
        """The amounts of the rows in cents, as the columns give them."""
        sums = self.reading.sums
        if sums is None:
            return np.zeros(len(self.frame), np.int64)
        return self._added(sums.goods, "amount").cents

    def hashes(self) -> tuple[np.ndarray, np.ndarray]:
        """For each row a hash of its order and its amounts, and the rows that have these."""
        frame, reading = self.frame, self.reading
        money = [label for label in reading.once if label in frame.columns]
        hashes = order_hashes(frame, reading.orders)[0] ^ row_hashes(frame[money])
        empty = np.logical_and.reduce([blank_cells(frame[label]) for label in money])
        return hashes, ~empty & self.numbered

    @property
    def numbered(self) -> np.ndarray:
        """The rows that have the number of an order."""
        return ~blank_cells(self.frame[self.reading.order])

    def keys(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Hashes of the number of each row's order, and of the order; rows without a date or place.

        Such a row, whose first row is in another chunk, is known by its number alone.
        """
        numbers, _ = order_hashes(self.frame, OrderColumns(self.reading.order))
        orders, whole = order_hashes(self.frame, self.reading.orders)
        return numbers, orders, ~whole & self.numbered

    def parted(self, exempt: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The rows of orders of which some rows, among these, are exempt where the first is not."""
        orders = self.codes
        if orders is None:
            return np.zeros(len(self.frame), bool)
        head = _first_rows(orders, ~rows)[orders]
        return _any_of_order(orders, rows & (head >= 0) & (exempt != exempt[head]))

    def amounts(
        self,
        term: Term,
        named: str,
        marks: OrderMarks | None = None,
        *,
        of_sales: bool = True,
        beside: Iterable[Hashable] = (),
    ) -> Amounts:
        """A column of money as an amount of sales.

        An order's column counts once for each, in the row in which the order's amounts do. Rows of
        totals have 0, refunds the sign that the user gives them, and rows in another currency than
        US dollars no amount.

        Args:
            term: the column.
            named: what it is, for the reasons why rows have no amount.
            marks: what is known of the rows from further chunks; of a column of the order that is
                none of the amounts, what an index of it alone knows.
            of_sales: rows that are no sale by their status have 0; else what stands there.
            beside: further columns of money, which show the rows of totals too.
        """
        reading = self.reading
        rows = self._as_stated()
        of = rows.counted_once(term, named, marks)
        kinds = row_kinds(
            rows.frame,
            reading.kinds,
            of.cents,
            orders=lambda: self.codes,
            numbers=lambda: rows.numbers,
        )
        if reading.refunds is not None and kinds.refund.any():
            some = kinds._replace(no_sale=np.zeros_like(kinds.no_sale))
            of = of._replace(cents=signed(of.cents, some, reading.refunds))
        totals = rows.rows_of_totals(marks, (term, *map(Term, beside)))
        ended = _worded(rows.frame, reading.no_sale) | rows.of_another_kind | kinds.no_sale
        abroad = rows_abroad(
            rows.frame, reading.currencies_or_none, [term.label], orders=lambda: self.codes
        )
        no_sale = totals | ended if of_sales else totals
        foreign = {row: why for row, why in abroad.wrong.items() if of.cents[row]}
        return Amounts(_without(of, no_sale, foreign), ended & ~totals, totals)

    def counted_once(self, term: Term, named: str, marks: OrderMarks | None) -> Dollars:
        """A column; where it is the order's in the row in which the order's amounts count."""
        reading = self.reading
        if reading.export is not None or not (term.once or term.head):
            further = self.further if marks is None else marks.further
            return self._added([term], named, further)
        own = Sums((term,), witness="given")
        alone = replace(reading, sums=own, once=(term.label,), of_order=(term.label,))
        orders = Orders(self.frame, alone)
        if marks is not None:  # those of the column by itself
            return orders._added([term], named, marks.further)
        of = orders._added([term], named)
        elsewhere = self.further
        moved = np.flatnonzero(elsewhere & (of.cents != 0))
        if self.codes is None or not len(moved):
            return of
        to = _first_rows(self.codes, ~elsewhere)[self.codes[moved]]
        moved, to = moved[to >= 0], to[to >= 0]
        cents = of.cents.copy()
        np.add.at(cents, to, cents[moved])
        cents[moved] = 0
        wrong = {row: why for row, why in of.wrong.items() if row not in {*to.tolist()}}
        return of._replace(cents=cents, wrong=wrong)

    def sale(self, marks: OrderMarks | None = None) -> Sale:
        """The amounts of the rows as whole cents, as their columns together give them.

        Args:
            marks: what is known of the rows from further chunks.
        """
        return self._as_stated().sale_as_stated(marks)

    def sale_as_stated(self, marks: OrderMarks | None = None) -> Sale:
        """The same, where a further row of an order has its status in its own cells."""
        reading, sums, counts = self.reading, self.reading.sums, Counts()
        if sums is None:
            raise RuntimeError("sale: it is not decided what the amounts are")
        once = self.further if marks is None else marks.further
        of_orders = all(term.once or term.head for term in (*sums.goods, *sums.delivery))
        elsewhere = once if of_orders else np.zeros_like(once)  # a line's own amount counts in it
        goods, delivery = self._parts(sums, once)
        taken = self.taken_off(goods.cents, once, marks)
        goods, delivery = _without_cards(goods, delivery, taken)
        kinds = row_kinds(
            self.frame,
            reading.kinds.words if reading.of_whole_orders else reading.kinds,
            goods.cents,
            orders=lambda: self.codes,
            numbers=lambda: self.numbers,
            counts_in=~elsewhere,
        )
        counts.kinds = kinds.counts
        if reading.refunds is not None:
            goods = goods._replace(cents=signed(goods.cents, kinds, reading.refunds))
            if delivery is not None:
                delivery = delivery._replace(cents=signed(delivery.cents, kinds, reading.refunds))
        no_sale = self._no_sale(goods, elsewhere, kinds.no_sale, counts)
        totals = self.rows_of_totals(marks)
        counts.rows["totals"] = int(np.count_nonzero(totals))
        no_sale = no_sale | totals
        foreign = self._foreign(sums, ~(no_sale | elsewhere), counts)
        self._count_refunds(once | no_sale, counts)
        off = (self.off(once) if marks is None else marks.off) & ~no_sale
        off[[*foreign, *goods.wrong, *(delivery.wrong if delivery else ())]] = False
        goods = _without(goods, no_sale, foreign)
        delivery = None if delivery is None else _without(delivery, no_sale, {})
        counted = ~(no_sale | elsewhere) & ((goods.cents != 0) | off)
        counts.rows["off"] = int(np.count_nonzero(off & ~elsewhere))
        counts.rows["counted"] = int(np.count_nonzero(counted))
        if reading.export is None and off.any():
            why = f"amount: the amounts of the order do not add up to {reading.total!r}"
            reasons = dict.fromkeys(np.flatnonzero(off & ~elsewhere).tolist(), why)
            goods = _without(goods, np.zeros_like(off), reasons)
        taken = _of_sales(taken, no_sale | elsewhere, goods)
        counts.lines.count(taken)
        taxable, lines_off = self._taxable(goods, taken)
        return Sale(goods, delivery, counts, no_sale, elsewhere, off, taxable, lines_off)

    def _taxable(self, goods: Dollars, taken: TakenOff) -> tuple[Dollars | None, dict[int, str]]:
        """The taxable part of the goods, where an export marks it, and why rows have none."""
        lines_off = dict.fromkeys(np.flatnonzero(taken.off).tolist(), f"taxable: {LINES_OFF}")
        if self.reading.lines is None or self.reading.lines.taxable is None:
            return None, lines_off
        left = Dollars(goods.cents - taken.untaxed, {}, 0)
        return _without(left, np.zeros_like(taken.off), goods.wrong | lines_off), lines_off

    def taken_off(
        self, amounts: np.ndarray, once: np.ndarray, marks: OrderMarks | None
    ) -> TakenOff:
        """What is taken off the amount of each row: lines not taxable, gift cards and tips.

        Args:
            amounts: the amounts in cents, 0 in rows whose amounts count elsewhere.
            once: the rows whose order's amounts count in another row.
            marks: what is known of the rows from further chunks.
        """
        reading = self.reading
        if reading.lines is None or not len(self.frame):
            return TakenOff.nothing(len(self.frame))
        if not reading.of_whole_orders:
            taken = self.taken_off_rows(amounts)
            unlike = self._of_any(taken.off) if marks is None else taken.off | marks.unlike
            return taken.only(~unlike)._replace(off=unlike)
        figures = self.figures_of_orders(once) if marks is None else marks.lines
        taken = taken_off(figures, ~once & (amounts != 0))
        marks_lines = reading.lines.taxable is not None
        return taken._replace(off=taken.off & ~once, short=taken.short & marks_lines)

    def taken_off_rows(self, amounts: np.ndarray) -> TakenOff:
        """What is taken off rows that each have an amount of their own.

        In an export whose amounts are those of orders, an amount that the user names must be that
        of the line: it may be the order's.
        """
        reading = self.reading
        if reading.lines is None:
            return TakenOff.nothing(len(self.frame))
        checked = reading.export is None or reading.export.once
        return taken_off_rows(self.frame, reading.lines, amounts, reading.marks, checked=checked)

    def figures_of_lines(self, once: np.ndarray) -> np.ndarray:
        """The figures that each row adds to those of its order's lines, with its amount."""
        sums, lines = self.reading.sums, self.reading.lines
        if sums is None or lines is None:
            return np.zeros((len(self.frame), WIDTH), np.int64)
        amounts = self._added(sums.goods, "amount", once).cents
        return line_figures(self.frame, lines, amounts, once, self.reading.marks)

    def figures_of_orders(self, once: np.ndarray) -> np.ndarray:
        """The figures of the lines of each row's order, in a frame of whole orders."""
        if self.reading.lines is None:
            return np.zeros((len(self.frame), WIDTH), np.int64)
        of_rows, codes = self.figures_of_lines(once), self._codes_of_all
        added = np.zeros((int(codes.max(initial=-1)) + 1, WIDTH), np.int64)
        np.add.at(added, codes, of_rows)
        heads = codes[~once & (of_rows[:, 0] != 0)]
        added[np.bincount(heads, minlength=len(added)) > 1, WRONG] += 1
        figures: np.ndarray = added[codes]
        return figures

    @property
    def _codes_of_all(self) -> np.ndarray:
        """For each row the number of its order; one without an order is an order by itself."""
        rows = np.arange(len(self.frame))
        codes = self.codes
        if codes is None:
            return rows
        own: np.ndarray = np.where(codes < 0, int(codes.max(initial=-1)) + 1 + rows, codes)
        return own

    def _of_any(self, rows: np.ndarray) -> np.ndarray:
        """The rows whose order has one of these rows."""
        return _any_of_order(self._codes_of_all, rows)

    def _parts(self, sums: Sums, once: np.ndarray) -> tuple[Dollars, Dollars | None]:
        """Goods and delivery."""
        goods = self._added(sums.goods, "amount", once)
        delivery = self._added(sums.delivery, "shipping", once) if sums.delivery else None
        if self.reading.charges and delivery is None:
            of_delivery = _worded(self.frame, self.reading.charges)
            delivery = Dollars(np.where(of_delivery, goods.cents, 0), {}, 0)
            goods = goods._replace(cents=np.where(of_delivery, 0, goods.cents))
        return goods, delivery

    def _no_sale(
        self, goods: Dollars, elsewhere: np.ndarray, by_kind: np.ndarray, counts: Counts
    ) -> np.ndarray:
        """The rows that are no sale by their words."""
        reading, sold = self.reading, goods.cents != 0
        no_sale, other = _worded(self.frame, reading.no_sale), self.of_another_kind
        counts.rows["no sale"] = int(np.count_nonzero(no_sale & ~elsewhere & sold))
        counts.rows["other kind"] = int(np.count_nonzero(other & ~no_sale & sold))
        no_sale = no_sale | other | by_kind
        if reading.refunded_by:
            refunded = _worded(self.frame, reading.refunded_by) & ~no_sale & ~self.further
            counts.rows["said to be refunded"] = int(np.count_nonzero(refunded))
        return np.asarray(no_sale)

    def _foreign(self, sums: Sums, rows: np.ndarray, counts: Counts) -> dict[int, str]:
        """Why rows in another currency than US dollars have no amount, by row."""
        abroad = rows_abroad(
            self.frame,
            self.reading.currencies_or_none,
            [term.label for term in sums.goods],
            orders=lambda: self.codes,
            counts_in=rows,
        )
        foreign = {row: reason for row, reason in abroad.wrong.items() if rows[row]}
        counts.rows["currency"] = len(foreign)
        return foreign

    def _as_stated(self) -> Orders:
        """The rows with status and currency of the order; itself where none lacks them."""
        frame = self.stated()
        return self if frame is self.frame else Orders(frame, self.reading)

    def stated(self) -> pd.DataFrame:
        """The frame with status and currency of the order in further rows that lack them."""
        reading = self.reading
        of_orders = [] if reading.export is None else [*reading.no_sale]  # else those of items
        named = [*of_orders, *filter(None, [reading.currency])]
        labels = [label for label in named if label in self.frame.columns]
        if not labels or not all(may_have_blanks(self.frame[label]) for label in labels):
            return self.frame
        orders = self.codes
        if orders is None:
            return self.frame
        empty = np.logical_and.reduce([blank_cells(self.frame[label]) for label in labels])
        return _of_order(self.frame, labels, orders, empty) if empty.any() else self.frame

    @cached_property
    def of_another_kind(self) -> np.ndarray:
        """The rows that are neither sales nor refunds, where a file has rows of other kinds.

        A payment that is taken off was made by the seller, a refund that is not was received.
        """
        reading, frame = self.reading, self.frame
        if not reading.sale:
            return np.zeros(len(frame), bool)
        sold, back = _worded(frame, reading.sale), _worded(frame, reading.refund)
        sign = self._sign()
        if sign is not None:
            sold, back = sold & (sign > 0), back & (sign < 0)
        other: np.ndarray = ~(sold | back)
        return other

    def _sign(self) -> np.ndarray | None:
        """-1 in the rows that are refunds by the sign of one column, else 1."""
        label = self.reading.signed
        if label is None:
            return None
        return np.where(whole_cents(self.frame[label])[0] < 0, -1, 1)

    def _added(self, terms: Sequence[Term], named: str, once: np.ndarray | None = None) -> Dollars:
        """The sum of the columns in each row; 0 in rows whose amounts count elsewhere.

        Without a value in its first column a row has no amount; delivery may be missing.
        """
        once = self.further if once is None else once
        needed, sign = named != "shipping", self._sign()
        cents = np.zeros(len(self.frame), np.int64)
        wrong: dict[int, str] = {}
        snapped = 0
        for place, term in enumerate(terms):
            column = self.frame[term.label]
            elsewhere = once if term.once or term.head else np.zeros(len(column), bool)
            of_column, reasons, near = self.cents_of(term, named)
            blank = blank_cells(column) if reasons else elsewhere
            for row, reason in reasons.items():
                if not elsewhere[row] and (not blank[row] or (needed and place == 0)):
                    wrong.setdefault(row, f"{named}: missing" if blank[row] else reason)
            of_column = np.abs(of_column) if term.either_sign or sign is not None else of_column
            cents += np.where(elsewhere, 0, term.sign * of_column)
            snapped += near
        return Dollars(cents if sign is None else cents * sign, wrong, snapped)

    @property
    def numbers(self) -> np.ndarray | None:
        """For each row the code of its order's number, whatever its date; -1 where it has none."""
        return None if self._keys is None else self._keys.codes

    @cached_property
    def _keys(self) -> Keys | None:
        """The column of the number of orders."""
        return None if self.reading.order is None else text_keys(self.frame[self.reading.order])

    def rows_of_totals(
        self, marks: OrderMarks | None = None, further: Iterable[Term] = ()
    ) -> np.ndarray:
        """The rows of totals, in a file that is no known export."""
        if marks is not None:
            return marks.totals
        if self.reading.export is not None:
            return np.zeros(len(self.frame), bool)
        found = total_rows(self.reading.orders)
        if not found.nameless(self.frame).any():
            return np.zeros(len(self.frame), bool)
        return self.totals(found, further)

    def totals(
        self,
        found: TotalRows,
        further: Iterable[Term] = (),
        whole: Callable[[], pd.DataFrame] | None = None,
    ) -> np.ndarray:
        """The rows of totals among these, the next ones of a file.

        Args:
            found: what finds them.
            further: columns of money that show them beside those of the sums.
            whole: gives the rows with all columns of the file, where the frame has some of them.
        """
        sums = self.reading.sums
        terms = [*further]
        if sums is not None:
            terms += [*sums.goods, *sums.delivery, *sums.tax]
            terms += [] if sums.total is None else [sums.total]
        if not terms:
            return np.zeros(len(self.frame), bool)
        money = {}
        for term in terms:
            cents, wrong, _ = self.cents_of(Term(term.label), "amount")
            missing = np.zeros(len(cents), bool)
            missing[[*wrong]] = True
            money[term.label] = Money(cents, missing)
        return found.find(self.frame, money, self._own if whole is None else whole)

    def _own(self) -> pd.DataFrame:
        """The frame without what lookups and taxes added."""
        added = columns_of_lookups(self.frame)
        return self.frame[[label for label in self.frame.columns if label not in added]]

    def _count_refunds(self, others: np.ndarray, counts: Counts) -> None:
        if self.reading.refunded is not None:
            refunded = np.abs(whole_cents(self.frame[self.reading.refunded])[0])
            refunded[others] = 0
            counts.rows["refunded"] = int(np.count_nonzero(refunded))
            counts.refunded = int(refunded.sum())

    def rest(self, once: np.ndarray) -> np.ndarray:
        """What is left of the total in each row; the order's columns count where they count."""
        sums = self.reading.sums
        rest = np.zeros(len(self.frame), np.int64)
        if sums is None or sums.total is None:
            return rest
        unknown = np.zeros(len(rest), bool)
        parts = (*sums.goods, *sums.delivery, *sums.tax, *sums.others)
        inside = [term for term in parts if term not in sums.outside]
        for sign, term in [(1, sums.total), *((-1, term) for term in inside)]:
            cents, missing, _ = self.cents_of(term, "amount")
            if term is sums.total and self.reading.export is not None:
                unknown[[*missing]] = True  # an export may leave its total empty
            cents = sign * term.sign * (np.abs(cents) if term.either_sign else cents)
            rest += np.where(once, 0, cents) if term.once or term.head else cents
        return np.where(unknown, 0, rest)

    def off(self, once: np.ndarray) -> np.ndarray:
        """The rows of orders that do not add up to their total, or that alone prove a part."""
        if self.reading.total is None and not self.reading.weak:
            return np.zeros(len(self.frame), bool)
        exported = self.reading.export is not None
        bad = self.bad(once, self.rest(once))
        codes = self.codes if bad.any() else None
        if codes is None:
            return bad
        if self._adds_up_by_order:
            bad = self.bad(once, _added_up(codes, self.rest(once)))
        bad &= ~once if exported else True
        return bad if exported else bad | _any_of_order(codes, bad)

    @property
    def _adds_up_by_order(self) -> bool:
        return self.reading.sums is not None and self.reading.sums.by_order

    def bad(self, once: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """The rows with something left of their total, or with a part that they alone prove."""
        bad: np.ndarray = rest != 0
        for label in self.reading.weak:
            if label in self.frame.columns:
                bad |= (self.cents_of(Term(label), "amount")[0] != 0) & ~once
        return bad


def _added_up(codes: np.ndarray, cents: np.ndarray) -> np.ndarray:
    """The sum of each row's order; a row without an order (-1) has its own."""
    added = np.zeros(int(codes.max(initial=-1)) + 2, np.int64)
    np.add.at(added, codes[codes >= 0], cents[codes >= 0])
    each: np.ndarray = np.where(codes >= 0, added[codes], cents)
    return each


def _any_of_order(codes: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The rows whose order has one of these rows."""
    has = np.zeros(int(codes.max(initial=-1)) + 2, bool)
    has[codes[rows & (codes >= 0)]] = True
    marked: np.ndarray = (codes >= 0) & has[codes]
    return marked


def _without(of: Dollars, rows: np.ndarray, reasons: Mapping[int, str]) -> Dollars:
    """The amounts, 0 in these rows and in those with a reason why they have none."""
    wrong = {row: reason for row, reason in (of.wrong | dict(reasons)).items() if not rows[row]}
    cents = np.where(rows, 0, of.cents)
    cents[[*wrong]] = 0
    return of._replace(cents=cents, wrong=wrong)


def _of_sales(taken: TakenOff, others: np.ndarray, goods: Dollars) -> TakenOff:
    """What is taken off rows that are sales and have an amount."""
    counted_in = ~others
    counted_in[[*goods.wrong]] = False
    return taken.only(counted_in)


def _without_cards(
    goods: Dollars, delivery: Dollars | None, taken: TakenOff
) -> tuple[Dollars, Dollars | None]:
    """Goods and delivery without gift cards, tips, and what the delivery of these alone costs."""
    if delivery is not None:
        alone = (taken.no_sale != 0) & (taken.no_sale == goods.cents)
        delivery = delivery._replace(cents=np.where(alone, 0, delivery.cents))
    return goods._replace(cents=goods.cents - taken.no_sale), delivery


def _without_place(frame: pd.DataFrame, columns: Mapping[str, Hashable]) -> np.ndarray:
    """The rows of which every column of the place is empty."""
    labels = [label for role, label in columns.items() if role != "as_of"]
    place = [label for label in labels if label in frame.columns]
    if not place:
        return np.zeros(len(frame), bool)
    empty: np.ndarray = np.logical_and.reduce([blank_cells(frame[label]) for label in place])
    return empty


def _of_order(
    frame: pd.DataFrame, labels: list[Hashable], orders: np.ndarray, empty: np.ndarray
) -> pd.DataFrame:
    """The frame with the empty rows' cells taken from the first row of their order that has any."""
    first = _first_rows(orders, ~empty)
    rows = np.flatnonzero(empty & (orders >= 0))
    rows = rows[first[orders[rows]] >= 0]
    source = np.arange(len(frame))
    source[rows] = first[orders[rows]]
    done = frame.copy(deep=False)
    for label in labels:
        done[label] = frame[label].array.take(source)
    return done


def _first_rows(orders: np.ndarray, there: np.ndarray) -> np.ndarray:
    """For each order the first of its rows that is in the mask; -1 where none is."""
    first = np.full(int(orders.max(initial=-1)) + 2, -1)
    rows = np.flatnonzero(there & (orders >= 0))[::-1]
    first[orders[rows]] = rows  # the first one is written last
    return first


def may_have_blanks(column: pd.Series) -> bool:
    """Whether a column may have empty cells: a quick look that misses none."""
    if pd.api.types.is_object_dtype(column.dtype) or column.isna().any():
        return True  # objects may be anything, dates for instance
    if not pd.api.types.is_string_dtype(column.dtype):
        return not is_number(column)
    texts = pa.array(column, from_pandas=True)
    texts = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
    held = bytes_of(texts)
    lengths = pc.binary_length(texts) if held.isascii() else pc.utf8_length(texts)
    if not held.translate(None, b"0123456789") and (pc.min(lengths).as_py() or 0) > 0:
        return False  # numbers throughout, such as ZIP Codes
    short = pc.less(lengths, _LONGEST_BLANK)
    if not pc.any(short).as_py():
        return False
    distinct = pc.unique(texts if pc.all(short).as_py() else texts.filter(short)).to_pylist()
    return any(text_of(text) is None for text in distinct)


_LONGEST_BLANK = 6
"""A blank cell has fewer characters: n/a, #n/a, None."""


def blank_cells(column: pd.Series) -> np.ndarray:
    """Which rows have no value, or one of the words for none."""
    codes, values = pd.factorize(column)
    blank = np.array([*(text_of(value) is None for value in list(values)), True], bool)
    return blank[codes]


def _either(column: pd.Series, other: pd.Series, rows: np.ndarray) -> pd.Series:
    """The column, with the other one's values in these rows."""
    return column.astype(object).where(~rows, other.astype(object))


def row_hashes(frame: pd.DataFrame) -> np.ndarray:
    """A hash of each row that is the same in every chunk of a file."""
    frame = frame.copy(deep=False)
    for label, dtype in frame.dtypes.items():
        if pd.api.types.is_integer_dtype(dtype):  # hashed as floats where a cell is missing
            frame[label] = frame[label].astype("string")
    hashes: np.ndarray = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    return hashes


def foreign_rows(frame: pd.DataFrame, label: Hashable | None) -> np.ndarray:
    """The rows of other countries by the column of countries; none where there is no column."""
    if label is None:
        return np.zeros(len(frame), bool)
    codes, values = pd.factorize(frame[label])
    texts = [text_of(value) for value in list(values)]
    abroad = [text is not None and is_abroad(text) for text in texts]
    return np.array([*abroad, False], bool)[codes]


def _worded(frame: pd.DataFrame, words: Mapping[Hashable, tuple[str, ...] | None]) -> np.ndarray:
    """The rows that have one of the words in the column that they belong to."""
    rows = np.zeros(len(frame), bool)
    for label, meant in words.items():
        if label not in frame.columns:
            continue
        codes, values = pd.factorize(frame[label])
        hits = [_is_meant(value, meant) for value in list(values)]
        rows |= np.array([*hits, False], bool)[codes]
    return rows


def _is_meant(value: object, meant: Sequence[str] | None) -> bool:
    text = text_of(value)
    if text is None or meant is None:
        return text is not None
    plain = " ".join(text.casefold().rpartition(":")[2].replace("-", " ").split())
    return plain.removeprefix("wc ") in {word.replace("-", " ") for word in meant}
