"""Misbehaving on purpose, repeatably, so that programs can try their own error handling.

A plan such as `429:5%,503:3%,hang:1%` says which share of the requests goes wrong and how. Which
ones is decided by the seed and by how many requests came before: the same seed and the same
sequence of requests give the same faults. Each worker process counts for itself.

Only requests that were let in (SPEC 5) count and fail; `/healthz` and `/openapi.json` never do.

Before the work, so that nothing was done:

    400 401 402 403 404 422 429 500 502 503 504   that answer; 429 and 503 with `Retry-After: 1`
    429q        429 `QUOTA_EXCEEDED`, without `Retry-After`
    hang        no answer until the client gives up
    reset       the connection is reset

After the work, so that a nexus record was added or removed and the caller does not hear it:

    reset-after the connection is reset
    malformed   200 with a page that is not JSON
    truncated   the answer ends in the middle, and with it the connection
    slow        the answer comes in pieces, over two seconds

An answer that was made wrong says so in the header `X-Fault`. No quota counts a request that failed
on purpose; rate limits do.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import socket
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from svc_tools.service.envelope import (
    WWW_AUTHENTICATE,
    Problem,
    json_response,
    request_id_of,
)
from svc_tools.service.errors import StartError
from svc_tools.service.http_protocol import CONNECTION, hang
from svc_tools.service.request_log import log, told_address

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["FAULT", "KINDS", "FaultPlan", "Faults"]

FAULT = "svc.fault"
"""The key of the ASGI scope under which the kind of fault stands, where a request is to fail."""

FAULT_HEADER = "X-Fault"

_STATUSES = {
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
_RETRY_AFTER = {"429": 1, "503": 1}
_HEADERS = {"401": WWW_AUTHENTICATE}
_VALIDATION = "422"
_EXAMPLE = "429:5%,503:3%,hang:1%"
_SCALE = 1_000_000  # shares are counted in ten-thousandths of a percent
_ENTRY = re.compile(r"([a-z0-9-]+):([0-9]{1,3}(?:\.[0-9]{1,4})?)%", re.ASCII)
_SHORT = 40

_PAGE = b"<html><body><h1>It works!</h1></body></html>"
# a close that lingers for no time at all: the system sends RST
_NO_LINGERING = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
_PIECES = 8
_PIECE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which share of the requests goes wrong, and how.

    Attributes:
        text: the plan as it was given.
        seed: what decides which requests; the same seed, the same ones.
        shares: each kind and its share of all requests, in ten-thousandths of a percent.
    """

    text: str
    seed: int
    shares: tuple[tuple[str, int], ...]

    @classmethod
    def read(cls, text: str, seed: int = 0) -> FaultPlan:
        """The plan that a text such as `429:5%,503:0.5%,hang:1%` asks for.

        Raises:
            StartError: the text is no plan; the message says what was given and expected.
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
                raise StartError(f"faults: {kind[:_SHORT]!r} is no kind of fault; one of {known}")
            if kind in shares:
                raise StartError(f"faults: {kind} is given more than once; add its shares up")
            shares[kind] = int(Decimal(percent) * (_SCALE // 100))
        if sum(shares.values()) > _SCALE:
            total = Decimal(sum(shares.values())) / (_SCALE // 100)
            raise StartError(f"faults: the shares add up to {total}%, expected 100% at most")
        return cls(text, seed, tuple(shares.items()))

    def fault(self, number: int) -> str | None:
        """What happens to the request of that number (the first is 0); `None` where it is well."""
        digest = hashlib.blake2b(f"{self.seed}:{number}".encode(), digest_size=8).digest()
        drawn = int.from_bytes(digest, "big") % _SCALE
        for kind, share in self.shares:
            if drawn < share:
                return kind
            drawn -= share
        return None


class Faults:
    """ASGI middleware that lets requests fail by a plan. It stands inside of the guard."""

    def __init__(self, app: ASGIApp, *, plan: FaultPlan) -> None:
        self._app = app
        self._plan = plan
        self._asked = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or fail it."""
        if scope["type"] != "http" or not scope["path"].startswith("/v1/"):
            await self._app(scope, receive, send)
            return
        kind = self._plan.fault(self._asked)
        self._asked += 1
        if kind is None:
            await self._app(scope, receive, send)
            return
        scope[FAULT] = kind
        log.info("%s: fault %s, on purpose [%s]", told_address(scope), kind, request_id_of(scope))
        await KINDS[kind](_Failing(self._app, kind, scope, receive, send))


