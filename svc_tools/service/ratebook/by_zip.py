"""From a ZIP to the areas it may lie in."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.gazetteer import (
    areas_of_place,
    bases_of,
    cities_called,
    no_rate,
    own_areas,
    places_called,
    zips_called,
)
from svc_tools.service.ratebook.names import OUTSIDE, name_key
from svc_tools.service.ratebook.query import AreaOption, Location, NotResolved
from svc_tools.service.ratebook.rating import zip_crosses_state_line, zip_of_another_state

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.schema import Area, PlaceRow, PostalRow


_BOXES = "PO BOX"
"""The kind of ZIP whose place is its post office's, wherever the Census draws it."""


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
        return book.remember(key, _locate(book, state, zip5))
    return found


def _locate(book: Book, state: str, zip5: str) -> Location:
    """The areas that a ZIP Code may lie in, each with its share of the land, and notes on the ZIP.

    Raises:
        NotResolved: it is not in the state, or its county is not known and decides the rate.
    """
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
    boxed = not touched or (place is not None and place.kind == _BOXES)
    key = name_key(place.city) if place else ""
    options = _options_of_box(book, state, key, counties) if boxed else ()
    if touched:
        land = options_of_zip(book, state, zip5, counties, key)
        have = {option.area for option in options}  # the Census draws some ZIPs of boxes, too
        options = (
            (*options, *(option for option in land if option.area not in have)) if have else land
        )
    options = options or _options_of_county(book, state, counties[0])
    chosen = options[0].area
    housing = 0 if boxed else housing_of_zip(book, state, zip5, options)
    found = Location(
        "zip5",
        "zip",
        what,
        options,
        zip=zip5,
        city=city,
        county=chosen.counties[0] if chosen else own,
        housing=housing,
        by_housing=housing > 0,
        no_crosswalk=boxed,
        across=bool(across),
        outside=not boxed and _outside(book, state, zip5, key),
        advisories=notes,
    )
    return found.of_kind(state, boxed, found.outside, bool(across), *_kind(options))


def _outside(book: Book, state: str, zip5: str, key: str) -> bool:
    """Whether a ZIP is named after a town with its own rate that it does not touch."""
    towns = [row for row in places_called(book, state).get(key, ()) if row.kind != "CDP"]
    if not towns or not all(own_areas(book, state, row) for row in towns):
        return False
    touched = {fips for fips, _ in book.zips.shares(zip5, state)}
    return touched.isdisjoint(row.fips for row in towns)


def _kind(options: Sequence[AreaOption]) -> Iterator[object]:
    """What the rates and doubts of a ZIP depend on: with one area neither its part nor the why."""
    if len(options) == 1:
        yield options[0].area.id if options[0].area else ""
        return
    for area, why, *part in options:
        yield area.id if area else ""
        yield why
        yield from part


def _options_of_box(
    book: Book, state: str, key: str, counties: Sequence[str]
) -> tuple[AreaOption, ...]:
    """The place that a ZIP of boxes is called after; none where that is no place.

    Where that is not in the ZIP's own county, what is left of the county is possible too.
    """
    for fips in counties:
        for row in places_called(book, state).get(key, ()):
            inside = fips in row.counties.split()
            areas = areas_of_place(book, state, row, (fips,)) if inside else []
            if areas:
                more = [
                    AreaOption(area, "is its county") for area in bases_of(book, state, counties[0])
                ]
                city = AreaOption(areas[0], f"is {row.name}, the ZIP's city")
                return (city, *more) if fips != counties[0] else (city,)
    for area in cities_called(book, state).get(key, ()):
        if not set(area.counties).isdisjoint(counties):
            return (AreaOption(area, f"is called {area.name}, the ZIP's city"),)
    return ()


def _options_of_county(book: Book, state: str, fips: str) -> tuple[AreaOption, ...]:
    bases = bases_of(book, state, fips)
    if not bases:
        raise no_rate(book, state, fips)
    name = book.counties[state, fips].name
    return tuple(AreaOption(area, f"lies in {name}") for area in bases)


