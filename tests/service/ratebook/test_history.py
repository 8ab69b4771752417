"""Dates: before the book's history, after its editions, changes in between."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

DAY = timedelta(days=1)


def warning(answer, code):
    found = [w for w in answer.advisories if w["code"] == code]
    return found[0] if found else None


def test_before_the_oldest_row(ask):
    answer = ask("NJ", zip="07030", as_of=date(2025, 1, 1))
    told = warning(answer, "as_of_before_history")
    assert (told["oldest"], answer.confidence) == ("2026-07-01", "low")
    assert answer.chosen.combined == 6_625
    assert answer.simple()["meta"]["effective_date_basis"] == "edition_only"


def test_no_legal_date_is_given_for_a_day_before_it(ask):
    answer = ask("LA", zip="70112", as_of=date(2020, 1, 1))
    assert warning(answer, "as_of_before_history")["oldest"] == "2025-01-01"
    assert answer.simple()["meta"]["effective_date"] is None


def test_before_a_rate_whose_start_is_not_known(ask):
    told = warning(ask("SD", zip="57104", as_of=date(2010, 1, 1)), "as_of_before_history")
    assert told["oldest"] == "2023-07-01"


@pytest.mark.parametrize(
    ("state", "fields", "end", "levels"),
    [
        ("NC", {"zip": "28202"}, date(2026, 12, 31), ("high", "medium")),
        ("WI", {"location": "Dane County"}, date(2026, 6, 30), ("high", "medium")),
        ("WA", {"location": "Seattle"}, date(2026, 6, 30), ("medium", "low")),
        ("NJ", {"zip": "07030"}, date(2026, 12, 31), ("high", "medium")),
        ("FL", {"location": "Miami"}, date(2026, 10, 20), ("medium", "low")),
        ("CA", {"location": "Los Angeles"}, date(2026, 3, 31), ("medium", "low")),
        ("CA", {"location": "San Jose"}, date(2026, 6, 30), ("medium", "low")),
        ("OH", {"location": "Cuyahoga County"}, date(2026, 3, 31), ("high", "medium")),
        ("NV", {"location": "Clark County"}, date(2025, 12, 31), ("high", "medium")),
        ("GA", {"location": "Savannah"}, date(2026, 6, 30), ("medium", "low")),
        ("MN", {"location": "Duluth"}, date(2026, 6, 30), ("medium", "low")),
        ("NY", {"location": "Albany"}, date(2026, 10, 20), ("medium", "low")),
        ("TX", {"location": "Austin"}, date(2026, 10, 20), ("low", "low")),
        ("TX", {"location": "Dallas"}, date(2026, 9, 30), ("low", "low")),
        ("AK", {"location": "Juneau"}, date(2026, 10, 20), ("low", "low")),
    ],
)
def test_after_the_edition_one_step_less(ask, state, fields, end, levels):
    last, next_day = ask(state, as_of=end, **fields), ask(state, as_of=end + DAY, **fields)
    assert warning(last, "as_of_after_edition") is None
    assert warning(next_day, "as_of_after_edition")["edition_end"] == end.isoformat()
    assert (last.confidence, next_day.confidence) == levels


def test_today_is_after_the_edition_too(ask):
    answer = ask("WA", location="Seattle")
    assert warning(answer, "as_of_after_edition")["as_of"] == "2026-11-21"
    assert answer.confidence == "low"


def test_the_legal_date_is_the_latest_of_all_parts(ask):
    dates = {
        as_of: ask("WI", location="Milwaukee", as_of=as_of).simple()["meta"]["effective_date"]
        for as_of in (date(2023, 12, 31), date(2024, 1, 1), date(2026, 5, 1))
    }
    assert list(dates.values()) == [None, "2024-01-01", "2024-01-01"]


def test_no_legal_date_where_one_part_has_none(ask):
    answer = ask("NC", location="Mecklenburg County")  # the county's is known, the state's not
    assert [part["effective_date"] for part in answer.full()["components"]] == [None, "2026-07-01"]
    assert answer.simple()["meta"]["effective_date"] is None


def test_dates_of_copied_tables_are_not_passed_off_as_law(ask):
    answer = ask("OH", location="Cuyahoga County", as_of=date(2025, 1, 1))
    assert answer.simple()["meta"]["effective_date"] is None
    assert answer.confidence == "high"


@pytest.mark.parametrize(
    ("county", "day", "rate", "effective"),
    [
        ("Milwaukee", date(1995, 12, 31), 5_500, None),
        ("Milwaukee", date(1996, 1, 1), 5_600, "1996-01-01"),
        ("Washington", date(2020, 3, 31), 5_600, "1999-01-01"),
        ("Washington", date(2020, 4, 1), 5_500, "2020-04-01"),
        ("Waukesha", date(2020, 3, 31), 5_100, "1996-01-01"),
        ("Racine", date(2025, 4, 1), 5_500, "2025-04-01"),
        ("Brown", date(2015, 9, 30), 5_500, "2000-11-01"),
        ("Brown", date(2015, 10, 1), 5_000, "2015-10-01"),
        ("Brown", date(2018, 1, 1), 5_500, "2018-01-01"),
        ("Dane", date(2010, 1, 1), 5_500, "1991-04-01"),
    ],
)
def test_stadium_districts_of_wisconsin_begin_and_end(ask, county, day, rate, effective):
    answer = ask("WI", location=f"{county} County", as_of=day)
    assert (answer.chosen.combined, answer.confidence) == (rate, "high")
    assert answer.advisories == ()
    assert answer.simple()["meta"]["effective_date"] == effective


@pytest.mark.parametrize(
    ("day", "rate", "effective"),
    [
        (date(2011, 1, 1), 8_000, "2011-01-01"),
        (date(2017, 3, 15), 8_500, "2017-03-01"),
        (date(2017, 4, 1), 8_900, "2017-04-01"),
        (date(2022, 4, 1), 8_500, "2022-04-01"),
        (date(2026, 6, 30), 8_900, "2022-10-01"),
    ],
)
def test_atlanta_over_the_years(ask, day, rate, effective):
    answer = ask("GA", location="Atlanta", as_of=day)
    meta = answer.simple()["meta"]
    assert (answer.chosen.combined, meta["effective_date"]) == (rate, effective)
    assert meta["effective_date_basis"] == "publisher_effective_date"


def test_a_rate_of_a_table_has_no_day_of_law_but_where_one_is_published(ask):
    for state, place in (("NY", "Yonkers"), ("AZ", "Phoenix"), ("TX", "Austin")):
        meta = ask(state, location=place, as_of=date(2026, 9, 1)).simple()["meta"]
        assert (meta["effective_date"], meta["effective_date_basis"]) == (None, "edition_only")
    parts = ask("IL", location="Chicago", as_of=date(2026, 9, 1)).full()["components"]
    assert [part["effective_date"] for part in parts] == [None, None, None, "2026-08-01"]


def test_a_damaged_row_is_not_bridged(ask, refused):
    reason = refused("WA", location="Spokane", as_of=date(2023, 2, 1))
    assert "damaged" in reason.message
    for day in (date(2022, 12, 31), date(2023, 4, 1)):
        assert ask("WA", location="Spokane", as_of=day).chosen.combined == 9_000


def test_a_location_that_did_not_exist_yet_or_no_longer(refused, ask):
    assert "lists no such" in refused("WA", location="1329", as_of=date(2025, 3, 31)).message
    assert ask("WA", location="1329", as_of=date(2025, 4, 1)).chosen.combined > 0
    assert "lists no such" in refused("WA", location="2915", as_of=date(2026, 5, 1)).message


def test_sources_in_conflict(ask):
    dc = ask("DC", zip="20001", as_of=date(2026, 1, 1))
    told = warning(dc, "source_conflict")
    assert (told["rate"], told["other_rate"], dc.confidence) == ("0.06000", "0.06500", "low")
    ca = ask("CA", location="San Jose", as_of=date(2026, 4, 1))
    told = warning(ca, "source_conflict")
    assert (told["rate"], told["other_rate"], ca.confidence) == ("0.02750", "0.02125", "medium")
    assert (
        warning(ask("CA", location="San Jose", as_of=date(2026, 3, 31)), "source_conflict") is None
    )


@settings(deadline=None)  # the first example reads tables
@given(
    st.dates(date(2000, 1, 1), date(2035, 12, 31)),
    st.sampled_from(
        [("WI", "53202"), ("NC", "28202"), ("DC", "20001"), ("SD", "57104"), ("CA", "95112")]
    ),
)
def test_any_day_adds_up_and_says_where_it_stands(ask, day, place):
    state, zip5 = place
    answer = ask(state, zip=zip5, as_of=day)
    rated = answer.chosen
    assert rated.combined == rated.state + rated.county + rated.city + rated.district
    told = {w["code"] for w in answer.advisories}
    assert ("as_of_after_edition" in told) == (day > rated.edition_end)
    for part in rated.components:
        inside = (part.row.begin is None or part.row.begin <= day) and (
            part.row.end is None or day <= part.row.end
        )
        assert inside or "as_of_before_history" in told
