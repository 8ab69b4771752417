"""One connection to a PostgreSQL server, by the driver pg8000, with its rough edges taken off."""

from __future__ import annotations

import os
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from pg8000 import dbapi
from pydantic import SecretStr

from svc_tools.service.errors import StoreError
from svc_tools.service.trouble import BUSY_SECONDS

__all__ = ["Address", "Connection", "connect", "parsed"]

_PORT = 5432
_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
_SSL_MODES = ("disable", "prefer", "require", "verify-full")
_INTEGRITY = "23"
"""The class of PostgreSQL's errors about keys and constraints."""
_ASKS_FOR_PASSWORD = {3, 5, 10}
"""PostgreSQL's numbers for asking in clear text, by MD5 and by SCRAM."""
_OPTIONS = ("host", "port", "sslmode", "sslrootcert")


@dataclass(frozen=True)
class Address:
    """Where a database is, and as whom to use it."""

    name: str
    """The address without the password."""
    user: str
    database: str
    host: str
    """A host, or (with a leading slash) the folder of a Unix socket."""
    port: int
    tls: ssl.SSLContext | bool | None
    """As the driver takes it: `None` tries, `True` insists, neither checks who answers."""
    password: SecretStr | None


def parsed(url: str) -> Address:
    """The parts of `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.

    As with libpq, the query may say `sslmode` (`disable`, `prefer`, `require`, `verify-full`) with
    `sslrootcert`, and `host` the folder of a Unix socket.

    Raises:
        StoreError: the address is not of that form; the message does not repeat it.
    """
    try:
        given = urlsplit(url)
        port: int | str = given.port or _PORT
    except ValueError:
        # without a cause: it may repeat the password
        raise StoreError(
            f"The address of the database is not understood; expected {_FORM}"
        ) from None
    user, database = unquote(given.username or ""), unquote(given.path[1:])
    if not user or not database:
        raise StoreError(
            f"The address of the database names no user or no database; expected {_FORM}"
        )
    options = dict(parse_qsl(given.query, keep_blank_values=True))
    if strange := sorted(options.keys() - set(_OPTIONS)):
        raise StoreError(
            f"The address of the database has the option {strange[0]!r};"
            f" known are {', '.join(_OPTIONS)}"
        )
    port = options.get("port") or str(port)
    if not port.isdecimal():
        raise StoreError(f"The port {port!r} of the database is not a number; expected {_FORM}")
    who, _, where = given.netloc.rpartition("@")
    netloc = f"{who.partition(':')[0]}@{where}"
    return Address(
        name=urlunsplit(("postgresql", netloc, given.path, given.query, "")),
        user=user,
        database=database,
        host=options.get("host") or given.hostname or "localhost",
        port=int(port),
        tls=_tls(options.get("sslmode", "prefer"), options.get("sslrootcert")),
        password=None if given.password is None else SecretStr(unquote(given.password)),
    )


def _tls(mode: str, certificates: str | None) -> ssl.SSLContext | bool | None:
    if mode not in _SSL_MODES:
        raise StoreError(f"sslmode: given {mode!r}, expected one of {', '.join(_SSL_MODES)}")
    if mode != "verify-full":
        if certificates:  # as if it were checked against them
            raise StoreError("sslrootcert: needs sslmode=verify-full")
        return {"disable": False, "prefer": None, "require": True}[mode]
    try:
        return ssl.create_default_context(cafile=certificates)
    except OSError as error:
        raise StoreError(f"sslrootcert: {certificates} cannot be read: {error}") from error


def connect(address: Address) -> Connection:
    """Open a connection. Nothing it does waits forever.

    Raises:
        pg8000.dbapi.Error: the server cannot be reached, or does not want us.
    """
    patience = 2 * BUSY_SECONDS  # of silence, from connecting on
    wire = _Opened(address, patience)
    try:
        connection = Connection(
            address.user,
            host=address.host,
            database=address.database,
            password=address.password and address.password.get_secret_value(),
            application_name="svc-tools",
            ssl_context=False if wire.local else address.tls,
            sock=wire.socket,
        )
        connection.settle()
    except BaseException as error:
        wire.socket.close()
        if isinstance(error, dbapi.Error) or not isinstance(error, Exception):
            raise
        # the driver lets errors of sockets, of TLS and of what is not PostgreSQL through
        raise dbapi.InterfaceError(f"cannot connect: {error}") from error
    return connection


