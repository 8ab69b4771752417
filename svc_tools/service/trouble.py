"""What a database engine brings, and the kinds of trouble it may be in."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import sqlalchemy as sa
    from sqlalchemy.dialects import postgresql, sqlite

__all__ = ["BUSY_SECONDS", "Backend", "Trouble"]

BUSY_SECONDS = 5.0
"""How long a transaction (SQLite), or a statement of it (PostgreSQL), waits for others: half of a
client's default timeout."""


class Trouble(enum.Enum):
    """Why a transaction failed, where its statements were right."""

    BUSY = enum.auto()
    """Others held what it needs for longer than it waits."""
    CONFLICT = enum.auto()
    """It lost against another at the same time; the same again may succeed."""
    UNAVAILABLE = enum.auto()
    """The database is gone, unreachable, full, read-only or damaged."""


class Backend(Protocol):
    """One kind of database. Safe to use from many threads."""

    name: str
    """The database in messages; never with a password."""
    shared: bool
    """Whether tables of other programs may stand beside ours."""

    def make(self) -> None:
        """Make the place where there is none, if that is ours to do."""

    def settle(self) -> None:
        """What is left to do once the tables are there."""

    def transaction(self, *, write: bool) -> AbstractContextManager[sa.Connection]:
        """A transaction: committed at its end, rolled back by an exception."""

    def lock_schema(self, connection: sa.Connection) -> None:
        """Within a transaction, keep others from changing the tables until it ends."""

    def insert(self, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
        """An insert that knows `ON CONFLICT`."""

    def judge(self, error: sa.exc.SQLAlchemyError) -> Trouble | None:
        """What kind of trouble an error is; `None` where it is not the database's state."""

    def reason(self, error: sa.exc.SQLAlchemyError) -> str:
        """What the engine said, for the log."""

    def close(self) -> None:
        """Give up what is open."""

    def after_fork(self) -> None:
        """In a forked child: let go of what is the parent's."""
