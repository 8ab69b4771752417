"""What a row asks, or why it is not asked."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.places import (
    STATES,
    Cells,
    Elsewhere,
    Question,
    Refusal,
    question,
    same_place,
    state_code,
)

WORDS = ["12", "Main St,", "Austin", "TX", "78701", ",", "New York", "NE", "42223-1", "USA", "M5V"]


def asked(*, dated=False, **cells):
    one = question(Cells(**cells), dated=dated)
    assert isinstance(one, Question), one
    return one


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("TX", "TX"),
        ("tx", "TX"),
        (" Texas ", "TX"),
        ("NEW  YORK", "NY"),
        ("N.Y.", "NY"),
        ("Calif.", "CA"),
        ("US-WA", "WA"),
        ("D.C.", "DC"),
        ("Washington, D.C.", "DC"),
        ("Washington", "WA"),
        ("West Virginia", "WV"),
        ("W. Va.", "WV"),
        ("Virginia", "VA"),
        ("C.A.", "CA"),
        ("CA - California", "CA"),
        ("California (CA)", "CA"),
        ("Washington State", "WA"),
        ("CA - Texas", None),
        ("CA, USA", "CA"),
        ("Texas, United States", "TX"),
        ("ZZ", None),
        ("Texass", None),
        ("", None),
        ("48", None),
    ],
)
def test_states_are_understood_as_written_and_never_guessed(text, code):
    assert state_code(text) == code


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("PR", "Puerto Rico"),
        ("Puerto Rico", "territory"),
        ("AE", "military"),
        ("ON", "Canada"),
        ("British Columbia", "Canada"),
        ("Québec", "Canada"),
        ("U.S. Virgin Islands", "territory"),
    ],
)
def test_what_lies_outside_says_where(text, said):
    found = state_code(text)
    assert isinstance(found, Elsewhere)
    assert said in found.reason
    refusal = question(Cells(state=text, zip="00901"), dated=False)
    assert refusal == Refusal("unsupported", found.reason)


def test_the_mode_is_address_then_coordinates_then_zip_then_place():
    everything = {
        "state": "TX",
        "address": "500 W 2nd St",
        "city": "Austin",
        "zip": "78701",
        "lat": 30.26,
        "lng": -97.74,
        "location": "Austin",
    }
    modes = []
    for gone in (None, "address", "lat", "zip"):
        everything.pop(gone, None)
        if gone == "lat":
            everything.pop("lng")
        modes.append(asked(**everything).place.mode)
    assert modes == ["address", "coordinates", "zip", "place"]


def test_an_address_goes_in_parts_or_in_one_line():
    parts = asked(state="TX", address="500 W 2nd St", city="Austin", zip="78701").place
    assert parts.arguments() == {"address": "500 W 2nd St", "city": "Austin", "zip": "78701"}
    line = asked(state="TX", address="500 W 2nd St, Austin, TX 78701").place
    assert line.arguments() == {"address": "500 W 2nd St, Austin, TX 78701"}
    with_zip = asked(state="TX", address="500 W 2nd", zip="78701").place
    assert with_zip.arguments() == {"address": "500 W 2nd", "zip": "78701"}


def test_an_address_that_no_service_would_read_gives_way_to_the_next_mode():
    assert asked(state="TX", address="12 Elm", location="Austin").place.mode == "place"
    refusal = question(Cells(state="TX", address="12 Elm"), dated=False)
    assert refusal.status == "invalid"
    assert "10 to 200" in refusal.reason


def test_a_city_beside_a_zip_is_not_sent_but_kept_for_comparison():
    one = asked(state="TX", zip="78701", city="Dallas")
    assert one.place.arguments() == {"zip": "78701"}
    assert one.named_city == "Dallas"


def test_a_missing_state_comes_from_a_zip_that_lies_in_one_state():
    one = asked(zip="94105")
    assert (one.place.state, one.state_from_zip) == ("CA", True)
    assert asked(address="1 Market St, San Francisco, CA 94105").place.state == "CA"
    for cells, said in (
        ({"zip": "42223"}, "KY and TN"),
        ({"location": "Springfield"}, "nor the end of the address names one"),
        ({"zip": "00000"}, "no state's range"),
    ):
        refusal = question(Cells(**cells), dated=False)
        assert refusal.status == "invalid"
        assert said in refusal.reason


@pytest.mark.parametrize(
    ("cell", "day"),
    [
        (date(2024, 2, 29), date(2024, 2, 29)),
        (datetime(2024, 2, 29, 23, 59), date(2024, 2, 29)),  # noqa: DTZ001 - no zone
        ("2024-02-29", date(2024, 2, 29)),
        (" 2024-02-29 23:59:00 ", date(2024, 2, 29)),
        (20240229, date(2024, 2, 29)),
        (20240229.0, date(2024, 2, 29)),  # a column of them with a cell missing
        (None, None),
        ("", None),
    ],
)
def test_dates_are_calendar_dates(cell, day):
    assert asked(state="TX", zip="78701", as_of=cell).place.as_of == day


@pytest.mark.parametrize(
    "cell",
    [
        "03/04/2024",
        "2024-02-30",
        "yesterday",
        45000,
        45000.0,
        "2024",
        datetime(2024, 2, 29, 23, 59, tzinfo=UTC),
        "2024-02-29T03:00:00+00:00",
        "2024-02-29T03:00:00Z",
        1784011310215,
        "1784011310215",
        "2024-W10-1",
        17840113,
    ],
)
def test_a_date_with_two_meanings_or_none_is_refused(cell):
    refusal = question(Cells(state="TX", zip="78701", as_of=cell), dated=True)
    assert refusal.status == "invalid"
    assert "as_of" in refusal.reason


@pytest.mark.parametrize(
    ("cell", "how"),
    [
        (46143, "day number"),
        (46143.5, "day number"),
        ("2026-05", "2026-05-01"),
        ("05/01/2026", "%m/%d/%Y"),
    ],
)
def test_a_date_that_is_none_says_how_to_convert_the_column(cell, how):
    assert how in question(Cells(state="TX", zip="78701", as_of=cell), dated=True).reason


def test_a_row_without_its_date_is_refused_rather_than_answered_as_of_today():
    refusal = question(Cells(state="TX", zip="78701"), dated=True)
    assert refusal == Refusal("invalid", "as_of: the row has no date")


@pytest.mark.parametrize(
    "missing",
    [None, "", "  ", "nan", "NaN", "None", "N/A", "#N/A", float("nan"), "null"],
)
def test_missing_is_missing_in_every_usual_spelling(missing):
    refusal = question(Cells(state="TX", zip=missing, city=missing), dated=False)
    assert refusal.status == "invalid"
    assert "no address, coordinates, ZIP or place name" in refusal.reason


@pytest.mark.parametrize(
    ("lat", "lng", "said"),
    [
        (30.0, None, "lng"),
        (None, -97.0, "lat"),
        (95.0, -97.0, "lat"),
        (30.0, -197.0, "lng"),
        ("north", -97.0, "lat"),
        ("inf", -97.0, "lat"),
    ],
)
def test_coordinates_that_cannot_be_right_are_refused(lat, lng, said):
    refusal = question(Cells(state="TX", lat=lat, lng=lng), dated=False)
    assert refusal.status == "invalid"
    assert refusal.reason.startswith(said)


@pytest.mark.parametrize(("lat", "lng"), [(30.0, None), (None, -97.0), (0.0, 0.0), ("0", 0)])
def test_half_a_point_or_a_filler_gives_way_to_the_zip(lat, lng):
    assert asked(state="TX", lat=lat, lng=lng, zip="78701").place.mode == "zip"


def test_a_point_that_cannot_be_right_is_not_covered_up_by_the_zip():
    refusal = question(Cells(state="TX", lat=95.0, lng=-97.0, zip="78701"), dated=False)
    assert refusal.status == "invalid"


@pytest.mark.parametrize(
    "country",
    ["US", "usa", "U.S.A.", "United States", "United States (US)", "The United States", None, ""],
)
def test_rows_of_the_united_states_are_asked(country):
    assert asked(country=country, state="TX", zip="78701").place.state == "TX"


@pytest.mark.parametrize("country", ["ES", "Spain", "CA", "Canada", "DE", "PR", "USSR"])
def test_rows_of_other_countries_are_not(country):
    refusal = question(Cells(country=country, zip="28001"), dated=False)
    assert refusal.status == "unsupported"
    assert country in refusal.reason


@pytest.mark.parametrize(
    "address",
    [
        "PO Box 02134",
        "1600 Hwy 20001",
        "1234 County Road 98101",
        "Calle Mayor 1, 28001",
        "Apt 90210",
        "5 Main St, Springfield, IL 90210",
    ],
)
def test_a_number_at_the_end_of_an_address_does_not_name_the_state(address):
    refusal = question(Cells(address=address), dated=False)
    assert refusal.status == "invalid"
    assert "state" in refusal.reason


@pytest.mark.parametrize(
    ("address", "state"),
    [
        ("1 Market St, San Francisco, CA 94105", "CA"),
        ("1 Market St, San Francisco CA 94105-1804", "CA"),
        ("1 Market St, San Francisco, California 94105", "CA"),
        ("12 Elm St, Concord, New Hampshire, 03301", "NH"),
        ("1 Elm St, Fort Campbell, KY 42223", "KY"),
        ("600 Congress Ave, Austin 78701", "TX"),
        ("1 Elm St, Port St Lucie 34952", "FL"),
        ("78701, 600 Congress Ave, Austin", "TX"),
        ("94107 San Francisco, 1 Main St", "CA"),
        ("600 Congress Ave, Austin, TX", "TX"),
        ("600 Congress Ave, Austin TX", "TX"),
        ("600 Congress Ave Austin TX", "TX"),
        ("600 congress ave austin tx", "TX"),
        ("600 Congress Ave Austin, Texas, USA", "TX"),
        ("600 Congress Ave, Austin Texas", "TX"),
        ("12 Elm St, Charlotte, N.C.", "NC"),
        ("12 Elm St, Charlotte North Carolina", "NC"),
        ("1 Main St, Omaha NE", "NE"),
        ("1 Main St, Hartford, CT", "CT"),
        ("1600 Pennsylvania Ave NW, Washington, DC", "DC"),
        ("350 5th Ave, New York", "NY"),
        ("10001 Main St, Dallas TX", "TX"),
        ("1100 Congress Ave Austin 78701", "TX"),
        ("600 Congress Ave 78701", "TX"),
        ("600 Congress Ave Suite 200, 78701", "TX"),
        ("1600 Highway 290 78701", "TX"),
        ("PO Box 200, 78701", "TX"),
        ("Austin 78701", "TX"),
    ],
)
def test_the_end_of_an_address_names_the_state(address, state):
    one = asked(address=address)
    assert one.place.arguments() == {"address": address}
    assert (one.place.state, one.state_from_address, one.state_from_zip) == (state, True, False)
    given = asked(state=state, address=address)
    assert (given.place.state, given.state_from_address) == (state, False)
    other = question(Cells(state="WA", address=address), dated=False)  # never replaced
    if isinstance(other, Question):  # in doubt: the service judges
        assert (other.place.state, other.state_from_address) == ("WA", False)
    else:
        assert other.reason == f"state: the address names {state}, but the state given is WA"


@pytest.mark.parametrize(
    "address",
    [
        "100 Main St NE",
        "100 Hartford CT",
        "1200 N Washington",
        "1600 Pennsylvania Ave, Washington",
        "100 Port Washington",
        "100 Main St, West New York",
        "10001 Main St, Dallas",
        "12345 Main St, 5 Floor",
        "600 Congress Ave, Job 10001",
        "600 Congress Ave, Attn Bob 12345",
        "just around the corner in",
    ],
)
def test_an_address_that_names_no_state_is_invalid_and_never_guessed(address):
    refusal = question(Cells(address=address), dated=False)
    reason = "state: it is missing, and neither a ZIP nor the end of the address names one"
    assert refusal == Refusal("invalid", reason)


@pytest.mark.parametrize(
    ("cells", "state"),
    [
        ({"location": "Austin, TX"}, "TX"),
        ({"location": "Austin TX"}, "TX"),
        ({"location": "Charlotte 28202"}, "NC"),
        ({"location": "28202"}, "NC"),
        ({"address": "600 Congress Ave", "city": "Austin, Texas"}, "TX"),
        ({"zip": "42223", "city": "Fort Campbell, KY"}, "KY"),
        ({"zip": "42223", "address": "1 Elm St, Fort Campbell, TN"}, "TN"),
        ({"zip": 2134, "address": "1 Elm St, Boston, MA"}, "MA"),
    ],
)
def test_a_city_or_place_name_may_name_the_state_too(cells, state):
    one = asked(**cells)
    assert (one.place.state, one.state_from_address) == (state, True)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (
            {"zip": "42223"},
            "state: it is missing, and ZIP 42223 lies in KY and TN",
        ),
        (
            {"zip": "42223", "city": "Fort Campbell, TX"},
            "state: the city names TX, but ZIP 42223 lies in KY and TN",
        ),
        (
            {"address": "1 Main St, 42223"},
            "state: it is missing, and ZIP 42223 lies in KY and TN",
        ),
        ({"lat": 30.2, "lng": -97.7}, "state: give the state of the point, such as TX"),
        (
            {"address": "1 Elm St, Fort Campbell 42223"},
            "state: it is missing, and ZIP 42223 lies in KY and TN",
        ),
        (
            {"address": "5 Main St, Springfield, IL 90210"},
            "state: the address names IL, but ZIP 90210 lies in CA",
        ),
    ],
)
def test_where_the_state_is_left_open_the_reason_names_the_states(cells, reason):
    assert question(Cells(**cells), dated=False) == Refusal("invalid", reason)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("1 Main St, San Juan, PR 00901", "Puerto Rico"),
        ("1 Main St, San Juan, PR", "Puerto Rico"),
        ("1 King St, Toronto, ON M5V 2T6", "Canadian postal code"),
        ("1 King St, Toronto, Ontario", "Canada"),
        ("PSC 3 Box 1, APO AE 09021", "military"),
    ],
)
def test_an_address_that_ends_outside_the_states_says_where(address, said):
    refusal = question(Cells(address=address), dated=False)
    assert refusal.status == "unsupported"
    assert said in refusal.reason


@given(st.text(max_size=80) | st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
def test_any_address_has_a_state_or_a_reason(text):
    found = question(Cells(address=text), dated=False)
    if isinstance(found, Question):
        assert found.place.state in STATES
    else:
        assert found.reason


def test_a_state_behind_the_city_is_not_part_of_its_name():
    assert asked(state="WA", zip="98101", city="Seattle, WA").named_city == "Seattle"
    assert asked(state="DC", zip="20001", city="Washington DC").named_city == "Washington DC"


CONGRESS = "600 Congress Ave, Austin, TX 78701"


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        (
            {"address": CONGRESS, "zip": "07102"},
            "state: the address names TX, but ZIP 07102 lies in NJ",
        ),
        (
            {"address": CONGRESS, "zip": "07102", "state": "NJ"},
            "state: the address names TX, but ZIP 07102 lies in NJ",
        ),
        (
            {"address": "600 Congress Ave, Austin, TX", "zip": "07102", "state": "TX"},
            "state: the address names TX, but ZIP 07102 lies in NJ",
        ),
        (
            {"address": CONGRESS, "state": "NJ"},
            "state: the address names TX, but the state given is NJ",
        ),
        (
            {"address": "600 Congress Ave Austin TX", "zip": "07102"},
            "state: the address names TX, but ZIP 07102 lies in NJ",
        ),
        (
            {"address": "600 Congress Ave, Austin, Texas", "zip": "07102"},
            "state: the address names TX, but ZIP 07102 lies in NJ",
        ),
        ({"address": "TX 07102"}, "state: the address names TX, but ZIP 07102 lies in NJ"),
        (
            {"address": CONGRESS, "zip": "78702"},
            "zip: the address has ZIP 78701, but the ZIP given is 78702",
        ),
        (
            {"address": "600 Congress Ave, Austin 78701", "zip": "07102"},
            "zip: the address has ZIP 78701, but the ZIP given is 07102",
        ),
        (
            {"address": "78701, 600 Congress Ave, Austin", "zip": "78702"},
            "zip: the address has ZIP 78701, but the ZIP given is 78702",
        ),
        (
            {"city": "Philadelphia, PA", "zip": "08102"},
            "state: the city names PA, but ZIP 08102 lies in NJ",
        ),
        (
            {"city": "Philadelphia, PA", "state": "NJ"},
            "state: the city names PA, but the state given is NJ",
        ),
        (
            {"address": "1 Main St, Austin, TX", "city": "Newark, NJ"},
            "state: the address names TX, but the city names NJ",
        ),
        (
            {"location": "Seattle, WA", "zip": "97204"},
            "state: the place names WA, but ZIP 97204 lies in OR",
        ),
    ],
)
def test_a_row_that_contradicts_itself_is_invalid(cells, reason):
    assert question(Cells(**cells), dated=False) == Refusal("invalid", reason)


@pytest.mark.parametrize(
    "cells",
    [
        {"address": "1 Main St, Nevada", "state": "MO", "zip": "64772"},
        {"address": "1400 Georgia", "city": "Washington", "zip": "20012"},
        {"address": "1201 N Florida", "city": "Tampa", "zip": "33602"},
        {"address": "3340 Peachtree Rd, NE", "city": "Atlanta", "zip": "30326"},
        {"address": "100 Hartford CT", "city": "Albany", "zip": "12207"},
        {"address": "12 VIA DE LA", "city": "LOS ANGELES", "zip": "90012"},
        {"address": "100 Main St Suite CA", "city": "Reno", "zip": "89501"},
        {"address": "W5678 County Road VA", "city": "Tomah", "zip": "54660"},
        {"address": "1600 Hwy 20001", "city": "Reno", "zip": "89501"},
        {"address": "PO Box 20001", "city": "Reno", "zip": "89501"},
        {"address": "600 Congress Ave, Suite 10001", "city": "Austin", "zip": "78701"},
        {"city": "East Texas", "zip": "18046"},
        {"city": "California, MD", "zip": "20619"},
        {"city": "JEFFERSON CO", "zip": "13601"},
        {"city": "Ontario", "zip": "91761"},
        {"address": "1 Main St, Ontario", "zip": "91761"},
        {"city": "Washington", "zip": "20001"},
        {"city": "Fort Campbell, TN", "zip": "42223"},
    ],
)
def test_what_may_be_a_street_or_a_city_contradicts_nothing(cells):
    assert asked(**cells).place.zip == cells["zip"]


@pytest.mark.parametrize("city", ["Washington, DC", "Washington DC", "Washington, D.C."])
def test_the_city_of_washington_names_its_state(city):
    for cells in ({}, {"address": "1600 Pennsylvania Ave NW"}, {"zip": "20500"}):
        assert asked(city=city, **cells).place.state == "DC"


def test_a_state_and_a_zip_alone_are_a_zip():
    assert asked(address="TX 78701").place.arguments() == {"zip": "78701"}
    assert asked(address="Texas, 78701").place.state == "TX"
    one = asked(address="600 Congress Ave, Portland, OR", zip="97204")
    assert (one.state_from_zip, one.state_from_address) == (False, True)


def test_coordinates_may_be_text():
    place = asked(state="TX", lat="30.25", lng=" -97.75 ").place
    assert place.arguments() == {"lat": 30.25, "lng": -97.75}


def test_a_name_too_long_to_send_is_refused():
    refusal = question(Cells(state="TX", location="x" * 65), dated=False)
    assert "64" in refusal.reason


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"address": "1 Elm \ud800St, Austin"}, "address: .* half a character"),
        ({"address": "1 Elm St", "city": "Aus\udffftin"}, "city: .* half a character"),
        ({"location": "Aus\ud800tin"}, "location: .* half a character"),
        ({"address": "1 Elm St", "city": "x" * 4_001}, "city: .* 4001 characters"),
        ({"address": "x" * 4_001, "city": "Austin"}, "address: .* 4001 characters"),
    ],
)
def test_what_no_request_can_carry_is_invalid_and_never_asked(cells, said):
    refused = question(Cells(state="TX", **cells), dated=False)
    assert refused.status == "invalid"
    assert re.search(said, refused.reason)


def test_minus_zero_degrees_are_zero():
    point = question(Cells(state="TX", lat="-0.0", lng=-0.0, location=None), dated=False).place
    assert (str(point.lat), str(point.lng)) == ("0.0", "0.0")


def test_equal_places_are_equal_however_they_were_written():
    spellings = [("ma", "2134"), ("Massachusetts", 2134.0), ("MA", " 02134 "), ("Mass.", "02134")]
    assert len({asked(state=state, zip=cell).place for state, cell in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("St. Louis", "Saint Louis"),
        ("SAINT LOUIS", "st louis"),
        ("Coeur d'Alene", "Coeur D Alene"),
        ("Cañon City", "Canon City"),
        ("NYC", "New York"),
        ("Washington, D.C.", "Washington"),
        ("New York City", "New York"),
        ("Ft. Worth", "Fort Worth"),
        ("N. Las Vegas", "North Las Vegas"),
        ("Winston-Salem", "Winston Salem"),
    ],
)
def test_the_same_place_in_two_spellings(one, other):
    assert same_place(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Dallas", "Austin"), ("Kansas City", "Arkansas City"), ("Las Vegas", "North Las Vegas")],
)
def test_different_places_stay_different(one, other):
    assert not same_place(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Signal Hl", "Signal Hill"),
        ("Ft. Worth", "Fort Worth"),
        ("Pt Arthur", "Port Arthur"),
        ("Mt View", "Mountain View"),
        ("College Sta", "College Station"),
        ("W Palm Bch", "West Palm Beach"),
        ("Grosse Pt Pk", "Grosse Pointe Park"),
        ("Elk Grove Vlg", "Elk Grove Village"),
    ],
)
def test_a_short_form_is_the_same_place(one, other):
    assert same_place(one, other)
    assert same_place(other.upper(), one.lower())


@pytest.mark.parametrize(
    ("one", "other"), [("Pt Arthur", "Arthur"), ("Mt View", "Mt Vernon"), ("Spring", "Springs")]
)
def test_short_forms_make_no_two_places_one(one, other):
    assert not same_place(one, other)
