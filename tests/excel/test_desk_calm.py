"""A service in trouble: one cell finds out for all of them, and no answer is lost or mixed up."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.desks import Clock, as_shown, desk_of, shown, zips_asked
from support.faults import HANG, KEY, RESET, answer, echo, echoing

from svc_sdk import Svc
from svc_tools.excel.functions import Call, evaluate

DAY = "2026-02-01"
REFUSED = answer(401, b'{"error": {"code": "UNAUTHORIZED", "message": "no such key"}}')
NINE = echoing(rate={"combined_rate": "0.09000"})


def rate(desk, zip_code):
    return shown(desk, "SVC_RATE", "TX", zip_code, DAY)


@pytest.mark.parametrize("trouble", [REFUSED, RESET, HANG])
def test_cells_computed_one_after_the_other_do_not_each_wait_for_a_service_in_trouble(
    trouble, faults, scripted
):
    faults.will(trouble)
    clock = Clock()
    desk = desk_of(scripted, clock=clock, patience=0.1)
    first = rate(desk, "75001")
    asked = len(faults.seen)
    told = {rate(desk, str(75002 + one)) for one in range(50)}
    assert len(faults.seen) == asked
    assert first.startswith(("#FAILED ", "#NOT_ATTEMPTED "))
    (same,) = told
    assert same.startswith("#NOT_ATTEMPTED ")
    faults.will(echo)
    clock.move(seconds=61)
    assert rate(desk, "75001") == rate(desk, "75030") == 0.0825


def test_what_the_cache_knows_is_told_while_the_service_is_in_trouble(faults, scripted, tmp_path):
    cache = tmp_path / "answers.db"
    rate(desk_of(scripted, cache=cache), "75001")
    desk = desk_of(scripted, cache=cache)
    faults.will(REFUSED)
    assert rate(desk, "75002").startswith("#FAILED ")
    assert rate(desk, "75001") == 0.0825


def test_a_refresh_asks_a_service_in_trouble_and_its_answer_ends_the_calm(faults, scripted_desk):
    faults.will(REFUSED)
    rate(scripted_desk, "75001")
    assert rate(scripted_desk, "75002").startswith("#NOT_ATTEMPTED ")
    faults.will(echo)
    assert scripted_desk.refresh().changed == 2
    assert [rate(scripted_desk, one) for one in ("75001", "75002", "75003")] == [0.0825] * 3


def test_a_key_refused_in_the_middle_keeps_what_came_before(faults, scripted_desk):
    faults.will(*[echo] * 30, REFUSED)
    calls = [Call("SVC_RATE", ("TX", float(75000 + row), DAY)) for row in range(300)]
    results = [as_shown(one) for one in evaluate(scripted_desk, calls)]
    assert results.count(0.0825) >= 14  # 16 at once may be refused together
    others = [one for one in results if one != 0.0825]
    assert all(one.startswith(("#FAILED ", "#NOT_ATTEMPTED ")) for one in others)
    assert rate(scripted_desk, "75999").startswith(("#FAILED ", "#NOT_ATTEMPTED "))
    asked = len(faults.seen)
    assert [as_shown(one) for one in evaluate(scripted_desk, calls)] == results
    assert len(faults.seen) == asked < 60


def test_one_place_that_the_service_fails_says_nothing_of_the_others(faults, scripted_desk):
    faults.will(answer(500, b"{}"))
    assert rate(scripted_desk, "75001").startswith("#FAILED ")
    faults.will(echo)
    assert rate(scripted_desk, "75002") == 0.0825


def test_the_minute_of_calm_begins_when_the_failures_came(faults, scripted):
    """A burst of hundreds of places may hang for more than a minute."""
    clock = Clock()

    def slow(_):
        clock.move(seconds=90)
        return REFUSED

    faults.will(slow)
    desk = desk_of(scripted, clock=clock)
    told = rate(desk, "75001")
    faults.will(echo)
    clock.move(seconds=59)
    assert rate(desk, "75001") == told
    assert len(faults.seen) == 1


def test_an_answer_of_a_former_client_is_not_told_after_the_change(faults, scripted):
    desk = desk_of(scripted)
    held, go_on = threading.Event(), threading.Event()

    def later(seen):
        held.set()
        go_on.wait(30)
        return echo(seen)

    faults.will(later, NINE)
    with (
        Svc(f"{KEY}2", base_url=faults.base_url, max_retries=0) as other,
        ThreadPoolExecutor(1) as threads,
    ):
        asked = threads.submit(rate, desk, "75001")
        assert held.wait(30)
        desk.use(other)
        go_on.set()
        assert asked.result(30) == 0.09


def test_a_refresh_is_not_taken_for_done_by_one_of_a_former_client(faults, scripted):
    desk = desk_of(scripted)
    rate(desk, "75001")
    held, go_on = threading.Event(), threading.Event()

    def later(seen):
        held.set()
        go_on.wait(30)
        return echo(seen)

    faults.will(later, echo, NINE)
    with (
        Svc(f"{KEY}2", base_url=faults.base_url, max_retries=0) as other,
        ThreadPoolExecutor(2) as threads,
    ):
        former = threads.submit(desk.refresh)
        assert held.wait(30)
        desk.use(other)
        rate(desk, "75001")
        assert threads.submit(desk.refresh).result(30).changed == 1
        go_on.set()
        assert former.result(30).asked == 1
        assert rate(desk, "75001") == 0.09


def test_one_burst_that_hung_does_not_stop_cells_that_were_answered_meanwhile(faults, scripted):
    clock = Clock()
    desk = desk_of(scripted, clock=clock)
    held, go_on = threading.Event(), threading.Event()

    def hangs(_):
        held.set()
        go_on.wait(30)
        return b"no HTTP"

    faults.will(hangs, echo)
    with ThreadPoolExecutor(1) as threads:
        hung = threads.submit(rate, desk, "75001")
        assert held.wait(30)
        clock.move(seconds=1)
        assert rate(desk, "75002") == 0.0825
        go_on.set()
        assert hung.result(30).startswith("#FAILED ")
    assert rate(desk, "75003") == 0.0825


def test_a_late_answer_does_not_replace_that_of_a_refresh(faults, scripted):
    clock = Clock()
    desk = desk_of(scripted, clock=clock)
    shown(desk, "SVC_RATE", "TX", "75001")  # of today, so that it ends with the day
    clock.move(days=1)
    held, go_on = threading.Event(), threading.Event()

    def late(seen):
        held.set()
        go_on.wait(30)
        return echo(seen)

    faults.will(late, NINE)
    with ThreadPoolExecutor(1) as threads:
        cell = threads.submit(shown, desk, "SVC_RATE", "TX", "75001")
        assert held.wait(30)
        clock.move(seconds=1)
        assert desk.refresh().changed == 1
        go_on.set()
        cell.result(30)
    assert shown(desk, "SVC_RATE", "TX", "75001") == 0.09


def test_the_register_is_told_while_it_is_listed_anew(faults, scripted_desk):
    faults.will(answer(body=b'{"nexus": [], "count": 0}'))
    assert shown(scripted_desk, "SVC_NEXUS_STATUS", "TX") == "not registered"
    held, go_on = threading.Event(), threading.Event()

    def later(_):
        held.set()
        go_on.wait(30)
        return answer(body=b'{"nexus": [], "count": 0}')

    faults.will(later)
    with ThreadPoolExecutor(2) as threads:
        renewed = threads.submit(scripted_desk.renew_register)
        assert held.wait(30)
        told = threads.submit(shown, scripted_desk, "SVC_NEXUS_STATUS", "TX")
        try:
            assert told.result(10) == "not registered"
        finally:
            go_on.set()
        assert renewed.result(30) is None


def test_the_register_of_yesterday_is_not_told_today(faults, scripted):
    clock = Clock()
    desk = desk_of(scripted, clock=clock)
    faults.will(answer(body=b'{"nexus": [], "count": 0}'))
    assert shown(desk, "SVC_NEXUS_STATUS", "TX") == "not registered"
    faults.will(
        answer(body=b'{"nexus": [{"state": "TX", "nexus_type": "physical"}], "count": 1}'), REFUSED
    )
    clock.move(minutes=1)
    assert shown(desk, "SVC_NEXUS_STATUS", "TX") == "not registered"
    clock.move(days=1)
    assert shown(desk, "SVC_NEXUS_STATUS", "TX") == "registered"
    clock.move(days=1)
    assert shown(desk, "SVC_NEXUS_STATUS", "TX").startswith("#FAILED ")


def test_the_days_of_last_week_are_not_paid_for_again(faults, scripted):
    """As with TODAY() in every formula: each day asks about other places."""
    clock = Clock()
    desk = desk_of(scripted, clock=clock)
    for day in range(20, 27):
        shown(desk, "SVC_RATE", "TX", "75001", f"2026-05-{day}")
        clock.move(days=1)
    rate(desk, "75002")
    faults.seen.clear()
    assert desk.refresh().asked == 2
    assert sorted(zips_asked(faults)) == ["75001", "75002"]
    assert desk.answered == 2
