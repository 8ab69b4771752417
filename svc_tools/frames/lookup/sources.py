"""The sources of results: a service over HTTP with a cache, the embedded book, or a lock file.

Each resolves the queries of a survey to `Results`: the outcomes, and which query has which. The
book is computed in this process, each place once for each span of days in which its result is the
same; a service gets a request for each place and day that is not in the cache.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.base.memory import all_stay
from svc_tools.base.progress import stage
from svc_tools.config import (
    GEOCODE_VARIABLE,
    EmbeddedSvc,
    Source,
    embedded_source,
    is_embedded,
    service_name,
    source_of,
)
from svc_tools.frames.lookup.queries import DAY_SPAN, Wanted
from svc_tools.geocoding.positions import geocoding_of
from svc_tools.lookup import Outcome, look_up, refused
from svc_tools.lookup.computed import Computed, Ends
from svc_tools.lookup.engine import RunOptions
from svc_tools.lookup.outcomes import INTERRUPTED, STOPPED, not_attempted
from svc_tools.tables.places import Place, Refusal, first_day

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date, datetime
    from pathlib import Path

    from svc_sdk import Svc
    from svc_tools.base.positions import Position
    from svc_tools.base.progress import Progress
    from svc_tools.frames.lookup.columns import Inputs
    from svc_tools.frames.lookup.queries import Queries
    from svc_tools.geocoding.positions import Geocoding
    from svc_tools.lookup.cache import ResultStore
    from svc_tools.lookup.lock_file import Lock
    from svc_tools.lookup.options import LookupOptions
    from svc_tools.tables.places import Grain


@dataclass(frozen=True, slots=True)
class ServiceName:
    """The name of a service as it stands in the rows, and its edition where known."""

    name: str
    edition: str | None = None


@dataclass(frozen=True)
class Results:
    """What a source found: outcomes, and which lookup has which.

    Attributes:
        service: the service or lock file as it stands in the rows.
        source: the service and account.
        grain: whether days themselves were looked up, or the first ones of their periods.
        queries: what was resolved.
        wanted: the lookups of them.
        outcomes: the distinct outcomes.
        of_lookup: for each lookup the number of its outcome.
        at: the moment of all of them, where they were computed; else each has its own.
        today: the day of queries without one; `None` for that of each response.
        stopped: why the run ended early; `None` where it did not.
        asked: how many lookups were requested from the service, or computed.
        cached: how many outcomes came from the cache or lock file.
        requests: how many requests were sent.
        geocoder: the name of the geocoder whose positions decided; empty where there was none.
    """

    service: ServiceName
    source: Source
    grain: Grain
    queries: Queries
    wanted: Wanted
    outcomes: Sequence[Outcome]
    of_lookup: np.ndarray
    at: datetime | None = None
    today: date | None = None
    stopped: str | None = None
    asked: int = 0
    cached: int = 0
    requests: int = 0
    geocoder: str = ""

    def of_queries(self, queries: Queries) -> tuple[list[Outcome], np.ndarray]:
        """The outcomes with those of refused rows, and which query has which; -1 for none.

        The queries may be those that were resolved, or a part or others of them.
        """
        wanted = self.wanted if queries is self.queries else queries.wanted(self.grain)
        lookups = np.append(self._lookups_of(wanted), -1)[wanted.of_query]
        numbers = np.append(self.of_lookup, -1)[lookups]
        there = np.flatnonzero(np.bincount(queries.part_of)).tolist()
        refusals = [at for at in there if isinstance(queries.parts[at], Refusal)]
        of_part = np.full(len(queries.parts), -1, np.int64)
        of_part[refusals] = len(self.outcomes) + np.arange(len(refusals))
        outcomes = [*self.outcomes, *(refused(queries.parts[at]) for at in refusals)]  # type: ignore[arg-type]
        return outcomes, np.where(wanted.of_query < 0, of_part[queries.part_of], numbers)

    def lookups_of(self, queries: Queries) -> np.ndarray:
        """The numbers of the lookups that queries are of, each once; -1 where one is not here."""
        wanted = self.wanted if queries is self.queries else queries.wanted(self.grain)
        return self._lookups_of(wanted)

    def _lookups_of(self, wanted: Wanted) -> np.ndarray:
        """For each lookup the number of the same one here; -1 for none."""
        if wanted is self.wanted:
            return np.arange(len(wanted))
        numbers = self._numbers
        places = np.array([numbers.get(place, -1) for place in wanted.places], np.int64)
        keys = places[wanted.place_of] * DAY_SPAN + wanted.days
        own, order = self._keys
        at = np.searchsorted(own, keys)
        at[at == len(own)] = 0
        if not len(own):
            return np.full(len(keys), -1, np.int64)
        return np.where(own[at] == keys, order[at], -1)

    def by_place(self, lookups: np.ndarray | None = None) -> dict[Place, Outcome]:
        """The outcomes of some lookups, or of all, by place with its date."""
        of = np.arange(len(self.wanted)) if lookups is None else lookups
        numbers = self.of_lookup[of].tolist()
        with all_stay():
            outcomes = self.outcomes
            if self.at is not None:
                timed = {at: _at(outcomes[at], self.at) for at in dict.fromkeys(numbers)}
                every = [timed[at] for at in numbers]
            else:
                every = [outcomes[at] for at in numbers]
        return dict(zip(self.wanted.dated(of), every, strict=True))

    @cached_property
    def _numbers(self) -> Mapping[Place, int]:
        return {place: number for number, place in enumerate(self.wanted.places)}

    @cached_property
    def _keys(self) -> tuple[np.ndarray, np.ndarray]:
        """The lookups in the order of their places and days."""
        keys = self.wanted.place_of * DAY_SPAN + self.wanted.days
        order = np.argsort(keys)
        return keys[order], order


def _at(outcome: Outcome, moment: datetime) -> Outcome:
    return replace(outcome, looked_up_at=moment) if outcome.means.attempted else outcome


class Control(NamedTuple):
    """How a run is controlled.

    Attributes:
        refresh: request every place, also those in the cache.
        progress: shows how many lookups are done.
        stop: ends the run once another thread sets it.
    """

    refresh: bool = False
    progress: Progress | None = None
    stop: threading.Event | None = None


UNCONTROLLED = Control()


class ResultSource(ABC):
    """A source of results, as a lookup uses it; by default one of which nothing is requested.

    Attributes:
        service: the service or lock file as it stands in the rows.
        source: the service and account.
        grain: whether days themselves are looked up, or the first ones of their periods.
        store: where results come from that are not requested, in words.
        cached_in: the cache's file; `None` for none.
        is_computed: whether results are computed in this process, without a request.
        is_stored: whether a further run costs no request for what this one has found.
        geocoding: the geocoding of street addresses; `None` for none.
    """

    service: ServiceName
    source: Source
    grain: Grain = "day"
    store = ""
    cached_in: Path | None = None
    is_computed = False
    is_stored = True
    geocoding: Geocoding | None = None

    def notes_on(self, inputs: Inputs) -> list[str]:
        """What to tell the user of a lookup; there may be more once it has resolved."""
        return period_notes(self.grain, inputs)

    def known(self, wanted: Wanted) -> int:
        """How many lookups need no request."""
        return len(wanted)

    def quota(self) -> int | None:
        """How many lookups the account had left, where that is known."""
        return None

    @abstractmethod
    def resolve(self, queries: Queries, control: Control = UNCONTROLLED) -> Results:
        """The results of the queries of all rows."""


def source_for(client: Svc, cache: ResultStore | None, options: LookupOptions) -> ResultSource:
    """The source that a client reaches: computed here, or requested over HTTP."""
    if isinstance(client, EmbeddedSvc) and client.is_here:
        return BookSource(client, options)
    return ServiceSource(client, cache, options)


def period_notes(grain: Grain, inputs: Inputs) -> list[str]:
    """That the first days of periods are looked up, where that is so."""
    dated = "as_of" in {**inputs.columns, **inputs.scalars}
    coarse = grain != "day" and dated
    return [f"rates as of the first day of each {grain}, as requested"] if coarse else []


class ServiceSource(ResultSource):
    """A service over HTTP: each place and day is requested once, unless it is in the cache."""

    store = "the cache"

    def __init__(self, client: Svc, cache: ResultStore | None, options: LookupOptions) -> None:
        self._client, self._cache, self._options = client, cache, options
        self.service, self.source = name_of_service(client), source_of(client)
        # a forked child's requests to the embedded service of its parent find what that computes
        self.grain: Grain = "day" if is_embedded(self.source) else options.as_of_grain
        self.cached_in = getattr(cache, "path", None)
        self.is_stored = cache is not None
        self._not_geocoded = self._check_geocode()

    def _check_geocode(self) -> list[str]:
        """That no geocoder is used, where the environment names one.

        Raises:
            ValueError: the argument names one.
        """
        if geocoding_of(self._options.geocode, cache=False) is None:
            return []
        if is_embedded(self.source):
            why = "the embedded service runs in the process from which this one was forked"
        else:
            why = f"the service {self.service.name} resolves addresses itself"
        if self._options.geocode is not None:
            raise ValueError(f"geocode: {why}; leave geocode out")
        return [f"{GEOCODE_VARIABLE} is not used: {why}"]

    def notes_on(self, inputs: Inputs) -> list[str]:
        """How days are looked up, and trouble with the cache."""
        of_cache = [] if self._cache is None else self._cache.notes
        return [*super().notes_on(inputs), *self._not_geocoded, *of_cache]

    def known(self, wanted: Wanted) -> int:
        """How many of the lookups are in the cache."""
        if self._cache is None:
            return 0
        sent = [place.as_sent() for place in wanted.dated()]
        return len(self._cache.known(self.source, sent, detail=self._options.detail))

    def quota(self) -> int | None:
        """How many lookups the account had left, as the cache remembers it."""
        return None if self._cache is None else self._cache.quota(self.source)

    def resolve(self, queries: Queries, control: Control = UNCONTROLLED) -> Results:
        """See `ResultSource.resolve`."""
        options, wanted = self._options, queries.wanted(self.grain)
        places = wanted.dated()
        run = look_up(
            self._client,
            places,
            cache=self._cache,
            detail=options.detail,
            concurrency=options.concurrency,
            deadline=options.deadline,
            **control._asdict(),
        )
        return Results(
            self.service,
            self.source,
            self.grain,
            queries,
            wanted,
            [*run.outcomes.values()],  # in the order of the places, each of which is there once
            np.arange(len(places)),
            stopped=run.stopped,
            asked=run.asked,
            cached=run.cached,
            requests=run.requests,
        )


class BookSource(ResultSource):
    """The embedded book: each place is computed once for each span of days with one result.

    Nothing is cached, and no date is coarser than the row's: computing it costs less than reading
    it, and cannot be out of date.

    Args:
        client: a client of the embedded service.
        options: those of the lookup.
        today: the day of queries without one; `None` for that of the run.
        geocoding: that of street addresses; by default what the options say.
    """

    is_computed = True

    def __init__(
        self,
        client: EmbeddedSvc,
        options: LookupOptions,
        *,
        today: date | None = None,
        geocoding: Geocoding | None = None,
    ) -> None:
        self._client, self._options, self._today = client, options, today
        self.service, self.source = name_of_service(client), source_of(client)
        self.geocoding = geocoding or geocoding_of(options.geocode, options.cache)

    def notes_on(self, inputs: Inputs) -> list[str]:
        """How days are looked up, and what geocoding has found."""
        of_addresses = [] if self.geocoding is None else self.geocoding.notes
        return [*super().notes_on(inputs), *of_addresses]

    def resolve(self, queries: Queries, control: Control = UNCONTROLLED) -> Results:
        """See `ResultSource.resolve`."""
        # of `refresh` nothing: no result is stored that could be another one by now
        of, progress, stop = self._options, control.progress, control.stop
        run = RunOptions(detail=of.detail, concurrency=of.concurrency, deadline=of.deadline)
        wanted = queries.wanted(self.grain)
        order = np.argsort(wanted.place_of * DAY_SPAN + wanted.days, kind="stable")
        days, ends = wanted.days[order].tolist(), _ends(wanted)
        found: list[tuple[int, list[int], list[Outcome]]] = []
        undated = () if self._today is None else (self._today.toordinal(),)
        done, stopped = 0, None
        ends_at, may_end = Ends(run.deadline, stop), not (run.deadline is None and stop is None)
        positions: dict[Place, Position] = {}
        if self.geocoding is not None:
            try:
                positions = self.geocoding.positions(wanted.places, ends_at, progress)
            except KeyboardInterrupt:
                stopped = INTERRUPTED
        with (
            Computed(self._client, detail=run.detail) as book,
            all_stay(),
            stage(progress, "Looking up", len(wanted), "places") as shown,
        ):
            try:
                for place, end in zip(book.surveyed(wanted.places), ends, strict=True):
                    if stopped or (may_end and (stopped := ends_at.why()) is not None):
                        break
                    begin, own = done, days[done:end]
                    if own:
                        at = positions.get(place)
                        there = place if at is None else replace(place, position=at)
                        found.append((begin, *book.spans(there, own if own[0] else undated)))
                    done = end
                    if progress is not None:
                        shown.advance(end - begin)
            except KeyboardInterrupt:
                stopped = INTERRUPTED
                done = next((end for end in ends if found and end > found[-1][0]), 0)
            moment, today = book.at, self._today or book.today
            service = ServiceName(self.service.name, book.edition)
            source = embedded_source(book.digest)  # files may have been imported since `__init__`
        begins = [begin + span for begin, spans, _ in found for span in spans]
        outcomes = [outcome for *_, each in found for outcome in each]
        if done < len(wanted):
            begins, outcomes = [*begins, done], [*outcomes, not_attempted(stopped or STOPPED)]
        of_lookup = np.empty(len(wanted), np.int64)
        of_lookup[order] = np.repeat(np.arange(len(begins)), np.diff([*begins, len(wanted)]))
        return Results(
            service,
            source,
            self.grain,
            queries,
            wanted,
            outcomes,
            of_lookup,
            at=moment,
            today=today,
            stopped=stopped,
            asked=done,
            geocoder="" if self.geocoding is None else self.geocoding.name,
        )


def _ends(wanted: Wanted) -> list[int]:
    """Where the lookups of each place end, in the order of the places."""
    ends: list[int] = np.cumsum(np.bincount(wanted.place_of, minlength=len(wanted.places))).tolist()
    return ends


class LockSource(ResultSource):
    """A lock file: places that are not in it are `not_attempted`."""

    store = "the lock file"

    def __init__(self, lock: Lock, options: LookupOptions) -> None:
        self._lock, self._options = lock, options
        self.service, self.source = ServiceName(lock.name, lock.edition), lock.source
        self.grain = options.as_of_grain
        if is_embedded(lock.source) and not _are_first_days(lock.results, self.grain):
            self.grain = "day"  # of the embedded service, unless an earlier release looked them up

    def notes_on(self, inputs: Inputs) -> list[str]:
        """From when the results are, and how days are looked up."""
        return [*super().notes_on(inputs), *self._lock.notes]

    def resolve(self, queries: Queries, control: Control = UNCONTROLLED) -> Results:
        """See `ResultSource.resolve`."""
        del control
        wanted = queries.wanted(self.grain)
        places, detail = wanted.dated(), self._options.detail
        found = self._lock.outcomes(places, detail=detail)
        return Results(
            self.service,
            self.source,
            self.grain,
            queries,
            wanted,
            [*map(found.__getitem__, places)],
            np.arange(len(places)),
            today=self._lock.today,
            cached=sum(outcome.cached for outcome in found.values()),
        )


def _are_first_days(places: Iterable[Place], grain: Grain) -> bool:
    """Whether all days are first ones of their periods."""
    days = {place.as_of for place in places if place.as_of}
    return all(day == first_day(day, grain) for day in days)


def name_of_service(client: Svc) -> ServiceName:
    """The service of a client."""
    edition = client.book_edition if isinstance(client, EmbeddedSvc) else None
    return ServiceName(service_name(client), edition)
