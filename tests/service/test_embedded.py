"""The embedded service: one per process and database, and it goes as quietly as it came."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pandas as pd
import pytest
import uvicorn
from pydantic import SecretStr
from support.systems import homes, posix

import svc_tools
from svc_sdk import AsyncSvc, Svc, SvcError, TransportError
from svc_tools.config import account_of
from svc_tools.service import embedded
from svc_tools.service.errors import StartError, StoreError
from svc_tools.service.ratebook import load_book

THREAD = "svc-tools-service"


@pytest.fixture
def started(db):
    """The embedded service over a database of the test's own, closed at the end."""
    service = embedded.start(db)
    yield service
    service.close()


def get(service, path="/v1/freshness", **options):
    headers = {"X-API-Key": service.api_key.get_secret_value()}
    return httpx.get(service.base_url + path, headers=headers, trust_env=False, **options)


def service_threads():
    return [thread for thread in threading.enumerate() if thread.name == THREAD]


def test_it_answers_with_a_key_of_its_own(started):
    assert get(started).status_code == 200
    assert httpx.get(f"{started.base_url}/v1/freshness", trust_env=False).status_code == 401
    host = httpx.URL(started.base_url)
    assert (host.scheme, host.host) == ("http", "127.0.0.1")
    assert started.book_edition == load_book().edition
    assert started.book_digest == load_book().digest


def test_the_key_shows_nowhere(started):
    assert started.api_key.get_secret_value() not in f"{started!r} {started} {started.api_key!r}"


def test_one_per_process_and_database(db, tmp_path, started):
    assert embedded.start(db) is started
    assert embedded.start(os.path.relpath(db)) is started
    other = embedded.start(tmp_path / "other.db")
    try:
        assert other.base_url != started.base_url
        assert get(other).status_code == get(started).status_code == 200
    finally:
        other.close()


def test_threads_that_start_it_together_get_the_same_one(db):
    with ThreadPoolExecutor(8) as pool:
        services = list(pool.map(lambda _: embedded.start(db), range(8)))
    assert len({id(service) for service in services}) == 1
    services[0].close()


def test_after_close_a_new_one_starts_and_the_records_are_there(db):
    first = embedded.start(db)
    headers = {"X-API-Key": first.api_key.get_secret_value()}
    url = f"{first.base_url}/v1/portability/nexus"
    kept = httpx.post(url, json={"state": "TX"}, headers=headers, trust_env=False).json()
    first.close()
    first.close()
    assert not first.running
    with pytest.raises(httpx.ConnectError):
        get(first)
    second = embedded.start(db)
    try:
        assert second is not first
        assert second.api_key.get_secret_value() != first.api_key.get_secret_value()
        assert get(second, "/v1/portability/nexus").json()["nexus"] == [kept]
    finally:
        second.close()


def test_close_leaves_no_thread_and_frees_the_port(db):
    before = len(service_threads())
    service = embedded.start(db)
    service.listen()
    assert len(service_threads()) == before + 1
    with httpx.Client(base_url=service.base_url, trust_env=False) as client:
        assert client.get("/healthz").status_code == 200
        service.close()  # an idle connection is not waited for
    assert len(service_threads()) == before
    with socket.create_server(("127.0.0.1", httpx.URL(service.base_url).port)):
        pass


def test_it_starts_and_answers_while_an_event_loop_runs(db):
    async def ask():
        service = embedded.start(db)
        try:
            async with AsyncSvc(service.api_key, base_url=service.base_url) as client:
                answers = [client.lookup("NJ", zip="07030") for _ in range(20)]
                return await asyncio.gather(*answers)
        finally:
            service.close()

    assert {one.combined_rate_string for one in asyncio.run(ask())} == {"0.06625"}


def test_signal_handlers_are_left_alone(db):
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    service = embedded.start(db)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    service.close()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers


def test_a_database_that_cannot_be_used_is_reported_once_it_is_needed(tmp_path):
    (tmp_path / "file").write_text("")
    service = embedded.start(tmp_path / "file" / "service.db")
    for need in (service.listen, lambda: service.base_url):
        with pytest.raises(StoreError, match="cannot be made or opened"):
            need()
    assert (service.running, service.address) == (True, None)
    assert service.database_name == str(tmp_path / "file" / "service.db")
    (tmp_path / "file").unlink()
    assert get(service).status_code == 200  # the same one, once the folder can be made
    service.close()


