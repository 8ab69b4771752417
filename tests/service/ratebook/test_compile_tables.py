"""Compiling transcribed tables and the Comptroller's file: what adds up, what goes first."""

from __future__ import annotations

import csv
from datetime import date

import pytest
from compile_book import RowError, compile_book
from support.compiled import answer, messages, rate

from svc_tools.service.ratebook import NotResolved, load_book

LATER = date(2026, 9, 1)
TX_HEAD = "1\t20263\t202609\t2026 - 3rd\t0.0625\t0\t3715\tnotice\n"
FIX_HEAD = "state,table,name,was_pct,should_be_pct,source,source_date,certainty"


@pytest.fixture
def tables(source_dir, book_dir):
    """Writes rows of the three files of the tables and compiles; the report."""

    def tables(rows, fixes=(), members=(), zips=()):
        for name, head, lines in (
            ("local_tables_2026.csv", "state,table,name,parents,rate_pct,zips", rows),
            ("corrections_2026.csv", FIX_HEAD, fixes),
            ("district_members.csv", "state,district,locality,note", members),
        ):
            with (source_dir / name).open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(head.split(","))
                writer.writerows(lines)
        with (source_dir / "zip_county_zcta2020.csv").open("a") as file:
            file.writelines(f"{line}\n" for line in zips)
        return compile_book(source_dir, book_dir)

    return tables


def line(*cells):
    return "\t".join(cells) + "\n"


def test_corrections_apply_to_the_figure_they_name(source_dir, book_dir):
    (source_dir / "local_tables_2026.csv").write_text(
        "state,table,name,parents,rate_pct,zips\n"
        "FL,FL_COUNTY_SURTAX_PCT,Okeechobee County,,1.500,\n"
        "FL,FL_COUNTY_SURTAX_PCT,Duval County,,1.500,\n"
        "FL,FL_COUNTY_SURTAX_PCT,No Such County,,1.000,\n"
        "VA,VA_COUNTY_RATE_PCT,York County,,0.000,\n"
        "VA,VA_DISTRICT_RATE_PCT,Hampton Roads Region,,0.700,\n"
    )
    (source_dir / "corrections_2026.csv").write_text(
        "state,table,name,was_pct,should_be_pct,source,source_date,certainty\n"
        "FL,FL_COUNTY_SURTAX_PCT,Okeechobee County,1.500,1,the state's form,2026,certain\n"
        "FL,FL_COUNTY_SURTAX_PCT,Duval County,9.000,1,another table,2026,certain\n"
    )
    (source_dir / "district_members.csv").write_text(
        "state,district,locality,note\nVA,Hampton Roads Region,York County,\n"
    )
    report = compile_book(source_dir, book_dir)
    assert rate(book_dir, "FL", location="Okeechobee County").combined == 6_000
    assert rate(book_dir, "FL", location="Duval County").combined == 6_500
    york = rate(book_dir, "VA", location="York County")
    assert (york.district, york.components[-1].row.trust) == (700, "third_hand")
    assert messages(report, "corrected") == ["FL Okeechobee County: 1.50 % -> 1.00 %"]
    assert any(
        "FL Duval County: corrects 9.00 %, the table has 1.50 %" in m
        for m in messages(report, "conflict")
    )
    assert any("No Such County" in m for m in messages(report, "left_out"))


