"""A step of setting up: what became of it, in one word and a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["State", "Step", "tried"]

State = Literal["done", "already so", "would do", "by hand", "not here", "failed"]


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        name: what it is about.
        state: what became of it; `by hand` is left to the person, `not here` does not apply.
        said: the sentences for that person.
    """

    name: str
    state: State
    said: str


def tried(name: str, step: Callable[[], Step]) -> Step:
    """The step, or why it failed: the next one goes on, and what was done before stays."""
    try:
        return step()
    except (ValueError, ImportError, OSError) as error:
        return Step(name, "failed", f"{error}.")
