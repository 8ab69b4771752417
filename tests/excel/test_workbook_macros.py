"""The macros of the workbook on the sheets of the workbook: each finds the cells that are there."""

from __future__ import annotations

import pytest
from openpyxl import load_workbook
from support.nexus_service import NexusService

from svc_tools.excel.workbook import layout, write_workbook


@pytest.fixture
def nexus(faults, tmp_path, monkeypatch):
    monkeypatch.setenv("SVC_RECEIPTS", str(tmp_path / "receipts"))
    service = NexusService(faults)
    service.put("DE", "economic", registered_at="2021-01-01", notes="old")
    service.put("TX", "economic", registered_at="2022-05-01")
    return service


@pytest.fixture
def opened(excel, tmp_path):
    """The Nexus sheet of a workbook that was made, opened in the small Excel."""
    path, _ = write_workbook(tmp_path / "orders.xlsm")
    made = load_workbook(path)
    sheet = excel.book.add(layout.NEXUS)
    for row in made[layout.NEXUS].iter_rows():
        for cell in row:
            if isinstance(cell.value, str) and not cell.value.startswith("="):
                sheet[cell.coordinate] = cell.value
    where = made.defined_names[layout.NEXUS_MESSAGE].attr_text.partition("!")[2].replace("$", "")
    excel.book.names[layout.NEXUS_MESSAGE] = sheet.Range(where)
    return sheet


def test_a_cleanup_goes_from_listing_to_undo_on_the_sheet_as_it_is_made(excel, opened, nexus):
    before = dict(nexus.records)
    told = excel.macro("SVC_NEXUS_LIST")
    assert opened["A12"].value == told
    assert [opened[at].value for at in ("B15", "C15", "G15")] == ["DE", "economic", "candidate"]
    assert [opened[f"{column}14"].value for column in "LMNO"] == list(layout.NEXUS_MARKS)
    opened.type((15, 1), "x")
    excel.macro("SVC_NEXUS_PREVIEW")
    assert "DELETE /v1/portability/nexus/DE?nexus_type=economic" in opened["A12"].value
    assert opened["J15"].value.startswith("planned")
    excel.app.pressed, excel.app.typed = ["yes", "yes"], ["1", "1"]
    excel.macro("SVC_NEXUS_REMOVE")
    assert opened["J15"].value.startswith("removed")
    assert opened["K15"].value
    assert nexus.sent == [("DELETE", "DE", "economic")]
    excel.macro("SVC_NEXUS_RESTORE")
    assert opened["J15"].value.startswith("restored")
    assert nexus.records == before
