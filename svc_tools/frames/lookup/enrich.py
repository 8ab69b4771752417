"""Look up the rows of a frame, and plan a lookup: same index, same order, one outcome a row.

The results come from the given client, else the configured one, else the embedded one, or from a
lock file. A plan is counted from the rows and the cache, without a request.
"""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from svc_tools.config import (
    EMBEDDED_NAME,
    configured,
    connect,
    running_embedded,
    unconfigured,
)
from svc_tools.frames.added.names import free_columns, remember_columns
from svc_tools.frames.added.stamp import Stamp
from svc_tools.frames.lookup.columns import free_labels, inputs_by
from svc_tools.frames.lookup.joining import ResultColumns
from svc_tools.frames.lookup.results import QueryRows, UsedLookup, record_of
from svc_tools.frames.lookup.sources import (
    BookSource,
    Control,
    LockSource,
    period_notes,
    source_for,
)
from svc_tools.frames.lookup.survey import Survey
from svc_tools.frames.options import check_layout
from svc_tools.frames.orders.orders import Orders
from svc_tools.geocoding.positions import geocoding_of
from svc_tools.lookup import STATUSES
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.lock_file import read_lock
from svc_tools.lookup.plan import Plan
from svc_tools.lookup.troubles import counted_alike
from svc_tools.show.codes import unknown_warnings
from svc_tools.show.display import capital, unknown_warnings_sentence
from svc_tools.show.meters import Bar, say
from svc_tools.tables.places import GRAINS, UNUSED_POINTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from decimal import Decimal
    from pathlib import Path

    from svc_tools.frames.lookup.sources import Results, ResultSource
    from svc_tools.frames.options import LookupOptions
    from svc_tools.geocoding.positions import Geocoding
    from svc_tools.lookup import Outcome


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
    return enrich_rows(rest, survey_of(frame, options), options)


def frame_plan(frame: pd.DataFrame, options: LookupOptions, price: Decimal | None = None) -> Plan:
    """Plan `enrich` with the same options; makes no request and starts no service.

    Raises:
        ValueError: `locked` is among the options; or the lookup itself would refuse the arguments.
    """
    if options.locked is not None:
        raise ValueError("locked: a locked lookup requests nothing, so there is nothing to plan")
    free_columns(frame, options.prefix, options.names)
    return make_plan_of(survey_of(frame, options), options, price)


def survey_of(frame: pd.DataFrame, options: LookupOptions) -> Survey:
    """The queries of a frame's rows."""
    check_layout(options, free_labels(frame))
    return Survey.of(frame, inputs_by(options, frame))


def enrich_rows(frame: pd.DataFrame, survey: Survey, options: LookupOptions) -> pd.DataFrame:
    """Resolve the queries of a frame's rows, and join the columns to them.

    Args:
        frame: the rows, without the columns of an earlier lookup.
        survey: their queries.
        options: those of the lookup.
    """
    inputs, queries = survey.inputs, survey.queries
    with opened_source(options) as source:
        notes = [*notes_of(survey), *source.notes_on(inputs)]
        if options.progress:
            say(notes)
        results = source.resolve(queries, Control(progress=Bar() if options.progress else None))
        later = [note for note in source.notes_on(inputs) if note not in notes]
        cached_in, store, is_computed = source.cached_in, source.store, source.is_computed
        trouble = None if source.geocoding is None else source.geocoding.trouble
    columns = ResultColumns(
        results,
        options.rates,
        below=options.below,
        names=options.names,
        detail=options.detail,
    ).rows(survey.codes[0])
    enriched = with_columns(frame, options.prefix, columns)
    remember_columns(enriched, options.prefix, columns)
    read = Orders(frame, inputs.reading).read_of_places(inputs.columns)
    known = QueryRows.of(frame, read, survey.codes[0])
    lookup = UsedLookup.by(options.prefix, inputs, results, detail=options.detail, rows=known)
    rows = int(queries.rows.sum())
    record = record_of(lookup, results, rows=rows, notes=[*notes, *later], below=options.below)
    Stamp.of(enriched).put(options.prefix, lookup, lookups=record).write(enriched)
    unusable = bool(rows) and not len(results.wanted)
    if options.progress and not unusable:
        say([*later, *_ending(results, store)])
    if options.errors == "raise":
        _raise_for(results, enriched)
    elif unusable:
        _warn(_no_usable_row(survey), enriched)
    elif results.stopped:
        _warn(_early_end(results, cached_in, is_computed=is_computed), enriched)
    elif trouble is not None:
        _warn(f"{capital(trouble)}. Until then their ZIP decides.", enriched)
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


