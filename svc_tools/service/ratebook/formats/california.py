"""California: the CDTFA list of cities and counties, and the changes after it."""

from __future__ import annotations

import csv
import re
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.formats.checks import (
    RowError,
    fraction_units,
    iso_date,
    percent_text,
    percent_units,
    quarter_end,
)
from svc_tools.service.ratebook.formats.draft import slug
from svc_tools.service.ratebook.formats.facts import CA_CHANGED, CA_CHANGES
from svc_tools.service.ratebook.schema import Area, Source

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from svc_tools.service.ratebook.formats.draft import Draft

__all__ = ["BASE", "Listed", "add_listed", "listed", "read_california"]

_SOURCE = "ca-cdtfa"
_LATER = "ca-cdtfa-later"
BASE = 7_250
"""Units everywhere in California: 6.00 % state and 1.25 % uniform local."""

_CITY_COUNTIES = frozenset({"075"})  # San Francisco


class Listed(NamedTuple):
    """What one row of the list says: an area, its district taxes and their name."""

    area: Area
    name: str
    total: int


def read_california(path: Path, draft: Draft) -> None:
    """Add California's cities and unincorporated areas.

    The list gives totals. 7.25 % of each is the state and uniform local part; all that is above
    it are district taxes, and the book keeps them as one district rate of the area.

    Raises:
        RowError: the file name has no date.
    """
    found = re.search(r"(\d{4}-\d{2}-\d{2})\.csv$", path.name)
    if not found:
        raise RowError(f"{path.name}: expected a name that ends in its date, YYYY-MM-DD.csv")
    day = iso_date(found.group(1))
    _add_sources(day, draft)
    draft.add_rate("CA", BASE, _SOURCE, begin=day)
    changed: set[str] = set()
    with path.open(newline="", encoding="utf-8") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            subject = f"line {number} ({row['Location']})"
            try:
                _add_row(row, day, changed, draft)
            except RowError as error:
                draft.report.add("left_out", path.name, subject, str(error))
    for name in sorted(set(CA_CHANGES) - changed):
        draft.report.add("left_out", path.name, name, f"changed on {CA_CHANGED}, is not listed")


def _add_sources(day: date, draft: Draft) -> None:
    publisher = "California Department of Tax and Fee Administration (CDTFA)"
    licence = "official figures, published for use by sellers"
    year, number = day.year, (day.month + 2) // 3
    draft.sources[_SOURCE] = Source(
        _SOURCE,
        "California city and county sales and use tax rates",
        publisher,
        day.isoformat(),
        licence,
        "official",
        None,
        quarter_end(year, number),
        quarter_end(year, number, later=2),
    )
    year, number = CA_CHANGED.year, (CA_CHANGED.month + 2) // 3
    draft.sources[_LATER] = Source(
        _LATER,
        "California rates changed after the CDTFA list, from a compiled copy of the later list",
        publisher,
        CA_CHANGED.isoformat(),
        licence,
        "third_hand",
        None,
        quarter_end(year, number),
        quarter_end(year, number, later=2),
    )


def listed(row: dict[str, str], draft: Draft) -> Listed | None:
    """One row of the list; `None` for a county that is one with its city.

    Args:
        row: `Location`, `Rate` (a fraction), `County` and `Type` of a row.
        draft: knows the counties.

    Raises:
        RowError: the row is not the rate of a city or of a county's unincorporated area.
    """
    name, county = row["Location"].strip(), row["County"].strip()
    if row["Type"] not in {"City", "County"}:
        if county == "County":  # a county whose columns hold a reference to its areas
            raise RowError("not a rate: the county's cities and unincorporated area have own rows")
        raise RowError(f"not a rate: type {row['Type'][:30]!r}, expected City or County")
    total = fraction_units(row["Rate"])
    if total < BASE:
        raise RowError(f"rate {row['Rate']} is below the uniform {percent_text(BASE)}")
    fips = draft.county_fips("CA", f"{county} County")
    if fips is None:
        raise RowError(f"{county!r} is not a county of California")
    is_city = row["Type"] == "City"
    whole = fips in _CITY_COUNTIES  # city and county are one: no city limits to know
    if whole and not is_city:
        return None
    code = slug(name) if is_city else fips
    level = "city" if is_city else "county"
    title = name if is_city else draft.counties["CA", fips].name
    kind = "city" if is_city else "unincorporated"
    area = Area(
        f"CA:{level}:{code}",
        "CA",
        "county" if whole else kind,
        title if is_city else f"{title} (unincorporated area)",
        (fips,),
        (f"CA:district:{level}-{code}",),
        _names(name) if is_city else (),
        "",
        0,
    )
    return Listed(area, f"{title}: district taxes", total)


def add_listed(found: Listed, draft: Draft) -> str:
    """Add the area of a row and who levies its district taxes; the id of the latter."""
    code = found.area.components[0].removeprefix("CA:district:")
    key = draft.add_jurisdiction("CA", "district", code, found.name)
    draft.add_area(found.area)
    return key


def _add_row(row: dict[str, str], day: date, changed: set[str], draft: Draft) -> None:
    found = listed(row, draft)
    if found is None:
        return
    name, total, key = row["Location"].strip(), found.total, add_listed(found, draft)
    if name not in CA_CHANGES:
        draft.add_rate(key, total - BASE, _SOURCE, begin=day)
        return
    changed.add(name)
    later = percent_units(CA_CHANGES[name])
    draft.add_rate(key, total - BASE, _SOURCE, begin=day, end=CA_CHANGED - timedelta(days=1))
    draft.add_rate(
        key,
        later - BASE,
        _LATER,
        begin=CA_CHANGED,
        conflict_cap="medium",
        conflict_units=total - BASE,
        note=f"The list of {day} has another rate; the change of {CA_CHANGED} was seen in a"
        " compiled copy of the later list, not in the list itself.",
    )
    draft.report.add(
        "conflict",
        _SOURCE,
        name,
        f"{percent_text(total)} by the list, {percent_text(later)} from {CA_CHANGED} on",
    )


def _names(name: str) -> tuple[str, ...]:
    """A city's name, and the one its post office uses."""
    short = re.sub(r"^City of ", "", name)
    return (name,) if short == name else (name, short)
