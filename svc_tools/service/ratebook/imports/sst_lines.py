"""The lines of an SST rate file: checked strictly, and written in one way.

Codes are padded (a county has 3 digits, a place 5) and in capitals, as boundary files have them:
a code written in two ways would be a jurisdiction without a rate for one of the two files.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.formats.checks import RowError, sst_date, sst_end
from svc_tools.service.ratebook.imports.codes import CITY, COUNTY, STATE
from svc_tools.service.ratebook.imports.errors import BrokenLine
from svc_tools.service.ratebook.imports.lines import csv_lines, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["RATE_COLUMNS", "RateLine", "rate_lines", "without_blank_end"]

RATE_COLUMNS = 9

RateLine = tuple[int, list[str]]
"""Number of a line and its nine fields."""

_WIDTHS = {STATE: 2, COUNTY: 3, CITY: 5}
_RATE = (
    "rate",
    re.compile(r"0?\.\d{1,10}|[01](?:\.\d{0,10})?", re.ASCII),
    "a fraction of 0 to 1, such as 0.0625 for 6.25 %",
)
_FORMS = (
    ("type", re.compile(r"\d{1,2}", re.ASCII), "two digits, such as 00 for a county"),
    ("code", re.compile(r"[0-9A-Za-z-]{1,12}", re.ASCII), "a code, such as 053"),
    *([_RATE] * 4),
)
"""What stands in the columns from the second to the seventh."""

_MAY_BE_BLANK = frozenset((6, 7))
"""The rates of food and drugs."""

_FAR = re.compile(r"2[1-9]\d{6}|[3-9]\d{7}", re.ASCII)
_OPEN_END = "99991231"


def rate_lines(text: str, name: str, fips: str) -> list[RateLine]:
    """The lines of a rate file; whatever is no row of one stops the import.

    Args:
        text: the file.
        name: its name, for messages.
        fips: two digits: the state that every line must be of.

    Raises:
        BrokenLine: with the number of the line, what stands there and what was expected.
    """
    found = []
    for number, raw in csv_lines(text, name):
        fields = list(without_blank_end([field.strip() for field in raw], RATE_COLUMNS))
        if fields[-1] and _FAR.fullmatch(fields[-1]):
            fields[-1] = _OPEN_END  # whichever day of a far century means that there is no end
        fault = _fault(fields, fips)
        if fault:
            raise BrokenLine(name, number, *fault)
        kind = fields[1].zfill(2)
        fields[1:3] = kind, fields[2].upper().zfill(_WIDTHS.get(kind, 0))
        found.append((number, fields))
    return found


def without_blank_end(fields: Sequence[str], width: int) -> Sequence[str]:
    """Fields without the blank ones that commas at the end of a line make."""
    count = len(fields)
    while count > width and not fields[count - 1].strip():
        count -= 1
    return fields[:count] if count < len(fields) else fields


def _fault(fields: list[str], fips: str) -> tuple[str, str] | None:
    """What a line has and what was expected; `None` where it is a row of a rate file."""
    if len(fields) != RATE_COLUMNS:
        return f"{len(fields)} columns", f"{RATE_COLUMNS}"
    if fields[0].zfill(2) != fips:
        return f"column 1 (state) is {shown(fields[0])}", f"{fips}, as in the other lines"
    for column, (what, form, expected) in enumerate(_FORMS, 2):
        text = fields[column - 1]
        if not (form.fullmatch(text) or (not text and column in _MAY_BE_BLANK)):
            return f"column {column} ({what}) is {shown(text)}", expected
    try:
        begin, end = sst_date(fields[7]), sst_end(fields[8])
    except RowError as error:
        return str(error), "begin and end as YYYYMMDD"
    if end and end < begin:
        return f"it ends on {end}, before it begins on {begin}", "an end after the begin"
    return None
