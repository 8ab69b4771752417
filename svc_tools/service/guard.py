"""The outermost layer of the app: request id, limits, who may ask, and what happens to surprises.

Everything here comes before routing and validation, so a caller without a key learns nothing.
"""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from svc_tools.service.envelope import REQUEST_ID, Problem, envelope
from svc_tools.service.errors import StoreBusyError
from svc_tools.service.loopback import is_loopback_authority, is_loopback_origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from svc_tools.service.keys import KeyRing

__all__ = ["ACCOUNT", "MAX_BODY", "MAX_HEADERS", "MAX_QUERY", "Guard"]

ACCOUNT = "svc.account"
"""The key of the ASGI scope under which the account of the caller stands."""

MAX_BODY = 64 * 1024
MAX_HEADERS = 16 * 1024
MAX_QUERY = 8 * 1024
"""The largest body, headers (names and values together) and query string, in bytes."""

_READ = frozenset({b"host", b"origin", b"content-length", b"x-api-key", b"authorization"})
_LONGEST_LENGTH = 10

log = logging.getLogger("svc_tools.service")


class Guard:
    """ASGI middleware around the whole app.

    Args:
        app: what answers.
        keys: who may ask.
        loopback: whether the server listens on this machine only; then requests that a web
            page elsewhere could have caused are refused.
    """

    def __init__(self, app: ASGIApp, *, keys: KeyRing, loopback: bool) -> None:
        self._app = app
        self._keys = keys
        self._loopback = loopback

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; every answer carries `X-Request-Id`."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = f"req_{secrets.token_hex(12)}"
        scope[REQUEST_ID] = request_id
        id_header = (b"x-request-id", request_id.encode())
        started = False

        async def send_with_id(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message["headers"], id_header]
            await send(message)

        try:
            await self._admit(scope)
            await self._app(scope, _bounded(scope, receive), send_with_id)
        except ClientDisconnect:
            return
        except Exception as error:
            problem = _as_problem(error)
            if problem.code == "INTERNAL":
                # the path holds a state at most; the query string may hold an address
                log.exception("%s %r failed [%s]", scope["method"], scope["path"], request_id)
            if started:
                raise
            await envelope(problem, request_id)(scope, receive, send_with_id)

    async def _admit(self, scope: Scope) -> None:
        """Check the request's frame and the key; the account goes into the scope.

        Raises:
            Problem: 400 for a request too large, 401 without a valid key, 403 for a `Host` or
                `Origin` that is not this machine.
        """
        key = _examine(scope, loopback=self._loopback)
        if not scope["path"].startswith("/v1/"):
            return
        account = self._keys.recall(key) if key else None
        if account is None and key:
            account = await run_in_threadpool(self._keys.verify, key)
        if account is None:
            raise Problem(
                401,
                "UNAUTHORIZED",
                "The API key is missing or not valid; send it in the header X-API-Key",
                headers={"WWW-Authenticate": 'Bearer realm="svc"'},
            )
        scope[ACCOUNT] = account


def _examine(scope: Scope, *, loopback: bool) -> bytes:
    """Judge a request by its headers; the key that it carries, empty where it has none."""
    size = 0
    found: dict[bytes, list[bytes]] = {}
    for name, value in scope["headers"]:
        size += len(name) + len(value)
        if name in _READ:
            found.setdefault(name, []).append(value)
    if loopback:
        _check_local(found.get(b"host", ()), found.get(b"origin", ()))
    if size > MAX_HEADERS:
        raise _too_large("headers", MAX_HEADERS)
    if len(scope["query_string"]) > MAX_QUERY:
        raise _too_large("query string", MAX_QUERY)
    length = found.get(b"content-length", [b"0"])[0]
    if len(length) > _LONGEST_LENGTH or not length.isdigit() or int(length) > MAX_BODY:
        raise _too_large("body", MAX_BODY)
    return _key_of(found)


def _key_of(found: Mapping[bytes, list[bytes]]) -> bytes:
    """The key of `X-API-Key`, else of `Authorization: Bearer`; empty where neither is there."""
    if b"x-api-key" in found:
        return found[b"x-api-key"][0].strip()
    scheme, _, token = found.get(b"authorization", [b""])[0].partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


def _check_local(hosts: Iterable[bytes], origins: Iterable[bytes]) -> None:
    """Refuse what a page of another site could have sent through a browser here."""
    if [is_loopback_authority(host.decode("latin-1")) for host in hosts] != [True]:
        raise Problem(
            403,
            "INVALID_HOST",
            "This service listens on this machine only: the Host header must be 127.0.0.1,"
            " localhost or [::1], with any port",
        )
    for origin in origins:
        if not is_loopback_origin(origin.decode("latin-1")):
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
    """`receive`, refusing a body that turns out larger than its headers let expect."""
    if scope["method"] == "GET":
        return receive  # no address that is read by GET looks at a body
    seen = 0

    async def receive_bounded() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MAX_BODY:
            raise _too_large("body", MAX_BODY)
        return message

    return receive_bounded


def _as_problem(error: Exception) -> Problem:
    if isinstance(error, Problem):
        return error
    if isinstance(error, StoreBusyError):
        return Problem(
            503,
            "TEMPORARILY_UNAVAILABLE",
            "The database is locked by another process; try again",
            retry_after=1,
        )
    return Problem(
        500,
        "INTERNAL",
        "The service failed on this request; its log has the reason under the support reference",
    )
