"""Look up the rows of a frame, and plan a lookup: same index, same order, one outcome a row.

The results come from the given client, else the configured one, else the embedded one, or from a
lock file. A plan is counted from the rows and the cache, without a request.
"""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from svc_tools.codes import unknown_warnings
from svc_tools.config import (
    configured,
    connect,
    running_embedded,
    service_name,
    source_of,
    unconfigured,
)
from svc_tools.display import unknown_warnings_sentence
from svc_tools.frames.columns import free_labels, inputs_by
from svc_tools.frames.lookup_columns import NOTE, free_columns, remember_columns
from svc_tools.frames.options import check_layout
from svc_tools.frames.queries import decided_queries
from svc_tools.frames.results import (
    ServiceName,
    UsedLookup,
    name_of_service,
    note_of,
    outcomes_of,
    remember,
    result_columns,
)
from svc_tools.lookup import STATUSES, Run, look_up
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.lock_file import read_lock
from svc_tools.lookup.outcomes import all_stay, counted_alike
from svc_tools.lookup.plan import Plan, Refused
from svc_tools.places import GRAINS, Question, Refusal, first_day, on_days
from svc_tools.progress import Bar, say

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from datetime import date
    from decimal import Decimal
    from pathlib import Path

    from svc_tools.config import Source
    from svc_tools.frames.columns import Inputs
    from svc_tools.frames.options import LookupOptions
    from svc_tools.frames.queries import Queries
    from svc_tools.lookup import Outcome
    from svc_tools.lookup.cache import ResultStore
    from svc_tools.places import Place


class FailedRowsError(Exception):
    """Some rows have no result; `frame` has every result that was found: nothing is lost."""

    def __init__(self, message: str, frame: pd.DataFrame) -> None:
        super().__init__(message)
        self.frame = frame

    def __reduce__(self) -> tuple[type[Self], tuple[str, pd.DataFrame]]:
        """Pickle the frame too."""
        return type(self), (str(self), self.frame)


class LookupFailedError(FailedRowsError):
    """Rows have no usable result, and `errors="raise"` was given.

    Attributes:
        frame: the enriched frame, with every result that was found: nothing is lost.
    """


def enrich(frame: pd.DataFrame, options: LookupOptions) -> pd.DataFrame:
    """Look every row up; see `SvcAccessor.lookup` for the meaning of the options."""
    rest = free_columns(frame, options.prefix, options.names)
    return enrich_queries(rest, *_queries(frame, options), options)


def make_plan(frame: pd.DataFrame, options: LookupOptions, price: Decimal | None = None) -> Plan:
    """Plan `enrich` with the same options; makes no request and starts no service.

    Raises:
        ValueError: `locked` is among the options; or the lookup itself would refuse the arguments.
    """
    if options.locked is not None:
        raise ValueError("locked: a locked lookup requests nothing, so there is nothing to plan")
    free_columns(frame, options.prefix, options.names)
    return plan_queries(*_queries(frame, options), options, price)


def _queries(frame: pd.DataFrame, options: LookupOptions) -> tuple[Inputs, Queries]:
    check_layout(options, free_labels(frame))
    return decided_queries(frame, inputs_by(options, frame))


