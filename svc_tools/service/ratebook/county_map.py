"""A map of simplified county boundaries: the counties at points, and where the map ends.

It is that of `bokeh_sampledata`, read with numpy and shapely, which only lookups of points need.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from svc_tools.base.extras import needs
from svc_tools.service.ratebook.names import present_county

with needs("A lookup by coordinates", "service"):
    import numpy as np
    import shapely

if TYPE_CHECKING:
    Numbers = np.ndarray[Any, np.dtype[Any]]

_NEAR_DEGREES = 0.01
"""Within this (about a kilometer) the boundaries do not always tell two counties apart."""
_EDGE_SHARE = 0.02
"""Slivers between simplified boundaries are no edge of the map."""
METERS = 111_195.0
"""Of a degree of latitude."""


class Hit(NamedTuple):
    """One county at a point, or near it: how far away (0 when the point lies in it)."""

    state: str
    county: str
    degrees: float
    meters: float


class _Map(NamedTuple):
    tree: shapely.STRtree
    boundaries: Numbers
    counties: list[tuple[str, str]]


@lru_cache(maxsize=1)
def _map() -> _Map:
    """The boundaries of every county, read on the first lookup by coordinates."""
    with needs("A lookup by coordinates", "service"):
        from bokeh_sampledata.us_counties import (  # noqa: PLC0415 - heavy, and seldom needed
            records,
        )

    rows = records()
    shapes = [row["geometry"] for row in rows]
    return _Map(
        shapely.STRtree(shapes),
        shapely.boundary(shapes),
        [(row["state"], present_county(row["fips"])[2:]) for row in rows],
    )


def counties_at(lat: float, lng: float) -> list[Hit]:
    """The counties a point lies in or within about a kilometer of, the nearest first.

    The boundaries reach out over the coastal waters; a point that lies in none is at sea, or in
    another country.
    """
    return list(counties_near(*np.array([[lat], [lng]]))[0][0])


def counties_near(lats: Numbers, lngs: Numbers) -> list[tuple[tuple[Hit, ...], bool]]:
    """The counties at each point as by `counties_at`, and whether a boundary is that near."""
    county_map = _map()
    points = shapely.points(lngs, lats)
    of, at = county_map.tree.query(points, predicate="dwithin", distance=_NEAR_DEGREES)
    shapes = county_map.tree.geometries[at]
    degrees = shapely.distance(shapes, points[of])
    meters = degrees * 0.0
    away = np.flatnonzero(degrees)
    if len(away):
        ends = shapely.get_coordinates(shapely.shortest_line(points[of[away]], shapes[away]))
        east, north = (ends[1::2] - ends[::2]).T
        narrow = np.cos(np.radians(lats[of[away]]))
        meters[away] = METERS * np.hypot(east * narrow, north)
    near = np.zeros(len(points), bool)
    near[of[away]] = True
    alone = np.flatnonzero(~near[of])
    edges = county_map.boundaries[at[alone]]
    near[of[alone]] = shapely.dwithin(edges, points[of[alone]], _NEAR_DEGREES)
    found: list[list[Hit]] = [[] for _ in points]
    for n, county, far, distance in zip(
        of.tolist(), at.tolist(), degrees.tolist(), meters.tolist(), strict=True
    ):
        state, fips = county_map.counties[county]
        found[n].append(Hit(state, fips, far, distance))
    for hits in found:
        if len(hits) > 1:
            hits.sort(key=lambda hit: (hit.degrees, hit.state, hit.county))
    return [(tuple(hits), edge) for hits, edge in zip(found, near.tolist(), strict=True)]


def where_map_ends(lats: Numbers, lngs: Numbers) -> list[bool]:
    """Whether the map ends within about a kilometer of points.

    There the sea, Canada or Mexico are that near.
    """
    county_map = _map()
    around = shapely.buffer(shapely.points(lngs, lats), _NEAR_DEGREES)
    of, at = county_map.tree.query(around, predicate="intersects")
    parts = shapely.area(shapely.intersection(around[of], county_map.tree.geometries[at]))
    land = np.bincount(of, parts, len(around))
    ends: list[bool] = (1 - land / shapely.area(around) > _EDGE_SHARE).tolist()
    return ends
