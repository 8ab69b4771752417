"""Reading an SST boundary file into the user's own book: as a stream, in one transaction.

The layout has 29 columns and up to 20 triplets of special districts: 89 columns, 90 where a state
writes one more, which is not read. `Z` and `4` records say which ZIPs or ZIP+4 they hold in columns
18 to 21, `A` records their addresses in columns 4 to 17. Every line is checked strictly.

Memory does not grow with the file: lines are read one by one, rows go to SQLite in batches, and
compositions are known by a number that SQLite hands out.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from svc_tools.base.progress import stage
from svc_tools.service.ratebook.imports.database import (
    day_number,
    editions,
    replacing,
)
from svc_tools.service.ratebook.imports.reading import (
    BrokenLine,
    FileRefused,
    quarter_begin,
    without_blank_end,
)
from svc_tools.service.ratebook.imports.sst_rows import (
    LOCATION_CODES,
    Composition,
    districts_without_rate,
)
from svc_tools.service.ratebook.imports.streets import (
    PO_BOX,
    UNSURE,
    House,
    Street,
    house_number,
    join_street,
    unit_kind,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from svc_tools.base.progress import Progress
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.imports.database import Edition

_BATCH = 5_000
_KNOWN_COMPOSITIONS = 20_000
_LONGEST_LINE = 100_000
_CACHE_KIB = 65_536
"""Pages of the book that an import may keep in memory: its tables are not filled in order."""
_ENOUGH = 500
"""A file of fewer records than this may well be halved."""
_LISTED = 25
"""Records with a fault that are listed one by one; the rest is counted."""


@dataclass(slots=True)
class BoundaryImport:
    """What came of an import.

    Attributes:
        edition_id: the new edition's number in the book.
        records: how many there are by kind: `Z`, `4`, `A`.
        compositions: how many different sums of rates they name.
        first: the first day that any record holds; the edition covers the days from it on.
        ended: records that had ended before the edition began.
        without_rate: special districts without a row in the state's rate file, by `type:code`,
            and how many compositions name each: places there have no exact rate.
        unsure: line and fault of the first records that do not say which houses they hold.
        unsure_records: how many of those there are.
        notes: sentences about the file that a user should read.
    """

    edition_id: int
    records: Counter[str] = field(default_factory=Counter)
    compositions: int = 0
    first: date = date.max
    ended: int = 0
    without_rate: Counter[str] = field(default_factory=Counter)
    unsure: list[tuple[int, str]] = field(default_factory=list)
    unsure_records: int = 0
    notes: list[str] = field(default_factory=list)


def import_boundary(
    connection: sqlite3.Connection,
    path: Path,
    edition: Edition,
    book: Book,
    progress: Progress | None = None,
    *,
    least: int = 0,
) -> BoundaryImport:
    """Put a boundary file in the place of the state's older one.

    Args:
        connection: the own book, open for writing.
        path: the file: CSV without a header, UTF-8 or Latin-1.
        edition: what it is; rows and digest are filled in here.
        book: a book with the state's rate file in it, to check its codes against.
        progress: shows the bytes read.
        least: a file with fewer records than this is taken for one that is cut off.

    Raises:
        FileRefused: the own book has no rate file of the state, or the file cannot be read or is
            cut off.
        BrokenLine: a line does not hold what it should; the older edition stays as it was, as it
            does when the import is interrupted.
    """
    rates = next(
        (e for e in editions(connection) if (e.state, e.kind) == (edition.state, "rates")), None
    )
    if rates is None and edition.state != LOCATION_CODES:
        raise FileRefused(
            f"{path.name}: the rates of {edition.state} are not in your own book, and a boundary"
            f" file holds none. Import the state's rate file of the same quarter"
            f" ({edition.state}R{edition.edition}...csv) first, or in the same command"
        )
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    bar = stage(progress, f"Importing {path.name}", path.stat().st_size, "bytes")
    with bar as shown, replacing(connection, edition) as edition_id:
        writer = _Writer(connection, edition_id, book, edition)
        digest = _stream(path, book.states[edition.state].fips, writer, shown)
        result = writer.finish()
        if not result.records:
            raise FileRefused(f"{path.name}: no record in it; nothing was imported")
        count = sum(result.records.values())
        if count < least >= _ENOUGH:
            raise FileRefused(
                f"{path.name}: {count:,} records, less than half of the edition that it would take"
                " the place of: it may be cut off, or a part only. Download it again, or take it"
                " as it is with --force"
            )
        connection.execute(  # known only now that the whole file was read
            "UPDATE editions SET rows = ?, digest = ?, covers_from = ? WHERE id = ?",
            (count, digest, result.first.isoformat(), edition_id),
        )
    result.notes.insert(0, _counted(result, edition))
    if rates and rates.edition != edition.edition:
        result.notes.append(
            f"the boundary file is of {edition.edition}, the rate file in your own book of"
            f" {rates.edition}: codes that are new in one of them are missing in the other"
        )
    return result


def _counted(result: BoundaryImport, edition: Edition) -> str:
    names = (("Z", "ZIP"), ("4", "ZIP+4"), ("A", "address"))
    counts = [f"{result.records[kind]:,} {name}" for kind, name in names if result.records[kind]]
    return (
        f"{', '.join(counts)} records with {result.compositions:,} different sums of rates;"
        f" {result.ended:,} of the records had ended before {edition.edition}"
    )


def _stream(path: Path, fips: str, writer: _Writer, progress: Progress) -> str:
    """Feed every record of a file to the writer; the file's sha256."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            source = _Lines(file, path.name, digest.update)
            reader = csv.reader(iter(source))
            while (fields := _next(reader, path.name)) is not None:
                if not fields or not any(fields):
                    continue
                source.see_whole(len(fields))
                writer.add(read_line(path.name, reader.line_num, fields, fips), reader.line_num)
                if writer.count % _BATCH == 0:
                    progress.advance(source.taken())
            progress.advance(source.taken())
    except OSError as error:
        raise FileRefused(f"{path}: cannot be read: {error.strerror or error}") from error
    return digest.hexdigest()


