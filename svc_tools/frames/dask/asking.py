"""Where the places of a Dask frame are asked for: on the workers, a batch at a time, or here."""

from __future__ import annotations

import contextlib
import time
import warnings
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from svc_tools.config import ConfigurationError, configured, connect, source_of
from svc_tools.frames.asking import Asking, asking
from svc_tools.frames.dask.pace import cluster, turn, turn_name
from svc_tools.frames.dask.worker_task import AskingTerms, ask_batch, introduce
from svc_tools.lookup import Run
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.outcomes import not_attempted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from distributed import Client

    from svc_tools.config import Source
    from svc_tools.frames.dask.worker_task import Batch, Factory, Introduced
    from svc_tools.frames.options import Options
    from svc_tools.lookup import Outcome
    from svc_tools.lookup.cache import Answers
    from svc_tools.places import Place

    OnOutcome = Callable[[Outcome], object] | None

__all__ = ["asking_for"]

_BATCH = 1_000
"""Places in one task: seconds of asking, so that a worker that dies loses little."""


@contextlib.contextmanager
def asking_for(options: Options, factory: Factory | None, *, stacklevel: int) -> Iterator[Asking]:
    """Whoever answers: the workers where there is a cluster, unless the client was made here.

    Args:
        options: the lookup's.
        factory: makes the client where it is needed, instead of one among the options.
        stacklevel: where the person's line is, for warnings, where 2 is the caller of this.

    Raises:
        ConfigurationError: this process and the workers are configured differently.
    """
    workers = cluster()
    if options.locked is not None:
        with asking(options, stacklevel=stacklevel) as here:
            yield here
    elif workers is not None and options.client is None:
        with opened_cache(options.cache) as cache:
            asker = _introduced(workers, factory, options, cache, stacklevel=stacklevel + 2)
            met = asker.met
            yield Asking(met.answerer, met.source, asker.ask, asker.notes)
    else:
        if factory is not None:
            options = replace(options, client=factory())
        with asking(options, stacklevel=stacklevel) as here:
            yield here if workers is None else replace(here, ask=_in_turn(here))


def _in_turn(here: Asking) -> Callable[[Collection[Place], OnOutcome], Run]:
    """Asking from this process, in turn with the workers: the key never leaves it."""

    def ask(places: Collection[Place], on_outcome: OnOutcome) -> Run:
        with turn(turn_name(here.source)):
            return here.ask(places, on_outcome)

    return ask


def _introduced(
    workers: Client,
    factory: Factory | None,
    options: Options,
    cache: Answers | None,
    *,
    stacklevel: int,
) -> _OnWorkers:
    """Whoever answers the workers; a warning points `stacklevel` frames up from here."""
    if options.cache is not None and not isinstance(options.cache, bool | str | Path):
        raise TypeError(
            f"cache: expected a path that the workers can open, or False, not"
            f" {type(options.cache).__name__}: an open cache stays in its process"
        )
    met: Introduced = workers.submit(introduce, factory, pure=False).result()
    if factory is None:
        expected = _configured_here()
        if expected is not None and expected != met.source:
            raise ConfigurationError(
                f"This process is configured for {_named(expected)}, and the workers for"
                f" {_named(met.source)}. Set SVC_BASE_URL and SVC_API_KEY in the environment of"
                " the workers, or pass client=svc_tools.connect() to ask from this process"
            )
        if met.embedded:
            warnings.warn(
                "No service is configured on the workers, so the rates come from the EMBEDDED"
                f" service there and its own rate book (edition {met.answerer.edition}). For your"
                " account set SVC_BASE_URL and SVC_API_KEY in the environment of the workers, or"
                " pass client=svc_tools.connect(...) to ask from this process",
                UserWarning,
                stacklevel=stacklevel,
            )
    terms = AskingTerms(options.cache, options.detail, options.concurrency)
    return _OnWorkers(workers, factory, terms, options.deadline, met, cache)


def _configured_here() -> Source | None:
    if not configured():
        return None
    with connect() as client:
        return source_of(client)


def _named(source: Source) -> str:
    return f"{source.service} (account {source.account or 'none'})"


