"""The days that a cell can mean after a spreadsheet rewrote a date. Pure.

03/04/2024 has two meanings: both are offered, and the caller, who knows what was written, chooses.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["days_meant"]

_ISO = re.compile(r"([0-9]{4})[-/.]([0-9]{1,2})[-/.]([0-9]{1,2})(?:[T ].*)?")
_PARTS = re.compile(r"([0-9]{1,2})[-/. ]+([0-9]{1,2})[-/. ]+([0-9]{2}|[0-9]{4})(?: .*)?")
_SERIAL = re.compile(r"([1-9][0-9]{0,5})(?:\.0*)?")
_NAMED = ("%d-%b-%y", "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d-%B-%Y")
_EPOCHS = (date(1899, 12, 30), date(1904, 1, 1))
"""The days from which spreadsheets count, the usual one and that of old workbooks."""
_TWO_DIGITS = 100


def days_meant(value: object) -> Iterator[date]:
    """Each day that the cell can mean, the likeliest first; none where it is no date."""
    if isinstance(value, datetime):
        yield value.date()
    elif isinstance(value, date):
        yield value
    elif value is not None:
        text = " ".join(str(value).split())
        yield from dict.fromkeys(day for day in _of_text(text) if day is not None)


def _of_text(text: str) -> Iterator[date | None]:
    if found := _ISO.fullmatch(text):
        yield _day(int(found[1]), int(found[2]), int(found[3]))
    if found := _PARTS.fullmatch(text):
        first, second, last = (int(part) for part in found.groups())
        for year in [last] if last >= _TWO_DIGITS else [2000 + last, 1900 + last]:
            yield _day(year, first, second)
            yield _day(year, second, first)
    if found := _SERIAL.fullmatch(text):
        for epoch in _EPOCHS:
            yield epoch + timedelta(int(found[1]))
    for form in _NAMED:
        try:
            yield datetime.strptime(text, form).date()  # noqa: DTZ007 - a day has no zone
        except ValueError:
            continue


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
