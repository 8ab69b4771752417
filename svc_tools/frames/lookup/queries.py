"""The distinct queries of a frame's rows: every distinct cell, place and date is read once.

Rows are grouped by codes of their distinct values. ZIPs, state codes and days have codes that need
no hashing, which is several times faster. Queries are columns of numbers: a year of orders has as
many pairs of a place and a day as it has rows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from svc_tools.base.memory import all_stay
from svc_tools.frames.orders.orders import Orders
from svc_tools.frames.values.arrow import bytes_of, ends_of, is_text
from svc_tools.lookup.plan import Refused
from svc_tools.tables.cells import text_of
from svc_tools.tables.dates import HOURS_BEHIND, NoDate, parse, read, read_one, same_zone
from svc_tools.tables.places import NO_DATE, Cells, PlaceQuery, Refusal, first_day, on_days, where

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from svc_tools.frames.lookup.columns import Inputs
    from svc_tools.tables.dates import DateStyle, Day, Parsed
    from svc_tools.tables.places import Grain, Place

DAY_SPAN = 2**22
"""More than the number of any day of the calendar: what a place's number is multiplied by."""


@dataclass(frozen=True, slots=True)
class Queries:
    """The distinct queries of rows: each is a place and the day of its rows.

    Attributes:
        parts: the places without a date, and refusals; of several the place may be the same.
        part_of: for each query the number of its part.
        days: for each query the day of its rows as `date.toordinal` counts it; 0 for none, and
            where they are refused.
        rows: for each query the number of its rows.
        rests: rows by what their day rests on, as in `Days`.
    """

    parts: Sequence[PlaceQuery | Refusal]
    part_of: np.ndarray
    days: np.ndarray
    rows: np.ndarray
    rests: Counter[str] = field(default_factory=Counter)

    def of_parts(self, values: Sequence[Any], kind: type | np.dtype[Any]) -> np.ndarray:
        """For each query a value of its part."""
        each: np.ndarray = np.array(values, kind)[self.part_of]
        return each

    def count(self, attribute: str) -> int:
        """How many rows have a query with this attribute set."""
        flags = [getattr(part, attribute) is True for part in self.parts]
        return int(self.rows[self.of_parts(flags, bool)].sum()) if True in flags else 0

    def unused_points(self) -> Counter[str]:
        """How many rows have coordinates that were named and are not used, by why."""
        rows: Counter[str] = Counter()
        whys = [part.point_not_used for part in self.parts]
        if any(whys):
            of_part = np.bincount(self.part_of, self.rows, len(self.parts)).astype(np.int64)
            for why, count in zip(whys, of_part.tolist(), strict=True):
                if why:
                    rows[why] += count
        return rows

    def refused(self) -> tuple[Refused, ...]:
        """The rows that are never looked up, by reason; the most frequent first."""
        of_part = np.bincount(self.part_of, self.rows, len(self.parts)).astype(np.int64).tolist()
        counted: Counter[tuple[str, str]] = Counter()
        for at in pd.unique(self.part_of).tolist():  # of equal numbers the first of the rows
            part = self.parts[at]
            if isinstance(part, Refusal):
                counted[part.status, part.reason] += of_part[at]
        return tuple(Refused(*reason, rows) for reason, rows in counted.most_common())

    def wanted(self, grain: Grain) -> Wanted:
        """What is to be looked up for them, where dates have this grain."""
        numbers: dict[Place, int] = {}
        of_part = [
            numbers.setdefault(part.place, len(numbers)) if isinstance(part, PlaceQuery) else -1
            for part in self.parts
        ]
        place_of, days = self.of_parts(of_part, np.int64), self.days
        if grain != "day":
            own, back = np.unique(days, return_inverse=True)
            firsts = [day and first_day(date.fromordinal(day), grain).toordinal() for day in own]
            days = np.array(firsts, np.int64)[back]
        there = place_of >= 0
        codes, keys = pd.factorize((place_of * DAY_SPAN + days)[there])
        of_query = np.full(len(days), -1, np.int64)
        of_query[there] = codes
        return Wanted(list(numbers), *np.divmod(keys, DAY_SPAN), of_query)


