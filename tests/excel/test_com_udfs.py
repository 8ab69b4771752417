"""The functions as Excel calls them: the VBA that xlwings makes, and the way of each argument."""

from __future__ import annotations

import importlib
import json
import re
from datetime import date
from decimal import Decimal
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from support.com_cells import MISSING, NOT_AVAILABLE, SPILL, Cell
from support.faults import answer, echoing

from svc_tools.excel import desk as desks
from svc_tools.excel.registry import CATEGORY, FUNCTIONS
from svc_tools.excel.workbook.build import MODULE_TEXT

DAY = "2026-02-01"
NOT_FOUND = answer(404, b'{"error": {"code": "NOT_FOUND", "message": "no such ZIP"}}')
# fmt: off
VBA_KEYWORDS = {
    "as", "boolean", "byref", "byte", "byval", "call", "case", "const", "currency", "date",
    "declare", "dim", "do", "double", "each", "else", "elseif", "empty", "end", "enum", "eqv",
    "erase", "event", "exit", "false", "for", "friend", "function", "get", "gosub", "goto",
    "if", "imp", "implements", "in", "input", "integer", "is", "let", "like", "long", "loop",
    "lset", "me", "mod", "new", "next", "not", "nothing", "null", "object", "on", "open",
    "option", "optional", "or", "paramarray", "print", "private", "property", "public", "put",
    "raiseevent", "range", "redim", "rem", "resume", "return", "rset", "seek", "select", "set",
    "single", "static", "stop", "string", "sub", "then", "time", "to", "true", "type", "typeof",
    "until", "variant", "wend", "while", "with", "withevents", "write", "xor",
}
# fmt: on


@pytest.fixture
def sheet(excel):
    return excel.book.add("Orders")


def test_every_function_of_the_registry_is_one_of_excel_with_its_help(excel):
    for one in FUNCTIONS:
        marks = getattr(excel.module, one.name).__xlfunc__
        own = [argument for argument in marks["args"] if not argument["vba"]]
        assert marks["category"] == CATEGORY
        assert marks["ret"]["doc"] == one.help
        assert marks["volatile"] is one.volatile
        assert [argument["name"].rstrip("_") for argument in own] == [
            parameter.name for parameter in one.parameters
        ]
        assert [argument["doc"] for argument in own] == [
            parameter.help for parameter in one.parameters
        ]
        # Excel shows no more, and xlwings would cut it without a word
        assert max(map(len, [one.help, *(argument["doc"] for argument in own)])) <= 255


def test_the_vba_has_a_function_for_each_with_the_optional_arguments_marked(excel):
    found = dict(re.findall(r"^Function (\w+)\((.*)\)$", excel.vba(), re.MULTILINE))
    assert set(found) == {one.name for one in FUNCTIONS}
    assert found["SVC_RATE"] == "state, zip, Optional as_of, Optional accept"
    assert found["SVC_NEXUS_STATUS"] == "state, Optional type_"
    assert found["SVC_SUM"] == "range_"
    assert found["SVC_FIELDS"] == ""


def test_no_argument_has_a_name_that_vba_keeps_for_itself(excel):
    for arguments in re.findall(r"^Function \w+\((.*)\)$", excel.vba(), re.MULTILINE):
        names = re.findall(r"(?:Optional )?(\w+)(?:, |$)", arguments)
        assert not VBA_KEYWORDS & {name.casefold() for name in names}


def test_the_macros_are_subs(excel):
    macros = set(re.findall(r"^Sub (\w+)\(\)$", excel.vba(), re.MULTILINE))
    assert macros == {
        "SVC_REFRESH",
        "SVC_FREEZE",
        "SVC_NEXUS_LIST",
        "SVC_NEXUS_PREVIEW",
        "SVC_NEXUS_REMOVE",
        "SVC_NEXUS_RESTORE",
    }


def test_importing_the_functions_gives_excel_the_help_of_each_in_full(excel, monkeypatch):
    modules, options = [], {}

    class Workbook:
        Name = "orders.xlsm"
        Worksheets = excel.book.Worksheets
        VBProject = MagicMock()
        Application = MagicMock(Version="16.0")

    def import_(path):
        modules.append(Path(path).read_text(encoding="utf-8"))

    def described(name, **given):
        options[name.rpartition("!")[2]] = given

    Workbook.VBProject.VBComponents.Import = import_
    Workbook.Application.MacroOptions = described
    monkeypatch.setattr("builtins.print", lambda *_: None)
    excel.udfs.import_udfs("svc_udfs", Workbook)
    assert modules[0].count("Function SVC_RATE(") == 1
    for one in FUNCTIONS:
        told = options[one.name]
        assert (told["Description"], told["Category"]) == (one.help, CATEGORY)
        helps = [parameter.help for parameter in one.parameters]
        assert told["ArgumentDescriptions"] == (helps or None)


