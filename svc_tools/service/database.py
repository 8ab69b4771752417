"""The database of accounts, keys, usage and nexus records: a SQLite file, or PostgreSQL by a URL.

The tables are the same on both. Whatever keeps the database from serving is raised as one of two
errors, busy or unavailable, that last no longer than their cause: each transaction starts afresh.
"""

from __future__ import annotations

import os
import sqlite3
import struct
import time
import weakref
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from pydantic import SecretStr
from sqlalchemy import event
from sqlalchemy.dialects import sqlite
from sqlalchemy.pool import NullPool

from svc_tools.base.operating_system import database_uri, make_private
from svc_tools.service.errors import ANOTHER, StoreBusyError, StoreError, StoreUnavailableError
from svc_tools.service.start import is_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy.dialects import postgresql

# Earlier releases made databases of this version with one more column and table, now unused.
_SCHEMA_VERSION = 2
LOCAL_ACCOUNT = "local"
"""The account of the user who runs the service on this machine."""
_BUSY_SECONDS = 5.0
"""How long a statement waits for other transactions: half of a client's default timeout."""
_CHECK_SECONDS = 60.0
"""How often a file is searched for damage that no statement has met."""
_CREATE_LOCK = 0x5376_6353_6368_656D  # any number that no other program locks

metadata = sa.MetaData()
schema_version = sa.Table(
    "schema_version", metadata, sa.Column("version", sa.Integer, primary_key=True)
)
accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("account", sa.Text, primary_key=True),
    sa.Column("created_at", sa.Text, nullable=False),
    # active, or past_due: then every request is refused with 402
    sa.Column("status", sa.Text, nullable=False, server_default="active"),
)
# NULL in a column of limits: the plan applies.
api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("sha256", sa.Text, primary_key=True),
    # names the key in commands; the key itself is not stored
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("account", sa.ForeignKey("accounts.account"), nullable=False),
    sa.Column("name", sa.Text),
    sa.Column("plan", sa.Text, nullable=False, server_default="unlimited"),
    sa.Column("created_at", sa.Text, nullable=False),
    sa.Column("expires_at", sa.Text),
    sa.Column("revoked_at", sa.Text),
    sa.Column("status", sa.Text),
    sa.Column("rate_per_minute", sa.BigInteger),
    sa.Column("burst", sa.BigInteger),
    sa.Column("monthly_quota", sa.BigInteger),
    sa.Column("features", sa.Text),
)
nexus = sa.Table(
    "nexus",
    metadata,
    sa.Column("account", sa.ForeignKey("accounts.account"), primary_key=True),
    sa.Column("state", sa.Text, primary_key=True),
    sa.Column("nexus_type", sa.Text, primary_key=True),
    sa.Column("registered_at", sa.Text),
    sa.Column("address", sa.Text),
    sa.Column("notes", sa.Text),
    sa.Column("created_at", sa.Text, nullable=False),
    sa.Column("updated_at", sa.Text, nullable=False),
)

# The lookups of a key with a quota, by calendar month.
usage = sa.Table(
    "usage",
    metadata,
    sa.Column("key_id", sa.Text, primary_key=True),
    sa.Column("month", sa.Text, primary_key=True),
    sa.Column("used", sa.BigInteger, nullable=False, server_default="0"),
)

_EVERY_VERSION = {table.name for table in (schema_version, accounts, api_keys, nexus)}
_WRITE = "svc_write"
_SYNCHRONOUS = {True: "FULL", False: "NORMAL"}
# a key that nobody has, too long for the free space of a page, so that SQLite needs a new one; an
# index entry of PostgreSQL can have up to 2700 bytes
_TRIAL = {"key_id": "trial" * 400, "month": ""}
_SQLITE_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_SQLITE_UNAVAILABLE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}
# SQLite has no separate error code for another file in the place of the database.
_SQLITE_OTHER_FILE = ("no such table", "no such column", "has no column named")
# lock, statement timeout, connections, in use, serialization failure, deadlock
_POSTGRESQL_BUSY = {"55P03", "57014", "53300", "55006", "40001", "40P01"}
# read-only, no such account (its row was there when the key was checked: this is another database),
# no such schema, no right, no such column, no such table
_POSTGRESQL_UNAVAILABLE = {"25006", "23503", "3F000", "42501", "42703", "42P01"}
# connection, authorization, resources, ended by an operator, system, the server's own failure
_POSTGRESQL_UNAVAILABLE_CLASSES = {"08", "28", "53", "57", "58", "XX"}


