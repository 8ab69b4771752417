"""A ZIP or an address whose position is known: the point decides, unless they contradict."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import codes
from support.examples import examples

from svc_tools.base.positions import Position
from svc_tools.service.ratebook import load_book

DAY = date(2026, 8, 1)
WICHITA = 37.6889, -97.3361
GROTON = 45.4560, -98.1000  # in Groton SD: 6.2% there, 4.2% around it
LIMIT = 45.46368, -98.09243
ALL = ["low", "medium", "high"]


@pytest.fixture(scope="module")
def answer(ask):
    """The answer for a ZIP or an address with a position."""

    def answer(state, point, match="given", found=(), **query):
        position = Position(*point, match, *found)
        return ask(state, position=position, as_of=DAY, **query)

    return answer


def aside(meters):
    """A point that many meters outside of Groton's limit; inside below 0."""
    step = meters * 0.7
    return LIMIT[0] + step / 111_195, LIMIT[1] + step / 111_195 / 0.7014


@pytest.mark.parametrize(
    ("meters", "units", "level"),
    [(-300, 6200, "high"), (-12, 6200, "low"), (12, 4200, "low"), (1500, 4200, "high")],
)
def test_a_given_point_decides_as_one_without_a_zip(ask, answer, meters, units, level):
    found = answer("SD", aside(meters), zip="57445")
    assert (found.chosen.combined, found.confidence) == (units, level)
    alone = ask("SD", lat=aside(meters)[0], lng=aside(meters)[1], as_of=DAY)
    assert (found.rated, found.advisories) == (alone.rated, alone.advisories)
    written = found.simple()
    assert (written["rate"]["zip"], written["meta"]["resolved_via"]) == ("57445", "coordinates")


@pytest.mark.parametrize(
    ("meters", "match", "level"),
    [
        (-800, "exact", "high"),
        (-420, "exact", "medium"),
        (-200, "exact", None),
        (200, "exact", None),
        (420, "exact", "medium"),
        (700, "exact", "medium"),
        (1500, "exact", "high"),
        (-800, "similar", "medium"),
        (-420, "similar", None),
        (420, "similar", None),
        (700, "similar", "medium"),
        (1500, "similar", "medium"),
    ],
)
def test_a_geocoder_s_point_decides_far_from_limits_only(ask, answer, meters, match, level):
    where = {"street": "1 Main St", "city": "Groton", "zip": "57445"}
    found = answer("SD", aside(meters), match, **where)
    assert found.location.via == ("coordinates" if level else "zip5")
    near = "address_near_boundary" in codes(found)
    if level:
        assert (found.confidence, near) == (level, False)
        assert found.chosen.combined == (6200 if meters < 0 else 4200)
        assert "address_not_matched" not in codes(found)
        return
    by_zip = ask("SD", as_of=DAY, **where)
    assert (found.chosen, found.confidence) == (by_zip.chosen, by_zip.confidence)
    (warning,) = [w for w in found.advisories if w["code"] == "address_near_boundary"]
    assert warning["message"].startswith("The address is ")
    assert warning["lowest_combined_rate"] == "0.04200"
    assert warning["highest_combined_rate"] == "0.06200"


def test_a_given_point_outside_of_the_zip_s_counties_is_not_used(ask, answer):
    found = answer("KS", WICHITA, zip="66061")
    (warning,) = [w for w in found.advisories if w["code"] == "point_not_used"]
    assert warning["why"] == (
        "the point 37.6889, -97.3361 lies in Sedgwick County, and ZIP 66061 does not"
    )
    assert "The rate is that of ZIP 66061." in warning["message"]
    assert found.rated == ask("KS", zip="66061", as_of=DAY).rated


@pytest.mark.parametrize(
    ("point", "says"),
    [((39.0997, -94.5786), "Jackson County, MO"), ((0.5, 0.5), "in no county")],
)
def test_a_given_point_in_another_state_is_not_used(answer, point, says):
    found = answer("KS", point, zip="66061")
    (warning,) = [w for w in found.advisories if w["code"] == "point_not_used"]
    assert says in warning["why"]
    assert found.location.via == "zip5"


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (("67202", "WICHITA", "MO"), "it is in MO, not in KS"),
        (("67210", "WICHITA", "KS"), "its ZIP is 67210, not 67202"),
        (("67202", "DERBY", "KS"), "its city is DERBY, not Wichita"),
        (("67202", "WICHITA", "KS"), None),
        (("", "", ""), None),
    ],
)
def test_a_match_that_contradicts_the_address_does_not_decide(ask, answer, found, why):
    where = {"street": "455 N Main St", "city": "Wichita", "zip": "67202"}
    got = answer("KS", WICHITA, "exact", found, **where)
    found_why = [w["why"] for w in got.advisories if w["code"] == "address_match_contradicts"]
    assert found_why == ([why] if why else [])
    assert got.location.via == ("zip5" if why else "coordinates")
    if why:
        assert got.rated == ask("KS", as_of=DAY, **where).rated


