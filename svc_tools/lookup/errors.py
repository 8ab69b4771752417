"""Errors of the service: which of them end a run, and how they are explained to a user."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from svc_sdk import (
    AuthError,
    ForbiddenError,
    NotFoundError,
    PaymentRequiredError,
    RateLimitError,
    ServiceError,
    SvcError,
    TransportError,
    ValidationError,
)
from svc_tools.display import capital, counted

if TYPE_CHECKING:
    from collections.abc import Mapping

TOO_MANY = 429
SERVER_ERRORS = range(500, 600)
_FATAL = (AuthError, PaymentRequiredError, ForbiddenError)

_OF_SERVICE: Mapping[type[SvcError], tuple[str, str]] = {
    AuthError: (
        "The service does not accept the key",
        "Check the API key and the address of the service, then give the key again.",
    ),
    PaymentRequiredError: (
        "The account has a billing problem",
        "Settle it with the service, then try again: the same request is refused until then.",
    ),
    ForbiddenError: (
        "The account's plan does not include this",
        "Ask for a plan that includes it, or use another account.",
    ),
    NotFoundError: (
        "The service knows no rate for this place",
        "Check state, ZIP Code and city; if they are right, get the rate from the state.",
    ),
    RateLimitError: (
        "The service asks for fewer requests",
        "Wait a moment, then try again.",
    ),
    ValidationError: (
        "The service does not accept the request",
        "Correct what is named, then try again.",
    ),
    ServiceError: (
        "The service has trouble of its own",
        "Try again in a few minutes; if it stays so, quote the reference to support.",
    ),
    TransportError: (
        "The service does not answer",
        "Check its address and the network, then try again.",
    ),
}
_FOREIGN = (
    "The answer is not the service's",
    "Check the address of the service: another program answered, such as a gateway.",
)
_QUOTA = (
    "The account's quota is used up",
    "Wait for the next period, or ask for a larger quota: more requests are refused until then.",
)
_ARGUMENT = re.compile(r"^[a-z_]{2,20}: (?=\S)")


def is_fatal(error: SvcError) -> bool:
    """Whether every further request would be refused too: the key, the plan, the quota."""
    return isinstance(error, _FATAL) or (
        isinstance(error, RateLimitError) and error.error_code == "QUOTA_EXCEEDED"
    )


def is_transient(error: SvcError) -> bool:
    """Whether the same request may succeed later."""
    return error.status_code == TOO_MANY or error.status_code in SERVER_ERRORS


def is_foreign(error: SvcError) -> bool:
    """Whether the response is not the service's: a redirect, a page, an empty body.

    A wrong address, a gateway or a login page respond so. The service explains in JSON what it
    refuses; a 5xx and a 429 need no explanation.
    """
    if error.status_code is None or is_transient(error):
        return False
    explained = error.error_code is not None or isinstance(error.response_body, dict)
    return isinstance(error, ServiceError) or not explained


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error as it is shown to a user.

    Attributes:
        title: what happened, in a few words.
        text: the message, in a sentence.
        what_to_do: what the user can do.
        reference: what to quote to support; `None` where the service gave none.
    """

    title: str
    text: str
    what_to_do: str
    reference: str | None = None


def told_of_service(error: SvcError) -> Trouble:
    """The explanation of a call that failed."""
    title, what_to_do = _OF_SERVICE.get(type(error), _OF_SERVICE[ServiceError])
    if is_foreign(error) and not isinstance(error, AuthError):
        title, what_to_do = _FOREIGN
    elif isinstance(error, RateLimitError):
        if error.error_code == "QUOTA_EXCEEDED":
            title, what_to_do = _QUOTA
        elif error.retry_after:
            seconds = ceil(error.retry_after)
            what_to_do = f"Wait {counted(seconds, 'second')}, then try again."
    facts = [f"status {error.status_code}" if error.status_code is not None else ""]
    facts += [f"after {error.attempts} attempts" if error.attempts > 1 else ""]
    known = ", ".join(fact for fact in facts if fact)
    text = one_line(error.message)
    return Trouble(
        title, f"{text} ({known})" if known else text, what_to_do, error.support_reference
    )


def one_line(text: str) -> str:
    """The message on one line, without the name of an argument before it."""
    return capital(_ARGUMENT.sub("", " ".join(text.split())))
