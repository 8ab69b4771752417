"""What the tab "File" shows of a run: its plan, its progress, and its result.

The result has the counts by status, the rows that require review, and the files to download.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from html import escape
from typing import TYPE_CHECKING
from urllib.parse import quote

import ipywidgets

from svc_tools.frames.files.result import TO_REVIEW, rows_to_review
from svc_tools.frames.lookup.columns import used_notes
from svc_tools.frames.review.review import state_reason_table
from svc_tools.frames.review.split import parts_sentence, parts_table
from svc_tools.lookup import STATUSES
from svc_tools.show.codes import CODES, meaning_of, percent, urgency
from svc_tools.show.display import (
    NOTHING,
    RANGE_LABEL,
    capital,
    counted,
    duration,
    exact_dollars,
    number,
    places_and_dates,
    plain,
    prose,
    the_service,
)
from svc_tools.show.meters import Meter
from svc_tools.widgets.file_input import reason_in_words, unused_html
from svc_tools.widgets.parts import (
    MessageArea,
    button,
    field,
    heading,
    line,
    note,
    set_visible,
    table,
    titled_table_html,
)
from svc_tools.widgets.transfers import DownloadButton

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from svc_tools.frames.files.rates import Layout
    from svc_tools.frames.files.result import FileRun, ReviewRow
    from svc_tools.lookup.plan import Plan
    from svc_tools.show.display import Head
    from svc_tools.widgets.session import Background, Session

_MOST_REASONS = 6


class PlanView:
    """The plan of a file."""

    def __init__(self) -> None:
        self.text = ipywidgets.HTML()
        self.view = ipywidgets.VBox([heading("Plan", 4), self.text])
        self.hide()

    def hide(self) -> None:
        """Show no plan."""
        self.text.value = ""
        set_visible(self.view, visible=False)

    def show(self, plan: Plan, name: str, layout: Layout) -> None:
        """Show what a run takes, and what is never requested.

        Args:
            plan: the plan.
            name: the file's name.
            layout: the columns, which the fields above show.
        """
        rows = [("Rows", f"{plan.rows:,}"), ("Distinct places and dates", f"{plan.places:,}")]
        if plan.computed:
            rows.append(("Computed here, without a request", f"{plan.places:,}"))
        else:
            if plan.cached is not None:
                rows.append(("From the cache", f"{plan.cached:,}"))
            rows.append(("New billable lookups", f"{plan.to_ask:,}"))
        if plan.quota_remaining is not None:
            rows.append(("Lookups left this month, as last reported", f"{plan.quota_remaining:,}"))
        refused = sum(refusal.rows for refusal in plan.refused)
        if refused:
            rows.append(("Rows that are never looked up", f"{refused:,}"))
        parts = [note(f"Service: {plan.service}").value]
        parts.append(
            titled_table_html((prose("What"), number("Number")), rows, "What a run will take")
        )
        if plan.fits_quota is False:
            parts.append(note("The account has not enough lookups left for it.").value)
        if refused:
            alike = plan.refused_alike()
            reasons = [
                (f"{refusal.rows:,}", refusal.status, reason_in_words(refusal.reason))
                for refusal in alike[:_MOST_REASONS]
            ]
            rest = sum(refusal.rows for refusal in alike[_MOST_REASONS:])
            if rest:
                reasons.append((f"{rest:,}", "", "Other reasons."))
            heads = (number("Rows"), "Status", prose("Reason"))
            parts.append(titled_table_html(heads, reasons, "Why rows are never looked up"))
        if not plan.rows:
            parts.append(note("The file has no rows below the names of its columns.").value)
        self.text.value = "".join([*parts, _notes(plan.notes, name, layout)])
        set_visible(self.view, visible=True)


def _notes(notes: Sequence[str], name: str, layout: Layout) -> str:
    """What was decided while the file was read, without the columns, which its fields show.

    The columns that are not used are a line that opens.
    """
    inputs = layout.inputs
    unused = () if layout.source is None else layout.source.unused
    shown = {*notes} - {*used_notes(inputs.columns, inputs.scalars, inputs.export), *unused}
    texts = dict.fromkeys(reason_in_words(text, name) for text in notes if text in shown)
    return "".join(note(text).value for text in texts) + unused_html(unused)


_ALL = ""
_KINDS = {".csv": "CSV", ".xlsx": "Excel workbook", ".parquet": "Parquet"}
_PAGE, _MOST_GROUPS = 25, 25
_NUMBERS = (
    "Rows are numbered as in a spreadsheet: the names of the columns are row 1. The file holds all"
    " reasons of every row: lookup_review_reason and, with a tax, tax_review."
)


class FileResult:
    """Show a run."""

    def __init__(self, session: Session, workbook: Callable[[], object]) -> None:
        """Build the view, hidden until a run ends; `workbook` is called by its button."""
        self._session = session
        self._run: FileRun | None = None
        self._columns: Sequence[str] = ()
        self._prefix = ""
        self._start = 0
        self._requested, self._reading = 0, False
        self._filling = False
        self.split, self.summary, self.notes = (ipywidgets.HTML() for _ in range(3))
        self.summary.add_class("svc-note")
        self.statuses = table((), (), "")
        self.money = table((), (), "")
        self.reason = ipywidgets.Dropdown(description="Rows to review")
        self.before, self.after = button("Rows before", "plain"), button("Further rows", "plain")
        self.reasons, self.review = table((), (), ""), table((), (), "")
        self.message = MessageArea()
        self.download = DownloadButton("Download")
        self.make_workbook = button("Make an Excel workbook too", "plain")
        self.workbook = DownloadButton("Download Excel workbook")
        self._pages = line(self.before, self.after)
        reason = field(self.reason)
        reason.layout.max_width = "560px"  # it holds sentences
        self._review = ipywidgets.VBox(
            [self.reasons, reason, self.review, self._pages, note(_NUMBERS)]
        )
        files = line(self.download, self.make_workbook, self.workbook)
        self.view = ipywidgets.VBox(
            [
                *(heading("Result", 4), self.split, files, self.message, self.summary),
                *(self.notes, self.money, self._review, self.statuses),
            ]
        )
        self.reason.observe(self._filtered, "value")
        self.before.on_click(lambda _: self._turn(-_PAGE))
        self.after.on_click(lambda _: self._turn(_PAGE))
        self.make_workbook.on_click(lambda _: workbook())
        self.hide()

    def hide(self) -> None:
        """Show no run."""
        self._run = None
        set_visible(self.view, visible=False)
        self.download.show(None)
        self.workbook.show(None)

    @property
    def written(self) -> Path | None:
        """The file that is shown; `None` for none."""
        return None if self._run is None else self._run.written

    def close(self) -> None:
        """Keep showing the run, but offer no workbook: its file is closed."""
        set_visible(self.make_workbook, visible=False)

    def show(self, run: FileRun, layout: Layout, columns: Sequence[str], prefix: str = "") -> None:
        """Show the result of a run.

        Args:
            run: the run.
            layout: the columns that were read.
            columns: the user's columns that identify a row.
            prefix: stands before the names of the added columns.
        """
        if run.written is None:
            self.hide()
            return
        self._run, self._columns, self._prefix = run, tuple(dict.fromkeys(columns)), prefix
        self.message.clear()
        uses = parts_table(run.totals.by_use, "What can be used")
        texts = (parts_sentence(run.totals.by_use), *run.totals.remarks)
        ready = "".join(f"<p>{escape(text)}</p>" for text in texts)
        rows = [(*cells, capital(str(meaning))) for *cells, meaning in uses.rows]
        self.split.value = ready + titled_table_html(uses.columns, rows, uses.caption)
        self.summary.value = _summary(run)
        self.notes.value = _notes(run.notes, run.source.name, layout)
        self.statuses.value = _statuses(run)
        self.money.value = _money(run)
        kind = _KINDS.get(run.written.suffix.lower(), "the result")
        self.download.label = f"Download {kind}{', incomplete' if run.stopped else ''}"
        self.download.show(run.written, url=self._url(run.written))
        self.workbook.show(None)
        whole = run.written.suffix.lower() != ".xlsx"
        set_visible(self.make_workbook, whole)
        self._offer_reasons(run)
        set_visible(self.view, visible=True)

    def show_workbook(self, path: Path) -> None:
        """Offer the Excel workbook too."""
        set_visible(self.make_workbook, visible=False)
        self.workbook.show(path, url=self._url(path))

    def _offer_reasons(self, run: FileRun) -> None:
        """Fill the menu and the table of reasons, by dollars; then read the first rows."""
        totals = run.totals
        groups = totals.review.groups()
        set_visible(self._review, bool(groups))
        rows: Counter[str] = Counter()
        stakes: dict[str, Decimal] = {}
        for group in groups:
            rows[group.reason] += group.rows
            if group.dollars is not None:
                stakes[group.reason] = stakes.get(group.reason, Decimal()) + group.dollars
        codes = sorted(rows, key=lambda code: (-stakes.get(code, Decimal()), urgency(code)))
        total = sum(stakes.values(), Decimal()) if stakes else None
        by_state = state_reason_table(TO_REVIEW, groups, _MOST_GROUPS, in_words=True)
        more = "".join(note(text).value for text in (by_state.more, totals.estimates) if text)
        self.reasons.value = (
            titled_table_html(by_state.columns, by_state.rows, by_state.caption) + more
        )
        self._filling = True
        try:
            self.reason.options = [
                (_choice("All rows to review", rows.total(), total), _ALL),
                *((_choice(_meaning(code), rows[code], stakes.get(code)), code) for code in codes),
            ]
            self.reason.value = _ALL
        finally:
            self._filling = False
        self._start = 0
        if groups:
            self._read()

    def _filtered(self, _change: object) -> None:
        if not self._filling:
            self._start = 0
            self._read()

    def _turn(self, by: int) -> None:
        if self._reading:
            return
        self._start = max(self._start + by, 0)
        self._read()

    def _read(self) -> None:
        """Read a page of the rows to review in the background."""
        run, columns = self._run, self._columns
        code, start, prefix = self.reason.value or None, self._start, self._prefix
        if run is None or run.written is None:
            return
        path, counts = run.written, run.totals.review
        self._requested += 1
        number, self._reading = self._requested, True

        def work() -> tuple[tuple[ReviewRow, ...], bool]:
            ranked = counts.ranked(code)
            page = ranked.part(start, start + _PAGE)
            more = len(ranked.numbers) > start + _PAGE
            return rows_to_review(path, page, columns=columns, prefix=prefix), more

        def done(page: tuple[tuple[ReviewRow, ...], bool]) -> None:
            if number == self._requested:  # else another reason was chosen meanwhile
                self._reading = False
                self._draw(*page)

        def failed(error: BaseException) -> None:
            if number == self._requested:
                self._reading = False
                self.message.show_trouble(error)

        self._session.background.start(work, done=done, failed=failed)

    def _draw(self, page: Sequence[ReviewRow], more: bool) -> None:  # noqa: FBT001 - by its name
        """Show a page of rows to review, and enable the buttons that lead to others."""
        last = self._start + len(page)
        self.before.disabled, self.after.disabled = self._start == 0, not more
        set_visible(self._pages, more or self._start > 0)
        # the reason before the place: it is seen where the page is narrow, too
        first, *others = map(plain, self._columns)
        heads: tuple[Head, ...] = (
            number("Dollars"),
            number("Row"),
            first,
            "Status",
            number("Rate"),
            prose("Why"),
            *others,
        )
        rows = [
            (
                *(_in_dollars(row.dollars), f"{row.number:,}", plain(row.cells[0]), row.status),
                *(_percent(row.rate), _why(row), *map(plain, row.cells[1:])),
            )
            for row in page
        ]
        which = f"{self._start + 1:,} to {last:,}, the most dollars first"
        caption = f"Rows to review: {which}" if rows else "No such rows"
        self.review.value = titled_table_html(heads, rows, caption)

    def _url(self, path: Path) -> str | None:
        """Where the page's host serves the file, if it does."""
        if self._session.files_url is None:
            return None
        try:
            below = path.resolve().relative_to(self._session.folder.resolve())
        except ValueError:
            return None
        return self._session.files_url + quote(below.as_posix())


