"""SST rate files: every jurisdiction of the state with its whole history.

Boundary rows name jurisdictions by code, so all of them are stored, also those without a name and
those whose place no rate file names. Lookups without a boundary file use what the shipped
book's own areas, the counties and the Census places of the same codes need.

Washington's file is another: its special codes `Lnnnn` are the location codes of the Department of
Revenue and hold the whole local rate, transit included. They are never added to a county or a
place. For the quarters that the Department's own table covers, that table rules, and differences
are listed.
"""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.imports.draft import MISSING, RowError, sst_date, sst_end
from svc_tools.service.ratebook.imports.reading import (
    BrokenLine,
    FileRefused,
    add_source,
    checked_draft,
    csv_lines,
    holds,
    quarter_begin,
    row_on,
    seeded,
    shown,
    without_blank_end,
)
from svc_tools.service.ratebook.imports.sst_rows import (
    CITY,
    COUNTY,
    RATE_FILES,
    SPECIAL,
    STATE,
    add_local_rates,
    jurisdiction_id,
    level_and_code,
    rate_file_rows,
)
from svc_tools.service.ratebook.imports.states import county_fips
from svc_tools.service.ratebook.schema import Area

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.imports.draft import Draft, Finding, Report
    from svc_tools.service.ratebook.imports.reading import ReadRateFile, Recognised
    from svc_tools.service.ratebook.imports.sst_rows import RateFileRow

_DAY = timedelta(days=1)
_ENDED = "the rows of the file end before: no rate"
_NOT_NEEDED = "places"
"""What the compiled book says of the places that levy nothing: here they are stored as well."""

_WHOLE_IN_COUNTY = "NV"
_COUNTY_TWICE = "TN"
_MISSING = (
    "The rate file alone does not say where its cities and districts lie: import the state's"
    " boundary file for ZIP+4 and addresses."
)


def read_sst_rates(text: str, found: Recognised, book: Book) -> ReadRateFile:
    """Read an SST rate file.

    Raises:
        BrokenLine: a line does not hold what it should.
        FileRefused: the rows contradict each other or the book.
    """
    state, draft = found.state, seeded(book.states, book.counties)
    fips = book.states[state].fips
    lines = rate_lines(text, found.path.name, fips)
    rows = rate_file_rows(lines, found.path.name, fips, draft.report)
    if state == "WA":
        return _read_location_rates(rows, found, book, draft.report)
    name = book.states[state].name
    source = add_source(
        draft,
        found,
        f"Streamlined Sales Tax rate file of {name}",
        f"{name} through the Streamlined Sales Tax Governing Board",
    )
    if state == _WHOLE_IN_COUNTY:
        rows = _without_state_part(rows, found, book, draft)
    if state == _COUNTY_TWICE:
        rows = _without_repeated_counties(rows, found, draft)
    if state in RATE_FILES:
        draft.places = list(book.places(state).values())  # whose codes are those of the file
        draft.states[state] = replace(draft.states[state], missing="", districts_until=None)
        local = [row for row in rows if row.kind != STATE]
        add_local_rates(state, local, source, found.path.name, draft)
        draft.report.findings[:] = [
            _stored(finding) for finding in draft.report.findings if finding.subject != _NOT_NEEDED
        ]
        _add_jurisdictions(rows, source, found, book, draft)
        _hold_down_unsure(lines, found, book, draft)
        row = draft.states[state]
        missing = f"{MISSING[row.tier]} {row.missing}".strip()
        draft.states[state] = replace(row, missing=missing)
    else:
        _add_jurisdictions(rows, source, found, book, draft)
        _hold_down_unsure(lines, found, book, draft)
        if book.states[state].local != "none" or any(r.units for r in rows if r.kind != STATE):
            _add_counties(state, draft)
            _add_places(state, book, draft)
            _say_what_is_missing(found, rows, draft)
    return checked_draft(
        draft,
        found,
        covers_from=min((row.begin for row in rows), default=quarter_begin(found.edition)),
        continues=False,
        rows=len(rows),
    )


def _stored(finding: Finding) -> Finding:
    """What the compiled book leaves out is stored here, for boundary rows to name."""
    if finding.kind == "left_out" and finding.subject.startswith(("place ", "type ")):
        message = f"{finding.message}; stored for boundary rows"
        return replace(finding, kind="note", message=message)
    return finding


