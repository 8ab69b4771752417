"""A part of step 1 of the Nexus tab: the service's records, one of them added or changed."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from svc_tools import nexus
from svc_tools.nexus.register import DETAILS, NEXUS_TYPES
from svc_tools.nexus.service import compared
from svc_tools.show.display import NOTHING, prose
from svc_tools.tables.states import STATES
from svc_tools.widgets.nexus_changes import (
    ChangeSection,
    PreviewedChange,
    confirmation_of,
    paragraphs,
    requests_html,
)
from svc_tools.widgets.nexus_plan import PAGE, page_of
from svc_tools.widgets.nexus_section import box_html
from svc_tools.widgets.parts import (
    Disclosure,
    Name,
    as_code,
    button,
    field,
    grid,
    line,
    note,
    set_visible,
    titled_table_html,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_sdk import Svc
    from svc_tools.nexus import Receipt, Registration
    from svc_tools.widgets.nexus_section import Cleanup
    from svc_tools.widgets.session import Session

_ADD, _CHANGE = "Add a registration", "Change a registration"
_WORDS = {"registered_at": "Registered at", "address": "Address", "notes": "Notes"}


class EditSection(ChangeSection):
    """Adds a registration to the service, or changes one of those it lists.

    Attributes:
        records: the service's records, a page at a time, each with its button: shown in step 1.
        state, nexus_type, registered_at, address, notes: the fields of the record.
        record: the record that is changed; `None` where one is added.
    """

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        """Build the list of records and the form for one, empty: to add a registration."""
        preview = button("Preview the request")
        super().__init__(session, cleanup, "", preview=preview, kind="primary")
        self.record: Registration | None = None
        self._page = 0
        self.rows = RecordRows(self.change)
        self.back_button = button("Previous page", kind="plain")
        self.next_button = button("Next page", kind="plain")
        self.where = w.HTML()
        self.state = w.Dropdown(
            options=[
                ("Choose a state", ""),
                *((f"{STATES[code]} ({code})", code) for code in STATES),
            ],
            description="State",
        )
        self.nexus_type = w.Dropdown(
            options=[
                ("Choose a type", ""),
                *((name.capitalize(), name) for name in NEXUS_TYPES),
            ],
            description="Type",
        )
        self.registered_at = w.DatePicker(description="Registered at (optional)")
        self.address = w.Textarea(description="Address (optional)", rows=2)
        self.notes = w.Textarea(description="Notes (optional)", rows=2)
        self.subject = w.HTML()
        self.new_button = button("Add a registration instead", kind="plain")
        self.back_button.on_click(lambda _: self._turn(-1))
        self.next_button.on_click(lambda _: self._turn(1))
        self.new_button.on_click(lambda _: self.start())
        for widget in self._fields.values():
            widget.observe(lambda _: self.drop("A field has changed: preview again."), "value")
        texts = (self.address, self.notes)
        self.records = w.VBox(
            [self.rows.view, line(self.back_button, self.where, self.next_button)]
        )
        inside = (
            self.subject,
            grid(
                field(self.state),
                field(self.nexus_type, "A place there, sales, or a marketplace."),
                field(self.registered_at, "The day from which it counts."),
            ),
            *(field(widget) for widget in texts),
            note("Nothing is sent before you have seen the request and confirmed it."),
            line(self.preview_button, self.new_button),
            *self.steps,
        )
        self.opening = Disclosure(_ADD, w.VBox(inside))
        self.compose(self.opening.view)
        self.start()
        self.show()

    @property
    def _fields(self) -> dict[str, Any]:
        names = ("state", "nexus_type", *DETAILS)
        return {name: getattr(self, name) for name in names}

    @property
    def _values(self) -> dict[str, Any]:
        """The fields as they are given; "" for an empty one."""
        return {
            name: widget.value.strip() if isinstance(widget.value, str) else widget.value or ""
            for name, widget in self._fields.items()
        }

    def show(self) -> None:
        """Show the records that the service lists now."""
        listed = self.cleanup.listed
        records = () if listed is None else listed.records
        self._page, first, last = page_of(self._page, len(records), PAGE)
        self.rows.show(records[first:last])
        self.where.value = f"Records {first + 1:,} to {last:,} of {len(records):,}"
        self.back_button.disabled, self.next_button.disabled = first == 0, last >= len(records)
        for widget in (self.back_button, self.where, self.next_button):
            set_visible(widget, len(records) > PAGE)
        set_visible(self.records, bool(records) and self.cleanup.register is listed)
        if self.record is not None and self.record not in records:
            self.start()

    def start(self) -> None:
        """Begin with an empty record, to be added."""
        self._fill(None)

    def change(self, record: Registration) -> None:
        """Begin with a record of the service, to be changed."""
        self._fill(record)
        self.opening.reveal(opened=True)
        self.registered_at.focus()

    def _fill(self, record: Registration | None) -> None:
        self.record = record
        for name, widget in self._fields.items():
            given = None if record is None else getattr(record, name)
            widget.value = given if name == "registered_at" else given or ""
        title = _ADD if record is None else f"{_CHANGE}: {record.state} {record.nexus_type}"
        self.subject.value = f"<h4>{escape(title)}</h4>"
        set_visible(self.new_button, record is not None)
        self.drop()
        self.message.clear()

    def _turn(self, pages: int) -> None:
        self._page += pages
        self.show()

    def show_preview(self) -> None:
        """Preview the requests: only reads."""
        values, record = self._values, self.record
        if not (values["state"] and values["nexus_type"]):
            self.message.show_note("Choose the state and the type.")
            return
        call, arguments = _call(record, values)
        send = getattr(nexus, call)

        def change(client: Svc, *, dry_run: bool) -> Receipt:
            shown = None if dry_run else self._report
            receipt: Receipt = send(
                client, **arguments, dry_run=dry_run, on_progress=shown, stop=self._stop
            )
            return receipt

        self.run_preview(
            lambda client: change(client, dry_run=True),
            lambda client, dry: self._previewed(client, dry, change, (call, arguments)),
        )

    def _previewed(
        self,
        client: Svc,
        dry: Receipt,
        change: Callable[..., Receipt],
        call: tuple[str, dict[str, Any]],
    ) -> None:
        """Show the request and what it would change, and offer it, unless the list is out of date.

        Args:
            client: the client that the preview used.
            dry: the receipt of the dry run.
            change: sends the change when it is called with `dry_run=False`.
            call: the name and the arguments of the call, for the code that is shown.
        """
        if self.record is not None and _is_outdated(self.record, dry):
            self.message.show_note(
                "The service has another record by now than is shown here: list the records again,"
                " then change it."
            )
            return
        self.preview.value = _differences_html(self.record, self._values) + _planned_html(dry)
        self.code.show(
            "from svc_tools import nexus\n\nreceipt = "
            + as_code(f"nexus.{call[0]}", Name("client"), **call[1], dry_run=False)
        )
        planned = [item for item in dry.items if item.status == "planned"]
        if not planned:
            self.message.show_note(" ".join(item.message for item in dry.items))
            return
        state = planned[0].state
        act = "add {}" if self.record is None else "change {}"
        label = "Add the registration" if self.record is None else "Change the registration"

        def send(_typed: str) -> Receipt:
            return change(client, dry_run=False)

        message = f"{act.format('the record')}…".capitalize()
        self.offer(
            PreviewedChange(client, send, message, len(dry.items)),
            confirmation_of([state], act),
            label,
        )

    def _sent(self, client: Svc, receipt: Receipt, listed: nexus.Register | None) -> None:
        super()._sent(client, receipt, listed)
        if receipt.finished:
            sentence = self.message.html
            self.start()
            self.message.html = sentence


def _call(record: Registration | None, values: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The function of `nexus`, and its arguments: of an edit only what has changed."""
    if record is None:
        return "add_registration", {name: value for name, value in values.items() if value}
    former = dict(zip(("state", "nexus_type", *DETAILS), record.texts, strict=True))
    changed = {name: values[name] for name in DETAILS if str(values[name]) != former[name].strip()}
    moved = {
        f"to_{name.removeprefix('nexus_')}": values[name]
        for name in ("state", "nexus_type")
        if values[name] != former[name]
    }
    key = {"state": record.state, "nexus_type": record.nexus_type}
    return "edit_registration", key | moved | changed


