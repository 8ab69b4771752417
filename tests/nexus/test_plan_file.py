"""The plan as a file: ticked in a spreadsheet, mangled by it, and read back without trust."""

from __future__ import annotations

import csv
import errno
import io
import subprocess
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tools import soffice

from svc_tools.nexus import NEXUS_TYPES, PlanError, make_plan, read_plan, read_register
from svc_tools.nexus.days_meant import days_meant
from svc_tools.nexus.plan import Missing
from svc_tools.nexus.plan_file import COLUMNS
from svc_tools.nexus.plan_rules import NO_SALES_TAX
from svc_tools.nexus.sheet import guarded, unguarded
from svc_tools.places import STATES

DAY = date(2026, 11, 21)
STATES_IN_TURN = ("OR", "NH", "DE", "MT", *(code for code in STATES if code not in NO_SALES_TAX))
HOSTILE = (
    "=1+1",
    "+1 512 555 0100",
    "-5",
    "@SUM(A1)",
    "'tis",
    "''",
    "00123",
    "1E5",
    "12e456",
    "3/4",
    "1-2",
    "12 March",
    "May 2024",
    "March 5",
    "TRUE",
    "10:30",
    "50%",
    "$5.00",
    "1,000",
    "\u00e9t\u00e9 \u2013 \u4e2d\u6587",
    'quote " and, comma; semicolon\ttab',
    "two\nlines",
    "1 Main St, Austin",
)
RECORDS = [
    {"state": "OR", "nexus_type": "economic", "registered_at": "2021-03-04"},
    {"state": "NH", "nexus_type": "economic", "registered_at": "1999-12-31", "notes": "old"},
    {
        "state": "TX",
        "nexus_type": "physical",
        "address": "1 Main St",
        "registered_at": "2020-02-29",
    },
    {"state": "IL", "nexus_type": "economic", "notes": "first"},
    {"state": "IL", "nexus_type": "economic", "notes": "second"},
]


@pytest.fixture
def plan():
    made = make_plan(RECORDS, as_of=DAY, service="https://tax.test", account="12345678901234e5")
    return replace(made, missing_states=(Missing("CA", "California lacks a record."),))


def cells_of(path):
    text = path.read_bytes().decode("utf-8-sig")
    return [*csv.reader(io.StringIO(text, newline=""))]


def put(path, rows, *, separator=",", encoding="utf-8"):
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=separator).writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))
    return path


def edited(path, row, column, value):
    """The file with one cell changed, as a person would."""
    rows = cells_of(path)
    rows[row][COLUMNS.index(column)] = value
    return put(path, rows)


def test_what_is_written_is_read_back(plan, tmp_path):
    ticked = plan.tick(1).tick(4, action="replace")
    path = ticked.write(tmp_path / "plan.csv")
    assert read_plan(path) == ticked
    assert cells_of(path)[0] == [*COLUMNS]
    assert [row[0] for row in cells_of(path)[1:]] == ["", "x", "", "", "replace", ""]
    assert read_plan(path).missing == ("California lacks a record.",)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")  # a spreadsheet then knows the encoding


@pytest.mark.parametrize("mark", ["x", "X", " yes ", "1", "TRUE", "true", "remove", "\u2713"])
def test_ticks_as_people_make_them(plan, tmp_path, mark):
    path = edited(plan.write(tmp_path / "plan.csv"), 2, "remove", mark)
    assert [row.number for row in read_plan(path).ticked] == [1]


@pytest.mark.parametrize("mark", ["", "no", "0", "FALSE", "-", "  "])
def test_marks_that_are_no_ticks(plan, tmp_path, mark):
    path = edited(plan.write(tmp_path / "plan.csv"), 2, "remove", mark)
    assert read_plan(path).ticked == ()


