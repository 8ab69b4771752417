"""The pace of a run: what it decides, without a clock of its own."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import random
import signal
import threading
import time
from collections import Counter
from datetime import datetime, timedelta
from itertools import product
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.answers import places, statuses
from support.counting import BODY
from support.examples import examples, spread
from support.faults import KEY, answer, echo
from support.systems import posix
from support.waiting import until

from svc_sdk import Svc
from svc_sdk.wire import Failure, Reply
from svc_tools.lookup import engine, look_up
from svc_tools.lookup.pace import Pace, rate_limit


def pace(most=16, *, refused=False):
    one = Pace(most, chance=lambda: 0.5)
    assert (one.limit, one.ready_at) == (most, 0.0)
    one.responded(began=98.9, now=99.0)
    if refused:
        one.refused(began=99.9, now=100.0, retry_after=None)
    return one


def good(one, count, *, at, took=0.01, every=0.001):
    for number in range(count):
        one.responded(at + number * every - took, at + number * every)
    return at + count * every


def test_a_burst_of_429s_halves_once():
    one = pace()
    for _ in range(10):
        one.refused(began=99.9, now=100.0, retry_after=None)
    assert (one.limit, one.ready_at) == (1, 100.5)  # most were refused: a pause, then a single one
    good(one, 7, at=101.0)
    assert one.limit == 8
    one = pace()
    one.refused(99.9, 100.0, retry_after=0.0)  # a delay of nothing is no pause
    assert (one.ready_at, one.waited(200.0)) == (0.0, 0.0)


def test_a_429_to_a_request_that_began_later_halves_again_but_not_within_a_second():
    one = pace(refused=True)
    one.responded(100.0, 100.1)
    one.refused(100.2, 100.3, None)
    assert one.limit == 8
    one.responded(100.4, 100.5)
    one.refused(101.2, 101.3, None)
    assert one.limit == 4


def test_it_never_falls_below_one():
    one = pace(2)
    for second in range(10):
        one.responded(100.0 + 2 * second, 100.1 + 2 * second)
        one.refused(100.5 + 2 * second, 100.6 + 2 * second, None)
    assert one.limit == 1


def test_good_responses_let_it_grow_slowly_up_to_what_is_allowed():
    one = pace(refused=True)
    good(one, 7, at=100.1, every=0.0001)  # fewer than are under way
    assert one.limit == 8
    one = pace(refused=True)
    grown = []
    for step in range(20):
        good(one, 20, at=100.2 + step * 0.2, every=0.0001)
        grown.append(one.limit)
    assert grown[:4] == [9, 10, 11, 12]
    assert grown[-1] == 16


def test_a_delay_that_was_named_keeps_every_request_back():
    one = pace()
    one.refused(99.9, 100.0, 2.0)
    assert one.ready_at == 102.0
    one.wait(100.5, 0.5)  # a shorter one changes nothing
    assert one.ready_at == 102.0
    one.wait(101.0, 3.0)
    assert one.ready_at == 104.0


def test_the_first_requests_after_a_pause_are_spread():
    one = pace(4)
    one.wait(100.0, 2.0)
    starts = []
    now = one.ready_at
    for _ in range(8):
        starts.append(now)
        one.started(now)
        now = max(now, one.ready_at)
    assert starts[:4] == pytest.approx([102.0, 102.05, 102.1, 102.15])
    assert starts[6] == starts[7]  # the ramp is over


@pytest.mark.parametrize("after", [None, 0.0])
def test_429s_in_a_row_without_a_delay_pause_as_the_backoff_does(after):
    one = pace()
    ready = []
    now = 100.0
    for _ in range(6):
        one.refused(now, now + 0.1, after)
        ready.append(one.ready_at - (now + 0.1))
        now += 100
    assert ready[2:] == pytest.approx([0.5, 1.0, 2.0, 4.0])
    assert max(ready[:2]) < 0  # one or two are no reason


def test_a_window_of_ten_seconds_is_outlasted_though_the_service_names_no_delay():
    one = pace()
    now = 100.0
    while now < 110.0:
        one.refused(now, now + 0.1, 0.0)
        assert not one.is_shut(3, 0.0)
        now = max(one.ready_at, now + 0.1)


def test_pauses_that_overlap_are_counted_once_and_only_as_far_as_they_went():
    one = pace()
    one.wait(100.0, 2.0)
    one.wait(101.0, 3.0)
    assert one.waited(110.0) == pytest.approx(4.0)
    assert one.waited(103.0) == pytest.approx(3.0)


def test_answers_that_become_far_slower_halve_it_and_load_is_found_to_be_the_cause():
    one = pace(64)
    now = good(one, 64, at=100.0, took=0.05)
    now = good(one, 64, at=now + 5, took=2.0)
    assert one.limit == 32
    now = good(one, 32, at=now + 5, took=0.05)
    assert one.limit >= 32


def test_a_service_that_is_slow_whatever_the_load_is_not_starved():
    one = pace(64)
    now = good(one, 64, at=100.0, took=0.05)
    limits = []
    for _ in range(20):
        now = good(one, 64, at=now + 5, took=2.0)
        limits.append(one.limit)
    assert limits[0] == 32
    assert min(limits) == 32  # halving did not help, so it is not done again
    assert limits[-1] == 64


def test_slow_but_not_much_slower_than_ever_is_left_alone():
    one = pace(64)
    now = good(one, 640, at=100.0, took=3.0)
    good(one, 640, at=now + 5, took=5.0)
    assert one.limit == 64


def test_a_request_hangs_when_it_takes_far_longer_than_the_others():
    one = pace()
    assert one.hangs_after() == pytest.approx(0.5)
    good(one, 64, at=100.0, took=1.0)
    assert one.hangs_after() == pytest.approx(4.5)


def test_requests_start_one_by_one_where_the_limit_of_the_service_is_used_up():
    one = pace(16)
    one.limited(100.0, left=40, under_way=15, interval=0.2)
    one.started(100.0)
    assert one.ready_at == 0.0  # there is room for all
    one.limited(100.1, left=9, under_way=10, interval=0.25)
    one.started(100.2)
    assert one.ready_at == pytest.approx(100.45)
    one.limited(100.3, left=10, under_way=1, interval=1.0)  # whole seconds: less exact
    one.started(100.5)
    assert one.ready_at == pytest.approx(100.75)
    one.limited(100.8, left=17, under_way=1, interval=0.25)
    one.started(100.9)
    assert one.ready_at == pytest.approx(100.75)  # not moved: there is room for all again


def test_where_nothing_is_left_the_next_request_waits_until_one_is():
    one = pace(16)
    one.limited(100.0, left=0, under_way=0, interval=1.5)
    assert (one.ready_at, one.waited(200.0)) == (101.5, 1.5)


OVER = "Wed, 21 Oct 2015 07:28:00 GMT"


def limited(after):
    return answer(429, b'{"error": {"code": "RATE_LIMITED"}}', retry_after=after)


def with_limit(seen, limit, left, reset):
    """The usual response with the headers of a limit."""
    headers = b"RateLimit-Limit: %d\r\nRateLimit-Remaining: %d\r\nRateLimit-Reset: %d\r\n\r\n"
    return echo(seen).replace(b"\r\n\r\n", b"\r\n" + headers % (limit, left, reset), 1)


@pytest.fixture
def client(faults):
    with Svc(KEY, base_url=faults.base_url) as client:
        yield client


@posix
def test_a_long_pause_is_reported_and_a_ctrl_c_ends_it_at_once(client, faults, caplog):
    faults.will(*[echo] * 5, limited("600"))

    def interrupt():
        with contextlib.suppress(AssertionError):  # the run has failed by then
            until(lambda: "requires a pause of 600 s" in caplog.text)
        os.kill(os.getpid(), signal.SIGINT)

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    run = look_up(client, places(30), concurrency=1)
    watcher.join()
    assert run.stopped == "interrupted"
    assert statuses(run) == {"ok": 5, "not_attempted": 25}
    (record,) = caplog.records
    assert record.levelname == "WARNING"  # what Python shows where nobody has set logging up


def test_a_pause_beyond_the_deadline_ends_the_run_at_once(client, faults):
    faults.will(*[echo] * 5, limited("3600"), echo)
    began = time.monotonic()
    run = look_up(client, places(30), concurrency=1, deadline=40)
    assert time.monotonic() - began < 20
    assert "3,600 s" in run.stopped
    assert statuses(run) == {"ok": 5, "not_attempted": 25}


@pytest.mark.parametrize("first", [0, 30])
def test_a_service_that_refuses_everything_ends_the_run_and_asked_for_no_pause(first, caplog):
    service = Simulated(lambda sim, _: "ok" if sim.requests <= first else (429, None))
    outcomes, stopped = service.run(2_000)
    assert "429" in stopped
    assert Counter(one.status for one in outcomes.values())["ok"] == first
    # as long as the client tries one place; a service that did respond may do so in a minute again
    assert service.loop.time() == pytest.approx(61.5 if first else 3.5, abs=1.0)
    assert max(service.sent.values()) <= 2
    assert "requires" not in caplog.text
    assert ("a pause of 30 s" in caplog.text) == (first > 0)


def test_a_429_that_arrives_first_does_not_end_a_run_without_retries():
    service = Simulated(lambda sim, _: (429, None) if sim.requests == 1 else "ok")
    outcomes, stopped = service.run(100, max_retries=0)
    assert stopped is None
    assert Counter(one.status for one in outcomes.values()) == {"ok": 99, "failed": 1}


@pytest.mark.parametrize("after", ["-5", "NaN", "inf", "1e9", "soon", "5, 7", "", OVER])
def test_a_delay_that_cannot_be_read_is_the_usual_one(client, faults, after, caplog):
    faults.will(echo, limited(after), echo)
    run = look_up(client, places(5), concurrency=1)
    assert statuses(run) == {"ok": 5}
    assert run.requests == 6
    assert caplog.text == ""
    assert run.waited == 0.0 or after != OVER


def test_where_the_last_request_of_a_limit_is_used_the_next_waits_for_its_share(client, faults):
    faults.will(echo, lambda seen: with_limit(seen, 60, 0, 12), echo)
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


def test_a_service_with_a_limit_is_used_as_fast_as_it_lets_in(client, faults):
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
        return with_limit(seen, 200 + left, left, 10)

    faults.will(limiting)
    run = look_up(client, places(60))
    assert statuses(run) == {"ok": 60}
    assert bucket["refused"] <= 12  # those under way when it was first empty; without pacing 50


# a service in virtual time


class VirtualTime(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next thing that is to happen.

    Args:
        began: what it shows at first: the seconds since the machine was started.
        most: the seconds after which it fails.
    """

    def __init__(self, began=0.0, most=100_000):
        super().__init__()
        self.now = began
        # a timer goes off so much too early at most; what is smaller than a step of the clock is 0
        self._clock_resolution = max(self._clock_resolution, 4 * math.ulp(began))
        select = self._selector.select

        def jump(timeout):
            assert timeout is not None
            if timeout:  # it may be too small to count
                later = self.now + max(timeout, 1e-9)
                self.now = max(later, math.nextafter(self.now, math.inf))
                assert self.now - began < most, "the run does not end"
            return select(0)

        self._selector.select = jump

    def time(self):
        return self.now


