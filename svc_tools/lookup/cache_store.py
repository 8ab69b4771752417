"""The SQLite file of the cache: its rows, and what happens to a file that cannot be used.

What many results share (the publisher, the edition, the dates, the warnings) is one *profile*; the
body of a result names it by number and holds the rest. Both are JSON. Every row carries a checksum
over everything that it depends on, because SQLite itself does not notice a changed byte.

Results were paid for, so they stay through every release. A further field of `Found` stands behind
the others in bodies and profiles, and no schema number changes: what a row lacks is missing, and
what a row of a newer release has more is ignored. Other tables are a further step in `_STEPS`,
which an older file takes when it is opened.

The file is private to its user. One that is damaged is set aside and a new one made; one of a newer
release or of another program is left as it is. Processes that find the same damage agree by a lock,
which each holds while it opens, makes or moves the file.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
import zlib
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from itertools import count, repeat
from json.encoder import encode_basestring_ascii
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from svc_tools.base.operating_system import (
    can_lock_open_files,
    database_uri,
    is_on_network,
    lock,
    make_private,
    unlock,
)
from svc_tools.lookup.columns import SHARED
from svc_tools.lookup.outcomes import FIRST_FIELDS, FOUND_FIELDS, Component, Found, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from svc_tools.tables.places import Place
    from svc_tools.tables.statuses import StatusText

_BUSY_SECONDS = 10.0
"""How long to wait for another process that writes."""
_APPLICATION = 0x53564341
"""The application id in the header of a cache file ("SVCA")."""
_FIRST = """
CREATE TABLE source (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    service TEXT NOT NULL,
    account TEXT NOT NULL,
    told INTEGER NOT NULL DEFAULT 0,
    quota INTEGER,
    quota_told INTEGER,
    UNIQUE (service, account)
);
CREATE TABLE profile (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    text TEXT NOT NULL UNIQUE,
    sum INTEGER NOT NULL
);
CREATE TABLE answer (
    source INTEGER NOT NULL REFERENCES source,
    place TEXT NOT NULL,
    detail INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    body BLOB NOT NULL,
    sum INTEGER NOT NULL,
    PRIMARY KEY (source, place)
) WITHOUT ROWID;
CREATE TABLE upkeep (cleaned INTEGER NOT NULL);
INSERT INTO upkeep VALUES (0);
"""
_STEPS = (_FIRST,)
"""What makes each schema from the one before, which it only adds to; a new file takes every step.

A step that a release has taken never changes.
"""
_COLUMNS: tuple[tuple[str, str], ...] = (
    ("source", "id, service, account, told, quota, quota_told"),
    ("profile", "id, text, sum"),
    ("answer", "source, place, detail, expires, body, sum"),
    ("upkeep", "cleaned"),
)
# our statements break no constraint, and have values of the right type and size
_DAMAGE = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_TOOBIG,
    sqlite3.SQLITE_IOERR_SHORT_READ,
}
_NAMES = {".db", ".sqlite", ".sqlite3"}
COMPANIONS = ("-wal", "-shm", "-journal")
"""The endings of SQLite's companion files."""

NO_PROFILE = 0
"""The profile of a result without a rate."""
_SHARED = tuple(name for name in FOUND_FIELDS if name in SHARED)
"""The fields that a profile has, behind the status and the error."""
_OWN = tuple(
    name for name in FIRST_FIELDS if name not in {*SHARED, "accepted_places", "components"}
)
"""The fields that every body has, behind the number of its profile and the moment."""
_MORE: list[list[object] | None] = [[], [], None, None]
"""What stands behind them: the places, the parts, the reference and the code, here missing."""
_LATER = tuple(name for name in FOUND_FIELDS[len(FIRST_FIELDS) :] if name not in SHARED)
"""The fields behind those."""
_NOTHING_LAST = (None,) * (2 + len(_LATER))
"""What most bodies have of the reference, the code and these."""
_PLAIN = 2 + len(_OWN)
"""How many values a body has, unless it has more."""
_WHOLE = _PLAIN + len(_MORE)
_NOTHING = (None,) * (_PLAIN - 3)
"""What a result lacks behind its combined rate, if anything."""
_NO_PROFILE = (None, None, *(() if name == "warnings" else None for name in _SHARED))
_NO_PART = (None,) * len(fields(Component))
_TIMELESS = tuple(field.name for field in fields(Outcome) if field.name != "looked_up_at")
"""The fields of a result that it may share with those of other days."""
_own_values = attrgetter(*_OWN)
_shared_values = attrgetter(*_SHARED)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_write = json.JSONEncoder(separators=(",", ":")).encode


