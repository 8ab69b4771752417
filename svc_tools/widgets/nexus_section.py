"""What the sections of the Nexus tab have in common: a heading, a message, work off the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import ipywidgets as w

from svc_tools.widgets.parts import button, heading, message_area
from svc_tools.widgets.trouble import told

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from svc_tools.widgets.background import Job
    from svc_tools.widgets.form import Form
    from svc_tools.widgets.nexus_cleanup import Cleanup
    from svc_tools.widgets.session import Session

__all__ = ["Disclosure", "Section", "actions", "shown", "upload_button"]

T = TypeVar("T")


class Section:
    """One step of the cleanup.

    Attributes:
        message: where it says what happened, and what went wrong.
        view: all of its widgets.
    """

    def __init__(self, session: Session, cleanup: Cleanup, title: str) -> None:
        self.session = session
        self.cleanup = cleanup
        self.message = message_area()
        self._title = title
        self._job: Job | None = None
        self.view = w.VBox()
        self.view.add_class("svc-section")

    def compose(self, *children: w.Widget) -> None:
        """Put the widgets under the heading."""
        self.view.children = (heading(self._title), *children)

    @property
    def busy(self) -> bool:
        """Whether work of this section is under way."""
        return self._job is not None and self._job.running

    def cancel(self) -> None:
        """Drop what is under way: its result will not be shown."""
        if self._job is not None:
            self._job.cancel()

    def run(
        self,
        saying: str,
        work: Callable[[], T],
        done: Callable[[T], object],
        *,
        buttons: Sequence[w.Button] = (),
        forms: Sequence[Form] = (),
        always: Callable[[], object] | None = None,
    ) -> None:
        """Work in the background; a second click while it runs does nothing.

        Args:
            saying: what is said while it runs.
            work: what is done; it touches no widget.
            done: what is shown of its result.
            buttons: those that rest meanwhile.
            forms: those that rest meanwhile.
            always: called when it is over, however it went.
        """
        if self.busy:
            return
        before = [(one, one.disabled) for one in buttons]

        def rested() -> None:
            for resting, disabled in before:
                resting.disabled = disabled
            for form in forms:
                form.busy = False
            if always is not None:
                always()

        def succeeded(result: T) -> None:
            rested()
            self.message.clear()
            done(result)

        def failed(error: BaseException) -> None:
            rested()
            self.message.show_trouble(told(error))

        for resting, _ in before:
            resting.disabled = True
        for form in forms:
            form.busy = True
        self.message.show_note(saying)
        self._job = self.session.background.start(work, done=succeeded, failed=failed)


def shown(widget: w.Widget, visible: bool) -> None:  # noqa: FBT001 - says whether, at each call
    """Show a widget, or take it away from the page and from the keyboard."""
    widget.layout.display = None if visible else "none"


def actions(children: Sequence[w.Widget]) -> w.HBox:
    """Buttons beside each other, and below each other where it is narrow."""
    row = w.HBox(children)
    row.add_class("svc-actions")
    return row


def upload_button(accept: str, label: str) -> w.FileUpload:
    """A button that takes one file from the browser."""
    upload = w.FileUpload(accept=accept, multiple=False, description=label)
    upload.layout.width = "auto"
    upload.icon = ""  # the host's icons may not be there
    return upload


class Disclosure:
    """A button that shows what is below it, and takes it away again.

    Attributes:
        button: the button; its words say what a click does.
        opened: whether it is shown.
        view: both.
    """

    def __init__(self, label: str, inside: w.Widget) -> None:
        self._label, self._inside = label, inside
        self.opened = False
        self.button = button(label, kind="plain")
        self.button.on_click(lambda _: self.reveal(opened=not self.opened))
        self.view = w.VBox([self.button, inside])
        self.view.add_class("svc-disclosure")
        self.reveal(opened=False)

    def reveal(self, *, opened: bool) -> None:
        """Show what is inside, or take it away."""
        self.opened = opened
        self.button.description = f"Hide: {self._label}" if opened else self._label
        shown(self._inside, opened)
