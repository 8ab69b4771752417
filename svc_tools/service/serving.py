"""The service as a program by uvicorn: one process, or several workers behind one socket.

The socket is bound before uvicorn starts, so that the port is known and reserved.
"""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import signal
import socket
import threading
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any

import uvicorn
from pydantic import SecretStr

from svc_tools.service.app import create_app
from svc_tools.service.database import LOCAL_ACCOUNT, Database, default_path
from svc_tools.service.envelope import log, log_to_stderr, logged_to_stderr
from svc_tools.service.errors import PortInUseError, StartError
from svc_tools.service.faults import FaultPlan
from svc_tools.service.guard import is_loopback_host
from svc_tools.service.health import BookKeeper, keep_book
from svc_tools.service.keys import KeyRing, KeyStore, checked_key, hash_key, new_key
from svc_tools.service.ratebook.imports.database import own_book_path
from svc_tools.service.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fastapi import FastAPI

_MOST_WORKERS = 64
_SETTINGS = "SVC_TOOLS_WORKER"
"""The environment variable that passes the settings to uvicorn's workers: their arguments would be
visible to every user of the machine. A worker removes it from its own environment."""

OPTIONS: dict[str, Any] = {
    "ws": "none",
    "lifespan": "off",
    "log_config": None,
    # the app logs its own failures; a response that is broken on purpose is none
    "log_level": "critical",
    "access_log": False,
    "proxy_headers": False,
    "server_header": False,
    # longer than clients keep idle connections: else a request may meet one just closed
    "timeout_keep_alive": 75,
    # how long requests under way may take once the server is told to stop
    "timeout_graceful_shutdown": 3,
}
"""How uvicorn serves the app, in one process and in several."""
_BACKLOG = 2048
_LAST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class _Settings:
    """The settings of every process that serves."""

    db: SecretStr
    run_key: SecretStr | None
    loopback: bool
    faults: FaultPlan | None

    def app(self, database: Database, books: BookKeeper) -> FastAPI:
        return create_app(
            books=books,
            store=Store(database),
            keys=KeyRing(KeyStore(database), self.run_key),
            loopback=self.loopback,
            faults=self.faults,
        )

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
    api_key: str | None,
    echo: Callable[[str], None],
    *,
    workers: int = 1,
    faults: FaultPlan | None = None,
) -> None:
    """Run the service in the foreground until it is interrupted: see `admin.serve`."""
    run_key = None if api_key is None else checked_key(api_key)
    if not 1 <= workers <= _MOST_WORKERS:
        raise StartError(f"--workers is {workers}; expected 1 to {_MOST_WORKERS}")
    if workers > 1 and os.name != "posix":
        raise StartError("Several workers need Linux or macOS; leave --workers out for one")
    if not isinstance(db, SecretStr):
        db = SecretStr(str((db or default_path()).absolute()))
    with bind(host, port) as listener, logged_to_stderr(), suppress(KeyboardInterrupt):
        settings = _Settings(db, run_key, listens_on_loopback(listener), faults)
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
            uvicorn.Server(uvicorn.Config(app, **OPTIONS)).run(sockets=[listener])
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
            **OPTIONS,
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
    """Make and print a key where there is none yet."""
    if store.any():
        echo("API key: the one shown when this database was made; if it is lost, give one")
        echo("for this run with --api-key, or make one with `svc-tools keys create`.")
        return
    made = new_key()
    # printed first: a key that was stored but never seen would be useless
    echo(f"API key: {made.get_secret_value()}")
    echo("Keep it: it is shown this once, and only its hash is stored.")
    store.create(hash_key(made), account=LOCAL_ACCOUNT, name="first start")


class Server(uvicorn.Server):
    """A uvicorn server that reports when it has started.

    Args:
        app: the app.
        on_started: called once connections are being served, on the server's own thread.
    """

    def __init__(self, app: FastAPI, on_started: Callable[[], None]) -> None:
        super().__init__(uvicorn.Config(app, **OPTIONS))
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, then report it."""
        await super().startup(sockets)
        self._on_started()


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens on a host and port; port 0 takes a free one.

    Raises:
        PortInUseError: another program has the port.
        StartError: the host is not an address of this machine, or the port is not allowed.
    """
    if not 0 <= port <= _LAST_PORT:  # the resolver would take its last 16 bits instead
        raise StartError(f"The port {port} does not exist; ports go from 1 to {_LAST_PORT}")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        # localhost often has both families; IPv4 is the one that every client tries
        family, _, _, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
        return socket.create_server(
            (str(address[0]), int(address[1])), family=family, backlog=_BACKLOG
        )
    except socket.gaierror as error:
        raise StartError(f"The host {host!r} is not known: {error.strerror}") from error
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortInUseError(
                f"Port {port} on {host} is in use by another program (or by this service, already"
                " running); stop it, or choose another port with --port"
            ) from error
        raise StartError(f"Cannot listen on {host} port {port}: {error.strerror}") from error


def listens_on_loopback(listener: socket.socket) -> bool:
    """Whether only this machine can reach the socket."""
    return is_loopback_host(str(listener.getsockname()[0]))


def address_of(listener: socket.socket) -> str:
    """The base address of a listening socket, such as `http://127.0.0.1:8642`."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
