"""The local rates of the states by the lists of areas, each in its own way."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.imports.draft import slug
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.schema import Area

from .listed import add_listed, continue_official, read_listed
from .tables import district_units

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from svc_tools.service.ratebook.imports.draft import Draft

    from .geography import Places
    from .listed import Listed
    from .tables import Tables

_BEGIN = date(2022, 1, 1)
"""The first day of the lists with history."""
CALIFORNIA_LIST_BEGINS = date(2026, 4, 1)
"""From this day on California's list of 2026-07-01 holds: nothing changed on 2026-07-01."""
_OFFICIAL = {"CA": "ca-cdtfa", "GA": "sst-ga", "MN": "sst-mn", "WA": "wa-dor", "WI": "sst-wi"}
"""States whose own file reaches further back, or splits the rate into its parts."""
_OVERLAYS = {
    "COTA": ((_BEGIN, date(2025, 3, 31), 500), (date(2025, 4, 1), None, 1_000)),
    "TARTA": ((_BEGIN, date(2022, 3, 31), 0), (date(2022, 4, 1), None, 500)),
}
"""Ohio's transit areas in parts of counties: what they add, from day to day."""
_OVERLAY = re.compile(r"(?P<county>.+? County) - (?P<district>\w+) area \((?P<cities>.+)\)")
_OHIO = "sst-oh-2026q4"
_NEW_YORK = "New York"
_NEW_YORK_MAIN = "061"


def read_lists(paths: Iterable[Path]) -> dict[str, list[Listed]]:
    """The areas of some lists by state."""
    found: dict[str, list[Listed]] = defaultdict(list)
    for path in paths:
        for area in read_listed(path):
            found[area.state].append(area)
    return found


def add_listed_states(
    listed: Mapping[str, list[Listed]],
    tables: Tables,
    overlays: Path,
    places: Places,
    draft: Draft,
) -> None:
    """Add the states that the lists cover whole.

    Args:
        listed: the areas by state.
        tables: the transcribed tables: the regional districts of New York and Virginia.
        overlays: the file that names the cities of Ohio's transit areas.
        places: the Census places by name.
        draft: has the state rates, and the states of `_OFFICIAL` as their own files have them.
    """
    aliases = {
        (place.state, place.fips): tuple(place.aliases.split("|"))
        for place in draft.places
        if place.aliases
    }
    for state, areas in sorted(listed.items()):
        if draft.states[state].tier not in {"B", "C"}:
            continue
        if _OFFICIAL.get(state) in draft.sources:
            _continue_state(state, areas, aliases, draft)
        elif state == "VT":
            add_listed(_vermont(areas, draft), draft)
        elif state == "NY":
            _add_new_york(areas, tables, draft)
        else:
            add_listed(areas, draft, parts=_regions(state, tables, draft))
    _add_overlays(overlays, places, draft)


def _continue_state(
    state: str,
    areas: Sequence[Listed],
    aliases: Mapping[tuple[str, str], tuple[str, ...]],
    draft: Draft,
) -> None:
    continue_official(
        areas,
        _OFFICIAL[state],
        draft,
        level="district" if state == "CA" else "city",
        aliases={fips: names for (where, fips), names in aliases.items() if where == state},
    )


def _vermont(areas: Sequence[Listed], draft: Draft) -> list[Listed]:
    """Towns beside the places of their names: a town taxes more land than its village.

    A town that the places already are (Barre City) is left out; before its first day a town had
    the state's rate.
    """
    cities = {
        (area.county, name_key(area.name))
        for area in areas
        if area.level == "place" and area.kind == "city"
    }
    found = []
    for area in areas:
        if area.level != "town":
            found.append(area)
            continue
        bare = re.sub(r" City$", "", area.name)
        if area.kind == "city" and (area.county, name_key(bare)) in cities:
            continue
        first = area.spans[0]
        if first.begin > _BEGIN:
            before = first._replace(
                begin=_BEGIN,
                end=first.begin - timedelta(days=1),
                units=next(row.units for row in draft.rates["VT"] if row.end is None),
                effective=None,
            )
            area = replace(area, spans=(before, *area.spans))  # noqa: PLW2901 - one row of many
        found.append(area)
    return found


