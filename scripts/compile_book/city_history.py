"""Rates of listed cities before their list's edition, in states where some cities are known."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.imports.draft import (
    RowError,
    fraction_units,
    iso_date,
    percent_text,
)
from svc_tools.service.ratebook.names import name_key

from .files import rounded_units
from .listed import Span, read_listed, state_units
from .unlisted import add_city, add_unlisted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from svc_tools.service.ratebook.imports.draft import Draft
    from svc_tools.service.ratebook.schema import Area, RateRow

_BEGIN = date(2022, 1, 1)
_DAY = timedelta(days=1)
_TEXAS = "tx-comptroller-changes"
_SECOND_HALF = date(2022, 7, 1)
_NEW_MEXICO = "nm-grt-2022h1"
_DIFFER = "Two schedules differ ({} of 2022-01, {} of 2026-07), and the day of change is not known."
_REST = "county_rest"


class _Known(NamedTuple):
    """A city of the book, and the first day that its list is for.

    Attributes:
        area: its area.
        own: the jurisdiction that the rates before that day are added to.
        first: its oldest row.
        total: the combined rate on that day.
    """

    area: Area
    own: str
    first: RateRow
    total: int

    @property
    def begin(self) -> date:
        """The first day of its list."""
        return self.first.begin or _BEGIN


def add_city_history(path: Path, changes: Path, draft: Draft) -> None:
    """Add what listed cities had before the editions of their lists.

    The rates are totals: the whole local rate stands at the city. A history that does not lead to
    the rate of the city's list, or that an official list of changes contradicts, is left out.

    Args:
        path: rates by city, with the days.
        changes: the changes of Texas cities' rates in some quarters.
        draft: has the cities.
    """
    changed = _texas_changes(changes)
    done = set()
    for listed in read_listed(path, certainty=True):
        known = _known(listed.state, listed.place, draft)
        reason = _unfit(known, listed.spans)
        since = changed.get(listed.place, ()) if listed.state == "TX" else ()
        if any(day > listed.spans[0].begin for day, _ in since):
            reason = reason or "an official list has a change of the rate since"
        if known is None or reason:
            draft.report.add("left_out", path.name, f"{listed.state} {listed.name}", reason)
            continue
        done.add(known.area.place)
        _prepend(known, listed.spans, draft)
    for place, found in changed.items():
        known = _known("TX", place, draft)
        day, units = found[-1]
        if known and known.first.use == "partial" and known.total == units:
            known = _settled(known, draft)  # the lower bound is the whole by the official page
        if known and place not in done and day >= _BEGIN and not known.first.use:
            span = Span(day, None, units, day, "", _TEXAS, "", likely=True)
            reason = _unfit(known, [span])
            if reason:
                draft.report.add("left_out", changes.name, f"TX {known.area.name}", reason)
            else:
                _prepend(known, [span], draft)


def _texas_changes(path: Path) -> dict[str, list[tuple[date, int]]]:
    """The days on which rates of Texas cities changed, and to what, by code of the place."""
    found: dict[str, list[tuple[date, int]]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["kind"] in {"increased", "reduced", "adopted"}:
                change = iso_date(row["effective_from"]), fraction_units(row["combined_rate"])
                found[row["place_fips"]].append(change)
    return found


def _known(state: str, place: str, draft: Draft) -> _Known | None:
    """A city of the book by the code of its place: the part in its main county."""
    for area in draft.areas.values():
        if (area.state, area.place, area.rank) != (state, place, 0):
            continue
        own = area.components[-1]
        first = draft.rates[own][0]
        if first.begin is None:
            return None
        others = sum(
            row.units
            for part in area.components[:-1]
            for row in draft.rates[part]
            if (row.begin or date.min) <= first.begin <= (row.end or date.max)
        )
        total = state_units(draft, state, first.begin) + others + first.units
        return _Known(area, own, first, total)
    return None


def _settled(known: _Known, draft: Draft) -> _Known:
    """A city whose first row, a lower bound, is taken as the whole rate."""
    whole = replace(known.first, use="", note="", certainty="likely")
    draft.rates[known.own][0] = whole
    name, total = known.area.name, percent_text(known.total)
    draft.report.add("settled", _TEXAS, f"TX {name}", f"{total} is the whole rate by both sources")
    return known._replace(first=whole)


def _unfit(known: _Known | None, spans: Sequence[Span]) -> str:
    """Why a history cannot go before a city's rates; empty where it can."""
    if known is None:
        return "the book has no rate of the city"
    if known.first.use:
        return "its list does not give the whole rate"
    last = spans[-1]
    if last.end and last.end < known.begin - _DAY:
        return f"ends on {last.end}, and the list begins on {known.begin}"
    if last.units != known.total:
        has = percent_text(last.units or 0)
        return f"ends with {has}, and the list has {percent_text(known.total)}"
    return ""


