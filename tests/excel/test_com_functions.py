"""Functions in Excel through xlwings: arguments, results, and one batch for a column."""

from __future__ import annotations

import importlib
import json
import re
from collections import defaultdict
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils.cell import range_boundaries
from support.com_excel import MISSING, NOT_AVAILABLE, SPILL, Cell, Table
from support.faults import RESET, answer, echoing
from support.spreadsheets import zips_asked

from svc_tools.excel import desk
from svc_tools.excel import desk as desks
from svc_tools.excel.com.workbook import TEXT_LIMIT, Area, cut, from_com, to_com
from svc_tools.excel.formulas import Patience
from svc_tools.excel.registry import CATEGORY, FUNCTIONS
from svc_tools.excel.values import OMITTED, BadValueError, ErrorCell
from svc_tools.excel.workbook import MODULE_TEXT

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


def test_the_module_beside_the_workbook_brings_nothing_else(excel):
    public = {name for name in dir(excel.module) if not name.startswith("_")}
    assert {name for name in public if not name.startswith("SVC_")} == set()
    assert len(MODULE_TEXT.splitlines()) < 15


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


FIRST_ERROR = -2146828288
NOON = datetime(2026, 5, 1, 12)  # noqa: DTZ001 - a cell's day has no zone


@pytest.mark.parametrize(
    ("number", "text"),
    [(2007, "#DIV/0!"), (2042, "#N/A"), (2045, "#SPILL!"), (2050, "#CALC!"), (2099, "#ERROR2099")],
)
def test_an_error_value_is_an_error_also_where_xlwings_does_not_know_it(number, text):
    assert from_com([[FIRST_ERROR + number]]) == ErrorCell(text)


@pytest.mark.parametrize(
    ("passed", "argument"),
    [
        ([["TX"]], "TX"),
        ([["TX", None]], [["TX", None]]),
        ([["TX"], [94105.0]], [["TX"], [94105.0]]),
        (OMITTED, OMITTED),
        ([[True]], True),
        ([[NOON]], NOON),
        ([[7]], 7.0),
        ([[Decimal("19.9900")]], 19.99),  # a cell formatted as currency
    ],
)
def test_an_argument_arrives_as_the_cell_holds_it(passed, argument):
    found = from_com(passed)
    assert (found, type(found)) == (argument, type(argument))


@pytest.mark.parametrize(
    ("result", "sent"),
    [
        (None, ""),  # never 0
        ([[None, 0.0825]], [["", 0.0825]]),
        ([[BadValueError("no state.")]], [["#INVALID no state."]]),
        ([[1, True, 2.5]], [[1.0, True, 2.5]]),
    ],
)
def test_a_result_goes_out_as_com_can_carry_it(result, sent):
    found = to_com(result)
    assert found == sent
    assert not isinstance(found, list) or type(found[0][0]) is type(sent[0][0])


@pytest.mark.parametrize("value", [Decimal("0.08625"), NOON.date(), b"x"])
def test_what_com_would_change_is_refused(value):
    with pytest.raises(TypeError, match=type(value).__name__):
        to_com([[value]])


def test_a_long_text_is_cut_where_excel_would_refuse_it():
    assert to_com("a" * 300) == "a" * 300
    assert to_com([["a" * 300]]) == [["a" * 254 + "…"]]
    assert len(to_com("a" * 40_000)) == TEXT_LIMIT


@given(st.text(max_size=40), st.integers(1, 20))
def test_a_cut_text_has_at_most_as_many_characters_as_excel_counts(text, limit):
    found = cut(text, limit)
    assert len(found.encode("utf-16-le", "replace")) <= 2 * limit
    assert found == text or (found.endswith("…") and text.startswith(found[:-1]))


@given(st.integers(1, 9999), st.integers(1, 700), st.integers(1, 9), st.integers(1, 9))
def test_an_area_is_the_one_of_its_address(row, column, height, width):
    area = Area(row, column, height, width)
    assert range_boundaries(area.address) == (column, row, column + width - 1, row + height - 1)
    assert len(list(area.cells())) == height * width
    assert Area.around(area.cells()) == area


FEBRUARY = date(2026, 2, 1)


@pytest.fixture
def udfs(com, monkeypatch):
    """The module as imported over the stand-ins; no column was read, and no time passes."""
    found = importlib.import_module("svc_tools.excel.com.udfs")
    patience = defaultdict(partial(Patience, eager=True, clock=lambda: 0.0))
    monkeypatch.setattr(found, "_patience", patience)
    return found


