"""What the own book's boundary records say of a ZIP, a ZIP+4 or an address.

Every lookup reads in one transaction that first makes sure that the edition is still the one the
book in memory was loaded with: no answer is mixed from two editions.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.imports.boundary_lines import Composition, day_number
from svc_tools.service.ratebook.imports.boundary_streets import Street
from svc_tools.service.ratebook.imports.database import failures_named, open_own_book
from svc_tools.service.ratebook.imports.errors import OwnBookChanged
from svc_tools.service.ratebook.imports.quarters import quarter_begin

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

    from svc_tools.service.ratebook.imports.boundary_streets import House
    from svc_tools.service.ratebook.imports.database import Edition

__all__ = ["AddressRow", "BoundaryReader", "BoundaryStore", "Span", "ZipSpan", "zips_in_force"]

_IDLE = 8
"""Connections that wait for the next lookup."""

_LEFT_BEHIND: list[sqlite3.Connection] = []
"""Connections of the process this one was forked from: closing them would break its locks."""


class Span(NamedTuple):
    """A composition by its number, and the days it holds."""

    begins: int
    ends: int
    composite: int


class ZipSpan(NamedTuple):
    """A range of whole ZIPs: of a `Z` record, or the whole ZIPs within a `4` record."""

    kind: str
    low: int
    high: int
    span: Span


class AddressRow(NamedTuple):
    """An address record whose ZIP, street name and range of numbers fit."""

    street: Street
    letters: str
    low: int
    high: int
    parity: str
    unit: str
    unit_low: str
    unit_high: str
    unit_parity: str
    span: Span


class BoundaryStore:
    """The boundary records of the own book, for one loaded book; safe among threads and forks."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._pid = os.getpid  # the module may be gone when the last book is
        self._process = self._pid()

    @contextmanager
    def reading(self, edition_id: int) -> Iterator[BoundaryReader]:
        """One lookup's view of an edition.

        Raises:
            OwnBookChanged: the edition is not in the own book any more, or there is no book.
            OwnBookError: the own book is damaged.
        """
        with failures_named(self._path):
            connection = self._take()
            try:
                connection.execute("BEGIN")
                yield _reader(connection, edition_id)
                connection.execute("COMMIT")
            except BaseException:
                connection.close()
                raise
            self._give_back(connection)

    def close(self) -> None:
        """Close the connections that wait."""
        with self._lock:
            idle, self._idle = self._idle, []
        if self._process != self._pid():
            _LEFT_BEHIND.extend(idle)
            return
        for connection in idle:
            connection.close()

    def __del__(self) -> None:
        """A book that was replaced leaves no connection behind."""
        self.close()

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._process != self._pid():
                _LEFT_BEHIND.extend(self._idle)
                self._idle, self._process = [], self._pid()
            if self._idle:
                return self._idle.pop()
        try:
            return open_own_book(self._path)
        except FileNotFoundError as error:
            raise OwnBookChanged(str(error)) from error

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if len(self._idle) < _IDLE and self._process == self._pid():
                self._idle.append(connection)
                return
        connection.close()


def _reader(connection: sqlite3.Connection, edition_id: int) -> BoundaryReader:
    found = connection.execute("SELECT 1 FROM editions WHERE id = ?", (edition_id,))
    if found.fetchone() is None:
        raise OwnBookChanged(f"edition {edition_id} is not in the own book any more")
    return BoundaryReader(connection, edition_id)


def zips_in_force(connection: sqlite3.Connection, edition: Edition) -> tuple[tuple[int, int], ...]:
    """The ZIPs that a record holds in the quarter of an edition: ranges that do not meet."""
    span = day_number(edition.covers_until), day_number(quarter_begin(edition.edition))
    found = connection.execute(
        "SELECT low, high FROM boundary_zips"
        " WHERE edition_id = ?1 AND begins <= ?2 AND ends >= ?3"
        " UNION SELECT zip, zip FROM boundary_zip_composites"
        " WHERE edition_id = ?1 AND begins <= ?2 AND ends >= ?3 ORDER BY 1",
        (edition.id, *span),
    )
    ranges: list[tuple[int, int]] = []
    for low, high in found:
        if ranges and low <= ranges[-1][1] + 1:
            ranges[-1] = ranges[-1][0], max(ranges[-1][1], high)
        else:
            ranges.append((low, high))
    return tuple(ranges)


class BoundaryReader:
    """Questions to one edition, within one transaction."""

    def __init__(self, connection: sqlite3.Connection, edition_id: int) -> None:
        self._connection, self._edition = connection, edition_id

    def composition(self, composite: int) -> Composition:
        """The codes behind the number of a composition."""
        indicator, county, place, specials = self._connection.execute(
            "SELECT indicator, county, place, specials FROM boundary_composites WHERE id = ?",
            (composite,),
        ).fetchone()
        return Composition(indicator, county, place, tuple(specials.split()))

    def zips(self, zip5: int) -> list[ZipSpan]:
        """The ranges of whole ZIPs that hold a ZIP."""
        found = self._connection.execute(
            "SELECT kind, low, high, begins, ends, composite FROM boundary_zips"
            " WHERE edition_id = ? AND low <= ? AND high >= ?",
            (self._edition, zip5, zip5),
        )
        return [ZipSpan(kind, low, high, Span(*span)) for kind, low, high, *span in found]

    def within(self, zip5: int) -> list[Span]:
        """What `4` and `A` records say of a ZIP altogether."""
        found = self._connection.execute(
            "SELECT begins, ends, composite FROM boundary_zip_composites"
            " WHERE edition_id = ? AND zip = ?",
            (self._edition, zip5),
        )
        return [Span(*row) for row in found]

    def plus4(self, zip5: int, plus4: int) -> list[Span]:
        """What `4` records say of a ZIP+4."""
        found = self._connection.execute(
            "SELECT begins, ends, composite FROM boundary_plus4"
            " WHERE edition_id = ? AND zip = ? AND low <= ? AND high >= ?",
            (self._edition, zip5, plus4, plus4),
        )
        return [Span(*row) for row in found]

    def has_addresses(self, zip5: int) -> bool:
        """Whether there is any address record of a ZIP."""
        found = self._connection.execute(
            "SELECT 1 FROM boundary_addresses WHERE edition_id = ? AND zip = ? LIMIT 1",
            (self._edition, zip5),
        )
        return found.fetchone() is not None

    def addresses(self, zip5: int, name: str, house: House) -> list[AddressRow]:
        """The address records of a ZIP and a street name whose range holds a number."""
        found = self._connection.execute(
            "SELECT pre, street, suffix, post, letters, low, high, parity, unit, unit_low,"
            " unit_high, unit_parity, begins, ends, composite FROM boundary_addresses"
            " WHERE edition_id = ? AND zip = ? AND street = ? AND low <= ? AND high >= ?",
            (self._edition, zip5, name, house.number, house.number),
        )
        return [AddressRow._make((Street(*row[:4]), *row[4:-3], Span(*row[-3:]))) for row in found]
