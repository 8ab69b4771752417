"""Many places without a table: items in, items with outcomes out, as they complete."""

from __future__ import annotations

import asyncio
import itertools
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import pytest
from support.counting import counting
from support.faults import HANG, KEY, echo
from support.forks import in_child
from support.systems import posix

import svc_tools
from svc_sdk import AsyncSvc, Svc
from svc_tools.lookup import alookup_many, lookup_many
from svc_tools.lookup.cache import Cache
from svc_tools.tables.places import Cells, Place, place_query


def rows(count):
    return [{"state": "TX", "zip": f"{78000 + number}"} for number in range(count)]


async def collected(stream):
    return [pair async for pair in stream]


def sync(places, **options):
    return list(lookup_many(places, **options))


def asynchronous(places, **options):
    return asyncio.run(collected(alookup_many(places, **options)))


@pytest.fixture(params=[sync, asynchronous])
def many(request):
    return request.param


def statuses(pairs):
    return Counter(outcome.status for _, outcome in pairs)


def test_every_item_comes_out_as_it_was_given_with_the_answer_to_it(scripted, faults, many):
    items = rows(200)
    pairs = many(items, client=scripted)
    assert sorted(id(item) for item, _ in pairs) == sorted(map(id, items))
    assert all(item["zip"] == outcome.found.resolved_zip for item, outcome in pairs)
    assert len(faults.seen) == 200


def test_a_place_that_names_its_state_needs_no_other(scripted, faults, many):
    line = "600 Congress Ave, Austin, TX 78701"
    pairs = many([{"zip": "78701"}, {"address": line}, {"location": "Austin, TX"}], client=scripted)
    assert statuses(pairs) == {"ok": 3}
    assert {one.target.split("?")[0] for one in faults.seen} == {"/v1/tax/TX"}


def test_equal_places_are_asked_once_whatever_form_they_have(scripted, faults, many):
    place = Place("TX", "zip", zip="78701")
    same = [
        place,
        {"state": "Texas", "zip": 78701.0},
        place_query(Cells("tx", "78701"), dated=False),
    ]
    pairs = many([*same, *same], client=scripted)
    assert statuses(pairs) == {"ok": 6}
    assert len(faults.seen) == 1


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"state": "Bavaria", "zip": "80331"}, ("invalid", "Bavaria")),
        ({"state": "TX", "zipcode": "78701"}, ("invalid", "'zipcode' is no key")),
        ({"zip": "42223"}, ("invalid", "ZIP 42223 lies in KY and TN")),
        ({"state": "ON", "country": "Canada"}, ("unsupported", "Canada")),
        ("78701", ("invalid", "not str")),
    ],
)
def test_what_cannot_be_asked_comes_out_with_its_reason(scripted, faults, many, item, expected):
    status, said = expected
    pairs = many([item, *rows(3)], client=scripted)
    assert [(one.status, said in one.error) for given, one in pairs if given is item] == [
        (status, True)
    ]
    assert len(faults.seen) == 3


def test_an_endless_source_is_taken_in_only_a_little_ahead(scripted, faults, many):
    taken = itertools.count()
    source = ({"state": "TX", "zip": f"{10_000 + next(taken) % 80_000}"} for _ in itertools.count())
    if many is sync:
        found = list(itertools.islice(lookup_many(source, client=scripted, concurrency=2), 100))
    else:

        async def first():
            found = []
            async for pair in (stream := alookup_many(source, client=scripted, concurrency=2)):
                found.append(pair)
                if len(found) == 100:
                    await stream.aclose()
            return found

        found = asyncio.run(first())
    assert statuses(found) == {"ok": 100}
    assert next(taken) <= 100 + 8 * 2 + 2
    assert len(faults.seen) <= 100 + 8 * 2 + 2


def test_an_item_of_a_slow_source_is_looked_up_before_the_next_one_is_there(scripted, faults):
    waited = []

    def slow():
        for row in rows(5):
            faults.asked.clear()
            yield row
            waited.append(faults.asked.wait(20))

    async def notebook():  # where a loop is running already
        return sync(slow(), client=scripted)

    assert statuses(asyncio.run(notebook())) == {"ok": 5}
    assert waited == [True] * 5


def test_an_asynchronous_source_is_read_while_results_come(scripted):
    async def run():
        answered = asyncio.Queue()

        async def source():
            for row in rows(5):
                yield row
                await asyncio.wait_for(answered.get(), 20)  # the next one only after a result
            raise LookupError("the file ended")

        stream = alookup_many(source(), client=scripted)
        found = []
        for _ in range(5):
            found.append(await anext(stream))
            answered.put_nowait(None)
        with pytest.raises(LookupError, match="the file ended"):
            await anext(stream)  # what came before the error was given out first
        return found

    assert statuses(asyncio.run(run())) == {"ok": 5}


