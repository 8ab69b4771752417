"""The database on both engines: what is kept, who waits for whom, and what is said in trouble."""

from __future__ import annotations

import gc
import os
import socket
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from pydantic import SecretStr
from support.postgres import GUARDED, USER

from svc_tools.service import database as database_module
from svc_tools.service.database import Database, accounts, schema_version
from svc_tools.service.errors import StoreBusyError, StoreError, StoreUnavailableError
from svc_tools.service.store import LimitStore

OURS = ["accounts", "api_keys", "nexus", "schema_version", "usage"]
OPEN_FILES = Path("/proc/self/fd")


@pytest.fixture
def opened(database_url):
    """A database of each kind."""
    database = Database(database_url)
    yield database
    database.close()


@pytest.fixture
def impatient(monkeypatch):
    """Waiting for others ends soon."""
    monkeypatch.setattr(database_module, "_BUSY_SECONDS", 0.2)


def add(database, *names):
    with database.write() as connection:
        for name in names:
            connection.execute(accounts.insert().values(account=name, created_at="now"))


def names(database):
    with database.read() as connection:
        return sorted(connection.execute(sa.select(accounts.c.account)).scalars())


def rename(connection, old, new):
    connection.execute(accounts.update().values(created_at=new).where(accounts.c.account == old))


def set_local(database, value):
    with database.write() as connection:
        rename(connection, "local", value)


def test_a_new_database_has_its_tables_and_the_local_account(opened):
    with opened.read() as connection:
        assert sorted(sa.inspect(connection).get_table_names()) == OURS
    assert names(opened) == ["local"]
    opened.ping()


def test_a_write_that_fails_leaves_no_trace(opened):
    with suppress(RuntimeError), opened.write() as connection:
        connection.execute(accounts.delete())
        raise RuntimeError
    assert names(opened) == ["local"]


def test_a_queue_of_this_process_is_not_waited_in_forever(impatient, opened):
    with ThreadPoolExecutor(1) as pool, opened.write() as connection:
        rename(connection, "local", "held")
        waiting = pool.submit(set_local, opened, "lost")
        with pytest.raises(StoreBusyError):
            waiting.result(timeout=20)


@pytest.fixture
def on_postgres(postgres):
    """A new database of the server: its address."""
    name = postgres.new_database()
    yield postgres.url(name)
    postgres.drop(name)


def test_a_statement_that_takes_too_long_is_ended(impatient, on_postgres):
    database = Database(on_postgres)
    with pytest.raises(StoreBusyError), database.read() as connection:
        connection.exec_driver_sql("SELECT pg_sleep(60)")
    assert names(database) == ["local"]
    database.close()


