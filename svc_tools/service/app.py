"""The HTTP app: its routes under one guard, described by `/openapi.json`."""

from __future__ import annotations

import time
from datetime import date
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from svc_sdk._version import __version__
from svc_tools.service.admission import Admission
from svc_tools.service.answer_shapes import HealthResponse
from svc_tools.service.described import answers
from svc_tools.service.envelope import on_invalid_body, on_problem
from svc_tools.service.faults import Faults
from svc_tools.service.guard import Guard
from svc_tools.service.health import Health
from svc_tools.service.nexus import add_nexus_routes
from svc_tools.service.rates import add_rate_routes

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_tools.service.book_keeper import BookKeeper
    from svc_tools.service.faults import FaultPlan
    from svc_tools.service.keys import KeyRing
    from svc_tools.service.store import Store

__all__ = ["create_app", "local_day"]

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


class _App(FastAPI):
    """FastAPI, whose description also says how keys travel: the guard checks them, no route."""

    def openapi(self) -> dict[str, Any]:
        """The description of the interface, made once."""
        if self.openapi_schema is None:
            described = super().openapi()
            described["components"]["securitySchemes"] = _SCHEMES
            for path, operations in described["paths"].items():
                if path.startswith("/v1/"):
                    for operation in operations.values():
                        operation["security"] = [{name: []} for name in _SCHEMES]
        return super().openapi()


def local_day() -> date:
    """Today by this machine's calendar."""
    now = time.localtime()
    return date(now.tm_year, now.tm_mon, now.tm_mday)


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
        books: keeps the rate book, where rates come from.
        store: where nexus records are.
        keys: who may ask.
        loopback: whether the server listens on this machine only; then requests that name
            another host, or come from a page of another site, are refused.
        today: the day that a lookup without a date is about.
        faults: what goes wrong on purpose; `None` for nothing.
    """
    app = _App(
        title="Sales-tax rates",
        version=__version__,
        summary="US sales-tax rates and nexus records. General rates; see each answer's warnings.",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        default_response_class=Response,  # every route hands out a body that is ready
        telemetry=_NO_TELEMETRY,
    )
    if faults is not None:
        app.add_middleware(Faults, plan=faults)
    # the last one added is the outermost
    app.add_middleware(Guard, admission=Admission(keys, today), loopback=loopback)
    app.add_exception_handler(HTTPException, on_problem)
    app.add_exception_handler(RequestValidationError, on_invalid_body)
    health = Health(books, store.database.ping)
    add_rate_routes(app, books, health, today)
    add_nexus_routes(app, store)

    @app.get(
        "/healthz",
        operation_id="health",
        summary="Whether the service is alive; needs no key",
        responses=answers(HealthResponse, "All parts can serve"),
        tags=["health"],
    )
    async def say_health() -> Response:
        await health.check()
        return Response(b'{"status":"ok"}', media_type="application/json")

    return app
