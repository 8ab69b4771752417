"""Macros: refresh, freeze, and the workbook that svc-tools makes."""

from __future__ import annotations

from datetime import date
from itertools import count

import pytest
from support.com_excel import Cell, ComError, loaded
from support.faults import RESET, answer, echo, echoing
from support.nexus import RECORDS, Nexus
from support.spreadsheets import desk_of, zips_asked

from svc_tools.excel import desk as desks
from svc_tools.excel.com.macros import FROZEN_COLUMNS as COLUMNS
from svc_tools.excel.workbook import write_workbook
from svc_tools.excel.workbook.writing import NEXUS, NEXUS_COLUMNS, NEXUS_MARKS

UNKNOWN = b'{"error": {"code": "NOT_FOUND", "message": "unknown ZIP"}}'


@pytest.fixture
def rates(excel):
    """A sheet with two rates."""
    sheet = excel.book.add("Orders")
    sheet["A1"], sheet["B1"], sheet["B2"] = "TX", "'78701", "'78702"
    for row in (1, 2):
        sheet[f"C{row}"] = f'=SVC_RATE(A1,B{row},"2026-02-01")'
    return sheet


def refresh(excel, *, pressed="yes"):
    """Run the macro and press a button; its last message."""
    excel.app.pressed = [pressed]
    return excel.macro("SVC_REFRESH")


def test_a_refresh_looks_up_again_and_names_the_cells_that_changed(excel, rates, faults):
    before = len(faults.seen)
    faults.will(
        lambda seen: echo(seen, rate={"combined_rate": "0.08350"} if "78702" in seen.target else {})
    )
    excel.app.CalculateFull()
    assert len(faults.seen) == before  # a recalculation alone requests nothing
    first, *changed = refresh(excel).splitlines()
    assert first.startswith("2 places looked up again: 1 result changed.")
    assert changed == ["Orders!C2: 0.0825 -> 0.0835"]
    assert rates["C2"].value == 0.0835
    assert len(faults.seen) == before + 2


def test_a_new_time_or_support_reference_alone_is_no_change_of_a_cell(excel, rates, faults):
    numbers = count()
    faults.will(lambda _: answer(404, UNKNOWN, x_request_id=f"req_{next(numbers)}"))
    rates["D1"], rates["D2"] = "=SVC_ASOF()", '=SVC_WARNINGS("TX","78705")'
    refresh(excel)
    shown = rates["C1"].value, rates["D2"].value
    last = refresh(excel)
    assert shown != (rates["C1"].value, rates["D2"].value)
    assert last.endswith(": no change. No cell changed.")


def test_declining_a_refresh_sends_no_request(excel, rates, faults):
    before, cells = len(faults.seen), shown(rates)
    assert refresh(excel, pressed="no") == "Nothing was changed."
    assert excel.app.told[0].startswith("2 lookups for 2 cells.")
    assert (len(faults.seen), shown(rates)) == (before, cells)


@pytest.fixture
def fresh_process(scripted, tmp_path, monkeypatch):
    """Excel is started again: what was looked up is on the disk alone."""
    cache = tmp_path / "results.db"
    return lambda: monkeypatch.setattr(desks, "_desks", [desk_of(scripted, cache=cache)])


def test_in_a_fresh_process_a_refresh_renews_all_that_the_workbook_uses(
    excel, file, faults, fresh_process
):
    fresh_process()
    loaded(excel.book, file)
    for sheet in excel.book.sheets:  # the register is no place
        sheet.cells = {
            key: cell for key, cell in sheet.cells.items() if "SVC_NEXUS" not in cell.formula
        }
    for _ in range(2):
        excel.app.CalculateFull()
    places = len({one.target for one in faults.seen})
    assert places > 3
    fresh_process()
    faults.seen.clear()
    excel.app.CalculateFull()
    assert faults.seen == []
    faults.will(echoing(rate={"combined_rate": "0.09000"}))
    assert refresh(excel).startswith(f"{places} places looked up again")
    assert excel.app.told[-2].startswith(f"{places} lookups for ")
    assert len(faults.seen) == places
    rates = [
        cell.value
        for sheet in excel.book.sheets
        for cell in sheet.cells.values()
        if cell.formula.startswith("=SVC_RATE(") and isinstance(cell.value, float)
    ]
    assert set(rates) == {0.09}


def test_hundreds_of_cells_are_refreshed_in_one_batch_without_reading_cell_by_cell(
    excel, rates, batches
):
    for row in range(1, 301):
        rates.cells[row, 1], rates.cells[row, 2] = Cell("TX"), Cell(float(75000 + row % 30))
        rates.cells[row, 3] = Cell(None, f'=SVC_RATE(A{row},B{row},"2026-02-01")')
    excel.app.CalculateFull()
    assert sum(batches) == 30  # in one or two, as the cells are computed
    del batches[:], excel.app.reads[:]
    assert refresh(excel).startswith("30 places looked up again: no change.")
    assert excel.app.told[-2].startswith("30 lookups for 300 cells.")
    assert batches == [30]  # the recalculation looks nothing up
    assert [name for name, _ in excel.app.reads].count("Formula") == 3


