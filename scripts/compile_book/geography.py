"""Counties, Census places, and what each ZIP touches."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from itertools import groupby
from typing import TYPE_CHECKING

import zipcodes
from bokeh_sampledata.us_counties import records

from svc_tools.service.ratebook.by_zip import SLIVER
from svc_tools.service.ratebook.gazetteer import TOWNS_TAX
from svc_tools.service.ratebook.names import OUTSIDE, bare_county, name_key, present_county
from svc_tools.service.ratebook.schema import County, PlaceRow, PostalRow, ZipAreas

from .facts import ADDED, RENAMED

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from pathlib import Path

    from svc_tools.service.ratebook.imports.draft import Draft

_ZIP_DIGITS = 5
_FIPS_DIGITS = 3
_FEW_UNITS = 20
"""Fewer housing units than this say nothing of where a ZIP's mail goes."""
_ELSEWHERE = 0.02
"""A ZIP with more of its housing than this in counties that it does not touch was drawn anew."""
_DIVIDED = 0.05
"""From this share of its land on, a place's part in a further county is what its name means too."""

Places = dict[tuple[str, str], list[tuple[str, str, str]]]
"""(state, key of a name) -> the places of that name: code, main county, all counties."""


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


def read_places(path: Path, draft: Draft) -> Places:
    """Add the Census places of the states where a place may decide; the index of their names."""
    found: Places = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            state = row["state"]
            if draft.states[state].local not in {"county", "city"}:
                continue
            main = row["county_fips"][2:]
            every = [fips[2:] for fips in row["all_county_fips"].split()]
            counties = [main, *(fips for fips in every if fips != main)]
            unknown = [fips for fips in counties if (state, fips) not in draft.counties]
            if unknown:
                subject = f"{state} {row['place_name']}"
                draft.report.add("left_out", path.name, subject, f"counties {', '.join(unknown)}")
                continue
            place = PlaceRow(
                state,
                row["place_fips"],
                row["place_name"],
                row["place_type"],
                " ".join(counties),
                row["also_known_as"],
            )
            draft.places.append(place)
            for name in dict.fromkeys((place.name, *filter(None, place.aliases.split("|")))):
                found[state, name_key(name)].append((place.fips, main, place.counties))
    draft.places.sort()
    return found


def read_zips(crosswalk: Path, shares: Path, housing: Path, draft: Draft) -> None:
    """Add the counties, places and housing of every ZIP, and the places that counties divide.

    Territories and unknown codes are left out and listed. A share of a ZIP's land under 1% is
    left out, as the maps of ZIPs and of places do not agree that closely; but not a small town
    that lies in the one ZIP with most of its land.
    """
    counties = _counties_of_zips(crosswalk, draft)
    known = {(place.state, place.fips): place for place in draft.places}
    places: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    parts: list[tuple[str, str, str, int, float]] = []
    in_zips: dict[tuple[str, str], float] = defaultdict(float)
    land: dict[tuple[str, str], float] = defaultdict(float)
    beyond: dict[tuple[str, str, str], float] = defaultdict(float)
    with shares.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            state, place = row["state"], row["place_fips"]
            if (state, place) not in known:
                continue
            share = round(float(row["share_of_zip_land"]) * 1000)
            miles = float(row["land_sqmi_in_zip"])
            in_zips[state, place] += miles
            parts.append((row["zip5"], state, place, share, miles))
            touched = counties.get((row["zip5"], state), ())
            if len(touched) == 1:  # of a ZIP in several, the counties' shares are not known
                land[state, place] += miles
                beyond[state, place, touched[0]] += miles
    for zip5, state, place, share, miles in parts:
        if share >= SLIVER or miles > in_zips[state, place] / 2:
            places[zip5, state].append((-max(share, 1), place))
    for (state, place, county), miles in beyond.items():
        main = known[state, place].counties.split()[0]
        if county != main and miles >= _DIVIDED * land[state, place]:
            draft.divided.add((state, place, county))
    housed = _housing(housing, known, counties, draft)
    states: dict[str, list[str]] = defaultdict(list)
    for zip5, state in sorted(counties):
        states[zip5].append(state)
    for (zip5, state), codes in sorted(counties.items(), key=lambda item: item[0][::-1]):
        listed = " ".join(f"{fips}:{-share}" for share, fips in sorted(places[zip5, state]))
        others = " ".join(other for other in states[zip5] if other != state)
        homes = " ".join(housed.get((zip5, state), ()))
        draft.zips.append(ZipAreas(state, zip5, " ".join(codes), listed, others, homes))


