"""Steps 4 and 5 of the Nexus tab: what changes records, and the receipt.

Each change has the same shape (`ChangeSection`): a preview that only reads, a typed confirmation,
the requests, the receipt. `ApplySection` removes what is ticked in the plan, `ReceiptSection` shows
the receipt and undoes it, `WholeStateSection` removes every type of one state.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Literal, TypeVar

import ipywidgets as w

from svc_sdk import SvcError
from svc_tools import nexus
from svc_tools.nexus.notices import ALL_TYPES_NOTE, BEFORE_REMOVING
from svc_tools.nexus.receipt import EDIT_KINDS
from svc_tools.show.display import NOTHING, counted, number, prose
from svc_tools.tables.states import STATES
from svc_tools.widgets.nexus_section import (
    SHOWN_ROWS,
    Section,
    box_html,
    more_html,
    records_html,
)
from svc_tools.widgets.parts import (
    CodeView,
    Disclosure,
    Name,
    as_code,
    button,
    field,
    line,
    note,
    set_visible,
    titled_table_html,
)
from svc_tools.widgets.transfers import DownloadButton

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from svc_sdk import Svc
    from svc_tools.nexus import Plan, PlannedRequest, Receipt, ReceiptItem, Register
    from svc_tools.show.display import Head
    from svc_tools.widgets.nexus_section import Cleanup
    from svc_tools.widgets.session import Session

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The text that must be typed before anything is sent, and the sentence that requests it."""

    expected: str
    prompt: str

    def fits(self, typed: str) -> bool:
        """Whether that was typed, regardless of case and surrounding blanks."""
        return bool(self.expected) and typed.strip().upper() == self.expected


def confirmation_of(states: Iterable[str], act: str) -> Confirmation:
    """What to type for records of these states: the one state, or the number of records.

    Args:
        states: the state of each record.
        act: what happens to them, such as "remove {}".
    """
    each = list(states)
    distinct = sorted(set(each))
    if not each:
        return Confirmation("", "")
    if len(distinct) == 1:
        state, what = distinct[0], act.format(counted(len(each), "record"))
        return Confirmation(state, f"Type {state}, the state, to {what}.")
    where = counted(len(distinct), "state")
    if len(distinct) <= 3:  # noqa: PLR2004 - more would make the sentence long
        where = f"{', '.join(distinct[:-1])} and {distinct[-1]}"
    prompt = f"Type {len(each)}, the number of records, to {act.format('them')} in {where}."
    return Confirmation(str(len(each)), prompt)


class ConfirmBox:
    """A text to type, and a button that acts once when the text fits."""

    def __init__(self, act: Callable[[str], object], kind: Literal["primary", "danger"]) -> None:
        self._act = act
        self._confirmation = Confirmation("", "")
        self.typed = w.Text(description="Confirm")
        self.button = button("Confirm", kind=kind)
        self.view = w.VBox([field(self.typed), self.button])
        self.view.add_class("svc-confirm")
        self.view.add_class(f"svc-confirm-{kind}")
        # letter by letter, else the button would stay disabled until the field is left
        self.typed.continuous_update = True
        self.typed.observe(lambda _: self._check(), "value")
        self.button.on_click(lambda _: self._clicked())
        self.rest()

    @property
    def expected(self) -> str:
        """What must be typed; "" while nothing is to be confirmed."""
        return self._confirmation.expected

    def request(self, confirmation: Confirmation, label: str) -> None:
        """Request a confirmation; `label` is the label of the button."""
        self._confirmation = confirmation
        self.typed.description = confirmation.prompt
        self.typed.value = ""
        self.button.description = label
        set_visible(self.view, visible=True)
        self._check()

    def rest(self) -> None:
        """Request nothing, and withdraw what was requested."""
        self._confirmation = Confirmation("", "")
        self.typed.value = ""
        self._check()
        set_visible(self.view, visible=False)

    def _check(self) -> None:
        self.button.disabled = not self._confirmation.fits(self.typed.value)

    def _clicked(self) -> None:
        typed = self.typed.value
        if self._confirmation.fits(typed):
            self.rest()  # so that a second click finds nothing to confirm
            self._act(typed.strip())


