"""Loaded by schemathesis beside its own checks: what it cannot know of this service."""

from __future__ import annotations

import os
from pathlib import Path

import schemathesis

from svc_sdk.models import (
    Freshness,
    HealthResponse,
    NexusList,
    NexusRecord,
    NexusRemoval,
    TaxResponse,
)

MODELS = {
    "lookup": TaxResponse,
    "freshness": Freshness,
    "health": HealthResponse,
    "list_nexus": NexusList,
    "add_nexus": NexusRecord,
    "remove_nexus": NexusRemoval,
}
TOLD = Path(os.environ["SVC_TEST_TOLD"])
told = set()


@schemathesis.check
def the_client_library_reads_it(_context, response, case):
    """Every answer is one that the models of the client library accept."""
    if response.status_code == 200:
        name = case.operation.definition.raw["operationId"]
        MODELS[name].model_validate_json(response.content)
        told.add(name)
        TOLD.write_text("\n".join(told), encoding="utf-8")


@schemathesis.check
def errors_name_their_request(_context, response, _case):
    """Every error is the envelope with the id of its request, or the 422 of SPEC 4.1."""
    if response.status_code == 422:
        assert response.json()["detail"]
    elif response.status_code != 200 and response.content:
        error = response.json()["error"]
        assert [error["support_reference"]] == response.headers["x-request-id"]
