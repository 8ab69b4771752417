"""Reading an address line: what is its city, its state, its ZIP, and what is none of them."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.address_line import parse_line
from svc_tools.service.ratebook.fips import STATE_CODES
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.place_names import is_place


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("400 Broad St, Seattle, WA 98109", ("Seattle", "WA", "98109")),
        ("400 Broad St, Seattle, WA 98109-4607", ("Seattle", "WA", "98109")),
        ("400 Broad St, Seattle,WA98109", ("Seattle", "WA", "98109")),
        ("400 Broad St; Seattle; WA; 98109", ("Seattle", "WA", "98109")),
        ("400 Broad St\nSeattle WA 981094607", ("Seattle", "WA", "98109")),
        ("400 Broad St, Seattle WA", ("Seattle", "WA", "")),
        ("400 Broad St, Seattle, Wash.", ("Seattle", "WA", "")),
        ("12345 Lake City Way NE, Seattle, WA", ("Seattle", "WA", "")),
        ("12345 Lake City Way NE, Seattle, WA 98125, USA", ("Seattle", "WA", "98125")),
        ("1 Main St, Saint Petersburg, Florida", ("Saint Petersburg", "FL", "")),
        ("1 Main St, Las Vegas, NV, 89101", ("Las Vegas", "NV", "89101")),
        ("1 Main St, Charlotte, NC 28202 Attn Bob", ("Charlotte", "NC", "28202")),
        ("100 Main St, Charleston West Virginia 25301", ("Charleston", "WV", "25301")),
        ("100 Main St NE", ("", "", "")),
        ("90210 Wilshire", ("", "", "")),
    ],
)
def test_reading_a_line(line, parts):
    read = parse_line(line)
    assert (read.city, read.state, read.zip) == parts


@settings(deadline=None)  # the first example reads tables
@given(st.text(max_size=200))
def test_any_line_can_be_read(line):
    parts = parse_line(line)
    assert parts.zip == "" or (len(parts.zip) == 5 and parts.zip.isdigit())
    assert parts.plus4 == "" or (len(parts.plus4) == 4 and parts.zip and parts.plus4.isdigit())
    assert parts.state == "" or parts.state in STATE_CODES.values()
    assert all(isinstance(part, str) for part in parts)


@settings(deadline=None)  # the first example reads tables
@given(number=st.integers(1, 99_999), zip5=st.from_regex(r"[0-9]{5}", fullmatch=True))
def test_the_zip_at_the_end_is_read_and_the_house_number_is_not(number, zip5):
    assert parse_line(f"{number} Main St, Springfield, OH {zip5}").zip == zip5
    assert parse_line(f"{number} Main St, Springfield, OH").zip == ""


@settings(deadline=None)  # the first example reads tables
@given(
    word=st.sampled_from(["PO Box", "Suite", "Ste", "Apt", "Unit", "Hwy", "Route", "Acct", "#"]),
    number=st.from_regex(r"[1-9][0-9]{4}", fullmatch=True),
    line=st.sampled_from(["{} {}", "5 Main St {} {}", "5 Main St, {} {}", "5 Main St, Reno {} {}"]),
)
def test_a_numbered_thing_is_no_zip(word, number, line):
    assert parse_line(line.format(word, number)).zip == ""


_WAYS = (
    "12 Main St, {city}, {code} {zip}",
    "12 Main St, {city}, {name}",
    "12 Main St, {city} {name}",
    "12 Main St, {city}",
    "PO Box 12345, {city} {code}",
    "12 Main St NE, {city}, {code}, USA",
)


@settings(deadline=None)  # the first example reads tables
@given(
    code=st.sampled_from(["DC", "IN", "MD", "NC", "NY", "OH", "PA", "VA", "WA"]),
    way=st.sampled_from(_WAYS),
    data=st.data(),
)
def test_every_city_is_read_in_every_way_to_write_it(code, way, data):
    book = load_book()
    places = list(book.zips.state(code).values())
    place = data.draw(st.sampled_from(places))
    full = next(name for name, short in STATE_CODES.items() if short == code)
    line = way.format(city=place.city, code=code, name=full, zip=place.zip)
    parts = parse_line(line, code, partial(is_place, book))
    assert name_key(parts.city) == name_key(place.city)
    assert parts.state in {"", code}
    assert parts.zip == (place.zip if "{zip}" in way else "")
