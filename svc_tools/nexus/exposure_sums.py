"""A state's sales by day, added up over windows and held against a threshold. Exact, and pure.

Cents and counts are whole numbers throughout. A threshold is met on the first day on which what
was sold since the window's first day reaches it: refunds of later days do not make it unmet.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import ROUND_DOWN, Decimal
from typing import TYPE_CHECKING

import numpy as np

from svc_tools.nexus.periods import rolling_firsts

if TYPE_CHECKING:
    from svc_tools.nexus.periods import Window
    from svc_tools.nexus.thresholds import Base, Threshold

__all__ = [
    "Found",
    "Series",
    "StateSales",
    "Uncounted",
    "day_number",
    "held_against",
    "rolling_met",
    "used_of",
]

_EPOCH = date(1970, 1, 1)
_FRACTION = Decimal("0.0001")
_CENTS = 100


def day_number(day: date) -> int:
    """Days since 1970-01-01, as NumPy counts them."""
    return (day - _EPOCH).days


@dataclass(frozen=True, slots=True)
class Series:
    """Cents and number of sales by day, from `start` (days since 1970-01-01) without gaps.

    `more` is what may have been sold besides on any day: cents, and number.
    """

    start: int
    cents: np.ndarray
    counts: np.ndarray
    more: tuple[int, int] = (0, 0)

    @property
    def first(self) -> date:
        """The first day."""
        return _EPOCH + timedelta(days=self.start)

    def between(self, first: date, last: date) -> tuple[int, np.ndarray, np.ndarray]:
        """The days of a window, as far as there are any: the first one's number, cents, counts."""
        begin = min(max(day_number(first) - self.start, 0), len(self.cents))
        end = max(min(day_number(last) - self.start + 1, len(self.cents)), begin)
        return self.start + begin, self.cents[begin:end], self.counts[begin:end]

    def total(self, first: date, last: date) -> tuple[int, int]:
        """Cents and number of sales of a window."""
        _, cents, counts = self.between(first, last)
        return int(cents.sum()), int(counts.sum())


@dataclass(frozen=True, slots=True)
class Uncounted:
    """Rows that are, or may be, sales of a state, and could not be counted.

    Attributes:
        rows: how many.
        cents: the amounts of those that have one, without refunds.
        unsized: how many have no amount that can be read.
    """

    rows: int = 0
    cents: int = 0
    unsized: int = 0

    def __add__(self, other: Uncounted) -> Uncounted:
        """Both."""
        return Uncounted(
            self.rows + other.rows, self.cents + other.cents, self.unsized + other.unsized
        )


@dataclass(frozen=True, slots=True)
class StateSales:
    """One state's sales by day; the first row of each array is direct, the second marketplace.

    Attributes:
        start: the first day, in days since 1970-01-01.
        cents: for each base that the sales have, cents by channel and day.
        refunds: the part of gross that is below 0, by channel and day; `None` where not known.
        counts: number of sales by channel and day.
    """

    start: int
    cents: dict[Base, np.ndarray]
    refunds: np.ndarray | None
    counts: np.ndarray

    def series(self, base: Base, *, marketplace: bool) -> Series:
        """Sales of a base, with those of marketplaces or without."""
        return self._series(self.cents[base], marketplace=marketplace)

    def most(self, *, marketplace: bool) -> Series | None:
        """Gross sales without any refund: no base can have more. `None` where not known."""
        if self.refunds is None:
            return None
        return self._series(self.cents["gross"] - self.refunds, marketplace=marketplace)

    def _series(self, cents: np.ndarray, *, marketplace: bool) -> Series:
        if marketplace:
            return Series(self.start, cents.sum(axis=0), self.counts.sum(axis=0))
        return Series(self.start, cents[0], self.counts[0])


@dataclass(frozen=True, slots=True)
class Found:
    """What a window holds, against a threshold.

    Attributes:
        window: the window.
        cents: its sales, less refunds.
        transactions: its number of sales.
        used: the part of the threshold that is used; down to four decimals, never below 0.
        met_on: the first day on which the threshold was met.
    """

    window: Window
    cents: int
    transactions: int
    used: Decimal
    met_on: date | None

    @property
    def rank(self) -> tuple[bool, Decimal]:
        """For choosing the window that says most."""
        return self.met_on is not None, self.used


def held_against(series: Series, window: Window, row: Threshold) -> Found:
    """Add a window up, and find the day on which it met the threshold."""
    start, cents, counts = series.between(window.first, window.last)
    sums, numbers = cents.cumsum(), counts.cumsum()
    total, number = (int(of[-1]) if len(of) else 0 for of in (sums, numbers))
    days = np.flatnonzero(_met(sums + series.more[0], numbers + series.more[1], row))
    met_on = _EPOCH + timedelta(days=start + int(days[0])) if len(days) else None
    if met_on is None and _met(np.array(series.more[:1]), np.array(series.more[1:]), row).any():
        met_on = window.last
    return Found(window, total, number, used_of(total, number, row), met_on)


def rolling_met(series: Series, first_end: date, last_end: date, row: Threshold) -> date | None:
    """The first day of these on which the 12 months that end on it meet the threshold."""
    ends = np.arange(day_number(first_end), day_number(last_end) + 1)
    firsts = rolling_firsts(ends.astype("datetime64[D]")).astype(np.int64)
    size = len(series.cents)
    begin = np.clip(firsts - series.start, 0, size)
    end = np.clip(ends + 1 - series.start, 0, size)
    sums, numbers = (
        np.concatenate(([0], of.cumsum()))[end] - np.concatenate(([0], of.cumsum()))[begin]
        for of in (series.cents, series.counts)
    )
    days = np.flatnonzero(_met(sums + series.more[0], numbers + series.more[1], row))
    return _EPOCH + timedelta(days=int(ends[days[0]])) if len(days) else None


def used_of(cents: int, transactions: int, row: Threshold) -> Decimal:
    """The part of the threshold that is used: of both tests the lower one where both are needed."""
    assert row.sales is not None  # noqa: S101 - only a state without a tax has none
    sales = Decimal(max(cents, 0)) / (row.sales * _CENTS)
    used = sales
    if row.transactions is not None and row.logic in {"and", "or"}:
        number = Decimal(transactions) / row.transactions
        used = min(sales, number) if row.logic == "and" else max(sales, number)
    return used.quantize(_FRACTION, rounding=ROUND_DOWN)


def _met(cents: np.ndarray, transactions: np.ndarray, row: Threshold) -> np.ndarray:
    """Where the test is met; exactly at the threshold it is."""
    assert row.sales is not None  # noqa: S101 - as above
    sales: np.ndarray = cents >= row.sales * _CENTS
    if row.transactions is None or row.logic not in {"and", "or"}:
        return sales
    number = transactions >= row.transactions
    both: np.ndarray = sales & number if row.logic == "and" else sales | number
    return both
