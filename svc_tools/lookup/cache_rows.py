"""How a result is stored in the cache: its key, for how long, and its row. Pure.

What many results share (the publisher, the edition, the dates, the warnings) is one *profile*;
the body of a result names it by number and holds the rest. Both are JSON. Every row carries a
checksum over all that decides what it says, because SQLite itself does not notice a changed byte.
"""

from __future__ import annotations

import json
import zlib
from collections import deque
from datetime import UTC, date, datetime, time, timedelta
from itertools import repeat
from json.encoder import encode_basestring_ascii
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from svc_tools.lookup.outcomes import Component, Found, Outcome
from svc_tools.lookup.review import OTHER_DATE, law_since

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from svc_tools.places import Place

FOR_EVER = datetime(9999, 12, 31, tzinfo=UTC)
"""The expiry of what is stored for good."""
UNPROVEN = timedelta(days=30)
"""How long the rate of a past date is stored whose effective date is not published."""
UNRESOLVED = timedelta(hours=1)
"""How long it is stored that a place is not known: services are updated."""

NO_PROFILE = 0
"""The profile of a result without a rate."""
_OWN = (
    "combined",
    "state",
    "county",
    "city",
    "districts",
    "resolved_zip",
    "resolved_city",
    "resolved_county",
    "low",
    "high",
)
"""The fields that are not shared with other results; a body has them in this order."""
_OF_OUTCOME = 2
"""How many of a profile's fields are those of `Outcome`; the others are those of `Found`."""
_PLAIN = 2 + len(_OWN)
"""How many values a body has, unless it has optional ones."""
_own_values = attrgetter(*_OWN)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_write = json.JSONEncoder(separators=(",", ":")).encode


def place_key(place: Place) -> str:
    """The key of a place in the cache: equal queries have equal keys, different ones never.

    It is ASCII without control characters. Text is quoted as in JSON, so that no field can pass
    for another; coordinates have all their digits. A query without a date has none in its key:
    its result is valid for the day of the query, and expires at that day's end.
    """
    day = "-" if place.as_of is None else _day(place.as_of)
    code = place.zip
    if (
        place.mode == "zip"
        and code is not None
        and code.isascii()
        and code.replace("-", "").isalnum()
        and place.state.isascii()
        and place.state.isalnum()
        and place.address is None
        and place.city is None
        and place.location is None
        and place.lat is None
        and place.lng is None
    ):
        # most queries are of this form: three times faster
        return f"zip {place.state} {code} {day}"
    fields = (place.state, place.address, place.city, code, place.location)
    text = " ".join(["-" if value is None else encode_basestring_ascii(value) for value in fields])
    return f"{place.mode} {text} {_degrees(place.lat)} {_degrees(place.lng)} {day}"


def _degrees(value: float | None) -> str:
    # equal numbers are written alike: 30 as 30.0, and -0.0 as 0.0
    return "-" if value is None else repr(float(value) + 0.0)


def _day(as_of: date) -> str:
    # a request has the calendar date of a moment
    return (as_of.date() if isinstance(as_of, datetime) else as_of).isoformat()


def keeps_until(
    outcome: Outcome,
    as_of: date | None,
    *,
    answered: datetime,
    today: date,
    day_ends: datetime,
    hours: float | None = None,
) -> datetime | None:
    """When a stored result expires; `None` where it is not stored.

    | result | stored |
    | --- | --- |
    | complete rate, past date, with its own published effective date | for good |
    | other rate, past date | 30 days |
    | rate of today (or undated) or of a later day | until the local day ends (`SVC_CACHE_HOURS`) |
    | the service knows no rate for the place | one hour |
    | failed, not attempted, invalid or unsupported | never |

    Args:
        outcome: the result.
        as_of: the date of the query; `None` for today.
        answered: when the service responded (aware).
        today: the local day of that moment.
        day_ends: the end of that day.
        hours: a longer time for the rates of today and later dates.
    """
    if outcome.status == "unresolved":
        return answered + UNRESOLVED
    found = outcome.found
    if outcome.status not in {"ok", "partial"} or found is None:
        return None
    # the service's day may have begun later than the local one: past is what is past for both
    if as_of is not None and as_of < min(today, answered.astimezone(UTC).date()):
        final = outcome.status == "ok" and _is_proven(found, as_of)
        return FOR_EVER if final else answered + UNPROVEN
    return day_ends if hours is None else max(day_ends, answered + timedelta(hours=hours))


