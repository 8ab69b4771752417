"""The parameters of requests, as pydantic models.

A parameter is given once, in UTF-8, or the request is refused with a 400 that names the parameter
and what is expected. Where records are removed a mistake costs most: there unknown parameters are
refused too, and all mistakes come at once as the 422 of SPEC 4.1. Pure.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema

from svc_tools.service.problems import Problem, invalid
from svc_tools.service.ratebook import Query

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

STATES = tuple(
    """
    AK AL AR AZ CA CO CT DC DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS MT NC ND NE NH
    NJ NM NV NY OH OK OR PA RI SC SD TN TX UT VA VT WA WI WV WY
    """.split()  # noqa: SIM905 - 51 short codes read best as one text
)
WAYS = "address; street and city (with zip if you like); zip; location; lat and lng"
"""The ways of naming a place, in words."""
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,20}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?"
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def _text(value: str) -> str:
    """A text with its white space normalized."""
    text = " ".join(value.split())
    if _CONTROL.search(text):
        raise ValueError("control characters")
    return text


def _number(value: str) -> str:
    # pydantic alone would also take underscores, nan and digits of other scripts
    if not _NUMBER.fullmatch(value):
        raise ValueError("expected a decimal number")
    return value


def date_text(value: object) -> object:
    """The value, if it can be a date.

    Raises:
        ValueError: it cannot.
    """
    # pydantic alone would also take seconds since 1970 and a date with a time
    if value is None or (isinstance(value, str) and _DATE.fullmatch(value)):
        return value
    raise ValueError("expected a date as YYYY-MM-DD, such as 2026-07-01")


def _quarter(value: str) -> str:
    if value.startswith("0000"):
        raise ValueError("there is no year 0")
    return value


_StateCode = Annotated[
    str,
    Field(
        pattern="^[A-Za-z]{2}$",
        description="the two-letter code of a state, such as TX",
        examples=["TX"],
    ),
    AfterValidator(str.upper),
]
_Day = Annotated[
    date,
    BeforeValidator(date_text),
    Field(description="a date as YYYY-MM-DD, such as 2026-07-01"),
]
Omittable = SkipJsonSchema[None]
"""Added to the type of an optional parameter: `None` in Python, left out on the wire."""


def _named(what: str, shortest: int, longest: int) -> Any:  # noqa: ANN401 - as pydantic's Field
    described = f"{what}, {shortest} to {longest} characters"
    return Field(min_length=shortest, max_length=longest, description=described)


def _degrees(what: str, most: int) -> Any:  # noqa: ANN401 - as pydantic's Field
    described = f"a {what} in decimal degrees from -{most} to {most}"
    return Field(ge=-most, le=most, description=described)


_Text = Annotated[str, BeforeValidator(_text)]
_Number = Annotated[float, BeforeValidator(_number)]


class LookupParams(BaseModel):
    """A lookup: the state of its path, and the parameters of its query string."""

    state: _StateCode
    address: (
        Annotated[_Text, _named("an address in one line (street, city, state ZIP)", 10, 200)]
        | Omittable
    ) = None
    street: (
        Annotated[_Text, _named("the street line of an address, together with city", 1, 200)]
        | Omittable
    ) = None
    city: (
        Annotated[_Text, _named("the city of an address, together with street", 1, 64)] | Omittable
    ) = None
    zip: (
        Annotated[
            str,
            Field(
                pattern="^[0-9]{5}(-[0-9]{4})?$",
                description="five digits or ZIP+4, such as 78701 or 78701-1234",
                examples=["78701"],
            ),
        ]
        | Omittable
    ) = None
    location: Annotated[_Text, _named("the name of a place", 1, 64)] | Omittable = None
    lat: Annotated[_Number, _degrees("latitude", 90)] | Omittable = None
    lng: Annotated[_Number, _degrees("longitude", 180)] | Omittable = None
    as_of: _Day | Omittable = None
    period: (
        Annotated[
            str,
            Field(
                pattern="^[0-9]{4}[1-4]$",
                description="a year and a quarter as YYYYQ, such as 20263",
            ),
            AfterValidator(_quarter),
        ]
        | Omittable
    ) = None
    mode: Annotated[
        Literal["simple", "full"], Field(description="simple (the default) or full")
    ] = "simple"

    @model_validator(mode="before")
    @classmethod
    def _in_one_way(cls, given: dict[str, str]) -> dict[str, str]:
        """Refuse anything but exactly one way of naming the place (WIRE "Requests")."""
        named = _PLACE & given.keys()
        if named in _MODES:
            return given
        if not named:
            raise Problem(
                400,
                "MISSING_INPUT",
                f"No place was given; give exactly one of: {WAYS}",
                extra={"expected": WAYS},
            )
        for first, second, optional in _PAIRS:
            if (first in named) != (second in named) and named <= {first, second, *optional}:
                present, absent = (first, second) if first in named else (second, first)
                expected = field_schemas(cls)[absent]["description"]
                raise Problem(
                    400,
                    "MISSING_INPUT",
                    f"{absent}: missing; {present} needs {absent} with it: expected {expected}",
                    extra={"parameter": absent, "expected": expected},
                )
        together = sorted(named)
        raise Problem(
            400,
            "INPUT_CONFLICT",
            f"{', '.join(together)} name the place in more than one way; give exactly one of:"
            f" {WAYS}",
            extra={"parameters": together, "expected": WAYS},
        )

    def day(self) -> date | None:
        """The date of the lookup: `as_of`, or the first day of the quarter `period`."""
        if self.period is None:
            return self.as_of
        start = date(int(self.period[:4]), 3 * int(self.period[4]) - 2, 1)
        if self.as_of not in {None, start}:
            raise Problem(
                400,
                "INPUT_CONFLICT",
                f"as_of is {self.as_of} but period {self.period} means {start}; give one of the"
                " two",
                extra={"parameters": ["as_of", "period"]},
            )
        return start


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


@cache
def field_schemas(model: type[BaseModel]) -> dict[str, dict[str, Any]]:
    """The JSON Schema of each field of a model by name."""
    fields: dict[str, dict[str, Any]] = model.model_json_schema()["properties"]
    for schema in fields.values():
        schema.pop("title", None)
        if schema.get("default", "") is None:
            del schema["default"]
    return fields


def documented(model: type[BaseModel], *, path: bool) -> list[dict[str, object]]:
    """The parameters as OpenAPI describes them.

    Args:
        model: the parameters of an address.
        path: whether the state is part of the path.
    """
    found = []
    for name, schema in field_schemas(model).items():
        in_path = path and name == "state"
        found.append(
            {
                "name": name,
                "in": "path" if in_path else "query",
                "required": in_path,
                "description": schema["description"],
                "schema": schema,
            }
        )
    return found


_Model = TypeVar("_Model", bound=BaseModel)


def parsed(model: type[_Model], given: Mapping[str, str]) -> _Model:
    """Parameters by name as their model.

    Raises:
        Problem: 400 `MISSING_INPUT`, `INPUT_CONFLICT` or `INVALID_INPUT` (WIRE "Errors").
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    name = str(first["loc"][0])
    exchanged = name == "lat" and _NUMBER.fullmatch(given[name]) and abs(float(given[name])) <= 180  # noqa: PLR2004 - degrees
    hint = "; are lat and lng exchanged?" if exchanged else ""
    raise invalid(name, given[name], f"{field_schemas(model)[name]['description']}{hint}")


