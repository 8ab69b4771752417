"""Functions in Excel through xlwings: arguments, results, and one batch for a column."""

from __future__ import annotations

import importlib
import json
import re
from collections import defaultdict
from datetime import date
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl.utils.cell import range_boundaries
from support.com_excel import MISSING, SPILL, Cell, Table
from support.faults import RESET, answer, echoing
from support.spreadsheets import zips_asked

from svc_tools.excel import desk as desks
from svc_tools.excel.com.workbook import TEXT_LIMIT, CellBlock, cut, to_com
from svc_tools.excel.formulas import Patience
from svc_tools.excel.registry import FUNCTIONS

DAY = "2026-02-01"
FIRST_ERROR = -2146828288
VBA_KEYWORD = re.compile(
    """
    as | boolean | byref | byte | byval | call | case | const | currency | date | declare | dim | do
    | double | each | else | elseif | empty | end | enum | eqv | erase | event | exit | false | for
    | friend | function | get | gosub | goto | if | imp | implements | in | input | integer | is |
    let | like | long | loop | lset | me | mod | new | next | not | nothing | null | object | on |
    open | option | optional | or | paramarray | print | private | property | public | put |
    raiseevent | range | redim | rem | resume | return | rset | seek | select | set | single |
    static | stop | string | sub | then | time | to | true | type | typeof | until | variant | wend
    | while | with | withevents | write | xor
    """,
    re.VERBOSE | re.IGNORECASE,
)


@pytest.fixture
def sheet(excel):
    return excel.book.add("Orders")


def test_no_argument_has_a_name_that_vba_keeps_for_itself(excel):
    for arguments in re.findall(r"^Function \w+\((.*)\)$", excel.vba(), re.MULTILINE):
        names = re.findall(r"(?:Optional )?(\w+)(?:, |$)", arguments)
        assert not list(filter(VBA_KEYWORD.fullmatch, names))


def test_the_macros_are_subs(excel):
    macros = set(re.findall(r"^Sub SVC_(\w+)\(\)$", excel.vba(), re.MULTILINE))
    nexus = {f"NEXUS_{one}" for one in ("LIST", "PREVIEW", "REMOVE", "RESTORE", "ADD")}
    assert macros == {"REFRESH", "FREEZE"} | nexus


def test_the_module_beside_the_workbook_brings_nothing_else(excel):
    public = {name for name in dir(excel.module) if not name.startswith("_")}
    assert {name for name in public if not name.startswith("SVC_")} == set()


def test_an_argument_is_read_as_the_cell_holds_it(excel, sheet, faults):
    sheet["C1"] = date(2026, 2, 1)
    assert excel.call("SVC_RATE", "TX", sheet.Range("B9"), DAY) == ""  # no place
    assert excel.call("SVC_RATE", "TX", "78701", sheet.Range("C9")).startswith("#INVALID as_of")
    assert faults.seen == []
    assert excel.call("SVC_RATE", "TX", "78701", MISSING, "partial") == 0.0825  # left out: today
    for day in (sheet.Range("C1"), 46054.0):
        excel.call("SVC_RATE", "TX", "78702", day, cell=sheet.Range("D1"))
    assert ["as_of=2026-02-01" in one.target for one in faults.seen] == [False, True]


@pytest.mark.parametrize("name", ["SVC_RATE", "SVC_WARNINGS", "SVC_SOURCE"])
def test_no_date_of_a_workbook_that_counts_from_1904_is_read(excel, sheet, faults, name):
    excel.book.Date1904 = True
    sheet["A1"], sheet["A2"], sheet["B1"] = 44592.0, 44592.0, date(2026, 2, 1)
    call = partial(excel.call, cell=sheet.Range("D1"))
    shown = [call(name, "TX", "78701", day) for day in (44592.0, *map(sheet.Range, ("A1", "B1")))]
    shown += [row[0] for row in call(name, "TX", "78701", sheet.Range("A1:A2"))]
    assert all("File > Options > Advanced" in one for one in shown)
    if name != "SVC_SOURCE":
        excel.book.Name = "old mac.xlsm"
        assert "old mac.xlsm counts dates from 1904" in call(name, "TX", "78701", 44592.0)
        assert "orders.xlsm" in shown[0]
    assert call("SVC_STATUS", "TX", "78701", 44592.0) == "invalid"
    assert faults.seen == []


def test_in_such_a_workbook_texts_are_days_and_other_numbers_are_themselves(excel, sheet, faults):
    excel.book.Date1904 = True
    call = partial(excel.call, cell=sheet.Range("D1"))
    assert call("SVC_RATE", "TX", 78701.0, DAY) == 0.0825
    assert call("SVC_TAX", 100.0, "TX", 78701.0, DAY) == 8.25
    for row, zip_code in enumerate((78703.0, 78702.0), 1):
        sheet[f"A{row}"], sheet[f"B{row}"], sheet[f"C{row}"] = "TX", zip_code, 44592.0
    sheet["C2"] = f"'{DAY}"
    (refused,), (rate,) = call("SVC_LOOKUP", sheet.Range("A1:C2"), "combined_rate")
    assert "counts dates from 1904" in refused
    assert rate == 0.0825
    assert zips_asked(faults) == ["78701", "78702"]
    assert {one.target.partition("as_of=")[2][:10] for one in faults.seen} == {DAY}


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (SPILL, "#SPILL!"),
        (FIRST_ERROR + 2050, "#CALC!"),  # which xlwings does not know
        (FIRST_ERROR + 2099, "#ERROR2099"),
    ],
)
def test_an_error_cell_is_passed_on_in_words_and_is_no_number(excel, sheet, code, text):
    sheet["B1"] = Cell(code)
    for cell in (
        excel.call("SVC_RATE", "TX", sheet.Range("B1"), DAY),
        excel.call("SVC_SUM", sheet.Range("B1:B2")),
    ):
        assert cell.startswith(text)


