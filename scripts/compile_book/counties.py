"""Counties, the ZIP crosswalk, and the county rates of North Carolina, Ohio and Nevada."""

from __future__ import annotations

import csv
import re
from datetime import date, timedelta
from itertools import groupby
from typing import TYPE_CHECKING

from bokeh_sampledata.us_counties import records

from svc_tools.service.ratebook.formats.draft import (
    RowError,
    iso_date,
    percent_text,
    quarter_end,
    slug,
)
from svc_tools.service.ratebook.names import present_county
from svc_tools.service.ratebook.schema import Area, County, Source, ZipCounties

from .facts import ADDED, RENAMED
from .files import month_later, percent_units

if TYPE_CHECKING:
    from pathlib import Path

    from svc_tools.service.ratebook.formats.draft import Draft

_ZIP_DIGITS = 5
_FIPS_DIGITS = 3


def read_counties(draft: Draft) -> None:
    """Add every county of the states in the draft, under its present code and name."""
    for record in records():
        state = record["state"]
        if state not in draft.states:
            continue
        fips = present_county(record["fips"])
        name = RENAMED.get(fips, record["detailed_name"].rpartition(",")[0])
        if fips == record["fips"] or fips in RENAMED:  # not one merged into a neighbour
            draft.counties[state, fips[2:]] = County(state, fips[2:], name)
    states = {row.fips: state for state, row in draft.states.items()}
    for fips, name in ADDED.items():
        state = states[fips[:2]]
        draft.counties[state, fips[2:]] = County(state, fips[2:], name)


def read_crosswalk(path: Path, draft: Draft) -> None:
    """Add the counties every ZIP touches; territories and unknown codes are left out and listed."""
    rows: set[tuple[str, str, str]] = set()
    outside: dict[str, int] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            zip5, state, fips = row["zip5"], row["state"], row["county_fips3"]
            if state not in draft.states:
                outside[state] = outside.get(state, 0) + 1
                continue
            if not (len(zip5) == _ZIP_DIGITS and zip5.isdigit()):
                draft.report.add("left_out", path.name, zip5, "is not a five-digit ZIP")
            elif not (len(fips) == _FIPS_DIGITS and fips.isdigit()):
                draft.report.add("left_out", path.name, zip5, f"{fips!r} is not a county code")
            elif (state, fips) not in draft.counties:
                draft.report.add(
                    "left_out", path.name, zip5, f"{state} has no county {fips} by the county list"
                )
            elif (zip5, state, fips) in rows:
                draft.report.add("settled", path.name, zip5, f"{state} {fips} stands there twice")
            else:
                rows.add((zip5, state, fips))
    for state, count in sorted(outside.items()):
        draft.report.add("left_out", path.name, state, f"{count} rows: not a state of the book")
    for (zip5, state), group in groupby(sorted(rows), key=lambda row: row[:2]):
        draft.zip_counties.append(ZipCounties(zip5, state, " ".join(fips for *_, fips in group)))


_NC_TABLE = date(2024, 7, 1)
_NC_READ = date(2026, 10, 1)  # the month its totals were read again
_SST = {"OH": (2026, 1, "OHR2026Q1NOV28"), "NV": (2025, 4, "NVR2025Q4NOV05")}
_WAS = re.compile(r"was (\d+(?:\.\d+)?) in NCDOR table of (\d{4}-\d{2}-\d{2})")
_OVERLAY = re.compile(r"(?P<county>.+? County) - (?P<district>\w+) area \((?P<cities>.+)\)")
_OPEN = re.compile(r"[+]")


def read_county_rates(path: Path, draft: Draft) -> None:
    """Add the three states: state part, county part and Ohio's transit overlays.

    The dates of the table are those of the tables it was copied from, not starts of effect, so
    they say from when a rate is known and are not published as `effective_date`; only
    Mecklenburg County's change has a date of law.
    """
    _add_sources(draft)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    totals = {
        row["state"]: percent_units(row["combined_rate_pct"])
        for row in rows
        if row["level"] == "state"
    }
    for state, units in totals.items():
        dates = [
            iso_date(row["effective_from"])
            for row in rows
            if row["state"] == state and row["level"] == "county" and row["effective_from"]
        ]
        draft.add_rate(state, units, _source(state), begin=min([*dates, _edition_begin(state)]))
    for level, add in (("county", _add_county), ("city", _add_overlay)):
        for row in rows:
            if row["level"] != level:
                continue
            try:
                add(row, _local(row, totals[row["state"]]), draft)
            except RowError as error:
                draft.report.add("left_out", path.name, row["name"], str(error))


