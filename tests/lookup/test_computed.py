"""Lookups of the embedded service are computed for spans of days: the same results as over HTTP."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from random import Random

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from support.boundary_files import (
    AROUND_MINNEAPOLIS,
    METRO,
    MINNEAPOLIS,
    RATES,
    imported,
    line,
)
from support.examples import ALL, examples, spread
from support.systems import posix

import svc_tools
from svc_sdk import Svc, SvcError
from svc_tools.config import Source, embedded_source
from svc_tools.frames.lookup.results import lookups_of
from svc_tools.lookup import look_up
from svc_tools.lookup.cache import Cache, cache_info, clear_cache
from svc_tools.lookup.computed import Computed
from svc_tools.lookup.outcomes import Outcome, failed, of_response
from svc_tools.service import computing, embedded
from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.gazetteer import place_names
from svc_tools.service.ratebook.imports.database import remove_editions
from svc_tools.service.ratebook.query import NotResolved, Query
from svc_tools.service.ratebook.resolver import days_of_change, locate, rate
from svc_tools.tables.places import Place

STATES = sorted(load_book().states)
FIRST, LAST = date(2003, 1, 1), date(2031, 12, 31)


@pytest.fixture(scope="module")
def client():
    """A client of the embedded service with the shipped book."""
    with svc_tools.connect("embedded", max_retries=0) as client:
        yield client


@pytest.fixture
def own(tmp_path):
    """Where a test's own book goes."""
    return tmp_path / "own" / "book.db"


@pytest.fixture
def here(own, tmp_path, monkeypatch):
    """A client whose service uses the test's own book."""
    monkeypatch.setattr(embedded, "own_book_path", lambda: own)
    monkeypatch.setenv("SVC_DATABASE_URL", str(tmp_path / "service.db"))
    with svc_tools.connect("embedded", max_retries=0) as client:
        yield client
    embedded.start(tmp_path / "service.db").close()


@pytest.fixture
def minnesota(own, tmp_path):
    """Imports Minnesota's rates and these boundary records."""
    rate_file = tmp_path / "MNR2026Q2FEB18.csv"
    rate_file.write_text(RATES)

    def minnesota(*lines, edition="2026Q2"):
        boundary_file = tmp_path / f"MNB{edition}FEB18.csv"
        boundary_file.write_text("".join(lines))
        imported(own, rate_file, boundary_file)

    return minnesota


def zip_place(state, zip_code):
    return Place(state, "zip", zip=zip_code)


def requested(client, place, *, detail=False, **fields):
    """The outcome of a request, without what tells it from another one of the same."""
    mode = "full" if detail else "simple"
    try:
        response = client.lookup(place.state, mode=mode, **place.arguments(), **fields)
    except SvcError as error:
        return replace(failed(error), support_reference=None)
    except (ValueError, TypeError) as error:
        return Outcome("failed", f"{type(error).__name__}: {error}")
    return of_response(place, response)


def computed(run, place, *days):
    """The outcome of each day, or of today."""
    ordinals = [day.toordinal() for day in days]
    begins, outcomes = run.spans(place, ordinals)
    assert begins[0] == 0
    assert begins == sorted(set(begins))
    ends = [*begins[1:], max(len(ordinals), 1)]
    return [
        one
        for one, begin, end in zip(outcomes, begins, ends, strict=True)
        for _ in range(begin, end)
    ]


def every_day(first, last):
    return [first + timedelta(days=one) for one in range((last - first).days + 1)]


@lru_cache
def changes(state, zip_code):
    """The days of a ZIP's changes."""
    book, query = load_book(), Query(state, zip=zip_code)
    try:
        location = locate(book, query, LAST)
    except NotResolved:
        return ()
    return days_of_change(book, state, location)


def beside(days):
    """These days, and those beside them, in order."""
    within = range(date(1930, 1, 1).toordinal(), date(2100, 1, 1).toordinal())
    around = {day + step for day in days for step in (-1, 0, 1)}
    return [date.fromordinal(day) for day in sorted(around) if day in within]


@lru_cache
def names(state):
    return sorted(place_names(load_book(), state).spelled.values())


@lru_cache
def zips(state):
    return load_book().zips.zips(state)


NOISE = st.text(min_size=1, max_size=70)


