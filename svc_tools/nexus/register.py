"""The user's register of nexus records: read, and checked as a whole. Pure but for opening a CSV.

A record has `state`, `nexus_type`, `registered_at`, `address` and `notes`; only the first two are
needed. Further columns are left alone.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Literal

from svc_tools.places import state_code

__all__ = ["NEXUS_TYPES", "NexusType", "Register", "RegisterError", "Registration", "read_register"]

NexusType = Literal["physical", "economic", "marketplace"]
NEXUS_TYPES: tuple[NexusType, ...] = ("physical", "economic", "marketplace")
"""The types of a record (SPEC 2.7)."""

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
_SHOWN, _PROBLEMS = 40, 10


class RegisterError(ValueError):
    """The register cannot be used as it is.

    Attributes:
        problems: every problem, a sentence each, with the row where there is one.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        shown = "; ".join(self.problems[:_PROBLEMS])
        more = len(self.problems) - _PROBLEMS
        super().__init__(
            f"nexus register: {shown}" + (f"; and {more} more problems" if more > 0 else "")
        )


@dataclass(frozen=True, slots=True)
class Registration:
    """One record of the register.

    Attributes:
        state: the postal code of one of the 50 states or DC.
        nexus_type: physical, economic or marketplace.
        registered_at: the day from which it counts; `None` where the register does not say: it
            then counts for every sale.
        address: where the physical presence is, if the register says.
        notes: what else it says.
        row: the number of the record, from 1; a CSV's header is not counted.
    """

    state: str
    nexus_type: NexusType
    registered_at: date | None = None
    address: str | None = None
    notes: str | None = None
    row: int = 0


@dataclass(frozen=True, slots=True)
class Register:
    """All records, in the register's own order; several of one state and type may be there."""

    records: tuple[Registration, ...]

    @property
    def states(self) -> frozenset[str]:
        """The states that have a record."""
        return frozenset(record.state for record in self.records)

    def begins(self, *of: NexusType) -> dict[str, date | None]:
        """For each state the day of its first record of these types, or of any.

        `None` where one of them has no day.
        """
        days: dict[str, list[date | None]] = {}
        for record in self.records:
            if record.nexus_type in (of or NEXUS_TYPES):
                days.setdefault(record.state, []).append(record.registered_at)
        return {
            state: None if None in found else min(day for day in found if day is not None)
            for state, found in days.items()
        }


def read_register(source: object) -> Register:
    """Read a register: the path of a CSV file (UTF-8, with a header), a frame, or mappings.

    States may be codes or names, types in any case, dates `date` or ISO text. Names of columns
    are understood in any case and with blanks ("Nexus Type").

    Raises:
        RegisterError: a column is missing, or records cannot be read; it lists them all.
        TypeError: it is none of these.
        FileNotFoundError: there is no such file.
    """
    rows = _csv_rows(Path(source)) if isinstance(source, str | Path) else _mappings(source)
    labels = _labels(rows)
    problems: list[str] = []
    records = [_record(number, row, labels, problems) for number, row in enumerate(rows, 1)]
    if problems:
        raise RegisterError(problems)
    return Register(tuple(record for record in records if record is not None))


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


def _csv_rows(path: Path) -> list[dict[str, object]]:
    if not path.is_file():
        raise FileNotFoundError(f"nexus: there is no file {str(path)!r}")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows: list[dict[str, object]] = [dict(row) for row in reader]
            if not rows:
                _labels([dict.fromkeys(reader.fieldnames or ())])
            return rows
    except UnicodeDecodeError:
        raise RegisterError([f"{path.name} is not UTF-8 text; save it as CSV (UTF-8)"]) from None


def _labels(rows: list[dict[str, object]]) -> dict[str, str]:
    """Which column of the register holds which field."""
    columns = dict.fromkeys(label for row in rows for label in row if label is not None)
    labels: dict[str, str] = {}
    problems: list[str] = []
    for field, names in _NAMES.items():
        found = [label for label in columns if _plain(label) in names]
        exact = [label for label in found if _plain(label) == field]
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


def _plain(label: object) -> str:
    return re.sub(r"[^a-z]+", "_", str(label).strip().lower()).strip("_")


def _record(
    number: int, row: Mapping[str, object], labels: Mapping[str, str], problems: list[str]
) -> Registration | None:
    cells = {field: _cell(row.get(label)) for field, label in labels.items()}
    if all(cell is None for cell in cells.values()):
        return None  # an empty line
    state = _state(cells.get("state"))
    kind = _TYPES.get(" ".join(re.split(r"[\s_-]+", str(cells.get("nexus_type")).casefold())))
    try:
        since = _day(cells.get("registered_at"))
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


def _cell(value: object) -> object | None:
    """A value, or nothing where it is missing: blank text, NaN, NaT."""
    if isinstance(value, str):
        return value.strip() or None
    missing = value is None or str(value) in {"nan", "NaT", "<NA>"}
    return None if missing else value


def _state(value: object) -> str | None:
    code = state_code(value) if isinstance(value, str) else None
    return code if isinstance(code, str) else None


def _day(value: object) -> date | None:
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
    raise ValueError(f"registered_at {str(value)[:_SHOWN]!r} is not a date such as 2026-05-01")


def _said(field: str, cells: Mapping[str, object | None]) -> str:
    value = cells.get(field)
    return f"a missing {field}" if value is None else f"{field} {str(value)[:_SHOWN]!r}"
