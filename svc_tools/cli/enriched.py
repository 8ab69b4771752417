"""The rows of a file for `svc-tools review` and `reconcile`: enriched before, or enriched first.

An enriched file is read as the frame that it was, and nothing is requested. Any other is enriched
as `svc-tools enrich` does it, with the same options, questions and notes; its rows become a frame.
"""

from __future__ import annotations

import json
import time
from contextlib import closing
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console

from svc_tools.base.progress import stage
from svc_tools.cli.answers import answers, in_python, optional_columns, parameters, refuse_both
from svc_tools.cli.common import ASKS, NO_RESULT
from svc_tools.cli.enrich import (
    DELIMITERS,
    FileProgress,
    Run,
    looked_up,
    perhaps_read,
    terms_of,
)
from svc_tools.lookup.options import (
    FILES,
    PLACES,
    RUN,
    TAX,
    AmountOptions,
    FileOptions,
    LookupOptions,
    TaxOptions,
    flag_of,
    like,
    option,
    option_rows,
)
from svc_tools.show.display import Note, counted, plain, print_line, print_text, printable, show
from svc_tools.show.meters import say

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
    from typing import TypeAlias

    import pandas as pd

    from svc_tools.cli.common import Service
    from svc_tools.frames.analysis.reconcile import Reconciliation
    from svc_tools.frames.files.enriched_file import EnrichedFile
    from svc_tools.frames.files.result import FileRun
    from svc_tools.frames.review.review import Review
    from svc_tools.show.display import Table as ShownTable
    from svc_tools.tables.tabular import Table

Output: TypeAlias = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the rows: .csv, .xlsx or .parquet.")
]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How the file is read, and how the command runs, in both commands."""

    without: list[str] | None = like(None, Run, "without", PLACES)
    sheet: str | None = like(None, FileOptions, "sheet", FILES)
    delimiter: str | None = like(None, FileOptions, "delimiter", FILES)
    encoding: str | None = like(None, FileOptions, "encoding", FILES)
    layout: object = like(None, FileOptions, "layout", FILES)
    force: bool = like(False, FileOptions, "force", FILES)
    resume: bool = like(True, FileOptions, "resume", RUN)
    yes: bool = like(False, Run, "yes", RUN)
    as_json: bool = option(False, "The figures as JSON.", RUN, flag="--json")
    quiet: bool = option(False, "Only errors, and JSON.", RUN)


@dataclass(frozen=True, kw_only=True)
class Untaxed:
    """What a review has besides, which needs no tax."""

    no_tax: bool = like(False, Run, "no_tax", TAX)


def options_of(*further: type) -> Mapping[str, Any]:
    """The options of a command that reads an enriched file, as Typer reads them."""
    return parameters(LookupOptions, TaxOptions, Reading, *further)


EXPLAINED = {
    **ASKS,
    "exists": "--force",
    "encoding": "--encoding",
    "delimiter": "--delimiter",
    "sheet": "--sheet",
    "prefix": "--prefix",
    "amount False": "--no-tax",
    **answers(TaxOptions),
}
"""The option that settles a fault of a file, by its code, or of a column, by its role."""
CONTINUED = (
    "Nothing is shown or written. Run the same command again: results of a service over HTTP are"
    " cached, unless the cache is off."
)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The rows of a file with their rates.

    Attributes:
        file: the rows, and what is known of them.
        name: the file's name.
        answers: how a column that is named is read, as methods of frames take it.
        lines: how the rows were come by, and what is not known of them, in sentences.
        run: of a file that was enriched first, how that went.
        from_csv: whether the file is a CSV, in which all is text.
    """

    file: EnrichedFile
    name: str
    answers: dict[str, Any]
    lines: tuple[str, ...]
    run: FileRun | None
    from_csv: bool

    @property
    def frame(self) -> pd.DataFrame:
        """All rows and columns."""
        return self.file.frame

    @property
    def title(self) -> str:
        """The file and its size, with a mark first where it is not complete."""
        early = "" if self.stopped is None else "INCOMPLETE: "
        before = ", already enriched" if self.run is None else ""
        return f"{early}{plain(self.name)}: {counted(len(self.frame), 'row')}{before}"

    @property
    def stopped(self) -> str | None:
        """Why the run ended early; `None` where it did not, or where there was none."""
        return None if self.run is None else self.run.stopped

    @property
    def exit_code(self) -> int:
        """That of the command: 1 where lookups failed or were not attempted."""
        return 0 if self.run is None or self.run.settled else NO_RESULT

    def as_json(self, further: Iterable[str]) -> dict[str, object]:
        """What the rows are as plain values, and what is not known of them."""
        return {
            "file": self.name,
            "rows": len(self.frame),
            "already_enriched": self.run is None,
            "prefix": self.file.prefix,
            "complete": self.stopped is None,
            "stopped": self.stopped,
            "lines": [*self.lines, *further],
        }


