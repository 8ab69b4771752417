"""From an address to the areas it may lie in: by its ZIP, else by its city."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from svc_tools.service.ratebook.address_line import parse_line, without_county
from svc_tools.service.ratebook.advisories import address_not_matched
from svc_tools.service.ratebook.by_place import locate_place
from svc_tools.service.ratebook.by_zip import locate_zip
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.place_names import is_place
from svc_tools.service.ratebook.query import NotResolved
from svc_tools.service.ratebook.state_ending import abroad, split_state, without_country
from svc_tools.service.ratebook.zip_city import locate_zip_and_city

if TYPE_CHECKING:
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.location import Location

__all__ = ["locate_address"]

_WASHINGTON = {"", "dc", "wash", "wash dc", "washdc"}


def locate_address(
    book: Book, state: str, *, line: str | None, city: str | None, zip_code: str | None
) -> Location:
    """Where an address leads: the book has no streets, so its ZIP decides, else its city.

    Args:
        book: the book.
        state: two-letter code.
        line: the address in one line; its own city and ZIP are read from it.
        city: the city of an address in parts.
        zip_code: the ZIP of an address in parts.

    Raises:
        NotResolved: it names another state or country, or neither a known ZIP nor a known city
            of the state.
    """
    known = partial(is_place, book)
    if line is not None:
        parts = parse_line(line, state, known)
        city, zip_code, named, outside = parts.city, parts.zip, parts.state, parts.abroad
    else:
        city = without_county(without_country(city or ""), state, known)
        outside = abroad(city, state, known)
        whole = city
        city, named = split_state(whole, state, known)
        if not city and named != state:
            city, named = whole, ""  # "LA" alone is a city's short name as likely as a state
    if state == "DC" and name_key(city) in _WASHINGTON:
        city = "Washington"
    if outside or named not in {"", state}:
        raise _elsewhere(state, line or city, outside or named)
    if zip_code:
        found = (
            locate_zip_and_city(book, state, zip_code, city)
            if city
            else locate_zip(book, state, zip_code)
        )
    elif city:
        found = locate_place(book, state, city, codes=False)
    else:
        raise NotResolved(
            "NOT_FOUND",
            "no ZIP and no city could be read from the address:"
            " write it as 'street, city, state ZIP'",
            {"address": line, "state": state},
        )
    if found.via == "state":
        return found  # nothing finer than the state was needed
    return replace(found, advisories=(*found.advisories, address_not_matched(_used(found, city))))


def _elsewhere(state: str, address: str, there: str) -> NotResolved:
    return NotResolved(
        "NOT_FOUND",
        f"the address names {there}, but the lookup is for {state}: give one state in both",
        {"address": address, "state": state, "states": [there]},
    )


def _used(found: Location, city: str | None) -> str:
    if found.via == "zip5":
        return f"ZIP {found.zip}"
    return (city or found.what).strip()
