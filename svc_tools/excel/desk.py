"""Where all cells of a process ask: each place is asked for once, whoever asks for it.

A spreadsheet computes its formulas again and again, and several at a time. The desk remembers what
was answered, so that a recalculation asks nothing; what is under way is waited for, not asked for
twice; and only a refresh asks anew. Nothing here writes to the account.
"""

# MERGED memory: What a desk remembers: the answers that the cells of a session show. Not thread-safe by itself.
#
# MERGED memory: An answer is kept as long as the cache of lookups may keep it (`lookup.cache_keeping`): a rate of
# MERGED memory: today until the local day ends. A failure is kept for a minute, so that a recalculation of thousands
# MERGED memory: of cells does not ask a service thousands of times that is not there.
# MERGED calm: Whether the service is worth asking: a sheet may compute thousands of cells one after the other.
#
# MERGED calm: Where it hangs, is not there or refuses the key, each of them would wait as long as the first, and
# MERGED calm: a refused key would be sent thousands of times. So the first failure speaks for all of them for a
# MERGED calm: minute. Not thread-safe by itself.
# MERGED lookups: A burst of lookups for cells: whatever goes wrong is an outcome with a sentence.
# MERGED registers: The register that cells show: listed once a day, and by a refresh.
# MERGED refreshing: What came of a refresh: counted, and in a sentence for a message box or a task pane.

from __future__ import annotations

import logging
import threading
import weakref
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from svc_sdk import SvcError
from svc_tools.config import ConfigurationError, EmbeddedSvc, service_name, source_of
from svc_tools.display import counted
from svc_tools.excel.values import NotAvailableError
from svc_tools.lookup import Outcome, look_up
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.cache_file import LocalDays, keeps_until
from svc_tools.lookup.outcomes import not_attempted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from datetime import date

    from svc_sdk import Svc
    from svc_tools.config import Source
    from svc_tools.lookup.cache import Answers, CacheChoice
    from svc_tools.nexus.register import Register
    from svc_tools.places import Place

PATIENCE = 30.0
"""Seconds that a burst may take, besides a tenth of one for each of its places."""
_PER_PLACE = 0.1


@dataclass(frozen=True, slots=True)
class Who:
    """Who answers: a name for readers, and the edition of the rates where it is known."""

    name: str
    edition: str | None = None

    @property
    def words(self) -> str:
        """Both in words."""
        return f"{self.name}, edition {self.edition}" if self.edition else self.name


