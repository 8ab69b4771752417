"""From coordinates to the areas they may lie in.

The county comes from a map of simplified county boundaries (`bokeh_sampledata`, searched with
shapely), the city from the ZIP place nearest to the point within that county.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.base.extras import needs
from svc_tools.service.ratebook.by_zip import locate_zip
from svc_tools.service.ratebook.gazetteer import bases_of, no_rate
from svc_tools.service.ratebook.names import OUTSIDE, present_county
from svc_tools.service.ratebook.query import AreaOption, Location, NotResolved
from svc_tools.service.ratebook.rating import near_map_edge, near_state_line, off_map

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapely import STRtree

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.schema import PostalRow

_NEAR_DEGREES = 0.01
"""Within this (about a kilometer) the simplified boundaries do not tell two counties apart."""
_TOWN_DEGREES = 0.05
"""A place this near (about five kilometers) may reach a point that is nearer to another."""
_EDGE_SHARE = 0.02
"""Slivers between simplified boundaries are no edge of the map."""
_Places = dict[str, list[tuple[float, float, "PostalRow"]]]


def locate_point(book: Book, state: str, lat: float, lng: float) -> Location:
    """Where a point leads: its county, and the ZIP place nearest to it within that county.

    The limits of cities are not known: a taxing city with a ZIP place near by is a candidate.
    A point that lies in no county of the map resolves only next to one of the requested state.

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
    counties = [hit.county for hit in inside]
    options = _options_near(book, state, counties, near)
    if not options:
        raise no_rate(book, state, counties[0])
    return replace(
        found,
        via="coordinates",
        decided="nearest",
        options=options,
        outside=bool(near) and _outside(book, state, near[0]),
        near_boundary=found.near_boundary or len(inside) > 1,
    )


def _outside(book: Book, state: str, place: PostalRow) -> bool:
    """Whether the nearest ZIP is named after a town that it does not touch."""
    return bool(book.zips.touched(place.zip, state)) and locate_zip(book, state, place.zip).outside


def _options_near(
    book: Book, state: str, counties: Sequence[str], near: Sequence[PostalRow]
) -> tuple[AreaOption, ...]:
    """What the nearest ZIP place holds of the point's county first; then what others near by hold.

    Of a county near by only what is left of it is possible: its cities lie further off.
    """
    found: dict[str, AreaOption] = {}
    for place in near:
        if not book.zips.touched(place.zip, state):
            continue
        for option in locate_zip(book, state, place.zip).options:
            if option.area and counties[0] in option.area.counties:
                found.setdefault(option.area.id, option._replace(share=0))
    for fips in counties:
        for area in bases_of(book, state, fips):
            found.setdefault(
                area.id, AreaOption(area, f"lies in {book.counties[state, fips].name}")
            )
    return tuple(found.values()) if bases_of(book, state, counties[0]) else ()


def _base(
    book: Book, state: str, point: tuple[float, float], hits: Sequence[Hit], place: PostalRow | None
) -> Location:
    """The county of a point, and how near it is to what is not the state."""
    lat, lng = point
    own = next(hit for hit in hits if hit.state == state)
    what = f"the point {lat}, {lng}"
    others = sorted({hit.state for hit in hits} - {state})
    outside = own.degrees > 0
    edge = not outside and _map_ends_near(lat, lng)
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
    """The refusal of a point outside the state, with where it lies or how it may be meant."""
    detail: dict[str, object] = {"lat": lat, "lng": lng, "state": state}
    if not hits or hits[0].degrees > 0:
        hint = _hint(book, state, lat, lng, detail)
        return NotResolved(
            "NOT_FOUND",
            f"the point {lat}, {lng} lies in no county of the book's map of the United States:"
            f" it is at sea or in another country{hint}",
            detail,
        )
    other = hits[0].state
    detail["states"] = [other]
    if other in OUTSIDE:
        message = f"the point {lat}, {lng} is not in {state}: {OUTSIDE[other]}"
    else:
        county = book.counties[other, hits[0].county].name
        message = f"the point {lat}, {lng} is not in {state}: it lies in {county}, {other}"
    return NotResolved("NOT_FOUND", message, detail)


