"""Checks every value passes before it may enter a book: nothing is rounded, nothing guessed."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

from svc_sdk.rates import rate_to_decimal, rate_to_units

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_tools.service.ratebook.schema import RateRow

__all__ = [
    "RowError",
    "fraction_units",
    "iso_date",
    "month_later",
    "percent_text",
    "percent_units",
    "quarter_end",
    "spans_overlap",
    "sst_date",
    "sst_end",
]

MAX_UNITS = 25_000
"""No general sales tax in the United States, and no part of one, reaches 25 %."""

_YEARS = range(1930, 2100)
_OPEN_ENDS = frozenset({"29991231", "99991231", "20991231"})
_QUARTERS = 4


class RowError(ValueError):
    """A value that may not enter the book; the message says why."""


def _bounded(units: int, given: str) -> int:
    if not 0 <= units <= MAX_UNITS:
        raise RowError(f"rate {given} is outside 0 to 25 %")
    return units


def fraction_units(text: str) -> int:
    """Units of a rate given as a fraction: `"0.0825"`, or `".0825"`, gives `8250`.

    Raises:
        RowError: not a number, outside 0 to 25 %, or digits beyond the fifth decimal.
    """
    digits = text.strip()
    try:
        return _bounded(rate_to_units(f"0{digits}" if digits.startswith(".") else digits), text)
    except RowError:
        raise
    except ValueError as error:
        raise RowError(str(error)) from error


def percent_units(text: str) -> int:
    """Units of a rate given in percent: `"8.25"` gives `8250`. Raises as `fraction_units`."""
    try:
        percent = rate_to_decimal(text.strip())
    except ValueError as error:
        raise RowError(str(error)) from error
    return fraction_units(format(percent * Decimal("0.01"), "f"))


def percent_text(units: int) -> str:
    """Units as a person reads a rate: `9375` gives `"9.375 %"`, `500` gives `"0.50 %"`."""
    whole, rest = divmod(units, 1_000)
    return f"{whole}.{f'{rest:03d}'.removesuffix('0')} %"


def iso_date(text: str) -> date:
    """A date `YYYY-MM-DD`.

    Raises:
        RowError: not such a date, or not of the years 1930 to 2099.
    """
    try:
        day = date.fromisoformat(text.strip())
    except ValueError as error:
        raise RowError(f"{text!r} is not a date") from error
    if day.year not in _YEARS:
        raise RowError(f"{text!r} is not a date of the years 1930 to 2099")
    return day


def sst_date(text: str) -> date:
    """A date `YYYYMMDD`. Raises as `iso_date`."""
    if len(text) != len("YYYYMMDD") or not text.isdigit():
        raise RowError(f"{text!r} is not a date of the form YYYYMMDD")
    return iso_date(f"{text[:4]}-{text[4:6]}-{text[6:]}")


def sst_end(text: str) -> date | None:
    """The end date of an SST row, `None` where it is one of the values that mean open."""
    return None if text in _OPEN_ENDS else sst_date(text)


def quarter_end(year: int, quarter: int, *, later: int = 0) -> date:
    """The last day of a calendar quarter, or of the one `later` quarters after it."""
    if quarter not in range(1, _QUARTERS + 1):
        raise RowError(f"quarter {quarter} is not 1 to 4")
    index = year * _QUARTERS + quarter + later
    return date(index // _QUARTERS, index % _QUARTERS * 3 + 1, 1) - timedelta(days=1)


def month_later(day: date, months: int) -> date:
    """The last day of a span of whole months that begins on `day` (a day up to the 28th)."""
    index = day.year * 12 + day.month - 1 + months
    return date(index // 12, index % 12 + 1, day.day) - timedelta(days=1)


def spans_overlap(rows: Iterable[RateRow]) -> str:
    """Why the rows of one jurisdiction cannot stand side by side; empty when they can."""
    ordered = sorted(rows, key=lambda row: row.begin or date.min)
    for row in ordered:
        if row.begin and row.end and row.end < row.begin:
            return f"a span ends on {row.end}, before it begins on {row.begin}"
    for earlier, later in pairwise(ordered):
        if earlier.end is None or (later.begin or date.min) <= earlier.end:
            return f"the spans from {earlier.begin} and from {later.begin} overlap"
    return ""
