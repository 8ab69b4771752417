"""A ZIP and a city beside it: the city chooses, or it contradicts and says so."""

from __future__ import annotations

from datetime import date

import pytest


def codes(answer):
    return [warning["code"] for warning in answer.advisories]


def mismatch(answer):
    (found,) = [w for w in answer.advisories if w["code"] == "place_input_mismatch"]
    return found["customer_input_place"], found["resolved_place_name"]


def test_a_city_elsewhere_with_another_rate_is_low_and_a_candidate(ask):
    answer = ask("NC", street="1 Main St", city="Charlotte", zip="27601")
    assert (answer.chosen.combined, answer.confidence) == (7_250, "low")
    assert mismatch(answer) == ("Charlotte", "Raleigh")
    rates = {rated.area.name: rated.combined for rated, _ in answer.rated}
    assert rates == {"Wake County": 7_250, "Mecklenburg County": 8_250}


def test_a_city_elsewhere_with_the_same_rate_is_medium(ask):
    answer = ask("NC", street="1 Main St", city="Asheville", zip="27101")
    assert {rated.combined for rated, _ in answer.rated} == {7_000}
    assert len(answer.rated) == 2
    assert answer.confidence == "medium"
    assert mismatch(answer) == ("Asheville", "Winston Salem")


@pytest.mark.parametrize(
    ("state", "zip5", "city", "expected"),
    [
        ("MS", "39208", None, (7_000, "medium")),  # 7% of it is Jackson, which levies 1% more
        ("MS", "39208", "Pearl", (7_000, "high")),
        ("MS", "39208", "Jackson", (8_000, "medium")),
        ("OK", "73014", "Calumet", (8_850, "medium")),  # less than 1% of the ZIP, whose name it is
        ("OK", "73014", "El Reno", (8_850, "medium")),
        ("OK", "73014", "Canadian County", (4_850, "high")),
        ("CA", "90069", "West Hollywood", (10_500, "medium")),  # 39% of it
        ("CA", "90069", "Los Angeles", (9_750, "medium")),
        ("MN", "55121", "Eagan", (8_125, "high")),  # named after Saint Paul
        ("UT", "84107", "Murray", (7_650, "medium")),
        ("UT", "84107", "Millcreek", (7_450, "medium")),
        ("WA", "98402", "Tacoma", (10_400, "high")),  # 98.8% of it
        ("WA", "98402", "Ruston", (10_100, "medium")),
        ("VT", "05495", "Williston", (7_000, "medium")),
        ("VT", "05701", "Rutland Town", (7_000, "medium")),
        ("VT", "05641", "Barre", (7_000, "medium")),
        ("VT", "05641", "Barre Town", (6_000, "low")),
        ("MN", "56479", "Staples", (7_875, "medium")),
        ("AK", "99901", "Ketchikan", (8_000, "low")),
        ("WI", "53211", "Shorewood", (5_900, "medium")),
        ("WI", "53211", "Milwaukee", (7_900, "medium")),
    ],
)
def test_the_city_given_decides_among_the_places_of_a_zip(ask, state, zip5, city, expected):
    fields = {"street": "1 Main St", "city": city} if city else {}
    answer = ask(state, zip=zip5, as_of=date(2026, 6, 1), **fields)
    assert (answer.chosen.combined, answer.confidence) == expected
    assert "place_input_mismatch" not in codes(answer)


def test_a_transit_area_of_another_county_does_not_draw_the_zip_over(ask):
    answer = ask("OH", street="1 Main St", city="Dublin", zip="43017", as_of=date(2026, 2, 1))
    assert answer.simple()["rate"]["county"] == "Franklin County"


