"""Apart from the plan: removing the records of every type of one state, once its code is typed."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import ipywidgets as w

from svc_tools import nexus
from svc_tools.nexus.words import ALL_TYPES_NOTE, BEFORE_REMOVING
from svc_tools.places import STATES
from svc_tools.shown import NOTHING
from svc_tools.widgets.code import Name, as_code
from svc_tools.widgets.disclosure import Disclosure
from svc_tools.widgets.nexus_cleanup import listed_if_it_lists, listed_since
from svc_tools.widgets.nexus_confirm import ConfirmBox
from svc_tools.widgets.nexus_section import Section
from svc_tools.widgets.nexus_view import Confirmation
from svc_tools.widgets.parts import button, field, note, shown_code, table_html

if TYPE_CHECKING:
    from svc_sdk import Svc
    from svc_tools.nexus import Receipt, Register
    from svc_tools.widgets.nexus_cleanup import Cleanup
    from svc_tools.widgets.session import Session

__all__ = ["WholeStateSection"]


class WholeStateSection(Section):
    """Removes all types of a state in one request: a separate act with its own confirmation.

    Attributes:
        opening: shows the section.
        state: which state.
        preview_button: shows what would be removed; nothing is sent but questions.
        preview: what would be removed.
        confirm: the state's code has to be typed.
        code: the same in Python.
    """

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        super().__init__(session, cleanup, "Every record of one state")
        self._asked: tuple[str, Svc] | None = None
        self.state = w.Dropdown(options=[("Choose a state", "")], description="State to clear")
        self.preview_button = button("Preview the removal of the state", kind="plain")
        self.preview = w.HTML()
        self.confirm = ConfirmBox(self._confirmed)
        self.code = shown_code()
        self.preview_button.on_click(lambda _: self.ask())
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
        """Offer the states that the service lists, or all where it does not say."""
        listed, former = self.cleanup.listed, self.state.value
        states = sorted(STATES if listed is None else listed.states)
        self.state.options = [("Choose a state", ""), *((state, state) for state in states)]
        self.state.value = former if former in states else ""
        self.drop()

    def ask(self) -> None:
        """Preview: the service is asked what is there, and nothing is removed."""
        state, client = self.state.value, self.session.client
        self.drop()
        if not state:
            self.message.show_note("Choose a state.")
            return
        if client is None:
            self.message.show_note("No service is connected: give a key above.")
            return

        def work() -> tuple[Receipt, Register | None]:
            dry = nexus.remove_state(client, state, typed=state, dry_run=True)
            return dry, listed_if_it_lists(client)

        self.run(
            "Asking the service what is there\N{HORIZONTAL ELLIPSIS}",
            work,
            lambda found: self._previewed(state, client, *found),
        )

    def drop(self) -> None:
        """The preview no longer holds."""
        self._asked = None
        self.preview.value = ""
        self.confirm.rest()

    def _previewed(self, state: str, client: Svc, dry: Receipt, listed: Register | None) -> None:
        if state != self.state.value or client is not self.session.client:
            return
        self._asked = (state, client)
        what = "<p>This service does not list its records: what is there is not known.</p>"
        if listed is not None:
            heads = ("State", "Type", "Registered", "~Address", "~Notes")
            cells = [
                (one.state, one.nexus_type, one.registered_at, one.address, one.notes)
                for one in listed.records
                if one.state == state
            ]
            shown_cells = [[NOTHING if cell is None else cell for cell in row] for row in cells]
            what = table_html(heads, shown_cells, "What will be removed, with one request")
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in BEFORE_REMOVING)
        self.preview.value = (
            f"{what}<p>The request: <code>DELETE /v1/portability/nexus/{escape(state)}</code>,"
            " without a type.</p>"
            f'<div class="svc-box svc-{"said" if dry.can_restore else "trouble"}">'
            f"<p><strong>{escape(dry.restore_note)}</strong></p>{said}</div>"
        )
        self.code.show(
            "receipt = "
            + as_code("nexus.remove_state", Name("client"), state, typed=state, dry_run=False)
        )
        if any(item.status == "planned" for item in dry.items):
            prompt = f"Type {state}, the state, to remove all of its records."
            self.confirm.ask(Confirmation(state, prompt), f"Remove every record of {state}")
        else:
            self.message.show_note("There is nothing to remove.")

    def _confirmed(self, typed: str) -> None:
        if self._asked is None or self.busy:
            return
        state, client = self._asked

        def work() -> tuple[Receipt, Register | None]:
            receipt = nexus.remove_state(client, state, typed=typed.upper(), dry_run=False)
            return receipt, listed_since(client)

        self.run(
            f"Removing the records of {state}\N{HORIZONTAL ELLIPSIS}",
            work,
            lambda result: self._removed(client, *result),
            vital=True,
        )

    def _removed(self, client: Svc, receipt: Receipt, listed: Register | None) -> None:
        self.cleanup.ended(receipt, listed if client is self.session.client else None)
        self.message.show_note(receipt.sentence)
