"""PostgreSQL by the driver pg8000; imported only where it is used: SQLite starts faster without."""

from __future__ import annotations

import ssl
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.postgresql.pg8000 import PGDialect_pg8000

from svc_tools.base.extras import missing
from svc_tools.service.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy.engine import ExceptionContext
    from sqlalchemy.engine.interfaces import DBAPIConnection

_FORM = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
_OPTIONS = ("host", "port", "sslmode", "sslrootcert")
_SSL_MODES = ("disable", "prefer", "require", "verify-full")


class _Dialect(PGDialect_pg8000):
    """SQLAlchemy's dialect, for a driver (1.31) that lets errors of its socket through."""

    supports_statement_cache = True

    def connect(self, *args: Any, **options: Any) -> DBAPIConnection:  # noqa: ANN401 - the driver's own
        """Open a connection; whatever fails is an error of the driver."""
        try:
            return super().connect(*args, **options)
        except self.loaded_dbapi.Error:
            raise
        except Exception as error:  # the socket, TLS, or a server that is not PostgreSQL
            raise self.loaded_dbapi.InterfaceError(f"cannot connect: {error}") from error

    def do_ping(self, dbapi_connection: DBAPIConnection) -> bool:
        """Whether an idle connection still works."""
        try:
            return super().do_ping(dbapi_connection)
        except OSError:
            return False

    def do_close(self, dbapi_connection: DBAPIConnection) -> None:
        """Close a connection, which the server may have ended before.

        The driver leaves its file of the socket open, and with that the socket: until they are
        collected as garbage, with a warning of Python 3.13.
        """
        file: IO[bytes] | None = getattr(dbapi_connection, "_sock", None)
        with suppress(self.loaded_dbapi.Error, OSError):
            dbapi_connection.close()
        with suppress(OSError):
            if file is not None:
                file.close()


registry.register("postgresql.svc_tools", __name__, _Dialect.__name__)


def make_engine(address: str, busy_seconds: float) -> tuple[str, sa.Engine]:
    """The name without the password, and the engine of a database on a server.

    As with libpq, the query of the address may hold `sslmode` (`disable`, `prefer`, `require`,
    `verify-full`) with `sslrootcert`, and `host` may be the folder of a Unix socket.

    Args:
        address: as `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`.
        busy_seconds: how long a statement may take.

    Raises:
        StoreError: the address is not of that form.
        ImportError: the driver is not installed.
    """
    try:
        url = sa.make_url(address)
        understood = url.username and "@" not in (url.host or "")  # in a password, @ is %40
    except (sa.exc.ArgumentError, ValueError):
        understood = False
    if not understood:  # outside of the handler: the cause may repeat the password
        raise StoreError(
            f"The address of the database is not understood; expected {_FORM}, special characters"
            " of the password percent-encoded"
        )
    query = {name: values[-1] for name, values in url.normalized_query.items()}
    if unknown := query.keys() - set(_OPTIONS):
        raise StoreError(
            f"The address of the database has the option {min(unknown)!r}; expected only"
            f" {', '.join(_OPTIONS)}"
        )
    host = query.get("host") or url.host or "localhost"
    port = query.get("port") or str(url.port or 5432)
    if not port.isdecimal():
        raise StoreError(f"The port {port!r} of the database is not a number; expected {_FORM}")
    milliseconds = round(busy_seconds * 1000)
    options: dict[str, Any] = {
        "application_name": "svc-tools",
        "timeout": 2 * busy_seconds,  # of silence
        "ssl_context": _tls(query.get("sslmode", "prefer"), query.get("sslrootcert")),
        # SCRAM with no password at all fails in the driver; an empty one is refused by the server
        "password": url.password or "",
        # win over what the server or the database sets
        "startup_params": {
            "client_encoding": "UTF8",
            "statement_timeout": str(milliseconds),
            # a client that vanished blocks nobody for long
            "idle_in_transaction_session_timeout": str(6 * milliseconds),
        },
    }
    if host.startswith("/"):
        options["unix_sock"] = f"{host}/.s.PGSQL.{port}"
    try:
        engine = sa.create_engine(
            url.set(drivername="postgresql+svc_tools", host=host, port=int(port), query={}),
            pool_size=4,
            max_overflow=6,
            pool_timeout=busy_seconds,
            pool_pre_ping=True,
            isolation_level="READ COMMITTED",
            hide_parameters=True,  # the values are the user's: they do not belong in a log
            connect_args=options,
        )
    except ModuleNotFoundError as error:
        raise missing("A PostgreSQL database", "postgres", error.name or str(error)) from None
    event.listen(engine, "handle_error", _mark_lost)
    return url.set(drivername="postgresql").render_as_string(hide_password=True), engine


def _tls(mode: str, certificates: str | None) -> ssl.SSLContext | bool | None:
    """The driver's `ssl_context`: `None` tries, `True` insists, neither checks the certificate."""
    if mode not in _SSL_MODES:
        raise StoreError(f"sslmode: given {mode!r}, expected one of {', '.join(_SSL_MODES)}")
    if mode != "verify-full":
        if certificates:  # as if the server were checked against them
            raise StoreError("sslrootcert: needs sslmode=verify-full")
        return {"disable": False, "prefer": None, "require": True}[mode]
    try:
        return ssl.create_default_context(cafile=certificates)
    except OSError as error:
        raise StoreError(f"sslrootcert: {certificates} cannot be read: {error}") from error


def _mark_lost(context: ExceptionContext) -> None:
    """Let the pool drop a connection whose socket failed: its next response may be an old one."""
    if isinstance(context.original_exception, OSError):
        context.is_disconnect = True