def _next(reader: Iterator[list[str]], name: str) -> list[str] | None:
    try:
        return next(reader, None)
    except csv.Error as error:
        line: int = reader.line_num  # type: ignore[attr-defined]  # the reader of `csv` has no public type
        raise BrokenLine(name, line, str(error), "fields separated by commas") from error


class _Lines:
    """The lines of a file as text, counted and hashed on the way."""

    def __init__(self, file: BinaryIO, name: str, seen: Callable[[bytes], None]) -> None:
        self._done = 0
        self._file, self._name, self._seen = file, name, seen
        self._number = self._columns = 0
        self._open_end = False

    def taken(self) -> int:
        """The bytes read since the last call."""
        count, self._done = self._done, 0
        return count

    def see_whole(self, columns: int) -> None:
        """Refuse a last line that is cut off: shorter than the one before, and without an end.

        A record that has lost its last districts would be a rate that is too low.
        """
        if self._open_end and columns < self._columns:
            given = f"it ends after {columns} columns, the line before has {self._columns}"
            raise BrokenLine(self._name, self._number, given, "a whole line: download it again")
        self._columns = columns

    def __iter__(self) -> Iterator[str]:
        """Yield the lines as text, UTF-8 or else Windows-1252; `seen` gets the bytes of each.

        Raises:
            BrokenLine: a line is too long, or not text.
        """
        while data := self._file.readline(_LONGEST_LINE):
            number = self._number = self._number + 1
            self._done += len(data)
            self._seen(data)
            if len(data) == _LONGEST_LINE and not data.endswith(b"\n"):
                raise BrokenLine(
                    self._name, number, f"more than {_LONGEST_LINE:,} bytes", "one record a line"
                )
            if b"\0" in data:
                raise BrokenLine(self._name, number, "a NUL byte", "text: download it again")
            self._open_end = not data.endswith((b"\n", b"\r"))
            try:
                text = data.decode("utf-8")
            except UnicodeDecodeError:
                text = data.decode("cp1252", errors="replace")
            yield text.removeprefix("\ufeff") if number == 1 else text