def _local(row: dict[str, str], state_units: int) -> int:
    """The local part of a row, checked against its combined rate."""
    local = percent_units(row["local_rate_pct"])
    if local + state_units != percent_units(row["combined_rate_pct"]):
        raise RowError("local and state part are not the combined rate")
    return local


def _source(state: str) -> str:
    return f"{state.lower()}-counties"


def _edition_begin(state: str) -> date:
    if state == "NC":
        return _NC_TABLE
    year, quarter, _ = _SST[state]
    return date(year, quarter * 3 - 2, 1)


def _add_sources(draft: Draft) -> None:
    licence = "official figures, published for use by sellers"
    draft.sources["nc-counties"] = Source(
        "nc-counties",
        "North Carolina sales and use tax rates by county",
        "North Carolina Department of Revenue",
        f"{_NC_TABLE}, totals read again {_NC_READ:%Y-%m}",
        licence,
        "official",
        None,
        month_later(_NC_READ, 3),
        month_later(_NC_READ, 6),
    )
    for state, (year, quarter, name) in _SST.items():
        draft.sources[_source(state)] = Source(
            _source(state),
            f"{draft.states[state].name} county rates (copy of the SST rate file {name})",
            f"{draft.states[state].name} Department of Taxation",
            f"{year}Q{quarter}",
            licence,
            "official_copy",
            None,
            quarter_end(year, quarter),
            quarter_end(year, quarter, later=2),
        )


def _add_county(row: dict[str, str], local: int, draft: Draft) -> None:
    state, fips = row["state"], row["code"][2:]
    county = draft.counties.get((state, fips))
    if county is None or draft.county_fips(state, row["name"]) != fips:
        raise RowError(f"{row['code']} is not {row['name']} by the county list")
    key = draft.add_jurisdiction(state, "county", fips, county.name)
    begin = iso_date(row["effective_from"]) if row["effective_from"] else _edition_begin(state)
    effective = None
    earlier = _WAS.search(row["source"])
    if earlier:  # a dated change of an official table: keep the rate before it, and the date
        before = percent_units(earlier[1]) - (percent_units(row["combined_rate_pct"]) - local)
        draft.add_rate(
            key,
            before,
            _source(state),
            begin=iso_date(earlier[2]),
            end=begin - timedelta(days=1),
        )
        effective = begin
    draft.add_rate(key, local, _source(state), begin=begin, effective=effective, trust=row["trust"])
    draft.add_area(Area(key, state, "county", county.name, (fips,), (key,), (), "", 0))


def _add_overlay(row: dict[str, str], local: int, draft: Draft) -> None:
    """A district on a part of a county, told by its cities: what it adds to the county rate."""
    match = _OVERLAY.fullmatch(row["name"])
    if not match:
        raise RowError("expected a name such as 'Wood County - TARTA area (Rossford)'")
    state, fips = row["state"], _OPEN.split(row["code"])[0][2:]
    county = f"{state}:county:{fips}"
    if county not in draft.areas or draft.county_fips(state, match["county"]) != fips:
        raise RowError(f"{match['county']} has no rate")
    base = [rate.units for rate in draft.rates if rate.jurisdiction == county][-1]
    if local < base:
        raise RowError(
            f"{percent_text(local)} local, but {percent_text(base)} for the county alone"
        )
    code = slug(f"{match['district']} {fips}")
    name = f"{match['district']} transit area in {match['county']}"
    key = draft.add_jurisdiction(state, "district", code, name)
    draft.add_rate(
        key,
        local - base,
        _source(state),
        begin=iso_date(row["effective_from"]),
        trust=row["trust"],
    )
    cities = tuple(city.strip() for city in match["cities"].split(","))
    draft.add_area(Area(key, state, "overlay", name, (fips,), (county, key), cities, "", 1))
