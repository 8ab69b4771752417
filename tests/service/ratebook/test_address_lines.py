"""Reading an address line: its city, its state, its ZIP, and the numbers that are none of them."""

from __future__ import annotations

import time
from datetime import date
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import cases, codes
from support.examples import examples

from svc_tools.service.ratebook import Query, load_book
from svc_tools.service.ratebook.address_line import parse_line
from svc_tools.service.ratebook.by_address import address_parts
from svc_tools.service.ratebook.gazetteer import is_place
from svc_tools.service.ratebook.names import STATE_CODES, name_key


@given(st.text(max_size=200))
def test_any_line_can_be_read(line):
    parts = parse_line(line)
    assert parts.zip == "" or (len(parts.zip) == 5 and parts.zip.isdigit())
    assert parts.plus4 == "" or (len(parts.plus4) == 4 and parts.zip and parts.plus4.isdigit())
    assert parts.state == "" or parts.state in STATE_CODES.values()
    assert all(isinstance(part, str) for part in parts)


def read(line, state="NC"):
    return parse_line(line, state, partial(is_place, load_book()))


_WAYS = (
    "12 Main St, {city}, {code} {zip}",
    "12 Main St, {city}, {name}",
    "12 Main St, {city} {name}",
    "12 Main St, {city}",
    "PO Box 12345, {city} {code}",
    "12 Main St NE, {city}, {code}, USA",
)


@given(
    code=st.sampled_from(["DC", "IN", "MD", "NC", "NY", "OH", "PA", "VA", "WA"]),
    way=st.sampled_from(_WAYS),
    data=st.data(),
)
def test_every_city_is_read_in_every_way_to_write_it(code, way, data):
    places = list(load_book().zips.state(code).values())
    place = data.draw(st.sampled_from(places))
    full = next(name for name, short in STATE_CODES.items() if short == code)
    line = way.format(city=place.city, code=code, name=full, zip=place.zip)
    parts = read(line, code)
    assert name_key(parts.city) == name_key(place.city)
    assert parts.state in {"", code}
    assert parts.zip == (place.zip if "{zip}" in way else "")


@pytest.mark.parametrize(
    ("state", "line", "city", "zip5"),
    cases("""
    NC  1 Elm St, Charlotte, N. Carolina 28202 = Charlotte = 28202
    NC  "1 Elm St" "Charlotte" "NC" = Charlotte = none
    NC  500 N Carolina Ave, Raleigh, NC = Raleigh = none
    NC  28202 Charlotte NC = Charlotte = 28202 | NC 28202 Charlotte = Charlotte = 28202
    NC  Charlotte NC zip 28202 = Charlotte = 28202
    NC  600 E 4th St, Charlotte, NC ZIP: 28202 = Charlotte = 28202
    NC  600 E 4th St, Charlotte (Postal Code 28202) = Charlotte = 28202
    NC  600 E 4th St CharlotteNC28202 = Charlotte = 28202
    NC  600 E 4th St|Charlotte|NC|28202 = Charlotte = 28202
    NC  600 E 4th St, Charlotte, NC - 28202 = Charlotte = 28202
    NC  Invoice 27601 600 E 4th St Charlotte NC 28202 = Charlotte = 28202
    NC  600 E 4th St, Charlotte, NC 28202 PO# 27601 = Charlotte = 28202
    NC  123 Main St, Charlotte, NC 28202-12 = Charlotte = 28202
    NC  123 Main St, Charlotte, NC 2820 = Charlotte = damaged 2820
    NC  123 Main St, Charlotte, NC 282021 = Charlotte = damaged 282021
    NC  123 Main St Charlotte NC 28202-12345 = Charlotte = damaged 28202-12345
    NC  5 Elm St, Charlotte, 150 = none = none | 1 Hwy NC 150 = none = none
    SC  1 Elm St, Charleston, So. Carolina = Charleston = none
    WV  1 Elm St, Charleston, W. Va. 25301 = Charleston = 25301
    WV  1 Elm St Charleston West VA = Charleston = none
    VA  1 Elm St W, Vienna, VA = Vienna = none
    ND  1 Elm St, Fargo, No. Dak. 58102 = Fargo = 58102
    WI  1 Elm St, Madison Wisc 53703 = Madison = 53703
    WI  5 Main St Green Bay 54301 = Green Bay = 54301
    MS  5 Main St Olive Branch 38654 = Olive Branch = 38654
    AR  5 Main St Branch 72928 = Branch = 72928 | Vendor 72683 = Vendor = 72683
    AR  5 Main St Reverie TN 72395 = Reverie TN = 72395
    TX  5 Main St College Station 77840 = College Station = 77840
    AL  5 Main St Mobile 36602 = Mobile = 36602
    CA  200 N Spring St LA 90012 = LA = 90012 | 200 N Spring St, LA 90012 = LA = 90012
    CA  LA 90012 = LA = 90012
    MA  10 Beacon St, Boston, MA 2108 = Boston = 02108
    MA  10 Beacon St Boston Massachusetts 2108-1234 = Boston = 02108-1234
    CT  6103 Main St, Hartford CT 6103 = Hartford = 06103
    """),
)
def test_what_is_read_from_a_line(state, line, city, zip5):
    parts = read(line, state)
    bad = f"damaged {parts.damaged}" if parts.damaged else "none"
    assert (parts.city or "none", f"{parts.zip}-{parts.plus4}".strip("-") or bad) == (city, zip5)
    assert parts.state in {"", state}


@pytest.mark.parametrize("unseen", ["\u200b", "\u00ad", "\ufeff", "\u200e"])
def test_what_is_invisible_changes_nothing(unseen):
    line = f"1 Elm St,{unseen} Char{unseen}lotte, N{unseen}C{unseen} 28{unseen}202{unseen}"
    parts = read(line)
    assert (parts.city, parts.state, parts.zip) == ("Charlotte", "NC", "28202")


PIECES = ["# ", "#", "box ", "ste. ", "- ", ", ", "attn ", "u s a ", "NC ", "28202 ", "St ", "(a) "]


@examples(15, of=60)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=3), st.sampled_from(["", "(", "5"]))
def test_no_line_takes_long(pieces, end):
    line = ("".join(pieces) * 200)[: 200 - len(end)] + end
    started = time.thread_time()
    read(line)
    assert time.thread_time() - started < 0.2  # it takes a few thousandths; a bad pattern seconds


@pytest.mark.parametrize(
    "note",
    [
        "PO# 33101", "PO 33101", "Store 33101", "Store #33101", "Order 33101", "Job 33101",
        "Location 33101", "Customer 33101", "Invoice No. 33101", "Ref: 33101", "Ticket 33101",
        "Warehouse 33101", "P.O. Box 33101", "Post Office Box 33101", "Suite 33101", "Ext 33101",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "form", ["{}, 600 E 4th St, Charlotte, NC", "600 E 4th St Charlotte {}", "5 Oak Ln, {}, Durham"]
)
def test_a_number_of_the_senders_own_is_no_zip(note, form):
    parts = read(form.format(note))
    assert parts.zip == ""
    assert parts.city in {"Charlotte", "Durham"}


@pytest.mark.parametrize("line", ["100 Canal St, New Orleans, LA", "5 Elm St, Nowhereville, LA"])
def test_a_city_before_a_code_that_is_a_place_too_leaves_it_a_state(refused, line):
    assert "names LA" in refused("CA", address=line).message


@pytest.mark.parametrize(
    "query",
    [
        {"zip": "28202-1234"},
        {"location": "Charlotte, NC 28202-1234"},
        {"address": "600 E 4th St, Charlotte, NC 28202-1234"},
        {"address": "600 E 4th St, Charlotte, zip 28202-1234"},
        {"street": "600 E 4th St", "city": "Charlotte", "zip": "28202-1234"},
        {"street": "600 E 4th St", "city": "Charlotte 28202-1234"},
        {"street": "600 E 4th St", "city": "Charlotte 28202", "zip": "28202-1234"},
    ],
)
def test_the_four_digits_survive_in_every_mode(book, query):
    parts = address_parts(book, Query(state="NC", **query))
    assert (parts.zip, parts.plus4) == ("28202", "1234")


@examples(15, of=60)
@given(
    number=st.integers(1, 99_999),
    street=st.sampled_from(["Elm St", "N Tryon St", "Hwy 70", "Martin Luther King Jr Blvd"]),
    suite=st.sampled_from(["", " Ste 10", " Apt 4B", " # 12"]),
    data=st.data(),
)
def test_every_part_of_a_plain_address_is_read(number, street, suite, data):
    state = data.draw(st.sampled_from(["IL", "MN", "NC", "NY", "OH", "TX", "WI"]))
    places = [p for p in load_book().zips.state(state).values() if p.kind == "STANDARD"]
    place = data.draw(st.sampled_from(places))
    first = f"{number} {street}{suite}"
    parts = read(f"{first}, {place.city}, {state} {place.zip}-0420", state)
    assert parts == parts._replace(
        street=first, city=place.city, state=state, zip=place.zip, plus4="0420"
    )


def test_two_addresses_are_told_apart_by_the_state_or_refused(ask, refused):
    both = "1 Main St, Los Angeles, CA 90012 / 600 E 4th St, Charlotte, NC 28202"
    assert ask("NC", address=both).location.zip == "28202"
    assert ask("CA", address=both).location.zip == "90012"
    assert ask("CA", address=both).simple()["rate"]["city"] == "Los Angeles"
    assert "several addresses" in refused("TX", address=both).message
    for line in (
        "600 E 4th St, Charlotte, NC 28202 and 1 Main St, Raleigh, NC 27601",
        "600 E 4th St, Charlotte, NC and 1 Main St, Raleigh, NC",
    ):
        reason = refused("NC", address=line)
        assert "it holds several addresses" in reason.message
        assert "give the one place" in reason.message


@pytest.mark.parametrize(
    "given",
    [
        {"address": "600 Congress Ave, Austin, TX 78701, NJ 07102"},
        {"address": "600 Congress Ave Austin TX, NJ 07102"},
        {"street": "600 Congress Ave, Austin, TX 78701", "city": "Newark", "zip": "07102"},
        {"street": "600 Congress Ave, Austin 78701", "city": "Newark", "zip": "07102"},
        {"street": "600 Congress Ave, Austin, TX 78701", "city": "Newark"},
    ],
)
def test_an_address_of_another_state_is_refused_whatever_zip_stands_behind_it(refused, given):
    reason = refused("NJ", **given)
    assert (reason.code, reason.detail["states"]) == ("NOT_FOUND", ["TX"])
    assert "the address names TX, but the lookup is for NJ" in reason.message


def test_a_street_with_another_zip_is_refused(refused, ask):
    street = "600 Congress Ave, Austin, TX 78701"
    reason = refused("TX", street=street, city="Austin", zip="78702")
    assert "it has ZIP 78701, but the ZIP given is 78702" in reason.message
    assert ask("TX", street=street, city="Austin", zip="78701").location.zip == "78701"


@pytest.mark.parametrize(
    ("state", "given"),
    [
        ("NY", {"street": "100 Hartford CT", "city": "Albany", "zip": "12207"}),
        ("GA", {"street": "3340 Peachtree Rd NE", "city": "Atlanta", "zip": "30326"}),
        ("NV", {"street": "1600 Hwy 20001", "city": "Reno", "zip": "89501"}),
        ("NV", {"street": "5 Elm St, PO Box 20001", "city": "Reno", "zip": "89501"}),
        ("MO", {"address": "100 N Main St, Nevada, MO 64772"}),
    ],
)
def test_a_street_that_reads_like_a_state_is_a_street(ask, state, given):
    zip5 = given.get("zip") or given["address"][-5:]
    assert ask(state, **given).location.zip == zip5


def test_one_address_that_names_its_city_twice_is_one(ask):
    line = "Charlotte Office, 600 E 4th St, Charlotte, NC, Charlotte, NC 28202"
    assert ask("NC", address=line).location.zip == "28202"


@pytest.mark.parametrize(
    "given",
    [
        {"address": "PSC 3 Box 1234, APO AE 09021"},
        {"address": "Unit 2050 Box 4190, APO AP 96278-2050"},
        {"address": "CMR 402 Box 12, APO, NC 28202"},
        {"street": "Unit 2050", "city": "APO", "zip": "28202"},
        {"location": "APO"},
    ],
)
def test_military_mail_is_refused_and_said_to_be(refused, given):
    reason = refused("NC", **given)
    assert reason.code == "NOT_FOUND"
    assert "military" in reason.message
    assert "goods go to" in reason.message


def test_military_zips_that_the_postal_table_counts_to_a_state_are_refused_too(refused):
    for zip5 in ("09905", "09980"):
        reason = refused("NJ", zip=zip5)
        assert "military" in reason.message
        assert reason.detail["states"] == ["AE"]


def test_a_zip_that_no_table_knows_leaves_it_to_the_city(ask, refused):
    answer = ask("NC", address="600 E 4th St, Charlotte, NC 28200")
    assert (answer.location.via, answer.chosen.combined) == ("place", 8_250)
    assert codes(answer) == ["zip_not_used", "address_not_matched"]
    assert answer.advisories[0]["zip"] == "28200"
    assert "ZIP 28200 is unknown" in answer.advisories[0]["message"]
    parts = ask("NC", street="600 E 4th St", city="Charlotte", zip="28200")
    assert parts.simple()["rate"] == answer.simple()["rate"]
    assert "unknown" in refused("NC", zip="28200").message
    assert "lies in CA" in refused("NC", street="1 Main", city="Charlotte", zip="90012").message


@pytest.mark.parametrize(
    ("state", "line", "expected"),
    cases("""
    CA  94107 San Francisco 1 Main St = 94107; San Francisco; 1 Main St
    CA  94107 San Francisco, 1 Main St = 94107; San Francisco; 1 Main St
    CA  94107 San Francisco CA 1 Main St = 94107; San Francisco; 1 Main St
    CA  94107, 1 Main St, San Francisco = 94107; San Francisco; 1 Main St
    TX  78701, 600 Congress Ave, Austin TX = 78701; Austin; 600 Congress Ave
    TX  78701-1234, 600 Congress Ave, Austin TX = 78701; Austin; 600 Congress Ave
    TX  78701 600 Congress Ave Austin = 78701; Austin; 600 Congress Ave
    TX  78701 Austin, TX, 600 Congress Ave = 78701; Austin; 600 Congress Ave
    TX  78701 600 Congress Ave = 78701; none; 600 Congress Ave
    TX  Austin 78701, 600 Congress Ave = 78701; Austin; 600 Congress Ave
    TX  600 Congress Ave, 78701 Austin, TX = 78701; Austin; 600 Congress Ave
    NY  10001 New York 350 5th Ave = 10001; New York; 350 5th Ave
    WI  53202 Milwaukee 200 E Wells St = 53202; Milwaukee; 200 E Wells St
    """),
)
def test_a_zip_that_stands_first_decides(ask, book, state, line, expected):
    zip5, city, street = expected.replace("none", "").split("; ")
    read = address_parts(book, Query(state=state, address=line))
    assert (read.zip, read.city, read.street) == (zip5, city, street)
    answer = ask(state, address=line)
    assert answer.location.zip == zip5
    last = f"{street}, {city}, {state} {zip5}" if city else f"{street}, {state} {zip5}"
    assert answer.simple()["rate"] == ask(state, address=last).simple()["rate"]
    assert "place_input_mismatch" not in codes(answer)


@examples(25, of=100)
@given(
    number=st.integers(10_000, 99_999),
    street=st.sampled_from(["Main St", "Houston St", "Old Mill Rd", "Dallas Pkwy", "Hwy 6 S"]),
    data=st.data(),
)
def test_any_house_number_of_five_digits_stays_one(book, number, street, data):
    places = [place for place in book.zips.state("TX").values() if place.kind == "STANDARD"]
    place = data.draw(st.sampled_from(places))
    for line in (f"{number} {street}, {place.city}, TX", f"{number} {street}, {place.city}"):
        assert address_parts(book, Query(state="TX", address=line)).zip == ""
    line = f"{number} {street}, {place.city}, TX {place.zip}"
    assert address_parts(book, Query(state="TX", address=line)).zip == place.zip


@examples(25, of=100)
@given(
    state=st.sampled_from(["CA", "IL", "NC", "NY", "OH", "TX", "WA"]),
    way=st.sampled_from(
        ["{zip} {city} {street}", "{zip}, {city}, {street}", "{zip} {city}, {state}, {street}",
         "{zip}, {street}, {city}", "{zip} {street}, {city}, {state}"]
    ),
    street=st.sampled_from(["1 Main St", "350 5th Ave", "12B Elm St Apt 4", "600 N Oak Dr"]),
    data=st.data(),
)  # fmt: skip
def test_any_zip_that_stands_first_is_read(book, state, way, street, data):
    place = data.draw(st.sampled_from(list(book.zips.state(state).values())))
    line = way.format(zip=place.zip, city=place.city, state=state, street=street)
    parts = address_parts(book, Query(state=state, address=line))
    assert (parts.zip, parts.city) == (place.zip, place.city)
    assert parts.street == street


DAY = date(2026, 6, 30)


@pytest.mark.parametrize(
    ("state", "line", "units"),
    cases("""
    WI  200 E Wells St, Milwaukee, Milwaukee County, WI = 7900
    WI  200 E Wells St, Milwaukee, WI, Milwaukee County = 7900
    WI  200 E Wells St, Milwaukee, Milwaukee County, Wisconsin, 53202, United States = 7900
    WI  200 E Wells St, Milwaukee County, WI = 5900 | 18 Broadway South Milwaukee WI = 5900
    WI  18 Broadway Milwaukee WI = 7900 | 200 E Wells St Milwaukee Wis 53202 = 7900
    WI  200 E Wells St Milwaukee Wis = 7900
    MS  1 Main St, Jackson, Hinds County, MS 39201 = 8000
    WA  1 Main St, Tacoma, Pierce County, WA 98402 = 10400
    OH  5 Palm Trl North Lima OH = 7500
    FL  18 Broadway Key Largo FL = 7500
    NC  12 The Plaza Charlotte NC = 7250
    """),
)
def test_the_city_decides(ask, state, line, units):
    answer = ask(state, address=line, as_of=DAY)
    assert answer.chosen.combined == int(units)


@pytest.mark.parametrize(
    "line", ["1 Kapiolani Blvd, Honolulu, Hawai'i", "1 Kapiolani Blvd, Honolulu, Hawaii, HI"]
)
def test_hawaii_behind_honolulu_is_the_state(ask, line):
    rate = ask("HI", address=line).simple()["rate"]
    assert (rate["city"], rate["county"]) == ("Honolulu", "Honolulu County")


def test_a_zip_of_boxes_lies_where_its_city_lies(ask):
    truckee = ask("CA", zip="96162", as_of=date(2026, 2, 1))
    assert (truckee.chosen.combined, truckee.confidence) == (9_000, "medium")
    alviso = ask("CA", zip="95002", as_of=DAY)  # no place: what the ZIP touches is San Jose
    assert (alviso.chosen.area.name, alviso.confidence) == ("San Jose", "medium")


@pytest.mark.parametrize(
    ("state", "line", "city"),
    cases("""
    TX  600 Congress Ave Austin = Austin | 100 Houston St Dallas = Dallas
    TX  500 W Dallas St Houston = Houston | 500 Fort Worth Ave Dallas = Dallas
    TX  600 Congress Ave Ste 200 Austin = Austin | 1200 Hwy 71 Bastrop = Bastrop
    TX  12 Broadway San Antonio = San Antonio | 600 Congress Ave Austin Travis County = Austin
    TX  600 Congress Ave Austin Travis County TX = Austin
    CA  1 Market St San Francisco = San Francisco | Pier 39 San Francisco = San Francisco
    CA  100 Grand Ave South San Francisco = South San Francisco
    CA  100 Camino Del Mar San Diego = San Diego
    CA  12 Avenue of the Stars Los Angeles = Los Angeles
    WA  400 Broad St Seattle = Seattle
    GA  100 Main St E Point = East Point
    """),
)
def test_a_line_without_commas_and_zip_ends_in_its_city(ask, state, line, city):
    answer = ask(state, address=line, as_of=DAY)
    assert answer.location.via == "place"
    named = ask(state, location=city, as_of=DAY)
    assert answer.simple()["rate"] == named.simple()["rate"]
    assert "address_not_matched" in codes(answer)


@pytest.mark.parametrize(
    ("state", "line"),
    cases("""
    TX  500 Dallas St | 500 Dallas St, TX | 500 Fort Worth Ave | 500 W Dallas
    TX  75201 Dallas Pkwy | 75201 Dallas Pkwy Suite 100 | 123 Austin Highway | 123 Round Rock
    CA  12 Camino Del Mar | 100 Via Escondido | 12 N Hollywood | 100 St Helena
    MN  12 N St Stephen
    TN  12 Shady Oak Rdg
    NC  100 Lazy Indian Trl | 1200 N Washington | 100 Old Durham | 44 New Bern
    WA  9 Green Mountlake Ter
    """),
)
def test_a_street_called_like_a_city_names_no_city(refused, state, line):
    reason = refused(state, address=line)
    assert reason.code == "NOT_FOUND"
    assert reason.message == (
        "no ZIP and no city could be read from the address: write it as 'street, city, state ZIP'"
    )


@pytest.mark.parametrize(
    ("state", "line", "city"),
    cases("""
    UT  666 S 500 W Salt Lake City = Salt Lake City | 666 S 500 W West Jordan = West Jordan
    UT  666 S 500 W, W Jordan = West Jordan
    ND  620 S 500 W Fargo = Fargo | 620 5th St W Fargo = West Fargo
    """),
)
def test_the_direction_of_a_street_with_a_number_is_not_the_citys(ask, state, line, city):
    found = ask(state, address=line).simple()["rate"]
    assert name_key(found["city"]) == name_key(city)
    assert found == ask(state, location=city).simple()["rate"]