class Simulated:
    """A service that a function of it and of the time makes respond to each request.

    It gives "ok", "garbage", "reset", "timeout", or a status with its `Retry-After`, with `None`,
    or with other headers.
    """

    def __init__(self, respond, latency=0.02, **times):
        self.respond, self.latency, self.loop = respond, latency, VirtualTime(**times)
        self.sent, self.requests, self.in_flight = Counter(), 0, 0

    async def exchange(self, call):
        zip_code = dict(call.params)["zip"]
        self.sent[zip_code] += 1
        self.requests += 1
        self.in_flight += 1
        kind = self.respond(self, self.loop.time())
        await asyncio.sleep(10.0 if kind == "timeout" else self.latency)
        self.in_flight -= 1
        if isinstance(kind, tuple):
            status, after = kind
            named = {} if after is None else {"retry-after": str(after)}
            return Reply(status, after if isinstance(after, dict) else named, b"")
        if kind in {"reset", "timeout"}:
            return Failure(kind, retryable=kind == "timeout")
        return Reply(200, {}, (BODY % zip_code).encode() if kind == "ok" else b"<html>")

    async def close(self):
        pass

    def run(self, count, *, concurrency=16, max_retries=3):
        """The outcomes of so many places, and why the run ended early."""
        outcomes = {}

        async def opened(*_):
            return self

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engine, "open_sender", opened)
            patch.setattr(engine, "time", SimpleNamespace(monotonic=self.loop.time))
            with Svc(KEY, base_url="http://127.0.0.1:9", max_retries=max_retries) as client:
                options = engine.RunOptions(concurrency=concurrency)
                run = engine.Engine(client, options, outcomes.update, None)
                run.feed(places(count))
                run.close_feed()
                with asyncio.Runner(loop_factory=lambda: self.loop) as runner:
                    runner.run(run.run())
        assert run.requests == self.requests == sum(self.sent.values())
        assert run.asked == len(self.sent)
        return outcomes, run.stopped


