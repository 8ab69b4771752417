"""Frames made by hand: what a lookup would return, and their tax."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pandas as pd
import pyarrow as pa

from svc_tools.frames import SvcAccessor
from svc_tools.frames.lookup.results import encode
from svc_tools.frames.lookup.survey import Survey
from svc_tools.lookup.columns import COLUMNS, RATE_COLUMNS, lookup_columns
from svc_tools.lookup.outcomes import Component
from svc_tools.show.codes import CONFIDENCES, codes_in, codes_of
from svc_tools.tables.text_dtype import text_dtype

RATE = pd.ArrowDtype(pa.decimal128(7, 5))
SHARE = pd.ArrowDtype(pa.decimal128(5, 4))
MONEY = pd.ArrowDtype(pa.decimal128(18, 2))
DAY = pd.ArrowDtype(pa.date32())
SOLD = date(2026, 5, 17)
_LEVELS = ("state", "county", "city", "district")
_FORMS = {one.name: one.form for one in COLUMNS}


def parts(*texts):
    """Components from texts such as `state 53 Washington 6500`; a code of `-` is missing."""
    made = []
    for one in texts:
        level, code, *name, rate = one.split()
        made.append(Component(level, " ".join(name), None if code == "-" else code, int(rate)))
    return tuple(made)


SEATTLE = parts("state 53 Washington 6500", "city 1726 Seattle 4050")
ATLANTA = parts("state 13 Georgia 4000", "county 121 Fulton County 3000", "city 04000 Atlanta 1900")
DELAWARE = parts("state 10 Delaware 0")


def units(value):
    """A rate from units of 10^-5."""
    return None if value is None else Decimal(value).scaleb(-5)


def money(values):
    """A column of dollars."""
    return pd.array(dollars(values), dtype=MONEY)


def dollars(values):
    """Exact dollars, `None` where missing."""
    return [None if value is None else Decimal(str(value)) for value in values]


def found(result, name):
    """A column's values, `None` where missing."""
    column = result[name]
    return [None if gone else value for value, gone in zip(column, column.isna(), strict=True)]


def timeless(frame):
    """The frame with whether there is a moment instead of the moment: every run has its own."""
    names = [name for name in frame if str(name).endswith("looked_up_at")]
    return frame.assign(**{name: frame[name].notna() for name in names})


def queries_of(frame, inputs, grain="day"):
    """For each row its query on the day that is looked up, or why there is none, and its own day.

    The grain is that of a service over HTTP.
    """
    survey = Survey.of(frame, inputs)
    queries = survey.queries
    wanted = queries.wanted(grain)
    places = wanted.dated()
    rows = []
    for code in survey.codes[0].tolist():
        one, day = queries.parts[queries.part_of[code]], int(queries.days[code])
        lookup = wanted.of_query[code]
        if lookup >= 0:
            one = replace(one, place=places[lookup])
        rows.append((one, date.fromordinal(day) if day else None))
    return rows


# rows of a lookup with details, and their frame


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
        "lookup_as_of": SOLD,
        "needs_review": False,
        "lookup_jurisdictions": encode(components),
    }
    return made | cells


def lost(status="unresolved", state=None, **cells):
    """A row without a rate."""
    made = {"resolved_state": state, "lookup_status": status, "lookup_error": "no such place"}
    made |= {"lookup_as_of": SOLD, "needs_review": True, "lookup_review_reason": status}
    return made | cells


def half(state="TX", components=("state 48 Texas 6250",), **cells):
    """A row whose rate is known to lack its local part."""
    made = line(state, parts(*components), confidence="low", lookup_status="partial")
    made |= {"county_rate": None, "city_rate": None, "combined_district_rate": None}
    return made | {"needs_review": True, "lookup_review_reason": "partial"} | cells


def looked_up(lines, *, prefix="", detail=True, index=None, **columns):
    """The frame of a lookup: the user's `columns`, then ours."""
    frame = pd.DataFrame(columns, index=index if index is not None else range(len(lines)))
    names = lookup_columns(detail=detail)
    added = {prefix + name: _column(name, [one.get(name) for one in lines]) for name in names}
    frame = pd.concat([frame, pd.DataFrame(added, index=frame.index)], axis=1)
    record = {"rows": len(lines), "asked": len(lines), "service": "a service"}
    frame.attrs["svc"] = {"lookups": {"": record}}
    return frame


