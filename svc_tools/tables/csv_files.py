"""CSV files as text: encoding, delimiter and header detected, rows with line numbers, writing.

What a reader would take wrongly is refused here: quotation marks that would make one cell of many
rows, bytes that are not text. Cells that a spreadsheet would compute or convert are written behind
an apostrophe.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, BinaryIO

from svc_tools.base.atomic import whole_file
from svc_tools.tables.cells import text_of_formula
from svc_tools.tables.exports import lines_of, report_of
from svc_tools.tables.roles import names_below

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from svc_tools.tables.exports import Export

Row = tuple[int, list[object]]
"""The line (of a CSV) or row (of a sheet) number, from 1, and the cells."""


class FileError(ValueError):
    """A file cannot be read or written as requested.

    Attributes:
        code: the fault: `missing`, `kind`, `empty`, `changed`, `encoding`, `delimiter`, `quote`,
            `width`, `sheet`, `stray`, `size`, `header` (names below other rows), `exists`,
            `place` (folder, permission), `columns`, `rows`, `damaged`.
    """

    def __init__(self, message: str, code: str = "damaged") -> None:
        super().__init__(message, code)
        self.code = code

    def __str__(self) -> str:
        """The message."""
        return str(self.args[0])


DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FALLBACK = "cp1252"
_SAMPLE = 262_144
"""Bytes from which the header and the delimiter are detected."""
_LONGEST_HEADER = 16 << 20
"""Bytes up to which the end of a header is looked for that is longer than the sample."""
_SCAN_BYTES = 4 << 20
"""Bytes that are checked at once."""
_DECLARED = re.compile(r"sep=([\t -!#-~])\r?\n")
"""The first line with which some spreadsheets declare the delimiter."""
_LONGEST_CELL = 2**31 - 1
_ROWS_AT_ONCE = 1_024
_limit = threading.Lock()


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV is read; `notes` are sentences on how that was detected."""

    encoding: str
    delimiter: str
    header: tuple[str, ...]
    has_rows: bool
    paired: bool
    """Whether quotation marks stand around whole cells only."""
    skipped: int
    """Characters above the header: the line that declares the delimiter."""
    notes: tuple[str, ...]
    names_row: int | None = None
    """The row in which the names seem to stand, as a spreadsheet counts, if not in the first."""
    report: tuple[Export, Sequence[object]] | None = None
    """The report that the file is, and the row with the names, which is not the first one."""


def csv_rows(text: Iterable[str], delimiter: str = ",") -> Iterator[Row]:
    """The line number (of its last line) and the cells of each row; an empty line has no cells.

    Raises:
        csv.Error: the text cannot be read as CSV.
    """
    reader = csv.reader(text, delimiter=delimiter)
    rows: list[Row] = [(0, [])]
    while rows:
        with _cells_of_any_length():
            rows = [(reader.line_num, [*cells]) for cells in islice(reader, _ROWS_AT_ONCE)]
        yield from rows


@contextmanager
def _cells_of_any_length() -> Iterator[None]:
    """Let `csv` read cells of more than 131,072 characters.

    The limit is global to the process, and readers of rate files rely on it: a mark that is never
    closed would make one cell of the rest of a file.
    """
    with _limit:
        before = csv.field_size_limit(_LONGEST_CELL)
        try:
            yield
        finally:
            csv.field_size_limit(before)


@contextmanager
def csv_text(path: Path, dialect: Dialect) -> Iterator[io.TextIOWrapper]:
    """A CSV's text from its header on."""
    with (
        _opened_bytes(path) as file,
        io.TextIOWrapper(file, dialect.encoding, newline="") as text,
    ):
        if not text.read(1).startswith("\ufeff"):
            text.seek(0)
        text.read(dialect.skipped)
        yield text


def dialect_of(path: Path, *, encoding: str | None, delimiter: str | None) -> Dialect:
    """The dialect of a CSV; a given encoding or delimiter is used as it is.

    Raises:
        FileError: the file is empty or not text, its delimiter is ambiguous, or a quotation mark
            would join rows.
    """
    with _opened_bytes(path) as file:
        sample = file.read(_SAMPLE)
        while len(sample) < _LONGEST_HEADER and not (b"\n" in sample or b"\r" in sample):
            if not (more := file.read(_SAMPLE)):
                break
            sample += more
    if not sample.strip(b"\r\n\t ,;\xef\xbb\xbf\x00"):
        raise FileError(
            f"{path.name} is empty: expected a line of column names and rows below it", "empty"
        )
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
            f"delimiter: {delimiter!r} is not known; expected one ASCII character, such as ';'",
            "delimiter",
        )
    declared = _DECLARED.match(text)
    text = text[declared.end() :] if declared else text
    mark = delimiter or (declared[1] if declared else _delimiter_of(path, text))
    rows = (cells for _, cells in csv_rows(io.StringIO(text, newline=""), mark))
    first = list(islice(rows, _COMPARED_ROWS))
    report = report_of(first)
    if report is not None:
        names = next(lines_of(first, *report))
        of_report = f"{path.name}: {report[0].name} with a title, headings and totals: left out"
        return Dialect(
            *(encoding, mark, tuple(map(str, names))),
            has_rows=True,
            paired=False,
            skipped=declared.end() if declared else 0,
            notes=(*notes, of_report),
            report=report,
        )
    every = chain(first, rows)
    header: list[Any] = next((row for row in every if row), [])
    has_rows = any(row or len(header) == 1 for row in every) or len(sample) >= _SAMPLE
    skipped = declared.end() if declared else 0
    below = names_below(first)
    found = Dialect(
        *(encoding, mark, tuple(map(text_of_formula, header))),
        has_rows=has_rows,
        paired=True,
        skipped=skipped,
        notes=tuple(notes),
        names_row=None if below is None else below + 1,
    )
    if _are_paired(path, found):
        return found
    _check_quotes(path, found)
    return replace(found, paired=False)


