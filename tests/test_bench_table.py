"""`make bench`: its table, and what it does where a tool is missing or a group fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import __main__ as bench
from benchmarks import excel_calc, excel_officejs, tools
from benchmarks.measure import SHARE, Finding, medians, scaled, verdict
from tests.support.systems import posix


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
    monkeypatch.setenv(SHARE, "1")  # what a run sets is undone

    def run(*groups, options=()):
        monkeypatch.setattr(bench, "PARTS", {group: (group,) for group in groups})
        monkeypatch.setattr(sys, "argv", ["benchmarks", *options])
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


def test_a_share_is_measured_in_one_round_and_held_against_no_target(run, group, capsys):
    def findings():
        rounds = iter(range(10))
        medians(lambda: next(rounds))
        yield Finding(f"{scaled(5_000)} rows of {scaled(50, least=8)}", "9 x", "<= 2 x", "", "<= 1")
        yield Finding("rounds", f"{next(rounds)}", "reported", "")

    one = group("one", findings)
    assert run(one) == (0, {"5000 rows of 50": "9 x", "rounds": "7"})
    assert run(one, options=["--share", "0.01"]) == (0, {"50 rows of 8": "9 x", "rounds": "1"})
    bench.main()
    assert "missed" not in capsys.readouterr().out


def test_a_group_that_fails_fails_the_run_of_a_share_too(run, group):
    def fails():
        yield finding("first")
        raise ValueError(scaled(100))

    status, cells = run(group("one", fails), options=["--share", "0.1"])
    assert (status, cells) == (
        1,
        {"first": "1.0 x", "one: what was left": "failed: ValueError: 10"},
    )


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "nan", "few", ""])
def test_a_share_that_is_none_is_refused(run, group, given, capsys):
    with pytest.raises(SystemExit) as ended:
        run(group("one", lambda: [finding("a")]), options=["--share", given])
    assert ended.value.code == 2
    assert "--share" in capsys.readouterr().err


@posix
def test_real_groups_run_at_a_share_of_their_size_in_their_own_processes_too():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--share", "0.002", "cache", "nexus"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if line[:1] == "|"][2:]
    names = [row[0].strip() for row in rows]
    assert "cache: 20 answers written in one transaction" in names
    assert [name for name in names if name.startswith("exposure_of_file() of a CSV of 10,000 rows")]
    assert {cell.strip() for row in rows for cell in row[2:]} == {""}


def test_the_files_that_a_file_goes_through_are_counted_as_those_of_a_lookup():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.reach", "--files"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    files = done.stdout.partition("\nenrich, 3 rows\n")[2].splitlines()
    for folder in ("svc_tools/frames/files/", "svc_tools/service/ratebook/"):
        assert [file for file in files if file.startswith(f"  {folder}")], folder
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| enrich, 3 rows ")]
    assert int(row.split("|")[-3]) == len(files)


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
