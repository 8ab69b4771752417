"""The key of a question in the cache: equal questions, equal keys; different ones never. Pure."""

from __future__ import annotations

from datetime import date, datetime
from json.encoder import encode_basestring_ascii
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svc_tools.places import Place

__all__ = ["place_key"]


def place_key(place: Place) -> str:
    """The text by which the answer for a place is kept: ASCII, without control characters.

    Free text stands in it quoted as in JSON, so that no content of one field reads as another;
    coordinates stand with all their digits. A question without a date has none in its key: its
    answer holds for the day on which it was asked, and the cache forgets it at that day's end.
    """
    day = "-" if place.as_of is None else _day(place.as_of)
    code = place.zip
    if (
        place.mode == "zip"
        and code is not None
        and code.isascii()
        and code.replace("-", "").isalnum()
        and place.state.isascii()
        and place.state.isalnum()
        and place.address is None
        and place.city is None
        and place.location is None
        and place.lat is None
        and place.lng is None
    ):
        return (
            f"zip {place.state} {code} {day}"  # most questions are of this form: three times faster
        )
    fields = (place.state, place.address, place.city, code, place.location)
    told = " ".join(["-" if value is None else encode_basestring_ascii(value) for value in fields])
    return f"{place.mode} {told} {_degrees(place.lat)} {_degrees(place.lng)} {day}"


def _degrees(value: float | None) -> str:
    # equal numbers are written alike: 30 as 30.0, and -0.0 as 0.0
    return "-" if value is None else repr(float(value) + 0.0)


def _day(as_of: date) -> str:
    # the service is asked for the calendar date of a moment
    return (as_of.date() if isinstance(as_of, datetime) else as_of).isoformat()
