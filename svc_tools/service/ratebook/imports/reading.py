"""What a reader makes of one rate file, and how lists of single quarters follow one another."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.formats.draft import Draft, Report, quarter_end, spans_overlap
from svc_tools.service.ratebook.imports.common import FileRefused, quarter_begin
from svc_tools.service.ratebook.schema import (
    Area,
    Jurisdiction,
    RateRow,
    Source,
    StateRow,
    read_rows,
    write_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.imports.common import Recognised

_TABLES: dict[str, type] = {
    "states": StateRow,
    "sources": Source,
    "jurisdictions": Jurisdiction,
    "areas": Area,
    "rates": RateRow,
}


@dataclass(frozen=True, slots=True)
class OwnTables:
    """The rows of one rate file in the schema of the book.

    Attributes:
        states: one row: what the book claims for the state with these rates.
        sources: where the rows come from.
        jurisdictions: who levies them.
        areas: whose rates add up where.
        rates: the rates. Where the file names no state rate, the shipped book's serves.
    """

    states: list[StateRow]
    sources: list[Source]
    jurisdictions: list[Jurisdiction]
    areas: list[Area]
    rates: list[RateRow]

    def texts(self) -> dict[str, str]:
        """CSV text by name of the table."""
        return {name: write_rows(getattr(self, name), row) for name, row in _TABLES.items()}

    @staticmethod
    def read(texts: Mapping[str, str]) -> OwnTables:
        """The rows of CSV texts, which another release may have written.

        Raises:
            ValueError: a table is not there, or does not hold what the schema says.
        """
        missing = _TABLES.keys() - texts.keys()
        if missing:
            raise ValueError(f"without the tables {', '.join(sorted(missing))}")
        return OwnTables(
            *(
                read_rows(texts[name], row, name, other_release=True)
                for name, row in _TABLES.items()
            )
        )


@dataclass(frozen=True, slots=True)
class Reading:
    """One rate file, read.

    Attributes:
        tables: its rows.
        edition: the quarter it is of.
        covers_from: the first day it speaks of.
        covers_until: the last day its figures are good for.
        continues: whether it lists the rates of its own quarters only, so that those of earlier
            days stay as the book had them; otherwise it brings its own history.
        report: what was left out, settled, noted.
        rows: how many lines were taken over.
    """

    tables: OwnTables
    edition: str
    covers_from: date
    covers_until: date
    continues: bool
    report: Report
    rows: int


def by_jurisdiction(rows: Iterable[RateRow]) -> dict[str, tuple[RateRow, ...]]:
    """The rows of each jurisdiction, the oldest first."""
    found: dict[str, list[RateRow]] = {}
    for row in rows:
        found.setdefault(row.jurisdiction, []).append(row)
    return {
        key: tuple(sorted(group, key=lambda row: str(row.begin or "")))
        for key, group in found.items()
    }


def seeded(book: Book) -> Draft:
    """A draft that knows the states and counties of a book, and nothing else of it."""
    return Draft(Report(), states=dict(book.states), counties=dict(book.counties))


def quarter_ends(edition: str, *, later: int = 0) -> date:
    """The last day of a quarter named as editions are, or of the one `later` quarters on."""
    begin = quarter_begin(edition)
    return quarter_end(begin.year, (begin.month + 2) // 3, later=later)


def add_source(
    draft: Draft, found: Recognised, name: str, publisher: str, *, complete_from: date | None = None
) -> str:
    """Add the file as a source; its id is unlike any of the shipped book."""
    key = f"own-{found.state.lower()}-{found.edition}"
    draft.sources[key] = Source(
        key,
        f"{name} ({found.path.name})",
        publisher,
        found.edition,
        "official figures, imported by the user",
        "official",
        complete_from,
        quarter_ends(found.edition),
        quarter_ends(found.edition, later=2),
    )
    return key


def checked(
    draft: Draft, found: Recognised, *, covers_from: date, continues: bool, rows: int
) -> Reading:
    """The draft of one state as a reading, after a last look at the whole.

    Raises:
        FileRefused: the rows contradict each other, or there are none.
    """
    name = found.path.name
    if not draft.rates:
        raise FileRefused(f"{name}: not one rate in it can be used")
    for key, group in draft.rates.items():
        reason = spans_overlap(group)
        if reason:
            raise FileRefused(f"{name}: {key}: {reason}")
    tables = OwnTables(
        [draft.states[found.state]],
        list(draft.sources.values()),
        sorted(draft.jurisdictions.values(), key=lambda row: row.id),
        sorted(draft.areas.values(), key=lambda row: row.id),
        sorted(
            (row for rows in draft.rates.values() for row in rows),
            key=lambda row: (row.jurisdiction, str(row.begin or "")),
        ),
    )
    return Reading(
        tables,
        found.edition,
        covers_from,
        quarter_ends(found.edition),
        continues,
        draft.report,
        rows,
    )


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
    local = {row.source for row in before.rates if row.jurisdiction != before.states[0].state}
    good = (row.local_until for row in before.sources if row.id in local)
    good_until = max(good, default=date.min)
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
            place=now.place or was.place,
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
    was = [row for part in area.components for row in old.get(part, ()) if holds(row, eve)]
    now = [row for part in area.components for row in new.get(part, ()) if holds(row, first)]
    if not was or sum(row.units for row in was) != sum(row.units for row in now):
        return {}
    since = max((row.effective for row in was if row.effective), default=None)
    return dict.fromkeys(area.components, since)


def row_on(rows: Iterable[RateRow], day: date) -> RateRow | None:
    """The row of one jurisdiction that is in force on a day."""
    return next((row for row in rows if holds(row, day)), None)


def holds(row: RateRow, day: date) -> bool:
    """Whether a row is in force on a day."""
    return (row.begin or date.min) <= day and (row.end is None or day <= row.end)


def _ended(row: RateRow, last: date) -> RateRow:
    return row if row.end is not None and row.end <= last else replace(row, end=last)


def _by_id(areas: Iterable[Area]) -> dict[str, Area]:
    return {area.id: area for area in areas}
