"""The shared lookups of a process: each place is looked up once for all cells.

A spreadsheet computes its formulas again and again, several at a time. The desk caches results, so
that a recalculation sends no requests; a place that is being looked up is waited for instead of
looked up twice; and only a refresh requests again: no result from before its moment, `since`, is
used after it. Nothing here writes to the account.

A result is valid as long as in the cache of lookups (`lookup.cache`): a rate of today until
the local day ends. A failure is valid for a minute, and a failure of the service as a whole stops
all lookups for a minute: a sheet may compute thousands of cells one after the other, and each of
them would wait as long as the first, or send a rejected key again.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from svc_sdk import SvcError
from svc_tools.config import ConfigurationError, EmbeddedSvc, service_name, source_of
from svc_tools.excel.values import NotAvailableError
from svc_tools.lookup import Outcome, look_up
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.expiry import CLOCK_SKEW, LocalDays, keeps_until
from svc_tools.lookup.key_check import check_key
from svc_tools.lookup.outcomes import not_attempted
from svc_tools.show.display import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import date

    from svc_sdk import Svc
    from svc_tools.lookup.cache import CacheChoice, ResultStore
    from svc_tools.nexus.register import Register
    from svc_tools.tables.places import Place

PATIENCE, PER_PLACE = 30.0, 0.1
"""Seconds that a burst may take, and those added for each of its places."""
_EVER = datetime.min.replace(tzinfo=UTC)
_PAUSE = timedelta(seconds=60)
"""How long a failure is valid."""
_NOT_REACHED = Outcome("not_attempted", "the lookup ended before this place was reached")
_log = logging.getLogger(__name__)
_desks: list[Desk] = []
_making = threading.Lock()
_inherited: list[Desk] = []
"""The desk of the parent of a forked child. Referenced, so that no finalizer of it runs there."""


def _new_desk() -> None:
    global _making  # noqa: PLW0603 - one per process
    _making = threading.Lock()
    # a thread that is not here may hold its locks, or look up what its cells wait for
    _inherited.extend(_desks)
    _desks.clear()


if hasattr(os, "register_at_fork"):  # Windows does not fork
    os.register_at_fork(after_in_child=_new_desk)


def the_desk() -> Desk:
    """The desk of this process, made at first use, with the service of the settings."""
    with _making:
        if not _desks:
            _desks.append(Desk())
        return _desks[0]


class ServiceInfo(NamedTuple):
    """A service: its name for readers, and the edition of its rates where it is known."""

    name: str
    edition: str | None = None

    @property
    def text(self) -> str:
        """Name and edition."""
        return f"{self.name}, edition {self.edition}" if self.edition else self.name


class RefreshPlan(NamedTuple):
    """What a refresh would look up.

    Attributes:
        places: the distinct places; each is one lookup.
        cells: how many cells use them.
        unknown: how many cells use a place that is known only once they are computed: it is looked
            up then, in the recalculation after the refresh.
    """

    places: tuple[Place, ...]
    cells: int
    unknown: int = 0

    @property
    def sentence(self) -> str:
        """The plan in words."""
        if not self.places and not self.unknown:
            return "No cell of this workbook looks a place up."
        text = f"{counted(len(self.places), 'lookup')} for {counted(self.cells, 'cell')}."
        if not self.unknown:
            return text
        return (
            f"{text} The places of {counted(self.unknown, 'cell')} are known only when they are"
            " computed: these are looked up then, in addition."
        )


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """Result of a refresh.

    Attributes:
        since: its moment (UTC), for the recalculation after it.
        requested: how many places were looked up again.
        changed: how many results differ from an earlier one.
        failed: how many places got no result.
        why: why the first of them failed, or the service as a whole; `None` where none did.
        register: why the nexus register, which stays then, could not be listed again, if so.
    """

    since: datetime
    requested: int
    changed: int = 0
    failed: int = 0
    why: str | None = None
    register: str | None = None

    @property
    def happened(self) -> bool:
        """Whether there is anything new. Else nothing has changed, and there is nothing to do."""
        return self.failed < self.requested or (not self.requested and self.why is None)

    @property
    def sentence(self) -> str:
        """The report in words."""
        if not self.happened:
            text = f"Nothing was refreshed, and no result changed: {self.why}."
        elif not self.requested:
            text = "There is nothing to look up again."
        else:
            changes = f"{counted(self.changed, 'result')} changed" if self.changed else "no change"
            text = f"{counted(self.requested, 'place')} looked up again: {changes}."
            if self.failed:
                text += f" {counted(self.failed, 'place')} without a result ({self.why})."
        if self.register:
            text += f" The nexus register was not refreshed: {self.register.removesuffix('.')}."
        return text


class Desk:
    """The lookups that all cells share; safe to use from several threads.

    Args:
        client: the client; that of the settings where left out, made at first use.
        cache: where results are stored between sessions: `None` for the configured file, `False`
            for nowhere, a path, or an open cache. Those of the embedded service are not stored.
        clock: the time (aware); the machine's where left out.
        patience: as `PATIENCE`: a service that hangs must not hang the sheet.
    """

    def __init__(
        self,
        client: Svc | None = None,
        *,
        cache: CacheChoice = None,
        clock: Callable[[], datetime] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._cache = cache
        self._clock = clock or (lambda: datetime.now(UTC))
        self._patience = patience
        self._lock = threading.Lock()
        self._session = _Session(client, self._clock)
        self._notes: dict[str, None] = {}

    def look_up(
        self, places: Iterable[Place], since: datetime | None = None
    ) -> dict[Place, Outcome]:
        """The outcome of every distinct place, in their order.

        Cached places are not requested, and those that another thread is looking up are waited
        for; the rest is looked up in one run. No result requested before `since` (aware), the
        moment of a refresh, is used. Raises nothing: an error is an outcome with its reason.
        """
        wanted = dict.fromkeys(places)
        while True:
            session = self._session
            outcomes = self._outcomes(session, wanted, since or _EVER)
            if session is self._session:  # results of a former client do not count
                return outcomes

    def uncached(self, places: Iterable[Place], since: datetime | None = None) -> int:
        """How many distinct places would have to be looked up now; nothing is looked up."""
        wanted = dict.fromkeys(places)
        with self._lock:
            return len(wanted) - len(self._session.known(wanted, self._clock(), since or _EVER))

    def refresh(self, places: Iterable[Place]) -> RefreshReport:
        """Look places up again in one run, past memory and disk, and list the register again.

        Earlier results are shown until the new ones are in. Then a place without a new one shows
        its failure; but where there is none at all, because the service is away or refuses the
        key, the earlier ones stay.
        """
        session = self._session
        wanted = list(dict.fromkeys(places))
        since = self._clock()
        with self._lock:
            old = {
                place: session.results[place].outcome
                for place in wanted
                if place in session.results
            }
        burst = self._burst_result(session, wanted, since)
        new, before = burst.outcomes, {**burst.stored, **old}
        failures = {
            place: outcome.error for place, outcome in new.items() if not _is_result(outcome)
        }
        why = next(filter(None, failures.values()), None)
        if not wanted:  # the cells are computed next: not where the service is away
            try:
                check_key(session.client())
            except Exception as error:  # noqa: BLE001 - as below
                why = _explained(error, "the service cannot be used")
        with self._lock:
            ended_at = self._clock()
            session.note_outage(burst, since, ended_at)
            if len(failures) < len(new):
                session.store(new, since, ended_at + _PAUSE)
        if len(failures) < len(new):
            with self._opened_cache(session.client()) as cache:
                if cache is not None:  # else another session would use them
                    cache.forget(source_of(session.client()), failures)
        changed = sum(
            (new[place].status, new[place].found) != (former.status, former.found)
            for place, former in before.items()
            if place not in failures
        )
        register = session.register.refresh(session.client)
        return RefreshReport(since, len(new), changed, len(failures), why, register)

    def register(self) -> Register:
        """The account's nexus records, as first listed this day or by a refresh.

        Raises:
            NotAvailableError: they cannot be listed; a failure is valid for a minute.
        """
        while True:
            session = self._session
            register = session.register.current(session.client)
            if session is self._session:  # else it is another account's
                return register

    def refresh_register(self) -> str | None:
        """List the register again, as after a removal; the reason where that fails."""
        return self._session.register.refresh(self._session.client)

    @property
    def client(self) -> Svc:
        """The client in use.

        Raises:
            ConfigurationError: the configuration cannot be used.
            ImportError: the embedded service is configured and not installed.
        """
        return self._session.client()

    @property
    def service(self) -> ServiceInfo:
        """The service in use.

        Raises:
            NotAvailableError: the configuration cannot be used.
        """
        try:
            found = self.client
        except Exception as error:  # noqa: BLE001 - a cell has no other way to show what happened
            why = _explained(error, "The service cannot be reached")
            raise NotAvailableError(why, "FAILED") from None
        edition = found.book_edition if isinstance(found, EmbeddedSvc) else None
        return ServiceInfo(service_name(found), edition)

    @property
    def source(self) -> str:
        """Name and edition of the service; where the configuration cannot be used, the reason."""
        try:
            return self.service.text
        except NotAvailableError as error:
            return error.message

    @property
    def today(self) -> date:
        """The local day of now."""
        return self._clock().astimezone().date()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know of the cache: a damaged file was set aside, a full disk."""
        return tuple(self._notes)

    @property
    def cached(self) -> int:
        """How many places have a result in this session."""
        with self._lock:
            return sum(_is_result(result.outcome) for result in self._session.results.values())

    @property
    def oldest(self) -> datetime | None:
        """The time of the oldest result of this session (UTC); `None` without one."""
        with self._lock:
            found = [result.outcome.looked_up_at for result in self._session.results.values()]
        return min(filter(None, found), default=None)

    @property
    def spent(self) -> int:
        """How many lookups the service responded to in this session, with or without a rate."""
        return self._session.spent

    @property
    def left(self) -> int | None:
        """How many lookups the account has left this month; `None` where the service reports none.

        Before the first lookup of a session that is what another session stored. Raises as
        `client` does.
        """
        session = self._session
        if session.left is not None:
            return session.left
        with self._opened_cache(session.client()) as cache:
            return None if cache is None else cache.quota(source_of(session.client()))

    def use(self, client: Svc | None) -> None:
        """Use another client, `None` for that of the settings; results of the former one go."""
        with self._lock:
            self._session = _Session(client, self._clock)

    def _outcomes(
        self, session: _Session, wanted: dict[Place, None], since: datetime
    ) -> dict[Place, Outcome]:
        """The outcome of each place: stored, from a burst in flight, or from one new burst.

        May send requests, and wait for those of other threads. `session` lists its burst while it
        runs; then it stores the outcomes, and an outage.
        """
        now = self._clock()
        if since > now + CLOCK_SKEW:
            since = _EVER  # the clock was set back: each recalculation would be billed
        with self._lock:
            known = session.known(wanted, now, since)
            if len(known) == len(wanted):
                return known
            bursts = {place: session.in_flight.get(place) for place in wanted if place not in known}
            waited_for = {
                place: burst
                for place, burst in bursts.items()
                if burst and burst.requested_at >= since
            }
            own = [place for place in bursts if place not in waited_for]
            burst = _Burst(now)
            session.in_flight.update(dict.fromkeys(own, burst))
            outage = session.paused if session.paused and now < session.paused.until else None
        if own:
            result = _BurstResult({})
            try:
                result = self._burst_result(session, own, since, outage)
            finally:  # threads that wait for it are released whatever happens
                with self._lock:
                    for place in own:
                        if session.in_flight.get(place) is burst:  # else a newer one
                            del session.in_flight[place]
                    burst.set_result(result.outcomes)
                    ended_at = self._clock()  # a burst may take minutes
                    session.note_outage(result, now, ended_at)
                    session.store(result.outcomes, now, result.paused_until or ended_at + _PAUSE)
            known |= result.outcomes
        for place, other in waited_for.items():
            known[place] = other.result().get(place, _NOT_REACHED)
        return {place: known.get(place, _NOT_REACHED) for place in wanted}

    def _burst_result(
        self, session: _Session, places: list[Place], since: datetime, outage: _Outage | None = None
    ) -> _BurstResult:
        """The outcomes of distinct places, looked up in one run.

        No result older than `since` is read from the cache. In an outage only the cache is read.
        """
        deadline = self._patience + PER_PLACE * len(places)
        try:
            client = session.client()
            with self._opened_cache(client) as cache:
                past_cache = since > _EVER
                stored: Mapping[Place, Outcome] = {}
                if cache is not None and (outage or past_cache):
                    stored = cache.known(source_of(client), places, detail=False)
                known = {
                    place: outcome
                    for place, outcome in stored.items()
                    if outcome.looked_up_at is not None and outcome.looked_up_at >= since
                }
                rest = [place for place in places if place not in known]
                if outage:
                    found = dict.fromkeys(rest, not_attempted(outage.why)) | known
                    return _BurstResult(found, paused_until=outage.until)
                run = look_up(client, rest, cache=cache, refresh=past_cache, deadline=deadline)
                fresh = [outcome for outcome in run.outcomes.values() if not outcome.cached]
                with self._lock:
                    session.spent += sum(map(_is_result, fresh))
                    session.left = session.left if run.quota is None else run.quota
                return _BurstResult(run.outcomes | known, run.stopped, stored)
        except Exception as error:  # noqa: BLE001 - a cell has no other way to show what happened
            outcome = Outcome("failed", _explained(error, "the places could not be looked up"))
            until = outage.until if outage else None  # each cell would make it longer
            return _BurstResult(dict.fromkeys(places, outcome), paused_until=until)

    @contextmanager
    def _opened_cache(self, client: Svc) -> Iterator[ResultStore | None]:
        with opened_cache(self._cache, of=client) as cache:
            try:
                yield cache
            finally:
                self._notes.update(dict.fromkeys(cache.notes if cache is not None else ()))


