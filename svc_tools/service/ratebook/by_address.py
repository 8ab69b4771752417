"""From an address to the areas it may lie in: by its ZIP, else by its city.

With both, the city chooses among the ZIP's areas, or contradicts the ZIP.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.address_line import (
    Parts,
    abroad,
    county_of,
    military,
    parse_line,
    require_parser,
    split_state,
    whole_address,
    without_country,
    without_county,
)
from svc_tools.service.ratebook.by_place import in_county, locate_place
from svc_tools.service.ratebook.by_zip import locate_zip
from svc_tools.service.ratebook.gazetteer import (
    BASE_KINDS,
    areas_of_place,
    is_place,
    is_zip,
    keys_of,
    place_names,
)
from svc_tools.service.ratebook.names import BOROUGHS, NEW_YORK_CITY, name_key
from svc_tools.service.ratebook.query import AreaOption, Location, NotResolved
from svc_tools.service.ratebook.rating import address_not_matched, place_mismatch, zip_not_used

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.query import Query
    from svc_tools.service.ratebook.schema import PostalRow

_NEARLY_ALL_LAND = 900
"""From these thousandths of a ZIP's land on, the city given leaves no doubt which part is meant,
where no housing is known."""
_ZIP = re.compile(r"\W*(\d{5})(?:-(\d{4}))?\W*", re.ASCII)
_HOLDS_ZIP = re.compile(r"(?<!\d)\d{5}(?!\d)", re.ASCII)
_OTHER_ZIP = re.compile(r"\d{5}(?:-\d{4})?", re.ASCII)
"""A ZIP in the city that is not the one given: by itself it makes the city a mismatch."""


def address_parts(book: Book, query: Query) -> Parts | None:
    """The street, city and ZIP that a lookup gives, in any mode; `None` where it gives none.

    Raises:
        NotResolved: an address that names another state or country, or no one place.
        ImportError: an address, and the extra that reads them is not installed.
    """
    if query.address is not None or query.street is not None:
        require_parser()
    if query.address is not None:
        return _parts_of_line(book, query.state, query.address)
    if query.street is not None:
        return _parts_of_fields(book, query.state, query)
    if query.zip is not None:
        zip5, _, plus4 = query.zip.partition("-")
        return Parts(zip=zip5, plus4=plus4)
    if query.location is not None and _HOLDS_ZIP.search(query.location):
        parts = _city_with_zip(book, query.state, query.location)
        return parts if parts.zip else None
    return None


def _parts_of_line(book: Book, state: str, line: str) -> Parts:
    """The parts of an address in one line."""
    parts = parse_line(line, state, partial(is_place, book), partial(is_zip, book))
    _check(parts, state, line)
    if parts.zip or parts.city or state == "DC":  # the District is one city
        return parts
    raise NotResolved(
        "NOT_FOUND",
        "no ZIP and no city could be read from the address: write it as 'street, city, state ZIP'",
        {"address": line, "state": state},
    )


def _parts_of_fields(book: Book, state: str, query: Query) -> Parts:
    """The parts of an address given in parts, without the county and state behind its city."""
    street, written = (query.street or "").strip(), (query.city or "").strip()
    zip5, _, plus4 = (query.zip or "").partition("-")
    _check_street(book, state, street, zip5)
    if _HOLDS_ZIP.search(written):
        parts = _city_with_zip(book, state, written)
        if parts.zip and zip5 in {"", parts.zip}:
            plus4 = plus4 or parts.plus4
            return parts._replace(plus4=plus4, street=street)
    known = partial(is_place, book)
    city = without_country(written)
    county, city = county_of(city, state, known), without_county(city, state, known)
    outside, unclear = abroad(city, state, known), military(city)
    whole = city
    city, named = split_state(whole, state, known)
    if not city and named != state:
        city, named = whole, ""  # a code alone is a city's short name as likely as a state
    parts = Parts(city, named, zip5, plus4, street, outside, unclear, county=county)
    _check(parts, state, written)
    return parts


def _check_street(book: Book, state: str, street: str, zip5: str) -> None:
    """Refuse a street line that is an address in full, of another state or with another ZIP."""
    named, own = whole_address(street, state, partial(is_place, book), partial(is_zip, book))
    parts = Parts(state=named)
    if named in {"", state} and zip5 and own not in {"", zip5}:
        parts = Parts(unclear=f"it has ZIP {own}, but the ZIP given is {zip5}")
    _check(parts, state, street)


def _city_with_zip(book: Book, state: str, text: str) -> Parts:
    """A city or place name with its ZIP: "Charlotte 28202", or a ZIP alone."""
    if found := _ZIP.fullmatch(text):
        return Parts(zip=found[1], plus4=found[2] or "")
    parts = parse_line(
        text, state, partial(is_place, book), partial(is_zip, book), has_street=False
    )
    _check(parts, state, text)
    return parts._replace(street="")


def _check(parts: Parts, state: str, written: str) -> None:
    """Refuse an address of another state or country, and one that does not name one place."""
    if parts.unclear:
        raise NotResolved(
            "NOT_FOUND",
            f"the address {written!r} leads nowhere: {parts.unclear};"
            " give the one place that the goods go to",
            {"address": written, "state": state},
        )
    other = parts.abroad or parts.state
    if parts.abroad or parts.state not in {"", state}:
        raise NotResolved(
            "NOT_FOUND",
            f"the address names {other}, but the lookup is for {state}: give one state in both",
            {"address": written, "state": state, "states": [other]},
        )


def locate_address(book: Book, state: str, parts: Parts) -> Location:
    """Where an address leads: the book has no streets, so its ZIP decides, else its city.

    Raises:
        NotResolved: neither a known ZIP nor a known city of the state.
    """
    found = in_county(book, state, locate_written(book, state, parts), parts.county)
    if found.via == "state":
        return found  # nothing finer than the state was needed
    return replace(found, advisories=(*found.advisories, address_not_matched(_used(found, parts))))


def locate_written(book: Book, state: str, parts: Parts) -> Location:
    """Where a ZIP, a city, or both lead; the city decides where the ZIP leads nowhere.

    Raises:
        NotResolved: as `locate_address`.
    """
    city = parts.city or ("Washington" if state == "DC" else "")
    if not parts.zip:
        found = locate_place(book, state, city, codes=False)
        if not parts.damaged:
            return found
        note = zip_not_used(parts.damaged, city, "it has not the five digits of a ZIP")
        return replace(found, zip_not_used=True, advisories=(note, *found.advisories))
    try:
        if not parts.city:
            return locate_zip(book, state, parts.zip)
        return _locate_zip_and_city(book, state, parts.zip, city)
    except NotResolved as reason:
        elsewhere = "states" in (reason.detail or {})
        if not parts.city or elsewhere or not is_name_of(book, state, parts.zip, city):
            raise
        found = locate_place(book, state, city, codes=False)
        note = zip_not_used(parts.zip, city, reason.message)
        return replace(found, zip_not_used=True, advisories=(note, *found.advisories))


def _used(found: Location, parts: Parts) -> str:
    if found.via == "zip5":
        by_city = parts.city and not (found.by_housing or found.mismatch) and len(found.options) > 1
        return f"{found.city} in ZIP {found.zip}" if by_city else f"ZIP {found.zip}"
    return (parts.city or found.what).strip()


def _locate_zip_and_city(book: Book, state: str, zip_code: str, city: str) -> Location:
    """Where a ZIP leads, with the city the caller names.

    A city that is a name of the ZIP chooses among its areas. Its own name does so without making
    the choice surer: the mail of all its areas bears it. Any other is a mismatch: the ZIP decides,
    and where the city would lead becomes a candidate.

    Raises:
        NotResolved: as `locate_zip`.
    """
    found = locate_zip(book, state, zip_code)
    city = city.strip()
    place = book.zips.state(state).get(found.zip or "")
    if place is None:  # a ZIP of another state: its names are names of places there
        return _across(book, state, found, city)
    keys = keys_of(place_names(book, state), city)
    chosen = _touching(book, state, found, keys)
    name = next((name for name in _names_of(place) if name_key(name) in keys), None)
    if chosen is not None:
        decided = found.decided if name_key(place.city) in keys else chosen.decided
        return replace(chosen, city=name or chosen.city, decided=decided)
    if name is None:
        county = _own_county(book, state, found, keys)
        return county or _mismatch(book, state, found, city, place.city)
    return replace(found, city=name)


def _touching(book: Book, state: str, found: Location, keys: Sequence[str]) -> Location | None:
    """The area of a place that the ZIP touches and the caller names, with the place's name."""
    for key in keys:  # the likeliest first: "Rutland Town" is not Rutland
        for option in found.options:
            cities = option.area.cities if option.area else ()
            name = next((city for city in cities if name_key(city) == key), "")
            if name:
                return replace(_choose(found, option), city=name)
    counties = {fips for area in found.areas for fips in area.counties}
    for fips, share in book.zips.shares(found.zip or "", state):
        place = book.places(state)[fips]
        name = next((place_name for place_name in place.names if name_key(place_name) in keys), "")
        if name:
            areas = areas_of_place(book, state, place, counties)
            if areas:
                known = [option for option in found.options if option.area is areas[0]]
                chosen = known[0] if known else AreaOption(areas[0], "", share)
                why = f"holds {place.name}, the city given"
                return replace(_choose(found, chosen._replace(why=why)), city=name)
    return None


