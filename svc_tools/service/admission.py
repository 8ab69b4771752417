"""Who is let in: the key, its bills, its plan, its limits, in this order (WIRE "Errors").

401 UNAUTHORIZED      the key is missing, unknown, revoked or expired: the same words for all
402 BILLING_REQUIRED  the account, or the key, is past due
403 TIER_INSUFFICIENT the plan does not include what is asked for
429 RATE_LIMITED      too fast; Retry-After says when the next request will be let in
429 QUOTA_EXCEEDED    the month's lookups are used up; waiting some seconds would not help

The rate limit counts every request under /v1/ that gets as far as to it. The quota counts lookups
that were answered, with a rate (200) or with the news that there is none (404); whatever else a
lookup ends with is given back.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from svc_tools.service.clock import microseconds
from svc_tools.service.envelope import WWW_AUTHENTICATE, Problem
from svc_tools.service.errors import StoreError
from svc_tools.service.limit_store import LimitStore, Returned
from svc_tools.service.limits import LEASE_SECONDS, SECOND, whole_seconds
from svc_tools.service.meter import Decision, Meter
from svc_tools.service.plans import FEATURES, demanded_features, is_lookup
from svc_tools.service.request_log import log

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable
    from datetime import date

    from starlette.types import Scope

    from svc_tools.service.keys import Grant, KeyRing
    from svc_tools.service.plans import Terms

__all__ = ["ACCOUNT", "Admission", "Ticket"]

ACCOUNT = "svc.account"
"""The key of the ASGI scope under which the account of the caller stands."""

_COUNTED = frozenset({200, 404})
"""The statuses of lookups that were answered: the quota counts them and no others."""

_NEEDED = {
    "history": "A lookup about a day before today (as_of or period)",
    "full": "A lookup with mode=full",
    "nexus": "Keeping nexus records",
}


class _Desk:
    """A key's meter, and the lock behind which one request asks the database for all."""

    def __init__(self, key_id: str, terms: Terms) -> None:
        self.key_id = key_id
        self.meter = Meter(terms)
        self.lock = asyncio.Lock()
        # the last lease that failed: when it was asked for, and why
        self.failed: tuple[float, StoreError] | None = None


class Ticket:
    """A request of a limited key that was let in.

    Args:
        headers: what its answer says about the limits.
        settle: takes the status of the answer; `None` where no quota counts the request.
    """

    def __init__(
        self, headers: list[tuple[bytes, bytes]], settle: Callable[[int | None], None] | None
    ) -> None:
        self.headers = headers
        self._settle = settle

    def answered(self, status: int | None) -> None:
        """Settle what the quota counts, once; `None` where no answer was sent."""
        settle, self._settle = self._settle, None
        if settle is not None:
            settle(status)


