"""The tab "File": choose a file, check its columns, run it, download the result.

Its steps are those of a `FileJob`, which `enrich_file` takes one after the other, and which the
tab shows as a call of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import ipywidgets

from svc_tools.base.operating_system import typed
from svc_tools.config import EmbeddedSvc
from svc_tools.frames.files.enriching import view_of_file
from svc_tools.frames.files.job import FileJob
from svc_tools.frames.files.rates import Terms
from svc_tools.frames.lookup.sources import source_for
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.options import (
    FILES,
    GROUPS,
    OF_FILE,
    PLACES,
    FileOptions,
    LookupOptions,
    TaxOptions,
    flag_of,
    option_rows,
)
from svc_tools.lookup.outcomes import STOPPED
from svc_tools.lookup.plan import MANY_LOOKUPS
from svc_tools.lookup.troubles import Trouble
from svc_tools.show.display import capital, counted
from svc_tools.tables.roles import ColumnAmbiguous
from svc_tools.widgets.file_input import (
    NO_TAX,
    ColumnsForm,
    FileChoice,
    field_of,
    file_trouble,
    reason_in_words,
)
from svc_tools.widgets.file_result import FileProgress, FileResult, PlanView
from svc_tools.widgets.parts import (
    NO_SERVICE,
    CodeView,
    MessageArea,
    Name,
    as_code,
    button,
    field,
    heading,
    line,
    set_visible,
)
from svc_tools.widgets.question_menus import open_questions
from svc_tools.widgets.transfers import free_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_sdk import Svc
    from svc_tools.frames.files.enriching import FileView
    from svc_tools.frames.files.result import FileRun
    from svc_tools.lookup.options import WrittenAs
    from svc_tools.lookup.plan import Plan
    from svc_tools.widgets.session import PanelJob, Session

_RATES, _TAX = "Add rates", "Add rates and tax"
_OTHER_SERVICE = "Another service is used now, and the file is to be read again for it."

_T = TypeVar("_T")


class FileTab:
    """Enrich a file."""

    def __init__(self, session: Session) -> None:
        """Build the tab and connect its buttons; its parts stay hidden until a file is open."""
        self.session = session
        self.choice = FileChoice(session, self._open, self._failed)
        self.columns = ColumnsForm(self._changed, self._answered)
        self.target = ipywidgets.Text(description="Save the result as")
        self.run_button = button(_RATES)
        self.plan_button = button("Show the plan", "plain")
        self.plan = PlanView()
        self.stop_button = button("Stop", "danger")
        self.progress = FileProgress(session.background)
        self.message = MessageArea()
        self.result = FileResult(session, self._write_workbook)
        self.code = CodeView()
        self._suggested = ""
        self._job: FileJob | None = None
        self._planned_for: Svc | None = None
        self._surveyed: _Work | None = None
        self._asked: _Work | None = None  # while what it left open is to be answered
        self._work: PanelJob | None = None
        self._is_running = False
        self._stop: threading.Event | None = None
        help_of_target = (
            "A path on this machine that ends in .csv, .xlsx or .parquet; no file is ever"
            " replaced. Empty: it is stored in the panel's folder, for download."
        )
        buttons = line(self.run_button, self.plan_button)
        self._mapping = ipywidgets.VBox(
            [self.columns.view, field(self.target, help_of_target), buttons]
        )
        parts = [heading("File"), self.choice.view, self._mapping]
        parts += [self.progress.view, line(self.stop_button), self.message]
        parts += [self.plan.view, self.result.view, self.code]
        self.view = ipywidgets.VBox(parts)
        self.target.observe(lambda _: self._changed(), "value")
        self.plan_button.on_click(lambda _: self._survey(go_on=False))
        self.run_button.on_click(lambda _: self._run())
        self.stop_button.on_click(lambda _: self._end())
        session.on_change(self._changed)
        set_visible(self._mapping, visible=False)
        self._idle()

    # the steps

    def _open(self) -> None:
        """Open the chosen file."""
        path, reading = self.choice.current, self.choice.reading()
        if path is None:
            return
        self._forget()
        set_visible(self._mapping, visible=False)
        self._start(f"Opening {path.name}…", lambda: view_of_file(path, reading), self._opened)

    def _opened(self, view: FileView) -> None:
        self.columns.show(view)
        self._name_run()
        self.choice.offer(view)
        self._suggest(view.path)
        set_visible(self._mapping, visible=True)
        notes = (reason_in_words(text, view.path.name) for text in view.notes)
        sheets = "Choose another sheet under “How the file is read”." if view.sheets[1:] else ""
        what = "" if view.export is None else f": {view.export.name}"
        asked = f"{open_questions(view.questions)} Choose above." if view.questions else ""
        opened = [f"{view.path.name} is open{what}.", *notes, sheets, asked]
        self.message.show_note(" ".join(filter(None, opened)))

    def _run(self) -> None:
        """Look up what is not cached, and write the result."""
        if self._is_running:
            return
        client = self._planned_for
        if self._job is None or client is None:
            self._survey(go_on=True)
        elif client is not self.session.client:
            self._forget(result=False)
            self.message.show_note(_OTHER_SERVICE)
        elif self._asked is not None:
            self._go_on(self._job, client, self._asked)
        else:
            self._look_up(self._job, client)

    def _go_on(self, job: FileJob, client: Svc, asked: _Work) -> None:
        """Go on with the answers to what the job left open; nothing is looked up again."""
        self.columns.mark(None)
        try:
            work = self._chosen(job.source)
        except (ValueError, OSError) as error:
            self._failed(error)
            return
        if work.apart_from_tax != asked.apart_from_tax:  # the places may be others now
            self._survey(go_on=True)
            return
        self._show_code(work)
        self._look_up(job, client, work.terms)

    def _survey(self, *, go_on: bool) -> None:
        """Read the file once, which sends no request: for its plan, or to go on with the run."""
        if self._is_running:
            return
        client, source = self.session.client, self.choice.current
        self._forget()
        self.columns.mark(None)
        if client is None or source is None:
            self.message.show_trouble(NO_SERVICE)
            return
        if self.target.value == self._suggested:
            self._suggest(source)
        try:
            chosen = self._chosen(source)
            self._show_code(chosen)
        except (ValueError, OSError) as error:
            self._failed(error)
            return
        self._surveyed = chosen
        output, terms, reading = chosen.output, chosen.terms, chosen.reading
        stop, self._planned_for = threading.Event(), client

        def work() -> tuple[FileJob, Plan] | None:
            files = replace(reading, progress=self.progress)
            job = FileJob(source, output, terms, files, ranked=True)
            with ExitStack() as unless_planned:
                unless_planned.callback(job.rows.close)
                if stop.is_set() or not job.survey(stop).whole:
                    return None
                plan = _plan_of(job, client)
                unless_planned.pop_all()
                return job, plan

        def done(planned: tuple[FileJob, Plan] | None) -> None:
            self._planned(planned, go_on=go_on)

        self._start("Reading the file…", work, done, stop)

    def _chosen(self, source: Path) -> _Work:
        """What is to be done, by the fields.

        Raises:
            ValueError: a field was left open, or cannot be used.
        """
        of_lookup = {**self.columns.lookup(), **self.columns.settings(LookupOptions)}
        terms = Terms.of("lookup", of_lookup, self.columns.tax())
        return _Work(source, self._output(source), terms, self.choice.reading())

    def _show_code(self, work: _Work) -> None:
        self.code.show(_code_of(self.session.code, work), _command_of(self.session, work))

    def _planned(self, planned: tuple[FileJob, Plan] | None, *, go_on: bool) -> None:
        """Show a plan that was made; with `go_on`, look up at once where that is cheap enough.

        A plan for a service that is no longer used is dropped.
        """
        client = self._planned_for
        if planned is None:
            self.message.show_note("Stopped; nothing was looked up.")
            return
        self._job, plan = planned
        if client is None or client is not self.session.client:
            self._forget()
            self.message.show_note(_OTHER_SERVICE)
            return
        go_on &= isinstance(client, EmbeddedSvc) or (
            plan.to_ask <= MANY_LOOKUPS and plan.fits_quota is not False
        )
        if go_on:
            self._look_up(self._job, client)
            return
        self.plan.show(plan, self._job.source.name, self._job.layout)
        self._idle()
        self.message.show_note(
            f"This is the plan. Nothing was looked up yet; “{self.run_button.description}” does"
            " that."
        )

    def _look_up(self, job: FileJob, client: Svc, answered: Terms | None = None) -> None:
        """Run the job in the background: look up the places, or go on with the given answers.

        Writes the result to a free path; `_ran` gets what the run returns.
        """
        stop = threading.Event()
        self.result.hide()

        def work() -> tuple[FileRun, Plan]:
            started = time.monotonic()
            if job.output.exists():  # the result of an earlier run is not replaced
                job.write_to(_free(job.output))
            if answered is not None:
                job.answer(answered.tax)
            if answered is None or not job.looked_up:
                with opened_cache(of=client) as cache:
                    job.resolve(source_for(client, cache, job.terms.lookup), stop=stop)
            return job.finish(started, stop), _plan_of(job, client)

        words = "Looking up…" if answered is None else "Going on…"
        self._start(words, work, self._ran, stop, waits=True)

    def _ran(self, ran: tuple[FileRun, Plan]) -> None:
        """Show how a run ended: its result, what it left open, and what can be done now."""
        run, plan = ran
        self._asked = None
        if self._job is None:
            return
        layout = self._job.layout
        if layout.source is not None:
            self.columns.show_source(layout.source)
        if run.stopped is None:
            self.plan.hide()
        else:
            self.plan.show(plan, self._job.source.name, layout)
        names = self._job.rows.schema.names[:1]  # often the number of the order
        names += [str(label) for label in layout.inputs.columns.values()]
        self.result.show(run, layout, names, self._job.terms.lookup.prefix)
        self._name_run(resumes=run.stopped is not None)
        if run.stopped == STOPPED:  # the button that was pressed is gone, and the focus with it
            self.run_button.focus()
        below = run.written is not None and self.session.folder in run.written.parents
        message = _run_message(run, temporary=below and not self.session.folder_stays)
        if isinstance(message, Trouble):
            self.message.show_trouble(message)
        else:
            self.message.show_note(message)

    def _write_workbook(self) -> None:
        """Write the result as an Excel workbook too; no request is sent."""
        job, written = self._job, self.result.written
        if job is None or written is None or self._is_running:
            return
        stop = threading.Event()

        def work() -> Path | None:
            before = job.output
            name = written.with_suffix(".xlsx")
            job.write_to(_free(name.with_stem(name.stem.removesuffix("-incomplete"))))
            try:
                return job.finish(time.monotonic(), stop).written
            finally:
                job.write_to(before, force=True)

        def done(path: Path | None) -> None:
            if path is None:
                self.message.show_note("It was stopped; no workbook was written.")
            else:
                self.result.show_workbook(path)
                self.message.show_note(f"The workbook is written: {path.name}.")

        self._start("Writing the workbook…", work, done, stop, waits=True)

    def _end(self) -> None:
        """Stop what runs."""
        if self._stop is not None:
            self._stop.set()
        self.stop_button.disabled = True
        self.message.show_note("Stopping; what was found is stored.")
        if not self._waits and self._work is not None:
            self._work.cancel()
            self._idle()
            self.message.show_note("Stopped; nothing was looked up.")

    # the work under way

    def _start(
        self,
        words: str,
        work: Callable[[], _T],
        done: Callable[[_T], object],
        stop: threading.Event | None = None,
        *,
        waits: bool = False,
    ) -> None:
        """Run some work in the background; until it is over, nothing else can be started.

        Args:
            words: what is being done.
            work: the work.
            done: takes its result.
            stop: set by the button "Stop".
            waits: whether a stop waits for the result, which holds what was found so far.
        """
        self._stop, self._waits, self._is_running = stop, waits, True
        self.message.clear()
        self._enable(idle=False)
        self.progress.show(words)

        def finished(result: _T) -> None:
            self._idle()
            done(result)

        def failed(error: BaseException) -> None:
            self._idle()
            self._failed(error)

        self._work = self.session.background.start(work, done=finished, failed=failed)

    def _idle(self) -> None:
        """Nothing runs: enable the page."""
        self._stop, self._waits, self._is_running = None, False, False
        self.progress.hide()
        self._enable(idle=True)

    def _enable(self, *, idle: bool) -> None:
        self.choice.set_enabled(enabled=idle)
        self.columns.set_enabled(enabled=idle)
        self.target.disabled = not idle
        # the other buttons stay enabled and do nothing meanwhile: disabled they lose the focus
        self.stop_button.disabled = idle
        set_visible(self.stop_button, not idle)

    def _failed(self, error: BaseException) -> None:
        if self.choice.current is None:
            self.message.show_trouble(error)
            return
        if self._mapping.layout.display == "none":  # it could not be opened as it was
            self.choice.options.reveal(opened=True)
        if isinstance(error, ColumnAmbiguous) and not error.alike:
            self._ask(error)
            return
        trouble = file_trouble(error, self.choice.current.name)
        self.message.show_trouble(trouble)
        self.columns.mark(field_of(error), trouble.text)

    def _ask(self, error: ColumnAmbiguous) -> None:
        """Show the questions that came up, before anything was looked up, or after it."""
        after = self._job is not None and self._job.looked_up
        if after:
            self._asked = self._surveyed
        self.columns.ask(error.questions)
        self._name_run()
        self.code.show("")
        reuse = "Every place is looked up, and none is looked up again." if after else ""
        press = f"Choose above, then press “{self.run_button.description}”."
        self.message.show_note(f"{open_questions(error.questions)} {press} {reuse}".strip())

    def _answered(self) -> None:
        """A question was answered."""
        self._changed()
        waits = not self._is_running and (self._job is None or self._asked is not None)
        if waits and not self.columns.questions.is_open:
            press = f"press “{self.run_button.description}”."
            self.message.show_note(f"Every question is answered: {press}")

    def _changed(self) -> None:
        """A setting was changed: the plan is no longer valid."""
        self._name_run()
        if self._asked is not None and self._planned_for is self.session.client:
            return  # what it is about is compared when the run goes on
        if self._job is not None and not self._is_running:
            self._forget(result=False)
            below = "The result below" if self.result.written else "The plan"
            self.message.show_note(f"Something was changed. {below} is of before.")

    def _name_run(self, *, resumes: bool = False) -> None:
        """Name the button by what it does now."""
        taxed = self.columns.roles["amount"].value not in {None, NO_TAX}
        resumes |= self._asked is not None
        self.run_button.description = "Go on" if resumes else _TAX if taxed else _RATES

    def _forget(self, *, result: bool = True) -> None:
        """Close the file and drop its plan; with `result` hide the result too."""
        if self._job is not None:
            self._job.rows.close()
        self._job = self._asked = None
        self._name_run()
        self.plan.hide()
        if result:
            self.result.hide()
        else:
            self.result.close()
        self.code.show("")
        self.message.clear()
        self._enable(idle=not self._is_running)

    def _suggest(self, source: Path) -> None:
        """Suggest where the result is written: to a file that does not exist."""
        usual = _result_of(source, source.parent)
        self._suggested = "" if self.choice.uploaded else str(_free(usual))
        self.target.value = self._suggested

    def _output(self, source: Path) -> Path:
        """Where the result is to be written."""
        text = self.target.value.strip()
        if text:
            return Path(text).expanduser()
        folder = self.session.folder / "results"
        folder.mkdir(mode=0o700, exist_ok=True)
        return _free(_result_of(source, folder))


@dataclass(frozen=True, slots=True)
class _Work:
    """What is to be done with a file."""

    source: Path
    output: Path
    terms: Terms
    reading: FileOptions

    @property
    def apart_from_tax(self) -> tuple[object, ...]:
        """What the survey and the lookup of a file depend on."""
        invoice = (self.terms.tax or {}).get("invoice")
        return self.source, self.output, self.terms.lookup, self.reading, invoice


def _plan_of(job: FileJob, client: Svc) -> Plan:
    with opened_cache(of=client) as cache:
        return job.plan(source_for(client, cache, job.terms.lookup))


def _result_of(source: Path, folder: Path) -> Path:
    """The usual path of a result; its name has at most 100 bytes of the source's."""
    stem = source.name.lower().removesuffix(".gz")
    stem = source.name[: len(Path(stem).stem)]
    return folder / f"{stem.encode()[:100].decode(errors='ignore')}-rates.csv"


