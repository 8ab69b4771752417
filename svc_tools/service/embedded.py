"""The embedded service: lookups in this process, and a port for all else.

One per process and database. Lookups are computed in the caller's thread, from the rate book; no
web framework is loaded for them. The service also listens on a free loopback port: the first
connection, of another program or of a request that is no lookup, has the whole app served from a
background thread. It ends with `close()`, or quietly when the process ends; a forked child starts
its own. The caller's event loop and signal handlers are left alone.
"""

from __future__ import annotations

import atexit
import os
import re
import ssl
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

import httpx
from pydantic import SecretStr

from svc_tools.loopback import serve_when_needed
from svc_tools.service.books import keep_book
from svc_tools.service.computing import Computation as Computation  # noqa: PLC0414 - of clients
from svc_tools.service.computing import Located as Located  # noqa: PLC0414 - the same
from svc_tools.service.computing import Memories
from svc_tools.service.errors import BookUnavailableError
from svc_tools.service.errors import StartError as StartError  # noqa: PLC0414 - callers catch it
from svc_tools.service.params import read_params
from svc_tools.service.problems import CODE, as_problem, log, log_error, new_request_id
from svc_tools.service.ratebook.own import OwnBookChanged, own_book_path
from svc_tools.service.rates import LOOKUP_PARAMS, RateResponses, local_day
from svc_tools.service.start import default_path, is_address, is_ready, new_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp

    from svc_tools.service.database import Database
    from svc_tools.service.ratebook import Book

_LOOKUP = re.compile(r"/v1/tax/([^/]+)")


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


class LocalResponse(NamedTuple):
    """A response without a connection; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class EmbeddedService:
    """The service over one database. `start()` makes these.

    Attributes:
        base_url: where it listens, such as `http://127.0.0.1:49152`.
        api_key: the key of this run, for the local account; in memory only.
        database_name: the database, without a password.
        inherited: whether it runs in another process, of which this one is a forked child.
        closed: whether `close()` was called.
    """

    def __init__(self, db: Path | SecretStr) -> None:
        self._books = keep_book(own_book_path())
        try:
            self._book = self._books.book
        except BookUnavailableError as error:
            raise StartError(f"The rate book cannot be read: {error.__cause__}") from error
        self._db = db
        self._database: Database | None = None
        if isinstance(db, Path) and is_ready(db):
            self.database_name = str(db)  # opened with the app
        else:
            self.database_name = self._opened().name
        self.api_key: SecretStr = new_key()
        self.inherited = False
        self.closed = False
        self._rates = RateResponses()
        self._memories = Memories()
        self._one = threading.Lock()
        try:
            self._server = serve_when_needed(self._make_app, name="svc-tools-service")
        except OSError as error:
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

    @property
    def ended(self) -> str | None:
        """Why no request over the port can succeed anymore, and what to do; else `None`."""
        if self.running or self.inherited:
            return None
        try:
            self.listen()
        except StartError as error:
            return str(error)
        return (
            'The embedded service was closed: svc_tools.connect("embedded") starts it again; use'
            " the client that it returns"
        )

    def listen(self) -> None:
        """Serve the port now.

        Raises:
            StartError: it cannot be served; `StoreError` where the database is the reason.
        """
        try:
            self._server.start()
        except RuntimeError as error:
            if isinstance(error.__cause__, StartError):
                raise error.__cause__ from None
            raise StartError(f"The service is not running: {error}") from error

    def look_up(
        self, method: str, path: str, params: Iterable[tuple[str, str]]
    ) -> LocalResponse | None:
        """The response to a lookup, as the app gives it; `None` where a request is no lookup.

        Args:
            method: the method of the request.
            path: its path, percent-encoded.
            params: the names and values of its query string, decoded.
        """
        path = unquote(path)
        found = _LOOKUP.fullmatch(path)
        if found is None or method != "GET":
            return None
        try:
            lookup = (found[1], tuple(read_params(params, *LOOKUP_PARAMS).items()), local_day())
            with self._one:
                book = self._books.current_now()
                try:
                    body = self._rates.of(book).look_up(*lookup)
                except OwnBookChanged:
                    self._books.refresh()
                    body = self._rates.of(self._books.book).look_up(*lookup)
        except Exception as error:  # noqa: BLE001 - as the app: whatever it is, it is a response
            return self.refused(error, path)
        return LocalResponse(200, _headers(new_request_id()), body)

    def computation(self) -> Computation:
        """Many lookups with the book as it is now; to be closed.

        Raises:
            Exception: see `refused`, which gives the response that each of them would have.
        """
        return Computation(self._books, self._memories)

    def refused(self, error: Exception, path: str) -> LocalResponse:
        """The response to a lookup where this was raised: whatever it is, as that of the app."""
        request_id = new_request_id()
        problem = as_problem(error)
        if problem is not error and problem.code == "INTERNAL":
            log.error("GET %s failed [%s]", path, request_id, exc_info=error)
        else:
            scope = {"method": "GET", "path": path, CODE: problem.code}
            log_error(scope, problem.status_code, request_id)
        headers = _headers(request_id)
        headers |= {name.lower(): value for name, value in problem.headers.items()}
        return LocalResponse(problem.status_code, headers, problem.body(request_id))

    def transport(self) -> httpx.BaseTransport:
        """A transport to this service's port for one `httpx.Client`."""
        return _PortTransport(self)

    def close(self) -> None:
        """Stop: requests under way are finished, then the port is free. Closing twice is fine."""
        self.closed = True
        self._server.close()

    def leave_to_parent(self) -> None:
        """In a forked child: this service is the parent's."""
        self.inherited = True
        self._books.leave_to_parent()
        self._server.leave_to_parent()

    def _opened(self) -> Database:
        if self._database is None:
            from svc_tools.service.database import Database  # noqa: PLC0415 - loads SQLAlchemy

            self._database = Database(self._db)
        return self._database

    def _make_app(self) -> ASGIApp:
        from svc_tools.service.serving import make_app  # noqa: PLC0415 - loads the web framework

        return make_app(self._opened(), self._books, self.api_key, loopback=True)


def _headers(request_id: str) -> dict[str, str]:
    return {"content-type": "application/json", "x-request-id": request_id}


class _PortTransport(httpx.BaseTransport):
    """The transport of an `httpx.Client` over the port, which is served from the first request."""

    def __init__(self, service: EmbeddedService) -> None:
        self._service = service
        # By process: a forked child on its parent's connections would read the parent's responses.
        self._ports: dict[int, httpx.HTTPTransport] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The response to a request."""
        try:
            self._service.listen()
        except StartError as error:
            raise httpx.ConnectError(str(error), request=request) from error
        port = self._ports.get(os.getpid())
        if port is None:
            no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # none is read for loopback
            port = self._ports[os.getpid()] = httpx.HTTPTransport(verify=no_certificates)
        return port.handle_request(request)

    def close(self) -> None:
        """Close this process's connections to the port."""
        if port := self._ports.get(os.getpid()):
            port.close()


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
