"""Limits as arithmetic: a token bucket in whole numbers, and calendar months. Pure.

A bucket holds up to `burst` tokens and gains `per_minute` of them a minute; a request takes one.
Its level is counted in units of which a token has 60 million, so that a rate of n a minute is
exactly n units a microsecond: nothing is ever rounded, whatever the rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

__all__ = ["SECOND", "Bucket", "Month", "Rate", "month_of", "whole_seconds"]

SECOND = 1_000_000
"""In microseconds, as all times of buckets."""

_UNITS = 60 * SECOND
"""Units of level in one token."""


@dataclass(frozen=True, slots=True)
class Rate:
    """How many requests a minute, and how many of them may come at once."""

    per_minute: int
    burst: int


class Bucket:
    """The tokens of one key, in this process. Used by one thread.

    Args:
        rate: how fast it fills, and how much it holds; it starts full.
        now: microseconds of a clock that never goes back, as in every method.
    """

    __slots__ = ("_at", "_level")

    def __init__(self, rate: Rate, now: int) -> None:
        self._level = rate.burst * _UNITS
        self._at = now

    def take(self, rate: Rate, now: int) -> bool:
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
        """The whole tokens that were left by the last `take`."""
        return self._level // _UNITS

    def wait_for(self, tokens: int, rate: Rate) -> int:
        """The microseconds from the last `take` until that many tokens are there."""
        return max(0, -((self._level - tokens * _UNITS) // rate.per_minute))


def whole_seconds(microseconds: int) -> int:
    """A waiting time for `Retry-After`: rounded up, at least one second."""
    return max(1, -(-microseconds // SECOND))


class Month(NamedTuple):
    """A calendar month in UTC: its name, and the first moment of the next (ISO 8601)."""

    name: str
    renews: str


def month_of(moment: datetime) -> Month:
    """The month of a moment in UTC."""
    year, month = divmod(12 * moment.year + moment.month, 12)
    return Month(f"{moment:%Y-%m}", f"{datetime(year, month + 1, 1):%Y-%m-%dT%H:%M:%SZ}")  # noqa: DTZ001 - only its text
