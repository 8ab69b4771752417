"""Compiling rate files by city: silence of the file, districts by what is published of them."""

from __future__ import annotations

import csv
from datetime import date

import pytest
from compile_book import CompileReport, compile_book
from hypothesis import given
from hypothesis import strategies as st
from support.compiled import answer, messages, rate

from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.imports.sst_rows import rate_file_rows

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
DAY = date(2026, 5, 1)


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
    assert "history 5.00%, which answers" in messages(report, "conflict")[0]
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
