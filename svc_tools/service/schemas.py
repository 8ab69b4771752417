"""Responses as `/openapi.json` describes them.

No response is built from these models (the part that knows it writes it); the tests hold the two
together. Further fields may come (SPEC 9.5), so every response model allows them.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from svc_tools.service.faults import KINDS
from svc_tools.service.nexus_params import NexusType

_RateText = Annotated[
    str,
    Field(
        pattern=r"^(0|[1-9][0-9]*)\.[0-9]{5}$",
        description="A fraction with exactly five decimals; 0.08250 is 8.25%",
        examples=["0.08250"],
    ),
]
_StateCode = Annotated[str, Field(pattern="^[A-Z]{2}$", examples=["TX"])]
Zip = Annotated[str, Field(pattern="^[0-9]{5}$", examples=["78701"])]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="allow")


class Rate(_Shape):
    """The rate and the place it is for. The five parts add up to `combined_rate` exactly."""

    state: _StateCode
    zip: Zip | None
    city: str | None
    county: str | None
    country: Literal["US"]
    country_rate: _RateText
    state_rate: _RateText
    county_rate: _RateText
    city_rate: _RateText
    combined_district_rate: _RateText
    combined_rate: _RateText
    freight_taxable: bool | None = Field(
        description="Whether separately stated delivery is taxable; null where there is no tax"
    )
    freight_certainty: Literal["two independent sources", "one source", "none"] | None = Field(
        None, description="What the rule of delivery was read in, if not in an official page"
    )


class AnswerWarning(_Shape):
    """An advisory. What `code` it may have and which fields explain it: see the documentation."""

    code: str
    message: str
    share: Annotated[str, Field(pattern=r"^[01]\.[0-9]{4}$")] | None = Field(
        None,
        description="With zip_spans_jurisdictions: the share of the ZIP's housing that has the"
        " rate, where that is known",
    )


class Meta(_Shape):
    """How the rate was found and how far it can be trusted."""

    resolved_via: Literal["address", "zip4", "zip5", "place", "coordinates", "state"]
    confidence: Literal["exact", "high", "medium", "low"]
    effective_date: date | None
    effective_date_basis: Literal["publisher_effective_date", "edition_only", "no_published_date"]
    period: Annotated[str, Field(pattern="^[0-9]{4}[1-4]$")] | None = Field(deprecated=True)
    warnings: list[AnswerWarning]
    source: str
    edition: str


class Candidate(_Shape):
    """One area that was considered; rank 1 is the one in the response."""

    rank: Annotated[int, Field(ge=1)]
    chosen: bool
    name: str | None
    why: str
    share: Annotated[str, Field(pattern=r"^[01]\.[0-9]{4}$")] | None = Field(
        description="Its share of the housing of the ZIP, where that is known"
    )
    state_rate: _RateText
    county_rate: _RateText
    city_rate: _RateText
    combined_district_rate: _RateText
    combined_rate: _RateText


class Component(_Shape):
    """One jurisdiction's part of the rate."""

    level: Literal["state", "county", "city", "district"]
    name: str
    code: str
    rate: _RateText
    effective_date: date | None
    source: str
    edition: str


class DeliveryRule(_Shape):
    """The rule that `freight_taxable` follows on the day."""

    treatment: Literal["follows_goods", "taxable", "exempt_if_separate", "exempt_if_optional"]
    begin: date | None
    end: date | None
    certainty: str
    law: str | None
    source: str
    note: str | None


class ResolvedPlace(_Shape):
    """The place that the lookup led to."""

    state: _StateCode
    zip: Zip | None
    city: str | None
    county: str | None
    as_of: date
    delivery: DeliveryRule | None


class TaxResponse(_Shape):
    """The response to a lookup; the last three fields with `mode=full` only."""

    rate: Rate
    meta: Meta
    candidates: list[Candidate] | None = None
    components: list[Component] | None = None
    resolved_place: ResolvedPlace | None = None


class StateFreshness(_Shape):
    """How old and how complete the data of one state is."""

    state: _StateCode
    name: str
    tier: Literal["A", "B", "C", "D", "E", "none"]
    source: str
    edition: str
    loaded_at: date
    covers: str
    history_from: date | None
    covered_until: date
    confidence: Literal["exact", "high", "medium", "low", "none"]
    missing: str


class BookFreshness(_Shape):
    """The rate book as a whole."""

    edition: str
    digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    loaded_at: date


