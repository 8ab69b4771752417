"""`enrich_file`: every kind of file in and out, own columns untouched, the figures of the frame."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from support.faults import KEY, answer, echo, serving

from svc_sdk import Svc
from svc_tools.frames import enrich_file
from svc_tools.lookup.columns import ADDED_COLUMNS, LOOKUP_COLUMNS, TAX_COLUMNS
from svc_tools.tables.csv_files import FileError
from svc_tools.tables.roles import DatesAmbiguous, NoUsableRows
from svc_tools.tables.tabular import open_table

HEADER = ["order", "zip", "state", "date", "amount", "note"]

ROWS = [
    ["0007", "02134", "MA", "2026-05-01", "19.99", 'said "no", twice'],
    ["0008", "78701-1234", "TX", "2026-05-02", "-5.00", "two\nlines"],
    ["0009", "78701", "TX", "2026-05-02", "1,234.50", ""],
    ["0010", "", "TX", "2026-05-02", "1.00", "=1+1"],
]

LOOKUP = {"zip": "zip", "state": "state", "as_of": "date"}


def csv_file(path, rows=(HEADER, *ROWS), *, encoding="utf-8", **dialect):
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, **dialect).writerows(rows)
    return path


def xlsx_file(path, rows):
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
        for cell in book.active[book.active.max_row]:
            if cell.data_type == "f":
                cell.data_type = "s"  # text that looks like a formula
    book.save(path)
    return path


moment = datetime.fromisoformat


def csv_cells(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def xlsx_cells(path):
    return [list(row) for row in openpyxl.load_workbook(path).active.iter_rows(values_only=True)]


def own_columns(path, count=6):
    """The input's own columns as texts, as they stand in an output of any kind."""
    if path.suffix == ".csv":
        return [row[:count] for row in csv_cells(path)]
    if path.suffix == ".xlsx":
        cells = xlsx_cells(path)
        return [["" if cell is None else cell for cell in row[:count]] for row in cells]
    table = parquet.read_table(path)
    columns = [column.to_pylist() for column in table.columns[:count]]
    rows = zip(*columns, strict=True)
    return [table.column_names[:count], *(["" if c is None else c for c in row] for row in rows)]


@pytest.mark.parametrize(("kind", "out"), list(product(["csv", "xlsx", "parquet"], repeat=2)))
def test_every_kind_of_file_becomes_every_kind_with_its_own_columns_as_they_were(
    scripted, tmp_path, kind, out
):
    source, output = tmp_path / f"in.{kind}", tmp_path / f"out.{out}"
    if kind == "csv":
        csv_file(source)
    elif kind == "xlsx":
        xlsx_file(source, [HEADER, *([cell or None for cell in row] for row in ROWS)])
    else:
        columns = [[cell or None for cell in column] for column in zip(*ROWS, strict=True)]
        parquet.write_table(pa.table(columns, HEADER), source)
    page = tmp_path / "report.html"
    terms = {"lookup": LOOKUP, "tax": {"amount": "amount"}, "report": page, "client": scripted}
    run = enrich_file(source, output, **terms)
    own = [HEADER, *ROWS]
    if (kind, out) == ("csv", "xlsx"):  # money is a number there
        own = [HEADER, *([*row[:4], float(row[4].replace(",", "")), row[5]] for row in ROWS)]
    assert own_columns(output) == own
    assert "103.09" in page.read_text(encoding="utf-8")
    assert run.totals.statuses == {"ok": 3, "invalid": 1}
    assert (run.totals.taxed, run.totals.tax) == (3, Decimal("103.09"))
    names = own_columns(output, 999)[0]
    added = {*LOOKUP_COLUMNS, *TAX_COLUMNS}
    assert names == [*HEADER, *(name for name in ADDED_COLUMNS if name in added)]
    row = dict(zip(names, own_columns(output, 999)[2], strict=True))
    assert Decimal(str(row["combined_rate"])) == Decimal("0.08250")
    assert Decimal(str(row["tax"])) == Decimal("-0.41")


def test_two_rows_of_one_place_are_one_request_also_when_they_lie_in_different_chunks(
    scripted, faults, tmp_path, monkeypatch
):
    monkeypatch.setattr("svc_tools.tables.tabular._BLOCK_BYTES", 512)
    rows = [[str(n), "78701" if n % 2 else "78702", "TX", "2026-05-01", "1", ""] for n in range(99)]
    source = csv_file(tmp_path / "in.csv", [HEADER, *rows])
    run = enrich_file(source, tmp_path / "out.csv", lookup=LOOKUP, client=scripted)
    assert len(list(open_table(source).chunks())) > 3
    assert (run.places, run.asked, len(faults.seen)) == (2, 2, 2)
    assert own_columns(tmp_path / "out.csv") == [HEADER, *rows]