@contextlib.contextmanager
def opened_source(options: LookupOptions) -> Iterator[ResultSource]:
    """The service or lock file of one lookup of a frame."""
    if options.locked is not None:
        yield LockSource(read_lock(options.locked), options)
        return
    with contextlib.ExitStack() as stack:
        client = options.client
        if client is None:
            # 7: the warning names the line that called `df.svc.lookup`; in between are `lookup`,
            # `enrich`, `enrich_rows`, the context manager's `__enter__` and this function
            ready = connect() if configured() else unconfigured(stacklevel=7)
            client = stack.enter_context(ready)
        cache = stack.enter_context(opened_cache(options.cache, of=client))
        yield source_for(client, cache, options)


REPAIRS = {
    "state_from_zip": "rows whose state was taken from the ZIP",
    "state_from_address": "rows whose state was taken from the end of the address or place name",
    "zip_repaired": "rows whose ZIP had lost its leading zeros (such as 2134 for 02134)",
}
"""The corrections that are reported, by the attribute of a place that names them."""


def notes_of(survey: Survey) -> list[str]:
    """How the arguments were found and the dates read, and how many rows were corrected."""
    inputs, queries = survey.inputs, survey.queries
    return [*inputs.notes, *inputs.style.notes(queries.rests), *repairs_of(survey)]


def repairs_of(survey: Survey) -> list[str]:
    """How many rows were corrected, and of how many the coordinates are not used."""
    counted = [(text, survey.queries.count(attribute)) for attribute, text in REPAIRS.items()]
    unused = survey.queries.unused_points()
    counted += [
        (f"rows whose coordinates are not used ({UNUSED_POINTS[why]})", unused[why])
        for why in UNUSED_POINTS
    ]
    return [f"{text}: {count:,}" for text, count in counted if count]


def _by_outcome(results: Results) -> list[tuple[Outcome, int]]:
    """The outcomes in the order of the rows, those of refused ones among them, with their rows."""
    outcomes, of_query = results.of_queries(results.queries)
    rows = np.bincount(of_query, results.queries.rows, len(outcomes)).astype(np.int64)
    return [(outcomes[at], int(rows[at])) for at in pd.unique(of_query).tolist()]


def _ending(results: Results, store: str) -> list[str]:
    """Rows by status, the most frequent reason for no rate, unknown warnings, and the requests.

    `store` is where the results came from that were not requested: the cache or a lock file.
    """
    statuses: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    warned: Counter[tuple[str, ...]] = Counter()
    for outcome, count in _by_outcome(results):
        statuses[outcome.status] += count
        if outcome.found is not None and outcome.found.warnings:
            warned[outcome.found.warnings] += count
        if outcome.means.missing and count:
            reasons[outcome.error or outcome.status] += count
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
    if results.cached:
        lines.append(f"places: {results.cached:,} from {store}, {results.asked:,} requested")
    return lines


def _raise_for(results: Results, enriched: pd.DataFrame) -> None:
    """Raise if rows have no usable result, with the most frequent reasons.

    Raises:
        LookupFailedError: rows have no usable result.
    """
    reasons: Counter[tuple[str, str]] = Counter()
    for outcome, rows in _by_outcome(results):
        if outcome.means.missing and rows:
            reasons[outcome.status, outcome.error or ""] += rows
    if not reasons:
        return
    alike = counted_alike((*reason, rows) for reason, rows in reasons.items())
    shown = "; ".join(f"{rows} x {status}: {why}" for status, why, rows in alike[:3])
    more = f" and {len(alike) - 3} more" if len(alike) > 3 else ""  # noqa: PLR2004
    raise LookupFailedError(
        f"{reasons.total():,} of {int(results.queries.rows.sum()):,} rows have no usable result:"
        f" {shown}{more}. The frame with everything that was found is in the exception's `frame`.",
        enriched,
    )


