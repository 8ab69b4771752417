"""Ten thousand places, a service that fails in every way, and an accounting at the end."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter

import pytest
from support.counting import counting
from support.faults import KEY

from svc_sdk import Svc
from svc_tools.lookup import look_up
from svc_tools.lookup.cache import Cache
from svc_tools.places import Place

PLACES = 10_000
PLAN = {
    "429": 0.025,
    "429-after-0": 0.0248,
    "429-after-1": 0.0002,  # at each of them everything pauses
    "503": 0.05,
    "hang": 0.01,
    "reset": 0.01,
    "broken": 0.01,
}
RUN = """
import sys
from pathlib import Path
from svc_sdk import Svc
from svc_tools.lookup import look_up
from svc_tools.lookup.cache import Cache
from svc_tools.places import Place
from svc_tools.progress import NoProgress

places = [Place("TX", "zip", zip=f"{10_000 + number}") for number in range(int(sys.argv[4]))]
class Told(NoProgress):
    done = 0
    def advance(self, count=1):
        if self.done < int(sys.argv[5]) <= self.done + count:
            print("now", flush=True)
        self.done += count
client = Svc(sys.argv[2], base_url=sys.argv[1], timeout=3)
look_up(client, places, cache=Cache(Path(sys.argv[3])), concurrency=64, progress=Told())
"""


def places():
    return [Place("TX", "zip", zip=f"{10_000 + number}") for number in range(PLACES)]


def check_reasons(outcomes, kinds):
    """Every place has its answer, or the one thing that is not tried again."""
    reasons = Counter()
    for place, outcome in outcomes.items():
        if outcome.status == "ok":
            assert outcome.found.resolved_zip == place.zip
            assert outcome.looked_up_at is not None
        else:
            assert outcome.status == "failed"
            known = ("broke", "is not JSON", "within 3 s", "503")
            reasons[next(one for one in known if one in outcome.error)] += 1
    assert reasons["broke"] == kinds["reset"]
    assert reasons["is not JSON"] == kinds["broken"]
    # retries spent: four in a row went wrong
    assert reasons["within 3 s"] + reasons["503"] <= 25


def test_every_place_ends_with_its_answer_or_its_true_reason():
    with counting(PLAN) as (url, counts), Svc(KEY, base_url=url, timeout=3) as client:
        run = look_up(client, places(), concurrency=64)
        told = counts()
    assert run.stopped is None
    assert len(run.outcomes) == PLACES
    assert told["kinds"].keys() == {"answer", *PLAN}
    check_reasons(run.outcomes, told["kinds"])
    ok = {place.zip for place, outcome in run.outcomes.items() if outcome.status == "ok"}
    # the server's own count of answered lookups is what the outcomes say
    assert told["answered"] == dict.fromkeys(ok, 1)
    assert told["asked_again"] == {}
    assert run.requests == sum(told["kinds"].values())
    assert run.asked == PLACES


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_what_was_answered_before_a_kill_is_not_asked_again(tmp_path):
    cache = tmp_path / "answers.db"
    with counting(PLAN, seed=2) as (url, counts), Svc(KEY, base_url=url, timeout=3) as client:
        command = [sys.executable, "-c", RUN, url, KEY, str(cache), str(PLACES), "3000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "now\n"
            process.send_signal(signal.SIGKILL)
        before = counts()
        run = look_up(client, places(), cache=Cache(cache), concurrency=64)
        told = counts()
    assert run.cached >= 2_900  # told were 3,000; not all of them answers
    # at most what was in flight, or in the burst that was being written, is lost
    assert before["answered"].keys() >= {p.zip for p, o in run.outcomes.items() if o.cached}
    lost = len(before["answered"]) - run.cached
    assert 0 <= lost <= 64 + 1_000
    assert run.asked == PLACES - run.cached
    assert before["asked_again"] == {}
    assert len(told["asked_again"]) == lost
    ok = {place.zip for place, outcome in run.outcomes.items() if outcome.status == "ok"}
    # what was lost was answered, too, even where it failed the second time
    kept = {place.zip for place, outcome in run.outcomes.items() if outcome.cached}
    assert told["answered"].keys() == ok | (before["answered"].keys() - kept)
    assert sum(told["answered"].values()) == len(before["answered"]) + len(ok) - len(kept)
