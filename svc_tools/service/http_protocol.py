"""One connection: uvicorn's, with bounds on what is not a request yet, and our errors.

The app judges whole requests. Bytes that never become one are judged here: those that are not
HTTP, a head that does not end, a request that takes too long to arrive (400 and 408, as the
envelope). A client that does not read its answer loses the connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from svc_tools.service.envelope import Problem, envelope, new_request_id
from svc_tools.service.request_log import log_unread

if TYPE_CHECKING:
    import asyncio

    from starlette.types import Scope

__all__ = ["CONNECTION", "MAX_HEAD", "REQUEST_SECONDS", "Protocol", "hang"]

CONNECTION = "svc.connection"
"""The key of the ASGI scope under which the transport of the connection stands."""

_HANGS = "svc.hangs"

MAX_HEAD = 64 * 1024
"""The most bytes of a request line and headers that are read. The app allows far less of them,
and says which part is too long; more than this is not kept long enough to say it."""

MAX_QUEUED = 64
"""How many requests of a connection may wait for the answers to those before them."""

REQUEST_SECONDS = 20.0
"""How long a request may take to arrive, body and all, and a client to read its answer."""


class TooManyQueuedError(Exception):
    """A client asks on and on and waits for no answer: the parser is stopped with this."""


class Protocol(HttpToolsProtocol):
    """One connection of a client."""

    transport: Any
    _in_head = True
    _head_bytes = 0
    _arriving = True
    _since = 0.0
    _unread = 0
    _watch: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # asyncio calls this with a TCP transport only
        """Begin, and look after the connection from time to time."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._watch = self.loop.call_later(REQUEST_SECONDS, self._look_after)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._watch is not None:
            self._watch.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser; a head that has become too long without ending is refused."""
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > MAX_HEAD:
            self.send_400_response("head")

    def on_message_begin(self) -> None:
        """A request begins, if not too many wait for their turn."""
        if len(self.pipeline) >= MAX_QUEUED:
            raise TooManyQueuedError
        super().on_message_begin()
        self.scope[CONNECTION] = self.transport  # type: ignore[literal-required]  # the scope may have keys that its type lacks
        self._arriving = True
        self._since = self.loop.time()

    def on_headers_complete(self) -> None:
        """The head is whole: the app takes over."""
        self._in_head = False
        self._head_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole; the next one may begin."""
        self._in_head = True
        self._arriving = False
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read as a request."""
        if msg == "head":
            message = f"The request line and the headers may have {MAX_HEAD} bytes at most"
        else:
            message = "These bytes are not an HTTP/1.1 request"
        self._refuse(Problem(400, "INVALID_INPUT", message))

    def shutdown(self) -> None:
        """End with the server; an answer that will never come is not waited for."""
        if self.scope is not None and _HANGS in self.scope:
            self.transport.close()
        super().shutdown()

    def _look_after(self) -> None:
        """Drop a connection that has been waiting for its client for too long."""
        unread = self.transport.get_write_buffer_size()
        if unread and unread == self._unread:
            self.transport.abort()
            return
        self._unread = unread
        rest = REQUEST_SECONDS
        if self._arriving:
            rest -= self.loop.time() - self._since
            if rest <= 0 and self._in_head and not self._head_bytes:
                self.transport.close()  # it never began to ask
            elif rest <= 0:
                message = f"The request did not arrive within {REQUEST_SECONDS:.0f} seconds"
                self._refuse(Problem(408, "REQUEST_TIMEOUT", message))
        self._watch = self.loop.call_later(max(rest, 0.1), self._look_after)

    def _refuse(self, problem: Problem) -> None:
        """Answer a request that cannot be read, where it is its turn, and close."""
        if self.transport.is_closing():
            return
        cycle = self.cycle
        busy = cycle is not None and not cycle.response_complete
        if busy and self._in_head:
            cycle.keep_alive = False  # what was asked before is still answered
            return
        if busy and not (cycle.response_started or self.pipeline):
            cycle.disconnected = True  # the app waits for the rest of this request in vain
            cycle.message_event.set()
            busy = False
        if not (busy or self.pipeline):
            self.transport.write(self._ready(problem))
        self.transport.close()

    def _ready(self, problem: Problem) -> bytes:
        """The bytes of an answer that is an error; it is in the log too."""
        request_id = new_request_id()
        log_unread(problem, request_id)
        answer = envelope(problem, request_id)
        headers = [
            *self.server_state.default_headers,
            *answer.raw_headers,
            (b"x-request-id", request_id.encode()),
            (b"connection", b"close"),
        ]
        lines = [STATUS_LINE[problem.status_code], *(b"%s: %s\r\n" % one for one in headers)]
        return b"".join([*lines, b"\r\n", bytes(answer.body)])


async def hang(scope: Scope, receive: Any) -> None:  # noqa: ANN401 - ASGI's receive
    """Give no answer until the client goes, or the server ends."""
    scope[_HANGS] = True
    while (await receive())["type"] != "http.disconnect":
        pass
