"""How a CSV file is written: its encoding, its delimiter, its header."""

from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc_tools.csv_cells import cells_of_any_length
from svc_tools.frames.files.chunk import FileError
from svc_tools.frames.files.csv_marks import check_marks
from svc_tools.frames.files.csv_text import open_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Dialect", "dialect_of"]

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 262_144
"""Bytes in which the header and the delimiter show."""
_SAMPLE_BYTES = 4 << 20
_ROWS = 50
"""Rows that must have as many cells as the header before a delimiter is believed."""
_FALLBACK = "cp1252"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a CSV is read, and what a person should know of how that was found."""

    encoding: str
    delimiter: str
    header: tuple[str, ...]
    has_rows: bool
    notes: tuple[str, ...]


def dialect_of(path: Path, *, encoding: str | None, delimiter: str | None) -> Dialect:
    """The dialect of a file; what is given is believed.

    Raises:
        FileError: the file is empty, is no text, or its delimiter cannot be told.
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
    if delimiter is not None and not _is_delimiter(delimiter):
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


def _is_delimiter(given: str) -> bool:
    return len(given) == 1 and given.isascii() and given not in '"\r\n'


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
            block = file.read(_SAMPLE_BYTES)
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
    decoder = codecs.getincrementaldecoder(encoding)()  # a letter may end after the sample
    try:
        return decoder.decode(sample).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise FileError(f"{path.name} is not {encoding} (see byte {error.start:,})") from None


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def _delimiter_of(path: Path, text: str) -> str:
    """The delimiter that cuts the header and the rows after it into equally many cells.

    Raises:
        FileError: two would do.
    """
    widths = {mark: _width(text, mark) for mark in _DELIMITERS}
    even = {mark: width for mark, (width, is_even) in widths.items() if width > 1 and is_even}
    if path.name.lower().removesuffix(".gz").endswith(".tsv") and widths["\t"][0] > 1:
        return "\t"
    if not even:  # a broken row is named where it is read; here only the header counts
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
            if number > _ROWS:
                return width, even
    except csv.Error:
        return width, False
    return width, even and (not complete or not before or len(before) == width)
