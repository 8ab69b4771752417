"""Compiling: every reader on small files, what is left out, and the whole shipped book."""

from __future__ import annotations

import csv
import subprocess
import sys
from datetime import date
from decimal import Decimal
from importlib import resources
from pathlib import Path

import pytest
from compile_book import CompileReport, RowError, compile_book
from compile_book.files import rounded_units
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.service.ratebook import NotResolved, Query, load_book, resolve
from svc_tools.service.ratebook.imports.sst_rows import rate_file_rows
from svc_tools.service.ratebook.schema import LIMITS_FOLDER, TABLES

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


def answer(folder, state, **fields):
    """The answer of the book in a folder."""
    return resolve(load_book(folder), Query(state=state, **fields), today=DAY)


def rate(folder, state, **fields):
    """The rates of that answer."""
    return answer(folder, state, **fields).chosen


def messages(report, kind):
    """The findings of one kind, each with its subject."""
    return [f"{found.subject}: {found.message}" for found in report.of_kind(kind)]


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


@pytest.mark.parametrize(("month", "read"), [("2026-12", True), ("2027-01", False)])
def test_an_edition_after_that_of_the_book_is_not_read(source_dir, book_dir, month, read):
    edition = source_dir / month
    edition.mkdir()
    (edition / WI_FILE).write_text(WI_ROWS)
    (edition / "sources.csv").write_text("source_id,trust,good_until\n")
    report = compile_book(source_dir, book_dir)
    assert (rate(book_dir, "WI", zip="53703").combined == 5_500) is read
    assert any(one.startswith(month) for one in messages(report, "note")) is not read


def test_a_trust_that_no_book_knows_is_refused(source_dir, book_dir):
    (source_dir / "sources_more.csv").write_text(
        "source_id,what,authority,edition,trust,good_until\nx,a list,a city,2026,rumor,2027-02-01\n"
    )
    with pytest.raises(RowError, match=r"sources_more\.csv: x: trust: given 'rumor'"):
        compile_book(source_dir, book_dir)


def test_a_book_needs_every_source(source_dir, book_dir):
    for source in source_dir.iterdir():
        source.rename(source.with_name("away"))
        with pytest.raises(RowError, match="the book needs one"):
            compile_book(source_dir, book_dir)
        assert not book_dir.exists()
        source.with_name("away").rename(source)


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


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("55,00,025,0.30,0.30,0,0,20200101,99991231", "outside 0 to 25%"),
        ("55,00,025,0.005,0.006,0,0,20200101,99991231", "differ"),
        ("55,00,025,0.005,0.005,0,0,20210101,20200101", "before it begins"),
        ("55,00,025,0.005", "4 columns"),
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


@pytest.mark.skipif(not SOURCES.is_dir(), reason="the source files are not beside the project")
def test_the_shipped_book_is_what_its_sources_compile_to(book_dir):
    report = compile_book(SOURCES, book_dir)
    for name in TABLES:
        assert (book_dir / name).read_bytes() == DATA.joinpath(name).read_bytes(), name
    compiled = {path.name: path.read_bytes() for path in (book_dir / LIMITS_FOLDER).iterdir()}
    assert compiled == {
        file.name: file.read_bytes() for file in DATA.joinpath(LIMITS_FOLDER).iterdir()
    }
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


def listed(source_dir, *lines):
    """A list. Each line: county, code and name of the place, span, rate, use, principal."""
    rows = [(source_dir / "local_rates_x.csv").read_text().strip()]
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
        (source_dir / "local_rates_x.csv").write_text(listed(source_dir, *lines))
        path = source_dir / "place_counties.csv"
        path.write_text(path.read_text() + places)
        return compile_book(source_dir, book_dir)

    return build


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


def test_a_history_that_does_not_lead_to_the_rate_of_the_list_is_left_out(
    source_dir, book_dir, build
):
    path = source_dir / "local_history_listed_cities.csv"
    rows = [
        f"CO,place,08{county},,{place},{name},city,2022-01-01,2026-06-30,{rate},,window,two_editions,"
        "whole,list,y,,likely"
        for county, place, name, rate in (
            ("059", "11111", "Right", "0.07000"),
            ("059", "22222", "Wrong", "0.06000"),
            ("059", "33333", "Unknown", "0.07000"),
        )
    ]
    path.write_text(path.read_text() + "\n".join(rows) + "\n")
    report = build(
        "CO 08059, , 2026-07-01, 0.05500, partial, ",
        "CO 08059, 11111 Right, 2026-07-01, 0.07000, whole, y",
        "CO 08059, 22222 Wrong, 2026-07-01, 0.07000, whole, y",
        places="CO,11111,Right,city,08059,08059,\nCO,22222,Wrong,city,08059,08059,\n",
    )
    right = answer(book_dir, "CO", location="Right", as_of=date(2022, 1, 1))
    assert (right.chosen.combined, right.chosen.city, right.confidence) == (7_000, 2_000, "medium")
    wrong = answer(book_dir, "CO", location="Wrong", as_of=date(2022, 1, 1))
    assert {w["code"] for w in wrong.advisories} >= {"as_of_before_history"}
    told = messages(report, "left_out")
    assert any("CO Wrong: ends with 6.00%, and the list has 7.00%" in one for one in told)
    assert any("CO Unknown: the book has no rate of the city" in one for one in told)


