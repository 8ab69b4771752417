"""The rows of a sales file as sales: places, dates and amounts, each order counted once.

`Orders` reads the rows of a frame, or of a chunk of a file, as a `Reading` says; it changes nothing
of what the user sees. `OrderIndex` knows the orders of all chunks, by eight bytes each.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_tools.cells import text_of
from svc_tools.countries import is_abroad
from svc_tools.display import counted
from svc_tools.exports import PLACE_ROLES
from svc_tools.frames.lookup.currencies import rows_abroad
from svc_tools.frames.lookup.figures import money_table
from svc_tools.frames.lookup.order_numbers import (
    OrderColumns,
    order_hashes,
    order_rows,
    text_keys,
)
from svc_tools.frames.lookup.row_kinds import KindCounts, row_kinds, signed
from svc_tools.frames.lookup.sums import Sums, Term
from svc_tools.frames.lookup.total_rows import TotalRows, total_rows
from svc_tools.frames.lookup_columns import columns_of_lookups, columns_of_taxes
from svc_tools.frames.money import Money, dollars, whole_cents

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from svc_tools.frames.lookup.reading import Reading


class Dollars(NamedTuple):
    """An amount of each row in whole cents; 0 where there is a reason why it has none."""

    cents: np.ndarray
    wrong: dict[int, str]
    snapped: int


@dataclass(slots=True)
class Counts:
    """What is counted while rows are read as sales.

    Attributes:
        rows: rows that are no sale, by their column; refunds; orders that do not add up.
        refunded: the refunds in cents.
        kinds: rows by the words of their status or type.
    """

    rows: Counter[str] = field(default_factory=Counter)
    refunded: int = 0
    kinds: KindCounts = field(default_factory=KindCounts)

    def add(self, other: Counts) -> None:
        """Add those of further rows."""
        self.rows.update(other.rows)
        self.refunded += other.refunded
        self.kinds.add(other.kinds)

    def sentences(self, reading: Reading) -> list[str]:
        """The counts in sentences for the user."""
        said = []
        if rows := self.rows["no sale"]:
            named = " or ".join(map(repr, reading.no_sale))
            said.append(f"{counted(rows, 'row')} canceled or not paid by {named}: amount 0.00")
        if rows := self.rows["other kind"]:
            named = " or ".join(map(repr, reading.sale))
            said.append(
                f"{counted(rows, 'row')} of another kind than sales and refunds by {named}:"
                " amount 0.00"
            )
        if rows := self.rows["said to be refunded"]:
            named = " or ".join(map(repr, reading.refunded_by))
            said.append(
                f"{counted(rows, 'row')} refunded by {named} and not taken off: the file does not"
                " say when and how much; deduct them in the period of the refund"
            )
        if rows := self.rows["refunded"]:
            said.append(
                f"refunds are not taken off ({reading.refunded!r}: {counted(rows, 'row')},"
                f" ${dollars(self.refunded):,}): the file does not say when and of what; deduct"
                " them in the period of the refund"
            )
        said += self.kinds.sentences(reading.refunds)
        if rows := self.rows["totals"]:
            said.append(f"{counted(rows, 'row')} of totals: no sales")
        if rows := self.rows["off"]:
            total = reading.total
            said.append(
                f"in {counted(rows, 'row')} amount, delivery and tax do not add up to"
                f" {total!r}: tips, gift cards, other discounts, or tax inside the amount"
            )
        if rows := self.rows["currency"]:
            said.append(f"{counted(rows, 'row')} in another currency than US dollars: no tax")
        return said


class Sale(NamedTuple):
    """The rows of a file as sales.

    Attributes:
        amount: what the goods cost.
        shipping: the delivery that is charged; `None` where the file has none.
        counts: what was counted.
        no_sale: rows that are no sale; their amounts are 0.
        further: rows whose amounts count in another row of their order; here they are 0. None
            where the amount is that of each row.
        off: rows whose order does not add up to its total.
    """

    amount: Dollars
    shipping: Dollars | None
    counts: Counts
    no_sale: np.ndarray
    further: np.ndarray
    off: np.ndarray

    @property
    def wrong(self) -> dict[int, str]:
        """Why rows have no amount or no delivery, by row."""
        return {**(self.shipping.wrong if self.shipping else {}), **self.amount.wrong}


class Amounts(NamedTuple):
    """A column of money as an amount of sales.

    Attributes:
        of: the amounts.
        ended: rows that are no sale by their status or type.
        totals: rows of totals; their amounts are 0.
    """

    of: Dollars
    ended: np.ndarray
    totals: np.ndarray

    @property
    def money(self) -> Money:
        """The amounts; missing where there is a reason why there is none."""
        missing = np.zeros(len(self.of.cents), bool)
        missing[[*self.of.wrong]] = True
        return Money(self.of.cents, missing)


class Marks(NamedTuple):
    """What is known of the rows of a chunk from the orders of the whole file.

    Attributes:
        further: rows whose order's amounts count in another row, here or in another chunk.
        parted: rows of orders of which only some rows are exempt.
        totals: rows of totals.
        off: rows of orders that do not add up to their total, or that alone prove a part.
    """

    further: np.ndarray
    parted: np.ndarray
    totals: np.ndarray
    off: np.ndarray

    @classmethod
    def none(cls, rows: int) -> Marks:
        """Nothing known of so many rows."""
        return cls(*np.zeros((4, rows), bool))

    @classmethod
    def joined(cls, marks: Sequence[Marks]) -> Marks:
        """The marks of rows one below the other."""
        return cls(*map(np.concatenate, zip(*marks, strict=True)))

    def of(self, rows: np.ndarray) -> Marks:
        """Those of these rows."""
        return Marks(*(one[rows] for one in self))


class Orders:
    """The rows of a frame, read as orders. Nothing of the frame is changed.

    Args:
        frame: the rows.
        reading: what their columns mean.
    """

    def __init__(self, frame: pd.DataFrame, reading: Reading) -> None:
        self.reading = reading
        self.frame = frame

    @cached_property
    def codes(self) -> np.ndarray | None:
        """For each row the number of its order, -1 where it has none; `None`: all are sales.

        Two stores, or two years, may have one number: an order has one number, date and place. A
        row without a date belongs to the order of its number above it.
        """
        columns = self.reading.orders
        named = [one for one in (columns.number, columns.day, *columns.place) if one is not None]
        if not {*named} <= {*self.frame.columns}:
            return None
        rows = order_rows(self.frame, columns)
        if rows is None and self.reading.once:  # after a filter an order may lack its first row
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
        day = columns.get("as_of")
        if day is not None and day in frame.columns and (undated := blank_cells(frame[day])).any():
            done = _of_order(done, [day], orders, undated)
        return done

    def with_places(self, columns: Mapping[str, Hashable]) -> pd.DataFrame:
        """The frame without further rows of an order whose first row is not in it."""
        if self.codes is None or self.reading.order is None:
            return self.frame
        alone = _without_place(self.completed(columns), columns)
        alone &= ~blank_cells(self.frame[self.reading.order])
        return self.frame[~alone] if alone.any() else self.frame

    @cached_property
    def further(self) -> np.ndarray:
        """The rows whose amounts count in another row of their order: empty there, or the same."""
        frame = self.frame
        none = np.zeros(len(frame), bool)
        money = [label for label in self.reading.once if label in frame.columns]
        orders = self.codes if len(frame) and money else None
        if orders is None:
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
            mark = self.reading.marks.get(term.label, "point")
            return whole_cents(self.frame[term.label], named, mark)
        table = money_table(self.frame, term.columns, self.reading.marks, named=[term.label])
        of = table.of(term)
        gone = np.flatnonzero(~of.filled).tolist()
        what = f"{named}: {term.label!r} x {term.times!r} cannot be read"
        blank = blank_cells(self.frame[term.label]) if gone else of.filled
        return of.cents, {row: f"{named}: missing" if blank[row] else what for row in gone}, 0

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

    def parted(self, exempt: np.ndarray, rows: np.ndarray) -> list[int]:
        """The first rows of orders of which others, among these, are exempt where it is not."""
        orders = self.codes
        if orders is None:
            return []
        head = _first_rows(orders, ~rows)[orders]
        parted: list[int] = np.unique(head[rows & (head >= 0) & (exempt != exempt[head])]).tolist()
        return parted

    def amounts(
        self,
        term: Term,
        named: str,
        marks: Marks | None = None,
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
        rows = Orders(self.stated(), reading)
        of = rows._once(term, named, marks)
        kinds = row_kinds(
            rows.frame,
            reading.kinds,
            of.cents,
            orders=self.codes if reading.kinds.used else None,
            numbers=rows.numbers,
        )
        if reading.refunds is not None and kinds.refund.any():
            some = kinds._replace(no_sale=np.zeros_like(kinds.no_sale))
            of = of._replace(cents=signed(of.cents, some, reading.refunds))
        totals = rows._totals(marks, (term, *map(Term, beside)))
        ended = _worded(rows.frame, reading.no_sale) | rows.of_another_kind | kinds.no_sale
        abroad = rows_abroad(
            rows.frame, reading.currencies_or_none, [term.label], orders=self.codes
        )
        no_sale = totals | ended if of_sales else totals
        foreign = {row: why for row, why in abroad.wrong.items() if of.cents[row]}
        return Amounts(_without(of, no_sale, foreign), ended & ~totals, totals)

    def _once(self, term: Term, named: str, marks: Marks | None) -> Dollars:
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

    def sale(self, marks: Marks | None = None) -> Sale:
        """The amounts of the rows as whole cents, as their columns together give them.

        Args:
            marks: what is known of the rows from further chunks.
        """
        reading, sums = self.reading, self.reading.sums
        if sums is None:
            raise RuntimeError("sale: it is not decided what the amounts are")
        rows = Orders(self.stated(), reading)
        once = self.further if marks is None else marks.further
        goods = rows._added(sums.goods, "amount", once)
        delivery = None
        if sums.delivery:
            delivery = rows._added(sums.delivery, "shipping", once)
        if reading.charges and delivery is None:
            of_delivery = _worded(rows.frame, reading.charges)
            delivery = Dollars(np.where(of_delivery, goods.cents, 0), {}, 0)
            goods = goods._replace(cents=np.where(of_delivery, 0, goods.cents))
        no_sale, other = _worded(rows.frame, reading.no_sale), rows.of_another_kind
        elsewhere = once if any(one.once or one.head for one in sums.goods) else np.zeros_like(once)
        counts = Counts()
        kinds = row_kinds(
            rows.frame,
            reading.kinds,
            goods.cents,
            orders=self.codes if reading.kinds.used else None,
            numbers=rows.numbers,
            counts_in=~elsewhere,
        )
        counts.kinds = kinds.counts
        if reading.refunds is not None:
            goods = goods._replace(cents=signed(goods.cents, kinds, reading.refunds))
            if delivery is not None:
                delivery = delivery._replace(cents=signed(delivery.cents, kinds, reading.refunds))
        counts.rows["no sale"] = int(np.count_nonzero(no_sale & ~elsewhere & (goods.cents != 0)))
        counts.rows["other kind"] = int(np.count_nonzero(other & ~no_sale & (goods.cents != 0)))
        totals = rows._totals(marks)
        counts.rows["totals"] = int(np.count_nonzero(totals))
        no_sale = no_sale | other | kinds.no_sale | totals
        refunded = _worded(rows.frame, reading.refunded_by) & ~no_sale & ~once
        counts.rows["said to be refunded"] = int(np.count_nonzero(refunded))
        counted_in = ~(no_sale | elsewhere)
        abroad = rows_abroad(
            rows.frame,
            reading.currencies_or_none,
            [term.label for term in sums.goods],
            orders=self.codes if reading.currency is not None else None,
            counts_in=counted_in,
        )
        foreign = {row: reason for row, reason in abroad.wrong.items() if counted_in[row]}
        counts.rows["currency"] = len(foreign)
        rows._count_refunds(once | no_sale, counts)
        goods = _without(goods, no_sale, foreign)
        delivery = None if delivery is None else _without(delivery, no_sale, {})
        off = (rows.off(once) if marks is None else marks.off) & ~no_sale
        off[[*foreign]] = False
        counts.rows["off"] = int(np.count_nonzero(off & ~elsewhere))
        counts.rows["counted"] = int(np.count_nonzero(counted_in & ((goods.cents != 0) | off)))
        if reading.export is None and off.any():
            why = f"amount: the amounts of the order do not add up to {reading.total!r}"
            reasons = dict.fromkeys(np.flatnonzero(off & ~elsewhere).tolist(), why)
            goods = _without(goods, np.zeros_like(off), reasons)
        return Sale(goods, delivery, counts, no_sale, elsewhere, off)

    def stated(self) -> pd.DataFrame:
        """The frame with status and currency of the order in further rows that lack them."""
        reading = self.reading
        named = [*reading.no_sale, *filter(None, [reading.currency])]
        labels = [label for label in named if label in self.frame.columns]
        orders = self.codes if labels else None
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

    @cached_property
    def numbers(self) -> np.ndarray | None:
        """For each row the code of its order's number, whatever its date; -1 where it has none."""
        if self.reading.order is None or not self.reading.kinds.used:
            return None
        return text_keys(self.frame[self.reading.order]).codes

    def _totals(self, marks: Marks | None, further: Iterable[Term] = ()) -> np.ndarray:
        """The rows of totals, in a file that is no known export."""
        if marks is not None:
            return marks.totals
        if self.reading.export is not None:
            return np.zeros(len(self.frame), bool)
        return self.totals(total_rows(self.reading.orders), further)

    def totals(
        self,
        found: TotalRows,
        further: Iterable[Term] = (),
        whole: pd.DataFrame | None = None,
    ) -> np.ndarray:
        """The rows of totals among these, the next ones of a file.

        Args:
            found: what finds them.
            further: columns of money that show them beside those of the sums.
            whole: the rows with all columns of the file, where the frame has some of them.
        """
        sums = self.reading.sums
        terms = [*further]
        if sums is not None:
            terms += [*sums.goods, *sums.delivery, *sums.tax]
            terms += [] if sums.total is None else [sums.total]
        if not terms:
            return np.zeros(len(self.frame), bool)
        if whole is None:
            added = {*columns_of_lookups(self.frame), *columns_of_taxes(self.frame)}
            whole = self.frame[[one for one in self.frame.columns if one not in added]]
        money = {}
        for term in terms:
            cents, wrong, _ = self.cents_of(Term(term.label), "amount")
            missing = np.zeros(len(cents), bool)
            missing[[*wrong]] = True
            money[term.label] = Money(cents, missing)
        return found.take(whole, money)

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


