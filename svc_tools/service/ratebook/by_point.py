"""From coordinates to the areas they may lie in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.advisories import near_map_edge, near_state_line, off_map
from svc_tools.service.ratebook.by_zip import has_base, options_for
from svc_tools.service.ratebook.fips import OUTSIDE
from svc_tools.service.ratebook.geo import Hit, counties_at, map_ends_near, places_near
from svc_tools.service.ratebook.location import Location, Option
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.query import NotResolved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.zips import ZipPlace

__all__ = ["locate_point"]


def locate_point(book: Book, state: str, lat: float, lng: float) -> Location:
    """Where a point leads: its county, and the ZIP place nearest to it within that county.

    The limits of cities are not known: a taxing city with a ZIP place near by is a candidate.
    A point that lies in no county of the map is answered only beside one of the state asked for.

    Raises:
        NotResolved: the point lies in another state, or in no county of the map.
    """
    hits = counties_at(lat, lng)
    least = hits[0].degrees if hits else 0.0
    inside = [hit for hit in hits if hit.state == state]
    if not inside or inside[0].degrees > least:
        raise _elsewhere(book, state, lat, lng, hits)
    near = places_near(book, state, inside[0].county, lat, lng)
    found = _base(book, state, (lat, lng), hits, near[0] if near else None)
    row = book.states[state]
    if row.local not in {"county", "city"}:
        return found
    if not has_base(book, state, inside[0].county):
        near = []  # a town near by does not reach over a county that has no rate
    counties = [hit.county for hit in inside]
    options = options_for(book, state, counties, _names(near[0]) if near else ())
    options += _cities_near(book, state, counties, near, options)
    chosen = options[0].area
    by_county = row.local == "county" or (chosen is not None and chosen.kind == "county")
    return replace(
        found,
        via="coordinates",
        decided="county" if by_county else "zip_city",
        options=options,
        near_boundary=found.near_boundary or len(inside) > 1,
    )


def _names(place: ZipPlace) -> tuple[str, ...]:
    """Keys of the names that a ZIP place goes by, the preferred one first."""
    return tuple(name_key(name) for name in (place.city, *place.accepted))


def _cities_near(
    book: Book,
    state: str,
    counties: Sequence[str],
    near: Sequence[ZipPlace],
    options: Sequence[Option],
) -> tuple[Option, ...]:
    """The taxing cities of a point's counties that a place near by is called after."""
    have = {option.area.id for option in options if option.area}
    called = {key for place in near[1:] for key in _names(place)}
    return tuple(
        Option(area, f"is called {area.cities[0]}, near by")
        for fips in counties
        for area in book.county_areas.get((state, fips), ())
        if area.kind == "city" and area.id not in have and called & set(map(name_key, area.cities))
    )


def _base(
    book: Book, state: str, point: tuple[float, float], hits: Sequence[Hit], place: ZipPlace | None
) -> Location:
    """The county of a point, and how near it is to what is not the state."""
    lat, lng = point
    own = next(hit for hit in hits if hit.state == state)
    what = f"the point {lat}, {lng}"
    others = sorted({hit.state for hit in hits} - {state})
    outside = own.degrees > 0
    edge = not outside and map_ends_near(lat, lng)
    notes = []
    if outside:
        notes.append(off_map(what, book.counties[state, own.county].name))
    if others:
        notes.append(near_state_line(what, others))
    if edge:
        notes.append(near_map_edge(what))
    return Location(
        "state",
        "state",
        what,
        city=place.city if place else None,
        county=own.county,
        near_boundary=bool(others) or edge,
        off_map=outside,
        advisories=tuple(notes),
        point=point,
        nearest_zip=place.zip if place else None,
    )


def _elsewhere(book: Book, state: str, lat: float, lng: float, hits: Sequence[Hit]) -> NotResolved:
    detail: dict[str, object] = {"lat": lat, "lng": lng, "state": state}
    if not hits or hits[0].degrees > 0:
        hint = _meant(book, state, lat, lng, detail)
        return NotResolved(
            "NOT_FOUND",
            f"the point {lat}, {lng} lies in no county of the book's map of the United States:"
            f" it is at sea or in another country{hint}",
            detail,
        )
    there = hits[0].state
    detail["states"] = [there]
    if there in OUTSIDE:
        message = f"the point {lat}, {lng} is not in {state}: {OUTSIDE[there]}"
    else:
        county = book.counties[there, hits[0].county].name
        message = f"the point {lat}, {lng} is not in {state}: it lies in {county}, {there}"
    return NotResolved("NOT_FOUND", message, detail)


def _meant(book: Book, state: str, lat: float, lng: float, detail: dict[str, object]) -> str:
    """Where in the state the point would be with its numbers exchanged or a sign mended."""
    ways = (
        (lng, lat, "latitude and longitude exchanged"),
        (lat, -lng, "a western longitude, below zero"),
        (lng, -lat, "latitude and longitude exchanged and a western longitude, below zero"),
    )
    for there_lat, there_lng, how in ways:
        hit = next(iter(counties_at(there_lat, there_lng)), None)
        if hit and hit.state == state and not hit.degrees:
            detail["did_you_mean"] = {"lat": there_lat, "lng": there_lng}
            county = book.counties[state, hit.county].name
            return f"; with {how} ({there_lat}, {there_lng}) it would lie in {county}, {state}"
    return ""
