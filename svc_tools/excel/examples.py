"""An example of each function, to copy into a cell: what the pane inserts and the guide shows."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["EXAMPLES", "formula"]

Argument: TypeAlias = "str | float | bool | date | list[list[str | float]]"
"""A constant, or rows of constants for a range."""

_DAY = date(2026, 2, 1)
_ONE: tuple[Argument, ...] = ("CA", "94105", _DAY)

EXAMPLES: Mapping[str, tuple[Argument, ...]] = {
    "SVC_RATE": _ONE,
    "SVC_RATE_ADDRESS": ("NJ", "95 River St", "Hoboken", "07030", _DAY),
    "SVC_RATE_PLACE": ("WA", "Seattle", date(2024, 6, 1)),
    "SVC_RATE_GEO": ("CA", 34.0537, -118.2428, _DAY),
    "SVC_TAX": (19.99, *_ONE),
    "SVC_SUM": ([[19.99], [4.0]],),
    "SVC_LOOKUP": ([["CA", "94105"], ["WA", "98101"]], "combined_rate, confidence", True),
    "SVC_FIELD": ("county_rate", *_ONE),
    "SVC_CONFIDENCE": _ONE,
    "SVC_WARNINGS": _ONE,
    "SVC_STATUS": _ONE,
    "SVC_FIELDS": (),
    "SVC_ASOF": _ONE,
    "SVC_SOURCE": (),
    "SVC_NEXUS": (),
    "SVC_NEXUS_STATUS": ("TX",),
}
"""The arguments of each function's example, by its name in the registry."""


def formula(name: str, arguments: Sequence[Argument]) -> str:
    """The formula as it is typed into a cell of Excel in English.

    Args:
        name: the function as the spreadsheet calls it.
        arguments: its arguments, in order.
    """
    return f"={name}({', '.join(map(_typed, arguments))})"


def _typed(argument: Argument) -> str:
    if isinstance(argument, list):
        return "{" + "; ".join(", ".join(map(_typed, row)) for row in argument) + "}"
    if isinstance(argument, bool):
        return str(argument).upper()
    if isinstance(argument, date):
        return f"DATE({argument.year}, {argument.month}, {argument.day})"
    if isinstance(argument, str):
        doubled = argument.replace('"', '""')
        return f'"{doubled}"'
    return f"{argument:.15g}"
