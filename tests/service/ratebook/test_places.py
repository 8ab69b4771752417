"""From a place name: spellings, counties, cities, ambiguity."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc_tools.service.ratebook import NotResolved, load_book
from svc_tools.service.ratebook.names import NICKNAMES, name_key
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
        ("NV", ["Las Vegas", "Las Vegas, Nevada", "Vegas"]),
        ("NV", ["North Las Vegas", "N Las Vegas", "N. Las Vegas, NV", "No Las Vegas", "NLV"]),
        ("NV", ["Carson City", "City of Carson", "CARSON CITY, NV"]),
        ("CA", ["Signal Hill", "Signal Hl", "City of Signal Hill", "Signal Hl."]),
        ("CA", ["South San Francisco", "So San Francisco", "S. San Francisco"]),
        ("CA", ["San Francisco", "San Francisco city", "SF", "City & County of San Francisco"]),
        ("CA", ["Mountain View", "Mtn View", "Mt View"]),
        ("CA", ["Los Angeles County", "Los Angeles Co.", "County of Los Angeles", "LA County"]),
        ("WA", ["Spokane Valley", "Spokane Vly", "City of Spokane Valley"]),
        ("WA", ["Mercer Island", "Mercer Is"]),
        ("FL", ["Port Saint Lucie", "Pt St Lucie", "Port St. Lucie"]),
        ("FL", ["Miami-Dade County", "Miami-Dade Co", "Dade County", "miami dade county"]),
        ("FL", ["West Palm Beach", "W Palm Bch", "West Palm Bch."]),
        ("PA", ["Philadelphia", "Phila", "Philly"]),
        ("MO", ["St. Louis city", "Saint Louis City", "City of St. Louis"]),
        ("MO", ["St. Louis County", "Saint Louis Co", "County of St Louis"]),
        ("MO", ["Ste. Genevieve", "Sainte Genevieve", "STE GENEVIEVE"]),
        ("GA", ["Richmond County", "Augusta-Richmond County"]),
        ("MN", ["Minneapolis", "Mpls", "City of Minneapolis"]),
        ("SC", ["Mount Pleasant", "Mt Pleasant", "Town of Mt. Pleasant"]),
        ("NY", ["New York", "NYC", "New York City", "City of New York"]),
        ("NY", ["New York County", "Manhattan", "Borough of Manhattan", "Harlem"]),
        ("NY", ["Queens County", "Queens", "Borough of Queens"]),
        ("NY", ["Bronx County", "The Bronx"]),
        ("NY", ["Kings County", "Williamsburg", "Park Slope"]),
        ("IL", ["Chicago", "Chgo", "City of Chicago", "Chicago, Cook County"]),
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
    reason = refused("OH", location="Chagrin Falls")
    assert reason.code == "NOT_FOUND"
    rates = {c["name"]: c["combined_rate"] for c in reason.detail["candidates"]}
    assert rates == {"Cuyahoga County": "0.08000", "Geauga County": "0.06750"}


@pytest.mark.parametrize(
    ("state", "name", "county"),
    [
        ("NC", "Matthews", "Mecklenburg County"),
        ("OH", "Westerville", "Franklin County"),
        ("OH", "Kettering", "Montgomery County"),
        ("OH", "Beavercreek", "Greene County"),
        ("FL", "Dunnellon", "Marion County"),
    ],
)
def test_where_zips_are_divided_the_post_office_of_the_town_decides(ask, state, name, county):
    answer = ask(state, location=name, as_of=date(2026, 2, 1))
    assert answer.simple()["rate"]["county"] == county
    assert answer.confidence == "low"
    (spans,) = [w for w in answer.advisories if w["code"] == "zip_spans_jurisdictions"]
    assert spans["lowest_combined_rate"] < spans["highest_combined_rate"]


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
        ("WA 1726", "1726"),
        ("1726, WA", "1726"),
        ("location code 1726", "1726"),
        ("Location Code: 1726", "1726"),
        ("LOC #1726", "1726"),
        ("#100", "0100"),
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


@pytest.mark.parametrize(
    ("state", "name"), [("NJ", "Hoboken"), ("NJ", "New Jersey"), ("TN", "Memphis"), ("DC", "DC")]
)
def test_the_state_alone_decides(ask, state, name):
    assert ask(state, location=name).location.via == "state"


def test_the_name_of_a_state_with_local_rates_is_no_place(refused):
    assert "not a city or county" in refused("CA", location="California").message


@pytest.mark.parametrize(
    "written", ["Charlotte 28202", "Charlotte, NC 28202", "zip 28202", "28202 Charlotte NC"]
)
def test_a_place_with_its_zip_is_that_zip(ask, written):
    assert ask("NC", location=written).simple() == ask("NC", zip="28202").simple()


def test_a_place_with_the_zip_of_another_is_a_mismatch(ask):
    answer = ask("NC", location="Charlotte 27601")
    assert answer.advisories[0]["code"] == "place_input_mismatch"
    assert answer.confidence == "low"


def test_a_location_code_that_is_not_there_says_so(refused):
    assert "no location code 9999 of WA" in refused("WA", location="9999").message
    assert "not a city" in refused("NC", location="1726").message


def test_an_independent_city_and_the_county_of_its_name(ask):
    for state, city, county in (
        ("VA", "City of Richmond", "Richmond County"),
        ("VA", "Franklin city", "Franklin County"),
        ("MO", "St. Louis city", "St. Louis County"),
    ):
        one = ask(state, location=city, as_of=NEW)
        other = ask(state, location=county, as_of=NEW)
        assert len(one.rated) == len(other.rated) == 1
        assert one.chosen.combined > other.chosen.combined


def test_every_nickname_means_a_place_of_the_book(book):
    for state, nicknames in NICKNAMES.items():
        names = place_names(book, state)
        known = (names.cities, names.counties, names.preferred)
        for meant in nicknames.values():
            assert any(name_key(meant) in table for table in known), (state, meant)


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
