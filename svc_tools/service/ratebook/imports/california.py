"""California's list of cities and counties (CDTFA): the rates in force in one quarter."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.formats.california import BASE, add_listed, listed
from svc_tools.service.ratebook.formats.checks import RowError
from svc_tools.service.ratebook.imports.errors import BrokenLine
from svc_tools.service.ratebook.imports.lines import shown
from svc_tools.service.ratebook.imports.quarters import quarter_begin
from svc_tools.service.ratebook.imports.reading import add_source, checked, seeded
from svc_tools.service.ratebook.imports.tables import rows_by_column

if TYPE_CHECKING:
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.imports.reading import Reading
    from svc_tools.service.ratebook.imports.recognise import Recognised

__all__ = ["COLUMNS", "read_california"]

COLUMNS = {"location": "Location", "rate": "Rate", "county": "County", "type": "Type"}
_PERCENT = re.compile(r"(\d{1,2}(?:\.\d{1,6})?)\s*%", re.ASCII)
_EXPECTED = "a place, its whole rate (0.0775 or 7.75%), its county and City or County"


def read_california(text: str, found: Recognised, book: Book) -> Reading:
    """Read the list; a whole county that is divided into areas of its own has no rate and no row.

    Raises:
        BrokenLine: a row does not hold what it should.
    """
    draft, name = seeded(book), found.path.name
    begin = quarter_begin(found.edition)
    source = add_source(
        draft,
        found,
        "California city and county sales and use tax rates",
        "California Department of Tax and Fee Administration (CDTFA)",
    )
    draft.add_jurisdiction("CA", "state", draft.states["CA"].fips, draft.states["CA"].name)
    draft.add_rate("CA", BASE, source, begin=begin)
    seen: set[str] = set()
    for number, fields in rows_by_column(text, name, COLUMNS):
        row = {title: fields[key] for key, title in COLUMNS.items()}
        row["Rate"] = _fraction(row["Rate"])
        row["Location"] = row["Location"].rstrip("* ")  # marks what is new in a quarter
        if row["Location"].endswith(" County") and not row["Rate"].strip("0."):
            draft.report.add(
                "left_out", name, f"line {number} ({row['Location']})", "its areas have own rows"
            )
            continue
        try:
            place = listed(row, draft)
        except RowError as error:
            given = f"{shown(row['Location'])}: {error}"
            raise BrokenLine(name, number, given, _EXPECTED) from error
        if place is None:
            continue
        if place.area.id in seen:
            given = f"{shown(row['Location'])} stands there twice"
            raise BrokenLine(name, number, given, "every place once")
        seen.add(place.area.id)
        key = add_listed(place, draft)
        draft.add_rate(key, place.total - BASE, source, begin=begin)
    return checked(draft, found, covers_from=begin, continues=True, rows=len(seen))


def _fraction(text: str) -> str:
    """A rate as a fraction: `7.75%` is `0.0775`; what is none stays as it is."""
    percent = _PERCENT.fullmatch(text.strip())
    return format(Decimal(percent[1]) / 100, "f") if percent else text.strip()
