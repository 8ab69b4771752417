"""Streamlined Sales Tax (SST) rate files: nine columns, one row per jurisdiction and span."""

from __future__ import annotations

import csv
import re
from datetime import timedelta
from itertools import groupby, pairwise, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.formats.checks import (
    RowError,
    fraction_units,
    quarter_end,
    sst_date,
    sst_end,
)
from svc_tools.service.ratebook.formats.places import RATE_FILES
from svc_tools.service.ratebook.formats.sst_areas import add_local_rates
from svc_tools.service.ratebook.schema import Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date
    from pathlib import Path

    from svc_tools.service.ratebook.formats.draft import Draft
    from svc_tools.service.ratebook.formats.report import CompileReport

__all__ = ["NAME", "RateFileRow", "rate_file_rows", "read_sst"]

NAME = re.compile(
    r"(?P<state>[A-Z]{2})R(?P<year>\d{4})Q(?P<quarter>[1-4])[A-Z]{3}\d{1,2}\.csv", re.ASCII
)
"""The name of an SST rate file: state, R, year and quarter, month and day of issue."""

_STATE = "45"
_COLUMNS = 9
_DAY = timedelta(days=1)


class RateFileRow(NamedTuple):
    """One rate of one jurisdiction over one span of days, both ends inclusive.

    Attributes:
        kind: two digits: `45` state, `00` county, `01` city, `63` special district; others vary.
        code: state 2, county 3, place 5 digits; a special district's is alphanumeric.
        units: the general rate in units of 10^-5.
        begin: the day it took effect.
        end: its last day; `None`: open.
    """

    kind: str
    code: str
    units: int
    begin: date
    end: date | None


def rate_file_rows(
    lines: Iterable[tuple[int, Sequence[str]]], name: str, fips: str, report: CompileReport
) -> list[RateFileRow]:
    """The rows of an SST rate file, checked and settled: one for each jurisdiction and day.

    A row that does not hold what it should is left out and reported with its line; where two
    overlap, the one that begins later wins and the report says so. Blank food columns are fine.

    Args:
        lines: number and fields of the file's lines: nine columns, no header.
        name: the file's name, for the report.
        fips: two-digit FIPS code of the state the file must be of.
        report: takes the findings.

    Returns:
        The rows in the order of kind, code and begin.
    """
    return _settle(_checked(lines, name, fips, report), name, report)


def read_sst(path: Path, draft: Draft) -> None:
    """Add the state rows of a rate file and, where the book takes them over, its local rates.

    Rows whose intrastate and interstate rates differ, special districts whose place is not known
    and cities without a name are left out and reported.

    Raises:
        RowError: the name is not that of an SST rate file.
    """
    match = NAME.fullmatch(path.name)
    if not match:
        raise RowError(f"{path.name}: not the name of an SST rate file, such as WIR2026Q2FEB18.csv")
    state = match["state"]
    year, quarter = int(match["year"]), int(match["quarter"])
    source = f"sst-{state.lower()}"
    draft.sources[source] = Source(
        source,
        f"Streamlined Sales Tax rate file of {draft.states[state].name} ({path.name})",
        f"{draft.states[state].name} through the Streamlined Sales Tax Governing Board",
        f"{year}Q{quarter}",
        "official rate file, published for use by sellers",
        "official",
        None,
        quarter_end(year, quarter),
        quarter_end(year, quarter, later=2),
    )
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = enumerate(csv.reader(file), 1)
        rows = rate_file_rows(lines, path.name, draft.states[state].fips, draft.report)
    kept = [row for row in rows if row.kind == _STATE]
    for row in kept:
        draft.add_rate(state, row.units, source, begin=row.begin, end=row.end, effective=row.begin)
    if state in RATE_FILES:
        local = [row for row in rows if row.kind != _STATE]
        add_local_rates(state, local, source, path.name, draft)
    else:
        draft.report.add(
            "left_out", path.name, state, f"{len(rows) - len(kept)} local rows: not in this book"
        )


def _checked(
    lines: Iterable[tuple[int, Sequence[str]]], name: str, fips: str, report: CompileReport
) -> list[RateFileRow]:
    rows = []
    for number, raw in lines:
        if not any(field.strip() for field in raw):
            continue  # a blank line at the end
        try:
            rows.append(_parse([field.strip() for field in raw], fips))
        except RowError as error:
            report.add("left_out", name, f"line {number}", str(error))
    return rows


def _parse(raw: list[str], fips: str) -> RateFileRow:
    if len(raw) != _COLUMNS:
        raise RowError(f"{len(raw)} columns, expected {_COLUMNS}")
    if raw[0].zfill(2) != fips:
        raise RowError(f"state {raw[0]!r} in a file of {fips}")
    intrastate, interstate = fraction_units(raw[3]), fraction_units(raw[4])
    if intrastate != interstate:
        raise RowError(f"{raw[2]}: intrastate {raw[3]} and interstate {raw[4]} differ")
    begin, end = sst_date(raw[7]), sst_end(raw[8])
    if end and end < begin:
        raise RowError(f"{raw[2]}: ends on {end}, before it begins on {begin}")
    return RateFileRow(raw[1].zfill(2), raw[2], intrastate, begin, end)


def _settle(rows: list[RateFileRow], name: str, report: CompileReport) -> list[RateFileRow]:
    """One row per key and day: where two overlap, the one that begins later wins."""
    settled: list[RateFileRow] = []
    ordered = sorted(rows, key=lambda row: (row.kind, row.code, row.begin))
    for (kind, code), group in groupby(ordered, key=lambda row: row[:2]):
        same = list(group)
        for earlier, later in pairwise(same):
            if earlier.end is None or earlier.end >= later.begin:
                report.add(
                    "settled",
                    name,
                    f"{kind} {code}",
                    f"rows from {earlier.begin} and {later.begin} overlap: the later begin wins",
                )
        settled += _in_force(same)
    return settled


def _in_force(rows: list[RateFileRow]) -> list[RateFileRow]:
    """The spans over which each row of one jurisdiction is the one that began last."""
    changes = sorted({row.begin for row in rows} | {row.end + _DAY for row in rows if row.end})
    spans: list[RateFileRow] = []
    previous = None
    for begin, after in zip_longest(changes, changes[1:]):
        here = [row for row in rows if row.begin <= begin and (not row.end or begin <= row.end)]
        row = here[-1] if here else None  # the last to begin; of two that began together the later
        end = after - _DAY if after else None
        if row is not None and row is previous:
            spans[-1] = spans[-1]._replace(end=end)
        elif row is not None:
            spans.append(row._replace(begin=begin, end=end))
        previous = row
    return spans
