"""From an address to the areas it may lie in: by its ZIP, else by its city."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.address_line import (
    Parts,
    county_of,
    military,
    parse_line,
    without_county,
)
from svc_tools.service.ratebook.advisories import address_not_matched, zip_not_used
from svc_tools.service.ratebook.by_place import locate_place
from svc_tools.service.ratebook.by_zip import locate_zip
from svc_tools.service.ratebook.namesakes import in_county
from svc_tools.service.ratebook.place_names import is_place
from svc_tools.service.ratebook.query import NotResolved
from svc_tools.service.ratebook.state_ending import abroad, split_state, without_country
from svc_tools.service.ratebook.zip_city import goes_by, locate_zip_and_city

if TYPE_CHECKING:
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.location import Location
    from svc_tools.service.ratebook.query import Query

__all__ = ["locate_address", "locate_written", "parts_of"]

_ZIP = re.compile(r"\W*(\d{5})(?:-(\d{4}))?\W*", re.ASCII)
_HOLDS_ZIP = re.compile(r"(?<!\d)\d{5}(?!\d)", re.ASCII)


def parts_of(book: Book, query: Query) -> Parts | None:
    """The street, city and ZIP that a lookup gives, in any mode; `None` where it gives none.

    Raises:
        NotResolved: an address that names another state or country, or no one place.
    """
    if query.address is not None:
        return _read(book, query.state, query.address)
    if query.street is not None:
        return _together(book, query.state, query)
    if query.zip is not None:
        zip5, _, plus4 = query.zip.partition("-")
        return Parts(zip=zip5, plus4=plus4)
    if query.location is not None and _HOLDS_ZIP.search(query.location):
        parts = _city_with_zip(book, query.state, query.location)
        return parts if parts.zip else None
    return None


def _read(book: Book, state: str, line: str) -> Parts:
    """The parts of an address in one line."""
    parts = parse_line(line, state, partial(is_place, book))
    _check(parts, state, line)
    if parts.zip or parts.city or state == "DC":  # the District is one city
        return parts
    raise NotResolved(
        "NOT_FOUND",
        "no ZIP and no city could be read from the address: write it as 'street, city, state ZIP'",
        {"address": line, "state": state},
    )


def _together(book: Book, state: str, query: Query) -> Parts:
    """The parts of an address given in parts, without the county and state behind its city."""
    street, written = (query.street or "").strip(), (query.city or "").strip()
    zip5, _, plus4 = (query.zip or "").partition("-")
    if _HOLDS_ZIP.search(written):
        parts = _city_with_zip(book, state, written)
        if parts.zip and zip5 in {"", parts.zip}:
            plus4 = plus4 or parts.plus4
            return parts._replace(plus4=plus4, street=street)
    known = partial(is_place, book)
    city = without_country(written)
    county, city = county_of(city, state, known), without_county(city, state, known)
    outside, unclear = abroad(city, state, known), military(city)
    whole = city
    city, named = split_state(whole, state, known)
    if not city and named != state:
        city, named = whole, ""  # a code alone is a city's short name as likely as a state
    parts = Parts(city, named, zip5, plus4, street, outside, unclear, county=county)
    _check(parts, state, written)
    return parts


def _city_with_zip(book: Book, state: str, text: str) -> Parts:
    """A city or place name with its ZIP: "Charlotte 28202", or a ZIP alone."""
    if found := _ZIP.fullmatch(text):
        return Parts(zip=found[1], plus4=found[2] or "")
    parts = parse_line(text, state, partial(is_place, book))
    _check(parts, state, text)
    return parts._replace(street="")


def _check(parts: Parts, state: str, written: str) -> None:
    """Refuse an address of another state or country, and one that names no one place."""
    if parts.unclear:
        raise NotResolved(
            "NOT_FOUND",
            f"the address {written!r} leads nowhere: {parts.unclear};"
            " give the one place that the goods go to",
            {"address": written, "state": state},
        )
    there = parts.abroad or parts.state
    if parts.abroad or parts.state not in {"", state}:
        raise NotResolved(
            "NOT_FOUND",
            f"the address names {there}, but the lookup is for {state}: give one state in both",
            {"address": written, "state": state, "states": [there]},
        )


def locate_address(book: Book, state: str, parts: Parts) -> Location:
    """Where an address leads: the book has no streets, so its ZIP decides, else its city.

    Args:
        book: the book.
        state: two-letter code.
        parts: the address as `parts_of` read it.

    Raises:
        NotResolved: neither a known ZIP nor a known city of the state.
    """
    found = in_county(book, state, locate_written(book, state, parts), parts.county)
    if found.via == "state":
        return found  # nothing finer than the state was needed
    return replace(found, advisories=(*found.advisories, address_not_matched(_used(found, parts))))


def locate_written(book: Book, state: str, parts: Parts) -> Location:
    """Where a ZIP, a city, or both lead; a ZIP that leads nowhere leaves it to its city.

    Raises:
        NotResolved: as `locate_address`.
    """
    city = parts.city or ("Washington" if state == "DC" else "")
    if not parts.zip:
        found = locate_place(book, state, city, codes=False)
        if not parts.damaged:
            return found
        note = zip_not_used(parts.damaged, city, "it has not the five digits of a ZIP")
        return replace(found, zip_not_used=True, advisories=(note, *found.advisories))
    try:
        if not parts.city:
            return locate_zip(book, state, parts.zip)
        return locate_zip_and_city(book, state, parts.zip, city)
    except NotResolved as reason:
        elsewhere = "states" in (reason.detail or {})
        if not parts.city or elsewhere or not goes_by(book, state, parts.zip, city):
            raise
        found = locate_place(book, state, city, codes=False)
        note = zip_not_used(parts.zip, city, reason.message)
        return replace(found, zip_not_used=True, advisories=(note, *found.advisories))


def _used(found: Location, parts: Parts) -> str:
    if found.via == "zip5":
        return f"ZIP {found.zip}"
    return (parts.city or found.what).strip()
