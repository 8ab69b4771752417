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


def not_used(why: str, decided: str) -> str:
    """That a given position was not used, and what decided instead, as clients and service say it.

    Args:
        why: why it was not, without a full stop.
        decided: what decided, such as "ZIP 78701".
    """
    return f"The coordinates were not used: {why}. The rate is that of {decided}."
