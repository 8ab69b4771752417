"""An answer as it stands in the cache, and back again, exactly. Pure.

What many answers share (the publisher, the edition, the dates, the warnings) is one *profile*;
the body of an answer names it by number and holds the rest. Both are JSON. Every row carries a
checksum over all that decides what it says, because SQLite itself does not notice a changed byte.
"""

from __future__ import annotations

import json
import zlib
from collections import deque
from datetime import UTC, datetime, timedelta
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from svc_tools.lookup.outcomes import Component, Found, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = [
    "NO_PROFILE",
    "DamageError",
    "Profile",
    "bodies_of",
    "checksum",
    "outcomes_of",
    "profile_of",
    "read_profile",
    "row_of",
    "text_checksum",
    "write_profile",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_write = json.JSONEncoder(separators=(",", ":")).encode

NO_PROFILE = 0
"""The profile of an answer that has no rate."""
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
"""What an answer with a rate does not share with others; its body has them in this order."""
_PLAIN = 2 + len(_OWN)
"""How many values the body of such an answer has, unless it says more."""
_OF_OUTCOME = 2
"""How many fields of a profile are the outcome's own."""
_own_values = attrgetter(*_OWN)


class DamageError(Exception):
    """What is stored is not what was stored."""


class Profile(NamedTuple):
    """What many answers have in common."""

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
    """The shared part of an answer; `None` where it has no rate."""
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
    """What an answer does not share with others: the values of its body."""
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
    """The bodies of answers. Written in one go, which is twice as fast, where that can be cut."""
    bodies = _write(rows).encode()[2:-2].split(b"],[")
    if len(bodies) == len(rows):
        return [b"[%b]" % body for body in bodies]
    return [_write(row).encode() for row in rows]  # a list in a row, or such a text, or no rows


def checksum(source: int, detail: int, expires: int, key: str, body: bytes) -> int:
    """The checksum of a row: of all that decides for what it is served, until when, and as what."""
    start = (source * 0x9E3779B1 + expires * 2 + detail) & 0xFFFFFFFF
    return zlib.crc32(body, zlib.crc32(key.encode(), start))


def text_checksum(number: int, text: str) -> int:
    """The checksum of a profile under its number."""
    return zlib.crc32(text.encode(), number & 0xFFFFFFFF)


def outcomes_of(bodies: Sequence[bytes], profiles: Mapping[int, Profile]) -> list[Outcome]:
    """The answers of bodies; `cached` is set.

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
    """The moments so many microseconds after the epoch; no call of ours for each."""
    zeros = repeat(0)
    return map(_EPOCH.__add__, map(timedelta, zeros, zeros, microseconds))


def _with_rates(rows: Sequence[Sequence[Any]], profiles: Mapping[int, Profile]) -> list[Outcome]:
    """Answers made column by column: three times as fast as the constructors of frozen classes."""
    outcomes = list(map(object.__new__, repeat(Outcome, len(rows))))
    if not rows:
        return outcomes
    # as many columns as every answer has; a full one has more
    numbers, moments, *own = list(zip(*rows, strict=False))[:_PLAIN]
    shared = list(zip(*map(profiles.__getitem__, numbers), strict=True))
    missing = repeat(None)
    # what was found at a place is mostly the same on many days: it is there once
    told: list[tuple[Any, ...]] = list(zip(numbers, *own, strict=True))
    for index, row in enumerate(rows):
        if len(row) > _PLAIN:
            told[index] = (*told[index], index)  # it says more, and shares nothing
    distinct = list(dict.fromkeys(told))
    one_each = dict(zip(distinct, _founds(distinct, profiles), strict=True))
    found = list(map(one_each.__getitem__, told))
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
    """What was found, of the number of a profile and the values of `_OWN`."""
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
    """Set attributes of new objects, past the guard of a frozen class."""
    for name, values in columns:
        deque(map(vars(kind)[name].__set__, objects, values), maxlen=0)
