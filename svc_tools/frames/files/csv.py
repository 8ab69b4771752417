"""A CSV file as rows of text: encoding, delimiter and header detected, then read by chunks.

Arrow parses the rows. What it would read wrongly is handled here first: other encodings, line
ends at the edge of a block, and quotation marks that would make one cell of many rows.
"""

from __future__ import annotations

import codecs
import csv
import io
from contextlib import closing
from dataclasses import dataclass
from threading import Event as Gone
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv

from svc_tools.csv_cells import cells_of_any_length
from svc_tools.frames.files.chunk import Chunk, FileError, Unchanged

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

_BLOCK_BYTES = 8 << 20
"""Bytes that Arrow reads at once; no row may be longer."""
_SCAN_BYTES = 4 << 20
"""Bytes that are checked at once."""


class CsvRows:
    """A CSV file; every cell is text as in the file, an empty one is missing."""

    def __init__(self, path: Path, *, encoding: str | None, delimiter: str | None) -> None:
        self._path = path
        self._unchanged = Unchanged(path)
        self._dialect: Dialect = dialect_of(path, encoding=encoding, delimiter=delimiter)
        self.schema = pa.schema([pa.field(name, pa.string()) for name in self._dialect.header])
        self.notes = list(self._dialect.notes)

    def chunks(self, positions: Sequence[int] | None = None) -> Iterator[Chunk]:
        """See `Rows.chunks`.

        Raises:
            FileError: a row has another number of cells than the header; the message names it.
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
                        table = pa.Table.from_batches([batch.cast(_with_types(batch, schema))])
                        yield Chunk(table.rename_columns(schema.names))
        except UnicodeDecodeError as error:
            raise FileError(f"{self._path.name} is not {self._dialect.encoding}: {error}") from None
        except pa.ArrowInvalid as error:
            raise self._explained(error, broken) from None
        except OSError as error:
            raise FileError(f"{self._path.name} cannot be read: {error}") from None

    def close(self) -> None:
        """Nothing is open between two readings."""

    def _batches(
        self, file: pa.NativeFile, wanted: Sequence[int], broken: list[arrow_csv.InvalidRow]
    ) -> Generator[pa.RecordBatch]:
        """The rows as Arrow reads them; at the end none of its threads holds the handler."""
        gone = Gone()
        reader = None
        try:
            reader = self._reader(file, wanted, _Refusal(broken, gone))
            yield from reader
        finally:
            if reader is not None:
                reader.close()
            reader = None  # an exception may keep this frame alive
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
            del refusal  # an exception keeps this frame alive, and only Arrow may hold it

    def _explained(self, error: pa.ArrowInvalid, broken: list[arrow_csv.InvalidRow]) -> FileError:
        name = self._path.name
        if broken:
            row = broken[0]
            at = "a row" if row.number is None else f"row {row.number:,}"
            widths = (
                f"{name}: {at} has {_counted(row.actual_columns, 'cell')} where the header names"
                f" {_counted(row.expected_columns, 'column')}: {_short(row.text)!r}. "
            )
            if row.expected_columns == 1:
                return FileError(
                    f"{widths}The names are taken from the first line,"
                    f" {_short(self._dialect.header[0])!r}: delete what stands above the names of"
                    " the columns, or name the delimiter"
                )
            return FileError(
                f"{widths}Fix it there (a cell that holds the delimiter needs quotation marks), or"
                " name the delimiter"
            )
        if "straddling" in str(error):
            return FileError(
                f"{name}: a row is longer than {_BLOCK_BYTES >> 20} MB, so it is probably not a CSV"
                " with this delimiter"
            )
        return FileError(f"{name} cannot be read as CSV: {error}")


def _with_types(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Schema:
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


_LET_GO = 5.0
"""Seconds to wait for Arrow's threads to release their objects, which takes milliseconds."""


