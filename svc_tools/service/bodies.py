"""JSON bodies, read strictly: a name that is given twice is refused, as in a query string."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastapi.routing import APIRoute
from starlette.requests import Request

from svc_tools.service.envelope import Problem, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from starlette.responses import Response

__all__ = ["StrictJsonRoute"]


class _StrictRequest(Request):
    """A request whose JSON names each thing once."""

    async def json(self) -> Any:  # noqa: ANN401 - JSON is anything
        """The body.

        Raises:
            Problem: 400 for a name that an object holds twice: parsers differ in which they take.
            ValueError: the body is not JSON.
        """
        return json.loads(await self.body(), object_pairs_hook=_each_once)


class StrictJsonRoute(APIRoute):
    """A route that reads its body strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The route's handler, over such a request."""
        handle = super().get_route_handler()

        async def handle_strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return handle_strictly


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    names = [name for name, _ in pairs]
    twice = shown(next(name for name in names if names.count(name) > 1))
    raise Problem(
        400,
        "INVALID_INPUT",
        f"{twice!r}: given more than once in the body, expected once",
        extra={"parameter": twice, "expected": "one value"},
    )