def _prepend(known: _Known, spans: Iterable[Span], draft: Draft) -> None:
    """Add the spans before the first row of a city, cut where the state's rate changes."""
    state, rows = known.area.state, draft.rates[known.own]
    use = "total" if len(known.area.components) > 1 else ""
    added: list[RateRow] = []
    for span in spans:
        for begin, end in _pieces(span, state, known.begin - _DAY, draft):
            source = span.source
            if begin > draft.sources[source].local_until:
                source = known.first.source  # the later of the two editions that agree
            count = len(rows)
            draft.add_rate(
                known.own,
                _local(span, state, begin, draft),
                source,
                begin=begin,
                end=end,
                effective=span.effective if span.effective == begin else None,
                use=use,
                certainty="likely" if span.likely else "",
                note=span.note,
            )
            new = rows.pop(count)
            before = added[-1] if added else None
            if before and _same(before, new):
                added[-1] = replace(before, end=new.end)
            elif before and before.units == new.units:
                added.append(replace(new, effective=before.effective))
            else:
                added.append(new)
    rows[:0] = added


def _local(span: Span, state: str, day: date, draft: Draft) -> int:
    units = (span.units or 0) - state_units(draft, state, day)
    if units < 0:
        raise RowError(f"{state}: {percent_text(span.units or 0)} in all is less than the state's")
    return units


def _same(before: RateRow, after: RateRow) -> bool:
    return (before.units, before.source, before.certainty) == (
        after.units,
        after.source,
        after.certainty,
    )


def _pieces(span: Span, state: str, until: date, draft: Draft) -> Iterator[tuple[date, date]]:
    """The days of a span up to a last one, cut where the state's rate changes."""
    end = min(span.end or until, until)
    cuts = {row.begin for row in draft.rates[state] if row.begin and span.begin < row.begin <= end}
    days = sorted({span.begin, *cuts})
    for begin, after in zip(days, [*days[1:], end + _DAY], strict=True):
        if begin < after:
            yield begin, after - _DAY


def add_new_mexico_2022(path: Path, draft: Draft) -> None:
    """Add what places of some counties of New Mexico had in the first half of 2022.

    Where the schedule of the book has the same local rate, it is likely for the time between;
    where it has another one, which of the two held is not known. Other places and what is left of
    the counties have a rate in that half year only.
    """
    counties: set[str] = set()
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            fips = draft.county_fips("NM", row["county_name"])
            if fips is None:
                raise RowError(f"{path.name}: {row['county_name']}: the state has no such county")
            units, published = rounded_units(row["local_rate"])
            begin, end = iso_date(row["effective_from"]), _SECOND_HALF - _DAY
            span = Span(begin, end, units, None, "", _NEW_MEXICO, "", published=published)
            if row["level"] == _REST:
                counties.add(fips)
                _add_rest(fips, span, draft)
            else:
                _add_place(row["place_name"], fips, span, path.name, draft)
    add_unlisted("NM", counties, "unknown", _NEW_MEXICO, draft)


def _add_half_year(key: str, span: Span, draft: Draft) -> None:
    """A rate that is known for the days of a span, and not after them."""
    _add(key, span, draft)
    draft.add_rate(key, 0, _NEW_MEXICO, begin=_SECOND_HALF, use="unknown")


def _add(key: str, span: Span, draft: Draft) -> None:
    draft.add_rate(
        key,
        span.units or 0,
        span.source,
        begin=span.begin,
        end=span.end,
        published=span.published,
    )


def _add_rest(fips: str, span: Span, draft: Draft) -> None:
    area = draft.areas[f"NM:county:{fips}"]
    key = draft.add_jurisdiction("NM", "county", fips, area.name)
    _add_half_year(key, span, draft)
    draft.areas[area.id] = replace(area, components=(key,), lacks="")


def _add_place(name: str, fips: str, span: Span, file: str, draft: Draft) -> None:
    bare = name.partition(" (")[0]
    places = [
        place
        for place in draft.places
        if place.state == "NM" and name_key(place.name) == name_key(bare)
    ]
    if not places:
        draft.report.add("left_out", file, f"NM {name}", "the state has no such place")
        return
    place = places[0]
    known = _known("NM", place.fips, draft)
    if known is None:
        _add_half_year(add_city(place, fips, draft), span, draft)
        return
    if fips not in known.area.counties:  # its area stands for every county of the city
        draft.report.add("left_out", file, f"NM {name}", "the book has the city by another county")
        return
    if known.begin <= span.begin:  # the history of the listed cities has it
        return
    rows, count = draft.rates[known.own], len(draft.rates[known.own])
    _add(known.own, span, draft)
    same, now = known.first.units == span.units, known.first
    draft.add_rate(
        known.own,
        now.units,
        now.source,
        begin=_SECOND_HALF,
        end=known.begin - _DAY,
        conflict_cap="" if same else "low",
        conflict_units=None if same else span.units,
        note="" if same else _DIFFER.format(percent_text(span.units or 0), percent_text(now.units)),
        use=now.use,
        certainty="likely" if same else "",
        published=now.published,
    )
    rows[:0] = [rows.pop(count), rows.pop(count)]
