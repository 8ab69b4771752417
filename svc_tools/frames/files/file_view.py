"""A first look at a file: its columns, its first rows as they are read, what its names mean."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import pandas as pd

from svc_tools.frames.columns import propose
from svc_tools.frames.files.cell_kinds import cell_text
from svc_tools.frames.files.chunk import Chunk
from svc_tools.frames.files.opening import open_rows
from svc_tools.frames.files.workbook_rows import WorkbookRows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["FileView", "view_of_file"]


@dataclass(frozen=True, slots=True)
class FileView:
    """What a person sees of a file before anything is asked.

    Attributes:
        path: the file.
        columns: the names of its columns, in order.
        rows: its first rows, as texts; an empty cell is empty.
        more: whether there are further rows.
        found: the column that answers each argument of a lookup, by its usual name.
        unclear: arguments that several columns could answer, or one of another party; a person
            has to choose.
        notes: how the file was understood, in sentences.
        sheets: the sheets of a workbook, in order; none for other files.
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    more: bool
    found: Mapping[str, str]
    unclear: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]
    sheets: tuple[str, ...] = ()


def view_of_file(
    path: Path,
    *,
    sheet: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    count: int = 5,
) -> FileView:
    """Look at the beginning of a file; nothing is asked and nothing is written.

    Args:
        path: a `.csv`, `.tsv`, `.txt`, `.xlsx` or `.parquet` file.
        sheet: as for `enrich_file`; so for the two below.
        delimiter: what separates the cells of a CSV.
        encoding: the encoding of a CSV.
        count: how many rows to show.

    Raises:
        FileError: there is no such file, or it cannot be read.
    """
    rows = open_rows(path, sheet=sheet, delimiter=delimiter, encoding=encoding)
    try:
        first = next(iter(rows.chunks()), None) or Chunk(rows.schema.empty_table())
        frame = first.frame(range(len(rows.schema)))
        proposed = propose(frame)
        shown = [_texts(frame.iloc[:count, place]) for place in range(frame.shape[1])]
        return FileView(
            path=path,
            columns=tuple(map(str, rows.schema.names)),
            rows=tuple(islice(zip(*shown, strict=True), count)),
            more=len(frame) > count,
            found={role: str(label) for role, label in proposed.found.items()},
            unclear={role: tuple(map(str, some)) for role, some in proposed.unclear.items()},
            notes=tuple(rows.notes),
            sheets=rows.sheets if isinstance(rows, WorkbookRows) else (),
        )
    finally:
        rows.close()


def _texts(column: pd.Series) -> list[str]:
    return ["" if _is_missing(cell) else cell_text(cell) for cell in column.tolist()]


def _is_missing(cell: object) -> bool:
    missing = pd.isna(cell)  # type: ignore[call-overload]  # of any object
    return missing is True