def _counties_of_city(book: Book, place: PostalRow) -> list[str]:
    """The counties of the other ZIPs that go by a ZIP's city, that of most of them first.

    A ZIP without an area, such as one of boxes, has one county in the postal table, which may be
    wrong, or none: then it lies where its city does.
    """
    state, key = place.state, name_key(place.city)
    memo = ("counties of a city", state, key)
    known = book.memo.get(memo)
    if isinstance(known, list):
        return known
    same = zips_called(book, state).get(key, [])
    counts = Counter(
        other.county for other in same if other.county and book.zips.touched(other.zip, state)
    )
    taxing = [area.counties[0] for area in cities_called(book, state).get(key, ()) if not counts]
    return book.remember(memo, [fips for fips, _ in counts.most_common()] or taxing)


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


WHOLE = 1000
"""All of a ZIP's land."""
SLIVER = 10
"""Thousandths of the land, or of the housing, of a ZIP: less is mostly noise of the maps."""


def options_of_zip(
    book: Book, state: str, zip5: str, counties: Sequence[str], name: str
) -> tuple[AreaOption, ...]:
    """The areas that a ZIP touches: by their housing where it is known, then by share of land.

    Of two with as much the place that the ZIP is called after goes first. A place with less than
    1% of the land and no housing does not count, unless the ZIP is called after it. Of Alaska no
    share is known: a place counts that the ZIP is called after. `counties` are the FIPS codes of
    its counties, its own first; `name` is the key of its preferred name, or empty.

    Raises:
        NotResolved: the book has no rate for what the ZIP touches most.
    """
    found: dict[str, AreaOption] = {}
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
        if share < SLIVER and not named:
            continue
        left -= share
        areas = areas_of_place(book, state, place, counties)
        why = f"holds {place.name}"
        for area in areas:
            _add(found, area, why, share // len(areas))
        if named and areas and not first:
            first = areas[0].id
    if left >= SLIVER or not found:
        towns = _towns(book, state, counties, name)
        bases = [area for fips in counties for area in bases_of(book, state, fips)]
        for area in (*towns, *bases):
            what = area.name if area in towns else _county(book, area)
            _add(found, area, f"touches {what}", left // len((*towns, *bases)))
        first = first or next((area.id for area in towns), "")
    found = _with_housing(book, state, zip5, found)
    if not found:
        raise no_rate(book, state, counties[0])
    return tuple(
        sorted(
            found.values(),
            key=lambda option: (-option.housing, _id(option) != first, -option.land),
        )
    )


def _with_housing(
    book: Book, state: str, zip5: str, land: dict[str, AreaOption]
) -> dict[str, AreaOption]:
    """The areas of a ZIP with their housing, and those that have some of it."""
    found = dict(land)
    for area, why, housing in _housed(book, state, zip5):
        known = found.get(area.id, AreaOption(area, why))
        found[area.id] = known._replace(housing=known.housing + housing)
    return land if _is_annexed(found.values()) else found


def housing_of_zip(book: Book, state: str, zip5: str, options: Sequence[AreaOption]) -> int:
    """The housing units of a ZIP in a state; 0 where its options have none that are known."""
    if not any(option.housing for option in options):
        return 0
    return sum(units for *_, units in book.zips.housing(zip5, state))


def _is_annexed(options: Collection[AreaOption]) -> bool:
    """Whether a city that has most of the land had no housing there when it was counted."""
    total = sum(option.housing for option in options)
    return any(
        option.area is not None
        and option.area.kind == "city"
        and 2 * option.land >= WHOLE
        and option.housing * 100 < total
        for option in options
    )


def _housed(book: Book, state: str, zip5: str) -> Iterator[tuple[Area, str, int]]:
    """The areas of a ZIP's housing with the units in each.

    Where several areas share what is left of a county, nothing says how: each has as many.
    """
    for fips, county, units in book.zips.housing(zip5, state):
        place = book.places(state).get(fips)
        if place is None:
            areas = bases_of(book, state, county)
            why = f"touches {book.counties[state, county].name}"
        else:
            areas = areas_of_place(book, state, place, (county,))
            why = f"holds {place.name}"
        for number, area in enumerate(areas):
            yield area, why, (units + number) // len(areas)


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
    return any(name_key(known_name) == name for known_name in place.names)


def _add(found: dict[str, AreaOption], area: Area, why: str, share: int) -> None:
    known = found.get(area.id)
    found[area.id] = (
        known._replace(land=known.land + share) if known else AreaOption(area, why, share)
    )


def _id(option: AreaOption) -> str:
    return option.area.id if option.area else ""


def _county(book: Book, area: Area) -> str:
    return book.counties[area.state, area.counties[0]].name
