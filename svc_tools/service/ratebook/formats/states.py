"""Rows of California's list (CDTFA) and of Washington's location codes (Department of Revenue)."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import date, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.book import ZipIndex
from svc_tools.service.ratebook.formats.draft import (
    RowError,
    fraction_units,
    percent_text,
    quarter_end,
    slug,
    sst_date,
)
from svc_tools.service.ratebook.names import name_key, title_name
from svc_tools.service.ratebook.schema import Area

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc_tools.service.ratebook.formats.draft import Draft

CALIFORNIA_BASE = 7_250
"""Units everywhere in California: 6.00 % state and 1.25 % uniform local."""

_CITY_COUNTIES = frozenset({"075"})  # San Francisco


class CaliforniaPlace(NamedTuple):
    """What one row of the list says: an area, its district taxes and their name."""

    area: Area
    name: str
    total: int


def california_place(row: dict[str, str], draft: Draft) -> CaliforniaPlace | None:
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
    if total < CALIFORNIA_BASE:
        raise RowError(f"rate {row['Rate']} is below the uniform {percent_text(CALIFORNIA_BASE)}")
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
        _city_names(name) if is_city else (),
        "",
        0,
    )
    return CaliforniaPlace(area, f"{title}: district taxes", total)


def add_california_place(found: CaliforniaPlace, draft: Draft) -> str:
    """Add the area of a row and who levies its district taxes; the id of the latter."""
    code = found.area.components[0].removeprefix("CA:district:")
    key = draft.add_jurisdiction("CA", "district", code, found.name)
    draft.add_area(found.area)
    return key


def _city_names(name: str) -> tuple[str, ...]:
    """A city's name, and the one its post office uses."""
    short = re.sub(r"^City of ", "", name)
    return (name,) if short == name else (name, short)


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
            quarter = parse_quarter(row)
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


def parse_quarter(row: dict[str, str]) -> Quarter:
    """One row of the table, by the names of its columns.

    Raises:
        RowError: a column does not hold what it should, or the parts are not the total.
    """
    begin, end = sst_date(row["effective"]), sst_date(row["expiration"])
    if end != quarter_end(begin.year, (begin.month + 2) // 3):
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
    county = county_of(code)
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


def county_of(code: int) -> str:
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
        for place in ZipIndex(()).state("WA").values()
        for name in (place.city, *place.accepted)
    )


def _location_names(latest: str, history: list[Quarter]) -> tuple[str, ...]:
    """Every name the table has used, without the marks of county and transit area."""
    used = (latest, *(quarter.name for quarter in reversed(history)))
    names = (re.sub(r"\s*(/\w+)?\s*(NON-RTA|RTA)?$", "", name) for name in used)
    return tuple(dict.fromkeys(title_name(name) for name in names))
