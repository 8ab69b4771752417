"""Which record a tick means: what the service has by now, against what the plan had."""

from __future__ import annotations

import json
from unicodedata import normalize

import pytest
from support.faults import KEY, answer
from support.nexus import AS_OF, KEYS, LOST, RECORDS, Nexus, plan_of, said, statuses

from svc_tools.nexus import (
    apply_plan,
    make_plan,
    preview,
    read_plan,
    read_receipt,
    read_register,
    restore,
)

DE, NH, TX = KEYS[:3]
BARE = [{"state": state, "nexus_type": kind} for state, kind in KEYS]
"""One's own register: it never had days, addresses or notes."""


@pytest.fixture
def nexus(faults):
    return Nexus(faults)


def own_plan(records=BARE):
    """A plan that was made without any service."""
    return make_plan(read_register(records), as_of=AS_OF)


def apply(plan, client, tmp_path, **more):
    return apply_plan(plan, client, dry_run=False, folder=tmp_path / "receipts", **more)


# blanks of one's own register


def test_a_blank_of_ones_own_register_contradicts_nothing_and_the_whole_record_is_kept(
    nexus, scripted, tmp_path
):
    plan = own_plan().tick(NH)
    dry = apply_plan(plan, scripted)
    assert "The service has more of it than the plan: address '1 Main St Concord'" in (
        dry.items[0].message
    )
    receipt = apply(plan, scripted, tmp_path)
    assert statuses(receipt) == {NH: "removed"}
    assert nexus.removals == [NH]
    (kept,) = read_register(receipt.restore_file).records
    assert (kept.address, kept.notes) == (RECORDS[1]["address"], RECORDS[1]["notes"])
    assert receipt.items[0].record["notes"] == 'a "b", c'


def test_what_ones_own_register_does_say_must_hold(nexus, scripted, tmp_path):
    plan = own_plan([*BARE[:1], BARE[1] | {"address": "2 Main St"}]).tick(NH)
    receipt = apply(plan, scripted, tmp_path)
    assert statuses(receipt) == {NH: "changed"}
    assert "'2 Main St' in the plan" in receipt.items[0].message
    assert "notes" not in receipt.items[0].message
    assert nexus.removals == []


def test_a_blank_of_a_plan_for_a_service_means_that_it_was_blank_there(nexus, scripted, tmp_path):
    plan = plan_of(scripted, TX)
    nexus.records[2]["notes"] = "keep: an audit is under way"
    receipt = apply(plan, scripted, tmp_path)
    assert statuses(receipt) == {TX: "changed"}
    assert "an audit is under way" in receipt.items[0].message


def test_one_row_never_takes_two_records_along(nexus, scripted, tmp_path):
    plans = [own_plan().tick(TX), plan_of(scripted, TX)]
    nexus.records.insert(3, dict(nexus.records[2]))
    for plan in plans:
        receipt = apply(plan, scripted, tmp_path)
        assert statuses(receipt) == {TX: "changed"}
        assert "there are more of them" in receipt.items[0].message
    assert nexus.removals == []


def test_each_record_has_a_row_of_its_own(nexus, scripted, tmp_path):
    """Two rows, one of them blank: the blank one stands for whichever the other is not."""
    two = [{"state": "TX", "nexus_type": "economic", "notes": text} for text in ("old", "new")]
    nexus.records = [dict(one) for one in two]
    rows = [{**two[0], "notes": None}, two[0]]
    receipt = apply(own_plan(rows).tick(TX), scripted, tmp_path)
    assert (statuses(receipt), receipt.items[0].deleted) == ({TX: "removed"}, 2)
    nexus.records = [{**one, "address": "1 Elm St"} for one in two]  # both fit the blank row
    receipt = apply(own_plan(rows).tick(TX), scripted, tmp_path)
    assert (statuses(receipt), receipt.items[0].deleted) == ({TX: "removed"}, 2)
    nexus.records = [{**two[0], "notes": "b"}, {**two[0], "notes": "c"}]  # "old" is gone
    receipt = apply(own_plan(rows).tick(TX), scripted, tmp_path)
    assert statuses(receipt) == {TX: "changed"}


def test_letters_that_a_spreadsheet_writes_in_another_way_are_no_change(nexus, scripted, tmp_path):
    nexus.records[2]["notes"] = normalize("NFD", "caf\N{LATIN SMALL LETTER E WITH ACUTE}")
    records = [dict(one) for one in nexus.records]
    records[2]["notes"] = normalize("NFC", records[2]["notes"])
    receipt = apply(plan_of(scripted, TX, records=records), scripted, tmp_path)
    assert statuses(receipt) == {TX: "removed"}


