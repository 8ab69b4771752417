"""The database: what lasts, who can read it, and what happens when it cannot be used."""

from __future__ import annotations

import os
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import pytest

from svc_tools.service import database
from svc_tools.service.errors import StartError, StoreBusyError, StoreError
from svc_tools.service.keys import LOCAL_ACCOUNT, KeyRing, checked_key, hash_key, new_key
from svc_tools.service.store import Store

PATH = "/v1/portability/nexus"
posix = pytest.mark.skipif(os.name != "posix", reason="file modes are a POSIX matter")


def all_bytes(db):
    return b"".join(file.read_bytes() for file in sorted(db.parent.iterdir()))


def test_records_outlast_the_service(run):
    first = run()
    kept = first.client.post(PATH, json={"state": "TX", "notes": "keep me"}).json()
    second = run()
    assert second.key != first.key
    assert second.client.get(PATH).json() == {"nexus": [kept], "count": 1}
    assert second.anonymous("GET", PATH, headers={"X-API-Key": first.key}).status_code == 401


def test_a_stored_key_outlasts_the_service_and_only_its_hash_is_stored(run, db):
    key = new_key()
    run().store.add_key(LOCAL_ACCOUNT, hash_key(key))
    secret = key.get_secret_value()
    for _ in range(2):
        response = run().anonymous("GET", PATH, headers={"X-API-Key": secret})
        assert response.status_code == 200
    content = all_bytes(db)
    assert hash_key(key).encode() in content
    assert secret.encode() not in content


def test_the_key_of_a_run_is_not_stored_in_any_form(run, db):
    service = run()
    assert service.client.post(PATH, json={"state": "TX"}).status_code == 200
    content = all_bytes(db)
    assert service.key.encode() not in content
    assert hash_key(service.key.encode()).encode() not in content
    assert service.store.key_hashes() == []


def test_a_key_that_another_process_adds_is_valid_at_once(run, db):
    service = run()
    key = new_key()
    headers = {"X-API-Key": key.get_secret_value()}
    assert service.anonymous("GET", PATH, headers=headers).status_code == 401
    Store(db).add_key("another", hash_key(key))
    assert service.anonymous("GET", PATH, headers=headers).status_code == 200


def test_a_verified_key_is_remembered(db, monkeypatch):
    store = Store(db)
    key = new_key()
    store.add_key(LOCAL_ACCOUNT, hash_key(key))
    ring = KeyRing(store)
    secret = key.get_secret_value().encode()
    assert ring.recall(secret) is None
    assert ring.verify(secret) == LOCAL_ACCOUNT
    assert ring.verify(b"another") is None
    monkeypatch.delattr(store, "_reading")
    assert ring.recall(secret) == LOCAL_ACCOUNT
    assert ring.recall(b"another") is None


def test_keys_are_long_and_never_the_same():
    keys = {new_key().get_secret_value() for _ in range(50)}
    assert len(keys) == 50
    assert all(key.startswith("svc_") and len(key) >= 40 and key.isascii() for key in keys)
    assert "svc_" not in repr(new_key())


@pytest.mark.parametrize(
    "key", ["", "  ", "a b\n", " padded", "cl\N{LATIN SMALL LETTER E WITH ACUTE}"]
)
def test_a_chosen_key_must_fit_a_header(key):
    with pytest.raises(StartError, match="API key"):
        checked_key(key)


@posix
def test_only_the_user_can_read_the_database(run, db):
    service = run()
    service.client.post(PATH, json={"state": "TX"})
    assert stat.S_IMODE(db.parent.stat().st_mode) == 0o700
    with service.store._writing.begin():
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in db.parent.iterdir()}
    assert modes == dict.fromkeys(["service.db", "service.db-shm", "service.db-wal"], 0o600)


@posix
def test_a_database_that_others_could_read_is_closed_to_them(db):
    Store(db)
    db.chmod(0o644)
    Store(db)
    assert stat.S_IMODE(db.stat().st_mode) == 0o600


