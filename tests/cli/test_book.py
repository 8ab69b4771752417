"""`svc-tools book`: official files imported, listed and removed; a check against known rates."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from support.command import svc_tools
from support.faults import KEY
from support.serving import program
from support.systems import homes

INDIANA = (
    "18,45,18,0.07,0.07,0,0,20080401,29991231\n18,00,001,0.01,0.01,0.01,0.01,20120101,29991231\n"
)
NEXT = INDIANA.replace("0.01,0.01,0.01,0.01,20120101", "0.015,0.015,,,20120101") + (
    "18,00,003,0.01,0.01,,,20260701,29991231\n18,00,005,0.01,0.02,,,20260701,29991231\n"
)


@pytest.fixture
def home(tmp_path):
    """A user's data folder of the test's own."""
    return homes(tmp_path / "data")


@pytest.fixture
def files(tmp_path):
    first, second = tmp_path / "INR2026Q2FEB1.csv", tmp_path / "INR2026Q3MAY1.csv"
    first.write_text(INDIANA)
    second.write_text(NEXT)
    return first, second


def test_an_import_says_what_changed_and_the_next_lookup_answers_with_it(home, files):
    done = svc_tools("book", "import", files[0], **home)
    assert (done.returncode, done.stderr) == (0, "")
    assert "IN rates  2026Q2, 2 rows of INR2026Q2FEB1.csv" in done.stdout
    done = svc_tools("book", "import", files[1], **home)
    for text in (
        "2026Q2 -> 2026Q3",
        "2 jurisdictions added: Allen County, Bartholomew County",
        "1 rate changed:",
        "2012-01-01 Adams County 1.00% 1.50%",
        "line 4: 005: intrastate 0.01 and interstate 0.02 differ",
        "no restart is needed",
    ):
        assert text in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "nothing to do" in svc_tools("book", "import", files[1], **home).stdout
    answer = svc_tools(
        "lookup", "IN", "--location", "Adams County", "--as-of", "2026-08-01", "--embedded", **home
    )
    assert "8.50%" in answer.stdout


def test_a_file_cut_off_leaves_the_book_as_it_is_unless_it_is_forced(home, tmp_path):
    rows = [f"18,00,{fips:03},0.01,0.01,,,20120101,29991231\n" for fips in range(1, 99, 2)]
    whole, part = tmp_path / "INR2026Q2FEB1.csv", tmp_path / "INR2026Q3MAY1.csv"
    whole.write_text(INDIANA.splitlines(keepends=True)[0] + "".join(rows))
    part.write_text(INDIANA)
    svc_tools("book", "import", whole, **home)
    done = svc_tools("book", "import", part, **home)
    assert done.returncode == 2
    assert "1 place with a local tax, where the book has 49 for IN" in done.stderr
    assert "49" not in svc_tools("book", "import", part, "--force", **home).stderr
    assert "2026Q3" in svc_tools("book", "list", **home).stdout


def test_lines_that_are_left_out_stand_first_and_are_exit_code_3(home, files, tmp_path):
    rows = [f"18,00,{fips:03},0.01,0.01,,,20120101,29991231\n" for fips in (1, 3, 5)]
    whole, part = tmp_path / "INR2026Q2FEB1.csv", tmp_path / "INR2026Q3MAY1.csv"
    state = INDIANA.splitlines(keepends=True)[0]
    whole.write_text(state + "".join(rows))
    unlike = [row.replace("0.01,0.01", "0.02,0.01") for row in rows[:2]]
    part.write_text(state + "".join(unlike) + rows[2].replace("0.01,0.01", "0.02,0.02"))
    assert svc_tools("book", "import", whole, **home).returncode == 0
    done = svc_tools("book", "import", part, "--force", **home)
    assert (done.returncode, done.stderr) == (3, "")
    text = " ".join(done.stdout.split())
    assert text.index("Left out (2): line 2: 001: intrastate") < text.index("3 rates changed")
    assert "Adams County 1.00% no rate" in text
    assert "Bartholomew County 1.00% 2.00%" in text
    assert "0.00%" not in text
    assert "no restart is needed" in text
    again = svc_tools("book", "import", part, **home)
    text = " ".join(again.stdout.split())
    assert (again.returncode, again.stderr) == (3, "")
    assert text.index("Left out (2): line 2: 001: intrastate") < text.index("nothing to do")
    found = svc_tools("lookup", "IN", "--location", "Adams County", "--embedded", **home)
    assert "PARTIAL" in found.stdout
    assert re.search(r"County +not known", found.stdout)
    done = svc_tools("book", "import", whole, "--force", **home)
    assert (done.returncode, "Adams County no rate 1.00%" in " ".join(done.stdout.split())) == (
        0,
        True,
    )


def test_the_list_shows_it_and_removing_it_goes_back_to_the_shipped_figures(home, files):
    assert "Nothing is imported" in svc_tools("book", "list", **home).stdout
    svc_tools("book", "import", files[0], **home)
    listed = svc_tools("book", "list", **home).stdout
    assert re.search(r"IN +rates +2026Q2 +INR2026Q2FEB1.csv +2 +\d{4}-\d\d-\d\d", listed)
    gone = svc_tools("book", "remove", "in", **home)
    assert "Removed IN rates 2026Q2 (INR2026Q2FEB1.csv)." in gone.stdout
    assert "Nothing is imported" in svc_tools("book", "list", **home).stdout
    again = svc_tools("book", "remove", "IN", **home)
    assert (again.returncode, "no file is imported" in again.stderr) == (2, True)


def test_the_list_says_where_the_shipped_figures_are_newer(home, tmp_path):
    old = tmp_path / "WIR2020Q1FEB1.csv"
    old.write_text("55,45,55,0.05,0.05,0,0,19820501,99991231\n")
    assert svc_tools("book", "import", old, "--force", **home).returncode == 0
    listed = svc_tools("book", "list", **home).stdout
    assert "The shipped book has 2026Q4 for WI, newer than WIR2020Q1FEB1.csv" in listed


def test_a_broken_line_is_an_error_of_the_command_and_what_was_done_before_is_said(
    home, files, tmp_path
):
    broken = tmp_path / "KYR2026Q2FEB1.csv"
    broken.write_text("21,45,21,0.06,0.06,0,0,20150701,99991231\n21,45,21,six,0,0,0,2,3\n")
    done = svc_tools("book", "import", files[0], broken, **home)
    assert done.returncode == 2
    assert "KYR2026Q2FEB1.csv, line 2: column 4 (rate) is 'six'; expected a fraction" in done.stderr
    assert "Nothing of it was imported" in done.stderr
    assert "Imported before that: INR2026Q2FEB1.csv." in done.stdout
    assert "Not imported: KYR2026Q2FEB1.csv." in done.stdout
    assert "KY" not in svc_tools("book", "list", **home).stdout


def test_an_older_edition_needs_force_and_a_quarter_that_is_missing_is_asked_for(
    home, files, tmp_path
):
    svc_tools("book", "import", files[1], **home)
    refused = svc_tools("book", "import", files[0], **home)
    assert (refused.returncode, "--force" in refused.stderr) == (2, True)
    assert svc_tools("book", "import", files[0], "--force", **home).returncode == 0
    unnamed = tmp_path / "rates.csv"
    unnamed.write_text(NEXT)
    asked = svc_tools("book", "import", unnamed, **home)
    assert (asked.returncode, "--edition 2026Q3" in asked.stderr) == (2, True)
    given = svc_tools("book", "import", unnamed, "--edition", "2026Q4", **home)
    assert "2026Q2 -> 2026Q4" in given.stdout


def test_two_imports_at_once_both_come_to_their_end(home, files, tmp_path):
    other = tmp_path / "KYR2026Q2FEB1.csv"
    other.write_text("21,45,21,0.06,0.06,0,0,20150701,99991231\n")
    with ThreadPoolExecutor(2) as pool:
        done = pool.map(lambda path: svc_tools("book", "import", path, **home), (files[0], other))
    assert [one.returncode for one in done] == [0, 0]
    listed = svc_tools("book", "list", **home).stdout
    assert "INR2026Q2FEB1.csv" in listed
    assert "KYR2026Q2FEB1.csv" in listed


@pytest.fixture
def serving(home, tmp_path):
    """A client of a service in a process of its own."""
    with (
        program("--db", tmp_path / "service.db", key=KEY, **home) as served,
        httpx.Client(base_url=served.url, headers={"X-API-Key": KEY}) as client,
    ):
        yield client


def test_a_service_that_runs_answers_with_it_without_a_restart(serving, home, files):
    def rate():
        query = {"location": "Adams County", "as_of": "2026-05-01"}
        return serving.get("/v1/tax/IN", params=query).json()["rate"]["combined_rate"]

    def soon(expected):
        deadline = time.monotonic() + 30
        while rate() != expected:
            assert time.monotonic() < deadline

    assert rate() == "0.07000"
    svc_tools("book", "import", files[0], **home)
    soon("0.08000")
    svc_tools("book", "remove", "IN", **home)
    soon("0.07000")


GOOD = "state,city,zip,rate\nNJ,Hoboken,07030,6.625\nLA,,70601,10\n"


@pytest.fixture
def checked(tmp_path):
    def checked(text, *options):
        path = tmp_path / "rates.csv"
        path.write_text(text, encoding="utf-8")
        return svc_tools("book", "check", path, *(options or ("--as-of", "2026-08-01")))

    return checked


def test_a_person_reads_agreement_by_state_and_confidence(checked):
    done = checked(GOOD)
    assert (done.returncode, done.stderr) == (0, "")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["NJ", "1", "1", "0", "0", "0", "0", "100.0"] in lines
    assert ["LA", "1", "0", "0", "0", "1", "0", "0.0"] in lines
    assert ["high", "1", "1", "0", "0", "0", "0", "100.0"] in lines
    assert ["All", "2", "1", "0", "0", "1", "0", "50.0"] in lines
    assert "as of 2026-08-01" in done.stdout
    assert "No exact or high result is wrong." in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_wrong_high_answer_is_shown_and_fails(checked):
    done = checked(GOOD + "NJ,Newark,07102,7\n")
    assert done.returncode == 1
    assert "Newark NJ 07102 7.00% 6.625% high" in " ".join(done.stdout.split())
    assert "Wrong though exact or high: 1." in done.stdout


def test_a_program_reads_the_same_as_json(checked):
    done = checked(GOOD + "NJ,Newark,07102,7\nNJ,,x,7\n", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["wrong_though_sure"]) == (1, 1)
    told = ("rows", "right", "wrong", "partial", "no_answer", "in_range")
    assert found["total"] == dict(zip(told, (3, 1, 1, 1, 0, 0), strict=True))
    assert found["worst"][0]["expected"] == "0.07000"
    assert found["unreadable"] == [
        {"line": 5, "reason": "zip: given 'x', expected five digits or ZIP+4"}
    ]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("zip,rate\n07030,7\n", (), "no column holds the state"),
        ("state,zip,rate\n", (), "no row can be read; no row below the header"),
        ("state,zip,rate\nNJ,07030,0.4\n", (), "no row can be read; line 2: rate: given '0.4'"),
        (GOOD, ("--as-of", "May"), "--as-of: given 'May', expected a date"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(checked, text, options, said):
    done = checked(text, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
