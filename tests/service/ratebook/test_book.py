"""The book in memory: its files, its freshness, its integrity."""

from __future__ import annotations

from datetime import date
from importlib import resources
from itertools import pairwise

import pytest

from svc_tools.service.ratebook import load_book
from svc_tools.service.ratebook.rating import Absent, rate_area
from svc_tools.service.ratebook.schema import LIMITS_FOLDER, TABLES

DATA = resources.files("svc_tools.service.ratebook").joinpath("data")
LIMIT = 12_000_000


def copy(folder):
    folder.mkdir()
    for name in TABLES:
        (folder / name).write_bytes(DATA.joinpath(name).read_bytes())
    (folder / LIMITS_FOLDER).mkdir()
    for file in DATA.joinpath(LIMITS_FOLDER).iterdir():
        (folder / LIMITS_FOLDER / file.name).write_bytes(file.read_bytes())
    return folder


def test_the_shipped_book_is_read_once_and_is_small(book):
    assert load_book() is load_book(None)
    limits = [len(file.read_bytes()) for file in DATA.joinpath(LIMITS_FOLDER).iterdir()]
    assert sum(len(DATA.joinpath(name).read_bytes()) for name in TABLES) + sum(limits) < LIMIT
    assert len(book.states) == 51


def test_a_copied_book_is_the_same_book(book, tmp_path):
    other = load_book(copy(tmp_path / "copy"))
    assert other is not book
    assert (other.digest, other.edition) == (book.digest, book.edition)


def test_another_rate_is_another_digest(book, tmp_path):
    folder = copy(tmp_path / "changed")
    text = (folder / "rates.csv").read_text().replace("NJ,6625", "NJ,6626", 1)
    (folder / "rates.csv").write_text(text)
    assert load_book(folder).digest != book.digest


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("rates.csv", "NJ,6625", "NJ,six", "rates.csv, line {line}:"),
        ("rates.csv", "jurisdiction,", "who,", "rates.csv: expected the columns"),
        ("book.csv", "schema,3", "schema,9", "compile the book again"),
        ("delivery.csv", "2023-04-26", "soon", "delivery.csv, line {line}:"),
        ("rates.csv", "NJ,6625", "TX,6625", "rates.csv: the rows of TX are not together"),
        ("postal.csv", "state,zip", "zip,state", "postal.csv: expected the columns"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, name, old, new, says):
    folder = copy(tmp_path / "damaged")
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new, 1))
    line = text[: text.index(old)].count("\n") + 1
    with pytest.raises(ValueError, match=says.format(line=line)):
        load_book(folder)


@pytest.mark.parametrize("name", TABLES)
def test_a_file_that_is_cut_off_is_named_before_its_rows_are_read(tmp_path, name):
    folder = copy(tmp_path / "cut")
    (folder / name).write_bytes((folder / name).read_bytes()[:-1])
    with pytest.raises(ValueError, match=f"{name} is cut off"):
        load_book(folder)


