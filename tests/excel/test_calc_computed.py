"""A real LibreOffice Calc computes formulas of the installed add-in, against a real server."""

from __future__ import annotations

import json
import re
import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from openpyxl import load_workbook
from support.spreadsheets import desk_of, local_server

from svc_tools.excel.calc import calc_name
from svc_tools.excel.officejs import app
from svc_tools.excel.values import FIRST_DAY
from svc_tools.excel.workbook import write_example

NOT_AVAILABLE, BAD_VALUE = {"error": "#N/A"}, {"error": "#VALUE!"}
DAY = '"2026-03-05"'
SHIPPED = Path(__file__).parents[2] / "excel"
XLSX = "Calc MS Excel 2007 XML"


@pytest.fixture
def counted(client, monkeypatch, server_file):
    """The server of Calc is one of this process, over a new desk; what each request asks."""
    desk = desk_of(client)
    requests = []

    def evaluate(asked, calls, **more):
        requests.append(len(calls))
        return real(asked, calls, **more)

    real = app.evaluate
    monkeypatch.setattr(app, "evaluate", evaluate)
    before = server_file.read_bytes()
    with local_server(desk) as server:
        publish(server_file, server)
        yield desk, requests
    server_file.write_bytes(before)


def publish(server_file, server):
    server_file.write_text(json.dumps({"url": server.origin, "token": server.token}))


def test_what_is_missing_or_wrong_never_looks_like_a_rate(calc):
    cells = {"A2": '=""', "A4": "=1/0", "A5": "=NA()"}
    shown = calc.formulas(
        f'=SVC_RATE("TX";A1;{DAY})',  # an empty cell
        f'=SVC_RATE("TX";A2;{DAY})',
        '=SVC_RATE_GEO("TX";A1;A1)',
        "=SVC_TAX(A1;A1;A1;A1)",
        '=SVC_RATE("CA";94105;A1)',  # a day that is an empty cell
        '=SVC_TAX(12.5;"CA";A1)',
        '=SVC_TAX(12.345;"CA";94105)',
        '=SVC_RATE("CA";"none")',
        '=SVC_RATE("CA";94105;"03/04/2026")',
        "=SVC_RATE()",
        f'=SVC_RATE("CA";98101;{DAY})',  # of another state
        f'=SVC_RATE("LA";70112;{DAY})',
        f'=SVC_RATE("LA";70112;{DAY};"partial")>0',
        '=SVC_RATE("TX";A4)',
        '=SVC_RATE("TX";A5)',
        cells=cells,
    )
    assert shown[:4] == ["", "", "", ""]
    assert shown[4:10] == [BAD_VALUE] * 6
    assert shown[10:13] == [NOT_AVAILABLE, "#PARTIAL", 1.0]
    assert shown[13:] == [{"error": "#DIV/0!"}, NOT_AVAILABLE]


def test_errors_are_caught_and_words_are_branched_on(calc):
    shown = calc.formulas(
        f'=IFERROR(SVC_RATE("CA";98101;{DAY});"caught")',
        '=IFERROR(SVC_RATE("CA";"none");"caught")',
        f'=ISNA(SVC_RATE("CA";98101;{DAY}))',
        '=ISNA(SVC_RATE("CA";"none"))',
        f'=IF(SVC_STATUS("LA";70112;{DAY})="partial";"look";"fine")',
        f'=SVC_STATUS("CA";94105;{DAY})="ok"',
        f'=LEFT(SVC_WARNINGS("CA";98101;{DAY});29)',
        '=SVC_NEXUS_STATUS("TX")',
        f'=SVC_FIELD("resolved_city";"CA";94105;{DAY})',
        "=LEFT(SVC_SOURCE();16)",
    )
    assert shown[:4] == ["caught", "caught", 1.0, 0.0]
    assert shown[4:6] == ["look", 1.0]
    assert shown[6] == "ZIP 98101 is not in California"[:29]
    assert shown[7:] == ["not registered", "San Francisco", "embedded service"]


def test_sums_are_exact_and_refuse_what_sum_passes_over(calc):
    cells = {"A1": 0.1, "A2": 0.2, "B1": 5, "B2": "#PARTIAL", "C1": 5, "C2": "=NA()", "D1": "7"}
    formulas = (
        "=SVC_SUM(A1:A9)=0.3",
        "=ISERROR(SVC_SUM(B1:B2))",
        "=ISERROR(SVC_SUM(C1:C2))",
        "=ISERROR(SVC_SUM(D1:D2))",
        "=SUM(B1:B2)",
    )
    assert calc.formulas(*formulas, cells=cells) == [1.0, 1.0, 1.0, 1.0, 5.0]


