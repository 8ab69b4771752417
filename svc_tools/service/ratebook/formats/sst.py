"""Streamlined Sales Tax (SST) rate files: nine columns, one row per jurisdiction and span."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import groupby, pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.formats.draft import (
    RowError,
    fraction_units,
    percent_text,
    sst_date,
    sst_end,
)
from svc_tools.service.ratebook.formats.places import (
    DISTRICTS,
    RATE_FILES,
    UNPLACED,
    places_of,
)
from svc_tools.service.ratebook.schema import Area

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from svc_tools.service.ratebook.formats.draft import Draft, Report
    from svc_tools.service.ratebook.formats.places import Member, Place, PlacedDistrict, Unplaced

STATE, COUNTY, CITY, SPECIAL = "45", "00", "01", "63"
"""The types of jurisdiction that every SST rate file uses; the others (02, 49, 69, 79) vary."""

_COLUMNS = 9
_DAY = timedelta(days=1)


class RateFileRow(NamedTuple):
    """One rate of one jurisdiction over one span of days, both ends inclusive.

    Attributes:
        kind: two digits: `45` state, `00` county, `01` city, `63` special district; others vary.
        code: state 2, county 3, place 5 digits; a special district's is alphanumeric.
        units: the general rate in units of 10^-5.
        begin: the day it took effect.
        end: its last day; `None`: open.
    """

    kind: str
    code: str
    units: int
    begin: date
    end: date | None


def rate_file_rows(
    lines: Iterable[tuple[int, Sequence[str]]], name: str, fips: str, report: Report
) -> list[RateFileRow]:
    """The rows of an SST rate file, checked and settled: one for each jurisdiction and day.

    A row that does not hold what it should is left out and reported with its line; where two
    overlap, the one that begins later wins and the report says so. Blank food columns are fine.

    Args:
        lines: number and fields of the file's lines: nine columns, no header.
        name: the file's name, for the report.
        fips: two-digit FIPS code of the state the file must be of.
        report: takes the findings.

    Returns:
        The rows in the order of kind, code and begin.
    """
    return _settle(_checked(lines, name, fips, report), name, report)


def _checked(
    lines: Iterable[tuple[int, Sequence[str]]], name: str, fips: str, report: Report
) -> list[RateFileRow]:
    rows = []
    for number, raw in lines:
        if not any(field.strip() for field in raw):
            continue  # a blank line at the end
        try:
            rows.append(_parse([field.strip() for field in raw], fips))
        except RowError as error:
            report.add("left_out", name, f"line {number}", str(error))
    return rows


def _parse(raw: list[str], fips: str) -> RateFileRow:
    if len(raw) != _COLUMNS:
        raise RowError(f"{len(raw)} columns, expected {_COLUMNS}")
    if raw[0].zfill(2) != fips:
        raise RowError(f"state {raw[0]!r} in a file of {fips}")
    intrastate, interstate = fraction_units(raw[3]), fraction_units(raw[4])
    if intrastate != interstate:
        raise RowError(f"{raw[2]}: intrastate {raw[3]} and interstate {raw[4]} differ")
    begin, end = sst_date(raw[7]), sst_end(raw[8])
    if end and end < begin:
        raise RowError(f"{raw[2]}: ends on {end}, before it begins on {begin}")
    return RateFileRow(raw[1].zfill(2), raw[2], intrastate, begin, end)


def _settle(rows: list[RateFileRow], name: str, report: Report) -> list[RateFileRow]:
    """One row per key and day: where two overlap, the one that begins later wins."""
    settled: list[RateFileRow] = []
    ordered = sorted(rows, key=lambda row: (row.kind, row.code, row.begin))
    for (kind, code), group in groupby(ordered, key=lambda row: row[:2]):
        same = list(group)
        for earlier, later in pairwise(same):
            if earlier.end is None or earlier.end >= later.begin:
                report.add(
                    "settled",
                    name,
                    f"{kind} {code}",
                    f"rows from {earlier.begin} and {later.begin} overlap: the later begin wins",
                )
        settled += _in_force(same)
    return settled


def _in_force(rows: list[RateFileRow]) -> list[RateFileRow]:
    """The spans over which each row of one jurisdiction is the one that began last."""
    changes = sorted({row.begin for row in rows} | {row.end + _DAY for row in rows if row.end})
    spans: list[RateFileRow] = []
    previous = None
    for begin, after in zip_longest(changes, changes[1:]):
        here = [row for row in rows if row.begin <= begin and (not row.end or begin <= row.end)]
        row = here[-1] if here else None  # the last to begin; of two that began together the later
        end = after - _DAY if after else None
        if row is not None and row is previous:
            spans[-1] = spans[-1]._replace(end=end)
        elif row is not None:
            spans.append(row._replace(begin=begin, end=end))
        previous = row
    return spans


_CENSUS_CODES = {"05000": "04000"}
"""Codes of a file that the Census does not have: Georgia's for Atlanta's part of DeKalb County."""
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
    _add_cities(state, by_key, source, draft)
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
        if kind == COUNTY and (state, code) not in draft.counties:
            draft.report.add("left_out", name, code, f"{state} has no such county")
    complete_from = RATE_FILES[state].complete_from
    for (where, fips), county in sorted(draft.counties.items()):
        rows = by_key.get((COUNTY, fips), [])
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
    draft: Draft,
) -> None:
    for code, place in sorted(places_of(state).items()):
        rows = by_key.get((CITY, code))
        if rows:
            key = draft.add_jurisdiction(state, "city", code, place.label or place.name)
            _add_rows(state, key, rows, source, draft, is_city=True)
            _add_city_areas(state, place, (key,), draft)


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
                place=_CENSUS_CODES.get(place.code, place.code),
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
        rows = by_key.get((SPECIAL, district.code), [])
        if district.state != state or not rows:
            continue
        if (rows[0].units, rows[0].begin) != (district.units, district.begin):
            draft.report.add(
                "conflict",
                name,
                f"type {SPECIAL} {district.code}",
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
        code: rows for (kind, code), rows in by_key.items() if kind == CITY and code not in named
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
        if key[0] not in {COUNTY, CITY} and not (key[0] == SPECIAL and key[1] in placed)
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
        if kind == SPECIAL and code in known:
            begin = min(row.begin for row in rows if row.units)
            _flag(state, known[code], begin, draft)
    until = [
        row.end or date.max
        for (kind, code), rows in taxed
        if not (kind == SPECIAL and code in known)
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