def test_results_are_in_the_cache_before_they_are_given_out(scripted, faults, many, tmp_path):
    path = tmp_path / "answers.db"
    source = svc_tools.config.source_of(scripted)

    def is_cached(item):
        place = Place("TX", "zip", zip=item["zip"])
        return place in Cache(path).known(source, [place], detail=False)

    async def run():
        stream = alookup_many(rows(50), client=scripted, cache=path)
        return [is_cached(item) async for item, _ in stream]

    if many is sync:
        seen = [is_cached(item) for item, _ in lookup_many(rows(50), client=scripted, cache=path)]
    else:
        seen = asyncio.run(run())
    assert seen == [True] * 50
    again = many(rows(60), client=scripted, cache=path)
    assert len(faults.seen) == 60
    assert sum(outcome.cached for _, outcome in again) == 50


def test_leaving_early_ends_the_run(scripted, faults):
    faults.will(*[echo] * 10, HANG)
    began = time.monotonic()
    stream = lookup_many(rows(1000), client=scripted)
    next(stream)
    stream.close()
    assert len(faults.seen) <= 10 + 16
    assert time.monotonic() - began < 9  # what hangs is not waited for: ten seconds


def test_leaving_early_ends_the_run_of_a_loop(scripted, faults):
    faults.will(*[echo] * 10, HANG)
    began = time.monotonic()

    async def run():
        stream = alookup_many(rows(1000), client=scripted)
        async for _ in stream:
            break
        await stream.aclose()
        return len(asyncio.all_tasks())

    assert asyncio.run(run()) == 1  # no task is left behind
    assert time.monotonic() - began < 9  # what hangs is not waited for: ten seconds


def test_an_error_of_the_source_reaches_the_caller(scripted, many):
    def broken():
        yield from rows(3)
        raise LookupError("the file ended")

    with pytest.raises(LookupError, match="the file ended"):
        many(broken(), client=scripted)


def test_what_is_wrong_with_the_cache_is_said(scripted, many, tmp_path, caplog):
    folder = tmp_path / "\x1b[2Jcache"
    folder.mkdir()
    assert statuses(many(rows(3), client=scripted, cache=folder)) == {"ok": 3}
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "it is a folder" in record.message
    assert r"\x1b[2Jcache" in record.message  # on a terminal it is what Python writes


def test_an_asynchronous_client_serves_its_loop(faults):
    async def run():
        async with AsyncSvc(KEY, base_url=faults.base_url) as own:
            found = await collected(alookup_many(rows(20), client=own))
        async with (
            httpx.AsyncClient(headers={"X-Team": "tax"}) as http,
            AsyncSvc(KEY, base_url=faults.base_url, http_client=http) as injected,
        ):
            found += await collected(alookup_many(rows(20), client=injected))
        return found

    assert statuses(asyncio.run(run())) == {"ok": 40}
    assert Counter(seen.headers.get("x-team") for seen in faults.seen) == {None: 20, "tax": 20}
    assert {seen.headers["x-api-key"] for seen in faults.seen} == {KEY}


def test_the_configured_client_is_used_and_closed(faults, many, monkeypatch):
    monkeypatch.setenv("SVC_BASE_URL", faults.base_url)
    monkeypatch.setenv("SVC_API_KEY", KEY)
    closed = []
    monkeypatch.setattr(Svc, "close", lambda _: closed.append(1))
    assert statuses(many(rows(3))) == {"ok": 3}
    assert closed == [1]


@pytest.mark.parametrize("door", [svc_tools.lookup_many, svc_tools.alookup_many])
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("concurrency", 0, ValueError),
        ("concurrency", 2.5, TypeError),
        ("concurrency", True, TypeError),
        ("deadline", 0, ValueError),
        ("deadline", "soon", TypeError),
        ("client", "embedded", TypeError),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(door, name, value, error):
    with pytest.raises(error, match=name):
        door([], **{name: value})


_SHARING = """
import asyncio, json, sys
from svc_sdk import Svc
from svc_tools.lookup import alookup_many, lookup_many
from svc_tools.lookup.cache import Cache
from svc_tools.lookup.many import look_up
from svc_tools.tables.places import Place

async def collected(stream):
    return [pair async for pair in stream]

url, folder = sys.argv[1:]
with Svc("no-key-that-anyone-has", base_url=url) as client:
    for line in sys.stdin:
        door, first = line.split()
        places = [Place("TX", "zip", zip=f"{int(first) + number:05}") for number in range(800)]
        cache = Cache(Path(folder) / f"{door}.db")
        if door == "look_up":
            run = look_up(client, places, cache=cache)
            assert list(run.outcomes) == places
            assert run.asked == run.requests
            pairs, cached = list(run.outcomes.items()), run.cached
        else:
            stream = {"lookup_many": lookup_many, "alookup_many": alookup_many}[door]
            stream = stream(places, client=client, cache=cache)
            pairs = list(stream) if door == "lookup_many" else asyncio.run(collected(stream))
            cached = sum(outcome.cached for _, outcome in pairs)
        assert {place for place, _ in pairs} == set(places) and len(pairs) == len(places)
        assert all(outcome.found.resolved_zip == place.zip for place, outcome in pairs)
        assert cached == sum(outcome.cached for _, outcome in pairs)
        print(cached, flush=True)
"""


