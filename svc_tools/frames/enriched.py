"""How an enriched frame is read: its columns, statuses and states.

An enriched frame is what `df.svc.lookup()` returns (and `df.svc.tax()` adds to): the user's
columns and, after a prefix of the user's choice, the columns named here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.lookup import STATUSES

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

__all__ = [
    "CATEGORY_COLUMNS",
    "CONFIDENCES",
    "DETAIL_COLUMNS",
    "LEVEL_TAX_COLUMNS",
    "LOOKUP_COLUMNS",
    "NOTE",
    "OTHER_DATE",
    "RANGE_COLUMNS",
    "RATE_COLUMNS",
    "STATUSES",
    "TAX_COLUMNS",
    "TAX_OPTION_COLUMNS",
    "TERMS",
    "require_columns",
    "require_one",
    "texts",
    "warning_codes",
]

RATE_COLUMNS = (
    "combined_rate",
    "state_rate",
    "county_rate",
    "city_rate",
    "combined_district_rate",
)
"""The columns that hold rates: fractions with five decimals (0.08250 is 8.25 %)."""

RANGE_COLUMNS = ("rate_low", "rate_high")
"""The lowest and highest combined rate among the places an answer could not tell apart."""

LOOKUP_COLUMNS = (
    *RATE_COLUMNS,
    *RANGE_COLUMNS,
    "freight_taxable",
    "confidence",
    "warnings",
    "resolved_via",
    "effective_date",
    "effective_date_basis",
    "resolved_state",
    "resolved_zip",
    "resolved_city",
    "resolved_county",
    "lookup_as_of",
    "as_of_status",
    "needs_review",
    "lookup_review_reason",
    "lookup_status",
    "lookup_error",
    "support_reference",
    "lookup_source",
    "lookup_edition",
    "looked_up_at",
)
"""Every column that a lookup adds, without the prefix."""

CATEGORY_COLUMNS = (
    "confidence",
    "resolved_via",
    "effective_date_basis",
    "as_of_status",
    "lookup_review_reason",
    "lookup_source",
    "lookup_edition",
)
"""Those that hold one of a few texts in every row: `category`, each text kept once (memory)."""

DETAIL_COLUMNS = ("lookup_jurisdictions",)
"""What `lookup(detail=True)` adds to them."""

LEVEL_TAX_COLUMNS = ("state_tax", "county_tax", "city_tax", "combined_district_tax")
"""The parts of a row's tax, by level of jurisdiction: they add up to `tax`."""

TAX_COLUMNS = (
    "tax",
    "tax_error",
    "taxable_amount",
    "exempt_amount",
    *LEVEL_TAX_COLUMNS,
    "tax_low",
    "tax_high",
    "at_stake",
    "tax_review",
)
"""The columns that `df.svc.tax()` adds, without the prefix."""

NOTE = "svc_lookup"
"""The frame's attribute that says what its last lookup was: see `lookup_note.note_of`."""

TERMS = "svc_tax_terms"
"""The frame's attribute that says, by prefix, on which terms its taxes were computed."""

TAX_OPTION_COLUMNS = ("shipping_tax", "tax_due", "tax_due_reason")
"""What `df.svc.tax()` adds where it was asked to: `shipping=`; `nexus=` or `channel=`."""

CONFIDENCES = ("exact", "high", "medium", "low", "none")
"""The values of `confidence` (SPEC 2.1), from the best to the worst."""

OTHER_DATE = frozenset({"as_of_before_history", "as_of_after_edition"})
"""Warnings by which an answer says that its rate is that of another date than the one asked for."""


def require_columns(frame: pd.DataFrame, names: tuple[Hashable, ...], remedy: str) -> None:
    """Refuse a frame that lacks one of the columns `names`; `remedy` says what to do.

    Raises:
        ValueError: columns are missing; it names them, the columns there are, and the remedy.
    """
    absent = [name for name in names if name not in frame.columns]
    if absent:
        if _were_left_out(frame, absent):
            remedy = (
                f"its lookup added some columns only: look up again with {absent} in columns=, or"
                " without columns="
            )
        there = ", ".join(str(name) for name in frame.columns[:12]) or "none"
        more = ", …" if len(frame.columns) > 12 else ""  # noqa: PLR2004  # as many as one reads
        raise ValueError(
            f"the frame has no column {', '.join(map(repr, absent))} (it has: {there}{more});"
            f" {remedy}"
        )


def _were_left_out(frame: pd.DataFrame, absent: list[Hashable]) -> bool:
    """Whether all that is absent comes with a lookup, and the frame was looked up."""
    ends = [
        next((name for name in LOOKUP_COLUMNS if str(one).endswith(name)), None) for one in absent
    ]
    return all(
        end is not None and f"{str(one).removesuffix(end)}lookup_status" in frame.columns
        for one, end in zip(absent, ends, strict=True)
    )


def require_one(frame: pd.DataFrame, label: Hashable, argument: str) -> None:
    """Refuse a label that several columns bear: which one is meant cannot be known.

    Raises:
        ValueError: it names the argument and the label.
    """
    if sum(name == label for name in frame.columns) > 1:
        raise ValueError(f"{argument}: the frame has several columns {label!r}; rename all but one")


def texts(frame: pd.DataFrame, name: Hashable) -> list[str | None]:
    """A column as text; `None` where a value is missing or the column is not there.

    Of several columns of one name it is the first.
    """
    if name not in frame.columns:
        return [None] * len(frame)
    column = next(values for label, values in frame.items() if label == name)
    return [
        None if gone else str(value)
        for value, gone in zip(column.tolist(), column.isna().tolist(), strict=True)
    ]


def warning_codes(warnings: str | None) -> tuple[str, ...]:
    """The codes in a cell of the column `warnings`, which separates them by semicolons."""
    codes = (code.strip() for code in (warnings or "").split(";"))
    return tuple(code for code in codes if code)
