"""From a ZIP or an address whose position is known: the point decides, unless they contradict."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.by_address import address_parts, is_name_of
from svc_tools.service.ratebook.by_point import GIVEN, Reach, locate_point
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
    if not why:
        reach = REACHES[position.match]
        try:
            point = locate_point(book, query.state, position[:2], spot, reach)
        except NotResolved as reason:
            why = reason.message
        else:
            why = _outside_of_zip(book, query.state, found, point)
    if why or point is None:
        return replace(found, advisories=(*found.advisories, warn(found.what, why)))
    if point.via == "state":  # nothing finer is needed
        return found
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
        similar=position.match == "similar",
        instead=None if given else found,
    )


def _outside_of_zip(book: Book, state: str, found: Location, point: Location) -> str:
    """Why a point cannot be that of a ZIP: it lies in none of its counties."""
    zip5 = found.zip
    if zip5 is None or point.county is None:
        return ""
    place = book.zips.state(state).get(zip5)
    counties = {*book.zips.touched(zip5, state), place.county if place else ""} - {""}
    near = {key.removeprefix("county ") for key, _ in point.meters if key.startswith("county ")}
    if not counties or not counties.isdisjoint({point.county, *near}):
        return ""
    name = book.counties[state, point.county].name
    return f"{point.what} lies in {name}, and ZIP {zip5} does not"


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