PARISH = "LA,{level},22{county},,{place},{name},{begin},{end},{rate},{seen},{same},la-lata,,{use}"


@pytest.fixture
def parishes(source_dir, build):
    """Compiles some rows of Louisiana's tables, each as the fields of `PARISH` that differ."""

    def parishes(*rows):
        sources = source_dir / "sources.csv"
        line = "la-lata,Parish tables,collectors,2025,official,2025-04-30\n"
        sources.write_text(sources.read_text() + line)
        common = {
            "level": "place", "county": "055", "begin": "2020-01-01", "end": "", "rate": "0.040000",
            "seen": "2024-07", "same": "", "use": "whole", "place": "", "name": "",
        }  # fmt: skip
        path = source_dir / "la_parish_local_rates_part.csv"
        text = "\n".join(PARISH.format(**common | row) for row in rows)
        path.write_text(f"{path.read_text()}{text}\n")
        return build(
            places="LA,40735,Lafayette,city,22055,22055,\nLA,68475,Scott,city,22055,22055,\n"
        )

    return parishes


def test_a_figure_that_another_table_contradicts_is_none(parishes, book_dir):
    parishes(
        {"level": "county_rest"},
        {"place": "40735", "name": "Lafayette", "use": "doubtful", "same": "not_equal"},
    )
    doubtful = answer(book_dir, "LA", location="Lafayette", as_of=date(2024, 7, 1))
    assert (doubtful.chosen.combined, doubtful.chosen.lacks) == (5_000, "local")
    unlisted = answer(book_dir, "LA", location="Scott", as_of=date(2024, 7, 1))
    assert (unlisted.chosen.combined, unlisted.chosen.lacks) == (5_000, "local")
    rest = answer(book_dir, "LA", location="Lafayette Parish", as_of=date(2024, 7, 1))
    assert (rest.chosen.combined, rest.chosen.lacks) == (9_000, "")


@pytest.mark.parametrize(("same", "level"), [("equal", "medium"), ("", "low")])
def test_behind_its_table_a_figure_is_as_sure_as_a_later_table(parishes, book_dir, same, level):
    parishes({"place": "40735", "name": "Lafayette", "same": same})
    seen = answer(book_dir, "LA", location="Lafayette", as_of=date(2024, 7, 31))
    assert (seen.confidence, seen.chosen.combined) == ("medium", 9_000)
    later = answer(book_dir, "LA", location="Lafayette", as_of=date(2024, 8, 1))
    assert (later.confidence, later.chosen.combined) == (level, 9_000)


def test_a_row_of_no_parish_or_place_is_refused(parishes):
    with pytest.raises(RowError, match="the state has no such parish"):
        parishes({"county": "999", "level": "county"})


def test_a_place_that_the_state_lacks_is_refused(parishes):
    with pytest.raises(RowError, match="no place has code 99999"):
        parishes({"place": "99999", "name": "Nowhere"})


def test_a_city_that_the_law_lets_levy_is_refused_as_one_that_it_bars(source_dir, build):
    path = source_dir / "id_cities_over_10000.csv"
    path.write_text(
        f"{path.read_text()}ID,12345,Small,Ada County,9000,9999,0.06,2022-01-01,,list\n"
    )
    with pytest.raises(RowError, match="Small: no city of more than 10,000"):
        build(places="ID,12345,Small,city,16001,16001,\n")


@given(st.integers(0, 25_000_000), st.integers(5, 8))
def test_a_published_rate_is_rounded_half_up_and_kept_where_that_changed_it(digits, places):
    exact = Decimal(digits).scaleb(-8)
    text = f"{exact:.{places}f}"
    units, published = rounded_units(text)
    off = Decimal(text) - Decimal(units).scaleb(-5)
    assert -Decimal("0.000005") <= off < Decimal("0.000005")
    assert (Decimal(published) if published else Decimal(units).scaleb(-5)) == Decimal(text)
    assert bool(published) == (off != 0)
