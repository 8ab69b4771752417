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
from svc_tools.nexus.plan import PLAN_COLUMNS, Missing, plan_header
from svc_tools.nexus.planning import NO_SALES_TAX
from svc_tools.tables.states import STATES

DAY = date(2026, 11, 21)
STATES_IN_TURN = ("OR", "NH", "DE", "MT", *(code for code in STATES if code not in NO_SALES_TAX))
HOSTILE = (
    *("=1+1", "+1 512 555 0100", "-5", "@SUM(A1)", "'tis", "''", "00123", "1E5", "12e456", "3/4"),
    *("1-2", "12 March", "May 2024", "March 5", "TRUE", "10:30", "50%", "$5.00", "1,000"),
    *("\u00e9t\u00e9 \u2013 \u4e2d\u6587", 'quote " and, comma; semicolon\ttab', "two\nlines"),
    "1 Main St, Austin",
)
RECORDS = [
    {"state": state, "nexus_type": kind, "registered_at": day, "address": address, "notes": notes}
    for state, kind, day, address, notes in [
        ("OR", "economic", "2021-03-04", None, None),
        ("NH", "economic", "1999-12-31", None, "old"),
        ("TX", "physical", "2020-02-29", "1 Main St", None),
        ("IL", "economic", None, None, "first"),
        ("IL", "economic", None, None, "second"),
    ]
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


FIRST = 3
"""The rows above the first of the plan: whose it is, an empty one, the labels."""


def edited(path, row, column, value):
    """The file with one cell changed, as a person would; `row` counts from the first record."""
    rows = cells_of(path)
    rows[FIRST + row][PLAN_COLUMNS.index(column)] = value
    return put(path, rows)


def test_what_is_written_is_read_back(plan, tmp_path):
    ticked = plan.tick(1).tick(4, action="replace")
    path = ticked.write(tmp_path / "plan.csv")
    assert read_plan(path) == ticked
    assert cells_of(path)[:FIRST] == [[plan_header(plan)], [], [*PLAN_COLUMNS]]
    assert [row[0] for row in cells_of(path)[FIRST:]] == ["", "x", "", "", "replace", ""]
    assert read_plan(path).missing == ("California lacks a record.",)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")  # a spreadsheet then knows the encoding
    register = read_register(
        [{"state": "TX", "nexus_type": "physical", "notes": text} for text in HOSTILE]
    )
    assert read_register(register.write(tmp_path / "register.csv")).records == register.records


@pytest.mark.parametrize(
    ("mark", "ticked"),
    [
        *((mark, [1]) for mark in ("x", "X", " yes ", "1", "TRUE", "true", "remove", "\u2713")),
        *((mark, []) for mark in ("", "no", "0", "FALSE", "-", "  ")),
    ],
)
def test_ticks_as_people_make_them(plan, tmp_path, mark, ticked):
    path = edited(plan.write(tmp_path / "plan.csv"), 1, "remove", mark)
    assert [row.number for row in read_plan(path).ticked] == ticked


@pytest.mark.parametrize(
    ("column", "value"),
    [
        # a mark that is not known is never taken for a tick
        *(("remove", mark) for mark in ("maybe", "later", "?", "xx", "2", "keep", "OR")),
        ("state", "ZZ"),
        ("nexus_type", "digital"),
        *(("registered_at", day) for day in ("03/04/2021", "44259", "soon")),
        ("decision", "remove it"),
        *(("reason", reason) for reason in ("because: I say so.", "Because I say so.")),
        ("row", ""),
        ("expected", "one"),
        ("register_row", "-1"),
    ],
)
def test_a_cell_that_no_plan_has_is_refused_by_its_row_and_column(plan, tmp_path, column, value):
    path = edited(plan.write(tmp_path / "plan.csv"), 2, column, value)
    with pytest.raises(PlanError) as refused:
        read_plan(path)
    (problem,) = refused.value.problems
    assert problem.startswith("row 6 (")
    assert f"{value!r}" in problem
    assert column in problem


def test_every_faulty_row_is_listed(plan, tmp_path):
    path = plan.write(tmp_path / "plan.csv")
    edited(path, 0, "remove", "x")  # there is no record to remove
    edited(path, 1, "remove", "perhaps")
    edited(path, 2, "decision", "changed")
    rows = [*cells_of(path), ["x", "WA", "economic", *[""] * 9]]  # added by hand
    with pytest.raises(PlanError) as refused:
        read_plan(put(path, rows))
    found = [one.split(" (")[0] for one in refused.value.problems]
    assert found == ["row 4", "row 5", "row 6", "row 10"]


def test_rows_wider_than_the_names_of_the_columns_are_listed(plan, tmp_path):
    path = plan.write(tmp_path / "plan.csv")
    rows = cells_of(path)
    for at in (1, 2):
        rows[FIRST + at].insert(5, "Suite 5")  # an address with a comma, without its marks
    with pytest.raises(PlanError) as refused:
        read_plan(put(path, rows))
    assert [one.split(" has ")[0] for one in refused.value.problems] == ["row 5", "row 6"]


def test_names_of_columns_that_a_program_ran_together_are_not_printed(plan, tmp_path):
    path = plan.write(tmp_path / "plan.csv")
    rows = cells_of(path)
    rows[2] = ["remove", str([*PLAN_COLUMNS[1:]])]
    with pytest.raises(PlanError) as refused:
        read_plan(put(path, rows))
    (problem,) = refused.value.problems
    assert PLAN_COLUMNS[1] in problem
    assert "[" not in problem


def test_a_row_pasted_twice_is_refused(plan, tmp_path):
    path = plan.write(tmp_path / "plan.csv")
    rows = cells_of(path)
    with pytest.raises(PlanError, match="rows 5 and 10 are the same row of the plan"):
        read_plan(put(path, [*rows, rows[FIRST + 1]]))


@pytest.mark.parametrize("change", ["gone", "another", "no day", "no moment"])
def test_a_file_that_does_not_say_whose_plan_it_is_is_refused(plan, tmp_path, change):
    path = plan.write(tmp_path / "plan.csv")
    rows = cells_of(path)
    rows[0] = {
        "gone": [],
        "another": ["# my plan"],
        "no day": [rows[0][0].replace("2026-11-21", "2026-13-21")],
        "no moment": [rows[0][0].replace(plan.plan_id[:13], "plan-99999999")],
    }[change]
    with pytest.raises(PlanError, match=r"plan\.csv does not begin .*make the plan again"):
        read_plan(put(path, rows))


def test_rows_may_be_sorted_or_left_out_and_columns_added(plan, tmp_path):
    path = plan.tick(2).write(tmp_path / "plan.csv")
    made_for, _, head, *rows = cells_of(path)
    moved = [[*row[::-1], "my comment"] for row in rows[::-1] if row[1] != "TX"]
    put(path, [made_for, [*head[::-1], "Comment"], *moved])
    read = read_plan(path)
    assert [row.number for row in read.rows] == [1, 2, 3, 4]
    assert [row.number for row in read.ticked] == [2]
    assert read.missing == plan.missing


@pytest.mark.parametrize("name", ["remove", "Remove ", "row", "nexus type"])
def test_two_columns_of_one_name_are_refused(plan, tmp_path, name):
    made_for, _, head, *rows = cells_of(plan.tick(1).write(tmp_path / "plan.csv"))
    put(tmp_path / "plan.csv", [made_for, [*head, name], *([*row, "x"] for row in rows)])
    with pytest.raises(PlanError) as refused:
        read_plan(tmp_path / "plan.csv")
    (problem,) = refused.value.problems
    column = name.strip().lower().replace(" ", "_")
    assert f"several columns {column} (columns {PLAN_COLUMNS.index(column) + 1} and 13)" in problem


@pytest.mark.parametrize("column", ["state", "nexus_type", "row"])
def test_a_column_that_was_sorted_alone_moves_no_tick(plan, tmp_path, column):
    path = plan.tick(1).write(tmp_path / "plan.csv")
    rows, at = cells_of(path), PLAN_COLUMNS.index(column)
    records = rows[FIRST + 1 :]
    alone = sorted((row[at] for row in records), reverse=column != "state")
    for row, cell in zip(records, alone, strict=True):
        row[at] = cell
    with pytest.raises(PlanError) as refused:
        read_plan(put(path, rows))
    assert refused.value.problems
    assert all("sorted or moved" in one for one in refused.value.problems)


def test_a_plan_of_an_earlier_release_has_numbers_alone_and_is_read(plan, tmp_path):
    path, at = plan.tick(2).write(tmp_path / "plan.csv"), PLAN_COLUMNS.index("row")
    rows = cells_of(path)
    for row in rows[FIRST + 1 :]:
        row[at] = row[at].split()[0]
    assert read_plan(put(path, rows)) == plan.tick(2)


def test_a_row_that_was_left_out_is_not_removed_along_with_its_twin(plan, tmp_path):
    path = plan.write(tmp_path / "plan.csv")
    rows = [row for row in cells_of(path) if row[5:6] != ["second"]]
    read = read_plan(put(path, rows))
    with pytest.raises(PlanError, match=r"IL economic: a removal takes every record.* 2 of them"):
        _ = read.tick(("IL", "economic")).removals
    ticked = [["x", *row[1:]] if row[1:2] == ["IL"] else row for row in rows]
    with pytest.raises(PlanError, match="put the rows back that were left out"):
        read_plan(put(path, ticked))
    (removal,) = read.tick(("IL", "economic"), action="replace").removals
    assert removal.expected == 2  # said in so many words: all go, and this one comes back


@pytest.mark.parametrize("name", ["plan.xlsx", "plan.XLS", "plan.ods"])
def test_a_csv_is_not_written_under_the_name_of_a_workbook(plan, tmp_path, name):
    with pytest.raises(ValueError, match=name):
        plan.write(tmp_path / name)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("separator", [";", "\t", ","])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_separators_and_encodings_of_spreadsheets(tmp_path, separator, encoding):
    record = RECORDS[0] | {"notes": "caf\u00e9 \u2013 na\u00efve; a, b"}
    plan = make_plan([record], as_of=DAY).tick(1)
    path = plan.write(tmp_path / "plan.csv")
    put(path, cells_of(path), separator=separator, encoding=encoding)
    assert read_plan(path) == plan


def test_the_line_that_names_the_separator_and_blank_lines(plan, tmp_path):
    path = plan.write(tmp_path / "plan.csv")
    made_for, _, head, *rows = cells_of(path)
    blank = [""] * len(PLAN_COLUMNS)
    put(path, [made_for, blank, blank, head, blank, *rows[:2], [], *rows[2:], blank], separator=";")
    path.write_bytes(b"sep=;\r\n" + path.read_bytes() + b"\r\n\r\n")
    assert read_plan(path) == plan


def test_a_workbook_with_real_dates_and_truth_values(plan, tmp_path):
    rows = cells_of(plan.write(tmp_path / "plan.csv"))
    book = openpyxl.Workbook()
    sheet = book.active
    for row in rows:
        sheet.append([cell or None for cell in row])
    for row in sheet.iter_rows(min_row=FIRST + 1):
        if row[3].value:
            row[3].value = datetime.fromisoformat(row[3].value.removeprefix("'"))
        for cell in row[10:]:
            cell.value = cell.value and float(cell.value)
    sheet["A5"].value = True
    sheet["A6"].value = 1
    sheet["A9"].value = False
    book.save(tmp_path / "plan.xlsx")
    assert read_plan(tmp_path / "plan.xlsx") == plan.tick(1, 2)


@pytest.mark.timeout(300)  # LibreOffice starts, twice
def test_a_real_spreadsheet_reads_writes_and_loses_nothing(tmp_path):
    """LibreOffice: the CSV becomes a workbook, and that a CSV with semicolons again."""
    register = [
        {
            "state": state,
            "nexus_type": "economic",
            "registered_at": f"20{number:02}-0{1 + number % 9}-{1 + number:02}",
            "address": text,
            "notes": text[::-1] if "\n" not in text else text,
        }
        for number, (text, state) in enumerate(zip(HOSTILE, STATES_IN_TURN, strict=False))
    ]
    plan = make_plan(register, as_of=DAY, service="https://tax.test", account="12345678901234e5")
    plan = plan.tick(1, 5)
    path = plan.write(tmp_path / "plan.csv")
    profile = f"-env:UserInstallation={(tmp_path / 'profile').as_uri()}"

    def convert(source, kind, folder, *options):
        command = [soffice(), profile, "--headless", *options, "--convert-to", kind]
        subprocess.run(
            [*command, "--outdir", folder, source], check=True, capture_output=True, timeout=120
        )

    # as a user opens it: UTF-8, US English, numbers and dates recognized wherever they can be
    options = "Text - txt - csv (StarCalc):{},34,76,1,,1033,false,true"
    convert(path, "xlsx", tmp_path / "one", f"--infilter={options.format(44)}")
    assert read_plan(tmp_path / "one" / "plan.xlsx") == plan
    convert(tmp_path / "one" / "plan.xlsx", f"csv:{options.format(59)}", tmp_path / "two")
    again = tmp_path / "two" / "plan.csv"
    assert again.read_bytes() != path.read_bytes()
    assert read_plan(again) == plan


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("state,nexus_type\nTX,physical\n", r"plan\.csv does not begin"),
        ("", r"plan\.csv does not begin"),
        ("{header}\nstate,nexus_type\nTX,physical\n", r"plan\.csv .* no remove,"),
        (f"{{header}}\n{','.join(PLAN_COLUMNS)}\n", "no rows"),
    ],
)
def test_files_that_are_no_plan(plan, tmp_path, text, problem):
    path = tmp_path / "plan.csv"
    path.write_text(text.format(header=plan_header(plan)))
    with pytest.raises(PlanError, match=problem):
        read_plan(path)


