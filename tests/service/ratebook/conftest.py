"""Shared by the rate book's tests: the shipped book, and small source folders to compile."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from compile_book.facts import TIERS
from support.compiled import LEAST

from svc_tools.service.ratebook import Answer, NotResolved, Query, load_book, resolve

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TODAY = date(2026, 11, 21)
RATES = {"CA": "0.07250", "MN": "0.06875", "WA": "0.06500"}


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
    """The least a book is compiled from: state rates, 5% but for three, and one ZIP."""
    folder = tmp_path / "sources"
    folder.mkdir()
    states = " ".join(TIERS.values()).split()
    history = [f"{code},{RATES.get(code, '0.05000')},2015-01-01,,certain,law" for code in states]
    head = "state,rate,effective_from,effective_to,certainty,from_kind"
    for name, text in {**LEAST, "state_rate_history.csv": "\n".join([head, *history])}.items():
        (folder / name).write_text(f"{text}\n")
    return folder


@pytest.fixture
def book_dir(tmp_path) -> Path:
    return tmp_path / "book"
