"""Washington's SST rate file: location codes with their whole local rate.

Its special codes `Lnnnn` are the location codes of the Department of Revenue and hold the whole
local rate, transit included: they are never added to a county or a place. For the quarters that
the Department's own table covers, that table rules, and differences are listed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.formats.washington import county_of
from svc_tools.service.ratebook.imports.codes import STATE
from svc_tools.service.ratebook.imports.errors import FileRefused
from svc_tools.service.ratebook.imports.quarters import quarter_begin
from svc_tools.service.ratebook.imports.reading import add_source, checked, seeded
from svc_tools.service.ratebook.schema import Area

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.formats.draft import Draft
    from svc_tools.service.ratebook.formats.report import CompileReport
    from svc_tools.service.ratebook.formats.sst import RateFileRow
    from svc_tools.service.ratebook.imports.reading import Reading
    from svc_tools.service.ratebook.imports.recognise import Recognised

__all__ = ["read_location_rates"]

_LOCATION = re.compile(r"L?(\d{4})", re.ASCII)
_CODE_ONLY = 9  # the last in rank: nothing says what it is called


def read_location_rates(
    rows: Sequence[RateFileRow], found: Recognised, book: Book, report: CompileReport
) -> Reading:
    """The location codes of the file from the first day of its quarter on.

    Raises:
        FileRefused: no row of it is a location code.
    """
    draft = seeded(book)
    draft.report.findings.extend(report.findings)
    first = quarter_begin(found.edition)
    source = add_source(
        draft,
        found,
        "Streamlined Sales Tax rate file of Washington, by location code",
        "Washington through the Streamlined Sales Tax Governing Board",
        complete_from=first,
    )
    areas = {area.code: area for area in book.areas.values() if area.state == "WA" and area.code}
    taken = 0
    for row in rows:
        if row.end and row.end < first:
            continue
        clipped = row._replace(begin=max(row.begin, first))
        location = _LOCATION.fullmatch(row.code)
        if row.kind == STATE:
            name = draft.states["WA"].name
            key = draft.add_jurisdiction("WA", "state", draft.states["WA"].fips, name)
            draft.add_rate(key, row.units, source, begin=clipped.begin, end=row.end)
        elif location and len(row.code) > len("000"):
            area = areas.get(location[1]) or _unnamed(location[1])
            if ("WA", area.counties[0]) not in book.counties:
                given = f"location code {location[1]}"
                draft.report.add("left_out", found.path.name, given, "is of no county")
                continue
            _add_location(area, clipped, (source, found.path.name), book, draft)
            taken += 1
        else:
            draft.report.add(
                "left_out",
                found.path.name,
                f"type {row.kind} {row.code}",
                "no location code: those hold the whole local rate",
            )
    if not taken:
        raise FileRefused(
            f"{found.path.name}: no row has a location code such as L1726, by which Washington's"
            " rates are kept"
        )
    return checked(draft, found, covers_from=first, continues=True, rows=taken)


def _unnamed(code: str) -> Area:
    """The area of a code that the Department's table does not have."""
    name, key = f"Location code {code}", f"WA:city:{code}"
    county = county_of(int(code))
    return Area(f"WA:{code}", "WA", "named", name, (county,), (key,), (), code, _CODE_ONLY)


def _add_location(
    area: Area, row: RateFileRow, origin: tuple[str, str], book: Book, draft: Draft
) -> None:
    source, name = origin
    parts = _parts(area, row, name, book, draft)
    for key, units in parts.items():
        known = book.jurisdictions.get(key)
        if known:
            draft.jurisdictions[key] = known
        else:
            draft.add_jurisdiction("WA", "city", area.code, area.name)
        draft.add_rate(key, units, source, begin=row.begin, end=row.end)
    draft.areas[area.id] = area


def _parts(area: Area, row: RateFileRow, name: str, book: Book, draft: Draft) -> dict[str, int]:
    """The rates of an area's parts: by the table where it covers the day, else by the file.

    The file does not say how much of a rate is transit: it stays what the table had last.
    """
    last = {key: book.rates[key][-1] for key in area.components if key in book.rates}
    if not last:
        return {area.components[0]: row.units}
    whole = sum(one.units for one in last.values())
    rules = all(
        book.sources[one.source].local_until >= row.begin and one.end is None
        for one in last.values()
    )
    if rules and whole != row.units:
        draft.report.add(
            "settled",
            name,
            area.name,
            f"{row.units} units, the table of the Department has {whole}: the table rules",
        )
    local, *transit = area.components
    rest = sum(last[key].units for key in transit)
    whole = whole if rules else row.units
    if whole < rest:
        return {local: whole, **dict.fromkeys(transit, 0)}
    return {local: whole - rest, **{key: last[key].units for key in transit}}
