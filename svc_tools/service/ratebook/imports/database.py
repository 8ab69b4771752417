"""The SQLite file of the user's own book: its tables, its versions, one writer at a time.

    editions     one row per state and kind (`rates`, `boundary`): which file the rows came from
    tables       the rows of a `rates` edition, as CSV text in the shipped book's own schema
    boundary_*   the rows of `boundary` editions

Readers see the editions as they were when they began, also while an import runs (write-ahead log).
An edition's id is never used again: one that is gone stays gone.

Days of boundary records are whole numbers such as 20260401, `99991231` where a record has no end. A
`4` record that reaches over several ZIPs is stored in up to three rows: its first and its last ZIP
in `boundary_plus4`, the whole ZIPs between them as one row of kind `4` in `boundary_zips`.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from svc_tools.base.operating_system import database_uri, make_private
from svc_tools.service.ratebook.imports.reading import quarter_begin
from svc_tools.service.ratebook.own import OwnBookError

if TYPE_CHECKING:
    from collections.abc import Iterator

_SCHEMA_VERSION = 1
_BUSY_SECONDS = 5.0
"""How long a transaction waits for another process."""

_EDITION_DDL = (
    """CREATE TABLE editions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        state TEXT NOT NULL,
        kind TEXT NOT NULL CHECK (kind IN ('rates', 'boundary')),
        file TEXT NOT NULL,
        edition TEXT NOT NULL,
        covers_from TEXT NOT NULL,
        covers_until TEXT NOT NULL,
        digest TEXT NOT NULL,
        loaded_at TEXT NOT NULL,
        rows INTEGER NOT NULL,
        UNIQUE (state, kind)
    )""",
    """CREATE TABLE tables (
        edition_id INTEGER NOT NULL REFERENCES editions (id) ON DELETE CASCADE,
        name TEXT NOT NULL,
        csv TEXT NOT NULL,
        PRIMARY KEY (edition_id, name)
    ) WITHOUT ROWID""",
)

ImportKind = Literal["rates", "boundary"]


@dataclass(frozen=True, slots=True)
class Edition:
    """One imported file.

    Attributes:
        state: two-letter code.
        kind: `rates` or `boundary`.
        file: the file's name, without its folder.
        edition: the quarter it was published for, such as `2026Q2`.
        covers_from: the first day of that quarter.
        covers_until: the last day its figures are good for.
        digest: sha256 of the file in hex.
        loaded_at: the day it was imported.
        rows: how many of its rows were taken over.
        id: its number in the book; 0 before it is written.
    """

    state: str
    kind: ImportKind
    file: str
    edition: str
    covers_from: date
    covers_until: date
    digest: str
    loaded_at: date
    rows: int = 0
    id: int = 0


_FIELDS = tuple(field.name for field in fields(Edition))
_DATES = frozenset(("covers_from", "covers_until", "loaded_at"))


@contextmanager
def failures_named(path: Path) -> Iterator[None]:
    """Failures of SQLite become an `OwnBookError` that names the file and what to do."""
    try:
        yield
    except sqlite3.Error as error:
        kind = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if kind in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
            raise OwnBookError(
                f"Your own book {path} is being written by another process; wait for its import"
                " to end and try again"
            ) from error
        if kind in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            raise OwnBookError(
                f"Your own book {path} is damaged ({error}); move the file away and import your"
                " rate files again"
            ) from error
        raise OwnBookError(f"Your own book {path} cannot be used: {error}") from error


def open_own_book(path: Path, *, write: bool = False) -> sqlite3.Connection:
    """Open the own book; the caller closes the connection.

    Args:
        path: the file.
        write: create a missing file (mode 0600, in a private folder) and allow
            changes; otherwise the connection only reads.

    Returns:
        A connection in autocommit mode: transactions are begun by name.

    Raises:
        FileNotFoundError: reading, and there is no book, or one that was never filled.
        OwnBookError: the file is damaged, of another program or of a newer version, or cannot
            be made.
    """
    if write:
        _make(path)
    elif not path.is_file():
        raise FileNotFoundError(f"There is no own book at {path}")
    with failures_named(path):
        # a reader too opens the file for writing: it may have to finish what a crash left behind
        connection = sqlite3.connect(
            f"{database_uri(path.absolute())}?mode=rw",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            _prepare(connection, path, write=write)
            connection.execute(f"PRAGMA query_only = {'OFF' if write else 'ON'}")
        except BaseException:
            connection.close()
            raise
    return connection


def _make(path: Path) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            # not opened where it exists: closing a descriptor would drop this process's locks
            os.close(os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        make_private(path)
    except OSError as error:
        raise OwnBookError(
            f"Your own book {path} cannot be made or opened: {error.strerror or error}"
        ) from error


def _prepare(connection: sqlite3.Connection, path: Path, *, write: bool) -> None:
    """Check the version of an own book; with `write`, an empty one gets its tables.

    Raises:
        FileNotFoundError: it is empty, and only to be read.
        OwnBookError: it is of another release, or of another program.
    """
    version = _version(connection)
    if not version and write:
        with _begun(connection):
            version = _version(connection)  # another process may have been first
            if not version and not _tables(connection):
                for statement in (*_EDITION_DDL, *_BOUNDARY_DDL):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")
                version = _SCHEMA_VERSION
        connection.execute("PRAGMA journal_mode = WAL")
    if not version and not _tables(connection):
        raise FileNotFoundError(f"The own book at {path} was never filled")
    if version != _SCHEMA_VERSION:
        what = f"has schema version {version}" if version else "is a database of another program"
        raise OwnBookError(
            f"{path} {what}; this release reads its own books of version {_SCHEMA_VERSION}."
            " Move the file away and import your rate files again"
        )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _tables(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    return [name for (name,) in found]


def editions(connection: sqlite3.Connection) -> list[Edition]:
    """Every edition in the book, by state and kind."""
    rows = connection.execute(f"SELECT {', '.join(_FIELDS)} FROM editions ORDER BY state, kind")  # noqa: S608 - our own names
    found: list[Edition] = []
    for row in rows:
        values: dict[str, Any] = dict(zip(_FIELDS, row, strict=True))
        values |= {name: date.fromisoformat(values[name]) for name in _DATES}
        found.append(Edition(**values))
    return found


@contextmanager
def replacing(
    connection: sqlite3.Connection, edition: Edition, *, instead_of: int | None = None
) -> Iterator[int]:
    """One transaction that puts an edition in the place of the state's older one of its kind.

    The rows of the old edition are deleted with it (`ON DELETE CASCADE`). Whatever is raised
    inside, an interrupt too, leaves the old edition as it was.

    Args:
        connection: the own book, open for writing.
        edition: the new edition.
        instead_of: the id of the one it was made to replace, 0 for none; `None`: whichever is
            there.

    Yields:
        The id of the new edition, for the rows that belong to it.

    Raises:
        OwnBookError: another process is writing, or has replaced that edition meanwhile, or the
            disk is full.
    """
    with _transaction(connection):
        here = [(present.state, present.kind, present.id) for present in editions(connection)]
        now = next((key for *of, key in here if of == [edition.state, edition.kind]), 0)
        if instead_of not in {None, now}:
            raise OwnBookError(
                f"Another import has changed the {edition.kind} of {edition.state} meanwhile:"
                f" import {edition.file} again"
            )
        _delete(connection, edition.state, edition.kind)
        given = {name: value for name, value in asdict(edition).items() if name != "id"}
        values = [v.isoformat() if isinstance(v, date) else v for v in given.values()]
        marks = ", ".join("?" * len(values))
        cursor = connection.execute(
            f"INSERT INTO editions ({', '.join(given)}) VALUES ({marks})",  # noqa: S608 - our own names
            values,
        )
        yield int(cursor.lastrowid or 0)


def list_editions(path: Path) -> list[Edition]:
    """The editions of the book at a path; none where there is no book.

    Raises:
        OwnBookError: it is damaged, of another program or of another version.
    """
    try:
        connection = open_own_book(path)
    except FileNotFoundError:
        return []
    with closing(connection), failures_named(path):
        return editions(connection)


def remove_editions(path: Path, state: str, kind: str | None = None) -> list[Edition]:
    """Take a state's editions out of the book at a path; those that were taken out.

    Args:
        path: the file.
        state: two-letter code.
        kind: `rates`, `boundary`, or `None` for both.

    Raises:
        OwnBookError: the book cannot be read or written.
        ValueError: another kind was named, or boundaries would be left without their rates.
    """
    if kind not in {None, *get_args(ImportKind)}:
        raise ValueError(f"kind: given {kind!r}, expected {' or '.join(get_args(ImportKind))}")
    if not list_editions(path):
        return []
    with closing(open_own_book(path, write=True)) as connection, _transaction(connection):
        here = [edition for edition in editions(connection) if edition.state == state]
        gone = [edition for edition in here if kind in {None, edition.kind}]
        if kind == "rates" and len(gone) < len(here):
            raise ValueError(
                f"The boundaries of {state} need its rates: remove both, without naming a kind"
            )
        for edition in gone:
            _delete(connection, edition.state, edition.kind)
    return gone


def _delete(connection: sqlite3.Connection, state: str, kind: ImportKind) -> None:
    connection.execute("DELETE FROM editions WHERE state = ? AND kind = ?", (state, kind))


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    path = Path(connection.execute("PRAGMA database_list").fetchone()[2])
    with failures_named(path), _begun(connection):
        yield
    # SQLite writes its log before readers see what is in it: who looked at both in between would
    # notice nothing further
    with suppress(OSError):
        os.utime(path)


@contextmanager
def _begun(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite itself may have rolled back, on a full disk for one
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def day_number(day: date) -> int:
    """A day as records keep it: 20260401."""
    return day.year * 10_000 + day.month * 100 + day.day


def ordinal(number: int) -> int:
    """The day that records keep as a number, as `date.toordinal` counts it."""
    return date(number // 10_000, number // 100 % 100, number % 100).toordinal()


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


_EDITION = "edition_id INTEGER NOT NULL REFERENCES editions (id) ON DELETE CASCADE"
_SPAN = "begins INTEGER NOT NULL, ends INTEGER NOT NULL, composite INTEGER NOT NULL"
_BOUNDARY_DDL: tuple[str, ...] = (
    f"""CREATE TABLE boundary_composites (
        id INTEGER PRIMARY KEY,
        {_EDITION},
        indicator TEXT NOT NULL,
        county TEXT NOT NULL,
        place TEXT NOT NULL,
        specials TEXT NOT NULL,
        UNIQUE (edition_id, indicator, county, place, specials)
    )""",
    f"""CREATE TABLE boundary_zips (
        {_EDITION},
        kind TEXT NOT NULL CHECK (kind IN ('Z', '4')),
        low INTEGER NOT NULL,
        high INTEGER NOT NULL,
        {_SPAN},
        PRIMARY KEY (edition_id, low, high, kind, begins, ends, composite)
    ) WITHOUT ROWID""",
    f"""CREATE TABLE boundary_plus4 (
        {_EDITION},
        zip INTEGER NOT NULL,
        low INTEGER NOT NULL,
        high INTEGER NOT NULL,
        {_SPAN},
        PRIMARY KEY (edition_id, zip, low, high, begins, ends, composite)
    ) WITHOUT ROWID""",
    f"""CREATE TABLE boundary_addresses (
        {_EDITION},
        zip INTEGER NOT NULL,
        street TEXT NOT NULL,
        pre TEXT NOT NULL,
        suffix TEXT NOT NULL,
        post TEXT NOT NULL,
        letters TEXT NOT NULL,
        low INTEGER NOT NULL,
        high INTEGER NOT NULL,
        parity TEXT NOT NULL,
        unit TEXT NOT NULL,
        unit_low TEXT NOT NULL,
        unit_high TEXT NOT NULL,
        unit_parity TEXT NOT NULL,
        {_SPAN},
        PRIMARY KEY (edition_id, zip, street, low, high, pre, suffix, post, letters, parity,
            unit, unit_low, unit_high, unit_parity, begins, ends, composite)
    ) WITHOUT ROWID""",
    # what `4` and `A` records say of a ZIP altogether
    f"""CREATE TABLE boundary_zip_composites (
        {_EDITION},
        zip INTEGER NOT NULL,
        {_SPAN},
        PRIMARY KEY (edition_id, zip, composite, begins, ends)
    ) WITHOUT ROWID""",
)
"""Statements that make the tables, executed once where a book is made."""
