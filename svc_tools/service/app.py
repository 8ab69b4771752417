"""The HTTP app: rates, nexus records, data age and health, described by `/openapi.json`.

`GET /v1/tax/{state}` and `/v1/freshness` are served from the rate book, `/v1/portability/nexus`
from the database (SPEC 4, WIRE "Requests"). The guard around the app checks keys and limits first.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from svc_sdk import __version__
from svc_tools.service.admission import ACCOUNT, Admission, Guard
from svc_tools.service.envelope import json_response, on_invalid_body, on_problem
from svc_tools.service.faults import Faults
from svc_tools.service.health import HealthCheck
from svc_tools.service.nexus_params import NexusInput, NexusParams
from svc_tools.service.params import (
    WAYS,
    LookupParams,
    documented,
    parsed,
    read_params,
)
from svc_tools.service.problems import Problem, given_text
from svc_tools.service.ratebook.own import OwnBookChanged
from svc_tools.service.rates import LOOKUP_PARAMS, RateResponses, local_day
from svc_tools.service.schemas import (
    Freshness,
    HealthResponse,
    NexusList,
    NexusRecord,
    NexusRemoval,
    TaxResponse,
    responses,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from datetime import date

    from svc_tools.service.books import BookKeeper
    from svc_tools.service.faults import FaultPlan
    from svc_tools.service.keys import KeyRing
    from svc_tools.service.schemas import Responses
    from svc_tools.service.store import Store

# Nothing about requests leaves through a telemetry set-up that the host process may have.
_NO_TELEMETRY: Any = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "auto_configure": False,
}
_SCHEMES = {
    "ApiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
    "Bearer": {"type": "http", "scheme": "bearer"},
}

_LOOKUP = "/v1/tax/{state}"

_NEXUS = "/v1/portability/nexus"
_WHY_STRICT = (
    "Nothing was removed: a misspelt nexus_type that was ignored would remove the records of every"
    " type"
)
_NO_BODY = {
    "loc": ("body",),
    "msg": "A removal has no body; name the type in the address, as ?nexus_type=economic. Nothing"
    " was removed",
    "type": "extra_forbidden",
}


def create_app(
    *,
    books: BookKeeper,
    store: Store,
    keys: KeyRing,
    loopback: bool,
    today: Callable[[], date] = local_day,
    faults: FaultPlan | None = None,
) -> FastAPI:
    """The app over a rate book and a store.

    Args:
        books: the rate book, reloaded when it changes.
        store: the nexus records.
        keys: the valid API keys.
        loopback: whether the server listens on this machine only; then requests that name
            another host, or come from a page of another site, are refused.
        today: the date of a lookup without one.
        faults: what goes wrong on purpose; `None` for nothing.
    """
    app = _App(
        title="Sales-tax rates",
        version=__version__,
        summary="US sales-tax rates and nexus records. General rates; see the warnings.",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        default_response_class=Response,  # every route returns bytes
        telemetry=_NO_TELEMETRY,
    )
    if faults is not None:
        app.add_middleware(Faults, plan=faults)
    # the last one added is the outermost
    app.add_middleware(Guard, admission=Admission(keys, today), loopback=loopback)
    app.add_exception_handler(Problem, on_problem)
    app.add_exception_handler(HTTPException, on_problem)
    app.add_exception_handler(RequestValidationError, on_invalid_body)
    health = HealthCheck(books, store.database.ping)
    _add_rate_routes(app, books, health, today)
    _add_nexus_routes(app, store)

    @app.get(
        "/healthz",
        operation_id="health",
        summary="Whether the service is alive; needs no key",
        responses=responses(HealthResponse, "All parts can serve", key=False),
        tags=["health"],
    )
    async def check_health() -> Response:
        await health.check()
        return Response(b'{"status":"ok"}', media_type="application/json")

    return app


class _App(FastAPI):
    """FastAPI whose description includes API keys, which no route but the guard checks."""

    def openapi(self) -> dict[str, Any]:
        """Describe the interface, once."""
        if self.openapi_schema is None:
            described = super().openapi()
            described["components"]["securitySchemes"] = _SCHEMES
            for path, operations in described["paths"].items():
                if path.startswith("/v1/"):
                    for operation in operations.values():
                        operation["security"] = [{name: []} for name in _SCHEMES]
        return super().openapi()


def _add_rate_routes(
    app: FastAPI, books: BookKeeper, health: HealthCheck, today: Callable[[], date]
) -> None:
    """Add the routes that are served from the current book."""
    rates = RateResponses()

    async def look_up_rate(request: Request) -> Response:
        health.require_database()
        given = tuple(read_params(request.query_params.multi_items(), *LOOKUP_PARAMS).items())
        lookup = (request.path_params["state"], given, today())
        book = await books.current()
        try:
            body = rates.of(book).look_up(*lookup)
        except OwnBookChanged:
            body = rates.of(await books.latest()).look_up(*lookup)
        return Response(body, media_type="application/json")

    # The framework's own route costs as much as the rest of a lookup: a plain one handles the
    # requests, and the framework's, behind it, only describes them.
    plain = Route(_LOOKUP, look_up_rate, methods=["GET"], include_in_schema=False)
    plain.methods = {"GET"}  # without HEAD
    app.router.routes.append(plain)
    app.get(
        _LOOKUP,
        tags=["rates"],
        operation_id="lookup",
        summary="Look up the sales-tax rate of a place",
        description=f"The place is named in exactly one way: {WAYS}. No way is 400, two are 400.",
        responses=responses(TaxResponse, "The rate and its confidence", 404, 424, quota=True),
        openapi_extra={"parameters": documented(LookupParams, path=True)},
    )(look_up_rate)

    @app.get(
        "/v1/freshness",
        tags=["rates"],
        operation_id="freshness",
        summary="How old and how complete the data of each state is",
        responses=responses(Freshness, "The book, and each state in it"),
    )
    async def get_freshness() -> Response:
        body = rates.of(await books.current()).freshness
        return Response(body, media_type="application/json")


def _add_nexus_routes(app: FastAPI, store: Store) -> None:
    """Add the routes of nexus records. Databases block, so their calls run in worker threads."""

    @app.get(
        _NEXUS,
        tags=["nexus"],
        operation_id="list_nexus",
        summary="List the nexus records of the account",
        responses=responses(NexusList, "The records, ordered by state, then type"),
        openapi_extra={"parameters": documented(NexusParams, path=False)},
    )
    async def list_records(request: Request) -> Response:
        wanted = parsed(
            NexusParams, read_params(request.query_params.multi_items(), "state", "nexus_type")
        )
        records = await run_in_threadpool(
            store.list_nexus, request.scope[ACCOUNT], wanted.state, wanted.nexus_type
        )
        return json_response({"nexus": records, "count": len(records)})

    async def put_record(request: Request, record: NexusInput) -> Response:
        key = parsed(NexusParams, {"state": record.state, "nexus_type": record.nexus_type})
        row = await run_in_threadpool(
            store.put_nexus,
            request.scope[ACCOUNT],
            str(key.state),
            str(key.nexus_type),
            record.given_fields(),
        )
        return json_response(row)

    app.router.add_api_route(
        _NEXUS,
        put_record,
        methods=["POST"],
        operation_id="add_nexus",
        tags=["nexus"],
        summary="Add a nexus record, or update the one of that state and type",
        responses=_linked(responses(NexusRecord, "The record as it is now", 422)),
        route_class_override=_StrictJsonRoute,
        response_class=Response,
    )

    @app.delete(
        _NEXUS + "/{state}",
        tags=["nexus"],
        operation_id="remove_nexus",
        summary="Remove the nexus records of a state, all or of one type",
        responses=responses(NexusRemoval, "How many records there were", 422),
        openapi_extra={"parameters": documented(NexusParams, path=True)},
    )
    async def remove_records(request: Request) -> Response:
        given = read_params(
            request.query_params.multi_items(), "nexus_type", strict_because=_WHY_STRICT
        )
        if await request.body():
            raise RequestValidationError([_NO_BODY])
        removed = parsed(NexusParams, {**given, "state": request.path_params["state"]})
        state, nexus_type = str(removed.state), removed.nexus_type
        deleted = await run_in_threadpool(
            store.remove_nexus, request.scope[ACCOUNT], state, nexus_type
        )
        return json_response({"deleted": deleted, "state": state, "nexus_type": nexus_type})


def _linked(described: Responses) -> Responses:
    """Add what can be done with a record that was added, for OpenAPI."""
    record = {"state": "$response.body#/state", "nexus_type": "$response.body#/nexus_type"}
    described[200]["links"] = {
        name: {"operationId": operation, "parameters": record, "description": description}
        for name, operation, description in (
            ("list", "list_nexus", "The record is in the list"),
            ("remove", "remove_nexus", "The record can be removed"),
        )
    }
    return described


class _StrictRequest(Request):
    """A request that refuses a JSON object with a name given twice: parsers differ there."""

    async def json(self) -> Any:  # noqa: ANN401 - JSON is anything
        """Parse the body."""
        return json.loads(await self.body(), object_pairs_hook=_each_once)


class _StrictJsonRoute(APIRoute):
    """A route that reads its body through `_StrictRequest`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the framework's handler."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            try:
                return await handle(_StrictRequest(request.scope, request.receive))
            except HTTPException as error:  # the framework's own, around what reading raised
                if isinstance(error.__cause__, Problem):
                    raise error.__cause__ from None
                raise

        return handle_strictly


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    names = [name for name, _ in pairs]
    twice = given_text(next(name for name in names if names.count(name) > 1))
    raise Problem(
        400,
        "INVALID_INPUT",
        f"{twice!r}: given more than once in the body, expected once",
        extra={"parameter": twice, "expected": "one value"},
    )
