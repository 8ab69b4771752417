"""From a place name to the areas it may mean, its namesakes elsewhere in the state included."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
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
from svc_tools.service.ratebook.by_zip import BASE_KINDS, no_rate, options_for
from svc_tools.service.ratebook.names import bare_county, name_key
from svc_tools.service.ratebook.place_names import is_place, keys_of, place_names
from svc_tools.service.ratebook.query import Location, NotResolved, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.book import Book, ZipPlace
    from svc_tools.service.ratebook.place_names import PlaceNames
    from svc_tools.service.ratebook.schema import Area

_MOST = 0.75
_NEARLY_ALL = 0.9
"""From this share on, the ZIPs elsewhere are outliers: candidates that do not cast doubt."""
_CODE_DIGITS = 4
"""Of Washington's codes, whose leading zero is easily lost."""
_CODE = re.compile(
    r"(?:(?:wa|washington|dor|sales|tax|rate|area|location|loc|code|no|number)\b[\s.:#-]*|#\s*)*"
    r"(\d{3,4})",
    re.IGNORECASE | re.ASCII,
)


def locate_place(book: Book, state: str, name: str, *, codes: bool = True) -> Location:
    """Where a place name leads within a state.

    Official location codes go first, then counties named in full, cities that levy a rate,
    official names of locations, city names of ZIPs, counties named without their last word, and
    further names of ZIPs. What else a name may mean becomes a candidate.

    Args:
        book: the book.
        state: two-letter code.
        name: the name as written by a user, with or without the state behind it.
        codes: whether it may be an official location code too: a city may not.

    Raises:
        NotResolved: the name is unknown in the state, names another state, or means places with
            different rates between which nothing decides.
    """
    known, written = partial(is_place, book), without_country(name.strip())
    found = _locate(book, state, name, without_county(written, state, known), codes=codes)
    return in_county(book, state, found, county_of(written, state, known))


def in_county(book: Book, state: str, found: Location, county: str) -> Location:
    """What a place leads to with the county that the caller names behind it.

    The county chooses where counties decide the rate, or where nothing else did; one that the
    place is not known to reach into becomes a candidate.

    Args:
        book: the book.
        state: two-letter code.
        found: where the place leads without the county.
        county: the county's name; empty where none is given.
    """
    names = place_names(book, state)
    keys = keys_of(names, county) if county and found.options else []
    fips = next((names.counties[key] for key in keys if key in names.counties), None)
    first = found.options[0].area if found.options else None
    if fips is None or first is None or fips in first.counties:
        return found
    here = [option for option in found.options if option.area and fips in option.area.counties]
    if not here:
        areas = book.county_areas.get((state, fips), ())
        more = [Option(area, "is the county given") for area in areas if area.kind in BASE_KINDS]
        return replace(found, options=(*found.options, *more), ambiguous=bool(more))
    if book.states[state].local != "county" and not found.tied:
        return found
    rest = (option for option in found.options if option is not here[0])
    return replace(found, options=(here[0], *rest), county=fips, tied=())


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
            found = _further(book, state, key, names)
            return _with_namesakes(book, state, key, found, names)
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
        (Option(area, why),),
        city=None if area.kind == "unincorporated" else (area.cities or (area.name,))[0],
        county=area.counties[0],
    )