class Desk:
    """The one place where cells ask; safe to use from several threads.

    Args:
        client: who answers; what the settings say where left out, from the first use on.
        cache: where answers are kept between sessions: `None` for the configured file, `False`
            for nowhere, a path, or an open one.
        clock: the time (aware); the machine's where left out.
        patience: seconds that a burst may take, besides a tenth of one for each place: a service
            that hangs must not hang the sheet.
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
        self._clock = clock or _now
        self._patience = patience
        self._lock = threading.Lock()
        self._session = _Session(client, self._clock)
        self._notes: dict[str, None] = {}

    def ask(self, places: Iterable[Place]) -> dict[Place, Outcome]:
        """The outcome of every distinct place, in their order.

        What is remembered is not asked for; what another thread asks for is waited for. The rest is
        asked for in one run. Raises nothing: what goes wrong is an outcome with its reason.
        """
        wanted = dict.fromkeys(places)
        while True:
            session = self._session
            outcomes = self._ask(session, wanted)
            if session is self._session:  # what a former client tells is no answer any more
                return outcomes

    def _ask(self, session: _Session, wanted: dict[Place, None]) -> dict[Place, Outcome]:
        now = self._clock()
        with self._lock:
            known = session.memory.known(wanted, now)
            missing = [place for place in wanted if place not in known]
            waited_for = {
                place: session.in_flight[place] for place in missing if place in session.in_flight
            }
            own = [place for place in missing if place not in waited_for]
            burst = _Burst()
            session.in_flight.update(dict.fromkeys(own, burst))
        if own:
            self._look_up(session, own, burst, now)
            known |= burst.outcomes
        for place, other in waited_for.items():
            other.over.wait()
            known[place] = other.outcomes.get(place, _LEFT)
        return {place: known.get(place, _LEFT) for place in wanted}

    def _look_up(
        self, session: _Session, places: list[Place], burst: _Burst, now: datetime
    ) -> None:
        """Ask for a burst; whoever waits for it is released whatever happens."""
        unasked = session.trouble.why(now)
        heard = Heard({})
        try:
            heard = look_up_all(
                session.client,
                places,
                self._cache,
                deadline=self._deadline(places),
                notes=self._notes,
                unasked=unasked,
            )
        finally:
            burst.outcomes = heard.outcomes
            with self._lock:
                for place in places:
                    del session.in_flight[place]
                burst.over.set()
                came_at = self._clock()  # a burst may take minutes
                calm_until = came_at + CALM
                if unasked is None:
                    session.trouble.heard(heard, now, came_at)
                else:
                    calm_until = session.trouble.until or came_at
                session.memory.keep(heard.outcomes, now, calm_until)

    def unasked(self, places: Iterable[Place]) -> int:
        """How many distinct places would have to be asked for now; nothing is asked."""
        wanted = dict.fromkeys(places)
        with self._lock:
            return len(wanted) - len(self._session.memory.known(wanted, self._clock()))

    def refresh(self) -> RefreshReport:
        """Ask anew, past the cache, for every place of this session, and for the register.

        Old answers are told until the new ones are in, and stay where there is no new one. While
        one refresh is under way, another waits for it and reports the same.
        """
        mine = _Refreshing()
        while True:
            with self._lock:
                session = self._session
                running = session.refreshing
                if running is None:
                    session.refreshing = mine
                    break
            running.over.wait()
            if running.report:
                return running.report
        try:
            mine.report = self._refreshed(session)
            return mine.report
        finally:
            with self._lock:
                session.refreshing = None
            mine.over.set()

    def _refreshed(self, session: _Session) -> RefreshReport:
        now = self._clock()
        with self._lock:
            old = session.memory.all(now)
        heard = Heard({})
        if old:
            heard = look_up_all(
                session.client,
                [*old],
                self._cache,
                deadline=self._deadline(old),
                notes=self._notes,
                anew=True,
            )
        new = heard.outcomes
        with self._lock:
            came_at = self._clock()
            session.trouble.heard(heard, now, came_at)
            session.memory.keep(worth_keeping(old, new), now, came_at + CALM)
        return report_on(old, new, session.register.renew(session.client))

    def _deadline(self, places: list[Place] | dict[Place, Outcome]) -> float:
        return self._patience + _PER_PLACE * len(places)

    def register(self) -> Register:
        """The account's nexus records, as they were listed first this day or by a refresh.

        Raises:
            NotAvailableError: they cannot be listed; a failure is kept for a minute.
        """
        while True:
            session = self._session
            register = session.register.told(session.client)
            if session is self._session:  # else it is another account's
                return register

    def renew_register(self) -> str | None:
        """List the register anew, as after a removal; why that failed, where it did."""
        session = self._session
        return session.register.renew(session.client)

    @property
    def client(self) -> Svc:
        """The client in use.

        Raises:
            ConfigurationError: the configuration cannot be used.
            ImportError: the embedded service is wanted and not installed.
        """
        return self._session.client()

    @property
    def who(self) -> Who:
        """Who answers.

        Raises:
            NotAvailableError: the configuration cannot be used.
        """
        return who_answers(self._session.client)

    @property
    def source(self) -> str:
        """Who answers, in words; why nobody does where the configuration cannot be used."""
        return who_answers(self._session.client, or_why=True).words

    @property
    def today(self) -> date:
        """The local day of now."""
        return self._clock().astimezone().date()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the cache: a damaged file was set aside, a full disk."""
        return tuple(self._notes)

    @property
    def answered(self) -> int:
        """How many places have an answer in this session."""
        with self._lock:
            return self._session.memory.answered

    @property
    def oldest(self) -> datetime | None:
        """When the oldest answer of this session was given (UTC); `None` where there is none."""
        with self._lock:
            return self._session.memory.oldest

    def use(self, client: Svc | None) -> None:
        """Ask another client from now on: what the former one told is forgotten.

        Args:
            client: the client; `None` for what the settings say by now.
        """
        with self._lock:
            self._session = _Session(client, self._clock)


_desks: list[Desk] = []
_LEFT = Outcome("not_attempted", "the lookup ended before this place was asked for")


class _Burst:
    """Places that one thread asks for, and others wait for."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.outcomes: dict[Place, Outcome] = {}


class _Refreshing:
    """A refresh under way, that others may wait for."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.report: RefreshReport | None = None