class OrderIndex:
    """The orders of a file, whose rows may lie in several chunks, by eight bytes each.

    A first pass lets it `see` all chunks; after `begin`, a second one gets the `marks` of each
    chunk, in the same order.
    """

    def __init__(self, reading: Reading, columns: Mapping[str, Hashable]) -> None:
        self._reading, self._columns = reading, columns
        self._head: pd.DataFrame | None = None
        self._before: pd.DataFrame | None = None
        self._counted = _NO_HASHES
        self._totals = total_rows(reading.orders)
        self._with_amounts, self._off, self._left = _Hashes(), _Hashes(), _Sums()
        self._heads, self._most = _Hashes(), _Most()
        self._exempt = {(yes, further): _Hashes() for yes in (True, False) for further in (0, 1)}

    def begin(self) -> None:
        """Begin with the first chunk again."""
        self._head = self._before = None
        self._counted = _NO_HASHES
        self._totals = total_rows(self._reading.orders)

    def completed(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The rows of the next chunk with their places, dates and statuses."""
        head, reading = self._last_head(), self._reading
        whole = frame if head is None else pd.concat([head, frame], ignore_index=True)
        whole = Orders(whole, reading).completed(self._columns)
        if reading.order is None or not len(whole):
            return whole
        whole = Orders(whole, reading).stated()
        self._before = whole
        return whole if head is None else whole.iloc[1:].set_axis(frame.index)

    def _last_head(self) -> pd.DataFrame | None:
        """The first row of the order of the last row before the next chunk."""
        before, self._before = self._before, None
        codes = None if before is None else Orders(before, self._reading).codes
        if before is not None and codes is not None:
            last = codes[-1]
            self._head = before.iloc[[int(np.argmax(codes == last))]] if last >= 0 else None
        return self._head

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
        self._heads.add(own[numbered & ~orders.item] if self._reading.items else _NO_HASHES)
        if (cents := orders.sizes) is not None:
            self._most.add(own[numbered], cents[numbered])
        if exempt is None:
            return
        yes, unknown = exempt
        further = further | ~with_amounts
        for flag in (True, False):
            known = ~unknown & (yes == flag)
            first = known & ~further
            self._exempt[flag, 0].add(numbers[first], keys[first])
            self._exempt[flag, 1].add(own[known & further])

    def marks(self, frame: pd.DataFrame, whole: pd.DataFrame | None = None) -> Marks:
        """What is known of the rows of a completed chunk.

        Args:
            frame: its rows.
            whole: the rows with all columns of the file, where the frame has some of them.
        """
        orders = Orders(frame, self._reading)
        known = self._reading.export is not None
        totals = np.zeros(len(frame), bool) if known else orders.totals(self._totals, whole=whole)
        if not self._applies(frame):
            return Marks.none(len(frame))._replace(totals=totals, off=orders.off(orders.further))
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
        return Marks(further, ~further & parted, totals, off)

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


_NO_HASHES = np.zeros(0, np.uint64)


class _Hashes:
    """A set of hashes that grows chunk by chunk."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] = []

    def add(self, *hashes: np.ndarray) -> None:
        """Add hashes."""
        self._parts += map(np.unique, hashes)

    @property
    def all(self) -> np.ndarray:
        """The hashes, sorted."""
        if len(self._parts) != 1:
            self._parts = [np.unique(np.concatenate([_NO_HASHES, *self._parts]))]
        return self._parts[0]

    def has(self, hashes: np.ndarray) -> np.ndarray:
        """Which of these are in the set."""
        found: np.ndarray = np.isin(hashes, self.all)
        return found


class _Sums:
    """Cents by hash, of which those that come to nothing are forgotten."""

    def __init__(self) -> None:
        self._keys, self._cents = _NO_HASHES, np.zeros(0, np.int64)

    def add(self, keys: np.ndarray, cents: np.ndarray) -> None:
        """Add cents to their keys."""
        self._keys, codes = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        added = np.zeros(len(self._keys), np.int64)
        np.add.at(added, codes, np.concatenate([self._cents, cents]))
        self._keys, self._cents = self._keys[added != 0], added[added != 0]

    def has(self, keys: np.ndarray) -> np.ndarray:
        """Which of these keys come to something."""
        found: np.ndarray = np.isin(keys, self._keys)
        return found


class _Most:
    """The largest cents by hash."""

    def __init__(self) -> None:
        self._keys, self._cents = _NO_HASHES, np.zeros(0, np.int64)

    def add(self, keys: np.ndarray, cents: np.ndarray) -> None:
        """Take cents with their keys into account."""
        self._keys, codes = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        most = np.zeros(len(self._keys), np.int64)
        np.maximum.at(most, codes, np.concatenate([self._cents, cents]))
        self._cents = most

    def of(self, keys: np.ndarray) -> np.ndarray:
        """The largest cents of each key; 0 where it is not known."""
        if not len(self._keys):
            return np.zeros(len(keys), np.int64)
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[at] == keys, self._cents[at], 0)


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
    take = np.arange(len(frame))
    take[rows] = first[orders[rows]]
    done = frame.copy(deep=False)
    for label in labels:
        done[label] = frame[label].array.take(take)
    return done


def _first_rows(orders: np.ndarray, there: np.ndarray) -> np.ndarray:
    """For each order the first of its rows that is in the mask; -1 where none is."""
    first = np.full(int(orders.max(initial=-1)) + 2, -1)
    rows = np.flatnonzero(there & (orders >= 0))[::-1]
    first[orders[rows]] = rows  # the first one is written last
    return first


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
