"""Errors of the service as users read them: their kind, what to do, and alike ones counted."""

from __future__ import annotations

import re
from collections import Counter
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
from svc_tools.base.extras import EXTRA_MISSING, NOT_STARTED
from svc_tools.config import WrongAddressError
from svc_tools.show.codes import CODES
from svc_tools.show.display import capital, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TOO_MANY = 429
SERVER_ERRORS = range(500, 600)
_FATAL = (AuthError, PaymentRequiredError, ForbiddenError)

_CODES: Mapping[type[SvcError], str] = {
    AuthError: "unauthorized",
    PaymentRequiredError: "payment_required",
    ForbiddenError: "forbidden",
    NotFoundError: "not_found",
    RateLimitError: "too_many_requests",
    ValidationError: "invalid_request",
    TransportError: "no_connection",
}
_OF_EMBEDDED = {EXTRA_MISSING: "extra_missing", NOT_STARTED: "not_started"}


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


_ARGUMENT = re.compile(r"^[a-z_]{2,20}: (?=\S)")


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


def _code_of_error(error: SvcError) -> str:
    """The code of an error of the service in `svc_tools.show.codes`."""
    if isinstance(error, WrongAddressError):
        return "wrong_address"
    if is_foreign(error) and not isinstance(error, AuthError):
        return "not_the_service"
    if isinstance(error, RateLimitError) and error.error_code == "QUOTA_EXCEEDED":
        return "quota_exceeded"
    if error.error_code in _OF_EMBEDDED:
        return _OF_EMBEDDED[error.error_code]
    return _CODES.get(type(error), "service_error")


def explained(error: SvcError) -> Trouble:
    """The explanation of a call that failed."""
    code = _code_of_error(error)
    title, what_to_do = CODES[code].meaning, CODES[code].to_do
    if code == "too_many_requests" and isinstance(error, RateLimitError) and error.retry_after:
        what_to_do = f"Wait {counted(ceil(error.retry_after), 'second')}, then try again."
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


_VALUE = re.compile(
    r"""^((?:\w+: )?)('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<=: )-?\d[\d.]*(?![\w.]))"""
)
"""The cell that a reason quotes: a text, or a number as in `lat: 91.5 is not within -90`."""


def counted_alike(reasons: Iterable[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Group reasons that differ only in the value they quote; the most frequent first.

    A column of dates in another format would otherwise be as many reasons as it has dates.

    Args:
        reasons: status, reason and number of rows.

    Returns:
        The same; the most frequent reason of a group stands for all, with the number of other
        values.
    """
    rows: Counter[tuple[str, str]] = Counter()
    values: Counter[tuple[str, str]] = Counter()
    shown: dict[tuple[str, str], tuple[int, str]] = {}
    for status, reason, count in reasons:
        kind = status, _without_value(reason)
        rows[kind] += count
        values[kind] += 1
        if kind not in shown or count > shown[kind][0]:
            shown[kind] = count, reason
    return [
        (kind[0], _with_others(shown[kind][1], values[kind] - 1), count)
        for kind, count in rows.most_common()
    ]


def _without_value(reason: str) -> str:
    """A reason without the cell that it quotes, and without that number with its lost zeros."""
    found = _VALUE.match(reason)
    if found is None:
        return reason
    digits = found[2].strip("'\"")
    rest = reason[found.end() :]
    return found[1] + (re.sub(rf"\b0+{digits}\b", "", rest) if digits.isdecimal() else rest)


def _with_others(reason: str, others: int) -> str:
    if not others:
        return reason
    value = "value" if others == 1 else "values"
    return _VALUE.sub(lambda found: f"{found[0]} (and {others:,} other {value})", reason)
