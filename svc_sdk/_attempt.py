"""The bounds of one attempt: its time as a whole, and the size of its body (SPEC 4.4 and 8).

httpx times every read by itself: a response that comes byte by byte would take hours.
"""

from __future__ import annotations

import ssl
import threading
import weakref
import zlib
from contextlib import asynccontextmanager, contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping

Body = TypeVar("Body", bytes, bytearray)

LARGEST_BODY = 16 * 1024 * 1024
"""Bytes of a body that are read, packed and unpacked: far above any, and no threat to memory."""

_OPENED = ("connect_tcp.complete", "connect_unix_socket.complete", "start_tls.complete")
_NOT_READY = ("start_tls.failed", "setup_socks5_connection.failed")


class UnreadableError(Exception):
    """A body that is too large, or in an encoding that was not requested."""


FAILURES = (
    httpx.RequestError,
    httpx.InvalidURL,
    httpx.StreamError,
    UnicodeError,
    TimeoutError,
    ConnectionError,
    ssl.SSLError,  # of an asynchronous handshake, before httpcore 1.0
    UnreadableError,
)
"""The exceptions of an attempt that brought no response (see `Settings.failure`)."""


@contextmanager
def _as_httpx() -> Iterator[None]:
    """Raise an exception of httpx2, whose client was injected, or of socksio as one of httpx.

    Others, such as a program error of a hook, are raised as they are.
    """
    try:
        yield
    except Exception as error:
        for kind in type(error).__mro__:
            library = kind.__module__.partition(".")[0]
            if library == "socksio":  # httpcore lets it pass
                raise httpx.ProxyError(f"this is not a SOCKS 5 proxy ({error})") from None
            if library == "httpx2":
                twin = getattr(httpx, kind.__name__, kind)
                # the same class where the user aliased httpx
                if issubclass(twin, (httpx.HTTPStatusError, *FAILURES)) and twin is not kind:
                    raise _twin(error, twin) from None
        raise


def _twin(error: Exception, kind: type[Exception]) -> Exception:
    """The exception as one of another class, with its arguments and attributes."""
    twin = kind.__new__(kind, *error.args)
    twin.__dict__.update(error.__dict__)
    return twin


