"""The transcribed local tables: their rows, the corrections to them, what adds up with what."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.book import ZipIndex
from svc_tools.service.ratebook.formats.draft import RowError, iso_date, percent_text, slug
from svc_tools.service.ratebook.schema import Area, Source

from .files import month_later, percent_units

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from svc_tools.service.ratebook.formats.draft import Draft, FindingKind, Report

_SOURCE = "local-tables"
_GOOD_FOR_MONTHS = 3


class _Composition(NamedTuple):
    """Which tables of a state add up.

    Attributes:
        counties: table of the counties' rates; none where only cities have some.
        cities: table of the cities' rates.
        districts: table of the districts' rates.
        city_holds_county: a city's figure holds the share of its county already.
        county_by_zip: the table of cities names no county: that of their ZIPs is taken.
    """

    counties: str = ""
    cities: str = ""
    districts: str = ""
    city_holds_county: bool = False
    county_by_zip: bool = False


_STATES = {
    "AK": _Composition("AK_BOROUGHS", "AK_CITIES"),
    "AZ": _Composition("AZ_COUNTY_RATE_PCT", "AZ_CITIES"),
    "FL": _Composition("FL_COUNTY_SURTAX_PCT", "FL_CITIES"),
    "HI": _Composition("HI_COUNTY_RATE_PCT"),
    "ID": _Composition(cities="ID_RESORT_CITIES", county_by_zip=True),
    "IL": _Composition("IL_COUNTY_RATE_PCT", "IL_CITIES", "IL_RTA_DISTRICTS"),
    "MO": _Composition("MO_COUNTY_RATE_PCT", "MO_CITIES"),
    "MS": _Composition("MS_COUNTY_RATE_PCT", "MS_CITIES"),
    "NM": _Composition(cities="NM_LOCATION_RATES"),
    "NY": _Composition("NY_COUNTY_RATE_PCT", "NY_CITIES", "NY_MCTD_RATE"),
    "PA": _Composition("PA_COUNTY_RATE_PCT", "PA_CITIES"),
    "SC": _Composition("SC_COUNTY_RATE_PCT", "SC_CITIES"),
    "TX": _Composition(
        "TX_COUNTY_RATE_PCT", "TX_CITIES", "TX_TRANSIT_DISTRICTS", city_holds_county=True
    ),
    "VA": _Composition("VA_COUNTY_RATE_PCT", "VA_CITIES", "VA_DISTRICT_RATE_PCT"),
}

_NOT_USED = {
    "AL": "its cities' rates hold inside city limits only, and its counties' are weak",
    "CA": "known to be bad",
}
"""States of the table whose rows are not taken, and why."""

_DISTRICT_NAMES = {("NY", ""): "MCTD 0.375"}
"""Names of districts that the table leaves out, as the list of members has them."""

_TITLES = {"MCTD 0.375": "Metropolitan Commuter Transportation District"}
_COUNTY_CITIES = {
    ("NY", "New York City"): (
        ("New York", "New York City"),
        ("New York County", "Bronx County", "Kings County", "Queens County", "Richmond County"),
    )
}
"""Cities that are whole counties: their names, and those counties, the main one first.

The first name is that of the main county too; the others mean all of them.
"""

_EVERY_COUNTY = frozenset({"ID"})
"""States without county rates: outside the cities of the table the state's rate is the whole."""

_UNIFORM_CA = 7_250


