"""Limits: token buckets that never drift, months, and lookups counted by many processes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.service.admission import SECOND, Bucket, whole_seconds
from svc_tools.service.database import Database
from svc_tools.service.keys import RequestRate
from svc_tools.service.store import LimitStore, month_of

rates = st.builds(
    RequestRate,
    per_minute=st.integers(1, 60_000_000),
    burst=st.one_of(st.integers(1, 50), st.just(10**6)),
)
gaps = st.one_of(st.integers(0, 3 * SECOND), st.integers(0, 100), st.just(0))


def emptied(rate):
    """A bucket that has nothing left, at 0."""
    bucket = Bucket(rate, 0)
    while bucket.take_token(rate, 0):
        pass
    return bucket


small = st.builds(RequestRate, per_minute=st.integers(1, 60_000_000), burst=st.integers(1, 50))


@given(rates, st.lists(gaps, max_size=60))
def test_no_window_lets_more_through_than_the_burst_and_the_rate(rate, asked):
    bucket, now = Bucket(rate, 0), 0
    admitted = []
    for gap in asked:
        now += gap
        if bucket.take_token(rate, now):
            admitted.append(now)
    for first, start in enumerate(admitted):
        for total, end in enumerate(admitted[first:], start=1):
            # exactly, in whole numbers: 60 million units of level make a token
            assert total * 60_000_000 <= rate.burst * 60_000_000 + (end - start) * rate.per_minute


@given(small, st.lists(st.integers(0, 1000), max_size=30))
def test_looking_often_loses_nothing(rate, looks):
    looked, plain, now = emptied(rate), emptied(rate), 0
    for gap in looks:
        if looked.wait_for(1, rate) + now <= now + gap:
            break
        now += gap
        assert not looked.take_token(rate, now)
    assert looked.take_token(rate, now + 500) == plain.take_token(rate, now + 500)


@given(small)
def test_waiting_as_long_as_is_reported_suffices_and_is_not_too_long(rate):
    wait = emptied(rate).wait_for(1, rate)
    assert emptied(rate).take_token(rate, wait)
    assert not emptied(rate).take_token(rate, wait - 1)
    said = whole_seconds(wait)
    assert wait <= said * SECOND < wait + SECOND or said == 1


def test_a_bucket_fills_at_its_rate_and_not_beyond_the_burst():
    rate = RequestRate(per_minute=7, burst=3)
    bucket = emptied(rate)
    # a seventh of a minute is 8 571 428 and 4/7 microseconds
    assert bucket.wait_for(1, rate) == 8_571_429
    assert bucket.wait_for(3, rate) == -(-3 * 60 * SECOND // 7)
    assert not bucket.take_token(rate, 8_571_428)
    assert bucket.take_token(rate, 8_571_429)
    assert bucket.take_token(rate, 3600 * SECOND)
    assert bucket.tokens == 2


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
    assert month_of(datetime(*day, tzinfo=UTC)) == (name, renews)


MONTH = "2026-11"
CALLERS = 8


@pytest.fixture
def stores(database_url):
    """As many connections of their own as there are callers, as processes have them."""
    databases = [Database(database_url) for _ in range(CALLERS)]
    yield [LimitStore(database) for database in databases]
    for database in databases:
        database.close()


@pytest.fixture
def store(database_url):
    with closing(Database(database_url)) as database:
        yield LimitStore(database)


def test_many_that_count_at_once_get_the_quota_and_no_more(stores):
    def take_all(store):
        left = []
        while (one := store.count_lookup("key_a", 90, MONTH)) is not None:
            left.append(one)
        return left

    with ThreadPoolExecutor(CALLERS) as pool:
        left = [one for found in pool.map(take_all, stores) for one in found]
    assert sorted(left) == list(range(90))  # each was told another number
    assert stores[0].uses(MONTH) == {"key_a": 90}


def test_what_many_take_and_give_back_at_once_is_all_there_again(stores):
    def take_and_return(store):
        for _ in range(5):
            assert store.count_lookup("key_a", 100, MONTH) is not None
            store.give_back("key_a", MONTH)
        store.count_lookup("key_a", 100, MONTH)

    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(take_and_return, stores))
    assert stores[0].uses(MONTH) == {"key_a": CALLERS}


def test_a_quota_that_was_lowered_below_what_was_used_gives_nothing(store):
    assert [store.count_lookup("k", 10, MONTH) for _ in range(5)] == [9, 8, 7, 6, 5]
    assert store.count_lookup("k", 3, MONTH) is None
    assert store.count_lookup("k", 6, MONTH) == 0


def test_keys_and_months_are_counted_apart_and_never_below_nothing(store):
    assert store.count_lookup("a", 1, MONTH) == 0
    assert store.count_lookup("a", 1, "2026-12") == 0
    assert store.count_lookup("b", 1, MONTH) == 0
    for _ in range(2):
        store.give_back("a", MONTH)
    assert store.uses(MONTH) == {"a": 0, "b": 1}
    assert store.uses("2026-12") == {"a": 1}
