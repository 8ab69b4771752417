"""The totals of every state that a table or a rate file was compiled for, worked out anew."""

from __future__ import annotations

import csv
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
STATE = {"AK": 0, "AL": 4_000, "AZ": 5_600, "MO": 4_225, "NM": 4_875, "NY": 4_000, "SC": 6_000}
STATE["TX"] = 6_250
CITIES = {"AK": 50, "AL": 30, "AZ": 61, "MO": 17, "NM": 29, "TX": 260}
CAP = 2_000  # of all local rates in Texas
NOT_CITIES = {"Crosby", "Hebbronville", "Zapata"}  # of Texas: districts in parts of the places


def read(name):
    with (SOURCES / "compiled" / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def units(percent):
    """Percent in units of 10^-5, cut: what has more decimals is a lower bound."""
    return int(Decimal(percent) * 1000)


@pytest.fixture(scope="module")
def table():
    """(state, kind of table) -> name -> (percent, county and districts), corrected as of `DAY`."""
    fixes = {(r["table"], r["name"]): r["should_be_pct"] for r in read("corrections_2026.csv")}
    for row in read("2026-11/corrections_2026-11.csv"):
        if (row["effective_from"] or "2026") <= DAY.isoformat():
            fixes[row["target"].rpartition(" ")[2], row["name"]] = row["should_be_pct"]
    kinds = {"COUNTY": "county", "BOROUGHS": "county", "CITIES": "city", "LOCATION": "city"}
    found = defaultdict(dict)
    for row in read("local_tables_2026.csv"):
        percent = fixes.get((row["table"], row["name"]), row["rate_pct"])
        kind = next((kinds[part] for part in row["table"].split("_") if part in kinds), "district")
        if percent and "ZIP" not in row["table"]:
            parents = row["parents"].split("|") if row["parents"] else []
            corrected = (row["table"], row["name"]) in fixes
            found[row["state"], kind][row["name"]] = percent, parents, corrected
    return found


@pytest.fixture(scope="module")
def mctd():
    """The counties of New York's transit district."""
    return {r["locality"] for r in read("district_members.csv") if r["state"] == "NY"}


@pytest.mark.parametrize("state", ["AL", "AZ", "MO", "NY", "SC", "TX"])
def test_every_county(book, table, mctd, state):
    by_name = {name_key(c.name): fips for (s, fips), c in book.counties.items() if s == state}
    for county, (percent, *_) in table[state, "county"].items():
        area = book.areas[f"{state}:county:{by_name[name_key(county)]}"]
        local = units(percent) + 375 * (county in mctd and state == "NY")
        if "New York City" in area.cities:
            local += units(table["NY", "city"]["New York City"][0])
        rated = rate_area(book, state, area, DAY)
        assert rated.combined == STATE[state] + local, county
        # whole where the list of counties is, or where the county is a city
        assert bool(rated.lacks) == (state not in {"NY", "SC"} and not area.cities), county
    assert len(table[state, "county"]) == len(by_name)


@pytest.mark.parametrize("state", sorted(CITIES))
def test_every_city(book, table, state):
    """Whole, but for doubtful rows, figures cut to five decimals, and Texas under its cap."""
    doubtful = {(r["state"], r["name"]) for r in read("2026-11/doubtful_rows.csv")}
    fips = {name_key(c.name): fips for (s, fips), c in book.counties.items() if s == state}
    areas = defaultdict(list)
    for area in book.areas.values():
        if area.state == state and (area.kind == "city" or area.cities):
            areas[name_key((area.cities or (area.name.partition(" (")[0],))[0])].append(area)
    checked = 0
    for name, (percent, parents, _) in table[state, "city"].items():
        if name in NOT_CITIES:
            continue
        county = parents[0] if parents else ""
        own, _, corrected = table[state, "county"].get(county, ("0", [], False))
        local = units(percent) + units(own) * (state != "TX" or not corrected)
        if state == "TX":  # the districts of its table; a city's figure has the county's share
            local += sum(units(table["TX", "district"][one][0]) for one in parents[1:])
        sure = not {(state, name), (state, county)} & doubtful and len(percent) <= len("1.000")
        here = fips.get(name_key(county), "")
        found = [a for a in areas[name_key(name.partition(" (")[0])] if here in (*a.counties, "")]
        rated = [rate_area(book, state, area, DAY) for area in found]
        assert rated, name
        checked += 1
        if state != "TX":
            assert {one.combined for one in rated} == {STATE[state] + local}, name
            assert {not one.lacks for one in rated} == {sure}, name
        elif local == CAP:
            assert {(one.combined, one.lacks) for one in rated} == {(8_250, "")}, name
    assert checked == CITIES[state]


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
            sources = {part.source.id for part in rated.components}
            if rated.history_from or not sources <= {f"sst-{state.lower()}", "state-history"}:
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
