"""Loading the book: the shipped one, with the user's own rate files laid over it.

A file that brings its own history (SST, Texas) replaces the rates of its state. One that lists
single quarters (California, Washington) replaces them from its first day on: what the book knows
of the days before stays. Nothing of the shipped book is changed; a book that holds own editions
is another `Book`, which shares everything else with it.
"""

from __future__ import annotations

import hashlib
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.book import Book, by_jurisdiction, compiled_book
from svc_tools.service.ratebook.imports.database import (
    Edition,
    editions,
    failures_named,
    open_own_book,
    zips_in_force,
)
from svc_tools.service.ratebook.imports.reading import OwnTables, holds
from svc_tools.service.ratebook.own import OwnBookError

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from svc_tools.service.ratebook.schema import Area, RateRow


CONTINUES = "continues"
"""Name of the entry of an edition whose rates replace others from its first day on only."""


@dataclass(frozen=True, slots=True)
class OwnBook:
    """What an own book held at one moment.

    Attributes:
        path: the file.
        editions: its editions; two of the same path with the same editions are equal.
        texts: the tables of each edition of rates, by state.
        zips: as `Book.own_zips`.
    """

    path: Path
    editions: tuple[Edition, ...]
    texts: Mapping[str, Mapping[str, str]] = field(compare=False, repr=False)
    zips: Mapping[str, tuple[tuple[int, int], ...]] = field(
        default_factory=dict, compare=False, repr=False
    )


@lru_cache(maxsize=2)  # the one in use, and the one that takes its place
def load_over(path: Path | None, own: OwnBook) -> Book:
    """The book of a folder with an own book laid over it, read once in a process."""
    return lay_over(compiled_book(path), own)


def read_own_book(path: Path) -> OwnBook | None:
    """Read an own book; `None` where it is missing or empty.

    Raises:
        OwnBookError: it is damaged, of another program or of another version.
    """
    try:
        connection = open_own_book(path)
    except FileNotFoundError:
        return None
    with closing(connection), failures_named(path):
        connection.execute("BEGIN")  # one moment for all that follows
        found = tuple(editions(connection))
        texts: dict[str, dict[str, str]] = {}
        zips: dict[str, tuple[tuple[int, int], ...]] = {}
        for edition in found:
            if edition.kind == "rates":
                texts[edition.state] = own_tables(connection, edition.id)
            else:
                zips[edition.state] = zips_in_force(connection, edition)
    return OwnBook(path, found, texts, zips) if found else None


def own_tables(connection: sqlite3.Connection, edition_id: int) -> dict[str, str]:
    """The tables of one edition of rates: CSV text by name."""
    return dict(
        connection.execute("SELECT name, csv FROM tables WHERE edition_id = ?", (edition_id,))
    )


def lay_over(book: Book, own: OwnBook) -> Book:
    """The book with the rates of the own editions in the place of the shipped ones.

    Raises:
        OwnBookError: the tables of an edition do not hold what the schema says.
    """
    laid = book.copy()
    laid.own_path = own.path
    laid.own_editions = own.editions
    laid.own_zips = own.zips
    laid.digest = _digest(book.digest, own)
    for edition in own.editions:
        if edition.kind != "rates":
            continue
        texts = own.texts[edition.state]
        try:
            tables = OwnTables.read(texts)
            _lay_state(laid, edition, tables, continues=CONTINUES in texts)
        except (ValueError, KeyError, LookupError) as error:
            raise OwnBookError(
                f"Your own book {own.path} cannot be used: the rows of {edition.file}"
                f" ({edition.state}) are damaged, or of another version of this program: {error}."
                f" Import the file again, or take it out: svc-tools book remove {edition.state}"
            ) from error
    laid.index()
    return laid


def _digest(shipped: str, own: OwnBook) -> str:
    """Of the shipped book, the files and the rows, in which earlier files may show."""
    whole = hashlib.sha256(shipped.encode())
    for edition in own.editions:
        line = f"{edition.state} {edition.kind} {edition.edition} {edition.digest}\n"
        whole.update(line.encode())
        for name, text in sorted(own.texts.get(edition.state, {}).items()):
            whole.update(f"{name} {hashlib.sha256(text.encode()).hexdigest()}\n".encode())
    return whole.hexdigest()


def _lay_state(book: Book, edition: Edition, own: OwnTables, *, continues: bool) -> None:
    """Put the tables of one state into a book that may still be changed."""
    state = edition.state
    shipped = own_rows(book, state)
    if continues:
        own = continued(shipped, own, edition.covers_from, edition.covers_until)
    _check_references(book, state, own)
    book.states = {**book.states, state: own.states[0]}
    book.sources = {**book.sources, **{row.id: row for row in own.sources}}
    levying = {row.id: row for row in own.jurisdictions}
    rates = by_jurisdiction(own.rates)
    if state not in rates:  # the file has local rates only
        levying = {state: book.jurisdictions[state], **levying}
        rates = {state: book.rates[state], **rates}
    book.jurisdictions = book.jurisdictions.with_state(state, levying)
    book.rates = book.rates.with_state(state, rates)
    book.areas = book.areas.with_state(state, {row.id: row for row in own.areas})


def _check_references(book: Book, state: str, own: OwnTables) -> None:
    """See that all that a lookup follows leads somewhere.

    Raises:
        ValueError: a row names another that is not there.
    """
    sources = {row.id for row in own.sources}
    levied = {row.jurisdiction for row in own.rates}
    known = {row.id for row in own.jurisdictions} | {state}
    lost = {row.source for row in own.rates} - sources
    lost |= levied - known
    lost |= {part for area in own.areas for part in area.components} - levied
    lost |= {
        fips for area in own.areas for fips in area.counties if (state, fips) not in book.counties
    }
    if lost:
        raise ValueError(f"rows name others that are not there: {', '.join(sorted(lost)[:5])}")


def own_rows(book: Book, state: str) -> OwnTables:
    """The rows of one state of a book."""
    jurisdictions = list(book.jurisdictions.of(state).values())
    rates = [row for jurisdiction in jurisdictions for row in book.rates.get(jurisdiction.id, ())]
    return OwnTables(
        [book.states[state]],
        [book.sources[key] for key in dict.fromkeys(row.source for row in rates)],
        jurisdictions,
        list(book.areas.of(state).values()),
        rates,
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


def _ended(row: RateRow, last: date) -> RateRow:
    return row if row.end is not None and row.end <= last else replace(row, end=last)


def _by_id(areas: Iterable[Area]) -> dict[str, Area]:
    return {area.id: area for area in areas}
