"""How long an answer is kept."""

from __future__ import annotations

import time
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from support.answers import NOW, PAST, found

from svc_tools.lookup.cache import FOR_EVER, LocalDays, keeps_until
from svc_tools.lookup.outcomes import Outcome

TODAY = NOW.date()
ENDS = datetime(2026, 5, 21, 5, tzinfo=UTC)
DAYS_30 = NOW + timedelta(days=30)


def until(outcome, as_of=PAST, hours=None):
    return keeps_until(outcome, as_of, answered=NOW, today=TODAY, day_ends=ENDS, hours=hours)


def ok(**changes):
    return Outcome("ok", None, found(**changes))


def test_the_proven_rate_of_a_past_date_is_kept_for_ever():
    assert until(ok()) == FOR_EVER
    assert until(ok(effective_date=PAST.isoformat())) == FOR_EVER


@pytest.mark.parametrize(
    "changes",
    [
        {"effective_date_basis": "edition_only"},
        {"effective_date_basis": "no_published_date"},
        {"effective_date_basis": None},
        {"effective_date": None},
        {"effective_date": "soon"},
        {"effective_date": "2024-05-02"},
        {"warnings": ("as_of_before_history",)},
        {"warnings": ("zip_spans_jurisdictions", "as_of_after_edition")},
    ],
)
def test_what_does_not_prove_a_past_date_is_asked_again_after_30_days(changes):
    assert until(ok(**changes)) == DAYS_30


def test_a_rate_that_lacks_a_part_is_asked_again_after_30_days():
    partial = Outcome("partial", "districts_not_covered", found())
    assert until(partial) == DAYS_30


@pytest.mark.parametrize("as_of", [None, TODAY, TODAY + timedelta(days=1), date(2030, 1, 1)])
def test_rates_of_today_and_later_are_kept_until_the_day_ends_or_as_long_as_asked(as_of):
    assert until(ok(), as_of) == ENDS
    assert until(ok(), as_of, hours=48) == NOW + timedelta(hours=48)
    assert until(ok(), as_of, hours=0.5) == ENDS
    assert until(ok(), PAST, hours=48) == FOR_EVER


def test_a_day_that_is_still_today_for_the_service_is_not_past():
    late = datetime(2026, 5, 20, 22, tzinfo=UTC)  # in Sydney it is the 21st already
    rules = {"answered": late, "today": date(2026, 5, 21), "day_ends": ENDS}
    assert keeps_until(ok(), date(2026, 5, 20), **rules) == ENDS
    assert keeps_until(ok(), date(2026, 5, 19), **rules) == FOR_EVER


def test_a_place_that_is_not_known_is_asked_again_after_an_hour():
    assert until(Outcome("unresolved", "no such ZIP")) == NOW + timedelta(hours=1)


@pytest.mark.parametrize("status", ["failed", "not_attempted", "invalid", "unsupported"])
def test_what_is_no_answer_is_never_kept(status):
    assert until(Outcome(status, "why")) is None


@pytest.fixture
def chicago(monkeypatch):
    monkeypatch.setenv("TZ", "America/Chicago")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("moment", "day", "ends"),
    [
        ("2026-05-20T17:00", "2026-05-20", "2026-05-21T05:00"),
        ("2026-05-21T04:59", "2026-05-20", "2026-05-21T05:00"),
        ("2026-05-21T05:00", "2026-05-21", "2026-05-22T05:00"),
        ("2026-03-08T12:00", "2026-03-08", "2026-03-09T05:00"),  # the clocks went forward
        ("2026-11-01T12:00", "2026-11-01", "2026-11-02T06:00"),  # and back
    ],
)
def test_the_day_is_the_one_where_the_person_is(chicago, moment, day, ends):
    days = LocalDays()
    for _ in range(2):  # the second time from memory
        found = days.of(datetime.fromisoformat(moment).replace(tzinfo=UTC))
        assert found == (
            date.fromisoformat(day),
            datetime.fromisoformat(ends).replace(tzinfo=UTC),
        )


def test_the_guide_says_the_same_as_the_code():
    lines = map(str.strip, keeps_until.__doc__.splitlines())
    table = [line for line in lines if line.startswith("|")]
    guide = (Path(__file__).parents[2] / "docs" / "CACHE.md").read_text()
    assert len(table) == 7
    assert "\n".join(table) in guide
