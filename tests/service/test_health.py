"""`/healthz` says what cannot be served, lookups say 503, and all goes on once it is mended."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from sqlalchemy import event
from support.serving import make_key
from support.waiting import until

from svc_tools.service import database, health
from svc_tools.service.books import BookKeeper
from svc_tools.service.ratebook import load_book

PLACE = {"zip": "07030"}


def assert_unavailable(response, *parts):
    assert response.status_code == 503
    error = response.json()["error"]
    assert error["code"] == "TEMPORARILY_UNAVAILABLE"
    assert error["detail"] == {"unavailable": list(parts)}
    assert response.headers["retry-after"] == str(error["retry_after_seconds"]) == "5"
    assert error["support_reference"] == response.headers["x-request-id"]


@pytest.fixture
def forgetful(monkeypatch):
    """Each request checks the database, however long that takes on a busy machine."""
    monkeypatch.setattr(health, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(health, "_PATIENCE_SECONDS", 60.0)


@pytest.fixture
def shelf(run):
    """A service whose book can be taken away and put back, as seen by the next lookup."""

    class Shelf:
        failure = None

        def load(self):
            if self.failure is not None:
                raise self.failure
            return load_book()

        def mark(self):
            return repr(self.failure)

    made = Shelf()
    clock = iter(range(0, 10_000_000, 10)).__next__  # a look is due each time
    made.service = run(books=BookKeeper(made.load, made.mark, clock=clock))
    return made


def test_a_book_that_breaks_is_reported_and_comes_back(shelf, tmp_path):
    client = shelf.service.client
    assert client.get("/v1/tax/NJ", params=PLACE).status_code == 200
    shelf.failure = ValueError(f"{tmp_path}/rates.csv: secret insides")
    for path in ("/v1/tax/NJ?zip=07030", "/v1/tax/NJ?zip=07030&mode=full", "/v1/freshness"):
        response = client.get(path)
        assert_unavailable(response, "book")
        assert "secret" not in response.text
        assert str(tmp_path) not in response.text
    assert_unavailable(shelf.service.anonymous("GET", "/healthz"), "book")
    # what needs no book goes on
    assert client.post("/v1/portability/nexus", json={"state": "TX"}).status_code == 200
    shelf.failure = None
    assert client.get("/v1/tax/NJ", params=PLACE).status_code == 200
    assert client.get("/v1/freshness").status_code == 200
    assert client.get("/healthz").json() == {"status": "ok"}


def test_a_database_that_disappears_is_reported_and_comes_back(service, db, forgetful):
    client = service.client
    client.post("/v1/portability/nexus", json={"state": "TX"})
    away = db.rename(db.with_name("away"))
    health_of = service.anonymous("GET", "/healthz")
    assert_unavailable(health_of, "database")
    nexus = client.get("/v1/portability/nexus")
    assert_unavailable(nexus, "database")
    assert_unavailable(client.delete("/v1/portability/nexus/TX"), "database")
    # an unknown key cannot be judged: that is no 401
    unknown = {"X-API-Key": "svc_unknown"}
    assert_unavailable(service.anonymous("GET", "/v1/freshness", headers=unknown), "database")
    for response in (health_of, nexus):
        assert str(db.parent) not in response.text
        assert "sqlite" not in response.text.lower()
    # known keys and rates are in memory, and yet: accounts that are lost are said
    assert_unavailable(client.get("/v1/tax/NJ", params=PLACE), "database")
    assert not db.exists(), "an empty one in its place would look as if all records were removed"
    away.rename(db)
    assert client.get("/v1/portability/nexus").json()["count"] == 1
    assert client.get("/healthz").json() == {"status": "ok"}
    assert client.get("/v1/tax/NJ", params=PLACE).status_code == 200


def _page(content, make):
    """The content with another page: one that holds the nexus records."""
    start = content.index(b"a note of a register") // 4096 * 4096
    return content[:start] + make(content[start : start + 4096]) + content[start + 4096 :]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:4096],
        lambda _: b"no database" * 1000,
        lambda content: bytes(100) + content[100:],
        lambda content: _page(content, lambda page: bytes(len(page))),
        lambda content: _page(content, lambda _: content[:4096]),
        lambda content: _page(content, lambda page: page.replace(b"a note", b"\xff note")),
    ],
)
def test_a_damaged_database_is_reported_left_where_it_is_and_comes_back(
    service, db, forgetful, damage
):
    paths = [
        *(("GET", "/healthz"), ("GET", "/v1/tax/NJ?zip=07030")),
        *(("GET", "/v1/portability/nexus"), ("DELETE", "/v1/portability/nexus/TX")),
    ]
    record = {"state": "TX", "notes": "a note of a register"}
    assert service.client.post("/v1/portability/nexus", json=record).status_code == 200
    assert service.client.get("/healthz").json() == {"status": "ok"}
    good = db.read_bytes()
    db.write_bytes(damage(good))
    damaged = db.read_bytes()
    service.client.get("/v1/portability/nexus")  # meets it
    for method, path in paths:
        response = service.client.request(method, path)
        assert_unavailable(response, "database")
        assert "status" not in response.json()
    assert db.read_bytes() == damaged
    assert [one.name for one in db.parent.glob(f"{db.stem}*{db.suffix}")] == [db.name]
    db.write_bytes(good)
    for method, path in paths:
        assert service.client.request(method, path).status_code == 200


def test_damage_that_no_request_has_met_is_reported(service, db, forgetful, monkeypatch):
    monkeypatch.setattr(database, "_CHECK_SECONDS", 0.0)
    record = {"state": "TX", "notes": "a note of a register"}
    assert service.client.post("/v1/portability/nexus", json=record).status_code == 200
    db.write_bytes(_page(db.read_bytes(), lambda page: bytes(len(page))))
    assert_unavailable(service.anonymous("GET", "/healthz"), "database")


@contextmanager
def writes_refused(database, request, how):
    """While it lasts, the database is read, and cannot be written to."""
    if database.name.startswith("postgresql"):
        server, name = request.getfixturevalue("postgres"), database.name.rpartition("/")[2]
        server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        server.end_connections(name)
        yield
        server.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")
        server.end_connections(name)
        return

    # such a state of the disk cannot be made without owning the disk; SQLite's own switches can
    def limit(connection, _record):
        connection.execute(f"PRAGMA {how}")

    event.listen(database._engine, "connect", limit)
    yield
    event.remove(database._engine, "connect", limit)


def test_a_database_that_is_read_only_is_reported_once_a_write_fails_and_comes_back(
    run, database_url, request, forgetful
):
    service = run(database_url)
    client = service.client

    def lookups_become(status):
        until(lambda: client.get("/v1/tax/NJ", params=PLACE).status_code == status, seconds=60)

    with writes_refused(service.store.database, request, "query_only = 1"):
        # nothing is written only to see whether it could be
        assert client.get("/healthz").json() == {"status": "ok"}
        lookups_become(200)
        assert_unavailable(client.post("/v1/portability/nexus", json={"state": "TX"}), "database")
        for _ in range(3):
            assert_unavailable(service.anonymous("GET", "/healthz"), "database")
        lookups_become(503)
        assert client.get("/v1/portability/nexus").json()["count"] == 0
        assert_unavailable(service.anonymous("GET", "/healthz"), "database")
    assert client.get("/healthz").json() == {"status": "ok"}
    lookups_become(200)
    assert client.post("/v1/portability/nexus", json={"state": "TX"}).status_code == 200
    with writes_refused(service.store.database, request, "query_only = 1"):
        # what is over is forgotten
        assert client.get("/healthz").json() == {"status": "ok"}


def test_lookups_of_a_limited_key_that_cannot_be_counted_are_seen_in_the_health(
    run, database_url, request, forgetful
):
    service = run(database_url)
    _, headers = make_key(service.keys, plan="free")

    def ask():
        return service.anonymous("GET", "/v1/tax/NJ?zip=07030", headers=headers)

    with writes_refused(service.store.database, request, "query_only = 1"):
        assert_unavailable(ask(), "database")
        assert_unavailable(service.anonymous("GET", "/healthz"), "database")
    assert service.anonymous("GET", "/healthz").status_code == 200
    assert ask().status_code == 200


def test_a_database_without_room_is_reported_until_there_is_room(run, request, forgetful):
    service = run()
    client = service.client
    states = iter(client.get("/v1/freshness").json()["states"])

    def post():
        body = {"state": next(states)["state"], "notes": "x" * 1000}
        return client.post("/v1/portability/nexus", json=body)

    with writes_refused(service.store.database, request, "max_page_count = 1"):
        kept = 0
        while (response := post()).status_code == 200:
            kept += 1
        assert_unavailable(response, "database")
        assert_unavailable(service.anonymous("GET", "/healthz"), "database")
        # a request that has nothing to write is no sign of room
        assert client.delete("/v1/portability/nexus/WY").json()["deleted"] == 0
        assert_unavailable(service.anonymous("GET", "/healthz"), "database")
    assert client.get("/healthz").json() == {"status": "ok"}
    assert post().status_code == 200
    assert client.get("/v1/portability/nexus").json()["count"] == kept + 1


def test_however_many_ask_the_database_is_asked_seldom(run, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "svc_tools.service.database.Database.ping", lambda _self: asked.append(time.sleep(0.05))
    )
    service = run()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: service.anonymous("GET", "/healthz"), range(40)))
    assert {answer.status_code for answer in answers} == {200}
    assert 1 <= len(asked) <= 3


def test_a_database_that_does_not_answer_is_out_of_order(run, monkeypatch, forgetful):
    monkeypatch.setattr(health, "_PATIENCE_SECONDS", 0.1)
    free = threading.Event()
    asked = []

    def ping(_self):
        asked.append(1)
        assert free.wait(10)

    monkeypatch.setattr("svc_tools.service.database.Database.ping", ping)
    service = run()
    try:
        for _ in range(3):
            assert_unavailable(service.anonymous("GET", "/healthz"), "database")
        assert len(asked) == 1, "more threads that wait would be taken from others"
        assert service.client.get("/v1/tax/NJ", params=PLACE).status_code == 200
    finally:
        free.set()
