"""How an outcome reads in a notebook. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_sdk.rates import units_to_rate
from svc_tools.shown import NOTHING, Table, as_html, printable

if TYPE_CHECKING:
    from svc_tools.lookup.outcomes import Found, Outcome

__all__ = ["outcome_html"]

_SHOWN_PARTS = (
    ("state", "State"),
    ("county", "County"),
    ("city", "City"),
    ("districts", "Districts"),
)


def outcome_html(outcome: Outcome) -> str:
    """The outcome as HTML: what became of the question, then the rate and what it rests on."""
    found = outcome.found
    tables = () if found is None else (_rates(found), _facts(found))
    return as_html(_title(outcome), _sentences(outcome), tables)


def _title(outcome: Outcome) -> str:
    found = outcome.found
    if found is None:
        return f"{outcome.status}: no rate"
    rate = units_to_rate(found.combined)
    if outcome.status == "partial":
        return f"partial: {rate} is known, and lacks a part of the rate"
    return f"{outcome.status}: {rate}, confidence {found.confidence or 'not said'}"


def _sentences(outcome: Outcome) -> list[str]:
    said = [] if outcome.error is None else [outcome.error]
    if outcome.looked_up_at is not None:
        how = "Answer from the cache, given" if outcome.cached else "Answered"
        said.append(f"{how} {outcome.looked_up_at.isoformat(' ', 'seconds')}.")
    if outcome.support_reference is not None:
        said.append(f"Support reference: {outcome.support_reference}.")
    return said


def _rates(found: Found) -> Table:
    """The parts; what is not known is a dash, never 0."""
    rows = [(label, units_to_rate(getattr(found, name)) or NOTHING) for name, label in _SHOWN_PARTS]
    rows.append(("Together", units_to_rate(found.combined)))
    return Table("Rate", ("Part", ">Rate"), tuple(rows))


def _facts(found: Found) -> Table:
    places = (found.resolved_city, found.resolved_county, found.resolved_state, found.resolved_zip)
    between = f"{units_to_rate(found.low)} to {units_to_rate(found.high)}"
    facts = {
        "Place": ", ".join(filter(None, places)),
        "Decided by": found.resolved_via,
        "Confidence": found.confidence,
        "Warnings": ", ".join(found.warnings),
        "May lie between": between if found.low is not None else None,
        "Effective date": found.effective_date,
        "Basis of the date": found.effective_date_basis,
        "Source": found.source,
        "Edition": found.edition,
    }
    rows = tuple((name, printable(value) if value else NOTHING) for name, value in facts.items())
    return Table("What it rests on", ("Fact", "~Value"), rows)
