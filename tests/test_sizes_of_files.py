"""Files of unusual sizes: many columns, and workbooks that are small until they are unpacked."""

from __future__ import annotations

import io
import os
import re
import zipfile
from contextlib import closing

import openpyxl
import pandas as pd
import pytest

from svc_tools.frames import enrich_file
from svc_tools.frames.values.arrow import first_column
from svc_tools.tables.csv_files import FileError
from svc_tools.tables.roles import single
from svc_tools.tables.tabular import open_table, read_rows
from svc_tools.tables.xlsx_files import counts_from_1904

HEAD = ["Order", "State", "ZIP", "Date", "Amount"]
ROW = ["#1", "TX", "78701", "2026-03-05", "10.00"]


@pytest.fixture(scope="module")
def plain_book():
    made = io.BytesIO()
    workbook = openpyxl.Workbook()
    for row in (HEAD, ROW):
        workbook.active.append(row)
    workbook.save(made)
    return made.getvalue()


def changed(path, book, part, before, more):
    """A workbook with bytes put before the first `before` of a part; its path."""
    with (
        zipfile.ZipFile(io.BytesIO(book)) as source,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out,
    ):
        for one in source.infolist():
            content = source.read(one)
            if one.filename == part:
                assert before in content
                content = content.replace(before, more + before, 1)
            out.writestr(one.filename, content)
    return path


SHEET = "xl/worksheets/sheet1.xml"


def numbered(form, count):
    return b"".join(form.replace(b"%", b"%d" % number) for number in range(count))


def cell(content):
    return b'<c r="F1" t="inlineStr"><is>' + content + b"</is></c>"


BOMBS = {
    "styles": lambda: ("xl/styles.xml", b"</cellXfs>", b"<xf/>" * 3_000_000, r"15,00\d,\d{3}"),
    "distinct styles": lambda: (
        *("xl/styles.xml", b"</cellXfs>"),
        numbered(b'<xf fontId="0" numFmtId="%"/>', 300_000),
        r"300,\d{3} entries",
    ),
    "a cell": lambda: (
        *(SHEET, b"</row>"),
        cell(b"<t>" + b"a" * 60_000_000 + b"</t>"),
        r"60,00\d,\d{3}",
    ),
    "a cell that cannot be packed": lambda: (
        *(SHEET, b"</row>"),
        cell(b"<t>" + os.urandom(9_000_000).hex().encode() + b"</t>"),
        "more than 1,048,576 characters",
    ),
    "a cell of runs": lambda: (
        *(SHEET, b"</row>"),
        cell(b"<r><t>aaaaaaaaaa</t></r>" * 1_000_000),
        r"24,00\d,\d{3}",
    ),
    "merged cells": lambda: (
        *(SHEET, b"<pageMargins"),
        b"<mergeCells>" + b'<mergeCell ref="A1:B2"/>' * 1_000_000 + b"</mergeCells>",
        r"24,00\d,\d{3}",
    ),
    "columns": lambda: (
        *(SHEET, b"<sheetData>"),
        b"<cols>" + b'<col min="1" max="1" width="9"/>' * 600_000 + b"</cols>",
        r"19,20\d,\d{3}",
    ),
    "sheets": lambda: (
        *("xl/workbook.xml", b"</sheets>"),
        numbered(b'<sheet name="S%" sheetId="%" state="visible" r:id="rId1"/>', 30_000),
        r"\d\d,\d{3} sheets",
    ),
    "names": lambda: (
        *("xl/workbook.xml", b"<calcPr"),
        b"<definedNames>"
        + numbered(b'<definedName name="n%">1</definedName>', 200_000)
        + b"</definedNames>",
        r"400,\d{3} entries",
    ),
}
DOORS = {
    "a file to enrich": lambda path, folder: enrich_file(path, folder / "out.csv"),
    "a table": lambda path, _: open_table(path),
    "a register": lambda path, _: read_rows(path),
    "its dates": lambda path, _: counts_from_1904(path),
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_workbook_that_unpacks_to_too_much_is_refused_with_its_size(tmp_path, plain_book, kind):
    *change, number = BOMBS[kind]()
    path = changed(tmp_path / "orders.xlsx", plain_book, *change)
    with pytest.raises(FileError) as refused:
        open_table(path)
    assert refused.value.code == "size"
    assert re.search(number, str(refused.value))
    assert "orders.xlsx" in str(refused.value)


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_it(tmp_path, plain_book, door):
    *change, _ = BOMBS["styles"]()
    path = changed(tmp_path / "orders.xlsx", plain_book, *change)
    with pytest.raises(FileError) as refused:
        DOORS[door](path, tmp_path)
    assert refused.value.code == "size"


def test_a_workbook_of_very_many_parts_is_refused(tmp_path, plain_book):
    path = tmp_path / "orders.xlsx"
    path.write_bytes(plain_book)
    with zipfile.ZipFile(path, "a") as out:
        for number in range(10_001):
            out.writestr(f"xl/part{number}.xml", b"")
    with pytest.raises(FileError, match=r"10,0\d\d parts") as refused:
        open_table(path)
    assert refused.value.code == "size"


def test_rows_of_equal_cells_which_pack_well_are_read(tmp_path):
    path = tmp_path / "orders.xlsx"
    workbook = openpyxl.Workbook(write_only=True)
    sheet = workbook.create_sheet("Orders")
    sheet.append(["Note"])
    for _ in range(40_000):
        sheet.append(["the same note in every row, which packs well" * 8])
    workbook.save(path)
    with closing(open_table(path)) as rows:
        assert sum(chunk.table.num_rows for chunk in rows.chunks()) == 40_000


WIDE = 40_000


def test_reading_a_csv_takes_no_time_for_each_pair_of_columns(tmp_path):
    """Where it did, these took many minutes, and the test would be ended before."""
    names = [*HEAD, *(f"c{number}" for number in range(WIDE))]
    path = tmp_path / "wide.csv"
    path.write_text(",".join(names) + "\n" + ",".join([*ROW, *["1.5"] * WIDE]) + "\n")
    with closing(open_table(path)) as rows:
        (chunk,) = rows.chunks()
        (part,) = rows.chunks(range(0, len(names), 2))
    assert chunk.table.column_names == names
    assert part.table.column_names == names[::2]


def test_finding_columns_takes_no_time_for_each_pair_of_them():
    names = [f"c{number}" for number in range(WIDE)]
    frame = pd.DataFrame([range(WIDE)], columns=pd.Index(names, dtype=object))
    assert [first_column(frame, name).iloc[0] for name in names] == [*range(WIDE)]
    assert single([*names, *names[:3]]) == names[3:]
