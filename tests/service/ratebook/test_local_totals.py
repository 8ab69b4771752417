"""The totals of every state that a table or a rate file was compiled for, worked out anew."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.rating import Rated, rate_area

SOURCES = Path(__file__).parents[4] / "shared" / "data"
pytestmark = pytest.mark.skipif(
    not SOURCES.is_dir(), reason="the source files are not beside the project"
)
DAY = date(2026, 9, 1)
STATE = {"AK": 0, "AZ": 5600, "ID": 6000, "IL": 6250, "MO": 4225, "NM": 4875, "NY": 4000}
STATE |= {"SC": 6000, "TX": 6250}
COUNTIES = {
    "AZ": "AZ_COUNTY_RATE_PCT",
    "IL": "IL_COUNTY_RATE_PCT",
    "MO": "MO_COUNTY_RATE_PCT",
    "NY": "NY_COUNTY_RATE_PCT",
    "SC": "SC_COUNTY_RATE_PCT",
    "TX": "TX_COUNTY_RATE_PCT",
}
CITIES = {
    "AK": "AK_CITIES",
    "AZ": "AZ_CITIES",
    "ID": "ID_RESORT_CITIES",
    "IL": "IL_CITIES",
    "MO": "MO_CITIES",
    "NM": "NM_LOCATION_RATES",
    "NY": "NY_CITIES",
    "SC": "SC_CITIES",
    "TX": "TX_CITIES",
}
HOOD = 500  # the Comptroller's file; the table has none


def read(name):
    with (SOURCES / "compiled" / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def units(percent):
    """Percent as whole units of 10^-5; what does not fit is no whole number."""
    scaled = Decimal(percent) * 1000
    return int(scaled) if scaled == int(scaled) else None


@pytest.fixture(scope="module")
def table():
    """(state, table) -> name -> (units, parents, corrected), with the corrections of 2026-09."""
    fixes = {
        (row["state"], row["table"], row["name"]): units(row["should_be_pct"])
        for row in read("corrections_2026.csv")
    }
    found = defaultdict(dict)
    for row in read("local_tables_2026.csv"):
        key = row["state"], row["table"], row["name"]
        value = units(row["rate_pct"]) if row["rate_pct"] else None
        parents = row["parents"].split("|") if row["parents"] else []
        found[key[:2]][key[2]] = (fixes.get(key, value), parents, key in fixes)
    return found


@pytest.fixture(scope="module")
def members():
    found = defaultdict(set)
    for row in read("district_members.csv"):
        found[row["state"], row["locality"]].add(row["district"])
    return found


def of_districts(state, county, table, members):
    """What regional districts add in a county."""
    if state == "NY":
        return 375 * bool(members["NY", county])
    rates = table[state, "IL_RTA_DISTRICTS"]
    return sum(rates[name][0] for name in members[state, county])


@pytest.mark.parametrize("state", sorted(COUNTIES))
def test_every_county(book, table, members, state):
    by_name = {name_key(c.name): fips for (s, fips), c in book.counties.items() if s == state}
    checked = 0
    for county, (rate, _, _) in table[state, COUNTIES[state]].items():
        area = book.areas[f"{state}:county:{by_name[name_key(county)]}"]
        local = HOOD if (state, county) == ("TX", "Hood County") else rate
        local += of_districts(state, county, table, members)
        if "New York City" in area.cities:
            local += table["NY", "NY_CITIES"]["New York City"][0]
        assert rate_area(book, state, area, DAY).combined == STATE[state] + local, county
        checked += 1
    assert checked == sum(1 for s, _ in book.counties if s == state)


@pytest.mark.parametrize("state", sorted(CITIES))
def test_every_city(book, table, members, state):
    areas = defaultdict(list)
    for area in book.areas.values():
        if area.state == state and area.kind == "city":
            areas[area.name].append(area)
    checked = 0
    for city, (rate, parents, _) in table[state, CITIES[state]].items():
        if not rate or city == "New York City":
            continue
        local = rate
        counties = table.get((state, COUNTIES.get(state, "AK_BOROUGHS")), {})
        own, _, corrected = counties.get(parents[0] if parents else "", (0, [], False))
        if state != "TX":
            local += own
            local += of_districts(state, parents[0], table, members) if state in {"NY", "IL"} else 0
        else:  # a city's figure holds its county's share; only El Paso County's is apart
            local += 0 if corrected else own
            local += sum(table["TX", "TX_TRANSIT_DISTRICTS"][name][0] for name in parents[1:])
            assert 1_500 <= local <= 2_000, city
        for area in areas[city]:
            assert rate_area(book, state, area, DAY).combined == STATE[state] + local, city
        assert areas[city], city
        checked += 1
    assert checked == {
        "AK": 50, "AZ": 63, "ID": 12, "IL": 20, "MO": 16, "NM": 14, "NY": 1, "SC": 1, "TX": 263,
    }[state]  # fmt: skip


def test_no_city_of_texas_is_above_the_cap(book):
    days = {row.begin for rows in book.rates.values() for row in rows if row.begin} | {DAY}
    rates = [
        rate_area(book, "TX", area, day).combined
        for area in book.areas.values()
        if area.state == "TX"
        for day in days
        if day >= date(2026, 7, 1)
    ]
    assert max(rates) == 8_250


def test_rates_of_new_mexico_that_do_not_fit_are_in_no_row(book, table):
    rows = table["NM", "NM_LOCATION_RATES"]
    unfit = {name for name, (rate, *_) in rows.items() if rate is None}
    assert len(unfit) == 15
    assert not unfit & {area.name for area in book.areas.values() if area.state == "NM"}
    assert all(name in book.states["NM"].missing for name in unfit)


def test_california_stands_on_the_official_list_alone(book):
    for key, rows in book.rates.items():
        if book.jurisdictions[key].state == "CA":
            assert all(row.source in {"ca-cdtfa", "ca-cdtfa-later"} for row in rows)


@pytest.mark.parametrize(
    ("state", "name", "days"),
    [
        ("GA", "GAR2026Q2FEB19.csv", ["2011-06-30", "2015-03-01", "2018-04-01", "2026-06-30"]),
        ("MN", "MNR2026Q2FEB18.csv", ["2022-09-30", "2023-10-01", "2024-12-31", "2026-04-01"]),
        ("WI", "WIR2026Q2FEB18.csv", ["2024-01-01", "2026-06-30"]),
    ],
)
def test_the_rate_files_add_up(book, state, name, days):
    """Each component's row in force in the file, added up; before its history no claim is made."""
    kinds = {"45": "state", "00": "county", "01": "city", "63": "district"}
    rows = defaultdict(list)
    with (SOURCES / "official" / name).open(newline="", encoding="utf-8-sig") as file:
        for row in csv.reader(file):
            rows[kinds[row[1].zfill(2)], row[2]].append((row[7], row[8], row[3]))
    checked = 0
    for area in [area for area in book.areas.values() if area.state == state]:
        for day in days:
            rated = rate_area(book, state, area, date.fromisoformat(day))
            assert isinstance(rated, Rated)
            if rated.history_from:
                continue
            compact = day.replace("-", "")
            expected = Decimal(0)
            for part in rated.components:
                key = part.jurisdiction.level, part.jurisdiction.code
                here = [one for one in rows[key] if one[0] <= compact <= one[1]]
                expected += Decimal(max(here)[2]) if here else 0
            assert rated.combined == expected * 100_000, (area.id, day)
            checked += 1
    assert checked > {"GA": 600, "MN": 500, "WI": 140}[state]