def place_key(place: Place) -> str:
    """The key of a place in the cache: equal queries have equal keys, different ones never.

    It is ASCII without control characters. Text is quoted as in JSON, so that no field can pass
    for another; coordinates have all their digits. A query without a date has none in its key:
    its result is valid for the day of the query, and expires at that day's end.
    """
    day = "-" if place.as_of is None else _day(place.as_of)
    code = place.zip
    if (
        place.mode == "zip"
        and code is not None
        and code.isascii()
        and code.replace("-", "").isalnum()
        and place.state.isascii()
        and place.state.isalnum()
        and place.address is None
        and place.city is None
        and place.location is None
        and place.lat is None
        and place.lng is None
        and place.position is None
    ):
        # most queries are of this form: three times faster
        return f"zip {place.state} {code} {day}"
    fields = (place.state, place.address, place.city, code, place.location)
    text = " ".join(["-" if value is None else encode_basestring_ascii(value) for value in fields])
    key = f"{place.mode} {text} {_degrees(place.lat)} {_degrees(place.lng)} {day}"
    return key if place.position is None else f"{key} {_position(*place.position)}"


def _position(lat: float, lng: float, *words: str) -> str:
    return " ".join([_degrees(lat), _degrees(lng), *map(encode_basestring_ascii, words)])


def _degrees(value: float | None) -> str:
    # equal numbers are written alike: 30 as 30.0, and -0.0 as 0.0
    return "-" if value is None else repr(float(value) + 0.0)


def _day(as_of: date) -> str:
    # a request has the calendar date of a moment
    return (as_of.date() if isinstance(as_of, datetime) else as_of).isoformat()


class DamageError(Exception):
    """The file, or a row in it, is not what was written."""


_FAULTS = (sqlite3.Error, DamageError, UnicodeDecodeError)
"""What a file raises; the last where a message of SQLite quotes bytes that are no text."""


class Profile(NamedTuple):
    """What many results have in common; the facts are those of `_SHARED`, in its order."""

    status: StatusText
    error: str | None
    facts: tuple[bool | str | tuple[str, ...] | None, ...]


def profile_of(outcome: Outcome) -> Profile | None:
    """The shared part of a result; `None` where it has no rate."""
    found = outcome.found
    return None if found is None else Profile(outcome.status, outcome.error, _shared_values(found))


def write_profile(profile: Profile) -> str:
    """A profile as text."""
    return _write([profile.status, profile.error, *profile.facts])


def read_profile(text: str) -> Profile:
    """A profile from its text."""
    status, error, *facts = _whole(json.loads(text), _NO_PROFILE)
    return Profile(
        status, error, tuple(tuple(fact) if isinstance(fact, list) else fact for fact in facts)
    )


def _whole(values: Sequence[Any], missing: Sequence[Any]) -> list[Any]:
    """Values as today's release writes them: an older one wrote fewer, a newer one may more."""
    return [*values, *missing[len(values) :]][: len(missing)]


def row_of(outcome: Outcome, profile: int, responded_at: datetime) -> list[object]:
    """The values of a body: the part of a result that is not shared with others."""
    at = (responded_at - _EPOCH) // _MICROSECOND
    found = outcome.found
    last: tuple[object, ...] = (outcome.support_reference, outcome.error_code)
    if found is None:
        return [NO_PROFILE, at, outcome.status, outcome.error, *last]
    row: list[object] = [profile, at, *_own_values(found)]
    if _LATER:
        last += tuple(getattr(found, name) for name in _LATER)
    if found.accepted_places or found.components or last != _NOTHING_LAST:
        parts = [
            (component.level, component.name, component.code, component.units)
            for component in found.components
        ]
        row += [found.accepted_places, parts, *last]
    return row