def opened(
    source: Path,
    given: dict[str, Any],
    service: Service,
    *,
    ready: Callable[[list[Hashable]], object],
    needs_tax: bool,
) -> Rows:
    """The rows of a file, which is enriched first where it is not.

    Args:
        source: the file.
        given: the options that were given.
        service: the service, for a file that is not enriched.
        ready: refuses the user's columns where one is missing, before anything is requested.
        needs_tax: whether rows without a tax are of no use.

    Raises:
        FileError: the file cannot be read.
        ValueError: an option does nothing to an enriched file, or columns are missing or open.
    """
    from svc_tools.frames.files.enriched_file import enriched_file  # noqa: PLC0415 - as above
    from svc_tools.frames.lookup.columns import free_labels  # noqa: PLC0415 - loads pandas
    from svc_tools.frames.options import dates_of  # noqa: PLC0415 - as above
    from svc_tools.tables.tabular import open_table  # noqa: PLC0415 - loads Arrow

    run = Run(**in_python(Run, given))
    console = Console(stderr=True, highlight=False)
    progress = FileProgress(console, shown=not run.quiet)
    files = FileOptions(**in_python(FileOptions, given), progress=progress)
    files = replace(files, delimiter=DELIMITERS.get(files.delimiter or "", files.delimiter))
    with stage(progress, "Reading", None, "rows"):
        table = open_table(source, **files.reading)
    with closing(table):
        dates = dates_of(given.get("date_format"), given.get("tz"))
        with stage(progress, "Reading", None, "rows"):
            found = enriched_file(table, source.name, given["prefix"], dates)
        if found is None:
            ready([*table.schema.names])
            return _enriched_now(source, table, given, run, files, service, needs_tax=needs_tax)
        ready(free_labels(found.frame))
        if not run.quiet:
            say(table.notes)
        return _enriched_before(source, table, found, given, needs_tax=needs_tax)


def _enriched_now(  # noqa: PLR0917 - what a file is enriched with
    source: Path,
    table: Table,
    given: dict[str, Any],
    run: Run,
    files: FileOptions,
    service: Service,
    *,
    needs_tax: bool,
) -> Rows:
    """Enrich a file as `svc-tools enrich` does."""
    from svc_tools.frames.files.enriched_file import EnrichedFile, in_rows_of_a_sheet  # noqa: PLC0415 - loads pandas
    from svc_tools.frames.files.job import FileJob  # noqa: PLC0415 - as above
    from svc_tools.tables.roles import ColumnMissing  # noqa: PLC0415 - few commands read files

    started = time.monotonic()
    with FileJob(source, None, terms_of(given, run, files), files, rows=table) as job:
        if needs_tax and job.terms.tax is None:
            raise ColumnMissing("amount", table.schema.names)
        looked_up(job, run, files, service)
        if job.interrupted:
            raise KeyboardInterrupt
        frame, made = job.frame(started)
        if not run.quiet:
            say(note for note in made.notes if note not in job.notes)
    prefix = job.terms.lookup.prefix
    taxed = f"{prefix}tax" in frame.columns
    lines = [f"{printable(made.read)}.", made.requested]
    if made.stopped is not None:
        lines.insert(0, f"Ended early: {printable(made.stopped)}.")
    elif not made.settled:
        only = "" if made.computed else ", and looks up only what failed"
        lines.append(f"Lookups failed: the same command tries again{only}.")
    of_file = EnrichedFile(in_rows_of_a_sheet(frame), prefix, (), taxed, remembers=True, unread=())
    amounts = _of_amounts(given)
    return Rows(of_file, source.name, amounts, tuple(lines), made, table.delimiter is not None)


