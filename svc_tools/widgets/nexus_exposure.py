"""Step 2 of the Nexus tab: how near the sales in each state come to its threshold."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from svc_tools import nexus
from svc_tools.widgets.code import Name, as_code
from svc_tools.widgets.form import Entry, Form
from svc_tools.widgets.nexus_exposure_table import exposure_html, exposure_notes
from svc_tools.widgets.nexus_section import Section, actions, shown
from svc_tools.widgets.parts import button, field, note, shown_code

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from svc_tools.nexus import Thresholds
    from svc_tools.widgets.nexus_cleanup import Cleanup
    from svc_tools.widgets.session import Session

__all__ = ["COLUMNS", "ExposureSection"]

COLUMNS = {
    "state": "State",
    "date": "Day of the sale",
    "amount": "Amount",
    "channel": "Channel (direct or marketplace)",
    "retail": "Retail amount",
    "taxable": "Taxable amount",
    "transaction": "Order number",
}
"""What a column of sales can be, as `exposure_of_file` names it."""

_BY_NAME = "(by its name)"
_HELP = (
    "Optional. Sales of this year and the three before (CSV, XLSX or Parquet) with state,"
    " day, amount and, where marketplaces sell for you, the channel. Nothing of it is sent"
    " anywhere."
)


class ExposureSection(Section):
    """Reads sales from a file and shows each state's standing against its threshold.

    Attributes:
        file: the path of the sales, the day for which the exposure is computed, the days for
            which the sales are complete, the user's own thresholds over those that ship, and the
            button that computes.
        upload: or the file itself.
        columns: which column of the file is what, where its name does not say.
        columns_button: reads the file's columns, to choose from.
        result: the states as a table.
        code: the same in Python.
    """

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        super().__init__(session, cleanup, "2. Sales and exposure")
        self._sent: dict[str, Any] = {}
        self.file = Form(
            [
                Entry(
                    "path",
                    "Sales file",
                    help="On the computer where this runs, or upload it. Several files: ; between.",
                    placeholder="sales.csv",
                    width="whole",
                ),
                Entry(
                    "as_of",
                    "As of",
                    kind="date",
                    help="Optional: else the last day with a sale.",
                    width="narrow",
                ),
                Entry(
                    "first",
                    "Complete from",
                    kind="date",
                    help="Optional: else the first day with a sale.",
                    width="narrow",
                ),
                Entry(
                    "last",
                    "Complete to",
                    kind="date",
                    help="Optional: else the last day with a sale.",
                    width="narrow",
                ),
                Entry(
                    "thresholds",
                    "Your own thresholds",
                    help="Optional: rows of your own over those that ship, in the same columns.",
                    placeholder="thresholds.csv",
                ),
            ],
            submit="Compute exposure",
            on_submit=lambda values: self.compute(values.texts),
            label="Sales",
        )
        self.upload = self.uploader(
            "Upload the sales", ".csv,.tsv,.txt,.gz,.xlsx,.xlsm,.parquet,.pq", self._uploaded
        )
        self.columns = {
            role: w.Dropdown(options=[(_BY_NAME, None)], description=words)
            for role, words in COLUMNS.items()
        }
        self._mapping = w.VBox([field(one) for one in self.columns.values()])
        self.columns_button = button("Choose the columns", kind="plain")
        self.result = w.HTML()
        self.code = shown_code()
        self.columns_button.on_click(lambda _: self.read_columns())
        shown(self._mapping, visible=False)
        self.compose(
            note(_HELP),
            self.file,
            actions([self.upload, self.columns_button]),
            self._mapping,
            self.said,
            self.result,
            self.code,
        )
        self._show_code()

    @property
    def _texts(self) -> dict[str, str]:
        return dict(self.file.values)

    def read_columns(self) -> None:
        """Read the names of the file's columns, and offer them."""
        paths = self._paths(self._texts.get("path", ""))
        if paths:
            self.run(
                "Reading the columns\N{HORIZONTAL ELLIPSIS}",
                lambda: _names(paths[0]),
                self._offer,
                forms=[self.file],
            )

    def compute(self, texts: Mapping[str, str]) -> None:
        """Compute the exposure of the files that the form names, counted together."""
        paths = self._paths(texts["path"])
        if not paths:
            return
        chosen: dict[str, Any] = {
            role: one.value for role, one in self.columns.items() if one.value is not None
        }
        try:
            chosen |= _days(texts)
        except _NotADayError as error:
            self.file.errors = {error.name: str(error)}
            return
        own, register = texts["thresholds"].strip(), self.cleanup.register
        sent = {"paths": [str(path) for path in paths], "thresholds": own, **chosen}

        def work() -> tuple[pd.DataFrame, Thresholds | None]:
            from svc_tools.frames import exposure_of_file  # noqa: PLC0415 - loads pyarrow

            thresholds = nexus.read_thresholds(own) if own else None
            found = exposure_of_file(
                *paths, register=register, thresholds=thresholds, progress=False, **chosen
            )
            return found, thresholds

        self.run(
            "Reading the sales\N{HORIZONTAL ELLIPSIS}",
            work,
            lambda computed: self._computed(sent, *computed),
            forms=[self.file],
        )

    def register_changed(self) -> None:
        """The exposure says which states have a record: of another register it is another one."""
        if self.cleanup.exposure is not None:
            self.message.show_note("The register has changed: compute the exposure anew.")

    def _uploaded(self, path: Path) -> None:
        self.file.values = {**self._texts, "path": str(path)}
        self.read_columns()

    def _paths(self, text: str) -> list[Path]:
        named = [part.strip() for part in text.split(";") if part.strip()]
        missing = "Give the path of a file of sales, or upload one."
        self.file.errors = {} if named else {"path": missing}
        return [Path(part).expanduser() for part in named]

    def _offer(self, names: list[str]) -> None:
        for dropdown in self.columns.values():
            former = dropdown.value
            dropdown.options = [(_BY_NAME, None), *((name, name) for name in names)]
            dropdown.value = former if former in names else None
        shown(self._mapping, visible=True)
        self.message.show_note(
            "Choose a column only where its name does not say what it is, then compute."
        )

    def _computed(
        self, sent: dict[str, Any], exposure: pd.DataFrame, thresholds: Thresholds | None
    ) -> None:
        self._sent = sent  # only now: what failed or was given up is not what is shown
        self.cleanup.thresholds = thresholds
        self.cleanup.exposure, self.cleanup.as_of = exposure, sent.get("as_of")
        self._show_code()
        self.result.value = exposure_notes(exposure) + exposure_html(exposure)
        self.cleanup.changed("exposure")

    def _show_code(self) -> None:
        sent = dict(self._sent)
        paths, own = sent.pop("paths", ["sales.csv"]), sent.pop("thresholds", "")
        lines = ["from svc_tools.frames import exposure_of_file", ""]
        if own:
            lines.insert(0, "from svc_tools import nexus")
            lines.append("thresholds = " + as_code("nexus.read_thresholds", own))
        call = as_code(
            "exposure_of_file",
            *paths,
            **sent,
            register=None if self.cleanup.register is None else Name("register"),
            thresholds=Name("thresholds") if own else None,
        )
        self.code.show("\n".join([*lines, f"exposure = {call}"]))


class _NotADayError(ValueError):
    """A day that is none, or only one of two that go together."""

    def __init__(self, name: str, message: str) -> None:
        self.name = name
        super().__init__(message)


def _days(texts: Mapping[str, str]) -> dict[str, Any]:
    """The days of the form, as `exposure_of_file` takes them."""
    found: dict[str, date] = {}
    for name in ("as_of", "first", "last"):
        if text := texts.get(name, "").strip():
            try:
                found[name] = date.fromisoformat(text)
            except ValueError:
                raise _NotADayError(name, "Give a day such as 2026-05-01.") from None
    given: dict[str, Any] = {"as_of": found["as_of"]} if "as_of" in found else {}
    if ("first" in found) != ("last" in found):
        empty = "last" if "first" in found else "first"
        raise _NotADayError(empty, "Give both days for which the sales are complete, or neither.")
    if "first" in found:
        given["covers"] = (found["first"], found["last"])
    return given


def _names(path: Path) -> list[str]:
    from svc_tools.frames.files import open_rows  # noqa: PLC0415 - loads pyarrow

    rows = open_rows(path)
    try:
        return [str(name) for name in rows.schema.names]
    finally:
        rows.close()
