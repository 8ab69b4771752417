"""API keys and plans: made, stored as hashes, cached for seconds, changed, revoked, expired."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from pydantic import SecretStr
from support.serving import make_key

from svc_tools.service.database import LOCAL_ACCOUNT, Database
from svc_tools.service.errors import StartError, StoreUnavailableError
from svc_tools.service.keys import (
    FEATURES,
    NO_LIMIT,
    PLANS,
    KeyRing,
    KeyStore,
    Overrides,
    RequestRate,
    checked_key,
    hash_key,
    key_terms,
)
from svc_tools.service.start import new_key


@pytest.mark.parametrize(
    ("plan", "overrides", "rate", "quota"),
    [
        ("free", Overrides(rate_per_minute=6), RequestRate(6, 1), 1_000),
        ("free", Overrides(burst=5), RequestRate(60, 5), 1_000),
        ("free", Overrides(rate_per_minute=NO_LIMIT), None, 1_000),
        ("free", Overrides(monthly_quota=0), RequestRate(60, 20), 0),
        ("unlimited", Overrides(rate_per_minute=30, burst=2), RequestRate(30, 2), None),
        ("unlimited", Overrides(monthly_quota=50), None, 50),
    ],
)
def test_what_is_set_for_a_key_wins_over_its_plan(plan, overrides, rate, quota):
    overrides.check(plan)
    terms = key_terms(plan, overrides)
    assert (terms.rate, terms.monthly_quota) == (rate, quota)
    assert not terms.unlimited


@pytest.mark.parametrize(
    ("plan", "text", "features"),
    [
        ("free", "+full", {"full"}),
        ("unlimited", "-history", {"full", "nexus"}),
        ("unlimited", "-history,-full,-nexus", set()),
        ("standard", "-full,+nexus", {"history", "nexus"}),
    ],
)
def test_features_are_added_to_a_plan_and_taken_from_it(plan, text, features):
    terms = key_terms(plan, Overrides(features=text))
    assert terms.features == features
    assert not terms.unlimited


@pytest.mark.parametrize(
    ("plan", "overrides", "said"),
    [
        ("gold", Overrides(), "'gold' does not exist; there are free, standard, unlimited"),
        ("free", Overrides(rate_per_minute=0), "rate per minute is 0; expected 1 to"),
        ("free", Overrides(burst=NO_LIMIT), "lift the rate per minute instead"),
        ("free", Overrides(monthly_quota=-2), "monthly quota is -2; expected 0 to"),
        ("unlimited", Overrides(burst=3), "give the rate per minute too"),
        ("free", Overrides(features="+magic"), "'magic' does not exist; there are history"),
    ],
)
def test_what_cannot_be_kept_to_is_refused(plan, overrides, said):
    with pytest.raises(StartError, match=said):
        overrides.check(plan)


def test_a_plan_of_another_release_counts_as_the_smallest():
    terms = key_terms("platinum", Overrides())
    assert (terms.plan, terms.rate, terms.features) == ("platinum", PLANS["free"].rate, frozenset())


NEXUS = "/v1/portability/nexus"
FRESHNESS = "/v1/freshness"
NOW = "2026-11-21T12:00:00.000Z"


def all_bytes(db):
    return b"".join(file.read_bytes() for file in sorted(db.parent.iterdir()))


def test_keys_are_long_and_never_the_same():
    keys = {new_key().get_secret_value() for _ in range(50)}
    assert len(keys) == 50
    assert all(key.startswith("svc_") and len(key) >= 40 and key.isascii() for key in keys)
    assert "svc_" not in repr(new_key())


@pytest.mark.parametrize(
    "key", ["", "  ", "a b\n", " padded", "cl\N{LATIN SMALL LETTER E WITH ACUTE}"]
)
def test_a_chosen_key_must_fit_a_header(key):
    with pytest.raises(StartError, match="API key"):
        checked_key(SecretStr(key))


def test_a_stored_key_outlasts_the_service_and_only_its_hash_is_stored(run, db):
    key = new_key()
    run().keys.create(key, account=LOCAL_ACCOUNT)
    secret = key.get_secret_value()
    for _ in range(2):
        response = run().anonymous("GET", NEXUS, headers={"X-API-Key": secret})
        assert response.status_code == 200
    content = all_bytes(db)
    assert hash_key(key).encode() in content
    assert secret.encode() not in content


# what a ring remembers


@dataclass
class Clock:
    """Seconds that a test lets pass."""

    at: float = 1000.0

    def __call__(self):
        return self.at


class Counting(KeyStore):
    """A store that notes how often it is asked."""

    asked = 0

    def find(self, sha256):
        self.asked += 1
        return super().find(sha256)


@pytest.fixture
def store(db):
    return Counting(Database(db))


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ring(store, clock):
    return KeyRing(store, now=clock)


def key_in(headers):
    return headers["X-API-Key"].encode()


def test_a_key_that_is_not_valid_is_not_asked_about_for_a_second(ring, store, clock):
    key = new_key()
    raw = key.get_secret_value().encode()
    assert ring.verify(raw).grant is None
    store.create(key, account="later")
    assert ring.cached(raw).grant is None
    clock.at += 1.0
    assert ring.cached(raw) is None
    assert ring.verify(raw).grant.account == "later"
    assert ring.cached(raw).grant.account == "later"


def test_a_key_ends_at_its_time_though_it_is_remembered(store, clock):
    ends = datetime(2026, 11, 21, 12, tzinfo=UTC)
    ring = KeyRing(store, now=clock, today=lambda: ends.timestamp() - 1001.0 + clock.at)
    _, headers = make_key(store, expires_at=NOW)
    assert ring.verify(key_in(headers)).grant is not None
    clock.at += 0.9
    assert ring.cached(key_in(headers)).grant is not None
    clock.at += 0.2
    assert ring.cached(key_in(headers)) is None
    assert ring.verify(key_in(headers)).grant is None


def test_wrong_keys_without_end_take_no_memory_and_push_nobody_out(ring, store, monkeypatch):
    monkeypatch.setattr("svc_tools.service.keys._MOST_REFUSED", 10)
    _, headers = make_key(store)
    ring.verify(key_in(headers))
    for number in range(30):
        assert ring.verify(b"wrong %d" % number).grant is None
    assert len(ring._refused) == 10
    assert ring.cached(key_in(headers)) is not None


def test_the_key_of_a_run_and_a_key_without_limits_ask_the_database_at_most_once(run, db):
    counting = Counting(Database(db))
    run_key = new_key()
    service = run(keys=KeyRing(counting, run_key, now=lambda: 0.0))
    _, headers = make_key(counting)
    own = {"X-API-Key": run_key.get_secret_value()}
    for _ in range(20):
        assert service.anonymous("GET", FRESHNESS, headers=own).status_code == 200
        assert service.anonymous("GET", FRESHNESS, headers=headers).status_code == 200
    assert counting.asked == 1


def test_a_key_that_cannot_be_looked_up_is_503_and_the_one_of_the_run_goes_on(run, monkeypatch):
    service = run()
    _, headers = make_key(service.keys)

    def fail(*_):
        raise StoreUnavailableError("away")

    with monkeypatch.context() as away:
        away.setattr(KeyStore, "find", fail)
        response = service.anonymous("GET", FRESHNESS, headers=headers)
        assert response.status_code == 503
        assert response.json()["error"]["code"] == "TEMPORARILY_UNAVAILABLE"
        assert service.client.get(FRESHNESS).status_code == 200
    assert service.anonymous("GET", FRESHNESS, headers=headers).status_code == 200


# what is stored, on each engine


@pytest.fixture
def keys(database_url):
    database = Database(database_url)
    yield KeyStore(database)
    database.close()


def test_a_key_is_stored_with_all_that_was_said_of_it(keys):
    assert not keys.any()
    row, headers = make_key(
        keys,
        account="acme",
        name="nightly job",
        plan="free",
        rate_per_minute=6,
        features="+full",
        expires_at="2027-01-01T00:00:00.000Z",
        past_due=True,
    )
    assert (row.account, row.name, row.plan, row.past_due) == ("acme", "nightly job", "free", True)
    assert row.overrides == Overrides(rate_per_minute=6, features="+full")
    assert row.id.startswith("key_")
    assert keys.list() == [row]
    assert keys.any()
    assert keys.find(hash_key(key_in(headers))) == (hash_key(key_in(headers)), row)
    assert keys.find(hash_key(b"another")) is None
    assert row.status(NOW) == "past_due"
    assert row.status("2027-01-01T00:00:00.000Z") == "expired"


def test_changes_of_one_key_at_the_same_time_are_all_kept(keys):
    row, _ = make_key(keys, plan="free")

    def switch(feature):
        kept = []
        for there in [True, False] * 10:
            keys.update(row.id, features={feature: there})
            kept.append((feature in keys.list()[0].terms.features) == there)
        return all(kept)

    with ThreadPoolExecutor(len(FEATURES)) as pool:
        assert list(pool.map(switch, FEATURES)) == [True, True, True]


def test_a_change_that_is_not_possible_changes_nothing(keys):
    row, _ = make_key(keys)
    with pytest.raises(StartError, match="burst needs a rate limit"):
        keys.update(row.id, plan="unlimited", limits={"burst": 4, "monthly_quota": 9})
    with pytest.raises(StartError, match="'gold' does not exist"):
        keys.update(row.id, plan="gold")
    assert keys.list() == [row]
