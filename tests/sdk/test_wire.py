"""The door for tools: a request sent once, and a service in the client's own process."""

from __future__ import annotations

import asyncio
import gc
import os
import threading

import httpx
import pytest
from support import both
from support.faults import KEY, answer, echo
from support.forks import in_child

from svc_sdk import AsyncSvc, Svc, TransportError, wire
from svc_sdk.wire import Call, Failure, Reply


def once(connect, client, call):
    if connect.kind == "sync":
        return wire.exchange_once(client.client, call)
    return connect.runner.run(wire.aexchange_once(client.client, call))


def test_the_names_of_the_door_are_sorted_and_documented():
    names = wire.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name.islower(), name))
    assert all(getattr(wire, name).__doc__ for name in names)


def test_a_request_is_sent_once_whatever_comes_back(connect, faults):
    faults.will(answer(503), echo)
    client = connect(faults.base_url)
    outcome = once(connect, client, wire.lookup_call("TX", zip="78701"))
    assert isinstance(outcome, Reply)
    assert (outcome.status, len(faults.seen)) == (503, 1)
    assert wire.decide(0, 3, outcome) == 0.5
    assert wire.decide(3, 3, outcome) is None
    outcome = once(connect, client, wire.lookup_call("TX", zip="78701"))
    assert wire.parse_lookup(outcome, 1).combined_rate_string == "0.08250"
    assert wire.decide(0, 3, outcome) is None


class Local:
    """Serves what begins with /here, with the key in it, and counts what it was called for."""

    def __init__(self, address=None):
        self.address = address
        self.calls = []
        self.threads = set()

    def respond(self, call):
        self.calls.append(call.path)
        self.threads.add(threading.get_ident())
        if call.path == "/none":
            return Failure("it is over", retryable=False, final=True)
        return (200, {"x-key": KEY}, KEY.encode()) if call.path == "/here" else None


def test_a_local_service_serves_requests_before_they_are_sent(connect, faults):
    client, local = connect("http://127.0.0.1:9"), Local()
    wire.attach_local(client.client, local)
    reply = once(connect, client, Call("GET", "/here"))
    assert KEY not in f"{reply}"
    assert once(connect, client, Call("GET", "/none")).final
    assert not faults.seen
    local.address = faults.base_url  # it has a port from now on
    assert client.lookup("TX", zip="78701").combined_rate_string == "0.08250"
    assert client.client.base_url == faults.base_url
    assert (len(faults.seen), local.calls[:2]) == (1, ["/here", "/none"])
    assert (threading.get_ident() in local.threads) == (connect.kind == "sync")


def test_a_closed_client_uses_no_local_service():
    local = Local()
    with Svc(KEY) as client:
        wire.attach_local(client, local)
    assert wire.exchange_once(client, Call("GET", "/here")).final

    async def scenario():
        async with AsyncSvc(KEY) as client:
            wire.attach_local(client, local)
        return await wire.aexchange_once(client, Call("GET", "/here"))

    assert asyncio.run(scenario()).final
    assert not local.calls


def test_a_client_of_a_local_service_closes_its_connections_and_nobody_else_s(monkeypatch):
    closed = []
    # a method of the class: a bound `append` would get no client
    monkeypatch.setattr(httpx.Client, "close", lambda client: closed.append(client))  # noqa: PLW0108
    own = Svc(KEY)
    wire.attach_local(own, Local())
    with_mine = Svc(KEY, http_client=(mine := httpx.Client()))
    wire.attach_local(with_mine, Local())
    del own, with_mine
    gc.collect()
    assert len(closed) == 1
    assert mine not in closed
    left = [Svc(KEY)]
    wire.attach_local(left[0], Local())
    if hasattr(os, "fork"):

        def dropped():
            left.clear()
            gc.collect()
            return len(closed)

        assert in_child(dropped) == 1  # of a parent's connections a child closes none
    left.clear()
    gc.collect()
    assert len(closed) == 2


class Here(wire.LocalClient, Svc):
    pass


class HereToo(wire.LocalClient, AsyncSvc):
    pass


def test_a_client_of_a_service_in_its_process_makes_its_http_client_when_it_needs_it(
    faults, monkeypatch
):
    made, begin = [], httpx.HTTPTransport.__init__
    monkeypatch.setattr(
        httpx.HTTPTransport, "__init__", lambda *of, **how: made.append(1) or begin(*of, **how)
    )
    with Here(KEY, base_url=faults.base_url) as client:
        wire.attach_local(client, Local())
        assert wire.exchange_once(client, Call("GET", "/here")).status == 200
        assert made == []
        assert client.lookup("TX", zip="78701").combined_rate_string == "0.08250"
        assert made == [1]
    assert wire.exchange_once(client, Call("GET", "/here")).final
    with Here(KEY, base_url=faults.base_url) as unused:
        wire.attach_local(unused, Local())
    assert made == [1]
    seen = len(faults.seen)
    assert wire.exchange_once(unused, Call("GET", "/here")).final
    assert wire.exchange_once(unused, Call("GET", "/elsewhere")).final
    assert len(faults.seen) == seen

    async def closed():
        async with HereToo(KEY, base_url=faults.base_url) as client:
            wire.attach_local(client, Local())
            assert (await wire.aexchange_once(client, Call("GET", "/here"))).status == 200
        return await wire.aexchange_once(client, Call("GET", "/elsewhere"))

    assert asyncio.run(closed()).final
    assert len(faults.seen) == seen


def test_the_failure_of_a_local_service_is_that_of_the_call(connect):
    client, local = connect("http://127.0.0.1:9"), Local()
    local.respond = lambda _call: Failure("not today", retryable=False)
    wire.attach_local(client.client, local)
    with pytest.raises(TransportError, match="not today"):
        client.health()


def test_a_request_as_it_is_sent_has_every_header(connect):
    client = connect("https://rates.example/base")
    request = wire.http_request(client.client, wire.HEALTH)
    assert str(request.url) == "https://rates.example/base/healthz"
    assert request.headers["X-API-Key"] == KEY
    assert KEY not in f"{wire.settings_of(client.client)}"


@both.own_http
def test_a_client_is_direct_without_a_proxy_or_an_http_client_of_the_user(connect, monkeypatch):
    assert wire.is_direct(connect("https://rates.example").client)
    with both.injecting(connect, injected=True) as injected:
        assert not wire.is_direct(connect("https://rates.example", **injected).client)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    assert not wire.is_direct(connect("https://rates.example").client)
