"""Who may ask the local server for something. Pure.

It listens on loopback, where every program and every user of the machine can reach it, and where a
web page elsewhere can send the browser (DNS rebinding, forms). So it answers under its own names
only, to its own page, and to whoever has the token: in a header, or for the files that Excel itself
loads in their addresses.
"""

# MERGED guard: Around every request: who may ask, how much, and what no answer may leave out.
# MERGED in_thread: Work that takes its time beside the event loop, on threads that never keep the process alive.

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
"""`unknown`: the token is missing or not ours. `foreign`: under another name than the server's, or
from the page of another server."""
ROOT = "/excel/"
"""What every path begins with."""
METADATA = f"{ROOT}functions.json"
"""The one file that pages of Excel on the web read from their own address: names and help texts."""
_READS = {"GET", "HEAD"}
_USUAL_PORTS = {"http": 80, "https": 443}
_SCHEME = "bearer "

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

ACTIONS = frozenset(f"{ROOT}{name}" for name in ("batch", "status", "refresh", "key", "embedded"))
"""What computes or changes something: never by a token in an address, which browsers remember."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of a request.

    Attributes:
        method: the HTTP method.
        path: the path, without the query.
        host: the header `Host`.
        origin: the header `Origin`: the page that asks, if a page does.
        authorization: the header `Authorization`.
        token: the token in the query, or nothing.
    """

    method: str
    path: str
    host: str
    origin: str | None = None
    authorization: str = ""
    token: str = ""


@dataclass(frozen=True, slots=True)
class Gate:
    """The names of the server, and the token of those who may ask it.

    Attributes:
        port: the port that the server listens on.
        token: what its callers prove themselves with.
        scheme: http, or https where it has a certificate.
    """

    port: int
    token: SecretStr
    scheme: Literal["http", "https"] = "http"

    @property
    def origin(self) -> str:
        """The server's address, without a path, as Excel is told it."""
        return f"{self.scheme}://localhost:{self.port}"

    def judge(self, asked: Asked) -> Verdict:
        """Whether a request is let in."""
        host = asked.host.lower()
        if host not in self._hosts():
            return "foreign"
        if asked.path == METADATA and asked.method == "OPTIONS":
            return "allowed"  # a browser asks whether it may ask
        reads_metadata = asked.path == METADATA and asked.method in _READS
        own = f"{self.scheme}://{host}"
        if asked.origin is not None and asked.origin.lower() != own and not reads_metadata:
            return "foreign"
        if asked.method in _READS and _is_open(asked.path):
            return "allowed"
        return "allowed" if self._knows(asked) else "unknown"

    def _hosts(self) -> set[str]:
        names = {"localhost", "127.0.0.1", "[::1]"}
        usual = self.port == _USUAL_PORTS[self.scheme]  # which no browser names
        return {f"{name}:{self.port}" for name in names} | (names if usual else set())

    def _knows(self, asked: Asked) -> bool:
        if asked.authorization[: len(_SCHEME)].lower() == _SCHEME:
            return self._is_token(asked.authorization[len(_SCHEME) :].strip())
        takes_query = asked.method in _READS and asked.path not in ACTIONS
        return takes_query and self._is_token(asked.token)

    def _is_token(self, given: str) -> bool:
        known = self.token.get_secret_value().encode()
        return hmac.compare_digest(given.encode(errors="surrogatepass"), known)


def _is_open(path: str) -> bool:
    """Whether a path holds nothing of anybody: the page with instructions, and the pictures."""
    return path == ROOT or (path.startswith(f"{ROOT}icon-") and path.endswith(".png"))


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


_Made = TypeVar("_Made")


async def in_thread(work: Callable[[], _Made]) -> _Made:
    """What `work` gives, computed on a thread of its own.

    An executor's threads are waited for when the process ends, and a lookup whose service hangs
    would hold up Ctrl+C.
    """
    loop = asyncio.get_running_loop()
    made: asyncio.Future[_Made] = loop.create_future()

    def settle(result: _Made | None, error: BaseException | None) -> None:
        if made.done():  # nobody waits any more
            return
        if error is not None:
            made.set_exception(error)
        else:
            made.set_result(result)  # type: ignore[arg-type]  # what `work` gave

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
