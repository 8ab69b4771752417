"""The rows of an enriched frame as whole numbers: all that their tax is computed from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.enriched import LOOKUP_COLUMNS, require_columns, require_one
from svc_tools.frames.rate_units import rates_of
from svc_tools.frames.taxes.amounts import LARGEST, whole_cents
from svc_tools.frames.taxes.reasons import Reasons
from svc_tools.frames.taxes.taxable import exempt_of, shipping_of, taxable_shipping

if TYPE_CHECKING:
    from svc_tools.frames.rate_units import Rates
    from svc_tools.frames.taxes.tax_terms import TaxTerms

__all__ = ["Lines", "read_lines", "rows_of_states"]

_LEVELS = ("state_rate", "county_rate", "city_rate", "combined_district_rate")
_SURE = LARGEST // UNITS_PER_ONE // 2 - 1
"""Goods and delivery of so much each, at any rate below 1, and half a cent more fit 64 bits."""
_CENTS = 100
_FREIGHT = (
    "shipping: whether delivery is taxable there is not known (freight_taxable is missing);"
    " tax_low is without it, tax_high with it"
)


@dataclass(slots=True)
class Lines:
    """Rows as arrays; cents are whole, rates in units of 10^-5, 0 where there is none."""

    goods: np.ndarray
    shipping: np.ndarray
    taxable_goods: np.ndarray
    taxable_shipping: np.ndarray
    """Where `freight_unknown`, what it would be if delivery is taxable."""
    freight_unknown: np.ndarray
    rates: Rates
    levels: tuple[Rates, ...]
    low: Rates
    high: Rates
    partial: np.ndarray
    """Whether the rate is known to lack a part."""
    inputs: Reasons
    """Why the row's own figures (not its rate) allow no tax."""
    reasons: Reasons
    """Why a row has no tax, its own figures among them."""
    snapped: int
    """How many floats were read as the whole cent beside them."""

    @property
    def taxable(self) -> np.ndarray:
        """What the rate applies to."""
        both: np.ndarray = self.taxable_goods + self.taxable_shipping
        return both

    def refuse(self, row: int, why: str) -> None:
        """Say of one row that its own figures allow no tax."""
        self.inputs.add_each({row: why})
        self.reasons.add_each({row: why})


def read_lines(frame: pd.DataFrame, terms: TaxTerms, prefix: str) -> Lines:
    """Understand every row; what cannot be understood has a reason.

    Raises:
        ValueError: a column is missing, or an argument is neither a column nor a value.
        TypeError: a column of amounts holds truth values.
    """
    status, rate = f"{prefix}lookup_status", f"{prefix}combined_rate"
    require_columns(frame, (status, rate), "look the rates up first: df.svc.lookup()")
    require_columns(frame, (terms.amount,), "name the column of amounts: df.svc.tax(amount='…')")
    require_one(frame, terms.amount, "amount")
    for name in LOOKUP_COLUMNS:
        require_one(frame, prefix + name, "lookup")
    inputs = Reasons(len(frame))
    goods, wrong, snapped = whole_cents(frame[terms.amount])
    inputs.add_each(wrong)
    exempt = exempt_of(frame, terms.exempt, goods, inputs)
    shipping, snapped_too = (
        (np.zeros_like(goods), 0)
        if terms.shipping is None
        else shipping_of(frame, terms.shipping, inputs)
    )
    rates = rates_of(frame, rate)
    levels = tuple(rates_of(frame, prefix + name) for name in _LEVELS)
    low, high = (rates_of(frame, prefix + name) for name in ("rate_low", "rate_high"))
    _refuse_too_large(inputs, goods, shipping, (rates, low, high))
    for cents in (goods, exempt.cents, shipping):
        cents[inputs.given] = 0
    following = taxable_shipping(goods, exempt, shipping)
    unknown = np.zeros(len(frame), bool)
    if terms.shipping is not None:
        untaxed, unknown = _freight(frame, f"{prefix}freight_taxable")
        following[untaxed] = 0
        unknown &= (following != 0) & (rates.units > 0)
    reasons, partial = _without_rate(frame[status], rates, terms)
    reasons.merge(inputs)
    reasons.add(unknown, _FREIGHT)
    return Lines(
        goods=goods,
        shipping=shipping,
        taxable_goods=goods - exempt.cents,
        taxable_shipping=following,
        freight_unknown=unknown,
        rates=rates,
        levels=levels,
        low=low,
        high=high,
        partial=partial,
        inputs=inputs,
        reasons=reasons,
        snapped=snapped + exempt.snapped + snapped_too,
    )


def rows_of_states(frame: pd.DataFrame, prefix: str) -> tuple[np.ndarray, list[str]]:
    """The number of each row's state, and the states' codes; -1 where the answer names none."""
    name = f"{prefix}resolved_state"
    if name not in frame.columns:
        return np.full(len(frame), -1), []
    codes, states = pd.factorize(frame[name])
    return codes, [str(state) for state in list(states)]


def _refuse_too_large(
    inputs: Reasons, goods: np.ndarray, shipping: np.ndarray, rates: tuple[Rates, ...]
) -> None:
    """The products of cents and units must stay within 64 bits, which would overflow silently.

    A row's own rates decide: its tax does not hang on what the other rows are.
    """
    for name, cents in (("amount", goods), ("shipping", shipping)):
        for row in np.flatnonzero((cents > _SURE) | (cents < -_SURE)).tolist():
            steepest = max(1, *(int(one.units[row]) for one in rates))
            if abs(int(cents[row])) > (LARGEST - UNITS_PER_ONE) // steepest // 2:
                dollars = f"{cents[row] / _CENTS:,.2f}"
                inputs.add_each({row: f"{name}: {dollars} is too large for exact tax"})


def _freight(frame: pd.DataFrame, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Where delivery is known not to be taxable, and where it is not known."""
    require_columns(
        frame, (name,), "shipping= needs it: look the rates up with all columns, or with this one"
    )
    codes, uniques = pd.factorize(frame[name])
    words = [str(value).casefold() for value in list(uniques)]
    untaxed = np.array([*(word in {"false", "0", "0.0"} for word in words), False], bool)
    taxed = np.array([*(word in {"true", "1", "1.0"} for word in words), False], bool)
    return untaxed[codes], ~(untaxed | taxed)[codes]


def _without_rate(status: pd.Series, rates: Rates, terms: TaxTerms) -> tuple[Reasons, np.ndarray]:
    """Why rows have no rate to compute from; and which rows have a partial one."""
    reasons = Reasons(len(status))
    codes, names = pd.factorize(status)
    partial = np.zeros(len(status), bool)
    for code, name in enumerate(list(names)):
        rows = codes == code
        if name == "partial":
            partial = rows
            if terms.partial is None:
                reasons.add(
                    rows,
                    "the rate lacks its local or district part"
                    " (partial='use' computes from the rest)",
                )
        elif name != "ok":
            reasons.add(rows, f"no rate: {name}")
    reasons.add(codes < 0, "no rate: the row was not looked up")
    reasons.add_each(rates.wrong)
    reasons.add(rates.missing, "the row has no rate")
    return reasons, partial
