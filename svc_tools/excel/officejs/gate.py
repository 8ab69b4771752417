"""Which requests the local server accepts: the rules (`Gate`) and the ASGI layer (`Guard`).

The server listens on loopback, where every program and user of the machine can reach it, and where
a web page elsewhere can send the browser (DNS rebinding, forms). So it accepts only its own host
names, its own page, and requests with the token: in a header, or for the files that Excel itself
loads in their addresses. The layer also limits the body, adds headers to every response, and keeps
the token from the app.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar
from urllib.parse import parse_qs, parse_qsl, urlencode

from starlette.requests import ClientDisconnect
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import SecretStr
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

Verdict = Literal["allowed", "unknown", "foreign"]
"""`unknown`: the token is missing or wrong. `foreign`: the request has another host name than the
server's, or comes from the page of another server."""
ROOT = "/excel/"
"""The prefix of every path."""
METADATA = f"{ROOT}functions.json"
"""Names and help texts of the functions, which Excel on the web reads from its own pages."""
ACTIONS = frozenset(f"{ROOT}{name}" for name in ("batch", "status", "refresh", "key", "embedded"))
"""Paths that compute or change something: a token in the address, which browsers store, is not
accepted."""
LARGEST_BODY = 32 * 1024 * 1024
"""The most bytes of a body. The add-in sends up to 4 MB, and more only for a single range."""
_READS = {"GET", "HEAD"}
_USUAL_PORTS = {"http": 80, "https": 443}
_SCHEME = "bearer "
_HEADERS = {
    b"cache-control": b"no-store",
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",  # addresses contain the token
    b"cross-origin-resource-policy": b"cross-origin",  # for the icons in Excel on the web
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
}
_FOR_METADATA = {
    b"access-control-allow-origin": b"*",
    b"access-control-allow-private-network": b"true",
}
_UNKNOWN = (
    "The token is missing, or is not that of this server. Excel: load the manifest that `svc-tools"
    " excel serve` names again. Programs: send it as Authorization: Bearer TOKEN"
)
_FOREIGN = "This server answers under its own name on this machine, to its own page alone"
_TOO_LARGE = f"The request has more than {LARGEST_BODY // 1024 // 1024} MB; give a smaller range"
_ENDING = "The local server is being stopped; start `svc-tools excel serve` again, then recalculate"
_FAILED = "The request could not be answered; the server's own output names the kind of error"
_log = logging.getLogger("svc_tools.excel")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class GateRequest:
    """The parts of a request that decide.

    Attributes:
        method: the HTTP method.
        path: the path, without the query.
        host: the header `Host`.
        origin: the header `Origin`: the page that sends the request, if a page does.
        authorization: the header `Authorization`.
        token: the token in the query, or "".
    """

    method: str
    path: str
    host: str
    origin: str | None = None
    authorization: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """The address of the server, and the token that requests need.

    Attributes:
        port: the port that the server listens on.
        token: the token.
        scheme: http, or https where it has a certificate.
    """

    port: int
    token: SecretStr
    scheme: Literal["http", "https"] = "http"

    @property
    def origin(self) -> str:
        """The server's address for Excel, without a path."""
        return f"{self.scheme}://localhost:{self.port}"

    def judge(self, request: GateRequest) -> Verdict:
        """Whether a request is accepted."""
        host = request.host.lower()
        if host not in self._hosts():
            return "foreign"
        if request.path == METADATA and request.method == "OPTIONS":
            return "allowed"  # the preflight request of a browser
        reads_metadata = request.path == METADATA and request.method in _READS
        own = f"{self.scheme}://{host}"
        if request.origin is not None and request.origin.lower() != own and not reads_metadata:
            return "foreign"
        if request.method in _READS and _is_open(request.path):
            return "allowed"
        return "allowed" if self._knows(request) else "unknown"

    def _hosts(self) -> set[str]:
        names = {"localhost", "127.0.0.1", "[::1]"}
        usual = self.port == _USUAL_PORTS[self.scheme]  # which browsers leave out
        return {f"{name}:{self.port}" for name in names} | (names if usual else set())

    def _knows(self, request: GateRequest) -> bool:
        if request.authorization[: len(_SCHEME)].lower() == _SCHEME:
            return self._is_token(request.authorization[len(_SCHEME) :].strip())
        takes_query = request.method in _READS and request.path not in ACTIONS
        return takes_query and self._is_token(request.token)

    def _is_token(self, given: str) -> bool:
        known = self.token.get_secret_value().encode()
        return hmac.compare_digest(given.encode(errors="surrogatepass"), known)


