"""The limits of the cities of a state: which city holds a point, and what lies near it.

They are read with numpy and shapely, which only lookups of points need.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from svc_tools.base.extras import needs
from svc_tools.service.ratebook.county_map import METERS

with needs("A lookup by coordinates", "service"):
    import numpy as np
    import shapely

if TYPE_CHECKING:
    from collections.abc import Sequence

    Numbers = np.ndarray[Any, np.dtype[Any]]

_UNIT = 1e-5
"""Degrees of the whole numbers in a file."""
_LONGEST = 16
"""Edges of one piece of a limit: a point is compared with the pieces near by alone."""
_CELL = 2_000
"""The width and height of a cell of the index, in 0.00001 degrees: about two kilometers."""
_ROW = 1 << 20
"""More cells than there are around the Earth."""
REST = ""
"""What is left of a county: no place."""


class Around(NamedTuple):
    """The cities at a point and near it.

    Attributes:
        place: the code of the place that holds the point; `REST` where none does.
        limits: the codes of what lies beyond the limits within reach, each with the distance in
            meters, the nearest first.
    """

    place: str
    limits: tuple[tuple[str, float], ...]


class CityLimits:
    """The limits of the places of one state. Immutable.

    Args:
        places: the codes of the places, sorted.
        shapes: the shape of each, in degrees.
        whole: the points of all rings, one ring after the other, in 0.00001 degrees.
        pieces: the limits in pieces.

    Attributes:
        places: as given.
    """

    __slots__ = ("_boxes", "_cells", "_pieces", "_shapes", "_whole", "places")

    def __init__(
        self, places: Sequence[str], shapes: Numbers, whole: Numbers, pieces: Pieces
    ) -> None:
        self.places = tuple(places)
        self._shapes = shapely.STRtree(shapes)
        self._whole = whole.astype(np.int32)  # half the size; what is computed of it is wider
        self._pieces = pieces
        ends = np.stack([pieces.begins, pieces.begins + pieces.counts + 1], axis=1).ravel()
        padded = np.append(self._whole, self._whole[-1:], axis=0)
        self._boxes = np.concatenate(
            [by.reduceat(padded, ends)[::2] for by in (np.minimum, np.maximum)], axis=1
        )
        self._cells = _cells(self._boxes)

    @classmethod
    def read(cls, data: bytes, name: str) -> Self:
        """Read the file of a state.

        Args:
            data: the file: codes (`place`), differences of longitude and latitude in 0.00001
                degrees (`x`, `y`), and how many points make a ring (`ring`), rings a polygon
                (`poly`) and polygons a place (`geom`).
            name: its name, for messages.

        Raises:
            ValueError: it is damaged.
        """
        try:
            with np.load(io.BytesIO(data)) as file:
                steps = np.stack([file["x"], file["y"]], axis=1)
                counts = [file[key].astype(np.int64) for key in ("ring", "poly", "geom")]
                places = [str(code) for code in file["place"]]
            whole = np.cumsum(steps, axis=0, dtype=np.int64)
            offsets = tuple(np.concatenate([[0], np.cumsum(count)]) for count in counts)
            kind = shapely.GeometryType.MULTIPOLYGON
            shapes = shapely.from_ragged_array(kind, whole * _UNIT, offsets)
            if len(shapes) != len(places):
                raise ValueError("not one shape for each place")  # noqa: TRY301 - one message
            return cls(places, shapes, whole, _pieces(whole, *counts))
        except Exception as error:
            raise ValueError(
                f"{name} of the rate book is damaged ({error}): install this package again (pip"
                " install --force-reinstall), or compile the book again"
            ) from error

    def around(
        self, lats: Numbers, lngs: Numbers, *, inside: float, outside: float
    ) -> list[Around]:
        """The cities at points and near them.

        Args:
            lats: latitudes in degrees.
            lngs: longitudes in degrees.
            inside: how near limits are wanted of a point that a place holds, in meters.
            outside: the same of one that none holds.
        """
        points = shapely.points(lngs, lats)
        holder = np.full(len(lats), -1)
        of, place = self._shapes.query(points, predicate="intersects")
        np.maximum.at(holder, of, len(self.places) - place)  # of two, the first
        holder = np.where(holder < 0, -1, len(self.places) - holder)
        reach = np.where(holder < 0, outside, inside)
        narrow = np.cos(np.radians(lats))
        up = reach / METERS
        aside = up / np.maximum(narrow, _UNIT)
        of, piece = self._pieces_at(
            np.stack([lngs - aside, lats - up, lngs + aside, lats + up], axis=1) / _UNIT
        )
        meters = self._meters(lats[of], lngs[of], narrow[of], piece)
        near = meters <= reach[of]
        limits = self._beyond(of[near], piece[near], meters[near], holder)
        codes = (*self.places, REST)
        return [Around(codes[at], limits.get(n, ())) for n, at in enumerate(holder.tolist())]

    def _pieces_at(self, boxes: Numbers) -> tuple[Numbers, Numbers]:
        """The pieces of limits whose boxes meet boxes: the position of the one, and the piece."""
        keys, pieces = self._cells
        west, south, east, north = np.floor(boxes / _CELL).astype(np.int64).T
        of, row = _spread(north - south + 1)
        row += south[of]
        begin = np.searchsorted(keys, row * _ROW + west[of], "left")
        end = np.searchsorted(keys, row * _ROW + east[of], "right")
        at, within = _spread(end - begin)
        of, piece = of[at], pieces[begin[at] + within]
        mine, theirs = boxes[of], self._boxes[piece]
        meet = (mine[:, :2] <= theirs[:, 2:]) & (theirs[:, :2] <= mine[:, 2:])
        both = meet.all(axis=1)
        pairs = np.unique(of[both] * len(self._boxes) + piece[both])  # it may be in several cells
        return pairs // len(self._boxes), pairs % len(self._boxes)

    def _meters(self, lats: Numbers, lngs: Numbers, narrow: Numbers, piece: Numbers) -> Numbers:
        """The distance of points from pieces of limits, on a plane around each point."""
        if not len(piece):
            return np.empty(0)
        counts = self._pieces.counts[piece]
        of, edge = _spread(counts)
        edge += self._pieces.begins[piece][of]
        origin = np.stack([lngs, lats], axis=1)[of]
        scale = np.stack([narrow * METERS, np.full(len(narrow), METERS)], axis=1)[of]
        start = (self._whole[edge] * _UNIT - origin) * scale
        along = (self._whole[edge + 1] * _UNIT - origin) * scale - start
        length = np.einsum("ij,ij->i", along, along)
        at = -np.einsum("ij,ij->i", start, along) / np.where(length > 0, length, 1)
        nearest = start + along * np.clip(at, 0, 1)[:, None]
        return np.minimum.reduceat(np.hypot(*nearest.T), np.cumsum(counts) - counts)

    def _beyond(
        self, of: Numbers, piece: Numbers, meters: Numbers, holder: Numbers
    ) -> dict[int, tuple[tuple[str, float], ...]]:
        """What lies beyond the limits near each point, the nearest first, each once."""
        sides = self._pieces.sides[piece]
        of, side, meters = np.tile(of, 2), sides.T.ravel(), np.tile(meters, 2)
        other = side != holder[of]
        of, side, meters = of[other], side[other], meters[other]
        order = np.lexsort((meters, side, of))
        of, side, meters = of[order], side[order], meters[order]
        first = np.ones(len(of), bool)
        first[1:] = (of[1:] != of[:-1]) | (side[1:] != side[:-1])
        of, side, meters = of[first], side[first], meters[first]
        order = np.lexsort((meters, of))
        codes = (*self.places, REST)
        found: dict[int, list[tuple[str, float]]] = {}
        rows = zip(of[order].tolist(), side[order].tolist(), meters[order].tolist(), strict=True)
        for n, at, distance in rows:
            found.setdefault(n, []).append((codes[at], distance))
        return {n: tuple(near) for n, near in found.items()}


class Pieces(NamedTuple):
    """Pieces of the limits of places; every limit is in one of them.

    Attributes:
        begins: the first point of each.
        counts: how many edges it has.
        sides: the two places that it separates, as positions in `places`; -1: no place.
    """

    begins: Numbers
    counts: Numbers
    sides: Numbers


def _pieces(whole: Numbers, ring: Numbers, poly: Numbers, geom: Numbers) -> Pieces:
    """The limits of the places in pieces.

    Places that adjoin have the same edge, with the same two points.
    """
    place_of_ring = np.repeat(np.arange(len(geom)), geom).repeat(poly)
    ring_of = np.repeat(np.arange(len(ring)), ring)
    starts = np.flatnonzero(ring_of[:-1] == ring_of[1:])
    rings, place = ring_of[starts], place_of_ring[ring_of[starts]]
    _, vertex = np.unique(whole[:, 0] * (1 << 32) + whole[:, 1], return_inverse=True)
    ends = np.sort(np.stack([vertex[starts], vertex[starts + 1]], axis=1), axis=1)
    _, edge = np.unique(ends[:, 0] * len(whole) + ends[:, 1], return_inverse=True)
    low, high = np.full(len(edge), len(geom)), np.full(len(edge), -1)
    np.minimum.at(low, edge, place)
    np.maximum.at(high, edge, place)
    times = np.bincount(edge, minlength=len(edge))[edge]
    other = np.where(times == 1, -1, high[edge])
    kept = (times == 1) | ((place == low[edge]) & (low[edge] != high[edge]))
    starts, rings, place, other = starts[kept], rings[kept], place[kept], other[kept]
    new = np.ones(len(starts), bool)
    new[1:] = (np.diff(starts) != 1) | (np.diff(rings) != 0) | (np.diff(other) != 0)
    begins = np.flatnonzero(new)
    since = np.arange(len(starts)) - np.repeat(begins, np.diff([*begins, len(starts)]))
    begins = np.flatnonzero(since % _LONGEST == 0)
    counts = np.diff([*begins, len(starts)])
    return Pieces(starts[begins], counts, np.stack([place[begins], other[begins]], axis=1))


def _cells(boxes: Numbers) -> tuple[Numbers, Numbers]:
    """The cells that boxes meet, in order, and the position of the box of each."""
    west, south, east, north = (boxes // _CELL).astype(np.int64).T
    of, row = _spread(north - south + 1)
    at, column = _spread((east - west + 1)[of])
    of, row = of[at], row[at]
    keys = (south[of] + row) * _ROW + west[of] + column
    order = np.argsort(keys, kind="stable")
    return keys[order], of[order].astype(np.int32)


def _spread(counts: Numbers) -> tuple[Numbers, Numbers]:
    """For counts of 2 and 3: 0, 0, 1, 1, 1 and 0, 1, 0, 1, 2."""
    of = np.repeat(np.arange(len(counts)), counts)
    return of, np.arange(len(of)) - (np.cumsum(counts) - counts)[of]
