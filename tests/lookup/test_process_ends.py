"""Programs that end, or are interrupted, in the middle of a run: real processes, real signals."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections import Counter
from itertools import islice

import pytest
from support.counting import counting
from support.faults import KEY

from svc_sdk import Svc
from svc_tools.lookup import lookup_many

PLACES = 3_000
START = """
import asyncio, sys, threading
from collections import Counter
import svc_tools
from svc_sdk import Svc
client = Svc(sys.argv[2], base_url=sys.argv[1])
rows = [{"state": "TX", "zip": f"{10_000 + number}"} for number in range(int(sys.argv[4]))]
cache = sys.argv[3]
def many():
    return svc_tools.lookup_many(rows, client=client, cache=cache)
"""
FRAME = """
import pandas as pd
import svc_tools.frames.enrich as module
from svc_tools.progress import NoProgress
class Bar(NoProgress):
    count = 0
    def advance(self, count=1):
        if self.count < 20 <= self.count + count: print("now", flush=True)
        self.count += count
module.Bar = Bar
frame = pd.DataFrame(rows)
def look():
    done = frame.svc.lookup(client=client, cache=cache)
    print(dict(done["lookup_status"].value_counts()), done.attrs["svc_lookup"]["stopped"])
"""
AWAITING = """
async def main():
    number = 0
    async for _ in svc_tools.alookup_many(rows, client=client, cache=cache):
        number += 1
        if number == 20: print("now", flush=True)
asyncio.run(main())
"""
LEFT = "taken = many()\nfor _ in range(100): next(taken)\n"


@contextlib.contextmanager
def started(url, cache, body, count=PLACES):
    command = [sys.executable, "-X", "dev", "-c", START + body, url, KEY, str(cache), str(count)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process


def rest(url, cache):
    """What a second run is told: how many answers were kept."""
    rows = [{"state": "TX", "zip": f"{10_000 + number}"} for number in range(PLACES)]
    with Svc(KEY, base_url=url) as client:
        outcomes = [one for _, one in lookup_many(rows, client=client, cache=cache, concurrency=64)]
    assert Counter(one.status for one in outcomes) == {"ok": PLACES}
    return sum(one.cached for one in outcomes)


def noise(errors):
    """Lines that a person would take for a fault; asyncio tells of slow steps under `-X dev`."""
    return [line for line in errors.splitlines() if not line.startswith(("Executing <", "svc: "))]


@pytest.mark.parametrize(
    "ending",
    [
        "",
        "sys.exit(0)",
        "import builtins\nbuiltins.kept = taken",
        "kept = [taken]\nkept.append(kept)",
    ],
)
def test_a_program_that_leaves_a_run_half_done_ends_quietly_and_keeps_it(tmp_path, ending):
    cache = tmp_path / "answers.db"
    with counting({"slow": 1.0}) as (url, counts):
        with started(url, cache, LEFT + ending) as process:
            _, errors = process.communicate(timeout=60)
        answered = len(counts()["answered"])
        assert (process.returncode, noise(errors)) == (0, [])
        kept = rest(url, cache)
    assert kept >= 100
    assert answered - kept <= 16  # at most what was under way


def test_a_thread_that_outlives_the_main_thread_gets_all_its_answers(tmp_path):
    body = """
begun = threading.Event()
def work():
    count = 0
    for _ in many():
        count += 1
        begun.set()
    print(count)
threading.Thread(target=work).start()
begun.wait()
"""
    with (
        counting({}) as (url, counts),
        started(url, tmp_path / "answers.db", body, 1000) as process,
    ):
        output, errors = process.communicate(timeout=60)
        assert (output, noise(errors)) == ("1000\n", [])
        assert len(counts()["answered"]) == 1000


def test_an_asynchronous_run_that_is_left_ends_quietly(tmp_path):
    body = """
async def main():
    async for _ in svc_tools.alookup_many(rows, client=client, cache=cache):
        break
asyncio.run(main())
"""
    with counting({"slow": 1.0}) as (url, _), started(url, tmp_path / "a.db", body) as process:
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, noise(errors)) == (0, [])


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(
    "call",
    [
        "look()",
        # as the cell of a notebook: the loop of the main thread runs already
        "async def cell(): look()\nasyncio.new_event_loop().run_until_complete(cell())",
    ],
)
@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_returns_the_frame_with_what_was_found(tmp_path, call, signals):
    cache = tmp_path / "answers.db"
    with counting({"slow": 1.0}) as (url, counts):
        with started(url, cache, FRAME + call) as process:
            assert process.stdout.readline() == "now\n"
            for _ in range(signals):
                process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        answered = len(counts()["answered"])
        assert "interrupted" in output, errors
        assert "Traceback" not in errors
        kept = rest(url, cache)
        told = counts()
    assert f"'ok': {kept}" in output.replace("np.int64(", "").replace(")", "")
    assert kept >= 20
    assert answered - kept <= 16
    # asked again was only what was lost on its way
    assert sum(told["asked_again"].values()) == answered - kept
    assert len(told["answered"]) == PLACES


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize(
    "body",
    [
        "for number, _ in enumerate(many()):\n    if number == 20: print('now', flush=True)\n",
        AWAITING,
    ],
)
def test_ctrl_c_in_a_loop_over_answers_reaches_the_loop_and_keeps_them(tmp_path, body):
    cache = tmp_path / "answers.db"
    with counting({"slow": 1.0}) as (url, counts):
        with started(url, cache, body) as process:
            assert process.stdout.readline() == "now\n"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        answered = len(counts()["answered"])
        assert errors.rstrip().endswith("KeyboardInterrupt")
        assert "never retrieved" not in errors
        kept = rest(url, cache)
    assert kept >= 20
    assert answered - kept <= 16


def test_what_came_before_an_error_of_the_source_is_given_out_first():
    def broken():
        yield from ({"state": "TX", "zip": f"{10_000 + number}"} for number in range(50))
        raise LookupError("row 51 cannot be read")

    with counting({"slow": 1.0}) as (url, _), Svc(KEY, base_url=url) as client:
        stream = lookup_many(broken(), client=client)
        assert Counter(one.status for _, one in islice(stream, 50)) == {"ok": 50}
        with pytest.raises(LookupError, match="row 51"):
            next(stream)
