"""Rows of a reconciliation in classes, and their exact sums."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from svc_tools.frames.totals import Money, dollars, money_column, sums_by

if TYPE_CHECKING:
    from collections.abc import Sequence
    from decimal import Decimal

__all__ = ["CLASSES", "Compared", "Sums", "sum_columns", "sums_of"]

CLASSES = ("over", "under", "within", "not_due", "no_expectation", "no_collected")
"""What can become of a row: exactly one of these.

- over, under: more, or less, was collected than the tax, by more than the tolerance;
- within: the difference is within the tolerance;
- not_due: the seller owes no tax on the row, for a known reason;
- no_expectation: there is no tax to compare with (a missing tax is never taken for 0);
- no_collected: what was collected is missing or unreadable.
"""
_OVER, _UNDER, _WITHIN, _NOT_DUE, _NO_EXPECTATION, _NO_COLLECTED = range(len(CLASSES))


@dataclass(frozen=True, slots=True)
class Sums:
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
        rows: np.ndarray = np.isin(self.classes, [CLASSES.index(name) for name in names])
        return rows


def sums_of(compared: Compared, codes: np.ndarray, size: int) -> list[Sums]:
    """The sums of the rows of each code from 0 to `size` - 1."""
    both = compared.rows_of("over", "under", "within")

    def count(rows: np.ndarray) -> list[int]:
        counted: list[int] = np.bincount(codes[rows], minlength=size).tolist()
        return counted

    def add(cents: np.ndarray, rows: np.ndarray, there: np.ndarray) -> list[Decimal | None]:
        """The sums of the rows, where any row is `there` at all."""
        sums = sums_by(codes[rows], cents[rows], size)
        known = count(there)
        return [dollars(one) if n else None for one, n in zip(sums, known, strict=True)]

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
    return [Sums(*one) for one in zip(*columns, strict=True)]


def sum_columns(sums: Sequence[Sums]) -> dict[str, Any]:
    """The fields of `Sums` as columns: counts as whole numbers, dollars as exact decimals."""
    columns: dict[str, Any] = {}
    for field in fields(Sums):
        values = [getattr(one, field.name) for one in sums]
        counts = field.name.endswith("rows")
        columns[field.name] = np.array(values, np.int64) if counts else money_column(values)
    return columns
