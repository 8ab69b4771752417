"""The local server as an ASGI app: the files that Excel loads, the calls of cells, the task pane.

`/excel/batch` takes {"calls": [{"f": "SVC_RATE", "a": ["TX", 78701]}, ...]}. An argument is null
where it was left out, a scalar, or rows of scalars; "" is an empty cell, {"error": "#N/A"} an error
value. "from_1904" of a call is the name of a workbook with the 1904 date system. The response is
{"results": [...]}, one for each call in order: {"v": scalar or rows}, or {"e": "na" or "value",
"m": sentence}. A cell inside rows may be such an error, too. "since" beside "calls" is the moment
of a refresh: no result from before it is used.

`/excel/refresh` takes what the cells of a workbook use: {"cells": [[call, ...] of each cell],
"unknown": number of cells with other calls}, or {"workbook": {"sheets": ..., "names": ...,
"tables": ...}} as `formulas.Contents` takes them. With "confirmed": false the response is what
would be looked up, and nothing is sent; with true it is looked up, and the response is the report.
Where that says "happened", the host computes the cells again, with its "since" from then on.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from svc_tools.excel import settings
from svc_tools.excel.formulas import Contents
from svc_tools.excel.functions import FunctionCall, evaluate, refresh_plan
from svc_tools.excel.officejs import pages
from svc_tools.excel.officejs.guard import ROOT, AddinGuard, in_thread, refusal
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.excel.values import OMITTED, BadValueError, CellError, ErrorCell, NotAvailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from svc_tools.base.loopback import LocalGuard
    from svc_tools.excel.desk import Desk
    from svc_tools.excel.officejs.pages import JsonObject
    from svc_tools.excel.values import Argument, FormulaResult, Scalar

_NAMES = {function.name for function in FUNCTIONS}
_EXPECTED = 'expected {"calls": [{"f": name, "a": [argument, ...]}, ...]}'
_STATIC = Path(__file__).parent / "static"
_SCRIPT = "text/javascript"
_KINDS = {".css": "text/css", ".js": _SCRIPT, ".png": "image/png"}
_ATTACHMENT = {"content-disposition": 'attachment; filename="svc-tools-manifest.xml"'}
_PREFLIGHT = {"access-control-allow-methods": "GET"}
_HOSTS = (
    "https://*.officeapps.live.com https://*.live.com https://*.office.com https://*.office365.com"
    " https://*.sharepoint.com https://*.microsoft365.com https://*.cloud.microsoft"
)
"""The pages in which Excel on the web shows an add-in; each enclosing frame has to be listed."""
_SCRIPTS = f"https://{urlsplit(pages.OFFICE_JS).hostname} https://ajax.aspnetcdn.com"
"""The source of office.js, which the host requires, and that of the scripts it loads."""
_PAGE = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none';"
)
_POLICY = "content-security-policy"
_OFFICE_PAGE = {_POLICY: f"{_PAGE} script-src 'self' {_SCRIPTS}; frame-ancestors 'self' {_HOSTS}"}
_OWN_PAGE = {_POLICY: f"{_PAGE} script-src 'self'; frame-ancestors 'none'"}


def addin_app(desk: Desk, guard: LocalGuard) -> ASGIApp:
    """The app over a desk, behind its guard, which has the address and token for Excel."""
    handled: tuple[type[Exception], ...] = (HTTPException, BadRequestError, Exception)
    app = FastAPI(
        openapi_url=None,
        routes=[*_actions(desk), *_files(guard)],
        exception_handlers=dict.fromkeys(handled, _refusal),
    )
    return AddinGuard(app, guard)


def _files(guard: LocalGuard) -> list[Route]:
    """The files and pages that Excel, and the user who sets it up, load."""

    def task_pane(request: Request) -> Response:
        office = request.query_params.get("office") == "1"
        headers = _OFFICE_PAGE if office else _OWN_PAGE
        return HTMLResponse(pages.taskpane_page(guard, office=office), headers=headers)

    def manifest(_: Request) -> Response:
        return Response(pages.manifest(guard), headers=_ATTACHMENT, media_type="application/xml")

    script = f"{ROOT}functions.js"
    metadata = f"{ROOT}functions.json"
    return [
        Route(ROOT, lambda _: HTMLResponse(pages.help_page(guard), headers=_OWN_PAGE)),
        Route(f"{ROOT}manifest.xml", manifest),
        Route(metadata, lambda _: _json(pages.functions_metadata(guard))),
        Route(metadata, lambda _: Response(None, 204, _PREFLIGHT), methods=["OPTIONS"]),
        Route(script, lambda _: Response(pages.functions_script(guard), media_type=_SCRIPT)),
        Route(f"{ROOT}taskpane.html", task_pane),
        Route(f"{ROOT}{{name}}", _static_file),  # last, since it matches every name
    ]


def _static_file(request: Request) -> Response:
    path = {file.name: file for file in _STATIC.iterdir()}.get(request.path_params["name"])
    if path is None or path.suffix not in _KINDS:
        raise HTTPException(404)
    return Response(path.read_bytes(), media_type=_KINDS[path.suffix])


def _actions(desk: Desk) -> list[Route]:
    """What cells and the task pane request; errors are part of the results."""
    return [
        _action("POST", "batch", lambda content: _computed(desk, content)),
        _action("GET", "status", lambda _: pages.status(desk)),
        _action("POST", "refresh", lambda content: _refreshed(desk, content)),
        _action("POST", "key", lambda content: _with_key(desk, content)),
        _action("DELETE", "key", lambda _: pages.forget_key(desk)),
        _action("POST", "embedded", lambda _: pages.use_embedded(desk)),
        _action("GET", "nexus", lambda _: pages.registrations(desk)),
        _action("POST", "nexus", lambda content: _added(desk, content)),
    ]


def _action(method: str, name: str, work: Callable[[JsonObject], JsonObject]) -> Route:
    """The route of an action: JSON in, JSON out."""

    async def respond(request: Request) -> Response:
        body = await request.body()
        try:
            return await in_thread(lambda: _json(work(body_object(body))))
        finally:
            if method != "GET" and name != "batch":  # Calc must not use earlier results
                settings.renew_server()

    return Route(f"{ROOT}{name}", respond, methods=[method])


def _computed(desk: Desk, content: JsonObject) -> JsonObject:
    """The results of the calls in a request, with their places looked up together."""
    calls = read_calls(content)
    given = [call for call in calls if not isinstance(call, CellError)]
    results = iter(evaluate(desk, given, since=_since(content)))
    return results_of(call if isinstance(call, CellError) else next(results) for call in calls)


def _refreshed(desk: Desk, content: JsonObject) -> JsonObject:
    plan = refresh_plan(desk, *_used(content))
    return pages.refresh(desk, plan) if content.get("confirmed") is True else pages.plan(plan)


def _with_key(desk: Desk, content: JsonObject) -> JsonObject:
    address, key = content.get("address"), content.get("key")
    if not (isinstance(address, str) and isinstance(key, str)):  # None is no key "None"
        raise BadRequestError('expected {"address": text, "key": text}')
    return pages.use_key(desk, address, SecretStr(key))


def _added(desk: Desk, content: JsonObject) -> JsonObject:
    record: Any = content.get("record")
    typed = content.get("typed")
    texts = [*record.values(), typed or ""] if isinstance(record, dict) else [None]
    if not all(isinstance(text, str) for text in texts):
        raise BadRequestError('expected {"record": {"state": text, ...}, "typed": text}')
    return pages.add_registration(desk, record, typed)


def _json(content: JsonObject) -> Response:
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    return Response(text, media_type="application/json")


async def _refusal(_request: Request, error: Exception) -> Response:
    """The response to a request that failed; the words of unexpected errors are not in it."""
    if isinstance(error, BadRequestError):
        return refusal("INVALID_INPUT", str(error))
    if isinstance(error, HTTPException):
        return refusal("NOT_FOUND", status=error.status_code)
    return refusal("FAILED")


class BadRequestError(ValueError):
    """The body is not a batch of calls; the message says what is expected."""


def body_object(body: bytes) -> JsonObject:
    """The JSON object of a body; an empty one where there is no body.

    Raises:
        BadRequestError: it is none.
    """
    try:
        content = json.loads(body or b"{}", parse_constant=_refused)
    except (ValueError, RecursionError):
        raise BadRequestError(f"The body is not JSON; {_EXPECTED}") from None
    if not isinstance(content, dict):
        raise BadRequestError(f"The body is no object; {_EXPECTED}")
    return content


def _refused(constant: str) -> float:
    raise ValueError(constant)


def read_calls(content: JsonObject) -> list[FunctionCall | CellError]:
    """The calls of a request; an error for a call that this server cannot read or compute.

    One bad cell fails its own formula, not the thousands sent with it.

    Raises:
        BadRequestError: the request cannot be used at all.
    """
    calls = content.get("calls")
    if not isinstance(calls, list):
        raise BadRequestError(f"The body has no list of calls; {_EXPECTED}")
    return [_call(number, given) for number, given in enumerate(calls)]


def _since(content: JsonObject) -> datetime | None:
    """The moment of a refresh; `None` where there was none."""
    if content.get("since") is None:
        return None
    with suppress(TypeError, ValueError):
        since = datetime.fromisoformat(content["since"])
        if since.tzinfo is not None:
            return since
    raise BadRequestError('"since" is expected as a time with its zone, as a refresh gives it')


def _used(content: JsonObject) -> tuple[list[list[FunctionCall]], int]:
    """The calls of each cell that a refresh is about, and how many cells have others.

    Raises:
        BadRequestError: they cannot be read.
    """
    try:
        if "workbook" in content:
            book = Contents(**content["workbook"])
            book.omitted = None
            cells, unknown = book.in_use(lambda name, given: {"f": name, "a": given})
        else:
            cells, unknown = content["cells"], int(content.get("unknown", 0))
        read = [[_call(at, given) for given in calls] for at, calls in enumerate(cells)]
    except (KeyError, TypeError, ValueError, AttributeError):
        expected = 'expected {"cells": [[call, ...], ...]} or {"workbook": ...}'
        raise BadRequestError(expected) from None
    return [[call for call in calls if isinstance(call, FunctionCall)] for calls in read], unknown


def _call(number: int, call: Any) -> FunctionCall | CellError:  # noqa: ANN401 - what JSON holds
    name, given = (call.get("f"), call.get("a", [])) if isinstance(call, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(given, list):
        raise BadRequestError(f"Call {number} cannot be read; {_EXPECTED}")
    if name not in _NAMES:
        return NotAvailableError(
            f"This server knows no function {name[:40]!r}: add-in and svc-tools are of different"
            " releases. Load the manifest again."
        )
    book = call.get("from_1904") or None  # its name; `True` from an older extension
    try:
        arguments = tuple(map(_argument, given))
        return FunctionCall(name, arguments, book if isinstance(book, str | None) else "")
    except BadValueError as error:
        return error


def _argument(given: object) -> Argument:
    if given is None:
        return OMITTED
    if not isinstance(given, list):
        return _scalar(given)
    if not all(isinstance(row, list) for row in given):
        raise BadValueError("A range is a list of rows, and a row a list of cells.")
    return [[_scalar(cell) for cell in row] for row in given]


def _scalar(given: Any) -> Scalar:  # noqa: ANN401 - what JSON holds
    if given is None or isinstance(given, str | bool | float):
        return given
    if isinstance(given, int) and abs(given) <= sys.float_info.max:
        return given
    if isinstance(given, dict) and isinstance(given.get("error"), str):
        return ErrorCell(given["error"][:40])
    raise BadValueError(
        'A cell is text, a number, true, false, "" (empty) or {"error": "#N/A"}; this is not.'
    )


def results_of(results: Iterable[FormulaResult]) -> JsonObject:
    """The response to a batch."""
    return {"results": [_result(result) for result in results]}


def _result(result: FormulaResult) -> JsonObject:
    if isinstance(result, CellError):
        return {"e": "value" if isinstance(result, BadValueError) else "na", "m": result.message}
    if isinstance(result, list):
        return {"v": [[_cell(cell) for cell in row] for row in result]}
    return {"v": _cell(result)}


def _cell(cell: Any) -> Any:  # noqa: ANN401 - as above
    if isinstance(cell, CellError):
        return _result(cell)
    return "" if cell is None else cell
