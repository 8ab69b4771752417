"""From an address, a ZIP+4 or a ZIP to the areas that the user's own boundary records name.

The finest record decides: an address record, else a ZIP+4 record, else the records of the ZIP. An
address without a ZIP is searched for in every ZIP of its city.
Where the ZIP's records differ, the lowest combined rate is chosen (section 305 of the Streamlined
Sales Tax agreement) and all of them are candidates. What the postal and census tables know of the
place (`usual`) stays: its city, a city that is not the ZIP's, another state.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.address_line import Parts
from svc_tools.service.ratebook.gazetteer import keys_of, place_names
from svc_tools.service.ratebook.imports.database import (
    day_number,
    editions,
    failures_named,
    open_own_book,
    ordinal,
)
from svc_tools.service.ratebook.imports.reading import quarter_begin, row_on
from svc_tools.service.ratebook.imports.sst_rows import LOCATION_CODES, Composition, levied
from svc_tools.service.ratebook.imports.streets import (
    UNSURE,
    AddressRow,
    CompositionSpan,
    House,
    Street,
    StreetLine,
    matching,
    read_street,
)
from svc_tools.service.ratebook.own import OwnBookChanged
from svc_tools.service.ratebook.query import AreaOption, Location, NotResolved
from svc_tools.service.ratebook.rating import Rated, codes_without_rate, rate_area
from svc_tools.service.ratebook.schema import Area
from svc_tools.service.ratebook.spans import changes_of_rates

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.imports.database import Edition


_FINER = frozenset({"address_not_matched", "zip_of_another_state"})
"""Warnings that a record of the very address or ZIP+4 settles."""


class _Composed(NamedTuple):
    """What a composition adds up to on a day.

    Attributes:
        area: whose rates.
        unknown: the codes that no rate is known for.
        since: the first day that the state's rate file is known to list every rate of, where a
            code has none on the day, which is earlier; else `None`.
        changes: the days on which it may add up to another area, as `Location.changes`.
    """

    area: Area
    unknown: tuple[str, ...]
    since: date | None = None
    changes: frozenset[int] = frozenset()


def boundary_edition(book: Book, state: str) -> Edition | None:
    """The boundary file of a state in the user's own book, if it is usable.

    It names jurisdictions by codes that only the state's own rate file has in full, so without
    that it is not used. Washington's are location codes, which every book has.
    """
    if not book.own_editions:
        return None
    own = {edition.kind: edition for edition in book.own_editions if edition.state == state}
    return own.get("boundary") if "rates" in own or state == LOCATION_CODES else None


def locate_by_boundary(
    book: Book,
    edition: Edition,
    parts: Parts,
    day: date,
    usual: Callable[[], Location],
) -> Location:
    """Where boundary records lead, on a day; where none holds, where the book leads without them.

    Args:
        book: the book, loaded with the user's own.
        edition: the boundary file of the state.
        parts: the address or ZIP: it has a ZIP, or a street and a city.
        day: the day the rate is for.
        usual: the way without boundary records.

    Raises:
        NotResolved: as `usual`, for a ZIP that no record lists either.
        OwnBookChanged: the own book holds other editions by now.
    """
    key = ("boundary-place", edition.id, parts.zip, day)
    alone = parts == Parts(zip=parts.zip)
    known = book.memo.get(key) if alone else None
    if isinstance(known, Location):
        return known
    found = _locate(book, edition, parts, day, usual)
    return book.remember(key, found) if alone else found


def _locate(
    book: Book, edition: Edition, parts: Parts, day: date, usual: Callable[[], Location]
) -> Location:
    """The place by its boundary records; by `usual`, the way without them, where there are none.

    Reads the own book. A refusal by `usual` is raised with the days on which the records change.
    """
    in_state = not parts.zip or _in_state(book, edition.state, parts.zip)
    if not in_state and book.zips.states_of(parts.zip, book.states):
        return usual()  # a range of ZIPs may reach over the state line, a ZIP does not
    refusal: NotResolved | None = None
    try:
        base = usual()
    except NotResolved as error:
        base, refusal = _nowhere(parts), error
    with _store(book).reading(edition.id) as reader:
        at = day_number(max(day, edition.covers_from))
        search = Search(book.memo, edition.id, reader, at)
        if parts.zip:
            found = search.in_zip(parts)
            if found and found.via == "zip5" and not in_state and not search.lists(parts.zip):
                found = None
        else:
            found = search.in_city(parts.street, _zips_of(book, edition.state, parts.city))
        if found is None:
            if refusal:
                refusal.changes = search.changes
                raise refusal
            return replace(base, changes=search.changes)
        composed = [
            (_compose(book, edition, reader, composite, day), why)
            for composite, why in found.composites
        ]
    changes = search.changes.union(*(composition.changes for composition, _ in composed))
    if refusal and not _usable(edition, composed):
        refusal.changes = changes
        raise refusal
    decided = _decided(book, edition, found, base, composed, day=day)
    return replace(decided, changes=changes | {edition.covers_from.toordinal()})


def _usable(edition: Edition, composed: Sequence[tuple[_Composed, str]]) -> bool:
    """Whether the compositions have a rate: in Washington only those with a known location code.

    Every place there has one: no place has the state's rate alone.
    """
    return edition.state != LOCATION_CODES or not all(
        composition.unknown for composition, _ in composed
    )


def _decided(
    book: Book,
    edition: Edition,
    found: _Found,
    base: Location,
    composed: Sequence[tuple[_Composed, str]],
    *,
    day: date,
) -> Location:
    """The location by the records' compositions, or `base` where those have no rate."""
    unknown = tuple(
        dict.fromkeys(code for composition, _ in composed for code in composition.unknown)
    )
    if not _usable(edition, composed):
        note = codes_without_rate(unknown, edition.file)
        return replace(base, advisories=(*base.advisories, note), unknown_code=True)
    if edition.state == LOCATION_CODES:
        composed = [(composition, why) for composition, why in composed if not composition.unknown]
    options = _ranked(book, edition.state, composed, day)
    placed = _placed(edition, found, base, options, unknown)
    if day < edition.covers_from:
        return replace(placed, history_from=edition.covers_from)
    since = max(
        (composition.since for composition, _ in composed if composition.since), default=None
    )
    return replace(placed, history_from=since) if since else placed


