"""The addresses that answer from the rate book: lookup, data age (SPEC 4.3, WIRE "Requests")."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotation at run time
from starlette.responses import Response

from svc_sdk.models import Freshness, TaxResponse
from svc_tools.service.envelope import Problem, json_bytes
from svc_tools.service.lookups import PARAMETERS, STATE_IN_PATH, read_lookup
from svc_tools.service.params import documented, read_params
from svc_tools.service.ratebook import NotResolved, resolve
from svc_tools.service.schemas import error_answers

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from fastapi import FastAPI

    from svc_tools.service.ratebook import Book

__all__ = ["add_rate_routes"]

_REMEMBERED = 4096
"""How many simple answers are kept ready: about 1 KB each."""


def add_rate_routes(app: FastAPI, book: Book, today: Callable[[], date]) -> None:
    """Add the routes over one book; `today` gives the day that counts as today."""
    age = json_bytes(book.freshness())

    def find(state: str, given: tuple[tuple[str, str], ...], day: date) -> bytes:
        lookup = read_lookup(state, dict(given))
        try:
            answer = resolve(book, lookup.query, today=day)
        except NotResolved as missing:
            raise Problem(404, missing.code, missing.message, extra=missing.detail) from missing
        return json_bytes(answer.full() if lookup.full else answer.simple())

    # A book does not change: the same question on the same day has the same answer.
    remembered = lru_cache(_REMEMBERED)(find)

    @app.get(
        "/v1/tax/{state}",  # noqa: FAST003 - `read_lookup` judges it with the parameters
        tags=["rates"],
        summary="Look up the sales-tax rate of a place",
        responses={200: {"model": TaxResponse}, **error_answers(400, 401, 403, 404, 500)},
        openapi_extra={"parameters": documented([STATE_IN_PATH, *PARAMETERS.values()])},
    )
    async def look_up_rate(request: Request) -> Response:
        given = read_params(request, PARAMETERS)
        ask = find if "mode" in given else remembered
        body = ask(request.path_params["state"], tuple(given.items()), today())
        return Response(body, media_type="application/json")

    @app.get(
        "/v1/freshness",
        tags=["rates"],
        summary="How old and how complete the data of each state is",
        responses={200: {"model": Freshness}, **error_answers(401, 403, 500)},
    )
    async def say_freshness() -> Response:
        return Response(age, media_type="application/json")