def _add_jurisdictions(
    rows: list[RateFileRow], source: str, found: Recognised, book: Book, draft: Draft
) -> None:
    """Add every jurisdiction that is not there yet; where its rows have ended, it has no rate."""
    by_key = groupby(rows, key=lambda row: jurisdiction_id(found.state, row.kind, row.code))
    for key, group in by_key:
        if key in draft.jurisdictions:
            continue
        spans = list(group)
        level, code = level_and_code(spans[0].kind, spans[0].code)
        draft.add_jurisdiction(
            found.state, level, code, _jurisdiction_name(book, found.state, *spans[0][:2])
        )
        if level == "county" and (found.state, code) not in book.counties:
            draft.report.add(
                "note",
                found.path.name,
                f"county {code}",
                "is no county of the state: stored by its code, used nowhere",
            )
        for row, later in zip_longest(spans, spans[1:]):
            draft.add_rate(
                key, row.units, source, begin=row.begin, end=row.end, effective=row.begin
            )
            over = row.end and row.end + _DAY
            if over and (later is None or over < later.begin):
                end = later.begin - _DAY if later else None
                draft.add_rate(key, 0, source, begin=over, end=end, effective=over, note=_ENDED)


def _hold_down_unsure(
    lines: Sequence[_RateLine], found: Recognised, book: Book, draft: Draft
) -> None:
    """A jurisdiction with a row that was left out is never sure: that row may be the right one.

    Where it has no other row, or that row follows one that ended, its rate is not known. Nor is one
    sure of which two rows begin on the same day with different rates.
    """
    left_out = {
        finding.subject: finding.message
        for finding in draft.report.findings
        if finding.kind == "left_out"
    }
    unsure: dict[str, str] = {}
    lacking: set[str] = set()
    begun: dict[tuple[str, str], Decimal] = {}
    for number, fields in lines:
        kind, code, begin = fields[1], fields[2], fields[7]
        key = jurisdiction_id(found.state, kind, code)
        if reason := left_out.get(f"line {number}"):
            unsure[key] = f"A row of its rate file cannot be used: {reason}."
            lacking.add(key)
            if key not in draft.jurisdictions:
                title = _jurisdiction_name(book, found.state, kind, code)
                level, code = level_and_code(kind, code)
                draft.add_jurisdiction(found.state, level, code, title)
                draft.add_rate(key, 0, next(iter(draft.sources)), begin=None, use="unknown")
        elif begun.setdefault((key, begin), Decimal(fields[3])) != Decimal(fields[3]):
            unsure[key] = f"Its rate file has two rows from {begin} with different rates."
            draft.report.add("conflict", found.path.name, f"line {number}", unsure[key])
    for key, why in unsure.items():
        draft.rates[key] = [
            replace(
                row,
                # a doubt that holds it down further stays
                conflict_cap="medium" if row.begin and row.conflict_cap != "low" else "low",
                note=f"{row.note} {why}".strip(),
                # what was left out may be the rate since then: not known, and no zero
                use="unknown" if key in lacking and row.note == _ENDED else row.use,
            )
            for row in draft.rates.get(key, ())
        ]


def _jurisdiction_name(book: Book, state: str, kind: str, code: str) -> str:
    """The name the shipped book has for a jurisdiction, else its code."""
    known = book.jurisdictions.get(jurisdiction_id(state, kind, code))
    if known:
        return known.name
    if kind == STATE:
        return book.states[state].name
    if kind == COUNTY:
        county = book.counties.get((state, code))
        return county.name if county else f"county {code}"
    place = book.places(state).get(code) if kind == CITY else None
    if place:
        return place.name
    return f"place {code}" if kind == CITY else f"special district {code}"


