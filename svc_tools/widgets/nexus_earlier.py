"""Earlier work of the Nexus tab that was not finished."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from svc_tools import config, nexus
from svc_tools.show.display import counted, the_service
from svc_tools.widgets.nexus_section import Section, box_html, stored_plan, unapplied_plan
from svc_tools.widgets.parts import button, line, set_visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_sdk import Svc
    from svc_tools.nexus import Plan, Receipt
    from svc_tools.widgets.nexus_section import Cleanup
    from svc_tools.widgets.session import Session

_ACTS = {
    "apply": "The removal",
    "remove_state": "The removal of a whole state",
    "add": "The addition of a record",
    "edit": "The change of a record",
    "restore": "The undo",
}


@dataclass(frozen=True, slots=True)
class _Found:
    """What is not finished: the newest such receipt, or a plan with ticks."""

    text: str = ""
    receipt: Path | None = None
    plan: Plan | None = None


class LeftOverSection(Section):
    """Offers unfinished work of an earlier page, once for each account; hidden without any."""

    def __init__(
        self, session: Session, cleanup: Cleanup, use_plan: Callable[[Plan], object]
    ) -> None:
        """Build the section, hidden; `use_plan` is called with a plan that is continued."""
        super().__init__(session, cleanup, "Not finished")
        self._use_plan = use_plan
        self._found = _Found()
        self._looked = False
        self.result = w.HTML()
        self.open_button = button("Continue")
        self.leave_button = button("Dismiss", kind="plain")
        self.open_button.on_click(lambda _: self.open())
        self.leave_button.on_click(lambda _: self._show(_Found()))
        self._offer = w.VBox([self.result, line(self.open_button, self.leave_button)])
        self.compose(self._offer, self.status)
        self.view.add_class("svc-left-over")
        self._show(_Found())

    def look(self) -> None:
        """Look once for unfinished work of this account, or of all where none is known."""
        if not self._looked:
            self._look()

    def look_again(self) -> None:
        """Look for unfinished work of another account, which is used from now on."""
        if self._looked:
            self._look()

    def _look(self) -> None:
        self._looked = True
        client = self.session.client
        self._show(_Found())
        self.cancel()
        # without a message: the user has requested nothing yet
        self._job = self.session.background.start(
            lambda: _left_over(client), done=self._show, failed=lambda _error: None
        )

    def open(self) -> None:
        """Open the receipt and its plan, or the plan."""
        found = self._found

        def work() -> tuple[Receipt | None, Plan | None]:
            if found.receipt is None:
                return None, found.plan
            receipt = nexus.read_receipt(found.receipt)
            undone = found.receipt.with_name(receipt.of or found.receipt.name)
            if receipt.of and undone.exists():  # an undo is continued from what it undoes
                return nexus.read_receipt(undone), None
            file = stored_plan(receipt.plan_id)
            return receipt, None if file is None else nexus.read_plan(file)

        self.run("Opening…", work, lambda opened: self._opened(*opened))

    def _opened(self, receipt: Receipt | None, plan: Plan | None) -> None:
        """Show the plan and the receipt in their own sections, and say what to do there."""
        set_visible(self._offer, visible=False)
        notes = []
        if plan is not None:
            self._use_plan(plan)
            notes.append("The plan is shown under 3, with its ticks.")
        if receipt is not None:
            self.cleanup.show_receipt(receipt)
            undone = receipt.path != self._found.receipt
            notes.append(
                "What it undoes is shown under 5: preview the undo again."
                if undone
                else "The receipt is shown under 5, with what is left to do."
            )
        if plan is not None:
            notes.append("Nothing is changed before you have previewed the requests and confirmed.")
        self.message.show_note(" ".join(notes))

    def _show(self, found: _Found) -> None:
        self._found = found
        self.message.clear()
        set_visible(self.view, bool(found.text))
        set_visible(self._offer, visible=True)
        offer = box_html(f"<p>{escape(found.text)}</p>", trouble=found.receipt is not None)
        self.result.value = offer if found.text else ""


def _left_over(client: Svc | None) -> _Found:
    """The newest unfinished change of an account, else its last plan that was not applied.

    Reads the receipts and plans of this computer; sends nothing.
    """
    account = None if client is None else config.account_of(client).account
    receipts = nexus.receipts()
    open_ones = [row for row in receipts.to_dict("records") if _is_open(row, account)]
    if open_ones:
        row = open_ones[0]
        more = len(open_ones) - 1
        others = f" nexus.receipts() lists {counted(more, 'other')}." if more else ""
        text = (
            f"{_ACTS[row['kind']]} started {row['started']:%Y-%m-%d %H:%M} UTC on"
            f" {the_service(str(row['service']))} is not complete, or is under way in another"
            f" window. {row['said']}{others}"
        )
        return _Found(text, receipt=Path(row["path"]))
    plan = unapplied_plan(account, set(receipts["plan_id"].dropna()))
    if plan is None:
        return _Found()
    text = f"A plan made {plan.made_at:%Y-%m-%d %H:%M} UTC was not applied. {plan.sentence}"
    return _Found(text, plan=plan)


def _is_open(row: dict[Any, Any], account: str | None) -> bool:
    # a damaged file has no kind: nexus.receipts() shows what is wrong with it
    if row["kind"] not in _ACTS or row["finished"] is not False:
        return False
    return account is None or row["account"] == account