class Wanted(NamedTuple):
    """The distinct places and days to look up for queries.

    Attributes:
        places: the places, without a date.
        place_of: for each lookup the number of its place.
        days: for each lookup its day, as `date.toordinal` counts it; 0 for today.
        of_query: for each query the number of its lookup; -1 where it is refused.
    """

    places: list[Place]
    place_of: np.ndarray
    days: np.ndarray
    of_query: np.ndarray

    def __len__(self) -> int:
        """How many lookups there are."""
        return len(self.place_of)

    def dated(self, some: np.ndarray | slice = slice(None)) -> list[Place]:
        """The place of each lookup with its date, as one object."""
        return dated_places(self.places, self.place_of[some], self.days[some])


def dated_places(places: Sequence[Place], place_of: np.ndarray, days: np.ndarray) -> list[Place]:
    """A place with its date for each pair of a place's number and a day (0: none)."""
    every: dict[int, date | None] = {
        day: date.fromordinal(day) if day else None for day in np.unique(days).tolist()
    }
    chosen = [*map(places.__getitem__, place_of.tolist())]
    if [*every.values()] == [None]:
        return chosen
    with all_stay():
        return on_days(chosen, [*map(every.__getitem__, days.tolist())])


@dataclass(frozen=True, slots=True)
class ParsedRows:
    """The rows of a frame, their dates parsed, before it is decided how these are read."""

    frame: pd.DataFrame
    dates: DateColumn | None
    """The column of dates, if there is one."""

    @classmethod
    def of(cls, frame: pd.DataFrame, inputs: Inputs) -> ParsedRows:
        """The rows of a frame, or of a part of it."""
        frame = Orders(frame, inputs.reading).completed(inputs.columns)
        if "as_of" not in inputs.columns:
            return cls(frame, None)
        return cls(frame, DateColumn.of(frame[inputs.columns["as_of"]], inputs.style))

    def queries(self, inputs: Inputs) -> tuple[np.ndarray, Queries]:
        """For each row the number of its query, and the queries.

        Every distinct place and every distinct date is read once.
        """
        labels = [label for role, label in inputs.columns.items() if role != "as_of"]
        with all_stay():
            codes, columns, count = _distinct(self.frame, list(dict.fromkeys(labels)), inputs)
            parts = _places(inputs, columns, count)
        part_of, date_of = np.arange(count), np.zeros(count, np.intp)
        dates: Sequence[date | Refusal | None] = [None]
        rests = Counter[str]()
        if self.dates is not None:
            found = self.dates.days(inputs.style)
            by_row, dates = _dates(found)
            rests = found.rests
            together, first = combined_codes([codes, by_row], len(self.frame))
            part_of, date_of, codes = codes[first], by_row[first], together
        elif "as_of" in inputs.scalars:
            dates = [read_one(inputs.scalars["as_of"], inputs.style) or NO_DATE]
        rows = np.bincount(codes, minlength=len(part_of))
        return codes, Queries(*_dated(parts, part_of, dates, date_of), rows, rests)


def _dated(
    parts: list[PlaceQuery | Refusal],
    part_of: np.ndarray,
    dates: Sequence[date | Refusal | None],
    date_of: np.ndarray,
) -> tuple[list[PlaceQuery | Refusal], np.ndarray, np.ndarray]:
    """The parts of queries with those that refuse a date, the part of each, and its day."""
    refusals = [day for day in dates if isinstance(day, Refusal)]
    numbers = {refusal: len(parts) + at for at, refusal in enumerate(refusals)}
    days = np.array([day.toordinal() if isinstance(day, date) else 0 for day in dates], np.int64)
    bad_date = np.array([numbers.get(day, -1) for day in dates], np.int64)[date_of]  # type: ignore[arg-type]  # a date is no key of it
    bad = np.array([isinstance(part, Refusal) for part in parts], bool)[part_of]
    refused = np.where(bad, part_of, bad_date)
    is_good = refused < 0
    return (
        [*parts, *refusals],
        np.where(bad | is_good, part_of, bad_date),
        np.where(is_good & ~bad, days[date_of], 0),
    )


