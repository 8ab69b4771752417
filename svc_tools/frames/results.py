"""The results of a lookup: as columns of the frame, and stored with the frame.

Each value is computed once for each distinct query. `remember` stores the results in `frame.attrs`:
copies, filters and sorts preserve them. pandas drops the attributes of frames that are concatenated
or merged, unless they come from the same lookup. A file does not hold the results, only which
service, columns and values they came from; the cache may have them.

`OntoRows` then copies the values to the rows. The column `lookup_jurisdictions` holds the parts of
a rate as JSON text: a list of `{"level", "code", "name", "rate"}` in the order of the response, the
state first. Rates are five-decimal strings (SPEC 2.2), never numbers; `code` is null where the
service gives none. The cell is missing where the response has no parts. `encode` writes and
`decode` reads it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import secrets
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime
from functools import cached_property
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_sdk.rates import UNITS_PER_ONE, rate_to_units, units_to_rate
from svc_tools.config import EmbeddedSvc, Source, service_name
from svc_tools.dates import DateStyle
from svc_tools.exports import named_export, recognized
from svc_tools.frames.arrow import OntoRows
from svc_tools.frames.columns import Inputs, free_labels, propose
from svc_tools.frames.lookup.deciding import rows_of_file
from svc_tools.frames.lookup.reading import Reading, reading_of_export
from svc_tools.frames.lookup_columns import READING, stored
from svc_tools.frames.queries import combined
from svc_tools.lookup import Component, Found, Outcome, refused
from svc_tools.lookup.columns import COLUMNS, lookup_columns
from svc_tools.lookup.outcomes import TOO_HIGH
from svc_tools.lookup.reviewing import as_of_status, parsed_day, review_reasons, warnings_of
from svc_tools.places import Question

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence

    from svc_sdk import Svc
    from svc_tools.frames.queries import Queries
    from svc_tools.lookup import Run
    from svc_tools.lookup.columns import Column
    from svc_tools.lookup.options import RateForm
    from svc_tools.places import Place


@dataclass(frozen=True, slots=True)
class ServiceName:
    """The name of a service as it stands in the rows, and its edition where known."""

    name: str
    edition: str | None = None


def name_of_service(client: Svc) -> ServiceName:
    """The service of a client."""
    edition = client.book_edition if isinstance(client, EmbeddedSvc) else None
    return ServiceName(service_name(client), edition)


def result_columns(
    queries: Queries,
    outcomes: Mapping[Place, Outcome],
    who: ServiceName,
    rates: RateForm = "decimal",
    *,
    names: Collection[str] | None = None,
    detail: bool = False,
    today: date | None = None,
) -> dict[str, Any]:
    """The columns that a lookup adds, without their prefix, in the order of the rows.

    Args:
        queries: the queries of the rows.
        outcomes: the outcome of each place.
        who: the service.
        rates: the form of the rates.
        names: which of the columns; `None` for all of them.
        detail: whether those of the details are among them.
        today: the day of queries without a date; `None` for that of the response.
    """
    values = _Values(queries, outcomes, who, today)
    onto = OntoRows(queries.codes)
    every = lookup_columns(detail=detail)
    wanted = {*every}.intersection(every if names is None else names)
    return {one.name: _column(one, values, onto, rates) for one in COLUMNS if one.name in wanted}


def outcomes_of(queries: Queries, outcomes: Mapping[Place, Outcome]) -> list[Outcome]:
    """The outcome of each query, including those that are never requested."""
    with contextlib.suppress(AttributeError):  # unless one is a refusal, which has no place
        return list(map(outcomes.__getitem__, map(attrgetter("place"), queries.questions)))
    return [
        outcomes[one.place] if isinstance(one, Question) else refused(one)
        for one in queries.questions
    ]


RESULTS = "svc_answers"
"""The frame's attribute that holds the results."""