def _opened_bytes(path: Path) -> BinaryIO:
    """The file's bytes, decompressed (`.gz`)."""
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # type: ignore[return-value]  # GzipFile is one


def _encoding_of(path: Path, sample: bytes, notes: list[str]) -> str:
    for mark, name in _BOMS:
        if sample.startswith(mark):
            return name
    if b"\0" in sample:
        raise FileError(
            f"{path.name} is not text: it holds bytes of zero. If it is UTF-16, name the encoding"
            " utf-16-le; else export it as CSV again",
            "encoding",
        )
    at = _undecodable(path, "utf-8")
    if at is None:
        return "utf-8"
    if _undecodable(path, _FALLBACK) is not None:
        raise FileError(
            f"{path.name} is neither UTF-8 (see byte {at:,}) nor Windows-1252: name its encoding",
            "encoding",
        )
    notes.append(
        f"{path.name} is not UTF-8 (see byte {at:,}), so it is read as Windows-1252; if that is"
        " wrong, name its encoding"
    )
    return _FALLBACK


def _undecodable(path: Path, encoding: str) -> int | None:
    """Where the file's bytes stop being text in this encoding; `None` where they do not."""
    decoder = codecs.getincrementaldecoder(encoding)()
    before = 0
    with _opened_bytes(path) as file:
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
            f"encoding: {encoding!r} is not known; expected one such as utf-8, cp1252 or utf-16",
            "encoding",
        ) from None


def _decoded(path: Path, sample: bytes, encoding: str) -> str:
    decoder = codecs.getincrementaldecoder(encoding)()  # a character may end after the sample
    try:
        return decoder.decode(sample).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path.name} is not {encoding} (see byte {error.start:,})", "encoding"
        ) from None


def _delimiter_of(path: Path, text: str) -> str:
    """The delimiter that splits the header and the rows below it into equally many cells.

    Raises:
        FileError: there are two such delimiters.
    """
    widths = {mark: _width(text, mark) for mark in DELIMITERS}
    even = {mark: width for mark, (width, is_even) in widths.items() if width > 1 and is_even}
    if path.name.lower().removesuffix(".gz").endswith(".tsv") and widths["\t"][0] > 1:
        return "\t"
    if not even:  # a broken row is reported where it is read; here only the header counts
        return max(DELIMITERS, key=lambda mark: widths[mark][0])
    best = [mark for mark, width in even.items() if width == max(even.values())]
    if len(best) > 1:
        named = " or ".join(f"{DELIMITERS[mark]}s" for mark in best)
        raise FileError(
            f"{path.name} could be separated by {named}: name the delimiter", "delimiter"
        )
    return best[0]


_COMPARED_ROWS = 50


def _width(text: str, delimiter: str) -> tuple[int, bool]:
    """How many columns the header has, and whether the rows below have as many.

    Lines of comment above the header, which begin with `#`, do not count, unless all lines do.
    """
    complete = len(text) * 2 < _SAMPLE  # else the last row may be cut off
    for counts in (_is_no_comment, any):
        rows = csv_rows(io.StringIO(text, newline=""), delimiter)
        try:
            first = list(islice((len(row) for _, row in rows if counts(row)), _COMPARED_ROWS))
            more = next(rows, None)
        except csv.Error:
            return 1, False
        if first:
            last = len(first) if complete or more else -1
            return first[0], all(width == first[0] for width in first[:last])
    return 0, False


def _is_no_comment(row: list[Any]) -> bool:
    return any(row) and not row[0].startswith("#")


