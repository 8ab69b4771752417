"""Some rows of a file, and the file that they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, time
from typing import TYPE_CHECKING, Protocol

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


class FileError(ValueError):
    """A file cannot be read or written as requested; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows of a file.

    Attributes:
        table: the rows; two columns may have one name, as in the file.
        stored: for columns whose cells are of several types, as in a spreadsheet, the cells as
            they are stored, by the column's position; in the table they have one type.
    """

    table: pa.Table
    stored: Mapping[int, Sequence[object]] = field(default_factory=dict)

    def frame(self, positions: Sequence[int]) -> pd.DataFrame:
        """These columns as a frame, each in a type that keeps its values."""
        columns = [self._series(position) for position in positions]
        names = [self.table.field(position).name for position in positions]
        frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=self._index())
        frame.columns = pd.Index(names, dtype=object)
        return frame

    def _series(self, position: int) -> pd.Series:
        if position in self.stored:
            return pd.Series(list(self.stored[position]), self._index(), object)
        column = self.table.column(position)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string_view(column.type):  # pandas does not support these
            column = column.cast(pa.large_string())
        if pa.types.is_floating(column.type):  # NaN is missing
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        return pd.Series(pd.arrays.ArrowExtensionArray(column), self._index())

    def _index(self) -> pd.RangeIndex:
        return pd.RangeIndex(self.table.num_rows)


class Rows(Protocol):
    """A file of rows that can be read more than once."""

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, and the file's own metadata."""

    @property
    def notes(self) -> list[str]:
        """Sentences for the user on how the file was read."""

    def chunks(self, positions: Sequence[int] | None = None) -> Iterator[Chunk]:
        """The rows in order; of the columns at these positions only, in that order, or of all."""

    def close(self) -> None:
        """Close the file."""


class Unchanged:
    """Checks that a file that is read more than once is still the one that was opened."""

    def __init__(self, path: Path) -> None:
        self._path, self._stamp = path, _stamp(path)

    def check(self) -> None:
        """Refuse a file that has changed: its places would not be those of the rows written.

        Raises:
            FileError: it was changed, replaced or removed.
        """
        try:
            same = _stamp(self._path) == self._stamp
        except OSError:
            same = False
        if not same:
            raise FileError(
                f"{self._path.name} was changed while it was read, so nothing was written; wait"
                " until it is complete, and run the same command again"
            )


def _stamp(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def cell_text(cell: object) -> str:
    """A cell as text: dates in ISO, whole numbers without a point."""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, datetime):
        return str(cell.date()) if cell.time() == time() else str(cell)
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:  # noqa: PLR2004  # exact
        return str(int(cell))
    return str(cell)
