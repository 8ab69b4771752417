"""Comparing a book with known rates, and the page of docs that says how often it is right."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from support.examples import examples

from svc_tools.cli.known_rates import read_rates
from svc_tools.service.ratebook import Query, resolve
from svc_tools.service.ratebook.accuracy import compare, summary, tally

TODAY = date(2026, 8, 1)
DAY = date(2026, 5, 1)
COLUMNS = ["line", "state", "city", "zip", "expected", "as_of"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rates.csv"


@pytest.fixture
def read(path):
    """Writes lines to a file and reads it: the rows as tuples, and the reasons by line."""

    def read(*lines):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        rows, unreadable = read_rates(path)
        reasons = {one.line: one.reason for one in unreadable.itertuples()}
        return list(rows.itertuples(index=False, name=None)), reasons

    return read


@pytest.fixture
def units(read):
    """What a rate is read as: units, or why it is refused."""

    def units(text, head="rate"):
        rows, reasons = read(f"state,zip,{head}", f"NJ,07030,{text}")
        return rows[0][4] if rows else reasons[2]

    return units


def known(*rows):
    return pd.DataFrame(rows, columns=COLUMNS, dtype=object)


@pytest.mark.parametrize(
    "header",
    [
        "state,city,zip,rate,as_of",
        "State,City,ZIP Code,Combined Rate,Date",
        "ST,place,zip5,expected,as-of",
        "state_code,City Name,postal code,total_rate,as_of",
    ],
)
def test_a_row_is_read_whatever_its_columns_are_called(read, header):
    rows, _ = read(header, "nj,Hoboken,07030,0.06625,2026-05-01")
    assert rows == [(2, "NJ", "Hoboken", "07030", 6_625, DAY)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("8.25", 8_250),
        ("8.25%", 8_250),
        ("0.0825", 8_250),
        ("10.375%", 10_375),
        ("0.10375", 10_375),
        ("0", 0),
    ],
)
def test_a_rate_is_a_percentage_or_a_fraction(units, text, found):
    assert units(text) == found


@pytest.mark.parametrize(
    "text", ["0.3", "0.001", "25", "25%", "8.2501234", "-8.25", "high", "nan", "1e999999", "", "%"]
)
def test_what_is_neither_is_refused(units, text):
    assert units(text).startswith(f"rate: given {text!r}, expected ")


def test_a_file_keeps_to_one_kind(read, units):
    rows, reasons = read("state,zip,rate", "NJ,07030,6.625", "NJ,07030,0.07", "NJ,07030,7%")
    assert [row[4] for row in rows] == [6_625, 7_000]
    assert "expected percentages such as 8.25 throughout" in reasons[3]
    assert "expected percentages" in units("0.07", head="rate_pct")
    assert units("6.625", head="Expected rate %") == 6_625


@examples(7, of=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(500, 20_000), min_size=1))
def test_every_possible_rate_is_read_exactly_in_both_ways(read, values):
    for form in ("{:f}", "{:f}%"):
        lines = [f"NJ,07030,{form.format(Decimal(value).scaleb(-3))}" for value in values]
        assert [row[4] for row in read("state,zip,rate", *lines)[0]] == values
    lines = [f"NJ,07030,{Decimal(value).scaleb(-5):f}" for value in values]
    assert [row[4] for row in read("state,zip,rate", *lines)[0]] == values


@examples(15, of=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_any_text_is_read_or_refused(read, text):
    try:
        rows, reasons = read("state,city,zip,rate,as_of", "NJ,x,07030,7,", text)
    except ValueError as error:
        assert "rates.csv" in str(error)  # noqa: PT017 - any text may be good
        return
    assert all(line >= 2 for line in (*reasons, *(row[0] for row in rows)))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("NJ,Hoboken,07030", "rate: given ''"),
        (",Hoboken,07030,7", "expected a state"),
        ("NJ,,,7", "a city or a ZIP"),
        ("NJ,,0703O,7", "zip: given '0703O'"),
        ("NJ,,07030,7,2026-02-30", "as_of: given '2026-02-30'"),
    ],
)
def test_an_unreadable_row_says_why(read, line, said):
    rows, reasons = read("state,city,zip,rate,as_of", line)
    assert rows == []
    assert said in reasons[2]


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("state,zip", "no column holds the rate"),
        ("zip,rate", "no column holds the state"),
        ("state,rate", "no column holds the zip or city"),
        ("state,zip,rate,total rate", "several columns could hold the rate"),
        ("", " is empty"),
    ],
)
def test_an_unusable_header_is_refused(read, header, said):
    with pytest.raises(ValueError, match=rf"rates\.csv.*{said}"):
        read(header)


def test_a_row_of_another_width_is_listed_and_older_letters_are_read(read, path):
    rows, reasons = read("state,city,rate", "NJ,Hoboken,7", "NJ,Hoboken,7,8")
    assert (len(rows), reasons) == (1, {3: "4 cells, expected 3"})
    path.write_bytes(b"state,city,rate\nNJ,Hoboken,7\nNJ,Mont\xe9,7\n")
    assert [row[2] for row in read_rates(path)[0].itertuples(index=False)] == [
        "Hoboken",
        "Mont\xe9",
    ]


def test_rates_are_counted_by_state_and_by_confidence(book):
    rows = known(
        (2, "NJ", "", "07030", 6_625, None),
        (3, "NEW JERSEY", "Trenton", "", 6_625, None),
        (4, "NJ", "", "07030", 7_000, None),
        (5, "LA", "", "70601", 10_200, None),
        (6, "NJ", "", "00000", 6_625, None),
        (7, "WI", "Milwaukee", "53202", 7_900, DAY),
    )
    found = summary(compare(book, rows, day=TODAY), pd.DataFrame([{"line": 8, "reason": "so"}]))
    assert json.loads(json.dumps(found)) == found
    total = {"rows": 6, "right": 3, "wrong": 1, "in_range": 0, "partial": 1, "no_answer": 1}
    assert found["total"] == total
    assert {state: one["rows"] for state, one in found["by_state"].items()} == {
        "NJ": 4,
        "LA": 1,
        "WI": 1,
    }
    assert list(found["by_confidence"]) == ["high", "low", "none"]
    assert found["by_confidence"]["high"]["wrong"] == found["wrong_though_sure"] == 1
    assert found["by_confidence"]["low"]["partial"] == 1
    assert found["by_confidence"]["none"]["no_answer"] == 1
    (worst,) = found["worst"]
    assert (worst["line"], worst["expected"], worst["found"]) == (4, "0.07000", "0.06625")
    assert (found["unread"], found["unreadable"]) == (1, [{"line": 8, "reason": "so"}])
    (missing,) = found["missing"]
    assert (missing["state"], missing["rows"], "00000" in missing["such_as"]) == ("NJ", 1, True)


def test_a_row_is_looked_up_on_its_day(book):
    before, after = date(2023, 12, 31), date(2024, 1, 1)
    rows = known(
        (2, "WI", "Milwaukee", "", 5_500, before),
        (3, "WI", "Milwaukee", "", 7_900, after),
        (4, "WI", "Milwaukee", "", 5_500, None),
    )
    assert list(compare(book, rows, day=before)["outcome"]) == ["right"] * 3


def test_the_furthest_differences_are_shown_the_worst_first(book):
    def worst(expected):
        rows = known(*((line, "NJ", "", "07030", expected(line), None) for line in range(1, 31)))
        found = summary(compare(book, rows, day=TODAY), pd.DataFrame())
        return [one["line"] for one in found["worst"]]

    assert worst(lambda line: 6_625 + line) == list(range(30, 20, -1))
    assert worst(lambda _line: 7_000) == list(range(1, 11))


def test_a_wrong_rate_is_in_range_where_the_place_has_rates_around_the_one_expected(book):
    answer = resolve(book, Query("WI", zip="53212", as_of=DAY), today=TODAY)
    (spans,) = (
        one
        for one in answer.simple()["meta"]["warnings"]
        if one["code"] == "zip_spans_jurisdictions"
    )
    lowest, highest = (
        int(spans[f"{end}_combined_rate"].replace(".", "")) for end in ("lowest", "highest")
    )
    rates = [4_900, 5_000, 5_500, 5_900, 7_900, 8_000]
    rows = known(*((line, "WI", "", "53212", rate, DAY) for line, rate in enumerate(rates)))
    counts = tally(compare(book, rows, day=TODAY), "state").loc["WI"]
    assert (counts["right"], counts["wrong"]) == (1, 5)
    within = [rate for rate in rates if lowest <= rate <= highest and rate != 7_900]
    assert counts["in_range"] == len(within) > 0


ROOT = Path(__file__).parents[3]
SOURCES = ROOT.parent / "shared" / "data"
PAGE = ROOT / "docs" / "ACCURACY.md"
COMPOSITIONS = ROOT / "docs" / "compositions.csv"
PART = re.compile(r"(\d\.\d{3}) \((\d\d) (\d+)\)")
at_hand = pytest.mark.skipif(
    not SOURCES.is_dir(), reason="the source files are not beside the project"
)


def compositions():
    with COMPOSITIONS.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_composition_adds_up():
    rows = compositions()
    assert len(rows) > 100
    for row in rows:
        parts = PART.findall(row["worked"])
        assert row["worked"] == " + ".join(f"{rate} ({kind} {code})" for rate, kind, code in parts)
        assert sum(Decimal(rate) for rate, _, _ in parts) == Decimal(row["rate"]), row


@at_hand
def test_every_part_of_a_composition_is_in_force_in_the_rate_file():
    names = {"GA": "GAR2026Q2FEB19.csv", "MN": "MNR2026Q2FEB18.csv", "WI": "WIR2026Q2FEB18.csv"}
    in_force = {}
    for state, name in names.items():
        text = (SOURCES / "official" / name).read_text(encoding="utf-8-sig")
        rows = sorted(csv.reader(text.splitlines()), key=lambda row: row[7])
        for row in rows:  # where two overlap, the later begin is read last and wins
            if row[7] <= "20260501" <= row[8]:
                in_force[state, row[1].zfill(2), row[2]] = Decimal(row[3]) * 100
    for row in compositions():
        assert row["as_of"] == "2026-05-01"
        for rate, kind, code in PART.findall(row["worked"]):
            assert in_force[row["state"], kind, code] == Decimal(rate), row


@at_hand
@pytest.mark.timeout(300)  # reads every file of the sources
def test_the_page_says_what_a_fresh_measurement_says():
    script = ROOT / "scripts" / "measure_accuracy.py"
    command = [sys.executable, script, SOURCES]
    fresh = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    _, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- measured: begin -->\n\n")
    told = rest.partition("\n<!-- measured: end -->")[0]
    assert told == fresh, f"make it again: python {script.relative_to(ROOT)} DIR --write"
