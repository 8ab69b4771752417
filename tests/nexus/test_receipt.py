"""Receipts: read back from disk alone, shown without markup of the data, listed newest first."""

from __future__ import annotations

import os
import subprocess
import sys

import pandas as pd
import pytest
from support.nexus import KEYS, Nexus, plan_of, refused, statuses

from svc_tools import config
from svc_tools.nexus import (
    ReceiptError,
    apply_plan,
    read_receipt,
    read_register,
    receipt_folder,
    receipts,
    remove_state,
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
