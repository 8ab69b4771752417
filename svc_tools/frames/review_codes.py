"""Why rows need a person, as codes: what a review and a report say alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from svc_tools.frames.coded import Coded, coded, combined, first_column
from svc_tools.frames.taxes.taxed_rows import taxed_rows
from svc_tools.frames.what_to_do import codes_in, urgency, what_to_do
from svc_tools.lookup.review import REVIEW_REASONS

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["advice_on", "codes_of_rows"]

_ANSWERED = frozenset({"ok", "partial"})
_REVIEWED = REVIEW_REASONS.keys() - {"zip_spans_jurisdictions"}
_OF_TAX = ("tax_error", "taxable_amount", "exempt_amount")
_NOT_KNOWN = "due_not_known:"


def codes_of_rows(frame: pd.DataFrame, status: Coded, prefix: str) -> Coded:
    """The codes for which each row needs a person, separated by "; ", the most pressing first.

    Empty where a row needs nobody. They are the status of a row without a whole rate, what the
    lookup noted (`lookup_review_reason`, where `needs_review`), what the tax noted
    (`tax_review`), `no_tax`, and why it is not known whether a tax is due.
    """
    marked = first_column(frame, f"{prefix}needs_review")
    marks = (
        Coded(status.codes * 0, ("unknown",))
        if marked is None
        else Coded(marked.fillna(value=True).to_numpy(bool).astype(np.int64), ("", "marked"))
    )
    names = ("lookup_review_reason", "confidence", "warnings", "tax_review")
    codes, rows = combined(
        [
            status,
            marks,
            *(coded(frame, f"{prefix}{name}") for name in names),
            _why_no_tax(frame, status, prefix),
        ]
    )
    cells = [_cell(*row) for row in rows]
    distinct = list(dict.fromkeys(cells))
    number = {cell: place for place, cell in enumerate(distinct)}
    return Coded(np.array([number[cell] for cell in cells], np.int64)[codes], tuple(distinct))


def _why_no_tax(frame: pd.DataFrame, status: Coded, prefix: str) -> Coded:
    """What `taxed_rows` says, also of a frame with some of the columns of its tax only."""
    tax = first_column(frame, f"{prefix}tax")
    if tax is None:
        return Coded(status.codes * 0, ("",))
    if {f"{prefix}{name}" for name in _OF_TAX} <= set(frame.columns):
        return taxed_rows(frame, prefix).why
    lacks = status.where(lambda one: one == "ok") & tax.isna().to_numpy()
    return Coded(lacks.astype(np.int64), ("", "no_tax"))


def advice_on(cell: str) -> str:
    """What to do about the codes of a row, each sentence once."""
    return " ".join(dict.fromkeys(what_to_do(code) for code in codes_in(cell)))


def _cell(  # noqa: PLR0917 - a row's cells
    status: str,
    marked: str,
    of_rate: str,
    confidence: str,
    warnings: str,
    of_tax: str,
    why: str,
) -> str:
    if marked == "unknown":  # a lookup that was asked for some of its columns only
        found = _judged(status, confidence, warnings)
    else:
        found = list(codes_in(of_rate)) if marked else []
    if status != "ok" and status not in found:
        found.append(status)
    if marked == "marked" and not found:  # the column with the reason was not asked for
        found.append("needs_review")
    found += codes_in(of_tax)
    if why.startswith("no_tax"):
        found.append(why.partition(":")[2] if why.endswith("freight_taxable_unknown") else "no_tax")
    if why.startswith(_NOT_KNOWN):
        found.append(why.removeprefix(_NOT_KNOWN))
    return "; ".join(sorted(dict.fromkeys(found), key=urgency))


def _judged(status: str, confidence: str, warnings: str) -> list[str]:
    """The codes that the rules of a lookup come to, as far as its warnings tell."""
    if status not in _ANSWERED:
        return []
    codes = [code for code in codes_in(warnings) if code in _REVIEWED]
    codes += [status] if status != "ok" else []
    return codes or (["low_confidence"] if confidence in {"low", "none"} else [])
