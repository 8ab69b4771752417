"""`svc-tools serve`: the service as a program, its log, and several workers."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial

import httpx
import pytest
from pydantic import SecretStr
from support.command import svc_tools
from support.serving import make_key, program
from support.systems import homes, posix
from support.waiting import until as until_soon

from svc_tools.service import admin, serving
from svc_tools.service.database import Database
from svc_tools.service.errors import StoreError
from svc_tools.service.faults import FaultPlan
from svc_tools.service.keys import KeyStore
from svc_tools.service.store import LimitStore, month_of

until = partial(until_soon, seconds=120.0)  # processes start slowly on a busy machine
EVERYWHERE = "0.0.0.0"  # noqa: S104 - to see the warning about it
KEY = "svc_the-key-of-this-run"
STREET = "1100 Congress Ave"
FRESHNESS, NEXUS, TAX = "/v1/freshness", "/v1/portability/nexus", "/v1/tax/NJ?zip=07030"
PS = shutil.which("ps")
# loading the certificates for each request would be most of a test's time
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
workers_are_seen = pytest.mark.skipif(
    os.name != "posix" or PS is None, reason="ps is missing: apt-get install procps"
)


def get(served, path=FRESHNESS, key=KEY, method="GET", **options):
    """One request over a connection of its own: any worker may take it."""
    headers = {"X-API-Key": key, "Connection": "close"} | options.pop("headers", {})
    options |= {"headers": headers, "trust_env": False, "verify": NO_TLS}
    return httpx.request(method, served.url + path, timeout=60, **options)


@posix
def test_the_first_start_shows_the_key_once_and_it_lasts(db):
    with program("--db", db) as served:
        assert served.url.startswith("http://127.0.0.1:")
        assert served.value_of("Database: ") == str(db)
        key = served.value_of("API key: ")
        assert get(served, key=key).status_code == 200
        assert get(served, key="wrong").status_code == 401
        code, log = served.end()
        (line,) = log.splitlines()
        assert code == 0
        assert "GET /v1/freshness: 401 UNAUTHORIZED [req_" in line
    with program("--db", db) as served:
        assert not any(key in line for line in served.lines)
        assert get(served, key=key).status_code == 200
        assert served.end(signal.SIGTERM) == (0, "")
    assert key.encode() not in db.read_bytes()


def test_a_given_key_is_valid_for_the_run_and_not_stored(run, db):
    embedded = run()
    with program("--db", db, "--host", EVERYWHERE, key="my own key") as served:
        labels = [line.split(" ")[0] for line in served.lines]
        assert labels == ["Serving", "Database:", "Warning:", "Stop"]
        assert EVERYWHERE in served.value_of("Warning: ")
        served.url = served.url.replace(EVERYWHERE, "127.0.0.1")
        assert get(served, key="my own key", headers={"Host": "rates.example"}).is_success
        assert get(served, key="another").status_code == 401
        get(served, NEXUS, "my own key", "POST", json={"state": "TX"})
        # both serve the local account, so its records are in both
        assert embedded.client.get(NEXUS).json()["count"] == 1
    assert not KeyStore(Database(db)).any()
    assert b"my own key" not in db.read_bytes()


def test_a_key_comes_from_a_file_or_the_environment(db, tmp_path):
    file = tmp_path / "key"
    file.write_bytes(b"\xef\xbb\xbfa key of a file\r\n\n")
    file.chmod(0o644)
    both = {"SVC_SERVE_KEY": KEY}
    with program("--db", db, "--key-file", file, **both) as served:
        assert get(served, key="a key of a file").is_success
        assert get(served, key=KEY).status_code == 401
        if os.name == "posix":
            assert f"chmod 600 {file}" in served.errors.read_text()
    file.chmod(0o600)
    for options in ((), ("--key-file", "-")):
        with program("--db", db, *options, typed="typed", **both) as served:
            assert get(served, key=KEY).is_success is not bool(options)
            assert get(served, key="typed").is_success is bool(options)
            assert "chmod" not in served.errors.read_text()
    assert not KeyStore(Database(db)).any()


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        (b"", (), "it is empty"),
        (b" \n \n", (), "it is empty"),
        (b"hidden-1\nhidden-2\n", (), "more than that"),
        pytest.param(b"hidden" * 11_000, (), "more than that", id="a long line"),
        ("hidden-é".encode(), (), "cannot stand in an HTTP header"),
        (b"https://hidden.example", (), "is an address"),
        (None, (), "No such file"),
        (b"hidden-1", ("--api-key", "hidden-2"), "give one of them"),
        (b"hidden-1", ("--api-key", "-"), "give one of them"),
    ],
)
def test_a_key_file_that_cannot_be_used_is_a_clear_error(tmp_path, db, content, options, said):
    file = tmp_path / "key"
    if content is not None:
        file.touch(0o600)
        file.write_bytes(content)
    ended = svc_tools("serve", "--port", "0", "--db", db, "--key-file", file, *options)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in " ".join(ended.stderr.split())
    assert "hidden" not in ended.stderr
    assert "Errno" not in ended.stderr
    assert not db.exists()


def test_a_key_on_the_command_line_brings_a_warning(db):
    with program("--db", db, "--api-key", "on the line") as served:
        assert get(served, key="on the line").is_success
        assert "SVC_SERVE_KEY" in served.errors.read_text()
        assert "on the line" not in served.errors.read_text()


def refuse(_line):
    pytest.fail("nothing is printed before the service listens")


def test_a_port_in_use_is_a_clear_error_and_makes_no_key(db):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(admin.StartError, match=f"Port {port} on 127.0.0.1 is in use"):
            admin.serve("127.0.0.1", port, db, None, refuse)
    assert not db.exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"host": "no such host"}, "not known"),
        ({"host": "192.0.2.1"}, "Cannot listen on 192.0.2.1"),
        ({"port": 70_000}, "port 70000"),
        ({"api_key": SecretStr("")}, "API key is empty"),
        ({"api_key": SecretStr("https://rates.example")}, "is an address"),
        ({"api_key": "a-plain-key"}, "type str; expected a pydantic.SecretStr"),
        ({"api_key": b"a-plain-key"}, "type bytes; expected"),
        ({"api_key": 7}, "type int; expected"),
        ({"workers": 65}, "--workers is 65; expected 1 to 64"),
        ({"faults": "429:5"}, "given '429:5', expected a kind, a colon and a percentage"),
    ],
)
def test_what_cannot_be_served_is_a_clear_error(db, given, message):
    options = {"host": "127.0.0.1", "port": 0, "db": db, "api_key": None} | given
    with pytest.raises(admin.StartError, match=message):
        admin.serve(echo=refuse, **options)
    assert not db.exists()


def test_a_plan_of_faults_that_cannot_be_read_ends_the_command(db):
    ended = svc_tools("serve", "--db", db, "--faults", "429:5")
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr


def test_a_database_that_cannot_be_used_is_a_clear_error(tmp_path):
    with pytest.raises(StoreError, match="cannot be used"):
        admin.serve("127.0.0.1", 0, tmp_path, None, refuse)


def test_a_broken_terminal_stops_it_and_makes_no_key(db):
    def echo(line):
        if line.startswith("API key"):
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        admin.serve("127.0.0.1", 0, db, None, echo)
    assert not KeyStore(Database(db)).any()


LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|WARNING) (.+): (.+) \[(req_\w+)\]")


def raw(served, sent):
    """A connection of its own, after these bytes were sent."""
    url = httpx.URL(served.url)
    connection = socket.create_connection((url.host, url.port), timeout=10)
    connection.sendall(sent)
    return connection


@posix
def test_each_error_is_logged_once_and_nothing_private_is(db):
    with program("--db", db, key=KEY) as served:
        answers = [
            get(served, "/v1/tax/TX", params={"address": f"{STREET}, Austin, XX"}),
            get(served, "/v1/tax/NJ", params={"zip": "99999"}),
            get(served, f"/v1/tax/{STREET}"),
            get(served, f"/v1/{KEY}"),
            get(served, key="svc_somebody-else"),
            get(served, "/v1/tax/TX", params={"location": [STREET, STREET]}),
            get(served, NEXUS, method="POST", json={"state": "TX", "adress": STREET}),
            get(served, NEXUS, method="POST", json={"state": STREET}),
            get(served, "/healthz", headers={"Host": "evil.example"}),
            get(served, "/healthz", method="PUT"),
            get(served, headers={"X-Padding": STREET * 2000}),
        ]
        good = [
            get(served, TAX),
            get(served, "/v1/tax/TX", params={"address": f"{STREET}, Austin, TX 78701"}),
            get(served, NEXUS, method="POST", json={"state": "TX", "address": STREET}),
        ]
        with raw(served, f"{STREET} {KEY}\r\n\r\n".encode()) as connection:
            assert connection.recv(65536).startswith(b"HTTP/1.1 400")
        _, log = served.end()
    statuses = [answer.status_code for answer in answers]
    assert statuses == [404, 404, 400, 404, 401, 400, 422, 400, 403, 405, 400]
    assert [answer.status_code for answer in good] == [200, 200, 200]
    logged = [LINE.fullmatch(line).groups() for line in log.splitlines()]
    assert [line[3] for line in logged] == [answer.headers["x-request-id"] for answer in answers]
    assert [line[2].split(" ")[0] for line in logged] == list(map(str, statuses))
    assert {line[0] for line in logged} == {"INFO"}
    for private in (KEY, "svc_somebody-else", "Congress", "Austin", "99999", "evil.example"):
        assert private not in log
    assert logged[0][1:3] == ("GET /v1/tax/TX", "404 NOT_FOUND")
    assert logged[3][1] == "GET (another address)"


@posix
def test_each_fault_on_purpose_is_logged_and_a_hang_does_not_hold_up_the_end(db):
    plan = FaultPlan.read("503:30%,hang:20%,reset:20%", seed=7)
    with program("--db", db, "--faults", plan.text, "--seed", "7", key=KEY) as served:
        assert f"Faults on purpose: {plan.text} (seed 7)" in served.lines
        failed, ids, hanging = [], [], []
        head = f"GET {TAX} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {KEY}\r\n\r\n"
        for number in range(12):
            failed.append(plan.fault(number))
            if failed[-1] == "hang":
                hanging.append(raw(served, head.encode()))
                until(lambda: served.errors.read_text().count("fault hang") == len(hanging))
                continue
            try:
                response = get(served, TAX)
                assert response.headers.get("x-fault") == failed[-1]
                ids.append(response.headers["x-request-id"])
            except httpx.RemoteProtocolError:
                assert failed[-1] == "reset"
        assert set(failed) == {None, "503", "hang", "reset"}
        _, log = served.end()
        for connection in hanging:
            with connection:
                assert connection.recv(65536).startswith(b"HTTP/1.1 503")
    assert re.findall(r"fault (\S+), on purpose", log) == [kind for kind in failed if kind]
    assert max(log.count(one) for one in ids) == 1  # a line each, not one more for its status
    assert "Traceback" not in log


@posix
def test_a_broken_book_at_the_start_is_reported_and_used_once_it_can_be_read(db, tmp_path):
    own = tmp_path / "svc-tools" / "book.db"
    own.parent.mkdir()
    own.write_bytes(b"this is no database" * 200)
    with program("--db", db, key=KEY, **homes(tmp_path)) as served:
        assert "unreadable: lookups are 503 until it can be read" in served.lines[0]
        assert get(served, "/healthz").status_code == 503
        broken = get(served, TAX)
        assert (broken.status_code, broken.headers["retry-after"]) == (503, "5")
        own.unlink()
        until(lambda: get(served, "/healthz").status_code == 200)
        assert get(served, TAX).status_code == 200
        _, log = served.end()
    assert "The rate book cannot be read; lookups are 503 meanwhile: " in log
    assert str(own) in log
    assert "The rate book can be read again" in log


# several workers behind one socket


def processes():
    """Those that run: the id of each, with that of its parent, and its command line."""
    command = [PS, "-Awwo", "pid=,ppid=,stat=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=3) for line in listed.splitlines()]
    return {int(row[0]): (int(row[1]), row[-1]) for row in rows if not row[2].startswith("Z")}


def two_workers(db):
    """The program with two workers, which inherit what uvicorn's supervisor does not close."""
    return program("--db", db, "--workers", "2", key=KEY, flags=())


