"""The text and the calendar date of a cell, and the period that a date lies in. Pure."""

from __future__ import annotations

import re
import zoneinfo
from datetime import date, datetime, tzinfo
from typing import Literal, get_args

Grain = Literal["day", "month", "quarter"]

_MISSING_WORDS = {"", "nan", "none", "null", "n/a", "na", "#n/a", "<na>", "nat", "-"}

GRAINS: tuple[str, ...] = get_args(Grain)
"""The grains of dates in queries, the finest first."""
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].*)?|(?:19|20)[0-9]{6}")
_DIGITS = re.compile(r"((?:19|20)[0-9]{6})\.0+")
"""A date such as 20260501 in a column of floats: one missing cell makes floats of integers."""
_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}")
_SERIAL = re.compile(r"[3-6][0-9]{4}(?:\.[0-9]+)?")
"""The serial number of a day in spreadsheets, from 1982 to 2091."""


_OF_A_FORMAT = "convert the column to dates, or give the date format, such as %m/%d/%Y"
_OF_A_SHEET = "it may be a spreadsheet's day number: format the cells of the column as dates"


def day_of(value: object, tz: tzinfo | None = None) -> date | None:
    """The calendar date of a cell; text must be ISO, for 03/04/2024 has two meanings.

    Args:
        value: the cell.
        tz: the time zone of the calendar date where the cell is a moment with a time zone; one
            without has its own date.

    Raises:
        ValueError: it is not a date, or a moment with a time zone and `tz` is missing.
    """
    text = text_of(value)
    if text is None:
        return None
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    if digits := _DIGITS.fullmatch(text):
        text = digits[1]
    try:
        # other forms of ISO would turn numbers, such as a time in milliseconds, into dates
        if not isinstance(value, datetime) and not _DATE.fullmatch(text):
            raise ValueError  # noqa: TRY301 - the one message below
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(text)
    except ValueError:
        if _MONTH.fullmatch(text):
            raise ValueError(
                f"as_of: {text} is a month, and a rate is that of a day; name one in the column,"
                f" for instance the first: {text}-01"
            ) from None
        how = _OF_A_SHEET if _SERIAL.fullmatch(text) else _OF_A_FORMAT
        raise ValueError(
            f"as_of: {text[:40]!r} is not an ISO date such as '2026-05-01'; {how}"
        ) from None
    if moment.tzinfo is None:
        return moment.date()
    if tz is None:
        raise ValueError(
            f"as_of: {text[:40]} is a moment in a time zone, so its calendar date depends on the"
            " place; name the time zone whose date counts, such as America/Chicago"
        )
    try:
        return moment.astimezone(tz).date()
    except OverflowError:  # the first and the last possible day
        raise ValueError(f"as_of: {text[:40]} is out of range") from None


def first_day(day: date, grain: Grain) -> date:
    """The first day of the period that a day lies in; the day itself for "day"."""
    if grain == "day":
        return day
    return date(day.year, day.month if grain == "month" else (day.month - 1) // 3 * 3 + 1, 1)


def time_zone(name: str | tzinfo | None) -> tzinfo | None:
    """A time zone, also by its name ("America/Chicago").

    Raises:
        ValueError: there is no such zone.
        TypeError: neither a name nor a zone.
    """
    if name is None or isinstance(name, tzinfo):
        return name
    if not isinstance(name, str):
        raise TypeError(f"tz: expected a name such as 'America/Chicago', not {type(name).__name__}")
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"tz: {name!r} is not the name of a time zone; expected one such as 'America/Chicago',"
            " 'America/New_York' or 'UTC'"
        ) from None


def text_of(value: object) -> str | None:
    """The cell's text with single blanks, `None` where it is missing in one of the usual ways."""
    try:
        if value is None or value != value:  # noqa: PLR0124 - NaN and NaT differ from themselves
            return None
    except (TypeError, ValueError):
        pass  # comparing pandas' NA raises: its text is among the words below
    text = " ".join(str(value).split())
    return None if text.lower() in _MISSING_WORDS else text
