"""The stored results of a frame's lookups: compared with its rows, and written to a lock file.

`freeze` writes a lock file, from which `df.svc.lookup(locked=…)` reads the results again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from svc_tools.base.atomic import whole_file
from svc_tools.config import embedded, is_embedded
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.lookup.results import lookup_of, lookups_of
from svc_tools.frames.lookup.sources import BookSource
from svc_tools.frames.lookup.survey import Survey
from svc_tools.frames.options import LookupOptions
from svc_tools.frames.orders.orders import Orders
from svc_tools.frames.values.arrow import first_column
from svc_tools.geocoding.positions import stored_geocoding
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.lock_file import lock_lines
from svc_tools.show.display import Note, as_html
from svc_tools.tables.statuses import Status

if TYPE_CHECKING:
    import os
    from collections.abc import Hashable, Mapping, Sequence

    from svc_tools.frames.lookup.results import UsedLookup
    from svc_tools.frames.lookup.sources import Results
    from svc_tools.lookup import Outcome
    from svc_tools.lookup.cache import CacheChoice
    from svc_tools.tables.places import Place

_NO_RATE = -1
_NOT_LOOKED_UP = -2


class _Changed(NamedTuple):
    """How many rows were changed since their lookup."""

    not_looked_up: int
    """Rows whose place and date were not looked up."""
    of_other_rates: int
    """Other rows whose rate is not the one found for their place and date."""


def changed_rows(rows: Enriched) -> int | None:
    """How many rows have another place or date, or another rate, than at their lookup.

    `None` where that is unknown: the results are not stored with the frame (it comes from a file,
    or was merged), or it lacks a column that its lookup read, or has it twice.
    """
    lookup = lookup_of(rows)
    if lookup is None or lookup.results is None:
        return None
    every: Counter[Hashable] = Counter(rows.frame.columns)
    if not all(every[label] == 1 for label in lookup.inputs.columns.values()):
        return None
    if lookup.rows is not None and lookup.rows.are_those_of(rows.frame):
        outcomes, of_query = lookup.results.of_queries(lookup.results.queries)
        return _of_other_rates(rows, _units_of(outcomes)[of_query][lookup.rows.codes])
    placed = Orders(rows.frame, lookup.inputs.reading).with_places(lookup.inputs.columns)
    placed_rows = rows if placed is rows.frame else Enriched(placed, rows.prefix)
    return sum(_changes_of(placed_rows, Survey.of(placed, lookup.inputs), lookup.results))


def _changes_of(rows: Enriched, survey: Survey, results: Results) -> _Changed:
    """Compare the places, dates and rates of the rows with the results of the lookup."""
    outcomes, of_query = results.of_queries(survey.queries)
    units = _units_of(outcomes)[of_query]
    not_looked_up = int(survey.queries.rows[units == _NOT_LOOKED_UP].sum())
    return _Changed(not_looked_up, _of_other_rates(rows, units[survey.codes[0]]))


def _units_of(outcomes: Sequence[Outcome]) -> np.ndarray:
    """The rate of each outcome; the last one is that of what was not looked up."""
    found = [_NO_RATE if outcome.found is None else outcome.found.combined for outcome in outcomes]
    return np.array([*found, _NOT_LOOKED_UP], np.int64)


def _of_other_rates(rows: Enriched, expected: np.ndarray) -> int:
    """How many rows have another rate than was found for them."""
    if not rows.has("combined_rate"):
        return 0
    rates = rows.rates("combined_rate")
    there = np.where(rates.missing, _NO_RATE, rates.units)
    return int(np.count_nonzero((there != expected) & (expected != _NOT_LOOKED_UP)))


@dataclass(frozen=True, slots=True)
class Frozen:
    """The lock file that was written.

    Attributes:
        path: the lock file.
        answers: how many results are in it.
        notes: what else is in it, or is missing from it, in sentences.
    """

    path: Path
    answers: int
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """In sentences."""
        return ". ".join([self._sentence, *self.notes])

    def _repr_html_(self) -> str:
        return as_html(Note(self._sentence, self.notes))

    @property
    def _sentence(self) -> str:
        results = "1 result is" if self.answers == 1 else f"{self.answers:,} results are"
        return f"{results} frozen in {self.path.name}"


def freeze(
    frame: pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    prefix: str | None = None,
    cache: CacheChoice = None,
) -> Frozen:
    """Write the results that the rows of a frame used to a lock file; see `SvcAccessor.freeze`."""
    lookups = _chosen(frame, prefix)
    notes: list[str] = []
    used: dict[Place, Outcome] = {}
    full: set[Place] = set()
    for lookup in lookups:
        _merge(used, full, _used_by(frame, lookup, cache, notes), lookup)
    left_out = [place for place, outcome in used.items() if not outcome.means.attempted]
    if left_out:
        notes.append(f"places that were not attempted, and are not in it: {len(left_out):,}")
    frozen = {place: outcome for place, outcome in used.items() if outcome.means.attempted}
    target = Path(path)
    first = lookups[0]
    lines = lock_lines(
        frozen,
        full=full,
        frozen_at=datetime.now().astimezone(),
        today=_today(frozen),
        service=first.service.name,
        source=first.source,
        edition=first.service.edition,
    )
    with whole_file(target) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(lines)
    return Frozen(target, len(frozen), tuple(notes))


_AGAIN = (
    "look the frame up again (cached results cost nothing) and freeze the result"
    " before anything else is done to it"
)


def _chosen(frame: pd.DataFrame, prefix: str | None) -> Sequence[UsedLookup]:
    """The lookups to freeze: all of one service, because a lock file names one."""
    lookups = lookups_of(frame)
    if prefix is not None:
        lookups = [lookup for lookup in lookups if lookup.prefix == prefix]
    if not lookups:
        which = "" if prefix is None else f" with prefix={prefix!r}"
        raise ValueError(
            f"no lookup is stored with the frame{which}: it was not looked up, was put together"
            f" from several frames, or comes from a file without one. To freeze it, {_AGAIN}"
        )
    if len({lookup.source for lookup in lookups}) > 1:
        names = " and ".join(f"{lookup.prefix!r} ({lookup.service.name})" for lookup in lookups)
        raise ValueError(
            f"the lookups of this frame are of several services: prefix {names}; freeze them one"
            f" by one, for instance with prefix={lookups[0].prefix!r}"
        )
    return lookups


def _used_by(
    frame: pd.DataFrame, lookup: UsedLookup, cache: CacheChoice, notes: list[str]
) -> Mapping[Place, Outcome]:
    """The results of the rows as they are now."""
    gone = [label for label in lookup.inputs.columns.values() if label not in frame.columns]
    if gone and lookup.results is None:
        raise ValueError(
            f"the frame comes from a file and has no column {gone[0]!r} any more, so what its rows"
            f" queries are not known; {_AGAIN}"
        )
    if gone:
        notes.append(
            f"the frame has no column {gone[0]!r} any more, so the results of all rows that were"
            " looked up are in it"
        )
        return {} if lookup.results is None else lookup.results.by_place()
    survey = Survey.of(frame, lookup.inputs)
    if lookup.results is None:
        return _from_file(frame, lookup, survey, cache, notes)
    _refuse_changes(frame, survey, lookup, lookup.results)
    return lookup.results.by_place(lookup.results.lookups_of(survey.queries))


def _refuse_changes(
    frame: pd.DataFrame, survey: Survey, lookup: UsedLookup, results: Results
) -> None:
    """Refuse rows that are not those that were looked up."""
    changed = _changes_of(Enriched(frame, lookup.prefix), survey, results)
    if changed.not_looked_up:
        raise ValueError(
            "rows whose place or date is not the one that was looked up:"
            f" {changed.not_looked_up:,}; they were changed or added since."
            f" To freeze the frame, {_AGAIN}"
        )
    if changed.of_other_rates:
        raise ValueError(
            f"rows whose rate is not that of their place and date: {changed.of_other_rates:,};"
            f" either was changed since the lookup. To freeze the frame, {_AGAIN}"
        )


def _from_file(
    frame: pd.DataFrame,
    lookup: UsedLookup,
    survey: Survey,
    cache: CacheChoice,
    notes: list[str],
) -> Mapping[Place, Outcome]:
    """The results of a frame that comes from a file: exactly those, of the cache or the book."""
    first = np.unique(survey.codes[0], return_index=True)[1]  # the first row of each query
    status = _texts(frame.iloc[first], f"{lookup.prefix}lookup_status")
    moments = _texts(frame.iloc[first], f"{lookup.prefix}looked_up_at")
    wanted = survey.queries.wanted(lookup.grain)
    places = wanted.dated()
    looked_up = {
        places[number]: moment
        for number, state, moment in zip(wanted.of_query.tolist(), status, moments, strict=True)
        if number >= 0 and Status.of(state or "").rated
    }
    failures = len(set(places) - looked_up.keys())
    if failures:
        notes.append(
            "places without a result; a file does not store them, so they are not in it:"
            f" {failures:,}"
        )
    if is_embedded(lookup.source):
        with embedded() as client:
            today = next(
                (_moment(moment).astimezone().date() for moment in moments if moment), None
            )
            source = BookSource(
                client,
                LookupOptions(detail=lookup.detail, geocode="off"),
                today=today,
                geocoding=stored_geocoding(lookup.geocoder, cache) if lookup.geocoder else None,
            )
        known, where = {}, "the rate book is another one by now"
        if source.source == lookup.source:
            results = source.resolve(survey.queries)
            _refuse_changes(frame, survey, lookup, results)
            known = results.by_place()
        known = {place: _of(known[place], looked_up[place]) for place in known.keys() & looked_up}
    else:
        where = "the cache does not have all of those that it used any more"
        with opened_cache(cache) as stored:
            known = stored.known(lookup.source, looked_up, detail=lookup.detail) if stored else {}
    if not all(
        place in known and _is_of(known[place], moment) for place, moment in looked_up.items()
    ):
        raise ValueError(
            f"the frame comes from a file, which does not store results, and {where}; {_AGAIN}"
        )
    return {place: known[place] for place in looked_up}


def _texts(frame: pd.DataFrame, name: str) -> list[str | None]:
    """A column as text; `None` where a value is missing or there is no such column."""
    column = first_column(frame, name)
    if column is None:
        return [None] * len(frame)
    return [
        None if missing else str(value)
        for value, missing in zip(column.tolist(), column.isna().tolist(), strict=True)
    ]


def _of(outcome: Outcome, moment: str | None) -> Outcome:
    """A result that was computed again, of the moment that the row states."""
    return replace(outcome, looked_up_at=None if moment is None else _moment(moment))


def _moment(text: str) -> datetime:
    moment: datetime = pd.Timestamp(text).to_pydatetime()
    return moment


def _is_of(outcome: Outcome, moment: str | None) -> bool:
    """Whether a result is of the moment that the row states, where it states one."""
    at = outcome.looked_up_at
    return moment is None or (at is not None and pd.Timestamp(moment) == pd.Timestamp(at))


def _merge(
    used: dict[Place, Outcome],
    full: set[Place],
    outcomes: Mapping[Place, Outcome],
    lookup: UsedLookup,
) -> None:
    """Add the results of a lookup; a detailed one replaces a simple one of the same place."""
    for place, outcome in outcomes.items():
        before = used.get(place)
        if before is not None and _in_common(before) != _in_common(outcome):
            raise ValueError(
                "two lookups of this frame have different results for the same place and date;"
                f" freeze them one by one, for instance with prefix={lookup.prefix!r}"
            )
        if before is None or lookup.detail:
            used[place] = outcome
        if lookup.detail:
            full.add(place)


def _in_common(outcome: Outcome) -> tuple[object, ...]:
    """What two results of one place must have in common; moment and detail may differ."""
    found = outcome.found
    return outcome.status, found and replace(found, low=None, high=None, components=())


def _today(outcomes: Mapping[Place, Outcome]) -> date:
    """The last day on which places without a date were looked up."""
    undated = [
        outcome.looked_up_at.astimezone().date()
        for place, outcome in outcomes.items()
        if place.as_of is None and outcome.looked_up_at is not None
    ]
    return max(undated, default=date.today())  # noqa: DTZ011 - the user's day
