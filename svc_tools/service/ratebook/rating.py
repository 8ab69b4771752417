"""What the rates of one area add up to on one day."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.figures import rate_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.schema import Area, Jurisdiction, RateRow, Source

__all__ = ["Absent", "Component", "Rated", "rate_area"]

_MEMO_LIMIT = 100_000
_DAY = timedelta(days=1)


class Component(NamedTuple):
    """One jurisdiction's share of a rate and the row it was read from."""

    jurisdiction: Jurisdiction
    row: RateRow
    source: Source


class Rated(NamedTuple):
    """The rates of one area on one day; all in units of 10^-5.

    Attributes:
        area: the area; `None` for a state whose own part is all there is.
        components: state first, then county, city and districts.
        state: the parts by the field of the answer they go into; they add up to `combined`.
        county: likewise.
        city: likewise.
        district: likewise.
        combined: their sum.
        history_from: where the day lies before a component's first row: the oldest day the book
            knows them all for; else `None`.
        edition_end: the last day that every source is good for.
        effective: the latest legal begin of the components, when every one publishes one, or
            stands in a table that dates whole rates.
        conflicts: the components about which sources disagree.
        third_hand: whether a row is third hand.
        lacks: what the book does not have of the area that day, as `Area.lacks`.
        origin: names and editions of the sources that decide: those of the local rows, where
            there are any.
        written: the figures as an answer writes them (SPEC 2.2), by field.
    """

    area: Area | None
    components: tuple[Component, ...]
    state: int
    county: int
    city: int
    district: int
    combined: int
    history_from: date | None
    edition_end: date
    effective: date | None
    conflicts: tuple[Component, ...]
    third_hand: bool
    lacks: str
    origin: tuple[str, str]
    written: Mapping[str, str]


class Absent(NamedTuple):
    """No rate of an area can be given for a day.

    Attributes:
        area: the area.
        jurisdiction: whose rate is not there.
        existed: whether the jurisdiction has rates before and after the day: a hole in the
            source, not a jurisdiction that did not exist.
    """

    area: Area | None
    jurisdiction: Jurisdiction
    existed: bool


def rate_area(book: Book, state: str, area: Area | None, day: date) -> Rated | Absent:
    """Add up the rows in force on a day, from the state's to the last component's.

    Before a jurisdiction's first row its oldest row serves and `history_from` says so, unless
    the source lists every jurisdiction of that day: then the area did not exist (`Absent`).
    """
    key = (area.id if area else state, day)
    found = book.memo.get(key)
    if found is None:
        if len(book.memo) > _MEMO_LIMIT:
            book.memo.clear()
        found = book.memo[key] = _rate(book, state, area, day)
    return found  # type: ignore[return-value]  # the memo is shared by kinds of key


def _rate(book: Book, state: str, area: Area | None, day: date) -> Rated | Absent:
    parts = {"state": 0, "county": 0, "city": 0, "district": 0}
    components = []
    oldest: list[date] = []
    for key in (state, *(area.components if area else ())):
        jurisdiction = book.jurisdictions[key]
        rows = book.rates[key]
        row, known_from = _pick(rows, day)
        if known_from and _lists_all(book, rows, day):
            row = None
        if row is None:
            return Absent(area, jurisdiction, _between(rows, day))
        if known_from:
            oldest.append(known_from)
        components.append(Component(jurisdiction, row, book.sources[row.source]))
        parts[jurisdiction.level] += row.units
    return Rated(
        area,
        tuple(components),
        **parts,
        combined=sum(parts.values()),
        history_from=max(oldest) if oldest else None,
        edition_end=min(
            c.source.state_until if c.jurisdiction.level == "state" else c.source.local_until
            for c in components
        ),
        effective=None if oldest else _effective(components),
        conflicts=tuple(c for c in components if c.row.conflict_cap),
        third_hand=any(c.row.trust == "third_hand" for c in components),
        lacks=area.lacks_on(day) if area else "",
        origin=_origin(components),
        written={
            "state_rate": rate_text(parts["state"]),
            "county_rate": rate_text(parts["county"]),
            "city_rate": rate_text(parts["city"]),
            "combined_district_rate": rate_text(parts["district"]),
            "combined_rate": rate_text(sum(parts.values())),
        },
    )


def _effective(components: Sequence[Component]) -> date | None:
    """The day the sum took legal effect, where the sources publish one.

    A table that lists every rate of each quarter dates the whole of it: a part that held before
    that day (Washington's state part) needs no day of its own.
    """
    latest = max((c.row.effective for c in components if c.row.effective), default=None)
    for component in components:
        row, since = component.row, component.source.complete_from
        dated = row.effective or (since and latest and row.begin and row.begin <= latest)
        if not dated:
            return None
    return latest


def _origin(components: Sequence[Component]) -> tuple[str, str]:
    sources = [c.source for c in components if c.jurisdiction.level != "state"]
    sources = sources or [components[0].source]
    names = "; ".join(dict.fromkeys(source.name for source in sources))
    return names, "; ".join(dict.fromkeys(source.edition for source in sources))


def _pick(rows: tuple[RateRow, ...], day: date) -> tuple[RateRow | None, date | None]:
    """The row for a day, and the oldest dated day where the day lies before it."""
    first = rows[0]
    if first.begin is None and first.end and day <= first.end:
        return first, first.end + _DAY  # it held before that day; since when is not known
    if first.begin and day < first.begin:
        return first, first.begin
    for row in reversed(rows):
        if row.begin is None or row.begin <= day:
            return (row if row.end is None or day <= row.end else None), None
    return None, None


def _lists_all(book: Book, rows: tuple[RateRow, ...], day: date) -> bool:
    complete_from = book.sources[rows[0].source].complete_from
    return complete_from is not None and complete_from <= day


def _between(rows: tuple[RateRow, ...], day: date) -> bool:
    return bool(rows[0].begin and rows[0].begin <= day) and any(
        row.begin is not None and day < row.begin for row in rows
    )
