"""Importing rate files: what a file is, what changes, files of real life."""

from __future__ import annotations

import gzip
import re
import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.boundary_files import (
    DAY,
    HENNEPIN,
    METRO,
    MINNEAPOLIS,
    RATES,
    ST_PAUL,
    generated_lines,
    line,
    told,
)
from support.cases import codes

from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.imports.database import (
    editions,
    list_editions,
    open_own_book,
    remove_editions,
)
from svc_tools.service.ratebook.imports.forms import FORMS, recognise, recognise_text
from svc_tools.service.ratebook.imports.importer import import_files
from svc_tools.service.ratebook.imports.overlay import own_tables
from svc_tools.service.ratebook.imports.reading import BrokenLine, FileRefused
from svc_tools.service.ratebook.imports.states import STATE_FILES
from svc_tools.service.ratebook.own import OwnBookError
from svc_tools.service.ratebook.rating import Absent, rate_area
from svc_tools.tables.states import STATES

NOW = date(2026, 5, 1)
IOWA = "19,45,19,0.06,0.06,0,0,20080701,29991231\n19,00,001,0.01,0.01,0.01,0.01,20120101,29991231\n"
NEXT = IOWA.replace("0.01,0.01,0.01,0.01,20120101,29991231", "0.01,0.01,,,20120101,20260630") + (
    "19,00,001,0.015,0.015,,,20260701,29991231\n19,00,003,0.01,0.01,,,20260701,29991231\n"
)
KANSAS = "20,45,20,0.065,0.065,0,0,20150701,99991231\n20,00,045,0.01,0.01,,,20190401,99991231\n"
IOWA_ZIP = "Z,20160101,29991231" + "," * 15 + "50002,,50002,,,19,19,001" + "," * 64 + "\n"


def test_a_file_changes_its_state_and_no_other(take, file, own):
    shipped = load_book()
    take(file("IAR2026Q2FEB1.csv", IOWA))
    mine = load_book(own=own)
    assert mine is not shipped
    for key, rows in shipped.rates.items():
        if key.split(":")[0] != "IA":
            assert mine.rates[key] is rows
    assert mine.zips is shipped.zips
    assert (shipped.own_editions, shipped.states["IA"].local) == ((), "city")
    iowa = [area for area in mine.areas.values() if area.state == "IA"]
    assert {part for area in iowa for part in area.components} == {"IA:county:001"}


def test_the_same_editions_are_the_same_book_and_others_have_another_digest(take, file, own):
    shipped = load_book()
    assert load_book(own=own) is shipped
    take(file("IAR2026Q2FEB1.csv", IOWA))
    first = load_book(own=own)
    assert load_book(own=own) is first
    take(file("IAR2026Q3MAY1.csv", NEXT))
    second = load_book(own=own)
    assert len({shipped.digest, first.digest, second.digest}) == 3
    assert [one.edition for one in second.own_editions] == ["2026Q3"]
    assert second.own_path == own
    remove_editions(own, "IA")
    assert load_book(own=own) is shipped


def test_a_newer_file_takes_the_place_and_says_what_changed(take, file, ask):
    (first,) = take(file("IAR2026Q2FEB1.csv", IOWA))
    assert first.before == "2026Q4"  # of the shipped book: taken by force
    (done,) = take(file("IAR2026Q3MAY1.csv", NEXT))
    assert (done.before, done.replaced_own) == ("2026Q2", True)
    assert done.changes.added == ("Adams County",)
    (change,) = done.changes.rates
    assert (change.jurisdiction, change.before, change.after) == ("IA:county:001", 1000, 1500)
    assert change.since == date(2026, 7, 1)
    assert ask("IA", location="Adair County", day=date(2026, 6, 30)).chosen.combined == 7000
    assert ask("IA", location="Adair County", day=date(2026, 7, 1)).chosen.combined == 7500


