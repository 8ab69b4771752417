"""Places and districts of rate files: their names, their counties, what adds up in them."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest

from svc_tools.service.ratebook.imports.sst_rows import DISTRICTS, UNPLACED
from svc_tools.service.ratebook.names import name_key

DAY = date(2026, 5, 1)
METRO = {"Anoka", "Carver", "Dakota", "Hennepin", "Ramsey", "Scott", "Washington"}


def codes(answer):
    return [warning["code"] for warning in answer.advisories]


def parts(answer):
    return [
        (c.jurisdiction.level, c.jurisdiction.code, c.row.units) for c in answer.chosen.components
    ]


def test_every_city_of_a_file_is_an_area_of_its_main_county(book):
    places = {state: book.places(state) for state in ("GA", "MN", "WI")}
    cities = [
        (row.state, row.code)
        for row in book.jurisdictions.values()
        if row.level == "city"
        and row.state in places
        and any(rate.source == f"sst-{row.state.lower()}" for rate in book.rates[row.id])
    ]
    assert Counter(state for state, _ in cities) == {"GA": 5, "MN": 66, "WI": 1}
    for state, code in cities:
        area = book.areas[f"{state}:city:{code}"]
        dekalb = code == "05000"  # Atlanta's part of the county, of which the Census has no code
        place = places[state]["04000" if dekalb else code]
        assert name_key(area.cities[0]) == name_key(place.name)
        assert area.counties[0] == ("089" if dekalb else place.counties.split()[0])
        assert area.components[0] == f"{state}:county:{area.counties[0]}"


@pytest.mark.parametrize(
    ("state", "fields", "rate"),
    [
        ("MN", {"address": "350 S 5th St, Minneapolis, MN 55415"}, 9_025),
        ("MN", {"zip": "55401"}, 9_025),
        ("MN", {"location": "Duluth"}, 8_875),
        ("MN", {"location": "Hennepin County"}, 8_525),
        ("MN", {"location": "Eagan"}, 8_125),
        ("MN", {"location": "St. Cloud", "as_of": date(2025, 3, 31)}, 7_625),
        ("MN", {"location": "St. Cloud"}, 8_000),
        ("MN", {"location": "Waite Park"}, 8_500),
        ("MN", {"location": "Grand Marais"}, 8_375),
        ("MN", {"location": "Winona"}, 7_625),
        ("MN", {"location": "Bemidji", "as_of": date(2024, 6, 30)}, 7_875),
        ("MN", {"location": "Bemidji"}, 8_500),
        ("MN", {"location": "Lanesboro", "as_of": date(2024, 12, 31)}, 7_875),
        ("MN", {"location": "Lanesboro"}, 7_375),
        ("MN", {"location": "Red Lake County"}, 6_875),
        ("GA", {"address": "55 Trinity Ave SW, Atlanta, GA 30303"}, 8_900),
        ("GA", {"zip": "30303"}, 8_900),
        ("GA", {"zip": "31401"}, 7_000),
        ("GA", {"location": "Roswell"}, 7_750),
        ("GA", {"location": "DeKalb County"}, 8_000),
        ("GA", {"location": "DeKalb County", "as_of": date(2018, 3, 31)}, 7_000),
        ("GA", {"location": "East Point"}, 8_750),
        ("GA", {"location": "Bibb County", "as_of": date(2012, 6, 1)}, 7_000),
        ("GA", {"location": "Sandy Springs"}, 7_750),
        ("GA", {"location": "Dunwoody"}, 8_000),
        ("MN", {"location": "St. Louis Park"}, 8_525),
        ("MN", {"location": "Maplewood"}, 8_375),
        ("MN", {"location": "Columbia Heights"}, 8_125),
    ],
)
def test_what_adds_up(ask, state, fields, rate):
    answer = ask(state, **{"as_of": DAY, **fields})
    assert answer.chosen.combined == rate
    divided = fields.get("location") == "St. Cloud"  # by three counties
    assert answer.confidence == ("medium" if divided else "high")


@pytest.mark.parametrize("city", ["College Park", "East Point", "Hapeville"])
def test_cities_that_came_to_share_a_district_have_no_doubt_left(ask, city):
    for day, rate in ((date(2022, 6, 1), 7_750), (DAY, 8_750), (date(2026, 11, 22), 8_750)):
        answer = ask("GA", location=city, as_of=day)
        assert (answer.chosen.combined, answer.confidence, codes(answer)) == (rate, "high", [])


def test_a_city_of_the_post_office_beside_a_zip_answers_where_the_zip_reaches_into_it(ask):
    """ZIP 30328 is all Sandy Springs, whatever its mail says; 55416 reaches into Minneapolis."""
    for state, zip5, city, rate, low, high in (
        ("GA", "30328", "Atlanta", 7_750, "", ""),
        ("MN", "55416", "Minneapolis", 9_025, "0.08525", "0.09775"),
        ("MN", "55416", "St. Louis Park", 8_525, "0.08525", "0.09775"),
    ):
        answer = ask(state, street="1 Main St", city=city, zip=zip5, as_of=DAY)
        told = [w for w in answer.advisories if w["code"] == "zip_spans_jurisdictions"]
        ends = [(w["lowest_combined_rate"], w["highest_combined_rate"]) for w in told]
        assert (answer.chosen.combined, ends) == (rate, [(low, high)] if low else [])


def test_minneapolis_part_by_part(ask):
    assert parts(ask("MN", location="Minneapolis", as_of=DAY)) == [
        ("state", "27", 6_875),
        ("county", "053", 150),
        ("city", "43000", 500),
        ("district", "80004", 500),
        ("district", "80008", 750),
        ("district", "80009", 250),
    ]


def test_metro_districts_are_in_seven_counties(book):
    for code in ("80008", "80009"):
        inside = {
            book.counties["MN", area.counties[0]].name.removesuffix(" County")
            for area in book.areas.values()
            if f"MN:district:{code}" in area.components
        }
        assert inside == METRO
    whole = [a for a in book.areas.values() if a.state == "MN" and a.kind == "county"]
    assert len(whole) == 87


def test_a_city_over_a_county_line_adds_up_with_each_county(ask, book):
    cloud = {a.id: set(a.components) for a in book.areas.values() if "St. Cloud" in a.cities}
    assert {key: min(parts) for key, parts in cloud.items()} == {
        "MN:city:56896": "MN:county:145",
        "MN:city:56896@009": "MN:county:009",
        "MN:city:56896@141": "MN:county:141",
    }
    assert all("MN:district:80001" in parts for parts in cloud.values())
    there = ask("MN", zip="56304", as_of=DAY)  # across the river, in Sherburne and Benton County
    assert set(there.chosen.area.counties) < {"009", "141"}
    assert there.chosen.combined == 6_875 + 500 + 500


def test_a_district_that_may_apply_is_said(ask):
    for fields in ({"zip": "56450"}, {"location": "Garrison"}, {"location": "Mille Lacs County"}):
        answer = ask("MN", as_of=DAY, **fields)
        assert "districts_not_covered" in codes(answer)
        assert answer.confidence in {"low", "medium"}
    assert "districts_not_covered" not in codes(ask("MN", location="Brainerd", as_of=DAY))
    before = ask("MN", location="Mille Lacs County", as_of=date(2017, 12, 31))
    assert "districts_not_covered" not in codes(before)


def test_a_tax_that_is_in_a_part_of_some_counties_makes_them_a_lower_bound_from_its_day(ask):
    for day, county in ((date(2026, 6, 30), "high"), (date(2026, 7, 1), "low")):
        for name, level in (("Lyon County", county), ("Marshall", "high")):
            assert ask("MN", location=name, as_of=day).confidence == level, (name, day)


def test_a_district_that_no_published_total_has_is_missing_and_in_no_answer(ask, book):
    assert "99999" in book.states["GA"].missing
    assert not any("99999" in key for key in book.rates)
    assert codes(ask("GA", location="Savannah", as_of=DAY)) == []


def test_before_the_file_lists_what_ended_no_history_is_claimed(ask):
    answer = ask("MN", location="Hennepin County", as_of=date(2016, 1, 1))
    told = next(w for w in answer.advisories if w["code"] == "as_of_before_history")
    assert (told["oldest"], answer.confidence) == ("2021-10-01", "low")


def test_every_place_of_a_district_is_told_by_one_entry():
    keys = [(one.state, one.code) for one in (*DISTRICTS, *UNPLACED)]
    assert len(keys) == len(set(keys))
    assert all(one.counties or one.members for one in DISTRICTS)