def _find(book: Book, state: str, key: str, text: str, names: PlaceNames) -> Location | None:
    """The first way a key leads anywhere but by a further name; in the order of `locate_place`."""
    cities, bare = names.cities.get(key, []), names.bare.get(key, [])
    independent = [fips for fips in bare if _is_city(book, state, fips)]
    if key in names.counties:
        fips = names.counties[key]
        county = _county(book, state, fips, text, cities)
        alone = not _is_city(book, state, fips)  # Carson City is what ZIPs elsewhere go by too
        return county if alone else _with_namesakes(book, state, key, county, names)
    if book.states[state].local not in {"county", "city"}:
        return _state_only(key, text, names)
    if not cities and key in names.official:
        area = names.official[key]
        decided = "named_county" if area.kind == "unincorporated" else "named_city"
        return _one(area, decided, text, "is the location of that name")
    found: Location | None = None
    if cities:
        found = _cities(cities, key, text, names.preferred.get(key, []))
    elif independent:
        found = _county(book, state, independent[0], text, [])
    elif key in names.preferred:
        found = _postal(book, state, key, text, names.preferred[key])
    elif len(bare) == 1:
        found = _county(book, state, bare[0], text, [])
    return _with_namesakes(book, state, key, found, names) if found else None


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


def _of_zips(text: str, places: Sequence[ZipPlace]) -> Location:
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
    here = book.county_areas.get((state, fips), ())
    areas = [area for area in here if area.kind in BASE_KINDS]
    if not areas:
        raise no_rate(book, state, fips)
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


def _cities(cities: Sequence[Area], key: str, text: str, places: Sequence[ZipPlace]) -> Location:
    """Areas of one name, in the order of their rank and of how many ZIPs their county has."""
    counts = _count_counties(places)
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
        city=None if first.kind == "unincorporated" else _spelled(first, key, places),
        county=first.counties[0],
        ambiguous=len(options) > 1,
    )


def _spelled(area: Area, key: str, places: Sequence[ZipPlace]) -> str:
    """A city's name in full; of several names the requested one, where its ZIPs go by it."""
    names = area.cities or (area.name,)
    return next((name for name in names if places and name_key(name) == key), names[0])


def _postal(book: Book, state: str, key: str, text: str, places: Sequence[ZipPlace]) -> Location:
    """A city name of ZIPs that levies nothing itself: the county most of its ZIPs lie in.

    Where as many lie in another, the boxes decide: they stand at the post office of the town.
    """
    counts = _count_counties(places)
    if not counts:
        raise _no_county(text, state)
    boxes = Counter(place.county for place in places if place.kind != "STANDARD")
    counties = sorted(counts, key=lambda fips: (-counts[fips], -boxes[fips], fips))
    if bare_county(book.counties[state, counties[0]].name) == key:
        counties = counties[:1]  # Philadelphia: most of its ZIPs are in the county of its name
    else:
        counties += _also_touched(book, state, places, counties)
    also = dict.fromkeys(name_key(name) for place in places for name in place.accepted)
    options = options_for(book, state, counties, (key, *also))
    have = [option.area for option in options]
    more = [area for area in _overlays(book, state, key) if area not in have]
    rivals = [fips for fips in counties if counts[fips] == counts[counties[0]]]
    tied = [fips for fips in rivals if boxes[fips] == boxes[counties[0]]]
    by_city = book.states[state].local == "city"
    return Location(
        "place",
        "guessed_place" if by_city and not _whole_county(options) else "county",
        text,
        (*options, *(Option(area, f"{text} reaches into it") for area in more)),
        city=places[0].city,
        county=counties[0],
        ambiguous=len(rivals) > 1,
        tied=_leaders(options, tied),
    )


def _whole_county(options: Sequence[Option]) -> bool:
    """Whether no taxing city goes by the name, so that the county decides."""
    first = options[0].area
    return first is not None and first.kind == "county"


def _leaders(options: Sequence[Option], counties: Sequence[str]) -> tuple[str, ...]:
    """Of several counties that a name may be in, the first area of each; empty for one county."""
    areas = [option.area for option in options if option.area]
    firsts = [next((a for a in areas if fips in a.counties), None) for fips in counties]
    return tuple(area.id for area in firsts if area) if len(counties) > 1 else ()


