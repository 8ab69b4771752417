"""The workbook that `svc-tools excel workbook` makes: its parts, its promises, its refusals."""

from __future__ import annotations

import re
import sys
import zipfile
from datetime import date
from importlib.metadata import version
from pathlib import Path

import pytest
import xlwings
from openpyxl import load_workbook
from support.command import svc_tools

from svc_tools.excel.calc import calc_name
from svc_tools.excel.com import macros
from svc_tools.excel.registry import FUNCTIONS, function
from svc_tools.excel.workbook import MODULE_TEXT, write_example, write_workbook, writing
from svc_tools.excel.workbook.sheets import MACROS

DAY = date(2026, 8, 31)
SHIPPED = Path(__file__).parents[2] / "excel"
TEMPLATE = Path(xlwings.__file__).with_name("quickstart_standalone.xlsm")
CALL = re.compile(r"\b(SVC_[A-Z_]+)\(((?:[^()]|\([^()]*\))*)\)")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    path, module = write_workbook(tmp_path_factory.mktemp("made") / "orders.xlsm", as_of=DAY)
    return path, module


@pytest.fixture(scope="module")
def book(made):
    return load_workbook(made[0], keep_vba=True)


def parts(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def formulas(book):
    for sheet in book:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    yield sheet.title, cell.coordinate, _formula_of(cell)


def _formula_of(cell):
    return getattr(cell.value, "text", cell.value)


def calls(book):
    for sheet, at, formula in formulas(book):
        for name, given in CALL.findall(formula):
            yield sheet, at, name, _arguments(given)


def _arguments(given):
    flat = re.sub(r"\[[^\[\]]*\]", "", re.sub(r"\[\[.*?\]\]", "", given))
    return flat.split(",") if given else []


def test_the_vba_is_that_of_the_template_byte_for_byte(made):
    assert parts(made[0])["xl/vbaProject.bin"] == parts(TEMPLATE)["xl/vbaProject.bin"]


def test_the_functions_and_macros_lie_beside_it(made):
    path, module = made
    assert module == path.with_name("svc_udfs.py")
    assert module.read_text(encoding="utf-8") == MODULE_TEXT


def test_its_settings_name_the_module_and_leave_the_rest_to_the_computer(book):
    settings = book[writing.CONFIG]
    kept = [(row[0].value, row[1].value) for row in settings.iter_rows() if row[0].value]
    assert kept == [("UDF Modules", "svc_udfs")]
    assert book.sheetnames == ["Start", "Lookup", "Orders", "Nexus", "xlwings.conf"]


def test_nothing_of_the_machine_or_the_moment_is_in_it(made, tmp_path):
    again = tmp_path / "another name.xlsm"
    write_workbook(again, as_of=DAY)
    assert again.read_bytes() == made[0].read_bytes()
    own = (str(tmp_path), str(Path.home()), sys.prefix, str(TEMPLATE.parent))
    for name, content in parts(again).items():
        if name != "xl/vbaProject.bin":
            assert not [one for one in own if one.encode() in content], name


def test_no_figure_is_in_it_that_nobody_computed(made):
    values = load_workbook(made[0], data_only=True)
    computed = [(sheet, at) for sheet, at, _ in formulas(load_workbook(made[0]))]
    assert len(computed) > 100
    assert {values[sheet][at].value for sheet, at in computed} <= {None, ""}


def test_every_formula_calls_a_function_with_as_many_arguments_as_it_has(book):
    seen = set()
    for sheet, at, name, given in calls(book):
        parameters = function(name).parameters
        least = sum(not one.optional for one in parameters)
        assert least <= len(given) <= len(parameters), (sheet, at)
        seen.add(name)
    assert {"SVC_RATE", "SVC_TAX", "SVC_SUM", "SVC_LOOKUP", "SVC_NEXUS", "SVC_STATUS"} <= seen


def test_every_formula_says_its_day_so_that_a_closed_month_stays_as_it_was(book):
    dated = {one.name: [p.name for p in one.parameters] for one in FUNCTIONS}
    checked = 0
    for sheet, at, name, given in calls(book):
        if "as_of" in dated[name] and given:
            assert len(given) > dated[name].index("as_of"), (sheet, at)
            # an order line has the day of its own sale
            day = "[Date]" if sheet == writing.ORDERS else writing.AS_OF
            assert day in _formula_of(book[sheet][at]), (sheet, at)
            checked += 1
    assert checked > 100
    assert book.defined_names[writing.AS_OF].attr_text == "'Lookup'!$F$6"
    assert book["Lookup"]["F6"].value.date() == DAY


def test_the_names_that_macros_look_for_lead_to_their_cells(book):
    nexus = book["Nexus"]
    target = book.defined_names[writing.NEXUS_HEADINGS].attr_text.partition("!")[2].replace("$", "")
    assert tuple(cell.value for cell in nexus[target][0]) == writing.NEXUS_COLUMNS
    beside = [nexus.cell(14, 12 + place).value for place in range(len(writing.NEXUS_MARKS))]
    assert beside == list(writing.NEXUS_MARKS)
    assert writing.NEXUS_MESSAGE in book.defined_names
    assert book["Orders"]["C5"].value == "half_up"
    assert book.defined_names[writing.ROUNDING].attr_text == "'Orders'!$C$5"


def test_every_button_runs_a_macro_that_there_is(made):
    drawn = b"".join(content for name, content in parts(made[0]).items() if name.endswith(".vml"))
    run = set(re.findall(r"\[0\]!(\w+)", drawn.decode()))
    assert run - {"ImportPythonUDFs"} <= set(macros.__all__)
    assert "ImportPythonUDFs" in run  # of the template's own VBA
    assert {"SVC_REFRESH", "SVC_FREEZE", "SVC_NEXUS_REMOVE"} <= run
    assert set(MACROS) == set(macros.__all__)


def test_the_first_sheet_tells_of_every_function_and_macro(book):
    told = [cell.value for row in book["Start"].iter_rows() for cell in row if cell.value]
    assert {one.name for one in FUNCTIONS} | set(MACROS) <= set(told)
    words = " ".join(map(str, told))
    assert f"xlwings {version('xlwings')}" in words
    assert "#NAME?" in words
    assert "Trust access to the VBA project object model" in words


def test_order_lines_are_a_table_whose_headings_are_those_of_the_cells(book):
    orders = book["Orders"]
    table = orders.tables["Orders"]
    headings = [cell.value for cell in orders[table.ref][0]]
    assert headings == [one.name for one in table.tableColumns]
    assert orders.freeze_panes == "A9"
    computed = {
        one.name: one.calculatedColumnFormula.attr_text
        for one in table.tableColumns
        if one.calculatedColumnFormula
    }
    assert set(computed) == {"Rate", "Tax", "Status", "Confidence", "Warnings"}
    last = orders[table.ref][-1]
    assert {cell.value for cell in last if cell.data_type == "f"} == {
        f"={one}" for one in computed.values()
    }


def test_a_list_to_choose_from_fits_into_a_workbook(book):
    offered = [one for sheet in book for one in sheet.data_validations.dataValidation]
    assert len(offered) >= 7
    assert all(len(one.formula1) <= 257 for one in offered)  # 255 and the quotes
    assert {one.errorStyle for one in offered} == {"warning"}  # a name such as Texas may be typed


def test_without_examples_the_lines_are_empty(tmp_path):
    path, _ = write_workbook(tmp_path / "mine.xlsm", example=False)
    orders = load_workbook(path)["Orders"]
    typed = [orders.cell(row, column).value for row in range(9, 17) for column in range(1, 6)]
    assert set(typed) == {None}
    assert orders["G9"].value.startswith("=SVC_TAX(")


def test_a_file_that_is_there_is_somebodys_work(tmp_path):
    path = tmp_path / "orders.xlsm"
    path.write_bytes(b"a month of work")
    with pytest.raises(FileExistsError, match=r"orders\.xlsm exists.*--force"):
        write_workbook(path)
    assert [one.name for one in tmp_path.iterdir()] == ["orders.xlsm"]
    assert path.read_bytes() == b"a month of work"
    write_workbook(path, force=True)
    assert path.read_bytes()[:2] == b"PK"


def test_a_module_that_somebody_changed_is_not_replaced(tmp_path):
    module = tmp_path / "svc_udfs.py"
    module.write_text("my own functions", encoding="utf-8")
    with pytest.raises(FileExistsError, match=r"svc_udfs\.py exists"):
        write_workbook(tmp_path / "orders.xlsm")
    assert [one.name for one in tmp_path.iterdir()] == ["svc_udfs.py"]
    module.write_text(MODULE_TEXT, encoding="utf-8")
    write_workbook(tmp_path / "orders.xlsm")  # ours, and the same: a second workbook beside it


def test_a_workbook_without_macros_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"ends in \.xlsm; 'orders\.xlsx' does not"):
        write_workbook(tmp_path / "orders.xlsx")


