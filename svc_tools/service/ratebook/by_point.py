"""From coordinates to the areas they may lie in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.by_zip import options_for
from svc_tools.service.ratebook.fips import OUTSIDE
from svc_tools.service.ratebook.geo import NEAR_DEGREES, Hit, counties_at, nearest_place
from svc_tools.service.ratebook.location import Location
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.query import NotResolved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.service.ratebook.book import Book

__all__ = ["locate_point"]


def locate_point(book: Book, state: str, lat: float, lng: float) -> Location:
    """Where a point leads: its county, and the ZIP place nearest to it within that county.

    Raises:
        NotResolved: the point lies in another state, or in none.
    """
    hits = counties_at(lat, lng)
    inside = [hit for hit in hits if hit.state == state]
    if not inside or (hits[0].state != state and inside[0].degrees > NEAR_DEGREES):
        raise _elsewhere(book, state, lat, lng, hits)
    county = inside[0].county
    place = nearest_place(book, state, county, lat, lng)
    what = f"the point {lat}, {lng}"
    found = Location(
        "state",
        "state",
        what,
        city=place.city if place else None,
        county=county,
        point=(lat, lng),
        nearest_zip=place.zip if place else None,
    )
    row = book.states[state]
    if row.local not in {"county", "city"}:
        return found
    near = [hit.county for hit in inside]
    names = (name_key(place.city), *(name_key(name) for name in place.accepted)) if place else ()
    options = options_for(book, state, near, names)
    chosen = options[0].area
    by_county = row.local == "county" or (chosen is not None and chosen.kind == "county")
    return replace(
        found,
        via="coordinates",
        decided="county" if by_county else "zip_city",
        options=options,
        near_boundary=len(hits) > 1 or inside[0].degrees > 0,
    )


def _elsewhere(book: Book, state: str, lat: float, lng: float, hits: Sequence[Hit]) -> NotResolved:
    detail: dict[str, object] = {"lat": lat, "lng": lng, "state": state}
    if not hits:
        return NotResolved(
            "NOT_FOUND", f"the point {lat}, {lng} lies in no county of the United States", detail
        )
    there = hits[0].state
    detail["states"] = [there]
    if there in OUTSIDE:
        message = f"the point {lat}, {lng} is not in {state}: {OUTSIDE[there]}"
    else:
        county = book.counties[there, hits[0].county].name
        message = f"the point {lat}, {lng} is not in {state}: it lies in {county}, {there}"
    return NotResolved("NOT_FOUND", message, detail)
