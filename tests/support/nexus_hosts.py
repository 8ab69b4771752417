"""One nexus journey in every host: Python, the command, the panel, the sheet, the task pane.

Each shows what it would send, sends it once that is confirmed in its own way, and gives what it
shows as text, in words alone. What a change did is in its receipt, which is the same for all.
"""

from __future__ import annotations

import contextlib
import re
import signal
import threading
from datetime import date
from html import unescape

import httpx
from typer.testing import CliRunner

from support.com_stand_ins import Excel
from support.faults import KEY
from support.nexus import click, confirm, edited, fill, message, plan_of, planned
from support.nexus_sheet import HEAD, nexus_sheet, rows, type_below
from support.spreadsheets import desk_of, local_server
from svc_tools.cli.app import app
from svc_tools.excel import desk as desks
from svc_tools.nexus import (
    add_registration,
    apply_plan,
    edit_registration,
    list_register,
    read_plan,
    read_receipt,
    remove_state,
    restore,
)
from svc_tools.nexus.notices import BEFORE_REMOVING
from svc_tools.widgets.nexus_tab import NexusTab
from svc_tools.widgets.session import Session


def words(*texts):
    """Text of a terminal, a sheet or a page as words: no markup, no ends of lines."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", "\n".join(texts))).split())


class Host:
    """What is the same in all: where the receipts are.

    Attributes:
        notices: what is shown before records are removed.
    """

    notices = tuple(map(words, BEFORE_REMOVING))

    def __init__(self, client, folder, _request):
        self.client, self.folder = client, folder

    @property
    def receipts(self):
        """The files of all receipts, the one that was written last at the end."""
        found = (self.folder / "receipts").glob("*.jsonl")
        return sorted(found, key=lambda path: path.stat().st_mtime_ns)

    @property
    def receipt(self):
        """The receipt that was written last."""
        return read_receipt(self.receipts[-1])


class Python(Host):
    """The functions of `svc_tools.nexus`."""

    notices = ()

    def __init__(self, *given):
        super().__init__(*given)
        self._plan, self._stop = None, threading.Event()

    def mark(self, *keys):
        """Mark these records and no others, in a plan of what the service lists."""
        if self._plan is None:
            self._plan = plan_of(self.client, records=list_register(self.client))
        self._plan = self._plan.untick().tick(*keys)

    def preview(self):
        """What is shown of the marks before anything is sent."""
        return self.apply(confirmed=False)

    def apply(self, *, confirmed=True):
        """Remove what is marked."""
        self._stop.clear()
        stop = {"stop": self._stop} if confirmed else {}
        return self._shown(apply_plan, self._plan, self.client, dry_run=not confirmed, **stop)

    def stop(self):
        """Stop the removal that is under way."""
        self._stop.set()

    def restore(self, *, confirmed=True):
        """Undo the receipt that was written last."""
        return self._shown(restore, self.receipt, self.client, dry_run=not confirmed)

    def preview_state(self, state):
        """What is shown of the removal of a whole state."""
        return self._shown(remove_state, self.client, state, typed=state)

    def remove_state(self, state, *, confirmed=True):
        """Remove all records of a state; `confirmed` by its code."""
        typed = state if confirmed else ""
        return self._shown(remove_state, self.client, state, typed=typed, dry_run=False)

    def add(self, record, *, confirmed=True):
        """Add a record."""
        return self._shown(add_registration, self.client, **record, dry_run=not confirmed)

    def edit(self, state, nexus_type, *, confirmed=True, **fields):
        """Change the record of a state and type."""
        given = {"nexus_type": nexus_type, **fields, "dry_run": not confirmed}
        return self._shown(edit_registration, self.client, state, **given)

    @staticmethod
    def _shown(change, *arguments, **options):
        try:
            receipt = change(*arguments, **options)
        except ValueError as error:
            return words(str(error))
        notes = [receipt.restore_note] if receipt.dry_run else []
        return words(str(receipt), *(request.text for request in receipt.requests), *notes)


class Command(Host):
    """`svc-tools nexus` in this process: most of a command's time is its start."""

    def __init__(self, *given):
        super().__init__(*given)
        self._plan = self.folder / "plan.csv"

    def _run(self, *arguments, confirmed=False):
        environment = {"SVC_API_KEY": KEY, "SVC_BASE_URL": self.client.base_url, "COLUMNS": "80"}
        yes = ["--yes"] * confirmed
        done = CliRunner().invoke(app, ["nexus", *map(str, arguments), *yes], env=environment)
        return words(done.output)

    def mark(self, *keys):
        if not self._plan.exists():
            self._run("plan", "-o", self._plan)
        read_plan(self._plan).untick().tick(*keys).write(self._plan)

    def preview(self):
        return self._run("apply", self._plan)

    def apply(self, *, confirmed=True):
        return self._run("apply", self._plan, confirmed=confirmed)

    @staticmethod
    def stop():
        signal.raise_signal(signal.SIGINT)

    def restore(self, *, confirmed=True):
        return self._run("restore", self.receipt.path.name, confirmed=confirmed)

    def remove_state(self, state, *, confirmed=True):
        typed = ["--typed", state] if confirmed else []
        return self._run("remove-state", state, *typed, confirmed=True)

    def preview_state(self, state):
        return self._run("remove-state", state)

    def add(self, record, *, confirmed=True):
        return self._run("add", record["state"], *_options(record), confirmed=confirmed)

    def edit(self, state, nexus_type, *, confirmed=True, **fields):
        given = _options({"nexus_type": nexus_type, **fields})
        return self._run("edit", state, *given, confirmed=confirmed)


def _options(record):
    names = {"nexus_type": "type"}
    return [
        word
        for name, value in record.items()
        if name != "state"
        for word in (f"--{names.get(name, name).replace('_', '-')}", value)
    ]


