"""Clients that a forked child inherits: as with multiprocessing, Celery or `gunicorn --preload`."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading

import pytest
from support.both import injecting, own_http
from support.faults import KEY, answer, echo
from support.forks import in_child, in_children
from support.systems import posix

from svc_sdk import AsyncSvc, Svc, SvcError

pytestmark = [
    posix,
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]
CHILDREN, CALLS = 6, 15


def removed(seen):
    state = seen.target.rpartition("/")[2]
    return answer(body=json.dumps({"deleted": 1, "state": state}).encode())


def results(client, name, *calls):
    """What an inherited client returns, one call after the other, in one event loop."""
    method = getattr(client, name)
    if not isinstance(client, AsyncSvc):
        return [method(*args, **kwargs) for args, kwargs in calls]

    async def awaited():
        return [await method(*args, **kwargs) for args, kwargs in calls]

    return asyncio.run(awaited())


def zips_found(client, *zips):
    found = results(client, "lookup", *((("TX",), {"zip": one}) for one in zips))
    return [one.rate.zip for one in found]


def states_removed(client, *states):
    return [one.state for one in results(client, "remove_nexus", *(((one,), {}) for one in states))]


def failure(client):
    with pytest.raises(SvcError) as caught:
        zips_found(client, "78702")
    return [type(caught.value).__name__, caught.value.message, caught.value.attempts]


@own_http
def test_children_of_a_used_client_read_the_rates_of_their_own_places(connect, faults):
    client = connect(faults.base_url)
    client.lookup("TX", zip="78700")

    def look_up(zip_code):
        return lambda: zips_found(client.client, *[zip_code] * CALLS)

    zips = [f"7870{number}" for number in range(CHILDREN)]
    assert in_children(*map(look_up, zips)) == [[one] * CALLS for one in zips]
    assert client.lookup("TX", zip="78799").rate.zip == "78799"


@own_http
def test_children_of_a_used_client_read_the_results_of_their_own_removals(connect, faults):
    faults.will(removed)
    client = connect(faults.base_url)
    client.remove_nexus("TX")

    def remove(state):
        return lambda: states_removed(client.client, *[state] * CALLS)

    states = ["AL", "AZ", "CA", "FL", "NY", "WA"]
    assert in_children(*map(remove, states)) == [[one] * CALLS for one in states]
    assert client.remove_nexus("OH").state == "OH"


@own_http
def test_children_of_a_child_have_connections_of_their_own(connect, faults):
    client = connect(faults.base_url)
    client.lookup("TX", zip="78700")

    def look_up(zip_code):
        return lambda: zips_found(client.client, *[zip_code] * CALLS)

    def child():
        own = zips_found(client.client, "78701")
        return [own, *in_children(look_up("78702"), look_up("78703"))]

    assert in_child(child) == [["78701"], ["78702"] * CALLS, ["78703"] * CALLS]


def test_a_child_that_is_forked_while_a_thread_looks_up_waits_for_no_thread(faults):
    with Svc(KEY, base_url=faults.base_url, timeout=2.0, max_retries=0) as client:
        over, answered = threading.Event(), threading.Semaphore(0)

        def look_up():
            while not over.is_set():
                client.lookup("TX", zip="78701")
                answered.release()

        threads = [threading.Thread(target=look_up) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(20):
                assert answered.acquire(timeout=20)  # the other thread is in the middle of one
                assert in_child(lambda: zips_found(client, "78702"), seconds=8) == ["78702"]
        finally:
            over.set()
            for thread in threads:
                thread.join()


@pytest.mark.parametrize("kind", ["Svc", "AsyncSvc"])
def test_a_first_request_loads_nothing_that_a_forked_child_would_wait_for(faults, kind):
    faults.will(echo)
    code = f"""
import asyncio, sys
from svc_sdk import {kind}
client = {kind}("{KEY}", base_url="{faults.base_url}")
before = set(sys.modules)
result = client.lookup("TX", zip="78701")
if {kind == "AsyncSvc"}:
    asyncio.run(result)
ours = {{"svc_sdk", "pydantic", "httpx", "httpcore", "anyio", "encodings"}}
print([name for name in sys.modules.keys() - before if name.partition(".")[0] in ours])
"""
    run = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    assert run.stdout.strip() == "[]"


@own_http
def test_a_client_that_was_closed_before_the_fork_stays_closed(connect, faults):
    client = connect(faults.base_url)
    client.lookup("TX", zip="78701")
    client.close()
    kind, message, _ = in_child(lambda: failure(client.client))
    assert (kind, "closed" in message) == ("TransportError", True)
    assert len(faults.seen) == 1


@own_http
def test_a_child_that_closes_its_client_leaves_the_parent_s_open(connect, faults):
    client = connect(faults.base_url)
    client.lookup("TX", zip="78701")
    close = "close" if connect.kind == "sync" else "aclose"

    def child():
        results(client.client, close, ((), {}))
        return failure(client.client)

    kind, message, _ = in_child(child)
    assert (kind, "closed" in message) == ("TransportError", True)
    assert client.lookup("TX", zip="78702").rate.zip == "78702"


def test_an_injected_client_of_another_process_is_refused(connect, faults):
    with injecting(connect, injected=True) as options:
        client = connect(faults.base_url, **options)
        client.lookup("TX", zip="78701")
        kind, message, attempts = in_child(lambda: failure(client.client))
        assert (kind, attempts) == ("TransportError", 1)
        assert "http_client=" in message
        assert "another process" in message
        assert len(faults.seen) == 1  # nothing was sent
        assert client.lookup("TX", zip="78702").rate.zip == "78702"
