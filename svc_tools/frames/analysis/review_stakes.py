"""What is at stake in a row that needs a person, in dollars of tax, and what that rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_sdk.rates import UNITS_PER_ONE
from svc_tools.frames.coded import Coded
from svc_tools.frames.rate_units import rates_of
from svc_tools.frames.row_states import states_of_rows
from svc_tools.frames.taxes.changes import taxable_of_rows
from svc_tools.frames.taxes.rounding import ROOM
from svc_tools.frames.taxes.taxed_rows import sales_of
from svc_tools.frames.totals import Money, money

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

__all__ = ["BASES", "Stakes", "stakes_of"]

BASES = {
    "range": "the tax at the highest rate of the places that fit less that at the lowest",
    "tax": "the whole tax of the row",
    "tax_high": "no tax: the most that it can be (tax_high)",
    "estimate": (
        "no tax: what is taxable of the sale at the highest rate found for its state in the frame"
        " (of any state where its own has none), or tax_low where that is more"
    ),
    "sale": "the frame has no tax: the sale itself",
    "": "no figure: the sale is not known, or no state's sales tax applies",
}
"""What the dollars of a row are, by `review_basis`; the sign of a refund is dropped."""
_CODES = {basis: code for code, basis in enumerate(BASES)}


class Stakes(NamedTuple):
    """Dollars at stake by row (missing where there is no figure), and their basis."""

    dollars: Money
    basis: Coded


def stakes_of(
    frame: pd.DataFrame, status: Coded, *, prefix: str, amount: Hashable | None
) -> Stakes:
    """What is at stake in every row; the first basis of `BASES` that applies."""
    sales = sales_of(frame, prefix, amount)
    if f"{prefix}tax" not in frame.columns:
        basis = np.where(sales.missing, _CODES[""], _CODES["sale"])
        return Stakes(Money(np.abs(sales.cents), sales.missing), Coded(basis, tuple(BASES)))
    tax, at_stake, low, high = (
        money(frame, prefix + name) for name in ("tax", "at_stake", "tax_low", "tax_high")
    )
    taxable = taxable_of_rows(frame, prefix) if amount is None else None
    if taxable is not None:  # of wholly exempt sales nothing is at stake
        known = ~taxable.missing
        sales = Money(np.where(known, taxable.cents, sales.cents), sales.missing & ~known)
    estimate, has_none = _estimates(frame, sales, status, prefix)
    at_least = np.where(low.missing, 0, np.abs(low.cents))
    chosen = [
        ("range", ~tax.missing & ~at_stake.missing & (at_stake.cents != 0), at_stake.cents),
        ("tax", ~tax.missing, np.abs(tax.cents)),
        ("tax_high", ~high.missing, np.maximum(np.abs(high.cents), at_least)),
        ("estimate", ~has_none, np.maximum(estimate, at_least)),
    ]
    conditions = [rows for _, rows, _ in chosen]
    cents = np.select(conditions, [cents for *_, cents in chosen], 0)
    basis = np.select(conditions, [_CODES[name] for name, *_ in chosen], _CODES[""])
    return Stakes(Money(cents, basis == _CODES[""]), Coded(basis, tuple(BASES)))


def _estimates(
    frame: pd.DataFrame, sales: Money, status: Coded, prefix: str
) -> tuple[np.ndarray, np.ndarray]:
    """The sales at the highest rates found, in cents, and where there can be none."""
    codes, names = states_of_rows(frame, prefix=prefix)
    highest = np.full(len(names), -1, np.int64)
    for name in ("combined_rate", "rate_high"):
        rates = rates_of(frame, prefix + name)
        np.maximum.at(highest, codes[~rates.missing], rates.units[~rates.missing])
    highest = np.where(highest < 0, highest.max(initial=-1), highest)
    units = highest[codes]
    none = sales.missing | (units < 0) | (np.abs(sales.cents) >= ROOM)
    none |= status.where(lambda one: one == "unsupported")
    products = np.where(none, 0, np.abs(sales.cents)) * units
    return (products + UNITS_PER_ONE // 2) // UNITS_PER_ONE, none
