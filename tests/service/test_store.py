"""What the service keeps: that it lasts, who can read it, and who waits for whom."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
import sqlalchemy as sa

from svc_tools.service import database as database_module
from svc_tools.service.database import LOCAL_ACCOUNT, Database, nexus
from svc_tools.service.errors import StoreUnavailableError
from svc_tools.service.params import NEXUS_TYPES, STATES
from svc_tools.service.store import Store

PATH = "/v1/portability/nexus"
posix = pytest.mark.skipif(os.name != "posix", reason="file modes are a POSIX matter")


@pytest.fixture
def opened(database_url):
    """A database of each kind."""
    database = Database(database_url)
    yield database
    database.close()


def test_records_outlast_the_service(run, database_url):
    first = run(database=database_url)
    kept = first.client.post(PATH, json={"state": "TX", "notes": "keep me"}).json()
    second = run(database=database_url)
    assert second.key != first.key
    assert second.client.get(PATH).json() == {"nexus": [kept], "count": 1}
    assert second.anonymous("GET", PATH, headers={"X-API-Key": first.key}).status_code == 401


@posix
def test_only_the_user_can_read_the_database(run, db):
    service = run()
    service.client.post(PATH, json={"state": "TX"})
    assert stat.S_IMODE(db.parent.stat().st_mode) == 0o700
    with service.store.database.write():
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in db.parent.iterdir()}
    assert modes == dict.fromkeys(["service.db", "service.db-shm", "service.db-wal"], 0o600)


@posix
def test_a_database_that_others_could_read_is_closed_to_them(db):
    Database(db)
    db.chmod(0o644)
    Database(db)
    assert stat.S_IMODE(db.stat().st_mode) == 0o600


def test_nothing_stays_open_between_requests(service, db):
    service.client.post(PATH, json={"state": "TX"})
    assert [file.name for file in db.parent.iterdir()] == ["service.db"]
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("SELECT state FROM nexus").fetchall() == [("TX",)]


# --- others hold it, or it is gone


@contextmanager
def held(database_url):
    """The record of TX is held by another process's transaction."""
    other = Database(database_url)
    with other.write() as connection:
        record = nexus.select().where(nexus.c.state == "TX").with_for_update()
        connection.execute(record)
        yield
    other.close()


def test_a_locked_database_is_a_503_that_says_when_to_come_back(run, database_url, monkeypatch):
    monkeypatch.setattr(database_module, "BUSY_SECONDS", 0.2)
    service = run(database=database_url)
    assert service.client.post(PATH, json={"state": "TX"}).status_code == 200
    with held(database_url):
        for response in (
            service.client.post(PATH, json={"state": "TX", "notes": "lost"}),
            service.client.delete(f"{PATH}/TX"),
        ):
            assert response.status_code == 503
            assert response.headers["retry-after"] == "1"
            error = response.json()["error"]
            assert error["code"] == "TEMPORARILY_UNAVAILABLE"
            assert error["retry_after_seconds"] == 1
        (record,) = service.client.get(PATH).json()["nexus"]
        assert record["notes"] is None
    assert service.client.delete(f"{PATH}/TX").json()["deleted"] == 1


def test_a_waiting_write_holds_up_nobody_else(run, database_url):
    service = run(database=database_url)
    service.client.post(PATH, json={"state": "TX"})
    with ThreadPoolExecutor(1) as pool:
        with held(database_url):
            waiting = pool.submit(service.client.post, PATH, json={"state": "TX"})
            for _ in range(20):
                assert service.stranger.get(PATH).status_code == 401
            assert not waiting.done()
        assert waiting.result().status_code == 200


def all_answers(service):
    answers = [
        service.client.get(PATH),
        service.client.post(PATH, json={"state": "TX"}),
        service.client.delete(f"{PATH}/TX"),
    ]
    return {answer.status_code for answer in answers}


def test_a_file_that_is_gone_is_a_503_until_it_is_back(run, db):
    service = run()
    service.client.post(PATH, json={"state": "CA"})
    away = db.rename(db.with_name("away"))
    assert all_answers(service) == {503}
    assert not db.exists()
    away.rename(db)
    assert all_answers(service) == {200}
    assert service.client.get(PATH).json()["count"] == 1


def test_a_server_that_stops_is_a_503_until_it_runs_again(run, postgres):
    name = postgres.new_database()
    service = run(database=postgres.url(name))
    service.client.post(PATH, json={"state": "CA"})
    postgres.stop()
    assert all_answers(service) == {503}
    postgres.start()
    assert all_answers(service) == {200}
    assert service.client.get(PATH).json()["count"] == 1


