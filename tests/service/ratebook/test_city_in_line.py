"""The city of an address: behind any street, before its county, by its short name."""

from __future__ import annotations

from datetime import date

import pytest

from svc_tools.service.ratebook.names import name_key

DAY = date(2026, 6, 30)


@pytest.mark.parametrize(
    ("state", "line", "units"),
    [
        ("WI", "200 E Wells St, Milwaukee, Milwaukee County, WI", 7_900),
        ("WI", "200 E Wells St, Milwaukee, WI, Milwaukee County", 7_900),
        (
            "WI",
            "200 E Wells St, Milwaukee, Milwaukee County, Wisconsin, 53202, United States",
            7_900,
        ),
        ("WI", "200 E Wells St, Milwaukee County, WI", 5_900),
        ("MS", "1 Main St, Jackson, Hinds County, MS 39201", 8_000),
        ("WA", "1 Main St, Tacoma, Pierce County, WA 98402", 10_400),
        ("WI", "18 Broadway South Milwaukee WI", 5_900),
        ("WI", "18 Broadway Milwaukee WI", 7_900),
        ("OH", "5 Palm Trl North Lima OH", 7_500),
        ("FL", "18 Broadway Key Largo FL", 7_500),
        ("NC", "12 The Plaza Charlotte NC", 7_250),
        ("WI", "200 E Wells St Milwaukee Wis 53202", 7_900),
        ("WI", "200 E Wells St Milwaukee Wis", 7_900),
    ],
)
def test_the_city_decides(ask, state, line, units):
    answer = ask(state, address=line, as_of=DAY)
    assert answer.chosen.combined == units


@pytest.mark.parametrize(
    "line", ["1 Kapiolani Blvd, Honolulu, Hawai'i", "1 Kapiolani Blvd, Honolulu, Hawaii, HI"]
)
def test_hawaii_behind_honolulu_is_the_state(ask, line):
    rate = ask("HI", address=line).simple()["rate"]
    assert (rate["city"], rate["county"]) == ("Honolulu", "Honolulu County")


@pytest.mark.parametrize("city", ["Wash", "DC", "Wash DC", "Washington"])
def test_the_district_by_its_short_names(ask, city):
    answer = ask("DC", street="700 14th St NW", city=city)
    assert answer.simple()["rate"]["city"] == "Washington"


def test_la_is_los_angeles_as_the_post_office_knows_it(ask, refused):
    for fields in ({"street": "200 N Spring St", "city": "LA"}, {"location": "LA"}):
        answer = ask("CA", **fields)
        assert answer.simple()["rate"]["city"] == "Los Angeles"
    assert "names" not in refused("WA", location="Washington").message


def test_a_county_named_alone_stays_the_county(ask):
    answer = ask("WI", location="Milwaukee County", as_of=DAY)
    assert answer.chosen.combined == 5_900
    named = ask("WI", location="Milwaukee, Milwaukee County, WI", as_of=DAY)
    assert named.chosen.combined == 7_900


def test_a_zip_of_boxes_lies_where_its_city_lies(ask):
    truckee = ask("CA", zip="96162", as_of=date(2026, 2, 1))
    assert (truckee.chosen.combined, truckee.confidence) == (9_000, "medium")
    alviso = ask("CA", zip="95002", as_of=DAY)  # no place: what the ZIP touches is San Jose
    assert (alviso.chosen.area.name, alviso.confidence) == ("San Jose", "medium")


@pytest.mark.parametrize(
    ("state", "line", "city"),
    [
        ("TX", "600 Congress Ave Austin", "Austin"),
        ("TX", "100 Houston St Dallas", "Dallas"),
        ("TX", "500 W Dallas St Houston", "Houston"),
        ("TX", "500 Fort Worth Ave Dallas", "Dallas"),
        ("TX", "600 Congress Ave Ste 200 Austin", "Austin"),
        ("TX", "1200 Hwy 71 Bastrop", "Bastrop"),
        ("TX", "12 Broadway San Antonio", "San Antonio"),
        ("TX", "600 Congress Ave Austin Travis County", "Austin"),
        ("TX", "600 Congress Ave Austin Travis County TX", "Austin"),
        ("CA", "1 Market St San Francisco", "San Francisco"),
        ("CA", "Pier 39 San Francisco", "San Francisco"),
        ("CA", "100 Grand Ave South San Francisco", "South San Francisco"),
        ("CA", "100 Camino Del Mar San Diego", "San Diego"),
        ("CA", "12 Avenue of the Stars Los Angeles", "Los Angeles"),
        ("WA", "400 Broad St Seattle", "Seattle"),
        ("GA", "100 Main St E Point", "East Point"),
    ],
)
def test_a_line_without_commas_and_zip_ends_in_its_city(ask, state, line, city):
    answer = ask(state, address=line, as_of=DAY)
    assert answer.location.via == "place"
    named = ask(state, location=city, as_of=DAY)
    assert answer.simple()["rate"] == named.simple()["rate"]
    assert "address_not_matched" in [warning["code"] for warning in answer.advisories]


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ("TX", "500 Dallas St"),
        ("TX", "500 Dallas St, TX"),
        ("TX", "500 Fort Worth Ave"),
        ("TX", "500 W Dallas"),
        ("TX", "75201 Dallas Pkwy"),
        ("TX", "75201 Dallas Pkwy Suite 100"),
        ("TX", "123 Austin Highway"),
        ("TX", "123 Round Rock"),
        ("CA", "12 Camino Del Mar"),
        ("CA", "100 Via Escondido"),
        ("CA", "12 N Hollywood"),
        ("CA", "100 St Helena"),
        ("MN", "12 N St Stephen"),
        ("TN", "12 Shady Oak Rdg"),
        ("NC", "100 Lazy Indian Trl"),
        ("WA", "9 Green Mountlake Ter"),
    ],
)
def test_a_street_called_like_a_city_names_no_city(refused, state, line):
    reason = refused(state, address=line)
    assert reason.code == "NOT_FOUND"
    assert reason.message == (
        "no ZIP and no city could be read from the address: write it as 'street, city, state ZIP'"
    )


@pytest.mark.parametrize(
    ("state", "line", "city"),
    [
        ("UT", "666 S 500 W Salt Lake City", "Salt Lake City"),
        ("UT", "666 S 500 W West Jordan", "West Jordan"),
        ("UT", "666 S 500 W, W Jordan", "West Jordan"),
        ("ND", "620 S 500 W Fargo", "Fargo"),
        ("ND", "620 5th St W Fargo", "West Fargo"),
    ],
)
def test_the_direction_of_a_street_with_a_number_is_not_the_citys(ask, state, line, city):
    found = ask(state, address=line).simple()["rate"]
    assert name_key(found["city"]) == name_key(city)
    assert found == ask(state, location=city).simple()["rate"]
