"""Many questions about days at once: nearly every row of a year of orders is one of its own."""

from __future__ import annotations

from collections import deque
from dataclasses import fields
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from svc_tools.places.place import Place, Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import date

__all__ = ["on_days"]

_PLACE = tuple(one.name for one in fields(Place) if one.name != "as_of")
_NOTES = tuple(one.name for one in fields(Question) if one.name != "place")


def on_days(asked: Sequence[Question], days: Sequence[date]) -> list[Question]:
    """`on_day` for each pair of a question and a day.

    Made field by field, past the guard of frozen classes: four times as fast as their
    constructors.
    """
    count = len(asked)
    places = list(map(attrgetter("place"), asked))
    dated = list(map(object.__new__, repeat(Place, count)))
    for name in _PLACE:
        _set(Place, name, dated, map(attrgetter(name), places))
    _set(Place, "as_of", dated, days)
    by_id = {id(one): one for one in places}
    known = {key: one.hash_apart_from_day() for key, one in by_id.items()}
    apart = map(known.__getitem__, map(id, places))
    _set(Place, "_hash", dated, map(hash, zip(apart, days, strict=True)))
    questions = list(map(object.__new__, repeat(Question, count)))
    _set(Question, "place", questions, dated)
    for name in _NOTES:
        _set(Question, name, questions, map(attrgetter(name), asked))
    return questions


def _set(kind: type, name: str, objects: Iterable[object], values: Iterable[Any]) -> None:
    deque(map(getattr(kind, name).__set__, objects, values), maxlen=0)