def _housing(
    path: Path,
    places: Collection[tuple[str, str]],
    zips: Mapping[tuple[str, str], Collection[str]],
    draft: Draft,
) -> dict[tuple[str, str], list[str]]:
    """The housing units of the parts of each ZIP and state, most first, as `ZipAreas.housing`.

    A place that is not in the list counts as none: what is left of the county. A ZIP with few
    units, or with many in counties that it does not touch any more, has none: it was drawn anew.
    """
    units: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    elsewhere: Counter[tuple[str, str]] = Counter()
    outside = 0
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            state, zip5, county = row["state"], row["zip"], row["county"]
            count = int(row["housing_units"])
            if state not in draft.states or state in TOWNS_TAX or not count:
                continue
            if (zip5, state) not in zips or (state, county) not in draft.counties:
                outside += 1
                continue
            if county not in zips[zip5, state]:
                elsewhere[zip5, state] += count
                continue
            place = row["place"] if (state, row["place"]) in places else ""
            units[zip5, state][f"{place}{county}"] += count
    drawn_anew = {
        key
        for key in elsewhere.keys() | units.keys()
        if elsewhere[key] > _ELSEWHERE * units[key].total() or units[key].total() < _FEW_UNITS
    }
    draft.report.add(
        "left_out", path.name, "ZIPs", f"{len(drawn_anew)} with few housing units, or drawn anew"
    )
    if outside:
        draft.report.add(
            "left_out", path.name, "ZIPs", f"{outside} rows of a ZIP or county not in the book"
        )
    return {
        key: [f"{code}:{count}" for code, count in sorted(of.items(), key=lambda i: (-i[1], i[0]))]
        for key, of in units.items()
        if key not in drawn_anew
    }


def read_postal(draft: Draft) -> None:
    """Add what the postal table (the package `zipcodes`) has of each ZIP."""
    counties = _county_names(draft.counties.values())
    for row in zipcodes.list_all():
        state = "AE" if _military(row) else row["state"]
        county = counties.get((state, name_key(row["county"] or "")), "")
        names = ("|".join(row[f"{kind}acceptable_cities"]) for kind in ("", "un"))
        place = (row["city"], *names, county, row["lat"] or "0", row["long"] or "0")
        draft.postal.append(PostalRow(state, row["zip_code"], row["zip_code_type"], *place))
    draft.postal.sort()


def _military(row: Mapping[str, str]) -> bool:
    """Whether a ZIP is military or diplomatic mail; the table counts some of it to New Jersey."""
    return row["city"].upper() in {"APO", "DPO", "FPO"} and row["state"] not in OUTSIDE


def _county_names(counties: Iterable[County]) -> dict[tuple[str, str], str]:
    """(state, key of a county's name) -> FIPS code, with the bare names that are unambiguous."""
    full: dict[tuple[str, str], str] = {}
    bare: dict[tuple[str, str], set[str]] = {}
    for county in counties:
        full[county.state, name_key(county.name)] = county.fips
        bare.setdefault((county.state, bare_county(county.name)), set()).add(county.fips)
    for key, codes in bare.items():
        if len(codes) == 1:
            full.setdefault(key, *codes)
    return full


def _counties_of_zips(path: Path, draft: Draft) -> dict[tuple[str, str], tuple[str, ...]]:
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
    return {
        (zip5, state): tuple(fips for *_, fips in group)
        for (zip5, state), group in groupby(sorted(rows), key=lambda row: row[:2])
    }
