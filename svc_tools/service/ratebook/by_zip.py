"""From a ZIP to the areas it may lie in."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.names import OUTSIDE, name_key
from svc_tools.service.ratebook.place_names import place_names
from svc_tools.service.ratebook.query import Location, NotResolved, Option
from svc_tools.service.ratebook.rating import zip_crosses_state_line, zip_of_another_state

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.book import Book, ZipPlace
    from svc_tools.service.ratebook.schema import Area


BASE_KINDS = frozenset({"county", "unincorporated"})
"""Kinds of area that hold whatever no city of a county takes."""


def locate_zip(book: Book, state: str, zip_code: str) -> Location:
    """Where a ZIP leads within a state.

    Raises:
        NotResolved: the ZIP is unknown, lies in another state, or its county is unknown and
            would decide.
    """
    zip5 = zip_code[:5]
    key = ("zip", state, zip5)
    found = book.memo.get(key)
    if not isinstance(found, Location):
        found = book.memo[key] = _locate(book, state, zip5)
    return found


def _locate(book: Book, state: str, zip5: str) -> Location:
    place = book.zips.state(state).get(zip5)
    touched = book.zips.touched(zip5, state)
    if place is None and not touched:
        raise _not_in_state(book, state, zip5)
    own = place.county if place else ""
    if not own and len(touched) == 1:
        own = touched[0]
    city = place.city if place else None
    what = f"ZIP {zip5}"
    row = book.states[state]
    homes = [] if place else [home for home in book.zips.states_of(zip5, ()) if home != state]
    across = tuple(zip_of_another_state(zip5, row.name, homes) for _ in homes[:1])
    beyond = book.zips.crosses(zip5, state)
    notes = across or tuple(zip_crosses_state_line(zip5, row.name, beyond) for _ in beyond[:1])
    if row.local not in {"county", "city"}:
        return Location(
            "state",
            "state",
            what,
            zip=zip5,
            city=city,
            county=own or None,
            across=bool(across),
            advisories=notes,
        ).of_kind(state, bool(across))
    counties = tuple(dict.fromkeys((*([own] if own else []), *touched)))
    if place and not touched:
        counties = tuple(dict.fromkeys((*counties, *_counties_of_city(book, place))))
    if not counties:
        raise NotResolved(
            "NOT_FOUND",
            f"ZIP {zip5} is known in {row.name}, but not its county, which decides the rate"
            " there: give the place, the county or coordinates instead",
            {"zip": zip5, "state": state},
        )
    options = options_for(book, state, counties, zip_name_keys(place))
    options += _elsewhere_in_state(book, state, place, options)
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
        across=bool(across),
        advisories=notes,
    ).of_kind(
        state,
        by_county,
        not touched,
        bool(across),
        *((option.area.id if option.area else "", option.why) for option in options),
    )


def _elsewhere_in_state(
    book: Book, state: str, place: ZipPlace | None, options: Sequence[Option]
) -> tuple[Option, ...]:
    """The taxing city that a ZIP is called after, where no county of the ZIP holds it.

    The census draws the area of a ZIP from blocks: a city's outskirts may lie over a county line.
    """
    have = {option.area.id for option in options if option.area}
    called = place_names(book, state).cities.get(name_key(place.city), ()) if place else ()
    cities = [area for area in called if area.kind == "city"]
    if any(area.id in have for area in cities):
        return ()
    return tuple(Option(area, f"is called {area.name}, the ZIP's city") for area in cities)


def _counties_of_city(book: Book, place: ZipPlace) -> list[str]:
    """The counties of the other ZIPs that go by a ZIP's city, that of most of them first.

    A ZIP without an area, such as one of boxes, has one county in the postal table, which may be
    wrong, or none: then it lies where its city does.
    """
    names, key = place_names(book, place.state), name_key(place.city)
    same = names.preferred.get(key, [])
    counts = Counter(
        other.county for other in same if other.county and book.zips.touched(other.zip, place.state)
    )
    taxing = [area.counties[0] for area in names.cities.get(key, ()) if not counts]
    return [fips for fips, _ in counts.most_common()] or taxing


def zip_name_keys(place: ZipPlace | None) -> tuple[str, ...]:
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
        NotResolved: the book has no rate for the first county, the likeliest one, and the
            preferred name is no city's.
    """
    ranked: list[tuple[tuple[int, ...], Area, str]] = []
    by_city = book.states[state].local == "city"
    for order, fips in enumerate(counties):
        for area in book.county_areas.get((state, fips), ()):
            name = book.counties[state, fips].name
            if area.kind in BASE_KINDS:
                why = f"touches {name}"
                ranked.append(
                    ((1, order, area.rank) if by_city else (order, 1, area.rank), area, why)
                )
                continue
            keys = {name_key(city) for city in area.cities}
            if keys.isdisjoint(names):
                if area.kind == "overlay":  # its limits are not known: anything may lie in it
                    ranked.append(((order, 3, area.rank), area, f"is a part of {name}"))
                continue
            preferred = bool(names) and names[0] in keys
            why = f"is called {area.cities[0]}, in {name}"
            if by_city:
                rank = (0 if preferred else 2, order, area.rank)
            else:
                rank = (order, 0 if preferred else 2, area.rank)
            ranked.append((rank, area, why))
    ranked.sort(key=lambda entry: (entry[0], entry[1].id))
    if counties and not has_base(book, state, counties[0]):
        first = ranked[0][1] if ranked else None
        if first is None or first.kind != "city" or name_key(first.cities[0]) != names[0]:
            raise no_rate(book, state, counties[0])
    unique = {area.id: Option(area, why) for _, area, why in reversed(ranked)}
    return tuple(reversed(unique.values()))


def has_base(book: Book, state: str, fips: str) -> bool:
    """Whether the book has a rate for what no city of a county takes."""
    return any(area.kind in BASE_KINDS for area in book.county_areas.get((state, fips), ()))


def no_rate(book: Book, state: str, fips: str) -> NotResolved:
    """The error for a place in a county that the book has no rate for."""
    row, name = book.states[state], book.counties[state, fips].name
    detail: dict[str, object] = {"state": state, "county": name}
    if row.tier == "none":
        return NotResolved(
            "NOT_FOUND",
            f"{row.name} has no state sales tax, and the book has the rates of some of its boroughs"
            f" and towns only: nothing honest can be answered for this place in {name}",
            detail,
        )
    return NotResolved("NOT_FOUND", f"the book has no rate for {name}, {state}", detail)


def _not_in_state(book: Book, state: str, zip5: str) -> NotResolved:
    """The error for a ZIP that does not lead into a state: it lies elsewhere, or is unknown."""
    states = book.zips.states_of(zip5, book.states)
    name = book.states[state].name
    outside = states[0] if states else ""
    detail: dict[str, object] = {"zip": zip5, "state": state}
    if not states:
        message = f"ZIP {zip5} is unknown: no such ZIP in the postal table or the census table"
    elif outside in OUTSIDE:
        message = f"ZIP {zip5} is not in {name}: {OUTSIDE[outside]}"
        detail["states"] = [outside]
    else:
        message = f"ZIP {zip5} is not in {name}: it lies in {' and '.join(states)}"
        detail["states"] = states
    return NotResolved("NOT_FOUND", message, detail)
