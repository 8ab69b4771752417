"""The shapes that OpenAPI describes and the one body that comes in (SPEC 2.7, WIRE "Errors")."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

__all__ = ["ErrorBody", "ErrorEnvelope", "NexusInput", "error_answers"]

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def _iso_day(value: object) -> object:
    # pydantic alone would also take seconds since 1970 and a date with a time
    if value is None or (isinstance(value, str) and _DATE.fullmatch(value)):
        return value
    raise ValueError("expected a date as YYYY-MM-DD, such as 2026-07-01")


class NexusInput(BaseModel):
    """A nexus record to add or update; a field that is left out stays as it was."""

    # A misspelt field would be silently lost, and with it what the caller wanted to keep.
    model_config = ConfigDict(extra="forbid")

    state: str
    nexus_type: str = "physical"
    registered_at: Annotated[date | None, BeforeValidator(_iso_day)] = None
    address: Annotated[str | None, Field(max_length=500, pattern=r"^[^\x00]*$")] = None
    notes: Annotated[str | None, Field(max_length=4000, pattern=r"^[^\x00]*$")] = None

    def given_fields(self) -> dict[str, str | None]:
        """The fields that the caller gave, beyond those that identify the record."""
        given = self.model_dump(mode="json", exclude_unset=True)
        return {
            name: given[name] for name in ("registered_at", "address", "notes") if name in given
        }


class ErrorBody(BaseModel):
    """What went wrong: for a program (`code`), for a person, and for a question about it."""

    code: str
    message: str
    support_reference: str
    retry_after_seconds: int | None = None
    detail: dict[str, Any] | None = None


class ErrorEnvelope(BaseModel):
    """The body of every error but 422."""

    error: ErrorBody


_MEANINGS = {
    400: "The request is invalid: MISSING_INPUT, INPUT_CONFLICT or INVALID_INPUT",
    401: "The API key is missing or not valid",
    403: "The request names a host or origin that is not this machine",
    404: "STATE_NOT_SUPPORTED, or NOT_FOUND where the place cannot be resolved",
    500: "The service failed",
    503: "The database is locked; try again after Retry-After",
}


def error_answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error answers that an address can give, by status, for OpenAPI."""
    return {
        status: {"model": ErrorEnvelope, "description": _MEANINGS[status]} for status in statuses
    }
