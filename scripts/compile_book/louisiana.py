"""The parishes of Louisiana whose tables could be read, and what their towns add."""

from __future__ import annotations

import calendar
import csv
import re
from collections import defaultdict
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.imports.draft import RowError, fraction_units, iso_date
from svc_tools.service.ratebook.schema import Area

from .unlisted import add_city, add_unlisted, place_of

if TYPE_CHECKING:
    from pathlib import Path

    from svc_tools.service.ratebook.imports.draft import Draft

_STATE = "LA"
_SOURCE = "la-lata"
_COMPARED = date(2026, 2, 28)
"""The last day of the month of the table that the figures were compared with."""
_EQUAL = "equal"
_DOUBTFUL = "doubtful"
_WHOLE_PARISH = "county"
_MISSING = (
    "Of {} of the {} parishes, and of towns that two tables differ on, only the state's part is"
    " known."
)
_ORIGIN = re.compile(r"(columns? |table effective|\w+\.(org|gov|us))")
"""Begins the parts of a note that say where in its table a figure stands."""
_DAY = timedelta(days=1)


def read_parishes(path: Path, draft: Draft) -> None:
    """Add the parishes of a table, and their towns.

    A doubtful figure is none. A town without one, and a parish that the table does not have, have
    the state's part only. A table was seen on some day: its rates are good until then.

    Raises:
        RowError: a row is of no parish or place, or does not say until when its table was seen.
    """
    rows = _rows(path, draft)
    rests = {fips for (fips, code) in rows if not code}
    towns = {fips for (fips, _), here in rows.items() if here[0]["level"] != _WHOLE_PARISH}
    parishes = [fips for state, fips in sorted(draft.counties) if state == _STATE]
    for fips in parishes if rows else ():
        name, key = draft.counties[_STATE, fips].name, f"{_STATE}:county:{fips}"
        if fips in rests:
            draft.add_jurisdiction(_STATE, "county", fips, name)
        parts, lacks = ((key,), "") if fips in rests else ((), "local")
        draft.add_area(Area(key, _STATE, "county", name, (fips,), parts, (), "", 0, lacks))
    for (fips, code), here in rows.items():
        key = f"{_STATE}:county:{fips}"
        if code:
            place = place_of(_STATE, code, draft)
            if place is None:
                raise RowError(f"{path.name}: {here[0]['place_name']}: no place has code {code}")
            key = add_city(place, fips, draft)
        _add_rates(key, here, draft)
    if rows:
        add_unlisted(_STATE, rests & towns, "unknown", _SOURCE, draft)
        missing = len(parishes) - len(rests | towns)
        draft.note_missing(_STATE, _MISSING.format(missing, len(parishes)))


def _rows(path: Path, draft: Draft) -> dict[tuple[str, str], list[dict[str, str]]]:
    """The rows of each parish (without a place) and town, by FIPS codes of both."""
    found: dict[tuple[str, str], list[dict[str, str]]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            fips = row["county_fips"][2:]
            if (_STATE, fips) not in draft.counties:
                raise RowError(f"{path.name}: {row['county_name']}: the state has no such parish")
            found[fips, row["place_fips"]].append(row)
    return found


def _add_rates(key: str, rows: list[dict[str, str]], draft: Draft) -> None:
    """Add the rates of a parish or town in their order; a doubtful one is unknown."""
    before: tuple[int, date | None] | None = None
    for row in sorted(rows, key=lambda row: row["effective_from"]):
        begin = iso_date(row["effective_from"])
        end = iso_date(row["effective_to"]) if row["effective_to"] else None
        units = fraction_units(row["local_rate"].removesuffix("0"))
        source = _source(row, draft)
        doubtful = row["use"] == _DOUBTFUL
        changed = before is not None and before[0] != units and before[1] == begin - _DAY
        draft.add_rate(
            key,
            0 if doubtful else units,
            source,
            begin=None if doubtful and before is None else begin,
            end=end,
            effective=begin if changed and not doubtful else None,
            note=_note(row["note"]),
            use="unknown" if doubtful else "",
            agreed=_COMPARED if row["comparison_2026_02"] == _EQUAL and end is None else None,
        )
        before = (units, end)


def _note(text: str) -> str:
    """What a note says of the rate, as a sentence."""
    parts = [part for part in text.split("; ") if part and not _ORIGIN.match(part)]
    told = "; ".join(parts)
    return f"{told[:1].upper()}{told[1:]}." if told else ""


def _source(row: dict[str, str], draft: Draft) -> str:
    """The id of the parish tables that were seen on the same day, added with their last day.

    A table without a day is good for the month that it begins with, or that it names.
    """
    seen = re.search(r"\d{4}-\d{2}$", row["table_seen_through"])
    month = seen[0] if seen else row["effective_from"][:7]
    key = f"{_SOURCE}-{month}"
    if key not in draft.sources:
        year, number = map(int, month.split("-"))
        until = date(year, number, calendar.monthrange(year, number)[1])
        known = draft.sources[_SOURCE]
        draft.sources[key] = replace(
            known, id=key, edition=month, local_until=until, state_until=until
        )
    return key
