"""The transport of bulk lookups: sends one request and returns the response as a plain value.

Requests go over aiohttp: at 64 in flight it costs a twentieth of what the HTTP client of `svc_sdk`
does. Where the user chose how the service is reached, by an injected HTTP client or by a proxy of
the environment, the requests go through that client. Lookups of the embedded service are computed
instead (`computed`), but for those of a forked child, which are its parent's.
"""

from __future__ import annotations

import asyncio
import re
import threading
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Protocol

import httpx

from svc_sdk import AsyncSvc, wire
from svc_sdk.wire import HEALTH, UnreadableError, checked_body, unpacked_body
from svc_tools.base.extras import needs
from svc_tools.config import EmbeddedAsyncSvc, EmbeddedSvc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from aiohttp import StreamReader
    from aiohttp.connector import Connection
    from aiohttp.http import RawResponseMessage

    from svc_sdk import Svc
    from svc_sdk.wire import Call, Failure, Reply, Settings
    from svc_tools.tables.places import Place

_KEEP_ALIVE = 3.0
"""Seconds that a connection may idle: servers end theirs after five or more, and a request that
meets the end of its connection is lost."""
_PATIENCE = 4.0
"""How many times the timeout a request may take through the user's client. The attempt itself is
bounded where httpx connects; a transport of another kind may never end."""
_ABANDONED = 512
"""How many threads whose request hangs there may be besides those in use."""
_SUCCESS = range(200, 300)
_INTERIM = {*range(100, 200)} - {101}
"""Statuses that another one follows."""
_PLAIN = re.compile("[A-Za-z0-9._-]+")
"""Values that need no encoding: ZIPs, dates, degrees; in a tenth of the time."""


class Sender(Protocol):
    """Sends requests from one event loop."""

    async def exchange(self, call: Call) -> Reply | Failure:
        """Send one request; failures are returned, not raised."""

    async def close(self) -> None:
        """Release everything; requests in flight are canceled."""


async def open_sender(client: Svc | AsyncSvc, concurrency: int) -> Sender:
    """The fastest sender that reaches the service as this client does.

    Raises:
        ImportError: aiohttp is needed and not installed.
    """
    settings = wire.settings_of(client)
    closed = isinstance(client, EmbeddedSvc | EmbeddedAsyncSvc) and client.closed
    if wire.is_direct(client) and not closed:
        return _Direct(client, settings, concurrency)
    return _ThroughClient(client, settings, concurrency)  # which says that it was closed


class _Direct:
    """Over connections of aiohttp, one per request in flight, each reused for the next.

    Its session would cost three times as much: it builds and reads of every request what is the
    same for all of them.
    """

    def __init__(self, client: Svc | AsyncSvc, settings: Settings, concurrency: int) -> None:
        """Prepare what all requests share, in the running event loop; no connection is made yet."""
        with needs("Looking up many places", "bulk"):
            import aiohttp  # noqa: PLC0415 - optional, and 100 ms
            from yarl import URL  # noqa: PLC0415 - comes with aiohttp
        self._settings = settings
        self._caught = (
            aiohttp.ClientError,
            aiohttp.http.HttpProcessingError,
            OSError,
            ValueError,
            UnreadableError,
            httpx.DecodingError,
        )
        self._loop = asyncio.get_running_loop()
        self._connector = aiohttp.TCPConnector(limit=concurrency, ssl=settings.route.tls)
        self._target = aiohttp.ClientRequest(
            "GET", URL(settings.base_url, encoded=True), loop=self._loop
        )
        self._bounds = aiohttp.ClientTimeout()  # that of `exchange` is for all of it
        self._idle: list[tuple[Connection, float]] = []
        # what the client itself sends, the key among it: no variable holds it
        self._path, self._head = _path_and_head(wire.http_request(client, HEALTH))

    async def exchange(self, call: Call) -> Reply | Failure:
        """Make one attempt on an idle connection or a new one; after a success it is idle again."""
        status = None
        try:
            async with asyncio.timeout(self._settings.timeout):
                connection = await self._connection()
                try:
                    message, payload = await self._response(call, connection)
                    status = message.code
                    headers = {name.lower(): value for name, value in message.headers.items()}
                    body = await _body(headers, payload)
                except BaseException:
                    connection.close()
                    raise
        except self._caught as error:
            if status is None or status in _SUCCESS:
                return self._settings.failure(_as_httpx(error))
            body = b""  # the status alone decides
        else:
            self._idle.append((connection, self._loop.time()))
        return self._settings.without_key(status, headers, body)

    async def _connection(self) -> Connection:
        """A connection that is open and has nothing to read, or a new one.

        A proxy may report that an idle connection timed out (408), or a broken one may respond
        twice: on a reused connection it would be another place's rate.
        """
        while self._idle:
            connection, since = self._idle.pop()
            protocol = connection.protocol
            usable = protocol is not None and protocol.is_connected() and not protocol.should_close
            if usable and self._loop.time() - since <= _KEEP_ALIVE:
                return connection
            connection.close()
        return await self._connector.connect(self._target, [], self._bounds)

    async def _response(
        self, call: Call, connection: Connection
    ) -> tuple[RawResponseMessage, StreamReader]:
        """Send a request; the head of its response, and its body to be read.

        A request whose connection broke may have been counted: it is not sent again (WIRE).
        """
        protocol, transport = connection.protocol, connection.transport
        assert protocol is not None  # noqa: S101 - it is open
        assert transport is not None  # noqa: S101 - as above
        # it is unpacked in `unpacked_body`, which bounds it
        protocol.set_response_params(read_until_eof=True, auto_decompress=False)
        query = f"?{_query(call.params)}" if call.params else ""
        line = f"{call.method} {self._path}{call.path}{query} HTTP/1.1\r\n"
        transport.write(line.encode() + self._head)
        while True:
            message, payload = await protocol.read()
            if message.code not in _INTERIM:
                return message, payload

    async def close(self) -> None:
        for connection, _ in self._idle:
            connection.close()
        await self._connector.close()


