"""Known rates and whole bodies, and the places and districts of rate files, part by part."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest

from svc_tools.service.ratebook.imports.sst_rows import DISTRICTS, UNPLACED
from svc_tools.service.ratebook.names import name_key

PARTS = ("country_rate", "state_rate", "county_rate", "city_rate", "combined_district_rate")


@pytest.mark.parametrize(
    ("state", "fields", "rate"),
    [
        ("CA", {"zip": "94105"}, "0.08625"),
        ("CA", {"lat": 34.0537, "lng": -118.2428}, "0.09750"),
        ("CA", {"location": "San Jose"}, "0.10000"),
        ("CA", {"location": "San Jose", "as_of": date(2026, 3, 31)}, "0.09375"),
        ("CA", {"location": "Monterey County"}, "0.08750"),
        ("WA", {"location": "Seattle", "as_of": date(2026, 5, 1)}, "0.10550"),
        ("WA", {"location": "Seattle"}, "0.10550"),
        ("WA", {"location": "Seattle", "as_of": date(2024, 6, 1)}, "0.10350"),
        ("WA", {"location": "Seattle", "as_of": date(2022, 2, 1)}, "0.10250"),
        ("NJ", {"zip": "07030"}, "0.06625"),
        ("OR", {"zip": "97201"}, "0.00000"),
        ("MI", {"zip": "48226"}, "0.06000"),
        ("PA", {"location": "Philadelphia"}, "0.08000"),
        ("PA", {"location": "Pittsburgh"}, "0.07000"),
        ("PA", {"location": "Scranton"}, "0.06000"),
        ("WI", {"location": "Milwaukee"}, "0.07900"),
        ("WI", {"zip": "53202"}, "0.07900"),
        ("WI", {"location": "Milwaukee County"}, "0.05900"),
        ("WI", {"location": "Waukesha"}, "0.05000"),
        ("NC", {"location": "Charlotte", "as_of": date(2026, 7, 1)}, "0.08250"),
        ("NC", {"location": "Charlotte", "as_of": date(2026, 6, 30)}, "0.07250"),
        ("VA", {"location": "Fairfax"}, "0.06000"),
        ("VA", {"location": "Williamsburg"}, "0.07000"),
        ("VA", {"location": "Richmond"}, "0.06000"),
        ("VA", {"location": "Richmond County"}, "0.05300"),
        ("VA", {"location": "Danville"}, "0.06300"),
        ("HI", {"location": "Honolulu"}, "0.04500"),
        ("FL", {"location": "Miami-Dade"}, "0.07000"),
        ("FL", {"location": "Okeechobee County"}, "0.07000"),
        ("NV", {"location": "Las Vegas"}, "0.08375"),
        ("NV", {"location": "Carson City"}, "0.07600"),
        ("OH", {"location": "Cleveland"}, "0.08000"),
        ("MS", {"location": "Jackson"}, "0.08000"),
        ("MS", {"location": "Tupelo"}, "0.07250"),
        ("MS", {"location": "Biloxi"}, "0.07000"),
        ("DC", {"zip": "20001"}, "0.06000"),
        ("DC", {"zip": "20001", "as_of": date(2027, 10, 1)}, "0.07000"),
        ("TN", {"location": "Memphis"}, "0.09750"),
        ("TN", {"location": "Nashville", "as_of": date(2025, 1, 31)}, "0.09250"),
        ("TN", {"location": "Nashville"}, "0.09750"),
        ("AR", {"location": "Little Rock"}, "0.08625"),
        ("KS", {"location": "Wichita"}, "0.07500"),
        ("NE", {"location": "Omaha"}, "0.07000"),
        ("ND", {"location": "Fargo"}, "0.07750"),
        ("UT", {"location": "Salt Lake City"}, "0.08450"),
        ("WY", {"location": "Cheyenne", "as_of": date(2026, 3, 31)}, "0.06000"),
        ("WY", {"location": "Cheyenne"}, "0.05000"),
        ("CO", {"location": "Denver"}, "0.09150"),
        ("SD", {"zip": "57104", "as_of": date(2023, 6, 30)}, "0.06500"),
        ("SD", {"zip": "57104", "as_of": date(2027, 7, 1)}, "0.06500"),
        ("LA", {"zip": "70112"}, "0.05000"),
        ("LA", {"zip": "70112", "as_of": date(2030, 1, 1)}, "0.04750"),
        ("NM", {"zip": "87101"}, "0.07625"),
        ("MN", {"location": "St. Paul"}, "0.09875"),
        ("GA", {"location": "Atlanta"}, "0.08900"),
        ("NY", {"location": "New York"}, "0.08875"),
        ("NY", {"location": "Brooklyn"}, "0.08875"),
        ("NY", {"zip": "10451"}, "0.08875"),
        ("NY", {"location": "Yonkers"}, "0.08875"),
        ("NY", {"location": "White Plains"}, "0.08375"),
        ("NY", {"location": "Nassau County"}, "0.08625"),
        ("NY", {"location": "Buffalo"}, "0.08750"),
        ("SC", {"location": "Myrtle Beach"}, "0.09000"),
        ("SC", {"location": "Horry County"}, "0.08000"),
        ("TX", {"address": "1100 Congress Ave, Austin, TX 78701"}, "0.08250"),
        ("TX", {"location": "El Paso"}, "0.08250"),
        ("TX", {"location": "Abilene"}, "0.08250"),
        ("TX", {"location": "Floydada"}, "0.08000"),
        ("IL", {"location": "Chicago", "as_of": date(2026, 7, 31)}, "0.10250"),
        ("IL", {"location": "Champaign"}, "0.09250"),
        ("IL", {"location": "DuPage County"}, "0.07250"),
        ("AZ", {"location": "Sahuarita"}, "0.08100"),
        ("MO", {"location": "St. Louis County"}, "0.07738"),
        ("MO", {"location": "Florissant"}, "0.08988"),
        ("MO", {"location": "Taney County"}, "0.06350"),
        ("MO", {"zip": "64117"}, "0.08725"),
        ("ID", {"location": "McCall"}, "0.07000"),
        ("AK", {"location": "Soldotna"}, "0.06000"),
        ("AK", {"zip": "99901"}, "0.08000"),
        ("AK", {"location": "Kenai Peninsula Borough"}, "0.03000"),
    ],
)
def test_a_known_rate(ask, state, fields, rate):
    body = ask(state, **fields).simple()
    assert body["rate"]["combined_rate"] == rate
    total = sum(int(body["rate"][part].replace(".", "")) for part in PARTS)
    assert total == int(rate.replace(".", ""))


def test_the_whole_body_of_an_answer(ask):
    assert ask("WI", zip="53211", as_of=date(2026, 5, 1), period="20262").simple() == {
        "rate": {
            "state": "WI",
            "zip": "53211",
            "city": "Milwaukee",
            "county": "Milwaukee County",
            "country": "US",
            "country_rate": "0.00000",
            "state_rate": "0.05000",
            "county_rate": "0.00900",
            "city_rate": "0.02000",
            "combined_district_rate": "0.00000",
            "combined_rate": "0.07900",
            "freight_taxable": True,
        },
        "meta": {
            "resolved_via": "zip5",
            "confidence": "low",
            "effective_date": "2024-01-01",
            "effective_date_basis": "publisher_effective_date",
            "period": "20262",
            "warnings": [
                {
                    "code": "zip_spans_jurisdictions",
                    "message": "ZIP 53211 lies in jurisdictions with 2 different rates,"
                    " from 0.05900 to 0.07900.",
                    "candidates": 2,
                    "lowest_combined_rate": "0.05900",
                    "highest_combined_rate": "0.07900",
                }
            ],
            "source": "Streamlined Sales Tax rate file of Wisconsin (WIR2026Q2FEB18.csv)",
            "edition": "2026Q2",
            "accepted_places": ["Glendale", "Shorewood", "Whitefish Bay"],
        },
    }


def test_the_full_body_shows_every_part_and_candidate(ask):
    answer = ask("VA", location="Williamsburg")
    full = answer.full()
    assert {**full, **answer.simple()} == full
    levels = [(part["level"], part["name"], part["rate"]) for part in full["components"]]
    assert levels == [
        ("state", "Virginia", "0.05300"),
        ("county", "Williamsburg city", "0.00000"),
        ("district", "Hampton Roads Region", "0.00700"),
        ("district", "Historic Triangle Region", "0.01000"),
    ]
    assert [c["combined_rate"] for c in full["candidates"] if c["chosen"]] == ["0.07000"]
    assert full["resolved_place"]["county_fips"] == "51830"


def test_candidates_say_why_and_the_chosen_one_leads(ask):
    candidates = ask("WI", zip="53211").full()["candidates"]
    assert [(c["rank"], c["chosen"], c["name"], c["combined_rate"]) for c in candidates] == [
        (1, True, "Milwaukee", "0.07900"),
        (2, False, "Milwaukee County", "0.05900"),
    ]
    assert all(candidate["why"] for candidate in candidates)


def test_an_answer_cannot_be_changed_through_its_body(ask):
    answer = ask("CA", zip="90069")
    answer.simple()["meta"]["warnings"][0]["code"] = "changed"
    answer.simple()["rate"]["combined_rate"] = "0.00000"
    assert answer.simple()["meta"]["warnings"][0]["code"] == "zip_spans_jurisdictions"
    assert answer.simple()["rate"]["combined_rate"] == "0.10500"


@pytest.mark.parametrize(
    ("state", "taxed"),
    [("MI", True), ("CA", False), ("OR", None), ("FL", False), ("TX", True)],
)
def test_freight(ask, state, taxed):
    zips = {"MI": "48226", "CA": "94105", "OR": "97201", "FL": "33130", "TX": "78701"}
    rate = ask(state, zip=zips[state]).simple()["rate"]
    assert rate["freight_taxable"] is taxed
    assert ("freight_note" in rate) == (state == "MI")


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
