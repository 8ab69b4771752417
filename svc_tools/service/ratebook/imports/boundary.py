"""Boundary records of the own book: which are in force for a ZIP, a ZIP+4 or an address.

Every lookup reads in one transaction that first makes sure that the edition is still the one the
book in memory was loaded with: no result is mixed from two editions.
"""

from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

from svc_tools.service.ratebook.imports.boundary_lines import (
    PO_BOX,
    UNSURE,
    Composition,
    House,
    Street,
    Unit,
    day_number,
    house_number,
    split_street,
    unit_kind,
)
from svc_tools.service.ratebook.imports.common import OwnBookChanged, quarter_begin
from svc_tools.service.ratebook.imports.database import failures_named, open_own_book

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from svc_tools.service.ratebook.address_line import Parts
    from svc_tools.service.ratebook.imports.database import Edition

_RECORD_KINDS = {"Z": "ZIP", "4": "ZIP+4"}


class Found(NamedTuple):
    """What decides.

    Attributes:
        via: `address`, `zip4` or `zip5` (WIRE `resolved_via`).
        decided: as `rating.Grounds.decided`, if there is one composition only; within a
            search also `vague`, as `matching` says.
        composites: the compositions by number, each with why it is one.
        zip: the ZIP of the records; empty where they are of several.
    """

    via: str
    decided: str
    composites: tuple[tuple[int, str], ...]
    zip: str


class _ZipRecords(NamedTuple):
    """All that an edition says of a ZIP as a whole."""

    zips: tuple[ZipSpan, ...]
    within: tuple[Span, ...]
    has_addresses: bool


class Search:
    """A search among the records of one edition on one day.

    Args:
        memo: keeps what an edition says of whole ZIPs.
        edition_id: the edition.
        reader: reads its records.
        at: the day, as records keep it.
    """

    def __init__(
        self, memo: dict[object, object], edition_id: int, reader: BoundaryReader, at: int
    ) -> None:
        self._memo, self._edition, self._reader, self._at = memo, edition_id, reader, at

    def in_zip(self, parts: Parts) -> Found | None:
        """The finest records of a place whose ZIP is known."""
        whole = self._of_zip(parts.zip)
        unsure: Found | None = None
        if parts.street and whole.has_addresses and (asked := read_street(parts.street)):
            unsure = self._by_address(asked, parts.zip)
            if unsure and unsure.decided == "address":
                return unsure
            if unsure and unsure.decided == "vague":
                unsure = None  # what the ZIP+4 or the ZIP may be is all that is known
        if parts.plus4:
            why = f"the ZIP+4 record of {parts.zip}-{parts.plus4}"
            spans = self._reader.plus4(int(parts.zip), int(parts.plus4))
            spans += [found.span for found in whole.zips if found.kind == "4"]
            composites = _unique((span.composite, why) for span in spans if self._holds(span))
            if composites:
                return Found("zip4", "zip4", composites, parts.zip)
        if unsure:
            return unsure
        by_range = [
            (found.span.composite, f"the {_RECORD_KINDS[found.kind]} record of {_zip_range(found)}")
            for found in whole.zips
            if self._holds(found.span)
        ]
        inside = f"a ZIP+4 or address record of ZIP {parts.zip}"
        by_record = [(span.composite, inside) for span in whole.within if self._holds(span)]
        composites = _unique((*by_range, *by_record))
        return Found("zip5", "boundary_zip", composites, parts.zip) if composites else None

    def in_city(self, street: str, zips: Sequence[str]) -> Found | None:
        """The address records of a street in any of a city's ZIPs, where all of it was said."""
        within = [zip5 for zip5 in zips if self._of_zip(zip5).has_addresses]
        asked = read_street(street) if within else None
        if asked is None:
            return None
        found = [(zip5, self._by_address(asked, zip5)) for zip5 in within]
        if any(one and one.decided == "vague" for _, one in found):
            return None
        sure = [(zip5, one) for zip5, one in found if one and one.decided == "address"]
        composites = _unique(pair for _, one in sure for pair in one.composites)
        if not composites:
            return None
        decided = "street" if len(composites) == 1 else "boundary_zip"
        return Found("address", decided, composites, sure[0][0] if len(sure) == 1 else "")

    def lists(self, zip5: str) -> bool:
        """Whether a record names this very ZIP, rather than a range it lies in."""
        whole = self._of_zip(zip5)
        return bool(whole.within) or any(found.low == found.high for found in whole.zips)

    def _by_address(self, asked: AskedAddress, zip5: str) -> Found | None:
        """The records of an address; of several house numbers those of the first and the last."""
        found = self._by_house(asked, zip5)
        if not (found and asked.last and asked.last.number > asked.house.number):
            return found
        other = self._by_house(asked._replace(house=asked.last), zip5)
        if other is None:
            return found._replace(decided="street") if found.decided == "address" else found
        composites = _unique((*found.composites, *other.composites))
        if found.decided == other.decided and len(composites) == len(found.composites):
            return found
        vague = "vague" in {found.decided, other.decided}
        return found._replace(decided="vague" if vague else "boundary_zip", composites=composites)

    def _by_house(self, asked: AskedAddress, zip5: str) -> Found | None:
        rows = self._reader.addresses(int(zip5), asked.street.name, asked.house)
        rows = [row for row in rows if self._holds(row.span)]
        matched, sure = matching(asked, rows)
        composites = _unique((row.span.composite, _address_record(row)) for row in matched)
        if not composites:
            return None
        decided = "boundary_zip" if sure == "street" and len(composites) > 1 else sure
        return Found("address", decided, composites, zip5)

    def _of_zip(self, zip5: str) -> _ZipRecords:
        key = ("boundary-zip", self._edition, zip5)
        found = self._memo.get(key)
        if not isinstance(found, _ZipRecords):
            number, reader = int(zip5), self._reader
            found = self._memo[key] = _ZipRecords(
                tuple(reader.zips(number)),
                tuple(reader.within(number)),
                reader.has_addresses(number),
            )
        return found

    def _holds(self, span: Span) -> bool:
        return span.begins <= self._at <= span.ends


