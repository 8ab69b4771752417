"""Lookups in boundary records: ZIP+4, addresses, ZIPs, sums of rates, the official sample."""

from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.boundary_files import (
    AROUND_MINNEAPOLIS,
    DAY,
    ENDED,
    HENNEPIN,
    METRO,
    MINNEAPOLIS,
    RATES,
    ST_PAUL,
    asking_in,
    imported,
    line,
    told,
)
from support.cases import codes
from support.examples import examples

from svc_tools.service.ratebook import NotResolved, Query, load_book, resolve


@pytest.fixture(scope="module")
def ask(asking):
    """Lookups over a few records of each kind."""
    return asking(*AROUND_MINNEAPOLIS)


def test_a_zip_plus4_is_exact_and_composed_of_all_its_parts(ask):
    answer = ask(zip="55401-1234")
    assert told(answer) == ("zip4", "exact", 9_025)
    assert codes(answer) == []
    body = answer.full()
    assert body["meta"]["resolved_via"] == "zip4"
    assert body["meta"]["edition"] == "2026Q2"
    assert body["rate"]["state_rate"] == "0.06875"
    assert body["rate"]["county_rate"] == "0.00150"
    assert body["rate"]["city_rate"] == "0.00500"
    assert body["rate"]["combined_district_rate"] == "0.01500"
    assert body["rate"]["combined_rate"] == "0.09025"
    assert body["rate"]["county"] == "Hennepin County"
    assert [part["code"] for part in body["components"]] == ["27", "053", "43000", *METRO]
    assert body["meta"]["effective_date"] == "2023-10-01"


@pytest.mark.parametrize(
    ("plus4", "combined"), [("55102-5000", 8_375), ("55103-0001", 8_375), ("55104-4000", 8_375)]
)
def test_a_range_over_several_zips_holds_the_zips_between(ask, plus4, combined):
    assert told(ask(zip=plus4)) == ("zip4", "exact", combined)


@pytest.mark.parametrize("plus4", ["55102-4999", "55104-4001"])
def test_a_range_over_several_zips_begins_and_ends_within_them(ask, plus4):
    assert ask(zip=plus4).location.via == "zip5"


def test_a_zip_alone_has_its_lowest_rate_and_all_candidates(ask):
    answer = ask(zip="55401")
    assert told(answer) == ("zip5", "medium", 8_525)
    note = next(n for n in answer.advisories if n["code"] == "zip_spans_jurisdictions")
    assert (note["candidates"], note["lowest_combined_rate"], note["highest_combined_rate"]) == (
        2,
        "0.08525",
        "0.09025",
    )
    whole = answer.full()["candidates"]
    assert [one["combined_rate"] for one in whole] == ["0.08525", "0.09025"]
    assert whole[0]["why"] == "the ZIP record of ZIP 55401"


def test_ranges_that_differ_in_name_only_are_one_candidate(asking):
    """Neither place levies anything: the ZIP has one rate, whichever of them it is."""
    ask = asking(
        line("4", zips="55106", plus4="1-99", county="053", place="11111"),
        line("4", zips="55106", plus4="100-9999", county="053", place="22222"),
    )
    answer = ask(zip="55106")
    assert told(answer) == ("zip5", "high", 7_025)
    assert len(answer.rated) == 1


def test_a_day_before_the_records_is_answered_with_the_oldest(ask):
    answer = ask(date(2015, 1, 1), zip="55401-1234")
    assert told(answer)[:2] == ("zip4", "low")
    note = next(n for n in answer.advisories if n["code"] == "as_of_before_history")
    assert note["oldest"] == "2016-01-01"


def test_a_day_after_the_edition_is_one_step_less(ask):
    assert ask(date(2026, 6, 30), zip="55401-1234").confidence == "exact"
    answer = ask(date(2026, 7, 1), zip="55401-1234")
    assert told(answer) == ("zip4", "high", 9_025)
    note = next(n for n in answer.advisories if n["code"] == "as_of_after_edition")
    assert note["edition_end"] == "2026-06-30"


