"""What the Nexus tab shows and what it asks to be typed: functions of values. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.shown import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from svc_tools.nexus import Plan, PlanRow

__all__ = [
    "Confirmation",
    "Filter",
    "confirmation_of",
    "in_words",
    "page_of",
]

DECISIONS = {"candidate": "Candidate", "review": "Review", "keep": "Keep"}
"""A decision of the plan, as the tab writes it."""

_NAMED = 3
"""So many states are named in a sentence; more of them are counted."""


def in_words(names: Sequence[str]) -> str:
    """`A`, `A and B`, `A, B and C`."""
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What has to be typed before anything is sent.

    Attributes:
        expected: the text: a state's code, or the number of records.
        prompt: what the person is asked to do, in a sentence.
    """

    expected: str
    prompt: str

    def fits(self, typed: str) -> bool:
        """Whether that is what was typed: blanks around it and the case of letters are free."""
        return bool(self.expected) and typed.strip().upper() == self.expected


def confirmation_of(states: Iterable[str], act: str) -> Confirmation:
    """What to type for records of these states, one for each record: the state, or the count.

    Args:
        states: the state of each record.
        act: what is done to them, such as "remove {}".
    """
    each = list(states)
    distinct = sorted(set(each))
    if not each:
        return Confirmation("", "")
    if len(distinct) == 1:
        state, what = distinct[0], act.format(counted(len(each), "record"))
        return Confirmation(state, f"Type {state}, the state, to {what}.")
    where = in_words(distinct) if len(distinct) <= _NAMED else counted(len(distinct), "state")
    prompt = f"Type {len(each)}, the number of records, to {act.format('them')} in {where}."
    return Confirmation(str(len(each)), prompt)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows of a plan are shown; an empty value lets everything through."""

    decision: str = ""
    state: str = ""
    nexus_type: str = ""
    text: str = ""

    def rows(self, plan: Plan) -> list[PlanRow]:
        """The rows that fit, in the plan's order: candidates first, then those to review."""
        return [row for row in plan.rows if self._fits(row)]

    def _fits(self, row: PlanRow) -> bool:
        words = self.text.casefold().split()
        said = " ".join(
            str(part)
            for part in (
                row.state,
                row.nexus_type,
                row.registered_at,
                row.address,
                row.notes,
                *row.why,
                row.evidence,
            )
            if part
        ).casefold()
        return (
            self.decision in {"", row.decision}
            and self.state in {"", row.state}
            and self.nexus_type in {"", row.nexus_type}
            and all(word in said for word in words)
        )


def page_of(number: int, count: int, size: int) -> tuple[int, int, int]:
    """Which page it is (the nearest that there is), and the first and last row on it, from 0.

    The last is not included.
    """
    pages = max(1, -(-count // size))
    page = min(max(number, 0), pages - 1)
    return page, page * size, min(count, (page + 1) * size)