@dataclass(slots=True)
class _OnWorkers:
    """The workers ask, one batch after the other.

    A batch that was answered is here, and in this process's cache, before the next one goes out:
    what happens to the workers afterwards costs no request.
    """

    cluster: Client
    factory: Factory | None
    terms: AskingTerms
    deadline: float | None
    met: Introduced
    cache: Answers | None
    notes: list[str] = field(default_factory=list)

    def ask(self, places: Collection[Place], on_outcome: OnOutcome) -> Run:
        """Ask for every distinct place once; what this process's cache knows is not asked for."""
        distinct = dict.fromkeys(places)
        tally = _Tally(len(distinct), on_outcome)
        if self.cache is not None:
            tally.know(self.cache.known(self.met.source, distinct, detail=self.terms.detail))
        waiting = (place for place in distinct if place not in tally.outcomes)
        try:
            self._ask_in_batches(waiting, tally)
        except KeyboardInterrupt:
            tally.stopped = "interrupted"
        self._note(self.cache.notes if self.cache is not None else ())
        return tally.run(distinct)

    def _ask_in_batches(self, waiting: Iterator[Place], tally: _Tally) -> None:
        ends = None if self.deadline is None else time.monotonic() + self.deadline
        while tally.stopped is None and (some := list(islice(waiting, _BATCH))):
            left = None if ends is None else ends - time.monotonic()
            if left is None or left > 0:
                tally.take(some, self._batch(some, left))
            over = ends is not None and time.monotonic() >= ends
            if over and (tally.stopped or len(tally.outcomes) < tally.wanted):
                # of the whole run: a batch knows only what was left for it
                tally.stopped = f"the deadline of {self.deadline:g} s was reached"

    def _batch(self, places: Sequence[Place], left: float | None) -> Batch:
        # a worker that dies is replaced by Dask: what it had answered is in its cache
        future = self.cluster.submit(ask_batch, self.factory, places, self.terms, left, pure=False)
        try:
            found: Batch = future.result()
        except BaseException:
            future.cancel()
            raise
        if found.source != self.met.source:
            raise ConfigurationError(
                f"The workers do not ask the same service: one asks {_named(self.met.source)},"
                f" another {_named(found.source)}. Give every worker the same configuration and the"
                " same version of this package, or pass client=svc_tools.connect() to ask from here"
            )
        if self.cache is not None:
            pairs = zip(places, found.outcomes, strict=True)
            fresh = [(place, outcome) for place, outcome in pairs if not outcome.cached]
            self.cache.keep(self.met.source, fresh, detail=self.terms.detail)
        self._note(found.notes)
        return found

    def _note(self, notes: Iterable[str]) -> None:
        self.notes.extend(note for note in dict.fromkeys(notes) if note not in self.notes)


class _Tally:
    """What has come of a run so far."""

    def __init__(self, wanted: int, on_outcome: OnOutcome) -> None:
        self.wanted = wanted
        self.outcomes: dict[Place, Outcome] = {}
        self.stopped: str | None = None
        self._on_outcome = on_outcome
        self._asked = self._cached = self._requests = 0
        self._waited = 0.0

    def know(self, known: dict[Place, Outcome]) -> None:
        self._cached += len(known)
        self._add(known.items())

    def take(self, places: Sequence[Place], found: Batch) -> None:
        pairs = zip(places, found.outcomes, strict=True)
        # what was not attempted is with the rest, for the cause of the whole run
        self._add(pair for pair in pairs if pair[1].status != "not_attempted")
        self.stopped = found.stopped
        self._asked += found.asked
        self._cached += found.cached
        self._requests += found.requests
        self._waited += found.waited

    def run(self, distinct: Iterable[Place]) -> Run:
        rest = not_attempted(self.stopped or "the run ended early")
        outcomes = {place: self.outcomes.get(place, rest) for place in distinct}
        return Run(outcomes, self.stopped, self._asked, self._cached, self._requests, self._waited)

    def _add(self, found: Iterable[tuple[Place, Outcome]]) -> None:
        for place, outcome in found:
            self.outcomes[place] = outcome
            if self._on_outcome is not None:
                self._on_outcome(outcome)
