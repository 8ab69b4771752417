"""The states' rates, and the official files of single states."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.imports.draft import (
    MISSING,
    RowError,
    fraction_units,
    iso_date,
    percent_text,
)
from svc_tools.service.ratebook.imports.reading import quarter_end, quarter_of
from svc_tools.service.ratebook.imports.sst_rows import (
    RATE_FILES,
    STATE,
    add_local_rates,
    rate_file_rows,
)
from svc_tools.service.ratebook.imports.states import (
    add_california_place,
    add_locations,
    checked_quarters,
)
from svc_tools.service.ratebook.names import STATE_CODES
from svc_tools.service.ratebook.schema import DeliveryRule, Source, StateRow

from .facts import (
    DELIVERY_BEFORE,
    DELIVERY_BEGINS,
    DELIVERY_DOUBTS,
    LOCAL_RULE,
    NO_TAX,
    STATES_READ,
    STATES_UNTIL,
    TIERS,
)
from .files import SST_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from svc_tools.service.ratebook.imports.draft import Draft
    from svc_tools.service.ratebook.imports.sst_rows import RateFileRow

_HISTORY = "state-history"
_NEVER = "no state sales tax at any time"
"""Begins the note of a state whose rate was 0 on every day: its row has no first day."""
_DC_CODE = 7_000
_DC_NOTE = (
    "The D.C. Code reads 7.0% from 2026-10-01; a notice of the Office of Tax and Revenue, read"
    " once and second hand, postpones it to 2027-10-01."
)
_FIPS_CODES = (
    "AL01 AK02 AZ04 AR05 CA06 CO08 CT09 DE10 DC11 FL12 GA13 HI15 ID16 IL17 IN18 IA19 KS20 KY21"
    " LA22 ME23 MD24 MA25 MI26 MN27 MS28 MO29 MT30 NE31 NV32 NH33 NJ34 NM35 NY36 NC37 ND38 OH39"
    " OK40 OR41 PA42 RI44 SC45 SD46 TN47 TX48 UT49 VT50 VA51 WA53 WV54 WI55 WY56"
)

_FIPS = {code[:2]: code[2:] for code in _FIPS_CODES.split()}


def read_states(draft: Draft) -> None:
    """Add the 51 states and their tiers."""
    names = {code: name for name, code in STATE_CODES.items()}
    for tier, states in TIERS.items():
        for state in states.split():
            draft.states[state] = StateRow(
                state,
                names[state],
                _FIPS[state],
                tier,
                LOCAL_RULE[tier],
                "",
                None,
            )
            draft.add_jurisdiction(state, "state", _FIPS[state], names[state])


_TREATMENTS = frozenset({"follows_goods", "taxable", "exempt_if_separate", "exempt_if_optional"})


def read_delivery(path: Path, draft: Draft) -> None:
    """Add the rules of delivery charges: those of the table, and those before them.

    Args:
        path: the table of what is taxable, of which the rows of `shipping` are read.
        draft: takes the rules, by state and first day.

    Raises:
        RowError: a treatment or a date is none, a state with a sales tax has no rule in force, or
            the rules of a state overlap.
    """
    rules = [*DELIVERY_BEFORE]
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["category"] != "shipping":
                continue
            state, treatment = row["state"], row["treatment"]
            if treatment not in _TREATMENTS:
                raise RowError(f"{path.name}: {state}: {treatment!r} is no treatment of shipping")
            end = iso_date(row["effective_to"]) if row["effective_to"] else None
            begin = iso_date(row["effective_from"]) if row["effective_from"] else None
            of_act = (begin, "", row["notes"])
            begin, act, note = DELIVERY_BEGINS.get((state, treatment), of_act)
            rules.append(
                DeliveryRule(
                    state,
                    treatment,
                    begin,
                    end,
                    row["certainty"],
                    "; ".join(filter(None, (row["law"], act))),
                    row["source"],
                    row["source_url"],
                    iso_date(row["checked_on"]),
                    DELIVERY_DOUBTS.get(state, "") if end is None else "",
                    note,
                )
            )
    draft.delivery = sorted(rules, key=lambda rule: (rule.state, rule.begin or date.min))
    for state in draft.states:
        own = [rule for rule in draft.delivery if rule.state == state]
        if state not in NO_TAX and (not own or own[-1].end is not None):
            raise RowError(f"{path.name}: no rule of shipping is in force for {state}")
        for earlier, later in pairwise(own):
            if earlier.end is None or later.begin != earlier.end + timedelta(days=1):
                raise RowError(f"{path.name}: the rules of shipping of {state} do not join")


def read_state_history(path: Path, draft: Draft) -> None:
    """Add the rate of every state by its dates of law.

    `law` and `scheduled` rows begin with the law; the others were in force on the date given, and
    the law is older. The rate of a state that never had a sales tax has no first day.

    Raises:
        RowError: a state is missing, or a row does not hold what it should.
    """
    draft.sources[_HISTORY] = Source(
        _HISTORY,
        "State sales tax rates by date of law",
        "state revenue departments",
        STATES_READ.isoformat(),
        "facts of public record",
        "second_hand",
        None,
        STATES_UNTIL,
        STATES_UNTIL,
        "no_published_date",
    )
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            sure = row["certainty"] == "certain"
            begin, units = iso_date(row["effective_from"]), fraction_units(row["rate"])
            law = begin if row["from_kind"] in {"law", "scheduled"} else None
            before = draft.rates.get(row["state"])
            if before and before[-1].units == units:  # the law went on
                law = before[-1].effective
            draft.add_rate(
                row["state"],
                units,
                _HISTORY,
                begin=None if (row.get("note") or "").startswith(_NEVER) else begin,
                end=iso_date(row["effective_to"]) if row["effective_to"] else None,
                effective=law,
                conflict_cap="" if sure else "low",
                conflict_units=None if sure else _DC_CODE,
                note="" if sure else _DC_NOTE,
            )
    missing = draft.states.keys() - draft.rates.keys()
    if missing:
        raise RowError(f"{path.name}: no rate for {', '.join(sorted(missing))}")


_TOWNS_ONLY = (
    "Only some boroughs and towns have rates, several of them summer rates; other places have none."
)


def settle_states(draft: Draft) -> None:
    """Say what is missing; a state whose local file was not there keeps the state part only.

    A county that the book has no rate for stays without an answer where the source lists every
    county, and has the state part where it lists main cities only.
    """
    for state, row in draft.states.items():
        tier, local = row.tier, row.local
        told = MISSING[tier]
        if local in {"county", "city"}:
            missing = _counties_without_area(state, draft)
            if not any(area.state == state for area in draft.areas.values()):
                tier, local = ("none" if tier == "none" else "E"), "unknown"
                told = MISSING[tier]
                draft.report.add("missing", state, row.name, "no local source: state part only")
            elif tier == "none":
                told = _TOWNS_ONLY
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
    edition = f"{match['year']}Q{match['quarter']}"
    source = f"sst-{state.lower()}"
    draft.sources[source] = Source(
        source,
        f"Streamlined Sales Tax rate file of {draft.states[state].name} ({path.name})",
        f"{draft.states[state].name} through the Streamlined Sales Tax Governing Board",
        edition,
        "official rate file, published for use by sellers",
        "official",
        None,
        quarter_end(edition),
        quarter_end(edition, later=2),
    )
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = enumerate(csv.reader(file), 1)
        rows = rate_file_rows(lines, path.name, draft.states[state].fips, draft.report)
    for row in rows:
        if row.kind == STATE:
            _add_older_state_rate(state, row, source, path.name, draft)
    local = [row for row in rows if row.kind != STATE]
    if state in RATE_FILES:
        add_local_rates(state, local, source, path.name, draft)
    else:
        draft.report.add("left_out", path.name, state, f"{len(local)} local rows: not in this book")


def _add_older_state_rate(
    state: str, row: RateFileRow, source: str, name: str, draft: Draft
) -> None:
    """Add a state's rate and its day of law from before its history; say where the two differ."""
    first = draft.rates[state][0]
    if first.begin and row.begin < first.begin:
        end = min(row.end or date.max, first.begin - timedelta(days=1))
        draft.add_rate(state, row.units, source, begin=row.begin, end=end, effective=row.begin)
        draft.rates[state].sort(key=lambda one: one.begin or date.min)
    for number, known in enumerate(draft.rates[state]):
        begin = max(row.begin, known.begin or date.min)
        end = min(row.end or date.max, known.end or date.max)
        # its law is older than the history knows
        same = (row.units, None) == (known.units, known.effective)
        if same and known.begin == begin and begin <= end:
            draft.rates[state][number] = replace(known, effective=row.begin)
        if begin <= end and known.units != row.units:
            draft.report.add(
                "conflict",
                name,
                state,
                f"has {percent_text(row.units)} from {begin}, the state history"
                f" {percent_text(known.units)}, which is used",
            )