class _Failing(NamedTuple):
    """One request that is to fail."""

    app: ASGIApp
    kind: str
    scope: Scope
    receive: Receive
    send: Send

    @property
    def mark(self) -> tuple[bytes, bytes]:
        return FAULT_HEADER.lower().encode(), self.kind.encode()

    async def answer(self) -> tuple[Message, bytes]:
        """Let the work be done; the start of its answer, marked, and its body."""
        start: Message = {}
        body = b""

        async def keep(message: Message) -> None:
            nonlocal body
            if message["type"] == "http.response.start":
                start.update(message)
            else:
                body += message.get("body", b"")

        await self.app(self.scope, self.receive, keep)
        return {**start, "headers": [*start["headers"], self.mark]}, body

    async def say(self, body: bytes, *, more: bool = False) -> None:
        await self.send({"type": "http.response.body", "body": body, "more_body": more})

    async def leave(self) -> None:
        """Wait until the connection has ended: then nobody expects an answer."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def reset(self) -> None:
        """End the connection with a TCP reset."""
        transport = self.scope[CONNECTION]
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGERING)
        transport.abort()
        await self.leave()


async def _refuse(failing: _Failing) -> None:
    kind = failing.kind
    raise Problem(
        int(kind[:3]),
        _STATUSES[kind],
        f"This request fails on purpose: the service was started with a share of {kind} faults",
        headers={FAULT_HEADER: kind, **_HEADERS.get(kind, {})},
        retry_after=_RETRY_AFTER.get(kind),
    )


async def _invalidate(failing: _Failing) -> None:
    item = {"loc": ["query"], "msg": "This request fails on purpose", "type": "fault"}
    response = json_response(
        {"detail": [item]}, status=int(failing.kind), headers={FAULT_HEADER: failing.kind}
    )
    await response(failing.scope, failing.receive, failing.send)


async def _hang(failing: _Failing) -> None:
    await hang(failing.scope, failing.receive)


async def _reset(failing: _Failing) -> None:
    # all of it is taken: who is still sending would hear of a broken pipe instead
    while (await failing.receive()).get("more_body"):
        pass
    await failing.reset()


async def _reset_after(failing: _Failing) -> None:
    await failing.answer()
    await failing.reset()


async def _garble(failing: _Failing) -> None:
    await failing.answer()
    length = str(len(_PAGE)).encode()
    headers = [(b"content-type", b"text/html"), (b"content-length", length), failing.mark]
    await failing.send({"type": "http.response.start", "status": 200, "headers": headers})
    await failing.say(_PAGE)


async def _truncate(failing: _Failing) -> None:
    start, body = await failing.answer()
    await failing.send(start)
    await failing.say(body[: len(body) // 2], more=True)
    failing.scope[CONNECTION].close()
    await failing.leave()


async def _drip(failing: _Failing) -> None:
    start, body = await failing.answer()
    await failing.send(start)
    size = len(body) // _PIECES + 1
    for begin in range(0, len(body), size):
        await asyncio.sleep(_PIECE_SECONDS)
        await failing.say(body[begin : begin + size], more=True)
    await failing.say(b"")


KINDS: dict[str, Callable[[_Failing], Awaitable[Any]]] = {
    **dict.fromkeys(_STATUSES, _refuse),
    _VALIDATION: _invalidate,
    "hang": _hang,
    "reset": _reset,
    "reset-after": _reset_after,
    "malformed": _garble,
    "truncated": _truncate,
    "slow": _drip,
}
"""What each kind of fault does."""
