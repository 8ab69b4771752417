"""The codes in the columns `tax_review` and `tax_due_reason`, and what each of them means."""

from __future__ import annotations

__all__ = ["TAX_DUE_REASONS", "TAX_REVIEW"]

TAX_REVIEW = {
    "partial_rate": (
        "the tax was computed from a rate that lacks its local or district part: a lower bound"
    ),
    "freight_taxable_unknown": (
        "whether delivery is taxable there is not known: `tax_low` is without, `tax_high` with it"
    ),
    "over_cap": (
        "the amount is above what the local tax of that state applies to on one item (Florida"
        " $5,000, Tennessee $1,600): if this is one item, the local part is too high, and"
        " Tennessee has a state tax on single articles besides"
    ),
    "origin_sourced": (
        "shipped within a state that taxes such sales, in whole or in part, by where they are"
        " shipped from; the tax is that of where they are shipped to"
    ),
    "origin_unknown": (
        "the state that taxes sales within it by their origin is known, where this one was"
        " shipped from is not"
    ),
    "invoice_incomplete": (
        "other lines of the same invoice have no tax: it was rounded without them"
    ),
    "channel_unknown": "the sale's channel says neither direct nor marketplace",
    "marketplace_record_only": (
        "on the day of the sale the register covers the state by a marketplace record only, and"
        " the sale is not said to be a marketplace's: whether you owe its tax is to be decided"
    ),
}
"""What a person should look at before the tax is used, in the order in which a cell lists them."""

TAX_DUE_REASONS = {
    "marketplace_facilitated": "the marketplace collects and pays the tax of this sale",
    "no_nexus": "the register has no record for the state of the sale",
    "not_registered_yet": "the sale is before the first record of its state begins",
    "registered_in_period": (
        "the state's first record begins within the period that was asked about"
        " (`as_of_grain`): whether the sale came before is not known"
    ),
    "state_unknown": "the answer names no state, so the register cannot be asked",
    "date_unknown": "the state's first record has a date, the sale has none",
    "channel_unknown": "whether a marketplace pays the tax is not known",
    "no_tax": "the tax itself is not known: `tax_error` says why",
}
"""Why `tax_due` is missing; the first that applies, in this order."""
