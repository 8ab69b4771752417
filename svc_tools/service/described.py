"""The answers of each address for `/openapi.json`: every status, with its headers and body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from svc_tools.service.answer_shapes import ErrorEnvelope, HTTPValidationError
from svc_tools.service.faults import KINDS

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = ["Responses", "answers", "keyed_answers"]

Responses = dict[int | str, dict[str, Any]]

_Headers = dict[str, dict[str, Any]]


def _header(description: str, schema: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    return {"description": description, "schema": schema, "required": required}


_COUNT = {"type": "integer", "minimum": 0}

_ALWAYS: _Headers = {
    "X-Request-Id": _header(
        "Names this request in the service's log; in errors it is the support reference too",
        {"type": "string", "pattern": "^req_[0-9a-f]{24}$"},
        required=True,
    )
}
_LIMITS: _Headers = {
    "RateLimit-Limit": _header("How many requests may come at once; keys with a limit", _COUNT),
    "RateLimit-Remaining": _header("How many more may come at once; keys with a limit", _COUNT),
    "RateLimit-Reset": _header("Seconds until as many as at first may come at once", _COUNT),
    "X-Fault": _header("The kind of fault, where the service fails on purpose", {"type": "string"}),
}
_QUOTA: _Headers = {
    "X-Quota-Limit": _header("The lookups of a month; keys with a quota", _COUNT),
    "X-Quota-Remaining": _header("How many of them are left; keys with a quota", _COUNT),
}
_RETRY_AFTER = _header("Seconds until trying again makes sense", {"type": "integer", "minimum": 1})

_OWN: dict[int, _Headers] = {
    401: {
        "WWW-Authenticate": _header("How keys travel", {"type": "string"}, required=True),
    },
    429: {"Retry-After": _RETRY_AFTER},
    503: {"Retry-After": {**_RETRY_AFTER, "required": True}},
}

_MEANINGS = {
    400: "MISSING_INPUT, INPUT_CONFLICT or INVALID_INPUT: the message says what is expected",
    401: "UNAUTHORIZED: the API key is missing or not valid",
    402: "BILLING_REQUIRED: the account is past due",
    403: "TIER_INSUFFICIENT: the plan does not include this; on a service for one machine only"
    " also INVALID_HOST and INVALID_ORIGIN",
    404: "STATE_NOT_SUPPORTED, or NOT_FOUND where the place cannot be resolved",
    408: "REQUEST_TIMEOUT: the request took too long to arrive",
    422: "The input does not have the right shape; each item says where, and what is wrong",
    429: "RATE_LIMITED, with Retry-After; QUOTA_EXCEEDED, where the month's lookups are used up,"
    " without",
    500: "INTERNAL: the service failed; its log has the reason under the support reference",
    503: "TEMPORARILY_UNAVAILABLE: the rate book or the database cannot be used just now",
}

_OF_ALL = (400, 403, 500, 503)
_OF_KEYED = (401, 402, 429)
_ON_PURPOSE = frozenset(int(kind[:3]) for kind in KINDS if kind[:3].isdecimal())
_ONLY_ON_PURPOSE = "Only where the service was started to fail on purpose; X-Fault says so"


def answers(model: type[BaseModel], description: str, *further: int) -> Responses:
    """The answers of an address that needs no key.

    Args:
        model: the shape of the body of a 200.
        description: what a 200 means.
        further: the statuses that it has beside those that every address has.
    """
    return _responses(model, description, {*_OF_ALL, *further}, {})


def keyed_answers(
    model: type[BaseModel], description: str, *further: int, quota: bool = False
) -> Responses:
    """The answers of an address that needs a key, with what they say of its limits.

    Args:
        model: the shape of the body of a 200.
        description: what a 200 means.
        further: the statuses that it has beside those that every such address has. Those that
            only a fault on purpose (`faults`) can send are added by themselves.
        quota: whether a monthly quota counts it.
    """
    limits = {**_LIMITS, **_QUOTA} if quota else _LIMITS
    own = {*_OF_ALL, *_OF_KEYED, *further}
    return _responses(model, description, own, limits, _ON_PURPOSE - own)


def _responses(
    model: type[BaseModel],
    description: str,
    own: set[int],
    limits: _Headers,
    on_purpose: frozenset[int] = frozenset(),
) -> Responses:
    found: Responses = {
        200: {"model": model, "description": description, "headers": {**_ALWAYS, **limits}}
    }
    for status in sorted(own | on_purpose):
        found[status] = {
            "model": HTTPValidationError if status == 422 else ErrorEnvelope,  # noqa: PLR2004 - the framework's own status
            "description": _MEANINGS[status] if status in own else _ONLY_ON_PURPOSE,
            "headers": {**_ALWAYS, **_OWN.get(status, {}), **limits},
        }
    return found
