"""Files whose names of columns stand below other rows: the error says in which row."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.frames import enrich_file, exposure_of_file
from svc_tools.frames.files.enriching import view_of_file
from svc_tools.tables.csv_files import FileError
from svc_tools.tables.roles import ColumnMissing, names_below

CASES = Path(__file__).parents[1] / "data" / "sales_files"
NAMES = ["Order Date", "State", "Zip", "Amount"]
LINE = ["2026-08-14", "MA", "02138", "100"]
ABOVE = {
    "headings over several columns": [["Order", "Ship To", "", "Money"]],
    "headings that name a role": [["Order", "Address", "", "Money"]],
    "names that stand only above": [["Order Date", "Ship To", "", "Amount"]],
    "a title": [["Sales report for August"]],
    "a title and an empty row": [["Sales report", "", "", ""], ["", "", "", ""]],
    "a company and a period": [["Acme LLC", "", "", ""], ["2026-08-01", "to", "2026-08-31", ""]],
}


def written(path, rows):
    if path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append([cell or None for cell in row])
        book.save(path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(rows)
    return path


def refused(source, client, **arguments):
    with pytest.raises(FileError) as caught:
        enrich_file(source, source.with_name("out.csv"), client=client, **arguments)
    assert not source.with_name("out.csv").exists()
    assert caught.value.code == "header"
    return str(caught.value)


def test_headings_above_the_names_are_named_with_the_row_of_the_names(embedded, tmp_path):
    with pytest.raises(FileError) as caught:
        enrich_file(CASES / "p09_two_headers.xlsx", tmp_path / "out.csv", client=embedded)
    assert caught.value.code == "header"
    assert "the names of the columns seem to stand in row 2; remove the rows above" in str(
        caught.value
    )


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("above", ABOVE)
def test_whatever_stands_above_the_names_the_row_is_said(embedded, tmp_path, above, kind):
    rows = [*ABOVE[above], NAMES, LINE, LINE]
    if above == "names that stand only above":
        rows[1] = ["", "State", "Zip", ""]
    source = written(tmp_path / f"in.{kind}", rows)
    assert f"seem to stand in row {len(ABOVE[above]) + 1};" in refused(source, embedded)
    assert "seem to stand in row" in refused(source, embedded, tax={})


def test_a_first_line_with_the_delimiter_is_no_row_of_a_spreadsheet(embedded, tmp_path):
    text = "sep=;\nOrder;Ship To;;Money\n" + "\n".join(map(";".join, [NAMES, LINE]))
    source = tmp_path / "in.csv"
    source.write_text(text, encoding="utf-8")
    assert "stand in row 2;" in refused(source, embedded)


def test_sales_for_the_thresholds_and_the_first_look_say_it_too(tmp_path):
    source = written(tmp_path / "in.csv", [["Order", "Ship To", "", "Money"], NAMES, LINE])
    with pytest.raises(FileError, match="stand in row 2;"):
        exposure_of_file(source, progress=False)
    assert any("stand in row 2;" in note for note in view_of_file(source).notes)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize(
    "rows",
    [
        [["Name", "Zip", "Paid"], ["Ann", "02138", "100"]],
        [["Name", "State", "Paid"], ["Ann", "MA", "100"]],
        [["When", "St", "Postcode", "Dollars"], ["2026-08-14", "MA", "02138", "100"]],
    ],
)
@pytest.mark.parametrize("above", [["Customers"], ["Customers", "", "Sums"]])
def test_one_name_is_enough_in_a_row_that_is_fuller_than_those_above(
    embedded, tmp_path, above, rows, kind
):
    above = above + [""] * (len(rows[0]) - len(above))
    source = written(tmp_path / f"in.{kind}", [above, *rows, rows[-1]])
    assert "seem to stand in row 2;" in refused(source, embedded)


@pytest.mark.parametrize(
    "rows",
    [
        [["A", "B", "C", "D"], LINE],
        [["When", "Where", "Code", "Dollars"], ["", "Zip", "is", "missing"]],
        [["When", "Where", "Code", "Dollars"], ["State", "of", "the", "art"]],
        [["Notes"], ["State"], ["Zip"]],
    ],
)
def test_files_without_such_a_row_have_the_error_on_columns(embedded, tmp_path, rows):
    source = written(tmp_path / "in.csv", rows)
    with pytest.raises(ColumnMissing):
        enrich_file(source, tmp_path / "out.csv", client=embedded)
    assert not any("seem to stand" in note for note in view_of_file(source).notes)


def test_a_file_whose_columns_are_named_is_read_whatever_stands_in_its_rows(embedded, tmp_path):
    source = written(tmp_path / "in.csv", [["When", "Where", "Code", "USD"], NAMES, LINE])
    columns = {"as_of": "When", "state": "Where", "zip": "Code"}
    run = enrich_file(source, tmp_path / "out.csv", lookup=columns, client=embedded)
    assert run.totals.statuses == {"ok": 1, "invalid": 1}


@given(st.lists(st.lists(st.text(max_size=8), min_size=1, max_size=5), max_size=5))
def test_names_in_the_first_row_are_never_said_to_stand_below(rows):
    names = ["Date", "State", "Zip", "Address", "City", "Country"]
    assert names_below([names, *rows]) is None
    text = io.StringIO()
    csv.writer(text).writerows([names, *rows])
    assert names_below([*csv.reader(text.getvalue().splitlines())]) is None
