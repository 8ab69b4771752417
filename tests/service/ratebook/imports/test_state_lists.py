"""The states' own lists: California and Washington by quarter, Texas."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_tools.service.ratebook import NotResolved, load_book
from svc_tools.service.ratebook.imports.reading import BrokenLine, FileRefused, Recognised, row_on
from svc_tools.service.ratebook.imports.states import read_texas

HEADER = "Name,Code,State,Local,RTA,Rate,Effective Date,Expiration Date\n"


def washington(*rows, begin="20260701", end="20260930"):
    """A quarter as the Department publishes it; a row is name, code, local, transit, total."""
    lines = (
        f"{name},{code},.065,{local},{rta},{total},{begin},{end}\n"
        for name, code, local, rta, total in rows
    )
    return HEADER + "".join(lines)


ADAMS = ("ADAMS COUNTY", "0100", ".015", ".0", ".08")
HATTON = ("HATTON", "0101", ".016", ".0", ".081")
SEATTLE = ("SEATTLE", "1726", ".0405", ".014", ".1055")
NEW_TOWN = ("NEW TOWN", "0199", ".02", ".0", ".085")
SUMMER = washington(ADAMS, HATTON, SEATTLE, NEW_TOWN)


def test_a_new_quarter_answers_from_its_first_day_on(take, file, ask):
    (done,) = take(file("Rates26Q3.csv", SUMMER))
    assert (done.before, done.edition.edition, done.edition.rows) == ("2026Q4", "2026Q3", 4)
    after = ask("WA", location="0101", day=date(2026, 7, 1))
    assert (after.chosen.combined, after.confidence) == (8100, "exact")
    assert after.simple()["meta"]["effective_date"] == "2026-07-01"
    assert after.simple()["meta"]["edition"] == "2026Q3"
    before = ask("WA", location="0101", day=date(2026, 6, 30))
    assert before.chosen.combined == 8000
    assert before.simple()["meta"]["edition"] == "2026Q2"
    assert ask("WA", location="0101", day=date(2022, 2, 1)).chosen.combined == 8000


def test_what_it_changes_is_reported_and_nothing_else(take, file):
    (done,) = take(file("Rates26Q3.csv", SUMMER))
    (change,) = done.changes.rates
    assert (change.name, change.before, change.after) == ("Hatton", 1500, 1600)
    assert change.since == date(2026, 7, 1)
    assert done.changes.removed == ()
    assert set(done.changes.added) == {"New Town", "Seattle: regional transit"}


def test_a_rate_that_stays_keeps_the_day_it_took_effect(take, file, ask):
    take(file("Rates26Q3.csv", SUMMER))
    seattle = ask("WA", location="1726", day=date(2026, 8, 1))
    assert (seattle.chosen.city, seattle.chosen.district) == (2650, 1400)
    assert seattle.chosen.combined == 10550
    assert seattle.simple()["meta"]["effective_date"] == "2026-01-01"
    assert seattle.advisories == ()
    assert ask("WA", location="1726", day=date(2026, 6, 30)).chosen.combined == 10550


def test_a_code_that_the_new_quarter_has_no_more_ends_with_the_old_one(take, file, ask):
    take(file("Rates26Q3.csv", SUMMER))
    assert ask("WA", location="0102", day=date(2026, 6, 30)).chosen.combined == 8000
    with pytest.raises(NotResolved, match="the source lists no such jurisdiction for that day"):
        ask("WA", location="0102", day=date(2026, 7, 1))


def test_quarters_imported_one_after_the_other_are_all_kept(take, file, ask):
    take(file("Rates26Q3.csv", SUMMER))
    autumn = washington(
        ADAMS,
        SEATTLE,
        ("HATTON", "0101", ".017", ".0", ".082"),
        begin="10/1/2026",
        end="12/31/2026",
    )
    (done,) = take(file("Rates26Q4.csv", autumn))
    assert (done.before, done.edition.edition) == ("2026Q3", "2026Q4")
    assert done.edition.covers_from == date(2026, 7, 1)
    for day, units in (
        (date(2026, 6, 30), 8000),
        (date(2026, 9, 30), 8100),
        (date(2026, 10, 1), 8200),
    ):
        assert ask("WA", location="0101", day=day).chosen.combined == units
    seattle = ask("WA", location="1726", day=date(2026, 11, 1)).simple()["meta"]
    assert (seattle["effective_date"], seattle["edition"]) == ("2026-01-01", "2026Q4")


def test_a_quarter_between_that_nobody_imported_is_reported(take, file, ask):
    take(file("Rates27Q2.csv", washington(ADAMS, HATTON, begin="20270401", end="20270630")))
    between = ask("WA", location="0101", day=date(2027, 2, 1))
    assert between.chosen.combined == 8000
    assert [w["code"] for w in between.advisories] == ["as_of_after_edition"]
    after = ask("WA", location="0101", day=date(2027, 4, 1)).simple()["meta"]
    assert after["effective_date"] is None  # it may have changed in the quarter between


def test_an_older_quarter_is_taken_only_by_force_and_holds_for_itself(take, file, ask):
    old = file("Rates25Q1.csv", washington(ADAMS, HATTON, begin="20250101", end="20250331"))
    with pytest.raises(FileRefused, match=r"the shipped book has 2026Q4 for WA.*--force"):
        take(old, force=False)
    take(old, force=True)
    assert ask("WA", location="0101", day=date(2025, 2, 1)).chosen.combined == 8100
    assert ask("WA", location="1726", day=date(2026, 5, 1)).chosen.combined == 10550


def test_the_whole_table_gives_what_the_shipped_book_has(take, official, own):
    (done,) = take(official("wa_dor_quarterly_2022Q1_2026Q2.csv"))
    assert (done.changes.rates, done.changes.added) == ((), ())
    # parts of places in further counties, which the Department's table does not have
    assert set(done.changes.removed) == {"Coulee Dam", "Enumclaw", "Woodland"}
    shifted = [finding for finding in done.findings if finding.kind == "left_out"]
    assert len(shifted) == 14
    assert shifted[0].subject == "line 1959 (ASOTIN0201)"
    shipped, mine = load_book(), load_book(own=own)
    for key, rows in shipped.rates.items():
        for day in (date(2022, 2, 1), date(2024, 5, 1), date(2026, 5, 1)):
            if key.startswith("WA:") and key in mine.rates:
                both = (row_on(rows, day), row_on(mine.rates[key], day))
                was, now = ((row.units, row.effective) if row else None for row in both)
                assert was == now


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("HATTON,0101,.065,.016,.0,.09,20260701,20260930", ".065 and .016 are not .09"),
        ("HATTON,0101,.065,.016,.02,.081,20260701,20260930", "RTA .02 is more than the local"),
        ("HATTON,A101,.065,.016,.0,.081,20260701,20260930", "location code 'A101'"),
        ("HATTON,0101,.065,.016,.0,.081,20260701,20260901", "is not a quarter"),
        ("HATTON,0101,.065,.016,.0,.081,July,20260930", "'July' is not a date"),
        ("HATTON,0101,.065,.016,.0,.081,20260701", "7 columns; expected 8"),
        ("ADAMS COUNTY,0100,.065,.02,.0,.085,20260701,20260930", "0100 stands there twice"),
    ],
)
def test_a_broken_row_is_named(take, file, own, row, message):
    with pytest.raises(BrokenLine) as caught:
        take(file("Rates26Q3.csv", washington(ADAMS) + row + "\n"))
    assert caught.value.line == 3
    assert message in str(caught.value)
    assert load_book(own=own) is load_book()


def test_a_code_of_no_county_is_left_out_and_said(take, file):
    (done,) = take(
        file("Rates26Q3.csv", washington(ADAMS, ("NOWHERE", "9901", ".0", ".0", ".065")))
    )
    (left_out,) = done.findings
    assert (left_out.subject, left_out.message) == ("location code 9901", "is of no county")
    assert done.edition.rows == 1


def test_rows_of_several_quarters_in_a_published_one_are_refused(take, file):
    text = washington(ADAMS) + washington(HATTON, begin="20261001", end="20261231").split("\n")[1]
    with pytest.raises(FileRefused, match="begin on different days"):
        take(file("Rates26Q3.csv", text))


CALIFORNIA = """\
Location,Rate,County,Type
Adelanto,7.75%,San Bernardino,City
San Bernardino County,0.0775,San Bernardino,County
La Ca\xf1ada Flintridge,0.10,Los Angeles,City
Kern County,0,County,Please refer to the rates of its areas
San Jose,0.1025,Santa Clara,City
San Francisco,0.08625,San Francisco,City
San Francisco County,0.08625,San Francisco,County
"""


def test_a_list_of_california_answers_from_its_quarter_on(take, file, ask):
    (done,) = take(file("SalesTaxRates7-1-26.csv", CALIFORNIA.encode("cp1252")))
    assert (done.edition.edition, done.edition.rows) == ("2026Q3", 5)
    july = ask("CA", location="San Jose", day=date(2026, 7, 1))
    assert (july.chosen.combined, july.confidence) == (10250, "high")
    assert july.simple()["meta"]["effective_date"] is None  # the list dates no row
    assert ask("CA", location="San Jose", day=date(2026, 6, 30)).chosen.combined == 10000
    assert ask("CA", location="San Jose", day=date(2026, 3, 31)).chosen.combined == 9375
    assert ask("CA", location="La Canada Flintridge", day=date(2026, 7, 1)).chosen.combined == 10000
    assert [finding.subject for finding in done.findings] == ["line 5 (Kern County)"]


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ({"location": "San Jose"}, "68000"),
        ({"zip": "95112"}, "68000"),
        ({"zip": "95222"}, "02112"),  # Angels Camp, which the Census calls Angels
    ],
)
def test_a_city_of_the_list_is_found_by_name_and_zip(take, file, ask, asked, place):
    text = f"{CALIFORNIA}Angels Camp,0.0975,Calaveras,City\n"
    take(file("SalesTaxRates7-1-26.csv", text.encode("cp1252")))
    answer = ask("CA", **asked, day=date(2026, 7, 1))
    assert answer.chosen.area.place == place
    assert answer.simple()["meta"]["edition"] == "2026Q3"


def test_what_is_known_to_begin_after_an_imported_list_stays(take, official, ask):
    (done,) = take(official("ca_cdtfa_2026-01-01.csv"))
    assert done.changes.rates == ()
    later = ask("CA", location="San Jose", day=date(2026, 5, 1))
    assert later.chosen.combined == 10000
    assert later.simple()["meta"]["edition"] == "2026-07-01"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("Adelanto,0.07,San Bernardino,City", "below the uniform 7.25%"),
        ("Adelanto,7.75,San Bernardino,City", "outside 0 to 25%"),
        ("Adelanto,n/a,San Bernardino,City", "n/a"),
        ("Adelanto,0.0775,San Bernardo,City", "'San Bernardo' is not a county of California"),
        ("Adelanto,0.0775,San Bernardino,Town", "not a rate"),
        ("Adelanto,0.0775", "2 columns; expected 4"),
        ("San Jose,0.1,Santa Clara,City", "'San Jose': the place is listed twice"),
    ],
)
def test_a_broken_row_of_california_is_named(take, file, row, message):
    with pytest.raises(BrokenLine) as caught:
        take(file("cdtfa_2026-07-01.csv", f"{CALIFORNIA}\n{row}\n"))
    assert caught.value.line == 10
    assert message in str(caught.value)


DAY = date(2026, 8, 1)
HEAD = "1\t20263\t202609\t2026 - 3rd\t0.0625\t0\t3715\tnotice text\n"
NONE = "n/a\tn/a\t0"


def line(*groups):
    return "\t".join(groups) + "\n"


ABILENE_JONES = line("Abilene \t2221012\t0.02", "Jones \tn/a\t0", NONE, NONE)
ABILENE_TAYLOR = line("Abilene \t2221012\t0.02", "Taylor \tn/a\t0", NONE, NONE)
ACTON = line("Acton \tn/a\t0", "Hood \t4111006\t0.005", "Hood Co Dev Dist 1 \t5111505\t0.005", NONE)
GRANBURY = line("Granbury\t2111015\t.015", "Hood\t4111006\t.005", NONE, NONE)
DALLAS = line("Dallas \t2057207\t0.01", "Dallas \tn/a\t0", NONE, "Dallas MTA \t3057994\t0.01")
TEXAS = HEAD + ABILENE_JONES + ABILENE_TAYLOR + ACTON + GRANBURY + DALLAS


def parts(answer):
    rated = answer.chosen
    return rated.state, rated.county, rated.city, rated.district, rated.combined


def test_a_city_is_its_county_and_every_district_of_its_line(take, file, ask):
    (done,) = take(file("taxrates.txt", TEXAS))
    assert (done.edition.state, done.edition.edition, done.edition.rows) == ("TX", "2026Q3", 5)
    assert parts(ask("TX", location="Dallas", day=DAY)) == (6250, 0, 1000, 1000, 8250)
    assert parts(ask("TX", location="Granbury", day=DAY)) == (6250, 500, 1500, 0, 8250)
    assert parts(ask("TX", location="Acton", day=DAY)) == (6250, 500, 0, 500, 7250)


def test_outside_the_cities_the_county_answers_and_districts_may_be_missing(take, file, ask):
    take(file("taxrates.txt", TEXAS))
    answer = ask("TX", location="Hood County", day=DAY)
    assert parts(answer) == (6250, 500, 0, 0, 6750)
    assert answer.confidence == "low"
    assert "districts_not_covered" in [warning["code"] for warning in answer.advisories]
    assert ask("TX", location="Travis County", day=DAY).chosen.combined == 6250


def test_a_city_in_two_counties_is_found_in_both(take, file, own):
    take(file("taxrates.txt", TEXAS))
    book = load_book(own=own)
    abilene = [
        area for area in book.areas.values() if area.cities == ("Abilene",) and area.state == "TX"
    ]
    assert {area.counties for area in abilene} == {("253",), ("441",)}


def test_a_city_with_other_districts_in_a_part_of_it_is_ambiguous(take, file, ask):
    part = line("Granbury\t2111015\t.01", "Hood\t4111006\t.005", "Hood Co ESD\t5111999\t.005", NONE)
    take(file("taxrates.txt", TEXAS.replace(GRANBURY, GRANBURY.replace(".015", ".01") + part)))
    answer = ask("TX", location="Granbury", day=DAY)
    (spans,) = [w for w in answer.advisories if w["code"] == "zip_spans_jurisdictions"]
    assert (spans["lowest_combined_rate"], spans["highest_combined_rate"]) == ("0.07750", "0.08250")
    assert answer.confidence == "low"


def test_more_than_the_law_allows_is_left_out_and_listed(take, file, ask):
    over = line("Granbury\t2111015\t.0175", "Hood\t4111006\t.005", NONE, NONE)
    (done,) = take(file("taxrates.txt", TEXAS.replace(GRANBURY, over)))
    (left_out,) = done.findings
    assert left_out.subject == "line 5 (Granbury)"
    assert left_out.message == "8500 units, above 8250 in all"
    assert ask("TX", location="Granbury", day=DAY).chosen.city == 0


def test_no_city_of_the_published_slice_is_above_the_law(take, official, own):
    take(official("tx_taxrates_2026Q3_slice.txt"))
    book = load_book(own=own)
    for area in book.areas.values():
        if area.state == "TX":
            local = sum(book.rates[part][0].units for part in area.components)
            assert 6250 + local <= 8250


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (line("Dallas\t2057207\t0.01", "Dallas"), "4 columns; expected groups of three"),
        (line("Dallas\t2057207\t0.01"), "3 columns; expected groups of three"),
        (line("Dallas\t2057207\t1%", "Dallas\tn/a\t0"), "expected a rate as a fraction"),
        (line("Dallas\t20x7\t0.01", "Dallas\tn/a\t0"), "code '20x7' of 'Dallas'"),
        (line("Dallas\tn/a\t0.01", "Dallas\tn/a\t0"), "'Dallas' has a rate and no code"),
        (line(NONE, "Dallas\tn/a\t0"), "no name in column 1"),
        (line("Dallas\t2057207\t0.01", "Dalles\tn/a\t0"), "county 'Dalles'; expected the name"),
        (line("Dallas\t2057207\t0.0125", "Dallas\tn/a\t0"), "1250 units, 1000 in a line before"),
    ],
)
def test_a_broken_line_is_named(take, file, own, broken, message):
    with pytest.raises(BrokenLine) as caught:
        take(file("taxrates.txt", TEXAS + broken))
    assert caught.value.line == 7
    assert message in str(caught.value)
    assert load_book(own=own) is load_book()


FIELD = st.sampled_from(["Dallas", "Hood", "n/a", "0", "0.01", ".5", "2057207", "", "x\x00", "1e3"])


@given(st.lists(FIELD, max_size=14))
def test_any_line_is_read_or_named_and_nothing_goes_over_the_law(tmp_path_factory, fields):
    found = Recognised(
        tmp_path_factory.getbasetemp() / "taxrates.txt", "tx_taxrates", "TX", "2026Q3"
    )
    try:
        reading = read_texas(TEXAS + "\t".join(fields) + "\n", found, load_book())
    except BrokenLine as broken:
        tables, number = None, broken.line
    else:
        tables, number = reading.tables, 7
    assert number == 7
    rates = {row.jurisdiction: row.units for row in tables.rates} if tables else {}
    for area in tables.areas if tables else ():
        assert 6250 + sum(rates[part] for part in area.components) <= 8250
