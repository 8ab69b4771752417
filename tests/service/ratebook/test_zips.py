"""From a ZIP, with or without a city: every one has a rate or a reason."""

from __future__ import annotations

from datetime import date

import pytest
from compile_book.facts import TIERS
from support.cases import cases, codes

from svc_tools.service.ratebook import NotResolved
from svc_tools.service.ratebook.rating import LEVELS

COUNTY_UNKNOWN = {
    ("CO", "81075"), ("GA", "30138"), ("GA", "30645"), ("NM", "87654"), ("PA", "15439"),
    ("PA", "18005"), ("PA", "18768"), ("TN", "38227"), ("VA", "24619"), ("WV", "25410"),
}  # fmt: skip
"""ZIPs of covered states that no table gives a county for, nor for their city."""


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


def spans(answer):
    (found,) = [w for w in answer.advisories if w["code"] == "zip_spans_jurisdictions"]
    return found["candidates"], found["lowest_combined_rate"], found["highest_combined_rate"]


@pytest.mark.parametrize(
    ("state", "zip5", "rates", "confidence"),
    cases("""
    OH  43068 = 8000 7750 8250 7250 6750 7750 = low | 43054 = 8000 7250 7000 8000 = medium
    OH  43035 = 7000 8000 = medium
    NC  27265 = 6750 7000 7000 = low
    MN  56479 = 7875 7375 7375 7375 7875 = low
    WA  98402 = 10500 10200 = high
    VT  05701 = 7000 7000 6000 = medium | 05495 = 7000 6000 6000 = low
    SD  57004 = 6200 4200 4200 4200 6200 = low
    OK  73014 = 4850 8850 8350 8850 = low
    NE  68002 = 7000 5500 = low
    AK  99901 = 5500 2500 = low
    WI  53702 = 5500 5000 = medium
    """),
)
def test_a_zip_has_every_place_and_county_rest_that_it_touches(ask, state, zip5, rates, confidence):
    answer, units = ask(state, zip=zip5), [int(rate) for rate in rates.split()]
    assert (answer.chosen.combined, answer.confidence) == (units[0], confidence)
    assert sorted(rated.combined for rated, _ in answer.rated) == sorted(units)
    low, high = (f"{rate / 100_000:.5f}" for rate in (min(units), max(units)))
    assert spans(answer) == (len(set(units)), low, high)


@pytest.mark.parametrize(
    ("state", "zip5", "areas"),
    cases("""
    OH  43135 = 4
    CA  90210 = 3 | 92139 = 1
    """),
)
def test_candidates_of_one_rate_and_slivers_cast_no_doubt(ask, state, zip5, areas):
    answer = ask(state, zip=zip5, as_of=date(2026, 5, 1))
    assert len(answer.rated) == int(areas)
    assert len({rated.combined for rated, _ in answer.rated}) == 1
    assert (answer.confidence, codes(answer)) == ("high", [])


@pytest.mark.parametrize(
    ("state", "zip5", "city", "units"),
    [
        ("MN", "55121", "Saint Paul", 8_125),  # Eagan
        ("GA", "30328", "Atlanta", 7_750),  # Sandy Springs
    ],
)
def test_a_zip_outside_the_city_it_is_named_after_has_the_rate_of_what_it_touches(
    ask, state, zip5, city, units
):
    for fields in ({"zip": zip5}, {"street": "1 Main St", "city": city, "zip": zip5}):
        answer = ask(state, as_of=date(2026, 5, 1), **fields)
        assert (answer.chosen.combined, answer.confidence) == (units, "medium")
        assert city not in {rated.area.name for rated, _ in answer.rated}
        assert answer.location.city == city


def test_a_zip_that_reaches_over_a_state_line_names_the_other_state(ask):
    answer = ask("TN", zip="37642")  # Church Hill
    (note,) = [w for w in answer.advisories if w["code"] == "zip_crosses_state_line"]
    assert note["states"] == ("VA",)
    assert "Make sure of the state" in note["message"]
    assert {rated.area.state for rated, _ in answer.rated} == {"TN"}
    assert "zip_crosses_state_line" not in codes(ask("VA", zip="37642"))
    assert "zip_crosses_state_line" not in codes(ask("NC", zip="28202"))