def bodies_of(rows: Sequence[list[object]]) -> list[bytes]:
    """The bodies of results. Encoded in one go where that can be split: twice as fast."""
    bodies = _write(rows).encode()[2:-2].split(b"],[")
    if len(bodies) == len(rows):
        return [b"[%b]" % body for body in bodies]
    return [_write(row).encode() for row in rows]  # it holds a list or such a text


def checksum(source: int, detail: int, expires: int, key: str, body: bytes) -> int:
    """The checksum of a row: of all that decides for what it is served, until when, and as what."""
    start = (source * 0x9E3779B1 + expires * 2 + detail) & 0xFFFFFFFF
    return zlib.crc32(body, zlib.crc32(key.encode(), start))


def text_checksum(number: int, text: str) -> int:
    """The checksum of a profile under its number."""
    return zlib.crc32(text.encode(), number & 0xFFFFFFFF)


def outcomes_of(bodies: Sequence[bytes], profiles: Mapping[int, Profile]) -> list[Outcome]:
    """The outcomes of bodies; `cached` is set.

    A place mostly has the same result on many days: but for its moment, it is read once.

    Raises:
        DamageError: a body names a profile that is not there, or cannot be read.
    """
    if not bodies:
        return []
    try:
        numbers, moments, rests = zip(*[body.split(b",", 2) for body in bodies], strict=True)
        parts = list(zip(numbers, rests, strict=True))
        distinct = list(dict.fromkeys(parts))
        outcomes = _read(b",".join([b"%b,0,%b" % body for body in distinct]), profiles)
        if len(distinct) < len(parts):
            one_each = dict(zip(distinct, outcomes, strict=True))
            same = list(map(one_each.__getitem__, parts))
            outcomes = list(map(object.__new__, repeat(Outcome, len(parts))))
            _set(Outcome, outcomes, [(name, map(attrgetter(name), same)) for name in _TIMELESS])
        _set(Outcome, outcomes, [("looked_up_at", _moments(map(int, moments)))])
    except (ValueError, TypeError, LookupError) as error:
        raise DamageError(f"a result cannot be read ({error!r})") from error
    return outcomes


def _read(bodies: bytes, profiles: Mapping[int, Profile]) -> list[Outcome]:
    """The outcomes of bodies with commas between them; `looked_up_at` is to be set."""
    rows = json.loads(b"[%b]" % bodies)
    rated = iter(_with_rates([row for row in rows if row[0] != NO_PROFILE], profiles))
    return [_without_rate(row) if row[0] == NO_PROFILE else next(rated) for row in rows]


def _without_rate(row: Sequence[Any]) -> Outcome:
    _, _, status, *more = row
    error, reference, code = _whole(more, (None,) * 3)
    return Outcome(status, error, None, reference, code, cached=True)


def _moments(microseconds: Iterable[int]) -> Iterator[datetime]:
    """The moments so many microseconds after the epoch, without a Python call for each."""
    zeros = repeat(0)
    return map(_EPOCH.__add__, map(timedelta, zeros, zeros, microseconds))


