"""Sales and tax of rows, added up exactly: each row in one of three groups, whole cents inside."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_tools.frames.coded import first_column
from svc_tools.frames.exact import MONEY, cents_of, decimals
from svc_tools.frames.taxes.amounts import whole_cents

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from svc_tools.frames.coded import Coded

__all__ = [
    "Money",
    "Totals",
    "dollars",
    "dollars_by",
    "money",
    "money_column",
    "sums_by",
    "totals_by",
]

_HALF = 31
"""Sums are kept in two parts of so many bits: exact for any number of rows in memory."""
_HOLDS = 10**18
"""Cents that `decimal128(18, 2)` cannot hold any more."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sales and tax in US dollars, exact to the cent, each row in exactly one of three groups.

    Whole rows have a whole rate (status ok), partial rows one that is known to lack a part, open
    rows none. `sales` = `taxed_sales` + `partial_sales` + `open_sales`.

    Attributes:
        rows: all rows.
        taxed_sales: sales of the whole rows that have a tax (which may be 0.00: the rate is 0).
        tax: the tax of those rows.
        partial_rows: rows with a partial rate.
        partial_sales: their sales.
        partial_tax: the tax of partial rows, where the user asked for it: a lower bound.
        untaxed_sales: sales of partial rows for which no tax was computed.
        open_rows: rows without a rate, and whole rows without a tax (their amount has no cents).
        open_sales: their sales, as far as the amounts can be read.
    """

    rows: int = 0
    taxed_sales: Decimal = Decimal("0.00")
    tax: Decimal = Decimal("0.00")
    partial_rows: int = 0
    partial_sales: Decimal = Decimal("0.00")
    partial_tax: Decimal = Decimal("0.00")
    untaxed_sales: Decimal = Decimal("0.00")
    open_rows: int = 0
    open_sales: Decimal = Decimal("0.00")

    @property
    def whole_rows(self) -> int:
        """Rows with a whole rate and a tax computed from it."""
        return self.rows - self.partial_rows - self.open_rows

    @property
    def sales(self) -> Decimal:
        """All sales whose amount can be read."""
        return self.taxed_sales + self.partial_sales + self.open_sales


class Money(NamedTuple):
    """A column of money: whole cents, and a mask of the rows that have none (their cents are 0)."""

    cents: np.ndarray
    missing: np.ndarray

    def total(self, rows: np.ndarray | None = None) -> Decimal | None:
        """The exact sum in dollars (of the rows in the mask); `None` where no row has a value."""
        there = ~self.missing if rows is None else ~self.missing & rows
        if not there.any():
            return None
        (cents,) = sums_by(np.zeros(int(there.sum()), np.int64), self.cents[there], 1)
        return dollars(cents)


def money(frame: pd.DataFrame, name: Hashable) -> Money:
    """A column of dollars in whole cents; missing where it is none, or not a whole cent."""
    column = first_column(frame, name)
    if column is None:
        return Money(np.zeros(len(frame), np.int64), np.ones(len(frame), bool))
    if column.dtype == pd.ArrowDtype(MONEY):
        return Money(*cents_of(column))
    cents, wrong, _ = whole_cents(column)
    missing = np.zeros(len(frame), bool)
    missing[list(wrong)] = True
    return Money(cents, missing)


def sums_by(codes: np.ndarray, cents: np.ndarray, size: int) -> list[int]:
    """The exact sum of `cents` for each code from 0 to `size` - 1."""
    halves = []
    for part in (cents >> _HALF, cents & ((1 << _HALF) - 1)):  # neither sum can overflow
        sums = np.zeros(size, np.int64)
        np.add.at(sums, codes, part)
        halves.append(sums.tolist())
    return [(high << _HALF) + low for high, low in zip(*halves, strict=True)]


def dollars_by(codes: np.ndarray, of: Money, size: int) -> list[Decimal | None]:
    """The exact sum in dollars for each code; `None` where no row of it has a value."""
    there = codes[~of.missing]
    known = np.bincount(there, minlength=size).tolist()
    sums = sums_by(there, of.cents[~of.missing], size)
    return [dollars(one) if n else None for one, n in zip(sums, known, strict=True)]


def totals_by(
    codes: np.ndarray, size: int, status: Coded, sales: Money, tax: Money
) -> list[Totals]:
    """The totals of the rows of each code from 0 to `size` - 1."""
    partial = status.where(lambda value: value == "partial")
    whole = status.where(lambda value: value == "ok") & ~tax.missing
    open_ = ~partial & ~whole

    def count(rows: np.ndarray) -> list[int]:
        counted: list[int] = np.bincount(codes[rows], minlength=size).tolist()
        return counted

    def add(of: Money, rows: np.ndarray) -> list[Decimal]:
        return [dollars(sum_) for sum_ in sums_by(codes[rows], of.cents[rows], size)]

    fields = zip(
        count(np.ones(len(codes), bool)),
        add(sales, whole),
        add(tax, whole),
        count(partial),
        add(sales, partial),
        add(tax, partial),
        add(sales, partial & tax.missing),
        count(open_),
        add(sales, open_),
        strict=True,
    )
    return [Totals(*one) for one in fields]


def dollars(whole_cents: int) -> Decimal:
    """Whole cents as dollars with two decimals."""
    return Decimal(whole_cents).scaleb(-2)


def money_column(values: Sequence[Decimal | None]) -> pd.arrays.ArrowExtensionArray:
    """Dollars as an exact column; wider than `decimal128(18, 2)` where a sum needs it."""
    cents = [0 if value is None else int(value.scaleb(2)) for value in values]
    if any(abs(one) >= _HOLDS for one in cents):
        wide = pa.array(values, pa.decimal128(38, 2))
        return pd.arrays.ArrowExtensionArray(pa.chunked_array([wide]))
    missing = np.array([value is None for value in values], bool)
    return decimals(np.array(cents, np.int64), missing, MONEY)
