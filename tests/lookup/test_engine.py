"""Many places over one client: asked once each, an outcome for every one."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import socket
import socketserver
import sys
import threading
import time
from itertools import pairwise

import httpx
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.answers import PLACES, places, statuses
from support.counting import BODY, counting
from support.examples import examples
from support.faults import (
    ALIVE,
    GOOD,
    HANG,
    KEY,
    RESET,
    answer,
    certified,
    dripping,
    echo,
    echoing,
    serving,
)
from support.systems import posix
from support.waiting import Steps

from svc_sdk import Svc, SvcError
from svc_tools.config import source_of
from svc_tools.lookup import Run, engine, look_up, lookup_many, many
from svc_tools.lookup.cache import Cache, opened_cache
from svc_tools.tables.places import Place

LIMITED = answer(429, b'{"error": {"code": "RATE_LIMITED", "message": "slow down"}}')
NOT_FOUND = b'{"error": {"code": "NOT_FOUND", "message": "no such place"}}'


def test_distinct_places_are_looked_up_once_and_every_one_has_an_outcome(scripted, faults):
    assert look_up(scripted, []) == Run({}, None, 0, 0, 0, 0.0)
    assert faults.seen == []
    distinct = places(50)
    seen = []
    run = look_up(scripted, distinct * 3, progress=Steps(lambda: seen.append(1)))
    assert run.stopped is None
    assert list(run.outcomes) == distinct
    assert statuses(run) == {"ok": 50}
    assert (run.asked, run.cached, run.requests, run.waited) == (50, 0, 50, 0)
    assert len(faults.seen) == len(seen) == 50
    assert len({request.target for request in faults.seen}) == 50


LOCAL, DISTRICTS = "local_rates_not_covered", "districts_not_covered"
ZERO = "0.00000"


@pytest.mark.parametrize(
    ("rate", "meta", "status", "expected"),
    [
        # rates are whole numbers of the last decimal
        (
            {},
            {},
            "ok",
            {"combined": 8250, "state": 6250, "county": 0, "city": 1000, "districts": 1000}
            | {"resolved_state": "TX", "resolved_zip": "78000", "freight_taxable": True},
        ),
        ({}, {"warnings": [{"code": LOCAL}, "x"]}, "partial", {"warnings": (LOCAL, "x")}),
        ({}, {"warnings": [{"code": DISTRICTS}, "x"]}, "partial", {"warnings": (DISTRICTS, "x")}),
        *(
            ({}, {"warnings": [warning]}, "partial", {"warnings": (LOCAL,)})
            for warning in (LOCAL.upper(), {"code": f" {LOCAL} "})
        ),
        # the zero of a part that is not covered is missing, and one that is covered is a zero
        (
            {"county_rate": ZERO, "city_rate": ZERO, "combined_district_rate": ZERO},
            {"warnings": [{"code": LOCAL}]},
            "partial",
            {"state": 6250, "county": None, "city": None, "districts": None},
        ),
        (
            {"county_rate": ZERO, "city_rate": ZERO, "combined_district_rate": ZERO},
            {"warnings": [{"code": DISTRICTS}]},
            "partial",
            {"county": 0, "city": None, "districts": None},
        ),
        (
            {"city_rate": "0.02000"},
            {"warnings": [{"code": DISTRICTS}]},
            "partial",
            {"city": 2000},
        ),
        (
            {"county_rate": None, "freight_taxable": None},
            {},
            "ok",
            {"combined": 8250, "county": None, "freight_taxable": None, "warnings": ()},
        ),
        ({"combined_rate": "0.08000"}, {}, "ok", {"warnings": ("parts_do_not_add_up",)}),
        ({}, {"confidence": "none"}, "unresolved", None),
    ],
)
def test_what_a_response_becomes(scripted, faults, rate, meta, status, expected):  # noqa: PLR0917
    faults.will(echoing(rate=rate, **meta))
    (outcome,) = look_up(scripted, places(1)).outcomes.values()
    assert outcome.status == status
    assert status != "partial" or outcome.error == outcome.found.warnings[0]
    found = outcome.found and {name: getattr(outcome.found, name) for name in expected}
    assert found == expected


@pytest.mark.parametrize(
    ("rate", "problem"),
    [
        ({"combined_rate": None}, "no combined_rate"),
        ({"combined_rate": "0.0825001"}, "five decimals"),
        ({"city_rate": "0.0100001"}, "five decimals"),
        ({"combined_rate": "-0.01000"}, "-0.01000"),
        ({"combined_rate": "1.00000"}, "fraction"),
        ({"combined_rate": "8.250"}, "fraction"),
        ({"combined_rate": 8.25}, "fraction"),
        ({"city_rate": "1.00000"}, "city_rate"),
        ({"state": "CA"}, "for CA, not for TX"),
        ({"zip": "75201"}, "for ZIP 75201, not for 78000"),
    ],
)
def test_a_rate_that_does_not_fit_is_never_rounded_or_zero(scripted, faults, rate, problem):
    faults.will(echoing(rate=rate))
    (outcome,) = look_up(scripted, places(1)).outcomes.values()
    assert (outcome.status, outcome.found) == ("failed", None)
    assert problem in outcome.error


@pytest.mark.parametrize(
    ("status", "outcome_status"), [(404, "unresolved"), (400, "failed"), (503, "failed")]
)
def test_a_refusal_of_one_place_leaves_the_others(scripted, faults, status, outcome_status):
    error = b'{"error": {"code": "X", "message": "it is gone", "support_reference": "ref-7"}}'
    faults.will(answer(status, error), echo)
    run = look_up(scripted, places(20))
    assert run.stopped is None
    assert statuses(run) == {outcome_status: 1, "ok": 19}
    (refused,) = (one for one in run.outcomes.values() if one.status == outcome_status)
    assert "it is gone" in refused.error
    assert (refused.support_reference, refused.error_code) == ("ref-7", "X")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (401, "UNAUTHORIZED"),
        (402, "BILLING_REQUIRED"),
        (403, "TIER_INSUFFICIENT"),
        (429, "QUOTA_EXCEEDED"),
    ],
)
def test_a_refused_key_plan_or_quota_ends_the_run(scripted, faults, status, code):
    body = json.dumps({"error": {"code": code, "message": "no more"}}).encode()
    faults.will(*[echo] * 5, answer(status, body))
    run = look_up(scripted, places(500))
    assert code in run.stopped
    # the cause is said once: at the place that was refused, and as that of the others
    assert statuses(run) == {"ok": 5, "failed": 1, "not_attempted": 494}
    assert len(faults.seen) <= 5 + 16
    assert {o.error for o in run.outcomes.values() if o.status == "not_attempted"} == {run.stopped}


@pytest.mark.parametrize(
    ("max_retries", "expected"), [(0, {"ok": 19, "failed": 1}), (1, {"ok": 20})]
)
def test_a_limit_that_passes_does_not_end_the_run(faults, max_retries, expected):
    faults.will(*[echo] * 5, LIMITED, echo)
    with Svc(KEY, base_url=faults.base_url, max_retries=max_retries) as client:
        run = look_up(client, places(20))
    assert run.stopped is None
    assert statuses(run) == expected
    assert run.requests == len(faults.seen) == 20 + max_retries


def interrupting(count):
    """Progress that Ctrl+C ends after so many places."""
    seen = []

    def interrupt():
        seen.append(1)
        if len(seen) == count:
            raise KeyboardInterrupt

    return Steps(interrupt)


def test_an_interrupt_keeps_what_was_found(scripted, faults, monkeypatch):
    monkeypatch.setattr(many, "GRACE", 20.0)  # a busy machine takes its time
    run = look_up(scripted, places(2000), progress=interrupting(10))
    assert run.stopped == "interrupted"
    found = statuses(run)
    assert found["ok"] == len(faults.seen) >= 10  # responses on their way count too
    assert found["not_attempted"] > 1000


def test_something_odd_at_one_place_does_not_lose_the_others(scripted, faults):
    odd = Place("", "zip", zip="78701")  # the client refuses an empty state
    run = look_up(scripted, [*places(5), odd])
    assert run.outcomes[odd].status == "failed"
    assert statuses(run) == {"ok": 5, "failed": 1}
    assert (run.asked, len(faults.seen)) == (5, 5)


@pytest.mark.parametrize(
    ("script", "count", "reason", "expected"),
    [
        # never reached; dies on the way; sends nothing that can be read; a gateway in its place
        ([RESET], 300, "broke", {"failed": 40}),
        ([*[echo] * 30, answer(503, b"")], 500, "503", {"ok": 30, "failed": 80}),
        ([answer(200, b"<html>It works!</html>")], 2000, "not JSON", {"failed": 1000}),
        ([answer(301, b"", location="https://x.example/")], 1000, "redirects", {"failed": 100}),
        ([answer(404, b"<html>no</html>")], 1000, "without a message", {"failed": 100}),
        ([answer(405, b"")], 1000, "without a message", {"failed": 100}),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], 1000, "not JSON", {"failed": 100}),
        # not given up: it responds now and then; it does not know the places
        ([*[echo] * 30, *[RESET] * 20, echo], 150, None, {"failed": 20, "ok": 130}),
        ([answer(404, NOT_FOUND)], 100, None, {"unresolved": 100}),
    ],
)
def test_when_a_service_is_given_up(scripted, faults, script, count, reason, expected):  # noqa: PLR0917
    faults.will(*script)
    faults.health = ALIVE
    run = look_up(scripted, places(count))
    found = statuses(run)
    if reason is None:
        assert (run.stopped, found) == (None, expected)
        return
    assert reason in run.stopped
    # nothing is said of the places: none of them is known to be unknown
    assert found.keys() == expected.keys() | {"not_attempted"}
    assert found["ok"] == expected.get("ok", 0)
    assert found["failed"] < expected["failed"]
    assert len(faults.seen) < expected["failed"] + found["ok"]


def checks(faults):
    return [seen.target for seen in faults.seen if seen.target.endswith("/healthz")]


def slow_health(status):
    """Every lookup is 404, and the health check comes after all that are in flight."""

    def respond(seen):
        if seen.target.endswith("/healthz"):
            time.sleep(0.3)
            return answer(status, b"{}")
        return answer(404, NOT_FOUND)

    return respond


@pytest.mark.parametrize("injected", [False, True])
def test_an_address_without_a_service_ends_the_run_and_says_nothing_of_the_places(
    faults, tmp_path, injected
):
    faults.will(slow_health(404))
    with (
        httpx.Client() as http,
        Svc(
            KEY, base_url=f"{faults.base_url}/v1", http_client=http if injected else None
        ) as client,
        opened_cache(tmp_path / "results.db") as cache,
    ):
        run = look_up(client, places(300), cache=cache)
        assert statuses(run) == {"failed": 1, "not_attempted": 299}
        assert f"{faults.base_url}/v1 has no health check" in run.stopped
        assert "leave out /v1" in run.stopped
        assert {one.error for one in run.outcomes.values()} == {run.stopped}
        assert checks(faults) == ["/v1/healthz"]
        assert run.requests == len(faults.seen) <= 16 + 1
        assert run.asked == len(faults.seen) - 1
        assert cache.known(source_of(client), places(300), detail=False) == {}


@pytest.mark.parametrize("status", [200, 301, 401, 403, 405, 429, 503])
def test_a_404_is_the_places_where_the_health_check_is_anything_else(scripted, faults, status):
    faults.will(slow_health(status))
    run = look_up(scripted, places(40))
    assert (run.stopped, statuses(run)) == (None, {"unresolved": 40})
    assert checks(faults) == ["/healthz"]


def test_a_health_check_that_breaks_leaves_the_404_to_the_place(scripted, faults):
    faults.will(lambda seen: b"" if seen.target == "/healthz" else answer(404, NOT_FOUND))
    assert statuses(look_up(scripted, places(20))) == {"unresolved": 20}


def test_after_a_success_no_health_check_is_sent(scripted, faults):
    unknown = places(1)[0].zip
    faults.will(lambda seen: answer(404, NOT_FOUND) if unknown in seen.target else echo(seen))
    look_up(scripted, places(20)[1:])
    run = look_up(scripted, places(20))
    assert (statuses(run), checks(faults)) == ({"ok": 19, "unresolved": 1}, [])


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/tax", "/V1", "/api", "/v1/portability"])
def test_the_service_of_the_toolkit_at_a_wrong_address(service, path):
    with Svc(KEY, base_url=f"{service}{path}") as client:
        run = look_up(client, places(100))
    assert statuses(run) == {"failed": 1, "not_attempted": 99}
    assert "address of the service" in run.stopped


def test_a_client_and_its_headers_are_used_and_the_key_stands_in_a_header_alone(faults):
    place = Place("TX", "address", address="1 Main St", city="Größe & Söhne")
    with (
        httpx.Client(headers={"X-Team": "tax"}) as http,
        Svc(KEY, base_url=faults.base_url, http_client=http) as client,
    ):
        run = look_up(client, [place], detail=True)
        assert not http.is_closed
    assert statuses(run) == {"ok": 1}
    (seen,) = faults.seen
    expected = {"x-api-key": KEY, "accept": "application/json", "x-team": "tax"}
    assert {name: seen.headers[name] for name in expected} == expected
    assert seen.headers["user-agent"].startswith("svc-tools/")
    assert KEY not in seen.target
    target = seen.target.replace("+", "%20")  # which of the two it is is the HTTP client's choice
    city = "city=Gr%C3%B6%C3%9Fe%20%26%20S%C3%B6hne"
    assert target == f"/v1/tax/TX?street=1%20Main%20St&{city}&mode=full"


CUT = b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\nConnection: close\r\n\r\n{}"


@pytest.mark.parametrize(
    "broken",
    [RESET, CUT, answer(200, b"<html>"), answer(200, b'{"rate": 1}')],
    ids=["reset", "cut", "not JSON", "another shape"],
)
def test_a_response_that_breaks_is_tried_again_at_the_end_and_a_5xx_before(faults, broken):
    with Svc(KEY, base_url=faults.base_url) as client:
        faults.will(answer(503, b"", retry_after="0"), echo)
        run = look_up(client, places(1))
        assert (run.requests, statuses(run)) == (2, {"ok": 1})
        faults.seen.clear()
        faults.will(*[echo] * 3, broken, echo)  # after others were kept alive
        run = look_up(client, places(10), concurrency=1)
        assert statuses(run) == {"ok": 10}
        assert run.requests == len(faults.seen) == 11
        assert faults.seen[-1].target == faults.seen[3].target
        faults.seen.clear()
        faults.will(broken)
        run = look_up(client, places(1))
    assert statuses(run) == {"failed": 1}
    assert run.requests == len(faults.seen) == 4


def test_a_hundredth_of_resets_and_of_broken_bodies_loses_no_place():
    with (
        counting({"reset": 0.01, "broken": 0.01}) as (url, counts),
        Svc(KEY, base_url=url) as client,
    ):
        run = look_up(client, places(3_000))
        counted = counts()
    assert (run.stopped, statuses(run)) == (None, {"ok": 3_000})
    assert sum(counted["answered"].values()) == 3_000
    # each is billed as it may be: the summary counts them all
    assert run.requests == sum(counted["kinds"].values()) > 3_000


def test_a_failure_to_connect_is_retried():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}"
        with Svc(KEY, base_url=url, max_retries=1) as client:
            run = look_up(client, places(1))
    (outcome,) = run.outcomes.values()
    assert run.requests == 2
    assert "Could not connect" in outcome.error


def test_a_response_that_drips_for_ever_ends_with_the_timeout():
    with (
        counting({"drip": 1.0}) as (url, _),
        Svc(KEY, base_url=url, timeout=0.3, max_retries=0) as client,
    ):
        run = look_up(client, places(2))
    assert all("within 0.3 s" in outcome.error for outcome in run.outcomes.values())


def test_responses_that_drip_through_the_users_client_starve_no_other_place(faults):
    dripped = []

    def dripping_for_some(seen):
        some = int(seen.target[-5:]) < 78006
        return dripping(b"HTTP/1.1 200 OK\r\nx-slow: ", dripped)(seen) if some else echo(seen)

    faults.will(dripping_for_some)
    options = {"base_url": faults.base_url, "timeout": 1, "max_retries": 0}
    with httpx.Client() as http, Svc(KEY, http_client=http, **options) as client:
        run = look_up(client, places(40), concurrency=3)
    assert statuses(run) == {"ok": 34, "failed": 6}


@pytest.mark.parametrize("escaped", ["%s", "\\u0074%s", "%%74%s"])
def test_a_key_that_is_echoed_is_in_no_error_of_a_row(scripted, faults, escaped):
    echoed = escaped % (KEY if escaped == "%s" else KEY[1:])
    faults.health = ALIVE
    for status, body in ((404, f'{{"message": "you sent {echoed}"}}'), (404, f"you sent {echoed}")):
        faults.will(answer(status, body.encode()))
        (outcome,) = look_up(scripted, places(1)).outcomes.values()
        assert "you sent [API key]" in outcome.error


class Hanging(httpx.BaseTransport):
    """Lets some places hang, whatever their timeout, and has responses for the others."""

    def __init__(self, hanging):
        self.hang = {place.zip for place in hanging}
        self.over = threading.Event()

    def handle_request(self, request):
        zip_code = request.url.params["zip"]
        if zip_code in self.hang:
            self.over.wait(60)
        return httpx.Response(200, content=BODY % zip_code)


def test_places_that_hang_in_an_injected_client_starve_no_other():
    transport = Hanging(places(240)[5::10])
    with (
        httpx.Client(transport=transport) as http,
        Svc(
            KEY, base_url="http://127.0.0.1:9", timeout=0.1, max_retries=0, http_client=http
        ) as one,
    ):
        try:
            run = look_up(one, places(240))
        finally:
            transport.over.set()
    assert statuses(run) == {"ok": 216, "failed": 24}


@pytest.mark.parametrize("chunked", [False, True])
def test_an_absurdly_large_answer_is_not_read(scripted, faults, monkeypatch, chunked):
    monkeypatch.setattr("svc_sdk._attempt.LARGEST_BODY", 10_000)
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


def test_a_packed_response_is_unpacked_within_the_limit(scripted, faults):
    bomb = gzip.compress(bytes(32 * 1024**2))
    faults.will(
        answer(200, gzip.compress(GOOD.replace(b'"78701"', b'"78000"')), content_encoding="gzip"),
        answer(200, bomb, content_encoding="gzip"),
        answer(200, GOOD, content_encoding="gzip"),
        answer(200, GOOD, content_encoding="br"),
    )
    found = [look_up(scripted, places(1)).outcomes.popitem()[1] for _ in range(4)]
    assert [one.status for one in found] == ["ok", "failed", "failed", "failed"]
    assert "16 MB" in found[1].error
    assert "'br'" in found[3].error


def test_a_status_counts_with_its_headers_though_its_body_breaks(scripted, faults):
    begin = b"HTTP/1.1 503 X\r\nx-request-id: req-9\r\n"
    faults.will(begin + b"content-length: 900\r\nconnection: close\r\n\r\n{")
    (outcome,) = look_up(scripted, places(1)).outcomes.values()
    assert (outcome.status, outcome.support_reference) == ("failed", "req-9")


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


@pytest.mark.parametrize("by", ["deadline", "interrupt"])
def test_what_hangs_is_not_waited_for(scripted, faults, monkeypatch, by):
    monkeypatch.setattr(engine, "GRACE", 0.05)
    monkeypatch.setattr(many, "GRACE", 0.05)
    faults.will(*[echo] * 5, HANG)
    options = {"deadline": 0.5} if by == "deadline" else {"progress": interrupting(5)}
    began = time.monotonic()
    run = look_up(scripted, places(100), **options)
    assert time.monotonic() - began < 9  # a request alone would take ten seconds
    assert by in run.stopped
    assert statuses(run) == {"ok": 5, "not_attempted": 95}


def test_an_error_of_the_callback_reaches_the_caller_and_ends_the_run(scripted, faults):
    def broken():
        raise LookupError

    with pytest.raises(LookupError):
        look_up(scripted, places(5_000), progress=Steps(broken))
    assert len(faults.seen) < 5_000


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


def test_certificates_that_are_named_after_a_failure_are_trusted(tmp_path, monkeypatch):
    tls, certificate = certified(tmp_path)
    with serving(tls) as faults:
        found = []
        for name in ("", str(certificate)):
            monkeypatch.setenv("SSL_CERT_FILE", name)
            with Svc(KEY, base_url=faults.base_url, max_retries=0) as client:
                found.append(statuses(look_up(client, places(3))))
    assert found[0].keys() <= {"failed", "not_attempted"}
    assert found[1] == {"ok": 3}


@posix
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


@pytest.fixture(scope="module")
def server():
    with serving() as state:
        yield state


@examples(15, of=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=PLACES, detail=st.booleans(), prefix=st.sampled_from(["", "/a/b", "/with blank"]))
def test_a_run_sends_the_very_bytes_that_the_client_sends(server, place, detail, prefix):
    server.will(echo)
    server.seen.clear()
    with Svc(KEY, base_url=server.base_url + prefix, max_retries=0) as client:
        with contextlib.suppress(SvcError, ValueError, TypeError):
            client.lookup(place.state, **place.arguments(), mode="full" if detail else "simple")
        theirs = list(server.seen)
        server.seen.clear()
        look_up(client, [place], detail=detail)
    ours = server.seen
    assert [(one.method, one.target, one.body) for one in ours] == [
        (one.method, one.target, one.body) for one in theirs
    ]
    apart = {"connection"}  # it belongs to the connection, not to the question
    for one, other in zip(ours, theirs, strict=True):
        assert {name: one.headers[name] for name in one.headers.keys() - apart} == {
            name: other.headers[name] for name in other.headers.keys() - apart
        }


class Talkative(socketserver.ThreadingTCPServer):
    """Answers, and says something more on the same connection a moment later."""

    daemon_threads = True
    block_on_close = False
    status = b"200 OK"

    class RequestHandlerClass(socketserver.StreamRequestHandler):
        def handle(self):
            while target := self.rfile.readline():
                while self.rfile.readline().strip():
                    pass
                body = json.loads(GOOD)
                body["rate"]["zip"] = target.partition(b"zip=")[2][:5].decode()
                self.wfile.write(answer(body=json.dumps(body).encode()))
                self.server.over.wait(0.02)
                body["rate"] |= {"zip": None, "combined_rate": "0.99999"}
                told = json.dumps(body).encode()
                with contextlib.suppress(OSError):
                    self.wfile.write(answer(body=told).replace(b"200 OK", self.server.status, 1))
                self.server.said.set()

    def __init__(self):
        self.over = threading.Event()
        self.said = threading.Event()
        super().__init__(("127.0.0.1", 0), self.RequestHandlerClass)


@pytest.mark.parametrize("status", [b"200 OK", b"408 Request Timeout"])
def test_what_a_server_says_unasked_is_not_the_answer_to_the_next_question(status):
    with Talkative() as server:
        server.status = status
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"

        def one_by_one():
            for place in places(5):
                server.said.clear()
                yield place
                server.said.wait(20)
                server.over.wait(0.05)  # until it has come to the idle connection

        with Svc(KEY, base_url=url, max_retries=0) as client:
            outcomes = [one for _, one in lookup_many(one_by_one(), client=client, concurrency=1)]
        server.over.set()
        server.shutdown()
        thread.join()
    assert [(one.status, one.found and one.found.combined) for one in outcomes] == [
        ("ok", 8250)
    ] * 5


def test_half_a_character_in_a_response_can_be_written_to_a_file(scripted, faults):
    faults.health = ALIVE
    gone = rb'{"error": {"code": "\udfff", "message": "no \ud800", "support_reference": "\udfff"}}'
    faults.will(
        answer(404, gone),
        b"HTTP/1.1 400 Bad Request\r\nX-Request-Id: \xff\r\nContent-Length: 2\r\n\r\n{}",
        echoing(rate={"city": "Aus\ud800tin"}, warnings=["\udc00"], accepted_places=["\ud801"]),
    )
    outcomes = [*look_up(scripted, places(3), concurrency=1).outcomes.values()]
    assert [one.status for one in outcomes] == ["unresolved", "failed", "ok"]
    for one in outcomes:
        for text in (repr(one), one.error, one.support_reference, one.error_code):
            (text or "").encode()
    found = outcomes[2].found
    changed = (found.resolved_city, found.warnings, found.accepted_places)
    assert changed == ("Aus?tin", ("?",), ("?",))


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\nConnection: close\r\n\r\n{}", "was cut off"),
        (b"\x00 not HTTP\r\n\r\n", "not an HTTP response"),
        (b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 100_000 + b"\r\n\r\n", "not an HTTP response"),
        (b"HTTP/1.1 200 OK\r\n" + b"X-A: a\r\n" * 100_000 + b"\r\n", "not an HTTP response"),
    ],
)
def test_failures_of_one_kind_read_equally(scripted, faults, sent, problem):
    faults.will(sent)
    run = look_up(scripted, places(3), concurrency=1)
    (reason,) = {one.error for one in run.outcomes.values()}
    assert problem in reason
    assert "zip=" not in reason


class Noting(Cache):
    """A cache that notes how many results it stores at once."""

    def __init__(self, path):
        super().__init__(path)
        self.sizes = []

    def store(self, source, outcomes, *, detail):
        self.sizes += [len(outcomes)] if outcomes else []
        super().store(source, outcomes, detail=detail)


@pytest.mark.parametrize(("count", "concurrency"), [(1, 1), (5, 3), (200, 10), (150, 100)])
def test_results_are_committed_together_and_the_last_ones_wait_for_none(
    scripted, tmp_path, monkeypatch, count, concurrency
):
    monkeypatch.setattr(engine, "_TOGETHER", 3600.0, raising=False)  # nothing ends by its time
    cache = Noting(tmp_path / "results.db")
    run = look_up(scripted, places(count), cache=cache, concurrency=concurrency)
    assert statuses(run) == {"ok": count}
    assert sum(cache.sizes) == count
    assert len(cache.sizes) <= 1 + count // 16
    assert max(cache.sizes) <= 64 + concurrency  # no more than a kill may lose


EARLY = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"


def told(before, head, body):
    """A step that answers for the ZIP that was asked about with this head."""

    def step(seen):
        content = echo(seen).partition(b"\r\n\r\n")[2]
        return before + head.replace(b"LENGTH", b"%d" % len(content)) + b"\r\n" + body(content)

    return step


CHUNKED = b"transfer-encoding: chunked\r\n"


@pytest.mark.parametrize(
    "step",
    [
        told(EARLY, b"HTTP/1.1 200 OK\r\ncontent-length: LENGTH\r\n", bytes),
        told(EARLY * 3, b"HTTP/1.1 200\r\nConTent-Length: LENGTH\r\n", bytes),
        told(b"", b"HTTP/1.1 200 OK\r\nconnection: close\r\n", bytes),
        told(b"", b"HTTP/1.0 200 OK\r\nConnection: Close\r\n", bytes),
        told(b"", b"HTTP/1.0 200 OK\r\ncontent-length: LENGTH\r\n", bytes),
        told(b"", b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: LENGTH\r\n", bytes),
        told(
            b"",
            b"HTTP/1.1 200 OK\r\n" + CHUNKED,
            lambda body: (
                b"5\r\n%b\r\n%x;x=y\r\n%b\r\n0\r\nx: y\r\n\r\n"
                % (body[:5], len(body) - 5, body[5:])
            ),
        ),
        told(
            b"",
            b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n" + CHUNKED,
            lambda body: (
                b"%x\r\n%b\r\n0\r\n\r\n"
                % (len(gzip.compress(body, mtime=0)), gzip.compress(body, mtime=0))
            ),
        ),
    ],
)
def test_a_response_of_any_form_is_read_and_the_next_one_too(scripted, faults, step):
    faults.will(step)
    run = look_up(scripted, places(20), concurrency=4)
    assert statuses(run) == {"ok": 20}
    assert [one.found.resolved_zip for one in run.outcomes.values()] == [
        one.zip for one in run.outcomes
    ]
    assert run.requests == 20


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nmore",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        b"HTTP/1.1 304 Not Modified\r\ncontent-length: 9\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc",
        b"\x16\x03\x01\x02\x00",
        EARLY + b"connection: close",
        b"connection: close",
    ],
)
def test_what_is_no_response_is_the_failure_of_its_place_alone(scripted, faults, said):
    faults.will(said, echo)
    run = look_up(scripted, places(3), concurrency=1)
    assert statuses(run) == {"failed": 1, "ok": 2}
    assert run.requests == 3