class _Session:
    """What is known from one client; another client begins another session."""

    def __init__(self, client: Svc | None, clock: Callable[[], datetime]) -> None:
        self.memory = Memory()
        self.in_flight: dict[Place, _Burst] = {}
        self.trouble = Trouble()
        self.refreshing: _Refreshing | None = None
        self.register = RegisterKept(clock)
        self._client = client
        self._making = threading.Lock()

    def client(self) -> Svc:
        """The client, made from the settings at first use.

        Raises:
            ConfigurationError: the configuration cannot be used.
            ImportError: the embedded service is wanted and not installed.
        """
        with self._making:
            if self._client is None:
                from svc_tools.excel import settings  # noqa: PLC0415 - a desk with a client needs none

                self._client = settings.client()
                # one of our own making ends with the last who asks through it
                weakref.finalize(self, self._client.close)
            return self._client


def _now() -> datetime:
    return datetime.now(UTC)


_making = threading.Lock()


def the_desk() -> Desk:
    """The desk of this process, made at first use; who answers is what the settings say."""
    with _making:
        if not _desks:
            _desks.append(Desk())
        return _desks[0]


CALM = timedelta(seconds=60)
"""For how long a failure is not asked about again."""
_FORGOTTEN = timedelta(days=1)
"""How long after its end an outcome is still renewed. Later no cell may show it any more, and one
that does is asked for by the recalculation after a refresh: a formula with TODAY() asks about other
places each day, and those of last month are not to be paid for again."""


class _Kept(NamedTuple):
    outcome: Outcome
    until: datetime
    asked_at: datetime


def is_answer(outcome: Outcome) -> bool:
    """Whether the service answered, be it to say that it knows no rate."""
    return outcome.found is not None or outcome.status == "unresolved"


class Memory:
    """Outcomes by place.

    What is out of date is not told any more, and stays for a day: a refresh asks for it, too.
    """

    def __init__(self) -> None:
        self._kept: dict[Place, _Kept] = {}
        self._days = LocalDays()
        self._forgets_at = datetime.min.replace(tzinfo=UTC)

    def known(self, places: Iterable[Place], now: datetime) -> dict[Place, Outcome]:
        """The outcomes that still hold."""
        kept = self._kept
        found = ((place, kept.get(place)) for place in places)
        return {place: one.outcome for place, one in found if one is not None and now < one.until}

    def keep(
        self, outcomes: Mapping[Place, Outcome], asked_at: datetime, calm_until: datetime
    ) -> None:
        """Remember outcomes, unless newer ones are there.

        Args:
            outcomes: what is to be remembered.
            asked_at: when they were asked for; how long an answer is kept is counted from there.
            calm_until: until when failures are kept.
        """
        self._forget(asked_at)
        today, day_ends = self._days.of(asked_at)
        for place, outcome in outcomes.items():
            kept = self._kept.get(place)
            if kept is not None and kept.asked_at > asked_at:
                continue
            until = keeps_until(
                outcome, place.as_of, answered=asked_at, today=today, day_ends=day_ends
            )
            self._kept[place] = _Kept(outcome, until or calm_until, asked_at)

    def _forget(self, now: datetime) -> None:
        """Once a day let go of what ended long ago, so that months of a program fit in memory."""
        if now < self._forgets_at:
            return
        self._forgets_at = now + timedelta(days=1)
        old = now - _FORGOTTEN
        self._kept = {place: one for place, one in self._kept.items() if one.until > old}

    def all(self, now: datetime) -> dict[Place, Outcome]:
        """Every outcome of the session that is worth renewing, the newest of each place."""
        self._forgets_at = now
        self._forget(now)
        return {place: one.outcome for place, one in self._kept.items()}

    @property
    def answered(self) -> int:
        """How many places the service has answered for."""
        return sum(is_answer(one.outcome) for one in self._kept.values())

    @property
    def oldest(self) -> datetime | None:
        """When the oldest of the answers was given; `None` where there is none."""
        moments = (one.outcome.looked_up_at for one in self._kept.values())
        return min((moment for moment in moments if moment is not None), default=None)


