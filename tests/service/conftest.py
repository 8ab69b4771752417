"""Shared by the service's tests: the app over real loopback HTTP and a real SQLite file."""

from __future__ import annotations

import socket
import ssl
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from svc_tools.service.app import create_app
from svc_tools.service.background import BackgroundServer
from svc_tools.service.keys import KeyRing, new_key
from svc_tools.service.ratebook import load_book
from svc_tools.service.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

TODAY = date(2026, 11, 21)
# loading the certificates for a client that speaks plain HTTP would be most of a test's time
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass(frozen=True)
class Running:
    """A service that runs, and a client that holds its key."""

    base_url: str
    key: str
    store: Store
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


def _run(stack: ExitStack, db: Path, **options: Any) -> Running:
    key = new_key()
    store = Store(db)
    app = create_app(
        **{
            "book": load_book(),
            "store": store,
            "keys": KeyRing(store, key),
            "loopback": True,
            "today": lambda: TODAY,
            **options,
        }
    )
    server = BackgroundServer(app)
    stack.callback(server.close)
    secret = key.get_secret_value()
    client, stranger = (
        stack.enter_context(
            httpx.Client(base_url=server.base_url, headers=headers, trust_env=False, verify=NO_TLS)
        )
        for headers in ({"X-API-Key": secret}, {})
    )
    return Running(server.base_url, secret, store, client, stranger)


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Where a test's database goes."""
    return tmp_path / "data" / "service.db"


@pytest.fixture
def run(db: Path) -> Iterator[Callable[..., Running]]:
    """Starts a service of the test's own; options go to `create_app`."""
    with ExitStack() as stack:
        yield lambda **options: _run(stack, db, **options)


@pytest.fixture
def service(run: Callable[..., Running]) -> Running:
    """A service of the test's own."""
    return run()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service for tests that leave nothing behind in it."""
    with ExitStack() as stack:
        yield _run(stack, tmp_path_factory.mktemp("shared") / "service.db")
