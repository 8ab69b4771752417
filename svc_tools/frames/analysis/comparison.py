"""Rows of a reconciliation in classes, and their exact sums."""

# MERGED difference_reasons: Why what was collected differs from the tax of a row: only what the row's own figures prove.
#
# MERGED difference_reasons: A reason states an arithmetical fact ("equals the tax at the state's rate alone, to the cent"),
# MERGED difference_reasons: not an intention. Each row gets the first reason of `REASONS` that holds.
# MERGED added: Columns that a result adds to the user's rows, and that a second result replaces.
# MERGED periods: The month, quarter or year that a row's date lies in.

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date, datetime
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.arrow import Coded
from svc_tools.frames.lookup_columns import require_columns, require_one
from svc_tools.frames.money import Money, dollars, money_column, sums_by

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence
    from decimal import Decimal

CLASSES = ("over", "under", "within", "not_due", "no_expectation", "no_collected")
"""What can become of a row: exactly one of these.

- over, under: more, or less, was collected than the tax, by more than the tolerance;
- within: the difference is within the tolerance;
- not_due: the seller owes no tax on the row, for a known reason;
- no_expectation: there is no tax to compare with (a missing tax is never taken for 0);
- no_collected: what was collected is missing or unreadable.
"""

_LOCAL = ("county", "city", "districts")
_ROOM = 9 * 10**12
"""Cents up to which every product below fits 64 bits: ninety billion dollars in one row."""

Period = Literal["month", "quarter", "year"]
_MONTHS_A_YEAR, _MONTHS_A_QUARTER = 12, 3

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


REASONS: Mapping[str, str] = {
    # the row cannot be compared
    "no_rate": "no tax is known: the lookup gave no whole rate (its status follows the colon)",
    "no_tax": "no tax is known though there is a rate: see tax_error",
    "due_not_known": "whether tax is due cannot be said (the code of tax_due_reason follows)",
    "collected_missing": "nothing is recorded as collected: not the same as 0.00",
    "collected_unreadable": "what was collected is not a whole number of cents",
    # nothing is due
    "nothing_due": "no tax is due from the seller, and none was collected",
    "not_due": "tax was collected though none is due (the code of tax_due_reason follows)",
    # the two agree
    "agrees": "collected is the tax, to the cent",
    "within_tolerance": "collected differs from the tax by no more than the tolerance",
    # the two differ
    "collected_nothing": "0.00 was collected",
    "sign_differs": "collected is the tax with the other sign: a refund booked as a sale, or back",
    "collected_on_exempt": "tax was collected on a sale that is wholly exempt",
    "collected_at_zero_rate": "tax was collected where the rate is 0",
    "collected_without_sale": "tax was collected on a taxable amount of 0.00",
    "rounding": "the tax of this line rounded the other way: less than a cent from the product",
    "at_state_rate_only": "equals the tax at the state's rate alone",
    **{
        f"without_{'_'.join(left_out)}": f"equals the tax without the part of {what}"
        for left_out, what in {
            ("county",): "the county",
            ("city",): "the city",
            ("districts",): "the districts",
            ("county", "city"): "county and city",
            ("county", "districts"): "county and districts",
            ("city", "districts"): "city and districts",
        }.items()
    },
    "at_rate_low": "equals the tax at rate_low, the lowest rate of the places that fit",
    "at_rate_high": "equals the tax at rate_high, the highest rate of the places that fit",
    "without_shipping": "equals the tax on the goods alone: delivery, taxable here, was not taxed",
    "on_shipping_too": "equals the tax with delivery included, which is not taxable here",
    "on_exempt_too": "equals the tax on the whole sale, its exempt part included",
    "tax_included": "equals the tax if the amount already contained it",
    "within_range": "lies between tax_low and tax_high: the place decides, and it is not certain",
    "rate_differs": "none of these: implied_rate says at which rate it was collected",
}
"""Every reason and what it states. `no_rate`, `no_tax`, `due_not_known` and `not_due` may carry
more after a colon."""