def test_the_edition_that_ends_first_counts(asking):
    """The rates are a quarter newer than the records."""
    record = line("4", zips="55401", plus4="1-9", **MINNEAPOLIS)
    ask = asking(record, rate_quarter="2026Q3")
    assert ask(date(2026, 6, 30), zip="55401-0001").confidence == "exact"
    assert ask(date(2026, 7, 1), zip="55401-0001").confidence == "high"


@pytest.mark.parametrize(
    ("row", "level", "combined"),
    [
        ("27,01,21770,0.0050,0.0075,,,20230101,29991231", "low", 6_875),  # it has no other
        ("27,01,43000,0.0050,0.0075,,,20260101,29991231", "medium", 7_375),
    ],
)
def test_a_rate_row_that_cannot_be_used_is_never_exact(asking, row, level, combined):
    place = row.split(",")[2]
    ask = asking(line("4", zips="55401", plus4="1-9", place=place), rates=f"{RATES}{row}\n")
    answer = ask(zip="55401-0001")
    assert told(answer) == ("zip4", level, combined)
    assert codes(answer) == ["source_conflict"]
    assert "intrastate 0.0050 and interstate 0.0075 differ" in answer.advisories[0]["message"]


def test_a_district_without_a_rate_is_reported_and_never_exact(ask):
    answer = ask(zip="55403-0005")
    assert told(answer) == ("zip4", "medium", 7_025)
    note = next(n for n in answer.advisories if n["code"] == "districts_not_covered")
    assert note["codes"] == ("63:99999",)


def test_a_record_that_does_not_name_the_state_is_never_exact(ask):
    assert told(ask(zip="55404-0005")) == ("zip4", "medium", 7_025)


def test_a_zip_without_records_is_answered_as_ever(ask):
    assert told(ask(zip="55901-1234")) != ("zip4", "exact", 6_875)
    assert ask(zip="55901").location.via != "zip4"


def test_a_range_over_the_state_line_leaves_the_neighbours_zips_alone(asking):
    ask = asking(line("Z", zips="50000-59999"), line("4", zips="57000-57999", plus4="0-9999"))
    assert told(ask(zip="55901")) == ("zip5", "high", 6_875)
    for zip_code in ("57104", "57104-1234"):
        with pytest.raises(NotResolved, match="it lies in SD"):
            ask(zip=zip_code)


def test_a_zip_that_no_table_knows_is_answered_where_a_record_names_it(asking):
    ask = asking(line("Z", zips="55000-55999"), line("4", zips="55999", plus4="1-9", **ST_PAUL))
    assert told(ask(zip="55999-0005")) == ("zip4", "exact", 8_375)
    assert ask(zip="55999").location.zip == "55999"
    with pytest.raises(NotResolved, match="unknown"):
        ask(zip="55998")


def test_a_state_without_local_tax_is_exact_by_its_records(asking):
    rates = "18,45,18,0.07,0.07,0,0,20080401,29991231\n"
    ask = asking(line("4", state="18", zips="46204", plus4="0-9999"), rates=rates, state="IN")
    assert told(ask(zip="46204-0001")) == ("zip4", "exact", 7_000)
    assert told(ask(zip="46204")) == ("zip5", "high", 7_000)


def test_washington_codes_hold_the_whole_local_rate(asking):
    """Seattle's code 1726 is 3.85% (1.4% of it transit), whatever else the record names."""
    record = line(
        "4",
        state="53",
        zips="98101",
        plus4="1-9999",
        county="033",
        place="63000",
        specials=["L1726", "99999"],
        columns=90,
    )
    ask = asking(record, rates="", state="WA")
    answer = ask(zip="98101-0005")
    assert told(answer)[:2] == ("zip4", "exact")
    by_code = resolve(load_book(), Query("WA", location="1726", as_of=DAY), today=DAY)
    assert answer.chosen.combined == by_code.chosen.combined
    assert answer.chosen.area.code == "1726"


