"""The second reading of a file: every row gets its answer and is written out."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa

from svc_tools.atomic import whole_file
from svc_tools.frames.files import Chunk, FileError, open_writer
from svc_tools.frames.files.file_memory import with_memory
from svc_tools.frames.files.file_rates import added_columns, enriched_rows
from svc_tools.frames.files.file_totals import FileTotals
from svc_tools.frames.files.writing import CsvWriter, as_text

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping
    from pathlib import Path

    from svc_tools.frames.files import Rows, Writer
    from svc_tools.frames.files.file_invoices import Crossing
    from svc_tools.frames.files.file_rates import Answered
    from svc_tools.frames.files.file_terms import Layout, Terms

__all__ = ["FileWriting"]


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
