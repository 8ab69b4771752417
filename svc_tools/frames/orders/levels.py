"""Whether a column of money is that of the whole order, or that of the line.

A column of the order counts once for each order; one of the line counts on every row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from svc_tools.frames.orders.figures import Figures
from svc_tools.frames.orders.sums import Term

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from svc_tools.frames.orders.figures import MoneyTable

Level: TypeAlias = Literal["order", "line", "unclear"]
Pattern: TypeAlias = Literal["silent", "single", "equal", "differs"]
"""How a column is filled within the orders of several rows: with nothing but 0, on one row of each
order, with one figure on all rows, or with several."""

_MANY = 0.25
"""A column of lines differs within this share of the orders, without rows of the other sign.

A column that differs within fewer may be that of the order: there it is to check.
"""
_ORDERS = 3
"""The orders that prove a level."""
_SHARE = 0.1
"""The share of the orders that could prove it which must."""
_ON_ROWS = 0.9
_MOST_PRODUCTS = 6


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows by their order, so that columns are added up and compared within each.

    Attributes:
        codes: the number of the order of each row, without gaps.
        size: how many orders there are.
    """

    codes: np.ndarray
    size: int
    _found: dict[tuple[str, int], tuple[Figures, np.ndarray]] = field(
        default_factory=dict, repr=False
    )

    @classmethod
    def of(cls, orders: np.ndarray) -> Groups:
        """The orders; a row without one (-1) is an order of its own."""
        none = orders < 0
        numbered = np.where(none, int(orders.max(initial=-1)) + np.cumsum(none), orders)
        _, codes = np.unique(numbered, return_inverse=True)
        return cls(codes, int(codes.max(initial=-1)) + 1)

    @cached_property
    def rows(self) -> np.ndarray:
        """How many rows each order has."""
        return np.bincount(self.codes, minlength=self.size)

    @cached_property
    def _sorted(self) -> tuple[np.ndarray | slice, np.ndarray]:
        """The rows with those of an order together, and where each order starts."""
        starts = np.cumsum(self.rows) - self.rows
        if (self.codes[1:] >= self.codes[:-1]).all():
            return slice(None), starts
        return np.argsort(self.codes, kind="stable"), starts

    def count(self, rows: np.ndarray) -> np.ndarray:
        """How many of these rows each order has."""
        return np.bincount(self.codes[rows], minlength=self.size)

    def total(self, figures: Figures) -> np.ndarray:
        """The sum of a column in each order."""
        return self._reduced(np.add, figures, 0)

    def least(self, figures: Figures) -> np.ndarray:
        """The least figure of each order; the largest number where it has none."""
        return self._reduced(np.minimum, figures, np.iinfo(np.int64).max)

    def greatest(self, figures: Figures) -> np.ndarray:
        """The greatest figure of each order; the smallest number where it has none."""
        return self._reduced(np.maximum, figures, np.iinfo(np.int64).min)

    def _reduced(self, how: np.ufunc, figures: Figures, instead: int) -> np.ndarray:
        key = (how.__name__, id(figures))
        if key not in self._found:  # the figures are kept, so that no others get their id
            cents = figures.cents
            if not figures.filled.all():
                cents = np.where(figures.filled, cents, instead)
            by, starts = self._sorted
            self._found[key] = (figures, how.reduceat(cents[by], starts) if self.size else cents)
        return self._found[key][1]

    def once(self, figures: Figures) -> Figures:
        """The figure of each order; wrong where its rows have several."""
        least, greatest = self.least(figures), self.greatest(figures)
        filled = self.count(figures.filled) > 0
        return Figures(
            np.where(filled, greatest, 0),
            filled,
            _any_of(filled & (least != greatest), self._wrong(figures)),
        )

    def summed(self, figures: Figures) -> Figures:
        """The sum of each order."""
        filled = self.count(figures.filled) > 0
        return Figures(self.total(figures), filled, self._wrong(figures))

    def head(self, figures: Figures) -> Figures:
        """The figure of each order that is farthest from 0."""
        least, greatest = self.least(figures), self.greatest(figures)
        filled = self.count(figures.filled) > 0
        far = np.where(-np.where(filled, least, 0) > np.where(filled, greatest, 0), least, greatest)
        return Figures(np.where(filled, far, 0), filled, self._wrong(figures))

    def taken(self, term: Term, figures: Figures) -> Figures:
        """The figure of each order by a term."""
        if term.head:
            return self.head(figures)
        return self.once(figures) if term.once else self.summed(figures)

    def _wrong(self, figures: Figures) -> np.ndarray | None:
        return None if figures.wrong is None else self.count(figures.wrong) > 0