def test_nothing_stays_open_between_requests(service, db):
    service.client.post(PATH, json={"state": "TX"})
    assert [file.name for file in db.parent.iterdir()] == ["service.db"]
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("SELECT state FROM nexus").fetchall() == [("TX",)]


def test_a_file_that_is_no_database_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but somebody's notes" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"notes\.txt cannot be used.*--db"):
        Store(path)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_left_alone(tmp_path):
    path = tmp_path / "books.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE nexus (x)")
    before = path.read_bytes()
    mode = path.stat().st_mode
    with pytest.raises(StoreError, match="another program"):
        Store(path)
    assert path.read_bytes() == before
    assert path.stat().st_mode == mode


def test_a_database_of_a_newer_release_is_refused(db):
    Store(db)
    with closing(sqlite3.connect(db)) as connection, connection:
        connection.execute("UPDATE schema_version SET version = 99")
    with pytest.raises(StoreError, match="schema version 99"):
        Store(db)


def test_a_place_that_cannot_be_written_is_a_clear_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be made or opened"):
        Store(tmp_path / "file" / "service.db")


def test_a_folder_is_no_database(tmp_path):
    with pytest.raises(StoreError, match="cannot be used"):
        Store(tmp_path)


def test_the_user_s_own_database_is_where_the_platform_puts_data():
    path = database.default_path()
    assert path.name == "service.db"
    assert path.parent.name == "svc-tools"


def test_a_locked_database_is_a_503_that_says_when_to_come_back(run, db, monkeypatch):
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.01)
    service = run()
    with closing(sqlite3.connect(db, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        response = service.client.post(PATH, json={"state": "TX"})
        assert response.status_code == 503
        assert response.headers["retry-after"] == "1"
        error = response.json()["error"]
        assert error["code"] == "TEMPORARILY_UNAVAILABLE"
        assert error["retry_after_seconds"] == 1
        assert service.client.get(PATH).json()["count"] == 0
        with pytest.raises(StoreBusyError):
            Store(db)
        other.execute("ROLLBACK")
    assert service.client.post(PATH, json={"state": "TX"}).status_code == 200


def test_a_waiting_write_holds_up_nobody_else(service, db):
    with ThreadPoolExecutor(1) as pool:
        with closing(sqlite3.connect(db, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = pool.submit(service.client.post, PATH, json={"state": "TX"})
            for _ in range(20):
                assert service.stranger.get("/healthz").status_code == 200
            assert not waiting.done()
            other.execute("ROLLBACK")
        assert waiting.result().status_code == 200


def test_two_processes_writing_the_same_record_both_succeed(db):
    stores = [Store(db), Store(db)]  # each with a queue of its own, as two processes have

    def write(number):
        store = stores[number % 2]
        return store.put_nexus(LOCAL_ACCOUNT, "TX", "physical", {"notes": str(number)})

    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(write, range(40)))
    assert {row["notes"] for row in rows} == {str(number) for number in range(40)}
    assert len({row["created_at"] for row in rows}) == 1
    assert len(stores[0].list_nexus(LOCAL_ACCOUNT)) == 1


def test_starting_together_on_a_new_file_works(db):
    with ThreadPoolExecutor(6) as pool:
        stores = list(pool.map(lambda _: Store(db), range(6)))
    stores[0].put_nexus(LOCAL_ACCOUNT, "TX", "physical", {})
    assert all(len(store.list_nexus(LOCAL_ACCOUNT)) == 1 for store in stores)


def test_a_write_that_fails_leaves_no_trace(db):
    store = Store(db)
    store.put_nexus(LOCAL_ACCOUNT, "TX", "physical", {"notes": "before"})
    with suppress(RuntimeError), store._write() as connection:
        connection.execute(database.nexus.delete())
        raise RuntimeError
    assert [row["notes"] for row in store.list_nexus(LOCAL_ACCOUNT)] == ["before"]
