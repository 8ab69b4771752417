"""The addresses that answer from the rate book: lookup, data age (SPEC 4.3, WIRE "Requests")."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotation at run time
from starlette.responses import Response
from starlette.routing import Route

from svc_tools.service.answer_shapes import Freshness, TaxResponse
from svc_tools.service.described import keyed_answers
from svc_tools.service.envelope import Problem, json_bytes
from svc_tools.service.lookups import PARAMETERS, STATE_IN_PATH, WAYS, read_lookup
from svc_tools.service.params import documented, read_params
from svc_tools.service.ratebook import NotResolved, resolve
from svc_tools.service.ratebook.imports.common import OwnBookChanged

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from fastapi import FastAPI

    from svc_tools.service.book_keeper import BookKeeper
    from svc_tools.service.health import Health
    from svc_tools.service.ratebook import Book

__all__ = ["add_rate_routes"]

_REMEMBERED = 16_384
"""How many simple answers are kept ready: about 1 KB each."""


_EXACTLY_ONE = f"The place is named in exactly one way: {WAYS}. No way is 400, two are 400."

_LOOKUP = "/v1/tax/{state}"
_Given = tuple[tuple[str, str], ...]


class _Answers:
    """The answers of one book. It does not change: the same question has the same answer."""

    def __init__(self, book: Book) -> None:
        self.book = book
        self.remembered = lru_cache(_REMEMBERED)(self.find)

    @cached_property
    def freshness(self) -> bytes:
        return json_bytes(self.book.freshness())

    def find(self, state: str, given: _Given, day: date) -> bytes:
        lookup = read_lookup(state, dict(given))
        try:
            answer = resolve(self.book, lookup.query, today=day)
        except NotResolved as missing:
            raise Problem(404, missing.code, missing.message, extra=missing.detail) from missing
        return json_bytes(answer.full() if lookup.full else answer.simple())

    def look_up(self, state: str, given: _Given, day: date) -> bytes:
        full = any(name == "mode" for name, _ in given)
        return (self.find if full else self.remembered)(state, given, day)


def add_rate_routes(
    app: FastAPI, books: BookKeeper, health: Health, today: Callable[[], date]
) -> None:
    """Add the routes over the current book; `today` gives the day that counts as today."""
    kept: _Answers | None = None

    def answers_of(book: Book) -> _Answers:
        nonlocal kept
        if kept is None or kept.book is not book:
            kept = _Answers(book)  # what the book before answered goes with it
        return kept

    async def look_up_rate(request: Request) -> Response:
        health.require_database()
        given = tuple(read_params(request, PARAMETERS).items())
        question = (request.path_params["state"], given, today())
        book = await books.current()
        try:
            body = answers_of(book).look_up(*question)
        except OwnBookChanged:
            body = answers_of(await books.latest()).look_up(*question)
        return Response(body, media_type="application/json")

    # The framework's own route costs as much as the rest of a lookup: a plain one answers, and
    # the framework's, behind it, is there for the description.
    plain = Route(_LOOKUP, look_up_rate, methods=["GET"], include_in_schema=False)
    plain.methods = {"GET"}  # HEAD is no method of this address
    app.router.routes.append(plain)
    app.get(
        _LOOKUP,
        tags=["rates"],
        operation_id="lookup",
        summary="Look up the sales-tax rate of a place",
        description=_EXACTLY_ONE,
        responses=keyed_answers(TaxResponse, "The rate, and how sure it is", 404, quota=True),
        openapi_extra={"parameters": documented([STATE_IN_PATH, *PARAMETERS.values()])},
    )(look_up_rate)

    @app.get(
        "/v1/freshness",
        tags=["rates"],
        operation_id="freshness",
        summary="How old and how complete the data of each state is",
        responses=keyed_answers(Freshness, "The book, and each state in it"),
    )
    async def say_freshness() -> Response:
        answers = answers_of(await books.current())
        return Response(answers.freshness, media_type="application/json")