def test_many_threads_ask_at_once(ask):
    asked = [("55401-1234", 9_025), ("55401-5000", 8_525), ("55103-0001", 8_375)] * 100
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: ask(zip=one[0]).chosen.combined, asked))
    assert found == [combined for _, combined in asked]


@pytest.mark.parametrize(
    ("street", "combined"),
    [
        ("101 N Main St", 9_025),
        ("102 North Main Street", 8_525),
        ("102 S Main St", 8_375),
        ("5 Oak Ave Apt 3", 8_525),
        ("5 Oak Ave # 30", 8_375),
        ("7 Elm St", 9_025),
        ("5 Elm St Apt 3", 9_025),
        ("5 Elm St Apt C", 9_025),
        ("5 Elm St Bldg D", 8_375),
        ("N64W150 Grid Road", 8_375),
        ("150 Grid Road", 8_525),
        ("150B Grid Road", 8_525),
        ("PO Box 77", 9_025),
    ],
)
def test_an_address_is_exact(ask, street, combined):
    for asked in (
        {"street": street, "city": "Minneapolis", "zip": "55402"},
        {"address": f"{street}, Minneapolis, MN 55402"},
        {"address": f"{street}, Minneapolis, MN 55402-0001"},
    ):
        answer = ask(**asked)
        assert told(answer) == ("address", "exact", combined), asked
        assert codes(answer) == []


WRITTEN = [
    ("N|MAIN|ST|", "100 North Main Street"),
    ("N|MAIN|ST|", "100 n. main st."),
    ("NORTH|MAIN|STREET|", "100 N Main St Apt 5"),
    ("N|MAIN ST||", "100 N Main St, Suite 200"),
    ("|MAIN ST||", "100 Main Street # 5b"),
    ("|MAIN|ST|", "100 Main St Bldg C"),
    ("|1ST|AVE|S", "100 First Avenue South"),
    ("|ST CLAIR|AVE|", "100 Saint Clair Ave"),
    ("|SAINT CLAIR|AVE|", "100 St. Clair Avenue"),
    ("|MARTIN LUTHER KING JR|BLVD|", "100 Martin Luther King Junior Boulevard"),
    ("|COUNTY ROAD 9||", "100 County Rd 9"),
    ("|CTY RD 9||", "100 County Road 9"),
    ("|COUNTY ROAD C||W", "100 County Rd C W"),
    ("|US HWY 61||", "100 US Highway 61"),
    ("|ONEIL|RD|", "100 O'Neil Road"),
    ("NW|5TH|ST|", "100 N.W. 5th Street"),
    ("|AVENUE OF THE STARS||", "100 Ave of the Stars"),
    ("|RESUME|LN|", "100 Résumé Lane"),
    ("|E|ST|NW", "100 E Street NW"),
    ("|OAK|ST|", "0100 Oak Street"),
    ("|OAK|ST|", "100 1/2 Oak Street"),
    ("|OAK|ST|", "100a Oak Street"),
    ("|OAK|ST|", "100-104 Oak Street"),
    ("|PO BOX||", "Post Office Box 100"),
    ("|PO BOX||", "P.O. Box 100"),
]
OTHER = [
    ("N|MAIN|ST|", "100 S Main St"),
    ("|MAIN|ST|N", "100 N Main St"),
    ("|NORTH|ST|", "100 N St"),
    ("|OAK|AVE|", "100 Oak St"),
    ("|1ST|AVE|", "100 11th Ave"),
    ("|COUNTY ROAD 9||", "100 County Road 90"),
    ("|OAK|ST|", "12-100 Oak St"),
    ("|OAK|ST|", "N64W100 Oak St"),
    ("|OAK|ST|", "Oak Street"),
    ("|OAK|ST|", "Unit 100"),
]


