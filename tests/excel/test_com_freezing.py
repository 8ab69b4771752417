"""Freezing: formulas become the values that they show, and everything can be put back."""

from __future__ import annotations

import pytest
from support.com_cells import Cell, ComError, Table
from support.faults import answer, echoing

from svc_tools.excel.com.frozen_log import COLUMNS

NOT_FOUND = answer(404, b'{"error": {"code": "NOT_FOUND", "message": "no such ZIP"}}')


@pytest.fixture
def orders(excel):
    """Three orders with a rate and a tax, a total that is no formula of ours, and a note."""
    sheet = excel.book.add("Orders")
    for row, (zip_code, amount) in enumerate((("'78701", 19.99), ("'78702", 5.0)), 2):
        sheet[f"A{row}"], sheet[f"B{row}"], sheet[f"C{row}"] = "TX", zip_code, amount
        sheet[f"D{row}"] = f'=SVC_RATE(A{row},B{row},"2026-02-01")'
        sheet[f"E{row}"] = f'=SVC_TAX(C{row},A{row},B{row},"2026-02-01")'
    sheet["F2"] = Cell(24.99, "=SUM(C2:C3)")
    sheet["F3"] = "typed by hand"
    return sheet


def shown(sheet):
    return {key: (cell.value, cell.formula) for key, cell in sheet.cells.items() if cell.value}


def logged(excel):
    sheet = excel.book.sheet("SVC frozen")
    last = sheet.UsedRange.height
    rows = sheet.Range(f"A1:H{last}").Value2
    assert rows[0] == COLUMNS
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows[1:]]


def test_formulas_become_their_values_and_the_log_says_what_they_were(excel, orders):
    excel.app.pressed = ["yes"]
    told = excel.macro("SVC_FREEZE")
    assert told.startswith("Frozen: 4 cells on 1 sheet.")
    assert (orders["D2"].value, orders["D2"].formula) == (0.0825, "")
    assert (orders["E3"].value, orders["E3"].formula) == (0.41, "")
    assert orders["F2"].formula == "=SUM(C2:C3)"  # no function of ours: as it was
    first = logged(excel)[0]
    assert (first["sheet"], first["cell"]) == ("Orders", "D2")
    assert first["formula"] == '=SVC_RATE(A2,B2,"2026-02-01")'
    assert first["value"] == 0.0825
    assert first["source"]
    assert first["answered"].startswith("20")
    assert first["frozen at"].endswith("+00:00")
    assert first["put back at"] is None


def test_freezing_asks_the_service_nothing(excel, orders, faults):
    before = len(faults.seen)
    excel.app.pressed = ["yes"]
    excel.macro("SVC_FREEZE")
    assert len(faults.seen) == before


def test_unfreezing_puts_every_formula_back(excel, orders):
    before = shown(orders)
    excel.app.pressed = ["yes", "yes"]
    excel.macro("SVC_FREEZE")
    assert excel.macro("SVC_UNFREEZE") == "4 formulas are back."
    assert shown(orders) == before
    assert all(row["put back at"] for row in logged(excel))
    assert excel.macro("SVC_UNFREEZE").startswith("Nothing is frozen.")


def test_excel_fills_no_column_of_a_table_while_formulas_come_back(excel, orders):
    excel.app.pressed = ["yes", "yes"]
    excel.macro("SVC_FREEZE")
    fills = []
    correct = excel.app.AutoCorrect
    excel.app.on_write = lambda *_: fills.append(correct.AutoFillFormulasInLists)
    excel.macro("SVC_UNFREEZE")
    assert fills
    assert not any(fills)
    assert correct.AutoFillFormulasInLists


def test_what_was_typed_over_a_frozen_cell_stays(excel, orders):
    excel.app.pressed = ["yes", "yes"]
    excel.macro("SVC_FREEZE")
    orders["E2"] = 1.66
    told = excel.macro("SVC_UNFREEZE")
    assert told.splitlines() == [
        "3 formulas are back. 1 cell was left alone:",
        "Orders!E2: E2 holds something else now",
    ]
    assert orders["E2"].value == 1.66


def test_no_means_that_nothing_changes(excel, orders):
    before = shown(orders)
    excel.app.pressed = ["no"]
    assert excel.macro("SVC_FREEZE") == "Nothing was changed."
    assert shown(orders) == before
    assert len(excel.book.sheets) == 1


def test_only_the_selected_formulas_are_frozen_where_some_are(excel, orders):
    excel.app.Selection = orders.Range("E1:E9")
    excel.app.pressed = ["yes"]
    assert excel.macro("SVC_FREEZE").startswith("Frozen: 2 cells")
    assert "of the selected cells" in excel.app.told[0]
    assert orders["D2"].formula
    assert not orders["E2"].formula


def test_a_selection_without_formulas_of_ours_means_the_whole_workbook(excel, orders):
    excel.app.Selection = orders.Range("A1")
    excel.app.pressed = ["yes"]
    assert excel.macro("SVC_FREEZE").startswith("Frozen: 4 cells")
    assert "of the whole workbook" in excel.app.told[0]


