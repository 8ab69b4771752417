"""The functions of the spreadsheet: names, arguments and help, the same in every adapter.

They are listed in `functions.toml`. What they compute is in `functions`; the adapters convert the
values of each host.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CATEGORY = "Sales tax"
"""The category of the functions in a spreadsheet."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of a function: one cell, a range or a constant."""

    name: str
    help: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the spreadsheet; its optional parameters are the last.

    Attributes:
        spills: whether one cell of input may give several cells of output. The others give one
            cell for each cell of their ranges.
        volatile: whether every recalculation computes it again.
    """

    name: str
    help: str
    parameters: tuple[Parameter, ...] = ()
    spills: bool = False
    volatile: bool = False

    @property
    def signature(self) -> str:
        """The name with its arguments, the optional ones in brackets."""
        shown = (
            f"[{parameter.name}]" if parameter.optional else parameter.name
            for parameter in self.parameters
        )
        return f"{self.name}({', '.join(shown)})"

    @property
    def zeros(self) -> list[int]:
        """The positions of the amounts, where the number 0 is not an empty cell.

        Desktop Excel passes the empty cells of a range as the number 0, Excel on the web as null.
        No state, ZIP, day or name is 0, and no place of the country lies at 0 degrees. In an
        amount an empty cell counts as much as a 0.
        """
        return [0] if self.name in {"SVC_TAX", "SVC_SUM"} else []


_LISTED = tomllib.loads(Path(__file__).with_name("functions.toml").read_text(encoding="utf-8"))
_ARGUMENTS = _LISTED.pop("arguments")
CELL_FORMS: Mapping[str, str] = _LISTED.pop("forms")
"""How a cell shows a field of a result, by the form of its column; the others are text."""


def _function(name: str, listed: Mapping[str, Any]) -> Function:
    """A function of `functions.toml`."""
    help_of = {**_ARGUMENTS, **listed}
    arguments = [
        (argument.rstrip("?"), argument.endswith("?")) for argument in listed["arguments"].split()
    ]
    parameters = tuple(
        Parameter(argument, help_of[argument], optional) for argument, optional in arguments
    )
    spills, volatile = listed.get("spills", False), listed.get("volatile", False)
    return Function(name, listed["help"], parameters, spills, volatile)


FUNCTIONS = tuple(_function(name, listed) for name, listed in _LISTED.items())
_BY_NAME = {definition.name: definition for definition in FUNCTIONS}


def function(name: str) -> Function:
    """The function of that name, in capitals; a `KeyError` where there is none."""
    return _BY_NAME[name]


_Argument: TypeAlias = "str | float | bool | date | list[list[str | float]]"
"""A constant, or rows of constants for a range."""
EXAMPLES: Mapping[str, tuple[_Argument, ...]] = {
    name: tuple(listed["example"]) for name, listed in _LISTED.items()
}
"""The arguments of an example of each function, which the task pane inserts and the guide shows."""


def formula(name: str, arguments: Sequence[_Argument]) -> str:
    """The formula as typed into a cell of an English Excel."""
    return f"={name}({', '.join(map(_typed, arguments))})"


def _typed(argument: _Argument) -> str:
    if isinstance(argument, list):
        return "{" + "; ".join(", ".join(map(_typed, row)) for row in argument) + "}"
    if isinstance(argument, bool):
        return str(argument).upper()
    if isinstance(argument, date):
        return f"DATE({argument.year}, {argument.month}, {argument.day})"
    if isinstance(argument, str):
        return '"' + argument.replace('"', '""') + '"'
    return f"{argument:.15g}"
