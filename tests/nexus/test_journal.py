"""The journal: on disk before the next step, checked when it is read, continued by the next run."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.nexus import KEYS, LOST, RECORDS, Nexus, plan_of, refused, statuses
from support.systems import homes, posix

from svc_tools.base import atomic
from svc_tools.nexus import (
    ApplyError,
    ReceiptError,
    apply_plan,
    journal,
    read_receipt,
    receipts,
    remove_state,
    restore,
)
from svc_tools.nexus.journal import Journal, JournalDamagedError, read_journal

DE, NH, TX = KEYS[:3]
HEAD = {"event": "journal", "format": journal.FORMAT, "version": journal.JOURNAL_VERSION}


@pytest.fixture
def nexus(faults):
    return Nexus(faults)


def apply(plan, client, folder, *, dry_run=False):
    return apply_plan(plan, client, dry_run=dry_run, folder=folder)


@pytest.fixture
def applied(nexus, scripted, tmp_path):
    """A plan that was applied as far as its second removal, and its receipt."""
    nexus.instead = [lambda done: done, lambda _: LOST]
    plan = plan_of(scripted, DE, NH, TX)
    nexus.lists = False
    receipt = apply(plan, scripted, tmp_path / "receipts")
    nexus.lists = True
    assert statuses(receipt) == {DE: "removed", NH: "unknown", TX: "not_attempted"}
    return plan, receipt


events = st.fixed_dictionaries(
    {"event": st.just("x")},
    optional={"text": st.text(), "n": st.integers(), "list": st.lists(st.text() | st.none())},
)


@settings(max_examples=30)
@given(added=st.lists(events, max_size=4), cut=st.integers(1, 60))
def test_what_is_added_is_read_and_a_torn_last_line_is_left_out(tmp_path_factory, added, cut):
    path = tmp_path_factory.mktemp("journal") / "one.jsonl"
    one = Journal(path)
    for event in (HEAD, *added):
        one.add(event)
    one.close()
    assert read_journal(path).events == (HEAD, *added)
    lines = path.read_bytes().splitlines(keepends=True)
    torn = lines[-1][: -min(cut, len(lines[-1]) - 1)]
    path.write_bytes(b"".join(lines[:-1]) + torn)
    read = read_journal(path)
    assert (read.events, read.torn) == ((HEAD, *added)[:-1], torn.decode())
    again = Journal(path)
    assert again.torn == torn.decode()
    again.add(HEAD if not read.events else {"event": "more"})
    again.close()
    assert len(read_journal(path).events) == len(lines)


@settings(max_examples=60)
@given(data=st.data())
def test_any_change_of_a_byte_is_noticed(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("journal") / "one.jsonl"
    one = Journal(path)
    for number in range(3):
        one.add(HEAD if number == 0 else {"event": "x", "number": number})
    one.close()
    whole = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(whole) - 2))  # without the last end of line
    whole[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(whole)
    with pytest.raises(JournalDamagedError):
        read_journal(path)


@pytest.mark.parametrize("change", ["edited", "line lost", "line moved", "cut", "version"])
def test_a_journal_that_was_changed_is_never_continued(nexus, applied, scripted, change):
    plan, receipt = applied
    lines = receipt.path.read_bytes().splitlines(keepends=True)
    if change == "edited":
        lines[3] = lines[3].replace(b'"deleted": 1', b'"deleted": 7')
    elif change == "line lost":
        del lines[2]
    elif change == "line moved":
        lines[2], lines[3] = lines[3], lines[2]
    elif change == "cut":
        lines[2] = lines[2][:30] + b"\n"
    else:
        receipt.path.unlink()
        other = Journal(receipt.path)
        other.add(HEAD | {"version": 99})
        other.close()
        lines = receipt.path.read_bytes().splitlines(keepends=True)
    receipt.path.write_bytes(b"".join(lines))
    line = {"edited": "line 4", "version": "version 99"}.get(change, "line 3")
    with pytest.raises(ReceiptError, match=rf"{receipt.path.name}.* {line}\b"):
        read_receipt(receipt.path)
    row = receipts(receipt.path.parent).loc[0]
    assert receipt.path.name in row["said"]
    assert row.isna()["finished"]
    removals = [*nexus.removals]
    for dry_run in (True, False):
        with pytest.raises(ApplyError, match="Nothing was changed"):
            apply(plan, scripted, receipt.path.parent, dry_run=dry_run)
    assert nexus.removals == removals


def test_a_journal_cut_at_the_end_of_any_line_loses_no_undo(nexus, scripted, tmp_path):
    plan = plan_of(scripted, DE, NH, TX)
    receipt = apply(plan, scripted, tmp_path)
    lines = receipt.path.read_bytes().splitlines(keepends=True)
    for kept in range(len(lines)):
        nexus.rows = [one for one in RECORDS if (one["state"], one["nexus_type"]) in KEYS[3:]]
        receipt.path.write_bytes(b"".join(lines[:kept]))
        removals = [*nexus.removals]
        if kept < 2:  # the file of records is there, which was written after the second line
            with pytest.raises(ReceiptError, match="was cut off"):
                read_receipt(receipt.path)
            assert receipts(tmp_path)["finished"].isna().all()
            for dry_run in (True, False):
                with pytest.raises(ApplyError, match="Nothing was changed"):
                    apply(plan, scripted, tmp_path, dry_run=dry_run)
            continue
        read = read_receipt(receipt.path)
        assert (read.finished, read.ended) == (False, None)
        assert "ended in the middle" in read.stopped
        dry = apply(plan, scripted, tmp_path, dry_run=True)
        again = apply(plan, scripted, tmp_path)
        for one in (dry, again):
            assert {"removed", "gone"} >= set(statuses(one).values()), kept
        assert again.finished
        assert nexus.removals == removals
        assert restore(again, scripted, dry_run=False).finished
        assert nexus.rows == RECORDS


def test_a_journal_cut_at_the_end_of_an_earlier_run_loses_no_undo(nexus, scripted, tmp_path):
    plan = plan_of(scripted, DE)
    first = apply(plan, scripted, tmp_path)
    whole = first.path.read_bytes()
    both = plan.tick(NH)
    apply(both, scripted, tmp_path)
    first.path.write_bytes(whole)
    again = apply(both, scripted, tmp_path)
    assert statuses(again) == {DE: "removed", NH: "gone"}
    assert again.items[1].flagged
    assert restore(again, scripted, dry_run=False).finished
    assert nexus.rows == RECORDS


@pytest.mark.parametrize("torn", [1, 200])
def test_a_journal_cut_in_a_line_after_a_refusal_loses_no_undo(nexus, scripted, tmp_path, torn):
    nexus.instead = [refused(422)]
    plan = plan_of(scripted, DE, NH)
    first = apply(plan, scripted, tmp_path)
    whole = first.path.read_bytes()
    apply(plan, scripted, tmp_path)
    first.path.write_bytes(first.path.read_bytes()[: len(whole) + torn])
    again = apply(plan, scripted, tmp_path)
    assert statuses(again) == {DE: "gone", NH: "removed"}
    assert restore(again, scripted, dry_run=False).finished
    assert nexus.rows == RECORDS


def test_what_somebody_else_removed_after_a_run_that_ended_is_absent(nexus, scripted, tmp_path):
    plan = plan_of(scripted, DE, NH)
    nexus.instead = [refused(402)]
    apply(plan, scripted, tmp_path)
    nexus.rows = [one for one in nexus.rows if one["state"] == "TX"]
    assert statuses(apply(plan, scripted, tmp_path)) == {DE: "absent", NH: "absent"}
    nexus.instead = [refused(402)]
    for status in ("refused", "absent"):
        receipt = remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
        assert receipt.items[0].status == status
        nexus.rows = []


@posix
def test_files_are_for_the_user_alone(applied):
    _, receipt = applied
    folder = receipt.path.parent
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert len(modes) == 3  # the journal, the records, the lock
    assert set(modes.values()) == {0o600}


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("part", ["write", "sync", "records", "folder"])
def test_nothing_is_sent_where_nothing_can_be_written(nexus, scripted, tmp_path, monkeypatch, part):
    folder = tmp_path / "receipts"
    if part == "write":
        monkeypatch.setattr(journal, "_write", full)
    elif part == "folder":
        folder.write_text("in the way")
        folder /= "x"
    else:
        module = journal if part == "sync" else atomic.operating_system
        monkeypatch.setattr(module, "sync", full)
    with pytest.raises(ApplyError, match="Nothing was changed"):
        apply(plan_of(scripted, DE), scripted, folder)
    assert nexus.removals == []


@pytest.mark.parametrize("at", ["sending", "answer"])
def test_a_disk_that_fills_in_the_middle_stops_it_and_loses_nothing(
    nexus, scripted, tmp_path, monkeypatch, at
):
    plan = plan_of(scripted, DE, NH, TX)
    real = journal._write
    seen = []

    def second(file, line):
        if f'"event": "{at}"'.encode() in line:
            seen.append(line)
            if len(seen) > 1:
                os.write(file, line[:20])  # as much as there was room for
                full()
        real(file, line)

    with monkeypatch.context() as patch:
        patch.setattr(journal, "_write", second)
        receipt = apply(plan, scripted, tmp_path)
    after = {"sending": "not_attempted", "answer": "removed"}[at]
    assert statuses(receipt) == {DE: "removed", NH: after, TX: "not_attempted"}
    assert "No space left" in receipt.stopped
    assert receipt.notes
    assert nexus.removals == [DE, NH][: 1 if at == "sending" else 2]
    # what is on disk claims no more than it says, and a rerun finishes
    on_disk = {"sending": "not_attempted", "answer": "unknown"}[at]
    assert statuses(read_receipt(receipt.path))[NH] == on_disk
    again = apply(plan, scripted, tmp_path)
    assert again.finished
    assert statuses(again)[NH] == {"sending": "removed", "answer": "gone"}[at]
    assert nexus.removals == [DE, NH, TX]


HOLD = """
import sys
from pathlib import Path
from svc_tools.nexus.journal import locked
with locked(Path(sys.argv[1]), what="x"):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_second_process_is_refused_and_sends_nothing(nexus, applied, scripted):
    plan, receipt = applied
    (lock,) = receipt.path.parent.glob(".*.lock")
    removals = [*nexus.removals]
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(ApplyError, match="Another process or window"):
            apply(plan, scripted, receipt.path.parent)
        assert nexus.removals == removals
        process.communicate("\n")
    assert apply(plan, scripted, receipt.path.parent).finished