@pytest.fixture(scope="module")
def on_street(asking):
    """How each street of the two tables is found in the record of a ZIP of its own."""
    known = load_book().zips.state("MN")
    zips = [zip5 for zip5 in sorted(known) if known[zip5].kind == "STANDARD"]
    cases = dict(zip([*WRITTEN, *OTHER], zips, strict=False))
    ask = asking(
        *(
            line("A", zip5=zip5, street=street, numbers="100-110", **ST_PAUL)
            for (street, _), zip5 in cases.items()
        )
    )

    def on_street(case):
        zip5 = cases[case]
        return ask(street=case[1], city=known[zip5].city, zip=zip5)

    return on_street


@pytest.mark.parametrize("case", WRITTEN, ids=lambda case: case[1])
def test_a_street_however_it_is_written(on_street, case):
    assert told(on_street(case)) == ("address", "exact", 8_375)


@pytest.mark.parametrize("case", OTHER, ids=lambda case: case[1])
def test_another_street_or_house(on_street, case):
    assert told(on_street(case))[:2] != ("address", "exact")


@pytest.mark.parametrize("street", ["5 Oak Ave", "5 Elm St"])
def test_a_house_with_suites_of_different_rates_needs_its_suite(ask, street):
    answer = ask(street=street, city="Minneapolis", zip="55402")
    assert told(answer) == ("address", "medium", 8_375)
    assert codes(answer) == ["zip_spans_jurisdictions"]
    assert len(answer.rated) == 2


def test_a_street_said_in_part_is_sure_where_only_one_fits(ask):
    assert told(ask(address="7 Elm, Minneapolis, MN 55402")) == ("address", "high", 9_025)
    assert told(ask(address="101 Main St, Minneapolis, MN 55402")) == ("address", "medium", 8_375)


@pytest.mark.parametrize(
    "street",
    [
        "99 N Main St",
        "101 E Main St",
        "101 N Main Ave",
        "101 N Maine St",
        "N Main St",
        "N65W150 Grid Rd",
    ],
)
def test_an_address_in_no_record_falls_back_to_its_zip(ask, street):
    answer = ask(street=street, city="Minneapolis", zip="55402")
    assert told(answer)[0] == "zip5"
    assert "address_not_matched" in codes(answer)


def test_an_address_in_no_record_falls_back_to_its_plus4(ask):
    answer = ask(address="1 Nowhere St, Minneapolis, MN 55401-1234")
    assert told(answer) == ("zip4", "exact", 9_025)
    assert codes(answer) == []


def test_a_city_that_is_not_the_zips_is_reported_and_holds_the_answer_down(ask):
    answer = ask(address="1 Nowhere St, Duluth, MN 55401-1234")
    assert answer.confidence in {"medium", "low"}
    assert "place_input_mismatch" in codes(answer)
    assert answer.chosen.combined == 9_025


def test_an_address_without_a_zip_is_looked_for_in_its_city(asking):
    ask = asking(
        line("A", zip5="55401", street="|OAK|AVE|", numbers="1-99", **MINNEAPOLIS),
        line("A", zip5="55402", street="|ELM|ST|", numbers="1-99", **MINNEAPOLIS),
        line("A", zip5="55403", street="|ELM|ST|", numbers="1-99", **HENNEPIN),
        line("A", zip5="55404", street="|ASH|ST|", numbers="1-49", **MINNEAPOLIS),
        line("A", zip5="55405", street="|ASH|ST|", numbers="1-99", **MINNEAPOLIS),
    )
    one = ask(address="5 Oak Ave, Minneapolis, MN")
    assert told(one) == ("address", "high", 9_025)
    assert (one.location.zip, codes(one)) == ("55401", [])
    several = ask(address="5 Elm St, Minneapolis, MN")
    assert told(several) == ("address", "medium", 8_525)
    assert (several.location.zip, len(several.rated)) == (None, 2)
    either = ask(street="5 Ash St", city="Minneapolis")
    assert told(either) == ("address", "high", 9_025)
    assert either.location.zip is None
    for unknown in ("500 Oak Ave", "5 Pine Ave"):
        assert ask(street=unknown, city="Minneapolis").location.via == "place"
    assert ask(address="5 Oak Ave, Duluth, MN").location.via == "place"


