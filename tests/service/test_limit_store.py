"""What processes take of one key's limits: together never more than there is, on each engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc_tools.service.database import Database
from svc_tools.service.limit_store import LimitStore, Returned, Use
from svc_tools.service.meter import Decision, Meter, Spent, Wanted
from svc_tools.service.plans import Overrides, terms_of

NOW = 1_795_000_000_000_000
MONTH = "2026-11"
CALLERS = 8
serial = count()


@pytest.fixture
def stores(database_url):
    """As many connections of their own as there are callers, as processes have them."""
    databases = [Database(database_url) for _ in range(CALLERS)]
    yield [LimitStore(database) for database in databases]
    for database in databases:
        database.close()


def all_at_once(work, stores):
    with ThreadPoolExecutor(CALLERS) as pool:
        return list(pool.map(work, stores))


def test_many_that_lease_at_once_get_the_quota_and_no_more(stores):
    terms = terms_of("unlimited", Overrides(monthly_quota=90))

    def lease_all(store):
        got = 0
        wanted = Wanted(tokens=0, lookups=1, ahead=0)
        while (lease := store.lease("key_a", terms, wanted=wanted, now=NOW, month=MONTH)).lookups:
            got += lease.lookups
        return got

    assert sum(all_at_once(lease_all, stores)) == 90
    assert stores[0].uses(MONTH) == {"key_a": Use(leased=90, used=0)}


def test_many_that_take_tokens_at_once_get_the_burst_and_no_more(stores):
    terms = terms_of("unlimited", Overrides(rate_per_minute=1, burst=70))

    def take_all(store):
        got = 0
        wanted = Wanted(tokens=1, lookups=0, ahead=0)
        while store.lease("key_a", terms, wanted=wanted, now=NOW, month=MONTH).tokens:
            got += 1
        return got

    assert sum(all_at_once(take_all, stores)) == 70


def test_what_many_give_back_at_once_is_all_there_again(stores):
    terms = terms_of("unlimited", Overrides(rate_per_minute=1, burst=80, monthly_quota=160))
    wanted = Wanted(tokens=10, lookups=20, ahead=0)

    def take_and_return(store):
        for key_id in ("key_a", "key_b"):
            lease = store.lease(key_id, terms, wanted=wanted, now=NOW, month=MONTH)
            assert (lease.tokens, lease.lookups) == (10, 20)
        backwards = store is stores[0]
        returned = [
            Returned(key_id, terms, Spent(MONTH, tokens=10, lookups=15, used=5))
            for key_id in sorted(("key_a", "key_b"), reverse=backwards)
        ]
        store.settle(returned, NOW)

    all_at_once(take_and_return, stores)
    for key_id in ("key_a", "key_b"):
        assert stores[0].uses(MONTH)[key_id] == Use(leased=40, used=40)
        lease = stores[0].lease(
            *(key_id, terms), wanted=Wanted(1000, 1000, 0), now=NOW, month=MONTH
        )
        assert (lease.tokens, lease.lookups, lease.lookups_left) == (80, 120, 0)
    assert {key_id: use.used for key_id, use in stores[0].uses(MONTH).items()} == {
        "key_a": 40,
        "key_b": 40,
    }


def test_where_no_token_is_there_no_lookup_is_taken(database_url):
    terms = terms_of("unlimited", Overrides(rate_per_minute=60, burst=1, monthly_quota=10))
    with closing(Database(database_url)) as database:
        store = LimitStore(database)
        first = store.lease("key_a", terms, wanted=Wanted(5, 2, 0), now=NOW, month=MONTH)
        assert (first.tokens, first.lookups, first.lookups_left) == (1, 2, 8)
        second = store.lease("key_a", terms, wanted=Wanted(1, 2, 0), now=NOW, month=MONTH)
        assert (second.tokens, second.lookups) == (0, 0)
        assert store.uses(MONTH)["key_a"].leased == 2
        later = store.lease("key_a", terms, wanted=Wanted(1, 0, 0), now=NOW + 10**6, month=MONTH)
        assert (later.tokens, later.lookups) == (1, 0)


def test_a_quota_that_was_lowered_below_what_was_used_gives_nothing(database_url):
    before, after = (terms_of("unlimited", Overrides(monthly_quota=n)) for n in (10, 3))
    with closing(Database(database_url)) as database:
        store = LimitStore(database)
        assert store.lease("k", before, wanted=Wanted(0, 5, 0), now=NOW, month=MONTH).lookups == 5
        lease = store.lease("k", after, wanted=Wanted(0, 1, 0), now=NOW, month=MONTH)
        assert (lease.lookups, lease.lookups_left) == (0, 0)


steps = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["ask", "ask", "ask", "settle", "die", "later"])),
    min_size=5,
    max_size=60,
)


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory):
    with closing(Database(tmp_path_factory.mktemp("limits") / "service.db")) as database:
        yield LimitStore(database)


@settings(max_examples=40, deadline=None)
@given(quota=st.integers(0, 140), script=steps, statuses=st.lists(st.booleans(), min_size=1))
def test_whatever_processes_do_and_however_they_end_nothing_is_exceeded(
    shared_store, quota, script, statuses
):
    # three meters over one key: asking, settling, dying with what they hold, time passing
    terms = terms_of("unlimited", Overrides(rate_per_minute=6000, burst=30, monthly_quota=quota))
    key_id = f"key_{next(serial)}"
    meters = [Meter(terms) for _ in range(3)]
    passed = ahead = admitted = counted = died = 0

    def settle(meter, now):
        spent = meter.settle(now)
        shared_store.settle([Returned(key_id, terms, one) for one in spent], now)

    for turn, (who, what) in enumerate(script):
        meter, now = meters[who], NOW + passed
        if what == "later":
            passed += 50_000
        elif what == "settle":
            settle(meter, now)
        elif what == "die":
            meters[who], died = Meter(terms), died + 1
        else:
            meter.waiting = meter.waiting_lookups = 1
            while (
                decision := meter.decide(lookup=True, now=now, ticks=passed / 1e6)
            ) is Decision.LEASE:
                wanted = meter.wanted(now)
                ahead = max(ahead, wanted.tokens)
                lease = shared_store.lease(key_id, terms, wanted=wanted, now=now, month=MONTH)
                meter.receive(lease, wanted, passed / 1e6)
            if decision is Decision.GO:
                admitted += 1
                counts = statuses[turn % len(statuses)]
                counted += counts
                meter.answered(MONTH, counts=counts)
    for meter in meters:
        settle(meter, NOW + passed)
    assert counted <= quota
    assert admitted <= 30 + passed * 6000 // 60_000_000 + 3 * ahead
    leased, used = shared_store.uses(MONTH).get(key_id, Use(leased=0, used=0))
    assert used <= counted <= leased <= quota
    if not died:
        assert used == counted == leased