def admitting(rate, most, after):
    """Admits so many a second, and so many at once."""
    bucket = [float(most), 0.0]

    def respond(_, now):
        bucket[:] = min(most, bucket[0] + (now - bucket[1]) * rate), now
        if bucket[0] < 1:
            return 429, after
        bucket[0] -= 1
        return "ok"

    return respond


LIMITS = [(20, 20, 1), (20, 1, 1), (1, 1, 1), (1, 100, 1), (3, 2, 1), (20, 20, None)]
SEEDS = [0, 388, 974]
"""The last two failed a place in 16 at once."""


@pytest.mark.parametrize(
    ("limit", "concurrency", "seed"), spread(product(LIMITS, [1, 16, 512], SEEDS), 20)
)
def test_a_limit_of_the_service_fails_no_place(limit, concurrency, seed):
    rate, most, after = limit
    random.seed(seed)
    service = Simulated(admitting(rate, most, after))
    count = 600 if rate > 1 else 150
    outcomes, stopped = service.run(count, concurrency=concurrency)
    assert stopped is None
    assert Counter(one.status for one in outcomes.values()) == {"ok": count}
    assert max(service.sent.values()) <= 4


SHARES = st.fixed_dictionaries(
    {
        kind: st.sampled_from([0.0, 0.0, 0.01, 0.1, 0.4, 1.0])
        for kind in ["garbage", "reset", "timeout", (429, None), (429, 0), (429, 1), (503, None)]
    }
)


