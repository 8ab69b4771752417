"""The states' own rate files: California's list, Texas's table, Washington's location codes.

- California (CDTFA): the rates of cities and counties in force in one quarter.
- Texas (the Comptroller's `taxrates.txt`): every city with its county and its special districts,
  separated by tabs. The first line has the period and the state's rate; every other one a city,
  its code and rate, its county likewise, and then groups of a district's name, code and rate.
  `n/a` stands for a part that is not there.
- Washington (Department of Revenue): one quarter as published, or a table of several. A code that
  another quarter of the book has keeps the rates of that quarter: see `overlay`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import dropwhile
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.book import compiled_book
from svc_tools.service.ratebook.imports.draft import (
    RowError,
    fraction_units,
    iso_date,
    percent_text,
    slug,
    sst_date,
)
from svc_tools.service.ratebook.imports.reading import (
    BrokenLine,
    FileRefused,
    add_source,
    checked_draft,
    quarter_begin,
    quarter_end,
    quarter_of,
    rows_by_column,
    seeded,
    shown,
    tab_lines,
)
from svc_tools.service.ratebook.names import name_key, title_name
from svc_tools.service.ratebook.schema import Area

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.imports.draft import Draft
    from svc_tools.service.ratebook.imports.reading import FileForm, ReadRateFile, Recognised


CA_COLUMNS = {"location": "Location", "rate": "Rate", "county": "County", "type": "Type"}
_PERCENT = re.compile(r"(\d{1,2}(?:\.\d{1,6})?)\s*%", re.ASCII)
_CA_EXPECTED = "a place, its whole rate (0.0775 or 7.75%), its county and City or County"


def read_california(text: str, found: Recognised, book: Book) -> ReadRateFile:
    """Read the list; a whole county that is divided into areas has no rate and no row.

    Raises:
        BrokenLine: a row does not hold what it should.
    """
    draft, name = seeded(book.states, book.counties), found.path.name
    begin = quarter_begin(found.edition)
    source = add_source(
        draft,
        found,
        "California city and county sales and use tax rates",
        "California Department of Tax and Fee Administration (CDTFA)",
    )
    draft.add_jurisdiction("CA", "state", draft.states["CA"].fips, draft.states["CA"].name)
    draft.add_rate("CA", _CALIFORNIA_BASE, source, begin=begin)
    count = 0
    for number, fields in rows_by_column(text, name, CA_COLUMNS):
        row = {title: fields[key] for key, title in CA_COLUMNS.items()}
        row["Rate"] = _fraction(row["Rate"])
        row["Location"] = row["Location"].rstrip("* ")  # marks what is new in a quarter
        if row["Location"].endswith(" County") and not row["Rate"].strip("0."):
            draft.report.add(
                "settled", name, f"line {number} ({row['Location']})", "its areas have own rows"
            )
            continue
        try:
            count += add_california_place(row, source, begin, draft)
        except RowError as error:
            given = f"{shown(row['Location'])}: {error}"
            raise BrokenLine(name, number, given, _CA_EXPECTED) from error
    return checked_draft(draft, found, covers_from=begin, continues=True, rows=count)


def _fraction(text: str) -> str:
    """A rate as a fraction: `7.75%` is `0.0775`; any other text stays as it is."""
    percent = _PERCENT.fullmatch(text.strip())
    return format(Decimal(percent[1]) / 100, "f") if percent else text.strip()


_CALIFORNIA_BASE = 7_250
"""Units everywhere in California: 6.00% state and 1.25% uniform local."""
_CITY_COUNTIES = frozenset({"075"})  # San Francisco


def add_california_place(row: dict[str, str], source: str, begin: date, draft: Draft) -> bool:
    """Add the area and the district taxes of one row of the list, with `Rate` as a fraction.

    A county that is one with its city is not added.

    Raises:
        RowError: the row is not the rate of a city or of a county's unincorporated area, or the
            place is listed twice.
    """
    name, county = row["Location"].strip(), row["County"].strip()
    if row["Type"] not in {"City", "County"}:
        if county == "County":  # a county whose columns hold a reference to its areas
            raise RowError("not a rate: the county's cities and unincorporated area have own rows")
        raise RowError(f"not a rate: type {row['Type'][:30]!r}, expected City or County")
    total = fraction_units(row["Rate"])
    if total < _CALIFORNIA_BASE:
        raise RowError(f"rate {row['Rate']} is below the uniform {percent_text(_CALIFORNIA_BASE)}")
    fips = draft.county_fips("CA", f"{county} County")
    if fips is None:
        raise RowError(f"{county!r} is not a county of California")
    is_city = row["Type"] == "City"
    whole = fips in _CITY_COUNTIES  # city and county are one: no city limits to know
    if whole and not is_city:
        return False
    code = slug(name) if is_city else fips
    level = "city" if is_city else "county"
    title = name if is_city else draft.counties["CA", fips].name
    kind = "city" if is_city else "unincorporated"
    if f"CA:{level}:{code}" in draft.areas:
        raise RowError("the place is listed twice")
    key = draft.add_jurisdiction("CA", "district", f"{level}-{code}", f"{title}: district taxes")
    draft.add_rate(key, total - _CALIFORNIA_BASE, source, begin=begin)
    draft.add_area(
        Area(
            f"CA:{level}:{code}",
            "CA",
            "county" if whole else kind,
            title if is_city else f"{title} (unincorporated area)",
            (fips,),
            (key,),
            _city_names(name) if is_city else (),
        )
    )
    return True


def _city_names(name: str) -> tuple[str, ...]:
    """A city's name, and the one its post office uses."""
    short = re.sub(r"^City of ", "", name)
    return (name,) if short == name else (name, short)