@dataclass(frozen=True, slots=True)
class PreviewedChange:
    """A change that was previewed and can be confirmed."""

    client: Svc
    send: Callable[[str], Receipt]
    message: str
    total: int


class ChangeSection(Section):
    """A step that changes records. A preview is valid until `drop`.

    Attributes:
        preview_button, preview: what would be sent and what will be lost; only reads.
        confirm: the text to type, and the button that sends.
        running, progress, stop_button: shown while requests are sent; the button stops after the
            request under way.
        code: the same in Python.
    """

    def __init__(
        self,
        session: Session,
        cleanup: Cleanup,
        title: str,
        *,
        preview: w.Button,
        kind: Literal["primary", "danger"] = "danger",
    ) -> None:
        """Build the parts that every change has; a subclass arranges them with its own.

        Args:
            session: the session.
            cleanup: the state of the tab.
            title: the heading of the section.
            preview: the button that previews the change.
            kind: the look of the button that confirms.
        """
        super().__init__(session, cleanup, title)
        self._change: PreviewedChange | None = None
        self._version = 0
        self._stop = threading.Event()
        self.preview_button = preview
        self.preview = w.HTML()
        self.confirm = ConfirmBox(self._confirmed, kind)
        self.progress = w.IntProgress()
        self.progress.add_class("svc-progress-bar")
        self.stop_button = button("Stop after this request", kind="plain")
        self.running = line(self.progress, self.stop_button)
        self.code = CodeView()
        self.preview_button.on_click(lambda _: self.show_preview())
        self.stop_button.on_click(lambda _: self._end_early())
        set_visible(self.running, visible=False)
        self.steps = (self.preview, self.confirm.view, self.running, self.status, self.code)

    def show_preview(self) -> None:
        """Preview the requests."""
        raise NotImplementedError

    def drop(self, why: str = "") -> None:
        """Drop the preview: it is outdated; `why` is shown where there was one."""
        had = self._change is not None
        self._version += 1
        self._change = None
        self.preview.value = ""
        self.confirm.rest()
        if had and why:
            self.message.show_note(why)

    def run_preview(self, work: Callable[[Svc], _T], show: Callable[[Svc, _T], object]) -> None:
        """Read in the background, then `show` it, unless something has changed meanwhile."""
        client = self.connected_client()
        if client is None or self.busy:
            return
        self.drop()
        version = self._version

        def done(found: _T) -> None:
            if version == self._version:
                show(client, found)
            else:
                self.message.show_note("Something has changed meanwhile: preview again.")

        self.run("Reading the service's records…", lambda: work(client), done)

    def offer(self, change: PreviewedChange, confirmation: Confirmation, label: str) -> None:
        """Request the confirmation of a change."""
        self._change = change
        self.confirm.request(confirmation, label)

    def _confirmed(self, typed: str) -> None:
        """Send the previewed change in the background, and list the register again after it."""
        change = self._change
        if change is None or self.busy:
            return
        self._stop.clear()
        self.stop_button.disabled = False
        self._moved(0, change.total)
        set_visible(self.running, bool(change.total))

        def work() -> tuple[Receipt, Register | None]:
            return change.send(typed), _list_after_change(change.client)

        self.run(
            change.message,
            work,
            lambda result: self._sent(change.client, *result),
            always=lambda: set_visible(self.running, visible=False),
            vital=True,
        )

    def _report(self, item: ReceiptItem, done: int, total: int) -> None:
        """Report progress; called in the thread of the work."""
        self.session.background.deliver(self._moved, done, total, item)

    def _moved(self, done: int, total: int, item: ReceiptItem | None = None) -> None:
        self.progress.max, self.progress.value = max(1, total), done
        if item is not None:
            status = item.status.replace("_", " ")
            self.message.show_note(f"{done} of {total}: {item.state} {item.nexus_type}: {status}.")

    def _end_early(self) -> None:
        self._stop.set()
        self.stop_button.disabled = True
        self.message.show_note("It stops after the request under way.")

    def _sent(self, client: Svc, receipt: Receipt, listed: Register | None) -> None:
        self.drop()
        self.cleanup.show_receipt(receipt)
        if listed is not None and client is self.session.client:  # else another account is in use
            self.cleanup.listed = listed
            self.cleanup.changed("register")
        self.message.show_note(f"{receipt.sentence} The receipt is under 5.")


