"""What answers look like, for `/openapi.json` (SPEC 2): as narrow as the service keeps to.

Nothing is built from these: an answer is written by the part that knows it. Further fields may
come (SPEC 9.5), so every shape allows them.
"""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "ErrorEnvelope",
    "Freshness",
    "HTTPValidationError",
    "HealthResponse",
    "NexusList",
    "NexusRecord",
    "NexusRemoval",
    "TaxResponse",
]

RateText = Annotated[
    str,
    Field(
        pattern=r"^(0|[1-9][0-9]*)\.[0-9]{5}$",
        description="A fraction with exactly five decimals; 0.08250 is 8.25 %",
        examples=["0.08250"],
    ),
]
StateCode = Annotated[str, Field(pattern="^[A-Z]{2}$", examples=["TX"])]
Zip = Annotated[str, Field(pattern="^[0-9]{5}$", examples=["78701"])]
Confidence = Literal["exact", "high", "medium", "low"]
NexusType = Literal["economic", "marketplace", "physical"]


class _Shape(BaseModel):
    model_config = ConfigDict(extra="allow")


class Rate(_Shape):
    """The rate and the place it is for. The five parts add up to `combined_rate` exactly."""

    state: StateCode
    zip: Zip | None
    city: str | None
    county: str | None
    country: Literal["US"]
    country_rate: RateText
    state_rate: RateText
    county_rate: RateText
    city_rate: RateText
    combined_district_rate: RateText
    combined_rate: RateText
    freight_taxable: bool | None = Field(
        description="Whether separately stated delivery is taxable; null where there is no tax"
    )


class AnswerWarning(_Shape):
    """An advisory. What `code` it may have and which fields explain it: see the documentation."""

    code: str
    message: str


class Meta(_Shape):
    """How the rate was found and how far it can be trusted."""

    resolved_via: Literal["address", "zip4", "zip5", "place", "coordinates", "state"]
    confidence: Confidence
    effective_date: date | None
    effective_date_basis: Literal["publisher_effective_date", "edition_only", "no_published_date"]
    period: Annotated[str, Field(pattern="^[0-9]{4}[1-4]$")] | None = Field(deprecated=True)
    warnings: list[AnswerWarning]
    source: str
    edition: str


class Candidate(_Shape):
    """One area that was considered; rank 1 is the one that is answered."""

    rank: Annotated[int, Field(ge=1)]
    chosen: bool
    name: str | None
    why: str
    state_rate: RateText
    county_rate: RateText
    city_rate: RateText
    combined_district_rate: RateText
    combined_rate: RateText


class Component(_Shape):
    """One jurisdiction's part of the rate."""

    level: Literal["state", "county", "city", "district"]
    name: str
    code: str
    rate: RateText
    effective_date: date | None
    source: str
    edition: str


class ResolvedPlace(_Shape):
    """The place that the lookup led to."""

    state: StateCode
    zip: Zip | None
    city: str | None
    county: str | None
    as_of: date


class TaxResponse(_Shape):
    """The answer to a lookup; the last three fields with `mode=full` only."""

    rate: Rate
    meta: Meta
    candidates: list[Candidate] | None = None
    components: list[Component] | None = None
    resolved_place: ResolvedPlace | None = None


class StateFreshness(_Shape):
    """How old and how complete the data of one state is."""

    state: StateCode
    name: str
    tier: Literal["A", "B", "C", "D", "E", "none"]
    source: str
    edition: str
    loaded_at: date
    covers: str
    history_from: date
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

    state: StateCode
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
    state: StateCode
    nexus_type: NexusType | None


class ErrorBody(_Shape):
    """What went wrong: for a program (`code`), for a person, and for a question about it."""

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
