"""Freezing from the pane, over a stand-in for the workbook: noted first, nothing lost."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect
from support.spreadsheets import STAND_IN, local_server, pane_page

import svc_tools
from svc_tools.excel.com.macros import FROZEN_COLUMNS as COLUMNS
from svc_tools.excel.desk import Desk

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
            "state": "Done",
            "writes": 0,
        },
    )
    opened.evaluate("standIn.selected = ['Orders', 'A1', [6, 2]]; standIn.breaksAfter = Infinity")
    return opened


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def freeze(page, what="selection"):
    """Press the button and confirm."""
    press(page, f"Freeze {what}")
    press(page, "Freeze")


def sheet(page, name="Orders"):
    return page.evaluate("(name) => standIn.sheets[name] ?? null", name)


def noted(page):
    cells = sheet(page, "SVC frozen")
    rows = max(int(place[1:]) for place in cells)
    return [[cells.get(f"{one}{row}", "") for one in "ABCDE"] for row in range(1, rows + 1)]


def test_formulas_become_values_and_their_source_and_date_are_noted(pane):
    freeze(pane)
    expect(pane.locator("#freeze-message")).to_have_text(
        "2 formulas frozen. 2 cells without a complete value stay formulas:"
    )
    expect(pane.locator("#freeze-left li")).to_have_text(
        ["Orders!B4 shows #N/A", "Orders!B5 shows #PARTIAL"]
    )
    assert sheet(pane) == ORDERS | {"B2": 0.08625, "B3": "02134"}, "a ZIP Code stays text"
    heads, (on, where, source, _, at) = noted(pane)
    assert heads == [*COLUMNS]
    assert (on, where) == ("Orders", "B2:B3")
    assert source.startswith("embedded service, edition 20")
    assert at.endswith("Z")


def test_a_spilled_answer_is_frozen_as_a_whole(pane):
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
    freeze(pane)
    expect(pane.locator("#freeze-message")).to_have_text("1 formula frozen.")
    assert sheet(pane) == ORDERS | shown | {"D2": "02134"}
    assert noted(pane)[1][:2] == ["Orders", "D2:E3"]


@pytest.mark.parametrize("what", ["selection", "workbook"])
def test_formulas_are_frozen_after_a_question_alone(pane, what):
    pane.evaluate("([f]) => standIn.sheets.More = {C9: f}", [RATE])
    press(pane, f"Freeze {what}")
    expect(pane.locator("#confirm-text")).to_contain_text("keep a copy of the workbook")
    expect(pane.get_by_role("button", name="Freeze", exact=True)).to_be_focused()
    press(pane, "Cancel")
    expect(pane.get_by_role("button", name=f"Freeze {what}", exact=True)).to_be_focused()
    assert sheet(pane) == ORDERS
    assert sheet(pane, "SVC frozen") is None
    press(pane, f"Freeze {what}")
    pane.keyboard.press("Enter")
    whole = what == "workbook"
    expect(pane.locator("#freeze-message")).to_contain_text(f"{3 if whole else 2} formulas frozen.")
    assert sheet(pane, "More") == {"C9": 0.08625 if whole else RATE}


def test_when_excel_stops_half_way_each_cell_has_its_formula_or_its_value(pane):
    pane.evaluate("standIn.breaksAfter = 5 + 5 + 1")  # headings, a row of the log, one cell
    freeze(pane)
    expect(pane.locator("#freeze-message")).to_contain_text("the sheet is protected")
    assert sheet(pane) == ORDERS | {"B2": 0.08625}
    pane.evaluate("standIn.breaksAfter = Infinity")
    freeze(pane)
    expect(pane.locator("#freeze-message")).to_contain_text("1 formula frozen.")
    assert sheet(pane) == ORDERS | {"B2": 0.08625, "B3": "02134"}
    assert [row[1] for row in noted(pane)] == ["range", "B2:B3", "B3"]


def test_a_sheet_of_that_name_with_something_else_is_left_alone(pane):
    pane.evaluate("standIn.sheets['SVC frozen'] = {A1: 'my notes'}")
    freeze(pane)
    expect(pane.locator("#freeze-message")).to_contain_text("has other headings")
    assert sheet(pane) == ORDERS
    assert sheet(pane, "SVC frozen") == {"A1": "my notes"}


def test_where_there_is_nothing_to_freeze_nothing_is_made(pane):
    pane.evaluate("standIn.selected = ['Orders', 'Z9', [1, 1]]")
    freeze(pane)
    expect(pane.locator("#freeze-message")).to_have_text("0 formulas frozen.")
    assert sheet(pane, "SVC frozen") is None


def test_what_waits_to_be_computed_is_not_frozen(pane):
    pane.evaluate("standIn.state = 'Pending'")
    freeze(pane)
    expect(pane.locator("#freeze-message")).to_contain_text("press F9, then freeze")
    assert sheet(pane) == ORDERS
    assert sheet(pane, "SVC frozen") is None


def test_a_cell_in_which_a_number_would_become_a_text_keeps_its_formula(pane):
    pane.evaluate("standIn.texts = ['Orders!B2']")
    freeze(pane)
    expect(pane.locator("#freeze-message")).to_contain_text("1 formula frozen.")
    expect(pane.locator("#freeze-left li").first).to_contain_text("Orders!B2 is formatted as text")
    assert sheet(pane) == ORDERS | {"B3": "02134"}


def test_a_text_that_reads_like_a_formula_stays_one(pane):
    text = "'" + RATE
    pane.evaluate("(text) => standIn.sheets.Orders.B2 = text", text)
    freeze(pane)
    expect(pane.locator("#freeze-message")).to_contain_text("1 formula frozen.")
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
    freeze(pane)
    expect(pane.locator("#freeze-message")).to_have_text("2,500 formulas frozen.")
    assert pane.evaluate(
        "Object.values(standIn.sheets.Orders).every((one) => one === 0.08625 || one === 'wide')"
    )