def _nowhere(parts: Parts) -> Location:
    """A place that only records may know."""
    return Location("zip5", "boundary_zip", f"ZIP {parts.zip}", zip=parts.zip or None)


def _zips_of(book: Book, state: str, city: str) -> list[str]:
    """Every ZIP that a city's name is used for."""
    names = place_names(book, state)
    tables = (names.preferred, names.others)
    found = [p.zip for key in keys_of(names, city) for table in tables for p in table.get(key, ())]
    return list(dict.fromkeys(found))


def _in_state(book: Book, state: str, zip5: str) -> bool:
    """Whether the postal or the census table has a ZIP in a state."""
    return zip5 in book.zips.state(state) or bool(book.zips.touched(zip5, state))


def _store(book: Book) -> BoundaryStore:
    found = book.records or book.memo.get("boundaries")
    if not isinstance(found, BoundaryStore):
        if book.own_path is None:
            raise ValueError("a book with own editions has no path to them")
        found = book.memo["boundaries"] = BoundaryStore(book.own_path)
    return found


def _compose(
    book: Book, edition: Edition, reader: BoundaryReader, composite: int, day: date
) -> _Composed:
    """The area whose rates a composition adds up to on a day."""
    key = ("boundary-area", edition.id, composite, day)
    found = book.memo.get(key)
    if not isinstance(found, _Composed):
        composition = reader.composition(composite)
        return book.remember(key, _composed(book, edition, composite, composition, day))
    return found


def _composed(
    book: Book, edition: Edition, composite: int, composition: Composition, day: date
) -> _Composed:
    """The area of a composition on a day, its unknown codes, and the days on which it changes."""
    state = edition.state
    whose = levied(book, state, composition)
    if whose.area:
        return _Composed(whose.area, whose.unknown)
    ids = tuple(key for key in whose.ids if row_on(book.rates[key], day))
    since = None
    changes = frozenset[int]().union(*(changes_of_rates(book, key) for key in whose.ids))
    if len(ids) < len(whose.ids) + len(whose.silent):
        since = _lists_all_from(book, state)
        changes |= {since.toordinal()} if since else set()
    names = [book.jurisdictions[key].name for key in ids]
    return _Composed(
        Area(
            f"{state}:boundary:{edition.id}:{composite}",
            state,
            "boundary",
            ", ".join(names) or f"{book.states[state].name}, no local tax",
            (composition.county,) if composition.county else (),
            ids,
        ),
        whose.unknown,
        since if since and day < since else None,
        changes,
    )


def _lists_all_from(book: Book, state: str) -> date | None:
    """The first day on which a code without a row in the state's rate file levied nothing.

    A file has the rates that ended since some day, without naming the day: a tax that ended
    earlier is in no file. A local rate that ended shows that all since then are there. A file
    without any has the rates of one quarter.
    """
    key = ("boundary-history", state)
    if key not in book.memo:
        ended = [
            row.end + timedelta(days=1)
            for jurisdiction, rows in book.rates.of(state).items()
            if jurisdiction != state
            for row in rows
            if row.end
        ]
        rates = [e for e in book.own_editions if (e.state, e.kind) == (state, "rates")]
        quarters = [quarter_begin(edition.edition) for edition in rates]
        book.memo[key] = min((*ended, *quarters), default=None)
    found = book.memo[key]
    return found if isinstance(found, date) else None


