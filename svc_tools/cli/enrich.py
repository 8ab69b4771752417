"""`svc-tools enrich`: add rates and tax to the rows of a file, also one larger than memory.

The summary fits 80 columns, and 50. Progress is one line on a terminal, and a line now and then in
a log.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path  # noqa: TC003 - Typer reads the annotations
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn

from svc_tools.base.operating_system import is_closed_pipe
from svc_tools.cli.answers import answers, in_python, optional_columns, parameters, refuse_both
from svc_tools.cli.common import (
    ASKS,
    INTERRUPTED,
    NO_RESULT,
    Service,
    explained,
    grouped,
)
from svc_tools.lookup.options import (
    PLACES,
    ROLES,
    RUN,
    TAX,
    FileOptions,
    LookupOptions,
    TaxOptions,
    flag_of,
    option,
    option_rows,
)
from svc_tools.show.display import print_line, print_table, print_text, prose, show
from svc_tools.show.meters import Meter, say

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from svc_tools.frames.files.job import FileJob
    from svc_tools.frames.files.rates import Terms
    from svc_tools.frames.files.result import FileRun
    from svc_tools.frames.lookup.sources import ResultSource
    from svc_tools.lookup.plan import Plan

_EVERY = 30.0
"""Seconds between two lines in a log."""
_EVERY_ON_TERMINAL = 0.5
_NARROW = 60


_OF_TAX = optional_columns(TaxOptions)


@dataclass(frozen=True, kw_only=True)
class Run:
    """The options of the command alone."""

    without: Sequence[str] | None = option(
        None,
        "Leave one of these out, such as city.",
        PLACES,
        kind=list[str] | None,
        after="country",
    )
    no_tax: bool = option(False, "Add no tax.", TAX, after="amount")
    plan: bool = option(False, "Count the requests, send none.", RUN, after="locked")
    price: str | None = option(None, "Dollars a lookup, for --plan.", RUN, after="plan")
    yes: bool = option(False, "Do not ask to confirm.", RUN)
    as_json: bool = option(False, "The summary as JSON.", RUN, flag="--json")
    quiet: bool = option(False, "Only errors.", RUN)
    strict: bool = option(False, "Exit 1 unless every row is ready.", RUN)

    def left_out(self, names: Collection[str]) -> dict[str, object]:
        """`False` for those of these arguments that are left out."""
        without = [name.replace("-", "_") for name in self.without or []]
        known = (*ROLES, *_OF_TAX)
        if unknown := [name for name in without if name not in known]:
            raise ValueError(f"--without {unknown[0]}: expected one of {', '.join(known)}")
        return dict.fromkeys([name for name in without if name in names], False)

    def tax(self, given: dict[str, Any]) -> dict[str, Any] | None:
        """The arguments of the tax that were given; `None` for no tax."""
        if self.no_tax and given:
            name = next(iter(given))
            flag = flag_of(name, option_rows(TaxOptions)[name])
            raise ValueError(f"{flag} is for a tax, and --no-tax leaves the tax out")
        if {"exempt", "taxable"} <= given.keys():
            raise ValueError("--exempt and --taxable both say what is not taxed; leave one out")
        return None if self.no_tax else given


@partial(grouped, given=parameters(LookupOptions, TaxOptions, FileOptions, Run))
def enrich(
    source: Annotated[Path, typer.Argument(help="A .csv, .tsv, .xlsx or .parquet file.")],
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The .csv, .xlsx or .parquet file to write; - prints."),
    ],
    *,
    given: dict[str, Any],
    service: Service,
) -> None:
    """Add the rate and the tax to every row of a file.

    The exports of shops are recognized (docs/SHOPS.md); other columns are
    found by their usual names, else name them. Your own columns
    stay as they are; a CSV is text throughout, so no ZIP loses its zero. Each
    distinct place is looked up once, and requested results are cached: run it
    again after an interrupt, and it requests only the rest. The output appears
    whole or not at all; where a run ends early, the results so far are in a
    file in the same folder whose name ends in -incomplete.

    Exit codes:

    0 every row has its outcome, rows to review and rows without a rate too

    1 some rows have none: the service failed, or the run ended early (key,
    quota, deadline); with --strict also where a row is not ready to use

    2 the command or a file is not usable, or no row of it

    130 interrupted (143 by SIGTERM, 129 by SIGHUP)
    """
    console = Console(stderr=True, highlight=False)
    with explained(options=_FILE_OPTIONS, interrupted=_CONTINUED), _perhaps_piped():
        from svc_tools.frames.files.job import FileJob  # noqa: PLC0415 - loads pandas

        started = time.monotonic()
        run, files = Run(**in_python(Run, given)), FileOptions(**in_python(FileOptions, given))
        files = replace(
            files,
            delimiter=DELIMITERS.get(files.delimiter or "", files.delimiter),
            force=files.force or run.plan,
            progress=FileProgress(console, shown=not run.quiet),
        )
        with FileJob(source, output, terms_of(given, run, files), files) as job:
            if not looked_up(job, run, files, service):
                return
            result = job.finish(started)
            if not run.quiet:
                say(note for note in result.notes if note not in job.notes)
    with perhaps_read():
        _show(result, output, as_json=run.as_json, quiet=run.quiet)
    raise typer.Exit(_exit_code(result, strict=run.strict))


def terms_of(given: Mapping[str, Any], run: Run, files: FileOptions) -> Terms:
    """The lookup and the tax by the options that were given."""
    from svc_tools.frames.files.rates import Terms  # noqa: PLC0415 - loads pandas

    of_lookup, left_out = in_python(LookupOptions, given), run.left_out(ROLES)
    refuse_both(of_lookup, left_out)
    of_tax, untaxed = run.tax(in_python(TaxOptions, given)), run.left_out(_OF_TAX)
    refuse_both(of_tax or (), untaxed)
    tax = None if of_tax is None else {**untaxed, **of_tax}
    terms = Terms.of("enrich", {**of_lookup, **left_out}, tax, files.layout)
    return replace(terms, in_shell=True)


def looked_up(job: FileJob, run: Run, files: FileOptions, service: Service) -> bool:
    """Look the places of the file up; with --plan only show what that takes."""
    from svc_tools.frames.lookup.sources import LockSource, source_for  # noqa: PLC0415 - loads pandas
    from svc_tools.lookup.cache import opened_cache  # noqa: PLC0415 - as above
    from svc_tools.lookup.lock_file import read_lock  # noqa: PLC0415 - as above
    from svc_tools.lookup.plan import price_of  # noqa: PLC0415 - as above

    options = job.terms.lookup
    if options.locked is not None:
        if run.plan:
            raise ValueError(
                "--plan: with --locked nothing is requested, so there is nothing to plan"
            )
        lock = read_lock(options.locked)
        _survey(job, run)
        job.resolve(LockSource(lock, options))
        return True
    with service.client() as client, opened_cache(of=client) as cache:
        _survey(job, run)
        known = source_for(client, cache if files.resume else None, options)
        if run.plan:
            found = job.plan(known, price=price_of(run.price))
            with perhaps_read():
                _show_plan(found, as_json=run.as_json)
            return False
        _confirm(job, known, wanted=not run.yes)
        job.resolve(source_for(client, cache, options), resume=files.resume)
        return True


DELIMITERS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}
"""Words for what separates the cells of a CSV."""
_FILE_OPTIONS = {
    **ASKS,
    "exists": "--force",
    "encoding": "--encoding",
    "delimiter": "--delimiter",
    "sheet": "--sheet",
    "amount False": "--no-tax",
    **answers(TaxOptions),
}
"""The option that settles a fault of a file, by its code, or of a column, by its role."""


_CONTINUED = (
    "No incomplete file is left. Run the same command again: it continues with the results of a"
    " service over HTTP, which are cached, unless the cache is off; with the embedded service it"
    " begins again."
)


@contextlib.contextmanager
def _perhaps_piped() -> Iterator[None]:
    """End quietly where the reader of the rows has closed the pipe."""
    try:
        yield
    except OSError as error:
        if not is_closed_pipe(error):
            raise
        _silence()
        raise typer.Exit(NO_RESULT) from None


@contextlib.contextmanager
def perhaps_read() -> Iterator[None]:
    """Ignore that the output has no reader any more: the rows are not affected."""
    try:
        yield
        sys.stdout.flush()
    except (OSError, SystemExit) as error:  # the latter is what Rich raises
        if isinstance(error, OSError) and not is_closed_pipe(error):
            raise
        _silence()


def _silence() -> None:
    """Send the rest of the output nowhere: its reader is gone."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _survey(job: FileJob, run: Run) -> None:
    """Read the file, and say what was decided but what the plan or the summary will say."""
    job.survey()
    if run.quiet or (run.plan and not run.as_json):
        return
    in_summary = () if run.as_json else job.layout.on_columns
    say(note for note in job.notes if note not in in_summary)


