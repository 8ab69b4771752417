"""The embedded service: lookups in this process, and a port for all else.

One per process and database. Lookups are computed in the caller's thread, from the rate book alone.
Whoever asks for the address, or sends a request that is no lookup, has the database opened and the
whole app served from a background thread, on a free loopback port. It ends with `close()`, or
quietly when the process ends; a forked child starts its own. The caller's event loop and signal
handlers are left alone.
"""

from __future__ import annotations

import atexit
import os
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from pydantic import SecretStr

from svc_tools.base.extras import EXTRA_MISSING, NOT_STARTED, MissingExtraError, needs
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
from svc_tools.service.start import default_path, is_address, new_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_tools.base.loopback import ThreadServer
    from svc_tools.service.ratebook import Book

_LOOKUP = re.compile(r"/v1/tax/([^/]+)")
_CLOSED = (
    'The embedded service was closed: svc_tools.connect("embedded") starts it again; use the client'
    " that it returns"
)


def start(db: Path | SecretStr | None = None) -> EmbeddedService:
    """The running service of this process over a database; started where it does not run yet.

    Args:
        db: the path of a database or a `postgresql://` address, or `None` for the user's own, as
            in `svc-tools serve`.

    Raises:
        StartError: the rate book cannot be read.
    """
    return _services.start(_target(db))


def running(db: Path | SecretStr | None = None) -> EmbeddedService | None:
    """The service of this process over a database, where it runs; see `start`."""
    return _services.running(_target(db))


class PortTrouble(NamedTuple):
    """Why the port cannot be used: a code for a program, if any, and a sentence."""

    code: str | None
    message: str


class LocalResponse(NamedTuple):
    """A response without a connection; header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class EmbeddedService:
    """The service over one database. `start()` makes these.

    Attributes:
        api_key: the key of this run, for the local account; in memory only.
        inherited: whether its port is that of another process, of which this one is a forked child.
        closed: whether `close()` was called.
    """

    def __init__(self, db: Path | SecretStr) -> None:
        """Read the rate book; the database and the server are started when they are needed.

        Raises:
            StartError: the rate book cannot be read.
        """
        self._books = keep_book(own_book_path())
        try:
            self._book = self._books.book
        except BookUnavailableError as error:
            raise StartError(f"The rate book cannot be read: {error.__cause__}") from error
        self._db = db
        self._name = str(db) if isinstance(db, Path) else None
        self.api_key: SecretStr = new_key()
        self.inherited = False
        self.closed = False
        self._rates = RateResponses()
        self._memories = Memories()
        self._one = threading.Lock()
        self._claiming = threading.Lock()
        self._server: ThreadServer | None = None

    def __repr__(self) -> str:
        """Where it listens, if it does, and which book it uses; not the key."""
        return f"EmbeddedService(base_url={self.address!r}, book_edition={self.book_edition!r})"

    @property
    def base_url(self) -> str:
        """Where it listens, such as `http://127.0.0.1:49152`; from now on, if it did not yet.

        Raises:
            StartError: as `listen`; so for the other.
            ImportError: the extra for it is not installed.
        """
        if self._server is None or self.running:
            self.listen()
        return str(self.address)

    @property
    def address(self) -> str | None:
        """Where it listens; `None` where nothing has needed the port so far."""
        return None if self._server is None else self._server.base_url

    @property
    def database_name(self) -> str:
        """The database, without a password; one on a server is opened for it.

        Raises:
            StartError: as `listen`; so for the other.
            ImportError: the extra for it is not installed.
        """
        if self._name is None:
            self.listen()
        return str(self._name)

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
        """Whether it is of use here: it was not closed, and its port is not a parent's."""
        return not (self.closed or self.inherited)

    def listen(self) -> None:
        """Open the database and serve the port, from now on.

        Raises:
            StartError: it cannot be served; `StoreError` where the database is the reason.
            ImportError: the extra for it is not installed.
        """
        if self.inherited:
            return
        with self._claiming:
            if self.closed:
                raise StartError(_CLOSED)
            if self._server is None or not self._server.running:
                self._server = self._claimed()
                if not self.running:  # closed meanwhile
                    self._server.close()
                    raise StartError(_CLOSED)
            server = self._server
        try:
            server.start()
        except RuntimeError as error:
            raise StartError(f"The service is not running: {error}") from error

    def _claimed(self) -> ThreadServer:
        """The server of a port of its own, over the database."""
        with needs("The port of the embedded service, which nexus records go over,", "service"):
            from svc_tools.base.loopback import ThreadServer, listen  # noqa: PLC0415 - lookups need none
            from svc_tools.service.database import Database  # noqa: PLC0415 - loads SQLAlchemy
            from svc_tools.service.serving import make_app  # noqa: PLC0415 - the web framework
        database = Database(self._db)
        self._name = database.name
        app = make_app(database, self._books, self.api_key, loopback=True)
        try:
            return ThreadServer(app, [listen("127.0.0.1", 0)], name="svc-tools-service")
        except OSError as error:
            raise StartError(f"The service is not running: {error}") from error

    @property
    def trouble(self) -> PortTrouble | None:
        """Why no request over the port can succeed, which is served from now on; else `None`."""
        try:
            self.listen()
        except MissingExtraError as error:
            return PortTrouble(EXTRA_MISSING, str(error))
        except StartError as error:
            if self.closed:
                return PortTrouble(None, str(error))
            return PortTrouble(NOT_STARTED, f"The embedded service cannot start. {error}")
        return None

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

    def close(self) -> None:
        """Stop: requests under way are finished, then the port is free. Closing twice is fine."""
        self.closed = True
        if self._server is not None:
            self._server.close()

    def leave_to_parent(self) -> None:
        """In a forked child: the port is the parent's; without one, the service is the child's."""
        # a thread that is not here may hold the parent's
        self._one, self._claiming = threading.Lock(), threading.Lock()
        self._books.leave_to_parent()
        if self._server is not None:
            self.inherited = True
            self._server.leave_to_parent()


def _headers(request_id: str) -> dict[str, str]:
    return {"content-type": "application/json", "x-request-id": request_id}


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
        running, self._running = self._running, {}
        for db, service in running.items():
            service.leave_to_parent()
            if service.inherited:
                self._inherited.append(service)
            else:
                self._running[db] = service


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