def test_the_rates_of_a_state_go_before_its_boundaries(take, file, own):
    boundary = file("IAB2026Q2FEB1.csv", IOWA_ZIP)
    done = take(boundary, file("IAR2026Q2FEB1.csv", IOWA))
    assert [one.edition.kind for one in done] == ["rates", "boundary"]
    assert done[1].edition.rows == 1
    assert len(done[1].edition.digest) == 64
    with pytest.raises(FileRefused, match="rates of IA are not in your own book"):
        list(import_files([boundary], own.with_name("other.db"), today=NOW))


def test_the_same_boundaries_again_are_not_read_again(take, file, own):
    boundary = file("IAB2026Q2FEB1.csv", IOWA_ZIP)
    take(file("IAR2026Q2FEB1.csv", IOWA), boundary)
    before = list_editions(own)
    (again,) = take(boundary)
    assert again.repeated
    assert list_editions(own) == before
    (forced,) = take(boundary, force=True)
    assert not forced.repeated


def test_a_file_that_is_unknown_stops_all_before_any_is_read(take, file, own):
    with pytest.raises(FileRefused, match=r"notes\.txt has no known form"):
        take(file("IAR2026Q2FEB1.csv", IOWA), file("notes.txt", "hello\n"))
    assert not own.exists()


def test_a_full_disk_leaves_the_older_edition(take, file, own, monkeypatch):
    take(file("IAR2026Q2FEB1.csv", IOWA))
    opened = open_own_book
    places = "".join(f"19,01,{code:05},0.01,0.01,,,20260701,29991231\n" for code in range(2000))

    def full(path, *, write=False):
        connection = opened(path, write=write)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    monkeypatch.setattr("svc_tools.service.ratebook.imports.importer.open_own_book", full)
    before = load_book(own=own)
    with pytest.raises(OwnBookError, match="cannot be used: database or disk is full"):
        take(file("IAR2026Q3MAY1.csv", NEXT + places))
    assert load_book(own=own) is before


@pytest.mark.parametrize("table", ["jurisdictions", "rates", "sources", "states"])
def test_rows_that_are_gone_are_noticed_before_any_lookup_meets_them(take, file, own, table):
    take(file("IAR2026Q2FEB1.csv", IOWA))
    with closing(sqlite3.connect(own)) as connection:
        (text,) = connection.execute("SELECT csv FROM tables WHERE name = ?", (table,)).fetchone()
        header = text.splitlines(keepends=True)[0]
        connection.execute("UPDATE tables SET csv = ? WHERE name = ?", (header, table))
        connection.commit()
    with pytest.raises(OwnBookError, match=r"IAR2026Q2FEB1\.csv \(IA\)"):
        load_book(own=own)


@pytest.fixture
def damaged(take, file, own):
    """An own book with one state whose rows do not hold what they should, and one that is whole."""
    take(file("IAR2026Q2FEB1.csv", IOWA), file("KSR2026Q2FEB1.csv", KANSAS))
    with closing(sqlite3.connect(own)) as connection:
        (number,) = connection.execute("SELECT id FROM editions WHERE state = 'IA'").fetchone()
        connection.execute("UPDATE tables SET csv = 'x' WHERE edition_id = ?", (number,))
        connection.commit()
    return own


def test_a_damaged_own_book_is_named_with_what_to_do(damaged):
    with pytest.raises(OwnBookError) as caught:
        load_book(own=damaged)
    assert str(damaged) in str(caught.value)
    assert "svc-tools book remove IA" in str(caught.value)


def test_importing_the_file_again_repairs_it(damaged, take, file, ask):
    (done,) = take(file("IAR2026Q2FEB1.csv", IOWA))
    assert not done.repeated
    assert ask("IA", location="Adair County", day=NOW).chosen.combined == 7000
    assert ask("KS", location="Douglas County", day=NOW).chosen.combined == 7500