class Deadline:
    """The end of an attempt. It starts with the connection: waiting for a free one does not count.

    A transport that does not report its connection starts it with the headers of the response.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end: float | None = None

    def start(self) -> None:
        """Start the time, unless it runs already."""
        if self._end is None:
            self._end = monotonic() + self._seconds

    def left(self, timeout: float | None = None) -> float | None:
        """The timeout, lowered to the time that is left.

        Raises:
            httpx.ReadTimeout: no time is left.
        """
        if self._end is None:
            return timeout
        left = self._end - monotonic()
        if left <= 0:
            raise httpx.ReadTimeout("")
        return left if timeout is None else min(timeout, left)


class _Current(threading.local):
    deadline: Deadline | None = None


_current = _Current()


@contextmanager
def within(request: httpx.Request, seconds: float) -> Iterator[Deadline]:
    """Bound all that this thread does on the connection of a request (`httpx.Client`)."""
    deadline = Deadline(seconds)
    stream: Any = None

    def trace(event: str, info: Mapping[str, Any]) -> None:
        nonlocal stream
        deadline.start()
        if event.endswith(_OPENED):
            stream = info["return_value"]
            _bound(stream)
        elif event.endswith(_NOT_READY):
            stream.close()

    request.extensions["trace"] = trace
    outer, _current.deadline = _current.deadline, deadline
    try:
        with _as_httpx():
            yield deadline
    finally:
        _current.deadline = outer


def _bound(stream: Any) -> None:  # noqa: ANN401 - a network stream of httpcore
    """Lower the timeouts of a connection to what is left of the attempt that uses it.

    The connection may belong to the user's client: where there is no attempt, nothing changes.
    """
    read, write, start_tls = stream.read, stream.write, stream.start_tls

    def bounded_read(max_bytes: int, timeout: float | None = None) -> object:
        return read(max_bytes, _left(timeout))

    def bounded_write(buffer: bytes, timeout: float | None = None) -> object:
        return write(buffer, _left(timeout))

    def bounded_tls(
        ssl_context: object, server_hostname: str | None = None, timeout: float | None = None
    ) -> object:
        return start_tls(ssl_context, server_hostname, _left(timeout))

    stream.read, stream.write, stream.start_tls = bounded_read, bounded_write, bounded_tls


def _left(timeout: float | None) -> float | None:
    deadline = _current.deadline
    return timeout if deadline is None else deadline.left(timeout)


_slots: weakref.WeakKeyDictionary[
    httpx.AsyncClient, tuple[asyncio.AbstractEventLoop, asyncio.Semaphore]
] = weakref.WeakKeyDictionary()
"""The free connections of each HTTP client, which several clients may share, in its event loop."""
_CONNECTIONS = 100
"""How many connections a pool has by default; also for a transport that says nothing of them."""


@asynccontextmanager
async def awithin(
    http: httpx.AsyncClient, request: httpx.Request, seconds: float
) -> AsyncIterator[Callable[[], None]]:
    """The same for an `httpx.AsyncClient`; gives what starts the time.

    No more attempts are begun than the pool has connections: waiting for the others is no delay of
    the service, and has no limit. The pool itself then only lets one wait where a connection is
    used by something else: that has a limit.

    Raises:
        TimeoutError: no time is left.
    """
    import asyncio  # noqa: PLC0415 - not small, and loaded by now

    def start() -> None:
        if scope.when() is None:
            scope.reschedule(loop.time() + seconds)

    loop = asyncio.get_running_loop()
    stream: Any = None

    async def trace(event: str, info: Mapping[str, Any]) -> None:
        nonlocal stream
        start()
        if event.endswith(_OPENED):
            stream = info["return_value"]
        elif event.endswith(_NOT_READY):
            await stream.aclose()  # httpcore 1.0 leaves it open, with SOCKS or canceled

    request.extensions["trace"] = trace
    request.extensions["timeout"]["pool"] = seconds
    pool = getattr(http._transport_for_url(request.url), "_pool", None)  # noqa: SLF001 - see _restore
    of, slots = _slots.get(http, (None, None))
    if slots is None or of is not loop:
        slots = asyncio.Semaphore(max(getattr(pool, "_max_connections", _CONNECTIONS), 1))
        _slots[http] = loop, slots
    async with slots:
        try:
            async with asyncio.timeout(None) as scope:
                with _as_httpx():
                    yield start
        finally:
            await _restore(pool, trace)


async def _restore(pool: Any, trace: object) -> None:  # noqa: ANN401 - a pool of httpcore, or none
    """Take what a canceled attempt left behind out of a pool.

    httpcore 1.0 counts it among the connections in use for ever: one that was opened for a request
    that ended before it was sent, and one whose request was canceled while it was given back.
    """
    if not hasattr(pool, "_assign_requests_to_connections"):
        return
    for queued in pool._requests[:]:  # noqa: SLF001 - there is no public way
        if queued.request.extensions.get("trace") is trace:
            pool._requests.remove(queued)  # noqa: SLF001 - as above
    used = {id(queued.connection) for queued in pool._requests}  # noqa: SLF001 - as above
    lost = [
        connection
        for connection in pool._connections  # noqa: SLF001 - as above
        if id(connection) not in used and not (connection.is_idle() or connection.is_closed())
    ]
    for connection in lost:
        pool._connections.remove(connection)  # noqa: SLF001 - as above
    if lost:
        lost += pool._assign_requests_to_connections()  # noqa: SLF001 - others may wait for one
        for connection in lost:
            await connection.aclose()


def read_body(response: httpx.Response, deadline: Deadline) -> bytes:
    """The body, unpacked.

    Raises:
        UnreadableError: it is too large, or its encoding was not requested.
        httpx.RequestError: it broke, or came too slowly.
    """
    deadline.start()
    if response.is_stream_consumed:  # by an event hook, or there was no stream
        return checked_body(response.content)
    body = bytearray()
    for part in response.iter_raw():
        deadline.left()
        body += part
        checked_body(body)
    return unpacked_body(bytes(body), response.headers.get("content-encoding", ""))


async def aread_body(response: httpx.Response, start: Callable[[], None]) -> bytes:
    """As `read_body`, for an `httpx.AsyncClient`; the response is closed."""
    start()
    try:
        if response.is_stream_consumed:
            return checked_body(response.content)
        body = bytearray()
        async for part in response.aiter_raw():
            body += part
            checked_body(body)
    finally:
        await response.aclose()
    return unpacked_body(bytes(body), response.headers.get("content-encoding", ""))


def checked_body(body: Body) -> Body:
    """The body, or as much of it as there is, unless it is too large.

    Raises:
        UnreadableError: it is.
    """
    if len(body) > LARGEST_BODY:
        raise UnreadableError(f"it has more than {LARGEST_BODY // 1024**2} MB")
    return body


def unpacked_body(body: bytes, encoding: str) -> bytes:
    """The body without its encoding. None was requested; some services send gzip regardless.

    Raises:
        UnreadableError: it is too large, or its encoding is another one.
        httpx.DecodingError: it is broken.
    """
    encoding = encoding.strip().lower()
    if not body or encoding in {"", "identity"}:
        return body
    if encoding not in {"gzip", "x-gzip", "deflate"}:
        raise UnreadableError(f"its encoding {encoding[:40]!r} was not requested")
    try:
        return _inflated(body, zlib.MAX_WBITS | 32)  # gzip or zlib, by its header
    except zlib.error as error:
        if encoding != "deflate":
            raise httpx.DecodingError(str(error)) from None
    try:
        return _inflated(body, -zlib.MAX_WBITS)  # without the header that belongs to it
    except zlib.error as error:
        raise httpx.DecodingError(str(error)) from None


def _inflated(body: bytes, window: int) -> bytes:
    stream = zlib.decompressobj(window)
    whole = checked_body(stream.decompress(body, LARGEST_BODY + 1))
    if not stream.eof:
        raise zlib.error("the response was cut off")
    return whole
