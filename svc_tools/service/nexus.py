"""The addresses of an account's nexus records (SPEC 4.1, WIRE "Requests")."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotation at run time
from starlette.responses import Response  # noqa: TC002 - the same

from svc_sdk.models import NexusList, NexusRecord, NexusRemoval
from svc_tools.service.envelope import json_response
from svc_tools.service.guard import ACCOUNT
from svc_tools.service.params import documented, read_params
from svc_tools.service.schemas import NexusInput, error_answers
from svc_tools.service.states import NEXUS_TYPE, STATE, checked_nexus_type, checked_state

if TYPE_CHECKING:
    from fastapi import FastAPI

    from svc_tools.service.store import Store

__all__ = ["add_nexus_routes"]

_PATH = "/v1/portability/nexus"
_FILTERS = {parameter.name: parameter for parameter in (STATE, NEXUS_TYPE)}
_TYPE_ONLY = {NEXUS_TYPE.name: NEXUS_TYPE}
_STATE_IN_PATH = replace(STATE, place="path")


def add_nexus_routes(app: FastAPI, store: Store) -> None:
    """Add the routes over one store. SQLite blocks, so its calls run in worker threads."""

    @app.get(
        _PATH,
        tags=["nexus"],
        summary="List the nexus records of the account",
        responses={200: {"model": NexusList}, **error_answers(400, 401, 403, 500, 503)},
        openapi_extra={"parameters": documented(_FILTERS.values())},
    )
    async def list_records(request: Request) -> Response:
        given = read_params(request, _FILTERS)
        state = checked_state(given["state"]) if "state" in given else None
        records = await run_in_threadpool(
            store.list_nexus, request.scope[ACCOUNT], state, _nexus_type(given)
        )
        return json_response({"nexus": records, "count": len(records)})

    @app.post(
        _PATH,
        tags=["nexus"],
        summary="Add a nexus record, or update the one of that state and type",
        responses={200: {"model": NexusRecord}, **error_answers(400, 401, 403, 500, 503)},
    )
    async def put_record(request: Request, record: NexusInput) -> Response:
        state = checked_state(record.state)
        nexus_type = checked_nexus_type(record.nexus_type)
        kept = await run_in_threadpool(
            store.put_nexus, request.scope[ACCOUNT], state, nexus_type, record.given_fields()
        )
        return json_response(kept)

    @app.delete(
        _PATH + "/{state}",
        tags=["nexus"],
        summary="Remove the nexus records of a state, all or of one type",
        responses={200: {"model": NexusRemoval}, **error_answers(400, 401, 403, 500, 503)},
        openapi_extra={"parameters": documented([_STATE_IN_PATH, NEXUS_TYPE])},
    )
    async def remove_records(request: Request) -> Response:
        state = checked_state(request.path_params["state"])
        # A misspelt nexus_type that was ignored would remove the records of every type.
        given = read_params(request, _TYPE_ONLY, strangers=False)
        nexus_type = _nexus_type(given)
        deleted = await run_in_threadpool(
            store.remove_nexus, request.scope[ACCOUNT], state, nexus_type
        )
        return json_response({"deleted": deleted, "state": state, "nexus_type": nexus_type})


def _nexus_type(given: dict[str, str]) -> str | None:
    return checked_nexus_type(given["nexus_type"]) if "nexus_type" in given else None
