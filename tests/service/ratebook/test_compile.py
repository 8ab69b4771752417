"""Compiling: every reader on small files, what is left out, and the whole shipped book."""

from __future__ import annotations

import csv
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
from support.compiled import LEAST, LISTED, answer, messages, rate

from svc_tools.service.ratebook import NotResolved, Query, load_book, resolve
from svc_tools.service.ratebook.imports.draft import fraction_units, sst_date, sst_end
from svc_tools.service.ratebook.imports.reading import quarter_end
from svc_tools.service.ratebook.imports.sst_rows import rate_file_rows
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


MN_FILE = "MNR2026Q2FEB18.csv"
MN_ROWS = """\
27,45,27,0.06875,0.06875,,,20090701,29991231
27,0,053,0.0015,0.0015,,,20070101,29991231
27,1,43000,0.005,0.005,,,20051001,29991231
27,01,35450,0.005,0.005,,,20120101,20241231
27,01,20906,0.005,0.005,,,20180101,20220930
27,01,20906,0.005,0.005,,,20231001,29991231
27,01,55555,0.005,0.005,,,20231001,29991231
27,63,80004,0.005,0.005,,,20171001,29991231
27,63,80005,0.01,0.01,,,20180101,29991231
27,63,80008,0.0075,0.0075,,,20231001,29991231
27,63,80009,0.0025,0.0025,,,20231001,29991231
"""
MN_PLACES = """\
MN,20906,Fergus Falls,city,27111,27111,
MN,35450,Lanesboro,city,27045,27045,
MN,43000,Minneapolis,city,27053,27053,
MN,57220,St. Louis Park,city,27053,27053,
"""


@pytest.fixture
def minnesota(source_dir, book_dir):
    places = source_dir / "place_counties.csv"
    places.write_text(places.read_text() + MN_PLACES)

    def minnesota(rows=MN_ROWS):
        (source_dir / MN_FILE).write_text(rows)
        return compile_book(source_dir, book_dir)

    return minnesota


def test_counties_cities_and_districts_add_up(minnesota, book_dir):
    report = minnesota()
    city = rate(book_dir, "MN", location="Minneapolis", as_of=DAY)
    assert city[2:7] == (6_875, 150, 500, 1_500, 9_025)
    assert rate(book_dir, "MN", location="Dakota County", as_of=DAY).combined == 7_875
    assert rate(book_dir, "MN", location="Cook County", as_of=DAY).combined == 6_875
    left = messages(report, "left_out")
    assert any("place 55555: levies a rate, its name is not known" in m for m in left)
    assert any("type 63 80005: 1.00% from " in m for m in left)
    missing = load_book(book_dir).states["MN"].missing
    assert "55555" in missing
    assert "Garrison" in missing


def test_a_city_without_a_row_has_what_its_county_has(minnesota, book_dir):
    minnesota()
    found = answer(book_dir, "MN", location="St. Louis Park", as_of=DAY)
    assert found.chosen[2:7] == (6_875, 150, 0, 1_500, 8_525)
    assert (found.location.city, found.chosen.area.name) == ("St. Louis Park", "Hennepin County")


@pytest.mark.parametrize(
    ("day", "units"),
    [
        (date(2022, 9, 30), 500),
        (date(2022, 10, 1), 0),
        (date(2023, 9, 30), 0),
        (date(2023, 10, 1), 500),
    ],
)
def test_between_two_rows_of_a_city_there_is_no_rate(minnesota, book_dir, day, units):
    minnesota()
    assert rate(book_dir, "MN", location="Fergus Falls", as_of=day).city == units


def test_after_its_last_row_a_city_has_no_rate_from_that_day_of_law(minnesota, book_dir):
    minnesota()
    ended = rate(book_dir, "MN", location="Lanesboro", as_of=DAY)
    assert (ended.city, ended.combined) == (0, 6_875)
    row = ended.components[-1].row
    assert (row.begin, row.effective) == (date(2025, 1, 1), date(2025, 1, 1))
    assert "no row of the file" in row.note


def test_before_the_first_row_of_a_district_there_was_none_as_far_as_the_file_goes(
    minnesota, book_dir
):
    minnesota()
    early = answer(book_dir, "MN", location="Minneapolis", as_of=date(2023, 9, 30))
    assert (early.chosen.district, early.chosen.history_from) == (500, None)
    older = answer(book_dir, "MN", location="Minneapolis", as_of=date(2021, 9, 30))
    assert older.chosen.history_from == date(2021, 10, 1)
    assert older.confidence == "low"


