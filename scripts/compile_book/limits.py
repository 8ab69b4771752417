"""The limits of cities: shapes of Census places, and which of them have changed since.

The Census Bureau's file of places (`cb_2023_us_place_500k.zip`, a shapefile) or the files that
were made of it, `polygons/XX.npz`.
"""

from __future__ import annotations

import csv
import io
import math
import struct
import zipfile
from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import shapely

from svc_tools.service.ratebook.imports.draft import RowError
from svc_tools.service.ratebook.schema import ChangedPlace

from .facts import NO_LIMITS, SAME_LIMITS, TIERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from svc_tools.service.ratebook.imports.draft import Draft

    from .files import SourceFiles

_GROWN = 0.05
"""A place whose land grew by this much reaches beyond its limits of the book."""
_MILE = 1609.344
_UNIT = 100_000
"""Whole numbers for a degree of a coordinate: 0.00001 degrees are about a meter."""
_POLYGON = 5
"""The type of shape in a shapefile of places."""
_HEADER, _RECORD, _COUNTS = 100, 8, 44
"""Bytes of a shapefile's header, of a record's, and of a polygon before its parts."""
_NO_PLACES = frozenset({"55", "57", "62"})
"""Kinds of places (LSAD) that are not incorporated: comunidades, CDPs, zonas urbanas."""

_LIMITED = ("C", "D", "none")
"""Tiers in which places decide, or could."""
_END_OF_FIELDS = 0x0D
_LEAST = 4
"""Points of the least ring: a triangle, closed."""

Ring = list[tuple[int, int]]
Points = np.ndarray[Any, np.dtype[Any]]


class PlaceLimits(NamedTuple):
    """The limits of the places of each state, as files of a book, and the places that changed."""

    files: Mapping[str, bytes]
    changed: Sequence[ChangedPlace]


def read_limits(found: SourceFiles, draft: Draft) -> PlaceLimits:
    """The limits of places where the book's states have some, and the changes since.

    The Bureau's own file comes before files that were made of it.
    """
    changes = found.maybe.get("changes")
    changed = [] if changes is None else read_changes(changes, draft)
    if "bureau" in found.maybe:
        return PlaceLimits(limits_of(found.maybe["bureau"], draft), changed)
    if not found.limits:
        subject = "limits of cities"
        draft.report.add("missing", "polygons", subject, "points are placed by the nearest ZIP")
    files = {state: path.read_bytes() for state, path in sorted(found.limits.items())}
    return PlaceLimits(files, changed)


def read_changes(path: Path, draft: Draft) -> list[ChangedPlace]:
    """The places that are new since their limits were drawn, or grew by 5% or more."""
    rows = []
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            state, code = row["state"], row["place"]
            if state not in draft.states or (state, code) in SAME_LIMITS:
                continue
            if row["change"] == "new":
                radius = math.sqrt(float(row["land_2025"]) / math.pi) * _MILE
                rows.append(
                    ChangedPlace(state, code, "new", row["lat"], row["lng"], str(round(radius)))
                )
            elif row["change"] in {"grown", "incorporated"} and float(row["growth"]) >= _GROWN:
                rows.append(ChangedPlace(state, code, "grown", "", "", ""))
    return rows


def limits_of(path: Path, draft: Draft) -> dict[str, bytes]:
    """The limits of the places of each state where a place decides, from the Bureau's file.

    They are those of incorporated places, and of the others that the book has an area for.
    """
    wanted = {state for tier in _LIMITED for state in TIERS[tier].split()}
    states = {row.fips: row.state for row in draft.states.values() if row.state in wanted}
    areas = {(area.state, area.place) for area in draft.areas.values() if area.place}
    found: dict[str, dict[str, list[list[Ring]]]] = defaultdict(dict)
    with zipfile.ZipFile(path) as archive:
        names = {name.rpartition(".")[2]: name for name in archive.namelist()}
        if not {"dbf", "shp"} <= names.keys():
            raise RowError(f"{path.name}: no shapefile in it, that is a .shp and a .dbf")
        rows = read_dbf(archive.read(names["dbf"]))
        shapes = list(read_shapes(archive.read(names["shp"])))
    if len(rows) != len(shapes):
        raise RowError(f"{path.name}: {len(shapes)} shapes, but {len(rows)} rows")
    for row, rings in zip(rows, shapes, strict=True):
        state, code = states.get(row["STATEFP"], ""), row["PLACEFP"]
        listed = row["LSAD"] not in _NO_PLACES or (state, code) in areas
        if state and listed and (state, code) not in NO_LIMITS:
            polygons = polygons_of([ring for ring in map(_rounded, rings) if ring])
            if polygons:
                found[state][code] = polygons
    return {state: file_of(places) for state, places in sorted(found.items())}


