"""The state of one nexus cleanup, the base class of its sections, and stored plans."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Literal, TypeVar

import ipywidgets as w

from svc_tools import nexus
from svc_tools.nexus.journal import private_folder
from svc_tools.show.display import NOTHING, prose
from svc_tools.widgets.parts import (
    MessageArea,
    button,
    heading,
    line,
    set_visible,
    titled_table_html,
)
from svc_tools.widgets.transfers import UploadButton

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from datetime import date
    from pathlib import Path

    import pandas as pd

    from svc_sdk import Svc
    from svc_tools.nexus import (
        Abilities,
        Plan,
        PlanRow,
        Receipt,
        Register,
        Registration,
        Thresholds,
    )
    from svc_tools.widgets.parts import Form
    from svc_tools.widgets.session import PanelJob, Session

Changed = Literal["register", "exposure", "plan", "ticks", "receipt", "account"]
_T = TypeVar("_T")


class Cleanup:
    """One cleanup: the registers, the exposure, the plan, the receipt.

    Attributes:
        mine: the register from the user's own file, or `None`.
        mine_path: the path of that file.
        listed: the service's own list, or `None` where it was not requested or does not list.
        use_mine: whether the plan is made from the user's own register, where there are both: it
            then shows where the service's list differs, and what only that has.
        exposure: one row for each state, or `None`.
        thresholds: the thresholds that it was computed with, where they are the user's own.
        as_of: the day for which it was computed; `None` for the last day of the sales.
        plan: the plan with its ticks, or `None`.
        abilities: whether the service lists and adds; `None` where unknown.
        receipt: the receipt that is shown, or `None`.
    """

    def __init__(self) -> None:
        self.mine: Register | None = None
        self.mine_path: str = ""
        self.listed: Register | None = None
        self.use_mine = True
        self.exposure: pd.DataFrame | None = None
        self.thresholds: Thresholds | None = None
        self.as_of: date | None = None
        self.plan: Plan | None = None
        self.abilities: Abilities | None = None
        self.receipt: Receipt | None = None
        self._listeners: list[Callable[[Changed], object]] = []

    @property
    def register(self) -> Register | None:
        """The register that a plan is made from."""
        if self.use_mine and self.mine is not None:
            return self.mine
        return self.listed if self.listed is not None else self.mine

    def on_change(self, listener: Callable[[Changed], object]) -> None:
        """Call a function after each change, with what changed."""
        self._listeners.append(listener)

    def changed(self, what: Changed) -> None:
        """Call the listeners."""
        for listener in self._listeners:
            listener(what)

    def show_receipt(self, receipt: Receipt) -> None:
        """Make this the current receipt."""
        self.receipt = receipt
        self.changed("receipt")


class Section:
    """One step of the cleanup.

    Attributes:
        message: what happened, or went wrong.
        cancel_button: cancels a request that takes long.
        status: the message, and that button while it is needed.
        view: all of its widgets.
    """

    def __init__(self, session: Session, cleanup: Cleanup, title: str) -> None:
        """Build the parts that every section has: message, cancel button and an empty view."""
        self.session = session
        self.cleanup = cleanup
        self.message = MessageArea()
        self.cancel_button = button("Cancel", kind="plain")
        self.cancel_button.add_class("svc-late")
        self.cancel_button.on_click(lambda _: self.give_up())
        set_visible(self.cancel_button, visible=False)
        self.status = line(self.message, self.cancel_button)
        self.status.add_class("svc-status")
        self._title = title
        self._job: PanelJob | None = None
        self._vital = False
        self._rested: Callable[[], object] = lambda: None
        self.view = w.VBox()
        self.view.add_class("svc-section")

    def compose(self, *children: w.Widget) -> None:
        """Put the widgets under the heading."""
        top = (heading(self._title),) if self._title else ()
        self.view.children = (*top, *children)

    def uploader(self, label: str, accept: str, done: Callable[[Path], object]) -> UploadButton:
        """A button that takes one file from the browser into the session's folder."""
        return UploadButton(
            label,
            accept,
            folder=lambda: self.session.folder / "uploads",
            done=done,
            failed=self.message.show_trouble,
            limit=self.session.upload_limit,
        )

    def connected_client(self) -> Svc | None:
        """The client of the session; without one `None`, and a message."""
        if self.session.client is None:
            self.message.show_note("No service is connected: give a key above.")
        return self.session.client

    @property
    def busy(self) -> bool:
        """Whether work of this section is under way."""
        return self._job is not None and self._job.running

    def cancel(self) -> bool:
        """Cancel the work under way, if there is any: its result will not be shown.

        What changes records is not canceled: it runs to its end.
        """
        if self._job is None or not self._job.running or self._vital:
            return False
        self._job.cancel()
        self._rested()
        return True

    def give_up(self) -> None:
        """Cancel the work under way, with a message."""
        if self.cancel():
            self.message.show_note("Canceled. Nothing was changed; the result will not be shown.")

    def run(
        self,
        message: str,
        work: Callable[[], _T],
        done: Callable[[_T], object],
        *,
        forms: Sequence[Form] = (),
        always: Callable[[], object] | None = None,
        vital: bool = False,
    ) -> None:
        """Work in the background; a second click while it runs does nothing.

        No button is disabled meanwhile: it would lose the keyboard focus.

        Args:
            message: the message while it runs.
            work: the work; it touches no widget.
            done: called with its result.
            forms: those that are busy meanwhile.
            always: called when it is over, even where it failed.
            vital: whether it changes records and must not be interrupted: it cannot be canceled,
                and the page warns before it is closed.
        """
        if self.busy:
            return

        def rested() -> None:
            self.status.remove_class("svc-busy")
            set_visible(self.cancel_button, visible=False)
            for form in forms:
                form.busy = False
            if always is not None:
                always()

        def succeeded(result: _T) -> None:
            rested()
            self.message.clear()
            done(result)

        def failed(error: BaseException) -> None:
            rested()
            self.message.show_trouble(error)

        self._rested, self._vital = rested, vital
        if vital:
            # on a box: a widget with its own script does not pass a later class on to the page
            self.status.add_class("svc-busy")
        set_visible(self.cancel_button, visible=not vital)
        for form in forms:
            form.busy = True
        self.message.show_note(message)
        self._job = self.session.background.start(work, done=succeeded, failed=failed)