def test_taking_the_state_out_repairs_it_too(damaged, ask):
    remove_editions(damaged, "IA")
    shipped = ask("IA", location="Adair County", day=NOW)
    assert shipped.simple()["meta"]["edition"] == "2026Q4"
    assert ask("KS", location="Douglas County", day=NOW).chosen.combined == 7500


def test_damaged_pages_are_named_by_reading_and_importing(take, file, own):
    path = file("IAR2026Q2FEB1.csv", IOWA)
    take(path)
    data = own.read_bytes()
    own.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with pytest.raises(OwnBookError, match="is damaged"):
        load_book(own=own)
    with pytest.raises(OwnBookError, match="is damaged"):
        take(path)


def test_the_parts_of_every_imported_area_add_up(take, file, own, official):
    take(
        *map(
            official, ("GAR2026Q2FEB19.csv", "MNR2026Q2FEB18.csv", "tx_taxrates_2026Q3_slice.txt")
        ),
        file("IAR2026Q2FEB1.csv", IOWA),
        file("KSR2026Q2FEB1.csv", KANSAS),
    )
    book = load_book(own=own)
    for area in book.areas.values():
        if area.state in {"GA", "MN", "TX", "IA", "KS"}:
            rated = rate_area(book, area.state, area, NOW)
            assert not isinstance(rated, Absent)
            assert rated.combined == rated.state + rated.county + rated.city + rated.district


FIPS = {row.fips: state for state, row in load_book().states.items()}
RATE = "27,00,053,0.0015,0.0015,0.0015,0.0015,20070101,29991231\n"
BLANK_FOOD = "27,0,053,0.0015,0.0015,,,20070101,99991231\n"
BOUNDARY = "z,20161001,20190331" + "," * 14 + ",55012,,55013,,,27,27,025" + "," * 64 + "\n"
CDTFA = "Location,Rate,County,Type\nAdelanto,0.0775,San Bernardino,City\n"
WA = (
    "Name,Code,State,Local,RTA,Rate,Effective Date,Expiration Date\n"
    "HATTON,0101,.065,.015,.000,.080,20260701,20260930\n"
)
WA_TABLE = (
    "effective,expiration,location_code,location,state_rate,local_rate,rta,total_rate\n"
    "20260401,20260630,100,ADAMS COUNTY,0.065,0.015,0,0.08\n"
)
TX = "1\t20263\t202609\t2026 - 3rd\t0.0625\t0\t3715\tnotice text\nDallas \t2057207\t0.01\n"
EXAMPLES = [
    ("MNR2026Q2FEB18.csv", RATE, ("sst_rates", "MN", "2026Q2")),
    ("rates of 2026 q3.txt", BLANK_FOOD, ("sst_rates", "MN", "2026Q3")),
    ("MNB2026Q2FEB18.csv", BOUNDARY, ("sst_boundary", "MN", "2026Q2")),
    ("boundary-2026Q3.csv", BOUNDARY.upper(), ("sst_boundary", "MN", "2026Q3")),
    ("SalesTaxRates4-1-26.csv", CDTFA, ("cdtfa", "CA", "2026Q2")),
    ("cdtfa_2026-07-01.csv", "California rates\n\n" + CDTFA, ("cdtfa", "CA", "2026Q3")),
    ("download.csv", WA, ("wa_dor", "WA", "2026Q3")),
    ("download.csv", WA.replace("20260701", "7/1/2026"), ("wa_dor", "WA", "2026Q3")),
    ("table.csv", WA_TABLE, ("wa_dor_table", "WA", "2026Q2")),
    ("taxrates.txt", TX, ("tx_taxrates", "TX", "2026Q3")),
]


