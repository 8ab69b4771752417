"""Washington's location codes: one quarter as the Department publishes it, or a table of several.

A code that another quarter of the book has keeps the rates of that quarter: see `overlay`.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.formats.checks import RowError, iso_date
from svc_tools.service.ratebook.formats.washington import (
    Quarter,
    add_locations,
    checked_quarters,
    county_of,
    parse_quarter,
)
from svc_tools.service.ratebook.imports.errors import BrokenLine, FileRefused
from svc_tools.service.ratebook.imports.quarters import quarter_of
from svc_tools.service.ratebook.imports.reading import add_source, checked, seeded
from svc_tools.service.ratebook.imports.tables import rows_by_column

if TYPE_CHECKING:
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.formats.draft import Draft
    from svc_tools.service.ratebook.imports.reading import Reading
    from svc_tools.service.ratebook.imports.recognise import Recognised

__all__ = ["PUBLISHED", "TABLE", "last_quarter", "read_washington"]

PUBLISHED = {
    "name": "location",
    "code": "location_code",
    "state": "state_rate",
    "local": "local_rate",
    "rta": "rta",
    "rate": "total_rate",
    "effective date": "effective",
    "expiration date": "expiration",
}
"""The columns of a quarter as published, and what the table of several quarters calls them."""

TABLE = {value.replace("_", " "): value for value in PUBLISHED.values()}

_EXPECTED = (
    "a name, a location code of 3 or 4 digits, rates as fractions where State and Local are Rate"
    " together, and the first and last day of a quarter"
)


def read_washington(text: str, found: Recognised, book: Book) -> Reading:
    """Read Washington's location codes.

    In a table of several quarters a damaged row is left out and listed, its quarter stays empty.

    Raises:
        BrokenLine: a row of a published quarter does not hold what it should.
        FileRefused: no row can be used.
    """
    draft, name = seeded(book), found.path.name
    several = found.form == "wa_dor_table"
    columns = TABLE if several else PUBLISHED
    lines = [
        (number, {columns[key]: value for key, value in row.items() if key in columns})
        for number, row in rows_by_column(text, name, columns)
    ]
    try:
        quarters = checked_quarters(lines, name, draft) if several else _strict(lines, name, draft)
        quarters = [quarter for quarter in quarters if _has_county(quarter, name, draft)]
        if not quarters:
            raise FileRefused(f"{name}: not one rate in it can be used")
        first = min(quarter.begin for quarter in quarters)
        source = add_source(
            draft,
            found,
            "Washington local sales and use tax rates by location code",
            "Washington State Department of Revenue",
            complete_from=first,
        )
        add_locations(quarters, source, name, draft)
    except RowError as error:
        raise FileRefused(f"{name}: {error}") from error
    return checked(draft, found, covers_from=first, continues=True, rows=len(quarters))


def _strict(lines: list[tuple[int, dict[str, str]]], name: str, draft: Draft) -> list[Quarter]:
    quarters: dict[int, Quarter] = {}
    for number, row in lines:
        dated = row | {key: _digits(row[key]) for key in ("effective", "expiration")}
        try:
            quarter = parse_quarter(dated)
        except RowError as error:
            raise BrokenLine(name, number, str(error), _EXPECTED) from error
        before = quarters.setdefault(quarter.code, quarter)
        if before is not quarter and before[3:] != quarter[3:]:
            given = f"location code {quarter.code:04d} stands there twice with different rates"
            raise BrokenLine(name, number, given, "every code once")
        if before is not quarter:
            draft.report.add("left_out", name, f"line {number}", "the code stands there twice")
    begins = Counter(quarter.begin for quarter in quarters.values())
    if len(begins) > 1:
        listed = ", ".join(str(day) for day in sorted(begins))
        raise FileRefused(
            f"{name}: its rows begin on different days ({listed}): expected a quarter"
        )
    return list(quarters.values())


def _has_county(quarter: Quarter, name: str, draft: Draft) -> bool:
    """Whether the first digits of a location code are a county's; said where they are not."""
    if ("WA", county_of(quarter.code)) in draft.counties:
        return True
    draft.report.add("left_out", name, f"location code {quarter.code:04d}", "is of no county")
    return False


def last_quarter(text: str, name: str) -> str | None:
    """The quarter the newest row begins in; `None` where no row has a date.

    Raises:
        BrokenLine: a row has another number of columns than the header.
    """
    columns = PUBLISHED if "effective date" in text[:4096].casefold().replace("_", " ") else TABLE
    key = "effective date" if columns is PUBLISHED else "effective"
    days = []
    for _, row in rows_by_column(text, name, columns):
        digits = _digits(row[key])
        try:
            days.append(iso_date(f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"))
        except RowError:
            continue  # said by its line when the file is read
    return quarter_of(max(days)) if days else None


def _digits(text: str) -> str:
    """A date as `YYYYMMDD`: `4/1/2026` and `2026-04-01` are `20260401`; anything else stays."""
    text = text.strip()
    if found := re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{4})", text, re.ASCII):
        return f"{found[3]}{int(found[1]):02d}{int(found[2]):02d}"
    try:
        return date.fromisoformat(text).strftime("%Y%m%d")
    except ValueError:
        return text