# lost responses


def test_one_of_two_identical_records_that_is_still_listed_proves_nothing(
    nexus, scripted, tmp_path
):
    nexus.records.insert(0, dict(RECORDS[0]))
    plan = plan_of(scripted, DE, TX, records=nexus.records)

    def one_of_them(_):
        nexus.records.insert(0, dict(RECORDS[0]))
        return LOST

    nexus.instead = [one_of_them]
    receipt = apply(plan, scripted, tmp_path)
    assert statuses(receipt) == {DE: "unknown", TX: "not_attempted"}
    assert "1 record is listed, and not as before (2 records)" in receipt.items[0].message
    assert "is not known" in receipt.stopped
    assert statuses(apply_plan(plan, scripted, folder=tmp_path / "receipts"))[DE] == "unknown"
    again = apply(plan, scripted, tmp_path)
    assert statuses(again) == {DE: "unknown", TX: "removed"}
    assert nexus.removals == [DE, TX]
    nexus.records = [one for one in nexus.records if one["state"] != "DE"]
    assert statuses(apply(plan, scripted, tmp_path))[DE] == "gone"  # now the list says it


def test_an_added_record_that_is_listed_twice_proves_nothing(nexus, scripted, tmp_path):
    removed = apply(plan_of(scripted, DE, NH), scripted, tmp_path)

    def twice(_):
        nexus.records.insert(0, dict(RECORDS[0]))
        return LOST

    nexus.adding = [twice]
    receipt = restore(removed, scripted, dry_run=False)
    assert statuses(receipt) == {DE: "unknown", NH: "not_attempted"}
    again = restore(removed, scripted, dry_run=False)
    assert statuses(again) == {DE: "unknown", NH: "restored"}
    assert [one["state"] for one in nexus.additions] == ["DE", "NH"]


# what "replace" adds again


@pytest.mark.parametrize("notes", [["b", "c"], ["b", "b"]])
def test_which_of_two_records_is_to_stay_is_never_guessed(nexus, scripted, tmp_path, notes):
    nexus.records = [{**BARE[0], "notes": one} for one in notes]
    plan = own_plan([BARE[0], BARE[0]])
    receipt = apply(plan.tick(1, action="replace"), scripted, tmp_path)
    same = len(set(notes)) == 1
    assert statuses(receipt) == {DE: "replaced" if same else "changed"}
    assert nexus.removals == ([DE] if same else [])


def test_replace_adds_the_record_as_the_service_has_it(nexus, scripted, tmp_path):
    good = {
        **RECORDS[0],
        "notes": "the good one",
        "address": "1  Elm St\nDover",
        "registered_at": "2024-05-01",
    }
    nexus.records.insert(1, good)
    rows = [RECORDS[0], {**RECORDS[0], "registered_at": None, "notes": "the good one"}]
    plan = own_plan(rows)
    number = next(row.number for row in plan.rows if row.notes == "the good one")
    plan = plan.tick(number, action="replace")
    dry = apply_plan(plan, scripted)
    assert dry.requests[1].body == {name: good[name] for name in good}
    receipt = apply(plan, scripted, tmp_path)
    assert statuses(receipt) == {DE: "replaced"}
    assert nexus.additions == [good]


def test_a_rerun_of_half_a_replace_still_adds_it_as_the_service_had_it(nexus, scripted, tmp_path):
    good = {**RECORDS[0], "notes": "the good one", "address": "1 Elm St"}
    nexus.records.insert(1, good)
    plan = own_plan([RECORDS[0], {**good, "address": None}])
    number = next(row.number for row in plan.rows if row.notes == "the good one")
    plan = plan.tick(number, action="replace")
    nexus.adding = [said({"error": {"code": "NO", "message": "not now"}}, 422)]
    assert statuses(apply(plan, scripted, tmp_path)) == {DE: "removed_only"}
    assert statuses(apply(plan, scripted, tmp_path)) == {DE: "replaced"}
    assert nexus.additions[-1] == good
    assert nexus.removals == [DE]


