"""The cleanup plan: a row per record with a suggestion and its reasons, and the user's choices.

A plan only suggests: nothing is ticked in advance, and nothing is removed from here. It is written
as a CSV file to tick in a spreadsheet. The file's first line names the plan, and the service and
account that it is for. `read_plan` checks codes, dates and numbers, and whether the rows belong
together; whether a record is still as the plan has it is checked when the plan is applied.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import dropwhile
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from svc_tools.base.extras import needs
from svc_tools.nexus.notices import DECISION_WORDS, NOT_TICKED_NOTE, REASONS
from svc_tools.nexus.register import (
    NEXUS_TYPES,
    ProblemsError,
    Registration,
    day_column,
    day_of,
    nexus_type_of,
    present_cell,
    read_sheet,
)
from svc_tools.show.display import (
    NOTHING,
    Note,
    Table,
    as_html,
    as_text,
    counted,
    number,
    printable,
    prose,
)
from svc_tools.tables.csv_files import guarded, write_rows
from svc_tools.tables.roles import plain_name
from svc_tools.tables.states import us_state
from svc_tools.tables.text_dtype import text_dtype

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from svc_tools.nexus.register import NexusType

Decision = Literal["candidate", "review", "keep"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)
"""What a plan suggests, in the order in which it is shown."""
Action = Literal["", "remove", "replace"]
ACTIONS: tuple[Action, ...] = get_args(Action)
_Key = int | tuple[str, str]
"""A row by its number, or all rows of one state and type."""

_FRAME_COLUMNS = (
    "number",
    "remove",
    "state",
    "nexus_type",
    "registered_at",
    "address",
    "notes",
    "decision",
    "reasons",
    "why",
    "evidence",
)


class PlanError(ProblemsError):
    """A plan, or its file, cannot be used as it is.

    Attributes:
        problems: every problem, a sentence each, with the row where there is one.
    """

    of = "plan"


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One record, and what is suggested for it.

    Attributes:
        number: the row of the plan, from 1; it stays the same when a spreadsheet sorts the rows.
            In a file the state and the type follow it, so that a column sorted alone is detected.
        state: the postal code.
        nexus_type: physical, economic or marketplace.
        registered_at: the day of the registration, if known.
        address: the place that gives rise to it, if known.
        notes: free text of the record.
        decision: what is suggested: candidate (for removal), review or keep.
        reasons: codes; `notices.REASONS` has a sentence for each.
        why: those sentences.
        evidence: the figures and the source that the suggestion rests on, in a sentence.
        action: what the user ticked: "" (nothing), "remove", or "replace" (remove all records
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
        return Registration(
            self.state, self.nexus_type, self.registered_at, self.address, self.notes, self.row
        )


@dataclass(frozen=True, slots=True)
class Missing:
    """A state above its threshold without a record: nothing to remove, but the most urgent."""

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
        service: the service that it was made for, as `config.account_of` names it; "" for none.
        account: its account, likewise; never a key; "" for none.
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
        """The rows that the user ticked."""
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
        """How many records there are, what is suggested for them, and how many are ticked."""
        counts = self.counts
        text = f"{counted(counts['records'], 'record')}: " + ", ".join(
            f"{counts[name]:,} {words}"
            for name, words in (
                ("candidate", "could be removed"),
                ("review", "to review"),
                ("keep", "to keep"),
            )
        )
        if counts["missing"]:
            lack = "lacks" if counts["missing"] == 1 else "lack"
            text = f"{counted(counts['missing'], 'state')} {lack} a record; {text}"
        return f"{text}; {counts['ticked'] or 'nothing'} ticked."

    def tick(self, *keys: _Key, action: Literal["remove", "replace"] = "remove") -> Plan:
        """The plan with rows marked, by their number or by (state, type).

        Args:
            keys: which rows; a state and type marks all its rows, for a removal takes them all.
            action: "remove", or "replace" for the one of several records that is to stay.

        Raises:
            PlanError: there is no such row.
        """
        if action not in ACTIONS[1:]:
            raise PlanError([f"action {action!r} is not one of {', '.join(ACTIONS[1:])}"])
        return self._marked(keys, action)

    def untick(self, *keys: _Key) -> Plan:
        """The plan with rows no longer marked; with no argument, no row at all.

        Raises:
            PlanError: there is no such row.
        """
        return self._marked(keys or [row.number for row in self.rows], "")

    def checked(self) -> Plan:
        """The plan itself, after its ticks were checked together.

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
        """The removals to send, in the plan's order: one for each state and type that is ticked.

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
        """The plan as a frame with `_FRAME_COLUMNS`.

        States without a record come first (`decision` is "missing"; `number` and the record are
        missing). `remove` is what was ticked; `reasons` has the codes, separated by "; ".
        """
        with needs("A plan as a frame", "pandas"):
            import pandas as pd  # noqa: PLC0415 - nexus works without it
        lacking = [
            (None, "", one.state, None, None, None, None, "missing", "missing", one.sentence, "")
            for one in self.missing_states
        ]
        rows = [
            (
                row.number,
                row.action,
                row.state,
                row.nexus_type,
                row.registered_at,
                row.address,
                row.notes,
                row.decision,
                "; ".join(row.reasons),
                " ".join(row.why),
                row.evidence,
            )
            for row in self.rows
        ]
        frame = pd.DataFrame([*lacking, *rows], columns=[*_FRAME_COLUMNS])
        days = day_column(frame["registered_at"])
        kinds = {
            name: text_dtype() for name in _FRAME_COLUMNS if name not in {"number", "registered_at"}
        }
        return frame.assign(registered_at=days).astype({"number": "Int64", **kinds})

    def write(self, path: str | Path) -> Path:
        """Write the plan as a CSV file to be ticked in a spreadsheet; `read_plan` reads it back.

        Raises:
            ValueError: it has the name of a workbook.
            OSError: it cannot be written; what was there before is left as it was.
        """
        path = Path(path)
        # the empty line keeps a spreadsheet that sorts from taking the first line for the headings
        lines = [
            [guarded(text) if name in _TEXTS else text for name, text in row.items()]
            for row in plan_rows(self)
        ]
        write_rows(path, [[plan_header(self)], [], PLAN_COLUMNS, *lines])
        return path

    def __str__(self) -> str:
        """The plan as text."""
        return as_text(Note(self.sentence, (NOT_TICKED_NOTE,)), *tables_of(self, evidence=False))

    def __repr__(self) -> str:
        """One line: the counts."""
        return f"<Plan {self.plan_id}: {self.sentence}>"

    def _repr_html_(self) -> str:
        elsewhere = "The figures and the source behind every row are in frame() and in the file."
        return as_html(Note(self.sentence, (NOT_TICKED_NOTE, elsewhere)), *tables_of(self))

    def _marked(self, keys: Iterable[_Key], action: Action) -> Plan:
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


def _made_for_whom(plan: Plan) -> str:
    """The service that a plan was made for, in words."""
    if not plan.service:
        return "made without a service"
    return f"for {plan.service}" if "://" in plan.service else f"for the {plan.service}"


def _contradictions(rows: list[PlanRow]) -> Iterable[str]:
    """The contradictions among the ticks of one state and type."""
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


def tables_of(plan: Plan, *, evidence: bool = True) -> tuple[Table, ...]:
    """The states without a record, and the rows of a plan with their reasons, for display."""
    tables = []
    if plan.missing_states:
        lacking = tuple((one.state, one.sentence) for one in plan.missing_states)
        tables.append(
            Table(
                ("State", prose("Why")), lacking, "States without a record, above their threshold"
            )
        )
    if plan.rows:
        ticked = bool(plan.ticked)
        made_for = f"{plan.plan_id}, as of {plan.as_of}, {_made_for_whom(plan)}"
        heads = (
            number("Row"),
            "Record",
            "Registered at",
            "Suggestion",
            *(("Tick",) if ticked else ()),
            *((prose("Why"),) if evidence else ()),
        )
        rows = tuple(_cells(row, ticked=ticked, evidence=evidence) for row in plan.rows)
        tables.append(Table(heads, rows, f"Plan {made_for}"))
    return tuple(tables)


def figures_and_source(evidence: str) -> tuple[str, str]:
    """The figures of a row's evidence, and its sources, which are long: they are shown apart."""
    figures, has_source, source = evidence.partition("; source: ")
    return f"{figures}." if has_source else figures, source


