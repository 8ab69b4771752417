"""The JSON of `/excel/batch`: calls in, results out. Pure.

Asked: {"calls": [{"f": "SVC_RATE", "a": ["TX", 78701]}, ...]}. An argument is null where it was
left out, a scalar, or rows of scalars; "" is an empty cell, {"error": "#N/A"} an error value. A
call with "from_1904": true is of a workbook that counts dates from 1904.

Answered: {"results": [...]}, one for each call in their order: {"v": scalar or rows}, or
{"e": "na" or "value", "m": sentence}. A cell inside rows may be such an error itself.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from svc_tools.excel.cell_errors import BadValueError, CellError, NotAvailableError
from svc_tools.excel.evaluating import Call
from svc_tools.excel.registry import FUNCTIONS
from svc_tools.excel.values import OMITTED, ErrorCell, of_1904

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_tools.excel.values import Argument, Result, Scalar

__all__ = ["MOST_CALLS", "BadRequestError", "read_calls", "results_json"]

MOST_CALLS = 100_000
"""The most calls of one request."""

_PARAMETERS = {one.name: one.parameters for one in FUNCTIONS}
_EXPECTED = 'expected {"calls": [{"f": name, "a": [argument, ...]}, ...]}'


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
    told = {"results": [_told(result) for result in results]}
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


def _told(result: Result) -> dict[str, Any]:
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
