"""A real service over HTTP, the fault server, and both clients, one after the other."""

from __future__ import annotations

import json
import ssl

import httpx
import pytest
from conformance.rows import MILWAUKEE
from support.both import connect, waits
from support.faults import GOOD, KEY
from support.faults import answer as reply

__all__ = ["connect", "waits"]

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@pytest.fixture(scope="session")
def http(service):
    """Plain HTTP to the service, with the key."""
    headers = {"X-API-Key": KEY}
    with httpx.Client(base_url=service, headers=headers, trust_env=False, verify=NO_TLS) as client:
        yield client


@pytest.fixture(scope="session")
def stranger(service):
    """Plain HTTP to the service, without a key."""
    with httpx.Client(base_url=service, trust_env=False, verify=NO_TLS) as client:
        yield client


@pytest.fixture(scope="session")
def ask(http):
    """One lookup over HTTP: its body."""

    def ask(state, **params):
        response = http.get(f"/v1/tax/{state}", params=params)
        assert response.status_code == 200, response.text
        return response.json()

    return ask


@pytest.fixture(scope="session")
def body(ask):
    """The body of a lookup."""
    return ask("WI", **MILWAUKEE)


@pytest.fixture
def client(connect, service):
    """A client of the real service."""
    return connect(service)


@pytest.fixture
def scripted(connect, faults):
    """A client of the fault server."""
    return connect(faults.base_url)


@pytest.fixture
def changed():
    """The bytes of a good answer, with changes to its rate and its meta."""

    def changed(rate=None, **meta):
        told = json.loads(GOOD)
        told["rate"] |= rate or {}
        told["meta"] |= meta
        return reply(body=json.dumps(told).encode())

    return changed


@pytest.fixture
def nexus(empty_account):
    """The nexus address of an account without records."""
    del empty_account  # is empty again afterwards, too
    return "/v1/portability/nexus"