class Trouble:
    """The trouble that a service is in, as its last bursts told.

    Attributes:
        until: until when it is not asked for that.
    """

    def __init__(self) -> None:
        self._why = ""
        self.until: datetime | None = None
        self._answered_at: datetime | None = None

    def why(self, now: datetime) -> str | None:
        """Why the service is not to be asked now; `None` where it is."""
        return self._why if self.until is not None and now < self.until else None

    def heard(self, burst: Heard, asked_at: datetime, now: datetime) -> None:
        """Judge a burst: one answer to it, or since it began, and the service is worth asking.

        A place that it fails with a status of its own says nothing of the others.
        """
        told = [one for one in burst.outcomes.values() if not one.cached]
        if any(map(is_answer, told)):
            self.until, self._answered_at = None, now
            return
        if self._answered_at is not None and self._answered_at > asked_at:
            return
        unheard = (one.error for one in told if one.looked_up_at is None)
        why = burst.stopped or next((error for error in unheard if error), None)
        if why is not None:
            self._why, self.until = why, now + CALM


_log = logging.getLogger(__name__)


class Heard(NamedTuple):
    """What came of a burst; `stopped` is why it ended early, where it did."""

    outcomes: dict[Place, Outcome]
    stopped: str | None = None


def who_answers(client: Callable[[], Svc], *, or_why: bool = False) -> Who:
    """Who answers for a client.

    Raises:
        NotAvailableError: there is no client; with `or_why` the reason stands for the name.
    """
    try:
        found = client()
    except Exception as error:  # noqa: BLE001 - a cell has no other way to say what happened
        told = in_a_sentence(error, "Nobody can be asked")
        if or_why:
            return Who(told)
        raise NotAvailableError(told, "FAILED") from None
    edition = found.book_edition if isinstance(found, EmbeddedSvc) else None
    return Who(service_name(found), edition)


def look_up_all(
    client: Callable[[], Svc],
    places: Sequence[Place],
    cache: CacheChoice,
    *,
    deadline: float,
    notes: dict[str, None],
    anew: bool = False,
    unasked: str | None = None,
) -> Heard:
    """The outcomes of distinct places, asked for in one run.

    Args:
        client: gives the client.
        places: the places.
        cache: where answers are kept.
        deadline: seconds for all of it.
        notes: gets what a person should know of the cache, each sentence once.
        anew: read nothing from the cache; what comes is still kept there.
        unasked: why the service is not to be asked: there is what the cache knows, and no more.
    """
    try:
        with opened_cache(cache) as answers:
            kept = _Anew(answers) if anew and answers is not None else answers
            try:
                if unasked is not None:
                    return Heard(_remembered(client(), places, answers, unasked))
                run = look_up(client(), places, cache=kept, deadline=deadline)
                return Heard(run.outcomes, run.stopped)
            finally:
                notes.update(dict.fromkeys(answers.notes if answers is not None else ()))
    except Exception as error:  # noqa: BLE001 - a cell has no other way to say what happened
        outcome = Outcome("failed", in_a_sentence(error, "the places could not be looked up"))
        return Heard(dict.fromkeys(places, outcome))


def _remembered(
    client: Svc, places: Sequence[Place], answers: Answers | None, unasked: str
) -> dict[Place, Outcome]:
    known = {} if answers is None else answers.known(source_of(client), places, detail=False)
    return dict.fromkeys(places, not_attempted(unasked)) | known


def in_a_sentence(error: Exception, otherwise: str) -> str:
    """What a cell may say of an error: our own sentences; of others their kind, in the log only."""
    if isinstance(error, ConfigurationError | ImportError | SvcError):
        return str(error)
    _log.error("%s: %s", otherwise, type(error).__name__)
    return f"{otherwise} ({type(error).__name__})"


class _Anew:
    """A cache that is written to and not read."""

    def __init__(self, kept: Answers) -> None:
        self._kept = kept
        self.notes = kept.notes

    def known(
        self,
        source: Source,  # noqa: ARG002 - the protocol's
        places: Collection[Place],  # noqa: ARG002 - the protocol's
        *,
        detail: bool,  # noqa: ARG002 - the protocol's
    ) -> dict[Place, Outcome]:
        """Nothing: all is asked for."""
        return {}

    def keep(
        self, source: Source, answered: Sequence[tuple[Place, Outcome]], *, detail: bool
    ) -> None:
        """As the cache does."""
        self._kept.keep(source, answered, detail=detail)

    def quota(self, source: Source) -> int | None:
        """As the cache does."""
        return self._kept.quota(source)

    def told_quota(self, source: Source, remaining: int) -> None:
        """As the cache does."""
        self._kept.told_quota(source, remaining)