def _with_rates(rows: Sequence[Sequence[Any]], profiles: Mapping[int, Profile]) -> list[Outcome]:
    """Outcomes made column by column: three times as fast as the constructors of frozen classes."""
    if not rows:
        return []
    if min(map(len, rows)) < _PLAIN:  # of an older release
        rows = [[*row[:3], *_whole(row[3:], _NOTHING), *row[_PLAIN:]] for row in rows]
    # as many columns as every result has; a full one has more
    numbers, _, *own = list(zip(*rows, strict=False))[:_PLAIN]
    for at in range(_WHOLE, _WHOLE + len(_LATER)):
        own.append(tuple(row[at] if len(row) > at else None for row in rows))
    statuses, errors, facts = zip(*map(profiles.__getitem__, numbers), strict=True)
    found = list(map(object.__new__, repeat(Found, len(rows))))
    missing, nothing = repeat(None), repeat(())
    _set(Found, found, zip((*_OWN, *_LATER), own, strict=True))
    _set(Found, found, zip(_SHARED, zip(*facts, strict=True), strict=True))
    _set(Found, found, [("accepted_places", nothing), ("components", nothing)])
    outcomes = list(map(object.__new__, repeat(Outcome, len(rows))))
    _set(Outcome, outcomes, [("status", statuses), ("error", errors), ("found", found)])
    _set(Outcome, outcomes, [("support_reference", missing), ("error_code", missing)])
    _set(Outcome, outcomes, [("cached", repeat(object=True))])
    for index, row in enumerate(rows):
        if len(row) > _PLAIN:
            places, parts, reference, code = _whole(row[_PLAIN:_WHOLE], _MORE)
            components = tuple(Component(*_whole(part, _NO_PART)) for part in parts)
            single, whole = [found[index]], [outcomes[index]]
            _set(
                Found, single, [("accepted_places", [tuple(places)]), ("components", [components])]
            )
            _set(Outcome, whole, [("support_reference", [reference]), ("error_code", [code])])
    return outcomes


def _set(
    kind: type, objects: Iterable[object], columns: Iterable[tuple[str, Iterable[object]]]
) -> None:
    """Set attributes of new objects, bypassing the guard of a frozen class."""
    for name, values in columns:
        deque(map(vars(kind)[name].__set__, objects, values), maxlen=0)


class NotUsableError(Exception):
    """The file cannot be used, and is left as it is; the message gives the reason."""


class FileKind(NamedTuple):
    """What a file holds, and how it is made.

    Attributes:
        name: what it is, for notes.
        application: the application id in its header.
        steps: what makes each schema from the one before; see `_STEPS`.
        columns: the tables and their columns, by which a damaged file is told.
        numbered: the tables whose numbers begin at random.
    """

    name: str
    application: int
    steps: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    numbered: tuple[str, ...] = ()


RESULT_FILE = FileKind("cache", _APPLICATION, _STEPS, _COLUMNS, ("source", "profile"))