def test_ranges_give_a_cell_each_with_errors_where_they_belong(calc):
    cells = {"A1": "CA", "B1": 94105, "A2": "CA", "B2": 98101, "A3": "CA", "B3": "none"}
    cells |= {"A4": "", "A5": "LA", "B5": 70112, "A6": "OR", "B6": 97201}
    calc.do("open")
    calc.do("fill", cells=cells)
    arrays = {
        "D1:D6": f"{{=SVC_RATE(A1:A6;B1:B6;{DAY})}}",
        "E1:E6": f'{{=IFERROR(SVC_RATE(A1:A6;B1:B6;{DAY});"caught")}}',
        "F1:G4": '{=SVC_LOOKUP(A1:B2;"combined_rate, resolved_city";TRUE())}',
        "H1:L3": "{=SVC_NEXUS()}",
        "M1:M6": f'{{=SVC_STATUS(A1:A6;B1:B6;{DAY})&""}}',
    }
    calc.do("fill", cells=arrays)
    rates = [one[0] for one in calc.do("block", address="D1:D6")]
    assert rates == ["0.08625", "#N/A", "#VALUE!", "", "#PARTIAL", "0"]
    caught = [one[0] for one in calc.do("block", address="E1:E6")]
    assert caught == ["0.08625", "caught", "caught", "", "#PARTIAL", "0"]
    headings, first, second, below = calc.do("block", address="F1:G4")
    assert headings == ["combined_rate", "resolved_city"]
    assert first[1] == "San Francisco"
    assert second[0] == "#N/A"
    assert below == ["", ""]
    register = calc.do("block", address="H1:L3")
    assert register[0][:2] == ["state", "nexus_type"]
    assert register[1] == register[2] == [""] * 5  # one row is not repeated
    calc.do("fill", cells={"N1": '=COUNTIF(M1:M6;"ok")+COUNTIF(M1:M6;"review")'})
    assert calc.do("shown", addresses=["N1"]) == [2.0]


def test_an_error_in_a_range_is_passed_on_as_its_text(calc):
    cells = {"A1": 94105, "A2": "=1/0", "B1": '=ISERROR(SVC_RATE("CA";A1:A2))'}
    cells |= {"C1:C2": f'{{=SVC_RATE("CA";IFERROR(A1:A2;"#DIV/0!");{DAY})}}'}
    shown = calc.sheet(cells, ["B1", "C1", "C2"])
    assert shown == [1.0, 0.08625, NOT_AVAILABLE]


def test_the_example_workbook_is_computed_whole(calc, calc_folder):
    example = write_example(calc_folder / "example.xlsx", calc_name)
    assert calc.do("open", url=example.as_uri()) == ["Start", "Lookup", "Orders", "Nexus"]
    calc.do("calculate")
    orders = {row[0]: row for row in calc.do("block", address="A9:J20", sheet=2)}
    assert orders["EX-1001"][5:9] == ["8.625%", "106.95", "ok", "high"]
    assert orders["EX-1007"][6] == "0.25"
    assert orders["EX-1008"][5:7] == ["0.000%", "0.00"]
    assert orders["EX-1010"][6] == "-3.60"
    assert [one.strip() for one in orders["EX-1011"][5:8]] == ["#PARTIAL", "#PARTIAL", "partial"]
    assert orders["EX-1012"][5:8] == ["#N/A", "#N/A", "unresolved"]
    total, without, partial = calc.do("shown", addresses=["G5", "H5", "I5"], sheet=2)
    assert total == NOT_AVAILABLE  # never Err:504; the sentence says how many lines have no tax
    assert (without, partial) == (2.0, 1.0)
    assert calc.do("shown", addresses=["A6"], sheet=2)[0].startswith("2 lines have no tax")
    calc.do("fill", cells={"E9": "=1/0"}, sheet=2)
    calc.do("calculate")
    amount, total, without = calc.do("shown", addresses=["E5", "G5", "H5"], sheet=2)
    assert (amount, total, without) == (NOT_AVAILABLE, NOT_AVAILABLE, 3.0)
    below = calc.do("block", address="F21:J28", sheet=2)
    assert not [cell for row in below for cell in row if cell.strip()]
    shown = [cell for row in calc.do("block", address="B9:E26", sheet=1) for cell in row]
    assert "8.875%" in calc.do("block", address="A9:A9", sheet=1)[0]
    assert "New York County" in shown
    assert "#NAME?" not in shown
    calc.do("save", url=(calc_folder / "saved.xlsx").as_uri(), kind=XLSX)
    with zipfile.ZipFile(calc_folder / "saved.xlsx") as saved:
        assert "SVC.TOOLS.SVC_RATE(" in saved.read("xl/worksheets/sheet3.xml").decode()


