"""What runs on a worker: it says who answers there, and asks for a batch of places in its turn.

No key is in what goes in or out. A worker finds its key in its own environment, or in what the
user's factory returns there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_sdk import Svc
from svc_tools.config import EmbeddedSvc, Source, configured, connect, source_of
from svc_tools.frames.answers import Answerer, answerer
from svc_tools.frames.dask.pace import turn, turn_name
from svc_tools.lookup import Outcome, look_up
from svc_tools.lookup.cache import opened_cache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.places import Place

__all__ = ["AskingTerms", "Batch", "Factory", "Introduced", "ask_batch", "introduce"]

Factory = Callable[[], Svc]


@dataclass(frozen=True, slots=True)
class AskingTerms:
    """How places are asked for; all of it may stand in a graph.

    Attributes:
        cache: `None` for the worker's configured cache, `False` for none, or a path.
        detail: whether to ask for the full answer.
        concurrency: requests under way at once, by all together.
    """

    cache: CacheChoice = None
    detail: bool = False
    concurrency: int = 16


@dataclass(frozen=True, slots=True)
class Introduced:
    """Who answers, as a worker sees it."""

    source: Source
    answerer: Answerer
    embedded: bool


@dataclass(frozen=True, slots=True)
class Batch:
    """What a task brings back: an outcome for each of its places, in their order."""

    source: Source
    outcomes: Sequence[Outcome]
    stopped: str | None
    asked: int
    cached: int
    requests: int
    waited: float
    notes: tuple[str, ...]


def introduce(factory: Factory | None) -> Introduced:
    """Who answers this worker. Asks for nothing."""
    with _client(factory) as client:
        return Introduced(source_of(client), answerer(client), isinstance(client, EmbeddedSvc))


def ask_batch(
    factory: Factory | None,
    places: Sequence[Place],
    terms: AskingTerms,
    deadline: float | None,
) -> Batch:
    """Ask for these places, in turn with everybody else who asks for that account.

    The worker's own cache is asked first and told of every answer: a task that is run again, on
    this worker or on another that shares the file, asks only for the rest.
    """
    with _client(factory) as client, opened_cache(terms.cache) as cache:
        source = source_of(client)
        with turn(turn_name(source)):
            run = look_up(
                client,
                places,
                cache=cache,
                detail=terms.detail,
                concurrency=terms.concurrency,
                deadline=deadline,
            )
        return Batch(
            source,
            [run.outcomes[place] for place in places],
            run.stopped,
            run.asked,
            run.cached,
            run.requests,
            run.waited,
            tuple(cache.notes) if cache is not None else (),
        )


def _client(factory: Factory | None) -> Svc:
    if factory is None:
        # no warning where nobody would read it: the process that collects the answers warns
        return connect() if configured() else connect("embedded")
    client = factory()
    if not isinstance(client, Svc):
        raise TypeError(
            f"client: the function returned {type(client).__name__} on a worker; expected Svc"
        )
    return client
