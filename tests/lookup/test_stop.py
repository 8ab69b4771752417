"""A run that is stopped, killed or meets every fault: what was found is stored, not repeated."""

from __future__ import annotations

import contextlib
import itertools
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import pytest
from support.answers import places, statuses
from support.counting import counting
from support.examples import spread
from support.faults import HANG, KEY, answer, echo, echoing
from support.systems import posix
from support.waiting import Steps

from svc_sdk import Svc
from svc_tools.config import source_of
from svc_tools.frames import enrich_file
from svc_tools.lookup import look_up, many
from svc_tools.lookup.cache import Cache, opened_cache
from svc_tools.lookup.outcomes import STOPPED
from svc_tools.tables.places import Place


@pytest.fixture
def cache(tmp_path):
    with opened_cache(tmp_path / "answers.db") as opened:
        yield opened


@pytest.fixture
def stop():
    return threading.Event()


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr("svc_tools.tables.tabular._BLOCK_BYTES", 512)


def after(count, stop):
    """Sets the event once so many outcomes came."""
    seen = []

    def see():
        seen.append(1)
        if len(seen) == count:
            stop.set()

    return Steps(see)


def test_a_stop_keeps_what_was_found_and_the_rest_is_asked_for_next_time(
    scripted, faults, cache, stop, monkeypatch
):
    monkeypatch.setattr(many, "GRACE", 20.0)  # a busy machine takes its time
    run = look_up(scripted, places(2000), cache=cache, progress=after(10, stop), stop=stop)
    found = statuses(run)
    assert run.stopped == STOPPED
    assert found["ok"] == len(faults.seen) >= 10  # answers on their way count too
    assert found["not_attempted"] == 2000 - found["ok"] > 1000
    assert {o.error for o in run.outcomes.values() if o.status == "not_attempted"} == {STOPPED}
    again = look_up(scripted, places(2000), cache=cache, stop=threading.Event())
    assert (again.stopped, again.cached, again.asked) == (None, found["ok"], 2000 - found["ok"])
    assert len({request.target for request in faults.seen}) == len(faults.seen) == 2000


@pytest.mark.parametrize(
    "service", [[HANG], [answer(429, b"{}", retry_after="50"), HANG]], ids=["hangs", "pauses"]
)
def test_a_stop_does_not_wait_for_a_service_that_lets_one_wait(faults, stop, service):
    faults.will(*service)

    def stop_once_asked():
        faults.asked.wait(30)
        stop.set()

    thread = threading.Thread(target=stop_once_asked)
    thread.start()
    began = time.monotonic()
    with Svc(KEY, base_url=faults.base_url, max_retries=1) as client:
        run = look_up(client, places(50), stop=stop)
    thread.join()
    assert run.stopped == STOPPED
    assert statuses(run) == {"not_attempted": 50}
    assert time.monotonic() - began < 9  # a request alone would take ten seconds


def test_a_run_that_is_stopped_before_it_begins_sends_nothing(
    scripted, faults, cache, stop, monkeypatch
):
    look_up(scripted, places(3), cache=cache)
    stop.set()
    monkeypatch.setattr(many._loop, "submit", lambda _: pytest.fail("it was begun"))
    run = look_up(scripted, places(5), cache=cache, stop=stop)
    assert (run.stopped, run.requests, len(faults.seen)) == (STOPPED, 0, 3)
    assert statuses(run) == {"ok": 3, "not_attempted": 2}  # what is known is known
    assert look_up(scripted, places(3), cache=cache, stop=stop).stopped is None  # it is whole


# files


def csv_of(folder, rows=400):
    path = folder / "orders.csv"
    path.write_text("zip,state\n" + "".join(f"{78000 + row},TX\n" for row in range(rows)))
    return path


def enriched(tmp_path, scripted, cache, **more):
    return enrich_file(csv_of(tmp_path), tmp_path / "out.csv", client=scripted, cache=cache, **more)


def test_a_file_that_is_stopped_while_asking_leaves_what_was_found(
    scripted, faults, tmp_path, cache, stop
):
    number = itertools.count(1)

    def answers_some_before_the_stop(seen):
        if next(number) > 100:
            stop.wait(60)
        return echo(seen)

    faults.will(answers_some_before_the_stop)
    run = enriched(tmp_path, scripted, cache, progress=Steps(stop.set, "Looking up"), stop=stop)
    found = run.totals.statuses["ok"]
    assert (run.stopped, run.interrupted, run.resumable) == (STOPPED, True, True)
    assert run.written == tmp_path / "out-incomplete.csv"
    assert 0 < found == len(faults.seen) < 400
    assert run.totals.statuses["not_attempted"] == 400 - found
    assert not (tmp_path / "out.csv").exists()
    again = enriched(tmp_path, scripted, cache, stop=threading.Event())
    assert (again.stopped, again.cached, again.totals.statuses) == (None, found, {"ok": 400})
    assert len(faults.seen) == 400


