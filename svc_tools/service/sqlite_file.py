"""SQLite as the database: one file, opened for one transaction and no longer.

Nothing is open when the process forks, ends or is killed; whoever copies the file while the
service is idle copies all of it; and a file that is put back is simply the one that is opened next.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.pool import NullPool

from svc_tools.service.errors import ANOTHER, StoreError
from svc_tools.service.trouble import BUSY_SECONDS, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SqliteFile"]

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_UNAVAILABLE = {
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_READONLY,
}
# Another file stands in the place of ours. SQLite has no code for it.
_NOT_OURS = ("no such table", "no such column", "has no column named")

_WAIT = "svc_wait"


class SqliteFile:
    """The engine over a file that exists or is made by `make`."""

    shared = False
    """A file with tables of others in it is not ours to write to."""

    insert = staticmethod(insert)

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = Path(os.path.abspath(path))  # noqa: PTH100 - as given, links and all
        # writers of this process queue here, in order, not on the file's lock with its naps
        self._turn = threading.Lock()
        self._engine = sa.create_engine(
            "sqlite://",
            creator=self._connect,
            poolclass=NullPool,
            hide_parameters=True,  # the values are the user's: they do not belong in a log
        )
        event.listen(self._engine, "begin", _on_begin)

    def make(self) -> None:
        """Make the file, with its folder, where there is none: mode 0600, in a private folder."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Only a new file is opened here: closing a descriptor of a database that another
            # connection of this process uses would drop that connection's locks.
            with suppress(FileExistsError):
                os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except OSError as error:
            raise StoreError(
                f"The database {self.name} cannot be made or opened: {error.strerror or error};"
                f" {ANOTHER}"
            ) from error

    def settle(self) -> None:
        """What a file that turned out to be ours gets besides its tables."""
        self._write_ahead()
        if os.name == "posix" and self._path.stat().st_mode & 0o077:
            self._path.chmod(0o600)

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sa.Connection]:
        """A transaction; one that writes has the file's write lock from its beginning.

        Raises:
            sqlalchemy.exc.TimeoutError: this process's own writers took too long.
        """
        if not write:
            with self._engine.begin() as connection:
                yield connection
            return
        until = time.monotonic() + BUSY_SECONDS
        if not self._turn.acquire(timeout=BUSY_SECONDS):
            raise sa.exc.TimeoutError
        try:
            left = max(0, round((until - time.monotonic()) * 1000))
            with (
                self._engine.connect().execution_options(**{_WAIT: left}) as connection,
                connection.begin(),
            ):
                yield connection
        finally:
            self._turn.release()

    def lock_schema(self, connection: sa.Connection) -> None:
        """Nothing more: a transaction that writes is alone already."""

    def close(self) -> None:
        """Nothing is open between transactions."""

    def after_fork(self) -> None:
        """In a forked child: a thread that is not here may hold the parent's turn."""
        self._turn = threading.Lock()

    @staticmethod
    def judge(error: sa.exc.SQLAlchemyError) -> Trouble | None:
        """What kind of trouble an error is; `None` where it is not the database's state."""
        if isinstance(error, sa.exc.TimeoutError):
            return Trouble.BUSY
        code = getattr(getattr(error, "orig", None), "sqlite_errorcode", None)
        if code is None:
            return None
        kind = code & 0xFF  # the low byte is the kind; the rest says more about it
        if kind in _BUSY:
            return Trouble.BUSY
        if kind in _UNAVAILABLE or any(text in str(error) for text in _NOT_OURS):
            return Trouble.UNAVAILABLE
        return None

    @staticmethod
    def reason(error: sa.exc.SQLAlchemyError) -> str:
        """What SQLite said, for the log."""
        return str(getattr(error, "orig", error))

    def _connect(self) -> sqlite3.Connection:
        # mode=rw: a file that is gone is an error, not a new and empty database
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode=rw",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = FULL")
        except BaseException:
            connection.close()  # a damaged file: whoever mends it must not find it open
            raise
        return connection

    def _write_ahead(self) -> None:
        """Let readers go on beside a writer. A property of the file: once set, it stays."""
        raw = self._engine.raw_connection()
        try:
            raw.cursor().execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            return  # in use elsewhere just now: all works without, and the next start sets it
        finally:
            raw.close()


def _on_begin(connection: sa.Connection) -> None:
    options: Any = connection.get_execution_options()
    if _WAIT not in options:
        connection.exec_driver_sql("BEGIN")
        return
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {options[_WAIT]}")
    # the write lock at once: two that read first and write then would fail, not wait
    connection.exec_driver_sql("BEGIN IMMEDIATE")