@st.composite
def places(draw):
    """A place in any mode, of the state, of another, or of none."""
    book = load_book()
    state = draw(st.sampled_from(STATES))
    there = draw(st.sampled_from([state, state, state, draw(st.sampled_from(STATES))]))
    zip5 = draw(st.sampled_from(zips(there)) | st.from_regex(r"[0-9]{5}", fullmatch=True))
    plus4 = draw(st.sampled_from(["", "", "-1234"]))
    name = draw(st.sampled_from(names(there)) | NOISE)
    written = draw(st.sampled_from([state, state, state, state.lower(), f" {state} ", "PR", "ZZ"]))
    mode = draw(st.sampled_from(["zip", "zip", "place", "address", "line", "coordinates", "noise"]))
    match mode:
        case "zip":
            return zip_place(written, zip5 + plus4)
        case "place":
            return Place(written, "place", location=name)
        case "address":
            given_zip = draw(st.none() | st.just(zip5 + plus4))
            return Place(written, "address", address="1  Elm St", city=name, zip=given_zip)
        case "line":
            form = draw(st.sampled_from(["1 Elm St, {}, {} {}", "1 Elm St {} {}", "{2} {0} {1}"]))
            line_of = form.format(name, there, zip5 + plus4)
            return Place(written, "address", address=line_of, zip=draw(st.none() | st.just(zip5)))
        case "coordinates":
            row = book.zips.state(there).get(zip5)
            lat, lng = (float(row.lat), float(row.lng)) if row else (39.0, -95.0)
            near = st.floats(-0.2, 0.2)
            return Place(written, "coordinates", lat=lat + draw(near), lng=lng + draw(near))
    wrong = draw(NOISE | st.sampled_from(["1234", "787 01", "78701-12", "٧٨٧٠١", ""]))
    return draw(
        st.sampled_from(
            [
                zip_place(written, wrong),
                Place(written, "place", location=wrong),
                Place(written, "address", address=wrong),
                Place(wrong, "zip", zip=zip5),
                Place(written, "zip", zip=zip5, location=name),
                Place(written, "zip"),
                Place(written, "coordinates", lat=91.0, lng=1.0),
            ]
        )
    )


@pytest.mark.timeout(240)  # hundreds of requests on a busy machine
@examples(40, of=250, suppress_health_check=[HealthCheck.too_slow])
@given(place=places(), day=st.dates(FIRST, LAST), detail=st.booleans(), data=st.data())
@example(place=Place("T/X", "zip", zip="78701"), day=LAST, detail=False, data=None)
@example(place=Place("..", "zip", zip="78701"), day=LAST, detail=False, data=None)
@example(place=Place("VA", "place", location="Richmond"), day=FIRST, detail=True, data=None)
def test_over_http_by_the_client_and_computed_every_fact_is_the_same(
    client, place, day, detail, data
):
    days = {day}
    if data is not None and place.state in STATES and place.zip in zips(place.state):
        around = beside(changes(place.state, place.zip))
        days |= set(data.draw(st.lists(st.sampled_from(around), max_size=3))) if around else set()
    with (
        Svc(client._service.api_key, base_url=client.base_url, max_retries=0) as over_http,
        Computed(client, detail=detail) as run,
    ):
        ordered = sorted(days)
        for one, found in zip(ordered, computed(run, place, *ordered), strict=True):
            dated = replace(place, as_of=one)
            assert requested(client, dated, detail=detail) == found, dated
            assert requested(over_http, dated, detail=detail) == found, dated
        (now,) = computed(run, place)
        assert requested(over_http, place, detail=detail) == now
        quarter = date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
        period = f"{quarter.year}Q{quarter.month // 3 + 1}"
        assert [requested(over_http, place, detail=detail, period=period)] == computed(
            run, place, quarter
        )


def test_every_kind_of_place_of_every_state_is_the_same_on_and_beside_each_change(client):
    """One ZIP of each area that a ZIP leads to first, on every day on which a rate may change."""
    book, kinds = load_book(), {}
    for state in STATES:
        for zip_code in zips(state):
            try:
                location = locate(book, Query(state, zip=zip_code), LAST)
            except NotResolved:
                continue
            first = location.options[0].area.id if location.options else ""
            kinds.setdefault((state, first, len(location.options) > 1), zip_code)
    chosen = Random(7).sample(sorted(kinds.items()), 500 if ALL else 150)  # noqa: S311 - the same in each run
    with Computed(client, detail=True) as run:
        for (state, *_), zip_code in chosen:
            place, days = zip_place(state, zip_code), beside(changes(state, zip_code))
            some = sorted(Random(zip_code).sample(days, min(len(days), 6)))  # noqa: S311
            for day, found in zip(some, computed(run, place, *some), strict=True):
                dated = replace(place, as_of=day)
                assert requested(client, dated, detail=True) == found, dated


