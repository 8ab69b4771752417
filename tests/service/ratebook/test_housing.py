"""A ZIP gets the rate of most of its housing, and is as sure as its share."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import codes
from support.examples import examples

from svc_tools.service.ratebook import NotResolved, Query, load_book, resolve
from svc_tools.service.ratebook.rating import LEVELS

DAY = date(2026, 6, 1)
SURE = "0.9800"
MOST = "0.9000"


def spans(answer):
    return next((w for w in answer.advisories if w["code"] == "zip_spans_jurisdictions"), {})


@pytest.mark.parametrize(
    ("state", "zip5", "expected"),
    [
        ("UT", "84107", (7_650, "0.7048", "low")),  # Murray
        ("CA", "92336", (8_750, "0.9956", "high")),  # Fontana
        ("CA", "91750", (10_500, "0.9440", "medium")),  # La Verne
        ("AR", "72088", (9_500, "0.9177", "medium")),  # Fairfield Bay
        ("OK", "73014", (4_850, "0.6636", "low")),  # more live outside of Calumet than in it
    ],
)
def test_the_rate_of_most_housing_is_given_with_its_share(ask, state, zip5, expected):
    answer = ask(state, zip=zip5, as_of=DAY)
    assert (answer.chosen.combined, spans(answer)["share"], answer.confidence) == expected
    low, high = (spans(answer)[f"{end}_combined_rate"] for end in ("lowest", "highest"))
    assert low < high  # the range stays named, however sure the rate is


def test_areas_of_one_rate_count_together(ask):
    answer = ask("MN", zip="56044", as_of=DAY)  # what is left of two counties, and Henderson
    names = [rated.area.name for rated, _ in answer.rated]
    shares = {c["name"]: float(c["share"]) for c in answer.full()["candidates"]}
    same = [r.area.name for r, _ in answer.rated if r.combined == answer.chosen.combined]
    assert shares[names[0]] < max(shares.values())
    assert abs(sum(shares[name] for name in same) - float(spans(answer)["share"])) < 0.001


@pytest.mark.parametrize(
    ("state", "zip5", "before", "after"),
    [("MN", "56044", "Henderson", "Sibley County"), ("UT", "84015", "Clinton", "Clearfield")],
)
def test_the_choice_is_that_of_the_day(ask, state, zip5, before, after):
    assert ask(state, zip=zip5, as_of=date(2022, 3, 1)).chosen.area.name == before
    assert ask(state, zip=zip5, as_of=DAY).chosen.area.name == after


def test_the_county_is_that_of_the_area_whose_rate_is_given(ask):
    before = ask("SC", zip="29456", as_of=date(2022, 3, 1)).full()
    after = ask("SC", zip="29456", as_of=DAY).full()
    assert before["rate"]["county"] == "Dorchester County"
    assert before["resolved_place"]["county_fips"] == "45035"
    assert after["rate"]["county"] == "Berkeley County"
    assert after["resolved_place"]["county_fips"] == "45015"


@pytest.mark.parametrize(
    ("city", "rate", "share"), [("Murray", 7_650, "0.7048"), ("Millcreek", 7_450, "0.2951")]
)
def test_a_city_chooses_and_is_as_sure_as_the_housing_at_its_rate(ask, city, rate, share):
    answer = ask("UT", street="1 Main St", city=city, zip="84107", as_of=DAY)
    assert (answer.chosen.combined, spans(answer)["share"]) == (rate, share)
    assert answer.confidence == "low"
    line = ask("UT", address=f"1 Main St, {city}, UT 84107", as_of=DAY)
    assert spans(line) == spans(answer)


def test_a_street_that_is_not_matched_adds_nothing(ask):
    alone, street = (
        ask("CA", zip="91750", as_of=DAY),
        ask("CA", street="1 Main St", city="La Verne", zip="91750", as_of=DAY),
    )
    assert (street.confidence, spans(street)["share"]) == (alone.confidence, spans(alone)["share"])
    assert "address_not_matched" in codes(street)


@pytest.mark.parametrize(
    ("state", "zip5"),
    [("OH", "43068"), ("VT", "05495"), ("NC", "27265")],  # counties, and towns that tax
)
def test_where_no_housing_is_known_there_is_no_share(ask, state, zip5):
    answer = ask(state, zip=zip5, as_of=DAY)
    assert "lowest_combined_rate" in spans(answer)
    assert "share" not in spans(answer)
    assert {candidate["share"] for candidate in answer.full()["candidates"]} == {None}


@pytest.mark.parametrize(
    ("state", "zip5", "rate"),
    [
        ("CA", "94972", 9_250),  # its housing of 2010 was in a county that it does not touch now
        ("NY", "10911", 8_375),  # two units
        ("AR", "72739", 9_500),  # Gravette has most of it now, and had none of its housing then
    ],
)
def test_a_zip_that_was_drawn_anew_or_annexed_has_no_share(ask, state, zip5, rate):
    answer = ask(state, zip=zip5, as_of=date(2026, 2, 15))
    assert answer.chosen.combined == rate
    assert "share" not in spans(answer)


def test_a_name_of_zips_has_the_rate_of_most_of_their_housing(ask):
    for name, share, level in (
        ("Canoga Park", "0.9960", "high"),  # parts of Los Angeles, and what lies beside it
        ("West Hills", "0.9195", "medium"),
        ("Montrose", "0.7147", "low"),
    ):
        answer = ask("CA", location=name, as_of=DAY)
        assert answer.chosen.combined == 9_750
        assert (spans(answer)["share"], answer.confidence) == (share, level)


def test_places_with_no_half_of_a_names_housing_are_refused_with_their_rates(refused):
    reason = refused("TN", location="Georgetown", as_of=DAY)
    assert len(reason.detail["candidates"]) > 1


BOOK = load_book()
ZIPS = [
    (state, zip5)
    for state, row in BOOK.states.items()
    if row.local == "city" and row.tier != "none"  # of most of Alaska no rate is known
    for zip5 in BOOK.zips.zips(state)
    if BOOK.zips.housing(zip5, state)
]


@given(st.sampled_from(ZIPS), st.dates(date(2022, 1, 1), date(2026, 12, 31)))
@examples(60, of=400)
def test_any_zip_has_the_largest_sum_and_a_level_that_follows_it(place, day):
    state, zip5 = place
    try:
        answer = resolve(BOOK, Query(state, zip=zip5), today=day)
    except NotResolved:
        return
    if not answer.location.housing:  # boxes are where their post office is
        return
    units = {o.area.id: o.housing for o in answer.location.options if o.area}
    by_rate = Counter()
    for rated, _ in answer.rated:
        by_rate[rated.combined, rated.lacks] += units[rated.area.id]
    chosen = by_rate[answer.chosen.combined, answer.chosen.lacks]
    slivers = sum(units.values()) - sum(by_rate.values())  # of no candidate, but of a rate
    assert chosen + slivers >= max(by_rate.values())
    assert sum(units.values()) <= sum(n for *_, n in BOOK.zips.housing(zip5, state))
    if share := spans(answer).get("share"):
        best = "high" if share >= SURE else "medium" if share >= MOST else "low"
        assert LEVELS.index(answer.confidence) <= LEVELS.index(best)
    elif not answer.chosen.lacks:  # of what is not known in full nothing is another rate
        assert chosen * 100 >= 98 * answer.location.housing
