"""Reading the transcribed local tables: their rows, the corrections to them, district members."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.formats.checks import (
    RowError,
    iso_date,
    percent_text,
    percent_units,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from svc_tools.service.ratebook.formats.report import CompileReport

__all__ = ["VALIDATED", "Span", "TableRow", "Tables", "read_tables"]

VALIDATED = date(2026, 7, 21)
"""The day the tables were last validated."""

_BEGIN = VALIDATED.replace(day=1)
_SINCE = re.compile(r"(?:in force|combined) since (\d{4}-\d{2}-\d{2})")
_CHANGED = re.compile(r"effective (\d{4}-\d{2}-\d{2}), before that the old value")


class Span(NamedTuple):
    """One rate over the days from `begin` to `end`; `effective` is its day of law, if published."""

    units: int
    begin: date
    end: date | None
    effective: date | None
    note: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row of a table.

    Attributes:
        state: two-letter code.
        table: name of the table, such as `TX_CITIES`.
        name: of the county, city or district.
        parents: the county it lies in, then districts it is under.
        zips: ZIPs it is known by.
        spans: its rates, the oldest first, corrections applied.
        corrected: whether a correction replaced the table's figure.
    """

    state: str
    table: str
    name: str
    parents: tuple[str, ...]
    zips: tuple[str, ...]
    spans: tuple[Span, ...]
    corrected: bool

    @property
    def units(self) -> int:
        """The latest rate."""
        return self.spans[-1].units


@dataclass(frozen=True, slots=True)
class Tables:
    """Every readable row, and which localities belong to which district.

    Attributes:
        rows: by state and name of the table, in the order of the file.
        members: by state and name of the district.
        unreadable: names of rows left out, by state.
        file: name of the file of the rows, for reports.
        members_file: name of the file of the members.
    """

    rows: dict[tuple[str, str], list[TableRow]]
    members: dict[tuple[str, str], list[str]]
    unreadable: dict[str, list[str]]
    file: str
    members_file: str

    def of(self, state: str, table: str) -> list[TableRow]:
        """The rows of one table."""
        return self.rows.get((state, table), [])


class _Correction(NamedTuple):
    was: int
    units: int
    source: str
    since: date | None
    changed: date | None


_Key = tuple[str, str, str]  # state, table, name


def read_tables(table: Path, corrections: Path, members: Path, report: CompileReport) -> Tables:
    """Read the tables and apply the corrections to the figures they name.

    A correction whose old figure is not in the table is reported and not applied; a rate that does
    not fit five decimals is left out and reported; of a name that stands there twice with
    different rates no row is taken.
    """
    tables = Tables({}, {}, {}, table.name, members.name)
    fixes = dict(_corrections(corrections))
    seen: dict[_Key, TableRow] = {}
    twice: set[_Key] = set()
    for row in _rows(tables, table, fixes, corrections.name, report):
        key = row.state, row.table, row.name
        if seen.setdefault(key, row).spans != row.spans:
            report.add("conflict", table.name, f"{row.state} {row.name}", "stands there twice")
            twice.add(key)
    for key in sorted(fixes.keys() - seen.keys()):
        report.add("conflict", corrections.name, f"{key[0]} {key[2]}", "the table has no such row")
    for key, row in seen.items():
        if key not in twice:
            tables.rows.setdefault(key[:2], []).append(row)
    for raw in _read(members):
        tables.members.setdefault((raw["state"], raw["district"]), []).append(raw["locality"])
    return tables


def _rows(
    tables: Tables, table: Path, fixes: dict[_Key, _Correction], name: str, report: CompileReport
) -> Iterator[TableRow]:
    """The rows that have a rate and can be read, corrected."""
    for raw in _read(table):
        key = raw["state"], raw["table"], raw["name"]
        if not raw["rate_pct"]:
            continue  # a list of ZIPs
        subject = f"{key[0]} {key[2]}"
        try:
            units = percent_units(raw["rate_pct"])
        except RowError as error:
            report.add("left_out", table.name, subject, str(error))
            tables.unreadable.setdefault(key[0], []).append(key[2])
            continue
        fix = fixes.get(key)
        if fix and fix.was != units:
            was, has = percent_text(fix.was), percent_text(units)
            message = f"corrects {was}, the table has {has}: not applied"
            report.add("conflict", name, subject, message)
            fix = None
        elif fix:
            report.add("corrected", name, subject, _change(units, fix))
        yield TableRow(
            *key,
            tuple(raw["parents"].split("|")) if raw["parents"] else (),
            tuple(raw["zips"].split()),
            tuple(_spans(units, fix)),
            corrected=fix is not None,
        )


def _change(units: int, fix: _Correction) -> str:
    since = fix.changed or fix.since
    told = f"{percent_text(units)} -> {percent_text(fix.units)}"
    return f"{told} from {since} on" if since else told


def _read(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _corrections(path: Path) -> Iterator[tuple[_Key, _Correction]]:
    for row in _read(path):
        since, changed = _SINCE.search(row["source"]), _CHANGED.search(row["source"])
        yield (
            (row["state"], row["table"], row["name"]),
            _Correction(
                percent_units(row["was_pct"]),
                percent_units(row["should_be_pct"]),
                row["source"],
                iso_date(since[1]) if since else None,
                iso_date(changed[1]) if changed else None,
            ),
        )


def _spans(units: int, fix: _Correction | None) -> Iterator[Span]:
    """The rates of a row by their days: a dated change keeps the figure before it."""
    if fix is None:
        yield Span(units, _BEGIN, None, None, "")
        return
    note = f"corrected by {fix.source}"
    if fix.changed:
        yield Span(units, _BEGIN, fix.changed - timedelta(days=1), None, "")
        yield Span(fix.units, fix.changed, None, fix.changed, note)
    else:
        yield Span(fix.units, fix.since or _BEGIN, None, fix.since, note)
