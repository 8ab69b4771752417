"""Quotation marks of a CSV: refused where one of them would make many rows a single cell."""

from __future__ import annotations

import csv
import io
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np

from svc_tools.csv_cells import cells_of_any_length
from svc_tools.frames.files.chunk import FileError
from svc_tools.frames.files.csv_text import Utf8, open_bytes

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_marks"]

_SCAN_BYTES = 4 << 20
_MARK = ord('"')


def check_marks(path: Path, encoding: str, delimiter: str) -> None:
    """Refuse a mark that is never closed, or that is closed rows later by one that opens a cell.

    All rows between the two would be one cell, and nobody would miss them.

    Raises:
        FileError: there is one; it says in which row.
    """
    if _are_even(path, encoding, delimiter):
        return
    with cells_of_any_length(), open_bytes(path) as file:
        # marks within a cell that has none around it are letters: only a reader can tell
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
                    closed = "never closed" if unclosed else _closed(rows.line_num - lines - 1)
                    raise FileError(
                        f"{path.name}: a quotation mark is opened in row {number:,} and {closed};"
                        " close it there, or write it twice where it is a part of the text"
                    ) from None


def _closed(lines: int) -> str:
    lower = "on the next line" if lines == 1 else f"{lines:,} lines further down"
    return f"closed {lower} by one that opens another cell, so the rows between would be lost"


def _are_even(path: Path, encoding: str, delimiter: str) -> bool:
    """Whether the marks come in pairs that stand around whole cells, as most files have them."""
    # what may stand before a mark that opens and after one that closes: its pair, or an end
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
                beside = np.where(opening, letters[marks - 1], letters[marks + (~opening)])
                if not edges[beside].all():
                    return False
                opened = (opened + len(marks)) % 2
            last, block = block[-1:], after
    return not opened
