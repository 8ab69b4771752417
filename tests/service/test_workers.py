"""Several workers behind one socket: what they share, and how they end."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from support.api_keys import make_key

from svc_tools.service import admin
from svc_tools.service import serving as serving_module
from svc_tools.service.database import Database
from svc_tools.service.keys import KeyStore
from svc_tools.service.store import LimitStore, month_of

PS = shutil.which("ps")
pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="workers share a POSIX socket"),
    pytest.mark.skipif(PS is None, reason="ps is missing: apt-get install procps"),
]

# loading the certificates for each request would be most of a test's time
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
TAX = "/v1/tax/NJ?zip=07030"
FRESHNESS = "/v1/freshness"
NEXUS = "/v1/portability/nexus"


def processes():
    """Those that run: the id of each, with that of its parent, and its command line."""
    command = [PS, "-Awwo", "pid=,ppid=,stat=,args="]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=3) for line in told.splitlines()]
    return {int(row[0]): (int(row[1]), row[-1]) for row in rows if not row[2].startswith("Z")}


class Served:
    """The program with its workers, and its address."""

    def __init__(self, process, url, lines, errors):
        self.process = process
        self.url = url
        self.lines = lines
        self.errors = errors

    def workers(self):
        """The ids of the processes that serve: not of the one that cleans up after them."""
        return {
            pid
            for pid, (parent, words) in processes().items()
            if parent == self.process.pid and "spawn_main" in words
        }

    def get(self, path, headers=None, method="GET", **options):
        # a connection of its own each time: any worker may take it
        headers = {"Connection": "close"} | (headers or {})
        options |= {"headers": headers, "trust_env": False, "verify": NO_TLS, "timeout": 60}
        return httpx.request(method, self.url + path, **options)

    def ended(self):
        """Its exit code, and what it wrote to stderr until it ended."""
        self.process.communicate(timeout=60)
        return self.process.returncode, self.errors.read_text()


@contextmanager
def serving(db, *options):
    # without -W error: uvicorn's supervisor does not close its copies of the socket
    command = [sys.executable, "-m", "svc_tools", "serve", "--port", "0"]
    command += ["--db", str(db), "--workers", "2", *options]
    with started(command) as (process, errors):
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Stop with"):
                break
        else:
            pytest.fail(errors.read_text())
        url = re.search(r"http://[0-9.:]+", lines[0])[0]
        yield Served(process, url, lines, errors)


@contextmanager
def started(command, **pipes):
    """A process, killed with its children at the end, and the file of its stderr.

    The log is a file because a pipe that nobody reads fills up and stops the service.
    """
    with tempfile.TemporaryDirectory() as folder:
        errors = Path(folder) / "stderr"
        with (
            errors.open("w") as stderr,
            subprocess.Popen(
                command,
                start_new_session=True,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                **pipes,
            ) as process,
        ):
            try:
                yield process, errors
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def until(wanted, seconds=30.0):
    """Look again and again until it is so; what was found."""
    ends = time.monotonic() + seconds
    while not (found := wanted()):
        assert time.monotonic() < ends, f"not within {seconds} seconds"
        time.sleep(0.05)
    return found


def alive(pids):
    return pids & processes().keys()


def test_two_workers_admit_exactly_the_quota_of_a_key(database_url):
    with serving(database_url) as served:
        assert "2 workers" in served.lines[0]
        until(lambda: len(served.workers()) == 2)
        keys = KeyStore(Database(database_url))
        row, headers = make_key(keys, monthly_quota=50)
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda _: served.get(TAX, headers), range(200)))
        statuses = [answer.status_code for answer in answers]
        assert (statuses.count(200), statuses.count(429)) == (50, 150)
        codes = {answer.json()["error"]["code"] for answer in answers if answer.is_client_error}
        assert codes == {"QUOTA_EXCEEDED"}
        served.process.send_signal(signal.SIGINT)
        assert served.ended()[0] == 0
        used = LimitStore(keys.database)
        month = month_of(datetime.now(UTC)).name
        assert used.uses(month) == {row.id: 50}
        keys.database.close()


def test_workers_share_keys_records_and_what_is_revoked(db):
    with serving(db) as served:
        keys = KeyStore(Database(db))
        row, headers = make_key(keys)
        for number in range(8):  # whichever worker takes it
            answer = served.get(NEXUS, headers, "POST", json={"state": "TX", "notes": str(number)})
            assert answer.json()["notes"] == str(number)
        for _ in range(8):
            assert served.get(NEXUS, headers).json()["nexus"][0]["notes"] == "7"
        started = time.monotonic()
        keys.revoke(row.id)

        def refused_everywhere():
            return all(served.get(FRESHNESS, headers).status_code == 401 for _ in range(12))

        until(refused_everywhere)
        assert time.monotonic() - started < 5.0


def both_serve(served):
    """The ids of the workers once both answer."""
    workers = until(lambda: len(found := served.workers()) == 2 and found)
    for _ in range(8):
        assert served.get(FRESHNESS, {"X-API-Key": "k"}).status_code == 200
    return workers


def test_a_worker_that_dies_is_replaced_and_the_port_stays_open(db):
    with serving(db, "--api-key", "k") as served:
        before = both_serve(served)
        os.kill(min(before), signal.SIGKILL)
        until(lambda: (now := served.workers()) != before and len(now) == 2)
        after = both_serve(served)
        assert max(before) in after
        served.process.send_signal(signal.SIGTERM)
        assert served.ended() == (0, "")
        assert not alive(after)


def test_ctrl_c_ends_all_and_says_nothing(db):
    with serving(db, "--api-key", "k") as served:
        workers = both_serve(served)
        os.killpg(served.process.pid, signal.SIGINT)  # as a terminal sends it: to the whole group
        assert served.ended() == (0, "")
        assert not alive(workers)


def test_no_orphan_survives_a_parent_that_is_killed(db):
    with serving(db, "--api-key", "k") as served:
        workers = both_serve(served)
        served.process.kill()
        until(lambda: not alive(workers))
        with pytest.raises(httpx.ConnectError):
            served.get(FRESHNESS)


def test_the_key_of_the_run_is_valid_at_every_worker_and_in_no_list_of_processes(db):
    command = [sys.executable, "-m", "svc_tools", "serve", "--port", "0", "--db", str(db)]
    command += ["--workers", "2", "--api-key", "-"]
    with started(command, stdin=subprocess.PIPE) as (process, errors):
        process.stdin.write("a key of my own\n")
        process.stdin.close()
        process.stdin = None
        lines = [next(process.stdout)]
        served = Served(process, re.search(r"http://[0-9.:]+", lines[0])[0], lines, errors)
        until(lambda: len(served.workers()) == 2)
        for _ in range(8):
            response = served.get(FRESHNESS, {"X-API-Key": "a key of my own"})
            assert response.status_code == 200
        running = processes()
        for pid in (process.pid, *served.workers()):
            assert "my own" not in running[pid][1]


def refuse(_line):
    pytest.fail("nothing is said before the service listens")


@pytest.mark.parametrize("workers", [0, -1, 65])
def test_a_number_of_workers_that_makes_no_sense_is_a_clear_error(db, workers):
    with pytest.raises(admin.StartError, match=f"--workers is {workers}; expected 1 to 64"):
        admin.serve("127.0.0.1", 0, db, None, refuse, workers=workers)


def test_a_worker_that_cannot_start_says_why_and_ends(tmp_path, monkeypatch, caplog):
    (tmp_path / "notes.txt").write_text("not a database" * 100)
    settings = json.dumps([str(tmp_path / "notes.txt"), None, True, None])
    monkeypatch.setenv("SVC_TOOLS_WORKER", settings)
    monkeypatch.setattr(serving_module, "log_to_stderr", lambda: None)
    with pytest.raises(SystemExit) as ended:
        serving_module.worker_app()
    assert ended.value.code == 1
    assert "A worker cannot start" in caplog.text
    assert "notes.txt cannot be used as the database" in caplog.text