def read_local_tables(table: Path, corrections: Path, members: Path, draft: Draft) -> None:
    """Add the counties, cities and districts of the tables, third hand.

    Corrections replace the figures they name. Where a jurisdiction has an official rate already,
    that one stays and a difference is reported. The rows hold from the month they were validated
    in.
    """
    draft.sources[_SOURCE] = Source(
        _SOURCE,
        "Local sales tax tables of 2026 (OpenSalesTax, transcribed from the states' lists)",
        "OpenSalesTax project",
        f"2026, validated {VALIDATED}",
        "Apache-2.0",
        "third_hand",
        None,
        month_later(VALIDATED, _GOOD_FOR_MONTHS),
        month_later(VALIDATED, 2 * _GOOD_FOR_MONTHS),
    )
    tables = read_tables(table, corrections, members, draft.report)
    official = frozenset(row.jurisdiction for row in draft.rates)
    for state, rule in _STATES.items():
        _StateReader(state, rule, tables, official, draft).read()
    for state, names in tables.unreadable.items():
        if state in _STATES:
            draft.note_missing(
                state,
                f"Left out, because their rates do not fit five decimals: {', '.join(names)}.",
            )
    _compare_states(tables, draft)
    _report_not_used(tables, draft)


class _StateReader:
    """Adds one state's rows to the draft."""

    def __init__(
        self,
        state: str,
        rule: _Composition,
        tables: Tables,
        official: frozenset[str],
        draft: Draft,
    ) -> None:
        self.state = state
        self.rule = rule
        self.tables = tables
        self.official = official
        self.draft = draft
        self.own_county_rate: set[str] = set()
        self.zips = ZipIndex((), ())
        if rule.county_by_zip or state == "AK":
            self.zips = ZipIndex(draft.counties.values(), draft.zip_counties)

    def read(self) -> None:
        """Counties first, then cities, then the districts over both."""
        for row in self.tables.of(self.state, self.rule.counties):
            self._add_county(row)
        if self.state in _EVERY_COUNTY and self.tables.of(self.state, self.rule.cities):
            for (state, fips), county in sorted(self.draft.counties.items()):
                if state == self.state:
                    key = f"{state}:county:{fips}"
                    self._add_area(Area(key, state, "county", county.name, (fips,), (), (), "", 0))
        districts = {self._district_name(row): row for row in self._district_rows()}
        for name, row in districts.items():
            title = _TITLES.get(name, name)
            key = self._jurisdiction("district", title, title)
            self._add_rates(key, row.spans)
        for row in self.tables.of(self.state, self.rule.cities):
            self._add_city(row, districts)
        for name in districts:
            self._add_members(name)

    def _district_rows(self) -> list[TableRow]:
        return self.tables.of(self.state, self.rule.districts)

    def _district_name(self, row: TableRow) -> str:
        name = _DISTRICT_NAMES.get((self.state, row.name), row.name)
        return _bare(name) if self.state == "TX" else name

    def _jurisdiction(self, level: str, name: str, title: str, code: str = "") -> str:
        code = code or slug(name)
        return self.draft.add_jurisdiction(self.state, level, code, title)

    def _add_rates(self, key: str, spans: Sequence[Span]) -> None:
        if key in self.official:
            self._compare(key, spans)
            return
        for span in spans:
            self.draft.add_rate(
                key,
                span.units,
                _SOURCE,
                begin=span.begin,
                end=span.end,
                effective=span.effective,
                note=span.note,
            )

    def _compare(self, key: str, spans: Sequence[Span]) -> None:
        """The official rate stays; say where the table has another one on its own days."""
        for span in spans:
            official = _on(self.draft, key, span.begin)
            if official is not None and official != span.units:
                self._report(
                    "conflict",
                    self.draft.jurisdictions[key].name,
                    f"{percent_text(span.units)} by the table from {span.begin} on,"
                    f" {percent_text(official)} by the official list, which answers",
                )

    def _add_area(self, area: Area) -> None:
        if area.id not in self.draft.areas:  # an official list may have brought it
            self.draft.add_area(area)

    def _add_county(self, row: TableRow) -> None:
        fips = self.draft.county_fips(self.state, row.name)
        if fips is None:
            self._report("left_out", row.name, "the state has no such county")
            return
        title = self.draft.counties[self.state, fips].name
        key = self._jurisdiction("county", row.name, title, fips)
        self._add_rates(key, row.spans)
        if row.units and not row.corrected:
            self.own_county_rate.add(key)
        self._add_area(Area(key, self.state, "county", title, (fips,), (key,), (), "", 0))

    def _add_city(self, row: TableRow, districts: Collection[str]) -> None:
        """Add a city that levies a rate, or lies in a district; the others are lists of ZIPs."""
        parents = [_bare(name) if self.state == "TX" else name for name in row.parents]
        over = [parent for parent in parents if parent in districts]
        if not row.units and not over:
            return
        whole = _COUNTY_CITIES.get((self.state, row.name))
        if whole:
            self._add_county_city(row, *whole)
            return
        counties = self._counties_of(row)
        if not counties:
            self._report("left_out", row.name, f"no county {'|'.join(row.parents)!r}")
            return
        name = _bare(row.name)
        key = self._jurisdiction("city", row.name, name)
        self._add_rates(key, row.spans)
        county = f"{self.state}:county:{counties[0]}"
        with_county = county in self.draft.jurisdictions and (
            # the table adds a county's rate of its own; a corrected one holds outside cities only
            not self.rule.city_holds_county or county in self.own_county_rate
        )
        under = (f"{self.state}:district:{slug(district)}" for district in over)
        parts = (*((county,) if with_county else ()), key, *under)
        self._add_area(Area(key, self.state, "city", row.name, counties, parts, (name,), "", 0))

    def _counties_of(self, row: TableRow) -> tuple[str, ...]:
        """FIPS codes of a city's counties, its own first."""
        found = [
            fips
            for parent in row.parents[:1]
            if (fips := self.draft.county_fips(self.state, parent))
        ]
        if self.rule.county_by_zip or self.state == "AK":
            places = self.zips.state(self.state)
            found += [places[zip5].county for zip5 in row.zips if zip5 in places]
            found += [fips for zip5 in row.zips for fips in self.zips.touched(zip5, self.state)]
        counties = tuple(dict.fromkeys(fips for fips in found if fips))
        return counties if self.state == "AK" else counties[:1]

    def _add_county_city(
        self, row: TableRow, names: tuple[str, ...], counties: tuple[str, ...]
    ) -> None:
        """A city that is whole counties: a part of their areas."""
        key = self._jurisdiction("city", row.name, row.name)
        self._add_rates(key, row.spans)
        for number, county in enumerate(counties):
            fips = self.draft.county_fips(self.state, county)
            area = self.draft.areas.get(f"{self.state}:county:{fips}")
            if area is None:
                self._report("left_out", row.name, f"no rate for {county}")
                continue
            self.draft.extend_area(area.id, key)
            cities = names if not number else names[1:]
            self.draft.areas[area.id] = replace(self.draft.areas[area.id], cities=cities)

    def _add_members(self, name: str) -> None:
        """Make a district a part of every area of the counties that are its members."""
        localities = self.tables.members.get((self.state, name), [])
        key = f"{self.state}:district:{slug(_TITLES.get(name, name))}"
        placed = any(key in area.components for area in self.draft.areas.values())
        if not localities and not placed:
            self.draft.report.add(
                "left_out", self.tables.members_file, name, "no member is known: applies nowhere"
            )
        for locality in localities:
            fips = self.draft.county_fips(self.state, locality)
            if fips is None:
                self.draft.report.add(
                    "left_out", self.tables.members_file, locality, f"not in {self.state}"
                )
                continue
            for area in list(self.draft.areas.values()):
                inside = area.state == self.state and area.counties[0] == fips
                if inside and key not in area.components:
                    self.draft.extend_area(area.id, key)

    def _report(self, kind: FindingKind, subject: str, message: str) -> None:
        self.draft.report.add(kind, self.tables.file, f"{self.state} {subject}", message)


