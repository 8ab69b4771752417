"""The states' rates, and the official files of single states."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.formats.draft import (
    MISSING,
    RowError,
    fraction_units,
    iso_date,
    missing_in,
    percent_text,
    quarter_end,
    slug,
)
from svc_tools.service.ratebook.formats.places import RATE_FILES
from svc_tools.service.ratebook.formats.sst import STATE, add_local_rates, rate_file_rows
from svc_tools.service.ratebook.formats.states import (
    CALIFORNIA_BASE,
    add_california_place,
    add_locations,
    california_place,
    checked_quarters,
)
from svc_tools.service.ratebook.schema import Area, Source, StateRow

from .facts import (
    CA_CHANGED,
    CA_CHANGES,
    FACTS_READ,
    FREIGHT_CONFLICTS,
    FREIGHT_TAXED,
    LOCAL_RULE,
    NO_TAX,
    STATE_HISTORY,
    TIERS,
)
from .files import SST_NAME, month_later, percent_units

if TYPE_CHECKING:
    from pathlib import Path

    from svc_tools.service.ratebook.formats.draft import Draft

_RATES_SOURCE = "state-rates"
_FACTS_SOURCE = "state-facts"
_GOOD_FOR_MONTHS = 6  # state rates are enacted well ahead: two quarters
_FIPS_CODES = (
    "AL01 AK02 AZ04 AR05 CA06 CO08 CT09 DE10 DC11 FL12 GA13 HI15 ID16 IL17 IN18 IA19 KS20 KY21"
    " LA22 ME23 MD24 MA25 MI26 MN27 MS28 MO29 MT30 NE31 NV32 NH33 NJ34 NM35 NY36 NC37 ND38 OH39"
    " OK40 OR41 PA42 RI44 SC45 SD46 TN47 TX48 UT49 VT50 VA51 WA53 WV54 WI55 WY56"
)

_FIPS = {code[:2]: code[2:] for code in _FIPS_CODES.split()}
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
    draft.sources[_RATES_SOURCE] = Source(
        _RATES_SOURCE,
        "State sales tax rates, all states (compiled dataset)",
        "Socrates state sales tax dataset",
        found.group(1),
        "CC BY 4.0",
        "compiled",
        None,
        until,
        until,
    )
    draft.sources[_FACTS_SOURCE] = Source(
        _FACTS_SOURCE,
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
    edition = iso_date(f"{draft.sources[_RATES_SOURCE].edition}-01")
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            state = row["code"]
            units = percent_units(row["state_rate_pct"])
            if state in STATE_HISTORY:
                _add_history(path.name, row, units, draft)
            elif state not in have:
                draft.add_rate(state, units, _RATES_SOURCE, begin=edition)
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
            _FACTS_SOURCE,
            begin=span.begin,
            end=span.end,
            effective=span.effective,
            conflict_cap="low" if span.disputed else "",
            conflict_units=percent_units(span.conflict_percent) if span.conflict_percent else None,
            note=span.note,
        )
    edition = iso_date(f"{draft.sources[_RATES_SOURCE].edition}-01")
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


_TOWNS_ONLY = (
    "Only the boroughs and towns of its table are answered, nothing elsewhere; the rates of several"
    " are the summer's."
)


def settle_states(draft: Draft) -> None:
    """Say what is missing; a state whose local file was not there keeps the state part only.

    A county that the book has no rate for stays without an answer where the source lists every
    county, and has the state part where it lists main cities only.
    """
    for state, row in draft.states.items():
        tier, local = row.tier, row.local
        told = missing_in(state, tier)
        if local in {"county", "city"}:
            missing = _counties_without_area(state, draft)
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


def _counties_without_area(state: str, draft: Draft) -> list[str]:
    """Names of the state's counties that no area lies in."""
    covered = {fips for a in draft.areas.values() if a.state == state for fips in a.counties}
    return [
        county.name
        for (where, fips), county in sorted(draft.counties.items())
        if where == state and fips not in covered
    ]


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


