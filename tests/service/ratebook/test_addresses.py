"""From an address: its ZIP, else its city; never the street, and it says so."""

from __future__ import annotations

from datetime import date

import pytest
from support.cases import cases, codes

from svc_tools.service.ratebook import NotResolved, Query, load_book, resolve

DAY = date(2026, 8, 15)
"""A day that every edition covers."""


def test_where_the_state_alone_decides_no_street_is_needed(ask):
    answer = ask("MI", address="1600 Michigan Ave, Detroit, MI 48226")
    assert codes(answer) == []
    assert answer.location.zip == "48226"


STREET = "1 Nosuch Xyzzy St"


def found_of(book, state, **fields):
    """All that a lookup says but that the street was not matched; or why it says nothing."""
    try:
        full = resolve(book, Query(state=state, as_of=DAY, **fields), today=DAY).full()
    except NotResolved as refusal:
        return refusal.code
    meta = full["meta"]
    notes = [one for one in meta["warnings"] if one["code"] != "address_not_matched"]
    return {**full, "meta": {**meta, "warnings": notes}}


@pytest.mark.parametrize("state", sorted(load_book().states))
def test_a_street_that_is_not_matched_adds_nothing(book, state):
    for zip5 in book.zips.zips(state)[::40]:
        alone = found_of(book, state, zip=zip5)
        for written in (f"{STREET}, {zip5}", f"{STREET}, {state} {zip5}"):
            assert found_of(book, state, address=written) == alone, written
        assert found_of(book, state, street=STREET, zip=zip5) == alone, zip5
        place = book.zips.state(state).get(zip5)
        # a firm with a ZIP is no city, and NY alone may be the state
        cities = [place.city, *place.other_names] if place and place.kind != "UNIQUE" else []
        for city in (one for one in cities if len(one) > len(state)):
            named = found_of(book, state, location=f"{city} {zip5}")
            assert found_of(book, state, street=STREET, city=city, zip=zip5) == named, city
            line = f"{STREET}, {city}, {state} {zip5}"
            assert found_of(book, state, address=line) == named, line


@pytest.mark.parametrize(
    "fields",
    [
        {"location": "Hayward 94541"},
        {"street": STREET, "city": "Hayward", "zip": "94541"},
        {"address": f"{STREET}, Hayward, CA 94541"},
    ],
)
def test_the_own_name_of_a_zip_makes_its_likeliest_area_no_surer(ask, fields):
    answer = ask("CA", as_of=DAY, **fields)
    assert (answer.chosen.area.name, answer.confidence) == ("Hayward", "low")
    assert len(answer.rated) == 2
    for alone in ({"zip": "94541"}, {"address": f"{STREET}, 94541"}):  # more live outside
        assert ask("CA", as_of=DAY, **alone).chosen.combined == 10_250
    other = ask("CA", as_of=DAY, street=STREET, city="Cherryland", zip="94541")
    assert (other.chosen.combined, other.confidence) == (10_250, "low")


def test_the_further_names_of_a_zip_are_told(ask):
    meta = ask("CA", zip="90069").simple()["meta"]
    assert "West Hollywood" in meta["accepted_places"] or "Los Angeles" in meta["accepted_places"]
    assert "accepted_places" not in ask("CA", location="San Francisco").simple()["meta"]


def test_the_city_given_chooses_among_the_areas_of_a_zip(ask):
    line = ask("CA", address="8500 Melrose Ave, West Hollywood, CA 90069")
    parts = ask("CA", street="8500 Melrose Ave", city="West Hollywood", zip="90069")
    assert line.chosen.area.name == parts.chosen.area.name == "West Hollywood"
    assert (line.location.via, line.location.city) == ("zip5", "West Hollywood")


def test_a_city_that_is_not_of_the_zip(ask):
    answer = ask("CA", address="1 Main St, Los Angeles, CA 90401")
    assert answer.chosen.area.name == "Santa Monica"
    warning = answer.advisories[0]
    assert warning["code"] == "place_input_mismatch"
    assert warning["customer_input_place"] == "Los Angeles"
    assert warning["resolved_place_name"] == "Santa Monica"
    assert "Los Angeles" in {rated.area.name for rated, _ in answer.rated}


@pytest.mark.parametrize(
    ("state", "fields", "says"),
    [
        ("TX", {"address": "1 Main St, Los Angeles, CA 90012"}, "names CA"),
        ("TX", {"address": "1 Main St, Los Angeles, CA"}, "names CA"),
        ("TX", {"address": "1 Main St, Los Angeles 90012"}, "it lies in CA"),
        ("NC", {"address": "somewhere far away"}, "no ZIP and no city"),
        ("NC", {"street": "1 Main St", "city": "Nowhere at all"}, "not a city or county"),
    ],
)
def test_an_address_that_leads_nowhere(refused, state, fields, says):
    reason = refused(state, **fields)
    assert reason.code == "NOT_FOUND"
    assert says in reason.message


