"""The arithmetic of limits: buckets that never drift, months, what is leased at once."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.service.limit_store import Lease
from svc_tools.service.limits import (
    SECOND,
    Bucket,
    Rate,
    full_bucket,
    lookups_to_lease,
    month_of,
    put_back,
    take,
    tokens_to_lease,
    until_full,
    until_next,
    whole_seconds,
)
from svc_tools.service.meter import Decision, Meter, Spent, Wanted
from svc_tools.service.plans import Overrides, terms_of

NOON = int(datetime(2026, 11, 21, 12, tzinfo=UTC).timestamp()) * SECOND

rates = st.builds(
    Rate, per_minute=st.integers(1, 60_000_000), burst=st.one_of(st.integers(1, 50), st.just(10**6))
)
gaps = st.one_of(st.integers(0, 3 * SECOND), st.integers(0, 100), st.just(0))


@given(rates, st.lists(st.tuples(gaps, st.integers(1, 5)), max_size=60))
def test_no_window_lets_more_through_than_the_burst_and_the_rate(rate, asked):
    bucket, now = full_bucket(rate, NOON), NOON
    admitted = []
    for gap, wanted in asked:
        now += gap
        bucket, got = take(bucket, rate, now, wanted)
        admitted.append((now, got))
    for first, (start, _) in enumerate(admitted):
        total = 0
        for end, got in admitted[first:]:
            total += got
            # exactly, in whole numbers: 60 million units of level make a token
            assert total * 60_000_000 <= rate.burst * 60_000_000 + (end - start) * rate.per_minute


@given(rates, st.lists(gaps, max_size=30))
def test_looking_often_loses_nothing(rate, looks):
    empty, _ = take(full_bucket(rate, NOON), rate, NOON, rate.burst)
    looked, now = empty, NOON
    for gap in looks:
        now += gap
        looked, _ = take(looked, rate, now, 0)
    assert take(looked, rate, now, 10**9)[1] == take(empty, rate, now, 10**9)[1]


@given(rates, st.lists(st.tuples(gaps, st.integers(1, 5)), max_size=20))
def test_waiting_as_long_as_is_said_suffices_and_is_not_too_long(rate, asked):
    bucket, now = full_bucket(rate, NOON), NOON
    for gap, wanted in asked:
        now += gap
        bucket, _ = take(bucket, rate, now, wanted)
    bucket, _ = take(bucket, rate, now, rate.burst)
    wait = until_next(bucket, rate, now)
    assert take(bucket, rate, now + wait, 1)[1] == 1
    assert wait == 0 or take(bucket, rate, now + wait - 1, 1)[1] == 0
    said = whole_seconds(wait)
    assert wait <= said * SECOND < wait + SECOND or said == 1


@given(rates, st.integers(0, 5), st.lists(gaps, max_size=5))
def test_what_comes_back_never_overflows(rate, tokens, looks):
    bucket, now = full_bucket(rate, NOON), NOON
    for gap in looks:
        now += gap
        bucket, got = take(bucket, rate, now, tokens)
        bucket = put_back(bucket, rate, now, got)
    assert take(bucket, rate, now, 10**9)[1] == rate.burst
    assert until_full(bucket, rate, now) == 0


def test_a_bucket_fills_at_its_rate():
    rate = Rate(per_minute=7, burst=3)
    bucket, got = take(full_bucket(rate, NOON), rate, NOON, 9)
    assert got == 3
    # a seventh of a minute is 8 571 428 and 4/7 microseconds
    assert until_next(bucket, rate, NOON) == 8_571_429
    assert take(bucket, rate, NOON + 8_571_428, 1)[1] == 0
    assert take(bucket, rate, NOON + 8_571_429, 1)[1] == 1
    assert until_full(bucket, rate, NOON) == -(-3 * 60 * SECOND // 7)
    assert take(bucket, rate, NOON + 3600 * SECOND, 9)[1] == 3


def test_a_clock_a_little_behind_adds_nothing_twice():
    rate = Rate(per_minute=60, burst=1)
    bucket, _ = take(full_bucket(rate, NOON), rate, NOON, 1)
    admitted = 0
    for step in range(100):  # two machines half a second apart, turn by turn
        now = NOON + step * SECOND // 100 - (SECOND // 2 if step % 2 else 0)
        bucket, got = take(bucket, rate, now, 1)
        admitted += got
    assert admitted == 0
    assert until_next(bucket, rate, NOON) == SECOND


def test_a_clock_that_was_set_back_stops_nobody():
    rate = Rate(per_minute=60, burst=1)
    bucket, _ = take(full_bucket(rate, NOON), rate, NOON, 1)
    yesterday = NOON - 86_400 * SECOND
    assert until_next(bucket, rate, yesterday) == SECOND
    bucket, got = take(bucket, rate, yesterday, 1)
    assert got == 0
    assert take(bucket, rate, yesterday + SECOND, 1)[1] == 1


@pytest.mark.parametrize(
    ("microseconds", "seconds"), [(0, 1), (1, 1), (SECOND, 1), (SECOND + 1, 2), (60 * SECOND, 60)]
)
def test_waiting_times_are_rounded_up(microseconds, seconds):
    assert whole_seconds(microseconds) == seconds


@pytest.mark.parametrize(
    ("day", "name", "renews"),
    [
        ((2026, 11, 21), "2026-11", "2026-12-01T00:00:00Z"),
        ((2026, 12, 31, 23, 59, 59), "2026-12", "2027-01-01T00:00:00Z"),
        ((2027, 1, 1), "2027-01", "2027-02-01T00:00:00Z"),
        ((2028, 2, 29), "2028-02", "2028-03-01T00:00:00Z"),
    ],
)
def test_a_month_is_one_of_the_calendar_in_utc(day, name, renews):
    at = int(datetime(*day, tzinfo=UTC).timestamp()) * SECOND
    month = month_of(at)
    assert (month.name, month.renews) == (name, renews)
    assert month_of(month.ends - 1).name == name
    assert month_of(month.ends).name != name


@pytest.mark.parametrize(
    ("left", "waiting", "ahead", "leased"),
    [
        (0, 3, 9, 0),
        (2, 3, 9, 2),
        (100, 3, 9, 3),
        (101, 3, 9, 5),
        (1_000, 3, 9, 12),
        (1_000, 3, 500, 23),
        (10**6, 1, 10**6, 4097),
    ],
)
def test_lookups_are_leased_ahead_but_one_by_one_near_the_end(left, waiting, ahead, leased):
    assert lookups_to_lease(left, waiting, ahead) == leased


def test_few_tokens_are_leased_ahead():
    by_rate = {60: 1, 600: 2, 60_000: 25}
    assert {rate: tokens_to_lease(Rate(rate, 100)) for rate in by_rate} == by_rate


def meter(**overrides):
    return Meter(terms_of("unlimited", Overrides(**overrides)))


def test_a_meter_hands_out_what_it_leased_and_then_asks():
    one = meter(monthly_quota=1000)
    ask = {"lookup": True, "now": NOON, "ticks": 0.0}
    assert one.decide(**ask) is Decision.LEASE
    one.waiting = one.waiting_lookups = 2
    assert one.wanted(NOON) == Wanted(0, 2, 0)
    one.receive(Lease(0, 2, None, 998), one.wanted(NOON), 0.0)
    assert [one.decide(**ask) for _ in range(3)] == [Decision.GO, Decision.GO, Decision.LEASE]
    assert one.decide(lookup=False, now=NOON, ticks=0.0) is Decision.GO


def test_a_used_up_quota_is_believed_for_a_second():
    one = meter(monthly_quota=1)
    one.waiting = one.waiting_lookups = 1
    assert one.decide(lookup=True, now=NOON, ticks=5.0) is Decision.LEASE
    one.receive(Lease(0, 0, None, 0), one.wanted(NOON), 5.0)
    assert one.decide(lookup=True, now=NOON, ticks=5.9) is Decision.QUOTA_EXCEEDED
    assert one.decide(lookup=True, now=NOON, ticks=6.0) is Decision.LEASE


def test_a_new_month_does_not_use_what_the_old_one_left():
    one = meter(monthly_quota=10)
    one.waiting = one.waiting_lookups = 3
    assert one.decide(lookup=True, now=NOON, ticks=0.0) is Decision.LEASE
    one.receive(Lease(0, 3, None, 7), one.wanted(NOON), 0.0)
    assert one.decide(lookup=True, now=NOON, ticks=0.0) is Decision.GO
    december = month_of(NOON).ends
    assert one.decide(lookup=True, now=december, ticks=1.0) is Decision.LEASE
    one.answered("2026-11", counts=True)
    assert sorted(one.settle(december), key=lambda spent: spent.used) == [
        Spent("2026-11", lookups=2),
        Spent("2026-11", used=1),
    ]


def test_a_clock_that_was_set_back_to_another_month_is_followed():
    one = meter(monthly_quota=10)
    ahead = month_of(NOON).ends
    for now, name in ((ahead, "2026-12"), (NOON, "2026-11"), (ahead, "2026-12")):
        one.waiting = one.waiting_lookups = 1
        assert one.decide(lookup=True, now=now, ticks=0.0) is Decision.LEASE
        assert one.month.name == name
        one.receive(Lease(0, 1, None, 9), one.wanted(now), 0.0)
        assert one.decide(lookup=True, now=now, ticks=0.0) is Decision.GO
        one.answered(name, counts=True)
    assert one.settle(ahead) == [
        Spent("2026-12", used=1),
        Spent("2026-11", used=1),
        Spent("2026-12", used=1),
    ]


def test_a_rate_refusal_takes_no_lookup_and_a_quota_refusal_takes_its_token():
    one = meter(rate_per_minute=60, burst=2, monthly_quota=10)
    ask = {"lookup": True, "now": NOON, "ticks": 0.0}
    one.waiting = one.waiting_lookups = 1
    assert one.decide(**ask) is Decision.LEASE
    one.receive(Lease(0, 0, Bucket(0, NOON), 0), one.wanted(NOON), 0.0)
    assert one.decide(**ask) is Decision.RATE_LIMITED
    assert one.decide(**ask | {"ticks": 1.0}) is Decision.LEASE
    one.receive(Lease(1, 0, Bucket(0, NOON), 0), one.wanted(NOON), 1.0)
    assert one.decide(**ask | {"ticks": 1.0}) is Decision.QUOTA_EXCEEDED
    assert one.settle(NOON) == []


def test_more_is_leased_ahead_the_more_is_used():
    one = meter(monthly_quota=10**6)
    one.waiting = one.waiting_lookups = 1
    ahead, left = [], 10**6
    for _ in range(5):
        assert one.decide(lookup=True, now=NOON, ticks=0.0) is Decision.LEASE
        wanted = one.wanted(NOON)
        ahead.append(wanted.ahead)
        left -= 1 + wanted.ahead
        one.receive(Lease(0, 1 + wanted.ahead, None, left), wanted, 0.0)
        for _ in range(1 + wanted.ahead):
            assert one.decide(lookup=True, now=NOON, ticks=0.0) is Decision.GO
            one.answered("2026-11", counts=True)
    assert ahead == [0, 1, 2, 4, 8]
    assert one.settle(NOON) == [Spent("2026-11", used=20)]
    assert one.wanted(NOON).ahead == 20
    assert one.settle(NOON) == []
