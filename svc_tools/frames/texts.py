"""Statuses and codes for people: what each means, and what can be done about it."""

# MERGED rate_notes: What the rates are and are not: the sentences that every report of ours carries.
# MERGED column_words: What each column of ours holds, one line each, for the people who read a report.
# MERGED shown: Tables of frames, and their cells in words; how they are drawn is `svc_tools.display`'s.

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd

from svc_tools.display import NOTHING, Table, exact_dollars, plain
from svc_tools.frames.taxes.reasons import TAX_DUE_REASONS, TAX_REVIEW
from svc_tools.lookup.review import MEANINGS, REVIEW_REASONS

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

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
_OF_REVIEWS = {
    "no_tax": "there is a rate, and no tax: tax_error says why",
    "needs_review": "the lookup marked the rate for review; its reason was not asked for",
}

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
"""The whole list, one point each, for a sheet or a page."""

COLUMN_MEANINGS = {
    "combined_rate": "the whole rate, a fraction: 0.08250 is 8.25 %",
    "state_rate": "its part for the state",
    "county_rate": "its part for the county",
    "city_rate": "its part for the city",
    "combined_district_rate": "its part for special districts",
    "rate_low": "the lowest rate among the places that the answer could not tell apart",
    "rate_high": "the highest rate among them",
    "freight_taxable": "whether separately stated delivery is taxable",
    "confidence": "how sure the service is of the rate: exact, high, medium, low, none",
    "warnings": "advisories of the answer, as codes",
    "resolved_via": "how the place was found",
    "effective_date": "the day from which the rate is law, where its publisher says so",
    "effective_date_basis": "what that day rests on",
    "resolved_state": "the state that the rate is for",
    "resolved_zip": "the ZIP Code that the rate is for",
    "resolved_city": "the city that the rate is for",
    "resolved_county": "the county that the rate is for",
    "lookup_as_of": "the day that was asked about",
    "as_of_status": "verified: the answer itself proves that the rate was law on that day",
    "needs_review": "whether a person should look at the rate before it is relied on",
    "lookup_review_reason": "why, as codes",
    "lookup_status": "what became of the row: ok, partial, or why there is no rate",
    "lookup_error": "the reason where there is no whole rate",
    "support_reference": "what to quote to the service's support",
    "lookup_source": "where the rate is from",
    "lookup_edition": "the edition of that source",
    "looked_up_at": "when the service answered (UTC)",
    "lookup_jurisdictions": "each jurisdiction's part of the rate with its official code (JSON)",
    "tax": "the tax at the destination, US dollars; empty where it cannot be said, never 0 then",
    "tax_error": "why there is no tax",
    "taxable_amount": "what the tax is on, US dollars",
    "exempt_amount": "what of the sale is not taxed, US dollars",
    "state_tax": "the state's part of the tax",
    "county_tax": "the county's part of the tax",
    "city_tax": "the city's part of the tax",
    "combined_district_tax": "the special districts' part of the tax",
    "tax_low": "the tax at the lowest rate that the place may have",
    "tax_high": "the tax at the highest rate that the place may have",
    "at_stake": "what lies between the two, US dollars",
    "tax_review": "why a person should look at the tax, as codes",
    "shipping_tax": "the part of the tax that is on delivery",
    "tax_due": "the tax that the seller owes, US dollars",
    "tax_due_reason": "why none is due, or why that cannot be said",
}
"""The meaning of a column by its name without the prefix."""


def what_to_do(code: str) -> str:
    """What a person can do about a status or a code; a general sentence for one not known here."""
    return WHAT_TO_DO.get(code, _ASK_STATE)


_RANK = {code: rank for rank, code in enumerate(WHAT_TO_DO)}
_OF_TAX = {code: text.replace("`", "") for code, text in (TAX_DUE_REASONS | TAX_REVIEW).items()}


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


def notes_under(terms: Mapping[str, object]) -> tuple[str, ...]:
    """The list under the terms that a tax was computed by: what they settle is not said."""
    settled = set()
    if terms.get("nexus") is not None:
        settled.add(_NEXUS)
    if terms.get("invoice") is not None or terms.get("rounding", "half_up") != "half_up":
        settled.add(_ROUNDED)
    return tuple(note for note in RATE_NOTES if note not in settled)


def written(value: Any) -> str:  # noqa: ANN401 - a cell of any column
    """A cell: dollars with cents, counts with separators, what is missing as a dash."""
    if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)):
        return NOTHING
    if isinstance(value, Decimal):
        return exact_dollars(value) if value.as_tuple().exponent == -2 else str(value)  # noqa: PLR2004  # cents
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return plain(value)


def table_of(
    title: str,
    frame: pd.DataFrame,
    columns: Sequence[tuple[Hashable, str]],
    *,
    rows: int | None = None,
    labelled: str | None = None,
) -> Table:
    """Columns of a frame as a table.

    Args:
        title: the table's title.
        frame: the rows; the first `rows` of them are shown, and how many are not.
        columns: label in the frame, head in the table; with `~`, for words of ours, uncut.
        rows: how many rows to show; all by default.
        labelled: the head of a first column with the index labels; none by default.
    """
    shown = frame if rows is None else frame.iloc[:rows]
    cells = [
        [str(value) if head.startswith("~") else written(value) for value in shown[label].tolist()]
        for label, head in columns
    ]
    if labelled is not None:
        cells.insert(0, [plain(label) for label in shown.index.tolist()])
    heads = [*([labelled] if labelled is not None else []), *(head for _, head in columns)]
    left_out = len(frame) - len(shown)
    return Table(
        title,
        tuple(heads),
        tuple(zip(*cells, strict=True)),
        f"and {left_out:,} more" if left_out else None,
    )
