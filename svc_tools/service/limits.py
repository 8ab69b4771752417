"""Limits as arithmetic: a token bucket in whole numbers, calendar months, blocks to lease. Pure.

A bucket holds up to `burst` tokens and gains `per_minute` of them a minute; a request takes one.
Its level is counted in units of which a token has 60 million, so that a rate of n a minute is
exactly n units a microsecond: nothing is ever rounded, whatever the rate and however often
somebody looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

__all__ = [
    "LEASE_SECONDS",
    "SECOND",
    "Bucket",
    "Month",
    "Rate",
    "full_bucket",
    "lookups_to_lease",
    "month_of",
    "put_back",
    "refilled",
    "take",
    "tokens_to_lease",
    "until_full",
    "until_next",
    "whole_seconds",
]

LEASE_SECONDS = 1
"""How long a process keeps tokens and lookups that it leased and did not need."""

_UNITS = 60_000_000
"""Units of level in one token."""

SECOND = 1_000_000
"""In microseconds, as all times here."""

_CLOCK_SET_BACK = 60 * SECOND
"""A clock that is further behind than this was set back: the bucket goes on from there."""

_LEASES_PER_MINUTE = 240
_LEAST_BURSTS = 4
_NEAR_THE_END = 100
_BLOCKS_LEFT = 50
_MOST_LEASED = 4096


@dataclass(frozen=True, slots=True)
class Rate:
    """How many requests a minute, and how many of them may come at once."""

    per_minute: int
    burst: int


class Bucket(NamedTuple):
    """A level in units, as it was at a time in microseconds since 1970."""

    level: int
    at: int

    @property
    def tokens(self) -> int:
        """The whole tokens that are there."""
        return self.level // _UNITS


def full_bucket(rate: Rate, now: int) -> Bucket:
    """The bucket of a key that has not asked before."""
    return Bucket(rate.burst * _UNITS, now)


def refilled(bucket: Bucket, rate: Rate, now: int) -> Bucket:
    """The bucket as it is now.

    A clock that stands a little back (another machine's, say) adds nothing and changes nothing;
    one that was set back adds nothing and is followed.
    """
    at = now if bucket.at - now > _CLOCK_SET_BACK else max(bucket.at, now)
    gained = max(0, at - bucket.at) * rate.per_minute
    return Bucket(min(bucket.level + gained, rate.burst * _UNITS), at)


def take(bucket: Bucket, rate: Rate, now: int, wanted: int) -> tuple[Bucket, int]:
    """The bucket after taking up to that many tokens, and how many were got."""
    there = refilled(bucket, rate, now)
    got = min(wanted, there.tokens)
    return Bucket(there.level - got * _UNITS, there.at), got


def put_back(bucket: Bucket, rate: Rate, now: int, tokens: int) -> Bucket:
    """The bucket after tokens came back that were not needed; it never overflows."""
    there = refilled(bucket, rate, now)
    return Bucket(min(there.level + tokens * _UNITS, rate.burst * _UNITS), there.at)


def until_next(bucket: Bucket, rate: Rate, now: int) -> int:
    """The microseconds until a token is there; 0 where one is."""
    return _until(_UNITS, bucket, rate, now)


def until_full(bucket: Bucket, rate: Rate, now: int, held: int = 0) -> int:
    """The microseconds until the bucket is full, `held` tokens of it being elsewhere."""
    return _until((rate.burst - held) * _UNITS, bucket, rate, now)


def _until(level: int, bucket: Bucket, rate: Rate, now: int) -> int:
    there = refilled(bucket, rate, now)
    missing = level - there.level
    if missing <= 0:
        return 0
    return -(-missing // rate.per_minute) + (there.at - now)


def whole_seconds(microseconds: int) -> int:
    """A waiting time for `Retry-After`: rounded up, at least one second."""
    return max(1, -(-microseconds // SECOND))


def tokens_to_lease(rate: Rate) -> int:
    """How many tokens a process takes at once beyond those that requests wait for.

    A quarter of a second's worth: what lies unused in one process is soon back, and a key that
    may ask rarely is counted one by one.
    """
    return max(1, min(rate.per_minute // _LEASES_PER_MINUTE, rate.burst // _LEAST_BURSTS))


def lookups_to_lease(left: int, waiting: int, ahead: int) -> int:
    """How many lookups of a quota a process gets at once; one by one near the end.

    Args:
        left: what is left of the quota.
        waiting: how many it needs now.
        ahead: how many more it will need within a second, by what it used before.
    """
    extra = 0 if left <= _NEAR_THE_END else min(ahead, left // _BLOCKS_LEFT, _MOST_LEASED)
    return min(left, waiting + extra)


class Month(NamedTuple):
    """A calendar month in UTC: its name, and its time, in microseconds since 1970.

    It begins with its first moment, and ends with the first of the next.
    """

    name: str
    begins: int
    ends: int

    def holds(self, now: int) -> bool:
        """Whether a time is in it."""
        return self.begins <= now < self.ends

    @property
    def renews(self) -> str:
        """The first moment of the next month, ISO 8601."""
        return f"{datetime.fromtimestamp(self.ends // SECOND, UTC):%Y-%m-%dT%H:%M:%SZ}"


def month_of(now: int) -> Month:
    """The month of a time in microseconds since 1970."""
    day = datetime.fromtimestamp(now // SECOND, UTC)
    year, month = divmod(12 * day.year + day.month, 12)
    begins = datetime(day.year, day.month, 1, tzinfo=UTC)
    ends = datetime(year, month + 1, 1, tzinfo=UTC)
    return Month(
        f"{day.year:04}-{day.month:02}",
        int(begins.timestamp()) * SECOND,
        int(ends.timestamp()) * SECOND,
    )
