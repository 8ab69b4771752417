"""The tab "Nexus": a cleanup from the register to the receipt and its undo.

There are five steps from top to bottom; each is a call of `svc_tools.nexus`, and shows it as code.
The register is here.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import ipywidgets as w

from svc_tools import nexus
from svc_tools.show.display import NOTHING, counted, prose
from svc_tools.widgets.nexus_changes import ApplySection, ReceiptSection, WholeStateSection
from svc_tools.widgets.nexus_earlier import LeftOverSection
from svc_tools.widgets.nexus_edit import EditSection
from svc_tools.widgets.nexus_exposure import ExposureSection
from svc_tools.widgets.nexus_plan import PlanSection
from svc_tools.widgets.nexus_section import (
    SHOWN_ROWS,
    Cleanup,
    Section,
    more_html,
    records_html,
)
from svc_tools.widgets.parts import (
    HERE,
    CodeView,
    Entry,
    Form,
    Name,
    as_code,
    button,
    field,
    note,
    set_visible,
    titled_table_html,
)

if TYPE_CHECKING:
    from svc_tools.nexus import Register
    from svc_tools.widgets.nexus_section import Changed
    from svc_tools.widgets.session import Session

_DIFFERENCES = {
    "only_mine": "Only in your register",
    "only_service": "Only on the service",
    "registered_at": "Another day of registration",
    "address": "Another address",
    "notes": "Other notes",
}


class NexusTab:
    """Clean up nexus registrations, with a receipt, and with an undo where the service can add."""

    def __init__(self, session: Session) -> None:
        """Build the sections of the tab, which share one state; nothing is requested yet."""
        self.session = session
        self.cleanup = Cleanup()
        self.edit = EditSection(session, self.cleanup)
        self.register = RegisterSection(session, self.cleanup, self.edit.records)
        self.exposure = ExposureSection(session, self.cleanup)
        self.plan = PlanSection(session, self.cleanup)
        self.apply = ApplySection(session, self.cleanup)
        self.receipt = ReceiptSection(session, self.cleanup)
        self.whole_state = WholeStateSection(session, self.cleanup)
        self.left_over = LeftOverSection(session, self.cleanup, self.plan.use)
        steps = (
            self.left_over,
            self.register,
            self.edit,
            self.exposure,
            self.plan,
            self.apply,
            self.receipt,
            self.whole_state,
        )
        css = (HERE / "nexus.css").read_text(encoding="utf-8")
        looks = w.HTML(f"<style>{css}</style>", layout={"display": "none"})
        self.view = w.VBox([looks, *(step.view for step in steps)])
        self.view.add_class("svc-nexus")
        self.cleanup.on_change(self._changed)
        session.on_change(self._account_changed)

    def opened(self) -> None:
        """Look for what is left over, now that the tab is shown.

        A host may make the panel long before anybody sees it.
        """
        self.left_over.look()

    def _changed(self, what: Changed) -> None:
        if what == "register":
            self.exposure.register_changed()
            self.edit.show()
            self.whole_state.show()
        if what in {"register", "exposure"}:
            self.plan.register_changed()
        if what in {"plan", "ticks"}:
            self.apply.drop("The ticks have changed: preview the requests again.")
        if what == "receipt":
            self.receipt.show()

    def _account_changed(self) -> None:
        self.cleanup.abilities = None
        self.left_over.look_again()
        self.register.forget_service()
        self.edit.start()
        self.edit.show()
        self.plan.show()
        self.apply.drop("The account has changed: preview the requests again.")
        self.receipt.drop()
        self.whole_state.show()


class RegisterSection(Section):
    """Lists the account's records, reads the user's register, and shows where the two differ."""

    def __init__(self, session: Session, cleanup: Cleanup, rows: w.Widget) -> None:
        """Build the section; `rows` are the listed records with their buttons."""
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
        self.code = CodeView()
        self.list_button.on_click(lambda _: self.list())
        self.source.observe(lambda _: self._chosen(), "value")
        self.compose(
            note(
                "The records that the service has for your account, or a register of your own"
                " (CSV or XLSX with state, nexus_type, registered_at, address, notes). With both,"
                " the differences are shown."
            ),
            self.list_button,
            self.file,
            self.upload,
            self.status,
            self._choice,
            self.differences,
            self.records,
            rows,
            self.code,
        )
        cleanup.on_change(lambda what: self._show() if what == "register" else None)
        self._show()
        if session.register is not None:
            self._read(session.register)

    def list(self) -> None:
        """List the service's records."""
        client = self.session.client
        if client is None:
            self.message.show_note("No service is connected: give a key above, or read a file.")
            return
        self.run(
            "Listing the records…",
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
        """Drop the list of the former account: another one is used from now on."""
        self.cancel()
        if self.cleanup.listed is not None:
            self.cleanup.listed = None
            self.message.show_note("The account has changed: list its records again.")
            self.cleanup.changed("register")

    def _read(self, source: object) -> None:
        self.run(
            "Reading the register…",
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
        set_visible(self._choice, mine is not None and listed is not None)
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
    count = len(register.records)
    summary = escape(
        f"{counted(count, 'record')} in {counted(len(register.states), 'state')}, from {where}."
    )
    if not count or not mine:  # each of the service's has a row with its button
        return f"<p>{summary}</p>"
    table = records_html(register.records[:SHOWN_ROWS], "The register") + more_html(count)
    return f'<details class="svc-details"><summary>{summary}</summary>{table}</details>'


def _differences(mine: Register, listed: Register) -> str:
    """The differences between the user's register and the service's list, as an HTML table."""
    found = nexus.differences(mine, listed)
    if found.empty:
        return "<p>Your register and the service's list hold the same records.</p>"
    rows = [
        (
            str(row["state"]),
            str(row["nexus_type"]),
            _DIFFERENCES.get(row["difference"], str(row["difference"])),
            _cell(row["mine"]),
            _cell(row["service"]),
        )
        for row in found.head(SHOWN_ROWS).to_dict("records")
    ]
    title = f"{counted(len(found), 'difference')} between your register and the service's list"
    heads = ("State", "Type", "Difference", prose("Yours"), prose("The service's"))
    return titled_table_html(heads, rows, title) + more_html(len(found))


def _cell(value: object) -> str:
    text = "" if value is None else str(value)
    return NOTHING if text in {"", "nan", "NaT", "None", "<NA>"} else text
