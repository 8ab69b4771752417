"""Cents shared out exactly: the tax of an invoice over its lines, and of a line over its parts.

The tax of an invoice is the sum of its lines' exact products, rounded once. Each line has its
product with the fraction of a cent dropped (for an invoice below zero: toward zero); the cents that
are then left over go to the lines with the largest fractions, of equal ones to the larger product,
then the higher rate, then the first line. So only lines that are equal in all of these depend on
their order, and an invoice of refunds mirrors that of its sales line by line.

The parts of one line (jurisdictions, goods and delivery) have the fraction of a cent dropped too;
the cents left over go to the largest fractions, of equal ones to the first part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.lookup.columns import distinct_values

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from svc_tools.lookup.options import Rounding

_EXACT = 2**52
"""Whole numbers add up exactly as floats to here and, mirrored, to well above."""

_BLOCK = 65_536


def invoice_codes(frame: pd.DataFrame, label: Hashable) -> tuple[np.ndarray, np.ndarray]:
    """The number of each row's invoice, and which rows name one.

    A row whose invoice is missing or blank is an invoice by itself.

    Raises:
        ValueError: there is no such column, or several of that name.
    """
    codes, names = distinct_values(frame, label, "invoice")
    blank = [isinstance(name, str) and not name.strip() for name in names]
    named = ~np.append(np.array(blank, bool), True)[codes]  # a missing name has the code -1
    own = len(names) + np.arange(len(codes))
    return np.where(named, codes, own), named


def tax_by_invoice(
    products: np.ndarray, units: np.ndarray, codes: np.ndarray, rounding: Rounding
) -> tuple[np.ndarray, np.ndarray]:
    """Tax of each line in cents, and the mask of lines whose invoice is too large to add up.

    Args:
        products: cents times units of 10^-5, exact.
        units: the lines' rates, which only decide between equal products.
        codes: the number of each line's invoice.
        rounding: how the invoice's tax is rounded.
    """
    codes, found = pd.factorize(codes)
    invoices = len(found)
    whole = products // UNITS_PER_ONE
    rest = products - whole * UNITS_PER_ONE
    too_large = np.bincount(codes, np.abs(whole), invoices)[codes] > _EXACT
    if too_large.any():
        keep = ~too_large
        whole[too_large] = 0
        whole[keep], _ = tax_by_invoice(products[keep], units[keep], codes[keep], rounding)
        return whole, too_large
    sums, rests = _sums(codes, whole, rest, invoices)
    below = sums + rests // UNITS_PER_ONE < 0  # the invoice's sum is below zero: mirror it
    if below.any():
        sign = np.where(below, -1, 1)[codes]
        products = products * sign
        whole = products // UNITS_PER_ONE
        rest = products - whole * UNITS_PER_ONE
        sums, rests = _sums(codes, whole, rest, invoices)
    left = _rounded_up(sums, rests, rounding)
    whole += _extra_cent(codes, rest, products, units, left)
    return (whole * sign if below.any() else whole), too_large


def _sums(
    codes: np.ndarray, whole: np.ndarray, rest: np.ndarray, invoices: int
) -> tuple[np.ndarray, np.ndarray]:
    """Per invoice the sums of whole cents and of fractions; exact: they stay within 2^53."""
    both = (np.bincount(codes, values, invoices) for values in (whole, rest))
    sums, rests = (np.rint(values).astype(np.int64) for values in both)
    return sums, rests


def _rounded_up(sums: np.ndarray, rests: np.ndarray, rounding: Rounding) -> np.ndarray:
    """How many cents each invoice's rounded sum (not below zero) is above its whole cents."""
    carried, fraction = np.divmod(rests, UNITS_PER_ONE)
    if rounding == "half_up":
        up = 2 * fraction >= UNITS_PER_ONE
    elif rounding == "half_even":
        odd = (sums + carried) % 2 == 1
        up = (2 * fraction > UNITS_PER_ONE) | ((2 * fraction == UNITS_PER_ONE) & odd)
    elif rounding == "up":
        up = fraction > 0
    else:
        up = np.zeros(len(sums), bool)
    left: np.ndarray = carried + up
    return left


def _extra_cent(
    codes: np.ndarray, rest: np.ndarray, products: np.ndarray, units: np.ndarray, left: np.ndarray
) -> np.ndarray:
    """Which lines get one of the cents that are left over."""
    extra = np.zeros(len(codes), bool)
    lines = np.flatnonzero((left[codes] > 0) & (rest > 0))
    if not len(lines):
        return extra
    # one number orders by invoice and then by fraction, the largest first
    key = codes[lines] * UNITS_PER_ONE + (UNITS_PER_ONE - 1 - rest[lines])
    order = np.argsort(key, kind="stable")
    key, lines = key[order], lines[order]
    same = key[1:] == key[:-1]
    if same.any():  # equal fractions in one invoice: the few lines that need a finer order
        alike = np.append(same, False) | np.append(False, same)
        some = lines[alike]
        lines[alike] = some[np.lexsort((some, -units[some], -products[some], key[alike]))]
    invoice = codes[lines]
    first = np.flatnonzero(np.append(True, invoice[1:] != invoice[:-1]))
    start = np.repeat(first, np.diff(np.append(first, len(lines))))
    extra[lines[np.arange(len(lines)) - start < left[invoice]]] = True
    return extra


def shared_out(total: np.ndarray, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Each row's total in cents shared out over its parts.

    Args:
        total: whole cents, the sum of the row's parts rounded in any way to an adjacent cent.
        parts: the exact figures, in units of 10^-7 dollars. Refunds mirror their sales.

    Returns:
        One array of cents for each part; they add up to `total`, row by row.
    """
    shares = [np.empty(len(total), np.int64) for _ in parts]
    for start in range(0, len(total), _BLOCK):  # blocks that fit the processor's cache
        here = slice(start, start + _BLOCK)
        for share, cents in zip(
            shares, _block(total[here], [part[here] for part in parts]), strict=True
        ):
            share[here] = cents
    return shares


def _block(total: np.ndarray, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    mirrored = sum(parts, np.zeros(len(total), np.int64)) < 0
    sign = np.where(mirrored, -1, 1) if mirrored.any() else None
    left = total.copy() if sign is None else total * sign
    shares, rests = [], []
    for part in parts:
        exact = part if sign is None else part * sign
        share = exact // UNITS_PER_ONE
        left -= share
        shares.append(share)
        rests.append(exact - share * UNITS_PER_ONE)
    given = [share + (_before(number, rests) < left) for number, share in enumerate(shares)]
    return given if sign is None else [share * sign for share in given]


def _before(number: int, rests: Sequence[np.ndarray]) -> np.ndarray:
    """How many parts get a cent that is left over before the part of this number does."""
    before = np.zeros(len(rests[number]), np.int8)
    for other, rest in enumerate(rests):
        if other != number:
            before += rest >= rests[number] if other < number else rest > rests[number]
    return before
