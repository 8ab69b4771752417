"""The database of accounts, keys, use and nexus records: a SQLite file, or PostgreSQL by a URL.

Whatever keeps it from answering is said as one of two errors: busy, or unavailable. Neither lasts
longer than its cause: the next transaction starts from the beginning.
"""

from __future__ import annotations

import os
import re
import weakref
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import sqlalchemy as sa
from platformdirs import user_data_dir
from pydantic import SecretStr

from svc_tools.service.errors import ANOTHER, StoreBusyError, StoreError, StoreUnavailableError
from svc_tools.service.migrations import bring_up, is_current
from svc_tools.service.sqlite_file import SqliteFile
from svc_tools.service.tables import buckets
from svc_tools.service.trouble import Backend, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sqlalchemy.dialects import postgresql, sqlite

__all__ = ["Database", "default_path", "is_address"]

_T = TypeVar("_T")

_ATTEMPTS = 5
"""How often `transact` tries what others keep getting in the way of."""

# a key that nobody has, and one that no page has room for beside others: to take it, SQLite has
# to find a page more; an index of PostgreSQL takes up to 2700 bytes
_TRIAL = {"key_id": "trial" * 400, "tokens": 0, "updated_at": 0}

_URLS = ("postgresql://", "postgres://")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://|postgres[a-z0-9+]*:", re.IGNORECASE)
_INSTALL = "PostgreSQL needs a driver: pip install 'svc-tax-tools[postgres]'"


def default_path() -> Path:
    """Where the database is unless the user names another place."""
    return Path(user_data_dir("svc-tools", appauthor=False)) / "service.db"


def is_address(target: str) -> bool:
    """Whether a target is the address of a server; else it is the path of a file.

    One that is mistyped is an address too: as a path, messages would repeat its password.
    """
    return _ADDRESS.match(target) is not None


