"""The plan as a CSV file that a person ticks in a spreadsheet, and reading it back.

The first line names the plan, and the service and account that it is for. What is read back is
checked by what it means: codes, dates, numbers, and whether its rows belong together. Whether a
record is still as the plan has it is checked against the service when the plan is applied.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from svc_tools.nexus.plan import DECISIONS, Missing, Plan, PlanError, PlanRow
from svc_tools.nexus.register import (
    NEXUS_TYPES,
    cell_of,
    columns_of,
    day_of,
    guarded,
    nexus_type_of,
    plain_label,
    rows_below,
    sheet_table,
    state_of,
    write_rows,
)
from svc_tools.nexus.words import REASONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from svc_tools.nexus.plan import Action


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
    "row",
    "expected",
    "register_row",
)

_TEXTS = COLUMNS[3:9]
"""What a spreadsheet might compute or rewrite; dates too, for 3/4/2021 has two meanings."""
_MISSING = "missing"
_TITLE = "# svc-tools nexus plan"
_HEADER = re.compile(
    re.escape(_TITLE) + r" \| id=(plan-([0-9]{8}T[0-9]{6}Z)-[0-9a-f]{8})"
    r" \| service=(.*) \| account=(.*) \| as_of=([0-9]{4}-[0-9]{2}-[0-9]{2})"
)
_CODE = re.compile(r"(?:^|(?<=\.) )([a-z_]+): ")
_NUMBER = re.compile(r"([0-9]{1,9})(?:\.0*)?")
_REMOVE = {"x", "yes", "y", "1", "1.0", "true", "remove", "\u2713", "\u2714", "\u2611"}
_NOTHING = {"", "no", "n", "0", "0.0", "false", "-"}
_TICKS = "x, yes, 1, true or replace; leave it empty to keep the record"
_SHOWN = 40


def write_plan(plan: Plan, path: str | Path) -> Path:
    """Write a plan; see `Plan.write`.

    Raises:
        ValueError: it has the name of a workbook.
        OSError: it cannot be written; a file that was there is left as it was.
    """
    path = Path(path)
    # the empty line keeps a spreadsheet that sorts from taking the first line for the headings
    lines = [
        [guarded(text) if name in _TEXTS else text for name, text in row.items()]
        for row in plan_rows(plan)
    ]
    write_rows(path, COLUMNS, lines, above=([plan_header(plan)], []))
    return path


def plan_header(plan: Plan) -> str:
    """The line that names a plan, and the service and account that it is for."""
    return (
        f"{_TITLE} | id={plan.plan_id} | service={plan.service} | account={plan.account}"
        f" | as_of={plan.as_of}"
    )


def plan_rows(plan: Plan) -> list[dict[str, str]]:
    """The rows of a plan as texts, by `COLUMNS`: missing states first, then the records."""
    empty = dict.fromkeys(COLUMNS, "")
    rows = [
        empty | {"state": one.state, "decision": _MISSING, "evidence": one.sentence}
        for one in plan.missing_states
    ]
    for row in plan.rows:
        why = " ".join(f"{code}: {words}" for code, words in zip(row.reasons, row.why, strict=True))
        numbers = (str(number) for number in (row.number, row.expected, row.row))
        action = "x" if row.action == "remove" else row.action
        texts = (action, *row.record.texts, row.decision, why, row.evidence, *numbers)
        rows.append(dict(zip(COLUMNS, texts, strict=True)))
    return rows


def read_plan(path: str | Path) -> Plan:
    """Read a plan back, as it was ticked: a CSV, or a workbook (`.xlsx`), of which the first sheet.

    Rows may be sorted or left out, and columns added. A tick is x, yes, 1 or true, or "replace"
    at the one of several records that is to stay.

    Raises:
        PlanError: the first line is not a plan's, or rows have codes, dates, numbers or marks that
            are not known, or contradict one another; it lists them.
        FileNotFoundError: there is no such file.
        ImportError: it is a workbook, and what reads workbooks is not installed.
    """
    path = Path(path)
    table = sheet_table(path, refused=lambda said: PlanError([said]))
    at = next((at for at, cells in enumerate(table) if any(map(cell_of, cells))), 0)
    header = "".join(str(cell or "") for cell in table[at]) if table else ""
    first, rows = rows_below(table, at + 1)
    labels = columns_of(rows)
    absent = [name for name in COLUMNS if name not in {plain_label(label) for label in labels}]
    if header.startswith(_TITLE) and absent:
        told = f"{', '.join(absent)} (there are: {', '.join(labels) or 'none'})"
        raise PlanError([f"{path.name} has lost columns: no {told}"])
    return plan_of(header, enumerate(rows, first), name=path.name)


def plan_of(header: str, rows: Iterable[tuple[int, Mapping[str, object]]], *, name: str) -> Plan:
    """The plan that its first line and its rows make.

    Args:
        header: the line that `plan_header` made.
        rows: where each row stands, and its cells by the names of `COLUMNS`.
        name: what the plan was read from, for messages.

    Raises:
        PlanError: see `read_plan`.
    """
    made_for = _made_for(header)
    if made_for is None:
        told = f"{name} does not begin with the first line of a plan ({_TITLE} | id=\u2026)"
        whose = "which says for which service and account it is"
        raise PlanError([f"{told}, {whose}: put it back, or make the plan again"])
    problems: list[str] = []
    read: list[tuple[int, PlanRow | Missing]] = []
    for line, row in rows:
        named = [(plain_label(label), cell_of(cell)) for label, cell in row.items() if label]
        cells = dict(reversed(named))  # of two columns of a name the first is the plan's
        if not any(cell is not None for cell in cells.values()):
            continue
        try:
            read.append((line, _row_of(cells)))
        except ValueError as error:
            whose = " ".join(str(cells[key] or "") for key in ("state", "nexus_type")).strip()
            problems.append(f"row {line} ({whose[:_SHOWN]}): {error}")
    problems += _twice(read)
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
        ValueError: a cell has something that no plan has; the message says which.
    """
    texts = {name: "" if cells[name] is None else str(cells[name]) for name in COLUMNS}
    state, kind = state_of(texts["state"]), nexus_type_of(texts["nexus_type"])
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


def _twice(read: Iterable[tuple[int, PlanRow | Missing]]) -> Iterable[str]:
    """What is in the file more than once."""
    seen: dict[int | str, int] = {}
    for line, one in read:
        key = one.number if isinstance(one, PlanRow) else one.state
        if key in seen:
            yield f"rows {seen[key]} and {line} are the same row of the plan; leave one out"
        seen.setdefault(key, line)