def test_a_file_is_written_where_the_standard_output_takes_only_text(
    scripted, tmp_path, monkeypatch
):
    source = csv_file(tmp_path / "in.csv")
    monkeypatch.setattr(sys, "stdout", io.StringIO())  # as in a notebook's kernel
    enrich_file(source, tmp_path / "out.csv", lookup=LOOKUP, client=scripted)
    assert own_columns(tmp_path / "out.csv") == [HEADER, *ROWS]
    with pytest.raises(FileError, match="name a file"):
        enrich_file(source, "-", lookup=LOOKUP, client=scripted)


def test_an_empty_cell_is_missing_and_words_for_missing_stay_words(scripted, tmp_path):
    rows = [["zip", "state", "note"], ["02134", "MA", ""], ["02134", "MA", "NA"]]
    output = tmp_path / "out.parquet"
    enrich_file(csv_file(tmp_path / "in.csv", rows), output, client=scripted)
    assert parquet.read_table(output).column("note").to_pylist() == [None, "NA"]


def test_parquet_keeps_types_index_and_whatever_else_it_holds(scripted, tmp_path):
    frame = pd.DataFrame(
        {
            "zip": pd.Categorical(["02134", "78701"]),
            "state": ["MA", "TX"],
            "when": pd.to_datetime(["2026-05-01 10:00", None]),
            "tags": [["a", "b"], []],
            "count": pd.array([1, None], "Int64"),
        },
        index=pd.Index([7, 9], name="order"),
    )
    source, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
    frame.to_parquet(source)
    enrich_file(source, output, lookup={"as_of": "when"}, client=scripted)
    before, after = pd.read_parquet(source), pd.read_parquet(output)
    pd.testing.assert_frame_equal(after[frame.columns.tolist()], before)
    assert after["lookup_status"].tolist() == ["ok", "invalid"]
    table = parquet.read_table(output)
    assert table.schema.field("combined_rate").type == pa.decimal128(7, 5)


def test_a_sheet_keeps_numbers_dates_and_mixed_cells_as_they_are_stored(scripted, tmp_path):
    rows = [
        ["zip", "state", "date", "amount", "flag", "mixed"],
        [2134, "MA", moment("2026-05-01"), 19.99, True, 5],
        ["78701-1234", "TX", moment("2026-05-02"), 20, False, "five"],
        [78701, "TX", moment("2026-05-02"), None, None, moment("2026-01-01")],
        [None] * 6,
        [78702, "TX", moment("2026-05-03"), 3, None, 2.5],
        [None] * 6,
    ]
    source = xlsx_file(tmp_path / "in.xlsx", rows)
    run = enrich_file(source, tmp_path / "out.xlsx", tax={"amount": "amount"}, client=scripted)
    assert [row[:6] for row in xlsx_cells(tmp_path / "out.xlsx")] == rows[:6]
    assert run.totals.statuses == {"ok": 4, "invalid": 1}
    assert run.totals.tax == Decimal("3.55")  # 1.65 + 1.65 + 0.25
    enrich_file(source, tmp_path / "out.csv", client=scripted)
    assert csv_cells(tmp_path / "out.csv")[1][:6] == [
        "2134",
        "MA",
        "2026-05-01",
        "19.99",
        "True",
        "5",
    ]
    enrich_file(source, tmp_path / "out.parquet", client=scripted)
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.column("date").to_pylist()[0] == date(2026, 5, 1)
    assert table.column("mixed").to_pylist() == ["5", "five", "2026-01-01", None, "2.5"]


AS_NUMBERS = {
    "amount": ["0.29", "-19.9", "$1,234.50", "", "(5.00)"],  # it is named as the amounts
    "price": ["0.07", "1,000.00", "-4.35", "$9999999999999.99", ""],
}
AS_TEXT = {
    "zip": ["02134", "02134-0001", "78701", "78701", "78701"],
    "sold": ["05/31/2026", "5/31/26", "2026-05-31", "May 31, 2026", "2026-05-31T10:00:00"],
    "order": ["0007", "1234567890123456789", "+5", "1E5", "12"],
    "sku": ["1.10", "1.1", "01.10", "2.00", "3.00"],
    "share": ["1.5", "2.5", "3.5", "4.5", "5.5"],
    "plus": ["+1.00", "2.00", "3.00", "4.00", "5.00"],
    "tip": ["1.00", "none", "3.00", "4.00", "5.00"],
    "large": ["1.00", "12345678901234.00", "3.00", "4.00", "5.00"],
    "count": ["1", "2", "3", "4", "5"],
}