class _Writer:
    """Gathers the rows of one edition and writes them in batches."""

    def __init__(
        self, connection: sqlite3.Connection, edition_id: int, book: Book, edition: Edition
    ) -> None:
        self.count = 0
        self._connection, self._edition, self._book = connection, edition_id, book
        self._state = edition.state
        self._begin = day_number(quarter_begin(edition.edition))
        self._compositions: dict[Composition, int] = {}
        self._rows: dict[str, list[tuple[int | str, ...]]] = {name: [] for name in _WIDTHS}
        self._result = BoundaryImport(edition_id)
        self._first = OPEN_END

    def add(self, record: _BoundaryLine, line: int) -> None:
        """Take one record, and the number of its line."""
        self.count += 1
        span = record.begins, record.ends, self._number(record.composition)
        result = self._result
        self._first = min(self._first, record.begins)
        result.ended += record.ends < self._begin
        if isinstance(record, AddressRecord):
            result.records["A"] += 1
            if record.fault:
                result.unsure_records += 1
                if len(result.unsure) < _LISTED:
                    result.unsure.append((line, record.fault))
            street = record.street
            self._rows["boundary_addresses"].append(
                (
                    self._edition,
                    record.zip,
                    street.name,
                    street.pre,
                    street.suffix,
                    street.post,
                    *record[4:12],
                    *span,
                )
            )
        elif isinstance(record, ZipRecord):
            result.records["Z"] += 1
            self._add_zips("Z", record.low, record.high, span)
        else:
            result.records["4"] += 1
            self._add_plus4(record, span)
        if self.count % _BATCH == 0:
            self._flush()

    def finish(self) -> BoundaryImport:
        """Write what is left, and what the records say of each ZIP altogether."""
        self._flush()
        if self.count:
            self._result.first = date.fromisoformat(str(self._first))
        for table in ("boundary_plus4", "boundary_addresses"):
            self._connection.execute(
                "INSERT OR IGNORE INTO boundary_zip_composites"  # noqa: S608 - our own names
                " SELECT DISTINCT edition_id, zip, begins, ends, composite"
                f" FROM {table} WHERE edition_id = ?",
                (self._edition,),
            )
        return self._result

    def _add_zips(self, kind: str, low: int, high: int, span: tuple[int, int, int]) -> None:
        self._rows["boundary_zips"].append((self._edition, kind, low, high, *span))

    def _add_plus4(self, record: Plus4Record, span: tuple[int, int, int]) -> None:
        rows = self._rows["boundary_plus4"]
        if record.zip_low == record.zip_high:
            rows.append((self._edition, record.zip_low, record.low, record.high, *span))
            return
        rows.append((self._edition, record.zip_low, record.low, _LAST_PLUS4, *span))
        rows.append((self._edition, record.zip_high, 0, record.high, *span))
        if record.zip_high - record.zip_low > 1:
            self._add_zips("4", record.zip_low + 1, record.zip_high - 1, span)

    def _flush(self) -> None:
        for name, rows in self._rows.items():
            if rows:
                marks = ", ".join("?" * _WIDTHS[name])
                self._connection.executemany(
                    f"INSERT OR IGNORE INTO {name} VALUES ({marks})",  # noqa: S608 - our own names
                    rows,
                )
                rows.clear()

    def _number(self, composition: Composition) -> int:
        """The number of a composition in the book; a new one is written at once."""
        known = self._compositions.get(composition)
        if known is not None:
            return known
        if len(self._compositions) >= _KNOWN_COMPOSITIONS:
            self._compositions.clear()
        key = (
            self._edition,
            composition.indicator,
            composition.county,
            composition.place,
            " ".join(composition.specials),
        )
        cursor = self._connection.execute(
            "INSERT OR IGNORE INTO boundary_composites"
            " (edition_id, indicator, county, place, specials) VALUES (?, ?, ?, ?, ?)",
            key,
        )
        if cursor.rowcount:
            number = int(cursor.lastrowid or 0)
            self._result.compositions += 1
            self._result.without_rate.update(
                districts_without_rate(self._book, self._state, composition)
            )
        else:
            number = self._connection.execute(
                "SELECT id FROM boundary_composites WHERE edition_id = ? AND indicator = ?"
                " AND county = ? AND place = ? AND specials = ?",
                key,
            ).fetchone()[0]
        self._compositions[composition] = number
        return number


