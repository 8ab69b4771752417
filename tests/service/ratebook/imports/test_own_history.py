"""Whatever was known before and whatever a list says: each day has the rate of the right one."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.imports.overlay import continued
from svc_tools.service.ratebook.imports.reading import OwnTables, by_jurisdiction
from svc_tools.service.ratebook.schema import Area, Jurisdiction, RateRow, Source

FIRST, LAST = date(2026, 7, 1), date(2026, 9, 30)
EVE = FIRST - timedelta(days=1)
PARTS = ("WA:city:1", "WA:district:1")
AREA = Area("WA:1", "WA", "city", "One", ("001",), (), ("One",), "0001", 0)
DAYS = st.dates(date(2022, 1, 1), date(2026, 12, 31))


def source(name, since, until):
    return Source(name, name, "", "2026Q3", "", "official", since, until, until)


def row(key, units, begin, end, name):
    return RateRow(key, units, begin, end, None, name, "official", "", None, "")


def tables(parts, rows, name, since, until):
    area = replace(AREA, components=parts)
    return OwnTables(
        [load_book().states["WA"]],
        [source(name, since, until)],
        [Jurisdiction(key, "WA", key.split(":")[1], "1", "One") for key in parts],
        [area],
        rows,
    )


@st.composite
def histories(draw, name="old"):
    """What the book knew: one or two parts, each with a few spans and no hole between them."""
    parts = PARTS[: draw(st.integers(1, 2))]
    rows = []
    for key in parts:
        begins = [date(2022, 1, 1), *sorted(draw(st.sets(DAYS, max_size=3)))]
        ends = [begin - timedelta(days=1) for begin in begins[1:]]
        for begin, end in zip(begins, [*ends, None], strict=True):
            if end is None or begin <= end:
                rows.append(row(key, draw(st.integers(0, 5)), begin, end, name))
    return tables(
        parts, rows, name, date(2022, 1, 1), draw(st.sampled_from([EVE, LAST, date(2026, 3, 31)]))
    )


@st.composite
def lists(draw, name="new"):
    parts = PARTS[: draw(st.integers(1, 2))]
    rows = [row(key, draw(st.integers(0, 5)), FIRST, None, name) for key in parts]
    return tables(parts, rows, name, FIRST, LAST)


def total(rates, area, day):
    found = [
        [
            one
            for one in rates.get(part, ())
            if (one.begin or day) <= day and (one.end is None or day <= one.end)
        ]
        for part in area.components
    ]
    assert all(len(rows) <= 1 for rows in found)
    return [sum(one.units for rows in found for one in rows), all(found)]


@settings(deadline=None)  # other work on the machine is no fault
@given(histories(), lists(), DAYS)
def test_every_day_has_the_rate_of_what_speaks_of_it(before, after, day):
    merged = continued(before, after, FIRST, LAST)
    (area,) = merged.areas
    old, new, both = map(by_jurisdiction, (before.rates, after.rates, merged.rates))
    expected, said = total(both, area, day)
    assert said  # no part of the area is without a row on any day
    later = [one.begin for rows in old.values() for one in rows if one.begin and one.begin > LAST]
    if day < FIRST:
        assert expected == total(old, before.areas[0], day)[0]
    elif not later or day < min(later):
        assert expected == total(new, after.areas[0], day)[0]


@settings(deadline=None)  # other work on the machine is no fault
@given(histories(), lists())
def test_no_two_rows_of_a_part_overlap_and_sources_are_those_in_use(before, after):
    merged = continued(before, after, FIRST, LAST)
    for rows in by_jurisdiction(merged.rates).values():
        for one, other in pairwise(rows):
            assert one.end is not None
            assert one.end < other.begin
    assert {one.id for one in merged.sources} == {one.source for one in merged.rates}
    assert {one.id for one in merged.jurisdictions} >= set(by_jurisdiction(merged.rates))
