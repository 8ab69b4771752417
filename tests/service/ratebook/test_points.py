"""From coordinates: the county, the nearest ZIP place, boundaries and borders."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import cases
from zipcodes import haversine

from svc_tools.service.ratebook import NotResolved
from svc_tools.service.ratebook.by_point import places_near
from svc_tools.service.ratebook.county_map import counties_at


@pytest.mark.parametrize(
    ("state", "point", "county", "rate"),
    cases("""
    NC  35.2271 -80.8431 = Mecklenburg County = 0.08250
    FL  25.7617 -80.1918 = Miami-Dade County = 0.07000
    VA  38.8816 -77.091 = Arlington County = 0.06000 | 37.334 -79.523 = Bedford County = 0.05300
    NV  39.1638 -119.7674 = Carson City = 0.07600
    MO  38.627 -90.1994 = St. Louis city = 0.09679
    SD  43.33 -102.55 = Oglala Lakota County = 0.04200
    WA  47.6062 -122.3321 = King County = 0.10550
    DC  38.8977 -77.0365 = District of Columbia = 0.06000
    """),
)
def test_a_point_in_its_county(ask, state, point, county, rate):
    lat, lng = map(float, point.split())
    answer = ask(state, lat=lat, lng=lng)
    written = answer.simple()["rate"]
    assert (written["county"], written["combined_rate"]) == (county, rate)
    assert written["zip"] is None  # the nearest ZIP is not known to be the point's


@pytest.mark.parametrize(
    ("state", "point", "units"),
    [
        ("NC", (35.2271, -80.8431), [8_250]),  # the middle of Charlotte
        ("NC", (35.2271, -80.6031), [8_250, 7_000]),  # beside Cabarrus County
        ("MS", (32.3000, -90.1800), [8_000, 7_000]),  # in or near Jackson, whose limits no one has
        ("WA", (47.3000, -121.9000), [10_300, 8_900]),  # a transit area holds a part of the county
    ],
)
def test_a_point_with_several_rates_near_by_is_low(ask, state, point, units):
    answer = ask(state, lat=point[0], lng=point[1], as_of=date(2026, 7, 1))
    assert list(dict.fromkeys(rated.combined for rated, _ in answer.rated)) == units
    assert answer.confidence == ("low" if len(units) > 1 else "high")


@pytest.mark.parametrize(
    ("state", "point", "says"),
    cases("""
    OR  34.0537 -118.2428 = it lies in Los Angeles County, CA
    NJ  40.7128 -74.006 = it lies in New York County, NY
    FL  18.4 -66.1 = Puerto Rico
    CA  0.0 0.0 = in no county | 37.0 -125.0 = in no county | 32.525 -117.02 = in no county
    MI  42.3149 -83.0364 = in no county | 42.976 -82.4 = in no county
    MT  49.02 -111.96 = in no county
    NH  42.7 -71.3 = it lies in Middlesex County, MA
    DC  38.985 -77.026 = it lies in Montgomery County, MD
    KY  38.27 -85.74 = it lies in Clark County, IN
    MD  38.6 -75.7 = it lies in Sussex County, DE
    """),
)
def test_a_point_outside_the_state(refused, state, point, says):
    lat, lng = map(float, point.split())
    reason = refused(state, lat=lat, lng=lng)
    assert reason.code == "NOT_FOUND"
    assert says in reason.message


@pytest.mark.parametrize(
    ("state", "given", "meant", "how"),
    [
        ("NC", (-80.8431, 35.2271), (35.2271, -80.8431), "latitude and longitude exchanged"),
        ("NC", (35.2271, 80.8431), (35.2271, -80.8431), "a western longitude"),
        ("GA", (33.749, 84.388), (33.749, -84.388), "a western longitude"),
    ],
)
def test_numbers_in_the_wrong_order_are_reported_to_be(refused, state, given, meant, how):
    reason = refused(state, lat=given[0], lng=given[1])
    assert how in reason.message
    assert f"({meant[0]}, {meant[1]}) it would lie in" in reason.message
    assert reason.detail["did_you_mean"] == {"lat": meant[0], "lng": meant[1]}


@pytest.mark.parametrize(
    ("state", "point", "others"),
    [
        ("MA", (42.70, -71.30), ("NH",)),
        ("MD", (38.985, -77.026), ("DC",)),
        ("NC", (36.535, -79.2), ("VA",)),
    ],
)
def test_a_point_near_a_state_line_is_no_more_than_medium(ask, state, point, others):
    answer = ask(state, lat=point[0], lng=point[1])
    assert answer.confidence == "medium"
    (told,) = [w for w in answer.advisories if w["code"] == "near_state_line"]
    assert told["states"] == others
    assert all(other in told["message"] for other in others)


def test_a_point_where_the_map_ends_is_no_more_than_medium(ask):
    answer = ask("MI", lat=42.3314, lng=-83.0458)  # Detroit, at the river
    assert (answer.confidence, answer.advisories[0]["code"]) == ("medium", "near_map_edge")
    assert ask("MI", lat=42.4, lng=-83.2).advisories == ()


@pytest.mark.parametrize(
    ("state", "lat", "lng"),
    [("ME", 45.19, -67.29), ("CA", 32.663, -115.47), ("NY", 43.09, -79.08)],
)
def test_a_point_just_off_the_map_is_low_and_says_so(ask, state, lat, lng):
    answer = ask(state, lat=lat, lng=lng)
    assert answer.confidence == "low"
    assert answer.advisories[0]["code"] == "point_off_map"
    assert "another country" in answer.advisories[0]["message"]


def test_a_point_has_an_answer_in_one_state_at_most(book, ask):
    for lat, lng in ((42.70, -71.30), (38.27, -85.74), (38.985, -77.026), (36.5505, -79.2)):
        answered = []
        for state in {hit.state for hit in counties_at(lat, lng)}:
            try:
                answered.append(ask(state, lat=lat, lng=lng).state.state)
            except NotResolved:
                continue
        assert len(answered) == 1


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_any_point_of_the_globe_can_be_asked(lat, lng):
    hits = counties_at(lat, lng)
    assert [hit.degrees for hit in hits] == sorted(hit.degrees for hit in hits)


@given(st.floats(47.1, 47.8), st.floats(-122.4, -121.1))
def test_the_nearest_place_is_the_nearest_on_the_globe(book, lat, lng):
    def miles(place):
        return haversine(lng, lat, float(place.lng), float(place.lat))

    king = [p for p in book.zips.state("WA").values() if p.county == "033" and float(p.lat)]
    standard = [place for place in king if place.kind == "STANDARD"]
    found, *others = places_near(book, "WA", "033", lat, lng)
    assert found in standard
    assert miles(found) <= min(map(miles, standard)) * 1.01
    assert all(miles(place) <= max(2.02 * miles(found), 4) for place in others)


@pytest.mark.parametrize(
    ("state", "point", "city", "rates"),
    [
        ("MS", (34.26, -88.70), "Tupelo", {7_000, 7_250}),
        ("VT", (44.48, -73.19), "Burlington", {6_000, 7_000}),
    ],
)
def test_a_taxing_city_near_by_is_a_candidate(ask, state, point, city, rates):
    answer = ask(state, lat=point[0], lng=point[1], as_of=date(2026, 5, 1))
    assert answer.confidence == "low"
    assert city in {rated.area.name for rated, _ in answer.rated}
    (spans,) = [w for w in answer.advisories if w["code"] == "zip_spans_jurisdictions"]
    assert spans["lowest_combined_rate"] == f"{min(rates) / 100_000:.5f}"
    assert spans["highest_combined_rate"] == f"{max(rates) / 100_000:.5f}"
