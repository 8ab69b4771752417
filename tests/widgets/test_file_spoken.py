"""What the tab "File" says: its own fields, never an option of a command or of Python."""

from __future__ import annotations

import re

import openpyxl
import pytest

from svc_tools.frames.columns import find_inputs
from svc_tools.frames.files.enriching import view_of_file
from svc_tools.frames.files.job import FileJob
from svc_tools.frames.files.rates import Terms
from svc_tools.widgets.file_columns import file_trouble, reworded

OF_CODE = re.compile(r"--\w|\b[a-z_]+=|\bpd\.|\bthe frame\b|\bto_datetime\b")
"""What only those understand who write commands or Python."""

UNREADABLE = {
    "zeros.csv": "order,zip\n1,78701\n".encode("utf-16-le"),
    "marks.csv": b"a,b;c\n1,2;3\n",
    "broken.csv": b"order,zip\n1,78701,extra\n",
    "bytes.csv": b"order,zip\n\x81,78701\n",
    "empty.csv": b"",
    "rows.xlsx": b"no workbook",
    "old.xls": b"\xd0\xcf\x11\xe0",
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_cannot_be_read_is_told_in_the_words_of_the_panel(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(UNREADABLE[name])
    with pytest.raises(ValueError, match=name) as failed:
        list(FileJob(path, tmp_path / "out.csv", Terms({"zip": "zip"})).survey().places)
    said = file_trouble(failed.value, name)
    assert said.text.startswith(name)  # as the file is called
    assert said.text.endswith(".")
    assert not OF_CODE.search(said.text)


@pytest.mark.parametrize(
    ("head", "lookup"),
    [
        ("a,b", {}),
        ("ship_zip,zip,state", {}),
        ("bill_zip,ship_state,state", {}),
        ("zip,order_date,invoice_date", {}),
        ("zip,combined_rate,state", {"as_of": "today"}),
        ("zip,zip,state", {"zip": "zip"}),
    ],
)
def test_columns_that_cannot_be_used_are_told_in_the_words_of_the_panel(tmp_path, head, lookup):
    path = tmp_path / "orders.csv"
    path.write_text(f"{head}\n{','.join(['2026-01-01'] * (head.count(',') + 1))}\n")
    with pytest.raises(ValueError) as failed:  # noqa: PT011 - the message is what is tested
        FileJob(path, tmp_path / "out.csv", Terms(lookup))
    assert not OF_CODE.search(file_trouble(failed.value, path.name).text)


def test_a_result_that_is_there_already_is_told_without_an_option(tmp_path):
    for name in ("orders.csv", "out.csv"):
        (tmp_path / name).write_text("zip\n78701\n")
    with pytest.raises(ValueError, match="there already") as failed:
        FileJob(tmp_path / "orders.csv", tmp_path / "out.csv", Terms({}))
    assert file_trouble(failed.value).text.endswith("is there already; name another file.")


def test_notes_on_what_is_read_name_the_fields(tmp_path):
    book = openpyxl.Workbook()
    book.active.append(["zip", "sold"])
    book.active.append([78701, "2026-05-01"])
    book.create_sheet("Returns")
    book.save(tmp_path / "orders.xlsx")
    view = view_of_file(tmp_path / "orders.xlsx")
    assert view.sheets == ("Sheet", "Returns")
    (note,) = view.notes
    assert reworded(note).endswith("name another.")


def test_notes_on_columns_and_fixed_values_name_the_fields():
    import pandas as pd  # noqa: PLC0415 - of this test alone

    frame = pd.DataFrame({"zip": ["78701"], "sold": ["2026-05-01"]})
    (note, *_) = find_inputs(frame, {"zip": "zip", "as_of": "sold"}).notes
    assert reworded(note) == "ZIP Code from column 'zip', Date of the sale from column 'sold'."
    notes = find_inputs(frame, {"zip": "zip", "state": "TX", "as_of": "2026-05-01"}).notes
    assert "State TX for all rows, Date of the sale 2026-05-01 for all rows." in [
        reworded(text) for text in notes
    ]


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        (
            ("as_of: '5/31' is not an ISO date such as '2026-05-01'; convert the column first, for"
            " instance with pd.to_datetime(..., format='%m/%d/%Y')"),
            ("Date of the sale: '5/31' is not an ISO date such as '2026-05-01'; say how they are"
            " written under “How dates are written”, for instance %m/%d/%Y."),
        ),
        (
            ("as_of: 2026-05-01T00:30Z is a moment; say whose date counts, for instance with"
            " tz='America/Chicago'"),
            ("Date of the sale: 2026-05-01T00:30Z is a moment; say whose date counts, under “Time"
            " zone of the dates”, for instance America/Chicago."),
        ),
        ("state: 'ZZ' is not a US state", "State: 'ZZ' is not a US state."),
        ("orders.csv is read as separated by tabs", "orders.csv is read as separated by tabs."),
    ],
)  # fmt: skip
def test_a_reason_of_a_row_names_the_field(said, instead):
    assert reworded(said, "orders.csv") == instead
