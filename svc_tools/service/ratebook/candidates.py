"""The areas that a Census place, or a ZIP, may lie in, each with its share of the ZIP's land."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.query import NotResolved, Option

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.schema import Area, PlaceRow

BASE_KINDS = frozenset({"county", "unincorporated"})
"""Kinds of area that hold whatever no city of a county takes."""
WHOLE = 1000
"""All of a ZIP's land."""
_ONE_COUNTY = 3  # digits of one code
_SLIVER = 10  # thousandths of a ZIP's land: less is mostly noise
_CITY_WIDE = frozenset({"MS"})
"""States of full lists whose cities levy their rate in every county they lie in."""
_PLACE_KINDS = frozenset({"city", "county"})

_Index = dict[str, tuple["Area", ...]]


def bases_of(book: Book, state: str, fips: str) -> list[Area]:
    """The areas that hold what no city of a county takes, the first in rank first."""
    return [area for area in book.county_areas.get((state, fips), ()) if area.kind in BASE_KINDS]


def has_base(book: Book, state: str, fips: str) -> bool:
    """Whether the book has a rate for what no city of a county takes."""
    return bool(bases_of(book, state, fips))


def no_rate(book: Book, state: str, fips: str) -> NotResolved:
    """The error for a place in a county that the book has no rate for."""
    row, name = book.states[state], book.counties[state, fips].name
    detail: dict[str, object] = {"state": state, "county": name}
    if row.tier == "none":
        return NotResolved(
            "NOT_FOUND",
            f"{row.name} has no state sales tax, and the book has the rates of some of its boroughs"
            f" and towns only: there is no rate for this place in {name}",
            detail,
        )
    return NotResolved("NOT_FOUND", f"the book has no rate for {name}, {state}", detail)


def areas_of_place(
    book: Book, state: str, place: PlaceRow, within: Collection[str] = ()
) -> list[Area]:
    """The areas that a place lies in, that of its main county first.

    A place without an area in a county has what is left of that county. Where cities are listed
    without their counties, a city's area is that of its parts in every county.

    Args:
        book: the book.
        state: two-letter code.
        place: the place.
        within: FIPS codes of the counties to look in; all of the place's where none is given, or
            where it lies in none of them.
    """
    own = _index(book, state).get(place.fips, ())
    if len(place.counties) == _ONE_COUNTY and len(own) < 2:  # noqa: PLR2004 - most places
        if not own:
            return bases_of(book, state, place.counties)
        if own[0].counties == (place.counties,):
            return list(own)
    parts = (fips for area in own for fips in area.counties)  # the Census may not name them all
    every = list(dict.fromkeys((*place.counties.split(), *parts)))
    counties = [fips for fips in every if fips in within] or every
    found: list[Area] = []
    for fips in counties:
        here = [area for area in own if fips in area.counties]
        if not here and own and (state in _CITY_WIDE or book.states[state].tier == "D"):
            here = [own[0]]
        found += here[:1] or bases_of(book, state, fips)
    return list(dict.fromkeys(found))


def own_areas(book: Book, state: str, place: PlaceRow) -> tuple[Area, ...]:
    """The areas that are a place or a part of it, that of its main county first."""
    return _index(book, state).get(place.fips, ())


def _index(book: Book, state: str) -> _Index:
    """The areas of each place by its code: those that name it, or bear its name in its county."""
    memo = ("place areas", state)
    known = book.memo.get(memo)
    if isinstance(known, dict):
        return known
    named: dict[str, list[PlaceRow]] = defaultdict(list)
    for place in book.places(state).values():
        for name in (place.name, *place.aliases.split("|")):
            named[name_key(name)].append(place)
    found: dict[str, list[Area]] = defaultdict(list)
    for area in book.areas.values():
        if area.state != state or area.kind not in _PLACE_KINDS:
            continue
        if area.place:
            found[area.place].append(area)
            continue
        for name in area.cities:
            for place in named.get(name_key(name), ()):
                if not set(area.counties).isdisjoint(place.counties.split()):
                    found[place.fips].append(area)
    index: _Index = {
        fips: tuple(sorted(dict.fromkeys(areas), key=lambda area: (area.rank, area.id)))
        for fips, areas in found.items()
    }
    book.memo[memo] = index
    return index


def options_of_zip(
    book: Book, state: str, zip5: str, counties: Sequence[str], name: str
) -> tuple[Option, ...]:
    """The areas that a ZIP touches: the place it is called after first, then by share of land.

    A place with less than 1 % of the land does not count, unless the ZIP is called after it. Of
    Alaska no share is known: a place counts that the ZIP is called after.

    Args:
        book: the book.
        state: two-letter code.
        zip5: the ZIP.
        counties: FIPS codes of its counties, its own first.
        name: key of the name that the post office prefers for it; empty to prefer none.

    Raises:
        NotResolved: the book has no rate for what the ZIP touches most.
    """
    found: dict[str, Option] = {}
    first = ""
    left = WHOLE
    places = book.places(state)
    shares = book.zips.shares(zip5, state)
    if book.states[state].tier == "none":
        here = (
            row for row in places.values() if not set(counties).isdisjoint(row.counties.split())
        )
        shares = [(row.fips, 0) for row in here if _is_called(row, name)]
    for fips, share in shares:
        place = places[fips]
        named = _is_called(place, name)
        if share < _SLIVER and not named:
            continue
        left -= share
        areas = areas_of_place(book, state, place, counties)
        why = f"holds {place.name}"
        for area in areas:
            _add(found, area, why, share // len(areas))
        if named and areas and not first:
            first = areas[0].id
    if left >= _SLIVER or not found:
        towns = _towns(book, state, counties, name)
        bases = [area for fips in counties for area in bases_of(book, state, fips)]
        for area in (*towns, *bases):
            what = area.name if area in towns else _county(book, area)
            _add(found, area, f"touches {what}", left // len((*towns, *bases)))
        first = first or next((area.id for area in towns), "")
    if not found:
        raise no_rate(book, state, counties[0])
    return tuple(sorted(found.values(), key=lambda one: (_id(one) != first, -one.share)))


def _towns(book: Book, state: str, counties: Sequence[str], name: str) -> list[Area]:
    """The towns of Vermont that a ZIP is called after: the Census does not draw them."""
    if state != "VT":
        return []
    here = (area for fips in counties for area in book.county_areas.get((state, fips), ()))
    return [
        area
        for area in here
        if area.kind == "city" and not area.place and name_key(area.name) in {name, f"{name}town"}
    ]


def _is_called(place: PlaceRow, name: str) -> bool:
    if name_key(place.name) == name:
        return True
    aliases = place.aliases.split("|") if place.aliases and name else ()
    return any(name_key(one) == name for one in aliases)


def _add(found: dict[str, Option], area: Area, why: str, share: int) -> None:
    known = found.get(area.id)
    found[area.id] = (
        known._replace(share=known.share + share) if known else Option(area, why, share)
    )


def _id(option: Option) -> str:
    return option.area.id if option.area else ""


def _county(book: Book, area: Area) -> str:
    return book.counties[area.state, area.counties[0]].name
