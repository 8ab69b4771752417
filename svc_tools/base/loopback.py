"""Local servers: which requests they accept, where they listen, and serving from a thread.

Every program and user of a machine can reach a server on loopback. A web page elsewhere can, too:
it makes a browser send requests to 127.0.0.1 under the page's own name (DNS rebinding) or posts a
form. Such a request has the page's name in `Host` or `Origin`; another user lacks the token.
"""

from __future__ import annotations

import functools
import hmac
import ipaddress
import os
import re
import socket
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from svc_tools.base.operating_system import claim_address, is_address_taken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import uvicorn
    from pydantic import SecretStr
    from starlette.types import ASGIApp

_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\[\]:/@]+)(?::(?P<port>[0-9]{1,5}))?")
_ORIGIN = re.compile(r"https?://(?P<authority>[^/]+)", re.IGNORECASE)
_USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class LocalGuard:
    """The requests that a local server accepts.

    Attributes:
        port: the port of the server: then `Host` names it, and a page has to come from the same
            address. `None`: any port (a tunnel may change it), and any page of this machine.
        scheme: whether the server speaks http or https; it matters where the port is given.
        token: what a request has to send, if anything.
    """

    port: int | None = None
    scheme: Literal["http", "https"] = "http"
    token: SecretStr | None = None

    def refuses(
        self, hosts: Sequence[str], origins: Sequence[str] = ()
    ) -> Literal["host", "origin"] | None:
        """The header for which a request is refused, if any.

        Args:
            hosts: each `Host` header; one is expected.
            origins: each `Origin` header; a program sends none.
        """
        if len(hosts) != 1 or not self._is_own_host(hosts[0]):
            return "host"
        for origin in origins:
            if self.port is None:
                form = _ORIGIN.fullmatch(origin)
                accepted = form is not None and _local_port(form["authority"]) is not None
            else:
                accepted = origin.lower() == f"{self.scheme}://{hosts[0].lower()}"
            if not accepted:
                return "origin"
        return None

    def accepts_token(self, given: str) -> bool:
        """Whether a token is this server's."""
        known = "" if self.token is None else self.token.get_secret_value()
        return bool(known) and hmac.compare_digest(
            given.encode(errors="surrogatepass"), known.encode()
        )

    def _is_own_host(self, authority: str) -> bool:
        port = _local_port(authority)
        if port is None or self.port is None:
            return port is not None
        return int(port or _USUAL_PORTS[self.scheme]) == self.port


def is_loopback(host: str) -> bool:
    """Whether a host, without port, is this machine: 127.0.0.0/8, ::1 or localhost."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@functools.lru_cache(maxsize=256)
def _local_port(authority: str) -> str | None:
    """The port in a `Host` header that names this machine, "" without one; else `None`."""
    form = _AUTHORITY.fullmatch(authority)
    if form is None:
        return None
    host = form["host"]
    # an IPv6 address stands in brackets here, and nothing else does
    if host.startswith("[") != (":" in host) or not is_loopback(host.strip("[]")):
        return None
    return form["port"] or ""


_LAST_PORT = 65_535
_BACKLOG = 2048


class ListenError(OSError):
    """A server cannot listen.

    Attributes:
        code: `port_out_of_range`, `port_in_use`, `host_unknown` or `not_possible`.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens on a host and port; port 0 takes a free one.

    Raises:
        ListenError: the port is used by another program or does not exist, or the host is not an
            address of this machine.
    """
    if not 0 <= port <= _LAST_PORT:  # the resolver would take its last 16 bits instead
        raise ListenError(
            "port_out_of_range", f"The port {port} does not exist; ports go from 1 to {_LAST_PORT}"
        )
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as error:
        raise ListenError(
            "host_unknown", f"The host {host!r} is not known: {error.strerror}"
        ) from error
    # localhost often has both families; IPv4 is the one that every client tries
    family, _, _, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    made = None
    try:
        made = socket.socket(family, socket.SOCK_STREAM)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        claim_address(made)
        # Connections take it over. asyncio sets it too, but not for uvicorn's workers: they get the
        # socket by its number and take it for a Unix socket (0.54), and then the second part of
        # each response waits 40 ms for the client to confirm the first.
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.bind(address)
        made.listen(_BACKLOG)
    except OSError as error:
        if made is not None:
            made.close()
        if is_address_taken(error):
            raise ListenError(
                "port_in_use",
                f"Port {port} on {host} is in use by another program; stop it, or choose another"
                " port with --port",
            ) from error
        raise ListenError(
            "not_possible", f"Cannot listen on {host} port {port}: {error.strerror}"
        ) from error
    return made


def listen_on_localhost(port: int) -> list[socket.socket]:
    """Sockets for `localhost` in both address families; port 0 takes a free one.

    A client may try ::1 or 127.0.0.1, and another user of the machine could take a free one.

    Raises:
        ListenError: the port is used by another program or does not exist.
    """
    tries = 1 if port else 20
    while True:
        first = listen("127.0.0.1", port)
        found: int = first.getsockname()[1]
        try:
            return [first, listen("::1", found)]
        except ListenError as error:
            if error.code != "port_in_use":
                return [first]  # this machine has no IPv6
            first.close()
            tries -= 1
            if not tries:
                raise


def base_address(listener: socket.socket) -> str:
    """The base address of a listening socket, such as `http://127.0.0.1:8642`."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


