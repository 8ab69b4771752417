"""Databases of older releases are brought up to this one's schema, whole or not at all."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import sqlalchemy as sa

from svc_tools.service import migrations
from svc_tools.service.database import Database
from svc_tools.service.errors import StoreError, StoreUnavailableError
from svc_tools.service.key_store import KeyStore
from svc_tools.service.keys import hash_key
from svc_tools.service.postgres_wire import connect, parsed
from svc_tools.service.store import Store

# As the release with schema version 1 made it, in each engine's words.
VERSION_1 = [
    "CREATE TABLE schema_version ({integer_key})",
    """
    CREATE TABLE accounts (
        account TEXT NOT NULL,
        created_at TEXT NOT NULL,
        PRIMARY KEY (account)
    )
    """,
    """
    CREATE TABLE api_keys (
        sha256 TEXT NOT NULL,
        account TEXT NOT NULL,
        created_at TEXT NOT NULL,
        PRIMARY KEY (sha256),
        FOREIGN KEY(account) REFERENCES accounts (account)
    )
    """,
    """
    CREATE TABLE nexus (
        account TEXT NOT NULL,
        state TEXT NOT NULL,
        nexus_type TEXT NOT NULL,
        registered_at TEXT,
        address TEXT,
        notes TEXT,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        PRIMARY KEY (account, state, nexus_type),
        FOREIGN KEY(account) REFERENCES accounts (account)
    )
    """,
    "INSERT INTO schema_version VALUES (1)",
    "INSERT INTO accounts VALUES ('local', 'then'), ('other', 'later')",
]
INTEGER_KEY = {
    "sqlite": "version INTEGER NOT NULL, PRIMARY KEY (version)",
    "postgresql": "version SERIAL NOT NULL, PRIMARY KEY (version)",
}
KEYS = [b"first key", b"second key", b"key of the other account"]
FILLED = [
    *(
        f"INSERT INTO api_keys VALUES ('{hash_key(key)}', '{account}', 'then')"  # noqa: S608
        for key, account in zip(KEYS, ["local", "local", "other"], strict=True)
    ),
    "INSERT INTO nexus VALUES ('local', 'TX', 'physical', '2024-01-01', 'A', 'N', 'c', 'u')",
    "INSERT INTO nexus VALUES ('other', 'TX', 'economic', NULL, NULL, NULL, 'c', 'u')",
]


def engine_of(url):
    if url.startswith("postgresql"):
        return sa.create_engine("postgresql+pg8000://", creator=lambda: connect(parsed(url)))
    return sa.create_engine(f"sqlite:///{url}")


@contextmanager
def raw(url):
    """A transaction of somebody who knows nothing of the service."""
    engine = engine_of(url)
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


@pytest.fixture
def old(database_url, db):
    """A database of schema version 1 with keys and records; its address."""
    db.parent.mkdir()
    kind = "postgresql" if database_url.startswith("postgresql") else "sqlite"
    with raw(database_url) as connection:
        for statement in VERSION_1 + FILLED:
            connection.exec_driver_sql(statement.format(integer_key=INTEGER_KEY[kind]))
    return database_url


def schema(url):
    """All that the engine says of the tables, but for the order of columns."""
    with raw(url) as connection:
        seen = sa.inspect(connection)
        return {
            table: {
                "columns": {
                    column["name"]: (
                        str(column["type"]),
                        column["nullable"],
                        column["default"],
                    )
                    for column in seen.get_columns(table)
                },
                "key": seen.get_pk_constraint(table)["constrained_columns"],
                "unique": [found["column_names"] for found in seen.get_unique_constraints(table)],
                "foreign": [
                    (found["constrained_columns"], found["referred_table"])
                    for found in seen.get_foreign_keys(table)
                ],
            }
            for table in seen.get_table_names()
        }


def contents(url):
    """Every row of every table."""
    with raw(url) as connection:
        return {
            table: sorted(
                connection.execute(sa.select(sa.text("*")).select_from(sa.table(table))).all(),
                key=repr,
            )
            for table in sa.inspect(connection).get_table_names()
        }


def accounts_of_keys(database):
    store = KeyStore(database)
    return [store.find(hash_key(key))[1].account for key in KEYS]


def test_keys_and_records_of_before_go_on_working(old):
    before = contents(old)
    store = Store(Database(old))
    assert accounts_of_keys(store.database) == ["local", "local", "other"]
    assert contents(old)["nexus"] == before["nexus"]
    (record,) = store.list_nexus("local")
    assert (record["state"], record["notes"], record["created_at"]) == ("TX", "N", "c")
    store.put_nexus("other", "TX", "economic", {"notes": "now"})
    with store.database.read() as connection:
        rows = connection.exec_driver_sql(
            "SELECT a.status, k.plan, k.status, k.revoked_at, k.monthly_quota, k.created_at"
            " FROM api_keys k JOIN accounts a ON a.account = k.account"
        ).all()
        ids = connection.exec_driver_sql("SELECT id FROM api_keys").scalars().all()
    assert rows == [("active", "unlimited", None, None, None, "then")] * 3
    assert len(set(ids)) == 3
    assert all(name.startswith("key_") for name in ids)
    store.database.close()


def test_a_database_brought_up_is_as_a_new_one(old, tmp_path, request):
    Database(old).close()
    if old.startswith("postgresql"):
        server = request.getfixturevalue("postgres")
        new = server.url(server.new_database())
    else:
        new = str(tmp_path / "new.db")
    Database(new).close()
    assert schema(old) == schema(new)
    assert contents(old)["schema_version"] == contents(new)["schema_version"]


def test_bringing_up_happens_once(old):
    Database(old).close()
    after = contents(old)
    Database(old).close()
    assert contents(old) == after


@pytest.mark.parametrize("version", [0, 3, 99])
def test_a_database_of_another_release_is_refused_and_left_alone(old, version):
    with raw(old) as connection:
        connection.execute(sa.text("UPDATE schema_version SET version = :v"), {"v": version})
    before, made = contents(old), schema(old)
    said = f"schema version {version}, this release reads 1 to 2; use the release that made it"
    with pytest.raises(StoreError, match=said):
        Database(old)
    assert (contents(old), schema(old)) == (before, made)


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE nexus (x TEXT)"],
        ["CREATE TABLE schema_version (version INTEGER)"],
        ["CREATE TABLE schema_version (installed_rank INTEGER)", "CREATE TABLE accounts (x TEXT)"],
    ],
)
def test_a_database_of_another_program_is_left_alone(database_url, db, statements):
    db.parent.mkdir()
    with raw(database_url) as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    before = schema(database_url)
    with pytest.raises(StoreError, match="a database of another program; name another"):
        Database(database_url)
    assert schema(database_url) == before


def test_tables_of_others_may_stand_beside_ours_in_postgresql(postgres):
    name = postgres.new_database()
    postgres.execute("CREATE TABLE theirs (x TEXT)", database=name)
    Database(postgres.url(name)).close()
    postgres.drop(name)


def test_a_step_that_fails_leaves_the_old_version(old, monkeypatch):
    before, made = contents(old), schema(old)
    monkeypatch.setattr(
        migrations, "_TABLES_OF_2", (*migrations._TABLES_OF_2, "INSERT INTO nowhere VALUES (1)")
    )
    with pytest.raises(StoreError, match="nowhere"):
        Database(old)
    assert (contents(old), schema(old)) == (before, made)
    monkeypatch.undo()
    Database(old).close()
    assert contents(old)["nexus"] == before["nexus"]


INTERRUPTED = """
import os, sys
from svc_tools.service import migrations
from svc_tools.service.database import Database
step = migrations._STEPS[1]
def killed(connection):
    step(connection)
    os._exit(9)
