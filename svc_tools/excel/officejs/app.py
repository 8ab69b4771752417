"""The local server as an ASGI app: the files that Excel loads, the calls of cells, the task pane.

`/excel/batch` takes {"calls": [{"f": "SVC_RATE", "a": ["TX", 78701]}, ...]}. An argument is null
where it was left out, a scalar, or rows of scalars; "" is an empty cell, {"error": "#N/A"} an error
value. A call with "from_1904": true is of a workbook with the 1904 date system. The response is
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
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotations
from starlette.responses import Response

from svc_tools.excel import settings
from svc_tools.excel.formulas import Contents
from svc_tools.excel.functions import Call, evaluate, refresh_plan
from svc_tools.excel.officejs import pages
from svc_tools.excel.officejs.guard import Guard, in_thread, refusal
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.excel.values import (
    OMITTED,
    BadValueError,
    CellError,
    ErrorCell,
    NotAvailableError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from starlette.types import ASGIApp

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.values import Argument, Result, Scalar
    from svc_tools.loopback import LocalGuard

MOST_CALLS = 100_000
"""The most calls in a request."""
_PARAMETERS = {one.name: one.parameters for one in FUNCTIONS}
_EXPECTED = 'expected {"calls": [{"f": name, "a": [argument, ...]}, ...]}'
_STATIC = Path(__file__).parent / "static"
_KINDS = {".css": "text/css", ".js": "text/javascript", ".png": "image/png"}
_NOT_ALLOWED = 405
_MADE = "functions.js"
"""A file of the folder that is not served unchanged."""
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
_OFFICE_PAGE = f"{_PAGE} script-src 'self' {_SCRIPTS}; frame-ancestors 'self' {_HOSTS}"
_OWN_PAGE = f"{_PAGE} script-src 'self'; frame-ancestors 'none'"


def make_app(desk: Desk, guard: LocalGuard) -> ASGIApp:
    """The app over a desk, behind its guard, which has the address and token for Excel."""
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    for kind in (HTTPException, BadRequestError, Exception):
        app.add_exception_handler(kind, _refusal)
    _add_files(app, guard)
    _add_cells(app, desk)
    _add_pane(app, desk)
    _add_nexus(app, desk)
    _add_static(app)  # last, since it matches every name
    return Guard(app, guard)


def _add_files(app: FastAPI, guard: LocalGuard) -> None:
    """The files and pages that Excel, and the user who sets it up, load."""

    @app.get("/excel/")
    async def instructions() -> Response:
        return _page(pages.help_page(guard), _OWN_PAGE)

    @app.get("/excel/manifest.xml")
    async def manifest_xml() -> Response:
        name = {"content-disposition": 'attachment; filename="svc-tools-manifest.xml"'}
        return Response(pages.manifest(guard), media_type="application/xml", headers=name)

    @app.get("/excel/functions.json")
    async def functions_json() -> Response:
        return _json(pages.metadata(guard))

    @app.options("/excel/functions.json")
    async def functions_json_preflight() -> Response:
        return Response(status_code=204, headers={"access-control-allow-methods": "GET"})

    @app.get("/excel/functions.js")
    async def functions_js() -> Response:
        return Response(pages.functions_script(guard), media_type="text/javascript")

    @app.get("/excel/taskpane.html")
    async def task_pane(office: str = "") -> Response:
        in_office = office == "1"
        return _page(pages.page(guard, office=in_office), _OFFICE_PAGE if in_office else _OWN_PAGE)


def _add_cells(app: FastAPI, desk: Desk) -> None:
    """The calls of functions, from Excel and from Calc."""

    @app.post("/excel/batch")
    async def batch(request: Request) -> Response:
        body = await request.body()
        results = await in_thread(lambda: _computed(desk, body))
        return Response(results, media_type="application/json")


def _computed(desk: Desk, body: bytes) -> bytes:
    """The results of the calls in a body, with their places looked up together."""
    content = read_body(body)
    calls = read_calls(content)
    given = [one for one in calls if not isinstance(one, CellError)]
    results = iter(evaluate(desk, given, since=_since(content)))
    return results_json(one if isinstance(one, CellError) else next(results) for one in calls)


def _add_pane(app: FastAPI, desk: Desk) -> None:
    """What the task pane shows and does; errors are part of the results."""

    @app.get("/excel/status")
    async def status() -> Response:
        return _json(await in_thread(lambda: pages.status(desk)))

    @app.post("/excel/refresh")
    async def refresh(request: Request) -> Response:
        content = read_body(await request.body())
        plan = await in_thread(lambda: refresh_plan(desk, *_used(content)))
        if content.get("confirmed") is not True:
            return _json(pages.plan(plan))
        return await _changed(lambda: pages.refresh(desk, plan))

    @app.post("/excel/key")
    async def use_key(request: Request) -> Response:
        address, key = map(read_body(await request.body()).get, ("address", "key"))
        if not (isinstance(address, str) and isinstance(key, str)):  # None is no key "None"
            raise BadRequestError('expected {"address": text, "key": text}')
        return await _changed(lambda: pages.use_key(desk, address, SecretStr(key)))

    @app.delete("/excel/key")
    async def forget_key() -> Response:
        return await _changed(lambda: pages.forget_key(desk))

    @app.post("/excel/embedded")
    async def use_embedded() -> Response:
        return await _changed(lambda: pages.use_embedded(desk))


def _add_nexus(app: FastAPI, desk: Desk) -> None:
    """The registrations of the task pane: listed, and one added once its state is typed."""

    @app.get("/excel/nexus")
    async def registrations() -> Response:
        return _json(await in_thread(lambda: pages.registrations(desk)))

    @app.post("/excel/nexus")
    async def add_registration(request: Request) -> Response:
        content = read_body(await request.body())
        record, typed = content.get("record"), content.get("typed")
        texts = (*record.values(), typed or "") if isinstance(record, dict) else ()
        if not isinstance(record, dict) or not all(isinstance(one, str) for one in texts):
            raise BadRequestError('expected {"record": {"state": text, ...}, "typed": text}')
        return await _changed(lambda: pages.add_registration(desk, record, typed))


async def _changed(work: Callable[[], Mapping[str, object]]) -> Response:
    """The result of a change, after which Calc must not use earlier results."""
    try:
        return _json(await in_thread(work))
    finally:
        settings.renew_server()


def _add_static(app: FastAPI) -> None:
    """The static files of the add-in, by name."""

    @app.get("/excel/{name}")
    async def file(name: str) -> Response:
        path = {one.name: one for one in _STATIC.iterdir()}.get(name)
        if path is None or path.suffix not in _KINDS or name == _MADE:
            raise HTTPException(404)
        return Response(path.read_bytes(), media_type=_KINDS[path.suffix])


def _json(content: Mapping[str, object]) -> Response:
    return Response(json.dumps(content), media_type="application/json")


def _page(html: str, policy: str) -> Response:
    return Response(html, media_type="text/html", headers={"content-security-policy": policy})


async def _refusal(_request: Request, error: Exception) -> Response:
    """The response to a request that failed; the words of unexpected errors are not in it."""
    if isinstance(error, BadRequestError):
        return refusal("INVALID_INPUT", str(error))
    if isinstance(error, HTTPException):
        return refusal("METHOD_NOT_ALLOWED" if error.status_code == _NOT_ALLOWED else "NOT_FOUND")
    return refusal("FAILED")


class BadRequestError(ValueError):
    """The body is not a batch of calls; the message says what is expected."""


def read_body(body: bytes) -> dict[str, Any]:
    """The JSON object of a body.

    Raises:
        BadRequestError: it is none.
    """
    try:
        content = json.loads(body, parse_constant=_refused)
    except (ValueError, RecursionError):
        raise BadRequestError(f"The body is not JSON; {_EXPECTED}") from None
    if not isinstance(content, dict):
        raise BadRequestError(f"The body is no object; {_EXPECTED}")
    return content


def read_calls(content: Mapping[str, Any]) -> list[Call | CellError]:
    """The calls of a request; an error for a call that this server cannot read or compute.

    One bad cell fails its own formula, not the thousands sent with it.

    Raises:
        BadRequestError: the request cannot be used at all.
    """
    calls = content.get("calls")
    if not isinstance(calls, list):
        raise BadRequestError(f"The body has no list of calls; {_EXPECTED}")
    if len(calls) > MOST_CALLS:
        raise BadRequestError(
            f"{len(calls):,} calls are too many for one request; {MOST_CALLS:,} at most"
        )
    return [_call(number, one) for number, one in enumerate(calls)]


def _since(content: Mapping[str, Any]) -> datetime | None:
    """The moment of a refresh; `None` where there was none."""
    if content.get("since") is None:
        return None
    try:
        since = datetime.fromisoformat(content["since"])
    except (TypeError, ValueError):
        since = None
    if since is None or since.tzinfo is None:
        raise BadRequestError('"since" is expected as a time with its zone, as a refresh gives it')
    return since


def _used(content: Mapping[str, Any]) -> tuple[list[list[Call]], int]:
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
        read = [[_call(at, one) for one in calls] for at, calls in enumerate(cells)]
    except (KeyError, TypeError, ValueError, AttributeError):
        raise BadRequestError(
            'expected {"cells": [[call, ...], ...]} or {"workbook": ...}'
        ) from None
    return [[one for one in calls if isinstance(one, Call)] for calls in read], unknown


def _call(number: int, call: object) -> Call | CellError:
    if not isinstance(call, dict):
        raise BadRequestError(f"Call {number} cannot be read; {_EXPECTED}")
    name, given = call.get("f"), call.get("a", [])
    if not isinstance(name, str) or not isinstance(given, list):
        raise BadRequestError(f"Call {number} cannot be read; {_EXPECTED}")
    parameters = _PARAMETERS.get(name)
    if parameters is None:
        return NotAvailableError(
            f"This server knows no function {name[:40]!r}: add-in and svc-tools are of different"
            " releases. Load the manifest again."
        )
    if len(given) > len(parameters):
        return BadValueError(f"{name} takes {len(parameters)} arguments; {len(given)} were given")
    missing = [OMITTED] * (len(parameters) - len(given))
    book = call.get("from_1904") or None  # its name; `True` from an older extension
    try:
        arguments = (*map(_argument, given), *missing)
        return Call(name, arguments, book if isinstance(book, str | None) else "")
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
    if isinstance(given, int):
        return _number(given)
    if isinstance(given, dict) and isinstance(given.get("error"), str):
        return ErrorCell(given["error"][:40])
    raise BadValueError(
        'A cell is text, a number, true, false, "" (empty) or {"error": "#N/A"}; this is not.'
    )


def _number(given: int) -> float:
    try:
        float(given)
    except OverflowError:
        raise BadValueError("No cell holds a number as large.") from None
    return given


def _refused(constant: str) -> float:
    raise BadRequestError(f"{constant} is no number of JSON")


def results_json(results: Iterable[Result]) -> bytes:
    """The body of the response."""
    content = {"results": [_result_json(result) for result in results]}
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def _result_json(result: Result) -> dict[str, Any]:
    if isinstance(result, CellError):
        return _error(result)
    if isinstance(result, list):
        return {"v": [[_cell(cell) for cell in row] for row in result]}
    return {"v": _cell(result)}


def _cell(cell: object) -> object:
    if isinstance(cell, CellError):
        return _error(cell)
    return "" if cell is None else cell


def _error(error: CellError) -> dict[str, Any]:
    return {"e": "value" if isinstance(error, BadValueError) else "na", "m": error.message}
