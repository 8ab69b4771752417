"""Step 2 of the Nexus tab: the sales, and each state's standing against its threshold."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from svc_tools import nexus
from svc_tools.lookup.options import SALES, ExposureOptions, option_rows
from svc_tools.nexus.notices import BAND_WORDS
from svc_tools.nexus.standings import exposure_summary, percent_used
from svc_tools.show.display import NOTHING, counted, from_template
from svc_tools.tables.roles import ColumnAmbiguous, ColumnError, DatesAmbiguous
from svc_tools.widgets.nexus_section import Section, box_html
from svc_tools.widgets.parts import (
    DATE_FORMATS,
    TIME_ZONES,
    CodeView,
    Entry,
    Form,
    Name,
    as_code,
    button,
    field,
    line,
    note,
    set_visible,
)
from svc_tools.widgets.question_menus import NotChosenError, QuestionMenus, open_questions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from svc_tools.nexus import Thresholds
    from svc_tools.nexus.standings import StandingRow
    from svc_tools.tables.questions import Question
    from svc_tools.widgets.nexus_section import Cleanup
    from svc_tools.widgets.session import Session

_ROWS = option_rows(ExposureOptions)
_FIRST = ("state", "date", "amount", "channel", "retail", "taxable", "order")
_COLUMNS = {
    name: _ROWS[name].panel
    for name in dict.fromkeys((*_FIRST, *_ROWS))
    if _ROWS[name].panel and _ROWS[name].group == SALES
}
"""What a column of sales can be, as `exposure_of_file` names it."""
_BY_NAME = "(by its name)"
_UNUSED = {"country": [("Not used", False)]}
"""What can be chosen instead of a column, by what the column would be."""
_HELP = (
    "Optional. Sales of this year and the three before (CSV, XLSX or Parquet) with state,"
    " day, amount and, where marketplaces sell for you, the channel; the order export of a shop is"
    " read as it is. Nothing of it is sent anywhere."
)

_MARKS = {
    "missing": "!",
    "over": "\N{BLACK UP-POINTING TRIANGLE}",
    "90-100": "\N{BLACK DIAMOND}",
    "70-90": "\N{WHITE DIAMOND}",
    "below 70": "\N{WHITE CIRCLE}",
    "no tax": NOTHING,
}
"""Before a band's words, so that color alone does not carry it."""


