"""Where all cells of a process ask: each place is asked for once, whoever asks for it.

A spreadsheet computes its formulas again and again, and several at a time. The desk remembers what
was answered, so that a recalculation asks nothing; what is under way is waited for, not asked for
twice; and only a refresh asks anew. Nothing here writes to the account.
"""

from __future__ import annotations

import threading
import weakref
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from svc_tools.excel.calm import Trouble
from svc_tools.excel.lookups import Heard, Who, look_up_all, who_answers
from svc_tools.excel.memory import CALM, Memory
from svc_tools.excel.refreshing import RefreshReport, report_on, worth_keeping
from svc_tools.excel.registers import RegisterKept
from svc_tools.lookup import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import date

    from svc_sdk import Svc
    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.nexus.register import Register
    from svc_tools.places import Place

__all__ = ["PATIENCE", "Desk", "the_desk"]

PATIENCE = 30.0
"""Seconds that a burst may take, besides a tenth of one for each of its places."""
_PER_PLACE = 0.1
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


def _now() -> datetime:
    return datetime.now(UTC)


_making = threading.Lock()
_desks: list[Desk] = []


def the_desk() -> Desk:
    """The desk of this process, made at first use; who answers is what the settings say."""
    with _making:
        if not _desks:
            _desks.append(Desk())
        return _desks[0]