def test_nothing_of_a_failure_but_its_sentence_reaches_the_cell(excel, monkeypatch):
    def broken():
        raise RuntimeError("key=abc in C:\\secret")

    monkeypatch.setattr("svc_tools.excel.com.udfs.the_desk", broken)
    assert excel.call("SVC_RATE", "TX", "78701") == "#FAILED SVC_RATE could not be computed."


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
    assert udfs.SVC_RATE("TX", [["78701"], ["78702"]], DAY) == [[0.0825], [0.0825]]


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
    area = CellBlock(row, column, height, width)
    assert range_boundaries(area.address) == (column, row, column + width - 1, row + height - 1)
    assert len(list(area.cells())) == height * width
    assert CellBlock.around(area.cells()) == area


@pytest.fixture(autouse=True)
def no_time_passes(com, monkeypatch):
    """No column was read before, and a burst lasts as long as a test."""
    found = importlib.import_module("svc_tools.excel.com.udfs")
    patience = defaultdict(partial(Patience, eager=True, clock=lambda: 0.0))
    monkeypatch.setattr(found, "_patience", patience)


def fill(sheet, rows, formula="=SVC_RATE(A{row},B{row})", zips=None):
    """State, ZIP and a formula in each row, none of them computed yet."""
    for row in range(1, rows + 1):
        zip_code = str(75000 + (row - 1) % (zips or rows))
        for column, cell in enumerate(("TX", zip_code, None), 1):
            sheet.cells[row, column] = Cell(cell)
        sheet.cells[row, 3].formula = formula.format(row=row)


def compute_first(excel, sheet):
    """Call the function as the formula of the first row does."""
    cell = sheet.Range("C1")
    return excel.call("SVC_RATE", sheet.Range("A1"), sheet.Range("B1"), cell=cell)


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


@pytest.mark.parametrize(
    "formula",
    [
        "=SVC_RATE(A{row},B{row})",
        '=SVC_RATE("TX",B{row})',
        "=SVC_RATE($A{row},$B{row},SVC_AS_OF)",
        "=SVC_RATE(A{row},B{row},$E$1)",
        '=SVC_RATE(A{row},B{row},,"partial")',
    ],
)
def test_whichever_row_excel_computes_first_the_whole_column_comes_with_it(
    excel, sheet, batches, faults, formula
):
    sheet["E1"] = date(2026, 2, 1)
    excel.book.names["SVC_AS_OF"] = sheet.Range("E1")
    fill(sheet, 20, formula)
    assert compute(excel, sheet, range(20, 0, -1)) == [0.0825] * 20
    assert batches == [20]
    dated = ["as_of=2026-02-01" in one.target for one in faults.seen]
    assert dated == ["SVC_AS_OF" in formula or "$E$1" in formula] * 20


def test_a_table_with_columns_by_their_headings_costs_one_batch(excel, sheet, batches):
    fill(sheet, 30, "=SVC_RATE([@State],[@[Ship ZIP]])")
    sheet.tables.append(Table(sheet, "Orders", 0, 1, ("State", "Ship ZIP", "Rate"), 30))
    assert compute(excel, sheet, range(1, 31)) == [0.0825] * 30
    assert batches == [30]


@pytest.mark.parametrize(
    ("formula", "places"),
    [
        ("=IFERROR(SVC_RATE(A{row},B{row}),0)", 10),  # every row makes the call
        ("=SVC_RATE(A{row},B{row})+SVC_RATE(A{row},D{row})", 20),
        ('=IF(A{row}="TX",SVC_RATE(A{row},B{row}),0)', 10),
        ('=IF(LEFT(A{row})="T",SVC_RATE(A{row},B{row}),0)', 1),  # a row might not make it
        ("=IFERROR(D{row},SVC_RATE(A{row},B{row}))", 1),
        ("=SVC_RATE(A{row},TEXT(B{row},0))", 1),  # its place is not known
        ("=SVC_RATE(Other!A{row},B{row})", 1),
        ("=SVC_RATE(A{row},ThisZip)", 1),  # a name that is another cell in each row
    ],
)
def test_the_places_that_are_looked_up_with_the_first_row(excel, sheet, batches, formula, places):
    excel.book.names["ThisZip"] = "=Orders!RC[-1]"
    fill(sheet, 10, formula)
    for row in range(1, 11):
        sheet.cells[row, 4] = Cell(str(76000 + row))
    sheet.cells[3, 1].value = "WA" if "ThisZip" in formula else "TX"
    assert compute_first(excel, sheet) == 0.0825
    assert batches == [places]


def test_rows_with_another_or_an_uncomputed_formula_are_left_out(excel, sheet, batches, faults):
    fill(sheet, 7)
    sheet.cells[3, 3] = Cell(0.08)
    sheet.cells[4, 3] = Cell(None, "=SVC_RATE(A4,B1)")
    sheet.cells[5, 2] = Cell(None)
    sheet.cells[7, 2].formula = "=B6"  # its value may be of before
    compute(excel, sheet, [1])
    assert batches == [3]
    assert sorted(zips_asked(faults)) == ["75000", "75001", "75005"]


def test_without_a_cell_or_a_readable_sheet_one_place_is_looked_up(
    excel, sheet, batches, monkeypatch
):
    fill(sheet, 5)
    assert excel.call("SVC_RATE", "TX", "75000") == 0.0825

    def busy(*_):
        raise OSError("busy")

    monkeypatch.setattr("svc_tools.excel.com.udfs._Column.others", busy)
    assert compute(excel, sheet, [2, 3]) == [0.0825] * 2
    assert batches == [1, 1, 1]


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
