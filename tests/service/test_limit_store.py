"""What processes count of one key's quota: together never more than there is, on each engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from svc_tools.service.database import Database
from svc_tools.service.store import LimitStore

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
        while (one := store.take("key_a", 90, MONTH)) is not None:
            left.append(one)
        return left

    with ThreadPoolExecutor(CALLERS) as pool:
        left = [one for found in pool.map(take_all, stores) for one in found]
    assert sorted(left) == list(range(90))  # each was told another number
    assert stores[0].uses(MONTH) == {"key_a": 90}


def test_what_many_take_and_give_back_at_once_is_all_there_again(stores):
    def take_and_return(store):
        for _ in range(5):
            assert store.take("key_a", 100, MONTH) is not None
            store.give_back("key_a", MONTH)
        store.take("key_a", 100, MONTH)

    with ThreadPoolExecutor(CALLERS) as pool:
        list(pool.map(take_and_return, stores))
    assert stores[0].uses(MONTH) == {"key_a": CALLERS}


def test_a_quota_that_was_lowered_below_what_was_used_gives_nothing(store):
    assert [store.take("k", 10, MONTH) for _ in range(5)] == [9, 8, 7, 6, 5]
    assert store.take("k", 3, MONTH) is None
    assert store.take("k", 6, MONTH) == 0


def test_a_quota_of_nothing_gives_nothing(store):
    assert store.take("k", 0, MONTH) is None
    assert store.uses(MONTH) == {}


def test_keys_and_months_are_counted_apart_and_never_below_nothing(store):
    assert store.take("a", 1, MONTH) == 0
    assert store.take("a", 1, "2026-12") == 0
    assert store.take("b", 1, MONTH) == 0
    for _ in range(2):
        store.give_back("a", MONTH)
    assert store.uses(MONTH) == {"a": 0, "b": 1}
    assert store.uses("2026-12") == {"a": 1}
