"""The rows of a rate book, and the CSV text they are stored in.

A book is a folder of small CSV files, one row class each. Rates are whole numbers of 10^-5
(`units`), dates are ISO, lists are separated by blanks or `|`. What adds up to a rate:

`Area` (the finest piece of map the book tells apart) -> its `components` (`Jurisdiction`) -> the
`RateRow` of each that is in force on a day, plus the row of the state itself. The level of a
jurisdiction names the field of the response (SPEC 2.2) that its rate goes into.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass, fields
from datetime import date
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Setting:
    """One fact about the book itself: its schema, its edition, when it was loaded."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows come from.

    Attributes:
        id: short key used by the rate rows.
        name: the name to show; goes into `meta.source`.
        publisher: who published the figures.
        edition: which edition of it; goes into `meta.edition`.
        licence: on what terms.
        trust: `official`, `second_hand` (official figures re-expressed by others) or `third_hand`.
        complete_from: from this day on the source lists every jurisdiction of its kind: one
            without a row on such a day did not exist then. `None`: no such claim.
        local_until: the last day its county, city and district rates are good for.
        state_until: the last day its state rates are good for.
        undated: the `effective_date_basis` of its rows without a day of law: `edition_only` where
            a row is dated by the edition, `no_published_date` where it is not dated at all.
    """

    id: str
    name: str
    publisher: str
    edition: str
    licence: str
    trust: str
    complete_from: date | None
    local_until: date
    state_until: date
    undated: str = "edition_only"


@dataclass(frozen=True, slots=True)
class StateRow:
    """What the book claims for a state.

    Attributes:
        state: two-letter code.
        name: its name.
        fips: two-digit FIPS code.
        tier: `A` state alone, `B` by county, `C` by city, `D` the listed cities only, `E` the
            state part only, `none` nothing honest but where a table has a rate (Alaska).
        local: what decides the local part: `none` (no local tax), `county`, `city`, or
            `unknown` (there is one, and the book does not have it).
        missing: what the book lacks for the state, as a sentence.
        districts_until: until this day special districts of the state's file had rates that the
            book cannot place on the map; 9999-12-31: they still have.
    """

    state: str
    name: str
    fips: str
    tier: str
    local: str
    missing: str
    districts_until: date | None


@dataclass(frozen=True, slots=True)
class DeliveryRule:
    """How a state taxes separately stated delivery charges, over days, both ends inclusive.

    Attributes:
        state: two-letter code.
        treatment: `follows_goods` (taxed where the goods are), `taxable`, `exempt_if_separate` (not
            taxed where it is stated separately) or `exempt_if_optional` (not taxed only where the
            buyer could also avoid the charge).
        begin: the first day, where it is known.
        end: the last day; `None`: still the law.
        certainty: what was read: `official page read` (the agency's page or the law),
            `two independent sources`, `one source` or `none`.
        law: the citation.
        source: the publication that was read.
        url: its address.
        checked: the day it was last read.
        doubt: what sources leave open, a sentence; empty where the rule is settled.
        note: on what it depends, and what it does not cover.
    """

    state: str
    treatment: str
    begin: date | None
    end: date | None
    certainty: str
    law: str
    source: str
    url: str
    checked: date | None
    doubt: str
    note: str

    @property
    def taxed(self) -> bool:
        """Whether the charge is taxed where nothing is known of the buyer's choice."""
        return self.treatment in {"follows_goods", "taxable"}


@dataclass(frozen=True, slots=True)
class County:
    """A county or county equivalent: state, three-digit FIPS code, full name."""

    state: str
    fips: str
    name: str


@dataclass(frozen=True, slots=True)
class Jurisdiction:
    """Who levies a rate: `level` is state, county, city or district; `code` is the official one."""

    id: str
    state: str
    level: str
    code: str
    name: str


@dataclass(frozen=True, slots=True)
class RateRow:
    """One rate of one jurisdiction over one span of days, both ends inclusive.

    Attributes:
        jurisdiction: id of the `Jurisdiction`.
        units: the rate in units of 10^-5.
        begin: first day the book knows the rate for; `None`: open.
        end: last day; `None`: open.
        effective: the day the rate took legal effect, where the source publishes one.
        source: id of the `Source`.
        trust: as `Source.trust`, for this row.
        conflict_cap: `medium` or `low`, the most a result with this row may claim, where sources
            disagree; empty otherwise.
        conflict_units: the other rate, where there is one.
        note: what a reader of the row should know; for a conflict, who says what.
        use: how far it may be relied on: empty (the whole rate), `total` (the whole local rate of
            its area: the other parts are in it), `stale` (no newer figure is published for the
            place), `partial` (a lower bound: a part may be missing) or `unknown` (no local figure:
            `units` is 0).
        certainty: `likely` where no source was read for all of its days; empty otherwise.
        agreed: the last day that another table is known to have the same figure; `None`: it was
            not compared, or need not be.
        published: the rate as it is published, a fraction, where it has more than five decimals:
            `units` is rounded half up.
    """

    jurisdiction: str
    units: int
    begin: date | None
    end: date | None
    effective: date | None
    source: str
    trust: str
    conflict_cap: str
    conflict_units: int | None
    note: str
    use: str = ""
    certainty: str = ""
    agreed: date | None = None
    published: str = ""


@dataclass(frozen=True, slots=True)
class Area:
    """The finest piece of map the book tells apart, and whose rates add up in it.

    Attributes:
        id: key.
        state: two-letter code.
        kind: `county` (the whole county, or what no other area of it takes), `city`,
            `unincorporated` (of a county), `named` (found by its own name only: tribal land and
            zones that share their surroundings' ZIPs).
        name: the name to show.
        counties: FIPS codes of the counties it lies in.
        components: ids of the jurisdictions whose rates add up to the state's.
        cities: names of cities that lead to it.
        code: official location code, where it has one.
        rank: smaller goes first among areas that a name or a county leads to.
        lacks: what the book does not have of it: `local` (only the state part is known there),
            `districts` (a special district that the book cannot place may apply), or empty.
        lacks_from: the first day it lacks that; `None`: every day.
        place: the FIPS code of the Census place that it is, or is a part of; empty where the
            name alone tells.
    """

    id: str
    state: str
    kind: str
    name: str
    counties: tuple[str, ...]
    components: tuple[str, ...]
    cities: tuple[str, ...] = ()
    code: str = ""
    rank: int = 0
    lacks: str = ""
    lacks_from: date | None = None
    place: str = ""

    def lacks_on(self, day: date) -> str:
        """What the book does not have of the area on a day."""
        return self.lacks if self.lacks_from is None or self.lacks_from <= day else ""


class ZipAreas(NamedTuple):
    """What one ZIP touches in one state.

    Attributes:
        state: two-letter code.
        zip: five digits.
        counties: FIPS codes of every county, separated by blanks.
        places: FIPS codes of the Census places, each with its share of the ZIP's land in
            thousandths (`43000:995`), the largest first; of the shares under 1% those of places
            that lie in the ZIP for the most part.
        beyond: other states that the ZIP touches, separated by blanks.
        housing: the housing units of each part of the ZIP, separated by blanks: the code of the
            Census place (none for what lies outside of places), that of the county, the units
            (`43000053:1204 053:17`); empty where none is known.
    """

    state: str
    zip: str
    counties: str
    places: str
    beyond: str
    housing: str


class PostalRow(NamedTuple):
    """One ZIP as the postal table has it.

    Attributes:
        state: two-letter code; `AE` for military and diplomatic mail.
        zip: five digits.
        kind: `STANDARD`, `PO BOX`, `UNIQUE` or `MILITARY`.
        city: the preferred city name.
        accepted: further names the post office accepts, separated by `|`.
        refused: names people use that it does not accept, separated by `|`.
        county: FIPS code of the one county the table names; empty when it names none.
        lat: latitude in degrees; `0` when unknown.
        lng: longitude likewise.
    """

    state: str
    zip: str
    kind: str
    city: str
    accepted: str
    refused: str
    county: str
    lat: str
    lng: str

    @property
    def accepted_names(self) -> list[str]:
        """The further names the post office accepts."""
        return self.accepted.split("|") if self.accepted else []

    @property
    def other_names(self) -> list[str]:
        """Every name but the preferred one, accepted ones first."""
        return [*self.accepted_names, *(self.refused.split("|") if self.refused else ())]


class PlaceRow(NamedTuple):
    """One Census place of a state where the place may decide the rate.

    Attributes:
        state: two-letter code.
        fips: five-digit place code.
        name: its name.
        kind: `city`, `town`, `village`, `CDP` (not incorporated) and the like.
        counties: FIPS codes of its counties, separated by blanks, the main one first.
        aliases: further names it goes by, separated by `|`.
    """

    state: str
    fips: str
    name: str
    kind: str
    counties: str
    aliases: str

    @property
    def names(self) -> list[str]:
        """Every name, the main one first."""
        return [self.name, *(self.aliases.split("|") if self.aliases else ())]


class ChangedPlace(NamedTuple):
    """A Census place whose limits are not those of the book any more.

    Attributes:
        state: two-letter code.
        fips: five-digit place code.
        change: `new` (it has no limits in the book) or `grown` (its land by 5% or more).
        lat: latitude of its middle in degrees, of a new one.
        lng: longitude likewise.
        meters: the radius of a circle as large as its land, of a new one.
    """

    state: str
    fips: str
    change: str
    lat: str
    lng: str
    meters: str


TABLES: dict[str, type] = {
    "book.csv": Setting,
    "sources.csv": Source,
    "states.csv": StateRow,
    "delivery.csv": DeliveryRule,
    "counties.csv": County,
    "jurisdictions.csv": Jurisdiction,
    "areas.csv": Area,
    "rates.csv": RateRow,
    "places.csv": PlaceRow,
    "zips.csv": ZipAreas,
    "postal.csv": PostalRow,
    "changed_places.csv": ChangedPlace,
}
"""Every table of a book and the class of its rows."""
LATER_TABLES = frozenset({"changed_places.csv"})
"""Tables that books compiled by earlier releases do not have: there they have no rows."""
LIMITS_FOLDER = "limits"
"""The folder of a book that holds the limits of cities, a file `XX.npz` for each state."""

_FLAGS = {"": None, "true": True, "false": False}

_MAY_BE_BLANK = frozenset({"str", "int | None", "date | None", "bool | None", "tuple[str, ...]"})

_READ: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "int | None": lambda text: int(text) if text else None,
    "date": date.fromisoformat,
    "date | None": lambda text: date.fromisoformat(text) if text else None,
    "bool | None": _FLAGS.__getitem__,
    "tuple[str, ...]": lambda text: tuple(text.split("|")) if text else (),
}


