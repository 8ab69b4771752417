"""The outermost layer of the app: request ids, size limits, the API key, and unexpected errors.

Everything here comes before routing and validation, so a caller without a key learns nothing.
"""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING

from starlette.requests import ClientDisconnect

from svc_tools.loopback import LocalGuard
from svc_tools.service.envelope import (
    CODE,
    REQUEST_ID,
    Problem,
    envelope,
    log,
    log_error,
    loggable_address,
    new_request_id,
)
from svc_tools.service.errors import (
    BookUnavailableError,
    StoreBusyError,
    StoreUnavailableError,
)
from svc_tools.service.faults import FAULT
from svc_tools.service.health import unavailable
from svc_tools.service.ratebook.imports.reading import OwnBookChanged, OwnBookError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from svc_tools.service.admission import Admission, Ticket


MAX_BODY = 64 * 1024
MAX_HEADERS = 16 * 1024
MAX_QUERY = 8 * 1024
MAX_PATH = 1024
"""The largest body, headers (names and values together), query string and path, in bytes."""

_HEADERS_READ = frozenset({b"host", b"origin", b"content-length", b"x-api-key", b"authorization"})
_LONGEST_LENGTH = 10
_FIRST_ERROR = 400


class Guard:
    """ASGI middleware around the whole app.

    Args:
        app: the app behind it.
        admission: checks keys and limits.
        loopback: whether the server listens on this machine only; then requests that a web
            page elsewhere could have caused are refused.
    """

    def __init__(self, app: ASGIApp, *, admission: Admission, loopback: bool) -> None:
        self._app = app
        self._admission = admission
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; every response carries `X-Request-Id`."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = new_request_id()
        scope[REQUEST_ID] = request_id
        response = _Response(scope, send, request_id)
        try:
            key = _examine(scope, loopback=self._loopback)
            if scope["path"].startswith("/v1/"):
                response.ticket = await self._admission.admit(scope, key)
            await self._app(scope, _bounded(scope, receive), response)
        except ClientDisconnect:
            return
        except (Exception, asyncio.CancelledError) as error:
            problem = _as_problem(error)
            scope[CODE] = problem.code
            if problem.code == "INTERNAL" and not isinstance(error, Problem):
                response.logged = True
                log.exception("%s failed [%s]", loggable_address(scope), request_id)
            if response.started:
                raise
            await envelope(problem, request_id)(scope, receive, response)
        finally:
            if response.ticket is not None:
                await response.ticket.answered(None)


class _Response:
    """Sends a response with the headers of every response; settles the quota, logs errors."""

    __slots__ = ("_request_id", "_scope", "_send", "logged", "started", "ticket")

    def __init__(self, scope: Scope, send: Send, request_id: str) -> None:
        self._scope = scope
        self._send = send
        self._request_id = request_id
        self.started = False
        self.logged = False
        self.ticket: Ticket | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            status = message["status"]
            headers = [*message["headers"], (b"x-request-id", self._request_id.encode())]
            if self.ticket is not None:
                headers += self.ticket.headers
                # a lookup that failed on purpose is not counted
                await self.ticket.answered(None if FAULT in self._scope else status)
            message["headers"] = headers
            on_purpose = self._scope.get(FAULT, "").startswith(str(status))  # logged there
            if status >= _FIRST_ERROR and not self.logged and not on_purpose:
                log_error(self._scope, status, self._request_id)
        await self._send(message)


def _examine(scope: Scope, *, loopback: bool) -> bytes:
    """Check a request's host, origin and size; return its key, empty where it has none."""
    size = 0
    found: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        size += len(name) + len(value)
        if name in _HEADERS_READ:
            found.setdefault(name, []).append(value)
    if loopback:
        _check_local(found.get(b"host", ()), found.get(b"origin", ()))
    if size > MAX_HEADERS:
        raise _too_large("headers", MAX_HEADERS)
    if len(scope["raw_path"]) > MAX_PATH:
        raise _too_large("path", MAX_PATH)
    if len(scope["query_string"]) > MAX_QUERY:
        raise _too_large("query string", MAX_QUERY)
    length = found.get(b"content-length", [b"0"])[0]
    if len(length) > _LONGEST_LENGTH or not length.isdigit() or int(length) > MAX_BODY:
        raise _too_large("body", MAX_BODY)
    return _key_of(found)


def _key_of(found: Mapping[bytes, list[bytes]]) -> bytes:
    """The key of `X-API-Key`, else of `Authorization: Bearer`; empty where neither is there.

    A header that is given twice is one list (RFC 9110, 5.3), and no key is a list.
    """
    if b"x-api-key" in found:
        return b",".join(found[b"x-api-key"]).strip()
    scheme, _, token = b",".join(found.get(b"authorization", ())).partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


_LOCAL = LocalGuard()


@functools.lru_cache(maxsize=256)
def _refused_locally(hosts: tuple[bytes, ...], origins: tuple[bytes, ...]) -> str | None:
    return _LOCAL.refuses(
        [one.decode("latin-1") for one in hosts], [one.decode("latin-1") for one in origins]
    )


def _check_local(hosts: Iterable[bytes], origins: Iterable[bytes]) -> None:
    """Refuse what a page of another site could have sent through a browser on this machine."""
    refused = _refused_locally(tuple(hosts), tuple(origins))
    if refused == "host":
        raise Problem(
            403,
            "INVALID_HOST",
            "This service listens on this machine only: the Host header must be 127.0.0.1,"
            " localhost or [::1], with any port",
        )
    if refused == "origin":
        raise Problem(
            403,
            "INVALID_ORIGIN",
            "This service listens on this machine only: pages of other sites may not"
            " use it (the Origin header is not of this machine)",
        )


def _too_large(what: str, most: int) -> Problem:
    return Problem(
        400,
        "INVALID_INPUT",
        f"The {what} of the request may have {most} bytes at most",
        extra={"limit_bytes": most},
    )


def _bounded(scope: Scope, receive: Receive) -> Receive:
    """`receive`, refusing a body that is larger than its headers declare."""
    if scope["method"] == "GET":
        return receive  # no GET reads a body
    seen = 0

    async def receive_bounded() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MAX_BODY:
            raise _too_large("body", MAX_BODY)
        return message

    return receive_bounded


def _as_problem(error: BaseException) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, asyncio.CancelledError):  # the server is stopping
        return Problem(
            503,
            "TEMPORARILY_UNAVAILABLE",
            "The service is stopping, and did not finish this request; try again later",
            retry_after=1,
        )
    if isinstance(error, StoreBusyError):
        return Problem(
            503,
            "TEMPORARILY_UNAVAILABLE",
            "The database is locked by another process; try again",
            retry_after=1,
        )
    if isinstance(error, StoreUnavailableError):
        return unavailable("database")
    if isinstance(error, BookUnavailableError | OwnBookError | OwnBookChanged):
        return unavailable("book")
    return Problem(
        500,
        "INTERNAL",
        "The service failed on this request; its log has the reason under the support reference",
    )
