"""The functions of the registry as xlwings functions: `SVC_RATE` and the others, by name.

Excel calls one for each cell; xlwings makes a line of VBA for each from its signature. Three facts
of VBA decide what is here: some names of arguments are reserved; an error has to be a text, since
an exception would reach the cell as one; and a function may be passed the cell that calls it.
`call_in_wizard=False` is not used: where it ends early, the cell would show 0.
"""

from __future__ import annotations

import inspect
import logging
from datetime import date
from typing import TYPE_CHECKING, Any

import xlwings as xw

from svc_tools.config import ConfigurationError
from svc_tools.excel.com.converting import from_com, to_com
from svc_tools.excel.com.formulas import calls_filled_down
from svc_tools.excel.desk import the_desk
from svc_tools.excel.functions import Call, evaluate
from svc_tools.excel.registry import CATEGORY, FUNCTIONS
from svc_tools.excel.values import OMITTED, CellError, NotAvailableError, of_1904

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_tools.excel.com.converting import ComResult
    from svc_tools.excel.registry import Function

__all__ = [one.name for one in FUNCTIONS]  # what `import *` of the workbook's module brings
_CALLER = "calling_cell"
_RESERVED = frozenset({"type", "range"})
"""Names that VBA reserves, or that its generated code uses."""
_log = logging.getLogger(__name__)


def _computed(one: Function, arguments: tuple[object, ...], cell: xw.Range | None) -> ComResult:
    """What a cell that calls a function shows; nothing is raised.

    Args:
        one: the function.
        arguments: as xlwings hands them over; `OMITTED` for what the formula leaves out.
        cell: the calling cell; `None` where a program calls.
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
        return to_com(NotAvailableError(str(error), "FAILED"))
    except Exception as error:  # noqa: BLE001 - VBA would show its text, whatever it holds
        _log.warning("%s could not be computed: %s", one.name, type(error).__name__)
        return to_com(NotAvailableError(f"{one.name} could not be computed.", "FAILED"))


def _may_hold_day(one: Function, call: Call) -> bool:
    """Whether a number or a date is passed where days are expected."""
    for parameter, given in zip(one.parameters, call.arguments, strict=False):
        if parameter.name == "as_of" or one.name == "SVC_LOOKUP":
            rows = given if isinstance(given, list) else [[given]]
            if any(isinstance(cell, float | date) for row in rows for cell in row):
                return True
    return False


def _function(one: Function) -> Callable[..., Any]:
    """A function with the signature, help and decorators from which xlwings makes VBA."""
    count = len(one.parameters)

    def function(*arguments: Any) -> ComResult:  # noqa: ANN401 - what xlwings hands over
        cell = arguments[count] if len(arguments) > count else None
        return _computed(one, arguments[:count], cell)

    parameters = [
        inspect.Parameter(
            _vba_name(parameter.name),
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
        name = _vba_name(parameter.name)
        marked = xw.arg(name, ndim=2, err_to_str=True, doc=parameter.help)(marked)
    if _wants_cell(one):
        # not the argument `caller` of xlwings: that needs early binding, which is often broken
        marked = xw.arg(_CALLER, xw.Range, vba="Application.Caller")(marked)
    made: Callable[..., Any] = xw.func(category=CATEGORY, volatile=one.volatile)(marked)
    return made


def _wants_cell(one: Function) -> bool:
    """Whether a function gets the calling cell: those that look a place up on a day."""
    names = {parameter.name for parameter in one.parameters}
    return "as_of" in names or one.name == "SVC_LOOKUP"


def _vba_name(name: str) -> str:
    """An argument's name in VBA: the registry's, with a "_" where VBA reserves it."""
    return f"{name}_" if name in _RESERVED else name


globals().update({one.name: _function(one) for one in FUNCTIONS})
