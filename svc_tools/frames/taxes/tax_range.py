"""What is at stake: the tax at the lowest and at the highest rate that the answer allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.frames.taxes.rounding import rounded_tax

if TYPE_CHECKING:
    from svc_tools.frames.rate_units import Rates
    from svc_tools.frames.taxes.rounding import Rounding
    from svc_tools.frames.taxes.tax_lines import Lines

__all__ = ["Range", "tax_range"]


class Range(NamedTuple):
    """Tax in cents, with the masks of the rows where it is not known."""

    low: np.ndarray
    high: np.ndarray
    no_low: np.ndarray
    no_high: np.ndarray


def tax_range(lines: Lines, tax: np.ndarray, rounding: Rounding) -> Range:
    """Lowest and highest tax of each row.

    Both are `tax` where one rate fits. Otherwise each is rounded for the row by itself (also where
    `tax` is rounded by invoice) and never lies inside of `tax`. Where only whether delivery is
    taxable is unknown, the low one is without delivery. Of a rate that lacks a part only the low
    one is known. Rows whose own figures cannot be read have neither.
    """
    untaxed, refused = lines.reasons.given, lines.inputs.given
    low, high = tax.copy(), tax.copy()
    bottom, top = _either(lines.low, lines.rates), _either(lines.high, lines.rates)
    no_low = (untaxed & bottom.missing) | refused
    no_high = (untaxed & top.missing) | refused | lines.partial
    several = (bottom.units != lines.rates.units) | (top.units != lines.rates.units)
    rows = np.flatnonzero((untaxed | several) & ~refused)
    if len(rows):
        without = lines.freight_unknown[rows]
        goods, delivery = lines.taxable_goods[rows], lines.taxable_shipping[rows]
        least = np.where(without, goods, goods + delivery)
        low[rows] = rounded_tax(least, bottom.units[rows], rounding)
        high[rows] = rounded_tax(goods + delivery, top.units[rows], rounding)
        sure = rows[~untaxed[rows]]
        below = lines.taxable[sure] < 0  # a refund: more is further below zero
        nearer, further = np.minimum(low[sure], tax[sure]), np.maximum(high[sure], tax[sure])
        low[sure] = np.where(below, np.maximum(low[sure], tax[sure]), nearer)
        high[sure] = np.where(below, np.minimum(high[sure], tax[sure]), further)
    return Range(low, high, no_low, no_high)


class _Bound(NamedTuple):
    units: np.ndarray
    missing: np.ndarray


def _either(bound: Rates, rates: Rates) -> _Bound:
    """The bound where there is one, else the rate itself."""
    if bound.missing.all():
        return _Bound(rates.units, rates.missing)
    units = np.where(bound.missing, rates.units, bound.units)
    return _Bound(units, bound.missing & rates.missing)