class Database:
    """Transactions over a database whose tables are those of this release (`tables`).

    Made, it is there and of this release: a new file is filled, an older one brought up. A file
    that disappears later is not made again, so that lost records do not look like removed ones.
    Safe to use from many threads; a forked child may go on using its copy.

    Args:
        target: the path of a SQLite file, or a `postgresql://` address; a secret one is read
            here and nowhere else.

    Attributes:
        name: the database in messages; never with a password.

    Raises:
        StoreError: it cannot be used.
        StoreBusyError: others keep it locked.
    """

    def __init__(self, target: Path | str | SecretStr) -> None:
        self._backend = _backend(target)
        self.name = self._backend.name
        self._ready = False
        self._lost_a_write = False
        try:
            with self._explained():
                self._backend.make()
                self._prepare(create=True)
                self._backend.settle()
        except StoreUnavailableError as error:
            self._backend.close()
            raise StoreError(f"{error}; {ANOTHER}") from error
        except BaseException:
            self._backend.close()
            raise
        weakref.finalize(self, self._backend.close)
        _open.add(self)

    def __repr__(self) -> str:
        """The database, without a password."""
        return f"Database({self.name!r})"

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A transaction that reads: all of it sees one state (SQLite), or each statement one.

        Raises:
            StoreBusyError: others kept it locked for longer than we wait.
            StoreUnavailableError: it cannot be used at the moment.
        """
        with self._transaction(write=False) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """A transaction that writes: committed at the end of the block, or nothing of it is.

        On SQLite it is alone from its first moment. On PostgreSQL others write beside it: lock
        what you read and then change (`with_for_update()`), or say it in one statement.

        Raises:
            StoreBusyError: others kept it locked for longer than we wait, or it met others in a
                deadlock; `transact` tries those again.
            StoreUnavailableError: it cannot be used at the moment.
        """
        with self._transaction(write=True) as connection:
            yield connection

    def transact(self, work: Callable[[sa.Connection], _T]) -> _T:
        """Do work within a transaction that writes, again from the start where others collide.

        Args:
            work: what to do; it may be called several times, so it does nothing else.

        Raises:
            StoreBusyError: others kept it locked for longer than we wait.
            StoreUnavailableError: it cannot be used at the moment.
        """
        for _ in range(_ATTEMPTS - 1):
            try:
                with self.write() as connection:
                    return work(connection)
            except _ConflictError:
                continue
        with self.write() as connection:
            return work(connection)

    def insert(self, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
        """An insert that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
        return self._backend.insert(table)

    def ping(self) -> None:
        """One small read that shows that it answers, and that it is still of this release.

        Once a write could not be done (the disk is full, the database read-only), that it answers
        is not enough: then one small write follows, until that is done. It leaves nothing behind.

        Raises:
            StoreBusyError: others keep it locked.
            StoreUnavailableError: it cannot be used at the moment.
        """
        with self.read() as connection:
            current = is_current(connection)
        if not current:
            self._ready = False
            with self.read():  # says what is wrong, or has brought an older one up
                pass
        if self._lost_a_write:
            with self.write() as connection:
                connection.execute(buckets.insert().values(_TRIAL))
                connection.execute(buckets.delete().where(buckets.c.key_id == _TRIAL["key_id"]))
            # by nothing else: a transaction of others may have had nothing to write
            self._lost_a_write = False

    def close(self) -> None:
        """Close idle connections; using the database afterwards opens new ones."""
        self._backend.close()

    def after_fork(self) -> None:
        """In a forked child: let go of what is the parent's. Called for every database."""
        self._backend.after_fork()

    @contextmanager
    def _transaction(self, *, write: bool) -> Iterator[sa.Connection]:
        try:
            with self._explained():
                if not self._ready:
                    self._prepare(create=False)
                with self._backend.transaction(write=write) as connection:
                    yield connection
        except StoreUnavailableError:
            if write:
                self._lost_a_write = True
            raise

    def _prepare(self, *, create: bool) -> None:
        """See that the tables are those of this release; most often they are."""
        with self._backend.transaction(write=False) as connection:
            current = is_current(connection)
        if not current:
            with self._backend.transaction(write=True) as connection:
                self._backend.lock_schema(connection)
                try:
                    bring_up(connection, self.name, create=create, shared=self._backend.shared)
                except StoreError as error:
                    if create:
                        raise
                    raise StoreUnavailableError(str(error)) from error
        self._ready = True

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what keeps the database from answering as an error of ours."""
        try:
            yield
        except sa.exc.SQLAlchemyError as error:
            trouble = self._backend.judge(error)
            if trouble is None:
                raise
            if trouble is Trouble.UNAVAILABLE:
                # whatever is there next may be another database, or an older one put back
                self._ready = False
                reason = self._backend.reason(error)
                raise StoreUnavailableError(
                    f"{self.name} cannot be used as the database: {reason}"
                ) from error
            kind = _ConflictError if trouble is Trouble.CONFLICT else StoreBusyError
            raise kind(f"The database {self.name} is locked by another process") from error


class _ConflictError(StoreBusyError):
    """Two transactions got in each other's way, and this one was the one to give up."""


_open: weakref.WeakSet[Database] = weakref.WeakSet()


def _after_fork() -> None:
    for database in list(_open):
        database.after_fork()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_after_fork)


def _backend(target: Path | str | SecretStr) -> Backend:
    if isinstance(target, SecretStr):
        target = target.get_secret_value()
    if isinstance(target, str) and is_address(target):
        if not target.startswith(_URLS):
            scheme = target.partition(":")[0]
            raise StoreError(
                f"A database of the kind {scheme!r} is not supported;"
                " give the path of a SQLite file, or a postgresql:// address"
            )
        try:
            from svc_tools.service.postgres import Postgres  # noqa: PLC0415 - an extra of its own
        except ModuleNotFoundError as error:
            raise StoreError(f"{_INSTALL} ({error})") from error
        return Postgres(target)
    return SqliteFile(Path(target))
