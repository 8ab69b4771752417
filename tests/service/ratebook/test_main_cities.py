"""States where some cities are known only: what is whole, and what is said of the rest."""

from __future__ import annotations

from datetime import date

import pytest

DAY = date(2026, 9, 1)


def codes(answer):
    return [warning["code"] for warning in answer.advisories]


@pytest.mark.parametrize(
    ("state", "fields", "rate"),
    [
        ("TX", {"location": "Austin"}, 8_250),
        ("TX", {"zip": "78701"}, 8_250),
        ("TX", {"location": "San Antonio"}, 8_250),  # the list reads two of its districts
        ("TX", {"location": "Belton"}, 8_250),
        ("IL", {"location": "Chicago"}, 10_500),
        ("CO", {"location": "Denver", "as_of": date(2025, 12, 31)}, 9_150),
        ("AZ", {"zip": "85003"}, 9_100),
        ("MO", {"location": "St. Louis"}, 9_679),
        ("NM", {"location": "Albuquerque"}, 7_625),
        ("AL", {"location": "Birmingham"}, 10_000),
        ("ID", {"location": "Ketchum"}, 8_000),
    ],
)
def test_listed_cities_are_whole_and_medium(ask, state, fields, rate):
    answer = ask(state, **{"as_of": DAY, **fields})
    assert (answer.chosen.combined, answer.confidence) == (rate, "medium")
    by_address = ["address_districts_not_covered"] if state in {"CO", "IL", "MO"} else []
    assert codes(answer) == by_address


@pytest.mark.parametrize(
    ("state", "fields", "rate", "warning"),
    [
        ("TX", {"location": "Bell County"}, 6_750, "districts_not_covered"),
        ("TX", {"location": "Hood County"}, 6_250, "districts_not_covered"),
        ("IL", {"location": "Skokie"}, 10_500, "districts_not_covered"),
        ("IL", {"location": "Joliet"}, 9_000, "districts_not_covered"),
        ("CO", {"location": "Jefferson County"}, 4_500, "districts_not_covered"),
        ("ID", {"location": "Boise"}, 6_000, "districts_not_covered"),
        ("NM", {"location": "Santa Fe"}, 8_187, "districts_not_covered"),  # 8.1875 does not fit
        ("NM", {"zip": "87501"}, 8_187, "districts_not_covered"),
        ("NM", {"zip": "87801"}, 4_875, "local_rates_not_covered"),
        ("LA", {"location": "New Orleans"}, 5_000, "local_rates_not_covered"),
    ],
)
def test_elsewhere_only_the_part_that_is_known_is_answered(ask, state, fields, rate, warning):
    answer = ask(state, as_of=DAY, **fields)
    assert (answer.chosen.combined, answer.confidence) == (rate, "low")
    assert warning in codes(answer)
    assert "address_districts_not_covered" not in codes(answer)


@pytest.mark.parametrize("fields", [{"zip": "83340"}, {"lat": 43.68, "lng": -114.36}])
def test_a_town_that_lies_in_one_large_zip_is_no_sliver_of_it(ask, fields):
    """Ketchum: 3 of 500 square miles of the ZIP that is called after it."""
    answer = ask("ID", as_of=DAY, **fields)
    assert (answer.chosen.combined, answer.confidence) == (8_000, "low")
    told = next(w for w in answer.advisories if w["code"] == "zip_spans_jurisdictions")
    assert told["lowest_combined_rate"] == "0.06000"


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
    assert reason.detail["state"] == "AK"


def test_the_rta_rate_rose_on_its_day(ask):
    before, after = (
        ask("IL", location="Chicago", as_of=date(2026, *day)) for day in ((7, 31), (8, 1))
    )
    assert (before.chosen.district, after.chosen.district) == (1_000, 1_250)
    row = after.chosen.components[-1].row  # districts stand last
    assert (row.effective, row.begin) == (date(2026, 8, 1), date(2026, 8, 1))


def test_a_county_of_texas_serves_only_where_no_city_does(ask):
    county = ask("TX", location="Bell County", as_of=DAY).chosen
    city = ask("TX", location="Belton", as_of=DAY).chosen
    assert (county.county, county.city) == (500, 0)
    assert (city.county, city.city, city.combined) == (0, 2_000, 8_250)
    paso = ask("TX", location="El Paso", as_of=DAY).chosen  # whose figure leaves the county out
    assert (paso.county, paso.city, paso.district) == (500, 1_000, 500)
