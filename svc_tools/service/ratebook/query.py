"""What a lookup asks: one question in exactly one mode (SPEC 4.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import date

__all__ = ["NotResolved", "Query"]


class Query(NamedTuple):
    """One lookup, already split into exactly one mode by the HTTP layer.

    Attributes:
        state: two-letter code, upper case.
        address: one line: street, city, state ZIP.
        street: the street of an address in parts (with `city`, optional `zip`).
        city: the city of an address in parts.
        zip: `78701` or `78701-1234`; ZIP mode when there is no address.
        location: a place name: a city (its ZIP may follow), a county, a Washington location code.
        lat: latitude in degrees, with `lng`.
        lng: longitude in degrees.
        as_of: the day the rate is wanted for; `None` is today.
        period: the quarter code as the caller gave it, for `meta.period` only.
    """

    state: str
    address: str | None = None
    street: str | None = None
    city: str | None = None
    zip: str | None = None
    location: str | None = None
    lat: float | None = None
    lng: float | None = None
    as_of: date | None = None
    period: str | None = None


class NotResolved(Exception):  # noqa: N818 - an outcome of a lookup (HTTP 404), not a fault
    """Nothing honest can be answered for a place: HTTP 404.

    Attributes:
        code: `STATE_NOT_SUPPORTED` or `NOT_FOUND`.
        message: a sentence: what was asked, what is the matter, what to do.
        detail: fields for a program (candidates, the right states), or `None`.
    """

    def __init__(self, code: str, message: str, detail: dict[str, object] | None = None) -> None:
        """Keep the parts; the exception's text is the message."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail
