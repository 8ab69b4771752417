"""Which number of an address is its ZIP: labels, order, notes, boxes, two addresses in one line."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc_tools.service.ratebook import Query, load_book
from svc_tools.service.ratebook.address_line import parse_line
from svc_tools.service.ratebook.by_address import parts_of
from svc_tools.service.ratebook.gazetteer import is_place


def read(line, state="NC"):
    return parse_line(line, state, partial(is_place, load_book()))


@pytest.mark.parametrize(
    "line",
    [
        "28202 Charlotte NC",
        "28202, Charlotte, NC",
        "NC 28202 Charlotte",
        "Charlotte NC zip 28202",
        "600 E 4th St, Charlotte, NC ZIP: 28202",
        "600 E 4th St, Charlotte, zipcode 28202",
        "600 E 4th St, Charlotte (Postal Code 28202)",
        "600 E 4th St CharlotteNC28202",
        "600 E 4th St|Charlotte|NC|28202",
        "600 E 4th St, Charlotte, NC - 28202",
        "Invoice 27601 600 E 4th St Charlotte NC 28202",
        "ID 27601, 5 Main St, Charlotte, NC 28202",
        "600 E 4th St, Charlotte, NC 28202 PO# 27601",
    ],
)
def test_the_zip_and_the_city_are_read(line):
    parts = read(line)
    assert (parts.zip, parts.city) == ("28202", "Charlotte")


@pytest.mark.parametrize("line", ["zip 28202", "ZIP: 28202", "zip code 28202 please"])
def test_a_zip_that_is_called_so_needs_no_city(line):
    assert read(line).zip == "28202"


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


@pytest.mark.parametrize(
    ("state", "line", "city", "zip5"),
    [
        ("MS", "5 Main St Olive Branch 38654", "Olive Branch", "38654"),
        ("AR", "5 Main St Branch 72928", "Branch", "72928"),
        ("WI", "5 Main St Green Bay 54301", "Green Bay", "54301"),
        ("TX", "5 Main St College Station 77840", "College Station", "77840"),
        ("AL", "5 Main St Mobile 36602", "Mobile", "36602"),
        ("AR", "5 Main St Reverie TN 72395", "Reverie TN", "72395"),
        ("CA", "200 N Spring St LA 90012", "LA", "90012"),
        ("CA", "200 N Spring St, LA 90012", "LA", "90012"),
        ("CA", "LA 90012", "LA", "90012"),
        ("AR", "Vendor 72683", "Vendor", "72683"),
    ],
)
def test_a_city_called_like_a_note_or_a_state_keeps_its_zip(state, line, city, zip5):
    parts = read(line, state)
    assert (parts.city, parts.state, parts.zip) == (city, "", zip5)


@pytest.mark.parametrize("line", ["100 Canal St, New Orleans, LA", "5 Elm St, Nowhereville, LA"])
def test_a_city_before_a_code_that_is_a_place_too_leaves_it_a_state(refused, line):
    assert "names LA" in refused("CA", address=line).message


@pytest.mark.parametrize("dash", ["-", "\u2010", "\u2013", "\u2212", " ", ""])
def test_a_zip_plus_four_is_kept_whole(dash):
    parts = read(f"600 E 4th St, Charlotte, NC 28202{dash}1234")
    assert (parts.zip, parts.plus4) == ("28202", "1234")


@pytest.mark.parametrize(
    "query",
    [
        {"zip": "28202-1234"},
        {"location": "28202-1234"},
        {"location": "Charlotte, NC 28202-1234"},
        {"address": "600 E 4th St, Charlotte, NC 28202-1234"},
        {"address": "28202-1234 Charlotte NC"},
        {"address": "600 E 4th St, Charlotte, zip 28202-1234"},
        {"street": "600 E 4th St", "city": "Charlotte", "zip": "28202-1234"},
        {"street": "600 E 4th St", "city": "Charlotte 28202-1234"},
        {"street": "600 E 4th St", "city": "28202-1234"},
        {"street": "600 E 4th St", "city": "Charlotte 28202", "zip": "28202-1234"},
    ],
)
def test_the_four_digits_survive_in_every_mode(book, query):
    parts = parts_of(book, Query(state="NC", **query))
    assert (parts.zip, parts.plus4) == ("28202", "1234")


@pytest.mark.parametrize("query", [{"location": "Charlotte"}, {"lat": 35.2, "lng": -80.8}])
def test_where_no_zip_and_no_address_is_given_there_are_no_parts(book, query):
    assert parts_of(book, Query(state="NC", **query)) is None


@pytest.mark.parametrize(
    ("line", "street"),
    [
        ("600 E 4th St, Charlotte, NC 28202", "600 E 4th St"),
        ("600 E 4th St Ste 200 Charlotte NC", "600 E 4th St Ste 200"),
        ("600 E 4th St, Suite 200, Charlotte, NC 28202-1234", "600 E 4th St, Suite 200"),
        ("100 Charlotte Ave, Charlotte, NC", "100 Charlotte Ave"),
        ("600 E 4th St, Charlotte, Mecklenburg County, NC", "600 E 4th St"),
        ("600 E 4th St 28202", "600 E 4th St"),
        ("28202 Charlotte NC", ""),
        ("Charlotte, NC", ""),
    ],
)
def test_the_street_is_what_stands_before_the_city(line, street):
    assert read(line).street == street


@settings(max_examples=60, deadline=None)  # the first example reads tables
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


@pytest.mark.parametrize(
    "words", ["po ", "po box ", "#", "-", "- ,", "12345 ", "NC 28202 ", "u s a ", "no. 5 ", "a,"]
)
def test_a_line_of_one_thing_many_times_is_read_at_once(words):
    assert read((words * 200)[:200]).street is not None  # a bad pattern would never end


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
        {"address": "600 Congress Ave, Austin, TX, NJ 07102"},
        {"address": "600 Congress Ave Austin TX, NJ 07102"},
        {"street": "600 Congress Ave, Austin, TX 78701", "city": "Newark", "zip": "07102"},
        {"street": "600 Congress Ave, Austin, TX", "city": "Newark", "zip": "07102"},
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
        ("NY", {"street": "100 Nevada", "city": "Albany", "zip": "12207"}),
        ("NY", {"street": "100 Hartford CT", "city": "Albany", "zip": "12207"}),
        ("GA", {"street": "3340 Peachtree Rd NE", "city": "Atlanta", "zip": "30326"}),
        ("NV", {"street": "1600 Hwy 20001", "city": "Reno", "zip": "89501"}),
        ("NV", {"street": "5 Elm St, PO Box 20001", "city": "Reno", "zip": "89501"}),
        ("MO", {"address": "100 N Main St, Nevada, MO 64772"}),
        ("NY", {"address": "12 Hartford Ct, Albany, NY 12207"}),
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
        {"address": "USS Nimitz, FPO, AP"},
        {"address": "CMR 402 Box 12, APO, NC 28202"},
        {"address": "Unit 9900 Box 1, DPO NC"},
        {"street": "Unit 2050", "city": "APO", "zip": "28202"},
        {"street": "Unit 2050", "city": "FPO AE"},
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


@pytest.mark.parametrize(
    "line", ["1200 N Washington", "1200 South Washington", "100 Old Durham", "44 New Bern"]
)
def test_a_street_alone_is_not_taken_for_a_city(refused, line):
    assert "no city could be read" in refused("NC", address=line).message


def test_a_zip_that_no_table_knows_leaves_it_to_the_city(ask, refused):
    answer = ask("NC", address="600 E 4th St, Charlotte, NC 28200")
    assert (answer.location.via, answer.chosen.combined) == ("place", 8_250)
    codes = [warning["code"] for warning in answer.advisories]
    assert codes == ["zip_not_used", "address_not_matched"]
    assert answer.advisories[0]["zip"] == "28200"
    assert "ZIP 28200 is unknown" in answer.advisories[0]["message"]
    parts = ask("NC", street="600 E 4th St", city="Charlotte", zip="28200")
    assert parts.simple()["rate"] == answer.simple()["rate"]
    assert "unknown" in refused("NC", zip="28200").message
    assert "lies in CA" in refused("NC", street="1 Main", city="Charlotte", zip="90012").message


@pytest.mark.parametrize(
    ("state", "line", "zip5", "plus4"),
    [
        ("MA", "10 Beacon St, Boston, MA 2108", "02108", ""),
        ("MA", "10 Beacon St Boston Massachusetts 2108-1234", "02108", "1234"),
        ("CT", "6103 Main St, Hartford CT 6103", "06103", ""),
        ("NC", "123 Main St, Charlotte, NC 28202-12", "28202", ""),
    ],
)
def test_a_zip_that_lost_its_zero_or_its_end_is_still_read(state, line, zip5, plus4):
    parts = read(line, state)
    assert (parts.zip, parts.plus4, parts.damaged) == (zip5, plus4, "")


@pytest.mark.parametrize(
    ("line", "damaged"),
    [
        ("123 Main St, Charlotte, NC 2820", "2820"),
        ("123 Main St, Charlotte, NC 282021", "282021"),
        ("123 Main St Charlotte NC 28202-12345", "28202-12345"),
    ],
)
def test_a_damaged_zip_leaves_it_to_the_city(line, damaged):
    parts = read(line)
    assert (parts.city, parts.zip, parts.damaged) == ("Charlotte", "", damaged)


@pytest.mark.parametrize("line", ["12 Main St, NC 150", "1 Hwy NC 150", "5 Elm St, Charlotte, 150"])
def test_a_road_number_is_no_damaged_zip(line):
    assert read(line).damaged == ""


@pytest.mark.parametrize(
    ("state", "line", "parts"),
    [
        ("CA", "94107 San Francisco 1 Main St", ("94107", "San Francisco", "1 Main St")),
        ("CA", "94107 San Francisco, 1 Main St", ("94107", "San Francisco", "1 Main St")),
        ("CA", "94107 San Francisco CA 1 Main St", ("94107", "San Francisco", "1 Main St")),
        ("CA", "94107, 1 Main St, San Francisco", ("94107", "San Francisco", "1 Main St")),
        ("TX", "78701, 600 Congress Ave, Austin TX", ("78701", "Austin", "600 Congress Ave")),
        ("TX", "78701-1234, 600 Congress Ave, Austin TX", ("78701", "Austin", "600 Congress Ave")),
        ("TX", "78701 600 Congress Ave Austin", ("78701", "Austin", "600 Congress Ave")),
        ("TX", "78701 Austin, TX, 600 Congress Ave", ("78701", "Austin", "600 Congress Ave")),
        ("TX", "78701 600 Congress Ave", ("78701", "", "600 Congress Ave")),
        ("TX", "Austin 78701, 600 Congress Ave", ("78701", "Austin", "600 Congress Ave")),
        ("TX", "600 Congress Ave, 78701 Austin, TX", ("78701", "Austin", "600 Congress Ave")),
        ("NY", "10001 New York 350 5th Ave", ("10001", "New York", "350 5th Ave")),
        ("WI", "53202 Milwaukee 200 E Wells St", ("53202", "Milwaukee", "200 E Wells St")),
    ],
)
def test_a_zip_that_stands_first_decides(ask, book, state, line, parts):
    zip5, city, street = parts
    read = parts_of(book, Query(state=state, address=line))
    assert (read.zip, read.city, read.street) == parts
    answer = ask(state, address=line)
    assert answer.location.zip == zip5
    last = f"{street}, {city}, {state} {zip5}" if city else f"{street}, {state} {zip5}"
    assert answer.simple()["rate"] == ask(state, address=last).simple()["rate"]
    assert "place_input_mismatch" not in [warning["code"] for warning in answer.advisories]


@pytest.mark.parametrize(
    ("state", "line", "zip5", "city"),
    [
        ("TX", "12345 Main St, Austin, TX 78701", "78701", "Austin"),
        ("TX", "10001 Main St, Dallas TX", None, "Dallas"),
        ("TX", "75201 Main St, Dallas TX", None, "Dallas"),
        ("TX", "75201 Houston St, Dallas", None, "Dallas"),
        ("TX", "77068 FM 1960 W, Houston", None, "Houston"),
        ("FL", "45800 FM 1960 W Miami", None, "West Miami"),
        ("TX", "75201 Dallas Pkwy, Dallas TX", None, "Dallas"),
        ("TX", "78701 N Lamar Blvd, Austin TX 78753", "78753", "Austin"),
        ("NY", "10001 New York Ave, Brooklyn", None, "Brooklyn"),
        ("MI", "48219 8 Mile Rd, Detroit, MI", None, "Detroit"),
        ("UT", "84101 500 S, Salt Lake City", None, "Salt Lake City"),
        ("TX", "10001, 600 Congress Ave, Austin TX", None, "Austin"),
    ],
)
def test_a_house_number_of_five_digits_is_no_zip(ask, state, line, zip5, city):
    found = ask(state, address=line)
    assert found.location.zip == zip5
    assert found.location.city == city
    assert "place_input_mismatch" not in [warning["code"] for warning in found.advisories]


def test_a_zip_that_stands_first_in_a_line_of_another_state_is_refused(refused):
    assert "names CA" in refused("TX", address="94107 San Francisco CA 1 Main St").message
    assert "names TX" in refused("CA", address="78701, 600 Congress Ave, Austin TX").message


@settings(max_examples=100, deadline=None)  # the first example reads tables
@given(
    number=st.integers(10_000, 99_999),
    street=st.sampled_from(["Main St", "Houston St", "Old Mill Rd", "Dallas Pkwy", "Hwy 6 S"]),
    data=st.data(),
)
def test_any_house_number_of_five_digits_stays_one(book, number, street, data):
    places = [place for place in book.zips.state("TX").values() if place.kind == "STANDARD"]
    place = data.draw(st.sampled_from(places))
    for line in (f"{number} {street}, {place.city}, TX", f"{number} {street}, {place.city}"):
        assert parts_of(book, Query(state="TX", address=line)).zip == ""
    line = f"{number} {street}, {place.city}, TX {place.zip}"
    assert parts_of(book, Query(state="TX", address=line)).zip == place.zip


@settings(max_examples=100, deadline=None)  # the first example reads tables
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
    parts = parts_of(book, Query(state=state, address=line))
    assert (parts.zip, parts.city) == (place.zip, place.city)
    assert parts.street == street
