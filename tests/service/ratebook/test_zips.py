"""From a ZIP: every one has a rate or a reason, and the other counties are said."""

from __future__ import annotations

from datetime import date

import pytest

from svc_tools.service.ratebook import NotResolved

COUNTY_UNKNOWN = {
    ("GA", "30138"), ("GA", "30645"), ("NM", "87654"), ("PA", "15439"), ("PA", "18005"),
    ("PA", "18768"), ("VA", "24619"),
}  # fmt: skip
"""ZIPs of covered states that no table gives a county for, nor for their city."""


def codes(answer):
    return [warning["code"] for warning in answer.advisories]


def test_every_zip_has_a_rate_or_a_reason(book, ask):
    refused = set()
    for state in set(book.states) - {"AK"}:
        for zip5 in book.zips.zips(state):
            try:
                rated = ask(state, zip=zip5).chosen
            except NotResolved:
                refused.add((state, zip5))
                continue
            assert rated.combined == rated.state + rated.county + rated.city + rated.district
            assert 0 <= rated.combined <= 15_000
    assert refused == COUNTY_UNKNOWN


def test_a_zip_without_a_county_says_what_to_give(refused):
    for state, zip5 in COUNTY_UNKNOWN:
        assert "give the place, the county or coordinates" in refused(state, zip=zip5).message


def test_zip_plus_four_is_its_zip(ask):
    assert ask("CA", zip="94105-1234").simple() == ask("CA", zip="94105").simple()


def test_a_zip_of_several_counties_says_so(ask):
    answer = ask("OH", zip="43068")
    (warning,) = [w for w in answer.advisories if w["code"] == "zip_spans_jurisdictions"]
    assert warning["candidates"] == len(answer.rated)
    assert warning["lowest_combined_rate"] == "0.06750"
    assert warning["highest_combined_rate"] == "0.08250"
    overlays = {rated.area.name for rated, _ in answer.rated if rated.area.kind == "overlay"}
    assert "COTA transit area in Licking County" in overlays


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"zip": "43035"}, "COTA transit area in Delaware County"),
        ({"location": "Delaware County"}, "COTA transit area in Delaware County"),
        ({"location": "Delaware"}, "COTA transit area in Delaware County"),
        ({"lat": 40.2987, "lng": -83.0680}, "COTA transit area in Delaware County"),
        ({"zip": "43551"}, "TARTA transit area in Wood County"),
    ],
)
def test_a_transit_area_that_only_city_names_tell_is_a_candidate(ask, fields, name):
    answer = ask("OH", as_of=date(2026, 2, 1), **fields)
    assert answer.confidence == "medium"
    assert [rated.area.kind for rated, _ in answer.rated] == ["county", "overlay"]
    assert answer.rated[1][0].area.name == name
    assert codes(answer) == ["zip_spans_jurisdictions"]  # a whole rate, not a partial one


def test_a_city_that_names_its_transit_area_is_in_it(ask):
    answer = ask("OH", location="Rossford", as_of=date(2026, 2, 1))
    assert (answer.chosen.area.kind, answer.chosen.combined) == ("overlay", 7_250)
    assert ask("OH", zip="43215", as_of=date(2026, 2, 1)).confidence == "high"


def test_a_city_of_the_same_name_elsewhere_is_not_a_candidate(ask):
    # Fairfield is a city of Spokane County in Washington, and one of Solano in California
    names = {rated.area.name for rated, _ in ask("CA", zip="94533").rated}
    assert names == {"Fairfield", "Solano County (unincorporated area)"}


def test_a_zip_of_one_county_in_an_official_table_is_high(ask):
    answer = ask("NC", zip="28202")
    assert (answer.confidence, codes(answer)) == ("high", [])


def test_a_zip_that_reaches_over_a_state_line_names_the_other_state(ask):
    answer = ask("TN", zip="37642")  # Church Hill
    (note,) = [w for w in answer.advisories if w["code"] == "zip_crosses_state_line"]
    assert note["states"] == ("VA",)
    assert "Make sure of the state" in note["message"]
    assert {rated.area for rated, _ in answer.rated} == {None}  # no rate of the other state
    assert "zip_crosses_state_line" not in codes(ask("VA", zip="37642"))
    assert "zip_crosses_state_line" not in codes(ask("NC", zip="28202"))


def test_a_zip_over_a_state_line_answers_in_both(book, ask):
    crossing = [z for z in book.zips.zips("VA") if z not in book.zips.state("VA")]
    assert "37642" in crossing  # Church Hill, Tennessee
    for zip5 in crossing:
        assert ask("VA", zip=zip5).chosen.area.state == "VA"
    assert ask("TN", zip="37642").chosen.combined == 7_000


@pytest.mark.parametrize(
    ("state", "zip5", "says", "states"),
    [
        ("CA", "97201", "it lies in OR", ["OR"]),
        ("WA", "94105-1234", "it lies in CA", ["CA"]),
        ("CA", "00901", "Puerto Rico", ["PR"]),
        ("NY", "09012", "military", ["AE"]),
        ("HI", "96910", "Guam", ["GU"]),
        ("NJ", "00000", "unknown", None),
    ],
)
def test_a_zip_that_is_not_of_the_state(refused, state, zip5, says, states):
    reason = refused(state, zip=zip5)
    assert reason.code == "NOT_FOUND"
    assert says in reason.message
    assert reason.detail.get("states") == states


@pytest.mark.parametrize("state", ["PR", "VI", "GU", "MP", "AS", "AA", "AE", "AP", "ZZ"])
def test_what_is_no_state(refused, state):
    reason = refused(state, zip="00901")
    assert reason.code == "STATE_NOT_SUPPORTED"
    assert state in reason.message


def test_alaska_is_not_answered(refused):
    reason = refused("AK", zip="99501")
    assert reason.code == "NOT_FOUND"
    assert "boroughs" in reason.message


def test_a_state_part_is_never_passed_off_as_the_whole(ask):
    answer = ask("UT", zip="84101")
    assert (answer.confidence, answer.location.via) == ("low", "state")
    assert codes(answer) == ["local_rates_not_covered"]


@pytest.mark.parametrize(
    ("state", "zip5", "county", "area"),
    [
        ("WA", "98189", "033", "Seattle"),
        ("GA", "31144", "067", "Cobb County"),
        ("CA", "90140", "037", "City of Commerce"),
    ],
)
def test_a_zip_without_a_county_lies_where_its_city_does(ask, state, zip5, county, area):
    answer = ask(state, zip=zip5, as_of=date(2026, 5, 1))
    assert (answer.location.county, answer.chosen.area.name) == (county, area)
    assert answer.confidence in {"low", "medium"}
