"""Progress that is shown: a bar, a line of figures, and notes on standard error.

`Meter` is the base of what shows it: it counts, and draws only now and then.
"""

from __future__ import annotations

import sys
import time
import warnings
from shutil import get_terminal_size
from textwrap import fill
from typing import TYPE_CHECKING, Any

from svc_tools.base.progress import NoProgress
from svc_tools.show.display import duration, visible
from svc_tools.show.notebook import in_notebook

if TYPE_CHECKING:
    from collections.abc import Iterable


_SURE_AFTER = 1.0
"""Seconds after which the speed is reliable: the first burst is not."""
_MINUTE = 60


class Meter(NoProgress):
    """Progress that is counted, and drawn at most once every so many seconds by a subclass.

    Attributes:
        every: the seconds between two calls of `draw`.
        name: the stage.
        total: how much there is to do, where that is known.
        unit: what is counted.
        count: how much is done.
    """

    every = 0.25

    def start(self, name: str, total: int | None, unit: str) -> None:
        """Begin a stage, with nothing done; see `Progress`."""
        self.name, self.total, self.unit = name, total, unit
        self.count = 0
        self._began = self._drawn = time.monotonic()

    def advance(self, count: int = 1) -> None:
        """Count what was done, and draw it if it is time; see `Progress`."""
        self.count += count
        now = time.monotonic()
        if now - self._drawn >= self.every:
            self._drawn = now
            self.draw()

    def draw(self) -> None:
        """Show the stage as it is now."""

    @property
    def share(self) -> float:
        """How much is done, from 0 to 1; 0 where the total is not known."""
        return min(self.count / self.total, 1.0) if self.total else 0.0

    @property
    def figures(self) -> str:
        """`4,000 of 10,000 places, 133/s, 45 s left`."""
        whole = "" if self.total is None else f" of {self.total:,}"
        text = f"{self.count:,}{whole} {self.unit}"
        elapsed = time.monotonic() - self._began
        if elapsed <= _SURE_AFTER or not self.count:
            return text
        speed = self.count / elapsed
        rate = f"{speed:,.0f}/s" if speed >= 1 else f"{speed * _MINUTE:,.0f}/min"
        left = "" if self.total is None else f", {duration((self.total - self.count) / speed)} left"
        return f"{text}, {rate}{left}"


class Bar(NoProgress):
    """A progress bar by tqdm: in text on a terminal, and drawn by a notebook; else nothing."""

    _bar: Any = None

    def start(self, name: str, total: int | None, unit: str) -> None:
        """Show an empty bar; see `Progress`."""
        try:
            from tqdm import TqdmWarning  # noqa: PLC0415 - optional, and only where a bar is shown
        except ModuleNotFoundError:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TqdmWarning)  # "IProgress not found"
            from tqdm.auto import tqdm  # noqa: PLC0415 - as above

            # a bar of text belongs on a terminal, not in a log; a notebook draws its own
            in_text = tqdm.__module__ == "tqdm.asyncio"
            hidden = None if in_text else False
            unit = f" {unit}"
            self._bar = tqdm(total=total, desc=name, unit=unit, leave=False, disable=hidden)

    def advance(self, count: int = 1) -> None:
        """Move the bar; see `Progress`."""
        if self._bar is not None:
            self._bar.update(count)

    def done(self) -> None:
        """Remove the bar; see `Progress`."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def say(notes: Iterable[str]) -> None:
    """Print notes on standard error, as the progress bar: standard output is the caller's.

    On a terminal they are wrapped at words; in a log each is one line. In a notebook they are
    printed with the output of the cell: what is on standard error looks like a failure there.
    """
    width = get_terminal_size().columns if sys.stderr.isatty() else None
    where = sys.stdout if in_notebook() else sys.stderr
    for note in notes:
        print(_wrapped(f"svc: {visible(note)}", width), file=where)


def _wrapped(line: str, width: int | None) -> str:
    if width is None:
        return line
    indent = " " * len("svc: ")
    return fill(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
