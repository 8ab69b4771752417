"""A formula filled down a column costs one batch, and asks for nothing that no formula asks for."""

from __future__ import annotations

from datetime import date

import pytest
from support.com_cells import Cell, Table
from support.desks import zips_asked
from support.faults import RESET, echoing

from svc_tools.excel import desk
from svc_tools.excel.com import formulas

DAY = date(2026, 2, 1)


@pytest.fixture
def batches(monkeypatch):
    """How many places each run asked for."""
    found = []

    def counted(*arguments, **options):
        found.append(len(arguments[1]))
        return look_up(*arguments, **options)

    look_up = desk.look_up
    monkeypatch.setattr(desk, "look_up", counted)
    monkeypatch.setattr(formulas, "_looks", formulas._Looks())
    return found


@pytest.fixture
def sheet(excel):
    return excel.book.add("Orders")


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
    sheet["E1"] = DAY
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
        "=SVC_RATE(A{row},B{row})+SVC_RATE(A{row},D{row})",  # which of them is it
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


def test_an_argument_that_is_a_formula_may_not_be_computed_yet(excel, sheet, batches):
    fill(sheet, 10)
    sheet.cells[7, 2].formula = "=B6"
    compute(excel, sheet, [1])
    assert batches == [1]


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
    excel, sheet, batches, monkeypatch
):
    fill(sheet, 5)

    def busy(*_):
        raise OSError("busy")

    monkeypatch.setattr(formulas, "_others", busy)
    assert compute(excel, sheet, [1, 2]) == [0.0825] * 2
    assert batches == [1, 1]


def test_a_column_that_did_not_help_is_not_read_again_by_every_cell(excel, sheet, batches):
    fill(sheet, 50)
    sheet.cells[50, 2].formula = "=B49"
    compute(excel, sheet, range(1, 50))
    assert batches == [1] * 49
    reads = [name for name, address in excel.app.reads if address.startswith("$B$1:")]
    assert reads == ["HasFormula"]


def test_new_data_pasted_a_moment_later_is_one_batch_again(excel, sheet, batches):
    fill(sheet, 30)
    compute(excel, sheet, range(1, 31))
    for row in range(1, 31):
        sheet.cells[row, 2].value = str(76000 + row)
    assert compute(excel, sheet, range(1, 31)) == [0.0825] * 30
    assert batches == [30, 30]


def test_a_column_is_looked_at_a_few_times_in_half_a_minute_and_then_again(
    excel, sheet, batches, monkeypatch
):
    now = [0.0]
    monkeypatch.setattr(formulas, "_looks", formulas._Looks(clock=lambda: now[0]))
    fill(sheet, 3)
    for start in range(76000, 77000, 100):
        for row in range(1, 4):
            sheet.cells[row, 2].value = str(start + row)
        compute(excel, sheet, range(1, 4))
    assert batches == [3] * 5 + [1] * 15
    now[0] += 31
    for row in range(1, 4):
        sheet.cells[row, 2].value = str(78000 + row)
    compute(excel, sheet, range(1, 4))
    assert batches[20:] == [3]


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
