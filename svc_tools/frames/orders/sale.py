"""What rows are as sales: their amounts, what was counted of them, and their orders' marks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.frames.orders.order_lines import WIDTH, LineCounts
from svc_tools.frames.orders.row_kinds import KindCounts
from svc_tools.frames.values.money import Money, dollars
from svc_tools.show.display import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.frames.orders.reading import Reading


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
        lines: lines that are taken off the amount of their order.
        kinds: rows by the words of their status or type.
    """

    rows: Counter[str] = field(default_factory=Counter)
    refunded: int = 0
    lines: LineCounts = field(default_factory=LineCounts)
    kinds: KindCounts = field(default_factory=KindCounts)

    def add(self, other: Counts) -> None:
        """Add those of further rows."""
        self.rows.update(other.rows)
        self.refunded += other.refunded
        self.lines.add(other.lines)
        self.kinds.add(other.kinds)

    def sentences(self, reading: Reading) -> list[str]:
        """The counts in sentences for the user."""
        sentences = []
        if rows := self.rows["no sale"]:
            named = " or ".join(map(repr, reading.no_sale))
            why = f"canceled or not paid by {named}: amount 0.00"
            if reading.export is None:
                why = f"that {'is' if rows == 1 else 'are'} a tax, a tip or a gift card by {named}"
                why += ": no sale" + "s" * (rows != 1)
            sentences.append(f"{counted(rows, 'row')} {why}")
        if rows := self.rows["other kind"]:
            named = " or ".join(map(repr, reading.sale))
            sentences.append(
                f"{counted(rows, 'row')} of another kind than sales and refunds by {named}:"
                " amount 0.00"
            )
        if rows := self.rows["said to be refunded"]:
            named = " or ".join(map(repr, reading.refunded_by))
            sentences.append(
                f"{counted(rows, 'row')} refunded by {named} and not taken off: the file does not"
                " say when and how much; deduct them in the period of the refund"
            )
        if rows := self.rows["refunded"]:
            sentences.append(
                f"refunds are not taken off ({reading.refunded!r}: {counted(rows, 'row')},"
                f" ${dollars(self.refunded):,}): the file does not say when and of what; deduct"
                " them in the period of the refund"
            )
        sentences += self.kinds.sentences(reading.refunds)
        sentences += self.lines.sentences()
        if rows := self.rows["totals"]:
            sentences.append(f"{counted(rows, 'row')} of totals: no sales")
        if rows := self.rows["off"]:
            total = reading.total
            sentences.append(
                f"in {counted(rows, 'row')} amount, delivery and tax do not add up to"
                f" {total!r}: tips, gift cards, other discounts, or tax inside the amount"
            )
        if rows := self.rows["currency"]:
            sentences.append(f"{counted(rows, 'row')} in another currency than US dollars: no tax")
        return sentences


class Sale(NamedTuple):
    """The rows of a file as sales.

    Attributes:
        amount: what the goods cost.
        shipping: the delivery that is charged; `None` where the file has none.
        counts: what was counted.
        no_sale: rows that are no sale; their amounts are 0.
        further: rows whose amounts count in another row of their order; here they are 0. None
            where a part of the amount is that of each row.
        off: rows whose order does not add up to its total.
        taxable: the amount less what the export marks not taxable; `None` where it marks nothing.
        lines_off: why the lines of some rows' orders leave open what is taxable, by row.
    """

    amount: Dollars
    shipping: Dollars | None
    counts: Counts
    no_sale: np.ndarray
    further: np.ndarray
    off: np.ndarray
    taxable: Dollars | None
    lines_off: dict[int, str]

    @property
    def wrong(self) -> dict[int, str]:
        """Why rows have no amount, no delivery or no taxable part, by row."""
        of_delivery = self.shipping.wrong if self.shipping else {}
        return {**self.lines_off, **of_delivery, **self.amount.wrong}


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


class OrderMarks(NamedTuple):
    """What is known of the rows of a chunk from the orders of the whole file.

    Attributes:
        further: rows whose order's amounts count in another row, here or in another chunk.
        parted: rows of orders of which only some rows are exempt.
        totals: rows of totals.
        off: rows of orders that do not add up to their total, or that alone prove a part.
        lines: the figures of the lines of each row's order: rows x `order_lines.WIDTH`.
        unlike: rows of orders with a line that is not taxable and whose amount is another's.
    """

    further: np.ndarray
    parted: np.ndarray
    totals: np.ndarray
    off: np.ndarray
    lines: np.ndarray
    unlike: np.ndarray

    @classmethod
    def none(cls, rows: int) -> OrderMarks:
        """Nothing known of so many rows."""
        further, parted, totals, off, unlike = np.zeros((5, rows), bool)
        lines = np.zeros((rows, WIDTH), np.int64)
        return cls(further, parted, totals, off, lines, unlike)

    @classmethod
    def joined(cls, marks: Sequence[OrderMarks]) -> OrderMarks:
        """The marks of rows one below the other."""
        return cls(*map(np.concatenate, zip(*marks, strict=True)))

    def of(self, rows: np.ndarray) -> OrderMarks:
        """Those of these rows."""
        return OrderMarks(*(marks[rows] for marks in self))
