"""Known rates and whole bodies, and the places and districts of rate files, part by part."""

from __future__ import annotations

from datetime import date

import pytest
from support.cases import cases, codes, named

PARTS = ("country_rate", "state_rate", "county_rate", "city_rate", "combined_district_rate")


@pytest.mark.parametrize(
    ("state", "place", "expected"),
    cases("""
    CA  94105 = 8625 | San Jose = 10000 | San Jose @2026-03-31 = 9375 | Monterey County = 8750
    WA  Seattle @2026-05-01 = 10550 | Seattle = 10550 | Seattle @2024-06-01 = 10350
    WA  Seattle @2022-02-01 = 10250
    WA  1726 @2026-05-01 = 10550 exact
    NJ  07030 = 6625
    OR  97201 = 0
    MI  48226 = 6000
    PA  Philadelphia = 8000 | Pittsburgh = 7000 | Scranton = 6000
    PA  Montour @2026-02-01 = 6000 high
    WI  Milwaukee = 7900 | 53202 = 7900 | Milwaukee County = 5900 | Waukesha = 5000
    WI  West Allis = 5900 high
    WI  Vernon @2026-02-01 = 5000 high
    NC  Charlotte @2026-07-01 = 8250 | Charlotte @2026-06-30 = 7250
    NC  Washington @2026-02-01 = 6750 high | Huntersville @2026-02-01 = 7250 high
    NC  Matthews @2026-02-01 = 7250 high | High Point, Davidson County = 7000 high
    VA  Fairfax = 6000 | Williamsburg = 7000 | Richmond = 6000 | Richmond County = 5300
    VA  Danville = 6300
    HI  Honolulu = 4500
    FL  Miami-Dade = 7000 | Okeechobee County = 7000 | Jacksonville @2026-02-01 = 7500 high
    FL  Saint Johns @2026-02-01 = 6500+7500 medium | Nocatee @2026-05-01 = 6500+7500 low
    OK  Oklahoma City @2022-06-01 = 8625+8975+8750 medium | Pryor = 9875 high
    VT  Rutland City @2022-06-01 = 6000 high | Rutland Town @2022-06-01 = 7000 high
    VT  Rutland @2022-06-01 = 6000+7000 low | Rutland @2026-06-01 = 7000 high
    VT  St. Albans City @2026-06-01 = 7000 high | St. Albans Town @2026-06-01 = 7000 high
    VT  Barre City @2026-06-01 = 7000 high | Barre Town @2026-06-01 = 6000 low
    VT  Barre @2026-06-01 = 7000+6000 low | Williston @2026-06-01 = 7000 high
    CA  Ventura = 7750 medium | Paso Robles = 8750 medium
    CA  El Sobrante, Riverside County @2026-05-01 = 7750 high
    GA  Augusta = 9000 high | Athens = 8000 high | Macon = 8000 high
    FL  Dunnellon @2026-02-01 = 7500 high
    NV  Las Vegas = 8375 | Carson City = 7600 | Washoe Valley @2026-02-01 = 8265 high
    OH  Cleveland = 8000 | Chagrin Falls @2026-02-01 = 8000 high
    OH  Westerville @2026-02-01 = 8000 high | Etna @2026-02-01 = 7250 high
    OH  Kettering @2026-02-01 = 7500 high | Montgomery @2026-02-01 = 7800 high
    OH  Union @2026-02-01 = 7500 high | Montgomery County @2026-02-01 = 7500 high
    OH  Columbus = 8000 high | Columbus, Delaware County = 8000 high
    OH  Columbus, Fairfield County = 7750 high
    MS  Jackson = 8000 | Tupelo = 7250 | Biloxi = 7000 | Jackson, Rankin County = 8000 high
    DC  20001 = 6000 | 20001 @2027-10-01 = 7000
    TN  Memphis = 9750 | Nashville @2025-01-31 = 9250 | Nashville = 9750
    AR  Little Rock = 8625
    KS  Wichita = 7500
    NE  Omaha = 7000
    ND  Fargo = 7750
    UT  Salt Lake City = 8450
    WY  Cheyenne @2026-03-31 = 6000 | Cheyenne = 5000
    CO  Denver = 9150
    SD  57104 @2023-06-30 = 6500 | 57104 @2027-07-01 = 6500
    LA  70112 = 10000 | 70112 @2030-01-01 = 9750 | 70601 = 5000 low | 70601 @2030-01-01 = 4750
    NM  87101 = 7625
    MN  St. Paul = 9875 | 55401 @2026-05-01 = 9025 high | Duluth @2026-05-01 = 8875 high
    MN  Hennepin County @2026-05-01 = 8525 high | Eagan @2026-05-01 = 8125 high
    MN  St. Cloud @2025-03-31 = 7625 medium | St. Cloud @2026-05-01 = 8000 medium
    MN  Waite Park @2026-05-01 = 8500 high | Grand Marais @2026-05-01 = 8375 high
    MN  Winona @2026-05-01 = 7625 high | Bemidji @2024-06-30 = 7875 high
    MN  Bemidji @2026-05-01 = 8500 high | Lanesboro @2024-12-31 = 7875 high
    MN  Lanesboro @2026-05-01 = 7375 high | Red Lake County @2026-05-01 = 6875 high
    MN  St. Louis Park @2026-05-01 = 8525 high | Maplewood @2026-05-01 = 8375 high
    MN  Columbia Heights @2026-05-01 = 8125 high
    GA  Atlanta = 8900 | 30303 @2026-05-01 = 8900 high | 31401 @2026-05-01 = 7000 high
    GA  Roswell @2026-05-01 = 7750 high | DeKalb County @2026-05-01 = 8000 high
    GA  DeKalb County @2018-03-31 = 7000 high | East Point @2026-05-01 = 8750 high
    GA  Bibb County @2012-06-01 = 7000 high | Sandy Springs @2026-05-01 = 7750 high
    GA  Dunwoody @2026-05-01 = 8000 high
    NY  New York = 8875 | Brooklyn = 8875 | 10451 = 8875 | Yonkers = 8875 | White Plains = 8375
    NY  Nassau County = 8625 | Buffalo = 8750
    SC  Myrtle Beach = 9000 | Horry County = 8000
    TX  El Paso = 8250 | Abilene = 8250 | Floydada = 8000
    IL  Chicago @2026-07-31 = 10250 | Champaign = 9250 | DuPage County = 7250
    AZ  Sahuarita = 8100
    MO  St. Louis County = 7738 | Florissant = 8988 | Taney County = 6350 | 64117 = 8725
    ID  McCall = 7000
    AK  Soldotna = 6000 | 99901 = 5500 | 99901 @2026-09-30 = 8000 | Kenai Peninsula Borough = 3000
    OK  Oklahoma City, Oklahoma County = 8625 high | Oklahoma City, Canadian County = 8975 high
    OK  Oklahoma City, Cleveland County = 8750 high
    OK  Oklahoma City, Pottawatomie County = 10120 high
    """),
)
def test_a_known_rate(ask, state, place, expected):
    name, _, day = place.partition(" @")
    rates, _, confidence = expected.partition(" ")
    units = [int(rate) for rate in rates.split("+")]
    answer = ask(state, as_of=date.fromisoformat(day) if day else None, **named(name))
    body = answer.simple()["rate"]
    assert body["combined_rate"] == f"{units[0] / 100_000:.5f}"
    assert sum(int(body[part].replace(".", "")) for part in PARTS) == units[0]
    assert answer.confidence == (confidence or answer.confidence)
    if len(units) > 1:
        assert list(dict.fromkeys(rated.combined for rated, _ in answer.rated)) == units