_AS_READ = {
    *("prefix", "date_format", "tz"),
    *("sheet", "delimiter", "encoding", "force", "yes", "as_json", "quiet"),
    *option_rows(AmountOptions),
}
"""The options that say how an enriched file is read, or how the command runs."""
_OF_TAX = {*option_rows(TaxOptions), "layout", "without"}


def _enriched_before(
    source: Path, table: Table, found: EnrichedFile, given: dict[str, Any], *, needs_tax: bool
) -> Rows:
    """Read a file that is enriched; its tax is computed where it is needed and missing."""
    typed = _typed(given)
    of_tax = typed & {*option_rows(TaxOptions)} - _AS_READ
    wants_tax = not found.taxed and (needs_tax or bool(of_tax))
    if {*(given.get("without") or ())} <= {*option_rows(AmountOptions)}:
        typed.discard("without")
    _refuse_idle(typed - _AS_READ - (_OF_TAX if wants_tax else set()), source)
    lines = [*_which(found), *_not_known(found)]
    if wants_tax:
        found, notes = _taxed(found, given)
        lines += notes
    amounts = _of_amounts(given)
    return Rows(found, source.name, amounts, tuple(lines), None, table.delimiter is not None)


def _typed(given: Mapping[str, Any]) -> set[str]:
    """The options that were given with another value than they have without."""
    usual = {
        entry.name: entry.default
        for kind in (LookupOptions, TaxOptions, Reading, Untaxed)
        for entry in fields(kind)
    }
    return {name for name, value in given.items() if value not in (usual[name], [])}


def _refuse_idle(names: Collection[str], source: Path) -> None:
    """Refuse an option that would do nothing, because the file is enriched."""
    rows: dict[str, Any] = {}
    for kind in (Untaxed, Reading, TaxOptions, LookupOptions):
        rows |= option_rows(kind)
    idle = (flag_of(name, row) for name, row in rows.items() if name in names)
    if flags := ["--no-resume" if flag == "--resume" else flag for flag in idle]:
        what = "is" if len(flags) == 1 else "are"
        raise ValueError(
            f"{source.name} is enriched already, and {', '.join(flags)} {what} for a file that is"
            f" not: leave {'it' if len(flags) == 1 else 'them'} out, or enrich the file again with"
            " svc-tools enrich"
        )


def _of_amounts(given: Mapping[str, Any]) -> dict[str, Any]:
    """How a column of amounts is read, as it was given."""
    names, run = option_rows(AmountOptions), Run(**in_python(Run, given))
    left_out, of_tax = run.left_out(names), in_python(TaxOptions, given)
    refuse_both([name for name in names if of_tax.get(name)], left_out)
    return {**left_out, **{name: of_tax[name] for name in names if of_tax.get(name)}}


def _taxed(found: EnrichedFile, given: Mapping[str, Any]) -> tuple[EnrichedFile, list[str]]:
    """The same rows with the tax of their rates."""
    from svc_tools.frames.accessor import SvcAccessor  # noqa: PLC0415 - loads pandas

    run = Run(**in_python(Run, given))
    arguments: dict[str, Any] = {
        **run.left_out(optional_columns(TaxOptions)),
        **in_python(TaxOptions, given),
        "layout": given.get("layout"),
        "prefix": found.prefix,
        "progress": False,
    }
    frame = SvcAccessor(found.frame).tax(**arguments)
    frame.index = found.frame.index
    note = "The file has no tax: it is computed from its rates, and nothing is looked up again."
    return replace(found, frame=frame, taxed=True), [note]