def enrich_queries(
    frame: pd.DataFrame, inputs: Inputs, queries: Queries, options: LookupOptions
) -> pd.DataFrame:
    """Look up the queries of a frame's rows, and add the columns.

    Args:
        frame: the rows, without the columns of an earlier lookup.
        inputs: which columns and values the queries were made of.
        queries: the queries, and how many rows have each.
        options: those of the lookup.
    """
    places = dict.fromkeys(queries.places())
    with _source_of_results(options) as results_from:
        notes = [*_notes(inputs, queries), *results_from.notes]
        if options.progress:
            say(notes)
        run = results_from.request(places)
        later = [note for note in results_from.notes if note not in notes]
    columns = result_columns(
        queries,
        run.outcomes,
        results_from.who,
        options.rates,
        names=options.names,
        detail=options.detail,
        today=results_from.today,
    )
    enriched = with_columns(frame, options.prefix, columns)
    remember_columns(enriched, options.prefix, columns)
    lookup = UsedLookup(
        prefix=options.prefix,
        inputs=inputs,
        source=results_from.source,
        service=results_from.who,
        detail=options.detail,
        outcomes=run.outcomes,
    )
    rows = int(queries.rows.sum())
    enriched.attrs[NOTE] = note_of(lookup, run, rows=rows, notes=[*notes, *later])
    remember(enriched, lookup)
    unusable = bool(rows) and not places
    if options.progress and not unusable:
        say(
            [*later, *_ending(queries, outcomes_of(queries, run.outcomes), run, results_from.store)]
        )
    if options.errors == "raise":
        _raise_for(queries, run, enriched)
    elif unusable:
        _warn(_no_usable_row(queries, rows), enriched)
    elif run.stopped:
        _warn(_early_end(run, cached=results_from.cached_in), enriched)
    return enriched


def with_columns(frame: pd.DataFrame, prefix: str, columns: Mapping[str, Any]) -> pd.DataFrame:
    """The frame with further columns; nothing of the frame itself is copied or changed."""
    enriched = frame.copy(deep=False)
    with warnings.catch_warnings():
        # every column is a separate array: the frame is not fragmented as the warning says
        warnings.simplefilter("ignore", pd.errors.PerformanceWarning)
        for name, column in columns.items():
            enriched[prefix + name] = column
    return enriched


@dataclass(frozen=True)
class _ResultSource:
    """A service or a lock file.

    Attributes:
        who: the service as it stands in the rows.
        source: the service and account.
        request: looks up places.
        notes: notes for the user; there may be more after `request`.
        today: the day of queries without a date; `None` for that of the response.
        store: where results come from that are not requested, in words.
        cached_in: the file in which new results are stored; `None` where there is none.
    """

    who: ServiceName
    source: Source
    request: Callable[[Collection[Place]], Run]
    notes: list[str] = field(default_factory=list)
    today: date | None = None
    store: str = "the cache"
    cached_in: Path | None = None


@contextlib.contextmanager
def _source_of_results(options: LookupOptions) -> Iterator[_ResultSource]:
    """The service or lock file of one lookup."""
    if options.locked is not None:
        lock = read_lock(options.locked)

        def from_lock(places: Collection[Place]) -> Run:
            outcomes = lock.outcomes(places, detail=options.detail)
            cached = sum(outcome.cached for outcome in outcomes.values())
            return Run(outcomes, None, 0, cached, 0, 0.0)

        yield _ResultSource(
            ServiceName(lock.name, lock.edition),
            lock.source,
            from_lock,
            lock.notes,
            lock.today,
            "the lock file",
        )
        return
    with contextlib.ExitStack() as stack:
        cache = stack.enter_context(opened_cache(options.cache))
        client = options.client
        if client is None:
            # 7: the warning names the line that called `df.svc.lookup`; in between are `lookup`,
            # `enrich`, `enrich_queries`, the context manager's `__enter__` and this function
            ready = connect() if configured() else unconfigured(stacklevel=7)
            client = stack.enter_context(ready)

        def from_service(places: Collection[Place]) -> Run:
            return look_up(
                client,
                places,
                cache=cache,
                detail=options.detail,
                concurrency=options.concurrency,
                deadline=options.deadline,
                progress=Bar() if options.progress else None,
            )

        notes = [] if cache is None else cache.notes
        yield _ResultSource(
            name_of_service(client),
            source_of(client),
            from_service,
            notes,
            cached_in=getattr(cache, "path", None),
        )


