"""Whole cents shared out so that the shares add up to the total exactly.

Each share is its exact figure with the fraction of a cent dropped; the cents that are then left
over go to the largest fractions, of equal ones to the part that stands first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from svc_sdk.rates import UNITS_PER_ONE

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["shared_out"]

_BLOCK = 65_536


def shared_out(total: np.ndarray, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Each row's total in cents shared out over its parts.

    Args:
        total: whole cents, the sum of the row's parts rounded in any way to a neighbouring cent.
        parts: the exact figures, in units of 10^-7 dollars. Refunds mirror their sales.

    Returns:
        One array of cents for each part; they add up to `total`, row by row.
    """
    shares = [np.empty(len(total), np.int64) for _ in parts]
    for start in range(0, len(total), _BLOCK):  # what fits the processor's cache
        here = slice(start, start + _BLOCK)
        for share, cents in zip(
            shares, _block(total[here], [part[here] for part in parts]), strict=True
        ):
            share[here] = cents
    return shares


def _block(total: np.ndarray, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    sign = np.where(sum(parts, np.zeros(len(total), np.int64)) < 0, -1, 1)
    left = total * sign
    shares, rests = [], []
    for part in parts:
        exact = part * sign
        share = exact // UNITS_PER_ONE
        exact -= share * UNITS_PER_ONE
        left -= share
        shares.append(share)
        rests.append(exact)
    return [(share + (_before(number, rests) < left)) * sign for number, share in enumerate(shares)]


def _before(number: int, rests: Sequence[np.ndarray]) -> np.ndarray:
    """How many parts get a cent that is left over before the part of this number does."""
    before = np.zeros(len(rests[number]), np.int64)
    for other, rest in enumerate(rests):
        if other != number:
            before += rest >= rests[number] if other < number else rest > rests[number]
    return before