def _further(book: Book, state: str, key: str, names: PlaceNames) -> Location:
    """A further name of ZIPs: it decides only as far as most of them agree.

    Such a name may be a part of the ZIPs' city or a neighbour of it. Where the city decides, the
    city leads; where the county does, the county without the city's own tax leads.
    """
    places, text = names.others[key], names.spelled[key]
    counts, called = _count_counties(places), Counter(name_key(place.city) for place in places)
    counties = tuple(fips for fips, _ in counts.most_common())
    cities = tuple(city for city, _ in called.most_common())
    by_city = book.states[state].local == "city"
    touched = _also_touched(book, state, places, counties)
    options = options_for(book, state, (*counties, *touched), cities)
    if not options:
        raise _no_county(text, state)
    if not by_city:  # a stable sort: base areas keep their order
        options = tuple(
            sorted(options, key=lambda option: option.area is None or option.area.kind != "county")
        )
    first = options[0].area
    plain = _plain(counts) and (not by_city or _plain(called))
    return Location(
        "place",
        "guessed_place" if by_city and not _whole_county(options) else "county",
        text,
        options,
        city=first.name if first and first.kind == "city" else text,
        county=first.counties[0] if first else None,
        ambiguous=True,
        tied=() if plain else tuple(option.area.id for option in options if option.area),
    )


def _plain(counts: Counter[str]) -> bool:
    """Whether three in four go one way: what a name plainly means, if not surely."""
    return max(counts.values(), default=0) >= _MOST * counts.total()


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


def _with_namesakes(
    book: Book, state: str, key: str, found: Location, names: PlaceNames
) -> Location:
    """Add the counties that a name may mean besides those it was found in.

    A county may bear the name of a town elsewhere, and ZIPs of other counties may carry it. The
    name is ambiguous unless nine in ten of its ZIPs lie where it was found.
    """
    if not found.options:
        return found
    inside = {fips for area in found.areas for fips in area.counties}
    reasons = {
        fips: f"{book.counties[state, fips].name} has the same name"
        for fips in names.bare.get(key, ())
    }
    county_like = any(fips not in inside for fips in reasons)
    places = (*names.preferred.get(key, ()), *names.others.get(key, ()))
    for place in places:
        if place.county:
            reasons.setdefault(place.county, f"ZIP {place.zip} there goes by the name")
    counts = _count_counties(places)
    there = sum(count for fips, count in counts.items() if fips in inside)
    rare = there >= _NEARLY_ALL * counts.total()
    more = tuple(
        Option(area, why)
        for fips, why in reasons.items()
        if fips not in inside
        for area in book.county_areas.get((state, fips), ())
        if area.kind in BASE_KINDS
    )
    if not more:
        return found
    ambiguous = found.ambiguous or county_like or not rare
    return replace(found, options=(*found.options, *more), ambiguous=ambiguous)


def _count_counties(places: Sequence[ZipPlace]) -> Counter[str]:
    """How many ZIPs lie in each county; boxes and large users count only without any other."""
    standard = Counter(p.county for p in places if p.county and p.kind == "STANDARD")
    return standard or Counter(place.county for place in places if place.county)


def _also_touched(
    book: Book, state: str, places: Sequence[ZipPlace], counties: Sequence[str]
) -> list[str]:
    """Further counties that more than half of a place's ZIPs touch: it may lie in them too."""
    touched = [book.zips.touched(place.zip, state) for place in places]
    within = [codes for codes in touched if codes]
    counts = Counter(code for codes in within for code in codes if code not in counties)
    return sorted(code for code, count in counts.items() if 2 * count > len(within))


def _overlays(book: Book, state: str, key: str) -> list[Area]:
    """The parts of other counties that a city reaches into."""
    memo = ("overlays", state)
    known = book.memo.get(memo)
    if isinstance(known, dict):
        return list(known.get(key, ()))
    found: dict[str, list[Area]] = defaultdict(list)
    for area in book.areas.values():
        if area.state == state and area.kind == "overlay":
            for name in {name_key(city) for city in area.cities}:
                found[name].append(area)
    book.memo[memo] = found
    return list(found.get(key, ()))