@pytest.mark.parametrize("mark", ["maybe", "later", "?", "xx", "2", "keep", "OR"])
def test_a_mark_that_is_not_known_is_never_taken_for_a_tick(plan, tmp_path, mark):
    path = edited(plan.write(tmp_path / "plan.csv"), 2, "remove", mark)
    with pytest.raises(PlanError, match=rf"row 3 \(NH economic\): '{mark.replace('?', '.')}' in"):
        read_plan(path)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("state", "WA"),
        ("nexus_type", "physical"),
        ("registered_at", "2021-03-05"),
        ("registered_at", ""),
        ("registered_at", "soon"),
        ("address", "5 Elm"),
        ("notes", "new"),
        ("decision", "keep"),
        ("reason", "no_sales_tax: Because I say so."),
        ("evidence", "None."),
        ("service", "https://other.test"),
        ("account", "00ff"),
        ("as_of", "as of 2026-11-20"),
    ],
)
def test_a_row_that_says_something_else_is_refused_by_its_number(plan, tmp_path, column, value):
    path = edited(plan.write(tmp_path / "plan.csv"), 3, column, value)
    with pytest.raises(PlanError) as refused:
        read_plan(path)
    (problem,) = refused.value.problems
    assert problem.startswith("row 4 (")
    assert column in problem
    assert "make the plan again" in problem


def test_every_faulty_row_is_listed(plan, tmp_path):
    path = plan.write(tmp_path / "plan.csv")
    edited(path, 2, "remove", "perhaps")
    edited(path, 3, "notes", "changed")
    edited(path, 1, "remove", "x")
    rows = cells_of(path)
    put(path, [*rows, ["x", "WA", "economic", "", "", "", "candidate", "", "", "", "", "", ""]])
    with pytest.raises(PlanError) as refused:
        read_plan(path)
    told = refused.value.problems
    assert [one.split(" (")[0].split(":")[0] for one in told] == [
        "row 2",
        "row 3",
        "row 4",
        "row 8",
    ]
    assert "there is no record to remove" in told[0]
    assert "added by hand" in told[3]


def test_a_record_that_takes_the_place_of_another_row_is_seen(plan, tmp_path):
    path = plan.write(tmp_path / "plan.csv")
    rows = cells_of(path)
    at = COLUMNS.index("plan_id")
    rows[2][at], rows[3][at] = rows[3][at], rows[2][at]
    with pytest.raises(PlanError, match=r"row 3 .*row 4"):
        read_plan(put(path, rows))


def test_a_row_pasted_twice_and_rows_of_another_plan_are_refused(plan, tmp_path):
    path = plan.write(tmp_path / "plan.csv")
    rows = cells_of(path)
    with pytest.raises(PlanError, match="rows 3 and 8 are the same row of the plan"):
        read_plan(put(path, [*rows, rows[2]]))
    other = make_plan(RECORDS, as_of=DAY).write(tmp_path / "other.csv")
    with pytest.raises(PlanError, match="of several plans"):
        read_plan(put(path, [*rows, cells_of(other)[1]]))


def test_rows_may_be_sorted_or_left_out_and_columns_added(plan, tmp_path):
    path = plan.tick(2).write(tmp_path / "plan.csv")
    head, *rows = cells_of(path)
    moved = [[*row[::-1], "my comment"] for row in rows[::-1] if row[1] != "TX"]
    put(path, [[*head[::-1], "Comment"], *moved])
    read = read_plan(path)
    assert [row.number for row in read.rows] == [1, 2, 3, 4]
    assert [row.number for row in read.ticked] == [2]
    assert read.missing == plan.missing


def test_a_row_that_was_left_out_is_not_removed_along_with_its_twin(plan, tmp_path):
    path = plan.write(tmp_path / "plan.csv")
    rows = [row for row in cells_of(path) if row[5] != "second"]
    read = read_plan(put(path, rows))
    with pytest.raises(PlanError, match=r"IL economic: a removal takes every record.* 2 of them"):
        _ = read.tick(("IL", "economic")).removals
    ticked = [["x", *row[1:]] if row[1] == "IL" else row for row in rows]
    with pytest.raises(PlanError, match="put the rows back that were left out"):
        read_plan(put(path, ticked))
    (removal,) = read.tick(("IL", "economic"), action="replace").removals
    assert removal.expected == 2  # said in so many words: all go, and this one comes back