def _free(path: Path) -> Path:
    """This path, or one with a number where the file exists."""
    return next(
        candidate for candidate in free_name(path.parent, path.name) if not candidate.exists()
    )


def _given(terms: Terms, *groups: str) -> dict[str, object]:
    """What is not left as it is of the lookup's options about these subjects, but the places."""
    given, rows = _changed(terms.lookup), option_rows(LookupOptions)
    given |= {"tz": str(given["tz"])} if "tz" in given else {}
    names = [name for name in dict.fromkeys(("date_format", *OF_FILE)) if name in given]
    return {name: given[name] for name in names if rows[name].group in groups}


def _changed(options: LookupOptions | FileOptions) -> dict[str, object]:
    """Those options that are not left as they are."""
    given = {entry.name: (getattr(options, entry.name), entry.default) for entry in fields(options)}
    return {name: value for name, (value, default) in given.items() if value != default}


def _code_of(connected: str, work: _Work) -> str:
    """The call of `enrich_file` that does what the tab does, with the code that connects."""
    terms = work.terms
    call = as_code(
        "enrich_file",
        work.source,
        work.output,
        lookup={name: of for name, of in terms.lookup.given.items() if of is not None} or None,
        tax=None if terms.tax is None else dict(terms.tax),
        **_given(terms, *GROUPS),
        **_changed(work.reading),
        client=Name("client"),
    )
    imported, client = connected.split("\n\n")
    return f"{imported}\nfrom svc_tools.frames import enrich_file\n\n{client}\nrun = {call}"