def test_the_values_in_the_shipped_file_are_those_that_the_add_in_computes(calc, calc_folder):
    path = calc_folder / "shipped.xlsx"
    path.write_bytes((SHIPPED / "sales-tax-calc.xlsx").read_bytes())
    stored, book = (load_workbook(path, data_only=one) for one in (True, False))
    calc.do("open", url=path.as_uri())
    kept = in_cells(calc, book)
    calc.do("calculate")
    computed = in_cells(calc, book)
    assert len(computed) > 150
    for where, shown in computed.items():
        sheet, at = where
        if sheet != "Nexus":  # the register of an account, which no file knows
            value = as_calc_shows(stored[sheet][at].value)
            assert kept[where] == value, where  # opened, and not yet computed
            assert of_any_moment(shown) == of_any_moment(value), where


def in_cells(calc, book):
    """What the cells with formulas show, by sheet and address."""
    found = {}
    for number, sheet in enumerate(book):
        cells = (cell for row in sheet.iter_rows() for cell in row if cell.data_type == "f")
        addresses = [cell.coordinate for cell in cells]
        shown = calc.do("shown", addresses=addresses, sheet=number)
        shown = [one.strip() if isinstance(one, str) else one for one in shown]
        found |= {(sheet.title, at): one for at, one in zip(addresses, shown, strict=True)}
    return found


def as_calc_shows(value):
    if isinstance(value, datetime):
        return float((value.date() - FIRST_DAY).days)
    if value in {"#N/A", "#VALUE!"}:
        return {"error": value}
    return "" if value is None else float(value) if isinstance(value, int) else value


def of_any_moment(value):
    return re.sub(r"\d{4}-.*T.*Z|req_\w+", "", value) if isinstance(value, str) else value


def test_5000_formulas_of_500_places_are_two_requests_and_500_lookups(calc, counted):
    desk, requests = counted
    zips = [f"{zip_code:05}" for zip_code in range(10001, 10501)]
    calc.do("open")
    calc.do("fill_rows", address="A1:A5000", rows=[[f"'{zips[at % 500]}"] for at in range(5000)])
    formulas = [[f'=SVC_RATE("NY";A{at + 1};{DAY})'] for at in range(5000)]
    calc.do("fill_rows", address="B1:B5000", rows=formulas)
    shown = calc.do("column", address="B1:B5000")
    assert len(requests) <= 2  # the first begins a burst, unless one is under way
    assert sum(requests) == 500
    assert desk.cached == 500
    assert shown[:500] * 10 == shown
    assert shown[0] == 0.08875
    calc.do("calculate")
    assert desk.cached == 500


def test_arguments_of_every_kind_are_foreseen_as_calc_hands_them_over(calc, counted):
    _, requests = counted
    calc.do("open")
    calc.do("insert", sheet="Other's; sheet", names={"DAY": "$Sheet1.$H$1"})
    cells = {"A1": "NY", "A2": "10001", "A3": 2134, "H1": "=46143", "B1": "MA", "C1": 12.5}
    calc.do("fill", cells={"A1": "10003", "A2": "NY"}, sheet=1)
    calc.do("fill", cells=cells | {"H1": 46143})
    formulas = [
        "=SVC_RATE(A1;A2;DAY)",
        "=IFERROR(ROUND(SVC_RATE($A$1;$A2;$H$1)*100;2);0)",
        '=SVC_RATE("MA";A3;"2026-03-05";)',
        "=SVC_RATE($B1;A3;DAY)",
        "=SVC_RATE($'Other''s; sheet'.A2;$'Other''s; sheet'.A1;H1)",
        "=SVC_TAX(C1;B1;A3;DAY)+SVC_TAX(D1;B1;A3;DAY)",
        "=SVC_TAX(D1;D2;D3;DAY)",
        '=SVC_RATE_GEO("NY";40.7128;-74.006;DAY)',
        '=SVC_RATE("NY";10004;A9)',
        '=SVC_FIELD("resolved_city";A1;A2;DAY)&SVC_STATUS(A1;A2;DAY)',
    ]
    calc.do("fill_rows", address="J1:J10", rows=[[one] for one in formulas])
    calc.do("shown", addresses=["J1", "J10"])
    assert len(requests) <= 2, requests


