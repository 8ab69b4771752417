"""The file of the cache: found, made, private, and set aside where it is damaged."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BESIDE", "BUSY_SECONDS", "CacheFile", "NotUsableError", "is_damage", "is_on_network"]

BUSY_SECONDS = 10.0
"""How long another process that writes is waited for."""

APPLICATION = 0x53564341
"""What the header of a file of ours says it is ("SVCA")."""
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
_OCTAL = re.compile(r"\\([0-7]{3})")
"""How a list of mounts writes a blank."""
BESIDE = ("-wal", "-shm", "-journal")
"""The endings of the files that SQLite keeps beside the file."""


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
        path: the file; it is made with its folder where it is not there.

    Raises:
        NotUsableError: a newer release's, somebody else's, or out of reach.
        sqlite3.Error: busy, or out of reach in another way.
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
        if self.connection.in_transaction:  # a Ctrl+C came between its beginning and the block
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
            NotUsableError: it does not look like a cache at all, or cannot be moved.
        """
        self.close()
        if self.path.suffix.lower() not in _NAMES:
            raise NotUsableError(f"it {why}, and its name is not that of a cache; choose another")
        ours = getattr(self, "_identity", None)
        if ours is not None and ours != _identity(self.path):
            return
        stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
        target = self.path.with_name(f"{self.path.stem}.{word}-{stamp}{self.path.suffix}")
        try:
            for ending in ("", *BESIDE):
                beside = Path(f"{self.path}{ending}")
                with suppress(FileNotFoundError):
                    beside.replace(f"{target}{ending}")
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
    """Make an empty file where there is none, for nobody else to read, in a private folder."""
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
    """Check whose file it is, make its tables where it is new, and see to its journal.

    Raises:
        NotUsableError: it is not ours, or newer than this release.
        _OlderError: it is older than can be read.
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
    # A property of the file, and what it is stays: a write-ahead log lets readers go on beside a
    # writer. In use elsewhere just now, or not possible here: all works without.
    with suppress(sqlite3.OperationalError):
        connection.execute(f"PRAGMA journal_mode = {mode}").fetchall()
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    # A commit that has returned outlives a power cut. Beside a write-ahead log FULL is enough for
    # that; a rollback journal needs its folder written out too.
    connection.execute(f"PRAGMA synchronous = {'FULL' if mode == 'wal' else 'EXTRA'}")
    connection.execute("PRAGMA trusted_schema = OFF")


def is_on_network(path: Path, mounts: Path = Path("/proc/self/mountinfo")) -> bool:
    """Whether a path is on another machine's disk, as far as the system tells.

    A write-ahead log needs memory that all its users share: machines share none.
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
