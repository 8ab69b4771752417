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
        {"address": "600 Congress Ave, Austin, TX 78701"},
        {"address": " 600  Congress Ave.".rstrip("."), "city": "austin", "zip": 78701},
        {"address": "600 Congress Ave, Suite 300, Austin TX 78701, USA"},
        {"address": "600 Congress Ave # 4B", "city": "Austin, TX 78701", "state": "Texas"},
        {"address": "Ste 300, 600 Congress Ave Apt 4", "city": "Austin", "zip": "78701"},
        {"address": "600 Congress Ave attn: Jane Buyer", "city": "Austin", "zip": "78701"},
        {"address": "Jane Buyer, 600 Congress Ave", "city": "Austin", "zip": "78701"},
        {"address": "600 Congress Ave (call 512 555 0100)", "city": "Austin", "zip": "78701"},
        {"address": "600 Congress Ave, c/o Jane", "city": "Austin", "state": "TX", "zip": "78701"},
    ],
)
def test_street_city_state_and_zip_are_told_apart_and_nothing_else_is_sent(cells):
    assert sent(**cells) == AUSTIN


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