def _cells(row: PlanRow, *, ticked: bool, evidence: bool) -> tuple[str, ...]:
    telling = row.decision == "candidate" or "differs" in row.reasons
    figures = figures_and_source(printable(row.evidence))[0]
    why = " ".join((*row.why, *((figures,) if telling else ())))
    return (
        f"{row.number:,}",
        f"{row.state} {row.nexus_type}",
        NOTHING if row.registered_at is None else row.registered_at.isoformat(),
        DECISION_WORDS[row.decision],
        *((row.action or NOTHING,) if ticked else ()),
        *((why,) if evidence else ()),
    )


PLAN_COLUMNS = (
    "remove",
    "state",
    "nexus_type",
    "registered_at",
    "address",
    "notes",
    "decision",
    "reason",
    "evidence",
    "row",
    "expected",
    "register_row",
)

_TEXTS = PLAN_COLUMNS[3:9]
"""Columns that a spreadsheet might convert; dates too, for 3/4/2021 has two meanings."""
_MISSING = "missing"
_TITLE = "# svc-tools nexus plan"
_HEADER = re.compile(
    re.escape(_TITLE) + r" \| id=(plan-([0-9]{8}T[0-9]{6}Z)-[0-9a-f]{8})"
    r" \| service=(.*) \| account=(.*) \| as_of=([0-9]{4}-[0-9]{2}-[0-9]{2})"
)
_CODE = re.compile(r"(?:^|(?<=\.) )([a-z_]+): ")
_NUMBER = re.compile(r"([0-9]{1,9})(?:\.0*)?")
_ROW = re.compile(r"([0-9]{1,9}) +([A-Z]{2} +[a-z]+)")
"""A row's number with the record that it is of, which no sort of other columns separates."""
_REMOVE = {"x", "yes", "y", "1", "1.0", "true", "remove", "\u2713", "\u2714", "\u2611"}
_NOTHING = {"", "no", "n", "0", "0.0", "false", "-"}
_TICKS = "x, yes, 1, true or replace; leave it empty to keep the record"
_SHOWN = 40


