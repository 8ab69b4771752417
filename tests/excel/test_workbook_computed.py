"""The sheets of the workbook computed by a real spreadsheet engine, errors as xlwings shows them.

What our functions give is worked out by the tests (no machine here has Excel); totals, counts and
sentences are computed by LibreOffice.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest
from openpyxl import load_workbook
from support.tools import soffice
from support.worked_out import worked_out

from svc_tools.excel.workbook import excel
from svc_tools.excel.workbook import sheets as orders_sheet
from svc_tools.excel.workbook.sheets import EXAMPLES, lookup_sheet
from svc_tools.excel.workbook.writing import write_sheets

DAY = date(2026, 8, 31)
TAX = ["106.95", "7.20", "38.31", "180.50", "4.09", "27.51", "0.25", "0.00", "1.24", "-3.60"]
"""The tax of the first ten example lines, worked out by hand from the amounts and the rates."""


def sheets(*, example=True):
    return [
        lookup_sheet(excel("0"), DAY),
        orders_sheet.orders_sheet(excel("0"), example=example),
    ]


def typed(book, name, **cells):
    """The same with something else typed into some cells."""
    (sheet,) = (one for one in book if one.name == name)
    sheet.cells = [
        replace(one, value=cells[one.at]) if one.at in cells else one for one in sheet.cells
    ]
    return book


def below(book):
    """The same with a line under the table, which no total of a column sees."""
    book[1].put("A30", "X-1", "typed_text")
    book[1].put("E30", 100.0, "typed_money")
    return book


BOOKS = {
    "examples": sheets,
    "real errors": sheets,
    "nothing": lambda: sheets(example=False),
    "all good": lambda: typed(sheets(), "Orders", C19="OH", D19="43215", D20="94105"),
    "no amount": lambda: typed(sheets(), "Orders", E9=None, C19="OH", D19="43215", D20="94105"),
    "no formula": lambda: typed(
        sheets(), "Orders", C19="OH", D19="43215", D20="94105", F9=None, G9=None
    ),
    "below": lambda: below(typed(sheets(), "Orders", C19="OH", D19="43215", D20="94105")),
    "amount as text": lambda: typed(sheets(), "Orders", E9="1240.00"),
    "unknown place": lambda: typed(sheets(), "Lookup", A6="CA", B6="98101"),
    "partial place": lambda: typed(sheets(), "Lookup", A6="LA", B6="70112"),
    "by address": lambda: typed(
        sheets(), "Lookup", A6="NJ", B6=None, C6="95 River St", D6="Hoboken", F6=date(2026, 8, 3)
    ),
}


@pytest.fixture(scope="module")
def computed(desk, tmp_path_factory):
    """Each of the books as it stands after LibreOffice computed it."""
    program, folder = soffice(), tmp_path_factory.mktemp("computed")
    (folder / "in").mkdir()
    paths = [folder / "in" / f"{name}.xlsx" for name in BOOKS]
    for path, (name, make) in zip(paths, BOOKS.items(), strict=True):
        write_sheets(path, worked_out(make(), desk, real=name == "real errors"), excel("0"))
    done = subprocess.run(
        [
            program,
            f"-env:UserInstallation={(folder / 'profile').as_uri()}",
            *("--headless", "--convert-to", "xlsx", "--outdir", str(folder)),
            *map(str, paths),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {name: load_workbook(folder / f"{name}.xlsx", data_only=True) for name in BOOKS}


def test_rates_and_tax_stand_on_every_line(computed):
    orders = computed["examples"]["Orders"]
    shown = [Decimal(f"{orders.cell(row, 7).value:.2f}") for row in range(9, 19)]
    assert shown == [Decimal(one) for one in TAX]
    assert [orders.cell(row, 6).value for row in (9, 12, 15, 16)] == [0.08625, 0.09025, 0.0625, 0]
    assert orders["E5"].value == float(sum(one[-1] for one in EXAMPLES))


@pytest.mark.parametrize(
    ("name", "unresolved"), [("examples", "#UNRESOLVED"), ("real errors", "#N/A")]
)
def test_a_total_that_lacks_a_line_is_no_figure_and_a_sentence_says_so(computed, name, unresolved):
    orders = computed[name]["Orders"]
    assert orders["F19"].value == orders["G19"].value == "#PARTIAL"
    assert orders["G20"].value.startswith(unresolved)
    assert "98101 is not in California" in orders["J20"].value
    assert orders["G5"].value.startswith("#")
    assert (orders["H5"].value, orders["I5"].value) == (2, 1)
    part = sum(map(Decimal, TAX))
    assert orders["A6"].value.startswith(
        f"2 lines have no tax, so there is no total of the tax. The others come to {part}: a part,"
        " not the total. See the column Warnings. 1 rate lacks a local part (#PARTIAL)."
    )
    assert orders["A6"].value.endswith(" Examples are still among the lines.")


def test_the_rates_that_require_review_are_counted(computed):
    for name in ("examples", "real errors", "all good"):
        orders = computed[name]["Orders"]
        count = [orders.cell(row, 8).value for row in range(9, 21)].count("review")
        assert orders["F5"].value == count
        assert (f"{count} rate" in orders["A6"].value) == (count > 0)


def test_with_every_line_taxed_the_total_is_exact(computed):
    orders = computed["all good"]["Orders"]
    more = [Decimal("16.96"), Decimal("6.47")]  # 212.00 at 8%, and 75.00 at 8.625%
    assert Decimal(f"{orders['G5'].value:.2f}") == sum(map(Decimal, TAX), Decimal()) + sum(more)
    assert (orders["H5"].value, orders["I5"].value) == (0, 0)
    assert orders["A6"].value.startswith("Every amount has its tax.")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no formula", "1 line has an amount but no formula: fill the formulas down."),
        ("below", "1 amount stands below the table: move the lines into it."),
    ],
)
def test_an_amount_that_no_formula_taxes_leaves_no_total(computed, name, told):
    orders = computed[name]["Orders"]
    assert orders["G5"].value == "#N/A"
    assert orders["H5"].value == 1
    assert orders["A6"].value.startswith("1 line has no tax, so there is no total of the tax.")
    assert told in orders["A6"].value


def test_an_amount_that_is_missing_is_told_of(computed):
    orders = computed["no amount"]["Orders"]
    assert orders["G9"].value in {None, ""}
    assert orders["A5"].value == 11
    assert "1 line has a ZIP but no amount." in orders["A6"].value


def test_an_amount_kept_as_text_is_not_passed_over(computed):
    orders = computed["amount as text"]["Orders"]
    assert str(orders["E5"].value).startswith("#")


def test_empty_lines_are_empty_and_count_for_nothing(computed):
    orders = computed["nothing"]["Orders"]
    lines = {orders.cell(row, column).value for row in range(9, 17) for column in range(6, 11)}
    assert lines <= {None, ""}
    assert [orders[at].value for at in ("A5", "E5", "G5", "H5", "I5")] == [0, 0, 0, 0, 0]
    assert orders["A6"].value == "No lines yet."


def test_a_place_is_looked_up_with_its_parts(computed):
    lookup = computed["examples"]["Lookup"]
    assert lookup["A9"].value == 0.08875
    assert lookup["C9"].value == "ok"
    fields = {lookup.cell(row, 1).value: lookup.cell(row, 2).value for row in range(12, 29)}
    parts = ("state_rate", "county_rate", "city_rate", "combined_district_rate")
    assert [fields[one] for one in parts] == [0.04, 0, 0.045, 0.00375]
    assert fields["resolved_city"] == "New York"
    assert fields["lookup_source"]


def test_a_place_without_a_rate_says_why(computed):
    unknown = computed["unknown place"]["Lookup"]
    assert unknown["A9"].value.startswith("#UNRESOLVED")
    assert unknown["C9"].value == "unresolved"
    assert "98101 is not in California" in unknown["D9"].value
    partial = computed["partial place"]["Lookup"]
    assert partial["A9"].value == "#PARTIAL"
    assert partial["C9"].value == "partial"


def test_a_street_address_is_looked_up_in_the_same_cells(computed):
    lookup = computed["by address"]["Lookup"]
    assert (lookup["A9"].value, lookup["C9"].value) == (0.06625, "ok")


def test_the_one_day_is_passed_to_the_list_of_places(computed):
    lookup = computed["examples"]["Lookup"]
    rows = [row for row in lookup.iter_rows(min_row=30) if row[0].value in {"NC", "NJ", "LA"}]
    assert [row[2].value for row in rows] == [0.0725, 0.06625, "#PARTIAL"]