def test_a_selection_in_another_workbook_is_not_touched(excel, orders):
    other = excel.app.book(Name="other.xlsx").add("Orders")
    other["E2"] = Cell(1.0, '=SVC_RATE("TX","78701")')
    excel.app.Selection = other.Range("E2")
    excel.app.pressed = ["yes"]
    assert excel.macro("SVC_FREEZE").startswith("Frozen: 4 cells")
    assert other["E2"].formula


def test_a_picture_that_is_selected_means_the_whole_workbook(excel, orders):
    excel.app.Selection = object()
    excel.app.pressed = ["yes"]
    assert excel.macro("SVC_FREEZE").startswith("Frozen: 4 cells")


def test_errors_and_partial_rates_stay_formulas_and_are_listed(excel, orders, faults):
    faults.will(NOT_FOUND)
    orders["B5"], orders["D5"] = "'00501", '=SVC_RATE("TX",B5,"2026-02-01")'
    faults.will(echoing(warnings=[{"code": "local_rates_not_covered"}]))
    orders["B6"], orders["D6"] = "'78799", '=SVC_RATE("TX",B6,"2026-02-01")'
    orders["D7"] = Cell(-2146826246, "=1*SVC_RATE(A7,B7)")
    excel.app.pressed = ["yes"]
    told = excel.macro("SVC_FREEZE").splitlines()
    assert told[0].endswith("3 cells stay formulas:")
    assert [line.partition(":")[0] for line in told[1:]] == ["Orders!D5", "Orders!D6", "Orders!D7"]
    assert [line.split()[1] for line in told[1:]] == ["#UNRESOLVED", "#PARTIAL", "#N/A"]
    assert all(orders[cell].formula for cell in ("D5", "D6", "D7"))
    assert "3 formulas with an error will stay" in excel.app.told[0]


def test_a_text_that_looks_like_a_number_or_a_day_stays_a_text(excel, orders):
    orders["D5"] = '=SVC_FIELD("resolved_zip","TX","02134","2026-02-01")'
    orders["D6"] = '=SVC_FIELD("lookup_as_of","TX","78701","2026-02-01")'
    before = [orders["D5"].value, orders["D6"].value]
    assert before == ["02134", "2026-02-01"]
    excel.app.pressed = ["yes", "yes"]
    excel.macro("SVC_FREEZE")
    assert [orders["D5"].value, orders["D6"].value] == before
    assert not orders["D5"].formula
    assert excel.macro("SVC_UNFREEZE") == "6 formulas are back."


def test_an_array_that_spills_keeps_every_cell_and_spills_again(excel, orders):
    orders["H1"] = "=SVC_LOOKUP(A2:B3)"
    cells = {key: cell.value for key, cell in orders.cells.items() if cell.anchor}
    assert len(cells) > 2
    excel.app.Selection = orders.Range("H1")
    excel.app.pressed = ["yes", "yes"]
    assert excel.macro("SVC_FREEZE").startswith(f"Frozen: {len(cells)} cells")
    assert {key: orders.cells[key].value for key in cells if key in orders.cells} == {
        key: value for key, value in cells.items() if value != ""
    }
    assert not any(orders.cells[key].formula for key in cells if key in orders.cells)
    assert logged(excel)[1]["formula"] == "spilled from H1"
    assert excel.macro("SVC_UNFREEZE") == "1 formula is back."
    assert {key: cell.value for key, cell in orders.cells.items() if cell.anchor} == cells


def test_a_fixed_array_formula_is_frozen_and_put_back_as_a_whole(excel, orders):
    excel.app.dynamic = False
    orders.put_array((10, 1), "=SVC_RATE(A2:A3,B2:B3)", (2, 1))
    values = [orders["A10"].value, orders["A11"].value]
    excel.app.Selection = orders.Range("A11")
    excel.app.pressed = ["yes", "yes"]
    assert excel.macro("SVC_FREEZE").startswith("Frozen: 2 cells")
    assert [orders["A10"].value, orders["A11"].value] == values
    assert [row["formula"] for row in logged(excel)] == ["{=SVC_RATE(A2:A3,B2:B3)}", "array of A10"]
    assert excel.macro("SVC_UNFREEZE") == "1 formula is back."
    assert orders["A11"].legacy


def test_a_protected_sheet_is_left_as_it_is_and_said(excel, orders):
    orders.protected = True
    excel.app.pressed = ["yes"]
    told = excel.macro("SVC_FREEZE")
    assert "the sheet is protected" in told
    assert orders["D2"].formula


def test_the_log_is_there_before_the_first_cell_changes(excel, orders):
    """Excel may end at any moment: what is a value by then can be put back."""
    before = shown(orders)
    written = []

    def ends(sheet, key):
        if sheet is orders:
            written.append(key)
            if len(written) == 3:
                raise KeyboardInterrupt

    excel.app.on_write = ends
    excel.app.pressed = ["yes", "yes"]
    with pytest.raises(KeyboardInterrupt):
        excel.macro("SVC_FREEZE")
    assert len(logged(excel)) == 4
    excel.app.on_write = None
    assert excel.macro("SVC_UNFREEZE") == "4 formulas are back."
    assert shown(orders) == before
    assert excel.app.Calculation == -4105  # automatic, as it was