def _column(name, values):
    if _FORMS[name] == "share":
        return pd.array(dollars(values), dtype=SHARE)
    if _FORMS[name] == "rate":
        return pd.array(dollars(values), dtype=RATE)
    kinds = {"day": DAY, "truth": "boolean"}
    return pd.array(values, dtype=kinds.get(_FORMS[name], text_dtype()))


def taxed(lines, amounts, *, prefix="", detail=True, index=None, terms=None, **columns):
    """That frame with the tax of the amounts; `terms` are arguments of `df.svc.tax()`.

    A tax that was collected may be in the amounts: that is what a reconciliation finds.
    """
    values = money(amounts)
    frame = looked_up(lines, prefix=prefix, detail=detail, index=index, amount=values, **columns)
    return SvcAccessor(frame).tax(
        "amount", prefix=prefix, progress=False, **{"contains_tax": False, **(terms or {})}
    )


# rows of orders with their rate, and their frame


def row(state="NJ", amount="100.00", rate="0.06625", **cells):
    """One row's cells: an ok one, unless `cells` says otherwise; rate None for no rate."""
    there = rate is not None
    made = {
        "state": state,
        "zip": "07030",
        "amount": amount,
        "rate": rate,
        "lookup_status": "ok" if there else "unresolved",
        "lookup_error": None if there else "no such place",
        "confidence": "high" if there else None,
        "warnings": None,
        "resolved_state": state if there else None,
        "lookup_source": "embedded service: state table" if there else "embedded service",
        "lookup_edition": "2026-11" if there else None,
    }
    return made | cells


def partial(state="TX", amount="100.00", rate="0.06250", **cells):
    """A row whose rate is known to lack its local part."""
    lacks = "local_rates_not_covered"
    reason = {"lookup_status": "partial", "lookup_error": lacks, "warnings": lacks}
    return row(state, amount, rate, confidence="low", **reason, **cells)


def enriched(*rows, prefix="", taxed=True, use_partial=False, asked=None, **columns):
    """The frame of `rows`, as `df.svc.lookup()` and (if `taxed`) `df.svc.tax()` return it.

    `columns` are further columns of the user's, put before those of the lookup.
    """
    own = {
        "state": pd.array([one["state"] for one in rows], dtype=text_dtype()),
        "zip": pd.array([one["zip"] for one in rows], dtype=text_dtype()),
        "amount": money([one["amount"] for one in rows]),
    }
    lines = [_reviewed(one) | _rates(one["rate"]) for one in rows]
    frame = looked_up(lines, prefix=prefix, detail=False, **own, **columns)
    noted = frame.attrs["svc"]["lookups"][""]
    noted |= {"asked": len(rows) if asked is None else asked, "service": "embedded service"}
    if not taxed:
        return frame
    return SvcAccessor(frame).tax(
        "amount", partial="use" if use_partial else None, prefix=prefix, progress=False
    )


def _rates(rate):
    if rate is None:
        return {}
    of_state = dict.fromkeys(("combined_rate", "state_rate"), rate)
    return dict.fromkeys(RATE_COLUMNS, "0.00000") | of_state


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
        if Decimal(one["rate"]) > Decimal("0.2"):
            reasons.insert(0, "rate_too_high")
        if one["confidence"] not in CONFIDENCES:
            reasons.append("confidence_unknown")
        if one["confidence"] in {"low", "none"} and not reasons:
            reasons.append("low_confidence")
    marks = {"needs_review": bool(reasons), "lookup_review_reason": "; ".join(reasons) or None}
    return marks | one


# frames of a few columns


def rated(**columns):
    """A frame of columns, with those of a lookup that a tax needs and that are not among them."""
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
        frame["lookup_as_of"] = pd.Series([SOLD] * len(frame), frame.index, DAY)
    return frame


def tax_of(amounts, terms=None, **columns):
    """The tax of amounts on some terms (arguments of `df.svc.tax()`), nothing printed."""
    return rated(amount=amounts, **columns).svc.tax(
        progress=False, **{"contains_tax": False, **(terms or {})}
    )
