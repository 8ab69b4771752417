"""The local rates of an SST rate file and the pieces of map they add up in."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.city_doubts import CITY_DOUBTS
from svc_tools.service.ratebook.formats.checks import percent_text
from svc_tools.service.ratebook.formats.places import (
    DISTRICTS,
    RATE_FILES,
    UNPLACED,
    UNTAXED,
    places_of,
)
from svc_tools.service.ratebook.schema import Area

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from svc_tools.service.ratebook.city_doubts import CityDoubt
    from svc_tools.service.ratebook.formats.draft import Draft
    from svc_tools.service.ratebook.formats.places import Member, Place, PlacedDistrict, Unplaced
    from svc_tools.service.ratebook.formats.sst import RateFileRow

__all__ = ["add_local_rates"]

_COUNTY, _CITY, _SPECIAL = "00", "01", "63"
_DAY = timedelta(days=1)
_NO_ROW = "no row of the file for these days: no rate"


def add_local_rates(
    state: str, rows: Sequence[RateFileRow], source: str, name: str, draft: Draft
) -> None:
    """Add the counties, the named cities and the placed districts of a rate file.

    Args:
        state: two-letter code.
        rows: the file's local rows, settled, in the order of kind, code and begin.
        source: id of the file as a source.
        name: the file's name, for the report.
        draft: takes rates, areas and findings.
    """
    by_key = {key: list(group) for key, group in groupby(rows, key=lambda row: row[:2])}
    _add_counties(state, by_key, source, name, draft)
    _add_cities(state, by_key, source, name, draft)
    placed = _add_districts(state, by_key, source, name, draft)
    _report_places(state, by_key, name, draft)
    _report_districts(state, by_key, placed, name, draft)


def _add_counties(
    state: str,
    by_key: dict[tuple[str, str], list[RateFileRow]],
    source: str,
    name: str,
    draft: Draft,
) -> None:
    for kind, code in by_key:
        if kind == _COUNTY and (state, code) not in draft.counties:
            draft.report.add("left_out", name, code, f"{state} has no such county")
    complete_from = RATE_FILES[state].complete_from
    for (where, fips), county in sorted(draft.counties.items()):
        rows = by_key.get((_COUNTY, fips), [])
        if where != state or not (rows or complete_from):
            continue
        key = draft.add_jurisdiction(state, "county", fips, county.name)
        _add_rows(state, key, rows, source, draft)
        if not rows and complete_from:
            draft.add_rate(key, 0, source, begin=complete_from, note=_NO_ROW)
        draft.add_area(Area(key, state, "county", county.name, (fips,), (key,), (), "", 0))


def _add_cities(
    state: str,
    by_key: dict[tuple[str, str], list[RateFileRow]],
    source: str,
    name: str,
    draft: Draft,
) -> None:
    untaxed = UNTAXED.get(state, ())
    for code, place in sorted(places_of(state).items()):
        rows = by_key.get((_CITY, code))
        if rows:
            key = draft.add_jurisdiction(state, "city", code, place.label or place.name)
            _add_rows(state, key, rows, source, draft, is_city=True)
            if key in CITY_DOUBTS:
                _doubt_city(key, CITY_DOUBTS[key], place.name, name, draft)
            _add_city_areas(state, place, (key,), draft)
        elif place in untaxed:
            _add_city_areas(state, place, (), draft)


def _doubt_city(key: str, doubt: CityDoubt, city: str, name: str, draft: Draft) -> None:
    """Mark the rates of a city that may or may not hold a district's rate already."""
    for number, row in enumerate(draft.rates):
        if row.jurisdiction != key or not row.units:
            continue
        other = row.units + doubt.units
        note = (
            f"That the file's {percent_text(row.units)} for the city holds {doubt.district} of"
            f" {percent_text(doubt.units)} already is an inference. If it does, as answered, the"
            f" city adds {percent_text(row.units)} to the state's and the county's rate; if it"
            f" does not, {percent_text(other)}."
        )
        draft.rates[number] = replace(row, conflict_cap="low", conflict_units=other, note=note)
        draft.report.add("conflict", name, city, note)


def _add_city_areas(
    state: str, place: Place | Member, parts: tuple[str, ...], draft: Draft
) -> list[str]:
    """One area for each county a city lies in, the main one first; their ids."""
    added = []
    label = getattr(place, "label", "") or place.name
    for number, county in enumerate(place.counties):
        fips = draft.county_fips(state, county)
        base = f"{state}:county:{fips}"
        if fips is None or base not in draft.areas:
            draft.report.add("left_out", "places", f"{state} {place.name}", f"no rate for {county}")
            continue
        key = f"{state}:city:{place.code}"
        draft.add_area(
            Area(
                f"{key}@{fips}" if number else key,
                state,
                "city",
                f"{label} ({county})" if number else label,
                (fips,),
                (base, *parts),
                (place.name,),
                "",
                1 if number else 0,
            )
        )
        added.append(f"{key}@{fips}" if number else key)
    return added


