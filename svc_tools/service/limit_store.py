"""The lookups that count against monthly quotas, one row a key and month. Blocking calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlalchemy as sa

from svc_tools.service.tables import usage

if TYPE_CHECKING:
    from svc_tools.service.database import Database

__all__ = ["LimitStore"]


class LimitStore:
    """The use of monthly quotas, shared by all processes over one database. Thread-safe.

    Each method is one statement: processes that count at the same time never exceed a quota.

    Args:
        database: where it is counted.

    Raises:
        StoreBusyError: (from every method) another process kept the database locked.
        StoreUnavailableError: (from every method) the database cannot be used at present.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def uses(self, month: str) -> dict[str, int]:
        """The lookups of a month by key id, of keys with a quota that made any."""
        query = sa.select(usage.c.key_id, usage.c.used).where(usage.c.month == month)
        with self._database.read() as connection:
            return {row.key_id: row.used for row in connection.execute(query)}

    def take(self, key_id: str, quota: int, month: str) -> int | None:
        """Count one lookup: how many are left after it, or `None` where none was left."""
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
        with self._database.write() as connection:
            used = connection.execute(count).scalar_one_or_none()
        return None if used is None else quota - used

    def give_back(self, key_id: str, month: str) -> None:
        """Take back the count of one lookup."""
        with self._database.write() as connection:
            connection.execute(
                usage.update()
                .where(usage.c.key_id == key_id, usage.c.month == month, usage.c.used > 0)
                .values(used=usage.c.used - 1)
            )
