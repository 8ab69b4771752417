"""Streamlined Sales Tax (SST) rate files: nine columns, one row per jurisdiction and span.

A file names places and special districts by code only. A place's code is that of the Census
(FIPS 55-3). Where a district applies was read in what the states and counties publish; the file's
rate and first day must be those published. A code that no source names is left out and reported.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import groupby, pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.imports.draft import (
    RowError,
    fraction_units,
    percent_text,
    sst_date,
    sst_end,
)
from svc_tools.service.ratebook.schema import Area

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.imports.draft import Draft, Report
    from svc_tools.service.ratebook.schema import PlaceRow


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


class PlacedDistrict(NamedTuple):
    """A special district (type 63) and where it applies.

    Attributes:
        state: two-letter code.
        code: its code in the rate file.
        name: what it is called.
        units: the rate that its place was published with.
        begin: the first day of its code, which the publication names (St. Cloud's is older).
        counties: it applies in these whole counties (names without the word County).
        outside: but not in these places (codes) of them.
        members: it applies in these cities (codes) only, which levy nothing themselves.
        taxing: and in these places (codes) that levy a rate themselves.
    """

    state: str
    code: str
    name: str
    units: int
    begin: date
    counties: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    taxing: tuple[str, ...] = ()


class Unplaced(NamedTuple):
    """A district that no source places exactly, and the counties it is a part of.

    Without counties no published total of the state has it: no warning speaks of it.
    """

    state: str
    code: str
    name: str
    counties: tuple[str, ...] = ()


class RateFile(NamedTuple):
    """What is taken from a state's rate file.

    Attributes:
        by_city: whether cities decide, so that the file's cities become areas.
        complete_from: from this day on the file also lists what has ended since: a jurisdiction
            without a row then had no rate. `None`: it brings its own rows of zero.
        zero_before: kinds of jurisdiction whose first row, if later, began from nothing.
    """

    by_city: bool
    complete_from: date | None = None
    zero_before: tuple[str, ...] = ()


RATE_FILES = {
    # the file has every change since 2011; a city's own row may follow a rate it shared before
    "GA": RateFile(by_city=True, complete_from=date(2011, 1, 1), zero_before=("63",)),
    # the first ended row of the file ended on 2021-09-30: taxes that ended before are not in it
    "MN": RateFile(by_city=True, complete_from=date(2021, 10, 1), zero_before=("00", "01", "63")),
    "WI": RateFile(by_city=False),
}
"""The rate files whose local rates are taken over; of others the state rate is."""
_METRO = ("Anoka", "Carver", "Dakota", "Hennepin", "Ramsey", "Scott", "Washington")
_BALLPARK = ("Milwaukee", "Ozaukee", "Racine", "Washington", "Waukesha")
_COUNTY_DISTRICTS = (
    ("MN", "80003", "Cook County Transit", 500, date(2017, 1, 1), ("Cook",)),
    ("MN", "80004", "Hennepin County Transit", 500, date(2017, 10, 1), ("Hennepin",)),
    ("MN", "80006", "Carlton County sales tax", 500, date(2023, 4, 1), ("Carlton",)),
    ("MN", "80008", "Metro Area Transportation", 750, date(2023, 10, 1), _METRO),
    ("MN", "80009", "Metro Area Housing", 250, date(2023, 10, 1), _METRO),
    ("MN", "80011", "Beltrami County sales tax", 625, date(2024, 7, 1), ("Beltrami",)),
    ("MN", "80012", "Stearns County sales tax", 375, date(2025, 4, 1), ("Stearns",)),
    ("MN", "80013", "Winona County sales tax", 250, date(2025, 4, 1), ("Winona",)),
    ("WI", "55501", "Baseball stadium district", 100, date(1996, 1, 1), _BALLPARK),
    ("WI", "55502", "Football stadium district", 500, date(2000, 11, 1), ("Brown",)),
)  # fmt: skip
DISTRICTS = (
    PlacedDistrict(
        "GA",
        "00060",
        "Fulton County transportation tax (outside Atlanta)",
        750,
        date(2017, 4, 1),
        ("Fulton",),
        outside=("04000", "17776", "25720", "36472"),  # their rates hold it already
    ),
    PlacedDistrict(
        "GA",
        "00044",
        "DeKalb County special purpose tax (outside Atlanta)",
        1_000,
        date(2018, 4, 1),
        ("DeKalb",),
        outside=("05000",),
    ),
    PlacedDistrict(
        "MN",
        "80001",
        "St. Cloud Area",
        500,
        date(2009, 1, 1),
        members=("56724", "56896", "57130", "58612", "58684"),
        taxing=("67612",),
    ),
    *(PlacedDistrict(*row) for row in _COUNTY_DISTRICTS),
)
"""The districts whose place is published, each with the rate and day it was published with.

Fulton: the county's page on its transportation tax (0.75% outside Atlanta, from 2017). DeKalb: the
county's page on its SPLOST (8% in all outside Atlanta from 2018-04-01). Minnesota: the revenue
department's notices (metro area, Hennepin), the counties' pages and ordinances (Cook, Carlton,
Beltrami, Stearns, Winona), the boundary file's sample (Hennepin), and for the St. Cloud area the
department's list of 2017, where it is the one tax that is neither a city's nor a county's.
Wisconsin: the revenue department's page on its two stadium taxes, with counties, rates and days.
"""
UNPLACED = (
    # 0.5% since 2022-10-01; lists of every county's and city's total since then are without it
    Unplaced("GA", "99999", "special district 99999"),
    Unplaced(
        "MN",
        "80005",
        "Garrison, Kathio, West Mille Lacs Lake Sanitary District",
        ("Crow Wing County", "Mille Lacs County"),
    ),
)
"""Districts that apply in a part of the state that no source at hand draws."""
_NO_ROW = "no row of the file for these days: no rate"
_ATLANTA, _IN_DEKALB = "04000", "05000"
"""Georgia's file has a row for Atlanta's part of DeKalb County, whose code the Census lacks."""
_TAXED_IN_EVERY_COUNTY = frozenset({"62446"})
"""Staples; other cities are listed in their main county only."""
_ByKey = dict[tuple[str, str], list[RateFileRow]]
"""The rows of each jurisdiction by kind and code."""


class _Local(NamedTuple):
    """The local rows of a rate file, and the draft that takes them over."""

    state: str
    by_key: _ByKey
    places: dict[str, PlaceRow]
    source: str
    name: str
    draft: Draft


def add_local_rates(
    state: str, rows: Sequence[RateFileRow], source: str, name: str, draft: Draft
) -> None:
    """Add the counties, the named cities and the placed districts of a rate file.

    Args:
        state: two-letter code.
        rows: the file's local rows, settled, in the order of kind, code and begin.
        source: id of the file as a source.
        name: the file's name, for the report.
        draft: knows the state's places; takes rates, areas and findings.
    """
    by_key = {key: list(group) for key, group in groupby(rows, key=lambda row: row[:2])}
    file = _Local(state, by_key, _places_of(state, draft), source, name, draft)
    _add_counties(file)
    _add_cities(file)
    placed = _add_districts(file)
    _report_places(file)
    _report_districts(file, placed)


def _places_of(state: str, draft: Draft) -> dict[str, PlaceRow]:
    """The Census places of a state by their code, named as the states write them: St. Paul."""
    found = {
        row.fips: row._replace(name=re.sub(r"\bSaint\b", "St.", row.name))
        for row in draft.places
        if row.state == state
    }
    if state == "GA" and _ATLANTA in found:
        dekalb = draft.county_fips(state, "DeKalb County") or ""
        found[_IN_DEKALB] = found[_ATLANTA]._replace(fips=_IN_DEKALB, counties=dekalb)
    return found


def _add_counties(file: _Local) -> None:
    state, draft = file.state, file.draft
    for kind, code in file.by_key:
        if kind == COUNTY and (state, code) not in draft.counties:
            draft.report.add("left_out", file.name, code, f"{state} has no such county")
    complete_from = RATE_FILES[state].complete_from
    for (where, fips), county in sorted(draft.counties.items()):
        rows = file.by_key.get((COUNTY, fips), [])
        if where != state or not (rows or complete_from):
            continue
        key = draft.add_jurisdiction(state, "county", fips, county.name)
        _add_rows(file, key, rows)
        if not rows and complete_from:
            draft.add_rate(key, 0, file.source, begin=complete_from, note=_NO_ROW)
        draft.add_area(Area(key, state, "county", county.name, (fips,), (key,)))


def _taxed(rows: Iterable[RateFileRow]) -> bool:
    return any(row.units for row in rows)


def _add_cities(file: _Local) -> None:
    for (kind, code), rows in file.by_key.items():
        if kind == CITY and code in file.places and _taxed(rows):
            title = _title(file, code)
            key = file.draft.add_jurisdiction(file.state, "city", code, title)
            _add_rows(file, key, rows, is_city=True)
            _add_city_areas(file, code, (key,), everywhere=code in _TAXED_IN_EVERY_COUNTY)


def _title(file: _Local, code: str) -> str:
    name = file.places[code].name
    return f"{name} (DeKalb County)" if code == _IN_DEKALB else name


def _add_city_areas(
    file: _Local, code: str, parts: tuple[str, ...], *, everywhere: bool = True
) -> list[str]:
    """An area for a city's main county, or `everywhere` for each of its counties; their ids."""
    state, place, title = file.state, file.places[code], _title(file, code)
    added = []
    counties = place.counties.split()
    for number, fips in enumerate(counties if everywhere else counties[:1]):
        base, key = f"{state}:county:{fips}", f"{state}:city:{code}"
        if base not in file.draft.areas:
            file.draft.report.add("left_out", "places", f"{state} {title}", f"no rate for {base}")
            continue
        key = f"{key}@{fips}" if number else key
        county = file.draft.counties[state, fips].name
        file.draft.add_area(
            Area(
                key,
                state,
                "city",
                f"{title} ({county})" if number else title,
                (fips,),
                (base, *parts),
                (place.name,),
                "",
                1 if number else 0,
                place=_ATLANTA if code == _IN_DEKALB else code,
            )
        )
        added.append(key)
    return added


def _add_rows(
    file: _Local, key: str, rows: Sequence[RateFileRow], *, is_city: bool = False
) -> None:
    """Add a jurisdiction's rows, and rows of zero where the file's silence means that.

    Between two rows and after the last one there was no rate. Before the first one there was
    none only where the file lists what has ended (`RateFile.complete_from`).
    """
    if not rows:
        return
    add, source = file.draft.add_rate, file.source
    rule = RATE_FILES[file.state]
    since = rule.complete_from
    if since and rows[0].begin > since and rows[0].kind in rule.zero_before:
        add(key, 0, source, begin=since, end=rows[0].begin - _DAY, note=_NO_ROW)
    for number, row in enumerate(rows):
        # where the file begins with a city's rate of zero, it dates that by itself, not by law
        own_date = is_city and since is None and not (number or row.units)
        law = None if own_date else row.begin
        add(key, row.units, source, begin=row.begin, end=row.end, effective=law)
    for row, later in zip_longest(rows, rows[1:]):
        after = row.end + _DAY if row.end else None
        if after and (later is None or after < later.begin):
            end = later.begin - _DAY if later else None
            add(key, 0, source, begin=after, end=end, effective=after, note=_NO_ROW)


def _add_districts(file: _Local) -> set[str]:
    """Add the districts whose place is published; their codes."""
    state, draft = file.state, file.draft
    placed = set()
    for district in DISTRICTS:
        rows = file.by_key.get((SPECIAL, district.code), [])
        if district.state != state or not rows:
            continue
        if (rows[0].units, rows[0].begin) != (district.units, district.begin):
            draft.report.add(
                "conflict",
                file.name,
                f"type {SPECIAL} {district.code}",
                f"{percent_text(rows[0].units)} from {rows[0].begin}, but the place published for"
                f" it is that of {percent_text(district.units)} from {district.begin}: left out",
            )
            continue
        key = draft.add_jurisdiction(state, "district", district.code, district.name)
        first = min(row.begin for group in file.by_key.values() for row in group)
        if RATE_FILES[state].complete_from is None and first < district.begin:
            # it was made for this tax: before its published first day there was no tax
            end = district.begin - _DAY
            draft.add_rate(key, 0, file.source, begin=first, end=end, note=_NO_ROW)
        _add_rows(file, key, rows)
        _extend(file, district, key)
        placed.add(district.code)
    return placed


def _extend(file: _Local, district: PlacedDistrict, key: str) -> None:
    """Make a district a part of every area it applies in."""
    state, draft = file.state, file.draft
    for member in district.members:
        if member in file.places:
            for added in _add_city_areas(file, member, ()):
                draft.extend_area(added, key)
    outside = {f"{state}:city:{code}" for code in district.outside}
    inside = {f"{state}:city:{code}" for code in district.taxing}
    counties = {draft.county_fips(state, f"{name} County") for name in district.counties}
    for area in [area for area in draft.areas.values() if area.state == state]:
        whole = area.counties[0] in counties and outside.isdisjoint(area.components)
        if whole or not inside.isdisjoint(area.components):
            draft.extend_area(area.id, key)


def _report_places(file: _Local) -> None:
    """Cities without a rate need no row; unnamed ones with one are missing."""
    report = file.draft.report
    cities = {code: _taxed(rows) for (kind, code), rows in file.by_key.items() if kind == CITY}
    if idle := sum(not taxed for taxed in cities.values()):
        report.add("left_out", file.name, "places", f"{idle:,} without a city rate need no row")
    unnamed = sorted(code for code, taxed in cities.items() if taxed and code not in file.places)
    for code in unnamed:
        report.add("left_out", file.name, f"place {code}", "levies a rate, its name is not known")
    if unnamed and RATE_FILES[file.state].by_city:
        several = "s" if len(unnamed) > 1 else ""
        file.draft.note_missing(
            file.state, f"The rate of the place{several} {', '.join(unnamed)} has no known name."
        )


def _report_districts(file: _Local, placed: set[str]) -> None:
    """The rows that no county, city or placed district takes over."""
    state, draft = file.state, file.draft
    known = {(SPECIAL, district.code): district for district in UNPLACED if district.state == state}
    until: list[date] = []
    for key, rows in file.by_key.items():
        if key[0] in {COUNTY, CITY} or (key[0] == SPECIAL and key[1] in placed):
            continue
        for row in rows:
            days = f"from {row.begin} {f'to {row.end}' if row.end else 'on'}"
            draft.report.add(
                "left_out",
                file.name,
                " ".join(("type", *key)),
                f"{percent_text(row.units)} {days}: the rate file does not say where it applies",
            )
        taxed = [row for row in rows if row.units]
        if taxed and key in known:
            _flag(file, known[key], min(row.begin for row in taxed))
        else:
            until += [row.end or date.max for row in taxed]
    if until:
        draft.note_districts(state, max(until))


def _flag(file: _Local, district: Unplaced, begin: date) -> None:
    """Mark the counties that a district whose limits are not known is a part of."""
    state, draft = file.state, file.draft
    counties = {draft.county_fips(state, name) for name in district.counties}
    for area in [area for area in draft.areas.values() if area.state == state]:
        if area.kind == "county" and area.counties[0] in counties:
            draft.flag_area(area.id, "districts", begin)
    where = f" (a part of {' and '.join(district.counties)})" if district.counties else ""
    draft.note_missing(state, f"Where the {district.name} applies is not known{where}.")


_LEVELS = {STATE: "state", COUNTY: "county", CITY: "city"}


def level_and_code(kind: str, code: str) -> tuple[str, str]:
    """Level and code in the book of a row of an SST rate file.

    Whatever is no state, county or city is a district. Codes are unique within a type only, so
    a district of another type than 63 carries its type: `63 80008` is `80008`, `79 80008` is
    `79-80008`.
    """
    kind, code = kind.strip().zfill(2), code.strip()
    level = _LEVELS.get(kind)
    if level:
        return level, code
    return "district", code if kind == SPECIAL else f"{kind}-{code}"


def jurisdiction_id(state: str, kind: str, code: str) -> str:
    """Id in the book of a row of an SST rate file: `MN`, `MN:county:053`, `MN:district:80008`."""
    level, code = level_and_code(kind, code)
    return state if level == "state" else f"{state}:{level}:{code}"


class Composition(NamedTuple):
    """Whose rates add up where a record holds.

    Attributes:
        indicator: the state's FIPS code; empty where the record does not name the state.
        county: three digits, or empty.
        place: five digits, or empty.
        specials: special districts as `type:code`, in order.
    """

    indicator: str
    county: str
    place: str
    specials: tuple[str, ...]


LOCATION_CODES = "WA"
"""The state whose records name location codes; every book has their rates."""
_NO_STATE = "state indicator"
"""Stands among the unknown codes where a record does not say that the state's rate applies."""
_NO_LOCATION = "location code"
"""Likewise where a record of Washington names none: every place there has one."""
_LOCATION_CODE = re.compile(r"L(\d{4})", re.ASCII)


class Levied(NamedTuple):
    """Whose rates add up, besides the state's.

    Attributes:
        ids: jurisdictions of the book that have rates, on any day.
        area: the official area that holds them all (Washington), else `None`.
        unknown: special districts (`type:code`) that the book has no rate of.
        silent: the county or the place, where the book has no rate of it: it levies nothing.
    """

    ids: tuple[str, ...]
    area: Area | None
    unknown: tuple[str, ...]
    silent: tuple[str, ...] = ()


def levied(book: Book, state: str, composition: Composition) -> Levied:
    """Whose rates the codes of a record mean."""
    if state == LOCATION_CODES:
        for special in composition.specials:
            if found := _LOCATION_CODE.fullmatch(special.partition(":")[2]):
                area = book.areas.get(f"WA:{found[1]}")
                return Levied(area.components if area else (), area, () if area else (special,))
        return Levied((), None, (_NO_LOCATION,))
    named = ((COUNTY, composition.county), (CITY, composition.place))
    places = [jurisdiction_id(state, kind, code) for kind, code in named if code]
    ids = [key for key in places if key in book.rates]
    silent = tuple(key for key in places if key not in book.rates)
    unknown = [] if composition.indicator else [_NO_STATE]
    for special in composition.specials:
        kind, _, code = special.partition(":")
        key = jurisdiction_id(state, kind, code)
        if kind == STATE or (state == "TN" and kind == SPECIAL):
            continue
        if key in book.rates:
            ids.append(key)
        else:
            unknown.append(special)
    # a file may name the county or the place among the districts once more
    return Levied(tuple(dict.fromkeys(ids)), None, tuple(unknown), silent)


def districts_without_rate(book: Book, state: str, composition: Composition) -> tuple[str, ...]:
    """The special districts of a record that the book has no rate of."""
    return levied(book, state, composition).unknown