@pytest.mark.parametrize(
    ("city", "zip5", "shown"),
    [
        ("New York", "11201", "New York"),
        ("NYC", "10451", "New York"),
        ("New York City", "10001", "New York"),
        ("Brooklyn", "11201", "Brooklyn"),
        ("Queens", "11354", "Queens"),
        ("Flushing", "11354", "Flushing"),
        ("Manhattan", "10001", "Manhattan"),
        ("Staten Island", "10301", "Staten Island"),
    ],
)
def test_the_names_of_new_york_city_are_right_in_every_borough(ask, city, zip5, shown):
    answer = ask("NY", street="1 Main St", city=city, zip=zip5)
    assert "place_input_mismatch" not in codes(answer)
    assert (answer.location.city, answer.chosen.combined) == (shown, 8_875)


def test_a_borough_named_for_another_is_a_mismatch(ask):
    answer = ask("NY", street="1 Main St", city="Brooklyn", zip="10451")
    assert mismatch(answer) == ("Brooklyn", "Bronx")


def test_a_short_name_is_answered_in_full(ask):
    for state, short, zip5, name in (
        ("CA", "Signal Hl", "90755", "Signal Hill"),
        ("CA", "So. San Francisco", "94080", "South San Francisco"),
        ("CA", "W Hollywood", "90069", "West Hollywood"),
    ):
        answer = ask(state, street="1 Main St", city=short, zip=zip5)
        assert (answer.location.city, answer.chosen.area.name) == (name, name)
        assert "place_input_mismatch" not in codes(answer)


def test_the_county_given_is_right_where_the_state_alone_decides_too(ask):
    camden = ask("NJ", street="1 Main St", city="Camden County", zip="08002")
    assert "place_input_mismatch" not in codes(camden)
    assert camden.simple()["rate"]["county"] == "Camden County"
    assert mismatch(ask("NJ", street="1 Main St", city="Essex County", zip="08002"))


def test_a_city_nobody_knows_is_medium(ask):
    answer = ask("NC", street="1 Main St", city="Xyzzy", zip="27601")
    assert (answer.confidence, answer.location.city) == ("medium", "Raleigh")
    assert mismatch(answer) == ("Xyzzy", "Raleigh")


def test_where_the_state_alone_decides_a_mismatch_is_said_and_casts_no_doubt(ask):
    answer = ask("NJ", street="1 Main St", city="Trenton", zip="07030")
    assert (answer.confidence, codes(answer)) == ("high", ["place_input_mismatch"])


@pytest.mark.parametrize(
    ("state", "city", "zip5", "resolved"),
    [
        ("MD", "Xyzzy", "19973", "Dorchester County"),
        ("MD", "Seaford", "19973", "Dorchester County"),
        ("VA", "Stoneville", "27048", "Henry County"),
    ],
)
def test_a_zip_of_another_state_does_not_bring_its_city_along(ask, state, city, zip5, resolved):
    answer = ask(state, street="1 Main St", city=city, zip=zip5, as_of=date(2026, 9, 1))
    assert (answer.confidence, answer.location.city) == ("medium", None)
    assert mismatch(answer) == (city, resolved)
    assert codes(answer)[0] == "zip_of_another_state"


def test_a_zip_of_another_state_names_it(ask):
    answer = ask("MD", zip="19973")
    assert (answer.confidence, answer.location.city) == ("medium", None)
    assert answer.advisories[0]["states"] == ("DE",)


def test_the_county_given_for_the_city_chooses_among_those_of_the_zip(ask):
    union = ask("NC", street="1 Main St", city="Union County", zip="28105")
    assert (union.chosen.area.name, union.chosen.combined) == ("Union County", 6_750)
    assert "place_input_mismatch" not in codes(union)
    there = ask("NC", street="1 Main St", city="Mecklenburg County", zip="28105")
    assert there.chosen.combined == 8_250


def test_a_city_with_its_state_is_that_city(ask, refused):
    for city in ("Charlotte, NC", "Charlotte, N.C.", "Charlotte North Carolina", "Charlotte, USA"):
        answer = ask("NC", street="1 Main St", city=city, zip="28202")
        assert (codes(answer), answer.location.city) == (["address_not_matched"], "Charlotte")
    reason = refused("NC", street="1 Main St", city="Charlotte, SC", zip="28202")
    assert "names SC" in reason.message