@dataclass(frozen=True, slots=True)
class UsedLookup:
    """One lookup of a frame, and the results that it used.

    Attributes:
        prefix: that of its columns.
        inputs: the columns and values that the queries were made of.
        source: the service and account.
        service: the service's name and edition, as they stand in the rows.
        detail: whether the responses were the detailed ones.
        outcomes: the results by place; `None` for a frame that was read from a file.
    """

    prefix: str
    inputs: Inputs
    source: Source
    service: ServiceName
    detail: bool
    outcomes: Mapping[Place, Outcome] | None


class _Remembered(str):
    """The lookups of a frame; as text (in a file's metadata) it says where the results came from.

    pandas copies the attributes of a frame deeply with every filter: a deep copy of this is the
    same object, so that no filter pays for the results. Two of them are equal only if they are of
    the same lookups, because pandas preserves the attributes of concatenated or merged frames only
    where they are equal.
    """

    __slots__ = ("lookups",)
    lookups: Mapping[str, UsedLookup]

    def __new__(cls, lookups: Mapping[str, UsedLookup]) -> Self:
        text = {
            "lookup": secrets.token_hex(8),
            "of": [_lookup_source(one) for one in lookups.values()],
        }
        made = super().__new__(cls, json.dumps(text, default=str))
        made.lookups = lookups
        return made

    def __copy__(self) -> _Remembered:
        return self

    def __deepcopy__(self, memo: object) -> _Remembered:
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Pickle the text alone, as a file holds it: no worker gets a copy of all results."""
        return str, (str(self),)


def remember(frame: pd.DataFrame, lookup: UsedLookup) -> None:
    """Store the results of the lookup that added a frame's columns with the frame.

    A lookup of the same prefix is replaced; those of other prefixes stay.
    """
    before = frame.attrs.get(RESULTS)
    lookups = dict(before.lookups) if isinstance(before, _Remembered) else {}
    frame.attrs[RESULTS] = _Remembered({**lookups, lookup.prefix: lookup})


def lookups_of(frame: pd.DataFrame) -> list[UsedLookup]:
    """The lookups whose columns a frame has, as far as they are stored with it.

    Those of a frame that was read from a file are without their results.
    """
    stored = frame.attrs.get(RESULTS)
    if isinstance(stored, _Remembered):
        lookups = list(stored.lookups.values())
    else:
        lookups = _from_text(stored, list(frame.columns)) if isinstance(stored, str) else []
    return [one for one in lookups if f"{one.prefix}lookup_status" in frame.columns]


def reading_of(frame: pd.DataFrame, prefix: str) -> Reading:
    """What the columns of an enriched frame mean, as its lookup or its tax has read them.

    Where that is not stored with the frame, it is read again.
    """
    with contextlib.suppress(KeyError, TypeError, ValueError):
        return Reading.from_plain(stored(frame, READING)[prefix])
    for lookup in lookups_of(frame):
        if lookup.prefix == prefix:
            return lookup.inputs.reading
    labels = free_labels(frame)
    export = recognized(labels)
    if export is not None:
        return reading_of_export(export, labels)
    return rows_of_file(frame, labels, propose(frame).found)


def remember_reading(frame: pd.DataFrame, prefix: str, reading: Reading) -> None:
    """Store with a frame what its columns mean, in plain values that a file can hold."""
    frame.attrs[READING] = {**stored(frame, READING), prefix: reading.as_plain()}


def _lookup_source(lookup: UsedLookup) -> dict[str, Any]:
    """Where the results of a lookup came from, as JSON can hold it."""
    inputs = lookup.inputs
    return {
        "prefix": lookup.prefix,
        "service": lookup.source.service,
        "account": lookup.source.account,
        "name": lookup.service.name,
        "edition": lookup.service.edition,
        "detail": lookup.detail,
        "columns": {
            role: label if isinstance(label, str | int) else None
            for role, label in inputs.columns.items()
        },
        "scalars": {
            role: {"date": value.isoformat()} if isinstance(value, date) else value
            for role, value in inputs.scalars.items()
        },
        "dates": inputs.style.as_json(),
        "grain": inputs.grain,
        "export": inputs.export and inputs.export.name,
        "reading": inputs.reading.as_plain(),
    }


def _from_text(text: str, labels: Sequence[Hashable]) -> list[UsedLookup]:
    """The lookups described in a file's text; none where the text is another program's."""
    try:
        return [_lookup(one, labels) for one in json.loads(text)["of"]]
    except (ValueError, TypeError, LookupError, AttributeError):
        return []


def _lookup(stored: Mapping[str, Any], labels: Sequence[Hashable]) -> UsedLookup:
    if None in stored["columns"].values():
        raise ValueError("a column has a label that JSON cannot hold")
    scalars = {
        role: date.fromisoformat(value["date"]) if isinstance(value, dict) else value
        for role, value in stored["scalars"].items()
    }
    export = named_export(stored.get("export"))
    if "reading" in stored:
        reading = Reading.from_plain(stored["reading"])
    else:  # a file of an earlier release
        reading = Reading() if export is None else reading_of_export(export, labels)
    inputs = Inputs(
        *(stored["columns"], scalars, ()),
        DateStyle.from_json(stored["dates"]),
        stored["grain"],
        reading,
    )
    return UsedLookup(
        prefix=stored["prefix"],
        inputs=inputs,
        source=Source(stored["service"], stored["account"]),
        service=ServiceName(stored["name"], stored["edition"]),
        detail=stored["detail"],
        outcomes=None,
    )


def note_of(lookup: UsedLookup, run: Run, *, rows: int, notes: Iterable[str]) -> dict[str, object]:
    """The value of the frame's attribute `svc_lookup`: the lookup as JSON can hold it."""
    inputs = lookup.inputs
    return {
        "prefix": lookup.prefix,
        "rows": rows,
        "asked": run.asked,
        "cached": run.cached,
        "requests": run.requests,
        "service": lookup.service.name,
        "notes": list(notes),
        "stopped": run.stopped,
        "detail": lookup.detail,
        "grain": inputs.grain,
        "inputs": {
            "columns": {role: _json(label) for role, label in inputs.columns.items()},
            "scalars": {role: _json(value) for role, value in inputs.scalars.items()},
            "tz": None if inputs.style.terms.tz is None else str(inputs.style.terms.tz),
        },
    }


