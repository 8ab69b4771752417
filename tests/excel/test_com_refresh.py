"""Refreshing from Excel: what changed is said, cell by cell, and nothing is lost meanwhile."""

from __future__ import annotations

from support.com_cells import ComError
from support.faults import RESET, echoing


def orders(excel):
    sheet = excel.book.add("Orders")
    sheet["A1"], sheet["B1"], sheet["B2"] = "TX", "'78701", "'78702"
    for row in (1, 2):
        sheet[f"C{row}"] = f'=SVC_RATE(A1,B{row},"2026-02-01")'
    return sheet


def test_a_refresh_asks_again_and_names_the_cells_that_changed(excel, faults):
    sheet = orders(excel)
    faults.will(
        lambda seen: echoing(
            rate={"combined_rate": "0.08350" if "78702" in seen.target else "0.08250"}
        )(seen)
    )
    told = excel.macro("SVC_REFRESH").splitlines()
    assert told[0].startswith("2 places asked again: 1 answer changed.")
    assert told[1:] == ["Orders!C2: 0.0825 -> 0.0835"]
    assert sheet["C2"].value == 0.0835


def test_recalculation_alone_asks_nothing(excel, faults):
    orders(excel)
    before = len(faults.seen)
    excel.app.CalculateFull()
    assert len(faults.seen) == before


def test_a_service_that_is_away_changes_no_cell(excel, faults):
    sheet = orders(excel)
    faults.will(RESET)
    told = excel.macro("SVC_REFRESH")
    assert "got no answer" in told
    assert told.endswith("No cell changed.")
    assert [sheet["C1"].value, sheet["C2"].value] == [0.0825, 0.0825]


def test_where_excel_cannot_compute_now_it_is_said_how_to(excel, monkeypatch):
    orders(excel)

    def busy(_):
        raise ComError("busy")

    monkeypatch.setattr(type(excel.app), "CalculateFull", busy)
    told = excel.macro("SVC_REFRESH")
    assert told.startswith("2 places asked again")
    assert told.endswith("press Ctrl+Alt+F9.")


def test_a_macro_that_fails_says_so_and_no_more(excel, monkeypatch):
    orders(excel)

    def broken(_):
        raise ComError("internals of Excel")

    monkeypatch.setattr("svc_tools.excel.com.macros._shown", broken)
    assert excel.macro("SVC_REFRESH") == "SVC_REFRESH could not be finished (ComError)."
