"""Shared by the rate book's tests: the shipped book, and small source folders to compile."""

from __future__ import annotations

import csv
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from compile_book.facts import TIERS

from svc_tools.service.ratebook import Answer, NotResolved, Query, load_book, resolve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TODAY = date(2026, 11, 21)
DATED = {"DC": "6.5", "LA": "5.0", "NM": "4.875", "SD": "4.2"}


@pytest.fixture(scope="session")
def book():
    return load_book()


@pytest.fixture(scope="session")
def ask(book) -> Callable[..., Answer]:
    """One lookup in the shipped book, on the day the tests are written for."""

    def ask(state: str, today: date = TODAY, **fields: Any) -> Answer:
        return resolve(book, Query(state=state, **fields), today=today)

    return ask


@pytest.fixture(scope="session")
def refused(ask) -> Callable[..., NotResolved]:
    """One lookup that must come to nothing, and why."""

    def refused(state: str, **fields: Any) -> NotResolved:
        with pytest.raises(NotResolved) as caught:
            ask(state, **fields)
        return caught.value

    return refused


@pytest.fixture
def source_dir(tmp_path) -> Path:
    """The least a book is compiled from: 51 state rates at 5 %, and one ZIP."""
    folder = tmp_path / "sources"
    folder.mkdir()
    states = " ".join(TIERS.values()).split()
    with (folder / "state_rates_2026-07.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        header = "code,name,state_rate_pct,scheduled_change_date,scheduled_change_pct"
        writer.writerow(header.split(","))
        writer.writerows([code, f"Name of {code}", DATED.get(code, "5"), "", ""] for code in states)
    (folder / "zip_county_zcta2020.csv").write_text("zip5,state,county_fips3\n53202,WI,079\n")
    return folder


@pytest.fixture
def book_dir(tmp_path) -> Path:
    return tmp_path / "book"
