"""From rows to distinct questions: equal rows are understood once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_tools.places import Cells, Question, Refusal, question

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from svc_tools.frames.columns import Inputs
    from svc_tools.places import Place

__all__ = ["Asked", "ask"]

_DENSE_SPAN = 16
"""A table of this many entries per row is still cheaper than hashing."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a frame: one per distinct row, and which row has which."""

    codes: np.ndarray
    """For each row the index of its question."""
    questions: list[Question | Refusal]
    rows: np.ndarray
    """For each question the number of its rows."""

    def places(self) -> Iterable[Place]:
        """The places to ask for."""
        return (one.place for one in self.questions if isinstance(one, Question))

    def count(self, attribute: str) -> int:
        """How many rows have a question with this attribute set."""
        return sum(
            int(rows)
            for one, rows in zip(self.questions, self.rows, strict=True)
            if isinstance(one, Question) and getattr(one, attribute)
        )


def ask(frame: pd.DataFrame, inputs: Inputs) -> Asked:
    """Understand every distinct row once."""
    codes, first = _distinct_rows(frame, list(inputs.columns.values()))
    cells = [dict(inputs.scalars) for _ in first]
    for role, label in inputs.columns.items():
        column = frame[label].iloc[first]
        missing = column.isna().to_numpy()
        for one, value, gone in zip(cells, column.tolist(), missing, strict=True):
            one[role] = None if gone else value
    questions = [question(Cells(**one), dated=inputs.dated) for one in cells]
    rows = np.bincount(codes, minlength=len(first)) if len(first) else np.empty(0, np.int64)
    return Asked(codes, questions, rows)


def _distinct_rows(frame: pd.DataFrame, labels: list[Hashable]) -> tuple[np.ndarray, np.ndarray]:
    """For each row the number of its distinct combination, and each one's first row."""
    count = len(frame)
    codes = np.zeros(count, np.int64)
    span = 1
    for label in labels:
        column, uniques = pd.factorize(_hashable(frame[label], label))
        codes = codes * (len(uniques) + 1) + (column + 1)  # 0: missing
        span *= len(uniques) + 1
        if span > _DENSE_SPAN * max(count, 1):
            codes, span = _dense(codes)
    codes, span = _dense(codes)
    first = np.empty(span, np.int64)
    first[codes[::-1]] = np.arange(count - 1, -1, -1)
    return codes, first


def _dense(codes: np.ndarray) -> tuple[np.ndarray, int]:
    dense, uniques = pd.factorize(codes)
    return dense.astype(np.int64, copy=False), len(uniques)


def _hashable(column: pd.Series, label: Hashable) -> pd.Series:
    if column.dtype == object:
        try:
            for value in column.array:
                hash(value)
        except TypeError:
            raise TypeError(
                f"column {label!r} holds values that are no text, number or date, such as {value!r}"
            ) from None
    return column
