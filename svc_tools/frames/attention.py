"""Which rows of an enriched frame need a person, why, and what that person can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.frames.enriched import require_columns, texts

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Flag", "attention"]

_TO_DO = {
    "failed": "Run the lookup again: answered places are not asked twice.",
    "not_attempted": "Run the lookup again: this row was not reached.",
    "invalid": "Correct the row, then look it up again.",
    "unresolved": "Check state, ZIP Code and city against the order.",
    "unsupported": "Treat by hand: no US state sales-tax rate applies here.",
    "partial": "Get the local rate from the state before you charge or file tax.",
}
_CHECK = "Check the place against the order."
_RANK = {
    kind: rank
    for rank, kind in enumerate((*list(_TO_DO)[:-1], "no_tax", "mismatch", "low", "partial"))
}


@dataclass(frozen=True, slots=True)
class Flag:
    """One row that needs a person.

    Attributes:
        position: the row's position in the frame, from 0.
        kind: its status if that is not ok, else `no_tax`, `mismatch` or `low`.
        reason: why, in a sentence.
        to_do: what to do about it.
    """

    position: int
    kind: str
    reason: str
    to_do: str


def attention(frame: pd.DataFrame, *, prefix: str = "") -> list[Flag]:
    """The rows that need a person, the most pressing kinds first, then in the frame's order.

    These are the rows whose status is not ok, and of the ok ones those without a tax (if the
    frame has taxes), with a city that is not where the rate is from, or with low confidence.

    Args:
        frame: what `df.svc.lookup()` returned, with or without `df.svc.tax()`.
        prefix: the prefix of the lookup's columns.

    Raises:
        ValueError: the frame has not been looked up.
    """
    status_column = f"{prefix}lookup_status"
    require_columns(frame, (status_column,), "look the rates up first: df.svc.lookup()")
    rows = zip(
        texts(frame, status_column),
        texts(frame, f"{prefix}confidence"),
        texts(frame, f"{prefix}warnings"),
        texts(frame, f"{prefix}lookup_error"),
        texts(frame, f"{prefix}tax_error"),
        strict=True,
    )
    flags = []
    for position, (status, confidence, warnings, error, tax_error) in enumerate(rows):
        row = _Row(status or "not_attempted", confidence, warnings, error, tax_error)
        said = _why(row)
        if said is not None:
            flags.append(Flag(position, *said))
    return sorted(flags, key=lambda flag: _RANK.get(flag.kind, len(_RANK)))


class _Row(NamedTuple):
    status: str
    confidence: str | None
    warnings: str | None
    error: str | None
    tax_error: str | None


def _why(row: _Row) -> tuple[str, str, str] | None:
    """Kind, reason and what to do; `None` for a row that needs nobody."""
    said = f" ({row.warnings})" if row.warnings else ""
    if row.status == "partial":
        return "partial", f"Local or district rates are not covered{said}.", _TO_DO["partial"]
    if row.status != "ok":
        reason = row.error or f"No rate ({row.status}), and no reason given."
        return row.status, reason, _TO_DO.get(row.status, _CHECK)
    if row.tax_error is not None:
        return (
            "no_tax",
            f"No tax: {row.tax_error}",
            "Correct the amount, then compute the tax again.",
        )
    if "place_input_mismatch" in (row.warnings or ""):
        return "mismatch", f"The city given is not the place the rate is for{said}.", _CHECK
    if row.confidence in {"low", "none"}:
        return "low", f"Confidence is {row.confidence}{said}.", _CHECK
    return None