@pytest.mark.parametrize("size", [64, 1 << 20])
def test_a_sheet_has_the_money_of_a_csv_as_numbers_and_all_else_as_text(
    scripted, tmp_path, monkeypatch, size
):
    monkeypatch.setattr("svc_tools.tables.tabular._BLOCK_BYTES", size)
    columns = {**AS_TEXT, **AS_NUMBERS, "state": ["MA", "MA", "TX", "TX", "TX"]}
    rows = zip(*columns.values(), strict=True)
    source = csv_file(tmp_path / "in.csv", [list(columns), *rows])
    output = tmp_path / "out.xlsx"
    lookup = {"zip": "zip", "state": "state", "as_of": "sold"}
    enrich_file(source, output, lookup=lookup, tax={"amount": "amount"}, client=scripted)
    heads, *lines = openpyxl.load_workbook(output).active.iter_rows()
    sheet = {head.value: cells for head, *cells in zip(heads, *lines, strict=True)}
    for name, texts in AS_TEXT.items():
        assert [(cell.data_type, cell.value) for cell in sheet[name]] == [("s", t) for t in texts]
    for name, texts in AS_NUMBERS.items():
        plain = [text.strip("()$").replace(",", "") for text in texts]
        exact = [
            Decimal(f"-{text}" if "(" in given else text) if text else None
            for given, text in zip(texts, plain, strict=True)
        ]
        found = [cell.value for cell in sheet[name]]
        assert [None if one is None else Decimal(repr(one)) for one in found] == exact
        assert {cell.data_type for cell in sheet[name]} == {"n"}
        assert {cell.number_format for cell in sheet[name] if cell.value is not None} == {"0.00"}
    assert [cell.value for cell in sheet["resolved_zip"]][:2] == ["02134", "02134"]
    assert sheet["resolved_zip"][0].data_type == "s"
    tax = [cell.value for cell in sheet["tax"]]
    assert [None if one is None else Decimal(repr(one)) for one in tax] == [
        *(Decimal("0.02"), Decimal("-1.64"), Decimal("101.85"), None, Decimal("-0.41")),
    ]
    assert Decimal(repr(sheet["combined_rate"][0].value)) == Decimal("0.0825")


def test_a_csv_of_places_alone_becomes_a_sheet(scripted, tmp_path):
    source = csv_file(tmp_path / "in.csv", [["zip", "state"], ["78701", "TX"]])
    enrich_file(source, tmp_path / "out.xlsx", client=scripted)
    assert [row[:2] for row in xlsx_cells(tmp_path / "out.xlsx")] == [
        ["zip", "state"],
        ["78701", "TX"],
    ]


def test_text_of_the_data_never_becomes_a_formula_in_a_sheet(scripted, tmp_path):
    rows = [["zip", "=evil"], ["02134", "=1+1"], ["02134", "@SUM(A1)"], ["02134", "http://x.org"]]
    source = csv_file(
        tmp_path / "in.csv", [[*row, "MA" if n else "state"] for n, row in enumerate(rows)]
    )
    enrich_file(source, tmp_path / "out.xlsx", client=scripted)
    sheet = openpyxl.load_workbook(tmp_path / "out.xlsx").active
    assert {cell.data_type for cell in sheet["B"]} == {"s"}
    assert [cell.hyperlink for cell in sheet["B"]] == [None] * 4


@pytest.mark.parametrize("text", ["=HYPERLINK(1)", "\uff1dHYPERLINK(1)"])
def test_text_of_the_service_never_becomes_a_formula_of_a_csv(tmp_path, text):
    source = csv_file(
        tmp_path / "in.csv",
        [["zip", "state", "=1+1"], ["78701", "TX", "=mine"], ["78702", "TX", "-1"]],
    )
    with serving() as faults, Svc(KEY, base_url=faults.base_url, max_retries=0) as client:
        refusal = json.dumps({"error_code": "NOT_FOUND", "message": text})
        faults.will(answer(404, refusal.encode()), echo)
        run = enrich_file(source, tmp_path / "out.csv", client=client, cache=False, concurrency=1)
    with run.written.open(newline="", encoding="utf-8-sig") as file:
        first, second = csv.DictReader(file)
    assert [row["=1+1"] for row in (first, second)] == ["=mine", "-1"]  # the user's own
    assert first["lookup_error"] == f"'{text}"
    assert second["combined_rate"] == "0.08250"


@pytest.mark.parametrize(("orders", "sales"), [(("S-1", "S-2"), "220.00"), (("S-1", "S-1"), None)])
def test_an_amount_that_may_be_that_of_the_order_is_no_sale_of_each_row(
    embedded, tmp_path, orders, sales
):
    """Without a tax nothing is asked, so that the dollars of a review are left out."""
    rows = [["70601", "LA", one, "110.00"] for one in orders]
    source = csv_file(tmp_path / "in.csv", [["zip", "state", "order number", "amount"], *rows])
    run = enrich_file(source, tmp_path / "out.csv", lookup={"as_of": False}, client=embedded)
    known = [part.sales for part in run.totals.by_use if part.sales]
    assert known == ([] if sales is None else [Decimal(sales)])


