"""A CSV file as rows of text, by chunks."""

from __future__ import annotations

from contextlib import closing
from threading import Event as Gone
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import csv as arrow_csv

from svc_tools.frames.files.chunk import Chunk, FileError, Unchanged
from svc_tools.frames.files.csv_dialect import dialect_of
from svc_tools.frames.files.csv_text import Utf8

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

    from svc_tools.frames.files.csv_dialect import Dialect

__all__ = ["CsvRows"]

_BLOCK_BYTES = 8 << 20
"""Bytes that are read at once; no row may be longer."""
_LET_GO = 5.0
"""Seconds that Arrow's threads get to let go of what they held, which takes them milliseconds."""


class _Refusal:
    """What Arrow calls for a row of another width, and holds as long as it reads.

    Arrow reads ahead in a thread of its own, which lets go of this a moment after the reader was
    closed. Python's end in that moment would abort the process: the thread could not have the lock
    that it needs for it. So whoever reads waits for it.
    """

    def __init__(self, broken: list[arrow_csv.InvalidRow], gone: Gone) -> None:
        self._broken, self._gone = broken, gone

    def __call__(self, row: arrow_csv.InvalidRow) -> str:
        self._broken.append(row)
        return "error"

    def __del__(self) -> None:
        self._gone.set()


class CsvRows:
    """A CSV file; every cell is text as it stands there, an empty one is missing."""

    def __init__(self, path: Path, *, encoding: str | None, delimiter: str | None) -> None:
        self._path = path
        self._unchanged = Unchanged(path)
        self._dialect: Dialect = dialect_of(path, encoding=encoding, delimiter=delimiter)
        self.schema = pa.schema([pa.field(name, pa.string()) for name in self._dialect.header])
        self.notes = list(self._dialect.notes)

    def chunks(self, positions: Sequence[int] | None = None) -> Iterator[Chunk]:
        """See `Rows.chunks`.

        Raises:
            FileError: a row has another number of cells than the header; it says which row.
        """
        self._unchanged.check()
        wanted = range(len(self.schema)) if positions is None else positions
        schema = pa.schema([self.schema.field(position) for position in wanted])
        broken: list[arrow_csv.InvalidRow] = []
        if not self._dialect.has_rows:
            return
        try:
            with (
                closing(Utf8(self._path, self._dialect.encoding)) as text,
                pa.PythonFile(text, mode="r") as file,
                closing(self._batches(file, wanted, broken)) as batches,
            ):
                for batch in batches:
                    self._unchanged.check()
                    if batch.num_rows:
                        table = pa.Table.from_batches([batch.cast(_plain(batch, schema))])
                        yield Chunk(table.rename_columns(schema.names))
        except UnicodeDecodeError as error:
            raise FileError(f"{self._path.name} is not {self._dialect.encoding}: {error}") from None
        except pa.ArrowInvalid as error:
            raise self._explained(error, broken) from None
        except OSError as error:
            raise FileError(f"{self._path.name} cannot be read: {error}") from None

    def close(self) -> None:
        """Nothing is held open between two readings."""

    def _batches(
        self, file: pa.NativeFile, wanted: Sequence[int], broken: list[arrow_csv.InvalidRow]
    ) -> Generator[pa.RecordBatch]:
        """The rows as Arrow reads them; at the end no thread of Arrow's has to do with them."""
        gone = Gone()
        reader = None
        try:
            reader = self._reader(file, wanted, _Refusal(broken, gone))
            yield from reader
        finally:
            if reader is not None:
                reader.close()
            reader = None  # an exception may keep this frame
            gone.wait(_LET_GO)

    def _reader(
        self, file: pa.NativeFile, wanted: Sequence[int], refusal: _Refusal
    ) -> arrow_csv.CSVStreamingReader:
        count = len(self.schema)
        keys = [str(number) for number in range(count)]  # two columns may have one name
        try:
            return arrow_csv.open_csv(
                file,
                arrow_csv.ReadOptions(
                    use_threads=False,  # only then rows are counted
                    block_size=_BLOCK_BYTES,
                    column_names=keys,
                    skip_rows_after_names=1,
                ),
                arrow_csv.ParseOptions(
                    delimiter=self._dialect.delimiter,
                    newlines_in_values=True,
                    ignore_empty_lines=count > 1,
                    invalid_row_handler=refusal,
                ),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(keys, pa.string()),
                    include_columns=[keys[position] for position in wanted],
                    strings_can_be_null=True,
                    null_values=[""],
                ),
            )
        finally:
            del refusal  # an exception keeps this frame, and only Arrow may hold it

    def _explained(self, error: pa.ArrowInvalid, broken: list[arrow_csv.InvalidRow]) -> FileError:
        name = self._path.name
        if broken:
            row = broken[0]
            at = "a row" if row.number is None else f"row {row.number:,}"
            told = (
                f"{name}: {at} has {_counted(row.actual_columns, 'cell')} where the header names"
                f" {_counted(row.expected_columns, 'column')}: {_short(row.text)!r}. "
            )
            if row.expected_columns == 1:
                return FileError(
                    f"{told}The names are taken from the first line,"
                    f" {_short(self._dialect.header[0])!r}: delete what stands above the names of"
                    " the columns, or name the delimiter"
                )
            return FileError(
                f"{told}Mend it there (a cell that holds the delimiter needs quotation marks), or"
                " name the delimiter"
            )
        if "straddling" in str(error):
            return FileError(
                f"{name}: a row is longer than {_BLOCK_BYTES >> 20} MB; no row of orders is. Is it a CSV,"
                " and its delimiter the right one?"
            )
        return FileError(f"{name} cannot be read as CSV: {error}")


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Schema:
    return pa.schema(
        [
            pa.field(field.name, meant.type)
            for field, meant in zip(batch.schema, schema, strict=True)
        ]
    )


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _short(text: str | None) -> str:
    shown = (text or "").replace("\r", " ").replace("\n", " ")
    return shown if len(shown) <= 60 else f"{shown[:59]}…"  # noqa: PLR2004  # one line
