"""How the rates of a state in two books differ."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, TypeAlias

from svc_tools.service.ratebook.imports.reading import (
    row_on,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.schema import RateRow


@dataclass(frozen=True, slots=True)
class RateChange:
    """One rate that differs.

    Attributes:
        jurisdiction: id of who levies it, such as `MN:county:053`.
        name: its name.
        before: units of 10^-5 in the book before; `None` where its rate was not known.
        after: units in the book after, likewise.
        since: the first day on which they differ.
    """

    jurisdiction: str
    name: str
    before: int | None
    after: int | None
    since: date


@dataclass(frozen=True, slots=True)
class Changes:
    """How the rates of a state in two books differ.

    Attributes:
        added: names of jurisdictions that only the later book has.
        removed: names of jurisdictions that only the earlier one has.
        rates: rates that differ, the latest first.
        earliest_before: the first day the earlier book has a rate of the state for.
        earliest_after: likewise for the later book.
    """

    added: tuple[str, ...]
    removed: tuple[str, ...]
    rates: tuple[RateChange, ...]
    earliest_before: date | None
    earliest_after: date | None


def changes(before: Book, after: Book, state: str) -> Changes:
    """Compare the rates of a state in two books.

    A rate that only one of two books knows on a day is no change of it: a longer history, or one
    that ended. Nor is one that is split in another way while the sum of its areas stays.
    """
    old = {key: rows for key, rows in before.rates.items() if _is_of(before, key, state)}
    new = {key: rows for key, rows in after.rates.items() if _is_of(after, key, state)}
    found = [
        RateChange(key, after.jurisdictions[key].name, was, now, day)
        for key in old.keys() & new.keys()
        for day, was, now in _differences(old[key], new[key])
        if None in {was, now} or not _split_only(before, after, key, day)
    ]
    found.sort(key=lambda change: (-change.since.toordinal(), change.name, change.jurisdiction))
    return Changes(
        tuple(after.jurisdictions[key].name for key in new if key not in old),
        tuple(before.jurisdictions[key].name for key in old if key not in new),
        tuple(found),
        _earliest(old),
        _earliest(new),
    )


def _is_of(book: Book, key: str, state: str) -> bool:
    return book.jurisdictions[key].state == state


_Pair: TypeAlias = tuple[int | None, int | None]


def _differences(
    old: tuple[RateRow, ...], new: tuple[RateRow, ...]
) -> list[tuple[date, int | None, int | None]]:
    """The days from which two histories have different rates, and the rates."""
    found: list[tuple[date, int | None, int | None]] = []
    last: _Pair | None = None
    for day in sorted({row.begin or date.min for row in (*old, *new)}):
        rows = row_on(old, day), row_on(new, day)
        was, now = (row.units if row and row.use != "unknown" else None for row in rows)
        pair = (was, now) if all(rows) and was != now else None
        if pair and pair != last:
            found.append((day, *pair))
        last = pair
    return found


def _split_only(before: Book, after: Book, key: str, day: date) -> bool:
    """Whether every area that a rate is a part of has the same sum in both books."""
    state = after.jurisdictions[key].state
    areas = [a for a in after.areas.values() if a.state == state and key in a.components]
    return bool(areas) and all(
        area.id in before.areas
        and _sum_on(before, before.areas[area.id].components, day)
        == _sum_on(after, area.components, day)
        for area in areas
    )


def _sum_on(book: Book, parts: Iterable[str], day: date) -> int:
    return sum(_units_on(book.rates[part], day) or 0 for part in parts)


def _units_on(rows: tuple[RateRow, ...], day: date) -> int | None:
    row = row_on(rows, day)
    return row.units if row else None


def _earliest(rates: dict[str, tuple[RateRow, ...]]) -> date | None:
    return min((row.begin for rows in rates.values() for row in rows if row.begin), default=None)
