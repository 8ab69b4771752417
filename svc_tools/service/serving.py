"""Running the service as a program, and the app that serves it there and embedded.

The program is uvicorn in one process, or several workers behind one socket, which is bound before
uvicorn starts, so that the port is known and reserved.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import TYPE_CHECKING

import uvicorn
from pydantic import SecretStr

from svc_tools.base.loopback import (
    UVICORN,
    ListenError,
    base_address,
    is_loopback,
    listen,
    make_server,
)
from svc_tools.base.operating_system import is_windows
from svc_tools.service.app import create_app
from svc_tools.service.books import BookKeeper, keep_book
from svc_tools.service.database import LOCAL_ACCOUNT, Database
from svc_tools.service.errors import StartError
from svc_tools.service.faults import FaultPlan
from svc_tools.service.keys import KeyRing, KeyStore, checked_key
from svc_tools.service.problems import log, log_to_stderr, logged_to_stderr
from svc_tools.service.ratebook.own import own_book_path
from svc_tools.service.start import default_path, new_key
from svc_tools.service.store import Store

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

    from fastapi import FastAPI


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
        return make_app(database, books, self.run_key, loopback=self.loopback, faults=self.faults)

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
            echo(f"Serving on {base_address(listener)} (rate book {book}{with_workers})")
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
            make_server(app, lambda: None).run([listener])
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
    echo("Save it now: it is shown only once, and only its hash is stored.")
    store.create(made, account=LOCAL_ACCOUNT, name="first start")


def make_app(
    database: Database,
    books: BookKeeper,
    run_key: SecretStr | None,
    *,
    loopback: bool,
    faults: FaultPlan | None = None,
) -> FastAPI:
    """The app over a database, for its keys and one of this run."""
    return create_app(
        books=books,
        store=Store(database),
        keys=KeyRing(KeyStore(database), run_key),
        loopback=loopback,
        faults=faults,
    )
