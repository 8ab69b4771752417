"""Receipts read back from disk, and restores: what is gone comes back, nothing is overwritten."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta

import pandas as pd
import pytest
from support.nexus import KEYS, LOST, RECORDS, Nexus, plan_of, refused, statuses

from svc_sdk import Svc
from svc_tools import config
from svc_tools.nexus import (
    ApplyError,
    ReceiptError,
    abilities,
    apply_plan,
    preview_restore,
    read_receipt,
    read_register,
    receipt_folder,
    receipts,
    remove_state,
    restore,
)

DE, NH, TX = KEYS[:3]


@pytest.fixture
def nexus(faults):
    return Nexus(faults)


def apply(plan, client, folder):
    return apply_plan(plan, client, dry_run=False, folder=folder)


READ = """
import sys
from svc_tools.nexus import read_receipt
assert "pandas" not in sys.modules
receipt = read_receipt(sys.argv[1])
print([(item.key, item.status, item.reference) for item in receipt.items])
"""


def test_another_process_reads_the_same_and_needs_no_frames(nexus, scripted, tmp_path):
    nexus.instead = [lambda done: done, refused(422)]
    receipt = apply(plan_of(scripted, DE, NH), scripted, tmp_path)
    read = subprocess.run(
        [sys.executable, "-c", READ, receipt.path], capture_output=True, text=True, check=True
    )
    expected = [(item.key, item.status, item.reference) for item in receipt.items]
    assert read.stdout.strip() == str(expected)
    again = read_receipt(receipt.path)
    assert (again.items, again.sentence, again.started) == (
        receipt.items,
        receipt.sentence,
        receipt.started,
    )
    assert again.undoable


def test_what_comes_from_the_service_becomes_no_markup(nexus, scripted, tmp_path):
    nexus.instead = [refused(400, code="<script>alert(1)</script>")]
    page = apply(plan_of(scripted, DE), scripted, tmp_path)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_a_receipt_as_a_frame_and_its_records_as_a_register(nexus, scripted, tmp_path):
    receipt = apply(plan_of(scripted, DE, NH), scripted, tmp_path)
    frame = receipt.frame()
    assert frame["status"].tolist() == ["removed", "removed"]
    assert frame["deleted"].dtype == "Int64"
    assert frame.loc[1, "address"] == "1 Main St\nConcord"
    for time in (datetime.fromisoformat(receipt.items[0].at), receipt.started):
        assert (time.utcoffset(), time.microsecond) == (timedelta(0), 0)
    register = read_register(receipt.restore_file).records
    assert [record.texts for record in register] == [
        ("DE", "economic", "2021-01-01", "", "old"),
        ("NH", "physical", "", "1 Main St\nConcord", 'a "b", c'),
    ]


def test_receipts_are_listed_newest_first_and_a_broken_one_says_so(nexus, scripted, tmp_path):
    assert receipts(tmp_path / "none").empty
    first = apply(plan_of(scripted, DE), scripted, tmp_path)
    second = remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
    for name, text in (("000000-apply-x", "{}\n"), ("000001-apply-y", "")):
        path = tmp_path / f"20200101-{name}.jsonl"
        path.write_text(text)
        os.utime(path, (10**9, 10**9))
    frame = receipts(tmp_path)
    assert set(frame["file"][:2]) == {first.path.name, second.path.name}
    assert frame["finished"].tolist()[:2] == [True, True]
    assert frame["finished"].isna().tolist() == [False, False, True, True]
    assert frame["said"].ne("").all()
    assert isinstance(frame["started"].dtype, pd.DatetimeTZDtype)


def test_a_receipt_is_found_by_its_name(nexus, scripted, monkeypatch, tmp_path):
    assert receipt_folder().name == "nexus"
    monkeypatch.setenv("SVC_RECEIPTS", str(tmp_path / "own"))
    receipt = apply_plan(plan_of(scripted, DE), scripted, dry_run=False)
    assert receipt.path.parent == tmp_path / "own" == receipt_folder()
    assert statuses(read_receipt(receipt.path.name)) == {DE: "removed"}
    with pytest.raises(FileNotFoundError):
        read_receipt("none.jsonl")
    (tmp_path / "own" / "other.jsonl").write_text("x\n")
    with pytest.raises(ReceiptError, match="is no journal"):
        read_receipt("other.jsonl")
    monkeypatch.setenv("SVC_RECEIPTS", "~nobody-of-that-name/x")
    with pytest.raises(config.ConfigurationError, match="SVC_RECEIPTS"):
        receipt_folder()


@pytest.fixture
def removed(nexus, scripted, tmp_path):
    return apply(plan_of(scripted, DE, NH, TX), scripted, tmp_path / "receipts")


def test_removed_records_come_back_as_they_were(nexus, removed, scripted, faults):
    folder = removed.path.parent
    requests = preview_restore(removed)
    dry = restore(removed, scripted)
    assert set(statuses(dry).values()) == {"planned"}
    assert (nexus.additions, len(receipts(folder))) == ([], 1)
    receipt = restore(read_receipt(removed.path), scripted, dry_run=False)
    assert nexus.rows == RECORDS
    assert statuses(receipt) == {DE: "restored", NH: "restored", TX: "restored"}
    assert (receipt.kind, receipt.finished, receipt.undoable) == ("restore", True, False)
    assert receipt.path.parent == folder
    sent = [json.loads(one.body) for one in faults.seen if one.method == "POST"]
    assert sent == [one.body for one in requests]
    assert set(receipts(folder)["kind"]) == {"apply", "restore"}
    again = apply(plan_of(scripted, DE), scripted, folder)  # a new plan
    assert statuses(again) == {DE: "removed"}
    assert again.path != removed.path


def test_another_record_that_came_since_is_never_overwritten(nexus, removed, scripted):
    nexus.rows.insert(0, {"state": "DE", "nexus_type": "economic", "notes": "newer"})
    nexus.rows.insert(1, dict(RECORDS[1]))
    receipt = restore(removed, scripted, dry_run=False)
    assert statuses(receipt) == {DE: "changed", NH: "restored", TX: "restored"}
    assert [one["state"] for one in nexus.additions] == ["TX"]
    assert nexus.rows[0]["notes"] == "newer"
    assert receipt.counts["flagged"] == 1


@pytest.mark.parametrize("lists", [True, False])
def test_where_it_cannot_be_undone_it_is_not_tried(nexus, removed, scripted, lists):
    nexus.lists, nexus.adds = lists, False
    with pytest.raises(ApplyError, match="cannot be undone on this service"):
        restore(removed, scripted, dry_run=False)
    assert nexus.additions == []


def test_a_receipt_of_another_account_is_refused(nexus, removed, faults):
    with (
        Svc("another-key-0123456789", base_url=faults.base_url) as other,
        pytest.raises(ApplyError, match=f"account {removed.account}"),
    ):
        restore(removed, other, dry_run=False)
    assert nexus.additions == []


def test_there_may_be_nothing_to_restore(nexus, scripted, tmp_path):
    plan = plan_of(scripted, KEYS[4])
    with pytest.raises(ApplyError, match="dry run"):
        restore(apply_plan(plan, scripted), scripted)
    nexus.instead = [refused(422)]
    with pytest.raises(ApplyError, match="nothing to restore"):
        restore(apply(plan, scripted, tmp_path), scripted, dry_run=False)


def test_a_lost_answer_is_settled_and_a_stopped_restore_goes_on(nexus, removed, scripted):
    nexus.adding = [lambda _: LOST, refused(402)]
    receipt = restore(removed, scripted, dry_run=False)
    assert statuses(receipt) == {DE: "restored", NH: "refused", TX: "not_attempted"}
    assert not receipt.finished
    again = restore(removed, scripted, dry_run=False)
    assert again.path == receipt.path
    assert again.finished
    assert nexus.rows == RECORDS
    assert [one["state"] for one in nexus.additions] == ["DE", "NH", "NH", "TX"]


def test_on_the_embedded_service_an_undo_is_whole(empty_account, tmp_path):
    client, text = empty_account, "line one\nline two, \N{EURO SIGN} 'quoted'; --  "
    client.add_nexus(
        "RI", nexus_type="economic", registered_at="2020-02-29", address=text, notes=text
    )
    before = client.list_nexus().nexus
    plan = plan_of(client, ("RI", "economic"), records=[one.model_dump() for one in before])
    assert abilities(client).restores
    assert client.list_nexus().nexus == before  # finding that out changes nothing
    receipt = apply(plan, client, tmp_path)
    assert statuses(receipt) == {("RI", "economic"): "removed"}
    assert client.list_nexus().nexus == []
    restore(receipt, client, dry_run=False)
    ((was, now),) = zip(before, client.list_nexus().nexus, strict=True)
    names = {"state", "nexus_type", "registered_at", "address", "notes"}
    assert now.model_dump(include=names) == was.model_dump(include=names)


def test_a_record_that_no_request_can_hold_costs_the_others_nothing(nexus, scripted, tmp_path):
    nexus.rows[0]["internal_code"] = "X7"
    receipt = apply(plan_of(scripted, DE, NH), scripted, tmp_path)
    assert receipt.items[0].record["internal_code"] == "X7"
    odd = [replace(item, before=({**item.before[0]},)) for item in receipt.items]
    odd[0].before[0]["registered_at"] = "1st of May"
    changed = replace(receipt, items=tuple(odd))
    assert [one.state for one in preview_restore(changed)] == ["NH"]
    again = restore(changed, scripted, dry_run=False)
    assert statuses(again) == {DE: "refused", NH: "restored"}
    assert "1st of May" in again.items[0].message
    whole = restore(receipt, scripted, dry_run=False)
    assert any("internal_code" in note for note in whole.notes)


def test_of_several_records_one_comes_back_and_the_rest_are_said(nexus, scripted, tmp_path):
    nexus.rows.insert(0, {**RECORDS[0], "notes": "another"})
    plan = plan_of(scripted, DE, records=nexus.rows)
    receipt = apply(plan, scripted, tmp_path)
    assert (receipt.items[0].expected, receipt.items[0].deleted) == (2, 2)
    again = restore(receipt, scripted, dry_run=False)
    assert [one["notes"] for one in nexus.rows if one["state"] == "DE"] == ["another"]
    assert any("had 2 records" in note for note in again.notes)
    assert "old" in receipt.restore_file.read_text("utf-8-sig")


def test_a_restore_that_added_nothing_leaves_the_removal_undoable(nexus, removed, scripted):
    nexus.adding = [refused(422)] * 3
    assert set(statuses(restore(removed, scripted, dry_run=False)).values()) == {"refused"}
    listed = receipts(removed.path.parent).set_index("file")
    assert listed.loc[removed.path.name, "undoable"]
    assert "Restored" not in listed.loc[removed.path.name, "said"]


def test_a_copy_of_a_journal_is_never_continued(nexus, removed, scripted):
    nexus.adding = [refused(402)]
    stopped = restore(removed, scripted, dry_run=False)
    copy = stopped.path.with_name(f"copy of-{stopped.path.name}")
    copy.write_bytes(stopped.path.read_bytes())
    before = copy.read_bytes()
    again = restore(removed, scripted, dry_run=False)
    assert again.path == stopped.path
    assert copy.read_bytes() == before