def workers(served):
    """The ids of both processes that serve, once they do: not of the one that cleans up."""

    def both():
        found = {
            pid
            for pid, (parent, words) in processes().items()
            if parent == served.process.pid and "spawn_main" in words
        }
        return len(found) == 2 and found

    found = until(both)
    assert {get(served).status_code for _ in range(8)} == {200}
    return found


@workers_are_seen
def test_two_workers_share_keys_quotas_and_records_and_one_that_dies_is_replaced(db):
    with two_workers(db) as served:
        assert "2 workers" in served.lines[0]
        before = workers(served)
        running = processes()
        assert not any(KEY in running[pid][1] for pid in (served.process.pid, *before))
        for number in range(8):
            body = {"state": "TX", "notes": str(number)}
            assert get(served, NEXUS, method="POST", json=body).json()["notes"] == str(number)
        notes = {get(served, NEXUS).json()["nexus"][0]["notes"] for _ in range(8)}
        assert notes == {"7"}

        keys = KeyStore(Database(db))
        row, headers = make_key(keys, monthly_quota=50)
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: get(served, TAX, headers["X-API-Key"]), range(120)))
        statuses = [answer.status_code for answer in answers]
        assert (statuses.count(200), statuses.count(429)) == (50, 70)
        codes = {answer.json()["error"]["code"] for answer in answers if answer.is_client_error}
        assert codes == {"QUOTA_EXCEEDED"}
        month = month_of(datetime.now(UTC)).name
        assert LimitStore(keys.database).uses(month) == {row.id: 50}
        keys.revoke(row.id)
        key = headers["X-API-Key"]
        until(lambda: {get(served, key=key).status_code for _ in range(12)} == {401})

        os.kill(min(before), signal.SIGKILL)
        until(lambda: min(before) not in processes())
        after = workers(served)
        assert max(before) in after
        os.killpg(served.process.pid, signal.SIGINT)  # as a terminal sends it: to the whole group
        code, _ = served.end(None)  # a worker that was still starting may report the interrupt
        assert code == 0
        assert not after & processes().keys()


@workers_are_seen
def test_no_orphan_survives_a_parent_that_is_killed(db):
    with two_workers(db) as served:
        pids = workers(served)
        served.process.kill()
        until(lambda: not pids & processes().keys())
        with pytest.raises(httpx.ConnectError):
            get(served)


def test_a_worker_that_cannot_start_reports_why_and_ends(tmp_path, monkeypatch, caplog):
    (tmp_path / "notes.txt").write_text("not a database" * 100)
    settings = json.dumps([str(tmp_path / "notes.txt"), None, True, None])
    monkeypatch.setenv("SVC_TOOLS_WORKER", settings)
    monkeypatch.setattr(serving, "log_to_stderr", lambda: None)
    with pytest.raises(SystemExit) as ended:
        serving.worker_app()
    assert ended.value.code == 1
    assert "A worker cannot start" in caplog.text
    assert "notes.txt cannot be used as the database" in caplog.text
