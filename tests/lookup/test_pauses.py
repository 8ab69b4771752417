"""Pauses that the service asks for: kept, said, and ended by a Ctrl+C or a deadline."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import Counter

import pytest
from support.faults import answer, echo

from svc_sdk import Svc
from svc_tools.lookup import look_up
from svc_tools.lookup.pace import rate_limit
from svc_tools.places import Place

KEY = "test-key-0123456789abcdef"


def places(count):
    return [Place("TX", "zip", zip=f"{78000 + number}") for number in range(count)]


def statuses(run):
    return Counter(outcome.status for outcome in run.outcomes.values())


def limited(after):
    return answer(429, b'{"error": {"code": "RATE_LIMITED"}}', retry_after=after)


@pytest.fixture
def client(faults):
    with Svc(KEY, base_url=faults.base_url) as client:
        yield client


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_long_pause_is_said_and_a_ctrl_c_ends_it_at_once(client, faults, caplog):
    faults.will(*[echo] * 5, limited("3600"))
    done = threading.Event()

    def interrupt():
        while "pause of 3,600 s" not in caplog.text and not done.wait(0.01):
            pass
        os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    began = time.monotonic()
    try:
        run = look_up(client, places(30), concurrency=1)
    finally:
        done.set()
        watcher.join()
    assert time.monotonic() - began < 20
    assert run.stopped == "interrupted"
    assert statuses(run) == {"ok": 5, "not_attempted": 25}
    (record,) = caplog.records
    assert record.levelname == "WARNING"  # what Python shows where nobody has set logging up
    assert "goes on at 20" in record.message
    assert "Ctrl+C keeps what was found" in record.message


def test_a_pause_beyond_the_deadline_ends_the_run_at_once(client, faults):
    faults.will(*[echo] * 5, limited("3600"), echo)
    began = time.monotonic()
    run = look_up(client, places(30), concurrency=1, deadline=600)
    assert time.monotonic() - began < 20
    assert run.stopped == ("the service asks for a pause of 3,600 s, which is beyond the deadline")
    assert statuses(run) == {"ok": 5, "not_attempted": 25}


@pytest.mark.parametrize("after", ["-5", "NaN", "inf", "1e9", "soon", "5, 7", ""])
def test_a_delay_that_cannot_be_read_is_the_usual_one(client, faults, after, caplog):
    faults.will(echo, limited(after), echo)
    run = look_up(client, places(5), concurrency=1)
    assert statuses(run) == {"ok": 5}
    assert run.requests == 6
    assert caplog.text == ""


def test_a_date_that_is_over_is_no_pause(client, faults):
    faults.will(echo, limited("Wed, 21 Oct 2015 07:28:00 GMT"), echo)
    run = look_up(client, places(5), concurrency=1)
    assert (statuses(run), run.waited) == ({"ok": 5}, 0.0)


def test_where_the_last_request_of_a_limit_is_used_the_next_waits_for_its_share(client, faults):
    def last(seen):
        told = b"RateLimit-Limit: 60\r\nRateLimit-Remaining: 0\r\nRateLimit-Reset: 12\r\n\r\n"
        return echo(seen).replace(b"\r\n\r\n", b"\r\n" + told, 1)

    faults.will(echo, last, echo)
    run = look_up(client, places(5), concurrency=1)
    assert statuses(run) == {"ok": 5}
    assert 0.15 < run.waited < 0.3  # a sixtieth of twelve seconds: no 429 had to be met
    assert run.requests == 5


@pytest.mark.parametrize(
    ("left", "limit", "reset", "told"),
    [
        ("0", "60", "60", (0, 1.0)),
        ("50", "60", "10", (50, 1.0)),
        ("60", "60", "0", (60, 0.0)),
        ("0", "0", "3", (0, 3.0)),
        ("0", "60", "1780000000", None),  # the time of a clock, not seconds
        ("0", "60", "-1", None),
        ("0", "60;w=60", "60", None),
        ("", "", "", None),
    ],
)
def test_what_a_limit_says_of_the_next_request(left, limit, reset, told):
    names = ("ratelimit-remaining", "ratelimit-limit", "ratelimit-reset")
    assert rate_limit(dict(zip(names, (left, limit, reset), strict=True))) == told


def test_a_service_with_a_limit_is_asked_as_fast_as_it_lets_in(client, faults):
    """A bucket of ten, and one more every twentieth of a second; 429 where it is empty."""
    clock = time.monotonic
    bucket = {"tokens": 10.0, "at": clock(), "refused": 0}
    lock = threading.Lock()

    def limiting(seen):
        with lock:
            now = clock()
            bucket["tokens"] = min(10.0, bucket["tokens"] + (now - bucket["at"]) * 20)
            bucket["at"] = now
            if bucket["tokens"] < 1:
                bucket["refused"] += 1
                return limited("1")
            bucket["tokens"] -= 1
            left = int(bucket["tokens"])
        # seconds are whole on the wire: this bucket says it of 200 requests in ten of them
        told = b"RateLimit-Limit: %d\r\nRateLimit-Remaining: %d\r\nRateLimit-Reset: %d\r\n\r\n"
        return echo(seen).replace(b"\r\n\r\n", b"\r\n" + told % (200 + left, left, 10), 1)

    faults.will(limiting)
    run = look_up(client, places(60))
    assert statuses(run) == {"ok": 60}
    assert bucket["refused"] <= 12  # those under way when it was first empty; without pacing 50
