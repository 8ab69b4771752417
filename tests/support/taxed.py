"""Taxed frames made by hand: what `lookup(detail=True)` would return, taxed by `df.svc.tax()`."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pyarrow as pa

from svc_tools.frames import SvcAccessor
from svc_tools.frames.lookup_columns import (
    DETAIL_COLUMNS,
    LOOKUP_COLUMNS,
    RANGE_COLUMNS,
    RATE_COLUMNS,
)
from svc_tools.frames.results import encode
from svc_tools.lookup.outcomes import Component

RATE = pd.ArrowDtype(pa.decimal128(7, 5))
MONEY = pd.ArrowDtype(pa.decimal128(18, 2))
DAY = pd.ArrowDtype(pa.date32())
_LEVELS = ("state", "county", "city", "district")
_BOOLEAN = {"freight_taxable", "needs_review"}


def parts(*said):
    """Components from texts such as `state 53 Washington 6500`; a code of `-` is none."""
    made = []
    for one in said:
        level, code, *name, units = one.split()
        made.append(Component(level, " ".join(name), None if code == "-" else code, int(units)))
    return tuple(made)


SEATTLE = parts("state 53 Washington 6500", "city 1726 Seattle 4050")
ATLANTA = parts("state 13 Georgia 4000", "county 121 Fulton County 3000", "city 04000 Atlanta 1900")
DELAWARE = parts("state 10 Delaware 0")


def line(state="GA", components=ATLANTA, **cells):
    """A looked-up row: whole, of high confidence; its rates are those of the components."""
    sums = {level: sum(one.units for one in components if one.level == level) for level in _LEVELS}
    made = {
        "resolved_state": state,
        "resolved_zip": "30303",
        "resolved_city": "Atlanta",
        "combined_rate": units(sum(one.units for one in components)),
        "state_rate": units(sums["state"]),
        "county_rate": units(sums["county"]),
        "city_rate": units(sums["city"]),
        "combined_district_rate": units(sums["district"]),
        "freight_taxable": True,
        "confidence": "high",
        "lookup_status": "ok",
        "lookup_as_of": pd.Timestamp("2026-05-17").date(),
        "needs_review": False,
        "lookup_jurisdictions": encode(components),
    }
    return made | cells


def lost(status="unresolved", state=None, **cells):
    """A row without a rate."""
    made = {
        "resolved_state": state,
        "lookup_status": status,
        "lookup_error": "no such place",
        "lookup_as_of": pd.Timestamp("2026-05-17").date(),
        "needs_review": True,
        "lookup_review_reason": status,
    }
    return made | cells


def half(state="TX", components=("state 48 Texas 6250",), **cells):
    """A row whose rate is known to lack its local part."""
    made = line(state, parts(*components), confidence="low", lookup_status="partial")
    made |= {"county_rate": None, "city_rate": None, "combined_district_rate": None}
    return made | {"needs_review": True, "lookup_review_reason": "partial"} | cells


def units(value):
    """A rate from units of 10^-5."""
    return None if value is None else Decimal(value).scaleb(-5)


def money(values):
    """A column of dollars."""
    exact = [None if value is None else Decimal(str(value)) for value in values]
    return pd.array(exact, dtype=MONEY)


def looked_up(lines, *, prefix="", detail=True, index=None, **columns):
    """The frame of a lookup: the user's `columns`, then ours."""
    frame = pd.DataFrame(columns, index=index if index is not None else range(len(lines)))
    names = (*LOOKUP_COLUMNS, *(DETAIL_COLUMNS if detail else ()))
    added = {prefix + name: _column(name, [one.get(name) for one in lines]) for name in names}
    frame = pd.concat([frame, pd.DataFrame(added, index=frame.index)], axis=1)
    frame.attrs["svc_lookup"] = {"rows": len(lines), "asked": len(lines), "service": "a service"}
    return frame


def _column(name, values):
    if name in RATE_COLUMNS or name in RANGE_COLUMNS:
        return pd.array(values, dtype=RATE)
    if name in {"lookup_as_of", "effective_date"}:
        return pd.array(values, dtype=DAY)
    return pd.array(values, dtype="boolean" if name in _BOOLEAN else "str")


def taxed(lines, amounts, *, prefix="", detail=True, index=None, terms=None, **columns):
    """That frame with the tax of the amounts; `terms` are arguments of `df.svc.tax()`."""
    values = money(amounts)
    frame = looked_up(lines, prefix=prefix, detail=detail, index=index, amount=values, **columns)
    return SvcAccessor(frame).tax("amount", prefix=prefix, progress=False, **(terms or {}))
