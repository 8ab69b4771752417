"""Reading an address line: what is its city, its state, its ZIP, and what is none of them."""

from __future__ import annotations

import time
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.address_line import parse_line
from svc_tools.service.ratebook.gazetteer import is_place
from svc_tools.service.ratebook.names import STATE_CODES, name_key


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


@pytest.mark.parametrize(
    ("state", "line", "city", "zip5"),
    [
        ("NC", "1 Elm St, Charlotte, N. Carolina 28202", "Charlotte", "28202"),
        ("SC", "1 Elm St, Charleston, So. Carolina", "Charleston", ""),
        ("WV", "1 Elm St, Charleston, W. Va. 25301", "Charleston", "25301"),
        ("WV", "1 Elm St Charleston West VA", "Charleston", ""),
        ("ND", "1 Elm St, Fargo, No. Dak. 58102", "Fargo", "58102"),
        ("WI", "1 Elm St, Madison Wisc 53703", "Madison", "53703"),
        ("NC", '"1 Elm St" "Charlotte" "NC"', "Charlotte", ""),
    ],
)
def test_a_state_half_in_short_is_that_state(state, line, city, zip5):
    read = parse_line(line, state, partial(is_place, load_book()))
    assert (read.city, read.state, read.zip) == (city, state, zip5)


@pytest.mark.parametrize(
    ("state", "line"),
    [("VA", "1 Elm St W, Vienna, VA"), ("NC", "500 N Carolina Ave, Raleigh, NC")],
)
def test_a_direction_before_a_state_or_in_a_street_is_none(state, line):
    read = parse_line(line, state, partial(is_place, load_book()))
    assert read.state == state
    assert read.city in {"Vienna", "Raleigh"}


@pytest.mark.parametrize("unseen", ["\u200b", "\u00ad", "\ufeff", "\u200e"])
def test_what_no_one_sees_changes_nothing(unseen):
    line = f"1 Elm St,{unseen} Char{unseen}lotte, N{unseen}C{unseen} 28{unseen}202{unseen}"
    read = parse_line(line, "NC", partial(is_place, load_book()))
    assert (read.city, read.state, read.zip) == ("Charlotte", "NC", "28202")


PIECES = ["# ", "#", "box ", "ste. ", "- ", ", ", "attn ", "u s a ", "NC ", "28202 ", "St ", "(a) "]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=3), st.sampled_from(["", "(", "5"]))
def test_no_line_takes_long(pieces, end):
    line = ("".join(pieces) * 200)[: 200 - len(end)] + end
    started = time.thread_time()
    parse_line(line, "NC", partial(is_place, load_book()))
    assert time.thread_time() - started < 0.2  # it takes a few thousandths; a bad pattern seconds
