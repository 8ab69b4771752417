"""Importing: what takes the place of what, in which order, and what a damaged book says."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date

import pytest

from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.imports.database import (
    list_editions,
    open_own_book,
    own_signature,
    remove_editions,
)
from svc_tools.service.ratebook.imports.importer import import_files
from svc_tools.service.ratebook.imports.reading import BrokenLine, FileRefused, OwnBookError
from svc_tools.service.ratebook.rating import Absent, rate_area

NOW = date(2026, 5, 1)
IOWA = "19,45,19,0.06,0.06,0,0,20080701,29991231\n19,00,001,0.01,0.01,0.01,0.01,20120101,29991231\n"
NEXT = IOWA.replace("0.01,0.01,0.01,0.01,20120101,29991231", "0.01,0.01,,,20120101,20260630") + (
    "19,00,001,0.015,0.015,,,20260701,29991231\n19,00,003,0.01,0.01,,,20260701,29991231\n"
)
KANSAS = "20,45,20,0.065,0.065,0,0,20150701,99991231\n20,00,045,0.01,0.01,,,20190401,99991231\n"
IOWA_ZIP = "Z,20160101,29991231" + "," * 15 + "50002,,50002,,,19,19,001" + "," * 64 + "\n"
IOWA_ZIPS = IOWA_ZIP.replace("50002,,50002", "50001,,52899")


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


def test_an_older_edition_is_refused_and_taken_by_force(take, file, own):
    take(file("IAR2026Q3MAY1.csv", NEXT))
    old = file("IAR2026Q2FEB1.csv", IOWA)
    with pytest.raises(FileRefused, match=r"your own book has 2026Q3 for IA.*--force"):
        take(old)
    assert [one.edition for one in list_editions(own)] == ["2026Q3"]
    (done,) = take(old, force=True)
    assert done.changes.removed == ("Adams County",)
    assert [one.edition for one in list_editions(own)] == ["2026Q2"]


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


def test_with_boundaries_the_state_is_covered_to_the_address(take, file, own):
    take(file("IAR2026Q2FEB1.csv", IOWA), file("IAB2026Q2FEB1.csv", IOWA_ZIPS))
    (iowa,) = [one for one in load_book(own=own).freshness()["states"] if one["state"] == "IA"]
    assert iowa["confidence"] == "exact"
    assert "ZIP+4 and address" in iowa["covers"]


def test_new_rates_leave_the_boundaries_where_they_are(take, file, own):
    take(file("IAR2026Q2FEB1.csv", IOWA), file("IAB2026Q2FEB1.csv", IOWA_ZIP))
    take(file("IAR2026Q3MAY1.csv", NEXT))
    found = {one.kind: one.edition for one in list_editions(own)}
    assert found == {"rates": "2026Q3", "boundary": "2026Q2"}


def test_files_before_a_broken_one_stay_and_those_after_it_do_not_come(take, file, own):
    broken = file("KSR2026Q2FEB1.csv", KANSAS + "20,00\n")
    good, never = (
        file("IAR2026Q2FEB1.csv", IOWA),
        file("TNR2026Q2FEB1.csv", "47,45,47,0.07,0.07,,,20130701,29991231\n"),
    )
    steps = import_files([good, broken, never], own, today=NOW, fewer=True, force=True)
    assert next(steps).edition.state == "IA"
    with pytest.raises(BrokenLine, match=r"KSR2026Q2FEB1.csv, line 3: 2 columns"):
        next(steps)
    assert [one.state for one in list_editions(own)] == ["IA"]


def test_a_file_that_is_unknown_stops_all_before_any_is_read(take, file, own):
    with pytest.raises(FileRefused, match=r"notes\.txt is none of the known forms"):
        take(file("IAR2026Q2FEB1.csv", IOWA), file("notes.txt", "hello\n"))
    assert not own.exists()


def test_progress_ends_with_the_whole_file(take, file):
    told = []
    rates, boundary = file("IAR2026Q2FEB1.csv", IOWA), file("IAB2026Q2FEB1.csv", IOWA_ZIP)
    take(rates, boundary, told=lambda *given: told.append(given))
    assert (rates, len(IOWA), len(IOWA)) in told
    assert told[-1] == (boundary, len(IOWA_ZIP), len(IOWA_ZIP))


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


def test_importing_the_file_again_mends_it(damaged, take, file, ask):
    (done,) = take(file("IAR2026Q2FEB1.csv", IOWA))
    assert not done.repeated
    assert ask("IA", location="Adair County", day=NOW).chosen.combined == 7000
    assert ask("KS", location="Douglas County", day=NOW).chosen.combined == 7500


def test_taking_the_state_out_mends_it_too(damaged, ask):
    remove_editions(damaged, "IA")
    shipped = ask("IA", location="Adair County", day=NOW)
    assert shipped.simple()["meta"]["edition"] == "2026Q4"
    assert ask("KS", location="Douglas County", day=NOW).chosen.combined == 7500


def test_a_file_that_is_no_database_is_an_error_and_not_the_shipped_book(own):
    own.parent.mkdir()
    own.write_bytes(b"x" * 5000)
    with pytest.raises(OwnBookError, match="is damaged"):
        load_book(own=own)


def test_damaged_pages_are_named_by_reading_and_importing(take, file, own):
    path = file("IAR2026Q2FEB1.csv", IOWA)
    take(path)
    data = own.read_bytes()
    own.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    with pytest.raises(OwnBookError, match="is damaged"):
        load_book(own=own)
    with pytest.raises(OwnBookError, match="is damaged"):
        take(path)


def test_reading_leaves_no_sign(take, file, own):
    take(file("IAR2026Q2FEB1.csv", IOWA))
    before = own_signature(own)
    load_book(own=own)
    assert own_signature(own) == before


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
