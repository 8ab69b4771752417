"""The workbook that svc-tools makes, opened: its functions and macros fit its sheets."""

from __future__ import annotations

import importlib
from datetime import date

import pytest
from support.com_excel import loaded
from support.faults import echo
from support.nexus_service import NexusService

from svc_tools.excel import desk
from svc_tools.excel.com import formulas
from svc_tools.excel.workbook import write_workbook
from svc_tools.excel.workbook.sheets import MACROS
from svc_tools.excel.workbook.writing import NEXUS, NEXUS_COLUMNS, NEXUS_MARKS, ORDERS


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("workbook") / "orders.xlsm"
    return write_workbook(path, example=True, as_of=date(2026, 2, 1))[0]


@pytest.fixture
def book(excel, file, faults, monkeypatch):
    """The workbook, over a service with rates and records."""
    service = NexusService(faults)
    service.put("DE", "economic", registered_at="2021-01-01")
    service.put("TX", "economic", registered_at="2022-05-01")
    faults.will(lambda seen: service._ask(seen) if "nexus" in seen.target else echo(seen))
    monkeypatch.setattr(formulas, "_looks", formulas._Looks())
    loaded(excel.book, file)
    return excel.book


def shown(book):
    return {
        (sheet.Name, key): (cell.value, cell.formula)
        for sheet in book.sheets
        for key, cell in sheet.cells.items()
        if sheet.Name != "SVC frozen" and cell.value not in {None, ""}
    }


def orders_of(book, heading):
    """What a column of the table of orders shows."""
    (table,) = book.sheet(ORDERS).tables
    column = table.ListColumns(heading).Range.column
    rows = range(table.row + 1, table.row + table.height + 1)
    return [(table.sheet.cells.get((row, column)) or _Empty).value for row in rows]


class _Empty:
    value = None


def test_the_macros_that_the_sheets_speak_of_are_those_there_are(excel):
    macros = importlib.import_module("svc_tools.excel.com.macros")
    assert set(MACROS) == set(macros.__all__)


def test_every_order_has_its_rate_and_tax_after_one_batch(excel, book, monkeypatch):
    batches = []

    def counted(*arguments, **options):
        batches.append(len(arguments[1]))
        return look_up(*arguments, **options)

    look_up = desk.look_up
    monkeypatch.setattr(desk, "look_up", counted)
    excel.app.CalculateFull()
    zips, taxes = orders_of(book, "ZIP"), orders_of(book, "Tax")
    asked = [row for row, zip_code in enumerate(zips) if zip_code]
    assert len(asked) > 3
    assert all(isinstance(taxes[row], float) for row in asked)
    # one for the cells of the sheet Lookup, one for the whole table
    assert max(batches) > 3
    assert len(batches) <= 4


def test_the_whole_workbook_is_frozen_to_what_it_showed(excel, book):
    for _ in range(2):  # totals stand above what they add up
        excel.app.CalculateFull()
    before = shown(book)
    excel.app.pressed = ["yes"]
    assert excel.macro("SVC_FREEZE").startswith("Frozen: ")
    after = shown(book)
    assert {key: value for key, (value, _) in after.items()} == {
        key: value for key, (value, _) in before.items()
    }
    rates = [key for key, (_, formula) in before.items() if formula.startswith("=SVC_RATE(")]
    assert rates
    assert all(after[key][1] == "" for key in rates)


def test_the_macros_find_their_place_on_the_sheet_of_the_register(excel, book):
    excel.app.CalculateFull()
    told = excel.macro("SVC_NEXUS_LIST")
    assert told.startswith("2 records")
    sheet = book.sheet(NEXUS)
    assert sheet["A12"].value == told
    headings = [sheet.cells[14, column].value for column in range(1, 16)]
    assert tuple(headings) == NEXUS_COLUMNS + NEXUS_MARKS
    assert [sheet.cells[row, 2].value for row in (15, 16)] == ["DE", "TX"]
    assert sheet["Q15"].value == "DE"  # the register as the formula lists it, untouched
    sheet["A15"] = "x"
    assert "DELETE /v1/portability/nexus/DE?nexus_type=economic" in excel.macro("SVC_NEXUS_PREVIEW")
