"""Dates: before the book's history, after its editions, changes in between."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import cases, named

DAY = timedelta(days=1)


def warning(answer, code):
    found = [w for w in answer.advisories if w["code"] == code]
    return found[0] if found else None


@pytest.mark.parametrize(
    ("state", "place", "first"),
    cases("""
    NJ  07030 = 2006-07-15
    LA  70112 = 2018-07-01 | 70601 = 2001-01-01
    CT  Hartford = 2011-07-01
    TN  Memphis = 2022-01-01
    SD  57104 = 2022-01-01
    WA  Seattle = 2022-01-01
    GA  Savannah = 2011-01-01
    MN  Hennepin County = 2021-10-01
    CA  Los Angeles = 2023-01-01
    CO  Denver = 2025-07-01
    AZ  Phoenix = 2022-01-01 | Bullhead City = 2026-07-01
    """),
)
def test_before_history_only_where_the_rate_is_unknown(ask, state, place, first):
    fields, first = named(place), date.fromisoformat(first)
    known, before = ask(state, as_of=first, **fields), ask(state, as_of=first - DAY, **fields)
    assert warning(known, "as_of_before_history") is None
    told = warning(before, "as_of_before_history")
    assert (told["oldest"], before.confidence) == (first.isoformat(), "low")
    assert before.simple()["meta"]["effective_date"] is None


@pytest.mark.parametrize(
    ("state", "zip5"), [("DE", "19801"), ("MT", "59601"), ("NH", "03301"), ("OR", "97204")]
)
def test_a_state_that_never_had_a_sales_tax_has_its_rate_on_any_day(ask, state, zip5):
    old, new = ask(state, zip=zip5, as_of=date(1985, 1, 1)), ask(state, zip=zip5)
    assert (old.chosen.combined, old.confidence) == (0, new.confidence)
    assert warning(old, "as_of_before_history") is None


@pytest.mark.parametrize(
    ("state", "place", "end", "levels"),
    cases("""
    NJ  07030 = 2027-06-30 = high medium
    HI  Honolulu = 2027-06-30 = high medium
    SC  Charleston = 2027-04-30 = high medium
    NC  28202 = 2026-12-31 = high medium
    FL  Miami = 2026-12-31 = high medium
    WI  Dane County = 2026-12-31 = high medium
    WA  Seattle = 2026-12-31 = high medium
    GA  Savannah = 2026-12-31 = high medium
    MN  Duluth = 2026-12-31 = high medium
    IA  Des Moines = 2026-12-31 = medium low
    IL  Chicago = 2026-12-31 = medium low
    CA  San Jose = 2026-09-30 = high medium
    TX  Dallas = 2026-09-30 = medium low | Belton = 2026-10-20 = medium low
    AK  Juneau = 2026-10-20 = medium low | Seward = 2026-10-20 = low low
    LA  New Orleans = 2024-07-31 = medium medium | Ouachita Parish = 2024-10-31 = medium low
    CO  Denver = 2025-12-31 = medium low
    """),
)
def test_after_the_edition_one_step_less(ask, state, place, end, levels):
    fields, end = named(place), date.fromisoformat(end)
    last, next_day = ask(state, as_of=end, **fields), ask(state, as_of=end + DAY, **fields)
    assert warning(last, "as_of_after_edition") is None
    assert warning(next_day, "as_of_after_edition")["edition_end"] == end.isoformat()
    assert f"{last.confidence} {next_day.confidence}" == levels


@pytest.mark.parametrize(
    ("state", "place", "day", "effective"),
    cases("""
    CT  Hartford = 2022-03-01 = 2011-07-01
    WI  Milwaukee = 2023-12-31 = edition | Milwaukee = 2024-01-01 = 2024-01-01
    WI  Milwaukee = 2026-11-01 = 2024-01-01
    TN  Nashville = 2025-01-31 = none | Nashville = 2025-02-01 = 2025-02-01
    NC  Mecklenburg County = 2026-07-01 = 2026-07-01
    OH  Cuyahoga County = 2025-01-01 = none
    CA  Los Angeles = 2026-02-01 = 2025-04-01 | Fresno = 2026-02-01 = edition
    CA  Los Angeles = 2026-08-01 = 2025-04-01 | San Jose = 2026-04-01 = 2026-04-01
    NY  Yonkers = 2026-09-01 = none
    AZ  Phoenix = 2026-09-01 = none
    TX  Austin = 2026-09-01 = edition
    IL  Chicago = 2026-07-31 = edition | Chicago = 2026-08-01 = 2026-08-01
    """),
)
def test_the_day_of_law_is_the_latest_of_the_parts_and_none_where_it_is_not_known(
    ask, state, place, day, effective
):
    bases = {"edition": "edition_only", "none": "no_published_date"}
    meta = ask(state, location=place, as_of=date.fromisoformat(day)).simple()["meta"]
    basis = bases.get(effective, "publisher_effective_date")
    expected = None if effective in bases else effective
    assert (meta["effective_date"], meta["effective_date_basis"]) == (expected, basis)


@pytest.mark.parametrize(
    ("state", "county", "day", "expected"),
    cases("""
    WI  Milwaukee = 1995-12-31 = 5500 since 1991-04-01
    WI  Milwaukee = 1996-01-01 = 5600 since 1996-01-01
    WI  Washington = 2020-03-31 = 5600 since 1999-01-01
    WI  Washington = 2020-04-01 = 5500 since 2020-04-01
    WI  Waukesha = 2020-03-31 = 5100 since 1996-01-01
    WI  Racine = 2025-04-01 = 5500 since 2025-04-01 | Brown = 2015-09-30 = 5500 since 2000-11-01
    WI  Brown = 2015-10-01 = 5000 since 2015-10-01 | Brown = 2018-01-01 = 5500 since 2018-01-01
    WI  Dane = 2010-01-01 = 5500 since 1991-04-01
    """),
)
def test_stadium_districts_of_wisconsin_begin_and_end(ask, state, county, day, expected):
    answer = ask(state, location=f"{county} County", as_of=date.fromisoformat(day))
    since = answer.simple()["meta"]["effective_date"]
    assert f"{answer.chosen.combined} since {since}" == expected
    assert (answer.confidence, answer.advisories) == ("high", ())


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


def test_a_location_that_did_not_exist_yet_or_no_longer(refused, ask):
    assert "lists no such" in refused("WA", location="1329", as_of=date(2025, 3, 31)).message
    assert ask("WA", location="1329", as_of=date(2025, 4, 1)).chosen.combined > 0
    assert "lists no such" in refused("WA", location="2915", as_of=date(2026, 5, 1)).message


def test_sources_in_conflict(ask):
    for day, level in ((date(2026, 9, 30), "high"), (date(2026, 10, 1), "low")):
        dc = ask("DC", zip="20001", as_of=day)
        assert (dc.chosen.combined, dc.confidence) == (6_000, level)
    told = warning(dc, "source_conflict")
    assert (told["rate"], told["other_rate"]) == ("0.06000", "0.07000")


def test_a_rate_last_published_in_2024_is_stale_since(ask):
    for day, level in ((date(2024, 6, 30), "high"), (date(2024, 7, 1), "medium")):
        answer = ask("IA", location="Des Moines", as_of=day)
        assert (answer.chosen.combined, answer.confidence) == (7_000, level)
    assert warning(answer, "stale_rate")["last_confirmed"] == "2024-06-30"


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
