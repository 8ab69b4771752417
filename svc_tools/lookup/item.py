"""A place on its way through a run. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svc_sdk._requests import Call
    from svc_tools.places import Place

__all__ = ["Item"]

_MOST_RETURNS = 20
"""How often a place that was refused for coming too fast is put back."""


@dataclass(slots=True, eq=False)
class Item:
    """A place, its request, and what was tried.

    Attributes:
        place: the place.
        call: what is sent.
        attempts: how often it was sent.
        returns: how often it was put back, its retries spent, for coming too fast.
    """

    place: Place
    call: Call
    attempts: int = 0
    returns: int = 0
    _answers_before: int = -1

    def may_return(self, answers: int) -> bool:
        """Whether a place that came too fast once too often is put back.

        It is as long as the run gets on: pacing is the run's business, not the place's.

        Args:
            answers: how many the run has got.
        """
        got_on = answers > self._answers_before
        self._answers_before = answers
        self.returns += 1
        return got_on and self.returns <= _MOST_RETURNS
