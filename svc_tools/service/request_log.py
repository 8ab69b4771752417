"""What the log says about requests: one line for each error, found by its request id.

A line names the address, the status, the code and the request id, and nothing that the caller
sent: no key, no query string, no body, and of the path only what is ours.
"""

from __future__ import annotations

import logging
import re
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Scope

__all__ = ["CODE", "log", "log_answer", "log_to_stderr", "logged_to_stderr", "told_address"]

CODE = "svc.code"
"""The key of the ASGI scope under which the error code of an answer stands."""

log = logging.getLogger("svc_tools.service")

_OURS = re.compile(
    r"/healthz|/openapi\.json|/v1/freshness|/v1/portability/nexus"
    r"|/v1/(?:tax|portability/nexus)/[A-Za-z]{2}"
)
_FORMAT = "%(asctime)s %(levelname)s %(message)s"
_LAST_CLIENT_ERROR = 499


def told_address(scope: Scope) -> str:
    """The method and path of a request; a path that is not ours may hold anything: not told."""
    path = scope["path"]
    return f"{scope['method']} {path if _OURS.fullmatch(path) else '(another address)'}"


def log_answer(scope: Scope, status: int, request_id: str) -> None:
    """Note an answer that is an error: the caller's at INFO, ours at WARNING."""
    level = logging.INFO if status <= _LAST_CLIENT_ERROR else logging.WARNING
    if log.isEnabledFor(level):
        code = scope.get(CODE) or "-"
        log.log(level, "%s: %d %s [%s]", told_address(scope), status, code, request_id)


def log_to_stderr() -> logging.Handler:
    """Write what this process notes to stderr, callers' errors too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(_FORMAT))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    return handler


@contextmanager
def logged_to_stderr() -> Iterator[None]:
    """While this process is the service, `log_to_stderr`."""
    level = log.level
    handler = log_to_stderr()
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)
