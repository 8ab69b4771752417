"""A real LibreOffice Calc computes formulas of the installed add-in, against a real server."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import shutil
import venv
import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from openpyxl import Workbook, load_workbook
from openpyxl.worksheet.formula import ArrayFormula
from openpyxl.worksheet.table import Table
from support.command import svc_tools
from support.spreadsheets import NOON, desk_of, local_server
from support.tools import convert

from benchmarks.tools import clean_environment
from svc_tools.excel.calc import calc_name
from svc_tools.excel.desk import RefreshReport
from svc_tools.excel.officejs import app
from svc_tools.excel.values import FIRST_DAY
from svc_tools.excel.workbook import write_example

NOT_AVAILABLE, BAD_VALUE = {"error": "#N/A"}, {"error": "#VALUE!"}
pytestmark = pytest.mark.timeout(300)  # LibreOffice starts, and `convert` may take 180 s

OFFLINE = "#OFFLINE"
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


@contextlib.contextmanager
def stopped(server_file):
    """The local server, as one that was stopped."""
    before = server_file.read_bytes()
    server_file.write_text(json.dumps(json.loads(before) | {"pid": None}))
    try:
        yield
    finally:
        server_file.write_bytes(before)


LINE_OF_EXAMPLE = ["EX-1001", "2026-03-05", "CA", "94105", "1,240.00"]
LINES = {
    1: ("CA", 94105),
    2: ("CA", 98101),
    3: ("OR", 97201),
    4: ("", ""),
    5: ("NY", '="100"&"01"'),
}
SHEET = {"J1": "2026-03-05", "G1": "=SUM(D1:D5)", "G2": "=ROUND(100*C1;3)", "G3": "=SUM(D1;D5)"}
SHEET["G4"] = "=100*SVC_RATE(A5;B5;$J$1)"  # the value of a cell is not that of the call in it
for row, (state, zip_code) in LINES.items():
    SHEET |= {f"A{row}": state, f"B{row}": zip_code, f"C{row}": f"=SVC_RATE(A{row};B{row};$J$1)"}
    SHEET[f"D{row}"] = f'=IF(A{row}="";"";SVC_TAX(100;A{row};B{row};$J$1))'
    SHEET[f"E{row}"] = f"=SVC_STATUS(A{row};B{row};$J$1)"
SHOWN = [f"{column}{row}" for row in LINES for column in "CDE"] + ["G1", "G2", "G3", "G4"]
VALUES = {"C1": 0.08625, "D1": 8.63, "C2": NOT_AVAILABLE, "D2": NOT_AVAILABLE, "E2": "unresolved"}
VALUES |= {"C3": 0.0, "D3": 0.0, "C4": "", "D4": "", "E4": "", "C5": 0.08875, "D5": 8.88}
VALUES |= {"G1": NOT_AVAILABLE, "G2": 8.625, "G3": 17.51, "G4": 8.875}
"""Line 4 is empty: nothing is looked up there."""


FALSE_CELLS = [
    *(False, "=FALSE()", "=B2>9", '=IF(B2>9;"TX")', "=NOT(AND(B2>4;B1>1))"),
    *("", '=IF(B2>9;"TX";"")', '=IF(B2<9;"CA")'),
]
"""States, as typed; the ZIP in B1 lies in California, and B2 holds 5."""


def shown_of(calc):
    return dict(zip(SHOWN, calc.do("shown", addresses=SHOWN), strict=True))


@pytest.fixture(scope="module")
def saved(calc, calc_folder):
    """A sheet that was computed with the server, as files."""
    calc.do("open")
    calc.do("fill", cells=SHEET)
    assert VALUES.items() <= shown_of(calc).items()
    paths = {}
    for kind, name in (("calc8", "saved.ods"), (XLSX, "saved.xlsx")):
        paths[name] = calc_folder / name
        calc.do("save", url=paths[name].as_uri(), kind=kind)
    return paths


@pytest.mark.parametrize("name", ["saved.ods", "saved.xlsx"])
def test_a_file_opened_without_the_server_shows_what_it_showed_before(
    calc, saved, server_file, name
):
    with stopped(server_file):
        calc.do("open", url=saved[name].as_uri())
        shown = shown_of(calc)
    # Calc computes an .ods when it opens it: the value of an error is 0 then, as that of Oregon
    lost = {"C3": OFFLINE, "D3": NOT_AVAILABLE} if name == "saved.ods" else {}
    assert VALUES | lost | {"C2": OFFLINE} == {at: shown[at] for at in VALUES}


def test_the_shipped_workbook_opened_without_the_server_shows_its_rates(
    calc, server_file, tmp_path
):
    copied = shutil.copy(SHIPPED / "sales-tax-calc.xlsx", tmp_path)
    with stopped(server_file):
        calc.do("open", url=Path(copied).as_uri())
        first, *_ = calc.do("block", address="A9:I9", sheet=2)
        total, without = calc.do("shown", addresses=["G5", "H5"], sheet=2)
        register = calc.do("block", address="A12:E14", sheet=3)
    assert first == [*LINE_OF_EXAMPLE, "8.625%", "106.95", "ok", "high"]
    assert (total, without) == (NOT_AVAILABLE, 2.0)
    assert register == [[OFFLINE, *[""] * 4], [""] * 5, [""] * 5]


def test_the_shipped_workbook_saved_as_ods_shows_its_rates_without_the_server(
    calc, server_file, tmp_path
):
    calc.do("open", url=Path(shutil.copy(SHIPPED / "sales-tax-calc.xlsx", tmp_path)).as_uri())
    calc.do("calculate")
    saved = tmp_path / "saved.ods"
    calc.do("save", url=saved.as_uri(), kind="calc8")
    with stopped(server_file):
        calc.do("open", url=saved.as_uri())
        first, *_ = calc.do("block", address="A9:I9", sheet=2)
    assert first == [*LINE_OF_EXAMPLE, "8.625%", "106.95", "ok", "high"]


@pytest.mark.parametrize("name", ["saved.ods", "saved.xlsx"])
def test_what_is_computed_without_the_server_says_so_until_it_is_back(
    calc, saved, server_file, name
):
    with stopped(server_file):
        calc.do("open", url=saved[name].as_uri())
        calc.do("fill", cells={"B1": 90012})  # never the rate of the ZIP before
        shown = shown_of(calc)
        assert (shown["C1"], shown["D1"], shown["E1"]) == (OFFLINE, NOT_AVAILABLE, OFFLINE)
        assert (shown["G2"], shown["G3"]) == (BAD_VALUE, NOT_AVAILABLE)  # no sum passes over it
        assert shown["D5"] == 8.88
        calc.do("calculate")
        shown = shown_of(calc)
        assert [shown[f"C{row}"] for row in LINES] == [OFFLINE] * 3 + ["", OFFLINE]
        assert shown["D5"] == shown["G3"] == NOT_AVAILABLE
        assert calc.formulas("=SVC_SUM({1;2})", "=SVC_NEXUS()") == [NOT_AVAILABLE, OFFLINE]
        calc.do(
            "fill", cells={"A1:C4": "{=SVC_NEXUS()}", "E1:E2": f'{{=SVC_RATE("CA";H1:H2;{DAY})}}'}
        )
        assert calc.do("block", address="A1:C2") == [[OFFLINE, "", ""], [""] * 3]
        assert calc.do("column", address="E1:E2") == [OFFLINE] * 2
        calc.do("open", url=saved["saved.ods"].as_uri())
        calc.do("calculate")
    calc.do("calculate")
    assert VALUES.items() <= shown_of(calc).items()
    refused = calc.formulas("=SVC_SUM(A1:A2)", cells={"A1": 5, "A2": OFFLINE})
    assert "error" in refused[0]


def test_a_file_opened_without_the_extension_keeps_its_values_as_xlsx(saved, tmp_path):
    convert(tmp_path, "csv", saved["saved.xlsx"], env=clean_environment(HOME=str(tmp_path)))
    first = (tmp_path / "saved.csv").read_text().splitlines()[0].split(",")
    assert first[2:5] == ["0.08625", "8.63", "ok"]


def test_calc_addin_has_the_command_that_starts_calc_where_an_environment_is_active(
    calc_folder, saved, server_file, tmp_path
):
    venv.create(tmp_path / "venv", symlinks=True)
    active = clean_environment(
        HOME=str(tmp_path), SVC_EXCEL=str(server_file.parent), VIRTUAL_ENV=str(tmp_path / "venv")
    )
    active["PATH"] = f"{tmp_path / 'venv' / 'bin'}:{active['PATH']}"
    told = svc_tools("excel", "calc-addin", "x.oxt", folder=tmp_path, VIRTUAL_ENV="/anywhere")
    command = shlex.split(told.stdout.splitlines()[-1])
    extension = f"-env:UNO_SHARED_PACKAGES_CACHE={(calc_folder / 'shared').as_uri()}"
    path = saved["saved.ods"]
    convert(tmp_path, "csv", path, command=command, options=[extension], env=active)
    assert (tmp_path / "saved.csv").read_text().startswith("CA,94105,0.08625,8.63,ok")


def test_what_is_missing_never_looks_like_a_rate(calc):
    shown = calc.formulas(
        '=SVC_RATE_GEO("TX";A1;A1)',  # an empty cell
        "=SVC_TAX(A1;A1;A1;A1)",
        '=SVC_RATE("CA";94105;A1)',
        '=SVC_TAX(12.5;"CA";A1)',
        "=SVC_RATE()",
    )
    assert shown == ["", "", *[BAD_VALUE] * 3]


def test_errors_are_caught_and_words_are_branched_on(calc):
    shown = calc.formulas(
        f'=IFERROR(SVC_RATE("CA";98101;{DAY});"caught")',
        '=IFERROR(SVC_RATE("CA";"none");"caught")',
        f'=ISNA(SVC_RATE("CA";98101;{DAY}))',
        '=ISNA(SVC_RATE("CA";"none"))',
        f'=IF(SVC_STATUS("LA";70601;{DAY})="partial";"look";"fine")',
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


def test_ranges_give_a_cell_each_with_errors_where_they_belong(calc):
    cells = {"A1": "CA", "B1": 94105, "A2": "CA", "B2": 98101, "A3": "CA", "B3": "none"}
    cells |= {"A4": "", "A5": "LA", "B5": 70601, "A6": "OR", "B6": 97201}
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


def test_a_cell_that_is_false_is_no_empty_cell_however_it_came_to_be_false(calc):
    calc.do("open")
    calc.do("fill", cells={f"A{row}": one for row, one in enumerate(FALSE_CELLS, 1)})
    calc.do("fill", cells={"B1": 94105, "B2": 5})
    days = [f'"2026-03-{at + 1:02}"' for at in range(len(FALSE_CELLS))]
    calc.do(
        "fill_rows",
        address="C1:C8",
        rows=[[f"=SVC_STATUS(A{at};B$1;{day})"] for at, day in enumerate(days, 1)],
    )
    shown = calc.do("column", address="C1:C8")
    assert shown == ["invalid"] * 5 + ["ok"] * 3  # the others are empty, empty, and California
    calc.do("fill", cells={"A1": "", "A7": "=FALSE()"})
    assert calc.do("shown", addresses=["C1", "C7"]) == ["ok", "invalid"]
    calc.do("fill", cells={"D1": f"=SVC_WARNINGS(FALSE();B1;{days[0]})", "D2": "=SVC_SUM(TRUE())"})
    why, total = calc.do("shown", addresses=["D1", "D2"])
    assert why.startswith("state: the cell holds FALSE")
    assert total == BAD_VALUE


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
    assert calc.do("shown", addresses=["A6"], sheet=2)[0].startswith("3 lines have no tax")
    calc.do("fill", cells={"E8": ""}, sheet=2)
    assert calc.do("shown", addresses=["H5"], sheet=2) == [3.0]  # also without the heading
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
    calc.do("fill", cells={"E9": 1240.5}, sheet=2)  # with the empty lines not computed yet
    assert calc.do("shown", addresses=["G9", "H5"], sheet=2) == [106.99, 2.0]
    calc.do("fill", cells={"E9": 1240}, sheet=2)
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
    if isinstance(value, str):
        return value.strip()
    return "" if value is None else float(value)


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
    name, _, todo = why.partition(" counts dates from 1904; turn that off")
    assert todo
    assert name not in {"", "This workbook"}  # the document's own
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


def in_use(calc):
    """A spreadsheet on the screen: three cells with four places, and one in doubt."""
    calc.do("open", hidden=False)
    cells = {"A1": "10001", "A2": "10003", "A3": '="100"&"04"', "A4": "=NA()", "C1": "off"}
    cells |= {
        "B1": f'=SVC_RATE("NY";A1;{DAY})',
        "B2": f'=SVC_STATUS("NY";A2;{DAY})&SVC_RATE("NY";A1)',
    }
    cells |= {"B3": f'=SVC_RATE("NY";A3;{DAY})', "B4": f'=SVC_RATE("NY";A4;{DAY})'}
    cells |= {"B5": f'=IF(C1="on";SVC_RATE("NY";"10005";{DAY});"off")'}
    cells |= {"B6": f'=IF(LEN(C1)=3;SVC_RATE("NY";"10006";{DAY});"off")'}
    cells |= {"B7": "=SVC.TOOLS.SVC_NEW(A1)"}  # of a later release
    calc.do("fill", cells=cells)
    return calc.do("column", address="B1:B6")


def test_refresh_says_how_many_lookups_from_how_many_cells_and_sends_none_if_declined(
    calc, counted, batches
):
    _, requests = counted
    before = in_use(calc)
    del batches[:], requests[:]
    (question,) = calc.do("choose", entry="refresh", press=["cancel"])
    assert "4 lookups for 3 cells" in question  # 10001 for the day, and for today
    assert "1 cell" in question.partition("3 cells")[2]
    assert batches == requests == []
    assert calc.do("column", address="B1:B6") == before
    *_, report = calc.do("choose", entry="refresh", press=["ok", "ok"])
    assert batches == [4, 1]  # in one run, and the one in doubt when it was computed
    assert "4 places" in report
    assert calc.do("column", address="B1:B6") == before


def test_a_refresh_counts_the_rows_of_a_table_with_its_headings(calc, counted, tmp_path):
    book = Workbook()
    for row in (["State", "ZIP", "Date"], ["NY", "10001", DAY[1:-1]], ["NY", "10003", DAY[1:-1]]):
        book.active.append(row)
    book.active.add_table(Table(displayName="Lines", ref="A1:C3"))
    formula = '=SVC.TOOLS.SVC_LOOKUP(Lines[#All],"combined_rate",TRUE)'
    book.active["E1"] = ArrayFormula("E1:E3", formula)
    book.save(tmp_path / "table.xlsx")
    calc.do("open", url=(tmp_path / "table.xlsx").as_uri(), hidden=False)
    (question,) = calc.do("choose", entry="refresh", press=["cancel"])
    assert "2 lookups for " in question


def test_after_a_refresh_no_cell_shows_an_older_result(calc, counted, monkeypatch):
    since = []
    rates = [0.1]

    def evaluate(_, calls, **more):
        since.append(more["since"])
        return rates[-1:] * len(calls)

    monkeypatch.setattr(app, "evaluate", evaluate)
    calc.do("open", hidden=False)
    calc.do("fill", cells={"A1": '=SVC_RATE("NY";"10001")'})
    assert calc.do("shown", addresses=["A1"]) == [0.1]
    rates.append(0.2)
    calc.do("calculate")
    assert calc.do("shown", addresses=["A1"]) == [0.1]
    calc.do("choose", entry="refresh", press=["ok", "ok"])
    assert calc.do("shown", addresses=["A1"]) == [0.2]
    calc.do("fill", cells={"A2": '=SVC_RATE("NY";"10003")'})
    assert calc.do("shown", addresses=["A2"]) == [0.2]
    calc.do("open")  # another spreadsheet may use what is stored
    calc.do("fill", cells={"A1": '=SVC_RATE("NY";"10004")'})
    assert calc.do("shown", addresses=["A1"]) == [0.2]
    first, refreshed, later, other = since
    assert first is other is None
    assert refreshed == later is not None


def test_a_refresh_without_the_server_or_its_service_changes_nothing(
    calc, counted, server_file, monkeypatch
):
    desk, _ = counted
    before = in_use(calc)
    with stopped(server_file):
        (said,) = calc.do("choose", entry="refresh", press=["ok"])
        assert "svc-tools excel serve" in said
    monkeypatch.setattr(desk, "refresh", lambda _: RefreshReport(NOON, 4, 0, 4, "away", None))
    calc.do("choose", entry="refresh", press=["ok", "ok"])
    assert calc.do("column", address="B1:B6") == before


def test_the_menu_shows_the_service_and_why_cells_have_no_result(calc, counted, server_file):
    calc.do("open", hidden=False)
    (said,) = calc.do("choose", entry="status")
    assert counted[0].source in said
    with stopped(server_file):
        calc.do("fill", cells={"A1": '=SVC_RATE("NY";"10001")'})
        assert calc.do("shown", addresses=["A1"]) == [OFFLINE]
    (said,) = calc.do("choose", entry="status")
    assert "was stopped" in said


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
        assert calc.formulas(formula) == [OFFLINE]
        with local_server(desk_of(client)) as server:
            publish(server_file, server)
            calc.do("calculate")
            assert calc.do("shown", addresses=["J1"]) == [0.08875]
    finally:
        server_file.write_bytes(before)