def test_a_zip_over_a_state_line_answers_in_both(book, ask):
    crossing = [z for z in book.zips.zips("VA") if z not in book.zips.state("VA")]
    assert "37642" in crossing  # Church Hill, Tennessee
    for zip5 in crossing:
        assert ask("VA", zip=zip5).chosen.area.state == "VA"
    assert ask("TN", zip="37642").chosen.combined == 9_750  # Hawkins County


@pytest.mark.parametrize(
    ("state", "zip5", "says", "other"),
    cases("""
    CA  97201 = it lies in OR = OR | 00901 = Puerto Rico = PR
    WA  94105-1234 = it lies in CA = CA
    NJ  00000 = unknown = none
    """),
)
def test_a_zip_that_is_not_of_the_state(refused, state, zip5, says, other):
    reason = refused(state, zip=zip5)
    assert reason.code == "NOT_FOUND"
    assert says in reason.message
    assert reason.detail.get("states") == (None if other == "none" else [other])


@pytest.mark.parametrize("state", ["PR", "VI", "GU", "MP", "AS", "AA", "AE", "AP", "ZZ"])
def test_what_is_no_state(refused, state):
    reason = refused(state, zip="00901")
    assert reason.code == "STATE_NOT_SUPPORTED"
    assert state in reason.message


@pytest.mark.parametrize(
    ("state", "zip5", "county", "area"),
    [
        ("WA", "98189", "033", "Seattle"),
        ("CA", "90140", "037", "City of Commerce"),
    ],
)
def test_a_zip_without_a_county_lies_where_its_city_does(ask, state, zip5, county, area):
    answer = ask(state, zip=zip5, as_of=date(2026, 5, 1))
    assert (answer.location.county, answer.chosen.area.name) == (county, area)
    assert answer.confidence in {"low", "medium"}


@pytest.mark.parametrize(
    ("state", "zip5", "day"),
    [
        ("SC", "29909", date(2022, 3, 1)),  # half of it lies in Jasper County, whose rate is blank
        ("SD", "57432", date(2026, 8, 15)),
        ("VT", "05048", date(2026, 8, 15)),  # a village in a county of which towns levy 1%
    ],
)
def test_a_candidate_whose_rate_is_not_known_in_full_has_no_range(ask, state, zip5, day):
    answer = ask(state, zip=zip5, as_of=day)
    (spans,) = (one for one in answer.advisories if one["code"] == "zip_spans_jurisdictions")
    assert "lowest_combined_rate" not in spans
    share = spans.get("share")
    assert (answer.confidence == "high") == (share is not None and share >= "0.9800")


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
    cases("""
    MS  39208 = none = 7000 medium | 39208 = Pearl = 7000 high | 39208 = Jackson = 8000 medium
    OK  73014 = Calumet = 8850 low | 73014 = El Reno = 8850 low
    OK  73014 = Canadian County = 4850 low
    CA  90069 = West Hollywood = 10500 low | 90069 = Los Angeles = 9750 low
    MN  55121 = Eagan = 8125 high | 56479 = Staples = 7875 low
    UT  84107 = Murray = 7650 low | 84107 = Millcreek = 7450 low
    WA  98402 = Tacoma = 10400 high | 98402 = Ruston = 10100 low
    VT  05495 = Williston = 7000 low | 05701 = Rutland Town = 7000 medium
    VT  05641 = Barre = 7000 low | 05641 = Barre Town = 6000 low
    AK  99901 = Ketchikan = 8000 low
    WI  53211 = Shorewood = 5900 medium | 53211 = Milwaukee = 7900 low
    """),
)
def test_the_city_given_decides_among_the_places_of_a_zip(ask, state, zip5, city, expected):
    fields = {} if city == "none" else {"street": "1 Main St", "city": city}
    answer = ask(state, zip=zip5, as_of=date(2026, 6, 1), **fields)
    assert f"{answer.chosen.combined} {answer.confidence}" == expected
    assert "place_input_mismatch" not in codes(answer)