_TX_MOST = 8_250
"""No rate in Texas may be above 8.25%: local taxes end at 2%."""
_TX_GROUP = 3
_TX_NONE = "n/a"
_TX_STATE_RATE = 4
_TX_MISSING = (
    "City limits, and the special districts outside the cities the file names, are not known:"
    " a city is found by its name."
)


class _TexasPart(NamedTuple):
    """One group of a line; `code` is empty without a code."""

    name: str
    code: str
    units: int


class _TexasLine(NamedTuple):
    number: int
    city: _TexasPart
    county: _TexasPart
    districts: tuple[_TexasPart, ...]


def read_texas(text: str, found: Recognised, book: Book) -> ReadRateFile:
    """Read the file: one area for each city and county, one for each county's remainder.

    A line whose rates add up to more than 8.25% is left out and listed.

    Raises:
        BrokenLine: a line does not hold what it should.
        FileRefused: two lines give one code different rates.
    """
    draft, name = seeded(book.states, book.counties), found.path.name
    begin = quarter_begin(found.edition)
    source = add_source(
        draft,
        found,
        "Texas city, county, transit and special district rates",
        "Texas Comptroller of Public Accounts",
    )
    lines = list(dropwhile(lambda line: len(line[1]) == 1, tab_lines(text)))  # from the first tab
    _refuse_cut_end(text, lines, name)
    state_units = _texas_units(lines[0][1][_TX_STATE_RATE], name, lines[0][0])
    draft.add_jurisdiction("TX", "state", draft.states["TX"].fips, draft.states["TX"].name)
    draft.add_rate("TX", state_units, source, begin=begin)
    have: dict[str, int] = {}
    bare: dict[str, str] = {}
    taken = 0
    for number, fields in lines[1:]:
        line = _texas_line(number, fields, name)
        parts = (line.city, line.county, *line.districts)
        total = state_units + sum(part.units for part in parts)
        subject = f"line {number} ({line.city.name})"
        if total > _TX_MOST:
            draft.report.add("left_out", name, subject, f"{total} units, above {_TX_MOST} in all")
            continue
        fips = draft.county_fips("TX", f"{line.county.name} County")
        if fips is None:
            given = f"county {shown(line.county.name)}"
            raise BrokenLine(name, number, given, "the name of a county of Texas")
        keys = tuple(
            _add_texas_part(level, part, (source, name, number), have, draft)
            for level, part in _texas_levels(line)
        )
        if line.county.code:
            bare[fips] = f"TX:county:{line.county.code}"
        if _add_texas_city(line, fips, keys, draft):
            taken += 1
        else:
            draft.report.add("settled", name, subject, "the same city and parts stand there twice")
    if not taken:
        raise FileRefused(f"{name}: not one city in it can be used")
    _add_texas_counties(bare, draft)
    row = draft.states["TX"]
    draft.states["TX"] = replace(row, tier="C", local="city", missing=_TX_MISSING)
    return checked_draft(draft, found, covers_from=begin, continues=False, rows=taken)