@pytest.fixture
def batches(monkeypatch, udfs):
    """How many places each run asked for."""
    found = []

    def counted(*arguments, **options):
        found.append(len(arguments[1]))
        return look_up(*arguments, **options)

    look_up = desk.look_up
    monkeypatch.setattr(desk, "look_up", counted)
    return found


def fill(sheet, rows, formula="=SVC_RATE(A{row},B{row})", zips=None):
    """State, ZIP and a formula in each row, none of them computed yet."""
    for row in range(1, rows + 1):
        sheet.cells[row, 1] = Cell("TX")
        sheet.cells[row, 2] = Cell(str(75000 + (row - 1) % (zips or rows)))
        sheet.cells[row, 3] = Cell(None, formula.format(row=row))


def compute(excel, sheet, rows):
    for row in rows:
        excel.app.calculate(sheet, (row, 3))
    return [sheet.cells[row, 3].value for row in rows]


def test_5000_formulas_of_500_places_cost_one_batch_of_500(excel, sheet, batches, faults):
    fill(sheet, 5000, zips=500)
    assert compute(excel, sheet, range(1, 5001)) == [0.0825] * 5000
    assert batches == [500]
    assert len(faults.seen) == 500
    # the column was looked at once: three blocks were read, whatever the number of rows
    blocks = [name for name, address in excel.app.reads if ":" in address]
    assert len(blocks) < 10


def test_whichever_row_excel_computes_first_the_whole_column_comes_with_it(excel, sheet, batches):
    fill(sheet, 40)
    assert compute(excel, sheet, range(40, 0, -1)) == [0.0825] * 40
    assert batches == [40]


@pytest.mark.parametrize(
    "formula",
    [
        '=SVC_RATE("TX",B{row})',
        "=SVC_RATE($A{row},$B{row},SVC_AS_OF)",
        "=SVC_RATE(A{row},B{row},$E$1)",
        '=SVC_RATE(A{row},B{row},,"partial")',
    ],
)
def test_what_is_the_same_in_every_row_is_taken_as_this_cell_was_given_it(
    excel, sheet, batches, faults, formula
):
    sheet["E1"] = FEBRUARY
    excel.book.names["SVC_AS_OF"] = sheet.Range("E1")
    fill(sheet, 20, formula)
    assert compute(excel, sheet, range(1, 21)) == [0.0825] * 20
    assert batches == [20]
    dated = ["as_of=2026-02-01" in one.target for one in faults.seen]
    assert dated == ["SVC_AS_OF" in formula or "$E$1" in formula] * 20


def test_a_table_with_columns_by_their_headings_costs_one_batch(excel, sheet, batches):
    fill(sheet, 30)
    for row in range(1, 31):
        sheet.cells[row, 3].formula = "=SVC_RATE([@State],[@[Ship ZIP]])"
    sheet.tables.append(Table(sheet, "Orders", 0, 1, ("State", "Ship ZIP", "Rate"), 30))
    cells = [sheet.Range(f"A{row}:B{row}") for row in range(1, 31)]
    for row, cell in enumerate(cells, 1):
        state, zip_code = sheet.Range(f"A{cell.row}"), sheet.Range(f"B{cell.row}")
        assert excel.call("SVC_RATE", state, zip_code, cell=sheet.Range(f"C{row}")) == 0.0825
    assert batches == [30]


@pytest.mark.parametrize(
    "formula",
    [
        '=IF(A{row}="TX",SVC_RATE(A{row},B{row}),0)',  # a row might not ask
        "=IFERROR(D{row},SVC_RATE(A{row},B{row}))",  # the same
        "=SVC_RATE(A{row},TEXT(B{row},0))",  # what a row would ask is not known
        "=SVC_RATE(Other!A{row},B{row})",
    ],
)
def test_where_a_row_might_not_ask_it_is_just_the_one_place(excel, sheet, batches, formula):
    fill(sheet, 10, formula)
    found = excel.call("SVC_RATE", "TX", sheet.Range("B1"), cell=sheet.Range("C1"))
    assert found == 0.0825
    assert batches == [1]


