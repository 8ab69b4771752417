"""A line of the check: one link of the chain, whether it holds, and what to do where not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Line", "Mark"]

Mark = Literal["ok", "wrong", "not set up", "elsewhere"]
"""`not set up` is no fault: that way in is not used here. `elsewhere`: this system cannot say."""


@dataclass(frozen=True, slots=True)
class Line:
    """One link.

    Attributes:
        part: the part of the chain: python, service, xlwings, add-in, calc.
        name: what is looked at.
        mark: whether it holds.
        said: what was found; never a key.
        todo: what to do; `None` where nothing is.
    """

    part: str
    name: str
    mark: Mark
    said: str
    todo: str | None = None