def test_a_file_that_is_not_there_is_named(tmp_path):
    folder = copy(tmp_path / "partial")
    (folder / "areas.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"areas\.csv is not in"):
        load_book(folder)


def test_every_row_is_within_bounds_and_refers_to_what_exists(book):
    for key, rows in book.rates.items():
        assert key in book.jurisdictions
        for row in rows:
            assert 0 <= row.units <= 25_000
            assert row.source in book.sources
            assert row.begin is None or row.end is None or row.begin <= row.end
        for earlier, later in pairwise(rows):
            assert earlier.end is not None
            assert earlier.end < later.begin
    rated = set(book.rates)
    for area in book.areas.values():
        assert rated.issuperset(area.components)
        assert all((area.state, fips) in book.counties for fips in area.counties)


def test_every_county_of_a_covered_state_has_an_area(book):
    for (state, fips), county in book.counties.items():
        if book.states[state].local in {"county", "city"} and state != "AK":
            assert book.county_areas.get((state, fips)), county


def test_a_county_without_a_rate_of_its_own_says_what_it_lacks(book):
    lacks = {area.state for area in book.areas.values() if area.lacks == "local"}
    without = {area.state for area in book.areas.values() if not area.components}
    assert lacks == without == {"LA", "NM"}


def test_only_rows_of_law_claim_a_day_of_law(book):
    """A row of the local lists that was in force on 2022-01-01 began on a day not known."""
    for row in (row for rows in book.rates.values() for row in rows):
        if row.source in {"local-tables", "co-dr1002-2025-07"}:
            assert row.effective is None or row.note.startswith("corrected by"), row
        if row.begin == date(2022, 1, 1) and "2026q4" in row.source:
            assert row.effective is None, row
        assert row.effective is None or row.begin is None or row.effective <= row.begin, row


def test_from_history_from_on_no_rate_of_a_state_is_unknown(book):
    for entry in book.freshness()["states"]:
        day = date.fromisoformat(entry["history_from"] or "1900-01-01")
        assert date.fromisoformat(entry["oldest_row"] or "1900-01-01") <= day
        for area in (None, *(a for a in book.areas.values() if a.state == entry["state"])):
            found = rate_area(book, entry["state"], area, day)
            if isinstance(found, Absent) or found.lacks == "local":
                continue  # a town that came later, or one whose rate was not known
            assert found.history_from is None, (area, day)


def test_freshness_tells_every_state(book):
    told = book.freshness()
    assert (told["book"]["edition"], told["book"]["digest"]) == ("2026-11-29", book.digest)
    states = {entry["state"]: entry for entry in told["states"]}
    assert list(states) == sorted(book.states)
    keys = ("tier", "history_from", "covered_until", "confidence", "trust")
    expected = {
        "NJ": ("A", "2006-07-15", "2027-06-30", "high", "second_hand"),
        "DC": ("A", "2013-10-01", "2027-06-30", "high", "second_hand"),
        "FL": ("B", "2022-01-01", "2026-12-31", "high", "second_hand"),
        "CA": ("C", "2023-01-01", "2026-09-30", "high", "second_hand"),
        "SC": ("C", "2022-01-01", "2027-04-30", "high", "second_hand"),
        "WA": ("C", "2022-01-01", "2026-12-31", "high", "second_hand"),
        "TX": ("D", "2026-07-01", "2026-09-30", "medium", "third_hand"),
        "CO": ("D", "2025-07-01", "2025-12-31", "medium", "third_hand"),
        "LA": ("D", "2024-04-01", "2023-07-31", "medium", "second_hand"),
        "AK": ("none", "2026-07-01", "2026-10-20", "low", "third_hand"),
    }
    assert {s: tuple(states[s][key] for key in keys) for s in expected} == expected
    assert (states["MN"]["oldest_row"], states["MN"]["history_from"]) == (
        "2005-10-01",
        "2022-01-01",
    )
    assert "boroughs and towns" in states["AK"]["covers"]
    always = {code for code, entry in states.items() if entry["history_from"] is None}
    assert always == {"DE", "MT", "NH", "OR"}
    assert {code for code, entry in states.items() if entry["oldest_row"] is None} == always | {
        "AK"
    }
    tiers = {tier: [e["state"] for e in states.values() if e["tier"] == tier] for tier in "CD"}
    assert " ".join(tiers["C"]) == "AR CA GA IA KS MN ND NE NY OK SC SD TN UT VT WA WV WY"
    assert " ".join(tiers["D"]) == "AL AZ CO ID IL LA MO NM TX"
    assert {entry["loaded_at"] for entry in told["states"]} == {"2026-11-29"}
    whole = {state for state, entry in states.items() if not entry["missing"]}
    # the most that a covered day gets is `high` in DC; since when less, is named
    assert "from 2026-10-01 on" in states["DC"]["missing"]
    assert whole == {s for s, row in book.states.items() if row.tier in {"A", "B"}} - {"DC"}