@dataclass(frozen=True, slots=True)
class _Column:
    """A column's distinct values, and which of them each distinct row has (-1: missing)."""

    uniques: list[object]
    codes: np.ndarray

    def cells(self) -> list[object]:
        """The cell of each distinct row, `None` where it is missing."""
        values = [*self.uniques, None]
        return [values[code] for code in self.codes.tolist()]


_REMEMBERED = 65_536
"""How many places are remembered by their cells: a notebook looks up the same ones again."""
_PLAIN = {str, int, float}
_Memory = dict[tuple[object, ...], PlaceQuery | Refusal]
_memories: dict[object, _Memory] = {}


def _places(
    inputs: Inputs, columns: dict[Hashable, _Column], count: int
) -> list[PlaceQuery | Refusal]:
    """The place of each distinct row, without its date; each distinct place is read once."""
    roles = {role: columns[label] for role, label in inputs.columns.items() if role != "as_of"}
    scalars = {role: value for role, value in inputs.scalars.items() if role != "as_of"}
    names = (*roles, *scalars)
    kinds = [_kind(column.uniques) for column in roles.values()]
    kinds += [_kind([value]) for value in scalars.values()]
    # columns of mixed types are not remembered: 1, 1.0 and True are equal keys
    named = inputs.point_named
    unremembered = None in kinds or count > _REMEMBERED
    remembered = {} if unremembered else _memory((names, tuple(kinds), named))
    cells = [column.cells() for column in roles.values()]
    cells += [[value] * count for value in scalars.values()]
    rows = zip(*cells, strict=True)
    questions: list[PlaceQuery | Refusal] = []
    get, add = remembered.get, questions.append
    for row in rows:
        query = get(row)
        if query is None:
            cells_of_row = Cells(**dict(zip(names, row, strict=True)))
            query = remembered[row] = where(cells_of_row, point_named=named)
        add(query)
    return questions


def _kind(values: list[object]) -> type | None:
    """The type that all of the values have; `None` for several, or an unusual one."""
    kinds = set(map(type, values)) or {str}
    return kinds.pop() if len(kinds) == 1 and kinds <= _PLAIN else None


def _memory(kind: object) -> _Memory:
    """The places that were read from cells of this kind before, in this process."""
    memory = _memories.setdefault(kind, {})
    if sum(map(len, list(_memories.values()))) > _REMEMBERED:
        _memories.clear()  # a caller that is filling one of them still holds it
        memory = _memories[kind] = {}
    return memory


@dataclass(frozen=True, slots=True)
class Days:
    """The days of a column's rows.

    Attributes:
        codes: for each row the number of its value; -1 where it is missing.
        each: the day of each value, and `None` as the last one, for the rows without a value.
        rests: rows by what their day rests on: `utc`, `other_month`, `moved`, `midnight` and
            `from_1904`, as `svc_tools.tables.dates.Read` has them.
    """

    codes: np.ndarray
    each: list[Day]
    rests: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class DateColumn:
    """A column of dates, of which each distinct value is parsed once.

    Attributes:
        codes: for each row the number of its value; -1 where it is missing.
        cells: the distinct values.
        by_day: the days of a column of times, which have no other reading.
    """

    codes: np.ndarray
    cells: Parsed
    by_day: Days | None = None

    @classmethod
    def of(cls, column: pd.Series, style: DateStyle) -> DateColumn:
        """The column, or a part of it; nothing is decided yet."""
        if (by_day := _by_day(column, style)) is not None:
            return cls(by_day.codes, parse((), style.terms), by_day)
        codes, values = factorized(column)
        return cls(codes, parse(values, style.terms))

    def days(self, style: DateStyle) -> Days:
        """The days of the rows."""
        if self.by_day is not None:
            return self.by_day
        found = read(self.cells, style)
        rests: Counter[str] = Counter()
        if found.utc or found.moved or found.from_1904:
            rows = np.bincount(self.codes[self.codes >= 0], minlength=len(found.days))
            for name in ("utc", "other_month", "moved", "midnight", "from_1904"):
                rests[name] = int(rows[getattr(found, name)].sum())
        return Days(self.codes, [*found.days, None], rests)