_WIDTHS = {"boundary_zips": 7, "boundary_plus4": 7, "boundary_addresses": 17}
"""Tables and how many columns they have."""
_COLUMNS = 29
"""Columns before the triplets."""
_WIDEST = _COLUMNS + 20 * 3 + 1
"""The most columns a line may have."""
OPEN_END = 99_991_231
"""The last day of a record without an end."""
LAST_HOUSE = 9_999_999_999
"""No house number is above it."""
_OPEN_END = re.compile(r"20991231|2[1-9]\d{6}|[3-9]\d{7}", re.ASCII)
_FIRST_YEAR, _LAST_YEAR = 1900, 2099
_SHOWN = 40
_LAST_PLUS4 = 9999
_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_CODE = re.compile(r"[A-Za-z0-9-]{1,10}", re.ASCII)
_NAMES = {
    1: "record type", 2: "begin", 3: "end", 4: "low address", 5: "high address", 6: "odd/even",
    8: "street", 12: "secondary low", 13: "secondary high", 14: "secondary odd/even", 16: "ZIP",
    18: "ZIP low", 19: "+4 low", 20: "ZIP high", 21: "+4 high", 23: "state FIPS",
    24: "state indicator", 25: "county FIPS", 26: "place FIPS",
}  # fmt: skip


class ZipRecord(NamedTuple):
    """A `Z` record: from ZIP `low` to ZIP `high`, both whole."""

    begins: int
    ends: int
    low: int
    high: int
    composition: Composition


class Plus4Record(NamedTuple):
    """A `4` record: from one ZIP+4 to another, ZIPs between them whole."""

    begins: int
    ends: int
    zip_low: int
    low: int
    zip_high: int
    high: int
    composition: Composition


class AddressRecord(NamedTuple):
    """An `A` record: house numbers of one street in one ZIP, perhaps only some suites.

    `parity` and `unit_parity` are `O`, `E` or `B` (both); the unit fields are empty where the
    record holds whole houses. `parity` is `UNSURE` where the file does not say which houses are
    meant: any of the street may be, and `fault` says what is wrong.
    """

    begins: int
    ends: int
    zip: int
    street: Street
    letters: str
    low: int
    high: int
    parity: str
    unit: str
    unit_low: str
    unit_high: str
    unit_parity: str
    composition: Composition
    fault: str = ""


_BoundaryLine = ZipRecord | Plus4Record | AddressRecord


_ANY_HOUSE = ("|", 0, LAST_HOUSE, UNSURE, "", "", "", "")
"""From `letters` to `unit_parity` of a record that does not say its houses."""


class _FieldError(ValueError):
    """A field of a line: its column, what was given, what was expected."""

    def __init__(self, column: int, given: str, expected: str) -> None:
        super().__init__(column, given, expected)
        self.column, self.given, self.expected = column, given, expected


def _refuse(column: int, given: str, expected: str) -> NoReturn:
    raise _FieldError(column, given, expected)


