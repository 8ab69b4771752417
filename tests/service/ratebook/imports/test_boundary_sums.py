"""Every composition of county, place and districts is the sum of its lines, on every day."""

from __future__ import annotations

import random
from collections import Counter
from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.boundary_books import codes, told
from support.boundary_files import METRO, RATES, line

from svc_tools.service.ratebook import load_book

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


BEGAN_SINCE = date(2021, 10, 1)
"""A tax of Minnesota that the file has a later begin of was none from this day until then."""
KEPT_SINCE = date(2023, 7, 1)
"""The day after the first local rate of the file that ended: those before may not be in it."""


@settings(max_examples=200, deadline=None)
@given(number=st.integers(1, 80), day=st.dates(date(2016, 1, 1), date(2026, 6, 30)))
@example(number=1 + 1 * 20 + 3 * 4, day=date(2023, 6, 30))  # Owatonna's tax on its last day
@example(number=1 + 1 * 20 + 3 * 4, day=date(2023, 7, 1))
def test_every_composition_is_the_sum_of_its_lines_on_every_day(compositions, number, day):
    ask, combinations = compositions
    county, place, specials = combinations[number - 1]
    answer = ask(day, zip=f"55401-{number:04}")
    named = {("00", county), ("01", place), *(("63", code) for code in specials)}
    named = {(kind, code) for kind, code in named if code}
    listed = {(kind, code) for _, kind, code, *_ in UNITS} if day >= BEGAN_SINCE else set()
    silent = any(not by_hand(day, {one}) for one in named - listed)
    level = "low" if silent and day < KEPT_SINCE else "exact"
    assert told(answer) == ("zip4", level, by_hand(day, {("45", "27"), *named}))
    assert ("as_of_before_history" in codes(answer)) == (level == "low")
    parts = answer.chosen
    assert parts.state + parts.county + parts.city + parts.district == parts.combined


PLACES = (
    {"county": "053"},
    {"county": "053", "place": "43000"},
    {"county": "053", "place": "43000", "specials": METRO},
    {"county": "037", "specials": METRO[:1]},
)
SPANS = (("20160101", "29991231"), ("20160101", "20260430"), ("20260501", "99991231"))
LAST = 20
"""House numbers and +4 that are asked for and recorded: few, so that records meet."""


def some_records(zip5, rng):
    """Up to eight records of a ZIP: kind, span, number of the place, range, side, ZIP."""
    for _ in range(rng.randint(1, 8)):
        low, high = sorted(rng.choices(range(1, LAST + 1), k=2))
        place, side = rng.randrange(len(PLACES)), rng.choice("OEB")
        yield rng.choice("Z44AAA"), rng.choice(SPANS), place, (low, high), side, zip5


def written(one):
    kind, (begins, ends), place, (low, high), side, zip5 = one
    made = {"begins": begins, "ends": ends, **PLACES[place]}
    if kind == "Z":
        return line("Z", zips=zip5, **made)
    if kind == "4":
        return line("4", zips=zip5, plus4=f"{low}-{high}", **made)
    return line("A", zip5=zip5, street="|OAK|AVE|", numbers=f"{low}-{high}", side=side, **made)


def finest(records, day, house, plus4):
    """Which records decide, as anybody would find them reading the file from top to bottom."""
    number = int(day.strftime("%Y%m%d"))
    here = [one for one in records if int(one[1][0]) <= number <= int(one[1][1])]
    sides = {"O": (1,), "E": (0,), "B": (0, 1)}
    houses = [
        one
        for one in here
        if one[0] == "A" and one[3][0] <= house <= one[3][1] and house % 2 in sides[one[4]]
    ]
    spans = [one for one in here if one[0] == "4" and one[3][0] <= plus4 <= one[3][1]]
    for via, found in (("address", houses), ("zip4", spans), ("zip5", here)):
        if found:
            return via, found
    return None, []


def test_any_records_answer_as_a_reader_of_the_file_would(asking):
    rng = random.Random(20260501)  # noqa: S311 - the same file every time
    known = load_book().zips.state("MN")
    zips = [zip5 for zip5 in sorted(known) if known[zip5].county][:150]
    records = {zip5: list(some_records(zip5, rng)) for zip5 in zips}
    rng.shuffle(zips)
    ask = asking(*(written(one) for zip5 in zips for one in records[zip5]))
    met = Counter()
    for zip5 in zips:
        for _ in range(6):
            house, plus4 = rng.randint(1, LAST), rng.randint(1, LAST)
            day = rng.choice((date(2026, 4, 30), date(2026, 5, 1)))
            via, found = finest(records[zip5], day, house, plus4)
            where = {"street": f"{house} Oak Ave", "city": known[zip5].city}
            answer = ask(day, zip=f"{zip5}-{plus4:04}", **where)
            case = (zip5, house, plus4, day, records[zip5])
            if via is None:
                assert not answer.location.by_record, case
                continue
            sums = {by_hand(day, {("45", "27"), *coded(PLACES[one[2]])}) for one in found}
            sure = "high" if via == "zip5" or len({one[2] for one in found}) > 1 else "exact"
            level = "medium" if len(sums) > 1 else sure
            assert told(answer) == (via, level, min(sums)), case
            assert ("zip_spans_jurisdictions" in codes(answer)) == (len(sums) > 1), case
            met[via, level] += 1
    assert len(met) == 6, met  # each way, sure and not


def coded(place):
    """Type and code of all that a place names."""
    yield "00", place["county"]
    yield "01", place.get("place", "")
    for code in place.get("specials", ()):
        yield "63", code