@pytest.mark.parametrize(
    ("state", "line", "there"),
    cases("""
    MD  100 Main St, Seaford, DE 19973 = DE
    DE  100 Main St, Warwick, MD 21912 = MD
    MA  5 Main St, Pawtucket, RI 02861 = RI
    KY  100 Main St, Byrdstown, TN 38549 = TN
    MI  1 Main St, Hurley, WI 54540 = WI
    NC  100 Main St, Wilmington DE 28401 = DE | 100 Main St, Seattle, Washington = WA
    OH  1 Main St, Wilmington, Delaware = DE
    WA  100 Main St, Vancouver, British Columbia V6B 1A1 = Canada
    WA  100 Main St, Vancouver, BC = British Columbia, Canada
    CA  100 Main St, London, Ontario = Ontario, Canada
    CA  100 Main St, Toronto, Ontario, CA = Ontario, Canada
    CA  Avenida 5, Tijuana, Mexico = Mexico
    CA  78701, 600 Congress Ave, Austin TX = TX
    TX  94107 San Francisco CA 1 Main St = CA
    """),
)
def test_an_address_that_names_another_state_or_country(refused, state, line, there):
    reason = refused(state, address=line)
    assert f"names {there}, but the lookup is for {state}" in reason.message
    assert reason.detail["states"] == [there]


@pytest.mark.parametrize(
    "line",
    [
        "100 Main St, Charlotte, NC, USA",
        "100 Main St, Charlotte, NC 28202, U. S. A.",
        "100 Main St, Charlotte, NC 28202-1234, United States of America",
        "100 Main St, Charlotte, N.C.",
        "100 Main St, Charlotte North Carolina",
        "100 Main St., Charlotte (Mecklenburg), NC (28202)",
        "5 Main St, Charlotte, PO Box 27601",
        "5 Main St, Charlotte 28202, 27601",
    ],
)
def test_the_usual_ways_to_write_one_address(ask, line):
    answer = ask("NC", address=line)
    assert (answer.chosen.combined, answer.confidence) == (8_250, "high")
    assert codes(answer) == ["address_not_matched"]


@pytest.mark.parametrize(
    ("state", "line", "city", "zip5"),
    cases("""
    DC  1600 Pennsylvania Ave NW, Washington = Washington = none
    DC  1600 Pennsylvania Ave NW, Washington D.C. = Washington = none
    DC  1600 Pennsylvania Ave NW Washington = Washington = none
    PA  100 E Main St, Indiana = Indiana = none
    MO  1 Main St, Nevada = Nevada = none
    OH  1 Main St, Delaware = Delaware = none | 1 Main St, Columbus, O. 43215 = Columbus = 43215
    VA  100 Main St, Richmond Virginia = Richmond = none
    NY  100 Broadway, New York = New York = none
    NY  10001 New York Ave, Brooklyn = Brooklyn = none
    CA  100 Main St, Ontario = Ontario = none | 1 Mills Cir, Ontario Mills, Ontario = Ontario = none
    CA  1 Mills Cir, Ontario Mills Mall, Ontario, CA = Ontario = none
    CO  1 Main St, Denver CO = Denver = none
    NC  1 Main St, Washington = Washington = none
    NC  Corner of Trade St and Tryon St, Charlotte, NC = Charlotte = none
    NC  5 Main St, Charlotte, PO Box 27601 = Charlotte = none
    NC  PO Box 27601, Charlotte, NC = Charlotte = none
    NC  100 Main St, Raleigh NC, Suite 28202 = Raleigh = none
    NC  100 Main St Raleigh NC #28202 = Raleigh = none
    NC  100 Main St, Asheville, NC - acct 28202 = Asheville = none
    NC  100 NC 28202 Hwy, Durham NC = Durham = none
    NC  Raleigh, NC 27601, Attn: 28202 = Raleigh = 27601
    NC  100 Main St Raleigh NC 27601 28202 = Raleigh = 27601
    TX  12345 Main St, Austin, TX 78701 = Austin = 78701
    TX  10001 Main St, Dallas TX = Dallas = none | 75201 Houston St, Dallas = Dallas = none
    TX  77068 FM 1960 W, Houston = Houston = none | 75201 Dallas Pkwy, Dallas TX = Dallas = none
    TX  78701 N Lamar Blvd, Austin TX 78753 = Austin = 78753
    TX  10001, 600 Congress Ave, Austin TX = Austin = none
    FL  45800 FM 1960 W Miami = West Miami = none
    MI  48219 8 Mile Rd, Detroit, MI = Detroit = none
    UT  84101 500 S, Salt Lake City = Salt Lake City = none
    """),
)
def test_the_city_and_the_zip_of_an_address(ask, state, line, city, zip5):
    answer = ask(state, address=line)
    assert (answer.location.city, answer.location.zip or "none") == (city, zip5)
    assert "place_input_mismatch" not in codes(answer)