def test_the_whole_body_of_an_answer(ask):
    assert ask("WI", zip="53211", as_of=date(2026, 5, 1), period="20262").simple() == {
        "rate": {
            "state": "WI",
            "zip": "53211",
            "city": "Milwaukee",
            "county": "Milwaukee County",
            "country": "US",
            "country_rate": "0.00000",
            "state_rate": "0.05000",
            "county_rate": "0.00900",
            "city_rate": "0.02000",
            "combined_district_rate": "0.00000",
            "combined_rate": "0.07900",
            "freight_taxable": True,
        },
        "meta": {
            "resolved_via": "zip5",
            "confidence": "low",
            "effective_date": "2024-01-01",
            "effective_date_basis": "publisher_effective_date",
            "period": "20262",
            "warnings": [
                {
                    "code": "zip_spans_jurisdictions",
                    "message": "ZIP 53211 lies in jurisdictions with 2 different rates,"
                    " from 0.05900 to 0.07900.",
                    "candidates": 2,
                    "lowest_combined_rate": "0.05900",
                    "highest_combined_rate": "0.07900",
                }
            ],
            "source": "Streamlined Sales Tax rate file of Wisconsin (WIR2026Q2FEB18.csv)",
            "edition": "2026Q2",
            "accepted_places": ["Glendale", "Shorewood", "Whitefish Bay"],
        },
    }


