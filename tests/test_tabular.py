"""Tables in files: CSV of every dialect, workbooks, Parquet; what is damaged is refused."""

from __future__ import annotations

import csv
import gzip
import io
import pickle
import re
import zipfile
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import openpyxl
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.frames.files.writing import write_table
from svc_tools.tables.csv_files import FileError, guarded, unguarded
from svc_tools.tables.roles import ColumnAmbiguous, ColumnMissing, Role, find
from svc_tools.tables.tabular import open_table, read_rows


def csv_file(path, rows, *, encoding="utf-8", **dialect):
    with path.open("w", newline="", encoding=encoding) as file:
        csv.writer(file, **dialect).writerows(rows)
    return path


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
    "content",
    [
        b"#;zip\n#1;02134\n",
        b"# Order\tzip\n#1\t02134\n",
        b"sep=;\r\n#;zip\r\n#1;02134\r\n",
    ],
)
def test_order_numbers_behind_a_number_sign_are_no_comments(tmp_path, content):
    rows = cells(written(tmp_path / "orders.csv", content))

    assert [list(row.values()) for row in rows] == [["#1", "02134"]]


@pytest.mark.parametrize("mark", ["§", '"'])
def test_a_first_line_declares_only_what_can_separate_cells(tmp_path, mark):
    path = written(tmp_path / "orders.csv", f"sep={mark}\nCA\n".encode())

    assert cells(path) == [{f"sep={mark}": "CA"}]


def test_names_below_empty_lines_are_no_row_where_marks_stand_within_cells(tmp_path):
    assert cells(written(tmp_path / "a.csv", b'\n\nnote\n12" pipe\n')) == [{"note": '12" pipe'}]


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


DAMAGED_PARTS = {
    "sheets": ("xl/workbook.xml", b"sheetId", b"sheetIc"),
    "styles": ("xl/styles.xml", b"numFmtId", b"numFatId"),
}


@pytest.mark.parametrize("damage", ["cut", "zeros", *DAMAGED_PARTS])
def test_a_damaged_workbook_is_said_in_a_sentence(tmp_path, damage):
    whole = book(tmp_path / "in.xlsx", ("A", "visible", [["zip", "state"], *[[1, "MA"]] * 999]))
    path, inside = tmp_path / "bad.xlsx", "xl/worksheets/sheet1.xml"
    with zipfile.ZipFile(whole) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            part, before, after = DAMAGED_PARTS.get(damage, ("", b"", b""))
            content = content.replace(before, after) if name == part else content
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
        assert seen.delimiter is None
    with closing(open_table(path, sheet="Old")) as old:
        assert [chunk.table["zip"].to_pylist() for chunk in old.chunks()] == [["02134"]]


@pytest.mark.parametrize("where", ["XFD3", "XFD1", "XFD1048576"])
def test_a_cell_far_to_the_right_of_the_others_is_left_out_and_named(tmp_path, where):
    path = stray(tmp_path, where, "lost")
    assert cells(path) == [{"zip": "02134", "state": "MA"}, {"zip": "78701", "state": "TX"}]
    with closing(open_table(path)) as rows:
        assert [f"{where} ('lost')" in note for note in rows.notes] == [True]


def test_of_many_cells_far_to_the_right_one_is_named(tmp_path):
    path = stray(tmp_path, "XFD2", "lost")
    made = openpyxl.load_workbook(path)
    made.active["BZZ3"] = made.active["XFD3"] = 7
    made.save(path)
    with closing(open_table(path)) as rows:
        assert rows.schema.names == ["zip", "state"]
        (note,) = rows.notes
    assert "XFD2 ('lost') and 2 further cells" in note


@pytest.mark.parametrize(
    ("where", "reader"),
    [
        *(("B1048576", reader) for reader in (open_table, read_rows)),
        *(("C20000", reader) for reader in (open_table, read_rows)),
        *((where, read_rows) for where in ("XFD3", "XFD1", "XFD1048576")),
    ],
)
def test_a_cell_far_below_the_others_or_far_away_in_a_register_is_refused(tmp_path, where, reader):
    path = stray(tmp_path, where, "lost")
    with pytest.raises(FileError, match=rf"cell {where} \('lost'\)") as refused:
        reader(path)
    assert refused.value.code == "stray"


