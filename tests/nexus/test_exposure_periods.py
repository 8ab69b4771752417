"""Over which days states measure, at ends of months, leap days and the turn of September."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.nexus.measured_sales import earlier_windows, months_before, windows

DAYS = st.dates(date(2001, 1, 1), date(2099, 12, 31)) | st.sampled_from(
    [
        *(date(2024, 2, 29), date(2024, 2, 28), date(2025, 2, 28), date(2024, 3, 1)),
        *(date(2025, 9, 30), date(2025, 10, 1), date(2025, 12, 31), date(2026, 1, 1)),
        *(date(2025, 5, 31), date(2025, 6, 1), date(2025, 6, 30), date(2024, 11, 30)),
    ]
)
STATES = st.sampled_from(["NY", "IL"])
ONE = timedelta(days=1)


def spans(period, as_of, state=""):
    return [(one.first, one.last) for one in windows(period, as_of, state)]


@pytest.mark.parametrize(
    ("period", "state", "as_of", "expected"),
    [
        ("twelve_months_to_september", "CT", "2025-09-29", [("2023-10-01", "2024-09-30")]),
        ("twelve_months_to_september", "CT", "2025-09-30", [("2024-10-01", "2025-09-30")]),
        ("twelve_months_to_september", "CT", "2025-10-01", [("2024-10-01", "2025-09-30")]),
        ("four_quarters", "NY", "2024-02-28", [("2022-12-01", "2023-11-30")]),
        ("four_quarters", "NY", "2024-02-29", [("2023-03-01", "2024-02-29")]),
        ("four_quarters", "NY", "2026-11-21", [("2025-09-01", "2026-08-31")]),
        ("four_quarters", "IL", "2026-11-21", [("2025-10-01", "2026-09-30")]),
        ("four_quarters", "IL", "2026-12-31", [("2026-01-01", "2026-12-31")]),
        ("rolling_12_months", "TX", "2024-02-29", [("2023-03-01", "2024-02-29")]),
        ("rolling_12_months", "TX", "2025-02-28", [("2024-02-29", "2025-02-28")]),
        ("rolling_12_months", "TX", "2026-10-31", [("2025-11-01", "2026-10-31")]),
        ("previous_year", "FL", "2026-01-01", [("2025-01-01", "2025-12-31")]),
        (
            "current_or_previous_year",
            "WA",
            "2026-11-21",
            [("2025-01-01", "2025-12-31"), ("2026-01-01", "2026-11-21")],
        ),
    ],
)
def test_the_days_that_count(period, state, as_of, expected):
    found = spans(period, date.fromisoformat(as_of), state)
    assert [(str(first), str(last)) for first, last in found] == expected


@given(DAYS)
def test_rolling_months_end_on_the_day_and_leave_none_out(as_of):
    ((first, last),) = spans("rolling_12_months", as_of)
    assert last == as_of
    assert 365 <= (last - first).days + 1 <= 366
    ((_, before),) = spans("rolling_12_months", months_before(as_of, 12))
    assert before + ONE == first  # two of them in a row have no gap


@given(DAYS, STATES)
def test_four_quarters_are_whole_and_have_ended(as_of, state):
    ((first, last),) = spans("four_quarters", as_of, state)
    ends = {2, 5, 8, 11} if state == "NY" else {3, 6, 9, 12}
    assert last <= as_of < last + timedelta(days=93)
    assert last.month in ends
    assert (first.day, (last + ONE).day) == (1, 1)
    assert (last + ONE).replace(year=first.year) == first
    between = as_of
    while between > last:  # no other quarter has ended since
        assert not (between.month in ends and (between + ONE).day == 1)
        between -= ONE


@given(DAYS)
def test_connecticuts_months_run_from_october_to_september(as_of):
    ((first, last),) = spans("twelve_months_to_september", as_of)
    assert (first.month, first.day, last.month, last.day) == (10, 1, 9, 30)
    assert last.year == first.year + 1
    assert last <= as_of < date(last.year + 1, 9, 30)


@given(DAYS, st.integers(0, 40))
def test_months_before_a_day_keep_its_number_where_there_is_one(day, months):
    before = months_before(day, months)
    assert (day.year - before.year) * 12 + day.month - before.month == months
    assert before.day == day.day or (before + ONE).day == 1


@given(DAYS, st.sampled_from(["current_or_previous_year", "previous_year", "four_quarters"]))
def test_earlier_windows_end_before_and_are_no_current_ones(as_of, period):
    now = windows(period, as_of, "NY")
    found = earlier_windows(period, as_of, 12, "NY")
    assert found
    for window in found:
        assert window.last < as_of
        assert window not in now
        assert window.first < now[0].first
        assert window.last >= months_before(as_of, 24 if period != "previous_year" else 36)
    assert earlier_windows(period, as_of, 0, "NY") == ()


@given(DAYS, st.integers(0, 4))
def test_rolling_windows_end_on_each_day_since_the_last_quarters_end(as_of, months):
    ends = [window.last for window in earlier_windows("rolling_12_months", as_of, months)]
    assert ends == [ends[0] + ONE * number for number in range(len(ends))]
    assert ends[-1:] in ([], [as_of - ONE])
    first = ends[0] if ends else as_of
    assert first <= months_before(as_of, months)
    assert first == months_before(as_of, months) or ((first + ONE).day, first.month % 3) == (1, 0)