def test_two_windows_of_one_process_exclude_each_other(nexus, scripted, tmp_path):
    plan = plan_of(scripted, DE, NH)
    refusals = []

    def at_once(*_):
        try:
            apply(plan, scripted, tmp_path)
        except ApplyError as error:
            refusals.append(error)

    assert apply_plan(plan, scripted, dry_run=False, folder=tmp_path, on_progress=at_once).finished
    assert len(refusals) == 2
    assert nexus.removals == [DE, NH]


def test_a_dry_run_shows_only_what_a_run_would_still_send(nexus, applied, scripted):
    plan, receipt = applied
    nexus.lists = False
    folder = receipt.path.parent
    before = {path: path.read_bytes() for path in folder.iterdir()}
    dry = apply(plan, scripted, folder, dry_run=True)
    assert statuses(dry) == {DE: "removed", NH: "unknown", TX: "planned"}
    assert [one.key for one in dry.requests] == [TX]
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    apply(plan, scripted, folder)
    assert nexus.removals == [DE, NH, TX]


def test_a_journal_of_another_plan_under_this_name_is_not_continued(nexus, scripted, tmp_path):
    one, other = plan_of(scripted, DE), plan_of(scripted, TX)
    first, second = (apply(plan, scripted, tmp_path) for plan in (one, other))
    second.path.write_bytes(first.path.read_bytes())
    nexus.rows.insert(0, dict(RECORDS[2]))
    with pytest.raises(ApplyError, match="Nothing was changed"):
        apply(other, scripted, tmp_path)
    assert nexus.removals == [DE, TX]


