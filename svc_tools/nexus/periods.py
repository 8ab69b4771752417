"""The times over which states measure sales, as first and last days. Pure.

A rolling time has a window for each day it may end on; the others' windows begin with a month.
What lies behind the day that is asked about is never part of a window.
"""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from svc_tools.nexus.thresholds import Measured

__all__ = ["Window", "earlier_windows", "last_end", "months_before", "rolling_firsts", "windows"]

_YEAR, _QUARTER = 12, 3
_SEPTEMBER = 9
_QUARTER_ENDS = {"NY": 2}
"""The month of a state's sales-tax quarters' ends where it is not March: the first of the year."""
_MARCH = 3


@dataclass(frozen=True, slots=True)
class Window:
    """A time over which sales are added up.

    Attributes:
        first: its first day.
        last: its last day.
        words: what it is called in a sentence.
    """

    first: date
    last: date
    words: str


def windows(period: Measured, as_of: date, state: str = "") -> tuple[Window, ...]:
    """The windows that count on a day, the current one last.

    Args:
        period: how the state measures; for "current_or_previous_year" there are two windows.
        as_of: the day that is asked about; it counts itself.
        state: its code; New York's quarters end with February, May, August and November.
    """
    year = as_of.year
    if period == "current_or_previous_year":
        return (_calendar_year(year - 1), _calendar_year(year, as_of))
    if period == "previous_year":
        return (_calendar_year(year - 1),)
    if period == "four_quarters":
        return (_four_quarters(as_of, _QUARTER_ENDS.get(state, _MARCH)),)
    if period == "twelve_months_to_september":
        end = year if as_of >= date(year, _SEPTEMBER, 30) else year - 1
        last = date(end, _SEPTEMBER, 30)
        return (Window(date(end - 1, _SEPTEMBER + 1, 1), last, f"the 12 months to {last}"),)
    first = months_before(as_of, _YEAR) + timedelta(days=1)
    return (Window(first, as_of, f"the 12 months to {as_of}"),)


def earlier_windows(
    period: Measured, as_of: date, months: int, state: str = ""
) -> tuple[Window, ...]:
    """The windows that counted on days of the last `months` before a day, and count no more.

    For a rolling time it is the one that ended so many months before; all that end between that
    one and the day count, too.
    """
    now = set(windows(period, as_of, state))
    if period == "rolling_12_months":
        return windows(period, months_before(as_of, months)) if months else ()
    found: dict[Window, None] = {}
    for month in range(1, months + 1):
        for window in windows(period, months_before(as_of, month), state):
            whole = _calendar_year(window.first.year) if _is_year(period) else window
            if whole.last < as_of and whole not in now:
                found[whole] = None
    return tuple(sorted(found, key=lambda window: window.first))


def months_before(day: date, months: int) -> date:
    """The same day so many months before; the month's last one where it has none of that number."""
    year, month = divmod(day.year * _YEAR + day.month - 1 - months, _YEAR)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def last_end(as_of: date) -> date:
    """The last day of the calendar quarter that was completed last.

    States that measure 12 months let them end with a day, a month or a quarter. What is below for
    each 12 months that end between this day and the one asked about is below for all of them.
    """
    return _four_quarters(as_of, _MARCH).last


def rolling_firsts(days: np.ndarray) -> np.ndarray:
    """The first day of the 12 months that end on each day, both as `datetime64[D]`."""
    months = days.astype("datetime64[M]")
    of_month = days - months.astype("datetime64[D]")
    before = months - _YEAR
    longest = (before + 1).astype("datetime64[D]") - before.astype("datetime64[D]") - 1
    same = before.astype("datetime64[D]") + np.minimum(of_month, longest)
    firsts: np.ndarray = same + 1
    return firsts


def _is_year(period: Measured) -> bool:
    return period in {"current_or_previous_year", "previous_year"}


def _calendar_year(year: int, to: date | None = None) -> Window:
    last = date(year, 12, 31)
    if to is None or to >= last:
        return Window(date(year, 1, 1), last, f"calendar year {year}")
    return Window(date(year, 1, 1), to, f"calendar year {year} to {to}")


def _four_quarters(as_of: date, first_end: int) -> Window:
    """The last four quarters that have ended; a quarter has ended on its last day."""
    month = as_of.year * _YEAR + as_of.month  # the number of months that have begun
    if as_of.day < monthrange(as_of.year, as_of.month)[1]:
        month -= 1
    month -= (month - first_end) % _QUARTER
    year, end = divmod(month - 1, _YEAR)
    last = date(year, end + 1, monthrange(year, end + 1)[1])
    year, begin = divmod(month - _YEAR, _YEAR)
    return Window(date(year, begin + 1, 1), last, f"the four quarters to {last}")
