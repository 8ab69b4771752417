"""What an earlier page or kernel did not bring to its end: said first, and offered again."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from svc_tools import config, nexus
from svc_tools.shown import counted, the_service
from svc_tools.widgets.nexus_kept import kept, not_applied
from svc_tools.widgets.nexus_section import Section, actions, shown
from svc_tools.widgets.parts import button

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from svc_sdk import Svc
    from svc_tools.nexus import Plan, Receipt
    from svc_tools.widgets.nexus_cleanup import Cleanup
    from svc_tools.widgets.session import Session

__all__ = ["LeftOverSection"]


@dataclass(frozen=True, slots=True)
class _Found:
    """What is left over: the newest receipt that is not finished, or a plan with ticks."""

    said: str = ""
    receipt: Path | None = None
    plan: Plan | None = None


class LeftOverSection(Section):
    """Looks once for each account; nothing is shown where nothing is left over.

    Attributes:
        result: what was found, in sentences.
        open_button: opens the receipt with its plan, or the plan.
        leave_button: takes the offer away; the files stay.
    """

    def __init__(
        self, session: Session, cleanup: Cleanup, use_plan: Callable[[Plan], object]
    ) -> None:
        super().__init__(session, cleanup, "Not finished")
        self._use_plan = use_plan
        self._found = _Found()
        self._looked = False
        self.result = w.HTML()
        self.open_button = button("Go on with it")
        self.leave_button = button("Leave it", kind="plain")
        self.open_button.on_click(lambda _: self.open())
        self.leave_button.on_click(lambda _: self.leave())
        self._offer = w.VBox([self.result, actions([self.open_button, self.leave_button])])
        self.compose(self._offer, self.said)
        self.view.add_class("svc-left-over")
        self._show(_Found())

    def look(self) -> None:
        """Look for what is left over of this account, and of others where none is known: once."""
        if not self._looked:
            self._look()

    def look_anew(self) -> None:
        """Another account is asked from now on: look for what is left over of that one."""
        if self._looked:
            self._look()

    def _look(self) -> None:
        self._looked = True
        client = self.session.client
        self._show(_Found())
        self.cancel()
        # quietly: who opens the panel has asked for nothing yet
        self._job = self.session.background.start(
            lambda: _left_over(client), done=self._show, failed=lambda _error: None
        )

    def leave(self) -> None:
        """Take the offer away."""
        self._show(_Found())

    def open(self) -> None:
        """Open the receipt and its plan, or the plan."""
        found = self._found

        def work() -> tuple[Receipt | None, Plan | None]:
            if found.receipt is None:
                return None, found.plan
            receipt = nexus.read_receipt(found.receipt)
            file = kept(receipt.plan_id)
            return receipt, None if file is None else nexus.read_plan(file)

        self.run("Opening\N{HORIZONTAL ELLIPSIS}", work, lambda opened: self._opened(*opened))

    def _opened(self, receipt: Receipt | None, plan: Plan | None) -> None:
        shown(self._offer, visible=False)
        said = []
        if plan is not None:
            self._use_plan(plan)
            said.append("The plan is shown under 3, with its ticks.")
        if receipt is not None:
            self.cleanup.receipt = receipt
            self.cleanup.changed("receipt")
            said.append("The receipt is shown under 5, with what is left to do.")
        if plan is not None:
            said.append("Nothing is sent before you have previewed the requests and confirmed.")
        self.message.show_note(" ".join(said))

    def _show(self, found: _Found) -> None:
        self._found = found
        self.message.clear()
        shown(self.view, bool(found.said))
        shown(self._offer, visible=True)
        looks = "trouble" if found.receipt is not None else "said"
        self.result.value = (
            f'<div class="svc-box svc-{looks}"><p>{escape(found.said)}</p></div>'
            if found.said
            else ""
        )


def _left_over(client: Svc | None) -> _Found:
    account = None if client is None else config.account_of(client).account
    receipts = nexus.receipts()
    open_ones = [row for row in receipts.to_dict("records") if _is_open(row, account)]
    if open_ones:
        row = open_ones[0]
        more = len(open_ones) - 1
        others = f" {counted(more, 'other')} below, under Earlier receipts." if more else ""
        said = (
            f"{_ACTS.get(row['kind'], 'What')} begun {_moment(row['started'])} on"
            f" {the_service(str(row['service']))} has not come to its end, or is under way in"
            " another window."
            f" {row['said']}{others}"
        )
        return _Found(said, receipt=Path(row["path"]))
    plan = not_applied(account, set(receipts["plan_id"].dropna()))
    if plan is None:
        return _Found()
    said = f"A plan made {plan.made_at:%Y-%m-%d %H:%M} UTC was not applied. {plan.sentence}"
    return _Found(said, plan=plan)


_ACTS = {
    "apply": "The removal",
    "remove_state": "The removal of a whole state",
    "restore": "The undo",
}


def _is_open(row: dict[Any, Any], account: str | None) -> bool:
    # a damaged file has no kind: it is among the earlier receipts, and says what is wrong with it
    if row["kind"] not in _ACTS or row["finished"] is not False:
        return False
    return account is None or row["account"] == account


def _moment(started: pd.Timestamp) -> str:
    return f"{started:%Y-%m-%d %H:%M} UTC"
