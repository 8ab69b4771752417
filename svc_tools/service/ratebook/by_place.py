"""From a place name to the areas it may mean, its namesakes elsewhere in the state included."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.address_line import (
    county_of,
    military,
    split_state,
    without_country,
    without_county,
)
from svc_tools.service.ratebook.by_zip import WHOLE, housing_of_zip, options_of_zip
from svc_tools.service.ratebook.gazetteer import (
    areas_of_place,
    bases_of,
    is_place,
    keys_of,
    no_rate,
    own_areas,
    place_names,
)
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.query import AreaOption, Location, NotResolved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.gazetteer import PlaceNames
    from svc_tools.service.ratebook.schema import Area, PostalRow

_CODE_DIGITS = 4
"""Of Washington's codes, whose leading zero is easily lost."""
_CODE = re.compile(
    r"(?:(?:wa|washington|dor|sales|tax|rate|area|location|loc|code|no|number)\b[\s.:#-]*|#\s*)*"
    r"(\d{3,4})",
    re.IGNORECASE | re.ASCII,
)


def locate_place(book: Book, state: str, name: str, *, codes: bool = True) -> Location:
    """Where a place name leads within a state.

    Official location codes go first, then counties named in full, official names of locations,
    cities and towns, other Census places, city names of ZIPs, counties named without their last
    word, and further names of ZIPs. What else a name may mean becomes a candidate.

    The name may have its state behind it. With `codes` it may be an official location code: a city
    may not.

    Raises:
        NotResolved: the name is unknown in the state, names another state, or means places with
            different rates between which nothing decides.
    """
    known, written = partial(is_place, book), without_country(name.strip())
    whole, county = without_county(written, state, known), county_of(written, state, known)
    head, _, tail = written.rpartition(",")
    if head and not county and name_key(tail) in place_names(book, state).counties:
        whole, county = head, tail  # an independent city is its own county
    found = _locate(book, state, name, whole, codes=codes)
    return in_county(book, state, found, county)


def in_county(book: Book, state: str, found: Location, county: str) -> Location:
    """What a place leads to with the county that the caller names behind it.

    The county chooses among the areas of the place; one that the place is not known to reach into
    becomes a candidate.
    """
    names = place_names(book, state)
    keys = keys_of(names, county) if county and found.options else []
    fips = next((names.counties[key] for key in keys if key in names.counties), None)
    first = found.options[0].area if found.options else None
    if fips is None or first is None:
        return found
    here = [option for option in found.options if option.area and fips in option.area.counties]
    place = book.places(state).get(first.place)
    if not here and not found.zip:  # a part of the place that its name alone does not mean
        known = [place] if place else names.places.get(name_key(found.city or ""), [])
        for row in known:
            parts, inside = areas_of_place(book, state, row, (fips,)), fips in row.counties.split()
            parts = [area for area in parts if inside or fips in area.counties]
            here += [AreaOption(area, "is the part in it") for area in parts]
    if not here:
        more = [AreaOption(area, "is the county given") for area in bases_of(book, state, fips)]
        return replace(found, options=(*found.options, *more), ambiguous=bool(more))
    return replace(
        found,
        options=tuple(here),
        county=fips,
        housing=sum(option.housing for option in here) if found.housing else 0,
        tied=(),
    )


def _locate(book: Book, state: str, name: str, whole: str, *, codes: bool) -> Location:
    """Where a place name leads without the county behind it (`whole`)."""
    known = partial(is_place, book)
    text, elsewhere = split_state(whole, state, known)
    if not text:
        text, elsewhere = whole, ""  # a state's name alone, or "LA": a place, or unknown
    _check(state, name.strip(), elsewhere, military(whole))
    names = place_names(book, state)
    if codes and names.codes and (code := _CODE.fullmatch(text)):
        area = names.codes.get(code[1].zfill(_CODE_DIGITS))
        if area is None:
            raise _no_code(state, code[1])
        return _one(area, "code", f"location code {area.code}", "is the location code given")
    keys = keys_of(names, text)
    for key in keys:
        found = _find(book, state, key, text, names)
        if found is not None:
            return found
    for key in keys:
        if key in names.others:
            found = _postal(book, state, names.spelled[key], names.others[key])
            return replace(found, further=True)
    if name_key(text) == name_key(book.states[state].name) and book.states[state].local == "none":
        return Location("state", "state", text)
    raise _unknown(book, state, text, names)


def _check(state: str, name: str, elsewhere: str, mail: str) -> None:
    """Refuse a name that names another state, and military mail."""
    if mail:
        raise NotResolved(
            "NOT_FOUND",
            f"{name!r} leads nowhere: {mail}; give the place that the goods go to",
            {"location": name, "state": state},
        )
    if elsewhere not in {"", state}:
        raise NotResolved(
            "NOT_FOUND",
            f"{name!r} names {elsewhere}, but the lookup is for {state}: give one state in both",
            {"location": name, "state": state, "states": [elsewhere]},
        )


