"""How a run is to be done, checked once."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Terms"]

_MOST_IN_FLIGHT = 512


@dataclass(frozen=True, slots=True)
class Terms:
    """How a run is to be done.

    Attributes:
        detail: ask for the full answer, with candidates and components (SPEC 2.5).
        concurrency: how many requests may be under way at once, at most.
        deadline: the seconds that the whole run may take.

    Raises:
        ValueError: a number out of its range.
        TypeError: no number.
    """

    detail: bool = False
    concurrency: int = 16
    deadline: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        if isinstance(self.concurrency, bool) or not isinstance(self.concurrency, int):
            raise TypeError(f"concurrency: expected a whole number, not {self.concurrency!r}")
        if not 1 <= self.concurrency <= _MOST_IN_FLIGHT:
            raise ValueError(
                f"concurrency: expected 1 to {_MOST_IN_FLIGHT} requests at once,"
                f" not {self.concurrency}"
            )
        if self.deadline is None:
            return
        if isinstance(self.deadline, bool) or not isinstance(self.deadline, int | float):
            raise TypeError(f"deadline: expected seconds as a number, not {self.deadline!r}")
        if not 0 < self.deadline < float("inf"):
            raise ValueError(
                f"deadline: expected a number of seconds above 0, not {self.deadline!r}"
            )
