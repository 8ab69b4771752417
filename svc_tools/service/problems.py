"""Error responses as values: what went wrong with a request, its envelope, and the log of errors.

The log has one line for each error: the method, the path, the status, the code and the request id,
which is the error's support reference. It never has what the caller sent: no key, no query string,
no body, and of paths only those of the API. Nothing here needs the web framework.
"""

from __future__ import annotations

import logging
import re
import secrets
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from svc_tools.base.extras import EXTRA_MISSING, MissingExtraError
from svc_tools.service.errors import (
    BookUnavailableError,
    StoreBusyError,
    StoreUnavailableError,
)
from svc_tools.service.ratebook.own import OwnBookChanged, OwnBookError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping

REQUEST_ID = "svc.request_id"
CODE = "svc.code"
"""The keys of the ASGI scope for a request's id and for its error code."""

log = logging.getLogger("svc_tools.service")

WWW_AUTHENTICATE = {"WWW-Authenticate": 'Bearer realm="svc"'}
"""The header of every 401."""
_GIVEN_CUT = 80
"""How many characters of a refused value a message repeats."""
_UNAVAILABLE = {
    "book": "The rate book cannot be read just now",
    "database": "The database cannot be used just now",
}


class Problem(Exception):  # noqa: N818 - named after the term of HTTP
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
        """Store the parts of the response; `retry_after` is also a header of it."""
        super().__init__(message)
        self.status_code = status
        self.code = code
        self.detail = message
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.headers["Retry-After"] = str(retry_after)
        self.extra = extra
        self.retry_after = retry_after

    def body(self, request_id: str) -> bytes:
        """The error envelope, as JSON."""
        return envelope_body(
            self.code, self.detail, request_id, retry_after=self.retry_after, extra=self.extra
        )


def envelope_body(
    code: str,
    message: str,
    request_id: str,
    *,
    retry_after: int | None = None,
    extra: Mapping[str, object] | None = None,
) -> bytes:
    """The error envelope of WIRE "Errors", as JSON."""
    error: dict[str, object] = {"code": code, "message": message, "support_reference": request_id}
    if retry_after is not None:
        error["retry_after_seconds"] = retry_after
    if extra:
        error["detail"] = dict(extra)
    return json_bytes({"error": error})


def invalid(name: str, given: str, expected: str) -> Problem:
    """The 400 for an invalid value: the parameter, what was given, what is expected."""
    repeated = given_text(given)
    return Problem(
        400,
        "INVALID_INPUT",
        f"{name}: given {repeated!r}, expected {expected}",
        extra={"parameter": name, "given": repeated, "expected": expected},
    )


def unavailable(*parts: str) -> Problem:
    """The 503 while parts of the service cannot be used: `book`, `database`."""
    reasons = "; ".join(_UNAVAILABLE[part] for part in parts)
    return Problem(
        503,
        "TEMPORARILY_UNAVAILABLE",
        f"{reasons}; it recovers without a restart",
        extra={"unavailable": list(parts)},
        retry_after=5,
    )


PATH_NOT_FOUND = "PATH_NOT_FOUND"
NO_SUCH_PATH = "The service has no such path; /openapi.json lists those that it has"


def as_problem(error: BaseException) -> Problem:
    """The error response for an exception."""
    match error:
        case Problem():
            return error
        case StoreUnavailableError():
            return unavailable("database")
        case MissingExtraError():  # another try is of no use, and the place is not at fault
            return Problem(424, EXTRA_MISSING, str(error), extra={"extra": error.extra})
        case BookUnavailableError() | OwnBookError() | OwnBookChanged():
            return unavailable("book")
        case BaseException() if not isinstance(error, Exception):  # the server is stopping
            message = "The service is stopping, and did not finish this request; try again later"
        case StoreBusyError():
            message = "The database is locked by another process; try again"
        case _:
            return Problem(
                500,
                "INTERNAL",
                "The service failed on this request; its log has the reason under the support"
                " reference",
            )
    return Problem(503, "TEMPORARILY_UNAVAILABLE", message, retry_after=1)


def given_text(given: str) -> str:
    """A given value as an error message repeats it: cut, and without lone surrogates."""
    return sendable(given if len(given) <= _GIVEN_CUT else f"{given[:_GIVEN_CUT]}…")


def json_bytes(value: object) -> bytes:
    """Plain values as JSON; a float that JSON does not have (NaN, infinity) becomes null."""
    return to_json(value, inf_nan_mode="null")


def new_request_id() -> str:
    """An unguessable id for one request, which a caller can quote to the operator."""
    return f"req_{secrets.token_hex(12)}"


def sendable(text: str) -> str:
    """The text without lone surrogates: a JSON body can name them, UTF-8 cannot carry them."""
    return text.encode(errors="replace").decode()


_API = re.compile(
    r"/healthz|/openapi\.json|/v1/freshness|/v1/portability/nexus"
    r"|/v1/(?:tax|portability/nexus)/[A-Za-z]{2}"
)


def loggable_address(scope: MutableMapping[str, Any]) -> str:
    """The method and path of a request; a path outside of the API may hold anything: left out."""
    path = scope["path"]
    return f"{scope['method']} {path if _API.fullmatch(path) else '(another address)'}"


def log_error(scope: MutableMapping[str, Any], status: int, request_id: str) -> None:
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
