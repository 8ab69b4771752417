"""The cleanup plan: one row per record, what is suggested and why, and what the person ticked.

A plan suggests; the person decides: nothing is ticked in advance. `make_plan` makes one,
`read_plan` reads one back after it was ticked in a spreadsheet. Pure; nothing is sent from here.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, get_args

from svc_tools.nexus.problems import ProblemsError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, datetime
    from pathlib import Path

    import pandas as pd

    from svc_tools.nexus.register import NexusType, Registration

__all__ = [
    "ACTIONS",
    "DECISIONS",
    "Action",
    "Decision",
    "Key",
    "Missing",
    "Plan",
    "PlanError",
    "PlanRow",
    "Removal",
]

Decision = Literal["candidate", "review", "keep"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)
"""What a plan suggests, in the order in which it is shown."""
Action = Literal["", "remove", "replace"]
ACTIONS: tuple[Action, ...] = get_args(Action)
Key = int | tuple[str, str]
"""A row by its number, or all rows of one state and type."""


class PlanError(ProblemsError):
    """A plan, or its file, cannot be used as it is.

    Attributes:
        problems: every problem, a sentence each, with the row where there is one.
    """

    of = "plan"


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One record, and what the plan says of it.

    Attributes:
        number: the row of the plan, from 1; it stays the same when a spreadsheet sorts the rows.
        state: the postal code.
        nexus_type: physical, economic or marketplace.
        registered_at: the day of the registration, if known.
        address: the place that gives rise to it, if known.
        notes: what the record says else.
        decision: what is suggested: candidate (for removal), review or keep.
        reasons: codes; `words.REASONS` has a sentence for each.
        why: those sentences.
        evidence: the figures and the source that the suggestion rests on, in a sentence.
        action: what the person ticked: "" (nothing), "remove", or "replace" (remove all records
            of this state and type, then add this one).
        row: the record's number in the register; 0 where only the service has it.
        expected: how many records of this state and type a removal is expected to delete.
    """

    number: int
    state: str
    nexus_type: NexusType
    registered_at: date | None = None
    address: str | None = None
    notes: str | None = None
    decision: Decision = "keep"
    reasons: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    evidence: str = ""
    action: Action = ""
    row: int = 0
    expected: int = 1

    @property
    def key(self) -> tuple[str, NexusType]:
        """What a removal addresses (SPEC 4.1): the state and the type."""
        return self.state, self.nexus_type

    @property
    def record(self) -> Registration:
        """The record as it is in the register."""
        from svc_tools.nexus.register import Registration  # noqa: PLC0415 - register shows plans

        return Registration(
            self.state, self.nexus_type, self.registered_at, self.address, self.notes, self.row
        )