def _command_of(session: Session, work: _Work) -> str:
    """The command that does what the tab does; it takes the key from the environment."""
    terms = work.terms
    words = ["svc-tools", "enrich", str(work.source), "-o", str(work.output), *session.options]
    of_places = {**terms.lookup.given, **_given(terms, PLACES)}
    for rows, given in (
        (option_rows(LookupOptions), of_places),
        (option_rows(TaxOptions), terms.tax or {}),
        (option_rows(LookupOptions), _given(terms, FILES)),
        (option_rows(FileOptions), _changed(work.reading)),
    ):
        for name, value in given.items():
            words += _words(flag_of(name, rows[name]), rows[name].form, value)
    words += ["--no-tax"] if terms.tax is None else []
    return typed(words)


def _words(flag: str, form: WrittenAs, value: object) -> list[str]:
    """An option as the words of the command."""
    if value is None:
        return []
    if form == "yes or no":
        return [flag, "yes" if value else "no"]
    if value is True:
        return [flag]
    if value is False:
        return ["--without", flag.removeprefix("--")]
    if isinstance(value, Mapping):
        each = [f"{label}={what}" for label, what in value.items()]
    else:
        each = [*map(str, value)] if isinstance(value, list | tuple) else [str(value)]
    each = [",".join(each)] if form == "names" else each
    words = ([f"{flag}={text}"] if text.startswith("-") else [flag, text] for text in each)
    return [word for some in words for word in some]


