"""The parameters and the body of requests about nexus records, as pydantic models."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from svc_tools.service.params import STATES, Omittable, date_text, field_schemas

NEXUS_TYPES = ("economic", "marketplace", "physical")
_EITHER_CASE = "|".join(
    "".join(f"[{letter}{letter.lower()}]" for letter in code) for code in STATES
)
_State = Annotated[
    str,
    Field(
        pattern=f"^({_EITHER_CASE})$",
        description=f"the two-letter code of a state, one of {', '.join(STATES)}",
        examples=["TX"],
    ),
    AfterValidator(str.upper),
]
NexusType = Literal["economic", "marketplace", "physical"]
_NexusType = Annotated[NexusType, Field(description=f"one of {', '.join(NEXUS_TYPES)}")]


class NexusParams(BaseModel):
    """The state and the type of nexus records, from a path, a query string or a body."""

    state: _State | Omittable = None
    nexus_type: _NexusType | Omittable = None


class NexusInput(BaseModel):
    """A nexus record to add or update; a field that is left out stays as it was."""

    # A misspelt field would be silently lost, and with it what the caller wanted to keep.
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"state": "TX", "nexus_type": "economic", "registered_at": "2024-07-01"}]
        },
    )

    # the code and the type are checked later: a wrong one is 400, and a wrong shape 422 (SPEC 7.3)
    state: Annotated[str, WithJsonSchema(field_schemas(NexusParams)["state"])]
    nexus_type: Annotated[str, WithJsonSchema(field_schemas(NexusParams)["nexus_type"])] = (
        "physical"
    )
    registered_at: Annotated[date | None, BeforeValidator(date_text)] = None
    address: Annotated[str | None, Field(max_length=500, pattern=r"^[^\x00]*$")] = None
    notes: Annotated[str | None, Field(max_length=4000, pattern=r"^[^\x00]*$")] = None

    def given_fields(self) -> dict[str, str | None]:
        """The fields that the caller gave, beyond those that identify the record."""
        return self.model_dump(
            mode="json", exclude_unset=True, include={"registered_at", "address", "notes"}
        )
