"""Running the service: embedded in this process (`start`), or as a program (`serve`).

Embedded, it listens on a free loopback port and serves from a background thread: one per process
and database. It ends with `close()`, or quietly when the process ends; a forked child starts its
own. The caller's event loop and signal handlers are left alone.

As a program it is uvicorn in one process, or several workers behind one socket, which is bound
before uvicorn starts, so that the port is known and reserved.
"""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import signal
import threading
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from pydantic import SecretStr

from svc_tools.loopback import (
    UVICORN,
    ListenError,
    address_of,
    is_loopback,
    listen,
    serve_in_thread,
)
from svc_tools.operating_system import is_windows
from svc_tools.service.app import create_app
from svc_tools.service.database import LOCAL_ACCOUNT, Database, default_path, is_address
from svc_tools.service.envelope import log, log_to_stderr, logged_to_stderr
from svc_tools.service.errors import BookUnavailableError
from svc_tools.service.errors import StartError as StartError  # noqa: PLC0414 - callers catch it
from svc_tools.service.faults import FaultPlan
from svc_tools.service.health import BookKeeper, keep_book
from svc_tools.service.keys import KeyRing, KeyStore, checked_key, new_key
from svc_tools.service.ratebook.imports.database import own_book_path
from svc_tools.service.store import Store

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from fastapi import FastAPI

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
        database = Database(db)
        self.database_name = database.name
        self.api_key: SecretStr = new_key()
        app = _app(database, self._books, self.api_key, loopback=True)
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


_MOST_WORKERS = 64
_SETTINGS = "SVC_TOOLS_WORKER"
"""The environment variable that passes the settings to uvicorn's workers: their arguments would be
visible to every user of the machine. A worker removes it from its own environment."""


@dataclass(frozen=True, slots=True)
class _Settings:
    """The settings of every process that serves."""

    db: SecretStr
    run_key: SecretStr | None
    loopback: bool
    faults: FaultPlan | None

    def app(self, database: Database, books: BookKeeper) -> FastAPI:
        return _app(database, books, self.run_key, loopback=self.loopback, faults=self.faults)

    def to_json(self) -> str:
        key = self.run_key and self.run_key.get_secret_value()
        plan = self.faults and (self.faults.text, self.faults.seed)
        return json.dumps([self.db.get_secret_value(), key, self.loopback, plan])

    @classmethod
    def from_json(cls, text: str) -> _Settings:
        db, key, loopback, plan = json.loads(text)
        run_key = None if key is None else SecretStr(key)
        return cls(SecretStr(db), run_key, loopback, plan and FaultPlan.read(*plan))


def serve(
    host: str,
    port: int,
    db: Path | SecretStr | None,
    api_key: SecretStr | None,
    echo: Callable[[str], None],
    *,
    workers: int = 1,
    faults: FaultPlan | None = None,
) -> None:
    """Run the service in the foreground until it is interrupted: see `admin.serve`."""
    run_key = None if api_key is None else checked_key(api_key)
    if not 1 <= workers <= _MOST_WORKERS:
        raise StartError(f"--workers is {workers}; expected 1 to {_MOST_WORKERS}")
    if workers > 1 and is_windows():
        raise StartError("Several workers need Linux or macOS; leave --workers out for one")
    if not isinstance(db, SecretStr):
        db = SecretStr(str((db or default_path()).absolute()))
    try:
        listener = listen(host, port)
    except ListenError as error:
        raise StartError(str(error)) from error
    with listener, logged_to_stderr(), suppress(KeyboardInterrupt):
        settings = _Settings(db, run_key, is_loopback(listener.getsockname()[0]), faults)
        database = Database(db)
        books = keep_book(own_book_path())
        book = books.summary

        def announce() -> None:
            with_workers = f", {workers} workers" if workers > 1 else ""
            echo(f"Serving on {address_of(listener)} (rate book {book}{with_workers})")
            echo(f"Database: {database.name}")
            if run_key is None:
                _print_key(KeyStore(database), echo)
            if faults is not None:
                echo(f"Faults on purpose: {faults.text} (seed {faults.seed})")
            if not settings.loopback:
                echo(
                    f"Warning: {host} can be reached from other machines, and requests (their"
                    " keys too) travel unencrypted. Listen on 127.0.0.1, or put TLS in front."
                )
            echo("Stop with Ctrl+C.")

        if workers == 1:
            app = settings.app(database, books)
            announce()
            uvicorn.Server(uvicorn.Config(app, **UVICORN)).run(sockets=[listener])
            return
        del books  # each worker reads its own
        threading.Thread(
            target=_announce_when_served, args=(listener, announce), daemon=True
        ).start()
        os.environ[_SETTINGS] = settings.to_json()
        uvicorn.run(
            f"{__name__}:{worker_app.__name__}",
            factory=True,
            workers=workers,
            fd=listener.fileno(),
            # A worker that does not respond within this time is killed and replaced: long enough to
            # start on a busy machine. Not longer, because uvicorn (0.54) also waits this
            # long for a worker that ends between two steps of its check, and Ctrl+C with it.
            timeout_worker_healthcheck=15,
            **UVICORN,
        )


def _announce_when_served(listener: socket.socket, announce: Callable[[], None]) -> None:
    """Wait for the first worker: the socket listens already, and a connection to it is queued."""
    host, port = listener.getsockname()[:2]
    with closing(HTTPConnection(host, port)) as connection:
        connection.request("GET", "/healthz")
        connection.getresponse()
    announce()


def worker_app() -> FastAPI:
    """The app of one worker: uvicorn calls this in each process."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    log_to_stderr()
    settings = _Settings.from_json(os.environ.pop(_SETTINGS))
    try:
        return settings.app(Database(settings.db), keep_book(own_book_path()))
    except StartError as error:
        log.error("A worker cannot start: %s", error)
        raise SystemExit(1) from None


def _end_with_parent() -> None:
    """Stop this worker when its parent is gone: else an orphan would keep the port."""
    if parent := multiprocessing.parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _print_key(store: KeyStore, echo: Callable[[str], None]) -> None:
    """Make and print a key where no key is stored yet."""
    if store.any():
        echo("API key: the one shown when this database was made; if it is lost, give one")
        echo("for this run with --api-key, or make one with `svc-tools keys create`.")
        return
    made = new_key()
    # printed first: a key that was stored but never seen would be useless
    echo(f"API key: {made.get_secret_value()}")
    echo("Keep it: it is shown this once, and only its hash is stored.")
    store.create(made, account=LOCAL_ACCOUNT, name="first start")


def _app(
    database: Database,
    books: BookKeeper,
    run_key: SecretStr | None,
    *,
    loopback: bool,
    faults: FaultPlan | None = None,
) -> FastAPI:
    return create_app(
        books=books,
        store=Store(database),
        keys=KeyRing(KeyStore(database), run_key),
        loopback=loopback,
        faults=faults,
    )