def test_only_what_the_registry_says_is_computed_at_every_change(excel):
    volatile = set(
        re.findall(r"^Function (\w+)\(.*\)\n +Application.Volatile", excel.vba(), re.MULTILINE)
    )
    assert volatile == {one.name for one in FUNCTIONS if one.volatile}


def test_the_module_beside_the_workbook_brings_nothing_else(excel):
    public = {name for name in dir(excel.module) if not name.startswith("_")}
    assert {name for name in public if not name.startswith("SVC_")} == set()
    assert len(MODULE_TEXT.splitlines()) < 15


def test_a_rate_is_the_number_itself_for_whatever_way_the_zip_is_kept(excel, sheet, faults):
    faults.will(echoing(rate={"combined_rate": "0.08625"}))
    sheet["A1"] = "TX"
    sheet["A2"] = 78701.0
    sheet["A3"] = "'78701-1234"
    for zip_code in ("78701", 78701.0, sheet.Range("A2"), sheet.Range("A3")):
        assert excel.call("SVC_RATE", sheet.Range("A1"), zip_code, DAY) == 0.08625


def test_what_is_left_out_is_not_an_empty_cell(excel, sheet):
    assert excel.call("SVC_RATE", "TX", "78701") == 0.0825
    empty = excel.call("SVC_RATE", "TX", "78701", sheet.Range("C9"))
    assert empty.startswith("#INVALID as_of")
    assert excel.call("SVC_RATE", "TX", "78701", MISSING, "partial") == 0.0825


def test_an_empty_zip_is_an_empty_cell(excel, sheet):
    assert excel.call("SVC_RATE", "TX", sheet.Range("B9"), DAY) == ""


def test_a_date_cell_is_the_day(excel, sheet, faults):
    sheet["C1"] = date(2026, 2, 1)
    assert excel.call("SVC_RATE", "TX", "78701", sheet.Range("C1")) == 0.0825
    assert "as_of=2026-02-01" in faults.seen[-1].target


def test_a_number_is_the_day_that_it_is_in_a_date_cell(excel, sheet, faults):
    excel.call("SVC_RATE", "TX", "78701", 46054.0, cell=sheet.Range("D1"))
    assert "as_of=2026-02-01" in faults.seen[-1].target


@pytest.mark.parametrize("name", ["SVC_RATE", "SVC_WARNINGS", "SVC_SOURCE"])
def test_no_date_of_a_workbook_that_counts_from_1904_is_read(excel, sheet, faults, name):
    excel.book.Date1904 = True
    sheet["A1"], sheet["A2"], sheet["B1"] = 44592.0, 44592.0, date(2026, 2, 1)
    told = [
        excel.call(name, "TX", "78701", day, cell=sheet.Range("D1"))
        for day in (44592.0, sheet.Range("A1"), sheet.Range("B1"))
    ]
    (first,), (second,) = excel.call(
        name, "TX", "78701", sheet.Range("A1:A2"), cell=sheet.Range("D1")
    )
    assert all("counts dates from 1904; turn that off" in one for one in (*told, first, second))
    assert all("File > Options > Advanced" in one for one in told)
    assert excel.call("SVC_STATUS", "TX", "78701", 44592.0, cell=sheet.Range("D1")) == "invalid"
    assert faults.seen == []


def test_in_such_a_workbook_texts_are_days_and_other_numbers_are_themselves(excel, sheet, faults):
    excel.book.Date1904 = True
    cell = sheet.Range("D1")
    assert excel.call("SVC_RATE", "TX", 78701.0, DAY, cell=cell) == 0.0825
    assert excel.call("SVC_TAX", 100.0, "TX", 78701.0, DAY, cell=cell) == 8.25
    assert {one.target.partition("as_of=")[2][:10] for one in faults.seen} == {DAY}


def test_of_rows_from_1904_the_days_alone_are_refused(excel, sheet, faults):
    excel.book.Date1904 = True
    for row, zip_code in enumerate((78701.0, 78702.0), 1):
        sheet[f"A{row}"], sheet[f"B{row}"], sheet[f"C{row}"] = "TX", zip_code, 44592.0
    sheet["C2"] = f"'{DAY}"
    (refused,), (rate,) = excel.call(
        "SVC_LOOKUP", sheet.Range("A1:C2"), "combined_rate", cell=sheet.Range("D1")
    )
    assert "counts dates from 1904" in refused
    assert rate == 0.0825
    assert ["78702" in one.target for one in faults.seen] == [True]


@pytest.mark.parametrize(
    ("code", "text"), [(NOT_AVAILABLE, "#N/A"), (SPILL, "#SPILL!"), (-2146826281, "#DIV/0!")]
)
def test_an_error_cell_is_passed_on_in_words_and_is_no_number(excel, sheet, code, text):
    sheet["B1"] = Cell(code)
    rate = excel.call("SVC_RATE", "TX", sheet.Range("B1"), DAY)
    total = excel.call("SVC_SUM", sheet.Range("B1:B2"))
    assert rate.startswith("#")
    assert total.startswith("#")
    assert text in rate
    assert text in total


