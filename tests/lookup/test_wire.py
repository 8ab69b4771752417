"""What goes over the wire is what the client library sends; what comes back is never another's."""

from __future__ import annotations

import contextlib
import json
import socketserver
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.answers import PLACES
from support.faults import GOOD, KEY, answer, echo, echoing, serving

from svc_sdk import Svc, SvcError
from svc_tools.lookup import look_up, lookup_many
from svc_tools.places import Place


def places(count):
    return [Place("TX", "zip", zip=f"{78000 + number}") for number in range(count)]


@pytest.fixture(scope="module")
def server():
    with serving() as state:
        yield state


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
    apart = {"connection", "accept-encoding"}  # they belong to the connection, not to the question
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


@pytest.mark.parametrize(
    "foreign",
    [
        answer(301, b"", location="https://elsewhere.example/"),
        answer(404, b"<html>no such page</html>"),
        answer(405, b""),
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ],
)
def test_a_gateway_that_answers_for_the_service_ends_the_run(scripted, faults, foreign):
    faults.will(foreign)
    run = look_up(scripted, places(1000))
    assert "The service answered" in run.stopped
    assert len(faults.seen) < 100
    # nothing is said of the places: none of them is known to be unknown
    assert {one.status for one in run.outcomes.values()} == {"failed", "not_attempted"}


def test_places_that_the_service_does_not_know_do_not_end_the_run(scripted, faults):
    faults.will(answer(404, b'{"error": {"code": "NOT_FOUND", "message": "no such place"}}'))
    run = look_up(scripted, places(100))
    assert run.stopped is None
    assert {one.status for one in run.outcomes.values()} == {"unresolved"}


def test_half_a_character_in_an_answer_can_be_written_to_a_file(scripted, faults):
    gone = rb'{"error": {"code": "\udfff", "message": "no \ud800", "support_reference": "\udfff"}}'
    faults.will(
        answer(404, gone),
        b"HTTP/1.1 400 Bad Request\r\nX-Request-Id: \xff\r\nContent-Length: 2\r\n\r\n{}",
        echoing(rate={"city": "Aus\ud800tin"}, warnings=["\udc00"], accepted_places=["\ud801"]),
    )
    told = look_up(scripted, places(3), concurrency=1).outcomes.values()
    assert [one.status for one in told] == ["unresolved", "failed", "ok"]
    for one in told:
        repr(one).encode()
        json.dumps(repr(one), ensure_ascii=False).encode()
        for text in (one.error, one.support_reference, one.error_code):
            (text or "").encode()
    found = list(told)[2].found
    assert (found.resolved_city, found.warnings, found.accepted_places) == (
        "Aus?tin",
        ("?",),
        ("?",),
    )


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\nConnection: close\r\n\r\n{}", "was cut off"),
        (b"\x00 not HTTP\r\n\r\n", "no answer by the rules of HTTP"),
        (b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 100_000 + b"\r\n\r\n", "by the rules of HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"X-A: a\r\n" * 100_000 + b"\r\n", "by the rules of HTTP"),
    ],
)
def test_failures_of_one_kind_read_equally(scripted, faults, sent, said):
    faults.will(sent)
    run = look_up(scripted, places(3), concurrency=1)
    (reason,) = {one.error for one in run.outcomes.values()}
    assert said in reason
    assert "zip=" not in reason
