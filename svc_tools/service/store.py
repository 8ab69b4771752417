"""Nexus records (SPEC 2.7) and the lookups counted by month, in the database.

Every method is one short transaction, blocks, is safe to use from many threads, and raises
`StoreBusyError` where others lock the database for too long and `StoreUnavailableError` where it
cannot be used at the moment.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from svc_tools.service.database import nexus, usage, utc_now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_tools.service.database import Database


_NexusRow = dict[str, str | None]
"""state, nexus_type, registered_at, address, notes, created_at, updated_at."""

_KEY = (nexus.c.account, nexus.c.state, nexus.c.nexus_type)
_RECORD = [column for column in nexus.c if column.name != "account"]


class Store:
    """The nexus records of each account."""

    def __init__(self, database: Database) -> None:
        self.database = database

    def list_nexus(
        self, account: str, state: str | None = None, nexus_type: str | None = None
    ) -> list[_NexusRow]:
        """An account's records, ordered by state, then type; those of one state or type."""
        query = sa.select(*_RECORD).where(*_filters(account, state, nexus_type))
        with self.database.read() as connection:
            rows = connection.execute(query.order_by(nexus.c.state, nexus.c.nexus_type))
            return [dict(row) for row in rows.mappings()]

    def put_nexus(
        self, account: str, state: str, nexus_type: str, fields: Mapping[str, str | None]
    ) -> _NexusRow:
        """Add a record, or update the one of that state and type; return the stored record.

        Args:
            account: whose record.
            state: the state's code, in upper case.
            nexus_type: physical, economic or marketplace.
            fields: those of registered_at, address and notes that the caller gave. A given one
                replaces the stored one (`None` clears it); the others stay.

        Raises:
            StoreUnavailableError: the account, there when the key was checked, is missing:
                another database is in its place.
        """
        now = utc_now()
        insert = self.database.insert(nexus).values(
            account=account,
            state=state,
            nexus_type=nexus_type,
            created_at=now,
            updated_at=now,
            **fields,
        )
        upsert = insert.on_conflict_do_update(
            index_elements=_KEY,
            # of two at the same moment, the one that waited may have looked at the clock first
            set_={"updated_at": _later_of(nexus.c.updated_at, now), **fields},
        )
        with self.database.write() as connection:
            return dict(connection.execute(upsert.returning(*_RECORD)).mappings().one())

    def remove_nexus(self, account: str, state: str, nexus_type: str | None = None) -> int:
        """Remove an account's records of a state, all or of one type; return their number."""
        removal = nexus.delete().where(*_filters(account, state, nexus_type))
        with self.database.write() as connection:
            return connection.execute(removal).rowcount


def _later_of(stored: sa.Column[str], now: str) -> sa.ColumnElement[str]:
    return sa.case((stored > now, stored), else_=sa.literal(now))


def _filters(
    account: str, state: str | None, nexus_type: str | None
) -> list[sa.ColumnElement[bool]]:
    filters = [nexus.c.account == account]
    if state is not None:
        filters.append(nexus.c.state == state)
    if nexus_type is not None:
        filters.append(nexus.c.nexus_type == nexus_type)
    return filters


class Month(NamedTuple):
    """A calendar month in UTC: its name, and the first moment of the next (ISO 8601)."""

    name: str
    renews: str


def month_of(moment: datetime) -> Month:
    """The month of a moment in UTC."""
    year, month = divmod(12 * moment.year + moment.month, 12)
    return Month(f"{moment:%Y-%m}", f"{datetime(year, month + 1, 1):%Y-%m-%dT%H:%M:%SZ}")  # noqa: DTZ001 - only its text


class LimitStore:
    """The lookups counted against monthly quotas, one row a key and month.

    Each method is one statement: processes that count at the same time never exceed a quota. A
    power failure may lose the counts of the last moments.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def uses(self, month: str) -> dict[str, int]:
        """The lookups counted in a month, by key id."""
        query = sa.select(usage.c.key_id, usage.c.used).where(usage.c.month == month)
        with self._database.read() as connection:
            return {row.key_id: row.used for row in connection.execute(query)}

    def count_lookup(self, key_id: str, quota: int, month: str) -> int | None:
        """Count one lookup; return how many are left, or `None` where none was left to count."""
        if quota < 1:
            return None
        count = (
            self._database.insert(usage)
            .values(key_id=key_id, month=month, used=1)
            .on_conflict_do_update(
                index_elements=[usage.c.key_id, usage.c.month],
                set_={"used": usage.c.used + 1},
                where=usage.c.used < quota,
            )
            .returning(usage.c.used)
        )
        with self._database.write(synced=False) as connection:
            used = connection.execute(count).scalar_one_or_none()
        return None if used is None else quota - used

    def give_back(self, key_id: str, month: str) -> None:
        """Take back the count of one lookup."""
        with self._database.write(synced=False) as connection:
            connection.execute(
                usage.update()
                .where(usage.c.key_id == key_id, usage.c.month == month, usage.c.used > 0)
                .values(used=usage.c.used - 1)
            )