def _write(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "|".join(value)
    return str(value)


_Row = TypeVar("_Row")


def _columns(row_class: type) -> dict[str, str]:
    """Name -> annotation of each column, in order."""
    if issubclass(row_class, tuple):
        return dict.fromkeys(row_class._fields, "str")  # type: ignore[attr-defined]  # a NamedTuple
    return {field.name: str(field.type) for field in fields(row_class)}  # type: ignore[arg-type]  # a dataclass


def read_table(
    text: str, row_class: type[_Row], name: str, *, other_release: bool = False, before: bytes = b""
) -> list[_Row]:
    """The rows of one CSV file of a book.

    Args:
        text: the file.
        row_class: the class of its rows.
        name: its name, for messages.
        other_release: it may have been written by another release: columns that this one does
            not know are passed over, and those that it does not have are blank where they may be.
        before: the lines of the file that are left out behind the header.

    Raises:
        ValueError: the header is not the schema's, or a value does not parse; says where.
    """
    columns = _columns(row_class)
    reader: Iterator[list[str]] = csv.reader(io.StringIO(text))
    header = next(reader, [])
    if other_release and header != list(columns):
        missing = columns.keys() - set(header)
        if header and all(columns[column] in _MAY_BE_BLANK for column in missing):
            reader = _as_now(reader, header, list(columns))
            header = list(columns)
    if header != list(columns):
        raise ValueError(f"{name}: expected the columns {','.join(columns)}, found {header}")
    if issubclass(row_class, tuple):
        return list(map(row_class._make, reader))  # type: ignore[attr-defined]  # a NamedTuple
    readers = [_READ[annotation] for annotation in columns.values()]
    rows: list[_Row] = []
    for number, row in enumerate(reader, 2):
        try:
            rows.append(row_class(*[read(v) for read, v in zip(readers, row, strict=True)]))
        except (ValueError, KeyError) as error:
            line = number + before.count(b"\n")
            raise ValueError(f"{name}, line {line}: {error}: {row}") from error
    return rows


class StateRows(Generic[_Row]):
    """The rows of a file in the order of their states; read state by state.

    Each line begins with the code of its state. Most lookups of a process are of few states, and
    the rows of a state are read in milliseconds.
    """

    __slots__ = ("_class", "_data", "_name")

    def __init__(self, data: bytes, row_class: type[_Row], name: str) -> None:
        """The bytes of a file; its rows are read when they are needed."""
        self._data, self._class, self._name = data, row_class, name

    def of(self, state: str) -> list[_Row]:
        """The rows of a state; none where the file has none.

        Raises:
            ValueError: as `read_table`; or the rows of the state are not together.
        """
        data, key = self._data, f"\n{state}".encode()
        start = data.find(key) + 1
        end = (data.find(b"\n", data.rfind(key) + 1) + 1 or len(data)) if start else 0
        rows = data[start:end]
        lines = rows.count(b"\n") + (not rows.endswith(b"\n") and bool(rows))
        if lines != (rows.count(key) + 1 if rows else 0):
            raise ValueError(f"{self._name}: the rows of {state} are not together")
        first = data.find(b"\n") + 1
        text = (data[:first] + rows).decode("utf-8")
        return read_table(text, self._class, self._name, before=data[first:start])

    def row_keys(self) -> list[tuple[str, str]]:
        """The state and the second column of each row, in the order of the file; it needs no rows.

        Of a file of which neither is ever in quotes.
        """
        text = self._data.decode("utf-8")
        return re.findall(r"\n([^\n,]{2}),([^\n,]*),", text)

    def states(self) -> list[str]:
        """The states that the file has rows of, in its order."""
        return [code.decode() for code in dict.fromkeys(re.findall(rb"\n([^\n]{2})", self._data))]


def _as_now(
    rows: Iterable[list[str]], header: Sequence[str], columns: Sequence[str]
) -> Iterator[list[str]]:
    """Rows under the columns of another release as those of this one."""
    for row in rows:
        values = dict(zip(header, row, strict=True))
        yield [values.get(column, "") for column in columns]


def table_text(rows: Iterable[object], row_class: type) -> str:
    """The CSV text of rows of one class: same rows, same bytes."""
    columns = list(_columns(row_class))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_write(getattr(row, column)) for column in columns] for row in rows)
    return out.getvalue()
