"""The SQLite file of the cache: results read and written in bulk, and those read before.

The file is private to its user. One that is damaged, or of an older release, is set aside and a
new one made; one of a newer release or of another program is left as it is.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import threading
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from svc_tools.lookup.cache_rows import (
    NO_PROFILE,
    DamageError,
    LocalDays,
    Profile,
    bodies_of,
    checksum,
    keeps_until,
    outcomes_of,
    place_key,
    profile_of,
    read_profile,
    row_of,
    text_checksum,
    write_profile,
)
from svc_tools.lookup.outcomes import all_stay

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from svc_tools.config import Source
    from svc_tools.lookup.outcomes import Outcome
    from svc_tools.places import Place

    _Entry = tuple[Place, Outcome, Profile | None, datetime, int]

BUSY_SECONDS = 10.0
"""How long to wait for another process that writes."""
APPLICATION = 0x53564341
"""The application id in the header of a cache file ("SVCA")."""
SCHEMA = 1
_TABLES = """
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
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NAMES = {".db", ".sqlite", ".sqlite3"}
_NETWORK = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "lustre", "glusterfs", "fuse.sshfs")
COMPANIONS = ("-wal", "-shm", "-journal")
"""The endings of SQLite's companion files."""
_OCTAL = re.compile(r"\\([0-7]{3})")
"""How a list of mounts writes a blank."""

_AT_ONCE = 20_000
"""How many keys are in one query."""
_DAY = 86_400
_OUTDATED = 30 * _DAY
"""After how long without a new result the embedded service's former rate books are removed."""
_FIND = """
SELECT asked.key, answer.detail, answer.expires, answer.body, answer.sum
FROM json_each(?) AS asked CROSS JOIN answer
ON answer.source = ? AND answer.place = asked.value
WHERE answer.expires > ? AND answer.detail >= ?
"""
# a full result serves simple queries too, so a simple one replaces it only once it has expired
_KEEP = """
INSERT INTO answer (source, place, detail, expires, body, sum) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (source, place) DO UPDATE SET
    detail = excluded.detail, expires = excluded.expires, body = excluded.body, sum = excluded.sum
WHERE excluded.detail >= answer.detail OR answer.expires <= ?
"""
_MOST = 100_000
"""Results in memory for one source: about 60 MB."""

_T = TypeVar("_T")