def test_a_dated_correction_keeps_the_figure_before_it(tables, book_dir):
    changed = "a list; effective 2026-08-01, before that the old value"
    since = "a list: 9.25 combined since 2026-01-01; another list"
    tables(
        [
            ("IL", "IL_COUNTY_RATE_PCT", "Cook County", "", "1.750", ""),
            ("IL", "IL_COUNTY_RATE_PCT", "Champaign County", "", "1.250", ""),
            ("IL", "IL_RTA_DISTRICTS", "RTA (Cook County)", "", "1.000", ""),
            ("IL", "IL_CITIES", "Chicago", "Cook County|RTA (Cook County)", "1.250", "60601"),
            ("IL", "IL_CITIES", "Champaign", "Champaign County", "1.500", "61820"),
        ],
        fixes=[
            ("IL", "IL_RTA_DISTRICTS", "RTA (Cook County)", "1.000", "1.25", changed, "", ""),
            ("IL", "IL_CITIES", "Champaign", "1.500", "1.75", since, "", ""),
        ],
        members=[("IL", "RTA (Cook County)", "Cook County", "")],
    )
    city, county = {"location": "Chicago"}, {"location": "Cook County"}
    assert rate(book_dir, "IL", as_of=date(2026, 7, 31), **city).district == 1_000
    after = rate(book_dir, "IL", as_of=date(2026, 8, 1), **city)
    assert (after.district, after.components[-1].row.effective) == (1_250, date(2026, 8, 1))
    assert [c.jurisdiction.code for c in after.components].count("rta-cook-county") == 1
    assert rate(book_dir, "IL", as_of=LATER, **county).district == 1_250
    row = rate(book_dir, "IL", as_of=LATER, location="Champaign").components[-1].row
    assert (row.units, row.begin, row.effective) == (1_750, date(2026, 1, 1), date(2026, 1, 1))


def test_a_correction_of_a_row_that_is_not_there_is_listed(tables):
    fix = ("MO", "MO_CITIES", "Nowhere", "1", "2", "a list", "2026", "certain")
    report = tables([("MO", "MO_CITIES", "Columbia", "Boone County", "2.000", "")], fixes=[fix])
    assert any(
        m.startswith("MO Nowhere: the table has no such row") for m in messages(report, "conflict")
    )


def test_a_city_of_texas_holds_its_countys_share(tables, book_dir):
    tables(
        [
            ("TX", "TX_COUNTY_RATE_PCT", "Bell County", "", "0.000", ""),
            ("TX", "TX_COUNTY_RATE_PCT", "El Paso County", "", "0.500", ""),
            ("TX", "TX_TRANSIT_DISTRICTS", "El Paso MTA (Sun Metro)", "", "0.500", ""),
            ("TX", "TX_CITIES", "Belton", "Bell County", "2.000", "76513"),
            ("TX", "TX_CITIES", "El Paso", "El Paso County|El Paso MTA (Sun Metro)", "1.000", ""),
        ],
        fixes=[("TX", "TX_COUNTY_RATE_PCT", "Bell County", "0", "0.5", "a list", "2026", "likely")],
    )
    combined = {
        name: rate(book_dir, "TX", location=name, as_of=LATER).combined - 5_000
        for name in ("Belton", "Bell County", "El Paso", "El Paso County")
    }
    assert combined == {
        "Belton": 2_000,
        "Bell County": 500,
        "El Paso": 2_000,
        "El Paso County": 500,
    }
    lost = answer(book_dir, "TX", location="Harris County", as_of=LATER)
    assert lost.chosen.combined == 5_000
    assert "local_rates_not_covered" in {w["code"] for w in lost.advisories}


