"""`apply` killed (SIGKILL) at every write, sync and request: the journal tells what is known.

Afterwards done, not done and unknown are told apart, a rerun finishes, nothing is sent twice, and
nothing that is not ticked is touched.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.faults import KEY
from support.nexus import KEYS, Nexus, plan_of, statuses

from svc_tools.nexus import ReceiptError, apply_plan, read_receipt, receipts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL and fork")

KILLED = Path(__file__).parents[1] / "support" / "killed.py"
TICKED = [KEYS[0], KEYS[1], KEYS[2]]
REMOVAL = "wsrws"
"""A line, on disk; the request; a line, on disk."""
BOUNDARIES = "sws" + "ws" + "ss" + 3 * REMOVAL + "ws" + "ws"
"""Writes, syncs and requests of three removals, which a test counts: the journal's name, its first
line, the run, the file of the records and its name, the removals, the look, the end.
"""


@pytest.fixture(scope="module")
def killer():
    """A process that is loaded once and forks for each run."""
    with subprocess.Popen(
        [sys.executable, "-P", KILLED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:

        def run(**task):
            process.stdin.write(json.dumps({"key": KEY, **task}) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield run
        process.stdin.close()


class Case:
    """A plan with three ticks, a service, and a folder; killed somewhere."""

    def __init__(self, killer, faults, scripted, folder, **service):
        self.nexus = Nexus(faults, **service)
        self.nexus.on_removal = self._is_kept
        self.plan = plan_of(scripted, *TICKED)
        self.folder = folder / "receipts"
        self.client = scripted
        self._killer, self._url = killer, faults.base_url
        self._file = self.plan.write(folder / "plan.csv")

    def _is_kept(self):
        """Whenever a removal comes in, the records are on disk already."""
        (kept,) = self.folder.glob("*-restore.csv")
        assert "Concord" in kept.read_text("utf-8-sig")

    def killed(self, at, when):
        return self._killer(
            url=self._url, plan=str(self._file), folder=str(self.folder), at=at, when=when
        )

    def receipt(self):
        """What is on disk; nothing where the first line is not there."""
        found = sorted(self.folder.glob("*.jsonl"))
        if not found:
            return None
        try:
            return read_receipt(found[0])
        except ReceiptError:
            assert "nothing was begun" in receipts(self.folder).loc[0, "said"]
            return None

    def rerun(self, plan=None):
        return apply_plan(
            self.plan if plan is None else plan, self.client, dry_run=False, folder=self.folder
        )


def is_true(receipt, nexus):
    """What the receipt says of each record is so."""
    for item in receipt.items:
        there = item.key in nexus.keys
        if item.outcome == "done":
            assert not there, item
        elif item.outcome == "not_done":
            assert there, item
        else:
            assert item.status == "unknown"


def points(boundaries=BOUNDARIES, every=1):
    """Before each boundary, which is after the one before it; and in the middle of each write."""
    numbered = [*enumerate(boundaries, 1)]
    halves = [(at, "half") for at, kind in numbered if kind == "w"]
    return sorted([*((at, "before") for at, _ in numbered), *halves])[::every]


def test_the_boundaries_are_counted(killer, faults, scripted, tmp_path):
    case = Case(killer, faults, scripted, tmp_path)
    assert case.killed(0, "") == {"boundaries": BOUNDARIES, "killed": False, "status": 0}
    assert case.receipt().finished


@pytest.mark.parametrize("lists", [True, False])
def test_killed_anywhere(killer, faults, scripted, tmp_path, lists):
    unknown = 0
    # a service that does not list is not looked at in the end
    boundaries = BOUNDARIES if lists else BOUNDARIES[:-2]
    for at, when in points(boundaries, 1 if lists else 2):
        folder = tmp_path / f"{at}-{when}"
        folder.mkdir()
        case = Case(killer, faults, scripted, folder, lists=lists)
        assert case.killed(at, when)["killed"]
        sent = len(case.nexus.removals)
        receipt = case.receipt()
        if receipt is None:
            assert sent == 0
        else:
            is_true(receipt, case.nexus)
            assert receipt.counts["unknown"] <= 1
            unknown += receipt.counts["unknown"]
            assert not receipt.finished or sent == 3
        again = case.rerun()
        is_true(again, case.nexus)
        # each was sent at most once, over both runs
        assert len(set(case.nexus.removals)) == len(case.nexus.removals)
        assert set(case.nexus.removals) <= set(TICKED)
        assert {KEYS[3], KEYS[4]} <= set(case.nexus.keys)
        if lists:
            assert again.finished, (at, when)
            assert again.counts["done"] == 3
            assert case.nexus.removals == TICKED
    assert unknown >= 3  # of each of three removals the answer was lost


def test_after_a_kill_only_what_is_ticked_now_is_sent(killer, faults, scripted, tmp_path):
    for at, when in points(every=5):
        folder = tmp_path / f"{at}-{when}"
        folder.mkdir()
        case = Case(killer, faults, scripted, folder)
        case.killed(at, when)
        before = [*case.nexus.removals]
        receipt = case.receipt()
        again = case.rerun(case.plan.untick(*TICKED[1:]))
        assert case.nexus.removals == (before or [TICKED[0]])
        is_true(again, case.nexus)
        known = {} if receipt is None else statuses(receipt)
        for key, status in known.items():
            if status == "removed":
                assert statuses(again)[key] == "removed"


def test_a_run_that_was_killed_between_remove_and_add_is_finished(
    killer, faults, scripted, tmp_path
):
    for at, when in points("sws" + "ws" + "ss" + 2 * REMOVAL, 2):
        folder = tmp_path / f"{at}-{when}"
        folder.mkdir()
        nexus = Nexus(faults)
        good = {"state": "DE", "nexus_type": "economic", "notes": "the good one"}
        plan = plan_of(scripted, records=[*nexus.records, good])
        number = next(row.number for row in plan.rows if row.notes == "the good one")
        plan = plan.tick(number, action="replace")
        file = plan.write(folder / "plan.csv")
        killer(url=faults.base_url, plan=str(file), folder=str(folder), at=at, when=when)
        receipt = apply_plan(plan, scripted, dry_run=False, folder=folder)
        assert statuses(receipt) == {KEYS[0]: "replaced"}, (at, when, str(receipt))
        assert [one["notes"] for one in nexus.records if one["state"] == "DE"] == ["the good one"]
        assert nexus.removals == [KEYS[0]]
        assert len(nexus.additions) == 1