def _hint(book: Book, state: str, lat: float, lng: float, detail: dict[str, object]) -> str:
    """Where in the state the point would be with its numbers exchanged or a sign corrected."""
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


class Hit(NamedTuple):
    """One county at a point, or near it: `degrees` away (0 when the point lies in it)."""

    state: str
    county: str
    degrees: float


class _Map(NamedTuple):
    tree: STRtree
    counties: list[tuple[str, str]]


@lru_cache(maxsize=1)
def _map() -> _Map:
    """The boundaries of every county, read on the first lookup by coordinates."""
    with needs("A lookup by coordinates", "service"):
        from bokeh_sampledata.us_counties import (  # noqa: PLC0415 - heavy, and seldom needed
            records,
        )
        from shapely import STRtree  # noqa: PLC0415 - the same

    rows = records()
    return _Map(
        STRtree([row["geometry"] for row in rows]),
        [(row["state"], present_county(row["fips"])[2:]) for row in rows],
    )


def counties_at(lat: float, lng: float) -> list[Hit]:
    """The counties a point lies in or within about a kilometer of, the nearest first.

    The boundaries reach out over the coastal waters; a point that lies in none is at sea, or in
    another country.
    """
    county_map = _map()
    from shapely import Point  # noqa: PLC0415 - heavy, and seldom needed

    point = Point(lng, lat)
    hits = []
    for index in county_map.tree.query(point, predicate="dwithin", distance=_NEAR_DEGREES):
        state, county = county_map.counties[index]
        hits.append(Hit(state, county, point.distance(county_map.tree.geometries[index])))
    return sorted(hits, key=lambda hit: (hit.degrees, hit.state, hit.county))


def _map_ends_near(lat: float, lng: float) -> bool:
    """Whether the map ends within about a kilometer: the sea, Canada or Mexico are that near."""
    from shapely import Point, union_all  # noqa: PLC0415 - heavy, and seldom needed

    county_map = _map()
    around = Point(lng, lat).buffer(_NEAR_DEGREES)
    near = county_map.tree.query(around, predicate="intersects")
    land = union_all([county_map.tree.geometries[index] for index in near])
    return bool(around.difference(land).area > _EDGE_SHARE * around.area)


def places_near(book: Book, state: str, county: str, lat: float, lng: float) -> list[PostalRow]:
    """The ZIP places a point may belong to, the nearest first; empty where none is known.

    They are those of its county, or of the state when that has none: the nearest, and each that
    is not twice as far, or within about five kilometers.
    """
    by_county = _places(book, state)
    narrow = math.cos(math.radians(lat))
    away = sorted(
        (math.hypot(there_lat - lat, (there_lng - lng) * narrow), place.zip, place)
        for there_lat, there_lng, place in by_county.get(county) or by_county.get("") or ()
    )
    reach = max(_TOWN_DEGREES, 2 * away[0][0]) if away else 0.0
    return [place for degrees, _, place in away if degrees <= reach]


def _places(book: Book, state: str) -> _Places:
    """A state's ZIP places with coordinates by county, all under `""`; standard ZIPs first."""
    key = ("places", state)
    found = book.memo.get(key)
    if isinstance(found, dict):
        return found
    standard: _Places = {}
    others: _Places = {}
    for place in book.zips.state(state).values():
        lat, lng = float(place.lat), float(place.lng)
        if not lat:
            continue
        entry = (lat, lng, place)
        table = standard if place.kind == "STANDARD" else others
        table.setdefault(place.county, []).append(entry)
        if place.county:
            table.setdefault("", []).append(entry)
    for county, entries in others.items():
        standard.setdefault(county, entries)
    book.memo[key] = standard
    return standard
