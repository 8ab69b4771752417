"""How the rates were looked up and how the tax was computed, in the words of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.coded import first_column
from svc_tools.frames.taxes.tax_terms import terms_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["lookup_facts", "tax_terms"]

_NOTED = {
    "service": "Service asked",
    "asked": "Distinct places asked in this lookup",
    "cached": "Distinct places answered from what was kept",
    "requests": "Requests made",
    "grain": "Dates asked by",
    "stopped": "The lookup ended early",
}
_ROUNDINGS = {
    "half_up": "to the cent, half a cent away from zero",
    "half_even": "to the cent, half a cent to the even cent",
    "up": "to the cent, away from zero",
    "down": "to the cent, toward zero",
}
_PER_LINE = "each line on its own"


def lookup_facts(frame: pd.DataFrame, prefix: str) -> tuple[tuple[str, str], ...]:
    """How the rates were looked up, as the lookup noted it on the frame.

    A frame that has since been cut or joined carries the note along: what it counts is left out.
    """
    note = frame.attrs.get("svc_lookup")
    note = note if isinstance(note, dict) and note.get("prefix", prefix) == prefix else {}
    whole = note.get("rows") == len(frame)
    facts = [
        (label, _shown(note[name]))
        for name, label in _NOTED.items()
        if note.get(name) is not None and (whole or name in {"service", "grain"})
    ]
    facts += _answered_at(frame, prefix)
    if whole:
        facts += [("Noted by the lookup", str(text)) for text in note.get("notes") or ()]
    elif note:
        facts.append(
            (
                "Rows",
                f"the lookup was over {_shown(note.get('rows'))} rows, these are {len(frame):,}",
            )
        )
    return tuple(facts)


def _answered_at(frame: pd.DataFrame, prefix: str) -> list[tuple[str, str]]:
    column = first_column(frame, f"{prefix}looked_up_at")
    if column is None:
        return []
    there = pd.to_datetime(column.dropna(), utc=True, errors="coerce").dropna()
    if there.empty:
        return []
    first, last = there.min(), there.max()
    return [("Answers given", f"{first:%Y-%m-%d %H:%M:%S} to {last:%Y-%m-%d %H:%M:%S} UTC")]


def tax_terms(frame: pd.DataFrame, prefix: str) -> tuple[tuple[str, str], ...]:
    """How the tax was computed, as the tax noted it on the frame."""
    terms = terms_of(frame, prefix)
    if not terms:
        return (("Terms of the tax", "not recorded on this frame"),)
    return (
        ("Amounts", f"column {terms.get('amount')!r}"),
        ("Delivery", _column_term(terms, "shipping", "not given: no tax on delivery")),
        ("Exempt", _column_term(terms, "exempt", "nothing was said to be exempt")),
        ("Rounding", _ROUNDINGS.get(str(terms.get("rounding")), _shown(terms.get("rounding")))),
        ("Rounded", _per_invoice(terms)),
        (
            "Partial rates",
            "taxed from what is known of them, as asked"
            if terms.get("partial") == "use"
            else "not taxed",
        ),
        (
            "Register of nexus",
            _column_term(terms, "nexus", "not given: tax at the destination only"),
        ),
        ("Sales channel", _column_term(terms, "channel", "not given")),
        ("Shipped from", _column_term(terms, "ship_from", "not given")),
    )


def _per_invoice(terms: Mapping[str, object]) -> str:
    invoice = terms.get("invoice")
    return _PER_LINE if invoice is None else f"once an invoice (column {invoice!r})"


def _column_term(terms: Mapping[str, object], name: str, absent: str) -> str:
    value = terms.get(name)
    if value is None:
        return absent
    return f"column {value!r}" if isinstance(value, str) else _shown(value)


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
