"""Who may ask at all: hosts and origins on loopback, and the size of a request."""

from __future__ import annotations

import pytest

from svc_tools.service.admission import MAX_BODY, MAX_HEADERS, MAX_QUERY

HERE = [
    "127.0.0.1",
    "127.0.0.1:8642",
    "127.8.9.1:1",
    "localhost",
    "LOCALHOST:8642",
    "[::1]",
    "[::1]:8642",
]
ELSEWHERE = [
    "evil.example",
    "evil.example:8642",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "10.0.0.1:8642",
    "[2001:db8::1]",
    "0.0.0.0",  # noqa: S104 - a name to refuse, nothing listens there
    "::1",
    "",
    "localhost:",
    "localhost:x",
    "user@127.0.0.1",
    "127.0.0.1, evil.example",
    "2130706433",
    "127.1",
    "[localhost]",
    "[127.0.0.1]",
]


@pytest.mark.parametrize("host", HERE)
def test_a_host_of_this_machine(shared, host):
    response = shared.client.get("/v1/freshness", headers={"Host": host})
    assert response.status_code == 200


@pytest.mark.parametrize("host", ELSEWHERE)
def test_a_host_of_another_machine(shared, host):
    response = shared.client.get("/v1/freshness", headers={"Host": host})
    assert response.status_code == 403
    error = response.json()["error"]
    assert error["code"] == "INVALID_HOST"
    assert error["support_reference"] == response.headers["x-request-id"]


@pytest.mark.parametrize("path", ["/healthz", "/openapi.json", "/nope"])
def test_the_host_is_judged_at_every_address(shared, path):
    assert shared.client.get(path, headers={"Host": "evil.example"}).status_code == 403


@pytest.mark.parametrize(
    "hosts",
    ["", "Host: 127.0.0.1\r\nHost: evil.example\r\n", "Host: localhost\r\nHost: localhost\r\n"],
)
def test_no_host_or_two(shared, hosts):
    head = f"GET /healthz HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n"
    status = shared.raw(head.encode()).split(b"\r\n", 1)[0]
    assert status.startswith((b"HTTP/1.1 403", b"HTTP/1.1 400"))


@pytest.mark.parametrize("host", HERE)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_origin_of_this_machine(shared, scheme, host):
    origin = f"{scheme}://{host}"
    assert shared.client.get("/v1/freshness", headers={"Origin": origin}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["null", "", "http://", "file://", "127.0.0.1", "http://localhost/path", "ftp://localhost"]
    + [f"https://{host}" for host in ELSEWHERE],
)
def test_an_origin_elsewhere(shared, origin):
    response = shared.client.get("/v1/freshness", headers={"Origin": origin})
    assert response.status_code == 403
    assert response.json()["error"]["code"] == "INVALID_ORIGIN"


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


def test_a_query_string_that_is_too_long(shared):
    refused_for_size(shared.client.get(f"/v1/tax/TX?zip={'7' * MAX_QUERY}"), "query string")


def test_headers_that_are_too_long(shared):
    headers = {"X-Padding": "x" * MAX_HEADERS}
    refused_for_size(shared.client.get("/v1/freshness", headers=headers), "headers")


def test_a_body_that_is_too_long(shared):
    body = {"state": "TX", "notes": "x" * MAX_BODY}
    refused_for_size(shared.client.post("/v1/portability/nexus", json=body), "body")


def test_a_body_that_turns_out_too_long(shared):
    headers = {"Content-Type": "application/json"}
    chunks = (b'"' + b"x" * 8192 for _ in range(MAX_BODY // 8192 + 1))
    response = shared.client.post("/v1/portability/nexus", content=chunks, headers=headers)
    refused_for_size(response, "body")


def test_a_body_as_long_as_allowed_is_read(shared):
    body = b'{"state": "ZZ"}'.ljust(MAX_BODY)
    headers = {"Content-Type": "application/json"}
    response = shared.client.post("/v1/portability/nexus", content=body, headers=headers)
    assert "state: given 'ZZ'" in response.json()["error"]["message"]


def test_a_body_that_a_lookup_does_not_want_does_no_harm(shared):
    params = {"zip": "07030"}
    response = shared.client.request("GET", "/v1/tax/NJ", params=params, content=b"x" * 1000)
    assert response.status_code == 200
