"""What orders come to by the sums of a file, added up here apart from how the product does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from svc_tools.frames.orders.figures import (
    Figures,
    MoneyTable,
    OrderAmounts,
    order_amounts,
    terms_of,
)

if TYPE_CHECKING:
    from svc_tools.frames.orders.sums import Sums, Term


def residuals(table: MoneyTable, sums: Sums) -> OrderAmounts:
    """Goods, delivery, tax and what is left of the total, row by row."""
    return order_amounts(sums, [(what, term, table.of(term)) for what, term in _all_terms(sums)])


class OrderFigures:
    """The figures of each order, from the rows of any number of chunks.

    The caller numbers the orders from 0; a row without an order has a number of its own.
    """

    def __init__(self, sums: Sums) -> None:
        self._sums = sums
        self._terms = _all_terms(sums)
        self._cents = [np.zeros(0, np.int64) for _ in self._terms]
        self._filled = [np.zeros(0, bool) for _ in self._terms]
        self._wrong = np.zeros(0, bool)

    def add(self, table: MoneyTable, orders: np.ndarray) -> None:
        """Take the rows of a chunk, with the number of the order of each."""
        size = max(int(orders.max(initial=-1)) + 1, len(self._wrong))
        self._wrong = _grown(self._wrong, size)
        for place, (_, term) in enumerate(self._terms):
            cents, filled = (_grown(each[place], size) for each in (self._cents, self._filled))
            self._cents[place], self._filled[place] = cents, filled
            figures = table.of(term)
            if figures.wrong is not None:
                self._wrong[orders[figures.wrong]] = True
            there = np.flatnonzero(figures.filled)
            if term.head:
                self._take_heads(cents, orders[there], figures.cents[there])
            elif term.once:
                first = there[~filled[orders[there]]][::-1]
                cents[orders[first]] = figures.cents[first]  # the first row is written last
                other = cents[orders[there]] != figures.cents[there]
                self._wrong[orders[there[other]]] = True
            else:
                np.add.at(cents, orders[there], figures.cents[there])
            filled[orders[there]] = True

    @staticmethod
    def _take_heads(cents: np.ndarray, orders: np.ndarray, values: np.ndarray) -> None:
        """Keep the figure of each order that is farthest from 0."""
        by_size = np.argsort(np.abs(values), kind="stable")
        far = np.zeros(len(cents), np.int64)
        far[orders[by_size]] = values[by_size]  # the largest is written last
        larger = np.abs(far) > np.abs(cents)
        cents[larger] = far[larger]

    def rows(self) -> OrderAmounts:
        """What each order comes to."""
        return order_amounts(
            self._sums,
            [
                (what, term, Figures(cents, filled, self._wrong))
                for (what, term), cents, filled in zip(
                    self._terms, self._cents, self._filled, strict=True
                )
            ],
        )


def _all_terms(sums: Sums) -> list[tuple[str, Term]]:
    return [*terms_of(sums), *([] if sums.total is None else [("total", sums.total)])]


def _grown(values: np.ndarray, size: int) -> np.ndarray:
    if len(values) == size:
        return values
    grown = np.zeros(size, values.dtype)
    grown[: len(values)] = values
    return grown
