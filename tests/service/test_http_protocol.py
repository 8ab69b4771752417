"""What arrives is HTTP of a bounded size and in time, or is refused with an error of ours."""

from __future__ import annotations

import json
import logging
import socket
import time
from contextlib import suppress

import httpx
import pytest

from svc_tools.service import background, http_protocol
from svc_tools.service.server import bind

POST = "POST /v1/portability/nexus HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n"
JSON = "Content-Type: application/json\r\n"


def connect(service):
    address = httpx.URL(service.base_url)
    return socket.create_connection((address.host, address.port or 0), timeout=10)


def rest(connection):
    """All that comes until the service closes the connection."""
    return b"".join(iter(lambda: connection.recv(65536), b""))


def parsed(raw):
    """The status, the headers (lower case) and the body of one raw answer."""
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(first.split(" ")[1]), headers, body


def assert_refused(raw, status, code, said):
    found, headers, body = parsed(raw)
    assert (found, headers["content-type"]) == (status, "application/json")
    assert headers["connection"] == "close"
    assert int(headers["content-length"]) == len(body)
    error = json.loads(body)["error"]
    assert error["code"] == code
    assert said in error["message"]
    assert error["support_reference"] == headers["x-request-id"]
    return error["support_reference"]


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
def test_bytes_that_are_no_request_are_refused_with_our_error(shared, sent, caplog):
    with caplog.at_level(logging.INFO, "svc_tools.service"), connect(shared) as connection:
        connection.sendall(sent)
        reference = assert_refused(rest(connection), 400, "INVALID_INPUT", "HTTP/1.1")
    assert reference in caplog.text
    assert caplog.text.count("\n") == 1


@pytest.mark.parametrize(
    "head",
    [
        b"GET /v1/tax/TX?zip=" + b"7" * 70_000,
        b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: " + b"x" * 70_000,
        b"GET /healthz HTTP/1.1\r\n" + b"X-A: x\r\n" * 9_000,
    ],
    ids=["a target without end", "a long line", "a header without end", "headers without end"],
)
def test_a_head_that_does_not_end_is_not_kept(shared, head):
    with connect(shared) as connection:
        connection.sendall(head)
        assert_refused(rest(connection), 400, "INVALID_INPUT", "65536 bytes at most")


def test_a_long_head_in_small_pieces_is_not_kept_either(shared):
    with connect(shared) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        # the last piece goes over the limit: what came after the refusal would reset the connection
        for _ in range(66):
            connection.sendall(b"X-A: " + b"x" * 1000 + b"\r\n")
        assert_refused(rest(connection), 400, "INVALID_INPUT", "65536 bytes at most")


def test_a_path_that_is_too_long_is_refused_like_other_parts(shared):
    response = shared.client.get(f"/v1/tax/{'x' * 2000}")
    assert response.status_code == 400
    assert "The path" in response.json()["error"]["message"]


def test_chunks_that_are_broken_are_refused_and_nothing_is_kept(service):
    head = POST.format(key=service.key) + JSON + "Transfer-Encoding: chunked\r\n\r\n"
    with connect(service) as connection:
        connection.sendall(head.encode() + b'5\r\n{"sta\r\nXYZ\r\n')
        assert_refused(rest(connection), 400, "INVALID_INPUT", "HTTP/1.1")
    assert service.store.list_nexus("local") == []


def test_what_was_asked_before_the_rubbish_is_still_answered(shared):
    good = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with connect(shared) as connection:
        connection.sendall(good + good + b"\x00\x01 rubbish\r\n\r\n")
        assert rest(connection).count(b'{"status":"ok"}') == 2


def test_requests_in_one_go_are_answered_in_order(shared):
    asked = [f"GET /v1/tax/{code}?zip=1 HTTP/1.1\r\nHost: localhost\r\n" for code in "AB"]
    head = "".join(f"{one}X-API-Key: {shared.key}\r\n\r\n" for one in asked)
    last = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with connect(shared) as connection:
        connection.sendall(head.encode() + last.encode())
        answers = rest(connection)
    assert answers.index(b"given 'A'") < answers.index(b"given 'B'") < answers.index(b'"ok"')


def test_http_1_0(shared):
    # read to the end of the connection, without having asked for it
    status, _, body = parsed(shared.raw(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n"))
    assert (status, body) == (200, b'{"status":"ok"}')


@pytest.mark.parametrize(
    ("first", "status"),
    [("OPTIONS * HTTP/1.1", 404), ("GET http://localhost/healthz HTTP/1.1", 200)],
)
def test_targets_that_are_more_or_less_than_a_path(shared, first, status):
    head = f"{first}\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert parsed(shared.raw(head.encode()))[0] == status


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


@pytest.fixture
def hasty(run, monkeypatch):
    """A service with little patience."""
    monkeypatch.setattr(http_protocol, "REQUEST_SECONDS", 0.2)
    return run()


@pytest.mark.parametrize(
    "begun",
    [
        "GET /healthz HTT",
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: ",
        POST + JSON + "Content-Length: 20\r\n\r\n[",
        POST + JSON + "Transfer-Encoding: chunked\r\n\r\n5\r\n[",
    ],
    ids=["the first line", "a header", "a body", "a chunk"],
)
def test_a_request_that_never_ends_is_given_up(hasty, begun):
    with connect(hasty) as connection:
        connection.sendall(begun.format(key=hasty.key).encode())
        assert_refused(rest(connection), 408, "REQUEST_TIMEOUT", "did not arrive within")
    assert hasty.store.list_nexus("local") == []


def test_a_connection_without_a_request_is_closed(hasty):
    with connect(hasty) as connection:
        assert rest(connection) == b""


def test_a_request_that_drips_is_given_up_all_the_same(hasty):
    answer = b""
    with connect(hasty) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        connection.settimeout(0.01)
        while not answer:
            connection.sendall(b"X")
            with suppress(TimeoutError):
                answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 408")


def test_patience_is_for_each_request(hasty):
    # the same connection serves for much longer than one request may take
    with connect(hasty) as connection:
        for _ in range(3):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
            connection.settimeout(0.15)
            with pytest.raises(TimeoutError):
                connection.recv(1)
            connection.settimeout(10)
        begun = time.monotonic()
        connection.sendall(b"GET /healthz HTT")
        assert_refused(rest(connection), 408, "REQUEST_TIMEOUT", "did not arrive within")
        assert time.monotonic() - begun >= 0.19


@pytest.fixture
def cramped(monkeypatch):
    """Sockets of the service hold little of an answer that is not read."""

    def bind_cramped(host, port):
        listener = bind(host, port)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        return listener

    monkeypatch.setattr(background, "bind", bind_cramped)


def test_a_client_that_does_not_read_is_not_waited_for(cramped, hasty):
    asked = f"GET /v1/freshness HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {hasty.key}\r\n\r\n"
    address = httpx.URL(hasty.base_url)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((address.host, address.port))
        connection.settimeout(10)
        connection.sendall(asked.encode())
        with pytest.raises(ConnectionError):
            pour(connection, b"x" * 1000)
    # others are served meanwhile and after
    assert hasty.client.get("/healthz").status_code == 200


def pour(connection, data):
    """Send for as long as the service keeps the connection, ten seconds at most."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        connection.sendall(data)


def test_who_asks_for_too_much_at_once_gets_a_part_and_the_end(shared):
    asked = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1000
    answers = shared.raw(asked).count(b'{"status":"ok"}')
    assert answers == http_protocol.MAX_QUEUED + 1