@pytest.mark.parametrize(("stage", "asked"), [("Reading", 0), ("Writing", 400)])
def test_a_file_that_is_stopped_while_read_or_written_writes_nothing(  # noqa: PLR0917 - fixtures
    scripted, faults, tmp_path, cache, stop, stage, asked, small_chunks
):
    (tmp_path / "out.csv").write_text("of last month\n")
    run = enriched(
        tmp_path, scripted, cache, progress=Steps(stop.set, stage), stop=stop, force=True
    )
    assert (run.stopped, run.written, run.totals.rows) == (STOPPED, None, 0)
    assert len(faults.seen) == asked
    assert (tmp_path / "out.csv").read_text() == "of last month\n"
    assert {path.name for path in tmp_path.glob("*.csv")} == {"orders.csv", "out.csv"}
    assert not list(tmp_path.glob(".out-*"))  # no draft is left behind
    again = enriched(tmp_path, scripted, cache, force=True)
    assert (again.cached, again.totals.statuses) == (asked, {"ok": 400})


def test_a_file_that_is_stopped_before_its_dates_and_amounts_are_decided_writes_nothing(
    scripted, faults, tmp_path, cache, stop
):
    amounts = [f"{100 + day}.00,{(100 + day) * 0.0825 / 1.0825:.2f}" for day in range(9)]
    rows = [f"TX,78701,0{1 + day}/14/2026,{amounts[day]}" for day in range(9)]
    source = tmp_path / "a.csv"
    source.write_text("\n".join(["State,Zip,Order Date,Order Amount,Sales Tax", *rows]))
    stop.set()
    run = enrich_file(source, tmp_path / "out.csv", tax={}, client=scripted, cache=cache, stop=stop)
    assert (run.stopped, run.written, run.totals.rows) == (STOPPED, None, 0)
    assert not faults.seen


PLACES = 3_000
START = """
import asyncio, sys, threading
from collections import Counter
import svc_tools
from svc_sdk import Svc
from svc_tools.lookup import pace
pace._HANGS = 60  # on a busy machine a response that is late does not make room for more requests
client = Svc(sys.argv[2], base_url=sys.argv[1])
rows = [{"state": "TX", "zip": f"{10_000 + number}"} for number in range(int(sys.argv[4]))]
cache = sys.argv[3]
def many():
    return svc_tools.lookup_many(rows, client=client, cache=cache)
"""
FRAME = """
import pandas as pd
import svc_tools.frames.lookup.enrich as module
from svc_tools.show.meters import NoProgress
class Bar(NoProgress):
    count = 0
    def advance(self, count=1):
        if self.count < 20 <= self.count + count: print("now", flush=True)
        self.count += count
module.Bar = Bar
frame = pd.DataFrame(rows)
def look():
    done = frame.svc.lookup(client=client, cache=cache)
    print(dict(done["lookup_status"].value_counts()), done.attrs["svc"]["lookups"][""]["stopped"])
"""
AWAITING = """
async def main():
    number = 0
    async for _ in svc_tools.alookup_many(rows, client=client, cache=cache):
        number += 1
        if number == 20: print("now", flush=True)
asyncio.run(main())
"""
LEFT_ASYNC = AWAITING.replace('if number == 20: print("now", flush=True)', "break")
LEFT = "taken = many()\nfor _ in range(100): next(taken)\n"