@examples(40, of=200)
@given(
    street=st.one_of(
        st.text(max_size=40),
        st.builds(
            "{} {}".format,
            st.sampled_from(["101", "102", "5", "7A", "N64W150", "PO Box 7", ""]),
            st.sampled_from(
                ["N Main St", "Main", "Oak Ave Apt 30", "Elm St Bldg D", "Grid Rd", "Box"]
            ),
        ),
    ),
    zip_code=st.sampled_from(["55401", "55402", "55403", "55404", "55105", "55101"]),
    plus4=st.one_of(st.just(""), st.integers(0, 9999).map("-{:04}".format)),
    day=st.dates(date(2005, 1, 1), date(2030, 12, 31)),
)
def test_whatever_is_asked_has_parts_that_add_up(ask, street, zip_code, plus4, day):
    try:
        answer = ask(day, street=street, city="Minneapolis", zip=zip_code + plus4)
    except NotResolved as reason:
        assert reason.detail["states"]  # noqa: PT017 - any text may name another state
        return
    for rated, _ in answer.rated:
        assert rated.state + rated.county + rated.city + rated.district == rated.combined
    assert all(note["code"] and note["message"] for note in answer.advisories)
    if answer.confidence == "exact":
        assert answer.location.via in {"address", "zip4"}
        assert len(answer.rated) == 1
        assert codes(answer) == []
    if answer.location.via == "zip5" and answer.location.by_record:
        assert answer.chosen.combined == min(rated.combined for rated, _ in answer.rated)


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


@examples(40, of=200)
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


OFFICIAL = Path(__file__).parents[5] / "shared" / "data" / "official"
at_hand = pytest.mark.skipif(
    not OFFICIAL.is_dir(), reason="the source files are not beside the project"
)
CASES = [
    # 6.875 + 0.15 + 0.5 + 0.5 + 0.75 + 0.25
    ("MNR2026Q2FEB18.csv", "27", "55401", MINNEAPOLIS, 9_025),
    # 6.875 + 0.15 + 0.5 + 0.75 + 0.25
    ("MNR2026Q2FEB18.csv", "27", "55416", {"county": "053", "specials": METRO}, 8_525),
    # 5 + 0.9 + 2
    ("WIR2026Q2FEB18.csv", "55", "53202", {"county": "079", "place": "53000"}, 7_900),
    ("WIR2026Q2FEB18.csv", "55", "53703", {"county": "025", "place": "48000"}, 5_500),
    # 4 + 3 + 1.9
    ("GAR2026Q2FEB19.csv", "13", "30303", {"county": "121", "place": "04000"}, 8_900),
]


@at_hand
@pytest.mark.parametrize("case", CASES, ids=[f"{file[:2]}-{zip5}" for file, _, zip5, *_ in CASES])
def test_sums_worked_by_hand(tmp_path, case):
    file, fips, zip5, parts, combined = case
    state = file[:2]
    records = tmp_path / f"{state}B2026Q2FEB18.csv"
    street = line("A", state=fips, zip5=zip5, street="|OAK|ST|", numbers="1-99", **parts)
    ranges = line("4", state=fips, zips=zip5, plus4="1-9999", **parts)
    records.write_text(street + ranges)
    own = tmp_path / "book.db"
    imported(own, OFFICIAL / file, records)
    book = load_book(own=own)
    for asked in ({"zip": f"{zip5}-0001"}, {"address": f"1 Oak Street, Anytown, {state} {zip5}"}):
        answer = resolve(book, Query(state, as_of=DAY, **asked), today=DAY)
        assert answer.chosen.combined == combined
        assert answer.location.via in {"zip4", "address"}
    by_plus4 = resolve(book, Query(state, as_of=DAY, zip=f"{zip5}-0001"), today=DAY)
    assert (by_plus4.confidence, by_plus4.advisories) == ("exact", ())


