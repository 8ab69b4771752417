"""From rows to distinct questions: equal rows are understood once, and so are equal cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.frames.factorizing import factorized
from svc_tools.places import (
    NO_DATE,
    Cells,
    Question,
    Refusal,
    day_of,
    first_day,
    on_day,
    where,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence
    from datetime import date

    from svc_tools.frames.columns import Inputs
    from svc_tools.places import Place

__all__ = ["Asked", "ask", "distinct_rows"]

_DENSE_SPAN = 4
"""A table of this many entries per row is still cheaper than hashing, and small beside a frame."""
_SMALL_SPAN = 4_194_304
_REMEMBERED = 65_536
"""How many places that were asked about are remembered as they stood in their cells."""
_PLAIN = {str, int, float}


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a frame: one per distinct row, and which row has which."""

    codes: np.ndarray
    """For each row the index of its question."""
    questions: list[Question | Refusal]
    rows: np.ndarray
    """For each question the number of its rows."""
    days: list[date | None]
    """For each question the rows' own day, which with a coarser grain is not the one asked about;
    `None` where rows have no dates."""
    undated: list[Question | Refusal]
    """For each question the same one apart from its date."""

    def places(self) -> Iterator[Place]:
        """The places to ask for; some of them may be equal."""
        return (one.place for one in self.questions if isinstance(one, Question))

    def count(self, attribute: str) -> int:
        """How many rows have a question with this attribute set."""
        return sum(
            rows
            for one, rows in zip(self.questions, self.rows.tolist(), strict=True)
            if isinstance(one, Question) and getattr(one, attribute)
        )


def ask(frame: pd.DataFrame, inputs: Inputs) -> Asked:
    """Understand every distinct row once, its place and its date apart."""
    labels = list(dict.fromkeys(inputs.columns.values()))
    codes, distinct = _distinct(frame, labels)
    by_label = dict(zip(labels, distinct, strict=True))
    count = int(codes.max(initial=-1)) + 1 if len(codes) else 0
    undated = questions = _places(inputs, by_label, count)
    days: list[date | None] = [None] * count
    if "as_of" in inputs.columns or "as_of" in inputs.scalars:
        questions, days = _dated(questions, inputs, by_label)
    rows = np.bincount(codes, minlength=count) if count else np.empty(0, np.int64)
    return Asked(codes, questions, rows, days, undated)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column's distinct values, and which of them each distinct row has (-1: missing)."""

    uniques: list[object]
    codes: np.ndarray

    def cells(self) -> list[object]:
        """The cell of each distinct row, `None` where it is missing."""
        values = [*self.uniques, None]
        return [values[code] for code in self.codes.tolist()]


def _places(
    inputs: Inputs, columns: dict[Hashable, _Column], count: int
) -> list[Question | Refusal]:
    """What each distinct row asks, its date apart; understood once for each distinct place."""
    roles = {role: columns[label] for role, label in inputs.columns.items() if role != "as_of"}
    scalars = {role: value for role, value in inputs.scalars.items() if role != "as_of"}
    names = (*roles, *scalars)
    kinds = [_kind(column.uniques) for column in roles.values()]
    kinds += [_kind([value]) for value in scalars.values()]
    # a number in the place of a text is another cell, though it may be equal to a third one
    remembered = {} if None in kinds or count > _REMEMBERED else _memory((names, tuple(kinds)))
    cells = [column.cells() for column in roles.values()]
    cells += [[value] * count for value in scalars.values()]
    rows = zip(*cells, strict=True)
    questions: list[Question | Refusal] = []
    get, add = remembered.get, questions.append
    for row in rows:
        one = get(row)
        if one is None:
            one = remembered[row] = where(Cells(**dict(zip(names, row, strict=True))))
        add(one)
    return questions


def _kind(values: list[object]) -> type | None:
    """The type that all of the values have; `None` for several, or an unusual one."""
    kinds = set(map(type, values)) or {str}
    return kinds.pop() if len(kinds) == 1 and kinds <= _PLAIN else None


_Memory = dict[tuple[object, ...], Question | Refusal]
_memories: dict[object, _Memory] = {}