migrations._STEPS[1] = killed
Database(sys.argv[1])
"""


def test_a_process_killed_in_between_leaves_the_old_version(old):
    before, made = contents(old), schema(old)
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, old], timeout=60, check=False, capture_output=True
    )
    assert done.returncode == 9, done.stderr
    assert (contents(old), schema(old)) == (before, made)
    Database(old).close()
    assert contents(old)["nexus"] == before["nexus"]


OPEN = "import sys; from svc_tools.service.database import Database; Database(sys.argv[1]).ping()"


@pytest.mark.parametrize("state", ["new", "old"])
def test_processes_that_start_together_all_work(database_url, state, request):
    if state == "old":
        request.getfixturevalue("old")

    def start(_):
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", OPEN, database_url],
            timeout=60,
            check=False,
            capture_output=True,
            text=True,
        )

    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(start, range(3)))
    assert [(each.returncode, each.stderr) for each in done] == [(0, "")] * 3
    assert contents(database_url)["schema_version"] == [(migrations.SCHEMA_VERSION,)]
    assert len(contents(database_url)["accounts"]) == (2 if state == "old" else 1)


def test_a_copy_of_before_put_back_is_brought_up_without_a_restart(db):
    database = Database(db)
    now = db.read_bytes()
    db.unlink()
    with raw(str(db)) as connection:
        for statement in VERSION_1 + FILLED:
            connection.exec_driver_sql(statement.format(integer_key=INTEGER_KEY["sqlite"]))
    store = Store(database)
    assert len(store.list_nexus("local")) == 1  # the records look the same in both versions
    with pytest.raises(StoreUnavailableError, match="no such column"):
        accounts_of_keys(database)
    assert accounts_of_keys(database) == ["local", "local", "other"]
    db.write_bytes(now)
    assert store.list_nexus("local") == []


def test_a_sign_of_life_is_one_of_a_database_of_this_release(old):
    database = Database(old)
    with raw(old) as connection:
        connection.exec_driver_sql("UPDATE schema_version SET version = 3")
    for _ in range(2):
        with pytest.raises(StoreUnavailableError, match="schema version 3, this release reads"):
            database.ping()
    with raw(old) as connection:
        connection.exec_driver_sql("UPDATE schema_version SET version = 2")
    database.ping()
    assert accounts_of_keys(database) == ["local", "local", "other"]
    database.close()
