"""Exact tax: whole cents times whole units of 10^-5, rounded in whole numbers."""

from __future__ import annotations

import re
from collections import Counter
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE, rate_to_units
from svc_tools.frames.enriched import require_columns, require_one
from svc_tools.frames.exact import MONEY, decimals
from svc_tools.frames.notes import say

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["add_tax"]

_SNAP = 1e-6
"""How far from a whole cent, in dollars, a float may lie and still be meant as that cent."""
_ACCOUNTING = re.compile(
    r"(?P<bracket>\()?(?P<minus>-)?\$?(?P<digits>(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?)(?(bracket)\))"
)
_BLOCK = 65_536
_CENTS = 100
_LARGEST = 2**63 - 1


def add_tax(
    frame: pd.DataFrame,
    amount: Hashable,
    *,
    partial: Literal["use"] | None,
    prefix: str,
    progress: bool,
) -> pd.DataFrame:
    """Add `tax` and `tax_error`; see `SvcAccessor.tax`."""
    if partial not in {None, "use"}:
        raise ValueError(f"partial: {partial!r} is not known; expected 'use' or None")
    status_name, rate_name = f"{prefix}lookup_status", f"{prefix}combined_rate"
    require_columns(frame, (status_name, rate_name), "look the rates up first: df.svc.lookup()")
    require_columns(frame, (amount,), "name the column of amounts: df.svc.tax(amount='…')")
    tax_name, error_name = f"{prefix}tax", f"{prefix}tax_error"
    if tax_name in frame.columns and error_name not in frame.columns:
        raise ValueError(
            f"the frame has a column {tax_name!r} that is not ours; rename it,"
            " or look up with a prefix, for instance prefix='svc_'"
        )
    require_one(frame, amount, "amount")
    cents, wrong, snapped = whole_cents(frame[amount])
    units, unrated = _units(frame[rate_name])
    reasons = np.full(len(frame), None, object)
    status = frame[status_name].to_numpy(object)
    usable = status == "ok"
    if partial == "use":
        usable |= status == "partial"
    reasons[~usable] = [_why_not(value) for value in status[~usable]]
    reasons[usable & unrated] = "the row has no rate"
    bad_amount = np.isin(np.arange(len(frame)), np.fromiter(wrong, np.int64, len(wrong)))
    first = bad_amount & (reasons == None)  # noqa: E711 - elementwise
    reasons[first] = [wrong[index] for index in np.flatnonzero(first).tolist()]
    missing = reasons != None  # noqa: E711 - elementwise
    cents[missing] = 0
    tax = rounded_tax(cents, np.where(missing, 0, units))
    taxed = frame.drop(columns=[tax_name, error_name], errors="ignore").copy(deep=False)
    taxed[tax_name] = decimals(tax, missing, MONEY)
    taxed[error_name] = pd.array(reasons, dtype="str")
    if progress and missing.any():
        ((often, rows),) = Counter(reasons[missing].tolist()).most_common(1)
        count = int(np.count_nonzero(missing))
        say([f"rows without a tax: {count:,}; most frequent reason: {often} (rows: {rows:,})"])
    if progress and snapped:
        say([f"floats off a whole cent by a rounding error, read as that cent: {snapped:,}"])
    return taxed


def _why_not(status: object) -> str:
    if status == "partial":
        return "the rate lacks its local or district part (partial='use' computes from the rest)"
    return f"no rate: {status}"


