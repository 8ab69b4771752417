"""Error responses of the web framework: the envelope of WIRE "Errors", and the 422 of SPEC 4.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.status import HTTP_405_METHOD_NOT_ALLOWED as METHOD_NOT_ALLOWED

from svc_tools.service.problems import (
    CODE,
    NO_SUCH_PATH,
    PATH_NOT_FOUND,
    REQUEST_ID,
    Problem,
    envelope_body,
    given_text,
    json_bytes,
    sendable,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import HTTPException
    from fastapi.exceptions import RequestValidationError
    from starlette.requests import Request
    from starlette.types import Scope

_INPUT_CUT = 200
"""How many characters of a refused value an item of a 422 repeats."""
# Replaces the framework's message, which is about its internals.
_NO_OBJECT = "model_attributes_type"
_OBJECT_EXPECTED = "Expected a JSON object, sent with Content-Type: application/json"
# The framework's own errors.
_CODES = {400: "INVALID_INPUT", 404: PATH_NOT_FOUND, 405: "METHOD_NOT_ALLOWED"}
_MESSAGES = {
    400: "The body of the request could not be read as JSON",
    404: NO_SUCH_PATH,
    405: "This path does not support that method; the Allow header names those that it does",
}


def json_response(
    value: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON response from plain values."""
    return Response(json_bytes(value), status, headers, "application/json")


def _code_of(problem: Problem | HTTPException) -> str:
    """The machine-readable code of an error."""
    if isinstance(problem, Problem):
        return problem.code
    return _CODES.get(problem.status_code, "ERROR")


def envelope(problem: Problem | HTTPException, request_id: str) -> Response:
    """The error envelope of a `Problem`, or of an error of the framework."""
    status = problem.status_code
    if isinstance(problem, Problem):
        body = problem.body(request_id)
    else:
        body = envelope_body(_code_of(problem), _MESSAGES.get(status, problem.detail), request_id)
    return Response(body, status, problem.headers, "application/json")


def request_id_of(scope: Scope) -> str:
    """The id of the request, as the guard gave it."""
    return cast("str", scope[REQUEST_ID])


async def on_problem(request: Request, error: Exception) -> Response:
    """Send the envelope of a `Problem` or of an `HTTPException` of the framework."""
    problem = cast("Problem | HTTPException", error)
    request.scope[CODE] = _code_of(problem)
    if problem.status_code == METHOD_NOT_ALLOWED:
        problem.headers = {"Allow": _allowed(request)}
    return envelope(problem, request_id_of(request.scope))


def _allowed(request: Request) -> str:
    """The methods of an address, of all its routes: the framework names those of the first."""
    methods: set[str] = set()
    for route in request.app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            methods |= route.methods or set()
    return ", ".join(sorted(methods))


async def on_invalid_body(_request: Request, error: Exception) -> Response:
    """The 422 of SPEC 4.1, with no more of the caller's input in it than helps."""
    items = cast("RequestValidationError", error).errors()
    return json_response({"detail": [_validation_item(item) for item in items]}, status=422)


def _validation_item(item: Mapping[str, object]) -> dict[str, object]:
    """A fault of a request as it is sent: its place, message, type and the given value, cut."""
    where = cast("tuple[object, ...]", item["loc"])
    described: dict[str, object] = {
        # an unknown field has the caller's own name
        "loc": [given_text(step) if isinstance(step, str) else step for step in where],
        "msg": _OBJECT_EXPECTED if item["type"] == _NO_OBJECT else item["msg"],
        "type": item["type"],
    }
    given = item.get("input")
    if isinstance(given, str):
        described["input"] = sendable(given[:_INPUT_CUT])
    elif isinstance(given, int | float):
        described["input"] = given
    context = item.get("ctx")
    if isinstance(context, dict):
        described["ctx"] = {
            str(name): value if isinstance(value, int) else str(value)
            for name, value in context.items()
        }
    return described
