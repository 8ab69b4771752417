"""Quarters as editions are named: `2026Q3`."""

from __future__ import annotations

import re
from datetime import date

__all__ = ["named_quarter", "quarter_begin", "quarter_of", "read_quarter"]

_QUARTER = re.compile(
    r"(?P<year>(?:19|20)\d{2})[-_ ]?Q?(?P<quarter>[1-4])", re.ASCII | re.IGNORECASE
)
_IN_NAME = re.compile(
    r"(?<!\d)(?P<year>(?:19|20)\d{2})[-_ ]?Q(?P<quarter>[1-4])(?!\d)", re.ASCII | re.IGNORECASE
)
_ISO = re.compile(
    r"(?<!\d)(?P<year>(?:19|20)\d{2})[-_]?(?P<month>\d{2})[-_]?(?P<day>\d{2})(?!\d)", re.ASCII
)
_US = re.compile(
    r"(?<!\d)(?P<month>\d{1,2})[-_](?P<day>\d{1,2})[-_](?P<year>(?:20)?\d{2})(?!\d)", re.ASCII
)


def read_quarter(text: str) -> str:
    """A quarter as a person or a file writes it (`2026Q3`, `20263`, `2026 q3`), as `2026Q3`.

    Raises:
        ValueError: not a quarter.
    """
    found = _QUARTER.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text.strip()!r} is not a quarter; expected one such as 2026Q3")
    return f"{found['year']}Q{found['quarter']}"


def quarter_of(day: date) -> str:
    """The quarter a day lies in."""
    return f"{day.year}Q{(day.month + 2) // 3}"


def quarter_begin(quarter: str) -> date:
    """The first day of a quarter."""
    year, number = quarter.split("Q")
    return date(int(year), int(number) * 3 - 2, 1)


def named_quarter(name: str) -> str | None:
    """The quarter a name speaks of: `MNR2026Q2FEB18.csv`, `rates_2026-04-01.csv`, `Rates4-1-26`.

    `None` where it names none, or something that is no date.
    """
    if found := _IN_NAME.search(name):
        return f"{found['year']}Q{found['quarter']}"
    for pattern in (_ISO, _US):
        if found := pattern.search(name):
            year = int(found["year"])
            try:
                return quarter_of(
                    date(year if year > 99 else 2000 + year, int(found["month"]), int(found["day"]))  # noqa: PLR2004 - a two-digit year
                )
            except ValueError:
                continue
    return None
