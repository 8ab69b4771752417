"""How a plan reads in a notebook. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.shown import Table, as_html, capital, counted, printable, the_service

if TYPE_CHECKING:
    from svc_tools.lookup.plan import Plan, Refused

__all__ = ["plan_html"]

_REASONS = 8


def plan_html(plan: Plan, price: str) -> str:
    """The plan as HTML: what will be asked, then what never is, and what was decided.

    Args:
        plan: the plan.
        price: what the requests cost at most, in words; empty without a price.
    """
    size = f"{counted(plan.rows, 'row')}, {counted(plan.places, 'distinct place')}"
    asked = f"{plan.to_ask:,} to be asked of {printable(the_service(plan.service))}{price}"
    tables = [_asking(plan)]
    if plan.refused:
        tables.append(_refused(plan.refused_alike()))
    return as_html(f"{size}: {asked}", list(map(capital, plan.notes)), tables)


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
    return Table("Distinct places", ("What", ">Number"), tuple(rows))


def _refused(refused: tuple[Refused, ...]) -> Table:
    shown = refused[:_REASONS]
    rows = tuple((one.status, f"{one.rows:,}", printable(one.reason)) for one in shown)
    rest = sum(one.rows for one in refused[_REASONS:])
    more = f"and {counted(rest, 'row')} for other reasons" if rest else None
    return Table("Rows that are never asked for", ("Status", ">Rows", "~Reason"), rows, more)
