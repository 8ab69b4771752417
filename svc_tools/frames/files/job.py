"""One file enriched in steps: survey its rows, look its places up, write its rows with results.

The file is read twice: to count its rows and collect its distinct places, and to write them.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Self

import numpy as np
import pandas as pd
import pyarrow as pa

from svc_tools.base.atomic import whole_file
from svc_tools.base.progress import stage
from svc_tools.frames.accessor import SvcAccessor
from svc_tools.frames.added.enriched import Enriched
from svc_tools.frames.added.names import remember_columns
from svc_tools.frames.added.stamp import Stamp
from svc_tools.frames.analysis.breakdowns import BREAKDOWNS
from svc_tools.frames.files.rates import (
    SplitInvoices,
    added_columns,
    attributes_in,
    file_inputs,
    file_layout,
    settled,
    stamp_of,
    with_stamp,
)
from svc_tools.frames.files.result import FileRun, FileTotals
from svc_tools.frames.files.writing import (
    as_money,
    check_columns,
    check_output,
    check_report,
    check_report_columns,
    check_rows,
    check_saved_layout,
    money_columns,
    safe_text,
    write_table,
)
from svc_tools.frames.lookup.columns import free_labels, is_label
from svc_tools.frames.lookup.enrich import repairs_of, survey_plan, with_columns
from svc_tools.frames.lookup.joining import ResultColumns
from svc_tools.frames.lookup.queries import date_cells
from svc_tools.frames.lookup.sources import Control
from svc_tools.frames.lookup.survey import Survey
from svc_tools.frames.orders.deciding import DECIDING_ROWS
from svc_tools.frames.orders.order_index import OrderIndex
from svc_tools.frames.orders.order_numbers import order_rows
from svc_tools.frames.orders.orders import Orders
from svc_tools.frames.orders.sale import Counts, OrderMarks
from svc_tools.frames.orders.saved_layout import zero_columns
from svc_tools.frames.orders.total_rows import total_rows
from svc_tools.frames.taxes.amounts import (
    late_rows,
    rates_known,
    refuse_if_open,
    silent_columns,
)
from svc_tools.frames.taxes.layouts import layout_by, of_tax_for_layout
from svc_tools.frames.taxes.tax_lines import exempt_or_taxable, flags_of
from svc_tools.frames.values.arrow import MONEY, texts_of_formulas
from svc_tools.frames.values.odd_cells import rows_of
from svc_tools.lookup.outcomes import INTERRUPTED, STOPPED
from svc_tools.lookup.troubles import counted_alike
from svc_tools.tables.csv_files import FileError
from svc_tools.tables.roles import NoUsableRows
from svc_tools.tables.statuses import Meaning
from svc_tools.tables.tabular import Chunk, kind_to_read, names_explained, open_table

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
    from decimal import Decimal
    from typing import Any

    from svc_tools.frames.files.rates import Layout, Terms
    from svc_tools.frames.lookup.columns import Inputs
    from svc_tools.frames.lookup.sources import Results, ResultSource
    from svc_tools.lookup.options import FileOptions, LookupOptions
    from svc_tools.lookup.plan import Plan
    from svc_tools.tables.dates import Parsed
    from svc_tools.tables.tabular import Table


class FileJob:
    """A file to enrich, step by step: `survey`, `plan`, `resolve`, `finish`. See `enrich_file`.

    Without an output `frame` takes the place of `finish`. Where `ranked`, the totals list the rows
    to review by dollars, too.
    """

    layout: Layout
    terms: Terms

    def __init__(
        self,
        source: Path,
        output: Path | None,
        terms: Terms,
        files: FileOptions,
        *,
        ranked: bool = False,
        rows: Table | None = None,
    ) -> None:
        """Open the source, decide what its columns are by the first rows, and check all outputs.

        Nothing is written and nothing looked up. The source stays open; on an error it is closed.
        """
        self._ranked, force = ranked, files.force
        self.source, self._output, self.report_columns = source, output, files.report_columns
        self.report = None if files.report is None else Path(files.report)
        self._save_layout = None if files.save_layout is None else Path(files.save_layout)
        self._progress, self._late = files.progress, Late()
        self._breakdowns = files.breakdowns
        for name in self._breakdowns:
            _check_breakdown(name, terms.lookup)
        self.kind = "frame" if output is None else "csv"
        if output is not None and str(output) != "-":
            self.kind = check_output(output, source, force=force)
        if self.report is not None:
            check_report(self.report, source, self.output, force=force)
        if self._save_layout is not None:
            check_saved_layout(self._save_layout, source, force=force)
        # a workbook is read whole to know its columns
        with stage(self._progress, "Reading", None, "rows"):
            self.rows = rows or open_table(source, **files.reading)
        try:
            first = self._first()
            self._given = terms
            with names_explained(source, self.rows):
                inputs = file_inputs(first, terms)
                style = replace(inputs.style, from_1904=self.rows.from_1904)
                self._lay_out(first, replace(inputs, style=style))
            check_report_columns(self.report_columns, self.report, self._names())
        except BaseException:
            self.rows.close()
            raise
        self.notes = [*self.rows.notes, *self.layout.notes, *self._of_tax]
        self.surveyed = Survey(self.layout.inputs, self._every_date)
        self._orders = OrderIndex(self.layout.reading, self.layout.inputs.columns)
        self._split = SplitInvoices()
        self._results: Results | None = None
        self._of_source: list[str] = []
        self._is_stored = self._is_computed = False

    def __enter__(self) -> Self:
        """The job itself; its file is closed at the end."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self.rows.close()

    @property
    def output(self) -> Path:
        """The file that is written.

        Raises:
            RuntimeError: there is none: the rows become a frame.
        """
        if self._output is None:
            raise RuntimeError("output: no file is written, the rows become a frame")
        return self._output

    def write_to(self, output: Path, *, force: bool = False) -> None:
        """Write to another file from now on, of any kind; the results so far are used.

        Raises:
            FileError: it cannot be written, or cannot hold the rows.
        """
        kind = check_output(output, self.source, force=force)
        check_columns(kind, self._names())
        check_rows(kind, self.surveyed.rows)
        self._output, self.kind = output, kind

    def survey(self, stop: threading.Event | None = None) -> Survey:
        """Read the file once: count its rows and collect its distinct places.

        Where `stop` is set on the way, the survey is not `whole`, and nothing can be written.

        Raises:
            FileError: a row cannot be read, or the output cannot hold so many.
            NoUsableRows: the file has rows, and none of them can be looked up.
        """
        surveyed, invoice = self.surveyed, self.terms.tax and self.terms.tax.get("invoice")
        totals, nameless = total_rows(self.layout.reading.orders), False
        self._late.labels = self._silent()
        names = self.rows.schema.names
        positions = {*self.layout.used, *map(names.index, map(str, self._late.labels))}
        with stage(self._progress, "Reading", None, "rows") as shown:
            for chunk in self.rows.chunks(tuple(sorted(positions))):
                if stop is not None and stop.is_set():
                    surveyed.settle(whole=False)
                    return surveyed
                whole = rows_of(chunk)
                self._late.see(whole, surveyed.rows)
                frame = self._orders.completed(whole.drop(columns=[*self._late.labels]))
                self._orders.see(frame, self._exempt_rows(frame))
                surveyed.add(frame)
                nameless = nameless or bool(totals.nameless(frame).any())
                if invoice:
                    self._split.see(frame[invoice])
                shown.advance(len(frame))
        surveyed.settle()
        self.layout = replace(self.layout, inputs=surveyed.inputs)
        if self._late.rows:
            self._lay_out(self._first(), self.layout.inputs)
            self.notes = list(dict.fromkeys([*self.notes, *self._of_tax]))
            self._look_again()
        if nameless:
            self._leave_out_totals()
        check_rows(self.kind, surveyed.rows)
        queries, inputs = surveyed.queries, self.layout.inputs
        if surveyed.rows and not len(queries.wanted("day")):
            every = (
                (refused.status, refused.reason, refused.rows) for refused in queries.refused()
            )
            with names_explained(self.source, self.rows):
                raise NoUsableRows(self.source.name, counted_alike(every), inputs.columns)
        self.notes += inputs.style.notes(queries.rests)
        if queries.rests["from_1904"]:
            self.notes.append(
                f"column {inputs.style.column!r} is written as it is: a program that counts from"
                " 1900, as most do, shows its day numbers as dates four years and a day earlier"
            )
        self.notes += repairs_of(surveyed)
        return surveyed

    def plan(self, source: ResultSource, *, price: Decimal | None = None) -> Plan:
        """What `resolve` will take; sends no request."""
        return survey_plan(
            self.surveyed, source, price=price, notes=self.notes, geocoding=source.geocoding
        )

    def resolve(
        self,
        source: ResultSource,
        *,
        resume: bool = True,
        stop: threading.Event | None = None,
    ) -> None:
        """Resolve the queries of all rows by a source.

        A further call requests only what is not in the cache; `stop` ends it, as for `look_up`.
        """
        control = Control(not resume, self._progress, stop)
        self._results = source.resolve(self.surveyed.queries, control)
        self._is_stored, self._is_computed = source.is_stored, source.is_computed
        self._of_source = source.notes_on(self.layout.inputs)

    @property
    def looked_up(self) -> bool:
        """Whether every place was looked up, as far as the service let it."""
        return self._results is not None and self._results.stopped is None

    @property
    def interrupted(self) -> bool:
        """Whether the user interrupted the lookups."""
        return self._results is not None and self._results.stopped == INTERRUPTED

    def answer(self, tax: Mapping[str, Any] | None) -> None:
        """Compute the tax by other arguments from now on; the results so far are used.

        They are those of the job, with answers to what it left open; `invoice` stays as it was.

        Raises:
            ColumnAmbiguous: more is open.
        """
        former = self._of_tax
        self._given = replace(self._given, tax=tax)
        with names_explained(self.source, self.rows):
            self._lay_out(self._first(), self.layout.inputs)
        self.notes = [note for note in self.notes if note not in former] + self._of_tax
        self._look_again()

    def finish(self, started: float, stop: threading.Event | None = None) -> FileRun:
        """Write the rows with their results, and the report if requested.

        Args:
            started: when the run began, by `time.monotonic()`.
            stop: interrupts the writing once it is set: then nothing is written. It is ignored
                where the lookup was stopped: the results so far are then to be written.

        Raises:
            FileError: a row cannot be read any more, or the output cannot be written; the results
                are in the cache.
        """
        results = self._decided()
        stopped = results.stopped
        target: Path | None = self._named(self.output)
        if stopped == INTERRUPTED and self._is_stored and str(self.output) != "-":
            target = None
        if not self.surveyed.whole:
            target, stopped = None, stopped or STOPPED
        totals, notes = FileTotals(), self._every_note
        if target is not None:
            totals, writing = self._totals(), self._writing(results)
            seen: list[pd.DataFrame] | None = None if self.report is None else []
            try:
                with stage(self._progress, "Writing", self.surveyed.rows, "rows") as shown:
                    step = shown.advance if stopped is not None else _until(stop, shown.advance)
                    writing.write(
                        *(totals, target, self.kind, self._split, self._orders),
                        rows=self.surveyed.rows,
                        advance=step,
                        seen=seen,
                    )
            except _StoppedError:
                target, stopped, seen, totals = None, STOPPED, None, FileTotals()
            except BrokenPipeError:
                raise
            except OSError as error:
                raise self._unwritten(target, error) from error
            notes = [*notes, *writing.notes]
            notes += [note for breakdown in totals.breakdowns.values() for note in breakdown.notes]
            if self.report is not None and target is not None and seen:
                self._report(self._named(self.report), target, seen, writing.stamp)
            self._keep_layout()
        return self._run(started, results, totals, written=target, stopped=stopped, notes=notes)

    def frame(self, started: float) -> tuple[pd.DataFrame, FileRun]:
        """The rows with their results as one frame, instead of a file; and their totals.

        It has every column of the file that is passed on, then the added ones, and remembers what
        the frame of `df.svc.lookup()` and `df.svc.tax()` does.

        Args:
            started: when the run began, by `time.monotonic()`.

        Raises:
            FileError: a row cannot be read any more; the results are in the cache.
        """
        results = self._decided()
        totals, writing = self._totals(), self._writing(results)
        with stage(self._progress, "Joining", self.surveyed.rows, "rows") as shown:
            frame = writing.frame(totals, self._split, self._orders, advance=shown.advance)
        notes = [*self._every_note, *writing.notes]
        stopped = results.stopped
        run = self._run(started, results, totals, written=None, stopped=stopped, notes=notes)
        return frame, run

    def _decided(self) -> Results:
        """The results, by which is decided what was open about the amounts."""
        if self._results is None:
            raise RuntimeError("nothing was looked up yet; call resolve() first")
        self._decide()
        return self._results

    @property
    def _every_note(self) -> list[str]:
        return [*self.notes, *self._of_source, *self._of_rates]

    def _writing(self, results: Results) -> _FileWriting:
        """What joins the rows with their results."""
        rows, notes, lookup = self.surveyed.rows, self._every_note, self.terms.lookup
        writing = _FileWriting(
            *(self.rows, self.layout, self.terms),
            columns=ResultColumns(results, detail=lookup.detail, below=lookup.below),
            codes=self.surveyed.codes,
            stamp=stamp_of(
                *(self.layout, self.terms, results),
                rows=rows,
                notes=notes,
                before=self.rows.schema.metadata,
            ),
        )
        writing.amounts_of_rows = self._has_amounts_of_rows()
        if self.kind == "xlsx" and kind_to_read(self.source) == "csv":
            writing.find_money()
        return writing

    def _run(
        self,
        started: float,
        results: Results,
        totals: FileTotals,
        *,
        written: Path | None,
        stopped: str | None,
        notes: list[str],
    ) -> FileRun:
        """The record of the whole run, with the seconds since it started; a note appears once."""
        return FileRun(
            source=self.source,
            output=self._output,
            written=written,
            service=results.service.name,
            places=len(results.wanted),
            cached=results.cached,
            asked=results.asked,
            requests=results.requests,
            stopped=stopped,
            resumable=self._is_stored,
            totals=totals,
            read=self.layout.read,
            notes=tuple(dict.fromkeys(notes)),
            on_columns=self.layout.on_columns,
            seconds=time.monotonic() - started,
            computed=self._is_computed,
        )

    def _totals(self) -> FileTotals:
        """What the rows are added up in."""
        tax, taxed = self.terms.tax, None
        if tax is not None:
            taxed = partial(Meaning.taxed, partial_used=tax.get("partial") == "use")
        made = {name: BREAKDOWNS[name]() for name in self._breakdowns}
        return FileTotals(taxed, ranked=self._ranked, breakdowns=made)

    def _named(self, path: Path) -> Path:
        """The path to write to: an incomplete file never takes the name of a complete one."""
        if self._results is None or self._results.stopped is None or str(path) == "-":
            return path
        return path.with_name(f"{path.stem}-incomplete{path.suffix}")

    def _report(
        self,
        path: Path,
        written: Path,
        seen: list[pd.DataFrame],
        stamp: Stamp,
    ) -> None:
        """Write the report on the rows that were collected for it, which `seen` holds.

        Raises:
            FileError: the report cannot be written; the rows are in `written` by then.
        """
        frame = _stacked(seen).reset_index(drop=True)
        _remember(frame, stamp, seen[0], self.terms.lookup.prefix)
        title = f"Sales tax of {self.source.name}"
        try:
            SvcAccessor(frame).report(
                path, title=title, prefix=self.terms.lookup.prefix, columns=self.report_columns
            )
        except OSError as error:
            raise FileError(
                f"cannot write the report {path}: {error.strerror or error}; the rows are in"
                f" {written}"
            ) from error

    def _unwritten(self, target: Path, error: OSError) -> FileError:
        resumable = (
            "; the results are cached, so the same command will repeat no request"
            if self._is_stored and not self._is_computed
            else ""
        )
        if str(target) == "-":
            return FileError(f"cannot print the rows: {error.strerror or error}{resumable}")
        return FileError(
            f"cannot write {target}: {error.strerror or error}."
            f" What was there is unchanged{resumable}"
        )

    def _names(self) -> Counter[str]:
        """The names of the columns that will be written."""
        passed = [self.rows.schema.field(position).name for position in self.layout.passed]
        return Counter([*passed, *(added.name for added in self.layout.added)])

    def _every_date(self) -> Iterator[Parsed]:
        """The distinct dates of each chunk."""
        label = self.layout.inputs.columns["as_of"]
        position = self.rows.schema.names.index(str(label))
        for chunk in self.rows.chunks([position]):
            yield date_cells(rows_of(chunk).iloc[:, 0], self.layout.inputs.style)

    def _exempt_rows(self, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray] | None:
        """Which rows are exempt, and of which that is not known; `None` without a column of it."""
        source = self.layout.source
        if source is None:
            return None
        role, label = exempt_or_taxable(source.terms)
        if label is None or not is_label(frame, label):
            return None
        flags = flags_of(frame, label, role)
        return None if flags is None else (flags.yes, flags.unknown)

    def _has_amounts_of_rows(self) -> bool:
        """Whether a file without tax has an order in each row, so that no amount counts twice."""
        if self.terms.tax is not None:
            return False
        return order_rows(self._first(), self.layout.inputs.reading.orders) is None

    def _first(self) -> pd.DataFrame:
        """The first rows with all columns, from which the layout is decided."""
        first, _ = self._first_rows()
        former = Stamp.of_attributes(attributes_in(self.rows.schema.metadata))
        Stamp({"columns": former.columns}).write(first)
        return first

    def _first_rows(self) -> tuple[pd.DataFrame, list[int]]:
        """The same without what an earlier run recorded, and their numbers in the file."""
        first: list[pd.DataFrame] = []
        wide: set[int] = set()
        for chunk in self.rows.chunks():
            if first:  # long texts mean nothing for the amounts, and would fill the memory
                kept = [at for at in range(chunk.table.num_columns) if at not in wide]
                first.append(rows_of(chunk, kept))
            else:
                first.append(rows_of(chunk))
                wide = {at for at, column in enumerate(chunk.table.columns) if _is_wide(column)}
            if sum(map(len, first)) >= DECIDING_ROWS:
                break
        if not first:
            return rows_of(Chunk(self.rows.schema.empty_table())), []
        read = sum(map(len, first))
        numbers = [*range(read)]
        if late := [row for row in self._late.rows if row >= read]:
            near = sorted({row + step for row in late for step in range(-_NEAR, _NEAR + 1)})
            numbers += [row for row in near if row < self.surveyed.rows]
            first.append(self._rows_at(near))
        return first[0] if len(first) == 1 else pd.concat(first, ignore_index=True), numbers

    def _rows_at(self, near: list[int]) -> pd.DataFrame:
        """These rows with all columns."""
        taken, at = [], 0
        for chunk in self.rows.chunks():
            frame = rows_of(chunk)
            here = [row - at for row in near if at <= row < at + len(frame)]
            if here:
                taken.append(frame.iloc[here])
            at += len(frame)
        return pd.concat(taken, ignore_index=True)

    def _silent(self) -> tuple[Hashable, ...]:
        """The columns that change no amount in the first rows, and may in later ones."""
        source = self.layout.source
        if source is None or source.given is None or source.reading.sums is None:
            return ()
        first = self._first()
        return silent_columns(first, free_labels(first), source.reading)

    def _keep_layout(self) -> None:
        """Save what the columns of the file were decided to mean, where that is requested."""
        if self._save_layout is None:
            return
        source = self.layout.source
        of_tax = None if source is None else of_tax_for_layout(source)
        first, inputs = self._first(), self.layout.inputs
        zero: list[Hashable] = []
        if source is not None and source.given is not None and source.given.amount is None:
            found = zero_columns(first, free_labels(first), source.reading)
            zero = [label for label in found if label not in self._late.of]
        layout_by(first, free_labels(first), inputs, of_tax, zero).save(self._save_layout)

    def _lay_out(self, first: pd.DataFrame, inputs: Inputs) -> None:
        """Decide on the columns by the first rows; wrong arguments are refused, without a request.

        What the rates may decide is decided by `_decide`.
        """
        schema, semicolons = self.rows.schema, self.rows.delimiter == ";"
        self._semicolons = semicolons
        terms, source, self._of_tax = settled(
            first, self._given, inputs.reading, final=False, semicolons=semicolons
        )
        self._of_rates: list[str] = []
        if source is not None and source.waits:
            self._of_tax = []  # the rates may decide otherwise: it is said once they have
        self.layout, self.terms = file_layout(schema, first, inputs, terms, source), terms
        check_columns(self.kind, self._names())

    def _decide(self) -> None:
        """Let the rates of the first rows decide what the amounts are, where that is open.

        Raises:
            ColumnAmbiguous: it is still open.
        """
        source = self.layout.source
        if source is None or not source.waits or not self.surveyed.whole or self._results is None:
            return
        first, numbers = self._first_rows()
        prefix, below = self._given.lookup.prefix, self._given.lookup.below
        codes = self.surveyed.codes_at(numbers)
        columns = ResultColumns(self._results, below=below).rows(codes)
        rates = rates_known(Enriched(with_columns(first, prefix, columns), prefix))
        terms, source, of_tax = settled(
            first,
            self._given,
            self.layout.inputs.reading,
            rates=rates,
            final=True,
            semicolons=self._semicolons,
        )
        first = self._first()
        self.layout = file_layout(self.rows.schema, first, self.layout.inputs, terms, source)
        self.terms = terms
        check_columns(self.kind, self._names())
        self._of_rates = of_tax
        self._look_again()

    def _leave_out_totals(self) -> None:
        """Compute the amounts where an amount that could be used as it stands has totals below."""
        source = self.layout.source
        if source is None or not source.as_it_stands:
            return
        found = total_rows(source.reading.orders)
        for chunk in self.rows.chunks():
            if Orders(rows_of(chunk), source.reading).totals(found).any():
                source = replace(source, as_it_stands=False)
                self.terms = replace(self.terms, tax=self._given.tax)
                self.layout = file_layout(
                    *(self.rows.schema, self._first(), self.layout.inputs, self.terms, source)
                )
                check_columns(self.kind, self._names())
                self._orders = OrderIndex(self.layout.reading, self.layout.inputs.columns)
                return

    def _look_again(self) -> None:
        """Read the orders of the file again, by the columns that were decided."""
        self._orders = OrderIndex(self.layout.reading, self.layout.inputs.columns)
        for chunk in self.rows.chunks(self.layout.used):
            frame = self._orders.completed(rows_of(chunk))
            self._orders.see(frame, self._exempt_rows(frame))