@pytest.mark.parametrize(
    ("state", "city", "zip5", "shown"),
    cases("""
    NY  New York = 11201 = New York | NYC = 10451 = New York | New York City = 10001 = New York
    NY  Brooklyn = 11201 = Brooklyn | Queens = 11354 = Queens | Flushing = 11354 = Flushing
    NY  Manhattan = 10001 = Manhattan | Staten Island = 10301 = Staten Island
    """),
)
def test_the_names_of_new_york_city_are_right_in_every_borough(ask, state, city, zip5, shown):
    answer = ask(state, street="1 Main St", city=city, zip=zip5)
    assert "place_input_mismatch" not in codes(answer)
    assert (answer.location.city, answer.chosen.combined) == (shown, 8_875)


def test_the_county_given_is_right_where_the_state_alone_decides_too(ask):
    camden = ask("NJ", street="1 Main St", city="Camden County", zip="08002")
    assert "place_input_mismatch" not in codes(camden)
    assert camden.simple()["rate"]["county"] == "Camden County"
    assert mismatch(ask("NJ", street="1 Main St", city="Essex County", zip="08002"))


def test_an_unknown_city_is_medium(ask):
    answer = ask("NC", street="1 Main St", city="Xyzzy", zip="27601")
    assert (answer.confidence, answer.location.city) == ("medium", "Raleigh")
    assert mismatch(answer) == ("Xyzzy", "Raleigh")


def test_where_the_state_alone_decides_a_mismatch_is_reported_and_casts_no_doubt(ask):
    answer = ask("NJ", street="1 Main St", city="Trenton", zip="07030")
    assert (answer.confidence, codes(answer)) == ("high", ["place_input_mismatch"])


@pytest.mark.parametrize(
    ("state", "city", "zip5", "resolved"),
    [
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


DAY = date(2026, 5, 1)
BY_COUNTY_OR_CITY = (TIERS["B"] + " " + TIERS["C"]).split()
EVERY = 12
"""One in so many ZIPs of a state is tried, which keeps the file short."""


@pytest.mark.parametrize("zip5", ["99998", "00000"])
def test_a_name_with_an_unknown_zip_says_so_and_is_at_most_medium(ask, zip5):
    answer = ask("NC", location=f"Charlotte {zip5}", as_of=DAY)
    assert "zip_not_used" in codes(answer)
    assert answer.confidence == "medium"
    assert ask("NC", location="Charlotte", as_of=DAY).confidence == "high"


@pytest.mark.parametrize("state", BY_COUNTY_OR_CITY)
def test_an_unknown_zip_in_place_of_a_citys_own_never_raises_the_confidence(book, ask, state):
    # a ZIP that does not touch the city given is a reason of its own to be less sure, which a ZIP
    # that leads nowhere cannot give
    surer = []
    for zip5, place in list(book.zips.state(state).items())[::EVERY]:
        for city in filter(None, (place.city, *place.accepted_names[:3])):
            try:
                real = ask(state, street="1 Main St", city=city, zip=zip5, as_of=DAY)
                unknown = ask(state, street="1 Main St", city=city, zip="00000", as_of=DAY)
            except NotResolved:
                continue
            touched = real.location.decided == "named"
            if touched and LEVELS.index(unknown.confidence) > LEVELS.index(real.confidence):
                surer.append((zip5, city, real.confidence, unknown.confidence))
    assert surer == []


def test_a_name_that_the_post_office_does_not_accept_is_known_too(book, ask):
    assert book.zips.state("TX")["75067"].other_names == ["Louisville"]
    assert ask("TX", location="Louisville", as_of=DAY).full()["rate"]["county"] == "Denton County"
    answer = ask("TX", street="1 Main St", city="Louisville", zip="75067", as_of=DAY)
    assert "place_input_mismatch" not in codes(answer)
