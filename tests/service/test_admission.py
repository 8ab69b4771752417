"""Who is let in, over HTTP: bills, plans, rates and quotas, each refusal as WIRE says it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from support.serving import make_key

from svc_sdk import PaymentRequiredError, Svc
from svc_tools.service.admission import Admission
from svc_tools.service.database import Database
from svc_tools.service.errors import StoreUnavailableError
from svc_tools.service.keys import KeyRing, KeyStore
from svc_tools.service.problems import Problem
from svc_tools.service.store import LimitStore, month_of

TAX = "/v1/tax/NJ"
ZIP = {"zip": "07030"}
FRESHNESS = "/v1/freshness"
NEXUS = "/v1/portability/nexus"


@pytest.fixture(scope="module")
def ask(shared):
    """Asks with a key of its own for each set of terms: the status, or the error with it."""

    def make(**given):
        _, headers = make_key(shared.keys, **given)

        def request(method="GET", path=TAX, params=ZIP, **options):
            return shared.anonymous(method, path, params=params, headers=headers, **options)

        return request

    return make


def error_of(response, status, code):
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error["code"] == code
    assert error["support_reference"] == response.headers["x-request-id"]
    return error


LIMIT_HEADERS = {
    *("ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"),
    *("x-quota-limit", "x-quota-remaining"),
}


def limits_in(response):
    return {name: int(response.headers[name]) for name in LIMIT_HEADERS & response.headers.keys()}


# 401


def test_missing_wrong_revoked_and_expired_keys_get_the_same_words(shared):
    revoked, gone = make_key(shared.keys)
    shared.keys.revoke(revoked.id)
    _, over = make_key(shared.keys, expires_at="2020-01-01T00:00:00.000Z")
    messages = set()
    for headers in ({}, {"X-API-Key": "wrong"}, gone, over, {"X-API-Key": ""}):
        for path in (TAX, FRESHNESS, NEXUS, "/v1/nothing"):
            response = shared.anonymous("GET", path, headers=headers)
            messages.add(error_of(response, 401, "UNAUTHORIZED")["message"])
            assert response.headers["www-authenticate"]
            assert limits_in(response) == {}
    assert len(messages) == 1


# 402


def test_an_account_that_is_past_due_is_402_with_all_its_keys(service):
    _, headers = make_key(service.keys, account="acme")
    service.keys.set_account_past_due("acme", past_due=True)
    response = service.anonymous("GET", TAX, params=ZIP, headers=headers)
    assert error_of(response, 402, "BILLING_REQUIRED")["detail"] == {"account": "acme"}
    with (
        Svc(headers["X-API-Key"], base_url=service.base_url, max_retries=0) as client,
        pytest.raises(PaymentRequiredError),
    ):
        client.lookup("NJ", zip="07030")


def test_bills_come_before_plans_limits_and_parameters(ask):
    request = ask(plan="free", past_due=True, rate_per_minute=1, burst=1)
    for _ in range(3):
        error_of(request(params={"mode": "full", "zip": "nonsense"}), 402, "BILLING_REQUIRED")


# 403


@pytest.mark.parametrize(
    ("feature", "method", "path", "params"),
    [
        ("history", "GET", TAX, ZIP | {"as_of": "2026-11-20"}),
        ("full", "GET", TAX, ZIP | {"mode": "full"}),
        ("nexus", "GET", NEXUS, {}),
        ("nexus", "POST", NEXUS, {}),
    ],
)
def test_what_a_plan_does_not_include_is_403_and_what_it_includes_is_not(
    ask, feature, method, path, params
):
    body = {"json": {"state": "TX"}} if method == "POST" else {}
    refused = ask(features=f"-{feature}")(method, path, params, **body)
    detail = error_of(refused, 403, "TIER_INSUFFICIENT")["detail"]
    assert detail == {"feature": feature, "plan": "unlimited"}
    assert error_of(ask(plan="free")(method, path, params, **body), 403, "TIER_INSUFFICIENT")
    allowed = ask(plan="free", features=f"+{feature}")(method, path, params, **body)
    assert allowed.status_code == 200


@pytest.mark.parametrize(
    ("date", "status"),
    [
        ("as_of=2026-11-21", 200),
        ("as_of=2027-05-01", 200),
        ("as_of=2026%2D11%2D20", 403),
        ("as_of=2027-01-01&as_of=2020-01-01", 403),
        ("as_of=yesterday", 400),
        ("period=20264", 403),
        ("period=20271", 200),
        ("period=20265", 400),
    ],
)
def test_only_a_day_before_today_is_history(ask, date, status):
    assert ask(plan="free")(path=f"{TAX}?zip=07030&{date}", params=None).status_code == status


def test_what_is_not_in_the_plan_takes_nothing_from_the_limits(ask):
    request = ask(plan="free", rate_per_minute=1, burst=1)
    for _ in range(3):
        error_of(request(params=ZIP | {"mode": "full"}), 403, "TIER_INSUFFICIENT")
    assert request().status_code == 200


# 429 RATE_LIMITED


def test_too_many_requests_are_429_with_the_time_to_wait(ask):
    request = ask(rate_per_minute=2, burst=3)
    for left in (2, 1, 0):
        response = request(path=FRESHNESS)
        assert response.status_code == 200
        limits = limits_in(response)
        assert (limits["ratelimit-limit"], limits["ratelimit-remaining"]) == (3, left)
        assert 30 * (2 - left) < limits["ratelimit-reset"] <= 30 * (3 - left)
    response = request()
    error = error_of(response, 429, "RATE_LIMITED")
    assert 25 < int(response.headers["retry-after"]) <= 30
    assert error["retry_after_seconds"] == int(response.headers["retry-after"])
    assert error["detail"] == {"requests_per_minute": 2, "burst": 3}
    assert limits_in(response)["ratelimit-remaining"] == 0
    # the next one is no better, and asking does not push the time away
    assert int(request().headers["retry-after"]) <= int(response.headers["retry-after"])


def test_every_request_counts_for_the_rate_whatever_comes_of_it(ask):
    request = ask(rate_per_minute=1, burst=3)
    assert request(params={"zip": "nonsense"}).status_code == 400
    assert request(path="/v1/nothing").status_code == 404
    assert request("POST", path=NEXUS, params={}, json={}).status_code == 422
    error_of(request(), 429, "RATE_LIMITED")


def test_a_client_that_waits_as_long_as_it_is_told_is_let_in(shared):
    _, headers = make_key(shared.keys, rate_per_minute=120, burst=1)
    with Svc(headers["X-API-Key"], base_url=shared.base_url) as client:
        for _ in range(3):
            assert client.lookup("NJ", zip="07030").combined_rate_string == "0.06625"


def test_a_key_without_limits_gets_no_headers_about_them(shared):
    assert limits_in(shared.client.get(TAX, params=ZIP)) == {}


# 429 QUOTA_EXCEEDED


def test_a_used_up_quota_is_429_without_a_time_to_wait(ask):
    request = ask(monthly_quota=2)
    for left in (1, 0):
        assert limits_in(request()) == {"x-quota-limit": 2, "x-quota-remaining": left}
    response = request()
    error = error_of(response, 429, "QUOTA_EXCEEDED")
    assert "retry-after" not in response.headers
    assert "retry_after_seconds" not in error
    month = month_of(datetime.now(UTC))
    assert error["detail"] == {"monthly_quota": 2, "month": month.name, "renews_at": month.renews}
    assert limits_in(response) == {"x-quota-limit": 2, "x-quota-remaining": 0}
    # only lookups are counted
    for path, status in ((FRESHNESS, 200), (NEXUS, 200), ("/v1/tax/", 404), (f"{TAX}/07030", 404)):
        assert request(path=path).status_code == status


def test_lookups_that_found_nothing_count_and_those_that_were_wrong_do_not(ask):
    request = ask(monthly_quota=2)
    for _ in range(3):
        assert request(params={"zip": "nonsense"}).status_code == 400
        assert request(params={}).status_code == 400
        assert request("POST").status_code == 405
    missing = request(params={"location": "Nowhere At All"})
    assert missing.status_code == 404
    assert limits_in(missing)["x-quota-remaining"] == 1
    assert request().status_code == 200
    error_of(request(), 429, "QUOTA_EXCEEDED")


def test_a_lookup_that_the_service_failed_on_is_given_back(service, monkeypatch):
    _, headers = make_key(service.keys, monthly_quota=1)
    with monkeypatch.context() as broken:
        broken.setattr("svc_tools.service.rates.read_lookup", None)
        response = service.anonymous("GET", TAX, params=ZIP, headers=headers)
        error_of(response, 500, "INTERNAL")
    assert service.anonymous("GET", TAX, params=ZIP, headers=headers).status_code == 200


# many at once, and two services over one database


def test_many_at_once_get_no_more_than_the_burst(ask):
    request = ask(rate_per_minute=1, burst=20)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: request(path=FRESHNESS).status_code, range(80)))
    assert (answers.count(200), answers.count(429)) == (20, 60)


# as time passes


class Clock:
    """The time of a test: the day in UTC, and seconds that never go back."""

    def __init__(self):
        self.passed = 0.0

    def now(self):
        return datetime(2026, 11, 21, 12, tzinfo=UTC) + timedelta(seconds=self.passed)

    def ticks(self):
        return 1000.0 + self.passed


class Door:
    """An admission with a clock of the test's, to be used within one event loop."""

    def __init__(self, database, clock):
        self.store = KeyStore(database)
        self.admission = Admission(
            KeyRing(self.store, now=clock.ticks), None, now=clock.now, ticks=clock.ticks
        )

    async def let_in(self, headers, path=TAX):
        scope = {"path": path, "query_string": b""}
        return await self.admission.admit(scope, headers["X-API-Key"].encode())


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def door(database_url, clock):
    with closing(Database(database_url)) as database:
        yield Door(database, clock)


