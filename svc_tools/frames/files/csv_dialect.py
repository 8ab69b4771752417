"""How a CSV file is written: its encoding, its delimiter, its header."""

from __future__ import annotations

import codecs
import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from svc_tools.frames.files.chunk import FileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Dialect", "dialect_of", "open_bytes"]

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 262_144
"""Bytes in which the header and the delimiter show."""
_BLOCK = 4 << 20
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


def open_bytes(path: Path) -> pa.NativeFile:
    """The file's bytes, unpacked where it is compressed (`.gz`)."""
    return pa.input_stream(str(path), compression="detect")


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
    mark = delimiter or _delimiter_of(path, text)
    if len(mark) != 1 or mark in {'"', "\r", "\n"}:
        raise FileError(f"delimiter: {mark!r} is not known; expected one character, such as ';'")
    first = _rows(text, mark)
    header: list[str] = next((row for row in first if row), [])
    has_rows = any(True for _ in first) or len(sample) == _SAMPLE
    _check_marks(path, encoding, mark)
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
            block = file.read(_BLOCK)
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                return before + error.start
            if not block:
                return None
            before += len(block)


def _check_marks(path: Path, encoding: str, delimiter: str) -> None:
    """Refuse a quotation mark that is never closed: all rows after it would be one cell."""
    with open_bytes(path) as file:
        marks = sum(block.count(b'"') for block in iter(lambda: file.read(_BLOCK), b""))
    if not marks % 2:
        return  # also where they are in pairs inside of cells: nothing is opened for ever
    with open_bytes(path) as file:
        text = io.TextIOWrapper(file, encoding, newline="")
        rows = csv.reader(text, delimiter=delimiter, strict=True)
        number = 0
        try:
            for number, _ in enumerate(rows, 1):  # noqa: B007  # counted for the message
                pass
        except csv.Error as error:
            if "unexpected end of data" in str(error):
                raise FileError(
                    f"{path.name}: a quotation mark is opened in row {number + 1:,} and never"
                    " closed; close it there"
                ) from None


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
