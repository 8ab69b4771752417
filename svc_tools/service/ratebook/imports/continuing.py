"""Lists of single quarters behind one another: what was known before, and what a list says since.

California's and Washington's lists have the rates in force in their own quarters and no history.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.imports.reading import OwnTables, by_jurisdiction

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_tools.service.ratebook.schema import Area, RateRow

__all__ = ["continued"]

_DAY = timedelta(days=1)


def continued(before: OwnTables, after: OwnTables, first: date, last: date) -> OwnTables:
    """The rates of `after` from its first day on, and those of `before` on the days before it.

    What `before` knows to begin after the last day that `after` speaks of stays too.

    A rate that stays the same keeps the day it took effect; one that changed took effect on the
    first day where the source dates whole rates and `before` was good until then. A part that
    only one of the two has is 0 in the other, as long as its area is in both. An area that held
    only within the days of `after`, and is not in it, is gone.
    """
    eve = first - _DAY
    old, new = by_jurisdiction(before.rates), by_jurisdiction(after.rates)
    sources = {row.id: row for row in before.sources}
    good_until = max((row.local_until for row in before.sources), default=date.min)
    seamless = good_until >= eve
    complete = [row.complete_from for row in before.sources if row.complete_from]
    own_sources = {
        row.id: replace(row, complete_from=min(complete))
        if row.complete_from and complete and seamless
        else row
        for row in after.sources
    }
    earlier, later = _by_id(before.areas), _by_id(after.areas)
    areas = {**earlier, **later}
    unchanged: dict[str, date | None] = {}
    for key in earlier.keys() & later.keys():
        was, now = earlier[key], later[key]
        areas[key] = replace(
            now,
            components=tuple(dict.fromkeys((*was.components, *now.components))),
            cities=tuple(dict.fromkeys((*now.cities, *was.cities))),
        )
        _fill(was, now, old, new, first)
        unchanged |= _unchanged(areas[key], old, new, first)
    rates: list[RateRow] = []
    for key in {**old, **new}:
        kept = [_ended(row, eve) for row in old.get(key, ()) if (row.begin or date.min) <= eve]
        previous = kept[-1] if kept and kept[-1].end == eve else None
        newer = [row for row in old.get(key, ()) if row.begin and row.begin > last]
        until = newer[0].begin - _DAY if newer and newer[0].begin else date.max
        for row in new.get(key, ()):
            since, begin = row.effective, row.begin
            if row.begin == first and since is None and previous:
                dated = seamless and own_sources[row.source].complete_from
                if previous.units == row.units:
                    since = previous.effective if seamless else None
                    if since is None and dated:  # one row: it held before, since when nobody says
                        begin = kept.pop().begin
                else:
                    since = unchanged.get(key, first if dated else None)
            if (row.begin or date.min) <= until:
                ends = until if newer and (row.end is None or row.end > until) else row.end
                rates.append(replace(row, begin=begin, effective=since, end=ends))
        rates += (*kept, *newer)
    jurisdictions = {row.id: row for row in (*before.jurisdictions, *after.jurisdictions)}
    used, levied = {row.source for row in rates}, {row.jurisdiction for row in rates}
    return OwnTables(
        after.states,
        [row for key, row in {**sources, **own_sources}.items() if key in used],
        [row for key, row in jurisdictions.items() if key in levied],
        [area for area in areas.values() if levied.issuperset(area.components)],
        rates,
    )


def _fill(
    was: Area,
    now: Area,
    old: dict[str, tuple[RateRow, ...]],
    new: dict[str, tuple[RateRow, ...]],
    first: date,
) -> None:
    """Give a part that only one side of an area has the rate 0 on the other side."""
    for part in was.components:
        twin = next((new[key][0] for key in now.components if key in new), None)
        if part not in now.components and part not in new and twin:
            zero = replace(twin, jurisdiction=part, units=0, begin=first, end=None, effective=None)
            new[part] = (zero,)
    for part in now.components:
        twins = next((old[key] for key in was.components if key in old), ())
        if part not in was.components and part not in old and twins:
            old[part] = tuple(replace(row, jurisdiction=part, units=0) for row in twins)


def _unchanged(
    area: Area,
    old: dict[str, tuple[RateRow, ...]],
    new: dict[str, tuple[RateRow, ...]],
    first: date,
) -> dict[str, date | None]:
    """Where an area's parts are split in another way and add up to the same: since when they do."""
    eve = first - _DAY
    was = [row for part in area.components for row in old.get(part, ()) if _holds(row, eve)]
    now = [row for part in area.components for row in new.get(part, ()) if _holds(row, first)]
    if not was or sum(row.units for row in was) != sum(row.units for row in now):
        return {}
    since = max((row.effective for row in was if row.effective), default=None)
    return dict.fromkeys(area.components, since)


def _holds(row: RateRow, day: date) -> bool:
    return (row.begin or date.min) <= day and (row.end is None or day <= row.end)


def _ended(row: RateRow, last: date) -> RateRow:
    return row if row.end is not None and row.end <= last else replace(row, end=last)


def _by_id(areas: Iterable[Area]) -> dict[str, Area]:
    return {area.id: area for area in areas}
