"""Results that were paid for are read by every later release, from the cache and from lock files.

`tests/data/stored` has caches and a lock file as earlier versions wrote them. They are never
written again: where one of them cannot be read any more, the program is at fault.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from support import answers

from svc_sdk import Svc
from svc_tools.config import source_of
from svc_tools.lookup import cache_store, lock_file
from svc_tools.lookup.cache import Cache, cache_info
from svc_tools.lookup.cache_store import checksum, text_checksum
from svc_tools.lookup.lock_file import LockFileError, read_lock
from svc_tools.lookup.outcomes import Component, Outcome
from svc_tools.tables.places import Place

STORED = Path(__file__).parents[1] / "data" / "stored"
CACHES = sorted(STORED.glob("*/results.db"))
LOCKS = sorted(STORED.glob("*/frozen.svclock"))
AT = datetime(2024, 6, 1, 17, 30, 1, 234567, tzinfo=UTC)
SOLD = date(2024, 5, 1)


found = partial(answers.found, edition="2024-04")
AUSTIN = Place("TX", "zip", zip="78701", as_of=SOLD)
DALLAS = Place("TX", "zip", zip="75201", as_of=SOLD)
CITY = Place("NY", "place", location='Zürich "x", NY', as_of=SOLD)
STREET = Place("WA", "address", address="400 Broad St", city="Seattle", zip="98109", as_of=SOLD)
FULL = Place("CA", "zip", zip="94105", as_of=SOLD)
NOWHERE = Place("TX", "zip", zip="00001", as_of=SOLD)
PARTS = (
    Component("state", "California", "06", 6000),
    Component("county", "San Francisco", "06075", 250),
    Component("district", "Transit", None, 2375),
)
OF_DALLAS = {"resolved_zip": "75201", "resolved_city": "Dallas", "resolved_county": "Dallas"}
OF_SEATTLE = {"resolved_zip": "98109", "resolved_city": "Seattle", "resolved_county": "King"}
OF_A_STATE = dict.fromkeys(("county", "city", "districts", "freight_taxable", *OF_DALLAS), None) | {
    "warnings": ("local_rates_not_covered",),
    "accepted_places": ("A", "B"),
}
RESULTS = {
    AUSTIN: Outcome("ok", None, found()),
    DALLAS: Outcome("ok", None, found(low=6250, high=8250, **OF_DALLAS)),
    CITY: Outcome(
        "partial",
        "local part not covered",
        found(combined=4000, state=4000, confidence="low", resolved_state="NY", **OF_A_STATE),
        "ref-1",
    ),
    STREET: Outcome(
        "ok",
        None,
        found(
            combined=10350,
            state=6500,
            city=3850,
            districts=0,
            resolved_via="address",
            resolved_state="WA",
            **OF_SEATTLE,
        ),
    ),
    FULL: Outcome(
        "ok",
        None,
        found(
            combined=8625,
            state=6000,
            county=250,
            city=0,
            districts=2375,
            resolved_state="CA",
            resolved_zip="94105",
            resolved_city="San Francisco",
            resolved_county="San Francisco",
            components=PARTS,
        ),
    ),
    NOWHERE: Outcome("unresolved", "no such place", None, "ref-2", "not_found"),
}
RESULTS = {
    place: dataclasses.replace(one, looked_up_at=AT, cached=True) for place, one in RESULTS.items()
}


@pytest.fixture
def client():
    """The account that paid for the results; its service has no address that exists."""
    with Svc("svc_sample_key", base_url="https://rates.example") as made:
        yield made


@pytest.fixture(params=CACHES, ids=lambda path: path.parent.name)
def path(request, tmp_path):
    """A copy of a cache of an earlier version."""
    return Path(shutil.copy(request.param, tmp_path))


def stored(path, client, *, now=AT):
    """All that the cache has, and no note: the file is the one that was there."""
    cache = Cache(path, clock=lambda: now)
    results = cache.known(source_of(client), [*RESULTS], detail=False)
    assert cache.notes == []
    assert [one.name for one in path.parent.glob("*.db")] == ["results.db"]
    return results


def edited(path, values_of):
    """Write other values into the rows of a cache, with the checksums that belong to them."""
    with closing(sqlite3.connect(path)) as raw, raw:
        for number, text in raw.execute("SELECT id, text FROM profile").fetchall():
            profile = json.dumps(values_of(json.loads(text), "profile"))
            values = (profile, text_checksum(number, profile), number)
            raw.execute("UPDATE profile SET text = ?, sum = ? WHERE id = ?", values)
        rows = raw.execute("SELECT source, detail, expires, place, body FROM answer").fetchall()
        for source, detail, expires, place, body in rows:
            row = json.dumps(values_of(json.loads(body), place)).encode()
            seal = checksum(source, detail, expires, place, row)
            raw.execute("UPDATE answer SET body = ?, sum = ? WHERE place = ?", (row, seal, place))


def test_the_cache_of_an_earlier_version_is_read(path, client):
    assert stored(path, client) == RESULTS
    (source,) = cache_info(path).sources
    assert (source.service, source.answers, source.full) == ("https://rates.example", 6, 1)


def test_a_frame_pays_for_none_of_it_again(path, client):
    rows = [("TX", "78701"), ("TX", "75201"), ("CA", "94105")]
    frame = pd.DataFrame(rows, columns=["state", "zip"]).assign(sold="2024-05-01")
    rated = frame.svc.lookup(client=client, cache=path, as_of="sold", progress=False)
    assert rated["combined_rate"].map(str).tolist() == ["0.08250", "0.08250", "0.08625"]
    assert rated.attrs["svc"]["lookups"][""]["requests"] == 0
    assert rated.attrs["svc"]["lookups"][""]["cached"] == 3


def test_what_a_shorter_row_lacks_is_missing(path, client):
    edited(path, lambda values, of: values[:9] if of == "profile" else values[:5])
    results = stored(path, client)
    assert results[NOWHERE] == dataclasses.replace(RESULTS[NOWHERE], error_code=None)
    lacking = dict.fromkeys(("city", "districts", "low", "high", *OF_DALLAS, "source", "edition"))
    lacking |= {"accepted_places": (), "components": ()}
    for place in {*RESULTS} - {NOWHERE}:
        before = RESULTS[place].found
        assert results[place].found == dataclasses.replace(before, **lacking)
        assert results[place].status == RESULTS[place].status
        assert results[place].looked_up_at == AT


@pytest.mark.parametrize("of", ["zip TX 78701 2024-05-01", "zip CA 94105 2024-05-01"])
def test_rows_of_every_length_stand_side_by_side(path, client, of):
    edited(path, lambda values, place: values[: -4 if place == of else None])
    results = stored(path, client)
    (short,) = [one for one in RESULTS if cache_store.place_key(one) == of]
    assert results[short].found.combined == RESULTS[short].found.combined
    assert results[short].found.components == ()
    others = {*RESULTS} - {short}
    assert {place: results[place] for place in others} == {one: RESULTS[one] for one in others}


def test_what_a_newer_release_stores_besides_is_left(path, client):
    def longer(values, of):
        known = len(values)  # without a rate
        if of == "profile":
            known = len(cache_store._NO_PROFILE)
        elif values[0]:
            known = cache_store._WHOLE + len(cache_store._LATER)
            values = [*values, [], [], None, None] if len(values) == 12 else values
        return [*values, *[None] * (known - len(values)), "further", None]

    edited(path, longer)
    assert stored(path, client) == RESULTS


@pytest.mark.parametrize("row", [[], [1], [1, 2], {}, "text", None, 7])
def test_what_is_no_row_is_damage(path, client, row):
    edited(path, lambda values, of: values if of == "profile" else row)
    cache = Cache(path, clock=lambda: AT)
    assert cache.known(source_of(client), [*RESULTS], detail=False) == {}
    assert "damaged" in cache.notes[0]


def test_a_cache_of_an_earlier_schema_is_used_on(path, client, monkeypatch):
    step = "ALTER TABLE answer ADD COLUMN further TEXT;\nCREATE TABLE more (number INTEGER);\n"
    known = cache_store.RESULT_FILE
    monkeypatch.setattr(cache_store, "RESULT_FILE", known._replace(steps=(*known.steps, step)))
    assert stored(path, client) == RESULTS
    cache = Cache(path, clock=lambda: AT)
    cache.store(source_of(client), [(AUSTIN, RESULTS[DALLAS])], detail=False)
    assert stored(path, client)[AUSTIN] == RESULTS[DALLAS]
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("PRAGMA user_version").fetchall() == [(2,)]
        assert raw.execute("SELECT count(*) FROM more, answer").fetchall() == [(0,)]


def test_a_cache_without_a_schema_number_is_used_on(path, client):
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("PRAGMA user_version = 0")
    assert stored(path, client) == RESULTS


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("version", [1, 2])
def test_the_lock_file_of_an_earlier_version_is_read(path, version, client, monkeypatch):
    monkeypatch.setattr(lock_file, "_VERSION", version)
    lock = read_lock(path)
    assert lock.results == RESULTS
    assert lock.full == {FULL}
    assert (lock.frozen_at, lock.today, lock.edition) == (
        AT.replace(microsecond=0),
        SOLD,
        "2024-04",
    )
    assert lock.source == source_of(client)
    frame = pd.DataFrame({"state": ["CA"], "zip": ["94105"], "sold": ["2024-05-01"]})
    rated = frame.svc.lookup(locked=path, as_of="sold", detail=True, progress=False)
    assert rated["combined_rate"].map(str).tolist() == ["0.08625"]


def test_a_further_field_of_a_line_is_a_further_version():
    """One of `Found` raises the version of lock files; of another one it is raised with this list.

    What each release knows beyond the first is refused by those before it, as of a newer one.
    """
    first = (
        "answer detail error error_code looked_up_at question status support_reference"
        " accepted_places city_rate combined_district_rate combined_rate components confidence"
        " county_rate edition effective_date effective_date_basis freight_taxable rate_high"
        " rate_low resolved_city resolved_county resolved_state resolved_via resolved_zip source"
        " state_rate warnings code level name rate address as_of city lat lng location mode"
        " state zip"
    )
    known = {*lock_file._Line.model_fields, *lock_file._PART_NAMES.values()}
    known |= {field.name for field in dataclasses.fields(Place)} | {*lock_file._NAMES.values()}
    assert known >= {*first.split()}
    assert len(known - {*first.split()}) + 1 == lock_file._VERSION


def rewritten(path, folder, line, **changes):
    """A lock file with changes of one of its lines, and the digest that belongs to them."""
    lines = path.read_text().splitlines(keepends=True)[:-1]
    lines[line] = json.dumps(json.loads(lines[line]) | changes) + "\n"
    body = "".join(lines).encode()
    made = folder / path.name
    made.write_bytes(
        body + json.dumps({"sha256": hashlib.sha256(body).hexdigest()}).encode() + b"\n"
    )
    return made


@pytest.mark.parametrize(
    ("line", "changes"),
    [(0, {"version": lock_file._VERSION + 1}), (0, {"version": 10**9}), (1, {"further": 1})],
)
def test_a_lock_file_of_a_newer_release_is_refused_as_such(tmp_path, client, line, changes):
    made = rewritten(LOCKS[0], tmp_path, line, **changes)
    frame = pd.DataFrame({"state": ["TX"], "zip": ["78701"]})
    with pytest.raises(LockFileError, match="newer release"):
        frame.svc.lookup(locked=made, progress=False)


@pytest.mark.parametrize("version", [None, True, 0, -1, 1.0, 1.5, "1", [1], {}])
def test_a_version_that_is_no_number_of_one_is_refused(tmp_path, version):
    with pytest.raises(LockFileError, match="version"):
        read_lock(rewritten(LOCKS[0], tmp_path, 0, version=version))
