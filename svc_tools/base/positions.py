"""The position of an address: coordinates that stand beside its text, and where they come from.

Queries carry it, and the rate book reads it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

PositionMatch: TypeAlias = Literal["given", "exact", "similar"]
"""Where a position comes from: the row's own columns, or a geocoder's exact or similar match."""


class Position(NamedTuple):
    """The position of an address or ZIP.

    Attributes:
        lat: latitude in degrees.
        lng: longitude in degrees.
        match: where it comes from.
        zip: the ZIP of a geocoder's match, five digits; empty where it names none.
        city: the city of its match, likewise.
        state: the two-letter code of its state, likewise.
    """

    lat: float
    lng: float
    match: PositionMatch
    zip: str = ""
    city: str = ""
    state: str = ""
