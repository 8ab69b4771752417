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


@pytest.mark.parametrize(
    ("state", "fields", "first"),
    [
        ("NJ", {"zip": "07030"}, date(2006, 7, 15)),
        ("LA", {"zip": "70112"}, date(2001, 1, 1)),
        ("CT", {"location": "Hartford"}, date(2011, 7, 1)),
        ("TN", {"location": "Memphis"}, date(2022, 1, 1)),
        ("SD", {"zip": "57104"}, date(2022, 1, 1)),
        ("WA", {"location": "Seattle"}, date(2022, 1, 1)),
        ("GA", {"location": "Savannah"}, date(2011, 1, 1)),
        ("MN", {"location": "Hennepin County"}, date(2021, 10, 1)),
        ("CA", {"location": "Los Angeles"}, date(2026, 1, 1)),
        ("CO", {"location": "Denver"}, date(2025, 7, 1)),
        ("AZ", {"location": "Phoenix"}, date(2026, 7, 1)),
    ],
)
def test_before_history_only_where_the_rate_is_unknown(ask, state, fields, first):
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
    ("state", "fields", "end", "levels"),
    [
        ("NJ", {"zip": "07030"}, date(2027, 6, 30), ("high", "medium")),
        ("HI", {"location": "Honolulu"}, date(2027, 6, 30), ("high", "medium")),  # its state rate
        ("SC", {"location": "Charleston"}, date(2027, 4, 30), ("high", "medium")),
        ("NC", {"zip": "28202"}, date(2026, 12, 31), ("high", "medium")),
        ("FL", {"location": "Miami"}, date(2026, 12, 31), ("high", "medium")),
        ("WI", {"location": "Dane County"}, date(2026, 12, 31), ("high", "medium")),
        ("WA", {"location": "Seattle"}, date(2026, 12, 31), ("high", "medium")),
        ("GA", {"location": "Savannah"}, date(2026, 12, 31), ("high", "medium")),
        ("MN", {"location": "Duluth"}, date(2026, 12, 31), ("high", "medium")),
        ("IA", {"location": "Des Moines"}, date(2026, 12, 31), ("medium", "low")),
        ("IL", {"location": "Chicago"}, date(2026, 12, 31), ("medium", "low")),
        ("CA", {"location": "San Jose"}, date(2026, 9, 30), ("high", "medium")),
        ("TX", {"location": "Dallas"}, date(2026, 9, 30), ("medium", "low")),
        ("TX", {"location": "Belton"}, date(2026, 10, 20), ("medium", "low")),
        ("AK", {"location": "Juneau"}, date(2026, 10, 20), ("low", "low")),
        ("CO", {"location": "Denver"}, date(2025, 12, 31), ("medium", "low")),
    ],
)
def test_after_the_edition_one_step_less(ask, state, fields, end, levels):
    last, next_day = ask(state, as_of=end, **fields), ask(state, as_of=end + DAY, **fields)
    assert warning(last, "as_of_after_edition") is None
    assert warning(next_day, "as_of_after_edition")["edition_end"] == end.isoformat()
    assert (last.confidence, next_day.confidence) == levels


def test_today_is_after_the_edition_too(ask):
    assert warning(ask("TX", location="Dallas"), "as_of_after_edition")["as_of"] == "2026-11-21"


@pytest.mark.parametrize(
    ("place", "day", "effective", "basis"),
    [
        ("Hartford CT", "2022-03-01", "2011-07-01", "publisher_effective_date"),
        ("Milwaukee WI", "2023-12-31", None, "edition_only"),
        ("Milwaukee WI", "2024-01-01", "2024-01-01", "publisher_effective_date"),
        ("Milwaukee WI", "2026-11-01", "2024-01-01", "publisher_effective_date"),
        ("Nashville TN", "2025-01-31", None, "no_published_date"),
        ("Nashville TN", "2025-02-01", "2025-02-01", "publisher_effective_date"),
        ("Mecklenburg County NC", "2026-07-01", "2026-07-01", "publisher_effective_date"),
        ("Cuyahoga County OH", "2025-01-01", None, "no_published_date"),
        ("Los Angeles CA", "2026-02-01", None, "edition_only"),
        ("San Jose CA", "2026-04-01", "2026-04-01", "publisher_effective_date"),
        ("Yonkers NY", "2026-09-01", None, "no_published_date"),
        ("Phoenix AZ", "2026-09-01", None, "no_published_date"),
        ("Austin TX", "2026-09-01", None, "edition_only"),
        ("Chicago IL", "2026-07-31", None, "edition_only"),
        ("Chicago IL", "2026-08-01", "2026-08-01", "publisher_effective_date"),
    ],
)
def test_the_day_of_law_is_the_latest_of_the_parts_and_none_where_it_is_not_known(
    ask, place, day, effective, basis
):
    answer = ask(place[-2:], location=place[:-3], as_of=date.fromisoformat(day))
    meta = answer.simple()["meta"]
    assert (meta["effective_date"], meta["effective_date_basis"]) == (effective, basis)


@pytest.mark.parametrize(
    ("county", "day", "rate", "effective"),
    [
        ("Milwaukee", date(1995, 12, 31), 5_500, "1991-04-01"),
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


def test_a_damaged_row_is_filled_by_the_list(ask):
    for day in (date(2022, 12, 31), date(2023, 2, 1), date(2023, 4, 1)):
        assert ask("WA", location="Spokane", as_of=day).chosen.combined == 9_000


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
