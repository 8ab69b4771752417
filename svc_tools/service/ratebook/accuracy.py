"""How often a book's answers are right: compared with rates that someone else expects."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.expectations import Expected, Unreadable
from svc_tools.service.ratebook.figures import rate_text
from svc_tools.service.ratebook.query import NotResolved, Query
from svc_tools.service.ratebook.resolver import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from svc_tools.service.ratebook.answer import Answer
    from svc_tools.service.ratebook.book import Book

__all__ = ["OUTCOMES", "AccuracyReport", "Difference", "Missing", "Tally", "compare"]

OUTCOMES = ("right", "wrong", "partial", "no_answer")
"""What can become of a row: the rate expected; another one; another one that says of itself that
a part is not known; none."""

LEVELS = ("exact", "high", "medium", "low", "none")
"""Confidence, the strongest first; `none` where there was no answer."""

_SURE = ("exact", "high")
_PARTIAL = frozenset({"local_rates_not_covered", "districts_not_covered"})
_SHOWN = 10


class Difference(NamedTuple):
    """One answer that is not the rate expected; rates in units of 10^-5."""

    line: int
    state: str
    city: str
    zip: str
    expected: int
    found: int
    confidence: str
    warnings: tuple[str, ...]


@dataclass(slots=True)
class Tally:
    """How many rows had which outcome.

    `in_range` counts those wrong answers that named several jurisdictions and whose lowest and
    highest rate have the rate expected between them.
    """

    right: int = 0
    wrong: int = 0
    partial: int = 0
    no_answer: int = 0
    in_range: int = 0

    @property
    def rows(self) -> int:
        """All of them."""
        return self.right + self.wrong + self.partial + self.no_answer

    def add(self, outcome: str, *, in_range: bool = False) -> None:
        """Count one row of an outcome of `OUTCOMES`."""
        setattr(self, outcome, getattr(self, outcome) + 1)
        self.in_range += in_range

    def include(self, other: Tally) -> None:
        """Count all of another's rows too."""
        for name in (*OUTCOMES, "in_range"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def as_dict(self) -> dict[str, int]:
        """The counts by name, for JSON."""
        names = (*OUTCOMES, "in_range")
        return {"rows": self.rows, **{name: getattr(self, name) for name in names}}


@dataclass(slots=True)
class Missing:
    """Rows of a state without an answer: the first reason, and how many there were."""

    such_as: str
    rows: int = 0


@dataclass(slots=True)
class AccuracyReport:
    """What a comparison found.

    Attributes:
        total: every row that could be read.
        by_state: those rows by state.
        by_confidence: those rows by the confidence of the answer.
        worst: the wrong answers that are furthest off, the worst first.
        missing: why there was no answer: how often in a state, and the first reason given.
        unreadable: the first rows that could not be read; `unread` counts them all.
        unread: how many rows could not be read.
    """

    total: Tally = field(default_factory=Tally)
    by_state: dict[str, Tally] = field(default_factory=dict)
    by_confidence: dict[str, Tally] = field(default_factory=dict)
    worst: list[Difference] = field(default_factory=list)
    missing: dict[str, Missing] = field(default_factory=dict)
    unreadable: list[Unreadable] = field(default_factory=list)
    unread: int = 0

    @property
    def wrong_though_sure(self) -> int:
        """How many `exact` or `high` answers were wrong: there should be none."""
        return sum(
            self.by_confidence[level].wrong for level in _SURE if level in self.by_confidence
        )

    def as_dict(self) -> dict[str, object]:
        """The report as plain values for JSON; rates are five-decimal strings."""
        return {
            "total": self.total.as_dict(),
            "by_state": {state: self.by_state[state].as_dict() for state in sorted(self.by_state)},
            "by_confidence": {
                level: self.by_confidence[level].as_dict()
                for level in LEVELS
                if level in self.by_confidence
            },
            "wrong_though_sure": self.wrong_though_sure,
            "worst": [
                one._asdict()
                | {
                    "expected": rate_text(one.expected),
                    "found": rate_text(one.found),
                    "warnings": list(one.warnings),
                }
                for one in self.worst
            ],
            "missing": [
                {"state": state, "rows": one.rows, "such_as": one.such_as}
                for state, one in sorted(
                    self.missing.items(), key=lambda item: (-item[1].rows, item[0])
                )
            ][:_SHOWN],
            "unread": self.unread,
            "unreadable": [one._asdict() for one in self.unreadable],
        }


def compare(
    book: Book,
    rows: Iterable[Expected | Unreadable],
    *,
    day: date,
) -> AccuracyReport:
    """Ask a book for the rate of every row and compare it with the rate expected.

    A row with a city and a ZIP is asked for as an address of that city and ZIP whose street is
    not known; one with either of them as that alone.

    Args:
        book: what answers.
        rows: what is expected.
        day: the day of a row that names none.
    """
    report = AccuracyReport()
    furthest: list[tuple[int, int, Difference]] = []
    codes = {row.name.upper(): code for code, row in book.states.items()}
    for row in rows:
        if isinstance(row, Unreadable):
            report.unread += 1
            if len(report.unreadable) < _SHOWN:
                report.unreadable.append(row)
            continue
        state = codes.get(row.state, row.state)
        in_range = False
        try:
            answer = resolve(book, _query(row, state), today=day)
        except NotResolved as missing:
            outcome, level = "no_answer", "none"
            report.missing.setdefault(state, Missing(missing.message)).rows += 1
        else:
            outcome, level = _outcome(answer, row.units), answer.confidence
            if outcome == "wrong":
                rates = [rated.combined for rated, _ in answer.rated]
                in_range = min(rates) <= row.units <= max(rates)
                _keep(furthest, _difference(answer, row, state))
        for tally in (
            report.total,
            report.by_state.setdefault(state, Tally()),
            report.by_confidence.setdefault(level, Tally()),
        ):
            tally.add(outcome, in_range=in_range)
    report.worst = [one for _, _, one in sorted(furthest, reverse=True)]
    return report


def _query(row: Expected, state: str) -> Query:
    if row.city and row.zip:
        return Query(state, street="", city=row.city, zip=row.zip, as_of=row.as_of)
    if row.zip:
        return Query(state, zip=row.zip, as_of=row.as_of)
    return Query(state, location=row.city, as_of=row.as_of)


def _outcome(answer: Answer, units: int) -> str:
    if answer.chosen.combined == units:
        return "right"
    return "partial" if _PARTIAL.intersection(_codes(answer)) else "wrong"


def _codes(answer: Answer) -> tuple[str, ...]:
    return tuple(str(advisory["code"]) for advisory in answer.advisories)


def _difference(answer: Answer, row: Expected, state: str) -> Difference:
    return Difference(
        row.line,
        state,
        row.city,
        row.zip,
        row.units,
        answer.chosen.combined,
        answer.confidence,
        _codes(answer),
    )


def _keep(furthest: list[tuple[int, int, Difference]], found: Difference) -> None:
    """Keep the differences that are furthest off; of equal ones those that came first."""
    entry = (abs(found.found - found.expected), -found.line, found)
    if len(furthest) < _SHOWN:
        heapq.heappush(furthest, entry)
    else:
        heapq.heappushpop(furthest, entry)