def _bare(name: str) -> str:
    """A name without what stands in brackets behind it: `Kansas City (Clay)`."""
    return re.sub(r" \([^)]*\)$", "", name)


def _on(draft: Draft, key: str, day: date) -> int | None:
    """The rate of a jurisdiction on a day."""
    for row in draft.rates:
        begun = row.jurisdiction == key and (row.begin is None or row.begin <= day)
        if begun and (row.end is None or day <= row.end):
            return row.units
    return None


def _compare_states(tables: Tables, draft: Draft) -> None:
    """Say where the tables have another state rate than the book."""
    for (state, table), rows in tables.rows.items():
        if not table.endswith("_STATE_RATE_PCT"):
            continue
        for span in rows[0].spans:
            units = _on(draft, state, span.begin)
            if units is not None and units != span.units:
                draft.report.add(
                    "conflict",
                    tables.file,
                    state,
                    f"has {percent_text(span.units)} for the state, the book"
                    f" {percent_text(units)}, which answers",
                )


def _report_not_used(tables: Tables, draft: Draft) -> None:
    """Rows of states that are not taken; California's are compared with the official list."""
    for state, why in _NOT_USED.items():
        count = sum(len(rows) for (where, _), rows in tables.rows.items() if where == state)
        if count:
            draft.report.add("left_out", tables.file, state, f"{count} rows not used: {why}")
    counties = {row.name: row for row in tables.of("CA", "CA_COUNTY_RATE_PCT")}
    for row in [*counties.values(), *tables.of("CA", "CA_CITIES")]:
        county = counties.get(row.parents[0]) if row.parents else None
        total = _UNIFORM_CA + row.units + (county.units if county else 0)
        fips = draft.county_fips("CA", row.name) if row.name in counties else None
        level = f"county:{fips}" if fips else f"city:{slug(row.name)}"
        area = draft.areas.get(f"CA:{level}")
        if area is None:
            continue
        parts = [_on(draft, part, row.spans[-1].begin) for part in area.components]
        official = _UNIFORM_CA + sum(units or 0 for units in parts)
        if official != total:
            draft.report.add(
                "conflict",
                tables.file,
                f"CA {row.name}",
                f"{percent_text(total)} in all by the table, {percent_text(official)} by the"
                " official list, which answers",
            )


