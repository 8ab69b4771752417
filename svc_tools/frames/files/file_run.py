"""What became of a file that was enriched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.display import as_html, as_text
from svc_tools.frames.files.file_shown import run_sentences, run_tables, run_title
from svc_tools.lookup.outcomes import STOPPED

if TYPE_CHECKING:
    from pathlib import Path

    from svc_tools.frames.files.file_totals import FileTotals

__all__ = ["INTERRUPTED", "FileRun"]

INTERRUPTED = "interrupted"
"""Why a run ended that a person broke off with Ctrl+C."""


@dataclass(frozen=True, slots=True)
class FileRun:
    """What became of a file.

    Attributes:
        source: the file that was read.
        output: the file that was asked for.
        written: where the rows are; `None` where nothing was written.
        service: who was asked.
        places: distinct places.
        cached: how many of them were answered before.
        asked: how many were asked for now.
        requests: how many requests that took.
        stopped: why the run ended early; `None` where it did not.
        resumable: whether the answers are kept: the same command goes on where this one ended.
        totals: rows by status, and their tax.
        notes: what was decided, in sentences.
        seconds: how long it took.
    """

    source: Path
    output: Path
    written: Path | None
    service: str
    places: int
    cached: int
    asked: int
    requests: int
    stopped: str | None
    resumable: bool
    totals: FileTotals
    notes: tuple[str, ...]
    seconds: float

    @property
    def interrupted(self) -> bool:
        """Whether a person broke the run off, or stopped it."""
        return self.stopped in {INTERRUPTED, STOPPED}

    @property
    def all_known(self) -> bool:
        """Whether every row has a whole rate, and a tax where one was asked for."""
        return self.stopped is None and self.totals.whole == self.totals.rows

    def __str__(self) -> str:
        """What became of the file, as text."""
        return as_text(run_title(self), run_sentences(self), run_tables(self))

    def _repr_html_(self) -> str:
        return as_html(run_title(self), run_sentences(self), run_tables(self))

    def as_json(self) -> dict[str, object]:
        """Plain values for a program."""
        return {
            "source": str(self.source),
            "output": None if self.written is None else str(self.written),
            "complete": self.stopped is None,
            "stopped": self.stopped,
            "service": self.service,
            "places": self.places,
            "cached": self.cached,
            "asked": self.asked,
            "requests": self.requests,
            **self.totals.as_json(),
            "notes": list(self.notes),
            "seconds": round(self.seconds, 1),
        }