@pytest.mark.parametrize("name", ["plan.xlsx", "plan.XLS", "plan.ods"])
def test_a_csv_is_not_written_under_the_name_of_a_workbook(plan, tmp_path, name):
    with pytest.raises(ValueError, match=f"{name}: a CSV is what is written; name it .csv"):
        plan.write(tmp_path / name)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("separator", [";", "\t", ","])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_separators_and_encodings_of_spreadsheets(tmp_path, separator, encoding):
    plan = make_plan([RECORDS[0] | {"notes": "caf\u00e9 \u2013 na\u00efve; a, b"}], as_of=DAY).tick(
        1
    )
    path = plan.write(tmp_path / "plan.csv")
    put(path, cells_of(path), separator=separator, encoding=encoding)
    assert read_plan(path) == plan


def test_the_line_that_names_the_separator_and_blank_lines(plan, tmp_path):
    path = plan.write(tmp_path / "plan.csv")
    head, *rows = cells_of(path)
    put(path, [head, [""] * len(COLUMNS), *rows[:2], [], *rows[2:], [""] * 3], separator=";")
    path.write_bytes(b"sep=;\r\n" + path.read_bytes() + b"\r\n\r\n")
    assert read_plan(path) == plan


@pytest.mark.parametrize(
    "form",
    [
        "%m/%d/%Y",
        "%d/%m/%Y",
        "%d.%m.%Y",
        "%m/%d/%y",
        "%d-%b-%y",
        "%d-%b-%Y",
        "%B %d, %Y",
        "%Y/%m/%d",
        "%Y-%m-%d 00:00:00",
        "serial",
    ],
)
def test_dates_that_a_spreadsheet_wrote_its_own_way(plan, tmp_path, form):
    path = plan.tick(1, 2).write(tmp_path / "plan.csv")
    rows = cells_of(path)
    for row in rows[2:]:
        if row[3]:
            day = date.fromisoformat(row[3])
            serial = str((day - date(1899, 12, 30)).days)
            row[3] = serial if form == "serial" else day.strftime(form)
    assert read_plan(put(path, rows)) == plan.tick(1, 2)


def test_a_workbook_with_real_dates_and_truth_values(plan, tmp_path):
    rows = cells_of(plan.write(tmp_path / "plan.csv"))
    book = openpyxl.Workbook()
    sheet = book.active
    for row in rows:
        sheet.append([cell or None for cell in row])
    for row in sheet.iter_rows(min_row=2):
        if row[3].value:
            row[3].value = datetime.fromisoformat(row[3].value)
    sheet["A3"].value = True
    sheet["A4"].value = 1
    sheet["A7"].value = False
    book.save(tmp_path / "plan.xlsx")
    assert read_plan(tmp_path / "plan.xlsx") == plan.tick(1, 2)


def test_a_real_spreadsheet_reads_writes_and_loses_nothing(tmp_path):
    """LibreOffice: the CSV becomes a workbook, and that a CSV with semicolons again."""
    register = [
        {
            "state": "OR",
            "nexus_type": kind,
            "registered_at": f"20{number:02}-0{1 + number % 9}-{1 + number:02}",
            "address": text,
            "notes": text[::-1] if "\n" not in text else text,
        }
        for number, text in enumerate(HOSTILE)
        for kind in ("economic",)
    ]
    register = [
        row | {"state": state} for row, state in zip(register, STATES_IN_TURN, strict=False)
    ]
    plan = make_plan(register, as_of=DAY, service="https://tax.test", account="12345678901234e5")
    plan = plan.tick(1, 5)
    path = plan.write(tmp_path / "plan.csv")
    program = soffice()
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"

    def convert(source, kind, folder, *options):
        command = [program, profile, "--headless", *options, "--convert-to", kind]
        subprocess.run(
            [*command, "--outdir", folder, source], check=True, capture_output=True, timeout=120
        )

    # as a person opens it: UTF-8, US English, numbers and dates recognised wherever they can be
    opened = "--infilter=Text - txt - csv (StarCalc):44,34,76,1,,1033,false,true"
    convert(path, "xlsx", tmp_path / "one", opened)
    assert read_plan(tmp_path / "one" / "plan.xlsx") == plan
    convert(
        tmp_path / "one" / "plan.xlsx",
        "csv:Text - txt - csv (StarCalc):59,34,76,1,,1033,false,true",
        tmp_path / "two",
    )
    again = tmp_path / "two" / "plan.csv"
    assert again.read_bytes() != path.read_bytes()
    assert read_plan(again) == plan


