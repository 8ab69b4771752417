"""Whether the rows of a looked-up frame still are those that were looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from svc_tools.frames.questions import ask
from svc_tools.frames.rate_units import rates_of
from svc_tools.frames.used_answers import lookups_of
from svc_tools.places import Question

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from svc_tools.frames.questions import Asked
    from svc_tools.lookup import Outcome
    from svc_tools.places import Place

__all__ = ["Changed", "changed_rows", "changes_of"]

_NO_RATE = -1
_NOT_ASKED = -2


class Changed(NamedTuple):
    """How many rows are not as their lookup left them."""

    not_asked: int
    """Rows that ask about a place and date that was not looked up."""
    of_other_rates: int
    """Other rows, with another rate than the answer to what they ask now."""


def changed_rows(frame: pd.DataFrame, prefix: str = "") -> int | None:
    """How many rows have another place or date, or another rate, than their lookup gave them.

    `None` where it cannot be told: the frame does not remember the answers (it comes from a file,
    or was put together), or lacks a column that its lookup read.
    """
    for lookup in lookups_of(frame):
        if lookup.prefix == prefix and lookup.answers is not None:
            if not all(label in frame.columns for label in lookup.inputs.columns.values()):
                return None
            return sum(changes_of(frame, ask(frame, lookup.inputs), lookup.answers, prefix))
    return None


def changes_of(
    frame: pd.DataFrame, asked: Asked, answers: Mapping[Place, Outcome], prefix: str
) -> Changed:
    """What the rows ask now, and their rates, against what was answered."""
    told = [
        _rate_units(one.place, answers) if isinstance(one, Question) else _NO_RATE
        for one in asked.questions
    ]
    units = np.array(told, np.int64)
    not_asked = int(asked.rows[units == _NOT_ASKED].sum())
    name = f"{prefix}combined_rate"
    if name not in frame.columns:
        return Changed(not_asked, 0)
    expected = units[asked.codes]
    rates = rates_of(frame, name)
    there = np.where(rates.missing, _NO_RATE, rates.units)
    other = (there != expected) & (expected != _NOT_ASKED)
    return Changed(not_asked, int(np.count_nonzero(other)))


def _rate_units(place: Place, answers: Mapping[Place, Outcome]) -> int:
    """The rate that was answered, in units of 10^-5."""
    outcome = answers.get(place)
    if outcome is None:
        return _NOT_ASKED
    return outcome.found.combined if outcome.found else _NO_RATE