@pytest.fixture
def sockets_left_open():
    """The driver leaves the socket of a handshake that failed to the garbage collector."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        yield
        gc.collect()


@pytest.mark.parametrize("sslmode", ["disable", "prefer"])
@pytest.mark.usefixtures("sockets_left_open")
def test_a_server_that_never_answers_is_not_waited_for(impatient, sslmode):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(StoreError, match="cannot be used"):
            Database(f"postgresql://user@127.0.0.1:{port}/db?sslmode={sslmode}")


# --- gone, and back


def in_trouble(database, said):
    """It says so whatever is asked of it."""
    with pytest.raises(StoreUnavailableError, match=said):
        database.ping()
    with pytest.raises(StoreUnavailableError, match=said):
        names(database)
    with pytest.raises(StoreUnavailableError, match=said):
        add(database, "lost")


def test_a_server_that_stops_is_used_once_it_runs_again(postgres, caplog):
    name = postgres.new_database()
    database = Database(postgres.url(name))
    with ExitStack() as stack:
        # connections that are open and idle, as those of a busy service
        for _ in range(3):
            stack.enter_context(database.read()).execute(sa.select(1))
    postgres.stop()
    in_trouble(database, "Connection refused")
    postgres.start()
    assert names(database) == ["local"]
    assert caplog.text == ""  # no stack traces of the pool's in the service's log
    database.close()
    postgres.drop(name)


def test_a_transaction_that_the_server_ends_is_unavailable_not_a_failure(postgres, caplog):
    name = postgres.new_database()
    database = Database(postgres.url(name))

    def work():
        with database.write() as connection:
            rename(connection, "local", "lost")
            postgres.end_connections(name)
            rename(connection, "local", "lost again")

    with pytest.raises(StoreUnavailableError):
        work()
    assert names(database) == ["local"]
    assert caplog.text == ""
    database.close()
    postgres.drop(name)


def test_only_counts_of_lookups_do_not_wait_for_the_disk(db):
    with closing(Database(db)) as database:
        for options, level in (({}, 2), ({"synced": False}, 1), ({}, 2)):  # FULL and NORMAL
            with database.write(**options) as connection:
                assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == level


def test_a_damaged_file_is_reported_and_the_copy_put_back_is_used(db):
    database = Database(db)
    add(database, "kept")
    good = db.read_bytes()
    db.write_bytes(b"damaged!" * 2000)
    in_trouble(database, "not a database")
    db.write_bytes(good[:100] + bytes(len(good) - 100))
    in_trouble(database, "malformed|damaged|empty|no such table")
    db.write_bytes(good)
    assert names(database) == ["kept", "local"]


@pytest.mark.skipif(not OPEN_FILES.is_dir(), reason="needs a list of what a process has open")
@pytest.mark.parametrize("keep", [0, 100])
def test_a_damaged_file_is_not_held_open(db, keep):
    database = Database(db)
    db.write_bytes(db.read_bytes()[:keep] + b"damaged!" * 2000)
    caught = []  # an error holds on to the frames that it came through
    for ask in (database.ping, lambda: names(database), lambda: add(database, "lost")):
        with pytest.raises(StoreUnavailableError) as error:
            ask()
        caught.append(error.value)
    opened = [os.path.realpath(link) for link in OPEN_FILES.iterdir()]
    # whoever mends it would, beside a connection to what was there before, lose what they write
    assert [path for path in opened if path.startswith(str(db))] == []


def test_an_empty_file_in_the_place_of_the_database_is_not_filled(db):
    database = Database(db)
    good = db.read_bytes()
    db.write_bytes(b"")
    in_trouble(database, "no such table|is empty; put the database back")
    assert db.read_bytes() == b""
    db.write_bytes(good)
    assert names(database) == ["local"]


def test_a_table_that_is_missing_is_no_sign_of_life(opened, database_url):
    with opened.write() as connection:
        connection.exec_driver_sql("DROP TABLE usage")
    with pytest.raises(StoreUnavailableError, match="lacks the table usage; put a copy of it back"):
        opened.ping()
    with pytest.raises(StoreError, match="lacks the table usage"):
        Database(database_url)


# --- of another release, or of another program


@contextmanager
def raw(url):
    """A transaction of somebody who knows nothing of the service."""
    is_server = url.startswith("postgresql://")
    address = url.replace("://", "+pg8000://") if is_server else f"sqlite:///{url}"
    engine = sa.create_engine(address)
    with engine.begin() as connection:
        yield connection
    engine.dispose()


@pytest.mark.parametrize("version", [1, 3])
def test_a_database_of_another_release_is_refused_and_left_alone(opened, database_url, version):
    add(opened, "kept")
    with raw(database_url) as connection:
        connection.execute(schema_version.update().values(version=version))
    said = f"schema version {version}, this release expects 2; use the release that made it, or"
    with pytest.raises(StoreError, match=f"{said} name another"):
        Database(database_url)
    with pytest.raises(StoreUnavailableError, match=said):  # put back while it is in use
        opened.ping()
    assert names(opened) == ["kept", "local"]


def test_a_database_of_earlier_releases_with_the_same_version_goes_on_working(database_url):
    Database(database_url).close()
    with raw(database_url) as connection:
        connection.exec_driver_sql("CREATE TABLE buckets (key_id TEXT PRIMARY KEY)")
        connection.exec_driver_sql(
            "ALTER TABLE usage ADD COLUMN leased BIGINT DEFAULT '0' NOT NULL"
        )
    with closing(Database(database_url)) as database:
        database.ping()
        assert LimitStore(database).count_lookup("key_a", 2, "2026-11") == 1


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE nexus (x TEXT)"],
        ["CREATE TABLE schema_version (version INTEGER)"],
        ["CREATE TABLE schema_version (installed_rank INTEGER)", "CREATE TABLE accounts (x TEXT)"],
    ],
)
def test_a_database_of_another_program_gets_no_tables(database_url, db, statements):
    db.parent.mkdir()
    with raw(database_url) as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    with pytest.raises(StoreError, match="a database of another program; name another"):
        Database(database_url)
    with raw(database_url) as connection:
        assert len(sa.inspect(connection).get_table_names()) == len(statements)


# --- what is given


def test_a_file_that_is_no_database_is_left_alone(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but somebody's notes" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"notes\.txt cannot be used.*--db"):
        Database(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["with space", "50%", "a?b#c", "\N{EURO SIGN}", "file:x"])
def test_a_file_may_have_any_name(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    database = Database(name)
    monkeypatch.chdir("/")  # the place stays where it was when it was named
    add(database, "kept")
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert names(Database(tmp_path / name)) == ["kept", "local"]


SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("postgresql:/user:{}@host/db", "kind 'postgresql' is not supported.*postgresql://"),
        ("mysql://user:{}@host/db", "kind 'mysql' is not supported.*SQLite file.*postgresql://"),
        ("postgresql://user:p@{}@host/db", "not understood.*percent-encoded"),
        ("postgresql://user:{}@host/db?port=x", "port 'x'"),
        ("postgresql://user:{}@host/db?sslmode=maybe", "sslmode: given 'maybe', expected one of"),
        ("postgresql://user:{}@host/db?sslrootcert=x", "needs sslmode=verify-full"),
        ("postgresql://user:{}@host/db?sslmode=verify-full&sslrootcert=/x", "/x cannot be read"),
        ("postgresql://user@host/db?password={}", "option 'password'; expected only host"),
        ("postgresql://user:{}@127.0.0.1:1/db", "127.0.0.1:1/db cannot be used.*--db"),
        ("postgresql://user:{}@/db?host=/nowhere", "host=.*cannot be used"),
    ],
)
def test_an_address_that_cannot_be_used_is_explained_without_its_password(target, said):
    with pytest.raises(StoreError, match=said) as error:
        Database(target.format(SECRET))
    seen = error.value
    while seen is not None:
        assert SECRET not in str(seen) + repr(seen)
        seen = seen.__cause__


def test_a_secret_address_is_used_and_not_shown(postgres):
    name = postgres.new_database()
    url = postgres.url(name).replace("@", f":{SECRET}@")
    database = Database(SecretStr(url))
    assert names(database) == ["local"]
    assert database.name == postgres.url(name).replace("@", ":***@")
    assert SECRET not in repr(database)
    database.close()
    postgres.drop(name)


def test_a_unix_socket_works_too(postgres):
    name = postgres.new_database()
    database = Database(postgres.socket_url(name))
    add(database, "kept")
    assert names(database) == ["kept", "local"]
    database.close()
    postgres.drop(name)


def used_tls(url):
    database = Database(url)
    with database.read() as connection:
        used = connection.exec_driver_sql(
            "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
        ).scalar_one()
    database.close()
    return used


@pytest.mark.usefixtures("sockets_left_open")
def test_encryption_is_used_where_it_is_offered_and_the_server_checked_where_asked(
    postgres, on_postgres, tmp_path
):
    assert not used_tls(on_postgres)
    with pytest.raises(StoreError, match="refuses SSL"):
        Database(f"{on_postgres}?sslmode=require")
    with postgres.encrypted() as certificate:
        assert used_tls(on_postgres)
        assert used_tls(f"{on_postgres}?sslmode=require")
        assert not used_tls(f"{on_postgres}?sslmode=disable")
        checked = f"{on_postgres}?sslmode=verify-full&sslrootcert={certificate}"
        assert used_tls(checked)
        with pytest.raises(StoreError, match=r"cannot be used.*certificate verify failed"):
            Database(f"{on_postgres}?sslmode=verify-full")
        with pytest.raises(StoreError, match=r"cannot be used.*(hostname|not valid for)"):
            Database(checked.replace("127.0.0.1", "localhost"))


def test_a_password_is_asked_for_and_not_repeated(postgres, on_postgres):
    secret = "p/:@ s%"
    postgres.execute(f"CREATE ROLE {GUARDED} LOGIN SUPERUSER PASSWORD '{secret}'")
    url = on_postgres.replace(USER, GUARDED)
    assert names(Database(url.replace("@", f":{quote(secret, safe='')}@"))) == ["local"]
    with pytest.raises(StoreError, match='password authentication failed for user "guarded"'):
        Database(url.replace("@", ":wrong-wrong@"))
    with pytest.raises(StoreError, match="password authentication failed"):
        Database(url)
    postgres.drop(on_postgres.rpartition("/")[2])  # its tables are the user's
    postgres.execute(f"DROP ROLE {GUARDED}")


@pytest.mark.parametrize(
    "settings",
    ["default_transaction_isolation = 'serializable'", "client_encoding = 'latin1'"],
)
def test_settings_of_the_server_s_own_change_nothing(postgres, on_postgres, settings):
    postgres.execute(f"ALTER DATABASE {on_postgres.rpartition('/')[2]} SET {settings}")
    database = Database(on_postgres)
    add(database, "\N{EURO SIGN}")
    assert names(database) == ["local", "\N{EURO SIGN}"]
    with database.read() as connection:
        assert connection.get_isolation_level() == "READ COMMITTED"
    database.close()
