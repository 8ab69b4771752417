"""What statuses, codes and rates mean, in sentences for reports, and what to do about them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from svc_tools.frames.taxes.reasons import TAX_DUE_REASONS, TAX_REVIEW
from svc_tools.lookup.review import MEANINGS, REVIEW_REASONS
from svc_tools.places import lookup_page

if TYPE_CHECKING:
    from collections.abc import Mapping

_AGAIN = "Run the lookup again."
_CHECK_PLACE = "Check the place against the order."
_ASK_STATE = "Check the rate with the state."
_ASK_FOR_DATE = "Check the rate for this date with the state."
_WHICH = "Find out in which of them the address lies:"
_FULL_ADDRESS = f"{_WHICH} look it up with the street address, or ask the state."
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
    "stale_rate": _ASK_FOR_DATE,
    "address_not_matched": "Correct the street address, then look it up again.",
    "zip_spans_jurisdictions": _FULL_ADDRESS,
    "source_conflict": _ASK_STATE,
    "parts_do_not_add_up": _ASK_STATE,
    "effective_after_sale": _ASK_FOR_DATE,
    "seasonal_rates": _ASK_FOR_DATE,
    "as_of_before_history": _ASK_FOR_DATE,
    "as_of_after_edition": _ASK_FOR_DATE,
    "local_rates_not_covered": _LOCAL_PART,
    "districts_not_covered": "Ask the state whether a city or district tax comes on top there.",
    "address_districts_not_covered": "Look the address up with the state: districts add tax.",
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
_NOT_WITH_THE_STATE = frozenset(
    {
        *("failed", "not_attempted", "invalid", "unsupported", "no_tax", "needs_review"),
        *("over_cap", "origin_unknown", "marketplace_record_only"),
        *("place_input_mismatch", "zip_not_used", "zip_of_another_state"),
        "zip_crosses_state_line",
        *("invoice_incomplete", *TAX_DUE_REASONS),
    }
)
"""What is settled with one's own records, by hand or by another run, not on a state's page."""
_OF_STATE = re.compile(r"\b(from|with|[Aa]sk) the state\b(?!')")
AddressGiven = Literal["no", "some", "all"]
"""Whether rows have a street address that did not decide their rate."""
_RANK = {code: rank for rank, code in enumerate(WHAT_TO_DO)}
_OF_TAX = {code: text.replace("`", "") for code, text in (TAX_DUE_REASONS | TAX_REVIEW).items()}
_OF_MARKS = {
    "no_tax": "there is a rate, and no tax: tax_error says why",
    "needs_review": "the lookup marked the rate for review; its reason was not looked up",
}


def what_to_do(code: str, state: str = "", *, address: AddressGiven = "no") -> str:
    """What to do about a status or a code; a general sentence for one not listed here.

    Args:
        code: the status or the code.
        state: the code of the state; the rates of Alaska are those of its boroughs and cities.
        address: whether a street address was given that did not decide the rate
            (`address_not_matched`), in the rows that it is about.
    """
    text = WHAT_TO_DO.get(code, _ASK_STATE)
    if text == _FULL_ADDRESS and address == "all":
        text = f"{_WHICH} look the street address up at {lookup_page(state)}."
    elif text == _FULL_ADDRESS and address == "some":
        text = (
            f"{_WHICH} look it up with the street address; where that was given already, look it"
            f" up at {lookup_page(state)}."
        )
    if state == "AK":
        text = _OF_STATE.sub(r"\1 the borough or city", text)
    return text


def where_to_do(code: str, state: str) -> str:
    """Where to do it: the state's own lookup page by its name; empty where that is no help."""
    return "" if code in _NOT_WITH_THE_STATE else lookup_page(state)


def urgency(code: str) -> tuple[int, str]:
    """A sort key of statuses and codes: the most urgent first."""
    return _RANK.get(code, len(_RANK)), code


def meaning_of(code: str) -> str:
    """The meaning of a status or a code; empty where it is not known."""
    if code in REVIEW_REASONS:
        return REVIEW_REASONS[code][0]
    return _OF_TAX.get(code) or _OF_MARKS.get(code) or MEANINGS.get(code, "")


def codes_in(cell: str) -> tuple[str, ...]:
    """The codes in a cell, which separates them by semicolons."""
    return tuple(filter(None, (code.strip() for code in cell.split(";"))))


RATE_NOTE_SHORT = (
    "These are general rates at the destination: no product rules (exemptions, reduced rates,"
    " holidays, caps) are applied, and no rate is made up where none is known."
)
"""One sentence for a terminal or a caption."""
_NEXUS = "Whether you must collect at all (nexus) is not decided here."
_ROUNDED = (
    "Tax is rounded line by line, half up to the cent; an invoice that rounds its total may differ"
    " by a cent or more."
)
RATE_NOTES = (
    (
        "Rates are general sales-tax rates for the place and the date of each line; where the book"
        " does not know that date, the nearest known rate, marked. They are a starting point for a"
        " return, not a return."
    ),
    (
        "Product rules are not applied: no exemptions or reduced rates for food, clothing,"
        " medicine or software, no sales-tax holidays, no caps (such as Florida's surtax above"
        " $5,000 an item or Tennessee's local tax above $1,600)."
    ),
    (
        "Each line is rated where it is shipped to. AZ, IL, MO, MS, OH, PA, TN, TX, UT, VA and, in"
        " part, CA source sales within the state at the seller's place: those lines may owe another"
        " local rate."
    ),
    _NEXUS,
    (
        "Status 'partial': the answer lacks local or district rates. It is a lower bound, so no tax"
        ' is computed from it unless you ask for it by name (partial="use").'
    ),
    "An empty cell is not zero: no rate is known, or no tax was computed.",
    _ROUNDED,
)
"""The full list, one point each, for a sheet or a page."""


def notes_under(terms: Mapping[str, object]) -> tuple[str, ...]:
    """`RATE_NOTES` without those that do not hold under the terms of a tax (see `terms_of`)."""
    settled = set()
    if terms.get("nexus") is not None:
        settled.add(_NEXUS)
    if terms.get("invoice") is not None or terms.get("rounding", "half_up") != "half_up":
        settled.add(_ROUNDED)
    return tuple(note for note in RATE_NOTES if note not in settled)
