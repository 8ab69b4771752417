"""What a lookup will take, before any request: counts, requests, price. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal, InvalidOperation
from typing import TYPE_CHECKING

from svc_tools.lookup.troubles import counted_alike
from svc_tools.show.display import (
    Note,
    Table,
    as_html,
    as_text,
    capital,
    counted,
    number,
    places_and_dates,
    printable,
    prose,
    the_service,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

MANY_LOOKUPS = 1_000
"""Lookups of an account above which a user who is there confirms a run first."""
_REASONS_SHOWN = 8
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Refused:
    """Rows that are never requested: `invalid` or `unsupported`, the reason, and how many."""

    status: str
    reason: str
    rows: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What a lookup will take. Made without any request.

    Attributes:
        rows: the rows of the frame.
        places: the distinct queries among them: place and day.
        cached: how many of those are in the cache; `None` where that is not known.
        to_ask: how many requests there will be at most, without retries.
        refused: the rows that are never requested, by reason; the most frequent first.
        grain: the grain of the dates that was chosen.
        grains: the requests that each grain of dates would take: "day", "month", "quarter".
        service: the service that would receive them.
        price: dollars a lookup, where it was given.
        quota_remaining: how many lookups the account had left this month, where that is known.
        notes: what was decided by default, in sentences.
        computed: whether the results are computed in this process, without a request.
        geocoder: the geocoder that gets street addresses, and where it is; `None` for none.
        to_geocode: how many addresses would be sent to it.
        geocoded: how many further addresses it was sent by earlier runs, whose results are stored.
    """

    rows: int
    places: int
    cached: int | None
    to_ask: int
    refused: tuple[Refused, ...]
    grain: str
    grains: Mapping[str, int]
    service: str
    price: Decimal | None = None
    quota_remaining: int | None = None
    notes: tuple[str, ...] = ()
    computed: bool = False
    geocoder: str | None = None
    to_geocode: int = 0
    geocoded: int = 0

    @property
    def cost(self) -> Decimal | None:
        """Dollars that the requests cost at most, exact; `None` without a price."""
        return None if self.price is None else self.price * self.to_ask

    @property
    def fits_quota(self) -> bool | None:
        """Whether the account has enough lookups left; `None` where that is not known."""
        return None if self.quota_remaining is None else self.to_ask <= self.quota_remaining

    def refused_alike(self) -> tuple[Refused, ...]:
        """`refused`, with reasons that differ only in the value they quote as one."""
        every = ((refusal.status, refusal.reason, refusal.rows) for refusal in self.refused)
        return tuple(Refused(*group) for group in counted_alike(every))

    def __str__(self) -> str:
        """The plan as text."""
        return as_text(*self.parts())

    def _repr_html_(self) -> str:
        return as_html(*self.parts())

    def parts(self) -> tuple[Note | Table, ...]:
        """The plan for display: the requests, then the rows that are never looked up."""
        size = f"{counted(self.rows, 'row')}, {places_and_dates(self.places)}"
        if self.computed:
            title = f"{size}: computed here by {printable(the_service(self.service))}, no requests"
            tables = [_refused(self)] if self.refused else []
            notes = [*map(capital, self.notes), *_sent(self)]
            return Note(title, notes), *tables
        requests = counted(self.to_ask, "lookup")
        money = ""
        if self.price is not None and self.cost is not None:
            cost = self.cost.quantize(_CENT, ROUND_UP)
            money = f": at most ${cost:,} at ${self.price:f} each"
        title = f"{size}: {requests} of {printable(the_service(self.service))}{money}"
        note = Note(title, [*map(capital, self.notes)])
        return note, _distinct_places(self), *([_refused(self)] if self.refused else [])


def price_of(value: str | Decimal | float | None) -> Decimal | None:
    """Dollars a lookup, exact; `None` for none.

    Raises:
        ValueError: not an amount of dollars, or below 0.
    """
    if value is None:
        return None
    try:
        price = Decimal(repr(value) if isinstance(value, float) else str(value).strip().lstrip("$"))
    except InvalidOperation:
        price = Decimal("NaN")
    if not price.is_finite() or price < 0 or isinstance(value, bool):
        raise ValueError(f"price: {value!r} is not dollars a lookup, such as '0.004'")
    return price


def _distinct_places(plan: Plan) -> Table:
    cached = "not known before the service runs" if plan.cached is None else f"{plan.cached:,}"
    rows = [("In the cache", cached), ("To look up, one request each", f"{plan.to_ask:,}")]
    if len(set(plan.grains.values())) > 1:
        rows += [
            (f"To look up by {grain}{' (as now)' * (grain == plan.grain)}", f"{count:,}")
            for grain, count in plan.grains.items()
        ]
    if plan.quota_remaining is not None:
        short = "" if plan.fits_quota else ": NOT ENOUGH for this"
        rows.append(("Lookups left this month", f"{plan.quota_remaining:,}{short}"))
    return Table(("What", number("Number")), rows, "Distinct places and dates")


def _sent(plan: Plan) -> list[str]:
    """How many addresses would be sent where to."""
    if plan.geocoder is None:
        return []
    known = f", {plan.geocoded:,} more are stored from earlier runs" if plan.geocoded else ""
    of = f"{plan.to_geocode:,} street address{'' if plan.to_geocode == 1 else 'es'}"
    where = f"would be sent to {printable(plan.geocoder)}"
    return [f"{of} {where}{known}. Only street, city, state and ZIP are sent"]


def _refused(plan: Plan) -> Table:
    refused = plan.refused_alike()
    rows = [
        (refusal.status, f"{refusal.rows:,}", printable(refusal.reason))
        for refusal in refused[:_REASONS_SHOWN]
    ]
    rest = sum(refusal.rows for refusal in refused[_REASONS_SHOWN:])
    more = f"and {counted(rest, 'row')} for other reasons" if rest else None
    columns = ("Status", number("Rows"), prose("Reason"))
    return Table(columns, rows, "Rows that are never looked up", more)
