"""Rates and tax for the rows of a file that may be larger than memory, and a first look at it.

The file is read twice: first its rows are counted and their distinct places collected, each of
which is looked up once; then every row gets its result and is written. So the memory grows with
the number of distinct places (and with a chunk), never with the rows.
"""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from svc_tools.config import configured, connect, unconfigured
from svc_tools.frames.files.job import FileJob
from svc_tools.frames.files.rates import Terms
from svc_tools.frames.lookup.columns import free_labels, is_label, propose
from svc_tools.frames.lookup.sources import LockSource, source_for
from svc_tools.frames.options import (
    FileArguments,
    FileOptions,
    LookupOptions,
    TaxOptions,
    refuse_unknown,
    takes,
)
from svc_tools.frames.orders.deciding import rows_of_file
from svc_tools.frames.orders.reading import in_words
from svc_tools.frames.reports.xlsx import is_missing
from svc_tools.frames.taxes.amounts import amounts_of_tax
from svc_tools.frames.values.odd_cells import rows_of
from svc_tools.lookup.cache import opened_cache
from svc_tools.lookup.lock_file import read_lock
from svc_tools.lookup.options import OF_FILE, option_rows
from svc_tools.tables.roles import PLACES, ColumnAmbiguous, ColumnMissing, Role, find
from svc_tools.tables.tabular import Chunk, cell_text, in_which_row, open_table

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence
    from typing import Any

    import pandas as pd

    from svc_tools.frames.files.result import FileRun
    from svc_tools.frames.lookup.columns import Proposal
    from svc_tools.frames.orders.sums import Term
    from svc_tools.tables.exports import Export
    from svc_tools.tables.questions import Question


@takes(FileArguments, FileOptions, LookupOptions)
def enrich_file(
    source: str | Path,
    output: str | Path,
    *,
    lookup: Mapping[str, object] | None = None,
    tax: Mapping[str, Any] | None = None,
    **arguments: Unpack[FileArguments],
) -> FileRun:
    """Look up the rate of every row of a file, and write the rows with their rates to another.

    The user's columns pass through unchanged, in their order; a CSV is text throughout. Each
    distinct place of the file is looked up once, and what is requested is cached before it is used:
    after an interrupted run, the next one requests only the rest.

    Args:
        source: a `.csv`, `.tsv`, `.txt`, `.xlsx` or `.parquet` file; it is read twice.
        output: a `.csv`, `.xlsx` or `.parquet` file, whatever the kind of the source. It appears
            whole or not at all. Where the run ends early, the results so far are written to a file
            in the same folder whose name ends in `-incomplete`; after an interrupt only if there is
            no cache.
        lookup: the arguments of `df.svc.lookup()` that say where the place and the date are, such
            as `{"zip": "ship_zip", "as_of": "order_date"}`; by default found by the usual names.
        tax: the arguments of `df.svc.tax()`, such as `{"amount": "total"}`; `{}` for a tax where
            the column of amounts is found, `None` for no tax. With `invoice`, lines of one invoice
            may lie anywhere in the file.
        tz: as for `df.svc.lookup()`.
        date_format: as for `df.svc.lookup()`.
        as_of_grain: as for `df.svc.lookup()`.
        client: the service; by default the configured one, else the embedded one.
        prefix: put before the names of the added columns.
        columns: which of the lookup's columns to add, as for `df.svc.lookup()`; status and error
            always. "short" leaves out the parts of the tax too.
        detail: request the jurisdictions too.
        review_below: as for `df.svc.lookup()`.
        sheet: the sheet of a workbook; by default the first visible one.
        delimiter: what separates the cells of a CSV; by default detected.
        encoding: the encoding of a CSV; by default detected.
        report: a `.xlsx` or `.html` file for `df.svc.report()` too; it needs all rows in memory.
        report_columns: as `columns` for `df.svc.report()`.
        cache: as for `df.svc.lookup()`.
        locked: a lock file used instead of the service; no request is sent.
        geocode: the geocoder of street addresses, as for `df.svc.lookup()`; by default none.
        layout: a layout, or the path of one, by which the columns are read without a question, as
            for `df.svc.lookup()` and `df.svc.tax()`.
        save_layout: a file in which the layout of the source is kept for the next one.
        force: replace existing files.
        concurrency: concurrent requests.
        deadline: seconds after which no more requests are sent.
        resume: use the results in the cache; `False` requests every place again.
        progress: shows the stages of the run: rows read, places looked up, rows written.
        stop: ends the run once another thread sets it. While the file is read, or its rows are
            written, nothing is written then; while places are looked up, the results so far are
            written to the `-incomplete` file. Results stay in the cache.

    Returns:
        The totals of the rows, and where they are.

    Raises:
        FileError: the source cannot be read, or the output cannot be written.
        NoUsableRows: no row can be looked up, for instance because no date can be read: nothing is
            requested or written. It is a `ValueError` with a `code`, and states the reasons.
        ValueError: columns are ambiguous or missing, as in `df.svc.lookup()` and `df.svc.tax()`.
    """
    started = time.monotonic()
    refuse_unknown("enrich_file", arguments, FileArguments.__annotations__)
    given: dict[str, Any] = {**arguments}
    client = given.pop("client", None)  # beside `locked` it is not asked, and so no fault
    files = FileOptions(**{name: given[name] for name in option_rows(FileOptions) if name in given})
    of_file = {name: given.get(name, getattr(LookupOptions, name)) for name in OF_FILE}
    terms = Terms.of("lookup", {**(lookup or {}), **of_file}, tax, files.layout)
    options = terms.lookup
    with contextlib.ExitStack() as stack:
        job = stack.enter_context(FileJob(Path(source), Path(output), terms, files))
        job.survey(files.stop)
        if options.locked is not None:
            job.resolve(LockSource(read_lock(options.locked), options))
            return job.finish(started, files.stop)
        if client is None:
            opened = connect() if configured() else unconfigured(stacklevel=3)
            client = stack.enter_context(opened)
        cache = stack.enter_context(opened_cache(options.cache, of=client))
        job.resolve(source_for(client, cache, options), resume=files.resume, stop=files.stop)
        return job.finish(started, files.stop)


