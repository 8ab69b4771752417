"""Places without a local tax by law or fact, in Idaho and Alaska, and Alaska's member towns."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.imports.draft import RowError, fraction_units, iso_date
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.schema import Area

from .unlisted import add_city, add_unlisted, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from svc_tools.service.ratebook.imports.draft import Draft
    from svc_tools.service.ratebook.schema import RateRow

_DAY = timedelta(days=1)
_LAW = "id-code-50-1044"
_RESORTS = "id-stc-local"
_IDAHO_BEGINS = date(2022, 1, 1)
_LIMIT = 10_000
_BARRED = "A city of more than 10,000 people may not levy a sales tax (Idaho Code 50-1044)."
_MEMBERS = "ak-arsstc-members"
_TOWNSITE = "Haines Borough (townsite)"
_RURAL = "Haines Borough (rural)"
_HAINES = "100"
_SUMMER, _WINTER = "Ketchikan (April to September)", "Ketchikan (October to March)"
_SEASONS_UNTIL = 2030
_FIRST_SEASON = date(2022, 1, 1)
_SEASON = "5.5% from April to September, 3% from October to March."
_DIFFER = (
    "The list of the Alaska Remote Seller Sales Tax Commission and the table of 2026-07 differ."
)


def read_idaho_cities(path: Path, draft: Draft) -> None:
    """Add the cities of Idaho that the law bars from a sales tax; its counties levy none.

    Only resort cities may: what is left of a county is whole. Smaller cities without a rate may
    levy one, and are lower bounds. A city that grew past the limit since the count of 2020 is
    likely.

    Raises:
        RowError: a city is none of the state's, or not larger than the law's limit.
    """
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            place = place_of("ID", row["place_fips"], draft)
            if place is None or int(row["population_acs2021"]) <= _LIMIT:
                raise RowError(f"{path.name}: {row['place_name']}: no city of more than {_LIMIT:,}")
            sure = int(row["population_2010"]) > _LIMIT
            for fips in place.counties.split():
                key = add_city(place, fips, draft)
                draft.add_rate(
                    key,
                    0,
                    row["source_id"],
                    begin=iso_date(row["effective_from"]),
                    certainty="" if sure else "likely",
                    note=_BARRED,
                )
    counties = [area for area in draft.areas.values() if area.id.startswith("ID:county:")]
    if not counties:
        return
    every = {area.counties[0] for area in counties}
    add_unlisted("ID", every, "partial", _RESORTS, draft, begin=_IDAHO_BEGINS)
    for area in counties:
        draft.flag_area(area.id, "", None)


def read_alaska(members: Path, untaxed: Path, draft: Draft) -> None:
    """Add the boroughs of Alaska without a sales tax, and the rates of member towns.

    A town keeps the rate that the table has of it where the two differ, and sources disagree then.

    Raises:
        RowError: a row is of no borough or place of the state.
    """
    _add_untaxed(untaxed, draft)
    with members.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            _add_member(row, members.name, draft)


def _add_untaxed(path: Path, draft: Draft) -> None:
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            fips, except_place = row["county_fips"][2:], row["except_place_fips"]
            key = _borough(fips, draft)
            place = place_of("AK", except_place, draft) if except_place else None
            if place and fips not in place.counties.split():
                draft.report.add(
                    "corrected",
                    path.name,
                    f"AK {row['county_name']}",
                    f"excepts {place.name} ({except_place}), which is not in it: its towns with a"
                    " rate are excepted",
                )
            draft.add_rate(
                key,
                fraction_units(row["combined_rate"]),
                row["source_id"],
                begin=iso_date(row["effective_from"]),
                certainty="likely" if row["certainty"] == "likely" else "",
            )
            _close_before_last(draft.rates[key])


def _close_before_last(rows: list[RateRow]) -> None:
    """End every row but the last one on the eve of the next."""
    for number, (earlier, later) in enumerate(pairwise(rows)):
        if later.begin:
            rows[number] = replace(earlier, end=later.begin - _DAY)


def _borough(fips: str, draft: Draft) -> str:
    """The id of a borough, added where the draft has none."""
    name = draft.counties["AK", fips].name
    key = draft.add_jurisdiction("AK", "county", fips, name)
    if key not in draft.areas:
        draft.add_area(Area(key, "AK", "county", name, (fips,), (key,), (), "", 0))
    return key


def _add_member(row: dict[str, str], file: str, draft: Draft) -> None:
    name, units = row["member"], fraction_units(row["own_rate"])
    begin = iso_date(row["remote_collection_from"])
    if name in {_SUMMER, _WINTER}:
        _add_seasons(f"AK:city:{row['place_fips']}", units, begin, draft, summer=name == _SUMMER)
        return
    key = _member(row, file, draft)
    known = draft.rates.get(key, [])
    if known and known[0].units != units:
        table = known[0]
        draft.rates[key] = []
        draft.add_rate(
            key,
            units,
            _MEMBERS,
            begin=begin,
            end=(table.begin or date.max) - _DAY,
            certainty="likely",
            conflict_cap="low",
            conflict_units=table.units,
            note=_DIFFER,
        )
        draft.rates[key].append(
            replace(table, conflict_cap="low", conflict_units=units, note=_DIFFER)
        )
        return
    draft.rates[key] = []
    draft.add_rate(key, units, _MEMBERS, begin=begin, certainty="likely")


def _member(row: dict[str, str], file: str, draft: Draft) -> str:
    """The id of a member, with its area where the draft has none."""
    name, code = row["member"], row["place_fips"]
    if name == _RURAL:
        return _borough(_HAINES, draft)
    if name.endswith(" Borough") and not code:
        fips = draft.county_fips("AK", name)
        if fips is None:
            raise RowError(f"{file}: {name}: the state has no such borough")
        return _borough(fips, draft)
    called = name.partition(" ")[0] if name == _TOWNSITE else name
    place = place_of("AK", code, draft) if code else None
    for one in draft.places if place is None else ():
        if one.state == "AK" and name_key(one.name) == name_key(called):
            place = one
    if place is None:
        raise RowError(f"{file}: {name}: the state has no such place")
    key = f"AK:city:{place.fips}"
    return key if key in draft.areas else add_city(place, place.counties.split()[0], draft)


def _add_seasons(key: str, units: int, begin: date, draft: Draft, *, summer: bool) -> None:
    """Add the rate of each season of Ketchikan up to a late year; the last one goes on."""
    rows = [row for row in draft.rates[key] if row.source == _MEMBERS]
    draft.rates[key] = rows
    first = max(begin, _FIRST_SEASON)
    for start, end in _seasons(summer=summer):
        if end is None or end >= first:
            draft.add_rate(
                key, units, _MEMBERS, begin=max(start, first), end=end, certainty="likely",
                note=_SEASON,
            )  # fmt: skip
    rows.sort(key=lambda row: row.begin or date.min)


def _seasons(*, summer: bool) -> Iterator[tuple[date, date | None]]:
    years = range(_FIRST_SEASON.year - 1, _SEASONS_UNTIL)
    if summer:
        yield from ((date(year, 4, 1), date(year, 9, 30)) for year in (*years, _SEASONS_UNTIL))
    else:
        yield from ((date(year, 10, 1), date(year + 1, 3, 31)) for year in years)
        yield date(_SEASONS_UNTIL, 10, 1), None