def test_a_range_gives_a_block_of_the_same_shape_with_its_errors_inside(excel, sheet, faults):
    faults.will(lambda seen: NOT_FOUND if "00501" in seen.target else echoing()(seen))
    for row, zip_code in enumerate(("'78701", "'00501", None), 1):
        sheet[f"B{row}"] = zip_code
    found = excel.call("SVC_RATE", "TX", sheet.Range("B1:B3"), DAY)
    assert [row[0] for row in found[::2]] == [0.0825, ""]
    assert found[1][0].startswith("#UNRESOLVED")


def test_an_amount_in_a_currency_cell_is_taxed_to_the_cent(excel):
    assert excel.call("SVC_TAX", Decimal("1000.0000"), "TX", "78701", DAY) == 82.5


def test_a_sum_refuses_an_error_and_is_exact(excel, sheet):
    for row in range(1, 11):
        sheet[f"A{row}"] = 0.1
    assert excel.call("SVC_SUM", sheet.Range("A1:A10")) == 1.0
    sheet["A3"] = "#UNRESOLVED no such ZIP"
    assert excel.call("SVC_SUM", sheet.Range("A1:A10")).startswith("#")


def test_nothing_of_a_failure_but_its_sentence_reaches_the_cell(excel, monkeypatch):
    def broken():
        raise RuntimeError("key=abc in C:\\secret")

    monkeypatch.setattr("svc_tools.excel.com.udfs.the_desk", broken)
    assert excel.call("SVC_RATE", "TX", "78701") == "#FAILED SVC_RATE could not be computed."


def test_settings_that_cannot_be_used_are_said_in_the_cell(excel, monkeypatch):
    monkeypatch.setenv("SVC_BASE_URL", "https://rates.example")
    monkeypatch.setattr(desks, "_desks", [desks.Desk(cache=False)])
    told = excel.call("SVC_RATE", "TX", "78701")
    assert told.startswith("#")
    assert "SVC_API_KEY" in told


def test_every_function_gives_only_what_com_can_carry(excel, sheet, faults):
    record = {"state": "TX", "nexus_type": "economic", "registered_at": "2022-05-01"}
    listed = answer(body=json.dumps({"nexus": [record], "count": 1}).encode())
    faults.will(lambda seen: listed if "nexus" in seen.target else echoing()(seen))
    sheet["A1"], sheet["B1"], sheet["C1"] = "TX", "'78701", date(2026, 2, 1)
    sheet["A2"], sheet["B2"], sheet["C2"] = "TX", "'78702", date(2026, 2, 1)
    given = {
        "state": ("TX", sheet.Range("A1:A2")),
        "zip": ("78701", sheet.Range("B1:B2")),
        "as_of": (DAY, sheet.Range("C1:C2")),
        "range": (sheet.Range("A1:C2"), sheet.Range("A1:B2")),
        "fields": (MISSING, "combined_rate,warnings"),
        "headers": (True, False),
        "field": ("county_rate", "freight_taxable"),
        "amount": (100.0, 12.34),
        "address": ("500 W 2nd St", "1 Main St"),
        "city": ("Austin", "Austin"),
        "place": ("Austin", "Travis County"),
        "lat": (30.2672, 30.0),
        "lng": (-97.7431, -97.0),
        "rounding": ("half_even", "up"),
        "accept": (MISSING, "partial"),
        "type": (MISSING, "economic"),
    }
    for one in FUNCTIONS:
        for which in (0, 1):
            arguments = [given[parameter.name][which] for parameter in one.parameters]
            found = excel.call(one.name, *arguments, cell=sheet.Range("H9"))
            cells = _flat(found)
            assert cells, one.name
            assert {type(cell) for cell in cells} <= {str, float, bool}, one.name
            if one.name not in {"SVC_SUM", "SVC_NEXUS"}:  # no amounts; one state, and no range
                assert not any(str(cell).startswith("#") for cell in cells), (one.name, cells)


def _flat(found):
    if isinstance(found, list | tuple):
        return [cell for one in found for cell in _flat(one)]
    return [found]


def test_a_program_on_any_system_can_call_the_functions(scripted_desk, monkeypatch):
    """Without Excel the marks of xlwings do nothing, and a function is a function."""
    monkeypatch.setattr(desks, "_desks", [scripted_desk])
    udfs = importlib.import_module("svc_tools.excel.com.udfs")
    assert set(udfs.__all__) == {one.name for one in FUNCTIONS}
    assert udfs.SVC_RATE("TX", "78701", DAY) == 0.0825
    assert udfs.SVC_RATE("TX", [["78701"], ["78702"]], DAY) == [[0.0825], [0.0825]]
