"""The file of addresses: what was found is there for good, and nothing that was not written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.examples import examples
from support.systems import posix

from svc_tools.geocoding.addresses import MATCHES, AddressMatch, StreetAddress
from svc_tools.geocoding.store import (
    AddressStore,
    addresses_info,
    addresses_path,
    clear_addresses,
)

DAY = date(2026, 11, 29)
ONE = StreetAddress("1 OAK ST", "AUSTIN", "TX", "78701")
FOUND = AddressMatch("exact", 30.26715, -97.74306, "78701", "AUSTIN", "TX")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results.addresses.db"


def put(path, found, geocoder="census"):
    with AddressStore(path, geocoder) as store:
        store.put(found, DAY)
        return store.notes


def known(path, addresses, geocoder="census"):
    with AddressStore(path, geocoder) as store:
        return store.known(addresses), store.notes


_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
_POINTS = st.floats(-180, 180)


@given(
    st.dictionaries(
        st.builds(StreetAddress, _TEXT, _TEXT, _TEXT, _TEXT),
        st.builds(AddressMatch, st.sampled_from(MATCHES), _POINTS, _POINTS, _TEXT, _TEXT, _TEXT),
        max_size=5,
    )
)
@examples(25, of=200)
def test_what_was_stored_is_read_again_and_nothing_else(tmp_path_factory, found):
    path = tmp_path_factory.mktemp("store") / "results.addresses.db"
    put(path, found)
    assert known(path, found) == (found, [])
    assert known(path, [*found, ONE], "another") == ({}, [])


def test_it_stands_beside_the_cache_and_is_private(tmp_path, monkeypatch):
    assert addresses_path(tmp_path / "july.db") == tmp_path / "july.addresses.db"
    assert addresses_path(str(tmp_path / "july.db")) == tmp_path / "july.addresses.db"
    assert addresses_path(cache=False) is None
    monkeypatch.setenv("SVC_CACHE", str(tmp_path / "mine.sqlite"))
    assert addresses_path() == tmp_path / "mine.addresses.sqlite"
    monkeypatch.setenv("SVC_CACHE", "off")
    assert addresses_path() is None


@posix
def test_only_its_owner_can_read_it(path):
    put(path, {ONE: FOUND})
    assert path.stat().st_mode & 0o77 == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE address SET body = replace(body, '30.26715', '33.26715')",
        "UPDATE address SET address = replace(address, 'AUSTIN', 'DALLAS')",
        "UPDATE address SET match = 'none'",
        "UPDATE address SET day = '2001-01-01'",
        "ALTER TABLE address DROP COLUMN day",
    ],
)
def test_what_is_not_what_was_written_is_never_read(path, statement):
    put(path, {ONE: FOUND})
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute(statement)
    dallas = ONE._replace(city="DALLAS")
    found, notes = known(path, [ONE, dallas])
    assert found == {}
    assert "the file of addresses" in notes[0]
    assert "set aside as results.addresses.damaged-" in notes[0]
    assert put(path, {ONE: FOUND}) == []
    assert known(path, [ONE])[0] == {ONE: FOUND}


def test_a_file_that_is_no_database_is_set_aside(path):
    content = b"not a database at all" * 100
    path.write_bytes(content)
    found, notes = known(path, [ONE])
    assert (found, len(notes)) == ({}, 1)
    assert next(path.parent.glob("*.damaged-*")).read_bytes() == content


def test_the_file_of_another_program_and_of_a_newer_release_stay_as_they_are(path):
    put(path, {ONE: FOUND})
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("PRAGMA user_version = 9")
    found, notes = known(path, [ONE])
    assert (found, len(notes)) == ({}, 1)
    assert "newer release" in notes[0]
    with pytest.raises(ValueError, match="newer release"):
        addresses_info(path)
    other = path.with_name("results.db")
    with closing(sqlite3.connect(other)) as raw, raw:
        raw.execute("CREATE TABLE mine (x)")
    assert "another program's" in put(other, {ONE: FOUND})[0]


def test_a_folder_that_cannot_be_written_costs_a_note(tmp_path):
    (tmp_path / "file").write_text("")
    notes = put(tmp_path / "file" / "results.addresses.db", {ONE: FOUND})
    assert "the run continues without it" in notes[0]


def test_info_and_removal(path):
    assert addresses_info(path).size is None
    assert clear_addresses(path) == 0
    assert not Path(path).exists()
    two, three = ONE._replace(street="2 OAK ST"), ONE._replace(street="3 OAK ST")
    put(path, {ONE: FOUND, two: AddressMatch("tie"), three: AddressMatch("none")})
    put(path, {ONE: FOUND._replace(match="similar")}, "mine")
    first, second = addresses_info(path).geocoders
    assert (first.geocoder, first.addresses, first.exact, first.ties, first.unmatched) == (
        *("census", 3, 1, 1, 1),
    )
    assert (second.geocoder, second.similar, second.oldest) == ("mine", 1, "2026-11-29")
    assert clear_addresses(path, geocoder="mine", unmatched=True) == 0
    assert clear_addresses(path, unmatched=True) == 2
    assert clear_addresses(path, geocoder="census") == 1
    assert known(path, [ONE], "mine")[0] == {ONE: FOUND._replace(match="similar")}
