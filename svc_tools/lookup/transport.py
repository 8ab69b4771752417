"""The transport of bulk lookups: sends one request and returns the response as a plain value.

Requests go over aiohttp: at 64 in flight it costs a twentieth of what the HTTP client of `svc_sdk`
does. Where the user chose how the service is reached, by an injected HTTP client or by a proxy of
the environment, the requests go through that client. Lookups of the embedded service are computed
instead (`computed`), but for those of a forked child, which are its parent's.
"""

from __future__ import annotations

import asyncio
import functools
import re
import threading
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from svc_sdk import AsyncSvc, _requests
from svc_sdk._attempt import LARGEST_BODY, UnreadableError, checked, unpacked
from svc_sdk._requests import HEALTH
from svc_tools.config import EmbeddedAsyncSvc, EmbeddedSvc
from svc_tools.extras import needs

if TYPE_CHECKING:
    from collections.abc import Callable

    import aiohttp
    from yarl import URL

    from svc_sdk import Svc
    from svc_sdk._requests import Call
    from svc_sdk._responses import Failure, Reply
    from svc_sdk._settings import Settings
    from svc_tools.places import Place

_KEEP_ALIVE = 3.0
"""Seconds that a connection may idle: servers end theirs after five or more, and a request that
meets the end of its connection is lost."""
_PATIENCE = 4.0
"""How many times the timeout a request may take through the user's client. The attempt itself is
bounded where httpx connects; a transport of another kind may never end."""
_ABANDONED = 512
"""How many threads whose request hangs there may be besides those in use."""
_SUCCESS = range(200, 300)
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
    settings = client._settings  # noqa: SLF001 - the client's own, as for the calls below
    closed = isinstance(client, EmbeddedSvc | EmbeddedAsyncSvc) and client.closed
    if client._owns_http and settings.route.proxy is None and not closed:  # noqa: SLF001
        return _Direct(client, settings, concurrency)
    return _ThroughClient(client, settings, concurrency)  # which says that it was closed


class _Direct:
    """Over aiohttp; one connection per request in flight, each reused for the next."""

    def __init__(self, client: Svc | AsyncSvc, settings: Settings, concurrency: int) -> None:
        with needs("Looking up many places", "bulk"):
            import aiohttp  # noqa: PLC0415 - optional, and 100 ms
            from yarl import URL  # noqa: PLC0415 - comes with aiohttp
        self._settings = settings
        self._make_url = URL
        self._caught = (
            aiohttp.ClientError,
            OSError,
            ValueError,
            UnreadableError,
            httpx.DecodingError,
        )
        self._session = aiohttp.ClientSession(
            connector=_connector()(
                limit=concurrency, ssl=settings.route.tls, keepalive_timeout=_KEEP_ALIVE
            ),
            # the headers that the client itself sends, the key among them: no variable holds it
            headers=_own_headers(settings.request(client._http, HEALTH)),  # noqa: SLF001
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent"),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # it is bounded in `unpacked`
            timeout=aiohttp.ClientTimeout(total=settings.timeout),
        )
        # a request whose connection broke may have been counted: aiohttp must not resend it (WIRE)
        self._session._retry_connection = False  # noqa: SLF001 - there is no public switch

    async def exchange(self, call: Call) -> Reply | Failure:
        status = None
        try:
            async with self._session.request(
                call.method, self._url(call), allow_redirects=False
            ) as response:
                status = response.status
                headers = {name.lower(): value for name, value in response.headers.items()}
                body = await _body(response)
        except self._caught as error:
            if status is None or status in _SUCCESS:
                return self._settings.failure(_as_httpx(error))
            body = b""  # the status alone decides
        return self._settings.without_key(status, headers, body)

    def _url(self, call: Call) -> URL:
        query = f"?{_query(call.params)}" if call.params else ""
        return self._make_url(f"{self._settings.base_url}{call.path}{query}", encoded=True)

    async def close(self) -> None:
        await self._session.close()


def _query(params: tuple[tuple[str, str], ...]) -> str:
    """As the client of svc_sdk writes it, byte for byte."""
    if all(_PLAIN.fullmatch(value) for _, value in params):
        return "&".join([f"{name}={value}" for name, value in params])
    return str(httpx.QueryParams(params))


@functools.cache
def _connector() -> type[aiohttp.TCPConnector]:
    import aiohttp  # noqa: PLC0415 - loaded by now

    class Connector(aiohttp.TCPConnector):
        """Never takes an unsolicited response for that of the next request.

        A proxy may report that an idle connection timed out (408), or a broken one may respond
        twice: on a reused connection it would be another place's rate.
        """

        async def _get(self, key: Any, traces: Any) -> Any:  # noqa: ANN401 - as in aiohttp
            for protocol, _ in self._conns.get(key, ()):
                if protocol.should_close:
                    protocol.close()  # one that is closed is not used again
            return await super()._get(key, traces)

    return Connector


def _own_headers(request: httpx.Request) -> dict[str, str]:
    """The headers of a request but those that belong to its connection."""
    return {
        name: value
        for name, value in request.headers.items()
        if name not in {"host", "connection", "cookie"}
    }


async def _body(response: aiohttp.ClientResponse) -> bytes:
    """The body, unpacked, unless it is absurdly large."""
    encoding = response.headers.get("content-encoding", "")
    length = response.content_length
    if not encoding and length is not None and length <= LARGEST_BODY:
        return await response.read()
    body = bytearray()
    async for part in response.content.iter_any():
        body += part
        checked(body)
    return unpacked(bytes(body), encoding)


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
    if isinstance(error, aiohttp.ClientResponseError):
        message = str(getattr(error, "message", "")).partition(":")[0]
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
                    return await self._client._exchange(call)  # noqa: SLF001 - as in open_sender
                return await self._in_thread(partial(self._client._exchange, call))  # noqa: SLF001
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
    return _requests.lookup(
        place.state,
        address=place.address,
        city=place.city,
        zip=place.zip,
        location=place.location,
        lat=place.lat,
        lng=place.lng,
        as_of=place.as_of,
        period=None,
        mode="full" if detail else "simple",
    )