class Panel(Host):
    """The Nexus tab, by its buttons and fields."""

    def __init__(self, *given):
        super().__init__(*given)
        self.tab = NexusTab(Session(self.client, folder=self.folder / "work"))

    def mark(self, *keys):
        if self.tab.cleanup.plan is None:
            planned(self.tab)
        for shown in self.tab.plan.rows.rows:
            if shown.row is not None:
                shown.remove.value = shown.row.key in keys

    def preview(self):
        return self._previewed(self.tab.apply)

    def apply(self, *, confirmed=True):
        return self._sent(self.tab.apply, self.preview(), confirmed=confirmed)

    def stop(self):
        self.tab.apply.stop_button.click()

    def restore(self, *, confirmed=True):
        shown = self._previewed(self.tab.receipt)
        return self._sent(self.tab.receipt, shown, confirmed=confirmed)

    def remove_state(self, state, *, confirmed=True):
        shown = self.preview_state(state)
        return self._sent(self.tab.whole_state, shown, confirmed=confirmed)

    def preview_state(self, state):
        click(self.tab, self.tab.register.list_button)
        self.tab.whole_state.state.value = state
        return self._previewed(self.tab.whole_state)

    def add(self, record, *, confirmed=True):
        self.tab.edit.start()
        return self._filled_in(record, confirmed=confirmed)

    def edit(self, state, nexus_type, *, confirmed=True, **fields):
        edited(self.tab, f"{state} {nexus_type}")
        return self._filled_in(fields, confirmed=confirmed)

    def _filled_in(self, fields, *, confirmed):
        day = fields.get("registered_at")
        days = {"registered_at": date.fromisoformat(day)} if day else {}
        fill(self.tab, **{**fields, **days})
        section = self.tab.edit
        shown = words(section.preview.value, message(section))
        return self._sent(section, shown, confirmed=confirmed)

    def _previewed(self, section):
        click(self.tab, section.preview_button)
        return words(section.preview.value, message(section))

    def _sent(self, section, shown, *, confirmed):
        box = section.confirm
        if not box.expected:
            return shown
        confirm(self.tab, box, box.expected if confirmed else "no")
        return words(self.tab.receipt.result.value, message(section)) if confirmed else shown


class Sheet(Host):
    """The macros of the workbook, as Excel runs them over COM."""

    def __init__(self, client, folder, request):
        super().__init__(client, folder, request)
        request.getfixturevalue("monkeypatch").setattr(desks, "_desks", [desk_of(client)])
        self.excel = Excel(request.getfixturevalue("com"))
        self.sheet = nexus_sheet(self.excel.book)

    def mark(self, *keys):
        if not rows(self.sheet):
            self.excel.macro("SVC_NEXUS_LIST")
        for at, row in enumerate(rows(self.sheet), HEAD + 1):
            self.sheet.type((at, 1), "x" if (row["state"], row["type"]) in keys else None)

    def preview(self):
        return words(self.excel.macro("SVC_NEXUS_PREVIEW"))

    def apply(self, *, confirmed=True):
        return self._sent("SVC_NEXUS_REMOVE", confirmed=confirmed)

    def restore(self, *, confirmed=True):
        at = [row["receipt"] for row in rows(self.sheet)].index(str(self.receipts[-1]))
        self.excel.app.Selection = self.sheet.Range(f"B{HEAD + 1 + at}")
        return self._sent("SVC_NEXUS_RESTORE", confirmed=confirmed)

    def add(self, record, *, confirmed=True):
        key = (record["state"], record["nexus_type"])
        for at, row in enumerate(rows(self.sheet), HEAD + 1):
            if (row["state"], row["type"]) == key:
                self.sheet.type((at, 1), "add")
                break
        else:
            names = ("state", "nexus_type", "registered_at", "address", "notes")
            type_below(self.sheet, *(record.get(name) for name in names))
        return self._sent("SVC_NEXUS_ADD", confirmed=confirmed)

    def _sent(self, macro, *, confirmed):
        """Press "yes", and type the number that is asked for, or another one."""
        app = self.excel.app
        app.pressed, app.typed, told = ["yes"], _Typed(app, confirmed=confirmed), len(app.told)
        self.excel.macro(macro)
        return words(*app.told[told:])


class _Typed:
    """What is typed into the next question: the number that it asks for, or another one."""

    def __init__(self, app, *, confirmed):
        self._app, self._confirmed = app, confirmed

    def pop(self, _):
        number = self._app.asked[-1].rpartition(": ")[2]
        return number if self._confirmed else f"{number}0"


class Pane(Host):
    """The local server of the task pane, as its page calls it; it only adds."""

    def __init__(self, client, folder, request):
        super().__init__(client, folder, request)
        stack = contextlib.ExitStack()
        request.addfinalizer(stack.close)
        self._server = stack.enter_context(local_server(desk_of(client)))

    def add(self, record, *, confirmed=True):
        shown = self._post(record)
        if not (confirmed and shown.get("confirm")):
            return _said(shown)
        return _said(self._post(record, typed=record["state"]))

    def _post(self, record, **more):
        sent = {"headers": self._server.headers, "json": {"record": record, **more}}
        address = f"{self._server.origin}/excel/nexus"
        return httpx.post(address, **sent, trust_env=False, timeout=60).json()


def _said(shown):
    problem = shown.get("problem", {})
    texts = (shown.get("message", ""), *shown.get("requests", ()), shown.get("notes", ""))
    return words(*texts, problem.get("text", ""))


REMOVING = [Python, Command, Panel, Sheet]
ADDING = [*REMOVING, Pane]
EDITING = STATES = STOPPING = SETTLING = [Python, Command, Panel]
"""The sheet changes no record and clears no state, and Excel waits while a macro runs."""
