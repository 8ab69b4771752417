"""The street addresses that may be sent to a geocoder, and what it found for them. Pure."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from svc_tools.base.positions import Position
from svc_tools.tables.states import state_code

if TYPE_CHECKING:
    from svc_tools.tables.places import Place

CITY_STATES = frozenset(
    {
        *("AK", "AL", "AR", "AZ", "CA", "CO", "GA", "IA", "ID", "IL", "KS", "LA", "MN", "MO"),
        *("ND", "NE", "NM", "NY", "OK", "SC", "SD", "TN", "TX", "UT", "WA", "WV", "WY"),
    }
)
"""The states in which city limits decide the rate: addresses of others are not sent.

Vermont is none of them: its towns tax, and no map of the rate book has their limits."""

MatchKind: TypeAlias = Literal["exact", "similar", "tie", "none"]
"""How an address matched: exactly, one much like it, several equally well, or none."""
MATCHES: tuple[MatchKind, ...] = ("exact", "similar", "tie", "none")


class StreetAddress(NamedTuple):
    """A street address, normalized: all that a geocoder gets. Empty where a part is missing."""

    street: str
    city: str
    state: str
    zip: str

    def __str__(self) -> str:
        """On one line, as mail has it."""
        behind = " ".join(part for part in (self.state, self.zip) if part)
        return ", ".join(part for part in (self.street, self.city, behind) if part)


class AddressMatch(NamedTuple):
    """What a geocoder found for an address.

    Attributes:
        match: how the address matched.
        lat: latitude in degrees; `None` without a match.
        lng: longitude in degrees, likewise.
        zip: the ZIP of the matched address, where the geocoder names it.
        city: its city, likewise.
        state: the code of its state, likewise.
    """

    match: MatchKind
    lat: float | None = None
    lng: float | None = None
    zip: str = ""
    city: str = ""
    state: str = ""

    @property
    def position(self) -> Position | None:
        """The position; `None` for a tie and where nothing matched."""
        if self.lat is None or self.lng is None or self.match not in {"exact", "similar"}:
            return None
        return Position(self.lat, self.lng, self.match, self.zip, self.city, self.state)


_NUMBERED = re.compile(r"(?:[NSEW] ?)?\d+[A-Z]?(?:[-/ ]\d+[A-Z]?)* (?=.*[A-Z]{2}|.*\d)")
"""A house number and something behind it: nothing else can be found along a street."""
_BOX = re.compile(r"\b(?:P\.? ?O\.? ?BOX|BOX \d|PMB|GENERAL DELIVERY|RURAL ROUTE|R\.?R\.? \d)")
_NOT_STREET = re.compile(r"[ (]+(?:ATTN|ATTENTION|C/O|CARE OF)\b.*|[ ]*\(.*")
"""What is about the recipient: it is not sent."""
_UNIT = re.compile(
    r"(?:^|[ ,]+)(?:#|(?:APT|APARTMENT|UNIT|STE|SUITE|RM|ROOM|FL|FLOOR|BLDG|BUILDING|LOT|TRLR|SPC"
    r"|SPACE)\b\.?)[ #]*[A-Z]{0,2}-?\d*[A-Z]?$"
)
_ZIP = re.compile(r"[ ,]*\b(\d{5})(?:-\d{4})?$")
_COUNTRY = re.compile(r"[ ,]+(?:USA|U\.S\.A\.?|US|UNITED STATES(?: OF AMERICA)?)$")


@functools.lru_cache(maxsize=65536)
def street_address(place: Place) -> StreetAddress | None:
    """The street address of a place; `None` for a place that is not to be sent.

    Sent are addresses with a house number, of states in which city limits decide. Suites and
    apartments are left out, which share the position of their house, and so are recipients.
    """
    if place.mode != "address" or place.state not in CITY_STATES or place.position is not None:
        return None
    pieces, with_street = _pieces(_plain(place.address or ""), place.state)
    named, with_city = _pieces(_plain(place.city or ""), place.state)
    at = next((at for at, piece in enumerate(pieces) if _NUMBERED.match(piece)), None)
    if at is None:
        return None
    street = _bare(pieces[at])
    behind = [piece for piece in pieces[at + 1 :] if not _UNIT.match(piece)]
    city = next(iter(named or behind[-1:]), "")
    zip5 = (place.zip or "")[:5] or with_city or with_street
    if _BOX.search(street) or not _NUMBERED.match(street) or not (city or zip5):
        return None
    return StreetAddress(street, city, place.state, zip5)


def _plain(text: str) -> str:
    """The text in capitals, with single blanks and without what could end a line."""
    return " ".join(text.upper().split()).strip(" ,;")


def _pieces(text: str, state: str) -> tuple[list[str], str]:
    """What stands between commas, without state, ZIP and country at the end; and that ZIP."""
    text, zip5 = _COUNTRY.sub("", text), ""
    if "," in text and (found := _ZIP.search(text)):
        text, zip5 = text[: found.start()], found[1]
    pieces = [piece.strip() for piece in re.split("[,;]", text) if piece.strip()]
    if len(pieces) > 1 and state_code(pieces[-1]) == state:
        pieces.pop()
    elif pieces and pieces[-1].endswith(f" {state}"):
        pieces[-1] = pieces[-1].removesuffix(state).strip()
    return pieces, zip5


def _bare(street: str) -> str:
    """A street without what is about the recipient, and without suite and apartment."""
    bare = _UNIT.sub("", _NOT_STREET.sub("", street)).strip(" ;")
    return bare if bare == street else _bare(bare)