def test_a_call_that_every_row_makes_counts_also_within_other_functions(excel, sheet, batches):
    fill(sheet, 10, "=IFERROR(SVC_RATE(A{row},B{row}),0)")
    excel.call("SVC_RATE", sheet.Range("A1"), sheet.Range("B1"), cell=sheet.Range("C1"))
    assert batches == [10]


def test_both_calls_of_a_formula_are_looked_up_for_every_row(excel, sheet, batches):
    fill(sheet, 10, "=SVC_RATE(A{row},B{row})+SVC_RATE(A{row},D{row})")
    for row in range(1, 11):
        sheet.cells[row, 4] = Cell(str(76000 + row))
    excel.call("SVC_RATE", "TX", sheet.Range("B1"), cell=sheet.Range("C1"))
    assert batches == [20]


def test_an_argument_that_is_a_formula_may_not_be_computed_yet(excel, sheet, batches, faults):
    fill(sheet, 10)
    sheet.cells[7, 2].formula = "=B6"
    compute(excel, sheet, [1])
    assert batches == [9]
    assert "75006" not in zips_asked(faults)


def test_rows_with_another_formula_ask_for_themselves_alone(excel, sheet, batches, faults):
    fill(sheet, 6)
    sheet.cells[3, 3] = Cell(0.08)
    sheet.cells[4, 3] = Cell(None, "=SVC_RATE(A4,B1)")
    sheet.cells[5, 2] = Cell(None)
    compute(excel, sheet, [1])
    assert batches == [3]
    assert sorted(zips_asked(faults)) == ["75000", "75001", "75005"]


def test_a_relative_name_is_not_the_same_in_every_row(excel, sheet, batches):
    excel.book.names["ThisZip"] = "=Orders!RC[-1]"
    fill(sheet, 5, "=SVC_RATE(A{row},ThisZip)")
    sheet.cells[3, 1].value = "WA"  # no formula asks for the ZIP of row 1 in that state
    excel.call("SVC_RATE", "TX", sheet.Range("B1"), cell=sheet.Range("C1"))
    assert batches == [1]


def test_a_program_that_calls_asks_for_the_one_place(excel, sheet, batches):
    fill(sheet, 5)
    assert excel.call("SVC_RATE", "TX", "75000") == 0.0825
    assert batches == [1]


def test_excel_that_refuses_to_be_read_costs_nothing_but_the_batch(
    excel, sheet, batches, monkeypatch, udfs
):
    fill(sheet, 5)

    def busy(*_):
        raise OSError("busy")

    monkeypatch.setattr(udfs._Column, "others", busy)
    assert compute(excel, sheet, [1, 2]) == [0.0825] * 2
    assert batches == [1, 1]


def test_a_column_that_did_not_help_is_read_ever_more_rarely(excel, sheet, batches):
    fill(sheet, 50)
    for row in range(1, 51):
        sheet.cells[row, 2].formula = "=D1"
    compute(excel, sheet, range(1, 51))
    assert batches == [1] * 50
    reads = [name for name, address in excel.app.reads if address == "$C$1:$C$50"]
    assert len(reads) < 16


def test_new_data_pasted_a_moment_later_is_one_batch_again(excel, sheet, batches):
    fill(sheet, 30)
    compute(excel, sheet, range(1, 31))
    for row in range(1, 31):
        sheet.cells[row, 2].value = str(76000 + row)
    assert compute(excel, sheet, range(1, 31)) == [0.0825] * 30
    assert batches == [30, 30]


def test_amounts_that_are_formulas_count_where_they_show_a_number(excel, sheet, batches, faults):
    fill(sheet, 6, '=SVC_TAX(D{row},A{row},B{row},"2026-02-01")')
    for row, amount in enumerate((10.0, 20.0, None, "", 30.0, -2146826281), 1):
        sheet.cells[row, 4] = Cell(amount, "=E1*F1")
    assert compute(excel, sheet, [1, 2, 5]) == [0.83, 1.65, 2.48]
    assert batches == [3]
    assert sorted(zips_asked(faults)) == ["75000", "75001", "75004"]


def test_a_failure_of_the_service_is_shown_in_each_row_and_not_repeated_by_each(
    excel, sheet, batches, faults
):
    faults.will(RESET)
    fill(sheet, 10)
    shown = compute(excel, sheet, range(1, 11))
    assert {one.split()[0] for one in shown} <= {"#FAILED", "#NOT_ATTEMPTED"}
    assert batches == [10]
    faults.will(echoing())
