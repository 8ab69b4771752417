"""State rates: the compiled table of 51, with the dates the states publish."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.formats.checks import (
    RowError,
    iso_date,
    month_later,
    percent_text,
    percent_units,
)
from svc_tools.service.ratebook.formats.facts import (
    FACTS_READ,
    FREIGHT_CONFLICTS,
    FREIGHT_TAXED,
    LOCAL_RULE,
    NO_TAX,
    STATE_HISTORY,
    TIERS,
)
from svc_tools.service.ratebook.schema import Area, Source, StateRow

if TYPE_CHECKING:
    from pathlib import Path

    from svc_tools.service.ratebook.formats.draft import Draft

__all__ = ["MISSING", "add_state_rates", "missing_in", "read_states", "settle_states"]

_SOURCE = "state-rates"
_FACTS = "state-facts"
_GOOD_FOR_MONTHS = 6  # state rates are enacted well ahead: two quarters
_CODES = (
    "AL01 AK02 AZ04 AR05 CA06 CO08 CT09 DE10 DC11 FL12 GA13 HI15 ID16 IL17 IN18 IA19 KS20 KY21"
    " LA22 ME23 MD24 MA25 MI26 MN27 MS28 MO29 MT30 NE31 NV32 NH33 NJ34 NM35 NY36 NC37 ND38 OH39"
    " OK40 OR41 PA42 RI44 SC45 SD46 TN47 TX48 UT49 VT50 VA51 WA53 WV54 WI55 WY56"
)
_FIPS = {code[:2]: code[2:] for code in _CODES.split()}
_FREIGHT_NOTE = "Sources disagree whether separately stated delivery charges are taxed here."


def read_states(path: Path, draft: Draft) -> None:
    """Add the 51 states, their tiers and the source of their rates.

    Raises:
        RowError: the file name has no edition (`..._2026-07.csv`), or a state is missing: a book
            without all 51 is none.
    """
    found = re.search(r"(\d{4}-\d{2})\.csv$", path.name)
    if not found:
        raise RowError(f"{path.name}: expected a name that ends in its edition, YYYY-MM.csv")
    first = iso_date(f"{found.group(1)}-01")
    until = month_later(first, _GOOD_FOR_MONTHS)
    draft.sources[_SOURCE] = Source(
        _SOURCE,
        "State sales tax rates, all states (compiled dataset)",
        "Socrates state sales tax dataset",
        found.group(1),
        "CC BY 4.0",
        "compiled",
        None,
        until,
        until,
    )
    draft.sources[_FACTS] = Source(
        _FACTS,
        "State sales tax rates and dates as the states publish them",
        "state revenue departments",
        FACTS_READ.isoformat(),
        "facts of public record",
        "official",
        None,
        until,
        until,
    )
    tiers = {state: tier for tier, states in TIERS.items() for state in states.split()}
    with path.open(newline="", encoding="utf-8") as file:
        names = {row["code"]: row["name"] for row in csv.DictReader(file)}
    if set(names) != set(tiers):
        raise RowError(f"{path.name}: these states differ: {sorted(set(names) ^ set(tiers))}")
    for state in sorted(names):
        tier = tiers[state]
        name = "District of Columbia" if state == "DC" else names[state]
        draft.states[state] = StateRow(
            state,
            name,
            _FIPS[state],
            tier,
            LOCAL_RULE[tier],
            None if state in NO_TAX else state in FREIGHT_TAXED.split(),
            _FREIGHT_NOTE if state in FREIGHT_CONFLICTS else "",
            "",
            None,
        )
        draft.add_jurisdiction(state, "state", _FIPS[state], name)


def add_state_rates(path: Path, draft: Draft) -> None:
    """Add the rate of every state whose own official file did not bring it already."""
    have = {row.jurisdiction for row in draft.rates}
    edition = iso_date(f"{draft.sources[_SOURCE].edition}-01")
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            state = row["code"]
            units = percent_units(row["state_rate_pct"])
            if state in STATE_HISTORY:
                _add_history(path.name, row, units, draft)
            elif state not in have:
                draft.add_rate(state, units, _SOURCE, begin=edition)
                if row["scheduled_change_date"]:
                    _note_change(path.name, row, draft)
            else:
                _compare(path.name, state, units, edition, draft)


def _add_history(name: str, row: dict[str, str], units: int, draft: Draft) -> None:
    """Dated spans instead of the single figure; where they disagree with it, say so."""
    state = row["code"]
    for span in STATE_HISTORY[state]:
        draft.add_rate(
            state,
            percent_units(span.percent),
            _FACTS,
            begin=span.begin,
            end=span.end,
            effective=span.effective,
            conflict_cap="low" if span.disputed else "",
            conflict_units=percent_units(span.conflict_percent) if span.conflict_percent else None,
            note=span.note,
        )
    edition = iso_date(f"{draft.sources[_SOURCE].edition}-01")
    _compare(name, state, units, edition, draft)
    if row["scheduled_change_date"]:
        _compare(
            name,
            state,
            percent_units(row["scheduled_change_pct"]),
            iso_date(row["scheduled_change_date"]),
            draft,
        )


def _compare(name: str, state: str, units: int, day: date, draft: Draft) -> None:
    """Report where the table's rate on a day is not the one of the dated rows."""
    for row in draft.rates:
        if row.jurisdiction != state or (row.begin or date.min) > day:
            continue
        if row.end is None or day <= row.end:
            if row.units != units:
                draft.report.add(
                    "conflict",
                    name,
                    state,
                    f"has {percent_text(units)} on {day}, {row.source} {percent_text(row.units)},"
                    " which answers and says that sources disagree",
                )
            return


