"""The table of the columns that a lookup and a tax add. No pandas.

A row says everything about a column. The names below, the cache, lock files, the frame, the fields
of the spreadsheet and docs/COLUMNS.md come from it. What is computed has code besides, where it is
shown: in `frames.lookup.joining` and `excel.results`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection

CellForm = Literal["rate", "share", "money", "truth", "text", "category", "day", "moment"]
"""What the cells of a column hold; a category is text with few distinct values."""
DTYPES: dict[CellForm, str] = {
    "rate": "decimal128(7, 5)",
    "share": "decimal128(5, 4)",
    "money": "decimal128(18, 2)",
    "truth": "boolean",
    "text": "str",
    "category": "category",
    "day": "date32",
    "moment": "timestamp[us, tz=UTC]",
}
"""What pandas and Arrow call these forms."""
ColumnSource = Literal[
    "lookup",
    "rate",  # of a lookup: the rate, and its parts by level of jurisdiction
    "range",  # of a lookup: the lowest and highest combined rate among the places that fit
    "detail",  # of `lookup(detail=True)`
    "tax",
    "level",  # of a tax: its parts by level of jurisdiction, which add up to it
    "option",  # of a tax with `nexus=`, `channel=` or `shipping=`
    "sale",  # of a tax of computed amounts, as those of a recognized export: the amounts
]


@dataclass(frozen=True, slots=True)
class Column:
    """An added column.

    Attributes:
        name: its name without the prefix.
        form: what its cells hold.
        meaning: what they mean.
        sent: where the response has it, as SPEC 2 names it.
        fact: the field of `Found` that it shows; what shows none is computed.
        shared: whether many places have the same, so that the cache holds it once for all of them.
        codes: whether its cells are codes that a report counts and explains.
        outcome: the field of `Outcome` that it shows.
        source: what adds it. What a lookup adds is about the order's place and day, the same in
            each of its rows; what a tax adds is about the row alone.
    """

    name: str
    form: CellForm
    meaning: str
    sent: str = ""
    fact: str = ""
    shared: bool = False
    codes: bool = False
    outcome: str = ""
    source: ColumnSource = "lookup"


_SHORT = (
    Column("combined_rate", "rate", "the whole rate, a fraction: 0.08250 is 8.25%",
           "rate.combined_rate", "combined", source="rate"),
    Column("tax", "money", "the tax at the destination, US dollars; empty where it is not known,"
           " never 0 then", source="tax"),
    Column("tax_due", "money", "the tax that the seller owes, US dollars", source="option"),
    Column("lookup_status", "text", "the status of the row: ok, partial, or why there is no rate",
           codes=True, outcome="status"),
    Column("needs_review", "truth", "whether the rate requires review before it is used"),
    Column("lookup_review_reason", "category", "why, as codes", codes=True),
    Column("tax_review", "text", "why the tax requires review, as codes", codes=True,
           source="tax"),
    Column("tax_due_reason", "text", "why no tax is due, or why that is not known",
           codes=True, source="option"),
    Column("lookup_error", "text", "the reason where there is no whole rate", outcome="error"),
    Column("tax_error", "text", "why there is no tax", source="tax"),
    Column("confidence", "category", "how certain the rate is: exact, high, medium, low, none",
           "meta.confidence", "confidence", shared=True, codes=True),
    Column("taxable_amount", "money", "what the tax is on, US dollars", source="tax"),
    Column("exempt_amount", "money", "what of the sale is not taxed, US dollars", source="tax"),
    Column("sale_amount", "money", "what the goods cost, as the columns of the export give it,"
           " US dollars", source="sale"),
    Column("sale_shipping", "money", "the delivery charged, as the columns of the export give it,"
           " US dollars", source="sale"),
    Column("sale_taxable", "money", "what of sale_amount the export does not mark as not taxable,"
           " US dollars", source="sale"),
    Column("state_rate", "rate", "the rate's part for the state",
           "rate.state_rate", "state", source="rate"),
    Column("county_rate", "rate", "the rate's part for the county",
           "rate.county_rate", "county", source="rate"),
    Column("city_rate", "rate", "the rate's part for the city",
           "rate.city_rate", "city", source="rate"),
    Column("combined_district_rate", "rate", "the rate's part for special districts",
           "rate.combined_district_rate", "districts", source="rate"),
)  # fmt: skip
COLUMNS = (
    *_SHORT,
    Column("state_tax", "money", "the state's part of the tax", source="level"),
    Column("county_tax", "money", "the county's part of the tax", source="level"),
    Column("city_tax", "money", "the city's part of the tax", source="level"),
    Column("combined_district_tax", "money", "the special districts' part of the tax",
           source="level"),
    Column("shipping_tax", "money", "the part of the tax that is on delivery", source="option"),
    Column("rate_low", "rate", "the lowest rate where the result compares several places",
           "candidates", "low", source="range"),
    Column("rate_high", "rate", "the highest rate where the result compares several places",
           "candidates", "high", source="range"),
    Column("lookup_share", "share", "the share of the ZIP's housing that has the rate, where its"
           " rates differ; empty where it is not known", "share", "share"),
    Column("tax_low", "money", "the lowest tax: several rates may fit, or delivery may be taxed or"
           " not", source="tax"),
    Column("tax_high", "money", "the highest tax, likewise", source="tax"),
    Column("at_stake", "money", "the difference of the two, US dollars", source="tax"),
    Column("freight_taxable", "truth", "whether separately stated delivery is taxable",
           "rate.freight_taxable", "freight_taxable", shared=True),
    Column("lookup_jurisdictions", "text", "each jurisdiction's part of the rate with its official"
           " code (JSON)", "components", "components", source="detail"),
    Column("warnings", "text", "advisories of the response, as codes",
           "meta.warnings", "warnings", shared=True, codes=True),
    Column("resolved_state", "text", "the state that the rate is for",
           "rate.state", "resolved_state", shared=True),
    Column("resolved_zip", "text", "the ZIP Code that the rate is for", "rate.zip", "resolved_zip"),
    Column("resolved_city", "text", "the postal city of the ZIP, or the place named",
           "rate.city", "resolved_city"),
    Column("resolved_county", "text", "the county that the rate is for", "rate.county",
           "resolved_county"),
    Column("resolved_via", "category", "how the place was found",
           "meta.resolved_via", "resolved_via", shared=True),
    Column("lookup_as_of", "day", "the day that was looked up"),
    Column("as_of_status", "category", "verified: the response itself proves that the rate was law"
           " on that day"),
    Column("effective_date", "day", "the day from which the rate is law, where its publisher says"
           " so", "meta.effective_date", "effective_date", shared=True),
    Column("effective_date_basis", "category", "what that day rests on",
           "meta.effective_date_basis", "effective_date_basis", shared=True),
    Column("lookup_source", "category", "where the rate is from",
           "meta.source", "source", shared=True),
    Column("lookup_edition", "category", "the edition of that source",
           "meta.edition", "edition", shared=True),
    Column("looked_up_at", "moment", "when the service responded (UTC)", outcome="looked_up_at"),
    Column("support_reference", "text", "what to quote to the service's support",
           outcome="support_reference"),
)  # fmt: skip
"""Every added column in the order in which they stand: the rate, the tax and whether they can be
used, then their parts, then where they are from. `_SHORT` are those of `columns="short"`.