def _refuse_cut_end(text: str, lines: list[tuple[int, list[str]]], name: str) -> None:
    """Refuse a last rate that has lost digits: `.0` of `.010000` would be no tax.

    Raises:
        BrokenLine: the file ends within a rate that is shorter than the first one of a city.
    """
    if text.endswith(("\n", "\r")) or len(lines) < 3:  # noqa: PLR2004 - a header and two lines
        return
    number, fields = lines[-1]
    first = lines[1][1][_TX_GROUP - 1 : _TX_GROUP]
    if first and fields[-1] and len(fields[-1].strip()) < len(first[0].strip()):
        given = f"the file ends with {shown(fields[-1])}"
        raise BrokenLine(name, number, given, "a rate as long as the others: download it again")


def _texas_units(text: str, name: str, number: int) -> int:
    try:
        return fraction_units(text)
    except RowError as error:
        raise BrokenLine(
            name, number, str(error), "a rate as a fraction, such as 0.0625"
        ) from error


def _texas_line(number: int, fields: Sequence[str], name: str) -> _TexasLine:
    """One line of the Texas file: a city, its county, and its districts that have a code."""
    fields = [field.strip() for field in fields]
    while fields and not fields[-1] and len(fields) % _TX_GROUP:
        fields = fields[:-1]  # a tab at the end of the line
    if len(fields) < 2 * _TX_GROUP or len(fields) % _TX_GROUP:
        raise BrokenLine(
            name,
            number,
            f"{len(fields)} columns",
            "groups of three (name, code, rate) separated by tabs: city, county, districts",
        )
    groups = [fields[at : at + _TX_GROUP] for at in range(0, len(fields), _TX_GROUP)]
    city, county, *districts = [_texas_part(group, name, number) for group in groups]
    if city.name.lower() == _TX_NONE or not city.name:
        raise BrokenLine(name, number, "no name in column 1", "the name of a city or place")
    return _TexasLine(number, city, county, tuple(part for part in districts if part.code))


def _texas_part(group: Sequence[str], name: str, number: int) -> _TexasPart:
    title, code, rate = group
    units = _texas_units(rate if rate.lower() != _TX_NONE else "0", name, number)
    if code.lower() == _TX_NONE or not code:
        if units:
            raise BrokenLine(name, number, f"{shown(title)} has a rate and no code", "a code")
        return _TexasPart(title, "", 0)
    if not code.isdigit():
        raise BrokenLine(name, number, f"code {shown(code)} of {shown(title)}", "digits, or n/a")
    return _TexasPart(title, code, units)


def _texas_levels(line: _TexasLine) -> list[tuple[str, _TexasPart]]:
    """The parts of a line that levy a tax, with their levels."""
    levels = [("city", line.city), ("county", line.county)]
    levels += [("district", part) for part in line.districts]
    return [(level, part) for level, part in levels if part.code]


def _add_texas_part(
    level: str, part: _TexasPart, where: tuple[str, str, int], have: dict[str, int], draft: Draft
) -> str:
    """Add the jurisdiction of a part and its rate to the draft, each once, and return its key.

    `have` gets the units of each key; a second rate for one code is refused.
    """
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


def _add_texas_city(line: _TexasLine, fips: str, keys: tuple[str, ...], draft: Draft) -> bool:
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


def _add_texas_counties(bare: dict[str, str], draft: Draft) -> None:
    """What no city of a county takes: the county's rate, or the state's alone."""
    for (where, fips), county in draft.counties.items():
        if where == "TX":
            parts = (bare[fips],) if fips in bare else ()
            name = f"{county.name} (outside cities)"
            key = f"TX:county:{fips}"
            draft.add_area(Area(key, "TX", "unincorporated", name, (fips,), parts))
            draft.flag_area(key, "districts", None)


