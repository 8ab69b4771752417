"""The Texas Comptroller's file: cities with their county and every district the file names."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.imports.reading import BrokenLine, Recognised
from svc_tools.service.ratebook.imports.states import read_texas

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


def test_a_city_is_found_by_its_name_and_by_a_zip(take, file, ask):
    take(file("taxrates.txt", TEXAS))
    assert ask("TX", location="Granbury", day=DAY).confidence == "high"
    dallas = ask("TX", zip="75201", day=DAY)
    assert (dallas.chosen.area.name, dallas.chosen.combined) == ("Dallas", 8250)


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


def test_windows_line_ends_and_a_tab_at_the_end_do_no_harm(take, file, ask):
    text = "".join(
        f"{one}\t\r\n" if number else f"{one}\r\n" for number, one in enumerate(TEXAS.splitlines())
    )
    take(file("taxrates.txt", text))
    assert ask("TX", location="Dallas", day=DAY).chosen.combined == 8250


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


@settings(deadline=None)  # other work on the machine is no fault
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
