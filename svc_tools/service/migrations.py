"""The schema's versions: a new database gets the newest, an older one is brought up to it.

Each step is part of one transaction with the version it leads to: a database is at one version or
at the next, also after a crash in between. A step says what it does in SQL of its own, because
the tables of `tables` go on to change and the step must not.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import sqlalchemy as sa

from svc_tools.service.clock import utc_now
from svc_tools.service.errors import ANOTHER, StoreError
from svc_tools.service.keys import LOCAL_ACCOUNT
from svc_tools.service.tables import accounts, metadata, schema_version

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SCHEMA_VERSION", "bring_up", "is_current"]

SCHEMA_VERSION = 2


def is_current(connection: sa.Connection) -> bool:
    """Whether there is nothing to do: the schema is of this release."""
    if metadata.tables.keys() - set(sa.inspect(connection).get_table_names()):
        return False
    return _versions(connection) == [SCHEMA_VERSION]


def bring_up(connection: sa.Connection, name: str, *, create: bool, shared: bool) -> None:
    """Make the schema that of this release, within the caller's transaction.

    The caller holds a lock that keeps everybody else from doing the same.

    Args:
        connection: a transaction that may write.
        name: the database in messages.
        create: make the tables where there are none. Not for a database that was in use a moment
            ago: an empty one in its place would look as if all records had been removed.
        shared: whether tables of others may stand beside ours (a PostgreSQL schema), or mean
            that the database is another program's (a SQLite file).

    Raises:
        StoreError: the database is another program's, of a newer release, or empty where it
            may not be made.
    """
    tables = set(sa.inspect(connection).get_table_names())
    if schema_version.name not in tables:
        if tables & metadata.tables.keys() if shared else tables:
            raise StoreError(f"{name} is a database of another program; {ANOTHER}")
        if not create:
            raise StoreError(f"{name} is empty; put the database back, or start the service anew")
        _create(connection)
        return
    if _FIRST_TABLES - tables:
        raise StoreError(f"{name} is a database of another program; {ANOTHER}")
    versions = _versions(connection)
    if len(versions) != 1 or not 1 <= versions[0] <= SCHEMA_VERSION:
        given = versions[0] if len(versions) == 1 else "unknown"
        raise StoreError(
            f"{name} has schema version {given}, this release reads 1 to {SCHEMA_VERSION};"
            f" use the release that made it, or {ANOTHER}"
        )
    for version in range(versions[0], SCHEMA_VERSION):
        _STEPS[version](connection)
    lacking = metadata.tables.keys() - set(sa.inspect(connection).get_table_names())
    if lacking:
        raise StoreError(
            f"{name} is damaged: it lacks the table {min(lacking)}; put a copy of it back, or"
            f" {ANOTHER}"
        )
    connection.execute(schema_version.update().values(version=SCHEMA_VERSION))


_FIRST_TABLES = {"accounts", "api_keys", "nexus"}
"""What every version has."""


def _versions(connection: sa.Connection) -> list[int]:
    return list(connection.execute(sa.select(schema_version.c.version)).scalars())


def _create(connection: sa.Connection) -> None:
    metadata.create_all(connection)
    connection.execute(schema_version.insert().values(version=SCHEMA_VERSION))
    connection.execute(accounts.insert().values(account=LOCAL_ACCOUNT, created_at=utc_now()))


def _from_1_to_2(connection: sa.Connection) -> None:
    """Accounts have a status; keys a public id, a plan and limits; use is counted.

    The keys' table is made anew: SQLite cannot add a column that is unique. A key of before
    keeps working as it did: without limits.
    """
    keys = connection.exec_driver_sql("SELECT sha256, account, created_at FROM api_keys").all()
    for statement in _TABLES_OF_2:
        connection.exec_driver_sql(statement)
    if keys:
        connection.execute(
            sa.text(
                "INSERT INTO api_keys (sha256, id, account, created_at)"
                " VALUES (:sha256, :id, :account, :created_at)"
            ),
            [{**key._mapping, "id": f"key_{secrets.token_hex(6)}"} for key in keys],  # noqa: SLF001 - public, despite its name
        )


_TABLES_OF_2 = (
    "ALTER TABLE accounts ADD COLUMN status TEXT DEFAULT 'active' NOT NULL",
    "DROP TABLE api_keys",
    """
    CREATE TABLE api_keys (
        sha256 TEXT NOT NULL PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        account TEXT NOT NULL REFERENCES accounts (account),
        name TEXT,
        plan TEXT DEFAULT 'unlimited' NOT NULL,
        created_at TEXT NOT NULL,
        expires_at TEXT,
        revoked_at TEXT,
        status TEXT,
        rate_per_minute BIGINT,
        burst BIGINT,
        monthly_quota BIGINT,
        features TEXT
    )
    """,
    """
    CREATE TABLE usage (
        key_id TEXT NOT NULL,
        month TEXT NOT NULL,
        leased BIGINT DEFAULT '0' NOT NULL,
        used BIGINT DEFAULT '0' NOT NULL,
        PRIMARY KEY (key_id, month)
    )
    """,
    """
    CREATE TABLE buckets (
        key_id TEXT NOT NULL PRIMARY KEY,
        tokens BIGINT NOT NULL,
        updated_at BIGINT NOT NULL
    )
    """,
)

_STEPS: dict[int, Callable[[sa.Connection], None]] = {1: _from_1_to_2}
"""By the version that a step starts from."""
