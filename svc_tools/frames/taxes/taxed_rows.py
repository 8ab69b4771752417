"""A taxed frame as arrays of whole cents: the tax, what is due of it, and why there is none."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from svc_tools.frames.coded import Coded, coded, combined
from svc_tools.frames.distinct_values import is_label
from svc_tools.frames.enriched import require_columns, require_one
from svc_tools.frames.taxes.amounts import one_amount
from svc_tools.frames.taxes.tax_terms import terms_of
from svc_tools.frames.totals import Money, money

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pandas as pd

__all__ = [
    "NOTHING_DUE",
    "TaxedRows",
    "amount_label",
    "sales_of",
    "shipping_of_rows",
    "taxed_rows",
]

NOTHING_DUE = frozenset({"no_nexus", "not_registered_yet", "marketplace_facilitated"})
"""The codes of `tax_due_reason` that say: the seller owes nothing on this sale."""
_TOPIC = re.compile(r"([a-z_]+):")
_RATED = frozenset({"ok", "partial"})


@dataclass(frozen=True, slots=True)
class TaxedRows:
    """The money of every row of a taxed frame.

    Attributes:
        tax: the tax at the destination.
        due: what the seller owes of it: `tax_due` where the frame has that column, else `tax`.
        says_due: whether the frame has the column.
        nothing_due: rows of which the seller owes no tax, for a known reason.
        taxable: the amount that the tax was computed on.
        exempt: the amount left untaxed.
        why: empty where something is due; else `no_rate:` and the status, `no_tax` (with what is
            wrong after a colon), `not_due:` or `due_not_known:` and the code of `tax_due_reason`.
    """

    tax: Money
    due: Money
    says_due: bool
    nothing_due: np.ndarray
    taxable: Money
    exempt: Money
    why: Coded


def taxed_rows(frame: pd.DataFrame, prefix: str) -> TaxedRows:
    """Read the money of a frame that `df.svc.tax()` returned.

    Raises:
        ValueError: it has not been looked up, or has no tax, or columns of ours appear twice.
    """
    status = f"{prefix}lookup_status"
    require_columns(frame, (status,), "look the rates up first: df.svc.lookup()")
    names = tuple(prefix + name for name in ("tax", "tax_error", "taxable_amount", "exempt_amount"))
    require_columns(frame, names, "compute the tax first: df.svc.tax(amount='…')")
    for name in (status, *names):
        require_one(frame, name, "tax")
    tax = money(frame, names[0])
    says_due = f"{prefix}tax_due" in frame.columns
    due = money(frame, f"{prefix}tax_due") if says_due else tax
    codes, cells = combined(
        [
            coded(frame, status, "not_attempted"),
            coded(frame, names[1]),
            coded(frame, f"{prefix}tax_due_reason"),
            coded(frame, f"{prefix}tax_review"),
            Coded(np.where(tax.missing, 0, np.where(due.missing, 1, 2)), ("tax", "due", "")),
        ]
    )
    partial_used = terms_of(frame, prefix).get("partial") == "use"
    reasons = [_why(*cell, partial_used=partial_used) for cell in cells]
    values = tuple(dict.fromkeys(reasons))
    place = {value: number for number, value in enumerate(values)}
    why = Coded(np.array([place[one] for one in reasons], np.int64)[codes], values)
    return TaxedRows(
        tax,
        due,
        says_due,
        why.where(lambda one: one.startswith("not_due:")),
        money(frame, names[2]),
        money(frame, names[3]),
        why,
    )


def _why(
    status: str, error: str, due_reason: str, review: str, lacks: str, *, partial_used: bool
) -> str:
    """Why a row owes no tax that is known, as a code."""
    if not lacks:
        return ""
    if due_reason in NOTHING_DUE:  # also where the tax itself is not known
        return f"not_due:{due_reason}"
    if lacks == "due":
        return f"due_not_known:{due_reason or 'no_reason'}"
    if status not in _RATED or (status == "partial" and not partial_used):
        return f"no_rate:{status}"
    if "freight_taxable_unknown" in review:
        return "no_tax:freight_taxable_unknown"
    topic = _TOPIC.match(error)
    return f"no_tax:{topic[1]}" if topic else "no_tax"


def amount_label(frame: pd.DataFrame, prefix: str, given: Hashable | None) -> Hashable | None:
    """The column of amounts: the one named, else the one the tax was computed from, else none.

    Raises:
        ValueError: the column named is not there, or several bear its name.
    """
    if given is not None:
        require_columns(frame, (given,), "name the column of amounts: amount='…'")
        require_one(frame, given, "amount")
        return given
    for label in (terms_of(frame, prefix).get("amount"), "amount"):
        if isinstance(label, str | int) and sum(label == name for name in frame.columns) == 1:
            return label
    return None


def sales_of(frame: pd.DataFrame, prefix: str, amount: Hashable | None = None) -> Money:
    """Each row's sale with its delivery charge, as far as the columns are known; else missing."""
    label = amount_label(frame, prefix, amount)
    goods = money(frame, label) if label is not None else _nothing(frame)
    delivery = shipping_of_rows(frame, prefix)
    return Money(goods.cents + np.where(goods.missing, 0, delivery), goods.missing)


def shipping_of_rows(frame: pd.DataFrame, prefix: str) -> np.ndarray:
    """Each row's delivery charge in cents; 0 where there is none, or it is not known any more."""
    said = terms_of(frame, prefix).get("shipping")
    cents = np.zeros(len(frame), np.int64)
    if not isinstance(said, str | int):
        return cents
    if is_label(frame, said):
        return money(frame, said).cents
    with contextlib.suppress(ValueError):  # the column is not in the frame any more
        cents += one_amount(said, "shipping")
    return cents


def _nothing(frame: pd.DataFrame) -> Money:
    return Money(np.zeros(len(frame), np.int64), np.ones(len(frame), bool))