class Store:
    """The file at a path, opened when it is first needed. Callers hold `lock`.

    Attributes:
        path: the file.
        lock: one thread at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.RLock()
        self._file: CacheFile | None = None
        self._memory = Memory()
        self._profiles: dict[int, Profile] = {}
        self._days = LocalDays()
        self._quotas: dict[Source, tuple[int, int]] = {}
        self._notes: list[str] = []

    def with_repair(self, work: Callable[[Store], _T]) -> _T:
        """The result of work; where the file proves to be damaged, on a new one.

        Raises:
            NotUsableError: the file cannot be used, and is left as it is.
            sqlite3.Error: busy for too long, a full disk, no permission to write.
        """
        try:
            return work(self)
        except DamageError as error:
            self._set_aside(str(error))
        except Exception as error:
            if not is_damage(error):
                raise
            self._set_aside(str(error))
        return work(self)

    def take_notes(self) -> list[str]:
        """The notes on the file since the last call."""
        if self._file is not None:
            self._notes += self._file.notes
            self._file.notes = []
        notes, self._notes = self._notes, []
        return notes

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        if self._file is not None:
            self._notes += self._file.notes
            self._file.close()
        self._file = None
        self._memory.clear()
        self._profiles.clear()

    def known(
        self, source: Source, places: Collection[Place], *, detail: bool, now: datetime
    ) -> dict[Place, Outcome]:
        """The outcomes that are valid at a moment."""
        file = self._opened()
        moment = int(now.timestamp())
        memory = self._memory.of(source, detail=detail, changes=file.changes(), now=moment)
        found = memory.known(places)
        if len(found) < len(places):
            missing = [place for place in places if place not in found]
            with all_stay():
                found |= self._read(file, source, missing, detail=detail, now=moment)
        return found

    def write(
        self,
        source: Source,
        outcomes: Sequence[tuple[Place, Outcome]],
        *,
        detail: bool,
        now: datetime,
        hours: float | None,
    ) -> None:
        """Write those of the outcomes that may be stored, in one transaction."""
        entries: list[_Entry] = []
        for place, outcome in outcomes:
            at = outcome.looked_up_at or now
            today, ends = self._days.of(at)
            until = keeps_until(
                outcome, place.as_of, answered=at, today=today, day_ends=ends, hours=hours
            )
            if until is not None and until > now:
                entries.append((place, outcome, profile_of(outcome), at, int(until.timestamp())))
        if not entries:
            return
        file = self._opened()
        with file.transaction(write=True) as connection:
            number = _source_number(connection, source)
            profiles = _profile_numbers(connection, {one[2] for one in entries})
            moment = int(now.timestamp())
            with all_stay():
                rows = _rows(entries, profiles, number, detail=detail, moment=moment)
            connection.executemany(_KEEP, rows)
            connection.execute("UPDATE source SET told = ? WHERE id = ?", (moment, number))
            self._write_quotas(connection)
            _remove_expired(connection, moment)
        self._quotas.clear()
        self._memory.forget(source, [one[0] for one in entries])

    def quota(self, source: Source, *, now: datetime) -> int | None:
        """What is left of this month's quota by the last report; a new month's is not known."""
        quota = self._quotas.get(source)
        if quota is None:
            rows = self._opened().connection.execute(
                "SELECT quota, quota_told FROM source WHERE service = ? AND account = ?",
                (source.service, source.account),
            )
            quota = rows.fetchone()
            if quota is None or quota[0] is None:
                return None
        return quota[0] if quota[1] == _month(now) else None

    def write_quota(self, source: Source, remaining: int, *, now: datetime) -> None:
        """Store the quota; written with the next results, at once where nothing is left."""
        self._quotas[source] = (remaining, _month(now))
        if remaining <= 0:
            self.flush()

    def flush(self) -> None:
        """Write the quotas that were not written yet."""
        if self._quotas:
            with self._opened().transaction(write=True) as connection:
                self._write_quotas(connection)
            self._quotas.clear()

    def _write_quotas(self, connection: sqlite3.Connection) -> None:
        for source, quota in self._quotas.items():
            connection.execute(
                "UPDATE source SET quota = ?, quota_told = ? WHERE id = ?",
                (*quota, _source_number(connection, source)),
            )

    def _read(
        self, file: CacheFile, source: Source, places: Sequence[Place], *, detail: bool, now: int
    ) -> dict[Place, Outcome]:
        """The outcomes in the file; they are put into memory too."""
        found: dict[Place, Outcome] = {}
        soonest: int | None = None
        with file.transaction(write=False) as connection:
            changes = file.changes()
            number = _number_of(connection, source)
            if number is None:
                return {}
            for start in range(0, len(places), _AT_ONCE):
                part = places[start : start + _AT_ONCE]
                keys = list(map(place_key, part))
                rows = connection.execute(
                    _FIND, (json.dumps(keys), number, now, int(detail))
                ).fetchall()
                if not rows:
                    continue
                for index, full, expires, body, seal in rows:
                    if checksum(number, full, expires, keys[index], body) != seal:
                        raise DamageError("an answer in it was changed by something else")
                soonest = min([row[2] for row in rows] + ([soonest] if soonest else []))
                self._load_profiles(connection)
                outcomes = outcomes_of([row[3] for row in rows], self._profiles)
                found |= zip([part[row[0]] for row in rows], outcomes, strict=True)
        if soonest is not None:
            memory = self._memory.of(source, detail=detail, changes=changes, now=now)
            memory.add(found, soonest)
        return found

    def _load_profiles(self, connection: sqlite3.Connection) -> None:
        """Load the profiles that were added since; a number is never reused."""
        newest = max(self._profiles, default=NO_PROFILE)
        rows = connection.execute("SELECT id, text, sum FROM profile WHERE id > ?", (newest,))
        for number, text, seal in rows.fetchall():
            if text_checksum(number, text) != seal:
                raise DamageError("a part of an answer in it was changed by something else")
            try:
                self._profiles[number] = read_profile(text)
            except (ValueError, TypeError, LookupError) as error:
                raise DamageError(f"a part of an answer cannot be read ({error!r})") from error

    def _opened(self) -> CacheFile:
        """The file; opened again where another one stands at its path."""
        if self._file is not None and not self._file.is_there:
            self.close()
        if self._file is None:
            self._file = CacheFile(self.path)
        return self._file

    def _set_aside(self, why: str) -> None:
        if self._file is not None:
            self._file.set_aside("damaged", f"is damaged ({why})")
            self.close()


def _rows(
    entries: Sequence[_Entry],
    profiles: Mapping[Profile | None, int],
    source: int,
    *,
    detail: bool,
    moment: int,
) -> list[tuple[object, ...]]:
    """The rows of results."""
    bodies = bodies_of([row_of(one, profiles[shared], at) for _, one, shared, at, _ in entries])
    rows: list[tuple[object, ...]] = []
    for (place, *_, expires), body in zip(entries, bodies, strict=True):
        key = place_key(place)
        seal = checksum(source, detail, expires, key, body)
        rows.append((source, key, detail, expires, body, seal, moment))
    return rows


def _number_of(connection: sqlite3.Connection, source: Source) -> int | None:
    row = connection.execute(
        "SELECT id FROM source WHERE service = ? AND account = ?", (source.service, source.account)
    ).fetchone()
    return None if row is None else row[0]


def _source_number(connection: sqlite3.Connection, source: Source) -> int:
    number = _number_of(connection, source)
    if number is None:
        number = connection.execute(
            "INSERT INTO source (service, account) VALUES (?, ?)", (source.service, source.account)
        ).lastrowid
    if number is None:
        raise DamageError("a source got no number")
    return number


def _profile_numbers(
    connection: sqlite3.Connection, profiles: Iterable[Profile | None]
) -> dict[Profile | None, int]:
    """The numbers of profiles; new ones are written."""
    numbers: dict[Profile | None, int] = {None: NO_PROFILE}
    for profile in profiles:
        if profile is None:
            continue
        text = write_profile(profile)
        row = connection.execute("SELECT id FROM profile WHERE text = ?", (text,)).fetchone()
        if row is None:
            (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM profile").fetchone()
            (used,) = connection.execute(
                "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'profile'"
            ).fetchone()
            row = (max(last, used) + 1,)
            connection.execute(
                "INSERT INTO profile (id, text, sum) VALUES (?, ?, ?)",
                (row[0], text, text_checksum(row[0], text)),
            )
        numbers[profile] = row[0]
    return numbers


def _remove_expired(connection: sqlite3.Connection, now: int) -> None:
    """Once a day, remove what expired, and the results of rate books no longer in use."""
    (cleaned,) = connection.execute("SELECT max(cleaned) FROM upkeep").fetchone()
    if abs(now - cleaned) < _DAY:
        return
    connection.execute("DELETE FROM answer WHERE expires <= ?", (now,))
    former = "SELECT id FROM source WHERE service LIKE 'embedded:%' AND told < ?"
    connection.execute(f"DELETE FROM answer WHERE source IN ({former})", (now - _OUTDATED,))  # noqa: S608 - our own text
    connection.execute(f"DELETE FROM source WHERE id IN ({former})", (now - _OUTDATED,))  # noqa: S608 - the same
    connection.execute("UPDATE upkeep SET cleaned = ?", (now,))


def _month(now: datetime) -> int:
    """The number of the calendar month (UTC) of a quota."""
    return now.year * 12 + now.month


class Memory:
    """The layers of all sources, each for simple and for full answers."""

    def __init__(self) -> None:
        self._layers: dict[tuple[Source, bool], Layer] = {}

    def of(self, source: Source, *, detail: bool, changes: int, now: int) -> Layer:
        """The layer of a source; an empty one where the file changed, or a result expired."""
        layer = self._layers.get((source, detail))
        if (
            layer is None
            or layer.changes != changes
            or (layer.holds_until is not None and layer.holds_until <= now)
        ):
            layer = self._layers[source, detail] = Layer(changes)
        return layer

    def forget(self, source: Source, places: Iterable[Place]) -> None:
        """Drop places of a source that have new results."""
        for detail in (False, True):
            layer = self._layers.get((source, detail))
            if layer is not None:
                layer.forget(places)

    def clear(self) -> None:
        """Drop everything."""
        self._layers.clear()


class Layer:
    """The results of one source in memory, valid until the first of them expires."""

    def __init__(self, changes: int) -> None:
        self.changes = changes
        self.holds_until: int | None = None
        self._answers: dict[Place, Outcome] = {}

    def known(self, places: Collection[Place]) -> dict[Place, Outcome]:
        """The outcomes that are in memory."""
        get = self._answers.get
        if not self._answers:
            return {}
        return {place: outcome for place in places if (outcome := get(place)) is not None}

    def add(self, answers: Mapping[Place, Outcome], until: int) -> None:
        """Add results; too many of them replace the former ones."""
        if len(answers) > _MOST:
            return
        if len(self._answers) + len(answers) > _MOST:
            self._answers = {}
            self.holds_until = None
        self._answers.update(answers)
        self.holds_until = until if self.holds_until is None else min(self.holds_until, until)

    def forget(self, places: Iterable[Place]) -> None:
        """Drop places that have new results."""
        for place in places:
            self._answers.pop(place, None)


class NotUsableError(Exception):
    """The file cannot be used, and is left as it is; the message says why."""


class _OlderError(Exception):
    """The file is of an older release than can be read."""


def is_damage(error: BaseException) -> bool:
    """Whether an error says that the file is damaged, not that it is busy or out of reach."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    if code is not None:
        return code & 0xFF in _DAMAGE
    return type(error) is sqlite3.DatabaseError


