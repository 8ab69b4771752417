"""Who is let in: the key, its bills, its plan, its limits, in this order (WIRE "Errors").

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

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

import anyio
from starlette.concurrency import run_in_threadpool

from svc_tools.service.envelope import WWW_AUTHENTICATE, Problem, log
from svc_tools.service.errors import StoreError
from svc_tools.service.limits import (
    FEATURES,
    SECOND,
    Bucket,
    LimitStore,
    Month,
    Rate,
    is_lookup,
    month_of,
    required_features,
    whole_seconds,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from datetime import date

    from starlette.types import Scope

    from svc_tools.service.keys import Grant, KeyRing


ACCOUNT = "svc.account"
"""The key of the ASGI scope for the caller's account."""

_COUNTED = frozenset({200, 404})
"""The statuses of lookups that the quota counts."""

_NEEDED = {
    "history": "A lookup about a day before today (as_of or period)",
    "full": "A lookup with mode=full",
    "nexus": "Keeping nexus records",
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

    async def answered(self, status: int | None) -> None:
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
                    raise _not_in_plan(feature, terms.plan)
        if grant.key_id is None or (terms.rate is None and terms.monthly_quota is None):
            return None
        headers: _Headers = []
        if terms.rate is not None:
            self._take_token(grant.key_id, terms.rate, headers)
        if terms.monthly_quota is None or not is_lookup(path):
            return Ticket(headers)
        return await self._count_lookup(grant.key_id, terms.monthly_quota, headers)

    def _take_token(self, key_id: str, rate: Rate, headers: _Headers) -> None:
        now = int(self._ticks() * SECOND)
        bucket = self._buckets.get(key_id)
        if bucket is None:
            bucket = self._buckets[key_id] = Bucket(rate, now)
        taken = bucket.take(rate, now)
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
        month = month_of(self._now())
        left = await self._count(self._limits.take, key_id, quota, month.name)
        headers += [
            (b"x-quota-limit", b"%d" % quota),
            (b"x-quota-remaining", b"%d" % (left or 0)),
        ]
        if left is None:
            raise _used_up(quota, month, headers)

        async def give_back() -> None:
            try:
                await self._count(self._limits.give_back, key_id, month.name)
            except StoreError as error:
                log.warning("A lookup that failed stays counted in a quota: %s", error)

        return Ticket(headers, give_back)

    async def _count(self, work: Callable[..., _T], *arguments: str | int) -> _T:
        return await anyio.to_thread.run_sync(work, *arguments, limiter=self._counting)


def _not_in_plan(feature: str, plan: str) -> Problem:
    return Problem(
        403,
        "TIER_INSUFFICIENT",
        f"{_NEEDED[feature]} needs the feature {feature!r}, which the plan {plan!r} of this API key"
        " does not include",
        extra={"feature": feature, "plan": plan},
    )


def _used_up(quota: int, month: Month, headers: _Headers) -> Problem:
    return Problem(
        429,
        "QUOTA_EXCEEDED",
        f"The {quota} lookups of {month.name} that this API key may make are used up; the next"
        f" month's are there from {month.renews}",
        extra={"monthly_quota": quota, "month": month.name, "renews_at": month.renews},
        headers=_text(headers),
    )


def _text(headers: _Headers) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in headers}
