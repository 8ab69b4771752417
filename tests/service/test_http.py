"""What arrives as HTTP, at the edges: bytes that are no request, targets, methods, versions."""

from __future__ import annotations

import pytest

POST = "POST /v1/portability/nexus HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n"
JSON = "Content-Type: application/json\r\n"


NOT_HTTP = {
    "no HTTP at all": b"hello\r\n\r\n",
    "TLS": bytes.fromhex("160301020001000001fc0303") + b"\0" * 64,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "an unknown method": b"FETCH /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a tunnel": b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "NUL in a header": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: a\0b\r\n\r\n",
    "a folded header": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: a\r\n\tb\r\n\r\n",
    "a space before the colon": b"GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n",
    "two lengths": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "a length and chunks": b"POST /v1/portability/nexus HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a length below zero": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: -1\r\n\r\n",
}


@pytest.mark.parametrize("sent", NOT_HTTP.values(), ids=NOT_HTTP)
def test_bytes_that_are_no_request_are_refused(shared, sent):
    assert shared.raw(sent).startswith(b"HTTP/1.1 400")


def test_chunks_that_are_broken_are_refused_and_nothing_is_kept(service):
    head = POST.format(key=service.key) + JSON + "Transfer-Encoding: chunked\r\n\r\n"
    answer = service.raw(head.encode() + b'5\r\n{"sta\r\nXYZ\r\n')
    assert answer.startswith(b"HTTP/1.1 400")
    assert service.store.list_nexus("local") == []


def test_a_path_that_is_too_long_is_refused_like_other_parts(shared):
    response = shared.client.get(f"/v1/tax/{'x' * 2000}")
    assert response.status_code == 400
    assert "The path" in response.json()["error"]["message"]


def test_requests_in_one_go_are_answered_in_order(shared):
    asked = [f"GET /v1/tax/{code}?zip=1 HTTP/1.1\r\nHost: localhost\r\n" for code in "AB"]
    head = "".join(f"{one}X-API-Key: {shared.key}\r\n\r\n" for one in asked)
    last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answers = shared.raw(head.encode() + last.encode())
    assert answers.index(b"given 'A'") < answers.index(b"given 'B'") < answers.index(b'"ok"')


def test_http_1_0(shared):
    # read to the end of the connection, without having asked for it
    answer = shared.raw(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b'{"status":"ok"}')


@pytest.mark.parametrize(
    ("first", "status"),
    [("OPTIONS * HTTP/1.1", 404), ("GET http://localhost/healthz HTTP/1.1", 200)],
)
def test_targets_that_are_more_or_less_than_a_path(shared, first, status):
    head = f"{first}\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert shared.raw(head.encode()).startswith(b"HTTP/1.1 %d" % status)


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PATCH", "PROPFIND"])
def test_methods_that_are_not_served(shared, method):
    response = shared.client.request(method, "/v1/tax/NJ", params={"zip": "07030"})
    assert response.status_code == 405
    assert response.headers["allow"] == "GET"
    assert (response.content == b"") == (method == "HEAD")


def test_an_upgrade_is_not_taken_up(shared):
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    response = shared.client.get("/healthz", headers=upgrade)
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
