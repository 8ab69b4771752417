"""What is wrong with something that a person wrote: every problem at once, the first ones shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ProblemsError"]

_PROBLEMS_SHOWN = 10


class ProblemsError(ValueError):
    """Something that a person wrote cannot be used as it is.

    Attributes:
        problems: every problem, a sentence each, with the row where there is one.
    """

    of: ClassVar[str]
    """What it is of, as its sentence begins."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        shown = "; ".join(self.problems[:_PROBLEMS_SHOWN])
        more = len(self.problems) - _PROBLEMS_SHOWN
        super().__init__(
            f"{self.of}: {shown}" + (f"; and {more} more problems" if more > 0 else "")
        )

    def __reduce__(self) -> tuple[type[Self], tuple[tuple[str, ...]]]:
        """Pickled with its problems."""
        return type(self), (self.problems,)