class ExposureSection(Section):
    """Reads sales from a file and shows each state's standing against its threshold."""

    def __init__(self, session: Session, cleanup: Cleanup) -> None:
        """Build the form for sales files and the empty result; no file is read yet."""
        super().__init__(session, cleanup, "2. Sales and exposure")
        self._sent: dict[str, Any] = {}
        self.file = Form(
            [
                Entry(
                    "path",
                    "Sales file",
                    help="On the computer where this runs, or uploaded. Separate files with ;",
                    placeholder="sales.csv",
                    width="whole",
                ),
                Entry(
                    "date_format",
                    _ROWS["date_format"].panel,
                    kind="menu",
                    help="Where the dates could be read in two ways.",
                    options=_menu(DATE_FORMATS),
                ),
                Entry(
                    "tz",
                    _ROWS["tz"].panel,
                    kind="menu",
                    help="For times in UTC.",
                    options=_menu(TIME_ZONES),
                ),
                Entry(
                    "as_of",
                    _ROWS["as_of"].panel,
                    kind="date",
                    help="Optional: else the last day with a sale.",
                    width="narrow",
                ),
                Entry(
                    "first",
                    _ROWS["covers"].panel,
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
                    _ROWS["thresholds"].panel,
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
            role: w.Dropdown(options=[(_BY_NAME, None), *_UNUSED.get(role, [])], description=words)
            for role, words in _COLUMNS.items()
        }
        self._mapping = w.VBox([field(menu) for menu in self.columns.values()])
        self.questions = QuestionMenus(lambda: None)
        self._asked_of: list[Path] = []
        self.columns_button = button("Choose the columns", kind="plain")
        self.result = w.HTML()
        self.code = CodeView()
        self.columns_button.on_click(lambda _: self.read_columns())
        set_visible(self._mapping, visible=False)
        self.compose(
            note(_HELP),
            self.file,
            line(self.upload, self.columns_button),
            self._mapping,
            self.questions.view,
            self.status,
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
                "Reading the columns…",
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
            role: menu.value for role, menu in self.columns.items() if menu.value is not None
        }
        try:
            chosen |= _days(texts)
        except _NotADayError as error:
            self.file.errors = {error.name: str(error)}
            return
        chosen |= {name: texts[name] for name in ("date_format", "tz") if texts.get(name)}
        if paths != self._asked_of:
            self.questions.clear()
        try:
            chosen |= self.questions.answers(but=chosen)
        except NotChosenError as error:
            self.message.show_note(f"{error}, then compute the exposure.")
            self.questions.mark("Choose an answer.")
            return
        own, register = texts["thresholds"].strip(), self.cleanup.register
        sent = {"paths": [str(path) for path in paths], "thresholds": own, **chosen}

        def work() -> tuple[pd.DataFrame, Thresholds | None] | ColumnError:
            from svc_tools.frames import exposure_of_file  # noqa: PLC0415 - loads pyarrow

            thresholds = nexus.read_thresholds(own) if own else None
            try:
                found = exposure_of_file(
                    *paths, register=register, thresholds=thresholds, progress=False, **chosen
                )
            except DatesAmbiguous as error:
                return error
            except ColumnAmbiguous as error:
                if error.alike:
                    raise
                return error
            return found, thresholds

        self.run(
            "Reading the sales…",
            work,
            lambda computed: self._computed(sent, computed, paths),
            forms=[self.file],
        )

    def register_changed(self) -> None:
        """Report that the exposure, which shows the states with a record, is outdated."""
        if self.cleanup.exposure is not None:
            self.message.show_note("The register has changed: compute the exposure again.")

    def _uploaded(self, path: Path) -> None:
        self.file.values = {**self._texts, "path": str(path)}
        self.read_columns()

    def _paths(self, text: str) -> list[Path]:
        named = [part.strip() for part in text.split(";") if part.strip()]
        missing = "Give the path of a file of sales, or upload one."
        self.file.errors = {} if named else {"path": missing}
        return [Path(part).expanduser() for part in named]

    def _offer(self, names: list[str]) -> None:
        for role, dropdown in self.columns.items():
            former, unused = dropdown.value, _UNUSED.get(role, [])
            dropdown.options = [(_BY_NAME, None), *unused, *((name, name) for name in names)]
            dropdown.value = former if former in names or (unused and former is False) else None
        set_visible(self._mapping, visible=True)
        self.message.show_note("Choose a column only where its name is unclear, then compute.")

    def _computed(
        self,
        sent: dict[str, Any],
        computed: tuple[pd.DataFrame, Thresholds | None] | ColumnError,
        paths: list[Path],
    ) -> None:
        """Store an exposure in the tab's state and show it, or ask what the files leave open."""
        if isinstance(computed, ColumnAmbiguous):
            self._ask(computed.questions, paths)
            return
        if isinstance(computed, ColumnError):
            self.file.errors = {"date_format": f"{computed.fact}. Choose how they are written."}
            return
        exposure, thresholds = computed
        self._sent = sent  # only now: what failed or was canceled is not shown
        self.cleanup.thresholds = thresholds
        self.cleanup.exposure, self.cleanup.as_of = exposure, sent.get("as_of")
        self._show_code()
        self.result.value = exposure_notes(exposure) + exposure_html(exposure)
        self.cleanup.changed("exposure")

    def _ask(self, questions: tuple[Question, ...], paths: list[Path]) -> None:
        """Show what the columns of these files leave open."""
        self._asked_of = paths
        for question in questions:  # asked all the same: what was chosen does not answer it
            if question.argument in self.columns:
                self.columns[question.argument].index = 0
        self.questions.ask(questions)
        self.message.show_note(
            f"{open_questions(questions)} Choose above, then press “{self.file.submit_label}”."
        )
        self.questions.focus()

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


def _menu(labeled: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The options of a menu as a form takes them: the value, then the label."""
    return tuple((value, label) for label, value in labeled)


class _NotADayError(ValueError):
    """A text that is not a day, or only one of two days that go together."""

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
    from svc_tools.tables.tabular import open_table  # noqa: PLC0415 - loads pyarrow

    rows = open_table(path)
    try:
        return [str(name) for name in rows.schema.names]
    finally:
        rows.close()


def exposure_html(exposure: pd.DataFrame) -> str:
    """The states that matter in the frame's own order; the others in a line, to be opened."""
    summary = exposure_summary(exposure)
    folded = {text: [*map(_shown, rows)] for text, rows in summary.folded.items()}
    return from_template("exposure.html", loud=[*map(_shown, summary.shown)], folded=folded)


def _shown(row: StandingRow) -> dict[str, object]:
    """A state as the template shows it."""
    percent = percent_used(row)
    return {
        "state": row["state"],
        "band": str(row["band"]),
        "mark": _MARKS.get(row["band"], "?"),
        "words": BAND_WORDS.get(row["band"], str(row["band"])),
        "share": NOTHING if percent is None else f"{percent:,}%",
        "width": None if percent is None else max(0, min(100, percent)),
        "sales": _formatted(row["sales"], "${:,.2f}") or NOTHING,
        "sales_of": _formatted(row["threshold_sales"], "${:,.0f}"),
        "transactions": _formatted(row["transactions"], "{:,.0f}") or NOTHING,
        "transactions_of": _formatted(row["threshold_transactions"], "{:,.0f}"),
        "crossed": str(row["first_crossed"] or NOTHING)[:10],
        "certainty": row.get("certainty") or NOTHING,
        "why": row.get("why") or "",
    }


def _formatted(value: object, form: str) -> str:
    return "" if value is None else form.format(Decimal(str(value)))


def exposure_notes(exposure: pd.DataFrame) -> str:
    """What the figures cover: the day, the first and last sale, the rows left out and why."""
    facts = exposure.attrs.get("svc_exposure", {})
    sentences = []
    if "as_of" in facts:
        sentences.append(f"As of {facts['as_of']}.")
    first, last = facts.get("first_day"), facts.get("last_day")
    if first is not None and last is not None:
        sentences.append(f"Sales from {first} to {last}.")
    left_out = sum(int(entry["rows"]) for entry in facts.get("left_out", ()))
    if left_out:
        sentences.append(f"{counted(left_out, 'row')} left out: in no figure below.")
    notes = "".join(f"<li>{escape(str(note))}</li>" for note in facts.get("notes", ()))
    box = f"<p>{escape(' '.join(sentences))}</p><ul>{notes}</ul>"
    return box_html(box, trouble=left_out > 0)
