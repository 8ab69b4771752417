"""What is seldom needed: shown by a button, and taken away again."""

from __future__ import annotations

import ipywidgets

from svc_tools.widgets.parts import button

__all__ = ["Disclosure"]


class Disclosure:
    """A button that shows what is below it, and takes it away again.

    Unlike the host's accordion it can be reached by keyboard.

    Attributes:
        button: the button; its words say what a click does.
        opened: whether it is shown.
        view: both.
    """

    def __init__(self, label: str, inside: ipywidgets.Widget) -> None:
        self._label, self._inside = label, inside
        self.opened = False
        self.button = button(label, kind="plain")
        self.button.on_click(lambda _: self.reveal(opened=not self.opened))
        self.view = ipywidgets.VBox([self.button, inside])
        self.view.add_class("svc-disclosure")
        self.reveal(opened=False)

    def reveal(self, *, opened: bool) -> None:
        """Show what is inside, or take it away."""
        self.opened = opened
        self.button.description = f"Hide: {self._label}" if opened else self._label
        self._inside.layout.display = "" if opened else "none"