def _is_proven(found: Found, as_of: date) -> bool:
    """Whether the publisher dates the rate, and no warning says that it is of another date."""
    since = law_since(found)
    return since is not None and since <= as_of and OTHER_DATE.isdisjoint(found.warnings)


class LocalDays:
    """The local day of a moment, and when it ends; remembers the last one."""

    def __init__(self) -> None:
        self._day = date.min
        self._begins = self._ends = datetime.min.replace(tzinfo=UTC)

    def of(self, moment: datetime) -> tuple[date, datetime]:
        """The local calendar day of an aware moment, and that day's end."""
        if not self._begins <= moment < self._ends:
            self._day = moment.astimezone().date()
            # a naive time is of this machine's zone: midnight as the clocks then stand
            self._begins = datetime.combine(self._day, time()).astimezone()
            self._ends = datetime.combine(self._day + timedelta(days=1), time()).astimezone()
        return self._day, self._ends


class DamageError(Exception):
    """A stored row or profile is not what was written."""


class Profile(NamedTuple):
    """What many results have in common."""

    status: Any
    error: str | None
    freight_taxable: bool | None
    confidence: str | None
    warnings: tuple[str, ...]
    resolved_via: str | None
    effective_date: str | None
    effective_date_basis: str | None
    resolved_state: str | None
    source: str | None
    edition: str | None


def profile_of(outcome: Outcome) -> Profile | None:
    """The shared part of a result; `None` where it has no rate."""
    found = outcome.found
    if found is None:
        return None
    return Profile(
        outcome.status,
        outcome.error,
        found.freight_taxable,
        found.confidence,
        found.warnings,
        found.resolved_via,
        found.effective_date,
        found.effective_date_basis,
        found.resolved_state,
        found.source,
        found.edition,
    )


def write_profile(profile: Profile) -> str:
    """A profile as text."""
    return _write(profile)


def read_profile(text: str) -> Profile:
    """A profile from its text."""
    values = json.loads(text)
    values[4] = tuple(values[4])
    return Profile(*values)


def row_of(outcome: Outcome, profile: int, answered: datetime) -> list[object]:
    """The values of a body: the part of a result that is not shared with others."""
    at = (answered - _EPOCH) // _MICROSECOND
    found = outcome.found
    failure = (outcome.support_reference, outcome.error_code)
    if found is None:
        return [NO_PROFILE, at, outcome.status, outcome.error, *failure]
    row: list[object] = [profile, at, *_own_values(found)]
    if found.accepted_places or found.components or failure != (None, None):
        parts = [(one.level, one.name, one.code, one.units) for one in found.components]
        row += [found.accepted_places, parts, *failure]
    return row


def bodies_of(rows: Sequence[list[object]]) -> list[bytes]:
    """The bodies of results. Encoded in one go where that can be split: twice as fast."""
    bodies = _write(rows).encode()[2:-2].split(b"],[")
    if len(bodies) == len(rows):
        return [b"[%b]" % body for body in bodies]
    return [_write(row).encode() for row in rows]  # it holds a list or such a text


def checksum(source: int, detail: int, expires: int, key: str, body: bytes) -> int:
    """The checksum of a row: of all that decides for what it is served, until when, and as what."""
    start = (source * 0x9E3779B1 + expires * 2 + detail) & 0xFFFFFFFF
    return zlib.crc32(body, zlib.crc32(key.encode(), start))


def text_checksum(number: int, text: str) -> int:
    """The checksum of a profile under its number."""
    return zlib.crc32(text.encode(), number & 0xFFFFFFFF)


