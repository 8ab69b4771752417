"""A lookup's query, in exactly one mode (SPEC 4.4), and the `Location` it leads to.

The `by_*` modules turn one into the other, before any rate is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from datetime import date

    from svc_tools.base.positions import Position as Position  # noqa: PLC0414 - its modules read it here
    from svc_tools.service.ratebook.rating import AdvisoryFields
    from svc_tools.service.ratebook.schema import Area


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
        position: where the ZIP or address is on the map, where that is known too.
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
    position: Position | None = None


class NotResolved(Exception):  # noqa: N818 - an outcome of a lookup (HTTP 404), not a fault
    """No rate can honestly be given for a place: HTTP 404.

    Attributes:
        code: `STATE_NOT_SUPPORTED` or `NOT_FOUND`.
        message: a sentence: the query, what is wrong with it, what to do.
        detail: fields for a program (candidates, the right states), or `None`.
        changes: as `Location.changes`: where no record of the day decides, another day's may.
    """

    def __init__(self, code: str, message: str, detail: dict[str, object] | None = None) -> None:
        """Store the parts; the exception's text is the message."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.detail = detail
        self.changes: frozenset[int] = frozenset()


class AreaOption(NamedTuple):
    """One area that a lookup may lie in.

    Attributes:
        area: the area; `None` for what has the state part alone.
        why: why it is one.
        land: its thousandths of the ZIP's land; 0: unknown.
        housing: its housing units in the ZIP.
    """

    area: Area | None
    why: str
    land: int = 0
    housing: int = 0


class Limit(NamedTuple):
    """A limit near a point: what lies beyond it, and what it says of the choice.

    Attributes:
        area: the id of the area beyond; empty for a new place of which the book has no rate.
        doubt: what follows where the rate there is another, as `rating.Grounds.limit`.
        beyond: the keys of `Location.meters` that lead there.
    """

    area: str
    doubt: str
    beyond: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Location:
    """What a ZIP, an address, a name or a point leads to.

    Attributes:
        via: the finest thing that decides: `address`, `zip4`, `zip5`, `place`, `coordinates`,
            `state` (WIRE `resolved_via`).
        decided: what decides, as `rating.Grounds.decided`.
        what: the place in words, for messages.
        options: the areas it may be, the one whose rate is given first; empty where the state
            alone is known.
        zip: five digits, where a ZIP was given.
        city: the city's name, where one is known.
        county: three-digit FIPS code, where one is known.
        housing: the housing units of the ZIP, or of the name's ZIPs; 0: none are known.
        by_housing: the rate of most of them is given, whichever area is first.
        no_crosswalk: the ZIP has no land: it lies where its post office is.
        across: the ZIP is one of another state and reaches into this one.
        outside: the ZIP is named after a town that it does not touch.
        near_boundary: the point is near a boundary that matters.
        off_map: the point lies in no county of the map, but next to one of the state.
        mismatch: the city given is not one of the ZIP's.
        named_area: id of the area that the city given would lead to, where it is a mismatch.
        zip_not_used: the ZIP given leads nowhere, and the city decides in its place.
        ambiguous: the name leads to several places, one of them likelier than the rest.
        further: the name is a further one of ZIPs: a part of their city, or a neighbor of it.
        tied: ids of areas of one name between which nothing decides; empty where one is likelier.
        advisories: warnings that came up on the way.
        point: latitude and longitude as given.
        nearest_zip: the ZIP place nearest to the point.
        place: the code of the Census place that holds the point; empty where none does.
        limits: the limits near the point, where those of cities decide.
        meters: how far it is from the point to what lies beyond each, by key.
        similar: the point is that of an address that is only similar to the one given.
        instead: where the ZIP or the address leads, which decides where the point is too near a
            limit beyond which the rate is another.
        records: the user's own boundary file whose records decide; empty where none do.
        unknown_code: one of them names a code that no rate is known for.
        history_from: the first day of the records, where the day lies before it.
        edition_end: the last day that the records are good for.
        changes: where records decide by the day, the days on which they may lead elsewhere: from
            the last of them before the day of the lookup to the next one they do not. Days as by
            `date.toordinal`.
        kind: of places of one kind, everything else that rates and doubts depend on is the same;
            empty: alone of its kind. A copy that `replace` makes is of no kind.
    """

    via: str
    decided: str
    what: str
    options: tuple[AreaOption, ...] = ()
    zip: str | None = None
    city: str | None = None
    county: str | None = None
    housing: int = 0
    by_housing: bool = False
    no_crosswalk: bool = False
    across: bool = False
    outside: bool = False
    near_boundary: bool = False
    off_map: bool = False
    mismatch: bool = False
    named_area: str | None = None
    zip_not_used: bool = False
    ambiguous: bool = False
    further: bool = False
    tied: tuple[str, ...] = ()
    advisories: tuple[AdvisoryFields, ...] = ()
    point: tuple[float, float] | None = None
    nearest_zip: str | None = None
    place: str = ""
    limits: tuple[Limit, ...] = ()
    meters: tuple[tuple[str, float], ...] = ()
    similar: bool = False
    instead: Location | None = None
    records: str = ""
    unknown_code: bool = False
    history_from: date | None = None
    edition_end: date | None = None
    changes: frozenset[int] = frozenset()
    kind: tuple[object, ...] = field(default=(), init=False, compare=False)

    def of_kind(self, *kind: object) -> Location:
        """This place, just made, with its kind."""
        object.__setattr__(self, "kind", kind)
        return self

    @property
    def areas(self) -> list[Area]:
        """The areas of the options."""
        return [option.area for option in self.options if option.area]

    @property
    def by_record(self) -> bool:
        """Whether boundary records of the user's own book decide."""
        return bool(self.records)
