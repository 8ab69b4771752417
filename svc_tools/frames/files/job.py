"""One file's way: survey its rows, ask for its places, write its rows with their answers."""

# MERGED file_writing: The second reading of a file: every row gets its answer and is written out.
# MERGED file_plan: What a file will take, before anything is asked.

from __future__ import annotations

import contextlib
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, Protocol, Self

import pandas as pd
import pyarrow as pa

from svc_tools.atomic import whole_file
from svc_tools.config import service_name, source_of
from svc_tools.frames.accessor import SvcAccessor
from svc_tools.frames.answers import Answerer, answerer
from svc_tools.frames.files import Chunk, FileError, check_output, open_rows, open_writer
from svc_tools.frames.files.rates import (
    Answered,
    Crossing,
    added_columns,
    asked_of,
    enriched_rows,
    layout_of,
    memory_of,
    settled,
    with_memory,
)
from svc_tools.frames.files.reading import check_columns, check_report, check_rows
from svc_tools.frames.files.result import INTERRUPTED, FileRun, FileTotals
from svc_tools.frames.files.writing import CsvWriter, as_text
from svc_tools.frames.lookup_columns import TAX_COLUMNS
from svc_tools.lookup import Run, look_up
from svc_tools.lookup.outcomes import STOPPED
from svc_tools.lookup.plan import Plan, Refused
from svc_tools.places import GRAINS, Question, first_day

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from decimal import Decimal
    from pathlib import Path

    from svc_sdk import Svc
    from svc_tools.config import Source
    from svc_tools.frames.files import Rows, Writer
    from svc_tools.frames.files.rates import Layout, Terms
    from svc_tools.lookup import Outcome
    from svc_tools.lookup.cache import Answers
    from svc_tools.lookup.lock_file import Lock
    from svc_tools.places import Grain, Place

Stage = Literal["reading", "asking", "writing"]
_NOTED = {
    "state_from_zip": "rows whose state was taken from the ZIP",
    "zip_repaired": "rows whose ZIP was tidied up (such as 2134 for 02134)",
}


class Progress(Protocol):
    """Shows how far a run is."""

    def __call__(
        self, stage: Stage, total: int | None
    ) -> AbstractContextManager[Callable[[int], object]]:
        """A stage of so many rows or places begins; its function says how many more are done."""


@dataclass(slots=True)
class Survey:
    """What a file asks.

    Attributes:
        rows: its rows.
        places: its distinct places, with the number of rows that ask for each.
        refused: rows by status (invalid, unsupported) and reason; they are never asked for.
        noted: rows by what was decided about them.
        whole: whether the file was read to its end.
    """

    rows: int = 0
    places: Counter[Place] = field(default_factory=Counter)
    refused: Counter[tuple[str, str]] = field(default_factory=Counter)
    noted: Counter[str] = field(default_factory=Counter)
    whole: bool = False


