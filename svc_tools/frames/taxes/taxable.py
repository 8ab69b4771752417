"""What of a row is taxable: the goods less what is exempt, and the delivery that follows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.frames.distinct_values import distinct_values, is_label
from svc_tools.frames.enriched import require_one
from svc_tools.frames.taxes.amounts import LARGEST, one_amount, whole_cents

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

    from svc_tools.frames.taxes.reasons import Reasons

__all__ = ["Exempt", "exempt_of", "shipping_of", "taxable_shipping"]

_YES = {"yes", "y", "true", "t", "exempt"}
_NO = {"no", "n", "false", "f", "taxable"}
_CENTS = 100
_SHOWN = 40


class Exempt(NamedTuple):
    """What of each row's goods is exempt."""

    cents: np.ndarray
    wholly: np.ndarray
    """Whether nothing of the row is taxable, delivery included."""
    snapped: int


def exempt_of(
    frame: pd.DataFrame, exempt: Hashable | None, goods: np.ndarray, reasons: Reasons
) -> Exempt:
    """Read `exempt=`; rows whose exemption cannot be known get a reason.

    Raises:
        ValueError: it is neither a column nor an amount, or the column holds only 0 and 1.
    """
    if exempt is None or exempt is False:
        return Exempt(np.zeros_like(goods), np.zeros(len(goods), bool), 0)
    if exempt is True:
        return Exempt(goods.copy(), np.ones(len(goods), bool), 0)
    if not is_label(frame, exempt):
        if isinstance(exempt, int | float | np.bool_) and exempt == 1:
            raise ValueError(
                f"exempt: is {exempt!r} a truth value or dollars? Say True or False, or dollars as"
                " text, '1.00'"
            )
        cents = _one(exempt, "exempt", "True, or dollars that are exempt") * np.sign(goods)
        return _within(goods, cents, 0, reasons)
    flags = _flags(frame, exempt)
    if flags is None:
        cents, wrong, snapped = whole_cents(frame[exempt], "exempt")
        reasons.add_each(wrong)
        return _within(goods, cents, snapped, reasons)
    reasons.add_each(flags.odd)
    reasons.add(flags.unknown, "exempt: missing")
    return Exempt(np.where(flags.yes, goods, 0), flags.yes, 0)


class _Flags(NamedTuple):
    """A column that says yes or no."""

    yes: np.ndarray
    unknown: np.ndarray
    odd: dict[int, str]
    """Why a row that says something says neither."""


def _flags(frame: pd.DataFrame, label: Hashable) -> _Flags | None:
    """The column as yes and no; `None` where it holds dollars."""
    codes, values = distinct_values(frame, label, "exempt")
    words = [_said(value) for value in values]
    blank = [isinstance(value, str) and not value.strip() for value in values]
    if all(blank):
        return _Flags(np.zeros(len(codes), bool), np.ones(len(codes), bool), {})
    if not any(word is not None for word in words):
        if _only_flags_as_numbers(
            [value for value, gone in zip(values, blank, strict=True) if not gone]
        ):
            raise ValueError(
                f"exempt: column {label!r} holds only 0 and 1. Are these yes and no, or dollars?"
                f" Yes and no: df[{label!r}].astype('boolean'), of text through 'Int8'. Dollars:"
                " as decimals or as text, '1.00'"
            )
        return None
    neither = {
        code: f"exempt: {str(value)[:_SHOWN]!r} says neither yes nor no"
        for code, (value, word) in enumerate(zip(values, words, strict=True))
        if word is None and not blank[code]
    }
    odd = {
        row: neither[codes[row]] for row in np.flatnonzero(np.isin(codes, list(neither))).tolist()
    }
    yes = np.array([*(word is True for word in words), False], bool)
    unknown = np.array([*(word is None for word in words), True], bool)
    return _Flags(yes[codes], unknown[codes], odd)


def _said(value: object) -> bool | None:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if not isinstance(value, str):
        return None
    word = value.strip().casefold()
    return True if word in _YES else False if word in _NO else None


def _only_flags_as_numbers(values: list[object]) -> bool:
    """Whether all are 0 or 1, written without cents, and some are 1."""
    written = [
        value.strip() if isinstance(value, str) else value
        for value in values
        if isinstance(value, str | int | float | np.integer | np.floating)
    ]
    zeros, ones = {0, "0", "0.0"}, {1, "1", "1.0"}
    return (
        len(written) == len(values)
        and set(written) <= zeros | ones
        and not ones.isdisjoint(written)
    )


def _within(goods: np.ndarray, cents: np.ndarray, snapped: int, reasons: Reasons) -> Exempt:
    """Exempt dollars must lie between nothing and the amount, on its side of zero."""
    beyond = (np.abs(cents) > np.abs(goods)) | (np.sign(cents) * np.sign(goods) < 0)
    beyond &= ~reasons.given
    reasons.add_each(
        {
            row: f"exempt: {cents[row] / _CENTS:,.2f} is not between 0 and the amount,"
            f" {goods[row] / _CENTS:,.2f}"
            for row in np.flatnonzero(beyond).tolist()
        }
    )
    inside = np.where(reasons.given, 0, cents)
    return Exempt(inside, (inside == goods) & (goods != 0), snapped)


def shipping_of(
    frame: pd.DataFrame, shipping: Hashable, reasons: Reasons
) -> tuple[np.ndarray, int]:
    """Read `shipping=`: the delivery of each row in cents, and how many floats snapped.

    Raises:
        ValueError: it is neither a column nor an amount.
    """
    if not is_label(frame, shipping):
        one = _one(shipping, "shipping", "an amount for all rows")
        return np.full(len(frame), one, np.int64), 0
    require_one(frame, shipping, "shipping")
    cents, wrong, snapped = whole_cents(frame[shipping], "shipping")
    reasons.add_each(wrong)
    return cents, snapped


def _one(value: object, argument: str, expected: str) -> int:
    try:
        return one_amount(value, argument)
    except ValueError as error:
        raise ValueError(
            f"{argument}: {value!r} is neither a column of the frame nor {expected} ({error})"
        ) from None


def taxable_shipping(goods: np.ndarray, exempt: Exempt, shipping: np.ndarray) -> np.ndarray:
    """The delivery that follows the taxable goods, in cents.

    All of it where nothing is exempt, none where all is; for a partly exempt row the share
    shipping x (goods - exempt) / goods, rounded to the cent, half a cent away from zero. This
    does not ask whether delivery is taxable there.
    """
    out = np.where(exempt.wholly, 0, shipping)
    split = np.flatnonzero((exempt.cents != 0) & ~exempt.wholly & (shipping != 0))
    if not len(split):
        return out
    whole, taxed, cost = goods[split], goods[split] - exempt.cents[split], shipping[split]
    sign = np.sign(cost)
    whole, taxed, cost = np.abs(whole), np.abs(taxed), np.abs(cost)
    if int(cost.max()) * int(taxed.max()) * 2 + int(whole.max()) <= LARGEST:
        out[split] = sign * ((2 * cost * taxed + whole) // (2 * whole))
    else:  # more than 64 bits hold
        big = (2 * cost.astype(object) * taxed + whole) // (2 * whole.astype(object))
        out[split] = sign * big.astype(np.int64)
    return out
