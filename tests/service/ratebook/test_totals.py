"""Every rate of the book is the sum of its parts, and the published total of its day."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import pytest

from svc_tools.service.ratebook import NotResolved
from svc_tools.service.ratebook.gazetteer import areas_of_place, bases_of
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.rating import Rated, rate_area

SOURCES = Path(__file__).parents[4] / "shared" / "data"
PARTS = ("country_rate", "state_rate", "county_rate", "city_rate", "combined_district_rate")
at_hand = pytest.mark.skipif(
    not SOURCES.is_dir(), reason="the source files are not beside the project"
)


def units(text):
    """A five-decimal rate, or a fraction or percentage of a source, as whole units of 10^-5."""
    whole, _, fraction = text.partition(".")
    assert len(fraction.rstrip("0")) <= 5
    return int(whole + fraction.rstrip("0").ljust(5, "0"))


def read(path):
    """The rows of a source file."""
    return csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines())


@pytest.mark.parametrize(
    ("place", "day", "rate"),
    [
        ("Memphis TN", "", 9_750),
        ("Nashville TN", "2025-01-31", 9_250),
        ("Nashville TN", "2025-02-01", 9_750),
        ("Little Rock AR", "", 8_625),
        ("Wichita KS", "", 7_500),
        ("Omaha NE", "", 7_000),
        ("Sioux Falls SD", "2023-06-30", 6_500),
        ("Sioux Falls SD", "2023-07-01", 6_200),
        ("Fargo ND", "", 7_750),
        ("Salt Lake City UT", "", 8_450),
        ("Cheyenne WY", "2022-03-31", 5_000),
        ("Cheyenne WY", "2026-03-31", 6_000),
        ("Cheyenne WY", "2026-04-01", 5_000),
        ("Oklahoma City, Oklahoma County OK", "", 8_625),
        ("Oklahoma City, Cleveland County OK", "", 8_750),
        ("Oklahoma City, Canadian County OK", "", 8_975),
        ("Houston TX", "", 8_250),
        ("Dallas TX", "", 8_250),
        ("Austin TX", "", 8_250),
        ("Chicago IL", "2026-07-31", 10_250),
        ("Chicago IL", "2026-08-01", 10_500),
        ("Denver CO", "", 9_150),
        ("Phoenix AZ", "", 9_100),
        ("Columbus OH", "2025-03-31", 7_500),
        ("Columbus OH", "", 8_000),
        ("Augusta GA", "2026-09-30", 8_500),
        ("Augusta GA", "2026-10-01", 9_000),
        ("East Point GA", "2022-06-01", 7_750),
        ("East Point GA", "", 8_750),
        ("Hartford CT", "2022-03-01", 6_350),
    ],
)
def test_published_rates_are_whole(ask, place, day, rate):
    fields = {"as_of": date.fromisoformat(day)} if day else {}
    found = ask(place[-2:], location=place[:-3], **fields).chosen
    assert (found.combined, found.lacks, found.history_from) == (rate, "", None)


def test_every_area_on_every_day_that_a_rate_of_it_changes(book):
    seen = 0
    for area in book.areas.values():
        rows = [row for key in (area.state, *area.components) for row in book.rates[key]]
        begins = {row.begin for row in rows if row.begin} | {date(2026, 11, 21)}
        for day in begins | {begin - timedelta(days=1) for begin in begins}:
            rated = rate_area(book, area.state, area, day)
            if not isinstance(rated, Rated):
                continue
            seen += 1
            by_part = rated.state + rated.county + rated.city + rated.district
            assert rated.combined == by_part == sum(one.row.units for one in rated.components)
            assert area.state != "TX" or rated.combined <= 8_250  # the most its law allows
    assert seen > 25_000


def test_every_answer_on_the_wire_adds_up(ask, book):
    for state in sorted(book.states):
        for zip5 in book.zips.zips(state)[::40]:
            try:
                body = ask(state, zip=zip5).full()
            except NotResolved:
                continue
            rate = body["rate"]
            total = sum(units(rate[part]) for part in PARTS)
            assert total == units(rate["combined_rate"]), (state, zip5)
            assert total == sum(units(one["rate"]) for one in body["components"]), (state, zip5)
            for candidate in body["candidates"]:
                parts = sum(units(candidate[part]) for part in PARTS[1:])
                assert parts == units(candidate["combined_rate"]), (state, zip5)


BEGIN = "2022-01-01"
UNKNOWN_BY_DESIGN = {("IL", "Island Lake")}
"""The list has less than for the rest of the county: sources disagree."""
OFFICIAL = {"MN", "TX", "WA"}
"""Where the list is not sure, the state's own file or the table may be."""


