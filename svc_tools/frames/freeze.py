"""`df.svc.freeze()`: every answer that a frame used, in a file, to compute with again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.atomic import whole_file
from svc_tools.display import as_html
from svc_tools.frames.lookup_columns import texts
from svc_tools.frames.provenance import changes_of, lookups_of
from svc_tools.frames.queries import ask
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.lock_file import lock_lines
from svc_tools.places import Question

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Mapping, Sequence

    from svc_tools.frames.provenance import UsedLookup
    from svc_tools.frames.queries import Asked
    from svc_tools.lookup import Outcome
    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.places import Place


_AGAIN = (
    "look the frame up again (answers that the cache has cost nothing) and freeze the result"
    " before anything else is done to it"
)


@dataclass(frozen=True, slots=True)
class Frozen:
    """What was frozen.

    Attributes:
        path: the lock file.
        answers: how many answers are in it.
        notes: what is in it besides, or is not in it, in sentences.
    """

    path: Path
    answers: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """In sentences."""
        return ". ".join([self._told, *self.notes])

    def _repr_html_(self) -> str:
        return as_html(self._told, self.notes, ())

    @property
    def _told(self) -> str:
        answers = "1 answer is" if self.answers == 1 else f"{self.answers:,} answers are"
        return f"{answers} frozen in {self.path.name}"


def freeze(
    frame: pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    prefix: str | None = None,
    cache: CacheChoice = None,
) -> Frozen:
    """Write the answers that the rows of a frame used; see `SvcAccessor.freeze`."""
    lookups = _chosen(frame, prefix)
    notes: list[str] = []
    used: dict[Place, Outcome] = {}
    full: set[Place] = set()
    for lookup in lookups:
        places, known = _used_by(frame, lookup, cache, notes)
        _merge(used, full, {place: known[place] for place in places}, lookup)
    left_out = [place for place, one in used.items() if one.status == "not_attempted"]
    if left_out:
        notes.append(f"places that were not attempted, and are not in it: {len(left_out):,}")
    kept = {place: one for place, one in used.items() if one.status != "not_attempted"}
    target = Path(path)
    first = lookups[0]
    lines = lock_lines(
        kept,
        full=full,
        frozen_at=datetime.now().astimezone(),
        today=_today(kept),
        service=first.answerer.name,
        source=first.source,
        edition=first.answerer.edition,
    )
    with whole_file(target) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(lines)
    return Frozen(target, len(kept), tuple(notes))


def _chosen(frame: pd.DataFrame, prefix: str | None) -> Sequence[UsedLookup]:
    """The lookups to freeze: of one service, for a file names one."""
    lookups = lookups_of(frame)
    if prefix is not None:
        lookups = [one for one in lookups if one.prefix == prefix]
    if not lookups:
        which = "" if prefix is None else f" with prefix={prefix!r}"
        raise ValueError(
            f"the frame remembers no lookup{which}: it was not looked up, was put together from"
            f" several frames, or comes from a file that keeps none. To freeze it, {_AGAIN}"
        )
    if len({one.source for one in lookups}) > 1:
        names = " and ".join(f"{one.prefix!r} ({one.answerer.name})" for one in lookups)
        raise ValueError(
            f"the lookups of this frame are of several services: prefix {names}; freeze them one"
            f" by one, for instance with prefix={lookups[0].prefix!r}"
        )
    return lookups


def _used_by(
    frame: pd.DataFrame, lookup: UsedLookup, cache: CacheChoice, notes: list[str]
) -> tuple[Collection[Place], Mapping[Place, Outcome]]:
    """The places that the rows ask about now, and the answers."""
    gone = [label for label in lookup.inputs.columns.values() if label not in frame.columns]
    if gone and lookup.answers is None:
        raise ValueError(
            f"the frame comes from a file and has no column {gone[0]!r} any more, so what its rows"
            f" asked cannot be told; {_AGAIN}"
        )
    if gone:
        notes.append(
            f"the frame has no column {gone[0]!r} any more, so the answers of all rows that were"
            " looked up are in it"
        )
        return lookup.answers or {}, lookup.answers or {}
    asked = ask(frame, lookup.inputs)
    if lookup.answers is None:
        return _from_cache(frame, lookup, asked, cache, notes)
    changed = changes_of(frame, asked, lookup.answers, lookup.prefix)
    if changed.not_asked:
        raise ValueError(
            "rows whose place or date is not the one that was looked up:"
            f" {changed.not_asked:,}; they were changed or added since."
            f" To freeze the frame, {_AGAIN}"
        )
    if changed.of_other_rates:
        raise ValueError(
            f"rows whose rate is not that of their place and date: {changed.of_other_rates:,};"
            f" either was changed since the lookup. To freeze the frame, {_AGAIN}"
        )
    return dict.fromkeys(asked.places()), lookup.answers


def _from_cache(
    frame: pd.DataFrame,
    lookup: UsedLookup,
    asked: Asked,
    cache: CacheChoice,
    notes: list[str],
) -> tuple[Collection[Place], Mapping[Place, Outcome]]:
    """The answers of a frame that comes from a file, where the cache has the very same."""
    first = np.unique(asked.codes, return_index=True)[1]  # of each question its first row
    status = texts(frame.iloc[first], f"{lookup.prefix}lookup_status")
    moments = texts(frame.iloc[first], f"{lookup.prefix}looked_up_at")
    told = {
        one.place: moment
        for one, state, moment in zip(asked.questions, status, moments, strict=True)
        if isinstance(one, Question) and state in {"ok", "partial"}
    }
    failures = len(set(asked.places()) - told.keys())
    if failures:
        notes.append(
            "places without an answer; a file keeps none of them, so they are not in it:"
            f" {failures:,}"
        )
    with opened_cache(cache) as kept:
        known = kept.known(lookup.source, told, detail=lookup.detail) if kept else {}
    if not all(place in known and _is_of(known[place], moment) for place, moment in told.items()):
        raise ValueError(
            "the frame comes from a file, which keeps no answers, and the cache does not have all"
            f" of those that it used any more; {_AGAIN}"
        )
    return told, known


def _is_of(outcome: Outcome, moment: str | None) -> bool:
    """Whether an answer is the one that came at the moment which stands in the row, if it does."""
    at = outcome.looked_up_at
    return moment is None or (at is not None and pd.Timestamp(moment) == pd.Timestamp(at))


def _merge(
    used: dict[Place, Outcome],
    full: set[Place],
    answers: Mapping[Place, Outcome],
    lookup: UsedLookup,
) -> None:
    """Add the answers of a lookup; of a simple and a full one the full one stays."""
    for place, outcome in answers.items():
        before = used.get(place)
        if before is not None and _said(before) != _said(outcome):
            raise ValueError(
                "two lookups of this frame have different answers for the same place and date;"
                f" freeze them one by one, for instance with prefix={lookup.prefix!r}"
            )
        if before is None or lookup.detail:
            used[place] = outcome
        if lookup.detail:
            full.add(place)


def _said(outcome: Outcome) -> tuple[object, ...]:
    """What two answers to one question must agree in: not in when, nor in how fully."""
    found = outcome.found
    return outcome.status, found and replace(found, low=None, high=None, components=())


def _today(answers: Mapping[Place, Outcome]) -> date:
    """The day that questions without a date were asked on: the last one, where they are several."""
    undated = [
        one.looked_up_at.astimezone().date()
        for place, one in answers.items()
        if place.as_of is None and one.looked_up_at is not None
    ]
    return max(undated, default=date.today())  # noqa: DTZ011 - the person's own day
