"""What was collected against what the tax should have been: row by row, by state and by reason."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.analysis.added import without_added
from svc_tools.frames.analysis.compared import CLASSES, Compared, Sums, sums_of
from svc_tools.frames.analysis.difference_reasons import Evidence, proved_reasons
from svc_tools.frames.analysis.periods import periods_of_rows, undated
from svc_tools.frames.analysis.reconcile_tables import by_group, by_reason, by_state, worst_rows
from svc_tools.frames.analysis.reconciliation import Reconciliation
from svc_tools.frames.coded import Coded
from svc_tools.frames.enriched import require_columns, require_one
from svc_tools.frames.exact import MONEY, RATE, decimals
from svc_tools.frames.rate_units import rates_of
from svc_tools.frames.row_states import states_of_rows
from svc_tools.frames.taxes.amounts import one_amount, whole_cents
from svc_tools.frames.taxes.changes import changes_since
from svc_tools.frames.taxes.rounding import ROOM
from svc_tools.frames.taxes.taxed_rows import shipping_of_rows, taxed_rows
from svc_tools.frames.totals import Money, dollars, money

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from decimal import Decimal

    from svc_tools.frames.analysis.periods import Period
    from svc_tools.frames.taxes.taxed_rows import TaxedRows

__all__ = ["LINE_COLUMNS", "reconcile"]

LINE_COLUMNS = (
    "expected_tax",
    "collected_tax",
    "tax_difference",
    "difference_class",
    "difference_reason",
    "implied_rate",
)
"""The columns that `Reconciliation.lines` adds, without the prefix."""

_PARTS = {
    "state": "state_rate",
    "county": "county_rate",
    "city": "city_rate",
    "districts": "combined_district_rate",
}
_SUMS = frozenset(field.name for field in fields(Sums))
_COMPARED = ("over", "under", "within")
_LARGEST_RATE = 99 * UNITS_PER_ONE


def reconcile(
    frame: pd.DataFrame,
    collected: Hashable,
    *,
    tolerance: Decimal | str | int,
    by: Hashable | Sequence[Hashable] | None,
    period: Period | None,
    date: Hashable | None,
    worst: int,
    prefix: str,
) -> Reconciliation:
    """Compare; see `MoneyMethods.reconcile` for the meaning of the arguments."""
    if isinstance(worst, bool) or not isinstance(worst, int) or worst < 0:
        raise ValueError(f"worst: expected how many rows to list, 0 or more, not {worst!r}")
    allowed = one_amount(tolerance, "tolerance")
    if allowed < 0:
        raise ValueError(f"tolerance: {tolerance} is negative; expected 0 dollars or more")
    rows = taxed_rows(frame, prefix)
    notes = changes_since(frame, rows, prefix)
    _check_collected(frame, collected, prefix)
    keys = _group_keys(frame, by, period, date, prefix)
    source = without_added(frame, [prefix + name for name in LINE_COLUMNS], "a reconciliation")
    cents, wrong, snapped = whole_cents(frame[collected], "collected")
    unknown = np.zeros(len(frame), bool)
    unknown[list(wrong)] = True
    compared = Compared.of(rows.due, Money(cents, unknown), rows.nothing_due, allowed)
    reasons = _reasons(frame, rows, compared, wrong, prefix)
    lines = _lines(source, rows, compared, reasons, prefix)
    (totals,) = sums_of(compared, np.zeros(len(frame), np.int64), 1)
    return Reconciliation(
        collected=str(collected),
        expected="tax_due" if rows.says_due else "tax",
        tolerance=dollars(allowed),
        totals=totals,
        by_state=by_state(compared, states_of_rows(frame, prefix=prefix)),
        by_reason=by_reason(compared, reasons),
        by_group=by_group(compared, keys) if keys else None,
        worst=worst_rows(lines, compared, worst),
        lines=lines,
        prefix=prefix,
        snapped=snapped,
        notes=(*notes, *undated(keys[period].isna().to_numpy() if period else None)),
    )


def _check_collected(frame: pd.DataFrame, label: Hashable, prefix: str) -> None:
    require_columns(frame, (label,), "name the column: df.svc.reconcile(collected='…')")
    require_one(frame, label, "collected")
    if label in {f"{prefix}tax", f"{prefix}tax_due"}:
        raise ValueError(
            f"collected: {label!r} is the tax that was computed; name the column of what was"
            " collected"
        )


def _group_keys(
    frame: pd.DataFrame,
    by: Hashable | Sequence[Hashable] | None,
    period: Period | None,
    date: Hashable | None,
    prefix: str,
) -> dict[Hashable, pd.Series]:
    """The columns to group by, under their names: the period first."""
    if date is not None and period is None:
        raise ValueError("date: it is for period='month', 'quarter' or 'year'; give that too")
    keys: dict[Hashable, pd.Series] = {}
    if period is not None:
        label = f"{prefix}lookup_as_of" if date is None else date
        codes, values = periods_of_rows(frame, label, period)
        names = pd.array([name or None for name in values], dtype="str")
        keys[period] = pd.Series(names.take(codes), index=frame.index)
    labels = list(by) if isinstance(by, list) else [] if by is None else [by]
    require_columns(frame, tuple(labels), "name columns of the frame: by='…' or by=['…', '…']")
    for label in labels:
        require_one(frame, label, "by")
        if label == period:
            raise ValueError(f"by: a column {label!r} and period={period!r} have one name")
        if label in _SUMS:
            raise ValueError(f"by: {label!r} is the name of a sum of the table; rename the column")
        keys[label] = frame[label]
    return keys


def _reasons(
    frame: pd.DataFrame,
    rows: TaxedRows,
    compared: Compared,
    wrong: dict[int, str],
    prefix: str,
) -> Coded:
    """The reason of each row, as a code into the reasons that occur."""
    reasons = np.empty(len(frame), object)
    why = np.array(rows.why.values, object)[rows.why.codes]
    classes = compared.classes
    unexpected = compared.rows_of("no_expectation", "not_due")
    reasons[unexpected] = why[unexpected]
    idle = compared.rows_of("not_due") & (compared.collected.cents == 0)
    reasons[idle] = "nothing_due"
    within = compared.rows_of("within")
    reasons[within] = "within_tolerance"
    reasons[within & (compared.difference.cents == 0)] = "agrees"
    uncollected = np.flatnonzero(classes == CLASSES.index("no_collected"))
    empty = frozenset(row for row, reason in wrong.items() if reason.endswith(": missing"))
    reasons[uncollected] = [
        "collected_missing" if row in empty else "collected_unreadable"
        for row in uncollected.tolist()
    ]
    differing = np.flatnonzero(compared.rows_of("over", "under"))
    reasons[differing] = proved_reasons(_evidence(frame, rows, compared, differing, prefix))
    codes, values = pd.factorize(reasons)
    return Coded(codes, tuple(values))


def _evidence(
    frame: pd.DataFrame, rows: TaxedRows, compared: Compared, which: np.ndarray, prefix: str
) -> Evidence:
    part = frame.iloc[which]

    def cents(name: str) -> Money:
        return money(part, prefix + name)

    parts = {level: rates_of(part, prefix + name) for level, name in _PARTS.items()}
    low, high = rates_of(part, f"{prefix}rate_low"), rates_of(part, f"{prefix}rate_high")
    tax_low, tax_high = cents("tax_low"), cents("tax_high")
    return Evidence(
        collected=compared.collected.cents[which],
        expected=compared.expected.cents[which],
        taxable=rows.taxable.cents[which],
        exempt=rows.exempt.cents[which],
        shipping=shipping_of_rows(frame, prefix)[which],
        shipping_tax=cents("shipping_tax").cents,
        rate=rates_of(part, f"{prefix}combined_rate").units,
        parts={level: rates.units for level, rates in parts.items()},
        parts_known=~np.any([rates.missing for rates in parts.values()], axis=0),
        low=low.units,
        high=high.units,
        ranged=~(low.missing | high.missing),
        tax_low=tax_low.cents,
        tax_high=tax_high.cents,
        tax_ranged=~(tax_low.missing | tax_high.missing),
    )


def _lines(
    source: pd.DataFrame, rows: TaxedRows, compared: Compared, reasons: Coded, prefix: str
) -> pd.DataFrame:
    lines = source.copy(deep=False)
    both = compared.rows_of(*_COMPARED)
    columns = (
        decimals(compared.expected.cents, compared.expected.missing, MONEY),
        decimals(compared.collected.cents, compared.collected.missing, MONEY),
        decimals(compared.difference.cents, compared.difference.missing, MONEY),
        pd.array(CLASSES, dtype="str").take(compared.classes),
        pd.array(reasons.values, dtype="str").take(reasons.codes),
        _implied_rate(compared.collected.cents, rows.taxable, both),
    )
    for name, column in zip(LINE_COLUMNS, columns, strict=True):
        lines[prefix + name] = column
    return lines


def _implied_rate(
    collected: np.ndarray, taxable: Money, both: np.ndarray
) -> pd.arrays.ArrowExtensionArray:
    """Collected over taxable, to five decimals (half up); missing where that is no rate."""
    base = np.abs(taxable.cents)
    usable = both & ~taxable.missing & (base > 0) & (base < ROOM)
    usable &= (np.abs(collected) < ROOM) & ((collected == 0) | (collected ^ taxable.cents >= 0))
    base = np.where(usable, base, 1)
    scaled = np.where(usable, np.abs(collected), 0) * UNITS_PER_ONE
    whole, rest = np.divmod(scaled, base)
    rates = whole + (rest >= base - rest)
    missing = ~usable | (rates > _LARGEST_RATE)
    return decimals(np.where(missing, 0, rates), missing, RATE)
