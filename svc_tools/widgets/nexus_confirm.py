"""A confirmation: the button rests until what has to be typed was typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import ipywidgets as w

from svc_tools.widgets.nexus_view import Confirmation
from svc_tools.widgets.parts import button, field

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ConfirmBox"]


class ConfirmBox:
    """A text to type, and a button for the one act that it confirms.

    Attributes:
        typed: where the text is typed; its label says what to type.
        button: acts once, when the text fits.
    """

    def __init__(
        self, act: Callable[[str], object], *, kind: Literal["primary", "danger"] = "danger"
    ) -> None:
        self._act = act
        self._confirmation = Confirmation("", "")
        self.typed = w.Text(description="Confirm")
        self.button = button("Confirm", kind=kind)
        self.button.disabled = True
        self.view = w.VBox([field(self.typed), self.button])
        self.view.add_class("svc-confirm")
        self.view.add_class(f"svc-confirm-{kind}")
        # letter by letter, else the button would rest until the field is left
        self.typed.continuous_update = True
        self.typed.observe(lambda _: self._check(), "value")
        self.button.on_click(lambda _: self._clicked())
        self.rest()

    @property
    def expected(self) -> str:
        """What has to be typed; "" while nothing is asked."""
        return self._confirmation.expected

    def ask(self, confirmation: Confirmation, label: str) -> None:
        """Ask for a text; `label` is written on the button."""
        self._confirmation = confirmation
        self.typed.description = confirmation.prompt
        self.typed.value = ""
        self.button.description = label
        self.view.layout.display = ""
        self._check()

    def rest(self) -> None:
        """Ask nothing, and take back what was asked."""
        self._confirmation = Confirmation("", "")
        self.typed.value = ""
        self.button.disabled = True
        self.view.layout.display = "none"

    def _check(self) -> None:
        self.button.disabled = not self._confirmation.fits(self.typed.value)

    def _clicked(self) -> None:
        typed = self.typed.value
        if not self._confirmation.fits(typed):
            return
        self.rest()  # so that a second click finds nothing to confirm
        self._act(typed.strip())