def _note_change(name: str, row: dict[str, str], draft: Draft) -> None:
    draft.report.add(
        "note",
        name,
        row["code"],
        f"a change to {row['scheduled_change_pct']} % on {row['scheduled_change_date']} is not"
        " confirmed by a dated fact and was not taken over",
    )


MISSING = {
    "E": "Local rates are not covered: an answer is the state part only.",
    "none": "No state tax, but local ones that the book does not have: nothing is answered.",
    "A": "",
    "B": "Special districts and exact city limits inside a county are not told apart.",
    "C": "City limits are not known: a city is told by its name only.",
    "D": "Special districts and smaller cities are not covered, and city limits not known.",
}
"""What the book lacks in each tier; tier `none` without any table."""

_BY_NAME = "The limits of {} are not known: a city is told by its name only."
_MISSING_IN = {
    **dict.fromkeys(("FL", "HI", "NC", "NV", "PA", "VA"), ""),  # the county decides all of it
    "MS": _BY_NAME.format("Jackson and Tupelo"),
    "OH": "Of five transit areas inside counties the cities are known, and not the limits.",
    "WI": _BY_NAME.format("Milwaukee"),
}
"""What the book lacks in a state whose counties decide."""

_TOWNS_ONLY = (
    "Only the boroughs and towns of its table are answered, nothing elsewhere; the rates of several"
    " are the summer's."
)


def missing_in(state: str, tier: str) -> str:
    """What the book lacks in a state of a tier, as a sentence."""
    return _MISSING_IN.get(state, MISSING[tier]) if tier == "B" else MISSING[tier]


def settle_states(draft: Draft) -> None:
    """Say what is missing; a state whose local file was not there keeps the state part only.

    A county that the book has no rate for stays without an answer where the source lists every
    county, and has the state part where it lists main cities only.
    """
    for state, row in draft.states.items():
        tier, local = row.tier, row.local
        told = missing_in(state, tier)
        if local in {"county", "city"}:
            missing = draft.missing_counties(state)
            if not any(area.state == state for area in draft.areas.values()):
                tier, local = ("none" if tier == "none" else "E"), "unknown"
                told = MISSING[tier]
                draft.report.add("missing", state, row.name, "no local source: state part only")
            elif tier == "none":
                told = _TOWNS_ONLY
            elif tier == "D":
                _add_state_parts(state, draft)
            elif missing:
                draft.report.add(
                    "missing", state, row.name, f"no local rate for {', '.join(missing)}"
                )
        told = f"{told} {row.missing}".strip()
        draft.states[state] = replace(row, tier=tier, local=local, missing=told)


def _add_state_parts(state: str, draft: Draft) -> None:
    """Where a table has cities but not their counties, those have the state part only."""
    have = {
        area.counties[0]
        for area in draft.areas.values()
        if area.state == state and area.kind == "county"
    }
    for (where, fips), county in sorted(draft.counties.items()):
        if where == state and fips not in have:
            key = f"{state}:county:{fips}"
            draft.add_area(
                Area(key, state, "county", county.name, (fips,), (), (), "", 0, lacks="local")
            )