def test_processes_that_share_a_cache_share_the_requests(tmp_path):
    with counting({"slow": 1.0}) as (url, counts), ExitStack() as stack:
        command = [sys.executable, "-c", f"from pathlib import Path\n{_SHARING}", url, tmp_path]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
        both = [stack.enter_context(subprocess.Popen(command, **pipes)) for _ in range(2)]
        for number, door in enumerate(("look_up", "lookup_many", "alookup_many")):
            before = sum(counts()["answered"].values())
            for process in both:
                process.stdin.write(f"{door} {number * 1000}\n")
            cached = [int(process.stdout.readline()) for process in both]
            requests = sum(counts()["answered"].values()) - before
            assert requests == 2 * 800 - sum(cached)
            assert requests == 800
        for process in both:
            process.stdin.close()


_RUN = """
import itertools, sys
from pathlib import Path
from svc_sdk import Svc
from svc_tools.lookup import lookup_many
from svc_tools.tables.places import Place
url, cache, door, count = sys.argv[1:]
places = [Place("TX", "zip", zip=f"{10_000 + number}") for number in range(int(count))]
with Svc("key-0123456789", base_url=url, timeout=2) as client:
    source = places if door == "list" else iter(places)
    run = lookup_many(source, client=client, cache=Path(cache), concurrency=64)
    for number, _ in enumerate(itertools.islice(run, 300)):
        if number == 99:
            print("begun", flush=True)
    print(300 + sum(one.status == "ok" for _, one in run), flush=True)
"""


def started(stack, url, cache, door, count):
    command = [sys.executable, "-c", _RUN, url, str(cache), door, str(count)]
    pipes = {"stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    return stack.enter_context(subprocess.Popen(command, **pipes))


@pytest.mark.parametrize("doors", [("list", "list"), ("list", "lazy"), ("lazy", "lazy")])
def test_two_runs_on_one_cache_repeat_at_most_a_fiftieth(tmp_path, doors):
    with counting({}) as (url, counts), ExitStack() as stack:
        both = [started(stack, url, tmp_path / "results.db", door, 5_000) for door in doors]
        ended = [process.communicate(timeout=50)[0] for process in both]
        counted = counts()
    assert ended == ["begun\n5000\n"] * 2
    assert len(counted["answered"]) == 5_000
    assert sum(counted["asked_again"].values()) <= 100


def test_two_runs_of_one_process_share_the_requests_too(faults, tmp_path):
    def run(_):
        with Svc(KEY, base_url=faults.base_url) as client:
            return [one.status for _, one in lookup_many(rows(300), client=client, cache=path)]

    path = tmp_path / "results.db"
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, range(2))) == [["ok"] * 300] * 2
    assert len(faults.seen) == 300


@posix
@pytest.mark.parametrize("number", ["SIGSTOP", "SIGKILL"])
def test_a_run_does_not_wait_for_one_that_does_not_go_on(tmp_path, number):
    with counting({"slow": 1.0}) as (url, counts), ExitStack() as stack:
        first = started(stack, url, tmp_path / "results.db", "list", 3_000)
        assert first.stdout.readline() == "begun\n"
        first.send_signal(signal.Signals[number])
        second = started(stack, url, tmp_path / "results.db", "list", 3_000)
        ended = second.communicate(timeout=50)[0]
        first.kill()
        counted = counts()
    assert ended == "begun\n3000\n"
    # what the first one had under way, or had not committed
    assert sum(counted["asked_again"].values()) <= 64 + 64


@posix
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_run_that_a_forked_child_inherits_is_left_to_the_parent(scripted):
    items = rows(300)
    run = lookup_many(items, client=scripted, cache=False, concurrency=2)
    first = next(run)

    def child():
        rest = list(run)
        return [len(rest), sorted({(one.status, one.error) for _, one in rest[-100:]})]

    count, last = in_child(child)
    assert count == 299
    assert [status for status, _ in last] == ["not_attempted"]
    assert "another process" in last[0][1]
    rest = list(run)
    assert statuses([first, *rest]) == {"ok": 300}


@posix
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("kind", [httpx.Client, httpx.AsyncClient])
def test_an_injected_client_of_another_process_ends_a_run(faults, kind):
    client = (Svc if kind is httpx.Client else AsyncSvc)(
        KEY, base_url=faults.base_url, http_client=kind()
    )

    def child():
        return [(one.status, one.error) for _, one in asynchronous(rows(3), client=client)]

    found = in_child(child)
    assert sorted(status for status, _ in found) == ["failed", "not_attempted", "not_attempted"]
    assert all("another process" in error for _, error in found)
    assert faults.seen == []