def _check_quotes(path: Path, dialect: Dialect) -> None:
    """Refuse a mark that is never closed, or that is closed rows later by one that opens a cell.

    All rows between the two would become one cell, and be lost unnoticed.
    """
    line = rows = 0
    with csv_text(path, dialect) as text:
        # marks inside an unquoted cell are text: only a CSV reader knows
        reader = csv.reader(text, delimiter=dialect.delimiter, strict=True)
        try:
            with _cells_of_any_length():
                for _ in reader:
                    rows, line = rows + 1, reader.line_num
        except UnicodeDecodeError as error:
            raise FileError(f"{path.name} is not {dialect.encoding}: {error}", "encoding") from None
        except csv.Error as error:
            unclosed = "unexpected end of data" in str(error)
            lower = reader.line_num - line - 1
            if not (unclosed or lower):
                return  # reported where the row is read
            closed = f"closed {_lines_down(lower)} by one that opens another cell, so the rows"
            raise FileError(
                f"{path.name}: a quotation mark is opened in row {rows + 1:,} and"
                f" {'never closed' if unclosed else f'{closed} between would be lost'}; close it"
                " there, or write it twice where it is a part of the text",
                "quote",
            ) from None


def _lines_down(lines: int) -> str:
    return "on the next line" if lines == 1 else f"{lines:,} lines further down"


_MARK = ord('"')


def _are_paired(path: Path, dialect: Dialect) -> bool:
    """Whether the marks come in pairs around whole cells: a quick check that most files pass."""
    import numpy as np  # noqa: PLC0415 - only for files with quotation marks

    # what may precede an opening mark and follow a closing one: another mark, or an end of cell
    edges = np.zeros(256, bool)
    edges[[_MARK, *b"\r\n", *dialect.delimiter.encode()[:1]]] = True
    opened, last = 0, b"\n"
    blocks = utf8_blocks(path, dialect, _SCAN_BYTES)
    block = next(blocks, b"")
    while block:
        after = next(blocks, b"")
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


def utf8_blocks(path: Path, dialect: Dialect, size: int) -> Iterator[bytes]:
    """A CSV's text as UTF-8 from its header on, without empty lines above it, block by block.

    Raises:
        UnicodeDecodeError: it is not in the encoding.
    """
    plain = codecs.lookup(dialect.encoding).name == "utf-8"
    decoder = None if plain else codecs.getincrementaldecoder(dialect.encoding)()
    above, begun = dialect.skipped, False
    with _opened_bytes(path) as file:
        while block := file.read(size):
            text = decoder.decode(block).encode() if decoder else block
            if not begun:
                text = text.removeprefix(codecs.BOM_UTF8)[above:].lstrip(b"\r\n")
                above, begun = 0, bool(text)
            if text:
                yield text
        if decoder:
            decoder.decode(b"", final=True)


def shortened(text: str) -> str:
    """A text as a message shows it: on one line, cut off where it is long."""
    shown = text.replace("\r", " ").replace("\n", " ")
    return shown if len(shown) <= 60 else f"{shown[:59]}…"  # noqa: PLR2004  # one line


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The starts of texts that some program takes for a formula; the last are full width."""
_GUARD = "'"
_REWRITTEN = re.compile(
    r"(?:[\W\d_]|jan\w*|feb\w*|mar\w*|apr\w*|may|june?|july?|aug\w*|sep\w*|oct\w*|nov\w*|dec\w*"
    r"|mon\w*|tue\w*|wed\w*|thu\w*|fri\w*|sat\w*|sun\w*|[ap]m?|[etz]|true|false)+",
    re.IGNORECASE,
)
"""Texts that a spreadsheet might convert to a number, a date, a time or a truth value."""


def guarded(text: str) -> str:
    """The text, behind an apostrophe where a spreadsheet would compute or convert it."""
    risky = text.startswith((*FORMULA_STARTS, _GUARD)) or _REWRITTEN.fullmatch(text) is not None
    return _GUARD + text if risky else text


def unguarded(text: str) -> str:
    """The text without the apostrophe of `guarded`."""
    bare = text.removeprefix(_GUARD)
    return bare if guarded(bare) == text else text


def write_rows(path: Path, rows: Iterable[Sequence[str]], *, private: bool = False) -> None:
    """Write a CSV (UTF-8, marked as such for spreadsheets), whole or not at all.

    Args:
        path: where.
        rows: the cells; the first row is usually that of the names.
        private: no other user may read it.

    Raises:
        FileError: it has the name of a workbook.
        OSError: it cannot be written; an existing file is left as it was.
    """
    require_csv(path)
    with whole_file(path) as draft, draft.open("w", encoding="utf-8-sig", newline="") as file:
        if private:
            draft.chmod(0o600)
        csv.writer(file).writerows(rows)


def require_csv(path: Path) -> None:
    """Refuse to write text under a name by which a spreadsheet expects a workbook.

    Raises:
        FileError: it is the name of a workbook.
    """
    if path.suffix.lower() in {".xlsx", ".xlsm", ".xls", ".xlsb", ".ods", ".numbers"}:
        raise FileError(f"{path.name}: a CSV is what is written; name it .csv", "kind")
