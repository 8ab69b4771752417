"""States of a transcribed table: what is answered, how sure it is, and what is said of the rest."""

from __future__ import annotations

from datetime import date

import pytest

DAY = date(2026, 9, 1)
GOOD_UNTIL = date(2026, 10, 20)


def codes(answer):
    return [warning["code"] for warning in answer.advisories]


@pytest.mark.parametrize(
    ("state", "fields"),
    [
        ("TX", {"location": "Austin"}),
        ("TX", {"zip": "78701"}),
        ("TX", {"location": "Bell County"}),
        ("IL", {"location": "Chicago"}),
        ("AZ", {"zip": "85003"}),
        ("MO", {"location": "St. Louis"}),
        ("NM", {"location": "Albuquerque"}),
        ("ID", {"location": "Boise"}),
        ("ID", {"lat": 43.68, "lng": -114.36}),
    ],
)
def test_main_cities_are_low_and_say_that_districts_are_missing(ask, state, fields):
    for day in (DAY, GOOD_UNTIL):
        answer = ask(state, as_of=day, **fields)
        assert answer.confidence == "low"
        told = next(w for w in answer.advisories if w["code"] == "districts_not_covered")
        assert told["state"] == state
        assert "until" not in told
        assert "local_rates_not_covered" not in codes(answer)


@pytest.mark.parametrize("fields", [{"zip": "87501"}, {"location": "Santa Fe"}, {"zip": "87801"}])
def test_outside_the_listed_places_of_new_mexico_only_the_state_part_is_known(ask, fields):
    answer = ask("NM", as_of=DAY, **fields)
    assert (answer.chosen.combined, answer.confidence) == (4_875, "low")
    assert "local_rates_not_covered" in codes(answer)
    assert "districts_not_covered" not in codes(answer)


@pytest.mark.parametrize(
    ("state", "fields", "level"),
    [
        ("NY", {"location": "Yonkers"}, "medium"),
        ("NY", {"location": "Albany"}, "medium"),
        ("NY", {"zip": "10001"}, "medium"),
        ("NY", {"zip": "10701"}, "low"),
        ("NY", {"address": "1 Larkin Plaza, Yonkers, NY 10701"}, "medium"),
        ("SC", {"location": "Myrtle Beach"}, "medium"),
        ("SC", {"zip": "29577"}, "low"),
    ],
)
def test_third_hand_rows_of_new_york_and_south_carolina(ask, state, fields, level):
    answer = ask(state, as_of=DAY, **fields)
    assert answer.confidence == level
    assert any(part.row.trust == "third_hand" for part in answer.chosen.components)
    assert "districts_not_covered" not in codes(answer)


def test_no_third_hand_answer_is_above_medium(ask, book):
    for state in (
        "AK",
        "AZ",
        "FL",
        "HI",
        "ID",
        "IL",
        "MO",
        "MS",
        "NM",
        "NY",
        "PA",
        "SC",
        "TX",
        "VA",
    ):
        for area in [a for a in book.areas.values() if a.state == state and a.kind == "county"][
            ::9
        ]:
            answer = ask(state, location=area.name, as_of=DAY)
            assert answer.confidence in {"low", "medium"}, area.name


@pytest.mark.parametrize(
    ("fields", "rate"),
    [
        ({"location": "Juneau"}, 5_000),
        ({"zip": "99801"}, 5_000),
        ({"address": "155 S Seward St, Juneau, AK 99801"}, 5_000),
        ({"location": "Kenai"}, 6_000),
        ({"location": "Sterling"}, 3_000),
        ({"zip": "99672"}, 3_000),
        ({"location": "Skagway"}, 5_000),
        ({"zip": "99574"}, 7_000),
        ({"location": "Saint Paul"}, 3_500),
        ({"lat": 60.48, "lng": -151.06}, 6_000),
    ],
)
def test_towns_of_alaska_add_up_with_their_borough(ask, fields, rate):
    answer = ask("AK", as_of=DAY, **fields)
    assert (answer.chosen.combined, answer.chosen.state, answer.confidence) == (rate, 0, "low")
    told = next(w for w in answer.advisories if w["code"] == "seasonal_rates")
    assert "summer" in told["message"]


@pytest.mark.parametrize(
    "fields",
    [
        {"location": "Anchorage"},
        {"zip": "99501"},
        {"address": "632 W 6th Ave, Anchorage, AK 99501"},
        {"lat": 61.2181, "lng": -149.9003},
        {"location": "Fairbanks North Star Borough"},
        {"lat": 57.0531, "lng": -135.3300},  # in Sitka, but a point says nothing of city limits
    ],
)
def test_elsewhere_in_alaska_nothing_is_answered_and_it_says_so(refused, fields):
    reason = refused("AK", as_of=DAY, **fields)
    assert reason.code == "NOT_FOUND"
    assert "nothing honest can be answered" in reason.message
    assert reason.detail["state"] == "AK"


@pytest.mark.parametrize("state", ["AL", "CO", "LA", "UT", "TN"])
def test_states_without_a_usable_table_keep_the_state_part(ask, book, state):
    assert book.states[state].tier == "E"
    answer = ask(state, zip=book.zips.zips(state)[100], as_of=DAY)
    assert answer.chosen.area is None
    assert codes(answer)[-1] == "local_rates_not_covered"


def test_the_rta_rate_rose_on_its_day(ask):
    before, after = (
        ask("IL", location="Chicago", as_of=date(2026, *day)) for day in ((7, 31), (8, 1))
    )
    assert (before.chosen.district, after.chosen.district) == (1_000, 1_250)
    row = after.chosen.components[-1].row
    assert (row.effective, row.begin) == (date(2026, 8, 1), date(2026, 8, 1))
    assert "104-0457" in row.note


def test_a_county_of_texas_serves_only_where_no_city_does(ask):
    county = ask("TX", location="Bell County", as_of=DAY).chosen
    city = ask("TX", location="Belton", as_of=DAY).chosen
    assert (county.county, county.city) == (500, 0)
    assert (city.county, city.city, city.combined) == (0, 2_000, 8_250)
    paso = ask("TX", location="El Paso", as_of=DAY).chosen  # whose figure leaves the county out
    assert (paso.county, paso.city, paso.district) == (500, 1_000, 500)


def test_the_comptrollers_figures_answer_before_the_table(ask):
    for name in ("Abilene", "Dallas", "Acton", "Hood County"):
        answer = ask("TX", location=name, as_of=DAY)
        assert {part.source.id for part in answer.chosen.components} == {"tx-comptroller"}, name
    assert ask("TX", location="Austin", as_of=DAY).chosen.components[1].source.id == "local-tables"
