"""Every rate of the book is the sum of its parts, and the published total of its day."""

from __future__ import annotations

import csv
from collections import defaultdict
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

import pytest
from support.cases import cases, codes, named
from support.sources import SOURCES, areas_of_row, at_hand, read, units

from svc_tools.service.ratebook import NotResolved
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.rating import Rated, rate_area

PARTS = ("country_rate", "state_rate", "county_rate", "city_rate", "combined_district_rate")


def test_every_area_on_every_day_that_a_rate_of_it_changes(book):
    seen = 0
    for area in book.areas.values():
        rows = [row for key in (area.state, *area.components) for row in book.rates[key]]
        begins = {row.begin for row in rows if row.begin} | {date(2026, 11, 21)}
        for day in begins | {begin - timedelta(days=1) for begin in begins}:
            rated = rate_area(book, area.state, area, day)
            if not isinstance(rated, Rated):
                continue
            seen += 1
            by_part = rated.state + rated.county + rated.city + rated.district
            assert rated.combined == by_part == sum(one.row.units for one in rated.components)
            assert area.state != "TX" or rated.combined <= 8_250  # the most its law allows
    assert seen > 25_000


def test_every_answer_on_the_wire_adds_up(ask, book):
    for state in sorted(book.states):
        for zip5 in book.zips.zips(state)[::40]:
            try:
                body = ask(state, zip=zip5).full()
            except NotResolved:
                continue
            rate = body["rate"]
            total = sum(units(rate[part]) for part in PARTS)
            assert total == units(rate["combined_rate"]), (state, zip5)
            assert total == sum(units(one["rate"]) for one in body["components"]), (state, zip5)
            for candidate in body["candidates"]:
                parts = sum(units(candidate[part]) for part in PARTS[1:])
                assert parts == units(candidate["combined_rate"]), (state, zip5)


BEGIN = "2022-01-01"
UNKNOWN_BY_DESIGN = {("IL", "Island Lake")}
"""The list has less than for the rest of the county: sources disagree."""
OFFICIAL = {"MN", "TX", "WA"}
"""Where the list is not sure, the state's own file or the table may be."""


@at_hand
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("2026-11/local_rates_sst_2026Q4.csv", 6_220),
        ("2026-11/local_rates_ca_2026Q3.csv", 540),
        ("2026-11/local_rates_tx.csv", 139),
        ("2026-11/local_rates_il.csv", 304),
        ("2026-11/local_rates_co_2025-07.csv", 142),
        ("2026-11/vt_towns.csv", 32),
        ("2026-11/local_history_tier_b.csv", 340),
        ("2026-12/local_history_ca_2023.csv", 786),
        ("2026-12/local_history_listed_cities.csv", 328),
    ],
)
def test_every_row_of_the_lists_on_the_first_and_the_last_day_of_its_span(book, ask, name, rows):
    checked = 0
    for row in read(SOURCES / "compiled" / name):
        state, whole = row["state"], row["use"] == "whole"
        if (state, row["place_name"]) in UNKNOWN_BY_DESIGN or not (whole or state not in OFFICIAL):
            continue
        first, last = max(row["effective_from"], BEGIN), row["effective_to"] or "2026-12-31"
        if last < BEGIN or row["basis"] == "artefact":  # a sliver drawn by mistake
            continue
        checked += whole
        for text in (first, last):
            day = date.fromisoformat(text)
            rated = rate_area(book, state, areas_of_row(book, row)[0], day)
            assert isinstance(rated, Rated), row
            assert rated.history_from is None, row
            # of states with listed cities only, counties are never whole
            is_whole = whole and not (state == "IL" and "county" in row["level"])
            assert is_whole == (not rated.lacks and rated.confirmed is None), row
            if whole:
                assert rated.combined == units(row["combined_rate"]), row
        if whole and row["principal"] == "y" and row["level"] == "place" and day.month == 12:
            written = f"{row['place_name']}, {row['county_name']}"
            assert ask(state, location=written, as_of=day).chosen.combined == rated.combined, row
    assert checked == rows


@at_hand
def test_californias_totals_are_the_published_ones(ask):
    path = SOURCES / "official" / "ca_cdtfa_2026-01-01.csv"
    checked = 0
    for row in read(path):
        if row["Type"] != "City":
            continue
        try:
            answer = ask("CA", location=row["Location"], as_of=date(2026, 2, 1))
        except NotResolved:  # a name that counties or towns share: the answer is in the refusal
            continue
        checked += 1
        assert answer.chosen.combined == units(row["Rate"]), row["Location"]
    assert checked > 470