def _memory(kind: object) -> _Memory:
    """What cells of this kind asked before in this process: a notebook looks up the same again."""
    memory = _memories.setdefault(kind, {})
    if sum(map(len, list(_memories.values()))) > _REMEMBERED:
        _memories.clear()  # whoever is filling one of them keeps it
        memory = _memories[kind] = {}
    return memory


def _dated(
    questions: Sequence[Question | Refusal], inputs: Inputs, columns: dict[Hashable, _Column]
) -> tuple[list[Question | Refusal], list[date | None]]:
    """The questions about the day that each row names, and that day."""
    if "as_of" in inputs.columns:
        column = columns[inputs.columns["as_of"]]
        read = [*(_read(value, inputs) for value in column.uniques), NO_DATE]
        own = [read[code] for code in column.codes.tolist()]
    else:
        own = [_read(inputs.scalars["as_of"], inputs)] * len(questions)
    dated: list[Question | Refusal] = []
    days: list[date | None] = []
    made: dict[tuple[int, date], Question] = {}  # the same object again: it is hashed once
    for one, day in zip(questions, own, strict=True):
        if isinstance(one, Refusal) or isinstance(day, Refusal):
            dated.append(one if isinstance(one, Refusal) else day)
            days.append(None)
            continue
        asked_day = first_day(day, inputs.grain)
        key = (id(one), asked_day)
        question = made.get(key)
        if question is None:
            question = made[key] = on_day(one, asked_day)
        dated.append(question)
        days.append(day)
    return dated, days


def _read(value: object, inputs: Inputs) -> date | Refusal:
    try:
        return day_of(value, inputs.tz) or NO_DATE
    except ValueError as error:
        return Refusal("invalid", str(error))


def distinct_rows(frame: pd.DataFrame, labels: list[Hashable]) -> tuple[np.ndarray, np.ndarray]:
    """For each row the number of its distinct combination, and each one's first row.

    Combinations are numbered as they appear. Missing values of all kinds are equal.

    Raises:
        TypeError: a column holds lists, or other values that are no single ones.
    """
    return _combined([factorized(frame[label], label)[0] for label in labels], len(frame))


def _distinct(frame: pd.DataFrame, labels: list[Hashable]) -> tuple[np.ndarray, list[_Column]]:
    """For each row the number of its distinct combination, and the columns of those."""
    known = [factorized(frame[label], label) for label in labels]
    by_row = [codes for codes, _ in known]
    codes, first = _combined(by_row, len(frame))
    columns = [
        _Column(values, column.take(first))
        for column, (_, values) in zip(by_row, known, strict=True)
    ]
    return codes, columns


def _combined(columns: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """One dense code for each combination of codes, and the first row of each."""
    if not columns:
        return np.zeros(count, np.intp), np.zeros(min(count, 1), np.intp)
    codes: np.ndarray | None = None
    span = 1
    for column in columns:
        size = int(column.max(initial=-1)) + 2
        if codes is None:
            codes = column + 1  # 0: missing
        else:
            if span * size > max(_DENSE_SPAN * count, _SMALL_SPAN):
                codes, first = _by_hash(codes)
                span = len(first)
            np.multiply(codes, size, out=codes)
            codes += column
            codes += 1
        span *= size
    assert codes is not None  # noqa: S101 - there are columns
    if span > max(_DENSE_SPAN * count, _SMALL_SPAN):
        return _by_hash(codes)
    return _by_table(codes, span)


def _by_hash(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    dense, uniques = pd.factorize(codes)
    first = np.empty(len(uniques), np.intp)
    first[dense[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return dense.astype(np.intp, copy=False), first


def _by_table(codes: np.ndarray, span: int) -> tuple[np.ndarray, np.ndarray]:
    """A table with a place for every possible code: faster than hashing while it is small."""
    table = np.full(span, -1, np.int32 if len(codes) < 2**31 else np.int64)
    backwards = np.arange(len(codes) - 1, -1, -1, dtype=table.dtype)
    table[codes[::-1]] = backwards  # the first row of a code is written last
    present = np.flatnonzero(table != -1)
    first = table[present]
    order = np.argsort(first)  # as they appear
    table[present[order]] = np.arange(len(present), dtype=table.dtype)
    return table.take(codes).astype(np.intp), first[order].astype(np.intp)
