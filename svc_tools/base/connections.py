"""Connections of the local servers: what keeps one waiting ends, so that others find room.

A module by itself because it needs uvicorn; `loopback.UVICORN` names it, also for workers, which
load it in their own process.
"""

from __future__ import annotations

from asyncio.sslproto import SSLProtocol
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

from svc_tools.base.operating_system import most_open_files

if TYPE_CHECKING:
    import asyncio
    import ssl

    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Http
    from uvicorn.server import ServerState
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol as Http

REQUEST_SECONDS: float = 20
"""How long the encryption, the headers and the body of a request may each take to arrive, and a
client not to read the response."""
_TOO_SLOW = b"The request did not arrive in time; send it again over a new connection.\n"
_RESPONSE = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: %d\r\nconnection: close\r\n\r\n%s"
) % (len(_TOO_SLOW), _TOO_SLOW)


class Room:
    """The connections of a server that wait for their client: at most half of the open files.

    Above that the one that waits longest is closed: of those that have never sent a request where
    they are the most, else of the idle ones.

    Attributes:
        tls: the certificate, where the server speaks https.
    """

    _of_servers: ClassVar[WeakKeyDictionary[ServerState, Room]] = WeakKeyDictionary()

    def __init__(self) -> None:
        self.tls: ssl.SSLContext | None = None
        self._most = max(1, most_open_files() // 2)
        self._strangers: OrderedDict[Connection, None] = OrderedDict()
        self._idle: OrderedDict[Connection, None] = OrderedDict()

    @classmethod
    def of(cls, state: ServerState) -> Room:
        """The room of a server."""
        return cls._of_servers.setdefault(state, cls())

    def enter(self, connection: Connection, *, is_known: bool) -> None:
        """Count a connection among those that wait, the last of its kind."""
        self.leave(connection)
        (self._idle if is_known else self._strangers)[connection] = None
        if len(self._strangers) + len(self._idle) > self._most:
            most = max(self._strangers, self._idle, key=len)
            longest, _ = most.popitem(last=False)
            longest.transport.abort()

    def leave(self, connection: Connection) -> None:
        """No longer count it."""
        self._strangers.pop(connection, None)
        self._idle.pop(connection, None)


class _Encryption(SSLProtocol):
    """The encryption below a connection, which learns too if it ends in the handshake."""

    max_size = 65_536  # a buffer of each connection

    def __init__(self, connection: Connection, tls: ssl.SSLContext) -> None:
        super().__init__(connection.loop, connection, tls, None, server_side=True)  # type: ignore[arg-type]  # nobody waits for it
        self._connection = connection

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        if self._connection.scheme is None:
            self._connection.connection_lost(None)


class Connection(Http):
    """A connection that ends where a request does not arrive, or a response is not read, in time.

    Idle connections are closed by uvicorn, except where a first byte of a request has come.
    """

    _timer: asyncio.TimerHandle | None = None
    _awaited: object = None
    """What has begun to arrive: the number of requests before it, and whether it is the body."""
    _requests = 0

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - those of uvicorn
        super().__init__(*args, **options)
        self._room = Room.of(self.server_state)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Wait for the first request, and before it for the encryption."""
        if self._room.tls is not None and transport.get_extra_info("sslcontext") is None:
            # here, not in uvicorn: it would know nothing of a connection before this is done
            self.transport = transport
            encryption = _Encryption(self, self._room.tls)
            transport.set_protocol(encryption)
            encryption.connection_made(transport)
        else:
            super().connection_made(transport)
        self._room.enter(self, is_known=False)
        self._end_in_time()

    def data_received(self, data: bytes) -> None:
        """Read what has arrived."""
        super().data_received(data)
        self._wait(begun=True)

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it is there already."""
        super().on_response_complete()
        self._requests += 1
        self._awaited = None
        self._wait(begun=False)

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, even if its client has not read the last response."""
        super().timeout_keep_alive_handler()
        self._end_in_time()

    def pause_writing(self) -> None:
        """Wait for the client to read the response."""
        super().pause_writing()
        self._room.enter(self, is_known=True)
        self._end_in_time()

    def resume_writing(self) -> None:
        """Go on with the response."""
        super().resume_writing()
        self._awaited = None
        self._wait(begun=False)

    def connection_lost(self, exc: Exception | None) -> None:
        """Leave."""
        self._room.leave(self)
        self._cancel()
        super().connection_lost(exc)

    def _wait(self, *, begun: bool) -> None:
        """Where a request is incomplete, wait for it; `begun`: for what has begun to arrive."""
        if self.transport.is_closing():
            self._end_in_time()  # also where the client does not read the rest
            return
        if self.flow.write_paused:
            return
        is_served = self.cycle is not None and not self.cycle.response_complete
        if is_served and not self.cycle.more_body:
            self._room.leave(self)
            self._cancel()
            return
        awaited = (self._requests, is_served) if begun else None
        if begun and awaited == self._awaited:
            return  # more of the same does not prolong it
        self._awaited = awaited
        self._room.enter(self, is_known=self._requests > 0)
        if begun or is_served:
            self._end_in_time()
        else:
            self._cancel()

    def _end_in_time(self) -> None:
        self._cancel()
        self._timer = self.loop.call_later(REQUEST_SECONDS, self._end)

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        if self._awaited is None or self.flow.write_paused or self.transport.is_closing():
            self.transport.abort()
        elif self.flow.read_paused:  # the app has not taken what has arrived
            self._end_in_time()
        else:
            answers = self.cycle is not None and self.cycle.response_started
            if not answers or self.cycle.response_complete:
                self.transport.write(_RESPONSE)
            self.transport.close()
            self._end_in_time()  # where the client does not even take that
