"""uvicorn, run over a socket that is already bound: the port is known and ours before it starts."""

from __future__ import annotations

import errno
import socket
from typing import TYPE_CHECKING, Any

import uvicorn

from svc_tools.service.errors import PortInUseError, StartError
from svc_tools.service.loopback import is_loopback_host

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI

__all__ = ["OPTIONS", "Server", "address_of", "bind", "listens_on_loopback"]

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


class Server(uvicorn.Server):
    """A server that says when it is really listening.

    Args:
        app: what answers.
        on_started: called once connections are being served, on the server's own thread.
    """

    def __init__(self, app: FastAPI, on_started: Callable[[], None]) -> None:
        super().__init__(uvicorn.Config(app, **OPTIONS))
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as uvicorn does, then say so."""
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