@dataclass(frozen=True, slots=True)
class FileView:
    """A first look at a file, before any request.

    Attributes:
        path: the file.
        columns: the names of its columns, in order.
        rows: its first rows, as texts; an empty cell is empty.
        more: whether there are further rows.
        found: the column for each argument of a lookup and a tax, by its usual name or the export.
        unclear: arguments with several candidate columns, or with one of another party, among
            which the user has to choose.
        notes: how the file was read, in sentences.
        sheets: the sheets of a workbook, in order; none for other files.
        export: the export that the columns were recognized as; `None` for another file.
        sums: amount and shipping where they are of several columns, in words.
        questions: all that is open about the columns; what the rates may still decide is not.
        decided: what was decided about the amounts of a file that is no known export, in sentences.
        unused: the columns that its amounts do not use, each with the reason, in sentences.
        waits: whether the rates may show that the amount is to be read otherwise.
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: bool
    found: Mapping[str, str]
    unclear: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    sheets: tuple[str, ...] = ()
    export: Export | None = None
    sums: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    decided: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    waits: bool = False


def view_of_file(path: Path, files: FileOptions | None = None, *, count: int = 5) -> FileView:
    """Look at the beginning of a file; sends no request and writes nothing.

    Args:
        path: a `.csv`, `.tsv`, `.txt`, `.xlsx` or `.parquet` file.
        files: how it is read.
        count: how many rows to show.

    Raises:
        FileError: there is no such file, or it cannot be read.
    """
    rows = open_table(path, **(files or FileOptions()).reading)
    try:
        first = next(iter(rows.chunks()), None) or Chunk(rows.schema.empty_table())
        frame = rows_of(first)
        proposed = propose(frame)
        of_tax = _of_tax(frame, proposed, semicolons=rows.delimiter == ";")
        found = {**proposed.found, **of_tax.found}
        amounts = [question for question in of_tax.questions if question.argument == "amount"]
        unclear = {
            **proposed.unclear,
            **{question.argument: question.columns for question in amounts},
        }
        shown = [
            ["" if is_missing(cell) else cell_text(cell) for cell in column.tolist()]
            for _, column in frame.iloc[:count].items()
        ]
        return FileView(
            path=path,
            columns=tuple(map(str, rows.schema.names)),
            rows=tuple(islice(zip(*shown, strict=True), count)),
            more=len(frame) > count,
            found={role: str(label) for role, label in found.items()},
            unclear={role: tuple(map(str, some)) for role, some in unclear.items()},
            notes=(*rows.notes, *_below_others(rows.names_row, found)),
            sheets=rows.sheets,
            export=proposed.export,
            sums=of_tax.sums,
            questions=(*proposed.questions, *of_tax.questions),
            decided=of_tax.decided,
            unused=of_tax.unused,
            waits=of_tax.waits,
        )
    finally:
        rows.close()


def _below_others(row: int | None, found: Mapping[str, object]) -> list[str]:
    """In which row the names seem to stand, where no column of a place was found."""
    return [] if row is None or found.keys() & PLACES.keys() else [in_which_row(row)]


_BESIDE_THE_AMOUNT = (
    Role(
        "shipping",
        re.compile(
            r"(?:shipping|delivery|freight)(?:_(?:amount|charged?|charges|cost|fee|price))?"
        ),
    ),
    Role("exempt", re.compile(r"(?:is_)?(?:tax_)?exempt(?:_amount)?|exemption")),
    Role("invoice", re.compile(r"inv(?:oice)?(?:_?(?:id|no|nr|num|number))?")),
)


@dataclass(frozen=True, slots=True)
class _OfTax:
    """What a first look finds of a tax, as `FileView` has it."""

    found: Mapping[str, Hashable]
    sums: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    decided: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    waits: bool = False


def _of_tax(frame: pd.DataFrame, proposed: Proposal, *, semicolons: bool) -> _OfTax:
    """The columns of a tax by the export, or as the file itself shows them; or what is open."""
    labels, export = free_labels(frame), proposed.export
    usual = find(labels, _BESIDE_THE_AMOUNT).columns
    reading = rows_of_file(frame, labels, proposed.found) if export is None else None
    try:
        source = amounts_of_tax(
            frame, labels, TaxOptions(), reading, final=False, semicolons=semicolons
        )
    except ColumnAmbiguous as error:
        return _OfTax(usual, questions=error.questions)
    except ColumnMissing:
        return _OfTax(usual)
    beside = {} if export is not None else {role: usual[role] for role in _NAMED & usual.keys()}
    decided = () if export is not None else source.decided
    seen = _OfTax({}, decided=decided, unused=source.unused, waits=source.waits)
    if source.reading.sums is None:
        amounts = {"amount": source.terms.amount, "shipping": source.terms.shipping}
        there = {role: label for role, label in amounts.items() if is_label(frame, label)}
        return replace(seen, found={**beside, **there})
    sums = {"amount": source.reading.sums.goods, "shipping": source.reading.sums.delivery}
    filled = {role: terms for role, terms in sums.items() if terms}
    single = {role: terms[0].label for role, terms in filled.items() if _is_column(terms)}
    words = {
        role: in_words(terms, quoted=False) for role, terms in filled.items() if role not in single
    }
    if "amount" in words and source.reading.contains_tax:
        words["amount"] += " (it contains the tax, which is taken off)"
    return replace(seen, found={**beside, **single}, sums=words)


_NAMED = {"exempt", "invoice"}
"""What stands next to the amounts, and is found by its name alone."""


def _is_column(terms: Sequence[Term]) -> bool:
    """Whether a sum is one column as it stands."""
    return len(terms) == 1 and terms[0].sign > 0 and terms[0].times is None