class _Refusal:
    """The handler that Arrow calls for a row of another width, and holds while it reads.

    Arrow reads ahead in a separate thread, which releases this handler a moment after the reader
    was closed. If Python exited in that moment, the thread could not take the lock that releasing
    needs, and the process would abort. So the reader waits until the handler is `gone`.
    """

    def __init__(self, broken: list[arrow_csv.InvalidRow], gone: Gone) -> None:
        self._broken, self._gone = broken, gone

    def __call__(self, row: arrow_csv.InvalidRow) -> str:
        self._broken.append(row)
        return "error"

    def __del__(self) -> None:
        self._gone.set()


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV is read; `notes` are sentences for the user on how that was detected."""

    encoding: str
    delimiter: str
    header: tuple[str, ...]
    has_rows: bool
    notes: tuple[str, ...]


_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 262_144
"""Bytes from which the header and the delimiter are detected."""
_FALLBACK = "cp1252"


def dialect_of(path: Path, *, encoding: str | None, delimiter: str | None) -> Dialect:
    """The dialect of a file; a given encoding or delimiter is used as it is.

    Raises:
        FileError: the file is empty or not text, or its delimiter is ambiguous.
    """
    with open_bytes(path) as file:
        sample = file.read(_SAMPLE)
    if not sample.strip(b"\r\n\t ,;\xef\xbb\xbf\x00"):
        raise FileError(f"{path.name} is empty: expected a line of column names and rows below it")
    notes: list[str] = []
    if encoding is None:
        encoding = _encoding_of(path, sample, notes)
    else:
        _check_encoding(encoding)
    text = _decoded(path, sample, encoding)
    if delimiter is not None and not (
        len(delimiter) == 1 and delimiter.isascii() and delimiter not in '"\r\n'
    ):
        raise FileError(
            f"delimiter: {delimiter!r} is not known; expected one character of ASCII, such as ';'"
        )
    with cells_of_any_length():
        mark = delimiter or _delimiter_of(path, text)
        first = _rows(text, mark)
        header: list[str] = next((row for row in first if row), [])
        has_rows = any(row or len(header) == 1 for row in first) or len(sample) == _SAMPLE
    check_marks(path, encoding, mark)
    if mark != "," and delimiter is None:
        notes.append(f"{path.name} is read as separated by {_DELIMITERS[mark]}s")
    return Dialect(encoding, mark, tuple(header), has_rows, tuple(notes))


def _encoding_of(path: Path, sample: bytes, notes: list[str]) -> str:
    for mark, name in _BOMS:
        if sample.startswith(mark):
            return name
    if b"\0" in sample:
        raise FileError(
            f"{path.name} is no text: it holds bytes of zero. If it is UTF-16, say so with"
            " --encoding utf-16-le (encoding='utf-16-le'); else export it as CSV again"
        )
    at = _undecodable(path, "utf-8")
    if at is None:
        return "utf-8"
    if _undecodable(path, _FALLBACK) is not None:
        raise FileError(
            f"{path.name} is neither UTF-8 (see byte {at:,}) nor Windows-1252: name its encoding"
            " with --encoding (encoding=)"
        )
    notes.append(
        f"{path.name} is not UTF-8 (see byte {at:,}), so it is read as Windows-1252; name another"
        " encoding with --encoding (encoding=)"
    )
    return _FALLBACK


def _undecodable(path: Path, encoding: str) -> int | None:
    """Where the file's bytes stop being text in this encoding; `None` where they do not."""
    decoder = codecs.getincrementaldecoder(encoding)()
    before = 0
    with open_bytes(path) as file:
        while True:
            block = file.read(_SCAN_BYTES)
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                return before + error.start
            if not block:
                return None
            before += len(block)


def _check_encoding(encoding: str) -> None:
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise FileError(
            f"encoding: {encoding!r} is not known; expected one such as utf-8, cp1252 or utf-16"
        ) from None


def _decoded(path: Path, sample: bytes, encoding: str) -> str:
    decoder = codecs.getincrementaldecoder(encoding)()  # a character may end after the sample
    try:
        return decoder.decode(sample).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise FileError(f"{path.name} is not {encoding} (see byte {error.start:,})") from None


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def _delimiter_of(path: Path, text: str) -> str:
    """The delimiter that splits the header and the rows below it into equally many cells.

    Raises:
        FileError: there are two such delimiters.
    """
    widths = {mark: _width(text, mark) for mark in _DELIMITERS}
    even = {mark: width for mark, (width, is_even) in widths.items() if width > 1 and is_even}
    if path.name.lower().removesuffix(".gz").endswith(".tsv") and widths["\t"][0] > 1:
        return "\t"
    if not even:  # a broken row is reported where it is read; here only the header counts
        return max(_DELIMITERS, key=lambda mark: widths[mark][0])
    best = [mark for mark, width in even.items() if width == max(even.values())]
    if len(best) > 1:
        named = " or ".join(f"{_DELIMITERS[mark]}s" for mark in best)
        raise FileError(
            f"{path.name} could be separated by {named}: say which with --delimiter (delimiter=)"
        )
    return best[0]


