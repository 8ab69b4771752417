"""Rules of more than one sheet: how an error looks, and what a cell for a state offers."""

from __future__ import annotations

from svc_tools.excel.workbook.cells import Choice, Rule
from svc_tools.places import STATES

__all__ = ["error_rule", "partial_rule", "state_choice"]

_CODES = tuple(sorted(STATES))


def error_rule(area: str, cell: str) -> Rule:
    """Errors are red, whether they are texts or the spreadsheet's own.

    Args:
        area: the cells.
        cell: the first of them, as the formula names it.
    """
    return Rule(area, f'=IF(ISERROR({cell}),TRUE,LEFT({cell},1)="#")', "is_error")


def partial_rule(area: str, cell: str) -> Rule:
    """A rate that lacks a part is amber; this rule goes before that of errors."""
    return Rule(area, f'=EXACT({cell},"#PARTIAL")', "is_partial")


def state_choice(area: str) -> Choice:
    """The postal codes to choose from; a name may be typed."""
    return Choice(
        area,
        _CODES,
        "State",
        "Postal codes such as TX are expected; names such as Texas are understood as well."
        " Keep it?",
    )