def test_what_needs_the_port_together_gets_one(db):
    before = len(service_threads())
    service = embedded.start(db)
    with ThreadPoolExecutor(8) as pool:
        addresses = {*pool.map(lambda _: service.base_url, range(8))}
    assert addresses == {service.address}
    assert len(service_threads()) == before + 1
    service.close()


def test_one_that_was_closed_before_it_was_needed_has_no_address(db):
    service = embedded.start(db)
    service.close()
    with pytest.raises(StartError, match="was closed"):
        _ = service.base_url
    assert not db.exists()


def test_a_client_shows_no_address_that_nobody_asked_for(db, monkeypatch):
    monkeypatch.setenv("SVC_DATABASE_URL", str(db))
    with svc_tools.connect("embedded") as client, svc_tools.connect("embedded") as other:
        assert repr(client) == f"EmbeddedSvc(book_edition={client.book_edition!r})"
        assert "base_url=None" in repr(client._service)
        assert (account_of(client).service, client.database_name) == ("embedded service", str(db))
        assert client._service.address is None
        assert not db.exists()
        assert other.base_url == client.base_url == client._service.address
        assert httpx.get(f"{client.base_url}/healthz", trust_env=False).status_code == 200
    embedded.start(db).close()


def test_a_server_s_database_serves_it_too(postgres, db):
    name = postgres.new_database()
    service = embedded.start(SecretStr(postgres.url(name)))
    assert embedded.start(SecretStr(postgres.url(name))) is service
    assert get(service).status_code == 200
    assert postgres.execute("SELECT account FROM accounts", database=name) == [("local",)]
    service.close()
    postgres.drop(name)
    by_path = embedded.start(SecretStr(str(db)))
    assert embedded.start(db) is by_path
    by_path.close()


def test_a_server_that_fails_is_reported_and_the_next_one_works(db, monkeypatch):
    async def fail(self, sockets=None):
        raise OSError("no more descriptors")

    monkeypatch.setenv("SVC_DATABASE_URL", str(db))
    monkeypatch.setattr(uvicorn.Server, "startup", fail)
    before = service_threads()
    with svc_tools.connect("embedded", max_retries=0) as client:
        with pytest.raises(TransportError, match="no more descriptors"):
            client.list_nexus()
        assert service_threads() == before
        monkeypatch.undo()
        assert client.health().status == "ok"
    client._service.close()


LOOKUPS = [
    ("TX", {"zip": "78701"}),
    ("WA", {"location": "Seattle", "mode": "full"}),
    ("NY", {"address": "350 5th Ave, New York, NY 10118", "as_of": "2026-03-01"}),
    ("CO", {"lat": 39.74, "lng": -104.99}),
    ("CA", {"zip": "94105", "period": "20261"}),
    ("CA", {"zip": "78701"}),
    ("CA", {"zip": "00000"}),
    ("PR", {"zip": "00601"}),
    ("Q/", {"zip": "78701"}),
    ("TX", {"zip": "not a ZIP"}),
    ("TX", {"address": "short"}),
    ("TX", {"location": "\u00e9\x00"}),
]


def result_of(look_up, state, fields):
    try:
        return look_up(state, **fields).model_dump(mode="json")
    except SvcError as error:
        return type(error), error.error_code, error.message, error.detail


def test_lookups_in_process_are_those_of_the_port(db, monkeypatch):
    monkeypatch.setenv("SVC_DATABASE_URL", str(db))
    with (
        svc_tools.connect("embedded") as here,
        Svc(here._service.api_key, base_url=here.base_url) as over_http,
    ):
        for state, fields in LOOKUPS:
            expected = result_of(over_http.lookup, state, fields)
            assert result_of(here.lookup, state, fields) == expected, (state, fields)
        assert here.freshness() == over_http.freshness()

    async def looked_up():
        async with svc_tools.aconnect("embedded") as client:
            return (await client.lookup("TX", zip="78701")).model_dump(mode="json")

    assert asyncio.run(looked_up()) == result_of(embedded_lookup, "TX", {"zip": "78701"})
    embedded.start(db).close()