def _is_outdated(record: Registration, dry: Receipt) -> bool:
    """Whether the record that would be changed is another one by now than was listed."""
    shown = dict(zip(DETAILS, record.texts[2:], strict=True))
    stored = [former for item in dry.items if item.key == record.key for former in item.before]
    return any(
        compared(former, name) != compared(shown, name) for former in stored for name in DETAILS
    )


def _differences_html(record: Registration | None, values: dict[str, Any]) -> str:
    """What a change changes, field by field."""
    if record is None:
        return ""
    names = {"state": "State", "nexus_type": "Type", **_WORDS}
    former = dict(zip(names, record.texts, strict=True))
    rows = [
        (words, former[name] or NOTHING, str(values[name]) or NOTHING)
        for name, words in names.items()
        if str(values[name]) != former[name].strip()
    ]
    return (
        titled_table_html(("Field", prose("Now"), prose("Then")), rows, "What changes")
        if rows
        else ""
    )


def _planned_html(dry: Receipt) -> str:
    left_out = [(item.named, item.message) for item in dry.items if item.status != "planned"]
    table = titled_table_html(("Record", prose("Why")), left_out, "Not sent") if left_out else ""
    undo = f"<p><strong>{escape(dry.restore_note)}</strong></p>{paragraphs(dry.notes)}"
    requests = requests_html(dry.requests) if dry.requests else ""
    return requests + table + box_html(undo, trouble=not dry.can_restore)


