"""Enriched frames made by hand: what a lookup would return, with the answers that a test needs."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pyarrow as pa

from svc_tools.codes import codes_in, codes_of
from svc_tools.frames import SvcAccessor
from svc_tools.frames.lookup_columns import (
    LOOKUP_COLUMNS,
    RANGE_COLUMNS,
    RATE_COLUMNS,
)

RATE = pd.ArrowDtype(pa.decimal128(7, 5))
MONEY = pd.ArrowDtype(pa.decimal128(18, 2))


def row(state="NJ", amount="100.00", rate="0.06625", **cells):
    """One row's cells: an ok one, unless `cells` says otherwise; rate None for no answer."""
    answered = rate is not None
    made = {
        "state": state,
        "zip": "07030",
        "amount": amount,
        "rate": rate,
        "lookup_status": "ok" if answered else "unresolved",
        "lookup_error": None if answered else "no such place",
        "confidence": "high" if answered else None,
        "warnings": None,
        "resolved_state": state if answered else None,
        "lookup_source": "embedded service: state table" if answered else "embedded service",
        "lookup_edition": "2026-11" if answered else None,
    }
    return made | cells


def partial(state="TX", amount="100.00", rate="0.06250", **cells):
    """A row whose rate is known to lack its local part."""
    lacking = {"lookup_status": "partial", "lookup_error": "local_rates_not_covered"}
    return row(
        state,
        amount,
        rate,
        confidence="low",
        warnings="local_rates_not_covered",
        **lacking,
        **cells,
    )


def enriched(*rows, prefix="", taxed=True, use_partial=False, asked=None, **columns):
    """The frame of `rows`, as `df.svc.lookup()` and (if `taxed`) `df.svc.tax()` return it.

    `columns` are further columns of the user's own, put before those of the lookup.
    """
    rows = [_reviewed(one) for one in rows]
    frame = pd.DataFrame(
        {
            "state": pd.array([one["state"] for one in rows], dtype="str"),
            "zip": pd.array([one["zip"] for one in rows], dtype="str"),
            "amount": pd.array(
                [None if one["amount"] is None else Decimal(one["amount"]) for one in rows],
                dtype=MONEY,
            ),
            **columns,
        }
    )
    for name in LOOKUP_COLUMNS:
        if name in RATE_COLUMNS:
            frame[prefix + name] = pd.array(
                [_rate(one["rate"], name) for one in rows],
                dtype=RATE,
            )
        elif name == "effective_date":
            frame[prefix + name] = pd.array(
                [one.get(name) for one in rows], dtype=pd.ArrowDtype(pa.date32())
            )
        elif name in {"freight_taxable", "needs_review"}:
            frame[prefix + name] = pd.array([one.get(name) for one in rows], dtype="boolean")
        elif name in RANGE_COLUMNS:
            given = [one.get(name) for one in rows]
            frame[prefix + name] = pd.array(
                [None if rate is None else Decimal(rate) for rate in given], dtype=RATE
            )
        else:
            frame[prefix + name] = pd.array([one.get(name) for one in rows], dtype="str")
    frame.attrs["svc_lookup"] = {
        "rows": len(rows),
        "asked": len(rows) if asked is None else asked,
        "service": "embedded service",
    }
    if not taxed:
        return frame
    return SvcAccessor(frame).tax(
        "amount", partial="use" if use_partial else None, prefix=prefix, progress=False
    )


def _reviewed(one):
    """The row with what the lookup's rules say about it."""
    status, codes = one["lookup_status"], [*codes_in(one["warnings"] or "")]
    if status not in {"ok", "partial"}:
        reasons = [status or "not_attempted"]
    else:
        reasons = [code for code in codes_of("review") if code in codes]
        reasons = [code for code in reasons if code != "zip_spans_jurisdictions"]
        reasons += [status] if status == "partial" else []
        if one.get("rate_low") != one.get("rate_high"):
            reasons.append("several_rates")
        if one["confidence"] in {"low", "none"} and not reasons:
            reasons.append("low_confidence")
    said = {"needs_review": bool(reasons), "lookup_review_reason": "; ".join(reasons) or None}
    return said | one


def _rate(rate, name):
    if rate is None:
        return None
    return Decimal(rate) if name in {"combined_rate", "state_rate"} else Decimal("0.00000")
