"""The plan as a file that a person ticks in a spreadsheet, and reading it back without trust.

A spreadsheet rewrites what it opens: dates in another form, other separators, rows sorted or left
out. Each row therefore carries a check of what it said when it was written. Whatever still says
the same is read, however it is written; a record that says something else is refused by its row.
The check finds accidents; it is no signature.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from svc_tools.nexus.days_meant import days_meant
from svc_tools.nexus.plan import Missing, Plan, PlanError, PlanRow
from svc_tools.nexus.register_file import nexus_type_of, state_of
from svc_tools.nexus.sheet import (
    cell_of,
    columns_of,
    guarded,
    plain_label,
    sheet_rows,
    write_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from svc_tools.nexus.plan import Action, Decision
    from svc_tools.nexus.register import NexusType

__all__ = ["COLUMNS", "read_plan", "write_plan"]

COLUMNS = (
    "remove",
    "state",
    "nexus_type",
    "registered_at",
    "address",
    "notes",
    "decision",
    "reason",
    "evidence",
    "plan_id",
    "service",
    "account",
    "as_of",
)

_MISSING = "missing"
_AS_OF = "as of "
_ID = re.compile(
    r"(plan-([0-9]{8}T[0-9]{6}Z)-[0-9a-f]{8})\.([0-9]+)\.([0-9]+)\.([0-9]+)\.([0-9a-f]{29})"
)
_CODE = re.compile(r"(?:^|(?<=\.) )([a-z_]+): ")
_REMOVE = {"x", "yes", "y", "1", "1.0", "true", "remove", "\u2713", "\u2714", "\u2611"}
_NOTHING = {"", "no", "n", "0", "0.0", "false", "-"}
_TICKS = "x, yes, 1, true or replace; leave it empty to keep the record"
_SHOWN = 40
_CHANGED = (
    "must stay as the plan has it (a spreadsheet may have rewritten it): put it back, or make the"
    " plan again"
)


def write_plan(plan: Plan, path: str | Path) -> Path:
    """Write a plan; see `Plan.write`.

    Raises:
        ValueError: it has the name of a workbook.
        OSError: it cannot be written; a file that was there is left as it was.
    """
    path = Path(path)
    made_for = (plan.service, plan.account, _AS_OF + plan.as_of.isoformat())
    said = [
        _Said(one.state, "", "", "", "", _MISSING, "", one.sentence, *made_for)
        for one in plan.missing_states
    ]
    lines = [_line("", one, plan.plan_id, (0, 0, 0)) for one in said]
    for row in plan.rows:
        why = " ".join(f"{code}: {words}" for code, words in zip(row.reasons, row.why, strict=True))
        fields = row.record.texts
        one = _Said(*fields, row.decision, why, row.evidence, *made_for)
        lines.append(_line(row.action, one, plan.plan_id, (row.number, row.expected, row.row)))
    write_rows(path, COLUMNS, lines)
    return path


def read_plan(path: str | Path) -> Plan:
    """Read a plan back, as it was ticked: a CSV, or a workbook (`.xlsx`), of which the first sheet.

    Rows may be sorted or left out, and columns added. A tick is x, yes, 1 or true, or "replace"
    at the one of several records that is to stay.

    Raises:
        PlanError: rows were changed, come from several plans, or have marks that are not known or
            contradict one another; it lists them.
        FileNotFoundError: there is no such file.
        ImportError: it is a workbook, and what reads workbooks is not installed.
    """
    path = Path(path)
    cells = sheet_rows(path, refused=lambda said: PlanError([said]), old=True)
    _require_columns(path, cells)
    problems: list[str] = []
    read = [
        one
        for number, row in enumerate(cells, 2)
        if any(cell_of(cell) is not None for cell in row.values())
        and (one := _read_row(number, row, problems)) is not None
    ]
    problems += _together(read)
    if problems:
        raise PlanError(problems)
    if not read:
        raise PlanError([f"{path.name} has no rows; make the plan again"])
    first = read[0]
    rows = sorted((one.row for one in read if one.row is not None), key=lambda row: row.number)
    return Plan(
        tuple(rows),
        first.plan_id,
        first.said.service,
        first.said.account,
        date.fromisoformat(first.said.as_of.removeprefix(_AS_OF)),
        datetime.strptime(first.made_at, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC),
        tuple(Missing(one.said.state, one.said.evidence) for one in read if one.row is None),
    ).checked()


@dataclass(frozen=True, slots=True)
class _Said:
    """What a row says, as texts."""

    state: str
    nexus_type: str
    registered_at: str
    address: str
    notes: str
    decision: str
    reason: str
    evidence: str
    service: str
    account: str
    as_of: str

    def parts(self) -> dict[str, tuple[str, ...]]:
        """What is checked, by the name under which a person knows it."""
        return {
            "state": (self.state,),
            "nexus_type": (self.nexus_type,),
            "registered_at": (self.registered_at,),
            "address": (self.address,),
            "notes": (self.notes,),
            "the suggestion (decision, reason, evidence)": (
                self.decision,
                self.reason,
                self.evidence,
            ),
            "whom the plan is for (service, account, as_of)": (
                self.service,
                self.account,
                self.as_of,
            ),
        }

    def check(self, plan_id: str, numbers: tuple[int, int, int]) -> str:
        """Three hexadecimal digits for each part, and eight over everything."""
        parts = ["\x1f".join(map(_same_text, part)) for part in self.parts().values()]
        whole = "\x1e".join([plan_id, *map(str, numbers), *parts])
        return "".join(_digest(part)[:3] for part in parts) + _digest(whole)[:8]


@dataclass(frozen=True, slots=True)
class _Read:
    """A row that was read, and where."""

    line: int
    plan_id: str
    made_at: str
    said: _Said
    row: PlanRow | None


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _same_text(text: str) -> str:
    """A text as it is compared: blanks and line ends may differ."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _line(action: Action, said: _Said, plan_id: str, numbers: tuple[int, int, int]) -> list[str]:
    mark = ".".join([plan_id, *map(str, numbers), said.check(plan_id, numbers)])
    return [
        "x" if action == "remove" else action,
        said.state,
        said.nexus_type,
        said.registered_at,
        *map(guarded, (said.address, said.notes, said.decision, said.reason, said.evidence)),
        mark,
        *map(guarded, (said.service, said.account, said.as_of)),
    ]


