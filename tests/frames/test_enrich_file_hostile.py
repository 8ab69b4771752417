"""Files as they come: damaged, mangled, changed meanwhile; no row is lost and no figure differs."""

from __future__ import annotations

import gzip
import json
import zipfile
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from svc_tools.csv_files import FileError
from svc_tools.frames import enrich_file
from svc_tools.frames.lookup_columns import LOOKUP_COLUMNS
from svc_tools.tabular import open_table

H = b"zip,state,note\n"
MA = b"02134,MA,a\n"


def written(path, content):
    path.write_bytes(content)
    return path


def cells(path):
    with closing(open_table(path)) as rows:
        return [row for chunk in rows.chunks() for row in chunk.table.to_pylist()]


def book(path, *sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for name, state, rows in sheets:
        sheet = made.create_sheet(name)
        sheet.sheet_state = state
        for row in rows:
            sheet.append(row)
    made.active = len(sheets) - 1
    made.save(path)
    return path


@pytest.mark.parametrize("empty", [b"\n\n", b"\r\n\r\n", b"\xef\xbb\xbf\n", b"\r"])
def test_empty_lines_above_the_names_are_no_rows(tmp_path, empty):
    path = written(tmp_path / "in.csv", empty + H + MA)
    assert cells(path) == [{"zip": "02134", "state": "MA", "note": "a"}]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (b'1,MA,"a\n2,MA,b\n3,MA,c\n4,MA,"d\n5,MA,e\n', "row 2 and closed 3 lines further down"),
        (b'1,MA,"a\n2,MA,"d\n', "row 2 and closed on the next line"),
        (b'1,MA,12"\n2,MA,"d\n3,MA,e\n4,MA,"5"" f\n', "opened in row 3 and closed 2 lines"),
        (b'1,MA,12" and 3"\n2,MA,"d\n', "opened in row 3 and never closed"),
    ],
)
def test_a_mark_that_would_swallow_rows_is_refused_and_named(tmp_path, rows, told):
    with pytest.raises(FileError, match=told):
        open_table(written(tmp_path / "in.csv", H + rows))


def test_marks_that_are_letters_of_their_cells_stay(tmp_path):
    path = written(tmp_path / "in.csv", H + b'1,MA,12" pipe\n2,MA,"3"" x"\n3,MA,"two\nlines"\n')
    assert [row["note"] for row in cells(path)] == ['12" pipe', '3" x', "two\nlines"]


@given(st.lists(st.lists(st.text('a",\n', max_size=5), min_size=2, max_size=2), max_size=6))
def test_whatever_is_quoted_as_it_should_be_is_not_refused(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("marks") / "in.csv"
    pd.DataFrame([["x", "y"], *rows]).to_csv(path, index=False, header=False, lineterminator="\n")
    assert [[row["x"] or "", row["y"] or ""] for row in cells(path)] == rows


@pytest.mark.parametrize("mark", [b"", b'"'])
def test_a_cell_may_be_longer_than_pythons_reader_takes(tmp_path, mark):
    long = b"x, " * 70_000 if mark else b"x" * 200_000
    path = written(tmp_path / "in.csv", H + b"02134,MA," + mark + long + mark + b"\n")
    assert cells(path)[0]["note"] == long.decode()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("title.csv", b"Report of May\n" + H + MA, "'Report of May': delete what stands above"),
        ("not.csv.gz", H + MA, "cannot be read"),
        ("cut.csv.gz", gzip.compress(H + bytes(range(35, 128)) * 999)[:-20], "cannot be read"),
    ],
)
def test_a_csv_that_is_none_is_said_in_a_sentence(tmp_path, name, content, told):
    with pytest.raises(FileError, match=told):
        cells(written(tmp_path / name, content))


@pytest.mark.parametrize("damage", ["cut", "zeros"])
def test_a_damaged_workbook_is_said_in_a_sentence(tmp_path, damage):
    whole = book(tmp_path / "in.xlsx", ("A", "visible", [["zip", "state"], *[[1, "MA"]] * 999]))
    path, inside = tmp_path / "bad.xlsx", "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content[:-400] if name == inside and damage == "cut" else content)
    if damage == "zeros":
        content = bytearray(whole.read_bytes())
        with zipfile.ZipFile(whole) as old:
            start = old.getinfo(inside).header_offset + 200
        content[start : start + 60] = bytes(60)
        path.write_bytes(content)
    with pytest.raises(FileError, match="cannot be read as an Excel workbook"):
        cells(path)


def test_a_hidden_sheet_is_not_taken_for_the_first(tmp_path):
    rows = [["zip", "state"], ["02134", "MA"]], [["zip", "state"], ["78701", "TX"]]
    path = book(tmp_path / "in.xlsx", ("Old", "hidden", rows[0]), ("New", "visible", rows[1]))
    assert cells(path) == [{"zip": "78701", "state": "TX"}]
    with closing(open_table(path)) as seen:
        assert "'New' is read" in seen.notes[0]
    with closing(open_table(path, sheet="Old")) as old:
        assert [chunk.table["zip"].to_pylist() for chunk in old.chunks()] == [["02134"]]


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