def rounded_tax(cents: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Tax in whole cents, half a cent away from zero: refunds mirror their sales.

    Raises:
        OverflowError: an amount too large for exact arithmetic in 64 bits (above about 900
            billion dollars).
    """
    largest = max(abs(int(cents.max(initial=0))), abs(int(cents.min(initial=0))))
    if largest * int(units.max(initial=0)) + UNITS_PER_ONE > _LARGEST:
        raise OverflowError(
            f"amount: {largest / _CENTS:,.2f} dollars is too large for exact tax at these rates"
        )
    out = np.empty(len(cents), np.int64)
    for start in range(0, len(cents), _BLOCK):
        block = out[start : start + _BLOCK]
        np.multiply(cents[start : start + _BLOCK], units[start : start + _BLOCK], out=block)
        sign = np.sign(block)
        np.abs(block, out=block)
        block += UNITS_PER_ONE // 2
        np.floor_divide(block, UNITS_PER_ONE, out=block)
        block *= sign
    return out


def whole_cents(column: pd.Series) -> tuple[np.ndarray, dict[int, str], int]:
    """Amounts as whole cents (int64), the reason by row where one cannot be, and how many snapped.

    Whole numbers, decimals, text and floats are understood; a float off a whole cent by more
    than a millionth of a dollar is refused, never rounded.
    """
    if pd.api.types.is_bool_dtype(column.dtype):
        raise TypeError(f"amount: column {column.name!r} holds truth values, not amounts")
    missing = column.isna().to_numpy()
    if pd.api.types.is_float_dtype(column.dtype):
        return _of_floats(column.to_numpy(np.float64, na_value=np.nan), missing)
    if pd.api.types.is_integer_dtype(column.dtype):
        plain = column.fillna(0).to_numpy()
        if not len(plain) or max(abs(int(plain.max())), abs(int(plain.min()))) < _LARGEST // _CENTS:
            return plain.astype(np.int64) * _CENTS, _gone(missing), 0
    return _of_objects(column, missing)


def _gone(missing: np.ndarray) -> dict[int, str]:
    return dict.fromkeys(np.flatnonzero(missing).tolist(), "amount: missing")


def _of_floats(amounts: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, dict[int, str], int]:
    usable = np.isfinite(amounts) & (np.abs(amounts) < _LARGEST / _CENTS / 2)
    safe = np.where(usable, amounts, 0.0)
    cents = np.rint(safe * _CENTS)
    nearest = cents / _CENTS
    exact = nearest == safe
    near = np.abs(nearest - safe) <= _SNAP
    wrong = _gone(missing)
    for index in np.flatnonzero(~(usable & (exact | near)) & ~missing).tolist():
        wrong[index] = f"amount: {float(amounts[index])!r} is not a whole number of cents"
    return cents.astype(np.int64), wrong, int(np.count_nonzero(usable & near & ~exact))


def _of_objects(column: pd.Series, missing: np.ndarray) -> tuple[np.ndarray, dict[int, str], int]:
    codes, uniques = pd.factorize(column)
    known = [_one(value) for value in uniques.tolist()] if len(uniques) else []
    values = np.array([0 if isinstance(one, str) else one for one in known] + [0], np.int64)
    wrong = _gone(missing)
    failed = np.array([isinstance(one, str) for one in known] + [False], bool)
    for index in np.flatnonzero(failed[codes]).tolist():
        wrong[index] = str(known[codes[index]])
    return values[codes].copy(), wrong, 0


def _one(value: object) -> int | str:
    """One amount in cents, or why it is none."""
    if isinstance(value, float):
        cents, wrong, _ = _of_floats(np.array([value]), np.array([False]))
        return wrong.get(0) or int(cents[0])
    shown = str(value)[:40]
    try:
        cents_exact = Decimal(_plain_number(str(value))) * _CENTS
    except InvalidOperation:
        return f"amount: {shown!r} is not a number of dollars such as 12.50"
    if not cents_exact.is_finite() or abs(cents_exact) > _LARGEST:
        return f"amount: {shown} is out of range"
    if cents_exact != int(cents_exact):
        return f"amount: {shown} is not a whole number of cents"
    return int(cents_exact)


def _plain_number(text: str) -> str:
    """An amount as accountants write it, as a plain number: $1,234.50, (15.00)."""
    match = _ACCOUNTING.fullmatch(text.strip())
    if match is None:
        return text.strip()
    minus = "-" if match["minus"] or match["bracket"] else ""
    return minus + match["digits"].replace(",", "")


def _units(column: pd.Series) -> tuple[np.ndarray, np.ndarray]:
    """Rates as units of 10^-5, whatever form the lookup gave them, and where there is none."""
    codes, uniques = pd.factorize(column)
    exact = [
        Decimal(repr(value)) if isinstance(value, float) else Decimal(str(value))
        for value in uniques.tolist()
    ]
    units = np.array([rate_to_units(rate) for rate in exact] + [0], np.int64)
    return units[codes], codes < 0
