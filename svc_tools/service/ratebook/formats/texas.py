"""Texas: the Comptroller's `taxrates.txt`, tab-separated, one line per city and county."""

from __future__ import annotations

import csv
import re
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.formats.checks import (
    RowError,
    fraction_units,
    percent_text,
    quarter_end,
)
from svc_tools.service.ratebook.formats.draft import slug
from svc_tools.service.ratebook.schema import Area, Source

if TYPE_CHECKING:
    from pathlib import Path

    from svc_tools.service.ratebook.formats.draft import Draft

__all__ = ["read_texas"]

_SOURCE = "tx-comptroller"
_NONE = "n/a"
_PERIOD, _STATE_RATE = 1, 4  # columns of the header line
_COUNTY, _GROUPS = 3, 6  # columns of the first county, of the first district


class _Part(NamedTuple):
    level: str
    name: str
    code: str
    units: int


def read_texas(path: Path, draft: Draft) -> None:
    """Add the state rate and every city, county and district of the file, as far as it goes.

    A line names all that adds up in a city's part of a county; lines that cannot be read are left
    out and reported.

    Raises:
        RowError: the first line is not the header of such a file.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        lines = [[cell.strip() for cell in line] for line in csv.reader(file, delimiter="\t")]
    header = lines[0] if lines else []
    period = re.fullmatch(r"(\d{4})([1-4])", header[_PERIOD]) if len(header) > _STATE_RATE else None
    if period is None:
        raise RowError(f"{path.name}: expected a header line with the period, such as 20263")
    year, quarter = int(period[1]), int(period[2])
    begin = date(year, quarter * 3 - 2, 1)
    draft.sources[_SOURCE] = Source(
        _SOURCE,
        f"Texas city, county and district sales tax rates ({path.name})",
        "Texas Comptroller of Public Accounts",
        f"{year}Q{quarter}",
        "official figures, published for use by sellers",
        "official",
        None,
        quarter_end(year, quarter),
        quarter_end(year, quarter, later=2),
    )
    draft.add_rate("TX", fraction_units(header[_STATE_RATE]), _SOURCE, begin=begin)
    rated: dict[str, int] = {}
    for number, cells in enumerate(lines[1:], 2):
        try:
            _add_line(cells, begin, rated, draft)
        except RowError as error:
            draft.report.add("left_out", path.name, f"line {number}", str(error))


def _add_line(cells: list[str], begin: date, rated: dict[str, int], draft: Draft) -> None:
    if len(cells) < _GROUPS or (len(cells) - _COUNTY) % 3:
        raise RowError(f"{len(cells)} columns, expected three for each of city, county, districts")
    name, county = cells[0], cells[_COUNTY]
    fips = draft.county_fips("TX", f"{county} County")
    if fips is None:
        raise RowError(f"{county!r} is not a county of Texas")
    parts = [
        _Part(level, cells[at], cells[at + 1], fraction_units(cells[at + 2]))
        for at, level in (
            (0, "city"),
            (_COUNTY, "county"),
            *((at, "district") for at in range(_GROUPS, len(cells), 3)),
        )
        if cells[at + 1] != _NONE
    ]
    keys = []
    for part in parts:
        code = fips if part.level == "county" else slug(part.name)
        title = draft.counties["TX", fips].name if part.level == "county" else part.name
        key = draft.add_jurisdiction("TX", part.level, code, title)
        if rated.setdefault(key, part.units) != part.units:
            raise RowError(
                f"{part.name}: {percent_text(part.units)} here, {percent_text(rated[key])} before"
            )
        keys.append(key)
    for key in keys:
        if not any(row.jurisdiction == key for row in draft.rates):
            draft.add_rate(key, rated[key], _SOURCE, begin=begin)
    area = f"TX:city:{slug(name)}"
    first = area not in draft.areas
    draft.add_area(
        Area(
            area if first else f"{area}@{fips}",
            "TX",
            "city",
            name if first else f"{name} ({county} County)",
            (fips,),
            tuple(keys),
            (name,),
            "",
            0,
        )
    )