def test_the_comptrollers_file_goes_before_the_table(source_dir, tables, book_dir):
    none = ("n/a", "n/a", "0")
    (source_dir / "tx_taxrates_2026Q3.txt").write_text(
        TX_HEAD
        + line("Abilene ", "2221012", "0.02", "Jones ", *none[1:], *none)
        + line("Abilene ", "2221012", "0.02", "Taylor ", *none[1:], *none)
        + line(
            "Addison ", "2057217", "0.01", "Dallas ", *none[1:], "Dallas MTA ", "3057994", "0.01"
        )
        + line("Acton ", *none[1:], "Hood ", "4111006", "0.005", "Dev Dist 1 ", "5111505", "0.005")
        + line("Odd", "1", "0.0123456", "Dallas", *none[1:], *none)
        + line("Lost", "1", "0.01", "Nowhere", *none[1:], *none)
        + line("Short", "1", "0.01")
    )
    report = tables(
        [
            ("TX", "TX_COUNTY_RATE_PCT", "Hood County", "", "0.000", ""),
            ("TX", "TX_COUNTY_RATE_PCT", "Taylor County", "", "0.000", ""),
            ("TX", "TX_COUNTY_RATE_PCT", "Dallas County", "", "0.000", ""),
            ("TX", "TX_TRANSIT_DISTRICTS", "Dallas MTA (DART)", "", "0.750", ""),
            ("TX", "TX_CITIES", "Abilene", "Taylor County", "1.500", "79601"),
            ("TX", "TX_CITIES", "Irving", "Dallas County|Dallas MTA (DART)", "1.000", "75038"),
        ]
    )
    told = {
        name: (found.combined, found.components[-1].source.id)
        for name in ("Abilene", "Addison", "Acton", "Hood County", "Irving")
        for found in [rate(book_dir, "TX", location=name, as_of=LATER)]
    }
    assert told == {
        "Abilene": (8_250, "tx-comptroller"),
        "Addison": (8_250, "tx-comptroller"),
        "Acton": (7_250, "tx-comptroller"),
        "Hood County": (6_750, "tx-comptroller"),
        "Irving": (8_250, "tx-comptroller"),  # its district's rate is the official one
    }
    conflicts = messages(report, "conflict")
    for name, figures in {
        "TX Hood County": "0.00 % by the table from 2026-07-01 on, 0.50 % by the official list",
        "TX Abilene": "1.50 % by the table from 2026-07-01 on, 2.00 % by the official list",
        "TX Dallas MTA": "0.75 % by the table from 2026-07-01 on, 1.00 % by the official list",
    }.items():
        assert any(m.startswith(f"{name}: {figures}") for m in conflicts), name
    left = messages(report, "left_out")
    assert any("line 6: " in m and "five decimals" in m for m in left)
    assert any("line 7: 'Nowhere' is not a county of Texas" in m for m in left)
    assert any("line 8: 3 columns" in m for m in left)
    states = [row.source for row in load_book(book_dir).rates["TX"]]
    assert states == ["tx-comptroller"]


def test_a_file_without_the_comptrollers_header(source_dir, book_dir):
    (source_dir / "tx_taxrates_2026Q3.txt").write_text("Abilene\t2221012\t0.02\n")
    with pytest.raises(RowError, match="header line with the period"):
        compile_book(source_dir, book_dir)


def test_rates_that_do_not_fit_are_left_out_and_named(tables, book_dir):
    report = tables(
        [
            ("NM", "NM_LOCATION_RATES", "Albuquerque", "Bernalillo County", "2.750", "87102"),
            ("NM", "NM_LOCATION_RATES", "Santa Fe", "Santa Fe County", "3.3125", "87501"),
        ],
        zips=["87102,NM,001", "87501,NM,049"],
    )
    assert any(
        "NM Santa Fe: rate: 0.033125 does not fit" in m for m in messages(report, "left_out")
    )
    assert rate(book_dir, "NM", location="Albuquerque", as_of=LATER).city == 2_750
    lost = answer(book_dir, "NM", location="Santa Fe", as_of=LATER)
    assert (lost.chosen.combined, lost.confidence) == (4_875, "low")
    assert "Santa Fe" in load_book(book_dir).states["NM"].missing
    assert not messages(report, "missing") or not any(
        "NM" in m for m in messages(report, "missing")
    )


def test_a_district_is_a_part_of_every_area_of_its_members(tables, book_dir):
    report = tables(
        [
            ("NY", "NY_MCTD_RATE", "", "", "0.375", ""),
            ("NY", "NY_COUNTY_RATE_PCT", "Westchester County", "", "4.000", ""),
            ("NY", "NY_COUNTY_RATE_PCT", "Erie County", "", "4.750", ""),
            ("NY", "NY_COUNTY_RATE_PCT", "New York County", "", "0.000", ""),
            ("NY", "NY_COUNTY_RATE_PCT", "Kings County", "", "0.000", ""),
            ("NY", "NY_CITIES", "New York City", "New York County", "4.500", "10001"),
            ("NY", "NY_CITIES", "Yonkers", "Westchester County", "0.500", "10701"),
            ("NY", "NY_CITIES", "Buffalo", "Erie County", "0.000", "14201"),
        ],
        members=[
            ("NY", "MCTD 0.375", "Westchester County", ""),
            ("NY", "MCTD 0.375", "New York County", ""),
            ("NY", "MCTD 0.375", "Atlantis County", ""),
        ],
    )
    found = {
        name: rate(book_dir, "NY", location=name, as_of=LATER)[2:7]
        for name in ("Yonkers", "Westchester County", "Erie County", "New York", "Kings County")
    }
    assert found == {
        "Yonkers": (5_000, 4_000, 500, 375, 9_875),
        "Westchester County": (5_000, 4_000, 0, 375, 9_375),
        "Erie County": (5_000, 4_750, 0, 0, 9_750),
        "New York": (5_000, 0, 4_500, 375, 9_875),
        "Kings County": (5_000, 0, 4_500, 0, 9_500),  # no member here
    }
    left = messages(report, "left_out")
    assert any(m.startswith("Atlantis County: not in NY") for m in left)
    assert any(m.startswith("NY New York City: no rate for Bronx County") for m in left)