_CA_SOURCE = "ca-cdtfa"


def read_california(path: Path, draft: Draft) -> None:
    """Add California's cities and unincorporated areas.

    The list gives totals. 7.25% of each is the state and uniform local part; all that is above
    it are district taxes, and the book has them as one district rate of the area.

    Raises:
        RowError: the file name has no date.
    """
    found = re.search(r"(\d{4}-\d{2}-\d{2})\.csv$", path.name)
    if not found:
        raise RowError(f"{path.name}: expected a name that ends in its date, YYYY-MM-DD.csv")
    day = iso_date(found.group(1))
    draft.sources[_CA_SOURCE] = Source(
        _CA_SOURCE,
        "California city and county sales and use tax rates",
        "California Department of Tax and Fee Administration (CDTFA)",
        day.isoformat(),
        "official figures, published for use by sellers",
        "official",
        None,
        quarter_end(quarter_of(day)),
        quarter_end(quarter_of(day)),
    )
    with path.open(newline="", encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            try:
                add_california_place(row, _CA_SOURCE, day, draft)
            except RowError as error:
                subject = f"line {number} ({row['Location']})"
                draft.report.add("left_out", path.name, subject, str(error))


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
    edition = quarter_of(last)
    draft.sources[_WA_SOURCE] = Source(
        _WA_SOURCE,
        "Washington local sales and use tax rates by location code, quarterly",
        "Washington State Department of Revenue",
        edition,
        "official figures, published for use by sellers",
        "official",
        first,
        last,
        quarter_end(edition, later=2),
    )
    add_locations(quarters, _WA_SOURCE, path.name, draft)