def test_a_cell_that_excel_refuses_keeps_its_formula_and_the_others_go_on(excel, orders):
    def refuses(sheet, key):
        if sheet is orders and key == (2, 5):
            raise ComError("no")

    excel.app.on_write = refuses
    excel.app.pressed = ["yes"]
    told = excel.macro("SVC_FREEZE")
    assert told.startswith("Frozen: 3 cells")
    assert "Orders!E2: Excel refused it" in told
    assert orders["E2"].formula
    assert [row["put back at"] is None for row in logged(excel)].count(False) == 1


def test_an_array_that_excel_refuses_half_way_spills_again(excel, orders):
    orders["H1"] = "=SVC_LOOKUP(A2:B3)"
    cells = {key: cell.value for key, cell in orders.cells.items() if cell.anchor}
    writes = []

    def refuses(sheet, key):
        if sheet is orders and key == (1, 8):
            writes.append(key)
            if len(writes) == 2:  # it was emptied, and cannot be written
                raise ComError("no")

    excel.app.on_write = refuses
    excel.app.Selection = orders.Range("H1")
    excel.app.pressed = ["yes"]
    assert "its formula is back" in excel.macro("SVC_FREEZE")
    assert {key: cell.value for key, cell in orders.cells.items() if cell.anchor} == cells


def test_a_cell_formatted_as_text_keeps_its_formula_for_a_total_would_lose_it(excel, orders):
    orders["E2"].style = "text"  # after the formula was typed: until now it is computed
    excel.app.pressed = ["yes"]
    told = excel.macro("SVC_FREEZE")
    assert "Orders!E2: Excel made another value of it" in told
    assert (orders["E2"].value, orders["E2"].formula) == (
        1.65,
        '=SVC_TAX(C2,A2,B2,"2026-02-01")',
    )


def test_a_log_that_lost_rows_of_an_array_clears_no_cell_that_it_does_not_name(excel, orders):
    orders["H1"] = "=SVC_LOOKUP(A2:B3)"
    excel.app.Selection = orders.Range("H1")
    excel.app.pressed = ["yes", "yes"]
    excel.macro("SVC_FREEZE")
    log = excel.book.sheet("SVC frozen")
    for column in range(1, 9):
        log.cells.pop((4, column), None)  # the row of J1
    orders["J1"] = "typed by hand"
    told = excel.macro("SVC_UNFREEZE")
    assert "rows of its other cells are missing" in told
    assert orders["J1"].value == "typed by hand"


def test_where_the_log_takes_no_rows_no_formula_is_lost(excel, orders):
    excel.app.pressed = ["yes", "yes", "yes"]
    excel.macro("SVC_FREEZE")
    excel.macro("SVC_UNFREEZE")
    excel.book.sheet("SVC frozen").hidden = {7}  # by a filter
    assert "No formula was changed" in excel.macro("SVC_FREEZE")
    assert all(orders[cell].formula for cell in ("D2", "D3", "E2", "E3"))


def test_another_sheet_of_that_name_is_not_written_over(excel, orders):
    excel.book.add("SVC frozen")["A1"] = "my own notes"
    excel.app.pressed = ["yes"]
    assert 'The sheet "SVC frozen" has other headings' in excel.macro("SVC_FREEZE")
    assert orders["D2"].formula


def test_formulas_that_are_out_of_date_are_not_frozen(excel, orders):
    excel.app.CalculationState = 2
    assert "press F9" in excel.macro("SVC_FREEZE")
    assert orders["D2"].formula


def test_the_source_is_that_of_the_cells_own_place_also_in_a_table(excel, orders, faults):
    orders["A1"], orders["B1"] = "State", "ZIP"
    orders["G1"] = "Rate"
    orders.tables.append(
        Table(orders, "Orders", 1, 1, ("State", "ZIP", "c", "d", "e", "f", "G"), 2)
    )
    orders["G2"] = Cell(0.0825, '=SVC_RATE([@State],[@ZIP],"2026-02-01")')
    orders["G3"] = Cell(0.0825, '=SVC_RATE([@State],"79999","2026-02-01")')  # never asked for
    excel.app.Selection = orders.Range("G2:G3")
    excel.app.pressed = ["yes"]
    excel.macro("SVC_FREEZE")
    known, unknown = logged(excel)
    assert known["answered"]
    assert unknown["answered"] is None
    assert unknown["source"]


def test_a_text_that_shows_a_formula_is_no_formula(excel, orders):
    orders["H1"] = "'=SVC_RATE(A2,B2)"
    excel.app.pressed = ["yes"]
    assert excel.macro("SVC_FREEZE").startswith("Frozen: 4 cells")
    assert "H1" not in {row["cell"] for row in logged(excel)}


def test_a_workbook_without_our_functions_is_told_so(excel):
    excel.book.add("Other")["A1"] = 1.0
    assert excel.macro("SVC_FREEZE").startswith("No formula of the workbook has an SVC function.")
