"""Addresses in boundary records: which record holds one, and what remains where none does."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.boundary_books import AROUND_MINNEAPOLIS, HENNEPIN, ST_PAUL, codes, told
from support.boundary_files import MINNEAPOLIS, line


@pytest.fixture(scope="module")
def ask(asking):
    """Lookups over a few records of each kind."""
    return asking(*AROUND_MINNEAPOLIS)


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


def test_the_address_goes_before_the_plus4(asking):
    ask = asking(
        line("A", zip5="55401", street="|OAK|AVE|", numbers="1-9", **ST_PAUL),
        line("4", zips="55401", plus4="1-9999", **MINNEAPOLIS),
    )
    assert told(ask(address="3 Oak Ave, Minneapolis, MN 55401-1234")) == ("address", "exact", 8_375)


def test_a_city_that_is_not_the_zips_is_said_and_holds_the_answer_down(ask):
    answer = ask(address="1 Nowhere St, Duluth, MN 55401-1234")
    assert answer.confidence in {"medium", "low"}
    assert "place_input_mismatch" in codes(answer)
    assert answer.chosen.combined == 9_025


def test_a_place_or_a_point_is_answered_as_ever(ask):
    assert ask(location="Minneapolis").location.via == "place"
    assert ask(lat=44.98, lng=-93.27).location.via == "coordinates"


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


@settings(max_examples=200, deadline=None)
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
    answer = ask(day, street=street, city="Minneapolis", zip=zip_code + plus4)
    for rated, _ in answer.rated:
        assert rated.state + rated.county + rated.city + rated.district == rated.combined
    assert all(note["code"] and note["message"] for note in answer.advisories)
    if answer.confidence == "exact":
        assert answer.location.via in {"address", "zip4"}
        assert len(answer.rated) == 1
        assert codes(answer) == []
    if answer.location.via == "zip5" and answer.location.by_record:
        assert answer.chosen.combined == min(rated.combined for rated, _ in answer.rated)