@at_hand
def test_the_real_sample_answers_the_days_it_holds(tmp_path):
    """All of its hundred records had ended in March 2019."""
    sample = tmp_path / "MNB2026Q2FEB18.csv"
    sample.write_bytes((OFFICIAL / "MNB2026Q2FEB18-sample.csv").read_bytes())
    own = tmp_path / "book.db"
    *_, done = imported(own, OFFICIAL / "MNR2026Q2FEB18.csv", sample)
    assert done.edition.rows == 100
    book = load_book(own=own)

    def ask(day, **query):
        answer = resolve(book, Query("MN", as_of=day, **query), today=DAY)
        return answer.location.via, answer.confidence, answer.chosen.combined

    then = date(2019, 3, 31)
    assert ask(then, zip="55101-1610") == ("zip4", "exact", 6_875 + 250)
    assert ask(then, zip="55101-1611") == ("zip4", "exact", 6_875 + 500 + 500)
    assert ask(then, zip="55075-9999")[:2] == ("zip4", "exact")
    assert ask(then, zip="55407") == ("zip5", "high", 6_875 + 150 + 500 + 500)
    assert ask(date(2019, 4, 1), zip="55101-1611")[0] != "zip4"


EXACT = "the whole rate, by ZIP+4 and address: rate and boundary files"


@pytest.fixture(scope="module")
def zips():
    return sorted(load_book().zips.state("MN"))


def minnesota(book):
    (found,) = [one for one in book.freshness()["states"] if one["state"] == "MN"]
    return found["confidence"], found["covers"], found["missing"]


@pytest.fixture
def coverage(tmp_path):
    def coverage(*lines):
        asking_in(tmp_path, *lines)
        return minnesota(load_book(own=tmp_path / "book.db"))

    return coverage


def test_records_that_all_ended_before_the_quarter_claim_nothing(coverage, zips):
    lines = [line("Z", zips=one, **ENDED) for one in zips]
    confidence, covers, missing = coverage(*lines)
    usual, without, lacks = minnesota(load_book())
    every = f"{len(zips):,}"
    assert confidence == usual == "high"
    assert covers == f"{without}; by boundary records in 0 of {every} ZIPs"
    assert missing.startswith("City limits are those of the Census places")
    assert missing.endswith(f" {every} of {every} ZIPs have no boundary record in force.")
    assert "boundary" not in lacks


def test_records_of_half_of_the_zips_are_enough_and_those_without_are_counted(coverage, zips):
    half = (len(zips) + 1) // 2
    confidence, covers, missing = coverage(*(line("Z", zips=one, **ST_PAUL) for one in zips[:half]))
    assert (confidence, covers) == ("exact", EXACT)
    rest = len(zips) - half
    assert f"{rest:,} of {len(zips):,} ZIPs have no boundary record in force." in missing


def test_records_of_every_kind_count_and_a_zip_counts_once(coverage, zips):
    first, second, third, fourth, fifth, *_ = zips
    lines = (
        line("Z", zips=first),
        line("Z", zips=first, begins="20200101"),
        line("4", zips=first, plus4="0001-0009"),
        line("4", zips=second, plus4="0001-0009"),
        line("A", zip5=third, street="|MAIN|ST|", numbers="1-99"),
        line("Z", zips=f"{fourth}-{fifth}"),
        line("Z", zips="99901-99950"),
    )
    inside = sum(fourth <= one <= fifth for one in zips)
    covers = coverage(*lines)[1]
    assert covers.endswith(f"by boundary records in {3 + inside} of {len(zips):,} ZIPs")
