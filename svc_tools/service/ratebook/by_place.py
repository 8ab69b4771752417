"""From a place name to the areas it may mean."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.address_line import without_county
from svc_tools.service.ratebook.by_zip import BASE_KINDS, locate_zip, options_for
from svc_tools.service.ratebook.location import Location, Option
from svc_tools.service.ratebook.names import bare_county, name_key, name_keys
from svc_tools.service.ratebook.namesakes import also_touched, overlays, weigh, with_namesakes
from svc_tools.service.ratebook.place_names import is_place, place_names
from svc_tools.service.ratebook.query import NotResolved
from svc_tools.service.ratebook.state_ending import split_state, without_country

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.place_names import PlaceNames
    from svc_tools.service.ratebook.schema import Area
    from svc_tools.service.ratebook.zips import ZipPlace

__all__ = ["locate_place"]

_ZIP = re.compile(r"\d{5}(?:-\d{4})?", re.ASCII)
_CODE = re.compile(r"\d{3}", re.ASCII)
_CODE_DIGITS = 4
"""Washington's codes; a leading zero is easily lost."""


def locate_place(book: Book, state: str, name: str, *, codes: bool = True) -> Location:
    """Where a place name leads within a state.

    Official location codes go first, then counties named in full, cities that levy a rate,
    official names of locations, city names of ZIPs, counties named without their last word, and
    further names of ZIPs. What else a name may mean becomes a candidate.

    Args:
        book: the book.
        state: two-letter code.
        name: the name as a person writes it, with or without the state behind it.
        codes: whether it may be an official location code or a ZIP too: a city is neither.

    Raises:
        NotResolved: the name is unknown in the state, names another state, or means places with
            different rates between which nothing decides.
    """
    known = partial(is_place, book)
    whole = without_county(without_country(name.strip()), state, known)
    text, elsewhere = split_state(whole, state, known)
    if not text:
        text, elsewhere = whole, ""  # a state's name alone, or "LA": a place, or none at all
    if elsewhere not in {"", state}:
        raise NotResolved(
            "NOT_FOUND",
            f"{name.strip()!r} names {elsewhere}, but the lookup is for {state}:"
            " give one state in both",
            {"location": name.strip(), "state": state, "states": [elsewhere]},
        )
    names = place_names(book, state)
    if codes:
        if _ZIP.fullmatch(text):
            return locate_zip(book, state, text)
        area = names.codes.get(text) or (
            names.codes.get(text.zfill(_CODE_DIGITS)) if _CODE.fullmatch(text) else None
        )
        if area is not None:
            return _one(area, "code", f"location code {area.code}", "is the location code given")
    for key in name_keys(text):
        found = _find(book, state, key, text, names)
        if found is not None:
            return found
    raise _unknown(book, state, text, names)


def _one(area: Area, decided: str, what: str, why: str) -> Location:
    return Location(
        "place",
        decided,
        what,
        (Option(area, why),),
        city=None if area.kind == "unincorporated" else (area.cities or (area.name,))[0],
        county=area.counties[0],
    )


def _find(book: Book, state: str, key: str, text: str, names: PlaceNames) -> Location | None:
    """The first way a key leads anywhere; the order is that of `locate_place`."""
    cities, bare = names.cities.get(key, []), names.bare.get(key, [])
    independent = [fips for fips in bare if _is_city(book, state, fips)]
    if key in names.counties:
        fips = names.counties[key]
        county = _county(book, state, fips, text, cities)
        alone = not _is_city(book, state, fips)  # Carson City is what ZIPs elsewhere go by too
        return county if alone else with_namesakes(book, state, key, county, names)
    if book.states[state].local not in {"county", "city"}:
        return _state_only(key, text, names)
    if not cities and key in names.official:
        area = names.official[key]
        decided = "named_county" if area.kind == "unincorporated" else "named_city"
        return _one(area, decided, text, "is the location of that name")
    found: Location | None = None
    if cities:
        found = _cities(cities, text, names.preferred.get(key, []))
    elif independent:
        found = _county(book, state, independent[0], text, [])
    elif key in names.preferred:
        found = _postal(book, state, key, text, names.preferred[key])
    elif len(bare) == 1:
        found = _county(book, state, bare[0], text, [])
    elif key in names.others:
        found = _further(book, state, key, names)
    return with_namesakes(book, state, key, found, names) if found else None


def _is_city(book: Book, state: str, fips: str) -> bool:
    name = book.counties[state, fips].name
    return name.endswith(" city") or name == "Carson City"


def _state_only(key: str, text: str, names: PlaceNames) -> Location | None:
    """A name in a state whose own part is all that is known: it only has to exist."""
    for table in (names.preferred, names.others):
        if key in table:
            counties = set(weigh(table[key]))
            county = counties.pop() if len(counties) == 1 else None
            return Location("state", "state", text, city=table[key][0].city, county=county)
    if key in names.bare:
        county = names.bare[key][0] if len(names.bare[key]) == 1 else None
        return Location("state", "state", text, county=county)
    return None