def test_alaska_has_its_towns_only(tables, book_dir):
    tables(
        [
            ("AK", "AK_BOROUGHS", "Kenai Peninsula Borough", "", "3.000", ""),
            ("AK", "AK_CITIES", "Kenai", "Kenai Peninsula Borough", "3.000", "99611"),
            ("AK", "AK_CITIES", "Juneau", "Juneau City and Borough", "5.000", "99801"),
        ],
        zips=["99611,AK,122", "99801,AK,110", "99672,AK,122", "99501,AK,020"],
    )
    assert rate(book_dir, "AK", zip="99611", as_of=LATER)[2:7] == (5_000, 3_000, 3_000, 0, 11_000)
    assert rate(book_dir, "AK", zip="99672", as_of=LATER).combined == 8_000
    assert rate(book_dir, "AK", zip="99801", as_of=LATER).city == 5_000
    with pytest.raises(NotResolved, match="nothing honest can be answered"):
        rate(book_dir, "AK", zip="99501", as_of=LATER)


def test_without_its_table_alaska_has_nothing(source_dir, book_dir):
    compile_book(source_dir, book_dir)
    with pytest.raises(NotResolved, match="nothing honest can be answered"):
        rate(book_dir, "AK", zip="99801", as_of=LATER)


def test_rows_of_california_are_compared_and_never_used(source_dir, tables, book_dir):
    (source_dir / "ca_cdtfa_2026-01-01.csv").write_text(
        "Location,Rate,Rate_Percent,County,Type,Notes\n"
        "Oakland,0.1075,10.75,Alameda,City,\n"
        "Alameda County,0.1025,10.25,Alameda,County,\n"
    )
    report = tables(
        [
            ("CA", "CA_COUNTY_RATE_PCT", "Alameda County", "", "3.000", ""),
            ("CA", "CA_CITIES", "Oakland", "Alameda County", "1.000", "94601"),
            ("AL", "AL_CITIES", "Birmingham", "Jefferson County", "4.000", "35203"),
        ]
    )
    told = [m for m in messages(report, "conflict") if "CA " in m]
    assert told == [
        "CA Oakland: 11.25 % in all by the table, 10.75 % by the official list, which answers"
    ]
    assert rate(book_dir, "CA", location="Oakland", as_of=LATER).combined == 10_750
    left = messages(report, "left_out")
    assert "CA: 2 rows not used: known to be bad" in left
    assert any(m.startswith("AL: 1 rows not used") for m in left)


def test_another_state_rate_in_the_table_is_listed(tables):
    report = tables([("SC", "SC_STATE_RATE_PCT", "", "", "6.000", "")])
    assert "SC: has 6.00 % for the state, the book 5.00 %, which answers" in messages(
        report, "conflict"
    )


def test_a_name_that_stands_twice_with_two_rates_is_not_taken(tables, book_dir):
    report = tables(
        [
            ("AZ", "AZ_COUNTY_RATE_PCT", "Pima County", "", "0.500", ""),
            ("AZ", "AZ_CITIES", "Vail", "Pima County", "2.600", "85641"),
            ("AZ", "AZ_CITIES", "Vail", "Pima County", "2.000", "85641"),
        ]
    )
    assert any("AZ Vail: stands there twice" in m for m in messages(report, "conflict"))
    assert "AZ:city:vail" not in load_book(book_dir).areas
