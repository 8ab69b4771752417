"""A burst of lookups for cells: whatever goes wrong is an outcome with a sentence."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from svc_sdk import SvcError
from svc_tools.config import ConfigurationError, EmbeddedSvc, service_name, source_of
from svc_tools.excel.cell_errors import NotAvailableError
from svc_tools.lookup import Outcome, look_up
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.outcomes import not_attempted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from svc_sdk import Svc
    from svc_tools.config import Source
    from svc_tools.lookup.cache import Answers, CacheChoice
    from svc_tools.places import Place

__all__ = ["Heard", "Who", "in_a_sentence", "look_up_all", "who_answers"]

_log = logging.getLogger(__name__)


class Heard(NamedTuple):
    """What came of a burst; `stopped` is why it ended early, where it did."""

    outcomes: dict[Place, Outcome]
    stopped: str | None = None


@dataclass(frozen=True, slots=True)
class Who:
    """Who answers: a name for readers, and the edition of the rates where it is known."""

    name: str
    edition: str | None = None

    @property
    def words(self) -> str:
        """Both in words."""
        return f"{self.name}, edition {self.edition}" if self.edition else self.name


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
