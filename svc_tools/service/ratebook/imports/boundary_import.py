"""Reading an SST boundary file into the user's own book: as a stream, in one transaction.

Memory does not grow with the file: lines are read one by one, rows go to SQLite in batches, and
compositions are known by a number that SQLite hands out.
"""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.imports.boundary_lines import (
    LOCATION_CODES,
    OPEN_END,
    AddressRecord,
    Composition,
    Plus4Record,
    ZipRecord,
    codes_without_rate,
    day_number,
    read_line,
)
from svc_tools.service.ratebook.imports.common import BrokenLine, FileRefused, quarter_begin
from svc_tools.service.ratebook.imports.database import complete_edition, editions, replacing

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import BinaryIO

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.imports.boundary_lines import BoundaryLine
    from svc_tools.service.ratebook.imports.database import Edition

    Progress = Callable[[int, int, int], object]

_BATCH = 5_000
_KNOWN_COMPOSITIONS = 20_000
_LONGEST_LINE = 100_000
_CACHE_KIB = 65_536
"""Pages of the book that an import may keep in memory: its tables are not filled in order."""

_LAST_PLUS4 = 9999
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
            and how many compositions name each: places there cannot be answered exactly.
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
        progress: told the bytes read, the bytes there are and the records so far.
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
    with replacing(connection, edition) as edition_id:
        writer = _Writer(connection, edition_id, book, edition)
        digest = _stream(path, book.states[edition.state].fips, writer, progress)
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
        complete_edition(connection, edition_id, rows=count, digest=digest)
        connection.execute(
            "UPDATE editions SET covers_from = ? WHERE id = ?",
            (result.first.isoformat(), edition_id),
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


def _stream(path: Path, fips: str, writer: _Writer, progress: Progress | None) -> str:
    """Feed every record of a file to the writer; the file's sha256."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            total = path.stat().st_size
            source = _Lines(file, path.name, digest.update)
            reader = csv.reader(iter(source))
            while (fields := _next(reader, path.name)) is not None:
                if not fields or not any(fields):
                    continue
                source.see_whole(len(fields))
                writer.add(read_line(path.name, reader.line_num, fields, fips), reader.line_num)
                if progress and writer.count % _BATCH == 0:
                    progress(source.done, total, writer.count)
            if progress:
                progress(source.done, total, writer.count)
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
        self.done = 0
        self._file, self._name, self._seen = file, name, seen
        self._number = self._columns = 0
        self._open_end = False

    def see_whole(self, columns: int) -> None:
        """Refuse a last line that is cut off: shorter than the one before, and without an end.

        A record that has lost its last districts would be a rate that is too low.
        """
        if self._open_end and columns < self._columns:
            given = f"it ends after {columns} columns, the line before has {self._columns}"
            raise BrokenLine(self._name, self._number, given, "a whole line: download it again")
        self._columns = columns

    def __iter__(self) -> Iterator[str]:
        while data := self._file.readline(_LONGEST_LINE):
            number = self._number = self._number + 1
            self.done += len(data)
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

    def add(self, record: BoundaryLine, line: int) -> None:
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
                codes_without_rate(self._book, self._state, composition)
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
