"""Compiling the lists of areas: whole rates with their days, and what goes on where a file ends."""

from __future__ import annotations

from datetime import date

import pytest
from compile_book import RowError, compile_book
from support.compiled import LISTED, answer, messages, rate

from svc_tools.service.ratebook import load_book


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


def test_towns_of_vermont_are_told_from_the_cities_of_their_names(build, book_dir):
    build(
        "VT 50021, , 2022-01-01, 0.06000, whole, ",
        "VT 50021, 61225 Rutland, 2022-01-01, 0.07000, whole, y",
        "VT 50021, town Rutland Town, 2024-07-01, 0.07000, whole, ",
        "VT 50021, town Rutland City, 2023-07-01, 0.07000, whole, ",
        places="VT,61225,Rutland,city,50021,50021,\n",
    )
    names = {area.name for area in load_book(book_dir).areas.values() if area.state == "VT"}
    assert names == {"Rutland County", "Rutland", "Rutland Town"}
    for name, before, after in (("Rutland", 7_000, 7_000), ("Rutland Town", 5_000, 7_000)):
        for day, expected in ((date(2024, 6, 30), before), (date(2024, 7, 1), after)):
            assert rate(book_dir, "VT", location=name, as_of=day).combined == expected, name


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
