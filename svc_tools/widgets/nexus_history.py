"""Earlier receipts of this computer, listed and opened again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w
import pandas as pd

from svc_tools import nexus
from svc_tools.shown import counted
from svc_tools.widgets.code import as_code
from svc_tools.widgets.nexus_section import Section, shown
from svc_tools.widgets.parts import button, field, note, shown_code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc_tools.nexus import Receipt
    from svc_tools.widgets.nexus_cleanup import Cleanup
    from svc_tools.widgets.session import Session

__all__ = ["HistorySection"]

_MOST = 200


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
        self.code = shown_code()
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
        shown(self._found, visible=False)

    def list(self) -> None:
        """List the receipts."""
        self.run(
            "Reading the receipts\N{HORIZONTAL ELLIPSIS}",
            nexus.receipts,
            self._listed,
        )

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
        rows = receipts.head(_MOST).to_dict("records")
        self.chosen.options = [(_label(row), str(row["path"])) for row in rows]
        if rows and self.chosen.index is None:
            self.chosen.index = 0  # as the page shows it
        shown(self._found, bool(rows))
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