def _county(book: Book, state: str, fips: str, text: str, cities: Sequence[Area]) -> Location:
    """A county named in full: its own area, or its unincorporated areas."""
    county = book.counties[state, fips]
    city = county.name.removesuffix(" city") if _is_city(book, state, fips) else None
    if book.states[state].local not in {"county", "city"}:
        return Location("state", "state", text, city=city, county=fips)
    here = book.county_areas.get((state, fips), ())
    areas = [area for area in here if area.kind in BASE_KINDS]
    if not areas:
        raise NotResolved(
            "NOT_FOUND", f"the book has no rate for {county.name}, {state}", {"location": text}
        )
    areas += [area for area in cities if area not in areas]
    options = tuple(Option(area, f"is {area.name}") for area in areas)
    parts = tuple(Option(area, "is a part of it") for area in here if area.kind == "overlay")
    return Location(
        "place",
        "named_county",
        county.name,
        (*options, *parts),
        city=city,
        county=fips,
        ambiguous=len(options) > 1,
    )


def _cities(cities: Sequence[Area], text: str, places: Sequence[ZipPlace]) -> Location:
    """Areas of one name, in the order of their rank and of how many ZIPs their county has."""
    counts = weigh(places)
    cities = sorted(cities, key=lambda area: (area.rank, -counts[area.counties[0]], area.id))
    first = cities[0]
    options = tuple(
        Option(area, f"is called {area.cities[0] if area.cities else area.name}") for area in cities
    )
    return Location(
        "place",
        "named_city" if first.kind != "unincorporated" else "named_county",
        text,
        options,
        city=None if first.kind == "unincorporated" else (first.cities or (first.name,))[0],
        county=first.counties[0],
        ambiguous=len(options) > 1,
    )


def _postal(book: Book, state: str, key: str, text: str, places: Sequence[ZipPlace]) -> Location:
    """A city name of ZIPs that levies nothing itself: the county most of its ZIPs lie in."""
    counts = weigh(places)
    if not counts:
        raise _no_county(text, state)
    counties = sorted(counts, key=lambda fips: (-counts[fips], fips))
    if bare_county(book.counties[state, counties[0]].name) == key:
        counties = counties[:1]  # Philadelphia: most of its ZIPs are in the county of its name
    else:
        counties += also_touched(book, state, places, counties)
    also = dict.fromkeys(name_key(name) for place in places for name in place.accepted)
    options = options_for(book, state, counties, (key, *also))
    more = [area for area in overlays(book, state, key) if area not in [o.area for o in options]]
    tied = [fips for fips in counties if counts[fips] == counts[counties[0]]]
    by_city = book.states[state].local == "city"
    return Location(
        "place",
        "guessed_place" if by_city else "county",
        text,
        (*options, *(Option(area, f"{text} reaches into it") for area in more)),
        city=places[0].city,
        county=counties[0],
        tied=len(tied) > 1,
    )


def _further(book: Book, state: str, key: str, names: PlaceNames) -> Location:
    """A further name of ZIPs: it decides only as far as all of them agree.

    Such a name may be a part of the ZIPs' city or a neighbour of it. Where the city decides, the
    city leads; where the county does, the county without the city's own tax leads.
    """
    places, text = names.others[key], names.spelled[key]
    counties = tuple(weigh(places))
    cities = tuple(dict.fromkeys(name_key(place.city) for place in places))
    by_city = book.states[state].local == "city"
    touched = also_touched(book, state, places, counties)
    options = options_for(book, state, (*counties, *touched), cities)
    if not options:
        raise _no_county(text, state)
    if not by_city:  # a stable sort: base areas keep their order
        options = tuple(
            sorted(options, key=lambda option: option.area is None or option.area.kind != "county")
        )
    first = options[0].area
    return Location(
        "place",
        "guessed_place" if by_city else "county",
        text,
        options,
        city=first.name if first and first.kind == "city" else text,
        county=first.counties[0] if first else None,
        ambiguous=True,
        tied=len(counties) > 1 or (by_city and len(cities) > 1),
    )


def _no_county(text: str, state: str) -> NotResolved:
    return NotResolved(
        "NOT_FOUND",
        f"{text!r} is known in {state}, but not its county, which decides the rate:"
        " give the county or coordinates instead",
        {"location": text, "state": state},
    )


def _unknown(book: Book, state: str, text: str, names: PlaceNames) -> NotResolved:
    every = list(names.spelled)
    close = get_close_matches(name_key(text), every, n=3, cutoff=0.8)
    likely = [names.spelled[key] for key in close]
    hint = f"; did you mean {', '.join(likely)}?" if likely else ""
    return NotResolved(
        "NOT_FOUND",
        f"{text!r} is not a city or county the book knows in {book.states[state].name}{hint}",
        {"location": text, "state": state, "candidates": likely},
    )
