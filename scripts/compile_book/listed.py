"""The lists of areas in one layout: combined rates by county, place and town, with history."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.imports.draft import (
    RowError,
    fraction_units,
    iso_date,
    percent_text,
)
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.schema import Area, Source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from svc_tools.service.ratebook.imports.draft import Draft
    from svc_tools.service.ratebook.schema import RateRow

_DAY = timedelta(days=1)
_LICENSE = "facts of public record, re-expressed in this project's schema"
_TRUST = {
    "official": "official",
    "official, partly read": "second_hand",
    "official figures, partly read": "second_hand",
    "press and second hand": "second_hand",
    "third hand": "third_hand",
    "official or quoting it": "second_hand",
    "official figures, second hand": "second_hand",
    "official figures, second hand, partly read": "second_hand",
    "official figures, third hand": "third_hand",
}
_USES = {"whole": "", "stale": "stale", "partial": "partial"}
_NOTES = {
    "changed_since": "A part of it has changed since the list was published.",
    "disputed": "Another compilation of the same file has another figure.",
    "lower_bound": "The list has a lower bound: a part may be missing.",
    "mean_unresolved": "The source has an average of several rates only.",
    "several_codes": "The state has several location codes here, with different rates.",
    "stale": "The last exact figure is of 2024-06; the average of the county is the same since.",
    "stale_changed": "The last exact figure is of 2024-06, and the average of the county changed.",
    "unconfirmed": "No second source confirms the figure.",
    "unresolved": "The sources do not settle the figure.",
}
"""Why a figure is not the whole rate, by its basis in the lists."""
_CAP_OPEN = "cap_open"
_MEASURE_H = 250
"""What a county's tax adds that may not apply in a city at the limit of the law (`cap_open`)."""
_SAME_SOURCE = {"local-tables-2026": "local-tables"}
"""Sources that a table names otherwise than the book."""
_GOOD_UNTIL = {
    "id-code-50-1044": "2026-12-31",  # a law: as the list of the cities that it lets levy
    "ak-arsstc-members": "2026-10-20",  # has no day: as the table that has the same figures
    "la-lata": "2025-04-30",  # the last of its tables; each has its own day
    "tx-comptroller-changes": "2026-09-30",  # changes that the list of 2026Q3 still has
}
"""The last good days of sources that give none."""
_NOT_WHOLE = "The list does not give it as the whole rate."
_DATED = frozenset({"change"})
_ARTIFACT = "artefact"  # a sliver that a file draws by mistake: it has its county's rate


class Span(NamedTuple):
    """One combined rate of an area over some days, both ends inclusive.

    Attributes:
        begin: the first day.
        end: the last day; `None`: open.
        units: state part included, in units of 10^-5; `None` where no figure is known.
        effective: the day of law, where the list gives one.
        use: as `RateRow.use`.
        source: id of the source.
        note: what a reader should know.
        disputed: whether another compilation of the same file has another figure.
        likely: whether no source was read for all of its days.
        other: the other figure that is possible, as `units`.
        agreed: as `RateRow.agreed`.
        published: as `RateRow.published`.
    """

    begin: date
    end: date | None
    units: int | None
    effective: date | None
    use: str
    source: str
    note: str
    disputed: bool = False
    likely: bool = False
    other: int | None = None
    agreed: date | None = None
    published: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """One area of a list.

    Attributes:
        state: two-letter code.
        level: `county` (all of it), `county_rest` (outside the places that have a row), `place`
            or `town` (Vermont).
        county: three-digit FIPS code.
        place: five-digit place code; empty for counties and towns.
        name: of the place; empty for counties.
        kind: the type of the place.
        principal: whether this is the main county of the place.
        spans: its rates, the oldest first.
    """

    state: str
    level: str
    county: str
    place: str
    name: str
    kind: str
    principal: bool
    spans: tuple[Span, ...]

    @property
    def of_place(self) -> bool:
        """Whether it is a place or a town, and not (the rest of) a county."""
        return self.level in {"place", "town"}

    def undated(self, *, begin: date) -> Listed:
        """The same from an earlier day on, where its first span is dated by its list alone."""
        first = self.spans[0]
        if first.effective:
            return self
        return replace(self, spans=(first._replace(begin=begin), *self.spans[1:]))


