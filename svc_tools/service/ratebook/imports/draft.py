"""A rate book as it is being filled: rows that readers add, checks of values, findings."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from svc_sdk.rates import rate_to_units
from svc_tools.service.ratebook.names import bare_county, name_key
from svc_tools.service.ratebook.schema import Area, Jurisdiction, RateRow, Source, StateRow

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_tools.service.ratebook.schema import (
        County,
        DeliveryRule,
        PlaceRow,
        PostalRow,
        ZipAreas,
    )


@dataclass(slots=True)
class Draft:
    """Everything compiled so far, and the report.

    Attributes:
        report: what was left out, corrected, settled.
        states: the rows of the states by code.
        delivery: the rules of delivery charges.
        counties: every county of the covered states by (state, FIPS code).
        sources: the sources used, by id.
        jurisdictions: by id.
        areas: by id.
        divided: (state, place, county) of the parts of places that lie outside their main county
            and are large enough for the place's name to mean them too.
        rates: of each jurisdiction, in the order they were added.
        places: the Census places of the states where a place may decide.
        zips: what each ZIP touches.
        postal: what the postal table has of each ZIP.
    """

    report: Report
    states: dict[str, StateRow] = field(default_factory=dict)
    delivery: list[DeliveryRule] = field(default_factory=list)
    counties: dict[tuple[str, str], County] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    jurisdictions: dict[str, Jurisdiction] = field(default_factory=dict)
    areas: dict[str, Area] = field(default_factory=dict)
    divided: set[tuple[str, str, str]] = field(default_factory=set)
    rates: dict[str, list[RateRow]] = field(default_factory=dict)
    places: list[PlaceRow] = field(default_factory=list)
    zips: list[ZipAreas] = field(default_factory=list)
    postal: list[PostalRow] = field(default_factory=list)

    def add_jurisdiction(self, state: str, level: str, code: str, name: str) -> str:
        """Add a jurisdiction if it is new; its id: `FL:county:086`, a state's is its code."""
        key = state if level == "state" else f"{state}:{level}:{code}"
        self.jurisdictions.setdefault(key, Jurisdiction(key, state, level, code, name))
        return key

    def add_area(self, area: Area) -> None:
        """Add an area; a second one of the same id is a mistake of a reader."""
        if area.id in self.areas:
            raise ValueError(f"area {area.id} exists twice")
        self.areas[area.id] = area

    def extend_area(self, area: str, jurisdiction: str) -> None:
        """Add one more part to the rates that add up in an area."""
        row = self.areas[area]
        self.areas[area] = replace(row, components=(*row.components, jurisdiction))

    def add_rate(
        self,
        jurisdiction: str,
        units: int,
        source: str,
        *,
        begin: date | None,
        end: date | None = None,
        effective: date | None = None,
        trust: str = "",
        conflict_cap: str = "",
        conflict_units: int | None = None,
        note: str = "",
        use: str = "",
        certainty: str = "",
        agreed: date | None = None,
        published: str = "",
    ) -> None:
        """Add a checked rate; `trust` is the source's unless the row has its own."""
        trust = trust or self.sources[source].trust
        self.rates.setdefault(jurisdiction, []).append(
            RateRow(
                jurisdiction,
                units,
                begin,
                end,
                effective,
                source,
                trust,
                conflict_cap,
                conflict_units,
                note,
                use,
                certainty,
                agreed,
                published,
            )
        )

    def county_fips(self, state: str, name: str) -> str | None:
        """The FIPS code of a county by its name; `None` when the state has none of that name.

        `"Richmond city"` and `"Richmond County"` differ; a name without either word
        finds a county only when it is the only one of that name.
        """
        key = name_key(name)
        named = [fips for (where, fips), c in self.counties.items() if where == state]
        exact = [fips for fips in named if name_key(self.counties[state, fips].name) == key]
        if exact:
            return exact[0]
        bare = [fips for fips in named if bare_county(self.counties[state, fips].name) == key]
        return bare[0] if len(bare) == 1 else None

    def note_districts(self, state: str, until: date) -> None:
        """Remember that districts of the state had rates the book cannot place, up to a day."""
        row = self.states[state]
        last = max(until, row.districts_until or until)
        self.states[state] = replace(row, districts_until=last)

    def note_missing(self, state: str, sentence: str) -> None:
        """Add a sentence to what the book says it lacks for a state."""
        row = self.states[state]
        self.states[state] = replace(row, missing=f"{row.missing} {sentence}".strip())

    def flag_area(self, area: str, lacks: str, since: date | None) -> None:
        """Say what the book does not have of an area, and from which day on."""
        self.areas[area] = replace(self.areas[area], lacks=lacks, lacks_from=since)


