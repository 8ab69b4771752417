"""ZIP+4 and ZIPs in boundary records: composed, dated, and as sure as they may be."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest
from support.boundary_books import AROUND_MINNEAPOLIS, DAY, ST_PAUL, codes, told
from support.boundary_files import METRO, MINNEAPOLIS, RATES, line

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


def test_the_other_range_of_the_zip_has_its_own_parts(ask):
    assert told(ask(zip="55401-5000")) == ("zip4", "exact", 8_525)


@pytest.mark.parametrize(
    ("plus4", "combined"), [("55102-5000", 8_375), ("55103-0001", 8_375), ("55104-4000", 8_375)]
)
def test_a_range_over_several_zips_holds_the_zips_between(ask, plus4, combined):
    assert told(ask(zip=plus4)) == ("zip4", "exact", combined)


@pytest.mark.parametrize("plus4", ["55102-4999", "55104-4001"])
def test_a_range_over_several_zips_begins_and_ends_within_them(ask, plus4):
    assert ask(zip=plus4).location.via == "zip5"


def test_records_that_have_ended_do_not_count(ask):
    assert told(ask(zip="55101-0005")) == ("zip4", "exact", 8_375)
    assert told(ask(date(2019, 3, 31), zip="55101-0005"))[:1] == ("zip4",)
    assert ask(date(2019, 3, 31), zip="55101-0005").chosen.combined == 6_875 + 250


def test_rates_are_those_of_the_day(ask):
    """Of Minneapolis' parts only three had begun then; St. Paul's rose in 2024."""
    assert ask(date(2017, 9, 30), zip="55401-1234").chosen.combined == 6_875 + 150 + 500
    assert ask(date(2017, 10, 1), zip="55401-1234").chosen.combined == 6_875 + 150 + 500 + 500
    assert ask(date(2024, 3, 31), zip="55101-0005").chosen.combined == 7_375
    assert ask(date(2024, 4, 1), zip="55101-0005").chosen.combined == 8_375


def test_a_rate_that_has_ended_adds_nothing(asking):
    ask = asking(line("4", zips="55802", plus4="1-9", county="137", place="17000"))
    assert told(ask(date(2023, 6, 30), zip="55802-0001"))[2] == 7_875
    assert told(ask(zip="55802-0001")) == ("zip4", "exact", 6_875)


def test_a_county_and_a_place_without_a_rate_levy_nothing(asking):
    ask = asking(line("4", zips="55401", plus4="1-9", county="999", place="99999"))
    answer = ask(zip="55401-0001")
    assert told(answer) == ("zip4", "exact", 6_875)
    assert answer.full()["candidates"][0]["county"] is None


def test_two_records_for_one_plus4_are_not_exact(ask):
    answer = ask(zip="55105-0003")
    assert told(answer) == ("zip4", "medium", 8_375)
    note = next(n for n in answer.advisories if n["code"] == "zip_spans_jurisdictions")
    assert (note["candidates"], note["lowest_combined_rate"], note["highest_combined_rate"]) == (
        2,
        "0.08375",
        "0.09025",
    )


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


def test_a_zip_of_one_mind_is_high(asking):
    ask = asking(
        line("Z", zips="55106-55107", **ST_PAUL),
        line("4", zips="55106", plus4="1-9999", **ST_PAUL),
    )
    answer = ask(zip="55106")
    assert told(answer) == ("zip5", "high", 8_375)
    assert codes(answer) == []


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


def test_two_records_of_one_rate_are_high(asking):
    """A city and a district of 0.5% each: the rate is sure, its parts are not."""
    ask = asking(
        line("4", zips="55401", plus4="1-9", county="053", place="43000"),
        line("4", zips="55401", plus4="1-9", county="053", specials=["80004"]),
    )
    answer = ask(zip="55401-0001")
    assert told(answer) == ("zip4", "high", 7_525)
    assert codes(answer) == []
    assert len(answer.full()["candidates"]) == 2


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


def test_a_district_without_a_rate_is_said_and_never_exact(ask):
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


def test_a_washington_code_that_the_department_does_not_list_is_never_exact(asking):
    ask = asking(
        line("4", state="53", zips="98101", plus4="1-9", specials=["L9999"]), rates="", state="WA"
    )
    answer = ask(zip="98101-0005")
    assert told(answer) == ("zip5", "medium", 10_550)
    assert "districts_not_covered" in codes(answer)


def test_tennessees_type_63_repeats_the_county(asking):
    rates = (
        "47,45,47,0.07,0.07,0.04,0.04,20130701,29991231\n"
        "47,00,037,0.0225,0.0225,0.0225,0.0225,20020701,29991231\n"
        "47,63,00037,0.0225,0.0225,0.0225,0.0225,20020701,29991231\n"
    )
    record = line("4", state="47", zips="37201", plus4="1-9", county="037", specials=["00037"])
    ask = asking(record, rates=rates, state="TN")
    assert told(ask(zip="37201-0005")) == ("zip4", "exact", 9_250)


def test_many_threads_ask_at_once(ask):
    asked = [("55401-1234", 9_025), ("55401-5000", 8_525), ("55103-0001", 8_375)] * 100
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: ask(zip=one[0]).chosen.combined, asked))
    assert found == [combined for _, combined in asked]