def _meaning(code: str) -> str:
    """A code in words; one that is not known here stays as it is."""
    return capital(meaning_of(code)) or code


def _choice(what: str, rows: int, stake: Decimal | None) -> str:
    """A choice of rows to review, with how many they are and the dollars at stake."""
    known = "" if stake is None else f", {exact_dollars(stake)}"
    return f"{what} ({counted(rows, 'row')}{known})"


def _in_dollars(stake: Decimal | None) -> str:
    return NOTHING if stake is None else exact_dollars(stake)


def _percent(rate: str) -> str:
    """A rate for people: 0.08250 is 8.25%."""
    return percent(Decimal(rate)) if rate else NOTHING


_MANY = 200
"""Characters of a reason that are shown; a service may send a whole page."""


def _why(row: ReviewRow) -> str:
    """The most urgent reason, and the error of the row."""
    first, *further = row.codes
    reasons = [meaning_of(first) or first]
    if row.error:  # a code, or a sentence about a field
        known = CODES.get(row.error)
        reasons.append(known.meaning if known else _cut(row.error))
    reasons += [counted(len(further), "further reason")] if further else []
    return " ".join(dict.fromkeys(map(reason_in_words, reasons)))


def _cut(text: str) -> str:
    return text if len(text) <= _MANY else f"{text[: _MANY - 1]}…"