def _run_message(run: FileRun, *, temporary: bool) -> Trouble | str:
    """How a run ended, and what can be done now.

    Args:
        run: the run.
        temporary: whether the result is deleted with the panel.
    """
    if run.stopped is None:
        if not temporary:
            return _done(run)
        return f"{_done(run)} Download the result: it is deleted when the panel's kernel ends."
    left = run.totals.rows_where(lambda status: status.left)
    file = "No file was written."
    if run.written is not None:
        open_rows = f"; {counted(left, 'row')} are still to be looked up" if left else ""
        file = f"What was found is in {run.written.name}{open_rows}."
    again = "“Go on” looks up only what is left: every result is cached."
    if run.computed:
        again = "“Go on” begins again: nothing is requested for it."
    elif not run.resumable:
        again = "No cache stores the results, so “Go on” looks up all places again."
    if run.interrupted:
        return f"It was stopped. {file} {again}"
    return Trouble("The run ended early", f"{capital(run.stopped)}. {file}", again)


def _done(run: FileRun) -> str:
    totals = run.totals
    if run.all_known and not totals.review.rows:
        rows = "row of which tax is due" if totals.not_due_open else "row"
        rated = f"Every {rows} has a whole rate"
        return f"{rated}." if totals.taxed is None else f"{rated} and its tax."
    failed = totals.rows_where(lambda status: status.failed)
    button = _RATES if totals.taxed is None else _TAX
    again = f" “{button}” looks up again only what failed: {counted(failed, 'row')}."
    listed = f"{counted(totals.review.rows, 'row')} of {totals.rows:,} to review"
    if totals.review.rows:
        listed += ": the table below says why"
    return f"Done. {listed}.{again if failed else ''}"
