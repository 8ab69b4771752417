"""Nexus records (SPEC 4.1, WIRE "Requests"): over HTTP, stored, and written by many at once."""

from __future__ import annotations

import json
import sqlite3
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.systems import posix

from svc_sdk.models import NexusList, NexusRecord, NexusRemoval
from svc_tools.service import database as database_module
from svc_tools.service.database import LOCAL_ACCOUNT, Database, nexus
from svc_tools.service.errors import StoreUnavailableError
from svc_tools.service.keys import KeyStore
from svc_tools.service.nexus_params import NEXUS_TYPES
from svc_tools.service.params import STATES
from svc_tools.service.start import new_key
from svc_tools.service.store import Store

PATH = "/v1/portability/nexus"
FIELDS = ["state", "nexus_type", "registered_at", "address", "notes", "created_at", "updated_at"]


@pytest.fixture
def service(shared_on_both):
    """A service without records, over a database of each kind."""
    for record in shared_on_both.store.list_nexus("local"):
        shared_on_both.store.remove_nexus("local", record["state"])
    return shared_on_both


def put(service, **body):
    response = service.client.post(PATH, json=body)
    assert response.status_code == 200, response.text
    return response.json()


def listed(service, **params):
    response = service.client.get(PATH, params=params)
    assert response.status_code == 200, response.text
    return response.json()


def test_a_record_is_kept_as_given(service):
    given_fields = {
        "state": "TX",
        "nexus_type": "economic",
        "registered_at": "2024-02-29",
        "address": "500 W 2nd St\nAustin",
        "notes": "Zürich \N{EURO SIGN} 'quoted'; --",
    }
    record = put(service, **given_fields)
    assert list(record) == FIELDS
    assert {name: record[name] for name in given_fields} == given_fields
    assert record["created_at"] == record["updated_at"]
    assert record["created_at"].endswith("Z")
    assert listed(service) == {"nexus": [record], "count": 1}
    assert NexusRecord.model_validate(record).registered_at == "2024-02-29"
    assert NexusList.model_validate(listed(service)).count == 1


def remove(service, path):
    response = service.client.delete(f"{PATH}/{path}")
    assert response.status_code == 200, response.text
    NexusRemoval.model_validate(response.json())
    return response.json()


def all_types(service):
    """One record of each type, and a listing that says so."""
    for kind in NEXUS_TYPES:
        put(service, state="TX", nexus_type=kind)
    return listed(service)


@pytest.mark.parametrize(
    ("query", "items"),
    [
        ("nexustype=economic", [("nexustype", "extra_forbidden", "economic")]),
        ("%FF=economic", [("\N{REPLACEMENT CHARACTER}", "extra_forbidden", "economic")]),
        ("nexus_type=economic&nexus_type=physical", [("nexus_type", "repeated", "physical")]),
        ("nexus_type=%FF", [("nexus_type", "string_unicode", "\N{REPLACEMENT CHARACTER}")]),
        (
            "state=TX&nexus_type=&nexus_type=digital&kind=economic",
            [
                ("state", "extra_forbidden", "TX"),
                ("nexus_type", "repeated", "digital"),
                ("kind", "extra_forbidden", "economic"),
            ],
        ),
    ],
)
def test_a_malformed_removal_is_a_422_and_removes_nothing(service, query, items):
    before = all_types(service)
    response = service.client.delete(f"{PATH}/TX?{query}")
    assert response.status_code == 422
    assert response.headers["x-request-id"]
    detail = response.json()["detail"]
    assert [(one["loc"], one["type"], one["input"]) for one in detail] == [
        (["query", name], kind, given) for name, kind, given in items
    ]
    for one in detail:
        assert one.keys() == {"loc", "msg", "type", "input", "ctx"}
        assert f"expected {one['ctx']['expected']}. Nothing was removed" in one["msg"]
        assert "misspelt nexus_type" in one["msg"]
    assert listed(service) == before


def test_thousands_of_mistakes_get_a_short_answer(shared):
    response = shared.client.delete(f"{PATH}/TX?{'&'.join(['a='] * 2_000)}")
    assert response.status_code == 422
    assert len(response.json()["detail"]) == 10
    response = shared.client.delete(f"{PATH}/TX?{'a' * 5_000}={'b' * 2_000}")
    assert response.status_code == 422
    assert len(response.content) < 1_000


names = st.text(st.characters(codec="utf-8"), max_size=12).filter(lambda name: name != "nexus_type")


@settings(max_examples=25)
@given(st.dictionaries(names, st.text(max_size=8).map(lambda text: text.encode(errors="replace"))))
def test_no_unknown_parameter_removes_anything(shared_on_both, unknown):
    put(shared_on_both, state="VT")
    response = shared_on_both.client.delete(f"{PATH}/VT", params=unknown)
    assert response.status_code == (422 if unknown else 200)
    assert listed(shared_on_both, state="VT")["count"] == (1 if unknown else 0)
    remove(shared_on_both, "VT")