def _summary(run: FileRun) -> str:
    parts = [counted(run.totals.rows, "row"), places_and_dates(run.places)]
    parts += [f"{run.cached:,} of them from the cache"] if run.cached else []
    parts += [f"{run.asked:,} looked up at {the_service(run.service)}"] if run.asked else []
    return f"<p>{escape(', '.join(parts))}; {duration(run.seconds)}.</p>"


def _statuses(run: FileRun) -> str:
    counts = run.totals.statuses
    rows = [
        (name, f"{counts[name]:,}", capital(meaning_of(name))) for name in STATUSES if counts[name]
    ]
    if not rows:
        return ""
    return titled_table_html(("Status", number("Rows"), prose("Meaning")), rows, "Rows by status")


def _money(run: FileRun) -> str:
    """The sums of a run that computed tax, as an HTML table; empty where it computed none."""
    totals = run.totals
    if totals.taxed is None:
        return ""
    rows = [
        ("Rows with a tax", f"{totals.taxed:,}"),
        ("Their sales, dollars", f"{totals.sales:,.2f}"),
        ("Their tax, dollars", f"{totals.tax:,.2f}"),
    ]
    if totals.delivery is not None:
        rows.insert(2, ("Their delivery, dollars", f"{totals.delivery:,.2f}"))
    if totals.at_stake:
        rows.append((f"{RANGE_LABEL}, dollars", f"{totals.at_stake:,.2f}"))
    untaxed = totals.untaxed.total()
    if untaxed:
        rows.append(("Rows with a rate and no tax (tax_error says why)", f"{untaxed:,}"))
    left = totals.rows - totals.taxed - untaxed
    if left:
        rows.append(("Rows without a tax, because they have no whole rate", f"{left:,}"))
    return titled_table_html((prose("What"), number("Sum")), rows, "Tax")


