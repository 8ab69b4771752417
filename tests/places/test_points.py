"""Coordinates of a row: where they decide, how they are read, and why they are not used."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.examples import examples

from svc_tools.base.positions import Position
from svc_tools.tables.places import UNUSED_POINTS, Cells, PlaceQuery, Refusal, where

ROW = {"state": "TX", "zip": "78701"}
LAT, LNG = 30.2672, -97.7431
BESIDE = [
    {"zip": "78701"},
    {"address": "600 Congress Ave", "city": "Austin"},
    {"address": "600 Congress Ave, Austin, TX 78701"},
    {"address": "TX 78701"},
]


def found(*, named=True, **cells):
    query = where(Cells(**{"state": "TX", **cells}), point_named=named)
    assert isinstance(query, PlaceQuery), query
    return query


@pytest.mark.parametrize("beside", BESIDE)
def test_a_named_point_is_the_position_of_the_zip_or_address(beside):
    query = found(lat=LAT, lng=LNG, **beside)
    assert query.position == Position(LAT, LNG, "given")
    assert query.place.mode in {"zip", "address"}
    assert query.point_not_used is None
    assert query.place.arguments() == {"lat": LAT, "lng": LNG}  # a request has one mode
    sent = query.place.as_sent()
    assert (sent.mode, sent.zip, sent.address, sent.position) == ("coordinates", None, None, None)
    assert sent == found(lat=LAT, lng=LNG).place  # so that it is one request, also of the cache


@pytest.mark.parametrize("beside", BESIDE)
def test_a_point_that_was_only_found_decides_nothing_beside_a_zip_or_address(beside):
    query = found(named=False, lat=LAT, lng=LNG, **beside)
    assert query == found(**beside)
    assert found(named=False, lat="no number", lng="0", **beside) == query


@pytest.mark.parametrize("named", [True, False])
def test_a_point_decides_where_there_is_neither_zip_nor_address(named):
    for beside in ({}, {"city": "Austin"}, {"location": "Austin"}, {"address": "12 Elm"}):
        query = found(named=named, lat="30.27", lng="-97.74", **beside)
        assert query.place.mode == "coordinates", beside
        assert query.point_warning == "point_coarse"
        exact = found(named=named, lat="30.2700", lng="-97.7400", **beside)
        assert (exact.place, exact.point_warning) == (query.place, None)


@pytest.mark.parametrize(
    ("lat", "lng", "why"),
    [
        ("30.2672", "-97.7431", None),
        ("30.2000", "-97.0000", None),  # text keeps its zeros
        ("30.2", "-97.7431", "few_decimals"),
        ("30.2672", "-97.743", "few_decimals"),
        ("30,2672", "-97,7431", None),
        ("30,267", "-97,743", "few_decimals"),
        (30.2672, -97.7431, None),
        (30.2, -97.7431, None),  # a number has lost its zeros
        (30.0, -97.7431, None),
        (30, -97.7431, None),
        (30.2, -97.743, "few_decimals"),
        (30, -97, "few_decimals"),
        ("30.2", -97.7431, "few_decimals"),
        ("30.2672", -97.7, None),
        (Decimal("30.2000"), Decimal("-97.7000"), None),
        ("30.2672 N", "97.7431 W", None),
        ("N 30.2672°", "w97.7431°", None),
        ("30.267 N", "97.743 W", "few_decimals"),
        (0, 0, "zero"),
        ("0.0000", "-97.7431", "zero"),
        (30.2672, 0.0, "zero"),
        (-97.7431, 30.2672, "swapped"),
        (-74.0060, 40.7128, "swapped"),
        ("-97.7", "30.2", "swapped"),
        (30.2672, 97.7431, "outside_us"),
        (51.5074, -0.1278, "outside_us"),
        (30.2672, None, "incomplete"),
        (None, "-97.7431", "incomplete"),
        (None, " ", None),
    ],
)
def test_beside_a_zip_a_point_that_cannot_be_exact_gives_way_with_the_reason(lat, lng, why):
    query = found(zip="78701", lat=lat, lng=lng)
    assert query.point_not_used == why
    assert (query.place.mode, query.place.zip) == ("zip", "78701")
    is_used = why is None and lat is not None
    assert (query.position is not None) == is_used
    assert why is None or why in UNUSED_POINTS


@pytest.mark.parametrize(
    ("lat", "lng", "meant"),
    [
        ("30.2672 N", "97.7431 W", (LAT, LNG)),
        ("30.2672°N", "97.7431°W", (LAT, LNG)),
        ("n30.2672", "W 97.7431", (LAT, LNG)),
        ("30,2672", "-97,7431", (LAT, LNG)),
        ("30.2672", "-97.7431 W", (LAT, LNG)),
        ("+30.2672", "-97.7431°", (LAT, LNG)),
    ],
)
def test_a_point_is_read_as_people_write_it(lat, lng, meant):
    place = found(lat=lat, lng=lng).place
    assert (place.lat, place.lng) == meant


@pytest.mark.parametrize(
    ("lat", "lng", "said"),
    [
        ("30.2672 W", "-97.7431", "lat: '30.2672 W' is not a number of degrees"),
        ("30.2672", "97.7431 N", "lng: '97.7431 N' is not a number of degrees"),
        ("N 30.2672 N", "-97.7431", "lat: 'N 30.2672 N' is not a number of degrees"),
        ("-30.2672 N", "-97.7431", "lat: '-30.2672 N' has a minus and 'N'; give one of them"),
        ("30267200", "-97743100", "lat: '30267200' is not within -90 to 90 degrees"),
        ("30°16'2\"N", "-97.7431", "is not a number of degrees"),
        ("30.267.2", "-97.7431", "is not a number of degrees"),
    ],
)
def test_what_is_no_number_of_degrees_is_refused_and_not_used_beside_a_zip(lat, lng, said):
    refusal = where(Cells(state="TX", lat=lat, lng=lng))
    assert isinstance(refusal, Refusal)
    assert said in refusal.reason
    query = found(zip="78701", lat=lat, lng=lng)
    assert (query.place.zip, query.position, query.point_not_used) == ("78701", None, "unreadable")


@examples(30, of=300)
@given(lat=st.integers(180_000, 710_000), lng=st.integers(-1_790_000, -650_000), more=st.booleans())
def test_a_point_of_the_states_with_four_decimals_decides_as_text_and_as_a_number(lat, lng, more):
    """Numbers may have lost their zeros, but hardly ever all of both."""
    texts = [f"{Decimal(value) / 10_000:.4f}{'00' * more}" for value in (lat, lng)]
    numbers = [float(text) for text in texts]
    by_text = found(zip="78701", lat=texts[0], lng=texts[1])
    assert by_text.position == Position(*numbers, "given")
    assume(lat % 10 or lng % 10)
    assert found(zip="78701", lat=numbers[0], lng=numbers[1]).position == by_text.position
    for point in (texts, numbers):
        assert found(lat=point[0], lng=point[1]).point_warning is None
    swapped = found(zip="78701", lat=texts[1], lng=texts[0])
    assert (swapped.position, swapped.point_not_used) == (None, "swapped")


@examples(30, of=300)
@given(lat=st.integers(18_000, 71_000), lng=st.integers(-179_000, -65_000))
def test_three_decimals_never_decide_beside_a_zip(lat, lng):
    cells = lat / 1_000, lng / 1_000
    for point in (cells, [f"{value:.3f}" for value in cells]):
        query = found(zip="78701", lat=point[0], lng=point[1])
        assert (query.position, query.point_not_used) == (None, "few_decimals")
        assert query.point_warning == "point_not_used"
        assert found(lat=point[0], lng=point[1]).point_warning == "point_coarse"
