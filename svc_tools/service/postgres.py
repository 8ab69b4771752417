"""PostgreSQL as the database: a small pool of connections, each checked before it is used."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING

import sqlalchemy as sa
from pg8000 import dbapi
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.pool import QueuePool

from svc_tools.service.errors import StoreError
from svc_tools.service.postgres_wire import Connection, connect, parsed
from svc_tools.service.trouble import BUSY_SECONDS, Trouble

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Postgres"]

# The migration's turn, among all who use this database: any number that nobody else takes.
_SCHEMA_LOCK = 0x5376_6353_6368_656D

_CONFLICT = {"40001", "40P01"}  # serialization failure, deadlock
_BUSY = {"55P03", "57014", "53300", "55006"}  # lock, statement timeout, connections, in use
_UNAVAILABLE_CLASSES = {"08", "28", "53", "57", "58", "XX"}
_UNAVAILABLE = {
    "25006",  # read-only: a standby, or set so
    "3D000",  # the database does not exist
    "3F000",  # its schema does not
    "42501",  # no right to it
    "42703",  # no such column: not our tables
    "42P01",  # no such table
}
_LAST = {"FATAL", "PANIC"}
"""The severities with which the server ends a connection."""


class Postgres:
    """The engine over a database that exists; the tables go where its user's go.

    Args:
        url: see `postgres_wire.parsed`.

    Raises:
        StoreError: the address is not of that form.
    """

    shared = True
    """A schema often holds more than one program's tables, those of extensions at least."""

    insert = staticmethod(insert)

    def __init__(self, url: str) -> None:
        self._address = parsed(url)
        self.name = self._address.name
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._engine = sa.create_engine(
            "postgresql+pg8000://",
            creator=self._connect,
            poolclass=QueuePool,
            pool_size=4,
            max_overflow=6,
            pool_timeout=BUSY_SECONDS,
            pool_pre_ping=True,
            hide_parameters=True,  # the values are the user's: they do not belong in a log
        )

    def make(self) -> None:
        """Nothing: databases are made by who runs the server. But they have to hold every text.

        Raises:
            StoreError: this one cannot.
        """
        with self.transaction(write=False) as connection:
            encoding = connection.exec_driver_sql("SHOW server_encoding").scalar_one()
        if encoding != "UTF8":
            raise StoreError(
                f"{self.name} has the encoding {encoding}, which cannot hold every text;"
                " name a database that was made with ENCODING 'UTF8'"
            )

    def settle(self) -> None:
        """Nothing more."""

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sa.Connection]:  # noqa: ARG002 - locks are taken by row
        """A transaction of the isolation level READ COMMITTED.

        Raises:
            sqlalchemy.exc.TimeoutError: no connection of the pool became free.
        """
        with self._engine.begin() as connection:
            yield connection

    def lock_schema(self, connection: sa.Connection) -> None:
        """Wait for the turn among all processes that use the database."""
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_SCHEMA_LOCK})")

    def close(self) -> None:
        """Close the connections that are idle; those in use follow when they are given back."""
        self._engine.dispose()

    def after_fork(self) -> None:
        """In a forked child: the connections are the parent's, so they are not ended from here."""
        for connection in list(self._connections):
            connection.leave_to_parent()
        self._connections.clear()
        self._engine.dispose(close=False)

    @staticmethod
    def judge(error: sa.exc.SQLAlchemyError) -> Trouble | None:
        """What kind of trouble an error is; `None` where it is not the database's state."""
        if isinstance(error, sa.exc.TimeoutError):
            return Trouble.BUSY
        orig = getattr(error, "orig", None)
        if isinstance(orig, dbapi.InterfaceError):
            return Trouble.UNAVAILABLE
        said = _said(orig)
        state = said.get("C", "")
        if state in _CONFLICT:
            return Trouble.CONFLICT
        if state in _BUSY:
            return Trouble.BUSY
        if state in _UNAVAILABLE or state[:2] in _UNAVAILABLE_CLASSES or said.get("V") in _LAST:
            return Trouble.UNAVAILABLE
        return None

    @staticmethod
    def reason(error: sa.exc.SQLAlchemyError) -> str:
        """What the server or the driver said, for the log."""
        orig = getattr(error, "orig", error)
        return _said(orig).get("M") or str(orig)

    def _connect(self) -> Connection:
        connection = connect(self._address)
        self._connections.add(connection)
        return connection


def _said(error: object) -> dict[str, str]:
    """What the server said, by PostgreSQL's letters: C the code, M the message, V the severity."""
    arguments = getattr(error, "args", ())
    return arguments[0] if arguments and isinstance(arguments[0], dict) else {}