def _regions(state: str, tables: Tables, draft: Draft) -> dict[str, tuple[str, ...]]:
    """The regional districts of each county of a state, added with what they levy."""
    names = {"NY": "NY_MCTD_RATE", "VA": "VA_DISTRICT_RATE_PCT"}
    found: dict[str, tuple[str, ...]] = {}
    if state not in names:
        return found
    for name, units in district_units(tables, state, names[state]).items():
        title = _TITLES.get(name, name)
        key = draft.add_jurisdiction(state, "district", slug(title), title)
        draft.add_rate(key, units, _REGION_SOURCES[state], begin=_BEGIN)
        for locality in tables.members[state, name]:
            fips = draft.county_fips(state, locality)
            if fips is None:
                draft.report.add("left_out", "members", locality, f"not in {state}")
                continue
            found[fips] = (*found.get(fips, ()), key)
    return found


_TITLES = {"MCTD 0.375": "Metropolitan Commuter Transportation District"}
_REGION_SOURCES = {"NY": "ny-pub718-2025-03", "VA": "va-localities-2026-10"}


def _add_new_york(areas: Sequence[Listed], tables: Tables, draft: Draft) -> None:
    """New York: the City's rate is the city's, in each of its five counties."""
    regions = _regions("NY", tables, draft)
    city = [area for area in areas if area.level == "county" and area.name == _NEW_YORK]
    add_listed([area for area in areas if area not in city], draft, parts=regions)
    key = draft.add_jurisdiction("NY", "city", city[0].place, "New York City")
    for area in city:
        county = draft.counties["NY", area.county]
        names = (
            (_NEW_YORK, "New York City") if area.county == _NEW_YORK_MAIN else ("New York City",)
        )
        parts = (key, *regions[area.county])
        made = Area(
            f"NY:county:{area.county}", "NY", "county", county.name, (area.county,), parts, names,
            "", 0, place=area.place,
        )  # fmt: skip
        draft.add_area(made)
    for span in city[0].spans:
        rates = [row.units for part in regions[_NEW_YORK_MAIN] for row in draft.rates[part]]
        units = (span.units or 0) - draft.rates["NY"][-1].units - sum(rates)
        draft.add_rate(
            key, units, span.source, begin=span.begin, end=span.end, effective=span.effective
        )


def _add_overlays(path: Path, places: Places, draft: Draft) -> None:
    """Ohio's transit areas in parts of counties: what they add in the cities they are named for."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [
            one for one in csv.DictReader(file) if (one["state"], one["level"]) == ("OH", "city")
        ]
    for row in rows:
        match = _OVERLAY.fullmatch(row["name"])
        fips = draft.county_fips("OH", match["county"]) if match else None
        if match is None or fips is None or f"OH:county:{fips}" not in draft.areas:
            draft.report.add("left_out", path.name, row["name"], "no such county")
            continue
        name = f"{match['district']} transit area in {match['county']}"
        key = draft.add_jurisdiction("OH", "district", slug(f"{match['district']} {fips}"), name)
        for begin, end, units in _OVERLAYS[match["district"]]:
            since = None if begin == _BEGIN else begin
            draft.add_rate(key, units, _OHIO, begin=begin, end=end, effective=since)
        for city in match["cities"].split(", "):
            for place, main, counties in places.get(("OH", name_key(city)), ()):
                if fips in counties.split():
                    called = (city,) if main == fips or ("OH", place, fips) in draft.divided else ()
                    title = f"{city} ({match['county']})"
                    parts = (f"OH:county:{fips}", key)
                    area = f"OH:city:{place}-{fips}"
                    draft.add_area(
                        Area(area, "OH", "city", title, (fips,), parts, called, "", 1, place=place)
                    )