def test_a_refreshed_workbook_that_counts_from_1904_looks_up_what_has_no_date_cell(
    excel, rates, faults
):
    excel.book.Date1904 = True
    rates["D1"] = 46054.0
    rates["C3"] = "=SVC_RATE(A1,B1,D1)"
    refresh(excel)
    assert excel.app.told[-2].startswith("2 lookups for 2 cells.")
    assert rates["C3"].value.startswith("#INVALID orders.xlsm counts dates from 1904")


def test_a_day_that_is_left_out_is_today_in_a_refresh(excel, rates, faults):
    rates["C1"] = '=SVC_RATE(A1,B1,,"partial")'
    faults.seen.clear()
    refresh(excel)
    assert excel.app.told[-2].startswith("2 lookups for 2 cells.")
    assert sorted(zips_asked(faults)) == ["78701", "78702"]


def test_a_place_known_only_when_it_is_computed_is_said_and_looked_up_then(excel, rates, faults):
    rates["C3"] = '=SVC_RATE(A1,B3,"2026-02-01")'
    rates["C4"] = Cell(None, '=IF(LEFT(A1)="T",SVC_RATE(A1,B2,"2026-02-01"))')
    other = excel.app.book(Name="other.xlsx").add("Orders")
    other["A1"] = '=SVC_RATE("TX","78705","2026-02-01")'
    faults.seen.clear()
    faults.will(echoing(rate={"combined_rate": "0.09000"}))
    refresh(excel)
    assert excel.app.told[-2].startswith("2 lookups for 2 cells. The places of 1 cell ")
    assert other["A1"].value == 0.0825
    # what shows its ZIP only later uses nothing older, and another workbook's cells are left alone
    rates["D1"] = '=SVC_RATE("TX","78705","2026-02-01")'
    excel.app.CalculateFull()
    assert (rates["D1"].value, other["A1"].value) == (0.09, 0.09)
    assert sorted(zips_asked(faults)) == ["78701", "78702", "78705"]


def test_a_service_that_is_away_changes_no_cell(excel, rates, faults):
    faults.will(RESET)
    computed = excel.app.calculated
    assert refresh(excel).startswith("Nothing was refreshed, ")
    assert [rates["C1"].value, rates["C2"].value] == [0.0825, 0.0825]
    assert excel.app.calculated == computed
    excel.app.CalculateFull()
    assert [rates["C1"].value, rates["C2"].value] == [0.0825, 0.0825]


def test_where_excel_cannot_compute_now_the_keys_to_press_are_named(excel, rates, monkeypatch):
    def busy(_):
        raise ComError("busy")

    excel.app.CalculationState = 2
    assert "press F9" in excel.macro("SVC_REFRESH")  # what is shown may be of another place
    excel.app.CalculationState = 0
    monkeypatch.setattr(type(excel.app), "CalculateFull", busy)
    assert "Ctrl+Alt+F9" in refresh(excel)


def test_a_macro_that_fails_shows_no_internals(excel, rates, monkeypatch):
    def broken(_):
        raise ComError("internals of Excel")

    monkeypatch.setattr("svc_tools.excel.com.macros._shown", broken)
    assert refresh(excel) == "SVC_REFRESH could not be finished (ComError)."


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


def freeze(excel, *, pressed="yes"):
    """Run the macro and press a button; its last message."""
    excel.app.pressed = [pressed]
    return excel.macro("SVC_FREEZE")


def shown(sheet):
    return {key: (cell.value, cell.formula) for key, cell in sheet.cells.items() if cell.value}


def logged(excel):
    sheet = excel.book.sheet("SVC frozen")
    last = sheet.UsedRange.height
    rows = sheet.Range(f"A1:E{last}").Value2
    assert rows[0] == COLUMNS
    return [dict(zip(COLUMNS, row, strict=True)) for row in rows[1:]]


def test_formulas_become_their_values_and_the_log_has_their_source_and_date(excel, orders, faults):
    before = len(faults.seen)
    assert freeze(excel).startswith("Frozen: 4 cells on 1 sheet.")
    assert (orders["D2"].value, orders["D2"].formula) == (0.0825, "")
    assert (orders["E3"].value, orders["E3"].formula) == (0.41, "")
    assert orders["F2"].formula == "=SUM(C2:C3)"  # without an SVC function: as it was
    (line,) = logged(excel)
    assert (line["sheet"], line["range"]) == ("Orders", "D2:E3")
    assert line["source"]
    assert line["oldest result"].startswith("20")
    assert line["frozen at"].endswith("+00:00")
    assert excel.app.Calculation == -4105  # automatic, as it was
    assert len(faults.seen) == before  # nothing is requested


