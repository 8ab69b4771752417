"""The day that a cell means: a date cell, its serial number, or ISO text. Pure."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from svc_tools.excel.cell_errors import BadValueError
from svc_tools.excel.values import DateOf1904, NumberOf1904, is_empty
from svc_tools.places import day_of

if TYPE_CHECKING:
    from svc_tools.excel.values import Scalar

__all__ = ["FIRST_DAY", "FROM_1904", "day_in"]

FROM_1904 = (
    "This workbook counts dates from 1904; turn that off (Excel: File > Options > Advanced; Calc:"
    " Tools > Options > LibreOffice Calc > Calculate), then enter the dates again, or write them as"
    " text, such as 2026-05-01."
)
"""Why a date of such a workbook is refused: it could be read as one four years off."""

FIRST_DAY = date(1899, 12, 30)
"""Day 0 of a spreadsheet, as all its days after February 1900 count."""
_SERIALS = range(30_000, 70_000)
"""The serial numbers that are taken for days: 1982-02-18 to 2091-08-24."""
_WRITTEN = range(19_000_101, 21_000_000)
"""A day written as one number: 20260501."""
_EXPECTED = "give a date cell, or text such as 2026-05-01"
_TWO_MEANINGS = re.compile(r"[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4}")
_SHOWN = 40


def day_in(value: Scalar) -> date:
    """The day in the cell `as_of`.

    Raises:
        BadValueError: it is empty or no day, or the workbook counts dates from 1904. Text must be
            ISO: 03/04/2024 has two meanings.
    """
    if isinstance(value, DateOf1904 | NumberOf1904):
        raise BadValueError(FROM_1904)
    if is_empty(value):
        raise BadValueError(
            f"as_of is an empty cell: {_EXPECTED}. Left out of the formula it means today, which"
            " changes with time."
        )
    if isinstance(value, date):
        return _in_range(value.date() if isinstance(value, datetime) else value)
    if isinstance(value, bool):
        raise BadValueError(f"as_of: {str(value).upper()} is not a day; {_EXPECTED}.")
    if isinstance(value, int | float):
        return _of_number(value)
    return _of_text(str(value))


def _of_number(value: float) -> date:
    day = int(value // 1)  # what stands behind the point is the time of the day
    if day in _SERIALS:
        return FIRST_DAY + timedelta(days=day)
    if day == value and day in _WRITTEN and (found := _iso(str(day))):
        return _in_range(found)
    raise BadValueError(
        f"as_of: {value:.15g} is not the number of a day from 1982 to 2091; {_EXPECTED}."
    )


def _in_range(day: date) -> date:
    """A day that a sale can have; the date cell of an empty one is of 1899."""
    if (day - FIRST_DAY).days not in _SERIALS:
        raise BadValueError(f"as_of: {day} is not a day from 1982 to 2091; {_EXPECTED}.")
    return day


def _of_text(text: str) -> date:
    shown = text.strip().lstrip("'").strip()
    if found := _iso(shown):
        return _in_range(found)
    why = "may mean two days" if _TWO_MEANINGS.match(shown) else "is not a date in ISO form"
    raise BadValueError(f'as_of: "{shown[:_SHOWN]}" {why}; {_EXPECTED}.')


def _iso(text: str) -> date | None:
    try:
        return day_of(text)
    except ValueError:
        return None