def test_an_answer_cannot_be_changed_through_its_body(ask):
    answer = ask("CA", zip="90069")
    answer.simple()["meta"]["warnings"][0]["code"] = "changed"
    answer.simple()["rate"]["combined_rate"] = "0.00000"
    assert answer.simple()["meta"]["warnings"][0]["code"] == "zip_spans_jurisdictions"
    assert answer.simple()["rate"]["combined_rate"] == "0.10500"


DAY = date(2026, 5, 1)


def parts(answer):
    return [
        (c.jurisdiction.level, c.jurisdiction.code, c.row.units) for c in answer.chosen.components
    ]


@pytest.mark.parametrize("city", ["College Park", "East Point", "Hapeville"])
def test_cities_that_came_to_share_a_district_have_no_doubt_left(ask, city):
    for day, rate in ((date(2022, 6, 1), 7_750), (DAY, 8_750), (date(2026, 11, 22), 8_750)):
        answer = ask("GA", location=city, as_of=day)
        assert (answer.chosen.combined, answer.confidence, codes(answer)) == (rate, "high", [])


def test_minneapolis_part_by_part(ask):
    assert parts(ask("MN", location="Minneapolis", as_of=DAY)) == [
        ("state", "27", 6_875),
        ("county", "053", 150),
        ("city", "43000", 500),
        ("district", "80004", 500),
        ("district", "80008", 750),
        ("district", "80009", 250),
    ]


def test_a_city_over_a_county_line_adds_up_with_each_county(ask, book):
    cloud = {a.id: set(a.components) for a in book.areas.values() if "St. Cloud" in a.cities}
    assert {key: min(parts) for key, parts in cloud.items()} == {
        "MN:city:56896": "MN:county:145",
        "MN:city:56896@009": "MN:county:009",
        "MN:city:56896@141": "MN:county:141",
    }
    assert all("MN:district:80001" in parts for parts in cloud.values())
    there = ask("MN", zip="56304", as_of=DAY)  # across the river, in Sherburne and Benton County
    assert set(there.chosen.area.counties) < {"009", "141"}
    assert there.chosen.combined == 6_875 + 500 + 500


def test_a_district_that_may_apply_is_reported(ask):
    for fields in ({"zip": "56450"}, {"location": "Garrison"}, {"location": "Mille Lacs County"}):
        answer = ask("MN", as_of=DAY, **fields)
        assert "districts_not_covered" in codes(answer)
        assert answer.confidence in {"low", "medium"}
    assert "districts_not_covered" not in codes(ask("MN", location="Brainerd", as_of=DAY))
    before = ask("MN", location="Mille Lacs County", as_of=date(2017, 12, 31))
    assert "districts_not_covered" not in codes(before)


def test_a_tax_that_is_in_a_part_of_some_counties_makes_them_a_lower_bound_from_its_day(ask):
    for day, county in ((date(2026, 6, 30), "high"), (date(2026, 7, 1), "low")):
        for name, level in (("Lyon County", county), ("Marshall", "high")):
            assert ask("MN", location=name, as_of=day).confidence == level, (name, day)
