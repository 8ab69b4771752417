"""The columns that a lookup and a tax add: their names, order and meaning. No pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

RATE_COLUMNS = (
    "combined_rate",
    "state_rate",
    "county_rate",
    "city_rate",
    "combined_district_rate",
)
"""The columns that hold rates: fractions with five decimals (0.08250 is 8.25%)."""
RANGE_COLUMNS = ("rate_low", "rate_high")
"""The lowest and highest combined rate among the places that fit the query."""
LEVEL_TAX_COLUMNS = ("state_tax", "county_tax", "city_tax", "combined_district_tax")
"""The parts of a row's tax, by level of jurisdiction: they add up to `tax`."""
SALE_COLUMNS = ("sale_amount", "sale_shipping", "sale_taxable")
"""The columns that `df.svc.tax()` adds to the rows of a recognized export: its amounts."""
TAX_OPTION_COLUMNS = ("tax_due", "tax_due_reason", *SALE_COLUMNS, "shipping_tax")
"""The columns that `df.svc.tax()` adds with `nexus=` or `channel=`, those, and with `shipping=`."""
DETAIL_COLUMNS = ("lookup_jurisdictions",)
"""The columns that `lookup(detail=True)` adds to the others."""
COLUMN_MEANINGS = {
    "combined_rate": "the whole rate, a fraction: 0.08250 is 8.25%",
    "tax": "the tax at the destination, US dollars; empty where it is not known, never 0 then",
    "tax_due": "the tax that the seller owes, US dollars",
    "lookup_status": "the status of the row: ok, partial, or why there is no rate",
    "needs_review": "whether the rate requires review before it is used",
    "lookup_review_reason": "why, as codes",
    "tax_review": "why the tax requires review, as codes",
    "tax_due_reason": "why no tax is due, or why that is not known",
    "lookup_error": "the reason where there is no whole rate",
    "tax_error": "why there is no tax",
    "confidence": "how certain the rate is: exact, high, medium, low, none",
    "taxable_amount": "what the tax is on, US dollars",
    "exempt_amount": "what of the sale is not taxed, US dollars",
    "sale_amount": "what the goods cost, as the columns of the export give it, US dollars",
    "sale_shipping": "the delivery charged, as the columns of the export give it, US dollars",
    "sale_taxable": "what of sale_amount the export does not mark as not taxable, US dollars",
    "state_rate": "the rate's part for the state",
    "county_rate": "the rate's part for the county",
    "city_rate": "the rate's part for the city",
    "combined_district_rate": "the rate's part for special districts",
    "state_tax": "the state's part of the tax",
    "county_tax": "the county's part of the tax",
    "city_tax": "the city's part of the tax",
    "combined_district_tax": "the special districts' part of the tax",
    "shipping_tax": "the part of the tax that is on delivery",
    "rate_low": "the lowest rate where the result compares several places",
    "rate_high": "the highest rate where the result compares several places",
    "tax_low": "the lowest tax: several rates may fit, or delivery may be taxed or not",
    "tax_high": "the highest tax, likewise",
    "at_stake": "the difference of the two, US dollars",
    "freight_taxable": "whether separately stated delivery is taxable",
    "lookup_jurisdictions": "each jurisdiction's part of the rate with its official code (JSON)",
    "warnings": "advisories of the response, as codes",
    "resolved_state": "the state that the rate is for",
    "resolved_zip": "the ZIP Code that the rate is for",
    "resolved_city": "the postal city of the ZIP, or the place named",
    "resolved_county": "the county that the rate is for",
    "resolved_via": "how the place was found",
    "lookup_as_of": "the day that was looked up",
    "as_of_status": "verified: the response itself proves that the rate was law on that day",
    "effective_date": "the day from which the rate is law, where its publisher says so",
    "effective_date_basis": "what that day rests on",
    "lookup_source": "where the rate is from",
    "lookup_edition": "the edition of that source",
    "looked_up_at": "when the service responded (UTC)",
    "support_reference": "what to quote to the service's support",
}
"""Every added column without the prefix, with its meaning, in the order in which they stand: the
rate, the tax and whether they can be used, then their parts, then where they are from.

In a file, what stands before the first, or behind the last, is the user's. So a further name never
is the first or the last, nor the last of the short ones.
"""
ADDED_COLUMNS = tuple(COLUMN_MEANINGS)
"""Every column that a lookup or a tax adds, in the order in which they stand."""
TAX_COLUMNS = (
    *("tax", "tax_review", "tax_error", "taxable_amount", "exempt_amount"),
    *(*LEVEL_TAX_COLUMNS, "tax_low", "tax_high", "at_stake"),
)
"""The columns that `df.svc.tax()` adds, without the prefix."""
TAXES = frozenset({*TAX_COLUMNS, *TAX_OPTION_COLUMNS})
LOOKED_UP = tuple(name for name in ADDED_COLUMNS if name not in TAXES)
LOOKUP_COLUMNS = tuple(name for name in LOOKED_UP if name not in DETAIL_COLUMNS)
"""Every column that a lookup adds, without the prefix."""
SHORT_COLUMNS = ADDED_COLUMNS[: ADDED_COLUMNS.index(RATE_COLUMNS[-1]) + 1]
"""What `columns="short"` adds: ten columns of the lookup, and those of a tax among them."""
_SHORT_LOOKUP = tuple(name for name in SHORT_COLUMNS if name in LOOKUP_COLUMNS)
FORMER_ORDER = (
    *(*RATE_COLUMNS, *RANGE_COLUMNS, "freight_taxable", "confidence", "warnings", "resolved_via"),
    *("effective_date", "effective_date_basis", "resolved_state", "resolved_zip"),
    *("resolved_city", "resolved_county", "lookup_as_of", "as_of_status", "needs_review"),
    *("lookup_review_reason", "lookup_status", "lookup_error", "support_reference"),
    *("lookup_source", "lookup_edition", "looked_up_at", "tax", "tax_error", "taxable_amount"),
    *("exempt_amount", *LEVEL_TAX_COLUMNS, "tax_low", "tax_high", "at_stake", "tax_review"),
    *("shipping_tax", "tax_due", "tax_due_reason"),
)
"""The order in which earlier versions wrote the columns; no name is added to it."""
OF_EVERY_LOOKUP = frozenset(
    {"combined_rate", "lookup_as_of", "lookup_error", "lookup_source", "lookup_edition"}
)
OF_EVERY_SHORT_LOOKUP = frozenset(
    {"lookup_status", "needs_review", "lookup_review_reason", "lookup_error", "confidence"}
).union(RATE_COLUMNS)
OF_EVERY_TAX = frozenset({"tax", "tax_review", "tax_error", "taxable_amount", "exempt_amount"})
"""By these a lookup, a short one and a tax are recognized in a file; no name is added to them."""
CATEGORY_COLUMNS = (
    "confidence",
    "resolved_via",
    "effective_date_basis",
    "as_of_status",
    "lookup_review_reason",
    "lookup_source",
    "lookup_edition",
)
"""Those with few distinct texts: they are of dtype `category`, which saves memory."""


def lookup_columns(*, detail: bool) -> tuple[str, ...]:
    """The columns of a lookup in their order, with or without those of the details."""
    return LOOKED_UP if detail else LOOKUP_COLUMNS


def is_short(names: Collection[str]) -> bool:
    """Whether columns (without the prefix) are those of a lookup with `columns="short"`."""
    return set(_SHORT_LOOKUP) <= set(names) and not set(RANGE_COLUMNS) & set(names)


def tax_columns(names: Collection[str]) -> tuple[str, ...]:
    """The columns that a tax adds to a lookup's (without the prefix): few after a short one."""
    every = SHORT_COLUMNS if is_short(names) else ADDED_COLUMNS
    return tuple(name for name in every if name in TAXES)
