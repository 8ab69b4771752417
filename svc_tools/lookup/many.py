"""Many places without a table: outcomes as they come, for synchronous and asynchronous code."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from svc_sdk import AsyncSvc, Svc
from svc_tools.config import configured, connect, unconfigured
from svc_tools.lookup.giving import agive, give
from svc_tools.lookup.terms import Terms

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterable, Generator, Iterable

    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.lookup.outcomes import Outcome

__all__ = ["alookup_many", "lookup_many"]

T = TypeVar("T")


def lookup_many(
    places: Iterable[T],
    *,
    client: Svc | None = None,
    cache: CacheChoice = None,
    detail: bool = False,
    concurrency: int = 16,
    deadline: float | None = None,
) -> Generator[tuple[T, Outcome], None, None]:
    """Look many places up; yield each item, as it was given, with its outcome, as they complete.

        for item, outcome in svc_tools.lookup_many([{"state": "TX", "zip": "78701"}]):
            print(item["zip"], outcome.status, outcome.found and outcome.found.combined)

    Every item comes out once, in the order of the answers. Equal places are asked for once, and
    none that the cache knows; each answer is in the cache before it is yielded. Once the run has
    ended early (a key, plan or quota is refused, the service is gone, the deadline) the other items
    come out as `not_attempted`. Closing the iterator ends the run. An error of the source is raised
    once what came before it is out. Long pauses that the service asks for, and what is wrong with
    the cache, are logged (`svc_tools.lookup`), which is to say shown on standard error.

    Args:
        places: places, or mappings with the keys of a row (state, zip, address, city, location,
            lat, lng, country, as_of). They are taken in a little ahead of the answers, in the
            caller's thread, so the source may be lazy and without an end. What cannot be asked
            comes out as `invalid` or `unsupported`.
        client: the client; the configured one where left out, as `df.svc.lookup` has it.
        cache: a path, `False` for none, or an open cache; the configured one where left out.
        detail: ask for the full answer, with candidates and components (SPEC 2.5).
        concurrency: how many requests may be under way at once.
        deadline: the seconds that the whole run may take.

    Raises:
        ValueError: `concurrency` or `deadline` is out of range.
        TypeError: an argument of the wrong type.
        ConfigurationError: half of a configuration.
        ImportError: the extra for bulk lookups, or for the embedded service, is not installed.
    """
    terms = Terms(detail=detail, concurrency=concurrency, deadline=deadline)
    if client is not None and not isinstance(client, Svc):
        raise TypeError(f"client: expected svc_sdk.Svc, not {type(client).__name__}")
    if client is not None:
        return give(places, client, cache, terms, owned=False)
    ready = connect() if configured() else unconfigured(stacklevel=3)
    return give(places, ready, cache, terms, owned=True)


def alookup_many(
    places: Iterable[T] | AsyncIterable[T],
    *,
    client: Svc | AsyncSvc | None = None,
    cache: CacheChoice = None,
    detail: bool = False,
    concurrency: int = 16,
    deadline: float | None = None,
) -> AsyncGenerator[tuple[T, Outcome], None]:
    """As `lookup_many`, for `async for`; it runs in the caller's event loop.

        async for item, outcome in svc_tools.alookup_many(rows):
            ...

    Args:
        places: as for `lookup_many`, or an asynchronous iterable of the same.
        client: an `AsyncSvc` or an `Svc`.
        cache: as for `lookup_many`.
        detail: as for `lookup_many`.
        concurrency: as for `lookup_many`.
        deadline: as for `lookup_many`.

    Raises:
        ValueError: as `lookup_many`; so for the others.
        TypeError: an argument of the wrong type.
        ConfigurationError: half of a configuration.
        ImportError: the extra for bulk lookups, or for the embedded service, is not installed.
    """
    terms = Terms(detail=detail, concurrency=concurrency, deadline=deadline)
    if client is not None and not isinstance(client, Svc | AsyncSvc):
        raise TypeError(
            f"client: expected svc_sdk.AsyncSvc or svc_sdk.Svc, not {type(client).__name__}"
        )
    if client is not None:
        return agive(places, client, cache, terms, owned=False)
    ready = connect() if configured() else unconfigured(stacklevel=3)
    return agive(places, ready, cache, terms, owned=True)
