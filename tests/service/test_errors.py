"""Every error is the envelope, every answer carries its request id, no answer shows insides."""

from __future__ import annotations

import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from svc_tools.base import loopback
from svc_tools.service import app as nexus
from svc_tools.service import rates
from svc_tools.service.app import create_app
from svc_tools.service.books import BookKeeper
from svc_tools.service.database import Database
from svc_tools.service.keys import KeyRing, KeyStore
from svc_tools.service.ratebook import load_book
from svc_tools.service.start import new_key
from svc_tools.service.store import Store

JSON = {"Content-Type": "application/json"}


def assert_envelope(response, status, code):
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    error = response.json()["error"]
    assert error["code"] == code
    assert error["message"]
    assert error["support_reference"] == response.headers["x-request-id"]


def test_request_ids_differ_and_are_ours(shared):
    answers = [
        shared.client.get("/healthz", headers={"X-Request-Id": "mine\tmine"}) for _ in range(3)
    ]
    ids = {answer.headers["x-request-id"] for answer in answers}
    assert len(ids) == 3
    assert not any("mine" in one for one in ids)


@pytest.mark.parametrize("path", ["/", "/nope", "/healthz/", "/docs", "/redoc", "/v2/tax/TX"])
def test_an_unknown_address_outside_of_v1(shared, path):
    response = shared.anonymous("GET", path)
    assert_envelope(response, 404, "PATH_NOT_FOUND")
    assert "address" not in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/v1/tax/TX", "GET"),
        ("DELETE", "/healthz", "GET"),
        ("PUT", "/v1/freshness", "GET"),
        ("GET", "/v1/portability/nexus/TX", "DELETE"),
        ("PUT", "/v1/portability/nexus", "GET, POST"),
    ],
)
def test_a_wrong_method(shared, method, path, allowed):
    response = shared.client.request(method, path)
    assert_envelope(response, 405, "METHOD_NOT_ALLOWED")
    assert response.headers["allow"] == allowed


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-API-Key": ""},
        {"X-API-Key": "k\xe9y".encode("latin-1")},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Basic {key}"},
        {"X-API-Key": "wrong", "Authorization": "Bearer {key}"},
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/tax/TX?zip=78701"),
        ("GET", "/v1/tax/not-a-state"),
        ("GET", "/v1/portability/nexus"),
        ("DELETE", "/v1/portability/nexus/ZZ?nexus_type=wrong"),
        ("GET", "/v1/nope"),
    ],
)
def test_without_a_key_all_of_v1_is_401_before_anything_else(shared, method, path, headers):
    sent = {
        name: value if isinstance(value, bytes) else value.format(key=shared.key)
        for name, value in headers.items()
    }
    response = shared.anonymous(method, path, headers=sent)
    assert_envelope(response, 401, "UNAUTHORIZED")
    assert response.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_key_as_a_bearer_token(shared, scheme):
    headers = {"Authorization": f"{scheme} {shared.key}"}
    assert shared.anonymous("GET", "/v1/freshness", headers=headers).status_code == 200


@pytest.mark.parametrize(("name", "form"), [("X-API-Key", "{}"), ("Authorization", "Bearer {}")])
def test_two_keys_are_no_key(shared, name, form):
    other = "another-key-0123456789abcdef"
    for keys in ((shared.key, other), (other, shared.key)):
        headers = [(name, form.format(key)) for key in keys]
        response = shared.anonymous("GET", "/v1/freshness", headers=headers)
        assert_envelope(response, 401, "UNAUTHORIZED")


def test_a_surprise_is_a_500_that_tells_the_log_and_not_the_caller(service, monkeypatch, caplog):
    def fail(*_args, **_options):
        raise RuntimeError("the pin is 1234")

    monkeypatch.setattr(rates, "resolve", fail)
    with caplog.at_level(logging.ERROR, "svc_tools.service"):
        response = service.client.get("/v1/tax/TX", params={"address": "12 Secret Street, Austin"})
    assert_envelope(response, 500, "INTERNAL")
    assert "1234" not in response.text
    assert "RuntimeError" not in response.text
    assert response.headers["x-request-id"] in caplog.text
    assert "the pin is 1234" in caplog.text
    assert "Secret Street" not in caplog.text
    monkeypatch.undo()
    assert service.client.get("/v1/tax/NJ", params={"zip": "07030"}).status_code == 200


