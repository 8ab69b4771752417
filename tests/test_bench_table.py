"""`make bench`: its table, and what it does where a tool is missing or a group fails."""

from __future__ import annotations

import os
import sys
from types import ModuleType

import pytest

from benchmarks import __main__ as bench
from benchmarks import excel_calc, excel_officejs, tools
from benchmarks.measure import Finding, verdict


@pytest.mark.parametrize(
    ("found", "target", "aim", "said"),
    [
        ("1.62 x", "<= 2.5 x", "<= 1.8 x", "aim met"),
        ("2.10 x", "<= 2.5 x", "<= 1.8 x", "met"),
        ("2.51 x", "<= 2.5 x", "<= 1.8 x", "missed"),
        ("79.9%", ">= 80%", ">= 90%", "missed"),
        ("80.0% of 3,200/s", ">= 80%", ">= 90%", "met"),
        ("0.48 s of CPU, 64 MB", "< 1 s, < 150 MB", "", "met"),
        ("0.48 s of CPU, 150 MB", "< 1 s, < 150 MB", "", "missed"),
        ("10,000", "<= 10,000", "", "met"),
        ("10,001", "<= 10,000", "", "missed"),
        ("1.9 x", "reported", "", ""),
    ],
)
def test_the_verdict_is_that_of_the_figures(found, target, aim, said):
    assert verdict(Finding("what", found, target, "", aim)) == said


@pytest.fixture
def run(monkeypatch, capsys):
    """Run groups as the parts of the benchmarks; gives the status, and cells by row."""

    def run(*groups):
        monkeypatch.setattr(bench, "PARTS", {group: (group,) for group in groups})
        monkeypatch.setattr(sys, "argv", ["benchmarks"])
        status = bench.main()
        lines = capsys.readouterr().out.splitlines()
        cells = [[cell.strip() for cell in line.split("|")] for line in lines if line[:1] == "|"]
        return status, {row[1]: row[2] for row in cells[2:]}

    return run


@pytest.fixture
def group(monkeypatch):
    """Make a group of a function that yields findings."""

    def group(name, findings, rows=None):
        module = ModuleType(f"benchmarks.{name}")
        module.findings = findings
        if rows is not None:
            module.NAMES = rows
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return name

    return group


def finding(name):
    return Finding(name, "1.0 x", "<= 2 x", "")


def test_without_its_tool_a_group_is_skipped_and_the_others_are_measured(
    run, group, monkeypatch, tmp_path
):
    monkeypatch.setenv("PATH", str(tmp_path))
    status, cells = run("excel_officejs", "excel_calc", group("one", lambda: [finding("a")]))
    assert status == 0
    assert [cells.pop(row).partition(": apt-get")[0] for row in excel_officejs.NAMES] == [
        "skipped: Node.js is missing"
    ] * 3
    assert [cells.pop(row).partition(": apt-get")[0] for row in excel_calc.NAMES] == [
        "skipped: LibreOffice is missing"
    ] * 2
    assert cells == {"a": "1.0 x"}


def test_a_group_that_fails_keeps_its_first_rows_and_the_other_groups(run, group, capsys):
    def fails():
        yield finding("first")
        assert "first\n  1.0 x" in capsys.readouterr().out, "a row is shown once it is measured"
        raise RuntimeError("the server\nis gone")

    status, cells = run(
        group("one", fails, rows=("first", "second")),
        group("two", fails),
        group("three", lambda: [finding("last")]),
        "no_such_module",
    )
    assert status == 1
    assert cells == {
        "first": "1.0 x",
        "second": "failed: RuntimeError: the server is gone",
        "two: what was left": "failed: RuntimeError: the server is gone",
        "last": "1.0 x",
        "no_such_module: what was left": "failed: ModuleNotFoundError: No module named"
        " 'benchmarks.no_such_module'",
    }


def test_libreoffice_sees_no_virtual_environment_and_no_key(monkeypatch, tmp_path):
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    monkeypatch.setenv("PYTHONHOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("SVC_API_KEY", "a key")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    given = tools.clean_environment(SVC_EXCEL="folder")
    assert str(tmp_path) not in os.pathsep.join(given.values())
    assert {name for name in given if name.startswith(("SVC_", "PYTHON", "VIRTUAL"))} == {
        "SVC_EXCEL"
    }