PLACES = [{"state": "TX", "zip": f"7870{number}"} for number in range(1, 6)]


async def awaited(client, method, *given, **fields):
    async with client:
        return await getattr(client, method)(*given, **fields)


async def alooked_up(client):
    async with client:
        found = svc_tools.alookup_many(PLACES, client=client, cache=False)
        return [outcome async for _, outcome in found]


REQUESTS = {
    "lookup": lambda here, _: here.lookup("TX", zip="78701"),
    "nexus": lambda here, _: here.add_nexus("TX"),
    "alookup": lambda _, other: asyncio.run(awaited(other, "lookup", "TX", zip="78701")),
    "anexus": lambda _, other: asyncio.run(awaited(other, "list_nexus")),
}


@pytest.fixture(params=["served", "waiting"])
def clients_of_closed(db, monkeypatch, request):
    """A client and an asynchronous one, whose service was closed."""
    monkeypatch.setenv("SVC_DATABASE_URL", str(db))
    with svc_tools.connect("embedded") as here:
        other = svc_tools.aconnect("embedded")
        if request.param == "served":
            here.add_nexus("CA")
        embedded.running(db).close()
        yield here, other


@pytest.mark.parametrize("name", REQUESTS)
def test_after_close_a_request_fails_at_the_first_attempt(clients_of_closed, name):
    with pytest.raises(TransportError, match=r'was closed.*connect\("embedded"\)') as error:
        REQUESTS[name](*clients_of_closed)
    assert error.value.attempts == 1


def test_after_close_many_lookups_stop_at_the_first(clients_of_closed):
    here, other = clients_of_closed
    frame = pd.DataFrame(PLACES)
    expected = ["failed", *["not_attempted"] * 4]
    with pytest.warns(UserWarning, match="was closed"):
        found = frame.svc.lookup(client=here, cache=False, progress=False)
    assert found["lookup_status"].tolist() == expected
    assert found["lookup_error"].str.contains("was closed").all()
    assert found["lookup_error"][0].endswith("(1 attempt)")
    outcomes = [one for _, one in svc_tools.lookup_many(PLACES, client=here, cache=False)]
    assert [one.status for one in outcomes] == expected
    assert [one.status for one in asyncio.run(alooked_up(other))] == expected


def test_a_client_that_is_closed_looks_nothing_up(db, monkeypatch):
    monkeypatch.setenv("SVC_DATABASE_URL", str(db))
    with svc_tools.connect("embedded") as client:
        pass
    with pytest.raises(TransportError, match="client is closed"):
        client.lookup("TX", zip="78701")
    other = svc_tools.aconnect("embedded")
    with asyncio.Runner() as loop:
        loop.run(other.aclose())
        with pytest.raises(TransportError, match="client is closed"):
            loop.run(other.lookup("TX", zip="78701"))
    embedded.start(db).close()


def test_lookups_go_on_where_the_database_fails_and_other_requests_say_why(db, monkeypatch):
    monkeypatch.setenv("SVC_DATABASE_URL", str(db))
    with svc_tools.connect("embedded") as client:
        client.add_nexus("TX")
        embedded.running(db).close()
    with svc_tools.connect("embedded") as client:
        db.write_text("no database")
        with pytest.raises(TransportError):
            client.list_nexus()
        with pytest.raises(TransportError, match=r"service\.db") as error:
            client.list_nexus()
        assert client.lookup("TX", zip="78701").combined_rate_string == "0.08250"
        outcomes = [one for _, one in svc_tools.lookup_many(PLACES, client=client, cache=False)]
    assert error.value.attempts == 1
    assert {one.status for one in outcomes} == {"ok"}


def embedded_lookup(state, **fields):
    with svc_tools.connect("embedded") as client:
        return client.lookup(state, **fields)


