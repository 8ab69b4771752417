"""The tab "File": choose a file, check its columns, run it, download the result.

Its steps are those of a `FileJob`, which `enrich_file` takes one after the other, and which the
tab shows as a call of it.
"""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import ipywidgets

from svc_tools.config import EmbeddedSvc
from svc_tools.display import capital, counted
from svc_tools.frames.files.enriching import view_of_file
from svc_tools.frames.files.job import FileJob
from svc_tools.frames.files.rates import Terms
from svc_tools.frames.options import LookupOptions
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.outcomes import STOPPED, Trouble
from svc_tools.lookup.plan import MANY_LOOKUPS
from svc_tools.operating_system import typed
from svc_tools.widgets.file_input import (
    NO_TAX,
    ColumnsForm,
    FileChoice,
    Reading,
    field_of,
    file_trouble,
    in_words,
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
from svc_tools.widgets.transfers import free_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc_sdk import Svc
    from svc_tools.frames.files.enriching import FileView
    from svc_tools.frames.files.result import FileRun
    from svc_tools.lookup.plan import Plan
    from svc_tools.widgets.session import Job, Session

_RATES, _TAX = "Add rates", "Add rates and tax"
_OTHER_SERVICE = "Another service is used now, and the file is to be read again for it."

T = TypeVar("T")


class FileTab:
    """Enrich a file."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.choice = FileChoice(session, self._open, self._failed)
        self.columns = ColumnsForm(self._changed)
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
        self._work: Job | None = None
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
        self._start(f"Opening {path.name}…", lambda: view_of_file(path, **reading), self._opened)

    def _opened(self, view: FileView) -> None:
        self.columns.show(view)
        self._name_run()
        self.choice.offer(view)
        self._suggest(view.path)
        set_visible(self._mapping, visible=True)
        notes = (in_words(text, view.path.name) for text in view.notes)
        sheets = "Choose another sheet under “How the file is read”." if view.sheets[1:] else ""
        what = "" if view.export is None else f": {view.export.name}"
        opened = [f"{view.path.name} is open{what}.", *notes, sheets]
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
        else:
            self._look_up(self._job, client)

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
        reading = self.choice.reading()
        try:
            options = LookupOptions(
                **self.columns.lookup(),  # type: ignore[arg-type]  # checked there
                prefix=self.columns.prefix.value.strip(),
                tz=self.columns.zone(),
                date_format=self.columns.written(),
            )
            terms = Terms(options, self.columns.tax())
            output = self._output(source)
            self.code.show(
                _code_of(self.session.code, source, output, terms, reading),
                _command_of(self.session, source, output, terms, reading),
            )
        except (ValueError, OSError) as error:
            self._failed(error)
            return
        stop, self._planned_for = threading.Event(), client

        def work() -> tuple[FileJob, Plan] | None:
            job = FileJob(source, output, terms, ranked=True, progress=self.progress, **reading)
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

    def _planned(self, planned: tuple[FileJob, Plan] | None, *, go_on: bool) -> None:
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
        self.plan.show(plan, self._job.source.name, self._job.layout.inputs)
        self._idle()
        self.message.show_note(
            f"This is the plan. Nothing was looked up yet; “{self.run_button.description}” does"
            " that."
        )

    def _look_up(self, job: FileJob, client: Svc) -> None:
        stop = threading.Event()
        self.result.hide()

        def work() -> tuple[FileRun, Plan]:
            started = time.monotonic()
            if job.output.exists():  # the result of an earlier run is not replaced
                job.aim(_free(job.output))
            with opened_cache() as cache:
                job.look_up(client, cache, stop=stop)
            return job.finish(started, stop), _plan_of(job, client)

        self._start("Looking up…", work, self._ran, stop, waits=True)

    def _ran(self, ran: tuple[FileRun, Plan]) -> None:
        run, plan = ran
        if self._job is None:
            return
        inputs = self._job.layout.inputs
        if run.stopped is None:
            self.plan.hide()
        else:
            self.plan.show(plan, self._job.source.name, inputs)
        names = self._job.rows.schema.names[:1]  # often the number of the order
        names += [str(label) for label in inputs.columns.values()]
        self.result.show(run, inputs, names, self._job.terms.lookup.prefix)
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
            job.aim(_free(name.with_stem(name.stem.removesuffix("-incomplete"))))
            try:
                return job.finish(time.monotonic(), stop).written
            finally:
                job.aim(before, force=True)

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
        work: Callable[[], T],
        done: Callable[[T], object],
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

        def finished(result: T) -> None:
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
        trouble = file_trouble(error, self.choice.current.name)
        self.message.show_trouble(trouble)
        self.columns.mark(field_of(error), trouble.text)

    def _changed(self) -> None:
        """A setting was changed: the plan is no longer valid."""
        self._name_run()
        if self._job is not None and not self._is_running:
            self._forget(result=False)
            below = "The result below" if self.result.written else "The plan"
            self.message.show_note(f"Something was changed. {below} is of before.")

    def _name_run(self, *, resumes: bool = False) -> None:
        """Name the button by what it does now."""
        taxed = self.columns.roles["amount"].value not in {None, NO_TAX}
        self.run_button.description = "Go on" if resumes else _TAX if taxed else _RATES

    def _forget(self, *, result: bool = True) -> None:
        """Close the file and drop its plan; with `result` hide the result too."""
        if self._job is not None:
            self._job.rows.close()
        self._job = None
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


def _plan_of(job: FileJob, client: Svc) -> Plan:
    with opened_cache() as cache:
        return job.plan(client, cache)


def _result_of(source: Path, folder: Path) -> Path:
    """The usual path of a result; its name has at most 100 bytes of the source's."""
    stem = source.name.lower().removesuffix(".gz")
    stem = source.name[: len(Path(stem).stem)]
    return folder / f"{stem.encode()[:100].decode(errors='ignore')}-rates.csv"


def _free(path: Path) -> Path:
    """This path, or one with a number where the file exists."""
    return next(one for one in free_name(path.parent, path.name) if not one.exists())


def _code_of(connected: str, source: Path, output: Path, terms: Terms, reading: Reading) -> str:
    """The call of `enrich_file` that does what the tab does, with the code that connects."""
    call = as_code(
        "enrich_file",
        source,
        output,
        lookup={name: of for name, of in terms.lookup.given.items() if of is not None} or None,
        tax=None if terms.tax is None else dict(terms.tax),
        date_format=terms.lookup.date_format,
        tz=None if terms.lookup.tz is None else str(terms.lookup.tz),
        prefix=terms.lookup.prefix or None,
        **reading,
        client=Name("client"),
    )
    imported, client = connected.split("\n\n")
    return f"{imported}\nfrom svc_tools.frames import enrich_file\n\n{client}\nrun = {call}"


def _command_of(
    session: Session, source: Path, output: Path, terms: Terms, reading: Reading
) -> str:
    """The command that does what the tab does; it takes the key from the environment."""
    given = {name: of for name, of in terms.lookup.given.items() if of is not None}
    tax = terms.tax or {}
    words = ["svc-tools", "enrich", str(source), "-o", str(output), *session.options]
    for name, value in {
        **given,
        "date_format": terms.lookup.date_format,
        "tz": terms.lookup.tz,
        **{"tax" if name == "amount" else name: of for name, of in tax.items()},
        "prefix": terms.lookup.prefix or None,
        **reading,
    }.items():
        if value is not None and value is not False:
            option = f"--{name.replace('_', '-')}"
            words += [f"{option}={value}"] if str(value).startswith("-") else [option, str(value)]
    left_out = [name for name, of in {**given, **tax}.items() if of is False]
    words += [word for name in left_out for word in ("--without", name)]
    words += ["--no-tax"] if terms.tax is None else []
    return typed(words)


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
    left = run.totals.statuses["not_attempted"]
    there = "No file was written."
    if run.written is not None:
        open_rows = f"; {counted(left, 'row')} are still to be looked up" if left else ""
        there = f"What was found is in {run.written.name}{open_rows}."
    again = "“Go on” looks up only what is left: every result is cached."
    if not run.resumable:
        again = "No cache stores the results, so “Go on” looks up all places again."
    if run.interrupted:
        return f"It was stopped. {there} {again}"
    return Trouble("The run ended early", f"{capital(run.stopped)}. {there}", again)


def _done(run: FileRun) -> str:
    totals = run.totals
    if run.all_known and not totals.review.rows:
        rated = "Every row has a whole rate"
        return f"{rated}." if totals.taxed is None else f"{rated} and its tax."
    failed = totals.statuses["failed"]
    button = _RATES if totals.taxed is None else _TAX
    again = f" “{button}” looks up again only what failed: {counted(failed, 'row')}."
    return (
        f"Done. {counted(totals.review.rows, 'row')} of {totals.rows:,} to review: the table below"
        f" says why.{again if failed else ''}"
    )
