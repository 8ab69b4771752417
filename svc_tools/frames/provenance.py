"""The answers behind a frame's lookups, remembered with the frame and found again.

They travel in `frame.attrs`: copies, filters and sorts keep them. pandas drops the attributes of
frames that are concatenated or merged, unless they stem from the same lookup. A file keeps no
answers, only where they came from; the cache may still have them.
"""

# MERGED changed: Whether the rows of a looked-up frame still are those that were looked up.

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from svc_tools.config import Source
from svc_tools.frames.answers import Answerer
from svc_tools.frames.columns import Inputs
from svc_tools.frames.lookup_columns import rates_of
from svc_tools.frames.queries import ask
from svc_tools.places import Question, time_zone

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from svc_tools.frames.queries import Asked
    from svc_tools.lookup import Outcome
    from svc_tools.places import Place

ANSWERS = "svc_answers"
"""The frame's attribute that holds them."""

_NO_RATE = -1
_NOT_ASKED = -2


@dataclass(frozen=True, slots=True)
class UsedLookup:
    """One lookup of a frame, and what it used.

    Attributes:
        prefix: that of its columns.
        inputs: which columns and values asked.
        source: whose answers they are.
        answerer: who answered, as the rows say it.
        detail: whether full answers were asked for.
        answers: the answers by place; `None` where only a file's memory of the lookup is left.
    """

    prefix: str
    inputs: Inputs
    source: Source
    answerer: Answerer
    detail: bool
    answers: Mapping[Place, Outcome] | None


class _Remembered(str):
    """The lookups of a frame. As text (in a file's metadata) it says where the answers came from.

    A copy of a frame copies its attributes deeply: here that is the same object, so that no
    filter pays for the answers. Two of them are equal only if they are of the same lookups:
    pandas keeps the attributes of frames that it puts together only where they are equal.
    """

    __slots__ = ("lookups",)
    lookups: Mapping[str, UsedLookup]

    def __new__(cls, lookups: Mapping[str, UsedLookup]) -> Self:
        told = {
            "lookup": secrets.token_hex(8),
            "of": [_lookup_source(one) for one in lookups.values()],
        }
        made = super().__new__(cls, json.dumps(told, default=str))
        made.lookups = lookups
        return made

    def __copy__(self) -> _Remembered:
        return self

    def __deepcopy__(self, memo: object) -> _Remembered:
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """A pickle holds the text alone: as a file's, and workers get no copy of all answers."""
        return str, (str(self),)


def remember(
    frame: pd.DataFrame,
    *,
    prefix: str,
    inputs: Inputs,
    outcomes: Mapping[Place, Outcome],
    source: Source,
    answerer: Answerer,
    detail: bool,
) -> None:
    """Let a frame remember the answers of the lookup that made its columns.

    Lookups of other prefixes that it remembers stay; one of the same prefix is replaced.
    """
    before = frame.attrs.get(ANSWERS)
    lookups = dict(before.lookups) if isinstance(before, _Remembered) else {}
    lookups[prefix] = UsedLookup(prefix, inputs, source, answerer, detail, outcomes)
    frame.attrs[ANSWERS] = _Remembered(lookups)


def lookups_of(frame: pd.DataFrame) -> list[UsedLookup]:
    """The lookups whose columns a frame has, as far as it remembers them.

    Those of a frame that was read from a file are without their answers.
    """
    told = frame.attrs.get(ANSWERS)
    if isinstance(told, _Remembered):
        lookups = list(told.lookups.values())
    else:
        lookups = _from_text(told) if isinstance(told, str) else []
    return [one for one in lookups if f"{one.prefix}lookup_status" in frame.columns]


def _lookup_source(lookup: UsedLookup) -> dict[str, Any]:
    """Where the answers came from, for a file."""
    inputs = lookup.inputs
    return {
        "prefix": lookup.prefix,
        "service": lookup.source.service,
        "account": lookup.source.account,
        "name": lookup.answerer.name,
        "edition": lookup.answerer.edition,
        "detail": lookup.detail,
        "columns": {role: _label(label) for role, label in inputs.columns.items()},
        "scalars": {role: _scalar(value) for role, value in inputs.scalars.items()},
        "tz": None if inputs.tz is None else str(inputs.tz),
        "grain": inputs.grain,
    }


def _label(label: object) -> object:
    return label if isinstance(label, str | int) else None


def _scalar(value: object) -> object:
    return {"date": value.isoformat()} if isinstance(value, date) else value


def _from_text(text: str) -> list[UsedLookup]:
    """The lookups that a file told of; none where its text is not ours."""
    try:
        told = json.loads(text)
        return [_lookup(one) for one in told["of"]]
    except (ValueError, TypeError, LookupError, AttributeError):
        return []


def _lookup(told: Mapping[str, Any]) -> UsedLookup:
    if None in told["columns"].values():
        raise ValueError("a column of it has a label that no file keeps")
    scalars = {
        role: date.fromisoformat(value["date"]) if isinstance(value, dict) else value
        for role, value in told["scalars"].items()
    }
    return UsedLookup(
        prefix=told["prefix"],
        inputs=Inputs(told["columns"], scalars, (), time_zone(told["tz"]), told["grain"]),
        source=Source(told["service"], told["account"]),
        answerer=Answerer(told["name"], told["edition"]),
        detail=told["detail"],
        answers=None,
    )


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