@pytest.mark.parametrize("first", ["XFD1", "BZZ1"])
def test_a_table_far_away_from_the_first_cell_is_named(tmp_path, first):
    made = openpyxl.Workbook()
    made.active[first] = "lost"
    made.active["A3"] = "zip"
    made.save(tmp_path / "in.xlsx")
    with pytest.raises(FileError, match=r"cell A3 \('zip'\)"):
        open_table(tmp_path / "in.xlsx")


@pytest.mark.parametrize("where", ["XFD3", "XFD1048576", "B1048576"])
@pytest.mark.parametrize("value", [None, ""])
def test_cells_without_a_value_are_no_rows_and_no_columns(tmp_path, where, value):
    path = stray(tmp_path, where, value)
    assert cells(path) == [{"zip": "02134", "state": "MA"}, {"zip": "78701", "state": "TX"}]
    assert read_rows(path) == [
        (1, ["zip", "state"]),
        (2, ["02134", "MA"]),
        (3, ["78701", "TX"]),
    ]


def test_empty_rows_and_columns_between_cells_stay(tmp_path):
    path = book(
        tmp_path / "in.xlsx",
        ("A", "visible", [[], [None, "zip", None, "x"], [], [None, "02134", None, 0], []]),
    )
    assert read_rows(path) == [
        (1, []),
        (2, [None, "zip", None, "x"]),
        (3, []),
        (4, [None, "02134", None, 0]),
    ]
    with closing(open_table(path)) as rows:
        (chunk,) = rows.chunks()
        assert rows.schema.names == ["", "zip", "", "x"]
        assert [column.to_pylist() for column in chunk.table.columns] == [
            [None, None],
            [None, "02134"],
            [None, None],
            [None, 0],
        ]


def stray(folder, where, value):
    """A workbook with two rows, and a formatted cell elsewhere."""
    made = openpyxl.Workbook()
    for row in (["zip", "state"], ["02134", "MA"], ["78701", "TX"]):
        made.active.append(row)
    made.active[where].font = openpyxl.styles.Font(bold=True)
    made.active[where] = value
    if value == "":
        made.active[where].data_type = "s"
    made.save(folder / "in.xlsx")
    return folder / "in.xlsx"


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


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_also_where_cells_hold_the_others(tmp_path, delimiter):
    rows = [["zip", "name"], ["02134", "a, b; c | d"], ["78701", "1,5"]]
    source = open_table(csv_file(tmp_path / "in.csv", rows, delimiter=delimiter))
    assert source.delimiter == delimiter
    assert source.schema.names == ["zip", "name"]
    (chunk,) = source.chunks()
    assert chunk.table.column(1).to_pylist() == ["a, b; c | d", "1,5"]


def test_the_encoding_of_windows_is_found_where_the_first_odd_letter_comes_late(tmp_path):
    rows = [["zip", "city"], *[["02134", "x" * 99]] * 9_000, ["00901", "Añasco"]]
    source = open_table(csv_file(tmp_path / "in.csv", rows, encoding="cp1252"))
    assert list(source.chunks())[-1].table.column(1).to_pylist()[-1] == "Añasco"
    assert "Windows-1252" in source.notes[0]