def utc_now() -> str:
    """The time in UTC, ISO 8601, in milliseconds, ending in Z; such texts sort as the times do."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Database:
    """Transactions over a database with the tables of this release (`tables`).

    The constructor creates missing tables. A file that disappears later is not
    created again, so that lost records do not look like removed ones. Thread-safe.

    Args:
        target: the path of a SQLite file, or a `postgresql://` address.

    Attributes:
        name: the database in messages; never with a password.

    Raises:
        StoreError: it cannot be used.
        StoreBusyError: others keep it locked.
    """

    def __init__(self, target: Path | str | SecretStr) -> None:
        """Open the database; file and tables are created where they are missing."""
        if isinstance(target, SecretStr):
            target = target.get_secret_value()
        if isinstance(target, str) and is_address(target):
            self.name, self._engine = _postgresql(target)
            self._path = None
        else:
            self.name, self._path = str(target), Path(os.path.abspath(target))  # noqa: PTH100 - links stay
            self._engine = _sqlite(self._path)
        self._writers = {
            synced: self._engine.execution_options(**{_WRITE: _SYNCHRONOUS[synced]})
            for synced in (True, False)
        }
        self._write_failed = False
        self._suspect = False
        self._check_at = 0.0
        weakref.finalize(self, self._engine.dispose)  # the driver warns of connections left open
        try:
            self._prepare()
        except StoreUnavailableError as error:
            raise StoreError(f"{error}; {ANOTHER}") from error

    def __repr__(self) -> str:
        """The database, without a password."""
        return f"Database({self.name!r})"

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A transaction that reads; raises as `write` does."""
        self._check_suspect()
        with self._explained(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def write(self, *, synced: bool = True) -> Iterator[sa.Connection]:
        """A transaction that writes: committed at the end of the block, or rolled back.

        On SQLite it is alone from its first moment. On PostgreSQL others write at the same time:
        lock what you read and then change (`with_for_update()`), or use one statement.

        Args:
            synced: whether it survives a power failure on SQLite once the block has ended; not to
                wait for the disk is many times faster.

        Raises:
            StoreBusyError: others locked it for too long.
            StoreUnavailableError: it cannot be used at the moment, or a part of it is damaged.
        """
        self._check_suspect()
        try:
            with self._explained(), self._writers[synced].begin() as connection:
                yield connection
        except StoreUnavailableError:
            self._write_failed = True
            raise

    def insert(self, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
        """An insert with `on_conflict_do_nothing` and `on_conflict_do_update`."""
        if self._path:
            return sqlite.insert(table)
        from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - SQLite starts faster without

        return postgresql.insert(table)

    def ping(self) -> None:
        """Check that the database works, and is still one of this release.

        After a write that failed (the disk is full, the database read-only) reading is not enough:
        then one small write follows, until it succeeds; it leaves nothing behind. Once a minute the
        whole file is searched for damage. Raises as `write` does.
        """
        with self.read() as connection:
            try:
                has_tables = self._has_tables(connection)
            except StoreError as error:
                raise StoreUnavailableError(str(error)) from error
        if not has_tables:
            raise StoreUnavailableError(
                f"{self.name} is empty; put the database back, or start the service again"
            )
        if self._path and time.monotonic() >= self._check_at:
            self._search("quick_check")  # several times faster, and finds all but wrong indexes
        if self._write_failed:
            with self.write() as connection:
                connection.execute(usage.insert().values(_TRIAL))
                connection.execute(usage.delete().where(usage.c.key_id == _TRIAL["key_id"]))
            # not after any other write: it may have changed nothing
            self._write_failed = False

    def _check_suspect(self) -> None:
        """Search a file for damage once one of its statements failed, until there is none.

        The parts that can be read are not served meanwhile: a record that is lost would look like
        one that was removed.
        """
        if self._suspect and self._path:
            self._search("integrity_check", metadata.sorted_tables)
            self._suspect = False

    def _search(self, check: str, tables: Iterable[sa.Table] = ()) -> None:
        """Search the file for damage, and the rows of tables for texts that cannot be read."""
        with self._explained(), self._engine.begin() as connection:
            found = connection.exec_driver_sql(f"PRAGMA {check}(1)").scalar()
            for table in tables if found == "ok" else ():
                for _ in connection.execute(sa.select(table)):
                    pass
        if found != "ok":
            self._suspect = True
            raise StoreUnavailableError(f"{self.name} is damaged ({found}); put a copy of it back")
        self._check_at = time.monotonic() + _CHECK_SECONDS

    def close(self) -> None:
        """Close idle connections; using the database afterwards opens new ones."""
        self._engine.dispose()

    def _prepare(self) -> None:
        """Create file and tables where they are missing; else check them."""
        if self._path:
            _create_file(self._path, self.name)
        with self.read() as connection:
            has_tables = self._has_tables(connection)
        if not has_tables:
            with self.write() as connection:
                if not self._path:
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATE_LOCK})")
                if not self._has_tables(connection):  # another process may have been first
                    metadata.create_all(connection)
                    connection.execute(schema_version.insert().values(version=_SCHEMA_VERSION))
                    local = {"account": LOCAL_ACCOUNT, "created_at": utc_now()}
                    connection.execute(accounts.insert().values(local))
        if self._path:  # only now: it is not another program's
            _use_wal(self._engine)
            make_private(self._path)

    def _has_tables(self, connection: sa.Connection) -> bool:
        """Whether the tables are there; false where the database is empty.

        Raises:
            StoreError: it is another program's, of another release, or damaged.
        """
        tables = set(sa.inspect(connection).get_table_names())
        # a PostgreSQL schema often holds tables of several programs; a SQLite file does not
        if not (tables if self._path else tables & metadata.tables.keys()):
            return False
        if not tables >= _EVERY_VERSION:
            raise StoreError(f"{self.name} is a database of another program; {ANOTHER}")
        found = list(connection.execute(sa.select(schema_version.c.version)).scalars())
        if found != [_SCHEMA_VERSION]:
            version = found[0] if len(found) == 1 else "unknown"
            raise StoreError(
                f"{self.name} has schema version {version}, this release expects {_SCHEMA_VERSION};"
                f" use the release that made it, or {ANOTHER}"
            )
        if lacking := metadata.tables.keys() - tables:
            raise StoreError(
                f"{self.name} is damaged: it lacks the table {min(lacking)}; put a copy of it back,"
                f" or {ANOTHER}"
            )
        return True

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Raise what keeps the database from serving as a `StoreError`."""
        try:
            yield
        except (sa.exc.SQLAlchemyError, OSError, struct.error, UnicodeDecodeError) as error:
            kind = _error_kind(error)
            if kind is None:
                raise
            self._suspect = self._suspect or kind is StoreUnavailableError
            if kind is StoreBusyError:
                raise kind(f"The database {self.name} is locked by another process") from error
            raise kind(f"{self.name} cannot be used as the database: {_reason(error)}") from error


def _create_file(path: Path, name: str) -> None:
    """Create the file, readable by its owner only, where it is missing."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Only a new file is opened here: closing a descriptor of a database that another
        # connection of this process uses would drop that connection's locks.
        with suppress(FileExistsError):
            os.close(os.open(os.path.realpath(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise StoreError(
            f"The database {name} cannot be made or opened: {error.strerror or error}; {ANOTHER}"
        ) from error


def _sqlite(path: Path) -> sa.Engine:
    """The engine of a file, which is opened for each transaction.

    So a copy of the idle file is complete, and a file that is put back is used from then on.
    """
    # mode=rw: a file that is gone is an error, not a new and empty database
    url = sa.URL.create("sqlite", database=database_uri(path), query={"uri": "true", "mode": "rw"})
    engine = sa.create_engine(
        url,
        poolclass=NullPool,
        connect_args={"timeout": _BUSY_SECONDS, "isolation_level": None},
        hide_parameters=True,  # the values are the user's: they do not belong in a log
    )
    event.listen(engine, "connect", _on_connect)
    event.listen(engine, "begin", _on_begin)
    return engine


def _on_connect(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA foreign_keys = ON")


def _on_begin(connection: sa.Connection) -> None:
    # a writer locks at once: two that read first and write then would fail instead of waiting
    write = connection.get_execution_options().get(_WRITE)
    if write:
        connection.exec_driver_sql(f"PRAGMA synchronous = {write}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")


def _use_wal(engine: sa.Engine) -> None:
    """Let readers go on while one writes; the file stays in this mode."""
    raw = engine.raw_connection()
    # in use elsewhere: all works without, and the next start sets it
    with suppress(sqlite3.OperationalError):
        raw.cursor().execute("PRAGMA journal_mode = WAL")
    raw.close()


def _postgresql(address: str) -> tuple[str, sa.Engine]:
    """The name without the password, and the engine of a database on a server."""
    if not address.startswith(("postgresql://", "postgres://")):
        raise StoreError(
            f"A database of the kind {address.partition(':')[0]!r} is not supported;"
            " give the path of a SQLite file, or a postgresql:// address"
        )
    from svc_tools.service import postgresql  # noqa: PLC0415 - SQLite starts faster without

    return postgresql.make_engine(address, _BUSY_SECONDS)


def _error_kind(error: Exception) -> type[StoreError] | None:
    """Which state of the database an error comes from; `None` where it is the statement's fault."""
    if isinstance(error, sa.exc.TimeoutError):
        return StoreBusyError
    if isinstance(error, OSError | struct.error | sa.exc.InterfaceError | UnicodeDecodeError):
        return StoreUnavailableError  # the connection to the server, or text that is no text
    cause = getattr(error, "orig", None)
    code = getattr(cause, "sqlite_errorcode", None)
    if type(cause) is sqlite3.OperationalError and code is None:
        return StoreUnavailableError  # the same: SQLite has no code for it
    if code is not None:
        kind = code & 0xFF  # the low byte is the kind; the rest says more about it
        if kind in _SQLITE_BUSY:
            return StoreBusyError
        unavailable = (
            kind in _SQLITE_UNAVAILABLE
            or code == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
            or any(text in str(cause) for text in _SQLITE_OTHER_FILE)
        )
    else:
        fields = _server_fields(cause)
        state = fields.get("C", "")
        if state in _POSTGRESQL_BUSY:
            return StoreBusyError
        unavailable = (
            state in _POSTGRESQL_UNAVAILABLE
            or state[:2] in _POSTGRESQL_UNAVAILABLE_CLASSES
            or fields.get("V") in {"FATAL", "PANIC"}  # the connection has ended
        )
    return StoreUnavailableError if unavailable else None


def _reason(error: Exception) -> str:
    """The cause of an error, as the server or the operating system puts it, in one line."""
    cause = getattr(error, "orig", error)
    return " ".join(str(_server_fields(cause).get("M") or cause.__cause__ or cause).split())


def _server_fields(cause: object) -> dict[str, str]:
    """What a PostgreSQL server reports, by its letters: C the SQLSTATE, M the message."""
    arguments = getattr(cause, "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], dict) else {}