def is_name_of(book: Book, state: str, zip_code: str, city: str) -> bool:
    """Whether a city is a name of a ZIP; any is, of a ZIP that no table has in the state."""
    place = book.zips.state(state).get(zip_code)
    keys = keys_of(place_names(book, state), city)
    return place is None or any(name_key(name) in keys for name in _names_of(place))


def _names_of(place: PostalRow) -> list[str]:
    """Every name that is right for a ZIP: all of New York City is "New York"."""
    names = [place.city, *place.other_names]
    if place.state == "NY" and place.county in BOROUGHS:
        names += [BOROUGHS[place.county], *NEW_YORK_CITY]
    return names


def _across(book: Book, state: str, found: Location, city: str) -> Location:
    """A ZIP of another state that reaches in: any city but one of this state is a mismatch."""
    named = _named(book, state, city)
    inside = {fips for area in found.areas for fips in area.counties} | {found.county}
    if named is not None and named.county in inside:
        keys = keys_of(place_names(book, state), city)
        return replace(_touching(book, state, found, keys) or found, city=city)
    county = book.counties.get((state, found.county or ""))
    return _mismatch(book, state, found, city, county.name if county else book.states[state].name)


def _own_county(book: Book, state: str, found: Location, keys: Sequence[str]) -> Location | None:
    """The ZIP in the one of its counties that the caller names instead of a city, if any."""
    if not found.options:
        codes = (*book.zips.touched(found.zip or "", state), found.county or "")
        counties = [fips for fips in codes if (state, fips) in book.counties]
        named = [f for f in counties if name_key(book.counties[state, f].name) in keys]
        return replace(found, county=named[0]) if named else None
    for option in found.options:
        area = option.area
        if area and area.kind in BASE_KINDS:
            county = book.counties[state, area.counties[0]].name
            if name_key(county) in keys:
                return _choose(found, option._replace(why="lies in the county given"))
    return None


