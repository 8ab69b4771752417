"""A plan, a state or an undo taken up again: what the journals on disk say is believed, or said."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from support.nexus import KEYS, LOST, RECORDS, Nexus, plan_of, refused, statuses

from svc_tools.nexus import (
    ApplyError,
    apply_plan,
    read_receipt,
    receipts,
    remove_state,
    restore,
)
from svc_tools.nexus.journal import Journal, read_journal

DE, NH, TX = KEYS[:3]


@pytest.fixture
def nexus(faults):
    return Nexus(faults)


def apply(plan, client, folder, *, dry_run=False):
    return apply_plan(plan, client, dry_run=dry_run, folder=folder)


def renamed(receipt, name):
    """The receipt's journal under another name, as a clock that went wrong would have made it."""
    path = receipt.path.with_name(name + receipt.path.name[15:])
    receipt.path.rename(path)
    return path


# a dry run after a run


def test_a_dry_run_says_only_what_a_run_would_still_send(faults, scripted, tmp_path):
    nexus = Nexus(faults, lists=False)
    plan = plan_of(scripted, DE, NH, TX)
    nexus.instead = [lambda done: done, lambda _: LOST]
    assert statuses(apply(plan, scripted, tmp_path)) == {
        DE: "removed",
        NH: "unknown",
        TX: "not_attempted",
    }
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    dry = apply(plan, scripted, tmp_path, dry_run=True)
    assert statuses(dry) == {DE: "removed", NH: "unknown", TX: "planned"}
    assert dry.sentence.startswith("Dry run: 1 request would be sent; for 2 nothing would be sent")
    sent = len(nexus.removals)
    assert [one.key for one in dry.requests] == [TX]
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    apply(plan, scripted, tmp_path)
    assert nexus.removals[sent:] == [TX]


def test_a_dry_run_says_that_a_record_that_came_back_is_left_alone(nexus, scripted, tmp_path):
    plan = plan_of(scripted, DE)
    apply(plan, scripted, tmp_path)
    nexus.records.insert(0, dict(RECORDS[0]))
    dry = apply(plan, scripted, tmp_path, dry_run=True)
    assert statuses(dry) == {DE: "removed"}
    assert "make a new plan" in dry.items[0].message
    assert dry.items[0].flagged
    assert dry.requests == ()


def test_a_dry_run_of_half_a_replace_has_the_addition_alone(nexus, scripted, tmp_path):
    good = {**RECORDS[0], "notes": "the good one"}
    nexus.records.insert(1, good)
    plan = plan_of(scripted, records=nexus.records)
    number = next(row.number for row in plan.rows if row.notes == "the good one")
    plan = plan.tick(number, action="replace")
    nexus.adding = [refused(422)]
    apply(plan, scripted, tmp_path)
    dry = apply(plan, scripted, tmp_path, dry_run=True)
    assert [(one.method, one.body) for one in dry.requests] == [("POST", good)]
    assert "1 request would be sent" in dry.sentence


def test_a_dry_run_over_a_damaged_journal_says_what_the_run_would_say(nexus, scripted, tmp_path):
    plan = plan_of(scripted, DE)
    receipt = apply(plan, scripted, tmp_path)
    receipt.path.write_bytes(receipt.path.read_bytes().replace(b"removed", b"ransack"))
    for dry_run in (True, False):
        with pytest.raises(ApplyError, match=r"damaged or was changed.*Nothing was sent"):
            apply(plan, scripted, tmp_path, dry_run=dry_run)


# journals that are not of this job


def test_a_journal_of_another_plan_under_this_name_is_not_continued(nexus, scripted, tmp_path):
    one, other = plan_of(scripted, DE), plan_of(scripted, TX)
    first, second = (apply(plan, scripted, tmp_path) for plan in (one, other))
    second.path.write_bytes(first.path.read_bytes())
    nexus.records.insert(0, dict(RECORDS[2]))
    with pytest.raises(ApplyError, match=r"is the journal of something else.*Nothing was sent"):
        apply(other, scripted, tmp_path)
    assert nexus.removals == [DE, TX]


