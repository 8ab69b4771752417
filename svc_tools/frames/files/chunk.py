"""Some rows of a file, and the file that they come from."""

# MERGED cell_kinds: Of which kinds the cells of a spreadsheet's columns are, and each column's one type.

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Protocol

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_WIDEST = 2**63


class FileError(ValueError):
    """A file cannot be read or written as asked; the message says what to do."""


class Unchanged:
    """Whether a file that is read more than once is still the one that was opened."""

    def __init__(self, path: Path) -> None:
        self._path, self._stamp = path, _stamp(path)

    def check(self) -> None:
        """Refuse a file that is another now: what was collected would not be what is written.

        Raises:
            FileError: it was changed, replaced or removed.
        """
        try:
            same = _stamp(self._path) == self._stamp
        except OSError:
            same = False
        if not same:
            raise FileError(
                f"{self._path.name} was changed while it was read, so nothing was written; let"
                " whoever writes it finish, and run the same command again"
            )


def _stamp(path: Path) -> tuple[int, ...]:
    told = path.stat()
    return told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns


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
        if pa.types.is_string_view(column.type):  # pandas knows no such text
            column = column.cast(pa.large_string())
        if pa.types.is_floating(column.type):  # "no number" says that there is none
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
        """Sentences that a person should see of how the file was understood."""

    def chunks(self, positions: Sequence[int] | None = None) -> Iterator[Chunk]:
        """The rows in order; of the columns at these positions only, in that order, or of all."""

    def close(self) -> None:
        """Let go of the file."""


_BY_KIND: dict[frozenset[type], pa.DataType] = {
    frozenset(): pa.string(),
    frozenset({str}): pa.string(),
    frozenset({bool}): pa.bool_(),
    frozenset({int}): pa.int64(),
    frozenset({float}): pa.float64(),
    frozenset({int, float}): pa.float64(),
    frozenset({date}): pa.date32(),
    frozenset({datetime}): pa.timestamp("us"),
    frozenset({date, datetime}): pa.timestamp("us"),
}


class Kinds:
    """What has been seen in each column. A moment at midnight is a date."""

    def __init__(self) -> None:
        self._seen: list[set[type]] = []

    @property
    def width(self) -> int:
        """How many columns hold anything."""
        used = [position + 1 for position, kinds in enumerate(self._seen) if kinds]
        return max(used, default=0)

    def see(self, row: Sequence[object]) -> bool:
        """Take a row in; whether it holds anything."""
        while len(self._seen) < len(row):
            self._seen.append(set())
        anything = False
        for kinds, cell in zip(self._seen, row, strict=False):
            if cell is not None:
                anything = True
                kinds.add(_kind(cell))
        return anything

    def mixed(self) -> list[int]:
        """Columns that have no type but text for cells of several kinds."""
        seen = enumerate(self._seen)
        return [position for position, kinds in seen if frozenset(kinds) not in _BY_KIND]

    def is_several(self, position: int) -> bool:
        """Whether the column has cells of more than one kind, be it whole numbers and others."""
        return len(self._seen[position]) > 1 if position < len(self._seen) else False

    def types(self, count: int) -> list[pa.DataType]:
        """One type for each of the first columns."""
        self._seen += [set() for _ in range(count - len(self._seen))]
        return [_BY_KIND.get(frozenset(kinds), pa.string()) for kinds in self._seen[:count]]

    def array(self, position: int, cells: Sequence[object], kind: pa.DataType) -> pa.Array:
        """Cells of a column as its type."""
        if pa.types.is_string(kind) and self._seen[position] != {str}:
            cells = [None if cell is None else cell_text(cell) for cell in cells]
        elif pa.types.is_floating(kind):
            cells = [None if cell is None else float(cell) for cell in cells]  # type: ignore[arg-type]
        elif pa.types.is_date(kind):
            cells = [cell.date() if isinstance(cell, datetime) else cell for cell in cells]
        return pa.array(cells, kind)


def _kind(cell: object) -> type:
    if isinstance(cell, datetime):
        return date if cell.time() == time() else datetime
    if isinstance(cell, int) and not isinstance(cell, bool) and abs(cell) >= _WIDEST:
        return float
    return type(cell)


def cell_text(cell: object) -> str:
    """A cell as text: dates in ISO, whole numbers without a point."""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, datetime):
        return str(cell.date()) if cell.time() == time() else str(cell)
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:  # noqa: PLR2004  # exact
        return str(int(cell))
    return str(cell)
