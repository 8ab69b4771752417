"""Some rows of a file, and the file that they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import pandas as pd
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Chunk", "FileError", "Rows"]


class FileError(ValueError):
    """A file cannot be read or written as asked; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows of a file.

    Attributes:
        table: the rows; two columns may have one name, as in the file.
        stored: for columns whose cells are of several kinds, as in a spreadsheet, the cells as
            they are stored, by the column's position; the table then has them as one kind.
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
        """Sentences that a person should see of how the file was understood."""

    def chunks(self, positions: Sequence[int] | None = None) -> Iterator[Chunk]:
        """The rows in order; of the columns at these positions only, in that order, or of all."""

    def close(self) -> None:
        """Let go of the file."""
