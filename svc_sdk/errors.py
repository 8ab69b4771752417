"""The errors of a call, as one tree (SPEC 7).

- SvcError                  every failure of a call; a status that SPEC 7 does not name
    - ValidationError       400, 422: the request is invalid (`detail` for 422)
    - AuthError             401: invalid or missing API key
    - PaymentRequiredError  402: billing or subscription
    - ForbiddenError        403: the plan lacks the feature
    - NotFoundError         404: the place could not be resolved
    - RateLimitError        429: too many requests, or a quota used up (`retry_after`)
    - ServiceError          5xx, or a 200 whose body is not what SPEC 2 describes
    - TransportError        no response: a timeout, no connection, a broken one

The HTTP status alone decides the class. Errors pickle, and never hold the API key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svc_sdk.models import ValidationDetail

__all__ = [
    "AuthError",
    "ForbiddenError",
    "NotFoundError",
    "PaymentRequiredError",
    "RateLimitError",
    "ServiceError",
    "SvcError",
    "TransportError",
    "ValidationError",
]


class SvcError(Exception):
    """A call that failed (SPEC 7).

    Attributes:
        message: what happened, in a sentence.
        status_code: the HTTP status, `None` where no response came.
        error_code: the service's machine-readable code, such as `NOT_FOUND`, or `None`.
        support_reference: to be quoted to support: the body's, else the `X-Request-Id` header.
        response_body: the parsed JSON body, else its text (cut), else `None`.
        detail: the items of a 422 body (SPEC 4.1), otherwise empty.
        retry_after: seconds to wait, where the service gave them (429 and 5xx), else `None`.
        attempts: how many requests were sent, retries included.
    """

    def __init__(
        self,
        message: str,
        *,
        status_code: int | None = None,
        error_code: str | None = None,
        support_reference: str | None = None,
        response_body: object = None,
        detail: tuple[ValidationDetail, ...] = (),
        retry_after: float | None = None,
        attempts: int = 1,
    ) -> None:
        """Keep what is known of the failure; everything but the message is optional."""
        super().__init__(message)
        self.message = message
        self.status_code = status_code
        self.error_code = error_code
        self.support_reference = support_reference
        self.response_body: Any = response_body
        self.detail = detail
        self.retry_after = retry_after
        self.attempts = attempts

    def __str__(self) -> str:
        """The message, then what support and a log need: status, code, reference, attempts."""
        facts = [
            f"status {self.status_code}" if self.status_code is not None else "",
            self.error_code or "",
            f"support reference {self.support_reference}" if self.support_reference else "",
            f"after {self.attempts} attempts" if self.attempts > 1 else "1 attempt",
        ]
        return f"{self.message} ({', '.join(fact for fact in facts if fact)})"


class ValidationError(SvcError):
    """400 or 422: the request is invalid; for 422 `detail` holds the items (SPEC 4.1)."""


class AuthError(SvcError):
    """401: the API key is missing or invalid (SPEC 5)."""


class PaymentRequiredError(SvcError):
    """402: a billing or subscription problem (SPEC 5)."""


class ForbiddenError(SvcError):
    """403: the plan does not include the feature (SPEC 5)."""


class NotFoundError(SvcError):
    """404: the address, ZIP, place or point could not be resolved."""


class RateLimitError(SvcError):
    """429: rate limited, or a quota used up; `retry_after` in seconds, or `None`."""


class ServiceError(SvcError):
    """5xx, or a 200 whose body is not what the specification describes."""


class TransportError(SvcError):
    """No usable response: a timeout, no connection, or one that broke."""
