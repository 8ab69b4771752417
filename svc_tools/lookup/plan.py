"""What a lookup will take, before any request: counts, requests, price. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_UP, Decimal, InvalidOperation
from typing import TYPE_CHECKING

from svc_tools.display import (
    Note,
    Table,
    as_html,
    capital,
    counted,
    number,
    printable,
    prose,
    the_service,
)
from svc_tools.lookup.outcomes import counted_alike

if TYPE_CHECKING:
    from collections.abc import Mapping

_REASONS_IN_TEXT = 5
_REASONS_IN_HTML = 8
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

    @property
    def cost(self) -> Decimal | None:
        """Dollars that the requests cost at most, exact; `None` without a price."""
        return None if self.price is None else self.price * self.to_ask

    @property
    def fits_quota(self) -> bool | None:
        """Whether the account has enough lookups left; `None` where that is not known."""
        return None if self.quota_remaining is None else self.to_ask <= self.quota_remaining

    def refused_rows(self, status: str) -> int:
        """How many rows are `invalid`, or `unsupported`."""
        return sum(one.rows for one in self.refused if one.status == status)

    def refused_alike(self) -> tuple[Refused, ...]:
        """`refused`, with reasons that differ only in the value they quote as one."""
        every = ((one.status, one.reason, one.rows) for one in self.refused)
        return tuple(Refused(*group) for group in counted_alike(every))

    def __str__(self) -> str:
        """The plan in lines of text."""
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return _plan_html(self, self._money())

    def _lines(self) -> list[str]:
        lines = [f"{counted(self.rows, 'row')}, {counted(self.places, 'distinct place')}"]
        if self.cached is None:
            lines.append("  how many are in the cache is not known before the service runs")
        else:
            lines.append(f"  {self.cached:,} answered from the cache")
        lines.append(f"  {self.to_ask:,} to be asked of {the_service(self.service)}{self._money()}")
        if self.quota_remaining is not None:
            short = "" if self.fits_quota else ": NOT ENOUGH for this"
            lines.append(f"  {counted(self.quota_remaining, 'lookup')} left this month{short}")
        if len(set(self.grains.values())) > 1:
            grains = ", ".join(f"{name} {count:,}" for name, count in self.grains.items())
            lines.append(f"  requests by as_of_grain: {grains} (now: {self.grain})")
        for status in ("invalid", "unsupported"):
            reasons = [one for one in self.refused_alike() if one.status == status]
            if reasons:
                lines.append(f"{counted(self.refused_rows(status), 'row')} {status}, never asked")
                lines += [f"  {one.rows:,}: {one.reason}" for one in reasons[:_REASONS_IN_TEXT]]
            if others := reasons[_REASONS_IN_TEXT:]:
                rest = sum(one.rows for one in others)
                lines.append(f"  {rest:,}: {len(others):,} other reasons")
        return lines + [f"note: {note}" for note in self.notes]

    def _money(self) -> str:
        if self.price is None or self.cost is None:
            return ""
        return f": at most ${self.cost.quantize(_CENT, ROUND_UP):,} at ${self.price:f} each"


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


def _plan_html(plan: Plan, price: str) -> str:
    """The plan as HTML: the requests, then the rows that are never requested, and the notes."""
    size = f"{counted(plan.rows, 'row')}, {counted(plan.places, 'distinct place')}"
    asked = f"{plan.to_ask:,} to be asked of {printable(the_service(plan.service))}{price}"
    tables = [_asking(plan)]
    if plan.refused:
        tables.append(_refused(plan.refused_alike()))
    return as_html(Note(f"{size}: {asked}", [*map(capital, plan.notes)]), *tables)


def _asking(plan: Plan) -> Table:
    cached = "not known before the service runs" if plan.cached is None else f"{plan.cached:,}"
    rows = [("In the cache", cached), ("To be asked, one request each", f"{plan.to_ask:,}")]
    if len(set(plan.grains.values())) > 1:
        rows += [
            (f"With as_of_grain={grain!r}{' (as now)' * (grain == plan.grain)}", f"{count:,}")
            for grain, count in plan.grains.items()
        ]
    if plan.quota_remaining is not None:
        short = "" if plan.fits_quota else ": NOT ENOUGH for this"
        rows.append(("Lookups left this month", f"{plan.quota_remaining:,}{short}"))
    return Table(("What", number("Number")), rows, "Distinct places")


def _refused(refused: tuple[Refused, ...]) -> Table:
    shown = refused[:_REASONS_IN_HTML]
    rows = tuple((one.status, f"{one.rows:,}", printable(one.reason)) for one in shown)
    rest = sum(one.rows for one in refused[_REASONS_IN_HTML:])
    more = f"and {counted(rest, 'row')} for other reasons" if rest else None
    return Table(
        ("Status", number("Rows"), prose("Reason")), rows, "Rows that are never looked up", more
    )
