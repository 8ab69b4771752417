"""The workbook opened by a real spreadsheet engine shows what the frame holds."""

from __future__ import annotations

import csv
import subprocess
from decimal import Decimal

import pandas as pd
import pytest
from support.tools import soffice

from svc_tools.frames.workbook import write_workbook

LINES = 2  # the second sheet
# comma, quote, UTF-8, values rather than what is shown, and which sheet
CSV = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,false,false,false,false,{}"


def number(cell):
    """The number in a cell; per cents are numbers too."""
    return Decimal(cell.removesuffix("%")) / (100 if cell.endswith("%") else 1)


@pytest.fixture
def as_csv(tmp_path):
    """Open a workbook in LibreOffice and read one sheet back, cells as they are shown."""

    def convert(workbook, sheet):
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
            return list(csv.DictReader(file))

    return convert


def test_the_lines_of_the_sheet_are_the_rows_of_the_frame(embedded, as_csv, tmp_path):
    frame = pd.DataFrame(
        {
            "note": ['=HYPERLINK("http://127.0.0.1/","x")', "+1+1", "@SUM(1)", "plain"],
            "state": ["CA", "MA", "TX", "OR"],
            "zip": ["94105", "2134", "78701", "97201"],
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
