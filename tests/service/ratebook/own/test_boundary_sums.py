"""Every composition of county, place and districts is the sum of its lines, on every day."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.boundary_books import told
from support.boundary_files import METRO, RATES, line

PARTS = {
    "county": ["", "053", "037", "999"],
    "place": ["", "43000", "58000", "17000", "99999"],
}
UNITS = [row.split(",") for row in RATES.splitlines()]


def by_hand(day, codes_of):
    """The sum over the rate file's own lines, one line in force for each code."""
    return sum(
        round(float(rate) * 100_000)
        for _, kind, code, rate, *_, begin, end in UNITS
        if (kind, code) in codes_of and int(begin) <= int(day.strftime("%Y%m%d")) <= int(end)
    )


@pytest.fixture(scope="module")
def compositions(asking):
    """Every combination of county, place and districts, each in a +4 of its own."""
    combinations = [
        (county, place, METRO[:count])
        for county in PARTS["county"]
        for place in PARTS["place"]
        for count in range(4)
    ]
    ask = asking(
        *(
            line("4", zips="55401", plus4=f"{n}", county=county, place=place, specials=specials)
            for n, (county, place, specials) in enumerate(combinations, 1)
        )
    )
    return ask, combinations


@settings(max_examples=200, deadline=None)
@given(number=st.integers(1, 80), day=st.dates(date(2016, 1, 1), date(2026, 6, 30)))
def test_every_composition_is_the_sum_of_its_lines_on_every_day(compositions, number, day):
    ask, combinations = compositions
    county, place, specials = combinations[number - 1]
    answer = ask(day, zip=f"55401-{number:04}")
    wanted = {("45", "27"), ("00", county), ("01", place), *(("63", code) for code in specials)}
    assert told(answer) == ("zip4", "exact", by_hand(day, wanted))
    parts = answer.chosen
    assert parts.state + parts.county + parts.city + parts.district == parts.combined
