"""Places that are known in part of a state: Louisiana's parishes, Alaska, Idaho, New Mexico."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal

import pytest
from support.cases import cases, codes, named
from support.sources import SOURCES, areas_of_row, at_hand, read, units

from svc_tools.service.ratebook.gazetteer import areas_of_place, bases_of
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.rating import Rated, rate_area

DAY = timedelta(days=1)
TODAY = date(2026, 11, 29)
COMPILED = SOURCES / "compiled" / "2026-12"


def state_part(day):
    return 4_450 if day < date(2025, 1, 1) else 5_000


def dated(ask, state, place):
    """The answer for a place and a day, `Oakland @2023-01-01`."""
    name, _, day = place.partition(" @")
    return ask(state, as_of=date.fromisoformat(day), **named(name))


def warning(answer, code):
    found = [one for one in answer.advisories if one["code"] == code]
    return found[0] if found else None


@at_hand
def test_every_figure_of_the_parish_tables(book):
    """On its first day and today: the state's part and its own; a doubtful one is none."""
    checked = {"whole": 0, "stale": 0, "past": 0, "doubtful": 0}
    for row in read(COMPILED / "la_parish_local_rates_part.csv"):
        area = areas_of_row(book, row)[0]
        first = max(date.fromisoformat(row["effective_from"]), date(2018, 7, 1))
        last = date.fromisoformat(row["effective_to"]) if row["effective_to"] else TODAY
        for day in (first, last):
            rated = rate_area(book, "LA", area, day)
            assert isinstance(rated, Rated), row
            if row["use"] == "doubtful":
                assert (rated.combined, rated.lacks) == (state_part(day), "local"), row
                continue
            assert rated.combined == state_part(day) + units(row["local_rate"]), row
            assert (rated.lacks, rated.history_from) == ("", None), row
        checked[row["use"]] += 1
    assert checked == {"whole": 66, "stale": 19, "past": 12, "doubtful": 21}


@pytest.mark.parametrize(
    ("state", "place", "rate", "until"),
    cases("""
    LA  70112 @2022-06-01 = 9450 medium = none
    LA  70112 @2024-07-31 = 9450 medium = none
    LA  70112 @2024-08-01 = 9450 medium = 2024-07-31
    LA  70112 @2025-01-01 = 10000 medium = 2024-07-31
    LA  70112 @2027-02-28 = 10000 medium = 2024-07-31
    LA  70112 @2027-03-01 = 10000 low = 2024-07-31
    LA  Jena @2023-06-30 = 9450 medium = none
    LA  Jena @2023-07-01 = 8450 medium = none
    LA  Jena @2026-11-29 = 9000 medium = 2023-07-31
    LA  Ouachita Parish @2024-10-31 = 10440 medium = none
    LA  Ouachita Parish @2024-11-01 = 10440 low = 2024-10-31
    LA  Olla @2023-06-30 = 9450 medium = none
    """),
)
def test_a_table_is_good_until_the_day_that_it_was_seen(ask, state, place, rate, until):
    """Later it is at most medium: while another table agrees with it, and low where none does."""
    answer = dated(ask, state, place)
    assert f"{answer.chosen.combined} {answer.confidence}" == rate
    told = warning(answer, "as_of_after_edition")
    assert (told["edition_end"] if told else "none") == until
    assert "address_districts_not_covered" in codes(answer)


@pytest.mark.parametrize(
    "place", ["Lafayette", "Olla", "70601", "Calcasieu Parish", "Vermilion Parish", "Fisher"]
)
def test_of_other_towns_and_parishes_the_state_part_is_known(ask, place):
    """A figure that another table contradicts, one that the table lacks, an unread parish."""
    answer = ask("LA", as_of=TODAY, **named(place))
    assert (answer.chosen.combined, answer.confidence) == (5_000, "low")
    assert "local_rates_not_covered" in codes(answer)
    assert warning(answer, "as_of_after_edition") is None


