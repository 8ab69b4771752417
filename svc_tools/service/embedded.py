"""The service inside this process, on a free loopback port, in a background thread.

One per process and database. It ends with `close()`, or quietly when the process ends; a forked
child starts its own. The caller's event loop and signal handlers are left alone.
"""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from svc_tools.loopback import serve_in_thread
from svc_tools.service.app import create_app
from svc_tools.service.database import Database, default_path, is_address
from svc_tools.service.errors import BookUnavailableError
from svc_tools.service.errors import StartError as StartError  # noqa: PLC0414 - callers catch it
from svc_tools.service.health import keep_book
from svc_tools.service.keys import KeyRing, KeyStore, new_key
from svc_tools.service.ratebook.imports.database import own_book_path
from svc_tools.service.store import Store

if TYPE_CHECKING:
    from svc_tools.service.ratebook import Book


def start(db: Path | SecretStr | None = None) -> EmbeddedService:
    """The running service of this process over a database; started where it does not run yet.

    Args:
        db: the path of a database or a `postgresql://` address, or `None` for the user's own, as
            in `svc-tools serve`.

    Raises:
        StartError: it cannot start; `StoreError` where the database is the reason.
    """
    return _services.start(_target(db))


def running(db: Path | SecretStr | None = None) -> EmbeddedService | None:
    """The service of this process over a database, where it runs; see `start`."""
    return _services.running(_target(db))


class EmbeddedService:
    """A running service over one database. `start()` makes these.

    Attributes:
        base_url: where it listens, such as `http://127.0.0.1:49152`.
        api_key: the key of this run, for the local account; in memory only.
        database_name: the database, without a password.
    """

    def __init__(self, db: Path | SecretStr) -> None:
        self._books = keep_book(own_book_path())
        try:
            self._book = self._books.book
        except BookUnavailableError as error:
            raise StartError(f"The rate book cannot be read: {error.__cause__}") from error
        store = Store(Database(db))
        self.database_name = store.database.name
        self.api_key: SecretStr = new_key()
        keys = KeyRing(KeyStore(store.database), self.api_key)
        app = create_app(books=self._books, store=store, keys=keys, loopback=True)
        try:
            self._server = serve_in_thread(app, name="svc-tools-service")
        except (OSError, RuntimeError) as error:
            raise StartError(f"The service is not running: {error}") from error
        self.base_url = self._server.base_url

    def __repr__(self) -> str:
        """Where it listens and which book it uses; not the key."""
        return f"EmbeddedService(base_url={self.base_url!r}, book_edition={self.book_edition!r})"

    @property
    def book_edition(self) -> str:
        """The edition of the rate book in use, or of the last one if that broke."""
        return self._last_book().edition

    @property
    def book_digest(self) -> str:
        """The SHA-256 of that book, in hex; it changes when the user imports files."""
        return self._last_book().digest

    def _last_book(self) -> Book:
        self._books.refresh()  # another process may have imported files
        with suppress(BookUnavailableError):
            self._book = self._books.book
        return self._book

    @property
    def running(self) -> bool:
        """Whether it serves requests."""
        return self._server.running

    def close(self) -> None:
        """Stop: requests under way are finished, then the port is free. Closing twice is fine."""
        self._server.close()

    def leave_to_parent(self) -> None:
        """In a forked child: this service is the parent's."""
        self._server.leave_to_parent()


class _Services:
    """The running services of this process by database."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[Path | SecretStr, EmbeddedService] = {}
        # What a forked child inherited; held here, so that no finaliser of it runs in the child.
        self._inherited: list[EmbeddedService] = []

    def start(self, db: Path | SecretStr) -> EmbeddedService:
        with self._lock:
            service = self._running.get(db)
            if service is None or not service.running:
                service = self._running[db] = EmbeddedService(db)
            return service

    def running(self, db: Path | SecretStr) -> EmbeddedService | None:
        with self._lock:
            service = self._running.get(db)
            return service if service is not None and service.running else None

    def close(self) -> None:
        with self._lock:
            services = list(self._running.values())
            self._running.clear()
        for service in services:
            service.close()

    def leave_to_parent(self) -> None:
        self._lock = threading.Lock()  # a thread that is not here may hold the parent's
        for service in self._running.values():
            service.leave_to_parent()
            self._inherited.append(service)
        self._running = {}


def _target(db: Path | SecretStr | None) -> Path | SecretStr:
    if isinstance(db, SecretStr):
        target = db.get_secret_value()
        if is_address(target):
            return db
        db = Path(target)
    return Path(db or default_path()).resolve()


_services = _Services()
atexit.register(_services.close)
if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_services.leave_to_parent)