@pytest.mark.parametrize("size", [512, 1 << 20])
@pytest.mark.parametrize("tax", [{"amount": "amount"}, None])
def test_a_file_has_the_review_of_its_whole_frame(embedded, tmp_path, monkeypatch, size, tax):
    monkeypatch.setattr("svc_tools.tables.tabular._BLOCK_BYTES", size)
    rows = [
        ["70601", "LA", "Lake Charles", f"{number * 13 % 500}.{number:02}"] for number in range(60)
    ]
    rows += [["75001", "TX", "Addison", "99.95"], ["83672", "ID", "Weiser", "250.10"]]
    rows += [["99801", "AK", "Juneau", "70.00"], ["", "LA", "", "12.12"], ["", "", "", "1.00"]]
    rows += [["00901", "PR", "San Juan", "40.00"], ["70601", "LA", "", "x"]]
    source = csv_file(tmp_path / "in.csv", [["zip", "state", "city", "amount"], *rows])
    output = tmp_path / "out.parquet"
    lookup = {"as_of": False}
    run = enrich_file(source, output, lookup=lookup, tax=tax, client=embedded)
    frame = pd.read_parquet(output)
    assert run.totals.by_use == frame.svc.split().parts
    review = frame.svc.review()
    groups = run.totals.review.groups()
    assert groups == review.state_reasons
    assert (groups[0].state, groups[0].reason, groups[0].rows) == ("LA", "partial", 61)
    assert run.totals.review.estimated == (
        review.totals.estimated_rows,
        review.totals.estimated or 0,
    )
    told = run.as_json()
    assert [one["rows"] for one in told["review"]] == [one.rows for one in groups]
    assert ("an estimate for" in str(run)) == (tax is not None)


def test_lines_of_split_invoices_are_reviewed_as_in_the_whole_frame(
    embedded, tmp_path, monkeypatch
):
    monkeypatch.setattr("svc_tools.tables.tabular._BLOCK_BYTES", 256)
    rows = [
        [f"I{number % 7}" if number % 3 else f"one-{number}", *place, f"{number}.37", "1.10"]
        for number in range(60)
        for place in [("70601", "LA") if number % 2 else ("75001", "TX")]
    ]
    source = csv_file(tmp_path / "in.csv", [["invoice", "zip", "state", "total", "free"], *rows])
    output = tmp_path / "out.parquet"
    terms = {"amount": "total", "exempt": "free", "invoice": "invoice"}
    run = enrich_file(source, output, lookup={"as_of": False}, tax=terms, client=embedded)
    frame = pd.read_parquet(output)
    assert run.totals.by_use == frame.svc.split(amount="total").parts
    review = frame.svc.review()
    assert run.totals.review.groups() == review.state_reasons
    assert review.totals.unknown_rows == 0


def test_dates_as_they_are_written_in_the_file_decide_and_stay(scripted, faults, tmp_path):
    rows = [["zip", "state", "sold"], ["78701", "TX", "04/03/2026"], ["78701", "TX", "12/01/2025"]]
    source = csv_file(tmp_path / "in.csv", rows)
    terms = {"lookup": {"as_of": "sold"}, "client": scripted}
    with pytest.raises(DatesAmbiguous) as refused:
        enrich_file(source, tmp_path / "a.csv", **terms)
    assert refused.value.shown == ("04/03/2026", "12/01/2025")
    assert faults.seen == []
    for date_format in ("%d/%m/%Y", "day first"):
        to = tmp_path / "b.csv"
        run = enrich_file(source, to, date_format=date_format, force=True, cache=False, **terms)
        assert run.totals.statuses == {"ok": 2}
    days = {seen.target.split("as_of=")[1] for seen in faults.seen}
    assert days == {"2026-03-04", "2025-01-12"}
    assert own_columns(tmp_path / "b.csv", 3) == rows
    with pytest.raises(ValueError, match=r"date_format.*year, month and day"):
        enrich_file(source, tmp_path / "c.csv", date_format="%d/%m", **terms)


NO_USABLE_ROW = {
    "dates": ([["02134", "MA", "soon"], ["02135", "MA", "later"], ["1", "MA", "2026-05-01"]], 2),
    "ZIPs": ([["1", "MA", "2026-05-01"], ["2", "MA", "2026-05-01"]], 2),
    "states": ([["02134", "Bavaria", "2026-05-01"]], 1),
    "abroad": ([["K1A 0B1", "ON", "2026-05-01"], ["H2X 1Y4", "QC", "2026-05-01"]], 1),
    "empty": ([["", "", "2026-05-01"], ["", "", "2026-05-02"]], 2),
}
"""Rows none of which can be looked up, and how many have the most frequent reason."""