def read_line(file: str, number: int, fields: Sequence[str], fips: str) -> _BoundaryLine:
    """The record in a line of a boundary file.

    Args:
        file: the file's name, for messages.
        number: the line's number, for messages.
        fields: its columns.
        fips: two digits: the state that every line must be of.

    Raises:
        BrokenLine: a column does not hold what it should; says which, what and what instead.
    """
    try:
        return _read(fields, fips)
    except _FieldError as error:
        raise BrokenLine(file, number, _where(error), error.expected) from None


def _where(error: _FieldError) -> str:
    """The column of a fault and what it holds."""
    given = error.given if len(error.given) <= _SHOWN else f"{error.given[:_SHOWN]}..."
    if not error.column:
        return given
    name = _NAMES.get(error.column, _triplet_name(error.column))
    return f"column {error.column} ({name}) holds {given!r}"


def _triplet_name(column: int) -> str:
    if column <= _COLUMNS:
        return "address"
    part = ("source", "code", "authority type")[(column - _COLUMNS - 1) % 3]
    return f"special district {(column - _COLUMNS - 1) // 3 + 1}, {part}"


def _read(fields: Sequence[str], fips: str) -> _BoundaryLine:
    """One line of the file as a record; the first column with an impossible value is refused."""
    fields = without_blank_end(fields, _WIDEST)
    count = len(fields)
    if not _COLUMNS <= count <= _WIDEST:
        _refuse(0, f"{count} columns", "29 columns and up to 20 groups of three behind them")
    kind = fields[0].strip().upper()
    if kind not in {"Z", "4", "A"}:
        _refuse(1, fields[0], "Z, 4 or A")
    begins, ends = _begin(fields[1]), _end(fields[2])
    if ends < begins:
        _refuse(3, fields[2], f"a day on or after the begin, {fields[1]}")
    if fields[22].strip().zfill(2) != fips:
        _refuse(23, fields[22], f"{fips}, the state of this file")
    composition = _composition(tuple(fields[23:26]), tuple(fields[29 : _WIDEST - 1]), fips)
    if kind == "A":
        return _address(fields, begins, ends, composition)
    zip_low, zip_high = _zip(18, fields[17]), _zip(20, fields[19])
    if zip_high < zip_low:
        _refuse(20, fields[19], f"a ZIP not below the low one, {fields[17]}")
    if kind == "Z":
        return ZipRecord(begins, ends, zip_low, zip_high, composition)
    low, high = _plus4(19, fields[18]), _plus4(21, fields[20])
    if zip_low == zip_high and high < low:
        _refuse(21, fields[20], f"a +4 not below the low one, {fields[18]}")
    return Plus4Record(begins, ends, zip_low, low, zip_high, high, composition)


def _address(
    fields: Sequence[str], begins: int, ends: int, composition: Composition
) -> AddressRecord:
    """An address record; with unclear house numbers it covers any house, and names the fault."""
    name = fields[7].strip()
    if not name:
        _refuse(8, fields[7], "the name of a street")
    street = join_street(fields[6].strip(), name, fields[8].strip(), fields[9].strip())
    if not street.name:
        _refuse(8, fields[7], "the name of a street in Latin letters or digits")
    zip5 = _zip(16, fields[15])
    try:
        houses = _houses(fields, street)
    except _FieldError as error:
        fault = f"{_where(error)}; expected {error.expected}"
        return AddressRecord(begins, ends, zip5, street, *_ANY_HOUSE, composition, fault)
    return AddressRecord(begins, ends, zip5, street, *houses, composition)


def _houses(fields: Sequence[str], street: Street) -> tuple[str, int, int, str, str, str, str, str]:
    """Letters, numbers, parity and units of a record: the fields it may be vague about."""
    low, high = _house(4, fields[3]), _house(5, fields[4])
    if low.letters != high.letters:
        _refuse(5, fields[4], f"a number written as the low one, {fields[3]}")
    if high.number < low.number:
        _refuse(5, fields[4], f"a number not below the low one, {fields[3]}")
    letters = "|" if street.name == PO_BOX else low.letters
    unit_low, unit_high = fields[11].strip().upper(), fields[12].strip().upper()
    if bool(unit_low) != bool(unit_high):
        column = 13 if unit_low else 12
        _refuse(column, fields[column - 1], "both ends of the secondary range, or neither")
    return (
        letters,
        low.number,
        high.number,
        _parity(6, fields[5]),
        unit_kind(fields[10]) if unit_low else "",
        unit_low,
        unit_high,
        _parity(14, fields[13] or "B") if unit_low else "",
    )