def _json(value: object) -> object:
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool) else str(value)


_HOUR = 3_600_000_000
"""Microseconds. `as_of_status` depends on days, which begin on the hour in every time zone."""


class _Coded(NamedTuple):
    """Values by query, of which few differ: `distinct[codes[query]]`."""

    codes: np.ndarray
    distinct: Sequence[Any]

    def each(self) -> list[Any]:
        """The value of each query."""
        return list(map(self.distinct.__getitem__, self.codes.tolist()))

    def of(self, function: Callable[[Any], object]) -> _Coded:
        """A function of each value."""
        return _Coded(self.codes, list(map(function, self.distinct)))


class _Values:
    """The values of each query; each is computed once, when a column needs it.

    A value that depends on a few fields is computed once for each combination of them.
    """

    def __init__(
        self,
        queries: Queries,
        outcomes: Mapping[Place, Outcome],
        who: ServiceName,
        today: date | None,
    ) -> None:
        self.queries = queries
        self.who = who
        self.today = today
        self.outcomes = outcomes_of(queries, outcomes)
        self.found = list(map(attrgetter("found"), self.outcomes))
        self._fields_of = self.found
        if None in self.found:
            self._fields_of = [one or _NOTHING for one in self.found]
        self._coded: dict[str, _Coded] = {}

    def field(self, name: str) -> list[Any]:
        """A field of what was found; `None` where nothing was."""
        return list(map(attrgetter(name), self._fields_of))

    def result(self, name: str) -> list[Any]:
        """A field of the outcome."""
        return list(map(attrgetter(name), self.outcomes))

    def coded(self, name: str) -> _Coded:
        """A field of what was found of which few values differ."""
        if name not in self._coded:
            self._coded[name] = _coded(self.field(name))
        return self._coded[name]

    @cached_property
    def warnings(self) -> _Coded:
        """The warnings of each query, each once, and `place_input_mismatch`."""
        if {None}.issuperset(map(attrgetter("named_city"), self.queries.parts)):
            return self.coded("warnings").of(lambda codes: tuple(dict.fromkeys(codes or ())))
        cities = map(attrgetter("named_city"), self.queries.questions)
        return _coded(list(map(warnings_of, self.found, cities)))

    @cached_property
    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """When the service responded, in microseconds since 1970, and where it did not."""
        array = pa.array(self.result("looked_up_at"), pa.timestamp("us", "UTC"))
        missing = array.is_null().to_numpy(zero_copy_only=False)
        return array.cast(pa.int64()).fill_null(0).to_numpy(), missing

    @cached_property
    def days_looked_up(self) -> list[date | None]:
        """The day that was looked up: the row's own, else the day of the response."""
        questions, answered = self.queries.questions, self.result("looked_up_at")
        moments = [moment for moment in answered if moment is not None] or [datetime.now(UTC)]
        first, last = _local_day(min(moments)), _local_day(max(moments))
        today = self.today or (last if first == last else None)
        days = [
            one.place.as_of or today if isinstance(one, Question) else None for one in questions
        ]
        if today is None and None in days:  # the responses are of several days
            for index, (one, moment) in enumerate(zip(questions, answered, strict=True)):
                if days[index] is None and isinstance(one, Question):
                    days[index] = last if moment is None else _local_day(moment)
        return days

    @cached_property
    def days(self) -> list[date | None]:
        """The day of the row: its own, else the one that was looked up."""
        return [own or day for own, day in zip(self.queries.days, self.days_looked_up, strict=True)]

    @cached_property
    def _dates(self) -> list[np.ndarray]:
        """The codes of what decides whether the rate was in force on the day of the row."""
        in_force = [self.coded(name).codes for name in ("effective_date", "effective_date_basis")]
        return [*in_force, _coded(self.days).codes]

    @cached_property
    def reasons(self) -> _Coded:
        lows, highs = self.field("low"), self.field("high")
        pairs = zip(lows, highs, strict=True)
        ranges = [0 if low is None else 1 + (low != high) for low, high in pairs]
        status = _coded(self.result("status")).codes
        fields = [self.coded(one).codes for one in ("warnings", "confidence", "resolved_state")]
        from_zip = list(map(attrgetter("state_from_zip"), self.queries.questions))
        rates = [(units or 0) > TOO_HIGH for units in self.field("combined")]
        flags = [np.array(one, np.int8) for one in (ranges, from_zip, rates)]
        read = [status, self.warnings.codes, *fields, *self._dates, *flags]
        codes, first = combined(read, len(ranges))
        warnings = self.warnings.each()
        reasons = [
            review_reasons(
                self.outcomes[index],
                warnings[index],
                self.days[index],
                state_from_zip=from_zip[index],
            )
            for index in first.tolist()
        ]
        return _Coded(codes, ["; ".join(one) or None for one in reasons])

    def as_of_statuses(self) -> _Coded:
        own, (moments, missing) = self.coded("warnings").codes, self.moments
        hours = np.where(missing, -1, pd.factorize(moments // _HOUR)[0])
        there = np.array([one is not None for one in self.found], bool)
        read = [own, *self._dates, _coded(self.days_looked_up).codes, hours, there.astype(np.int8)]
        codes, first = combined(read, len(there))
        statuses = [
            as_of_status(
                self.found[index],
                self.days_looked_up[index],
                self.days[index],
                self.outcomes[index].looked_up_at,
            )
            for index in first.tolist()
        ]
        return _Coded(codes, statuses)

    def components(self) -> list[tuple[Component, ...]]:
        return [() if one is None else one.components for one in self.found]

    def sources(self) -> _Coded:
        """The service, and its source where it states one."""
        name = self.who.name
        return self.coded("source").of(lambda source: f"{name}: {source}" if source else name)

    def editions(self) -> _Coded:
        return self.coded("edition").of(lambda edition: edition or self.who.edition)


def _coded(values: Sequence[Any]) -> _Coded:
    distinct = dict.fromkeys(values)
    numbers = dict(zip(distinct, range(len(distinct)), strict=True))
    codes = np.fromiter(map(numbers.__getitem__, values), np.int32, len(values))
    return _Coded(codes, list(distinct))


def _local_day(moment: datetime) -> date:
    """The day in the user's time zone."""
    return moment.astimezone().date()


_NOTHING = SimpleNamespace(**dict.fromkeys(one.name for one in fields(Found)))
"""Stands for a missing `Found`: every field of it is `None`."""


_FEW: dict[str, Callable[[_Values], _Coded]] = {
    "needs_review": lambda values: values.reasons.of(lambda reason: reason is not None),
    "lookup_review_reason": lambda values: values.reasons,
    "as_of_status": _Values.as_of_statuses,
    "lookup_source": _Values.sources,
    "lookup_edition": _Values.editions,
}
_EACH: dict[str, Callable[[_Values], list[Any]]] = {
    "lookup_jurisdictions": lambda values: list(map(encode, values.components())),
    "warnings": lambda values: values.warnings.of(lambda codes: "; ".join(codes) or None).each(),
    "lookup_as_of": lambda values: values.days_looked_up,
}
"""How the columns are computed that show no fact of the response as it is."""


def _column(column: Column, values: _Values, onto: OntoRows, rates: RateForm) -> Any:  # noqa: ANN401 - an array of pandas
    name, form = column.name, column.form
    if form == "rate":
        return onto.rates(values.field(column.fact), rates)
    if form == "moment":
        return onto.moments(*values.moments)
    if form in {"truth", "category"}:
        few = _FEW[name](values) if name in _FEW else values.coded(column.fact)
        return onto.truths(*few) if form == "truth" else onto.categories(*few)
    each = _each(column, values)
    return onto.days(each) if form == "day" else onto.texts(each)


def _each(column: Column, values: _Values) -> list[Any]:
    """The value of each query."""
    if column.name in _EACH:
        return _EACH[column.name](values)
    if column.outcome:
        return values.result(column.outcome)
    if column.form == "day":
        return values.coded(column.fact).of(parsed_day).each()
    return values.field(column.fact)


def encode(components: Sequence[Component]) -> str | None:
    """The cell of some components; `None` without components.

    Raises:
        ValueError: a rate is not a fraction from 0 to 1.
    """
    if not components:
        return None
    parts = [
        {"level": part.level, "code": part.code, "name": part.name, "rate": _rate(part.units)}
        for part in components
    ]
    text = json.dumps(parts, ensure_ascii=False, separators=(", ", ": "))
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can hold and a text column cannot
        return json.dumps(parts, separators=(", ", ": "))
    return text


@functools.lru_cache(maxsize=16_384)
def decode(text: str | None) -> tuple[Component, ...]:
    """The components of a cell; none where it is missing or empty.

    Raises:
        ValueError: the text is not such a cell.
    """
    if text is None or not text.strip():
        return ()
    try:
        return tuple(map(_component, _parts(json.loads(text))))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        shown = text if len(text) <= 60 else f"{text[:60]}…"  # noqa: PLR2004
        why = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(
            f"lookup_jurisdictions: {shown!r} cannot be read ({why}); expected a list of objects"
            " with level, code, name and rate, as df.svc.lookup(detail=True) writes it"
        ) from None


def _parts(cell: object) -> list[object]:
    if not isinstance(cell, list):
        raise TypeError("it is no list")
    return cell


def _component(part: object) -> Component:
    if not isinstance(part, dict):
        raise TypeError(f"{part!r} is no object")
    level, name, code, rate = part["level"], part["name"], part["code"], part["rate"]
    if not all(isinstance(value, str) for value in (level, name, rate)):
        raise TypeError("level, name and rate are texts")
    if not isinstance(code, str | None):
        raise TypeError("code is a text or null")
    units = rate_to_units(rate)
    _rate(units)
    return Component(level, name, code, units)


def _rate(units: int) -> str:
    if not 0 <= units < UNITS_PER_ONE:
        raise ValueError(f"a rate of {units} units of 10^-5 is not a fraction from 0 to 1")
    return units_to_rate(units)