def test_dates_of_a_document_that_counts_from_1904_are_refused_with_what_to_do(calc):
    calc.do("open")
    calc.do("count_from", year=1904, month=1, day=1)
    cells = {"A1": "=DATE(2026;3;5)", "B1": "CA", "B2": 94105, "E1": "CA", "F1": 94105}
    cells |= {"G1": "=A1", "C1": '=SVC_FIELD("combined_rate";B1;B2;A1)'}
    cells |= {"C2": '=SVC_LOOKUP(E1:G1;"combined_rate")', "C3": "=SVC_RATE(B1;B2;A1)"}
    cells |= {"C4": "=SVC_STATUS(B1;B2;A1)", "C5": "=SVC_WARNINGS(B1;B2;A1)"}
    cells |= {"C6": '=SVC_RATE(B1;B2;"2026-03-05")'}
    calc.do("fill", cells=cells)
    *refused, status, why, text = calc.do("shown", addresses=["C1", "C2", "C3", "C4", "C5", "C6"])
    assert all("error" in one for one in refused)
    assert status == "invalid"
    assert "counts dates from 1904; turn that off" in why
    assert text == 0.08625  # a text means the same day in every workbook


def test_a_call_that_a_condition_holds_back_is_not_looked_up(calc, counted):
    desk, requests = counted
    calc.do("open")
    calc.do("fill", cells={"A1": "10001", "A2": "10003", "A3": "10004", "B2": 1, "B3": 0})
    formulas = [
        f'=SVC_RATE("NY";A1;{DAY})',
        f'=SVC_STATUS("NY";A1;{DAY})',
        f'=IF(B2="";"";SVC_RATE("NY";A2;{DAY}))',
        f'=IF(B3<>"";SVC_RATE("NY";A3;{DAY});"")',
        f'=IF(B1="";"";SVC_RATE("NY";"10005";{DAY}))',
        f'=IF(B2>5;SVC_RATE("NY";"10006";{DAY});"off")',
        f'=IFERROR(1;SVC_RATE("NY";"10007";{DAY}))',
        f'=IF(B2<5;SVC_RATE("NY";"10009";{DAY});"off")',
    ]
    calc.do("fill_rows", address="J1:J8", rows=[[one] for one in formulas])
    shown = [row[0] for row in calc.do("block", address="J1:J8")]
    assert shown.pop(1) in {"ok", "review"}
    assert shown == ["0.08875", "0.08875", "0.08875", "", "off", "1", "0.08875"]
    assert sum(requests) == 5
    assert desk.cached == 4


def test_a_cell_that_is_a_formula_is_not_foreseen(calc, counted):
    _, requests = counted
    calc.do("open")
    calc.do("fill", cells={"A1": '="100"&"01"', "A2": '="100"&"03"', "A3": '="100"&"04"'})
    rows = [[f'=SVC_RATE("NY";A{at};{DAY})'] for at in (1, 2, 3)]
    calc.do("fill_rows", address="B1:B3", rows=rows)
    assert calc.do("block", address="B1:B3") == [["0.08875"]] * 3
    assert requests == [1, 1, 1]


def test_the_menu_looks_up_again_and_only_then_figures_change(calc, counted, monkeypatch):
    desk, _ = counted
    rates, refreshed = [0.1], []
    monkeypatch.setattr(app, "evaluate", lambda _, calls, **__: rates[-1:] * len(calls))
    assert calc.formulas('=SVC_RATE("NY";"10001")') == [0.1]
    rates.append(0.2)
    calc.do("calculate")
    assert calc.do("shown", addresses=["J1"]) == [0.1]
    whole = desk.refresh
    monkeypatch.setattr(
        desk, "refresh", lambda places: refreshed.append(len(places)) or whole(places)
    )
    calc.do("choose", entry="refresh")
    assert refreshed == [1]
    assert calc.do("shown", addresses=["J1"]) == [0.2]
    calc.do("choose", entry="status")


def test_a_server_that_is_gone_shows_no_figure_and_one_on_another_port_is_found(
    calc, client, server_file
):
    before = server_file.read_bytes()
    formula = f'=SVC_RATE("NY";"10001";{DAY})'
    try:
        with local_server(desk_of(client)) as server:
            publish(server_file, server)
            assert calc.formulas(formula) == [0.08875]
        server_file.write_text(server_file.read_text() + " ")  # as a server does that ends
        assert calc.formulas(formula) == [NOT_AVAILABLE]
        calc.do("choose", entry="refresh")  # it says so where somebody looks, and nothing breaks
        with local_server(desk_of(client)) as server:
            publish(server_file, server)
            calc.do("calculate")
            assert calc.do("shown", addresses=["J1"]) == [0.08875]
    finally:
        server_file.write_bytes(before)