In a file, what stands before the first, or behind the last, is the user's. So a further name never
is the first or the last, nor the last of the short ones.
"""
FACTS = tuple(column for column in COLUMNS if column.fact)
"""Those that show a field of `Found` (a few are computed)."""
SHARED = frozenset(column.fact for column in FACTS if column.shared)


def _of(*sources: ColumnSource) -> tuple[str, ...]:
    return tuple(column.name for column in COLUMNS if column.source in sources)


COLUMN_MEANINGS = {column.name: column.meaning for column in COLUMNS}
ADDED_COLUMNS = tuple(COLUMN_MEANINGS)
"""Every column that a lookup or a tax adds, in the order in which they stand."""
RATE_COLUMNS = _of("rate")
"""The whole rate and its parts: fractions with five decimals (0.08250 is 8.25%)."""
RANGE_COLUMNS = _of("range")
"""The lowest and highest combined rate among the places that fit the query."""
RATES = tuple(column.name for column in COLUMNS if column.form == "rate")
"""All columns that hold rates."""
LEVEL_TAX_COLUMNS = _of("level")
"""The parts of a row's tax, by level of jurisdiction: they add up to `tax`."""
SALE_COLUMNS = _of("sale")
"""The columns that `df.svc.tax()` adds to the rows of a recognized export: its amounts."""
TAX_OPTION_COLUMNS = _of("option", "sale")
"""The columns that a tax adds only with `nexus=`, `channel=` or `shipping=`, and those of a
recognized export."""
TAX_COLUMNS = _of("tax", "level")
"""The columns that `df.svc.tax()` adds, without the prefix."""
TAXES = frozenset({*TAX_COLUMNS, *TAX_OPTION_COLUMNS})
DETAIL_COLUMNS = _of("detail")
"""The columns that `lookup(detail=True)` adds to the others."""
LOOKUP_COLUMNS = _of("lookup", "rate", "range")
"""Every column that a lookup adds, without the prefix."""
LOOKED_UP = _of("lookup", "rate", "range", "detail")
SHORT_COLUMNS = tuple(column.name for column in _SHORT)
"""What `columns="short"` adds: ten columns of the lookup, and those of a tax among them."""
FORMER_ORDER = (
    *("combined_rate", "state_rate", "county_rate", "city_rate", "combined_district_rate"),
    *("rate_low", "rate_high", "freight_taxable", "confidence", "warnings", "resolved_via"),
    *("effective_date", "effective_date_basis", "resolved_state", "resolved_zip"),
    *("resolved_city", "resolved_county", "lookup_as_of", "as_of_status", "needs_review"),
    *("lookup_review_reason", "lookup_status", "lookup_error", "support_reference"),
    *("lookup_source", "lookup_edition", "looked_up_at", "tax", "tax_error", "taxable_amount"),
    *("exempt_amount", "state_tax", "county_tax", "city_tax", "combined_district_tax"),
    *("tax_low", "tax_high", "at_stake", "tax_review", "shipping_tax", "tax_due"),
    "tax_due_reason",
)
"""The order in which earlier versions wrote the columns; no name is added to it."""
OF_EVERY_LOOKUP = frozenset(
    {"combined_rate", "lookup_as_of", "lookup_error", "lookup_source", "lookup_edition"}
)
OF_EVERY_SHORT_LOOKUP = frozenset(
    {"lookup_status", "needs_review", "lookup_review_reason", "lookup_error", "confidence"}
).union(FORMER_ORDER[:5])
OF_EVERY_TAX = frozenset({"tax", "tax_review", "tax_error", "taxable_amount", "exempt_amount"})
"""By these a lookup, a short one and a tax are recognized in a file; no name is added to them."""


def lookup_columns(*, detail: bool) -> tuple[str, ...]:
    """The columns of a lookup in their order, with or without those of the details."""
    return LOOKED_UP if detail else LOOKUP_COLUMNS


def is_short(names: Collection[str]) -> bool:
    """Whether columns (without the prefix) are those of a lookup with `columns="short"`."""
    return set(names) >= OF_EVERY_SHORT_LOOKUP and not set(RANGE_COLUMNS) & set(names)


def tax_columns(names: Collection[str]) -> tuple[str, ...]:
    """The columns that a tax adds to a lookup's (without the prefix): few after a short one."""
    every = SHORT_COLUMNS if is_short(names) else ADDED_COLUMNS
    return tuple(name for name in every if name in TAXES)