@pytest.mark.parametrize("case", NO_USABLE_ROW)
def test_a_file_without_a_usable_row_is_refused_and_nothing_is_written_or_requested(
    scripted, faults, tmp_path, case
):
    rows, main = NO_USABLE_ROW[case]
    role = {"dates": "as_of", "ZIPs": "zip", "states": "state"}.get(case, "place")
    source = csv_file(tmp_path / "in.csv", [["zip", "state", "date"], *rows])
    with pytest.raises(NoUsableRows) as refused:
        enrich_file(source, tmp_path / "out.csv", lookup=LOOKUP, client=scripted)
    error = refused.value
    assert (error.code, error.role, error.rows) == ("no_usable_rows", role, len(rows))
    assert f"{main} of {len(rows)} rows" in str(error)
    assert (faults.seen, list(tmp_path.iterdir())) == ([], [source])


@pytest.mark.parametrize(
    ("last", "expected"), [("12/31/25", "2025-04-03"), ("31/12/25", "2025-03-04"), ("05/04/25", "")]
)
def test_all_rows_of_a_file_decide_how_its_dates_are_read(  # noqa: PLR0917 - fixtures
    scripted, faults, tmp_path, monkeypatch, last, expected
):
    monkeypatch.setattr("svc_tools.tables.tabular._BLOCK_BYTES", 64)
    days = [*["2025-01-15"] * 40, *["04/03/25"] * 40, "pending", last]
    rows = [["zip", "state", "sold"], *(["78701", "TX", day] for day in days)]
    source = csv_file(tmp_path / "in.csv", rows)
    output = tmp_path / "out.csv"
    if not expected:
        with pytest.raises(DatesAmbiguous):
            enrich_file(source, output, client=scripted, cache=False)
        assert faults.seen == []
        assert not output.exists()
        return
    run = enrich_file(source, output, client=scripted, cache=False)
    assert run.totals.statuses == {"ok": 81, "invalid": 1}
    assert pd.read_csv(output, dtype=str)["lookup_as_of"][40:80].unique().tolist() == [expected]
    assert any("'04/03/25'" in note or repr(last) in note for note in run.notes)


def test_times_in_utc_of_a_file_are_said_with_the_rows_whose_month_depends_on_the_zone(
    scripted, tmp_path, monkeypatch
):
    days = ["2026-05-01 03:00:00 UTC", "2026-05-01 13:00:00 UTC", "2026-05-31T23:00:00Z"]
    rows = [["zip", "state", "sold"], *(["78701", "TX", day] for day in days)]
    source = csv_file(tmp_path / "in.csv", rows)

    def looked_up(**arguments):
        output = tmp_path / "out.csv"
        run = enrich_file(source, output, client=scripted, cache=False, force=True, **arguments)
        notes = [note for note in run.notes if "UTC" in note]
        return pd.read_csv(output, dtype=str)["lookup_as_of"].tolist(), " ".join(notes)

    days, notes = looked_up()
    assert days == ["2026-05-01", "2026-05-01", "2026-05-31"]
    assert "1 of 3" in notes
    days, notes = looked_up(tz="America/Chicago")
    assert (days, notes) == (["2026-04-30", "2026-05-01", "2026-05-31"], "")
    monkeypatch.setenv("SVC_TZ", "America/Chicago")
    days, notes = looked_up()
    assert days == ["2026-04-30", "2026-05-01", "2026-05-31"]
    assert "1 of 3" in notes


def test_a_column_of_the_user_with_one_of_our_names_is_refused_and_a_prefix_helps(
    scripted, faults, tmp_path
):
    rows = [["zip", "state", "confidence"], ["02134", "MA", "mine"]]
    source = csv_file(tmp_path / "in.csv", rows)
    with pytest.raises(ValueError, match=r"'confidence'.*prefix"):
        enrich_file(source, tmp_path / "out.csv", client=scripted)
    assert faults.seen == []
    enrich_file(source, tmp_path / "out.csv", prefix="svc_", client=scripted)
    assert own_columns(tmp_path / "out.csv", 3) == rows


def test_two_columns_of_one_name_pass_through_a_csv_and_are_refused_for_parquet(scripted, tmp_path):
    rows = [["zip", "note", "note", "state"], ["02134", "a", "b", "MA"]]
    source = csv_file(tmp_path / "in.csv", rows)
    enrich_file(source, tmp_path / "out.csv", client=scripted)
    assert own_columns(tmp_path / "out.csv", 4) == rows
    with pytest.raises(FileError, match="'note' occurs twice"):
        enrich_file(source, tmp_path / "out.parquet", client=scripted)