def test_workbooks_that_are_no_plan(plan, tmp_path):
    with pytest.raises(FileNotFoundError):
        read_plan(tmp_path / "none.csv")
    path = tmp_path / "plan.xlsx"
    book = openpyxl.Workbook()
    book.active.append([plan_header(plan)])
    book.save(path)
    for content in (b"PK no workbook", path.read_bytes()[:-400]):  # cut off
        path.write_bytes(content)
        with pytest.raises(PlanError, match=r"plan\.xlsx|Excel workbook"):
            read_plan(path)
    path.rename(tmp_path / "plan.ods")
    with pytest.raises(PlanError, match=r"\.csv"):
        read_plan(tmp_path / "plan.ods")


def test_a_file_that_cannot_be_written_leaves_what_was_there(plan, tmp_path, monkeypatch):
    path = plan.tick(1).write(tmp_path / "plan.csv")
    before = path.read_bytes()

    def full(_handle):
        raise OSError(errno.ENOSPC, "no space is left")

    with monkeypatch.context() as patched:
        patched.setattr("svc_tools.base.atomic.os.fsync", full)
        with pytest.raises(OSError, match="no space"):
            plan.write(path)
    assert path.read_bytes() == before
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    with pytest.raises(OSError, match="folder"):
        plan.write(folder)
    assert {one.name for one in tmp_path.iterdir()} == {"plan.csv", "folder.csv"}  # no draft stays


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"))
records = st.fixed_dictionaries(
    {
        "state": st.sampled_from(sorted(STATES)),
        "nexus_type": st.sampled_from(NEXUS_TYPES),
        "registered_at": st.none() | st.dates(),
        "address": st.none() | TEXTS,
        "notes": st.none() | TEXTS | st.sampled_from(HOSTILE),
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