class _Opened:
    """The bare socket: our own, so that it is closed whatever fails above it."""

    def __init__(self, address: Address, patience: float) -> None:
        self.local = address.host.startswith("/")
        try:
            if self.local:
                self.socket = socket.socket(socket.AF_UNIX)
                try:
                    self.socket.settimeout(patience)
                    self.socket.connect(f"{address.host}/.s.PGSQL.{address.port}")
                except BaseException:
                    self.socket.close()
                    raise
            else:
                self.socket = socket.create_connection((address.host, address.port), patience)
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        except (OSError, AttributeError) as error:  # Windows may lack AF_UNIX
            said = getattr(error, "strerror", None) or error
            raise dbapi.InterfaceError(f"cannot connect to the server: {said}") from error


class Connection(dbapi.Connection):  # type: ignore[misc] # the driver has no types
    """The driver's connection, whose errors are the driver's and whose end is quiet."""

    _sock: Any
    _usock: Any

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - the driver's own
        super().__init__(*args, **options)
        self._sock = _Wire(self._sock)

    def settle(self) -> None:
        """Make sure of what is taken for granted elsewhere, whatever the server's defaults are.

        Waiting ends on the server too, and a client that vanished blocks nobody for long.
        """
        milliseconds = round(BUSY_SECONDS * 1000)
        cursor = self.cursor()
        self.autocommit = True
        cursor.execute(
            "SET client_encoding = 'UTF8';"
            " SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;"
            f" SET statement_timeout = {milliseconds};"
            f" SET idle_in_transaction_session_timeout = {6 * milliseconds}"
        )
        self.autocommit = False
        cursor.close()

    def handle_AUTHENTICATION_REQUEST(self, data: bytes, context: Any) -> None:  # noqa: ANN401, N802 - the driver's own
        """Answer the server's question who we are; without a password only if none is needed."""
        asked = int.from_bytes(data[:4], "big")
        if asked in _ASKS_FOR_PASSWORD and self.password is None:
            raise dbapi.InterfaceError(
                "the server asks for a password, and the address has none"
                " (neither PGPASSWORD nor .pgpass is read)"
            )
        super().handle_AUTHENTICATION_REQUEST(data, context)

    def handle_ERROR_RESPONSE(self, data: bytes, context: Any) -> None:  # noqa: ANN401, N802 - as above
        """What the server said, as an error; of the class that the driver has and never uses."""
        super().handle_ERROR_RESPONSE(data, context)
        said = context.error.args[0]
        if said.get("C", "").startswith(_INTEGRITY):
            context.error = dbapi.IntegrityError(said)

    def close(self) -> None:
        """Say goodbye, if somebody is there to hear it, and leave nothing open."""
        wire, end = self._sock, self._usock
        with suppress(dbapi.Error, OSError):
            super().close()
        for part in (wire, end):  # the driver leaves one of them to the garbage collector
            if part is not None:
                with suppress(OSError):
                    part.close()

    def leave_to_parent(self) -> None:
        """In a forked child: forget the connection without a word on it."""
        if self._usock is not None:
            descriptor = self._usock.detach()
            if descriptor >= 0:
                os.close(descriptor)


class _Wire:
    """What the driver reads from and writes to: trouble there is an error of the driver.

    It lets a time-out in the first byte of an answer through as it is; then SQLAlchemy would go
    on using the connection, and take that answer for the next question's.
    """

    def __init__(self, file: Any) -> None:  # noqa: ANN401 - a socket's file
        self._file = file

    def read(self, size: int) -> bytes:
        try:
            return bytes(self._file.read(size))
        except OSError as error:
            raise dbapi.InterfaceError("network error") from error

    def write(self, data: bytes) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise dbapi.InterfaceError("network error") from error

    def close(self) -> None:
        self._file.close()

    def flush(self) -> None:
        try:
            self._file.flush()
        except OSError as error:
            raise dbapi.InterfaceError("network error") from error
