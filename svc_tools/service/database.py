"""The SQLite file: its tables, its schema version, and how connections are opened.

A connection lives for one transaction and no longer: nothing is open when the process forks, ends
or is killed, and whoever copies the file while the service is idle copies all of it.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from platformdirs import user_data_dir
from sqlalchemy import event
from sqlalchemy.pool import NullPool

from svc_tools.service.errors import StoreBusyError, StoreError
from svc_tools.service.keys import LOCAL_ACCOUNT

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import DBAPIConnection

__all__ = ["accounts", "api_keys", "default_path", "is_busy", "nexus", "open_engine"]

SCHEMA_VERSION = 1

_BUSY_SECONDS = 5.0
"""How long a transaction waits for another process: half of a client's default timeout."""

_BEGIN = "svc_begin"

metadata = sa.MetaData()

schema_version = sa.Table(
    "schema_version", metadata, sa.Column("version", sa.Integer, primary_key=True)
)

accounts = sa.Table(
    "accounts",
    metadata,
    sa.Column("account", sa.Text, primary_key=True),
    sa.Column("created_at", sa.Text, nullable=False),
)

api_keys = sa.Table(
    "api_keys",
    metadata,
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("account", sa.ForeignKey("accounts.account"), nullable=False),
    sa.Column("created_at", sa.Text, nullable=False),
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


def default_path() -> Path:
    """Where the database is unless the user names another place."""
    return Path(user_data_dir("svc-tools", appauthor=False)) / "service.db"


def is_busy(error: sa.exc.SQLAlchemyError) -> bool:
    """Whether a transaction failed because another process holds the database."""
    code = getattr(getattr(error, "orig", None), "sqlite_errorcode", None)
    # the low byte is the kind; the rest says more about it
    return code is not None and (code & 0xFF) in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def open_engine(path: Path, now: str) -> tuple[sa.Engine, sa.Engine]:
    """Open the database, making it where there is none (mode 0600, in a private folder).

    Args:
        path: the file.
        now: the time to note where rows are made.

    Returns:
        An engine for reading and one whose transactions take the write lock at once, so that
        two writers wait for each other instead of failing.

    Raises:
        StoreError: the place is not writable, the file is not a database of ours, or another
            process keeps it locked.
    """
    try:
        _make(path)
    except OSError as error:
        raise StoreError(
            f"The database {path} cannot be made or opened: {error.strerror or error};"
            " name another place with --db"
        ) from error
    reading = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        poolclass=NullPool,
        connect_args={"timeout": _BUSY_SECONDS, "isolation_level": None},
        hide_parameters=True,  # the values are the user's: they do not belong in a log
        execution_options={_BEGIN: "BEGIN"},
    )
    event.listen(reading, "connect", _on_connect)
    event.listen(reading, "begin", _on_begin)
    writing = reading.execution_options(**{_BEGIN: "BEGIN IMMEDIATE"})
    try:
        _prepare(writing, path, now)
        _write_ahead(writing)
        _make_private(path)
    except sa.exc.SQLAlchemyError as error:
        if is_busy(error):
            raise StoreBusyError(f"The database {path} is locked by another process") from error
        raise StoreError(
            f"{path} cannot be used as the database: {getattr(error, 'orig', None) or error};"
            " name another file with --db"
        ) from error
    return reading, writing


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Only a new file is opened here: closing a descriptor of a database that another
    # connection of this process uses would drop that connection's locks.
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _make_private(path: Path) -> None:
    if os.name == "posix" and path.stat().st_mode & 0o077:
        path.chmod(0o600)


def _on_connect(connection: DBAPIConnection, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


def _on_begin(connection: sa.Connection) -> None:
    options: Any = connection.get_execution_options()
    connection.exec_driver_sql(options[_BEGIN])


def _prepare(writing: sa.Engine, path: Path, now: str) -> None:
    with writing.begin() as connection:
        tables = set(sa.inspect(connection).get_table_names())
        if not tables:
            metadata.create_all(connection)
            connection.execute(schema_version.insert().values(version=SCHEMA_VERSION))
            connection.execute(accounts.insert().values(account=LOCAL_ACCOUNT, created_at=now))
            return
        if schema_version.name not in tables:
            raise StoreError(
                f"{path} is a database of another program; name another file with --db"
            )
        version = connection.execute(sa.select(schema_version.c.version)).scalar_one()
        if version != SCHEMA_VERSION:
            raise StoreError(
                f"{path} has schema version {version}, this release reads {SCHEMA_VERSION};"
                " use the release that made it, or name another file with --db"
            )


def _write_ahead(engine: sa.Engine) -> None:
    """Let readers go on beside a writer. A property of the file: once set, it stays."""
    raw = engine.raw_connection()
    try:
        raw.cursor().execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError:
        return  # in use elsewhere just now: all works without, and the next start sets it
    finally:
        raw.close()
