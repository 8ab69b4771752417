"""Around every request: who may ask, how much, and what no answer may leave out."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl, urlencode

from starlette.requests import ClientDisconnect
from starlette.responses import Response

from svc_tools.excel.officejs.gate import METADATA, Asked

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from svc_tools.excel.officejs.gate import Gate

__all__ = ["LARGEST_BODY", "Guard", "TooLargeError", "failed", "refusal", "too_large"]

LARGEST_BODY = 32 * 1024 * 1024
"""Bytes of a request's body. The add-in's own questions have 4 MB, and more only for one range."""

_HEADERS = {
    b"cache-control": b"no-store",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",  # the token stands in addresses
    b"cross-origin-resource-policy": b"cross-origin",  # Excel on the web shows the pictures
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
}
_FOR_METADATA = {
    b"access-control-allow-origin": b"*",
    b"access-control-allow-private-network": b"true",
}
"""Excel on the web reads the names and help texts from a page of its own address."""

_UNKNOWN = (
    "The token is missing, or is not that of this server. Excel: load the manifest that `svc-tools"
    " excel serve` names again. Programs: send it as Authorization: Bearer TOKEN"
)
_FOREIGN = "This server answers under its own name on this machine, to its own page alone"
_TOO_LARGE = f"The request has more than {LARGEST_BODY // 1024 // 1024} MB; give a smaller range"
_ENDING = "The local server is being stopped; start `svc-tools excel serve` again, then recalculate"
_FAILED = "The request could not be answered; the server's own output names the kind of error"

_log = logging.getLogger("svc_tools.excel")


class TooLargeError(Exception):
    """The body goes on and on."""


def refusal(status: int, code: str, message: str) -> Response:
    """An answer that says why there is none."""
    body = json.dumps({"error": {"code": code, "message": message}})
    return Response(body, status, media_type="application/json")


class Guard:
    """An ASGI layer that lets in whom the gate lets in, and adds the headers of every answer.

    Args:
        app: what answers.
        gate: who may ask.
    """

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        begun = False

        async def headed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = _with_headers(message["headers"], scope["path"])
            await send(message)

        answer = self._refused(scope)
        if answer is None:
            answer = await self._failure(_without_token(scope), _counted(receive), headed)
        if answer is not None and not begun:
            await answer(scope, receive, headed)

    async def _failure(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """Have the app answer; what to say instead where it does not."""
        try:
            await self._app(scope, receive, send)
        except ClientDisconnect:
            return None  # as Excel does with what was computed anew meanwhile
        except asyncio.CancelledError:
            return refusal(503, "ENDING", _ENDING)
        except Exception as error:  # noqa: BLE001 - a stack trace may show what a person typed
            _log.error("A request could not be answered: %s", type(error).__name__)
            return failed()
        return None

    def _refused(self, scope: Scope) -> Response | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        query = parse_qs(scope["query_string"].decode("latin-1"))
        verdict = self._gate.judge(
            Asked(
                method=scope["method"],
                path=scope["path"],
                host=headers.get(b"host", ""),
                origin=headers.get(b"origin"),
                authorization=headers.get(b"authorization", ""),
                token=query.get("token", [""])[0],
            )
        )
        if verdict == "foreign":
            return refusal(403, "FOREIGN", _FOREIGN)
        if verdict == "unknown":
            answer = refusal(401, "UNKNOWN_TOKEN", _UNKNOWN)
            answer.headers["www-authenticate"] = "Bearer"
            return answer
        told = headers.get(b"content-length", "0")
        if told.isdigit() and int(told) > LARGEST_BODY:
            return too_large()
        return None


def too_large() -> Response:
    """The answer to a body that is too much; the connection ends, for the rest is not read."""
    answer = refusal(413, "TOO_LARGE", _TOO_LARGE)
    answer.headers["connection"] = "close"
    return answer


def failed() -> Response:
    """The answer where something went wrong that nobody foresaw; nothing of it is told."""
    return refusal(500, "FAILED", _FAILED)


def _without_token(scope: Scope) -> Scope:
    """What the app, and whatever traces it, is told of a request: the token is not its matter."""
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    kept = urlencode([(name, value) for name, value in query if name != "token"])
    headers = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
    return {**scope, "query_string": kept.encode("latin-1"), "headers": headers}


def _counted(receive: Receive) -> Receive:
    """The body as it comes, until it is too much."""
    received = 0

    async def count() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > LARGEST_BODY:
            raise TooLargeError
        return message

    return count


def _with_headers(headers: list[tuple[bytes, bytes]], path: str) -> list[tuple[bytes, bytes]]:
    added = _HEADERS | (_FOR_METADATA if path == METADATA else {})
    there = {name.lower() for name, _ in headers}
    return [*headers, *((name, value) for name, value in added.items() if name not in there)]
