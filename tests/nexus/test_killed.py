"""Removals and restores killed (SIGKILL) at every step: nothing sent twice, nothing lost.

Afterwards the receipt on disk separates done, not done and unknown, the same call again finishes,
what is not ticked stays, and what was removed can be restored.
"""

from __future__ import annotations

import pytest
from support.faults import KEY, answer
from support.killed import killing
from support.nexus import KEYS, LOST, RECORDS, Nexus, plan_of, statuses
from support.systems import posix

from svc_tools.nexus import (
    ReceiptError,
    apply_plan,
    edit_registration,
    read_plan,
    read_receipt,
    receipts,
    restore,
)

pytestmark = posix

TICKED = [KEYS[0], KEYS[1], KEYS[2]]


@pytest.fixture(scope="module")
def killer():
    """A process that is loaded once and forks for each run."""
    with killing(KEY) as run:
        yield run


class Case:
    """A plan with three ticks, a service and a folder, in which processes are killed."""

    def __init__(self, killer, faults, scripted, folder, **service):
        folder.mkdir(exist_ok=True)
        self.nexus = Nexus(faults, **service)
        self.nexus.before = self._records_are_on_disk
        self.plan = plan_of(scripted, *TICKED)
        self.folder = folder / "receipts"
        self.client = scripted
        self._killer, self._url = killer, faults.base_url
        self.file = self.plan.write(folder / "plan.csv")

    def _records_are_on_disk(self, *_):
        """Whenever a removal comes in, the records can be restored already."""
        (file,) = self.folder.glob("*-restore.csv")
        assert "Concord" in file.read_text("utf-8-sig")

    def killed(self, at="", when="before", **task):
        return self._killer(
            url=self._url, plan=str(self.file), folder=str(self.folder), at=at, when=when, **task
        )

    def receipt(self, kind="apply"):
        """What is on disk; nothing where the first line is not there."""
        found = sorted(self.folder.glob(f"*-{kind}-*.jsonl"))
        if not found:
            return None
        try:
            return read_receipt(found[0])
        except ReceiptError:
            assert receipts(self.folder)["finished"].isna().any()
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


def named(text):
    """Statuses from their initials."""
    words = {"r": "removed", "n": "not_attempted", "u": "unknown", "a": "restored"}
    words |= {"s": "still_there", "g": "gone"}
    return [words[letter] for letter in text]


APPLY = {
    "the journal has no name yet": ("sync folder 1", "before", None, 0),
    "the journal is empty": ("write journal 1", "before", None, 0),
    "its first line is torn": ("write journal 1", "half", None, 0),
    "nothing is planned": ("write run 1", "before", "", 0),
    "the line of the plan is torn": ("write run 1", "half", "", 0),
    "the records are not on disk": ("sync records 1", "before", "nnn", 0),
    "before the line of a request": ("write sending 2", "before", "rnn", 1),
    "the line of a request is torn": ("write sending 2", "half", "rnn", 1),
    "before a request is sent": ("request 2", "before", "run", 1),
    "before the line of its response": ("write answer 2", "before", "run", 2),
    "the line of its response is torn": ("write answer 2", "half", "run", 2),
    "the response is written, not synced": ("sync answer 2", "before", "rrn", 2),
    "before listing again": ("write seen 1", "before", "rrr", 3),
    "before the last line": ("write end 1", "before", "rrr", 3),
    "the last line is torn": ("write end 1", "half", "rrr", 3),
}
"""The places where a process that applies a plan may end: the step, what the receipt on disk then
says of the three removals, and how many were sent.
"""


@pytest.mark.parametrize("place", APPLY)
def test_a_plan_killed_while_it_is_applied(killer, faults, scripted, tmp_path, place):
    at, when, on_disk, sent = APPLY[place]
    case = Case(killer, faults, scripted, tmp_path)
    assert case.killed(at, when)["killed"]
    assert case.nexus.removals == TICKED[:sent]
    receipt = case.receipt()
    if on_disk is None:
        assert receipt is None
    else:
        assert [*statuses(receipt).values()] == named(on_disk)
        assert not receipt.finished
        is_true(receipt, case.nexus)
    again = case.rerun()
    assert again.finished
    assert again.counts["done"] == 3
    assert case.nexus.removals == TICKED  # each once, over both runs
    assert {"removed", "gone"} >= set(statuses(again).values())
    assert statuses(read_receipt(again.path)) == statuses(again)
    assert restore(again, scripted, dry_run=False).finished
    assert case.nexus.keys == KEYS