def test_the_selected_formulas_alone_are_frozen_and_each_freeze_adds_lines(excel, orders):
    other = excel.book.add("More")
    other["B2"] = '=SVC_RATE("TX","78701","2026-02-01")'
    excel.app.Selection = orders.Range("E1:E9")
    assert freeze(excel).startswith("Frozen: 2 cells")
    assert orders["D2"].formula
    assert not orders["E2"].formula
    excel.app.Selection = orders.Range("A1")
    freeze(excel)
    lines = [(line["sheet"], line["range"]) for line in logged(excel)]
    assert lines == [("Orders", "E2:E3"), ("Orders", "D2:D3"), ("More", "B2")]


def test_no_means_that_nothing_changes(excel, orders):
    before = shown(orders)
    assert freeze(excel, pressed="no") == "Nothing was changed."
    assert shown(orders) == before
    assert len(excel.book.sheets) == 1


@pytest.mark.parametrize("selected", ["a cell without", "a picture", "another workbook"])
def test_any_other_selection_means_the_whole_workbook(excel, orders, selected):
    other = excel.app.book(Name="other.xlsx").add("Orders")
    other["E2"] = Cell(1.0, '=SVC_RATE("TX","78701")')
    excel.app.Selection = {
        "a cell without": orders.Range("A1"),
        "a picture": object(),
        "another workbook": other.Range("E2"),
    }[selected]
    assert freeze(excel).startswith("Frozen: 4 cells")
    assert "of the whole workbook" in excel.app.told[0]
    assert other["E2"].formula


def test_errors_and_partial_rates_stay_formulas_and_are_listed(excel, orders, faults):
    faults.will(NOT_FOUND)
    orders["B5"], orders["D5"] = "'00501", '=SVC_RATE("TX",B5,"2026-02-01")'
    faults.will(echoing(warnings=[{"code": "local_rates_not_covered"}]))
    orders["B6"], orders["D6"] = "'78799", '=SVC_RATE("TX",B6,"2026-02-01")'
    orders["D7"] = Cell(-2146826246, "=1*SVC_RATE(A7,B7)")
    first, *listed = freeze(excel).splitlines()
    assert first.endswith("3 cells stay formulas:")
    assert [tuple(line.split()[:2]) for line in listed] == [
        ("Orders!D5:", "#UNRESOLVED"),
        ("Orders!D6:", "#PARTIAL"),
        ("Orders!D7:", "#N/A"),
    ]
    assert all(orders[cell].formula for cell in ("D5", "D6", "D7"))
    assert "3 formulas without a value will stay" in excel.app.told[0]


def test_a_text_that_looks_like_a_number_a_day_or_a_formula_stays_a_text(excel, orders):
    orders["D5"] = '=SVC_FIELD("resolved_zip","TX","02134","2026-02-01")'
    orders["D6"] = '=SVC_FIELD("lookup_as_of","TX","78701","2026-02-01")'
    orders["H1"] = "'=SVC_RATE(A2,B2)"
    assert freeze(excel).startswith("Frozen: 6 cells")
    values = [orders[at].value for at in ("D5", "D6", "H1")]
    assert values == ["02134", "2026-02-01", "=SVC_RATE(A2,B2)"]
    assert not orders["D5"].formula


def test_an_array_that_spills_keeps_every_cell(excel, orders):
    orders["H1"] = "=SVC_LOOKUP(A2:B3)"
    cells = {key: cell.value for key, cell in orders.cells.items() if cell.anchor}
    assert len(cells) > 2
    excel.app.Selection = orders.Range("H1")
    assert freeze(excel).startswith(f"Frozen: {len(cells)} cells")
    assert {key: orders.cells[key].value for key in cells if key in orders.cells} == {
        key: value for key, value in cells.items() if value != ""
    }
    assert not any(orders.cells[key].formula for key in cells if key in orders.cells)
    assert logged(excel)[0]["range"].startswith("H1:")


def test_a_fixed_array_formula_is_frozen_as_a_whole(excel, orders):
    excel.app.dynamic = False
    orders.put_array((10, 1), "=SVC_RATE(A2:A3,B2:B3)", (2, 1))
    values = [orders["A10"].value, orders["A11"].value]
    excel.app.Selection = orders.Range("A11")
    assert freeze(excel).startswith("Frozen: 2 cells")
    assert [orders["A10"].value, orders["A11"].value] == values
    assert not orders["A10"].formula
    assert not orders["A11"].formula


