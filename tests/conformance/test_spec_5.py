"""SPEC section 5: authentication, billing and plans."""

from __future__ import annotations

import pytest
from conformance.rows import row
from support.faults import KEY

from svc_sdk import AuthError

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