def _path_and_head(request: httpx.Request) -> tuple[str, bytes]:
    """The path before that of a call, and all that follows the first line of a request."""
    path = request.url.raw_path.decode().removesuffix(HEALTH.path)
    headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"cookie"]
    return path, b"".join([b"%b: %b\r\n" % header for header in headers]) + b"\r\n"


def _query(params: tuple[tuple[str, str], ...]) -> str:
    """As the client of svc_sdk writes it, byte for byte."""
    if all(_PLAIN.fullmatch(value) for _, value in params):
        return "&".join([f"{name}={value}" for name, value in params])
    return str(httpx.QueryParams(params))


async def _body(headers: Mapping[str, str], payload: StreamReader) -> bytes:
    """The body, unpacked, unless it is absurdly large."""
    encoding = headers.get("content-encoding", "")
    if payload.is_eof():  # it came with its head, as most do
        return unpacked_body(checked_body(payload.read_nowait()), encoding)
    body = bytearray()
    async for part in payload.iter_any():
        body += part
        checked_body(body)
    return unpacked_body(bytes(body), encoding)


def _as_httpx(error: Exception) -> Exception:
    """The exception that the HTTP client of `svc_sdk` raises for the same (WIRE)."""
    import aiohttp  # noqa: PLC0415 - loaded by now

    if isinstance(error, TimeoutError):
        return httpx.ReadTimeout("")
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ClientConnectorDNSError):
        reason = getattr(error, "os_error", None) or error
        return httpx.ConnectError(str(reason))
    if isinstance(error, UnreadableError | ValueError | httpx.DecodingError):
        return error
    # aiohttp's own message holds the URL, and what was read: no two failures would be equal
    if isinstance(error, aiohttp.ClientPayloadError):
        return httpx.ReadError("the response was cut off")
    if isinstance(error, aiohttp.http.HttpProcessingError):
        message = error.message.partition(":")[0]
        return ValueError(f"it is not an HTTP response ({message})")
    return httpx.ReadError(str(error) or type(error).__name__)


class _ThroughClient:
    """Through the user's client: an asynchronous one on its loop, a synchronous one in threads."""

    def __init__(self, client: Svc | AsyncSvc, settings: Settings, concurrency: int) -> None:
        self._client = client
        self._settings = settings
        self._threads = threading.BoundedSemaphore(concurrency + _ABANDONED)

    async def exchange(self, call: Call) -> Reply | Failure:
        try:
            async with asyncio.timeout(self._settings.timeout * _PATIENCE):
                if isinstance(self._client, AsyncSvc):
                    return await wire.aexchange_once(self._client, call)
                return await self._in_thread(partial(wire.exchange_once, self._client, call))
        except TimeoutError:
            return self._settings.failure(httpx.ReadTimeout(""))

    async def _in_thread(self, send: Callable[[], Reply | Failure]) -> Reply | Failure:
        """What a function returns in a thread of its own: one that hangs holds up no other.

        A daemon thread, as no executor has: it keeps no program from ending.
        """
        if not self._threads.acquire(blocking=False):
            raise TimeoutError
        done: Future[Reply | Failure] = Future()

        def work() -> None:
            with suppress(InvalidStateError, RuntimeError):  # given up; the loop has ended
                try:
                    done.set_result(send())
                except BaseException as error:  # noqa: BLE001 - raised where it is awaited
                    done.set_exception(error)
                finally:
                    self._threads.release()

        threading.Thread(target=work, name="svc-request", daemon=True).start()
        return await asyncio.wrap_future(done)

    async def close(self) -> None:
        """Wait for nothing: a request that hangs ends by itself, and the client is its owner's."""


def request_of(place: Place, *, detail: bool) -> Call:
    """The request for a place (SPEC 4.4), with `detail` for the full response (SPEC 2.5).

    Raises:
        ValueError: the client library would refuse it as well; so for `TypeError`.
    """
    return wire.lookup_call(
        place.state,
        address=place.address,
        city=place.city,
        zip=place.zip,
        location=place.location,
        lat=place.lat,
        lng=place.lng,
        as_of=place.as_of,
        mode="full" if detail else "simple",
    )
