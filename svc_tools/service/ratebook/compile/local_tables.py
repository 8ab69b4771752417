"""The transcribed local tables of Florida, Hawaii, Mississippi, Pennsylvania and Virginia."""

from __future__ import annotations

import csv
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.compile.checks import (
    RowError,
    iso_date,
    month_later,
    percent_units,
)
from svc_tools.service.ratebook.compile.draft import slug
from svc_tools.service.ratebook.schema import Area, Source

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from svc_tools.service.ratebook.compile.draft import Draft

__all__ = ["read_local_tables"]

_SOURCE = "local-tables"
_STATES = ("FL", "HI", "MS", "PA", "VA")
_COUNTY_TABLES = {
    "FL": "FL_COUNTY_SURTAX_PCT",
    "HI": "HI_COUNTY_RATE_PCT",
    "MS": "MS_COUNTY_RATE_PCT",
    "PA": "PA_COUNTY_RATE_PCT",
    "VA": "VA_COUNTY_RATE_PCT",
}
_DISTRICT_TABLE = "VA_DISTRICT_RATE_PCT"
_VALIDATED = "2026-07-21"
_GOOD_FOR_MONTHS = 3
_SINCE = re.compile(r"in force since (\d{4}-\d{2}-\d{2})")

_Key = tuple[str, str, str]  # state, table, name


class _Correction(NamedTuple):
    was: int
    units: int
    source: str
    since: str


class _Rate(NamedTuple):
    units: int
    begin: date
    effective: date | None
    note: str


def read_local_tables(table: Path, corrections: Path, members: Path, draft: Draft) -> None:
    """Add the counties, taxed cities and regional districts of the five states.

    Corrections replace the figure they name; one whose old figure is not in the table is
    reported and not applied. The rows are third hand and hold from the quarter they were
    validated in.
    """
    begin = iso_date(_VALIDATED)
    draft.sources[_SOURCE] = Source(
        _SOURCE,
        "Local sales tax tables of 2026 (OpenSalesTax, transcribed from the states' lists)",
        "OpenSalesTax project",
        f"2026, validated {_VALIDATED}",
        "Apache-2.0",
        "third_hand",
        None,
        month_later(begin, _GOOD_FOR_MONTHS),
        month_later(begin, 2 * _GOOD_FOR_MONTHS),
    )
    begin = begin.replace(day=1)
    fixes = _read_corrections(corrections, draft)
    rows = _read_table(table, draft)
    _apply(rows, fixes, corrections.name, draft)
    for key, units in rows.items():
        state, name_of_table, name = key
        if name_of_table == _COUNTY_TABLES[state]:
            fix = fixes.get(key)
            since = iso_date(fix.since) if fix and fix.since else None
            rate = _Rate(units, since or begin, since, f"corrected by {fix.source}" if fix else "")
            _add_county(state, name, rate, table.name, draft)
    for (state, name_of_table, name), units in rows.items():
        if name_of_table == _DISTRICT_TABLE:
            _add_district(state, name, _Rate(units, begin, None, ""), members, draft)
    with table.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["state"] in _STATES and row["table"].endswith("_CITIES"):
                _add_city(row, begin, table.name, draft)


def _read_table(path: Path, draft: Draft) -> dict[_Key, int]:
    rows: dict[_Key, int] = {}
    outside: Counter[str] = Counter()
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            state, key = row["state"], (row["state"], row["table"], row["name"])
            if state not in _STATES:
                outside[state] += 1
            elif row["table"] in {_COUNTY_TABLES[state], _DISTRICT_TABLE}:
                try:
                    units = percent_units(row["rate_pct"])
                except RowError as error:
                    draft.report.add("left_out", path.name, row["name"], str(error))
                    continue
                if rows.setdefault(key, units) != units:
                    draft.report.add("conflict", path.name, row["name"], "stands there twice")
                    del rows[key]
    for state, count in sorted(outside.items()):
        draft.report.add("left_out", path.name, state, f"{count} rows: not in this book")
    return rows


def _read_corrections(path: Path, draft: Draft) -> dict[_Key, _Correction]:
    fixes: dict[_Key, _Correction] = {}
    outside: Counter[str] = Counter()
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["state"] not in _STATES:
                outside[row["state"]] += 1
                continue
            since = _SINCE.search(row["source"])
            fixes[row["state"], row["table"], row["name"]] = _Correction(
                percent_units(row["was_pct"]),
                percent_units(row["should_be_pct"]),
                row["source"],
                since.group(1) if since else "",
            )
    for state, count in sorted(outside.items()):
        draft.report.add("left_out", path.name, state, f"{count} corrections: not in this book")
    return fixes


def _apply(rows: dict[_Key, int], fixes: dict[_Key, _Correction], name: str, draft: Draft) -> None:
    for key, fix in list(fixes.items()):
        subject = f"{key[0]} {key[2]}"
        if rows.get(key) != fix.was:
            draft.report.add(
                "conflict",
                name,
                subject,
                f"corrects {fix.was} units, the table has {rows.get(key)}: not applied",
            )
            del fixes[key]
            continue
        rows[key] = fix.units
        draft.report.add("corrected", name, subject, f"{fix.was} -> {fix.units} units")


def _add_county(state: str, name: str, rate: _Rate, table: str, draft: Draft) -> None:
    fips = draft.county_fips(state, name)
    if fips is None:
        draft.report.add("left_out", table, f"{state} {name}", "the state has no such county")
        return
    title = draft.counties[state, fips].name
    key = draft.add_jurisdiction(state, "county", fips, title)
    draft.add_rate(
        key, rate.units, _SOURCE, begin=rate.begin, effective=rate.effective, note=rate.note
    )
    draft.add_area(Area(key, state, "county", title, (fips,), (key,), (), "", 0))


def _add_district(state: str, name: str, rate: _Rate, members: Path, draft: Draft) -> None:
    """Add a regional district to the areas of its member localities."""
    key = draft.add_jurisdiction(state, "district", slug(name), name)
    draft.add_rate(key, rate.units, _SOURCE, begin=rate.begin)
    with members.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["state"] == state]
    localities = [row["locality"] for row in rows if row["district"] == name]
    if not localities:
        draft.report.add("left_out", members.name, name, "no member is known: applies nowhere")
    for locality in localities:
        fips = draft.county_fips(state, locality)
        if fips is None:
            draft.report.add("left_out", members.name, locality, f"not a locality of {state}")
            continue
        draft.extend_area(f"{state}:county:{fips}", key)


def _add_city(row: dict[str, str], begin: date, name: str, draft: Draft) -> None:
    """Add a city that levies a rate of its own; the others are ZIP lists and need no row."""
    state, city = row["state"], row["name"]
    if not row["rate_pct"]:
        return
    units = percent_units(row["rate_pct"])
    if not units:
        return
    fips = draft.county_fips(state, row["parents"])
    if fips is None:
        draft.report.add("left_out", name, f"{state} {city}", f"no county {row['parents']!r}")
        return
    key = draft.add_jurisdiction(state, "city", slug(city), city)
    draft.add_rate(key, units, _SOURCE, begin=begin)
    parts = (f"{state}:county:{fips}", key)
    draft.add_area(Area(key, state, "city", city, (fips,), parts, (city,), "", 0))
