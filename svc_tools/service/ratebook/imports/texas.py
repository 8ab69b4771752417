"""The Texas Comptroller's `taxrates.txt`: every city with its county and its special districts.

Separated by tabs. The first line has the period and the state's rate; every other one a city, its
code and rate, its county likewise, and then groups of a district's name, code and rate. `n/a`
stands where there is none.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import dropwhile
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.formats.checks import RowError, fraction_units
from svc_tools.service.ratebook.formats.draft import slug
from svc_tools.service.ratebook.imports.errors import BrokenLine, FileRefused
from svc_tools.service.ratebook.imports.lines import shown, tab_lines
from svc_tools.service.ratebook.imports.quarters import quarter_begin
from svc_tools.service.ratebook.imports.reading import add_source, checked, seeded
from svc_tools.service.ratebook.schema import Area

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.formats.draft import Draft
    from svc_tools.service.ratebook.imports.reading import Reading
    from svc_tools.service.ratebook.imports.recognise import Recognised

__all__ = ["read_texas"]

_MOST = 8_250
"""No rate in Texas may be above 8.25 %: local taxes end at 2 %."""

_GROUP = 3
_NONE = "n/a"
_STATE_RATE = 4
_MISSING = (
    "City limits, and the special districts outside the cities the file names, are not told apart:"
    " a city is told by its name."
)


class _Part(NamedTuple):
    """One group of a line; `code` is empty where there is none."""

    name: str
    code: str
    units: int


class _Line(NamedTuple):
    number: int
    city: _Part
    county: _Part
    districts: tuple[_Part, ...]


def read_texas(text: str, found: Recognised, book: Book) -> Reading:
    """Read the file: one area for each city and county, one for each county's remainder.

    A line whose rates add up to more than 8.25 % is left out and listed.

    Raises:
        BrokenLine: a line does not hold what it should.
        FileRefused: two lines give one code different rates.
    """
    draft, name = seeded(book), found.path.name
    begin = quarter_begin(found.edition)
    source = add_source(
        draft,
        found,
        "Texas city, county, transit and special district rates",
        "Texas Comptroller of Public Accounts",
    )
    lines = list(dropwhile(lambda line: len(line[1]) == 1, tab_lines(text)))  # from the first tab
    _refuse_cut_end(text, lines, name)
    state_units = _units(lines[0][1][_STATE_RATE], name, lines[0][0])
    draft.add_jurisdiction("TX", "state", draft.states["TX"].fips, draft.states["TX"].name)
    draft.add_rate("TX", state_units, source, begin=begin)
    have: dict[str, int] = {}
    bare: dict[str, str] = {}
    taken = 0
    for number, fields in lines[1:]:
        line = _line(number, fields, name)
        parts = (line.city, line.county, *line.districts)
        total = state_units + sum(part.units for part in parts)
        subject = f"line {number} ({line.city.name})"
        if total > _MOST:
            draft.report.add("left_out", name, subject, f"{total} units, above {_MOST} in all")
            continue
        fips = draft.county_fips("TX", f"{line.county.name} County")
        if fips is None:
            given = f"county {shown(line.county.name)}"
            raise BrokenLine(name, number, given, "the name of a county of Texas")
        keys = tuple(
            _add_part(level, part, (source, name, number), have, draft)
            for level, part in _levels(line)
        )
        if line.county.code:
            bare[fips] = f"TX:county:{line.county.code}"
        if _add_city(line, fips, keys, draft):
            taken += 1
        else:
            draft.report.add("left_out", name, subject, "the same city and parts stand there twice")
    if not taken:
        raise FileRefused(f"{name}: not one city in it can be used")
    _add_counties(bare, draft)
    row = draft.states["TX"]
    draft.states["TX"] = replace(row, tier="C", local="city", missing=_MISSING)
    return checked(draft, found, covers_from=begin, continues=False, rows=taken)


def _refuse_cut_end(text: str, lines: list[tuple[int, list[str]]], name: str) -> None:
    """Refuse a last rate that has lost digits: `.0` of `.010000` would be no tax.

    Raises:
        BrokenLine: the file ends within a rate that is shorter than the first one of a city.
    """
    if text.endswith(("\n", "\r")) or len(lines) < 3:  # noqa: PLR2004 - a header and two lines
        return
    number, fields = lines[-1]
    first = lines[1][1][_GROUP - 1 : _GROUP]
    if first and fields[-1] and len(fields[-1].strip()) < len(first[0].strip()):
        given = f"the file ends with {shown(fields[-1])}"
        raise BrokenLine(name, number, given, "a rate as long as the others: download it again")


def _units(text: str, name: str, number: int) -> int:
    try:
        return fraction_units(text)
    except RowError as error:
        raise BrokenLine(
            name, number, str(error), "a rate as a fraction, such as 0.0625"
        ) from error


def _line(number: int, fields: Sequence[str], name: str) -> _Line:
    fields = [field.strip() for field in fields]
    while fields and not fields[-1] and len(fields) % _GROUP:
        fields = fields[:-1]  # a tab at the end of the line
    if len(fields) < 2 * _GROUP or len(fields) % _GROUP:
        raise BrokenLine(
            name,
            number,
            f"{len(fields)} columns",
            "groups of three (name, code, rate) separated by tabs: city, county, districts",
        )
    groups = [fields[at : at + _GROUP] for at in range(0, len(fields), _GROUP)]
    city, county, *districts = [_part(group, name, number) for group in groups]
    if city.name.lower() == _NONE or not city.name:
        raise BrokenLine(name, number, "no name in column 1", "the name of a city or place")
    return _Line(number, city, county, tuple(part for part in districts if part.code))


def _part(group: Sequence[str], name: str, number: int) -> _Part:
    title, code, rate = group
    units = _units(rate if rate.lower() != _NONE else "0", name, number)
    if code.lower() == _NONE or not code:
        if units:
            raise BrokenLine(name, number, f"{shown(title)} has a rate and no code", "a code")
        return _Part(title, "", 0)
    if not code.isdigit():
        raise BrokenLine(name, number, f"code {shown(code)} of {shown(title)}", "digits, or n/a")
    return _Part(title, code, units)


def _levels(line: _Line) -> list[tuple[str, _Part]]:
    """The parts of a line that levy a tax, with their levels."""
    levels = [("city", line.city), ("county", line.county)]
    levels += [("district", part) for part in line.districts]
    return [(level, part) for level, part in levels if part.code]


def _add_part(
    level: str, part: _Part, where: tuple[str, str, int], have: dict[str, int], draft: Draft
) -> str:
    source, name, number = where
    title = f"{part.name} County" if level == "county" else part.name
    key = draft.add_jurisdiction("TX", level, part.code, title)
    if key not in have:
        have[key] = part.units
        begin = quarter_begin(draft.sources[source].edition)
        draft.add_rate(key, part.units, source, begin=begin)
    elif have[key] != part.units:
        raise BrokenLine(
            name,
            number,
            f"{title} ({part.code}) has {part.units} units, {have[key]} in a line before",
            "one rate for one code",
        )
    return key


def _add_city(line: _Line, fips: str, keys: tuple[str, ...], draft: Draft) -> bool:
    """Add the area of a line; a city that stands there with other districts gets a further one."""
    base = f"TX:city:{slug(line.city.name)}-{fips}"
    for count in range(1, 100):
        key = base if count == 1 else f"{base}-{count}"
        known = draft.areas.get(key)
        if known is None:
            area = Area(
                key, "TX", "city", line.city.name, (fips,), keys, (line.city.name,), "", count - 1
            )
            draft.add_area(area)
            return True
        if known.components == keys:
            return False
    raise FileRefused(f"{line.city.name}: stands there more often than any city may")


def _add_counties(bare: dict[str, str], draft: Draft) -> None:
    """What no city of a county takes: the county's rate, or the state's alone."""
    for (where, fips), county in draft.counties.items():
        if where == "TX":
            parts = (bare[fips],) if fips in bare else ()
            name = f"{county.name} (outside cities)"
            key = f"TX:county:{fips}"
            draft.add_area(Area(key, "TX", "unincorporated", name, (fips,), parts, (), "", 0))
            draft.flag_area(key, "districts", None)