def read_dbf(data: bytes) -> list[dict[str, str]]:
    """The rows of a table in the format of dBASE, as text without the blanks around it."""
    count, header, length = struct.unpack_from("<IHH", data, 4)
    fields = []
    at = 1  # the first byte of a row marks one that was removed
    for start in range(32, header - 1, 32):
        if data[start] == _END_OF_FIELDS:
            break
        name = data[start : start + 11].rstrip(b"\0").decode("ascii")
        size = data[start + 16]
        fields.append((name, at, at + size))
        at += size
    rows = (data[header + n * length :][:length] for n in range(count))
    return [
        {name: row[begin:end].decode("utf-8", "replace").strip() for name, begin, end in fields}
        for row in rows
    ]


def read_shapes(data: bytes) -> Iterator[list[Points]]:
    """The rings of each record of a shapefile of polygons; none of a record without a shape.

    Raises:
        RowError: it holds other shapes.
    """
    at = _HEADER
    while at < len(data):
        (words,) = struct.unpack_from(">i", data, at + 4)
        (kind,) = struct.unpack_from("<i", data, at + _RECORD)
        rings: list[Points] = []
        if kind == _POLYGON:
            parts, points = struct.unpack_from("<ii", data, at + _RECORD + 36)
            start = at + _RECORD + _COUNTS
            begins = struct.unpack_from(f"<{parts}i", data, start)
            xy = np.frombuffer(data, "<f8", 2 * points, start + 4 * parts).reshape(-1, 2)
            rings = [xy[i:j] for i, j in pairwise((*begins, points))]
        elif kind:
            raise RowError(f"a shape of type {kind}; expected polygons ({_POLYGON})")
        yield rings
        at += _RECORD + 2 * words


def _rounded(ring: Points) -> Ring:
    """A ring in whole numbers, without points that are the same as the one before."""
    points = [(x, y) for x, y in np.rint(ring * _UNIT).astype(int).tolist()]
    kept = [
        point for point, before in zip(points, [None, *points], strict=False) if point != before
    ]
    return kept if len(kept) >= _LEAST else []


def polygons_of(rings: Sequence[Ring]) -> list[list[Ring]]:
    """The polygons that rings make: an outer one, which runs clockwise, and the holes in it."""
    found = [([ring], shapely.Polygon(ring)) for ring in rings if not shapely.is_ccw(_line(ring))]
    for ring in rings:
        if not shapely.is_ccw(_line(ring)):
            continue
        hole = shapely.Polygon(ring)
        around = [pair for pair in found if pair[1].covers(hole)]
        if around:
            min(around, key=lambda pair: pair[1].area)[0].append(ring)
    return [polygon for polygon, _ in found]


def _line(ring: Ring) -> shapely.LinearRing:
    return shapely.LinearRing(ring)


def file_of(places: Mapping[str, Sequence[Sequence[Ring]]]) -> bytes:
    """The file of a state's limits, as `svc_tools.service.ratebook.city_limits` reads it."""
    ordered = [places[code] for code in sorted(places)]
    polygons = [polygon for each in ordered for polygon in each]
    rings = [ring for polygon in polygons for ring in polygon]
    points = np.array([point for ring in rings for point in ring], np.int32)
    steps = np.diff(points, axis=0, prepend=np.zeros((1, 2), np.int32))
    data = io.BytesIO()
    np.savez_compressed(
        data,
        place=np.array(sorted(places)),
        x=steps[:, 0],
        y=steps[:, 1],
        ring=np.array([len(ring) for ring in rings], np.uint16),
        poly=np.array([len(polygon) for polygon in polygons], np.uint16),
        geom=np.array([len(each) for each in ordered], np.uint16),
    )
    return data.getvalue()