def outcomes_of(bodies: Sequence[bytes], profiles: Mapping[int, Profile]) -> list[Outcome]:
    """The outcomes of bodies; `cached` is set.

    Raises:
        DamageError: a body names a profile that is not there, or cannot be read.
    """
    try:
        rows = json.loads(b"[" + b",".join(bodies) + b"]")
        rated = _with_rates([row for row in rows if row[0] != NO_PROFILE], profiles)
        if len(rated) == len(rows):
            return rated
        each = iter(rated)
        return [_without_rate(row) if row[0] == NO_PROFILE else next(each) for row in rows]
    except (ValueError, TypeError, LookupError) as error:
        raise DamageError(f"an answer cannot be read ({error!r})") from error


def _without_rate(row: Sequence[Any]) -> Outcome:
    _, at, status, error, reference, code = row
    (moment,) = _moments([at])
    return Outcome(status, error, None, reference, code, moment, cached=True)


def _moments(microseconds: Iterable[int]) -> Iterator[datetime]:
    """The moments so many microseconds after the epoch, without a Python call for each."""
    zeros = repeat(0)
    return map(_EPOCH.__add__, map(timedelta, zeros, zeros, microseconds))


def _with_rates(rows: Sequence[Sequence[Any]], profiles: Mapping[int, Profile]) -> list[Outcome]:
    """Outcomes made column by column: three times as fast as the constructors of frozen classes."""
    outcomes = list(map(object.__new__, repeat(Outcome, len(rows))))
    if not rows:
        return outcomes
    # as many columns as every result has; a full one has more
    numbers, moments, *own = list(zip(*rows, strict=False))[:_PLAIN]
    shared = list(zip(*map(profiles.__getitem__, numbers), strict=True))
    missing = repeat(None)
    # a place mostly has the same rate on many days: equal ones share one object
    values: list[tuple[Any, ...]] = list(zip(numbers, *own, strict=True))
    for index, row in enumerate(rows):
        if len(row) > _PLAIN:
            values[index] = (*values[index], index)  # it has more, and shares nothing
    distinct = list(dict.fromkeys(values))
    one_each = dict(zip(distinct, _founds(distinct, profiles), strict=True))
    found = list(map(one_each.__getitem__, values))
    _set(Outcome, outcomes, zip(Profile._fields, shared[:_OF_OUTCOME], strict=False))
    _set(Outcome, outcomes, [("support_reference", missing), ("error_code", missing)])
    _set(Outcome, outcomes, [("found", found), ("looked_up_at", _moments(moments))])
    _set(Outcome, outcomes, [("cached", repeat(object=True))])
    for index, row in enumerate(rows):
        if len(row) > _PLAIN:
            places, parts, reference, code = row[_PLAIN:]
            components = tuple(Component(*part) for part in parts)
            one, whole = [found[index]], [outcomes[index]]
            _set(Found, one, [("accepted_places", [tuple(places)]), ("components", [components])])
            _set(Outcome, whole, [("support_reference", [reference]), ("error_code", [code])])
    return outcomes


def _founds(rows: Sequence[Sequence[Any]], profiles: Mapping[int, Profile]) -> list[Found]:
    """`Found` of rows: the number of a profile and the values of `_OWN`."""
    found = list(map(object.__new__, repeat(Found, len(rows))))
    numbers, *own = list(zip(*rows, strict=False))[: 1 + len(_OWN)]
    shared = list(zip(*map(profiles.__getitem__, numbers), strict=True))
    nothing = repeat(())
    _set(Found, found, zip(_OWN, own, strict=True))
    _set(Found, found, zip(Profile._fields[_OF_OUTCOME:], shared[_OF_OUTCOME:], strict=True))
    _set(Found, found, [("accepted_places", nothing), ("components", nothing)])
    return found


def _set(
    kind: type, objects: Iterable[object], columns: Iterable[tuple[str, Iterable[object]]]
) -> None:
    """Set attributes of new objects, bypassing the guard of a frozen class."""
    for name, values in columns:
        deque(map(vars(kind)[name].__set__, objects, values), maxlen=0)
