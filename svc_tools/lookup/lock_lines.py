"""One answer as a line of a lock file, and back again: for people of ten years from now. Pure.

Names are the specification's; rates are five-decimal strings. What is missing is left out.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from svc_sdk.rates import rate_to_units, units_to_rate
from svc_tools.lookup.outcomes import STATUSES, Component, Found, Outcome
from svc_tools.places import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["answer_of", "line_of"]

_RATES = {
    "combined": "combined_rate",
    "state": "state_rate",
    "county": "county_rate",
    "city": "city_rate",
    "districts": "combined_district_rate",
    "low": "rate_low",
    "high": "rate_high",
}
"""The fields of `Found` that are rates, and what a line calls them (SPEC 2.2)."""
_LISTS = ("warnings", "accepted_places")
_FOUND = tuple(field.name for field in fields(Found))
_PLACE = tuple(field.name for field in fields(Place))
_OUTCOME = ("status", "error", "support_reference", "error_code")


def line_of(place: Place, outcome: Outcome, *, detail: bool) -> dict[str, Any]:
    """What a line says of an answer, in the order in which it is said."""
    line: dict[str, Any] = {"question": _without_missing({n: getattr(place, n) for n in _PLACE})}
    if place.as_of is not None:
        line["question"]["as_of"] = place.as_of.isoformat()
    if detail:
        line["detail"] = True
    line |= _without_missing({name: getattr(outcome, name) for name in _OUTCOME})
    if outcome.looked_up_at is not None:
        line["looked_up_at"] = outcome.looked_up_at.astimezone(UTC).isoformat()
    if outcome.found is not None:
        line["answer"] = _answer(outcome.found)
    return line


def _without_missing(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _answer(found: Found) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for name in _FOUND:
        value = getattr(found, name)
        if value is None or value == ():
            continue
        if name in _RATES:
            said[_RATES[name]] = units_to_rate(value)
        elif name == "components":
            said[name] = [_component(one) for one in value]
        else:
            said[name] = list(value) if name in _LISTS else value
    return said


def _component(one: Component) -> dict[str, Any]:
    told = {"level": one.level, "name": one.name, "code": one.code}
    return _without_missing(told | {"rate": units_to_rate(one.units)})


def answer_of(line: Mapping[str, Any]) -> tuple[Place, Outcome, bool]:
    """The place, its answer and whether that is a full one; `cached` is set.

    Raises:
        ValueError: the line is not one that `line_of` makes; it says what is wrong.
    """
    rest = dict(line)
    place = _place(_taken(rest, "question", dict))
    detail = bool(rest.pop("detail", False))
    status = _taken(rest, "status", str)
    if status not in STATUSES:
        raise ValueError(f"its status is {status!r}, which is none of {', '.join(STATUSES)}")
    told = rest.pop("looked_up_at", None)
    answer = rest.pop("answer", None)
    error, reference, code = (_text(rest, name) for name in _OUTCOME[1:])
    _check_empty(rest)
    return (
        place,
        Outcome(
            status,
            error,
            None if answer is None else _found(answer),
            reference,
            code,
            None if told is None else _moment(told),
            cached=True,
        ),
        detail,
    )


def _place(question: Mapping[str, Any]) -> Place:
    rest = dict(question)
    as_of = rest.pop("as_of", None)
    state, mode = _taken(rest, "state", str), _taken(rest, "mode", str)
    point = {name: _number(rest, name) for name in ("lat", "lng")}
    texts = {name: _text(rest, name) for name in ("address", "city", "zip", "location")}
    _check_empty(rest)
    day = None if as_of is None else date.fromisoformat(as_of)
    return Place(state, mode, **texts, **point, as_of=day)  # type: ignore[arg-type]  # as written


def _found(answer: Mapping[str, Any]) -> Found:
    rest = dict(answer)
    values: dict[str, Any] = {}
    for column, name in _RATES.items():
        rate = rest.pop(name, None)
        values[column] = None if rate is None else _units(name, rate)
    if values["combined"] is None:
        raise ValueError("its answer has no combined_rate")
    for name in _LISTS:
        values[name] = tuple(_list_of(str, rest.pop(name, []), name))
    parts = _list_of(dict, rest.pop("components", []), "components")
    values["components"] = tuple(_read_component(part) for part in parts)
    values["freight_taxable"] = _read(rest, "freight_taxable", bool)
    for name in _FOUND:
        if name not in values:
            values[name] = _text(rest, name)
    _check_empty(rest)
    return Found(**values)


def _read_component(part: Mapping[str, Any]) -> Component:
    rest = dict(part)
    level, name = _taken(rest, "level", str), _taken(rest, "name", str)
    code, rate = _text(rest, "code"), _taken(rest, "rate", str)
    _check_empty(rest)
    return Component(level, name, code, _units("rate", rate))


def _units(name: str, rate: object) -> int:
    if not isinstance(rate, str):
        raise ValueError(f"its {name} is {rate!r}, not a text such as '0.08250'")  # noqa: TRY004 - of the file
    return rate_to_units(rate)


def _moment(told: object) -> datetime:
    moment = datetime.fromisoformat(str(told))
    if moment.tzinfo is None:
        raise ValueError(f"its looked_up_at {told!r} has no time zone")
    return moment.astimezone(UTC)


def _read(rest: dict[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:  # noqa: ANN401 - of that kind
    value = rest.pop(name, None)
    # True is a number to Python, and never one to us
    if value is not None and (
        not isinstance(value, kind) or isinstance(value, bool) > (kind is bool)
    ):
        raise ValueError(f"its {name} is {value!r}")
    return value


def _taken(rest: dict[str, Any], name: str, kind: type) -> Any:  # noqa: ANN401 - of that kind
    value = _read(rest, name, kind)
    if value is None:
        raise ValueError(f"it has no {name}")
    return value


def _text(rest: dict[str, Any], name: str) -> str | None:
    text: str | None = _read(rest, name, str)
    return text


def _number(rest: dict[str, Any], name: str) -> float | None:
    number: float | None = _read(rest, name, (int, float))
    return number


def _list_of(kind: type, values: object, name: str) -> list[Any]:
    if not isinstance(values, list) or not all(isinstance(one, kind) for one in values):
        raise ValueError(f"its {name} are {values!r}")
    return values


def _check_empty(rest: Mapping[str, Any]) -> None:
    if rest:
        raise ValueError(f"it has {', '.join(map(repr, rest))}, which this release does not know")