def test_a_town_in_two_parishes_has_a_rate_in_its_own_only(book):
    """Eunice: in St. Landry and in Acadia Parish, which is not read."""
    eunice = book.places("LA")["24565"]
    (here,) = areas_of_place(book, "LA", eunice, ("097",))
    (there,) = areas_of_place(book, "LA", eunice, ("001",))
    assert rate_area(book, "LA", here, TODAY).combined == 11_000
    assert there == bases_of(book, "LA", "001")[0]
    assert rate_area(book, "LA", there, TODAY).lacks == "local"


@pytest.mark.parametrize(
    ("state", "place", "rate"),
    cases("""
    AK  99501 @2025-12-31 = 0 high
    AK  Anchorage @2026-01-01 = 0 medium
    AK  Fairbanks @2022-06-01 = 0 medium
    AK  99701 @2026-10-20 = 0 medium
    AK  99701 @2026-10-21 = 0 low
    AK  North Pole @2022-06-01 = 5500 medium
    AK  Ketchikan @2024-03-31 = 5500 medium
    AK  Ketchikan @2024-04-01 = 8000 medium
    AK  Ketchikan @2024-10-01 = 5500 medium
    AK  Ketchikan @2029-07-01 = 8000 low
    AK  Ketchikan @2035-07-01 = 5500 low
    AK  Craig @2024-06-01 = 5000 low
    AK  Craig @2026-07-01 = 7000 low
    AK  Nome @2026-07-01 = 6000 low
    """),
)
def test_what_is_known_of_alaska(ask, state, place, rate):
    answer = dated(ask, state, place)
    assert f"{answer.chosen.combined} {answer.confidence}" == rate
    name, _, day = place.partition(" @")
    disputed = name in {"Craig", "Nome"}
    assert (warning(answer, "source_conflict") is not None) is disputed
    assert (warning(answer, "seasonal_rates") is not None) == (disputed and day >= "2026-07-01")


@at_hand
def test_every_member_of_alaskas_list(book):
    checked = 0
    for row in read(COMPILED / "ak_arsstc_members_part.csv"):
        place = book.places("AK").get(row["place_fips"])
        if place is None or "Ketchikan" in row["member"]:
            continue
        (area,) = areas_of_place(book, "AK", place)
        day = date.fromisoformat(row["remote_collection_from"])
        over = 3_000 if row["borough_tax_also_applies"] else 0
        assert rate_area(book, "AK", area, day).combined == units(row["own_rate"]) + over, row
        checked += 1
    assert checked == 19


@at_hand
def test_every_city_of_idaho_that_the_law_bars_is_whole(ask):
    for row in read(COMPILED / "id_cities_over_10000.csv"):
        for day in (date(2022, 1, 1), TODAY):
            answer = ask("ID", location=row["place_name"], as_of=day)
            assert (answer.chosen.combined, answer.chosen.lacks) == (6_000, ""), row
            assert (answer.confidence, codes(answer)) == ("medium", []), row
            assert answer.chosen.likely is (row["place_name"] == "Star"), row


def test_outside_of_idahos_cities_the_rate_is_whole_and_small_cities_are_lower_bounds(ask):
    outside = ask("ID", location="Valley County", as_of=TODAY)
    assert (outside.chosen.combined, outside.chosen.lacks) == (6_000, "")
    small = ask("ID", location="Weiser", as_of=TODAY)
    assert (small.chosen.combined, small.chosen.lacks) == (6_000, "districts")
    assert ask("ID", location="Sandpoint", as_of=TODAY).chosen.lacks == "local"


@pytest.mark.parametrize(
    ("state", "place", "published", "rounded"),
    cases("""
    NM  Santa Fe @2026-08-01 = 0.081875 = 8188
    NM  Roswell @2026-08-01 = 0.082708 = 8271
    NM  Artesia @2022-06-30 = 0.078958 = 7896
    NM  Artesia @2024-06-01 = 0.076458 = 7646
    NM  Las Cruces @2022-06-30 = 0.083125 = 8313
    """),
)
def test_a_rate_with_six_decimals_is_rounded_half_up(ask, state, place, published, rounded):
    answer = dated(ask, state, place)
    assert (answer.chosen.combined, answer.chosen.lacks) == (int(rounded), "")
    told = warning(answer, "rate_rounded")
    assert told["published_rate"] == published
    assert told["combined_rate"] == f"{int(rounded) / 100_000:.5f}"
    assert "half a cent in a thousand dollars" in told["message"]
    assert answer.confidence != "low"


