"""From a ZIP or an address whose position is known: the point decides, unless they contradict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.by_address import address_parts, is_name_of
from svc_tools.service.ratebook.by_point import (
    GIVEN,
    Reach,
    locate_point,
    names_at,
    zips_of_places,
)
from svc_tools.service.ratebook.gazetteer import keys_of, place_names
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.query import NotResolved
from svc_tools.service.ratebook.rating import address_match_contradicts, point_not_used

if TYPE_CHECKING:
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.by_point import Spot
    from svc_tools.service.ratebook.query import Location, Position, Query

REACHES = {
    "given": GIVEN,
    "exact": Reach(
        inside=((300, "apart"), (500, "inexact")),
        outside=((300, "apart"), (500, "inexact"), (1000, "far")),
        county=((500, "apart"),),
    ),
    "similar": Reach(
        inside=((500, "apart"),),
        outside=((500, "apart"), (1000, "far")),
        county=((500, "apart"),),
    ),
}
"""Which doubts limits raise, by `Position.match`: a geocoder's points lie somewhere along the
street."""
_SAME_POINT = 0.0006
"""Degrees, about 60 meters, to which tables agree about the middle of a ZIP."""
_SETTLED = frozenset(
    {
        "address_not_matched",
        "zip_crosses_state_line",
        "zip_of_another_state",
        "place_input_mismatch",
    }
)
"""Warnings about a ZIP or an address that its point settles."""


def with_position(book: Book, query: Query, found: Location, spot: Spot | None) -> Location:
    """Where a ZIP or an address leads whose position is known.

    Args:
        book: the rate book.
        query: the query, with its position.
        found: where it leads without.
        spot: what the maps have there, where that is known already.
    """
    position = query.position
    if position is None or found.by_record:  # records of the address itself know better
        return found
    given = position.match == "given"
    if not given:  # the geocoder did match it, whether or not that decides
        matched = [n for n in found.advisories if n["code"] != "address_not_matched"]
        found = replace(found, advisories=tuple(matched))
    warn = point_not_used if given else address_match_contradicts
    why = "" if given else _contradiction(book, query, position, found)
    point = None
    if _is_middle(book, query.state, position, found) and len(found.options) == 1:
        return found  # nor would the house be anywhere else
    if not why:
        reach = REACHES[position.match]
        try:
            point = locate_point(book, query.state, position[:2], spot, reach)
        except NotResolved as reason:
            why = reason.message
        else:
            why = _elsewhere(book, query, found, point)
    if why or point is None:
        return replace(found, advisories=(*found.advisories, warn(found.what, why)))
    if point.via == "state":  # nothing finer is needed
        return found
    alone = _is_alone(found, point)
    if alone:
        kind = (*point.kind, "alone")
        point = replace(point, options=point.options[:1], limits=()).of_kind(*kind)
    at_home = not found.mismatch or found.named_area == point.areas[0].id
    settled = _SETTLED if at_home else _SETTLED - {"place_input_mismatch"}
    notes = [note for note in found.advisories if note["code"] not in settled]
    return replace(
        point,
        what=point.what if given else "the address",
        zip=found.zip,
        city=point.city if point.place else found.city or point.city,
        zip_not_used=found.zip_not_used,
        mismatch=not at_home,
        named_area=found.named_area,
        advisories=(*notes, *point.advisories),
        similar=position.match == "similar" and not alone,
        instead=None if given else found,
    )


def _is_alone(found: Location, point: Location) -> bool:
    """Whether a ZIP lies in one area alone, in which the point is too: no other side of a limit."""
    areas = found.areas
    sure = found.zip and not (found.no_crosswalk or found.across or found.mismatch)
    return bool(sure) and len(areas) == len(found.options) == 1 and areas[0] is point.areas[0]


def _elsewhere(book: Book, query: Query, found: Location, point: Location) -> str:
    """Why a point cannot be that of a ZIP or an address; empty where it can."""
    state, position = query.state, query.position
    zip5 = found.zip
    if zip5 is None:
        return _in_another_city(book, query, found, point)
    home = book.zips.state(state).get(zip5)
    if position and _is_middle(book, state, position, found):
        return f"they are the middle of ZIP {zip5}, not of an address"
    counties = {*book.zips.touched(zip5, state), home.county if home else ""} - {""}
    if counties and counties.isdisjoint(_counties_at(point)):
        name = book.counties[state, point.county or ""].name
        return f"{point.what} lies in {name}, and ZIP {zip5} does not"
    return _in_another_zip(book, query, zip5, point)


def _in_another_zip(book: Book, query: Query, zip5: str, point: Location) -> str:
    """Why a point in a city cannot be that of a ZIP, which does not touch it, nor is it named."""
    position, touched = query.position, zips_of_places(book, query.state).get(point.place, ())
    if not point.place or zip5 in touched or (position and position.zip[:5] == zip5):
        return ""
    boxes = not book.zips.touched(zip5, query.state)
    if boxes or _is_city_of(book, query, point):
        return ""
    return f"{point.what} lies in {point.city}, which ZIP {zip5} does not touch"


def _in_another_city(book: Book, query: Query, found: Location, point: Location) -> str:
    """Why a point cannot be that of a place without a ZIP: its counties and names are others."""
    state = query.state
    name = book.counties[state, point.county].name if point.county else "another county"
    counties = {fips for area in found.areas for fips in area.counties}
    if counties and counties.isdisjoint(_counties_at(point)):
        return f"{point.what} lies in {name}, and {found.what} does not"
    city = _city_of(book, query)
    if not city or not point.place or _is_city_of(book, query, point):
        return ""
    return f"{point.what} lies in {point.city}, and not in {city}"


def _city_of(book: Book, query: Query) -> str:
    """The city that a query names."""
    parts = address_parts(book, query)
    return parts.city if parts else query.location or ""


def _is_city_of(book: Book, query: Query, point: Location) -> bool:
    """Whether a query names the city of a point, by one of its names."""
    city = _city_of(book, query)
    keys = keys_of(place_names(book, query.state), city) if city else []
    names = (point.city or "", *names_at(book, query.state, point))
    return any(name_key(known) in keys for known in names)


def _counties_at(point: Location) -> set[str]:
    """The county of a point, and those that are near."""
    near = {key.removeprefix("county ") for key, _ in point.meters if key.startswith("county ")}
    return near | {point.county or ""}


def _is_middle(book: Book, state: str, position: Position, found: Location) -> bool:
    """Whether a position is the middle of a ZIP, which exports and geocoders give for a house."""
    home = book.zips.state(state).get(found.zip or "")
    if home is None:
        return False
    away = (position.lat - float(home.lat), position.lng - float(home.lng))
    return all(abs(degrees) < _SAME_POINT for degrees in away)


def _contradiction(book: Book, query: Query, position: Position, found: Location) -> str:
    """How the address that a geocoder found contradicts the one given; empty where it does not."""
    if position.state and position.state != query.state:
        return f"it is in {position.state}, not in {query.state}"
    if position.zip and found.zip and position.zip[:5] != found.zip:
        return f"its ZIP is {position.zip[:5]}, not {found.zip}"
    parts = address_parts(book, query) if position.city else None
    if parts is None or not parts.city:
        return ""
    if name_key(position.city) in keys_of(place_names(book, query.state), parts.city):
        return ""
    zip5 = position.zip[:5] or found.zip
    if zip5 and all(
        is_name_of(book, query.state, zip5, city) for city in (parts.city, position.city)
    ):
        return ""
    return f"its city is {position.city}, not {parts.city}"
