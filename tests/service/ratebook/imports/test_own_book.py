"""The own book: its database, its history, and lists of single quarters."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.systems import homes, posix

from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.book import by_jurisdiction
from svc_tools.service.ratebook.imports.database import (
    Edition,
    editions,
    list_editions,
    open_own_book,
    remove_editions,
    replacing,
)
from svc_tools.service.ratebook.imports.overlay import continued
from svc_tools.service.ratebook.imports.reading import OwnTables
from svc_tools.service.ratebook.own import OwnBookError, own_book_path, own_signature
from svc_tools.service.ratebook.schema import Area, Jurisdiction, RateRow, Source

FIRST = Edition(
    state="MN",
    kind="rates",
    file="MNR2026Q1NOV20.csv",
    edition="2026Q1",
    covers_from=date(2005, 10, 1),
    covers_until=date(2026, 3, 31),
    digest="a",
    loaded_at=date(2026, 1, 2),
    rows=1,
)
SECOND = Edition(
    "MN", "rates", "b.csv", "2026Q2", date(2026, 4, 1), date(2026, 6, 30), "b", date(2026, 5, 2)
)
BOUNDARY = Edition(
    "MN", "boundary", "c.csv", "2026Q2", date(2026, 4, 1), date(2026, 6, 30), "c", date(2026, 5, 2)
)


def put(own, *found):
    with closing(open_own_book(own, write=True)) as connection:
        for edition in found:
            with replacing(connection, edition) as number:
                connection.execute("INSERT INTO tables VALUES (?, 'rates', 'text')", (number,))


def test_it_lies_in_the_users_data_folder(tmp_path, monkeypatch):
    for name, value in homes(tmp_path).items():
        monkeypatch.setenv(name, value)
    assert own_book_path() == tmp_path / "svc-tools" / "book.db"


@posix
def test_only_its_owner_can_read_it(own):
    put(own, FIRST)
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    assert stat.S_IMODE(own.parent.stat().st_mode) == 0o700
    own.chmod(0o644)
    put(own, FIRST)
    assert stat.S_IMODE(own.stat().st_mode) == 0o600


def test_an_edition_takes_the_place_of_the_older_one_of_its_state_and_kind(own):
    put(own, FIRST, BOUNDARY, SECOND)
    found = list_editions(own)
    assert [(one.kind, one.edition) for one in found] == [
        ("boundary", "2026Q2"),
        ("rates", "2026Q2"),
    ]
    with closing(open_own_book(own)) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM tables").fetchone()
    assert rows == 2


def test_the_id_of_an_edition_that_is_gone_is_never_used_again(own):
    put(own, FIRST)
    (first,) = list_editions(own)
    assert remove_editions(own, "MN") == [first]
    put(own, FIRST)
    (again,) = list_editions(own)
    assert again.id > first.id


def test_what_another_import_brought_meanwhile_is_not_lost(own):
    """A list of one quarter goes on from the edition it was read over."""
    put(own, FIRST)
    (read,) = list_editions(own)
    put(own, SECOND)
    with closing(open_own_book(own, write=True)) as connection:
        for seen in (read.id, 0):
            with (
                pytest.raises(OwnBookError, match=r"changed the rates of MN .* import b.csv again"),
                replacing(connection, SECOND, instead_of=seen),
            ):
                pass
    assert [one.file for one in list_editions(own)] == ["b.csv"]


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, ValueError, SystemExit])
def test_whatever_is_raised_while_replacing_leaves_the_older_edition(own, interruption):
    put(own, FIRST)
    before = list_editions(own)
    with closing(open_own_book(own, write=True)) as connection:
        with pytest.raises(interruption), replacing(connection, SECOND):
            raise interruption
        assert editions(connection) == before
    with closing(open_own_book(own)) as connection:
        assert connection.execute("SELECT csv FROM tables").fetchall() == [("text",)]


WRITER = """
import sys, time
from contextlib import closing
from datetime import date
from pathlib import Path
from svc_tools.service.ratebook.imports.database import Edition, open_own_book, replacing