class FileJob:
    """A file to enrich, step by step: `survey`, `ask`, `finish`. See `enrich_file`."""

    def __init__(
        self,
        source: Path,
        output: Path,
        terms: Terms,
        *,
        sheet: str | None = None,
        delimiter: str | None = None,
        encoding: str | None = None,
        report: Path | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.source, self.output, self.report = source, output, report
        self._progress = progress or _silent
        self.kind = "csv" if str(output) == "-" else check_output(output, source, force=force)
        if report is not None:
            check_report(report, source, output, force=force)
        with self._progress("reading", None):  # a workbook is read whole to know its columns
            self.rows = open_rows(source, sheet=sheet, delimiter=delimiter, encoding=encoding)
        try:
            self.layout = layout_of(self.rows.schema, self._first(), terms)
            # what the tax refuses is refused now, before anything is asked
            self.terms, self._of_tax = settled(self.rows.schema, self.layout, terms)
            check_columns(self.kind, self._names())
        except BaseException:
            self.rows.close()
            raise
        self.notes = [*self.rows.notes, *self.layout.notes]
        self.surveyed = Survey()
        self._crossing = Crossing()
        self._run: Run | None = None
        self._answered = Answered({}, Answerer(""))
        self._source: Source | None = None

    def __enter__(self) -> Self:
        """The job itself; the file is let go of at the end."""
        return self

    def __exit__(self, *error: object) -> None:
        """Let go of the file."""
        self.rows.close()

    def aim(self, output: Path, *, force: bool = False) -> None:
        """Write to another file from now on, of any kind; what was asked for stays known.

        Raises:
            FileError: it cannot be written, or cannot hold the rows.
        """
        kind = check_output(output, self.source, force=force)
        check_columns(kind, self._names())
        check_rows(kind, self.surveyed.rows)
        self.output, self.kind = output, kind

    def survey(self, stop: threading.Event | None = None) -> Survey:
        """Read the file once: count its rows and collect its distinct places.

        Where `stop` is set on the way, the survey is not `whole`, and nothing can be written.

        Raises:
            FileError: a row cannot be read, or the output cannot hold so many.
        """
        surveyed, invoice = self.surveyed, self.terms.tax and self.terms.tax.get("invoice")
        with self._progress("reading", None) as advance:
            for chunk in self.rows.chunks(self.layout.used):
                if stop is not None and stop.is_set():
                    return surveyed
                frame = chunk.frame(range(len(self.layout.used)))
                asked = asked_of(frame, self.layout, self.terms)
                for one, rows in zip(asked.questions, asked.rows.tolist(), strict=True):
                    if isinstance(one, Question):
                        surveyed.places[one.place] += rows
                    else:
                        surveyed.refused[one.status, one.reason] += rows
                surveyed.noted.update({name: asked.count(name) for name in _NOTED})
                if invoice:
                    self._crossing.see(frame[invoice])
                surveyed.rows += len(frame)
                advance(len(frame))
        surveyed.whole = True
        check_rows(self.kind, surveyed.rows)
        told = (f"{text}: {surveyed.noted[name]:,}" for name, text in _NOTED.items())
        self.notes += [text for text in told if not text.endswith(": 0")]
        return surveyed

    def known(self, client: Svc, cache: Answers | None) -> dict[Place, Outcome]:
        """Answers that need not be asked for."""
        if cache is None:
            return {}
        return cache.known(source_of(client), self.surveyed.places, detail=self.terms.detail)

    def plan(self, client: Svc, cache: Answers | None, *, price: Decimal | None = None) -> Plan:
        """What asking will take; nothing is asked."""
        return plan_of_file(
            self.surveyed,
            self.terms,
            service=service_name(client),
            source=source_of(client),
            cache=cache,
            price=price,
            notes=self.notes,
        )

    def ask(
        self,
        client: Svc,
        cache: Answers | None,
        *,
        resume: bool = True,
        concurrency: int = 16,
        deadline: float | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        """Ask for the distinct places, each once; what is in the cache is taken from there.

        Asked again, only what the cache does not know is asked for; `stop` ends it, as for
        `look_up`.
        """
        self._kept = cache is not None
        answers = cache if resume or cache is None else _Anew(cache)
        left = len(self.surveyed.places) - len(self.known(client, answers))
        with self._progress("asking", left) as advance:
            self._run = look_up(
                client,
                self.surveyed.places,
                cache=answers,
                detail=self.terms.detail,
                concurrency=concurrency,
                deadline=deadline,
                on_outcome=lambda outcome: None if outcome.cached else advance(1),
                stop=stop,
            )
        self._answered = Answered(self._run.outcomes, answerer(client))
        self._source = source_of(client)
        self.notes += cache.notes if cache is not None else []

    def take(self, lock: Lock) -> None:
        """Answer from a lock file: nothing is asked; what is not in it was not attempted."""
        outcomes = lock.outcomes(self.surveyed.places, detail=self.terms.detail)
        known = sum(outcome.status != "not_attempted" for outcome in outcomes.values())
        self._kept = True
        self._answered = Answered(outcomes, Answerer(lock.name, lock.edition), lock.today)
        self._source = lock.source
        self._run = Run(outcomes, None, asked=0, cached=known, requests=0, waited=0.0)
        self.notes += lock.notes

    def finish(self, started: float, stop: threading.Event | None = None) -> FileRun:
        """Write the rows with their answers, and the report where one is wanted.

        Args:
            started: when the run began, by `time.monotonic()`.
            stop: breaks the writing off once it is set: then nothing is written. What stopped the
                asking already does not count: whoever did so wants what was found.

        Raises:
            FileError: a row cannot be read any more, or the output not be written; the answers
                are in the cache.
        """
        if self._run is None:
            raise RuntimeError("finish: nothing was asked for yet; call ask() first")
        stopped = self._run.stopped
        target: Path | None = self._named(self.output)
        if stopped == INTERRUPTED and self._kept and str(self.output) != "-":
            target = None
        if not self.surveyed.whole:
            target, stopped = None, stopped or STOPPED
        totals, notes = FileTotals(), self.notes
        if target is not None:
            memory = memory_of(
                *(self.layout, self.terms, self._answered, self._run),
                rows=self.surveyed.rows,
                source=self._source,
                notes=self.notes,
                of_tax=self._of_tax,
            )
            writing = FileWriting(self.rows, self.layout, self.terms, self._answered, memory)
            seen: list[pd.DataFrame] | None = None if self.report is None else []
            try:
                with self._progress("writing", self.surveyed.rows) as advance:
                    step = advance if stopped is not None else _until(stop, advance)
                    totals = writing.write(target, self.kind, self._crossing, step, seen)
            except _StoppedError:
                target, stopped, seen = None, STOPPED, None
            except BrokenPipeError:
                raise
            except OSError as error:
                raise self._unwritten(target, error) from error
            notes = [*notes, *writing.notes]
            if self.report is not None and target is not None and seen:
                self._report(self._named(self.report), target, seen, memory)
        return FileRun(
            source=self.source,
            output=self.output,
            written=target,
            service=self._answered.who.name,
            places=len(self.surveyed.places),
            cached=self._run.cached,
            asked=self._run.asked,
            requests=self._run.requests,
            stopped=stopped,
            resumable=self._kept,
            totals=totals,
            notes=tuple(dict.fromkeys(notes)),
            seconds=time.monotonic() - started,
        )

    def _named(self, path: Path) -> Path:
        """Where a file goes: what is incomplete never takes the name of what is whole."""
        if self._run is None or self._run.stopped is None or str(path) == "-":
            return path
        return path.with_name(f"{path.stem}-incomplete{path.suffix}")

    def _report(
        self,
        path: Path,
        written: Path,
        seen: list[pd.DataFrame],
        memory: dict[Hashable, object],
    ) -> None:
        frame = pd.concat(seen, ignore_index=True)
        frame.attrs = memory
        title = f"Sales tax of {self.source.name}"
        try:
            SvcAccessor(frame).report(path, title=title, prefix=self.terms.prefix)
        except OSError as error:
            raise FileError(
                f"cannot write the report {path}: {error.strerror or error}; the rows are in"
                f" {written}"
            ) from error

    def _unwritten(self, target: Path, error: OSError) -> FileError:
        kept = (
            "; the answers are kept, so the same command will ask for nothing anew"
            if self._kept
            else ""
        )
        if str(target) == "-":
            return FileError(f"cannot print the rows: {error.strerror or error}{kept}")
        return FileError(
            f"cannot write {target}: {error.strerror or error}. What was there is unchanged{kept}"
        )

    def _names(self) -> Counter[str]:
        """The names of the columns that will be written."""
        kept = [self.rows.schema.field(position).name for position in self.layout.kept]
        taxes = () if self.terms.tax is None else TAX_COLUMNS
        return Counter([*kept, *(self.terms.prefix + one for one in self.terms.added()), *taxes])

    def _first(self) -> pd.DataFrame:
        """The first rows with all columns, from which it is decided what they are."""
        chunk = next(iter(self.rows.chunks()), None) or Chunk(self.rows.schema.empty_table())
        return chunk.frame(range(len(self.rows.schema)))


class _StoppedError(Exception):
    """The writing was stopped."""


def _until(
    stop: threading.Event | None, advance: Callable[[int], object]
) -> Callable[[int], object]:
    """Advance; but break off once `stop` is set."""

    def step(count: int) -> None:
        if stop is not None and stop.is_set():
            raise _StoppedError
        advance(count)

    return step


class _Anew:
    """A cache that is written to and not read: every place is asked for anew."""

    def __init__(self, cache: Answers) -> None:
        self._cache = cache
        self.notes = cache.notes
        self.keep, self.quota, self.told_quota = cache.keep, cache.quota, cache.told_quota

    def known(
        self,
        source: Source,  # noqa: ARG002 - the protocol's signature
        places: Collection[Place],  # noqa: ARG002 - as above
        *,
        detail: bool,  # noqa: ARG002 - as above
    ) -> dict[Place, Outcome]:
        """Nothing."""
        return {}


@contextlib.contextmanager
def _silent(stage: Stage, total: int | None) -> Iterator[Callable[[int], object]]:  # noqa: ARG001 - the protocol's signature
    """Progress that nobody sees."""
    yield lambda _: None


class FileWriting:
    """Writes the rows of a file with the columns that are added to them."""

    def __init__(
        self,
        rows: Rows,
        layout: Layout,
        terms: Terms,
        answered: Answered,
        memory: Mapping[Hashable, object],
    ) -> None:
        self._rows, self._layout, self._terms, self._answered = rows, layout, terms, answered
        self._memory = memory
        self.notes: list[str] = []

    def write(
        self,
        target: Path,
        kind: str,
        crossing: Crossing,
        advance: Callable[[int], object],
        seen: list[pd.DataFrame] | None = None,
    ) -> FileTotals:
        """Write a file of this kind, whole or not at all; `-` is the standard output.

        Where a list `seen` is given, the enriched rows are put in it, with all their columns.
        """
        totals = FileTotals()
        held = self._held(crossing)
        schema = self._schema()
        taxed = None
        if self._terms.tax is not None:
            totals.taxed = 0
            taxed = {"ok", "partial"} if self._terms.tax.get("partial") == "use" else {"ok"}
        with contextlib.ExitStack() as stack:
            writer = stack.enter_context(_opened(target, kind, schema))
            number = 0
            for chunk in self._rows.chunks():
                enriched = self._enriched(chunk, self._layout.used, number, held)
                totals.add(enriched, self._terms.prefix, taxed=taxed)
                added = added_columns(enriched, self._terms)
                writer.write(self._joined(chunk, added, schema, kind))
                if seen is not None:
                    seen.append(self._whole(chunk, enriched))
                number += len(enriched)
                advance(len(enriched))
        self.notes += writer.notes
        return totals

    def _held(self, crossing: Crossing) -> pd.DataFrame | None:
        """The lines of the invoices that lie in several chunks, with their tax."""
        invoice = (self._terms.tax or {}).get("invoice")
        if invoice is None or not crossing.any():
            return None
        pieces, number = [], 0
        for chunk in self._rows.chunks(self._layout.used):
            frame = chunk.frame(range(len(self._layout.used)))
            frame.index = pd.RangeIndex(number, number + len(frame))
            pieces.append(frame[crossing.rows(frame[invoice])])
            number += len(frame)
        return self._rated(pd.concat(pieces))

    def _enriched(
        self, chunk: Chunk, used: tuple[int, ...], number: int, held: pd.DataFrame | None
    ) -> pd.DataFrame:
        """The rows of a chunk, of which the first has this number in the file."""
        frame = chunk.frame(used)
        if held is None:
            return self._rated(frame)
        frame.index = pd.RangeIndex(number, number + len(frame))
        here = held.loc[held.index.isin(frame.index)]
        if here.empty:
            return self._rated(frame)
        rest = frame.loc[~frame.index.isin(here.index)]
        return here if rest.empty else pd.concat([self._rated(rest), here]).sort_index()

    def _rated(self, frame: pd.DataFrame) -> pd.DataFrame:
        return enriched_rows(frame, self._layout, self._terms, self._answered)

    def _schema(self) -> pa.Schema:
        """The columns of the output: those of the file that are kept, then ours."""
        none = Chunk(self._rows.schema.empty_table())
        ours = added_columns(self._rated(none.frame(self._layout.used)), self._terms).schema
        kept = [self._rows.schema.field(position) for position in self._layout.kept]
        return pa.schema([*kept, *ours], with_memory(self._rows.schema.metadata, self._memory))

    def _whole(self, chunk: Chunk, enriched: pd.DataFrame) -> pd.DataFrame:
        """The enriched rows with all columns of the file that are kept."""
        kept = chunk.frame(self._layout.kept).set_axis(enriched.index)
        ours = enriched.iloc[:, len(self._layout.used) :]
        whole = pd.concat([kept, ours], axis=1)
        whole.attrs = enriched.attrs
        return whole

    def _joined(self, chunk: Chunk, added: pa.Table, schema: pa.Schema, kind: str) -> Chunk:
        kept = [chunk.table.column(position) for position in self._layout.kept]
        ours = [
            column.cast(field.type)
            for column, field in zip(added.columns, list(schema)[len(kept) :], strict=True)
        ]
        if kind == "csv":  # a sheet holds texts as texts, and Parquet is opened by no spreadsheet
            ours = [as_text(column) for column in ours]
        stored = {
            place: chunk.stored[position]
            for place, position in enumerate(self._layout.kept)
            if position in chunk.stored
        }
        return Chunk(pa.table([*kept, *ours], schema=schema), stored)


@contextlib.contextmanager
def _opened(target: Path, kind: str, schema: pa.Schema) -> Iterator[Writer]:
    """A writer whose file takes its name once all went well."""
    if str(target) == "-":
        if not hasattr(sys.stdout, "buffer"):
            raise FileError("rows cannot be printed here, as in a notebook: name a file to write")
        writer: Writer = CsvWriter(sys.stdout.buffer, schema)
        yield writer
        writer.close()
        return
    with whole_file(target.resolve()) as draft:  # a link stays one, to the new file
        writer = open_writer(kind, draft, schema)
        try:
            yield writer
        except BaseException:
            with contextlib.suppress(Exception):
                writer.close()
            raise
        writer.close()


def plan_of_file(
    surveyed: Survey,
    terms: Terms,
    *,
    service: str,
    source: Source,
    cache: Answers | None,
    price: Decimal | None,
    notes: Iterable[str],
) -> Plan:
    """The plan for a file that was surveyed; of its grain and the coarser ones."""
    grains: tuple[Grain, ...] = GRAINS  # type: ignore[assignment]
    left: dict[str, int] = {}
    for grain in grains[grains.index(terms.grain) :]:
        places = _of_grain(surveyed.places, grain)
        known = {} if cache is None else cache.known(source, places, detail=terms.detail)
        left[grain] = len(places) - len(known)
    return Plan(
        rows=surveyed.rows,
        places=len(surveyed.places),
        cached=len(surveyed.places) - left[terms.grain],
        to_ask=left[terms.grain],
        refused=tuple(
            Refused(status, reason, rows)
            for (status, reason), rows in surveyed.refused.most_common()
        ),
        grain=terms.grain,
        grains=left,
        service=service,
        price=price,
        quota_remaining=None if cache is None else cache.quota(source),
        notes=tuple(notes),
    )


def _of_grain(places: Iterable[Place], grain: Grain) -> dict[Place, None]:
    """The distinct places when they are asked for the first day of their period."""
    if grain == "day":
        return dict.fromkeys(places)
    return dict.fromkeys(
        place if place.as_of is None else replace(place, as_of=first_day(place.as_of, grain))
        for place in places
    )