def test_files_that_are_no_plan(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        read_plan(tmp_path / "none.csv")
    path = tmp_path / "plan.csv"
    path.write_text("state,nexus_type\nTX,physical\n")
    with pytest.raises(PlanError, match=r"plan\.csv is no plan of this tool.*no remove,"):
        read_plan(path)
    path.write_text("")
    with pytest.raises(PlanError, match="is no plan of this tool"):
        read_plan(path)
    path.write_text(",".join(COLUMNS) + "\n")
    with pytest.raises(PlanError, match="has no rows"):
        read_plan(path)
    (tmp_path / "plan.xlsx").write_bytes(b"PK no workbook")
    with pytest.raises(PlanError, match="no workbook that can be read"):
        read_plan(tmp_path / "plan.xlsx")
    (tmp_path / "plan.ods").write_bytes(b"PK")
    with pytest.raises(PlanError, match=r"save it as \.xlsx or CSV"):
        read_plan(tmp_path / "plan.ods")


def test_a_workbook_that_was_cut_off_is_said(plan, tmp_path):
    book = openpyxl.Workbook()
    for row in cells_of(plan.write(tmp_path / "plan.csv")):
        book.active.append(row)
    path = tmp_path / "plan.xlsx"
    book.save(path)
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(PlanError, match=r"plan\.xlsx is no workbook that can be read"):
        read_plan(path)


def test_a_file_that_cannot_be_written_leaves_what_was_there(plan, tmp_path, monkeypatch):
    path = plan.tick(1).write(tmp_path / "plan.csv")
    before = path.read_bytes()

    def full(_handle):
        raise OSError(errno.ENOSPC, "no space is left")

    with monkeypatch.context() as patched:
        patched.setattr("svc_tools.whole_file.os.fsync", full)
        with pytest.raises(OSError, match="no space"):
            plan.write(path)
    assert path.read_bytes() == before
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    with pytest.raises(OSError, match="folder"):
        plan.write(folder)
    assert {one.name for one in tmp_path.iterdir()} == {"plan.csv", "folder.csv"}  # no draft stays


def test_the_register_too_is_written_and_read_back(tmp_path):
    rows = [
        {"state": "TX", "nexus_type": "physical", "address": text, "notes": text}
        for text in HOSTILE
    ]
    register = read_register(rows)
    assert read_register(register.write(tmp_path / "register.csv")).records == register.records


records = st.fixed_dictionaries(
    {
        "state": st.sampled_from(sorted(STATES)),
        "nexus_type": st.sampled_from(NEXUS_TYPES),
        "registered_at": st.none() | st.dates(),
        "address": st.none() | st.text(),
        "notes": st.none() | st.text() | st.sampled_from(HOSTILE),
    }
)


@settings(max_examples=60)
@given(st.lists(records, min_size=1, max_size=4), st.sampled_from(",;\t"))
def test_any_register_survives_the_file(rows, separator):
    plan = make_plan(rows, as_of=DAY).tick(1)
    plan = plan.tick(plan.rows[0].key)
    with TemporaryDirectory() as folder:
        path = plan.write(Path(folder) / "plan.csv")
        assert read_plan(path) == plan
        assert read_plan(put(path, cells_of(path), separator=separator)) == plan


@given(st.text())
def test_a_guarded_text_is_the_same_text_again(text):
    assert unguarded(guarded(text)) == text


@given(st.dates(date(1950, 1, 1), date(2049, 12, 31)))
def test_each_way_to_write_a_day_means_that_day_among_others(day):
    for form in ("%Y-%m-%d", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m/%d/%y", "%d-%b-%y"):
        assert day in set(days_meant(day.strftime(form))) or (day.year < 1969 and "y" in form)
    assert [*days_meant("13/13/2024"), *days_meant("x"), *days_meant(None), *days_meant("")] == []
