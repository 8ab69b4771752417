"""The service as a program: one process, or several workers behind one socket."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.service.app import create_app
from svc_tools.service.book_keeper import keep_book
from svc_tools.service.database import Database, default_path
from svc_tools.service.errors import StartError
from svc_tools.service.key_store import KeyStore
from svc_tools.service.keys import LOCAL_ACCOUNT, KeyRing, checked_key, hash_key, new_key
from svc_tools.service.ratebook.imports.database import own_book_path
from svc_tools.service.request_log import logged_to_stderr
from svc_tools.service.server import Server, address_of, bind, listens_on_loopback
from svc_tools.service.store import Store
from svc_tools.service.workers import MOST_WORKERS, Workers, can_have_workers

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from pathlib import Path

    from fastapi import FastAPI
    from pydantic import SecretStr

    from svc_tools.service.faults import FaultPlan

__all__ = ["Job", "serve"]


@dataclass(frozen=True, slots=True)
class Job:
    """What every process that serves has to know; it travels to workers over a pipe.

    Attributes:
        db: the database, as `Database` takes it.
        run_key: a key that is valid for this run, if any.
        loopback: whether the server listens on this machine only.
        faults: what goes wrong on purpose, if anything.
    """

    db: Path | SecretStr
    run_key: SecretStr | None
    loopback: bool
    faults: FaultPlan | None

    def app(self) -> tuple[FastAPI, str]:
        """The app, and the rate book that it answers from in a few words.

        Raises:
            StartError: the database cannot be used.
        """
        database = Database(self.db)
        books = keep_book(own_book_path())
        app = create_app(
            books=books,
            store=Store(database),
            keys=KeyRing(KeyStore(database), self.run_key),
            loopback=self.loopback,
            faults=self.faults,
        )
        return app, books.told


def serve(
    host: str,
    port: int,
    db: Path | SecretStr | None,
    api_key: str | None,
    echo: Callable[[str], None],
    *,
    workers: int = 1,
    faults: FaultPlan | None = None,
) -> None:
    """Run the service in the foreground until it is interrupted: `admin.serve` has the words."""
    run_key = None if api_key is None else checked_key(api_key)
    if not 1 <= workers <= MOST_WORKERS:
        raise StartError(f"--workers is {workers}; expected 1 to {MOST_WORKERS}")
    if workers > 1 and not can_have_workers():
        raise StartError("Several workers need Linux or macOS; leave --workers out: one serves")
    with bind(host, port) as listener:
        target = db or default_path()
        job = Job(target, run_key, listens_on_loopback(listener), faults)
        store = KeyStore(Database(target))  # said before anything else where it cannot be used

        def say(edition: str) -> None:
            with_workers = f", {workers} workers" if workers > 1 else ""
            echo(f"Serving on {address_of(listener)} (rate book {edition}{with_workers})")
            echo(f"Database: {store.database.name}")
            if run_key is None:
                _say_key(store, echo)
            if faults is not None:
                echo(f"Faults on purpose: {faults.text} (seed {faults.seed})")
            if not job.loopback:
                echo(
                    f"Warning: {host} can be reached from other machines, and requests (their"
                    " keys too) travel unencrypted. Listen on 127.0.0.1, or put TLS in front."
                )
            echo("Stop with Ctrl+C.")

        if workers > 1:
            with logged_to_stderr():
                Workers(job, listener, workers).run(say)
        else:
            _serve_alone(job, listener, say)


def _serve_alone(job: Job, listener: socket.socket, say: Callable[[str], None]) -> None:
    with logged_to_stderr(), suppress(KeyboardInterrupt):
        app, edition = job.app()
        Server(app, on_started=lambda: say(edition)).run(sockets=[listener])


def _say_key(store: KeyStore, echo: Callable[[str], None]) -> None:
    """Make and show a key where there is none yet."""
    if store.any():
        echo("API key: the one shown when this database was made; if it is lost, give one")
        echo("for this run with --api-key, or make one with `svc-tools keys create`.")
        return
    made = new_key()
    # said first: a key that was stored but never seen would be of no use
    echo(f"API key: {made.get_secret_value()}")
    echo("Keep it: it is shown this once, and only its hash is stored.")
    store.create(hash_key(made), account=LOCAL_ACCOUNT, name="first start")
