"""The local server's answers: what Excel loads, what the cells ask, and the task pane's matters."""

# MERGED wire: The JSON of `/excel/batch`: calls in, results out. Pure.
#
# MERGED wire: Asked: {"calls": [{"f": "SVC_RATE", "a": ["TX", 78701]}, ...]}. An argument is null where it was
# MERGED wire: left out, a scalar, or rows of scalars; "" is an empty cell, {"error": "#N/A"} an error value. A
# MERGED wire: call with "from_1904": true is of a workbook that counts dates from 1904.
#
# MERGED wire: Answered: {"results": [...]}, one for each call in their order: {"v": scalar or rows}, or
# MERGED wire: {"e": "na" or "value", "m": sentence}. A cell inside rows may be such an error itself.

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fastapi import FastAPI
from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002 - FastAPI reads the annotations
from starlette.responses import Response

from svc_tools.excel import server_file
from svc_tools.excel.functions import Call, evaluate
from svc_tools.excel.officejs import pages
from svc_tools.excel.officejs.gate import (
    Guard,
    TooLargeError,
    failed,
    in_thread,
    refusal,
    too_large,
)
from svc_tools.excel.officejs.pages import (
    OFFICE_JS,
    functions_script,
    help_page,
    manifest,
    metadata,
    page,
)
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.excel.values import (
    OMITTED,
    BadValueError,
    CellError,
    ErrorCell,
    NotAvailableError,
    of_1904,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from starlette.types import ASGIApp

    from svc_tools.excel.desk import Desk
    from svc_tools.excel.officejs.gate import Gate
    from svc_tools.excel.values import Argument, Result, Scalar

_KINDS = {".css": "text/css", ".js": "text/javascript", ".png": "image/png"}
_MADE = "functions.js"
"""A file of the folder that is not served as it stands."""
_HOSTS = (
    "https://*.officeapps.live.com https://*.live.com https://*.office.com https://*.office365.com"
    " https://*.sharepoint.com https://*.microsoft365.com https://*.cloud.microsoft"
)
"""The pages in which Excel on the web shows an add-in: every one around it has to be named."""
_SCRIPTS = f"https://{urlsplit(OFFICE_JS).hostname} https://ajax.aspnetcdn.com"
"""Where office.js comes from, which the host demands, and what it loads itself."""
_OFFICE_PAGE = (
    f"default-src 'none'; script-src 'self' {_SCRIPTS}; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none';"
    f" frame-ancestors 'self' {_HOSTS}"
)
_OWN_PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self';"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

MOST_CALLS = 100_000
"""The most calls of one request."""
_PARAMETERS = {one.name: one.parameters for one in FUNCTIONS}
_EXPECTED = 'expected {"calls": [{"f": name, "a": [argument, ...]}, ...]}'

_STATIC = Path(__file__).parent / "static"


def make_app(desk: Desk, gate: Gate) -> ASGIApp:
    """The app over the process's desk, behind its gate.

    Args:
        desk: where all cells ask, from whichever program they come.
        gate: who may ask, and the address and token that Excel is told.
    """
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.add_exception_handler(HTTPException, _no_such_page)
    app.add_exception_handler(TooLargeError, _too_large)
    app.add_exception_handler(Exception, _failed)
    _add_files(app, gate)
    _add_cells(app, desk)
    _add_pane(app, desk)
    _add_static(app)  # the last, for it takes every name
    return Guard(app, gate)


def _add_files(app: FastAPI, gate: Gate) -> None:
    """What Excel, and a person who sets it up, load."""

    @app.get("/excel/")
    async def explained() -> Response:
        return _page(help_page(gate), _OWN_PAGE)

    @app.get("/excel/manifest.xml")
    async def told() -> Response:
        name = {"content-disposition": 'attachment; filename="svc-tools-manifest.xml"'}
        return Response(manifest(gate), media_type="application/xml", headers=name)

    @app.get("/excel/functions.json")
    async def described() -> Response:
        return _json(metadata())

    @app.options("/excel/functions.json")
    async def may_be_read() -> Response:
        return Response(status_code=204, headers={"access-control-allow-methods": "GET"})

    @app.get("/excel/functions.js")
    async def functions() -> Response:
        return Response(functions_script(gate), media_type="text/javascript")

    @app.get("/excel/taskpane.html")
    async def task_pane(office: str = "") -> Response:
        token = gate.token.get_secret_value()
        in_office = office == "1"
        return _page(page(token, office=in_office), _OFFICE_PAGE if in_office else _OWN_PAGE)


def _add_cells(app: FastAPI, desk: Desk) -> None:
    """What the functions ask, those of Excel and those of Calc."""

    @app.post("/excel/batch")
    async def batch(request: Request) -> Response:
        body = await request.body()
        try:
            answer = await in_thread(functools.partial(_computed, desk, body))
        except BadRequestError as error:
            return refusal(400, "INVALID_INPUT", str(error))
        return Response(answer, media_type="application/json")


def _add_static(app: FastAPI) -> None:
    """The files of the add-in as they stand, by their names."""

    @app.get("/excel/{name}")
    async def file(name: str) -> Response:
        path = {one.name: one for one in _STATIC.iterdir()}.get(name)
        if path is None or path.suffix not in _KINDS or name == _MADE:
            raise HTTPException(404)
        return Response(path.read_bytes(), media_type=_KINDS[path.suffix])


def _add_pane(app: FastAPI, desk: Desk) -> None:
    """What the task pane shows and does; what is wrong is in its answers."""

    @app.get("/excel/status")
    async def status() -> Response:
        return await _told(lambda: pages.status(desk))

    @app.post("/excel/refresh")
    async def refresh() -> Response:
        return await _changed(lambda: pages.refresh(desk))

    @app.post("/excel/key")
    async def use_key(request: Request) -> Response:
        try:
            given = json.loads(await request.body())
        except (ValueError, RecursionError):
            given = None
        address, key = map(given.get, ("address", "key")) if isinstance(given, dict) else ("", 0)
        if not (isinstance(address, str) and isinstance(key, str)):  # None is no key "None"
            return refusal(
                400, "INVALID_INPUT", 'expected {"address": the service\'s, "key": the account\'s}'
            )
        secret = SecretStr(key)
        return await _changed(lambda: pages.use_key(desk, address, secret))

    @app.delete("/excel/key")
    async def forget_key() -> Response:
        return await _changed(lambda: pages.forget_key(desk))

    @app.post("/excel/embedded")
    async def use_embedded() -> Response:
        return await _changed(lambda: pages.use_embedded(desk))


def _computed(desk: Desk, body: bytes) -> bytes:
    """The results of a body's calls, all of their places asked for together."""
    calls = read_calls(body)
    results = iter(evaluate(desk, [one for one in calls if not isinstance(one, CellError)]))
    return results_json(one if isinstance(one, CellError) else next(results) for one in calls)


async def _told(work: Callable[[], pages.Told]) -> Response:
    return _json(await in_thread(work))


async def _changed(work: Callable[[], pages.Told]) -> Response:
    """What was told, after which answers that were given before may be others."""
    try:
        return await _told(work)
    finally:
        server_file.renew()


def _json(content: Mapping[str, object]) -> Response:
    return Response(json.dumps(content), media_type="application/json")


def _page(html: str, policy: str) -> Response:
    return Response(html, media_type="text/html", headers={"content-security-policy": policy})


async def _no_such_page(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    code = "METHOD_NOT_ALLOWED" if status == 405 else "NOT_FOUND"  # noqa: PLR2004 - HTTP's number
    return refusal(status, code, "There is no such page here; see /excel/")


async def _too_large(_request: Request, _error: Exception) -> Response:
    return too_large()


async def _failed(_request: Request, _error: Exception) -> Response:
    return failed()


class BadRequestError(ValueError):
    """The body is no batch of calls; the message says what is expected."""


def read_calls(body: bytes) -> list[Call | CellError]:
    """The calls of a request; an error in place of one that this server cannot read or compute.

    One odd cell is the matter of its formula, not of the thousands that were sent with it.

    Raises:
        BadRequestError: the whole body cannot be used.
    """
    try:
        asked = json.loads(body, parse_constant=_refused)
    except (ValueError, RecursionError):
        raise BadRequestError(f"The body is not JSON; {_EXPECTED}") from None
    calls = asked.get("calls") if isinstance(asked, dict) else None
    if not isinstance(calls, list):
        raise BadRequestError(f"The body has no list of calls; {_EXPECTED}")
    if len(calls) > MOST_CALLS:
        raise BadRequestError(
            f"{len(calls):,} calls are too many for one request; {MOST_CALLS:,} at most"
        )
    return [_call(number, one) for number, one in enumerate(calls)]


def results_json(results: Iterable[Result]) -> bytes:
    """The body of the answer."""
    told = {"results": [_result_json(result) for result in results]}
    return json.dumps(told, allow_nan=False, separators=(",", ":")).encode()


def _call(number: int, asked: object) -> Call | CellError:
    name, given = (asked.get("f"), asked.get("a", [])) if isinstance(asked, dict) else (None, None)
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
    try:
        arguments = map(_argument, given)
        if isinstance(asked, dict) and asked.get("from_1904") is True:
            arguments = map(of_1904, arguments)
        return Call(name, (*arguments, *missing))
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
        'A cell is text, a number, true, false, "" (empty) or {"error": "#N/A"}; this is none.'
    )


def _number(given: int) -> float:
    try:
        float(given)
    except OverflowError:
        raise BadValueError("No cell holds a number as large.") from None
    return given


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


def _refused(constant: str) -> float:
    raise BadRequestError(f"{constant} is no number of JSON")