def reason_meaning(reason: str) -> str:
    """What a reason states, with or without what follows its colon."""
    return REASONS.get(reason.partition(":")[0], "")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What rows say about themselves; cents and units of 10^-5 (int64), and masks of what is there.

    Attributes:
        collected: what was collected.
        expected: the tax; it differs from `collected`.
        taxable: the amount that the tax was computed on.
        exempt: the amount left untaxed.
        shipping: the delivery charge; 0 where there is none, or it is not known.
        shipping_tax: the part of the tax that is for delivery.
        rate: the combined rate.
        parts: the rates of state, county, city and districts, by name.
        parts_known: where all of them are there.
        low: the lowest rate of the places that fit.
        high: the highest.
        ranged: where these two are there.
        tax_low: the lowest tax.
        tax_high: the highest.
        tax_ranged: where these two are there.
    """

    collected: np.ndarray
    expected: np.ndarray
    taxable: np.ndarray
    exempt: np.ndarray
    shipping: np.ndarray
    shipping_tax: np.ndarray
    rate: np.ndarray
    parts: Mapping[str, np.ndarray]
    parts_known: np.ndarray
    low: np.ndarray
    high: np.ndarray
    ranged: np.ndarray
    tax_low: np.ndarray
    tax_high: np.ndarray
    tax_ranged: np.ndarray


def proved_reasons(evidence: Evidence) -> list[str]:
    """The reason of each row."""
    reasons = np.full(len(evidence.collected), "rate_differs", object)
    open_ = np.ones(len(reasons), bool)
    for reason, holds in _proofs(evidence):
        reasons[open_ & holds] = reason
        open_ &= ~holds
    return list(reasons)


def _proofs(row: Evidence) -> Iterator[tuple[str, np.ndarray]]:
    """The reasons with where they hold, in the order in which they count."""
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
    yield "collected_at_zero_rate", row.rate == 0
    yield "collected_without_sale", base == 0
    yield "rounding", equals(base, row.rate)
    yield "at_state_rate_only", row.parts_known & equals(base, row.parts["state"])
    for count in (1, 2):
        for left_out in combinations(_LOCAL, count):
            rest = row.rate - sum(row.parts[level] for level in left_out)
            yield f"without_{'_'.join(left_out)}", row.parts_known & equals(base, rest)
    yield "at_rate_low", row.ranged & equals(base, row.low)
    yield "at_rate_high", row.ranged & equals(base, row.high)
    goods_alone = (row.collected == row.expected - row.shipping_tax) | equals(
        base - row.shipping, row.rate
    )
    yield "without_shipping", (row.shipping_tax != 0) & goods_alone
    untaxed = (row.shipping != 0) & (row.shipping_tax == 0)
    yield "on_shipping_too", untaxed & equals(base + row.shipping, row.rate)
    yield "on_exempt_too", (row.exempt != 0) & equals(whole, row.rate)
    yield "tax_included", _from_gross(row, small)
    lies_between = (row.tax_low <= row.collected) & (row.collected <= row.tax_high)
    yield "within_range", row.tax_ranged & (row.tax_low < row.tax_high) & lies_between


def _from_gross(row: Evidence, small: np.ndarray) -> np.ndarray:
    """Whether collected is the tax contained in the amount: amount x rate / (1 + rate)."""
    collected, base = np.where(small, row.collected, 0), np.where(small, row.taxable, 0)
    gross = UNITS_PER_ONE + row.rate
    within = np.abs(collected * gross - base * row.rate) < gross
    holds: np.ndarray = small & within & (base != 0)
    return holds


def without_added(frame: pd.DataFrame, names: Sequence[str], what: str) -> pd.DataFrame:
    """The frame without the columns that an earlier result of the same kind added.

    Args:
        frame: the rows.
        names: the columns that the result adds.
        what: the result, for the message: "a review".

    Raises:
        ValueError: some of the names are there, so they are the user's own.
    """
    there = [name for name in names if name in frame.columns]
    if len(there) == len(names):
        return frame.drop(columns=list(names))
    if there:
        raise ValueError(f"the frame has a column {there[0]!r}, which {what} adds; rename it")
    return frame


PERIODS: tuple[str, ...] = get_args(Period)
_NONE = np.iinfo(np.int64).min
"""What NumPy makes of a date that is not there."""


def periods_of_rows(frame: pd.DataFrame, label: Hashable, period: str) -> Coded:
    """Each row's period, such as 2026-05, 2026Q2 or 2026; empty where it has no readable date.

    Args:
        frame: the rows.
        label: the column of dates, times without a zone, or ISO texts.
        period: "month", "quarter" or "year".

    Raises:
        ValueError: the period is not known, there is no such column, or its times have a zone.
    """
    if period not in PERIODS:
        raise ValueError(f"period: {period!r} is not known; expected 'month', 'quarter' or 'year'")
    require_columns(frame, (label,), "name the column of dates: date='…'")
    require_one(frame, label, "date")
    distinct, codes = np.unique(_months(frame[label]).view(np.int64), return_inverse=True)
    names = [_name(month, period) for month in distinct.tolist()]
    values = sorted({*names, ""}, key=lambda name: (not name, name))
    place = {name: number for number, name in enumerate(values)}
    return Coded(np.array([place[name] for name in names], np.int64)[codes], tuple(values))


def undated(rows: np.ndarray | None) -> tuple[str, ...]:
    """What is to be said of rows that lie in no period (a mask; `None` where none was asked)."""
    count = 0 if rows is None else int(np.count_nonzero(rows))
    if not count:
        return ()
    return (f"Rows in no period, because their date is missing or is no ISO date: {count:,}.",)


def _name(months: int, period: str) -> str:
    if months == _NONE:
        return ""
    year, month = divmod(months, _MONTHS_A_YEAR)
    year += 1970
    if period == "month":
        return f"{year:04}-{month + 1:02}"
    return f"{year:04}Q{month // _MONTHS_A_QUARTER + 1}" if period == "quarter" else f"{year:04}"


def _months(column: pd.Series) -> np.ndarray:
    """The rows' months as NumPy counts them, NaT where there is none."""
    kind = getattr(column.dtype, "pyarrow_dtype", None)
    zone = getattr(column.dtype, "tz", None) or getattr(kind, "tz", None)
    if zone is not None:
        raise ValueError(
            f"date: column {column.name!r} has times in {zone}, so its calendar date depends on"
            f" the place; convert it first: df[{column.name!r}].dt.tz_convert('America/Chicago')"
            ".dt.date"
        )
    if kind is not None and (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        days = pa.chunked_array(column.array.__arrow_array__()).cast(pa.date32(), safe=False)
        months: np.ndarray = days.cast(pa.timestamp("s")).to_numpy().astype("datetime64[M]")
        return months
    if pd.api.types.is_datetime64_dtype(column.dtype):
        return column.to_numpy("datetime64[M]")
    codes, distinct = pd.factorize(column)
    days = [*map(_day, distinct.tolist()), None]
    return np.array(days, "datetime64[M]")[codes]


def _day(value: object) -> date | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    if not isinstance(value, date):  # a datetime and a pandas timestamp are dates, too
        return None
    if getattr(value, "tzinfo", None) is not None:
        raise ValueError(
            f"date: {value} is a moment in a time zone, so its calendar date depends on the"
            " place; convert the column to dates first"
        )
    return date(value.year, value.month, value.day)