def test_what_cannot_be_frozen_is_left_with_the_reason(excel, orders):
    before = shown(orders)
    orders.protected = True
    assert "the sheet is protected" in freeze(excel)
    orders.protected = False
    excel.app.CalculationState = 2
    assert "press F9" in freeze(excel)
    excel.app.CalculationState = 0
    excel.book.add("SVC frozen")["A1"] = "my own notes"
    assert 'The sheet "SVC frozen" has other headings' in freeze(excel)
    assert shown(orders) == before


def test_a_freeze_that_stops_halfway_loses_nothing_and_can_go_on(excel, orders):
    """Excel may end at any moment: each cell shows by then what it showed before."""
    before = {key: value for key, (value, _) in shown(orders).items()}
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
    assert len(logged(excel)) == 1
    assert {key: value for key, (value, _) in shown(orders).items()} == before
    assert excel.app.Calculation == -4105  # automatic, as it was
    excel.app.on_write = None
    assert excel.macro("SVC_FREEZE").startswith("Frozen: 2 cells")
    assert {key: value for key, (value, _) in shown(orders).items()} == before


def test_the_screen_is_updated_again_even_where_excel_refuses_its_calculation_mode(
    excel, orders, monkeypatch
):
    def refuse(app, name, value):
        if (name, value) == ("Calculation", -4105):
            raise ComError("Excel is busy")
        object.__setattr__(app, name, value)

    monkeypatch.setattr(type(excel.app), "__setattr__", refuse)
    excel.app.pressed = ["yes"]
    excel.macro("SVC_FREEZE")
    assert excel.app.ScreenUpdating is True


def test_a_cell_that_cannot_take_its_value_keeps_its_formula(excel, orders):
    def refuses(sheet, key):
        if sheet is orders and key == (2, 5):
            raise ComError("no")

    excel.app.on_write = refuses
    orders["E3"].style = "text"  # after the formula was typed: a total would miss a text
    result = freeze(excel)
    assert result.startswith("Frozen: 2 cells")
    assert "Orders!E2: Excel refused it" in result
    assert "Orders!E3: the cell is formatted as text" in result
    assert [orders[at].value for at in ("E2", "E3")] == [1.65, 0.41]
    assert orders["E2"].formula
    assert orders["E3"].formula


def test_a_workbook_without_svc_functions_has_nothing_to_freeze(excel):
    excel.book.add("Other")["A1"] = 1.0
    assert excel.macro("SVC_FREEZE").startswith("No formula of the workbook has an SVC function.")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("workbook") / "orders.xlsm"
    return write_workbook(path, example=True, as_of=date(2026, 2, 1))[0]


@pytest.fixture
def book(excel, file, faults, monkeypatch):
    """The workbook, over a service with rates and records."""
    service = Nexus(faults, [RECORDS[0], RECORDS[2]])
    faults.will(lambda seen: service(seen) if "nexus" in seen.target else echo(seen))
    loaded(excel.book, file)
    return excel.book


def shown_by_sheet(book):
    return {
        (sheet.Name, key): (cell.value, cell.formula)
        for sheet in book.sheets
        for key, cell in sheet.cells.items()
        if sheet.Name != "SVC frozen" and cell.value not in {None, ""}
    }


def test_the_whole_workbook_is_frozen_to_what_it_showed(excel, book, batches):
    for _ in range(2):  # totals stand above what they add up
        excel.app.CalculateFull()
    # one for the cells of the sheet Lookup, one for the whole table
    assert max(batches) > 3
    assert len(batches) <= 4
    before = shown_by_sheet(book)
    taxes = [value for value, formula in before.values() if formula.startswith("=SVC_TAX(")]
    assert sum(isinstance(one, float) for one in taxes) > 3
    assert freeze(excel).startswith("Frozen: ")
    after = shown_by_sheet(book)
    assert {key: value for key, (value, _) in after.items()} == {
        key: value for key, (value, _) in before.items()
    }
    rates = [key for key, (_, formula) in before.items() if formula.startswith("=SVC_RATE(")]
    assert rates
    assert all(after[key][1] == "" for key in rates)


def test_the_macros_find_their_place_on_the_sheet_of_the_register(excel, book):
    excel.app.CalculateFull()
    sheet, result = book.sheet(NEXUS), excel.macro("SVC_NEXUS_LIST")
    assert result.startswith("2 records")
    assert sheet["A12"].value == result
    headings = [sheet.cells[14, column].value for column in range(1, 16)]
    assert tuple(headings) == NEXUS_COLUMNS + NEXUS_MARKS
    assert [sheet.cells[row, 2].value for row in (15, 16)] == ["DE", "TX"]
    assert sheet["Q15"].value == "DE"  # the register as the formula lists it, untouched
    sheet["A15"] = "x"
    assert "DELETE /v1/portability/nexus/DE?nexus_type=economic" in excel.macro("SVC_NEXUS_PREVIEW")
