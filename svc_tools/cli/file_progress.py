"""How far a file is: one line on a terminal, a line now and then in a log."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
from rich.text import Text

from svc_tools.progress_words import STAGES, how_far

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console
    from rich.progress import Task

    from svc_tools.frames.files.file_job import Stage

__all__ = ["FileProgress"]

_EVERY = 30.0
"""Seconds between two lines in a log."""
_NARROW = 60


class FileProgress:
    """Progress of the stages of a run, on a console that is standard error's."""

    def __init__(self, console: Console, *, shown: bool) -> None:
        self._console = console
        self._shown = shown

    @contextlib.contextmanager
    def __call__(self, stage: Stage, total: int | None) -> Iterator[Callable[[int], object]]:
        """Show one stage for the length of the block."""
        if not self._shown or total == 0:
            yield lambda _: None
        elif self._console.is_terminal:
            with self._bar() as bar:
                task = bar.add_task(STAGES[stage][0], total=total, unit=STAGES[stage][1])
                yield lambda count: bar.advance(task, count)
        else:
            yield _Log(self._console, stage, total).advance

    def _bar(self) -> Progress:
        columns: list[ProgressColumn] = [TextColumn("{task.description}"), _Counted()]
        if self._console.width >= _NARROW:
            columns.insert(1, BarColumn(bar_width=None))
        return Progress(*columns, console=self._console, transient=True, expand=True)


class _Counted(ProgressColumn):
    """`4,000 of 10,000 places, 133/s, 45 s left`."""

    max_refresh = 0.5

    def render(self, task: Task) -> Text:
        # the first burst says nothing of how fast it goes on
        speed = task.speed if (task.elapsed or 0.0) > 1.0 else None
        told = how_far(int(task.completed), task.total, speed, str(task.fields["unit"]))
        return Text(told, no_wrap=True)


class _Log:
    """A line now and then."""

    def __init__(self, console: Console, stage: Stage, total: int | None) -> None:
        self._console, self._total = console, total
        self._name, self._unit = STAGES[stage]
        self._done = 0
        self._began = self._said = time.monotonic()

    def advance(self, count: int) -> None:
        self._done += count
        now = time.monotonic()
        if now - self._said < _EVERY:
            return
        self._said = now
        told = how_far(self._done, self._total, self._done / (now - self._began), self._unit)
        self._console.print(f"svc: {self._name.lower()}: {told}", soft_wrap=True, markup=False)