class _Outage(NamedTuple):
    """Why no requests are sent, and until when."""

    why: str
    until: datetime


class _BurstResult(NamedTuple):
    """The outcomes of a burst, why it ended early, if so, and what the cache held before it."""

    outcomes: dict[Place, Outcome]
    stopped: str | None = None
    stored: Mapping[Place, Outcome] = MappingProxyType({})
    paused_until: datetime | None = None


class _Burst(Future["dict[Place, Outcome]"]):
    """The outcomes of places that one thread looks up, and others may wait for."""

    def __init__(self, requested_at: datetime) -> None:
        super().__init__()
        self.requested_at = requested_at


class _Cached(NamedTuple):
    outcome: Outcome
    until: datetime
    requested_at: datetime


class _Session:
    """The results of one client; another client begins another session.

    Its results and its outage are read and changed under the desk's lock.
    """

    def __init__(self, client: Svc | None, clock: Callable[[], datetime]) -> None:
        self.results: dict[Place, _Cached] = {}
        self.in_flight: dict[Place, _Burst] = {}
        self.paused: _Outage | None = None
        self.register = _RegisterCache(clock)
        self.spent = 0
        self.left: int | None = None
        self._worked_at = self._forgets_at = _EVER
        self._days = LocalDays()
        self._client = client
        self._making = threading.Lock()

    def client(self) -> Svc:
        """The client, made from the settings at first use; see `Desk.client`."""
        with self._making:
            if self._client is None:
                from svc_tools.excel import settings  # noqa: PLC0415 - not for a given client

                self._client = settings.client()
                # a client made here is closed with the last thread that uses the session
                weakref.finalize(self, self._client.close)
            return self._client

    def known(
        self, places: Iterable[Place], now: datetime, since: datetime
    ) -> dict[Place, Outcome]:
        """The outcomes that are still valid, and not older than a refresh."""
        found = ((place, self.results.get(place)) for place in places)
        latest = now + CLOCK_SKEW  # what is later was stored before the clock was set back
        return {
            place: result.outcome
            for place, result in found
            if result is not None and now < result.until and since <= result.requested_at <= latest
        }

    def store(
        self, outcomes: Mapping[Place, Outcome], requested_at: datetime, retry_at: datetime
    ) -> None:
        """Store outcomes, unless there are newer ones; failures are valid until `retry_at`."""
        if requested_at >= self._forgets_at:  # so that months of a session fit in memory
            self._forgets_at = requested_at + timedelta(days=1)
            self.results = {
                key: result for key, result in self.results.items() if result.until > requested_at
            }
        today, day_ends = self._days.of(requested_at)
        for place, outcome in outcomes.items():
            since = requested_at
            if outcome.cached and outcome.looked_up_at is not None:
                since = min(since, outcome.looked_up_at)  # as old as it is on the disk
            stored = self.results.get(place)
            if stored and since < stored.requested_at <= requested_at + CLOCK_SKEW:
                continue
            until = keeps_until(
                outcome, place.as_of, responded_at=requested_at, today=today, day_ends=day_ends
            )
            self.results[place] = _Cached(outcome, until or retry_at, since)

    def note_outage(self, burst: _BurstResult, requested_at: datetime, now: datetime) -> None:
        """Take account of a burst: one result in it, or since it began, and the service works.

        An error response for one place means nothing for the others.
        """
        if burst.paused_until is not None:
            return
        fresh = [outcome for outcome in burst.outcomes.values() if not outcome.cached]
        if any(map(_is_result, fresh)):
            self.paused, self._worked_at = None, now
        elif self._worked_at <= requested_at:
            without_response = (outcome.error for outcome in fresh if outcome.looked_up_at is None)
            why = burst.stopped or next(filter(None, without_response), None)
            self.paused = _Outage(why, now + _PAUSE) if why else self.paused


