"""From a ZIP and the city a caller names beside it: the city chooses, or it contradicts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.advisories import place_mismatch
from svc_tools.service.ratebook.by_place import locate_place
from svc_tools.service.ratebook.by_zip import BASE_KINDS, locate_zip
from svc_tools.service.ratebook.location import Location, Option
from svc_tools.service.ratebook.names import name_key, name_keys
from svc_tools.service.ratebook.query import NotResolved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.schema import Area

__all__ = ["locate_zip_and_city"]


def locate_zip_and_city(book: Book, state: str, zip_code: str, city: str) -> Location:
    """Where a ZIP leads, with the city the caller names beside it.

    A city that is a name of the ZIP chooses among its areas. Any other is a mismatch: the ZIP
    decides, and where the city would lead becomes a candidate.

    Raises:
        NotResolved: as `locate_zip`.
    """
    found = locate_zip(book, state, zip_code)
    city = city.strip()
    place = book.zips.state(state).get(found.zip or "")
    if place is None:  # a ZIP of another state: its names are names of places there
        return _across(book, state, found, city)
    keys = name_keys(city)
    known = {name_key(name) for name in (place.city, *place.accepted, *place.refused)}
    if known.isdisjoint(keys):
        county = _own_county(book, state, found, keys)
        return county or _mismatch(book, state, found, city, place.city)
    return _choose_by(book, state, found, city, keys) if found.options else found


def _choose_by(book: Book, state: str, found: Location, city: str, keys: Sequence[str]) -> Location:
    """Put the area first that a name of the ZIP means."""
    areas = [area for area in _city_areas(book, state, found) if _called(area, keys)]
    if areas:
        chosen = min(areas, key=lambda area: (area.rank, area.id))
        named = _choose(found, chosen, f"is called {chosen.name}, the city given")
        by_city = book.states[state].local == "city"
        decided = "named_city" if by_city and chosen.kind != "county" else found.decided
        via = "place" if decided == "named_city" else "zip5"
        same = [area for area in areas if area.kind != "overlay"]
        return replace(named, via=via, decided=decided, city=city, ambiguous=len(same) > 1)
    first = found.options[0].area
    if first is not None and first.kind in {"city", "overlay"}:
        # the ZIP's other names: not the city that levies the rate
        others = [o for o in found.options if o.area is not None and o.area.kind in BASE_KINDS]
        if others and others[0].area is not None:
            found = _choose(found, others[0].area, others[0].why)
    return replace(found, city=city)


def _across(book: Book, state: str, found: Location, city: str) -> Location:
    """A ZIP of another state reaches in: only a place of this state there is no mismatch."""
    named = _named(book, state, city)
    inside = {fips for o in found.options if o.area for fips in o.area.counties} | {found.county}
    if named is not None and named.county in inside:
        keys = name_keys(city)
        return _choose_by(book, state, found, city, keys) if found.options else found
    county = book.counties.get((state, found.county or ""))
    return _mismatch(book, state, found, city, county.name if county else book.states[state].name)


def _own_county(book: Book, state: str, found: Location, keys: Sequence[str]) -> Location | None:
    """The ZIP in the one of its counties that the caller names instead of a city, if any."""
    touched = [o for o in found.options if o.area is not None and o.area.kind in BASE_KINDS]
    for option in touched:
        area = option.area
        if area and name_key(book.counties[state, area.counties[0]].name) in keys:
            return _choose(found, area, "lies in the county given")
    return None


def _city_areas(book: Book, state: str, found: Location) -> list[Area]:
    """The city areas of every county the ZIP touches."""
    counties = {fips: None for o in found.options if o.area for fips in o.area.counties}
    areas = {a.id: a for fips in counties for a in book.county_areas.get((state, fips), ())}
    return [area for area in areas.values() if area.kind in {"city", "overlay", "county"}]


def _called(area: Area, keys: Sequence[str]) -> bool:
    return any(name_key(city) in keys for city in area.cities)


def _choose(found: Location, area: Area, why: str) -> Location:
    """Put one area first."""
    rest = tuple(option for option in found.options if option.area is not area)
    return replace(found, options=(Option(area, why), *rest), county=area.counties[0])


def _named(book: Book, state: str, city: str) -> Location | None:
    """Where the city would lead without the ZIP; `None` where it is no place of the state."""
    try:
        return locate_place(book, state, city, codes=False)
    except NotResolved:
        return None


def _mismatch(book: Book, state: str, found: Location, given: str, resolved: str) -> Location:
    """Say that the city is not the ZIP's, and add where it would lead."""
    named = _named(book, state, given)
    options = named.options if named else ()
    have = {option.area.id for option in found.options if option.area}
    more = tuple(
        Option(option.area, f"is where {given} lies, the city given")
        for option in options
        if option.area and option.area.id not in have
    )
    return replace(
        found,
        what=f"{found.what} with the city {given}",
        options=(*found.options, *more),
        mismatch=True,
        named_area=options[0].area.id if options and options[0].area else None,
        advisories=(*found.advisories, place_mismatch(given, resolved)),
    )