def _add_rows(
    state: str,
    key: str,
    rows: Sequence[RateFileRow],
    source: str,
    draft: Draft,
    *,
    is_city: bool = False,
) -> None:
    """Add a jurisdiction's rows, and rows of zero where the file's silence means that.

    Between two rows and after the last one there was no rate. Before the first one there was
    none only where the file lists what has ended (`RateFile.complete_from`).
    """
    if not rows:
        return
    rule = RATE_FILES[state]
    since = rule.complete_from
    if since and rows[0].begin > since and rows[0].kind in rule.zero_before:
        draft.add_rate(key, 0, source, begin=since, end=rows[0].begin - _DAY, note=_NO_ROW)
    for number, row in enumerate(rows):
        # where the file begins with a city's rate of zero, it dates that by itself, not by law
        own_date = is_city and since is None and not (number or row.units)
        draft.add_rate(
            key,
            row.units,
            source,
            begin=row.begin,
            end=row.end,
            effective=None if own_date else row.begin,
        )
    ended = [
        (row.end + _DAY, later.begin - _DAY)
        for row, later in pairwise(rows)
        if row.end and row.end + _DAY < later.begin
    ]
    last = rows[-1].end
    for begin, end in [*ended, *([(last + _DAY, None)] if last else [])]:
        draft.add_rate(key, 0, source, begin=begin, end=end, effective=begin, note=_NO_ROW)


def _add_districts(
    state: str,
    by_key: dict[tuple[str, str], list[RateFileRow]],
    source: str,
    name: str,
    draft: Draft,
) -> set[str]:
    """Add the districts whose place is published; their codes."""
    placed = set()
    for district in DISTRICTS:
        rows = by_key.get((_SPECIAL, district.code), [])
        if district.state != state or not rows:
            continue
        if (rows[0].units, rows[0].begin) != (district.units, district.begin):
            draft.report.add(
                "conflict",
                name,
                f"type {_SPECIAL} {district.code}",
                f"{percent_text(rows[0].units)} from {rows[0].begin}, but the place published for"
                f" it is that of {percent_text(district.units)} from {district.begin}: left out",
            )
            continue
        key = draft.add_jurisdiction(state, "district", district.code, district.name)
        first = min(row.begin for group in by_key.values() for row in group)
        if RATE_FILES[state].complete_from is None and first < district.begin:
            # it was made for this tax: before its published first day there was none
            end = district.begin - _DAY
            draft.add_rate(key, 0, source, begin=first, end=end, note=_NO_ROW)
        _add_rows(state, key, rows, source, draft)
        _extend(state, district, key, draft)
        placed.add(district.code)
    return placed


def _extend(state: str, district: PlacedDistrict, key: str, draft: Draft) -> None:
    """Make a district a part of every area it applies in."""
    for member in district.members:
        for added in _add_city_areas(state, member, (), draft):
            draft.extend_area(added, key)
    outside = {f"{state}:city:{code}" for code in district.outside}
    inside = {f"{state}:city:{code}" for code in district.taxing}
    counties = _fips(state, district.counties, draft)
    for area in [area for area in draft.areas.values() if area.state == state]:
        whole = area.counties[0] in counties and outside.isdisjoint(area.components)
        if whole or not inside.isdisjoint(area.components):
            draft.extend_area(area.id, key)


def _fips(state: str, counties: Iterable[str], draft: Draft) -> set[str]:
    return {fips for name in counties if (fips := draft.county_fips(state, name))}


def _report_places(
    state: str, by_key: dict[tuple[str, str], list[RateFileRow]], name: str, draft: Draft
) -> None:
    """Cities without a rate need no row; unnamed ones with one are missed."""
    named = places_of(state)
    unnamed = {
        code: rows for (kind, code), rows in by_key.items() if kind == _CITY and code not in named
    }
    taxed = sorted(code for code, rows in unnamed.items() if any(row.units for row in rows))
    if len(unnamed) > len(taxed):
        told = f"{len(unnamed) - len(taxed):,} without a city rate need no row"
        draft.report.add("left_out", name, "places", told)
    for code in taxed:
        draft.report.add("left_out", name, f"place {code}", "levies a rate, its name is not known")
    if taxed and RATE_FILES[state].by_city:
        several = "s" if len(taxed) > 1 else ""
        draft.note_missing(
            state, f"The rate of the place{several} {', '.join(taxed)} has no known name."
        )


def _report_districts(
    state: str,
    by_key: dict[tuple[str, str], list[RateFileRow]],
    placed: set[str],
    name: str,
    draft: Draft,
) -> None:
    others = [
        (key, rows)
        for key, rows in by_key.items()
        if key[0] not in {_COUNTY, _CITY} and not (key[0] == _SPECIAL and key[1] in placed)
    ]
    for (kind, code), rows in others:
        for row in rows:
            days = f"from {row.begin} {f'to {row.end}' if row.end else 'on'}"
            draft.report.add(
                "left_out",
                name,
                f"type {kind} {code}",
                f"{percent_text(row.units)} {days}: the rate file does not say where it applies",
            )
    known = {one.code: one for one in UNPLACED if one.state == state}
    taxed = [(key, rows) for key, rows in others if any(row.units for row in rows)]
    for (kind, code), rows in taxed:
        if kind == _SPECIAL and code in known:
            begin = min(row.begin for row in rows if row.units)
            _flag(state, known[code], begin, draft)
    until = [
        row.end or date.max
        for (kind, code), rows in taxed
        if not (kind == _SPECIAL and code in known)
        for row in rows
        if row.units
    ]
    if until:
        draft.note_districts(state, max(until))


def _flag(state: str, district: Unplaced, begin: date, draft: Draft) -> None:
    """Mark the counties that a district whose limits are not known is a part of."""
    counties = _fips(state, district.counties, draft)
    for area in [area for area in draft.areas.values() if area.state == state]:
        if area.kind == "county" and area.counties[0] in counties:
            draft.flag_area(area.id, "districts", begin)
    where = f" (a part of {' and '.join(district.counties)})" if district.counties else ""
    draft.note_missing(state, f"Where the {district.name} applies is not known{where}.")