@examples(15, of=60)
@given(
    shares=SHARES,
    concurrency=st.sampled_from([1, 16, 512]),
    max_retries=st.integers(0, 4),
    seed=st.integers(),
)
def test_whatever_a_service_does_every_place_ends_within_its_attempts(
    shares, concurrency, max_retries, seed
):
    chance = random.Random(seed)  # noqa: S311 - a script, not a secret
    weights = [*shares.values(), 0.3]
    service = Simulated(lambda *_: chance.choices([*shares, "ok"], weights)[0])
    outcomes, stopped = service.run(300, concurrency=concurrency, max_retries=max_retries)
    assert max(service.sent.values()) <= max_retries + 1
    if stopped is None:
        assert outcomes.keys() == set(places(300))
        assert {one.status for one in outcomes.values()} <= {"ok", "failed"}
    for place, outcome in outcomes.items():  # only what was tried to the end has failed
        if outcome.status == "failed" and stopped is None:
            assert service.sent[place.zip] == max_retries + 1


def shares(kinds):
    """Responds so to each share of the requests, and well to the rest."""
    chance = random.Random(0)  # noqa: S311 - a script, not a secret
    return lambda *_: chance.choices([*kinds, "ok"], [*kinds.values(), 1 - sum(kinds.values())])[0]


