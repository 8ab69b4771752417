"""The combined rate of every row of the book is the sum of its parts, and the published total."""

from __future__ import annotations

import csv
from datetime import date, timedelta
from pathlib import Path

import pytest

from svc_tools.service.ratebook import NotResolved
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
    assert seen > 7_000


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