def test_the_example_for_calc_has_the_names_of_calc_and_no_macros(tmp_path):
    path = write_example(tmp_path / "calc.xlsx", lambda name: f"A.B.{name}", as_of=DAY)
    content = parts(path)
    assert not [name for name in content if "vba" in name.lower() or name.endswith(".vml")]
    book = load_workbook(path)
    called = {one for _, _, formula in formulas(book) for one in re.findall(r"[\w.]+\(", formula)}
    ours = {one for one in called if "SVC_" in one}
    assert ours
    assert all(one.startswith("A.B.SVC_") for one in ours)
    assert book["Orders"]["G9"].value.startswith(
        '=IF(Orders[[#This Row],[Amount]]="","",A.B.SVC_TAX('
    )
    assert book["Nexus"]["A12"].value.ref == "A12:E211"  # Calc does not spill
    start = " ".join(str(one.value) for row in book["Start"].iter_rows() for one in row)
    assert "calc-addin" in start
    assert "Alt+F8" not in start


def test_what_the_repository_ships_is_what_the_code_writes(made, tmp_path):
    shipped, fresh = parts(SHIPPED / "sales-tax.xlsm"), parts(made[0])
    shipped.pop("xl/vbaProject.bin")
    fresh.pop("xl/vbaProject.bin")  # of the xlwings that is installed
    assert shipped == fresh
    assert (SHIPPED / "svc_udfs.py").read_text(encoding="utf-8") == MODULE_TEXT
    write_example(tmp_path / "calc.xlsx", calc_name, as_of=DAY)
    assert parts(SHIPPED / "sales-tax-calc.xlsx") == parts(tmp_path / "calc.xlsx")


def test_the_command_makes_it_and_refuses_to_replace_it(tmp_path):
    path = tmp_path / "tax.xlsm"
    done = svc_tools("excel", "workbook", str(path), "--as-of", "2026-08-31")
    assert done.returncode == 0, done.stderr
    assert path.is_file()
    assert (tmp_path / "svc_udfs.py").is_file()
    assert "sheet Start" in done.stdout
    written = path.read_bytes()
    again = svc_tools("excel", "workbook", str(path), "--empty")
    assert again.returncode == 2
    assert "--force" in " ".join(again.stderr.split())
    assert path.read_bytes() == written
    assert svc_tools("excel", "workbook", str(path), "--empty", "--force").returncode == 0
    assert path.read_bytes() != written