def read_sst(path: Path, draft: Draft) -> None:
    """Add the state rows of a rate file and, where the book takes them over, its local rates.

    Rows whose intrastate and interstate rates differ, special districts whose place is not known
    and cities without a name are left out and reported.

    Raises:
        RowError: the name is not that of an SST rate file.
    """
    match = SST_NAME.fullmatch(path.name)
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
    kept = [row for row in rows if row.kind == STATE]
    for row in kept:
        draft.add_rate(state, row.units, source, begin=row.begin, end=row.end, effective=row.begin)
    if state in RATE_FILES:
        local = [row for row in rows if row.kind != STATE]
        add_local_rates(state, local, source, path.name, draft)
    else:
        draft.report.add(
            "left_out", path.name, state, f"{len(rows) - len(kept)} local rows: not in this book"
        )


_CA_SOURCE = "ca-cdtfa"
_CA_LATER = "ca-cdtfa-later"


def read_california(path: Path, draft: Draft) -> None:
    """Add California's cities and unincorporated areas.

    The list gives totals. 7.25 % of each is the state and uniform local part; all that is above
    it are district taxes, and the book keeps them as one district rate of the area.

    Raises:
        RowError: the file name has no date.
    """
    found = re.search(r"(\d{4}-\d{2}-\d{2})\.csv$", path.name)
    if not found:
        raise RowError(f"{path.name}: expected a name that ends in its date, YYYY-MM-DD.csv")
    day = iso_date(found.group(1))
    _add_california_sources(day, draft)
    draft.add_rate("CA", CALIFORNIA_BASE, _CA_SOURCE, begin=day)
    changed: set[str] = set()
    with path.open(newline="", encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            subject = f"line {number} ({row['Location']})"
            try:
                _add_california_row(row, day, changed, draft)
            except RowError as error:
                draft.report.add("left_out", path.name, subject, str(error))
    for name in sorted(set(CA_CHANGES) - changed):
        draft.report.add("left_out", path.name, name, f"changed on {CA_CHANGED}, is not listed")


def _add_california_sources(day: date, draft: Draft) -> None:
    publisher = "California Department of Tax and Fee Administration (CDTFA)"
    licence = "official figures, published for use by sellers"
    year, number = day.year, (day.month + 2) // 3
    draft.sources[_CA_SOURCE] = Source(
        _CA_SOURCE,
        "California city and county sales and use tax rates",
        publisher,
        day.isoformat(),
        licence,
        "official",
        None,
        quarter_end(year, number),
        quarter_end(year, number, later=2),
    )
    year, number = CA_CHANGED.year, (CA_CHANGED.month + 2) // 3
    draft.sources[_CA_LATER] = Source(
        _CA_LATER,
        "California rates changed after the CDTFA list, from a compiled copy of the later list",
        publisher,
        CA_CHANGED.isoformat(),
        licence,
        "third_hand",
        None,
        quarter_end(year, number),
        quarter_end(year, number, later=2),
    )


def _add_california_row(row: dict[str, str], day: date, changed: set[str], draft: Draft) -> None:
    found = california_place(row, draft)
    if found is None:
        return
    name, total, key = row["Location"].strip(), found.total, add_california_place(found, draft)
    if name not in CA_CHANGES:
        draft.add_rate(key, total - CALIFORNIA_BASE, _CA_SOURCE, begin=day)
        return
    changed.add(name)
    later = percent_units(CA_CHANGES[name])
    draft.add_rate(
        key, total - CALIFORNIA_BASE, _CA_SOURCE, begin=day, end=CA_CHANGED - timedelta(days=1)
    )
    draft.add_rate(
        key,
        later - CALIFORNIA_BASE,
        _CA_LATER,
        begin=CA_CHANGED,
        conflict_cap="medium",
        conflict_units=total - CALIFORNIA_BASE,
        note=f"The list of {day} has another rate; the change of {CA_CHANGED} was seen in a"
        " compiled copy of the later list, not in the list itself.",
    )
    draft.report.add(
        "conflict",
        _CA_SOURCE,
        name,
        f"{percent_text(total)} by the list, {percent_text(later)} from {CA_CHANGED} on",
    )


_TX_SOURCE = "tx-comptroller"
_TX_NONE = "n/a"
_TX_PERIOD, _TX_STATE_RATE = 1, 4  # columns of the header line
_TX_COUNTY, _TX_DISTRICTS = 3, 6  # columns of the first county, of the first district


class _TexasPart(NamedTuple):
    level: str
    name: str
    code: str
    units: int


def read_texas(path: Path, draft: Draft) -> None:
    """Add the state rate and every city, county and district of the file, as far as it goes.

    A line names all that adds up in a city's part of a county; lines that cannot be read are left
    out and reported.

    Raises:
        RowError: the first line is not the header of such a file.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [[cell.strip() for cell in line] for line in csv.reader(file, delimiter="\t")]
    header = lines[0] if lines else []
    period = (
        re.fullmatch(r"(\d{4})([1-4])", header[_TX_PERIOD])
        if len(header) > _TX_STATE_RATE
        else None
    )
    if period is None:
        raise RowError(f"{path.name}: expected a header line with the period, such as 20263")
    year, quarter = int(period[1]), int(period[2])
    begin = date(year, quarter * 3 - 2, 1)
    draft.sources[_TX_SOURCE] = Source(
        _TX_SOURCE,
        f"Texas city, county and district sales tax rates ({path.name})",
        "Texas Comptroller of Public Accounts",
        f"{year}Q{quarter}",
        "official figures, published for use by sellers",
        "official",
        None,
        quarter_end(year, quarter),
        quarter_end(year, quarter, later=2),
    )
    draft.add_rate("TX", fraction_units(header[_TX_STATE_RATE]), _TX_SOURCE, begin=begin)
    rated: dict[str, int] = {}
    for number, cells in enumerate(lines[1:], 2):
        try:
            _add_texas_line(cells, begin, rated, draft)
        except RowError as error:
            draft.report.add("left_out", path.name, f"line {number}", str(error))


def _add_texas_line(cells: list[str], begin: date, rated: dict[str, int], draft: Draft) -> None:
    if len(cells) < _TX_DISTRICTS or (len(cells) - _TX_COUNTY) % 3:
        raise RowError(f"{len(cells)} columns, expected three for each of city, county, districts")
    name, county = cells[0], cells[_TX_COUNTY]
    fips = draft.county_fips("TX", f"{county} County")
    if fips is None:
        raise RowError(f"{county!r} is not a county of Texas")
    parts = [
        _TexasPart(level, cells[at], cells[at + 1], fraction_units(cells[at + 2]))
        for at, level in (
            (0, "city"),
            (_TX_COUNTY, "county"),
            *((at, "district") for at in range(_TX_DISTRICTS, len(cells), 3)),
        )
        if cells[at + 1] != _TX_NONE
    ]
    keys = []
    for part in parts:
        code = fips if part.level == "county" else slug(part.name)
        title = draft.counties["TX", fips].name if part.level == "county" else part.name
        key = draft.add_jurisdiction("TX", part.level, code, title)
        if rated.setdefault(key, part.units) != part.units:
            raise RowError(
                f"{part.name}: {percent_text(part.units)} here, {percent_text(rated[key])} before"
            )
        keys.append(key)
    for key in keys:
        if not any(row.jurisdiction == key for row in draft.rates):
            draft.add_rate(key, rated[key], _TX_SOURCE, begin=begin)
    area = f"TX:city:{slug(name)}"
    first = area not in draft.areas
    draft.add_area(
        Area(
            area if first else f"{area}@{fips}",
            "TX",
            "city",
            name if first else f"{name} ({county} County)",
            (fips,),
            tuple(keys),
            (name,),
            "",
            0,
        )
    )


_WA_SOURCE = "wa-dor"


def read_washington(path: Path, draft: Draft) -> None:
    """Add Washington: the state rate, and the local and transit rate of every location code.

    Quarters in a row with the same rates become one span; a span that follows another rate is
    dated by the table (its Effective Date), one that begins where the table or the code begins
    is not. Rows with shifted columns are dropped and listed: their quarter stays empty.
    """
    with path.open(newline="", encoding="utf-8") as file:
        quarters = checked_quarters(enumerate(csv.DictReader(file), 2), path.name, draft)
    if not quarters:
        raise RowError(f"{path.name}: no readable row")
    first = min(quarter.begin for quarter in quarters)
    last = max(quarter.end for quarter in quarters)
    year, number = last.year, (last.month + 2) // 3
    draft.sources[_WA_SOURCE] = Source(
        _WA_SOURCE,
        "Washington local sales and use tax rates by location code, quarterly",
        "Washington State Department of Revenue",
        f"{year}Q{number}",
        "official figures, published for use by sellers",
        "official",
        first,
        last,
        quarter_end(year, number, later=2),
    )
    add_locations(quarters, _WA_SOURCE, path.name, draft)