class Admission:
    """Decides about every request under `/v1/`. Used by one event loop.

    A key without limits is let in from memory. A limited one is let in from what this process
    leased for it; a lease is a transaction in a worker thread.

    Args:
        keys: what keys stand for.
        today: the day that a lookup without a date is about.
        now: microseconds since 1970.
        ticks: seconds that never go back.
    """

    def __init__(
        self,
        keys: KeyRing,
        today: Callable[[], date],
        *,
        now: Callable[[], int] = microseconds,
        ticks: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keys = keys
        self._limits = LimitStore(keys.store.database)
        self._today = today
        self._now = now
        self._ticks = ticks
        self._desks: dict[str, _Desk] = {}
        self._owed: list[Returned] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._settling = False

    async def admit(self, scope: Scope, key: bytes) -> Ticket | None:
        """Let a request in, or not; the account goes into the scope.

        Returns:
            What is to be told of the answer, or `None` where the key has no limits.

        Raises:
            Problem: see the head of this module.
            StoreError: the database is needed, and does not answer.
        """
        known = self._keys.recall(key) if key else None
        if known is None:
            known = await run_in_threadpool(self._keys.verify, key) if key else None
        elif self._keys.is_due(known):
            self._in_background(self._ask_again(key))
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

    async def close(self) -> None:
        """Give back what is leased, once no request can come any more."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
        owed = self._collect()
        if owed:
            try:
                await run_in_threadpool(self._limits.settle, owed, self._now())
            except StoreError as error:
                log.warning("What this process had leased of the limits is lost: %s", error)

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
            demanded = demanded_features(path, scope["query_string"], self._today())
            for feature in FEATURES:
                if feature in demanded and feature not in terms.features:
                    raise _not_in_plan(feature, terms.plan)
        if grant.key_id is None or (terms.rate is None and terms.monthly_quota is None):
            return None
        desk = self._desks.get(grant.key_id)
        if desk is None:
            desk = self._desks[grant.key_id] = _Desk(grant.key_id, terms)
        elif desk.meter.terms != terms:
            desk.meter.change_terms(terms)
        return await self._pass(desk, lookup=is_lookup(path) and terms.monthly_quota is not None)

    async def _pass(self, desk: _Desk, *, lookup: bool) -> Ticket:
        """Take from the key's meter what the request needs; lease where it is empty."""
        meter = desk.meter
        decision = meter.decide(lookup=lookup, now=self._now(), ticks=self._ticks())
        if decision is Decision.LEASE:
            came = self._ticks()
            meter.waiting += 1
            meter.waiting_lookups += lookup
            try:
                async with desk.lock:
                    if desk.failed is not None and desk.failed[0] > came:
                        # each asking for itself would wait one after the other, for ever
                        raise _again(desk.failed[1])
                    decision = await self._lease(desk, lookup=lookup)
            finally:
                meter.waiting -= 1
                meter.waiting_lookups -= lookup
        headers = self._headers(meter, lookup=lookup)
        if decision is Decision.RATE_LIMITED:
            raise self._too_fast(meter, headers)
        if decision is Decision.QUOTA_EXCEEDED:
            raise _used_up(meter, headers)
        if not lookup or meter.terms.monthly_quota is None:
            return Ticket(headers, None)
        month = meter.month.name

        def settle(status: int | None) -> None:
            meter.answered(month, counts=status in _COUNTED)
            self._settle_soon()

        return Ticket(headers, settle)

    async def _lease(self, desk: _Desk, *, lookup: bool) -> Decision:
        """Ask the database until there is a decision; the caller holds the key's lock."""
        meter = desk.meter
        while True:
            now = self._now()
            decision = meter.decide(lookup=lookup, now=now, ticks=self._ticks())
            if decision is not Decision.LEASE:
                return decision
            wanted = meter.wanted(now)
            try:
                lease = await run_in_threadpool(
                    self._limits.lease,
                    desk.key_id,
                    meter.terms,
                    wanted=wanted,
                    now=now,
                    month=meter.month.name,
                )
            except StoreError as error:
                desk.failed = (self._ticks(), _again(error))
                raise
            meter.receive(lease, wanted, self._ticks())
            self._settle_soon()

    def _headers(self, meter: Meter, *, lookup: bool) -> list[tuple[bytes, bytes]]:
        now, terms = self._now(), meter.terms
        headers = []
        if terms.rate is not None:
            reset = -(-meter.until_full(now) // SECOND)
            headers += [
                (b"ratelimit-limit", b"%d" % terms.rate.burst),
                (b"ratelimit-remaining", b"%d" % meter.remaining(now)),
                (b"ratelimit-reset", b"%d" % reset),
            ]
        if lookup and terms.monthly_quota is not None:
            headers += [
                (b"x-quota-limit", b"%d" % terms.monthly_quota),
                (b"x-quota-remaining", b"%d" % meter.lookups_remaining),
            ]
        return headers

    def _too_fast(self, meter: Meter, headers: list[tuple[bytes, bytes]]) -> Problem:
        rate = meter.terms.rate
        per_minute = rate.per_minute if rate else 0
        return Problem(
            429,
            "RATE_LIMITED",
            f"Too many requests: this API key may make {per_minute} a minute",
            extra={"requests_per_minute": per_minute, "burst": rate.burst if rate else 0},
            headers=_text(headers),
            retry_after=whole_seconds(meter.until_next(self._now())),
        )

    def _settle_soon(self) -> None:
        """See to it that what is leased and not needed goes back within a second or so."""
        if not self._settling:
            self._settling = True
            loop = asyncio.get_running_loop()
            loop.call_later(LEASE_SECONDS, lambda: self._in_background(self._settle()))

    async def _settle(self) -> None:
        self._settling = False
        owed = self._collect()
        if not owed:
            return
        try:
            await run_in_threadpool(self._limits.settle, owed, self._now())
        except StoreError:
            self._owed += owed
            self._settle_soon()

    def _collect(self) -> list[Returned]:
        """What the database is to get back, and to know, at this moment."""
        owed, self._owed = self._owed, []
        now = self._now()
        for desk in self._desks.values():
            for spent in desk.meter.settle(now):
                owed.append(Returned(desk.key_id, desk.meter.terms, spent))
        return _summed(owed)

    async def _ask_again(self, key: bytes) -> None:
        # where the database does not answer, what is known holds to its end
        with suppress(StoreError):
            await run_in_threadpool(self._keys.verify, key)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop itself holds it weakly
        task.add_done_callback(self._tasks.discard)


def _again(error: StoreError) -> StoreError:
    """The same failure for another request, without the frames (and files) that this one holds."""
    return type(error)(*error.args)


def _summed(owed: Iterable[Returned]) -> list[Returned]:
    """One entry for each key and month, however long the database did not answer."""
    sums: dict[tuple[str, str], Returned] = {}
    for one in owed:
        spent = one.spent
        where = (one.key_id, spent.month)
        if where in sums:
            spent = spent.plus(sums[where].spent)
        sums[where] = Returned(one.key_id, one.terms, spent)
    return list(sums.values())


def _not_in_plan(feature: str, plan: str) -> Problem:
    return Problem(
        403,
        "TIER_INSUFFICIENT",
        f"{_NEEDED[feature]} needs the feature {feature!r}, which the plan {plan!r} of this API key"
        " does not include",
        extra={"feature": feature, "plan": plan},
    )


def _used_up(meter: Meter, headers: list[tuple[bytes, bytes]]) -> Problem:
    quota, month = meter.terms.monthly_quota, meter.month
    return Problem(
        429,
        "QUOTA_EXCEEDED",
        f"The {quota} lookups of {month.name} that this API key may make are used up; the next"
        f" month's are there from {month.renews}",
        extra={"monthly_quota": quota, "month": month.name, "renews_at": month.renews},
        headers=_text(headers),
    )


def _text(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in headers}
