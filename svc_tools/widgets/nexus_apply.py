"""Step 4 of the Nexus tab: what would be sent, the confirmation, the removal and its progress."""

# MERGED nexus_left_over: What an earlier page or kernel did not bring to its end: said first, and offered again.

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from svc_tools import config, nexus
from svc_tools.display import NOTHING, counted, the_service
from svc_tools.nexus.apply import requests_of
from svc_tools.nexus.notices import BEFORE_REMOVING
from svc_tools.widgets.nexus_section import (
    ConfirmBox,
    Running,
    Section,
    actions,
    confirmation_of,
    kept,
    listed_since,
    not_applied,
    requests_html,
    shown,
)
from svc_tools.widgets.parts import Name, as_code, button, note, shown_code, table_html

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from svc_sdk import Svc
    from svc_tools.nexus import Plan, Receipt, ReceiptItem, Register
    from svc_tools.widgets.nexus_section import Cleanup
    from svc_tools.widgets.session import Session

_ACTS = {
    "apply": "The removal",
    "remove_state": "The removal of a whole state",
    "restore": "The undo",
}


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


def _is_open(row: dict[Any, Any], account: str | None) -> bool:
    # a damaged file has no kind: it is among the earlier receipts, and says what is wrong with it
    if row["kind"] not in _ACTS or row["finished"] is not False:
        return False
    return account is None or row["account"] == account


def _moment(started: pd.Timestamp) -> str:
    return f"{started:%Y-%m-%d %H:%M} UTC"