def test_a_delimiter_that_cannot_be_told_is_asked_for(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("zip,a;b\n02134,1;2\n")
    with pytest.raises(FileError, match="commas or semicolons") as refused:
        open_table(path)
    assert refused.value.code == "delimiter"
    assert open_table(path, delimiter=";").schema.names == ["zip,a", "b"]


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
        # quotation marks that would swallow rows
        ("three.csv", H + b'1,MA,"a\n2,MA,b\n3,MA,c\n4,MA,"d\n', "quote", "row 2 .* 3 lines"),
        ("next.csv", H + b'1,MA,"a\n2,MA,"d\n', "quote", "row 2 .* the next line"),
        ("two.csv", H + b'1,MA,12"\n2,MA,"d\n3,MA,e\n4,MA,"5"" f\n', "quote", "row 3 .* 2 lines"),
        ("never.csv", H + b'1,MA,12" and 3"\n2,MA,"d\n', "quote", "row 3 and never closed"),
        (
            "title.csv",
            b"Report of May\n" + H + MA,
            "header",
            "stand in row 2; remove the rows above",
        ),
        ("odd.csv", b"Report of May\na,b,c\n1,2,3\n", "width", "above the names"),
        ("not.csv.gz", H + MA, "damaged", ""),
        (
            "cut.csv.gz",
            gzip.compress(H + MA * 99_999, mtime=0)[:-20],
            "damaged",
            "download it again",
        ),
        (
            "bits.csv.gz",
            gzip.compress(H + MA * 99_999, mtime=0)[:-6] + b"\0" * 6,
            "damaged",
            "again",
        ),
        ("more.csv.gz", gzip.compress(H + MA, mtime=0) + b"more", "damaged", "again"),
        (
            "two.csv.gz",
            gzip.compress(H + MA, mtime=0) + gzip.compress(MA * 999, mtime=0)[:-9],
            "damaged",
            "again",
        ),
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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_cells_of_many_lines_are_whole_wherever_a_chunk_ends(tmp_path, monkeypatch, encoding):
    monkeypatch.setattr("svc_tools.tables.tabular._BLOCK_BYTES", 256)
    rows = [["zip", "note"], *([f"{n:05}", f"é\n,\r\n\r\r\n{n}" * 3] for n in range(200))]
    path = csv_file(tmp_path / "in.csv", rows, encoding=encoding)
    chunks = list(open_table(path).chunks())
    assert len(chunks) > 9
    assert [row for chunk in chunks for row in chunk.table.to_pylist()] == [
        {"zip": zip_code, "note": note} for zip_code, note in rows[1:]
    ]


def test_rows_of_a_small_file_have_their_numbers(tmp_path):
    text = b'sep=;\r\n# a plan;;\r\n\r\nzip;note\r\n02134;"two\nlines"\r\n'
    assert read_rows(written(tmp_path / "in.csv", text)) == [
        (2, ["# a plan", "", ""]),
        (3, []),
        (4, ["zip", "note"]),
        (6, ["02134", "two\nlines"]),
    ]
    rows = [["zip", "x"], [2134, "MA"]]
    path = book(tmp_path / "in.xlsx", ("A", "visible", rows))
    assert read_rows(path) == [(1, ["zip", "x"]), (2, [2134, "MA"])]
    with pytest.raises(FileError) as refused:
        read_rows(tmp_path / "none.csv")
    assert refused.value.code == "missing"


@pytest.mark.parametrize("text", ["=1", "2026-05-01", "1e5", "'x", "TRUE", "\uff1d1", "plain", ""])
def test_what_a_spreadsheet_would_convert_stands_behind_an_apostrophe(text):
    assert (guarded(text) != text) == (text not in {"plain", ""})
    assert unguarded(guarded(text)) == text


def test_an_error_about_a_file_survives_another_process(tmp_path):
    error = pickle.loads(pickle.dumps(FileError("no", "quote")))
    assert (str(error), error.code) == ("no", "quote")
    column = pickle.loads(pickle.dumps(ColumnAmbiguous("zip", ["a", "b"])))
    assert (column.role, column.candidates, column.code) == ("zip", ("a", "b"), "column_ambiguous")


SALES = [
    Role("amount", re.compile(r"(?:net_)?amount"), needed=True),
    Role("state", frozenset({"state", "jurisdiction"}), specific=re.compile("^state$")),
]


def test_columns_are_found_by_usual_names_or_as_given():
    found = find(["Net Amount", "Jurisdiction", "State"], SALES).checked()
    assert found == {"amount": "Net Amount", "state": "State"}
    assert find(["a", "amount"], SALES, {"amount": "a", "state": False}).checked() == {
        "amount": "a"
    }
    two = find(["amount", "netAmount"], SALES)
    assert [(one.code, one.role) for one in two.problems] == [("column_ambiguous", "amount")]
    for columns, meant in ((["x"], None), (["amount"], {"amount": "none"})):
        with pytest.raises(ColumnMissing) as refused:
            find(columns, SALES, meant).checked()
        assert (refused.value.role, refused.value.columns) == ("amount", tuple(columns))