class CacheFile:
    """One connection to the file at a path. Not for two threads at once: the caller has a lock.

    Args:
        path: the file; it is made with its folder where it is missing.
        notes: takes sentences for the user; a new list where left out.
        kind: what it holds; results where left out.

    Raises:
        NotUsableError: of a newer release or another program, or not accessible.
        sqlite3.Error: busy, or not accessible in another way.
    """

    def __init__(
        self, path: Path, notes: list[str] | None = None, kind: FileKind | None = None
    ) -> None:
        """Open the file; one that is damaged is moved aside, and an empty one takes its place."""
        self.path = path
        self._kind = kind or RESULT_FILE
        self.notes: list[str] = [] if notes is None else notes
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _alone(path):
                try:
                    self._open()
                except _FAULTS as error:
                    if not (_is_damage(error) or _kind(error) == sqlite3.SQLITE_ERROR):
                        raise
                    self._move(f"is damaged ({error})")
                    self._open()
        except OSError as error:
            raise NotUsableError(error.strerror or str(error)) from error
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        """Connect to the file, and create it where it is missing.

        Raises:
            NotUsableError: it is a folder.
            DamageError: it is empty, and its write-ahead log is not.
        """
        if self.path.is_dir():
            raise NotUsableError("it is a folder; name a file in it")
        made = _make(self.path)
        if not made and _is_emptied(self.path):
            raise DamageError("it is empty, and its write-ahead log is not")
        self.connection = sqlite3.connect(
            f"{database_uri(self.path)}?mode=rw",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        mode = "delete" if is_on_network(self.path) else "wal"
        _prepare(self.connection, self._kind, mode=mode)
        if not made:
            make_private(self.path)
        self._identity = _identity(self.path)

    @property
    def is_there(self) -> bool:
        """Whether the file at the path is still the one that was opened.

        The number of an open file is not used for another one.
        """
        return self._identity == _identity(self.path)

    def is_damaged_by(self, error: BaseException) -> bool:
        """Whether an error says that the file is damaged, not that it is busy or out of reach."""
        if _kind(error) != sqlite3.SQLITE_ERROR:
            return _is_damage(error)
        try:  # a table or column that is gone, or a fault of the statement
            _check_tables(self.connection, self._kind)
        except _FAULTS as found:
            return _is_damage(found) or _kind(found) == sqlite3.SQLITE_ERROR
        return False

    def changes(self) -> int:
        """A number that changes whenever another connection has changed the file."""
        number: int = self.connection.execute("PRAGMA data_version").fetchone()[0]
        return number

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """A transaction; one that writes has the write lock from its beginning."""
        if self.connection.in_transaction:  # a Ctrl+C came between BEGIN and the block
            self.connection.execute("ROLLBACK")
        try:
            self.connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            yield self.connection
            self.connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # a full disk ends the transaction by itself
                self.connection.execute("ROLLBACK")
            raise

    def set_aside(self, why: str) -> None:
        """Move the file to a name that says what it is, unless another process did so already.

        Raises:
            NotUsableError: it is not named like a cache, or cannot be moved.
        """
        try:
            with _alone(self.path):
                if self.is_there:
                    self._move(why)
        except OSError as error:
            raise NotUsableError(f"it {why}, and cannot be moved: {error.strerror}") from error
        finally:
            self.close()

    def _move(self, why: str) -> None:
        """Move the file and its companions; the caller has the lock."""
        if not can_lock_open_files():  # Windows: an open file cannot be moved
            self.close()
        if self.path.suffix.lower() not in _NAMES:
            raise NotUsableError(f"it {why}, and its name is not that of a cache; choose another")
        stem = f"{self.path.stem}.damaged-{datetime.now().astimezone():%Y%m%d-%H%M%S}"
        names = (f"{stem}-{number}" if number > 1 else stem for number in count(1))
        targets = (self.path.with_name(name + self.path.suffix) for name in names)
        target = next(filter(_is_free, targets))
        for ending in ("", *COMPANIONS):
            with suppress(FileNotFoundError):
                Path(f"{self.path}{ending}").rename(f"{target}{ending}")
        # only now: closed in its place, its log would be written into it and removed
        self.close()
        self.notes.append(
            f"the {self._kind.name} {self.path} {why}; it was set aside as {target.name}, and a new"
            " one was created"
        )

    def close(self) -> None:
        """Close the connection; closing twice is fine."""
        connection = getattr(self, "connection", None)
        if connection is not None:
            connection.close()


def _kind(error: BaseException) -> int | None:
    """The result code of SQLite without its details; `None` where SQLite did not fail."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _is_damage(error: BaseException) -> bool:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return not _DAMAGE.isdisjoint({code, code & 0xFF})
    # without a code: no database, or a text that is no UTF-8
    text = type(error) in {sqlite3.DatabaseError, sqlite3.OperationalError}
    return text or isinstance(error, DamageError | UnicodeDecodeError)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Hold the lock of a file: one process at a time opens it, makes it or sets it aside.

    Where the folder cannot be written there is no lock, and nothing can be set aside either.

    Raises:
        NotUsableError: another process holds it for too long.
    """
    if not can_lock_open_files():  # Windows, which moves no file that is open
        yield
        return
    name = path.with_name(f".{path.name}.lock")
    until = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        except OSError:
            yield
            return
        try:
            lock(handle, wait=False)
            held = os.fstat(handle)
            if _identity(name) == (held.st_dev, held.st_ino):
                break
            os.close(handle)  # the one before removed it
        except OSError as error:
            os.close(handle)
            if not isinstance(error, BlockingIOError):  # a disk without locks
                yield
                return
            if time.monotonic() > until:
                raise NotUsableError("another process has been opening it for too long") from None
            time.sleep(0.005)
    try:
        yield
    finally:
        with suppress(OSError):
            name.unlink()
        unlock(handle)
        os.close(handle)


def _is_free(target: Path) -> bool:
    """Whether no file has a name, nor the name of a companion of it."""
    return not any(os.path.lexists(f"{target}{ending}") for ending in ("", *COMPANIONS))


def _is_emptied(path: Path) -> bool:
    """Whether a file has lost all that its log was written for; SQLite would drop the log."""
    log = Path(f"{path}-wal")
    return path.stat().st_size == 0 and log.exists() and log.stat().st_size > 0


def _make(path: Path) -> bool:
    """Create an empty file where it is missing, readable by its owner only."""
    try:
        # Only a new file is opened: closing a descriptor of a database that another connection
        # of this process uses would drop that connection's locks.
        made = os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    os.close(made)
    make_private(path)
    return True


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _prepare(connection: sqlite3.Connection, kind: FileKind, *, mode: str) -> None:
    """Check the program and release of the file, make the tables that it lacks, set its journal.

    Raises:
        NotUsableError: it is another program's, or of a newer release.
        DamageError: a part of it is missing.
    """
    application, schema, tables = _stamp(connection)
    if _steps_for(kind, application, schema, tables):
        application, schema = _make_tables(connection, kind)
    if application != kind.application:
        with suppress(sqlite3.OperationalError):
            _check_tables(connection, kind)
            raise DamageError("its header was changed by something else")
        raise NotUsableError("it is another program's database; name another path in SVC_CACHE")
    if schema > len(kind.steps):
        raise NotUsableError(
            f"it is of a newer release (its schema is {schema}, this release knows"
            f" {len(kind.steps)})"
        )
    _check_tables(connection, kind)
    # The journal mode is a property of the file, and stays: a write-ahead log lets readers go on
    # during a write. Where the file is in use, or its disk cannot, all works without.
    with suppress(sqlite3.OperationalError):
        connection.execute(f"PRAGMA journal_mode = {mode}").fetchall()
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    # A commit that has returned survives a power cut. With a write-ahead log FULL is enough for
    # that; a rollback journal needs its folder synced too.
    connection.execute(f"PRAGMA synchronous = {'FULL' if mode == 'wal' else 'EXTRA'}")
    connection.execute("PRAGMA trusted_schema = OFF")


def _stamp(connection: sqlite3.Connection) -> tuple[int, int, int]:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (schema,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return application, schema, tables


def _check_tables(connection: sqlite3.Connection, kind: FileKind) -> None:
    """Check that the tables have our columns; an `OperationalError` where not."""
    for table, columns in kind.columns:
        connection.execute(f"SELECT {columns} FROM {table} LIMIT 0")  # noqa: S608 - our own names


def _steps_for(kind: FileKind, application: int, schema: int, tables: int) -> tuple[str, ...]:
    """The steps that a file lacks: all of them where it is new, none where it is another's."""
    if not (application or schema or tables):
        return kind.steps
    return kind.steps[max(schema, 1) :] if application == kind.application else ()


def _make_tables(connection: sqlite3.Connection, kind: FileKind) -> tuple[int, int]:
    """Create the tables, or bring those of an earlier release up to date, in one transaction.

    Returns:
        The application and the schema of the file as it is then.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        application, schema, tables = _stamp(connection)  # another process may have been faster
        steps = _steps_for(kind, application, schema, tables)
        for statement in (text for step in steps for text in step.strip().split(";\n")):
            connection.execute(statement)
        if steps and not tables:
            # numbers of this file alone: a page of another cache fits nothing in it
            for table in kind.numbered:
                values = (table, secrets.randbelow(2**31))
                connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", values)
            connection.execute(f"PRAGMA application_id = {kind.application}")
        if steps:
            connection.execute(f"PRAGMA user_version = {len(kind.steps)}")
            application, schema = kind.application, len(kind.steps)
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    return application, schema
