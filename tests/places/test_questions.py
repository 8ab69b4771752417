"""What a row asks, or why it is not asked."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.tables.places import Cells, PlaceQuery, Refusal, place_query, same_place
from svc_tools.tables.states import STATES, Elsewhere, state_code

WORDS = ["12", "Main St,", "Austin", "TX", "78701", ",", "New York", "NE", "42223-1", "USA", "M5V"]

STREET = "600 Congress Ave, Austin, TX"
CONGRESS = f"{STREET} 78701"


def asked(*, dated=False, **cells):
    one = place_query(Cells(**cells), dated=dated)
    assert isinstance(one, PlaceQuery), one
    return one


def refused(status="invalid", *, dated=False, **cells):
    one = place_query(Cells(**cells), dated=dated)
    assert isinstance(one, Refusal), one
    assert one.status == status
    return one.reason


def each(**texts):
    """Pairs of a text and what it means, of texts that a semicolon separates."""
    return [(text, key) for key, several in texts.items() for text in several.split(";")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *each(TX="TX;tx; Texas ;Texas, United States", NY="NEW  YORK;N.Y.", VA="Virginia"),
        *each(CA="Calif.;C.A.;CA - California;California (CA);CA, USA"),
        *each(WA="US-WA;Washington;Washington State", DC="D.C.;Washington, D.C."),
        *each(WV="West Virginia;W. Va."),
        *((text, None) for text in ("CA - Texas", "ZZ", "Texass", "", "48")),
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
    refusal = place_query(Cells(state=text, zip="00901"), dated=False)
    assert refusal == Refusal("unsupported", found.reason)


def test_the_mode_is_address_then_zip_then_coordinates_then_place():
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
    for gone in (None, "address", "zip", "lat"):
        everything.pop(gone, None)
        if gone == "lat":
            everything.pop("lng")
        modes.append(asked(**everything).place.mode)
    assert modes == ["address", "zip", "coordinates", "place"]


@pytest.mark.parametrize(
    "cells",
    [
        {"address": "500 W 2nd St", "city": "Austin", "zip": "78701"},
        {"address": "500 W 2nd St, Austin, TX 78701"},
        {"address": "500 W 2nd", "zip": "78701"},
    ],
)
def test_an_address_goes_in_parts_or_in_one_line(cells):
    assert asked(state="TX", **cells).place.arguments() == cells


def test_an_address_that_no_service_would_read_gives_way_to_the_next_mode():
    assert asked(state="TX", address="12 Elm", location="Austin").place.mode == "place"
    assert "10 to 200" in refused(state="TX", address="12 Elm")


def test_a_city_next_to_a_zip_is_not_sent_but_compared():
    one = asked(state="TX", zip="78701", city="Dallas")
    assert (one.place.arguments(), one.named_city) == ({"zip": "78701"}, "Dallas")
    # a state behind the city is not part of its name
    assert asked(state="WA", zip="98101", city="Seattle, WA").named_city == "Seattle"
    assert asked(state="DC", zip="20001", city="Washington DC").named_city == "Washington DC"


def test_a_missing_state_comes_from_a_zip_that_lies_in_one_state():
    one = asked(zip="94105")
    assert (one.place.state, one.state_from_zip) == ("CA", True)
    assert "no state's range" in refused(zip="00000")
    assert refused(location="Springfield") == NAMES_NONE


@pytest.mark.parametrize(
    "cell",
    [
        date(2024, 2, 29),
        datetime(2024, 2, 29, 23, 59),  # noqa: DTZ001 - no zone
        "2024-02-29",
        " 2024-02-29 23:59:00 ",
        20240229,
        20240229.0,  # a column of them with a cell missing
        datetime(2024, 2, 29, 23, 59, tzinfo=UTC),
        "2024-02-29T23:59:00-05:00",
        "02/29/2024",
    ],
)
def test_dates_are_calendar_dates(cell):
    assert asked(state="TX", zip="78701", as_of=cell).place.as_of == date(2024, 2, 29)


@pytest.mark.parametrize("cell", [None, ""])
def test_a_row_without_its_date_is_refused_rather_than_looked_up_as_of_today(cell):
    assert asked(state="TX", zip="78701", as_of=cell).place.as_of is None
    assert refused(state="TX", zip="78701", as_of=cell, dated=True).startswith("as_of")


@pytest.mark.parametrize(
    ("cell", "how"),
    [
        *((cell, "as_of") for cell in ("03/04/2024", "2024-02-30", "yesterday", "2024")),
        *((cell, "as_of") for cell in (45000, 45000.0, 1784011310215, "1784011310215", 17840113)),
        ("2024-W10-1", "as_of"),
        # how to convert the column
        (46143, "day number"),
        (46143.5, "day number"),
        ("2026-05", "is a month"),
        ("05/01/2026", "month first or day first"),
    ],
)
def test_a_date_with_two_meanings_or_none_is_refused(cell, how):
    assert how in refused(state="TX", zip="78701", as_of=cell, dated=True)


@pytest.mark.parametrize(
    "missing", [None, "", "  ", "nan", "NaN", "None", "N/A", "#N/A", float("nan"), "null"]
)
def test_missing_is_missing_in_every_usual_spelling(missing):
    reason = refused(state="TX", zip=missing, city=missing)
    assert "no address, coordinates, ZIP or place name" in reason


@pytest.mark.parametrize(
    ("lat", "lng", "named"),
    [
        (30.0, None, "lng"),
        (None, -97.0, "lat"),
        (95.0, -97.0, "lat"),
        (30.0, -197.0, "lng"),
        ("north", -97.0, "lat"),
        ("inf", -97.0, "lat"),
    ],
)
def test_coordinates_that_cannot_be_right_are_refused(lat, lng, named):
    assert refused(state="TX", lat=lat, lng=lng).startswith(named)
    beside = asked(state="TX", lat=lat, lng=lng, zip="78701")
    assert (beside.place.zip, beside.point_not_used) == (
        "78701",
        "incomplete" if None in (lat, lng) else "unreadable",
    )


def test_coordinates_may_be_text():
    place = asked(state="TX", lat="30.25", lng=" -97.75 ").place
    assert place.arguments() == {"lat": 30.25, "lng": -97.75}
    point = asked(state="TX", lat="-0.0", lng=-0.0, location=None).place
    assert (str(point.lat), str(point.lng)) == ("0.0", "0.0")


@pytest.mark.parametrize(("lat", "lng"), [(30.0, None), (None, -97.0), (0.0, 0.0), ("0", 0)])
def test_half_a_point_or_a_filler_gives_way_to_the_zip(lat, lng):
    assert asked(state="TX", lat=lat, lng=lng, zip="78701").place.mode == "zip"


UNITED_STATES = "US;usa;U.S.A.;United States;United States (US);The United States;"


@pytest.mark.parametrize("country", [None, *UNITED_STATES.split(";")])
def test_rows_of_the_united_states_are_looked_up(country):
    assert asked(country=country, state="TX", zip="78701").place.state == "TX"


@pytest.mark.parametrize("country", ["ES", "Spain", "CA", "Canada", "DE", "PR", "USSR"])
def test_rows_of_other_countries_are_not(country):
    assert country in refused("unsupported", country=country, zip="28001")


ENDS = {
    "CA": "1 Market St, San Francisco, CA 94105;1 Market St, San Francisco CA 94105-1804;"
    "1 Market St, San Francisco, California 94105;94107 San Francisco, 1 Main St",
    "NH": "12 Elm St, Concord, New Hampshire, 03301",
    "KY": "1 Elm St, Fort Campbell, KY 42223",
    "FL": "1 Elm St, Port St Lucie 34952",
    "TX": "600 Congress Ave, Austin 78701;78701, 600 Congress Ave, Austin;"
    "600 Congress Ave, Austin, TX;600 Congress Ave, Austin TX;600 Congress Ave Austin TX;"
    "600 congress ave austin tx;600 Congress Ave Austin, Texas, USA;"
    "600 Congress Ave, Austin Texas;10001 Main St, Dallas TX;1100 Congress Ave Austin 78701;"
    "600 Congress Ave 78701;600 Congress Ave Suite 200, 78701;1600 Highway 290 78701;"
    "PO Box 200, 78701;Austin 78701",
    "NC": "12 Elm St, Charlotte, N.C.;12 Elm St, Charlotte North Carolina",
    "NE": "1 Main St, Omaha NE",
    "CT": "1 Main St, Hartford, CT",
    "DC": "1600 Pennsylvania Ave NW, Washington, DC",
    "NY": "350 5th Ave, New York",
}


@pytest.mark.parametrize(("address", "state"), each(**ENDS))
def test_the_end_of_an_address_names_the_state(address, state):
    one = asked(address=address)
    assert one.place.arguments() == {"address": address}
    assert (one.place.state, one.state_from_address, one.state_from_zip) == (state, True, False)
    given = asked(state=state, address=address)
    assert (given.place.state, given.state_from_address) == (state, False)
    other = place_query(Cells(state="WA", address=address), dated=False)  # never replaced
    if isinstance(other, PlaceQuery):  # in doubt: the service judges
        assert (other.place.state, other.state_from_address) == ("WA", False)
    else:
        assert other.reason == f"state: the address names {state}, but the state given is WA"


NAMES_NONE = "state: it is missing, and neither a ZIP nor the end of the address names one"


@pytest.mark.parametrize(
    ("address", "exactly"),
    [
        *each(
            exactly="100 Main St NE;100 Hartford CT;1200 N Washington;"
            "1600 Pennsylvania Ave, Washington;100 Port Washington;100 Main St, West New York;"
            "10001 Main St, Dallas;12345 Main St, 5 Floor;600 Congress Ave, Job 10001;"
            "600 Congress Ave, Attn Bob 12345;just around the corner in"
        ),
        *each(
            any="PO Box 02134;1600 Hwy 20001;1234 County Road 98101;Calle Mayor 1, 28001;"
            "Apt 90210;5 Main St, Springfield, IL 90210"
        ),
    ],
)
def test_an_address_that_names_no_state_is_invalid_and_never_guessed(address, exactly):
    reason = refused(address=address)
    assert reason == NAMES_NONE if exactly == "exactly" else "state" in reason


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
        *(
            ({"city": city, **cells}, "DC")
            for city in ("Washington, DC", "Washington DC", "Washington, D.C.")
            for cells in ({}, {"address": "1600 Pennsylvania Ave NW"})
        ),
    ],
)
def test_a_city_or_place_name_may_name_the_state_too(cells, state):
    one = asked(**cells)
    assert (one.place.state, one.state_from_address) == (state, True)


@pytest.mark.parametrize(
    ("address", "where"),
    [
        ("1 Main St, San Juan, PR 00901", "Puerto Rico"),
        ("1 Main St, San Juan, PR", "Puerto Rico"),
        ("1 King St, Toronto, ON M5V 2T6", "Canadian postal code"),
        ("1 King St, Toronto, Ontario", "Canada"),
        ("PSC 3 Box 1, APO AE 09021", "military"),
    ],
)
def test_an_address_that_ends_outside_the_states_says_where(address, where):
    assert where in refused("unsupported", address=address)


@given(st.text(max_size=80) | st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
def test_any_address_has_a_state_or_a_reason(text):
    found = place_query(Cells(address=text), dated=False)
    if isinstance(found, PlaceQuery):
        assert found.place.state in STATES
    else:
        assert found.reason


KY_TN = "ZIP 42223 lies in KY and TN"
NJ_ZIP = "ZIP 07102 lies in NJ"


@pytest.mark.parametrize(
    ("cells", "field", "named"),
    [
        # where the state is left open, the reason names the states
        ({"zip": "42223"}, "state", [KY_TN]),
        ({"zip": "42223", "city": "Fort Campbell, TX"}, "state", ["the city names TX", KY_TN]),
        ({"address": "1 Main St, 42223"}, "state", [KY_TN]),
        ({"address": "1 Elm St, Fort Campbell 42223"}, "state", [KY_TN]),
        ({"lat": 30.2, "lng": -97.7}, "state", ["such as TX"]),
        ({"address": "5 Main St, Springfield, IL 90210"}, "state", ["names IL", "lies in CA"]),
        # a row that contradicts itself
        ({"address": CONGRESS, "zip": "07102"}, "state", ["the address names TX", NJ_ZIP]),
        ({"address": CONGRESS, "zip": "07102", "state": "NJ"}, "state", ["names TX", NJ_ZIP]),
        ({"address": STREET, "zip": "07102", "state": "TX"}, "state", ["names TX", NJ_ZIP]),
        ({"address": CONGRESS, "state": "NJ"}, "state", ["names TX", "the state given is NJ"]),
        ({"address": STREET.replace(",", ""), "zip": "07102"}, "state", ["names TX", NJ_ZIP]),
        ({"address": f"{STREET[:-2]}Texas", "zip": "07102"}, "state", ["names TX", NJ_ZIP]),
        ({"address": "TX 07102"}, "state", ["the address names TX", NJ_ZIP]),
        ({"address": CONGRESS, "zip": "78702"}, "zip", ["has ZIP 78701", "given is 78702"]),
        (
            {"address": "600 Congress Ave, Austin 78701", "zip": "07102"},
            "zip",
            ["has ZIP 78701", "given is 07102"],
        ),
        (
            {"address": "78701, 600 Congress Ave, Austin", "zip": "78702"},
            "zip",
            ["has ZIP 78701", "given is 78702"],
        ),
        ({"city": "Philadelphia, PA", "zip": "08102"}, "state", ["the city names PA", "in NJ"]),
        ({"city": "Philadelphia, PA", "state": "NJ"}, "state", ["names PA", "given is NJ"]),
        (
            {"address": "1 Main St, Austin, TX", "city": "Newark, NJ"},
            "state",
            ["the address names TX", "the city names NJ"],
        ),
        ({"location": "Seattle, WA", "zip": "97204"}, "state", ["the place names WA", "in OR"]),
    ],
)
def test_a_row_that_is_open_or_contradicts_itself_is_invalid(cells, field, named):
    reason = refused(**cells)
    assert reason.startswith(f"{field}: ")
    assert [one for one in named if one not in reason] == []


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


def test_a_state_and_a_zip_alone_are_a_zip():
    assert asked(address="TX 78701").place.arguments() == {"zip": "78701"}
    assert asked(address="Texas, 78701").place.state == "TX"
    one = asked(address="600 Congress Ave, Portland, OR", zip="97204")
    assert (one.state_from_zip, one.state_from_address) == (False, True)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"address": "1 Elm \ud800St, Austin"}, "address: .* half a character"),
        ({"address": "1 Elm St", "city": "Aus\udffftin"}, "city: .* half a character"),
        ({"location": "Aus\ud800tin"}, "location: .* half a character"),
        ({"address": "1 Elm St", "city": "x" * 4_001}, "city: .* too long; expected 4000"),
        ({"address": "x" * 4_001, "city": "Austin"}, "address: .* too long; expected 4000"),
        ({"location": "x" * 65}, "64"),
    ],
)
def test_what_no_request_can_carry_is_invalid_and_never_sent(cells, reason):
    assert re.search(reason, refused(state="TX", **cells))


def test_equal_places_are_equal_however_they_were_written():
    spellings = [("ma", "2134"), ("Massachusetts", 2134.0), ("MA", " 02134 "), ("Mass.", "02134")]
    assert len({asked(state=state, zip=cell).place for state, cell in spellings}) == 1


def test_a_zip_is_repaired_where_its_digits_are_others():
    cells = ["2134", 2134.0, "2134-1804", "21341804", "'2134"]
    same = ["02134", "'02134", " 02134 ", "02134-0000", "021341804", "02134-1804"]
    for cell in (*cells, *same):
        assert asked(state="MA", zip=cell).zip_repaired is (cell in cells), cell
    assert not asked(state="CA", zip=94105.0).zip_repaired
    assert not asked(state="CA", zip="94105.0").zip_repaired


SAME = """
St. Louis=Saint Louis;SAINT LOUIS=st louis;Coeur d'Alene=Coeur D Alene;Cañon City=Canon City
NYC=New York;Washington, D.C.=Washington;New York City=New York;Ft. Worth=Fort Worth
N. Las Vegas=North Las Vegas;Winston-Salem=Winston Salem;Signal Hl=Signal Hill;Mt View=Mountain View
Pt Arthur=Port Arthur;College Sta=College Station;W Palm Bch=West Palm Beach
Grosse Pt Pk=Grosse Pointe Park;Elk Grove Vlg=Elk Grove Village
"""
DIFFERENT = """
Dallas=Austin;Kansas City=Arkansas City;Las Vegas=North Las Vegas;Pt Arthur=Arthur
Mt View=Mt Vernon;Spring=Springs
"""


@pytest.mark.parametrize(
    ("pair", "same"),
    [
        (pair, pairs is SAME)
        for pairs in (SAME, DIFFERENT)
        for pair in pairs.strip().replace("\n", ";").split(";")
    ],
)
def test_the_same_place_in_two_spellings(pair, same):
    one, other = pair.split("=")
    assert same_place(one, other) is same
    assert same_place(other.upper(), one.lower()) is same