def _unique(found: Iterable[tuple[int, str]]) -> tuple[tuple[int, str], ...]:
    """Each composition once, with the first reason for it."""
    reasons: dict[int, str] = {}
    for composite, why in found:
        reasons.setdefault(composite, why)
    return tuple(reasons.items())


def _zip_range(found: ZipSpan) -> str:
    low, high = f"{found.low:05}", f"{found.high:05}"
    return f"ZIP {low}" if low == high else f"ZIPs {low} to {high}"


def _address_record(row: AddressRow) -> str:
    if row.parity == UNSURE:
        return f"an address record of {row.street.whole.title()} that does not say its numbers"
    side = {"O": "odd numbers ", "E": "even numbers ", "B": ""}[row.parity]
    lead, _, tail = row.letters.partition("|")
    numbers = f"{lead}{row.low}{tail} to {lead}{row.high}{tail}"
    unit = f", {row.unit or 'units'} {row.unit_low} to {row.unit_high}" if row.unit_low else ""
    return f"the address record of {side}{numbers} {row.street.whole.title()}{unit}"


_RANGE = re.compile(r"(\d+)\s*-\s*(\d+)")
_NOT_THE_STREET = ("Occupancy", "SubaddressType", "SubaddressIdentifier", "USPSBox", "Recipient")


class AskedAddress(NamedTuple):
    """The street a caller names.

    Attributes:
        house: the house number.
        street: the street in comparable parts.
        unit: the suite, where one is named.
        last: the last number of several, such as 110 of "100-110 Main St".
    """

    house: House
    street: Street
    unit: Unit | None
    last: House | None = None

    @property
    def plain(self) -> House:
        """The house number without a letter behind it: 12A stands between 1 and 99.

        Letters before it stay: N64W150 is another house than 150.
        """
        lead, bar, _ = self.house.letters.partition("|")
        return House(lead + bar, self.house.number)