@at_hand
def test_washingtons_totals_are_the_published_ones_in_every_quarter(ask):
    path = SOURCES / "official" / "wa_dor_quarterly_2022Q1_2026Q2.csv"
    checked = 0
    for row in read(path):
        if not row["location_code"].isdecimal():  # the shifted rows
            continue
        day = date.fromisoformat(row["effective"])
        try:
            answer = ask("WA", location=row["location_code"].zfill(4), as_of=day)
        except NotResolved:
            continue
        checked += 1
        assert answer.chosen.combined == units(row["total_rate"]), row
    assert checked > 7_000


@at_hand
@pytest.mark.parametrize(
    ("state", "day"), [("NC", "2026-10-01"), ("OH", "2026-02-01"), ("NV", "2025-11-01")]
)
def test_the_totals_of_county_states_are_the_published_ones(ask, state, day):
    path = SOURCES / "compiled" / "county_rates_nc_oh_nv.csv"
    checked = 0
    for row in read(path):
        if row["state"] != state or row["level"] != "county" or row["name"] == "Mecklenburg County":
            continue
        answer = ask(state, location=row["name"], as_of=date.fromisoformat(day))
        checked += 1
        percent = units(row["combined_rate_pct"])
        assert answer.chosen.combined * 100 == percent, row["name"]
    assert checked >= 17


DAY = date(2026, 9, 1)
STATE = {"AK": 0, "AL": 4_000, "AZ": 5_600, "MO": 4_225, "NM": 4_875, "NY": 4_000, "SC": 6_000}
STATE["TX"] = 6_250
CITIES = {"AK": 50, "AL": 30, "AZ": 61, "MO": 17, "NM": 29, "TX": 260}
CAP = 2_000  # of all local rates in Texas
NOT_CITIES = {"Crosby", "Hebbronville", "Zapata"}  # of Texas: districts in parts of the places


