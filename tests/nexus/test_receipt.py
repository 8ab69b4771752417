"""Receipts read back from disk, and restores: what is gone comes back, nothing is overwritten."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
from support.faults import KEY
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


def apply(plan, client, folder):
    return apply_plan(plan, client, dry_run=False, folder=folder)


READ = """
import sys
from svc_tools.nexus import read_receipt
assert "pandas" not in sys.modules
receipt = read_receipt(sys.argv[1])
print([(item.key, item.status, item.reference) for item in receipt.items])
"""


def test_another_process_reads_the_same_and_needs_no_frames(faults, scripted, tmp_path):
    Nexus(faults).instead = [lambda done: done, refused(422)]
    receipt = apply(plan_of(scripted, DE, NH), scripted, tmp_path)
    told = subprocess.run(
        [sys.executable, "-c", READ, receipt.path], capture_output=True, text=True, check=True
    )
    expected = [(item.key, item.status, item.reference) for item in receipt.items]
    assert told.stdout.strip() == str(expected)
    again = read_receipt(receipt.path)
    assert (again.items, again.sentence, again.started) == (
        receipt.items,
        receipt.sentence,
        receipt.started,
    )
    assert again.undoable


def test_times_are_utc_to_the_second(faults, scripted, tmp_path):
    Nexus(faults)
    receipt = apply(plan_of(scripted, DE), scripted, tmp_path)
    assert receipt.items[0].at.endswith("+00:00")
    assert "." not in receipt.items[0].at
    assert receipt.started.utcoffset().total_seconds() == 0


def test_what_comes_from_the_service_becomes_no_markup(faults, scripted, tmp_path):
    nexus = Nexus(faults)
    nexus.instead = [refused(400, code="<script>alert(1)</script>")]
    receipt = apply(plan_of(scripted, DE), scripted, tmp_path)
    page = receipt._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert '<th scope="col"' in page


def test_a_frame_of_a_receipt(faults, scripted, tmp_path):
    Nexus(faults)
    frame = apply(plan_of(scripted, DE, NH), scripted, tmp_path).frame()
    assert frame["status"].tolist() == ["removed", "removed"]
    assert frame["deleted"].dtype == "Int64"
    assert frame.loc[1, "address"] == "1 Main St\nConcord"


def test_the_file_of_records_is_a_register_with_every_word(faults, scripted, tmp_path):
    Nexus(faults)
    receipt = apply(plan_of(scripted, DE, NH), scripted, tmp_path)
    kept = {(one.state, one.nexus_type): one for one in read_register(receipt.restore_file).records}
    assert set(kept) == {DE, NH}
    assert kept[NH].address == "1 Main St\nConcord"
    assert kept[NH].notes == 'a "b", c'
    assert str(kept[DE].registered_at) == "2021-01-01"


def test_receipts_are_listed_newest_first_and_a_broken_one_says_so(faults, scripted, tmp_path):
    Nexus(faults)
    first = apply(plan_of(scripted, DE), scripted, tmp_path)
    second = remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
    (tmp_path / "20200101-000000-apply-x.jsonl").write_text("{}\n")
    (tmp_path / "20200101-000001-apply-y.jsonl").write_text("")
    os.utime(tmp_path / "20200101-000000-apply-x.jsonl", (10**9, 10**9))
    os.utime(tmp_path / "20200101-000001-apply-y.jsonl", (10**9, 10**9))
    frame = receipts(tmp_path)
    assert set(frame["file"][:2]) == {first.path.name, second.path.name}
    assert frame["finished"].tolist()[:2] == [True, True]
    assert frame["finished"].isna().tolist() == [False, False, True, True]
    assert "is no journal of removals" in " ".join(frame["said"])
    assert "nothing was begun" in " ".join(frame["said"])
    assert isinstance(frame["started"].dtype, pd.DatetimeTZDtype)


def test_no_receipts_are_an_empty_frame(tmp_path):
    frame = receipts(tmp_path / "none")
    assert frame.empty
    assert "said" in frame


def test_a_receipt_is_found_by_its_name(faults, scripted, monkeypatch, tmp_path):
    monkeypatch.setenv("SVC_RECEIPTS", str(tmp_path / "kept"))
    Nexus(faults)
    receipt = apply_plan(plan_of(scripted, DE), scripted, dry_run=False)
    assert receipt.path.parent == tmp_path / "kept" == receipt_folder()
    assert statuses(read_receipt(receipt.path.name)) == {DE: "removed"}
    with pytest.raises(FileNotFoundError, match="There is no receipt"):
        read_receipt("none.jsonl")
    (tmp_path / "kept" / "other.jsonl").write_text("x\n")
    with pytest.raises(ReceiptError):
        read_receipt("other.jsonl")


def test_the_folder_is_the_users_own(monkeypatch, tmp_path):
    assert receipt_folder().name == "nexus"
    monkeypatch.setenv("SVC_RECEIPTS", "~nobody-of-that-name/x")
    with pytest.raises(config.ConfigurationError, match="SVC_RECEIPTS"):
        receipt_folder()


def test_the_sentence_counts(faults, scripted, tmp_path):
    nexus = Nexus(faults)
    nexus.instead = [lambda done: done, refused(401)]
    receipt = apply(plan_of(scripted, DE, NH, TX), scripted, tmp_path)
    assert receipt.sentence == (
        "3 removals: 1 removed, 2 not removed. It ended early: it said 401."
    )


@pytest.fixture
def nexus(faults):
    return Nexus(faults)


@pytest.fixture
def removed(nexus, scripted, tmp_path):
    plan = plan_of(scripted, DE, NH, TX)
    return apply_plan(plan, scripted, dry_run=False, folder=tmp_path / "receipts")


def as_they_were(nexus):
    fields = ("state", "nexus_type", "registered_at", "address", "notes")
    return [{name: one[name] for name in fields if one.get(name)} for one in nexus.records]


def test_removed_records_come_back_as_they_were(nexus, removed, scripted, faults):
    requests = preview_restore(removed)
    receipt = restore(read_receipt(removed.path), scripted, dry_run=False)
    assert as_they_were(nexus) == RECORDS
    assert statuses(receipt) == {DE: "restored", NH: "restored", TX: "restored"}
    assert (receipt.kind, receipt.finished, receipt.undoable) == ("restore", True, False)
    assert receipt.sentence == "3 records: 3 there again."
    assert receipt.path.parent == removed.path.parent
    sent = [json.loads(one.body) for one in faults.seen if one.method == "POST"]
    assert [one for one in sent if one] == [one.body for one in requests]
    assert set(receipts(removed.path.parent)["kind"]) == {"apply", "restore"}


def test_a_dry_run_adds_nothing(nexus, removed, scripted):
    receipt = restore(removed, scripted)
    assert set(statuses(receipt).values()) == {"planned"}
    assert nexus.additions == []
    assert len(receipts(removed.path.parent)) == 1


def test_another_record_that_came_since_is_never_overwritten(nexus, removed, scripted):
    nexus.records.insert(0, {"state": "DE", "nexus_type": "economic", "notes": "newer"})
    nexus.records.insert(1, dict(RECORDS[1]))
    receipt = restore(removed, scripted, dry_run=False)
    assert statuses(receipt) == {DE: "changed", NH: "restored", TX: "restored"}
    assert [one["state"] for one in nexus.additions] == ["TX"]
    assert nexus.records[0]["notes"] == "newer"
    assert receipt.counts["flagged"] == 1


def test_all_types_of_a_state_come_back(nexus, scripted, tmp_path):
    receipt = remove_state(scripted, "TX", typed="TX", dry_run=False, folder=tmp_path)
    assert receipt.undoable
    restore(receipt, scripted, dry_run=False)
    assert as_they_were(nexus) == RECORDS


@pytest.mark.parametrize("lists", [True, False])
def test_where_it_cannot_be_undone_it_is_said_and_not_tried(
    nexus, removed, scripted, lists, faults
):
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


def test_there_may_be_nothing_to_restore(nexus, removed, scripted, tmp_path):
    with pytest.raises(ApplyError, match="dry run"):
        restore(apply_plan(plan_of(scripted, KEYS[4]), scripted), scripted)
    nexus.instead = [refused(422)]
    plan = plan_of(scripted, KEYS[4])
    receipt = apply_plan(plan, scripted, dry_run=False, folder=tmp_path)
    with pytest.raises(ApplyError, match="nothing to restore"):
        restore(receipt, scripted, dry_run=False)


def test_a_lost_answer_is_settled_and_a_stopped_restore_goes_on(nexus, removed, scripted):
    nexus.adding = [lambda _: LOST, refused(402)]
    receipt = restore(removed, scripted, dry_run=False)
    assert statuses(receipt) == {DE: "restored", NH: "refused", TX: "not_attempted"}
    assert not receipt.finished
    again = restore(removed, scripted, dry_run=False)
    assert again.path == receipt.path
    assert again.finished
    assert as_they_were(nexus) == RECORDS
    assert [one["state"] for one in nexus.additions] == ["DE", "NH", "NH", "TX"]


def test_a_record_that_was_lost_unasked_can_be_added_again(nexus, scripted, tmp_path):
    def all_types(done):
        nexus.records = [one for one in nexus.records if one["state"] != "TX"]
        return done

    nexus.instead = [all_types]
    receipt = apply_plan(plan_of(scripted, TX), scripted, dry_run=False, folder=tmp_path)
    restore(receipt, scripted, dry_run=False)
    assert as_they_were(nexus) == RECORDS


def test_after_an_undo_the_same_cleanup_is_possible_with_a_new_plan(nexus, removed, scripted):
    restore(removed, scripted, dry_run=False)
    plan = plan_of(scripted, DE)
    again = apply_plan(plan, scripted, dry_run=False, folder=removed.path.parent)
    assert statuses(again) == {DE: "removed"}
    assert again.path != removed.path


def test_what_no_request_can_add_again_is_said(nexus, scripted, tmp_path):
    nexus.records[0]["internal_code"] = "X7"
    receipt = apply_plan(plan_of(scripted, DE), scripted, dry_run=False, folder=tmp_path)
    assert receipt.items[0].record["internal_code"] == "X7"
    assert any("internal_code" in note for note in restore(receipt, scripted, dry_run=False).notes)


def test_on_the_embedded_service_an_undo_is_whole(service, tmp_path):
    text = "line one\nline two, \N{EURO SIGN} 'quoted'; --  "
    with Svc(KEY, base_url=service) as client:
        client.add_nexus(
            "RI", nexus_type="economic", registered_at="2020-02-29", address=text, notes=text
        )
        before = client.list_nexus("RI").nexus
        plan = plan_of(client, ("RI", "economic"), records=[one.model_dump() for one in before])
        assert abilities(client).restores
        assert client.list_nexus("RI").nexus == before  # finding that out changes nothing
        receipt = apply_plan(plan, client, dry_run=False, folder=tmp_path)
        assert statuses(receipt) == {("RI", "economic"): "removed"}
        assert client.list_nexus("RI").nexus == []
        restore(receipt, client, dry_run=False)
        (after,) = client.list_nexus("RI").nexus
        names = ("state", "nexus_type", "registered_at", "address", "notes")
        assert [getattr(after, name) for name in names] == [
            getattr(before[0], name) for name in names
        ]
        client.remove_nexus("RI")


def test_a_record_that_no_request_can_hold_costs_the_others_nothing(nexus, scripted, tmp_path):
    receipt = apply_plan(plan_of(scripted, DE, NH), scripted, dry_run=False, folder=tmp_path)
    odd = [replace(item, before=({**item.before[0]},)) for item in receipt.items]
    odd[0].before[0]["registered_at"] = "1st of May"
    changed = replace(receipt, items=tuple(odd))
    assert [one.state for one in preview_restore(changed)] == ["NH"]
    again = restore(changed, scripted, dry_run=False)
    assert statuses(again) == {DE: "refused", NH: "restored"}
    assert "1st of May" in again.items[0].message


def test_of_several_records_one_comes_back_and_the_rest_are_said(nexus, scripted, tmp_path):
    nexus.records.insert(0, {**RECORDS[0], "notes": "another"})
    plan = plan_of(scripted, DE, records=nexus.records)
    receipt = apply_plan(plan, scripted, dry_run=False, folder=tmp_path)
    assert (receipt.items[0].expected, receipt.items[0].deleted) == (2, 2)
    again = restore(receipt, scripted, dry_run=False)
    assert [one["notes"] for one in nexus.records if one["state"] == "DE"] == ["another"]
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