REPAIRS = {
    "state_from_zip": "rows whose state was taken from the ZIP",
    "state_from_address": "rows whose state was taken from the end of the address or place name",
    "zip_repaired": "rows whose ZIP had lost its leading zeros (such as 2134 for 02134)",
}
"""The corrections that are reported, by the attribute of a place that names them."""


def _notes(inputs: Inputs, queries: Queries) -> list[str]:
    """How the arguments were found and the dates read, and how many rows were corrected."""
    counted = ((text, queries.count(attribute)) for attribute, text in REPAIRS.items())
    repairs = [f"{text}: {count:,}" for text, count in counted if count]
    return [*inputs.notes, *inputs.style.notes(queries.rests), *repairs]


def _ending(queries: Queries, outcomes: Iterable[Outcome], run: Run, store: str) -> list[str]:
    """Rows by status, the most frequent reason for no rate, unknown warnings, and the requests.

    `store` is where the results came from that were not requested: the cache or a lock file.
    """
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    warned: Counter[tuple[str, ...]] = Counter()
    for outcome, rows in zip(outcomes, queries.rows.tolist(), strict=True):
        statuses[outcome.status] += rows
        if outcome.found is not None and outcome.found.warnings:
            warned[outcome.found.warnings] += rows
        if outcome.means.missing:
            reasons[outcome.error or outcome.status] += rows
    rows = ", ".join(f"{statuses[name]:,} {name}" for name in STATUSES if statuses[name])
    lines = [f"rows: {rows}"] if rows else []
    if reasons:
        every = [("", reason, count) for reason, count in reasons.items()]
        _, reason, count = counted_alike(every)[0]
        lines.append(f"most frequent reason: {reason} (rows: {count:,})")
    unknown = unknown_warnings(
        (code, rows) for codes, rows in warned.items() for code in dict.fromkeys(codes)
    )
    lines += filter(None, (unknown_warnings_sentence(unknown),))
    if run.cached:
        lines.append(f"places: {run.cached:,} from {store}, {run.asked:,} requested")
    return lines


def _raise_for(queries: Queries, run: Run, enriched: pd.DataFrame) -> None:
    """Raise if rows have no usable result, with the most frequent reasons.

    Raises:
        LookupFailedError: rows have no usable result.
    """
    reasons: Counter[tuple[str, str]] = Counter()
    for outcome, rows in zip(
        outcomes_of(queries, run.outcomes), queries.rows.tolist(), strict=True
    ):
        if outcome.means.missing:
            reasons[outcome.status, outcome.error or ""] += rows
    if not reasons:
        return
    alike = counted_alike((*reason, rows) for reason, rows in reasons.items())
    shown = "; ".join(f"{rows} x {status}: {why}" for status, why, rows in alike[:3])
    more = f" and {len(alike) - 3} more" if len(alike) > 3 else ""  # noqa: PLR2004
    raise LookupFailedError(
        f"{reasons.total():,} of {int(queries.rows.sum()):,} rows have no usable result:"
        f" {shown}{more}. The frame with everything that was found is in the exception's `frame`.",
        enriched,
    )


def _no_usable_row(queries: Queries, rows: int) -> str:
    """That no row names a place and a date that can be looked up, with the main reason."""
    reasons = counted_alike((one.status, one.reason, one.rows) for one in _refused(queries))
    status, reason, main = reasons[0]
    return (
        f"No row can be used, so nothing was requested. The main reason, in {main:,} of {rows:,}"
        f" rows, which are {status}: {reason}. Every row is in the frame, with its reason in"
        " lookup_error."
    )


def _early_end(run: Run, *, cached: Path | None) -> str:
    """Why a lookup ended early, and how it goes on."""
    found = sum(one.means.settled for one in run.outcomes.values())
    if cached is None:
        again = "Run it again with a cache, or with the rows that are missing: nothing is cached"
    else:
        again = f"Run it again to go on: what was found is cached in {cached}"
    return (
        f"The lookup ended early: {run.stopped}. {found:,} of {len(run.outcomes):,} places have a"
        f" result, which is in the frame; the other rows are failed or not_attempted. {again}."
    )


