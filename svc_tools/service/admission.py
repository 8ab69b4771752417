"""Which requests are let in: the outermost layer of the app.

Everything here comes before routing and validation, so a caller without a key learns nothing. In
this order (WIRE "Errors"):

403 INVALID_HOST, INVALID_ORIGIN  a server for this machine only, requested by another site's page
400 INVALID_INPUT     headers, path, query string or body are too large
401 UNAUTHORIZED      the key is missing, unknown, revoked or expired: one message for all
402 BILLING_REQUIRED  the account, or the key, is past due
403 TIER_INSUFFICIENT the plan does not include what is requested
429 RATE_LIMITED      too fast; Retry-After says when the next request will be let in
429 QUOTA_EXCEEDED    the month's lookups are used up; waiting some seconds would not help

The rate limit counts every request under /v1/ that gets past 401, 402 and 403, in each process for
itself. The quota counts lookups that end with a rate (200) or without one (404), in the database
for all processes: counted before the work, given back after it for any other status.
"""

from __future__ import annotations

import asyncio
import functools
import re
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import parse_qsl

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from svc_tools.base.loopback import LocalGuard
from svc_tools.service.envelope import envelope
from svc_tools.service.errors import StoreError
from svc_tools.service.faults import FAULT
from svc_tools.service.keys import FEATURES
from svc_tools.service.problems import (
    CODE,
    REQUEST_ID,
    WWW_AUTHENTICATE,
    Problem,
    as_problem,
    log,
    log_error,
    loggable_address,
    new_request_id,
)
from svc_tools.service.store import LimitStore, month_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from datetime import date

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from svc_tools.service.keys import Grant, KeyRing, RequestRate

ACCOUNT = "svc.account"
"""The key of the ASGI scope for the caller's account."""
MAX_BODY = 64 * 1024
MAX_HEADERS = 16 * 1024
MAX_QUERY = 8 * 1024
_MAX_PATH = 1024
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
            problem = as_problem(error)
            scope[CODE] = problem.code
            if problem.code == "INTERNAL" and not isinstance(error, Problem):
                response.logged = True
                log.exception("%s failed [%s]", loggable_address(scope), request_id)
            if response.started:
                raise
            await envelope(problem, request_id)(scope, receive, response)
        finally:
            if response.ticket is not None:
                await response.ticket.settle(None)


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
                await self.ticket.settle(None if FAULT in self._scope else status)
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
        _check_local(tuple(found.get(b"host", ())), tuple(found.get(b"origin", ())))
    if size > MAX_HEADERS:
        raise _too_large("headers", MAX_HEADERS)
    if len(scope["raw_path"]) > _MAX_PATH:
        raise _too_large("path", _MAX_PATH)
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
_LOCAL_ONLY = {
    "host": "the Host header must be 127.0.0.1, localhost or [::1], with any port",
    "origin": "pages of other sites may not use it (the Origin header is not of this machine)",
}