def test_requests_that_hang_after_a_pause_keep_no_other_from_starting():
    service = Simulated(shares({(429, 1): 0.05, "timeout": 0.05}))
    outcomes, stopped = service.run(240)
    assert stopped is None
    assert Counter(one.status for one in outcomes.values()) == {"ok": 240}
    assert service.loop.time() < 40  # 60 and more where each of them is waited for


def test_a_long_pause_early_in_a_run_is_not_repeated_at_its_end():
    busy = shares({(503, None): 0.3})
    service = Simulated(lambda sim, now: (429, 60) if sim.requests == 20 else busy(sim, now))
    _, stopped = service.run(1_500)
    assert stopped is None
    assert 60 < service.loop.time() < 100


# times of a clock: a sum that passes a power of two is rounded


BOOTED = st.builds(
    lambda power, seconds: 2.0**power - seconds, st.integers(12, 27), st.floats(0.0, 3_600.0)
)
"""The seconds since a machine was started, up to four years: within an hour a power of two."""
ALL_USED = {"ratelimit-limit": "1", "ratelimit-remaining": "0", "ratelimit-reset": "3600"}


@examples(40, of=200)
@given(began=BOOTED, after=st.sampled_from(["3600", "3600.0", "86400", ALL_USED]))
@example(began=8190.749363561726, after="3600")  # an hour later minus this is less than an hour
def test_a_pause_of_an_hour_ends_the_run_at_once_however_long_the_machine_is_up(began, after):
    replies = iter([*["ok"] * 5, (429, after)])
    service = Simulated(lambda *_: next(replies), began=began, most=10)
    outcomes, stopped = service.run(30, concurrency=1)
    seconds = 86_400 if after == "86400" else 3_600
    pause, _, moment = stopped.partition("; run it again after ")
    assert pause == f"the service requires a pause of {seconds:,} s"
    resumes = datetime.now().astimezone() + timedelta(seconds=seconds)
    assert abs(datetime.fromisoformat(moment) - resumes) < timedelta(minutes=5)
    assert service.requests == 6
    assert Counter(one.status for one in outcomes.values())["ok"] == 5


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(1, id="the first request after a pause, which was too short"),
        pytest.param(3599.5, id="at the end of a pause that was required a moment before"),
    ],
)
def test_a_pause_of_an_hour_ends_the_run_whatever_was_required_before(before):
    replies = iter([(429, before), (429, 3600)])
    service = Simulated(lambda *_: next(replies), most=10)
    _, stopped = service.run(2, concurrency=1 if before == 1 else 2)
    assert "the service requires a pause of 3,600 s; run it again after" in stopped
    assert service.requests == 2


@examples(5, of=10)
@given(began=BOOTED)
def test_a_pause_of_less_than_an_hour_is_waited_for(began):
    service = Simulated(lambda sim, _: (429, "3599") if sim.requests == 2 else "ok", began=began)
    outcomes, stopped = service.run(5, concurrency=1)
    assert stopped is None
    assert Counter(one.status for one in outcomes.values()) == {"ok": 5}
    assert service.requests == 6
    assert 3_599 <= service.loop.time() - began < 3_610


def test_a_pause_of_five_seconds_is_reported_however_long_the_machine_is_up(caplog):
    for power in range(12, 28):
        caplog.clear()
        began = 2.0**power - random.Random(power).uniform(0, 5)  # noqa: S311 - no secret
        Simulated(lambda sim, _: (429, 5) if sim.requests == 1 else "ok", began=began).run(3)
        assert "requires a pause of 5 s" in caplog.text