def test_threads_look_up_together(db, monkeypatch):
    monkeypatch.setenv("SVC_DATABASE_URL", str(db))
    zips = {"TX": "78701", "CA": "94105", "WA": "98101", "NJ": "07030"}
    with svc_tools.connect("embedded") as client, ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda one: client.lookup(one[0], zip=one[1]), [*zips.items()] * 20)
        rates = {one.rate.state: one.combined_rate_string for one in found}
        again = {state: client.lookup(state, zip=zips[state]) for state in zips}
        assert rates == {state: one.combined_rate_string for state, one in again.items()}
    embedded.start(db).close()


LIGHT = """
import sys, threading
import svc_tools
seen = set()
def note(event, arguments):
    # how a file is opened to be written is an octal number's bit
    written = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
    if written or event in {"os.mkdir", "_thread.start_new_thread", "sqlite3.connect"}:
        seen.add(event)
    elif event.startswith("socket.") or event.startswith("subprocess."):
        seen.add(event)
sys.addaudithook(note)
with svc_tools.connect("embedded") as client:
    assert client.lookup("TX", zip="78701").combined_rate_string == "0.08250"
    assert client.lookup("TX", zip="78701-1234", mode="full").rate.state == "TX"
    assert client.lookup("WA", location="Seattle").rate.state == "WA"
    assert client.lookup("NC", location="Nosuchname 28202").rate.zip == "28202"
assert threading.active_count() == 1
libraries = "fastapi starlette uvicorn sqlalchemy aiohttp sqlite3 platformdirs usaddress shapely"
print(sorted(seen), sorted({*libraries.split()} & {*sys.modules}))
"""
LIGHT_MANY = """
import asyncio, sys, svc_tools
with svc_tools.connect("embedded") as client:
    asyncio.run(svc_tools.aconnect("embedded").lookup("TX", zip="78701"))
    place = {"state": "NJ", "zip": "07030"}
    ((_, outcome),) = svc_tools.lookup_many([place], client=client, cache=False)
print(outcome.status, client._service.address, sorted(
    {"fastapi", "starlette", "uvicorn", "sqlalchemy", "aiohttp"} & {*sys.modules}
))
"""


