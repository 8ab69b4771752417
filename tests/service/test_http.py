"""What arrives as HTTP: hosts and origins, sizes, and bytes that are no request."""

from __future__ import annotations

import pytest

from svc_tools.service.admission import MAX_BODY, MAX_HEADERS, MAX_QUERY

NEXUS = "/v1/portability/nexus"


# what `tests/test_loopback.py` says of the guard holds over HTTP, too
@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST:8642", "[::1]:8642"])
def test_a_host_and_an_origin_of_this_machine(shared, host):
    for headers in ({"Host": host}, {"Origin": f"http://{host}"}, {"Origin": f"https://{host}"}):
        assert shared.client.get("/v1/freshness", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("name", "code", "values"),
    [
        ("Host", "INVALID_HOST", ["evil.example", "10.0.0.1:8642", "::1", "", "127.1"]),
        ("Origin", "INVALID_ORIGIN", ["https://evil.example", "null", "", "http://localhost/path"]),
    ],
)
def test_a_host_or_an_origin_elsewhere(shared, name, code, values):
    for value in values:
        response = shared.client.get("/v1/freshness", headers={name: value})
        assert response.status_code == 403
        error = response.json()["error"]
        assert error["code"] == code
        assert error["support_reference"] == response.headers["x-request-id"]


def test_a_page_elsewhere_cannot_write(service):
    origin = {"Origin": "https://evil.example"}
    body = {"state": "TX"}
    response = service.client.post("/v1/portability/nexus", json=body, headers=origin)
    assert response.status_code == 403
    assert service.client.get("/v1/portability/nexus").json()["count"] == 0


def test_a_server_for_other_machines_takes_any_host(run):
    service = run(loopback=False)
    headers = {"Host": "rates.example", "Origin": "https://books.example"}
    assert service.client.get("/v1/freshness", headers=headers).status_code == 200
    assert service.anonymous("GET", "/v1/freshness", headers=headers).status_code == 401


def refused_for_size(response, what):
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["code"] == "INVALID_INPUT"
    assert what in error["message"]
    assert error["support_reference"] == response.headers["x-request-id"]


@pytest.mark.parametrize(
    ("what", "method", "path", "options"),
    [
        ("query string", "GET", f"/v1/tax/TX?zip={'7' * MAX_QUERY}", {}),
        ("path", "GET", f"/v1/tax/{'x' * 2000}", {}),
        ("headers", "GET", "/v1/freshness", {"headers": {"X-Padding": "x" * MAX_HEADERS}}),
        ("body", "POST", NEXUS, {"json": {"state": "TX", "notes": "x" * MAX_BODY}}),
    ],
)
def test_a_part_that_is_too_long(shared, what, method, path, options):
    refused_for_size(shared.client.request(method, path, **options), what)


def test_a_body_that_turns_out_too_long(shared):
    headers = {"Content-Type": "application/json"}
    chunks = (b'"' + b"x" * 8192 for _ in range(MAX_BODY // 8192 + 1))
    response = shared.client.post("/v1/portability/nexus", content=chunks, headers=headers)
    refused_for_size(response, "body")


POST = "POST /v1/portability/nexus HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {key}\r\n"
JSON = "Content-Type: application/json\r\n"


NOT_HTTP = {
    "no HTTP at all": b"hello\r\n\r\n",
    "TLS": bytes.fromhex("160301020001000001fc0303") + b"\0" * 64,
    "an unknown method": b"FETCH /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "NUL in a header": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-A: a\0b\r\n\r\n",
    "two lengths": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
    "a length and chunks": b"POST /v1/portability/nexus HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
}


@pytest.mark.parametrize("sent", NOT_HTTP.values(), ids=NOT_HTTP)
def test_bytes_that_are_no_request_are_refused(shared, sent):
    assert shared.raw(sent).startswith(b"HTTP/1.1 400")


def test_chunks_that_are_broken_are_refused_and_nothing_is_kept(service):
    head = POST.format(key=service.key) + JSON + "Transfer-Encoding: chunked\r\n\r\n"
    answer = service.raw(head.encode() + b'5\r\n{"sta\r\nXYZ\r\n')
    assert answer.startswith(b"HTTP/1.1 400")
    assert service.store.list_nexus("local") == []
