"""The one body that comes in: a nexus record (SPEC 2.7)."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from svc_tools.service.states import NEXUS_TYPE, STATE

if TYPE_CHECKING:
    from pydantic.config import JsonDict

__all__ = ["NexusInput"]

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_EXAMPLE: JsonDict = {"state": "TX", "nexus_type": "economic", "registered_at": "2024-07-01"}


def _iso_day(value: object) -> object:
    # pydantic alone would also take seconds since 1970 and a date with a time
    if value is None or (isinstance(value, str) and _DATE.fullmatch(value)):
        return value
    raise ValueError("expected a date as YYYY-MM-DD, such as 2026-07-01")


class NexusInput(BaseModel):
    """A nexus record to add or update; a field that is left out stays as it was."""

    # A misspelt field would be silently lost, and with it what the caller wanted to keep.
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    # which codes and types there are is judged with a message of ours, as in a query string
    state: Annotated[str, Field(json_schema_extra=STATE.described)]
    nexus_type: Annotated[str, Field(json_schema_extra=NEXUS_TYPE.described)] = "physical"
    registered_at: Annotated[date | None, BeforeValidator(_iso_day)] = None
    address: Annotated[str | None, Field(max_length=500, pattern=r"^[^\x00]*$")] = None
    notes: Annotated[str | None, Field(max_length=4000, pattern=r"^[^\x00]*$")] = None

    def given_fields(self) -> dict[str, str | None]:
        """The fields that the caller gave, beyond those that identify the record."""
        given = self.model_dump(mode="json", exclude_unset=True)
        return {
            name: given[name] for name in ("registered_at", "address", "notes") if name in given
        }
