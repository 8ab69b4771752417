"""Whether the rows of a looked-up frame still are those that were looked up."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from svc_sdk.rates import UNITS_PER_ONE, rate_to_units
from svc_tools.frames.exact import units_of
from svc_tools.frames.questions import ask
from svc_tools.frames.used_answers import lookups_of
from svc_tools.places import Question

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_tools.frames.questions import Asked
    from svc_tools.lookup import Outcome
    from svc_tools.places import Place

__all__ = ["changed_rows", "of_other_rates", "rows_not_asked"]


def changed_rows(frame: pd.DataFrame, prefix: str = "") -> int | None:
    """How many rows have another place or date, or another rate, than their lookup gave them.

    `None` where it cannot be told: the frame does not remember the answers (it comes from a file,
    or was put together), or lacks a column that its lookup read.
    """
    for lookup in lookups_of(frame):
        if lookup.prefix == prefix and lookup.answers is not None:
            if not all(label in frame.columns for label in lookup.inputs.columns.values()):
                return None
            asked = ask(frame, lookup.inputs)
            return rows_not_asked(asked, lookup.answers) + of_other_rates(
                frame, asked, lookup.answers, prefix
            )
    return None


def rows_not_asked(asked: Asked, answers: Mapping[Place, Outcome]) -> int:
    """How many rows ask about a place and date that was not looked up."""
    return sum(
        rows
        for one, rows in zip(asked.questions, asked.rows.tolist(), strict=True)
        if isinstance(one, Question) and one.place not in answers
    )


def of_other_rates(
    frame: pd.DataFrame, asked: Asked, answers: Mapping[Place, Outcome], prefix: str
) -> int:
    """How many rows have another rate than the answer to what they ask now.

    Rows without an answer are not counted; none is where the frame has no rates, or no form of
    them that a lookup gives.
    """
    name = f"{prefix}combined_rate"
    if name not in frame.columns:
        return 0
    units: list[int] = []
    for one in asked.questions:
        outcome = answers.get(one.place) if isinstance(one, Question) else None
        unknown = outcome is None and isinstance(one, Question)
        rate = outcome.found.combined if outcome is not None and outcome.found else _NONE
        units.append(_UNKNOWN if unknown else rate)
    expected = np.array(units, np.int64)[asked.codes]
    there = _units(frame[name])
    if there is None:
        return 0
    return int(((there != expected) & (expected != _UNKNOWN)).sum())


_NONE = -1
"""No rate."""
_UNKNOWN = -2
"""An answer that is not known."""


def _units(column: pd.Series) -> np.ndarray | None:
    """A column of rates in units, whichever form they have; `None` where it is no form of ours."""
    if pd.api.types.is_float_dtype(column.dtype) and not isinstance(column.dtype, pd.ArrowDtype):
        scaled = column.to_numpy(np.float64, na_value=np.nan) * UNITS_PER_ONE
        return np.where(np.isnan(scaled), _NONE, np.rint(np.nan_to_num(scaled))).astype(np.int64)
    try:
        values, missing = units_of(column)
    except TypeError:
        return _of_text(column)
    return np.where(missing, _NONE, values)


def _of_text(column: pd.Series) -> np.ndarray | None:
    """Rates as text, or as decimals each by itself."""
    if not (isinstance(column.dtype, pd.StringDtype) or column.dtype == object):
        return None
    codes, values = pd.factorize(column)
    try:
        units = np.array([*(rate_to_units(f"{Decimal(one):.5f}") for one in values), _NONE])
    except (ArithmeticError, ValueError, TypeError):
        return None
    return units.astype(np.int64).take(codes)
