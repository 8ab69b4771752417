"""The request that asks for a place. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_sdk import _requests

if TYPE_CHECKING:
    from svc_sdk._requests import Call
    from svc_tools.places import Place

__all__ = ["request_of"]


def request_of(place: Place, *, detail: bool) -> Call:
    """The lookup of a place (SPEC 4.4); `detail` asks for the full answer (SPEC 2.5).

    Raises:
        ValueError: the client library would refuse it, too; so for `TypeError`.
    """
    return _requests.lookup(
        place.state,
        address=place.address,
        city=place.city,
        zip=place.zip,
        location=place.location,
        lat=place.lat,
        lng=place.lng,
        as_of=place.as_of,
        period=None,
        mode="full" if detail else "simple",
    )