def test_a_journal_with_an_unknown_status_is_not_continued(nexus, scripted, tmp_path):
    plan = plan_of(scripted, DE, TX)
    nexus.instead = [refused(402)]
    receipt = apply(plan, scripted, tmp_path)
    journal = Journal(receipt.path)
    journal.add({"event": "answer", "at": "2026-11-21", "item": DE, "status": "new", "message": ""})
    journal.close()
    with pytest.raises(ApplyError, match="Nothing was changed"):
        apply(plan, scripted, tmp_path)
    assert len(nexus.removals) == 1
    assert receipts(tmp_path).isna().loc[0, "finished"]


def test_a_damaged_journal_of_long_ago_does_not_keep_a_state_from_being_removed(
    nexus, scripted, tmp_path
):
    def remove():
        nexus.rows = [dict(one) for one in RECORDS]
        return remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)

    first = remove().path
    old = first.rename(first.with_name(f"20200101-000000{first.name[15:]}"))
    remove()
    old.write_bytes(b'{"event": "journal", half of it\n')
    assert remove().items[0].status == "removed"
    assert len(nexus.removals) == 3


def test_a_state_whose_records_came_back_is_left_alone_once_and_removed_then(
    nexus, scripted, tmp_path
):
    """The program ended before it could say that the removal was the last of it."""
    receipt = remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
    lines = receipt.path.read_bytes().splitlines(keepends=True)
    assert json.loads(lines[-1])["event"] == "end"
    receipt.path.write_bytes(b"".join(lines[:-1]))
    nexus.rows = [dict(one) for one in RECORDS]
    again = remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
    assert nexus.removals == [("TX", None)]
    assert again.items[0].message
    remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
    assert nexus.removals == [("TX", None)] * 2


@posix
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
    for name, value in homes(tmp_path / "home").items():
        monkeypatch.setenv(name, value)
    inside = apply(plan_of(scripted, DE), scripted, tmp_path / "out")
    at_home = apply(plan_of(scripted, NH), scripted, tmp_path / "home" / "receipts")
    for shown in (str(inside), inside._repr_html_()):
        assert str(tmp_path) not in shown
        assert f"out/{inside.path.name}" in shown
    assert read_receipt(f"out/{inside.path.name}").path == inside.path
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert str(inside.path) in str(inside)
    assert "~/receipts/" in str(at_home)
    assert str(tmp_path) not in str(at_home)