def _require_columns(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    there = columns_of(rows)
    absent = [name for name in COLUMNS if name not in {plain_label(label) for label in there}]
    if absent:
        told = f"{', '.join(absent)} (there are: {', '.join(there) or 'none'})"
        raise PlanError([f"{path.name} is no plan of this tool, or lost columns: no {told}"])


def _read_row(line: int, row: Mapping[str, object], problems: list[str]) -> _Read | None:
    """One row of the file; what is wrong with it goes to `problems`."""
    named = [(plain_label(label), cell_of(cell)) for label, cell in row.items() if label]
    cells = dict(reversed(named))  # of two columns of a name the first is the plan's
    found = _ID.fullmatch(str(cells["plan_id"]))
    if found is None:
        problems.append(
            f"row {line}: {str(cells['plan_id'] or '')[:_SHOWN]!r} in plan_id is not as the plan"
            " was written; a record that was added by hand cannot be removed from here"
        )
        return None
    numbers = (int(found[3]), int(found[4]), int(found[5]))
    said = _said(cells, found[1], numbers, found[6])
    if said.check(found[1], numbers) != found[6]:
        problems.append(f"row {line} ({_named(said)}): {_what_changed(said, found[6])} {_CHANGED}")
        return None
    action = _action(cells["remove"])
    if action is None:
        given = str(cells["remove"])[:_SHOWN]
        problems.append(f"row {line} ({_named(said)}): {given!r} in remove is none of {_TICKS}")
        return None
    if said.decision == _MISSING:
        if action:
            problems.append(
                f"row {line} ({said.state}): there is no record to remove; leave remove empty"
            )
        return _Read(line, found[1], found[2], said, None)
    return _Read(line, found[1], found[2], said, _plan_row(said, numbers, action))


def _said(
    cells: Mapping[str, object | None], plan_id: str, numbers: tuple[int, int, int], check: str
) -> _Said:
    """What a row says; of the days that its date can mean, the one that was written."""
    texts = {name: "" if cells[name] is None else str(cells[name]) for name in _Said.__slots__}
    texts["state"] = state_of(texts["state"]) or texts["state"]
    texts["nexus_type"] = nexus_type_of(texts["nexus_type"]) or texts["nexus_type"]
    days = [day.isoformat() for day in days_meant(cells["registered_at"])]
    meant = [_Said(**(texts | {"registered_at": day})) for day in days]
    return next(
        (one for one in meant if one.check(plan_id, numbers) == check),
        (meant or [_Said(**texts)])[0],
    )


def _what_changed(said: _Said, check: str) -> str:
    names = [*said.parts()]
    now = said.check("", (0, 0, 0))
    starts = range(0, 3 * len(names), 3)
    changed = [
        name
        for name, at in zip(names, starts, strict=True)
        if now[at : at + 3] != check[at : at + 3]
    ]
    return ", ".join(changed) or "the row"


def _named(said: _Said) -> str:
    return f"{said.state} {said.nexus_type}".strip()[:_SHOWN]


def _action(cell: object | None) -> Action | None:
    text = "" if cell is None else str(cell).strip().casefold()
    if text == "replace":
        return "replace"
    return "remove" if text in _REMOVE else "" if text in _NOTHING else None


def _plan_row(said: _Said, numbers: tuple[int, int, int], action: Action) -> PlanRow:
    parts = _CODE.split(said.reason)[1:]
    return PlanRow(
        number=numbers[0],
        state=said.state,
        nexus_type=cast("NexusType", said.nexus_type),
        registered_at=date.fromisoformat(said.registered_at) if said.registered_at else None,
        address=said.address or None,
        notes=said.notes or None,
        decision=cast("Decision", said.decision),
        reasons=tuple(parts[::2]),
        why=tuple(words.strip() for words in parts[1::2]),
        evidence=said.evidence,
        action=action,
        row=numbers[2],
        expected=numbers[1],
    )


def _together(read: list[_Read]) -> Iterable[str]:
    """What is wrong with the rows together."""
    plans = dict.fromkeys(one.plan_id for one in read)
    if len(plans) > 1:
        yield f"the rows are of several plans ({', '.join(plans)}); apply each from its own file"
        return
    seen: dict[object, int] = {}
    for one in read:
        key = one.said.state if one.row is None else one.row.number
        if key in seen:
            yield f"rows {seen[key]} and {one.line} are the same row of the plan; leave one out"
        seen.setdefault(key, one.line)
