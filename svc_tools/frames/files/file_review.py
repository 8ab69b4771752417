"""The rows of an enriched file that a person has to look at, some at a time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from svc_tools.frames.files.chunk import FileError
from svc_tools.frames.files.opening import open_rows
from svc_tools.frames.what_to_do import codes_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["ReviewPage", "ReviewRow", "review_page"]

_MARK, _STATUS, _RATE, _WHY, _ERROR = _READ = (
    "needs_review",
    "lookup_status",
    "combined_rate",
    "lookup_review_reason",
    "lookup_error",
)


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """A row that needs review.

    Attributes:
        number: its number in the file, from 1 below the names of the columns.
        cells: its cells in the columns that were asked for, as texts.
        status: its `lookup_status`.
        rate: its `combined_rate` with five decimals; empty where there is none.
        codes: why it needs review.
        error: its `lookup_error`; empty where there is none.
    """

    number: int
    cells: tuple[str, ...]
    status: str
    rate: str
    codes: tuple[str, ...]
    error: str


@dataclass(frozen=True, slots=True)
class ReviewPage:
    """Some consecutive rows among those that need review, and whether more follow."""

    rows: tuple[ReviewRow, ...]
    more: bool


def review_page(
    path: Path,
    *,
    columns: Sequence[str] = (),
    code: str | None = None,
    prefix: str = "",
    start: int = 0,
    count: int = 25,
) -> ReviewPage:
    """Some of the rows that need review, read from a file that `enrich_file` wrote.

    The file is read by chunks up to the last of these rows, so no file is too large.

    Args:
        path: the enriched file.
        columns: which of the user's own columns to show.
        code: only rows with this code among their reasons.
        prefix: stands before the names of its added columns.
        start: how many rows to pass over.
        count: how many rows to take.

    Raises:
        FileError: the file cannot be read, or a lookup did not write it.
    """
    rows = open_rows(path)
    try:
        names = list(rows.schema.names)
        # ours stand behind the user's own
        last = {name: place for place, name in enumerate(names)}
        first = {name: place for place, name in reversed(list(enumerate(names)))}
        ours = [prefix + name for name in _READ]
        if lacking := [name for name in (*ours, *columns) if name not in last]:
            raise FileError(f"{path.name} has no column {lacking[0]!r}: no lookup wrote it")
        positions = [*(last[name] for name in ours), *(first[name] for name in columns)]
        found: list[ReviewRow] = []
        seen = passed = 0
        for chunk in rows.chunks(positions):
            table = chunk.table.rename_columns([str(n) for n in range(len(positions))])
            numbers = pc.indices_nonzero(_marked(table, code))
            skipped = min(max(start - passed, 0), len(numbers))
            passed += len(numbers)
            wanted = numbers[skipped : skipped + count + 1 - len(found)]
            for row, at in zip(table.take(wanted).to_pylist(), wanted.to_pylist(), strict=True):
                found.append(_row(list(row.values()), seen + at + 1))
            seen += len(table)
            if len(found) > count:
                break
        return ReviewPage(tuple(found[:count]), more=len(found) > count)
    finally:
        rows.close()


def _marked(table: pa.Table, code: str | None) -> pa.ChunkedArray:
    """Which rows need review: a CSV says so in words."""
    mark = table.column(0)
    if not pa.types.is_boolean(mark.type):
        mark = pc.equal(mark.cast(pa.string()), "True")
    mark = pc.fill_null(mark, fill_value=False)
    if code is not None:
        why = table.column(_READ.index(_WHY)).cast(pa.string())
        has = pc.match_substring_regex(why, rf"(?:^|;)\s*{re.escape(code)}\s*(?:;|$)")
        mark = pc.and_(mark, pc.fill_null(has, fill_value=False))
    return mark


def _row(cells: list[object], number: int) -> ReviewRow:
    texts = ["" if cell is None else str(cell) for cell in cells]
    told = dict(zip(_READ, texts, strict=False))
    return ReviewRow(
        number=number,
        cells=tuple(texts[len(_READ) :]),
        status=told[_STATUS],
        rate=told[_RATE],
        codes=codes_in(told[_WHY]),
        error=told[_ERROR],
    )
