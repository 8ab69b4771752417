"""uvicorn, run over a socket that is already bound: the port is known and ours before it starts."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING

import uvicorn

from svc_tools.service.errors import PortInUseError, StartError
from svc_tools.service.http_protocol import Protocol
from svc_tools.service.loopback import is_loopback_host

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI

__all__ = ["LAST_REQUESTS_SECONDS", "Server", "address_of", "bind", "listens_on_loopback"]

_BACKLOG = 2048
_LAST_PORT = 65_535
# Longer than clients keep idle connections: else a request may meet a connection just closed.
_KEEP_ALIVE_SECONDS = 75
LAST_REQUESTS_SECONDS = 3
"""How long requests under way may take once the server is told to stop."""


class Server(uvicorn.Server):
    """A server without access log that says when it is really listening.

    The fastest parser and event loop that can be imported are used (httptools, uvloop).

    Args:
        app: what answers.
        on_started: called once connections are being served, on the server's own thread. Where
            it fails, the server stops, and `run` raises what it raised.
    """

    def __init__(self, app: FastAPI, on_started: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Protocol,
                ws="none",
                lifespan="on",
                log_config=None,
                # a stray connection is not the user's concern; the app logs its own failures
                log_level="error",
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=_KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=LAST_REQUESTS_SECONDS,
            )
        )
        self._on_started = on_started
        self._failure: BaseException | None = None

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to stop."""
        super().run(sockets)
        if self._failure is not None:
            raise self._failure

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, then say so."""
        await super().startup(sockets)
        try:
            self._on_started()
        except BaseException as error:  # noqa: BLE001 - raised again once all is shut down
            self._failure = error
            self.should_exit = True


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
