"""A run that another thread stops: what was found is kept, and the rest is asked for next time."""

from __future__ import annotations

import csv
import itertools
import threading
import time
from collections import Counter
from pathlib import Path

import openpyxl
import pytest
from support.faults import HANG, answer, echo
from support.waiting import Steps

from svc_tools.csv_files import FileError
from svc_tools.frames import enrich_file
from svc_tools.frames.files.job import FileJob
from svc_tools.frames.files.rates import Terms
from svc_tools.lookup import look_up, many
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.outcomes import STOPPED
from svc_tools.places import Place


@pytest.fixture
def client(scripted):
    return scripted


@pytest.fixture
def cache(tmp_path):
    with opened_cache(tmp_path / "answers.db") as opened:
        yield opened


@pytest.fixture
def stop():
    return threading.Event()


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr("svc_tools.tabular._BLOCK_BYTES", 512)


def places(count):
    return [Place("TX", "zip", zip=f"{78000 + number}") for number in range(count)]


def statuses(run):
    return Counter(outcome.status for outcome in run.outcomes.values())


def after(count, stop):
    """Sets the event once so many outcomes came."""
    seen = []

    def see():
        seen.append(1)
        if len(seen) == count:
            stop.set()

    return Steps(see)


def test_a_stop_keeps_what_was_found_and_the_rest_is_asked_for_next_time(
    client, faults, cache, stop, monkeypatch
):
    monkeypatch.setattr(many, "GRACE", 20.0)  # a busy machine takes its time
    run = look_up(client, places(2000), cache=cache, progress=after(10, stop), stop=stop)
    found = statuses(run)
    assert run.stopped == STOPPED
    assert found["ok"] == len(faults.seen) >= 10  # answers on their way count too
    assert found["not_attempted"] == 2000 - found["ok"] > 1000
    assert {o.error for o in run.outcomes.values() if o.status == "not_attempted"} == {STOPPED}
    again = look_up(client, places(2000), cache=cache, stop=threading.Event())
    assert (again.stopped, again.cached, again.asked) == (None, found["ok"], 2000 - found["ok"])
    assert len({request.target for request in faults.seen}) == len(faults.seen) == 2000


@pytest.mark.parametrize(
    "service", [[HANG], [answer(429, b"{}", retry_after="50"), HANG]], ids=["hangs", "pauses"]
)
def test_a_stop_does_not_wait_for_a_service_that_lets_one_wait(client, faults, stop, service):
    faults.will(*service)

    def stop_once_asked():
        faults.asked.wait(30)
        stop.set()

    thread = threading.Thread(target=stop_once_asked)
    thread.start()
    began = time.monotonic()
    run = look_up(client, places(50), stop=stop)
    thread.join()
    assert run.stopped == STOPPED
    assert statuses(run) == {"not_attempted": 50}
    assert time.monotonic() - began < 9  # a request alone would take ten seconds


def test_a_run_that_is_stopped_before_it_begins_sends_nothing(
    client, faults, cache, stop, monkeypatch
):
    look_up(client, places(3), cache=cache)
    stop.set()
    monkeypatch.setattr(many._loop, "submit", lambda _: pytest.fail("it was begun"))
    run = look_up(client, places(5), cache=cache, stop=stop)
    assert (run.stopped, run.requests, len(faults.seen)) == (STOPPED, 0, 3)
    assert statuses(run) == {"ok": 3, "not_attempted": 2}  # what is known is known


def test_a_run_without_anything_to_ask_is_whole_whatever_is_stopped(client, cache, stop):
    look_up(client, places(3), cache=cache)
    stop.set()
    assert look_up(client, places(3), cache=cache, stop=stop).stopped is None


# files


def csv_of(folder, rows=400):
    path = folder / "orders.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        cells = [[f"{78000 + number}", "TX"] for number in range(rows)]
        csv.writer(file).writerows([["zip", "state"], *cells])
    return path


def enriched(tmp_path, scripted, cache, **more):
    source = csv_of(tmp_path)
    return enrich_file(source, tmp_path / "out.csv", client=scripted, cache=cache, **more)


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


def test_a_file_that_was_asked_for_is_written_in_another_kind_without_asking(
    scripted, faults, tmp_path
):
    with FileJob(csv_of(tmp_path, 3), tmp_path / "out.csv", Terms()) as job:
        job.survey()
        job.ask(scripted, None)
        first = job.finish(time.monotonic())
        job.aim(tmp_path / "out.xlsx")
        second = job.finish(time.monotonic())
        with pytest.raises(FileError, match="there already"):
            job.aim(tmp_path / "out.csv")
    assert (first.notes, first.totals) == (second.notes, second.totals)
    assert len(faults.seen) == 3
    rows = list(openpyxl.load_workbook(second.written).active.iter_rows(values_only=True))
    assert [row[0] for row in rows] == ["zip", "78000", "78001", "78002"]
    assert Path(first.written).read_text(encoding="utf-8").count("\n") == len(rows)


def test_a_job_that_was_stopped_goes_on_where_it_ended(scripted, faults, tmp_path, cache, stop):
    with FileJob(csv_of(tmp_path), tmp_path / "out.csv", Terms()) as job:
        job.survey()
        faults.will(*[echo] * 20, lambda seen: stop.set() or echo(seen), echo)
        job.ask(scripted, cache, stop=stop)
        assert job.finish(time.monotonic()).written.name == "out-incomplete.csv"
        job.ask(scripted, cache, stop=threading.Event())
        whole = job.finish(time.monotonic())
    assert (whole.written.name, whole.totals.statuses) == ("out.csv", {"ok": 400})
    assert len(faults.seen) == 400
