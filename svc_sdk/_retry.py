"""When to try again, and after how long (SPEC 7.2 and 8). Pure."""

from __future__ import annotations

from svc_sdk._responses import Failure, Reply

_FIRST_WAIT = 0.5
_LONGEST_BACKOFF = 30.0
_TOO_MANY_REQUESTS = 429
_SERVER_ERRORS = range(500, 600)


def decide(attempt: int, max_retries: int, outcome: Reply | Failure) -> float | None:
    """The seconds to wait before the next try, or `None` to stop with what there is.

    Args:
        attempt: 0 for the first request.
        max_retries: how many further requests are allowed.
        outcome: what the request brought.
    """
    if attempt >= max_retries:
        return None
    if isinstance(outcome, Failure):
        return backoff(attempt) if outcome.retryable else None
    if outcome.status != _TOO_MANY_REQUESTS and outcome.status not in _SERVER_ERRORS:
        return None
    return backoff(attempt) if outcome.retry_after is None else outcome.retry_after


def backoff(attempt: int) -> float:
    """0.5, 1, 2, 4, 8, 16, then 30 seconds (SPEC 8)."""
    # the cap is reached at the sixth retry: no power of a large attempt is ever built
    return min(2.0 ** min(attempt, 10) * _FIRST_WAIT, _LONGEST_BACKOFF)