VALIDATED = date(2026, 7, 21)
"""The day the tables were last validated."""

_BEGIN = VALIDATED.replace(day=1)
_SINCE = re.compile(r"(?:in force|combined) since (\d{4}-\d{2}-\d{2})")
_CHANGED = re.compile(r"effective (\d{4}-\d{2}-\d{2}), before that the old value")


class Span(NamedTuple):
    """One rate over the days from `begin` to `end`; `effective` is its day of law, if published."""

    units: int
    begin: date
    end: date | None
    effective: date | None
    note: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table.

    Attributes:
        state: two-letter code.
        table: name of the table, such as `TX_CITIES`.
        name: of the county, city or district.
        parents: the county it lies in, then districts it is under.
        zips: ZIPs it is known by.
        spans: its rates, the oldest first, corrections applied.
        corrected: whether a correction replaced the table's figure.
    """

    state: str
    table: str
    name: str
    parents: tuple[str, ...]
    zips: tuple[str, ...]
    spans: tuple[Span, ...]
    corrected: bool

    @property
    def units(self) -> int:
        """The latest rate."""
        return self.spans[-1].units


@dataclass(frozen=True, slots=True)
class Tables:
    """Every readable row, and which localities belong to which district.

    Attributes:
        rows: by state and name of the table, in the order of the file.
        members: by state and name of the district.
        unreadable: names of rows left out, by state.
        file: name of the file of the rows, for reports.
        members_file: name of the file of the members.
    """

    rows: dict[tuple[str, str], list[TableRow]]
    members: dict[tuple[str, str], list[str]]
    unreadable: dict[str, list[str]]
    file: str
    members_file: str

    def of(self, state: str, table: str) -> list[TableRow]:
        """The rows of one table."""
        return self.rows.get((state, table), [])


class _Correction(NamedTuple):
    was: int
    units: int
    source: str
    since: date | None
    changed: date | None


_Key = tuple[str, str, str]  # state, table, name


def read_tables(table: Path, corrections: Path, members: Path, report: Report) -> Tables:
    """Read the tables and apply the corrections to the figures they name.

    A correction whose old figure is not in the table is reported and not applied; a rate that does
    not fit five decimals is left out and reported; of a name that stands there twice with
    different rates no row is taken.
    """
    tables = Tables({}, {}, {}, table.name, members.name)
    fixes = dict(_corrections(corrections))
    seen: dict[_Key, TableRow] = {}
    twice: set[_Key] = set()
    for row in _rows(tables, table, fixes, corrections.name, report):
        key = row.state, row.table, row.name
        if seen.setdefault(key, row).spans != row.spans:
            report.add("conflict", table.name, f"{row.state} {row.name}", "stands there twice")
            twice.add(key)
    for key in sorted(fixes.keys() - seen.keys()):
        report.add("conflict", corrections.name, f"{key[0]} {key[2]}", "the table has no such row")
    for key, row in seen.items():
        if key not in twice:
            tables.rows.setdefault(key[:2], []).append(row)
    for raw in _read(members):
        tables.members.setdefault((raw["state"], raw["district"]), []).append(raw["locality"])
    return tables


def _rows(
    tables: Tables, table: Path, fixes: dict[_Key, _Correction], name: str, report: Report
) -> Iterator[TableRow]:
    """The rows that have a rate and can be read, corrected."""
    for raw in _read(table):
        key = raw["state"], raw["table"], raw["name"]
        if not raw["rate_pct"]:
            continue  # a list of ZIPs
        subject = f"{key[0]} {key[2]}"
        try:
            units = percent_units(raw["rate_pct"])
        except RowError as error:
            report.add("left_out", table.name, subject, str(error))
            tables.unreadable.setdefault(key[0], []).append(key[2])
            continue
        fix = fixes.get(key)
        if fix and fix.was != units:
            was, has = percent_text(fix.was), percent_text(units)
            message = f"corrects {was}, the table has {has}: not applied"
            report.add("conflict", name, subject, message)
            fix = None
        elif fix:
            report.add("corrected", name, subject, _change(units, fix))
        yield TableRow(
            *key,
            tuple(raw["parents"].split("|")) if raw["parents"] else (),
            tuple(raw["zips"].split()),
            tuple(_spans(units, fix)),
            corrected=fix is not None,
        )


def _change(units: int, fix: _Correction) -> str:
    since = fix.changed or fix.since
    told = f"{percent_text(units)} -> {percent_text(fix.units)}"
    return f"{told} from {since} on" if since else told


def _read(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _corrections(path: Path) -> Iterator[tuple[_Key, _Correction]]:
    for row in _read(path):
        since, changed = _SINCE.search(row["source"]), _CHANGED.search(row["source"])
        yield (
            (row["state"], row["table"], row["name"]),
            _Correction(
                percent_units(row["was_pct"]),
                percent_units(row["should_be_pct"]),
                row["source"],
                iso_date(since[1]) if since else None,
                iso_date(changed[1]) if changed else None,
            ),
        )


def _spans(units: int, fix: _Correction | None) -> Iterator[Span]:
    """The rates of a row by their days: a dated change keeps the figure before it."""
    if fix is None:
        yield Span(units, _BEGIN, None, None, "")
        return
    note = f"corrected by {fix.source}"
    if fix.changed:
        yield Span(units, _BEGIN, fix.changed - timedelta(days=1), None, "")
        yield Span(fix.units, fix.changed, None, fix.changed, note)
    else:
        yield Span(fix.units, fix.since or _BEGIN, None, fix.since, note)