def read_street(text: str) -> AskedAddress | None:
    """The house number, street and suite of a caller's street line; `None` without a number."""
    import usaddress  # noqa: PLC0415 - loads its model: only where an address needs it

    words = [(word.strip(","), label) for word, label in usaddress.parse(text)]
    if not any(label == "AddressNumber" for _, label in words):
        box = [word for word, label in words if label == "USPSBoxID"]
        house = house_number(box[0]) if box else None
        if house:
            return AskedAddress(house, Street("", PO_BOX, "", ""), None)
        words = [(word, "") for word, _ in words]  # "7 Elm" is taken for a flat
    unit = _unit(words)
    rest = [word for word, label in words if not label.startswith(_NOT_THE_STREET)]
    while rest and not rest[0][:1].isdigit() and house_number(rest[0]) is None:
        rest.pop(0)  # a name of a house or a company before the number
    if not rest:
        return None
    first = rest.pop(0)
    several = _RANGE.fullmatch(first)
    house = house_number(several[1] if several else first)
    last = house_number(several[2]) if several else None
    if rest and re.fullmatch(r"\d/\d", rest[0]):
        rest.pop(0)
    street = split_street(" ".join(rest))
    return AskedAddress(house, street, unit, last) if house and street.name else None


def _unit(words: Sequence[tuple[str, str]]) -> Unit | None:
    kinds = [word for word, label in words if label in {"OccupancyType", "SubaddressType"}]
    names = [
        word.strip("#")
        for word, label in words
        if label in {"OccupancyIdentifier", "SubaddressIdentifier"}
    ]
    names = [name for name in names if name]
    return Unit(unit_kind(kinds[0]) if kinds else "", names[0].upper()) if names else None


def matching(
    asked: AskedAddress, rows: Sequence[AddressRow]
) -> tuple[list[AddressRow], Literal["address", "street", "vague"]]:
    """The records an address falls into, and how sure that is.

    Records of exactly the street go before those that differ by a direction or a suffix which
    only one side has: "100 Main" may be on N Main St. Of the records of a house, those of the
    suite asked for go before those of the whole house.

    Returns:
        The records, and `address` where they are this address's; `street` where a part of the
        street was not said, or a suite of a house whose suites alone have records; `vague` where
        a record that does not say which houses of the street it holds has another composition.
    """
    clear = [row for row in rows if row.parity != UNSURE]
    numbered = [row for row in clear if _holds_number(asked.house, row)]
    if not numbered:
        numbered = [row for row in clear if _holds_number(asked.plain, row)]
    numbered += [row for row in rows if row.parity == UNSURE]
    exact = [row for row in numbered if row.street.whole == asked.street.whole]
    found = exact or [row for row in numbered if _compatible(asked.street, row.street)]
    found = _of_unit(asked.unit, found)
    sure = {row.span.composite for row in found if row.parity != UNSURE}
    if any(row.span.composite not in sure for row in found):
        return found, "vague"
    suites = asked.unit is None and all(row.unit_low for row in found)
    return found, "address" if exact and not suites else "street"


def _holds_number(house: House, row: AddressRow) -> bool:
    return (
        house.letters == row.letters
        and row.low <= house.number <= row.high
        and _has_parity(house.number, row.parity)
    )


def _has_parity(number: int, parity: str) -> bool:
    return parity == "B" or (number % 2 == 1) == (parity == "O")


def _compatible(asked: Street, row: Street) -> bool:
    """Whether two streets of one name differ only by parts that one of them does not say."""
    pairs = ((asked.pre, row.pre), (asked.suffix, row.suffix), (asked.post, row.post))
    return asked.name == row.name and all(a == b or not a or not b for a, b in pairs)


def _of_unit(unit: Unit | None, rows: list[AddressRow]) -> list[AddressRow]:
    """The records of the suite asked for, else those of the whole house; all without a suite."""
    if unit is None:
        return rows
    own = [row for row in rows if row.unit_low and _holds_unit(unit, row)]
    return own or [row for row in rows if not row.unit_low]


def _holds_unit(unit: Unit, row: AddressRow) -> bool:
    if unit.kind != row.unit:
        return False
    low, high, name = row.unit_low, row.unit_high, unit.name
    if low.isdecimal() and high.isdecimal():
        return (
            name.isdecimal()
            and int(low) <= int(name) <= int(high)
            and _has_parity(int(name), row.unit_parity)
        )
    return len(low) == len(name) == len(high) and low <= name <= high


_IDLE_CONNECTIONS = 8
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
            if len(self._idle) < _IDLE_CONNECTIONS and self._process == self._pid():
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