day = date(2026, 4, 1)
edition = Edition("MN", "rates", "b.csv", "2026Q2", day, day, "b", day)
with closing(open_own_book(Path(sys.argv[1]), write=True)) as connection:
    with replacing(connection, edition) as number:
        for part in range(200):
            row = (number, str(part), "x" * 50_000)
            connection.execute("INSERT INTO tables VALUES (?, ?, ?)", row)
        print("in the middle", flush=True)
        sys.stdin.readline()
"""


@pytest.fixture
def writer(own):
    """Another process, in the middle of replacing the edition; it goes on when told to."""
    put(own, FIRST)
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, own],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "in the middle\n"
        yield process
        process.kill()


def test_a_process_killed_in_the_middle_leaves_the_older_edition(own, writer):
    writer.kill()
    writer.wait()
    assert [one.edition for one in list_editions(own)] == ["2026Q1"]
    put(own, SECOND)
    assert [one.edition for one in list_editions(own)] == ["2026Q2"]


def test_readers_go_on_beside_an_import_and_see_one_moment(own, writer):
    with closing(open_own_book(own)) as reader:
        reader.execute("BEGIN")
        assert [one.edition for one in editions(reader)] == ["2026Q1"]
        writer.communicate("\n")
        assert [one.edition for one in editions(reader)] == ["2026Q1"]
        reader.execute("COMMIT")
        assert [one.edition for one in editions(reader)] == ["2026Q2"]


def test_a_second_import_waits_and_then_says_who_is_in_the_way(own, writer, monkeypatch):
    monkeypatch.setattr("svc_tools.service.ratebook.imports.database._BUSY_SECONDS", 0.05)
    with pytest.raises(OwnBookError, match="is being written by another process"):
        put(own, SECOND)


def test_its_sign_changes_with_every_edition_and_only_then(own):
    assert own_signature(own) is None
    signs = []
    for edition in (FIRST, SECOND, BOUNDARY):
        put(own, edition)
        signs.append(own_signature(own))
        list_editions(own)
        assert own_signature(own) == signs[-1]
    remove_editions(own, "MN")
    signs.append(own_signature(own))
    assert len(set(signs)) == 4


@pytest.mark.parametrize("change", [put, lambda own, _: remove_editions(own, "MN")])
def test_the_file_is_newer_than_a_change_that_is_in_the_log_alone(own, change):
    put(own, FIRST)
    with closing(open_own_book(own)) as reader:  # the last one to close would empty the log
        assert len(editions(reader)) == 1
        os.utime(own, ns=(0, 0))
        change(own, SECOND)
        assert own.stat().st_mtime_ns > 0


def test_boundaries_are_not_left_without_rates(own):
    put(own, FIRST, BOUNDARY)
    with pytest.raises(ValueError, match="boundaries of MN need its rates"):
        remove_editions(own, "MN", "rates")
    assert len(list_editions(own)) == 2
    with pytest.raises(ValueError, match="kind: given 'all', expected rates or boundary"):
        remove_editions(own, "MN", "all")
    remove_editions(own, "MN", "boundary")
    remove_editions(own, "MN", "rates")
    assert list_editions(own) == remove_editions(own, "MN") == []


def test_there_is_no_book_until_something_is_imported(own):
    assert list_editions(own) == remove_editions(own, "MN") == []
    with pytest.raises(FileNotFoundError):
        open_own_book(own)
    assert not own.parent.exists()


def test_a_book_that_was_made_and_never_filled_is_none(own):
    own.parent.mkdir()
    own.write_bytes(b"")
    assert list_editions(own) == []
    put(own, FIRST)
    assert len(list_editions(own)) == 1


@pytest.mark.parametrize("write", [False, True])
def test_a_file_that_is_no_database_is_named(own, write):
    own.parent.mkdir()
    own.write_bytes(b"not a database, " * 500)
    with pytest.raises(OwnBookError, match=r"book\.db is damaged .* import your rate files again"):
        open_own_book(own, write=write)


@pytest.mark.parametrize("write", [False, True])
def test_a_database_of_another_program_or_version_is_left_alone(own, write):
    own.parent.mkdir()
    with closing(sqlite3.connect(own)) as connection:
        connection.execute("CREATE TABLE notes (text)")
    with pytest.raises(OwnBookError, match="database of another program"):
        open_own_book(own, write=write)
    with closing(sqlite3.connect(own)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(OwnBookError, match="schema version 99; this release reads"):
        open_own_book(own, write=write)
    with closing(sqlite3.connect(own)) as connection:
        found = connection.execute("SELECT name FROM sqlite_schema").fetchall()
    assert found == [("notes",)]


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OwnBookError, match="cannot be made or opened"):
        open_own_book(tmp_path / "file" / "book.db", write=True)


FIRST_DAY, LAST = date(2026, 7, 1), date(2026, 9, 30)
EVE = FIRST_DAY - timedelta(days=1)
PARTS = ("WA:city:1", "WA:district:1")
AREA = Area("WA:1", "WA", "city", "One", ("001",), (), ("One",), "0001", 0)
DAYS = st.dates(date(2022, 1, 1), date(2026, 12, 31))


def source(name, since, until):
    return Source(name, name, "", "2026Q3", "", "official", since, until, until)


def row(key, units, begin, end, name):
    return RateRow(key, units, begin, end, None, name, "official", "", None, "")


def tables(parts, rows, name, since, until):
    area = replace(AREA, components=parts)
    return OwnTables(
        [load_book().states["WA"]],
        [source(name, since, until)],
        [Jurisdiction(key, "WA", key.split(":")[1], "1", "One") for key in parts],
        [area],
        rows,
    )


@st.composite
def histories(draw, name="old"):
    """What the book knew: one or two parts, each with a few spans and no hole between them."""
    parts = PARTS[: draw(st.integers(1, 2))]
    rows = []
    for key in parts:
        begins = [date(2022, 1, 1), *sorted(draw(st.sets(DAYS, max_size=3)))]
        ends = [begin - timedelta(days=1) for begin in begins[1:]]
        for begin, end in zip(begins, [*ends, None], strict=True):
            if end is None or begin <= end:
                rows.append(row(key, draw(st.integers(0, 5)), begin, end, name))
    return tables(
        parts, rows, name, date(2022, 1, 1), draw(st.sampled_from([EVE, LAST, date(2026, 3, 31)]))
    )


@st.composite
def lists(draw, name="new"):
    parts = PARTS[: draw(st.integers(1, 2))]
    rows = [row(key, draw(st.integers(0, 5)), FIRST_DAY, None, name) for key in parts]
    return tables(parts, rows, name, FIRST_DAY, LAST)


def total(rates, area, day):
    found = [
        [
            one
            for one in rates.get(part, ())
            if (one.begin or day) <= day and (one.end is None or day <= one.end)
        ]
        for part in area.components
    ]
    assert all(len(rows) <= 1 for rows in found)
    return [sum(one.units for rows in found for one in rows), all(found)]


@given(histories(), lists(), DAYS)
def test_every_day_has_the_rate_of_what_speaks_of_it(before, after, day):
    merged = continued(before, after, FIRST_DAY, LAST)
    (area,) = merged.areas
    old, new, both = map(by_jurisdiction, (before.rates, after.rates, merged.rates))
    expected, said = total(both, area, day)
    assert said  # no part of the area is without a row on any day
    later = [one.begin for rows in old.values() for one in rows if one.begin and one.begin > LAST]
    if day < FIRST_DAY:
        assert expected == total(old, before.areas[0], day)[0]
    elif not later or day < min(later):
        assert expected == total(new, after.areas[0], day)[0]


@given(histories(), lists())
def test_no_two_rows_of_a_part_overlap_and_sources_are_those_in_use(before, after):
    merged = continued(before, after, FIRST_DAY, LAST)
    for rows in by_jurisdiction(merged.rates).values():
        for one, other in pairwise(rows):
            assert one.end is not None
            assert one.end < other.begin
    assert {one.id for one in merged.sources} == {one.source for one in merged.rates}
    assert {one.id for one in merged.jurisdictions} >= set(by_jurisdiction(merged.rates))
