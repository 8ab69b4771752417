"""The columns of a lookup, from its results: built once, and taken by the rows of each chunk.

What depends on the result alone is computed once for each result; what depends on how a row names
its place, or on its day, once for each query. Both are then copied to the rows as whole arrays.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import cached_property
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from svc_tools.base.shares import LIKELY_SHARE
from svc_tools.frames.lookup.queries import combined_codes
from svc_tools.frames.lookup.results import encode
from svc_tools.frames.values.arrow import Categories, Fixed, RowNumbers, Texts, Truths, rate_values
from svc_tools.lookup.columns import COLUMNS, lookup_columns
from svc_tools.lookup.outcomes import FOUND_FIELDS, TOO_HIGH
from svc_tools.lookup.reviewing import (
    is_proved,
    last_begun,
    law_since,
    parsed_day,
    proved_from,
    review_reasons,
    warnings_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from svc_tools.frames.lookup.sources import Results
    from svc_tools.lookup import Found
    from svc_tools.lookup.columns import Column
    from svc_tools.lookup.options import RateForm


class ResultColumns:
    """The columns that a lookup adds, without their prefix, for any of the rows.

    Args:
        results: what was found for the queries.
        rates: the form of the rates.
        below: the share of a ZIP's housing below which its rate requires review (`reasons_of`).
        names: which of the columns; `None` for all of them.
        detail: whether those of the details are among them.
    """

    def __init__(
        self,
        results: Results,
        rates: RateForm = "decimal",
        *,
        below: int = LIKELY_SHARE,
        names: Collection[str] | None = None,
        detail: bool = False,
    ) -> None:
        """Read from the results what the wanted columns hold; rows are joined by the methods."""
        every = lookup_columns(detail=detail)
        wanted = {*every}.intersection(every if names is None else names)
        facts = {column.fact for column in COLUMNS if column.fact and column.name in wanted}
        values = _Values(results, facts, below)
        of_query = values.of_query
        self._of_query = of_query.astype(np.min_scalar_type(int(of_query.max(initial=0))))
        self._columns = {
            column.name: _column(column, values, rates)
            for column in COLUMNS
            if column.name in wanted
        }

    def rows(self, codes: np.ndarray) -> dict[str, Any]:
        """The columns of some rows, in their order.

        Args:
            codes: for each row the number of its query.
        """
        by_query, by_result = RowNumbers(codes), RowNumbers(self._of_query.take(codes))
        return {
            name: column.values.at(by_query if column.of_queries else by_result)
            for name, column in self._columns.items()
        }


class _Built(NamedTuple):
    """The values of a column, for each query or for each result."""

    values: Texts | Categories | Truths | Any
    of_queries: bool = False


class _Coded(NamedTuple):
    """Values of which few differ: the value at a place is `distinct[codes[place]]`."""

    codes: np.ndarray
    distinct: Sequence[Any]
    of_queries: bool = False

    def each(self) -> list[Any]:
        """The value at each place."""
        return list(map(self.distinct.__getitem__, self.codes.tolist()))

    def of(self, function: Callable[[Any], object]) -> _Coded:
        """A function of each value."""
        return self._replace(distinct=list(map(function, self.distinct)))


class _Values:
    """The values of results and queries; each is computed once, when a column needs it.

    A value that depends on a few fields is computed once for each combination of them.
    """

    def __init__(self, results: Results, facts: Collection[str], below: int) -> None:
        self._below = below
        self.queries, self.who = results.queries, results.service
        self.outcomes, self.of_query = results.of_queries(results.queries)
        self._results = results
        self.found = list(map(attrgetter("found"), self.outcomes))
        self._coded: dict[str, _Coded] = {}
        # read in one go: most of the time goes into finding the results in memory
        self._fields = self._read([*facts])

    def field(self, name: str) -> list[Any]:
        """A field of what was found; `None` where nothing was."""
        if name not in self._fields:
            self._fields |= self._read([name])
        return self._fields[name]

    def _read(self, names: list[str]) -> dict[str, list[Any]]:
        found = self.found
        if None in found:
            found = [result or _NOTHING for result in found]
        # one more than is wanted: of a single name it would give no tuples
        each = list(zip(*map(attrgetter("combined", *names), found), strict=True))[1:]
        return {name: list(each[at]) if each else [] for at, name in enumerate(names)}

    def result(self, name: str) -> list[Any]:
        """A field of the outcome."""
        return (
            self.moments if name == "looked_up_at" else list(map(attrgetter(name), self.outcomes))
        )

    def coded(self, name: str) -> _Coded:
        """A field of what was found of which few values differ."""
        if name not in self._coded:
            self._coded[name] = _coded(self.field(name))
        return self._coded[name]

    @cached_property
    def moments(self) -> list[datetime | None]:
        """When the service responded, or the result was computed."""
        at, own = self._results.at, len(self._results.outcomes)
        if at is None:
            return list(map(attrgetter("looked_up_at"), self.outcomes))
        computed = [at if outcome.means.attempted else None for outcome in self.outcomes[:own]]
        return [*computed, *[None] * (len(self.outcomes) - own)]

    @cached_property
    def warnings(self) -> _Coded:
        """The warnings, each once, and those of how the row names its place (`warnings_of`)."""
        if {(None, None)}.issuperset(map(_NAMED, self.queries.parts)):
            return self.coded("warnings").of(lambda codes: tuple(dict.fromkeys(codes or ())))
        pairs, first = combined_codes([self.of_query, self.queries.part_of], len(self.of_query))
        found = map(self.found.__getitem__, self.of_query[first].tolist())
        parts = map(self.queries.parts.__getitem__, self.queries.part_of[first].tolist())
        each = zip(found, map(_NAMED, parts), strict=True)
        of_pairs = _coded([warnings_of(result, *named) for result, named in each])
        return _Coded(of_pairs.codes[pairs], of_pairs.distinct, of_queries=True)

    @cached_property
    def days_looked_up(self) -> np.ndarray:
        """For each query the day that was looked up: the row's own, else that of the response."""
        results = self._results
        of_query = results.wanted.of_query
        days: np.ndarray = np.append(results.wanted.days, 0)[of_query]
        undated = (days == 0) & (of_query >= 0)
        if undated.any():
            days[undated] = self._todays[self.of_query[undated]]
        return days

    @property
    def _todays(self) -> np.ndarray:
        """For each result the day that "today" was."""
        today = self._results.today
        if today is not None:
            return np.full(len(self.outcomes), today.toordinal(), np.int64)
        there = [moment for moment in self.moments if moment is not None] or [datetime.now(UTC)]
        last = _local_day(max(there))
        if _local_day(min(there)) == last:
            return np.full(len(self.outcomes), last)
        return np.array([last if moment is None else _local_day(moment) for moment in self.moments])

    @cached_property
    def days(self) -> np.ndarray:
        """For each query the day of the row: its own, else the one that was looked up."""
        own = self.queries.days
        days: np.ndarray = np.where(own > 0, own, self.days_looked_up)
        return days

    @cached_property
    def reasons(self) -> _Coded:
        """Why rows require review, for each query."""
        lows, highs = self.field("low"), self.field("high")
        pairs = zip(lows, highs, strict=True)
        ranges = [0 if low is None else 1 + (low != high) for low, high in pairs]
        shares = [-1 if share is None else share for share in self.field("share")]
        sure = np.searchsorted(np.unique([0, self._below, LIKELY_SHARE]), shares, side="right")
        status = _coded(self.result("status")).codes
        few = ("warnings", "confidence", "resolved_state")
        rates = [(units or 0) > TOO_HIGH for units in self.field("combined")]
        flags = [np.array(values, np.int8) for values in (ranges, rates, sure)]
        kinds, _ = combined_codes(
            [status, *(self.coded(name).codes for name in few), *flags], len(self.outcomes)
        )
        warnings = self.warnings
        of_query = self.of_query
        warned = warnings.codes if warnings.of_queries else warnings.codes[of_query]
        from_zip = self.queries.of_parts(
            list(map(attrgetter("state_from_zip"), self.queries.parts)), np.int8
        )
        later = self._since(
            lambda found: law_since(found.effective_date, found.effective_date_basis)
        )
        is_later = (later[of_query] > self.days).astype(np.int8)
        codes, first = combined_codes([kinds[of_query], warned, from_zip, is_later], len(of_query))
        reasons = [
            review_reasons(
                self.outcomes[of_query[at]],
                warnings.distinct[warned[at]],
                _day(self.days[at]),
                below=self._below,
                state_from_zip=bool(from_zip[at]),
            )
            for at in first.tolist()
        ]
        return _Coded(codes, ["; ".join(texts) or None for texts in reasons], of_queries=True)

    def as_of_statuses(self) -> _Coded:
        """Whether the result itself proves that its rate was law on the day of the row."""
        of_query = self.of_query
        begun = np.array([last_begun(moment).toordinal() for moment in self.moments], np.int64)
        since = self._since(proved_from)
        proved = (since > 0)[of_query] & is_proved(
            since[of_query], self.days, self.days_looked_up, begun[of_query]
        )
        there = np.array([found is not None for found in self.found], bool)[of_query]
        return _Coded(np.where(there, 1 + proved, 0), _AS_OF, of_queries=True)

    def _since(self, first_day: Callable[[Found], date | None]) -> np.ndarray:
        """For each result a day of what was found; 0 for none."""
        days = [None if found is None else first_day(found) for found in self.found]
        return np.array([0 if day is None else day.toordinal() for day in days], np.int64)

    def components(self) -> list[str | None]:
        return [encode(() if found is None else found.components) for found in self.found]

    def sources(self) -> _Coded:
        """The service, and its source where it states one."""
        name = self.who.name
        return self.coded("source").of(lambda source: f"{name}: {source}" if source else name)

    def editions(self) -> _Coded:
        return self.coded("edition").of(lambda edition: edition or self.who.edition)


