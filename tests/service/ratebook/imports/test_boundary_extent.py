"""`exact` is claimed of a state only where records in force hold enough of its ZIPs."""

from __future__ import annotations

import pytest
from support.boundary_books import ENDED, ST_PAUL, asking_in
from support.boundary_files import line

from svc_tools.service.ratebook import load_book

EXACT = "the whole rate, by ZIP+4 and address: rate and boundary files"


@pytest.fixture(scope="module")
def zips():
    return sorted(load_book().zips.state("MN"))


def minnesota(book):
    (found,) = [one for one in book.freshness()["states"] if one["state"] == "MN"]
    return found["confidence"], found["covers"], found["missing"]


@pytest.fixture
def told(tmp_path):
    def told(*lines):
        asking_in(tmp_path, *lines)
        return minnesota(load_book(own=tmp_path / "book.db"))

    return told


def test_records_that_all_ended_before_the_quarter_claim_nothing(told, zips):
    lines = [line("Z", zips=one, **ENDED) for one in zips]
    confidence, covers, missing = told(*lines)
    usual, without, lacks = minnesota(load_book())
    every = f"{len(zips):,}"
    assert confidence == usual == "high"
    assert covers == f"{without}; by boundary records in 0 of {every} ZIPs"
    assert missing.startswith("City limits are those of the Census places")
    assert missing.endswith(f" {every} of {every} ZIPs have no boundary record in force.")
    assert "boundary" not in lacks


def test_records_that_begin_after_the_quarter_claim_nothing(told, zips):
    assert told(line("Z", zips=f"{zips[0]}-{zips[-1]}", begins="20260701"))[0] == "high"


def test_records_of_half_of_the_zips_are_enough_and_those_without_are_counted(told, zips):
    half = (len(zips) + 1) // 2
    confidence, covers, missing = told(*(line("Z", zips=one, **ST_PAUL) for one in zips[:half]))
    assert (confidence, covers) == ("exact", EXACT)
    rest = len(zips) - half
    assert f"{rest:,} of {len(zips):,} ZIPs have no boundary record in force." in missing


def test_records_of_less_than_half_of_the_zips_are_not_enough(told, zips):
    few = (len(zips) - 1) // 2
    confidence, covers, _ = told(*(line("Z", zips=one, **ST_PAUL) for one in zips[:few]))
    assert confidence == "high"
    assert covers.endswith(f"by boundary records in {few:,} of {len(zips):,} ZIPs")


def test_records_of_every_kind_count_and_a_zip_counts_once(told, zips):
    first, second, third, fourth, fifth, *_ = zips
    lines = (
        line("Z", zips=first),
        line("Z", zips=first, begins="20200101"),
        line("4", zips=first, plus4="0001-0009"),
        line("4", zips=second, plus4="0001-0009"),
        line("A", zip5=third, street="|MAIN|ST|", numbers="1-99"),
        line("Z", zips=f"{fourth}-{fifth}"),
        line("Z", zips="99901-99950"),
    )
    inside = sum(fourth <= one <= fifth for one in zips)
    covers = told(*lines)[1]
    assert covers.endswith(f"by boundary records in {3 + inside} of {len(zips):,} ZIPs")


def test_a_range_over_the_whole_state_leaves_nothing_out(told, zips):
    confidence, covers, missing = told(line("Z", zips=f"{zips[0]}-{zips[-1]}", **ST_PAUL))
    assert (confidence, covers) == ("exact", EXACT)
    assert "boundary record" not in missing
