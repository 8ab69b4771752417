"""Plans: what a key may do, how fast, and how much of it a month (SPEC 5). Pure.

plan       requests a minute  burst  lookups a month  history  full  nexus
free                      60     20            1 000       -     -      -
standard                 600    100          100 000     yes   yes    yes
unlimited                  -      -                -     yes   yes    yes

Every figure and feature can be set for one key; what is set there wins over the plan. A key
without any limit is served from memory: the database is not asked on its way.

history: a lookup about a day before today, by `as_of` or by `period` (its first day).
full: a lookup with `mode=full`.
nexus: the addresses of nexus records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from svc_tools.service.errors import StartError
from svc_tools.service.limits import Rate

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

__all__ = [
    "FEATURES",
    "NO_LIMIT",
    "PLANS",
    "UNLIMITED",
    "Overrides",
    "Plan",
    "Terms",
    "demanded_features",
    "feature_text",
    "is_lookup",
    "signed_features",
    "terms_of",
]

FEATURES = ("history", "full", "nexus")
"""What a plan can include beyond lookups of today, in the order in which they are checked."""

NO_LIMIT = -1
"""An override that lifts the plan's limit."""

_LOOKUP = re.compile(r"/v1/tax/[^/]+")  # what lies below is no address, and costs nothing
_NEXUS = "/v1/portability/"
_MOST_PER_MINUTE = 60_000_000
_MOST_BURST = 1_000_000
_MOST_LOOKUPS = 10**12
_BURSTS_PER_MINUTE = 6
"""A rate that is set without a burst lets ten seconds' worth through at once."""

_PERIOD = re.compile(r"([0-9]{4})([1-4])")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SIGNED = re.compile(r"([+-])(\w+)")


@dataclass(frozen=True, slots=True)
class Plan:
    """One row of the table above; `None` is no limit."""

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
        """Refuse what cannot be kept to.

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
    """The features of an override by name: whether they are added (else taken away)."""
    return {name: sign == "+" for sign, name in _SIGNED.findall(text or "")}


def feature_text(signed: Mapping[str, bool]) -> str | None:
    """Features by name as an override says them; `None` where nothing differs from the plan."""
    return ",".join(f"{'+' if there else '-'}{name}" for name, there in signed.items()) or None


def terms_of(plan: str, overrides: Overrides) -> Terms:
    """A plan with what is set for one key.

    A plan that this release does not know (a database of another release) counts as the smallest:
    too little can be mended by the person who runs the service, too much cannot be taken back.
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


def is_lookup(path: str) -> bool:
    """Whether a request to this path is a lookup: what a monthly quota counts."""
    return _LOOKUP.fullmatch(path) is not None


def demanded_features(path: str, query: bytes, today: date) -> frozenset[str]:
    """The features that a request needs.

    A date or a mode that cannot be read needs none: its refusal is the lookup's 400.

    Args:
        path: the path of the request.
        query: its query string.
        today: the day that a lookup without a date is about.
    """
    if path.startswith(_NEXUS):
        return frozenset({"nexus"})
    if not is_lookup(path):
        return frozenset()
    demanded = set()
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name == "mode" and value == "full":
            demanded.add("full")
        elif (name == "as_of" and _is_past(value, today)) or (
            name == "period" and _is_past(_first_day(value), today)
        ):
            demanded.add("history")
    return frozenset(demanded)


def _first_day(period: str) -> str:
    form = _PERIOD.fullmatch(period)
    return f"{form[1]}-{3 * int(form[2]) - 2:02}-01" if form else ""


def _is_past(day: str, today: date) -> bool:
    # days of this form compare as their texts do
    return _DATE.fullmatch(day) is not None and day < today.isoformat()