def test_chosen_columns_alone_and_always_what_failed(scripted, tmp_path):
    source = csv_file(tmp_path / "in.csv")
    chosen = {"lookup": LOOKUP, "columns": ["combined_rate"], "client": scripted}
    enrich_file(source, tmp_path / "out.csv", **chosen)
    ours = csv_cells(tmp_path / "out.csv")[0][len(HEADER) :]
    assert ours == ["combined_rate", "lookup_status", "lookup_error"]


def test_a_header_without_rows_is_a_file_without_rows(scripted, tmp_path):
    source = csv_file(tmp_path / "in.csv", [HEADER])
    run = enrich_file(
        source, tmp_path / "out.parquet", lookup=LOOKUP, tax={"amount": "amount"}, client=scripted
    )
    assert (run.totals.rows, run.all_known) == (0, True)
    assert parquet.read_table(tmp_path / "out.parquet").num_rows == 0


def test_answers_of_a_lock_file_without_any_request(scripted, faults, tmp_path):
    source = csv_file(tmp_path / "in.csv")
    frame = pd.read_csv(source, dtype="str").iloc[:2]
    frame.svc.lookup(**LOOKUP, client=scripted, progress=False).svc.freeze(tmp_path / "a.svclock")
    asked = len(faults.seen)
    run = enrich_file(source, tmp_path / "out.csv", lookup=LOOKUP, locked=tmp_path / "a.svclock")
    assert len(faults.seen) == asked
    assert run.totals.statuses == {"ok": 2, "not_attempted": 1, "invalid": 1}