@lru_cache(maxsize=4096)
def _begin(text: str) -> int:
    return _day(2, text)


@lru_cache(maxsize=4096)
def _end(text: str) -> int:
    return OPEN_END if _OPEN_END.fullmatch(text.strip()) else _day(3, text)


def _day(column: int, text: str) -> int:
    plain = text.strip()
    if len(plain) == len("YYYYMMDD") and _DIGITS.fullmatch(plain):
        try:
            day = date(int(plain[:4]), int(plain[4:6]), int(plain[6:]))
        except ValueError:
            _refuse(column, text, "a day of the calendar, YYYYMMDD")
        if _FIRST_YEAR <= day.year <= _LAST_YEAR:
            return int(plain)
    _refuse(column, text, f"a day YYYYMMDD of the years {_FIRST_YEAR} to {_LAST_YEAR}")


@lru_cache(maxsize=16_384)
def _zip(column: int, text: str) -> int:
    plain = text.strip()
    # a spreadsheet may have taken the zero that New England's ZIPs begin with
    if len(plain) not in {4, 5} or not _DIGITS.fullmatch(plain):
        _refuse(column, text, "a ZIP of five digits")
    return int(plain)


@lru_cache(maxsize=16_384)
def _plus4(column: int, text: str) -> int:
    plain = text.strip()
    if not 1 <= len(plain) <= len(str(_LAST_PLUS4)) or not _DIGITS.fullmatch(plain):
        _refuse(column, text, "the four digits behind a ZIP")
    return int(plain)


def _house(column: int, text: str) -> House:
    found = house_number(text)
    if found is None:
        _refuse(column, text, "a house number, such as 1201")
    return found


def _parity(column: int, text: str) -> str:
    plain = text.strip().upper()
    if plain not in {"O", "E", "B"}:
        _refuse(column, text, "O (odd), E (even) or B (both)")
    return plain


@lru_cache(maxsize=16_384)
def _composition(parts: tuple[str, ...], triplets: tuple[str, ...], fips: str) -> Composition:
    """The jurisdictions of a record: state, county, place, and each special district once."""
    indicator, county, place = (part.strip() for part in parts)
    if indicator and indicator.zfill(2) != fips:
        _refuse(24, indicator, f"{fips}, the state of this file, or nothing")
    specials = []
    for start in range(0, len(triplets), 3):
        group = (*triplets[start : start + 3], "", "")
        source, code, kind = (part.strip() for part in group[:3])
        if not (source or code or kind):
            continue
        column = _COLUMNS + 1 + start
        # a district whose code or type is missing has no rate: nothing there is exact
        if code and not _CODE.fullmatch(code):
            _refuse(column + 1, code, "the code of a special district, letters and digits")
        if kind and not (_DIGITS.fullmatch(kind) and len(kind) <= 2):  # noqa: PLR2004 - two digits
            _refuse(column + 2, kind, "the type of a taxing authority, two digits such as 63")
        specials.append(f"{kind.zfill(2) if kind else '?'}:{code.upper() or '?'}")
    return Composition(
        indicator and fips,
        _code(25, county, 3),
        _code(26, place, 5),
        tuple(dict.fromkeys(specials)),
    )


def _code(column: int, text: str, length: int) -> str:
    if text and (len(text) > length or not _DIGITS.fullmatch(text)):
        _refuse(column, text, f"{length} digits, or nothing")
    return text.zfill(length) if text else ""
