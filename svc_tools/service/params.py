"""Query strings, read strictly: a parameter is given once, in UTF-8, or the request is refused.

Where records are removed a mistake costs most: there unknown parameters are refused too, and what
is wrong comes as the 422 of SPEC 4.1, all mistakes at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError

from svc_tools.service.envelope import Problem, invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.requests import Request

__all__ = ["Parameter", "documented", "read_params", "read_params_only"]

# What stands where bytes were not UTF-8: text with a hole in it names no place.
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"

# A query string has room for thousands of mistakes: an answer that told all would be far larger.
_MOST_TOLD = 10


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its name, what its values look like in words, and for OpenAPI."""

    name: str
    expected: str
    schema: Mapping[str, object] = field(default_factory=lambda: {"type": "string"})
    place: str = "query"
    example: object = None

    @property
    def described(self) -> dict[str, Any]:
        """What its values look like, as a JSON Schema."""
        return {**self.schema, "description": self.expected}

    def refuse(self, given: str) -> Problem:
        """The 400 for a value of this parameter that is not as expected."""
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
    """The known parameters of a request's query string, each once; blank values are kept.

    Unknown ones are ignored.

    Args:
        request: the request; the framework has split its query string already.
        known: the parameters of this address by name.

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

    What a value means is not judged here.

    Args:
        request: the request; the framework has split its query string already.
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
            kind, said = "extra_forbidden", "Unknown parameter"
            expected = f"no parameter but {', '.join(known)}"
        elif name in given:
            kind, said, expected = "repeated", "Given more than once", "one value"
        else:
            given[name] = value
            if _UNREADABLE not in value:
                continue
            kind, said, expected = "string_unicode", "Not UTF-8", "percent-encoded UTF-8"
        wrong.append(
            {
                "loc": ("query", name),
                "msg": f"{said}, expected {expected}. {because}",
                "type": kind,
                "input": value,
                "ctx": {"expected": expected},
            }
        )
    if wrong:
        raise RequestValidationError(wrong[:_MOST_TOLD])
    return given
