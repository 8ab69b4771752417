"""Compiling: every reader on small files, what is left out, and the whole shipped book."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from importlib import resources
from pathlib import Path

import pytest
from compile_book import CompileReport, RowError, compile_book
from compile_book.files import percent_units
from hypothesis import given
from hypothesis import strategies as st
from support.compiled import LEAST, answer, messages, rate

from svc_tools.service.ratebook import NotResolved, Query, load_book, resolve
from svc_tools.service.ratebook.imports.draft import fraction_units, percent_text, sst_date, sst_end
from svc_tools.service.ratebook.imports.reading import quarter_end
from svc_tools.service.ratebook.schema import TABLES

SOURCES = Path(__file__).parents[4] / "shared" / "data"
DATA = resources.files("svc_tools.service.ratebook").joinpath("data")
DAY = date(2026, 5, 1)

WI_FILE = "WIR2026Q2FEB18.csv"
WI_ROWS = """\
55,45,55,0.05,0.05,0.05,0.05,19800101,99991231
55,00,079,0.005,0.005,0.005,0.005,19910401,20231231
55,00,079,0.009,0.009,0.009,0.009,20240101,99991231
55,00,025,0.0,0.0,0.0,0.0,19800101,99991231
55,00,025,0.005,0.005,0.005,0.005,19910401,99991231
55,01,53000,0.0,0.0,0.0,0.0,20230918,20231231
55,01,53000,0.02,0.02,0.02,0.02,20240101,20991231
55,01,11111,0.0,0.0,0.0,0.0,20230918,29991231
55,01,22222,0.01,0.01,0.01,0.01,20230918,29991231
55,63,55501,0.001,0.001,0.001,0.001,19960101,20200331
55,63,55599,0.002,0.002,0.002,0.002,19960101,20191231
"""
WA_HEAD = "effective,expiration,location_code,location,state_rate,local_rate,rta,total_rate\n"
CA_HEAD = "Location,Rate,Rate_Percent,County,Type,Notes\n"


def test_the_least_book_answers_state_parts(source_dir, book_dir):
    report = compile_book(source_dir, book_dir)
    answer = resolve(load_book(book_dir), Query(state="WI", zip="53202"), today=DAY)
    assert (answer.chosen.combined, answer.confidence) == (5_000, "low")
    assert "local_rates_not_covered" in {w["code"] for w in answer.advisories}
    assert any("Wisconsin" in m for m in messages(report, "missing"))
    assert report.rows["states.csv"] == 51


def test_the_same_sources_give_the_same_bytes(source_dir, tmp_path):
    (source_dir / WI_FILE).write_text(WI_ROWS)
    for name in ("one", "two"):
        compile_book(source_dir, tmp_path / name)
    for name in TABLES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert not list((tmp_path / "one").glob("*.partial"))


@pytest.mark.parametrize("missing", [*LEAST, "state_rate_history.csv"])
def test_a_book_needs_every_source(source_dir, book_dir, missing):
    (source_dir / missing).unlink()
    with pytest.raises(RowError, match="the book needs one"):
        compile_book(source_dir, book_dir)
    assert not book_dir.exists()


def test_a_folder_that_is_not_there(tmp_path, book_dir):
    with pytest.raises(RowError, match="not a folder"):
        compile_book(tmp_path / "nothing", book_dir)


@pytest.mark.parametrize(
    ("new", "says"),
    [("", "no rate for WY"), ("WY,0.066254999,", "five decimals"), ("WY,0.26,", "outside 0 to")],
)
def test_every_state_needs_a_rate_and_none_is_rounded(source_dir, book_dir, new, says):
    path = source_dir / "state_rate_history.csv"
    lines = path.read_text().splitlines(keepends=True)
    kept = [line.replace("WY,0.05000,", new) for line in lines if new or "WY" not in line]
    path.write_text("".join(kept))
    with pytest.raises(RowError, match=says):
        compile_book(source_dir, book_dir)


def test_sst_rows_with_their_dates(source_dir, book_dir):
    (source_dir / WI_FILE).write_text(WI_ROWS)
    report = compile_book(source_dir, book_dir)
    milwaukee = rate(book_dir, "WI", location="Milwaukee", as_of=DAY)
    assert (milwaukee.state, milwaukee.county, milwaukee.city) == (5_000, 900, 2_000)
    assert milwaukee.effective == date(2024, 1, 1)
    before = rate(book_dir, "WI", location="Milwaukee", as_of=date(2023, 12, 31))
    assert before.combined == 5_500
    # the later begin wins where two rows of a key overlap
    assert rate(book_dir, "WI", location="Dane County", as_of=date(1991, 3, 31)).county == 0
    assert rate(book_dir, "WI", location="Dane County", as_of=date(1991, 4, 1)).county == 500
    assert any("later begin wins" in m for m in messages(report, "settled"))
    left = messages(report, "left_out")
    assert any("place 22222: levies a rate" in m for m in left)
    assert any("type 63 55599: 0.20% from 1996-01-01 to 2019-12-31: " in m for m in left)
    early = answer(book_dir, "WI", location="Milwaukee County", as_of=date(2019, 12, 31))
    (told,) = [w for w in early.advisories if w["code"] == "districts_not_covered"]
    assert (told["until"], early.confidence) == ("2019-12-31", "low")
    assert early.chosen.district == 100  # the one whose place is published
    assert answer(book_dir, "WI", location="Milwaukee County", as_of=DAY).confidence == "high"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("55,00,025,0.30,0.30,0,0,20200101,99991231", "outside 0 to 25%"),
        ("55,00,025,-0.01,-0.01,0,0,20200101,99991231", "outside 0 to 25%"),
        ("55,00,025,0.0051234,0.0051234,0,0,20200101,99991231", "five decimals"),
        ("55,00,025,0.005,0.006,0,0,20200101,99991231", "differ"),
        ("55,00,025,0.005,0.005,0,0,20201301,99991231", "not a date"),
        ("55,00,025,0.005,0.005,0,0,2020011,99991231", "YYYYMMDD"),
        ("55,00,025,0.005,0.005,0,0,20210101,20200101", "before it begins"),
        ("27,00,025,0.005,0.005,0,0,20200101,99991231", "state '27'"),
        ("55,00,025,0.005", "4 columns"),
        ("55,00,025,n/a,n/a,0,0,20200101,99991231", "not a decimal"),
    ],
)
def test_a_bad_sst_row_is_left_out_and_listed(source_dir, book_dir, row, says):
    (source_dir / WI_FILE).write_text(WI_ROWS.replace("55,00,025", "55,00,027") + row + "\n")
    report = compile_book(source_dir, book_dir)
    assert any(says in m for m in messages(report, "left_out")), report.render()
    for fields in ({"zip": "53703"}, {"location": "Madison"}, {"location": "Dane County"}):
        with pytest.raises(NotResolved, match="no rate for Dane County"):
            rate(book_dir, "WI", **fields)
    with pytest.raises(NotResolved, match="no rate for Dane County"):
        rate(book_dir, "WI", lat=43.07, lng=-89.40)


def test_of_two_editions_the_newer_is_used(source_dir, book_dir):
    (source_dir / "WIR2026Q1NOV20.csv").write_text(WI_ROWS.replace("0.009", "0.001"))
    (source_dir / WI_FILE).write_text(WI_ROWS)
    report = compile_book(source_dir, book_dir)
    assert rate(book_dir, "WI", location="Milwaukee County", as_of=DAY).county == 900
    assert any("is newer" in m for m in messages(report, "settled"))


def test_washington_quarters_become_spans(source_dir, book_dir):
    rows = [
        "20260101,20260331,1726,SEATTLE,0.065,0.0385,0,0.1035",
        "20260401,20260630,1726,SEATTLE,0.065,0.0405,0,0.1055",
        "20260101,20260331,1700,KING COUNTY RTA,0.065,0.038,0.014,0.103",
        "20260401,20260630,1700,KING COUNTY RTA,0.065,0.038,0.014,0.103",
        "20260331,,0.065,SPOKANE3210,0.025,0,0.09,20230101",
        "20260401,20260630,3210,SPOKANE,0.065,0.026,0,0.095",
    ]
    (source_dir / "wa_dor_quarterly_2026.csv").write_text(WA_HEAD + "\n".join(rows) + "\n")
    report = compile_book(source_dir, book_dir)
    now = rate(book_dir, "WA", location="Seattle", as_of=DAY)
    assert (now.combined, now.effective) == (10_550, date(2026, 4, 1))
    assert rate(book_dir, "WA", location="Seattle", as_of=date(2026, 3, 31)).effective is None
    king = rate(book_dir, "WA", location="1700", as_of=DAY)
    assert (king.county, king.district, king.combined) == (2_400, 1_400, 10_300)
    left = messages(report, "left_out")
    assert any("SPOKANE3210" in m for m in left)
    assert any("are not 0.095" in m for m in left)
    with pytest.raises(NotResolved):
        rate(book_dir, "WA", location="3210", as_of=DAY)


def test_the_first_quarter_of_washingtons_table_is_no_date_of_law(source_dir, book_dir):
    rows = [
        "20260101,20260331,1302,ELECTRIC CITY,0.065,0.016,0,0.081",
        "20260401,20260630,1302,ELECTRIC,0.065,0.017,0,0.082",
        "20260101,20260331,3210,SPOKANE CITY,0.065,0.025,0,0.09",
        "20260401,20260630,3210,SPOKANE,0.065,0.025,0,0.09",
    ]
    (source_dir / "wa_dor_quarterly_2026.csv").write_text(WA_HEAD + "\n".join(rows) + "\n")
    compile_book(source_dir, book_dir)
    changed = rate(book_dir, "WA", location="1302", as_of=DAY)
    assert changed.effective == date(2026, 4, 1)  # the table dates the whole rate
    assert rate(book_dir, "WA", location="3210", as_of=DAY).effective is None


def test_washington_keeps_the_fuller_name_that_the_post_office_knows(source_dir, book_dir):
    rows = [
        "20260101,20260331,1302,ELECTRIC CITY,0.065,0.016,0,0.081",
        "20260401,20260630,1302,ELECTRIC,0.065,0.016,0,0.081",
        "20260101,20260331,3210,SPOKANE CITY,0.065,0.025,0,0.09",
        "20260401,20260630,3210,SPOKANE,0.065,0.025,0,0.09",
    ]
    (source_dir / "wa_dor_quarterly_2026.csv").write_text(WA_HEAD + "\n".join(rows) + "\n")
    compile_book(source_dir, book_dir)
    areas = load_book(book_dir).areas
    assert (areas["WA:1302"].name, areas["WA:3210"].name) == ("Electric City", "Spokane")
    assert areas["WA:1302"].cities == ("Electric City", "Electric")
    assert areas["WA:3210"].cities == ("Spokane", "Spokane City")


def test_california_totals_are_split(source_dir, book_dir):
    rows = [
        "Oakland,0.1075,10.75,Alameda,City,",
        "Alameda County,0.1025,10.25,Alameda,County,",
        "Kern County,0,0,County,Please refer to the applicable tax rates,",
        "Kern County Unincorporated Area,0.0825,8.25,Kern,County,only unincorporated",
        "Lowton,0.07,7.0,Kern,City,",
    ]
    (source_dir / "ca_cdtfa_2026-01-01.csv").write_text(CA_HEAD + "\n".join(rows) + "\n")
    report = compile_book(source_dir, book_dir)
    oakland = rate(book_dir, "CA", location="Oakland", as_of=DAY)
    assert (oakland.state, oakland.district, oakland.combined) == (7_250, 3_500, 10_750)
    assert rate(book_dir, "CA", location="Kern County", as_of=DAY).combined == 8_250
    left = messages(report, "left_out")
    assert any("Lowton" in m and "below the uniform" in m for m in left)


@pytest.mark.parametrize(
    ("units", "text"),
    [(0, "0.00%"), (500, "0.50%"), (9_375, "9.375%"), (10_000, "10.00%"), (7_005, "7.005%")],
)
def test_a_report_gives_rates_as_a_person_reads_them(units, text):
    assert percent_text(units) == text
    assert percent_units(text.removesuffix("%")) == units


def test_the_report_as_text():
    report = CompileReport(edition="2026-11-21", rows={"rates.csv": 2}, sizes={"rates.csv": 90})
    for number in range(40):
        report.add("left_out", "a.csv", f"line {number}", "not a rate")
    text = report.render()
    assert "Left out (40)" in text
    assert "line 24: not a rate" in text
    assert "line 25: not a rate" not in text
    assert "... and 15 more of this source" in text
    assert "line 39: not a rate" in report.render(everything=True)
    report.add("left_out", "b.csv", "line 1", "wide " * 40 + "end")
    lines = report.render(width=60).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[-1].startswith("      ")
    assert lines[-1].endswith("end")


def test_the_compiler_runs_from_the_project_folder(source_dir, book_dir):
    command = [sys.executable, "-m", "scripts.compile_book", "--output", book_dir]
    root = Path(__file__).parents[3]

    def run(folder):
        return subprocess.run(
            [*command, folder], capture_output=True, text=True, check=False, cwd=root
        )

    done = run(source_dir)
    assert (done.returncode, done.stderr) == (0, "")
    assert "states.csv                51 rows" in done.stdout
    assert sorted(file.name for file in book_dir.iterdir()) == sorted(TABLES)
    refused = run(book_dir)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "no state_rate_history.csv in it" in refused.stderr


@given(st.integers(0, 25_000))
def test_rates_as_fractions_and_percent_agree(units):
    fraction = f"0.{units:05d}"
    percent = f"{units // 1000}.{units % 1000:03d}"
    assert fraction_units(fraction) == percent_units(percent) == units


@pytest.mark.parametrize("text", ["", "n/a", "0.0000001", "0.25001", "-0.01", "1e-2", "NaN"])
def test_what_is_no_rate(text):
    with pytest.raises(RowError):
        fraction_units(text)


def test_dates_of_files():
    assert sst_end("99991231") is sst_end("29991231") is sst_end("20991231") is None
    assert sst_date("20240229") == date(2024, 2, 29)
    assert quarter_end("2025Q4") == date(2025, 12, 31)
    assert quarter_end("2026Q2", later=2) == date(2026, 12, 31)


@pytest.mark.skipif(not SOURCES.is_dir(), reason="the source files are not beside the project")
def test_the_shipped_book_is_what_its_sources_compile_to(book_dir):
    report = compile_book(SOURCES, book_dir)
    for name in TABLES:
        assert (book_dir / name).read_bytes() == DATA.joinpath(name).read_bytes(), name
    shifted = [f for f in report.of_kind("left_out") if f.source.startswith("wa_dor")]
    assert len(shifted) == 14
    assert [f.subject for f in report.of_kind("conflict")] == ["IL Island Lake"]
    assert not report.of_kind("missing")
    cut, everything = report.render(), report.render(everything=True)
    assert all(f.subject in everything for f in report.findings)
    assert "more of this source (--all lists them)" in cut