def test_what_cannot_be_added_again_is_not_removed_for_replace(nexus, scripted, tmp_path):
    odd = {"state": "DE", "nexus_type": "economic", "registered_at": "1st of May", "notes": "odd"}
    nexus.records.insert(1, odd)
    plan = own_plan([RECORDS[0], {**odd, "registered_at": None}])
    number = next(row.number for row in plan.rows if row.notes == "odd")
    plan = plan.tick(number, action="replace")
    assert statuses(apply_plan(plan, scripted)) == {DE: "refused"}
    receipt = apply(plan, scripted, tmp_path)
    assert statuses(receipt) == {DE: "refused"}
    assert "1st of May" in receipt.items[0].message
    assert nexus.removals == []


# what a service says


FORMULAS = [
    '=HYPERLINK("http://x","y")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "00123",
]


def test_what_a_service_says_is_no_formula_in_the_file_of_records(nexus, scripted, tmp_path):
    states = ("CA", "GA", "IA", "KY", "LA", "MA")
    nexus.records = [
        {"state": state, "nexus_type": "economic", "notes": text, "address": text}
        for state, text in zip(states, FORMULAS, strict=True)
    ]
    before = [dict(one) for one in nexus.records]
    receipt = apply(plan_of(scripted, *nexus.keys, records=before), scripted, tmp_path)
    cells = receipt.restore_file.read_text("utf-8-sig").replace('"', "").split(",")
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t"))]
    kept = {one.state: one.notes for one in read_register(receipt.restore_file).records}
    assert kept == dict(zip(states, [text.strip() for text in FORMULAS], strict=True))


ESCAPED = "".join(f"\\u{ord(one):04x}" for one in KEY)


@pytest.mark.parametrize("where", ["message", "support_reference", "code"])
def test_a_key_that_comes_back_with_escapes_is_in_nothing_that_is_kept(
    nexus, scripted, faults, tmp_path, where
):
    body = json.dumps({"error": {"code": "NO", "message": "no", where: "SECRET"}})
    nexus.instead = [answer(402, body.replace("SECRET", f"x {ESCAPED} y").encode())]
    receipt = apply(plan_of(scripted, DE, TX), scripted, tmp_path)
    written = "".join(
        path.read_text("utf-8") for path in (tmp_path / "receipts").iterdir() if path.is_file()
    )
    assert KEY not in f"{receipt}{receipt._repr_html_()}{receipt.stopped}{written}"
    assert ESCAPED not in written
    assert statuses(receipt)[DE] == "refused"


@pytest.mark.parametrize("depth", [300, 900, 1_900])
def test_an_answer_that_is_nested_without_end_is_an_answer_not_known(
    nexus, scripted, tmp_path, depth
):
    nexus.instead = [answer(200, b"[" * depth + b"]" * depth)]
    receipt = apply(plan_of(scripted, DE), scripted, tmp_path)
    assert statuses(receipt) == {DE: "still_there"}
    assert read_receipt(receipt.path).items == receipt.items


def test_a_progress_that_fails_ends_the_run_with_its_receipt(nexus, scripted, tmp_path):
    def broken(*_):
        raise BrokenPipeError(32, "Broken pipe")

    receipt = apply(plan_of(scripted, DE, TX), scripted, tmp_path, on_progress=broken)
    assert statuses(receipt) == {DE: "removed", TX: "not_attempted"}
    assert "the progress could not be shown (BrokenPipeError" in receipt.stopped
    assert read_receipt(receipt.path).ended is not None


def test_the_preview_with_a_list_is_what_is_sent(nexus, scripted, tmp_path):
    plan = read_plan(own_plan().tick(NH, TX).write(tmp_path / "plan.csv"))
    listed = read_register(nexus.records)
    lines = [one.line for one in preview(plan, listed=listed)]
    assert len(lines) == 2
    apply(plan, scripted, tmp_path)
    assert [f"{state} {kind}" for state, kind in nexus.removals] == [
        f"{one.state} {one.nexus_type}" for one in preview(plan)
    ]


def test_what_a_service_says_is_one_line_that_no_terminal_obeys(nexus, scripted, tmp_path):
    evil = "\x1b[2J\x07\nno"
    error = {"code": "NO", "message": evil, "support_reference": evil}
    nexus.instead = [said({"error": error}, 402)]
    receipt = apply(plan_of(scripted, DE, TX), scripted, tmp_path)
    shown = f"{receipt.sentence}{receipt.stopped}{receipt.items[0]}{receipt.items[0].message}"
    assert not {"\x1b", "\x07", "\n"} & set(shown + receipt.items[0].reference)
    assert "\x1b" not in str(receipt)