@contextlib.contextmanager
def started(url, cache, body, count=PLACES):
    command = [sys.executable, "-X", "dev", "-c", START + body, url, KEY, str(cache), str(count)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        yield process


def all_places(count=PLACES):
    return [Place("TX", "zip", zip=f"{10_000 + number}") for number in range(count)]


def kept(url, cache):
    """How many results are in the cache."""
    with Svc(KEY, base_url=url) as client:
        return len(Cache(cache).known(source_of(client), all_places(), detail=False))


def rest(url, cache):
    """How many results a second run takes from the cache; it requests the others."""
    with Svc(KEY, base_url=url) as client:
        run = look_up(client, all_places(), cache=Cache(cache), concurrency=256)
    assert statuses(run) == {"ok": PLACES}
    return run.cached


def noise(errors):
    """Lines that a person would take for a fault; asyncio tells of slow steps under `-X dev`."""
    return [line for line in errors.splitlines() if not line.startswith(("Executing <", "svc: "))]


@pytest.mark.parametrize(
    "body",
    spread(
        [
            LEFT,
            f"{LEFT}sys.exit(0)",
            f"{LEFT}import builtins\nbuiltins.kept = taken",
            f"{LEFT}kept = [taken]\nkept.append(kept)",
            LEFT_ASYNC,
        ],
        3,
        start=1,
    ),
)
def test_a_program_that_leaves_a_run_half_done_ends_quietly_and_keeps_it(tmp_path, body):
    cache = tmp_path / "answers.db"
    with counting({"slow": 1.0}) as (url, counts):
        with started(url, cache, body) as process:
            _, errors = process.communicate(timeout=60)
        answered = len(counts()["answered"])
        assert (process.returncode, noise(errors)) == (0, [])
        stored = kept(url, cache)
    assert stored >= (1 if body == LEFT_ASYNC else 100)
    assert answered - stored <= 16  # at most what was under way


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


def test_a_second_ctrl_c_while_the_first_one_is_handled_returns_the_results_too(monkeypatch):
    batch, soon = many._Driver.batch, many._loop.soon
    pressed = iter(["first", "second"])

    def get(driver):
        found = batch(driver)
        if next(pressed, None):
            raise KeyboardInterrupt
        return found

    def request(*call):
        if next(pressed, None):
            raise KeyboardInterrupt
        soon(*call)

    monkeypatch.setattr(many._Driver, "batch", get)
    monkeypatch.setattr(many._loop, "soon", request)
    with counting({"slow": 1.0}) as (url, _), Svc(KEY, base_url=url) as client:
        run = look_up(client, places(200))
    assert run.stopped == "interrupted"
    assert statuses(run)["ok"] + statuses(run)["not_attempted"] == len(run.outcomes) == 200


CELL = "async def cell(): look()\nasyncio.new_event_loop().run_until_complete(cell())"
"""As in a cell of a notebook: the loop of the main thread runs already."""


@posix
@pytest.mark.parametrize(
    ("call", "signals"), spread([("look()", 1), ("look()", 2), (CELL, 2), (CELL, 1)], 2)
)
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
        cached = rest(url, cache)
        told = counts()
    assert f"'ok': {cached}" in output.replace("np.int64(", "").replace(")", "")
    assert f"{cached:,} of {PLACES:,} places have a result" in errors
    assert f"cached in {cache}" in errors
    assert cached >= 20
    assert answered - cached <= 16
    # asked again was only what was lost on its way
    assert sum(told["asked_again"].values()) == answered - cached
    assert len(told["answered"]) == PLACES


@posix
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
        stored = kept(url, cache)
    assert stored >= 20
    assert answered - stored <= 16


# ten thousand places, a service that fails in every way, and an accounting at the end

MANY = 10_000
FAULTS = {
    "429": 0.025,
    "429-after-0": 0.0248,
    "429-after-1": 0.0002,  # at each of them everything pauses
    "503": 0.05,
    "hang": 0.01,
    "reset": 0.01,
    "broken": 0.01,
}
RUN = """
from pathlib import Path
from svc_tools.lookup import look_up
from svc_tools.lookup.cache import Cache
from svc_tools.tables.places import Place
from svc_tools.show.meters import NoProgress
class Reported(NoProgress):
    done = 0
    def advance(self, count=1):
        if self.done < 3000 <= self.done + count:
            print("now", flush=True)
        self.done += count
client = Svc(sys.argv[2], base_url=sys.argv[1], timeout=3)
places = [Place("TX", "zip", zip=row["zip"]) for row in rows]
look_up(client, places, cache=Cache(Path(cache)), concurrency=64, progress=Reported())
"""


SLOW_DISK = """
import os, time
from svc_tools.lookup.cache import Cache
quick = Cache.store
def slow(self, *arguments, **options):
    time.sleep(0.1)
    quick(self, *arguments, **options)
Cache.store = slow
"""
KILLED = RUN.replace('print("now", flush=True)', "os.kill(os.getpid(), 9)").replace("3000", "1000")


def check_reasons(outcomes, kinds, refused):
    """Every place has its answer, or four attempts in a row went wrong."""
    reasons = Counter()
    for place, outcome in outcomes.items():
        assert refused[place.zip] <= 3 if outcome.status == "ok" else refused[place.zip] == 4
        if outcome.status == "ok":
            assert outcome.found.resolved_zip == place.zip
            assert outcome.looked_up_at is not None
        else:
            assert outcome.status == "failed"
            known = ("broke", "is not JSON", "within 3 s", "503", "429")
            reasons[next(one for one in known if one in outcome.error)] += 1
    assert min(kinds["reset"], kinds["broken"]) > 0
    assert sum(reasons.values()) <= 20  # about 3 are to be expected: 0.13 ** 4 of 10,000


def test_every_place_ends_with_its_answer_or_its_true_reason():
    with counting(FAULTS) as (url, counts), Svc(KEY, base_url=url, timeout=3) as client:
        run = look_up(client, all_places(MANY), concurrency=64)
        counted = counts()
    assert run.stopped is None
    assert len(run.outcomes) == MANY
    assert counted["kinds"].keys() == {"answer", *FAULTS}
    check_reasons(run.outcomes, counted["kinds"], counted["refused"])
    ok = {place.zip for place, outcome in run.outcomes.items() if outcome.status == "ok"}
    # the server's own count of answered lookups is what the outcomes say
    assert counted["answered"] == dict.fromkeys(ok, 1)
    assert counted["asked_again"] == {}
    assert run.requests == sum(counted["kinds"].values())
    assert run.asked == MANY


def test_every_place_that_has_an_attempt_left_ends_with_its_rate():
    plan = {"429": 0.05, "503": 0.05, "hang": 0.01, "reset": 0.01, "broken": 0.005, "garbled": 0.01}
    with counting(plan, most=3) as (url, counts), Svc(KEY, base_url=url, timeout=1) as client:
        run = look_up(client, all_places(), concurrency=64)
        counted = counts()
    assert (run.stopped, statuses(run)) == (None, {"ok": PLACES})
    assert all(outcome.found.resolved_zip == place.zip for place, outcome in run.outcomes.items())
    assert counted["kinds"].keys() == {"answer", *plan}
    assert run.requests == sum(counted["kinds"].values())
    assert max(counted["refused"].values()) >= 2


@pytest.mark.parametrize(
    ("rate", "requests"), [({"zip": "75201"}, 2), ({"combined_rate": None}, 2), ({}, 1)]
)
def test_a_response_that_cannot_be_used_twice_in_the_same_way_is_the_services(
    faults, rate, requests
):
    faults.will(echoing(rate=rate))
    with Svc(KEY, base_url=faults.base_url) as client:
        run = look_up(client, places(1))
    assert (run.requests, len(faults.seen)) == (requests, requests)
    assert statuses(run) == {"failed" if rate else "ok": 1}


@posix
def test_what_was_answered_before_a_kill_is_not_asked_again(tmp_path):
    cache = tmp_path / "answers.db"
    with counting(FAULTS, seed=2) as (url, counts), Svc(KEY, base_url=url, timeout=3) as client:
        with started(url, cache, RUN, MANY) as process:
            assert process.stdout.readline() == "now\n"
            process.send_signal(signal.SIGKILL)
        before = counts()
        run = look_up(client, all_places(MANY), cache=Cache(cache), concurrency=64)
        counted = counts()
    assert run.cached >= 2_900  # told were 3,000; not all of them answers
    ok = {place.zip for place, outcome in run.outcomes.items() if outcome.status == "ok"}
    kept = {place.zip for place, outcome in run.outcomes.items() if outcome.cached}
    assert run.asked == MANY - len(kept)
    assert before["asked_again"] == {}
    # lost is at most what was in flight, some of it answered after the kill, or waited for its
    # commit; no place else is asked again
    lost = counted["asked_again"].keys()
    assert before["answered"].keys() - kept <= lost
    assert kept <= before["answered"].keys() - lost
    assert len(lost) <= 64 + 64
    # what was lost was answered, too, even where it failed the second time
    assert counted["answered"].keys() == ok | lost
    assert sum(counted["answered"].values()) == len(ok) + len(lost)


@posix
def test_a_kill_loses_few_answers_of_a_fast_service_and_a_slow_disk(tmp_path):
    cache = tmp_path / "answers.db"
    lost = []
    with counting({}) as (url, counts), Svc(KEY, base_url=url) as client:
        for before in range(1_000, 4_000, 1_000):
            with started(url, cache, SLOW_DISK + KILLED, MANY) as process:
                assert process.wait(60) == -signal.SIGKILL
            answered = counts()["answered"]
            assert len(answered) >= before
            stored = Cache(cache).known(source_of(client), all_places(MANY), detail=False)
            assert stored.keys() <= {Place("TX", "zip", zip=one) for one in answered}
            lost.append(len(answered) - len(stored))
    # 64 in flight, and as many that waited for their commit; what one run lost the next one stores
    assert max(lost) <= 64 + 64
