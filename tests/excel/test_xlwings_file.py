"""`xlwings.conf`: one setting changes, the others stay, and Excel's side reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.windows import as_excel_reads

from svc_tools import ConfigurationError
from svc_tools.excel import xlwings_file
from svc_tools.excel.xlwings_file import INTERPRETER, keep_backup, pairs_in, with_pair

PYTHON = r"C:\Users\José\venv\Scripts\python.exe"
NAMES = st.sampled_from(["PYTHONPATH", "UDF MODULES", "SHOW CONSOLE", "ONEDRIVE_WIN", INTERPRETER])
VALUES = st.text(st.characters(codec="utf-8", exclude_characters='"\r\n,'), max_size=20).filter(
    lambda text: text == text.strip() and text.isprintable()
)


def written(pairs, blank="", end="\r\n"):
    return "".join(f'"{name}","{value}"{end}{blank}' for name, value in pairs).encode()


@given(st.lists(st.tuples(NAMES, VALUES), max_size=8), st.sampled_from(["", "\r\n", " \n"]))
def test_excel_reads_the_new_setting_and_each_other_one_as_before(pairs, blank):
    content = with_pair(written(pairs, blank), INTERPRETER, PYTHON)
    read = as_excel_reads(content)
    before = as_excel_reads(written(pairs))
    assert read == before | {INTERPRETER: PYTHON}
    assert pairs_in(content) == read
    assert with_pair(content, INTERPRETER, PYTHON) == content


def test_a_setting_in_other_capitals_is_the_same_and_given_twice_is_given_once():
    content = b'"interpreter_win","old"\n"PYTHONPATH","x"\n"INTERPRETER_WIN","older"'
    changed = with_pair(content, INTERPRETER, r"C:\p\python.exe")
    assert changed == b'"INTERPRETER_WIN","C:\\p\\python.exe"\r\n"PYTHONPATH","x"\r\n'


def test_the_mark_that_some_editors_put_first_does_not_hide_the_first_setting():
    content = b'\xef\xbb\xbf"INTERPRETER_WIN","old"\r\n'
    assert pairs_in(content) == {INTERPRETER: "old"}
    assert with_pair(content, INTERPRETER, "new") == b'"INTERPRETER_WIN","new"\r\n'


def test_lines_of_another_code_page_stay_to_the_byte(monkeypatch):
    monkeypatch.setattr(xlwings_file.locale, "getencoding", lambda: "cp1252")
    content = '"ONEDRIVE_WIN","C:\\Büro"\r\n'.encode("cp1252")
    changed = with_pair(content, INTERPRETER, PYTHON)
    assert changed.startswith(content)
    assert as_excel_reads(changed, "cp1252")[INTERPRETER] == PYTHON


def test_a_path_that_excels_side_cannot_read_is_refused_with_the_reason(monkeypatch):
    monkeypatch.setattr(xlwings_file.locale, "getencoding", lambda: "cp1252")
    with pytest.raises(ConfigurationError, match="code page cp1252"):
        with_pair(b"", INTERPRETER, "C:\\Ωμέγα\\python.exe")


def test_each_backup_is_kept(tmp_path):
    path = tmp_path / "xlwings.conf"
    assert keep_backup(path) is None
    for number, content in enumerate((b"first", b"second"), start=1):
        path.write_bytes(content)
        backup = keep_backup(path)
        assert backup.name == f"xlwings.conf.before-{number}"
    assert [one.read_bytes() for one in sorted(tmp_path.glob("*.before-*"))] == [
        b"first",
        b"second",
    ]