@pytest.mark.timeout(240)  # thirty thousand lookups
def test_a_span_has_the_result_of_each_of_its_days(client):
    rng = Random(11)  # noqa: S311
    days = (
        every_day(date(2021, 12, 1), date(2024, 2, 15)),
        every_day(date(2025, 12, 1), date(2027, 4, 15)),
    )
    with Computed(client, detail=False) as run:
        for state in STATES:
            place = zip_place(state, rng.choice(zips(state)))
            some = spread(rng.choice(days), 80)
            found = computed(run, place, *some)
            for day, one in zip(some, found, strict=True):
                assert requested(client, replace(place, as_of=day)) == one, (place, day)


def test_a_span_ends_where_a_table_does_and_where_one_that_agrees_is_a_year_old(client):
    """New Orleans: its table was seen to 2024-07-31, and another one agreed in 2026-02."""
    place = zip_place("LA", "70112")
    days = [date(2024, 7, 31), date(2024, 8, 1), date(2027, 2, 28), date(2027, 3, 1)]
    with Computed(client, detail=False) as run:
        found = computed(run, place, *days)
    assert [requested(client, replace(place, as_of=day)) for day in days] == found


OF_MINNESOTA = [
    zip_place("MN", "55401"),
    zip_place("MN", "55401-1234"),
    zip_place("MN", "55101-0005"),
    zip_place("MN", "55101"),
    zip_place("MN", "55102-5000"),
    zip_place("MN", "55105-0003"),
    zip_place("MN", "55403-0002"),
    zip_place("MN", "55404-0002"),
    zip_place("MN", "00001"),
    zip_place("MN", "56999"),  # which is in no table
    zip_place("MN", "78701"),
    zip_place("WI", "53211"),
    Place("MN", "address", address="101 N Main St", city="Minneapolis", zip="55402"),
    Place("MN", "address", address="100 N Main St", city="Minneapolis"),
    Place("MN", "address", address="5 Oak Ave Apt 30", city="Minneapolis", zip="55402"),
    Place("MN", "place", location="St. Paul"),
    Place("MN", "place", location="Minneapolis 55401"),
    Place("MN", "coordinates", lat=44.97, lng=-93.26),
]
DAYS_OF_MINNESOTA = beside(
    {
        *(
            date(year, month, 1).toordinal()
            for year in range(2004, 2029)
            for month in (1, 4, 7, 10)
        ),
        *Random(3).sample(range(FIRST.toordinal(), LAST.toordinal()), 60),  # noqa: S311
    }
)
DATED = [
    line("Z", zips="55401", begins="20170215", ends="20200630", county="053"),
    line("Z", zips="55401", begins="20200701", ends="20250309", **MINNEAPOLIS),
    line("4", zips="55401", plus4="0001-4999", begins="20210401", ends="20210930", **MINNEAPOLIS),
    line("A", zip5="55402", street="N|MAIN|ST|", numbers="101-199", side="O", begins="20230105",
         **MINNEAPOLIS),
    line("Z", zips="55404", begins="20240101", ends="20240331", county="053", specials=["99999"]),
    line("Z", zips="55105", begins="20260115", county="037", place="17000"),
    line("Z", zips="56999", begins="20230401", ends="20240630", **MINNEAPOLIS),
]  # fmt: skip


@pytest.mark.timeout(240)  # twenty thousand lookups
@pytest.mark.parametrize("lines", [AROUND_MINNEAPOLIS, DATED], ids=["many", "dated"])
def test_with_files_of_the_user_a_span_has_the_result_of_each_of_its_days(here, minnesota, lines):
    minnesota(*lines)
    for detail in (False, True):
        with Computed(here, detail=detail) as run:
            for place in OF_MINNESOTA:
                some = spread(DAYS_OF_MINNESOTA, 80)[:: 4 if detail else 1]
                found = computed(run, place, *some)
                for day, one in zip(some, found, strict=True):
                    dated = replace(place, as_of=day)
                    assert requested(here, dated, detail=detail) == one, dated
                assert computed(run, place) == [requested(here, place, detail=detail)]