def _check_breakdown(name: str, lookup: LookupOptions) -> None:
    """Refuse a breakdown without the columns that it needs, before any request.

    Raises:
        ValueError: the lookup leaves one of them out.
    """
    if absent := [needed for needed in BREAKDOWNS[name].needs if needed not in lookup.names]:
        raise ValueError(
            f"{name}: the lookup leaves out the column {absent[0]!r}, which it needs; name it among"
            " the columns to add, or add all"
        )


_NEAR = 5
_MOST_LATE = 200
_WIDE = 200
"""Bytes of a cell, on average, from which on a column holds long texts."""


def _is_wide(column: pa.ChunkedArray) -> bool:
    return bool(column.nbytes > _WIDE * max(len(column), 1))


@dataclass(slots=True)
class Late:
    """The rows of a file in which a column changes an amount that changes none in the first rows.

    Attributes:
        labels: the columns.
        rows: the numbers of the first rows of each.
        of: those of the columns that have some.
    """

    labels: tuple[Hashable, ...] = ()
    rows: list[int] = field(default_factory=list)
    of: set[Hashable] = field(default_factory=set)

    def see(self, frame: pd.DataFrame, at: int) -> None:
        """Find them in a chunk, whose first row has this number."""
        if len(self.rows) >= _MOST_LATE:
            return
        for label in self.labels:
            if len(rows := late_rows(frame, [label])):
                self.rows += (rows + at).tolist()
                self.of.add(label)


