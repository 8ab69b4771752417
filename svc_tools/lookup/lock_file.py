"""A lock file: the answers of one day, with which figures can be computed again and stay the same.

`.svclock` is text in UTF-8, one JSON object a line:

- first what it is: `format`, `version`, when it was frozen, from which service and account (a
  fingerprint), by which editions, what day "today" meant, and how many answers follow;
- then one answer a line, in an order that depends on nothing but the questions;
- last the SHA-256 of all lines before, in hex. It finds damage; it is no signature.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from svc_tools.config import Source
from svc_tools.lookup.cache_keys import place_key
from svc_tools.lookup.lock_lines import answer_of, line_of
from svc_tools.lookup.outcomes import Outcome, not_attempted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from svc_tools.places import Place

__all__ = ["Lock", "LockFileError", "lock_lines", "read_lock"]

_FORMAT = "svclock"
_VERSION = 1
_AGAIN = "freeze the lookup again, or fetch the file again from where it was kept"


class LockFileError(ValueError):
    """A lock file cannot be trusted, or read by this release; the message says why."""


@dataclass(frozen=True, slots=True)
class Lock:
    """Frozen answers. They never expire; nothing is asked for beside them.

    It is `Answers` too: whoever reads a cache can read it.

    Attributes:
        file: the name of the file, for messages.
        frozen_at: when it was frozen (aware).
        today: the day that questions without a date were asked on.
        service: who answered, as the lookup named it.
        source: the same as the cache tells it apart, with the account's fingerprint.
        edition: the edition of the service's data where single answers do not tell theirs.
        answers: the answers by place.
        full: the places whose answers are full ones (`detail=True`).
        notes: what a person should know: from when the answers are.
    """

    file: str
    frozen_at: datetime
    today: date
    service: str
    source: Source
    edition: str | None
    answers: Mapping[Place, Outcome]
    full: frozenset[Place] = frozenset()
    notes: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Who answered, as a lookup's source says it."""
        return f"{self.service} as frozen on {self.frozen_at.date()} ({self.file})"

    def known(
        self, source: Source, places: Collection[Place], *, detail: bool
    ) -> dict[Place, Outcome]:
        """The answers that are in it, whichever service `source` is."""
        del source
        if detail:
            places = [place for place in places if place in self.full]
        get = self.answers.get
        return {place: outcome for place in places if (outcome := get(place)) is not None}

    def outcomes(self, places: Collection[Place], *, detail: bool) -> dict[Place, Outcome]:
        """An outcome for every place: what is not in it was not attempted, and is not guessed."""
        known = self.known(self.source, places, detail=detail)
        here = f"in {self.file}, frozen on {self.frozen_at.date()}"
        absent = not_attempted(
            f"this place and date are not {here}; look it up without locked=, and freeze again"
        )
        simple = not_attempted(
            f"the answer {here}, is a simple one; look it up with detail=True, and freeze again"
        )
        return {
            place: known.get(place) or (simple if place in self.answers else absent)
            for place in places
        }

    def keep(
        self, source: Source, answered: Sequence[tuple[Place, Outcome]], *, detail: bool
    ) -> None:
        """Nothing: it is frozen."""

    def quota(self, source: Source) -> int | None:
        """`None`: nothing is asked."""
        del source
        return None

    def told_quota(self, source: Source, remaining: int) -> None:
        """Nothing: it is frozen."""


def lock_lines(
    answers: Mapping[Place, Outcome],
    *,
    full: Collection[Place],
    frozen_at: datetime,
    today: date,
    service: str,
    source: Source,
    edition: str | None,
) -> Iterator[str]:
    """The lines of a lock file, each with its end; the arguments are `Lock`'s.

    Outcomes that were not attempted are none, and left out.
    """
    kept = {place: one for place, one in answers.items() if one.status != "not_attempted"}
    editions = {one.found.edition for one in kept.values() if one.found and one.found.edition}
    digest = hashlib.sha256()
    head = {
        "format": _FORMAT,
        "version": _VERSION,
        "frozen_at": frozen_at.isoformat(timespec="seconds"),
        "today": today.isoformat(),
        "service": service,
        "source": source.service,
        "account": source.account,
        "edition": edition,
        "editions": sorted(editions),
        "answers": len(kept),
    }
    told = (line_of(one, kept[one], detail=one in full) for one in sorted(kept, key=place_key))
    for said in (head, *told):
        line = json.dumps(said, ensure_ascii=True) + "\n"
        digest.update(line.encode())
        yield line
    yield json.dumps({"sha256": digest.hexdigest()}) + "\n"


def read_lock(path: str | Path) -> Lock:
    """The answers of a lock file, once all of it has been checked.

    Raises:
        LockFileError: it is damaged, cut off or changed, or not of a version that can be read.
        OSError: it is not there, or cannot be read.
    """
    path = Path(path)
    lines = path.read_bytes().splitlines(keepends=True)
    try:
        return _lock(path.name, lines)
    except LockFileError:
        raise
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise LockFileError(f"{path.name} is no lock file that can be read: {error}") from error


def _lock(name: str, lines: Sequence[bytes]) -> Lock:
    head = _head(name, lines)
    last = _object(lines[-1]) if len(lines) > 1 and lines[-1].endswith(b"\n") else {}
    if "sha256" not in last:
        raise LockFileError(f"{name} is cut off: its last line is missing; {_AGAIN}")
    if hashlib.sha256(b"".join(lines[:-1])).hexdigest() != last["sha256"]:
        raise LockFileError(f"{name} was changed since it was written, or is damaged; {_AGAIN}")
    if len(lines) - 2 != head["answers"]:
        raise LockFileError(
            f"{name} should hold {head['answers']} answers and holds {len(lines) - 2}; {_AGAIN}"
        )
    answers: dict[Place, Outcome] = {}
    full: set[Place] = set()
    for number, line in enumerate(lines[1:-1], 2):
        try:
            place, outcome, detail = answer_of(json.loads(line))
        except (ValueError, TypeError, AttributeError) as error:
            raise LockFileError(f"{name}, line {number}, is no answer: {error}") from error
        if place in answers:
            raise LockFileError(f"{name}, line {number}, answers a place for the second time")
        answers[place] = outcome
        if detail:
            full.add(place)
    frozen = datetime.fromisoformat(head["frozen_at"])
    return Lock(
        file=name,
        frozen_at=frozen,
        today=date.fromisoformat(head["today"]),
        service=str(head["service"]),
        source=Source(str(head["source"]), str(head["account"])),
        edition=head["edition"],
        answers=answers,
        full=frozenset(full),
        notes=[f"answers as frozen on {frozen.date()} in {name}: nothing is asked beside them"],
    )


def _head(name: str, lines: Sequence[bytes]) -> dict[str, Any]:
    head = _object(lines[0]) if lines else {}
    if head.get("format") != _FORMAT:
        raise LockFileError(f"{name} is no lock file; expected one that df.svc.freeze() wrote")
    if head.get("version") != _VERSION:
        raise LockFileError(
            f"{name} is of version {head.get('version')}; this release reads version {_VERSION}:"
            " use the release that wrote it, or a newer one"
        )
    return head


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
