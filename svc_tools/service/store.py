"""What lasts: the hashes of keys, and each account's nexus records (SPEC 2.7). Blocking calls."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.dialects.sqlite import insert

from svc_tools.service.database import accounts, api_keys, is_busy, nexus, open_engine
from svc_tools.service.errors import StoreBusyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["NexusRow", "Store"]

NexusRow = dict[str, str | None]
"""state, nexus_type, registered_at, address, notes, created_at, updated_at."""

_RECORD = [column for column in nexus.c if column.name != "account"]


class Store:
    """The database of accounts, keys and nexus records. Safe to use from many threads.

    Every method is one short transaction: it happens as a whole or not at all.

    Args:
        path: the SQLite file; made, with its folder, where there is none.

    Raises:
        StoreError: the file cannot be used.
        StoreBusyError: (from every method) another process kept the file locked.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # writers of this process queue here, in order, not on the file's lock with its naps
        self._turn = threading.Lock()
        self._reading, self._writing = open_engine(path, _now())

    def key_hashes(self) -> list[tuple[str, str]]:
        """The SHA-256 (hex) and the account of every stored key."""
        with self._read() as connection:
            rows = connection.execute(sa.select(api_keys.c.sha256, api_keys.c.account))
            return [(row.sha256, row.account) for row in rows]

    def add_key(self, account: str, sha256: str) -> None:
        """Make a key valid for an account, for good; the account is made where it is new."""
        now = _now()
        with self._write() as connection:
            connection.execute(
                insert(accounts).values(account=account, created_at=now).on_conflict_do_nothing()
            )
            connection.execute(
                api_keys.insert().values(sha256=sha256, account=account, created_at=now)
            )

    def list_nexus(
        self, account: str, state: str | None = None, nexus_type: str | None = None
    ) -> list[NexusRow]:
        """An account's records, ordered by state, then type; those of one state or type."""
        question = sa.select(*_RECORD).where(*_aim(account, state, nexus_type))
        with self._read() as connection:
            rows = connection.execute(question.order_by(nexus.c.state, nexus.c.nexus_type))
            return [dict(row) for row in rows.mappings()]

    def put_nexus(
        self, account: str, state: str, nexus_type: str, fields: Mapping[str, str | None]
    ) -> NexusRow:
        """Add a record, or update the one of that state and type; the record as it then is.

        Args:
            account: whose record.
            state: the state's code, in upper case.
            nexus_type: physical, economic or marketplace.
            fields: those of registered_at, address and notes that the caller gave. A given one
                replaces what stood there (`None` clears it); the others stay.
        """
        now = _now()
        made = insert(nexus).values(
            account=account,
            state=state,
            nexus_type=nexus_type,
            created_at=now,
            updated_at=now,
            **fields,
        )
        kept = made.on_conflict_do_update(
            index_elements=[nexus.c.account, nexus.c.state, nexus.c.nexus_type],
            set_={"updated_at": now, **fields},
        )
        with self._write() as connection:
            row = connection.execute(kept.returning(*_RECORD)).mappings().one()
            return dict(row)

    def remove_nexus(self, account: str, state: str, nexus_type: str | None = None) -> int:
        """Remove an account's records of a state, all or of one type; how many there were."""
        aim = _aim(account, state, nexus_type)
        with self._write() as connection:
            return connection.execute(nexus.delete().where(*aim)).rowcount

    @contextmanager
    def _read(self) -> Iterator[sa.Connection]:
        with _busy_said(self.path), self._reading.begin() as connection:
            yield connection

    @contextmanager
    def _write(self) -> Iterator[sa.Connection]:
        with _busy_said(self.path), self._turn, self._writing.begin() as connection:
            yield connection


@contextmanager
def _busy_said(path: Path) -> Iterator[None]:
    try:
        yield
    except sa.exc.OperationalError as error:
        if is_busy(error):
            raise StoreBusyError(f"The database {path} is locked by another process") from error
        raise


def _aim(account: str, state: str | None, nexus_type: str | None) -> list[sa.ColumnElement[bool]]:
    aim = [nexus.c.account == account]
    if state is not None:
        aim.append(nexus.c.state == state)
    if nexus_type is not None:
        aim.append(nexus.c.nexus_type == nexus_type)
    return aim


def _now() -> str:
    """The time in UTC, ISO 8601, in milliseconds, ending in Z."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
