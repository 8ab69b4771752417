"""States where the book knows some cities only: the transcribed table and the states' own lists."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.imports.draft import MAX_UNITS, iso_date, percent_text, slug
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.schema import Area, Source

from .files import rounded_units
from .listed import Span, state_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from svc_tools.service.ratebook.imports.draft import Draft, FindingKind, Report

    from .listed import Listed

    Places = Mapping[tuple[str, str], list[tuple[str, str, str]]]

_SOURCE = "local-tables"
_VALIDATED = date(2026, 7, 21)
_BEGIN = _VALIDATED.replace(day=1)
_GOOD_UNTIL = date(2026, 10, 20)  # three months later
_DAY = timedelta(days=1)


class _Composition(NamedTuple):
    """The tables of a state, and what its rows mean.

    Attributes:
        counties: table of the counties' rates; empty where only cities have rates.
        cities: table of the cities' rates.
        districts: table of the districts' rates.
        unlisted: `RateRow.use` of a city of the table that the state's list does not have.
        cap: the most that all local rates may add up to by law; 0 for no cap. A city's figure of
            such a state includes the county's share.
        note: applies to every city of the list.
    """

    counties: str = ""
    cities: str = ""
    districts: str = ""
    unlisted: str = ""
    cap: int = 0
    note: str = ""


_STATES = {
    "AK": _Composition("AK_BOROUGHS", "AK_CITIES"),
    "AL": _Composition("AL_COUNTY_RATE_PCT", "AL_CITIES"),
    "AZ": _Composition("AZ_COUNTY_RATE_PCT", "AZ_CITIES"),
    "CO": _Composition(),
    "ID": _Composition(
        cities="ID_RESORT_CITIES",
        unlisted="unknown",  # the table mixes in lodging rates
        note="The same in an older and the present edition; the years between were not read.",
    ),
    "IL": _Composition("IL_COUNTY_RATE_PCT", "IL_CITIES", "IL_RTA_DISTRICTS", "partial"),
    "MO": _Composition("MO_COUNTY_RATE_PCT", "MO_CITIES"),
    "NM": _Composition(cities="NM_LOCATION_RATES"),
    "TX": _Composition("TX_COUNTY_RATE_PCT", "TX_CITIES", "TX_TRANSIT_DISTRICTS", "partial", 2_000),
}
_DISTRICT_NAMES = {"NY_MCTD_RATE": "MCTD 0.375"}
"""Names of districts that the table leaves out, as the list of members has them."""

_USED = frozenset(
    ["VA_DISTRICT_RATE_PCT", *_DISTRICT_NAMES]
    + [name for rule in _STATES.values() for name in (rule.counties, rule.cities, rule.districts)]
)
"""The tables that are read: those of the states here, and those for `district_units`."""

_CITY_COUNTIES = frozenset({("CO", "014"), ("CO", "031"), ("MO", "510")})
"""Counties that are one city and nothing else: Broomfield, Denver, St. Louis."""

_NOT_CITIES = frozenset({("TX", "Crosby"), ("TX", "Hebbronville"), ("TX", "Zapata")})
"""Unincorporated places of the table: a district in part of the place has the rate."""


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table, corrections applied.

    Attributes:
        state: two-letter code.
        table: name of the table, such as `TX_CITIES`.
        name: of the county, city or district.
        parents: the county it lies in, then the districts it is under.
        spans: its rates, the oldest first: its own part only.
        corrected: whether a correction replaced the table's figure.
    """

    state: str
    table: str
    name: str
    parents: tuple[str, ...]
    spans: tuple[Span, ...]
    corrected: bool


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows of the states that are used, and which localities belong to which district.

    Attributes:
        file: name of the file of the rows, for reports.
        rows: by state and name of the table, in the order of the file.
        members: localities by state and name of the district.
    """

    file: str
    rows: dict[tuple[str, str], list[TableRow]] = field(default_factory=dict)
    members: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def of(self, state: str, table: str) -> list[TableRow]:
        """The rows of one table."""
        return self.rows.get((state, table), [])


class _Correction(NamedTuple):
    """The right figure of a row, both in percent.

    Attributes:
        was: the wrong figure; empty for a row to add.
        percent: the right one; empty for a row to drop.
        since: the day of a change: before it the old figure is right.
        source: id of the source.
        text: who says so.
    """

    was: str
    percent: str
    since: date | None
    source: str
    text: str


_Key = tuple[str, str, str]  # state, table, name
_CHANGED = re.compile(r"effective (\d{4}-\d{2}-\d{2}), before that the old value")
_BEFORE = re.compile(r"\(([\d.]+) before\)")
_ADD_COUNTY = re.compile(r"add ([A-Z][\w. ]+ County)")


def read_tables(
    table: Path, corrections: Sequence[Path], members: Path, doubtful: Path | None, report: Report
) -> Tables:
    """Read the rows of the states that are used and apply the corrections to them.

    A correction of a figure that the table does not have is reported and not applied; no row is
    used of a name that has several rates. Doubtful rows are lower bounds.

    Args:
        table: the transcribed table.
        corrections: files with a column `table`, or with a column `target`.
        members: the localities of the districts.
        doubtful: rows that other tables contradict.
        report: takes the findings.
    """
    tables = Tables(table.name)
    fixes = {key: fix for path in corrections for key, fix in _corrections(path, table.name)}
    doubts = {_key(row) for row in _read(doubtful)} if doubtful else set()
    found: dict[_Key, list[dict[str, str]]] = defaultdict(list)
    for raw in _read(table):
        if raw["rate_pct"] and raw["table"] in _USED:  # rows without a rate are lists of ZIPs
            found[_key(raw)].append(raw)
    for key in (*found, *(key for key in fixes if key not in found)):
        rows = found.get(key, [])
        percent, *more = {raw["rate_pct"] for raw in rows} or {""}
        if more:
            report.add("conflict", table.name, f"{key[0]} {key[2]}", "has several rates: not used")
            continue
        spans, fixed = _spans(key, percent, fixes.get(key), table.name, report)
        if key in doubts:
            spans = [span._replace(use="partial") for span in spans]
        parents = rows[0]["parents"].split("|") if rows else _ADD_COUNTY.findall(fixes[key].text)
        row = TableRow(*key, tuple(filter(None, parents)), tuple(spans), fixed)
        if spans:
            tables.rows.setdefault(key[:2], []).append(row)
    for raw in _read(members):
        tables.members.setdefault((raw["state"], raw["district"]), []).append(raw["locality"])
    return tables


def district_units(tables: Tables, state: str, table_name: str) -> dict[str, int]:
    """Rates in units by name of the district, as the list of members has it.

    Args:
        tables: the rows.
        state: two-letter code.
        table_name: `VA_DISTRICT_RATE_PCT` or `NY_MCTD_RATE`.
    """
    return {
        row.name or _DISTRICT_NAMES[table_name]: row.spans[-1].units or 0
        for row in tables.of(state, table_name)
    }


def _read(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _key(raw: dict[str, str]) -> _Key:
    return raw["state"], raw["table"], raw["name"]


def _corrections(path: Path, table_file: str) -> Iterator[tuple[_Key, _Correction]]:
    """The corrections of rows that are read, from a file of either layout."""
    for row in _read(path):
        file, name = table_file, row.get("table", "")
        since = "".join(_CHANGED.findall(row["source"]))
        if "target" in row:
            file, _, name = row["target"].partition(" ")
            since = row["effective_from"]
        if file == table_file and name in _USED:
            yield (
                (row["state"], name, row["name"]),
                _Correction(
                    row["was_pct"],
                    row["should_be_pct"],
                    iso_date(since) if since else None,
                    row.get("source_id", _SOURCE),
                    row["source"],
                ),
            )


def _spans(
    key: _Key, percent: str, fix: _Correction | None, file: str, report: Report
) -> tuple[list[Span], bool]:
    """The rates of a row, corrected, and whether they were; no rate where a row is dropped.

    The figure before a dated correction stays for its time. Where none is known the city may have
    had a rate or not.
    """
    subject = f"{key[0]} {key[2]}"
    old = _span(percent, subject, file, report) if percent else None
    if fix and Decimal(fix.was or 0) != Decimal(percent or 0):
        message = f"corrects {fix.was}%, the table has {percent or 'none'}: not applied"
        report.add("conflict", file, subject, message)
        fix = None
    if fix is None:
        return [old] if old else [], False
    since = f" from {fix.since} on" if fix.since else ""
    message = f"{percent or 'none'} -> {fix.percent or 'none'}{since}"
    report.add("corrected", file, subject, message)
    if not fix.percent:
        return [], True
    new = _span(fix.percent, subject, file, report)._replace(
        begin=fix.since or _BEGIN,
        effective=fix.since,
        source=fix.source,
        note=f"corrected by {fix.text}",
    )
    if new.begin <= _BEGIN:
        return [new], True
    before = _BEFORE.search(fix.text)
    if before and not old:
        old = _span(before[1], subject, file, report)._replace(source=fix.source)
    old = old or Span(_BEGIN, None, 0, None, "unknown", fix.source, "")
    return [old._replace(end=new.begin - _DAY), new], True


def _span(percent: str, subject: str, file: str, report: Report) -> Span:
    """A figure of the table; one with more than five decimals is rounded half up."""
    units, published = rounded_units(format(Decimal(percent).scaleb(-2), "f"))
    if published:
        message = f"{percent}% has more than five decimals: rounded to {percent_text(units)}"
        report.add("settled", file, subject, message)
    return Span(_BEGIN, None, units, None, "", _SOURCE, "", published=published)


def add_listed_cities(
    tables: Tables, listed: Mapping[str, list[Listed]], places: Places, draft: Draft
) -> None:
    """Add the cities, districts and counties of the states where some cities are known only.

    Cities are whole where their rows say so. Counties are not: other places in them may have
    rates of their own.

    Args:
        tables: the transcribed rows.
        listed: the areas of the states' own lists by state; they go before the table.
        places: code, main county and all counties (separated by blanks) of the Census places, by
            state and key of a name.
        draft: has the states' rates, the counties and the sources of the lists.
    """
    draft.sources[_SOURCE] = Source(
        _SOURCE,
        "Local sales tax tables of 2026 (OpenSalesTax, transcribed from the states' lists)",
        "OpenSalesTax project",
        f"2026, validated {_VALIDATED}",
        "Apache-2.0",
        "third_hand",
        None,
        _GOOD_UNTIL,
        _GOOD_UNTIL,
        "no_published_date",
    )
    for state, rule in _STATES.items():
        areas = listed.get(state, [])
        if areas or tables.of(state, rule.cities):
            _StateReader(state, tables, areas, places, draft).read()


class _City(NamedTuple):
    """A city to add.

    Attributes:
        name: its name.
        county: three-digit FIPS code of the county of its row.
        place: code of the Census place; empty where none is known.
        principal: whether this is its main county, or the first one in the table.
        parts: jurisdictions whose rates add up with its own.
        spans: its own part.
    """

    name: str
    county: str
    place: str
    principal: bool
    parts: tuple[str, ...]
    spans: tuple[Span, ...]


class _StateReader:
    """Adds the rows of one state to the draft."""

    def __init__(
        self,
        state: str,
        tables: Tables,
        areas: Sequence[Listed],
        places: Places,
        draft: Draft,
    ) -> None:
        self.state = state
        self.rule = _STATES[state]
        self.tables = tables
        self.rests = {area.county: area for area in areas if not area.of_place}
        self.areas = [area for area in areas if area.of_place]
        self.places = places
        self.draft = draft
        self.districts: dict[str, list[str]] = defaultdict(list)  # by county
        self.levying: set[str] = set()  # counties that have a rate, or may have one
        self.added: set[str] = set()  # counties whose rate is not in the figures of their cities

    def read(self) -> None:
        """Add the districts and the counties, which are parts of the cities, and the cities."""
        for row in self.tables.of(self.state, self.rule.districts):
            self._add_district(row)
        rows: dict[str, TableRow] = {}
        for row in self.tables.of(self.state, self.rule.counties):
            fips = self._county(row.name)
            if fips:
                rows[fips] = row
        for state, fips in sorted(self.draft.counties):
            if state == self.state:
                self._add_county(fips, rows.get(fips))
        for city in self._cities():
            self._add_city(city)

    def _county(self, name: str) -> str:
        """The FIPS code of a county; empty, and reported, where the state has none of the name."""
        fips = self.draft.county_fips(self.state, name)
        if fips is None:
            self._report("left_out", name, "the state has no such county")
        return fips or ""

    def _add_district(self, row: TableRow) -> None:
        name = _bare(row.name) if self.rule.cap else row.name
        key = self.draft.add_jurisdiction(self.state, "district", slug(name), name)
        # a list of the whole state confirms the districts' rates by its totals
        source = next((area.spans[-1].source for area in self.rests.values()), _SOURCE)
        self._add_rates(key, [span._replace(source=source) for span in row.spans])
        for locality in self.tables.members.get((self.state, row.name), []):
            self.districts[self._county(locality)].append(key)

    def _add_county(self, fips: str, row: TableRow | None) -> None:
        """Add a county by the list, else the table; without a row it has the state part only."""
        key = f"{self.state}:county:{fips}"
        name = self.draft.counties[self.state, fips].name
        parts = tuple(self.districts[fips])
        rest = self.rests.get(fips)
        spans = row.spans if row else ()
        if rest:
            spans = self._own(rest, parts)
            if row and not spans[-1].use and spans[-1].units != row.spans[-1].units:
                self._report("conflict", name, "has another rate by the list, which is used")
        if spans:
            parts = (self.draft.add_jurisdiction(self.state, "county", fips, name), *parts)
            self._add_rates(key, spans)
        if any(span.units or span.use for span in spans):
            self.levying.add(fips)
        # under a cap the cities' figures include what the table itself does not have of counties
        included = self.rule.cap and not (row and not row.corrected)
        if any(span.units for span in spans) and not included:
            self.added.add(fips)
        if (self.state, fips) in _CITY_COUNTIES or (self.state == "AK" and not spans):
            return
        lacks = "" if self.state == "AK" else "districts" if spans else "local"
        self.draft.add_area(Area(key, self.state, "county", name, (fips,), parts, (), "", 0, lacks))

    def _cities(self) -> Iterator[_City]:
        """The cities of the list, then those of the table that it does not have."""
        table = [city for city in self._table_cities() if self._is_within_cap(city)]
        places = {city.place: city for city in table if city.place}
        done: set[str] = set()
        for area in self.areas:
            known = places.get(area.place)
            if known and not self.rule.cap and known.county != area.county:
                known = None
            city = self._listed_city(area, known)
            if city.spans[-1].use and self._above_cap(city) == 0:  # not a city
                self._report("left_out", area.name, city.spans[-1].note)
            elif city.spans[-1].use and known and self._above_cap(known) == 0:
                self._report("settled", area.name, "reaches the cap by the table, which is used")
            elif self._is_within_cap(city):
                done.add(area.place)
                yield city
        for city in table:
            use = self.rule.unlisted
            if city.place and city.place in done:
                continue
            if use and self._above_cap(city) != 0:
                spans = (span._replace(use=use, note="") for span in city.spans)
                city = city._replace(spans=tuple(spans))  # noqa: PLW2901
            yield city

    def _table_cities(self) -> Iterator[_City]:
        named: set[str] = set()
        for row in self.tables.of(self.state, self.rule.cities):
            name = _bare(row.name)
            county = self._county(row.parents[0]) if row.parents else ""
            place, main, _ = self._place(name, county)
            county = county or main
            if not county:
                self._report("left_out", name, "its county is not known")
            elif (self.state, name) in _NOT_CITIES:
                self._report("left_out", name, "is no city: a district in part of it has the rate")
            else:
                key = f"{self.state}:county:{county}"
                over = [f"{self.state}:district:{slug(_bare(p))}" for p in row.parents[1:]]
                parts = (key, *self.districts[county], *over)
                parts = tuple(
                    part
                    for part in dict.fromkeys(parts)
                    if part in self.draft.rates and (part != key or county in self.added)
                )
                if name in named:  # the table has the parts of a city in several counties
                    self.draft.divided.add((self.state, place, county))
                yield _City(name, county, place, name not in named, parts, row.spans)
                named.add(name)

    def _listed_city(self, area: Listed, known: _City | None) -> _City:
        """A city of the list, split like that of the table, or the county's surroundings."""
        key = f"{self.state}:county:{area.county}"
        parts = tuple(self.districts[area.county])
        if area.county in self.added and not any(row.use for row in self.draft.rates[key]):
            parts = (key, *parts)
        if known and self.rule.cap:
            parts = known.parts
        spans, conflict, more = self._own(area, parts), "", 0
        last = area.spans[-1]
        if known and self._total(known) != last.units:
            table, total = self._total(known), last.units or 0
            conflict = f"{percent_text(table)} by the table, {percent_text(total)} by the list"
            more = max(0, total - table)
        if any((span.units or 0) < 0 for span in spans):
            parts = tuple(self.districts[area.county])
            spans = self._own(area, parts)
            conflict = "the list has less than for the rest of its county"
        if conflict and not last.use:
            self._report("conflict", area.name, f"{conflict}: a lower bound")
            note = f"Sources disagree: {conflict}."
            spans = tuple(
                span._replace(
                    units=(span.units or 0) - more, use="partial", disputed=True, note=note
                )
                for span in spans
            )
        spans = tuple(span._replace(note=span.note or self.rule.note) for span in spans)
        return _City(area.name, area.county, area.place, area.principal, parts, spans)

    def _own(self, area: Listed, parts: Sequence[str]) -> tuple[Span, ...]:
        """What an area of the list adds to the state's rate and further parts.

        Where a further part changed on the day that a span begins, the own part did not: it was
        the same before.
        """
        found = []
        for span in area.spans:
            units = (span.units or 0) - self._others(parts, span.begin)
            own = span._replace(units=units)
            if any(row.effective == span.begin for part in parts for row in self.draft.rates[part]):
                own = own._replace(begin=_BEGIN, effective=None)
            found.append(own)
        return tuple(found)

    def _others(self, parts: Iterable[str], day: date) -> int:
        """The state's rate and those of further parts on a day."""
        units = state_units(self.draft, self.state, day)
        for part in parts:
            rows = [row for row in self.draft.rates[part] if (row.begin or date.min) <= day]
            units += rows[-1].units if rows else 0
        return units

    def _total(self, city: _City) -> int:
        """The combined rate after the last change."""
        begins = (row.begin or _BEGIN for part in city.parts for row in self.draft.rates[part])
        day = max(_BEGIN, city.spans[-1].begin, *begins)
        return (city.spans[-1].units or 0) + self._others(city.parts, day)

    def _above_cap(self, city: _City) -> int:
        """How far the local rates are above the cap of the state, if it has one."""
        local = self._total(city) - state_units(self.draft, self.state, _BEGIN)
        return local - (self.rule.cap or MAX_UNITS)

    def _is_within_cap(self, city: _City) -> bool:
        if self._above_cap(city) <= 0:
            return True
        total = percent_text(self._total(city))
        self._report("left_out", city.name, f"{total} in all is more than the law allows")
        return False

    def _add_city(self, city: _City) -> None:
        """Add a city; one that is the whole of a county is the county's area."""
        counties = self._counties_of(city)
        _, main, _ = self._place(city.name, city.county)
        principal = city.principal or main in counties
        code = city.place or slug(city.name)
        code = code if principal else f"{code}-{city.county}"
        key = self.draft.add_jurisdiction(self.state, "city", code, city.name)
        self._add_rates(key, city.spans)
        county = self.draft.counties[self.state, city.county].name
        area, kind, title = key, "city", city.name if principal else f"{city.name} ({county})"
        if (self.state, city.county) in _CITY_COUNTIES:
            area, kind, title = f"{self.state}:county:{city.county}", "county", county
        leads = principal or (self.state, city.place, city.county) in self.draft.divided
        self.draft.add_area(
            Area(
                area,
                self.state,
                kind,
                title,
                counties,
                (*city.parts, key),
                (city.name,) if leads else (),
                "",
                0 if principal else 1,
                place=city.place,
            )
        )

    def _counties_of(self, city: _City) -> tuple[str, ...]:
        """The county of its row; all of its counties where it is at the cap without that one."""
        found: tuple[str, ...] = (city.county,)
        if self._above_cap(city) == 0 and city.county not in self.levying:
            _, _, counties = self._place(city.name, city.county)
            listed = {area.county for area in self.areas if area.place == city.place}
            found += tuple(fips for fips in counties.split() if fips not in {*listed, *found})
        return found

    def _place(self, name: str, county: str) -> tuple[str, str, str]:
        """Code, main county and all counties of the Census place of a name in a county."""
        for place in self.places.get((self.state, name_key(name)), []):
            if not county or county in place[2].split():
                return place
        return "", "", ""

    def _add_rates(self, key: str, spans: Iterable[Span]) -> None:
        for span in spans:
            unknown = span.use == "unknown"
            self.draft.add_rate(
                key,
                0 if unknown else span.units or 0,
                span.source,
                begin=None if unknown else span.begin,
                end=span.end,
                effective=span.effective,
                conflict_cap="low" if span.disputed else "",
                note=span.note,
                use=span.use,
                published=span.published,
            )

    def _report(self, kind: FindingKind, subject: str, message: str) -> None:
        self.draft.report.add(kind, self.tables.file, f"{self.state} {subject}", message)


def _bare(name: str) -> str:
    """A name without the part in brackets after it: `Kansas City (Clay)`."""
    return re.sub(r" \([^)]*\)$", "", name)
