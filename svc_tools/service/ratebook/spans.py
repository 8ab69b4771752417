"""The days on which the rate of a place may change: between two of them its result is the same.

Days are counted as by `date.toordinal`. A day too many costs a little time, one too few a wrong
rate: whatever of `rating` compares a day has its days here, that of `resolver` in its
`days_of_change`.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import date, timedelta
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.schema import Area

QUARTER = timedelta(days=92)
"""A figure is likely to be right still this long after its edition (docs/ACCURACY.md)."""
YEAR = timedelta(days=365)
"""One that a later table agrees with is likely to be right still this long after that table."""
EVER = 1, date.max.toordinal() + 1
"""From the first day that there is to behind the last."""


def span_of(changes: Sequence[int], day: int) -> tuple[int, int]:
    """The days around a day without a change: the first, and the one behind the last."""
    at = bisect_right(changes, day)
    return changes[at - 1] if at else EVER[0], changes[at] if at < len(changes) else EVER[1]


def changes_of_area(book: Book, state: str, area: Area | None) -> tuple[int, ...]:
    """The days on which the rates of an area may change, in order."""
    lacks_from = area.lacks_from if area else None
    days = {lacks_from.toordinal()} if lacks_from else set()
    for key in (state, *(area.components if area else ())):
        days.update(changes_of_rates(book, key))
    return tuple(sorted(days))


def changes_of_rates(book: Book, jurisdiction: str) -> frozenset[int]:
    """The days on which the rate of a jurisdiction may change, or how far it is to be trusted."""
    key = ("changes of rates", jurisdiction)
    known = book.memo.get(key)
    if isinstance(known, frozenset):
        return known
    rows = book.rates[jurisdiction]
    sources = {row.source: book.sources[row.source] for row in rows}
    dated = (day for row in rows for day in (row.begin, sources[row.source].complete_from) if day)
    of_state = book.jurisdictions[jurisdiction].level == "state"
    good = [source.state_until if of_state else source.local_until for source in sources.values()]
    ended = [row.end.toordinal() + 1 for row in rows if row.end]
    ended += [(row.agreed + YEAR).toordinal() + 1 for row in rows if row.agreed]
    days = (*(day.toordinal() for day in dated), *ended, *chain.from_iterable(map(behind, good)))
    return book.remember(key, frozenset(days))


def behind(last: date) -> Iterable[int]:
    """The day behind the last one that figures are good for, and that a quarter later."""
    first = last.toordinal() + 1
    return first, first + QUARTER.days