def compiled(name):
    with (SOURCES / "compiled" / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def percent_units(percent):
    """Percent in units of 10^-5, rounded half up."""
    return int((Decimal(percent) * 1000).quantize(Decimal(1), ROUND_HALF_UP))


@pytest.fixture(scope="module")
def table():
    """(state, kind of table) -> name -> (percent, county and districts), corrected as of `DAY`."""
    fixes = {(r["table"], r["name"]): r["should_be_pct"] for r in compiled("corrections_2026.csv")}
    for row in compiled("2026-11/corrections_2026-11.csv"):
        if (row["effective_from"] or "2026") <= DAY.isoformat():
            fixes[row["target"].rpartition(" ")[2], row["name"]] = row["should_be_pct"]
    kinds = {"COUNTY": "county", "BOROUGHS": "county", "CITIES": "city", "LOCATION": "city"}
    found = defaultdict(dict)
    for row in compiled("local_tables_2026.csv"):
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
    return {r["locality"] for r in compiled("district_members.csv") if r["state"] == "NY"}


@at_hand
@pytest.mark.parametrize("state", ["AL", "AZ", "MO", "NY", "SC", "TX"])
def test_every_county(book, table, mctd, state):
    by_name = {name_key(c.name): fips for (s, fips), c in book.counties.items() if s == state}
    for county, (percent, *_) in table[state, "county"].items():
        area = book.areas[f"{state}:county:{by_name[name_key(county)]}"]
        local = percent_units(percent) + 375 * (county in mctd and state == "NY")
        if "New York City" in area.cities:
            local += percent_units(table["NY", "city"]["New York City"][0])
        rated = rate_area(book, state, area, DAY)
        assert rated.combined == STATE[state] + local, county
        # whole where the list of counties is, or where the county is a city
        assert bool(rated.lacks) == (state not in {"NY", "SC"} and not area.cities), county
    assert len(table[state, "county"]) == len(by_name)


@at_hand
@pytest.mark.parametrize("state", sorted(CITIES))
def test_every_city(book, table, state):
    """Whole, but for doubtful rows and Texas under its cap; rounded half up to five decimals."""
    doubtful = {(r["state"], r["name"]) for r in compiled("2026-11/doubtful_rows.csv")}
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
        local = percent_units(percent) + percent_units(own) * (state != "TX" or not corrected)
        if state == "TX":  # the districts of its table; a city's figure has the county's share
            local += sum(percent_units(table["TX", "district"][one][0]) for one in parents[1:])
        sure = not {(state, name), (state, county)} & doubtful
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


@at_hand
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


@at_hand
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


@at_hand
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


@pytest.mark.parametrize(
    ("state", "place", "rate"),
    cases("""
    TX  Austin = 8250 | 78701 = 8250 | San Antonio = 8250 | Belton = 8250
    IL  Chicago = 10500
    AZ  85003 = 9100
    MO  St. Louis = 9679
    NM  Albuquerque = 7625 | Santa Fe = 8188
    AL  Birmingham = 10000
    ID  Ketchum = 8000 | Boise = 6000 | Star = 6000 | Ada County = 6000
    """),
)
def test_listed_cities_are_whole_and_medium(ask, state, place, rate):
    answer = ask(state, as_of=DAY, **named(place))
    assert (answer.chosen.combined, answer.confidence) == (int(rate), "medium")
    by_address = ["address_districts_not_covered"] if state in {"CO", "IL", "MO"} else []
    of_delivery = ["delivery_optional_unknown"] if state in {"CO", "FL", "IL"} else []
    rounded = ["rate_rounded"] if place == "Santa Fe" else []
    assert codes(answer) == by_address + rounded + of_delivery


@pytest.mark.parametrize(
    ("state", "place", "rate", "part"),
    cases("""
    TX  Bell County = 6750 = districts | Hood County = 6250 = districts
    IL  Skokie = 10500 = districts | Joliet = 9000 = districts
    CO  Jefferson County = 4500 = districts
    ID  Weiser = 6000 = districts
    NM  Taos = 8875 = districts | Gallup = 8563 = districts | 87801 = 4875 = local_rates
    LA  Lafayette = 5000 = local_rates | 70601 = 5000 = local_rates
    """),
)
def test_elsewhere_only_the_part_that_is_known_is_answered(ask, state, place, rate, part):
    answer = ask(state, as_of=DAY, **named(place))
    assert (answer.chosen.combined, answer.confidence) == (int(rate), "low")
    assert f"{part}_not_covered" in codes(answer)
    assert "address_districts_not_covered" not in codes(answer)


def test_a_town_that_lies_in_one_large_zip_is_no_sliver_of_it(ask):
    """Ketchum: 3 of 500 square miles of the ZIP that is called after it."""
    answer = ask("ID", as_of=DAY, zip="83340")
    assert (answer.chosen.combined, answer.confidence) == (8_000, "low")
    told = next(w for w in answer.advisories if w["code"] == "zip_spans_jurisdictions")
    assert (told["lowest_combined_rate"], told["share"]) == ("0.06000", "0.6871")
    point = ask("ID", as_of=DAY, lat=43.68, lng=-114.36)
    assert (point.chosen.area.name, point.confidence) == ("Ketchum", "medium")
    assert codes(point) == ["address_near_boundary"]  # Sun Valley begins there


@pytest.mark.parametrize(
    ("state", "place", "rate"),
    cases("""
    AK  Juneau = 5000 medium | 99801 = 5000 medium | Kenai = 6000 medium | Homer = 7850 medium
    AK  Sterling = 3000 medium | 99672 = 3000 medium | 99574 = 7000 medium
    AK  Skagway = 5000 low | Saint Paul = 3500 low | Seward = 7000 low
    AK  Haines = 5500 medium | Haines Borough = 4000 medium | Excursion Inlet = 3500 medium
    AK  North Pole = 5500 medium
    """),
)
def test_towns_of_alaska_add_up_with_their_borough(ask, state, place, rate):
    answer = ask(state, as_of=DAY, **named(place))
    total, level = rate.split()
    assert (answer.chosen.combined, answer.chosen.state, answer.confidence) == (
        int(total),
        0,
        level,
    )
    told = [w["message"] for w in answer.advisories if w["code"] == "seasonal_rates"]
    assert ["summer" in message for message in told] == [True] * (level == "low")


@pytest.mark.parametrize(
    "fields",
    [
        {"location": "Utqiagvik"},
        {"zip": "99723"},
        {"address": "1 Ahkovak St, Utqiagvik, AK 99723"},
        {"lat": 71.29, "lng": -156.79},
        {"location": "North Slope Borough"},
        {"lat": 71.0, "lng": -156.0},  # nowhere near a town
    ],
)
def test_elsewhere_in_alaska_nothing_is_answered_and_it_says_so(refused, fields):
    reason = refused("AK", as_of=DAY, **fields)
    assert reason.code == "NOT_FOUND"
    assert reason.detail["state"] == "AK"