def test_what_was_not_answered_is_given_back_and_only_once(door):
    row, headers = make_key(door.store, monthly_quota=10_000)
    limits = LimitStore(door.store.database)

    async def serve():
        for status in (200, 404, 400, None, 503):
            ticket = await door.let_in(headers)
            await ticket.settle(status)
            await ticket.settle(None)

    asyncio.run(serve())
    assert limits.uses("2026-11") == {row.id: 2}


def test_a_new_month_has_its_quota_again(door, clock):
    _, headers = make_key(door.store, monthly_quota=1)

    async def serve():
        await (await door.let_in(headers)).settle(200)
        with pytest.raises(Problem, match="used up"):
            await door.let_in(headers)
        december = datetime(2026, 12, 1, tzinfo=UTC)
        clock.passed = (december - clock.now()).total_seconds() - 0.5
        with pytest.raises(Problem, match="used up"):
            await door.let_in(headers)
        clock.passed += 0.6
        await (await door.let_in(headers)).settle(200)

    asyncio.run(serve())


def test_a_change_of_a_key_counts_within_five_seconds(door, clock):
    row, headers = make_key(door.store, rate_per_minute=1, burst=1)

    async def serve():
        await door.let_in(headers)
        with pytest.raises(Problem, match="Too many"):
            await door.let_in(headers)
        door.store.update(row.id, limits={"rate_per_minute": 600, "burst": 5})
        clock.passed += 4.1
        for _ in range(5):
            await door.let_in(headers)
        door.store.update(row.id, past_due=True)
        clock.passed += 4.1
        with pytest.raises(Problem, match="past due"):
            await door.let_in(headers)
        door.store.revoke(row.id)
        clock.passed += 4.1
        with pytest.raises(Problem, match="not valid"):
            await door.let_in(headers)

    asyncio.run(serve())


def fail(*_, **__):
    raise StoreUnavailableError("away")


def test_a_lookup_that_cannot_be_given_back_is_answered_all_the_same(run, monkeypatch, caplog):
    service = run()
    _, headers = make_key(service.keys, monthly_quota=5)
    with monkeypatch.context() as away:
        away.setattr(LimitStore, "give_back", fail)
        response = service.anonymous("GET", TAX, params={"zip": "nonsense"}, headers=headers)
        error_of(response, 400, "INVALID_INPUT")
    assert "stays counted in a quota: away" in caplog.text
    assert limits_in(service.anonymous("GET", TAX, params=ZIP, headers=headers)) == {
        "x-quota-limit": 5,
        "x-quota-remaining": 3,
    }
