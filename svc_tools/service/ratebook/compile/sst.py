"""Streamlined Sales Tax (SST) rate files: nine columns, one row per jurisdiction and span."""

from __future__ import annotations

import csv
import re
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.compile.checks import (
    RowError,
    fraction_units,
    quarter_end,
    sst_date,
    sst_end,
)
from svc_tools.service.ratebook.compile.facts import PLACE_NAMES
from svc_tools.service.ratebook.schema import Area, Source

if TYPE_CHECKING:
    from pathlib import Path

    from svc_tools.service.ratebook.compile.draft import Draft

__all__ = ["NAME", "read_sst"]

NAME = re.compile(
    r"(?P<state>[A-Z]{2})R(?P<year>\d{4})Q(?P<quarter>[1-4])[A-Z]{3}\d{1,2}\.csv", re.ASCII
)
"""The name of an SST rate file: state, R, year and quarter, month and day of issue."""

_STATE, _COUNTY, _CITY, _SPECIAL = "45", "00", "01", "63"
_COLUMNS = 9


class _Row(NamedTuple):
    kind: str
    code: str
    units: int
    begin: date
    end: date | None


def read_sst(path: Path, draft: Draft, *, local: bool) -> None:
    """Add the state rows of a rate file and, with `local`, its counties and named cities.

    Rows whose intrastate and interstate rates differ, special districts (the rate file does not
    say where they lie) and cities without a name are left out and reported.

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
    rows = _settle(_checked(path, draft.states[state].fips, draft), path.name, draft)
    kept = [row for row in rows if row.kind == _STATE]
    for row in kept:
        draft.add_rate(state, row.units, source, begin=row.begin, end=row.end, effective=row.begin)
    if not local:
        draft.report.add(
            "left_out", path.name, state, f"{len(rows) - len(kept)} local rows: not in this book"
        )
        return
    for row in rows:
        if row.kind == _COUNTY:
            _add_county(state, row, source, draft)
        elif row.kind == _CITY:
            _add_city(state, row, source, draft)
    _report_rest(state, rows, path.name, draft)


def _checked(path: Path, fips: str, draft: Draft) -> list[_Row]:
    rows = []
    with path.open(newline="", encoding="utf-8-sig") as file:
        for number, raw in enumerate(csv.reader(file), 1):
            try:
                rows.append(_parse(raw, fips))
            except RowError as error:
                draft.report.add("left_out", path.name, f"line {number}", str(error))
    return rows


def _parse(raw: list[str], fips: str) -> _Row:
    if len(raw) != _COLUMNS:
        raise RowError(f"{len(raw)} columns, expected {_COLUMNS}")
    if raw[0] != fips:
        raise RowError(f"state {raw[0]!r} in a file of {fips}")
    intrastate, interstate = fraction_units(raw[3]), fraction_units(raw[4])
    if intrastate != interstate:
        raise RowError(f"{raw[2]}: intrastate {raw[3]} and interstate {raw[4]} differ")
    begin, end = sst_date(raw[7]), sst_end(raw[8])
    if end and end < begin:
        raise RowError(f"{raw[2]}: ends on {end}, before it begins on {begin}")
    return _Row(raw[1].zfill(2), raw[2], intrastate, begin, end)


def _settle(rows: list[_Row], name: str, draft: Draft) -> list[_Row]:
    """One row per key and day: where two overlap, the one that begins later wins."""
    settled: list[_Row] = []
    for row in sorted(rows, key=lambda r: (r.kind, r.code, r.begin)):
        previous = settled[-1] if settled else None
        same_key = previous and (previous.kind, previous.code) == (row.kind, row.code)
        if previous and same_key and (previous.end is None or previous.end >= row.begin):
            draft.report.add(
                "settled",
                name,
                f"{row.kind} {row.code}",
                f"rows from {previous.begin} and {row.begin} overlap: the later begin wins",
            )
            settled.pop()
            if previous.begin < row.begin:
                settled.append(previous._replace(end=row.begin - timedelta(days=1)))
        settled.append(row)
    return settled


def _add_county(state: str, row: _Row, source: str, draft: Draft) -> None:
    county = draft.counties.get((state, row.code))
    if county is None:
        draft.report.add("left_out", source, row.code, f"{state} has no such county")
        return
    key = draft.add_jurisdiction(state, "county", row.code, county.name)
    draft.add_rate(key, row.units, source, begin=row.begin, end=row.end, effective=row.begin)
    if key not in draft.areas:
        draft.add_area(Area(key, state, "county", county.name, (row.code,), (key,), (), "", 0))


def _add_city(state: str, row: _Row, source: str, draft: Draft) -> None:
    if (state, row.code) not in PLACE_NAMES:
        return
    name, county = PLACE_NAMES[state, row.code]
    key = draft.add_jurisdiction(state, "city", row.code, name)
    # a city's first row without a rate is dated by the file, not by law
    effective = row.begin if row.units or key in draft.areas else None
    draft.add_rate(key, row.units, source, begin=row.begin, end=row.end, effective=effective)
    if key not in draft.areas:
        parts = (f"{state}:county:{county}", key)
        draft.add_area(Area(key, state, "city", name, (county,), parts, (name,), "", 0))


def _report_rest(state: str, rows: list[_Row], name: str, draft: Draft) -> None:
    """Cities without a rate need no row; districts and unnamed cities with one are missed."""
    places = {
        row.code for row in rows if row.kind == _CITY and (state, row.code) not in PLACE_NAMES
    }
    taxed = {row.code for row in rows if row.kind == _CITY and row.units} & places
    draft.report.add(
        "left_out", name, "places", f"{len(places - taxed)} without a city rate need no row"
    )
    for code in sorted(taxed):
        draft.report.add("left_out", name, f"place {code}", "levies a rate, its name is not known")
    others = [row for row in rows if row.kind not in {_STATE, _COUNTY, _CITY}]
    for row in others:
        draft.report.add(
            "left_out",
            name,
            f"type {row.kind} {row.code}",
            f"{row.units} units from {row.begin} to {row.end or 'open'}:"
            " the rate file does not say where it applies",
        )
    taxed_until = [row.end or date.max for row in others if row.units]
    if taxed_until:
        draft.note_districts(state, max(taxed_until))