@pytest.mark.parametrize("city", ["28202", "Charlotte 28202", "Charlotte, NC 28202", "ZIP 28202"])
def test_a_city_field_that_holds_the_zip(ask, city):
    answer = ask("NC", street="600 E 4th St", city=city)
    assert (answer.location.zip, answer.location.city) == ("28202", "Charlotte")
    again = ask("NC", street="600 E 4th St", city=city, zip="28202-1234")
    assert again.simple() == answer.simple()


def test_a_city_field_with_another_zip_contradicts_the_zip_given(ask):
    answer = ask("NC", street="1 Main St", city="Charlotte 28202", zip="27601")
    assert (answer.location.zip, answer.confidence) == ("27601", "low")
    warning = answer.advisories[0]
    assert warning["code"] == "place_input_mismatch"
    assert warning["customer_input_place"] == "Charlotte 28202"
    assert warning["lowest_combined_rate"] == "0.07250"
    assert warning["highest_combined_rate"] == "0.08250"


def test_a_location_code_is_no_city(ask, refused):
    assert "not a city" in refused("WA", street="1 Main St", city="1726").message
    answer = ask("WA", street="1 Main St", city="1726", zip="99201")
    assert "place_input_mismatch" in codes(answer)
    assert answer.chosen.area.name == "Spokane"


def test_a_city_in_short_is_the_city_not_another_state(ask):
    answer = ask("CA", street="200 N Spring St", city="LA", zip="90012")
    assert (answer.location.zip, answer.location.city) == ("90012", "Los Angeles")
    assert "place_input_mismatch" not in codes(answer)
    elsewhere = ask("CA", street="200 N Spring St", city="LA", zip="94105")
    assert "place_input_mismatch" in codes(elsewhere)
    assert elsewhere.confidence == "low"


def test_what_is_at_stake_is_reported_beside_what_was_not_matched(ask):
    answer = ask("OH", address="1 Main St, Pickerington, OH 43147", as_of=date(2026, 2, 1))
    (note,) = [w for w in answer.advisories if w["code"] == "address_not_matched"]
    combined = [rated.combined for rated, _ in answer.rated]
    assert min(combined) < max(combined)
    for name, units in (("lowest", min(combined)), ("highest", max(combined))):
        assert note[f"{name}_combined_rate"] == f"{units / 100_000:.5f}"


def test_a_damaged_zip_is_reported_where_the_city_decides(ask):
    answer = ask("NC", address="123 Main St, Charlotte, NC 2820")
    assert (answer.location.city, answer.location.zip) == ("Charlotte", None)
    assert codes(answer)[:2] == ["zip_not_used", "address_not_matched"]
    assert answer.advisories[0]["zip"] == "2820"


@pytest.mark.parametrize(
    ("line", "places"),
    [
        ("Between Charlotte and Concord, NC", "Charlotte and Concord"),
        ("Hwy 74 between Monroe & Wingate NC", "Monroe and Wingate"),
    ],
)
def test_of_two_places_in_one_address_none_is_taken(ask, refused, line, places):
    assert places in refused("NC", address=line).message
    with_zip = ask("NC", address=f"{line} 28027")
    assert with_zip.location.zip == "28027"


def test_a_street_in_place_of_a_place_is_told_what_to_give(refused):
    assert "as an address" in refused("NC", location="100 N Tryon St, Charlotte, NC").message


def test_a_zip_without_a_rate_is_not_overruled_by_a_city_elsewhere(ask, refused):
    assert "North Slope" in refused("AK", street="1 Elm St", city="Nikiski", zip="99723").message
    assert ask("AK", street="1 Elm St", city="Nikiski", zip="99635").chosen.combined


def test_a_county_behind_the_city_chooses_or_becomes_a_candidate(ask):
    there = ask("NC", address="1 Main St, High Point, Davidson County, NC 27265")
    assert (there.location.county, there.chosen.combined) == ("057", 7_000)
    contradicted = ask("NC", address="1 Main St, Charlotte, Union County, NC")
    assert contradicted.location.city == "Charlotte"
    assert contradicted.confidence == "low"
    assert "zip_spans_jurisdictions" in codes(contradicted)
    assert ask("NC", street="1 Main St", city="Charlotte, Mecklenburg County").confidence == "high"


def test_a_county_settles_a_name_that_means_several_places(ask, refused):
    assert "give a ZIP or the county" in refused("NC", location="Hurdle Mills").message
    assert ask("NC", location="Hurdle Mills, Orange County").chosen.combined == 7_500
    person = ask("NC", street="1 Main St", city="Hurdle Mills, Person Co")
    assert (person.chosen.combined, person.confidence) == (6_750, "high")