class FileProgress(Meter):
    """Progress of the stages of a run; it is called in the run's own thread.

    Attributes:
        bar: how much is done, from 0 to 1.
        text: the same in figures.
    """

    def __init__(self, background: Background) -> None:
        self._background = background
        self.bar = ipywidgets.FloatProgress(min=0.0, max=1.0, layout={"width": "100%"})
        self.text = ipywidgets.HTML()
        self.view = ipywidgets.VBox([self.bar, self.text])
        self.view.add_class("svc-progress")
        self.hide()

    def show(self, words: str) -> None:
        """Show the bar, empty, and these words, and mark the page as busy."""
        self._draw(0.0, words)
        set_visible(self.view, visible=True)
        self.view.add_class("svc-busy")

    def hide(self) -> None:
        """Hide the bar: the work is over."""
        set_visible(self.view, visible=False)
        self.view.remove_class("svc-busy")

    def start(self, name: str, total: int | None, unit: str) -> None:
        """Show a stage."""
        super().start(name, total, unit)
        self.draw()

    def draw(self) -> None:
        """Show how far the stage is."""
        self._background.deliver(self._draw, self.share, f"{self.name}: {self.figures}")

    def done(self) -> None:
        """Show the end of the stage."""
        self.draw()

    def _draw(self, share: float, words: str) -> None:
        self.bar.value = share
        self.text.value = f"<p>{escape(words)}</p>"