class RecordRows:
    """A page of records, each with its button; the widgets of a page are made once and reused."""

    def __init__(self, act: Callable[[Registration], object]) -> None:
        self._act = act
        self.rows: list[RecordRow] = []
        self.view = w.VBox()
        self.view.add_class("svc-plan-rows")

    def show(self, records: tuple[Registration, ...]) -> None:
        """Show these records, at most a page of them."""
        if len(self.rows) < len(records):
            self.rows += [RecordRow(self._act) for _ in range(len(records) - len(self.rows))]
            self.view.children = [row.view for row in self.rows]
        for place, row in enumerate(self.rows):
            row.fill(records[place] if place < len(records) else None)


class RecordRow:
    """The widgets of one record: its facts, and the button that changes it."""

    def __init__(self, act: Callable[[Registration], object]) -> None:
        self.record: Registration | None = None
        self.button = button("", kind="plain")
        self.facts = w.HTML()
        self.facts.add_class("svc-plan-facts")
        self.view = w.Box([self.button, self.facts])
        self.view.add_class("svc-plan-row")
        self.view.add_class("svc-record-row")
        self._act = act
        self.button.on_click(lambda _: self._clicked())

    def _clicked(self) -> None:
        if self.record is not None:
            self._act(self.record)

    def fill(self, record: Registration | None) -> None:
        """Show a record, or nothing."""
        self.record = record
        set_visible(self.view, record is not None)
        if record is None:
            return
        self.button.description = f"Edit {record.state} {record.nexus_type}"
        since = f"registered {record.registered_at}" if record.registered_at else "no day"
        facts = [since, record.address or "no address", record.notes or ""]
        text = escape(" \N{MIDDLE DOT} ".join(fact for fact in facts if fact))
        self.facts.value = f'<p class="svc-plan-record">{text}</p>'
