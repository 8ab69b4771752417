"""Which parts of a row are sent to a geocoder, and what is read of its response."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.census import line
from support.examples import examples

from svc_sdk.wire import Reply
from svc_tools.geocoding.addresses import CITY_STATES, AddressMatch, StreetAddress, street_address
from svc_tools.geocoding.census import NotTheGeocoderError, found_in
from svc_tools.service.ratebook import load_book
from svc_tools.tables.places import Cells, Place, PlaceQuery, where


def sent(**cells):
    query = where(Cells(**cells))
    assert isinstance(query, PlaceQuery)
    found = street_address(query.place)
    return None if found is None else tuple(found)


AUSTIN = ("600 CONGRESS AVE", "AUSTIN", "TX", "78701")


@pytest.mark.parametrize(
    "cells",
    [
        {"address": "600 Congress Ave", "city": "Austin", "state": "TX", "zip": "78701-1234"},
        {"address": " 600  Congress Ave.", "city": "austin", "zip": 78701},
        {"address": "600 Congress Ave # 4B", "city": "Austin, TX 78701", "state": "Texas"},
        {"address": "Ste 300, 600 Congress Ave Apt 4", "city": "Austin", "zip": "78701"},
        {"address": "600 Congress Ave attn: Jane Buyer", "city": "Austin", "zip": "78701"},
        {"address": "Jane Buyer, 600 Congress Ave", "city": "Austin", "zip": "78701"},
        {"address": "600 Congress Ave (call 512 555 0100)", "city": "Austin", "zip": "78701"},
        {"address": "600 Congress Ave, c/o Jane", "city": "Austin", "state": "TX", "zip": "78701"},
        {"address": "600 Congress Ave, order 1234", "city": "Austin, attn Jane", "zip": "78701"},
        {"address": "600 Congress Ave 512-555-1234", "city": "Austin", "zip": "78701"},
        {"address": "600 Congress Ave jane@example.com", "city": "Austin", "zip": "78701"},
        {"address": "600 Congress Ave - 2nd Floor Jane Buyer", "city": "Austin", "zip": "78701"},
    ],
)
def test_street_city_state_and_zip_are_told_apart_and_nothing_else_is_sent(cells):
    assert sent(**cells) == AUSTIN


@pytest.mark.parametrize(
    "cells",
    [
        {"address": "600 Congress Ave, Austin, TX 78701"},
        {"address": "600 Congress Ave, Suite 300, Austin TX 78701-1234, USA"},
        {"address": "600 Congress Ave, Austin, TX 78701, Attn Jane Buyer", "state": "TX"},
        {"address": "600 Congress Ave, Attn Jane Buyer", "state": "TX", "zip": "78701"},
        {"address": "600 Congress Ave, Jane Buyer 512-555-1234", "state": "TX", "zip": "78701"},
        {"address": "600 Congress Ave, c/o Jane, Dept of Sales", "state": "TX", "zip": "78701"},
        {"address": "600 Congress Ave Apt 5 Jane Buyer", "state": "TX", "zip": "78701"},
        {"address": "600 Congress Ave", "city": "c/o Jane", "state": "TX", "zip": "78701"},
        {"address": "600 Congress Ave", "city": "Jane, Austin", "state": "TX", "zip": "78701"},
        {"address": "600 Congress Ave", "city": "Austin #1001", "state": "TX", "zip": "78701"},
    ],
)
def test_with_a_zip_a_city_is_only_sent_where_its_column_has_nothing_else(cells):
    street, _, state, zip5 = AUSTIN
    assert sent(**cells) == (street, "", state, zip5)


def test_five_digits_that_are_no_zip_of_the_state_are_not_sent():
    austin = ("600 CONGRESS AVE", "AUSTIN", "TX", "78701")
    assert sent(address="600 Congress Ave", city="Austin, TX 78701", state="TX") == austin
    other = sent(address="600 Congress Ave", city="Austin, TX 10017", state="TX")
    assert other == (*austin[:3], "")
    assert sent(address="600 Congress Ave", city="Austin 78702", state="TX") is None


def test_without_a_zip_the_city_has_to_stand_between_the_street_and_its_state():
    austin = ("600 CONGRESS AVE", "AUSTIN", "TX", "")
    assert sent(address="600 Congress Ave, Ste 4, Austin, TX") == austin
    assert sent(address="600 Congress Ave", city="Austin", state="TX") == austin
    for written in (
        "600 Congress Ave, Jane Buyer, Austin, TX",
        "600 Congress Ave, attn Jane, Buyer, TX",
        "600 Congress Ave, Jane Buyer",
        "600 Congress Ave, order 78701",
        "600 Congress Ave, Austin, TX, Jane Buyer",
    ):
        assert sent(address=written, state="TX") is None, written


@pytest.mark.parametrize(
    ("cells", "parts"),
    [
        (
            {"address": "1234 S 500 W", "city": "Salt Lake City", "state": "UT"},
            ("1234 S 500 W", "SALT LAKE CITY", "UT", ""),
        ),
        (
            {"address": "12 1/2 Oak St", "zip": "98101"},
            ("12 1/2 OAK ST", "", "WA", "98101"),
        ),
        (
            {"address": "7 Oak St", "city": "Oklahoma City, OK", "state": "OK"},
            ("7 OAK ST", "OKLAHOMA CITY", "OK", ""),
        ),
        (
            {"address": "7 Oak St", "city": "Port Washington", "state": "WA"},
            ("7 OAK ST", "PORT WASHINGTON", "WA", ""),
        ),
    ],
)
def test_other_addresses_are_read_as_they_stand(cells, parts):
    assert sent(**cells) == parts


@pytest.mark.parametrize(
    "street",
    [
        *("1 MAIN ST N", "1600 NE 5TH AVE", "12 5TH", "7 ST JOHN RD", "9 COURT ST", "9 DR KING DR"),
        *("12 MARTIN LUTHER KING JR BLVD", "4 SPACE CENTER BLVD", "4 LAKE VIEW CT", "3 PINE HILL"),
        *("1 AVENUE OF THE AMERICAS", "9912 S AVENUE H", "5 CAMINO DEL SOL", "5 EL CAMINO REAL"),
        *(
            "100 HIGHWAY 71 W",
            "1 STATE ROUTE 9",
            "2 COUNTY ROAD DD",
            "4 FM 1960",
            "8 US 90",
            "1 I-35",
        ),
        *("1234 S 500 W", "99 N 1200 EAST", "12-34 BROADWAY", "1 E BROADWAY", "14 O'BRIEN WAY"),
        *("12 38 ST", "70 7 MILE RD", "5 PARK AVE S", "1N234 OAK LN"),
    ],
)
def test_streets_of_every_form_are_sent_without_their_units(street):
    for written in (street, f"{street} Apt 5", f"{street.title()}, # 7", f"{street} rear 2"):
        assert sent(address=written, zip="78701") == (street, "", "TX", "78701"), written


@pytest.mark.parametrize(
    "street",
    [
        *("12 Main St Jane Buyer", "12 Main St Jane Hill", "12 Main St\nJane Court", "12 Jane"),
        *("Jane Buyer 12 Main St", "555-1234 Jane Buyer", "555 1234 Jane Ct", "12 Jane Buyer"),
        *(
            "12 5th Ave Jane",
            "12 Highway 71 Jane",
            "12 S 500 W Jane",
            "12 Broadway Jane Hill",
            "12 Broadway Jane Ct",
        ),
        *("12 Avenue H Jane Hill", "12 E St Jane Park", "12 Main 😀 St"),
        *("=12+cmd|x St", "12 Main St / Jane", "12 Main St % Jane", "12 Jane\x00 St"),
    ],
)
def test_an_address_with_more_than_a_street_is_not_sent(street):
    assert sent(address=street, city="Austin", state="TX", zip="78701") is None


_NAMES = st.tuples(
    st.sampled_from(["Jane", "O'Jane", "JANE", "J\u00e1ne"]),
    st.sampled_from(["Buyer", "Hill", "Park", "Court", "Lane", "West", "Suite", "St", "Lake"]),
).map(" ".join)
_PHONES = st.sampled_from(
    ["512-555-1234", "(512) 555-1234", "512.555.1234", "+1 512 555 1234", "5125551234", "555-1234"]
)
_MARKED = st.one_of(
    st.sampled_from(["#900817", "order 900817", "S900817", "PO 900817", "900817", "order 78702"]),
    st.sampled_from(["jane@example.com", "<jane.buyer@shop.example>", "900817@x.example"]),
    _PHONES,
    st.tuples(st.sampled_from(["Attn", "attn:", "c/o", "Dept of", "DBA"]), _NAMES).map(" ".join),
    _NAMES.map("({})".format),
)
_PERSONAL = st.one_of(
    _NAMES,
    _MARKED,
    st.tuples(st.sampled_from(["For", "Mr", "to:", "%"]), _NAMES).map(" ".join),
    st.tuples(_NAMES, _PHONES).map(" ".join),
    st.tuples(_PHONES, _NAMES).map(", ".join),
)
_STREETS = st.sampled_from(
    ["12 Main St", "12 N Oak Park Ave", "12 Broadway", "12 5th", "12 S 300 W", "12 Highway 71"]
)
_UNITS = st.sampled_from(["", " Apt 5", ", Suite 300", " #7", " Rear"])
_GAPS = st.sampled_from([", ", "; ", " - ", " / "])
_ENDS = st.sampled_from(["", ", Austin, TX 78701", ", Austin, TX"])


@st.composite
def _rows(draw):
    """A street, and the cells of a row with something personal somewhere."""
    street, end = draw(_STREETS), draw(_ENDS)
    house, gap = street + draw(_UNITS), draw(_GAPS | st.sampled_from([" ", "\n"]))
    line, more = house + end, draw(_PERSONAL)
    city = draw(
        st.sampled_from([None, "Austin"])
        | _MARKED
        | st.tuples(st.just("Austin"), _GAPS, _PERSONAL).map("".join)
    )
    lines = (more + gap + line, house + gap + more + end, line + gap + more, line)
    zip_code = draw(st.sampled_from([None, "78701"]))
    return street, Cells(address=draw(st.sampled_from(lines)), city=city, state="TX", zip=zip_code)


@given(_rows())
@examples(300, of=5_000)
def test_no_word_of_a_name_an_order_an_email_or_a_phone_is_sent(row):
    street, cells = row
    query = where(cells)
    found = street_address(query.place) if isinstance(query, PlaceQuery) else None
    if found is not None:
        assert found.street == street.upper()
        assert found.city in {"", "AUSTIN"}
        assert found.state == "TX"
        assert found.zip in {"", "78701"}


@pytest.mark.parametrize(
    "cells",
    [
        {"address": "PO Box 12", "city": "Austin", "zip": "78701"},
        {"address": "12 P.O. Box 3, Austin, TX 78701"},
        {"address": "Main Street", "city": "Austin", "zip": "78701"},
        {"address": "Building of Jane", "city": "Austin", "zip": "78701"},
        {"address": "1 Beacon St", "city": "Boston", "state": "MA", "zip": "02108"},
        {"address": "1 Church St", "city": "Burlington", "state": "VT", "zip": "05401"},
        {"zip": "78701"},
        {"location": "Austin", "state": "TX"},
        {"lat": 30.27, "lng": -97.74, "state": "TX"},
    ],
)
def test_what_no_geocoder_can_find_or_changes_no_rate_is_not_sent(cells):
    assert sent(**cells) is None


def test_the_states_are_those_in_which_the_rate_book_goes_by_cities():
    """Vermont's towns are on no map of the rate book."""
    of_cities = {row.state for row in load_book().states.values() if row.local == "city"}
    assert of_cities - {"VT"} == CITY_STATES
    page = (Path(__file__).parents[2] / "docs" / "GEOCODING.md").read_text()
    assert f"the {len(CITY_STATES)} states" in page
    assert " ".join(sorted(CITY_STATES)) in page


