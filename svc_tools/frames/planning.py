"""What a lookup of a frame will take: counted from its rows and the cache, without a request."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from svc_tools.config import (
    configured,
    connect,
    running_embedded,
    service_name,
    source_of,
)
from svc_tools.frames.columns import find_inputs
from svc_tools.frames.notes import repairs
from svc_tools.frames.ownership import free_columns
from svc_tools.frames.questions import ask
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.outcomes import all_stay
from svc_tools.lookup.plan import Plan, Refused
from svc_tools.places import GRAINS, Question, Refusal, first_day, on_days

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date
    from decimal import Decimal

    import pandas as pd

    from svc_tools.config import Source
    from svc_tools.frames.columns import Inputs
    from svc_tools.frames.options import Options
    from svc_tools.frames.questions import Asked
    from svc_tools.lookup.cache import Answers
    from svc_tools.places import Place

__all__ = ["make_plan", "plan_asked", "plan_of"]


def make_plan(
    frame: pd.DataFrame, given: Mapping[str, object], options: Options, price: Decimal | None
) -> Plan:
    """What `enrich` with the same arguments will take. Asks nothing, starts no service.

    Raises:
        ValueError: `locked` is among the options; and whatever the lookup itself would refuse.
    """
    if options.locked is not None:
        raise ValueError("locked: a locked lookup asks no service, so there is nothing to plan")
    free_columns(frame, options.prefix, options.names)
    inputs = find_inputs(frame, given, options.zone, options.as_of_grain)
    return plan_asked(inputs, ask(frame, inputs), options, price)


def plan_asked(inputs: Inputs, asked: Asked, options: Options, price: Decimal | None) -> Plan:
    """The plan for the queries of a frame's rows; the service is the one that the options name."""
    with opened_cache(options.cache) as cache:
        service, source = _service_of(options)
        return plan_of(
            asked,
            service=service,
            source=source,
            cache=cache,
            options=options,
            price=price,
            notes=(*inputs.notes, *repairs(asked)),
        )


def plan_of(
    asked: Asked,
    *,
    service: str,
    source: Source | None,
    cache: Answers | None,
    options: Options,
    price: Decimal | None = None,
    notes: tuple[str, ...] = (),
) -> Plan:
    """The plan for questions that are known.

    Args:
        asked: the questions, and how many rows have each.
        service: the name of who would be asked.
        source: whose answers in the cache count; `None` where that is not known.
        cache: the cache; `None` where there is none.
        options: those of the lookup.
        price: dollars a lookup.
        notes: what was decided without being told.
    """
    by_grain = {grain: _distinct(asked, grain) for grain in GRAINS}
    places = by_grain[options.as_of_grain]
    cached: dict[str, int] | None = dict.fromkeys(GRAINS, 0)
    if cache is not None:
        cached = None
        if source is not None:
            cached = {
                grain: len(cache.known(source, _places(*of_grain), detail=options.detail))
                for grain, of_grain in by_grain.items()
            }
    less = cached or {}
    quota = None if cache is None or source is None else cache.quota(source)
    return Plan(
        rows=int(asked.rows.sum()),
        places=len(places[0]),
        cached=None if cached is None else cached[options.as_of_grain],
        to_ask=len(places[0]) - less.get(options.as_of_grain, 0),
        refused=_refused(asked),
        grain=options.as_of_grain,
        grains={name: len(by_grain[name][0]) - less.get(name, 0) for name in GRAINS},
        service=service,
        price=price,
        quota_remaining=quota,
        notes=notes,
    )


def _distinct(asked: Asked, grain: str) -> tuple[list[Question], list[date | None]]:
    """The distinct questions at a grain of dates: what they ask, and the day."""
    days: dict[date | None, int] = {}
    first: dict[date | None, date | None] = {None: None}
    numbers: dict[Place | None, int] = {None: 0}  # rows that are refused ask the same: nothing
    of_part = [numbers.setdefault(getattr(one, "place", None), len(numbers)) for one in asked.parts]
    for day in set(asked.days) - {None}:
        first[day] = first_day(day, grain)  # type: ignore[arg-type]
    day_of = [days.setdefault(first[day], len(days)) for day in asked.days]
    keys = np.array(of_part, np.int64)[asked.part_of] * max(len(days), 1) + day_of
    keys[[not isinstance(one, Question) for one in asked.questions]] = -1
    unique, at = np.unique(keys, return_index=True)
    at = at[unique >= 0]
    asks: list[Any] = list(map(asked.parts.__getitem__, asked.part_of[at].tolist()))
    return asks, [first[asked.days[index]] for index in at.tolist()]


def _places(asks: list[Question], days: list[date | None]) -> list[Place]:
    with all_stay():
        dated = asks if None in days else on_days(asks, days)  # type: ignore[arg-type]  # all or none
        return [one.place for one in dated]


def _refused(asked: Asked) -> tuple[Refused, ...]:
    counted: Counter[tuple[str, str]] = Counter()
    for one, rows in zip(asked.questions, asked.rows.tolist(), strict=True):
        if isinstance(one, Refusal):
            counted[one.status, one.reason] += rows
    return tuple(Refused(*said, rows) for said, rows in counted.most_common())


def _service_of(options: Options) -> tuple[str, Source | None]:
    """Who would be asked, and whose answers count; nobody is started for it."""
    client = options.client
    if client is not None:
        return service_name(client), source_of(client)
    if configured():
        with connect() as ready:
            return service_name(ready), source_of(ready)
    embedded = running_embedded()
    if embedded is None:
        return "embedded service", None
    with embedded:
        return service_name(embedded), source_of(embedded)
