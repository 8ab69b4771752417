"""From a place name: spellings, counties, cities, ambiguity."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc_tools.service.ratebook import NotResolved, load_book
from svc_tools.service.ratebook.place_names import place_names
from svc_tools.service.ratebook.rating import Absent, rate_area

NEW = date(2026, 5, 1)


@pytest.mark.parametrize(
    ("state", "spellings"),
    [
        ("FL", ["St. Petersburg", "SAINT PETERSBURG", "st petersburg", " Saint  Petersburg, FL"]),
        ("FL", ["DeSoto County", "De Soto County", "desoto county, Florida"]),
        ("CA", ["La Cañada Flintridge", "LA CANADA FLINTRIDGE"]),
        ("CA", ["City of Industry", "Industry"]),
        (
            "WA",
            ["Seattle", "SEATTLE", "seattle, wa", "City of Seattle", "Seattle WA"],
        ),
        ("WA", ["Coulee City", "COULEE", "Coulee"]),
        ("VA", ["Richmond city", "RICHMOND CITY"]),
        ("NV", ["Las Vegas", "Las Vegas, Nevada"]),
    ],
)
def test_spellings_of_one_place_agree(ask, state, spellings):
    found = {ask(state, location=spelling).chosen.area.id for spelling in spellings}
    assert len(found) == 1


def test_a_city_named_is_medium_and_its_zip_low(ask):
    assert ask("WA", location="Tacoma", as_of=NEW).confidence == "medium"
    assert ask("WA", zip="98402", as_of=NEW).confidence == "low"


def test_an_official_location_code_is_exact(ask):
    answer = ask("WA", location="1726", as_of=NEW)
    assert (answer.confidence, answer.chosen.combined) == ("exact", 10_550)


def test_a_name_of_several_location_codes(ask):
    answer = ask("WA", location="Bellevue", as_of=NEW)
    assert [rated.area.code for rated, _ in answer.rated] == ["1704", "4004"]
    assert answer.confidence == "low"
    (warning,) = answer.advisories
    assert warning["lowest_combined_rate"] == "0.08900"
    assert warning["highest_combined_rate"] == "0.10300"


def test_a_city_in_two_counties_goes_by_its_zips(ask):
    # Milton: codes 1731 (King) and 2709 (Pierce); its ZIP is Pierce County's
    assert ask("WA", location="Milton", as_of=NEW).chosen.area.code == "2709"


def test_tribal_land_is_found_by_its_own_name_only(ask):
    assert ask("WA", location="Puyallup Tribe - Fife").chosen.area.code == "2735"
    assert ask("WA", location="Fife", as_of=NEW).chosen.area.code == "2706"
    assert all(rated.area.kind != "named" for rated, _ in ask("WA", zip="98424").rated)


def test_a_county_of_the_same_name_lowers_confidence(ask):
    answer = ask("NC", location="Washington")  # the city is in Beaufort County
    names = [rated.area.name for rated, _ in answer.rated]
    assert names[0] == "Beaufort County"
    assert "Washington County" in names
    assert answer.confidence == "low"


def test_a_town_whose_zip_touches_two_counties_is_no_more_than_medium(ask):
    alone = ask("NC", location="Charlotte")  # few of its ZIPs reach over the county line
    assert (alone.confidence, len(alone.rated)) == ("high", 1)
    town = ask("NC", location="Huntersville")
    assert town.confidence == "medium"
    names = [rated.area.name for rated, _ in town.rated]
    assert names == ["Mecklenburg County", "Cabarrus County"]


def test_a_county_named_in_full_is_that_county(ask):
    answer = ask("NC", location="Washington County")
    assert (answer.chosen.area.counties, answer.confidence) == (("187",), "high")


def test_a_suburb_does_not_pay_the_city_of_its_post_office(ask):
    answer = ask("WI", location="West Allis")
    assert answer.chosen.city == 0
    assert answer.location.city == "West Allis"
    assert [rated.area.name for rated, _ in answer.rated] == ["Milwaukee County", "Milwaukee"]


def test_a_part_of_a_city_leads_to_the_city_where_the_city_decides(ask):
    answer = ask("CA", location="Hollywood", as_of=date(2026, 2, 1))
    assert (answer.chosen.area.name, answer.confidence) == ("Los Angeles", "low")


def test_nothing_is_answered_where_nothing_decides(refused):
    reason = refused("NC", location="Matthews")
    assert reason.code == "NOT_FOUND"
    rates = {c["name"]: c["combined_rate"] for c in reason.detail["candidates"]}
    assert rates == {"Mecklenburg County": "0.08250", "Union County": "0.06750"}


@pytest.mark.parametrize(
    ("state", "name", "leads", "other"),
    [
        ("OH", "Montgomery", "Montgomery County", "Hamilton County"),
        ("OH", "Union", "Union County", "Montgomery County"),
        ("OH", "Etna", "Licking County", "Fairfield County"),
        ("WI", "Vernon", "Vernon County", "Waukesha County"),
        ("NV", "Washoe Valley", "Washoe County", "Carson City"),
        ("NV", "Carson City", "Carson City", "Douglas County"),
        ("PA", "Montour", "Montour County", "Allegheny County"),
        ("FL", "Saint Johns", "St. Johns County", "Duval County"),
    ],
)
def test_a_name_that_zips_elsewhere_carry_too_is_never_high(ask, state, name, leads, other):
    answer = ask(state, location=name, as_of=date(2026, 2, 1))
    names = [rated.area.name for rated, _ in answer.rated]
    assert names[0] == leads
    assert other in names
    assert answer.confidence == "low"
    assert "zip_spans_jurisdictions" in {warning["code"] for warning in answer.advisories}


def test_a_county_named_as_such_is_no_town_elsewhere(ask):
    answer = ask("OH", location="Montgomery County", as_of=date(2026, 2, 1))
    assert (answer.chosen.combined, answer.confidence, answer.advisories) == (7_500, "high", ())


def test_a_few_zips_elsewhere_are_candidates_and_no_doubt_of_the_name(ask):
    answer = ask("FL", location="Jacksonville", as_of=date(2026, 9, 1))
    assert [rated.combined for rated, _ in answer.rated] == [7_500, 6_500]
    assert answer.confidence == "medium"


@pytest.mark.parametrize("name", ["Alviso", "Mather"])
def test_a_place_has_the_candidates_of_its_zip(ask, name):
    place = ask("CA", location=name, as_of=NEW)
    by_zip = ask("CA", zip={"Alviso": "95002", "Mather": "95655"}[name], as_of=NEW)
    assert {r.area.id for r, _ in place.rated} == {r.area.id for r, _ in by_zip.rated}
    assert len(place.rated) == 2


def test_every_official_location_name_leads_to_its_code(book, ask):
    for area in book.areas.values():
        if not area.code or isinstance(rate_area(book, "WA", area, NEW), Absent):
            continue
        for name in (area.name, area.name.upper(), area.name.replace(" County)", ")")):
            found = ask("WA", location=name, as_of=NEW)
            assert area.id in {rated.area.id for rated, _ in found.rated}


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("AUBURN/KING RTA", "1702"),
        ("Auburn (King County) RTA", "1702"),
        ("BELLEVUE RTA", "1704"),
        ("BOTHELL/KING", "1706"),
        ("EVERETT NON-RTA", "4205"),
        ("Unincorporated King County", "1700"),
        ("King County (unincorporated area)", "1700"),
        ("100", "0100"),
    ],
)
def test_official_names_and_codes_of_washington(ask, name, code):
    assert ask("WA", location=name, as_of=NEW).chosen.area.code == code


def test_a_shortened_name_of_the_table_is_told_in_full(ask):
    for name in ("Electric City", "Electric", "Royal City", "Elmer City", "Benton City"):
        city = ask("WA", location=name, as_of=NEW).location.city
        assert city == f"{name.removesuffix(' City')} City"
    assert ask("WA", location="Spokane City", as_of=NEW).location.city == "Spokane"


@pytest.mark.parametrize(
    ("state", "name", "city"),
    [
        ("DC", "Washington, D.C.", "Washington"),
        ("NC", "Charlotte North Carolina", "Charlotte"),
        ("NC", "Charlotte, N. C., United States", "Charlotte"),
        ("MI", "Detroit Michigan", "Detroit"),
        ("PA", "Indiana", "Indiana"),
        ("OH", "Delaware, Ohio", "Delaware"),
        ("NY", "New York, New York", "New York"),
    ],
)
def test_a_place_with_its_state_behind_it(ask, state, name, city):
    assert ask(state, location=name).location.city == city


@pytest.mark.parametrize(
    ("state", "name", "says"),
    [
        ("OH", "Wilmington Delaware", "names DE"),
        ("VA", "Fairfx", "did you mean Fairfax?"),
        ("VA", "Seattle, WA", "names WA"),
        ("NJ", "Nowhere at all", "not a city or county"),
        ("TX", "!!!", "not a city or county"),
    ],
)
def test_a_name_that_leads_nowhere(refused, state, name, says):
    reason = refused(state, location=name)
    assert reason.code == "NOT_FOUND"
    assert says in reason.message


def test_a_zip_given_as_a_place_is_a_zip(ask):
    assert ask("CA", location="94105").simple() == ask("CA", zip="94105").simple()


@pytest.mark.parametrize("state", ["NJ", "TX"])
def test_the_state_alone_decides(ask, state):
    assert ask(state, location={"NJ": "Hoboken", "TX": "Austin"}[state]).location.via == "state"


def test_names_of_new_york_city(ask):
    assert ask("NY", location="NYC").location.city == "New York"


@settings(deadline=None)  # the first example reads tables
@given(state=st.sampled_from(["CA", "NC", "OH", "VA", "WA", "WI"]), data=st.data())
def test_any_known_name_in_any_case_gives_the_same(ask, state, data):
    names = place_names(load_book(), state)
    name = data.draw(st.sampled_from(sorted(names.spelled.values())))
    written = [name, name.upper(), f"  {name.lower()} ", f"{name}, {state}"]
    found = set()
    for text in written:
        try:
            found.add(ask(state, location=text).chosen.combined)
        except NotResolved as reason:
            found.add(reason.code)
    assert len(found) == 1
