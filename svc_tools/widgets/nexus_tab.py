"""The tab "Nexus": a cleanup from the register to the receipt, and back.

Five steps from top to bottom; each is a call of `svc_tools.nexus`, and shows it as code.
"""

# MERGED nexus_register: Step 1 of the Nexus tab: the register, from the service, from the user's own file, or both.

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import ipywidgets as w

from svc_tools import nexus
from svc_tools.display import NOTHING, counted
from svc_tools.widgets.nexus_apply import ApplySection, LeftOverSection
from svc_tools.widgets.nexus_exposure import ExposureSection
from svc_tools.widgets.nexus_plan import PlanSection, WholeStateSection
from svc_tools.widgets.nexus_receipt import HistorySection, ReceiptSection
from svc_tools.widgets.nexus_section import Cleanup, Section, shown
from svc_tools.widgets.parts import (
    HERE,
    Entry,
    Form,
    Name,
    as_code,
    button,
    field,
    note,
    shown_code,
    table_html,
)

if TYPE_CHECKING:
    from svc_tools.nexus import Register
    from svc_tools.widgets.nexus_section import Change
    from svc_tools.widgets.session import Session

_DIFFERENCES = {
    "only_mine": "Only in your register",
    "only_service": "Only on the service",
    "registered_at": "Another day of registration",
    "address": "Another address",
    "notes": "Other notes",
}
_MOST = 200
"""So many rows of a table go to the page; the rest is said to be there."""


class NexusTab:
    """Clean up nexus registrations: provably, and back where the service can add.

    Attributes:
        cleanup: what the steps know together.
        register, exposure, plan, apply, receipt: the steps.
        left_over: what an earlier page did not bring to its end.
        history: earlier receipts.
        whole_state: removing every type of one state.
        view: all of it.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.cleanup = Cleanup()
        self.register = RegisterSection(session, self.cleanup)
        self.exposure = ExposureSection(session, self.cleanup)
        self.plan = PlanSection(session, self.cleanup)
        self.apply = ApplySection(session, self.cleanup)
        self.receipt = ReceiptSection(session, self.cleanup, self.plan.open)
        self.history = HistorySection(session, self.cleanup)
        self.whole_state = WholeStateSection(session, self.cleanup)
        self.left_over = LeftOverSection(session, self.cleanup, self.plan.use)
        steps = (
            self.left_over,
            self.register,
            self.exposure,
            self.plan,
            self.apply,
            self.receipt,
            self.history,
            self.whole_state,
        )
        css = (HERE / "nexus.css").read_text(encoding="utf-8")
        looks = w.HTML(f"<style>{css}</style>", layout={"display": "none"})
        self.view = w.VBox([looks, *(step.view for step in steps)])
        self.view.add_class("svc-nexus")
        self.cleanup.on_change(self._changed)
        session.on_change(self._account_changed)

    def opened(self) -> None:
        """The tab is shown: only now look for what is left over.

        A host may make the panel long before anybody sees it.
        """
        self.left_over.look()

    def _changed(self, what: Change) -> None:
        if what == "register":
            self.exposure.register_changed()
            self.whole_state.show()
        if what in {"register", "exposure"}:
            self.plan.register_changed()
        if what in {"plan", "ticks"}:
            self.apply.drop("The ticks have changed: preview the requests again.")
        if what == "receipt":
            self.receipt.show()

    def _account_changed(self) -> None:
        self.cleanup.abilities = None
        self.left_over.look_anew()
        self.register.forget_service()
        self.plan.show()
        self.apply.drop("The account has changed: preview the requests again.")
        self.receipt.drop()
        self.whole_state.show()


class RegisterSection(Section):
    """Lists the account's records, reads the user's register, and shows where the two differ.

    Attributes:
        list_button: asks the service for its records.
        file: the path of the user's own register, and the button that reads it.
        upload: or the file itself.
        source: which of the two the plan is made of, where both are there.
        records: the register that is used, as a table.
        differences: where the two differ, as a table.
        code: the same in Python.
    """

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        super().__init__(session, cleanup, "1. The register")
        self.list_button = button("List from the service", kind="primary")
        self.file = Form(
            [
                Entry(
                    "path",
                    "Register file",
                    help="A CSV or XLSX file on the computer where this runs, or upload one.",
                    placeholder="nexus.csv",
                    width="whole",
                )
            ],
            submit="Read the register",
            on_submit=lambda values: self.read(values.texts["path"]),
            label="Your own register",
        )
        self.upload = self.uploader(
            "Upload a register", ".csv,.xlsx", lambda path: self.file.submit(path=str(path))
        )
        self.source = w.Dropdown(
            options=[
                ("My own file, compared with the service's list", "mine"),
                ("The service's list alone", "service"),
            ],
            value="mine",
            description="Make the plan from",
        )
        self._choice = field(self.source)
        self.records = w.HTML()
        self.differences = w.HTML()
        self.code = shown_code()
        self.list_button.on_click(lambda _: self.list())
        self.source.observe(lambda _: self._chosen(), "value")
        self.compose(
            note(
                "The records that the service keeps for your account, or a register of your own"
                " (CSV or XLSX with state, nexus_type, registered_at, address, notes). With both,"
                " the differences are shown."
            ),
            self.list_button,
            self.file,
            self.upload,
            self.said,
            self._choice,
            self.differences,
            self.records,
            self.code,
        )
        cleanup.on_change(lambda what: self._show() if what == "register" else None)
        self._show()
        if session.register is not None:
            self._read(session.register)

    def list(self) -> None:
        """Ask the service for its records."""
        client = self.session.client
        if client is None:
            self.message.show_note("No service is connected: give a key above, or read a file.")
            return
        self.run(
            "Listing the records\N{HORIZONTAL ELLIPSIS}",
            lambda: nexus.list_register(client),
            self._listed,
        )

    def read(self, path: str) -> None:
        """Read the user's own register."""
        if not path.strip():
            self.file.errors = {"path": "Give the path of a file, or upload one."}
            return
        self.file.errors = {}
        self._read(Path(path.strip()).expanduser())

    def forget_service(self) -> None:
        """Another account is asked from now on: what the former one listed is no longer shown."""
        self.cancel()
        if self.cleanup.listed is not None:
            self.cleanup.listed = None
            self.message.show_note("The account has changed: list its records anew.")
            self.cleanup.changed("register")

    def _read(self, source: object) -> None:
        self.run(
            "Reading the register\N{HORIZONTAL ELLIPSIS}",
            lambda: nexus.read_register(source),
            lambda register: self._took_mine(register, source),
            forms=[self.file],
        )

    def _listed(self, register: Register) -> None:
        self.cleanup.listed = register
        self.cleanup.changed("register")

    def _took_mine(self, register: Register, source: object) -> None:
        self.cleanup.mine = register
        self.cleanup.mine_path = str(source) if isinstance(source, str | Path) else ""
        self.cleanup.changed("register")

    def _chosen(self) -> None:
        self.cleanup.use_mine = self.source.value == "mine"
        self.cleanup.changed("register")

    def _show(self) -> None:
        mine, listed = self.cleanup.mine, self.cleanup.listed
        both = mine is not None and listed is not None
        shown(self._choice, both)
        register = self.cleanup.register
        used_mine = register is not None and register is mine
        self.records.value = "" if register is None else _records(register, mine=used_mine)
        self.differences.value = (
            _differences(mine, listed) if mine is not None and listed is not None else ""
        )
        self._show_code()

    def _show_code(self) -> None:
        lines = []
        if self.cleanup.listed is not None or self.cleanup.mine is None:
            lines.append("listed = " + as_code("nexus.list_register", Name("client")))
        if self.cleanup.mine is not None:
            source = self.cleanup.mine_path or Name("register")
            lines.append("mine = " + as_code("nexus.read_register", source))
        if len(lines) > 1:
            lines.append(as_code("nexus.differences", Name("mine"), Name("listed")))
        self.code.show("\n".join(["from svc_tools import nexus", "", *lines]))


