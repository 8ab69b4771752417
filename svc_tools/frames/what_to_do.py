"""Statuses and codes for people: what each means, and what can be done about it."""

from __future__ import annotations

from svc_tools.frames.taxes.tax_codes import TAX_DUE_REASONS, TAX_REVIEW
from svc_tools.lookup.review import MEANINGS, REVIEW_REASONS

__all__ = ["WHAT_TO_DO", "codes_in", "meaning_of", "urgency", "what_to_do"]

_AGAIN = "Run the lookup again."
_CHECK_PLACE = "Check the place against the order."
_ASK_STATE = "Check the rate with the state."
_ASK_FOR_DATE = "Check the rate for this date with the state."
_FULL_ADDRESS = (
    "Find out in which of them the address lies: look it up with the street address, or ask the"
    " state."
)
_LOCAL_PART = "Get the local rate from the state before you charge or file tax."

WHAT_TO_DO = {
    # statuses, the most pressing first
    "failed": _AGAIN,
    "not_attempted": _AGAIN,
    "invalid": "Correct the row, then look it up again.",
    "unresolved": "Check state, ZIP Code and city; if they are right, get the rate from the state.",
    "no_tax": "Correct what is named, then compute the tax again.",
    "partial": _LOCAL_PART,
    "unsupported": "Treat by hand: no US state sales-tax rate applies here.",
    # reasons to review a rate
    "place_input_mismatch": _CHECK_PLACE,
    "several_rates": _FULL_ADDRESS,
    "zip_of_another_state": _CHECK_PLACE,
    "zip_crosses_state_line": _CHECK_PLACE,
    "near_state_line": _CHECK_PLACE,
    "near_map_edge": _CHECK_PLACE,
    "point_off_map": _CHECK_PLACE,
    "zip_not_used": "Check the ZIP Code against the order.",
    "address_not_matched": "Correct the street address, then look it up again.",
    "zip_spans_jurisdictions": _FULL_ADDRESS,
    "source_conflict": _ASK_STATE,
    "parts_do_not_add_up": _ASK_STATE,
    "effective_after_sale": _ASK_FOR_DATE,
    "seasonal_rates": _ASK_FOR_DATE,
    "as_of_before_history": _ASK_FOR_DATE,
    "as_of_after_edition": _ASK_FOR_DATE,
    "local_rates_not_covered": _LOCAL_PART,
    "districts_not_covered": "Ask the state whether a special district lies there.",
    "low_confidence": _ASK_STATE,
    "needs_review": "Look it up with the column lookup_review_reason, which says why.",
    # reasons to review a tax
    "over_cap": "Compute the part above the state's cap by hand: no cap is applied here.",
    "origin_sourced": "Check whether the rate at the seller's place applies instead.",
    "freight_taxable_unknown": "Ask the state whether delivery is taxable, then compute again.",
    "partial_rate": _LOCAL_PART,
    "origin_unknown": "Say where the sale was shipped from (ship_from), then compute again.",
    "channel_unknown": "Say whether the sale was direct or through a marketplace.",
    "marketplace_record_only": "Check whether the seller must register for direct sales there.",
    "invoice_incomplete": "Complete the invoice's other lines, then compute the tax again.",
    # reasons why no tax is due
    "no_nexus": "Check the register: no record says that the seller collects in this state.",
    "not_registered_yet": "Check the register: the sale is before the record's date.",
    "registered_in_period": "Compare the sale's own day with that of the register's record.",
    "state_unknown": _CHECK_PLACE,
    "date_unknown": "Give the date of the sale, then look it up again.",
    "marketplace_facilitated": "Nothing to pay: the marketplace collects and remits this tax.",
}
"""What to do, by status or code; the statuses in the order of their urgency."""


def what_to_do(code: str) -> str:
    """What a person can do about a status or a code; a general sentence for one not known here."""
    return WHAT_TO_DO.get(code, _ASK_STATE)


_RANK = {code: rank for rank, code in enumerate(WHAT_TO_DO)}
_OF_TAX = {code: text.replace("`", "") for code, text in (TAX_DUE_REASONS | TAX_REVIEW).items()}

_OF_REVIEWS = {
    "no_tax": "there is a rate, and no tax: tax_error says why",
    "needs_review": "the lookup marked the rate for review; its reason was not asked for",
}


def urgency(code: str) -> tuple[int, str]:
    """A key that sorts statuses and codes, the most pressing first."""
    return _RANK.get(code, len(_RANK)), code


def meaning_of(code: str) -> str:
    """What a status or a code says; empty where it is not known here."""
    if code in REVIEW_REASONS:
        return REVIEW_REASONS[code][0]
    return _OF_TAX.get(code) or _OF_REVIEWS.get(code) or MEANINGS.get(code, "")


def codes_in(cell: str) -> tuple[str, ...]:
    """The codes in a cell that separates them by semicolons."""
    return tuple(filter(None, (code.strip() for code in cell.split(";"))))
