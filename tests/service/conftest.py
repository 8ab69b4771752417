"""Shared by the service's tests: the app over real loopback HTTP and a real SQLite file."""

from __future__ import annotations

import socket
import ssl
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from support.postgres import Server, running

from svc_tools.base.loopback import serve_in_thread
from svc_tools.service.app import create_app
from svc_tools.service.books import BookKeeper
from svc_tools.service.database import Database
from svc_tools.service.keys import KeyRing, KeyStore
from svc_tools.service.ratebook import load_book
from svc_tools.service.start import new_key
from svc_tools.service.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ENGINES = ["sqlite", "postgresql"]
TODAY = date(2026, 11, 21)
# loading the certificates for a client that speaks plain HTTP would be most of a test's time
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass(frozen=True)
class Running:
    """A service that runs, and a client that holds its key."""

    base_url: str
    key: str
    store: Store
    keys: KeyStore
    client: httpx.Client
    stranger: httpx.Client

    def raw(self, head: bytes) -> bytes:
        """What the service answers to these bytes; the head says `Connection: close`."""
        address = httpx.URL(self.base_url)
        with socket.create_connection((address.host, address.port or 0), timeout=10) as connection:
            connection.sendall(head)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def anonymous(self, method: str, path: str, **options: Any) -> httpx.Response:
        """One request without the key."""
        return self.stranger.request(method, path, **options)


def _run(stack: ExitStack, db: Path | str, **options: Any) -> Running:
    key = new_key()
    store = Store(Database(db))
    keys = KeyStore(store.database)
    stack.callback(store.database.close)
    app = create_app(
        **{
            "books": BookKeeper(load_book),
            "store": store,
            "keys": KeyRing(keys, key),
            "loopback": True,
            "today": lambda: TODAY,
            **options,
        }
    )
    server = serve_in_thread(app)
    stack.callback(server.close)
    secret = key.get_secret_value()
    client, stranger = (
        stack.enter_context(
            httpx.Client(base_url=server.base_url, headers=headers, trust_env=False, verify=NO_TLS)
        )
        for headers in ({"X-API-Key": secret}, {})
    )
    return Running(server.base_url, secret, store, keys, client, stranger)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Where a test's database goes."""
    return tmp_path / "data" / "service.db"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server of the tests' own."""
    with running() as server:
        yield server


@contextmanager
def _empty_database(request: pytest.FixtureRequest, db: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(db)
        return
    server: Server = request.getfixturevalue("postgres")
    name = server.new_database()
    yield server.url(name)
    server.drop(name)


@pytest.fixture(params=ENGINES)
def database_url(request: pytest.FixtureRequest, db: Path) -> Iterator[str]:
    """What to give to `Database`: an empty database of the test's own, of each kind."""
    with _empty_database(request, db) as url:
        yield url


@pytest.fixture
def run(db: Path) -> Iterator[Callable[..., Running]]:
    """Starts a service of the test's own, over `database` if given; options go to `create_app`."""
    with ExitStack() as stack:
        yield lambda database=db, **options: _run(stack, database, **options)


@pytest.fixture
def service(run: Callable[..., Running]) -> Running:
    """A service of the test's own."""
    return run()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service for tests that leave nothing behind in it."""
    with ExitStack() as stack:
        yield _run(stack, tmp_path_factory.mktemp("shared") / "service.db")


@pytest.fixture(scope="module", params=ENGINES)
def shared_on_both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """The same, over a database of each kind."""
    db = tmp_path_factory.mktemp("shared") / "service.db"
    with _empty_database(request, db) as url, ExitStack() as stack:
        yield _run(stack, url)
