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


def test_a_city_nobody_knows_is_medium(ask):
    answer = ask("NC", street="1 Main St", city="Xyzzy", zip="27601")
    assert (answer.confidence, answer.location.city) == ("medium", "Raleigh")
    assert mismatch(answer) == ("Xyzzy", "Raleigh")


def test_where_the_state_alone_decides_a_mismatch_is_medium(ask):
    answer = ask("NJ", street="1 Main St", city="Trenton", zip="07030")
    assert (answer.confidence, codes(answer)) == ("medium", ["place_input_mismatch"])


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
