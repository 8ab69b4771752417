"""A register is read and checked as a whole: from a frame, mappings, a CSV or a workbook."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from svc_tools.nexus.register import NEXUS_TYPES, Register, RegisterError, Registration
from svc_tools.nexus.sheet import cell_of, columns_of, plain_label, rows_below, sheet_table
from svc_tools.places import state_code

if TYPE_CHECKING:
    from svc_tools.nexus.register import NexusType

__all__ = ["day_of", "nexus_type_of", "read_register", "state_of"]

_NAMES = {
    "state": {"state", "state_code", "jurisdiction"},
    "nexus_type": {"nexus_type", "type", "nexus"},
    "registered_at": {
        "registered_at",
        "registered",
        "registration_date",
        "registered_on",
        "registered_since",
        "effective_date",
        "start_date",
    },
    "address": {"address"},
    "notes": {"notes", "note", "comment", "comments"},
}
_TYPES: dict[str, NexusType] = {
    "physical": "physical",
    "physical presence": "physical",
    "economic": "economic",
    "economic nexus": "economic",
    "marketplace": "marketplace",
    "marketplace facilitator": "marketplace",
}
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}([T ].*)?")
_TEXT_SHOWN = 40


def read_register(source: object) -> Register:
    """Read a register: the path of a CSV or a workbook, a frame, mappings, or a `Register`.

    A file has a header; of a workbook the first sheet is read. States may be codes or names,
    types in any case, dates `date` or ISO text. Names of columns are understood in any case and
    with blanks ("Nexus Type").

    Raises:
        RegisterError: a column is missing, or records cannot be read; it lists them all.
        TypeError: it is none of these.
        FileNotFoundError: there is no such file.
        ImportError: it is a workbook, and what reads workbooks is not installed.
    """
    if isinstance(source, Register):
        return source
    rows: list[dict[str, object]]
    if isinstance(source, str | Path):
        table = sheet_table(Path(source), refused=lambda said: RegisterError([said]))
        rows = rows_below(table)[1] or [{}]
    else:
        rows = _mappings(source)
    labels = _labels(rows)
    problems: list[str] = []
    records = [_record(number, row, labels, problems) for number, row in enumerate(rows, 1)]
    if problems:
        raise RegisterError(problems)
    return Register(tuple(record for record in records if record is not None))


def state_of(value: object) -> str | None:
    """The postal code of a state that a cell names; `None` for anything else."""
    code = state_code(value) if isinstance(value, str) else None
    return code if isinstance(code, str) else None


def nexus_type_of(value: object) -> NexusType | None:
    """The type that a cell names; `None` for anything else."""
    return _TYPES.get(" ".join(re.split(r"[\s_-]+", str(value).strip().casefold())))


def _mappings(source: object) -> list[dict[str, object]]:
    """The records of a frame or of mappings; a frame is known by what it can do."""
    records = getattr(source, "to_dict", None)
    rows = records("records") if callable(records) else source
    if not isinstance(rows, Iterable) or isinstance(rows, Mapping):
        raise TypeError(f"nexus: expected records, a frame or a path, not {type(rows).__name__}")
    found = []
    for row in rows:
        if not isinstance(row, Mapping):
            raise TypeError(f"nexus: expected a mapping for each record, not {type(row).__name__}")
        found.append(dict(row))
    return found


def _labels(rows: list[dict[str, object]]) -> dict[str, str]:
    """Which column of the register holds which field."""
    columns = columns_of(rows)
    labels: dict[str, str] = {}
    problems: list[str] = []
    for field, names in _NAMES.items():
        found = [label for label in columns if plain_label(label) in names]
        exact = [label for label in found if plain_label(label) == field]
        if len(exact or found) > 1:
            problems.append(f"several columns hold the {field}: {', '.join(map(repr, found))}")
        elif found:
            labels[field] = (exact or found)[0]
        elif rows and field in {"state", "nexus_type"}:
            there = ", ".join(map(str, columns)) or "none"
            problems.append(f"no column {field!r} (there are: {there})")
    if problems:
        raise RegisterError(problems)
    return labels


def _record(
    number: int, row: Mapping[str, object], labels: Mapping[str, str], problems: list[str]
) -> Registration | None:
    cells = {field: cell_of(row.get(label)) for field, label in labels.items()}
    if all(cell is None for cell in cells.values()):
        return None  # an empty line
    state = state_of(cells.get("state"))
    kind = nexus_type_of(cells.get("nexus_type"))
    try:
        since = day_of(cells.get("registered_at"))
    except ValueError as error:
        problems.append(f"row {number}: {error}")
        since = None
    if None in row:
        problems.append(f"row {number} has more cells than the header; quote text with commas")
    if state is None:
        problems.append(f"row {number}: {_said('state', cells)} is no US state")
    if kind is None:
        expected = ", ".join(NEXUS_TYPES)
        problems.append(f"row {number}: {_said('nexus_type', cells)} is none of {expected}")
    if state is None or kind is None:
        return None
    address, notes = (cells.get(field) for field in ("address", "notes"))
    return Registration(
        state,
        kind,
        since,
        None if address is None else str(address),
        None if notes is None else str(notes),
        number,
    )


def day_of(value: object) -> date | None:
    """The day of a cell: a date, or ISO text; `None` for an empty one.

    Raises:
        ValueError: it is something else.
    """
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if isinstance(value, str) and _ISO.fullmatch(value):
        try:
            return datetime.fromisoformat(value).date()
        except ValueError:
            pass
    raise ValueError(f"registered_at {str(value)[:_TEXT_SHOWN]!r} is not a date such as 2026-05-01")


def _said(field: str, cells: Mapping[str, object | None]) -> str:
    value = cells.get(field)
    return f"a missing {field}" if value is None else f"{field} {str(value)[:_TEXT_SHOWN]!r}"