def test_a_type_that_stands_in_a_body_does_not_remove_the_others(service):
    for nexus_type in ("economic", "physical"):
        service.client.post(PATH, json={"state": "TX", "nexus_type": nexus_type})
    response = service.client.request("DELETE", f"{PATH}/TX", json={"nexus_type": "economic"})
    assert response.status_code == 422
    (one,) = response.json()["detail"]
    assert one["loc"] == ["body"]
    assert "?nexus_type=economic" in one["msg"]
    assert service.client.get(PATH).json()["count"] == 2


@pytest.mark.parametrize(
    ("method", "path", "body", "wrong"),
    [
        *(("DELETE", f"/{state}", None, "state") for state in ("ZZ", "PR", "T", "48", "TX%20")),
        *(("DELETE", f"/TX?nexus_type={kind}", None, "nexus_type") for kind in ("", "all")),
        ("POST", "", {"state": "ZZ"}, "state"),
        ("POST", "", {"state": "TX", "nexus_type": "Physical"}, "nexus_type"),
        ("GET", "?state=ZZ", None, "state"),
        ("GET", "?nexus_type=x", None, "nexus_type"),
        ("GET", "?state=TX&state=CA", None, "state"),
    ],
)
def test_an_unknown_state_or_type_is_a_400_and_changes_nothing(service, method, path, body, wrong):
    put(service, state="TX")
    response = service.client.request(method, PATH + path, json=body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["code"] == "INVALID_INPUT"
    assert error["detail"]["parameter"] == wrong
    assert listed(service)["count"] == 1


def test_accounts_do_not_see_each_other(service):
    other = new_key()
    KeyStore(service.store.database).create(other, account="other")
    headers = {"X-API-Key": other.get_secret_value()}
    put(service, state="TX", notes="mine")
    assert service.anonymous("GET", PATH, headers=headers).json()["count"] == 0
    theirs = service.anonymous("POST", PATH, headers=headers, json={"state": "TX"}).json()
    assert theirs["notes"] is None
    assert service.anonymous("DELETE", f"{PATH}/TX", headers=headers).json()["deleted"] == 1
    assert listed(service)["nexus"][0]["notes"] == "mine"


characters = st.characters(codec="utf-8", exclude_characters="\0")
fields = st.fixed_dictionaries(
    {},
    optional={
        "registered_at": st.none() | st.dates().map(str),
        "address": st.none() | st.text(characters, max_size=30),
        "notes": st.none() | st.text(characters, max_size=30),
    },
)


@settings(max_examples=25)
@given(st.lists(fields, min_size=1, max_size=4))
def test_a_record_is_the_sum_of_its_updates(shared_on_both, updates):
    shared = shared_on_both
    remove(shared, "VT")
    expected = {"registered_at": None, "address": None, "notes": None}
    for update in updates:
        expected |= update
        record = put(shared, state="VT", **update)
    assert {name: record[name] for name in expected} == expected
    assert listed(shared, state="VT")["nexus"] == [record]
    remove(shared, "VT")


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


def test_nothing_stays_open_between_requests(run, db):
    service = run()
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
    monkeypatch.setattr(database_module, "_BUSY_SECONDS", 0.2)
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


def test_a_database_without_the_account_is_unavailable(opened):
    with pytest.raises(StoreUnavailableError, match=r"(?i)foreign key constraint"):
        Store(opened).put_nexus("nobody", "TX", "physical", {})


# --- many at once


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
print("ready", flush=True)
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
    """Processes that all begin once all are ready; what each printed at its end."""
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
        printed = [process.communicate(timeout=60)[0] for process in processes]
        assert [process.returncode for process in processes] == [0] * len(processes)
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    return [json.loads(line) for line in printed]


def test_processes_that_start_add_update_and_remove_at_once_lose_nothing(database_url):
    states = [state for state in STATES if state < "M"]
    added = [(state, kind) for state in states for kind in NEXUS_TYPES]
    _, _, first, second, notes, address, *_ = together(
        database_url,
        # every record is added once, so what was removed and what is left is all there ever was
        ("add", json.dumps(added[::2])),
        ("add", json.dumps(added[1::2])),
        ("remove", json.dumps([*states, *states])),
        ("remove", json.dumps([*states[::-1], *states])),
        # different fields of one record
        ("note", "notes"),
        ("note", "address"),
        ("quarrel", "1"),
        ("quarrel", "2"),
    )
    with closing(Database(database_url)) as database:
        left = Store(database).list_nexus(LOCAL_ACCOUNT)
    assert sum(first) + sum(second) + sum(row["state"] < "M" for row in left) == len(added)
    assert sorted(notes) == sorted(address) == sorted(map(str, range(30)))
    (record,) = [row for row in left if row["state"] == "VT"]
    assert record["notes"] in notes
    assert record["address"] in address
    assert sum(row["state"] == "TX" for row in left) <= len(NEXUS_TYPES)
