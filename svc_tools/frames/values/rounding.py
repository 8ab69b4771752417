"""Products of cents and rates, rounded to the cent in whole numbers.

A product of cents and units of 10^-5 counts in units of 10^-7 dollars, 10^5 of them to the cent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from svc_sdk.rates import UNITS_PER_ONE

if TYPE_CHECKING:
    from svc_tools.lookup.options import Rounding

ROOM = 9 * 10**13
"""Cents below this can be multiplied by any rate, in units, within 64 bits."""
_HALF = UNITS_PER_ONE // 2
_BLOCK = 65_536
_LAST = UNITS_PER_ONE - 1


def rounded_tax(cents: np.ndarray, units: np.ndarray, rounding: Rounding = "half_up") -> np.ndarray:
    """Tax in whole cents of amounts in cents at rates in units of 10^-5.

    The caller keeps the products, and half a cent more, within 64 bits.
    """
    out = np.empty(len(cents), np.int64)
    for start in range(0, len(cents), _BLOCK):  # what fits the processor's cache
        block = out[start : start + _BLOCK]
        np.multiply(cents[start : start + _BLOCK], units[start : start + _BLOCK], out=block)
        _round(block, rounding)
    return out


def _round(block: np.ndarray, rounding: Rounding) -> None:
    """Round in place. Division is toward minus infinity; what is added before it decides."""
    sign = block >> 63  # -1 below zero, else 0
    if rounding == "half_up":
        sign += _HALF  # a half less one below zero, so that exact halves go away from zero
        block += sign
    elif rounding == "half_even":
        block += _HALF
        ties = block % UNITS_PER_ONE == 0
    elif rounding == "up":
        np.invert(sign, out=sign)
        sign &= _LAST
        block += sign
    else:
        sign &= _LAST
        block += sign
    np.floor_divide(block, UNITS_PER_ONE, out=block)
    if rounding == "half_even":
        block -= ties & (block & 1 == 1)
