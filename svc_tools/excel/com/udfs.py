"""The functions of the registry as xlwings functions: `SVC_RATE` and the others, by name.

Excel calls one for each cell; xlwings makes a line of VBA for each from its signature. Three facts
of VBA decide what stands here: some names of arguments are taken; an error has to be a text, for
an exception would reach the cell as one; and a function may be told the cell that calls it.
`call_in_wizard=False` is not used: where it ends early, the cell would show 0.
"""

from __future__ import annotations

import inspect
import logging
from datetime import date
from typing import TYPE_CHECKING, Any

import xlwings as xw

from svc_tools.config import ConfigurationError
from svc_tools.excel.cell_errors import CellError, NotAvailableError
from svc_tools.excel.com.converting import from_com, to_com
from svc_tools.excel.com.filled_down import calls_filled_down
from svc_tools.excel.desk import the_desk
from svc_tools.excel.evaluating import Call, evaluate
from svc_tools.excel.registry import CATEGORY, FUNCTIONS
from svc_tools.excel.values import OMITTED, of_1904

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_tools.excel.com.converting import ComResult
    from svc_tools.excel.registry import Function

__all__ = [one.name for one in FUNCTIONS]

_TAKEN = frozenset({"type", "range"})
"""Names that VBA keeps for itself, or that its generated code uses."""
_CALLER = "calling_cell"

_log = logging.getLogger(__name__)


def vba_name(name: str) -> str:
    """An argument's name in VBA: the registry's, with a "_" where VBA has taken it."""
    return f"{name}_" if name in _TAKEN else name


def answer(one: Function, arguments: tuple[object, ...], cell: xw.Range | None = None) -> ComResult:
    """What a cell shows that calls a function; nothing is raised.

    Args:
        one: the function.
        arguments: as xlwings hands them over; `OMITTED` for what the formula leaves out.
        cell: the calling cell, an `xlwings.Range`; `None` where a program calls.
    """
    try:
        call = Call(one.name, tuple(map(from_com, arguments)))
        desk = the_desk()
        if cell is not None and _may_hold_day(one, call) and cell.sheet.book.api.Date1904:
            call = Call(one.name, tuple(map(of_1904, call.arguments)))
            cell = None  # the other rows of the column are refused as well
        more = calls_filled_down(desk, one, call, cell)
        return to_com(evaluate(desk, [call, *more])[0])
    except CellError as error:
        return to_com(error)
    except ConfigurationError as error:
        return to_com(NotAvailableError(f"{error}", "FAILED"))
    except Exception as error:  # noqa: BLE001 - VBA would show its text, whatever it holds
        _log.warning("%s could not be computed: %s", one.name, type(error).__name__)
        return to_com(NotAvailableError(f"{one.name} could not be computed.", "FAILED"))


def _may_hold_day(one: Function, call: Call) -> bool:
    """Whether a number or a date is given where days are."""
    for parameter, given in zip(one.parameters, call.arguments, strict=False):
        if parameter.name == "as_of" or one.name == "SVC_LOOKUP":
            rows = given if isinstance(given, list) else [[given]]
            if any(isinstance(cell, float | date) for row in rows for cell in row):
                return True
    return False


def _wants_cell(one: Function) -> bool:
    """Whether a function looks at the calling cell: those that ask for a place on a day."""
    names = {parameter.name for parameter in one.parameters}
    return "as_of" in names or one.name == "SVC_LOOKUP"


def _function(one: Function) -> Callable[..., Any]:
    """One function, with the signature, the help and the marks from which xlwings makes VBA."""
    count = len(one.parameters)

    def function(*arguments: Any) -> ComResult:  # noqa: ANN401 - what xlwings hands over
        return answer(one, arguments[:count], *arguments[count:])

    parameters = [
        inspect.Parameter(
            vba_name(parameter.name),
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=OMITTED if parameter.optional else inspect.Parameter.empty,
        )
        for parameter in one.parameters
    ]
    if _wants_cell(one):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters.append(inspect.Parameter(_CALLER, kind, default=None))
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = one.name
    function.__doc__ = one.help
    function.__annotations__ = {}  # xlwings would take them for converters
    marked: Any = function
    for parameter in one.parameters:
        name = vba_name(parameter.name)
        marked = xw.arg(name, ndim=2, err_to_str=True, doc=parameter.help)(marked)
    if _wants_cell(one):
        # not the argument `caller` of xlwings: that needs early binding, which often is broken
        marked = xw.arg(_CALLER, xw.Range, vba="Application.Caller")(marked)
    made: Callable[..., Any] = xw.func(category=CATEGORY, volatile=one.volatile)(marked)
    return made


globals().update({one.name: _function(one) for one in FUNCTIONS})
