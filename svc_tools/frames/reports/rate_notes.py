"""What the rates are and are not: the sentences that every report of ours carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RATE_NOTES", "RATE_NOTE_SHORT", "notes_under"]

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


def notes_under(terms: Mapping[str, object]) -> tuple[str, ...]:
    """The list under the terms that a tax was computed by: what they settle is not said."""
    settled = set()
    if terms.get("nexus") is not None:
        settled.add(_NEXUS)
    if terms.get("invoice") is not None or terms.get("rounding", "half_up") != "half_up":
        settled.add(_ROUNDED)
    return tuple(note for note in RATE_NOTES if note not in settled)