@functools.lru_cache(maxsize=256)
def _check_local(hosts: tuple[bytes, ...], origins: tuple[bytes, ...]) -> None:
    """Refuse what a page of another site could have sent through a browser on this machine."""
    refused = _LOCAL.refuses(
        [host.decode("latin-1") for host in hosts], [origin.decode("latin-1") for origin in origins]
    )
    if refused:
        raise Problem(
            403,
            f"INVALID_{refused.upper()}",
            f"This service listens on this machine only: {_LOCAL_ONLY[refused]}",
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


_COUNTED = frozenset({200, 404})
"""The statuses of lookups that the quota counts."""

_NEEDED = {
    "history": "A lookup about a day before today (as_of or period)",
    "full": "A lookup with mode=full",
    "nexus": "Storing nexus records",
}

_COUNTING = 2
"""How many worker threads count lookups: more would only wait for each other's locks."""

_T = TypeVar("_T")
_Headers = list[tuple[bytes, bytes]]


class Ticket:
    """A request of a limited key that was let in.

    Args:
        headers: the headers of its response about the limits.
        give_back: uncounts the lookup; `None` where no quota counts the request.
    """

    def __init__(
        self, headers: _Headers, give_back: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self.headers = headers
        self._give_back = give_back

    async def settle(self, status: int | None) -> None:
        """Give the lookup back, once, unless its status (`None`: no response) counts."""
        give_back, self._give_back = self._give_back, None
        if give_back is not None and status not in _COUNTED:
            await give_back()


class Admission:
    """Decides about every request under `/v1/`. Used by one event loop.

    A key without a quota is let in from memory; a quota is counted in the database, by a worker
    thread.

    Args:
        keys: the valid keys.
        today: the date of a lookup without one.
        now: the time in UTC.
        ticks: seconds that never go back.
    """

    def __init__(
        self,
        keys: KeyRing,
        today: Callable[[], date],
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = keys
        self._limits = LimitStore(keys.store.database)
        self._today = today
        self._now = now
        self._ticks = ticks
        self._counting = anyio.CapacityLimiter(_COUNTING)
        self._buckets: dict[str, Bucket] = {}

    async def admit(self, scope: Scope, key: bytes) -> Ticket | None:
        """Let a request in, or not; the account goes into the scope.

        Returns:
            The ticket to settle with the response, or `None` where the key has no limits.

        Raises:
            Problem: the refusals listed in this module's docstring.
            StoreError: the database is needed, and cannot be used.
        """
        known = self._keys.cached(key) if key else None
        if known is None and key:
            known = await run_in_threadpool(self._keys.verify, key)
        grant = known.grant if known else None
        if grant is None:
            raise Problem(
                401,
                "UNAUTHORIZED",
                "The API key is missing or not valid; send it in the header X-API-Key",
                headers=WWW_AUTHENTICATE,
            )
        scope[ACCOUNT] = grant.account
        return None if grant.free else await self._admit_limited(scope, grant)

    async def _admit_limited(self, scope: Scope, grant: Grant) -> Ticket | None:
        """Check the account and the features of a request, then count it against rate and quota.

        The count changes the key's bucket and, for a lookup, the database. `None` where nothing
        limits the key.

        Raises:
            Problem: 402, 403 or 429.
        """
        if grant.past_due:
            raise Problem(
                402,
                "BILLING_REQUIRED",
                "The account of this API key is past due; settle its bills to go on",
                extra={"account": grant.account},
            )
        path, terms = scope["path"], grant.terms
        if not terms.features.issuperset(FEATURES):
            required = required_features(path, scope["query_string"], self._today())
            for feature in FEATURES:
                if feature in required and feature not in terms.features:
                    raise Problem(
                        403,
                        "TIER_INSUFFICIENT",
                        f"{_NEEDED[feature]} needs the feature {feature!r}, which the plan"
                        f" {terms.plan!r} of this API key does not include",
                        extra={"feature": feature, "plan": terms.plan},
                    )
        if grant.key_id is None or (terms.rate is None and terms.monthly_quota is None):
            return None
        headers: _Headers = []
        if terms.rate is not None:
            self._take_token(grant.key_id, terms.rate, headers)
        if terms.monthly_quota is None or not is_lookup(path):
            return Ticket(headers)
        return await self._count_lookup(grant.key_id, terms.monthly_quota, headers)

    def _take_token(self, key_id: str, rate: RequestRate, headers: _Headers) -> None:
        """Take a token of the key's bucket, and add its state to `headers`; 429 if none is left."""
        now = int(self._ticks() * SECOND)
        bucket = self._buckets.get(key_id)
        if bucket is None:
            bucket = self._buckets[key_id] = Bucket(rate, now)
        taken = bucket.take_token(rate, now)
        headers += [
            (b"ratelimit-limit", b"%d" % rate.burst),
            (b"ratelimit-remaining", b"%d" % bucket.tokens),
            (b"ratelimit-reset", b"%d" % -(-bucket.wait_for(rate.burst, rate) // SECOND)),
        ]
        if not taken:
            raise Problem(
                429,
                "RATE_LIMITED",
                f"Too many requests: this API key may make {rate.per_minute} a minute",
                extra={"requests_per_minute": rate.per_minute, "burst": rate.burst},
                headers=_text(headers),
                retry_after=whole_seconds(bucket.wait_for(1, rate)),
            )

    async def _count_lookup(self, key_id: str, quota: int, headers: _Headers) -> Ticket:
        """Count a lookup in the key's quota of the month, and add its state to `headers`.

        It is counted in the database; the ticket can take it back. Raises 429 where none is left.
        """
        month = month_of(self._now())
        left = await self._count(self._limits.count_lookup, key_id, quota, month.name)
        headers += [
            (b"x-quota-limit", b"%d" % quota),
            (b"x-quota-remaining", b"%d" % (left or 0)),
        ]
        if left is None:
            raise Problem(
                429,
                "QUOTA_EXCEEDED",
                f"The {quota} lookups of {month.name} that this API key may make are used up; the"
                f" next month's are available from {month.renews}",
                extra={"monthly_quota": quota, "month": month.name, "renews_at": month.renews},
                headers=_text(headers),
            )

        async def give_back() -> None:
            try:
                await self._count(self._limits.give_back, key_id, month.name)
            except StoreError as error:
                log.warning("A lookup that failed stays counted in a quota: %s", error)

        return Ticket(headers, give_back)

    async def _count(self, work: Callable[..., _T], *arguments: str | int) -> _T:
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._counting)


def _text(headers: _Headers) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in headers}


_NEXUS = "/v1/portability/"
_LOOKUP = re.compile(r"/v1/tax/[^/]+")  # a longer path is a 404, and costs nothing
_PERIOD = re.compile(r"([0-9]{4})([1-4])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def is_lookup(path: str) -> bool:
    """Whether a request to this path is a lookup: what a monthly quota counts."""
    return _LOOKUP.fullmatch(path) is not None


def required_features(path: str, query: bytes, today: date) -> frozenset[str]:
    """The features that a request needs; a date or mode that cannot be read needs none (it is 400).

    Args:
        path: the path of the request.
        query: its query string.
        today: the date of a lookup without one.
    """
    if path.startswith(_NEXUS):
        return frozenset({"nexus"})
    if not is_lookup(path):
        return frozenset()
    required = set()
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name == "mode" and value == "full":
            required.add("full")
        elif (name == "as_of" and _is_past(value, today)) or (
            name == "period" and _is_past(_first_day(value), today)
        ):
            required.add("history")
    return frozenset(required)


def _first_day(period: str) -> str:
    form = _PERIOD.fullmatch(period)
    return f"{form[1]}-{3 * int(form[2]) - 2:02}-01" if form else ""


def _is_past(day: str, today: date) -> bool:
    # days of this form compare as their texts do
    return _DATE.fullmatch(day) is not None and day < today.isoformat()


SECOND = 1_000_000
"""Microseconds, as all times of buckets."""
_UNITS = 60 * SECOND
"""Units of level in one token."""


class Bucket:
    """The token bucket of one key, in this process. Used by one thread.

    It holds up to `burst` tokens and gains `per_minute` of them a minute; a request takes one. Its
    level is counted in units of which a token has 60 million, so that a rate of n a minute is
    exactly n units a microsecond: nothing is ever rounded.

    Args:
        rate: how fast it fills, and how much it holds; it starts full.
        now: microseconds of a clock that never goes back, as in every method.
    """

    __slots__ = ("_at", "_level")

    def __init__(self, rate: RequestRate, now: int) -> None:
        self._level = rate.burst * _UNITS
        self._at = now

    def take_token(self, rate: RequestRate, now: int) -> bool:
        """Take a token, if there is one. The rate may have changed since the last call."""
        gained = (now - self._at) * rate.per_minute
        self._level = min(self._level + gained, rate.burst * _UNITS)
        self._at = now
        if self._level < _UNITS:
            return False
        self._level -= _UNITS
        return True

    @property
    def tokens(self) -> int:
        """The whole tokens that were left by the last `take_token`."""
        return self._level // _UNITS

    def wait_for(self, tokens: int, rate: RequestRate) -> int:
        """The microseconds from the last `take_token` until that many tokens are there."""
        return max(0, -((self._level - tokens * _UNITS) // rate.per_minute))


def whole_seconds(microseconds: int) -> int:
    """The value of `Retry-After` for a waiting time: rounded up, at least one second."""
    return max(1, -(-microseconds // SECOND))