def _list_or_none(client: Svc) -> Register | None:
    """The service's records; `None` where it does not list them.

    Raises:
        SvcError: the call failed.
    """
    try:
        return nexus.list_register(client)
    except nexus.NotListedError:
        return None


def _list_after_change(client: Svc) -> Register | None:
    """The service's records after a change; `None` where it fails or does not list them."""
    try:
        return _list_or_none(client)
    except SvcError:
        return None


class ApplySection(ChangeSection):
    """Previews the requests of the ticked rows, and sends them once they are confirmed."""

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        super().__init__(
            session, cleanup, "4. Preview, confirm, remove", preview=button("Preview the requests")
        )
        self.compose(
            note("Nothing is removed before you have seen every request and confirmed it."),
            self.preview_button,
            *self.steps,
        )
        self.drop()

    def drop(self, why: str = "") -> None:
        """Drop the preview, and enable it where something is ticked."""
        super().drop(why)
        plan = self.cleanup.plan
        self.preview_button.disabled = plan is None or not plan.ticked
        self.code.show("")

    def show_preview(self) -> None:
        """Preview the requests: only reads."""
        plan = self.cleanup.plan
        if plan is None or not plan.ticked:
            self.message.show_note("Nothing is ticked.")
            return
        self.run_preview(
            lambda client: nexus.apply_plan(plan, client, dry_run=True),
            lambda client, dry: self._previewed(plan, client, dry),
        )

    def _previewed(self, plan: Plan, client: Svc, dry: Receipt) -> None:
        """Show the requests of a plan, and offer to send them, or to settle unknown results."""
        self.preview.value = _preview_html(plan, dry)
        self.code.show(_code(dry_run=True) + "\n" + _code(dry_run=False))

        def send(_typed: str) -> Receipt:
            return nexus.apply_plan(
                plan, client, dry_run=False, on_progress=self._report, stop=self._stop
            )

        message = "Removing… Each request is written to the receipt before it is sent."
        change = PreviewedChange(client, send, message, len(dry.items))
        # a state once for each record that is expected to go
        states = [
            item.state
            for item in dry.items
            if item.status == "planned"
            for _ in range(max(1, item.expected or 1))
        ]
        unsettled = self._unsettled(plan, dry)
        if states:
            label = f"Remove {counted(len(states), 'record')}"
            self.offer(change, confirmation_of(states, "remove {}"), label)
        elif unsettled:
            # nothing is left to send: the same call again only settles what is unknown
            label = f"Settle {counted(len(unsettled), 'record')}"
            self.offer(change, confirmation_of(unsettled, "settle {}"), label)
        else:
            self.message.show_note("There is nothing to send.")

    def _unsettled(self, plan: Plan, dry: Receipt) -> list[str]:
        """The state of each record that the receipt of this plan does not know, or not any more."""
        receipt = self.cleanup.receipt
        if receipt is None or receipt.plan_id != plan.plan_id or receipt.kind != "apply":
            return []
        done = {item.key for item in dry.items if item.outcome == "done"}
        return [
            item.state
            for item in receipt.items
            if item.outcome == "unknown" or (item.outcome == "not_done" and item.key in done)
        ]


def _code(*, dry_run: bool) -> str:
    return "receipt = " + as_code("nexus.apply_plan", Name("plan"), Name("client"), dry_run=dry_run)


def _preview_html(plan: Plan, dry: Receipt) -> str:
    removed = [row for row in plan.ticked if row.action == "remove"]
    left_out = [
        (item.state, item.nexus_type or "all types", item.message)
        for item in dry.items
        if item.status != "planned"
    ]
    parts = [requests_html(dry.requests)]
    if removed:
        parts.append(records_html(removed, "What will be removed"))
    if left_out:
        parts.append(
            titled_table_html(("State", "Type", prose("Why")), left_out, "Ticked, but not sent")
        )
    return "".join([*parts, _undo_html(dry)])