def read_plan(path: str | Path) -> Plan:
    """Read a plan back, as it was ticked: a CSV, or a workbook (`.xlsx`), of which the first sheet.

    Rows may be sorted or left out, and columns added. A tick is x, yes, 1 or true, or "replace"
    at the one of several records that is to stay.

    Raises:
        PlanError: the first line is not a plan's, or rows have codes, dates, numbers or marks that
            are not known, or contradict one another; it lists them.
        FileNotFoundError: there is no such file.
    """
    path = Path(path)
    (_, first), *below = read_sheet(path, PlanError) or [(0, [])]
    header = "".join(str(cell or "") for cell in first)
    below = [*dropwhile(lambda row: all(present_cell(cell) is None for cell in row[1]), below)]
    (_, labels), *rows = below or [(0, [])]
    names = [plain_name(str(label or "")) for label in labels]
    absent = [name for name in PLAN_COLUMNS if name not in names]
    if header.startswith(_TITLE) and absent:
        lost = f"{path.name} has lost columns: no {', '.join(absent)} in the row of their names"
        raise PlanError([f"{lost}; put them back, or make the plan again"])
    problems = [
        f"row {line} has more cells than the header; quote text with commas"
        for line, cells in rows
        if any(present_cell(cell) is not None for cell in cells[len(labels) :])
    ]
    if problems:
        raise PlanError(problems)
    if twice := [name for name in PLAN_COLUMNS if names.count(name) > 1]:
        raise PlanError([_twice(path.name, name, names) for name in twice])
    numbered = (
        (line, {name: present_cell(cell) for name, cell in zip(names, cells, strict=False)})
        for line, cells in rows
    )
    return plan_of(header, numbered, name=path.name)


def _twice(file: str, name: str, names: list[str]) -> str:
    places = " and ".join(str(at) for at, one in enumerate(names, 1) if one == name)
    return (
        f"{file} has several columns {name} (columns {places}): delete or rename those that are not"
        " the plan's"
    )


def plan_of(header: str, rows: Iterable[tuple[int, Mapping[str, object]]], *, name: str) -> Plan:
    """The plan that its first line and its rows make.

    Args:
        header: the line that `plan_header` made.
        rows: where each row stands, and its cells by the names of `PLAN_COLUMNS`.
        name: what the plan was read from, for messages.

    Raises:
        PlanError: see `read_plan`.
    """
    made_for = _made_for(header)
    if made_for is None:
        problem = (
            f"{name} does not begin with the first line of a plan ({_TITLE} | id=\u2026), which"
            " names its service and account: put it back, or make the plan again"
        )
        raise PlanError([problem])
    problems: list[str] = []
    read: list[tuple[int, PlanRow | Missing]] = []
    for line, row in rows:
        cells = {name: present_cell(row.get(name)) for name in PLAN_COLUMNS}
        if not any(cell is not None for cell in cells.values()):
            continue
        try:
            read.append((line, _row_of(cells)))
        except ValueError as error:
            record = " ".join(str(cells[key] or "") for key in ("state", "nexus_type")).strip()
            problems.append(f"row {line} ({record[:_SHOWN]}): {error}")
    problems += _repeated(read)
    if not read and not problems:
        problems.append(f"{name} has no rows; make the plan again")
    if problems:
        raise PlanError(problems)
    records = [one for _, one in read if isinstance(one, PlanRow)]
    return Plan(
        tuple(sorted(records, key=lambda row: row.number)),
        *made_for,
        tuple(one for _, one in read if isinstance(one, Missing)),
    ).checked()


