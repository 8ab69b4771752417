"""The addresses of an account's nexus records (SPEC 4.1, WIRE "Requests")."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotation at run time
from starlette.responses import Response

from svc_tools.service.admission import ACCOUNT
from svc_tools.service.answer_shapes import NexusList, NexusRecord, NexusRemoval
from svc_tools.service.bodies import StrictJsonRoute
from svc_tools.service.described import keyed_answers
from svc_tools.service.envelope import json_response
from svc_tools.service.params import documented, read_params, read_params_only
from svc_tools.service.schemas import NexusInput  # noqa: TC001 - the same
from svc_tools.service.states import NEXUS_TYPE, STATE, checked_nexus_type, checked_state

if TYPE_CHECKING:
    from fastapi import FastAPI

    from svc_tools.service.described import Responses
    from svc_tools.service.store import Store

__all__ = ["add_nexus_routes"]

_PATH = "/v1/portability/nexus"
_FILTERS = {parameter.name: parameter for parameter in (STATE, NEXUS_TYPE)}
_TYPE_ONLY = {NEXUS_TYPE.name: NEXUS_TYPE}
_WHY_STRICT = (
    "Nothing was removed: a misspelt nexus_type that was ignored would remove the records of every"
    " type"
)
_STATE_IN_PATH = replace(STATE, place="path")
_THE_RECORD = {
    "state": "$response.body#/state",
    "nexus_type": "$response.body#/nexus_type",
}
_NO_BODY = {
    "loc": ("body",),
    "msg": "A removal has no body; name the type in the address, as ?nexus_type=economic. Nothing"
    " was removed",
    "type": "extra_forbidden",
}


def add_nexus_routes(app: FastAPI, store: Store) -> None:
    """Add the routes over one store. Databases block, so its calls run in worker threads."""

    @app.get(
        _PATH,
        tags=["nexus"],
        operation_id="list_nexus",
        summary="List the nexus records of the account",
        responses=keyed_answers(NexusList, "The records, ordered by state, then type"),
        openapi_extra={"parameters": documented(_FILTERS.values())},
    )
    async def list_records(request: Request) -> Response:
        given = read_params(request, _FILTERS)
        state = checked_state(given["state"]) if "state" in given else None
        records = await run_in_threadpool(
            store.list_nexus, request.scope[ACCOUNT], state, _nexus_type(given)
        )
        return json_response({"nexus": records, "count": len(records)})

    async def put_record(request: Request, record: NexusInput) -> Response:
        state = checked_state(record.state)
        nexus_type = checked_nexus_type(record.nexus_type)
        kept = await run_in_threadpool(
            store.put_nexus, request.scope[ACCOUNT], state, nexus_type, record.given_fields()
        )
        return json_response(kept)

    app.router.add_api_route(
        _PATH,
        put_record,
        methods=["POST"],
        operation_id="add_nexus",
        tags=["nexus"],
        summary="Add a nexus record, or update the one of that state and type",
        responses=_linked(keyed_answers(NexusRecord, "The record as it is now", 408, 422)),
        route_class_override=StrictJsonRoute,
        response_class=Response,
    )

    @app.delete(
        _PATH + "/{state}",
        tags=["nexus"],
        operation_id="remove_nexus",
        summary="Remove the nexus records of a state, all or of one type",
        responses=keyed_answers(NexusRemoval, "How many records there were", 422),
        openapi_extra={"parameters": documented([_STATE_IN_PATH, NEXUS_TYPE])},
    )
    async def remove_records(request: Request) -> Response:
        given = read_params_only(request, _TYPE_ONLY, _WHY_STRICT)
        if await request.body():
            raise RequestValidationError([_NO_BODY])
        state = checked_state(request.path_params["state"])
        nexus_type = _nexus_type(given)
        deleted = await run_in_threadpool(
            store.remove_nexus, request.scope[ACCOUNT], state, nexus_type
        )
        return json_response({"deleted": deleted, "state": state, "nexus_type": nexus_type})


def _nexus_type(given: dict[str, str]) -> str | None:
    return checked_nexus_type(given["nexus_type"]) if "nexus_type" in given else None


def _linked(responses: Responses) -> Responses:
    """What can be done with a record that was added, for OpenAPI."""
    responses[200]["links"] = {
        "list": {
            "operationId": "list_nexus",
            "parameters": _THE_RECORD,
            "description": "The record is in the list",
        },
        "remove": {
            "operationId": "remove_nexus",
            "parameters": _THE_RECORD,
            "description": "The record can be removed",
        },
    }
    return responses
