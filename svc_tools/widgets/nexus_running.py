"""How far a removal or an undo is, and the button that ends it after the request under way."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import ipywidgets as w

from svc_tools.widgets.nexus_section import actions, shown
from svc_tools.widgets.parts import button

if TYPE_CHECKING:
    from svc_tools.widgets.parts import MessageArea

__all__ = ["Running"]


class Running:
    """Shown only while requests are sent.

    Attributes:
        stop: set once the person wants it to end.
        progress: how many requests are through.
        stop_button: ends it after the request under way.
        view: both.
    """

    def __init__(self, message: MessageArea) -> None:
        self._message = message
        self.stop = threading.Event()
        self.progress = w.IntProgress()
        self.progress.add_class("svc-progress-bar")
        self.stop_button = button("Stop after the one under way", kind="plain")
        self.stop_button.on_click(lambda _: self.end_early())
        self.view = actions([self.progress, self.stop_button])
        shown(self.view, visible=False)

    def begin(self, total: int) -> None:
        """Nothing is through yet."""
        self.stop.clear()
        self.stop_button.disabled = False
        self.moved(0, total)
        shown(self.view, visible=True)

    def moved(self, through: int, total: int) -> None:
        """So many of so many are through."""
        self.progress.max, self.progress.value = max(1, total), through

    def over(self) -> None:
        """Nothing is sent any more."""
        shown(self.view, visible=False)

    def end_early(self) -> None:
        """End after the request under way."""
        self.stop.set()
        self.stop_button.disabled = True
        self._message.show_note("It stops after the request under way.")
