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
from svc_tools.frames.ownership import TAXED, without_tax

if TYPE_CHECKING:
    from collections.abc import Hashable

__all__ = ["add_tax"]

_SNAP = 1e-6
"""How far from a whole cent, in dollars, a float may lie and still be meant as that cent."""
_NUMBER = re.compile(r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)?(?:\.[0-9]+)?")
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
    for label in (status_name, rate_name, amount):
        require_one(frame, label, "amount" if label == amount else "lookup")
    taxed = without_tax(frame, prefix).copy(deep=False)
    cents, wrong, snapped = whole_cents(frame[amount])
    units, no_rate = _units(frame[rate_name])
    limit = (_LARGEST - UNITS_PER_ONE) // max(int(units.max(initial=0)), 1)
    for index in np.flatnonzero(np.abs(cents) > limit).tolist():
        wrong.setdefault(index, f"amount: {cents[index] / _CENTS:,.2f} is too large for exact tax")
    usable = {"ok", "partial"} if partial == "use" else {"ok"}
    codes, names = pd.factorize(frame[status_name])
    by_code = [None if name in usable else _why_not(name) for name in names.tolist()]
    reasons = np.array([*by_code, "no rate: the row was not looked up"], object)[codes]
    for found in (no_rate, wrong):  # the first reason counts
        for index, reason in found.items():
            if reasons[index] is None:
                reasons[index] = reason
    missing = np.array([reason is not None for reason in reasons], bool)
    cents[missing] = 0
    tax = rounded_tax(cents, np.where(missing, 0, units))
    taxed[f"{prefix}tax"] = decimals(tax, missing, MONEY)
    taxed[f"{prefix}tax_error"] = pd.array(reasons, dtype="str")
    taxed.attrs[TAXED] = sorted({prefix, *taxed.attrs.get(TAXED, [])})
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

    The caller keeps the products within 64 bits.
    """
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
    values = column.tolist()
    floats = np.array([isinstance(value, float) for value in values], bool) & ~missing
    plain = [value if known else 0.0 for value, known in zip(values, floats, strict=True)]
    cents, wrong, snapped = _of_floats(np.array(plain, np.float64), missing)
    read: dict[tuple[type, str], int | str] = {}
    for index in np.flatnonzero(~floats & ~missing).tolist():
        value = values[index]
        key = (type(value), str(value))
        if key not in read:
            read[key] = _one(value)
        amount = read[key]
        if isinstance(amount, str):
            wrong[index] = amount
        else:
            cents[index] = amount
    return cents, wrong, snapped


def _one(value: object) -> int | str:
    """One amount in cents, or why it is none."""
    shown = str(value)[:40]
    try:
        cents_exact = Decimal(_plain_number(value)) * _CENTS
    except ArithmeticError:
        return f"amount: {shown!r} is not a number of dollars such as 12.50"
    if not cents_exact.is_finite() or abs(cents_exact) > _LARGEST // 2:
        return f"amount: {shown} is out of range"
    if cents_exact != int(cents_exact):
        return f"amount: {shown} is not a whole number of cents"
    return int(cents_exact)


def _plain_number(value: object) -> str:
    """The digits of an amount; text may be as accountants write it: $1,234.50, (15.00)."""
    if not isinstance(value, str):
        return "" if isinstance(value, bool) else str(value)
    text = "".join(value.split()).replace("$", "", 1)
    bracketed = text.startswith("(") and text.endswith(")")
    signs = [bracketed, text.startswith("-"), text.endswith("-") and len(text) > 1]
    digits = text[1:-1] if bracketed else text.removeprefix("-").removesuffix("-")
    if sum(signs) > 1 or not digits or not _NUMBER.fullmatch(digits):
        return ""
    return f"{'-' if any(signs) else ''}{digits.replace(',', '')}"


def _units(column: pd.Series) -> tuple[np.ndarray, dict[int, str]]:
    """Rates as units of 10^-5, whatever form the lookup gave them, and why one cannot be used."""
    codes, uniques = pd.factorize(column)
    read = [_rate(value) for value in uniques.tolist()]
    units = np.array([0 if isinstance(one, str) else one for one in read] + [0], np.int64)
    wrong = dict.fromkeys(np.flatnonzero(codes < 0).tolist(), "the row has no rate")
    for code, one in enumerate(read):
        if isinstance(one, str):
            wrong |= dict.fromkeys(np.flatnonzero(codes == code).tolist(), one)
    return units[codes], wrong


def _rate(value: object) -> int | str:
    """One rate in units, or why it is none."""
    text = repr(value) if isinstance(value, float) else str(value).strip()
    if not text:
        return "the row has no rate"
    try:
        units = rate_to_units(Decimal(text))
    except (InvalidOperation, ValueError):
        return f"combined_rate: {text[:40]!r} is not a rate such as 0.08250"
    if 0 <= units < UNITS_PER_ONE:
        return units
    return f"combined_rate: {text[:40]} is not a fraction from 0 to 1"
