"""From an address to the areas it may lie in: by its ZIP, else by its city."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from svc_tools.service.ratebook.advisories import address_not_matched
from svc_tools.service.ratebook.by_place import locate_place
from svc_tools.service.ratebook.by_zip import locate_zip
from svc_tools.service.ratebook.fips import STATE_CODES
from svc_tools.service.ratebook.names import name_key
from svc_tools.service.ratebook.query import NotResolved

if TYPE_CHECKING:
    from svc_tools.service.ratebook.book import Book
    from svc_tools.service.ratebook.location import Location

__all__ = ["Parts", "locate_address", "parse_line"]

_END_ZIP = re.compile(
    r"(?<![\d#])(\d{5})(?:[-\s]?\d{4})?[\s,.]*(?:u\.?s\.?a?\.?|united states)?[\s,.]*$",
    re.IGNORECASE | re.ASCII,
)
_CODES = {name_key(name): code for name, code in STATE_CODES.items()} | {
    code.lower(): code for code in STATE_CODES.values()
}


class Parts(NamedTuple):
    """What an address line says of its place; empty where it says nothing."""

    city: str
    state: str
    zip: str


def parse_line(line: str) -> Parts:
    """City, state and ZIP of an address written in one line."""
    import usaddress  # noqa: PLC0415 - loads its model: only where an address is asked for

    text = line.strip()
    found = _END_ZIP.search(text)
    zip5 = found.group(1) if found and found.start() > 0 else ""
    words: dict[str, list[str]] = {"PlaceName": [], "StateName": [], "ZipCode": []}
    for token, label in usaddress.parse(text):
        if label in words:
            words[label].append(token.strip(" ,;.").strip())
    city = " ".join(word for word in words["PlaceName"] if word)
    state = _state(words["StateName"])
    head = text[: found.start()] if found else text
    pieces = [piece.strip() for piece in head.split(",") if piece.strip()]
    if pieces and (code := _CODES.get(name_key(pieces[-1]))):  # "..., Seattle, WA"
        state = code
        pieces.pop()
    elif pieces and (split := pieces[-1].rpartition(" "))[1]:  # "..., Seattle WA"
        code = _CODES.get(split[2].lower().strip("."))
        if code and len(split[2].strip(".")) == len(code):
            state, pieces[-1] = code, split[0]
    if len(pieces) > 1 and not re.search(r"\d", pieces[-1]):
        city = pieces[-1]
    return Parts(city, state, zip5)


def _state(words: list[str]) -> str:
    """The last state the parser saw, as a code."""
    whole = _CODES.get(name_key(" ".join(words)))
    return whole or (_CODES.get(name_key(words[-1]), "") if words else "")


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
        NotResolved: it names neither a known ZIP nor a known city of the state.
    """
    if line is not None:
        parts = parse_line(line)
        if parts.state and parts.state != state and not parts.zip:
            raise NotResolved(
                "NOT_FOUND",
                f"the address names {parts.state}, but the lookup is for {state}:"
                " give one state in both",
                {"address": line, "state": state, "states": [parts.state]},
            )
        city, zip_code = parts.city or None, parts.zip or None
    if zip_code:
        found = locate_zip(book, state, zip_code, city)
    elif city:
        found = locate_place(book, state, city)
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


def _used(found: Location, city: str | None) -> str:
    if found.via == "zip5":
        return f"ZIP {found.zip}"
    return (city or found.what).strip()
