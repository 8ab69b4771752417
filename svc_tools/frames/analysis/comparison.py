"""Collected and expected tax of rows compared: classes, exact sums, and proved reasons.

A reason states an arithmetical fact ("equals the tax at the state's rate alone, to the cent"),
not an intention. Each row gets the first reason of `REASONS` that its figures prove.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.values.arrow import Coded
from svc_tools.frames.values.money import Money, dollars, money_column, sums_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from decimal import Decimal


CLASSES = ("over", "under", "within", "not_due", "no_expectation", "no_collected")
"""The classes of rows: each row has exactly one.

- over, under: more, or less, was collected than the tax, by more than the tolerance;
- within: the difference is within the tolerance;
- not_due: the seller owes no tax on the row, for a known reason;
- no_expectation: there is no tax to compare with (a missing tax is never taken for 0);
- no_collected: what was collected is missing or unreadable.
"""
_OVER, _UNDER, _WITHIN, _NOT_DUE, _NO_EXPECTATION, _NO_COLLECTED = range(len(CLASSES))


@dataclass(frozen=True, slots=True)
class Compared:
    """The rows of a reconciliation: cents, and the number in `CLASSES` of each row."""

    expected: Money
    collected: Money
    difference: Money
    classes: np.ndarray

    @classmethod
    def of(
        cls, expected: Money, collected: Money, nothing_due: np.ndarray, tolerance: int
    ) -> Compared:
        """Compare; `nothing_due` marks rows without anything expected for a known reason."""
        either = expected.missing | collected.missing
        difference = np.where(either, 0, collected.cents - expected.cents)
        classes = np.full(len(either), _WITHIN, np.int8)
        classes[difference > tolerance] = _OVER
        classes[difference < -tolerance] = _UNDER
        classes[nothing_due] = _NOT_DUE
        classes[collected.missing] = _NO_COLLECTED
        classes[expected.missing & ~nothing_due] = _NO_EXPECTATION
        return cls(expected, collected, Money(difference, either), classes)

    def rows_of(self, *names: str) -> np.ndarray:
        """The rows of these classes, as a mask."""
        rows: np.ndarray = np.logical_or.reduce([self.classes == CLASSES.index(n) for n in names])
        return rows


@dataclass(frozen=True, slots=True)
class ClassSums:
    """Rows by class, and dollars exact to the cent; `None` where no row has the figure.

    `difference` = `collected` - `expected` = `over` - `under` + `within`.

    Attributes:
        rows: all rows; the following counts add up to it.
        over_rows: rows with more collected than the tax, beyond the tolerance.
        under_rows: rows with less.
        within_rows: rows within the tolerance.
        not_due_rows: rows on which the seller owes no tax.
        no_expectation_rows: rows without a tax to compare with.
        no_collected_rows: rows where what was collected is missing or unreadable.
        expected: the tax of the rows compared (over, under and within).
        collected: what was collected in them.
        difference: collected less expected.
        over: by how much the over rows exceed their tax.
        under: by how much the under rows fall short of it, as a positive figure.
        within: collected less expected of the rows within the tolerance.
        collected_not_due: what was collected where nothing is due.
        collected_without_expectation: what was collected in rows without a tax to compare with.
        expected_without_collected: the tax of the rows where what was collected is not known.
    """

    rows: int
    over_rows: int
    under_rows: int
    within_rows: int
    not_due_rows: int
    no_expectation_rows: int
    no_collected_rows: int
    expected: Decimal | None
    collected: Decimal | None
    difference: Decimal | None
    over: Decimal | None
    under: Decimal | None
    within: Decimal | None
    collected_not_due: Decimal | None
    collected_without_expectation: Decimal | None
    expected_without_collected: Decimal | None


def sums_of(compared: Compared, codes: np.ndarray, size: int) -> list[ClassSums]:
    """The sums of the rows of each code from 0 to `size` - 1."""
    both = compared.rows_of("over", "under", "within")

    def count(rows: np.ndarray) -> list[int]:
        counted: list[int] = np.bincount(codes[rows], minlength=size).tolist()
        return counted

    def add(cents: np.ndarray, rows: np.ndarray, known_rows: np.ndarray) -> list[Decimal | None]:
        """The sums of the rows; `None` for a code without known rows."""
        sums = sums_by(codes[rows], cents[rows], size)
        known = count(known_rows)
        return [dollars(total) if n else None for total, n in zip(sums, known, strict=True)]

    collected, difference = compared.collected, compared.difference.cents
    over, under, within = (compared.rows_of(name) for name in CLASSES[: _WITHIN + 1])
    not_due = compared.rows_of("not_due")
    unexpected = compared.rows_of("no_expectation") & ~collected.missing
    uncollected = compared.rows_of("no_collected") & ~compared.expected.missing
    columns: list[Sequence[Any]] = [
        count(np.ones(len(codes), bool)),
        *(count(compared.rows_of(name)) for name in CLASSES),
        add(compared.expected.cents, both, both),
        add(collected.cents, both, both),
        add(difference, both, both),
        add(difference, over, both),
        add(-difference, under, both),
        add(difference, within, both),
        add(collected.cents, not_due, not_due),
        add(collected.cents, unexpected, unexpected),
        add(compared.expected.cents, uncollected, uncollected),
    ]
    return [ClassSums(*row) for row in zip(*columns, strict=True)]


def sum_columns(sums: Sequence[ClassSums]) -> dict[str, Any]:
    """The fields of `ClassSums` as columns: counts as whole numbers, dollars as exact decimals."""
    columns: dict[str, Any] = {}
    for field in fields(ClassSums):
        values = [getattr(row, field.name) for row in sums]
        is_count = field.name.endswith("rows")
        columns[field.name] = np.array(values, np.int64) if is_count else money_column(values)
    return columns


@dataclass(frozen=True, slots=True)
class Evidence:
    """The figures of rows: cents and units of 10^-5 (int64), and masks of those that are present.

    Attributes:
        collected: what was collected.
        expected: the tax; it differs from `collected`.
        taxable: the amount that the tax was computed on.
        exempt: the amount left untaxed.
        shipping: the delivery charge; 0 where it is zero or not known.
        shipping_tax: the part of the tax that is for delivery.
        rate: the combined rate.
        rate_known: where it can be read: one that was edited by hand is no rate of 0.
        parts: the rates of state, county, city and districts, by name.
        parts_known: where all of them are known.
        low: the lowest rate of the places that fit.
        high: the highest.
        ranged: where these two are known.
        tax_low: the lowest tax.
        tax_high: the highest.
        tax_ranged: where these two are known.
    """

    collected: np.ndarray
    expected: np.ndarray
    taxable: np.ndarray
    exempt: np.ndarray
    shipping: np.ndarray
    shipping_tax: np.ndarray
    rate: np.ndarray
    rate_known: np.ndarray
    parts: Mapping[str, np.ndarray]
    parts_known: np.ndarray
    low: np.ndarray
    high: np.ndarray
    ranged: np.ndarray
    tax_low: np.ndarray
    tax_high: np.ndarray
    tax_ranged: np.ndarray


def proved_reasons(evidence: Evidence) -> Coded[str]:
    """The reason of each row."""
    values = ["rate_differs"]
    codes = np.zeros(len(evidence.collected), np.int64)
    open_ = np.ones(len(codes), bool)
    for reason, holds in _proofs(evidence):
        codes[open_ & holds] = len(values)
        values.append(reason)
        open_ &= ~holds
    return Coded(codes, tuple(values))


_ROOM = 9 * 10**12
"""Cents up to which every product below fits 64 bits: ninety billion dollars in one row."""


def _proofs(row: Evidence) -> Iterator[tuple[str, np.ndarray]]:
    """Each reason with the rows where it holds; the first that holds is given."""
    base, whole = row.taxable, row.taxable + row.exempt
    small = np.abs(row.collected) <= _ROOM
    for amount in (base, row.exempt, row.shipping):
        small &= np.abs(amount) <= _ROOM

    def equals(amount: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Whether collected is amount x rate, to the cent, however that cent is rounded."""
        difference = np.where(small, row.collected, 0) * UNITS_PER_ONE
        difference -= np.where(small, amount, 0) * rate
        holds: np.ndarray = small & (np.abs(difference) < UNITS_PER_ONE) & (amount != 0)
        return holds

    yield "collected_nothing", row.collected == 0
    yield "sign_differs", row.collected == -row.expected
    yield "collected_on_exempt", (base == 0) & (row.exempt != 0)
    yield "collected_at_zero_rate", row.rate_known & (row.rate == 0)
    yield "collected_without_sale", base == 0
    yield "rounding", row.rate_known & equals(base, row.rate)
    yield "at_state_rate_only", row.parts_known & equals(base, row.parts["state"])
    of_parts = row.parts_known & row.rate_known
    for count in (1, 2):
        for left_out in combinations(("county", "city", "districts"), count):
            rest = row.rate - sum(row.parts[level] for level in left_out)
            yield f"without_{'_'.join(left_out)}", of_parts & equals(base, rest)
    yield "at_rate_low", row.ranged & equals(base, row.low)
    yield "at_rate_high", row.ranged & equals(base, row.high)
    goods_alone = row.rate_known & equals(base - row.shipping, row.rate)
    goods_alone |= row.collected == row.expected - row.shipping_tax
    yield "without_shipping", (row.shipping_tax != 0) & goods_alone
    untaxed = row.rate_known & (row.shipping != 0) & (row.shipping_tax == 0)
    yield "on_shipping_too", untaxed & equals(base + row.shipping, row.rate)
    yield "on_exempt_too", row.rate_known & (row.exempt != 0) & equals(whole, row.rate)
    yield "tax_included", row.rate_known & _from_gross(row, small)
    lies_between = (row.tax_low <= row.collected) & (row.collected <= row.tax_high)
    yield "within_range", row.tax_ranged & (row.tax_low < row.tax_high) & lies_between


def _from_gross(row: Evidence, small: np.ndarray) -> np.ndarray:
    """Whether collected is the tax contained in the amount: amount x rate / (1 + rate)."""
    collected, base = np.where(small, row.collected, 0), np.where(small, row.taxable, 0)
    gross = UNITS_PER_ONE + row.rate
    within = np.abs(collected * gross - base * row.rate) < gross
    holds: np.ndarray = small & within & (base != 0)
    return holds