def test_a_lookup_opens_no_database_and_no_port_and_writes_no_file(tmp_path, monkeypatch):
    for name, value in homes(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    assert run_python(LIGHT) == ["[]", "[]"]
    assert run_python(LIGHT_MANY) == ["ok", "None", "[]"]
    assert not (tmp_path / "home").exists()


OUTLIVES = """
import asyncio, threading, svc_tools
def work():
    threading.main_thread().join()
    places = [{"state": "NJ", "zip": "07030"}]
    with svc_tools.connect("embedded") as client:
        [(_, outcome)] = svc_tools.lookup_many(places, client=client, cache=False)
    print(outcome.status)
    other = svc_tools.aconnect("embedded")
    print(asyncio.run(other.lookup("NJ", zip="07030")).combined_rate_string)
threading.Thread(target=work).start()
"""


def test_a_thread_that_outlives_the_main_thread_looks_up(db, monkeypatch):
    monkeypatch.setenv("SVC_DATABASE_URL", str(db))
    assert run_python(OUTLIVES) == ["ok", "0.06625"]


def run_python(code, *arguments):
    """A program of its own, in which every warning is an error; what it printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


ASK = """
import sys, logging
import httpx
from pathlib import Path
from svc_tools.service import embedded
def ask(service):
    headers = {"X-API-Key": service.api_key.get_secret_value()}
    with httpx.Client(headers=headers, trust_env=False) as client:
        return client.get(service.base_url + "/v1/freshness").status_code
service = embedded.start(Path(sys.argv[1]))
"""


def test_a_program_that_never_closes_it_ends_cleanly(db):
    # registered first, so called last
    last = "import atexit\natexit.register(lambda: print(f'running={service.running}'))\n"
    # whoever logs everything reads nothing of the service
    code = ASK.replace("service =", "logging.basicConfig(level=logging.INFO)\nservice =")
    code = code.replace("return client", "logging.disable()\n        return client")
    assert run_python(f"{last}{code}print(ask(service))", db) == ["200", "running=False"]


FORK = """
import os, warnings
from svc_tools.base.loopback import listen
assert ask(service) == 200
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork with threads
until_child_has_asked, asked = os.pipe()
until_parent_is_done, done = os.pipe()
child = os.fork()
if child == 0:
    os.close(done)
    own = embedded.start(Path(sys.argv[1]))
    assert own is not service
    assert own.base_url != service.base_url
    assert ask(own) == 200
    assert ask(service) == 200  # the parent's, over the network like anybody
    print("child", flush=True)
    os.close(asked)
    os.read(until_parent_is_done, 1)
    sys.exit(0)
os.close(asked)
os.read(until_child_has_asked, 1)
assert embedded.start(Path(sys.argv[1])) is service
assert ask(service) == 200
service.close()
port = int(service.base_url.rpartition(":")[2])
listen("127.0.0.1", port).close()  # in use, had the child kept it
os.close(done)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("parent")
"""


@posix
def test_a_forked_child_starts_its_own_and_does_not_hold_the_parent_s_port(db):
    assert sorted(run_python(ASK + FORK, db)) == ["child", "parent"]


def test_any_number_of_requests_wake_the_port(db):
    code = f"{ASK}for _ in range(5000):\n    service.listen()\nprint(ask(service))"
    assert run_python(code, db) == ["200"]


FORKED_CLIENT = """
import os, signal, sys, warnings
import svc_tools
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork with threads
os.environ["SVC_DATABASE_URL"] = sys.argv[1]
client = svc_tools.connect("embedded")
if sys.argv[2] == "served":
    client.list_nexus()
child = os.fork()
if child == 0:
    signal.alarm(40)  # a child that hangs must end
    print(client.lookup("TX", zip="78701").rate.zip, flush=True)
    places = [{"state": "TX", "zip": "78702"}]
    [(_, outcome)] = svc_tools.lookup_many(places, client=client, cache=False)
    print(outcome.status, client.list_nexus().count, flush=True)
    os._exit(0)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(client.lookup("TX", zip="78703").rate.zip, client.list_nexus().count)
"""


FORKED_WHILE_CHECKED = """
import os, signal, sys, threading, warnings
import svc_tools
from svc_tools.service import books
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork with threads
os.environ["SVC_DATABASE_URL"] = sys.argv[1]
client = svc_tools.connect("embedded")
own_signature, checking, go_on = books.own_signature, threading.Event(), threading.Event()
def slow(path):
    checking.set()
    go_on.wait()
    return own_signature(path)
books.own_signature = slow
thread = threading.Thread(target=lambda: client.book_digest)
thread.start()
checking.wait()
child = os.fork()
go_on.set()
if child == 0:
    signal.alarm(40)  # a child that hangs must end
    os._exit(0 if client.book_digest else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
thread.join()
print("both")
"""


@posix
def test_a_child_that_is_forked_while_the_book_is_checked_does_not_wait_for_the_parent(db):
    assert run_python(FORKED_WHILE_CHECKED, db) == ["both"]


@posix
@pytest.mark.parametrize("parent", ["served", "waiting"])
def test_a_client_that_a_forked_child_inherits_works_there_and_in_the_parent(db, parent):
    assert run_python(FORKED_CLIENT, db, parent) == ["78701", "ok", "0", "78703", "0"]


FORKED_BEFORE = """
import os, signal, sys, threading, warnings
import svc_tools
warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of any fork with threads
os.environ["SVC_DATABASE_URL"] = sys.argv[1]
client = svc_tools.connect("embedded")
# as a thread that looks up, and one that claims the port, at this moment
assert client._service._one.acquire() and client._service._claiming.acquire()
child = os.fork()
if child == 0:
    signal.alarm(40)  # a child that hangs must end
    assert client.lookup("TX", zip="78701").rate.zip == "78701"
    own = client.base_url
    client.add_nexus("TX")
    assert svc_tools.connect("embedded").base_url == own
    print(own, flush=True)
    os._exit(0)
client._service._one.release()
client._service._claiming.release()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print(client.base_url, client.list_nexus().count)
"""


@posix
def test_where_nobody_asked_for_the_port_a_forked_child_has_its_own(db):
    of_child, of_parent, count = run_python(FORKED_BEFORE, db)
    assert of_child.startswith("http://127.0.0.1:")
    assert of_parent.startswith("http://127.0.0.1:")
    assert count == "1"