TO_MINNEAPOLIS = [line("4", zips="55401", plus4="0001-4999", **MINNEAPOLIS)]
TO_HENNEPIN = [line("4", zips="55401", plus4="0001-4999", county="053", specials=METRO)]
IN_MAY = date(2026, 5, 1)
PLUS4 = [zip_place("MN", f"55401-000{number}") for number in range(1, 6)]


def rates_of(client):
    """The rates of the places now: as of a run that begins now."""
    with Computed(client, detail=False) as run:
        return {computed(run, place, IN_MAY)[0].found.combined for place in PLUS4}


def test_a_run_has_one_state_of_the_book_while_files_are_imported(here, minnesota, own):
    minnesota(*TO_HENNEPIN)
    items = [{"state": "MN", "zip": one.zip, "as_of": IN_MAY} for one in PLUS4]
    with (
        Computed(here, detail=False) as run,
        closing(svc_tools.lookup_many(iter(items), client=here)) as many,
    ):
        first, (_, second) = computed(run, PLUS4[0], IN_MAY)[0], next(many)
        minnesota(*TO_MINNEAPOLIS, edition="2026Q3")
        assert rates_of(here) == {9_025}
        assert first.found.combined == second.found.combined == 8_525
        assert {computed(run, place, IN_MAY)[0].found.combined for place in PLUS4} == {8_525}
        assert [outcome.found.combined for _, outcome in many] == [8_525] * 4
        remove_editions(own, "MN")
        with Computed(here, detail=False) as later:
            (shipped,) = computed(later, PLUS4[0], IN_MAY)
        assert (shipped.found.confidence, first.found.confidence) == ("high", "exact")
        assert computed(run, zip_place("MN", "55401-0009"), IN_MAY)[0].found.combined == 8_525


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system lists no open files")
def test_a_run_that_is_over_has_no_file_open(here, minnesota, own):
    def opened():
        files = [*Path("/proc/self/fd").iterdir()]
        return sum(own.samefile(one) for one in files if one.exists())

    minnesota(*TO_HENNEPIN)
    with Computed(here, detail=False) as run:
        computed(run, PLUS4[0], IN_MAY)
        during = opened()
    assert run.edition
    assert opened() < during


def test_a_frame_names_the_book_that_its_rates_come_from(here, minnesota, monkeypatch):
    minnesota(*TO_HENNEPIN)
    begin = type(here).computation

    def meanwhile(client):
        minnesota(*TO_MINNEAPOLIS, edition="2026Q3")
        return begin(client)

    monkeypatch.setattr(type(here), "computation", meanwhile)
    frame = pd.DataFrame({"state": ["MN"], "zip": [PLUS4[0].zip], "as_of": [IN_MAY]})
    found = frame.svc.lookup(client=here, progress=False)
    assert found["combined_rate"].tolist() == [Decimal("0.09025")]
    (used,) = lookups_of(found)
    assert used.source == embedded_source(here.book_digest)
    assert used.service.edition == here.book_edition


def test_a_run_that_begins_while_a_file_is_imported_is_of_the_book_after_it(
    here, minnesota, monkeypatch
):
    minnesota(*TO_MINNEAPOLIS)
    assert rates_of(here) == {9_025}
    from svc_tools.service.ratebook import by_boundary  # noqa: PLC0415 - not for all tests

    pinned, imports = by_boundary.pinned, [TO_HENNEPIN]

    def meanwhile(book):
        if imports:
            minnesota(*imports.pop(), edition="2026Q3")
        return pinned(book)

    monkeypatch.setattr(by_boundary, "pinned", meanwhile)
    (found,) = rates_of(here)
    assert found == here.lookup("MN", zip="55401-0002", as_of=IN_MAY).combined_rate_decimal * 10**5
    assert found != 9_025


@pytest.mark.parametrize("content", [b"this is no database" * 200, b""])
def test_without_a_readable_book_every_place_says_so(here, minnesota, own, content, caplog):
    minnesota(*TO_MINNEAPOLIS)
    assert rates_of(here) == {9_025}
    for path in own.parent.iterdir():
        path.write_bytes(content)
    caplog.clear()
    run = look_up(here, [*PLUS4, zip_place("TX", "78701")])
    assert len(caplog.records) <= 2  # of the book, and of the run, whatever the number of places
    expected = [requested(here, place).status for place in run.outcomes]
    assert [one.status for one in run.outcomes.values()] == expected
    assert run.stopped is None


