"""The book in memory: its rows and its ZIPs, indexed for lookups, and how fresh they are.

`compiled_book` opens the files once in a process; the rows of a state are read for the first lookup
there. `ZipIndex` joins the postal table and the census crosswalk: the place, the accepted names and
the counties of every ZIP.
`Book.freshness` says how old and how complete the book is, state by state.
"""

from __future__ import annotations

import gc
import hashlib
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from svc_tools.service.ratebook.schema import (
    LATER_TABLES,
    LIMITS_FOLDER,
    TABLES,
    Area,
    ChangedPlace,
    County,
    DeliveryRule,
    Jurisdiction,
    PlaceRow,
    PostalRow,
    RateRow,
    Setting,
    Source,
    StateRow,
    StateRows,
    ZipAreas,
    read_table,
    table_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from svc_tools.service.ratebook.city_limits import CityLimits
    from svc_tools.service.ratebook.imports.database import Edition

_GEOGRAPHY = ("bokeh_sampledata",)
"""Packages of an extra whose versions go into the digest where they are installed."""
_SCHEMA = "3"
_MEMO_LIMIT = 100_000
_SHIPPED = Path(__file__).with_name("data")

_Row = TypeVar("_Row")
_Key = TypeVar("_Key", str, tuple[str, str])
_Value = TypeVar("_Value")
_Kept = TypeVar("_Kept")


class StateMap(Mapping[_Key, _Value]):
    """Rows by a key that begins with their state; those of a state are read when it is needed.

    Two threads that read a state get the same rows.

    Args:
        read: the rows of a state by key.
        states: the states that there may be rows of, in order.
    """

    __slots__ = ("_found", "_read", "_states")

    def __init__(
        self, read: Callable[[str], dict[_Key, _Value]], states: Callable[[], Iterable[str]]
    ) -> None:
        self._read: Callable[[str], dict[_Key, _Value]] = read
        self._states = states
        self._found: dict[str, dict[_Key, _Value]] = {}

    def of(self, state: str) -> Mapping[_Key, _Value]:
        """The rows of a state by key."""
        found = self._found.get(state)
        if found is None:
            # the same rows for all threads: areas are compared by identity
            found = self._found.setdefault(state, self._read(state))
        return found

    def with_state(self, state: str, rows: dict[_Key, _Value]) -> StateMap[_Key, _Value]:
        """The same rows but for those of one state.

        Raises:
            ValueError: the key of a row is of another state.
        """
        if wrong := [key for key in rows if _state_of(key) != state]:
            raise ValueError(f"{wrong[0]} is not of {state}")
        states = dict.fromkeys([*self._states(), state])
        changed = StateMap(self._read, lambda: states)
        changed._found = {**self._found, state: rows}
        return changed

    def __getitem__(self, key: _Key) -> _Value:
        """The row of a key."""
        return self.of(_state_of(key))[key]

    def __iter__(self) -> Iterator[_Key]:
        """Every key, state by state."""
        for state in self._states():
            yield from self.of(state)

    def __len__(self) -> int:
        """How many rows there are in all."""
        return sum(len(self.of(state)) for state in self._states())


def _state_of(key: str | tuple[str, str]) -> str:
    return key[:2] if isinstance(key, str) else key[0]


class Book:
    """A compiled rate book, read and indexed. Treat it as immutable.

    Attributes:
        digest: sha256 in hex of the book's files and of the versions of the packages its
            geography comes from: equal digests give equal results, so caches can key on it.
        edition: name of the compiled book, such as `2026-11-21`.
        loaded_at: the day its sources were loaded, as ISO text.
        states: what the book claims for each state, by code.
        delivery: the rules of delivery charges of each state, the oldest first.
        sources: where rows come from, by id.
        counties: every county by (state, three-digit FIPS code).
        jurisdictions: who levies rates, by id.
        areas: the pieces of map it tells apart, by id.
        rates: the rate rows of each jurisdiction, the oldest first.
        county_areas: the areas in a county, the first in rank first.
        zips: every ZIP, its place and its counties.
        own_editions: the files the user imported, by state and kind; none in a shipped book.
        own_path: the database of those; `None` without any.
        own_zips: the ZIPs that a record of the user's own boundary file of a state holds in the
            quarter of the file, as ranges of first and last, by state.
        memo: cached results that depend on the book alone; owned by the modules that fill it,
            safe to drop.
        records: the reader of the records in `own_path` as they were at one moment; `None`: each
            lookup reads those of now.
    """

    __slots__ = (
        "_by_fips",
        "_changed",
        "_digest",
        "_files",
        "_limits",
        "_limits_read",
        "_places",
        "areas",
        "counties",
        "county_areas",
        "delivery",
        "edition",
        "jurisdictions",
        "loaded_at",
        "memo",
        "own_editions",
        "own_path",
        "own_zips",
        "rates",
        "records",
        "sources",
        "states",
        "zips",
    )

    def __init__(
        self, files: Mapping[str, bytes], limits: Mapping[str, bytes] | None = None
    ) -> None:
        """Read a book from its files' bytes.

        Args:
            files: its tables by name.
            limits: the limits of cities by state; a book may have none.

        Raises:
            ValueError: a file does not hold what the schema says, or is of another schema.
        """
        settings = {row.name: row.value for row in _rows(files, "book.csv", Setting)}
        if settings.get("schema") != _SCHEMA:
            raise ValueError(
                f"book.csv: schema {settings.get('schema')!r}, expected {_SCHEMA!r}:"
                " compile the book again with this version"
            )
        self.edition: str = settings["edition"]
        self.loaded_at: str = settings["loaded_at"]
        self._files = files
        self._digest = ""
        self.states: Mapping[str, StateRow] = {
            row.state: row for row in _rows(files, "states.csv", StateRow)
        }
        self.delivery: dict[str, list[DeliveryRule]] = {}
        for rule in _rows(files, "delivery.csv", DeliveryRule):
            self.delivery.setdefault(rule.state, []).append(rule)
        self.sources: Mapping[str, Source] = {
            row.id: row for row in _rows(files, "sources.csv", Source)
        }
        counties = StateRows(files["counties.csv"], County, "counties.csv")
        self.counties: StateMap[tuple[str, str], County] = StateMap(
            lambda state: {(row.state, row.fips): row for row in counties.of(state)},
            counties.states,
        )
        levying = StateRows(files["jurisdictions.csv"], Jurisdiction, "jurisdictions.csv")
        self.jurisdictions: StateMap[str, Jurisdiction] = StateMap(
            lambda state: {row.id: row for row in levying.of(state)}, levying.states
        )
        areas = StateRows(files["areas.csv"], Area, "areas.csv")
        self.areas: StateMap[str, Area] = StateMap(
            lambda state: {row.id: row for row in areas.of(state)}, areas.states
        )
        rates = StateRows(files["rates.csv"], RateRow, "rates.csv")
        self.rates: StateMap[str, tuple[RateRow, ...]] = StateMap(
            lambda state: by_jurisdiction(rates.of(state)), rates.states
        )
        self._places = StateRows(files["places.csv"], PlaceRow, "places.csv")
        self._by_fips: dict[str, Mapping[str, PlaceRow]] = {}
        self._changed = StateRows(files["changed_places.csv"], ChangedPlace, "changed_places.csv")
        self._limits = limits or {}
        self._limits_read: dict[str, CityLimits] = {}
        self.zips = ZipIndex(
            StateRows(files["postal.csv"], PostalRow, "postal.csv"),
            StateRows(files["zips.csv"], ZipAreas, "zips.csv"),
        )
        self.own_editions: tuple[Edition, ...] = ()
        self.own_path: Path | None = None
        self.records: object = None
        self.own_zips: Mapping[str, tuple[tuple[int, int], ...]] = {}
        self.county_areas: StateMap[tuple[str, str], tuple[Area, ...]]
        self.memo: dict[object, object]
        self.index()

    @property
    def digest(self) -> str:
        """The digest, computed when it is first needed: a lookup alone does not."""
        self._digest = self._digest or _digest(self._files, self._limits)
        return self._digest

    @digest.setter
    def digest(self, digest: str) -> None:
        self._digest = digest

    def places(self, state: str) -> Mapping[str, PlaceRow]:
        """The Census places of a state by their code; none where the state alone decides."""
        found = self._by_fips.get(state)
        if found is None:
            rows = {row.fips: row for row in self._places.of(state)}
            found = self._by_fips.setdefault(state, rows)
        return found

    def city_limits(self, state: str) -> CityLimits | None:
        """The limits of the cities of a state, read when they are first needed.

        `None` where the book has none: a state where no place decides, or an earlier book.

        Raises:
            MissingExtraError: the packages that read them are not installed.
            ValueError: the file is damaged.
        """
        found = self._limits_read.get(state)
        if found is None and state in self._limits:
            from svc_tools.service.ratebook.city_limits import (  # noqa: PLC0415 - heavy, for points
                CityLimits,
            )

            read = CityLimits.read(self._limits[state], f"{LIMITS_FOLDER}/{state}.npz")
            found = self._limits_read.setdefault(state, read)
        return found

    def changed_places(self, state: str) -> list[ChangedPlace]:
        """The places of a state whose limits are not those of the book any more."""
        return self._changed.of(state)

    def delivery_on(self, state: str, day: date) -> DeliveryRule | None:
        """The rule of delivery charges on a day; `None` in a state without a sales tax.

        The first day of the oldest rule is that of the text that was read: it holds before, too.
        """
        rules = self.delivery.get(state, [])
        begun = [rule for rule in rules if rule.begin is None or rule.begin <= day]
        return next(iter([*reversed(begun), *rules]), None)

    def remember(self, key: object, value: _Kept) -> _Kept:
        """Cache a value in the memo, which begins again when it is full."""
        if len(self.memo) > _MEMO_LIMIT:
            self.memo.clear()
        self.memo[key] = value
        return value

    def copy(self) -> Book:
        """A shallow copy, to lay other rows over and index again."""
        return copy(self)

    def index(self) -> None:
        """Index the areas again and drop what was cached for other rows."""
        areas = self.areas
        self.county_areas = StateMap(
            lambda state: _by_county(areas.of(state).values()), lambda: self.states
        )
        self.memo = {}

    def read(self) -> None:
        """Read the rows of every state.

        Raises:
            ValueError: a file does not hold what the schema says.
        """
        for rows in (self.counties, self.jurisdictions, self.areas, self.rates):
            len(rows)
        for state in self.states:
            self.places(state)
            self.zips.zips(state)

    def freshness(self) -> dict[str, object]:
        """How old and how complete the book is, state by state: JSON for `GET /v1/freshness`.

        `history_from` is the day from which every rate of the state is known, `oldest_row` the
        first day that any of them is known for; `None` where there is no first day.
        """
        local = _local_rows(self)
        return {
            "book": {
                "edition": self.edition,
                "digest": self.digest,
                "loaded_at": self.loaded_at,
                "states": len(self.states),
                "jurisdictions": len(self.jurisdictions),
                "rates": sum(len(rows) for rows in self.rates.values()),
            },
            "states": [
                _state_freshness(self, row, local.get(row.state, []))
                for _, row in sorted(self.states.items())
            ],
        }


def _rows(files: Mapping[str, bytes], name: str, row_class: type[_Row]) -> list[_Row]:
    return read_table(files[name].decode("utf-8"), row_class, name)


def _digest(files: Mapping[str, bytes], limits: Mapping[str, bytes]) -> str:
    from importlib import metadata  # noqa: PLC0415 - not small, and a lookup alone needs no digest

    whole = hashlib.sha256()
    for name in TABLES:
        whole.update(hashlib.sha256(files[name]).digest())
    for state, data in sorted(limits.items()):
        whole.update(state.encode() + hashlib.sha256(data).digest())
    for package in _GEOGRAPHY:
        with suppress(metadata.PackageNotFoundError):  # then no lookup reads it
            whole.update(f"{package}=={metadata.version(package)}\n".encode())
    return whole.hexdigest()


def by_jurisdiction(rows: Iterable[RateRow]) -> dict[str, tuple[RateRow, ...]]:
    """The rows of each jurisdiction, the oldest first."""
    found: dict[str, list[RateRow]] = defaultdict(list)
    for row in rows:
        found[row.jurisdiction].append(row)
    return {
        key: tuple(sorted(group, key=lambda row: str(row.begin or "")))
        for key, group in found.items()
    }


def _by_county(areas: Iterable[Area]) -> dict[tuple[str, str], tuple[Area, ...]]:
    found: dict[tuple[str, str], list[Area]] = defaultdict(list)
    for area in areas:
        for fips in area.counties:
            found[area.state, fips].append(area)
    return {
        key: tuple(sorted(group, key=lambda area: (area.rank, area.id)))
        for key, group in found.items()
    }


@lru_cache(maxsize=8)
def compiled_book(path: Path | None) -> Book:
    """The book compiled to a folder (`None`: the shipped one), opened once in a process.

    A folder's rows are all read at once, so that an error in them is found now.

    Raises:
        FileNotFoundError: a file of the book is not in the folder.
        ValueError: a file does not hold what the schema says.
    """
    folder = _SHIPPED if path is None else path
    files = {}
    for name in TABLES:
        file = folder.joinpath(name)
        if name in LATER_TABLES and not file.exists():
            files[name] = table_text((), TABLES[name]).encode()
            continue
        if not file.is_file():
            raise FileNotFoundError(
                f"{name} is not in {folder}: expected a folder that a book was compiled to"
            )
        files[name] = file.read_bytes()
        if not files[name].endswith(b"\n"):  # its rows are read later, each state's for itself
            raise ValueError(
                f"{file} is cut off: expected whole lines; install this package again"
                " (pip install --force-reinstall), or compile the book again"
            )
    shapes = sorted(folder.joinpath(LIMITS_FOLDER).glob("*.npz"))
    book = Book(files, {file.stem: file.read_bytes() for file in shapes})
    if path is not None:
        collecting = gc.isenabled()
        gc.disable()  # a hundred thousand rows that all stay: nothing to collect meanwhile
        try:
            book.read()
        finally:
            if collecting:
                gc.enable()
    return book


class ZipIndex:
    """The postal table and the census crosswalk, indexed by state and ZIP.

    A state's ZIPs are indexed when the first of them is requested. Filling an index twice from two
    threads gives the same index.
    """

    __slots__ = ("_crosswalk", "_homes", "_places", "_postal", "_touched")

    def __init__(self, postal: StateRows[PostalRow], crosswalk: StateRows[ZipAreas]) -> None:
        """Index both files; their rows are read when they are needed."""
        self._postal = postal
        self._crosswalk = crosswalk
        self._places: dict[str, Mapping[str, PostalRow]] = {}
        self._touched: dict[str, Mapping[str, ZipAreas]] = {}
        self._homes: Mapping[str, Sequence[str]] = {}

    def state(self, state: str) -> Mapping[str, PostalRow]:
        """Every ZIP of a state, by its five digits."""
        found = self._places.get(state)
        if found is None:
            found = self._places[state] = {row.zip: row for row in self._postal.of(state)}
        return found

    def areas(self, state: str) -> Mapping[str, ZipAreas]:
        """What each ZIP of the crosswalk touches in a state."""
        found = self._touched.get(state)
        if found is None:
            found = self._touched[state] = {row.zip: row for row in self._crosswalk.of(state)}
        return found

    def touched(self, zip5: str, state: str) -> tuple[str, ...]:
        """FIPS codes of the counties of a state that a ZIP touches; none: not in the crosswalk."""
        row = self.areas(state).get(zip5)
        return tuple(row.counties.split()) if row else ()

    def shares(self, zip5: str, state: str) -> list[tuple[str, int]]:
        """The Census places that a ZIP touches, with thousandths of its land, largest first."""
        row = self.areas(state).get(zip5)
        if row is None or not row.places:
            return []
        return [(part[:5], int(part[6:])) for part in row.places.split(" ")]  # 43000:995

    def housing(self, zip5: str, state: str) -> list[tuple[str, str, int]]:
        """The housing units of each part of a ZIP: place (or empty), county, units."""
        row = self.areas(state).get(zip5)
        if row is None or not row.housing:
            return []
        parts = (part.partition(":") for part in row.housing.split(" "))
        return [(code[:-3], code[-3:], int(units)) for code, _, units in parts]

    def crosses(self, zip5: str, state: str) -> list[str]:
        """The other states that a ZIP touches, in order: few ZIPs touch more than one."""
        row = self.areas(state).get(zip5)
        return row.beyond.split() if row else []

    def zips(self, state: str) -> list[str]:
        """Every ZIP that leads into a state, by either table, in order."""
        return sorted(self.areas(state).keys() | self.state(state).keys())

    def states_of(self, zip5: str, states: Iterable[str]) -> list[str]:
        """The states, territories or mail regions a ZIP belongs to; empty for an unknown ZIP."""
        homes = self._homes = self._homes or self._read_homes()
        found = set(homes.get(zip5, ()))
        return sorted(found | {state for state in states if zip5 in self.areas(state)})

    def _read_homes(self) -> Mapping[str, Sequence[str]]:
        """The states of every ZIP in the postal table."""
        found: dict[str, list[str]] = defaultdict(list)
        for state, zip5 in self._postal.row_keys():
            found[zip5].append(state)
        return found


_COVERS = {
    "A": "the whole rate: no local general sales tax",
    "B": "the whole rate of every county, and of the few cities that add to it",
    "C": "the whole rate of every listed city and county",
    "D": "the whole rate of listed cities; elsewhere the part that is known",
    "E": "the state part only",
    "none": "nothing: no state tax, local taxes unknown",
}
_TOWNS = "some boroughs and towns only; no state tax"
_BEST_CONFIDENCE = {
    "A": "high",
    "B": "high",
    "C": "high",
    "D": "medium",
    "E": "low",
    "none": "none",
}


class _Records(NamedTuple):
    """How many of a state's ZIPs the user's own boundary file has a record in force of."""

    zips: int
    of: int

    @property
    def enough(self) -> bool:
        """Whether most lookups there are decided by a record, so that records are claimed."""
        return self.zips * 2 >= self.of > 0


def _local_rows(book: Book) -> dict[str, list[tuple[RateRow, ...]]]:
    """The rows of everyone whose rate is in an area, by state.

    An imported rate file has more: codes that only boundary rows place.
    """
    areas = (area for area in book.areas.values() if area.kind != "named")
    placed = {part for area in areas for part in area.components}
    found: dict[str, list[tuple[RateRow, ...]]] = {}
    for key, rows in book.rates.items():
        jurisdiction = book.jurisdictions[key]
        if jurisdiction.level != "state" and key in placed:
            found.setdefault(jurisdiction.state, []).append(rows)
    return found


def _state_freshness(
    book: Book, row: StateRow, local: list[tuple[RateRow, ...]]
) -> dict[str, object]:
    """A state in the coverage of the book: its source, the days it is good for, what is missing."""
    own = book.rates[row.state]
    main = _main_source(local) or _main_source([own])
    until = [book.sources[own[-1].source].state_until]
    if local:
        until.append(_local_until(book, local))
    confidence = _BEST_CONFIDENCE[row.tier]
    towns = row.tier == "none" and bool(local)
    in_conflict = [rate for rate in own if rate.conflict_cap == "low"]
    if towns or len(in_conflict) == len(own):
        confidence = "low"
    records = _records(book, row.state)
    if records and records.enough:
        confidence = "exact"
    known = [rows for rows in (own, *local) if rows[0].use != "unknown"]
    begins = [begin for rows in known if (begin := _known_from(book, rows))]
    firsts = [_first(rows) for rows in known]
    oldest = None if None in firsts else min(filter(None, firsts))
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
        "history_from": max(begins).isoformat() if begins else None,
        "oldest_row": oldest.isoformat() if oldest else None,
        "covered_until": min(until).isoformat(),
        "confidence": confidence,
        "missing": f"{_missing(row, records)} {_conflict(in_conflict)}".strip(),
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
    imported = any(
        (edition.state, edition.kind) == (row.state, "rates") for edition in book.own_editions
    )
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
    gap = f"{without:,} of {records.of:,} ZIPs have no boundary record in force."
    return f"{row.missing} {gap}".strip()


def _conflict(rates: Sequence[RateRow]) -> str:
    """From when on sources disagree on a state's rate; empty where they do not."""
    if not rates:
        return ""
    since = f" from {rates[0].begin} on" if rates[0].begin else ""
    return f"Sources disagree on the rate{since}: confidence is low then."


def _loaded_at(book: Book, state: str) -> str:
    """The day a state's figures were loaded: with the book, or by the user's import."""
    own = (
        edition
        for edition in book.own_editions
        if (edition.state, edition.kind) == (state, "rates")
    )
    return next((edition.loaded_at.isoformat() for edition in own), book.loaded_at)


def _main_source(groups: list[tuple[RateRow, ...]]) -> str:
    """The source most of the rows come from; empty without rows."""
    counts = Counter(rows[-1].source for rows in groups)
    return min(counts, key=lambda key: (-counts[key], key)) if counts else ""


def _local_until(book: Book, local: list[tuple[RateRow, ...]]) -> date:
    """The last day that local rates are good for: of every source that has a fifth of them.

    Where none has as many, of the one that has most.
    """
    known = [rows[-1].source for rows in local if rows[-1].use != "unknown"]
    counts = Counter(known or [rows[-1].source for rows in local])
    most = max(counts.values())
    main = [key for key, count in counts.items() if count * 5 >= counts.total() or count == most]
    return min(book.sources[key].local_until for key in main)


def _known_from(book: Book, rows: tuple[RateRow, ...]) -> date | None:
    """The day from which a jurisdiction's rate is known; `None` where it always is.

    Where the source lists every jurisdiction, one that came later did not exist before.
    """
    return book.sources[rows[0].source].complete_from or _first(rows)


def _first(rows: tuple[RateRow, ...]) -> date | None:
    """The first day the rows know a rate with its date; `None` for a rate without a first day."""
    return min((row.begin for row in rows if row.begin), default=None)