def _width(text: str, delimiter: str) -> tuple[int, bool]:
    """How many columns the header has, and whether the rows below have as many."""
    rows = _rows(text, delimiter)
    width, even = 0, True
    complete = len(text) * 2 < _SAMPLE  # else the last row may be cut off
    before: list[str] | None = None
    try:
        for number, row in enumerate(rows):
            if not width:
                width = len(row)
            if before is not None and before and len(before) != width:
                even = False
            before = row
            if number > 50:  # noqa: PLR2004  # rows: enough to believe a delimiter
                return width, even
    except csv.Error:
        return width, False
    return width, even and (not complete or not before or len(before) == width)


def check_marks(path: Path, encoding: str, delimiter: str) -> None:
    """Refuse a mark that is never closed, or that is closed rows later by one that opens a cell.

    All rows between the two would become one cell, and be lost unnoticed.

    Raises:
        FileError: there is such a mark; the message names its row.
    """
    if _are_paired(path, encoding, delimiter):
        return
    with cells_of_any_length(), open_bytes(path) as file:
        # marks inside an unquoted cell are text: only a CSV reader can tell
        text = io.TextIOWrapper(file, encoding, newline="")
        rows = csv.reader(text, delimiter=delimiter, strict=True)
        number = lines = 0
        while True:
            number, lines = number + 1, rows.line_num
            try:
                next(rows)
            except StopIteration:
                return
            except UnicodeDecodeError as error:
                raise FileError(f"{path.name} is not {encoding}: {error}") from None
            except csv.Error as error:
                unclosed = "unexpected end of data" in str(error)
                if unclosed or rows.line_num - lines > 1:
                    closed = (
                        "never closed" if unclosed else _closed_by_next(rows.line_num - lines - 1)
                    )
                    raise FileError(
                        f"{path.name}: a quotation mark is opened in row {number:,} and {closed};"
                        " close it there, or write it twice where it is a part of the text"
                    ) from None


def _closed_by_next(lines: int) -> str:
    lower = "on the next line" if lines == 1 else f"{lines:,} lines further down"
    return f"closed {lower} by one that opens another cell, so the rows between would be lost"


_MARK = ord('"')


def _are_paired(path: Path, encoding: str, delimiter: str) -> bool:
    """Whether the marks come in pairs around whole cells: a quick check that most files pass."""
    # what may precede an opening mark and follow a closing one: another mark, or an end of cell
    edges = np.zeros(256, bool)
    edges[[_MARK, *b"\r\n", *delimiter.encode()[:1]]] = True
    opened, last = 0, b"\n"
    with closing(Utf8(path, encoding)) as text:
        block = text.read(_SCAN_BYTES)
        while block:
            after = text.read(_SCAN_BYTES)
            if b'"' in block:
                letters = np.frombuffer(last + block + (after[:1] or b"\n"), np.uint8)
                marks = np.flatnonzero(letters[1:-1] == _MARK) + 1
                opening = (np.arange(len(marks)) + opened) % 2 == 0
                adjacent = np.where(opening, letters[marks - 1], letters[marks + (~opening)])
                if not edges[adjacent].all():
                    return False
                opened = (opened + len(marks)) % 2
            last, block = block[-1:], after
    return not opened


def open_bytes(path: Path) -> pa.NativeFile:
    """The file's bytes, decompressed (`.gz`)."""
    return pa.input_stream(str(path), compression="detect")


class Utf8:
    """The text of a file as UTF-8, in blocks that do not end in a carriage return.

    Where a block ends in a carriage return, Arrow takes a line feed at the start of the next one
    for the rest of that line end, and drops it, even inside a cell. Only the last block may end
    so. Empty lines above the header are left out.
    """

    def __init__(self, path: Path, encoding: str) -> None:
        self._file = open_bytes(path)
        self._pending = b""
        self._at_end = False
        self._begun = False
        self.closed = False
        plain = codecs.lookup(encoding).name == "utf-8"
        self._decoder = None if plain else codecs.getincrementaldecoder(encoding)()

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end."""
        while len(self._pending) < size and not self._at_end:
            block = self._file.read(size)
            self._at_end = not block
            self._pending += self._as_utf8(block)
            if not self._begun:
                self._pending = self._pending.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n")
                self._begun = bool(self._pending)
        cut = size
        if size < len(self._pending) or not self._at_end:
            cut = len(self._pending[:size].rstrip(b"\r")) or size
        text, self._pending = self._pending[:cut], self._pending[cut:]
        return text

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self.closed = True

    def _as_utf8(self, block: bytes) -> bytes:
        if self._decoder is None:
            return block
        return self._decoder.decode(block, final=not block).encode()
