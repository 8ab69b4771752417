"""Why a run ends before every place was asked for. Pure."""

from __future__ import annotations

from svc_sdk import (
    AuthError,
    ForbiddenError,
    PaymentRequiredError,
    RateLimitError,
    ServiceError,
    SvcError,
    TransportError,
)

__all__ = [
    "SERVER_ERRORS",
    "STOPPED",
    "TOO_MANY",
    "Health",
    "is_fatal",
    "is_foreign",
    "is_transient",
]

STOPPED = "it was stopped"
"""Why a run ended that somebody stopped through its event."""


_NEVER_REACHED = 8
"""How many failures mean that a service that never answered is not there."""
_GIVE_UP = 40
"""How many failures in a row, retries spent, mean that a service that did answer is gone."""
_DOUBTFUL = 32
"""How many requests in a row may go wrong before no further places are begun for now."""

TOO_MANY = 429
SERVER_ERRORS = range(500, 600)

_FATAL = (AuthError, PaymentRequiredError, ForbiddenError)


def is_fatal(error: SvcError) -> bool:
    """Whether every further request would be refused too: the key, the plan, the quota."""
    return isinstance(error, _FATAL) or (
        isinstance(error, RateLimitError) and error.error_code == "QUOTA_EXCEEDED"
    )


def is_transient(error: SvcError) -> bool:
    """Whether the same request may be answered some time later."""
    return error.status_code == TOO_MANY or error.status_code in SERVER_ERRORS


def is_foreign(error: SvcError) -> bool:
    """Whether an answer came that is not the service's: a redirect, a page, nothing at all.

    So answer a wrong address, a gateway, a login page. What the service refuses, it explains in
    JSON; a 5xx and a 429 need no explanation.
    """
    if error.status_code is None or is_transient(error):
        return False
    explained = error.error_code is not None or isinstance(error.response_body, dict)
    return isinstance(error, ServiceError) or not explained


class Health:
    """Whether the service is worth asking."""

    def __init__(self) -> None:
        self._alive = False
        self._bad_requests = 0
        self._failures = 0
        self._unreadable = 0

    @property
    def good(self) -> bool:
        """Whether new places may be begun while others wait for their next try."""
        return self._alive and self._bad_requests < _DOUBTFUL

    def answered(self) -> None:
        """The service answered, be it to say that it does not know a place."""
        self._alive = True
        self._bad_requests = 0
        self._failures = 0

    def read(self, *, usable: bool) -> bool:
        """An answer was, or was not, one of the service's; whether too many in a row were not.

        Apart from the rest, because good answers are read later than they come.
        """
        self._unreadable = 0 if usable else self._unreadable + 1
        return self._unreadable >= _GIVE_UP

    def troubled(self) -> None:
        """A request went wrong, and may be tried again."""
        self._bad_requests += 1

    def is_gone(self, error: SvcError) -> bool:
        """Whether it has failed so many places in a row that it will fail the rest."""
        if not isinstance(error, TransportError | ServiceError | RateLimitError):
            self.answered()
            return False
        self._failures += 1
        return self._failures >= (_GIVE_UP if self._alive else _NEVER_REACHED)