def _choose(found: Location, chosen: AreaOption) -> Location:
    """Put one option first."""
    if chosen.area is None:
        return found
    rest = tuple(option for option in found.options if option.area is not chosen.area)
    if not found.housing and chosen.land >= _NEARLY_ALL_LAND:
        rest = ()
    county = chosen.area.counties[0]
    return replace(
        found,
        options=(chosen, *rest),
        county=county,
        by_housing=False,
        decided="named",
        outside=False,
    )


def _named(book: Book, state: str, city: str) -> Location | None:
    """Where the city would lead without the ZIP; `None` where the state has no such place."""
    try:
        return locate_place(book, state, _OTHER_ZIP.sub("", city).strip(" ,"), codes=False)
    except NotResolved:
        return None


def _mismatch(book: Book, state: str, found: Location, given: str, resolved: str) -> Location:
    """Add the warning that the city is not the ZIP's, and where it would lead."""
    named = _named(book, state, given)
    areas = named.areas if named else []
    have = {area.id for area in found.areas}
    more = tuple(
        AreaOption(area, f"is where {given} lies, the city given")
        for area in areas
        if area.id not in have
    )
    return replace(
        found,
        what=f"{found.what} with the city {given}",
        options=(*found.options, *more),
        mismatch=True,
        named_area=areas[0].id if areas else None,
        advisories=(*found.advisories, place_mismatch(given, resolved)),
    )
