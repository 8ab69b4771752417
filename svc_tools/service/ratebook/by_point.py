"""From coordinates to the areas they may lie in.

The county comes from a map of simplified county boundaries (`county_map`), the city from the limits
of cities where the book has them (`city_limits`), else from the ZIP place nearest to the point
within that county.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from svc_tools.base.extras import needs
from svc_tools.service.ratebook.by_zip import locate_zip
from svc_tools.service.ratebook.county_map import (
    METERS,
    Hit,
    counties_at,
    counties_near,
    where_map_ends,
)
from svc_tools.service.ratebook.gazetteer import (
    TOWNS_TAX,
    areas_of_place,
    bases_of,
    no_rate,
    own_areas,
)
from svc_tools.service.ratebook.names import OUTSIDE
from svc_tools.service.ratebook.query import AreaOption, Limit, Location, NotResolved
from svc_tools.service.ratebook.rating import DOUBTS, near_map_edge, near_state_line, off_map
from svc_tools.service.ratebook.schema import PlaceRow

with needs("A lookup by coordinates", "service"):
    import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.city_limits import CityLimits
    from svc_tools.service.ratebook.rating import AdvisoryFields
    from svc_tools.service.ratebook.schema import Area, PostalRow

    Numbers = np.ndarray[Any, np.dtype[Any]]

_TOWN_DEGREES = 0.05
"""A place this near (about five kilometers) may reach a point that is nearer to another."""
_NEW_RADII = 2.0
"""How far a new place may reach, in radii of a circle as large as its land."""
_SURE_STATE = 100.0
"""A point that many meters inside a city lies in the city's state, whatever the map of counties
has."""


class Reach(NamedTuple):
    """Which doubts limits raise, by their distance in meters: up to each of them, in order.

    Attributes:
        inside: of a point that a city holds.
        outside: of any other.
        county: of any, at the boundary of a county on the simplified map.
        growing: the doubt in the place of `near` outside of a city that grew.
    """

    inside: tuple[tuple[float, str], ...]
    outside: tuple[tuple[float, str], ...]
    county: tuple[tuple[float, str], ...]
    growing: str = "near"


GIVEN = Reach(
    inside=((25, "close"), (100, "near")),
    outside=((25, "close"), (300, "near"), (1000, "far")),
    county=((200, "close"), (500, "near")),
    growing="growing",
)
"""Of a point that was given: docs/ACCURACY.md has what was measured."""
_Places = dict[str, list[tuple[float, float, "PostalRow"]]]


class Spot(NamedTuple):
    """What the maps have at a point.

    Attributes:
        hits: the counties that it lies in or near, the nearest first.
        at_edge: the map ends near by.
        place: the code of the place of the state that holds it; empty where none does.
        limits: as `city_limits.Around.limits`.
        elsewhere: another state, a city of which holds it; empty where none does.
        near: the ZIPs of `places_near`, where no place holds it; the first alone, where the others
            decide nothing.
    """

    hits: tuple[Hit, ...]
    at_edge: bool
    place: str = ""
    limits: tuple[tuple[str, float], ...] = ()
    elsewhere: str = ""
    near: tuple[str, ...] = ()

    @property
    def nearest(self) -> str | None:
        """The nearest ZIP place; `None` where none is known, or a place holds the point."""
        return self.near[0] if self.near else None


def survey(
    book: Book, state: str, points: Sequence[tuple[float, float]], reach: Reach = GIVEN
) -> list[Spot]:
    """What the maps have at points, for lookups in a state; many at once cost a tenth of the time.

    Args:
        book: the rate book.
        state: the state of the lookups.
        points: latitudes and longitudes in degrees.
        reach: how far limits matter.
    """
    lats, lngs = np.array(points, float).T
    spots = [Spot(*found) for found in counties_near(lats, lngs)]
    limits = _limits_of(book, state)
    if limits is not None:
        around = limits.around(lats, lngs, inside=reach.inside[-1][0], outside=reach.outside[-1][0])
        spots = [
            spot._replace(place=place, limits=near)
            for spot, (place, near) in zip(spots, around, strict=True)
        ]
    _add_elsewhere(book, state, spots, lats, lngs)
    _add_edges(spots, lats, lngs)
    _add_nearest(book, state, spots, lats, lngs)
    return spots


def _add_elsewhere(book: Book, state: str, spots: list[Spot], lats: Numbers, lngs: Numbers) -> None:
    """Find the points near a state line that cities of other states hold."""
    for other in {hit.state for spot in spots for hit in spot.hits} - {state}:
        theirs = book.city_limits(other)
        at = [
            n
            for n, spot in enumerate(spots)
            if not spot.place and any(hit.state == other for hit in spot.hits)
        ]
        if theirs is None or not at:
            continue
        around = theirs.around(lats[at], lngs[at], inside=0, outside=0)
        for n, found in zip(at, around, strict=True):
            if found.place:
                spots[n] = spots[n]._replace(elsewhere=other)


def _add_edges(spots: list[Spot], lats: Numbers, lngs: Numbers) -> None:
    """Of the points near the boundary of a county: keep those near which the map ends."""
    near = [n for n, spot in enumerate(spots) if spot.at_edge]
    ends = where_map_ends(lats[near], lngs[near]) if near else []
    for n, end in zip(near, ends, strict=True):
        if spots[n].place or not end:
            spots[n] = spots[n]._replace(at_edge=False)


def _add_nearest(book: Book, state: str, spots: list[Spot], lats: Numbers, lngs: Numbers) -> None:
    """Find the ZIP places near each point that no place holds, within its county."""
    all_of_them = _nearest_decides(book, state)
    by_county: dict[str, list[int]] = {}
    for n, spot in enumerate(spots):
        own = None if spot.place else next((h for h in spot.hits if h.state == state), None)
        if own is not None:
            by_county.setdefault(own.county, []).append(n)
    for county, at in by_county.items():
        found = _near(book, state, county, lats[at], lngs[at], all_of_them=all_of_them)
        for n, near in zip(at, found, strict=True):
            spots[n] = spots[n]._replace(near=tuple([place.zip for place in near]))


def _nearest_decides(book: Book, state: str) -> bool:
    """Whether the ZIP places near a point decide in a state: no limits of cities do."""
    return book.states[state].local in {"county", "city"} and _limits_of(book, state) is None


def _limits_of(book: Book, state: str) -> CityLimits | None:
    """The limits that decide in a state; `None` where the nearest ZIP does, or the state alone."""
    local = book.states[state].local in {"county", "city"}
    return book.city_limits(state) if local and state not in TOWNS_TAX else None


def locate_point(
    book: Book,
    state: str,
    point: tuple[float, float],
    spot: Spot | None = None,
    reach: Reach = GIVEN,
) -> Location:
    """Where a point leads: its county, and the city that holds it.

    Where the book has no limits of cities, it is the ZIP place nearest to it within that county,
    and a taxing city with a ZIP place near by is a candidate.
    A point that lies in no county of the map resolves only next to one of the requested state.

    Args:
        book: the rate book.
        state: the state of the lookup.
        point: latitude and longitude in degrees.
        spot: what the maps have there, where `survey` has found it already.
        reach: how far limits matter.

    Raises:
        NotResolved: the point lies in another state, or in no county of the map.
    """
    spot = spot or survey(book, state, [point], reach)[0]
    if not _is_in(state, spot):
        raise _elsewhere(book, state, *point, spot)
    if _limits_of(book, state) is not None:
        return _by_limits(book, state, point, spot, reach)
    hits = [hit for hit in spot.hits if hit.state == state]
    notes, doubtful, outside = _at_the_edge(book, state, point, spot, hits)
    if not _nearest_decides(book, state):
        return Location(
            "state",
            "state",
            f"the point {point[0]}, {point[1]}",
            city=_city_of(book, state, spot.nearest),
            county=hits[0].county,
            near_boundary=doubtful,
            off_map=outside,
            advisories=notes,
            point=point,
            nearest_zip=spot.nearest,
        ).of_kind("point", state, doubtful, outside)
    rows = book.zips.state(state)
    near = [rows[zip5] for zip5 in spot.near]
    counties = tuple([hit.county for hit in hits])
    memo = ("near", state, counties, spot.near)
    options = book.memo.get(memo)
    if not isinstance(options, tuple):
        options = book.remember(memo, _options_near(book, state, counties, near))
    if not options:
        raise no_rate(book, state, counties[0])
    far_from_home = bool(near) and _outside(book, state, near[0])
    doubtful = doubtful or len(hits) > 1
    areas = tuple([(option.area.id, option.why) for option in options if option.area])
    return Location(
        "coordinates",
        "nearest",
        f"the point {point[0]}, {point[1]}",
        options,
        city=near[0].city if near else None,
        county=counties[0],
        outside=far_from_home,
        near_boundary=doubtful,
        off_map=outside,
        advisories=notes,
        point=point,
        nearest_zip=near[0].zip if near else None,
    ).of_kind("near", state, areas, far_from_home, doubtful, outside)


def key_of(
    book: Book, state: str, point: tuple[float, float], spot: Spot
) -> tuple[object, ...] | None:
    """What the result at a point depends on, but for the point itself; `None` outside of the state.

    Points with the same key have the same result, but for the words of its warnings.
    """
    if not _is_in(state, spot):
        return None
    hits = [hit for hit in spot.hits if hit.state == state]
    edge: tuple[object, ...] = ()
    if spot.at_edge or spot.hits[0].degrees or len(spot.hits) > len(hits):
        notes, *doubts = _at_the_edge(book, state, point, spot, hits)
        edge = tuple([note["code"] for note in notes]), *doubts
    if _limits_of(book, state) is None:
        return "near", state, tuple([hit.county for hit in hits]), spot.near, edge
    return "point", state, _kind(book, state, point, spot, hits, reach=GIVEN)[0], spot.nearest, edge


def _city_of(book: Book, state: str, zip5: str | None) -> str | None:
    return book.zips.state(state)[zip5].city if zip5 else None


def names_at(book: Book, state: str, location: Location) -> list[str]:
    """The names that a place with a point goes by, but for the first: no mismatch of its city.

    In a city they are those of every ZIP that touches it, elsewhere those of its ZIP, or of the
    nearest.
    """
    zips = [location.zip or location.nearest_zip or ""]
    if location.place:
        zips = zips_of_places(book, state).get(location.place, [])
    rows = book.zips.state(state)
    names = {name: None for zip5 in zips if (row := rows.get(zip5)) for name in _all_names(row)}
    if location.place and (place := book.places(state).get(location.place)):
        names.update(dict.fromkeys(place.names))
    return [name for name in names if name != location.city]


def _all_names(row: PostalRow) -> list[str]:
    return [row.city, *row.other_names]


def zips_of_places(book: Book, state: str) -> dict[str, list[str]]:
    """The ZIPs that touch each place of a state, by its code."""
    memo = ("zips of places", state)
    known = book.memo.get(memo)
    if isinstance(known, dict):
        return known
    found: dict[str, list[str]] = {}
    for zip5 in book.zips.areas(state):
        for code, _ in book.zips.shares(zip5, state):
            found.setdefault(code, []).append(zip5)
    book.memo[memo] = found
    return found


def _is_in(state: str, spot: Spot) -> bool:
    """Whether a point lies in a state: in a city of it, else by the map of counties."""
    if spot.place or spot.elsewhere:
        return bool(spot.place)
    own = next((hit.degrees for hit in spot.hits if hit.state == state), None)
    return own is not None and own <= spot.hits[0].degrees


class Kind(NamedTuple):
    """What the choice among the areas at a point depends on.

    Attributes:
        place: the code of the place that holds it; empty where none does.
        county: the county that it lies in.
        limits: the codes of what lies beyond limits near by, each with the doubt that it raises.
        lines: further counties near by, each with the doubt that it raises.
        new: the codes of new places that may reach it.
    """

    place: str
    county: str
    limits: tuple[tuple[str, str], ...]
    lines: tuple[tuple[str, str], ...]
    new: tuple[str, ...]


class _Choice(NamedTuple):
    """What all points of a kind lead to, in the order of the likeliest."""

    options: tuple[AreaOption, ...]
    limits: tuple[Limit, ...]


def _by_limits(
    book: Book, state: str, point: tuple[float, float], spot: Spot, reach: Reach
) -> Location:
    """Where a point leads in a state whose cities have limits."""
    hits = [hit for hit in spot.hits if hit.state == state]
    kind, new = _kind(book, state, point, spot, hits, reach=reach)
    memo = ("point", state, kind)
    choice = book.memo.get(memo)
    if not isinstance(choice, _Choice):
        choice = book.remember(memo, _choice(book, state, kind))
    if not choice.options:
        raise no_rate(book, state, kind.county)
    meters = (
        *spot.limits,
        *[(f"county {hit.county}", hit.meters) for hit in hits],
        *[(f"new {code}", away) for code, away in new],
    )
    place = book.places(state).get(spot.place) if spot.place else None
    city = place.name if place else _city_of(book, state, spot.nearest)
    notes, doubtful, outside = _at_the_edge(book, state, point, spot, hits)
    return Location(
        "coordinates",
        "limits",
        f"the point {point[0]}, {point[1]}",
        choice.options,
        city=city,
        county=kind.county,
        near_boundary=doubtful,
        off_map=outside,
        advisories=notes,
        point=point,
        nearest_zip=spot.nearest,
        place=spot.place,
        limits=choice.limits,
        meters=meters,
    ).of_kind("point", state, kind, doubtful, outside)


def _kind(
    book: Book,
    state: str,
    point: tuple[float, float],
    spot: Spot,
    hits: Sequence[Hit],
    *,
    reach: Reach,
) -> tuple[Kind, tuple[tuple[str, float], ...]]:
    """The kind of a point, which decides all but what is said of the point itself.

    And the new places that may reach it, with their distances.
    """
    grown, fresh = _changes(book, state)
    new = () if spot.place or not fresh else tuple(_reached(fresh, point))
    steps = reach.inside if spot.place else reach.outside
    limits = [(code, _doubt(meters, steps)) for code, meters in spot.limits]
    if grown and not spot.place:
        doubts = {"near": reach.growing}
        limits = [
            (code, doubts.get(doubt, doubt) if code in grown else doubt) for code, doubt in limits
        ]
    mine = hits
    if spot.place:
        own = _counties_of(book, state, spot.place)
        mine = [hit for hit in hits if hit.county in own]
        county = mine[0].county if mine else own[0] if own else hits[0].county
    else:
        county = hits[0].county
    lines = [
        (hit.county, doubt)
        for hit in hits
        if hit.county != county and (doubt := _doubt(hit.meters, reach.county))
    ]
    names = tuple([code for code, _ in new])
    return Kind(spot.place, county, tuple(limits), tuple(lines), names), new


def _doubt(meters: float, steps: Sequence[tuple[float, str]]) -> str:
    return next((doubt for most, doubt in steps if meters < most), "")


def _choice(book: Book, state: str, kind: Kind) -> _Choice:
    """The area of a kind of points, and those beyond the limits near by, the likeliest first."""
    here = _areas(book, state, kind.place, (kind.county,))
    if not here:
        return _Choice((), ())
    chosen = here[0]
    where = _called(book, state, kind.place, kind.county)
    options = {chosen.id: AreaOption(chosen, f"lies in {where}")}
    doubts: dict[str, tuple[str, list[str]]] = {}
    beyond: list[tuple[Area, str, str | None, str]] = [
        (area, "unplaced", None, where) for area in here[1:]
    ]
    if kind.place and not chosen.place:  # the city's rate is that of its part in another county
        own = own_areas(book, state, _place(book, state, kind.place))
        beyond += [(area, "unplaced", None, where) for area in own]
    beyond += _beyond(book, state, kind)
    beyond.sort(key=lambda found: DOUBTS.index(found[1]))
    for area, doubt, key, name in beyond:
        if area.id == chosen.id:
            continue
        options.setdefault(area.id, AreaOption(area, f"lies near {name}"))
        keys = doubts.setdefault(area.id, (doubt, []))[1]
        if key is not None:
            keys.append(key)
    limits = [Limit(area, doubt, tuple(keys)) for area, (doubt, keys) in doubts.items()]
    limits += [
        Limit("", "new", (f"new {code}",))
        for code in kind.new
        if not own_areas(book, state, _place(book, state, code))
    ]
    return _Choice(tuple(options.values()), tuple(limits))


def _beyond(book: Book, state: str, kind: Kind) -> Iterator[tuple[Area, str, str, str]]:
    """The areas beyond the limits near a point: the doubt each raises, its key, and its name."""
    counties = (kind.county, *(fips for fips, _ in kind.lines))
    for code, doubt in kind.limits:
        for area in _areas(book, state, code, counties):
            yield area, doubt, code, _called(book, state, code, area.counties[0])
    own = _counties_of(book, state, kind.place) if kind.place else counties
    for fips, doubt in kind.lines:
        name = book.counties[state, fips].name
        here = _areas(book, state, kind.place, (fips,)) if fips in own else ()
        yield from ((area, doubt, f"county {fips}", name) for area in here)
    for code in kind.new:
        areas = own_areas(book, state, _place(book, state, code))
        yield from ((area, "new", f"new {code}", area.name) for area in areas)


def _areas(book: Book, state: str, code: str, counties: Sequence[str]) -> list[Area]:
    """The areas of a place in counties, or what is left of them."""
    if code:
        place = _place(book, state, code)
        within = [fips for fips in counties if fips in place.counties.split()]
        found = areas_of_place(book, state, place, within)
        if found:
            return found
    return [area for fips in counties for area in bases_of(book, state, fips)]


def _place(book: Book, state: str, code: str) -> PlaceRow:
    """The Census place of a code; one that the book does not have has no name."""
    return book.places(state).get(code) or PlaceRow(state, code, "", "", "", "")


def _counties_of(book: Book, state: str, code: str) -> list[str]:
    """The counties of a place, the main one first."""
    memo = ("counties of a place", state, code)
    known = book.memo.get(memo)
    if isinstance(known, list):
        return known
    place = _place(book, state, code)
    parts = (fips for area in own_areas(book, state, place) for fips in area.counties)
    found = list(dict.fromkeys((*place.counties.split(), *parts)))
    book.memo[memo] = found
    return found


def _called(book: Book, state: str, code: str, fips: str) -> str:
    name = _place(book, state, code).name if code else ""
    return name or book.counties[state, fips].name


def _changes(
    book: Book, state: str
) -> tuple[frozenset[str], tuple[tuple[str, float, float, float], ...]]:
    """The places of a state that grew, and those that are new: code, middle and radius."""
    memo = ("changed places", state)
    known = book.memo.get(memo)
    if isinstance(known, tuple):
        return known
    rows = book.changed_places(state)
    grown = frozenset(row.fips for row in rows if row.change == "grown")
    new = tuple(
        (row.fips, float(row.lat), float(row.lng), float(row.meters))
        for row in rows
        if row.change == "new"
    )
    book.memo[memo] = grown, new
    return grown, new


def _reached(
    new: Sequence[tuple[str, float, float, float]], point: tuple[float, float]
) -> Iterator[tuple[str, float]]:
    """The new places that may reach a point, and how far its circle is from it, in meters."""
    for code, lat, lng, radius in new:
        away = _apart(point, (lat, lng))
        if away <= _NEW_RADII * radius:
            yield code, max(away - radius, 0.0)


def _apart(one: tuple[float, float], other: tuple[float, float]) -> float:
    """The meters between two points that are not far apart."""
    narrow = math.cos(math.radians((one[0] + other[0]) / 2))
    return METERS * math.hypot(one[0] - other[0], (one[1] - other[1]) * narrow)


def _at_the_edge(
    book: Book, state: str, point: tuple[float, float], spot: Spot, hits: Sequence[Hit]
) -> tuple[tuple[AdvisoryFields, ...], bool, bool]:
    """The warnings of a point near what is not the state, whether it is, and whether outside."""
    if spot.place and not any(not code and m < _SURE_STATE for code, m in spot.limits):
        return (), False, False
    others = sorted({hit.state for hit in spot.hits} - {state})
    outside = not spot.place and hits[0].degrees > 0
    edge = not spot.place and not outside and spot.at_edge
    if not (others or outside or edge):
        return (), False, False
    what = f"the point {point[0]}, {point[1]}"
    notes = []
    if outside:
        notes.append(off_map(what, book.counties[state, hits[0].county].name))
    if others:
        notes.append(near_state_line(what, others))
    if edge:
        notes.append(near_map_edge(what))
    return tuple(notes), bool(others) or edge, outside


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
                found.setdefault(option.area.id, option._replace(land=0))
    for fips in counties:
        for area in bases_of(book, state, fips):
            found.setdefault(
                area.id, AreaOption(area, f"lies in {book.counties[state, fips].name}")
            )
    return tuple(found.values()) if bases_of(book, state, counties[0]) else ()


def _elsewhere(book: Book, state: str, lat: float, lng: float, spot: Spot) -> NotResolved:
    """The refusal of a point outside the state, with where it lies or how it may be meant."""
    detail: dict[str, object] = {"lat": lat, "lng": lng, "state": state}
    hits = [hit for hit in spot.hits if spot.elsewhere in {"", hit.state}]
    if not hits or (hits[0].degrees > 0 and not spot.elsewhere):
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


def places_near(book: Book, state: str, county: str, lat: float, lng: float) -> list[PostalRow]:
    """The ZIP places a point may belong to, the nearest first; empty where none is known.

    They are those of its county, or of the state when that has none: the nearest, and each that
    is not twice as far, or within about five kilometers.
    """
    return _near(book, state, county, *np.array([[lat], [lng]]), all_of_them=True)[0]


def nearest_place(book: Book, state: str, county: str, lat: float, lng: float) -> PostalRow | None:
    """The first of `places_near`."""
    found = _near(book, state, county, *np.array([[lat], [lng]]), all_of_them=False)[0]
    return found[0] if found else None


def _near(
    book: Book, state: str, county: str, lats: Numbers, lngs: Numbers, *, all_of_them: bool
) -> list[list[PostalRow]]:
    """The ZIP places near each of some points in a county, or the nearest alone."""
    middles, places = _in_arrays(book, state, county)
    if not places:
        return [[] for _ in lats]
    apart = middles[None] - np.stack([lats, lngs], axis=1)[:, None]
    apart[:, :, 1] *= np.cos(np.radians(lats))[:, None]
    away = np.einsum("ijk,ijk->ij", apart, apart)
    if not all_of_them:
        return [[places[n]] for n in away.argmin(axis=1).tolist()]
    reach = np.maximum(_TOWN_DEGREES**2, 4 * away.min(axis=1))
    order = np.argsort(away, axis=1, kind="stable")
    counts = np.sum(away <= reach[:, None], axis=1).tolist()
    return [
        [places[n] for n in row[:count].tolist()] for row, count in zip(order, counts, strict=True)
    ]


def _in_arrays(book: Book, state: str, county: str) -> tuple[Numbers, list[PostalRow]]:
    """The ZIP places of a county, or of a state when that has none, and their middles."""
    memo = ("places in arrays", state, county)
    known = book.memo.get(memo)
    if isinstance(known, tuple):
        return known
    by_county = _places(book, state)
    entries = by_county.get(county) or by_county.get("") or []
    entries = sorted(entries, key=lambda entry: entry[2].zip)  # of two as near, the first
    middles = np.array([entry[:2] for entry in entries]).reshape(-1, 2)
    found = middles, [place for *_, place in entries]
    book.memo[memo] = found
    return found


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