def _records(register: Register, *, mine: bool) -> str:
    where = "your own file" if mine else "the service's list"
    said = (
        f"{counted(len(register.records), 'record')} in {counted(len(register.states), 'state')},"
        f" from {where}."
    )
    rows = [
        (
            one.state,
            one.nexus_type,
            str(one.registered_at or NOTHING),
            one.address or NOTHING,
            one.notes or NOTHING,
        )
        for one in register.records[:_MOST]
    ]
    left = len(register.records) - len(rows)
    more = f'<p class="svc-note">and {left:,} more</p>' if left else ""
    if not rows:
        return f"<p>{escape(said)}</p>"
    drawn = table_html(("State", "Type", "Registered", "~Address", "~Notes"), rows, "The register")
    return f'<details class="svc-details"><summary>{escape(said)}</summary>{drawn}{more}</details>'


def _differences(mine: Register, listed: Register) -> str:
    found = nexus.differences(mine, listed)
    if found.empty:
        return "<p>Your register and the service's list hold the same records.</p>"
    rows = [
        (
            str(one["state"]),
            str(one["nexus_type"]),
            _DIFFERENCES.get(one["difference"], str(one["difference"])),
            _cell(one["mine"]),
            _cell(one["service"]),
        )
        for one in found.head(_MOST).to_dict("records")
    ]
    left = len(found) - len(rows)
    more = f'<p class="svc-note">and {left:,} more</p>' if left else ""
    title = f"{counted(len(found), 'difference')} between your register and the service's list"
    return (
        table_html(("State", "Type", "Difference", "~Yours", "~The service's"), rows, title) + more
    )


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return NOTHING if text in {"", "nan", "NaT", "None", "<NA>"} else text
