"""How the requests of a run go out, what holds all of them back, and what ends them."""

from __future__ import annotations

import os
import socket
import sys
import time
from collections import Counter
from itertools import pairwise

import httpx
import pytest
from support.counting import counting
from support.faults import HANG, KEY, RESET, answer, echo
from support.waiting import Steps

from svc_sdk import Svc
from svc_tools.lookup import engine, look_up, many, transport
from svc_tools.places import Place


def places(count):
    return [Place("TX", "zip", zip=f"{78000 + number}") for number in range(count)]


def statuses(run):
    return Counter(outcome.status for outcome in run.outcomes.values())


def test_requests_say_who_asks_and_carry_the_key_in_the_header_alone(scripted, faults):
    look_up(scripted, [Place("TX", "address", address="1 Main St", city="Größe & Söhne")])
    (seen,) = faults.seen
    assert seen.headers["x-api-key"] == KEY
    assert seen.headers["user-agent"].startswith("svc-tools/")
    assert seen.headers["accept"] == "application/json"
    assert KEY not in seen.target
    told = seen.target.replace("+", "%20")  # which of the two it is is the HTTP client's choice
    assert told == "/v1/tax/TX?street=1%20Main%20St&city=Gr%C3%B6%C3%9Fe%20%26%20S%C3%B6hne"


def test_the_full_answer_is_asked_for_by_detail(scripted, faults):
    look_up(scripted, places(1), detail=True)
    assert faults.seen[0].target.endswith("zip=78000&mode=full")


def test_a_connection_that_breaks_is_not_tried_again_but_a_5xx_is(faults):
    with Svc(KEY, base_url=faults.base_url) as client:
        faults.will(RESET)
        broken = look_up(client, places(1))
        faults.will(answer(503, b"", retry_after="0"), echo)
        mended = look_up(client, places(1))
    assert (broken.requests, statuses(broken)) == (1, {"failed": 1})
    assert (mended.requests, statuses(mended)) == (2, {"ok": 1})


def test_a_connection_that_broke_after_others_were_kept_is_not_sent_again(faults):
    faults.will(*[echo] * 3, RESET, echo)
    with Svc(KEY, base_url=faults.base_url) as client:
        run = look_up(client, places(10), concurrency=1)
    assert statuses(run) == {"ok": 9, "failed": 1}
    assert len(faults.seen) == run.requests == 10


def test_a_failure_to_connect_is_tried_again_and_told_as_such():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        with Svc(KEY, base_url=url, max_retries=1) as client:
            run = look_up(client, places(1))
    (outcome,) = run.outcomes.values()
    assert run.requests == 2
    assert "Could not connect" in outcome.error


def test_an_answer_that_drips_for_ever_ends_with_the_timeout():
    with (
        counting({"drip": 1.0}) as (url, _),
        Svc(KEY, base_url=url, timeout=0.3, max_retries=0) as client,
    ):
        run = look_up(client, places(2))
    assert {outcome.error.partition(" (")[0] for outcome in run.outcomes.values()} == {
        f"No answer from {url[7:]} within 0.3 s"
    }


@pytest.mark.parametrize("chunked", [False, True])
def test_an_absurdly_large_answer_is_not_read(scripted, faults, monkeypatch, chunked):
    monkeypatch.setattr(transport, "_LARGEST", 10_000)
    body = b" " * 20_000
    large = answer(200, body)
    if chunked:
        large = (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
        )
    faults.will(large)
    (outcome,) = look_up(scripted, places(1)).outcomes.values()
    assert outcome.status == "failed"
    assert "more than" in outcome.error


def test_a_retry_after_holds_every_request_back(faults):
    faults.will(echo, answer(429, b"", retry_after="1"), echo)
    times = []

    def timed():
        times.append(time.monotonic())

    with Svc(KEY, base_url=faults.base_url) as client:
        run = look_up(client, places(40), concurrency=2, progress=Steps(timed))
    assert statuses(run) == {"ok": 40}
    assert 1.0 <= run.waited < 2.0
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert max(pauses) > 0.8
    assert run.requests == 41


def test_the_deadline_ends_the_run_and_keeps_what_came(scripted, faults, monkeypatch):
    monkeypatch.setattr(engine, "GRACE", 0.05)
    faults.will(*[echo] * 5, HANG)
    began = time.monotonic()
    run = look_up(scripted, places(100), deadline=0.5)
    assert time.monotonic() - began < 5
    assert run.stopped == "the deadline of 0.5 s was reached"
    assert statuses(run) == {"ok": 5, "not_attempted": 95}


def test_an_interrupt_does_not_wait_for_what_hangs(scripted, faults, monkeypatch):
    monkeypatch.setattr(many, "GRACE", 0.05)
    faults.will(*[echo] * 5, HANG)
    seen = []

    def interrupt():
        seen.append(1)
        if len(seen) == 5:
            raise KeyboardInterrupt

    began = time.monotonic()
    run = look_up(scripted, places(100), progress=Steps(interrupt))
    assert time.monotonic() - began < 5
    assert run.stopped == "interrupted"
    assert statuses(run) == {"ok": 5, "not_attempted": 95}


def test_an_error_of_the_callback_reaches_the_caller_and_ends_the_run(scripted, faults):
    def broken():
        raise LookupError

    with pytest.raises(LookupError):
        look_up(scripted, places(5_000), progress=Steps(broken))
    assert len(faults.seen) < 5_000


def test_an_injected_client_is_asked_with_its_own_headers(faults):
    with (
        httpx.Client(headers={"X-Team": "tax"}) as http,
        Svc(KEY, base_url=faults.base_url, http_client=http) as client,
    ):
        run = look_up(client, places(30))
        assert not http.is_closed
    assert statuses(run) == {"ok": 30}
    assert {seen.headers["x-team"] for seen in faults.seen} == {"tax"}


def test_a_proxy_of_the_environment_is_used(faults, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, faults.base_url)
    with (
        pytest.warns(UserWarning, match="unencrypted"),
        Svc(KEY, base_url="http://rates.invalid") as client,
    ):
        run = look_up(client, places(3))
    assert statuses(run) == {"ok": 3}
    assert {seen.target.partition("?")[0] for seen in faults.seen} == {
        "http://rates.invalid/v1/tax/TX"
    }


@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_looks_up_for_itself(scripted, faults):
    look_up(scripted, places(3))
    sys.stdout.flush()
    child = os.fork()
    if not child:
        code = 1
        try:
            with Svc(KEY, base_url=faults.base_url) as client:
                code = int(statuses(look_up(client, places(5))) != {"ok": 5})
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert statuses(look_up(scripted, places(3))) == {"ok": 3}
