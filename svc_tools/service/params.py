"""Query parameters: how each is described, read strictly, and made into one rate-book `Query`.

A parameter is given once, in UTF-8, or the request is refused with a 400 that names the parameter
and what is expected. Where records are removed a mistake costs most: there unknown parameters are
refused too, and all mistakes come at once as the 422 of SPEC 4.1. Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from fastapi.exceptions import RequestValidationError

from svc_tools.service.envelope import Problem, invalid
from svc_tools.service.ratebook import Query

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from starlette.requests import Request

# What the framework puts where bytes were not UTF-8.
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"
_MOST_MISTAKES = 10
"""How many mistakes one 422 lists: a query string has room for thousands."""

_LENGTHS = {"address": (10, 200), "street": (1, 200), "city": (1, 64), "location": (1, 64)}
_LIMITS = {"lat": 90, "lng": 180}
WAYS = "address; street and city (with zip if you like); zip; location; lat and lng"
"""The ways of naming a place, in words."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its name, and what its values look like in words and for OpenAPI."""

    name: str
    expected: str
    schema: Mapping[str, object] = field(default_factory=lambda: {"type": "string"})
    place: str = "query"
    example: object = None

    @property
    def described(self) -> dict[str, Any]:
        """Its values as a JSON Schema."""
        return {**self.schema, "description": self.expected}

    def refuse(self, given: str) -> Problem:
        """The 400 for a value that is not as expected."""
        return invalid(self.name, given, self.expected)


def documented(parameters: Iterable[Parameter]) -> list[dict[str, object]]:
    """The parameters as OpenAPI describes them."""
    return [
        {
            "name": parameter.name,
            "in": parameter.place,
            "required": parameter.place == "path",
            "description": parameter.expected,
            "schema": dict(parameter.schema),
            **({} if parameter.example is None else {"example": parameter.example}),
        }
        for parameter in parameters
    ]


def read_params(request: Request, known: Mapping[str, Parameter]) -> dict[str, str]:
    """The known parameters of a request's query string, blank ones too; unknown ones are ignored.

    Raises:
        Problem: 400 for text that is not percent-encoded UTF-8, or a repeated parameter.
    """
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in known:
            continue
        if name in given:
            raise Problem(
                400,
                "INVALID_INPUT",
                f"{name}: given more than once, expected once",
                extra={"parameter": name, "expected": "one value"},
            )
        if _UNREADABLE in value:
            raise Problem(400, "INVALID_INPUT", f"{name}: not UTF-8; percent-encode text in UTF-8")
        given[name] = value
    return given


def read_params_only(
    request: Request, known: Mapping[str, Parameter], because: str
) -> dict[str, str]:
    """The parameters of a query string that may hold nothing but the known ones, each once.

    Args:
        request: the request.
        known: the parameters of this address by name.
        because: a sentence for the caller: why it is strict, and what was not done.

    Raises:
        RequestValidationError: 422 (SPEC 4.1), with an item for each parameter that is unknown,
            given again, or not percent-encoded UTF-8; ten items at most.
    """
    given: dict[str, str] = {}
    wrong: list[dict[str, object]] = []
    for name, value in request.query_params.multi_items():
        if name not in known:
            kind, mistake = "extra_forbidden", "Unknown parameter"
            expected = f"no parameter but {', '.join(known)}"
        elif name in given:
            kind, mistake, expected = "repeated", "Given more than once", "one value"
        else:
            given[name] = value
            if _UNREADABLE not in value:
                continue
            kind, mistake, expected = "string_unicode", "Not UTF-8", "percent-encoded UTF-8"
        wrong.append(
            {
                "loc": ("query", name),
                "msg": f"{mistake}, expected {expected}. {because}",
                "type": kind,
                "input": value,
                "ctx": {"expected": expected},
            }
        )
    if wrong:
        raise RequestValidationError(wrong[:_MOST_MISTAKES])
    return given


STATES = tuple(
    """
    AK AL AR AZ CA CO CT DC DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH
    NJ NM NV NY OH OK OR PA RI SC SD TN TX UT VA VT WA WI WV WY
    """.split()  # noqa: SIM905 - 51 short codes read best as one text
)
NEXUS_TYPES = ("economic", "marketplace", "physical")
_EITHER_CASE = "|".join("".join(f"[{one}{one.lower()}]" for one in code) for code in STATES)
STATE = Parameter(
    "state",
    f"the two-letter code of a state, one of {', '.join(STATES)}",
    {"type": "string", "pattern": f"^({_EITHER_CASE})$"},
    example="TX",
)
NEXUS_TYPE = Parameter(
    "nexus_type",
    f"one of {', '.join(NEXUS_TYPES)}",
    {"type": "string", "enum": list(NEXUS_TYPES)},
)
_KNOWN = frozenset(STATES)
_TWO_LETTERS = re.compile(r"[A-Za-z]{2}", re.ASCII)


def two_letters(given: str) -> str | None:
    """The code in upper case, or `None` where it does not have the form of a state code."""
    return given.upper() if _TWO_LETTERS.fullmatch(given) else None


def checked_state(given: str) -> str:
    """The code of a state that can have a nexus record, in upper case, or a 400 `Problem`."""
    state = two_letters(given)
    if state not in _KNOWN:
        raise STATE.refuse(given)
    return state


def checked_nexus_type(given: str) -> str:
    """A nexus type, or a 400 `Problem`."""
    if given not in NEXUS_TYPES:
        raise NEXUS_TYPE.refuse(given)
    return given


STATE_IN_PATH = Parameter(
    "state",
    "the two-letter code of a state, such as TX",
    {"type": "string", "pattern": "^[A-Za-z]{2}$"},
    place="path",
    example="TX",
)


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
"""Every parameter of a lookup by name."""
_MODES = (
    frozenset({"address"}),
    frozenset({"street", "city"}),
    frozenset({"street", "city", "zip"}),
    frozenset({"zip"}),
    frozenset({"location"}),
    frozenset({"lat", "lng"}),
)
_PLACE = frozenset[str]().union(*_MODES)
# two that only make sense together, and what may go with them
_PAIRS = (("street", "city", {"zip"}), ("lat", "lng", set[str]()))
_ZIP = re.compile(r"[0-9]{5}(?:-[0-9]{4})?", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,20}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PERIOD = re.compile(r"([0-9]{4})([1-4])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class Lookup(NamedTuple):
    """One lookup: the query, and whether the verbose body was requested."""

    query: Query
    full: bool


def read_lookup(state: str, given: Mapping[str, str]) -> Lookup:
    """The lookup of a request.

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
    """Refuse anything but exactly one way of naming the place (WIRE "Requests")."""
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
    for first, second, optional in _PAIRS:
        if (first in named) != (second in named) and named <= {first, second, *optional}:
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
    """A text with its white space normalized, then checked for its length."""
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
    """The date of the lookup: `as_of`, or the first day of the quarter `period`."""
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