class Freshness(_Shape):
    """The age and coverage of the data, state by state."""

    book: BookFreshness
    states: list[StateFreshness]


class HealthResponse(_Shape):
    """The service is alive and can serve."""

    status: Literal["ok"]


class NexusRecord(_Shape):
    """A nexus registration, identified by state and type."""

    state: _StateCode
    nexus_type: NexusType
    registered_at: date | None
    address: str | None
    notes: str | None
    created_at: datetime
    updated_at: datetime


class NexusList(_Shape):
    """Nexus registrations of the account, ordered by state, then type."""

    nexus: list[NexusRecord]
    count: Annotated[int, Field(ge=0)]


class NexusRemoval(_Shape):
    """How many records were removed; 0 where there were none."""

    deleted: Annotated[int, Field(ge=0)]
    state: _StateCode
    nexus_type: NexusType | None


class ErrorBody(_Shape):
    """What went wrong: `code` for a program, `message` for a reader, a reference for support."""

    code: Annotated[str, Field(pattern="^[A-Z_]+$")]
    message: str
    support_reference: Annotated[str, Field(pattern="^req_[0-9a-f]{24}$")]
    retry_after_seconds: Annotated[int, Field(ge=1)] | None = None
    detail: dict[str, Any] | None = None


class ErrorEnvelope(_Shape):
    """The body of every error but 422."""

    error: ErrorBody


class ValidationDetail(_Shape):
    """One thing that is wrong with the body or the query string of a request (SPEC 4.1)."""

    loc: list[str | int]
    msg: str
    type: str
    input: Any = None
    ctx: dict[str, Any] | None = None


class HTTPValidationError(BaseModel):
    """The body of a 422."""

    detail: Annotated[list[ValidationDetail], Field(min_length=1)]


Responses = dict[int | str, dict[str, Any]]
_Headers = dict[str, dict[str, Any]]
_COUNT = {"type": "integer", "minimum": 0}
_MEANINGS = {
    400: "MISSING_INPUT, INPUT_CONFLICT or INVALID_INPUT: the message says what is expected",
    401: "UNAUTHORIZED: the API key is missing or not valid",
    402: "BILLING_REQUIRED: the account is past due",
    403: "TIER_INSUFFICIENT: the plan does not include this; on a service for one machine only"
    " also INVALID_HOST and INVALID_ORIGIN",
    404: "STATE_NOT_SUPPORTED, or NOT_FOUND where the place cannot be resolved",
    422: "The input does not have the right shape; each item says where, and what is wrong",
    424: "EXTRA_MISSING: what reads an address or a point is not installed where the service runs",
    429: "RATE_LIMITED, with Retry-After; QUOTA_EXCEEDED, where the month's lookups are used up,"
    " without",
    500: "INTERNAL: the service failed; its log has the reason under the support reference",
    503: "TEMPORARILY_UNAVAILABLE: the rate book or the database cannot be used just now",
}
_OF_ALL = (400, 403, 500, 503)
_OF_KEYED = (401, 402, 429)
_ONLY_ON_PURPOSE = "Only where the service was started to fail on purpose; X-Fault says so"


def _header(description: str, schema: dict[str, Any], *, required: bool = False) -> dict[str, Any]:
    return {"description": description, "schema": schema, "required": required}


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
_ON_PURPOSE = frozenset(int(kind[:3]) for kind in KINDS if kind[:3].isdecimal())


def responses(
    model: type[BaseModel],
    description: str,
    *further: int,
    key: bool = True,
    quota: bool = False,
) -> Responses:
    """The responses of an address: every status, with its headers and body.

    Args:
        model: the body of a 200.
        description: what a 200 means.
        further: statuses beyond those of every such address and those that only a fault on
            purpose (`faults`) can send.
        key: whether it needs an API key.
        quota: whether a monthly quota counts it.
    """
    own = {*_OF_ALL, *further} | (set(_OF_KEYED) if key else set())
    on_purpose = _ON_PURPOSE - own if key else set()
    headers = {**_ALWAYS, **(_LIMITS if key else {}), **(_QUOTA if quota else {})}
    found: Responses = {200: {"model": model, "description": description, "headers": headers}}
    for status in sorted(own | on_purpose):
        found[status] = {
            "model": HTTPValidationError if status == 422 else ErrorEnvelope,  # noqa: PLR2004 - the framework's own status
            "description": _MEANINGS[status] if status in own else _ONLY_ON_PURPOSE,
            "headers": {**headers, **_OWN.get(status, {})},
        }
    return found