def test_runs_of_several_threads_are_those_of_one(here, minnesota):
    minnesota(*AROUND_MINNEAPOLIS)
    some = DAYS_OF_MINNESOTA[-200:]
    mixed = [*OF_MINNESOTA, zip_place("TX", "78701"), zip_place("CA", "90001")] * 2

    def outcomes(run):
        return [computed(run, place, *some) for place in mixed]

    def alone(_):
        with Computed(here, detail=False) as run:
            return outcomes(run)

    with ThreadPoolExecutor(4) as threads, Computed(here, detail=False) as shared:
        results = [
            *threads.map(alone, range(3)),
            *threads.map(lambda _: outcomes(shared), range(3)),
        ]
    expected = alone(0)
    assert all(one == expected for one in results)


TEXAS = [zip_place("TX", zip_code) for zip_code in zips("TX")[:700]]


def test_a_run_sends_no_request_and_leaves_no_thread_and_no_file(client, tmp_path):
    before = threading.enumerate()
    run = look_up(client, TEXAS, cache=Cache(tmp_path / "rates.db"), refresh=True)
    found = list(svc_tools.lookup_many(TEXAS, client=client, cache=tmp_path / "rates.db"))
    assert threading.enumerate() == before
    assert (run.requests, run.cached, run.asked, run.stopped) == (0, 0, len(TEXAS), None)
    assert [place for place, _ in found] == TEXAS == list(run.outcomes)
    assert [(one.status, one.found) for _, one in found] == [
        (one.status, one.found) for one in run.outcomes.values()
    ]
    assert list(tmp_path.iterdir()) == []
    assert not any(one.cached for one in run.outcomes.values())
    now = datetime.now(UTC)
    assert all(now - one.looked_up_at < timedelta(hours=1) for one in run.outcomes.values())


class Shown:
    """Progress that does something at a number of places."""

    def __init__(self, at, work):
        self.at, self.work, self.count, self.said = at, work, 0, []

    def start(self, name, total, unit):
        self.said.append((name, total, unit, threading.current_thread()))

    def advance(self, count):
        self.count += count
        if self.count >= self.at:
            self.at = 10**9
            self.work()

    def done(self):
        self.said.append(self.count)


def interrupt():
    signal.raise_signal(signal.SIGINT)


def test_progress_counts_each_place_in_the_thread_of_the_caller(client):
    shown = Shown(10**9, None)
    look_up(client, TEXAS, progress=shown)
    assert shown.said == [
        ("Looking up", len(TEXAS), "places", threading.current_thread()),
        len(TEXAS),
    ]


@pytest.mark.parametrize("stops", [False, True])
def test_ctrl_c_and_the_event_end_a_run_with_the_outcomes_so_far(client, stops):
    event = threading.Event()
    run = look_up(client, TEXAS, progress=Shown(1, event.set if stops else interrupt), stop=event)
    statuses = [one.status for one in run.outcomes.values()]
    done = statuses.index("not_attempted")
    assert list(run.outcomes) == TEXAS
    assert 0 < done < len(TEXAS)
    assert set(statuses[done:]) == {"not_attempted"}
    assert "not_attempted" not in statuses[:done]
    assert run.stopped == ("it was stopped" if stops else "interrupted")
    assert {one.error for one in list(run.outcomes.values())[done:]} == {run.stopped}
    assert run.asked == done


def test_the_deadline_ends_a_run(client):
    run = look_up(client, TEXAS, deadline=1e-9)
    assert {one.status for one in run.outcomes.values()} == {"not_attempted"}
    assert run.stopped == "the deadline of 1e-09 s was reached"
    many = [one for _, one in svc_tools.lookup_many(TEXAS, client=client, deadline=1e-9)]
    assert {(one.status, one.error) for one in many} == {("not_attempted", run.stopped)}


def test_an_event_that_is_set_before_and_no_places_at_all(client):
    event = threading.Event()
    event.set()
    shown = Shown(10**9, None)
    run = look_up(client, TEXAS[:3], stop=event)
    assert (run.stopped, run.asked) == ("it was stopped", 0)
    empty = look_up(client, [], progress=shown)
    assert (empty.outcomes, empty.stopped, shown.said) == ({}, None, [])