def _is_result(outcome: Outcome) -> bool:
    """Whether the service responded, even if it knows no rate."""
    return outcome.found is not None or outcome.means.not_found


def _explained(error: Exception, otherwise: str) -> str:
    """What a cell may show of an error: our own messages; of others only the type, also logged."""
    if isinstance(error, ConfigurationError | ImportError | SvcError):
        return str(error)
    _log.error("%s: %s", otherwise, type(error).__name__)
    return f"{otherwise} ({type(error).__name__})"


class _RegisterCache:
    """The register of one account, listed once a day; threads share one request."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._days = LocalDays()
        self._known: tuple[Register | NotAvailableError, datetime] | None = None

    def current(self, client: Callable[[], Svc]) -> Register:
        """The register, as it was listed this day; see `Desk.register`."""
        found = self._valid()  # also while it is being listed again
        if found is None:
            with self._lock:
                found = self._valid() or self._listed(client)
        if isinstance(found, NotAvailableError):
            raise NotAvailableError(found.message, found.word)
        return found

    def refresh(self, client: Callable[[], Svc]) -> str | None:
        """List it again, if any cell has used it; why that failed, if so: the old one stays."""
        with self._lock:
            found = None if self._known is None else self._listed(client)
        return found.message if isinstance(found, NotAvailableError) else None

    def _valid(self) -> Register | NotAvailableError | None:
        known = self._known
        return known[0] if known is not None and self._clock() < known[1] else None

    def _listed(self, client: Callable[[], Svc]) -> Register | NotAvailableError:
        """The register or why it cannot be listed, which is valid for a minute."""
        from svc_tools import nexus  # noqa: PLC0415 - few cells need it

        _, day_ends = self._days.of(self._clock())
        try:
            register = nexus.list_register(client())
        except Exception as error:  # noqa: BLE001 - as above
            ours = isinstance(error, nexus.NotListedError | nexus.RegisterError)
            why = str(error) if ours else _explained(error, "the nexus records could not be listed")
            word = "UNSUPPORTED" if isinstance(error, nexus.NotListedError) else "FAILED"
            failure = NotAvailableError(why, word)
            if not isinstance(self._valid(), nexus.Register):
                self._known = failure, self._clock() + _PAUSE
            return failure
        self._known = register, day_ends
        return register