SETTLING = {
    "before the response is found lost": ("write answer 2", "before", "run", 2),
    "before the line of what the list shows": ("write settled 1", "before", "run", 2),
    "the line of what the list shows is torn": ("write settled 1", "half", "run", 2),
    "before the line of what the last list shows": ("write settled 2", "before", "rsr", 3),
    "the line of what the last list shows is torn": ("write settled 2", "half", "rsr", 3),
    "before the comparison at the end": ("write seen 1", "before", "rgr", 3),
}
"""The same where the response to the second removal is lost, and it is carried out with the third:
the list after its request still shows it, and that at the end of the run does not.
"""


@pytest.mark.parametrize("place", SETTLING)
def test_a_plan_killed_while_a_lost_response_is_settled(killer, faults, scripted, tmp_path, place):
    at, when, on_disk, sent = SETTLING[place]
    case = Case(killer, faults, scripted, tmp_path)

    def late(done):
        case.nexus._drop(*TICKED[1])
        return done

    case.nexus.instead = [lambda done: done, LOST, late]
    assert case.killed(at, when)["killed"]
    receipt = case.receipt()
    assert [*statuses(receipt).values()] == named(on_disk)
    assert len(case.nexus.removals) == sent
    assert not receipt.finished
    again = case.rerun()
    assert again.finished
    assert again.counts["done"] == 3
    assert restore(again, scripted, dry_run=False).finished
    assert case.nexus.keys == KEYS


@pytest.mark.parametrize("when", ["before", "half"])
@pytest.mark.parametrize("executes", [True, False])
def test_a_plan_killed_after_a_removal_without_a_number(  # noqa: PLR0917 - fixtures
    killer, faults, scripted, tmp_path, executes, when
):
    """What the service confirmed is no result before the list shows it."""
    case = Case(killer, faults, scripted, tmp_path)
    sent = answer(204, b"")
    case.nexus.instead = [lambda done: done, (lambda _: sent) if executes else sent]
    assert case.killed("write answer 2", when)["killed"]
    assert [*statuses(case.receipt()).values()] == named("run")
    again = case.rerun()
    assert again.finished
    assert {key for key in KEYS if key not in case.nexus.keys} == set(TICKED)
    assert restore(again, scripted, dry_run=False).finished
    assert case.nexus.keys == KEYS


RESTORE = {
    "before the line of an addition": ("write sending 2", "before", "ann", 1),
    "the line of an addition is torn": ("write sending 2", "half", "ann", 1),
    "before an addition is sent": ("request 2", "before", "aun", 1),
    "before the line of its response": ("write answer 2", "before", "aun", 2),
    "the line of its response is torn": ("write answer 2", "half", "aun", 2),
    "before the last line": ("write end 1", "before", "aaa", 3),
}


@pytest.mark.parametrize("place", RESTORE)
def test_a_restore_killed_while_it_adds(killer, faults, scripted, tmp_path, place):
    at, when, on_disk, sent = RESTORE[place]
    case = Case(killer, faults, scripted, tmp_path)
    removed = case.rerun()
    assert case.killed(at, when, receipt=str(removed.path))["killed"]
    assert [(one["state"], one["nexus_type"]) for one in case.nexus.additions] == TICKED[:sent]
    receipt = case.receipt("restore")
    assert [*statuses(receipt).values()] == named(on_disk)
    again = restore(removed, scripted, dry_run=False)
    assert again.finished
    assert set(statuses(again).values()) == {"restored"}
    assert case.nexus.keys == KEYS
    # what was recorded and not sent is found not to be listed, and is sent once more
    added = [(one["state"], one["nexus_type"]) for one in case.nexus.additions]
    assert sorted(added) == sorted(TICKED)


@pytest.mark.parametrize("at", ["sync plan 1", "sync plan 2"])
def test_a_plan_killed_while_it_is_written(killer, faults, scripted, tmp_path, at):
    case = Case(killer, faults, scripted, tmp_path)
    assert case.killed(at, write=True)["killed"]
    ticked = 3 if at == "sync plan 1" else 0  # the plan as it was, or the new one
    assert len(read_plan(case.file).ticked) == ticked


REMOVAL = ["write sending", "sync sending", "request", "write answer", "sync answer"]
STEPS = [
    *("sync folder", "write journal", "sync journal", "write run", "sync run"),
    *("sync records", "sync records", *REMOVAL * len(TICKED)),
    *("write seen", "sync seen", "write end", "sync end"),
]
NUMBERED = [f"{name} {STEPS[:at].count(name) + 1}" for at, name in enumerate(STEPS)]


def test_each_line_is_on_disk_before_the_next_step(killer, faults, scripted, tmp_path):
    case = Case(killer, faults, scripted, tmp_path)
    done = case.killed()
    assert [step.rpartition(" ")[0] for step in done.pop("steps")] == STEPS
    assert done == {"killed": False, "status": 0}
    assert case.receipt().finished


