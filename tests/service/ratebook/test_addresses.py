"""From an address: its ZIP, else its city; never the street, and it says so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc_tools.service.ratebook.by_address import parse_line


def codes(answer):
    return [warning["code"] for warning in answer.advisories]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("400 Broad St, Seattle, WA 98109", ("Seattle", "WA", "98109")),
        ("400 Broad St, Seattle, WA 98109-4607", ("Seattle", "WA", "98109")),
        ("400 Broad St, Seattle WA", ("Seattle", "WA", "")),
        ("12345 Lake City Way NE, Seattle, WA", ("Seattle", "WA", "")),
        ("12345 Lake City Way NE, Seattle, WA 98125, USA", ("Seattle", "WA", "98125")),
        ("1 Main St, Saint Petersburg, Florida", ("Saint Petersburg", "FL", "")),
        ("1 Main St, Las Vegas, NV, 89101", ("Las Vegas", "NV", "89101")),
        ("90210 Wilshire", ("", "", "")),
    ],
)
def test_reading_a_line(line, parts):
    assert parse_line(line) == parts


@settings(deadline=None)  # the first example reads tables
@given(st.text(max_size=200))
def test_any_line_can_be_read(line):
    city, state, zip5 = parse_line(line)
    assert zip5 == "" or (len(zip5) == 5 and zip5.isdigit())
    assert state == "" or len(state) == 2
    assert isinstance(city, str)


@settings(deadline=None)  # the first example reads tables
@given(number=st.integers(1, 99_999), zip5=st.from_regex(r"[0-9]{5}", fullmatch=True))
def test_the_zip_at_the_end_is_read_and_the_house_number_is_not(number, zip5):
    assert parse_line(f"{number} Main St, Springfield, OH {zip5}").zip == zip5
    assert parse_line(f"{number} Main St, Springfield, OH").zip == ""


def test_the_zip_decides_and_the_street_is_said_to_be_unmatched(ask):
    answer = ask("NC", address="600 E 4th St, Charlotte, NC 28202")
    assert codes(answer) == ["address_not_matched"]
    assert answer.location.zip == "28202"


def test_where_the_state_alone_decides_no_street_is_needed(ask):
    answer = ask("MI", address="1600 Michigan Ave, Detroit, MI 48226")
    assert codes(answer) == []
    assert answer.location.zip == "48226"


def test_the_further_names_of_a_zip_are_told(ask):
    meta = ask("CA", zip="90069").simple()["meta"]
    assert "West Hollywood" in meta["accepted_places"] or "Los Angeles" in meta["accepted_places"]
    assert "accepted_places" not in ask("CA", location="San Francisco").simple()["meta"]


def test_without_a_zip_the_city_decides(ask):
    answer = ask("NC", address="600 E 4th St, Charlotte, NC")
    assert (answer.location.via, answer.chosen.combined) == ("place", 8_250)
    assert codes(answer) == ["address_not_matched"]


def test_the_city_given_chooses_among_the_areas_of_a_zip(ask):
    line = ask("CA", address="8500 Melrose Ave, West Hollywood, CA 90069")
    parts = ask("CA", street="8500 Melrose Ave", city="West Hollywood", zip="90069")
    assert line.chosen.area.name == parts.chosen.area.name == "West Hollywood"
    assert line.location.via == "place"


def test_a_suburb_in_a_zip_of_the_city(ask):
    suburb = ask("WI", street="1 Main St", city="Shorewood", zip="53211")
    city = ask("WI", street="1 Main St", city="Milwaukee", zip="53211")
    assert (suburb.chosen.combined, city.chosen.combined) == (5_900, 7_900)
    assert "place_input_mismatch" not in codes(suburb)


def test_a_city_that_is_not_of_the_zip(ask):
    answer = ask("CA", address="1 Main St, Los Angeles, CA 90401")
    assert answer.chosen.area.name == "Santa Monica"
    warning = answer.advisories[0]
    assert warning["code"] == "place_input_mismatch"
    assert warning["customer_input_place"] == "Los Angeles"
    assert warning["resolved_place_name"] == "Santa Monica"
    assert "Los Angeles" in {rated.area.name for rated, _ in answer.rated}


@pytest.mark.parametrize(
    ("city", "zip5"),
    [("St. Louis", "63101"), ("SAINT LOUIS", "63101"), ("saint louis", "63101-1234")],
)
def test_spellings_are_no_mismatch(ask, city, zip5):
    assert "place_input_mismatch" not in codes(ask("MO", street="1 Main", city=city, zip=zip5))


def test_a_mismatch_is_said_where_the_state_decides_too(ask):
    assert "place_input_mismatch" in codes(ask("NJ", street="1 Main", city="Trenton", zip="07030"))


@pytest.mark.parametrize(
    ("state", "fields", "says"),
    [
        ("TX", {"address": "1 Main St, Los Angeles, CA 90012"}, "it lies in CA"),
        ("TX", {"address": "1 Main St, Los Angeles, CA"}, "names CA"),
        ("NC", {"address": "somewhere far away"}, "no ZIP and no city"),
        ("NC", {"street": "1 Main St", "city": "Nowhere at all"}, "not a city or county"),
    ],
)
def test_an_address_that_leads_nowhere(refused, state, fields, says):
    reason = refused(state, **fields)
    assert reason.code == "NOT_FOUND"
    assert says in reason.message
