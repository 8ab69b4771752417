"""Streets, house numbers and suites of callers and of records, made comparable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.service.ratebook.imports.streets import (
    House,
    Street,
    Unit,
    house_number,
    join_street,
    read_street,
    split_street,
)

SAME = [
    ("North Main Street", "N MAIN ST"),
    ("n. main st.", "N MAIN ST"),
    ("First Avenue South", "1ST AVE S"),
    ("Saint Clair Ave", "ST CLAIR AVE"),
    ("St. Clair Avenue", "ST CLAIR AVE"),
    ("Martin Luther King Junior Boulevard", "MARTIN LUTHER KING JR BLVD"),
    ("County Road 9", "CO RD 9"),
    ("County Road C West", "CO RD C W"),
    ("US Highway 61", "US HWY 61"),
    ("O'Neil Road", "ONEIL RD"),
    ("N.W. 5th Street", "NW 5TH ST"),
    ("Avenue of the Stars", "AVE OF THE STARS"),
    ("Résumé Lane", "RESUME LN"),
    ("P.O. Box", "PO BOX"),
    ("E Street NW", "E ST NW"),
]
DIFFERENT = [
    ("N Main St", "S Main St"),
    ("Main St N", "N Main St"),
    ("North St", "N St"),
    ("Oak Ave", "Oak St"),
    ("1st Ave", "11th Ave"),
    ("County Road 9", "County Road 90"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_street(one, other):
    assert split_street(one) == split_street(other)
    assert split_street(one).whole == other


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_street(one, other):
    assert split_street(one).whole != split_street(other).whole


@pytest.mark.parametrize(
    ("columns", "written"),
    [
        (("N", "MAIN", "ST", ""), "North Main Street"),
        (("", "MAIN ST", "", ""), "Main Street"),
        (("N", "MAIN ST", "", ""), "N Main St"),
        (("", "1ST", "AVE", "S"), "First Avenue South"),
        (("", "COUNTY ROAD C", "", "W"), "County Rd C W"),
        (("", "CTY RD 9", "", ""), "County Road 9"),
        (("NORTH", "MAIN", "STREET", ""), "N Main St"),
        (("", "PO BOX", "", ""), "Post Office Box"),
    ],
)
def test_columns_of_a_record_meet_what_a_caller_writes(columns, written):
    assert join_street(*columns).whole == split_street(written).whole


@given(st.text(alphabet="ABCNSEW 0123456789.'-", max_size=30))
def test_a_street_in_its_short_form_is_itself(text):
    street = split_street(text)
    assert split_street(street.whole).whole == street.whole


@pytest.mark.parametrize(
    ("written", "house"),
    [
        ("1201", House("|", 1201)),
        ("0012", House("|", 12)),
        ("12a", House("|A", 12)),
        ("12 1/2", House("|", 12)),
        ("N64W23760", House("N64W|", 23760)),
        ("n64 w23760", House("N64W|", 23760)),
        ("12-34", House("12|", 34)),
        ("Main", None),
        ("", None),
    ],
)
def test_house_numbers(written, house):
    assert house_number(written) == house


@pytest.mark.parametrize(
    ("written", "house", "street", "unit"),
    [
        ("100 N Main St", 100, "N MAIN ST", None),
        ("100 N Main St Apt 5", 100, "N MAIN ST", Unit("", "5")),
        ("100 N Main St # 5b", 100, "N MAIN ST", Unit("", "5B")),
        ("100 N Main St, Suite 200", 100, "N MAIN ST", Unit("", "200")),
        ("100 Main St Bldg C", 100, "MAIN ST", Unit("BLDG", "C")),
        ("100 1/2 Oak Street", 100, "OAK ST", None),
        ("100-104 Oak Street", 100, "OAK ST", None),
        ("7 Elm", 7, "ELM", None),
        ("1 E St NW", 1, "E ST NW", None),
        ("PO Box 123", 123, "PO BOX", None),
        ("350 County Road C W", 350, "CO RD C W", None),
    ],
)
def test_what_a_caller_writes(written, house, street, unit):
    asked = read_street(written)
    assert asked is not None
    assert (asked.plain, asked.street.whole, asked.unit) == (House("|", house), street, unit)


@pytest.mark.parametrize("written", ["", "Main Street", "100", "Unit 5", "#", "?"])
def test_a_line_without_number_or_street_is_none(written):
    assert read_street(written) is None


@given(st.text(max_size=60))
def test_any_text_is_read_or_not(text):
    asked = read_street(text)
    assert asked is None or (asked.house.number >= 0 and isinstance(asked.street, Street))