def test_a_database_without_the_account_is_unavailable(opened):
    with pytest.raises(StoreUnavailableError, match=r"(?i)foreign key constraint"):
        Store(opened).put_nexus("nobody", "TX", "physical", {})


# --- many at once


def test_two_processes_writing_the_same_record_both_succeed(database_url):
    stores = [Store(Database(database_url)) for _ in range(2)]  # each with a queue of its own

    def write(number):
        store = stores[number % 2]
        return store.put_nexus(LOCAL_ACCOUNT, "TX", "physical", {"notes": str(number)})

    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(write, range(40)))
    assert {row["notes"] for row in rows} == {str(number) for number in range(40)}
    assert len({row["created_at"] for row in rows}) == 1
    (left,) = stores[0].list_nexus(LOCAL_ACCOUNT)
    assert left["updated_at"] == max(row["updated_at"] for row in rows)
    for store in stores:
        store.database.close()


def test_the_time_of_an_update_never_goes_back(opened):
    store = Store(opened)
    store.put_nexus(LOCAL_ACCOUNT, "TX", "physical", {})
    later = "2999-01-01T00:00:00.000Z"  # a clock that was set back since
    with opened.write() as connection:
        connection.execute(nexus.update().values(updated_at=later))
    assert store.put_nexus(LOCAL_ACCOUNT, "TX", "physical", {})["updated_at"] == later


WORKER = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
from svc_tools.service.database import Database
from svc_tools.service.store import Store
url, task, argument = sys.argv[1:]
store = Store(Database(url))
sys.stdout.write("ready\\n")
sys.stdout.flush()
sys.stdin.readline()
def add(key):
    store.put_nexus("local", *key, {})
def remove(state):
    return store.remove_nexus("local", state)
def note(number):
    return store.put_nexus("local", "VT", "physical", {argument: str(number)})[argument]
def quarrel(number):
    if number % 3:
        store.put_nexus("local", "TX", ("physical", "economic", "marketplace")[number % 2], {})
    else:
        store.remove_nexus("local", "TX", None if number % 2 else "physical")
work = json.loads(argument) if argument[0] == "[" else range(30)
with ThreadPoolExecutor(3) as pool:
    print(json.dumps(list(pool.map(globals()[task], work))))
"""


def together(url, *tasks):
    """Processes that all begin once all are there; what each printed at its end."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", WORKER, url, *task],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for task in tasks
    ]
    try:
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        said = [process.communicate(timeout=60)[0] for process in processes]
        assert [process.returncode for process in processes] == [0] * len(processes)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return [json.loads(line) for line in said]


def test_processes_that_add_and_remove_lose_nothing(opened, database_url):
    # every record is added once, so what was removed and what is left is all there ever was
    states = STATES[:20]
    keys = [(state, kind) for state in states for kind in NEXUS_TYPES]
    *_, first, second = together(
        database_url,
        ("add", json.dumps(keys[::2])),
        ("add", json.dumps(keys[1::2])),
        ("remove", json.dumps([*states, *states])),
        ("remove", json.dumps([*states[::-1], *states])),
    )
    left = Store(opened).list_nexus(LOCAL_ACCOUNT)
    assert sum(first) + sum(second) + len(left) == len(keys)


def test_processes_that_update_different_fields_of_a_record_keep_each_other_s(opened, database_url):
    notes, address = together(database_url, ("note", "notes"), ("note", "address"))
    assert sorted(notes) == sorted(address) == sorted(map(str, range(30)))
    (record,) = Store(opened).list_nexus(LOCAL_ACCOUNT)
    assert record["notes"] in notes
    assert record["address"] in address


def test_processes_that_update_and_remove_the_same_records_never_fail(opened, database_url):
    together(database_url, ("quarrel", "1"), ("quarrel", "2"), ("quarrel", "3"))
    left = Store(opened).list_nexus(LOCAL_ACCOUNT)
    assert {(row["state"], row["nexus_type"]) for row in left} <= {
        ("TX", kind) for kind in NEXUS_TYPES
    }


def test_many_callers_of_two_services_never_fail(run, database_url):
    services = [run(database=database_url) for _ in range(2)]

    def call(number):
        client = services[number % 2].client
        if number % 5 == 4:
            return client.delete(f"{PATH}/TX")
        return client.post(PATH, json={"state": "TX", "notes": str(number)})

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(call, range(120)))
    assert {answer.status_code for answer in answers} == {200}
    removed = [answer.json()["deleted"] for answer in answers if "deleted" in answer.json()]
    assert set(removed) <= {0, 1}
    with services[0].store.database.read() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(nexus)).scalar_one() <= 1