def test_every_rate_of_the_files_is_used_or_reported(book):
    """A code of GA's and MN's files with a rate is a part of an area, or `missing` names it."""
    levels = {"00": "county", "01": "city", "63": "district"}
    for state, name in (("GA", "GAR2026Q2FEB19.csv"), ("MN", "MNR2026Q2FEB18.csv")):
        used = {key for area in book.areas.values() for key in area.components}
        with (SOURCES / "official" / name).open(newline="") as file:
            taxed = {
                (row[1], row[2]) for row in csv.reader(file) if Decimal(row[3]) and row[1] != "45"
            }
        lost = {code for kind, code in taxed if f"{state}:{levels[kind]}:{code}" not in used}
        assert lost == {"GA": {"17780", "99999"}, "MN": {"05354", "80005"}}[state]
        told = book.states[state].missing
        assert all(code in told or code == "80005" for code in lost)
        assert state == "GA" or "Garrison" in told


def test_differences_are_listed_in_full(tmp_path):
    from compile_book import compile_book  # noqa: PLC0415 - seldom needed

    report = compile_book(SOURCES, tmp_path / "book")
    told = [f for f in report.of_kind("conflict") if f.source.startswith("local_tables")]
    assert {f.subject for f in told if not f.subject.startswith("CA")} == {"TX Hood County"}
    assert len(told) == 55
    assert all(re.search(r"official list,? which answers", f.message) for f in told)
    cut, whole = report.render(), report.render(everything=True)
    assert "more of this source (--all lists them)" in cut
    assert "more of this source" not in whole
    assert all(f.subject in whole for f in told)


def test_the_areas_of_minnesota_are_composed_as_its_boundary_records(book):
    """Which codes stand beside a county and a place in the sample: ours, of those in force then."""
    day = "20190301"
    with (SOURCES / "official" / "MNR2026Q2FEB18.csv").open(newline="") as file:
        in_force = {row[2] for row in csv.reader(file) if row[7] <= day <= row[8]}
    seen = set()
    with (SOURCES / "official" / "MNB2026Q2FEB18-sample.csv").open(newline="") as file:
        for row in csv.reader(file):
            county, place = row[24], row[25]
            specials = frozenset(code for code in row[30:89:3] if code)
            if county and row[1] <= day <= row[2]:
                seen.add((county, place, specials))
    assert len(seen) == 14
    for county, place, specials in seen:
        area = book.areas[f"MN:city:{place}" if place else f"MN:county:{county}"]
        codes = {book.jurisdictions[key].code for key in area.components} & in_force
        expected = {county, place, *specials} & in_force
        assert codes == expected, (county, place)