class CacheFile:
    """One connection to the file at a path. Not for two threads at once: the caller has a lock.

    Args:
        path: the file; it is made with its folder where it is missing.

    Raises:
        NotUsableError: of a newer release or another program, or not accessible.
        sqlite3.Error: busy, or not accessible in another way.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        try:
            self._open()
        except _OlderError:
            self.set_aside("older", "is of an older release")
            self._open()
        except sqlite3.Error as error:
            if not is_damage(error):
                raise
            self.set_aside("damaged", f"is damaged ({error})")
            self._open()
        except OSError as error:
            raise NotUsableError(error.strerror or str(error)) from error

    def _open(self) -> None:
        if self.path.is_dir():
            raise NotUsableError("it is a folder; name a file in it")
        made = _make(self.path)
        connection = sqlite3.connect(
            f"{self.path.as_uri()}?mode=rw",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            _prepare(connection, mode="delete" if is_on_network(self.path) else "wal")
            if not made and os.name == "posix" and self.path.stat().st_mode & 0o077:
                self.path.chmod(0o600)
        except BaseException:
            connection.close()
            raise
        self.connection = connection
        self._identity = _identity(self.path)

    @property
    def is_there(self) -> bool:
        """Whether the file at the path is still the one that was opened."""
        return self._identity == _identity(self.path)

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

    def set_aside(self, word: str, why: str) -> None:
        """Move the file to a name that says what it is, unless another process did so already.

        Raises:
            NotUsableError: it is not named like a cache, or cannot be moved.
        """
        self.close()
        if self.path.suffix.lower() not in _NAMES:
            raise NotUsableError(f"it {why}, and its name is not that of a cache; choose another")
        opened = getattr(self, "_identity", None)
        if opened is not None and opened != _identity(self.path):
            return
        stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
        target = self.path.with_name(f"{self.path.stem}.{word}-{stamp}{self.path.suffix}")
        try:
            for ending in ("", *COMPANIONS):
                with suppress(FileNotFoundError):
                    Path(f"{self.path}{ending}").replace(f"{target}{ending}")
        except OSError as error:
            raise NotUsableError(f"it {why}, and cannot be moved: {error.strerror}") from error
        self.notes.append(
            f"the cache {self.path} {why}; it was set aside as {target.name} and a new one begun"
        )

    def close(self) -> None:
        """Close the connection; closing twice is fine."""
        connection = getattr(self, "connection", None)
        if connection is not None:
            connection.close()


def _make(path: Path) -> bool:
    """Make an empty file where there is none, readable by its owner only, in a private folder."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        # Only a new file is opened: closing a descriptor of a database that another connection
        # of this process uses would drop that connection's locks.
        made = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    os.close(made)
    path.chmod(0o600)
    return True


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _prepare(connection: sqlite3.Connection, *, mode: str) -> None:
    """Check the program and release of the file, make its tables where it is new, set its journal.

    Raises:
        NotUsableError: it is another program's, or of a newer release.
        _OlderError: it is of an older release.
    """
    application, schema, tables = _stamp(connection)
    if not (application or schema or tables):
        application, schema = _make_tables(connection)
    if application != APPLICATION:
        raise NotUsableError("it is another program's database; name another path in SVC_CACHE")
    if schema > SCHEMA:
        raise NotUsableError(
            f"it is of a newer release (its schema is {schema}, this release knows {SCHEMA})"
        )
    if schema < SCHEMA:
        raise _OlderError
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


def _make_tables(connection: sqlite3.Connection) -> tuple[int, int]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        application, schema, tables = _stamp(connection)  # another process may have been faster
        if not (application or schema or tables):
            for statement in _TABLES.strip().split(";\n"):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {SCHEMA}")
            application, schema = APPLICATION, SCHEMA
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    return application, schema


def is_on_network(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> bool:
    """Whether a path is on a network drive, as far as the system reports it.

    A write-ahead log needs memory that all its users share, which machines do not.
    """
    try:
        lines = mounts.read_text(errors="replace").splitlines()
        place = str(path.parent.resolve())
    except OSError:  # not Linux
        return False
    kind, longest = "", -1
    for line in lines:
        mounted, _, source = line.partition(" - ")
        point = _OCTAL.sub(lambda found: chr(int(found[1], 8)), " ".join(mounted.split(" ")[4:5]))
        if point and len(point) >= longest and Path(place).is_relative_to(point):
            kind, longest = source.split(" ")[0], len(point)
    return kind.startswith(_NETWORK)