_WORDS = st.text(string.printable + "äñ\u00a0", max_size=30)


@given(st.sampled_from(["12 Oak St", "7-A Elm Rd", ""]), _WORDS, _WORDS, st.booleans())
@examples(100, of=1_000)
def test_whatever_is_written_there_is_one_line_and_read_again_the_same(street, more, city, zipped):
    place = Place("TX", "address", f"{street} {more}", city, "78701" if zipped else None)
    address = street_address(place)
    if address is None:
        return
    assert address.state == "TX"
    assert not {"\n", "\r", ","} & {*"".join(address)}
    assert address.city or address.zip
    again = Place("TX", "address", address.street, address.city, address.zip or None)
    assert street_address(again) == address


ONE = {7: StreetAddress("1 OAK ST", "AUSTIN", "TX", "78701")}


def read(*lines):
    return found_in(Reply(200, {}, "\n".join(lines).encode()), ONE).get(ONE[7])


def test_a_match_has_its_point_and_its_own_zip_city_and_state():
    there = "1 OAK ST, ROUND ROCK, TX, 78664"
    found = read(line(7, "x", "Match", "Non_Exact", there, "-97.6,30.5", 1, "L"))
    assert found == AddressMatch("similar", 30.5, -97.6, "78664", "ROUND ROCK", "TX")
    assert found.position == (30.5, -97.6, "similar", "78664", "ROUND ROCK", "TX")
    assert read(line(7, "x", "Tie")).position is None


@given(
    st.lists(st.lists(st.text(max_size=12) | st.sampled_from(["7", "Match", "Exact", "-97,30"])))
)
@examples(100, of=1_000)
def test_no_response_is_read_as_a_position_that_it_does_not_give(rows):
    try:
        found = read(*(line(*row) for row in rows))
    except NotTheGeocoderError:
        return
    if found is not None and found.position is not None:
        assert any(row[:1] == ["7"] and "Match" in row and len(row) > 5 for row in rows)
        assert 17 <= found.lat <= 72
        assert -180 <= found.lng <= 180
