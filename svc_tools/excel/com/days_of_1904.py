"""Days as numbers in a workbook that counts them from 1904 (made on older Macs).

A date cell arrives as a date, whatever the workbook counts from; a number is a day only by that
count. `DATE(2026,5,1)` in a formula of such a workbook would be read as a day of 2022.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.excel.cell_errors import BadValueError
from svc_tools.excel.functions_lookup import HEADINGS, heading
from svc_tools.excel.values import OMITTED

if TYPE_CHECKING:
    import xlwings as xw

    from svc_tools.excel.registry import Function
    from svc_tools.excel.values import Argument

__all__ = ["with_days"]

_AS_OF = "as_of"
_DAYS_BETWEEN = 1462
"""Between the first days of the two counts."""


def with_days(
    one: Function, arguments: tuple[Argument, ...], cell: xw.Range | None
) -> tuple[Argument, ...]:
    """The arguments with days that are numbers counted from 1900, as the functions take them.

    Raises:
        BadValueError: in a workbook that counts from 1904, the days of a range are numbers.
    """
    names = [parameter.name for parameter in one.parameters]
    place = names.index(_AS_OF) if _AS_OF in names else 0 if one.name == "SVC_LOOKUP" else None
    if cell is None or place is None or place >= len(arguments):
        return arguments
    given = arguments[place]
    if not _holds_number(given) or not cell.sheet.book.api.Date1904:
        return arguments
    if one.name == "SVC_LOOKUP" and not _day_is_number(given):
        return arguments
    if isinstance(given, float) and not isinstance(given, bool):
        days = given + _DAYS_BETWEEN
        return (*arguments[:place], days, *arguments[place + 1 :])
    raise BadValueError(
        "This workbook counts days from 1904, and a day stands here as a number: format these"
        " cells as dates, or write the days as text, such as 2026-05-01."
    )


def _holds_number(given: Argument) -> bool:
    if given is OMITTED:
        return False
    cells = [cell for row in given for cell in row] if isinstance(given, list) else [given]
    return any(isinstance(cell, float) for cell in cells)


def _day_is_number(given: Argument) -> bool:
    """Whether a day may stand as a number: a range without headings has its days third."""
    rows = given if isinstance(given, list) else [[given]]
    heads = [heading(cell) for cell in rows[0]]
    named = any(head in HEADINGS for head in heads)
    if named and _AS_OF not in heads:
        return False
    at = heads.index(_AS_OF) if named else 2
    return any(len(row) > at and isinstance(row[at], float) for row in rows)