class _StoppedError(Exception):
    """The writing was stopped."""


def _until(
    stop: threading.Event | None, advance: Callable[[int], object]
) -> Callable[[int], object]:
    """`advance`, which raises `_StoppedError` once `stop` is set."""

    def step(count: int) -> None:
        if stop is not None and stop.is_set():
            raise _StoppedError
        advance(count)

    return step


class _FileWriting:
    """Writes the rows of a file with the columns that are added to them."""

    def __init__(
        self,
        rows: Table,
        layout: Layout,
        terms: Terms,
        *,
        columns: ResultColumns,
        codes: Sequence[np.ndarray],
        stamp: Stamp,
    ) -> None:
        """Begin to write; no row is read yet.

        Args:
            rows: the file that is read.
            layout: which of its columns are used, and which are passed on.
            terms: the options of the lookup and the tax.
            columns: the columns that are added, by the number of a query.
            codes: for each chunk, the numbers of the queries of its rows.
            stamp: what the written rows say of the lookup and the tax.
        """
        self._rows, self._layout, self._terms = rows, layout, terms
        self._columns, self._codes, self.stamp = columns, codes, stamp
        # what was looked up and by what it is taxed, without the results themselves
        self._counted = Stamp(stamp).put(terms.lookup.prefix, readings=layout.reading.as_plain())
        self._counts = Counts()
        self._money: list[int] = []
        self.notes: list[str] = []
        self.amounts_of_rows = False

    def find_money(self) -> None:
        """Find the columns of a CSV that a sheet has as numbers."""
        names = self._rows.schema.names
        places = {names.index(str(label)) for label in self._layout.inputs.columns.values()}
        free = [position for position in self._layout.passed if position not in places]
        self._money = money_columns(self._rows, free, self._layout.amounts)

    def write(
        self,
        totals: FileTotals,
        target: Path,
        kind: str,
        split: SplitInvoices,
        orders: OrderIndex,
        *,
        rows: int,
        advance: Callable[[int], object],
        seen: list[pd.DataFrame] | None = None,
    ) -> None:
        """Write the rows to a file of this kind, whole or not at all; `-` is the standard output.

        They are added to `totals`. The enriched rows, with all their columns, are appended to the
        list `seen`, if given.
        """
        schema = self._schema()

        def joined() -> Iterator[Chunk]:
            for chunk, enriched in self._enriched_chunks(totals, split, orders):
                yield self._joined(chunk, added_columns(enriched, self._layout), schema, kind)
                if seen is not None:
                    seen.append(self._whole(chunk, enriched))
                advance(len(enriched))

        with _whole_output(target) as place:
            self.notes += write_table(kind, place, schema, joined(), rows)
            # before the file takes its name: later rows may show what the first ones did not
            refuse_if_open(self._counts, self._layout.reading)
        self.notes += self._counts.sentences(self._layout.reading)

    def frame(
        self,
        totals: FileTotals,
        split: SplitInvoices,
        orders: OrderIndex,
        *,
        advance: Callable[[int], object],
    ) -> pd.DataFrame:
        """The rows as one frame; they are added to `totals`."""
        parts = []
        for chunk, enriched in self._enriched_chunks(totals, split, orders):
            parts.append(self._whole(chunk, enriched))
            advance(len(enriched))
        refuse_if_open(self._counts, self._layout.reading)
        self.notes += self._counts.sentences(self._layout.reading)
        if not parts:  # a file without rows has all columns, too
            empty = Chunk(self._rows.schema.empty_table())
            taken = rows_of(empty, self._layout.used)
            codes, marks = np.zeros(0, np.int64), orders.marks(taken, partial(rows_of, empty))
            parts = [self._whole(empty, self._rated(taken, codes, marks))]
        frame = _stacked(parts).reset_index(drop=True)
        _remember(frame, self._counted, parts[0], self._terms.lookup.prefix)
        return frame

    def _enriched_chunks(
        self, totals: FileTotals, split: SplitInvoices, orders: OrderIndex
    ) -> Iterator[tuple[Chunk, pd.DataFrame]]:
        """The chunks of the file, each with its enriched rows, which are added to `totals`."""
        held = self._split_lines(split, orders)
        number = 0
        orders.begin()
        for chunk, codes in zip(self._rows.chunks(), self._codes, strict=True):
            frame = orders.completed(rows_of(chunk, self._layout.used))
            marks = orders.marks(frame, partial(rows_of, chunk))
            enriched = self._enriched(frame, codes, marks, number, held)
            totals.add(Enriched(self._to_count(chunk, enriched), self._terms.lookup.prefix))
            yield chunk, enriched
            number += len(enriched)

    def _split_lines(self, split: SplitInvoices, orders: OrderIndex) -> pd.DataFrame | None:
        """The lines of the invoices that lie in several chunks, with their tax."""
        invoice = (self._terms.tax or {}).get("invoice")
        if invoice is None or not split.any():
            return None
        pieces, of_pieces, marks, number = [], [], [], 0
        orders.begin()
        for chunk, codes in zip(self._rows.chunks(self._layout.used), self._codes, strict=True):
            frame = orders.completed(rows_of(chunk))
            frame.index = pd.RangeIndex(number, number + len(frame))
            rows = split.rows(frame[invoice])
            pieces.append(frame[rows])
            of_pieces.append(codes[rows])
            marks.append(orders.marks(frame).of(rows))
            number += len(frame)
        return self._rated(pd.concat(pieces), np.concatenate(of_pieces), OrderMarks.joined(marks))

    def _enriched(
        self,
        frame: pd.DataFrame,
        codes: np.ndarray,
        marks: OrderMarks,
        number: int,
        held: pd.DataFrame | None,
    ) -> pd.DataFrame:
        """The rows of a chunk, of which the first has this number in the file."""
        if held is None:
            return self._rated(frame, codes, marks)
        frame.index = pd.RangeIndex(number, number + len(frame))
        here = held.loc[held.index.isin(frame.index)]
        if here.empty:
            return self._rated(frame, codes, marks)
        others = ~frame.index.isin(here.index)
        if not others.any():
            return here
        joined = _stacked(
            [self._rated(frame.loc[others], codes[others], marks.of(others)), here]
        ).sort_index()
        joined.attrs = here.attrs
        return joined

    def _rated(self, frame: pd.DataFrame, codes: np.ndarray, marks: OrderMarks) -> pd.DataFrame:
        """The rows with what was found for their queries, and their tax."""
        prefix, columns = self._terms.lookup.prefix, self._columns.rows(codes)
        rated, tax = with_columns(frame, prefix, columns), self._layout.tax
        remember_columns(rated, prefix, columns)
        return rated if tax is None else tax.add(rated, marks=marks, counts=self._counts)

    def _schema(self) -> pa.Schema:
        """The columns of the output: those of the file that are passed, then the added ones."""
        added = self._layout.added
        passed = [
            field.with_type(MONEY) if position in self._money else field
            for position in self._layout.passed
            for field in [self._rows.schema.field(position)]
        ]
        metadata = with_stamp(self._rows.schema.metadata, self.stamp)
        return pa.schema([*passed, *added], metadata)

    def _whole(self, chunk: Chunk, enriched: pd.DataFrame) -> pd.DataFrame:
        """The enriched rows with all columns of the file that are passed."""
        passed = rows_of(chunk, self._layout.passed).set_axis(enriched.index)
        whole = pd.concat([passed, enriched.iloc[:, len(self._layout.used) :]], axis=1)
        whole.attrs = enriched.attrs
        return whole

    def _to_count(self, chunk: Chunk, enriched: pd.DataFrame) -> pd.DataFrame:
        """The enriched rows with all that `df.svc.review()` of the whole file would read."""
        frame = enriched.copy(deep=False)
        _remember(frame, self._counted, enriched, self._terms.lookup.prefix)
        names = [self._rows.schema.field(position).name for position in self._layout.passed]
        if self._terms.tax is not None:
            return frame
        if not self.amounts_of_rows:
            return frame.drop(columns="amount", errors="ignore")
        if "amount" not in frame and names.count("amount") == 1:
            position = self._layout.passed[names.index("amount")]
            frame["amount"] = rows_of(chunk, [position])["amount"].set_axis(frame.index)
        return frame

    def _joined(self, chunk: Chunk, added: pa.Table, schema: pa.Schema, kind: str) -> Chunk:
        """The user's columns and the `added` ones as one chunk, in forms that `kind` can hold."""
        passed = [
            as_money(column) if position in self._money else column
            for position in self._layout.passed
            for column in [_cells_for(kind, chunk.table.column(position))]
        ]
        columns = [
            column.cast(field.type)
            for column, field in zip(added.columns, list(schema)[len(passed) :], strict=True)
        ]
        if kind == "csv":  # in a sheet texts stay text, and spreadsheets do not open Parquet
            columns = [safe_text(column) for column in columns]
        stored = {
            place: chunk.stored[position]
            for place, position in enumerate(self._layout.passed)
            if position in chunk.stored
        }
        return Chunk(pa.table([*passed, *columns], schema=schema), stored)


