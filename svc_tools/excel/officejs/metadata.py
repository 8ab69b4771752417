"""What Excel is told of the functions: the JSON metadata of custom functions, from the registry.

Excel puts the add-in's namespace before every name, so SVC_RATE is `=SVC.RATE(...)` there. An id
names a function in saved workbooks: it never changes once it was out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from svc_tools.excel.registry import FUNCTIONS

if TYPE_CHECKING:
    from svc_tools.excel.registry import Function

__all__ = [
    "NAMESPACE",
    "function_id",
    "host_name",
    "host_text",
    "metadata",
    "zeros_kept",
]

NAMESPACE = "SVC"
"""What stands before the dot of every function in Excel."""

_PREFIX = f"{NAMESPACE}_"
_NAME = re.compile(rf"\b{_PREFIX}[A-Z_]+\b")
_ZERO_IS_A_VALUE = {("SVC_TAX", "amount"), ("SVC_SUM", "range")}
"""The arguments where the number 0 is something else than an empty cell."""


def host_name(name: str) -> str:
    """How a function of the registry is written in Excel: SVC_RATE is SVC.RATE."""
    return f"{NAMESPACE}.{name.removeprefix(_PREFIX)}"


def host_text(text: str) -> str:
    """A help text of the registry with the functions as they are written in Excel."""
    return _NAME.sub(lambda found: host_name(found[0]), text)


def function_id(name: str) -> str:
    """The id of a function: letters, digits and periods, which every rule for ids allows."""
    return name.removeprefix(_PREFIX).replace("_", ".")


def zeros_kept(function: Function) -> list[int]:
    """The positions of the arguments whose zeros are meant.

    Desktop Excel hands over the empty cells of a range as the number 0, Excel on the web as null.
    No state, ZIP, day or name is 0, and no place of the country lies at 0 degrees: there a 0 is an
    empty cell. In the others an empty cell counts as much as a 0.
    """
    return [
        position
        for position, one in enumerate(function.parameters)
        if (function.name, one.name) in _ZERO_IS_A_VALUE
    ]


def metadata() -> dict[str, Any]:
    """The content of `functions.json`.

    Every argument is a matrix: so one that was left out (null) is told from an empty cell (a
    matrix of one), and a range gives a range. Errors of the sheet come in as values.
    """
    return {
        "allowErrorForDataTypeAny": True,
        "functions": [_described(function) for function in FUNCTIONS],
    }


def _described(function: Function) -> dict[str, Any]:
    return {
        "id": function_id(function.name),
        "name": function.name.removeprefix(_PREFIX),
        "description": host_text(function.help),
        "parameters": [
            {
                "name": one.name,
                "description": host_text(one.help),
                "type": "any",
                "dimensionality": "matrix",
                "optional": one.optional,
            }
            for one in function.parameters
        ],
        "result": {"type": "any", "dimensionality": "matrix"},
        "options": {"cancelable": True, "volatile": function.volatile},
    }