def test_a_place_that_raises_is_a_row_with_the_reason_that_a_request_has(
    client, monkeypatch, caplog
):
    bad, good = zip_place("TX", "79999"), zip_place("TX", "78702")

    def broken(book, query, day, spot=None):
        if query.zip == bad.zip:
            raise RuntimeError("a row of the book is odd")
        return locate(book, query, day, spot)

    monkeypatch.setattr(computing, "locate", broken)
    monkeypatch.setattr("svc_tools.service.ratebook.resolver.locate", broken)
    expected = requested(client, bad)
    run = look_up(client, [bad, good])
    outcome = run.outcomes[bad]
    assert (outcome.status, outcome.error_code) == (expected.status, "INTERNAL")
    assert outcome.error == expected.error
    assert run.outcomes[good].status == "ok"
    assert outcome.support_reference in caplog.text  # where its reason is
    monkeypatch.undo()
    assert look_up(client, [bad]).outcomes[bad].status != "failed"  # it is not remembered


def test_a_place_that_raises_on_some_days_has_a_rate_on_the_others(client, monkeypatch):
    place, days = zip_place("CA", "90001"), every_day(date(2026, 1, 1), date(2026, 12, 31))
    with Computed(client, detail=False) as run:
        computed(run, place, *days[200:210])  # which are remembered

    def broken(book, query, location, day):
        if day < date(2026, 4, 1):
            raise RuntimeError("a row of the book is odd")
        return rate(book, query, location, day)

    monkeypatch.setattr(computing, "rate", broken)
    with Computed(client, detail=False) as run:
        found = [one.status for one in computed(run, place, *days)]
    assert found == ["failed"] * 90 + ["ok"] * 275
    monkeypatch.undo()
    with Computed(client, detail=False) as run:  # what failed is not remembered
        assert {one.status for one in computed(run, place, *days)} == {"ok"}


def test_items_are_yielded_as_they_are_read_and_an_error_of_the_source_comes_last(client):
    read = []

    def rows():
        for number in range(3):
            read.append(number)
            yield {"state": "TX", "zip": f"7870{number + 1}"}
        raise OSError("the file is gone")

    many = svc_tools.lookup_many(rows(), client=client)
    for number in range(3):
        item, outcome = next(many)
        assert (item["zip"], outcome.status) == (f"7870{number + 1}", "ok")
        assert read == list(range(number + 1))  # a source may wait for the outcome before
    with pytest.raises(OSError, match="gone"):
        next(many)


def test_in_an_event_loop_places_are_computed_in_a_thread(monkeypatch):
    threads, outcome = set(), Computed.outcome

    def noted(self, place):
        threads.add(threading.current_thread())
        return outcome(self, place)

    monkeypatch.setattr(Computed, "outcome", noted)

    async def looked_up(items):
        async with svc_tools.aconnect("embedded") as client:
            return [pair async for pair in svc_tools.alookup_many(items, client=client)]

    async def lazily():
        for place in TEXAS[:5]:
            yield place

    found = asyncio.run(looked_up([*TEXAS, {"state": "TX"}, 5]))
    assert [item for item, _ in found] == [*TEXAS, {"state": "TX"}, 5]
    assert [one.status for _, one in found][-2:] == ["invalid", "invalid"]
    assert [place for place, _ in asyncio.run(looked_up(lazily()))] == TEXAS[:5]
    assert threads
    assert threading.current_thread() not in threads


def test_a_canceled_run_ends_once_its_thread_does(here, minnesota, monkeypatch, caplog):
    minnesota(*TO_MINNEAPOLIS)
    outcome, begun, go = Computed.outcome, threading.Event(), threading.Event()
    found = []

    def paused(self, place):
        begun.set()
        assert go.wait(30)
        found.append(outcome(self, place))
        return found[-1]

    async def collected():
        return [pair async for pair in svc_tools.alookup_many(PLUS4, client=here)]

    async def canceled():
        run = asyncio.create_task(collected())
        assert await asyncio.to_thread(begun.wait, 30)
        run.cancel()
        for _ in range(5):  # until it is canceled
            await asyncio.sleep(0)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await run

    monkeypatch.setattr(Computed, "outcome", paused)
    asyncio.run(canceled())
    assert [one.status for one in found] == ["ok"]
    assert not caplog.records


def test_a_day_may_be_written_as_for_a_client(client):
    place = replace(TEXAS[0], as_of="2026-05-01T10:00")
    found = look_up(client, [place, replace(TEXAS[0], as_of="soon")]).outcomes
    assert replace(found[place], looked_up_at=None) == requested(client, place)
    (other,) = [one for key, one in found.items() if key != place]
    assert replace(other, looked_up_at=None) == requested(client, replace(TEXAS[0], as_of="soon"))