def _no_usable_row(survey: Survey) -> str:
    """That no row names a place and a date that can be looked up, with the main reason."""
    refused = survey.queries.refused()
    status, reason, main = counted_alike(
        (refusal.status, refusal.reason, refusal.rows) for refusal in refused
    )[0]
    return (
        f"No row can be used, so nothing was looked up. The main reason, in {main:,} of"
        f" {int(survey.queries.rows.sum()):,} rows, which are {status}: {reason}. Every row is in"
        " the frame, with its reason in lookup_error."
    )


def _early_end(results: Results, cached: Path | None, *, is_computed: bool) -> str:
    """Why a lookup ended early, and how it goes on."""
    settled = np.array([outcome.means.settled for outcome in results.outcomes], bool)
    found, wanted = int(settled[results.of_lookup].sum()), len(results.wanted)
    if is_computed:
        again = "Run it again: it begins again, because nothing that is computed here is cached"
    elif cached is None:
        again = "Run it again with a cache, or with the rows that are missing: nothing is cached"
    else:
        again = f"Run it again to go on: what was found is cached in {cached}"
    return (
        f"The lookup ended early: {results.stopped}. {found:,} of {wanted:,} places have a"
        f" result, which is in the frame; the other rows are failed or not_attempted. {again}."
    )


def _warn(message: str, enriched: pd.DataFrame) -> None:
    """Warn about a lookup; where warnings are errors, raise one with the frame."""
    try:
        # 5: the line that called `df.svc.lookup`; 1 is this function
        warnings.warn(message, UserWarning, stacklevel=5)
    except UserWarning as error:  # warnings are errors here: the frame must not be lost
        raise LookupFailedError(message, enriched) from error


def make_plan_of(survey: Survey, options: LookupOptions, price: Decimal | None) -> Plan:
    """The plan for surveyed rows of a frame; starts no service."""
    with contextlib.ExitStack() as stack:
        client = options.client
        if client is None:
            client = connect() if configured() else running_embedded()
            stack.enter_context(client or contextlib.nullcontext())
        source = None
        geocoding = None if client is not None else geocoding_of(options.geocode, options.cache)
        if client is not None:
            cache = stack.enter_context(opened_cache(options.cache, of=client))
            source = source_for(client, cache, options)
            geocoding = source.geocoding
        return survey_plan(survey, source, price=price, notes=notes_of(survey), geocoding=geocoding)


def survey_plan(
    survey: Survey,
    source: ResultSource | None,
    *,
    price: Decimal | None = None,
    notes: Iterable[str] = (),
    geocoding: Geocoding | None = None,
) -> Plan:
    """What resolving the queries of a survey will take; sends no request.

    Args:
        survey: the rows.
        source: the source; `None` for the embedded service before it runs.
        price: dollars a lookup.
        notes: how the arguments were found.
        geocoding: that of street addresses; `None` for none.
    """
    queries, cached, quota = survey.queries, 0, None
    left: dict[str, int] = dict.fromkeys(GRAINS, 0)
    to_send = None if geocoding is None else geocoding.plan(queries.wanted("day").places)
    if source is None or source.is_computed:
        grain, places = BookSource.grain, len(queries.wanted(BookSource.grain))
    else:
        wanted = {kind: queries.wanted(kind) for kind in GRAINS}
        left = {kind: len(some) - source.known(some) for kind, some in wanted.items()}
        grain, quota = source.grain, source.quota()
        places = len(wanted[grain])
        cached = places - left[grain]
    return Plan(
        rows=int(queries.rows.sum()),
        places=places,
        cached=cached,
        to_ask=left[grain],
        refused=queries.refused(),
        grain=grain,
        grains=left,
        service=EMBEDDED_NAME if source is None else source.service.name,
        price=price,
        quota_remaining=quota,
        notes=(*notes, *period_notes(grain, survey.inputs)),
        computed=source is None or source.is_computed,
        geocoder=None if to_send is None else to_send.where,
        to_geocode=0 if to_send is None else to_send.addresses,
        geocoded=0 if to_send is None else to_send.known,
    )