def read_listed(path: Path, *, certainty: bool = False) -> list[Listed]:
    """The areas of one file, in the order of the file.

    Args:
        path: the file.
        certainty: mark the rates that it calls likely.

    Raises:
        RowError: a row does not hold what it should, or an area's spans overlap.
    """
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["basis"] != _ARTIFACT]
    grouped: dict[tuple[str, ...], list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        key = ("state", "level", "county_fips", "place_fips", "place_name", "place_type")
        grouped[tuple(row[name] for name in key)].append(row)
    return [_area(key, rows, path.name, certainty=certainty) for key, rows in grouped.items()]


def _area(
    key: tuple[str, ...], rows: list[dict[str, str]], name: str, *, certainty: bool
) -> Listed:
    state, level, county, place, title, kind = key
    spans = sorted(map(_span, rows), key=lambda span: span.begin)
    if not certainty:
        spans = [span._replace(likely=False) for span in spans]
    for earlier, later in pairwise(spans):
        if earlier.end is None or later.begin <= earlier.end:
            raise RowError(f"{name}: {state} {title or county}: spans overlap at {later.begin}")
    return Listed(
        state,
        level,
        county[2:],
        place,
        title,
        kind,
        rows[0]["principal"] != "n",
        tuple(_joined(_dated(spans))),
    )


def _dated(spans: Sequence[Span]) -> list[Span]:
    """Spans where one that goes on with the rate before it has its day of law."""
    found: list[Span] = []
    for span in spans:
        before = found[-1] if found else None
        same = before is not None and before.units == span.units  # not the rate changed there
        found.append(span._replace(effective=before.effective) if before and same else span)
    return found


def with_history(listed: Sequence[Listed], history: Sequence[Listed]) -> list[Listed]:
    """Areas of a list with the older rates of another one before their first day.

    Areas that the list does not have are left out.
    """
    older = {(area.level, area.county, area.place): area for area in history}
    found = []
    for area in listed:
        known, first = older.get((area.level, area.county, area.place)), area.spans[0]
        if known is None:
            found.append(area)
            continue
        eve = first.begin - _DAY
        before = [
            span if span.end and span.end <= eve else span._replace(end=eve)
            for span in known.spans
            if span.begin <= eve
        ]
        same_day = (span for span in known.spans if span.begin == first.begin and span.effective)
        if any(span.units == first.units for span in same_day):
            first = first._replace(effective=first.begin)
        spans = _dated([*before, first, *area.spans[1:]])
        found.append(replace(area, spans=tuple(spans)))
    return found


def _span(row: dict[str, str]) -> Span:
    units = fraction_units(row["combined_rate"]) if row["combined_rate"] else None
    begin = iso_date(row["effective_from"])
    disputed = row["basis"] == "disputed"
    return Span(
        begin,
        iso_date(row["effective_to"]) if row["effective_to"] else None,
        units,
        begin if row["from_kind"] in _DATED else None,
        _USES[row["use"]] if units is not None else "unknown",
        _SAME_SOURCE.get(row["source_id"], row["source_id"]),
        _note(row),
        disputed=disputed,
        likely=row.get("certainty") == "likely",
        other=units - _MEASURE_H if units is not None and row["basis"] == _CAP_OPEN else None,
    )


def _note(row: dict[str, str]) -> str:
    if row["basis"].startswith("cap_"):
        return f"{row['note'][:1].upper()}{row['note'][1:]}."
    return "" if row["use"] == "whole" else _NOTES.get(row["basis"], _NOT_WHOLE)


def _joined(spans: Iterable[Span]) -> Iterator[Span]:
    """Spans that follow one another with the same rate and use as one."""
    found: Span | None = None
    for span in spans:
        same = found and _facts(found) == _facts(span)
        if found and same and found.end == span.begin - _DAY:
            found = found._replace(end=span.end)
            continue
        if found:
            yield found
        found = span
    if found:
        yield found


def _facts(span: Span) -> tuple[object, ...]:
    return span.units, span.use, span.source, span.likely, span.other


def read_sources(paths: Iterable[Path], dated_by_edition: Iterable[str], draft: Draft) -> None:
    """Add the sources of the lists.

    Args:
        paths: tables of sources: id, what, authority, edition, trust, the last good day.
        dated_by_edition: ids of those whose rows are dated by the edition alone.
        draft: takes the sources.

    Raises:
        RowError: a table has a kind of trust that no book knows.
    """
    editions = frozenset(dated_by_edition)
    for path in paths:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                good = row["good_until"] or _GOOD_UNTIL.get(row["source_id"], "")
                if not good or row["source_id"] in {*draft.sources, *_SAME_SOURCE}:
                    continue
                if row["trust"] not in _TRUST:
                    raise RowError(
                        f"{path.name}: {row['source_id']}: trust: given {row['trust']!r}, "
                        f"expected one of {', '.join(_TRUST)}"
                    )
                until = iso_date(good)
                draft.sources[row["source_id"]] = Source(
                    row["source_id"],
                    row["what"],
                    row["authority"],
                    row["edition"],
                    _LICENSE,
                    _TRUST[row["trust"]],
                    None,
                    until,
                    until,
                    "edition_only" if row["source_id"] in editions else "no_published_date",
                )


def state_units(draft: Draft, state: str, day: date) -> int:
    """The state's rate on a day.

    Raises:
        RowError: the draft has none.
    """
    row = _row_on(draft.rates.get(state, ()), day)
    if row is None:
        raise RowError(f"{state}: no state rate on {day}")
    return row.units


def _row_on(rows: Iterable[RateRow], day: date) -> RateRow | None:
    for row in rows:
        if (row.begin or date.min) <= day and (row.end is None or day <= row.end):
            return row
    return None


def add_listed(
    listed: Sequence[Listed],
    draft: Draft,
    *,
    rests: Sequence[Listed] = (),
    parts: Mapping[str, tuple[str, ...]] | None = None,
    level: str = "city",
) -> None:
    """Add the areas of one state that the draft does not have.

    A place whose rate has always been its county's needs no area. The local part of each area
    stands at one level, the county's or the city's, but for what `parts` takes out of it.

    Args:
        listed: the areas.
        draft: has the state's rates.
        rests: the areas of the counties where they are not among `listed`.
        parts: jurisdictions that are a part of every area of a county, by its FIPS code.
        level: the level of the local part of a place.
    """
    counties = {area.county: area for area in (*rests, *listed) if not area.of_place}
    for area in listed:
        rest = counties.get(area.county)
        if area.of_place and rest and _rates_of(area) == _rates_of(rest):
            continue
        _add(area, draft, (parts or {}).get(area.county, ()), level)


def _rates_of(area: Listed) -> tuple[tuple[object, ...], ...]:
    return tuple((span.begin, span.end, span.units, span.use) for span in area.spans)


def _add(
    area: Listed,
    draft: Draft,
    parts: tuple[str, ...],
    level: str,
) -> None:
    state, county = area.state, draft.counties[area.state, area.county]
    if area.of_place:
        code = area.place or f"town-{name_key(area.name)}"
        code = code if area.principal else f"{code}-{area.county}"
        key = draft.add_jurisdiction(state, level, code, area.name)
        title = area.name if area.principal else f"{area.name} ({county.name})"
        made = Area(
            key,
            state,
            "city",
            title,
            (area.county,),
            (*parts, key),
            (area.name,)
            if area.principal or (state, area.place, area.county) in draft.divided
            else (),
            "",
            0 if area.principal else 1,
            place=area.place,
        )
    else:
        key = draft.add_jurisdiction(state, "county", area.county, county.name)
        made = Area(
            key,
            state,
            "county",
            county.name,
            (area.county,),
            (*parts, key),
            (area.name,) if area.name else (),
            "",
            0,
        )
    draft.add_area(made)
    oldest = draft.rates[state][0].begin or date.min
    for span in area.spans:
        known = span._replace(begin=max(span.begin, oldest))
        add_span(key, known, _others(draft, state, parts, known.begin), draft)


def _others(draft: Draft, state: str, parts: Iterable[str], day: date) -> int:
    """The state's rate and those of further parts on a day."""
    rows = [_row_on(draft.rates[part], day) for part in parts]
    return state_units(draft, state, day) + sum(row.units for row in rows if row)


def add_span(key: str, span: Span, others: int, draft: Draft) -> None:
    """Add what a jurisdiction adds to other parts so that they make up a combined rate.

    Raises:
        RowError: the other parts are more than the whole.
    """
    local = (span.units or 0) - others if span.units is not None else 0
    if local < 0:
        raise RowError(
            f"{key}: {percent_text(span.units or 0)} in all from {span.begin} on is less"
            f" than its other parts, {percent_text(others)}"
        )
    draft.add_rate(
        key,
        local,
        span.source,
        begin=span.begin,
        end=span.end,
        effective=span.effective,
        conflict_cap="low" if span.disputed else "medium" if span.other is not None else "",
        conflict_units=None if span.other is None else span.other - others,
        note=span.note,
        use=span.use,
        certainty="likely" if span.likely else "",
        agreed=span.agreed,
        published=span.published,
    )


def continue_official(
    listed: Sequence[Listed],
    source: str,
    draft: Draft,
    *,
    level: str = "city",
    aliases: Mapping[str, tuple[str, ...]] | None = None,
) -> None:
    """Go on where the state's own file ends, and fill the days that it leaves out.

    The file's rates stay for its time, split as it splits them. After its last day every part of
    an area goes on as it was; what the list has more or less is the own part's of the area. Areas
    that the file does not have are added as the list has them.

    Args:
        listed: the areas of one state.
        source: id of the state's own file among the sources.
        draft: has the areas of the file.
        level: the level of the local part of an area that the file does not have.
        aliases: further names of places by their code.
    """
    until = draft.sources[source].local_until
    index = _Index(listed[0].state, draft, aliases or {})
    pairs = [(area, index.find(area)) for area in listed]
    matched = [(area, found) for area, found in pairs if found]
    own = {found.id: _own_part(found) for _, found in matched}
    goes_on = next(span.source for area in listed for span in area.spans if span.end is None)
    for key in dict.fromkeys(part for _, found in matched for part in found.components):
        if key not in own.values():
            _go_on(key, until, goes_on, draft)
    done: set[str] = set()
    for area, found in sorted(matched, key=lambda pair: (pair[0].of_place, not pair[0].principal)):
        if area.of_place and not found.place:
            draft.areas[found.id] = replace(draft.areas[found.id], place=area.place)
        if own[found.id] not in done:
            done.add(own[found.id])
            _continue(area, found, own[found.id], until, draft)
    rests = {area.county: area for area in listed if not area.of_place}
    for made in [one for one in draft.areas.values() if one.state == listed[0].state]:
        part, rest = _own_part(made), rests.get(made.counties[0])
        if part not in done and made.id not in own and made.kind != "named" and rest:
            done.add(part)
            _follow(rest, made, part, until, draft)
    missing = [area for area, found in pairs if not found and not index.has_base(area)]
    add_listed(missing, draft, rests=listed, level=level)


class _Index:
    """The areas that a state's own file brought, by county, place and name."""

    def __init__(self, state: str, draft: Draft, aliases: Mapping[str, tuple[str, ...]]) -> None:
        self.aliases = aliases
        self.bases: dict[str, list[Area]] = defaultdict(list)
        self.cities: dict[tuple[str, str], Area] = {}
        for area in draft.areas.values():
            if area.state != state:
                continue
            for county in area.counties:
                if area.kind in {"county", "unincorporated"}:
                    self.bases[county].append(area)
                for name in (area.place, *map(name_key, area.cities)):
                    if name and area.kind in {"city", "county"}:
                        self.cities.setdefault((county, name), area)

    def find(self, area: Listed) -> Area | None:
        """The area of the file that a listed one is."""
        if not area.of_place:
            bases = self.bases[area.county]
            return bases[0] if len(bases) == 1 else None
        names = (area.place, *map(name_key, (area.name, *self.aliases.get(area.place, ()))))
        found = (self.cities.get((area.county, name)) for name in names if name)
        return next((one for one in found if one), None)

    def has_base(self, area: Listed) -> bool:
        """Whether the file tells more than one part of a listed county apart."""
        return not area.of_place and len(self.bases[area.county]) > 1


def _own_part(area: Area) -> str:
    """The jurisdiction that levies the rate of an area, and not of its surroundings."""
    levels = [key.split(":")[1] for key in area.components]
    wanted = "county" if area.kind == "county" and "county" in levels else "city"
    if wanted in levels:
        return area.components[len(levels) - 1 - levels[::-1].index(wanted)]
    return area.components[-1]


def _go_on(key: str, until: date, source: str, draft: Draft) -> None:
    """Let a rate of the file go on as it is after the file's last day."""
    last = draft.rates[key][-1]
    if last.end is None and (last.begin or date.min) <= until:
        draft.rates[key][-1] = replace(last, end=until)
        draft.rates[key].append(
            replace(last, begin=until + _DAY, source=source, trust=draft.sources[source].trust)
        )


def _continue(area: Listed, found: Area, own: str, until: date, draft: Draft) -> None:
    """Add the days of a listed area that the own part of the file's area does not have."""
    others = [key for key in found.components if key != own]
    rows = draft.rates[own]
    rows.sort(key=lambda row: row.begin or date.min)
    last = rows[-1]
    if last.end is None:
        rows[-1] = replace(last, end=until)
    added: list[RateRow] = []
    for span in area.spans:
        if span.use == "partial" and not (area.of_place or span.end):
            # cities of the county with rates of their own are whole: the rest of it is not
            since = found.lacks_from if found.lacks else max(span.begin, until + _DAY)
            draft.flag_area(found.id, "districts", since)
            span = span._replace(use="", note="")  # noqa: PLW2901 - one of many
        for begin, end in _pieces(span, [*others, own, area.state], until, draft):
            total = _others(draft, area.state, others, begin)
            row = _row_on(rows, begin)
            if row:
                _compare(row, span._replace(begin=begin), total, found.name, draft)
                _date_first(rows, row, span, total)
                continue
            eve = begin - _DAY
            before = next((one for one in (*added, *rows) if one.end == eve), None)
            count = len(rows)
            add_span(own, span._replace(begin=begin, end=end), total, draft)
            new = rows.pop(count)
            same = before and (before.units, before.use, before.certainty) == (
                new.units,
                new.use,
                new.certainty,
            )
            if before and same:
                new = replace(new, effective=before.effective)
            elif begin != span.begin:
                new = replace(new, effective=None)
            if added and same and before is added[-1] and before.source == new.source:
                added[-1] = replace(before, end=new.end)
            else:
                added.append(new)
    if not any(row.begin and row.begin > until for row in added):
        rows[rows.index(replace(last, end=until))] = last  # nothing follows: the last one goes on
    rows.extend(added)
    rows.sort(key=lambda row: row.begin or date.min)


def _compare(row: RateRow, span: Span, others: int, name: str, draft: Draft) -> None:
    """Report where the state's own file, which is used, has another rate than the list."""
    if span.units is not None and row.units + others != span.units and not span.use:
        draft.report.add(
            "conflict",
            row.source,
            f"{name} from {span.begin}",
            f"{percent_text(row.units + others)} by the state's file, which is used,"
            f" {percent_text(span.units)} by {span.source}",
        )


def _date_first(rows: list[RateRow], row: RateRow, span: Span, others: int) -> None:
    """Give the row that a file begins with the day of law of the list, where the rates are one."""
    law, same = span.effective, row.units + others == span.units
    if row is rows[0] and same and not row.effective and law and row.begin and law <= row.begin:
        rows[0] = replace(row, effective=law)


def _follow(rest: Listed, area: Area, own: str, until: date, draft: Draft) -> None:
    """Let an area that is not listed go on as the rest of its county, whose rate it has.

    Where the rest has several rates and the list one of them, only as long as that one stays.
    """
    others = _others(draft, area.state, [key for key in area.components if key != own], until)
    row = _row_on(draft.rates[own], until)
    last = next((s for s in rest.spans if s.begin <= until and (not s.end or s.end >= until)), None)
    if row is None or last is None or last.units != row.units + others:
        return
    spans = [span for span in rest.spans if not span.use or (span is last and span.end is None)]
    _continue(
        replace(rest, spans=tuple(s._replace(use="") for s in spans)), area, own, until, draft
    )


def _pieces(
    span: Span, keys: Iterable[str], until: date, draft: Draft
) -> Iterator[tuple[date, date | None]]:
    """A span cut where a rate of some jurisdictions begins or ends."""
    cuts = {span.begin, until + _DAY}
    for key in keys:
        for row in draft.rates[key]:
            cuts |= {row.begin or date.min, (row.end or date.max - _DAY) + _DAY}
    days = sorted(
        day
        for day in cuts
        if span.begin <= day and (span.end is None or day <= span.end) and day < date.max
    )
    for begin, after in zip(days, [*days[1:], None], strict=True):
        yield begin, after - _DAY if after else span.end