UVICORN: dict[str, Any] = {
    "http": "svc_tools.base.connections:Connection",
    "ws": "none",
    "lifespan": "off",
    "log_config": None,
    "log_level": "critical",  # the apps log their failures, without what a caller sent
    "access_log": False,  # addresses may contain a token
    "proxy_headers": False,
    "server_header": False,
    # longer than clients keep idle connections: else a request may meet one just closed
    "timeout_keep_alive": 75,
    # how long requests under way may take once the server has to stop
    "timeout_graceful_shutdown": 3,
}
"""How uvicorn serves an app, in the foreground and in a thread."""
_ACCEPTED_AT_ONCE = 16
"""Connections, between which those that are closed make room; asyncio would accept 2,048."""
_STOP_SECONDS = 10.0  # above the time that the last requests get to finish


def make_server(app: ASGIApp, on_started: Callable[[], None], **options: object) -> uvicorn.Server:
    """A uvicorn server that calls a function once connections are served.

    Args:
        app: the app.
        on_started: called on the server's own thread; an error stops the server, whose `run`
            raises it.
        options: arguments of `uvicorn.Config`, over those of `UVICORN`.
    """
    import uvicorn  # noqa: PLC0415 - of an extra; a guard needs none

    from svc_tools.base.connections import Room  # noqa: PLC0415 - as above

    class Server(uvicorn.Server):
        failure: BaseException | None = None

        def run(self, sockets: list[socket.socket] | None = None) -> None:
            super().run(sockets)
            if self.failure is not None:
                raise self.failure

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            Room.of(self.server_state).tls, self.config.ssl = self.config.ssl, None
            self.config.backlog = _ACCEPTED_AT_ONCE
            await super().startup(sockets)
            for listener in sockets or ():
                listener.listen(
                    _BACKLOG
                )  # what asyncio accepts at once is no limit of the system's queue
            try:
                on_started()
            except BaseException as error:  # noqa: BLE001 - raised again once all is shut down
                self.failure = error
                self.should_exit = True

    return Server(uvicorn.Config(app, **{**UVICORN, **options}))


class ThreadServer:
    """An app that is served in a background thread; `start` waits until it is.

    Args:
        app: the app.
        sockets: where it listens; closed at the end.
        name: the name of the thread.

    Attributes:
        base_url: where it listens.
    """

    _failure: BaseException | None = None
    _server: uvicorn.Server | None = None
    _closing = False

    def __init__(self, app: ASGIApp, sockets: list[socket.socket], name: str) -> None:
        self._app = app
        self._sockets = sockets
        self.base_url = base_address(sockets[0])
        self._settled = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether it serves requests, or will in a moment."""
        stopped = self._closing or (self._server is not None and self._server.should_exit)
        return self._thread.is_alive() and not stopped

    def start(self) -> None:
        """Wait until it serves requests.

        Raises:
            RuntimeError: uvicorn does not start; the cause is attached.
        """
        self._settled.wait()
        if self._failure is not None:
            self._thread.join(_STOP_SECONDS)
            raise RuntimeError(f"The server did not start: {self._failure!r}") from self._failure

    def close(self) -> None:
        """Stop: requests under way are finished, then the port is free. Closing twice is fine."""
        self._closing = True
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(_STOP_SECONDS)

    def leave_to_parent(self) -> None:
        """In a forked child: give up the inherited sockets; the parent's go on listening."""
        self._closing = True
        # its thread is not here: `start` has nothing to wait for, the parent serves
        self._settled = threading.Event()
        self._settled.set()
        for listener in self._sockets:
            descriptor = listener.detach()
            if descriptor >= 0:
                os.close(descriptor)

    def _run(self) -> None:
        try:
            self._server = make_server(self._app, self._settled.set)
            self._server.should_exit = self._closing
            self._server.run(self._sockets)
        except BaseException as error:  # noqa: BLE001 - raised again by `start`
            self._failure = error
        finally:
            for listener in self._sockets:
                listener.close()
            self._settled.set()


def serve_in_thread(
    app: ASGIApp, sockets: list[socket.socket] | None = None, *, name: str = "svc-tools-server"
) -> ThreadServer:
    """Serve an app from a daemon thread; it accepts requests once this returns.

    Args:
        app: the app.
        sockets: where it listens; a free port of 127.0.0.1 where left out.
        name: the name of the thread.

    Raises:
        ListenError: no port is free.
        RuntimeError: uvicorn does not start; the cause is attached.
    """
    server = ThreadServer(app, sockets or [listen("127.0.0.1", 0)], name)
    server.start()
    return server