def _placed(
    edition: Edition,
    found: _Found,
    base: Location,
    options: list[AreaOption],
    unknown: tuple[str, ...],
) -> Location:
    """The usual location with the areas of the records instead of the usual ones."""
    finer = found.via != "zip5"
    sure = found.decided if len(options) == 1 else "boundary_zip"
    settled = {"zip_not_used", *(_FINER if finer else ())}  # a record knows the ZIP
    notes = [note for note in base.advisories if note["code"] not in settled]
    if unknown:
        notes.append(codes_without_rate(unknown, edition.file))
    if base.named_area:  # where the city given lies that is not the ZIP's
        options += [o for o in base.options if o.area and o.area.id == base.named_area]
    chosen = options[0].area
    return replace(
        base,
        via=found.via,
        decided=sure,
        options=tuple(options),
        zip_not_used=False,
        zip=found.zip or base.zip,
        county=(chosen.counties[0] if chosen and chosen.counties else base.county),
        housing=0,
        by_housing=False,
        no_crosswalk=False,
        across=base.across and not finer,
        near_boundary=False,
        ambiguous=False,
        tied=(),
        advisories=tuple(notes),
        records=edition.file,
        unknown_code=bool(unknown),
        edition_end=edition.covers_until,
    )


def _ranked(
    book: Book, state: str, composed: Sequence[tuple[_Composed, str]], day: date
) -> list[AreaOption]:
    """The areas, the lowest combined rate first; those with the same parts are one."""
    unique = {
        composition.area.components: AreaOption(composition.area, why)
        for composition, why in reversed(composed)
    }
    ordered = list(reversed(unique.values()))
    if len(ordered) == 1:
        return ordered

    def combined(option: AreaOption) -> tuple[int, str]:
        rated = rate_area(book, state, option.area, day)
        units = rated.combined if isinstance(rated, Rated) else 100_000
        return units, option.area.id if option.area else ""

    return sorted(ordered, key=combined)


_RECORD_KINDS = {"Z": "ZIP", "4": "ZIP+4"}


class _Found(NamedTuple):
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
    within: tuple[CompositionSpan, ...]
    has_addresses: bool


class Search:
    """A search among the records of one edition on one day.

    `memo` caches what the edition says of whole ZIPs.
    """

    def __init__(
        self, memo: dict[object, object], edition_id: int, reader: BoundaryReader, at: int
    ) -> None:
        self._memo, self._edition, self._reader, self._at = memo, edition_id, reader, at
        self._seen: set[CompositionSpan] = set()

    @property
    def changes(self) -> frozenset[int]:
        """The days on which a record that was looked at begins to hold, or ends to."""
        begins = {ordinal(span.begins) for span in self._seen}
        return frozenset(begins | {ordinal(span.ends) + 1 for span in self._seen})

    def in_zip(self, parts: Parts) -> _Found | None:
        """The finest records of a place whose ZIP is known."""
        whole = self._of_zip(parts.zip)
        unsure: _Found | None = None
        if parts.street and whole.has_addresses and (given := read_street(parts.street)):
            unsure = self._by_address(given, parts.zip)
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
                return _Found("zip4", "zip4", composites, parts.zip)
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
        return _Found("zip5", "boundary_zip", composites, parts.zip) if composites else None

    def in_city(self, street: str, zips: Sequence[str]) -> _Found | None:
        """The address records of a street in any of a city's ZIPs, where one fits in full."""
        within = [zip5 for zip5 in zips if self._of_zip(zip5).has_addresses]
        given = read_street(street) if within else None
        if given is None:
            return None
        found = [(zip5, self._by_address(given, zip5)) for zip5 in within]
        if any(fit and fit.decided == "vague" for _, fit in found):
            return None
        sure = [(zip5, fit) for zip5, fit in found if fit and fit.decided == "address"]
        composites = _unique(pair for _, fit in sure for pair in fit.composites)
        if not composites:
            return None
        decided = "street" if len(composites) == 1 else "boundary_zip"
        return _Found("address", decided, composites, sure[0][0] if len(sure) == 1 else "")

    def lists(self, zip5: str) -> bool:
        """Whether a record names this very ZIP, rather than a range it lies in."""
        whole = self._of_zip(zip5)
        return bool(whole.within) or any(found.low == found.high for found in whole.zips)

    def _by_address(self, given: StreetLine, zip5: str) -> _Found | None:
        """The records of an address; of several house numbers those of the first and the last."""
        found = self._by_house(given, zip5)
        if not (found and given.last and given.last.number > given.house.number):
            return found
        other = self._by_house(given._replace(house=given.last), zip5)
        if other is None:
            return found._replace(decided="street") if found.decided == "address" else found
        composites = _unique((*found.composites, *other.composites))
        if found.decided == other.decided and len(composites) == len(found.composites):
            return found
        vague = "vague" in {found.decided, other.decided}
        return found._replace(decided="vague" if vague else "boundary_zip", composites=composites)

    def _by_house(self, given: StreetLine, zip5: str) -> _Found | None:
        rows = self._reader.addresses(int(zip5), given.street.name, given.house)
        rows = [row for row in rows if self._holds(row.span)]
        matched, sure = matching(given, rows)
        composites = _unique((row.span.composite, _address_record(row)) for row in matched)
        if not composites:
            return None
        decided = "boundary_zip" if sure == "street" and len(composites) > 1 else sure
        return _Found("address", decided, composites, zip5)

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

    def _holds(self, span: CompositionSpan) -> bool:
        self._seen.add(span)
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


