"""What the sections of the Nexus tab have in common: a heading, a message, work off the kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import ipywidgets as w

from svc_tools.widgets.parts import button, heading, message_area
from svc_tools.widgets.trouble import told
from svc_tools.widgets.uploads import UploadButton

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from svc_tools.widgets.background import Job
    from svc_tools.widgets.form import Form
    from svc_tools.widgets.nexus_cleanup import Cleanup
    from svc_tools.widgets.session import Session

__all__ = ["Section", "actions", "shown"]

T = TypeVar("T")


class Section:
    """One step of the cleanup.

    Attributes:
        message: where it says what happened, and what went wrong.
        cancel_button: gives up a question that takes long.
        said: the message, and that button while it is needed.
        view: all of its widgets.
    """

    def __init__(self, session: Session, cleanup: Cleanup, title: str) -> None:
        self.session = session
        self.cleanup = cleanup
        self.message = message_area()
        self.cancel_button = button("Cancel", kind="plain")
        self.cancel_button.add_class("svc-late")
        self.cancel_button.on_click(lambda _: self.give_up())
        shown(self.cancel_button, visible=False)
        self.said = w.HBox([self.message, self.cancel_button])
        self.said.add_class("svc-told")
        self._title = title
        self._job: Job | None = None
        self._vital = False
        self._rested: Callable[[], object] = _nothing
        self.view = w.VBox()
        self.view.add_class("svc-section")

    def compose(self, *children: w.Widget) -> None:
        """Put the widgets under the heading."""
        self.view.children = (heading(self._title), *children)

    def uploader(self, label: str, accept: str, done: Callable[[Path], object]) -> UploadButton:
        """A button that takes one file from the browser into the session's folder."""
        return UploadButton(
            label,
            accept,
            folder=lambda: self.session.folder / "uploads",
            done=done,
            failed=lambda error: self.message.show_trouble(told(error)),
            limit=self.session.upload_limit,
        )

    @property
    def busy(self) -> bool:
        """Whether work of this section is under way."""
        return self._job is not None and self._job.running

    def cancel(self) -> bool:
        """Drop the question under way, if there is one: its result will not be shown.

        What changes records is not dropped: it has to be seen to its end.
        """
        if self._job is None or not self._job.running or self._vital:
            return False
        self._job.cancel()
        self._rested()
        return True

    def give_up(self) -> None:
        """Drop the question under way, and say so."""
        if self.cancel():
            self.message.show_note("Cancelled. Nothing was changed; the answer is not waited for.")

    def run(
        self,
        saying: str,
        work: Callable[[], T],
        done: Callable[[T], object],
        *,
        forms: Sequence[Form] = (),
        always: Callable[[], object] | None = None,
        vital: bool = False,
    ) -> None:
        """Work in the background; a second click while it runs does nothing.

        No button is disabled meanwhile: it would lose the focus of whoever works by keyboard.

        Args:
            saying: what is said while it runs.
            work: what is done; it touches no widget.
            done: what is shown of its result.
            forms: those that rest meanwhile.
            always: called when it is over, however it went.
            vital: whether it changes records, and is not to be cut off: it cannot be cancelled,
                and the page asks before it is closed.
        """
        if self.busy:
            return

        def rested() -> None:
            self.said.remove_class("svc-busy")
            shown(self.cancel_button, visible=False)
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

        self._rested, self._vital = rested, vital
        if vital:  # on a box: a widget of our own script does not pass a later class on to the page
            self.said.add_class("svc-busy")
        shown(self.cancel_button, visible=not vital)
        for form in forms:
            form.busy = True
        self.message.show_note(saying)
        self._job = self.session.background.start(work, done=succeeded, failed=failed)


def _nothing() -> None:
    """What there is to do after no work."""


def shown(widget: w.Widget, visible: bool) -> None:  # noqa: FBT001 - says whether, at each call
    """Show a widget, or take it away from the page and from the keyboard."""
    widget.layout.display = None if visible else "none"


def actions(children: Sequence[w.Widget]) -> w.HBox:
    """Buttons beside each other, and below each other where it is narrow."""
    row = w.HBox(children)
    row.add_class("svc-actions")
    return row
