"""SPEC sections 5 and 7: API keys, plans and limits, by a service that enforces them."""

from __future__ import annotations

import ssl
from contextlib import ExitStack

import httpx
import pytest
from conformance.rows import row, rows
from support.command import svc_tools
from support.faults import KEY, answer
from support.serving import program

from svc_sdk import AuthError, ForbiddenError, PaymentRequiredError, ServiceError

EVERY_ADDRESS = [
    ("GET", "/v1/tax/NJ?zip=07030"),
    ("GET", "/v1/freshness"),
    ("GET", "/v1/portability/nexus"),
    ("POST", "/v1/portability/nexus"),
    ("DELETE", "/v1/portability/nexus/WY"),
]


@row("SPEC-5.1")
def test_calls_are_authenticated(spec, stranger, http):
    for method, path in EVERY_ADDRESS:
        assert stranger.request(method, path).status_code == 401
        assert http.request(method, path).status_code != 401


@row("SPEC-5.2-missing")
def test_a_missing_key(spec, stranger):
    refused = stranger.get("/v1/tax/NJ?zip=07030")
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    assert "www-authenticate" in refused.headers


@row("SPEC-5.2-invalid")
def test_an_invalid_key(spec, connect, service):
    for wrong in (f"{KEY}x", KEY[:-1], KEY.upper()):
        with pytest.raises(AuthError) as caught:
            connect(service, wrong).lookup("NJ", zip="07030")
        assert caught.value.status_code == 401


@row("SPEC-5.4")
def test_the_client_takes_the_key(spec, connect, service):
    assert connect(service, KEY).lookup("NJ", zip="07030").rate.state == "NJ"
    with pytest.raises(ValueError, match="api_key"):
        connect(service, "")


@row("SPEC-5.5")
def test_the_key_is_in_the_header(spec, scripted, faults, stranger):
    scripted.lookup("TX", zip="78701")
    assert faults.seen[0].headers["x-api-key"] == KEY
    assert stranger.get(f"/v1/tax/NJ?zip=07030&api_key={KEY}").status_code == 401


NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
LOOKUP = "/v1/tax/NJ?zip=07030"


@row("SPEC-5.5-echo")
def test_a_key_that_is_echoed(spec, scripted, faults):
    escaped = "".join(f"\\u{ord(one):04x}" for one in KEY)
    percent = "".join(f"%{ord(one):02X}" for one in KEY)
    for echo in (KEY, escaped, percent):
        faults.will(answer(401, f'{{"message": "you sent {echo}", "{echo}": 1}}'.encode()))
        with pytest.raises(AuthError) as caught:
            scripted.lookup("TX", zip="78701")
        assert caught.value.message == "you sent [API key]"
        assert caught.value.response_body == {"message": "you sent [API key]", "[API key]": 1}


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    return tmp_path_factory.mktemp("plans") / "service.db"


@pytest.fixture(scope="module")
def metered(db):
    """A service that takes stored keys only."""
    with program("--db", db) as served:
        yield served.url


@pytest.fixture
def key(db, metered):
    """A new key with its limits, as a person makes one."""

    def key(*options):
        made = svc_tools("keys", "create", "--db", db, *options)
        assert made.returncode == 0, made.stderr
        return made.stdout.split()[0]

    return key


@pytest.fixture
def ask(metered):
    """One request with a key."""
    with ExitStack() as stack:
        client = stack.enter_context(httpx.Client(base_url=metered, trust_env=False, verify=NO_TLS))

        def ask(secret, path=LOOKUP, method="GET"):
            return client.request(method, path, headers={"X-API-Key": secret})

        yield ask


def code(response):
    return response.status_code, response.json()["error"]["code"]


@row("SPEC-5.3-402")
def test_an_account_past_due(spec, connect, metered, key):
    with pytest.raises(PaymentRequiredError) as caught:
        connect(metered, key("--past-due")).lookup("NJ", zip="07030")
    assert caught.value.status_code == 402


@row("SPEC-5.3-403")
def test_a_plan_without_the_feature(spec, connect, metered, key):
    client = connect(metered, key("--plan", "free"))
    assert client.lookup("NJ", zip="07030").rate.state == "NJ"
    with pytest.raises(ForbiddenError) as caught:
        client.lookup("NJ", zip="07030", mode="full")
    assert caught.value.status_code == 403


@row("WIRE-error-BILLING_REQUIRED")
def test_every_address_is_refused_past_due(spec, key, ask):
    secret = key("--past-due")
    for path in (LOOKUP, "/v1/freshness", "/v1/portability/nexus"):
        assert code(ask(secret, path)) == (402, "BILLING_REQUIRED")


@row("WIRE-error-TIER_INSUFFICIENT")
def test_each_feature_of_a_plan(spec, key, ask):
    secret = key("--plan", "free")
    for path in (
        f"{LOOKUP}&mode=full",
        f"{LOOKUP}&as_of=2020-01-01",
        f"{LOOKUP}&period=20201",
        "/v1/portability/nexus",
    ):
        assert code(ask(secret, path)) == (403, "TIER_INSUFFICIENT")
    assert code(ask(secret, "/v1/portability/nexus/TX", "DELETE")) == (403, "TIER_INSUFFICIENT")
    assert ask(secret).status_code == 200


@row("WIRE-error-RATE_LIMITED")
def test_too_many_at_once(spec, key, ask):
    secret = key("--rate-per-minute", "1", "--burst", "1")
    assert ask(secret).status_code == 200
    refused = ask(secret)
    assert code(refused) == (429, "RATE_LIMITED")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert refused.json()["error"]["retry_after_seconds"] == int(refused.headers["retry-after"])


@row("WIRE-error-QUOTA_EXCEEDED")
def test_a_used_up_quota(spec, key, ask):
    secret = key("--quota", "1")
    assert ask(secret).status_code == 200
    refused = ask(secret)
    assert code(refused) == (429, "QUOTA_EXCEEDED")
    assert "retry-after" not in refused.headers
    assert "retry_after_seconds" not in refused.json()["error"]


@rows(
    {
        "WIRE-error-TEMPORARILY_UNAVAILABLE": 503,
        "WIRE-error-INTERNAL": 500,
    }
)
def test_a_service_that_fails(spec, expected, connect, tmp_path):
    options = ("--db", tmp_path / "x.db", "--faults", f"{expected}:100%")
    with program(*options, key="key") as served, pytest.raises(ServiceError) as caught:
        connect(served.url, "key", max_retries=0).lookup("NJ", zip="07030")
    assert (caught.value.status_code, caught.value.error_code) == (
        expected,
        spec.removeprefix("WIRE-error-"),
    )