def test_another_name_of_the_zip_is_no_contradiction(answer):
    where = {"street": "100 Main St", "city": "Sandy Springs", "zip": "30328"}
    found = answer("GA", (33.9304, -84.3733), "exact", ("30328", "ATLANTA", "GA"), **where)
    assert "address_match_contradicts" not in codes(found)
    assert found.location.via == "coordinates"


def test_a_match_in_another_county_than_the_zip_contradicts(answer):
    where = {"street": "100 Main St", "city": "Olathe", "zip": "66061"}
    found = answer("KS", WICHITA, "exact", **where)
    assert "address_match_contradicts" in codes(found)


SPOKANE, BELLEVUE, SEATTLE = (47.65881, -117.42601), (47.61011, -122.20151), (47.6104, -122.3390)


@pytest.mark.parametrize(
    "case",
    [
        (SPOKANE, {"street": "100 Pike St", "city": "Seattle"}, "lies in Spokane County"),
        (BELLEVUE, {"street": "100 Pike St", "city": "Seattle"}, "lies in Bellevue, and not in"),
        (BELLEVUE, {"zip": "98101"}, "lies in Bellevue, which ZIP 98101 does not touch"),
    ],
)
@pytest.mark.parametrize("match", ["given", "exact", "similar"])
def test_a_point_in_another_city_does_not_decide(ask, answer, match, case):
    point, where, why = case
    found = answer("WA", point, match, **where)
    code = "point_not_used" if match == "given" else "address_match_contradicts"
    (warning,) = [w for w in found.advisories if w["code"] == code]
    assert why in warning["why"]
    assert found.rated == ask("WA", as_of=DAY, **where).rated
    assert found.location.via != "coordinates"
    there = answer("WA", SEATTLE, match, **where)
    assert code not in codes(there)
    assert there.chosen.area.name == "Seattle"


def test_a_zip_in_one_area_alone_rules_the_other_side_of_a_limit_out(ask, answer):
    state, zip5, point = "TN", "37203", (36.1527, -86.7892)  # Nashville
    for match in ("given", "exact", "similar"):
        found = answer(state, point, match, zip=zip5)
        assert found.confidence == ask(state, zip=zip5, as_of=DAY).confidence == "high"
        assert not {"address_near_boundary", "zip_spans_jurisdictions"} & {*codes(found)}


def test_the_names_of_the_zip_are_no_names_of_another_city_in_which_the_point_is(answer):
    found = answer("WA", BELLEVUE, "exact", ("98101", "", ""), zip="98101")
    meta, rate = found.simple()["meta"], found.simple()["rate"]
    assert (rate["city"], "Seattle" in meta["accepted_places"]) == ("Bellevue", False)


@pytest.mark.parametrize("match", ["given", "exact", "similar"])
def test_the_middle_of_a_zip_with_several_rates_does_not_decide(ask, answer, match):
    home = load_book().zips.state("UT")["84107"]
    found = answer("UT", (float(home.lat), float(home.lng)), match, zip="84107")
    code = "point_not_used" if match == "given" else "address_match_contradicts"
    (warning,) = [w for w in found.advisories if w["code"] == code]
    assert "the middle of ZIP 84107" in warning["why"]
    assert found.rated == ask("UT", zip="84107", as_of=DAY).rated


def test_the_middle_of_a_zip_in_one_area_alone_needs_no_warning(ask, answer):
    home = load_book().zips.state("TN")["37203"]
    middle = float(home.lat), float(home.lng)
    for match in ("given", "exact", "similar"):
        found = answer("TN", middle, match, zip="37203")
        assert found.simple() == ask("TN", zip="37203", as_of=DAY).simple()


def test_a_state_that_alone_decides_needs_no_point(ask, answer):
    found = answer("NJ", (40.7357, -74.1724), zip="07102")
    assert found.simple() == ask("NJ", zip="07102", as_of=DAY).simple()


def test_a_city_that_is_not_the_zip_s_is_still_a_mismatch(answer):
    found = answer("KS", WICHITA, zip="67202", street="455 N Main St", city="Goddard")
    assert "place_input_mismatch" in codes(found)


@examples(20, of=200)
@given(st.floats(-2000, 2000), st.sampled_from(["exact", "similar"]))
def test_a_geocoder_s_point_is_never_surer_than_a_given_one(answer, meters, match):
    where = {"zip": "57445"}
    given_one = answer("SD", aside(meters), **where)
    found = answer("SD", aside(meters), match, **where)
    if found.location.via == "coordinates":
        assert ALL.index(found.confidence) <= ALL.index(given_one.confidence)
        assert found.chosen == given_one.chosen
