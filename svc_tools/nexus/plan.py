"""The cleanup plan: one row per record, what is suggested and why, and what the person ticked.

A plan suggests; the person decides: nothing is ticked in advance. `make_plan` makes one,
`read_plan` reads one back after it was ticked in a spreadsheet. Pure; nothing is sent from here.
"""

# MERGED plan_seen: What a plan takes from an exposure: each state's row as plain values, and its figures told.
# MERGED plan_shown: How a plan reads: as a frame, on a terminal, in a notebook. What needs a person comes first.

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, get_args

from svc_tools.display import NOTHING, Table, as_html, as_text, counted, printable
from svc_tools.nexus.register import ProblemsError, day_column
from svc_tools.nexus.words import DECISION_WORDS, NOT_TICKED_NOTE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pandas as pd

    from svc_tools.nexus.register import NexusType, Registration
    from svc_tools.nexus.thresholds import Threshold

Decision = Literal["candidate", "review", "keep"]
Action = Literal["", "remove", "replace"]
Key = int | tuple[str, str]
"""A row by its number, or all rows of one state and type."""

_NEEDED = ("state", "band", "below_all", "marketplace_only")
_NOT_KNOWN = "not known"

FRAME_COLUMNS = (
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
_HEADS = (">Row", "Record", "Registered at", "Suggestion")
_ELSEWHERE = "The figures and the source behind every row are in frame() and in the file."
_LACKING = "States without a record, above their threshold"

DECISIONS: tuple[Decision, ...] = get_args(Decision)
"""What a plan suggests, in the order in which it is shown."""
ACTIONS: tuple[Action, ...] = get_args(Action)


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
        return text_of_plan(self)

    def __repr__(self) -> str:
        """One line: the counts."""
        return f"<Plan {self.plan_id}: {self.sentence}>"

    def _repr_html_(self) -> str:

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


@dataclass(frozen=True, slots=True)
class Seen:
    """What the exposure says of one state; `None` is what it does not know.

    Attributes: as the columns of `exposure`; `sentence` is its `why`.
    """

    state: str
    band: str
    below_all: bool | None = None
    marketplace_only: bool = False
    below_now: bool | None = None
    period_covered: bool = True
    certainty: str | None = None
    checked_on: date | None = None
    sentence: str = ""
    test: tuple[str, int | None, int | None] | None = None
    """The threshold that was measured against: logic, dollars of sales, transactions."""


def read_exposure(frame: pd.DataFrame) -> dict[str, Seen]:
    """The exposure's rows by state.

    Raises:
        PlanError: it is no exposure: columns are missing, a state has several rows, or a cell
            that is true, false or missing holds something else.
    """
    absent = [name for name in _NEEDED if name not in frame.columns]
    if absent:
        raise PlanError(
            [f"the exposure has no column {', '.join(absent)}; give what exposure() returned"]
        )
    found: dict[str, Seen] = {}
    for row in frame.to_dict("records"):
        seen = _seen({str(name): _known(value) for name, value in row.items()})
        if seen.state in found:
            raise PlanError([f"the exposure has several rows for {seen.state}"])
        found[seen.state] = seen
    return found


def exposed_on(frame: pd.DataFrame) -> date | None:
    """The day for which an exposure was measured, where it says so."""
    told = frame.attrs.get("svc_exposure")
    day = told.get("as_of") if isinstance(told, dict) else None
    return date.fromisoformat(day) if isinstance(day, str) else _day(day)


def evidence_of(
    record: Registration, threshold: Threshold | None, seen: Seen | None, as_of: date
) -> str:
    """The figures and the source that a suggestion rests on, as sentences on one line."""
    since = record.registered_at
    told = [f"Registered since {since}." if since else "The day of the registration is not known."]
    untaxed = threshold is not None and threshold.logic == "none"
    if seen is not None and seen.sentence and not (untaxed and seen.band == "no tax"):
        told.append(seen.sentence)
    if threshold is not None:
        told.append(_threshold(threshold, as_of))
    return " ".join(told)


def other_test(seen: Seen, threshold: Threshold | None) -> str:
    """How the threshold that the exposure measured against is another one; "" where it is not."""
    if seen.test is None or threshold is None:
        return ""
    here = (threshold.logic, threshold.sales, threshold.transactions)
    return "" if seen.test == here else f"{_asks(*seen.test)}, not {_asks(*here)}"


def _threshold(row: Threshold, as_of: date) -> str:
    asks = "none" if row.logic == "none" else _asks(row.logic, row.sales, row.transactions)
    return (
        f"Threshold on {as_of}: {asks}; certainty {row.certainty}, checked {row.checked_on};"
        f" source: {row.source.rstrip('.')}."
    )


def _asks(logic: str, sales: int | None, transactions: int | None) -> str:
    if logic == "none":
        return "no general sales tax"
    amount = f"${sales:,} of sales" if sales is not None else ""
    count = f"{transactions:,} transactions" if transactions is not None else ""
    joined = f" {logic if logic in {'and', 'or'} else 'with'} "
    asks = joined.join(filter(None, (amount, count))) or _NOT_KNOWN
    return f"{asks}; whether transactions count is not known" if logic == "unknown" else asks


def _seen(cells: Mapping[str, object]) -> Seen:
    below, covered = _truth(cells, "below_all"), _truth(cells, "period_covered")
    logic = _text(cells.get("logic"))
    asked = (_whole(cells, "threshold_sales"), _whole(cells, "threshold_transactions"))
    return Seen(
        state=str(cells["state"]),
        band=str(cells["band"]),
        below_all=below,
        marketplace_only=_truth(cells, "marketplace_only") is True,
        below_now=_truth(cells, "below_now"),
        # an exposure that does not say so is not taken to cover it
        period_covered=below is not None if covered is None else covered,
        certainty=_text(cells.get("certainty")),
        checked_on=_day(cells.get("checked_on")),
        sentence=_text(cells.get("why")) or "",
        test=None if logic is None else (logic, *asked),
    )


def _known(value: object) -> object | None:
    """A cell, or `None` where pandas has nothing."""
    return None if value is None or str(value) in {"nan", "NaN", "NaT", "<NA>"} else value


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _truth(cells: Mapping[str, object], name: str) -> bool | None:
    """A cell that is true, false or missing; a text "False" is not taken for true."""
    value = cells.get(name)
    if value is None or value in {True, False}:
        return None if value is None else bool(value)
    raise PlanError([f"the exposure says {value!r} in {name}, which is neither true nor false"])


def _whole(cells: Mapping[str, object], name: str) -> int | None:
    value = cells.get(name)
    return None if value is None else int(Decimal(str(value)))


def _day(value: object) -> date | None:
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else None


def sentence_of(plan: Plan) -> str:
    """How many records there are, what is suggested for them, and how many are ticked."""
    counts = plan.counts
    told = f"{counted(counts['records'], 'record')}: " + ", ".join(
        f"{counts[name]:,} {words}"
        for name, words in (
            ("candidate", "could be removed"),
            ("review", "to look at first"),
            ("keep", "to keep"),
        )
    )
    if counts["missing"]:
        lack = "lacks" if counts["missing"] == 1 else "lack"
        told = f"{counted(counts['missing'], 'state')} {lack} a record; {told}"
    return f"{told}; {counts['ticked'] or 'nothing'} ticked."


def made_for_whom(plan: Plan) -> str:
    """The service that a plan was made for, in words."""
    if not plan.service:
        return "made without a service"
    return f"for {plan.service}" if "://" in plan.service else f"for the {plan.service}"


def frame_of(plan: Plan) -> pd.DataFrame:
    """The plan as a frame, with `FRAME_COLUMNS`.

    States without a record come first (`decision` is "missing", `number` and the record are
    missing). `remove` is what was ticked; `reasons` has the codes, separated by "; ".
    """
    import pandas as pd  # noqa: PLC0415 - nexus works without it

    lacking = [
        (None, "", one.state, None, None, None, None, "missing", "missing", one.sentence, "")
        for one in plan.missing_states
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
        for row in plan.rows
    ]
    frame = pd.DataFrame([*lacking, *rows], columns=[*FRAME_COLUMNS])
    days = day_column(frame["registered_at"])
    kinds = {name: "str" for name in FRAME_COLUMNS if name not in {"number", "registered_at"}}
    return frame.assign(registered_at=days).astype({"number": "Int64", **kinds})


def text_of_plan(plan: Plan) -> str:
    """The plan as plain text, without the sentences of each row."""
    return as_text(plan.sentence, (NOT_TICKED_NOTE,), _tables(plan, evidence=False))


def html_of_plan(plan: Plan) -> str:
    """The plan as HTML: the reasons of each row, and the evidence of what could go; all escaped."""
    return as_html(plan.sentence, (NOT_TICKED_NOTE, _ELSEWHERE), _tables(plan, evidence=True))


def _tables(plan: Plan, *, evidence: bool) -> tuple[Table, ...]:
    tables = []
    if plan.missing_states:
        lacking = tuple((one.state, one.sentence) for one in plan.missing_states)
        tables.append(Table(_LACKING, ("State", "~Why"), lacking))
    if plan.rows:
        ticked = bool(plan.ticked)
        made_for = f"{plan.plan_id}, as of {plan.as_of}, {made_for_whom(plan)}"
        heads = (*_HEADS, *(("Tick",) if ticked else ()), *(("~Why",) if evidence else ()))
        rows = tuple(_cells(row, ticked=ticked, evidence=evidence) for row in plan.rows)
        tables.append(Table(f"Plan {made_for}", heads, rows))
    return tuple(tables)


def _cells(row: PlanRow, *, ticked: bool, evidence: bool) -> tuple[str, ...]:
    telling = row.decision == "candidate" or "differs" in row.reasons
    why = " ".join((*row.why, *((printable(row.evidence),) if telling else ())))
    return (
        f"{row.number:,}",
        f"{row.state} {row.nexus_type}",
        NOTHING if row.registered_at is None else row.registered_at.isoformat(),
        DECISION_WORDS[row.decision],
        *((row.action or NOTHING,) if ticked else ()),
        *((why,) if evidence else ()),
    )
