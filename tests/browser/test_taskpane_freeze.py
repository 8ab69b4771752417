"""Freezing from the pane, over a stand-in for the workbook: proof first, nothing lost, and back."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect
from support.excel_server import local_server
from support.taskpane import STAND_IN, pane_page

import svc_tools
from svc_tools.excel.desk import Desk

HEADS = ["sheet", "cell", "formula", "value", "source", "answered", "frozen at", "put back at"]
RATE = '=SVC.RATE("CA", A2)'
ZIP = '=SVC.FIELD("resolved_zip", "MA", A2)'
BAD = '=IF(SVC.RATE("XX", A2) > 0, 1, 2)'
PARTIAL = '=SVC.RATE("TX", A3)'
OTHER = '="SVC.RATE(" & A2'
SPILL = '=SVC.LOOKUP(A2:B3, "zip")'
ORDERS = {"A1": "ZIP", "A2": 94105, "B2": RATE, "B3": ZIP, "B4": BAD, "B5": PARTIAL, "B6": OTHER}
RESULTS = {RATE: 0.08625, ZIP: "02134", BAD: "#N/A", PARTIAL: "#PARTIAL", OTHER: "SVC.RATE(94105"}


@pytest.fixture(scope="module")
def served(_own_home, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SVC_EXCEL", str(tmp_path_factory.mktemp("excel")))
        with local_server(Desk(svc_tools.connect("embedded"), cache=False)) as server:
            yield server


@pytest.fixture(scope="module")
def opened(served, chrome):
    with pane_page(chrome, served, script=STAND_IN) as (page, seen):
        yield page
        assert seen.complaints == []


@pytest.fixture
def pane(opened):
    opened.evaluate(
        "(book) => Object.assign(standIn, book)",
        {
            "sheets": {"Orders": ORDERS},
            "results": RESULTS,
            "spills": {},
            "texts": [],
            "skips": [],
            "state": "Done",
            "writes": 0,
        },
    )
    opened.evaluate("standIn.selected = ['Orders', 'A1', [6, 2]]; standIn.breaksAfter = Infinity")
    return opened


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def sheet(page, name="Orders"):
    return page.evaluate("(name) => standIn.sheets[name] ?? null", name)


def noted(page):
    cells = sheet(page, "SVC frozen")
    rows = max(int(place[1:]) for place in cells)

    def shown(place):
        cell = cells.get(place, "")
        return cell.removeprefix("'") if isinstance(cell, str) else cell

    return [[shown(f"{one}{row}") for one in "ABCDEFGH"] for row in range(1, rows + 1)]


def test_formulas_become_values_and_what_they_were_is_noted(pane):
    press(pane, "Freeze selection")
    expect(pane.locator("#freeze-said")).to_have_text(
        "2 formulas frozen. 2 cells without a whole value stay formulas:"
    )
    expect(pane.locator("#freeze-left li")).to_have_text(
        ["Orders!B4 shows #N/A", "Orders!B5 shows #PARTIAL"]
    )
    assert sheet(pane) == ORDERS | {"B2": 0.08625, "B3": "02134"}, "a ZIP Code stays text"
    heads, *rows = noted(pane)
    assert heads == HEADS
    assert [row[:4] for row in rows] == [
        ["Orders", "B2", RATE, 0.08625],
        ["Orders", "B3", ZIP, "02134"],
    ]
    assert all(row[4].startswith("embedded service, edition 20") for row in rows)
    assert all(row[6].endswith("Z") and row[7] == "" for row in rows)


def test_the_formulas_come_back_where_the_values_are_still_those(pane):
    press(pane, "Freeze selection")
    expect(pane.locator("#freeze-said")).to_contain_text("2 formulas frozen.")
    pane.evaluate("standIn.sheets.Orders.B2 = 0.09")
    press(pane, "Put formulas back")
    expect(pane.locator("#freeze-said")).to_have_text(
        "1 formula put back. 1 cell holds something else now, and is left:"
    )
    expect(pane.locator("#freeze-left li")).to_have_text(["Orders!B2"])
    assert sheet(pane) == ORDERS | {"B2": 0.09}
    assert [bool(row[7]) for row in noted(pane)[1:]] == [False, True]


def test_a_spilled_answer_is_frozen_and_comes_back_as_a_whole(pane):
    shown = {"D2": SPILL, "E2": "Suffolk", "D3": "94105", "E3": "San Francisco"}
    pane.evaluate(
        """([cells, formula]) => {
          Object.assign(standIn.sheets.Orders, cells);
          standIn.results[formula] = "02134";
          standIn.spills["Orders!D2"] = [2, 2];
          standIn.selected = ["Orders", "D2", [1, 1]];
        }""",
        [shown, SPILL],
    )
    press(pane, "Freeze selection")
    expect(pane.locator("#freeze-said")).to_have_text("1 formula frozen.")
    assert sheet(pane) == ORDERS | shown | {"D2": "02134"}
    formulas = [row[2] for row in noted(pane)[1:]]
    assert formulas == [SPILL, *["spilled from D2"] * 3]
    pane.evaluate("standIn.spills = {}")
    press(pane, "Put formulas back")
    expect(pane.locator("#freeze-said")).to_have_text("1 formula put back.")
    assert sheet(pane) == ORDERS | {"D2": SPILL}, "the cells beside it are free to spill into"


def test_the_whole_workbook_is_frozen_after_a_question_alone(pane):
    pane.evaluate("([f]) => standIn.sheets.More = {C9: f}", [RATE])
    press(pane, "Freeze workbook")
    expect(pane.get_by_role("button", name="Freeze", exact=True)).to_be_focused()
    press(pane, "Cancel")
    assert sheet(pane) == ORDERS
    assert sheet(pane, "SVC frozen") is None
    press(pane, "Freeze workbook")
    pane.keyboard.press("Enter")
    expect(pane.locator("#freeze-said")).to_contain_text("3 formulas frozen.")
    assert sheet(pane, "More") == {"C9": 0.08625}


def test_when_excel_stops_half_way_every_changed_cell_is_noted_and_comes_back(pane):
    pane.evaluate("standIn.breaksAfter = 8 + 16 + 1")  # headings, two rows, one cell
    press(pane, "Freeze selection")
    expect(pane.locator("#freeze-said")).to_contain_text("the sheet is protected")
    assert sheet(pane) == ORDERS | {"B2": 0.08625}
    pane.evaluate("standIn.breaksAfter = Infinity")
    press(pane, "Put formulas back")
    expect(pane.locator("#freeze-said")).to_have_text("1 formula put back.")
    assert sheet(pane) == ORDERS


def test_a_sheet_of_that_name_with_something_else_is_left_alone(pane):
    pane.evaluate("standIn.sheets['SVC frozen'] = {A1: 'my notes'}")
    for name in ("Freeze selection", "Put formulas back"):
        press(pane, name)
        expect(pane.locator("#freeze-said")).to_contain_text("has other headings")
    assert json.dumps(sheet(pane)) == json.dumps(ORDERS)
    assert sheet(pane, "SVC frozen") == {"A1": "my notes"}


def test_where_nothing_is_frozen_nothing_is_made(pane):
    press(pane, "Put formulas back")
    expect(pane.locator("#freeze-said")).to_have_text("0 formulas put back.")
    assert sheet(pane, "SVC frozen") is None
    pane.evaluate("standIn.selected = ['Orders', 'Z9', [1, 1]]")
    press(pane, "Freeze selection")
    expect(pane.locator("#freeze-said")).to_have_text("0 formulas frozen.")
    assert sheet(pane, "SVC frozen") is None


def test_what_waits_to_be_computed_is_not_frozen(pane):
    pane.evaluate("standIn.state = 'Pending'")
    press(pane, "Freeze selection")
    expect(pane.locator("#freeze-said")).to_contain_text("press F9, then freeze")
    assert sheet(pane) == ORDERS
    assert sheet(pane, "SVC frozen") is None


def test_a_cell_in_which_a_number_would_become_a_text_keeps_its_formula(pane):
    pane.evaluate("standIn.texts = ['Orders!B2']")
    press(pane, "Freeze selection")
    expect(pane.locator("#freeze-said")).to_contain_text("1 formula frozen.")
    expect(pane.locator("#freeze-left li").last).to_contain_text("Orders!B2 is formatted as text")
    assert sheet(pane) == ORDERS | {"B3": "02134"}
    press(pane, "Put formulas back")
    expect(pane.locator("#freeze-said")).to_have_text("1 formula put back.")
    assert sheet(pane) == ORDERS


def test_where_the_log_takes_no_rows_no_formula_is_lost(pane):
    pane.evaluate("standIn.skips = ['SVC frozen!C3']")
    press(pane, "Freeze selection")
    expect(pane.locator("#freeze-said")).to_contain_text("none was frozen")
    assert sheet(pane) == ORDERS


def test_a_text_that_reads_like_a_formula_stays_one(pane):
    text = "'" + RATE
    pane.evaluate("(text) => standIn.sheets.Orders.B2 = text", text)
    press(pane, "Freeze selection")
    expect(pane.locator("#freeze-said")).to_contain_text("1 formula frozen.")
    assert [row[1] for row in noted(pane)[1:]] == ["B3"]
    press(pane, "Put formulas back")
    expect(pane.locator("#freeze-said")).to_have_text("1 formula put back.")
    assert sheet(pane)["B2"] == text


def test_a_large_sheet_is_frozen_in_steps_that_excel_takes(pane):
    pane.evaluate(
        """([formula]) => {
          const cells = {J1: "wide"};
          for (let row = 1; row <= 2500; row++) cells[`A${row}`] = formula;
          standIn.sheets = {Orders: cells};
          standIn.selected = ["Orders", "A1", [2500, 10]];
        }""",
        [RATE],
    )
    press(pane, "Freeze selection")
    expect(pane.locator("#freeze-said")).to_have_text("2,500 formulas frozen.")
    assert pane.evaluate(
        "Object.values(standIn.sheets.Orders).every((one) => one === 0.08625 || one === 'wide')"
    )
    press(pane, "Put formulas back")
    expect(pane.locator("#freeze-said")).to_have_text("2,500 formulas put back.")
    assert sheet(pane)["A2500"] == RATE