@pytest.mark.parametrize(
    ("old", "new"),
    [("27,63,80004,0.005,0.005", "27,63,80004,0.004,0.004"), (",20171001,", ",20180101,")],
)
def test_a_district_that_is_not_the_published_one_is_left_out(minnesota, book_dir, old, new):
    report = minnesota(MN_ROWS.replace(old, new, 1))
    assert any(
        "type 63 80004" in m and "place published" in m for m in messages(report, "conflict")
    )
    assert rate(book_dir, "MN", location="Minneapolis", as_of=DAY).district == 1_000
    assert load_book(book_dir).states["MN"].districts_until == date.max
    told = answer(book_dir, "MN", location="Minneapolis", as_of=DAY)
    assert told.confidence == "low"
    warning = next(w for w in told.advisories if w["code"] == "districts_not_covered")
    assert "until" not in warning


def test_of_other_files_the_state_rate_before_the_history_is_taken(source_dir, book_dir):
    (source_dir / "IAR2026Q2FEB18.csv").write_text(
        "19,45,19,0.06,0.06,,,20080701,29991231\n19,00,153,0.01,0.01,,,20080701,29991231\n"
    )
    report = compile_book(source_dir, book_dir)
    assert "IA: 1 local rows: not in this book" in messages(report, "left_out")
    assert "history 5.00%, which is used" in messages(report, "conflict")[0]
    for day, rate_then in ((date(2014, 12, 31), 6_000), (date(2015, 1, 1), 5_000)):
        assert rate(book_dir, "IA", location="Des Moines", as_of=day).combined == rate_then


DAYS = st.dates(date(2020, 1, 1), date(2020, 3, 31))
SPANS = st.lists(
    st.tuples(st.sampled_from(["001", "003"]), st.integers(0, 900), DAYS, st.none() | DAYS),
    max_size=8,
    unique_by=lambda row: row[:1] + row[2:3],
)


@given(SPANS, DAYS)
def test_on_any_day_the_row_that_begins_last_is_in_force(tmp_path_factory, spans, day):
    path = tmp_path_factory.mktemp("rates") / MN_FILE
    path.write_text(
        "".join(
            f"27,0,{code},{units / 100_000:.5f},{units / 100_000:.5f},,,{begin:%Y%m%d},"
            f"{f'{end:%Y%m%d}' if end else '29991231'}\n"
            for code, units, begin, end in spans
        )
    )
    report = CompileReport()
    lines = enumerate(csv.reader(path.read_text().splitlines()), 1)
    rows = rate_file_rows(lines, path.name, "27", report)
    for code in ("001", "003"):
        here = [row for row in rows if row.code == code]
        ours = [row for row in here if row.begin <= day and (row.end is None or day <= row.end)]
        covering = [
            span
            for span in spans
            if span[0] == code and span[2] <= day and (span[3] is None or day <= span[3])
        ]
        last = sorted(covering, key=lambda span: span[2])[-1:]
        expected = [units for _, units, _, _ in last]
        assert [row.units for row in ours] == expected
    backward = sum(1 for span in spans if span[3] and span[3] < span[2])
    assert len(report.of_kind("left_out")) == backward


def listed(*lines):
    """A list. Each line: county, code and name of the place, span, rate, use, principal."""
    rows = [LISTED]
    for line in lines:
        where, place, span, total, use, principal = line.split(", ")
        state, county = where.split()
        code, _, name = place.partition(" ")
        begin, _, end = span.partition(" ")
        level = {"town": "town", "": "county_rest"}.get(code, "place")
        kind = "window" if begin == "2022-01-01" else "change"
        number = "" if code == "town" else code
        what = "town" if name.endswith("Town") else "city"
        rows.append(
            f"{state},{level},{county},,{number},{name},{what},{begin},{end},{total},,"
            f"{kind},exact,{use},list,{principal},"
        )
    return "\n".join(rows) + "\n"


@pytest.fixture
def build(source_dir, book_dir):
    """Compiles a list, with further Census places; the report."""

    def build(*lines, places=""):
        (source_dir / "local_rates_x.csv").write_text(listed(*lines))
        path = source_dir / "place_counties.csv"
        path.write_text(path.read_text() + places)
        return compile_book(source_dir, book_dir)

    return build


