"""The register on the sheet: listed, marked, previewed, removed, added to and restored."""

from __future__ import annotations

import json

import pytest
from support.com_excel import ComError
from support.faults import KEY, answer
from support.killed import killing
from support.nexus import RECORDS, Nexus
from support.nexus_sheet import (
    HEAD,
    HEADINGS,
    cell,
    confirmed,
    nexus_sheet,
    rows,
    tick,
    type_below,
    type_row,
)
from support.systems import posix

from svc_tools.nexus import read_receipt

REFUSED = answer(403, b'{"error": {"code": "TIER_INSUFFICIENT", "message": "not in your plan"}}')


@pytest.fixture
def nexus(faults, tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_RECEIPTS", str(tmp_path / "receipts"))
    return Nexus(faults, [RECORDS[0], *RECORDS[2:4]])


@pytest.fixture
def sheet(excel):
    return nexus_sheet(excel.book)


OHIO = {
    "state": "OH",
    "nexus_type": "economic",
    "registered_at": "2024-05-01",
    "address": "1 Main St",
    "notes": "permit 7",
}
TYPED = ("Ohio", "Economic nexus", "2024-05-01", "1 Main St", "permit 7")


@pytest.fixture
def ticked(excel, sheet, nexus):
    """The sheet with the listed records, of which Delaware's is ticked."""
    excel.macro("SVC_NEXUS_LIST")
    tick(sheet)
    return sheet


def test_listing_fills_the_rows_with_what_a_plan_suggests_and_ticks_nothing(excel, sheet, nexus):
    told = excel.macro("SVC_NEXUS_LIST")
    assert told.startswith("3 records: 1 could be removed")
    found = rows(sheet)
    assert [(one["state"], one["type"], one["decision"]) for one in found] == [
        ("DE", "economic", "candidate"),
        ("TX", "economic", "keep"),
        ("TX", "physical", "keep"),
    ]
    assert found[0]["registered_at"] == "2021-01-01"
    assert "no general sales tax" in found[0]["reason"]
    assert not any(one["remove"] for one in found)
    assert nexus.sent == []
    assert sheet["A12"].value == told


def test_removing_takes_the_ticked_records_once_their_number_is_typed(excel, ticked, nexus):
    ticked["T1"] = '=SVC_NEXUS_STATUS("DE")'
    assert ticked["T1"].value == "registered"
    shown = confirmed(excel)
    assert shown.startswith("1 removal: 1 removed.")
    assert nexus.sent == [("DELETE", "DE", "economic")]
    row = rows(ticked)[0]
    assert row["outcome"].startswith("removed")
    assert read_receipt(row["receipt"]).counts["done"] == 1
    assert row["receipt"] in shown
    assert ticked["T1"].value == "not registered"  # formulas follow


def test_without_ticks_or_receipts_nothing_is_removed_or_restored(excel, sheet, nexus):
    excel.macro("SVC_NEXUS_LIST")
    assert "Nothing is ticked" in excel.macro("SVC_NEXUS_REMOVE")
    assert "svc-tools nexus receipts" in excel.macro("SVC_NEXUS_RESTORE")
    assert nexus.sent == []


def test_a_removed_record_is_restored_from_the_receipt_that_is_selected(excel, ticked, nexus):
    removed = nexus.records["DE", "economic"]
    confirmed(excel)
    assert ("DE", "economic") not in nexus.records
    ticked.type((HEAD + 3, HEADINGS.index("receipt") + 1), "that-of-another-removal.jsonl")
    sent = len(nexus.sent)
    assert "The rows name 2 receipts" in excel.macro("SVC_NEXUS_RESTORE")
    assert len(nexus.sent) == sent
    excel.app.Selection = ticked.Range(f"B{HEAD + 1}")
    assert confirmed(excel, "SVC_NEXUS_RESTORE").startswith("1 record: 1 there again.")
    assert nexus.records["DE", "economic"] == removed
    assert len(nexus.records) == 3
    assert rows(ticked)[0]["outcome"].startswith("restored")


def test_a_row_that_was_changed_by_hand_is_refused_by_its_name(excel, ticked, nexus):
    for state, reason in [
        ("ZZ", f"row {HEAD + 1} (ZZ economic): 'ZZ' in state"),
        ("TX", f"row {HEAD + 1} (TX economic): its cells are of two rows"),
        ("WA", "row says '1 DE economic'"),
    ]:
        ticked.type((HEAD + 1, 2), state)
        assert reason in excel.macro("SVC_NEXUS_REMOVE")
    assert nexus.sent == []


def test_rows_of_another_plan_are_refused(excel, ticked, nexus):
    for other in ("# svc-tools nexus plan | id=another", ""):
        ticked.type((HEAD + 1, len(HEADINGS) + 1), other)
        assert "are not of one plan" in excel.macro("SVC_NEXUS_REMOVE")
    assert nexus.sent == []


def test_rows_that_excel_sorted_are_still_the_plan(excel, ticked, nexus):
    for column in range(1, 16):
        first, second = (HEAD + 1, column), (HEAD + 2, column)
        cells = ticked.cells.pop(first, None), ticked.cells.pop(second, None)
        for key, one in zip((second, first), cells, strict=True):
            if one is not None:
                ticked.cells[key] = one
    confirmed(excel)
    assert nexus.sent == [("DELETE", "DE", "economic")]


def test_listing_again_replaces_rows_after_a_confirmation_only(excel, ticked, nexus):
    excel.app.pressed = ["no", "yes"]
    assert excel.macro("SVC_NEXUS_LIST") == "Nothing was changed."
    assert rows(ticked)[0]["remove"] == "x"
    del nexus.rows[-1]
    assert excel.macro("SVC_NEXUS_LIST").startswith("2 records")
    assert [one["remove"] for one in rows(ticked)] == [None, None]


def test_what_stands_in_the_way_is_not_written_over(excel, sheet, nexus):
    sheet.type((HEAD + 3, 1), "my note")
    told = excel.macro("SVC_NEXUS_LIST")
    assert f"something else stands in row {HEAD + 3}" in told
    assert rows(sheet) == []
    assert sheet.cells[HEAD + 3, 1].value == "my note"


def test_a_service_that_does_not_list_takes_rows_typed_by_hand(excel, sheet, nexus):
    nexus.lists = False
    assert "Type the records below the headings" in excel.macro("SVC_NEXUS_LIST")
    type_row(sheet, "Delaware", "Economic", "2021-01-01")  # Excel makes a date of the day
    assert excel.macro("SVC_NEXUS_LIST").startswith("1 record: 1 could be removed")
    tick(sheet)
    assert "1 removed" in confirmed(excel)
    assert nexus.sent == [("DELETE", "DE", "economic")]
    assert "cannot be undone" in "".join(excel.app.told)


@pytest.mark.parametrize("day", [44681.0, "'2022-04-30"])
def test_rows_typed_by_hand_are_compared_with_what_the_service_lists(excel, sheet, nexus, day):
    type_row(sheet, "TX", "economic", day)
    excel.macro("SVC_NEXUS_LIST")
    by_key = {(one["state"], one["type"]): one for one in rows(sheet)}
    assert len(by_key) == 3
    assert by_key["TX", "economic"]["registered_at"] == "2022-04-30"
    assert "2022-05-01 on the service" in by_key["TX", "economic"]["evidence"]
    assert by_key["DE", "economic"]["decision"] == "review"


def test_a_day_of_a_workbook_that_counts_from_1904_is_refused(excel, sheet, nexus):
    excel.book.Date1904 = True
    type_row(sheet, "TX", "economic", 44681.0 - 1462)
    assert "counts dates from 1904" in excel.macro("SVC_NEXUS_LIST")
    assert sheet.cells[HEAD + 1, 4].value == 44681.0 - 1462


def test_rows_typed_by_hand_are_there_until_the_plan_is(excel, sheet, nexus):
    nexus.lists = False
    type_row(sheet, "DE", "economic", "'2021-01-01")

    def refuses(*_):
        raise ComError("no")

    excel.app.on_write = refuses
    excel.macro("SVC_NEXUS_LIST")
    assert rows(sheet)[0]["registered_at"] == "2021-01-01"


def test_a_removal_is_reported_also_where_the_sheet_cannot_be_written(excel, ticked, nexus):
    def refuses(*_):
        if nexus.sent:
            raise ComError("no")

    excel.app.on_write = refuses
    shown = confirmed(excel)
    assert shown.startswith("1 removal: 1 removed.")
    assert "Receipt: " in shown


def test_a_service_that_refuses_the_key_writes_nothing(excel, sheet, faults):
    faults.will(REFUSED)
    assert "not in your plan" in excel.macro("SVC_NEXUS_LIST")
    assert rows(sheet) == []


def test_a_workbook_without_the_sheet_names_the_command_that_makes_one(excel, nexus):
    excel.book.add("Orders")
    assert "svc-tools excel workbook" in excel.macro("SVC_NEXUS_PREVIEW")


def test_a_typed_row_is_previewed_and_added_once_the_number_is_typed(excel, sheet, nexus):
    excel.macro("SVC_NEXUS_LIST")
    sheet["T1"] = '=SVC_NEXUS_STATUS("OH")'
    at = type_below(sheet, *TYPED)
    shown = excel.macro("SVC_NEXUS_PREVIEW")
    (request,) = [line for line in shown.splitlines() if line.startswith("POST ")]
    assert json.loads(request.removeprefix("POST /v1/portability/nexus ")) == OHIO
    assert cell(sheet, at, "outcome").startswith("planned: ")
    assert nexus.methods == {"GET"}
    shown = confirmed(excel, "SVC_NEXUS_ADD")
    assert nexus.additions == [OHIO]
    assert nexus.records["OH", "economic"] == OHIO
    assert cell(sheet, at, "outcome").startswith("added: ")
    assert cell(sheet, at, "remove") is None  # what was added is not added again
    receipt = read_receipt(cell(sheet, at, "receipt"))
    assert (receipt.kind, receipt.finished, receipt.counts["done"]) == ("add", True, 1)
    assert str(receipt.path) in shown
    assert sheet["T1"].value == "registered"  # formulas follow


def test_removals_and_additions_are_previewed_together_and_sent_apart(excel, ticked, nexus):
    type_below(ticked, *TYPED)
    shown = excel.macro("SVC_NEXUS_PREVIEW")
    lines = [line for line in shown.splitlines() if line.startswith(("DELETE ", "POST "))]
    assert [line.split()[0] for line in lines] == ["DELETE", "POST"]
    assert nexus.methods == {"GET"}
    confirmed(excel)
    assert nexus.sent == [("DELETE", "DE", "economic")]
    assert rows(ticked)[-1]["remove"] == "add"
    confirmed(excel, "SVC_NEXUS_ADD")
    assert nexus.sent[1:] == [("POST", "OH", "economic")]


@pytest.mark.parametrize("macro", ["SVC_NEXUS_REMOVE", "SVC_NEXUS_ADD"])
@pytest.mark.parametrize("typed", [None, False, "2", "", "one"])
def test_without_the_number_nothing_is_changed(excel, ticked, nexus, macro, typed):
    at = type_below(ticked, *TYPED)
    excel.app.pressed, excel.app.typed = ["no" if typed is None else "yes"], [typed]
    assert excel.macro(macro) == "Nothing was changed."
    assert nexus.methods == {"GET"}
    assert cell(ticked, at, "remove") == "add"


@pytest.mark.parametrize(
    ("row", "word"),
    [
        (("Nowhere", "economic"), "state"),
        ((None, "economic"), "state"),
        (("OH", "click"), "nexus_type"),
        (("OH",), "nexus_type"),
        (("OH", "economic", "03/04/2024"), "03/04/2024"),
        (("OH", "economic", "spring"), "spring"),
        (("OH", "economic", 20261399.0), "20261399"),
        (("OH", "economic", 2024.0), "2024"),
        (("OH", "economic", None, "'#REF!"), "#REF!"),
    ],
)
def test_a_row_that_cannot_be_read_says_why_and_nothing_is_sent(excel, sheet, nexus, row, word):
    good = type_below(sheet, "WA", "marketplace")
    at = type_below(sheet, *row)
    for macro in ("SVC_NEXUS_PREVIEW", "SVC_NEXUS_ADD"):
        assert f"Row {at} cannot be added: " in excel.macro(macro)
        assert word in cell(sheet, at, "outcome")
        assert cell(sheet, good, "outcome") is None
        sheet.type((at, HEADINGS.index("outcome") + 1), None)
    assert nexus.additions == []


@pytest.mark.parametrize("day", ["2024-05-01", "05/31/2024", "May 31, 2024", 20240531.0, 45413.6])
def test_the_day_of_a_row_is_read_in_every_form_of_one_meaning(excel, sheet, nexus, day):
    type_below(sheet, "OH", "economic", day)
    confirmed(excel, "SVC_NEXUS_ADD")
    assert nexus.additions[0]["registered_at"] in {"2024-05-01", "2024-05-31"}


def test_a_date_cell_of_a_workbook_that_counts_from_1904_is_not_sent(excel, sheet, nexus):
    excel.book.Date1904 = True
    at = type_below(sheet, "OH", "economic", 45413.0 - 1462)
    excel.macro("SVC_NEXUS_ADD")
    assert "counts dates from 1904" in cell(sheet, at, "outcome")
    sheet.type((at, 4), "'2024-05-01")
    confirmed(excel, "SVC_NEXUS_ADD")
    assert nexus.additions == [{key: OHIO[key] for key in ("state", "nexus_type", "registered_at")}]


def test_a_state_that_is_registered_is_left_alone_and_the_others_are_added(excel, sheet, nexus):
    there, same = (type_below(sheet, "Texas", kind) for kind in ("economic", "physical"))
    sheet.type((same, 5), nexus.records["TX", "physical"]["address"])
    at = type_below(sheet, *TYPED)
    before = [dict(one) for one in nexus.rows]
    shown = confirmed(excel, "SVC_NEXUS_ADD")
    for one in (there, same):
        assert cell(sheet, one, "outcome").startswith("there already: ")
        assert cell(sheet, one, "remove") == "add"
    assert "2022-05-01" in cell(sheet, there, "outcome")  # what is there
    assert cell(sheet, at, "outcome").startswith("added: ")
    assert nexus.additions == [OHIO]
    assert [one for one in nexus.rows if one["state"] != "OH"] == before
    assert "3 changes: TX economic" not in shown
    sent = len(nexus.sent)
    assert "nothing would be sent" in excel.macro("SVC_NEXUS_ADD")  # nothing is confirmed either
    assert len(nexus.sent) == sent


@pytest.mark.parametrize("service", [{"adds": False}, {"lists": False}])
def test_a_service_that_cannot_add_or_list_is_said_in_each_row(excel, sheet, nexus, service):
    vars(nexus).update(service)
    both = [type_below(sheet, *row) for row in (TYPED, ("WA", "marketplace"))]
    for macro in ("SVC_NEXUS_PREVIEW", "SVC_NEXUS_ADD"):
        message = excel.macro(macro)
        for at in both:
            assert cell(sheet, at, "outcome") == f"cannot be added: {message}"
            sheet.type((at, HEADINGS.index("outcome") + 1), None)
    assert nexus.methods == {"GET"}


def test_two_rows_of_one_state_and_type_are_not_added(excel, sheet, nexus):
    for name in ("OH", "Ohio"):
        type_below(sheet, name, "economic")
    for macro in ("SVC_NEXUS_PREVIEW", "SVC_NEXUS_ADD"):
        assert "OH economic" in excel.macro(macro)
        for one in rows(sheet):
            assert one["outcome"].startswith("cannot be added: ")
    assert nexus.faults.seen == []


@posix
def test_an_addition_killed_between_its_request_and_the_receipt_is_settled(
    excel, sheet, nexus, tmp_path
):
    """The same rows once more: nothing is sent twice, the receipt is finished, and undone."""
    before = [dict(one) for one in nexus.rows]
    at = type_below(sheet, *TYPED)
    with killing(KEY) as run:
        child = run(
            url=nexus.faults.base_url,
            folder=str(tmp_path / "receipts"),
            add=[OHIO],
            at="write answer 1",
            when="before",
        )
    assert child["killed"]
    assert nexus.additions == [OHIO]
    assert excel.macro("SVC_NEXUS_PREVIEW").startswith("Dry run: nothing would be sent")
    excel.app.pressed = ["no"]
    excel.macro("SVC_NEXUS_ADD")
    assert cell(sheet, at, "receipt") is None
    confirmed(excel, "SVC_NEXUS_ADD", "0")
    assert nexus.additions == [OHIO]
    assert cell(sheet, at, "outcome").startswith("added: ")
    assert read_receipt(cell(sheet, at, "receipt")).finished
    confirmed(excel, "SVC_NEXUS_RESTORE")
    assert nexus.rows == before


def test_listing_leaves_the_rows_that_are_still_to_be_added(excel, sheet, nexus):
    excel.macro("SVC_NEXUS_LIST")
    type_below(sheet, *TYPED)
    type_below(sheet, "WA", "marketplace", mark=None)
    nexus.put("AL", "economic")
    excel.app.pressed = ["yes"]
    excel.macro("SVC_NEXUS_LIST")
    assert [one["state"] for one in rows(sheet)] == ["DE", "AL", "TX", "TX", "Ohio", "WA"]
    ohio = rows(sheet)[4]
    assert (ohio["remove"], ohio["registered_at"], ohio["notes"]) == ("add", *TYPED[2::2])
    assert nexus.methods == {"GET"}
    excel.macro("SVC_NEXUS_PREVIEW")
    assert rows(sheet)[5]["outcome"].startswith("not marked: ")
    confirmed(excel, "SVC_NEXUS_ADD")
    assert nexus.additions == [OHIO]


def test_a_row_to_be_added_is_found_below_an_empty_row(excel, sheet, nexus):
    excel.macro("SVC_NEXUS_LIST")
    at = HEAD + 8
    for column, value in enumerate(("add", *TYPED), 1):
        sheet.type((at, column), value)
    confirmed(excel, "SVC_NEXUS_ADD")
    assert nexus.additions == [OHIO]
    assert cell(sheet, at, "outcome").startswith("added: ")


def test_without_a_row_that_is_marked_nothing_is_added(excel, ticked, nexus):
    assert "No row is marked add" in excel.macro("SVC_NEXUS_ADD")
    assert nexus.sent == []


def test_a_typed_row_that_is_ticked_is_not_removed(excel, ticked, nexus):
    type_below(ticked, "OH", "economic", mark="x")
    for macro in ("SVC_NEXUS_PREVIEW", "SVC_NEXUS_REMOVE"):
        assert "not of one plan" in excel.macro(macro)
    assert nexus.sent == []