@pytest.mark.parametrize(
    ("terms", "named"),
    [
        ({"lookup": {"zip": "zop"}}, "zop"),
        ({"tax": {"amount": "price"}}, "price"),
        ({"tax": {"amount": "note", "rounding": "sideways"}}, "rounding"),
        ({"tax": {"amount": "note", "ship_from": "XX"}}, "ship_from"),
        ({"tax": {"amount": "note", "nexus": []}}, "nexus"),
        ({"report": "report.pdf"}, "report"),
        ({"report": "nowhere/report.html"}, "report"),
        ({"report": "out.csv"}, "report"),
        ({"report": "report.html", "report_columns": ["zop"]}, "no column 'zop'"),
        ({"report_columns": ["note"]}, "no report"),
        ({"columns": ["rate"]}, "rate"),
        ({"sheet": "A"}, "sheets"),
        ({"delimiter": "ab"}, "ab"),
        ({"encoding": "klingon"}, "klingon"),
        ({"tz": "Mars"}, "Mars"),
        ({"as_of_grain": "year"}, "year"),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_refused_before_any_request(
    scripted, faults, tmp_path, terms, named
):
    source = csv_file(tmp_path / "in.csv")
    if "report" in terms:
        terms = terms | {"report": tmp_path / terms["report"]}
    with pytest.raises(ValueError, match=named):
        enrich_file(source, tmp_path / "out.csv", client=scripted, **terms)
    assert (faults.seen, (tmp_path / "out.csv").exists()) == ([], False)


@pytest.mark.parametrize("name", ["out.pdf", "folder.csv", "in.csv", "there.csv"])
def test_an_output_that_cannot_or_must_not_be_written_is_refused_first(
    scripted, faults, tmp_path, name
):
    source = csv_file(tmp_path / "in.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "there.csv").write_text("precious")
    with pytest.raises(FileError, match=r"cannot|folder|input|there already|no kind"):
        enrich_file(source, tmp_path / name, client=scripted)
    assert (faults.seen, (tmp_path / "there.csv").read_text()) == ([], "precious")


@pytest.mark.parametrize("name", ["out.xlsx", "OUT.xlsx"])  # one file on Windows and macOS
def test_a_report_in_the_place_of_the_output_is_refused_first(scripted, faults, tmp_path, name):
    source, output = csv_file(tmp_path / "in.csv"), tmp_path / "out.xlsx"
    with pytest.raises(FileError, match="is the output"):
        enrich_file(source, output, client=scripted, report=tmp_path / name)
    assert (faults.seen, [*tmp_path.iterdir()]) == ([], [source])


def test_a_missing_extra_is_said_before_any_request(scripted, faults, tmp_path, monkeypatch):
    source = csv_file(tmp_path / "in.csv")
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    for output, report in (("out.xlsx", None), ("out.csv", tmp_path / "report.xlsx")):
        with pytest.raises(ImportError, match="extra 'report'"):
            enrich_file(source, tmp_path / output, client=scripted, report=report, progress=False)
    assert faults.seen == []
    assert list(tmp_path.iterdir()) == [source]


_MEASURED = """
import sys
import pyarrow as pa
from svc_sdk import Svc
from svc_tools.frames import enrich_file
from svc_tools.tables import tabular

tabular._BLOCK_BYTES = 128 << 10
with Svc("test-key", base_url=sys.argv[1]) as client:
    enrich_file(sys.argv[2], sys.argv[3], client=client)
print(pa.default_memory_pool().max_memory())
"""


def test_the_memory_does_not_grow_with_the_rows(faults, tmp_path):
    source, output = tmp_path / "in.csv", tmp_path / "out.parquet"
    source.write_text("zip,state,note\n" + f"78701,TX,{'x' * 4_000}\n" * 3_000)
    command = [sys.executable, "-c", _MEASURED, faults.base_url, source, output]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert parquet.read_metadata(output).num_rows == 3_000
    assert int(done.stdout) < source.stat().st_size / 2


def written(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx"])
def test_one_place_for_all_rows_needs_no_column(scripted, tmp_path, kind):
    frame = pd.DataFrame({"n": [1, 2], "amount": [100, 1]})
    source = tmp_path / f"in.{kind}"
    if kind == "xlsx":
        frame.to_excel(source, index=False)
    else:
        getattr(frame, f"to_{kind}")(source, index=False)
    place = {"state": "TX", "zip": "78701"}
    run = enrich_file(source, tmp_path / "out.csv", lookup=place, client=scripted)
    assert (run.totals.statuses, run.places) == ({"ok": 2}, 1)


def test_a_register_that_can_be_read_once_counts_for_every_chunk(scripted, tmp_path, monkeypatch):
    monkeypatch.setattr("svc_tools.tables.tabular._BLOCK_BYTES", 64)
    source = written(tmp_path / "in.csv", b"zip,state,amount\n" + b"78701,TX,100.00\n" * 40)
    register = iter([{"state": "TX", "nexus_type": "physical"}])
    terms = {"amount": "amount", "nexus": register}
    enrich_file(source, tmp_path / "out.csv", tax=terms, client=scripted)
    assert pd.read_csv(tmp_path / "out.csv", dtype=str)["tax_due"].tolist() == ["8.25"] * 40


def test_what_a_file_remembers_is_of_this_run_and_not_of_an_earlier_one(scripted, faults, tmp_path):
    frame = pd.DataFrame({"zip": ["78701"], "state": ["TX"], "total": [10], "amount": [100]})
    frame.attrs["mine"] = 1
    asked = frame.svc.lookup(client=scripted, progress=False)
    asked.svc.tax("total", progress=False).to_parquet(tmp_path / "in.parquet")
    enrich_file(tmp_path / "in.parquet", tmp_path / "bare.parquet", client=scripted)
    bare = pd.read_parquet(tmp_path / "bare.parquet")
    assert bare.attrs["mine"] == 1
    assert "terms" not in bare.attrs["svc"]
    output = tmp_path / "out.parquet"
    enrich_file(tmp_path / "bare.parquet", output, tax={"amount": "amount"}, client=scripted)
    after = pd.read_parquet(output)
    assert after.attrs["svc"]["terms"][""]["amount"] == "amount"
    assert after.attrs["svc"]["lookups"][""]["service"] == faults.base_url
    assert [*after.attrs["svc"]["lookups"]] == [""]
    told = json.loads(parquet.read_schema(output).metadata[b"pandas"])
    assert "attributes" not in told


FORMER_ORDER = """
combined_rate state_rate county_rate city_rate combined_district_rate rate_low rate_high
freight_taxable confidence warnings resolved_via effective_date effective_date_basis resolved_state
resolved_zip resolved_city resolved_county lookup_as_of as_of_status needs_review
lookup_review_reason lookup_status lookup_error support_reference lookup_source lookup_edition
looked_up_at tax tax_error taxable_amount exempt_amount state_tax county_tax city_tax
combined_district_tax tax_low tax_high at_stake tax_review shipping_tax tax_due tax_due_reason
"""
"""The order in which earlier versions wrote the columns."""


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_of_an_earlier_version_is_recognized_and_written_in_the_order_of_today(
    scripted, tmp_path, kind
):
    source = written(tmp_path / "in.csv", b"zip,state,amount,tax_due\n78701,TX,100.00,mine\n")
    tax = {"amount": "amount", "shipping": "5.00"}
    enrich_file(source, tmp_path / "now.csv", tax=tax, client=scripted)
    now = pd.read_csv(tmp_path / "now.csv", dtype="str")
    own = ["zip", "state", "amount", "tax_due"]
    former = [name for name in FORMER_ORDER.split() if name in now.columns and name != "tax_due"]
    assert len(former) == 40
    before = tmp_path / f"before.{kind}"
    columns = [*own, *former]
    if kind == "csv":
        now[columns].to_csv(before, index=False)
    else:
        now[columns].to_parquet(before)
    output = tmp_path / "again.csv"
    run = enrich_file(before, output, tax={"amount": "amount"}, client=scripted)
    names = output.read_text().splitlines()[0].split(",")
    assert names == [name for name in now.columns if name != "shipping_tax"]
    assert any("columns of an earlier run are replaced" in note for note in run.notes)


def test_a_column_of_yours_behind_those_of_an_earlier_run_stays(scripted, tmp_path):
    source = written(tmp_path / "in.csv", b"zip,state,amount\n78701,TX,100.00\n")
    once, output = tmp_path / "once.csv", tmp_path / "twice.csv"
    enrich_file(source, once, tax={"amount": "amount"}, client=scripted)
    pd.read_csv(once, dtype="str").assign(shipping_tax="mine").to_csv(once, index=False)
    enrich_file(once, output, tax={"amount": "amount"}, client=scripted)
    again = pd.read_csv(output, dtype="str")
    assert again["shipping_tax"].tolist() == ["mine"]
    assert list(again.columns)[:5] == ["zip", "state", "amount", "shipping_tax", "combined_rate"]


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_a_tax_of_an_earlier_run_leaves_none_of_its_columns_beside_the_new_one(
    scripted, tmp_path, kind
):
    source = written(tmp_path / "in.csv", b"zip,state,amount,tax_due\n78701,TX,100.00,mine\n")
    before = {"amount": "amount", "shipping": "5.00"}
    once = tmp_path / f"once.{kind}"
    enrich_file(source, once, tax=before, client=scripted)
    for terms in ({"amount": "amount"}, before, None):
        output = tmp_path / f"{len(terms or ())}.csv"
        enrich_file(once, output, tax=terms, client=scripted)
        names = output.read_text().splitlines()[0].split(",")
        assert names[:5] == ["zip", "state", "amount", "tax_due", LOOKUP_COLUMNS[0]]
        assert names.count("shipping_tax") == (terms == before)


def test_parquet_of_kinds_that_pandas_does_not_know_and_numbers_that_are_none(scripted, tmp_path):
    texts = pa.array(["78701", "78701", "78701"], pa.string_view())
    table = {"zip": texts, "state": texts, "invoice": [float("nan")] * 3, "amount": [0.06] * 3}
    table["state"] = ["TX"] * 3
    parquet.write_table(pa.table(table), tmp_path / "in.parquet")
    terms = {"amount": "amount", "invoice": "invoice"}
    output = tmp_path / "out.csv"
    enrich_file(tmp_path / "in.parquet", output, tax=terms, client=scripted)
    # each of the three is an invoice of its own: 0.00495 rounds to 0.00, thrice that to 0.01
    assert pd.read_csv(output, dtype=str)["tax"].tolist() == ["0.00"] * 3


def test_a_moment_with_a_zone_keeps_it_in_a_sheet_and_long_texts_are_said_to_be_cut(
    scripted, tmp_path
):
    zone = timezone(timedelta(hours=-5))
    when = pa.array(
        [datetime(2026, 5, 1, 3, tzinfo=UTC).astimezone(zone)], pa.timestamp("us", "-05:00")
    )
    table = {"zip": ["78701"], "state": ["TX"], "when": when, "note": ["x" * 40_000]}
    parquet.write_table(pa.table(table), tmp_path / "in.parquet")
    output = tmp_path / "out.xlsx"
    terms = {"lookup": {"as_of": "when"}, "tz": "America/Chicago", "client": scripted}
    run = enrich_file(tmp_path / "in.parquet", output, **terms)
    row = [cell.value for cell in openpyxl.load_workbook(output).active[2]]
    assert row[2] == "2026-04-30T22:00:00-05:00"
    assert row[3].endswith("(was cut)")
    assert any("were cut" in note for note in run.notes)


SHOWN = """\
state,zip,date,amount
NJ,07030,2026-08-03,129.99
LA,70601,2026-08-03,10.00
NJ,<b>no,2026-08-03,5.00
"""


@pytest.fixture(scope="module")
def run(embedded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("file")
    source = folder / "orders.csv"
    source.write_text(SHOWN)
    return enrich_file(source, folder / "out.csv", tax={"amount": "amount"}, client=embedded)


def test_a_file_shows_its_rows_its_tax_and_where_they_are(run):
    shown = re.sub(r"\s*<[^>]+>\s*", " ", run._repr_html_())
    for fact in ("3 rows, 2 distinct places and dates", f"{run.written}", "$129.99", "$8.61"):
        assert fact in shown
        assert fact in " ".join(str(run).split())
    early = str(replace(run, stopped="the key is refused", written=None))
    assert early.startswith("INCOMPLETE")
    assert "the key is refused" in early


def test_no_cell_of_a_file_becomes_markup(run):
    page = run._repr_html_()
    assert "<b>no" not in page
    assert "&lt;b&gt;no" in page
    assert "\x1b" not in str(replace(run, notes=("a \x1b[31mnote",)))
    totals = deepcopy(run.totals)
    totals.reasons["failed", "a \x1b[31mreason"] = 1
    assert "\x1b" not in str(replace(run, totals=totals))