def slug(text: str) -> str:
    """A key made of a name: `"La Cañada Flintridge"` -> `la-canada-flintridge`."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "-".join(re.findall(r"[a-z0-9]+", re.sub(r"[^\x00-\x7f]", "", plain)))


FindingKind = Literal["missing", "left_out", "corrected", "conflict", "settled", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing a reader of the book should know about how it came to be.

    Attributes:
        kind: what happened to it.
        source: file name the row stands in.
        subject: which row.
        message: what is the matter and what was done.
    """

    kind: FindingKind
    source: str
    subject: str
    message: str


@dataclass(slots=True)
class Report:
    """What readers left out, corrected, settled or found in conflict, in the order they met it."""

    findings: list[Finding] = field(default_factory=list)

    def add(self, kind: FindingKind, source: str, subject: str, message: str) -> None:
        """Add one finding."""
        self.findings.append(Finding(kind, source, subject, message))


MAX_UNITS = 25_000
"""No general sales tax in the United States, and no part of one, reaches 25%."""
_YEARS = range(1930, 2100)
_OPEN_ENDS = frozenset({"29991231", "99991231", "20991231"})


class RowError(ValueError):
    """A value that may not enter the book; the message says why."""


def _bounded(units: int, given: str) -> int:
    if not 0 <= units <= MAX_UNITS:
        raise RowError(f"rate {given} is outside 0 to 25%")
    return units


def fraction_units(text: str) -> int:
    """Units of a rate given as a fraction: `"0.0825"`, or `".0825"`, gives `8250`.

    Raises:
        RowError: not a number, outside 0 to 25%, or digits beyond the fifth decimal.
    """
    digits = text.strip()
    try:
        return _bounded(rate_to_units(f"0{digits}" if digits.startswith(".") else digits), text)
    except RowError:
        raise
    except ValueError as error:
        raise RowError(str(error)) from error


def percent_text(units: int) -> str:
    """Units as a percentage: `9375` gives `"9.375%"`, `500` gives `"0.50%"`."""
    whole, rest = divmod(units, 1_000)
    return f"{whole}.{f'{rest:03d}'.removesuffix('0')}%"


def iso_date(text: str) -> date:
    """A date `YYYY-MM-DD`.

    Raises:
        RowError: not such a date, or not of the years 1930 to 2099.
    """
    try:
        day = date.fromisoformat(text.strip())
    except ValueError as error:
        raise RowError(f"{text!r} is not a date") from error
    if day.year not in _YEARS:
        raise RowError(f"{text!r} is not a date of the years 1930 to 2099")
    return day


def sst_date(text: str) -> date:
    """A date `YYYYMMDD`. Raises as `iso_date`."""
    if len(text) != len("YYYYMMDD") or not text.isdigit():
        raise RowError(f"{text!r} is not a date of the form YYYYMMDD")
    return iso_date(f"{text[:4]}-{text[4:6]}-{text[6:]}")


def sst_end(text: str) -> date | None:
    """The end date of an SST row, `None` where it is one of the values that mean open."""
    return None if text in _OPEN_ENDS else sst_date(text)


def spans_overlap(rows: Iterable[RateRow]) -> str:
    """Why the rows of one jurisdiction cannot stand side by side; empty when they can."""
    ordered = sorted(rows, key=lambda row: row.begin or date.min)
    for row in ordered:
        if row.begin and row.end and row.end < row.begin:
            return f"a span ends on {row.end}, before it begins on {row.begin}"
    for earlier, later in pairwise(ordered):
        if earlier.end is None or (later.begin or date.min) <= earlier.end:
            return f"the spans from {earlier.begin} and from {later.begin} overlap"
    return ""


MISSING = {
    "A": "",
    "B": "",
    "C": "City limits are those of the Census places of 2020: later annexations are not in them.",
    "D": "Places that are not listed, and special districts by address, are not covered.",
    "E": "Local rates are not covered: a rate is the state part only.",
    "none": "No state tax, but local ones that the book does not have: no rate is given.",
}
"""What the book lacks in each tier, as a sentence; tier `none` without any table."""
