"""Faults on purpose, repeatable, so that programs can test their error handling.

A plan such as `429:5%,503:3%,hang:1%` gives the share of requests that go wrong, and how. The seed
and the number of requests before decide which ones: the same seed and the same sequence of requests
give the same faults. Each worker process counts for itself.

Only requests that were let in (SPEC 5) count and fail; `/healthz` and `/openapi.json` never do.

Before the work, so that nothing was done:

    400 401 402 403 404 422 429 500 502 503 504   that status; 429 and 503 with `Retry-After: 1`
    429q        429 `QUOTA_EXCEEDED`, without `Retry-After`
    hang        no response until the client gives up
    reset       the connection ends before the body

After the work, so that a nexus record was added or removed and the caller does not know:

    reset-after the connection ends before the body
    truncated   the connection ends in the middle of the body
    malformed   200 with a page that is not JSON
    slow        the response comes in pieces, over two seconds

Such a response has the header `X-Fault`. No quota counts a request that failed on purpose; rate
limits do.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from svc_tools.service.envelope import json_response, request_id_of
from svc_tools.service.errors import StartError
from svc_tools.service.problems import WWW_AUTHENTICATE, Problem, log, loggable_address

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


FAULT = "svc.fault"
"""The key of the ASGI scope for the kind of fault of a request that fails on purpose."""

_HEADER = "X-Fault"
_CODES = {
    "400": "INVALID_INPUT",
    "401": "UNAUTHORIZED",
    "402": "BILLING_REQUIRED",
    "403": "TIER_INSUFFICIENT",
    "404": "NOT_FOUND",
    "429": "RATE_LIMITED",
    "429q": "QUOTA_EXCEEDED",
    "500": "INTERNAL",
    "502": "UPSTREAM_ERROR",
    "503": "TEMPORARILY_UNAVAILABLE",
    "504": "UPSTREAM_ERROR",
}
KINDS = frozenset(
    {*_CODES, "422", "hang", "reset", "reset-after", "truncated", "malformed", "slow"}
)
_EXAMPLE = "429:5%,503:3%,hang:1%"
_SCALE = 1_000_000  # shares are counted in ten-thousandths of a percent
_ENTRY = re.compile(r"([a-z0-9-]+):([0-9]{1,3}(?:\.[0-9]{1,4})?)%", re.ASCII)
_SHORT = 40
_PAGE = b"<html><body><h1>It works!</h1></body></html>"
_PIECES = 8
_PIECE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """The share of the requests that fail, and how.

    Attributes:
        text: the plan as it was given.
        seed: decides which requests.
        shares: each kind and its share of all requests, in ten-thousandths of a percent.
    """

    text: str
    seed: int
    shares: tuple[tuple[str, int], ...]

    @classmethod
    def read(cls, text: str, seed: int = 0) -> FaultPlan:
        """Parse a plan such as `429:5%,503:0.5%,hang:1%`.

        Raises:
            StartError: the text is not a plan.
        """
        shares: dict[str, int] = {}
        for entry in (part.strip() for part in text.split(",")):
            form = _ENTRY.fullmatch(entry)
            if form is None:
                raise StartError(
                    f"faults: given {entry[:_SHORT]!r}, expected a kind, a colon and a percentage"
                    f" with at most four decimals, such as {_EXAMPLE}"
                )
            kind, percent = form.groups()
            if kind not in KINDS:
                known = ", ".join(sorted(KINDS))
                raise StartError(
                    f"faults: {kind[:_SHORT]!r} is not a kind of fault; expected one of {known}"
                )
            if kind in shares:
                raise StartError(f"faults: {kind} is given more than once; add up its shares")
            shares[kind] = int(Decimal(percent) * (_SCALE // 100))
        if sum(shares.values()) > _SCALE:
            total = Decimal(sum(shares.values())) / (_SCALE // 100)
            raise StartError(f"faults: the shares add up to {total}%, expected 100% at most")
        return cls(text, seed, tuple(shares.items()))

    def fault(self, number: int) -> str | None:
        """The fault of the request of that number (the first is 0); `None` where it has none."""
        digest = hashlib.blake2b(f"{self.seed}:{number}".encode(), digest_size=8).digest()
        drawn = int.from_bytes(digest, "big") % _SCALE
        for kind, share in self.shares:
            if drawn < share:
                return kind
            drawn -= share
        return None


class Faults:
    """ASGI middleware that lets requests fail by a plan. It runs inside the guard."""

    def __init__(self, app: ASGIApp, *, plan: FaultPlan) -> None:
        self._app = app
        self._plan = plan
        self._count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request, or fail it."""
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return
        kind = self._plan.fault(self._count)
        self._count += 1
        if kind is None:
            await self._app(scope, receive, send)
            return
        scope[FAULT] = kind
        log.info(
            "%s: fault %s, on purpose [%s]", loggable_address(scope), kind, request_id_of(scope)
        )
        if kind == "hang":
            while (await receive())["type"] != "http.disconnect":
                pass
        elif kind == "reset":
            while (await receive()).get("more_body"):
                pass
            await _send_broken(send, _start(kind, len(_PAGE)), b"")
        elif kind == "422":
            item = {"loc": ["query"], "msg": "This request fails on purpose", "type": "fault"}
            body = {"detail": [item]}
            await json_response(body, status=422, headers={_HEADER: kind})(scope, receive, send)
        elif kind in _CODES:
            raise _refusal(kind)
        else:
            await self._break_response(kind, scope, receive, send)

    async def _break_response(self, kind: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request be handled, and break the response."""
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        await self._app(scope, receive, keep)
        start = messages[0]
        start["headers"] = [*start["headers"], (_HEADER.lower().encode(), kind.encode())]
        body = b"".join(message.get("body", b"") for message in messages[1:])
        if kind == "reset-after":
            await _send_broken(send, start, b"")
        elif kind == "truncated":
            await _send_broken(send, start, body[: len(body) // 2])
        elif kind == "malformed":
            await send(_start(kind, len(_PAGE)))
            await send({"type": "http.response.body", "body": _PAGE})
        else:
            await send(start)
            size = len(body) // _PIECES + 1
            for begin in range(0, len(body), size):
                await asyncio.sleep(_PIECE_SECONDS)
                piece = body[begin : begin + size]
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b""})


def _start(kind: str, length: int) -> Message:
    headers = {"content-type": "text/html", "content-length": str(length), _HEADER.lower(): kind}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http.response.start", "status": 200, "headers": raw}


async def _send_broken(send: Send, start: Message, body: bytes) -> None:
    """Send less than was announced: then the server ends the connection."""
    await send(start)
    await send({"type": "http.response.body", "body": body, "more_body": True})


def _refusal(kind: str) -> Problem:
    return Problem(
        int(kind[:3]),
        _CODES[kind],
        f"This request fails on purpose: the service was started with a share of {kind} faults",
        headers={_HEADER: kind} | (WWW_AUTHENTICATE if kind == "401" else {}),
        retry_after=1 if kind in {"429", "503"} else None,
    )