@dataclass(frozen=True, slots=True)
class Missing:
    """A state above its threshold without a record: nothing to remove, and the first to see to."""

    state: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Removal:
    """One removal as it is sent: it addresses a state and a type, never a single record.

    Attributes:
        state: the postal code.
        nexus_type: the type; a removal of the plan always names it.
        rows: the plan's rows of that state and type, all of them.
        keep: the record that is added again afterwards, where one is marked "replace".
        expected: how many records it is expected to delete.
    """

    state: str
    nexus_type: NexusType
    rows: tuple[PlanRow, ...]
    keep: PlanRow | None
    expected: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What could be cleaned up in a register, and why.

    Attributes:
        rows: one per record, candidates first, then those to review, then those to keep.
        plan_id: names the plan; the same whatever is ticked.
        service: the service that it was made for, as `whose` names it; "" for none.
        account: the account, as `whose` names it; never a key; "" for none.
        as_of: the day for which it was made.
        made_at: when it was made, in UTC.
        missing_states: states above their threshold without a record.
    """

    rows: tuple[PlanRow, ...]
    plan_id: str
    service: str
    account: str
    as_of: date
    made_at: datetime
    missing_states: tuple[Missing, ...] = field(default=())

    @property
    def missing(self) -> tuple[str, ...]:
        """A sentence for each state that is above its threshold and has no record."""
        return tuple(one.sentence for one in self.missing_states)

    @property
    def ticked(self) -> tuple[PlanRow, ...]:
        """The rows that the person marked."""
        return tuple(row for row in self.rows if row.action)

    @property
    def counts(self) -> dict[str, int]:
        """How many records there are, of each suggestion, and how many are ticked."""
        found = Counter(row.decision for row in self.rows)
        return {
            "records": len(self.rows),
            **{decision: found[decision] for decision in DECISIONS},
            "missing": len(self.missing_states),
            "ticked": len(self.ticked),
        }

    @property
    def sentence(self) -> str:
        """The counts in words."""
        from svc_tools.nexus.plan_shown import sentence_of  # noqa: PLC0415 - it shows plans

        return sentence_of(self)

    def tick(self, *keys: Key, action: Literal["remove", "replace"] = "remove") -> Plan:
        """The plan with rows marked, by their number or by (state, type).

        Args:
            keys: which rows; a state and type marks all its rows, for a removal takes them all.
            action: "remove", or "replace" for the one of several records that is to stay.

        Raises:
            PlanError: there is no such row.
        """
        if action not in ACTIONS[1:]:
            raise PlanError([f"action {action!r} is none of {', '.join(ACTIONS[1:])}"])
        return self._marked(keys, action)

    def untick(self, *keys: Key) -> Plan:
        """The plan with rows no longer marked; with no argument, none of them.

        Raises:
            PlanError: there is no such row.
        """
        return self._marked(keys or [row.number for row in self.rows], "")

    def checked(self) -> Plan:
        """The plan itself, once what is ticked makes sense together.

        Raises:
            PlanError: "remove" stands at only some records of one state and type, which a removal
                would take all, or others of them were left out; "replace" stands at several of
                them, or where there is only one.
        """
        problems = [
            problem for rows in self._groups().values() for problem in _contradictions(rows)
        ]
        if problems:
            raise PlanError(problems)
        return self

    @property
    def removals(self) -> tuple[Removal, ...]:
        """What is to be sent, in the plan's order: one for each state and type that is ticked.

        Raises:
            PlanError: see `checked`.
        """
        self.checked()
        found = []
        for rows in self._groups().values():
            if any(row.action for row in rows):
                keep = next((row for row in rows if row.action == "replace"), None)
                first = rows[0]
                found.append(
                    Removal(first.state, first.nexus_type, tuple(rows), keep, first.expected)
                )
        return tuple(found)

    def frame(self) -> pd.DataFrame:
        """The plan as a frame: missing states first, then a row per record; see `PlanRow`."""
        from svc_tools.nexus.plan_shown import frame_of  # noqa: PLC0415 - loads pandas

        return frame_of(self)

    def write(self, path: str | Path) -> Path:
        """Write the plan as a CSV file to be ticked in a spreadsheet; `read_plan` reads it back.

        Raises:
            ValueError: it has the name of a workbook.
            OSError: it cannot be written; what was there before is left as it was.
        """
        from svc_tools.nexus.plan_file import write_plan  # noqa: PLC0415 - it reads plans

        return write_plan(self, path)

    def __str__(self) -> str:
        """The plan as text."""
        from svc_tools.nexus.plan_shown import text_of_plan  # noqa: PLC0415 - it shows plans

        return text_of_plan(self)

    def __repr__(self) -> str:
        """One line: the counts."""
        return f"<Plan {self.plan_id}: {self.sentence}>"

    def _repr_html_(self) -> str:
        from svc_tools.nexus.plan_shown import html_of_plan  # noqa: PLC0415 - it shows plans

        return html_of_plan(self)

    def _marked(self, keys: Iterable[Key], action: Action) -> Plan:
        numbers: set[int] = set()
        problems = []
        for key in keys:
            found = [row.number for row in self.rows if key in (row.number, row.key)]
            numbers.update(found)
            if not found:
                problems.append(f"there is no row {key!r}")
        if problems:
            raise PlanError(problems)
        rows = tuple(
            replace(row, action=action) if row.number in numbers else row for row in self.rows
        )
        return replace(self, rows=rows)

    def _groups(self) -> dict[tuple[str, NexusType], list[PlanRow]]:
        groups: dict[tuple[str, NexusType], list[PlanRow]] = {}
        for row in self.rows:
            groups.setdefault(row.key, []).append(row)
        return groups


def _contradictions(rows: list[PlanRow]) -> Iterable[str]:
    """What does not go together in the rows of one state and type."""
    marked = Counter(row.action for row in rows)
    of = f"{rows[0].state} {rows[0].nexus_type}"
    numbers = ", ".join(str(row.number) for row in rows)
    expected = max(row.expected for row in rows)
    duplicate = max(len(rows), expected) > 1
    if marked["replace"] > 1:
        yield f"{of}: several rows are marked 'replace' (of {numbers}); only one record can stay"
    elif marked["replace"] and not duplicate:
        yield (
            f"{of}: row {numbers} is marked 'replace', which is for a state and type with several"
            " records; mark it 'remove', or leave it empty"
        )
    elif marked["remove"] and marked[""] and not marked["replace"]:
        yield (
            f"{of}: a removal takes every record of the state and type (rows {numbers}); mark the"
            " one that is to stay with 'replace', or all of them with 'remove'"
        )
    elif marked["remove"] and len(rows) < expected and not marked["replace"]:
        yield (
            f"{of}: a removal takes every record of the state and type, {expected} of them, and"
            f" only row {numbers} is here: put the rows back that were left out, and mark them too"
        )
