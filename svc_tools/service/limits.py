"""Plans and limits: what a key may do, how fast, and how many lookups a month (SPEC 5).

plan       requests a minute  burst  lookups a month  history  full  nexus
free                      60     20            1 000       -     -      -
standard                 600    100          100 000     yes   yes    yes
unlimited                  -      -                -     yes   yes    yes

history: a lookup about a day before today, by `as_of` or by `period` (its first day).
full: a lookup with `mode=full`.
nexus: the addresses of nexus records.

Every figure and feature can be set for one key, and wins over the plan.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl

import sqlalchemy as sa

from svc_tools.service.database import usage
from svc_tools.service.errors import StartError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from svc_tools.service.database import Database

FEATURES = ("history", "full", "nexus")
"""What a plan can include beyond lookups of today, in the order in which they are checked."""
NO_LIMIT = -1
"""An override that lifts the plan's limit."""
_MOST_PER_MINUTE = 60_000_000
_MOST_BURST = 1_000_000
_MOST_LOOKUPS = 10**12
_BURSTS_PER_MINUTE = 6
"""A rate that is set without a burst lets ten seconds' worth through at once."""
_SIGNED = re.compile(r"([+-])(\w+)")


@dataclass(frozen=True, slots=True)
class Rate:
    """How many requests a minute, and how many of them may come at once."""

    per_minute: int
    burst: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One row of the table in this module's docstring; `None` is no limit."""

    name: str
    rate: Rate | None
    monthly_quota: int | None
    features: frozenset[str]


FREE = Plan("free", Rate(per_minute=60, burst=20), 1_000, frozenset())
UNLIMITED = Plan("unlimited", None, None, frozenset(FEATURES))
"""The plan of whoever runs the service on this machine."""
PLANS = {
    plan.name: plan
    for plan in (
        FREE,
        Plan("standard", Rate(per_minute=600, burst=100), 100_000, frozenset(FEATURES)),
        UNLIMITED,
    )
}


@dataclass(frozen=True, slots=True)
class Overrides:
    """What is set for one key; `None` leaves the plan's, `NO_LIMIT` lifts it.

    Args:
        rate_per_minute: requests a minute.
        burst: how many requests may come at once.
        monthly_quota: lookups a calendar month (UTC).
        features: a text such as `+full,-history`: what is added to the plan, what is taken.
    """

    rate_per_minute: int | None = None
    burst: int | None = None
    monthly_quota: int | None = None
    features: str | None = None

    def check(self, plan: str) -> None:
        """Refuse impossible overrides.

        Raises:
            StartError: an unknown plan or feature, a figure out of range, or a burst for a key
                that has no rate limit.
        """
        if plan not in PLANS:
            raise StartError(f"The plan {plan!r} does not exist; there are {', '.join(PLANS)}")
        for what, value, least, most in (
            ("rate per minute", self.rate_per_minute, 1, _MOST_PER_MINUTE),
            ("burst", self.burst, 1, _MOST_BURST),
            ("monthly quota", self.monthly_quota, 0, _MOST_LOOKUPS),
        ):
            if value is not None and value != NO_LIMIT and not least <= value <= most:
                raise StartError(f"The {what} is {value}; expected {least} to {most}")
        if self.burst == NO_LIMIT:
            raise StartError("The burst cannot be lifted alone; lift the rate per minute instead")
        if self.burst is not None and terms_of(plan, self).rate is None:
            raise StartError("A burst needs a rate limit; give the rate per minute too")
        for name in signed_features(self.features):
            if name not in FEATURES:
                raise StartError(
                    f"The feature {name!r} does not exist; there are {', '.join(FEATURES)}"
                )


@dataclass(frozen=True, slots=True)
class Terms:
    """What one key may do: its plan with its overrides; `None` is no limit."""

    plan: str
    rate: Rate | None
    monthly_quota: int | None
    features: frozenset[str]

    @property
    def unlimited(self) -> bool:
        """Whether nothing has to be counted or checked."""
        return (
            self.rate is None and self.monthly_quota is None and self.features.issuperset(FEATURES)
        )


def signed_features(text: str | None) -> dict[str, bool]:
    """The features of an override by name: whether each is added or removed."""
    return {name: sign == "+" for sign, name in _SIGNED.findall(text or "")}


def feature_text(signed: Mapping[str, bool]) -> str | None:
    """Features by name as an override is stored; `None` where nothing differs from the plan."""
    return ",".join(f"{'+' if there else '-'}{name}" for name, there in signed.items()) or None


def terms_of(plan: str, overrides: Overrides) -> Terms:
    """A plan with what is set for one key.

    A plan that this release does not know (a database of another release) counts as the smallest:
    the operator can add to what was too little, but not take back what was too much.
    """
    base = PLANS.get(plan, FREE)
    signed = signed_features(overrides.features)
    added = {name for name, there in signed.items() if there}
    return Terms(
        plan=plan,
        rate=_rate(base.rate, overrides),
        monthly_quota=_limit(overrides.monthly_quota, base.monthly_quota),
        features=frozenset((base.features | added) - (signed.keys() - added)),
    )


def _rate(base: Rate | None, overrides: Overrides) -> Rate | None:
    per_minute = _limit(overrides.rate_per_minute, base.per_minute if base else None)
    if per_minute is None:
        return None
    if overrides.burst is not None:
        burst = overrides.burst
    elif base is not None and overrides.rate_per_minute is None:
        burst = base.burst
    else:
        burst = min(max(1, per_minute // _BURSTS_PER_MINUTE), _MOST_BURST)
    return Rate(per_minute=per_minute, burst=burst)


def _limit(override: int | None, base: int | None) -> int | None:
    if override is None:
        return base
    return None if override == NO_LIMIT else override


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
"""In microseconds, as all times of buckets."""
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


class LimitStore:
    """The lookups counted against monthly quotas, one row a key and month. Blocks; thread-safe.

    Each method is one statement: processes that count at the same time never exceed a quota.

    Args:
        database: shared by all processes that count.

    Raises:
        StoreBusyError: (from every method) another process kept the database locked.
        StoreUnavailableError: (from every method) the database cannot be used at present.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def uses(self, month: str) -> dict[str, int]:
        """The lookups counted in a month, by key id."""
        query = sa.select(usage.c.key_id, usage.c.used).where(usage.c.month == month)
        with self._database.read() as connection:
            return {row.key_id: row.used for row in connection.execute(query)}

    def take(self, key_id: str, quota: int, month: str) -> int | None:
        """Count one lookup; return how many are left, or `None` where none was left to count."""
        if quota < 1:
            return None
        count = (
            self._database.insert(usage)
            .values(key_id=key_id, month=month, used=1)
            .on_conflict_do_update(
                index_elements=[usage.c.key_id, usage.c.month],
                set_={"used": usage.c.used + 1},
                where=usage.c.used < quota,
            )
            .returning(usage.c.used)
        )
        with self._database.write() as connection:
            used = connection.execute(count).scalar_one_or_none()
        return None if used is None else quota - used

    def give_back(self, key_id: str, month: str) -> None:
        """Take back the count of one lookup."""
        with self._database.write() as connection:
            connection.execute(
                usage.update()
                .where(usage.c.key_id == key_id, usage.c.month == month, usage.c.used > 0)
                .values(used=usage.c.used - 1)
            )