def _show_plan(plan: Plan, *, as_json: bool) -> None:
    """Print what a run would look up: as text with tables, or as one JSON object."""
    if not as_json:
        show(Console(highlight=False), *plan.parts())
        return
    summary = {
        "rows": plan.rows,
        "places": plan.places,
        "cached": plan.cached,
        "to_ask": plan.to_ask,
        "to_ask_by_grain": dict(plan.grains),
        "service": plan.service,
        "cost": None if plan.cost is None else str(plan.cost),
        "quota_remaining": plan.quota_remaining,
        "never_asked": [
            {"status": refusal.status, "reason": refusal.reason, "rows": refusal.rows}
            for refusal in plan.refused
        ],
        "notes": list(plan.notes),
        "geocoder": plan.geocoder,
        "to_geocode": plan.to_geocode,
        "geocoded": plan.geocoded,
    }
    typer.echo(json.dumps(summary, indent=2))


def _confirm(job: FileJob, source: ResultSource, *, wanted: bool) -> None:
    """Ask the user first where many lookups of an account would be spent."""
    if not wanted or source.is_computed:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    from svc_tools.lookup.plan import MANY_LOOKUPS  # noqa: PLC0415 - loads pandas

    count = job.plan(source).to_ask
    if count <= MANY_LOOKUPS:
        return
    typer.echo(f"{job.layout.read}.", err=True)
    question = f"Look up {count:,} places with {source.service.name}?"
    try:
        agreed = typer.confirm(question, err=True)
    except typer.Abort:  # Ctrl+C, or the end of the input
        typer.echo("\nNothing was looked up.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if not agreed:
        typer.echo("Nothing was looked up.", err=True)
        raise typer.Exit(NO_RESULT)


def _show(run: FileRun, output: Path, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        typer.echo(json.dumps(run.as_json(), indent=2), err=str(output) == "-")
    elif not quiet or run.stopped is not None:
        console = Console(stderr=str(output) == "-" or quiet, highlight=False)
        _show_run(console, run)


def _exit_code(run: FileRun, *, strict: bool) -> int:
    if run.interrupted:
        return INTERRUPTED
    good = run.settled
    if strict:
        good = good and run.all_known and not run.totals.review.rows
    return 0 if good else NO_RESULT


def _show_run(console: Console, run: FileRun) -> None:
    """Print what can be used of the rows, where they are, what to do next, and the details."""
    if run.written is not None:
        show(console, *run.lead(meanings=console.width >= _NARROW))
        for text in ("", *run.totals.money, *run.totals.remarks):
            print_text(console, text)
        if str(run.written) != "-":
            named = "Written" if run.stopped is None else "Written, incomplete"
            print_line(console, f"{named}: {run.written}")
        print_text(console, run.requested)
    if steps := _next_steps(run):
        print_text(console)
        print_text(console, ("What to do next", "bold"))
        print_table(console, ("", prose()), [("-", text) for text in steps])
    for table in run.details(console.width):
        print_text(console)
        show(console, table)


def _next_steps(run: FileRun) -> list[str]:
    """What the user can do after a run, as sentences; checks for an earlier partial file."""
    totals, steps = run.totals, []
    if run.interrupted and run.written is None:
        left = run.places - run.cached - run.asked
        rest = (
            "The same command begins again."
            if run.computed
            else "The results so far are cached: the same command looks up only the rest"
            f" ({left:,} of {run.places:,} places)."
        )
        steps.append(f"Interrupted; no file was written. {rest}")
    elif run.stopped is not None:
        again = " The results are not cached: the same command looks up all places again."
        if run.computed:
            again = " When that is fixed, the same command begins again."
        elif run.resumable:
            again = " When that is fixed, the same command looks up only the rest."
        steps.append(f"Ended early: {run.stopped}.{again}")
    elif totals.rows_where(lambda status: status.failed):
        only = "" if run.computed else ": it looks up only what failed"
        steps.append(f"Run the same command again (with --force){only}.")
    if run.output is not None and run.stopped is None:
        former = run.output.with_name(f"{run.output.stem}-incomplete{run.output.suffix}")
        if former.exists():
            steps.append(f"{former.name} is of an earlier run that ended early: delete it.")
    if any(why.startswith("as_of: '") for _, why in totals.reasons):
        steps.append("Correct the dates that cannot be read, or give their form: --date-format.")
    if totals.review.rows or totals.rows > totals.rows_where(lambda status: status.usable):
        steps.append(
            "The columns lookup_status, lookup_error and lookup_review_reason state for each row"
            " what is missing."
        )
    return steps


class FileProgress(Meter):
    """Progress of the stages of a run, on a console that is standard error's."""

    def __init__(self, console: Console, *, shown: bool) -> None:
        self._console = console
        self._shown = shown
        self._bar: Progress | None = None
        self.every = _EVERY_ON_TERMINAL if console.is_terminal else _EVERY

    def start(self, name: str, total: int | None, unit: str) -> None:
        """Begin a stage: on a terminal, show a bar."""
        super().start(name, total, unit)
        if not self._shown or not self._console.is_terminal or total == 0:
            return
        columns: list[ProgressColumn] = [
            TextColumn("{task.description}"),
            TextColumn("{task.fields[text]}"),
        ]
        if self._console.width >= _NARROW:
            columns.insert(1, BarColumn(bar_width=None))
        self._bar = Progress(*columns, console=self._console, transient=True, expand=True)
        self._bar.add_task(name, total=total, text=self.figures)
        self._bar.start()

    def draw(self) -> None:
        """Move the bar, or print a line in a log."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self.count, text=self.figures)
        elif self._shown:
            line = f"svc: {self.name.lower()}: {self.figures}"
            self._console.print(line, soft_wrap=True, markup=False)

    def done(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
