"""Points on the map: the county a point lies in, and the ZIP place nearest to it."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.fips import present_county

if TYPE_CHECKING:
    from shapely import STRtree

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.zips import ZipPlace

__all__ = ["Hit", "counties_at", "map_ends_near", "places_near"]

NEAR_DEGREES = 0.01
"""Within this (about a kilometre) the simplified boundaries do not tell two counties apart."""

_TOWN_DEGREES = 0.05
"""A place so near (about five kilometres) may reach to a point that lies nearer to another."""

_EDGE_SHARE = 0.02
"""Slivers between simplified boundaries are no edge of the map."""


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
    from bokeh_sampledata.us_counties import records  # noqa: PLC0415 - heavy, and seldom needed
    from shapely import STRtree  # noqa: PLC0415 - the same

    rows = records()
    return _Map(
        STRtree([row["geometry"] for row in rows]),
        [(row["state"], present_county(row["fips"])[2:]) for row in rows],
    )


def counties_at(lat: float, lng: float) -> list[Hit]:
    """The counties a point lies in or within about a kilometre of, the nearest first.

    The boundaries reach out over the coastal waters; a point that lies in none is at sea, or in
    another country.
    """
    from shapely import Point  # noqa: PLC0415 - heavy, and seldom needed

    county_map = _map()
    point = Point(lng, lat)
    hits = []
    for index in county_map.tree.query(point, predicate="dwithin", distance=NEAR_DEGREES):
        state, county = county_map.counties[index]
        hits.append(Hit(state, county, point.distance(county_map.tree.geometries[index])))
    return sorted(hits, key=lambda hit: (hit.degrees, hit.state, hit.county))


def map_ends_near(lat: float, lng: float) -> bool:
    """Whether the map ends within about a kilometre: the sea, Canada or Mexico are that near."""
    from shapely import Point, union_all  # noqa: PLC0415 - heavy, and seldom needed

    county_map = _map()
    around = Point(lng, lat).buffer(NEAR_DEGREES)
    near = county_map.tree.query(around, predicate="intersects")
    land = union_all([county_map.tree.geometries[index] for index in near])
    return bool(around.difference(land).area > _EDGE_SHARE * around.area)


def places_near(book: Book, state: str, county: str, lat: float, lng: float) -> list[ZipPlace]:
    """The ZIP places a point may belong to, the nearest first; empty where none is known.

    They are those of its county, or of the state when that has none: the nearest, and each that
    is not twice as far, or within about five kilometres.
    """
    by_county = _places(book, state)
    narrow = math.cos(math.radians(lat))
    away = sorted(
        (math.hypot(there_lat - lat, (there_lng - lng) * narrow), place.zip, place)
        for there_lat, there_lng, place in by_county.get(county) or by_county.get("") or ()
    )
    reach = max(_TOWN_DEGREES, 2 * away[0][0]) if away else 0.0
    return [place for degrees, _, place in away if degrees <= reach]


_Places = dict[str, list[tuple[float, float, "ZipPlace"]]]


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