def areas_of_row(book, row):
    """The areas that a row of a list is of: the first is the likeliest."""
    state, fips, name = row["state"], row["county_fips"][2:], row["place_name"]
    if row["level"] == "place" and row["place_fips"]:
        return areas_of_place(book, state, book.places(state)[row["place_fips"]], (fips,))
    if name and row["level"] != "county":
        keys = {name_key(name), name_key(name.removesuffix(" City"))}
        cities = [a for a in book.areas.values() if (a.state, a.kind) == (state, "city")]
        return [area for area in cities if name_key(area.name) in keys]
    return bases_of(book, state, fips)


@at_hand
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("local_rates_sst_2026Q4.csv", 6_220),
        ("local_rates_ca_2026Q3.csv", 540),
        ("local_rates_tx.csv", 139),
        ("local_rates_il.csv", 304),
        ("local_rates_co_2025-07.csv", 142),
        ("vt_towns.csv", 32),
        ("local_history_tier_b.csv", 340),
    ],
)
def test_every_row_of_the_lists_on_the_first_and_the_last_day_of_its_span(book, ask, name, rows):
    checked = 0
    for row in read(SOURCES / "compiled" / "2026-11" / name):
        state, whole = row["state"], row["use"] == "whole"
        if (state, row["place_name"]) in UNKNOWN_BY_DESIGN or not (whole or state not in OFFICIAL):
            continue
        first, last = max(row["effective_from"], BEGIN), row["effective_to"] or "2026-12-31"
        if last < BEGIN or row["basis"] == "artefact":  # a sliver drawn by mistake
            continue
        checked += whole
        for text in (first, last):
            day = date.fromisoformat(text)
            rated = rate_area(book, state, areas_of_row(book, row)[0], day)
            assert isinstance(rated, Rated), row
            assert rated.history_from is None, row
            # of states with listed cities only, counties are never whole
            is_whole = whole and not (state in {"IL", "ID"} and "county" in row["level"])
            assert is_whole == (not rated.lacks and rated.confirmed is None), row
            if whole:
                assert rated.combined == units(row["combined_rate"]), row
        if whole and row["principal"] == "y" and row["level"] == "place" and day.month == 12:
            written = f"{row['place_name']}, {row['county_name']}"
            assert ask(state, location=written, as_of=day).chosen.combined == rated.combined, row
    assert checked == rows


@at_hand
def test_californias_totals_are_the_published_ones(ask):
    path = SOURCES / "official" / "ca_cdtfa_2026-01-01.csv"
    checked = 0
    for row in read(path):
        if row["Type"] != "City":
            continue
        try:
            answer = ask("CA", location=row["Location"], as_of=date(2026, 2, 1))
        except NotResolved:  # a name that counties or towns share: the answer is in the refusal
            continue
        checked += 1
        assert answer.chosen.combined == units(row["Rate"]), row["Location"]
    assert checked > 470


@at_hand
def test_washingtons_totals_are_the_published_ones_in_every_quarter(ask):
    path = SOURCES / "official" / "wa_dor_quarterly_2022Q1_2026Q2.csv"
    checked = 0
    for row in read(path):
        if not row["location_code"].isdecimal():  # the shifted rows
            continue
        day = date.fromisoformat(row["effective"])
        try:
            answer = ask("WA", location=row["location_code"].zfill(4), as_of=day)
        except NotResolved:
            continue
        checked += 1
        assert answer.chosen.combined == units(row["total_rate"]), row
    assert checked > 7_000


@at_hand
@pytest.mark.parametrize(
    ("state", "day"), [("NC", "2026-10-01"), ("OH", "2026-02-01"), ("NV", "2025-11-01")]
)
def test_the_totals_of_county_states_are_the_published_ones(ask, state, day):
    path = SOURCES / "compiled" / "county_rates_nc_oh_nv.csv"
    checked = 0
    for row in read(path):
        if row["state"] != state or row["level"] != "county" or row["name"] == "Mecklenburg County":
            continue
        answer = ask(state, location=row["name"], as_of=date.fromisoformat(day))
        checked += 1
        percent = units(row["combined_rate_pct"])
        assert answer.chosen.combined * 100 == percent, row["name"]
    assert checked >= 17