class Lookup(NamedTuple):
    """One lookup: the query, and whether the verbose body was requested."""

    query: Query
    full: bool


def read_lookup(state: str, given: Mapping[str, str]) -> Lookup:
    """The lookup of a request: see `parsed` for errors.

    Args:
        state: the last segment of the path, decoded.
        given: the parameters of its query string, by `read_params`.
    """
    params = parsed(LookupParams, {**given, "state": state})
    fields = {**vars(params), "as_of": params.day()}
    return Lookup(full=fields.pop("mode") == "full", query=Query(**fields))


# What the framework puts where bytes were not UTF-8.
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"
_MOST_MISTAKES = 10
"""How many mistakes one 422 lists: a query string has room for thousands."""


def read_params(
    given: Iterable[tuple[str, str]], *known: str, strict_because: str | None = None
) -> dict[str, str]:
    """The known parameters of a request's query string, blank ones too, as text.

    Args:
        given: the names and values of the query string, decoded.
        known: the parameters of this address.
        strict_because: where unknown parameters are refused: why, and what was not done. `None`
            ignores them.

    Raises:
        Problem: 400 for a parameter that is repeated, or not percent-encoded UTF-8.
        RequestValidationError: the same where it is strict: 422 (SPEC 4.1) with an item for each
            such parameter and each that is unknown; ten items at most.
    """
    read: dict[str, str] = {}
    wrong: list[dict[str, object]] = []
    for name, value in given:
        if name not in known:
            if strict_because is None:
                continue
            kind, mistake = "extra_forbidden", "unknown parameter"
            expected = f"no parameter but {', '.join(known)}"
        elif name in read:
            kind, mistake, expected = "repeated", "given more than once", "one value"
        else:
            read[name] = value
            if _UNREADABLE not in value:
                continue
            kind, mistake, expected = "string_unicode", "not UTF-8", "percent-encoded UTF-8"
        if strict_because is None:
            raise Problem(
                400,
                "INVALID_INPUT",
                f"{name}: {mistake}, expected {expected}",
                extra={"parameter": name, "expected": expected},
            )
        wrong.append(
            {
                "loc": ("query", name),
                "msg": f"{mistake.capitalize()}, expected {expected}. {strict_because}",
                "type": kind,
                "input": value,
                "ctx": {"expected": expected},
            }
        )
    if wrong:
        from fastapi.exceptions import RequestValidationError  # noqa: PLC0415 - a removal alone

        raise RequestValidationError(wrong[:_MOST_MISTAKES])
    return read