def test_every_form_has_an_example_and_the_page_names_its_state():
    assert {form for _, _, (form, _, _) in EXAMPLES} == FORMS.keys()
    root = Path(__file__).parents[4]
    page = root / "docs" / "OFFICIAL_FILES.md"
    table = root / "svc_tools" / "service" / "ratebook" / "data" / "SOURCES.md"
    help_text = root / "svc_tools" / "cli" / "book.py"
    lists = {
        page: r"(?s)Files are known by their content: (.+?)\. They go",
        table: r"(?s)## Your own files(.+?)\n- ",
        help_text: r"(?s)Known by their content: (.+?)\. A newer file",
    }
    for path, pattern in lists.items():
        (known,) = re.findall(pattern, path.read_text("utf-8"))
        lacking = [STATES[one.state] for one in STATE_FILES if STATES[one.state] not in known]
        assert not lacking, f"{path.name} does not name {lacking}"


@pytest.mark.parametrize(("name", "text", "expected"), EXAMPLES)
@pytest.mark.parametrize(
    "encoded",
    [
        lambda text: text.encode(),
        lambda text: text.encode("utf-8-sig"),
        lambda text: text.replace("\n", "\r\n").encode(),
    ],
    ids=["utf-8", "byte order mark", "CRLF"],
)
def test_every_form_is_known_in_every_encoding(file, name, text, expected, encoded):
    found = recognise(file(name, encoded(text)), FIPS)
    assert (found.form, found.state, found.edition) == expected


def test_text_of_the_older_windows_set_is_known_too(file):
    text = CDTFA + "La Ca\xf1ada Flintridge,0.1,Los Angeles,City\n"
    assert recognise(file("2026-04-01.csv", text.encode("cp1252")), FIPS).form == "cdtfa"


def test_a_damaged_first_line_does_not_hide_what_the_file_is(file):
    found = recognise(file("MNR2026Q2FEB18.csv", "27,00\n" + RATE), FIPS)
    assert found.form == "sst_rates"


def test_a_quarter_that_nothing_says_is_asked_for(file):
    path = file("rates.csv", RATE)
    with pytest.raises(FileRefused, match="--edition 2026Q3"):
        recognise(path, FIPS)
    assert recognise(path, FIPS, edition="20261").edition == "2026Q1"


def test_a_quarter_that_contradicts_the_content_is_refused(file):
    with pytest.raises(FileRefused, match="is of 2026Q3 by its own first line, not of 2026Q2"):
        recognise(file("taxrates.txt", TX), FIPS, edition="2026Q2")


def test_a_quarter_that_contradicts_the_name_is_refused(file):
    path = file("MNR2026Q2FEB18.csv", RATE)
    assert recognise(path, FIPS, edition="2026Q2").edition == "2026Q2"
    with pytest.raises(FileRefused, match="is of 2026Q2 by its name, not of 2026Q3"):
        recognise(path, FIPS, edition="2026Q3")


def test_a_name_of_one_state_on_rows_of_another_is_refused(file):
    with pytest.raises(FileRefused, match="its name says WI, its rows are of MN"):
        recognise(file("WIR2026Q2FEB18.csv", RATE), FIPS)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; expected one of"),
        (b"\n\n", "is empty"),
        (b"PK\x03\x04....", "a ZIP archive or a spreadsheet"),
        (b"%PDF-1.7", "a PDF"),
        (gzip.compress(RATE.encode(), mtime=0), "compressed (gzip): unpack it"),
        (RATE.encode("utf-16"), "text in UTF-16: save it as UTF-8"),
        (b"<!DOCTYPE html><html>", "a web page"),
        (b"name,price\napple,1\n", "It begins 'name,price'; expected"),
        (b"x" * 500, "It begins '" + "x" * 80 + "...'"),
        (b"99,00,053,0.1,0.1,,,20070101,29991231\n", "the state 99, which is no state's FIPS"),
        (b"\xff\xfd\x00\x01" * 100, "has no known form"),
    ],
)
def test_what_is_none_of_the_forms_is_refused_with_its_first_line(file, content, message):
    with pytest.raises(FileRefused) as refused:
        recognise(file("some.file", content), FIPS)
    assert message in str(refused.value)
    assert "some.file" in str(refused.value)