def _warn(message: str, enriched: pd.DataFrame) -> None:
    """Warn about a lookup; where warnings are errors, raise one with the frame."""
    try:
        # 5: the line that called `df.svc.lookup`; 1 is this function
        warnings.warn(message, UserWarning, stacklevel=5)
    except UserWarning as error:  # warnings are errors here: the frame must not be lost
        raise LookupFailedError(message, enriched) from error


def plan_queries(
    inputs: Inputs, queries: Queries, options: LookupOptions, price: Decimal | None
) -> Plan:
    """The plan for the queries of a frame's rows, with the service of the options."""
    with opened_cache(options.cache) as cache:
        service, source = _service_of(options)
        return plan_of(
            queries,
            service=service,
            source=source,
            cache=cache,
            options=options,
            price=price,
            notes=tuple(_notes(inputs, queries)),
        )


def plan_of(
    queries: Queries,
    *,
    service: str,
    source: Source | None,
    cache: ResultStore | None,
    options: LookupOptions,
    price: Decimal | None = None,
    notes: tuple[str, ...] = (),
) -> Plan:
    """The plan for the queries of a frame's rows.

    Args:
        queries: the queries, and how many rows have each.
        service: the name of the service.
        source: whose results in the cache count; `None` where that is not known.
        cache: the cache; `None` for no cache.
        options: those of the lookup.
        price: dollars a lookup.
        notes: how the arguments were found.
    """
    by_grain = {grain: _distinct(queries, grain) for grain in GRAINS}
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
        rows=int(queries.rows.sum()),
        places=len(places[0]),
        cached=None if cached is None else cached[options.as_of_grain],
        to_ask=len(places[0]) - less.get(options.as_of_grain, 0),
        refused=_refused(queries),
        grain=options.as_of_grain,
        grains={name: len(by_grain[name][0]) - less.get(name, 0) for name in GRAINS},
        service=service,
        price=price,
        quota_remaining=quota,
        notes=notes,
    )


def _distinct(queries: Queries, grain: str) -> tuple[list[Question], list[date | None]]:
    """The distinct queries at a grain of dates: their places, and the day."""
    days: dict[date | None, int] = {}
    first: dict[date | None, date | None] = {None: None}
    numbers: dict[Place | None, int] = {None: 0}  # refused rows have no place
    of_part = [
        numbers.setdefault(getattr(one, "place", None), len(numbers)) for one in queries.parts
    ]
    for day in set(queries.days) - {None}:
        first[day] = first_day(day, grain)  # type: ignore[arg-type]
    day_of = [days.setdefault(first[day], len(days)) for day in queries.days]
    keys = np.array(of_part, np.int64)[queries.part_of] * max(len(days), 1) + day_of
    keys[[not isinstance(one, Question) for one in queries.questions]] = -1
    unique, at = np.unique(keys, return_index=True)
    at = at[unique >= 0]
    parts: list[Any] = list(map(queries.parts.__getitem__, queries.part_of[at].tolist()))
    return parts, [first[queries.days[index]] for index in at.tolist()]


def _places(parts: list[Question], days: list[date | None]) -> list[Place]:
    with all_stay():
        dated = parts if None in days else on_days(parts, days)  # type: ignore[arg-type]  # all or none
        return [one.place for one in dated]


def _refused(queries: Queries) -> tuple[Refused, ...]:
    counted: Counter[tuple[str, str]] = Counter()
    for one, rows in zip(queries.questions, queries.rows.tolist(), strict=True):
        if isinstance(one, Refusal):
            counted[one.status, one.reason] += rows
    return tuple(Refused(*reason, rows) for reason, rows in counted.most_common())


def _service_of(options: LookupOptions) -> tuple[str, Source | None]:
    """The name of the service, and whose results in the cache count; starts no service."""
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