def _without_state_part(
    rows: list[RateFileRow], found: Recognised, book: Book, draft: Draft
) -> list[RateFileRow]:
    """Nevada files 0 for the state and the whole rate for each county: take the state's part off.

    Raises:
        FileRefused: a county of the edition's own quarter or later is below the state's part.
    """
    if any(row.units for row in rows if row.kind == STATE):
        return rows  # filed as everywhere else
    whole = book.rates[found.state][-1].units
    left = []
    for row in rows:
        if row.kind == STATE:
            continue
        if row.kind != COUNTY:
            left.append(row)
        elif row.units >= whole:
            left.append(row._replace(units=row.units - whole))
        elif row.end is None or row.end >= quarter_begin(found.edition):
            raise FileRefused(
                f"{found.path.name}: county {row.code} has {row.units} units from {row.begin} on,"
                f" below the {whole} of the state that its counties hold in this file"
            )
        else:
            draft.report.add(
                "left_out",
                found.path.name,
                f"county {row.code}",
                f"{row.units} units from {row.begin} to {row.end} are below the {whole} that the"
                " state has today",
            )
    draft.report.add(
        "settled",
        found.path.name,
        found.state,
        f"the counties hold the state's {whole} units too, which were taken off",
    )
    return left


def _without_repeated_counties(
    rows: list[RateFileRow], found: Recognised, draft: Draft
) -> list[RateFileRow]:
    """Tennessee's rows of type 63 repeat the county's: added to it they would count twice."""
    left = [row for row in rows if row.kind != SPECIAL]
    if len(left) < len(rows):
        draft.report.add(
            "settled",
            found.path.name,
            f"type {SPECIAL}",
            f"{len(rows) - len(left)} rows repeat the rates of counties",
        )
    return left


def _add_counties(state: str, draft: Draft) -> None:
    """One area for each county: with its rate, or, where the file has none, without."""
    for (where, fips), county in draft.counties.items():
        if where != state:
            continue
        key = f"{state}:county:{fips}"
        parts = (key,) if key in draft.jurisdictions else ()
        draft.add_area(Area(key, state, "county", county.name, (fips,), parts))


def _add_places(state: str, book: Book, draft: Draft) -> None:
    """One area for each part of a Census place that levies a rate: its code is the file's."""
    for place in book.places(state).values():
        key = f"{state}:city:{place.fips}"
        if not any(row.units for row in draft.rates.get(key, ())):
            continue
        for number, fips in enumerate(place.counties.split()):
            county = draft.areas[f"{state}:county:{fips}"]
            part = f"{key}-{fips}" if number else key
            known = book.areas.get(part)
            name = f"{place.name} ({county.name})" if number else place.name
            draft.add_area(
                Area(
                    part,
                    state,
                    "city",
                    known.name if known else name,
                    (fips,),
                    (*county.components, key),
                    known.cities if known else (() if number else (place.name,)),
                    "",
                    1 if number else 0,
                    place=place.fips,
                )
            )


def _say_what_is_missing(found: Recognised, rows: list[RateFileRow], draft: Draft) -> None:
    """Taxed cities and districts that only boundary rows can place are missed, and it says so."""
    state, name = found.state, found.path.name
    since = quarter_begin(found.edition)
    placed = {part for area in draft.areas.values() for part in area.components}
    lost: dict[str, RateFileRow] = {}
    for row in rows:
        if not row.units or row.kind in {STATE, COUNTY}:
            continue
        key = jurisdiction_id(state, row.kind, row.code)
        if key in placed:
            continue
        if row.end is None or row.end >= since:
            lost[key] = row
        elif row.kind != CITY:
            draft.note_districts(state, row.end)
    for key, row in sorted(lost.items()):
        known = draft.jurisdictions[key].name
        draft.report.add(
            "note", name, known, f"{row.units} units, in a place that only boundary rows tell"
        )
    for area in [area.id for area in draft.areas.values() if lost]:
        draft.flag_area(area, "districts", None)
    by_city = any(area.kind == "city" for area in draft.areas.values())
    whole = "C" if by_city else "B"
    draft.states[state] = replace(
        draft.states[state],
        tier="D" if lost else whole,
        local="city" if by_city else "county",
        missing=_MISSING if lost else MISSING[whole],
    )


_LOCATION = re.compile(r"L?(\d{4})", re.ASCII)
_CODE_ONLY = 9  # the last in rank: nothing says what it is called