def test_a_file_that_is_not_there_says_so(tmp_path):
    with pytest.raises(FileRefused, match="cannot be read: No such file"):
        recognise(tmp_path / "absent.csv", FIPS)


@given(st.text())
def test_any_text_is_a_form_or_is_refused(text):
    try:
        found = recognise_text(text, "some.csv", FIPS)
    except FileRefused:
        found = None
    assert found is None or (found[0] in FORMS and found[1] in FIPS.values())


ONE = line("4", zips="55401", plus4="1-9", **MINNEAPOLIS)
OAK = {"zip5": "55402", "street": "|OAK|AVE|", "numbers": "1-99"}
AT_OAK = {"street": "5 Oak Ave", "city": "Minneapolis", "zip": "55402"}


@pytest.mark.parametrize(
    ("filed", "written"),
    [("00,053", "0,53"), ("00,053", "0,053"), ("01,43000", "1,43000")],
)
def test_a_code_of_the_rate_file_means_the_same_however_it_is_padded(asking, filed, written):
    ask = asking(ONE, rates=RATES.replace(f",{filed},", f",{written},"))
    assert told(ask(zip="55401-0001")) == ("zip4", "exact", 9_025)


def test_a_code_in_small_letters_is_the_one_in_capitals(asking):
    rates = f"{RATES}27,63,ab-1,0.01,0.01,,,20200101,29991231\n"
    ask = asking(line("4", zips="55401", plus4="1-9", specials=["Ab-1"]), rates=rates)
    assert told(ask(zip="55401-0001")) == ("zip4", "exact", 7_875)


@pytest.mark.parametrize("again", ["45:27", "00:053", "01:43000", "63:80004"])
def test_what_a_record_names_again_among_its_districts_counts_once(asking, again):
    record = {**MINNEAPOLIS, "specials": [*METRO, again]}
    ask = asking(line("4", zips="55401", plus4="1-9", **record))
    assert told(ask(zip="55401-0001")) == ("zip4", "exact", 9_025)


@pytest.mark.parametrize("specials", [[], ["00001"], ["L9999"]])
def test_a_record_of_washington_without_a_known_location_code_says_nothing(asking, specials):
    record = line("4", state="53", zips="98101", plus4="1-9", county="033", specials=specials)
    answer = asking(record, rates="", state="WA")(zip="98101-0001")
    assert told(answer) == ("zip5", "medium", 10_550)  # as without the file, not the state alone
    assert "districts_not_covered" in codes(answer)


def test_two_rates_from_the_same_day_are_listed_and_never_sure(asking, take, file):
    twice = f"{RATES}27,00,053,0.01,0.01,,,20070101,29991231\n"
    answer = asking(ONE, rates=twice)(zip="55401-0001")
    assert answer.confidence == "medium"
    assert "source_conflict" in codes(answer)
    (done,) = take(file("MNR2026Q2FEB18.csv", twice))
    (listed,) = [one for one in done.findings if one.kind == "conflict"]
    assert listed.subject == "line 11"
    assert "two rows from 20070101 with different rates" in listed.message


@pytest.mark.parametrize(("side", "numbers"), [("", "1-99"), ("X", "1-99"), ("B", "99-1")])
def test_a_record_that_does_not_say_its_houses_is_kept_as_a_possibility(asking, side, numbers):
    vague = line("A", **(OAK | {"side": side, "numbers": numbers}), **ST_PAUL)
    ask = asking(vague, line("A", **OAK, **HENNEPIN))
    answer = ask(**AT_OAK)
    assert told(answer) == ("zip5", "medium", 8_375)
    note = next(n for n in answer.advisories if n["code"] == "zip_spans_jurisdictions")
    assert (note["lowest_combined_rate"], note["highest_combined_rate"]) == ("0.08375", "0.08525")


