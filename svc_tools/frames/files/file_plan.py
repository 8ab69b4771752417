"""What a file will take, before anything is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from svc_tools.lookup.plan import Plan, Refused
from svc_tools.places import GRAINS, first_day

if TYPE_CHECKING:
    from collections.abc import Iterable
    from decimal import Decimal

    from svc_tools.config import Source
    from svc_tools.frames.files.file_job import Survey
    from svc_tools.frames.files.file_terms import Terms
    from svc_tools.lookup.cache import Answers
    from svc_tools.places import Grain, Place

__all__ = ["plan_of_file"]


def plan_of_file(
    surveyed: Survey,
    terms: Terms,
    *,
    service: str,
    source: Source,
    cache: Answers | None,
    price: Decimal | None,
    notes: Iterable[str],
) -> Plan:
    """The plan for a file that was surveyed; of its grain and the coarser ones."""
    grains: tuple[Grain, ...] = GRAINS  # type: ignore[assignment]
    left: dict[str, int] = {}
    for grain in grains[grains.index(terms.grain) :]:
        places = _of_grain(surveyed.places, grain)
        known = {} if cache is None else cache.known(source, places, detail=terms.detail)
        left[grain] = len(places) - len(known)
    return Plan(
        rows=surveyed.rows,
        places=len(surveyed.places),
        cached=len(surveyed.places) - left[terms.grain],
        to_ask=left[terms.grain],
        refused=tuple(
            Refused(status, reason, rows)
            for (status, reason), rows in surveyed.refused.most_common()
        ),
        grain=terms.grain,
        grains=left,
        service=service,
        price=price,
        quota_remaining=None if cache is None else cache.quota(source),
        notes=tuple(notes),
    )


def _of_grain(places: Iterable[Place], grain: Grain) -> dict[Place, None]:
    """The distinct places when they are asked for the first day of their period."""
    if grain == "day":
        return dict.fromkeys(places)
    return dict.fromkeys(
        place if place.as_of is None else replace(place, as_of=first_day(place.as_of, grain))
        for place in places
    )