def _is_open(path: str) -> bool:
    """Whether a path is public: the page with instructions, and the icons."""
    return path == ROOT or (path.startswith(f"{ROOT}icon-") and path.endswith(".png"))


class Guard:
    """An ASGI layer that enforces the gate and adds the headers of every response."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return
        begun = False

        async def headed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message["headers"] = _with_headers(message["headers"], scope["path"])
            await send(message)

        response = self._refused(scope)
        if response is None:
            response = await self._failure(_without_token(scope), _counted(receive), headed)
        if response is not None and not begun:
            await response(scope, receive, headed)

    async def _failure(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        """Run the app; an error response where it fails."""
        try:
            await self._app(scope, receive, send)
        except ClientDisconnect:
            return None  # Excel does so with calls that it has sent again
        except asyncio.CancelledError:
            return refusal(503, "ENDING", _ENDING)
        except Exception as error:  # noqa: BLE001 - a stack trace may show what the user typed
            _log.error("A request could not be answered: %s", type(error).__name__)
            return failed()
        return None

    def _refused(self, scope: Scope) -> Response | None:
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        query = parse_qs(scope["query_string"].decode("latin-1"))
        verdict = self._gate.judge(
            GateRequest(
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
            response = refusal(401, "UNKNOWN_TOKEN", _UNKNOWN)
            response.headers["www-authenticate"] = "Bearer"
            return response
        length = headers.get(b"content-length", "0")
        if length.isdigit() and int(length) > LARGEST_BODY:
            return too_large()
        return None


class TooLargeError(Exception):
    """The body has more bytes than are accepted."""


def _without_token(scope: Scope) -> Scope:
    """The request without the token, which the app, and whatever traces it, does not need."""
    query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    kept = urlencode([(name, value) for name, value in query if name != "token"])
    headers = [(name, value) for name, value in scope["headers"] if name != b"authorization"]
    return {**scope, "query_string": kept.encode("latin-1"), "headers": headers}


def _counted(receive: Receive) -> Receive:
    """Receive a body, until it is too large."""
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


def refusal(status: int, code: str, message: str) -> Response:
    """An error response."""
    body = json.dumps({"error": {"code": code, "message": message}})
    return Response(body, status, media_type="application/json")


def too_large() -> Response:
    """The response to a body that is too large; the connection ends, since the rest is not read."""
    response = refusal(413, "TOO_LARGE", _TOO_LARGE)
    response.headers["connection"] = "close"
    return response


def failed() -> Response:
    """The response to an unexpected error, without details."""
    return refusal(500, "FAILED", _FAILED)


async def in_thread(work: Callable[[], _Result]) -> _Result:
    """The result of `work`, run in a daemon thread.

    The process waits for the threads of an executor when it ends: a lookup whose service hangs
    would block Ctrl+C.
    """
    loop = asyncio.get_running_loop()
    made: asyncio.Future[_Result] = loop.create_future()

    def settle(result: _Result | None, error: BaseException | None) -> None:
        if made.done():  # canceled
            return
        if error is not None:
            made.set_exception(error)
        else:
            made.set_result(result)  # type: ignore[arg-type]  # the result of `work`

    def run() -> None:
        result, failure = None, None
        try:
            result = work()
        except Exception as error:  # noqa: BLE001 - raised where it is awaited
            failure = error
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, result, failure)

    threading.Thread(target=run, name="svc-excel", daemon=True).start()
    return await made
