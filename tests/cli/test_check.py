"""`svc-tools book check`: tables for a person, JSON for a program, an exit code for a script."""

from __future__ import annotations

import json

import pytest
from support.command import svc_tools

GOOD = "state,city,zip,rate\nNJ,Hoboken,07030,6.625\nLA,,70112,10\n"


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
    assert "No exact or high answer is wrong." in done.stdout
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