def test_keys_stand_in_no_log_line(run, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, "sqlalchemy.engine")  # every statement, but not every row
    service = run()
    service.client.get("/v1/freshness")
    service.client.post("/v1/portability/nexus", json={"state": "TX", "notes": "a private note"})
    service.anonymous("GET", "/v1/freshness", headers={"X-API-Key": "svc_stranger"})
    monkeypatch.setattr(nexus, "parsed", lambda *_given: 1 / 0)
    assert service.client.get("/v1/portability/nexus?state=TX").status_code == 500
    assert "ZeroDivisionError" in caplog.text
    for secret in (service.key, "svc_stranger", "a private note"):
        assert secret not in caplog.text


@pytest.mark.parametrize(
    ("content", "where"),
    [
        (b"{not json", ["body", 1]),
        (b"", ["body"]),
        (b'"TX"', ["body"]),
        (b"{}", ["body", "state"]),
        (b'{"state": NaN}', ["body", "state"]),
        (b'{"state": "TX", "notes": "\\ud800"}', ["body", "notes"]),
        (b'{"state": "TX", "nexus_type": null}', ["body", "nexus_type"]),
        (b'{"state": "TX", "registered_at": "2026-02-03T00:00:00"}', ["body", "registered_at"]),
        (b'{"state": "TX", "notes": "a\\u0000b"}', ["body", "notes"]),
        (b'{"state": "TX", "adress": "1 Main St"}', ["body", "adress"]),
    ],
)
def test_a_body_of_the_wrong_shape_is_a_422_of_the_specification(shared, content, where):
    response = shared.client.post("/v1/portability/nexus", content=content, headers=JSON)
    assert response.status_code == 422
    assert response.headers["x-request-id"]
    (item,) = json.loads(response.content, parse_constant=pytest.fail)["detail"]
    assert item["loc"] == where
    assert isinstance(item["msg"], str)
    assert isinstance(item["type"], str)
    assert item.keys() <= {"loc", "msg", "type", "input", "ctx"}


@pytest.mark.parametrize(
    ("content", "twice"),
    [
        (b'{"state": "TX", "state": "CA"}', "state"),
        (b'{"state": "TX", "notes": "a", "notes": "a"}', "notes"),
        (b'{"state": "TX", "st\\u0061te": "CA"}', "state"),
        (b'[{"deep": {"deeper": 1, "deeper": 2}}]', "deeper"),
        (b'{"state": "TX", "\\ud800": 1, "\\ud800": 2}', "?"),
    ],
)
def test_a_name_that_is_given_twice_in_a_body_is_refused(service, content, twice):
    response = service.client.post("/v1/portability/nexus", content=content, headers=JSON)
    assert_envelope(response, 400, "INVALID_INPUT")
    assert response.json()["error"]["detail"] == {"parameter": twice, "expected": "one value"}
    assert service.store.list_nexus("local") == []


def test_a_body_that_is_not_said_to_be_json_is_refused(shared):
    # what a form of another site could send without asking the browser first
    headers = {"Content-Type": "text/plain"}
    body = b'{"state": "TX"}'
    response = shared.client.post("/v1/portability/nexus", content=body, headers=headers)
    assert response.status_code == 422
    (item,) = response.json()["detail"]
    assert item["msg"] == "Expected a JSON object, sent with Content-Type: application/json"


@pytest.mark.parametrize("content", [b"[" * 60_000, b'{"state":' * 6_000, b"9" * 5_000])
def test_a_body_that_breaks_parsers_is_the_caller_s_mistake(shared, content):
    response = shared.client.post("/v1/portability/nexus", content=content, headers=JSON)
    assert response.status_code in {400, 422}
    assert response.headers["x-request-id"]


def test_a_request_that_the_end_of_the_service_meets_is_told_so(db, monkeypatch):
    monkeypatch.setitem(loopback.UVICORN, "timeout_graceful_shutdown", 0.1)
    key, store = new_key(), Store(Database(db))
    begun, free = threading.Event(), threading.Event()

    def wait(*_args):
        begun.set()
        assert free.wait(30)

    monkeypatch.setattr(store, "list_nexus", wait)
    keys = KeyRing(KeyStore(store.database), key)
    app = create_app(books=BookKeeper(load_book), store=store, keys=keys, loopback=True)
    running = loopback.serve_in_thread(app)
    headers = {"X-API-Key": key.get_secret_value()}
    url = f"{running.base_url}/v1/portability/nexus"
    try:
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(httpx.get, url, headers=headers, trust_env=False, timeout=30)
            assert begun.wait(30)
            running.close()
            response = asked.result()
    finally:
        free.set()
    assert_envelope(response, 503, "TEMPORARILY_UNAVAILABLE")
    assert "stopping" in response.json()["error"]["message"]
