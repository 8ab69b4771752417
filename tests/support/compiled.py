"""A book compiled from small files: what it answers, and what its report says."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from svc_tools.service.ratebook import Answer, Query, load_book, resolve

if TYPE_CHECKING:
    from pathlib import Path

    from compile_book import CompileReport

    from svc_tools.service.ratebook.rating import Rated

__all__ = ["answer", "messages", "rate"]

TODAY = date(2026, 5, 1)


def answer(folder: Path, state: str, **fields: Any) -> Answer:
    """The answer of the book in a folder."""
    return resolve(load_book(folder), Query(state=state, **fields), today=TODAY)


def rate(folder: Path, state: str, **fields: Any) -> Rated:
    """The rates of that answer."""
    return answer(folder, state, **fields).chosen


def messages(report: CompileReport, kind: str) -> list[str]:
    """The findings of one kind, each with its subject."""
    return [f"{found.subject}: {found.message}" for found in report.of_kind(kind)]
