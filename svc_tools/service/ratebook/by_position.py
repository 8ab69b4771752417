"""A ZIP or an address whose position is known, too: the point decides where the two agree."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.by_point import locate_point
from svc_tools.service.ratebook.query import NotResolved

if TYPE_CHECKING:
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.query import Location, Query


def with_position(book: Book, query: Query, found: Location) -> Location:
    """Where a ZIP or an address leads whose position is known: to the areas of the point."""
    position = query.position
    if position is None or found.by_record:
        return found
    try:
        point = locate_point(book, query.state, position.lat, position.lng)
    except NotResolved:
        return found
    return replace(point, zip=found.zip, city=found.city)
