"""Rates that are known to be right, end to end, in every mode."""

from __future__ import annotations

from datetime import date

import pytest

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
        ("PA", {"zip": "19103"}, "0.08000"),
        ("PA", {"location": "Pittsburgh"}, "0.07000"),
        ("PA", {"location": "Scranton"}, "0.06000"),
        ("WI", {"location": "Milwaukee"}, "0.07900"),
        ("WI", {"zip": "53202"}, "0.07900"),
        ("WI", {"location": "Milwaukee County"}, "0.05900"),
        ("WI", {"location": "West Allis"}, "0.05900"),
        ("WI", {"location": "Waukesha"}, "0.05000"),
        ("NC", {"location": "Charlotte", "as_of": date(2026, 7, 1)}, "0.08250"),
        ("NC", {"location": "Charlotte", "as_of": date(2026, 6, 30)}, "0.07250"),
        ("NC", {"location": "Mecklenburg County"}, "0.08250"),
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
        ("CT", {"location": "Hartford", "as_of": date(2022, 3, 1)}, "0.06350"),
        ("GA", {"location": "East Point", "as_of": date(2022, 6, 1)}, "0.07750"),
        ("GA", {"location": "East Point"}, "0.08750"),
        ("SD", {"zip": "57104"}, "0.06200"),
        ("SD", {"zip": "57104", "as_of": date(2023, 6, 30)}, "0.06500"),
        ("SD", {"zip": "57104", "as_of": date(2027, 7, 1)}, "0.06500"),
        ("LA", {"zip": "70112"}, "0.05000"),
        ("LA", {"zip": "70112", "as_of": date(2030, 1, 1)}, "0.04750"),
        ("NM", {"zip": "87101"}, "0.07625"),
        ("MN", {"location": "Minneapolis"}, "0.09025"),
        ("MN", {"zip": "55401"}, "0.09025"),
        ("MN", {"location": "St. Paul"}, "0.09875"),
        ("GA", {"location": "Atlanta"}, "0.08900"),
        ("GA", {"address": "55 Trinity Ave SW, Atlanta, GA 30303"}, "0.08900"),
        ("NY", {"location": "New York"}, "0.08875"),
        ("NY", {"location": "New York City"}, "0.08875"),
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
        ("TX", {"location": "Dallas"}, "0.08250"),
        ("TX", {"location": "Abilene"}, "0.08250"),
        ("TX", {"location": "Floydada"}, "0.08000"),
        ("TX", {"location": "Bell County"}, "0.06750"),
        ("TX", {"location": "Hood County"}, "0.06250"),
        ("IL", {"location": "Chicago"}, "0.10500"),
        ("IL", {"location": "Chicago", "as_of": date(2026, 7, 31)}, "0.10250"),
        ("IL", {"location": "Champaign"}, "0.09250"),
        ("IL", {"location": "DuPage County"}, "0.07250"),
        ("AZ", {"location": "Phoenix"}, "0.09100"),
        ("AZ", {"location": "Sahuarita"}, "0.08100"),
        ("MO", {"location": "St. Louis County"}, "0.07738"),
        ("MO", {"location": "Florissant"}, "0.08988"),
        ("MO", {"location": "Taney County"}, "0.06350"),
        ("MO", {"zip": "64117"}, "0.08725"),
        ("ID", {"location": "Ketchum"}, "0.08000"),
        ("ID", {"location": "McCall"}, "0.07000"),
        ("ID", {"location": "Boise"}, "0.06000"),
        ("AK", {"location": "Juneau"}, "0.05000"),
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