def _cells_for(kind: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of the source as an output of this kind has it.

    Cells written as formulas, `="02138"`, stay so in a CSV: there they keep their zeros.
    """
    return column if kind == "csv" else texts_of_formulas(column)


def _remember(frame: pd.DataFrame, stamp: Stamp, enriched: pd.DataFrame, prefix: str) -> None:
    """Store a stamp with rows, with all columns of enriched ones: a file may have few of them."""
    stamp.put(prefix, columns=Stamp.of(enriched).columns.get(prefix)).write(frame)


def _stacked(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Frames one below the other; categories that differ are joined.

    Else they become objects, except that pandas 2.3 keeps those of the others, with a warning,
    where a frame has no value.
    """
    joined = {
        name: pd.CategoricalDtype(
            sorted(set().union(*(frame[name].cat.categories for frame in frames)))
        )
        for name, kind in frames[0].dtypes.items()
        if isinstance(kind, pd.CategoricalDtype)
        and any(frame[name].dtype != kind for frame in frames[1:])
    }
    return pd.concat([frame.astype(joined) if joined else frame for frame in frames])


@contextlib.contextmanager
def _whole_output(target: Path) -> Iterator[Path | BinaryIO]:
    """Where to write to: a file that appears under its name once it is complete."""
    if str(target) != "-":
        with whole_file(target) as draft:
            yield draft
    elif hasattr(sys.stdout, "buffer"):
        yield sys.stdout.buffer
    else:
        raise FileError(
            "rows cannot be printed here, as in a notebook: name a file to write", "place"
        )
