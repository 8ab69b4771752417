"""Step 4 of the Nexus tab: what would be sent, the confirmation, the removal and its progress."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import ipywidgets as w

from svc_tools import nexus
from svc_tools.nexus.apply import requests_of
from svc_tools.nexus.words import BEFORE_REMOVING
from svc_tools.shown import NOTHING, counted
from svc_tools.widgets.code import Name, as_code
from svc_tools.widgets.nexus_cleanup import listed_since
from svc_tools.widgets.nexus_confirm import ConfirmBox
from svc_tools.widgets.nexus_requests import requests_html
from svc_tools.widgets.nexus_running import Running
from svc_tools.widgets.nexus_section import Section
from svc_tools.widgets.nexus_view import confirmation_of
from svc_tools.widgets.parts import button, note, shown_code, table_html

if TYPE_CHECKING:
    from svc_sdk import Svc
    from svc_tools.nexus import Plan, Receipt, ReceiptItem, Register
    from svc_tools.widgets.nexus_cleanup import Cleanup
    from svc_tools.widgets.session import Session

__all__ = ["ApplySection"]


@dataclass(frozen=True, slots=True)
class _Preview:
    plan: Plan
    client: Svc
    dry: Receipt


class ApplySection(Section):
    """Previews the requests of the ticked rows, and sends them once they are confirmed.

    A preview holds for the ticks and the account that it was made for, and for no others.

    Attributes:
        preview_button: asks the service what is there, and shows what would be sent.
        preview: the requests, what will be lost, and whether that can be undone.
        confirm: what has to be typed, and the button that removes.
        running: how far it is, and the button that ends it after the request under way.
        code: the same in Python.
    """

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        super().__init__(session, cleanup, "4. Preview, confirm, remove")
        self._preview: _Preview | None = None
        self.preview_button = button("Preview the requests")
        self.preview = w.HTML()
        self.confirm = ConfirmBox(self._confirmed)
        self.running = Running(self.message)
        self.code = shown_code()
        self.preview_button.on_click(lambda _: self.ask())
        self.compose(
            note("Nothing is removed before you have seen every request and confirmed it."),
            self.preview_button,
            self.preview,
            self.confirm.view,
            self.running.view,
            self.said,
            self.code,
        )
        self.show()

    def show(self) -> None:
        """Show whether there is something to preview."""
        plan = self.cleanup.plan
        self.preview_button.disabled = plan is None or not plan.ticked
        self.code.show("")

    def ask(self) -> None:
        """Make the preview: nothing is sent but questions."""
        plan, client = self.cleanup.plan, self.session.client
        if plan is None or not plan.ticked:
            self.message.show_note("Nothing is ticked.")
            return
        if client is None:
            self.message.show_note("No service is connected: give a key above.")
            return
        self.drop()

        def work() -> _Preview:
            return _Preview(plan, client, nexus.apply_plan(plan, client, dry_run=True))

        self.run("Asking the service what is there\N{HORIZONTAL ELLIPSIS}", work, self._previewed)

    def drop(self, why: str = "") -> None:
        """The preview no longer holds."""
        had = self._preview is not None
        self._preview = None
        self.preview.value = ""
        self.confirm.rest()
        if had and why:
            self.message.show_note(why)
        self.show()

    def _previewed(self, preview: _Preview) -> None:
        if preview.plan is not self.cleanup.plan or preview.client is not self.session.client:
            self.message.show_note("The ticks or the account have changed: preview again.")
            return
        self._preview = preview
        self.preview.value = _preview_html(preview)
        self.code.show(_code(dry_run=True) + "\n" + _code(dry_run=False))
        # a state once for each record that is expected to go
        states = [
            item.state
            for item in preview.dry.items
            if item.status == "planned"
            for _ in range(max(1, item.expected or 1))
        ]
        unsettled = self._unsettled(preview.plan)
        if states:
            self.confirm.ask(
                confirmation_of(states, "remove {}"), f"Remove {counted(len(states), 'record')}"
            )
        elif unsettled:
            # nothing is left to send, as it looks: the same call again only finds out what became
            self.confirm.ask(
                confirmation_of(unsettled, "settle {}"),
                f"Settle {counted(len(unsettled), 'record')}",
            )
        else:
            self.message.show_note("There is nothing to send.")

    def _unsettled(self, plan: Plan) -> list[str]:
        """The states of which the receipt of this plan does not know what became."""
        receipt = self.cleanup.receipt
        if receipt is None or receipt.plan_id != plan.plan_id or receipt.kind != "apply":
            return []
        return [item.state for item in receipt.items if item.outcome == "unknown"]

    def _confirmed(self, _typed: str) -> None:
        preview = self._preview
        if preview is None or self.busy:
            return
        self.running.begin(len(preview.dry.items))
        tell = self.session.background.tell

        def work() -> tuple[Receipt, Register | None]:
            receipt = nexus.apply_plan(
                preview.plan,
                preview.client,
                dry_run=False,
                on_progress=lambda *how_far: tell(self._moved, *how_far),
                stop=self.running.stop,
            )
            return receipt, listed_since(preview.client)

        self.run(
            "Removing\N{HORIZONTAL ELLIPSIS} Each request is in the receipt before it is sent.",
            work,
            lambda result: self._applied(preview.client, *result),
            always=self.running.over,
            vital=True,
        )

    def _moved(self, item: ReceiptItem, through: int, total: int) -> None:
        self.running.moved(through, total)
        self.message.show_note(
            f"{through} of {total}: {item.state} {item.nexus_type}:"
            f" {item.status.replace('_', ' ')}."
        )

    def _applied(self, client: Svc, receipt: Receipt, listed: Register | None) -> None:
        self.drop()
        self.message.show_note(f"{receipt.sentence} The receipt is below.")
        # the list is of the account that was asked; another one may be in use by now
        self.cleanup.ended(receipt, listed if client is self.session.client else None)


def _preview_html(preview: _Preview) -> str:
    lost = [
        (
            row.state,
            row.nexus_type,
            str(row.registered_at or NOTHING),
            row.address or NOTHING,
            row.notes or NOTHING,
        )
        for row in preview.plan.ticked
        if row.action == "remove"
    ]
    left_out = [
        (item.state, item.nexus_type or "all types", item.message)
        for item in preview.dry.items
        if item.status != "planned"
    ]
    undo = preview.dry.restore_note
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in BEFORE_REMOVING)
    parts = [requests_html(requests_of(preview.dry))]
    if lost:
        of_record = ("State", "Type", "Registered", "~Address", "~Notes")
        parts.append(table_html(of_record, lost, "What will be removed"))
    if left_out:
        parts.append(table_html(("State", "Type", "~Why"), left_out, "Ticked, but not sent"))
    looks = "svc-said" if preview.dry.can_restore else "svc-trouble"
    parts.append(f'<div class="svc-box {looks}"><p><strong>{escape(undo)}</strong></p>{said}</div>')
    return "".join(parts)


def _code(*, dry_run: bool) -> str:
    return "receipt = " + as_code("nexus.apply_plan", Name("plan"), Name("client"), dry_run=dry_run)