def _no_code(state: str, code: str) -> NotResolved:
    return NotResolved(
        "NOT_FOUND",
        f"the book has no location code {code} of {state}: give the code that the state's table"
        " of locations has, or the name of the place",
        {"location": code, "state": state},
    )


def _one(area: Area, decided: str, what: str, why: str) -> Location:
    return Location(
        "place",
        decided,
        what,
        (AreaOption(area, why),),
        city=None if area.kind == "unincorporated" else (area.cities or (area.name,))[0],
        county=area.counties[0],
    )


def _find(book: Book, state: str, key: str, text: str, names: PlaceNames) -> Location | None:
    """The first way a key leads anywhere but by a further name; in the order of `locate_place`."""
    cities = names.cities.get(key, [])
    if key in names.counties:
        return _county(book, state, names.counties[key], text, cities)
    if book.states[state].local not in {"county", "city"}:
        return _state_only(key, text, names)
    if not cities and key in names.official:
        area = names.official[key]
        return _one(area, "named", text, "is the location of that name")
    return _by_name(book, state, key, text, names)


def _by_name(book: Book, state: str, key: str, text: str, names: PlaceNames) -> Location | None:
    """A town, an independent city, a name of ZIPs, or a county without its last word."""
    places, bare = names.places.get(key, []), names.bare.get(key, [])
    independent = [fips for fips in bare if _is_city(book, state, fips)]
    town = key in names.cities or any(place.kind != "CDP" for place in places)
    if town or (places and not independent):
        found = _named(book, state, key, text, names)
        return found if town else _with_postal(book, state, found, names.preferred.get(key, ()))
    if independent:
        return _county(book, state, independent[0], text, [])
    if key in names.preferred:
        return _postal(book, state, text, names.preferred[key])
    return _county(book, state, bare[0], text, []) if len(bare) == 1 else None


def _with_postal(book: Book, state: str, found: Location, zips: Sequence[PostalRow]) -> Location:
    """A place that is not incorporated, and where ZIPs of its name lie in other counties."""
    if not zips:
        return found
    inside = {fips for area in found.areas for fips in area.counties}
    postal = _postal(book, state, found.what, zips).options[0]
    if postal.area is None or not inside.isdisjoint(postal.area.counties):
        return found
    elsewhere = postal._replace(why="is where ZIPs of the name lie", land=0)
    return replace(found, options=(*found.options, elsewhere), ambiguous=True)


def _is_city(book: Book, state: str, fips: str) -> bool:
    name = book.counties[state, fips].name
    return name.endswith(" city") or name == "Carson City"


def _state_only(key: str, text: str, names: PlaceNames) -> Location | None:
    """A name in a state of which only the state rate is known: it only has to exist."""
    for table in (names.preferred, names.others):
        if key in table:
            return _of_zips(text, table[key])
    if key in names.bare:
        county = names.bare[key][0] if len(names.bare[key]) == 1 else None
        return Location("state", "state", text, county=county)
    return None


def _of_zips(text: str, places: Sequence[PostalRow]) -> Location:
    """A name of ZIPs where the state alone is known."""
    counties, cities = set(_count_counties(places)), {place.city for place in places}
    county = counties.pop() if len(counties) == 1 else None
    city = cities.pop() if len(cities) == 1 else text
    return Location("state", "state", text, city=city, county=county)


def _county(book: Book, state: str, fips: str, text: str, cities: Sequence[Area]) -> Location:
    """A county named in full: its own area, or its unincorporated areas."""
    county = book.counties[state, fips]
    city = county.name.removesuffix(" city") if _is_city(book, state, fips) else None
    if book.states[state].local not in {"county", "city"}:
        return Location("state", "state", text, city=city, county=fips)
    areas = bases_of(book, state, fips)
    if not areas:
        raise no_rate(book, state, fips)
    areas += [area for area in cities if area not in areas]
    options = tuple(AreaOption(area, f"is {area.name}") for area in areas)
    return Location(
        "place",
        "county",
        county.name,
        options,
        city=city,
        county=fips,
        ambiguous=len(options) > 1,
    )