WA_QUARTER_COLUMNS = {
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
WA_TABLE_COLUMNS = {value.replace("_", " "): value for value in WA_QUARTER_COLUMNS.values()}
_WA_EXPECTED = (
    "a name, a location code of 3 or 4 digits, rates as fractions where State and Local are Rate"
    " together, and the first and last day of a quarter"
)


def read_washington(text: str, found: Recognised, book: Book) -> ReadRateFile:
    """Read Washington's location codes.

    In a table of several quarters a damaged row is left out and listed, its quarter stays empty.

    Raises:
        BrokenLine: a row of a published quarter does not hold what it should.
        FileRefused: no row can be used.
    """
    draft, name = seeded(book.states, book.counties), found.path.name
    several = found.form == "wa_dor_table"
    columns = WA_TABLE_COLUMNS if several else WA_QUARTER_COLUMNS
    lines = [
        (number, {columns[key]: value for key, value in row.items() if key in columns})
        for number, row in rows_by_column(text, name, columns)
    ]
    try:
        quarters = (
            checked_quarters(lines, name, draft) if several else _one_quarter(lines, name, draft)
        )
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
    return checked_draft(draft, found, covers_from=first, continues=True, rows=len(quarters))


def _one_quarter(lines: list[tuple[int, dict[str, str]]], name: str, draft: Draft) -> list[Quarter]:
    """The rows of one quarter, each location code once; repeated rows are noted in `draft.report`.

    Raises:
        BrokenLine: a row cannot be read, or a code has two rates.
        FileRefused: the rows begin on different days.
    """
    quarters: dict[int, Quarter] = {}
    for number, row in lines:
        dated = row | {key: _date_digits(row[key]) for key in ("effective", "expiration")}
        try:
            quarter = _parse_quarter(dated)
        except RowError as error:
            raise BrokenLine(name, number, str(error), _WA_EXPECTED) from error
        before = quarters.setdefault(quarter.code, quarter)
        if before is not quarter and before[3:] != quarter[3:]:
            given = f"location code {quarter.code:04d} stands there twice with different rates"
            raise BrokenLine(name, number, given, "every code once")
        if before is not quarter:
            draft.report.add("settled", name, f"line {number}", "the code stands there twice")
    begins = Counter(quarter.begin for quarter in quarters.values())
    if len(begins) > 1:
        listed = ", ".join(str(day) for day in sorted(begins))
        raise FileRefused(
            f"{name}: its rows begin on different days ({listed}): expected a quarter"
        )
    return list(quarters.values())


def _has_county(quarter: Quarter, name: str, draft: Draft) -> bool:
    """Whether the first digits of a location code are a county's; reported where they are not."""
    if ("WA", county_fips(quarter.code)) in draft.counties:
        return True
    draft.report.add("left_out", name, f"location code {quarter.code:04d}", "is of no county")
    return False


def last_quarter(text: str, name: str) -> str | None:
    """The quarter the newest row begins in; `None` where no row has a date.

    Raises:
        BrokenLine: a row has another number of columns than the header.
    """
    columns = (
        WA_QUARTER_COLUMNS
        if "effective date" in text[:4096].casefold().replace("_", " ")
        else WA_TABLE_COLUMNS
    )
    key = "effective date" if columns is WA_QUARTER_COLUMNS else "effective"
    days = []
    for _, row in rows_by_column(text, name, columns):
        digits = _date_digits(row[key])
        try:
            days.append(iso_date(f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"))
        except RowError:
            continue  # reported with its line when the file is read
    return quarter_of(max(days)) if days else None


def _date_digits(text: str) -> str:
    """A date as `YYYYMMDD`: `4/1/2026` and `2026-04-01` are `20260401`; anything else stays."""
    text = text.strip()
    if found := re.fullmatch(r"(\d{1,2})/(\d{1,2})/(\d{4})", text, re.ASCII):
        return f"{found[3]}{int(found[1]):02d}{int(found[2]):02d}"
    try:
        return date.fromisoformat(text).strftime("%Y%m%d")
    except ValueError:
        return text


_NON_RTA = {40: 17, 41: 27, 42: 31}
"""Code groups outside the regional transit authority: King, Pierce, Snohomish."""


class Quarter(NamedTuple):
    """The rates of one location code in one quarter; `local` is without `rta`."""

    begin: date
    end: date
    code: int
    name: str
    state: int
    local: int
    rta: int


class _Run(NamedTuple):
    local: int
    rta: int
    begin: date
    end: date | None
    effective: date | None


def add_locations(quarters: list[Quarter], source: str, name: str, draft: Draft) -> None:
    """Add the state rate and every location code of some quarters, from a source of the draft.

    Raises:
        RowError: the state part changes within the quarters.
    """
    first = min(quarter.begin for quarter in quarters)
    last = max(quarter.end for quarter in quarters)
    _add_state(quarters, first, source, name, draft)
    by_code: dict[int, list[Quarter]] = defaultdict(list)
    for quarter in quarters:
        by_code[quarter.code].append(quarter)
    for code, history in sorted(by_code.items()):
        _add_location(code, sorted(history), (first, last), source, draft)


def checked_quarters(
    rows: Iterable[tuple[int, dict[str, str]]], name: str, draft: Draft
) -> list[Quarter]:
    """The rows of the table that hold what they should; the others are listed in the report."""
    found: dict[tuple[date, int], Quarter] = {}
    for number, row in rows:
        subject = f"line {number} ({row['location']})"
        try:
            quarter = _parse_quarter(row)
        except RowError as error:
            draft.report.add(
                "left_out", name, subject, f"columns do not hold what they should: {error}"
            )
            continue
        if (quarter.begin, quarter.code) in found:
            draft.report.add("left_out", name, subject, "the code stands there twice")
            continue
        found[quarter.begin, quarter.code] = quarter
    return list(found.values())


def _parse_quarter(row: dict[str, str]) -> Quarter:
    """One row of the table, by the names of its columns.

    Raises:
        RowError: a column does not hold what it should, or the parts are not the total.
    """
    begin, end = sst_date(row["effective"]), sst_date(row["expiration"])
    if end != quarter_end(quarter_of(begin)):
        raise RowError(f"{begin} to {end} is not a quarter")
    if not re.fullmatch(r"\d{3,4}", row["location_code"]):
        raise RowError(f"location code {row['location_code']!r}")
    state, local, rta, total = (
        fraction_units(row[name]) for name in ("state_rate", "local_rate", "rta", "total_rate")
    )
    if state + local != total:  # Local includes RTA
        raise RowError(f"{row['state_rate']} and {row['local_rate']} are not {row['total_rate']}")
    if rta > local:
        raise RowError(f"RTA {row['rta']} is more than the local rate {row['local_rate']}")
    code = int(row["location_code"])
    return Quarter(begin, end, code, row["location"].strip(), state, local - rta, rta)


def _add_state(
    quarters: Iterable[Quarter], first: date, source: str, name: str, draft: Draft
) -> None:
    rates = {quarter.state for quarter in quarters}
    if len(rates) != 1:
        raise RowError(f"{name}: the state part changes within the table: {sorted(rates)}")
    if "WA" not in draft.rates:  # the table begins on that day, the rate does not
        draft.add_rate("WA", rates.pop(), source, begin=first)


def _runs(history: list[Quarter], first: date, last: date) -> list[_Run]:
    """Spans of equal rates; the last one stays open when the code is still in the table."""
    runs: list[_Run] = []
    day = timedelta(days=1)
    for quarter in history:
        rates = quarter.local, quarter.rta
        previous = runs[-1] if runs else None
        follows = previous is not None and previous.end == quarter.begin - day
        if previous and follows and rates == previous[:2]:
            runs[-1] = previous._replace(end=quarter.end)
        else:
            dated = follows and quarter.begin != first
            runs.append(_Run(*rates, quarter.begin, quarter.end, quarter.begin if dated else None))
    if runs[-1].end == last:
        runs[-1] = runs[-1]._replace(end=None)
    return runs


def _add_location(
    code: int, history: list[Quarter], span: tuple[date, date], source: str, draft: Draft
) -> None:
    """Add a Washington location to the draft: its jurisdictions, their rates, and its area."""
    county = county_fips(code)
    latest = _fullest(history)
    kind, rank = _location_kind(latest, code)
    level = "county" if kind == "unincorporated" else "city"
    text = f"{code:04d}"
    name = _location_title(latest)
    key = draft.add_jurisdiction("WA", level, text, name)
    parts = [key]
    runs = _runs(history, *span)
    if any(run.rta for run in runs):
        parts.append(draft.add_jurisdiction("WA", "district", text, f"{name}: regional transit"))
    for run in runs:
        for part, units in zip(parts, run[:2], strict=False):
            draft.add_rate(
                part, units, source, begin=run.begin, end=run.end, effective=run.effective
            )
    # the part of a city outside the transit authority is found by its full name only
    own_name = kind != "unincorporated" and code // 100 not in _NON_RTA
    cities = _location_names(latest, history) if own_name else ()
    draft.add_area(
        Area(f"WA:{text}", "WA", kind, name, (county,), tuple(parts), cities, text, rank)
    )


def county_fips(code: int) -> str:
    """FIPS code of a location's county: both lists are in alphabetical order."""
    group = code // 100
    return f"{_NON_RTA.get(group, group) * 2 - 1:03d}"


def _location_kind(name: str, code: int) -> tuple[str, int]:
    outside = code // 100 in _NON_RTA
    if re.search(r"\b(TRIBES?|NATION)\b", name) or "HBZ" in name:
        return "named", 9
    if "PTBA" in name:
        return "unincorporated", 2 + outside
    if re.search(r"\bCOUNTY\b", name):
        return "unincorporated", int(outside)
    return "city", int(outside)


def _location_title(name: str) -> str:
    name, _, county = name.partition("/")
    if county:
        place = re.fullmatch(r"(\w+)(.*)", county)
        name = f"{name} ({place[1]} County){place[2]}" if place else f"{name} ({county})"
    return title_name(name)


def _fullest(history: list[Quarter]) -> str:
    """The latest name, or the fuller former one that the post office knows too.

    The table once called ELECTRIC CITY what it calls ELECTRIC now; what it called SPOKANE CITY is
    Spokane.
    """
    latest = history[-1].name
    fuller = [
        quarter.name
        for quarter in history
        if quarter.name.startswith(f"{latest} ") and name_key(quarter.name) in _postal_names()
    ]
    return max([latest, *fuller], key=len)


@lru_cache(maxsize=1)
def _postal_names() -> frozenset[str]:
    """Keys of the names that ZIPs of the state go by."""
    return frozenset(
        name_key(name)
        for place in compiled_book(None).zips.state("WA").values()
        for name in (place.city, *place.accepted_names)
    )


def _location_names(latest: str, history: list[Quarter]) -> tuple[str, ...]:
    """Every name the table has used, without the marks of county and transit area."""
    used = (latest, *(quarter.name for quarter in reversed(history)))
    names = (re.sub(r"\s*(/\w+)?\s*(NON-RTA|RTA)?$", "", name) for name in used)
    return tuple(dict.fromkeys(title_name(name) for name in names))


class StateFile(NamedTuple):
    """One form of a state's own file."""

    form: FileForm
    state: str
    looks: str
    """What it looks like, for somebody whose file is not recognized."""
    read: Callable[[str, Recognised, Book], ReadRateFile]
    columns: Mapping[str, str] = {}
    """The columns of its header, by which it is known; empty where it has none."""
    quarter: Callable[[str, str], str | None] | None = None
    """Reads its quarter where neither its name nor its first line says it."""


STATE_FILES = (
    StateFile(
        "cdtfa",
        "CA",
        "California (CDTFA): a header with Location, Rate, County, Type",
        read_california,
        CA_COLUMNS,
    ),
    StateFile(
        "wa_dor",
        "WA",
        "Washington (Department of Revenue): a header with Name, Code, State, Local, RTA,"
        " Rate, Effective Date, Expiration Date",
        read_washington,
        WA_QUARTER_COLUMNS,
        last_quarter,
    ),
    StateFile(
        "wa_dor_table",
        "WA",
        "Washington, several quarters: a header with effective, expiration,"
        " location_code, location, state_rate, local_rate, rta, total_rate",
        read_washington,
        WA_TABLE_COLUMNS,
        last_quarter,
    ),
    StateFile(
        "tx_taxrates",
        "TX",
        "Texas (Comptroller's taxrates.txt): separated by tabs; its first line has the"
        " period and the state's rate",
        read_texas,
    ),
)
"""Every form of a state's own file; that of a file without a header is told by `importer`."""
