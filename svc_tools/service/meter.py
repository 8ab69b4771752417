"""What one process holds of one key's shared limits. Pure: the database is `limit_store`'s matter.

Processes that serve one database share what a key may do. Each leases a little of it, hands it
out request by request, and gives back within a second what nobody asked for. So no process can
hand out more than there is: together they never exceed a quota, and of the rate limit at most
one small block per process can come late. A process that is killed takes with it what it holds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.limits import (
    SECOND,
    Month,
    month_of,
    put_back,
    refilled,
    tokens_to_lease,
    until_full,
    until_next,
)

if TYPE_CHECKING:
    from svc_tools.service.limit_store import Lease
    from svc_tools.service.limits import Bucket
    from svc_tools.service.plans import Terms

__all__ = ["Decision", "Meter", "Spent", "Wanted"]

_ASK_AGAIN_SECONDS = 1.0
"""How long a used-up quota is believed: another process may give lookups back."""


_NO_MONTH = Month("", 0, 0)


class Wanted(NamedTuple):
    """What a process asks for: tokens, lookups, and lookups ahead where there are plenty."""

    tokens: int
    lookups: int
    ahead: int


class Decision(Enum):
    """What a meter says to a request."""

    GO = auto()
    RATE_LIMITED = auto()
    QUOTA_EXCEEDED = auto()
    LEASE = auto()


@dataclass(frozen=True, slots=True)
class Spent:
    """What is to be settled with the database for one month: not needed, and used."""

    month: str
    tokens: int = 0
    lookups: int = 0
    used: int = 0

    def plus(self, other: Spent) -> Spent:
        """Both together, where they are of one month."""
        return Spent(
            self.month,
            self.tokens + other.tokens,
            self.lookups + other.lookups,
            self.used + other.used,
        )


@dataclass(slots=True)
class Meter:
    """The meter of one key in this process. Used by one thread.

    Attributes:
        terms: what the key may do.
        waiting: requests that wait for a lease.
        waiting_lookups: those of them that are lookups.
    """

    terms: Terms
    waiting: int = 0
    waiting_lookups: int = 0
    _tokens: int = 0
    _lookups: int = 0
    _used: int = 0
    _month: Month = _NO_MONTH
    _bucket: Bucket | None = None
    _lookups_left: int = 0
    _limited_until: float = 0.0
    _exceeded_until: float = 0.0
    _ahead: int = 0
    _earlier: list[Spent] = field(default_factory=list)

    def decide(self, *, lookup: bool, now: int, ticks: float) -> Decision:
        """Take what a request needs, or say why not.

        A request that the quota refuses has taken its token: the rate limit comes first.

        Args:
            lookup: whether the quota counts it.
            now: microseconds since 1970.
            ticks: seconds that never go back.
        """
        rated = self.terms.rate is not None
        if rated and not self._tokens:
            return Decision.RATE_LIMITED if ticks < self._limited_until else Decision.LEASE
        if lookup and self.terms.monthly_quota is not None:
            if not self._month.holds(now):
                self._turn_page(now)
            if not self._lookups:
                if ticks >= self._exceeded_until:
                    return Decision.LEASE
                self._tokens -= rated
                return Decision.QUOTA_EXCEEDED
            self._lookups -= 1
        self._tokens -= rated
        return Decision.GO

    def wanted(self, now: int) -> Wanted:
        """How much to ask for: what waits, and some to go on with."""
        if not self._month.holds(now):
            self._turn_page(now)
        tokens = lookups = 0
        if self.terms.rate is not None and not self._tokens:
            tokens = max(self.waiting, tokens_to_lease(self.terms.rate))
        if self.terms.monthly_quota is not None and not self._lookups:
            lookups = self.waiting_lookups
        return Wanted(tokens, lookups, self._ahead)

    def receive(self, lease: Lease, wanted: Wanted, ticks: float) -> None:
        """Note what a lease brought; where it brought less than wanted, there is no more."""
        tokens, lookups, _ = wanted
        rate = self.terms.rate
        self._tokens += lease.tokens
        self._lookups += lease.lookups
        if lease.bucket is not None and rate is not None:
            self._bucket = lease.bucket
            if lease.tokens < tokens:
                wait = until_next(lease.bucket, rate, lease.bucket.at)
                self._limited_until = ticks + wait / SECOND
        if lookups and (lease.tokens or not tokens):
            # asked again before the last lease went back: more is needed than was thought
            self._ahead = max(1, 2 * self._ahead)
            self._lookups_left = lease.lookups_left
            if lease.lookups < lookups:
                self._exceeded_until = ticks + _ASK_AGAIN_SECONDS

    @property
    def month(self) -> Month:
        """The month that lookups are counted in."""
        return self._month

    def remaining(self, now: int) -> int:
        """How many requests could come at once now, as far as this process knows."""
        if self._bucket is None or self.terms.rate is None:
            return self._tokens
        there = refilled(self._bucket, self.terms.rate, now).tokens + self._tokens
        return min(there, self.terms.rate.burst)

    def until_next(self, now: int) -> int:
        """The microseconds until a request can come again, as far as is known."""
        if self._bucket is None or self.terms.rate is None:
            return 0
        return until_next(self._bucket, self.terms.rate, now)

    def until_full(self, now: int) -> int:
        """The microseconds until nothing is left of what was asked, as far as is known."""
        if self._bucket is None or self.terms.rate is None:
            return 0
        return until_full(self._bucket, self.terms.rate, now, self._tokens)

    @property
    def lookups_remaining(self) -> int:
        """How much of the month's quota is left, as far as this process knows."""
        return self._lookups_left + self._lookups

    def answered(self, month: str, *, counts: bool) -> None:
        """A lookup was answered: count it, or have it back where it does not count."""
        if month != self._month.name:
            self._earlier.append(Spent(month, lookups=not counts, used=counts))
        elif counts:
            self._used += 1
        else:
            self._lookups += 1
            self._exceeded_until = 0.0

    def change_terms(self, terms: Terms) -> None:
        """Go on under other terms; what was refused before is asked again."""
        self.terms = terms
        self._limited_until = self._exceeded_until = 0.0

    def settle(self, now: int) -> list[Spent]:
        """Let go of everything: what the database gets back, and what was used."""
        spent, self._earlier = self._earlier, []
        if not (self._tokens or self._lookups or self._used):
            return spent
        spent.append(Spent(self._month.name, self._tokens, self._lookups, self._used))
        if self._tokens and self._bucket is not None and self.terms.rate is not None:
            self._bucket = put_back(self._bucket, self.terms.rate, now, self._tokens)
            self._limited_until = 0.0
        if self._lookups:
            self._lookups_left += self._lookups
            self._exceeded_until = 0.0
        self._ahead = self._used
        self._tokens = self._lookups = self._used = 0
        return spent

    def _turn_page(self, now: int) -> None:
        if self._lookups or self._used:
            self._earlier.append(Spent(self._month.name, 0, self._lookups, self._used))
        self._month = month_of(now)
        self._lookups = self._used = self._lookups_left = 0
        self._exceeded_until = 0.0