_IDLE_CONNECTIONS = 8
"""Connections that wait for the next lookup."""
_LEFT_BEHIND: list[sqlite3.Connection] = []
"""Connections of the process this one was forked from: closing them would break its locks."""


class ZipSpan(NamedTuple):
    """A range of whole ZIPs: of a `Z` record, or the whole ZIPs within a `4` record."""

    kind: str
    low: int
    high: int
    span: CompositionSpan


def pinned(book: Book) -> BoundaryStore:
    """The records as they are now, for as long as the store is open.

    Raises:
        OwnBookChanged: the own book holds other editions by now.
        OwnBookError: the own book is damaged.
    """
    if book.own_path is None:
        raise ValueError("a book with own editions has no path to them")
    return _PinnedStore(book.own_path, book.own_editions)


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
            connection = self._acquire()
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

    def _acquire(self) -> sqlite3.Connection:
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


class _PinnedStore(BoundaryStore):
    """The records at one moment: a transaction that stays begun, whatever is written meanwhile."""

    def __init__(self, path: Path, expected: tuple[Edition, ...]) -> None:
        self._one_at_a_time = threading.Lock()
        super().__init__(path)
        self._idle.append(self._acquire())
        with failures_named(path):
            self._idle[0].execute("BEGIN")
            here = tuple(editions(self._idle[0]))  # the first read is the moment
        if here != expected:
            self.close()
            raise OwnBookChanged("the own book holds other editions than the book that is loaded")

    @contextmanager
    def reading(self, edition_id: int) -> Iterator[BoundaryReader]:
        """As `BoundaryStore.reading`; one lookup at a time."""
        with self._one_at_a_time, failures_named(self._path):
            if not self._idle or self._process != self._pid():
                raise OwnBookChanged("the records were read for a run that is over")
            yield _reader(self._idle[0], edition_id)

    def close(self) -> None:
        """End the transaction, after the lookup of another thread."""
        if self._process != self._pid():  # a thread that is not here may hold the lock
            super().close()
            return
        with self._one_at_a_time:
            super().close()


def _reader(connection: sqlite3.Connection, edition_id: int) -> BoundaryReader:
    found = connection.execute("SELECT 1 FROM editions WHERE id = ?", (edition_id,))
    if found.fetchone() is None:
        raise OwnBookChanged(f"edition {edition_id} is not in the own book any more")
    return BoundaryReader(connection, edition_id)


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
        return [
            ZipSpan(kind, low, high, CompositionSpan(*span)) for kind, low, high, *span in found
        ]

    def within(self, zip5: int) -> list[CompositionSpan]:
        """What `4` and `A` records say of a ZIP altogether."""
        found = self._connection.execute(
            "SELECT begins, ends, composite FROM boundary_zip_composites"
            " WHERE edition_id = ? AND zip = ?",
            (self._edition, zip5),
        )
        return [CompositionSpan(*row) for row in found]

    def plus4(self, zip5: int, plus4: int) -> list[CompositionSpan]:
        """What `4` records say of a ZIP+4."""
        found = self._connection.execute(
            "SELECT begins, ends, composite FROM boundary_plus4"
            " WHERE edition_id = ? AND zip = ? AND low <= ? AND high >= ?",
            (self._edition, zip5, plus4, plus4),
        )
        return [CompositionSpan(*row) for row in found]

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
        return [
            AddressRow._make((Street(*row[:4]), *row[4:-3], CompositionSpan(*row[-3:])))
            for row in found
        ]
