"""What people hand to `lookup_many`, and who waits for which place. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Generic, TypeVar

from svc_tools.lookup.outcomes import Outcome, refused
from svc_tools.places import Cells, Place, Question, Refusal, question

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Desk"]

T = TypeVar("T")

_REMEMBERED = 100_000
"""How many answered places are remembered, so that equal ones are asked for once: an endless
source must not fill the memory. A cache remembers them all."""
_KEYS = tuple(field.name for field in fields(Cells))


def _asked_place(item: object) -> Place | Outcome:
    """The place that an item asks about, or the outcome of one that is never asked for.

    A mapping is read as a row of a frame is: `{"state": "TX", "zip": "78701"}`.
    """
    if isinstance(item, Place):
        return item
    if isinstance(item, Mapping):
        if unknown := [key for key in item if key not in _KEYS]:
            return Outcome("invalid", f"{unknown[0]!r} is no key; one of {', '.join(_KEYS)}")
        item = question(Cells(**item), dated=False)
    if isinstance(item, Question):
        return item.place
    if isinstance(item, Refusal):
        return refused(item)
    kind = type(item).__name__
    return Outcome("invalid", f"expected a place, or a mapping with state and zip, not {kind}")


class Desk(Generic[T]):
    """Items on their way: which place each waits for, and what is known of places.

    Attributes:
        outstanding: the items that were taken in and not given out again.
    """

    def __init__(self) -> None:
        self._waiting: dict[Place, list[T]] = {}
        self._known: OrderedDict[Place, Outcome] = OrderedDict()
        self.outstanding = 0

    def take(self, item: T) -> Place | Outcome | None:
        """Take an item in.

        Returns:
            Its outcome where that is known; the place where it is new; `None` where another item
            waits for the same place.
        """
        place = _asked_place(item)
        if isinstance(place, Outcome):
            return place
        if (outcome := self._known.get(place)) is not None:
            self._known.move_to_end(place)
            return outcome
        self.outstanding += 1
        waiting = self._waiting.setdefault(place, [])
        waiting.append(item)
        return place if len(waiting) == 1 else None

    def settle(self, answered: Iterable[tuple[Place, Outcome]]) -> list[tuple[T, Outcome]]:
        """Give out the items that waited for these places."""
        done: list[tuple[T, Outcome]] = []
        for place, outcome in answered:
            done += ((item, outcome) for item in self._waiting.pop(place, ()))
            if outcome.status != "not_attempted":
                self._known[place] = outcome
                if len(self._known) > _REMEMBERED:
                    self._known.popitem(last=False)
        self.outstanding -= len(done)
        return done

    def rest(self, outcome: Outcome) -> list[tuple[T, Outcome]]:
        """Give out all that still wait."""
        return self.settle([(place, outcome) for place in self._waiting])