def _named(book: Book, state: str, key: str, text: str, names: PlaceNames) -> Location:
    """The places and areas of a name: incorporated places first, where most ZIPs go by it."""
    zips = names.preferred.get(key, [])
    counts = _count_counties(zips)
    ranked: list[tuple[bool, int, str, Area]] = []
    for place in names.places.get(key, ()):
        main = place.counties.split()[0]
        parts = [area for area in own_areas(book, state, place) if area.cities]
        areas = dict.fromkeys((*areas_of_place(book, state, place, (main,)), *parts))
        ranked += [(place.kind == "CDP", -counts[main], place.name, area) for area in areas]
    as_city = name_key(text) in {f"{key}city", f"cityof{key}"}
    towns = [] if as_city else _towns_beside(book, state, key, names)
    ranked += [
        (area in towns, -counts[area.counties[0]], (area.cities or (area.name,))[0], area)
        for area in (*names.cities.get(key, ()), *towns)
    ]
    ranked.sort(key=lambda entry: entry[:2])
    found: dict[str, AreaOption] = {}
    for *_, name, area in ranked:
        kind = "is" if area.kind == "city" else "has the rate of"
        found.setdefault(area.id, AreaOption(area, f"{name} {kind} {area.name}"))
    options = tuple(found.values())
    first = options[0].area if options else None
    if first is None:
        raise no_rate(book, state, names.places[key][0].counties.split()[0])
    areas_found = [option.area for option in options if option.area]
    city = names.spelled[key] if zips else ranked[0][2]  # "Electric" is Electric City
    return Location(
        "place",
        "named",
        text,
        options,
        city=None if first.kind == "unincorporated" and not zips else city,
        county=first.counties[0],
        ambiguous=len({area.place or area.id for area in areas_found}) > 1,
    )


def _towns_beside(book: Book, state: str, key: str, names: PlaceNames) -> list[Area]:
    """What a town of Vermont has that surrounds the city of its name; none elsewhere."""
    town = f"{key}town"
    if town in names.nicknames:  # without a rate
        return bases_of(book, state, names.counties[names.nicknames[town]])
    return names.cities.get(town, []) if names.spelled.get(town, "").endswith(" Town") else []


def _postal(book: Book, state: str, text: str, zips: Sequence[PostalRow]) -> Location:
    """A name of ZIPs that is not a place: the areas of those ZIPs, by their housing.

    Where it is not known of each, by their land. Where no rate has half, nothing decides.
    """
    standard = [row for row in zips if book.zips.touched(row.zip, state)] or list(zips)
    units: list[int] = []
    found: dict[str, AreaOption] = {}
    refusal: NotResolved | None = None
    for row in standard:
        touched = book.zips.touched(row.zip, state)
        counties = tuple(dict.fromkeys((*([row.county] if row.county else []), *touched)))
        if not counties:
            continue
        try:
            options = _options_of(book, state, row, counties, boxed=not touched)
        except NotResolved as error:
            refusal = refusal or error  # another ZIP of the name may have a rate
            continue
        units.append(housing_of_zip(book, state, row.zip, options))
        for option in options:
            if option.area:
                known = found.get(option.area.id, option._replace(land=0, housing=0))
                found[option.area.id] = known._replace(
                    land=known.land + option.land, housing=known.housing + option.housing
                )
    if not found:
        if refusal:
            raise refusal
        county = next((row.county for row in standard if row.county), "")
        raise no_rate(book, state, county) if county else _no_county(text, state)
    housing = sum(units) if all(units) else 0
    ranked = [
        option._replace(land=option.land // len(standard))
        for option in sorted(
            found.values(), key=lambda option: (-option.housing if housing else 0, -option.land)
        )
    ]
    first = ranked[0].area
    half = not housing and 2 * ranked[0].land >= WHOLE  # of housing its rates tell, on the day
    return Location(
        "place",
        "postal",
        text,
        tuple(ranked),
        city=zips[0].city if name_key(zips[0].city) == name_key(text) else text,
        county=first.counties[0] if first else None,
        housing=housing,
        by_housing=housing > 0,
        tied=() if half else tuple(option.area.id for option in ranked if option.area),
    )


def _options_of(
    book: Book, state: str, row: PostalRow, counties: Sequence[str], *, boxed: bool
) -> Sequence[AreaOption]:
    if not boxed:
        return options_of_zip(book, state, row.zip, counties, "")
    bases = bases_of(book, state, counties[0])
    return [AreaOption(area, f"ZIP {row.zip} lies there", WHOLE // len(bases)) for area in bases]


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
    if re.search(r"\d.*[^\W\d]", text):
        hint = "; a street is given as an address, not as the name of a place"
    return NotResolved(
        "NOT_FOUND",
        f"{text!r} is not a city or county the book knows in {book.states[state].name}{hint}",
        {"location": text, "state": state, "candidates": likely},
    )


def _count_counties(places: Sequence[PostalRow]) -> Counter[str]:
    """How many ZIPs lie in each county; boxes and large users count only without any other."""
    standard = Counter(p.county for p in places if p.county and p.kind == "STANDARD")
    return standard or Counter(place.county for place in places if place.county)
