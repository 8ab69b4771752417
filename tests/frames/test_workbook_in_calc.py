"""The workbook opened by a real spreadsheet engine shows what the frame holds."""

from __future__ import annotations

import csv
import re
import subprocess
import zipfile
from decimal import Decimal

import pandas as pd
import pytest
from support.enriched import enriched, partial, row
from support.tools import soffice

from svc_tools.frames.reports.report import write_workbook

SUMMARY, LINES = 1, 2  # the first and the second sheet
TAX = "Tax, partial rates included"
# comma, quote, UTF-8, values rather than what is shown, and which sheet
CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,{}"


def number(cell):
    """The number in a cell; per cents are numbers too."""
    return Decimal(cell.removesuffix("%")) / (100 if cell.endswith("%") else 1)


@pytest.fixture
def as_csv(tmp_path):
    """Open a workbook in LibreOffice and read one sheet back, cells as they are shown."""

    def convert(workbook, sheet, read=csv.DictReader):
        output = tmp_path / "csv"
        subprocess.run(
            [
                soffice(),
                f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}",
                "--headless",
                "--convert-to",
                CSV.format(sheet),
                "--outdir",
                str(output),
                str(workbook),
            ],
            check=True,
            capture_output=True,
            timeout=180,
        )
        (made,) = output.glob("*.csv")
        with made.open(newline="", encoding="utf-8") as file:
            return list(read(file))

    return convert


def test_the_lines_of_the_sheet_are_the_rows_of_the_frame(embedded, as_csv, tmp_path):
    frame = pd.DataFrame(
        {
            "note": ['=HYPERLINK("http://127.0.0.1/","x")', "+1+1", "@SUM(1)", "plain"],
            "state": ["CA", "MA", "LA", "OR"],
            "zip": ["94105", "2134", "70112", "97201"],
            "order_date": pd.to_datetime(["2026-02-01"] * 4),
            "amount": ["4.00", "-19.99", "250.00", "10.00"],
        }
    )
    taxed = frame.svc.lookup(client=embedded, progress=False).svc.tax(progress=False)
    write_workbook(taxed, tmp_path / "orders.xlsx")
    rows = as_csv(tmp_path / "orders.xlsx", LINES)
    assert [row["note"] for row in rows] == list(frame["note"])
    assert [row["zip"] for row in rows] == list(frame["zip"])
    assert [row["lookup_status"] for row in rows] == list(taxed["lookup_status"])
    assert [number(row["combined_rate"]) for row in rows] == list(taxed["combined_rate"])
    # a missing tax is an empty cell, a tax of nothing is a zero
    assert [row["tax"] and number(row["tax"]) for row in rows] == [
        Decimal("0.35"),
        Decimal("-1.25"),
        "",
        Decimal(0),
    ]


def test_the_totals_that_the_sheet_adds_up_itself_are_those_of_the_frame(as_csv, tmp_path):
    rows = [
        row("WA", f"{number * 997 % 10_000}.{number % 100:02}", "0.10250") for number in range(700)
    ]
    frame = enriched(*rows, row("WA", "-100000.01", "0.10250"), row(rate=None), partial())
    path = tmp_path / "totals.xlsx"
    write_workbook(frame, path)
    _forget_values(path)
    lines = as_csv(path, SUMMARY, csv.reader)
    tied = {line[0]: line[2:5] for line in lines if line and line[0] in {"Sales", TAX}}
    for name, column in (("Sales", "amount"), (TAX, "tax")):
        total = sum(frame[column].dropna(), Decimal(0))
        found, said, difference = (number(cell.replace(",", "")) for cell in tied[name])
        assert (found, said, difference) == (total, total, 0)


def _forget_values(path):
    """Take the values out of the formulas' cells, so that they must be computed anew."""
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    emptied = re.sub(rb"(</f>)<v>[^<]*</v>", rb"\1", parts[sheet])
    assert emptied != parts[sheet]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, part in (parts | {sheet: emptied}).items():
            book.writestr(name, part)
