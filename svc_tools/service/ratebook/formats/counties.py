"""Names and FIPS codes of counties (from the boundary package) and the ZIP to county crosswalk."""

from __future__ import annotations

import csv
from itertools import groupby
from typing import TYPE_CHECKING

from bokeh_sampledata.us_counties import records

from svc_tools.service.ratebook.fips import present_county
from svc_tools.service.ratebook.formats.facts import ADDED, RENAMED
from svc_tools.service.ratebook.schema import County, ZipCounties

if TYPE_CHECKING:
    from pathlib import Path

    from svc_tools.service.ratebook.formats.draft import Draft

__all__ = ["read_counties", "read_crosswalk"]

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