@at_hand
def test_every_figure_of_new_mexico_in_the_first_half_of_2022(book):
    checked, places = 0, book.places("NM").values()
    counties = {name_key(county.name): fips for (_, fips), county in book.counties.of("NM").items()}
    for row in read(COMPILED / "nm_grt_2022H1_part.csv"):
        fips = counties[name_key(row["county_name"])]
        name = row["place_name"].partition(" (")[0]
        if name == "Rio Rancho":  # the book has it by its main county
            continue
        if row["level"] == "county_rest":
            (area,) = bases_of(book, "NM", fips)
        else:
            found = [place for place in places if name_key(place.name) == name_key(name)]
            area = areas_of_place(book, "NM", found[0], (fips,))[0]
        rated = rate_area(book, "NM", area, date(2022, 6, 30))
        exact = Decimal(row["combined_rate"]) * 100_000
        assert rated.combined == int(exact.quantize(Decimal(1), ROUND_HALF_UP)), row
        assert rated.lacks == "", row
        checked += 1
    assert checked == 23


def test_two_schedules_that_differ_are_a_conflict_of_the_days_between(ask):
    between = ask("NM", location="Las Cruces", as_of=date(2024, 6, 1))
    assert (between.chosen.combined, between.confidence) == (8_390, "low")
    assert warning(between, "source_conflict")["other_rate"] == "0.03188"
    agreed = ask("NM", location="Artesia", as_of=date(2024, 6, 1))
    assert (agreed.confidence, agreed.chosen.likely) == ("medium", True)


@pytest.mark.parametrize(
    ("state", "place", "rate"),
    cases("""
    CA  Oakland @2023-01-01 = 10250 high | Oakland @2025-10-01 = 10750 high
    CA  Compton @2025-03-31 = 10250 medium | Compton @2025-04-01 = 10750 high
    CA  Santa Fe Springs @2025-03-31 = 10500 medium
    CA  Oakland @2022-12-31 = 10250 low
    TX  Houston @2022-01-01 = 8250 medium | Poth @2023-10-01 = 8250 medium
    TX  Poth @2023-09-30 = 8250 low | Port Arthur @2022-06-01 = 8250 low
    TX  Prairie View @2025-10-01 = 8000 medium | Prairie View @2026-09-30 = 8000 medium
    IL  Chicago @2022-01-01 = 10250 medium | Chicago @2026-08-01 = 10500 medium
    AZ  Phoenix @2025-06-30 = 8600 medium | Phoenix @2025-07-01 = 9100 medium
    AL  Birmingham @2022-01-01 = 10000 medium | Hoover @2022-01-01 = 9500 low
    CO  Thornton @2022-01-01 = 8500 medium
    MO  Columbia @2022-01-01 = 7975 medium
    NM  Albuquerque @2022-06-30 = 7875 medium | Albuquerque @2023-06-30 = 7750 medium
    """),
)
def test_what_is_known_of_the_years_before_a_list(ask, state, place, rate):
    answer = dated(ask, state, place)
    assert f"{answer.chosen.combined} {answer.confidence}" == rate
    sum_of_parts = sum(part.row.units for part in answer.chosen.components)
    assert sum_of_parts == answer.chosen.combined
    other = warning(answer, "source_conflict")
    assert (other and other["other_rate"]) == (
        "0.03000" if place.startswith("Santa Fe Springs") else None
    )


def test_a_total_of_earlier_days_is_the_citys_whole_local_rate(ask):
    """Houston's transit authority has a row of its own from the list's first day on only."""
    before = ask("TX", location="Houston", as_of=date(2024, 6, 1)).chosen
    since = ask("TX", location="Houston", as_of=date(2026, 8, 1)).chosen
    assert (before.city, before.district) == (2_000, 0)
    assert (since.city, since.district) == (1_000, 1_000)
