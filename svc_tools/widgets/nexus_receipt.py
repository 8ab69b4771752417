"""Step 5 of the Nexus tab: the receipt, its undo where the service can add, earlier receipts."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import pandas as pd

from svc_tools import nexus
from svc_tools.display import NOTHING, counted
from svc_tools.nexus.apply import requests_of
from svc_tools.widgets.nexus_section import (
    MOST_ROWS,
    ConfirmBox,
    Running,
    Section,
    actions,
    box_html,
    confirmation_of,
    list_after_change,
    more_html,
    requests_html,
    stored_plan,
)
from svc_tools.widgets.parts import (
    CodeView,
    DownloadButton,
    Name,
    as_code,
    button,
    field,
    note,
    set_visible,
    table_html,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from svc_sdk import Svc
    from svc_tools.nexus import Plan, Receipt, ReceiptItem, Register
    from svc_tools.widgets.nexus_section import Cleanup
    from svc_tools.widgets.session import Session

_OUTCOMES = {
    "done": ("\N{CHECK MARK}", "Done"),
    "not_done": ("\N{MULTIPLICATION SIGN}", "Not done"),
    "unknown": ("?", "Not known"),
}
_PLANNED = ("\N{RIGHTWARDS ARROW}", "Planned")
_TO_DO = {
    "apply": (
        "What to do: open the same plan, preview its requests and confirm them again. It looks"
        " before it sends anything, settles what is not known, and sends only what is left."
    ),
    "remove_state": (
        "What to do: preview the removal of the state again; it shows what is still there."
    ),
    "restore": "What to do: preview the undo of the same receipt again; it adds only what is gone.",
}


class ReceiptSection(Section):
    """Shows a receipt, offers its files, and undoes what was removed.

    Attributes:
        result: the receipt in words and as a table.
        download: the receipt's file.
        download_records: the records as they were, in the format of a register.
        plan_button: opens the plan of an unfinished receipt, to continue it.
        undo_button: previews the undo: nothing is added yet.
        undo: what would be added again.
        confirm: what has to be typed, and the button that adds.
        running: the progress of the undo, and the button that stops it.
        code: the same in Python.
    """

    def __init__(
        self, session: Session, cleanup: Cleanup, open_plan: Callable[[str], object]
    ) -> None:
        super().__init__(session, cleanup, "5. The receipt")
        self._open_plan = open_plan
        self._plan: Path | None = None
        self._previewed_for: tuple[Receipt, Svc] | None = None
        self.result = w.HTML()
        self.download = DownloadButton("Download the receipt")
        self.download_records = DownloadButton("Download the records as they were")
        self.plan_button = button("Open its plan")
        self.undo_button = button("Preview the undo", kind="plain")
        self.undo = w.HTML()
        self.confirm = ConfirmBox(self._confirmed, kind="primary")
        self.running = Running(self.message)
        self.code = CodeView()
        self._files = actions([self.download, self.download_records])
        self.plan_button.on_click(lambda _: self.open_plan())
        self.undo_button.on_click(lambda _: self.show_preview())
        self.compose(
            self.result,
            self.plan_button,
            self._files,
            self.undo_button,
            self.undo,
            self.confirm.view,
            self.running.view,
            self.said,
            self.code,
        )
        self.show()

    def show(self) -> None:
        """Show the current receipt; nothing while there is none."""
        receipt = self.cleanup.receipt
        self.drop()
        set_visible(self.view, receipt is not None)
        if receipt is None:
            return
        self.message.clear()
        self.result.value = _receipt_html(receipt)
        self.download.show(receipt.path)
        self.download_records.show(receipt.restore_file)
        set_visible(self.undo_button, receipt.undoable)
        self._plan = _plan_to_continue(receipt, self.cleanup.plan)
        set_visible(self.plan_button, self._plan is not None)
        read = "receipt = " + as_code("nexus.read_receipt", receipt.path) if receipt.path else ""
        undo = as_code("nexus.restore", Name("receipt"), Name("client"), dry_run=False)
        self.code.show("\n".join(filter(None, [read, undo if receipt.undoable else ""])))

    def open_plan(self) -> None:
        """Open the plan that this receipt is of, with its ticks."""
        if self._plan is not None:
            self._open_plan(str(self._plan))
            self.message.show_note("Its plan is shown above: preview the requests of it again.")

    def show_preview(self) -> None:
        """Preview the undo: only reads."""
        receipt = self.cleanup.receipt
        client = None if receipt is None else self.connected_client()
        if receipt is None or client is None:
            return
        self.drop()
        self.run(
            "Asking the service what is there\N{HORIZONTAL ELLIPSIS}",
            lambda: nexus.restore(receipt, client, dry_run=True),
            lambda dry: self._previewed(receipt, client, dry),
        )

    def drop(self) -> None:
        """Drop the preview of the undo: it is no longer valid."""
        self._previewed_for = None
        self.undo.value = ""
        self.confirm.rest()

    def _previewed(self, receipt: Receipt, client: Svc, dry: Receipt) -> None:
        if receipt is not self.cleanup.receipt or client is not self.session.client:
            return
        planned = [item for item in dry.items if item.status == "planned"]
        requests = requests_of(dry)
        self.undo.value = _items_html(dry, "What the undo would do") + (
            requests_html(requests) if requests else ""
        )
        if not planned:
            self.message.show_note("There is nothing to add again.")
            return
        self._previewed_for = (receipt, client)
        self.confirm.request(
            confirmation_of([item.state for item in planned], "add {} again"),
            f"Add {counted(len(planned), 'record')} again",
        )

    def _confirmed(self, _typed: str) -> None:
        if self._previewed_for is None or self.busy:
            return
        receipt, client = self._previewed_for
        self.running.begin(len(receipt.restorable))
        tell = self.session.background.tell

        def work() -> tuple[Receipt, Register | None]:
            restored = nexus.restore(
                receipt,
                client,
                dry_run=False,
                on_progress=lambda *how_far: tell(self._moved, *how_far),
                stop=self.running.stop,
            )
            return restored, list_after_change(client)

        self.run(
            "Adding the records again\N{HORIZONTAL ELLIPSIS}",
            work,
            lambda result: self._restored(client, *result),
            always=self.running.over,
            vital=True,
        )

    def _moved(self, item: ReceiptItem, done: int, total: int) -> None:
        self.running.moved(done, total)
        self.message.show_note(f"{done} of {total}: {item.state} {item.nexus_type}.")

    def _restored(self, client: Svc, receipt: Receipt, listed: Register | None) -> None:
        self.show_receipt(receipt, client, listed)
        self.message.show_note(receipt.sentence)


def _plan_to_continue(receipt: Receipt, opened: Plan | None) -> Path | None:
    """The stored plan of an unfinished receipt, unless it is open already."""
    if receipt.kind != "apply" or receipt.finished or receipt.dry_run:
        return None
    is_open = opened is not None and opened.plan_id == receipt.plan_id
    return None if is_open else stored_plan(receipt.plan_id)


def _receipt_html(receipt: Receipt) -> str:
    """The receipt: its sentence, remarks, and a row for each request; escaped."""
    flagged, unknown = receipt.counts["flagged"], receipt.counts["unknown"]
    trouble = bool(flagged or unknown or receipt.counts["not_done"])
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in receipt.sentences)
    look = (
        f"<p><strong>{counted(flagged, 'row')} to look at</strong>, marked with \N{BLACK FLAG}.</p>"
        if flagged
        else ""
    )
    to_do = f"<p>{_TO_DO.get(receipt.kind, '')}</p>" if unknown or not receipt.finished else ""
    box = f"<p><strong>{escape(receipt.sentence)}</strong></p>{look}{to_do}"
    items = _items_html(receipt, "Receipt")
    return f'{box_html(box, trouble=trouble)}{items}<div class="svc-note">{sentences}</div>'


def _items_html(receipt: Receipt, caption: str) -> str:
    rows: list[tuple[str, ...]] = [_row(item) for item in receipt.items[:MOST_ROWS]]
    heads: tuple[str, ...]
    heads = ("State", "Type", "Outcome", ">Expected", ">Deleted", "~What happened", "Reference")
    if receipt.dry_run:  # nothing was deleted, and nothing has a reference
        heads = (*heads[:3], "~What would happen")
        rows = [(*row[:3], row[5]) for row in rows]
    return table_html(heads, rows, caption) + more_html(len(receipt.items), ", in the file")


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


class HistorySection(Section):
    """Lists the receipts of this computer, the newest first, and opens one of them.

    Attributes:
        list_button: lists them.
        chosen: which one to open.
        open_button: opens it as the receipt above, with its undo.
    """

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        super().__init__(session, cleanup, "Earlier receipts")
        self.list_button = button("Show earlier receipts", kind="plain")
        self.chosen = w.Dropdown(description="Receipt")
        self.open_button = button("Open this receipt", kind="plain")
        self.code = CodeView()
        self._found = w.VBox([field(self.chosen), self.open_button])
        self.list_button.on_click(lambda _: self.list())
        self.open_button.on_click(lambda _: self.open())
        self.compose(
            note(
                "Every removal has a receipt on this computer; it can be opened and undone later."
            ),
            self.list_button,
            self._found,
            self.said,
            self.code,
        )
        set_visible(self._found, visible=False)

    def list(self) -> None:
        """List the receipts."""
        self.run("Reading the receipts\N{HORIZONTAL ELLIPSIS}", nexus.receipts, self._listed)

    def open(self) -> None:
        """Open the chosen one."""
        path = self.chosen.value
        if path is None:
            return
        self.run(
            "Reading the receipt\N{HORIZONTAL ELLIPSIS}",
            lambda: nexus.read_receipt(Path(path)),
            self._opened,
        )

    def _listed(self, receipts: pd.DataFrame) -> None:
        self.code.show("from svc_tools import nexus\n\n" + as_code("nexus.receipts"))
        rows = receipts.head(MOST_ROWS).to_dict("records")
        self.chosen.options = [(_label(row), str(row["path"])) for row in rows]
        if rows and self.chosen.index is None:
            self.chosen.index = 0  # as the page shows it
        set_visible(self._found, bool(rows))
        self.message.show_note(
            f"{counted(len(receipts), 'receipt')}, the newest first."
            if rows
            else "There is no receipt on this computer yet."
        )

    def _opened(self, receipt: Receipt) -> None:
        self.cleanup.receipt = receipt
        self.cleanup.changed("receipt")
        self.message.show_note("The receipt is shown above.")


def _label(row: Mapping[Any, Any]) -> str:
    started = row["started"]
    moment = "" if pd.isna(started) else f"{started:%Y-%m-%d %H:%M} UTC, "
    where = f" ({row['service']})" if isinstance(row["service"], str) else ""
    return f"{moment}{row['said']}{where}"