def plan_header(plan: Plan) -> str:
    """The line that names a plan, and the service and account that it is for."""
    return (
        f"{_TITLE} | id={plan.plan_id} | service={plan.service} | account={plan.account}"
        f" | as_of={plan.as_of}"
    )


def plan_rows(plan: Plan) -> list[dict[str, str]]:
    """The rows of a plan as texts, by `PLAN_COLUMNS`: missing states first, then the records."""
    empty = dict.fromkeys(PLAN_COLUMNS, "")
    rows = [
        empty | {"state": one.state, "decision": _MISSING, "evidence": one.sentence}
        for one in plan.missing_states
    ]
    for row in plan.rows:
        why = " ".join(f"{code}: {words}" for code, words in zip(row.reasons, row.why, strict=True))
        numbers = (f"{row.number} {' '.join(row.key)}", str(row.expected), str(row.row))
        action = "x" if row.action == "remove" else row.action
        texts = (action, *row.record.texts, row.decision, why, row.evidence, *numbers)
        rows.append(dict(zip(PLAN_COLUMNS, texts, strict=True)))
    return rows


def _made_for(header: str) -> tuple[str, str, str, date, datetime] | None:
    """The plan's name, service, account, day and moment, of its first line."""
    found = _HEADER.fullmatch(header.strip())
    if found is None:
        return None
    plan_id, moment, service, account, as_of = found.groups()
    try:
        made_at = datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        return plan_id, service, account, date.fromisoformat(as_of), made_at
    except ValueError:
        return None


def _row_of(cells: Mapping[str, object | None]) -> PlanRow | Missing:
    """One row of the plan.

    Raises:
        ValueError: a cell is not valid; the message names it.
    """
    texts = {name: "" if cells[name] is None else str(cells[name]) for name in PLAN_COLUMNS}
    state, kind = us_state(texts["state"]), nexus_type_of(texts["nexus_type"])
    action = _action(texts["remove"])
    decision = texts["decision"].strip()
    if state is None:
        raise ValueError(_wrong(texts, "state", "a US state"))
    if decision == _MISSING:
        if action != "":
            raise ValueError("there is no record to remove; leave remove empty")
        return Missing(state, texts["evidence"])
    if kind is None:
        raise ValueError(_wrong(texts, "nexus_type", f"one of {', '.join(NEXUS_TYPES)}"))
    if action is None:
        raise ValueError(_wrong(texts, "remove", f"one of {_TICKS}"))
    if decision not in DECISIONS:
        expected = ", ".join((*DECISIONS, _MISSING))
        raise ValueError(_wrong(texts, "decision", f"one of {expected}; make the plan again"))
    reasons = tuple(_CODE.findall(texts["reason"]))
    if any(code not in REASONS for code in reasons) or (texts["reason"] and not reasons):
        raise ValueError(_wrong(texts, "reason", "a reason of a plan; make the plan again"))
    if identity := _ROW.fullmatch(texts["row"].strip()):  # an older plan has the number alone
        if identity[2].split() != [state, kind]:
            raise ValueError(
                f"its cells are of two rows of the plan: row says {texts['row'][:_SHOWN]!r}. It was"
                " changed by hand, or columns were sorted or moved without the others: undo that"
            )
        texts["row"] = identity[1]
    number, expected_count, row = (
        _number(texts, name) for name in ("row", "expected", "register_row")
    )
    return PlanRow(
        number=number,
        state=state,
        nexus_type=kind,
        registered_at=day_of(cells["registered_at"]),
        address=texts["address"] or None,
        notes=texts["notes"] or None,
        decision=decision,
        reasons=reasons,
        why=tuple(REASONS[code] for code in reasons),
        evidence=texts["evidence"],
        action=action,
        row=row,
        expected=expected_count,
    )


def _wrong(texts: Mapping[str, str], name: str, expected: str) -> str:
    return f"{texts[name][:_SHOWN]!r} in {name} is not {expected}"


def _action(text: str) -> Action | None:
    text = text.strip().casefold()
    if text == "replace":
        return "replace"
    return "remove" if text in _REMOVE else "" if text in _NOTHING else None


def _number(texts: Mapping[str, str], name: str) -> int:
    found = _NUMBER.fullmatch(texts[name].strip())
    if found is None:
        expected = "a number of the plan; a record that was added by hand cannot be removed here"
        raise ValueError(_wrong(texts, name, expected))
    return int(found[1])


def _repeated(read: Iterable[tuple[int, PlanRow | Missing]]) -> Iterable[str]:
    """A problem for each row that is in the file more than once."""
    seen: dict[int | str, int] = {}
    for line, one in read:
        key = one.number if isinstance(one, PlanRow) else one.state
        if key in seen:
            yield f"rows {seen[key]} and {line} are the same row of the plan; leave one out"
        seen.setdefault(key, line)
