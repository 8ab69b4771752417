"""`admin.serve`: the service as a program, in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import httpx
import pytest

from svc_tools.service import admin
from svc_tools.service.database import Database
from svc_tools.service.errors import StoreError
from svc_tools.service.keys import KeyStore

PROGRAM = """
import sys
from pathlib import Path
from svc_tools.service import admin
host, port, db, key = sys.argv[1:]
admin.serve(host, int(port), Path(db), key or None, lambda line: print(line, flush=True))
print("ended", flush=True)
"""
EVERYWHERE = "0.0.0.0"  # noqa: S104 - to see what is said about it
stops = pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")


@contextmanager
def serving(db, *, host="127.0.0.1", key=""):
    """The program, once it listens: the process and the lines that it has printed."""
    command = [sys.executable, "-W", "error", "-c", PROGRAM, host, "0", str(db), key]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:
        try:
            lines = []
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                if line.startswith("Stop with"):
                    break
            else:
                pytest.fail(process.stderr.read())
            yield process, lines
        finally:
            process.kill()


def value_of(lines, label):
    (line,) = [line for line in lines if line.startswith(label)]
    return line.removeprefix(label)


def url_of(lines):
    return value_of(lines, "Serving on ").split()[0]


def status(url, key):
    headers = {"X-API-Key": key}
    return httpx.get(f"{url}/v1/freshness", headers=headers, trust_env=False).status_code


@stops
def test_the_first_start_shows_the_key_once_and_it_lasts(db):
    with serving(db) as (process, lines):
        url = url_of(lines)
        assert url.startswith("http://127.0.0.1:")
        assert value_of(lines, "Database: ") == str(db)
        key = value_of(lines, "API key: ")
        assert status(url, key) == 200
        assert status(url, "wrong") == 401
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out) == (0, "ended\n")
        (line,) = err.splitlines()  # that somebody came with a wrong key
        assert "GET /v1/freshness: 401 UNAUTHORIZED [req_" in line
    with serving(db) as (process, lines):
        assert not any(key in line for line in lines)
        assert "the one shown when this database was made" in value_of(lines, "API key: ")
        assert status(url_of(lines), key) == 200
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        assert (process.returncode, err) == (-signal.SIGTERM, "")
    assert key.encode() not in db.read_bytes()


def test_a_key_of_one_s_own_is_valid_for_the_run_and_not_stored(run, db):
    embedded = run()
    with serving(db, key="my own key") as (_, lines):
        assert [line.split(" ")[0] for line in lines] == ["Serving", "Database:", "Stop"]
        assert status(url_of(lines), "my own key") == 200
        assert status(url_of(lines), "another") == 401
        nexus = f"{url_of(lines)}/v1/portability/nexus"
        headers = {"X-API-Key": "my own key"}
        httpx.post(nexus, json={"state": "TX"}, headers=headers, trust_env=False)
        # both serve the local account, so its records are in both
        assert embedded.client.get("/v1/portability/nexus").json()["count"] == 1
    assert not KeyStore(Database(db)).any()
    assert b"my own key" not in db.read_bytes()


def test_listening_for_other_machines_warns(db):
    with serving(db, host=EVERYWHERE, key="k") as (_, lines):
        warning = value_of(lines, "Warning: ")
        assert EVERYWHERE in warning
        assert "unencrypted" in warning
        headers = {"X-API-Key": "k", "Host": "rates.example"}
        url = url_of(lines).replace(EVERYWHERE, "127.0.0.1")
        assert httpx.get(f"{url}/v1/freshness", headers=headers, trust_env=False).is_success


def refuse(_line):
    pytest.fail("nothing is said before the service listens")


def test_a_port_in_use_is_a_clear_error_and_makes_no_key(db):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(admin.StartError, match=f"Port {port} on 127.0.0.1 is in use"):
            admin.serve("127.0.0.1", port, db, None, refuse)
    assert not db.exists()


@pytest.mark.parametrize(
    ("host", "port", "said"),
    [
        ("no such host", 0, "not known"),
        ("192.0.2.1", 0, "Cannot listen on 192.0.2.1"),
        ("127.0.0.1", 70_000, "port 70000"),
        ("127.0.0.1", -1, "port -1"),
    ],
)
def test_an_address_that_cannot_be_listened_on_is_a_clear_error(db, host, port, said):
    with pytest.raises(admin.StartError, match=said):
        admin.serve(host, port, db, None, refuse)


def test_a_broken_terminal_stops_it_and_makes_no_key(db):
    def echo(line):
        if line.startswith("API key"):
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        admin.serve("127.0.0.1", 0, db, None, echo)
    assert not KeyStore(Database(db)).any()


def test_an_empty_key_is_a_clear_error(db):
    with pytest.raises(admin.StartError, match="API key is empty"):
        admin.serve("127.0.0.1", 0, db, "", refuse)


def test_a_database_that_cannot_be_used_is_a_clear_error(tmp_path):
    with pytest.raises(StoreError, match="cannot be used"):
        admin.serve("127.0.0.1", 0, tmp_path, None, refuse)
