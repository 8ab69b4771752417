"""Which file: chosen in the browser, or named by its path; and how it is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

import ipywidgets

from svc_tools.frames.files.opening import kind_to_read
from svc_tools.widgets.actions import told_size
from svc_tools.widgets.disclosure import Disclosure
from svc_tools.widgets.file_layout import grid, line
from svc_tools.widgets.form import Entry, Form
from svc_tools.widgets.parts import button, field, note
from svc_tools.widgets.uploads import UploadButton

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_tools.frames.files.file_view import FileView
    from svc_tools.widgets.form import Values
    from svc_tools.widgets.session import Session

__all__ = ["FileChoice", "Reading"]

_KINDS = ".csv,.tsv,.txt,.xlsx,.xlsm,.parquet,.pq"


class Reading(TypedDict, total=False):
    """How a file is read, as `enrich_file` takes it; what is left out is found."""

    sheet: str
    delimiter: str
    encoding: str


class FileChoice:
    """Choose a file; nothing of it is kept in the page.

    Args:
        session: whose folder takes uploads.
        opened: called once a file is chosen, and again when it is to be read another way.
        failed: called with what kept an upload from being saved.

    Attributes:
        upload: the button that chooses a file of the reader's machine.
        path: the form that takes the path of a file on the kernel's machine.
        sheet: the sheet of a workbook; empty for the first that is not hidden.
        delimiter: what separates the cells of a CSV; empty where it is to be found.
        encoding: the encoding of a CSV; empty where it is to be found.
        again: the button that reads the chosen file once more.
        current: the chosen file.
        uploaded: whether it was uploaded.
    """

    def __init__(
        self,
        session: Session,
        opened: Callable[[], object],
        failed: Callable[[Exception], object],
    ) -> None:
        self._session, self._opened, self._failed = session, opened, failed
        self.current: Path | None = None
        self.uploaded = False
        self._enabled = True
        self.upload = UploadButton(
            "Choose a file",
            _KINDS,
            folder=lambda: session.folder / "uploads",
            done=lambda path: self._take(path, uploaded=True),
            failed=failed,
            limit=session.upload_limit,
        )
        self.path = Form(
            [
                Entry(
                    "path",
                    "Or the path of a file on the computer where this runs",
                    placeholder="/data/orders.csv",
                    width="whole",
                )
            ],
            submit="Open",
            on_submit=self._named,
        )
        self.sheet = ipywidgets.Combobox(description="Sheet of a workbook", ensure_option=False)
        self.delimiter = ipywidgets.Dropdown(
            description="Between the cells of a CSV",
            options=[
                ("found by itself", ""),
                ("comma", ","),
                ("semicolon", ";"),
                ("tab", "\t"),
                ("bar |", "|"),
            ],
        )
        self.encoding = ipywidgets.Combobox(
            description="Encoding of a CSV",
            options=["utf-8", "cp1252", "latin-1", "utf-16"],
            ensure_option=False,
        )
        self.again = button("Read it again", "plain")
        self._of_book = field(self.sheet, "Empty: the first one that is not hidden.")
        self._of_text = (field(self.delimiter), field(self.encoding, "Empty: found by itself."))
        options = ipywidgets.VBox(
            [
                grid(self._of_book, *self._of_text),
                line(self.again),
            ]
        )
        self.options = Disclosure("How the file is read", options)
        self.again.on_click(self._read_again)
        self.view = ipywidgets.VBox(
            [
                self.upload,
                note(self._limit()),
                self.path,
                self.options.view,
            ]
        )
        self._show_options()

    def reading(self) -> Reading:
        """How the file is to be read: what was given."""
        reading = Reading()
        if sheet := self.sheet.value.strip():
            reading["sheet"] = sheet
        if self.delimiter.value:
            reading["delimiter"] = self.delimiter.value
        if encoding := self.encoding.value.strip():
            reading["encoding"] = encoding
        return reading

    def offer(self, view: FileView) -> None:
        """Offer what the open file has: the sheets of a workbook, where there are several."""
        self.sheet.options = view.sheets
        if len(view.sheets) > 1:
            self.options.reveal(opened=True)

    def set_enabled(self, *, enabled: bool) -> None:
        """Whether another file may be chosen now."""
        self._enabled = enabled
        self.upload.disabled = self.again.disabled = not enabled
        self.path.busy = not enabled

    def _limit(self) -> str:
        limit = self._session.upload_limit
        most = "" if limit is None else f", up to {told_size(limit)}"
        return f"CSV, Excel workbook or Parquet{most}. For a very large file give its path."

    def _named(self, given: Values) -> None:
        """Take the path that was typed."""
        text = given.texts["path"].strip().strip("\"'")
        self.path.errors = {}
        try:
            path = Path(text).expanduser() if text else None
        except RuntimeError as error:  # "~somebody"
            self.path.errors = {"path": f"{text!r} is no path here: {error}"}
            return
        if path is None:
            self.path.errors = {"path": "Give the path of a file, or choose one above."}
            return
        self._take(path, uploaded=False)

    def _take(self, path: Path, *, uploaded: bool) -> None:
        if not self._enabled:  # it was on its way when something else began
            self._failed(
                ValueError(f"{path.name} was not opened: stop what runs, and choose again")
            )
            return
        self.current, self.uploaded = path, uploaded
        self.sheet.value = self.delimiter.value = self.encoding.value = ""
        self.sheet.options = ()
        self.options.reveal(opened=False)
        self._show_options()
        self._opened()

    def _show_options(self) -> None:
        """Only what is of the chosen file's kind."""
        kind = None if self.current is None else kind_to_read(self.current)
        self.options.view.layout.display = "" if kind in {"csv", "xlsx"} else "none"
        self._of_book.layout.display = "" if kind == "xlsx" else "none"
        for box in self._of_text:
            box.layout.display = "" if kind == "csv" else "none"

    def _read_again(self, _button: object) -> None:
        if self.current is not None:
            self._opened()