def test_what_one_word_says_for_all_rows_is_the_tax_of_the_frame(scripted, tmp_path):
    source = written(tmp_path / "in.csv", b"zip,state,amount\n78701,TX,10.00\n")
    terms = {"amount": "amount", "channel": "marketplace", "ship_from": "TX", "shipping": "2.00"}
    enrich_file(source, tmp_path / "out.csv", tax=terms, client=scripted)
    row = pd.read_csv(tmp_path / "out.csv", dtype=str).iloc[0]
    assert (row["tax"], row["tax_due_reason"]) == ("0.99", "marketplace_facilitated")
    assert "origin_sourced" in row["tax_review"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"tax": {"amount": "note", "rounding": "sideways"}},
        {"tax": {"amount": "note", "ship_from": "XX"}},
        {"tax": {"amount": "note", "nexus": []}},
        {"report": "report.pdf"},
        {"report": "nowhere/report.html"},
        {"report": "out.csv"},
    ],
    ids=str,
)
def test_what_would_fail_at_the_end_is_refused_before_any_request(
    scripted, faults, tmp_path, wrong
):
    source = written(tmp_path / "in.csv", H + MA)
    if "report" in wrong:
        wrong = {"report": tmp_path / wrong["report"]}
    with pytest.raises(ValueError, match=r"rounding|ship_from|nexus|report"):
        enrich_file(source, tmp_path / "out.csv", client=scripted, **wrong)
    assert faults.seen == []


def test_a_register_that_can_be_read_once_counts_for_every_chunk(scripted, tmp_path, monkeypatch):
    monkeypatch.setattr("svc_tools.tabular._BLOCK_BYTES", 64)
    source = written(tmp_path / "in.csv", b"zip,state,amount\n" + b"78701,TX,100.00\n" * 40)
    register = iter([{"state": "TX", "nexus_type": "physical"}])
    terms = {"amount": "amount", "nexus": register}
    enrich_file(source, tmp_path / "out.csv", tax=terms, client=scripted)
    assert pd.read_csv(tmp_path / "out.csv", dtype=str)["tax_due"].tolist() == ["8.25"] * 40


@pytest.mark.parametrize("how", ["grows", "replaced", "gone"])
def test_a_file_that_changes_between_its_readings_is_refused(scripted, tmp_path, how):
    source = written(tmp_path / "in.csv", H + MA)
    rows = open_table(source)
    assert len(list(rows.chunks())) == 1
    if how == "grows":
        source.write_bytes(H + MA + b"78701,TX,b\n")
    elif how == "replaced":
        written(tmp_path / "new.csv", H + b"78701,TX,b\n").replace(source)
    else:
        source.unlink()
    with pytest.raises(FileError, match=r"in\.csv was changed while it was read"):
        list(rows.chunks())


def test_what_a_file_remembers_is_of_this_run_and_not_of_an_earlier_one(scripted, faults, tmp_path):
    frame = pd.DataFrame({"zip": ["78701"], "state": ["TX"], "total": [10], "amount": [100]})
    frame.attrs["mine"] = 1
    asked = frame.svc.lookup(client=scripted, progress=False)
    asked.svc.tax("total", progress=False).to_parquet(tmp_path / "in.parquet")
    enrich_file(tmp_path / "in.parquet", tmp_path / "bare.parquet", client=scripted)
    bare = pd.read_parquet(tmp_path / "bare.parquet")
    assert bare.attrs["mine"] == 1
    assert "svc_tax_terms" not in bare.attrs
    output = tmp_path / "out.parquet"
    enrich_file(tmp_path / "bare.parquet", output, tax={"amount": "amount"}, client=scripted)
    after = pd.read_parquet(output)
    assert after.attrs["svc_tax_terms"][""]["amount"] == "amount"
    assert after.attrs["svc_lookup"]["service"] == faults.base_url
    assert after.attrs["svc_lookup"]["prefix"] == ""
    told = json.loads(parquet.read_schema(output).metadata[b"pandas"])
    assert "attributes" not in told


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


@pytest.mark.parametrize("rows", [1, 7, 1_000])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shipping": "freight", "exempt": "exempt", "rounding": "half_even"},
        {"invoice": "invoice", "shipping": "freight", "partial": "use", "rounding": "up"},
        {"invoice": "invoice", "channel": "channel", "ship_from": "state", "exempt": "exempt"},
        {"nexus": [{"state": "TX", "nexus_type": "economic"}], "channel": "channel"},
    ],
    ids="-".join,
)
def test_every_column_is_that_of_the_whole_frame_whatever_the_chunks(
    embedded, tmp_path, monkeypatch, rows, options
):
    monkeypatch.setattr("svc_tools.tabular._PARQUET_ROWS", rows)
    places = [("TX", "78701"), ("WA", "98101"), ("OR", "97201"), ("CA", "94105"), (None, "00901")]
    count = 60
    frame = pd.DataFrame(
        {
            "state": [places[n % 5][0] for n in range(count)],
            "zip": [places[n % 5][1] if n % 13 else None for n in range(count)],
            "sold": [f"2026-0{n % 3 + 1}-01" if n % 17 else "?" for n in range(count)],
            "amount": [
                f"{(n * 7919) % 2_000 / 100 - 4:.2f}" if n % 19 else "x" for n in range(count)
            ],
            "freight": [Decimal(n % 4) for n in range(count)],
            "exempt": [n % 6 == 0 for n in range(count)],
            "invoice": [f"I{n * 5 % 17}" if n % 4 else None for n in range(count)],
            "channel": ["direct" if n % 3 else "marketplace" for n in range(count)],
        }
    )
    frame.to_parquet(tmp_path / "in.parquet")
    asking = {"client": embedded, "cache": tmp_path / "answers.db"}
    terms = {"amount": "amount", **options}
    enrich_file(
        *(tmp_path / "in.parquet", tmp_path / "out.parquet"),
        lookup={"as_of": "sold"},
        tax=terms,
        **asking,
    )
    whole = frame.svc.lookup(as_of="sold", progress=False, **asking).svc.tax(
        **terms, progress=False
    )
    whole.to_parquet(tmp_path / "whole.parquet")
    ours = parquet.read_table(tmp_path / "out.parquet").to_pydict()
    assert ours == parquet.read_table(tmp_path / "whole.parquet").to_pydict()
    assert len(set(ours["tax"])) > 9