class RegisterKept:
    """The register of one account; threads that want it at once share one request."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._days = LocalDays()
        self._kept: tuple[Register, datetime] | None = None
        self._failed_at: datetime | None = None
        self._why = ("", "")

    def told(self, client: Callable[[], Svc]) -> Register:
        """The register, as it was listed this day.

        Raises:
            NotAvailableError: it cannot be listed.
        """
        if (register := self._current) is not None:
            return register  # also while it is being listed anew
        with self._lock:
            register = self._current
            if register is None and not self._just_failed:
                register = self._listed(client)
            if register is None:
                why, word = self._why
                raise NotAvailableError(why, word)
            return register

    def renew(self, client: Callable[[], Svc]) -> str | None:
        """List it anew, where somebody has asked for it; the old one stays where that fails.

        Returns:
            Why that failed; `None` where it did not.
        """
        with self._lock:
            if self._kept is None and self._failed_at is None:
                return None
            return None if self._listed(client) is not None else self._why[0]

    @property
    def _current(self) -> Register | None:
        kept = self._kept
        return kept[0] if kept is not None and self._clock() < kept[1] else None

    @property
    def _just_failed(self) -> bool:
        return self._failed_at is not None and self._clock() < self._failed_at + CALM

    def _listed(self, client: Callable[[], Svc]) -> Register | None:
        from svc_tools.nexus.register import RegisterError  # noqa: PLC0415 - the same
        from svc_tools.nexus.service import NotListedError, list_register  # noqa: PLC0415 - few cells ask for it

        _, day_ends = self._days.of(self._clock())
        try:
            register = list_register(client())
        except NotListedError as error:
            self._fail(str(error), "UNSUPPORTED")
        except RegisterError as error:
            self._fail(str(error), "FAILED")
        except Exception as error:  # noqa: BLE001 - a cell has no other way to say what happened
            self._fail(in_a_sentence(error, "the nexus records could not be listed"), "FAILED")
        else:
            self._kept = register, day_ends
            return register
        return None

    def _fail(self, why: str, word: str) -> None:
        self._failed_at, self._why = self._clock(), (why, word)


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What came of a refresh.

    Attributes:
        asked: how many places were asked about again.
        changed: for how many the answer is another now.
        failed: how many got no answer; where there was an old one, it stays.
        why: why the first of them failed, in a sentence; `None` where none did.
        register: why the nexus register could not be listed anew; `None` where it was, or where
            no cell asks for it.
    """

    asked: int
    changed: int
    failed: int
    why: str | None = None
    register: str | None = None

    @property
    def sentence(self) -> str:
        """The report in words."""
        told = self._of_places
        if self.register:
            told = f"{told} The nexus register stays as it was listed before: {self.register}"
        return told

    @property
    def _of_places(self) -> str:
        if not self.asked:
            return "There is nothing to ask again."
        changes = f"{counted(self.changed, 'answer')} changed" if self.changed else "none changed"
        told = f"{counted(self.asked, 'place')} asked again: {changes}."
        if not self.failed:
            return told
        return (
            f"{told} {counted(self.failed, 'place')} got no answer ({self.why}); cells with an"
            " older answer keep it."
        )

    def __str__(self) -> str:
        """The sentence."""
        return self.sentence


def worth_keeping(
    old: Mapping[Place, Outcome], new: Mapping[Place, Outcome]
) -> dict[Place, Outcome]:
    """What replaces the old outcomes: every answer, and a failure where there was none before."""
    return {
        place: outcome
        for place, outcome in new.items()
        if is_answer(outcome) or place not in old or not is_answer(old[place])
    }


def report_on(
    old: Mapping[Place, Outcome], new: Mapping[Place, Outcome], register: str | None
) -> RefreshReport:
    """The report on outcomes before and after, and on why the register could not be listed."""
    answers = {place: outcome for place, outcome in new.items() if is_answer(outcome)}
    failures = [outcome.error for place, outcome in new.items() if place not in answers]
    changed = sum(
        (outcome.status, outcome.found) != (old[place].status, old[place].found)
        for place, outcome in answers.items()
    )
    why = next((why for why in failures if why), None)
    return RefreshReport(len(new), changed, len(failures), why, register)
