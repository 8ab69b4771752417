"""Boundary records over the real rate files, where these are at hand: sums worked by hand."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from support.boundary_files import METRO, MINNEAPOLIS, imported, line

from svc_tools.service.ratebook import Query, load_book, resolve

OFFICIAL = Path(__file__).parents[5] / "shared" / "data" / "official"
DAY = date(2026, 5, 1)

pytestmark = pytest.mark.skipif(
    not OFFICIAL.is_dir(), reason="the official files are not beside this checkout"
)

CASES = [
    # 6.875 + 0.15 + 0.5 + 0.5 + 0.75 + 0.25
    ("MNR2026Q2FEB18.csv", "27", "55401", MINNEAPOLIS, 9_025),
    # 6.875 + 0.15 + 0.5 + 0.75 + 0.25
    ("MNR2026Q2FEB18.csv", "27", "55416", {"county": "053", "specials": METRO}, 8_525),
    # 5 + 0.9 + 2
    ("WIR2026Q2FEB18.csv", "55", "53202", {"county": "079", "place": "53000"}, 7_900),
    ("WIR2026Q2FEB18.csv", "55", "53703", {"county": "025", "place": "48000"}, 5_500),
    # 4 + 3 + 1.9
    ("GAR2026Q2FEB19.csv", "13", "30303", {"county": "121", "place": "04000"}, 8_900),
]


@pytest.mark.parametrize("case", CASES, ids=[f"{file[:2]}-{zip5}" for file, _, zip5, *_ in CASES])
def test_sums_worked_by_hand(tmp_path, case):
    file, fips, zip5, parts, combined = case
    state = file[:2]
    records = tmp_path / f"{state}B2026Q2FEB18.csv"
    street = line("A", state=fips, zip5=zip5, street="|OAK|ST|", numbers="1-99", **parts)
    ranges = line("4", state=fips, zips=zip5, plus4="1-9999", **parts)
    records.write_text(street + ranges)
    own = tmp_path / "book.db"
    imported(own, OFFICIAL / file, records)
    book = load_book(own=own)
    for asked in ({"zip": f"{zip5}-0001"}, {"address": f"1 Oak Street, Anytown, {state} {zip5}"}):
        answer = resolve(book, Query(state, as_of=DAY, **asked), today=DAY)
        assert answer.chosen.combined == combined
        assert answer.location.via in {"zip4", "address"}
    by_plus4 = resolve(book, Query(state, as_of=DAY, zip=f"{zip5}-0001"), today=DAY)
    assert (by_plus4.confidence, by_plus4.advisories) == ("exact", ())


def test_the_real_sample_answers_the_days_it_holds(tmp_path):
    """All of its hundred records had ended in March 2019."""
    sample = tmp_path / "MNB2026Q2FEB18.csv"
    sample.write_bytes((OFFICIAL / "MNB2026Q2FEB18-sample.csv").read_bytes())
    own = tmp_path / "book.db"
    *_, done = imported(own, OFFICIAL / "MNR2026Q2FEB18.csv", sample)
    assert done.edition.rows == 100
    book = load_book(own=own)

    def ask(day, **query):
        answer = resolve(book, Query("MN", as_of=day, **query), today=DAY)
        return answer.location.via, answer.confidence, answer.chosen.combined

    then = date(2019, 3, 31)
    assert ask(then, zip="55101-1610") == ("zip4", "exact", 6_875 + 250)
    assert ask(then, zip="55101-1611") == ("zip4", "exact", 6_875 + 500 + 500)
    assert ask(then, zip="55075-9999")[:2] == ("zip4", "exact")
    assert ask(then, zip="55407") == ("zip5", "high", 6_875 + 150 + 500 + 500)
    assert ask(date(2019, 4, 1), zip="55101-1611")[0] != "zip4"