def _any_of(first: np.ndarray, second: np.ndarray | None) -> np.ndarray | None:
    either = first if second is None else first | second
    return either if either.any() else None


def levels(
    table: MoneyTable,
    orders: np.ndarray | None,
    labels: Sequence[Hashable] | None = None,
) -> dict[Hashable, Level]:
    """Whether each column is that of the whole order or that of the line.

    Args:
        table: the money of the rows.
        orders: the number of the order of each row, -1 where it has none; `None` where every row
            is an order of its own.
        labels: the columns to tell; else all.
    """
    wanted = [*table.columns] if labels is None else [*labels]
    if orders is None:
        return dict.fromkeys(wanted, "line")
    groups = Groups.of(orders)
    seen = patterns(table, groups)
    return {label: level_of(label, table, groups, seen) for label in wanted}


def patterns(table: MoneyTable, groups: Groups) -> dict[Hashable, Pattern]:
    """How each column is filled within the orders of several rows."""
    return {label: _pattern(figures, groups) for label, figures in table.columns.items()}


def _pattern(figures: Figures, groups: Groups) -> Pattern:
    """How one column is filled; a refund row in an order does not make it that of the line."""
    count = groups.count(figures.filled)
    least, greatest = groups.least(figures), groups.greatest(figures)
    seen = (groups.rows > 1) & (count > 0) & ((least != 0) | (greatest != 0))
    if not seen.any():
        return "silent"
    several = seen & (count > 1)
    if not several.any():
        return "single"
    differs = least != greatest
    sales = _of_one_sign(figures)
    if sales is not figures:
        there = (groups.rows > 1) & (groups.count(sales.filled) > 1)
        if there.any():  # else further rows are refunds alone, and counted one by one
            several, differs = there, groups.least(sales) != groups.greatest(sales)
    return "differs" if differs[several].mean() >= _MANY else "equal"


def _of_one_sign(figures: Figures) -> Figures:
    """A column without its negative cells, or without the others where most are negative."""
    signs = np.sign(figures.cents)
    most = 1 if np.count_nonzero(signs > 0) >= np.count_nonzero(signs < 0) else -1
    other = figures.filled & (signs == -most)
    return Figures(figures.cents, figures.filled & ~other) if other.any() else figures


def level_of(
    label: Hashable, table: MoneyTable, groups: Groups, seen: dict[Hashable, Pattern]
) -> Level:
    """The level of one column.

    What has one figure on all rows of every order is the order's where in three orders of
    differing lines the lines add up to it, and the line's where it is price x quantity of each.
    """
    pattern = seen.get(label, "silent")
    if pattern != "equal":
        return "line" if pattern == "differs" else "order"
    of, own = groups.once(table.columns[label]), table.columns[label]
    for product in products(table):
        line = table.of(product)
        if _is_that_of_the_row(own, line, groups):
            return "line"
        if _adds_up_to(line, of, groups, differing=line.cents != own.cents):
            return "order"
    for other, how in seen.items():
        if how == "differs" and table.kinds[other] in {"amount", "unknown", "price"}:
            line = table.columns[other]
            if _adds_up_to(line, of, groups, differing=None):
                return "order"
    return "unclear"


def products(table: MoneyTable) -> list[Term]:
    """Every price x quantity of a table; the first few where there are many."""
    prices = [label for label in table.fine if label not in table.quantities]
    found = [Term(price, times=number) for number in table.quantities for price in prices]
    return found[:_MOST_PRODUCTS]


def _is_that_of_the_row(own: Figures, line: Figures, groups: Groups) -> bool:
    """Whether a column is the figure of each line in nine of ten rows of orders with several."""
    several = (groups.rows > 1)[groups.codes] & (own.cents != 0)
    same = several & (own.cents == line.cents)
    return int(several.sum()) > 0 and int(same.sum()) >= _ON_ROWS * int(several.sum())


def _adds_up_to(line: Figures, of: Figures, groups: Groups, differing: np.ndarray | None) -> bool:
    """Whether the lines of enough orders add up to a figure that is not that of each of them."""
    if differing is None:
        could = groups.least(line) != groups.greatest(line)
    else:
        could = groups.count(differing) > 0
    could &= (groups.rows > 1) & of.filled & (of.cents != 0)
    do = int((could & (groups.total(line) == of.cents)).sum())
    return do >= max(_ORDERS, _SHARE * int(could.sum()))


def holds_heads(figures: Figures, groups: Groups) -> bool:
    """Whether one row of most orders of three rows and more is the sum of the others."""
    total, head = groups.total(figures), groups.head(figures).cents
    many = (groups.count(figures.filled & (figures.cents != 0)) > 2) & (head != 0)  # noqa: PLR2004
    return bool(many.any()) and bool((total == 2 * head)[many].mean() > 1 / 2)