def test_a_journal_that_says_what_nobody_understands_is_not_continued(nexus, scripted, tmp_path):
    plan = plan_of(scripted, DE, TX)
    nexus.instead = [refused(402)]
    receipt = apply(plan, scripted, tmp_path)
    journal = Journal(receipt.path)
    journal.add({"event": "answer", "at": "2026-11-21", "item": DE, "status": "new", "message": ""})
    journal.close()
    with pytest.raises(ApplyError, match=r"does not understand.*newer one\. Nothing was sent"):
        apply(plan, scripted, tmp_path)
    assert len(nexus.removals) == 1
    assert "no receipt that can be read" in receipts(tmp_path).loc[0, "said"]


# a clock that went back


def test_an_unfinished_undo_goes_on_though_a_finished_one_has_a_later_name(
    nexus, scripted, tmp_path
):
    removed = apply(plan_of(scripted, DE, NH), scripted, tmp_path)
    renamed(restore(removed, scripted, dry_run=False), "20991231-235959")
    nexus.records = [one for one in nexus.records if one["state"] == "TX"]
    nexus.adding = [refused(402)]
    begun = restore(removed, scripted, dry_run=False)
    assert not begun.finished
    assert restore(removed, scripted, dry_run=False).path == begun.path
    assert nexus.keys[:2] == [DE, NH]


def test_a_damaged_journal_of_long_ago_does_not_keep_a_state_from_being_removed(
    nexus, scripted, tmp_path
):
    first = remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
    old = renamed(first, "20200101-000000")
    nexus.records = [dict(one) for one in RECORDS]
    remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
    old.write_bytes(b'{"event": "journal", half of it\n')
    nexus.records = [dict(one) for one in RECORDS]
    receipt = remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
    assert receipt.items[0].status == "removed"
    assert len(nexus.removals) == 3


def test_a_state_whose_records_came_back_is_left_alone_once_and_removed_then(
    nexus, scripted, tmp_path
):
    """The program ended before it could say that the removal was the last of it."""
    receipt = remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
    lines = receipt.path.read_bytes().splitlines(keepends=True)
    assert json.loads(lines[-1])["event"] == "end"
    receipt.path.write_bytes(b"".join(lines[:-1]))
    nexus.records = [dict(one) for one in RECORDS]
    again = remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
    assert nexus.removals == [("TX", None)]
    assert "run it once more" in again.items[0].message
    remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
    assert nexus.removals == [("TX", None)] * 2


# folders


@pytest.mark.skipif(os.name != "posix", reason="rights of folders are another thing there")
def test_a_folder_that_is_there_keeps_its_rights_and_may_be_a_link(nexus, scripted, tmp_path):
    (tmp_path / "team").mkdir(mode=0o755)
    (tmp_path / "team").chmod(0o755)
    (tmp_path / "link").symlink_to(tmp_path / "team")
    receipt = apply(plan_of(scripted, DE), scripted, tmp_path / "link")
    assert stat.S_IMODE((tmp_path / "team").stat().st_mode) == 0o755
    assert stat.S_IMODE(receipt.path.stat().st_mode) == 0o600
    assert (tmp_path / "team" / receipt.path.name).exists()


def test_a_receipt_shows_its_files_from_the_folder_of_the_reader(
    nexus, scripted, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    inside = apply(plan_of(scripted, DE), scripted, tmp_path / "out")
    at_home = apply(plan_of(scripted, NH), scripted, tmp_path / "home" / "receipts")
    monkeypatch.chdir(Path(tmp_path.anchor) / "usr")
    elsewhere = str(inside)
    at_home = str(at_home)
    monkeypatch.chdir(tmp_path)
    for shown in (str(inside), inside._repr_html_()):
        assert str(tmp_path) not in shown
        assert f"This receipt: out/{inside.path.name}" in shown
    assert "~/receipts/" in at_home
    assert str(tmp_path) not in at_home
    assert str(inside.path) in elsewhere
    assert read_receipt(f"out/{inside.path.name}").path == inside.path


def test_a_file_that_is_no_journal_is_called_so(tmp_path):
    (tmp_path / "plan.csv").write_text("remove,state\nx,TX\n")
    with pytest.raises(ValueError, match=r"plan\.csv is no journal of removals"):
        read_receipt(tmp_path / "plan.csv")
    (tmp_path / "one.jsonl").write_bytes(b'{"seq": 1, "event": "journal", "for')
    assert read_journal(tmp_path / "one.jsonl").events == ()