def _read_location_rates(
    rows: Sequence[RateFileRow], found: Recognised, book: Book, report: Report
) -> ReadRateFile:
    """The location codes of the file from the first day of its quarter on.

    Raises:
        FileRefused: no row of it is a location code.
    """
    draft = seeded(book.states, book.counties)
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
            area = areas.get(location[1]) or _unnamed_location(location[1])
            if ("WA", area.counties[0]) not in book.counties:
                given = f"location code {location[1]}"
                draft.report.add("left_out", found.path.name, given, "is of no county")
                continue
            _add_washington_location(area, clipped, (source, found.path.name), book, draft)
            taken += 1
        else:
            draft.report.add(
                "note",
                found.path.name,
                f"type {row.kind} {row.code}",
                "no location code: those hold the whole local rate",
            )
    if not taken:
        raise FileRefused(
            f"{found.path.name}: no row has a location code such as L1726, by which Washington's"
            " rates are stored"
        )
    return checked_draft(draft, found, covers_from=first, continues=True, rows=taken)


def _unnamed_location(code: str) -> Area:
    """The area of a code that the Department's table does not have."""
    name, key = f"Location code {code}", f"WA:city:{code}"
    county = county_fips(int(code))
    return Area(f"WA:{code}", "WA", "named", name, (county,), (key,), (), code, _CODE_ONLY)


def _add_washington_location(
    area: Area, row: RateFileRow, origin: tuple[str, str], book: Book, draft: Draft
) -> None:
    source, name = origin
    parts = _location_parts(area, row, name, book, draft)
    for key, units in parts.items():
        known = book.jurisdictions.get(key)
        if known:
            draft.jurisdictions[key] = known
        else:
            draft.add_jurisdiction("WA", "city", area.code, area.name)
        draft.add_rate(key, units, source, begin=row.begin, end=row.end)
    draft.areas[area.id] = area


def _location_parts(
    area: Area, row: RateFileRow, name: str, book: Book, draft: Draft
) -> dict[str, int]:
    """The rates of an area's parts: by the table where it covers the day, else by the file.

    The file does not say how much of a rate is transit: it stays what the table had last.
    """
    known = [key for key in area.components if key in book.rates]
    last = {key: row_on(book.rates[key], row.begin) or book.rates[key][-1] for key in known}
    if not last:
        return {area.components[0]: row.units}
    whole = sum(rate.units for rate in last.values())
    rules = all(
        holds(rate, row.begin)
        and rate.trust == "official"
        and book.sources[rate.source].local_until >= row.begin
        for rate in last.values()
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


SST_RATE_COLUMNS = 9

_RateLine = tuple[int, list[str]]
"""Number of a line and its nine fields."""

_CODE_WIDTHS = {STATE: 2, COUNTY: 3, CITY: 5}
_RATE = (
    "rate",
    re.compile(r"0?\.\d{1,10}|[01](?:\.\d{0,10})?", re.ASCII),
    "a fraction of 0 to 1, such as 0.0625 for 6.25%",
)

_FIELD_FORMS = (
    ("type", re.compile(r"\d{1,2}", re.ASCII), "two digits, such as 00 for a county"),
    ("code", re.compile(r"[0-9A-Za-z-]{1,12}", re.ASCII), "a code, such as 053"),
    *([_RATE] * 4),
)
"""What stands in the columns from the second to the seventh."""

_MAY_BE_BLANK = frozenset((6, 7))
"""The rates of food and drugs."""

_FAR_DAY = re.compile(r"2[1-9]\d{6}|[3-9]\d{7}", re.ASCII)
_OPEN_END = "99991231"


def rate_lines(text: str, name: str, fips: str) -> list[_RateLine]:
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
        fields = list(without_blank_end([field.strip() for field in raw], SST_RATE_COLUMNS))
        if fields[-1] and _FAR_DAY.fullmatch(fields[-1]):
            fields[-1] = _OPEN_END  # whichever day of a far century means that there is no end
        fault = _line_fault(fields, fips)
        if fault:
            raise BrokenLine(name, number, *fault)
        kind = fields[1].zfill(2)
        fields[1:3] = kind, fields[2].upper().zfill(_CODE_WIDTHS.get(kind, 0))
        found.append((number, fields))
    return found


def _line_fault(fields: list[str], fips: str) -> tuple[str, str] | None:
    """What a line has and what was expected; `None` where it is a row of a rate file."""
    if len(fields) != SST_RATE_COLUMNS:
        return f"{len(fields)} columns", f"{SST_RATE_COLUMNS}"
    if fields[0].zfill(2) != fips:
        return f"column 1 (state) is {shown(fields[0])}", f"{fips}, as in the other lines"
    for column, (what, form, expected) in enumerate(_FIELD_FORMS, 2):
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
