"""From the query string of a lookup to one `Query`: the mode rules of WIRE "Requests". Pure."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from svc_tools.service.envelope import Problem, invalid
from svc_tools.service.params import Parameter
from svc_tools.service.ratebook import Query
from svc_tools.service.states import two_letters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["PARAMETERS", "STATE_IN_PATH", "WAYS", "Lookup", "read_lookup"]

STATE_IN_PATH = Parameter(
    "state",
    "the two-letter code of a state, such as TX",
    {"type": "string", "pattern": "^[A-Za-z]{2}$"},
    place="path",
    example="TX",
)

_LENGTHS = {"address": (10, 200), "street": (1, 200), "city": (1, 64), "location": (1, 64)}
_LIMITS = {"lat": 90, "lng": 180}


def _text(name: str, what: str) -> Parameter:
    shortest, longest = _LENGTHS[name]
    schema = {"type": "string", "minLength": shortest, "maxLength": longest}
    return Parameter(name, f"{what}, {shortest} to {longest} characters", schema)


def _degrees(name: str, what: str) -> Parameter:
    limit = _LIMITS[name]
    schema = {"type": "number", "minimum": -limit, "maximum": limit}
    return Parameter(name, f"a {what} in decimal degrees from -{limit} to {limit}", schema)


PARAMETERS: Mapping[str, Parameter] = {
    parameter.name: parameter
    for parameter in (
        _text("address", "an address in one line (street, city, state ZIP)"),
        _text("street", "the street line of an address, together with city"),
        _text("city", "the city of an address, together with street"),
        Parameter(
            "zip",
            "five digits or ZIP+4, such as 78701 or 78701-1234",
            {"type": "string", "pattern": "^[0-9]{5}(-[0-9]{4})?$"},
            example="78701",
        ),
        _text("location", "the name of a place"),
        _degrees("lat", "latitude"),
        _degrees("lng", "longitude"),
        Parameter(
            "as_of",
            "a date as YYYY-MM-DD, such as 2026-07-01",
            {"type": "string", "format": "date"},
        ),
        Parameter(
            "period",
            "a year and a quarter as YYYYQ, such as 20263",
            {"type": "string", "pattern": "^[0-9]{4}[1-4]$"},
        ),
        Parameter(
            "mode",
            "simple (the default) or full",
            {"type": "string", "enum": ["simple", "full"], "default": "simple"},
        ),
    )
}
"""Every parameter of a lookup by name. Their words are those of the error messages too."""

_MODES = (
    frozenset({"address"}),
    frozenset({"street", "city"}),
    frozenset({"street", "city", "zip"}),
    frozenset({"zip"}),
    frozenset({"location"}),
    frozenset({"lat", "lng"}),
)
_PLACE = frozenset[str]().union(*_MODES)
# two that only make sense together, and what may stand beside them
_PAIRS = (("street", "city", {"zip"}), ("lat", "lng", set[str]()))
WAYS = "address; street and city (with zip if you like); zip; location; lat and lng"
"""The ways of naming a place, in words."""

_ZIP = re.compile(r"[0-9]{5}(?:-[0-9]{4})?", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,20}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PERIOD = re.compile(r"([0-9]{4})([1-4])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Lookup(NamedTuple):
    """One lookup as it was asked: the question, and whether the verbose body is wanted."""

    query: Query
    full: bool


def read_lookup(state: str, given: Mapping[str, str]) -> Lookup:
    """The lookup that a path's state and the parameters beside it ask for.

    Args:
        state: the last segment of the path, decoded.
        given: those of `PARAMETERS` that were given, as text.

    Raises:
        Problem: 400 `MISSING_INPUT`, `INPUT_CONFLICT` or `INVALID_INPUT` (WIRE "Errors").
    """
    code = two_letters(state)
    if code is None:
        raise STATE_IN_PATH.refuse(state)
    _check_mode(given)
    mode = given.get("mode", "simple")
    if mode not in {"simple", "full"}:
        raise PARAMETERS["mode"].refuse(mode)
    period = given.get("period")
    place: dict[str, Any] = {
        name: read(name, given[name]) for name, read in _READ.items() if name in given
    }
    day = _day(given.get("as_of"), period)
    return Lookup(Query(code, **place, as_of=day, period=period), full=mode == "full")


def _check_mode(given: Mapping[str, str]) -> None:
    """Exactly one way of naming the place: none, two, or half a one is refused."""
    named = _PLACE & given.keys()
    if named in _MODES:
        return
    if not named:
        raise Problem(
            400,
            "MISSING_INPUT",
            f"No place was given; give exactly one of: {WAYS}",
            extra={"expected": WAYS},
        )
    for first, second, beside in _PAIRS:
        if (first in named) != (second in named) and named <= {first, second, *beside}:
            there, absent = (first, second) if first in named else (second, first)
            raise Problem(
                400,
                "MISSING_INPUT",
                f"{absent}: missing; {there} needs {absent} with it:"
                f" expected {PARAMETERS[absent].expected}",
                extra={"parameter": absent, "expected": PARAMETERS[absent].expected},
            )
    together = sorted(named)
    raise Problem(
        400,
        "INPUT_CONFLICT",
        f"{', '.join(together)} name the place in more than one way; give exactly one of: {WAYS}",
        extra={"parameters": together, "expected": WAYS},
    )


def _place(name: str, value: str) -> str:
    """A text with its white space tidied; its length is that of the tidied text."""
    text = " ".join(value.split())
    shortest, longest = _LENGTHS[name]
    if not shortest <= len(text) <= longest or _CONTROL.search(text):
        raise PARAMETERS[name].refuse(value)
    return text


def _zip(name: str, value: str) -> str:
    if not _ZIP.fullmatch(value):
        raise PARAMETERS[name].refuse(value)
    return value


def _coordinate(name: str, value: str) -> float:
    degrees = float(value) if _NUMBER.fullmatch(value) else None
    if degrees is None or abs(degrees) > _LIMITS[name]:
        exchanged = name == "lat" and degrees is not None and abs(degrees) <= _LIMITS["lng"]
        hint = "; are lat and lng exchanged?" if exchanged else ""
        raise invalid(name, value, f"{PARAMETERS[name].expected}{hint}")
    return degrees


_READ: Mapping[str, Callable[[str, str], str | float]] = {
    **dict.fromkeys(("address", "street", "city"), _place),
    "zip": _zip,
    "location": _place,
    "lat": _coordinate,
    "lng": _coordinate,
}
"""What reads each part of a place."""


def _day(as_of: str | None, period: str | None) -> date | None:
    """The date that is asked about: `as_of`, or the first day of the quarter `period`."""
    day = None
    if as_of is not None:
        try:
            day = date.fromisoformat(as_of) if _DATE.fullmatch(as_of) else None
        except ValueError:  # a day that its month does not have
            day = None
        if day is None:
            raise PARAMETERS["as_of"].refuse(as_of)
    if period is None:
        return day
    form = _PERIOD.fullmatch(period)
    if form is None or not int(form[1]):
        raise PARAMETERS["period"].refuse(period)
    start = date(int(form[1]), 3 * int(form[2]) - 2, 1)
    if day is not None and day != start:
        raise Problem(
            400,
            "INPUT_CONFLICT",
            f"as_of is {day} but period {period} means {start}; give one of the two",
            extra={"parameters": ["as_of", "period"]},
        )
    return start
