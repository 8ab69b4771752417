"""From a ZIP to the areas it may lie in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.advisories import place_mismatch
from svc_tools.service.ratebook.fips import OUTSIDE
from svc_tools.service.ratebook.location import Location, Option
from svc_tools.service.ratebook.names import name_key, name_keys
from svc_tools.service.ratebook.query import NotResolved

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.schema import Area
    from svc_tools.service.ratebook.zips import ZipPlace

__all__ = ["locate_zip", "options_for"]

_BASE_KINDS = frozenset({"county", "unincorporated"})


def locate_zip(book: Book, state: str, zip_code: str, city: str | None = None) -> Location:
    """Where a ZIP leads within a state, with the city the caller names beside it, if any.

    Raises:
        NotResolved: the ZIP is unknown, lies in another state, or its county is unknown and
            would decide.
    """
    zip5 = zip_code[:5]
    key = ("zip", state, zip5)
    found = book.memo.get(key)
    if not isinstance(found, Location):
        found = book.memo[key] = _locate(book, state, zip5)
    return _with_city(book, state, found, city) if city else found


def _locate(book: Book, state: str, zip5: str) -> Location:
    place = book.zips.state(state).get(zip5)
    touched = book.zips.touched(zip5, state)
    if place is None and not touched:
        raise _elsewhere(book, state, zip5)
    own = place.county if place else ""
    if not own and len(touched) == 1:
        own = touched[0]
    city = place.city if place else None
    what = f"ZIP {zip5}"
    row = book.states[state]
    if row.local not in {"county", "city"}:
        return Location("state", "state", what, zip=zip5, city=city, county=own or None)
    counties = tuple(dict.fromkeys((*([own] if own else []), *touched)))
    if not counties:
        raise NotResolved(
            "NOT_FOUND",
            f"ZIP {zip5} is known in {row.name}, but not its county, which decides the rate"
            " there: give the place, the county or coordinates instead",
            {"zip": zip5, "state": state},
        )
    options = options_for(book, state, counties, _names(place))
    chosen = options[0].area
    by_county = row.local == "county" or (chosen is not None and chosen.kind == "county")
    return Location(
        "zip5",
        "county" if by_county else "zip_city",
        what,
        options,
        zip=zip5,
        city=city,
        county=chosen.counties[0] if chosen else own,
        no_crosswalk=not touched,
    )


def _names(place: ZipPlace | None) -> tuple[str, ...]:
    """Keys of the names a ZIP goes by, the preferred one first."""
    return tuple(name_key(name) for name in (place.city, *place.accepted)) if place else ()


def options_for(
    book: Book, state: str, counties: Sequence[str], names: Sequence[str]
) -> tuple[Option, ...]:
    """The areas of some counties that fit some city names, the likeliest first.

    Args:
        book: the book.
        state: two-letter code.
        counties: FIPS codes, the ZIP's own county first.
        names: keys of city names, the preferred one first.

    Where the county decides, the first county's area leads (its taxing city where the preferred
    name is that city's). Where the city decides, the city of the preferred name leads wherever
    it lies, then the unincorporated area of the first county.

    Raises:
        NotResolved: the book has no rate for the first county, the likeliest one.
    """
    for fips in counties[:1]:
        if not any(a.kind in _BASE_KINDS for a in book.county_areas.get((state, fips), ())):
            name = book.counties[state, fips].name
            raise NotResolved(
                "NOT_FOUND",
                f"the book has no rate for {name}, {state}",
                {"state": state, "county": name},
            )
    ranked: list[tuple[tuple[int, ...], Area, str]] = []
    by_city = book.states[state].local == "city"
    for order, fips in enumerate(counties):
        for area in book.county_areas.get((state, fips), ()):
            name = book.counties[state, fips].name
            if area.kind in _BASE_KINDS:
                why = f"touches {name}"
                ranked.append(
                    ((1, order, area.rank) if by_city else (order, 1, area.rank), area, why)
                )
                continue
            keys = {name_key(city) for city in area.cities}
            if keys.isdisjoint(names):
                continue
            preferred = bool(names) and names[0] in keys
            why = f"is called {area.cities[0]}, in {name}"
            if by_city:
                rank = (0 if preferred else 2, order, area.rank)
            else:
                rank = (order, 0 if preferred else 2, area.rank)
            ranked.append((rank, area, why))
    ranked.sort(key=lambda entry: (entry[0], entry[1].id))
    unique = {area.id: Option(area, why) for _, area, why in reversed(ranked)}
    return tuple(reversed(unique.values()))


def _with_city(book: Book, state: str, found: Location, city: str) -> Location:
    """Let the city a caller names choose among the areas of a ZIP, or say that it does not fit."""
    keys = name_keys(city)
    zip5 = found.zip or ""
    place = book.zips.state(state).get(zip5)
    known = {name_key(name) for name in _all_names(place)}
    fits = not known.isdisjoint(keys)
    if not found.options:
        return found if fits or not place else _mismatch(found, city, place.city)
    areas = [area for area in _county_areas(book, state, found) if _called(area, keys)]
    if not fits and place is not None:
        more = tuple(Option(area, f"is called {city.strip()}, the city given") for area in areas)
        new = tuple(option for option in more if option.area not in [o.area for o in found.options])
        return _mismatch(replace(found, options=(*found.options, *new)), city, place.city)
    if areas:
        chosen = min(areas, key=lambda area: (area.rank, area.id))
        named = _choose(found, chosen, f"is called {chosen.name}, the city given")
        by_city = book.states[state].local == "city"
        decided = "named_city" if by_city and chosen.kind != "county" else found.decided
        via = "place" if decided == "named_city" else "zip5"
        same = [area for area in areas if area.kind != "overlay"]
        return replace(named, via=via, decided=decided, city=city.strip(), ambiguous=len(same) > 1)
    first = found.options[0].area
    if first is not None and first.kind in {"city", "overlay"}:
        # the ZIP's other names: not the city that levies the rate
        others = [o for o in found.options if o.area is not None and o.area.kind in _BASE_KINDS]
        if others and others[0].area is not None:
            found = _choose(found, others[0].area, others[0].why)
    return replace(found, city=city.strip())


def _all_names(place: ZipPlace | None) -> Iterable[str]:
    return (place.city, *place.accepted, *place.refused) if place else ()


def _county_areas(book: Book, state: str, found: Location) -> list[Area]:
    """The city areas of every county the ZIP touches."""
    counties = {fips: None for o in found.options if o.area for fips in o.area.counties}
    areas = {a.id: a for fips in counties for a in book.county_areas.get((state, fips), ())}
    return [area for area in areas.values() if area.kind in {"city", "overlay", "county"}]


def _called(area: Area, keys: Sequence[str]) -> bool:
    return any(name_key(city) in keys for city in area.cities)


def _choose(found: Location, area: Area, why: str) -> Location:
    """Put one area first."""
    rest = tuple(option for option in found.options if option.area is not area)
    return replace(
        found, options=(Option(area, why), *rest), county=area.counties[0], via=found.via
    )


def _mismatch(found: Location, given: str, resolved: str) -> Location:
    advisory = place_mismatch(given.strip(), resolved)
    return replace(found, advisories=(*found.advisories, advisory))


def _elsewhere(book: Book, state: str, zip5: str) -> NotResolved:
    """Why a ZIP does not lead anywhere in a state: it lies elsewhere, or nowhere."""
    states = book.zips.states_of(zip5, book.states)
    name = book.states[state].name
    outside = states[0] if states else ""
    if states and outside not in OUTSIDE:
        return NotResolved(
            "NOT_FOUND",
            f"ZIP {zip5} is not in {name}: it lies in {' and '.join(states)}",
            {"zip": zip5, "state": state, "states": states},
        )
    if states:
        return NotResolved(
            "NOT_FOUND",
            f"ZIP {zip5} is not in {name}: {OUTSIDE[outside]}",
            {"zip": zip5, "state": state, "states": [outside]},
        )
    return NotResolved(
        "NOT_FOUND",
        f"ZIP {zip5} is unknown: no such ZIP in the postal table or the census table",
        {"zip": zip5, "state": state},
    )