def test_the_next_run_over_the_same_book_computes_nothing_again(client, monkeypatch):
    days = every_day(date(2026, 1, 1), date(2026, 12, 31))
    with Computed(client, detail=False) as run:
        first = [computed(run, place, *days) for place in TEXAS[:20]]

    def never(*_):
        raise AssertionError

    monkeypatch.setattr(computing, "locate", never)
    with Computed(client, detail=False) as run:
        assert [computed(run, place, *days) for place in TEXAS[:20]] == first


def test_what_earlier_releases_cached_is_not_read_and_stays_until_it_is_removed(client, tmp_path):
    path, then = tmp_path / "rates.db", datetime(2026, 5, 1, tzinfo=UTC)
    place = replace(TEXAS[0], as_of=date(2026, 4, 1))
    genuine = look_up(client, [place]).outcomes[place]
    lasting = {"effective_date": "2020-01-01", "effective_date_basis": "publisher_effective_date"}
    other = replace(genuine.found, combined=1, state=1, city=0, warnings=(), **lasting)
    wrong = replace(genuine, found=other, looked_up_at=then)
    source = embedded_source(client.book_digest)
    Cache(path, clock=lambda: then).store(source, [(place, wrong)], detail=False)
    run = look_up(client, [place], cache=Cache(path))
    assert (run.outcomes[place].found, run.cached) == (genuine.found, 0)
    late = then + timedelta(days=400)
    paid = replace(genuine, looked_up_at=late)
    cache = Cache(path, clock=lambda: late)  # which removes what expired
    cache.store(Source("https://rates.example", ""), [(place, paid)], detail=False)
    assert source.service in {one.service for one in cache_info(path).sources}
    assert clear_cache(path, service="embedded") == 1
    assert [one.service for one in cache_info(path).sources] == ["https://rates.example"]


def test_of_a_closed_service_nothing_is_computed(tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_DATABASE_URL", str(tmp_path / "service.db"))
    with svc_tools.connect("embedded", max_retries=0) as client:
        embedded.start(tmp_path / "service.db").close()
        run = look_up(client, TEXAS[:3], cache=Cache(tmp_path / "rates.db"))
        with pytest.raises(ValueError, match="not computed"):
            Computed(client, detail=False)
    assert not any(one.found for one in run.outcomes.values())
    assert "closed" in run.stopped
    assert not (tmp_path / "rates.db").exists()


@posix
@pytest.mark.timeout(120)  # a child that loads the book on a busy machine
def test_a_forked_child_uses_the_service_of_its_parent_or_its_own(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
        env=os.environ | {"SVC_DATABASE_URL": str(tmp_path / "service.db")},
    )
    parent_s, own = done.stdout.split("\n")[:2]
    assert (parent_s, own) == ("2 ['ok', 'ok']", "0 ['ok', 'ok']"), done.stderr


FORKED = """
import os
import svc_tools
from svc_tools.frames.lookup.results import lookups_of
from svc_tools.lookup import look_up
from svc_tools.tables.places import Place

places = [Place("TX", "zip", zip=zip_code) for zip_code in ("78701", "78702")]
client = svc_tools.connect("embedded")
look_up(client, places)
assert client.base_url  # the port is the parent's
child = os.fork()
if not child:
    for used in (client, svc_tools.connect("embedded")):
        run = look_up(used, places)
        print(run.requests, [one.status for one in run.outcomes.values()], flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


FURTHER = """
import json, sys
from pathlib import Path
from random import Random
text = Path("tests/lookup/test_further_column.py").read_text()
exec("import copy" + text.partition("import copy")[2].partition("given = json")[0])
row = 'Column("county_fips", "text", "the FIPS code", "meta.county_fips", "county_fips"),'
with_lines("svc_tools.lookup.columns", (row, 'Column("state_tax",'))
field = "    county_fips: str | None = None\\n", "\\n\\nFOUND_FIELDS ="
with_lines("svc_tools.lookup.outcomes", field)
sent = '"county_fips": self.location.county,', '"source": name,'
with_lines("svc_tools.service.ratebook.resolver", sent)
import svc_tools
(found,) = svc_tools.lookup_many([{"state": "TX", "zip": "78701"}])
print(found[1].found.county_fips)
"""


def test_a_further_column_comes_from_the_book_without_a_line_for_it():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FURTHER],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.split() == ["453"], done.stderr