def _dates(found: Days) -> tuple[np.ndarray, list[date | Refusal]]:
    """For each row the number of its date, and the dates."""
    codes = found.codes
    dates = [_date_or_refusal(day) for day in found.each]
    numbers: dict[date | Refusal, int] = {}
    for value in dates:
        numbers.setdefault(value, len(numbers))
    if len(numbers) < len(dates) or codes.min(initial=0) < 0:
        codes = np.array([numbers[value] for value in dates], np.int32).take(codes)
        dates = list(numbers)
    return codes, dates


def _date_or_refusal(day: Day) -> date | Refusal:
    if isinstance(day, NoDate):
        return Refusal("invalid", f"as_of: {day}")
    return day or NO_DATE


_DAYS = (-719_162, 2_932_896)
"""The first and the last day that a calendar date can have, counted from 1970."""
_A_DAY = {"D": 1, "s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}

_LARGEST = np.iinfo(np.int64).max


def _by_day(column: pd.Series, style: DateStyle) -> Days | None:
    """The days of a column of times, which are few; `None` for other columns."""
    if not pd.api.types.is_datetime64_any_dtype(column.dtype) or not len(column):
        return None
    dtype = getattr(column.dtype, "pyarrow_dtype", column.dtype)
    unit = _unit(dtype)
    zone = getattr(dtype, "tz", None)
    try:
        own = moments = _local(column, unit, zone)
        times = own[~np.isnat(own)].view(np.int64) % _A_DAY[unit]
        if zone is None and style.zone is not None and times.any():
            zone, column = style.zone, column.dt.tz_localize(style.zone)
        target = None if zone is None else style.counting(zone)
        if target is not None:
            moments = _local(column.dt.tz_convert(target), unit, target)
    except (ValueError, TypeError, OverflowError):  # the first and the last day of the calendar
        return None
    missing = np.isnat(moments)
    # not by NumPy's conversion to days, which is wrong for the first day of the calendar
    numbers = moments.view(np.int64) // _A_DAY[unit]
    if missing.all():
        return Days(np.full(len(column), -1, np.int32), [None])
    highest = int(numbers.max())
    lowest = int(numbers.min(where=~missing, initial=highest))
    if not _DAYS[0] <= lowest <= highest <= _DAYS[1]:
        return None
    rests: Counter[str] = Counter()
    if target is not None:
        moved = not same_zone(zone, target)
        rests = _rests(own[~missing].view(np.int64), numbers[~missing], _A_DAY[unit], moved=moved)
        if style.terms.tz is not None:
            del rests["utc"], rests["other_month"]
    keys = np.where(missing, 0, numbers - (lowest - 1)).astype(np.int32)
    codes, first = numbered(keys, highest - lowest + 2)
    before = date(1970, 1, 1).toordinal() + lowest - 1
    values: list[Day] = [
        date.fromordinal(before + key) if key else None for key in keys[first].tolist()
    ]
    return Days(codes, [*values, None], rests)


def _unit(dtype: Any) -> str:  # noqa: ANN401 - of pandas or of Arrow
    """What times are counted in; Arrow's dates, in days."""
    return (
        np.datetime_data(dtype)[0] if isinstance(dtype, np.dtype) else getattr(dtype, "unit", "D")
    )


def _local(column: pd.Series, unit: str, zone: Any) -> np.ndarray:  # noqa: ANN401 - as above
    """Times as they are written in their zone."""
    moments: np.ndarray
    if isinstance(column.dtype, pd.ArrowDtype):  # pandas 2.3 would leave those of a zone in UTC
        kind = pa.date32() if unit == "D" else pa.timestamp(unit)
        moments = pa.array(column.array).cast(kind).to_numpy(zero_copy_only=False)
        if zone is not None:
            column = pd.Series(moments).dt.tz_localize("UTC").dt.tz_convert(zone)
    elif zone is None:
        moments = column.to_numpy(f"datetime64[{unit}]")
    if zone is None:
        return moments
    moments = column.dt.tz_localize(None).to_numpy(f"datetime64[{unit}]")
    if np.abs(moments[~np.isnat(moments)].view(np.int64)).max(initial=0) > _LARGEST - _A_DAY[unit]:
        raise OverflowError  # pandas 2.3 may have moved a time of 1677 to 2262, or the other way
    return moments


def _rests(own: np.ndarray, days: np.ndarray, a_day: int, *, moved: bool) -> Counter[str]:
    """What the days of times rest on, for times in UTC and for those moved to another zone.

    Args:
        own: the times in their own zone.
        days: the days that count, from 1970.
        a_day: the units of a day.
        moved: whether the days are those of another zone.
    """
    written = own // a_day
    there = days if moved else (own - HOURS_BEHIND * a_day // 24) // a_day
    at = np.flatnonzero(there != written)
    months = (of[at].astype("datetime64[D]").astype("datetime64[M]") for of in (there, written))
    rests = Counter(utc=len(own), other_month=int(np.count_nonzero(np.not_equal(*months))))
    if moved:
        rests.update(moved=len(own), midnight=int(np.count_nonzero(own % a_day == 0)))
    return rests


def distinct_rows(frame: pd.DataFrame, labels: list[Hashable]) -> tuple[np.ndarray, np.ndarray]:
    """For each row the number of its distinct combination, and each one's first row.

    Combinations are numbered as they appear. Missing values of all kinds are equal.
    """
    return combined_codes([factorized(frame[label])[0] for label in labels], len(frame))


def _distinct(
    frame: pd.DataFrame, labels: list[Hashable], inputs: Inputs
) -> tuple[np.ndarray, dict[Hashable, _Column], int]:
    """For each row the number of its distinct combination, their columns, and their number.

    Coordinates that are not used beside a ZIP are left out there: few of them are equal.
    """
    known = {label: factorized(frame[label]) for label in labels}
    if not inputs.point_named and "zip" in inputs.columns:
        by_row, values = known[inputs.columns["zip"]]
        there = np.array([*(text_of(value) is not None for value in values), False])[by_row]
        for label in (inputs.columns["lat"], inputs.columns["lng"]):
            codes, values = known[label]
            known[label] = np.where(there, -1, codes), values
    codes, first = combined_codes([by_row for by_row, _ in known.values()], len(frame))
    columns = {
        label: _Column(values, by_row.take(first)) for label, (by_row, values) in known.items()
    }
    return codes, columns, len(first)


def date_cells(column: pd.Series, style: DateStyle) -> Parsed:
    """The distinct values of a column of dates, or of a part of it, to decide on."""
    return parse(factorized(column)[1], style.terms)


def factorized(column: pd.Series) -> tuple[np.ndarray, list[object]]:
    """For each row the number of its value (-1: missing), and the values, in no certain order."""
    numbers = _numbers(column)
    if numbers is not None:
        codes, first = numbers
        return codes, column.take(first).tolist()
    codes, values = pd.factorize(column)
    return codes, values.tolist()


_WORTH_IT = 10_000
"""Below so many rows the tables cost more time than they save."""
_SHORT = 2
_DIGITS = (3, 6)
"""The fewest and the most digits of numbers that a table has places for."""
_ZERO, _NINE = b"09"


def _numbers(column: pd.Series) -> tuple[np.ndarray, np.ndarray] | None:
    """Codes, and a row of each, of short texts that a table has places for: six times faster.

    Every row has a text, all are of one length, and they are two bytes at most or three to six
    digits. `None` for every other column.
    """
    if not is_text(column) or len(column) < _WORTH_IT:
        return None
    array = pa.array(column.array)
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if array.null_count:
        return None
    ends = ends_of(array)
    length = int(ends[1])
    digits = _DIGITS[0] <= length <= _DIGITS[1]
    if not (digits or 0 < length <= _SHORT) or (np.diff(ends) != length).any():
        return None
    text = np.frombuffer(bytes_of(array), np.uint8)
    if digits and (text.min() < _ZERO or text.max() > _NINE):
        return None
    base = 10 if digits else 256
    by_place = text.reshape(-1, length)
    keys = by_place[:, 0].astype(np.int32)
    for place in range(1, length):
        keys *= base
        keys += by_place[:, place]
    if digits:
        keys -= int(_ZERO) * int("1" * length)
    return numbered(keys, base**length)


_DENSE_SPAN = 4
"""A table of this many entries per row is still cheaper than hashing, and small for a frame."""
_SMALL_SPAN = 4_194_304
_BLOCK = 65_536
"""Rows that are numbered at once: a block fits the processor's cache."""


def combined_codes(columns: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """One dense code for each combination of codes, and the first row of each.

    Args:
        columns: for each column the number of each row's value, -1 where it is missing.
        count: the number of rows.
    """
    if not columns:
        return np.zeros(count, np.intp), np.zeros(min(count, 1), np.intp)
    limit = max(_DENSE_SPAN * count, _SMALL_SPAN)
    kind = np.int32 if limit < 2**31 else np.int64
    codes: np.ndarray | None = None
    span = 1
    for column in columns:
        size = int(column.max(initial=-1)) + 2
        if codes is None:
            codes = column.astype(kind)
            codes += 1  # 0: missing
        else:
            if span * size > limit:
                codes, first = _by_hash(codes)
                span = len(first)
                if span * size > limit:
                    codes = codes.astype(np.int64)
            np.multiply(codes, size, out=codes)
            codes += column.astype(codes.dtype, copy=False)
            codes += 1
        span *= size
    assert codes is not None  # noqa: S101 - there are columns
    return _by_hash(codes) if span > limit else numbered(codes, span)


def _by_hash(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    dense, uniques = pd.factorize(codes)
    first = np.empty(len(uniques), np.intp)
    first[dense[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return dense.astype(codes.dtype, copy=False), first


def numbered(keys: np.ndarray, span: int) -> tuple[np.ndarray, np.ndarray]:
    """Keys from 0 up to `span` by their distinct values, numbered as they appear.

    A table with a place for every possible key: faster than hashing while it is small.

    Returns:
        For each row the number of its key, and for each number the first row.
    """
    kind = np.int32 if len(keys) < 2**31 else np.int64
    table: np.ndarray[tuple[int], np.dtype[np.int64]] = np.full(span, -1, kind)
    firsts = [np.empty(0, np.intp)]
    known = 0
    for start in range(0, len(keys), _BLOCK):
        block = keys[start : start + _BLOCK]
        new = np.flatnonzero(table.take(block) < 0)
        if not len(new):
            continue
        unknown = block[new]
        order = np.arange(len(unknown), dtype=kind)
        table[unknown[::-1]] = order[::-1]  # the first row of a key is written last
        is_first = np.flatnonzero(table[unknown] == order)
        table[unknown[is_first]] = np.arange(known, known + len(is_first), dtype=kind)
        firsts.append(new[is_first] + start)
        known += len(is_first)
    codes = pc.take(pa.array(table), pa.array(keys), boundscheck=False)
    return codes.to_numpy(), np.concatenate(firsts)
