"""Frames as a lookup leaves them, with the columns that a tax needs."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pandas as pd
import pyarrow as pa

import svc_tools  # noqa: F401 - registers df.svc


def looked_up(**columns):
    """A frame of columns, with the columns of a lookup that are not among them."""
    frame = pd.DataFrame(columns)
    usual = {
        "combined_rate": "0.08250",
        "lookup_status": "ok",
        "resolved_state": "NY",
        "freight_taxable": True,
    }
    for name, value in usual.items():
        if name not in frame:
            frame[name] = value
    if "lookup_as_of" not in frame:
        frame["lookup_as_of"] = pd.Series(
            [date(2026, 5, 1)] * len(frame), frame.index, pd.ArrowDtype(pa.date32())
        )
    return frame


def taxed(amounts, terms=None, **columns):
    """The tax of amounts on some terms (arguments of `df.svc.tax()`), nothing printed."""
    return looked_up(amount=amounts, **columns).svc.tax(progress=False, **(terms or {}))


def dollars(values):
    """Text as exact dollars, `None` kept."""
    return [None if value is None else Decimal(value) for value in values]


def found(result, name):
    """A column's values, `None` where missing."""
    column = result[name]
    return [None if gone else value for value, gone in zip(column, column.isna(), strict=True)]
