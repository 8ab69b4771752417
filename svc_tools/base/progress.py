"""Progress of long work: one protocol for terminals, notebooks, the panel and logs.

Work that takes long has the argument `progress`. It calls `start`, `advance` as often as it likes,
and `done`; stages may follow each other, and are not nested. `stage` does so for a block.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator


class Progress(Protocol):
    """Shows progress. It is called in the thread that does the work."""

    def start(self, name: str, total: int | None, unit: str) -> None:
        """Begin a stage.

        Args:
            name: what is done, such as "Reading".
            total: how much there is to do; `None` where that is not known.
            unit: what is counted, in the plural, such as "rows".
        """

    def advance(self, count: int = 1) -> None:
        """Count what was done since the last call."""

    def note(self, text: str) -> None:
        """Show a sentence about what was just done."""

    def done(self) -> None:
        """End the stage, also where it failed."""


class NoProgress:
    """Progress that is not shown; the base of classes that need only some of the methods."""

    def start(self, name: str, total: int | None, unit: str) -> None:
        """Begin a stage; see `Progress`."""

    def advance(self, count: int = 1) -> None:
        """Count what was done; see `Progress`."""

    def note(self, text: str) -> None:
        """Show a sentence; see `Progress`."""

    def done(self) -> None:
        """End the stage; see `Progress`."""


@contextmanager
def stage(progress: Progress | None, name: str, total: int | None, unit: str) -> Iterator[Progress]:
    """Show one stage for the length of the block; `None` for progress that is not shown."""
    shown = progress or NoProgress()
    shown.start(name, total, unit)
    try:
        yield shown
    finally:
        shown.done()