def test_a_vague_record_leaves_other_streets_and_its_own_composition_sure(asking):
    vague = line("A", **(OAK | {"side": ""}), **HENNEPIN)
    ask = asking(
        vague,
        line("A", **OAK, **HENNEPIN),
        line("A", **(OAK | {"street": "|ELM|ST|"}), **ST_PAUL),
        line("4", zips="55402", plus4="1-9", **MINNEAPOLIS),
    )
    assert told(ask(**AT_OAK)) == ("address", "exact", 8_525)
    assert told(ask(**(AT_OAK | {"street": "5 Elm St"}))) == ("address", "exact", 8_375)
    elsewhere = ask(**(AT_OAK | {"street": "500 Oak Ave", "zip": "55402-0001"}))
    assert told(elsewhere) == ("zip4", "exact", 9_025)


def test_vague_records_are_listed_with_their_lines(take, file):
    rates = file("MNR2026Q2FEB18.csv", RATES)
    vague = line("A", **(OAK | {"side": ""}), **HENNEPIN)
    _, done = take(rates, file("MNB2026Q2FEB18.csv", ONE + vague * 30))
    left = [(one.subject, one.message) for one in done.findings if one.kind == "settled"]
    assert left[0][0] == "30 address records without their houses"
    assert left[1][0] == "line 2"
    assert "column 6 (odd/even) holds ''; expected O (odd)" in left[1][1]
    assert len(left) == 26


def test_a_house_of_which_only_suites_have_records_is_not_exact_without_a_suite(asking):
    ask = asking(line("A", **OAK, unit="STE|200-299|B", **MINNEAPOLIS))
    assert told(ask(**AT_OAK)) == ("address", "high", 9_025)
    with_suite = ask(**(AT_OAK | {"street": "5 Oak Ave Ste 250"}))
    assert told(with_suite) == ("address", "exact", 9_025)


def test_a_plus4_goes_before_a_street_that_was_not_said_in_full(asking):
    ask = asking(
        line("A", **(OAK | {"street": "N|OAK|AVE|"}), **HENNEPIN),
        line("4", zips="55402", plus4="1-9", **ST_PAUL),
    )
    assert told(ask(**AT_OAK)) == ("address", "high", 8_525)
    assert told(ask(**(AT_OAK | {"zip": "55402-0001"}))) == ("zip4", "exact", 8_375)


@pytest.mark.parametrize("columns", [38, 35, 29])
def test_a_last_line_that_is_cut_off_is_broken(take, file, columns):
    rates = file("MNR2026Q2FEB18.csv", RATES)
    cut = ",".join(ONE.split(",")[:columns])
    with pytest.raises(BrokenLine, match=f"line 2: it ends after {columns} columns, the line"):
        take(rates, file("MNB2026Q2FEB18.csv", ONE + cut))
    take(file("MNB2026Q2FEB18.csv", ONE + ONE.rstrip("\n")))  # a whole line needs no end


def test_a_rate_file_in_windows_letters_with_commas_at_its_ends_and_far_days(take, file, percent):
    text = RATES.replace("29991231", "22001231").replace("\n", ",,\r\n")
    (done,) = take(file("MNR2026Q2FEB18.csv", b"\xef\xbb\xbf" + text.encode()))
    assert done.edition.rows == 10
    assert percent("MN", location="Minneapolis", day=DAY) == 9.025


def test_a_part_of_a_boundary_file_takes_no_ones_place_without_force(take, file, ask):
    whole = "".join(generated_lines(1_200))
    take(file("MNR2026Q2FEB18.csv", RATES), file("MNB2026Q1FEB18.csv", whole))
    before = told(ask("MN", zip="55020", day=DAY))
    part = file("MNB2026Q2FEB18.csv", "".join(whole.splitlines(keepends=True)[:400]))
    with pytest.raises(FileRefused, match=r"400 records, less than half .* --force"):
        take(part, fewer=False)
    assert told(ask("MN", zip="55020", day=DAY)) == before
    assert take(part)[0].edition.rows == 400


