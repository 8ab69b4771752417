"""Which requests the local server accepts, and what every response carries.

Beyond the rules for every local server (`svc_tools.base.loopback`), a request needs the token: in a
header, or in the address of a file that Excel itself loads. Excel on the web reads the metadata
from its own pages. The layer also limits the body, and keeps the token from the app.
"""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import ClientDisconnect
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from svc_tools.base.loopback import LocalGuard

ROOT = "/excel/"
"""The prefix of every path."""
_METADATA = f"{ROOT}functions.json"
LARGEST_REQUEST = 32 * 1024 * 1024
"""The most bytes of a body. The add-in sends up to 4 MB, and more only for a single range."""
_READS = {"GET", "HEAD"}
_HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",  # addresses contain the token
    "cross-origin-resource-policy": "cross-origin",  # for the icons in Excel on the web
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
_FOR_METADATA = {"access-control-allow-origin": "*", "access-control-allow-private-network": "true"}
_REFUSALS = {
    "FOREIGN": (403, "The request names another host, or comes from the page of another server"),
    "UNKNOWN_TOKEN": (401, "The token is missing or wrong: load the manifest into Excel again"),
    "TOO_LARGE": (
        413,
        f"The request has more than {LARGEST_REQUEST >> 20} MB; give a smaller range",
    ),
    "ENDING": (503, "The server stops; start `svc-tools excel serve` again, then recalculate"),
    "FAILED": (500, "The request failed; the output of the server names the kind of error"),
    "NOT_FOUND": (404, "There is no such page, or method of a page, here; see /excel/"),
    "INVALID_INPUT": (400, "The body cannot be read"),
}
"""The status and the message of error responses, by their codes."""
_log = logging.getLogger("svc_tools.excel")


def origin_of(guard: LocalGuard) -> str:
    """The server's address for Excel, without a path."""
    return f"{guard.scheme}://localhost:{guard.port}"


def judge(guard: LocalGuard, scope: Scope) -> str | None:
    """The code of the error for which a request is refused; `None` where it is accepted."""
    headers, method, path = Headers(scope=scope), scope["method"], scope["path"]
    origins = headers.getlist("origin")
    if path == _METADATA and method in {*_READS, "OPTIONS"}:
        origins = []  # also pages of Excel on the web
    if guard.refuses(headers.getlist("host"), origins) is not None:
        return "FOREIGN"
    is_open = path == ROOT or (path.startswith(f"{ROOT}icon-") and path.endswith(".png"))
    is_preflight = path == _METADATA and method == "OPTIONS"
    if not is_preflight and not (is_open and method in _READS):
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            # browsers store addresses: what computes or changes something takes no token in them
            is_file = method in _READS and "." in path
            token = QueryParams(scope["query_string"]).get("token", "") if is_file else ""
        if not guard.accepts_token(token.strip()):
            return "UNKNOWN_TOKEN"
    # of a body whose length is not given, or too large, nothing more is read
    length = headers.get("content-length", "0")
    is_known = length.isdecimal() and "transfer-encoding" not in headers
    return None if is_known and int(length) <= LARGEST_REQUEST else "TOO_LARGE"


class AddinGuard:
    """An ASGI layer that refuses requests and adds the headers of every response."""

    def __init__(self, app: ASGIApp, guard: LocalGuard) -> None:
        self._app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        added = _HEADERS | (_FOR_METADATA if scope["path"] == _METADATA else {})
        begun = False

        async def headed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in added.items():
                    headers.setdefault(name, value)
            await send(message)

        code = judge(self._guard, scope)
        if code is None:
            try:
                await self._app(_without_token(scope), receive, headed)
            except ClientDisconnect:
                pass  # Excel does so with calls that it has sent again
            except asyncio.CancelledError:
                code = "ENDING"
            except Exception as error:  # noqa: BLE001 - a stack trace may show what the user typed
                _log.error("A request failed: %s", type(error).__name__)
                code = "FAILED"
        if code is not None and not begun:
            await refusal(code)(scope, receive, headed)


def _without_token(scope: Scope) -> Scope:
    """The request without the token, which the app, and whatever traces it, does not need."""
    query = QueryParams(scope["query_string"]).multi_items()
    rest = urlencode([(name, value) for name, value in query if name != "token"])
    headers = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
    return {**scope, "query_string": rest.encode("latin-1"), "headers": headers}


def refusal(code: str, message: str = "", status: int | None = None) -> Response:
    """An error response, with the usual message and status of its code where none is given."""
    usual_status, usual = _REFUSALS[code]
    body = json.dumps({"error": {"code": code, "message": message or usual}})
    response = Response(body, status or usual_status, media_type="application/json")
    if code == "TOO_LARGE":
        response.headers["connection"] = "close"  # the rest is not read
    return response


async def in_thread(work: Callable[[], Response]) -> Response:
    """The response of `work`, run in a daemon thread.

    The process waits for the threads of an executor when it ends: a lookup whose service hangs
    would block Ctrl+C.
    """
    result: Future[Response] = Future()

    def run() -> None:
        result.set_running_or_notify_cancel()
        try:
            result.set_result(work())
        except Exception as error:  # noqa: BLE001 - raised where it is awaited
            result.set_exception(error)

    threading.Thread(target=run, name="svc-excel", daemon=True).start()
    return await asyncio.wrap_future(result)