def requests_html(requests: Sequence[PlannedRequest]) -> str:
    """The requests as they are sent, their body if any, and their purpose."""
    with_body = any(request.body is not None for request in requests)
    with_count = any(request.expected is not None for request in requests)
    heads: list[Head] = [
        "Request",
        *[prose("Body")] * with_body,
        *[number("Records")] * with_count,
        prose("Purpose"),
    ]
    rows = []
    for request in requests:
        row: list[object] = [request.line]
        if with_body:
            row.append(
                NOTHING if request.body is None else json.dumps(request.body, ensure_ascii=False)
            )
        if with_count:
            row.append(NOTHING if request.expected is None else request.expected)
        rows.append([*row, request.purpose])
    return titled_table_html(heads, rows, "The requests, as they are sent")


def _undo_html(dry: Receipt) -> str:
    """Whether a removal can be undone, and what to know before it."""
    undo = f"<p><strong>{escape(dry.restore_note)}</strong></p>"
    return box_html(undo + paragraphs(dry.notes, BEFORE_REMOVING), trouble=not dry.can_restore)


def paragraphs(*sentences: Iterable[str]) -> str:
    """Each sentence as a paragraph; escaped."""
    return "".join(f"<p>{escape(sentence)}</p>" for some in sentences for sentence in some)


class WholeStateSection(ChangeSection):
    """Removes all types of a state in one request, with its own confirmation."""

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        super().__init__(
            session,
            cleanup,
            "Every record of one state",
            preview=button("Preview the removal of the state", "plain"),
        )
        self.state = w.Dropdown(options=[("Choose a state", "")], description="State to clear")
        self.state.observe(lambda _: self.drop(), "value")
        inside = [note(ALL_TYPES_NOTE), field(self.state), self.preview_button, *self.steps]
        self.opening = Disclosure("Remove every record of one state", w.VBox(inside))
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
        if not state:
            self.message.show_note("Choose a state.")
            return
        self.run_preview(
            lambda client: (
                nexus.remove_state(client, state, typed=state, dry_run=True),
                _list_or_none(client),
            ),
            lambda client, found: self._previewed(state, client, *found),
        )

    def _previewed(self, state: str, client: Svc, dry: Receipt, listed: Register | None) -> None:
        """Show what one request would remove in a state, and offer it for confirmation."""
        what = "<p>This service does not list its records: it is unknown which will go.</p>"
        if listed is not None:
            records = (record for record in listed.records if record.state == state)
            what = records_html(records, "What will be removed, with one request")
        self.preview.value = (
            f"{what}<p>The request: <code>DELETE /v1/portability/nexus/{escape(state)}</code>,"
            f" without a type.</p>{_undo_html(dry)}"
        )
        self.code.show(
            "receipt = "
            + as_code("nexus.remove_state", Name("client"), state, typed=state, dry_run=False)
        )
        if not any(item.status == "planned" for item in dry.items):
            self.message.show_note(" ".join(item.message for item in dry.items))
            return

        def send(typed: str) -> Receipt:
            return nexus.remove_state(client, state, typed=typed.upper(), dry_run=False)

        prompt = f"Type {state}, the state, to remove all of its records."
        self.offer(
            PreviewedChange(client, send, f"Removing the records of {state}…", 0),
            Confirmation(state, prompt),
            f"Remove every record of {state}",
        )


_OUTCOMES = {
    "done": ("\N{CHECK MARK}", "Done"),
    "not_done": ("\N{MULTIPLICATION SIGN}", "Not done"),
    "unknown": ("?", "Not known"),
}
_PLANNED = ("\N{RIGHTWARDS ARROW}", "Planned")
_TO_DO = {
    "apply": (
        "What to do: open the same plan, preview its requests and confirm them again. Unknown"
        " results are settled first, and only what is left is sent."
    ),
    "remove_state": (
        "What to do: preview the removal of the state again; it shows what is still there."
    ),
    "add": "What to do: add the record again, as it was given; what is done is not sent again.",
    "edit": "What to do: make the same change again; what is done is not sent again.",
    "restore": (
        "What to do: preview the undo of the same receipt again; it sends only what is left."
    ),
}