def test_a_list_gives_whole_rates_with_their_days(build, book_dir):
    build(
        "OK 40109, , 2022-01-01, 0.06000, whole, ",
        "OK 40109, 55000 Oklahoma City, 2022-01-01 2024-03-31, 0.08000, whole, y",
        "OK 40109, 55000 Oklahoma City, 2024-04-01, 0.08625, whole, y",
        "OK 40017, , 2022-01-01, 0.05350, stale, ",
        "OK 40017, 55000 Oklahoma City, 2022-01-01, , partial, n",
        "OK 40109, 48350 Midwest City, 2022-01-01, 0.06000, whole, y",
        places="OK,55000,Oklahoma City,city,40109,40017 40109,\n"
        "OK,48350,Midwest City,city,40109,40109,Tinker\n",
    )

    def on(day, name):
        found = answer(book_dir, "OK", location=name, as_of=date.fromisoformat(day)).chosen
        return found.combined, found.components[-1].row.use, found.effective

    assert on("2024-03-31", "Oklahoma City") == (8_000, "", None)
    assert on("2024-04-01", "Oklahoma City") == (8_625, "", date(2024, 4, 1))
    assert on("2026-05-01", "Canadian County") == (5_350, "stale", None)
    assert on("2026-05-01", "Oklahoma City, Canadian County") == (5_000, "unknown", None)
    for name in ("Midwest City", "Tinker", "Oklahoma County"):
        assert on("2026-05-01", name) == (6_000, "", None)
    assert "OK:city:48350" not in load_book(book_dir).areas  # it has what its county has


def test_a_states_own_file_answers_for_its_time_and_the_list_goes_on(build, source_dir, book_dir):
    (source_dir / "WIR2026Q2FEB18.csv").write_text(
        "55,45,55,0.05,0.05,,,19800101,99991231\n"
        "55,00,079,0.005,0.005,,,19910401,20231231\n"
        "55,00,079,0.009,0.009,,,20240101,99991231\n"
        "55,01,53000,0.02,0.02,,,20240101,99991231\n"
    )
    report = build(
        "WI 55079, , 2022-01-01 2026-09-30, 0.05100, whole, ",
        "WI 55079, , 2026-10-01, 0.06000, partial, ",
        "WI 55079, 53000 Milwaukee, 2022-01-01 2026-09-30, 0.07900, whole, y",
        "WI 55079, 53000 Milwaukee, 2026-10-01, 0.08500, whole, y",
    )
    for day, city, rest, lacks in (
        ("2024-01-01", 7_900, 5_900, ""),
        ("2026-06-30", 7_900, 5_900, ""),
        ("2026-07-01", 7_900, 5_100, ""),
        ("2026-09-30", 7_900, 5_100, ""),
        ("2026-10-01", 8_500, 6_000, "districts"),  # the county is a lower bound, not the city
    ):
        for name, expected in (("Milwaukee", (city, "")), ("Milwaukee County", (rest, lacks))):
            found = rate(book_dir, "WI", location=name, as_of=date.fromisoformat(day))
            assert (found.combined, found.lacks) == expected, (name, day)
    conflicts = messages(report, "conflict")
    assert any(m.startswith("Milwaukee County from 2024-01-01: 5.90%") for m in conflicts)


@pytest.mark.parametrize(
    ("rates", "says"),
    [
        (["0.04000"], "is less than its other parts"),
        (["0.06000", "0.07000"], "spans overlap at 2022-01-01"),
        (["0.0612345"], "five decimals"),
    ],
)
def test_a_list_that_cannot_be_is_refused(build, rates, says):
    with pytest.raises(RowError, match=says):
        build(*(f"WY 56021, , 2022-01-01, {one}, whole, " for one in rates))


def test_transit_areas_of_ohio_add_to_the_cities_they_are_named_for(build, source_dir, book_dir):
    (source_dir / "county_rates_nc_oh_nv.csv").write_text(
        "state,level,name\nOH,city,Wood County - TARTA area (Rossford)\n"
        "OH,city,Erie County - COTA area (Huron)\nOH,county,Wood County\n"
    )
    report = build(
        "OH 39173, , 2022-01-01, 0.06750, whole, ",
        places="OH,68308,Rossford,city,39173,39173,\n",
    )
    assert "Erie County - COTA area (Huron): no such county" in messages(report, "left_out")
    for day, district in ((date(2022, 3, 31), 0), (date(2022, 4, 1), 500)):
        found = rate(book_dir, "OH", location="Rossford", as_of=day)
        assert (found.county, found.district) == (1_750, district)