def _which(found: EnrichedFile) -> list[str]:
    """Which lookup is read, where that is not plain."""
    if not found.prefix and not found.others:
        return []
    from svc_tools.frames.files.enriched_file import with_prefix  # noqa: PLC0415 - loads pandas

    line = f"These are the figures of the lookup {with_prefix(found.prefix)}"
    if found.others:
        others = " and one ".join(map(with_prefix, found.others))
        line += f"; the file also has one {others} (--prefix)"
    return [f"{line}."]


def _not_known(found: EnrichedFile) -> list[str]:
    """What the file does not hold, and which of its cells cannot be read, in sentences."""
    lines = []
    if not found.remembers:
        terms, changed = "", "places or dates"
        if found.taxed:
            terms, changed = "terms of the tax or the ", "amounts, exemptions, places or dates"
        lines.append(
            f"The file does not hold the {terms}results of the lookup, as a .parquet file does:"
            f" whether {changed} were changed since is not checked."
        )
    if found.unread:
        shown = ", ".join(
            f"{odd.label} in {counted(odd.rows, 'row')} (row {odd.row:,}: {plain(odd.cell)!r})"
            for odd in found.unread[:3]
        )
        more = f" and {counted(len(found.unread) - 3, 'more column')}" if found.unread[3:] else ""
        lines.append(f"Cells that cannot be read count as missing: {shown}{more}.")
    return lines


def require_column(flag: str, label: str, labels: Sequence[Hashable]) -> None:
    """Refuse a name that no column has.

    Raises:
        ValueError: it names the option and the columns.
    """
    if label not in labels:
        known = ", ".join(map(str, labels[:_MOST_SHOWN])) or "none"
        more = ", …" if len(labels) > _MOST_SHOWN else ""
        raise ValueError(f"{flag}: there is no column {label!r} (there are: {known}{more})")


_MOST_SHOWN = 20


def checked_output(output: Path | None, source: Path, *, force: bool) -> str | None:
    """The kind of the file that is written, before anything is read; `None` for none."""
    if output is None:
        return None
    from svc_tools.frames.files.writing import check_output  # noqa: PLC0415 - loads pandas

    return check_output(output, source, force=force)


class Written(NamedTuple):
    """Where rows were written to, if anywhere, and what there is to say about it."""

    path: Path | None = None
    notes: Sequence[str] = ()


def write_rows(
    rows: Rows,
    frame: pd.DataFrame,
    output: Path | None,
    kind: str | None,
    *,
    made: Iterable[str],
    numbers: Iterable[Hashable],
) -> Written:
    """Write rows with the columns of a result, where that is requested and they are complete."""
    from svc_tools.frames.files.enriched_file import write_frame  # noqa: PLC0415 - loads pandas

    if output is None or kind is None:
        return Written()
    if rows.stopped is not None:
        return Written(None, [f"Not written, because the rows are incomplete: {output}"])
    columns = {rows.file.prefix + name for name in made}
    of_text = {*numbers} if rows.from_csv else None
    return Written(output, write_frame(frame, output, kind, made=columns, numbers=of_text))


@perhaps_read()
def show_figures(
    rows: Rows,
    figures: Review | Reconciliation,
    parts: Iterable[Note | ShownTable],
    *,
    written: Written,
    given: Mapping[str, Any],
    lines: Sequence[str] = (),
) -> None:
    """Print what the rows are and what is not known of them, their figures, and where they are."""
    if given["as_json"]:
        head = rows.as_json([*lines, *written.notes])
        output = {"output": None if written.path is None else str(written.path)}
        typer.echo(json.dumps(head | output | figures.as_json(), indent=2))
        return
    if given["quiet"] and rows.stopped is None:
        return
    console = Console(highlight=False)
    show(console, Note(rows.title, [*rows.lines, *lines]))
    print_text(console)
    show(console, *parts)
    if written.path is not None or written.notes:
        print_text(console)
    if written.path is not None:
        print_line(console, f"Written: {written.path}")
    for note in written.notes:
        print_text(console, note)
