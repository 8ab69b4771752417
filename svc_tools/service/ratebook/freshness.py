"""How old and how complete a book is, state by state (WIRE `GET /v1/freshness`)."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.schema import RateRow, StateRow

__all__ = ["freshness_report"]

_COVERS = {
    "A": "the whole rate: no local general sales tax",
    "B": "state and county rates, and the few cities and districts that add to them",
    "C": "state, county, city and district rates, a city being told by its name",
    "D": "state rates, and those of counties and main cities from a transcribed table",
    "E": "the state part only",
    "none": "nothing: no state tax, local taxes unknown",
}
_TOWNS = "the boroughs and towns of a transcribed table only; no state tax"
_BEST = {"A": "high", "B": "high", "C": "medium", "D": "low", "E": "low", "none": "none"}


class _Records(NamedTuple):
    """How many of a state's ZIPs the user's own boundary file has a record in force of."""

    zips: int
    of: int

    @property
    def enough(self) -> bool:
        """Whether most lookups there are decided by a record: they are what is claimed then."""
        return self.zips * 2 >= self.of > 0


def freshness_report(book: Book) -> dict[str, object]:
    """The book's edition and digest, and one entry for each state in order of its code.

    `history_from` is the day from which every rate of the state is known, `oldest_row` the first
    day that any of them is known for.
    """
    local = _local_rows(book)
    return {
        "book": {
            "edition": book.edition,
            "digest": book.digest,
            "loaded_at": book.loaded_at,
            "states": len(book.states),
            "jurisdictions": len(book.jurisdictions),
            "rates": sum(len(rows) for rows in book.rates.values()),
        },
        "states": [
            _entry(book, row, local.get(row.state, [])) for _, row in sorted(book.states.items())
        ],
    }


def _local_rows(book: Book) -> dict[str, list[tuple[RateRow, ...]]]:
    """The rows of everyone whose rate is in an area, by state.

    An imported rate file has more: codes that only boundary rows place.
    """
    placed = {part for area in book.areas.values() for part in area.components}
    found: dict[str, list[tuple[RateRow, ...]]] = {}
    for key, rows in book.rates.items():
        jurisdiction = book.jurisdictions[key]
        if jurisdiction.level != "state" and key in placed:
            found.setdefault(jurisdiction.state, []).append(rows)
    return found


def _entry(book: Book, row: StateRow, local: list[tuple[RateRow, ...]]) -> dict[str, object]:
    own = book.rates[row.state]
    main = _main_source(local) or _main_source([own])
    until = [book.sources[own[-1].source].state_until]
    if local:
        until.append(book.sources[main].local_until)
    third_hand = any(rows[-1].trust == "third_hand" for rows in local)
    confidence = "medium" if row.tier == "B" and third_hand else _BEST[row.tier]
    towns = row.tier == "none" and bool(local)
    if towns or any(rate.conflict_cap == "low" for rate in own):
        confidence = "low"
    records = _records(book, row.state)
    if records and records.enough:
        confidence = "exact"
    begins = [_known_from(book, rows) for rows in (own, *local)]
    oldest = min(_first(rows) for rows in (own, *local))
    if row.districts_until and row.districts_until < date.max:  # else it is `missing`
        begins.append(row.districts_until + timedelta(days=1))
    return {
        "state": row.state,
        "name": row.name,
        "tier": row.tier,
        "source": book.sources[main].name,
        "edition": book.sources[main].edition,
        "trust": book.sources[main].trust,
        "loaded_at": _loaded_at(book, row.state),
        "covers": _TOWNS if towns else _covers(book, row, records),
        "history_from": max(begins).isoformat(),
        "oldest_row": oldest.isoformat(),
        "covered_until": min(until).isoformat(),
        "confidence": confidence,
        "missing": _missing(row, records),
        "jurisdictions": 1 + len(local),
    }


def _records(book: Book, state: str) -> _Records | None:
    """How far the user's own boundary file of a state reaches; `None` without one."""
    ranges = book.own_zips.get(state)
    if ranges is None:
        return None
    begins = [low for low, _ in ranges]
    zips = [int(zip5) for zip5 in book.zips.state(state)]
    held = sum((at := bisect_right(begins, z)) > 0 and z <= ranges[at - 1][1] for z in zips)
    return _Records(held, len(zips))


def _covers(book: Book, row: StateRow, records: _Records | None) -> str:
    """What the book covers, with the user's own files."""
    if records and records.enough:
        return "the whole rate, by ZIP+4 and address: rate and boundary files"
    imported = any((one.state, one.kind) == (row.state, "rates") for one in book.own_editions)
    counties_only = row.local == "county" and row.tier in {"C", "D"}
    covers = _COVERS[row.tier]
    if imported and counties_only:
        covers = "state and county rates of a rate file"
    if records is None:
        return covers
    return f"{covers}; by boundary records in {records.zips:,} of {records.of:,} ZIPs"


def _missing(row: StateRow, records: _Records | None) -> str:
    """What the book says is missing, and the ZIPs that an own boundary file leaves out."""
    if records is None or records.zips == records.of:
        return row.missing
    without = records.of - records.zips
    said = f"{without:,} of {records.of:,} ZIPs have no boundary record in force."
    return f"{row.missing} {said}".strip()


def _loaded_at(book: Book, state: str) -> str:
    """The day a state's figures were loaded: with the book, or by the user's import."""
    own = (one for one in book.own_editions if (one.state, one.kind) == (state, "rates"))
    return next((one.loaded_at.isoformat() for one in own), book.loaded_at)


def _main_source(groups: list[tuple[RateRow, ...]]) -> str:
    """The source most of the rows come from; empty without rows."""
    counts = Counter(rows[-1].source for rows in groups)
    return min(counts, key=lambda key: (-counts[key], key)) if counts else ""


def _known_from(book: Book, rows: tuple[RateRow, ...]) -> date:
    """The day from which a jurisdiction's rate is known.

    Where the source lists every jurisdiction, one that came later did not exist before.
    """
    return book.sources[rows[0].source].complete_from or _first(rows)


def _first(rows: tuple[RateRow, ...]) -> date:
    """The first day the rows know a rate with its date."""
    return min(row.begin for row in rows if row.begin)