def box_html(inner: str, *, trouble: bool = False) -> str:
    """HTML in a box, which is red where something needs attention."""
    return f'<div class="svc-box svc-{"trouble" if trouble else "info"}">{inner}</div>'


def records_html(records: Iterable[Registration | PlanRow], caption: str) -> str:
    """Records of a register or a plan as a table."""
    rows = [
        (
            record.state,
            record.nexus_type,
            str(record.registered_at or NOTHING),
            record.address or NOTHING,
            record.notes or NOTHING,
        )
        for record in records
    ]
    return titled_table_html(
        ("State", "Type", "Registered", prose("Address"), prose("Notes")), rows, caption
    )


SHOWN_ROWS = 200
"""Rows of a table that are sent to the page; `more_html` counts the rest."""


def more_html(total: int, where: str = "") -> str:
    """How many of `total` rows are beyond `SHOWN_ROWS`."""
    left = total - SHOWN_ROWS
    return f'<p class="svc-note">and {left:,} more{where}</p>' if left > 0 else ""


def store_plan(plan: Plan) -> Path:
    """Write a plan where `stored_plan` finds it.

    Raises:
        JournalError: the folder cannot be used.
        OSError: the file cannot be written; what was stored before stays.
    """
    folder = private_folder(nexus.receipt_folder() / "plans")
    return plan.write(folder / f"{plan.plan_id}.csv")


def stored_plan(plan_id: str) -> Path | None:
    """The file of a stored plan; `None` without one."""
    path = nexus.receipt_folder() / "plans" / f"{plan_id}.csv"
    return path if plan_id and path.is_file() else None


def unapplied_plan(account: str | None, applied: Collection[str]) -> Plan | None:
    """The newest stored plan with ticks and without a receipt.

    Only the newest plans are read; an older one can be opened by its file.

    Args:
        account: reads the plans of this account, and those of no account; `None` reads all.
        applied: the ids of plans with a receipt.
    """
    files = nexus.receipt_folder().joinpath("plans").glob("plan-*.csv")
    # a name begins with the moment at which the plan was made
    for path in sorted(files, reverse=True)[:20]:
        if path.stem in applied:
            continue
        with suppress(nexus.PlanError, OSError):
            plan = nexus.read_plan(path)
            if plan.ticked and (account is None or plan.account in {"", account}):
                return plan
    return None