class ReceiptSection(ChangeSection):
    """Shows a receipt, offers its files, and undoes what was removed."""

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        """Build the section, hidden until there is a receipt to show."""
        super().__init__(
            session,
            cleanup,
            "5. The receipt",
            preview=button("Preview the undo", "plain"),
            kind="primary",
        )
        self.result = w.HTML()
        self.download = DownloadButton("Download the receipt")
        self.download_records = DownloadButton("Download the records as they were")
        self.compose(
            self.result,
            line(self.download, self.download_records),
            self.preview_button,
            *self.steps,
        )
        self.show()

    def show(self) -> None:
        """Show the current receipt; the section is hidden without one."""
        receipt = self.cleanup.receipt
        self.drop()
        set_visible(self.view, receipt is not None)
        if receipt is None:
            return
        self.message.clear()
        self.result.value = _receipt_html(receipt)
        self.download.show(receipt.path)
        self.download_records.show(receipt.restore_file)
        set_visible(self.preview_button, receipt.undoable)
        read = "receipt = " + as_code("nexus.read_receipt", receipt.path) if receipt.path else ""
        undo = as_code("nexus.restore", Name("receipt"), Name("client"), dry_run=False)
        self.code.show("\n".join(filter(None, [read, undo if receipt.undoable else ""])))

    def show_preview(self) -> None:
        """Preview the undo: only reads."""
        receipt = self.cleanup.receipt
        if receipt is not None:
            self.run_preview(
                lambda client: nexus.restore(receipt, client, dry_run=True),
                lambda client, dry: self._previewed(receipt, client, dry),
            )

    def _previewed(self, receipt: Receipt, client: Svc, dry: Receipt) -> None:
        """Show what the undo of a receipt would send, and offer it for confirmation."""
        planned = [item.state for item in dry.items if item.status == "planned"]
        requests = dry.requests
        notes = paragraphs(dry.notes, filter(None, [dry.undo_note]))
        self.preview.value = (
            _items_html(dry, "What the undo would do")
            + (requests_html(requests) if requests else "")
            + (box_html(notes, trouble=True) if notes else "")
        )
        if not planned:
            self.message.show_note("There is nothing to put back.")
            return
        act = "put back {}" if receipt.kind in EDIT_KINDS else "add {} again"

        def send(_typed: str) -> Receipt:
            return nexus.restore(
                receipt, client, dry_run=False, on_progress=self._report, stop=self._stop
            )

        self.offer(
            PreviewedChange(client, send, "Putting the records back…", len(receipt.restorable)),
            confirmation_of(planned, act),
            act.format(counted(len(planned), "record")).capitalize(),
        )


def _receipt_html(receipt: Receipt) -> str:
    """The receipt: its sentence, remarks, and a row for each request; escaped."""
    flagged, unknown = receipt.counts["flagged"], receipt.counts["unknown"]
    trouble = bool(flagged or unknown or receipt.counts["not_done"])
    sentences = paragraphs(receipt.sentences)
    look = (
        f"<p><strong>{counted(flagged, 'row')} to check</strong>, marked with \N{BLACK FLAG}.</p>"
        if flagged
        else ""
    )
    to_do = f"<p>{_TO_DO.get(receipt.kind, '')}</p>" if unknown or not receipt.finished else ""
    box = f"<p><strong>{escape(receipt.sentence)}</strong></p>{look}{to_do}"
    items = _items_html(receipt, "Receipt")
    return f'{box_html(box, trouble=trouble)}{items}<div class="svc-note">{sentences}</div>'


def _items_html(receipt: Receipt, caption: str) -> str:
    rows: list[tuple[str, ...]] = [_row(item) for item in receipt.items[:SHOWN_ROWS]]
    heads: tuple[Head, ...] = (
        "State",
        "Type",
        "Outcome",
        number("Expected"),
        number("Deleted"),
        prose("What happened"),
        "Reference",
    )
    if receipt.dry_run:  # nothing was deleted, and nothing has a reference
        heads = (*heads[:3], prose("What would happen"))
        rows = [(*row[:3], row[5]) for row in rows]
    return titled_table_html(heads, rows, caption) + more_html(len(receipt.items), ", in the file")


def _row(item: ReceiptItem) -> tuple[str, ...]:
    mark, words = _PLANNED if item.status == "planned" else _OUTCOMES[item.outcome]
    flag = "\N{BLACK FLAG} " if item.flagged else ""
    return (
        item.state,
        item.nexus_type or "all types",
        f"{flag}{mark} {words}",
        NOTHING if item.expected is None else str(item.expected),
        NOTHING if item.deleted is None else str(item.deleted),
        item.message or item.status.replace("_", " "),
        item.reference or NOTHING,
    )
