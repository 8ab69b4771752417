"""Why what was collected differs from the tax of a row: only what the row's own figures prove.

A reason states an arithmetical fact ("equals the tax at the state's rate alone, to the cent"),
not an intention. Each row gets the first reason of `REASONS` that holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from svc_sdk.rates import UNITS_PER_ONE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["REASONS", "Evidence", "proved_reasons", "reason_meaning"]

_LOCAL = ("county", "city", "districts")

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

_ROOM = 9 * 10**12
"""Cents up to which every product below fits 64 bits: ninety billion dollars in one row."""


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