_NAMED = attrgetter("named_city", "point_warning")
_AS_OF = (None, "unverified", "verified")


def _coded(values: Sequence[Any]) -> _Coded:
    distinct = dict.fromkeys(values)
    numbers = dict(zip(distinct, range(len(distinct)), strict=True))
    codes = np.fromiter(map(numbers.__getitem__, values), np.int32, len(values))
    return _Coded(codes, list(distinct))


def _day(ordinal: int) -> date | None:
    return date.fromordinal(int(ordinal)) if ordinal else None


def _local_day(moment: datetime) -> int:
    """The day in the user's time zone."""
    return moment.astimezone().date().toordinal()


_NOTHING = SimpleNamespace(**dict.fromkeys(FOUND_FIELDS))
"""Stands for a missing `Found`: every field of it is `None`."""


_FEW: dict[str, Callable[[_Values], _Coded]] = {
    "needs_review": lambda values: values.reasons.of(lambda reason: reason is not None),
    "lookup_review_reason": lambda values: values.reasons,
    "as_of_status": _Values.as_of_statuses,
    "lookup_source": _Values.sources,
    "lookup_edition": _Values.editions,
}
_OTHERS: dict[str, Callable[[_Values], _Built]] = {
    "lookup_jurisdictions": lambda values: _Built(Texts(values.components())),
    "warnings": lambda values: _texts(values.warnings.of(lambda codes: "; ".join(codes) or None)),
    "lookup_as_of": lambda values: _Built(Fixed.days(values.days_looked_up), of_queries=True),
}
"""How the columns are computed that show no fact of the response as it is."""


def _column(column: Column, values: _Values, rates: RateForm) -> _Built:
    """One column of the results, with a value for each query or each distinct result."""
    name, form = column.name, column.form
    if name in _OTHERS:
        return _OTHERS[name](values)
    if form == "rate":
        return _Built(rate_values(values.field(column.fact), rates))
    if form == "share":
        return _Built(Fixed.shares(values.field(column.fact)))
    if form in {"truth", "category"}:
        few = _FEW[name](values) if name in _FEW else values.coded(column.fact)
        kind = Truths if form == "truth" else Categories
        return _Built(kind(few.codes, few.distinct), few.of_queries)
    if form == "day":
        days = values.coded(column.fact).of(parsed_day)
        ordinals = [0 if day is None else day.toordinal() for day in days.distinct]
        return _Built(Fixed.days(np.array(ordinals, np.int64)[days.codes]))
    each = values.result(column.outcome) if column.outcome else values.field(column.fact)
    return _Built(Fixed.moments(each) if form == "moment" else Texts(each))


def _texts(coded: _Coded) -> _Built:
    return _Built(Texts(coded.each()), coded.of_queries)
