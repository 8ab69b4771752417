"""Response bodies and the log of errors: the error envelope of WIRE "Errors", the 422 of SPEC 4.1.

The log has one line for each error: the method, the path, the status, the code and the request id,
which is the error's support reference. It never has what the caller sent: no key, no query string,
no body, and of paths only those of the API.
"""

from __future__ import annotations

import logging
import re
import secrets
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from fastapi import HTTPException
from pydantic_core import to_json
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.status import HTTP_405_METHOD_NOT_ALLOWED as METHOD_NOT_ALLOWED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fastapi.exceptions import RequestValidationError
    from starlette.requests import Request
    from starlette.types import Scope

REQUEST_ID = "svc.request_id"
CODE = "svc.code"
"""The keys of the ASGI scope for a request's id and for its error code."""

log = logging.getLogger("svc_tools.service")

WWW_AUTHENTICATE = {"WWW-Authenticate": 'Bearer realm="svc"'}
"""The header of every 401."""
_GIVEN_CUT = 80
_INPUT_CUT = 200
"""How many characters of a refused value a message, or an item of a 422, repeats."""
# Replaces the framework's message, which is about its internals.
_NO_OBJECT = "model_attributes_type"
_OBJECT_EXPECTED = "Expected a JSON object, sent with Content-Type: application/json"
# The framework's own errors.
_CODES = {400: "INVALID_INPUT", 404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED"}
_MESSAGES = {
    400: "The body of the request could not be read as JSON",
    404: "This address does not exist; /openapi.json lists those that do",
    405: "This address does not support that method; the Allow header names those that it does",
}


class Problem(HTTPException):
    """An error response: raised anywhere in a request, sent as the envelope.

    Args:
        status: the HTTP status.
        code: the machine-readable code of WIRE "Errors".
        message: what was given, what is expected, what to do.
        extra: fields for a program, sent as `detail`.
        headers: headers of the response.
        retry_after: seconds after which trying again makes sense; sent in header and body.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        extra: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
        retry_after: int | None = None,
    ) -> None:
        sent = dict(headers or {})
        if retry_after is not None:
            sent["Retry-After"] = str(retry_after)
        super().__init__(status, message, sent)
        self.code = code
        self.extra = extra
        self.retry_after = retry_after


def invalid(name: str, given: str, expected: str) -> Problem:
    """The 400 for an invalid value: the parameter, what was given, what is expected."""
    repeated = shown(given)
    return Problem(
        400,
        "INVALID_INPUT",
        f"{name}: given {repeated!r}, expected {expected}",
        extra={"parameter": name, "given": repeated, "expected": expected},
    )


def shown(given: str) -> str:
    """A given value as an error message repeats it: cut, and without lone surrogates."""
    return _sendable(given if len(given) <= _GIVEN_CUT else f"{given[:_GIVEN_CUT]}…")


def json_bytes(value: object) -> bytes:
    """Plain values as JSON; a float that JSON does not have (NaN, infinity) becomes null."""
    return to_json(value, inf_nan_mode="null")


def json_response(
    value: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON response from plain values."""
    return Response(json_bytes(value), status, headers, "application/json")


def _code_of(problem: HTTPException) -> str:
    """The machine-readable code of an error."""
    if isinstance(problem, Problem):
        return problem.code
    return _CODES.get(problem.status_code, "ERROR")


def envelope(problem: HTTPException, request_id: str) -> Response:
    """The error envelope of a `Problem`, or of an error of the framework."""
    status = problem.status_code
    error: dict[str, object] = {
        "code": _code_of(problem),
        "message": _MESSAGES.get(status, problem.detail),
        "support_reference": request_id,
    }
    if isinstance(problem, Problem):
        error["message"] = problem.detail
        if problem.retry_after is not None:
            error["retry_after_seconds"] = problem.retry_after
        if problem.extra:
            error["detail"] = dict(problem.extra)
    return json_response({"error": error}, status=status, headers=problem.headers)


def new_request_id() -> str:
    """An unguessable id for one request, which a caller can quote to the operator."""
    return f"req_{secrets.token_hex(12)}"


def request_id_of(scope: Scope) -> str:
    """The id of the request, as the guard gave it."""
    return cast("str", scope[REQUEST_ID])


async def on_problem(request: Request, error: Exception) -> Response:
    """Send the envelope of a `Problem` or of an `HTTPException` of the framework."""
    problem = cast("HTTPException", error)
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


def _sendable(text: str) -> str:
    """The text without lone surrogates: a JSON body can name them, UTF-8 cannot carry them."""
    return text.encode(errors="replace").decode()


def _validation_item(item: Mapping[str, object]) -> dict[str, object]:
    where = cast("tuple[object, ...]", item["loc"])
    described: dict[str, object] = {
        # an unknown field has the caller's own name
        "loc": [shown(step) if isinstance(step, str) else step for step in where],
        "msg": _OBJECT_EXPECTED if item["type"] == _NO_OBJECT else item["msg"],
        "type": item["type"],
    }
    given = item.get("input")
    if isinstance(given, str):
        described["input"] = _sendable(given[:_INPUT_CUT])
    elif isinstance(given, int | float):
        described["input"] = given
    context = item.get("ctx")
    if isinstance(context, dict):
        described["ctx"] = {
            str(name): value if isinstance(value, int) else str(value)
            for name, value in context.items()
        }
    return described


_API = re.compile(
    r"/healthz|/openapi\.json|/v1/freshness|/v1/portability/nexus"
    r"|/v1/(?:tax|portability/nexus)/[A-Za-z]{2}"
)


def loggable_address(scope: Scope) -> str:
    """The method and path of a request; a path outside of the API may hold anything: left out."""
    path = scope["path"]
    return f"{scope['method']} {path if _API.fullmatch(path) else '(another address)'}"


def log_error(scope: Scope, status: int, request_id: str) -> None:
    """Log an error response: the caller's errors (4xx) at INFO, the service's (5xx) at WARNING."""
    level = logging.WARNING if status // 100 == 5 else logging.INFO  # noqa: PLR2004 - 5xx
    if log.isEnabledFor(level):
        code = scope.get(CODE) or "-"
        log.log(level, "%s: %d %s [%s]", loggable_address(scope), status, code, request_id)


def log_to_stderr() -> logging.Handler:
    """Write this process's log to stderr, callers' errors too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    return handler


@contextmanager
def logged_to_stderr() -> Iterator[None]:
    """`log_to_stderr`, while this process is the service."""
    level = log.level
    handler = log_to_stderr()
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
