"""Step 4 of the Nexus tab: preview, confirmation, removal.

Two more sections lead to or do the same: `LeftOverSection`, at the top, offers what an earlier page
or kernel did not finish; `WholeStateSection`, apart from the plan, removes every type of one state.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from svc_tools import config, nexus
from svc_tools.display import counted, the_service
from svc_tools.nexus.apply import requests_of
from svc_tools.nexus.notices import ALL_TYPES_NOTE, BEFORE_REMOVING
from svc_tools.places import STATES
from svc_tools.widgets.nexus_section import (
    Confirmation,
    ConfirmBox,
    Running,
    Section,
    actions,
    box_html,
    confirmation_of,
    list_after_change,
    list_or_none,
    records_html,
    requests_html,
    stored_plan,
    unapplied_plan,
)
from svc_tools.widgets.parts import (
    CodeView,
    Disclosure,
    Name,
    as_code,
    button,
    field,
    note,
    set_visible,
    table_html,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_sdk import Svc
    from svc_tools.nexus import Plan, Receipt, ReceiptItem, Register
    from svc_tools.widgets.nexus_section import Cleanup
    from svc_tools.widgets.session import Session


@dataclass(frozen=True, slots=True)
class _Preview:
    plan: Plan
    client: Svc
    dry: Receipt


class ApplySection(Section):
    """Previews the requests of the ticked rows, and sends them once they are confirmed.

    A preview is valid only for the ticks and the account that it was made for.

    Attributes:
        preview_button: reads the service's records, and shows what would be sent.
        preview: the requests, what will be lost, and whether that can be undone.
        confirm: what has to be typed, and the button that removes.
        running: the progress, and the button that stops after the request under way.
        code: the same in Python.
    """

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        super().__init__(session, cleanup, "4. Preview, confirm, remove")
        self._preview: _Preview | None = None
        self.preview_button = button("Preview the requests")
        self.preview = w.HTML()
        self.confirm = ConfirmBox(self._confirmed)
        self.running = Running(self.message)
        self.code = CodeView()
        self.preview_button.on_click(lambda _: self.show_preview())
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
        """Enable the preview where something is ticked."""
        plan = self.cleanup.plan
        self.preview_button.disabled = plan is None or not plan.ticked
        self.code.show("")

    def show_preview(self) -> None:
        """Preview the requests: only reads."""
        plan = self.cleanup.plan
        if plan is None or not plan.ticked:
            self.message.show_note("Nothing is ticked.")
            return
        client = self.connected_client()
        if client is None:
            return
        self.drop()

        def work() -> _Preview:
            return _Preview(plan, client, nexus.apply_plan(plan, client, dry_run=True))

        self.run("Asking the service what is there\N{HORIZONTAL ELLIPSIS}", work, self._previewed)

    def drop(self, why: str = "") -> None:
        """Drop the preview: it is no longer valid; `why` is shown where there was one."""
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
            self.confirm.request(
                confirmation_of(states, "remove {}"), f"Remove {counted(len(states), 'record')}"
            )
        elif unsettled:
            # nothing seems left to send: the same call again only settles what is unknown
            self.confirm.request(
                confirmation_of(unsettled, "settle {}"),
                f"Settle {counted(len(unsettled), 'record')}",
            )
        else:
            self.message.show_note("There is nothing to send.")

    def _unsettled(self, plan: Plan) -> list[str]:
        """The state of each record whose outcome the receipt of this plan does not know."""
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
            return receipt, list_after_change(preview.client)

        self.run(
            "Removing\N{HORIZONTAL ELLIPSIS} Each request is in the receipt before it is sent.",
            work,
            lambda result: self._applied(preview.client, *result),
            always=self.running.over,
            vital=True,
        )

    def _moved(self, item: ReceiptItem, done: int, total: int) -> None:
        self.running.moved(done, total)
        self.message.show_note(
            f"{done} of {total}: {item.state} {item.nexus_type}: {item.status.replace('_', ' ')}."
        )

    def _applied(self, client: Svc, receipt: Receipt, listed: Register | None) -> None:
        self.drop()
        self.message.show_note(f"{receipt.sentence} The receipt is below.")
        self.show_receipt(receipt, client, listed)


def _preview_html(preview: _Preview) -> str:
    removed = [row for row in preview.plan.ticked if row.action == "remove"]
    left_out = [
        (item.state, item.nexus_type or "all types", item.message)
        for item in preview.dry.items
        if item.status != "planned"
    ]
    parts = [requests_html(requests_of(preview.dry))]
    if removed:
        parts.append(records_html(removed, "What will be removed"))
    if left_out:
        parts.append(table_html(("State", "Type", "~Why"), left_out, "Ticked, but not sent"))
    return "".join([*parts, _undo_html(preview.dry)])


def _undo_html(dry: Receipt) -> str:
    """Whether a removal can be undone, and what to know before it."""
    notes = "".join(f"<p>{escape(sentence)}</p>" for sentence in BEFORE_REMOVING)
    undo = f"<p><strong>{escape(dry.restore_note)}</strong></p>"
    return box_html(undo + notes, trouble=not dry.can_restore)


def _code(*, dry_run: bool) -> str:
    return "receipt = " + as_code("nexus.apply_plan", Name("plan"), Name("client"), dry_run=dry_run)


class WholeStateSection(Section):
    """Removes all types of a state in one request: a separate act with its own confirmation.

    Attributes:
        opening: shows the section.
        state: which state.
        preview_button: shows what would be removed; only reads.
        preview: what would be removed.
        confirm: the state's code has to be typed.
        code: the same in Python.
    """

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        super().__init__(session, cleanup, "Every record of one state")
        self._previewed_for: tuple[str, Svc] | None = None
        self.state = w.Dropdown(options=[("Choose a state", "")], description="State to clear")
        self.preview_button = button("Preview the removal of the state", kind="plain")
        self.preview = w.HTML()
        self.confirm = ConfirmBox(self._confirmed)
        self.code = CodeView()
        self.preview_button.on_click(lambda _: self.show_preview())
        self.state.observe(lambda _: self.drop(), "value")
        inside = w.VBox(
            [
                note(ALL_TYPES_NOTE),
                field(self.state),
                self.preview_button,
                self.preview,
                self.confirm.view,
                self.said,
                self.code,
            ]
        )
        self.opening = Disclosure("Remove every record of one state", inside)
        self.compose(self.opening.view)
        self.show()

    def show(self) -> None:
        """Offer the states that the service lists, or all where it lists none."""
        listed, former = self.cleanup.listed, self.state.value
        states = sorted(STATES if listed is None else listed.states)
        self.state.options = [("Choose a state", ""), *((state, state) for state in states)]
        self.state.value = former if former in states else ""
        self.drop()

    def show_preview(self) -> None:
        """Preview the removal: only reads."""
        state = self.state.value
        self.drop()
        if not state:
            self.message.show_note("Choose a state.")
            return
        client = self.connected_client()
        if client is None:
            return

        def work() -> tuple[Receipt, Register | None]:
            dry = nexus.remove_state(client, state, typed=state, dry_run=True)
            return dry, list_or_none(client)

        self.run(
            "Asking the service what is there\N{HORIZONTAL ELLIPSIS}",
            work,
            lambda found: self._previewed(state, client, *found),
        )

    def drop(self) -> None:
        """Drop the preview: it is no longer valid."""
        self._previewed_for = None
        self.preview.value = ""
        self.confirm.rest()

    def _previewed(self, state: str, client: Svc, dry: Receipt, listed: Register | None) -> None:
        if state != self.state.value or client is not self.session.client:
            return
        self._previewed_for = (state, client)
        what = "<p>This service does not list its records: what is there is not known.</p>"
        if listed is not None:
            records = (one for one in listed.records if one.state == state)
            what = records_html(records, "What will be removed, with one request")
        self.preview.value = (
            f"{what}<p>The request: <code>DELETE /v1/portability/nexus/{escape(state)}</code>,"
            f" without a type.</p>{_undo_html(dry)}"
        )
        self.code.show(
            "receipt = "
            + as_code("nexus.remove_state", Name("client"), state, typed=state, dry_run=False)
        )
        if any(item.status == "planned" for item in dry.items):
            prompt = f"Type {state}, the state, to remove all of its records."
            self.confirm.request(Confirmation(state, prompt), f"Remove every record of {state}")
        else:
            self.message.show_note("There is nothing to remove.")

    def _confirmed(self, typed: str) -> None:
        if self._previewed_for is None or self.busy:
            return
        state, client = self._previewed_for

        def work() -> tuple[Receipt, Register | None]:
            receipt = nexus.remove_state(client, state, typed=typed.upper(), dry_run=False)
            return receipt, list_after_change(client)

        self.run(
            f"Removing the records of {state}\N{HORIZONTAL ELLIPSIS}",
            work,
            lambda result: self._removed(client, *result),
            vital=True,
        )

    def _removed(self, client: Svc, receipt: Receipt, listed: Register | None) -> None:
        self.show_receipt(receipt, client, listed)
        self.message.show_note(receipt.sentence)


_ACTS = {
    "apply": "The removal",
    "remove_state": "The removal of a whole state",
    "restore": "The undo",
}


@dataclass(frozen=True, slots=True)
class _Found:
    """What is left over: the newest unfinished receipt, or a plan with ticks."""

    text: str = ""
    receipt: Path | None = None
    plan: Plan | None = None


class LeftOverSection(Section):
    """Looks once for each account; hidden where nothing is left over.

    Attributes:
        result: what was found, in sentences.
        open_button: opens the receipt with its plan, or the plan.
        leave_button: removes the offer; the files stay.
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
        """Look once for what is left over of this account, or of all where none is known."""
        if not self._looked:
            self._look()

    def look_again(self) -> None:
        """Look for what is left over of another account, which is used from now on."""
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

    def leave(self) -> None:
        """Remove the offer."""
        self._show(_Found())

    def open(self) -> None:
        """Open the receipt and its plan, or the plan."""
        found = self._found

        def work() -> tuple[Receipt | None, Plan | None]:
            if found.receipt is None:
                return None, found.plan
            receipt = nexus.read_receipt(found.receipt)
            file = stored_plan(receipt.plan_id)
            return receipt, None if file is None else nexus.read_plan(file)

        self.run("Opening\N{HORIZONTAL ELLIPSIS}", work, lambda opened: self._opened(*opened))

    def _opened(self, receipt: Receipt | None, plan: Plan | None) -> None:
        set_visible(self._offer, visible=False)
        notes = []
        if plan is not None:
            self._use_plan(plan)
            notes.append("The plan is shown under 3, with its ticks.")
        if receipt is not None:
            self.cleanup.receipt = receipt
            self.cleanup.changed("receipt")
            notes.append("The receipt is shown under 5, with what is left to do.")
        if plan is not None:
            notes.append("Nothing is sent before you have previewed the requests and confirmed.")
        self.message.show_note(" ".join(notes))

    def _show(self, found: _Found) -> None:
        self._found = found
        self.message.clear()
        set_visible(self.view, bool(found.text))
        set_visible(self._offer, visible=True)
        offer = box_html(f"<p>{escape(found.text)}</p>", trouble=found.receipt is not None)
        self.result.value = offer if found.text else ""


def _left_over(client: Svc | None) -> _Found:
    account = None if client is None else config.account_of(client).account
    receipts = nexus.receipts()
    open_ones = [row for row in receipts.to_dict("records") if _is_open(row, account)]
    if open_ones:
        row = open_ones[0]
        more = len(open_ones) - 1
        others = f" {counted(more, 'other')} below, under Earlier receipts." if more else ""
        text = (
            f"{_ACTS.get(row['kind'], 'What')} begun {row['started']:%Y-%m-%d %H:%M} UTC on"
            f" {the_service(str(row['service']))} has not come to its end, or is under way in"
            " another window."
            f" {row['said']}{others}"
        )
        return _Found(text, receipt=Path(row["path"]))
    plan = unapplied_plan(account, set(receipts["plan_id"].dropna()))
    if plan is None:
        return _Found()
    text = f"A plan made {plan.made_at:%Y-%m-%d %H:%M} UTC was not applied. {plan.sentence}"
    return _Found(text, plan=plan)


def _is_open(row: dict[Any, Any], account: str | None) -> bool:
    # a damaged file has no kind: it is among the earlier receipts, and says what is wrong with it
    if row["kind"] not in _ACTS or row["finished"] is not False:
        return False
    return account is None or row["account"] == account
