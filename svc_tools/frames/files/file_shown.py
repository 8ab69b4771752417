"""How what became of a file reads: title, sentences and tables, for text and for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from svc_tools.display import Table, capital, counted, exact_dollars, plain, printable, the_service
from svc_tools.lookup import STATUSES
from svc_tools.lookup.outcomes import counted_alike
from svc_tools.lookup.review import MEANINGS

if TYPE_CHECKING:
    from svc_tools.frames.files.file_run import FileRun

__all__ = ["run_sentences", "run_tables", "run_title"]

_REASONS = 6


def run_title(run: FileRun) -> str:
    """The file and its size; that it is not complete comes first."""
    early = "" if run.stopped is None else "INCOMPLETE: "
    rows = "" if run.written is None else f"{counted(run.totals.rows, 'row')}, "
    return f"{early}{plain(run.source.name)}: {rows}{counted(run.places, 'distinct place')}"


def run_sentences(run: FileRun) -> list[str]:
    """Where the rows are, who answered, what the tax comes to and what is to be looked at."""
    totals = run.totals
    said = [] if run.stopped is None else [f"Ended early: {printable(run.stopped)}."]
    said.append(
        "Nothing was written." if run.written is None else f"Written: {printable(run.written)}."
    )
    said.append(
        f"{run.cached:,} answered from the cache or lock file, {run.asked:,} asked of"
        f" {printable(the_service(run.service))}."
    )
    if totals.taxed is not None:
        said.append(
            f"Rows with a tax: {totals.taxed:,}, {exact_dollars(totals.sales)} of sales,"
            f" {exact_dollars(totals.tax)} of tax. Rows without: {totals.rows - totals.taxed:,}."
        )
    if totals.due is not None:
        said.append(f"Of it due from you: {exact_dollars(totals.due)}.")
    if totals.review:
        said.append(f"To be looked at (needs_review): {counted(totals.review, 'row')}.")
    return [*said, *(capital(printable(note)) for note in run.notes)]


def run_tables(run: FileRun) -> list[Table]:
    """Rows by status, and why rows have no whole rate; nothing where no row was written."""
    if run.written is None:
        return []
    counts = run.totals.statuses
    by_status = tuple(
        (name, f"{counts[name]:,}", MEANINGS.get(name, "")) for name in STATUSES if counts[name]
    )
    tables = [Table("Rows by status", ("Status", ">Rows", "~Meaning"), by_status)]
    found = ((status, why, rows) for (status, why), rows in run.totals.reasons.items())
    alike = counted_alike(found)
    if alike:
        reasons = tuple(
            (status, f"{rows:,}", MEANINGS.get(why, printable(why)))
            for status, why, rows in alike[:_REASONS]
        )
        rest = sum(rows for _, _, rows in alike[_REASONS:])
        more = f"and {counted(rest, 'row')} for other reasons" if rest else None
        heads = ("Status", ">Rows", "~Reason")
        tables.append(Table("Why rows have no whole rate", heads, reasons, more))
    return tables
