"""Each place is looked up once, and a service in trouble stops no sheet and mixes no results."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from support.faults import HANG, KEY, LISTED, RESET, answer, echo, echoing
from support.forks import in_child
from support.spreadsheets import Clock, as_shown, desk_of, shown, zips_asked
from support.systems import posix

from svc_sdk import Svc
from svc_tools.config import ConfigurationError
from svc_tools.excel import desk as desks
from svc_tools.excel import settings
from svc_tools.excel.desk import the_desk
from svc_tools.excel.functions import FunctionCall, evaluate, formula_places, refresh_plan
from svc_tools.excel.values import OMITTED
from svc_tools.lookup.cache import Cache

DAY = "2026-02-01"
REFUSED = answer(401, b'{"error": {"code": "UNAUTHORIZED", "message": "no such key"}}')
NINE = echoing(rate={"combined_rate": "0.09000"})
UNKNOWN = answer(404, b'{"error": {"code": "NOT_FOUND", "message": "unknown ZIP"}}')
DOWN = answer(503, b'{"error": {"code": "DOWN", "message": "not now"}}')


def rates(desk, *zips, day=DAY):
    return [rate(desk, one, day) for one in zips]


def rate(desk, zip_code, day=DAY):
    return shown(desk, "SVC_RATE", "TX", zip_code, day)


def test_cells_say_that_the_address_of_the_service_is_wrong(faults, scripted_desk):
    faults.will(UNKNOWN)
    for cell in rates(scripted_desk, "78701", "78702"):
        assert "The address of the service is wrong" in cell
        assert "UNRESOLVED" not in cell
    assert len(faults.seen) == 2


def used(*zips, day=DAY):
    """The calls of cells, one for each ZIP."""
    return [[FunctionCall("SVC_RATE", ("TX", one, day))] for one in zips]


def refreshed(desk, *zips, day=DAY):
    return desk.refresh(refresh_plan(desk, used(*zips, day=day)).places)


def since(desk, moment, *zips, day=DAY):
    """What cells show that are computed after a refresh."""
    calls = [call for calls in used(*zips, day=day) for call in calls]
    return [as_shown(one) for one in evaluate(desk, calls, since=moment)]


class Held:
    """A step of the server that waits until the test lets it go on."""

    def __init__(self, step=echo):
        self.began, self._go_on, self._step = threading.Event(), threading.Event(), step

    def __call__(self, seen):
        self.began.set()
        self._go_on.wait(30)
        return self._step(seen) if callable(self._step) else self._step

    def begun(self):
        assert self.began.wait(30)

    def go_on(self):
        self._go_on.set()


def others_wait(desk):
    """An event that is set as soon as a thread finds that its place is under way."""
    found = threading.Event()

    class InFlight(dict):
        def get(self, place):
            if (one := super().get(place)) is not None:
                found.set()
            return one

    desk._session.in_flight = InFlight()
    return found


def test_formulas_of_different_functions_share_their_places(faults, scripted_desk):
    names = ("SVC_RATE", "SVC_STATUS", "SVC_CONFIDENCE", "SVC_WARNINGS", "SVC_ASOF", "SVC_SOURCE")
    calls = [FunctionCall(name, ("TX", "75001", DAY)) for name in names]
    calls += [
        FunctionCall("SVC_TAX", (100.0, "TX", 75001.0, 46054.0)),
        FunctionCall("SVC_LOOKUP", ([["TX", "75001", DAY]],)),
        FunctionCall("SVC_FIELD", ("confidence", "TX", "75001", DAY)),
    ]
    evaluate(scripted_desk, calls)
    assert zips_asked(faults) == ["75001"]


def test_threads_share_what_is_under_way(faults, scripted_desk):
    held = Held()
    faults.will(held)
    waiting = others_wait(scripted_desk)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(rates, scripted_desk, "75001")
        held.begun()
        second = threads.submit(
            evaluate,
            scripted_desk,
            [FunctionCall("SVC_RATE", ("TX", one, DAY)) for one in ("75001", "75002")],
        )
        assert waiting.wait(30)
        held.go_on()
        assert first.result(30) == [0.0825]
        assert second.result(30) == [0.0825, 0.0825]
    assert sorted(zips_asked(faults)) == ["75001", "75002"]


def test_a_lookup_that_breaks_releases_whoever_waits_for_it(scripted_desk, monkeypatch):
    held = Held(step=None)

    def breaks(*_, **__):
        held(None)
        raise KeyboardInterrupt

    monkeypatch.setattr(desks, "look_up", breaks)
    waiting = others_wait(scripted_desk)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(rates, scripted_desk, "75001")
        held.begun()
        second = threads.submit(rates, scripted_desk, "75001")
        assert waiting.wait(30)
        held.go_on()
        with pytest.raises(KeyboardInterrupt):
            first.result(30)
        assert second.result(30)[0].startswith("#NOT_ATTEMPTED ")
    assert not scripted_desk._session.in_flight


def test_an_unforeseen_error_is_a_sentence_without_its_text(scripted_desk, monkeypatch):
    def breaks(*_, **__):
        raise RuntimeError(f"secret {KEY}")

    monkeypatch.setattr(desks, "look_up", breaks)
    cell = rate(scripted_desk, "75001")
    assert cell.startswith("#FAILED ")
    assert "RuntimeError" in cell
    assert "secret" not in cell


def test_a_failure_is_not_looked_up_again_for_a_minute(faults, scripted):
    clock = Clock()
    desk = desk_of(scripted, clock=clock)
    faults.will(DOWN)
    (told,) = rates(desk, "75001")
    assert told.startswith("#FAILED ")
    assert "minute" in told
    faults.will(echo)
    clock.move(seconds=59)
    assert rates(desk, "75001") == [told]
    assert len(faults.seen) == 1
    clock.move(seconds=1)
    assert rates(desk, "75001") == [0.0825]


def test_rates_of_today_end_with_the_day_and_those_of_past_days_stay(faults, scripted):
    clock = Clock()
    desk = desk_of(scripted, clock=clock)
    evaluate(
        desk,
        [FunctionCall("SVC_RATE", ("TX", "75001")), FunctionCall("SVC_RATE", ("TX", "75002", DAY))],
    )
    faults.will(NINE)
    clock.move(hours=1)
    assert shown(desk, "SVC_RATE", "TX", "75001") == 0.0825
    clock.move(hours=24)
    assert shown(desk, "SVC_RATE", "TX", "75001") == 0.09
    assert rates(desk, "75002") == [0.0825]
    assert zips_asked(faults).count("75002") == 1


def test_rates_from_before_the_clock_was_set_back_are_looked_up_again(faults, scripted):
    clock = Clock()
    clock.move(days=365)
    desk = desk_of(scripted, clock=clock)
    assert rates(desk, "75001") == [0.0825]
    faults.will(NINE)
    clock.move(days=-365)
    assert rates(desk, "75001") == [0.09]
    faults.will(echo)
    assert rates(desk, "75001") == [0.09]


def test_a_service_that_hangs_does_not_hang_the_sheet(faults, scripted):
    faults.will(HANG)
    desk = desk_of(scripted, patience=0.2)
    (told,) = rates(desk, "75001")
    assert told.startswith(("#NOT_ATTEMPTED ", "#FAILED "))
    assert "0.3 s" in told  # what it may take: 0.2 s, and a tenth for its place


def test_refresh_shows_the_old_results_until_the_new_ones_are_in(faults, scripted):
    desk = desk_of(scripted)
    assert rates(desk, "75001", "75002") == [0.0825, 0.0825]
    held = Held(NINE)
    faults.will(held)
    with ThreadPoolExecutor(2) as threads:
        report = threads.submit(refreshed, desk, "75001", "75002")
        held.begun()
        assert rates(desk, "75001", "75002") == [0.0825, 0.0825]
        held.go_on()
        assert report.result(30).changed == 2
    assert rates(desk, "75001", "75002") == [0.09, 0.09]


@pytest.mark.parametrize("trouble", [DOWN, REFUSED, RESET])
def test_a_refresh_of_a_service_that_is_away_changes_nothing(faults, scripted_desk, trouble):
    rates(scripted_desk, "75001", "75002")
    faults.will(trouble)
    report = refreshed(scripted_desk, "75001", "75002")
    assert (report.happened, report.requested, report.failed) == (False, 2, 2)
    assert report.why in report.sentence
    assert rates(scripted_desk, "75001", "75002") == [0.0825, 0.0825]
    # where no place is known before cells are computed, the service itself is tried
    assert not scripted_desk.refresh(()).happened
    faults.will(LISTED)
    assert scripted_desk.refresh(()).happened


def test_a_place_without_a_new_result_shows_its_failure_and_never_the_old_rate(
    faults, scripted, tmp_path, monkeypatch
):
    monkeypatch.setattr(desks, "_PAUSE", timedelta(0))  # after it the place is looked up again
    desk = desk_of(scripted, cache=tmp_path / "answers.db")
    rates(desk, "75001", "75002")
    faults.will(lambda seen: DOWN if "75002" in seen.target else NINE(seen))
    report = refreshed(desk, "75001", "75002")
    assert (report.happened, report.changed, report.failed) == (True, 1, 1)
    for shown_now in (since(desk, report.since, "75001", "75002"), rates(desk, "75001", "75002")):
        assert shown_now[0] == 0.09
        assert shown_now[1].startswith("#FAILED ")
    # nor is the old rate used in another session
    assert rates(desk_of(scripted, cache=tmp_path / "answers.db"), "75002")[0].startswith(
        "#FAILED "
    )
    faults.will(echo)
    assert rates(desk, "75001", "75002") == [0.09, 0.0825]


def test_a_fresh_process_renews_every_place_that_its_cells_use(faults, scripted, tmp_path):
    cache = tmp_path / "answers.db"
    zips = ("75001", "75002", "75003")
    rates(desk_of(scripted, cache=cache), *zips)
    desk = desk_of(scripted, cache=cache)
    plan = refresh_plan(desk, used(*zips, *zips, "", "x"), unknown=1)
    assert (len(plan.places), plan.cells, plan.unknown) == (3, 6, 1)
    assert "3 lookups for 6 cells" in plan.sentence
    faults.seen.clear()
    faults.will(NINE)
    report = desk.refresh(plan.places)
    assert (report.requested, report.changed) == (3, 3)
    assert sorted(zips_asked(faults)) == sorted(zips)  # as many requests as it said
    assert since(desk, report.since, *zips) == rates(desk, *zips) == [0.09] * 3
    assert rates(desk_of(scripted, cache=Cache(cache)), *zips) == [0.09] * 3
    assert len(faults.seen) == 3


def test_after_a_refresh_no_older_result_of_memory_or_disk_is_used(faults, scripted, tmp_path):
    cache = tmp_path / "answers.db"
    rates(desk_of(scripted, cache=cache), "75001", "75002", "75003")
    desk = desk_of(scripted, cache=cache)
    rates(desk, "75001")  # in memory, from the disk
    faults.will(NINE)
    press = refreshed(desk, "75003").since
    assert rates(desk, "75002") == [0.0825]  # another workbook's: from the disk, after the press
    assert since(desk, press, "75001", "75002") == [0.09, 0.09]
    requests = len(faults.seen)
    assert since(desk, press, "75001", "75002") == [0.09, 0.09]
    # nor is what was looked up after it requested once more in another process
    assert since(desk_of(scripted, cache=cache), press, "75001", "75002") == [0.09, 0.09]
    assert len(faults.seen) == requests


def test_after_a_refresh_no_result_requested_before_it_is_used(faults, scripted_desk):
    held = Held(echoing(rate={"combined_rate": "0.08250"}))
    faults.will(held, NINE)
    with ThreadPoolExecutor(2) as threads:
        before = threads.submit(rates, scripted_desk, "75001")
        held.begun()
        press = refreshed(scripted_desk, "75002").since
        after = threads.submit(since, scripted_desk, press, "75001")
        assert after.result(30) == [0.09]  # it does not wait for the other one
        held.go_on()
        before.result(30)
    assert since(scripted_desk, press, "75001") == rates(scripted_desk, "75001") == [0.09]
    assert len(faults.seen) == 3
    assert not scripted_desk._session.in_flight


def test_a_refresh_of_a_time_to_come_is_not_billed_at_each_recalculation(faults, scripted):
    clock = Clock()
    desk = desk_of(scripted, clock=clock)
    clock.move(days=1)
    press = refreshed(desk, "75001").since
    clock.move(days=-1)
    for _ in range(3):
        assert since(desk, press, "75002") == [0.0825]
    assert zips_asked(faults) == ["75001", "75002"]


def test_another_client_starts_without_results(faults, scripted_desk, other):
    rates(scripted_desk, "75001")
    faults.will(NINE)
    scripted_desk.use(other)
    assert scripted_desk.cached == 0
    assert scripted_desk.oldest is None
    assert rates(scripted_desk, "75001") == [0.09]
    assert scripted_desk.client is other
    assert scripted_desk.source == faults.base_url


def test_lookups_are_spent_when_the_service_responds_and_it_says_how_many_are_left(
    faults, scripted, other, tmp_path
):
    cache = Cache(tmp_path / "cache.db")
    desk = desk_of(scripted, cache=cache)
    assert (desk.spent, desk.left) == (0, None)
    faults.will(answer(x_quota_remaining="41"), UNKNOWN, DOWN)
    rates(desk, "78701")
    rates(desk, "78701")  # cached
    assert (desk.spent, desk.left) == (1, 41)
    assert desk_of(scripted, cache=cache).left == 41  # as when Excel starts again
    rates(desk, "75002")  # has no rate, which counts too
    assert (desk.spent, desk.left) == (2, 41)
    assert rates(desk, "75003")[0].startswith("#FAILED ")
    assert (desk.spent, len(faults.seen)) == (2, 3)
    desk.use(other)
    assert (desk.spent, desk.left) == (0, None)  # another account


def test_what_a_formula_would_look_up_is_counted_and_not_requested(faults, scripted_desk):
    def uncached(*arguments, name="SVC_RATE"):
        return scripted_desk.uncached(formula_places(scripted_desk, FunctionCall(name, arguments)))

    zips = [["75001"], ["75002"], [None], ["x"]]
    assert uncached("TX", zips, DAY) == 2
    assert faults.seen == []
    rates(scripted_desk, "75001")
    assert uncached("TX", zips, DAY) == 1
    assert uncached() == 0
    assert uncached(name="SVC_FIELDS") == 0
    assert refresh_plan(scripted_desk, []).sentence.startswith("No cell ")


def test_many_threads_look_up_each_place_once(faults, scripted_desk):
    drawn = random.Random(6)  # noqa: S311 - the same each time, not a secret
    bursts = [[str(75000 + drawn.randrange(100)) for _ in range(80)] for _ in range(16)]
    with ThreadPoolExecutor(8) as threads:
        for result in threads.map(lambda zips: rates(scripted_desk, *zips), bursts):
            assert set(result) == {0.0825}
    asked = zips_asked(faults)
    assert len(asked) == len(set(asked)) == len({one for zips in bursts for one in zips})


def test_the_desk_of_a_process_uses_the_settings_and_closes_what_it_opened(faults, monkeypatch):
    made = []

    def client():
        made.append(Svc(KEY, base_url=faults.base_url, max_retries=0))
        return made[-1]

    monkeypatch.setattr(settings, "client", client)
    monkeypatch.setattr(desks, "_desks", [])
    desk = the_desk()
    assert the_desk() is desk
    assert made == []  # nobody is asked before the first cell
    assert rates(desk, "75001") == [0.0825]
    assert desk.source == faults.base_url
    desk.use(None)  # as after a change of the settings
    assert made[0]._http.is_closed
    assert rates(desk, "75001") == [0.0825]
    assert len(made) == 2
    desk.use(made[0])
    assert made[1]._http.is_closed


@posix
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_the_desk_of_a_forked_child_waits_for_no_thread_of_the_parent(faults, monkeypatch):
    monkeypatch.setattr(settings, "client", lambda: Svc(KEY, base_url=faults.base_url))
    monkeypatch.setattr(desks, "_desks", [])
    held = Held()
    faults.will(held, echo)
    with ThreadPoolExecutor(1) as threads:
        cell = threads.submit(rates, the_desk(), "75001")
        held.begun()
        try:
            assert in_child(lambda: rates(the_desk(), "75001", "75002")) == [0.0825, 0.0825]
        finally:
            held.go_on()
        assert cell.result() == [0.0825]
    assert rates(the_desk(), "75001") == [0.0825]
    assert len(faults.seen) == 3


@pytest.mark.parametrize("trouble", [REFUSED, RESET, HANG])
def test_cells_computed_one_after_the_other_do_not_each_wait_for_a_service_in_trouble(
    trouble, faults, scripted
):
    faults.will(trouble)
    clock = Clock()
    desk = desk_of(scripted, clock=clock, patience=0.1)
    assert rate(desk, "75001").startswith(("#FAILED ", "#NOT_ATTEMPTED "))
    requests = len(faults.seen)
    (same,) = {rate(desk, str(75002 + one)) for one in range(50)}
    assert same.startswith("#NOT_ATTEMPTED ")
    assert len(faults.seen) == requests
    faults.will(echo)
    clock.move(seconds=61)
    assert rate(desk, "75001") == rate(desk, "75030") == 0.0825


def test_a_refresh_tries_a_service_in_trouble_and_its_result_ends_the_pause(faults, scripted_desk):
    faults.will(REFUSED)
    rate(scripted_desk, "75001")
    assert rate(scripted_desk, "75002").startswith("#NOT_ATTEMPTED ")
    faults.will(echo)
    assert refreshed(scripted_desk, "75001", "75002").changed == 2
    assert [rate(scripted_desk, one) for one in ("75001", "75002", "75003")] == [0.0825] * 3


def test_a_key_refused_in_the_middle_keeps_what_came_before(faults, scripted_desk):
    faults.will(*[echo] * 30, REFUSED)
    calls = [FunctionCall("SVC_RATE", ("TX", float(75000 + row), DAY)) for row in range(300)]
    results = [as_shown(one) for one in evaluate(scripted_desk, calls)]
    assert KEY not in str(results)
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


def test_the_pause_of_a_minute_begins_when_the_failures_came(faults, scripted):
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


def test_cells_computed_while_the_settings_cannot_be_used_do_not_make_the_pause_longer(
    faults, scripted, monkeypatch
):
    def locked():
        raise ConfigurationError("the keyring is locked")

    monkeypatch.setattr(settings, "client", locked)
    clock = Clock()
    desk = desk_of(None, clock=clock)
    for second in range(3):
        assert rate(desk, str(75001 + second)).startswith("#FAILED ")
        clock.move(seconds=20)
    monkeypatch.setattr(settings, "client", lambda: scripted)
    clock.move(seconds=1)
    assert rates(desk, "75001", "75009") == [0.0825, 0.0825]


@pytest.fixture
def other(faults):
    """A client of another account."""
    with Svc(f"{KEY}2", base_url=faults.base_url, max_retries=0) as client:
        yield client


def test_a_result_of_a_former_client_is_not_shown_after_the_change(faults, scripted_desk, other):
    held = Held()
    faults.will(held, NINE)
    with ThreadPoolExecutor(1) as threads:
        cell = threads.submit(rate, scripted_desk, "75001")
        held.begun()
        scripted_desk.use(other)
        held.go_on()
        assert cell.result(30) == 0.09


def test_one_burst_that_hung_does_not_stop_later_cells(faults, scripted):
    clock = Clock()
    desk = desk_of(scripted, clock=clock)
    held = Held(b"no HTTP")
    faults.will(held, echo)
    with ThreadPoolExecutor(1) as threads:
        hung = threads.submit(rate, desk, "75001")
        held.begun()
        clock.move(seconds=1)
        assert rate(desk, "75002") == 0.0825
        held.go_on()
        assert hung.result(30).startswith("#FAILED ")
    assert rate(desk, "75003") == 0.0825


def test_a_late_result_does_not_replace_that_of_a_refresh(faults, scripted):
    clock = Clock()
    desk = desk_of(scripted, clock=clock)
    shown(desk, "SVC_RATE", "TX", "75001")  # of today, so that it ends with the day
    clock.move(days=1)
    held = Held()
    faults.will(held, NINE)
    with ThreadPoolExecutor(1) as threads:
        cell = threads.submit(shown, desk, "SVC_RATE", "TX", "75001")
        held.begun()
        clock.move(seconds=1)
        assert refreshed(desk, "75001", day=OMITTED).changed == 1
        held.go_on()
        cell.result(30)
    assert shown(desk, "SVC_RATE", "TX", "75001") == 0.09


def test_the_register_is_shown_while_it_is_listed_again(faults, scripted_desk):
    faults.will(LISTED)
    assert shown(scripted_desk, "SVC_NEXUS_STATUS", "TX") == "not registered"
    held = Held(LISTED)
    faults.will(held)
    with ThreadPoolExecutor(2) as threads:
        renewed = threads.submit(scripted_desk.refresh_register)
        held.begun()
        cell = threads.submit(shown, scripted_desk, "SVC_NEXUS_STATUS", "TX")
        try:
            assert cell.result(10) == "not registered"
        finally:
            held.go_on()
        assert renewed.result(30) is None


def test_the_register_of_yesterday_is_not_shown_today(faults, scripted):
    clock = Clock()
    desk = desk_of(scripted, clock=clock)
    texas = answer(body=b'{"nexus": [{"state": "TX", "nexus_type": "physical"}], "count": 1}')
    faults.will(LISTED)
    assert shown(desk, "SVC_NEXUS_STATUS", "TX") == "not registered"
    faults.will(texas, REFUSED)
    for minutes, status in ((1, "not registered"), (1440, "registered"), (1440, "#FAILED")):
        clock.move(minutes=minutes)
        assert shown(desk, "SVC_NEXUS_STATUS", "TX").startswith(status)


def test_what_expired_is_forgotten_after_a_day(faults, scripted):
    """As with TODAY() in every formula: each day asks about other places."""
    clock = Clock()
    desk = desk_of(scripted, clock=clock)
    for day in range(20, 27):
        shown(desk, "SVC_RATE", "TX", "75001", f"2026-05-{day}")
        clock.move(days=1)
    rate(desk, "75002")
    assert desk.cached == 1
