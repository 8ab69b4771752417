"""Query strings, read strictly: a parameter is given once, in UTF-8, or the request is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from svc_tools.service.envelope import Problem, invalid, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.requests import Request

__all__ = ["Parameter", "documented", "read_params"]

# What stands where bytes were not UTF-8: text with a hole in it names no place.
_UNREADABLE = "\N{REPLACEMENT CHARACTER}"


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


def read_params(
    request: Request, known: Mapping[str, Parameter], *, strangers: bool = True
) -> dict[str, str]:
    """The known parameters of a request's query string, each once; blank values are kept.

    Args:
        request: the request; the framework has split its query string already.
        known: the parameters of this address by name.
        strangers: whether unknown parameters are ignored (else refused).

    Raises:
        Problem: 400 for text that is not percent-encoded UTF-8, a repeated parameter, or an
            unknown one where those are refused.
    """
    given: dict[str, str] = {}
    for name, value in request.query_params.multi_items():
        if name not in known:
            if strangers:
                continue
            raise invalid(shown(name), value, f"no parameter but {', '.join(known)}")
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
