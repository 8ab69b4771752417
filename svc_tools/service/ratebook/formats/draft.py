"""The book while it is being compiled: tables that readers add checked rows to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.names import bare_county, name_key
from svc_tools.service.ratebook.schema import Jurisdiction, RateRow

if TYPE_CHECKING:
    from datetime import date

    from svc_tools.service.ratebook.formats.report import CompileReport
    from svc_tools.service.ratebook.schema import Area, County, Source, StateRow, ZipCounties

__all__ = ["Draft"]


@dataclass(slots=True)
class Draft:
    """Everything compiled so far, and the report.

    Attributes:
        report: what was left out, corrected, settled.
        states: the rows of the states by code.
        counties: every county of the covered states by (state, FIPS code).
        sources: the sources used, by id.
        jurisdictions: by id.
        areas: by id.
        rates: in the order they were added.
        zip_counties: the crosswalk.
    """

    report: CompileReport
    states: dict[str, StateRow] = field(default_factory=dict)
    counties: dict[tuple[str, str], County] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    jurisdictions: dict[str, Jurisdiction] = field(default_factory=dict)
    areas: dict[str, Area] = field(default_factory=dict)
    rates: list[RateRow] = field(default_factory=list)
    zip_counties: list[ZipCounties] = field(default_factory=list)

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
    ) -> None:
        """Add a checked rate; `trust` is the source's unless the row has its own."""
        trust = trust or self.sources[source].trust
        self.rates.append(
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
            )
        )

    def county_fips(self, state: str, name: str) -> str | None:
        """The FIPS code of a county by its name; `None` when the state has none of that name.

        `"Richmond city"` and `"Richmond County"` are told apart; a name without either word
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

    def name_area(self, area: str, cities: tuple[str, ...]) -> None:
        """Give an area the names of a city that lead to it."""
        self.areas[area] = replace(self.areas[area], cities=cities)

    def flag_area(self, area: str, lacks: str, since: date | None) -> None:
        """Say what the book does not have of an area, and from which day on."""
        self.areas[area] = replace(self.areas[area], lacks=lacks, lacks_from=since)

    def missing_counties(self, state: str) -> list[str]:
        """Names of the state's counties that no area lies in."""
        covered = {fips for a in self.areas.values() if a.state == state for fips in a.counties}
        return [
            county.name
            for (where, fips), county in sorted(self.counties.items())
            if where == state and fips not in covered
        ]


def slug(text: str) -> str:
    """A key made of a name: `"La Cañada Flintridge"` -> `la-canada-flintridge`."""
    words = re.findall(r"[a-z0-9]+", re.sub(r"[^\x00-\x7f]", "", _plain(text)))
    return "-".join(words)


def _plain(text: str) -> str:
    import unicodedata  # noqa: PLC0415 - only the compiler needs it

    return unicodedata.normalize("NFKD", text).casefold()
