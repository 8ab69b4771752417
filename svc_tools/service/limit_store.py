"""What is used of the limits, shared by all processes over one database. Blocking calls.

A key's rate is a bucket of tokens, its quota a count of lookups handed out in a month. Processes
take of both ahead of their requests (`meter`), and give back what was not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import sqlalchemy as sa

from svc_tools.service.limits import Bucket, full_bucket, lookups_to_lease, put_back, take
from svc_tools.service.tables import buckets, usage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_tools.service.database import Database
    from svc_tools.service.limits import Rate
    from svc_tools.service.meter import Spent, Wanted
    from svc_tools.service.plans import Terms

__all__ = ["Lease", "LimitStore", "Returned", "Use"]


class Lease(NamedTuple):
    """What a process got of a key's shared limits, and what then is left for all."""

    tokens: int = 0
    lookups: int = 0
    bucket: Bucket | None = None
    lookups_left: int = 0


class Use(NamedTuple):
    """The lookups of a month: handed out to processes, and answered by them.

    They differ by what processes hold at the moment, and by what those held that were killed.
    """

    leased: int
    used: int


@dataclass(frozen=True, slots=True)
class Returned:
    """What a process did with what it leased for a key."""

    key_id: str
    terms: Terms
    spent: Spent


class LimitStore:
    """The shared use of the limits. Safe to use from many threads; each method is one transaction.

    Args:
        database: where it is noted.

    Raises:
        StoreBusyError: (from every method) another process kept the database locked.
        StoreUnavailableError: (from every method) the database cannot be used at present.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def uses(self, month: str) -> dict[str, Use]:
        """The lookups of a month by key id, of keys with a quota that made any."""
        question = sa.select(usage).where(usage.c.month == month)
        with self._database.read() as connection:
            return {row.key_id: Use(row.leased, row.used) for row in connection.execute(question)}

    def lease(self, key_id: str, terms: Terms, *, wanted: Wanted, now: int, month: str) -> Lease:
        """Take of what a key may do, for this process to hand out.

        Where a token is wanted and none is there, no lookup is taken either.

        Args:
            key_id: whose limits.
            terms: what they are.
            wanted: how much of them.
            now: the time in microseconds since 1970.
            month: the month of `now`.
        """

        def take_of(connection: sa.Connection) -> Lease:
            bucket, got = None, 0
            if wanted.tokens and terms.rate is not None:
                bucket = self._bucket(connection, key_id, terms.rate, now)
                bucket, got = take(bucket, terms.rate, now, wanted.tokens)
                _keep_bucket(connection, key_id, bucket)
            if (wanted.tokens and not got) or not wanted.lookups or terms.monthly_quota is None:
                return Lease(tokens=got, bucket=bucket)
            leased = self._leased(connection, key_id, month)
            left = max(0, terms.monthly_quota - leased)
            taken = lookups_to_lease(left, wanted.lookups, wanted.ahead)
            if taken:
                connection.execute(
                    usage.update().where(*_of(key_id, month)).values(leased=leased + taken)
                )
            return Lease(got, taken, bucket, left - taken)

        return self._database.transact(take_of)

    def settle(self, done: Iterable[Returned], now: int) -> None:
        """Give back what was leased and not needed, and note what was used.

        In one order everywhere, so that two processes that settle the same keys do not wait for
        each other in a circle.
        """
        ordered = sorted(done, key=lambda one: (one.key_id, one.spent.month))

        def give_back(connection: sa.Connection) -> None:
            for one in ordered:
                spent, rate = one.spent, one.terms.rate
                if spent.tokens and rate is not None:
                    bucket = self._bucket(connection, one.key_id, rate, now)
                    bucket = put_back(bucket, rate, now, spent.tokens)
                    _keep_bucket(connection, one.key_id, bucket)
                if spent.lookups or spent.used:
                    connection.execute(
                        usage.update()
                        .where(*_of(one.key_id, spent.month))
                        .values(
                            leased=usage.c.leased - spent.lookups,
                            used=usage.c.used + spent.used,
                        )
                    )

        self._database.transact(give_back)

    def _bucket(self, connection: sa.Connection, key_id: str, rate: Rate, now: int) -> Bucket:
        """The bucket of a key, locked until the transaction ends; a full one where it is new."""
        new = full_bucket(rate, now)
        connection.execute(
            self._database.insert(buckets)
            .values(key_id=key_id, tokens=new.level, updated_at=new.at)
            .on_conflict_do_nothing()
        )
        row = connection.execute(
            sa.select(buckets).where(buckets.c.key_id == key_id).with_for_update()
        ).one()
        return Bucket(row.tokens, row.updated_at)

    def _leased(self, connection: sa.Connection, key_id: str, month: str) -> int:
        """The lookups of a month that were handed out, locked until the transaction ends."""
        connection.execute(
            self._database.insert(usage)
            .values(key_id=key_id, month=month, leased=0, used=0)
            .on_conflict_do_nothing()
        )
        question = sa.select(usage.c.leased).where(*_of(key_id, month)).with_for_update()
        return int(connection.execute(question).scalar_one())


def _keep_bucket(connection: sa.Connection, key_id: str, bucket: Bucket) -> None:
    connection.execute(
        buckets.update()
        .where(buckets.c.key_id == key_id)
        .values(tokens=bucket.level, updated_at=bucket.at)
    )


def _of(key_id: str, month: str) -> tuple[sa.ColumnElement[bool], ...]:
    return usage.c.key_id == key_id, usage.c.month == month
