"""How far a file is, on the page: a bar, the figures and the time that is left."""

from __future__ import annotations

import contextlib
import time
from html import escape
from typing import TYPE_CHECKING

import ipywidgets

from svc_tools.progress_words import STAGES, how_far

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from svc_tools.frames.files.file_job import Stage
    from svc_tools.widgets.background import Background

__all__ = ["FileProgress"]

_EVERY = 0.25
"""Seconds between two messages to the page."""
_SURE_AFTER = 1.0
"""Seconds after which a speed says something: the first burst does not."""


class FileProgress:
    """Progress of the stages of a run; it is called in the run's own thread.

    Attributes:
        bar: how much is done, from 0 to 1.
        text: the same in figures.
    """

    def __init__(self, background: Background) -> None:
        self._background = background
        self.bar = ipywidgets.FloatProgress(min=0.0, max=1.0, layout={"width": "100%"})
        self.text = ipywidgets.HTML()
        self.view = ipywidgets.VBox([self.bar, self.text])
        self.view.add_class("svc-progress")
        self.hide()

    def show(self, words: str) -> None:
        """Begin: show the bar, empty, and these words. It says to the page that it is busy."""
        self._draw(0.0, words)
        self.view.layout.display = ""
        self.view.add_class("svc-busy")

    def hide(self) -> None:
        """It is over."""
        self.view.layout.display = "none"
        self.view.remove_class("svc-busy")

    @contextlib.contextmanager
    def __call__(self, stage: Stage, total: int | None) -> Iterator[Callable[[int], object]]:
        """Show one stage for the length of the block."""
        name, unit = STAGES[stage]
        began = told = time.monotonic()
        done = 0

        def tell(now: float) -> None:
            elapsed = now - began
            speed = done / elapsed if elapsed > _SURE_AFTER else None
            share = 0.0 if not total else min(done / total, 1.0)
            words = f"{name}: {how_far(done, total, speed, unit)}"
            self._background.tell(self._draw, share, words)

        def advance(count: int) -> None:
            nonlocal done, told
            done += count
            now = time.monotonic()
            if now - told >= _EVERY:
                told = now
                tell(now)

        if total != 0:
            tell(began)
        yield advance
        if total != 0:
            tell(time.monotonic())

    def _draw(self, share: float, words: str) -> None:
        self.bar.value = share
        self.text.value = f"<p>{escape(words)}</p>"