def test_rows_that_another_release_wrote_are_read(take, file, own, percent):
    """A later release had one column more, an earlier one had not the last ones."""
    take(file("MNR2026Q2FEB18.csv", RATES))
    before = percent("MN", location="Minneapolis", day=DAY)
    connection = open_own_book(own, write=True)
    (edition,) = editions(connection)
    for name, text in own_tables(connection, edition.id).items():
        rows = [row.split(",") for row in text.splitlines()]
        if name == "areas":
            rows = [row[: rows[0].index("lacks")] for row in rows]
        rows = [[*row, "new" if number else "added"] for number, row in enumerate(rows)]
        if name not in {"states", "sources", "rates"}:  # those have commas within their fields
            connection.execute(
                "UPDATE tables SET csv = ? WHERE name = ?",
                ("".join(",".join(row) + "\n" for row in rows), name),
            )
    connection.execute("UPDATE editions SET loaded_at = '2026-01-01'")  # it is read anew
    connection.close()
    assert percent("MN", location="Minneapolis", day=DAY) == before


def test_rows_without_what_is_needed_are_named_with_the_way_out(take, file, own):
    take(file("MNR2026Q2FEB18.csv", RATES))
    connection = open_own_book(own, write=True)
    connection.execute("UPDATE tables SET csv = replace(csv, 'units', 'u') WHERE name = 'rates'")
    connection.execute("UPDATE editions SET loaded_at = ?", (date(2026, 1, 1).isoformat(),))
    connection.close()
    with pytest.raises(ValueError, match=r"expected the columns .* svc-tools book remove MN"):
        load_book(own=own)


def test_a_last_rate_that_lost_its_digits_is_no_rate_of_texas(take, file):
    lines = (
        "TEXAS\t20264\t00000000\tSTATE\t.0625\n"
        "Abilene\t2221014\t.020000\tTaylor\tn/a\t.000000\n"
        "Addison\t2057176\t.010000\tDallas\tn/a\t.000000\tDallas MTA\t3057994\t.010000"
    )
    with pytest.raises(BrokenLine, match=r"line 3: the file ends with '\.01'; expected a rate as"):
        take(file("taxrates.txt", lines[:-4]))
    assert take(file("taxrates.txt", lines))[0].edition.rows == 2


def test_the_star_of_a_new_rate_is_no_part_of_a_citys_name(take, file, ask):
    text = "Location,Rate,County,Type\nAdelanto*,0.0825,San Bernardino,City\n"
    take(file("ca_cdtfa_2026-04-01.csv", text))
    assert ask("CA", location="Adelanto", day=DAY).chosen.combined == 8_250


@pytest.mark.parametrize(
    ("numbers", "answered"),
    [
        ("2-40", ("address", "exact", 8_525)),
        ("2-60", ("address", "medium", 8_375)),  # on both sides of the line
        ("2-900", ("address", "high", 8_525)),  # of the last no record is known
    ],
)
def test_several_house_numbers_are_where_the_first_and_the_last_are(asking, numbers, answered):
    ask = asking(
        line("A", **(OAK | {"numbers": "1-50"}), **HENNEPIN),
        line("A", **(OAK | {"numbers": "51-99"}), **ST_PAUL),
    )
    assert told(ask(**(AT_OAK | {"street": f"{numbers} Oak Ave"}))) == answered


def test_a_title_above_the_lines_of_texas_is_passed_over(take, file):
    city = "Abilene\t2221014\t.020000\tTaylor\tn/a\t.000000\n"
    text = f"Sales tax rates\n\nTEXAS\t20264\t0\tSTATE\t.0625\n{city}"
    (done,) = take(file("taxrates.txt", text))
    assert (done.edition.edition, done.edition.rows) == ("2026Q4", 1)