def places(steps):
    """Before each step, which is after the one before it; and in the middle of each write."""
    for step in steps:
        yield step, "before"
        if step.startswith("write"):
            yield step, "half"


def test_a_service_that_does_not_list(killer, faults, scripted, tmp_path):
    unknown = 0
    steps = [step for step in NUMBERED if "seen" not in step]  # it is not listed at the end
    for at, when in [*places(steps)][::2]:
        case = Case(killer, faults, scripted, tmp_path / f"{at}-{when}", lists=False)
        assert case.killed(at, when)["killed"]
        receipt = case.receipt()
        if receipt is None:
            assert case.nexus.removals == []
        else:
            is_true(receipt, case.nexus)
            assert receipt.counts["unknown"] <= 1
            unknown += receipt.counts["unknown"]
        is_true(case.rerun(), case.nexus)
        assert len(set(case.nexus.removals)) == len(case.nexus.removals)
        assert set(case.nexus.removals) <= set(TICKED)
        assert {KEYS[3], KEYS[4]} <= set(case.nexus.keys)
    assert unknown >= 3  # the response of each of three removals was lost


def test_only_what_is_ticked_now_is_sent(killer, faults, scripted, tmp_path):
    for at, when in [*places(NUMBERED)][::5]:
        case = Case(killer, faults, scripted, tmp_path / f"{at}-{when}")
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


def test_a_replacement_killed_between_its_two_requests(killer, faults, scripted, tmp_path):
    first = STEPS[: STEPS.index("request")]
    numbered = ["sending 1", "request 1", "answer 1", "sending 2", "request 2", "answer 2"]
    lines = [name if "request" in name else f"write {name}" for name in numbered]
    for at, when in places([*(f"{name} 1" for name in first[::3]), *lines]):
        folder = tmp_path / f"{at}-{when}"
        folder.mkdir()
        nexus = Nexus(faults)
        good = {**RECORDS[0], "notes": "the good one"}
        nexus.rows.insert(1, dict(good))
        plan = plan_of(scripted, records=nexus.rows)
        number = next(row.number for row in plan.rows if row.notes == "the good one")
        plan = plan.tick(number, action="replace")
        file = plan.write(folder / "plan.csv")
        killer(url=faults.base_url, plan=str(file), folder=str(folder), at=at, when=when)
        receipt = apply_plan(plan, scripted, dry_run=False, folder=folder)
        assert statuses(receipt) == {KEYS[0]: "replaced"}, (at, when, str(receipt))
        assert [one["notes"] for one in nexus.rows if one["state"] == "DE"] == ["the good one"]
        assert nexus.removals == [KEYS[0]]
        assert len(nexus.additions) == 1


EDITS = {
    "a field is set: one request": ({"notes": "new"}, 1),
    "a field is cleared: removed and added": ({"notes": ""}, 2),
    "another type: added and removed": ({"to_type": "marketplace"}, 2),
}
"""What is edited of the record of DE, and how many requests that takes."""


@pytest.mark.parametrize("which", EDITS)
def test_an_edit_killed_at_every_step(killer, faults, scripted, tmp_path, which):
    """The same edit once more finishes it, nothing is lost, and its undo puts all back."""
    given, requests = EDITS[which]
    change = {"state": "DE", "nexus_type": "economic", **given}
    whole = Nexus(faults)
    done = killer(url=faults.base_url, edit=change, folder=str(tmp_path / "whole"))
    assert not done["killed"]
    steps = done["steps"]
    assert [step.rpartition(" ")[0] for step in steps].count("request") == requests
    finished, before = [dict(one) for one in whole.rows], [dict(one) for one in RECORDS]
    assert finished != before
    for number, (at, when) in enumerate([*places(steps[:-1])][::3]):
        nexus = Nexus(faults)
        folder = tmp_path / str(number)
        killed = killer(url=faults.base_url, edit=change, folder=str(folder), at=at, when=when)
        assert killed["killed"], (at, when)
        if nexus.rows != before:  # what is gone or changed is on the disk
            (journal,) = folder.glob("*-edit-*.jsonl")
            assert read_receipt(journal).restorable
        again = edit_registration(scripted, **change, dry_run=False, folder=folder)
        assert again.finished, (at, when, str(again))
        assert {item.outcome for item in again.items} == {"done"}, (at, when)
        assert nexus.rows == finished, (at, when)
        assert len(nexus.removals) <= 1
        undone = restore(again, scripted, dry_run=False)
        assert undone.finished, (at, when, str(undone))
        assert nexus.rows == before, (at, when)
