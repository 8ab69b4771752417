"""The log of `svc-tools serve`: every error once, with its request id, and nothing private."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager

import httpx
import pytest

from svc_tools.service.faults import FaultPlan

KEY = "svc_the-key-of-this-run"
STREET = "1100 Congress Ave"
LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} (INFO|WARNING) (.+): (.+) \[(req_\w+)\]")
PLACE = {"zip": "07030"}


@contextmanager
def program(db, *options, **environment):
    """`svc-tools serve`, once it listens."""
    command = [sys.executable, "-W", "error", "-m", "svc_tools", "serve", "--port", "0"]
    command += ["--db", str(db), "--api-key", KEY, *options]
    with (
        # a pipe that nobody reads would stop the service once it is full
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, **environment},
        ) as process,
    ):
        try:
            said = []
            for line in process.stdout:
                said.append(line)
                if line.startswith("Stop with"):
                    break
            url = re.search(r"http://\S+", said[0])[0]
            headers = {"X-API-Key": KEY}
            with httpx.Client(base_url=url, headers=headers, trust_env=False) as client:
                yield Program(client, process, "".join(said), log)
        finally:
            process.kill()


class Program:
    def __init__(self, client, process, said, written):
        self.client = client
        self.written = written
        self.process = process
        self.said = said

    def log(self):
        """Stop it, and give all it has logged."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=30)
        self.written.seek(0)
        return self.written.read()


@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
def test_each_error_is_logged_once_and_nothing_private_is(db):
    with program(db) as served:
        client = served.client
        answers = [
            client.get("/v1/tax/TX", params={"address": f"{STREET}, Austin, XX"}),
            client.get("/v1/tax/NJ", params={"zip": "99999"}),
            client.get(f"/v1/tax/{STREET}"),
            client.get(f"/v1/{KEY}"),
            client.get("/v1/freshness", headers={"X-API-Key": "svc_somebody-else"}),
            client.get("/v1/tax/TX", params={"location": [STREET, STREET]}),
            client.post("/v1/portability/nexus", json={"state": "TX", "adress": STREET}),
            client.post("/v1/portability/nexus", json={"state": STREET}),
            client.get("/healthz", headers={"Host": "evil.example"}),
            client.put("/healthz"),
            client.get("/v1/freshness", headers={"X-Padding": STREET * 2000}),
        ]
        good = [
            client.get("/v1/tax/NJ", params=PLACE),
            client.get("/v1/tax/TX", params={"address": f"{STREET}, Austin, TX 78701"}),
            client.post("/v1/portability/nexus", json={"state": "TX", "address": STREET}),
        ]
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address, timeout=10) as connection:
            connection.sendall(f"{STREET} {KEY}\r\n\r\n".encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 400")
        log = served.log()
    statuses = [answer.status_code for answer in answers]
    assert statuses == [404, 404, 400, 404, 401, 400, 422, 400, 403, 405, 400]
    assert [answer.status_code for answer in good] == [200, 200, 200]
    logged = [LINE.fullmatch(line).groups() for line in log.splitlines()]
    ids = [answer.headers["x-request-id"] for answer in answers]
    assert [line[3] for line in logged] == ids
    told = [line[2].split(" ")[0] for line in logged]
    assert told == list(map(str, statuses))
    assert {line[0] for line in logged} == {"INFO"}
    for private in (KEY, "svc_somebody-else", "Congress", "Austin", "99999", "evil.example"):
        assert private not in log
    assert logged[0][1:3] == ("GET /v1/tax/TX", "404 NOT_FOUND")
    assert logged[3][1] == "GET (another address)"


@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
def test_faults_on_purpose_are_said_at_the_start_and_each_in_the_log(db):
    plan = FaultPlan.read("503:30%,hang:20%,reset:20%", seed=7)
    with program(db, "--faults", plan.text, "--seed", "7") as served:
        assert f"Faults on purpose: {plan.text} (seed 7)" in served.said
        failed, ids = [], []
        for _ in range(12):
            try:
                response = served.client.get("/v1/tax/NJ", params=PLACE, timeout=1.0)
                failed.append(response.headers.get("x-fault"))
                ids.append(response.headers["x-request-id"])
            except httpx.ReadTimeout:
                failed.append("hang")
            except httpx.RemoteProtocolError:
                failed.append("reset")
        log = served.log()
    assert failed == [plan.fault(number) for number in range(12)]
    assert set(failed) == {None, "503", "hang", "reset"}
    meant = re.findall(r"fault (\S+), on purpose", log)
    assert meant == [kind for kind in failed if kind]
    assert max(log.count(one) for one in ids) == 1  # a line each, not one more for its status
    assert "Traceback" not in log


@pytest.mark.skipif(os.name != "posix", reason="sends POSIX signals")
def test_a_request_that_hangs_on_purpose_does_not_hold_up_the_end(db):
    with program(db, "--faults", "hang:100%") as served:
        address = (served.client.base_url.host, served.client.base_url.port)
        head = f"GET /v1/freshness HTTP/1.1\r\nHost: localhost\r\nX-API-Key: {KEY}\r\n\r\n"
        with socket.create_connection(address, timeout=10) as connection:
            connection.sendall(head.encode())
            served.client.get("/healthz")
            log = served.log()
            assert connection.recv(65536).startswith(b"HTTP/1.1 503")
    assert "fault hang, on purpose" in log
    assert "Traceback" not in log


def test_a_plan_of_faults_that_cannot_be_read_is_a_clear_error(db):
    command = [sys.executable, "-m", "svc_tools", "serve", "--db", str(db), "--faults", "429:5"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 2
    assert "given '429:5', expected a kind, a colon and a percentage" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not db.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="says where the user's data is as Linux does")
def test_a_broken_book_at_the_start_is_said_and_needs_no_restart_to_be_mended(db, tmp_path):
    own = tmp_path / "svc-tools" / "book.db"
    own.parent.mkdir()
    own.write_bytes(b"this is no database" * 200)
    with program(db, XDG_DATA_HOME=str(tmp_path)) as served:
        assert "(rate book unreadable: lookups are 503 until it can be read)" in served.said
        assert served.client.get("/healthz").status_code == 503
        broken = served.client.get("/v1/tax/NJ", params=PLACE)
        assert (broken.status_code, broken.headers["retry-after"]) == (503, "5")
        own.unlink()
        deadline = time.monotonic() + 30
        while served.client.get("/healthz").status_code != 200:
            assert time.monotonic() < deadline
        assert served.client.get("/v1/tax/NJ", params=PLACE).status_code == 200
        log = served.log()
    assert "The rate book cannot be read; lookups are 503 meanwhile: " in log
    assert str(own) in log
    assert "The rate book can be read again" in log
