"""`enrich_file`: every kind of file in and out, its own columns untouched, nothing ever wrong."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from support.faults import KEY, answer, echo, serving

from svc_sdk import Svc
from svc_tools.csv_files import FileError
from svc_tools.frames import enrich_file
from svc_tools.frames.files.writing import write_table
from svc_tools.frames.lookup_columns import LOOKUP_COLUMNS, TAX_COLUMNS
from svc_tools.tabular import open_table

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
    run = enrich_file(source, output, lookup=LOOKUP, tax={"amount": "amount"}, client=scripted)
    assert own_columns(output) == [HEADER, *ROWS]
    assert run.totals.statuses == {"ok": 3, "invalid": 1}
    assert (run.totals.taxed, run.totals.tax) == (3, Decimal("103.09"))
    names = own_columns(output, 999)[0]
    assert names == [*HEADER, *LOOKUP_COLUMNS, *TAX_COLUMNS]
    row = dict(zip(names, own_columns(output, 999)[2], strict=True))
    assert Decimal(str(row["combined_rate"])) == Decimal("0.08250")
    assert Decimal(str(row["tax"])) == Decimal("-0.41")


def test_two_rows_of_one_place_are_one_request_also_when_they_lie_in_different_chunks(
    scripted, faults, tmp_path, monkeypatch
):
    monkeypatch.setattr("svc_tools.tabular._BLOCK_BYTES", 512)
    rows = [[str(n), "78701" if n % 2 else "78702", "TX", "2026-05-01", "1", ""] for n in range(99)]
    source = csv_file(tmp_path / "in.csv", [HEADER, *rows])
    run = enrich_file(source, tmp_path / "out.csv", lookup=LOOKUP, client=scripted)
    assert len(list(open_table(source).chunks())) > 3
    assert (run.places, run.asked, len(faults.seen)) == (2, 2, 2)
    assert own_columns(tmp_path / "out.csv") == [HEADER, *rows]


cell = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0\ufeff"),
    max_size=8,
) | st.sampled_from(['"', '""', ",", ";", "\n", "\r\n", "\r", " 00123 ", "=cmd", "NA", "null"])
tables = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.lists(cell, min_size=width, max_size=width), min_size=1, max_size=9)
)


@given(tables, st.sampled_from([",", ";", "\t"]), st.sampled_from(["utf-8-sig", "utf-16"]))
def test_any_text_of_a_csv_comes_out_as_it_went_in(rows, delimiter, encoding):
    named = [[f"c{n}" for n in range(len(rows[0]))], *rows]
    with TemporaryDirectory() as folder:
        path = csv_file(
            Path(folder) / "in.csv", named, encoding=encoding, delimiter=delimiter, quoting=1
        )
        source = open_table(path, delimiter=delimiter)
        out = io.BytesIO()
        write_table("csv", out, source.schema, source.chunks(), len(rows))
    written = list(csv.reader(io.StringIO(out.getvalue().decode(), newline="")))
    assert written == named


def test_a_file_is_written_where_the_standard_output_takes_only_text(
    scripted, tmp_path, monkeypatch
):
    source = csv_file(tmp_path / "in.csv")
    monkeypatch.setattr(sys, "stdout", io.StringIO())  # as in a notebook's kernel
    enrich_file(source, tmp_path / "out.csv", lookup=LOOKUP, client=scripted)
    assert own_columns(tmp_path / "out.csv") == [HEADER, *ROWS]
    with pytest.raises(FileError, match="name a file"):
        enrich_file(source, "-", lookup=LOOKUP, client=scripted)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_also_where_cells_hold_the_others(tmp_path, delimiter):
    rows = [["zip", "name"], ["02134", "a, b; c | d"], ["78701", "1,5"]]
    source = open_table(csv_file(tmp_path / "in.csv", rows, delimiter=delimiter))
    assert source.schema.names == ["zip", "name"]
    (chunk,) = source.chunks()
    assert chunk.table.column(1).to_pylist() == ["a, b; c | d", "1,5"]


def test_a_delimiter_that_cannot_be_told_is_asked_for(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("zip,a;b\n02134,1;2\n")
    with pytest.raises(FileError, match="commas or semicolons") as refused:
        open_table(path)
    assert refused.value.code == "delimiter"
    assert open_table(path, delimiter=";").schema.names == ["zip,a", "b"]


def test_a_file_of_windows_is_read_as_such_and_said(tmp_path):
    late = [["02134", "x" * 99]] * 9_000  # the first odd letter comes late
    rows = [["zip", "city"], *late, ["00901", "Añasco"]]
    source = open_table(csv_file(tmp_path / "in.csv", rows, encoding="cp1252"))
    assert list(source.chunks())[-1].table.column(1).to_pylist()[-1] == "Añasco"
    assert "Windows-1252" in source.notes[0]


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


@pytest.mark.parametrize("size", [256, 1_024, 1 << 20])
def test_an_invoice_whose_lines_lie_in_several_chunks_has_the_tax_of_the_whole_frame(
    scripted, tmp_path, monkeypatch, size
):
    monkeypatch.setattr("svc_tools.tabular._BLOCK_BYTES", size)
    header = ["invoice", "zip", "state", "amount"]
    rows = [
        [
            f"I{n % 7 if n % 3 else n // 4}" if n % 11 else "",
            "78701",
            "TX",
            f"{(n * 37) % 900 / 100 - 2:.2f}",
        ]
        for n in range(150)
    ]
    source, output = csv_file(tmp_path / "in.csv", [header, *rows]), tmp_path / "out.parquet"
    terms = {"amount": "amount", "invoice": "invoice"}
    run = enrich_file(source, output, tax=terms, client=scripted)
    frame = pd.DataFrame(rows, columns=header).replace("", None)
    whole = frame.svc.lookup(client=scripted, progress=False).svc.tax(**terms, progress=False)
    taxes = parquet.read_table(output).column("tax").to_pylist()
    assert taxes == whole["tax"].tolist()
    assert run.totals.tax == sum(taxes)
    each = frame.svc.lookup(client=scripted, progress=False).svc.tax("amount", progress=False)
    assert taxes != each["tax"].tolist()


@pytest.mark.parametrize("size", [512, 1 << 20])
@pytest.mark.parametrize("tax", [{"amount": "amount"}, None])
def test_a_file_has_the_review_of_its_whole_frame(embedded, tmp_path, monkeypatch, size, tax):
    monkeypatch.setattr("svc_tools.tabular._BLOCK_BYTES", size)
    rows = [
        ["70801", "LA", "Baton Rouge", f"{number * 13 % 500}.{number:02}"] for number in range(60)
    ]
    rows += [["75001", "TX", "Addison", "99.95"], ["83702", "ID", "Boise", "250.10"]]
    rows += [["99801", "AK", "Juneau", "70.00"], ["", "LA", "", "12.12"], ["", "", "", "1.00"]]
    rows += [["00901", "PR", "San Juan", "40.00"], ["70801", "LA", "", "x"]]
    source = csv_file(tmp_path / "in.csv", [["zip", "state", "city", "amount"], *rows])
    output = tmp_path / "out.parquet"
    lookup = {"as_of": False}
    run = enrich_file(source, output, lookup=lookup, tax=tax, client=embedded)
    review = pd.read_parquet(output).svc.review()
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
    monkeypatch.setattr("svc_tools.tabular._BLOCK_BYTES", 256)
    rows = [
        [f"I{number % 7}" if number % 3 else f"one-{number}", *place, f"{number}.37", "1.10"]
        for number in range(60)
        for place in [("70801", "LA") if number % 2 else ("75001", "TX")]
    ]
    source = csv_file(tmp_path / "in.csv", [["invoice", "zip", "state", "total", "free"], *rows])
    output = tmp_path / "out.parquet"
    terms = {"amount": "total", "exempt": "free", "invoice": "invoice"}
    run = enrich_file(source, output, lookup={"as_of": False}, tax=terms, client=embedded)
    review = pd.read_parquet(output).svc.review()
    assert run.totals.review.groups() == review.state_reasons
    assert review.totals.unknown_rows == 0


def test_dates_as_they_are_written_in_the_file_decide_and_stay(scripted, faults, tmp_path):
    rows = [["zip", "state", "sold"], ["78701", "TX", "04/03/2026"], ["78701", "TX", "31/12/2025"]]
    source = csv_file(tmp_path / "in.csv", rows)
    terms = {"lookup": {"as_of": "sold"}, "client": scripted}
    run = enrich_file(source, tmp_path / "a.csv", **terms)
    assert run.totals.statuses == {"invalid": 2}
    run = enrich_file(source, tmp_path / "b.csv", date_format="%d/%m/%Y", **terms)
    assert run.totals.statuses == {"ok": 2}
    assert {seen.target.split("as_of=")[1] for seen in faults.seen} == {"2026-03-04", "2025-12-31"}
    assert own_columns(tmp_path / "b.csv", 3) == rows
    with pytest.raises(ValueError, match=r"date_format.*year, month and day"):
        enrich_file(source, tmp_path / "c.csv", date_format="%d/%m", **terms)


def test_columns_of_an_earlier_run_give_way_to_the_new_ones(scripted, tmp_path):
    source = csv_file(tmp_path / "in.csv")
    terms = {"lookup": LOOKUP, "tax": {"amount": "amount"}, "client": scripted}
    enrich_file(source, tmp_path / "once.csv", **terms)
    run = enrich_file(tmp_path / "once.csv", tmp_path / "twice.csv", **terms)
    assert csv_cells(tmp_path / "twice.csv")[0] == csv_cells(tmp_path / "once.csv")[0]
    assert any("earlier run" in note for note in run.notes)


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
    with pytest.raises(ValueError, match="no column 'rate'"):
        enrich_file(source, tmp_path / "no.csv", columns=["rate"], client=scripted)


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


def test_a_sheet_whose_formulas_have_no_results_is_refused_rather_than_read_as_empty(tmp_path):
    book = openpyxl.Workbook()
    for row in [["zip", "state", "amount"], ["02134", "MA", "=1+1"]]:
        book.active.append(row)
    book.save(tmp_path / "in.xlsx")
    with pytest.raises(FileError, match="row 2 has the formula '=1\\+1' without its result"):
        open_table(tmp_path / "in.xlsx")


@pytest.mark.parametrize(
    ("name", "content", "code", "where"),
    [
        ("none.csv", None, "missing", ""),
        ("empty.csv", b"", "empty", ""),
        ("ragged.csv", b"zip,state\n02134,MA\n02134,MA,x\n", "width", "row 3 has 3 cells"),
        ("short.csv", b"zip,state\n02134,MA\n02134\n", "width", "row 3 has 1 cell"),
        ("marks.csv", b'zip,state\n12" pipe,MA\n02134\n', "width", "row 3 has 1 cell"),
        ("open.csv", b'zip,state\n02134,"MA\n02134,MA\n', "quote", "row 2"),
        ("zeros.csv", b"z\0i\0p\0", "encoding", ""),
        ("odd.csv", b"zip,state\n\x8102134,MA\n", "encoding", "byte 10"),
        ("no.parquet", b"zip,state\n02134,MA\n", "damaged", ""),
        ("cut.parquet", b"PAR1" + b"\0" * 40, "damaged", ""),
        ("really.csv", b"PAR1....", "kind", "Parquet"),
        ("locked.xlsx", b"\xd0\xcf\x11\xe0" + b"\0" * 600, "kind", "password"),
        ("broken.xlsx", b"PK\x03\x04 nothing", "damaged", ""),
        ("orders.json", b"{}", "kind", ""),
        (".", None, "kind", "folder"),
        ("-", None, "kind", ""),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_its_fault(tmp_path, name, content, code, where):
    path = tmp_path / name if name != "-" else Path("-")
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FileError, match=where or None) as refused:
        list(open_table(path).chunks())
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ({"lookup": {"zip": "zop"}}, "zop"),
        ({"tax": {"amount": "price"}}, "no column 'price'"),
        ({"sheet": "A"}, "has no sheets"),
        ({"delimiter": "ab"}, "'ab' is not known"),
        ({"encoding": "klingon"}, "'klingon' is not known"),
        ({"tz": "Mars"}, "'Mars'"),
        ({"as_of_grain": "year"}, "'year' is not known"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_any_request(
    scripted, faults, tmp_path, terms, told
):
    source = csv_file(tmp_path / "in.csv")
    with pytest.raises(ValueError, match=told):
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


def test_a_report_of_the_whole_file_too(scripted, tmp_path):
    page = tmp_path / "report.html"
    source = csv_file(tmp_path / "in.csv")
    terms = {"lookup": LOOKUP, "tax": {"amount": "amount"}, "client": scripted}
    enrich_file(source, tmp_path / "out.csv", report=page, **terms)
    assert "103.09" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_cells_of_many_lines_are_whole_wherever_a_chunk_ends(tmp_path, monkeypatch, encoding):
    monkeypatch.setattr("svc_tools.tabular._BLOCK_BYTES", 256)
    rows = [["zip", "note"], *([f"{n:05}", f"é\n,\r\n\r\r\n{n}" * 3] for n in range(200))]
    path = csv_file(tmp_path / "in.csv", rows, encoding=encoding)
    chunks = list(open_table(path).chunks())
    assert len(chunks) > 9
    assert [row for chunk in chunks for row in chunk.table.to_pylist()] == [
        {"zip": zip_code, "note": note} for zip_code, note in rows[1:]
    ]


_MEASURED = """
import sys
import pyarrow as pa
from svc_sdk import Svc
from svc_tools.frames import enrich_file
from svc_tools import tabular

tabular._BLOCK_BYTES = 256 << 10
with Svc("test-key", base_url=sys.argv[1]) as client:
    enrich_file(sys.argv[2], sys.argv[3], client=client)
print(pa.default_memory_pool().max_memory())
"""


def test_the_memory_does_not_grow_with_the_rows(faults, tmp_path):
    source, output = tmp_path / "in.csv", tmp_path / "out.parquet"
    source.write_text("zip,state,note\n" + f"78701,TX,{'x' * 4_000}\n" * 6_000)
    command = [sys.executable, "-c", _MEASURED, faults.base_url, source, output]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert parquet.read_metadata(output).num_rows == 6_000
    assert int(done.stdout) < source.stat().st_size / 2
